"""The graph that is named: an endpoint, a store, or files."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.cli.diagnosis.checks import Check, attempted, failed

from kgsparql.errors import (
    GRAPH_FAILED,
    IndexStaleError,
    InputError,
    KgsparqlError,
    NotFoundError,
    OptionError,
    StoreError,
    StoreLockedError,
)
from kgsparql.graphs import EndpointGraph, groups_of, known_aliases, names_endpoint, open_graph, open_store
from kgsparql.graphs.endpoint_info import NAMED_GRAPHS, limits_in_words, summary
from kgsparql.graphs.files import ReadOptions, format_of, rdf_files
from kgsparql.graphs.profiles.catalogue import endpoint_named
from kgsparql.graphs.profiles.profile import UNKNOWN
from kgsparql.graphs.protocol.contact import CONTACT_VARIABLE, checked_contact
from kgsparql.graphs.stores import has_store
from kgsparql.linking.label_index.open import index_directory, open_label_index
from kgsparql.linking.label_index.reading import REMOTE_ROWS
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal, printable
from kgsparql.rdf.vocabulary import LABELS
from kgsparql.resources import cache_directory
from kgsparql.storage.files import lock_path, size_text, writer_lock
from kgsparql.storage.lance_tables import location

if TYPE_CHECKING:
    from kgsparql.graphs import OxigraphGraph


_NAMED = 3
"""Files of a store that are named."""

_OWN_PROFILE = "if you know it, say so in a profile of your own: docs/endpoints.md"


def url_of(source: str) -> str:
    """The URL of an endpoint that is known by name; any other source as it is."""
    try:
        known = endpoint_named(source)
    except KgsparqlError:
        return source  # the check of the graph shows the error
    return known.urls[0] if known else source


def graph_checks(sources: Sequence[str], *, timeout_s: float, note: Callable[[str], None]) -> Iterator[Check]:
    """Checks of the endpoints, stores and files that are named; files are not parsed."""
    if not sources:
        yield Check("graph", "absent", "none is named", "-k GRAPH checks a file, a store or an endpoint")
        return
    try:
        groups = groups_of(sources)
    except KgsparqlError as error:
        yield failed("store" if isinstance(error, StoreError) else "graph", error)
        return
    for group in groups:
        yield from _checks_of_graph([str(source) for source in group], timeout_s, note)


def _checks_of_graph(group: Sequence[str], timeout_s: float, note: Callable[[str], None]) -> Iterator[Check]:
    if names_endpoint(group):
        try:
            graph = open_graph(group, cache=False)
        except KgsparqlError as error:
            yield failed("endpoint", error)
            return
        assert isinstance(graph, EndpointGraph)  # noqa: S101 - it is what such a source opens
        yield from _endpoint_checks(graph, timeout_s=timeout_s, note=note)
    elif has_store(Path(group[0])):
        yield from _store_checks(group[0])
    else:
        yield from (attempted("file", lambda source=source: _file(source)) for source in group)  # type: ignore[misc]


def _store_checks(source: str) -> Iterator[Check]:
    try:
        graph = open_store(source)
        (counted,) = graph.select(Query.load("any"))
    except KgsparqlError as error:
        yield failed("store", error)
        yield _writer(Path(source))
        return
    if counted["count"] == Literal(0):
        empty = NotFoundError(f"{graph.name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right one?")
        yield failed("store", empty)
    else:
        yield attempted("store", lambda: _store(graph))
    yield _writer(Path(source))
    yield attempted("label index", lambda: _label_index(graph))


def _store(graph: OxigraphGraph) -> Check:
    """How many triples a store has: as its loads counted them; if another program made it, as a query counts them."""
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
    """Whether somebody is writing to a store; a lock file that is not there is not made."""
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


def _label_index(graph: OxigraphGraph) -> Check:
    hint = f"kgsparql index -k {shlex.quote(graph.name)} makes it, for search by meaning"
    try:
        place = os.environ.get("KGSPARQL_INDEX")
        index = open_label_index(graph, index_directory(graph, location(place) if place else cache_directory()))
    except (IndexStaleError, OptionError, StoreError) as error:
        return failed("label index", error)
    if index is None:
        return Check("label index", "absent", "none yet: the first question makes what it needs", hint)
    return Check("label index", "ok", f"{index.rows:,} labels, in {index.directory}")


def _file(source: str) -> Check:
    files = rdf_files(source, more_hint=known_aliases(source))
    if files[0].path is None:
        return Check("file", "absent", "standard input is read only by what asks it")
    for file in files:
        if file.path is not None and not os.access(file.path, os.R_OK):
            raise InputError(f"{file.name}: may not be read", hint="chmod u+r, or run as its owner", path=file.name)
    kinds = sorted({format_of(file, ReadOptions()).name for file in files})
    if len(files) == 1 and files[0].size == 0:
        raise NotFoundError(f"{printable(source, 200)} is empty", code="E_EMPTY_GRAPH", hint="is it the right one?")
    size = size_text(sum(file.size for file in files))
    count = "" if len(files) == 1 else f"{len(files):,} files, "
    hint = f"it was not read: kgsparql info -k {shlex.quote(source)} does"
    return Check("file", "ok", f"{printable(source, 200)}: {count}{', '.join(kinds)}, {size}", hint)


def _endpoint_checks(graph: EndpointGraph, *, timeout_s: float, note: Callable[[str], None]) -> Iterator[Check]:
    """The checks of an endpoint; only the first if it does not reply or is empty."""
    note(f"asking {graph.name} …")
    began = time.perf_counter()
    try:
        (counted,) = graph.select_within(Query.load("any"), timeout_s=timeout_s)
    except KgsparqlError as error:
        yield failed("endpoint", error)
        return
    took = time.perf_counter() - began
    if counted["count"] == Literal(0):
        yield Check("endpoint", "fail", f"{graph.name} holds no triples [E_EMPTY_GRAPH]", "is it the right one?", 3)
        return
    at = f" ({graph.url})" if graph.url != graph.name else ""
    yield Check("endpoint", "ok", f"{graph.name}{at}: answers SPARQL, {took:.2f} s")
    yield _engine(graph)
    yield _limits(graph)
    yield from _contact(graph)
    yield attempted("labels", lambda: _labels(graph, timeout_s))
    yield attempted("named graphs", lambda: _named_graphs(graph))
    yield from (Check("elsewhere", "ok", f"-k {other}") for other in graph.profile.elsewhere)


def _engine(graph: EndpointGraph) -> Check:
    profile, found = graph.profile, graph.probe.found
    if profile.name != UNKNOWN.name:
        return Check("engine", "ok", summary(profile, found))
    why = f": {graph.probe.trouble}" if graph.probe.trouble else ""
    return Check("engine", "absent", summary(profile, found) + why, _OWN_PROFILE)


def _limits(graph: EndpointGraph) -> Check:
    profile = graph.profile
    shared = "many share it: --max-queries bounds a question; for many questions, ask a copy of your own"
    return Check("limits", "ok", ", ".join(limits_in_words(profile)), shared if profile.is_public else "")


def _contact(graph: EndpointGraph) -> Iterator[Check]:
    """Whether requests carry a contact; nothing for a server that does not want one."""
    contact = checked_contact(graph.url, needed=False)
    if contact:
        yield Check("contact", "ok", f"requests say how to reach you: {contact}")
    elif graph.profile.wants_contact:
        hint = f"export {CONTACT_VARIABLE}=you@example.org"
        yield Check("contact", "absent", "requests do not say how to reach you, which may get them refused", hint)


def _labels(graph: EndpointGraph, timeout_s: float) -> Check:
    """How names in a question become entities there."""
    profile = graph.profile
    looked_up = "names in a question are looked up as they are written"
    if profile.text_search != "none":
        looked_up += f", and searched for with {profile.text_search}"
    if profile.has_many_labels and profile.text_search != "none":
        return Check("labels", "ok", f"not read: {looked_up}")
    count = Query.load("label_count").bind(predicate=profile.label_predicates or LABELS)
    try:
        found = graph.select_within(count, timeout_s=timeout_s)
    except GRAPH_FAILED as error:
        return Check("labels", "absent", f"cannot be counted ({error.message}): {looked_up}", _slice(graph))
    number = int(getattr(found[0]["count"], "value", 0)) if found.complete and len(found) else 0
    if not number:
        hint = "name the entities: -e IRI; or say in a profile which predicates are labels: docs/endpoints.md"
        return Check("labels", "absent", "none by the predicates that are known", hint)
    if number <= REMOTE_ROWS:
        return Check("labels", "ok", f"{number:,}, few enough to be read once and kept")
    hint = "" if profile.text_search != "none" else _slice(graph)
    return Check("labels", "ok", f"{number:,}, too many to be read (more than {REMOTE_ROWS:,}): {looked_up}", hint)


def _slice(graph: EndpointGraph) -> str:
    index = f"kgsparql index -k {shlex.quote(graph.name)} --class IRI --limit N"
    return f"to search by parts of names: {index}; or name entities: -e IRI"


def _named_graphs(graph: EndpointGraph) -> Check:
    if graph.profile.has_named_graphs is False:
        return Check("named graphs", "ok", "there are none")
    hidden = "; ".join(graph.notes)
    if hidden:
        return Check("named graphs", "absent", hidden, "name the one you mean in your own queries: kgsparql query")
    return Check("named graphs", "ok", NAMED_GRAPHS[True])
