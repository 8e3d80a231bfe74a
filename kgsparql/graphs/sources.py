"""Opens what a user names as a graph: files and directories, a store, a pyoxigraph store, or an endpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgsparql.errors import InputError, OptionError, StoreError
from kgsparql.events import Tell, ignore
from kgsparql.graphs.files import OWN_BASE, Progress, RdfFile, ReadOptions, has_rdf_suffix, left_out, rdf_files
from kgsparql.graphs.graph import KnowledgeGraph, Source
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.profiles import could_be_alias, endpoint_named, known_endpoints
from kgsparql.graphs.rdflib_interop import RdflibCopy
from kgsparql.graphs.stores import (
    graph_in_cache,
    graph_in_memory,
    has_store,
    open_store,
    place_in_cache,
    read_with_base,
)
from kgsparql.http.address import is_address
from kgsparql.http.transport import Transport
from kgsparql.rdf.terms import printable
from kgsparql.storage.files import is_store
from kgsparql.storage.response_cache import ResponseCache

_Held: TypeAlias = ox.Store | RdflibCopy
GraphSource: TypeAlias = str | Path | _Held
CACHE_FROM_BYTES = 50_000_000
"""Files whose unpacked size is larger than this, all together, are kept as a store in the cache directory."""


def open_graph(
    sources: GraphSource | Sequence[GraphSource], *, name: str | None = None,
    format: str | None = None,  # noqa: A002 - the word of the specifications
    base: str | None = None, skip_bad: bool = False,
    cache: bool = True, fresh: bool = False, endpoint_timeout_s: float | None = None,
    progress: Progress | None = None, notes: Tell = ignore,
    transport: Transport | None = None,
) -> KnowledgeGraph:  # fmt: skip
    """Open RDF files and directories of them, which are one graph, a store on disk or of pyoxigraph, or an endpoint.

    A single file goes to the default graph; of several files each gets its own named graph, so that citations tell
    which.

    :param sources: files, directories, ``-`` (standard input, with ``format``); or a store; or the URL or alias of an
        endpoint.
    :param name: the name of a single source in citations; the source as given, if ``None``.
    :param cache: keep big files (:data:`CACHE_FROM_BYTES`) and replies of public endpoints in the cache directory.
    :param fresh: ask endpoints again, even where their replies are kept.
    :param endpoint_timeout_s: for one query to an endpoint; as its profile says, if ``None``.
    :param notes: called with one line for each thing the user may want to know.
    :param transport: a function that answers the HTTP requests to endpoints; ``None`` for the network.
    :raises InputError: for a source that is missing, and for a store or an endpoint with anything beside it.
    :raises GraphLoadError: for RDF that is not valid, with file, line and column.
    """
    given = [sources] if isinstance(sources, GraphSource) else [*sources]
    alone = _graph_by_itself(given)
    reading = {"format": format, "base": base, "skip_bad": skip_bad}
    is_endpoint = alone is not None and names_endpoint(alone)
    _refuse_stray_options(reading, endpoint_timeout_s, is_endpoint=is_endpoint)
    if is_endpoint:
        from kgsparql.graphs.endpoint import EndpointGraph  # a file needs nothing of it

        kept = ResponseCache(mode="write" if fresh else "use") if cache else None
        known = endpoint_named(given[0])
        url = known.urls[0] if known else str(given[0]).strip()
        return EndpointGraph(
            url, name=name or (known.aliases[0] if known else None), profile=known, timeout_s=endpoint_timeout_s,
            note=notes, response_cache=kept, transport=transport,
        )  # fmt: skip

    def opened() -> KnowledgeGraph:
        if alone is not None:
            graph = _stored_graph(alone, name)
        else:
            graph = _graph_of_files([*map(str, given)], reading, name=name, cache=cache, progress=progress, notes=notes)
        if "-" not in given:
            graph.reopen = opened
        return graph

    return opened()


def _graph_by_itself(given: Sequence[GraphSource]) -> GraphSource | None:
    """Return the store or endpoint that is named, if one is; it is refused with anything beside it."""
    alone = next((source for source in given if names_endpoint(source) or _is_store(source)), None)
    if alone is not None and len({*given}) > 1:
        named = printable(str(alone), 200) if isinstance(alone, str | Path) else "a graph in memory"
        hint = "load all files into one store (kgsparql load FILES --store S), or ask each graph by its own command"
        raise InputError(f"{named}: a store or an endpoint is asked alone, with no graph beside it", hint=hint)
    return alone


def _refuse_stray_options(reading: Mapping[str, Any], endpoint_timeout_s: float | None, *, is_endpoint: bool) -> None:
    """Refuse options of files for an endpoint, and of endpoints for another graph."""
    given = ["input-format" if key == "format" else key.replace("_", "-") for key, value in reading.items() if value]
    if given and is_endpoint:  # a store knows how its files were read
        raise OptionError(f"options of files, given without a file: {', '.join(given)}", hint="leave them out")
    if endpoint_timeout_s is not None and not is_endpoint:
        raise OptionError("--endpoint-timeout, given without an endpoint", hint="leave it out")


def _graph_of_files(
    given: Sequence[str], reading: Mapping[str, Any], *, name: str | None, cache: bool, progress: Progress | None,
    notes: Tell,
) -> OxigraphGraph:  # fmt: skip
    if not given:
        raise InputError("no graph given", hint="name a file, a directory of RDF files, or a store")
    named = list[RdfFile]()
    for source in given:
        more = f"; known endpoints: {', '.join(known_endpoints().aliases)}" if could_be_alias(source) else ""
        named += rdf_files(source, more_hint=more)
    files = list({file.iri: file for file in named}.values())

    def read(options: ReadOptions) -> OxigraphGraph:
        target = place_in_cache(files, options) if cache and all(file.path for file in files) else None
        if target is not None and (is_store(target) or sum(file.unpacked_size for file in files) > CACHE_FROM_BYTES):
            try:
                return graph_in_cache(files, options, target, name=name, progress=progress, notes=notes)
            except StoreError as error:
                notes(f"held in memory and not kept: {error.message} (KGSPARQL_CACHE_DIR names another place)")
        anew = [RdfFile(file.name, file.path) for file in files]
        return graph_in_memory(anew, options, name=name, progress=progress)

    base = reading["base"] or (OWN_BASE if reading["skip_bad"] else None)
    graph = read_with_base(read, ReadOptions(**{**reading, "base": base}), given)
    for note in (*filter(None, map(left_out, dict.fromkeys(given))), *graph.notes):
        notes(note)
    if next(graph.quads(), None) is None:
        notes(f"{graph.name}: no triples")
    return graph


def names_endpoint(source: GraphSource) -> bool:
    """Tell whether a source is the alias of an endpoint, or a URL that does not end like the name of an RDF file.

    >>> [names_endpoint(source) for source in ("https://e.org/sparql", "https://e.org/data.ttl", "wikidata")]
    [True, False, True]
    """
    path = re.sub(r"[?#].*", "", str(source).partition("://")[2], flags=re.DOTALL).partition("/")[2]
    return (is_address(source) and not has_rdf_suffix(Path(path))) or endpoint_named(source) is not None


def _is_store(source: GraphSource) -> bool:
    """Tell whether a source is a store, which is queried where it is and not read."""
    if not isinstance(source, GraphSource):
        raise InputError(
            f"{type(source).__name__} is not a graph source",
            hint="give paths, stores or graphs of rdflib, each as an argument",
        )
    return isinstance(source, _Held) or has_store(Path(source))


def _stored_graph(source: GraphSource, name: str | None) -> OxigraphGraph:
    if not isinstance(source, _Held):
        return open_store(source, name=name)
    store = source.store() if isinstance(source, RdflibCopy) else source

    called = name or "store"
    unnamed = [graph for graph in store.named_graphs() if isinstance(graph, ox.BlankNode)]
    sources = {key: Source(called) for graph in unnamed for key in (graph.value, str(graph))}
    mark = source.store if isinstance(source, RdflibCopy) else None
    return OxigraphGraph(store, name=called, fingerprint=None, sources=sources, mark=mark)
