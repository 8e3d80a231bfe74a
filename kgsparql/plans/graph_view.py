"""What a planner asks of a graph: what the items of a set have, what a set comes to, classes and predicates by name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, filterfalse
from typing import Any, TypeAlias, TypeVar

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.exploration.labels import own_label
from kgsparql.graphs.graph import in_parts, select_each
from kgsparql.linking.label_index.search import Kind, LabelRow
from kgsparql.linking.linker import Linker
from kgsparql.linking.words import STOP_WORDS, other_numbers, root, roots_of, same_root, words, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import KINDS_LEFT_OUT, PlannedReading, back, ends, lists_left_out, of_classes
from kgsparql.plans.expressions import is_year
from kgsparql.plans.label_fit import LabelFit
from kgsparql.plans.plan_patterns import PlanCompiler
from kgsparql.plans.set_profile import PredicateUse, Profiler
from kgsparql.plans.type_check import OF_RDF, PLACE, mapped, parts, parts_of, terms_in, without_ranking
from kgsparql.plans.weights import weights
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, Term, distinct, iris_in
from kgsparql.rdf.vocabulary import (
    ALTERNATIVE_LABELS,
    DERIVED_FROM,
    DESCRIPTIONS,
    LIST_END,
    LIST_FIRST,
    LIST_REST,
    SUBCLASS_OF,
    claim_kind,
    claim_part,
    is_wikibase_item,
)
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import left_out_at, other_kind, unsaid
from kgsparql.reading.lexicon import Lexicon
from kgsparql.schema.joining import roles_without_meaning
from kgsparql.schema.known_names import PredicateName, known_names, other_names
from kgsparql.schema.patterns import patterns
from kgsparql.schema.vocabulary import GraphVocabulary

_W = weights("step")
_K = TypeVar("_K")
_T = TypeVar("_T")

Looking: TypeAlias = Generator[tuple[Callable[[Sequence[Any]], object], Sequence[Any]], None, _T]
"""Comes to something, and yields what is to be looked at before it goes on, each time with the function that does."""
MOST_MEMBERS = 2_000  # members of a set that are read; of a larger one, any of so many
_TOGETHER = 50  # sets of which one query looks for any item of a class
_READ_TOGETHER = 5  # sets whose members one query reads
A_LIST = other_kind("what is in a list", "the list")
_LONGEST_LIST, _CELLS = 25, 5_000  # members of a list that are told apart; cells of lists that are read
TOLD = frozenset((*DESCRIPTIONS, *ALTERNATIVE_LABELS, DERIVED_FROM))
"""Predicates that say what a thing is or is called: these are walked where a question names them."""
_ROWS, _STOPS = 100, STOP_WORDS["en"]  # labels with a word of the question that are read


@dataclass(slots=True)
class ListMembers:
    """Puts the members of lists in their place in plans of one question."""

    profiler: Profiler
    is_unread: bool = False
    at: int | None = None
    is_placed: bool = False

    def read(self, reading: PlannedReading, place: tuple[int, int] | None) -> PlannedReading:
        """Return a reading about the members; doubted, where they cannot be told.

        :param place: of the word that says which of them is asked for, and which: 1 of the `second`, -1 of the `last`.
        """
        if (plan := reading.plan) is None:
            return reading
        walked = (part.path.steps for part in parts(plan) if hasattr(part, "path"))
        # A Wikibase has no lists.
        predicates = [one.predicate for one in chain.from_iterable(walked) if not claim_kind(one.predicate)]
        self.profiler.look_at_ends(predicates)
        if not any(self.profiler.at_ends(one).lead_to_lists for one in predicates):
            return reading
        self.at = None if place is None else place[1]
        made, doubts = mapped(plan, self.in_place), reading.doubts
        if place is not None:
            doubts = tuple(doubt for doubt in doubts if doubt.position != place[0])
            doubts += () if self.is_placed else left_out_at(place[:1])
        of = next((part.items for part in parts(made) if hasattr(part, "items")), a.Items(()))
        measured = (part.path for part in parts(made) if isinstance(part, a.HowMany | a.Value | a.Summarised))
        if self.is_unread or any(map(partial(self._ways_in_lists, of), measured)):
            doubts += (A_LIST,)
        return replace(reading, plan=made, doubts=doubts)

    def in_place(self, part: Any) -> Any:
        """Return a part of a plan with the members of lists in the place of these."""
        match part:
            case a.Ends(start, path) if ways := self._ways_in_lists(start, path):
                # Of several things, the last of one is not where that of another is.
                is_one = isinstance(start, a.Items) and len(start.terms) == 1 and path.first_step.is_forward
                if self.at is not None and (is_one or self.at >= 0) and -len(ways) <= self.at < len(ways):
                    self.is_placed = True
                    return a.Ends(start, ways[self.at])
                return a.Either(tuple(a.Ends(start, way) for way in ways))
            case a.Has(items, path) | a.Lacks(items, path) if ways := self._ways_in_lists(items, path):
                sets = tuple(replace(part, path=way) for way in ways)
                return a.Either(sets) if isinstance(part, a.Has) else a.Both(sets)
        return part

    def _ways_in_lists(self, start: a.ItemSet, path: PropertyPath) -> list[PropertyPath]:
        """Find the paths to each place of the lists that a path leads to; none where it leads to none."""
        for at, step in enumerate(path.steps):
            if not self.profiler.at_ends(step.predicate).lead_to_lists:
                continue
            x, cell, compiler = Variable("x"), Variable("cell"), PlanCompiler(self.profiler.vocabulary, _CELLS)
            before = a.Ends(start, PropertyPath(path.steps[: at + 1]))
            lists = compiler.members(before, x) if step.is_forward else (g.Fact(Variable("of"), step.predicate, x),)
            first, last = path.steps[: at + step.is_forward], path.steps[at + step.is_forward :]
            ways = [own if step.is_forward else back(own) for own in self._ways_to_members(lists, x, cell)]
            return [PropertyPath((*first, *way.steps, *last)) for way in ways]
        return []

    def _ways_to_members(self, lists: g.Group, x: Variable, cell: Variable) -> Iterator[PropertyPath]:
        p, graph = Variable("p"), self.profiler.graph
        at_lists = g.found(graph, "at_lists", (p,), (*lists, g.Fact(x, p, cell)), distinct=True, limit=_CELLS)
        used = {*iris_in(found["p"] for found in at_lists)}
        numbers = sorted(int(found[1]) for own in used if (found := PLACE.match(own.value)) is not None)
        for number in numbers:
            yield Step(IRI(f"{OF_RDF}_{number}")).path
        if LIST_FIRST in used:
            rest = g.OneOfPredicates(x, (), cell, then=(LIST_REST,))
            cells = (*lists, rest, g.Fact(cell, LIST_FIRST, Variable("member")))
            read = graph.select(g.select_query("cells", g.Select((x, cell), cells, True, limit=_CELLS)))
            longest = max(Counter(one["x"] for one in read).values(), default=0)
            self.is_unread |= longest > _LONGEST_LIST or len(read) == _CELLS or not read.complete
            for place in range(min(longest, _LONGEST_LIST)):
                yield PropertyPath((*[Step(LIST_REST)] * place, Step(LIST_FIRST)))
        elif not numbers:
            some = g.found(graph, "lists", (x,), lists, distinct=True, limit=2)
            if {one["x"] for one in some} == {LIST_END}:  # empty: nothing
                yield Step(LIST_FIRST).path


@dataclass(slots=True)
class KnownGraph:
    """Looks at a graph for one question; whatever it is asked, it asks the graph once.

    :param profiler: looks at what the items of sets have.
    :param linker: knows the classes and predicates of the graph by their names.
    :param predicates: the commonest of the graph, where they are known.
    :param things: what stands for the class of things that have none, where the question names these.
    """

    profiler: Profiler
    labels: TermLabels
    linker: Linker | None
    predicates: Sequence[IRI] = ()
    things: IRI | None = None
    _members: dict[a.ItemSet, frozenset[Term]] = field(default_factory=dict)
    _has_items: dict[a.ItemSet, bool] = field(default_factory=dict)
    _classes: dict[Term, frozenset[IRI]] = field(default_factory=dict)
    _rows: dict[tuple[str, ...], list[LabelRow]] = field(default_factory=dict)

    @property
    def vocabulary(self) -> GraphVocabulary:
        """The predicates by which the graph says what things are."""
        return self.profiler.vocabulary

    @property
    def is_ontology(self) -> bool:
        """Whether the classes are the things that are asked about."""
        return self.vocabulary.is_ontology

    # --- sets

    def members(self, items: a.ItemSet) -> frozenset[Term]:
        """What a set comes to, as far as it is read."""
        if isinstance(items, a.Items):
            return frozenset(items.terms)
        self.look_for_members([items])
        return self._members[items]

    def look_for_members(self, sets: Iterable[a.ItemSet]) -> None:
        """Find what several sets come to: one query, for a few that were not looked at before."""
        new = [one for one in distinct(sets) if not isinstance(one, a.Items) and one not in self._members]
        self._members.update(self._read_each("members", new, MOST_MEMBERS, _READ_TOGETHER))

    def _read_each(
        self, name: str, sets: Sequence[a.ItemSet], most: int, together: int
    ) -> Iterator[tuple[a.ItemSet, frozenset[Term]]]:
        """Yield each of several sets with so many of its items at most, so many sets a query."""
        x = Variable("x")
        for some in in_parts(sets, together):
            selects, found = [], defaultdict[int, set[Term]](set)
            for items in some:
                # About the members of lists, where the question names any; of too many, none are ranked.
                read = mapped(items, ListMembers(self.profiler).in_place) if self.profiler.known.in_lists else items
                read = without_ranking(mapped(read, self._all_steps), self.profiler.graph)
                group = PlanCompiler(self.vocabulary, most).members(read, x)
                selects.append(g.Select((x,), group, distinct=most > 1, limit=most))
            for at, solution in select_each(self.profiler.graph, name, selects):
                if "x" in solution:
                    found[at].add(solution["x"])
            for at, items in enumerate(some):
                yield items, frozenset(found[at])

    def uses(self, items: a.ItemSet) -> tuple[PredicateUse, ...]:
        """How some of the items use predicates, in both directions; nothing of texts, which only lead back."""
        return self.profiler(items).uses

    def classes_in(self, items: a.ItemSet) -> frozenset[IRI]:
        """The classes of many of the items, with those above."""
        return frozenset(self.profiler.with_broader(self.profiler(items).classes))

    def has_any(self, items: a.ItemSet, classes: frozenset[IRI]) -> bool:
        """Whether any of the items is of one of these classes."""
        return self.has_items(a.Both((items, of_classes(classes))))

    def has_items(self, items: a.ItemSet) -> bool:
        """Whether a set has any item."""
        self.look_for_items([items])
        return self._has_items[items]

    def look_for_items(self, sets: Iterable[a.ItemSet]) -> None:
        """Find which of several sets have any item: one query, for those not looked at before."""
        new = [one for one in distinct(sets) if one not in self._has_items]
        self._has_items |= {one: False for one in new if self._leads_to_no_such(one)}
        left = [one for one in new if one not in self._has_items]
        self._has_items |= {one: bool(some) for one, some in self._read_each("any_of", left, 1, _TOGETHER)}

    def _leads_to_no_such(self, items: a.ItemSet) -> bool:
        """Whether the last step of a path leads to nothing of the class that is wanted, wherever it begins.

        Without that, all that a large set has is read in vain: 5 s for the years of 17,000 films that are a genre.
        """
        match items:
            case a.Both((a.Ends(_, path), a.Instances() as kind)) if self.profiler.graph.is_embedded:
                return not (
                    self.is_ontology or self.profiler.is_anywhere(kind, path.last_step)
                )  # of many classes, seconds
        return False

    def with_kinds_below(self, reading: PlannedReading) -> PlannedReading:
        """Return a reading that holds of classes below others, too: a pizza with olives is one with vegetables."""
        restricted, up = self.vocabulary.restricted, Step(SUBCLASS_OF, is_repeated=True)

        def change(part: Any) -> Any:
            match part:
                case a.Minus(inner, without) if not restricted.isdisjoint(terms_in(without)):
                    return a.Minus(inner, a.Either((without, a.Ends(without, up.path))))  # some `named pizza` has it
                case a.Ends(a.Items(terms), PropertyPath((Step(predicate, "inverse"), *_))) if predicate in restricted:
                    below = [a.Instances(one) for one in terms if isinstance(one, IRI) and self.has_instances(one)]
                    return a.Ends(a.Either((part.start, *below)), part.path) if below else part
                case a.Ends(a.Instances(of), PropertyPath((Step(predicate, "inverse"), *_))) if predicate in restricted:
                    return a.Ends(a.Either((a.Items((of,)), part.start)), part.path)
            return part

        if reading.plan is None:
            return reading
        ends = [e.path.last_step for one in parts_of(reading.plan, a.Minus) for e in parts_of(one.without, a.Ends)]
        tops = [a.Has(one, up.reversed.path) for one in parts_of(reading.plan, a.Top) if restricted]
        is_wide = any(step.is_forward and step.predicate in restricted for step in ends)
        is_wide |= any(map(self.has_items, tops))
        doubts = (*[KINDS_LEFT_OUT] * is_wide, *lists_left_out(reading.plan, self.profiler.graph))
        return replace(reading.doubted(*doubts), plan=mapped(reading.plan, change))

    def with_all_steps(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Return a reading in which what stands in something stands in all that this stands in.

        Whether it does is asked of every step up; a list goes down all steps, and up just one, to what is next above,
        as does `where`. Words for it, such as `at any level`, are accounted for by that; `directly` is one step.
        """
        plan, texts, own = reading.plan, asked.texts, asked.language
        if plan is None or not own.direct_words.isdisjoint(texts):
            return reading
        made = mapped(plan, partial(self._all_steps, is_within=isinstance(plan, a.Condition), sort=asked.sort))
        said = {one: texts[one.position] for one in reading.doubts if made != plan and one.position >= 0}
        doubts = [one for one in reading.doubts if said.get(one) not in own.depth_words]
        for part in parts(made):
            repeated = [step.predicate for step in part.path.steps if step.is_repeated] if hasattr(part, "path") else []
            if len(repeated) > 1:  # up and down again, or down by two names of one thing
                doubts.append(unsaid(self.labels(repeated)[repeated[-1]]))
        return replace(reading, plan=made, doubts=distinct(doubts))

    def _all_steps(self, part: Any, *, is_within: bool = False, sort: str = "") -> Any:
        is_held = isinstance(part, a.Has | a.Lacks) and part.to is not None
        if not (is_held or isinstance(part, a.Ends | a.HowMany)):
            return part
        is_next = sort == "place" and not (is_within or is_held)
        may_repeat = partial(self.vocabulary.may_repeat, is_within=is_within or is_held, is_next=is_next)
        steps = (one._replace(is_repeated=one.is_repeated or may_repeat(one)) for one in part.path.steps)
        return replace(part, path=PropertyPath(tuple(steps)))

    def may_be(self, kind: str, use: PredicateUse) -> bool:
        """Whether what a path leads to may be when, where or who something is."""
        if kind != "time":
            return kind not in {"agent", "place"} or use.kind in {"item", "text"}
        if {use.kind, self.profiler.at_ends(use.predicate).kind} & {"date", "time"}:  # of others, where it is unknown
            return True
        texts = [end.value for end in use.ends if isinstance(end, Literal)]
        texts = [*self.labels(use.ends).values()] if use.kind == "item" else texts
        return 2 * sum(map(is_year, texts)) > len(use.ends)

    # --- terms and classes

    def classes_of(self, terms: Iterable[Term]) -> dict[Term, frozenset[IRI]]:
        """The classes of terms, with those above."""
        if new := [*filterfalse(self._classes.__contains__, wanted := iris_in(dict.fromkeys(terms)))]:
            own = self.profiler.classes_of(new)
            self.profiler.with_broader(sorted(set().union(*own.values()), key=str))
            for term in new:
                self._classes[term] = frozenset(self.profiler.with_broader(own.get(term, ())))
        return {term: self._classes[term] for term in wanted}

    def has_instances(self, kind: IRI) -> bool:
        """Whether anything is of a class, or of one below it."""
        return self.profiler.is_anywhere(a.Instances(kind))

    # --- predicates

    def predicates_called(self, texts: Sequence[str]) -> list[IRI]:
        """The predicates that have one of these words in their names."""
        by_root = self._names_by_root()
        found = [name.predicate for text in texts for name in by_root.get(root(text), ())]
        found += (IRI(row.iri) for row in self._rows_with(texts, "predicate"))
        unsaid = roles_without_meaning(self.vocabulary.joined)
        claims = {one: part for one in distinct(found) if (part := claim_part(one)) is not None}
        direct = {name for kind, name in claims.values() if kind == "direct"}  # the same, without its statement
        said = {one for one, (kind, name) in claims.items() if kind in {"claim", "statement"} and name in direct}
        return [one for one in distinct(found) if one not in unsaid | said]

    def _names_by_root(self) -> dict[str, tuple[PredicateName, ...]]:
        """Find the names of the commonest predicates by the roots of their words; read once for a graph."""
        known, shared = self.vocabulary, self.profiler.common or self.profiler
        if self.predicates and not shared.known.predicates:
            unused = {*known.relations, *known.joined, *known.restricted} - {*self.predicates}
            told = sorted(shared.graph.held(TOLD) | unused, key=str)
            labels = replace(self.labels, said_as={})((*self.predicates, *unused), in_grace=False)
            more, found = other_names(shared.graph, (*self.predicates, *told)), dict[str, tuple[PredicateName, ...]]()
            for one in (*self.predicates, *told):
                label, values = labels.get(one) or own_label(one).text, known.valued.get(one, ())
                held = [own_label(to).text for to in values if to.value not in patterns()["value"]]  # the price
                held += [" ".join(filterfalse(patterns()["key"].__contains__, label.split()))] * (one in known.keyed)
                for text in filter(None, distinct((label, *more.get(one, ()), *held))):
                    name = PredicateName(one, text, roots_of([text]), is_label=text == label)
                    found.update({word: (*found.get(word, ()), name) for word in name.roots})
            shared.known.predicates.update(found)  # at once: others may look there meanwhile
        return shared.known.predicates

    def names_said(self, question: str) -> dict[Term, str]:
        """Tell the longest name of each predicate that a question has whole, with the label's word if it has that."""
        said, by_root = roots_of([question]), self._names_by_root()
        if not by_root:  # of an endpoint that is too large to list its predicates
            return _NamesSaid(said)
        some = {name for word in said for name in by_root.get(word, ())}
        words = {name.predicate: {max(name.roots, key=len)} & said for name in some if name.is_label}
        whole = {name for name in some if name.roots <= said and words.get(name.predicate, set()) <= name.roots}
        names = sorted(whole, key=lambda name: (len(name.roots), name.is_label, name.text))
        return {name.predicate: name.text for name in names}

    def of_sex(self, items: a.ItemSet, word: str, lexicon: Lexicon) -> a.ItemSet | None:
        """Those of a set whom a word for a man or a woman means; ``None`` where the graph does not tell it of each."""
        sexes = lexicon.sex_of(word)
        for predicate in self.predicates_called(sorted(lexicon.sexes)) if sexes else ():
            path, both = Step(predicate).path, lexicon.female | lexicon.male
            called = self.labels(sorted(self.members(a.Ends(items, path)), key=str)).items()
            said = {one: both.intersection(words_of(name)) for one, name in called}
            if said and all(said.values()) and not self.has_items(a.Lacks(items, path)):
                such = tuple(one for one, own in said.items() if own <= sexes and isinstance(one, IRI | Literal))
                return a.Has(items, path, a.Items(such)) if such else a.Minus(items, a.Has(items, path))
        return None

    def subject_class(self, predicate: IRI) -> IRI | None:
        """The narrowest class of all that has a predicate, else that of most; ``None`` where none is known."""
        if self.things is not None and self.profiler.is_anywhere(a.Instances(self.things), Step(predicate, "inverse")):
            return self.things
        kinds, broader = self.profiler.at_ends(predicate).subject_kinds, self.profiler.with_broader
        shared = set(broader(kinds)).intersection(*(broader([one]) for one in kinds)) or {*kinds[:1]}
        return max(shared, key=lambda kind: (len(broader([kind])), str(kind)), default=None)

    def classes_called(self, texts: Sequence[str], empty: Collection[str] = ()) -> list[IRI]:
        """The classes with instances that are called just so, in whatever number, but for words that say nothing."""
        wanted, rows = [*map(root, texts)], self._rows_with(texts, "class")
        found = [IRI(row.iri) for row in rows if [root(o) for o in words(row.key) if o not in empty] == wanted]
        return [*filter(self.has_instances, dict.fromkeys(found))]

    def joins(self, items: a.ItemSet, steps: Sequence[Step], far: Collection[IRI], fit: LabelFit) -> bool:
        """Tell whether two steps lead over what only joins two others, each called so there: `shop` and `employee`."""
        beside = [use for use in self.uses(ends(items, steps[0].path)) if use.kind == "item" and use.step.is_forward]
        near, *farther = (fit.label_roots(step.predicate) for step in steps)
        is_near = len(farther) == 1 < len(beside) < 3 and not near.isdisjoint(fit.roots_of(self.classes_in(items)))
        return is_near and not farther[0].isdisjoint(fit.roots_of(far))

    def classes_ending_with(self, text: str, kind: IRI | None = None) -> frozenset[IRI]:
        """The classes of which a word is the last of several: humidity sensors; beside a class that is called so."""
        found = [(IRI(row.iri), words(row.key)) for row in self._rows_with([text], "class")]
        ending = {one for one, own in found if own[1:] and root(own[-1]) == root(text) and _STOPS.isdisjoint(own)}
        kinds, broader = {*filter(self.has_instances, ending)}, self.profiler.with_broader
        if kind is not None:  # a music event is an event, where nothing says what; no table `club_member` is a member
            alone = (one for one in kinds if broader([one]) == (one,) and "_" not in one.value and not self.is_ontology)
            return frozenset((kind, *alone))
        return frozenset(one for one in kinds if kinds.isdisjoint(broader([one])[1:]))  # the others are of these

    def _rows_with(self, texts: Sequence[str], kind: Kind) -> list[LabelRow]:
        if self.linker is None or not (wanted := tuple(sorted({*chain(*map(same_root, texts))}))):
            return []
        if wanted not in self._rows:
            self._rows[wanted] = sorted(set(self.linker.search.offline().with_words(wanted, limit=_ROWS)))
        forms = {form for text in texts for form in (text, *other_numbers(text))}
        rows = (row for row in self._rows[wanted] if row.kind == kind)  # of Wikidata's many classes, those called so
        return [row for row in rows if not (is_wikibase_item(row.iri) and forms.isdisjoint(words(row.key)))]


class _NamesSaid(dict[Term, str]):
    """What a question calls predicates of common vocabularies, each found when it is first met."""

    def __init__(self, said: frozenset[str]) -> None:
        self._said = said
        super().__init__((one, name) for one in TOLD if (name := self.get(one)))

    def __bool__(self) -> bool:
        return True

    def get(self, term: Term, default: Any = None) -> Any:
        names = known_names(term, is_labelled=True) if isinstance(term, IRI) else ()
        said = [name.text for name in names if name.language == "en" and roots_of([name.text]) <= self._said]
        return max(said, key=len, default=default)


class Wanted:
    """What a path is to lead to: things of some classes, or an item; or anything."""

    def __init__(self, view: KnownGraph, classes: frozenset[IRI], item: a.ItemSet | None) -> None:
        self.view, self.classes, self.item, self.item_classes = view, classes, item, frozenset[IRI]()
        self.is_said = bool(classes) or item is not None

    def look_up(self) -> Looking[None]:
        """Look up the classes of the item."""
        if self.item is not None:
            yield self.view.look_for_members, [self.item]
            some = sorted(self.view.members(self.item), key=str)[:3]
            self.item_classes = frozenset(c for kinds in self.view.classes_of(some).values() for c in kinds)

    def is_at(self, use: PredicateUse) -> bool:
        """Whether many ends that were looked at are of a class that is wanted, or any is the item, or like it."""
        is_kind = not (self.classes or self.item_classes).isdisjoint(self.view.profiler.with_broader(use.classes))
        return is_kind or (self.item is not None and not self.view.members(self.item).isdisjoint(use.ends))

    def look_for(self, reached: Iterable[tuple[PredicateUse, a.ItemSet]]) -> Looking[None]:
        """Find which of the sets that paths lead to have it, and which of the others anything of its classes."""
        unlike = [(use, items) for use, items in reached if self.is_said and not self.is_at(use)]
        if self.item is not None:
            yield self.view.look_for_items, [a.Both((self.item, items)) for _, items in unlike]
            unlike = [one for one in unlike if not self.view.has_items(a.Both((self.item, one[1])))]
        if kinds := self.classes or self.item_classes:
            some = [items for use, items in unlike if use.kind == "item" or self.item is not None]
            yield self.view.look_for_items, [a.Both((items, of_classes(kinds))) for items in some]

    def fit(self, use: PredicateUse, items: a.ItemSet) -> float | None:
        """How well a set that a path leads to is what is wanted; ``None`` where it is none such."""
        is_nobody = [own_label(end).text for end in use.ends] == ["[]"]  # somebody, not known who
        is_at = self.is_at(use) or (is_nobody and not any(own.step.is_forward for own in self.view.uses(items)))
        if self.item is not None:
            is_such = is_at or self.view.has_items(a.Both((self.item, items)))
            return _W.item if is_such or (self.item_classes and self.view.has_any(items, self.item_classes)) else None
        if self.classes and not is_at and (use.kind != "item" or not self.view.has_any(items, self.classes)):
            return None
        return _W.of_class + _W.at_class * is_at if self.classes else 0.0


def in_step(looking: Mapping[_K, Looking[_T]]) -> dict[_K, _T]:
    """Return what each comes to; what they wait for at the same time is looked at together.

    >>> def twice(number):
    ...     yield print, [number]
    ...     return 2 * number
    >>> in_step({"a": twice(1), "b": twice(2)})
    [1, 2]
    {'a': 2, 'b': 4}
    """
    found = dict[_K, _T]()
    while waiting := [key for key in looking if key not in found]:
        wanted: dict[Callable[[Sequence[Any]], object], list[Any]] = defaultdict(list)
        for key in waiting:
            try:
                look, about = next(looking[key])
                wanted[look] += about
            except StopIteration as done:
                found[key] = done.value
        for look, own in wanted.items():
            look(own)
    return found
