"""The graph that is named: an endpoint, a store, or files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.cli.diagnosis.checks import Check, attempted, failed
from kgsparql.cli.diagnosis.endpoints import endpoint_checks
from kgsparql.errors import IndexStaleError, InputError, KgsparqlError, NotFoundError, StoreError, StoreLockedError
from kgsparql.graphs import EndpointGraph, groups_of, known_aliases, names_endpoint, open_graph, open_store
from kgsparql.graphs.files import RdfFile, ReadOptions, format_of, rdf_files
from kgsparql.graphs.protocols import OpenedGraph
from kgsparql.graphs.stores import has_store
from kgsparql.linking.labels.index import index_directory, open_label_index
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal, printable
from kgsparql.resources import cache_directory
from kgsparql.storage.disk_usage import size_text
from kgsparql.storage.file_lock import lock_path, writer_lock

if TYPE_CHECKING:
    from kgsparql.graphs import OxigraphGraph

__all__ = ["graph_checks"]

_NAMED = 3


def graph_checks(sources: Sequence[str], *, timeout_s: float, note: Callable[[str], None]) -> Iterator[Check]:
    """Checks of an endpoint, a store, or files, whichever is named; files are not read, only looked at."""
    if not sources:
        yield Check("graph", "absent", "none is named", "-k GRAPH checks a file, a store or an endpoint")
        return
    try:
        groups = groups_of(sources)
    except KgsparqlError as error:
        yield failed("store" if isinstance(error, StoreError) else "graph", error)
        return
    for group in groups:
        yield from _checks([str(source) for source in group], timeout_s, note)


def _checks(group: Sequence[str], timeout_s: float, note: Callable[[str], None]) -> Iterator[Check]:
    """Checks of the sources of one graph."""
    if names_endpoint(group):
        try:
            graph = open_graph(group, cache=False)
        except KgsparqlError as error:
            yield failed("endpoint", error)
            return
        assert isinstance(graph, EndpointGraph)  # noqa: S101 - it is what such a source opens
        yield from endpoint_checks(graph, timeout_s=timeout_s, note=note)
    elif has_store(Path(group[0])):
        yield from _store(group[0])
    else:
        yield from (attempted("file", lambda source=source: _files(source)) for source in group)  # type: ignore[misc]


def _is_empty(graph: OpenedGraph) -> bool:
    (counted,) = graph.select(Query.load("any"))
    return counted["count"] == Literal(0)


def _empty(check: str, name: str) -> Check:
    error = NotFoundError(f"{name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right one?")
    return failed(check, error)


def _store(source: str) -> Iterator[Check]:
    try:
        graph = open_store(source)
        is_empty = _is_empty(graph)
    except KgsparqlError as error:
        yield failed("store", error)
        yield _writer(Path(source))
        return
    yield _empty("store", graph.name) if is_empty else attempted("store", lambda: _opened(graph))
    yield _writer(Path(source))
    yield attempted("label index", lambda: _index(graph))


def _opened(graph: OxigraphGraph) -> Check:
    """How many triples a store has: as its loads counted them, or, if another program made it, as it says now."""
    if graph.stored:
        triples = sum(stored.triples for stored in graph.stored)
    else:
        (counted,) = graph.select(Query.load("info_triples"))
        triples = int(counted["count"].value) if isinstance(counted["count"], Literal) else 0
    names = [printable(stored.source, 200) for stored in graph.stored]
    more = f" … ({len(names):,})" if len(names) > _NAMED else ""
    loaded = f" from {', '.join(names[:_NAMED])}{more}" if names else ", loaded by another program"
    return Check("store", "ok", f"{graph.name}: {triples:,} triples{loaded}")


def _writer(path: Path) -> Check:
    """Whether somebody is writing to a store; no lock is made to find that out."""
    target = path.absolute()
    if lock_path(target).exists():
        try:
            with writer_lock(target):
                pass
        except StoreLockedError as error:
            hint = "wait for it to end to see what it loads; questions are answered from what was there before"
            return Check("store writer", "absent", error.message, hint)
        except StoreError as error:
            return failed("store writer", error)
    return Check("store writer", "ok", "nobody is loading into it")


def _index(graph: OxigraphGraph) -> Check:
    hint = f"kgsparql index -k {shlex.quote(graph.name)} makes it, for search by meaning"
    try:
        index = open_label_index(graph, index_directory(graph, cache_directory()))
    except IndexStaleError as error:
        return failed("label index", error)
    if index is None:
        return Check("label index", "absent", "none yet: the first question makes what it needs", hint)
    return Check("label index", "ok", f"{index.rows:,} labels, in {index.directory}")


def _files(source: str) -> Check:
    files = rdf_files(source, more_hint=known_aliases(source))
    if files[0].path is None:
        return Check("file", "absent", "standard input is read only by what asks it")
    for file in files:
        _readable(file)
    kinds = sorted({format_of(file, ReadOptions()).name for file in files})
    size = size_text(sum(file.size for file in files))
    count = "" if len(files) == 1 else f"{len(files):,} files, "
    hint = f"it was not read: kgsparql info -k {shlex.quote(source)} does"
    return Check("file", "ok", f"{printable(source, 200)}: {count}{', '.join(kinds)}, {size}", hint)


def _readable(file: RdfFile) -> None:
    if file.path is not None and not os.access(file.path, os.R_OK):
        raise InputError(f"{file.name}: may not be read", hint="chmod u+r, or run as its owner", path=file.name)
