"""Graphs that answer SPARQL: one file for each kind of backend, and the function that opens what a user names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pyoxigraph as ox

from kgsparql.errors import InputError
from kgsparql.evidence import Source
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, rdf_files
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.parsing import BlankNodes, quads

__all__ = ["GraphSource", "OxigraphGraph", "open_graph"]

GraphSource: TypeAlias = str | Path | ox.Store


def open_graph(
    sources: GraphSource | Sequence[GraphSource],
    *,
    format: str | None = None,  # noqa: A002 - the word of the specifications
    base: str | None = None,
    encoding: str | None = None,
    skip_bad: bool = False,
    cache: bool = True,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
) -> OxigraphGraph:
    given = [sources] if isinstance(sources, GraphSource) else list(sources)
    options = ReadOptions(format=format, base=base, encoding=encoding, skip_bad=skip_bad)
    files = [file for source in given for file in rdf_files(source)]
    return in_memory(files, options, progress=progress)


def in_memory(files: Sequence[RdfFile], options: ReadOptions, *, progress: Progress | None = None) -> OxigraphGraph:
    """Load files into a graph that lives as long as the process: a graph each, or the default graph for one alone."""
    store, names = ox.Store(), BlankNodes()
    sources: dict[str, Source] = {}
    for file in files:
        graph = file.iri if len(files) > 1 else None
        store.bulk_extend(quads(file, options, names, graph=graph, progress=progress))
        if graph is not None:
            sources[graph.value] = Source(file.name)
    recipe = [[file.tally.sha256, str(file.iri) if len(files) > 1 else ""] for file in files]
    fingerprint = hashlib.sha256(json.dumps([recipe, repr(options)]).encode()).hexdigest()
    return OxigraphGraph(store, name=", ".join(file.name for file in files), fingerprint=fingerprint, sources=sources)
