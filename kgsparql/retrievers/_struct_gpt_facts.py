"""StructGPT's frontiers, the expansions that are possible from them, and the facts that an expansion leads to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product, zip_longest
from math import ceil

from kgsparql.answering.answer import Retrieval
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.term_labels import terms_of
from kgsparql.evidence.verbalising import Line, arrow, line_text, name_of, path_text, walk_text
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.exploration.batched_select import union_of
from kgsparql.graphs.notes import Cut
from kgsparql.linking.passages import BYTES_PER_TOKEN
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Constraint, Hop, Path, PropertyPath, Step, Walk, may_follow
from kgsparql.rdf.query import MAX_ARMS
from kgsparql.rdf.terms import IRI, Labels, Term, distinct, grouped, iris_in, local_name, zip_equal
from kgsparql.rdf.vocabulary import UNWALKED, is_mediator
from kgsparql.retrievers._reasoning import ReadLine, segments
from kgsparql.retrievers._walking import (
    NextStep,
    answers_of,
    groups_of,
    is_opaque,
    item_of_ways,
    places_by_likeness,
    predicate_counts,
)

_MAX_FACTS_OF_STEP = 1_000
_MAX_MEDIATORS = 200
_MAX_TERMS_BEHIND = 20
_MAX_ITEM_TOKENS = 475  # of one item's text: a model reads no more of it

Unit = tuple[Path, ...]
"""Paths that are shown together: one path to a term, or all paths through one mediator."""

KnownNeighbours = dict[tuple[IRI, Step], tuple[Sequence[Path], Sequence[Cut]]]
"""The paths that were fetched, by entity and first step, of two hops through a mediator: none is fetched twice."""


Frontiers = Mapping[Walk, Mapping[Term, Path]]
"""The terms that each walk has led to, each with the first path there."""


@frozen(kw_only=True)
class Expansion(NextStep):
    """A predicate that can be followed from where a walk has led to.

    :param walk: with this step, the last. :param ways: to the terms before it. :param counts: of those that have it.
    """

    walk: Walk
    ways: Mapping[Term, Path]
    counts: Mapping[IRI, NeighbourGroup]


@frozen
class FoundFacts:
    """The facts that one predicate led to, and the part of them that is shown.

    :param walk: the walk with this step, without the conditions on mediators.
    :param units: in the order of the graph; the paths through a mediator are one hop longer than the walk.
    :param conditions: sets of conditions on mediators, of which one must be met.
    """

    walk: Walk
    units: tuple[Unit, ...]
    score: float
    cuts: tuple[Cut, ...] = ()
    conditions: tuple[tuple[Constraint, ...], ...] = ((),)
    shown: tuple[Unit, ...] = ()

    @property
    def mediated(self) -> tuple[Unit, ...]:
        """The units behind a mediator."""
        return tuple(unit for unit in self.units if self.is_mediated(unit))

    def is_mediated(self, unit: Unit) -> bool:
        """Tell whether a unit is behind a mediator: its paths are one hop longer."""
        return len(unit[0]) > len(self.walk.path.steps)

    def reached(self) -> Frontiers:
        """List the walks with what they lead to: one to the neighbours, one for each predicate behind a mediator."""
        found = dict[Walk, dict[Term, Path]]()
        for unit in self.units:
            conditions = self.conditions if self.is_mediated(unit) else [()]
            met = [own for own in conditions if all(self.meets(unit, one) for one in own)]
            for way, own in product(unit, met):
                walk = Walk(self.walk.start, way.property_path, (*self.walk.constraints, *own))
                found.setdefault(walk, {}).setdefault(way.end, way)
        return found

    def meets(self, unit: Unit, constraint: Constraint) -> bool:
        """Tell whether the mediator of a unit meets a condition."""
        return any(way.hops[-1].step == constraint.step and way.end in constraint.values for way in unit)


def expansions_of(frontiers: Frontiers, session: Session) -> list[Expansion]:
    """List the possible expansions: the predicates of each frontier, each once, but for those that only lead back.

    One that was followed before is there again: the children of one's children's parents are another question.
    """
    entities = dict.fromkeys(entity for ways in frontiers.values() for entity in ways)
    counts = predicate_counts(entities, session, skip=UNWALKED, begins=not any(walk.path.steps for walk in frontiers))
    expansions = []
    for walk, ways in frontiers.items():
        steps = dict[Step, dict[IRI, NeighbourGroup]]()
        for entity, way in ways.items():
            for count in counts.get(entity, ()):
                back = bool(way.hops) and count.step.inverts(way.hops[-1].step)
                onward = replace(count, count=count.count - 1) if back and count.exact else count
                if onward.count:
                    steps.setdefault(count.step, {})[count.entity] = onward
        for step, own in steps.items():
            whole, way = replace(walk, path=PropertyPath((*walk.path.steps, step))), ways[next(iter(own))]
            expansions.append(Expansion(way=way, step=step, walk=whole, ways=ways, counts=own))
    return expansions


def found_facts(
    taken: Sequence[Expansion], known: KnownNeighbours, session: Session, *, limit: int
) -> list[FoundFacts]:
    """Find the facts of expansions, one path to each term; what was fetched is added to ``known``."""
    most = _MAX_FACTS_OF_STEP // len(taken)
    asked = [_affordable_entities(one, known, most=most, limit=limit) for one in taken]
    wanted = {(entity, one.step): None for one, some in zip_equal(taken, asked) for entity in some}
    new = [key for key in wanted if key not in known]
    known |= _fetched_neighbours(new, {one.walk.start for one in taken}, session, limit=limit)
    found = []
    for expansion, entities in zip_equal(taken, asked):
        cuts = []
        if len(entities) < len(expansion.counts):
            cuts.append(Cut("entities asked about", len(entities), len(expansion.counts), expansion.text))
        plain = dict[Term, Unit]()
        mediated = []
        for entity in entities:
            paths, own_cuts = known[entity, expansion.step]
            cuts += own_cuts
            for unit in _units_beyond(expansion.ways[entity], paths):
                if len(unit[0]) > len(expansion.walk.path.steps):
                    mediated.append(unit)
                else:
                    plain.setdefault(unit[0].end, unit)
        if plain or mediated:
            session.notes.add_cuts(cuts)
            units = (*plain.values(), *mediated)
            found.append(FoundFacts(expansion.walk, units, expansion.score, tuple(cuts)))
    return found


def _affordable_entities(expansion: Expansion, known: KnownNeighbours, *, most: int, limit: int) -> list[IRI]:
    """Take the first entities of an expansion, as many as one query can ask about; at least one."""
    entities = list[IRI]()
    for entity, count in expansion.counts.items():
        if (entity, expansion.step) not in known:
            most -= min(count.count, limit)
        if most < 0 and entities:
            break
        entities.append(entity)
    return entities


def _fetched_neighbours(
    wanted: Sequence[tuple[IRI, Step]], topics: Collection[IRI], session: Session, *, limit: int
) -> KnownNeighbours:
    """Fetch neighbours, and what lies behind mediators in their place; one with nothing behind it stays an end.

    Mediators with an IRI are, in a graph that names its terms, those without a label and with an opaque IRI, such as
    ``Q7186-a1b2``.
    """
    found = groups_of(wanted, session, limit=limit)
    iris = distinct(iris_in(end for group in found.items for end in group.neighbours))
    session.labels([*topics, *iris], in_grace=False)
    beyond: Mapping[Term, Sequence[Hop]] = {}
    if not any(is_opaque(topic, session) for topic in topics):
        mediators = [end for end in iris if is_opaque(end, session)]
        if len(mediators) > _MAX_MEDIATORS:
            session.notes.add_cuts([Cut("nodes without a name looked behind", _MAX_MEDIATORS, len(mediators))])
        behind = neighbours(session.graph, mediators[:_MAX_MEDIATORS], limit=_MAX_TERMS_BEHIND)
        session.notes.add_cuts(behind.cuts)
        beyond = grouped((hop.start, hop) for group in behind.items for hop in group.hops)
    known: KnownNeighbours = dict.fromkeys(wanted, ((), ()))
    for group in found.items:
        where = f"{group.entity} {group.step}"
        paths, mediated = [], list(group.mediated)
        cuts = [cut for cut in found.cuts if cut.where == where]
        for hop in group.hops:
            further = [Path(group.entity, (hop, next_)) for next_ in beyond.get(hop.end, ()) if may_follow(hop, next_)]
            named = [path for path in further if not is_mediator(path.end)]
            if len(named) < len(further):
                cuts.append(Cut("hops through nested blank nodes", 2, None, where))
            mediated += named
            paths += [] if named else [Path(group.entity, (hop,))]
        known[group.entity, group.step] = [*paths, *mediated], distinct(cuts)
    return known


def _units_beyond(way: Path, paths: Iterable[Path]) -> Iterator[Unit]:
    """Continue a path to each neighbour, and to all behind each mediator; deeper mediators were reported as a cut."""
    named = (path for path in paths if not is_mediator(path.end))
    onward = (path for path in named if not way.hops or may_follow(way.hops[-1], path.hops[0]))
    return map(tuple, grouped((path.hops[0].end, way.then(path)) for path in onward).values())


def shown_facts(found: Sequence[FoundFacts], session: Session, *, tokens: int) -> list[FoundFacts]:
    """Choose the facts of one step that fit into so many tokens: the likeliest of each predicate in turn."""
    ways = (way for one in found for unit in one.units for way in unit)
    labels = session.labels(terms_of(ways), in_grace=False)

    def unit_text(unit: Unit, one: FoundFacts) -> str:
        if one.is_mediated(unit):
            return _mediated_text(unit, labels)
        before = [name_of(unit[0].hops[-1].start, labels)] if len(unit[0]) > 1 else []
        return " ".join([*before, name_of(unit[0].end, labels)])

    texts = [[unit_text(unit, one) for unit in one.units] for one in found]
    sizes = [[1 + ceil(len(text.encode()) / BYTES_PER_TOKEN) for text in own] for own in texts]
    if sum(map(sum, sizes)) <= tokens and all(sum(own) <= _MAX_ITEM_TOKENS for own in sizes):
        return [replace(one, shown=one.units) for one in found]
    orders = [places_by_likeness(session.masked_question, own, session) for own in texts]
    kept: list[list[int]] = [[] for _ in found]
    left, room = tokens, [_MAX_ITEM_TOKENS] * len(found)
    for turn in zip_longest(*orders):
        for i, place in enumerate(turn):
            if place is None or (kept[i] and sizes[i][place] > min(left, room[i])):
                continue
            kept[i].append(place)
            left -= sizes[i][place]
            room[i] -= sizes[i][place]
    some = [replace(one, shown=tuple(one.units[i] for i in own)) for one, own in zip_equal(found, kept)]
    for one in some:
        if len(one.shown) < len(one.units):
            session.notes.add_cuts([Cut("facts shown", len(one.shown), len(one.units), walk_text(one.walk, labels))])
    return some


def _mediated_text(unit: Unit, labels: Labels, *, lead: bool = False) -> str:
    """Write a mediator with everything behind it, after the triple that leads to it."""
    *before, joining, _ = unit[0].hops
    # A longer path from the topic to the mediator is repeated for each mediator, since it may differ.
    begun = path_text(Path(unit[0].start, tuple(before)) if lead or len(before) > 1 else Path(joining.start), labels)
    behind = grouped((arrow(way.hops[-1].step, labels), name_of(way.end, labels)) for way in unit)
    properties = "; ".join(f"{step} {', '.join(ends)}" for step, ends in behind.items())
    mediator = joining.end
    has_name = isinstance(mediator, IRI) and labels[mediator] not in {local_name(mediator), "[]"}
    name = f"{name_of(mediator, labels)} " if has_name else ""
    return f"{begun} {arrow(joining.step, labels)} {name}[{properties}]"


def fact_lines(one: FoundFacts, session: Session) -> list[ReadLine]:
    """List the facts of a predicate one by one, as a model reads them: what is behind a mediator stands together."""
    lines = []
    for unit in one.shown:
        if one.is_mediated(unit):
            lines.append(ReadLine(unit, text=partial(_mediated_text, unit)))
        else:
            lines += segments(unit, session)
    return lines


def facts_retrieval(found: Sequence[FoundFacts], session: Session, *, latest: int = 0) -> Retrieval:
    """Make the facts evidence, each predicate an item; candidates of the last ``latest`` of them come first."""
    evidence = Evidence(_fact_item(one, session) for one in found)
    shown = list(zip_equal(evidence, found))
    before = len(shown) - latest
    every = ((item, own) for item, one in [*shown[before:], *shown[:before]] for own in one.reached().items())
    ends = dict.fromkeys((end, item.score, item.marker) for item, own in every for end in _ends_of(*own))
    return Retrieval(evidence, tuple(answers_of(ends, session)))


def _ends_of(walk: Walk, ways: Iterable[Term]) -> tuple[Term, ...]:
    """List what a walk leads to; the start only if there is nothing else."""
    return tuple(end for end in ways if end != walk.start) or tuple(ways)


def _fact_item(one: FoundFacts, session: Session) -> EvidenceItem:
    """Make the facts of one predicate an item of evidence, each with the path to it from the topic."""
    reached = [(walk, _ends_of(walk, ways)) for walk, ways in one.reached().items()]
    # Ask for everything on the walks; where something was cut, for just the ends that were reached.
    is_whole = not one.cuts and len(one.shown) == len(one.units)
    arms = [
        path_queries.walk_triples(
            walk, None if is_whole else ends, limit=max(1_000, 2 * len(ends)), number=number
        )
        for number, (walk, ends) in enumerate(reached[:MAX_ARMS])
    ]  # fmt: skip
    return item_of_ways(
        [way for unit in one.shown for way in unit], union_of(arms), session, partial(_shown_text, one),
        score=one.score, cuts=one.cuts, ends=() if one.mediated else reached[0][1],
    )  # fmt: skip


def _shown_text(one: FoundFacts, labels: Labels) -> str:
    plain = [unit[0] for unit in one.shown if not one.is_mediated(unit)]
    mediated = [unit for unit in one.shown if one.is_mediated(unit)]
    missing = len(one.units) - len(one.shown)
    parts = []
    if plain:
        line = Line(tuple(plain), len(plain) + (0 if mediated else missing), exact=not one.cuts)
        parts.append(line_text(line, labels, shown=len(plain)))
    parts += [_mediated_text(unit, labels, lead=i == 0) for i, unit in enumerate(mediated)]
    return " | ".join([*parts, f"… {missing:,} more"] if mediated and missing else parts)
