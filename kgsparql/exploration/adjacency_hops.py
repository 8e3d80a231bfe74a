"""The hops from many terms in a compressed adjacency, by numbers; hops to literals are asked for by a query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kgsparql.exploration.adjacency_search import neighbours_of, ranges, walked_steps
from kgsparql.exploration.neighbourhood import neighbours
from kgsparql.exploration.query_levels import Walking
from kgsparql.graphs.adjacency import AdjacencyView
from kgsparql.graphs.cut import Cut
from kgsparql.rdf.paths import Step
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

    :param counts: only from :meth:`HopsByNumber.counted`: how many hops there are; it gives one for each step.
    """

    tails: Numbers
    steps: Numbers
    heads: Numbers
    counts: Numbers


Values: TypeAlias = dict[tuple[int, int], list[Term]]
"""The literals that a term leads to by a step."""


@dataclass(slots=True)
class HopsByNumber:
    """The hops from terms that are walked.

    The number of a step is twice that of its predicate, and 1 more if it is walked from object to subject.
    """

    walking: Walking
    view: AdjacencyView
    _walked: npt.NDArray[np.bool_] = field(init=False)
    _terms: dict[int, Term] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        walking, view = self.walking, self.view
        self._walked = walked_steps(view.adjacency, walking.skipped, view.drops, walking.direction)[0]

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

    def limited(self, entities: Numbers) -> tuple[Hops, Values, list[Cut]]:
        """At most ``frontier`` hops from each term by each step, to the first in lexical order.

        :raises NotByNumbersError: if queries must go on.
        """
        values, others, cuts = self._with_literals(entities)
        parts = [others]
        limit, asked = self.walking.frontier, np.array([e * self.steps + s for e, s in values], np.int64)
        for hops in self._batches(entities):
            if np.any(hops.heads >= self.view.adjacency.iris):
                raise NotByNumbersError
            groups, counts = _groups(hops)
            ranks = np.arange(len(hops.tails)) - np.repeat(groups, counts)
            by_numbers = ~np.isin(hops.tails * self.steps + hops.steps, asked)
            for group in groups[(counts > limit) & by_numbers[groups]].tolist():
                size = int(counts[np.searchsorted(groups, group)])
                (entity,) = self.terms(hops.tails[group : group + 1])
                cuts.append(Cut("neighbours", limit, size, f"{entity} {self.step(int(hops.steps[group]))}"))
            kept = np.flatnonzero(by_numbers & (ranks < limit))
            parts.append(Hops(*(column[kept] for column in hops)))
        found = Hops(*map(np.concatenate, zip(*parts, strict=True)))
        return _sorted(found), values, sorted(cuts, key=str)

    def counted(self, entities: Numbers) -> Hops:
        """The steps from each term, each once, with the number of hops; of literals, one counts.

        :raises NotByNumbersError: if queries must go on.
        """
        tails, steps = self._literal_groups(entities)
        parts = [Hops(tails, steps, tails, np.ones(len(tails), np.int64))]
        for hops in self._batches(entities):
            groups, counts = _groups(hops)
            parts.append(Hops(hops.tails[groups], hops.steps[groups], hops.heads[groups], counts))
        found = _sorted(Hops(*map(np.concatenate, zip(*parts, strict=True))))
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

    def _with_literals(self, entities: Numbers) -> tuple[Values, Hops, list[Cut]]:
        """The groups of neighbours that have a literal, from queries: their literals, and the hops to others."""
        tails, steps = self._literal_groups(entities)
        asked: dict[IRI, list[Step]] = defaultdict(list)
        numbers: dict[tuple[Term, Step], tuple[int, int]] = {}
        for entity, tail, step in zip(self.terms(tails), tails.tolist(), steps.tolist(), strict=True):
            asked[entity].append(self.step(step))  # type: ignore[index]
            numbers[entity, asked[entity][-1]] = (tail, step)  # type: ignore[index]
        found = neighbours(self.walking.graph, asked, steps=asked, limit=self.walking.frontier)
        values: Values = {group: [] for group in numbers.values()}
        rows: list[tuple[int, int, int, int]] = []
        for group in found.items:
            tail, step = numbers[group.entity, group.step]
            for end in group.neighbours:
                if isinstance(end, BlankNode):
                    raise NotByNumbersError
                head = self.view.adjacency.number(end) if isinstance(end, IRI) else None
                if head is None:
                    values[tail, step].append(end)
                else:
                    rows.append((tail, step, head, 1))
        columns = np.array(rows, np.int64).reshape(-1, 4).T
        return values, Hops(*columns), list(found.cuts)


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


def _sorted(hops: Hops) -> Hops:
    order = np.lexsort((hops.heads, hops.steps, hops.tails))
    return Hops(*(column[order] for column in hops))
