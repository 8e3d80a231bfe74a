"""A search for shortest paths from both ends: the terms at each distance from an end, and where the two sides meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias, cast

from kgsparql.exploration.batched_select import far_end, select_about, selected, skipping, union_of
from kgsparql.exploration.mediators import hop_of, mediated_paths
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, Hop, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term

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
    """The queries for the hops that a path may take from some entities, not bound to these yet.

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
        self._arrive([*self._with_mediators(graph, rules, hops), *self._hops_behind()])

    def _arrive(self, hops: Iterable[Hop]) -> None:
        distance = self.depth + 1
        level: set[Term] = set()
        for hop in hops:
            end = hop.end
            if self.distances.setdefault(end, distance) == distance:
                level.add(end)
                self.arriving.setdefault(end, {})[hop] = None
        self.levels.append(level)

    def _hops_behind(self) -> list[Hop]:
        """The hops that leave the blank nodes of the frontier; a cut for one that was met behind another."""
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
        """The hops; those to a blank node are asked for again, together with the hops that leave it."""
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
        classes = set() if rules.classes else _classes(graph, (path.end for path in paths))
        for path in paths:
            there, onward = path.hops
            plain.append(there)
            if not isinstance(onward.end, Literal) and onward.end not in classes:
                self.behind.setdefault(there.end, {})[onward] = None
        return plain


def _classes(graph: KnowledgeGraph, terms: Iterable[Term]) -> set[Term]:
    entities = sorted({term for term in terms if isinstance(term, IRI)}, key=str)
    return {solution["entity"] for solution in select_about(graph, [Query.load("classes")], entities).solutions}


def meetings(near: SearchSide, far: SearchSide) -> list[Bridge]:
    """The terms at which both sides meet over the fewest hops, not more than both have gone.

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
    """Whether the hops between two frontiers can be asked for: IRIs only, not too many, and one hop through a class."""
    if hops > (1 if rules.classes else 2):
        return False
    pairs = len(near.frontier) * len(far.frontier)
    queries = -(-len(near.frontier) // chunk_size) * -(-len(far.frontier) // chunk_size)
    blank = any(isinstance(term, BlankNode) for side in (near, far) for term in side.frontier)
    return 0 < pairs <= MAX_PAIRS and queries <= MAX_QUERIES and not blank


def bridges(
    graph: KnowledgeGraph, near: SearchSide, far: SearchSide, rules: SearchRules, *, hops: int, bound: int = BOUND
) -> tuple[list[Bridge], bool]:
    """The ways from one frontier to the other over one or two hops; and whether these are all.

    :param bound: how many are enough; more are fetched only if none of these can be used.
    """
    found: dict[Bridge, None] = {}
    complete = True
    for some, others in product(_chunks(near, graph.chunk_size), _chunks(far, graph.chunk_size)):
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


def _chunks(side: SearchSide, size: int) -> Iterator[list[Term]]:
    terms = sorted(side.frontier, key=str)
    return (terms[i : i + size] for i in range(0, len(terms), size))


def one_hop(direction: Directions, near: Sequence[Term], far: Sequence[Term], rules: SearchRules) -> list[Query]:
    """The queries for the hops from some terms to others, without a limit."""
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
    return [
        forward,
        inverse,
        common_object.bind(subject=near, other=far),
        common_subject.bind(object=near, other=far),
    ]


def way_of(solution: Solution, near: set[Term]) -> tuple[Hop, ...]:
    """The hops of a solution, from its term in ``near`` on."""
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
