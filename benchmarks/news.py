"""What it costs to see that a graph changed: processor milliseconds a question, in a graph of N triples.

    python -m benchmarks.news [--triples 30000 300000]

For a live ``pyoxigraph.Store`` and a graph of rdflib: to find that nothing changed, and a question of a new name in the
place of one of a known name.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import pyoxigraph as ox
import rdflib

import kgsparql
from kgsparql.graphs.rdflib_interop import quads_to_rdflib, to_rdflib
from kgsparql.rdf.terms import IRI, Literal

LABEL = IRI("http://www.w3.org/2000/01/rdf-schema#label")
_REPEATED = 5


def made_store(triples: int) -> ox.Store:
    """Make a store in which a third of the triples are labels."""

    def quads() -> Iterator[ox.Quad]:
        for i in range(triples // 3):
            node = IRI(f"http://e.org/{i}")
            yield ox.Quad(node, LABEL, Literal(f"Thing number {i}", language="en"))
            yield ox.Quad(node, IRI("http://e.org/likes"), IRI(f"http://e.org/{i // 7}"))
            yield ox.Quad(node, IRI("http://e.org/size"), Literal(i))

    store = ox.Store()
    store.bulk_extend(quads())
    return store


def measure(live: ox.Store | rdflib.Graph) -> dict[str, float]:
    """Return the median of processor milliseconds for each step."""
    knowledge = kgsparql.open(live, embedder="none")

    def ask_new(i: int) -> None:
        new = IRI(f"http://e.org/new{i}"), LABEL, Literal(f"Zorblax {i}", language="en")
        if isinstance(live, ox.Store):
            live.add(ox.Quad(*new))
        else:
            live.add((to_rdflib(new[0]), to_rdflib(new[1]), to_rdflib(new[2])))
        if not knowledge.ask(f"What likes Zorblax {i}?").linked:
            raise RuntimeError("a new name was not found")

    knowledge.ask("What likes Thing number 5?")
    return {
        "nothing changed": _median_ms(lambda _: knowledge.graph.refreshed()),
        "a question of a known name": _median_ms(lambda _: knowledge.ask("What likes Thing number 5?")),
        "a question of a new name": _median_ms(ask_new),
    }


def _median_ms(work: Callable[[int], object]) -> float:
    times = []
    for i in range(_REPEATED):
        began = time.process_time()
        work(i)
        times.append(1000 * (time.process_time() - began))
    return statistics.median(times)


def main() -> None:
    """Measure, print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, nargs="+", default=[30_000, 300_000])
    for triples in parser.parse_args().triples:
        store = made_store(triples)
        for live in (store, quads_to_rdflib(store, prefixes={}).default_graph):
            for what, milliseconds in measure(live).items():
                print(f"{triples:>9,}  {milliseconds:9.1f} ms  {type(live).__name__:<6} {what}")


if __name__ == "__main__":
    main()
