"""The SPARQL 1.1 Protocol, read only, over a graph that is open: any SPARQL client can ask a Turtle file."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from kgsparql.errors import (
    EndpointTimeoutError,
    ForbiddenQueryError,
    InputError,
    KgsparqlError,
    LimitError,
    OptionError,
    QuerySyntaxError,
    QueryTimeoutError,
    UnreachableError,
)
from kgsparql.graphs.user_query import FORMATS, QueryResult, serialise
from kgsparql.rdf.terms import printable
from kgsparql.serving.bounded_queries import BoundedQueries, WrittenResult
from kgsparql.serving.guards import MOST_QUERY_BYTES, SPARQL_PATH
from kgsparql.serving.media_types import best_offered

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


def sparql_routes(queries: BoundedQueries, *, path: str = SPARQL_PATH) -> list[Route]:
    """The routes of an endpoint at a path: queries by GET and POST; without a query, its service description.

    Which pages of other sites may read the replies is for the guard of all requests to say.
    """
    return [Route(path, _Protocol(queries).reply, methods=["GET", "POST", "OPTIONS"])]


def sparql_only_app(queries: BoundedQueries, *, middleware: Sequence[Middleware] = ()) -> Starlette:
    """An application that has nothing but the endpoint at ``/sparql`` and ``/healthz``.

    :param middleware: checks of every request: of Host, Origin and token.
    """
    return Starlette(routes=[*sparql_routes(queries), Route("/healthz", _healthy)], middleware=middleware)


async def _healthy(_: Request) -> Response:
    return Response('{"status":"ok"}', media_type="application/json")


@dataclass(frozen=True, slots=True)
class _Protocol:
    queries: BoundedQueries

    async def reply(self, request: Request) -> Response:
        """The reply to any request; errors are plain text, with what to do about them."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": "GET, HEAD, POST, OPTIONS"})
        try:
            text = _query_in(request.scope["query_string"]) if request.method != "POST" else await _posted(request)
            if text is None:
                return await self._description(request)
            return await self._result(request, text)
        except _Refused as refused:
            return _told(refused.status, str(refused), refused.headers)
        except KgsparqlError as error:
            status = _status(error)
            headers = {"Retry-After": str(_RETRY_S)} if status == 503 else {}
            return _told(status, "\n".join(filter(None, (error.message, _hint(error)))), headers)

    async def _result(self, request: Request, text: str) -> Response:
        query = await run_in_threadpool(self.queries.check, text)
        form = _chosen(
            request, [name for name in FORMATS[query.form] if name != "table"], f"the result of {query.form}"
        )
        written = await _while_connected(request, self.queries.run(query, form))
        if written is None:
            return Response(status_code=499)  # nobody reads it
        headers = {"Vary": "Accept", "X-Content-Type-Options": "nosniff"}
        if written.cut:  # the first is Virtuoso's, which clients know
            headers |= {"X-SPARQL-MaxRows": str(written.rows), "X-Kgsparql-Cut": _ascii(written.cut)}
        return Response(_with_cut(written, form), headers={**headers, "Content-Type": _content_type(form)})

    async def _description(self, request: Request) -> Response:
        form = _chosen(request, FORMATS["CONSTRUCT"], "the service description")
        triples = await run_in_threadpool(self.queries.described, str(request.url.replace(query="", fragment="")))
        lines = "".join(f"{triple} .\n" for triple in triples).encode()
        content = await run_in_threadpool(serialise, QueryResult("CONSTRUCT", lines, len(triples)), form)
        return Response(content, headers={"Vary": "Accept", "Content-Type": _content_type(form)})


async def _while_connected(request: Request, work: Awaitable[_T]) -> _T | None:
    """The result of some work, which is cancelled if the client goes away; then ``None``."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    """Return once the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _posted(request: Request) -> str:
    """The query of a POST: a form, or the query itself."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/sparql-update":
        raise _Refused(403, _READ_ONLY)
    if kind not in {_FORM, "application/sparql-query"}:
        raise _Refused(415, f"send a query as {_FORM} or application/sparql-query")
    body = await _body(request)
    if kind == _FORM:
        text = _query_in(body)
    else:
        if _query_in(request.scope["query_string"]) is not None:
            raise _Refused(400, "there are two queries: in the body and in the URL")
        text = _utf8(body)
    if text is None:
        raise _Refused(400, "there is no query: send it as query=…")
    return text


async def _body(request: Request) -> bytes:
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
    """The query among the parameters of a URL or a form; ``None`` if there is none."""
    try:
        pairs = parse_qsl(_utf8(parameters), keep_blank_values=True, errors="strict", max_num_fields=100)
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


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Refused(400, f"byte {error.start} of the request is not UTF-8") from error


def _chosen(request: Request, forms: Iterable[str], what: str) -> str:
    """The format that the client likes best, of those that there are."""
    offered = {form: _MEDIA_TYPES[form] for form in forms}
    form = best_offered(",".join(request.headers.getlist("accept")), offered)
    if form is None:
        raise _Refused(406, f"{what} is written as {', '.join(own for own, *_ in offered.values())}")
    return form


def _content_type(form: str) -> str:
    media_type = _MEDIA_TYPES[form][0]
    return f"{media_type}; charset=utf-8" if form in {"ttl", "csv", "tsv"} else media_type


def _with_cut(written: WrittenResult, form: str) -> bytes:
    """The result, with what it lacks said in its beginning, where the format has a place for it."""
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


def _status(error: KgsparqlError) -> int:
    if isinstance(error, LimitError) and (limit := error.detail.get("limit")) in _OVER_LIMIT:
        return _OVER_LIMIT[limit]
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def _hint(error: KgsparqlError) -> str:
    """What the client can do: the options of the command line are not theirs."""
    return "start from an IRI, or ask for less" if isinstance(error, QueryTimeoutError) else error.hint


def _told(status: int, message: str, headers: dict[str, str]) -> Response:
    return Response(message + "\n", status, headers, media_type="text/plain")


def _ascii(text: str) -> str:
    return printable(text, 300).encode("ascii", "replace").decode()
