"""Graphs that answer SPARQL: one file for each kind of backend, and the function that opens what a user names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pyoxigraph as ox

from kgsparql.errors import InputError, OptionError, StoreError
from kgsparql.graphs.endpoint import EndpointGraph
from kgsparql.graphs.federated import FederatedGraph
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, has_rdf_suffix, rdf_files
from kgsparql.graphs.in_memory import in_memory
from kgsparql.graphs.opening import cached_store, describe_store, has_store, open_store
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.parsing import prefixes_of
from kgsparql.graphs.profiles import could_be_alias
from kgsparql.graphs.profiles.catalogue import endpoint_named, known_endpoints
from kgsparql.graphs.protocols import OpenedGraph
from kgsparql.graphs.stores import LoadReport, load_store
from kgsparql.http.address import is_address
from kgsparql.resources import cache_directory
from kgsparql.storage.recording import Recording
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

__all__ = [
    "CACHE_FROM_BYTES",
    "EndpointGraph",
    "FederatedGraph",
    "GraphSource",
    "LoadReport",
    "OxigraphGraph",
    "Progress",
    "describe_store",
    "groups_of",
    "is_graph_by_itself",
    "known_aliases",
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
    fresh: bool = False,
    recording: Recording | None = None,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
) -> OpenedGraph:
    """Open RDF files, directories of them, stores on disk, pyoxigraph stores, SPARQL endpoints, or several of these.

    A single file goes to the default graph; of several each gets its own named graph, so that citations say which.
    Nothing is sent to an endpoint before its first query. All files together are one graph; if there are stores or
    endpoints too, they are asked side by side (:class:`FederatedGraph`).

    :param sources: files, directories, ``-`` (standard input, with ``format``), stores, and endpoints by their URL or
        alias (``wikidata``). Only files take the options of files.
    :param name: what citations say for a single source; as given, if ``None``.
    :param cache: keep files of more than :data:`CACHE_FROM_BYTES` as a store in the cache directory, and there, too,
        for a while, what public endpoints reply.
    :param fresh: ask endpoints again, whatever of their replies is kept.
    :param recording: of a snapshot: keeps whatever endpoints are asked, or tells it again.
    :param notes: called with one line for each thing the user may want to know.
    :raises InputError: for a source that is missing, or sources that cannot be opened together.
    :raises GraphLoadError: for RDF that is not valid, with file, line and column.
    :raises LimitError: for what is larger than the limits of reading.
    :raises StoreError: for a store that cannot be opened.
    :raises OptionError: for options that the source does not have.
    """
    groups = groups_of(sources)
    reading = {"format": format, "base": base, "encoding": encoding, "skip_bad": skip_bad, "context": context}
    if len(groups) > 1:
        keeping = {"cache": cache, "fresh": fresh, "recording": recording, "progress": progress, "notes": notes}
        return _federated(groups, name, reading, keeping)
    given = groups[0] if groups else []
    if names_endpoint(given):
        response_cache = recording or (_replies(fresh=fresh) if cache else None)
        return _endpoint(given[0], name, _options_of_files(reading), notes, response_cache)
    return open_embedded(given, name=name, cache=cache, progress=progress, notes=notes, **reading)  # type: ignore[arg-type]


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
    files = [file for source in given for file in rdf_files(str(source), more_hint=known_aliases(source))]
    distinct = list({file.iri: file for file in files}.values())
    if cache and _is_big(distinct):
        try:
            graph = cached_store(distinct, options, name=name, progress=progress, notes=notes)
        except StoreError as error:
            if notes is not None:
                notes(f"held in memory and not kept: {error.message} (KGSPARQL_CACHE_DIR names another place)")
            graph = in_memory([RdfFile(f.name, f.path) for f in distinct], options, name=name, progress=progress)
    else:
        graph = in_memory(distinct, options, name=name, progress=progress)
    _note(graph, notes)
    return graph


def groups_of(sources: GraphSource | Sequence[GraphSource]) -> list[list[GraphSource]]:
    """The sources that are one graph each: all files together, every store and every endpoint, in the order given.

    What is named twice is one.

    >>> groups_of(["a.ttl", "https://example.org/sparql", "b.ttl"])
    [['a.ttl', 'b.ttl'], ['https://example.org/sparql']]
    """
    given = [sources] if isinstance(sources, GraphSource) else list(sources)
    groups: list[list[GraphSource]] = []
    files: list[GraphSource] = []
    for source in given:
        is_own = is_graph_by_itself(source)
        if is_own and [source] not in groups:
            groups.append([source])
        elif not is_own:
            files.append(source)
            if len(files) == 1:
                groups.append(files)
    return groups


def _federated(
    groups: Sequence[Sequence[GraphSource]], name: str | None, reading: Mapping[str, Any], keeping: Mapping[str, Any]
) -> FederatedGraph:
    """Several graphs as one; the options of files are those of the group of files."""
    options = _options_of_files(reading)
    if options and all(is_graph_by_itself(group[0]) for group in groups):
        raise OptionError(f"options of files, given without a file: {', '.join(options)}", hint="leave them out")
    return FederatedGraph(
        [open_graph(group, **keeping, **({} if is_graph_by_itself(group[0]) else reading)) for group in groups],
        name=name,
    )


def is_graph_by_itself(source: GraphSource) -> bool:
    """Whether a source is a graph by itself, which cannot be read together with others."""
    return _is_endpoint(source) or _is_whole(source)


def _options_of_files(reading: Mapping[str, Any]) -> list[str]:
    """The options that were given, as the command line calls them."""
    return ["input-format" if name == "format" else name.replace("_", "-") for name, value in reading.items() if value]


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
    files = [file for source in given for file in rdf_files(str(source), more_hint=known_aliases(source))]
    return {prefix: name for file in reversed(files) for prefix, name in prefixes_of(file, options).items()}


def names_endpoint(sources: GraphSource | Sequence[GraphSource]) -> bool:
    """Whether one of the sources is the URL of an endpoint, or the alias of a known one.

    :raises InputError: for an alias that is also the name of a file here.

    >>> names_endpoint("https://example.org/sparql"), names_endpoint(["https://example.org/data.ttl"])
    (True, False)
    >>> names_endpoint("wikidata"), names_endpoint("./wikidata")
    (True, False)
    """
    given = [sources] if isinstance(sources, GraphSource) else list(sources)
    return any(_is_endpoint(source) for source in given)


def known_aliases(source: GraphSource) -> str:
    """What may be meant instead of a file that is not there, if the source is written as the name of an endpoint."""
    if not could_be_alias(str(source)):
        return ""
    return f"; known endpoints: {', '.join(known_endpoints().aliases)}"


def _is_endpoint(source: GraphSource) -> bool:
    return (is_address(source) and not _names_file(str(source))) or endpoint_named(source) is not None


def _names_file(url: str) -> bool:
    """Whether a URL obviously names an RDF file, which is not read over the network."""
    path = Path(urlsplit(url).path)
    return bool(path.suffixes) and has_rdf_suffix(path)


def _endpoint(
    source: GraphSource,
    name: str | None,
    options: Sequence[str],
    notes: Callable[[str], None] | None,
    response_cache: ResponseCache | None,
) -> EndpointGraph:
    if options:
        raise OptionError(f"options of files, given with an endpoint: {', '.join(options)}", hint="leave them out")
    known = endpoint_named(source)
    url = known.urls[0] if known else str(source).strip()
    profile = known or known_endpoints().at(url)
    name = name or (known.aliases[0] if known else None)
    return EndpointGraph(url, name=name, profile=profile, note=notes, response_cache=response_cache)


def _replies(*, fresh: bool) -> ResponseCache:
    """The store of replies in the cache directory."""
    return ResponseCache(cache_directory() / RESPONSE_FILE, mode="write" if fresh else "use")


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
