"""The hops from many terms in a compressed adjacency, by numbers; hops to literals are asked for by a query."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from kgsparql.events import PathsSearched
from kgsparql.exploration.adjacency_search import neighbours_of, ranges, walked_steps
from kgsparql.exploration.results import Found, NeighbourGroup
from kgsparql.graphs.adjacency import AdjacencyView
from kgsparql.rdf.paths import Directions, Step
from kgsparql.rdf.terms import IRI, BlankNode, Term

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
        """The step with a number."""
        predicate, inverse = divmod(number, 2)
        return Step(self.view.adjacency.predicates[predicate], "inverse" if inverse else "forward")

    def terms(self, numbers: Numbers) -> list[Term]:
        """The terms with these numbers."""
        known, term = self._terms, self.view.adjacency.term
        return [known[n] if n in known else known.setdefault(n, term(n)) for n in numbers.tolist()]

    def limited(self, entities: Numbers, limit: int) -> tuple[Hops, Values]:
        """At most so many hops from each term by each step, to the first in lexical order.

        :return: these hops, and the groups of neighbours with a literal, which are not among them.
        :raises NotByNumbersError: if queries must go on.
        """
        values = self._with_literals(entities, limit)
        elsewhere = np.array([tail * self.steps + step for tail, step in values], np.int64)
        parts = [_NO_HOPS]
        for hops in self._batches(entities):
            if np.any(hops.heads >= self.view.adjacency.iris):
                raise NotByNumbersError
            groups, counts = _groups(hops)
            ranks = np.arange(len(hops.tails)) - np.repeat(groups, counts)
            here = ~np.isin(hops.tails * self.steps + hops.steps, elsewhere)
            kept = np.flatnonzero(here & (ranks < limit))
            parts.append(Hops(*(column[kept] for column in (*hops[:3], np.repeat(counts, counts)))))
        return Hops(*map(np.concatenate, zip(*parts, strict=True))), values

    def groups(self, hops: Hops) -> Iterator[NeighbourGroup]:
        """The groups of neighbours that limited hops make."""
        first, sizes = _groups(hops)
        entities, heads = self.terms(hops.tails[first]), self.terms(hops.heads)
        steps, counts = hops.steps[first].tolist(), hops.counts[first].tolist()
        for at, size, entity, step, count in zip(first.tolist(), sizes.tolist(), entities, steps, counts, strict=True):
            yield NeighbourGroup(cast("IRI", entity), self.step(step), tuple(heads[at : at + size]), count)

    def counted(self, entities: Numbers) -> Hops:
        """The steps from each term, each once, with the number of hops; of literals, one counts.

        :raises NotByNumbersError: if queries must go on.
        """
        tails, steps = self._literal_groups(entities)
        parts = [Hops(tails, steps, tails, np.ones(len(tails), np.int64))]
        for hops in self._batches(entities):
            groups, counts = _groups(hops)
            parts.append(Hops(hops.tails[groups], hops.steps[groups], hops.heads[groups], counts))
        found = sorted_hops(Hops(*map(np.concatenate, zip(*parts, strict=True))))
        groups, _ = _groups(found)
        counts = np.add.reduceat(found.counts, groups) if len(groups) else found.counts
        return Hops(found.tails[groups], found.steps[groups], found.heads[groups], counts)

    def _batches(self, entities: Numbers) -> Iterator[Hops]:
        """All hops from some terms that are walked, as many at a time as are sorted together."""
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
        """The terms that lead to literals, and by which steps."""
        adjacency = self.view.adjacency
        begins = adjacency.literal_starts[entities].astype(np.int64)
        counts = adjacency.literal_starts[entities + 1] - begins
        steps = 2 * adjacency.literals[ranges(begins, counts)].astype(np.int64)
        walked = self._walked[steps]
        return np.repeat(entities, counts)[walked].astype(np.int64), steps[walked]

    def _with_literals(self, entities: Numbers, limit: int) -> Values:
        """The groups of neighbours that have a literal, from queries."""
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
    """The neighbours of some entities, as :func:`kgsparql.exploration.neighbours` finds them; a search is reported.

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
    """Where a row of sorted columns differs from the one before.

    >>> starts_of([np.array([1, 1, 2, 2]), np.array([7, 7, 7, 8])]).tolist()
    [0, 2, 3]
    """
    first, *others = columns
    new = np.ones(len(first), np.bool_)
    new[1:] = first[1:] != first[:-1]
    for column in others:
        new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(new)


def _groups(hops: Hops) -> tuple[Numbers, Numbers]:
    """Where the hops from a term by a step begin, and how many these are."""
    groups = starts_of([hops.tails, hops.steps])
    return groups, np.diff(groups, append=len(hops.tails))


def sorted_hops(hops: Hops) -> Hops:
    """In the order of their tails, then steps, then heads."""
    order = np.lexsort((hops.heads, hops.steps, hops.tails))
    return Hops(*(column[order] for column in hops))
