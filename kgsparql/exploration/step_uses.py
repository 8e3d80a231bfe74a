"""How some terms use each step, read from the graph's adjacency: queries would read a thousand triples for it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kgsparql.exploration.adjacency_search import neighbours_of, ranges
from kgsparql.graphs.adjacency import AdjacencyView, Numbers, sorted_once, starts_of
from kgsparql.rdf.paths import Directions, Step, directions
from kgsparql.rdf.terms import IRI, Term

_MOST_SORTED = 200_000  # triples that are sorted: of terms with more, queries read some


class StepUse(NamedTuple):
    """How some terms use a step.

    :param having: how many of them have it.
    :param most: different ends that one of them has, at most.
    :param ends: the first of all ends.
    """

    having: int
    most: int
    ends: tuple[Term, ...]

    @classmethod
    def of(cls, found: Mapping[Term, set[Term]], kept: int) -> StepUse:
        """Summarise what a step leads to from each term that has it."""
        ends = sorted(set[Term]().union(*found.values()), key=str)
        return cls(len(found), max(map(len, found.values())), tuple(ends[:kept]))


class AdjacentSteps:
    """The steps to entities from some terms; literals have no numbers.

    :param skip: predicates that are left out.
    """

    def __init__(self, view: AdjacencyView, terms: Sequence[IRI], direction: Directions, skip: frozenset[IRI]) -> None:
        self._view, self._adjacency, self._terms = view, view.adjacency, terms
        self._ways, self._skip = directions(direction), skip
        numbers = [n for term in terms if (n := view.adjacency.number(term)) is not None]
        self._numbers = np.array(sorted(numbers), np.int64)
        self._begins, self._counts, triples = neighbours_of(view.adjacency, self._numbers)
        self.are_too_many = triples > _MOST_SORTED
        first, last = (view.adjacency.literal_starts[self._numbers + i].astype(np.int64) for i in (0, 1))
        self._literals: list[int] = sorted_once(view.adjacency.literals[ranges(first, last - first)]).tolist()

    def to_literals(self) -> list[IRI]:
        """List the predicates that lead to a literal: queries read all of what these lead to."""
        return [self._adjacency.predicates[number] for number in self._literals if self._is_walked(2 * number)]

    def uses(self, kept: int) -> Iterator[tuple[Step, StepUse]]:
        """Yield each step with its use, and so many of its ends: the first in lexical order."""
        self._view.check()
        began = time.perf_counter()
        steps, owners, heads = self._hops()
        own = starts_of(steps, owners)  # where the hops of a term by a step begin: the heads are in order
        sizes = np.diff(own, append=len(steps))
        near = np.flatnonzero(np.arange(len(steps)) - np.repeat(own, sizes) < kept)
        order = near[np.lexsort((heads[near], steps[near]))]
        order = order[starts_of(steps[order], heads[order])]
        by_step, ends = starts_of(steps[own]), np.split(heads[order], starts_of(steps[order])[1:])
        counts = np.diff(by_step, append=len(own)), np.maximum.reduceat(sizes, by_step) if len(own) else sizes
        columns = [column.tolist() for column in (steps[own][by_step], *counts)]
        for step, having, most, some in zip(*columns, ends, strict=False):  # of nothing, numpy makes one empty part
            terms = tuple(map(self._adjacency.term, some[:kept].tolist()))
            yield self._adjacency.step(step), StepUse(having, most, terms)
        others = f" and {len(self._terms) - 1:,} others" if len(self._terms) > 1 else ""
        self._view.report_search(began, f"{self._terms[0]}{others}", len(by_step), what="steps")

    def has(self, step: Step) -> bool:
        """Tell whether a term has a step."""
        number = self._adjacency.step_number(step)
        return bool((self._adjacency.steps[ranges(self._begins, self._counts)] == number).any())

    def ends(self, step: Step, kept: int) -> tuple[Term, ...] | None:
        """Return so many of what a step leads to, the first in lexical order; ``None`` if a literal is among it.

        Nothing of a step that the graph has not.
        """
        self._view.check()
        number, places = self._adjacency.step_number(step), ranges(self._begins, self._counts)
        if number % 2 == 0 and number // 2 in self._literals:
            return None
        heads = sorted_once(self._adjacency.others[places[self._adjacency.steps[places] == number]])
        return tuple(map(self._adjacency.term, heads[:kept].tolist()))

    def _hops(self) -> tuple[Numbers, Numbers, Numbers]:
        """List the steps that are walked, in order, each with the place of its term and with its end."""
        places = ranges(self._begins, self._counts)
        marks = np.zeros(2 * len(self._adjacency.predicates), np.bool_)
        marks[self._adjacency.steps[places]] = True
        for number in np.flatnonzero(marks).tolist():  # of a hundred thousand predicates, these terms have few
            marks[number] = self._is_walked(number)
        is_walked = marks[self._adjacency.steps[places]]
        places, owners = places[is_walked], np.repeat(np.arange(len(self._counts)), self._counts)[is_walked]
        steps, heads = (column[places].astype(np.int64) for column in (self._adjacency.steps, self._adjacency.others))
        order = np.argsort(steps, kind="stable")
        return steps[order], owners[order], heads[order]

    def _is_walked(self, number: int) -> bool:
        step = self._adjacency.step(number)
        return step.direction in self._ways and not (step.predicate in self._skip or self._view.drops(step.predicate))
