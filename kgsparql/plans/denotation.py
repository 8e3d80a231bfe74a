"""What a phrase of a question may denote on a graph: a set, how well it fits, and what of the phrase it leaves out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import filterfalse
from typing import Any, NamedTuple
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass, frozen, replace
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.plans import algebra as a
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.type_check import mapped, terms_in
from kgsparql.plans.weights import weights
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, distinct
from kgsparql.rdf.vocabulary import DISJOINT_MEMBERS, DISJOINT_WITH
from kgsparql.reading.clauses import Name
from kgsparql.reading.gaps import Gap, left_out_at, not_all, rival

_W = weights("reading")

Role = OneOf["of", "value", "subject", "object", "by", "prep", "where", "any"]
"""What an argument is to its clause: X's N; has the N X; X V-s; V-s X; V-ed by X; in X; where is X; not said."""


KINDS_LEFT_OUT = not_all("of some of these there are kinds, which are left out")


class Match(NamedTuple):
    """Words of the question, and the path of the graph that they were taken for."""

    words: str
    path: PropertyPath


@frozen
class Denotation:
    """A set that a phrase may denote.

    :param items: the set; ``None`` where nothing restricts it yet.
    :param score: how well words and graph fit; comparable only within one question.
    :param head: positions of the noun that no class or name accounts for: a predicate must.
    :param classes: that the head noun names.
    :param asked: the question word of the phrase.
    :param how: what was matched with what.
    """

    items: a.ItemSet | None
    score: float = 0.0
    doubts: tuple[Gap, ...] = ()
    head: tuple[int, ...] = ()
    classes: frozenset[IRI] = frozenset()
    asked: str = ""
    how: tuple[Match, ...] = ()

    @property
    def rank(self) -> float:
        """The score, less what the doubts cost."""
        return self.score - _W.doubt * len(self.doubts)

    @property
    def known(self) -> a.ItemSet:
        """The set, where something restricts it.

        :raises ValueError: where nothing does.
        """
        if self.items is None:
            raise ValueError("nothing restricts this phrase")
        return self.items

    @property
    def is_free(self) -> bool:
        """Whether nothing restricts it yet."""
        return self.items is None

    @property
    def path(self) -> PropertyPath:
        """What was matched last."""
        return self.how[-1].path

    @property
    def is_near(self) -> bool:
        """Whether one step leads to it, without a doubt."""
        return not self.doubts and bool(self.how) and len(self.path.steps) == 1

    @property
    def last(self) -> IRI:
        """The predicate that this ends with."""
        return self.path.last

    @property
    def is_named(self) -> bool:
        """Whether it is one or more named things."""
        return isinstance(self.items, a.Items)

    def doubted(self, *more: Gap) -> Denotation:
        """The same with further doubts."""
        return replace(self, doubts=distinct((*self.doubts, *more)))

    def leaving_out(self, positions: Iterable[int]) -> Denotation:
        """The same, with words that it leaves out."""
        return self.doubted(*left_out_at(positions))

    def kept(self, items: a.ItemSet, fit: float = 0.0, *how: Match) -> Denotation:
        """The same, restricted by what words were taken for; these fit so well."""
        return replace(self, items=items, score=self.score + fit, how=(*self.how, *how))

    def of_known(self) -> Denotation:
        """The same, of what has something that which has something known: no unknown founder."""

        def of(part: Any) -> Any:
            if not isinstance(part, a.Has) or part.to is not None:
                return part
            led_to = a.Ends(part.items, part.path)
            return replace(part, to=a.Minus(led_to, a.Unknown(led_to)))

        return replace(self, items=self.items and mapped(self.items, of))

    def headless(self) -> Denotation:
        """The same, without the noun that a predicate must account for."""
        return replace(self, head=())

    def reading(self, plan: a.Plan, fit: float = 0.0, *how: Match) -> PlannedReading:
        """Read the question as a plan over this set, with what words fit besides."""
        return PlannedReading(plan, round(self.rank + fit, 3), self.doubts, (*self.how, *how))


@frozen
class PlannedReading:
    """A plan for a question.

    :param plan: ``None`` where the question cannot be read on this graph.
    :param doubts: what of the question it does not account for; without any, it is sure.
    :param how: which words were taken for which paths.
    :param others: what else the question may ask, the likeliest first.
    :param is_impossible: whether nothing can be what is asked for: there is no 30 February.
    """

    plan: a.Plan | None
    score: float = 0.0
    doubts: tuple[Gap, ...] = ()
    how: tuple[Match, ...] = ()
    others: tuple[PlannedReading, ...] = ()
    is_impossible: bool = False

    def doubted(self, *more: Gap) -> PlannedReading:
        """The same with further doubts."""
        return replace(self, doubts=(*self.doubts, *more))


def unplanned() -> PlannedReading:
    """A question that cannot be read on this graph."""
    return PlannedReading(None, doubts=(rival(),))


@frozen
class Rel:
    """A step that is not chosen yet: what is looked for from a given set.

    :param words: positions of the words that name the predicates.
    :param role: of the given set in its clause. :param preposition: that joins it.
    :param wanted: what is at the other end: of a class, or named. :param asked: its question word.
    :param hints: words that the names of the predicates may have: what `how long` asks for.
    :param verb: the words that are a verb. :param head: those of the noun at the other end.
    """

    words: tuple[int, ...] = ()
    role: Role = "any"
    preposition: str = ""
    wanted: Denotation | None = None
    asked: str = ""
    hints: tuple[str, ...] = ()
    verb: tuple[int, ...] = ()
    head: tuple[int, ...] = ()
    hops: int = 2
    keep: int = 8


def best(found: Iterable[Denotation], most: int = 6) -> list[Denotation]:
    """The likeliest, the best first, each set once."""
    kept = dict[tuple[a.ItemSet | None, tuple[int, ...]], Denotation]()
    for one in sorted(found, key=lambda d: (-d.rank, str(d.items))):
        kept.setdefault((one.items, one.head if one.is_free else ()), one)
        if len(kept) == most:
            break
    return list(kept.values())


def met(given: Denotation, others: Sequence[Denotation]) -> list[Denotation]:
    """What a set and each of some others have in common; the others themselves where nothing restricts it yet."""
    found = []
    for other in others:
        items = other.items
        is_within = items == given.items or (isinstance(items, a.Both) and given.items in items.sets)
        if given.items is not None and items is not None and not is_within:
            items = a.Both((given.items, items))
        how = (*given.how, *filterfalse(given.how.__contains__, other.how))
        head = () if given.is_free else given.head
        one = replace(given, items=items, score=given.score + other.score, head=head, how=how)
        found.append(one.doubted(*other.doubts))
    return found


def joined(parts: Sequence[Denotation], items: a.ItemSet) -> Denotation:
    """A set made of some others, which fits as well as they do on the average."""
    return Denotation(
        items,
        sum(part.score for part in parts) / len(parts),
        distinct(doubt for part in parts for doubt in part.doubts),
        how=tuple(match for part in parts for match in part.how),
    )


def union(sets: Sequence[a.ItemSet]) -> a.ItemSet:
    """All items of some sets."""
    named = [one.terms for one in sets if isinstance(one, a.Items)]
    if len(named) == len(sets):
        return a.Items(distinct(term for terms in named for term in terms))
    return sets[0] if len(sets) == 1 else a.Either(tuple(sets))


def of_classes(classes: Collection[IRI]) -> a.ItemSet:
    """All items of some classes."""
    return union([*map(a.Instances, sorted(classes, key=str))])


def named_set(name: Name) -> a.ItemSet:
    """Make the set of what is called so: a thing or text of the graph, or the blank nodes with that label."""
    item = a.Items((name.term,))
    return item if name.calls is None else a.Ends(item, Step(name.calls, "inverse").path)


def ends(items: a.ItemSet, path: PropertyPath) -> a.Ends:
    """What a path leads to; one path where the set is what a path leads to itself."""
    if isinstance(items, a.Ends):
        return a.Ends(items.start, PropertyPath((*items.path.steps, *path.steps)))
    return a.Ends(items, path)


def of_one_act(items: a.ItemSet) -> a.ItemSet:
    """Say a value of the act that an item is found by: what was given something, and on that day."""
    if isinstance(items, a.Where) and isinstance(items.items, a.Where):
        items = replace(items, items=of_one_act(items.items))
    match items:
        case a.Where(a.Ends() | a.Both() as inner, a.Value(path) as measure) if path.is_long:
            sets = inner.sets if isinstance(inner, a.Both) else (inner,)
            for one in sets:
                if isinstance(one, a.Ends) and one.path.last_step.inverts(path.first_step):
                    before = PropertyPath(one.path.steps[:-1])
                    if not (one.path.is_long or isinstance(one.start, a.Where)):
                        continue
                    nodes = a.Ends(one.start, before) if before.steps else one.start
                    own = replace(measure, path=PropertyPath(path.steps[1:]))
                    acted = a.Ends(replace(items, items=nodes, measure=own), one.path.last_step.path)
                    return a.Both(tuple(acted if other is one else other for other in sets))
    return items


def lists_left_out(plan: a.Plan, graph: KnowledgeGraph) -> list[Gap]:
    """Doubt what is said of disjoint classes where lists of such are not read."""
    is_listed = DISJOINT_WITH in terms_in(plan) and graph.uses_any((DISJOINT_MEMBERS,))
    return [not_all("lists of classes that are all disjoint are left out")] * is_listed


def back(path: PropertyPath) -> PropertyPath:
    """The way back."""
    return PropertyPath(tuple(step.reversed for step in reversed(path.steps)))


def way_back(reached: a.ItemSet, of: a.ItemSet | None) -> PropertyPath | None:
    """The path back from what one step leads to, where it begins at the class that a set is of."""
    kinds = of.sets if isinstance(of, a.Both) else (of,)
    match reached:
        case a.Ends(a.Instances() as start, PropertyPath((step,))) if start in kinds:
            return step.reversed.path
    return None


def unfiltered(items: a.ItemSet) -> a.ItemSet:
    """The set that a set was chosen from: its items have the same predicates.

    >>> city, size = a.Instances(IRI("http://e.org/City")), a.Value(PropertyPath.of("http://e.org/size"))
    >>> unfiltered(a.Top(a.Where(city, size, ">", size), size)) == city
    True
    """
    match items:
        case a.Where(inner) | a.Top(inner) | a.Lacks(inner) | a.Has(inner) | a.Named(inner) | a.Minus(inner):
            return unfiltered(inner)
        case a.Both(sets):
            return unfiltered(next((one for one in sets if isinstance(one, a.Instances)), sets[0]))
        case a.Ends(start, path):
            return a.Ends(unfiltered(start), path)
        case _:
            return items


@dataclass(slots=True)
class PathFit:
    """A path, and how well it fits.

    :param last: how its last step is used; by nothing, where what is given has no such step.
    :param cover: how well it accounts for each word. :param hinted: how well it has what a question word asks for.
    """

    steps: tuple[Step, ...]
    last: PredicateUse
    share: float = 0.0
    cover: Sequence[float] = ()
    hinted: float = 0.0
    named: tuple[Step, ...] = ()
    direction: float = 0.0
    score: float = 0.0
    left: tuple[int, ...] = ()
    doubts: Sequence[Gap] = ()

    @property
    def path(self) -> PropertyPath:
        """The steps as a path."""
        return PropertyPath(self.steps)

    def then(self, onward: PathFit) -> PathFit:
        """The path that goes on by another one."""
        cover = [*map(max, self.cover, onward.cover)]
        hinted = max(self.hinted, onward.hinted)
        return PathFit((*self.steps, *onward.steps), onward.last, self.share * onward.share, cover, hinted)

    def order(self) -> tuple[float, int, str]:
        """Put the likeliest first: by the score, less what the words cost that are left out; then the shortest."""
        return _W.word * len(self.left) - self.score, len(self.steps), str(self.steps)

    def is_direct(self) -> bool:
        """Whether one step accounts for all of the words, the right way."""
        return len(self.steps) == 1 and not self.left and self.direction > _W.wrong_way and bool(self.named)
