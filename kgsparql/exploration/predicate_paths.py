"""Which property paths lead anywhere from an entity, and walks along them: their ends, and the triples on the way."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import filterfalse
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from kgsparql.exploration.adjacency_search import Hops, neighbours_of, ranges, walked_steps
from kgsparql.exploration.batched_select import Found, NeighbourGroup, PredicatePath, entities_of, order_key, skipped_in
from kgsparql.exploration.counting import predicates
from kgsparql.exploration.neighbourhood import cut_of_group, neighbours
from kgsparql.graphs.adjacency import AdjacencyView, Marks, Numbers, batches, sorted_once, starts_of
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, PropertyPath, Step
from kgsparql.rdf.terms import IRI, BlankNode, Term, iris_in
from kgsparql.rdf.vocabulary import is_mediator

T = TypeVar("T")
Keep: TypeAlias = Callable[[Sequence[PredicatePath]], Collection[PropertyPath]]

# In place of the number of a term or a step where there is none.
_NONE = -1
# Hops that are joined with paths together; what is found on whole paths does not grow with them.
_MOST = 10_000_000
# Hops that are sorted together.
_BATCH = 500_000


def paths_of_several(
    graph: KnowledgeGraph, starts: Iterable[tuple[Term, Iterable[IRI], Keep | None]], *, max_hops: int, frontier: int,
    direction: Directions,
) -> list[Found[PredicatePath]]:  # fmt: skip
    """Find the distinct property paths that lead somewhere from each entity, the shorter first, then in lexical order.

    A few queries for each length, however many paths and entities there are; where the graph has an adjacency, only
    literals are asked for. A step that inverts the one before it is taken only where it leads to another term than the
    one just left. The ends of the longest paths are not fetched.

    :param starts: each with the predicates that it skips, and what chooses, of the paths of one length, those that are
        expanded; all, if ``None``. No path ends the search.
    :param frontier: how many ends of a path are expanded; a path that has more is a cut.
    :raises InputError: for a start that is not an IRI.
    """
    asked: dict[frozenset[IRI], _Asked] = {}
    searches = []
    for start, skip, keep in starts:
        (entity,), skipped = entities_of([start]), skipped_in(graph, skip)
        own = asked.setdefault(skipped, _Asked(graph, direction, skipped, frontier))
        searches.append(_Search(_steps_from(entity, own), entity, keep))
    for hops in range(1, max_hops + 1):
        is_last = hops == max_hops and hops > 1
        for own in asked.values():
            wanted = {end for one in searches if one.steps.asked is own for end in one.to_be_asked()}
            (own.counts if is_last else own.neighbours)(sorted(wanted, key=str))
        for one in searches:
            one.walk_on(is_last=is_last, is_kept=hops < max_hops)
    return [Found(tuple(one.found), tuple(one.cuts)) for one in searches]


class _Asked:
    """What was asked of entities, of several searches together: their neighbours, or how many they have."""

    def __init__(self, graph: KnowledgeGraph, direction: Directions, skipped: frozenset[IRI], limit: int) -> None:
        self.graph, self.direction, self.skipped, self.limit = graph, direction, skipped, limit
        self.neighbours = _AskedOnce(partial(neighbours, graph, direction=direction, skip=skipped, limit=limit))
        self.counts = _AskedOnce(partial(predicates, graph, direction=direction, skip=skipped))


class _AskedOnce:
    """Asks about entities, about each once."""

    def __init__(self, ask: Callable[[Sequence[IRI]], Found[NeighbourGroup]]) -> None:
        self._ask = ask
        self._groups: dict[IRI, list[NeighbourGroup]] = {}
        self._cuts: dict[str, list[Cut]] = defaultdict(list)

    def __call__(self, entities: Sequence[IRI]) -> Found[NeighbourGroup]:
        if new := [entity for entity in entities if entity not in self._groups]:
            found = self._ask(new)
            self._groups.update({entity: [] for entity in new})
            for group in found.items:
                self._groups[group.entity].append(group)
            for cut in found.cuts:
                self._cuts[cut.where.partition(" ")[0]].append(cut)
        cuts = (cut for entity in entities for cut in self._cuts.get(str(entity), ()))
        return Found(tuple(group for entity in entities for group in self._groups[entity]), tuple(cuts))


# Hops from some terms; what lies behind blank nodes, whose numbers stand between those of a term and a step, and those
# of the next step and its end, in order, shape ``(n, 5)``; and what limits left out.
_Onward: TypeAlias = tuple[Hops, Numbers, Sequence[Cut]]


class _Numbering(dict[T, int]):
    """Numbers of things: those that are known, else the next one.

    :param first: the first number that is given here; ``met`` are the things that have such.
    """

    def __init__(self, first: int = 0, known: Callable[[T], int | None] = lambda _: None) -> None:
        super().__init__()
        self.first, self.known = first, known
        self.met: list[T] = []

    def __missing__(self, thing: T) -> int:
        number = self.known(thing)
        if number is None:
            number = self.first + len(self.met)
            self.met.append(thing)
        self[thing] = number
        return number


class _QuerySteps:
    """Hops that queries find. Terms and predicates get numbers as they are met.

    The number of a step is twice that of its predicate, and 1 more if it is walked from object to subject.
    """

    def __init__(self, asked: _Asked) -> None:
        self.asked = asked
        self.numbers: _Numbering[Term] = _Numbering()
        self._known_term: Callable[[int], Term] = self.numbers.met.__getitem__
        self._predicates: _Numbering[IRI] = _Numbering()

    def terms(self, numbers: Numbers) -> list[Term]:
        first, met = self.numbers.first, self.numbers.met
        return [self._known_term(n) if n < first else met[n - first] for n in numbers.tolist()]

    def step(self, number: int) -> Step:
        return Step(self._predicates.met[number // 2], "inverse" if number % 2 else "forward")

    def step_ranks(self) -> Numbers:
        """Return the place of each step so far in lexical order, by its number."""
        _, places = np.unique([predicate.value for predicate in self._predicates.met], return_inverse=True)
        ranks: Numbers = np.repeat(2 * places, 2) + np.tile([0, 1], len(places))
        return ranks

    def term_ranks(self, numbers: Numbers) -> npt.NDArray[Any]:
        """Return numbers that are in the order of the terms; of blank nodes, in the order in which they were met."""
        first, met = self.numbers.first, self.numbers.met
        if not met:
            return numbers
        ranks = np.empty(len(met))
        for i, place in enumerate(sorted(range(len(met)), key=lambda place: order_key(met[place])), 1):
            ranks[place] = self._term_place(met[place]) - 1 + i / (1 + len(met))
        return np.where(numbers < first, numbers, ranks[np.maximum(numbers - first, 0)])

    def _term_place(self, _: Term) -> int:
        """Return how many terms of an adjacency come before a term that is not in it."""
        return 0

    def limited(self, ends: Numbers) -> _Onward:
        """Find at most so many hops from each term by each step."""
        found = self.asked.neighbours(self.entities(ends))
        behind = [
            (self.numbers[path.start], self._step_number(there.step), self.numbers[there.end],
             self._step_number(onward.step), self.numbers[onward.end])
            for group in found.items for path in group.mediated for there, onward in [path.hops]
        ]  # fmt: skip
        return self._hops_of(found.items), np.array(sorted(behind), np.int64).reshape(-1, 5), found.cuts

    def counted(self, ends: Numbers) -> tuple[Hops, Sequence[Cut]]:
        """Count the hops from each term by each step; where they lead is not asked."""
        found = self.asked.counts(self.entities(ends))
        return _hops_of_rows(
            (self.numbers[count.entity], self._step_number(count.step), 0, count.count) for count in found.items
        ), found.cuts

    def entities(self, ends: Numbers) -> list[IRI]:
        """Return those of some ends that are asked about."""
        return sorted(filterfalse(is_mediator, iris_in(self.terms(ends))), key=str)

    def _step_number(self, step: Step) -> int:
        return 2 * self._predicates[step.predicate] + (step.direction == "inverse")

    def _hops_of(self, groups: Iterable[NeighbourGroup]) -> Hops:
        return _hops_of_rows(
            (entity, step, self.numbers[far], group.count)
            for group in groups
            for entity, step in [(self.numbers[group.entity], self._step_number(group.step))]
            for far in group.neighbours
        )


def _hops_of_rows(rows: Iterable[tuple[int, int, int, int]]) -> Hops:
    return Hops(*np.array(list(rows), np.int64).reshape(-1, 4).T).in_order()


class _AdjacencySteps(_QuerySteps):
    """Hops from an adjacency, whose numbers are those of its terms and predicates; queries find literals."""

    def __init__(self, asked: _Asked, view: AdjacencyView):
        super().__init__(asked)
        self._adjacency = adjacency = view.adjacency
        self.view, self._walked = view, walked_steps(adjacency, asked.skipped, view.drops, asked.direction)[0]
        self.numbers = _Numbering(
            len(adjacency.about), lambda term: adjacency.number(term) if isinstance(term, IRI) else None
        )
        self._predicates = _Numbering(0, adjacency.predicate_number)
        self._known_term, self.step = adjacency.term, adjacency.step  # type: ignore[method-assign]

    def step_ranks(self) -> Numbers:
        return np.arange(2 * len(self._adjacency.predicates))

    def _term_place(self, term: Term) -> int:
        # An IRI of the same text comes first.
        place = self._adjacency.place
        return self._adjacency.iris if isinstance(term, BlankNode) else place(f"{getattr(term, 'value', term)}\0")

    def limited(self, ends: Numbers) -> _Onward:
        limit, own = self.asked.limit, ends[ends < self.numbers.first]
        tails, steps = self._literal_groups(own)
        asked = defaultdict(list)
        for tail, step in zip(tails.tolist(), steps.tolist(), strict=True):
            asked[cast("IRI", self._adjacency.term(tail))].append(self.step(step))
        groups = neighbours(self.asked.graph, asked, steps=asked, limit=limit).items
        is_blank = any(isinstance(end, BlankNode) for group in groups for end in group.neighbours)
        elsewhere = tails * len(self._walked) + steps
        parts = [Hops(*[np.empty(0, np.int64)] * 4)]
        for hops in self._batches_of_hops(own):
            is_blank = is_blank or bool(np.any(hops.heads >= self._adjacency.iris))
            first, sizes = hops.starts_and_sizes()
            ranks = np.arange(len(hops.tails)) - np.repeat(first, sizes)
            here = ~np.isin(hops.tails * len(self._walked) + hops.steps, elsewhere)
            counted = hops._replace(counts=np.repeat(sizes, sizes))
            parts.append(counted.at(np.flatnonzero(here & (ranks < limit))))
        if is_blank:  # queries follow blank nodes in their own way
            return super().limited(ends)
        found = Hops.together(parts)
        large = found.at(found.counts > limit)
        rows = zip(*(column.tolist() for column in large.at(large.starts_and_sizes()[0])), strict=True)
        cuts = [
            Cut("neighbours", limit, n, f"{self._adjacency.term(tail)} {self.step(step)}") for tail, step, _, n in rows
        ]
        cuts += [cut_of_group(group, limit) for group in groups if group.count > limit]
        if groups:
            found = Hops.together([found, self._hops_of(groups)]).in_order()
        return found, np.empty((0, 5), np.int64), sorted(cuts, key=str)

    def counted(self, ends: Numbers) -> tuple[Hops, Sequence[Cut]]:
        """Count the hops from each term by each step; of literals, one counts."""
        entities = ends[ends < self.numbers.first]
        tails, steps = self._literal_groups(entities)
        parts = [Hops(tails, steps, tails, np.ones(len(tails), np.int64))]
        for hops in self._batches_of_hops(entities):
            first, sizes = hops.starts_and_sizes()
            parts.append(hops.at(first)._replace(counts=sizes))
        found = Hops.together(parts).in_order()
        first, _ = found.starts_and_sizes()
        counts = np.add.reduceat(found.counts, first) if len(first) else found.counts
        return found.at(first)._replace(counts=counts), ()

    def _batches_of_hops(self, entities: Numbers) -> Iterator[Hops]:
        """Yield all hops from some terms that are walked, as many at a time as are sorted together."""
        begins, counts, _ = neighbours_of(self._adjacency, entities)
        for some in batches(counts, _BATCH):
            places = ranges(begins[some], counts[some])
            steps = self._adjacency.steps[places].astype(np.int64)
            walked = self._walked[steps]
            tails = np.repeat(entities[some], counts[some])[walked].astype(np.int64)
            heads, steps = self._adjacency.others[places[walked]].astype(np.int64), steps[walked]
            order = np.lexsort((steps, tails))  # the heads of a term are in order already
            yield Hops(tails[order], steps[order], heads[order], np.ones(len(tails), np.int64))
            self.view.check()

    def _literal_groups(self, entities: Numbers) -> tuple[Numbers, Numbers]:
        """Find the terms that lead to literals, and by which steps."""
        begins = self._adjacency.literal_starts[entities].astype(np.int64)
        counts = self._adjacency.literal_starts[entities + 1] - begins
        steps = 2 * self._adjacency.literals[ranges(begins, counts)].astype(np.int64)
        walked = self._walked[steps]
        return np.repeat(entities, counts)[walked].astype(np.int64), steps[walked]


def _steps_from(start: IRI, asked: _Asked) -> _QuerySteps:
    view = asked.graph.adjacency_view()
    if view is None or view.adjacency.number(start) is None:
        return _QuerySteps(asked)
    return _AdjacencySteps(asked, view)


class _Search:
    """A search from one entity: what it found so far, and the paths of the length that it has reached.

    A row stands for a path and one of its ends; rows are sorted by both.

    :ivar shapes: the paths, in lexical order.
    :ivar last: the number of each path's last step.
    :ivar path: of each row, the place of the path in ``shapes``.
    :ivar end: of each row, the number of the end.
    :ivar before: of each row, the numbers of two terms just before the end, or of the only one; shape ``(rows, 2)``.
    :ivar behind: of each end behind a blank node: the place of the path to that, the next step, the end, and the blank
        node; shape ``(n, 4)``.
    """

    def __init__(self, steps: _QuerySteps, start: IRI, keep: Keep | None) -> None:
        self.steps, self.start, self.keep = steps, start, keep
        self.found: list[PredicatePath] = []
        self.cuts: dict[Cut, None] = {}
        self.shapes: tuple[PropertyPath, ...] = (PropertyPath(()),)
        self.last, self.path, self.end = np.array([[_NONE], [0], [steps.numbers[start]]])
        self.before: Numbers = np.array([[_NONE] * 2])
        self.behind: Numbers = np.empty((0, 4), np.int64)

    def to_be_asked(self) -> list[IRI]:
        """List the ends that queries are about when the paths get longer."""
        by_queries = type(self.steps) is _QuerySteps and len(self.shapes) > 0
        return self.steps.entities(sorted_once(self.end)) if by_queries else []

    def walk_on(self, *, is_last: bool, is_kept: bool) -> None:
        """Find the paths one step longer, and keep those that are walked on from."""
        if not self.shapes:
            return
        began = time.perf_counter()
        if is_last:
            self._take_last_step()
        else:
            self._take_step()
            self.found += (own := self._paths())
            if self.keep is not None and own and is_kept:
                self._leave_others(frozenset(self.keep(own)))
        if isinstance(self.steps, _AdjacencySteps):  # which no event of a query shows
            self.steps.view.report_search(began, self.start, len(self.shapes))

    def _paths(self) -> list[PredicatePath]:
        """List the paths in lexical order, with their ends."""
        bounds = np.searchsorted(self.path, np.arange(len(self.shapes) + 1)).tolist()
        return [
            PredicatePath(shape, tuple(self.steps.terms(self.end[bounds[place] : bounds[place + 1]])))
            for place, shape in enumerate(self.shapes)
        ]

    def _leave_others(self, wanted: Collection[PropertyPath]) -> None:
        """Keep only those of the paths that are wanted."""
        kept = np.array([shape in wanted for shape in self.shapes], np.bool_)
        places, rows = np.cumsum(kept) - 1, kept[self.path]
        self.behind = self.behind[kept[self.behind[:, 0]]]
        self.behind[:, 0] = places[self.behind[:, 0]]
        self.shapes, self.last = tuple(shape for shape in self.shapes if shape in wanted), self.last[kept]
        self.path, self.end, self.before = places[self.path[rows]], self.end[rows], self.before[rows]

    def _take_step(self) -> None:
        """Make the paths one step longer."""
        frontier = self.steps.asked.limit
        hops, far, cuts = self.steps.limited(sorted_once(self.end))
        keys, heads, tails = self._hops_onward(hops)
        first = starts_of(keys, heads)
        several = np.diff(first, append=len(keys)) > 1
        before = np.full((len(first), 2), _NONE)
        before[:, 0] = tails[first]
        before[several, 1] = tails[first[several] + 1]
        behind = self._ends_behind(far)
        distinct = sorted_once(np.concatenate([keys[starts_of(keys)], behind[:, 0]]))
        behind[:, 0] = np.searchsorted(distinct, behind[:, 0])
        self.shapes, self.last = self._paths_of_keys(distinct)
        path = np.searchsorted(distinct, keys[first])
        counts = np.bincount(path, minlength=len(self.shapes))
        more = [
            Cut("ends", frontier, int(counts[place]), f"{self.start} {self.shapes[place]}")
            for place in np.flatnonzero(counts > frontier).tolist()
        ]
        self.cuts.update(dict.fromkeys((*cuts, *more)))
        kept = np.arange(len(path)) - (np.cumsum(counts) - counts)[path] < frontier
        self.path, self.end, self.before, self.behind = path[kept], heads[first[kept]], before[kept], behind

    def _take_last_step(self) -> None:
        """Make the paths one step longer, without their ends."""
        hops, cuts = self.steps.counted(sorted_once(self.end))
        self.cuts.update(dict.fromkeys(cuts))
        keys = [self._path_keys(self.behind[:, 0], self.behind[:, 1])]
        for rows, onward in self._rows_with_hops(hops.tails):
            # A step back is taken only where it leads to more than the term just left.
            leads_on = ~self._goes_back(rows, hops.steps[onward]) | (hops.counts[onward] > 1)
            keys.append(sorted_once(self._path_keys(self.path[rows[leads_on]], hops.steps[onward[leads_on]])))
        self.shapes, _ = self._paths_of_keys(sorted_once(np.concatenate(keys)))
        self.found += map(PredicatePath, self.shapes)

    def _rows_with_hops(self, tails: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """Join each row with each hop from its end: the places of both; some whole paths at a time."""
        first = np.searchsorted(tails, self.end)
        counts = np.searchsorted(tails, self.end, "right") - first
        begins = starts_of(self.path)
        bounds = np.append(begins, len(self.path))
        for paths in batches(np.add.reduceat(counts, begins) if len(begins) else counts, _MOST):
            some = slice(bounds[paths.start], bounds[paths.stop])
            yield np.repeat(np.arange(some.start, some.stop), counts[some]), ranges(first[some], counts[some])

    def _hops_onward(self, hops: Hops) -> tuple[Numbers, Numbers, Numbers]:
        """Find the keys of the paths one step longer, their ends and the terms before these, in order."""
        parts = [tuple(self.behind.T)]
        for rows, onward in self._rows_with_hops(hops.tails):
            steps, heads = hops.steps[onward], hops.heads[onward]
            kept = np.flatnonzero(~self._leads_straight_back(rows, steps, heads))
            rows = rows[kept]  # noqa: PLW2901
            parts.append((self.path[rows], steps[kept], heads[kept], self.end[rows]))
        paths, steps, heads, tails = map(np.concatenate, zip(*parts, strict=True))
        keys = self._path_keys(paths, steps)
        order = np.lexsort((self.steps.term_ranks(heads), keys))
        return keys[order], heads[order], tails[order]

    def _ends_behind(self, behind: Numbers) -> Numbers:
        """Find what lies behind the blank nodes that paths one step longer reach, with the keys of these."""
        if not len(behind):
            return np.empty((0, 4), np.int64)
        parts = []
        for rows, at in self._rows_with_hops(behind[:, 0]):
            _, there, middle, step, end = behind[at].T
            kept = ~self._leads_straight_back(rows, there, middle)
            parts.append(np.column_stack([self._path_keys(self.path[rows], there), step, end, middle])[kept])
        return np.unique(np.concatenate(parts), axis=0)

    def _goes_back(self, rows: Numbers, steps: Numbers) -> Marks:
        return np.asarray((self.last[self.path[rows]] ^ 1) == steps)

    def _leads_straight_back(self, rows: Numbers, steps: Numbers, terms: Numbers) -> Marks:
        is_only_before = (terms == self.before[rows, 0]) & (self.before[rows, 1] == _NONE)
        return np.asarray(self._goes_back(rows, steps) & is_only_before)

    def _path_keys(self, paths: Numbers, steps: Numbers) -> Numbers:
        """Make a number for each path one step longer; these numbers are in the order of the paths."""
        ranks = self.steps.step_ranks()
        return paths * len(ranks) + ranks[steps]

    def _paths_of_keys(self, keys: Numbers) -> tuple[tuple[PropertyPath, ...], Numbers]:
        """Make the paths one step longer, and the numbers of their last steps."""
        numbers = np.argsort(self.steps.step_ranks())
        paths, places = np.divmod(keys, max(1, len(numbers)))
        last = numbers[places]
        known = {number: self.steps.step(number) for number in set(last.tolist())}
        rows = zip(paths.tolist(), last.tolist(), strict=True)
        return tuple(PropertyPath((*self.shapes[path].steps, known[number])) for path, number in rows), last
