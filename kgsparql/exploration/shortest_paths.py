"""All shortest paths between two entities: in an adjacency, or by queries from both ends, until the two sides meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias, cast

import numpy as np

from kgsparql.exploration.adjacency_search import Arcs, Numbers, ordered_paths, paths_in_adjacency
from kgsparql.exploration.batched_select import (
    Found,
    entities_of,
    far_end,
    hop_of,
    order_key,
    select_about,
    selected,
    skipped_in,
    skipping,
    union_of,
)
from kgsparql.exploration.counting import predicates, step_key
from kgsparql.exploration.neighbourhood import mediated_paths
from kgsparql.graphs.adjacency import MAX_DEGREE
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Directions, Hop, Path, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term
from kgsparql.rdf.vocabulary import UNWALKED

# A term of the near side, and the hops from it to a term of the far side; no hop if it is the same term.
Bridge: TypeAlias = tuple[Term, tuple[Hop, ...]]

# Pairs of terms of one query between two frontiers: an engine looks each pair up (measured: 55 ms).
MAX_PAIRS = 1_000_000
# Pairs of terms that an engine is made to look up one by one (17 ms); more are joined in its own way.
FEW_PAIRS = 50_000
# Queries between two frontiers that are larger than a chunk; beyond, one side is expanded instead.
MAX_QUERIES = 4
# Hops of an end, in a direction, that the first query fetches; for an end with more, joins are sent.
FEW = 1_000

_OPPOSITE: dict[Directions, Directions] = {"both": "both", "forward": "inverse", "inverse": "forward"}
# Queries for two hops: the variable in the middle, those at both ends, and the directions of the hops.
_TWO_HOPS: dict[str, tuple[str, str, str, Direction, Direction]] = {
    "chain": ("middle", "subject", "object", "forward", "forward"),
    "common_object": ("common_object", "subject", "other", "forward", "inverse"),
    "common_subject": ("common_subject", "object", "other", "inverse", "forward"),
}


def shortest_paths(
    graph: KnowledgeGraph,
    start: Term,
    end: Term,
    *,
    max_hops: int = 5,
    direction: Directions = "both",
    skip: Iterable[IRI] = UNWALKED,
    hub_limit: int = 10_000,
    limit: int = 1_000,
) -> Found[Path]:
    """Find all shortest paths from ``start`` to ``end``; none if they are more than ``max_hops`` apart.

    A path does not lead through a literal, nor along a skipped predicate, nor through a class unless both ends are
    classes. The paths through terms of few triples come first. From an entity to itself there is the path without hops.

    One query finds a distance of 1 or 2, two find 3, three find 4; each hop more costs two, and an end of more
    than 1,000 hops one or two. Where there are several paths, one more asks for degrees. Where the graph has an
    adjacency, no query is asked, and the only cut is that of ``limit``: the paths are the same wherever queries cut
    nothing.

    :param hub_limit: a query does not expand a term with more hops than this, which is a cut unless it is an end.
    :param limit: how many paths are enumerated before they are ordered; more are a cut. The first in lexical order;
        of more than 1,000, and more than four times as many, any.
    :raises InputError: for a start or an end that is not an IRI.
    """
    (near,), (far,) = entities_of([start]), entities_of([end])
    if near == far:
        return Found((Path(near),))
    skipped = skipped_in(graph, skip)
    view = graph.adjacency_view()
    if view is not None:
        return paths_in_adjacency(view, near, far, max_hops=max_hops, direction=direction, skip=skipped, limit=limit)
    enough = max(limit, min(BOUND, max(FEW, 4 * limit)))
    search = _Search(graph, _Side(near, direction), _Side(far, _OPPOSITE[direction]), skipped, hub_limit, enough)
    names, levels = search.numbered_levels(search.bridges(max_hops) if max_hops > 0 else [])
    found = ordered_paths(names, levels, limit, between=f"{start} – {end}", complete=search.complete)
    return Found(found.items, tuple(dict.fromkeys((*search.cuts, *found.cuts))))


@dataclass(slots=True)
class _Side:
    """The terms reached from one end.

    :param direction: in which this side walks, away from its end.
    :param arriving: of each level but the end's, the hops by which its terms were first reached.
    :param behind: for each blank node, the hops that leave it: they came together with the hop to it.
    :param closed: the end itself has too many hops, so that only the other side can be expanded.
    """

    end: IRI
    direction: Directions
    levels: list[set[Term]] = field(default_factory=list)
    distances: dict[Term, int] = field(default_factory=dict)
    arriving: list[list[Hop]] = field(default_factory=list)
    behind: dict[Term, dict[Hop, None]] = field(default_factory=dict)
    closed: bool = False

    def __post_init__(self) -> None:
        self.levels.append({self.end})
        self.distances[self.end] = 0

    @property
    def frontier(self) -> set[Term]:
        return self.levels[-1]

    def add_level(self, hops: Iterable[Hop]) -> None:
        """Add the terms one hop further."""
        distance = len(self.levels)
        self.arriving.append([hop for hop in hops if self.distances.setdefault(hop.end, distance) == distance])
        self.levels.append({hop.end for hop in self.arriving[-1]})

    def named_before(self, term: Term) -> Term:
        """Go back from a blank node to the first term that is none."""
        while isinstance(term, BlankNode):
            term = next(hop.start for hop in self.arriving[self.distances[term] - 1] if hop.end == term)
        return term

    def chunks(self, size: int) -> list[list[Term]]:
        """Return the frontier, as many terms at a time as one query takes."""
        terms = sorted(self.frontier, key=str)
        return [terms[i : i + size] for i in range(0, len(terms), size)]

    def hops_back(self, terms: Sequence[Term]) -> Iterator[tuple[int, Hop]]:
        """Yield the hops by which these terms were reached, and how far from the end each begins."""
        wanted = set[Term]()
        for distance in range(len(self.arriving), 0, -1):
            wanted.update(term for term in terms if self.distances[term] == distance)
            hops = [hop for hop in self.arriving[distance - 1] if hop.end in wanted]
            yield from ((distance - 1, hop) for hop in hops)
            wanted = {hop.start for hop in hops}


@dataclass(slots=True)
class _Search:
    """A search by queries, in which both sides grow until they meet.

    :param enough: how many bridges between two frontiers are fetched.
    :param through_classes: whether paths may lead through classes, as those between two classes may.
    :param complete: whether all bridges were found.
    """

    graph: KnowledgeGraph
    near: _Side
    far: _Side
    skip: frozenset[IRI]
    hub_limit: int
    enough: int
    through_classes: bool = False
    complete: bool = True
    cuts: list[Cut] = field(default_factory=list)

    def bridges(self, max_hops: int) -> list[Bridge]:
        """Find the bridges of all shortest paths."""
        met, ruled_out = self._first_query(), 1
        while not met and ruled_out < max_hops:
            if met := self._meeting_terms():
                break
            gone = len(self.near.arriving) + len(self.far.arriving)
            ruled_out = max(ruled_out, gone)
            if ruled_out >= max_hops or not self.near.frontier or not self.far.frontier:
                break
            if self._can_be_joined(ruled_out + 1 - gone):
                met = self._joining_bridges(ruled_out + 1 - gone)
                ruled_out += 1
                continue
            open_sides = [side for side in (self.near, self.far) if not side.closed]
            if not open_sides:
                self.cuts += [Cut("hops", self.hub_limit, None, str(side.end)) for side in (self.near, self.far)]
                break
            side = min(open_sides, key=lambda side: len(side.frontier))
            entities = sorted((term for term in side.frontier if isinstance(term, IRI)), key=str)
            found = select_about(self.graph, self._link_arms(side), entities, bound=max(BOUND, self.hub_limit))
            self._expand_side(side, found.solutions, hubs=found.over)
        return met

    def _first_query(self) -> list[Bridge]:
        """Ask for the hops between the ends, for what is beside each, and whether they are classes, at once.

        An end with many hops is left as it is: what is two hops from it is found without fetching them.
        """
        few, sides = min(FEW, self.hub_limit), (self.near, self.far)
        arms = [arm.limit(self.enough + 1) for arm in self._one_hop([self.near.end], [self.far.end])]
        arms += [arm.bind(entity=[side.end]).limit(few + 1) for side in sides for arm in self._link_arms(side)]
        arms.append(Query.load("classes").bind(entity=[side.end for side in sides]))
        solutions = selected(self.graph, union_of(arms))
        direct = {_way_of(solution, {self.near.end}): None for solution in solutions if "entity" not in solution}
        if direct:
            self.complete = not solutions.cut and len(direct) <= self.enough
            return [(self.near.end, way) for way in direct]
        self.through_classes = len({s["entity"] for s in solutions if "predicate" not in s}) == 2
        for side in () if self.through_classes or solutions.cut else sides:
            links = [s for s in solutions if "predicate" in s and s["entity"] == side.end]
            if max(Counter(far_end(s)[0] for s in links).values(), default=0) <= few:
                self._expand_side(side, links)
        return []

    def _link_arms(self, side: _Side) -> list[Query]:
        """Make the queries for the hops that a path may take from some entities, not bound to these yet."""
        name = "neighbours" if self.through_classes else "links"
        return [skipping(Query.load(f"{name}_{way}"), "predicate", self.skip) for way in directions(side.direction)]

    def _expand_side(self, side: _Side, solutions: Iterable[Solution], *, hubs: Iterable[Term] = ()) -> None:
        """Add a level from solutions for the frontier; the hops of hubs are left out."""
        found = [solution for solution in solutions if not isinstance(far_end(solution)[1], Literal)]
        degrees = Counter(solution["entity"] for solution in found)
        closed = {*hubs, *(term for term, degree in degrees.items() if degree > self.hub_limit)}
        if side.end in closed:
            side.closed = True
            return
        self.cuts += [Cut("hops", self.hub_limit, degrees.get(term), str(term)) for term in closed]
        hops = []
        for solution in found:
            if solution["entity"] not in closed:
                way, far = far_end(solution)
                hops.append(hop_of(solution["entity"], solution["predicate"], far, way))
        hops = self._with_mediators(side, hops)
        for term in side.frontier:
            if isinstance(term, BlankNode):
                hops += side.behind.get(term, ())
                if term not in side.behind:
                    self.cuts.append(Cut("hops through nested blank nodes", 2, None, str(side.named_before(term))))
        side.add_level(hops)

    def _with_mediators(self, side: _Side, hops: list[Hop]) -> list[Hop]:
        """Return the hops; those to a blank node are asked for again, together with the hops that leave it."""
        plain = [hop for hop in hops if not isinstance(hop.end, BlankNode)]
        groups = dict.fromkeys((cast("IRI", hop.start), hop.step) for hop in hops if isinstance(hop.end, BlankNode))
        if not groups:
            return plain
        found, cuts = mediated_paths(self.graph, groups, direction=side.direction, skip=self.skip, nested=False)
        self.cuts += cuts
        paths = [path for some in found.values() for path in some]
        # A class is no mediator. Where blank nodes keep their names, those met before are known not to be classes.
        met = {hop.end for hop in hops}
        if any(path.hops[0].end in met for path in paths):
            paths = [path for path in paths if path.hops[0].end in met]
        classes: set[Term] = set()
        if not self.through_classes:
            entities = sorted({path.end for path in paths if isinstance(path.end, IRI)}, key=str)
            found_classes = select_about(self.graph, [Query.load("classes")], entities).solutions
            classes = {solution["entity"] for solution in found_classes}
        for path in paths:
            there, onward = path.hops
            plain.append(there)
            if not isinstance(onward.end, Literal) and onward.end not in classes:
                side.behind.setdefault(there.end, {})[onward] = None
        return plain

    def _meeting_terms(self) -> list[Bridge]:
        """Find the terms at which both sides meet over the fewest hops, not more than both have gone.

        A blank node of the near side is compared by the terms behind it, as an endpoint names it differently each time.
        """
        distances, reach = self.far.distances, len(self.near.arriving) + len(self.far.arriving)
        found: dict[int, dict[Bridge, None]] = {}
        for at, level in enumerate(self.near.levels):
            for term in level:
                if term in distances:
                    found.setdefault(at + distances[term], {})[term, ()] = None
                for hop in self.near.behind.get(term, ()):
                    length = at + 1 + distances.get(hop.end, reach)
                    if length <= reach and isinstance(hop.end, IRI):
                        found.setdefault(length, {})[term, (hop,)] = None
        return list(found[min(found)]) if found else []

    def _can_be_joined(self, hops: int) -> bool:
        """Tell whether the hops between the frontiers can be asked for: of IRIs, not too many, one through a class."""
        sides = (self.near, self.far)
        pairs, (near, far) = (
            len(self.near.frontier) * len(self.far.frontier),
            (s.chunks(self.graph.chunk_size) for s in sides),
        )
        is_blank = any(isinstance(term, BlankNode) for side in sides for term in side.frontier)
        few = hops <= (1 if self.through_classes else 2) and len(near) * len(far) <= MAX_QUERIES
        return few and 0 < pairs <= MAX_PAIRS and not is_blank

    def _joining_bridges(self, hops: int) -> list[Bridge]:
        """Find the ways from one frontier to the other over one or two hops, as many as are enough.

        If none of these can be used, and there are more, all are fetched.
        """
        found: dict[Bridge, None] = {}
        chunks = [side.chunks(self.graph.chunk_size) for side in (self.near, self.far)]
        for bound in dict.fromkeys((self.enough, max(BOUND, self.enough))):
            self.complete = True
            for near, far in product(*chunks):
                arms = (self._one_hop if hops == 1 else self._two_hops)(near, far)
                solutions = selected(self.graph, union_of([arm.limit(bound + 1) for arm in arms]))
                self.complete &= not solutions.cut and len(solutions) + solutions.left_out <= bound
                terms = set(near)
                for way in (_way_of(solution, terms) for solution in solutions):
                    middle = way[0].end
                    # Only where a hub was left out can a term between the frontiers have been met before.
                    if hops == 1 or (middle not in self.near.distances and middle not in self.far.distances):
                        found[way[0].start, way] = None
                if len(found) > bound:
                    self.complete = False
                    return list(found)
            if found or self.complete:
                break
        return list(found)

    def _one_hop(self, near: Sequence[Term], far: Sequence[Term]) -> list[Query]:
        name = "between_pairs" if len(near) * len(far) <= FEW_PAIRS else "between"
        query = skipping(Query.load(name), "predicate", self.skip)
        ends = {"forward": (near, far), "inverse": (far, near)}
        return [query.bind(subject=ends[way][0], object=ends[way][1]) for way in directions(self.near.direction)]

    def _two_hops(self, near: Sequence[Term], far: Sequence[Term]) -> list[Query]:
        def query(name: str, near: Sequence[Term], far: Sequence[Term]) -> Query:
            _, start, end, *_ = _TWO_HOPS[name]
            whole = skipping(skipping(Query.load(name), "predicate", self.skip), "onward", self.skip)
            return whole.bind(**{start: near, end: far})

        ways = directions(self.near.direction)
        found = [query("chain", near, far) if way == "forward" else query("chain", far, near) for way in ways]
        return found if len(ways) < 2 else [*found, *(query(f"common_{of}", near, far) for of in ("object", "subject"))]

    def numbered_levels(self, met: Sequence[Bridge]) -> tuple[_Names, list[Arcs]]:
        """Find the hops of all paths by their place on these, walked from the start on."""
        starts, ends = [term for term, _ in met], [way[-1].end if way else term for term, way in met]
        length = self.near.distances[starts[0]] + len(met[0][1]) + self.far.distances[ends[0]] if met else 0
        levels: list[dict[Hop, None]] = [{} for _ in range(length)]
        for term, way in met:
            for place, hop in enumerate(way, self.near.distances[term]):
                levels[place][hop] = None
        for place, hop in self.near.hops_back(starts):
            levels[place][hop] = None
        for place, hop in self.far.hops_back(ends):
            levels[-1 - place][hop.reversed] = None
        names = _Names(self.graph, [hop for level in levels for hop in level])
        return names, [names.arcs(level) for level in levels]


def _way_of(solution: Solution, near: set[Term]) -> tuple[Hop, ...]:
    """Return the hops of a solution, from its term in ``near`` on."""
    predicate, way = solution["predicate"], list[Hop]()
    if "onward" not in solution:
        way.append(hop_of(solution["subject"], predicate, solution["object"], "forward"))
    for middle, start, end, there, onward in _TWO_HOPS.values():
        if middle in solution:
            way.append(hop_of(solution[start], predicate, solution[middle], there))
            way.append(hop_of(solution[middle], solution["onward"], solution[end], onward))
    return tuple(way) if way[0].start in near else tuple(hop.reversed for hop in reversed(way))


class _Names:
    """The terms and steps of some hops, numbered in lexical order; blank nodes last."""

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
        terms = {term: number for number, term in enumerate(self._terms)}
        steps = {step: number for number, step in enumerate(self._steps)}
        rows = [(terms[hop.start], terms[hop.end], steps[hop.step]) for hop in hops]
        return Arcs(*np.array(rows, np.int64).reshape(-1, 3).T)

    def degrees(self, numbers: Numbers) -> Numbers:
        """Count the triples of terms, up to a bound."""
        inner = {term for number in set(numbers.tolist()) if isinstance(term := self.term(number), IRI)}
        degrees: Counter[Term] = Counter()
        for count in predicates(self._graph, sorted(inner, key=str), skip=()).items:
            degrees[count.entity] += count.count
        return np.array([min(degrees[self.term(number)], MAX_DEGREE) for number in numbers.tolist()], np.int64)
