"""Which property paths lead anywhere from an entity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from kgsparql.exploration.batched_select import entities_of, order_key
from kgsparql.exploration.counting import predicates, step_key
from kgsparql.exploration.neighbourhood import neighbours
from kgsparql.exploration.results import Found, NeighbourGroup, PredicateCount
from kgsparql.graphs.cut import Cut
from kgsparql.graphs.protocols import KnowledgeGraph, members_of
from kgsparql.rdf.paths import Directions, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import UNWALKED, is_mediator

Ends: TypeAlias = dict[Term, set[Term]]
"""The ends of a property path, each with the terms just before it; two of these are enough."""

Level: TypeAlias = dict[PropertyPath, Ends]

FarEnds: TypeAlias = Mapping[tuple[IRI, Step], set[Term]]
"""The neighbours of a term by one step."""

_Onward = TypeVar("_Onward", PredicateCount, NeighbourGroup)

Keep: TypeAlias = Callable[[Sequence["PredicatePath"]], Collection[PropertyPath]]


@dataclass(frozen=True, slots=True)
class PredicatePath:
    """A property path that leads somewhere.

    :param ends: some of the terms it leads to, in the order of their text; none where they were not fetched.
    """

    path: PropertyPath
    ends: tuple[Term, ...] = ()


def predicate_paths(
    graph: KnowledgeGraph,
    start: Term,
    *,
    max_hops: int = 3,
    frontier: int = 200,
    direction: Directions = "both",
    skip: Iterable[IRI] = UNWALKED,
    keep: Keep | None = None,
) -> Found[PredicatePath]:
    """The distinct property paths that lead somewhere from an entity, the shorter first, then in lexical order.

    A few queries for each length, however many paths there are. A step that inverts the one before it is taken only
    where it leads to another term than the one just left. The ends of the longest paths are not fetched.

    :param frontier: how many ends of a path are expanded; a path that has more is a cut.
    :param keep: from the paths of one length, those that are expanded; all, if ``None``. No path ends the search.
    :raises InputError: for a start that is not an IRI.
    """
    skipped = frozenset(skip)
    level: Level = {PropertyPath(()): {entity: set() for entity in entities_of([start])}}
    behind: Level = {}
    found: list[PredicatePath] = []
    cuts: dict[Cut, None] = {}
    for hops in range(1, max_hops + 1):
        if not level:
            break
        met = {end for ends in level.values() for end in ends}
        entities = sorted((end for end in met if isinstance(end, IRI) and not is_mediator(end)), key=str)
        if hops == max_hops and hops > 1:
            counted = predicates(graph, entities, direction=direction, skip=skipped)
            cuts.update(dict.fromkeys(counted.cuts))
            last = _last_steps(level, counted.items, _far_ends(graph, level, counted.items))
            found += _predicate_paths({**{path: {} for path in last}, **behind})
            break
        near = neighbours(graph, entities, direction=direction, skip=skipped, limit=frontier)
        cuts.update(dict.fromkeys(near.cuts))
        grown, beyond = _grown(level, near.items)
        level, behind = _merged(grown, behind), beyond
        for path, ends in level.items():
            if len(ends) > frontier:
                cuts[Cut("ends", frontier, len(ends), f"{start} {path}")] = None
                level[path] = {end: ends[end] for end in sorted(ends, key=order_key)[:frontier]}
        found += (own := _predicate_paths(level))
        if keep is not None and own and hops < max_hops:
            wanted = frozenset(keep(own))
            level = {path: ends for path, ends in level.items() if path in wanted}
            behind = {path: ends for path, ends in behind.items() if PropertyPath(path.steps[:-1]) in wanted}
    return Found(tuple(found), tuple(cuts))


def _predicate_paths(level: Mapping[PropertyPath, Ends]) -> list[PredicatePath]:
    paths = sorted(level, key=lambda path: [step_key(step) for step in path])
    return [PredicatePath(path, tuple(sorted(level[path], key=order_key))) for path in paths]


def _goes_back(path: PropertyPath, step: Step) -> bool:
    return len(path) > 0 and step.inverts(path.steps[-1])


def _last_steps(level: Level, counts: Iterable[PredicateCount], far_ends: FarEnds) -> set[PropertyPath]:
    """The paths one step longer. A step back is taken only where it leads to more than the term just left."""
    return {
        PropertyPath((*path, count.step))
        for path, _, before, count in _longer(level, counts)
        if not _goes_back(path, count.step)
        or (count.count > 1 and (len(before) > 1 or far_ends.get((count.entity, count.step)) != before))
    }


def _longer(level: Level, onward: Iterable[_Onward]) -> Iterator[tuple[PropertyPath, Term, set[Term], _Onward]]:
    """Each path, one of its ends, the terms just before that end, and what one step from it leads to."""
    at: dict[Term, list[_Onward]] = {}
    for one in onward:
        at.setdefault(one.entity, []).append(one)
    for path, ends in level.items():
        for end, before in ends.items():
            for one in at.get(end, ()):
                yield path, end, before, one


def _far_ends(graph: KnowledgeGraph, level: Level, counts: Iterable[PredicateCount]) -> FarEnds:
    """Where steps back lead, if their count does not tell whether that is more than the term just left.

    In a federation, a triple that several members hold counts several times.
    """
    most = len(members_of(graph))
    doubtful: dict[IRI, list[Step]] = {}
    for path, _, before, count in _longer(level, counts):
        if 1 < count.count <= most and len(before) == 1 and _goes_back(path, count.step):
            doubtful.setdefault(count.entity, []).append(count.step)
    if not doubtful:
        return {}
    near = neighbours(graph, sorted(doubtful, key=str), steps=doubtful, limit=most)
    return {(group.entity, group.step): set(group.neighbours) for group in near.items}


def _grown(level: Level, groups: Iterable[NeighbourGroup]) -> tuple[Level, Level]:
    """The paths one step longer, with their ends; and those two steps longer, through a blank node."""
    grown: Level = {}
    behind: Level = {}
    for path, end, before, group in _longer(level, groups):
        back = before if _goes_back(path, group.step) else set[Term]()
        for far in group.neighbours:
            if back != {far}:
                _add(grown, PropertyPath((*path, group.step)), far, end)
        for mediated in group.mediated:
            there, onward = mediated.hops
            if back != {there.end}:
                _add(behind, PropertyPath((*path, there.step, onward.step)), onward.end, there.end)
    return grown, behind


def _add(level: Level, path: PropertyPath, end: Term, before: Term) -> None:
    known = level.setdefault(path, {}).setdefault(end, set())
    if len(known) < 2:
        known.add(before)


def _merged(level: Level, others: Mapping[PropertyPath, Ends]) -> Level:
    for path, ends in others.items():
        for end, before in ends.items():
            for term in before:
                _add(level, path, end, term)
    return level
