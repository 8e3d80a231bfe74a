"""The SPARQL 1.1 Protocol, read only, over a graph that is open: any SPARQL client can ask a Turtle file.

Queries of many clients run a few at a time, the others wait in a line of bounded length.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from fnmatch import fnmatchcase
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kgsparql.errors import CancelledError, InputError, KgsparqlError, LimitError, QueryTimeoutError
from kgsparql.exploration.counting import graph_info
from kgsparql.graphs.graph import VOID, KnowledgeGraph
from kgsparql.graphs.user_query import FORMATS, CheckedQuery, GraphQueries, check, is_nothing, serialise, why_nothing
from kgsparql.graphs.user_query.checking import Form
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.http.transport import media_type
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import XSD, Json, Literal, PrefixMap, iri, printable
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.resources import ClosedAtExit
from kgsparql.serving.guards import SPARQL_PATH

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

_STATUSES = {"E_SYNTAX": 400, "E_FORBIDDEN_QUERY": 403, "E_OPTION": 406, "E_TIMEOUT": 504}
_STATUSES_BY_EXIT = {2: 400, 5: 502}
_OVER_LIMIT = {"length": 413, "waiting": 503, "memory": 500}
_READ_ONLY = "this endpoint is read-only: it runs SELECT, ASK, CONSTRUCT and DESCRIBE"
_FORM, _QUERY = "application/x-www-form-urlencoded", "application/sparql-query"
_MOST_DESCRIBED = 1_000  # named graphs, classes and predicates
_DESCRIBED_BY = {"sd": "http://www.w3.org/ns/sparql-service-description#", "void": VOID}
_XML_START = re.compile(rb"\A<\?xml[^>]*\?>\s*")


async def _say_health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


HEALTH = Route("/healthz", _say_health)  # says that the server is there


def sparql_route(queries: BoundedQueries) -> Route:
    """Make the route of an endpoint: queries by GET and POST."""
    return Route(SPARQL_PATH, partial(_reply_to, queries), methods=["GET", "POST"])


async def _reply_to(queries: BoundedQueries, request: Request) -> Response:
    """Reply to any request; errors are plain text, with what to do about them.

    Where nothing is asked, that says what the endpoint is and holds.
    """
    try:
        in_url = _query_in(request.scope["query_string"])
        text = await _posted_query(request, in_url) if request.method == "POST" else in_url
        if text is not None:
            return await _result_response(queries, request, text)
        form = best_offered_types(",".join(request.headers.getlist("accept")), _offered_types("CONSTRUCT"))
        if request.method == "POST" or request.scope["query_string"] or form is None:
            raise InputError("there is no query: send it as query=…")
        content = await run_in_threadpool(queries.description, str(request.url), form)
        return Response(content, headers={"Content-Type": _MEDIA_TYPES[form][0], "Vary": "Accept"})
    except KgsparqlError as error:
        refused: Any = error.detail.get("refused") or _OVER_LIMIT.get(str(error.detail.get("limit")))
        status = refused or _STATUSES.get(error.code) or _STATUSES_BY_EXIT.get(error.exit_code, 500)
        # The options of the command line are not the client's.
        hint = "start from an IRI, or ask for less" if isinstance(error, QueryTimeoutError) else error.hint
        headers = {503: {"Retry-After": "5"}, 413: {"Connection": "close"}}.get(status, {})
        return PlainTextResponse("\n".join(filter(None, (error.message, hint))) + "\n", status, headers)


async def _result_response(queries: BoundedQueries, request: Request, text: str) -> Response:
    """Run a query and write its result; if the client goes away, the query is killed."""
    query = await run_in_threadpool(check, text, prefixes=queries.prefixes)
    form = _chosen_format(request, query)
    working = asyncio.ensure_future(queries.run(query, form, is_explained="x-kgsparql-why" in request.headers))
    leaving = asyncio.ensure_future(_client_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return Response(status_code=499)  # nobody reads it
        content, rows, cut, why = await working
    finally:
        working.cancel()
        leaving.cancel()
    kind = _MEDIA_TYPES[form][0] + ("; charset=utf-8" if form in {"ttl", "csv", "tsv"} else "")
    headers = {"Content-Type": kind, "Vary": "Accept", "X-Content-Type-Options": "nosniff"}
    if cut:  # the first is Virtuoso's, which clients know
        shown = printable(cut, 300).encode("ascii", "replace").decode()
        headers |= {"X-SPARQL-MaxRows": str(rows), "X-Kgsparql-Cut": shown}
        content = _with_cut(content, cut, form)
    if why:
        headers |= {"X-Kgsparql-Nothing": printable(why, 1_000).encode("ascii", "replace").decode()}
    return Response(content, headers=headers)


async def _client_left(request: Request) -> None:
    """Return once the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _posted_query(request: Request, in_url: str | None) -> str | None:
    """Read the query of a POST: a form, or the query itself."""
    kind = media_type(request.headers)
    if kind == "application/sparql-update":
        raise InputError(_READ_ONLY, refused=403)
    if kind not in {_FORM, _QUERY}:
        raise InputError(f"send a query as {_FORM} or {_QUERY}", refused=415)
    if kind == _QUERY and in_url is not None:
        raise InputError("there are two queries: in the body and in the URL")
    return (_query_in if kind == _FORM else _decoded_text)(await request.body())


def _query_in(parameters: bytes) -> str | None:
    """Find the query among the parameters of a URL or a form; ``None`` if there is none."""
    try:
        pairs = parse_qsl(_decoded_text(parameters), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:  # also of %-escapes that are not UTF-8
        raise InputError(f"these parameters cannot be read: {printable(error, 120)}") from error
    given = {name for name, _ in pairs}
    if "update" in given:
        raise InputError(_READ_ONLY, refused=403)
    for name in sorted(name for name in given if name.endswith("-graph-uri")):  # those of updates, too
        raise InputError(f"{name} is not supported: queries run over all graphs; write GRAPH <…> {{ }} for one")
    texts = [value for name, value in pairs if name == "query"]
    if len(texts) > 1:
        raise InputError("there is more than one query")
    return texts[0] if texts else None


def _decoded_text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} of the request is not UTF-8") from error


def _with_cut(content: bytes, cut: str, form: str) -> bytes:
    """Say in the beginning of a result what it lacks, where the format has a place for it."""
    if form == "json":
        return b'{"incomplete":' + json.dumps(cut).encode() + b"," + content[1:]
    if form in {"ttl", "trig", "nt"}:
        return f"# incomplete: {printable(cut)}\n".encode() + content
    if form in {"xml", "rdf"}:
        note = f"<!-- incomplete: {printable(cut).replace('--', '- -')} -->\n".encode()
        start = _XML_START.match(content)
        end = start.end() if start else 0
        return content[:end] + note + content[end:]
    return content


def _chosen_format(request: Request, query: CheckedQuery) -> str:
    """Choose the format that the client likes best, of those that there are."""
    offered = _offered_types(query.form)
    form = best_offered_types(",".join(request.headers.getlist("accept")), offered)
    if form is None:
        raise InputError(
            f"the result of {query.form} is written as {', '.join(own for own, *_ in offered.values())}", refused=406
        )
    return form


def _offered_types(form: Form) -> Mapping[str, Sequence[str]]:
    return {one: _MEDIA_TYPES[one] for one in FORMATS[form] if one in _MEDIA_TYPES}


def best_offered_types(accept: str, offered: Mapping[str, Sequence[str]]) -> str | None:
    """Choose the format that an ``Accept`` header likes best; of equals the first that is offered.

    Of an unknown name nothing is liked, nor what has a quality that is no number; an empty header likes everything.

    >>> offered = {"json": ["application/sparql-results+json", "application/json"], "csv": ["text/csv"]}
    >>> [best_offered_types(accept, offered) for accept in ("", "text/*;q=.5", "application/json, text/csv", "a/b")]
    ['json', 'csv', 'json', None]
    """
    ranges = sorted(_ranges_of(accept or "*/*"), key=lambda one: one[0].count("*"))  # the most specific counts
    liked = {
        form: next((quality for name, quality in ranges if name in others or fnmatchcase(own, name)), 0.0)
        for form, (own, *others) in offered.items()
    }
    best = max(liked, key=liked.__getitem__)
    return best if liked[best] > 0 else None


def _ranges_of(accept: str) -> Iterator[tuple[str, float]]:
    """Read the media ranges of a header with their qualities."""
    for part in accept.lower().split(","):
        name, _, parameters = part.partition(";")
        quality = re.search(r"\bq\s*=\s*(\d+\.?\d*|\.\d+|)", parameters)
        yield name.strip(), 1.0 if quality is None else float(quality[1] or 0)


def _description_lines(url: str, facts: Json) -> Iterator[str]:
    """Yield the triples that describe an endpoint, and the default graph with what was counted in it."""
    sd, void, type_ = _DESCRIBED_BY["sd"], _DESCRIBED_BY["void"], f"<{RDF_TYPE.value}>"
    formats = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "Turtle", "N-Triples")
    yield f"_:service {type_} <{sd}Service> .\n_:service <{sd}endpoint> {iri(url)} .\n"
    yield f"_:service <{sd}supportedLanguage> <{sd}SPARQL11Query> .\n"
    yield f"_:service <{sd}feature> <{sd}UnionDefaultGraph> .\n"
    yield from (f"_:service <{sd}resultFormat> <http://www.w3.org/ns/formats/{one}> .\n" for one in formats)
    yield f"_:service <{sd}defaultDataset> _:dataset .\n_:dataset <{sd}defaultGraph> _:graph .\n"
    for at, name in enumerate(facts.get("named_graphs", ())):
        yield f"_:dataset <{sd}namedGraph> _:named{at} .\n_:named{at} <{sd}name> {iri(name)} .\n"
    if facts:
        yield f"_:graph {type_} <{void}Dataset> .\n_:graph <{void}triples> {Literal(facts['triples'])} .\n"
    for what, kind, counted in (("classes", "class", "entities"), ("predicates", "property", "triples")):
        for at, one in enumerate(facts.get(what, ())):
            part = f"_:{kind}{at}"
            yield f"_:graph <{void}{kind}Partition> {part} .\n{part} <{void}{kind}> {one['term']} .\n"
            yield f"{part} <{void}{counted}> {Literal(one['count'])} .\n"


class BoundedQueries(ClosedAtExit):
    """Runs the queries of many clients on one graph, checked and bounded as those of ``kgsparql query``.

    :param at_once: queries that run at the same time, each in a process that shares the memory of this one.
    :param waiting: further ones that wait their turn, at most ``timeout_s`` each.
    :param max_bytes: bytes of a result before it is written in the format that is asked for.
    """

    def __init__(
        self, knowledge: KnowledgeBase, *, at_once: int = 2, waiting: int = 32, timeout_s: float = 30.0,
        max_rows: int = 100_000, max_bytes: int = 2**26,
    ) -> None:  # fmt: skip
        self._most_waiting, self._timeout_s = waiting, timeout_s
        self._limits: Json = {"timeout_s": timeout_s, "max_rows": max_rows, "max_bytes": max_bytes}
        self.prefixes = knowledge.prefixes  # of a query, which need no declaration
        self._waiting = 0
        self._running: set[threading.Event] = set()
        self._slots = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="sparql")
        self._knowledge = knowledge
        self._describing = threading.Lock()
        self._described: tuple[KnowledgeGraph, Json] | None = None

    def description(self, url: str, form: str) -> bytes:
        """Write a SPARQL 1.1 service description, with VoID of a graph on this machine, which is counted once."""
        graph = self._knowledge.graph
        with self._describing:
            if self._described is None or self._described[0] is not graph:
                count = partial(graph_info, graph, lambda _: {}, PrefixMap({}), shown=_MOST_DESCRIBED)
                self._described = graph, count() if graph.is_embedded else {}
            lines = [*_description_lines(url, self._described[1])]
        result = QueryResult("CONSTRUCT", "".join(lines).encode(), len(lines))
        return serialise(result, form, prefixes=PrefixMap({**_DESCRIBED_BY, "xsd": XSD}))

    def close(self) -> None:
        """End the queries that still run."""
        for cancel in tuple(self._running):
            cancel.set()
        self._threads.shutdown(cancel_futures=True)

    async def run(self, query: CheckedQuery, form: str, *, is_explained: bool) -> tuple[bytes, int, str, str]:
        """Run a query; return its result in a format, its rows, a clause that says what it lacks, and why it is empty.

        :raises KgsparqlError: as :meth:`GraphQueries.run_checked` and :func:`serialise`.
        """
        await self._wait_for_turn()
        cancel = threading.Event()
        self._running.add(cancel)
        try:
            run_in_thread = asyncio.get_running_loop().run_in_executor
            return await run_in_thread(self._threads, self._run_query, query, form, cancel, is_explained)
        finally:
            cancel.set()
            self._running.discard(cancel)
            self._slots.release()

    async def _wait_for_turn(self) -> None:
        if self._waiting >= self._most_waiting and self._slots.locked():
            raise LimitError(f"{self._waiting} queries wait already", hint="ask again later", limit="waiting")
        self._waiting += 1
        try:
            await asyncio.wait_for(self._slots.acquire(), self._timeout_s)
        except TimeoutError as error:
            waited = f"the query waited {self._timeout_s:g} s for others to end"
            raise LimitError(waited, hint="ask again later", limit="waiting") from error
        finally:
            self._waiting -= 1

    def _run_query(
        self, query: CheckedQuery, form: str, cancel: threading.Event, is_explained: bool
    ) -> tuple[bytes, int, str, str]:
        if cancel.is_set():
            raise CancelledError("the query was stopped before it began")
        run = GraphQueries(self._knowledge.graph).run_checked
        try:
            result = run(query, cancel=cancel, **self._limits)
            cut = "" if result.complete else f"{result.cut}" + (f": {result.reason}" if result.reason else "")
            why = why_nothing(query, run, self.prefixes) if is_explained and is_nothing(result) else ""
            return serialise(result, form, prefixes=self.prefixes), result.rows, cut, why
        except KgsparqlError as error:
            failed = copy(error)
        raise failed  # without its frames: what Oxigraph made in this thread must not be freed in another
