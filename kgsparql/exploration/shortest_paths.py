"""All shortest paths between two entities: in an adjacency, or by queries from both ends, until the two sides meet."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, cast

from kgsparql.exploration.adjacency_search import Arcs, HopNames, ordered_paths, paths_in_adjacency
from kgsparql.exploration.batched_select import (
    Found,
    entities_of,
    far_end,
    hop_in,
    select_about,
    selected,
    skipped_in,
    skipping,
    union_of,
)
from kgsparql.exploration.neighbourhood import mediated_paths
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, Hop, Path, Step, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, distinct, iris_in
from kgsparql.rdf.vocabulary import UNWALKED

# A term of the near side, and the hop from it to a term of the far side; no hop if it is the same term.
Bridge: TypeAlias = tuple[Term, tuple[Hop, ...]]

# Pairs of terms of the query between two frontiers: an engine looks each pair up (measured: 17 ms).
MAX_PAIRS = 50_000
# Hops of an end, in a direction, that the first query fetches.
FEW = 1_000
# A term with more hops is not expanded.
HUB = 10_000

_OPPOSITE: dict[Directions, Directions] = {"both": "both", "forward": "inverse", "inverse": "forward"}


def shortest_paths(
    graph: KnowledgeGraph, start: Term, end: Term, *, max_hops: int = 5, direction: Directions = "both",
    skip: Iterable[IRI] = UNWALKED, limit: int = 1_000,
) -> Found[Path]:  # fmt: skip
    """Find all shortest paths from ``start`` to ``end``; none if they are more than ``max_hops`` apart.

    A path does not lead through a literal, nor along a skipped predicate, nor through a class unless both ends are
    classes. The paths through terms of few triples come first. From an entity to itself there is the path without hops.

    One query finds a distance of 1 or 2, two find 3; each hop more costs two, and an end of more than 1,000 hops one.
    Two ends of more than 10,000 hops each are found where they are beside each other: else that is a cut. Where there
    are several paths, one more query asks for degrees. Where the graph has an adjacency, no query is asked, and the
    only cut is that of ``limit``: the paths are the same wherever queries cut nothing.

    A query does not expand a term with more than 10,000 hops, which is a cut unless it is an end.

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
    search = _Search(graph, _Side(near, direction), _Side(far, _OPPOSITE[direction]), skipped, enough)
    names, levels = search.numbered_levels(search.bridges(max_hops) if max_hops > 0 else [])
    found = ordered_paths(names, levels, limit, between=f"{start} – {end}", complete=search.complete)
    return Found(found.items, distinct((*search.cuts, *found.cuts)))


class _Side:
    """The terms reached from one end.

    :ivar direction: in which this side walks, away from its end.
    :ivar arriving: of each level but the end's, the hops by which its terms were first reached.
    :ivar behind: for each blank node, the hops that leave it: they came together with the hop to it.
    :ivar closed: the end itself has too many hops, so that only the other side can be expanded.
    """

    def __init__(self, end: IRI, direction: Directions) -> None:
        self.end, self.direction = end, direction
        self.frontier: set[Term] = {end}
        self.distances: dict[Term, int] = {end: 0}
        self.arriving: list[list[Hop]] = []
        self.behind: dict[Term, dict[Hop, None]] = defaultdict(dict)
        self.closed = False

    def add_level(self, hops: Iterable[Hop]) -> None:
        """Add the terms one hop further."""
        distance = len(self.arriving) + 1
        self.arriving.append([hop for hop in hops if self.distances.setdefault(hop.end, distance) == distance])
        self.frontier = {hop.end for hop in self.arriving[-1]}

    def named_frontier(self) -> list[IRI]:
        """Return the IRIs of the frontier, in order."""
        return sorted(iris_in(self.frontier), key=str)

    def hops_back(self, terms: Sequence[Term]) -> Iterator[tuple[int, Hop]]:
        """Yield the hops by which these terms were reached, and how far from the end each begins."""
        wanted = set[Term]()
        for distance in range(len(self.arriving), 0, -1):
            wanted.update(term for term in terms if self.distances[term] == distance)
            hops = [hop for hop in self.arriving[distance - 1] if hop.end in wanted]
            yield from ((distance - 1, hop) for hop in hops)
            wanted = {hop.start for hop in hops}


class _Search:
    """A search by queries, in which both sides grow until they meet.

    :ivar enough: how many bridges between two frontiers are fetched.
    :ivar through_classes: whether paths may lead through classes, as those between two classes may.
    :ivar complete: whether all bridges were found.
    """

    def __init__(self, graph: KnowledgeGraph, near: _Side, far: _Side, skip: frozenset[IRI], enough: int) -> None:
        self.graph, self.near, self.far, self.skip, self.enough = graph, near, far, skip, enough
        self.sides = near, far
        self.through_classes, self.complete = False, True
        self.cuts: list[Cut] = []

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
            if ruled_out == gone and self._can_be_joined():
                near, far = (side.named_frontier() for side in self.sides)
                solutions = selected(self.graph, union_of(self._arms_between(near, far)))
                self.complete = not solutions.cut and len(solutions) + solutions.left_out <= self.enough
                met, ruled_out = _hops_in(solutions, near), ruled_out + 1
                continue
            open_sides = [side for side in self.sides if not side.closed]
            if not open_sides:
                self.cuts += [Cut("hops", HUB, None, str(side.end)) for side in self.sides]
                break
            side = min(open_sides, key=lambda side: len(side.frontier))
            found = select_about(self.graph, self._link_arms(side), side.named_frontier(), bound=HUB)
            self._expand_side(side, found.solutions, hubs=found.over)
        return met

    def _first_query(self) -> list[Bridge]:
        """Ask for the hops between the ends, for what is beside each, and whether they are classes, at once.

        An end with many hops is left as it is: what is two hops from it is found without fetching them.
        """
        ends = [side.end for side in self.sides]
        arms = self._arms_between(ends[:1], ends[1:])
        arms += [arm.bind(entity=[side.end]).limit(FEW + 1) for side in self.sides for arm in self._link_arms(side)]
        arms.append(Query.load("classes").bind(entity=ends))
        solutions = selected(self.graph, union_of(arms))
        direct = _hops_in(solutions, ends[:1])
        if direct:
            self.complete = not solutions.cut and len(direct) <= self.enough
            return direct
        self.through_classes = len({s["entity"] for s in solutions if "predicate" not in s}) == 2
        for side in () if self.through_classes or solutions.cut else self.sides:
            links = [s for s in solutions if "predicate" in s and s["entity"] == side.end]
            if max(Counter(far_end(s)[0] for s in links).values(), default=0) <= FEW:
                self._expand_side(side, links)
        return []

    def _link_arms(self, side: _Side) -> list[Query]:
        """Make the queries for the hops that a path may take from some entities, not bound to these yet."""
        name = "neighbours" if self.through_classes else "links"
        return [skipping(Query.load(f"{name}_{way}"), "predicate", self.skip) for way in directions(side.direction)]

    def _expand_side(self, side: _Side, solutions: Iterable[Solution], *, hubs: Iterable[Term] = ()) -> None:
        """Add a level from solutions for the frontier, which has no hop of a hub."""
        if side.end in hubs:
            side.closed = True
            return
        self.cuts += [Cut("hops", HUB, None, str(term)) for term in hubs]
        hops = [hop for hop in map(hop_in, solutions) if not isinstance(hop.end, Literal)]
        hops = self._with_mediators(side, hops)
        for term in side.frontier:
            if isinstance(term, BlankNode) and term in side.behind:
                hops += side.behind[term]
            elif isinstance(term, BlankNode):
                self.cuts.append(Cut("hops through nested blank nodes", 2, None, str(side.end)))
        side.add_level(hops)

    def _with_mediators(self, side: _Side, hops: list[Hop]) -> list[Hop]:
        """Return the hops; those to a blank node are asked for again, together with the hops that leave it."""
        groups = dict.fromkeys((cast("IRI", hop.start), hop.step) for hop in hops if isinstance(hop.end, BlankNode))
        if not groups:
            return hops
        found, cuts = mediated_paths(self.graph, groups, direction=side.direction, skip=self.skip)
        self.cuts += cuts
        paths = [path for some in found.values() for path in some]
        # A class is no mediator. Where blank nodes keep their names, those met before are known not to be classes.
        met = {hop.end for hop in hops}
        if any(path.hops[0].end in met for path in paths):
            paths = [path for path in paths if path.hops[0].end in met]
        entities = set() if self.through_classes else {path.end for path in paths if isinstance(path.end, IRI)}
        asked = select_about(self.graph, [Query.load("classes")], sorted(entities, key=str))
        classes = {solution["entity"] for solution in asked.solutions}
        for there, onward in (path.hops for path in paths):
            if not isinstance(onward.end, Literal) and onward.end not in classes:
                side.behind[there.end][onward] = None
        return [*(hop for hop in hops if not isinstance(hop.end, BlankNode)), *(path.hops[0] for path in paths)]

    def _meeting_terms(self) -> list[Bridge]:
        """Find the terms at which both sides meet over the fewest hops, not more than both have gone.

        A blank node of the near side is compared by the terms behind it, as an endpoint names it differently each time.
        """
        reach = len(self.near.arriving) + len(self.far.arriving)
        found = defaultdict(list)
        for term, at in self.near.distances.items():
            onward = [(hop,) for hop in self.near.behind.get(term, ()) if isinstance(hop.end, IRI)]
            for way in ((), *onward):
                length = at + len(way) + self.far.distances.get(way[0].end if way else term, reach + 1)
                if length <= reach:
                    found[length].append((term, way))
        return found[min(found)] if found else []

    def _can_be_joined(self) -> bool:
        """Tell whether the hops between the frontiers can be asked for with one query: of IRIs, not too many."""
        sizes = [len(side.frontier) for side in self.sides]
        is_blank = any(isinstance(term, BlankNode) for side in self.sides for term in side.frontier)
        return math.prod(sizes) <= MAX_PAIRS and max(sizes) <= self.graph.chunk_size and not is_blank

    def _arms_between(self, near: Sequence[Term], far: Sequence[Term]) -> list[Query]:
        query = skipping(Query.load("between_pairs"), "predicate", self.skip).limit(self.enough + 1)
        ends = {"forward": (near, far), "inverse": (far, near)}
        return [query.bind(subject=ends[way][0], object=ends[way][1]) for way in directions(self.near.direction)]

    def numbered_levels(self, met: Sequence[Bridge]) -> tuple[HopNames, list[Arcs]]:
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
        names = HopNames(self.graph, [hop for level in levels for hop in level])
        return names, [names.arcs(level) for level in levels]


def _hops_in(solutions: Iterable[Solution], near: Sequence[Term]) -> list[Bridge]:
    """List the hops of solutions that have both ends, each from its term in ``near`` on, once."""
    hops = [Step(cast("IRI", s["predicate"])).hop(s["subject"], s["object"]) for s in solutions if "entity" not in s]
    here = set(near)
    return [(hop.start, (hop,)) for hop in dict.fromkeys(hop if hop.start in here else hop.reversed for hop in hops)]
