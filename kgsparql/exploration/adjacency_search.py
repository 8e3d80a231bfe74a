"""Searching in a compressed adjacency, by numbers: hops from many terms, and all shortest paths between two."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from kgsparql.events import PathsSearched
from kgsparql.exploration.batched_select import Found, NeighbourGroup, hop_of
from kgsparql.graphs.adjacency import IS_CLASS, Adjacency, AdjacencyView
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Directions, Hop, Path, Step
from kgsparql.rdf.terms import IRI, BlankNode, Term

_Numbers: TypeAlias = npt.NDArray[np.integer[Any]]

_MANY = 16
"""The terms of a level are sorted if they are fewer than all terms divided by this, else looked for among all."""
_FEW = 200
"""So many numbers are sorted sooner by Python than by NumPy."""
_EXACT = 2.0**53
"""Floating-point numbers count exactly up to here."""


def paths_in_adjacency(
    view: AdjacencyView, start: IRI, end: IRI, *, max_hops: int, direction: Directions, skip: frozenset[IRI], limit: int
) -> Found[Path]:
    """Find all shortest paths between two entities, as :func:`kgsparql.exploration.shortest_paths` does.

    Nothing is left out because of a hub or of nested blank nodes.

    :param skip: predicates that are not walked, beside those that the view drops.
    """
    view.check()
    began = time.perf_counter()
    search = _Search(view, start, end, walked_steps(view.adjacency, skip, view.drops, direction))
    found = _ordered_paths(view.adjacency, start, end, search.levels(max_hops), limit)
    seconds = round(time.perf_counter() - began, 6)
    view.report(PathsSearched(start=str(start), end=str(end), paths=len(found.items), seconds=seconds))
    return found


@lru_cache(maxsize=8)
def walked_steps(
    adjacency: Adjacency, skip: frozenset[IRI], drops: Any, direction: Directions
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which steps are walked from the start on, and which from the end on."""
    walked = np.zeros((len(adjacency.predicates), 2), np.bool_)
    walked[[p not in skip and not drops(p) for p in adjacency.predicates]] = True
    near, far = walked.copy(), walked
    if direction != "both":
        near[:, int(direction == "forward")] = False
        far[:, int(direction == "inverse")] = False
    return near.ravel(), far.ravel()


@dataclass(frozen=True, slots=True)
class _Arcs:
    """Hops, by the numbers of their terms and of their steps."""

    tails: _Numbers
    heads: _Numbers
    steps: _Numbers


@dataclass(slots=True)
class _Side:
    """The terms that were reached from one end.

    :param mark: 1 for the start's side, -1 for the end's: the marks of its terms are the mark times their level, from
        1 on.
    :param begins: where the neighbours of each term of the frontier begin; ``counts``, how many there are.
    :param cost: how many there are of all.
    :param seen: of each level, where its walked hops are among all neighbours, and the terms they lead to.
    """

    mark: int
    walked: npt.NDArray[np.bool_]
    begins: _Numbers
    counts: _Numbers
    cost: int
    seen: list[tuple[_Numbers, _Numbers]] = field(default_factory=list)


class _Search:
    """A search from two ends, which marks the terms that it reached."""

    def __init__(
        self, view: AdjacencyView, start: IRI, end: IRI, walked: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
    ) -> None:
        self._view = view
        self._adjacency = view.adjacency
        self._ends = [n for term in (start, end) if (n := self._adjacency.number(term)) is not None]
        self._walked = walked
        about = self._adjacency.about[self._ends]
        self._through_classes = bool((about & IS_CLASS).all())

    def levels(self, max_hops: int) -> list[_Arcs]:
        """Find the hops of all shortest paths, by their place on the paths; none if there is no path."""
        if len(self._ends) < 2:
            return []
        self._marks = np.zeros(len(self._adjacency.about), np.int16)
        self._marks[self._ends] = 1, -1
        near, far = (
            _Side(mark, walked, *neighbours_of(self._adjacency, np.array([number])))
            for mark, walked, number in zip((1, -1), self._walked, self._ends, strict=True)
        )
        for _ in range(max_hops):
            side = near if near.cost <= far.cost else far
            if not side.cost:
                break
            met = self._expand_side(side)
            if len(met):
                after = (_Arcs(arcs.heads, arcs.tails, arcs.steps ^ 1) for arcs in self._arcs_back(far, met))
                return [*reversed(list(self._arcs_back(near, met))), *after]
            self._view.check()
        return []

    def _expand_side(self, side: _Side) -> _Numbers:
        """Mark the terms one hop further; returns those at which the sides meet."""
        if len(side.begins) == 1:
            places: _Numbers = np.arange(side.begins[0], side.begins[0] + side.counts[0])
        else:
            places = ranges(side.begins, side.counts)
        places = places[side.walked[self._adjacency.steps[places]]]
        heads = self._adjacency.others[places]
        side.seen.append((places, heads))
        marks = self._marks[heads]
        met = heads[marks * side.mark < 0]
        if len(met):
            return _sorted_distinct(met)
        new = heads[marks == 0]
        if not self._through_classes:
            new = new[self._adjacency.about[new] < IS_CLASS]
        mark = side.mark * (len(side.seen) + 1)
        self._marks[new] = mark
        is_large = len(new) > len(self._marks) // _MANY
        frontier = np.flatnonzero(self._marks == mark) if is_large else _sorted_distinct(new)
        side.begins, side.counts, side.cost = neighbours_of(self._adjacency, frontier)
        return met

    def _arcs_back(self, side: _Side, met: _Numbers) -> Iterator[_Arcs]:
        """Find the hops that lead to the terms at which the sides meet, those into these first."""
        wanted = np.zeros(len(self._marks), np.bool_)
        for places, heads in reversed(side.seen):
            wanted[met] = True
            on_path = wanted[heads]
            wanted[met] = False
            places = places[on_path]  # noqa: PLW2901
            tails = np.searchsorted(self._adjacency.starts, places, "right") - 1
            yield _Arcs(tails, heads[on_path].astype(np.int64), self._adjacency.steps[places].astype(np.int64))
            met = _sorted_distinct(tails)


def neighbours_of(adjacency: Adjacency, terms: _Numbers) -> tuple[_Numbers, _Numbers, int]:
    """Say where the neighbours of each term begin, how many there are, and how many of all."""
    begins = adjacency.starts[terms].astype(np.int64)
    counts = adjacency.starts[terms + 1] - begins
    return begins, counts, int(counts.sum())


def ranges(begins: _Numbers, counts: _Numbers) -> _Numbers:
    """Return the numbers from each beginning on, so many of each.

    >>> ranges(np.array([5, 20]), np.array([3, 2])).tolist()
    [5, 6, 7, 20, 21]
    """
    before = np.cumsum(counts) - counts
    return np.repeat(begins - before, counts) + np.arange(int(counts.sum()))


def _sorted_distinct(numbers: _Numbers) -> _Numbers:
    """Sort numbers, each once; for few of them faster than :func:`numpy.unique`."""
    if len(numbers) < _FEW:
        return np.array(sorted(set(numbers.tolist())), np.int64)
    return np.unique(numbers).astype(np.int64)


def _ordered_paths(adjacency: Adjacency, start: IRI, end: IRI, levels: list[_Arcs], limit: int) -> Found[Path]:
    """Find the first paths in lexical order, those through terms of few triples first."""
    if not levels:
        return Found()
    ordered = [_sorted_arcs(arcs, adjacency.iris) for arcs in levels]
    chosen: list[_Numbers] = []
    tails = ordered[0].tails[:1]
    complete = True
    for arcs in ordered:
        first = np.searchsorted(arcs.tails, tails)
        counts = np.searchsorted(arcs.tails, tails, "right") - first
        rows = np.repeat(np.arange(len(tails)), counts)
        hops = np.arange(len(rows)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        complete = complete and len(rows) <= limit
        rows, hops = rows[:limit], hops[:limit]
        chosen = [*(column[rows] for column in chosen), hops]
        tails = arcs.heads[hops]
    by_degree = _by_degree(adjacency, ordered, chosen)
    columns = [_hops_at(adjacency, arcs, hops[by_degree]) for arcs, hops in zip(ordered, chosen, strict=True)]
    paths = tuple(Path(start, hops) for hops in zip(*columns, strict=True))
    cut = () if complete else (Cut("paths", len(paths), _number_of_paths(ordered), f"{start} – {end}"),)
    return Found(paths, cut)


def _sorted_arcs(arcs: _Arcs, iris: int) -> _Arcs:
    """Sort hops by the terms that they leave, and those of each in lexical order: blank nodes last, all alike."""
    alike = np.minimum(arcs.heads, iris)
    order = np.lexsort((arcs.heads, arcs.steps, alike, arcs.tails))
    return _Arcs(arcs.tails[order], arcs.heads[order], arcs.steps[order])


def _by_degree(adjacency: Adjacency, levels: list[_Arcs], chosen: Sequence[_Numbers]) -> _Numbers:
    """Order paths by the degrees of the IRIs between their ends; those that are equal in it stay in order."""
    degrees = np.zeros(len(chosen[0]), np.int64)
    for arcs, hops in zip(levels[:-1], chosen[:-1], strict=True):
        heads = arcs.heads[hops]
        degrees += np.where(heads < adjacency.iris, adjacency.about[heads] % IS_CLASS, 0)
    return np.argsort(degrees, kind="stable")


def _number_of_paths(levels: list[_Arcs]) -> int:
    """Count all paths."""
    numbers: npt.NDArray[Any] = np.ones(len(levels[-1].tails))
    for arcs, following in zip(reversed(levels[:-1]), reversed(levels[1:]), strict=True):
        tails, first = np.unique(following.tails, return_index=True)
        of_tails = np.add.reduceat(numbers, first)
        if of_tails.dtype != object and of_tails.max() * len(arcs.tails) >= _EXACT:
            of_tails = of_tails.astype(np.int64).astype(object)
        numbers = of_tails[np.searchsorted(tails, arcs.heads)]
    return int(numbers.sum())


def _hops_at(adjacency: Adjacency, arcs: _Arcs, chosen: _Numbers) -> list[Hop]:
    """Find the hops with these places among others, one for each place."""
    used = np.unique(chosen)
    ends = [arcs.tails[used].tolist(), arcs.heads[used].tolist()]
    terms: dict[int, Term] = {number: adjacency.term(number) for number in {*ends[0], *ends[1]}}
    hops: dict[int, Hop] = {}
    for place, tail, head, step in zip(used.tolist(), *ends, arcs.steps[used].tolist(), strict=True):
        predicate, inverse = divmod(step, 2)
        way: Direction = "inverse" if inverse else "forward"
        hops[place] = hop_of(terms[tail], adjacency.predicates[predicate], terms[head], way)
    return [hops[place] for place in chosen.tolist()]


Numbers: TypeAlias = npt.NDArray[np.integer[Any]]

MOST = 10_000_000
"""Hops that are looked at for one level, in about a second; where there are more, queries count."""
_BATCH = 500_000
"""Hops that are sorted together."""


class NotByNumbersError(Exception):
    """Queries must go on: there are blank nodes, which queries follow in their own way, or too many hops."""


class Hops(NamedTuple):
    """Hops, those from one term together, then those by one step, then by their heads; a column each.

    :param counts: how many hops there are from the tail by the step; those that are left out count, too.
    """

    tails: Numbers
    steps: Numbers
    heads: Numbers
    counts: Numbers


_NO_HOPS = Hops(*[np.empty(0, np.int64)] * 4)

Values: TypeAlias = dict[tuple[int, int], NeighbourGroup]
"""The groups of neighbours with a literal, by the numbers of the entity and of the step."""


@dataclass(slots=True)
class HopsByNumber:
    """The hops from terms that are walked.

    The number of a step is twice that of its predicate, and 1 more if it is walked from object to subject.

    :param asked: gives the neighbours of entities by some steps of each, at most so many a group, from queries.
    """

    asked: Callable[[Mapping[IRI, Sequence[Step]], int], Found[NeighbourGroup]]
    view: AdjacencyView
    direction: Directions
    skipped: frozenset[IRI]
    _walked: npt.NDArray[np.bool_] = field(init=False)
    _terms: dict[int, Term] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._walked = walked_steps(self.view.adjacency, self.skipped, self.view.drops, self.direction)[0]

    @property
    def steps(self) -> int:
        """One more than the highest number of a step."""
        return len(self._walked)

    def step(self, number: int) -> Step:
        """Return the step with a number."""
        predicate, inverse = divmod(number, 2)
        return Step(self.view.adjacency.predicates[predicate], "inverse" if inverse else "forward")

    def terms(self, numbers: Numbers) -> list[Term]:
        """Return the terms with these numbers."""
        known, term = self._terms, self.view.adjacency.term
        return [known[n] if n in known else known.setdefault(n, term(n)) for n in numbers.tolist()]

    def limited(self, entities: Numbers, limit: int) -> tuple[Hops, Values]:
        """Find at most so many hops from each term by each step, to the first in lexical order.

        :return: these hops, and the groups of neighbours with a literal, which are not among them.
        :raises NotByNumbersError: if queries must go on.
        """
        values = self._with_literals(entities, limit)
        elsewhere = np.array([tail * self.steps + step for tail, step in values], np.int64)
        parts = [_NO_HOPS]
        for hops in self._batches_of_hops(entities):
            if np.any(hops.heads >= self.view.adjacency.iris):
                raise NotByNumbersError
            groups, counts = _starts_and_sizes(hops)
            ranks = np.arange(len(hops.tails)) - np.repeat(groups, counts)
            here = ~np.isin(hops.tails * self.steps + hops.steps, elsewhere)
            kept = np.flatnonzero(here & (ranks < limit))
            parts.append(Hops(*(column[kept] for column in (*hops[:3], np.repeat(counts, counts)))))
        return Hops(*map(np.concatenate, zip(*parts, strict=True))), values

    def groups(self, hops: Hops) -> Iterator[NeighbourGroup]:
        """Yield the groups of neighbours that limited hops make."""
        first, sizes = _starts_and_sizes(hops)
        entities, heads = self.terms(hops.tails[first]), self.terms(hops.heads)
        steps, counts = hops.steps[first].tolist(), hops.counts[first].tolist()
        for at, size, entity, step, count in zip(first.tolist(), sizes.tolist(), entities, steps, counts, strict=True):
            yield NeighbourGroup(cast("IRI", entity), self.step(step), tuple(heads[at : at + size]), count)

    def counted(self, entities: Numbers) -> Hops:
        """Count the hops from each term by each step; of literals, one counts.

        :raises NotByNumbersError: if queries must go on.
        """
        tails, steps = self._literal_groups(entities)
        parts = [Hops(tails, steps, tails, np.ones(len(tails), np.int64))]
        for hops in self._batches_of_hops(entities):
            groups, counts = _starts_and_sizes(hops)
            parts.append(Hops(hops.tails[groups], hops.steps[groups], hops.heads[groups], counts))
        found = sorted_hops(Hops(*map(np.concatenate, zip(*parts, strict=True))))
        groups, _ = _starts_and_sizes(found)
        counts = np.add.reduceat(found.counts, groups) if len(groups) else found.counts
        return Hops(found.tails[groups], found.steps[groups], found.heads[groups], counts)

    def _batches_of_hops(self, entities: Numbers) -> Iterator[Hops]:
        """Yield all hops from some terms that are walked, as many at a time as are sorted together."""
        adjacency = self.view.adjacency
        begins, counts, total = neighbours_of(adjacency, entities)
        if total > MOST:
            raise NotByNumbersError
        ends, low = np.cumsum(counts), 0
        while low < len(entities):
            before = ends[low - 1] if low else 0
            high = max(low + 1, int(np.searchsorted(ends, before + _BATCH, "right")))
            places = ranges(begins[low:high], counts[low:high])
            steps = adjacency.steps[places].astype(np.int64)
            walked = self._walked[steps]
            tails = np.repeat(entities[low:high], counts[low:high])[walked].astype(np.int64)
            heads, steps = adjacency.others[places[walked]].astype(np.int64), steps[walked]
            order = np.lexsort((steps, tails))  # the heads of a term are in order already
            yield Hops(tails[order], steps[order], heads[order], np.ones(len(tails), np.int64))
            self.view.check()
            low = high

    def _literal_groups(self, entities: Numbers) -> tuple[Numbers, Numbers]:
        """Find the terms that lead to literals, and by which steps."""
        adjacency = self.view.adjacency
        begins = adjacency.literal_starts[entities].astype(np.int64)
        counts = adjacency.literal_starts[entities + 1] - begins
        steps = 2 * adjacency.literals[ranges(begins, counts)].astype(np.int64)
        walked = self._walked[steps]
        return np.repeat(entities, counts)[walked].astype(np.int64), steps[walked]

    def _with_literals(self, entities: Numbers, limit: int) -> Values:
        """Find the groups of neighbours that have a literal, from queries."""
        tails, steps = self._literal_groups(entities)
        asked: dict[IRI, list[Step]] = defaultdict(list)
        numbers: dict[tuple[Term, Step], tuple[int, int]] = {}
        for entity, tail, step in zip(self.terms(tails), tails.tolist(), steps.tolist(), strict=True):
            asked[cast("IRI", entity)].append(self.step(step))
            numbers[entity, self.step(step)] = (tail, step)
        found = self.asked(asked, limit)
        if any(isinstance(end, BlankNode) for group in found.items for end in group.neighbours):
            raise NotByNumbersError
        return {numbers[group.entity, group.step]: group for group in found.items}


def neighbours_by_number(
    hops: HopsByNumber, entities: Iterable[IRI], limit: int
) -> tuple[list[NeighbourGroup], list[IRI]] | None:
    """Find the neighbours of some entities, as :func:`kgsparql.exploration.neighbours` does; a search is reported.

    :return: their groups, and the entities that have no neighbours but literals; ``None`` if queries must find all.
    """
    began = time.perf_counter()
    numbers = {entity: hops.view.adjacency.number(entity) for entity in entities}
    known = np.array(sorted(number for number in numbers.values() if number is not None), np.int64)
    try:
        found, values = hops.limited(known, limit)
    except NotByNumbersError:
        return None
    groups = [*hops.groups(found), *values.values()]
    start, seconds = f"{next(iter(numbers))} and {len(numbers) - 1:,} others", round(time.perf_counter() - began, 6)
    hops.view.report(PathsSearched(start=start, paths=len(groups), seconds=seconds))
    return groups, [entity for entity, number in numbers.items() if number is None]


def starts_of(columns: Iterable[Numbers]) -> Numbers:
    """Say where a row of sorted columns differs from the one before.

    >>> starts_of([np.array([1, 1, 2, 2]), np.array([7, 7, 7, 8])]).tolist()
    [0, 2, 3]
    """
    first, *others = columns
    new = np.ones(len(first), np.bool_)
    new[1:] = first[1:] != first[:-1]
    for column in others:
        new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(new)


def _starts_and_sizes(hops: Hops) -> tuple[Numbers, Numbers]:
    """Say where the hops from a term by a step begin, and how many these are."""
    groups = starts_of([hops.tails, hops.steps])
    return groups, np.diff(groups, append=len(hops.tails))


def sorted_hops(hops: Hops) -> Hops:
    """Sort hops by their tails, then steps, then heads."""
    order = np.lexsort((hops.heads, hops.steps, hops.tails))
    return Hops(*(column[order] for column in hops))
