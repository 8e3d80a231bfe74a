"""Searching in a compressed adjacency, by numbers: hops from many terms, walks, and all shortest paths between two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from kgsparql.exploration.batched_select import Found, StepUse, order_key, selected, union_of
from kgsparql.exploration.counting import degrees, step_key
from kgsparql.graphs.adjacency import (
    IS_CLASS,
    MAX_DEGREE,
    Adjacency,
    AdjacencyView,
    Marks,
    Numbers,
    sorted_once,
    starts_of,
)
from kgsparql.graphs.graph import KnowledgeGraph, Solution, in_parts
from kgsparql.graphs.notes import Cut
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Directions, Hop, Path, Step, Walk, Way
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, iris_in

T = TypeVar("T")

# The terms of a level are sorted if they are fewer than all terms divided by this, else looked for among all.
_MANY = 16


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
    began, adjacency = time.perf_counter(), view.adjacency
    ends = [number for term in (start, end) if (number := adjacency.number(term)) is not None]
    walked = walked_steps(adjacency, skip, view.drops, direction)
    levels = _levels_of_arcs(view, ends, walked, max_hops) if len(ends) == 2 else []
    found = ordered_paths(adjacency, levels, limit, between=f"{start} – {end}")
    view.report_search(began, start, len(found.items), end=str(end), what="shortest paths")
    return found


@lru_cache(maxsize=8)
def walked_steps(adjacency: Adjacency, skip: frozenset[IRI], drops: Any, direction: Directions) -> tuple[Marks, Marks]:
    """Mark which steps are walked from the start on, and which from the end on."""
    near = np.array([p not in skip and not drops(p) for p in adjacency.predicates], np.bool_).repeat(2)
    far = near.copy()
    if direction != "both":
        near[int(direction == "forward") :: 2] = False
        far[int(direction == "inverse") :: 2] = False
    return near, far


def _levels_of_arcs(view: AdjacencyView, ends: Sequence[int], walked: Sequence[Marks], max_hops: int) -> list[Arcs]:
    """Find the hops of all shortest paths, by their place on the paths; none if there is no path."""
    adjacency = view.adjacency
    marks = np.zeros(len(adjacency.about), np.int16)
    marks[ends] = 1, -1
    is_between_classes = bool((adjacency.about[ends] & IS_CLASS).all())
    passes = IS_CLASS * (1 + is_between_classes)  # what is known about a term through which a path may lead is less
    near, far = (_Side(adjacency, marks, passes, own, number) for own, number in zip(walked, ends, strict=True))
    for _ in range(max_hops):
        side = near if near.cost <= far.cost else far
        if not side.cost:
            break
        met = side.expand()
        if len(met):
            after = (Arcs(arcs.heads, arcs.tails, arcs.steps ^ 1) for arcs in far.arcs_back(met))
            return [*reversed(list(near.arcs_back(met))), *after]
        view.check()
    return []


class _Side:
    """The terms that were reached from one end: marked with their level, from 1 on; negative on the other side.

    :ivar begins: where the neighbours of each term of the frontier begin; there are ``cost`` of all.
    :ivar seen: of each level, where its walked hops are among all neighbours, and the terms they lead to.
    """

    def __init__(self, adjacency: Adjacency, marks: Numbers, passes: int, walked: Marks, end: int) -> None:
        self._adjacency, self._marks, self._passes, self._walked = adjacency, marks, passes, walked
        self._mark = int(marks[end])
        self.begins, self.counts, self.cost = neighbours_of(adjacency, np.array([end]))
        self.seen: list[tuple[Numbers, Numbers]] = []

    def expand(self) -> Numbers:
        """Mark the terms one hop further; returns those at which the sides meet."""
        places = ranges(self.begins, self.counts)
        places = places[self._walked[self._adjacency.steps[places]]]
        heads = self._adjacency.others[places]
        self.seen.append((places, heads))
        marks = self._marks[heads]
        met = heads[marks * self._mark < 0]
        if len(met):
            return sorted_once(met)
        new = heads[marks == 0]
        new = new[self._adjacency.about[new] < self._passes]
        mark = self._mark * (len(self.seen) + 1)
        self._marks[new] = mark
        is_large = len(new) > len(self._marks) // _MANY
        frontier = np.flatnonzero(self._marks == mark) if is_large else sorted_once(new)
        self.begins, self.counts, self.cost = neighbours_of(self._adjacency, frontier)
        return met

    def arcs_back(self, met: Numbers) -> Iterator[Arcs]:
        """Find the hops that lead to the terms at which the sides meet, those into these first."""
        wanted = np.zeros(len(self._marks), np.bool_)
        for places, heads in reversed(self.seen):
            wanted[met] = True
            on_path = wanted[heads]
            wanted[met] = False
            places = places[on_path]  # noqa: PLW2901
            tails = np.searchsorted(self._adjacency.starts, places, "right") - 1
            yield Arcs(tails, heads[on_path].astype(np.int64), self._adjacency.steps[places].astype(np.int64))
            met = sorted_once(tails)


def neighbours_of(adjacency: Adjacency, terms: Numbers) -> tuple[Numbers, Numbers, int]:
    """Say where the neighbours of each term begin, how many there are, and how many of all."""
    begins = adjacency.starts[terms].astype(np.int64)
    counts = adjacency.starts[terms + 1] - begins
    return begins, counts, int(counts.sum())


def ranges(begins: Numbers, counts: Numbers) -> Numbers:
    """Return the numbers from each beginning on, so many of each.

    >>> ranges(np.array([5, 20]), np.array([3, 2])).tolist()
    [5, 6, 7, 20, 21]
    """
    return np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))


class HopNames:
    """The terms and steps of some hops, numbered in lexical order, as in an :class:`Adjacency`; blank nodes last."""

    def __init__(self, graph: KnowledgeGraph, hops: Sequence[Hop]) -> None:
        def key(term: Term) -> tuple[object, ...]:
            return order_key(term), term.value if isinstance(term, BlankNode) else ""

        self._graph = graph
        self._terms = sorted({term for hop in hops for term in (hop.start, hop.end)}, key=key)
        self._steps = sorted({hop.step for hop in hops}, key=step_key)
        self.iris = sum(isinstance(term, IRI) for term in self._terms)
        self.term, self.step = self._terms.__getitem__, self._steps.__getitem__

    def arcs(self, hops: Iterable[Hop]) -> Arcs:
        """Write hops as numbers."""
        terms, steps = ({own: number for number, own in enumerate(some)} for some in (self._terms, self._steps))
        rows = [(terms[hop.start], terms[hop.end], steps[hop.step]) for hop in hops]
        return Arcs(*np.array(rows, np.int64).reshape(-1, 3).T)

    def degrees(self, numbers: Numbers) -> Numbers:
        """Count the triples of terms, up to a bound."""
        terms = [self.term(number) for number in numbers.tolist()]
        found = degrees(self._graph, sorted({*iris_in(terms)}, key=str), skip=())
        return np.minimum([found[term] for term in terms], MAX_DEGREE)


def ordered_paths(
    names: Adjacency | HopNames, levels: Sequence[Arcs], limit: int, *, between: str, complete: bool = True
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
    return Found(paths, () if are_all and complete else (Cut("paths", len(paths), None, between),))


def _hops_at(names: Adjacency | HopNames, arcs: Arcs, chosen: Numbers) -> list[Hop]:
    """Make the hops with these places among others, one for each place."""
    used = sorted_once(chosen)
    tails, heads, steps = (column[used].tolist() for column in arcs)
    terms = {number: names.term(number) for number in {*tails, *heads}}
    made = (names.step(s).hop(terms[t], terms[h]) for t, h, s in zip(tails, heads, steps, strict=True))
    hops = dict(zip(used.tolist(), made, strict=True))
    return [hops[place] for place in chosen.tolist()]


class Hops(NamedTuple):
    """Hops, those from one term together, then those by one step, then by their heads; a column each.

    :param counts: how many hops there are from the tail by the step; those that are left out count, too.
    """

    tails: Numbers
    steps: Numbers
    heads: Numbers
    counts: Numbers

    def at(self, places: Numbers | Marks) -> Hops:
        """Return the hops at these places."""
        return Hops(*(column[places] for column in self))

    @classmethod
    def together(cls, parts: Iterable[Sequence[Numbers]]) -> Hops:
        """Put hops one after the other."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def in_order(self) -> Hops:
        """Sort hops by their tails, then steps, then heads."""
        return self.at(np.lexsort((self.heads, self.steps, self.tails)))

    def starts_and_sizes(self) -> tuple[Numbers, Numbers]:
        """Say where the hops from a term by a step begin, and how many these are."""
        groups = starts_of(self.tails, self.steps)
        return groups, np.diff(groups, append=len(self.tails))


# --- How some terms use each step: queries would read a thousand triples for it

_MOST_SORTED = 200_000  # triples that are sorted: of terms with more, queries read some


class AdjacentSteps:
    """The steps to entities from some terms; literals have no numbers.

    :param skip: predicates that are left out.
    """

    def __init__(self, view: AdjacencyView, terms: Sequence[IRI], skip: frozenset[IRI]) -> None:
        self._view, self._adjacency, self._terms = view, view.adjacency, terms
        self._skip = skip
        numbers = [n for term in terms if (n := view.adjacency.number(term)) is not None]
        self._numbers = np.array(sorted(numbers), np.int64)
        self._begins, self._counts, triples = neighbours_of(view.adjacency, self._numbers)
        self.are_too_many = triples > _MOST_SORTED
        self._places = ranges(self._begins, self._counts if not self.are_too_many else 0 * self._counts)
        self._steps = view.adjacency.steps[self._places]
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
            yield self._adjacency.step(step), StepUse(having, most, tuple(self._adjacency.terms(some[:kept])))
        others = f" and {len(self._terms) - 1:,} others" if len(self._terms) > 1 else ""
        self._view.report_search(began, f"{self._terms[0]}{others}", len(by_step), what="steps")

    def has(self, step: Step) -> bool:
        """Tell whether a term has a step."""
        return bool((self._steps == self._adjacency.step_number(step)).any())

    def ends(self, step: Step, kept: int) -> tuple[Term, ...] | None:
        """Return so many of what a step leads to, the first in lexical order; ``None`` if a literal is among it.

        Nothing of a step that the graph has not.
        """
        self._view.check()
        number = self._adjacency.step_number(step)
        if number % 2 == 0 and number // 2 in self._literals:
            return None
        heads = sorted_once(self._adjacency.others[self._places[self._steps == number]])
        return tuple(self._adjacency.terms(heads[:kept]))

    def _hops(self) -> tuple[Numbers, Numbers, Numbers]:
        """List the steps that are walked, in order, each with the place of its term and with its end."""
        marks = np.zeros(2 * len(self._adjacency.predicates), np.bool_)
        marks[self._steps] = True
        for number in np.flatnonzero(marks).tolist():  # of a hundred thousand predicates, these terms have few
            marks[number] = self._is_walked(number)
        is_walked = marks[self._steps]
        owners = np.repeat(np.arange(len(self._counts)), self._counts)[is_walked]
        steps = self._steps[is_walked].astype(np.int64)
        heads = self._adjacency.others[self._places[is_walked]].astype(np.int64)
        order = np.argsort(steps, kind="stable")
        return steps[order], owners[order], heads[order]

    def _is_walked(self, number: int) -> bool:
        step = self._adjacency.step(number)
        return not (step.predicate in self._skip or self._view.drops(step.predicate))


def led_to(view: AdjacencyView, terms: Sequence[IRI], predicates: Iterable[IRI]) -> list[tuple[Term, Term]] | None:
    """Pair each term with what predicates lead to that is no literal; ``None`` where queries find it."""
    adjacency = view.adjacency
    known = [(term, number) for term in terms if (number := adjacency.number(term)) is not None]
    begins, counts, hops = neighbours_of(adjacency, np.array([number for _, number in known], np.int64))
    if hops > _MOST_SORTED:
        return None
    places = ranges(begins, counts)
    kept = np.isin(adjacency.steps[places], [adjacency.step_number(Step(one)) for one in predicates])
    owners, heads = np.repeat(np.arange(len(known)), counts)[kept], adjacency.others[places[kept]]
    return [(known[own][0], adjacency.term(far)) for own, far in zip(owners.tolist(), heads.tolist(), strict=True)]


def leads_to_any(view: AdjacencyView, step: Step, start: IRI, by: Step) -> bool:
    """Tell whether a step leads to anything that another step leads to from a term; of what is no literal."""
    view.check()
    adjacency = view.adjacency
    if (number := adjacency.number(start)) is None:
        return False
    near, end = adjacency.starts[number : number + 2].tolist()
    marks = np.zeros(len(adjacency.about), np.bool_)
    marks[adjacency.others[near:end][adjacency.steps[near:end] == adjacency.step_number(by)]] = True
    return bool(marks[adjacency.others[adjacency.steps == adjacency.step_number(step)]].any())


# --- Walks along property paths: queries find those that meet a literal, or lead over very many hops

_MOST_HOPS = 200_000


def walk_ends(graph: KnowledgeGraph, walks: Sequence[Walk], *, limit: int = 10_000) -> list[Found[Term]]:
    """Find every term that each walk leads to, the start too, in the order of text; one query for 50 walks."""
    known, view = dict[int, Sequence[Term]](), graph.adjacency_view()
    for i, walk in enumerate(walks):
        if (nodes := _nodes_along(view, walk, is_for_ends=True)) is not None:
            known[i] = _terms_of(view, sorted_once(nodes[-1])[: limit + 1])
    arms = [(i, path_queries.walk(walk, limit=limit + 1, number=i)) for i, walk in enumerate(walks) if i not in known]

    def end_of(_: int, solution: Solution) -> Term:
        return solution["end"]

    return _items_of_walks("ends", graph, walks, arms, limit, known=known, item_of=end_of, key=order_key)


def walk_ways(
    graph: KnowledgeGraph, walks: Sequence[Walk], ends: Sequence[Sequence[Term] | None], *, limit: int = 1_000
) -> list[Found[Way]]:
    """Find the ways along each walk to its ends, in lexical order; one query for 50 walks, each to one chunk of ends.

    :param ends: for each walk the ends that are asked for, no blank node among them; ``None`` for all.
    """
    known, view = dict[int, Sequence[Way]](), graph.adjacency_view()
    for i, (walk, own) in enumerate(zip(walks, ends, strict=True)):
        if (nodes := _nodes_along(view, walk, own)) is not None:
            rows = zip(*(_terms_of(view, column[: limit + 1]) for column in nodes), strict=True)
            known[i] = [Way(Path(row[0], tuple(map(Step.hop, walk.path.steps, row, row[1:])))) for row in rows]
    arms = [
        (i, path_queries.walk_triples(walk, some, limit=limit + 1, number=i))
        for i, (walk, own) in enumerate(zip(walks, ends, strict=True))
        for some in ([None] if own is None else in_parts(own, graph.chunk_size))
        if i not in known
    ]

    def way_of(number: int, solution: Solution) -> Way | None:
        walk, own = walks[number], ends[number]
        nodes = [solution[f"n{i}"] for i in range(len(walk.path.steps) + 1)]
        hops = tuple(step.hop(near, far) for near, step, far in zip(nodes, walk.path.steps, nodes[1:], strict=False))
        aside = (c.step.hop(nodes[c.at], solution[f"c{i}"]) for i, c in enumerate(walk.constraints))
        way = Way(Path(nodes[0], hops), tuple(aside))
        return way if own is None or way.path.end in own else None  # a literal may be one of the same text

    def key(way: Way) -> list[object]:
        return [order_key(term) for term in (*way.path.terms, *(hop.end for hop in way.aside))]

    return _items_of_walks("walks", graph, walks, arms, limit, known=known, item_of=way_of, key=key)


def _items_of_walks(
    what: str, graph: KnowledgeGraph, walks: Sequence[Walk], arms: Sequence[tuple[int, Query]], limit: int, *,
    known: Mapping[int, Sequence[T]], item_of: Callable[[int, Solution], T | None], key: Callable[[T], Any],
) -> list[Found[T]]:  # fmt: skip
    """Find the first items of each walk, where they are not known; a cut where there are more, or may be."""
    items: list[dict[T, None]] = [{} for _ in walks]
    variables = {number: arm.variables for number, arm in arms}
    complete = True
    some = [arm for _, arm in arms if not arm.empty]
    for part in in_parts(some, MAX_ARMS):
        union = union_of(part)
        found = selected(graph, union, is_whole=lambda one: variables[_number_of_walk(one)] <= one.keys())
        complete = complete and not found.cut
        for solution in found:
            number = _number_of_walk(solution)
            if (item := item_of(number, solution)) is not None:
                items[number][item] = None
    firsts = list[Found[T]]()
    for i, (walk, own) in enumerate(zip(walks, items, strict=True)):
        first = known.get(i) or sorted(own, key=key)
        cuts = (Cut(what, limit, None, str(walk)),) if len(first) > limit or not (complete or i in known) else ()
        firsts.append(Found(tuple(first[:limit]), cuts))
    return firsts


def _number_of_walk(solution: Solution) -> int:
    return int(cast("Literal", solution["walk"]).value)


def _nodes_along(
    view: AdjacencyView | None, walk: Walk, ends: Sequence[Term] | None = None, *, is_for_ends: bool = False
) -> list[Numbers] | None:
    """Find the ways along a walk in lexical order, a column of numbers for each place; ``None`` if queries find them.

    :param ends: the only ones that are wanted; ``None`` for all.
    :param is_for_ends: each end is wanted once, and its last places are enough.
    """
    wanted = iris_in(ends or ())
    if view is None or walk.constraints or len(wanted) < len(ends or ()):
        return None
    began, adjacency, steps = time.perf_counter(), view.adjacency, walk.path.steps
    if (start := adjacency.number(walk.start)) is None:
        return None
    nodes: list[Numbers] = [np.array([start])]
    for i, step in enumerate(steps):
        view.check()
        number = adjacency.step_number(step)
        begins, counts, hops = neighbours_of(adjacency, nodes[-1])
        first, last = (adjacency.literal_starts[nodes[-1] + more].astype(np.int64) for more in (0, 1))
        texts = adjacency.literals[ranges(first, last - first)]
        if hops > _MOST_HOPS or (step.is_forward and (texts == number // 2).any()):
            return None
        places = ranges(begins, counts)
        are_such = adjacency.steps[places] == number
        rows, heads = np.repeat(np.arange(len(counts)), counts)[are_such], adjacency.others[places[are_such]]
        nodes = [*(column[rows] for column in nodes), heads.astype(np.int64)]
        if i and step.inverts(steps[i - 1]):
            onward = nodes[-1] != nodes[-3]
            nodes = [column[onward] for column in nodes]
        if is_for_ends:
            order = np.lexsort(nodes[-2:])
            once = order[starts_of(*(column[order] for column in nodes[-2:]))]
            nodes = [column[once] for column in nodes[-2:]]
    if ends is not None:
        numbers = [adjacency.number(term) for term in wanted]
        kept = np.isin(nodes[-1], [one for one in numbers if one is not None])
        nodes = [column[kept] for column in nodes]
    view.report_search(began, walk.start, len(nodes[-1]), what="walks")
    return nodes


def _terms_of(view: AdjacencyView | None, numbers: Numbers) -> list[Term]:
    return [] if view is None else view.adjacency.terms(numbers)
