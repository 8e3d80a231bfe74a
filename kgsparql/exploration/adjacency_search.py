"""Searching in a compressed adjacency, by numbers: hops from many terms, and all shortest paths between two."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from kgsparql.events import PathsSearched
from kgsparql.exploration.batched_select import Found, NeighbourGroup, hop_of
from kgsparql.graphs.adjacency import IS_CLASS, Adjacency, AdjacencyView
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, Hop, Path, Step
from kgsparql.rdf.terms import IRI, BlankNode, Term

Numbers: TypeAlias = npt.NDArray[np.integer[Any]]

# The terms of a level are sorted if they are fewer than all terms divided by this, else looked for among all.
_MANY = 16
# So many numbers are sorted sooner by Python than by NumPy.
_FEW = 200
# Floating-point numbers count exactly up to here.
_EXACT = 2.0**53
# Hops that are sorted together.
_BATCH = 500_000


class Arcs(NamedTuple):
    """Hops at one place of some paths, by the numbers of their terms and of their steps."""

    tails: Numbers
    heads: Numbers
    steps: Numbers


def paths_in_adjacency(
    view: AdjacencyView, start: IRI, end: IRI, *, max_hops: int, direction: Directions, skip: frozenset[IRI], limit: int
) -> Found[Path]:
    """Find all shortest paths between two entities, as :func:`kgsparql.exploration.shortest_paths` does."""
    view.check()
    began = time.perf_counter()
    ends = [number for term in (start, end) if (number := view.adjacency.number(term)) is not None]
    levels: list[Arcs] = []
    if len(ends) == 2:
        levels = _Search(view, ends, walked_steps(view.adjacency, skip, view.drops, direction)).levels(max_hops)
    found = ordered_paths(view.adjacency, levels, limit, between=f"{start} – {end}")
    seconds = round(time.perf_counter() - began, 6)
    view.report(PathsSearched(start=str(start), end=str(end), paths=len(found.items), seconds=seconds))
    return found


@lru_cache(maxsize=8)
def walked_steps(
    adjacency: Adjacency, skip: frozenset[IRI], drops: Any, direction: Directions
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Mark which steps are walked from the start on, and which from the end on."""
    walked = np.zeros((len(adjacency.predicates), 2), np.bool_)
    walked[[p not in skip and not drops(p) for p in adjacency.predicates]] = True
    near, far = walked.copy(), walked
    if direction != "both":
        near[:, int(direction == "forward")] = False
        far[:, int(direction == "inverse")] = False
    return near.ravel(), far.ravel()


@dataclass(slots=True)
class _Side:
    """The terms that were reached from one end: marked with ``mark`` (1 or -1) times their level, from 1 on.

    :param begins: where the neighbours of each term of the frontier begin; there are ``cost`` of all.
    :param seen: of each level, where its walked hops are among all neighbours, and the terms they lead to.
    """

    mark: int
    walked: npt.NDArray[np.bool_]
    begins: Numbers
    counts: Numbers
    cost: int
    seen: list[tuple[Numbers, Numbers]] = field(default_factory=list)


class _Search:
    """A search from two ends, which marks the terms that it reached."""

    def __init__(self, view: AdjacencyView, ends: list[int], walked: tuple[npt.NDArray[np.bool_], ...]) -> None:
        self._view, self._adjacency, self._ends, self._walked = view, view.adjacency, ends, walked
        self._through_classes = bool((self._adjacency.about[ends] & IS_CLASS).all())
        self._marks = np.zeros(len(self._adjacency.about), np.int16)
        self._marks[ends] = 1, -1

    def levels(self, max_hops: int) -> list[Arcs]:
        """Find the hops of all shortest paths, by their place on the paths; none if there is no path."""
        near, far = (
            _Side(mark, walked, *_neighbours_of(self._adjacency, np.array([number])))
            for mark, walked, number in zip((1, -1), self._walked, self._ends, strict=True)
        )
        for _ in range(max_hops):
            side = near if near.cost <= far.cost else far
            if not side.cost:
                break
            met = self._expand_side(side)
            if len(met):
                after = (Arcs(arcs.heads, arcs.tails, arcs.steps ^ 1) for arcs in self._arcs_back(far, met))
                return [*reversed(list(self._arcs_back(near, met))), *after]
            self._view.check()
        return []

    def _expand_side(self, side: _Side) -> Numbers:
        """Mark the terms one hop further; returns those at which the sides meet."""
        if len(side.begins) == 1:
            places: Numbers = np.arange(side.begins[0], side.begins[0] + side.counts[0])
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
        side.begins, side.counts, side.cost = _neighbours_of(self._adjacency, frontier)
        return met

    def _arcs_back(self, side: _Side, met: Numbers) -> Iterator[Arcs]:
        """Find the hops that lead to the terms at which the sides meet, those into these first."""
        wanted = np.zeros(len(self._marks), np.bool_)
        for places, heads in reversed(side.seen):
            wanted[met] = True
            on_path = wanted[heads]
            wanted[met] = False
            places = places[on_path]  # noqa: PLW2901
            tails = np.searchsorted(self._adjacency.starts, places, "right") - 1
            yield Arcs(tails, heads[on_path].astype(np.int64), self._adjacency.steps[places].astype(np.int64))
            met = _sorted_distinct(tails)


def _neighbours_of(adjacency: Adjacency, terms: Numbers) -> tuple[Numbers, Numbers, int]:
    """Say where the neighbours of each term begin, how many there are, and how many of all."""
    begins = adjacency.starts[terms].astype(np.int64)
    counts = adjacency.starts[terms + 1] - begins
    return begins, counts, int(counts.sum())


def ranges(begins: Numbers, counts: Numbers) -> Numbers:
    """Return the numbers from each beginning on, so many of each.

    >>> ranges(np.array([5, 20]), np.array([3, 2])).tolist()
    [5, 6, 7, 20, 21]
    """
    before = np.cumsum(counts) - counts
    return np.repeat(begins - before, counts) + np.arange(int(counts.sum()))


def _sorted_distinct(numbers: Numbers) -> Numbers:
    if len(numbers) < _FEW:
        return np.array(sorted(set(numbers.tolist())), np.int64)
    return np.unique(numbers).astype(np.int64)


class _NumberedTerms(Protocol):
    """Terms and steps by numbers, both in lexical order: first those with a name, of which there are ``iris``."""

    @property
    def iris(self) -> int: ...
    def term(self, number: int, /) -> Term: ...
    def step(self, number: int, /) -> Step: ...
    def degrees(self, numbers: Numbers, /) -> Numbers: ...


def ordered_paths(
    names: _NumberedTerms, levels: Sequence[Arcs], limit: int, *, between: str, complete: bool = True
) -> Found[Path]:
    """Find the first paths in lexical order, those through terms of few triples first.

    :param levels: the hops of all paths, by their place.
    :param complete: whether these are all.
    """
    if not levels:
        return Found()
    # Blank nodes are last, and all alike.
    orders = (np.lexsort((arcs.heads, arcs.steps, np.minimum(arcs.heads, names.iris), arcs.tails)) for arcs in levels)
    ordered = [Arcs(*(column[order] for column in arcs)) for arcs, order in zip(levels, orders, strict=True)]
    chosen: list[Numbers] = []
    tails, are_all = ordered[0].tails[:1], True
    for arcs in ordered:
        first = np.searchsorted(arcs.tails, tails)
        counts = np.searchsorted(arcs.tails, tails, "right") - first
        rows, hops = np.repeat(np.arange(len(tails)), counts)[:limit], ranges(first, counts)
        are_all = are_all and len(hops) <= limit
        hops = hops[:limit]
        chosen = [*(column[rows] for column in chosen), hops]
        tails = arcs.heads[hops]
    if len(tails) > 1 and len(levels) > 1:
        between_ends = np.concatenate([arcs.heads[hops] for arcs, hops in zip(ordered[:-1], chosen, strict=False)])
        degrees = names.degrees(between_ends).reshape(-1, len(tails)).sum(axis=0, dtype=np.int64)
        chosen = [hops[np.argsort(degrees, kind="stable")] for hops in chosen]
    columns = [_hops_at(names, arcs, hops) for arcs, hops in zip(ordered, chosen, strict=True)]
    paths = tuple(Path(hops[0].start, hops) for hops in zip(*columns, strict=True))
    if are_all and complete:
        return Found(paths)
    return Found(paths, (Cut("paths", len(paths), _number_of_paths(ordered) if complete else None, between),))


def _number_of_paths(levels: list[Arcs]) -> int:
    numbers: npt.NDArray[Any] = np.ones(len(levels[-1].tails))
    for arcs, following in zip(reversed(levels[:-1]), reversed(levels[1:]), strict=True):
        tails, first = np.unique(following.tails, return_index=True)
        of_tails = np.add.reduceat(numbers, first)
        if of_tails.dtype != object and of_tails.max() * len(arcs.tails) >= _EXACT:
            of_tails = of_tails.astype(np.int64).astype(object)
        numbers = of_tails[np.searchsorted(tails, arcs.heads)]
    return int(numbers.sum())


def _hops_at(names: _NumberedTerms, arcs: Arcs, chosen: Numbers) -> list[Hop]:
    """Make the hops with these places among others, one for each place."""
    used = np.unique(chosen)
    ends = [arcs.tails[used].tolist(), arcs.heads[used].tolist()]
    terms = {number: names.term(number) for number in {*ends[0], *ends[1]}}
    hops: dict[int, Hop] = {}
    for place, tail, head, number in zip(used.tolist(), *ends, arcs.steps[used].tolist(), strict=True):
        step = names.step(number)
        hops[place] = hop_of(terms[tail], step.predicate, terms[head], step.direction)
    return [hops[place] for place in chosen.tolist()]


class Hops(NamedTuple):
    """Hops, those from one term together, then those by one step, then by their heads; a column each.

    :param counts: how many hops there are from the tail by the step; those that are left out count, too.
    """

    tails: Numbers
    steps: Numbers
    heads: Numbers
    counts: Numbers


_NO_HOPS = Hops(*[np.empty(0, np.int64)] * 4)


@dataclass(slots=True)
class AdjacencyHops:
    """The hops from terms that are walked.

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

    def terms(self, numbers: Numbers) -> list[Term]:
        """Return the terms with these numbers."""
        known, term = self._terms, self.view.adjacency.term
        return [known[n] if n in known else known.setdefault(n, term(n)) for n in numbers.tolist()]

    def limited(self, entities: Numbers, limit: int) -> tuple[Hops, list[NeighbourGroup]] | None:
        """Find at most so many hops from each term by each step, to the first in lexical order.

        :return: these hops, and the groups with a literal, which are not among them; ``None`` if queries must find
            all, since there are blank nodes, which they follow in their own way.
        """
        tails, steps = self._literal_groups(entities)
        asked: dict[IRI, list[Step]] = defaultdict(list)
        for entity, step in zip(self.terms(tails), steps.tolist(), strict=True):
            asked[cast("IRI", entity)].append(self.view.adjacency.step(step))
        groups = list(self.asked(asked, limit).items)
        if any(isinstance(end, BlankNode) for group in groups for end in group.neighbours):
            return None
        elsewhere = tails * len(self._walked) + steps
        parts = [_NO_HOPS]
        for hops in self._batches_of_hops(entities):
            if np.any(hops.heads >= self.view.adjacency.iris):
                return None
            first, counts = _starts_and_sizes(hops)
            ranks = np.arange(len(hops.tails)) - np.repeat(first, counts)
            here = ~np.isin(hops.tails * len(self._walked) + hops.steps, elsewhere)
            kept = np.flatnonzero(here & (ranks < limit))
            parts.append(Hops(*(column[kept] for column in (*hops[:3], np.repeat(counts, counts)))))
        return Hops(*map(np.concatenate, zip(*parts, strict=True))), groups

    def groups(self, hops: Hops) -> Iterator[NeighbourGroup]:
        """Yield the groups of neighbours that limited hops make."""
        first, sizes = _starts_and_sizes(hops)
        entities, heads = self.terms(hops.tails[first]), self.terms(hops.heads)
        steps, counts = hops.steps[first].tolist(), hops.counts[first].tolist()
        for at, size, entity, step, count in zip(first.tolist(), sizes.tolist(), entities, steps, counts, strict=True):
            own = tuple(heads[at : at + size])
            yield NeighbourGroup(cast("IRI", entity), self.view.adjacency.step(step), own, count)

    def counted(self, entities: Numbers) -> Hops:
        """Count the hops from each term by each step; of literals, one counts."""
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
        begins, counts, _ = _neighbours_of(adjacency, entities)
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


def neighbours_by_number(
    hops: AdjacencyHops, entities: Iterable[IRI], limit: int
) -> tuple[list[NeighbourGroup], list[IRI]] | None:
    """Find the neighbours of some entities, as :func:`kgsparql.exploration.neighbours` does; a search is reported."""
    began = time.perf_counter()
    numbers = {entity: hops.view.adjacency.number(entity) for entity in entities}
    known = np.array(sorted(number for number in numbers.values() if number is not None), np.int64)
    found = hops.limited(known, limit)
    if found is None:
        return None
    groups = [*hops.groups(found[0]), *found[1]]
    start, seconds = f"{next(iter(numbers))} and {len(numbers) - 1:,} others", round(time.perf_counter() - began, 6)
    hops.view.report(PathsSearched(start=start, paths=len(groups), seconds=seconds))
    return groups, [entity for entity, number in numbers.items() if number is None]


def starts_of(columns: Iterable[Numbers]) -> Numbers:
    """Say where a row of sorted columns differs from the one before."""
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
