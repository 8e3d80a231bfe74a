"""What neighbours with their labels cost beside the two queries that one would write by hand, and beside no query.

    python -m benchmarks.neighbourhoods GRAPH_FILE ... [--entities 200] [--seed 0] [--rounds 5]

Random entities of each graph, one by one and in one call: processor milliseconds an entity, the median of interleaved
rounds, and the queries of one call. By hand: all triples in both directions in one query, predicates that are not
walked dropped in Python, and one query for the labels by the predicate that the graph uses most. By patterns: the
triples and the labels are read from the engine without SPARQL.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyoxigraph

from benchmarks.spread import Spread
from kgsparql import OxigraphGraph, open_graph
from kgsparql.budget import Budget, Usage
from kgsparql.exploration import labels, neighbours
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import LABELS, UNWALKED

ROUNDS = 5
_NEIGHBOURS = (
    "SELECT ?entity ?predicate ?object ?subject {{ {{ VALUES ?entity {{ {0} }} ?entity ?predicate ?object }}"
    " UNION {{ VALUES ?entity {{ {0} }} ?subject ?predicate ?entity }} }}"
)
_LABELS = "SELECT ?term ?label {{ VALUES ?term {{ {} }} ?term {} ?label }}"


def measure(graph_path: str | Path, *, entities: int, seed: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Medians of interleaved rounds, with a first one that does not count, in processor milliseconds an entity.

    :return: ``each`` of one by one; ``one`` and ``batch``, those ``by hand``, ``one by patterns``, the ratios, and
        ``queries`` of one entity.
    """
    graph = open_graph(str(graph_path))
    assert isinstance(graph, OxigraphGraph), "queries by hand are sent to a graph in this process"
    some = sample(graph, entities, seed)
    label = commonest_label(graph)
    metered = MeteredGraph(graph, Usage(Budget(max_queries=None, max_rows=None, max_seconds=None)), lambda _: None)
    ways: dict[str, Callable[[], None]] = {
        "one": lambda: one_by_one(some, lambda few: with_labels(metered, few)),
        "one by hand": lambda: one_by_one(some, lambda few: by_hand(graph.store, few, label)),
        "one by patterns": lambda: one_by_one(some, lambda few: by_patterns(graph.store, few, label)),
        "batch": lambda: with_labels(metered, some),
        "batch by hand": lambda: by_hand(graph.store, some, label),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, run in ways.items():
            began = time.process_time()
            run()
            times[name].append(1000 * (time.process_time() - began) / len(some))
    found = {name: statistics.median(own[1:]) for name, own in times.items()}
    each = [(str(entity), least_ms(lambda some=[entity]: with_labels(metered, some), rounds)) for entity in some]
    before = metered.usage.queries
    ways["one"]()
    return {
        **found,
        "each": Spread.of(each),
        "one ratio": found["one"] / found["one by hand"],
        "to patterns": found["one"] / found["one by patterns"],
        "batch ratio": found["batch"] / found["batch by hand"],
        "queries": (metered.usage.queries - before) / len(some),
    }


def least_ms(work: Callable[[], object], rounds: int) -> float:
    """The least of some rounds, in processor milliseconds."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(1000 * (time.process_time() - began))
    return min(times)


def one_by_one(entities: Sequence[IRI], look: Callable[[Sequence[IRI]], None]) -> None:
    """A call for each entity."""
    for entity in entities:
        look([entity])


def with_labels(graph: MeteredGraph, entities: Sequence[IRI]) -> None:
    """The neighbours of some entities, and what they, their predicates and the entities are called."""
    found = neighbours(graph, entities)
    labels(graph, [*entities, *(term for g in found.items for term in (g.step.predicate, *g.neighbours))])


def by_hand(store: pyoxigraph.Store, entities: Sequence[IRI], label: IRI) -> None:
    """The same facts from two queries."""
    facts: list[tuple[Term, ...]] = []
    terms: set[Term] = set(entities)
    for entity, predicate, object_, subject in store.query(_NEIGHBOURS.format(" ".join(map(str, entities)))):
        if predicate not in UNWALKED:
            far = object_ or subject
            facts.append((entity, predicate, far))
            terms |= {predicate, far}
    named = " ".join(str(term) for term in terms if isinstance(term, IRI))
    dict(map(tuple, store.query(_LABELS.format(named, label))))


def by_patterns(store: pyoxigraph.Store, entities: Sequence[IRI], label: IRI) -> None:
    """The same facts, and the labels, without a query."""
    terms: set[Term] = set(entities)
    for entity in entities:
        there = ((quad.predicate, quad.object) for quad in store.quads_for_pattern(entity, None, None))
        back = ((quad.predicate, quad.subject) for quad in store.quads_for_pattern(None, None, entity))
        for predicate, far in (*there, *back):
            if predicate not in UNWALKED:
                terms |= {predicate, far}
    for term in terms:
        if isinstance(term, IRI):
            next(store.quads_for_pattern(term, label, None), None)


def commonest_label(graph: OxigraphGraph) -> IRI:
    """The label predicate with the most triples."""
    return max(LABELS, key=lambda label: sum(1 for _ in graph.store.quads_for_pattern(None, label, None, None)))


def sample(graph: OxigraphGraph, number: int, seed: int) -> list[IRI]:
    """Random IRIs that are subjects."""
    subjects = sorted({quad.subject.value for quad in graph.store if isinstance(quad.subject, IRI)})
    return [IRI(value) for value in random.Random(seed).sample(subjects, min(number, len(subjects)))]


def main() -> None:
    """Measure each graph, print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="+")
    parser.add_argument("--entities", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    columns = (
        "one", "one by hand", "one ratio", "to patterns", "batch", "batch by hand", "batch ratio", "queries"
    )  # fmt: skip
    print(" ".join([f"{'graph':<24}", *(f"{name:>14}" for name in columns)]))
    for path in options.graphs:
        found = measure(path, entities=options.entities, seed=options.seed, rounds=options.rounds)
        print(" ".join([f"{path.parent.name[:24]:<24}", *(f"{found[name]:>14.3f}" for name in columns)]), flush=True)
        print(f"  one by one: {found['each']}", flush=True)


if __name__ == "__main__":
    main()
