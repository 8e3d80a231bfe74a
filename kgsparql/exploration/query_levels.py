"""The property paths of one length from an entity, with their ends, found by queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

from kgsparql.exploration.batched_select import Found, NeighbourGroup, PredicateCount, PredicatePath, order_key
from kgsparql.exploration.counting import predicates
from kgsparql.exploration.neighbourhood import neighbours
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import is_mediator

Ends: TypeAlias = dict[Term, set[Term]]
"""The ends of a property path, each with the terms just before it; two of these are enough."""

EndsOfPaths: TypeAlias = dict[PropertyPath, Ends]

FarEnds: TypeAlias = Mapping[tuple[IRI, Step], set[Term]]
"""The neighbours of a term by one step."""

_Onward = TypeVar("_Onward", PredicateCount, NeighbourGroup)


@dataclass(frozen=True, slots=True)
class Walking:
    """Where paths begin, and what is walked.

    :param frontier: how many ends of a path are expanded.
    :param skipped: predicates that are not walked.
    :param shown: how many ends of a path are returned; all that are expanded, if ``None``.
    """

    graph: KnowledgeGraph
    start: IRI
    direction: Directions
    frontier: int
    skipped: frozenset[IRI]
    shown: int | None = None

    def cut(self, path: PropertyPath, ends: int) -> Cut:
        """Say that a path has more ends than are expanded."""
        return Cut("ends", self.frontier, ends, f"{self.start} {path}")


class Level(Protocol):
    """The paths of one length, with their ends."""

    def __len__(self) -> int:
        """Count how many paths there are."""

    def paths(self) -> list[PredicatePath]:
        """Find the paths in lexical order, with their ends."""

    def only(self, wanted: Collection[PropertyPath]) -> Level:
        """Keep those of the paths that are wanted."""

    def longer(self) -> tuple[Level, tuple[Cut, ...]]:
        """Find the paths one step longer."""

    def last_step(self) -> Found[PredicatePath]:
        """Find the paths one step longer, without their ends."""


@dataclass(frozen=True, slots=True)
class QueryLevel:
    """The paths of one length, whose ends are expanded by queries.

    :param behind: paths that are one step longer already: they lead through a blank node.
    """

    walking: Walking
    ends: EndsOfPaths
    behind: EndsOfPaths = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ends)

    def paths(self) -> list[PredicatePath]:
        """Find the paths in lexical order, with their ends."""
        return _ordered_paths(self.ends, self.walking.shown)

    def only(self, wanted: Collection[PropertyPath]) -> QueryLevel:
        """Keep those of the paths that are wanted."""
        ends = {path: ends for path, ends in self.ends.items() if path in wanted}
        behind = {path: ends for path, ends in self.behind.items() if PropertyPath(path.steps[:-1]) in wanted}
        return QueryLevel(self.walking, ends, behind)

    def longer(self) -> tuple[QueryLevel, tuple[Cut, ...]]:
        """Find the paths one step longer."""
        walking = self.walking
        near = neighbours(
            walking.graph,
            self._ends_to_expand(),
            direction=walking.direction,
            skip=walking.skipped,
            limit=walking.frontier,
        )
        grown, behind = _grown_paths(self.ends, near.items)
        level, cuts = _merged_levels(grown, self.behind), list(near.cuts)
        for path, ends in level.items():
            if len(ends) > walking.frontier:
                cuts.append(walking.cut(path, len(ends)))
                level[path] = {end: ends[end] for end in sorted(ends, key=order_key)[: walking.frontier]}
        return QueryLevel(walking, level, behind), tuple(cuts)

    def last_step(self) -> Found[PredicatePath]:
        """Find the paths one step longer, without their ends."""
        walking = self.walking
        counted = predicates(walking.graph, self._ends_to_expand(), direction=walking.direction, skip=walking.skipped)
        longer = _onward_of_ends(self.ends, counted.items)
        back = (count for path, _, before, count in longer if len(before) == 1 and path.is_back(count.step))
        last = _last_steps(self.ends, counted.items, far_ends(walking.graph, back))
        return Found(tuple(_ordered_paths({**{path: {} for path in last}, **self.behind}, walking.shown)), counted.cuts)

    def _ends_to_expand(self) -> list[IRI]:
        met = {end for ends in self.ends.values() for end in ends}
        return sorted((end for end in met if isinstance(end, IRI) and not is_mediator(end)), key=str)


def _ordered_paths(level: EndsOfPaths, shown: int | None) -> list[PredicatePath]:
    paths = sorted(level, key=lambda path: [(step.predicate.value, step.direction) for step in path.steps])
    return [PredicatePath(path, tuple(sorted(level[path], key=order_key)[:shown])) for path in paths]


def _last_steps(level: EndsOfPaths, counts: Iterable[PredicateCount], far_ends: FarEnds) -> set[PropertyPath]:
    """Find the paths one step longer. A step back is taken only where it leads to more than the term just left."""
    return {
        PropertyPath((*path.steps, count.step))
        for path, _, before, count in _onward_of_ends(level, counts)
        if not path.is_back(count.step)
        or (count.count > 1 and (len(before) > 1 or far_ends.get((count.entity, count.step)) != before))
    }


def _onward_of_ends(
    level: EndsOfPaths, onward: Iterable[_Onward]
) -> Iterator[tuple[PropertyPath, Term, set[Term], _Onward]]:
    """Yield each path, one of its ends, the terms just before that end, and what one step from it leads to."""
    at: dict[Term, list[_Onward]] = {}
    for one in onward:
        at.setdefault(one.entity, []).append(one)
    for path, ends in level.items():
        for end, before in ends.items():
            for one in at.get(end, ()):
                yield path, end, before, one


def far_ends(graph: KnowledgeGraph, steps_back: Iterable[PredicateCount]) -> FarEnds:
    """Find where steps back lead, if their count does not tell whether that is more than the term just left.

    In a federation, a triple that several members hold counts several times.
    """
    most = len(graph.members)
    if most == 1:
        return {}
    doubtful: dict[IRI, list[Step]] = {}
    for count in dict.fromkeys(steps_back):
        if 1 < count.count <= most:
            doubtful.setdefault(count.entity, []).append(count.step)
    near = neighbours(graph, sorted(doubtful, key=str), steps=doubtful, limit=most)
    return {(group.entity, group.step): set(group.neighbours) for group in near.items}


def _grown_paths(level: EndsOfPaths, groups: Iterable[NeighbourGroup]) -> tuple[EndsOfPaths, EndsOfPaths]:
    """Find the paths one step longer, with their ends; and those two steps longer, through a blank node."""
    grown: EndsOfPaths = {}
    behind: EndsOfPaths = {}
    for path, end, before, group in _onward_of_ends(level, groups):
        back = before if path.is_back(group.step) else set[Term]()
        for far in group.neighbours:
            if back != {far}:
                _add_end(grown, PropertyPath((*path.steps, group.step)), far, end)
        for mediated in group.mediated:
            there, onward = mediated.hops
            if back != {there.end}:
                _add_end(behind, PropertyPath((*path.steps, there.step, onward.step)), onward.end, there.end)
    return grown, behind


def _add_end(level: EndsOfPaths, path: PropertyPath, end: Term, before: Term) -> None:
    known = level.setdefault(path, {}).setdefault(end, set())
    if len(known) < 2:
        known.add(before)


def _merged_levels(level: EndsOfPaths, others: Mapping[PropertyPath, Ends]) -> EndsOfPaths:
    for path, ends in others.items():
        for end, before in ends.items():
            for term in before:
                _add_end(level, path, end, term)
    return level
