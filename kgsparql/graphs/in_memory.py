"""RDF files held in memory."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from kgsparql.graphs.files import Progress, RdfFile, ReadOptions
from kgsparql.graphs.loader import recipe_of
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.oxigraph import OxigraphGraph, sources_of_files
from kgsparql.graphs.parsing import BlankNodes, prefixes_of, quads

__all__ = ["in_memory"]


def in_memory(
    files: Sequence[RdfFile], options: ReadOptions, *, name: str | None, progress: Progress | None
) -> OxigraphGraph:
    """Files read into memory: a single one into the default graph, of several each into a graph of its own."""
    store, blank_nodes = ox.Store(), BlankNodes()
    several = len(files) > 1
    stored: list[StoredSource] = []
    sizes: Counter[object] = Counter()
    for file in files:
        graph = file.iri if several else None
        met: set[str] = set()
        into: set[object] = set()
        found = quads(file, options, blank_nodes, graph=graph, graphs_met=met, progress=progress)
        store.bulk_extend(_noting(found, into))
        before = sizes.total()
        sizes.update({name: _size(store, name) - sizes[name] for name in into})
        source = StoredSource(
            source=file.name, sha256=file.tally.sha256, graph=None if graph is None else graph.value,
            graphs=tuple(sorted(met)), triples=sizes.total() - before, skipped=file.skipped,
            first_skipped=file.first_skipped, recipe=recipe_of(options), prefixes=prefixes_of(file, options),
        )  # fmt: skip
        stored.append(source)
    recipe = [[source.sha256, source.graph or ""] for source in stored]
    return OxigraphGraph(
        store,
        name=name or ", ".join(file.name for file in files),
        fingerprint=hashlib.sha256(json.dumps([recipe, recipe_of(options)]).encode()).hexdigest(),
        sources=sources_of_files(files, {source.source: source.graphs for source in stored}) if several else {},
        stored=stored,
    )


def _noting(found: Iterator[ox.Quad], graphs: set[object]) -> Iterator[ox.Quad]:
    """The quads, with the graphs they are in put into a set."""
    for quad in found:
        graphs.add(quad.graph_name)
        yield quad


def _size(store: ox.Store, graph: Any) -> int:
    """How many triples a graph has; the length of the store would take in those of every other file."""
    return sum(1 for _ in store.quads_for_pattern(None, None, None, graph))
