"""All shortest paths between random entities: by queries, by the adjacency, and by code written for nothing else.

    python benchmarks/shortest_paths.py GRAPH… [--pairs 50] [--seed 0]

GRAPH is an RDF file, which is loaded into a store first, or a store. The ways take turns, a pair at a time; the figures
are processor time. Every pair has the same paths by all of them, but where a limit cut what the queries find, which is
counted. networkx takes part where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.spread import Spread
from kgsparql import OxigraphGraph
from kgsparql.exploration import shortest_paths
from kgsparql.graphs import oxigraph
from kgsparql.graphs.adjacency import open_adjacency
from kgsparql.graphs.stores import has_store, load_store, open_store
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import CLASS_KINDS, RDF_TYPE, UNWALKED
from kgsparql.storage.files import size_of

LIMIT = 1_000
MAX_HOPS = 5
WITH_NETWORKX = 2
"""Pairs: it takes seconds for each."""

Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class PlainCsr:
    """A compressed adjacency as one writes it for one graph that fits into memory; results are numbers."""

    ids: dict[Term, int]
    starts: Numbers
    others: Numbers
    steps: Numbers
    is_class: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, graph: OxigraphGraph) -> PlainCsr:
        ids: dict[Term, int] = {}
        predicates: dict[IRI, int] = {}
        rows: dict[tuple[int, int, int], None] = {}
        classes: set[int] = set()
        for quad in graph.store:
            if isinstance(quad.object, Literal):
                continue
            s, o = ids.setdefault(quad.subject, len(ids)), ids.setdefault(quad.object, len(ids))
            if quad.predicate == RDF_TYPE:
                classes.update((o, s) if quad.object in CLASS_KINDS else (o,))
            if quad.predicate not in UNWALKED:
                p = predicates.setdefault(quad.predicate, len(predicates))
                rows[s, o, 2 * p] = None
                rows[o, s, 2 * p + 1] = None
        table = np.array(list(rows), np.int64).reshape(-1, 3)
        table = table[np.argsort(table[:, 0], kind="stable")]
        starts = np.searchsorted(table[:, 0], np.arange(len(ids) + 1))
        is_class = np.zeros(len(ids), np.bool_)
        is_class[list(classes)] = True
        return cls(ids, starts, table[:, 1].copy(), table[:, 2].copy(), is_class)

    def random_ends(self, pairs: int, seed: int) -> list[tuple[IRI, IRI]]:
        """Pairs of IRIs, each with a hop to walk, and no class."""
        has_hops = np.diff(self.starts) > 0
        entities = [
            term
            for term, number in self.ids.items()
            if isinstance(term, IRI) and has_hops[number] and not self.is_class[number]
        ]
        chosen = random.Random(seed).sample(sorted(entities, key=str), 2 * pairs)
        return list(zip(chosen[::2], chosen[1::2], strict=True))

    def near(self, terms: Numbers) -> tuple[Numbers, Numbers]:
        """The terms repeated for each neighbour, and where the neighbours are."""
        counts = self.starts[terms + 1] - self.starts[terms]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.starts[terms] - (ends - counts), counts)
        return np.repeat(terms, counts), places

    def paths(self, start: int, end: int) -> list[tuple[tuple[int, int], ...]]:
        """The first paths, each as steps and terms."""
        distances = [np.full(len(self.is_class), -1, np.int8) for _ in range(2)]
        frontiers = [np.array([start]), np.array([end])]
        for side, term in enumerate((start, end)):
            distances[side][term] = 0
        through_classes = bool(self.is_class[start] and self.is_class[end])
        depths = [0, 0]
        while sum(depths) < MAX_HOPS and all(map(len, frontiers)):
            side = int(len(frontiers[0]) > len(frontiers[1]))
            others = np.unique(self.others[self.near(frontiers[side])[1]])
            others = others[distances[side][others] < 0]
            if not through_classes:
                others = others[~self.is_class[others] | (others == (end, start)[side])]
            depths[side] += 1
            distances[side][others] = depths[side]
            frontiers[side] = others
            met = others[distances[1 - side][others] >= 0]
            if len(met):
                return self._paths(start, end, sum(depths), met, distances)
        return []

    def _paths(
        self, start: int, end: int, length: int, met: Numbers, distances: list[npt.NDArray[np.int8]]
    ) -> list[tuple[tuple[int, int], ...]]:
        onward: dict[int, list[tuple[int, int]]] = {}
        for side in range(2):
            level = met
            while len(level):
                here, places = self.near(level)
                there = self.others[places]
                back = distances[side][there] == distances[side][here] - 1
                hops = zip(here[back].tolist(), there[back].tolist(), self.steps[places[back]].tolist(), strict=True)
                for term, other, step in hops:
                    if side:
                        onward.setdefault(term, []).append((step, other))
                    else:
                        onward.setdefault(other, []).append((step ^ 1, term))
                level = np.unique(there[back])
        found: list[tuple[tuple[int, int], ...]] = []

        def walk(term: int, hops: tuple[tuple[int, int], ...]) -> Iterator[tuple[tuple[int, int], ...]]:
            if len(hops) == length:
                if term == end:
                    yield hops
                return
            for hop in onward.get(term, ()):
                yield from walk(hop[1], (*hops, hop))

        for path in walk(start, ()):
            found.append(path)
            if len(found) == LIMIT:
                break
        return found


def processor_s(run: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of a call and of the processes it starts, and its result."""

    def used() -> float:
        who = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in who)

    began = used()
    result = run()
    return used() - began, result


def networkx_paths(graph: OxigraphGraph, pairs: list[tuple[IRI, IRI]]) -> list[float]:
    """Milliseconds for each pair; none where networkx is not installed."""
    if importlib.util.find_spec("networkx") is None:
        return []
    import networkx as nx  # type: ignore[import-untyped]

    whole = nx.Graph()
    whole.add_edges_from(
        (quad.subject, quad.object)
        for quad in graph.store
        if not isinstance(quad.object, Literal) and quad.predicate not in UNWALKED
    )
    times = []
    for start, end in pairs:
        if start in whole and end in whole and nx.has_path(whole, start, end):
            seconds, _ = processor_s(lambda s=start, e=end: list(nx.all_shortest_paths(whole, s, e)))
            times.append((f"{start} – {end}", 1000 * seconds))
    return times


def measure(graph_path: Path, *, pairs: int, seed: int) -> dict[str, Any]:
    """Milliseconds by each way; seconds of loading and building; bytes an edge."""
    with tempfile.TemporaryDirectory() as place, patch.dict(os.environ, KGSPARQL_CACHE_DIR=f"{place}/cache"):
        figures: dict[str, Any] = {}
        store = graph_path
        if not has_store(graph_path):
            store = Path(place, "store")
            figures["load_s"], _ = processor_s(lambda: load_store(graph_path, store))
        graph = open_store(store)
        slow = OxigraphGraph(graph.store, name=graph.name, fingerprint=graph.fingerprint)
        assert graph.revision is not None
        with patch.object(oxigraph, "MIN_TRIPLES", 0):
            shutil.rmtree(graph.revision.directory, ignore_errors=True)  # which the load made
            figures["build_s"], adjacency = processor_s(graph.built_adjacency)
        figures["edges"] = adjacency.edges
        figures["bytes_an_edge"] = size_of(graph.revision.directory) / adjacency.edges
        figures["open_ms"] = 1000 * processor_s(lambda: open_adjacency(graph.revision))[0]
        plain = PlainCsr.of(graph)
        ends = plain.random_ends(pairs, seed)
        figures |= _timed(graph, slow, plain, ends)
        return figures | _summary("networkx", networkx_paths(graph, ends[:WITH_NETWORKX]))


def _timed(graph: OxigraphGraph, slow: OxigraphGraph, plain: PlainCsr, ends: list[tuple[IRI, IRI]]) -> dict[str, Any]:
    times: dict[str, list[tuple[str, float]]] = {"queries": [], "adjacency": [], "plain_csr": []}
    found = cut = 0
    for start, end in [*ends[:1], *ends]:  # the first pair twice: it imports what is needed
        ways: dict[str, Callable[[], Any]] = {
            "queries": lambda s=start, e=end: shortest_paths(slow, s, e, max_hops=MAX_HOPS, limit=LIMIT),
            "adjacency": lambda s=start, e=end: shortest_paths(graph, s, e, max_hops=MAX_HOPS, limit=LIMIT),
            "plain_csr": lambda s=start, e=end: plain.paths(plain.ids[s], plain.ids[e]),
        }
        results = {}
        for name, run in ways.items():
            began = time.process_time()
            results[name] = run()
            times[name].append((f"{start} – {end}", 1000 * (time.process_time() - began)))
        by_queries, by_adjacency = results["queries"], results["adjacency"]
        assert len(by_adjacency.items) == len(results["plain_csr"])
        assert by_queries == by_adjacency or by_queries.cuts
        found += len(by_adjacency.items)
        cut += by_queries != by_adjacency
    figures = {name: value for way, some in times.items() for name, value in _summary(way, some[1:]).items()}
    ratio = figures["adjacency_ms"].median / figures["plain_csr_ms"].median
    return {**figures, "paths": found, "cut_by_queries": cut, "adjacency_to_plain_csr": ratio}


def _summary(way: str, times: list[tuple[str, float]]) -> dict[str, Any]:
    return {f"{way}_ms": Spread.of(times)} if times else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, nargs="+")
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for path in options.graph:
        print(path)
        for name, value in measure(path, pairs=options.pairs, seed=options.seed).items():
            print(f"  {name:<24} {value if isinstance(value, Spread) else format(value, '14,.2f')}")


if __name__ == "__main__":
    main()
