"""The property paths of one length from an entity, with their ends, found in a compressed adjacency."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from kgsparql.events import PathsSearched
from kgsparql.exploration.adjacency_search import (
    MOST,
    Hops,
    HopsByNumber,
    NotByNumbersError,
    Numbers,
    Values,
    ranges,
    sorted_hops,
    starts_of,
)
from kgsparql.exploration.batched_select import Found, PredicatePath, order_key
from kgsparql.exploration.neighbourhood import by_steps, cut_of_group
from kgsparql.exploration.query_levels import EndsOfPaths, Level, QueryLevel, Walking
from kgsparql.graphs.adjacency import AdjacencyView
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Term

_NONE = -1
"""In place of the number of a term or a step where there is none."""


def first_level(walking: Walking, view: AdjacencyView) -> AdjacencyLevel | None:
    """Find the path of no step; ``None`` if queries must find the paths."""
    number = view.adjacency.number(walking.start)
    if number is None or view.adjacency.has_statements:
        return None
    row, none = np.array([number]), np.array([_NONE])
    hops = HopsByNumber(partial(by_steps, walking.graph), view, walking.direction, walking.skipped)
    return AdjacencyLevel(walking, hops, (PropertyPath(()),), none, none + 1, row, np.array([[_NONE] * 2]))


@dataclass(frozen=True, slots=True)
class AdjacencyLevel:
    """The paths of one length. A row stands for a path and one of its ends; rows are sorted by both.

    :param shapes: the paths, in lexical order.
    :param last: the number of each path's last step.
    :param path: of each row, the place of the path in ``shapes``.
    :param end: of each row, the number of the end, which is an IRI.
    :param before: of each row, the numbers of two terms just before the end, or of the only one; shape ``(rows, 2)``.
    :param literals: those at the ends of a path, by its place.
    """

    walking: Walking
    hops: HopsByNumber
    shapes: tuple[PropertyPath, ...]
    last: Numbers
    path: Numbers
    end: Numbers
    before: Numbers
    literals: Mapping[int, Sequence[Term]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shapes)

    def paths(self) -> list[PredicatePath]:
        """Find the paths in lexical order, with their ends."""
        bounds = np.searchsorted(self.path, np.arange(len(self) + 1)).tolist()
        found, shown = [], self.walking.shown
        for place, shape in enumerate(self.shapes):
            ends = self.hops.terms(self.end[bounds[place] : bounds[place + 1]][:shown])
            if place in self.literals:
                ends = sorted([*ends, *self.literals[place]], key=order_key)[:shown]
            found.append(PredicatePath(shape, tuple(ends)))
        return found

    def only(self, wanted: Collection[PropertyPath]) -> AdjacencyLevel:
        """Keep those of the paths that are wanted, without literals: nothing is walked on from these."""
        kept = np.array([shape in wanted for shape in self.shapes], np.bool_)
        rows = kept[self.path]
        places = np.cumsum(kept) - 1
        shapes = tuple(shape for shape in self.shapes if shape in wanted)
        return AdjacencyLevel(
            self.walking, self.hops, shapes, self.last[kept], places[self.path[rows]], self.end[rows], self.before[rows]
        )

    def longer(self) -> tuple[Level, tuple[Cut, ...]]:
        """Find the paths one step longer."""
        began = time.perf_counter()
        try:
            some, values = self.hops.limited(np.unique(self.end), self.walking.frontier)
            hops = self._with_values(some, values)
            rows, onward = self._rows_with_hops(hops)
        except NotByNumbersError:
            return self._for_queries().longer()
        heads, keys = hops.heads[onward], self._keys_of_paths(rows, hops.steps[onward])
        to_before = (heads == self.before[rows, 0]) & (self.before[rows, 1] == _NONE)
        kept = np.flatnonzero(~(self._goes_back(rows, hops.steps[onward]) & to_before))
        keys, heads, tails = keys[kept], heads[kept], self.end[rows[kept]]
        order = np.lexsort((heads, keys))
        keys, heads, tails = keys[order], heads[order], tails[order]
        first = starts_of([keys, heads])
        several = np.diff(first, append=len(keys)) > 1
        before = np.full((len(first), 2), _NONE)
        before[:, 0] = tails[first]
        before[several, 1] = tails[first[several] + 1]
        longer, more = self._next_level(keys[first], heads[first], before, self._literals_by_key(values))
        self._report_search(len(longer), began)
        return longer, (*self._cuts_of_groups(some, values), *more)

    def last_step(self) -> Found[PredicatePath]:
        """Find the paths one step longer, without their ends."""
        began = time.perf_counter()
        try:
            hops = self.hops.counted(np.unique(self.end))
            rows, onward = self._rows_with_hops(hops)
        except NotByNumbersError:
            return self._for_queries().last_step()
        leads_on = ~self._goes_back(rows, hops.steps[onward]) | (hops.counts[onward] > 1)
        keys = np.unique(self._keys_of_paths(rows, hops.steps[onward])[leads_on])
        self._report_search(len(keys), began)
        return Found(tuple(map(PredicatePath, self._paths_of_keys(keys))))

    def _rows_with_hops(self, hops: Hops) -> tuple[Numbers, Numbers]:
        """Join each row with each hop from its end: the places of both."""
        first = np.searchsorted(hops.tails, self.end)
        counts = np.searchsorted(hops.tails, self.end, "right") - first
        if counts.sum() > MOST:
            raise NotByNumbersError
        return np.repeat(np.arange(len(counts)), counts), ranges(first, counts)

    def _keys_of_paths(self, rows: Numbers, steps: Numbers) -> Numbers:
        """Make a number for each path one step longer; these numbers are in the order of the paths."""
        return self.path[rows] * self.hops.steps + steps

    def _paths_of_keys(self, keys: Numbers) -> tuple[PropertyPath, ...]:
        paths, steps = np.divmod(keys, self.hops.steps)
        known = {step: self.hops.step(step) for step in set(steps.tolist())}
        return tuple(
            PropertyPath((*self.shapes[path].steps, known[step]))
            for path, step in zip(paths.tolist(), steps.tolist(), strict=True)
        )

    def _with_values(self, hops: Hops, values: Values) -> Hops:
        """Add the hops to the things that are in groups with literals."""
        number = self.hops.view.adjacency.number
        things = [
            (tail, step, number(end), group.count)
            for (tail, step), group in values.items()
            for end in group.neighbours
            if isinstance(end, IRI)
        ]
        more = np.array(things, np.int64).reshape(-1, 4).T
        return sorted_hops(Hops(*(np.concatenate(columns) for columns in zip(hops, more, strict=True))))

    def _cuts_of_groups(self, hops: Hops, values: Values) -> list[Cut]:
        limit = self.walking.frontier
        some = Hops(*(column[hops.counts > limit] for column in hops))
        groups = [*self.hops.groups(some), *(group for group in values.values() if group.count > limit)]
        return sorted((cut_of_group(group, limit) for group in groups), key=str)

    def _goes_back(self, rows: Numbers, steps: Numbers) -> npt.NDArray[np.bool_]:
        return np.asarray((self.last[self.path[rows]] ^ 1) == steps)

    def _literals_by_key(self, values: Values) -> dict[int, list[Term]]:
        """Find the literals at the ends of paths one step longer, by the numbers of these."""
        found: dict[int, dict[Term, None]] = {}
        order = np.argsort(self.end, kind="stable")
        ends = self.end[order]
        for (tail, step), group in values.items():
            literals: dict[Term, None] = {end: None for end in group.neighbours if not isinstance(end, IRI)}
            some = order[np.searchsorted(ends, tail) : np.searchsorted(ends, tail, "right")]
            for path in self.path[some].tolist() if literals else ():
                found.setdefault(path * self.hops.steps + step, {}).update(literals)
        return {key: sorted(own, key=order_key) for key, own in found.items()}

    def _next_level(
        self, keys: Numbers, ends: Numbers, before: Numbers, literals: Mapping[int, list[Term]]
    ) -> tuple[AdjacencyLevel, list[Cut]]:
        """Find the level of paths one step longer, at most ``frontier`` ends of each, the first in order."""
        distinct = np.union1d(keys, np.array([*literals], np.int64))
        shapes, frontier = self._paths_of_keys(distinct), self.walking.frontier
        path = np.searchsorted(distinct, keys)
        counts = np.bincount(path, minlength=len(shapes))
        first = np.cumsum(counts) - counts
        most, own = np.full(len(shapes), frontier), {}
        for key, values in literals.items():
            place = int(np.searchsorted(distinct, key))
            others = self.hops.terms(ends[first[place] : first[place] + min(frontier, counts[place])])
            ordered = sorted([*others, *values], key=order_key)[:frontier]
            own[place] = [term for term in ordered if not isinstance(term, IRI)]
            most[place], counts[place] = len(ordered) - len(own[place]), counts[place] + len(values)
        cuts = [self.walking.cut(shapes[p], int(counts[p])) for p in np.flatnonzero(counts > frontier).tolist()]
        kept = np.arange(len(path)) - first[path] < most[path]
        last = distinct % self.hops.steps
        return AdjacencyLevel(self.walking, self.hops, shapes, last, path[kept], ends[kept], before[kept], own), cuts

    def _report_search(self, paths: int, began: float) -> None:
        start, seconds = str(self.walking.start), round(time.perf_counter() - began, 6)
        self.hops.view.report(PathsSearched(start=start, paths=paths, seconds=seconds))

    def _for_queries(self) -> QueryLevel:
        ends: EndsOfPaths = {shape: {} for shape in self.shapes}
        for path, end, before in zip(self.path.tolist(), self.hops.terms(self.end), self.before, strict=True):
            ends[self.shapes[path]][end] = set(self.hops.terms(before[before != _NONE]))
        return QueryLevel(self.walking, ends)
