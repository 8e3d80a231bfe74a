"""Walks along property paths: their ends, and the triples on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from kgsparql.exploration.batched_select import Found, order_key, selected, union_of
from kgsparql.graphs.graph import KnowledgeGraph, Solution
from kgsparql.graphs.notes import Cut
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, Walk, Way
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import Literal, Term

T = TypeVar("T")


def walk_ends(graph: KnowledgeGraph, walks: Sequence[Walk], *, limit: int = 10_000) -> list[Found[Term]]:
    """Find every term that each walk leads to, the start too, in the order of text; one query for 50 walks."""
    arms = [
        path_queries.walk(walk.path, [walk.start], limit=limit + 1, constraints=walk.constraints, number=i)
        for i, walk in enumerate(walks)
    ]
    solutions, complete = _solutions_of_walks(graph, arms, lambda _: ("n0", "end"))
    ends: list[set[Term]] = [set() for _ in walks]
    for solution in solutions:
        ends[_number_of_walk(solution)].add(solution["end"])
    ordered = [sorted(own, key=order_key) for own in ends]
    return _limited_items("ends", walks, ordered, limit, complete=complete)


def walk_ways(
    graph: KnowledgeGraph,
    walks: Sequence[Walk],
    ends: Sequence[Sequence[Term] | None],
    *,
    limit: int = 1_000,
    through: Sequence[Mapping[int, Sequence[Term]]] = (),
) -> list[Found[Way]]:
    """Find the ways along each walk to its ends, in lexical order; one query for 50 walks, each to one chunk of ends.

    :param ends: for each walk the ends that are asked for, no blank node among them; ``None`` for all.
    :param through: for each walk, hops → the terms of which one must be reached after them; without any, all ways.
    """
    size = graph.chunk_size
    arms = [
        path_queries.walk_triples(
            walk.path, [walk.start], some, limit=limit + 1, constraints=walk.constraints, number=i,
            through=through[i] if through else None,
        )
        for i, (walk, own) in enumerate(zip(walks, ends, strict=True))
        for some in ([None] if own is None else [own[j : j + size] for j in range(0, len(own), size)])
    ]  # fmt: skip

    def names_of(solution: Solution) -> Iterable[str]:
        walk = walks[_number_of_walk(solution)]
        return (*(f"n{i}" for i in range(len(walk.path.steps) + 1)), *(f"c{i}" for i in range(len(walk.constraints))))

    solutions, complete = _solutions_of_walks(graph, arms, names_of)
    ways: list[list[Way]] = [[] for _ in walks]
    for solution in solutions:
        number = _number_of_walk(solution)
        way, own_ends = _way_of_solution(solution, walks[number]), ends[number]
        if own_ends is None or way.path.end in own_ends:  # a literal may be one of the same text
            ways[number].append(way)

    def key(way: Way) -> list[object]:
        return [order_key(term) for term in (*way.path.terms, *(hop.end for hop in way.aside))]

    ordered = [sorted(own, key=key) for own in ways]
    return _limited_items("walks", walks, ordered, limit, complete=complete)


def _limited_items(
    what: str, walks: Sequence[Walk], items: Sequence[list[T]], limit: int, *, complete: bool
) -> list[Found[T]]:
    """Find the first items of each walk; a cut where there are more, or may be."""
    return [
        Found(tuple(own[:limit]), (Cut(what, limit, None, str(walk)),) if len(own) > limit or not complete else ())
        for walk, own in zip(walks, items, strict=True)
    ]


def _solutions_of_walks(
    graph: KnowledgeGraph, arms: Sequence[Query], names_of: Callable[[Solution], Iterable[str]]
) -> tuple[list[Solution], bool]:
    """Find the solutions of the queries for some walks, and whether these are all."""
    solutions: list[Solution] = []
    complete = True
    some = [arm for arm in arms if not arm.empty]
    for at in range(0, len(some), MAX_ARMS):
        union = union_of(some[at : at + MAX_ARMS])
        found = selected(graph, union, is_whole=lambda solution: all(name in solution for name in names_of(solution)))
        solutions += found
        complete = complete and not found.cut
    return solutions, complete


def _number_of_walk(solution: Solution) -> int:
    return int(cast("Literal", solution["walk"]).value)


def _way_of_solution(solution: Solution, walk: Walk) -> Way:
    nodes = [solution[f"n{i}"] for i in range(len(walk.path.steps) + 1)]
    hops = tuple(step.hop(near, far) for near, step, far in zip(nodes, walk.path.steps, nodes[1:], strict=False))
    aside = tuple(c.step.hop(nodes[c.at], solution[f"c{i}"]) for i, c in enumerate(walk.constraints))
    return Way(Path(nodes[0], hops), aside)
