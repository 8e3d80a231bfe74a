"""StructGPT's frontiers, the expansions that are possible from them, and the facts that an expansion leads to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.choosing import Choice
from kgsparql.answering.retrieval import answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.evidence.term_labels import statement_labels
from kgsparql.evidence.verbalising import Line, arrow, line_text, name_of, path_text
from kgsparql.exploration import PredicateCount, neighbours, walk_ways
from kgsparql.exploration.batched_select import hop_of
from kgsparql.graphs.notes import Cut
from kgsparql.linking.answer_type import word_overlap
from kgsparql.models.chat_completion import Message, estimated_tokens
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Constraint, Path, PropertyPath, Step, Walk, may_follow
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Term, local_name, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._walking import example_ends, terms_of

# With more neighbours by one predicate an entity is a hub: only some of them are fetched.
_HUB_NEIGHBOURS = 500
_MAX_FACTS_OF_STEP = 1_000

Unit = tuple[Path, ...]
"""Paths that are shown together: one path to a term, or all paths through one mediator."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of one entity by one predicate, as far as they were fetched.

    :param mediated: paths of two hops through neighbours that are mediators.
    """

    ends: tuple[Term, ...] = ()
    mediated: tuple[Path, ...] = ()
    cuts: tuple[Cut, ...] = ()


KnownNeighbours = dict[tuple[IRI, Step], Neighbours]
"""The neighbours that were fetched, by entity and step: none is fetched twice."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The entities that a walk has led to, each with one path there.

    :param oracle_steps: how many of its steps, from the first, an oracle chose.
    """

    walk: Walk
    ways: Mapping[IRI, Path]
    oracle_steps: int = 0


@dataclass(frozen=True, slots=True)
class Expansion:
    """A predicate that can be followed from a frontier."""

    frontier: Frontier
    step: Step
    counts: Mapping[IRI, PredicateCount]

    @property
    def path(self) -> PropertyPath:
        """The whole path from the topic, this step the last."""
        return PropertyPath((*self.frontier.walk.path.steps, self.step))


@dataclass(frozen=True, slots=True)
class ReachedTerms:
    """A walk and the terms it has led to, each with the first path there; never a blank node."""

    walk: Walk
    ways: Mapping[Term, Path]

    @property
    def ends(self) -> tuple[Term, ...]:
        """The terms; the start only if there is no other."""
        return tuple(end for end in self.ways if end != self.walk.start) or tuple(self.ways)


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """The facts that one predicate led to, and the part of them that is shown.

    :param walk: the walk with this step, without the conditions on mediators.
    :param units: in the order of the graph; the paths through a mediator are one hop longer than the walk.
    :param score: how well the path fits the question.
    :param oracle_steps: how many steps, from the first, an oracle chose.
    :param conditions: sets of conditions on mediators, of which one must be met.
    :param shown: the units that fit into a prompt, once that is known.
    """

    walk: Walk
    units: tuple[Unit, ...]
    score: float
    oracle_steps: int
    cuts: tuple[Cut, ...] = ()
    conditions: tuple[tuple[Constraint, ...], ...] = ((),)
    shown: tuple[Unit, ...] = ()

    @property
    def ways(self) -> tuple[Path, ...]:
        """Every way that is shown."""
        return tuple(way for unit in self.shown for way in unit)

    @property
    def is_whole(self) -> bool:
        """Whether all facts are shown: none was cut by a limit or for lack of space."""
        return not self.cuts and len(self.shown) == len(self.units)

    @property
    def mediated(self) -> tuple[Unit, ...]:
        """The units behind a mediator."""
        return tuple(unit for unit in self.units if self.is_mediated(unit))

    def is_mediated(self, unit: Unit) -> bool:
        """Tell whether a unit is behind a mediator: its paths are one hop longer."""
        return len(unit[0]) > len(self.walk.path.steps)

    def reached_terms(self) -> list[ReachedTerms]:
        """List the walks with what they lead to: one to the neighbours, one for each predicate behind a mediator."""
        found: dict[Walk, dict[Term, Path]] = {}
        for unit in self.units:
            for way in unit:
                for walk in self._walks_along(way, unit):
                    found.setdefault(walk, {}).setdefault(way.end, way)
        return [ReachedTerms(walk, ways) for walk, ways in found.items()]

    def meets(self, unit: Unit, constraint: Constraint) -> bool:
        """Tell whether the mediator of a unit meets a condition."""
        return any(way.hops[-1].step == constraint.step and way.end in constraint.values for way in unit)

    def _walks_along(self, way: Path, unit: Unit) -> Iterator[Walk]:
        if not self.is_mediated(unit):
            yield self.walk
            return
        for conditions in self.conditions:
            if all(self.meets(unit, constraint) for constraint in conditions):
                yield replace(self.walk, path=way.property_path, constraints=(*self.walk.constraints, *conditions))


def expansions_of(frontiers: Iterable[Frontier], counted: Iterable[PredicateCount]) -> list[Expansion]:
    """List the possible expansions: the predicates of each frontier in the order of its entities, each once.

    A predicate that only leads back to the terms before is left out. One that was followed before is not: the children
    of the parents of somebody's children are often just these children, and yet another question.
    """
    at: dict[IRI, list[PredicateCount]] = {}
    for count in counted:
        at.setdefault(count.entity, []).append(count)
    expansions: list[Expansion] = []
    for frontier in frontiers:
        steps: dict[Step, dict[IRI, PredicateCount]] = {}
        for entity, way in frontier.ways.items():
            for count in at.get(entity, ()):
                back = bool(way.hops) and count.step.inverts(way.hops[-1].step)
                onward = replace(count, count=count.count - 1) if back and count.exact else count
                if onward.count:
                    steps.setdefault(count.step, {})[entity] = onward
        expansions += [Expansion(frontier, step, own) for step, own in steps.items()]
    return expansions


def expansion_text(expansion: Expansion, labels: Mapping[Term, str], examples: Iterable[Term] = ()) -> str:
    """Write an expansion: the topic, the predicates followed so far, this one, and its number of neighbours.

    :param examples: some of these neighbours.
    """
    counts = expansion.counts.values()
    arrows = " … ".join(arrow(step, labels) for step in expansion.path.steps)
    count = f"{sum(c.count for c in counts):,}{'' if all(c.exact for c in counts) else '+'}"
    named = "; ".join(printable(labels[term], 60) for term in examples)
    return f"{labels[expansion.frontier.walk.start]} {arrows} ({count}{f': {named}' if named else ''})"


def examples_of(expansions: Sequence[Expansion], session: Session) -> list[list[Term]]:
    """Find some terms that each expansion leads to from its first entity."""
    first = [(expansion, next(iter(expansion.counts))) for expansion in expansions]
    return example_ends([(expansion.frontier.ways[entity], expansion.step) for expansion, entity in first], session)


def fetch_neighbours(
    expansions: Sequence[tuple[Expansion, Sequence[IRI]]], known: KnownNeighbours, session: Session, *, limit: int
) -> KnownNeighbours:
    """Fetch the neighbours that are not known yet: one query, one more each for blank nodes and hubs."""
    wanted = {
        (entity, expansion.step): expansion.counts[entity]
        for expansion, entities in expansions
        for entity in entities
        if (entity, expansion.step) not in known
    }
    hubs = {key: count for key, count in wanted.items() if _is_hub(count)}
    others = [key for key in wanted if key not in hubs]
    return _of_hubs(hubs, session, limit) | _of_others(others, session, limit)


def found_facts(
    choices: Sequence[Choice],
    expansions: Sequence[tuple[Expansion, Sequence[IRI]]],
    known: KnownNeighbours,
    session: Session,
) -> Iterator[FoundFacts]:
    """Find the facts of each chosen expansion from these entities, one path to each term."""
    for choice, (expansion, entities) in zip(choices, expansions, strict=True):
        plain: dict[Term, Unit] = {}
        mediated: list[Unit] = []
        cuts = [_cut_of(expansion, entities, session)] if len(entities) < len(expansion.counts) else []
        for entity in entities:
            way, near = expansion.frontier.ways[entity], known[entity, expansion.step]
            for unit in _plain_units(way, expansion.step, near.ends):
                plain.setdefault(unit[0].end, unit)
            mediated += _mediated_units(way, near.mediated)
            cuts += near.cuts
        yield FoundFacts(
            walk=replace(expansion.frontier.walk, path=expansion.path),
            units=(*plain.values(), *mediated),
            score=choice.candidate.score or 0.0,
            oracle_steps=expansion.frontier.oracle_steps + (choice.chosen_by == "oracle"),
            cuts=tuple(cuts),
        )


def _is_hub(count: PredicateCount) -> bool:
    return count.count > _HUB_NEIGHBOURS or not count.exact


def affordable_entities(expansion: Expansion, known: KnownNeighbours, *, expansions: int, limit: int) -> list[IRI]:
    """Take the first entities of an expansion, as many as one query can ask about; at least one."""
    left = _MAX_FACTS_OF_STEP // expansions
    entities: list[IRI] = []
    for entity, count in expansion.counts.items():
        if (entity, expansion.step) not in known:
            left -= min(count.count, limit) if _is_hub(count) else count.count
        if left < 0 and entities:
            break
        entities.append(entity)
    return entities


def _cut_of(expansion: Expansion, entities: Sequence[IRI], session: Session) -> Cut:
    labels = session.labels([expansion.frontier.walk.start, *(step.predicate for step in expansion.path.steps)])
    return Cut("entities asked about", len(entities), len(expansion.counts), expansion_text(expansion, labels))


def _of_hubs(hubs: Mapping[tuple[IRI, Step], PredicateCount], session: Session, limit: int) -> KnownNeighbours:
    walks = [Walk(entity, PropertyPath((step,))) for entity, step in hubs]
    found = walk_ways(session.graph, walks, [None] * len(walks), limit=limit)
    near: KnownNeighbours = {}
    for ((entity, step), count), own in zip(hubs.items(), found, strict=True):
        cut = Cut("neighbours", limit, count.count if count.exact else None, f"{entity} {step}")
        near[entity, step] = Neighbours(tuple(way.path.end for way in own.items), cuts=(cut,))
    return near


def _of_others(keys: Sequence[tuple[IRI, Step]], session: Session, limit: int) -> KnownNeighbours:
    steps: dict[IRI, list[Step]] = {}
    for entity, step in keys:
        steps.setdefault(entity, []).append(step)
    found = neighbours(session.graph, steps, steps=steps, direction=session.direction, limit=limit)
    near: KnownNeighbours = dict.fromkeys(keys, Neighbours())
    for group in found.items:
        cuts = tuple(cut for cut in found.cuts if cut.where == f"{group.entity} {group.step}")
        near[group.entity, group.step] = Neighbours(group.neighbours, group.mediated, cuts)
    return near


def _plain_units(way: Path, step: Step, ends: Iterable[Term]) -> Iterator[Unit]:
    for end in ends:
        hop = hop_of(way.end, step.predicate, end, step.direction)
        if not is_mediator(end) and (not way.hops or may_follow(way.hops[-1], hop)):
            yield (way.then(Path(way.end, (hop,))),)


def _mediated_units(way: Path, paths: Iterable[Path]) -> Iterator[Unit]:
    """Make the paths through each mediator one unit; deeper mediators were reported as a cut before."""
    behind: dict[Term, list[Path]] = {}
    for path in paths:
        if not is_mediator(path.end) and (not way.hops or may_follow(way.hops[-1], path.hops[0])):
            behind.setdefault(path.hops[0].end, []).append(way.then(path))
    yield from (tuple(unit) for unit in behind.values())


# Of more labels, those that share words with the question are compared by meaning.
_MAX_COMPARED_BY_MEANING = 500
_MAX_ITEM_CHARACTERS = 1_900  # most characters of one item's text: a model reads no more of it

MAX_COMPLETED_WALKS = 20

_OTHER_ITEMS_SHOWN = 5  # items that are shown beside those that an answer rests on


def likeliest(texts: Sequence[str], session: Session) -> list[int]:
    """Order the places of texts, those that fit the question best first; ties in the order given."""
    question = session.masked_question
    order = list(range(len(texts)))
    if len(order) > _MAX_COMPARED_BY_MEANING:
        shared = [word_overlap(question, text) for text in texts]
        order.sort(key=lambda i: -shared[i])
        session.note_cuts([Cut("names compared by meaning", _MAX_COMPARED_BY_MEANING, len(texts))])
    compared, rest = order[:_MAX_COMPARED_BY_MEANING], order[_MAX_COMPARED_BY_MEANING:]
    scores = session.ranker.rank(question, [texts[i] for i in compared])
    ranked = dict(zip(compared, scores, strict=True))
    return [*sorted(compared, key=lambda i: -ranked[i]), *rest]


def shown_facts(found: Sequence[FoundFacts], session: Session, *, tokens: int) -> list[FoundFacts]:
    """Choose the facts of one step that fit into so many tokens: the likeliest of each predicate in turn."""
    ways = [way for one in found for unit in one.units for way in unit]
    labels, _ = statement_labels(ways, session.labels, session.labels(terms_of(ways)), in_grace=False)
    texts = [[_unit_text(unit, one, labels) for unit in one.units] for one in found]
    sizes = [[_text_tokens(text) for text in own] for own in texts]
    room = [max(1, _MAX_ITEM_CHARACTERS // 4)] * len(found)
    if sum(map(sum, sizes)) <= tokens and all(sum(own) <= most for own, most in zip(sizes, room, strict=True)):
        return [replace(one, shown=one.units) for one in found]
    orders = [likeliest(own, session) for own in texts]
    kept: list[list[int]] = [[] for _ in found]
    left = tokens
    for turn in zip_longest(*orders):
        for i, place in enumerate(turn):
            if place is None or (kept[i] and (sizes[i][place] > left or sizes[i][place] > room[i])):
                continue
            kept[i].append(place)
            left -= sizes[i][place]
            room[i] -= sizes[i][place]
    some = [replace(one, shown=tuple(one.units[i] for i in own)) for one, own in zip(found, kept, strict=True)]
    session.note_cuts(_left_out(one, labels) for one in some if len(one.shown) < len(one.units))
    return some


def fact_item(one: FoundFacts, session: Session) -> EvidenceItem:
    """Make the facts of one predicate an item of evidence, each with the path to it from the topic."""
    named = session.labels(terms_of(way for unit in one.units for way in unit), in_grace=True)
    labels, beside = statement_labels(one.ways, session.labels, named)
    parts = list(_shown_texts(one, labels))
    walks = one.reached_terms()
    alone = walks[0] if len(walks) == 1 and not one.mediated else None
    cited = dict.fromkeys(CitedTriple(hop.triple, hop.direction) for way in one.ways for hop in way.hops)
    return EvidenceItem(
        kind="path",
        text=" | ".join(parts),
        triples=(*cited, *beside),
        query=_facts_query(one, walks),
        score=one.score + one.oracle_steps,
        cuts=one.cuts,
        ways=one.ways,
        ends=alone.ends if alone else (),
    )


def candidates_of(shown: Iterable[tuple[EvidenceItem, FoundFacts]], session: Session) -> Iterator[AnswerTerm]:
    """List the ends of the walks of these items, in the order of the items, each once."""
    markers: dict[Term, list[str]] = {}
    scores: dict[Term, float] = {}
    for item, one in shown:
        for end in dict.fromkeys(end for reached in one.reached_terms() for end in reached.ends):
            markers.setdefault(end, []).append(item.marker)
            scores[end] = max(scores.get(end, item.score), item.score)
    labels = session.labels(markers, in_grace=True)
    for end, own in markers.items():
        yield AnswerTerm(end, labels[end], scores[end], tuple(own))


def _shown_texts(one: FoundFacts, labels: Mapping[Term, str]) -> Iterator[str]:
    plain = [unit[0] for unit in one.shown if not one.is_mediated(unit)]
    mediated = [unit for unit in one.shown if one.is_mediated(unit)]
    missing = len(one.units) - len(one.shown)
    if plain:
        count = len(plain) + (0 if mediated else missing)
        line = Line(one.walk.path, tuple(plain), count, exact=not one.cuts)
        yield line_text(line, labels, shown=len(plain))
    for i, unit in enumerate(mediated):
        yield _mediated_text(unit, labels, lead=i == 0)
    if mediated and missing:
        yield f"… {missing:,} more"


def _unit_text(unit: Unit, one: FoundFacts, labels: Mapping[Term, str]) -> str:
    """Write a unit: its last term and the one before, or everything behind a mediator."""
    if one.is_mediated(unit):
        return _mediated_text(unit, labels)
    before = [name_of(unit[0].hops[-1].start, labels)] if len(unit[0]) > 1 else []
    return " ".join([*before, name_of(unit[0].end, labels)])


def _mediated_text(unit: Unit, labels: Mapping[Term, str], *, lead: bool = False) -> str:
    """Write a mediator with everything behind it, after the triple that leads to it."""
    *before, joining, _ = unit[0].hops
    # A longer path from the topic to the mediator is repeated for each mediator, since it may differ.
    begun = path_text(Path(unit[0].start, tuple(before)) if lead or len(before) > 1 else Path(joining.start), labels)
    behind: dict[str, list[str]] = {}
    for way in unit:
        behind.setdefault(arrow(way.hops[-1].step, labels), []).append(name_of(way.end, labels))
    properties = "; ".join(f"{step} {', '.join(ends)}" for step, ends in behind.items())
    mediator = joining.end
    has_name = isinstance(mediator, IRI) and labels[mediator] not in {local_name(mediator), "[]"}
    name = f"{name_of(mediator, labels)} " if has_name else ""
    return f"{begun} {arrow(joining.step, labels)} {name}[{properties}]"


def _text_tokens(text: str) -> int:
    return estimated_tokens([Message("user", text)]) - estimated_tokens([Message("user", "")]) + 1


def _left_out(one: FoundFacts, labels: Mapping[Term, str]) -> Cut:
    arrows = " ".join(arrow(step, labels) for step in one.walk.path.steps)
    where = f"{labels[one.walk.start]} {arrows}"
    return Cut("facts shown", len(one.shown), len(one.units), where)


def _facts_query(one: FoundFacts, walks: Iterable[ReachedTerms]) -> Query:
    """Ask for everything on the walks of an item; for an item that was cut, for just its ends."""
    arms = []
    for number, reached in enumerate(list(walks)[:MAX_ARMS]):
        walk = reached.walk
        arms.append(
            path_queries.walk_triples(
                walk.path, [walk.start], None if one.is_whole else reached.ends,
                limit=max(1_000, 2 * len(reached.ends)), constraints=walk.constraints, number=number,
            )
        )  # fmt: skip
    return arms[0] if len(arms) == 1 else Query.union(arms)


def cited_retrieval(seen: Retrieval, found: Sequence[FoundFacts], draft: Draft, session: Session) -> Retrieval:
    """Follow the walks that a draft rests on to all their ends; if that finds more, the draft is dropped."""
    seen = replace(seen, draft=draft, sufficient=True)
    cited = {marker for claim in draft.claims for marker in claim.markers}
    cited |= {marker for answer in draft.answers for marker in answer.markers}
    used = [(item, one) for item, one in zip(seen.evidence, found, strict=True) if item.marker in cited]
    others = [replace(item, ends=()) for item in seen.evidence if item.marker not in cited][:_OTHER_ITEMS_SHOWN]
    walks = _walks_to([one for _, one in used], draft)
    expanded: list[EvidenceItem | None] = []
    with session.within_budget():
        expanded = expanded_items(list(walks), session.labels) if session.complete else []
    if not any(expanded):
        return seen
    read = {way.end for _, one in used for way in one.ways}
    if all(item is None or read.issuperset(item.ends) for item in expanded):
        whole = {walk: item for walk, item in zip(walks, expanded, strict=True) if item is not None}
        evidence = Evidence([*_complete_items(used, whole, first=len(seen.evidence) + 1), *others])
        left = (replace(c, markers=tuple(m for m in c.markers if m in evidence)) for c in seen.candidates)
        return replace(seen, evidence=evidence, candidates=tuple(c for c in left if c.markers))
    if session.usage.calls_left == 0:
        session.notes.append("the budget holds no call for all that was found: the answer rests on a sample")
        return seen
    items = [replace(item, score=1.0 + walks[w]) for w, item in zip(walks, expanded, strict=True) if item is not None]
    evidence = Evidence([*items, *(replace(item, marker="") for item in others)])
    return Retrieval(evidence=evidence, candidates=answers_at_ends(evidence, session), sufficient=True)


def _walks_to(used: Sequence[FoundFacts], draft: Draft) -> dict[Walk, float]:
    """Score the walks of the cited facts; behind mediators, only those that lead to an answer."""
    answers = {answer.term for answer in draft.answers}
    walks: dict[Walk, float] = {}
    for one in used:
        reached = one.reached_terms()
        leading = [own for own in reached if answers.intersection(own.ways)]
        walks |= {own.walk: one.score for own in leading or reached}
    return dict(list(walks.items())[:MAX_COMPLETED_WALKS])


def _complete_items(
    used: Iterable[tuple[EvidenceItem, FoundFacts]], whole: Mapping[Walk, EvidenceItem], *, first: int
) -> Iterator[EvidenceItem]:
    """Give each item that a model read the query and the ends of its first walk that leads to an answer.

    Each other walk through mediators becomes an item of its own, after all that were read, from marker ``first`` on.
    """
    more: dict[Walk, EvidenceItem] = {}
    given: set[Walk] = set()
    for item, one in used:
        own = [(reached.walk, whole[reached.walk]) for reached in one.reached_terms() if reached.walk in whole]
        for walk, complete in own[:1]:
            given.add(walk)
            yield replace(item, query=complete.query, ends=complete.ends)
        if not own:
            yield item
        more |= {walk: replace(complete, score=item.score) for walk, complete in own[1:]}
    others = [complete for walk, complete in more.items() if walk not in given]
    yield from (replace(complete, marker=f"P{number}") for number, complete in enumerate(others, first))
