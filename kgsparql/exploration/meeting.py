"""Where the two sides of a search for shortest paths meet: at a term, or over one or two hops between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

from kgsparql.exploration.batched_select import selected, skipping, union_of
from kgsparql.exploration.mediators import hop_of
from kgsparql.exploration.search import SearchRules, SearchSide
from kgsparql.graphs.protocols import BOUND, KnowledgeGraph, Solution, Solutions
from kgsparql.rdf.paths import Directions, Hop
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Term

__all__ = ["Bridge", "bridges", "can_bridge", "meetings", "one_hop", "way_of"]

Bridge: TypeAlias = tuple[Term, tuple[Hop, ...]]
"""A term of the near side, and the hops from it to a term of the far side; no hop if it is the same term."""

MAX_PAIRS = 1_000_000
"""Pairs of terms of one query between two frontiers: an engine looks each pair up (measured: 55 ms)."""

FEW_PAIRS = 50_000
"""Pairs of terms that an engine is made to look up one by one (17 ms); more are joined in its own way."""

MAX_QUERIES = 4
"""Queries between two frontiers that are larger than a chunk; beyond, one side is expanded instead."""


def meetings(near: SearchSide, far: SearchSide) -> list[Bridge]:
    """The terms at which both sides meet over the fewest hops, not more than both have gone.

    A blank node of the near side is compared by the terms behind it, as an endpoint names it differently each time.
    """
    reach = near.depth + far.depth
    found: dict[int, dict[Bridge, None]] = {}
    for at, level in enumerate(near.levels):
        for term in level:
            to_go = far.distance(term)
            if to_go is not None:
                found.setdefault(at + to_go, {})[term, ()] = None
            for hop in near.behind.get(term, ()):
                beyond = far.distance(hop.end)
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
        solutions, whole = _bounded(graph, arms, bound)
        complete = complete and whole
        terms = set(some)
        for solution in solutions:
            way = way_of(solution, terms)
            # Only where a hub was left out can a term between the frontiers have been met before.
            if len(way) == 1 or (near.distance(way[0].end) is None and far.distance(way[0].end) is None):
                found[way[0].start, way] = None
        if len(found) > bound:
            return list(found), False
    if not found and not complete and bound < BOUND:
        return bridges(graph, near, far, rules, hops=hops)
    return list(found), complete


def _bounded(graph: KnowledgeGraph, arms: Sequence[Query], bound: int) -> tuple[Solutions, bool]:
    """The solutions of some queries, of each at most one more than the bound; and whether these are all."""
    solutions = selected(graph, union_of([arm.limit(bound + 1) for arm in arms]))
    return solutions, not solutions.cut and len(solutions) + solutions.left_out <= bound


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
        subject, object_ = solution["subject"], solution["object"]
        return (
            (hop_of(subject, predicate, object_, "forward"),)
            if subject in near
            else (hop_of(object_, predicate, subject, "inverse"),)
        )
    onward = solution["onward"]
    if "common_object" in solution:
        middle = solution["common_object"]
        there = hop_of(solution["subject"], predicate, middle, "forward")
        return there, hop_of(middle, onward, solution["other"], "inverse")
    if "common_subject" in solution:
        middle = solution["common_subject"]
        there = hop_of(solution["object"], predicate, middle, "inverse")
        return there, hop_of(middle, onward, solution["other"], "forward")
    subject, middle, object_ = solution["subject"], solution["middle"], solution["object"]
    if subject in near:
        return hop_of(subject, predicate, middle, "forward"), hop_of(middle, onward, object_, "forward")
    return hop_of(object_, onward, middle, "inverse"), hop_of(middle, predicate, subject, "inverse")
