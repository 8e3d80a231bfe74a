"""The SPARQL 1.1 Protocol, read only, over a graph that is open: any SPARQL client can ask a Turtle file.

Queries of many clients run a few at a time, the others wait in a line of bounded length.
"""

from __future__ import annotations

import asyncio
import json
import queue
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from kgsparql.errors import (
    CancelledError,
    EndpointTimeoutError,
    ForbiddenQueryError,
    InputError,
    KgsparqlError,
    LimitError,
    OptionError,
    QuerySyntaxError,
    QueryTimeoutError,
    UnreachableError,
    error_from,
)
from kgsparql.exploration.counting import void_triples
from kgsparql.graphs import EndpointGraph, OxigraphGraph
from kgsparql.graphs.user_query import (
    FORMATS,
    CheckedQuery,
    QueryResult,
    QueryWorker,
    check,
    run_on_endpoint,
    serialise,
)
from kgsparql.rdf.terms import Triple, printable
from kgsparql.serving.guards import MOST_QUERY_BYTES, SPARQL_PATH

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase

_T = TypeVar("_T")

_DRAINED_BYTES = 4 * MOST_QUERY_BYTES
"""A body that is too large is read so far, since a client that still writes does not read the reply."""

_RETRY_S = 5

_MEDIA_TYPES = {
    "json": ("application/sparql-results+json", "application/json"),
    "xml": ("application/sparql-results+xml", "application/xml", "text/xml"),
    "csv": ("text/csv",),
    "tsv": ("text/tab-separated-values",),
    "ttl": ("text/turtle", "application/x-turtle", "text/n3"),
    "nt": ("application/n-triples", "text/plain"),
    "trig": ("application/trig",),
    "jsonld": ("application/ld+json", "application/json"),
    "rdf": ("application/rdf+xml", "application/xml", "text/xml"),
}
"""Format → its media types; the first is the one that is sent."""

_STATUSES: tuple[tuple[type[KgsparqlError], int], ...] = (
    (QuerySyntaxError, 400),
    (ForbiddenQueryError, 403),
    (OptionError, 406),
    (QueryTimeoutError, 504),
    (EndpointTimeoutError, 504),
    (InputError, 400),
    (UnreachableError, 502),
)
_OVER_LIMIT = {"length": 413, "waiting": 503, "memory": 500}
_READ_ONLY = "this endpoint is read-only: it runs SELECT, ASK, CONSTRUCT and DESCRIBE"
_FORM = "application/x-www-form-urlencoded"
_XML_START = re.compile(rb"\A<\?xml[^>]*\?>\s*")


class _Refused(Exception):  # noqa: N818 - a reply, which the handler turns into one
    """A request that the protocol does not allow."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def sparql_routes(queries: BoundedQueries) -> list[Route]:
    """Make the routes of an endpoint: queries by GET and POST; without a query, its service description.

    Which pages of other sites may read the replies is for the guard of all requests to say.
    """
    return [Route(SPARQL_PATH, _Protocol(queries).reply, methods=["GET", "POST", "OPTIONS"])]


def sparql_only_app(queries: BoundedQueries, *, middleware: Sequence[Middleware] = ()) -> Starlette:
    """Make an application that has nothing but the endpoint at ``/sparql`` and ``/healthz``.

    :param middleware: checks of every request: of Host, Origin and token.
    """
    return Starlette(routes=[*sparql_routes(queries), Route("/healthz", _health)], middleware=middleware)


async def _health(_: Request) -> Response:
    return Response('{"status":"ok"}', media_type="application/json")


@dataclass(frozen=True, slots=True)
class _Protocol:
    queries: BoundedQueries

    async def reply(self, request: Request) -> Response:
        """Reply to any request; errors are plain text, with what to do about them."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": "GET, HEAD, POST, OPTIONS"})
        try:
            text = (
                _query_in(request.scope["query_string"]) if request.method != "POST" else await _posted_query(request)
            )
            if text is None:
                return await self._description(request)
            return await self._result(request, text)
        except _Refused as refused:
            return _text_response(refused.status, str(refused), refused.headers)
        except KgsparqlError as error:
            status = _status_of(error)
            headers = {"Retry-After": str(_RETRY_S)} if status == 503 else {}
            return _text_response(status, "\n".join(filter(None, (error.message, _hint_of(error)))), headers)

    async def _result(self, request: Request, text: str) -> Response:
        query = await run_in_threadpool(self.queries.check, text)
        form = _chosen_format(
            request, [name for name in FORMATS[query.form] if name != "table"], f"the result of {query.form}"
        )
        written = await _while_connected(request, self.queries.run(query, form))
        if written is None:
            return Response(status_code=499)  # nobody reads it
        headers = {"Vary": "Accept", "X-Content-Type-Options": "nosniff"}
        if written.cut:  # the first is Virtuoso's, which clients know
            headers |= {"X-SPARQL-MaxRows": str(written.rows), "X-Kgsparql-Cut": _as_ascii(written.cut)}
        return Response(_with_cut(written, form), headers={**headers, "Content-Type": _content_type(form)})

    async def _description(self, request: Request) -> Response:
        form = _chosen_format(request, FORMATS["CONSTRUCT"], "the service description")
        triples = await run_in_threadpool(self.queries.described, str(request.url.replace(query="", fragment="")))
        lines = "".join(f"{triple} .\n" for triple in triples).encode()
        content = await run_in_threadpool(serialise, QueryResult("CONSTRUCT", lines, len(triples)), form)
        return Response(content, headers={"Vary": "Accept", "Content-Type": _content_type(form)})


async def _while_connected(request: Request, work: Awaitable[_T]) -> _T | None:
    """Return the result of some work, which is cancelled if the client goes away; then ``None``."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_client_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()


async def _client_left(request: Request) -> None:
    """Return once the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _posted_query(request: Request) -> str:
    """Read the query of a POST: a form, or the query itself."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/sparql-update":
        raise _Refused(403, _READ_ONLY)
    if kind not in {_FORM, "application/sparql-query"}:
        raise _Refused(415, f"send a query as {_FORM} or application/sparql-query")
    body = await _body_of(request)
    if kind == _FORM:
        text = _query_in(body)
    else:
        if _query_in(request.scope["query_string"]) is not None:
            raise _Refused(400, "there are two queries: in the body and in the URL")
        text = _decoded(body)
    if text is None:
        raise _Refused(400, "there is no query: send it as query=…")
    return text


async def _body_of(request: Request) -> bytes:
    body, seen = bytearray(), 0
    try:
        async for chunk in request.stream():
            seen += len(chunk)
            if seen <= MOST_QUERY_BYTES:
                body += chunk
            elif seen > _DRAINED_BYTES:
                break
    except ClientDisconnect as error:
        raise _Refused(400, "the request has no end") from error
    if seen > MOST_QUERY_BYTES:
        raise _Refused(413, f"the request is larger than {MOST_QUERY_BYTES:,} bytes", Connection="close")
    return bytes(body)


def _query_in(parameters: bytes) -> str | None:
    """Find the query among the parameters of a URL or a form; ``None`` if there is none."""
    try:
        pairs = parse_qsl(_decoded(parameters), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:  # also of %-escapes that are not UTF-8
        raise _Refused(400, f"these parameters cannot be read: {printable(str(error), 120)}") from error
    given = {name for name, _ in pairs}
    if "update" in given:
        raise _Refused(403, _READ_ONLY)
    for name in ("default-graph-uri", "named-graph-uri"):
        if name in given:
            raise _Refused(400, f"{name} is not supported: queries run over all graphs; write GRAPH <…> {{ }} for one")
    texts = [value for name, value in pairs if name == "query"]
    if len(texts) > 1:
        raise _Refused(400, "there is more than one query")
    return texts[0] if texts else None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Refused(400, f"byte {error.start} of the request is not UTF-8") from error


def _chosen_format(request: Request, forms: Iterable[str], what: str) -> str:
    """Choose the format that the client likes best, of those that there are."""
    offered = {form: _MEDIA_TYPES[form] for form in forms}
    form = best_offered(",".join(request.headers.getlist("accept")), offered)
    if form is None:
        raise _Refused(406, f"{what} is written as {', '.join(own for own, *_ in offered.values())}")
    return form


def _content_type(form: str) -> str:
    media_type = _MEDIA_TYPES[form][0]
    return f"{media_type}; charset=utf-8" if form in {"ttl", "csv", "tsv"} else media_type


def _with_cut(written: WrittenResult, form: str) -> bytes:
    """Say in the beginning of a result what it lacks, where the format has a place for it."""
    content = written.content
    if not written.cut:
        return content
    if form == "json":
        return b'{"incomplete":' + json.dumps(written.cut).encode() + b"," + content[1:]
    if form in {"ttl", "trig", "nt"}:
        return f"# incomplete: {printable(written.cut)}\n".encode() + content
    if form in {"xml", "rdf"}:
        note = f"<!-- incomplete: {printable(written.cut).replace('--', '- -')} -->\n".encode()
        start = _XML_START.match(content)
        end = start.end() if start else 0
        return content[:end] + note + content[end:]
    return content


def _status_of(error: KgsparqlError) -> int:
    if isinstance(error, LimitError) and (limit := error.detail.get("limit")) in _OVER_LIMIT:
        return _OVER_LIMIT[limit]
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def _hint_of(error: KgsparqlError) -> str:
    """Say what the client can do: the options of the command line are not theirs."""
    return "start from an IRI, or ask for less" if isinstance(error, QueryTimeoutError) else error.hint


def _text_response(status: int, message: str, headers: dict[str, str]) -> Response:
    return Response(message + "\n", status, headers, media_type="text/plain")


def _as_ascii(text: str) -> str:
    return printable(text, 300).encode("ascii", "replace").decode()


# -- Which format a client likes best -----------------------------------------------------------------------------


def best_offered(accept: str, offered: Mapping[str, Sequence[str]]) -> str | None:
    """Choose the format that an ``Accept`` header likes best; of equals the first that is offered.

    The most specific range that a media type matches counts, as RFC 9110 has it; an empty header likes everything.

    :param offered: formats, each with its media types: the first is sent, the others count only where they are named.

    >>> offered = {"json": ["application/sparql-results+json", "application/json"], "csv": ["text/csv"]}
    >>> [best_offered(accept, offered) for accept in ("", "text/*;q=.5", "application/json, text/csv", "a/b")]
    ['json', 'csv', 'json', None]
    """
    ranges = dict(_ranges_of(accept)) or {"*/*": 1.0}
    liked = {
        form: max(_quality_of(own, ranges), *(ranges.get(other, 0.0) for other in others), 0.0)
        for form, (own, *others) in offered.items()
    }
    best = max(liked, key=liked.__getitem__)
    return best if liked[best] > 0 else None


def _ranges_of(accept: str) -> Iterator[tuple[str, float]]:
    """Read the media ranges of a header with their qualities; one whose quality is no number is not liked."""
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if not name:
            continue
        named = dict(piece.partition("=")[::2] for piece in parameters)
        try:
            quality = float(named.get("q", "1"))
        except ValueError:
            quality = 0.0
        yield name, quality if 0 <= quality <= 1 else 0.0


def _quality_of(media_type: str, ranges: dict[str, float]) -> float:
    kind = media_type.partition("/")[0]
    return next((ranges[name] for name in (media_type, f"{kind}/*", "*/*") if name in ranges), 0.0)


# -- Queries of many clients --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLimits:
    """What one query may take, and how many there may be.

    :param at_once: queries that run at the same time, each in a process that holds the graph, unless it is a store.
    :param waiting: further ones that wait their turn, at most ``timeout_s`` each.
    :param timeout_s: after which a query is killed.
    :param max_rows: solutions or triples of a result.
    :param max_bytes: bytes of a result before it is written in the format that is asked for.
    """

    at_once: int = 2
    waiting: int = 32
    timeout_s: float = 30.0
    max_rows: int = 100_000
    max_bytes: int = 2**26


@dataclass(frozen=True, slots=True)
class WrittenResult:
    """The bytes of a result in one of its formats; ``cut`` says in a clause that it lacks something, or is empty."""

    content: bytes = field(repr=False)
    rows: int
    cut: str = ""


class BoundedQueries:
    """Runs the queries of many clients, checked and bounded as those of ``kgsparql query``.

    :raises InputError: for several graphs as one: a query of a client's own runs on one.
    """

    def __init__(self, knowledge: KnowledgeBase, *, limits: ServedLimits | None = None) -> None:
        self.limits = limits or ServedLimits()
        self._knowledge = knowledge
        self._waiting = 0
        self._running: set[threading.Event] = set()
        self._slots = asyncio.Semaphore(self.limits.at_once)
        self._threads = ThreadPoolExecutor(self.limits.at_once, thread_name_prefix="sparql")
        self._workers: list[QueryWorker] = []
        self._idle: queue.LifoQueue[Callable[..., QueryResult]] = queue.LifoQueue()  # the last that ran has its graph
        for _ in range(self.limits.at_once):
            self._idle.put(self._new_runner())
        self._described: tuple[str, list[Triple]] = ("", [])
        self._describing = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; queries that still run end, too."""
        for cancel in tuple(self._running):
            cancel.set()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def check(self, text: str) -> CheckedQuery:
        """Check a text as a query that may run; the prefixes of the graph need no declaration."""
        return check(text, prefixes=self._knowledge.prefixes)

    async def run(self, query: CheckedQuery, form: str) -> WrittenResult:
        """Run a query and write its result; if the task is cancelled, the query is killed.

        :param form: a format of :data:`kgsparql.graphs.user_query.FORMATS`.
        :raises LimitError: if too many wait, or it waited too long (``limit`` is ``waiting``).
        :raises KgsparqlError: as :meth:`QueryWorker.run`, :func:`run_on_endpoint` and :func:`serialise`.
        """
        await self._wait_for_turn()
        cancel = threading.Event()
        self._running.add(cancel)
        try:
            work = partial(self._run, query, form, cancel)
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            cancel.set()
            self._running.discard(cancel)
            self._slots.release()

    def described(self, url: str) -> list[Triple]:
        """Describe what is served at a URL, as VoID and service description; counted once."""
        with self._describing:
            if self._described[0] != url:
                self._described = (url, void_triples(self._knowledge.graph, served_at=url))
            return self._described[1]

    async def _wait_for_turn(self) -> None:
        if self._waiting >= self.limits.waiting and self._slots.locked():
            raise LimitError(f"{self._waiting} queries wait already", hint="ask again later", limit="waiting")
        self._waiting += 1
        try:
            await asyncio.wait_for(self._slots.acquire(), self.limits.timeout_s)
        except TimeoutError as error:
            waited = f"the query waited {self.limits.timeout_s:g} s for others to end"
            raise LimitError(waited, hint="ask again later", limit="waiting") from error
        finally:
            self._waiting -= 1

    def _run(self, query: CheckedQuery, form: str, cancel: threading.Event) -> WrittenResult:
        if cancel.is_set():  # a worker that is stopped has to load its graph again
            raise CancelledError("the query was stopped before it began")
        run = self._idle.get()
        try:
            return self._written_result(run, query, form, cancel)
        except KgsparqlError as error:
            failed = error_from(error.to_record())
        finally:
            self._idle.put(run)
        raise failed  # without its frames: what Oxigraph made in this thread must not be freed in another

    def _written_result(
        self, run: Callable[..., QueryResult], query: CheckedQuery, form: str, cancel: threading.Event
    ) -> WrittenResult:
        limits = self.limits
        result = run(
            query, timeout_s=limits.timeout_s, max_rows=limits.max_rows, max_bytes=limits.max_bytes, cancel=cancel
        )
        content = serialise(result, form, prefixes=self._knowledge.prefixes)
        cut = "" if result.complete else f"{result.cut}" + (f": {result.reason}" if result.reason else "")
        return WrittenResult(content, result.rows, cut)

    def _new_runner(self) -> Callable[..., QueryResult]:
        graph, opened = self._knowledge.graph, self._knowledge.opened_with
        if isinstance(graph, EndpointGraph):
            return partial(run_on_endpoint, graph)
        if not isinstance(graph, OxigraphGraph):
            raise InputError("SPARQL is served of one graph", hint="name it alone with -k")
        if opened is None:
            worker = QueryWorker(graph.store)
        else:
            wanted = ("format", "base", "encoding", "skip_bad", "context", "cache")
            sources: Any = opened["sources"]
            worker = QueryWorker(sources, options={name: opened[name] for name in wanted if name in opened})
        self._workers.append(worker)
        return worker.run
