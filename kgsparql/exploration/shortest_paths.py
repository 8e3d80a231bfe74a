"""All shortest paths between two entities, by queries: from both ends, until the two sides meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import TypeAlias, cast

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
from kgsparql.exploration.counting import predicates
from kgsparql.exploration.neighbourhood import mediated_paths
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, Hop, Path, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term
from kgsparql.rdf.vocabulary import UNWALKED

Bridge: TypeAlias = tuple[Term, tuple[Hop, ...]]
"""A term of the near side, and the hops from it to a term of the far side; no hop if it is the same term."""

MAX_PAIRS = 1_000_000
"""Pairs of terms of one query between two frontiers: an engine looks each pair up (measured: 55 ms)."""

FEW_PAIRS = 50_000
"""Pairs of terms that an engine is made to look up one by one (17 ms); more are joined in its own way."""

MAX_QUERIES = 4
"""Queries between two frontiers that are larger than a chunk; beyond, one side is expanded instead."""


@dataclass(frozen=True, slots=True)
class SearchRules:
    """What paths may use.

    :param hub_limit: a term with more hops than this is not expanded.
    :param classes: whether paths may lead through classes, as those between two classes may.
    """

    skip: frozenset[IRI]
    hub_limit: int
    classes: bool = False


def link_arms(direction: Directions, rules: SearchRules) -> list[Query]:
    """Make the queries for the hops that a path may take from some entities, not bound to these yet.

    Where paths may lead through classes these also find literals, which :meth:`SearchSide.take` leaves out.
    """
    name = "neighbours" if rules.classes else "links"
    return [skipping(Query.load(f"{name}_{way}"), "predicate", rules.skip) for way in directions(direction)]


@dataclass(slots=True)
class SearchSide:
    """The terms reached from one end.

    :param direction: in which this side walks, away from its end.
    :param arriving: for each term but the end, the hops by which it was first reached.
    :param behind: for each blank node, the hops that leave it: they came together with the hop to it.
    :param closed: the end itself has too many hops, so that only the other side can be expanded.
    """

    end: IRI
    direction: Directions
    levels: list[set[Term]] = field(default_factory=list)
    distances: dict[Term, int] = field(default_factory=dict)
    arriving: dict[Term, dict[Hop, None]] = field(default_factory=dict)
    behind: dict[Term, dict[Hop, None]] = field(default_factory=dict)
    cuts: dict[Cut, None] = field(default_factory=dict)
    closed: bool = False

    def __post_init__(self) -> None:
        self.levels.append({self.end})
        self.distances[self.end] = 0

    @property
    def frontier(self) -> set[Term]:
        """The terms reached last."""
        return self.levels[-1]

    @property
    def depth(self) -> int:
        """How many hops from the end the frontier is."""
        return len(self.levels) - 1

    def expand(self, graph: KnowledgeGraph, rules: SearchRules) -> None:
        """Add the terms one hop further from the frontier."""
        arms = link_arms(self.direction, rules)
        entities = sorted((term for term in self.frontier if isinstance(term, IRI)), key=str)
        found = select_about(graph, arms, entities, bound=max(BOUND, rules.hub_limit))
        self.take(graph, rules, found.solutions, hubs=found.over)

    def take(
        self, graph: KnowledgeGraph, rules: SearchRules, solutions: Iterable[Solution], *, hubs: Iterable[Term] = ()
    ) -> None:
        """Add a level from solutions of :func:`link_arms` for the frontier; the hops of hubs are left out."""
        found = [solution for solution in solutions if not isinstance(far_end(solution)[1], Literal)]
        degrees = Counter(solution["entity"] for solution in found)
        closed = {*hubs, *(term for term, degree in degrees.items() if degree > rules.hub_limit)}
        if self.end in closed:
            self.closed = True
            return
        for term in closed:
            self.cuts[Cut("hops", rules.hub_limit, degrees.get(term), str(term))] = None
        hops = []
        for solution in found:
            if solution["entity"] not in closed:
                way, far = far_end(solution)
                hops.append(hop_of(solution["entity"], solution["predicate"], far, way))
        self._add_level([*self._with_mediators(graph, rules, hops), *self._hops_behind()])

    def _add_level(self, hops: Iterable[Hop]) -> None:
        distance = self.depth + 1
        level: set[Term] = set()
        for hop in hops:
            end = hop.end
            if self.distances.setdefault(end, distance) == distance:
                level.add(end)
                self.arriving.setdefault(end, {})[hop] = None
        self.levels.append(level)

    def _hops_behind(self) -> list[Hop]:
        """Find the hops that leave the blank nodes of the frontier; a cut for one that was met behind another."""
        hops: list[Hop] = []
        for term in self.frontier:
            if isinstance(term, BlankNode):
                if term not in self.behind:
                    self.cuts[Cut("hops through nested blank nodes", 2, None, str(self._named_before(term)))] = None
                hops.extend(self.behind.get(term, ()))
        return hops

    def _named_before(self, term: Term) -> Term:
        while isinstance(term, BlankNode):
            term = next(iter(self.arriving[term])).start
        return term

    def _with_mediators(self, graph: KnowledgeGraph, rules: SearchRules, hops: list[Hop]) -> list[Hop]:
        """Return the hops; those to a blank node are asked for again, together with the hops that leave it."""
        plain = [hop for hop in hops if not isinstance(hop.end, BlankNode)]
        groups = dict.fromkeys((cast("IRI", hop.start), hop.step) for hop in hops if isinstance(hop.end, BlankNode))
        if not groups:
            return plain
        found, cuts = mediated_paths(graph, groups, direction=self.direction, skip=rules.skip, nested=False)
        self.cuts.update(dict.fromkeys(cuts))
        paths = [path for some in found.values() for path in some]
        # A class is no mediator. Where blank nodes keep their names, those met before are known not to be classes.
        met = {hop.end for hop in hops}
        if any(path.hops[0].end in met for path in paths):
            paths = [path for path in paths if path.hops[0].end in met]
        classes = set() if rules.classes else _classes_among(graph, (path.end for path in paths))
        for path in paths:
            there, onward = path.hops
            plain.append(there)
            if not isinstance(onward.end, Literal) and onward.end not in classes:
                self.behind.setdefault(there.end, {})[onward] = None
        return plain


def _classes_among(graph: KnowledgeGraph, terms: Iterable[Term]) -> set[Term]:
    entities = sorted({term for term in terms if isinstance(term, IRI)}, key=str)
    return {solution["entity"] for solution in select_about(graph, [Query.load("classes")], entities).solutions}


def meetings(near: SearchSide, far: SearchSide) -> list[Bridge]:
    """Find the terms at which both sides meet over the fewest hops, not more than both have gone.

    A blank node of the near side is compared by the terms behind it, as an endpoint names it differently each time.
    """
    reach = near.depth + far.depth
    found: dict[int, dict[Bridge, None]] = {}
    for at, level in enumerate(near.levels):
        for term in level:
            to_go = far.distances.get(term)
            if to_go is not None:
                found.setdefault(at + to_go, {})[term, ()] = None
            for hop in near.behind.get(term, ()):
                beyond = far.distances.get(hop.end)
                if beyond is not None and at + 1 + beyond <= reach and isinstance(hop.end, IRI):
                    found.setdefault(at + 1 + beyond, {})[term, (hop,)] = None
    return list(found[min(found)]) if found else []


def can_bridge(near: SearchSide, far: SearchSide, rules: SearchRules, chunk_size: int, *, hops: int) -> bool:
    """Tell whether the hops between two frontiers can be asked for: of IRIs, not too many, and one through a class."""
    if hops > (1 if rules.classes else 2):
        return False
    pairs = len(near.frontier) * len(far.frontier)
    queries = -(-len(near.frontier) // chunk_size) * -(-len(far.frontier) // chunk_size)
    blank = any(isinstance(term, BlankNode) for side in (near, far) for term in side.frontier)
    return 0 < pairs <= MAX_PAIRS and queries <= MAX_QUERIES and not blank


def bridges(
    graph: KnowledgeGraph, near: SearchSide, far: SearchSide, rules: SearchRules, *, hops: int, bound: int = BOUND
) -> tuple[list[Bridge], bool]:
    """Find the ways from one frontier to the other over one or two hops; and whether these are all.

    :param bound: how many are enough; more are fetched only if none of these can be used.
    """
    found: dict[Bridge, None] = {}
    complete = True
    for some, others in product(
        _chunks_of_frontier(near, graph.chunk_size), _chunks_of_frontier(far, graph.chunk_size)
    ):
        arms = (one_hop if hops == 1 else _two_hops)(near.direction, some, others, rules)
        solutions = selected(graph, union_of([arm.limit(bound + 1) for arm in arms]))
        complete = complete and not solutions.cut and len(solutions) + solutions.left_out <= bound
        terms = set(some)
        for solution in solutions:
            way = way_of(solution, terms)
            # Only where a hub was left out can a term between the frontiers have been met before.
            if len(way) == 1 or (way[0].end not in near.distances and way[0].end not in far.distances):
                found[way[0].start, way] = None
        if len(found) > bound:
            return list(found), False
    if not found and not complete and bound < BOUND:
        return bridges(graph, near, far, rules, hops=hops)
    return list(found), complete


def _chunks_of_frontier(side: SearchSide, size: int) -> Iterator[list[Term]]:
    terms = sorted(side.frontier, key=str)
    return (terms[i : i + size] for i in range(0, len(terms), size))


def one_hop(direction: Directions, near: Sequence[Term], far: Sequence[Term], rules: SearchRules) -> list[Query]:
    """Make the queries for the hops from some terms to others, without a limit."""
    name = "between_pairs" if len(near) * len(far) <= FEW_PAIRS else "between"
    between = skipping(Query.load(name), "predicate", rules.skip)
    forward, inverse = between.bind(subject=near, object=far), between.bind(subject=far, object=near)
    return {"forward": [forward], "inverse": [inverse], "both": [forward, inverse]}[direction]


def _two_hops(direction: Directions, near: Sequence[Term], far: Sequence[Term], rules: SearchRules) -> list[Query]:
    chain, common_object, common_subject = (
        skipping(skipping(Query.load(name), "predicate", rules.skip), "onward", rules.skip)
        for name in ("chain", "common_object", "common_subject")
    )
    forward, inverse = chain.bind(subject=near, object=far), chain.bind(subject=far, object=near)
    if direction != "both":
        return [forward if direction == "forward" else inverse]
    return [forward, inverse, common_object.bind(subject=near, other=far), common_subject.bind(object=near, other=far)]


def way_of(solution: Solution, near: set[Term]) -> tuple[Hop, ...]:
    """Return the hops of a solution, from its term in ``near`` on."""
    predicate = solution["predicate"]
    if "onward" not in solution:
        hop = hop_of(solution["subject"], predicate, solution["object"], "forward")
        return (hop if hop.start in near else hop.reversed,)
    onward = solution["onward"]
    if "common_object" in solution:
        middle = solution["common_object"]
        there = hop_of(solution["subject"], predicate, middle, "forward")
        return there, hop_of(middle, onward, solution["other"], "inverse")
    if "common_subject" in solution:
        middle = solution["common_subject"]
        there = hop_of(solution["object"], predicate, middle, "inverse")
        return there, hop_of(middle, onward, solution["other"], "forward")
    middle = solution["middle"]
    there = hop_of(solution["subject"], predicate, middle, "forward")
    beyond = hop_of(middle, onward, solution["object"], "forward")
    return (there, beyond) if there.start in near else (beyond.reversed, there.reversed)


FEW = 1_000
"""Hops of an end, in a direction, that the first query fetches; for an end with more, joins are sent."""

MAX_DEGREE = 10_000
"""Degrees are compared up to here; a term with more counts as this many."""

_OPPOSITE: dict[Directions, Directions] = {"both": "both", "forward": "inverse", "inverse": "forward"}
_Onward: TypeAlias = dict[Term, dict[Hop, None]]


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
    near = SearchSide(entities_of([start])[0], direction)
    far = SearchSide(entities_of([end])[0], _OPPOSITE[direction])
    if near.end == far.end:
        return Found((Path(start),))
    skipped = skipped_in(graph, skip)
    view = graph.adjacency_view()
    if view is not None:
        from kgsparql.exploration.adjacency_search import paths_in_adjacency

        return paths_in_adjacency(
            view, near.end, far.end, max_hops=max_hops, direction=direction, skip=skipped, limit=limit
        )
    enough = max(limit, min(BOUND, max(FEW, 4 * limit)))
    rules = SearchRules(skipped, hub_limit)
    met, complete, cuts = _meet_sides(graph, near, far, rules, max_hops=max_hops, enough=enough)
    cuts = [*near.cuts, *far.cuts, *cuts]
    if not met:
        return Found((), tuple(dict.fromkeys(cuts)))
    onward = _hops_onward(met, near, far)
    paths = list(islice(_enumerated_paths(near.end, far.end, onward), limit))
    known = _number_of_paths(near.end, far.end, onward)
    if known > len(paths) or not complete:
        cuts.append(Cut("paths", len(paths), known if complete else None, f"{start} – {end}"))
    return Found(tuple(_by_degree(graph, paths)), tuple(dict.fromkeys(cuts)))


def _meet_sides(
    graph: KnowledgeGraph, near: SearchSide, far: SearchSide, rules: SearchRules, *, max_hops: int, enough: int
) -> tuple[list[Bridge], bool, list[Cut]]:
    """Find the bridges of all shortest paths, and whether these are all: both sides grow until they meet."""
    if max_hops < 1:
        return [], True, []
    direct, complete, rules = _first_query(graph, near, far, rules, enough)
    if direct:
        return direct, complete, []
    ruled_out = 1
    while ruled_out < max_hops:
        met = meetings(near, far)
        if met:
            return met, True, []
        ruled_out = max(ruled_out, near.depth + far.depth)
        ahead = ruled_out + 1 - near.depth - far.depth
        if ruled_out >= max_hops or not near.frontier or not far.frontier:
            break
        if can_bridge(near, far, rules, graph.chunk_size, hops=ahead):
            met, complete = bridges(graph, near, far, rules, hops=ahead, bound=enough)
            if met:
                return met, complete, []
            ruled_out += 1
            continue
        open_sides = [side for side in (near, far) if not side.closed]
        if not open_sides:
            return [], True, [Cut("hops", rules.hub_limit, None, str(side.end)) for side in (near, far)]
        min(open_sides, key=lambda side: len(side.frontier)).expand(graph, rules)
    return [], True, []


def _first_query(
    graph: KnowledgeGraph, near: SearchSide, far: SearchSide, rules: SearchRules, enough: int
) -> tuple[list[Bridge], bool, SearchRules]:
    """Ask for the hops between the ends, for what is beside each, and whether they are classes, at once.

    An end with many hops is left as it is: what is two hops from it is found without fetching them.

    :return: the ways over one hop, if any; whether these are all; and the rules, which two classes change.
    """
    few = min(FEW, rules.hub_limit)
    arms = [arm.limit(enough + 1) for arm in one_hop(near.direction, [near.end], [far.end], rules)]
    arms += [
        arm.bind(entity=[side.end]).limit(few + 1) for side in (near, far) for arm in link_arms(side.direction, rules)
    ]
    arms.append(Query.load("classes").bind(entity=[near.end, far.end]))
    solutions = selected(graph, union_of(arms))
    direct = {way_of(solution, {near.end}): None for solution in solutions if "entity" not in solution}
    if direct:
        return [(near.end, way) for way in direct], not solutions.cut and len(direct) <= enough, rules
    classes = {solution["entity"] for solution in solutions if "predicate" not in solution}
    if classes == {near.end, far.end}:
        return [], True, replace(rules, classes=True)
    for side in (near, far):
        links = [s for s in solutions if "predicate" in s and s["entity"] == side.end]
        if not solutions.cut and max(Counter(far_end(s)[0] for s in links).values(), default=0) <= few:
            side.take(graph, rules, links)
    return [], True, rules


def _hops_onward(met: Iterable[Bridge], near: SearchSide, far: SearchSide) -> _Onward:
    """Find the hops of all paths by the term they leave, walked from the start on."""
    onward: _Onward = {}
    back: list[Term] = []
    ahead: list[Term] = []
    for term, way in met:
        for hop in way:
            onward.setdefault(hop.start, {})[hop] = None
        back.append(term)
        ahead.append(way[-1].end if way else term)
    for stack, side in ((back, near), (ahead, far)):
        seen = set(stack)
        while stack:
            term = stack.pop()
            for hop in side.arriving.get(term, ()):
                walked = hop if side is near else hop.reversed
                onward.setdefault(walked.start, {})[walked] = None
                if hop.start not in seen:
                    seen.add(hop.start)
                    stack.append(hop.start)
    return onward


def _hop_key(hop: Hop) -> tuple[object, ...]:
    name = hop.end.value if isinstance(hop.end, BlankNode) else ""  # of two blank nodes, for one order in any search
    return order_key(hop.end), hop.triple.predicate.value, hop.direction, name


def _enumerated_paths(start: IRI, end: IRI, onward: Mapping[Term, Iterable[Hop]]) -> Iterator[Path]:
    """Yield every path, in lexical order of its terms, then predicates."""
    ordered = {term: sorted(hops, key=_hop_key) for term, hops in onward.items()}

    def walk(term: Term, hops: tuple[Hop, ...]) -> Iterator[Path]:
        if term == end:
            yield Path(start, hops)
            return
        for hop in ordered.get(term, ()):
            yield from walk(hop.end, (*hops, hop))

    return walk(start, ())


def _number_of_paths(start: IRI, end: IRI, onward: Mapping[Term, Iterable[Hop]]) -> int:
    numbers: dict[Term, int] = {end: 1}

    def number(term: Term) -> int:
        if term not in numbers:
            numbers[term] = sum(number(hop.end) for hop in onward.get(term, ()))
        return numbers[term]

    return number(start)


def _by_degree(graph: KnowledgeGraph, paths: list[Path]) -> list[Path]:
    """Order paths: those through terms of few triples first."""
    if len(paths) < 2:
        return paths
    inner = {term for path in paths for term in path.terms[1:-1] if isinstance(term, IRI)}
    degrees: Counter[Term] = Counter()
    for count in predicates(graph, sorted(inner, key=str), skip=()).items:
        degrees[count.entity] += count.count

    def key(path: Path) -> tuple[object, ...]:
        return sum(min(degrees[term], MAX_DEGREE) for term in path.terms[1:-1]), [_hop_key(hop) for hop in path.hops]

    return sorted(paths, key=key)
