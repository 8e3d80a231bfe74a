"""Graphs that answer SPARQL: one file for each kind of backend, and the function that opens what a user names."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pyoxigraph as ox

from kgsparql.errors import InputError, OptionError, StoreError
from kgsparql.graph import OpenedGraph
from kgsparql.graphs.endpoint import EndpointGraph
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, has_rdf_suffix, rdf_files
from kgsparql.graphs.loader import recipe_of
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.opening import cached_store, describe_store, has_store, open_store
from kgsparql.graphs.oxigraph import OxigraphGraph, sources_of_files
from kgsparql.graphs.parsing import BlankNodes, prefixes_of, quads
from kgsparql.graphs.sparql_request import is_address
from kgsparql.graphs.stores import LoadReport, load_store

__all__ = [
    "CACHE_FROM_BYTES",
    "EndpointGraph",
    "GraphSource",
    "LoadReport",
    "OxigraphGraph",
    "Progress",
    "describe_store",
    "load_store",
    "names_endpoint",
    "open_embedded",
    "open_graph",
    "open_store",
    "prefixes_in",
]

GraphSource: TypeAlias = str | Path | ox.Store

CACHE_FROM_BYTES = 50_000_000
"""Files larger than this when unpacked, all together, are kept as a store in the cache directory."""


def open_graph(
    sources: GraphSource | Sequence[GraphSource],
    *,
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the word of the specifications
    base: str | None = None,
    encoding: str | None = None,
    skip_bad: bool = False,
    context: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
) -> OpenedGraph:
    """Open RDF files, a directory of them, a store on disk, a pyoxigraph store, or a SPARQL endpoint.

    A single file goes to the default graph; of several each gets its own named graph, so that citations say which.
    Nothing is sent to an endpoint before its first query.

    :param sources: one or more files, directories or ``-`` (standard input, with ``format``); or one store; or the URL
        of one endpoint, which takes none of the options of files.
    :param name: what citations say for a single source; as given, if ``None``.
    :param cache: keep files of more than :data:`CACHE_FROM_BYTES` as a store in the cache directory.
    :param notes: called with one line for each thing the user may want to know.
    :raises InputError: for a source that is missing, or sources that cannot be opened together.
    :raises GraphLoadError: for RDF that is not valid, with file, line and column.
    :raises LimitError: for what is larger than the limits of reading.
    :raises StoreError: for a store that cannot be opened.
    :raises OptionError: for options that the source does not have.
    """
    if names_endpoint(sources):
        reading = {"format": format, "base": base, "encoding": encoding, "skip_bad": skip_bad, "context": context}
        return _endpoint(sources, name, [option for option, value in reading.items() if value], notes)
    return open_embedded(
        sources, name=name, format=format, base=base, encoding=encoding, skip_bad=skip_bad, context=context,
        cache=cache, progress=progress, notes=notes,
    )  # fmt: skip


def open_embedded(
    sources: GraphSource | Sequence[GraphSource],
    *,
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the word of the specifications
    base: str | None = None,
    encoding: str | None = None,
    skip_bad: bool = False,
    context: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
) -> OxigraphGraph:
    """As :func:`open_graph`, for what is held in this process: everything but endpoints."""
    given = [sources] if isinstance(sources, GraphSource) else list(sources)
    if not given:
        raise InputError("no graph given", hint="name a file, a directory of RDF files, or a store")
    if any(_is_whole(source) for source in given):
        return _whole(given, name)
    options = ReadOptions(format=format, base=base, encoding=encoding, skip_bad=skip_bad, context=context)
    files = [file for source in given for file in rdf_files(str(source))]
    distinct = list({file.iri: file for file in files}.values())
    if cache and _is_big(distinct):
        try:
            graph = cached_store(distinct, options, name=name, progress=progress, notes=notes)
        except StoreError as error:
            if notes is not None:
                notes(f"held in memory and not kept: {error.message} (KGSPARQL_CACHE_DIR names another place)")
            graph = _in_memory([RdfFile(f.name, f.path) for f in distinct], options, name=name, progress=progress)
    else:
        graph = _in_memory(distinct, options, name=name, progress=progress)
    _note(graph, notes)
    return graph


def prefixes_in(
    sources: GraphSource | Sequence[GraphSource],
    *,
    format: str | None = None,  # noqa: A002 - the word of the specifications
    base: str | None = None,
    encoding: str | None = None,
) -> dict[str, str]:
    """The prefixes that files declare at their heads, or that a store keeps of its files, with nothing loaded.

    Of one prefix with several meanings, the first. Standard input is not read: the opened graph knows its prefixes.

    :raises KgsparqlError: as :func:`open_graph`, for what can be seen at the head of a file.
    """
    given = [sources] if isinstance(sources, GraphSource) else list(sources)
    if names_endpoint(given):
        return {}
    if any(_is_whole(source) for source in given):
        return describe_store(given[0]).prefixes if isinstance(given[0], str | Path) else {}
    options = ReadOptions(format=format, base=base, encoding=encoding)
    files = [file for source in given for file in rdf_files(str(source))]
    return {prefix: name for file in reversed(files) for prefix, name in prefixes_of(file, options).items()}


def names_endpoint(sources: GraphSource | Sequence[GraphSource]) -> bool:
    """Whether one of the sources is the URL of an endpoint.

    >>> names_endpoint("https://example.org/sparql"), names_endpoint(["https://example.org/data.ttl"])
    (True, False)
    """
    given = [sources] if isinstance(sources, GraphSource) else list(sources)
    return any(is_address(source) and not _names_file(str(source)) for source in given)


def _names_file(url: str) -> bool:
    """Whether a URL obviously names an RDF file, which is not read over the network."""
    path = Path(urlsplit(url).path)
    return bool(path.suffixes) and has_rdf_suffix(path)


def _endpoint(
    sources: GraphSource | Sequence[GraphSource],
    name: str | None,
    options: Sequence[str],
    notes: Callable[[str], None] | None,
) -> EndpointGraph:
    given = [sources] if isinstance(sources, GraphSource) else list(sources)
    if len(given) > 1:
        raise InputError(
            "an endpoint cannot be opened together with other sources", hint="ask one graph at a time, each with its -k"
        )
    if options:
        named = ", ".join("input-format" if option == "format" else option.replace("_", "-") for option in options)
        raise OptionError(f"options of files, given with an endpoint: {named}", hint="leave them out")
    return EndpointGraph(str(given[0]).strip(), name=name, note=notes)


def _is_whole(source: GraphSource) -> bool:
    """Whether a source is a store, which stays where it is, and not a file to be read."""
    if not isinstance(source, GraphSource):
        raise InputError(f"{type(source).__name__} is not a graph source", hint="give a path or a pyoxigraph.Store")
    return isinstance(source, ox.Store) or has_store(Path(source))


def _whole(given: Sequence[GraphSource], name: str | None) -> OxigraphGraph:
    if len(given) > 1:
        raise InputError("a store cannot be opened together with other sources", hint="load the files into the store")
    source = given[0]
    if isinstance(source, ox.Store):
        return OxigraphGraph(source, name=name or "store", fingerprint=lambda: _store_hash(source))
    return open_store(source, name=name)


def _is_big(files: Sequence[RdfFile]) -> bool:
    left = CACHE_FROM_BYTES
    for file in files:
        if file.path is None:
            return False
        left -= file.unpacked_size(at_most=left + 1)
        if left < 0:
            return True
    return False


def _in_memory(
    files: Sequence[RdfFile], options: ReadOptions, *, name: str | None, progress: Progress | None
) -> OxigraphGraph:
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


def _store_hash(store: ox.Store) -> str:
    lines = sorted(str(quad) for quad in store)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _note(graph: OxigraphGraph, notes: Callable[[str], None] | None) -> None:
    if notes is None:
        return
    for note in graph.notes:
        notes(note)
    if next(iter(graph.store), None) is None:
        notes(f"{graph.name}: no triples")
