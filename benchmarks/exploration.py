"""How long looking around takes, and how many queries, against a loop with a query for each entity.

    python benchmarks/exploration.py GRAPH_FILE [--entities 200] [--pairs 50]

Prints a table: neighbours with labels of random entities of the file, shortest paths between random pairs of them, and
the neighbours of a generated hub of 130,000 triples. Ratios travel better between machines than milliseconds do.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyoxigraph

from kgsparql import OxigraphGraph, open_graph
from kgsparql.exploration import NeighbourGroup, labels, neighbours, shortest_paths
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term

ROUNDS = 3
HUB_TRIPLES = 130_000
HUB_PREDICATES = 40


class CountingGraph(KnowledgeGraph):
    """A graph that counts the queries it is sent."""

    chunk_size = 0

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.name = graph.name
        self.chunk_size = graph.chunk_size
        self.queries = 0

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        self.queries += not query.empty
        return self.graph.select(query, timeout_s)


def timed(graph: CountingGraph, run: Callable[[], object]) -> tuple[float, int]:
    """The best of a few rounds, in milliseconds, and the queries of one."""
    best = float("inf")
    for _ in range(ROUNDS):
        graph.queries = 0
        began = time.perf_counter()
        run()
        best = min(best, 1000 * (time.perf_counter() - began))
    return best, graph.queries


def with_labels(graph: CountingGraph, entities: Sequence[IRI]) -> None:
    found = neighbours(graph, entities)
    labels(graph, [*entities, *(term for group in found.items for term in terms_of(group))])


def terms_of(group: NeighbourGroup) -> list[Term]:
    return [group.step.predicate, *group.neighbours]


def one_by_one(graph: CountingGraph, entities: Sequence[IRI]) -> None:
    """What a loop does: a query for the neighbours of each entity, and one for the labels of each answer."""
    for entity in entities:
        with_labels(graph, [entity])


def sample(graph: OxigraphGraph, number: int) -> list[IRI]:
    subjects = sorted({quad.subject for quad in graph.store if isinstance(quad.subject, IRI)}, key=str)
    return random.Random(0).sample(subjects, min(number, len(subjects)))


def hub_graph() -> OxigraphGraph:
    store = pyoxigraph.Store()
    hub = IRI("http://example.org/hub")
    kinds = [IRI(f"http://example.org/p{i}") for i in range(HUB_PREDICATES)]
    store.bulk_extend(
        pyoxigraph.Quad(IRI(f"http://example.org/n{i}"), kinds[i % HUB_PREDICATES], hub) for i in range(HUB_TRIPLES)
    )
    return OxigraphGraph(store, name="hub", fingerprint="hub")


def report(what: str, milliseconds: float, queries: int, note: str = "") -> None:
    print(f"{what:<46} {milliseconds:10.1f} ms {queries:6} queries  {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--entities", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=50)
    options = parser.parse_args()
    embedded = open_graph([str(options.graph)])
    graph = CountingGraph(embedded)

    entities = sample(embedded, options.entities)
    together, queries = timed(graph, lambda: with_labels(graph, entities))
    apart, more = timed(graph, lambda: one_by_one(graph, entities))
    report(f"neighbours and labels of {len(entities)}, together", together, queries)
    report(f"neighbours and labels of {len(entities)}, one by one", apart, more, f"{apart / together:.1f} times")

    ends = sample(embedded, 2 * options.pairs)
    times = []
    graph.queries, found = 0, 0
    for start, end in zip(ends[::2], ends[1::2], strict=False):
        began = time.perf_counter()
        found += bool(shortest_paths(graph, start, end).items)
        times.append(1000 * (time.perf_counter() - began))
    report(f"shortest paths, {len(times)} pairs, median", statistics.median(times), graph.queries, f"{found} found")
    report("shortest paths, slowest pair", max(times), 0)

    hub = CountingGraph(hub_graph())
    term = IRI("http://example.org/hub")
    bounded, queries = timed(hub, lambda: neighbours(hub, [term]))
    everything = Query.load("neighbours_inverse").bind(entity=[term]).limit(HUB_TRIPLES)
    whole, one = timed(hub, lambda: hub.select(everything))
    report("neighbours of a hub of 130,000, in groups", bounded, queries)
    report("every neighbour of that hub fetched", whole, one, f"{whole / bounded:.1f} times")


if __name__ == "__main__":
    main()
