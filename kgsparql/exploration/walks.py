"""Walks along a property path: where it ends, and the triples on the way."""

from __future__ import annotations

from collections.abc import Iterable

from kgsparql.evidence import Cut
from kgsparql.exploration.asking import entities_of, order_key
from kgsparql.exploration.found import Found
from kgsparql.exploration.mediators import hop_of
from kgsparql.graph import KnowledgeGraph, Solution
from kgsparql.paths import Path, PropertyPath
from kgsparql.query import Query
from kgsparql.terms import BlankNode, Term

__all__ = ["follow", "walks"]


def follow(graph: KnowledgeGraph, start: Term, property_path: PropertyPath, *, limit: int = 10_000) -> Found[Term]:
    """Every term that a property path leads to, in the order of their text; the start only if it is the only one.

    :raises InputError: for a start that is not an IRI.
    """
    starts = entities_of([start])
    solutions = graph.select(Query.walk(property_path, starts, limit=limit + 1))
    ends = sorted({solution["end"] for solution in solutions}, key=order_key)
    cuts = []
    if len(solutions) > limit or not solutions.complete:
        cuts.append(Cut("ends", limit, None, f"{start} {property_path}"))
        ends = ends[:limit]
    others = [end for end in ends if end != start]
    return Found(tuple(others or ends), tuple(cuts))


def walks(
    graph: KnowledgeGraph,
    start: Term,
    property_path: PropertyPath,
    ends: Iterable[Term] | None = None,
    *,
    limit: int = 1_000,
) -> Found[Path]:
    """The ways along a property path to these ends, or to every end, in lexical order.

    :raises InputError: for a start that is not an IRI.
    """
    starts = entities_of([start])
    wanted = None if ends is None else list(dict.fromkeys(ends))
    bindable = wanted if wanted is None or not any(isinstance(end, BlankNode) for end in wanted) else None
    if wanted == []:
        return Found()
    chunks = [None] if bindable is None else _chunks(bindable, graph.chunk_size)
    paths: list[Path] = []
    cut = False
    for chunk in chunks:
        solutions = graph.select(Query.walk_triples(property_path, starts, chunk, limit=limit + 1))
        cut = cut or len(solutions) > limit or not solutions.complete
        paths += [_path(solution, property_path) for solution in solutions]
    if wanted is not None:
        paths = [path for path in paths if path.end in set(wanted)]
    ordered = sorted(paths, key=lambda path: [order_key(term) for term in path.terms])
    cuts = [Cut("walks", limit, None, f"{start} {property_path}")] if cut or len(ordered) > limit else []
    return Found(tuple(ordered[:limit]), tuple(cuts))


def _chunks(terms: list[Term], size: int) -> list[list[Term] | None]:
    return [terms[i : i + size] for i in range(0, len(terms), size)]


def _path(solution: Solution, property_path: PropertyPath) -> Path:
    hops = tuple(
        hop_of(solution[f"n{i}"], step.predicate, solution[f"n{i + 1}"], step.direction)
        for i, step in enumerate(property_path)
    )
    return Path(solution["n0"], hops)
