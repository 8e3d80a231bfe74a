"""``serve`` and ``mcp``: a page in the browser, a SPARQL endpoint, and tools over the Model Context Protocol."""

from __future__ import annotations

import os
import re
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import (
    HOW_TO_ADD,
    GraphOptions,
    LimitOptions,
    LogOption,
    MethodOption,
    ModelOptions,
    options_of,
)
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import ASGIApp

    from kgsparql.answering.answer import Answer
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase

TOKEN_VARIABLE = "KGSPARQL_TOKEN"  # noqa: S105 - its name
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Where the page listens, and what it offers."""

    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help=f"Another address than this machine's own; needs {TOKEN_VARIABLE}, or makes a token.",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")] = 8080
    retriever: Annotated[
        str, typer.Option("-r", "--retriever", metavar="NAME", help="The method, unless the page says otherwise.")
    ] = "auto"
    option: MethodOption = None
    embedder: c.EmbedderOption = "auto"
    lang: c.LangOption = "en"
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Questions that are answered at the same time.")
    ] = 4
    log: LogOption = None
    sparql_only: Annotated[
        bool, typer.Option("--sparql-only", help="No page: a read-only SPARQL endpoint at /sparql, for any client.")
    ] = False
    cors: Annotated[
        list[str] | None,
        typer.Option(
            "--cors",
            metavar="ORIGIN",
            help="A site whose pages may ask /sparql: https://yasgui.org; repeatable. * is any, without a token.",
        ),
    ] = None
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Stop a query at /sparql then.")
    ] = 30.0
    max_rows: Annotated[
        int, typer.Option("--max-rows", min=1, help="Of a query at /sparql, keep at most so many solutions.")
    ] = 100_000


@c.command
def serve(graph: GraphOptions, model: ModelOptions, limits: LimitOptions, *, how: ServeOptions) -> None:
    """Open a page that answers questions in the browser, and ties each sentence to its triples.

    Without a graph it shows only runs that were kept. Beside it, at /sparql, one graph is a read-only SPARQL endpoint.
    With --log people rate the answers on it. It binds 127.0.0.1; stop it with Ctrl-C.
    """
    _check_installed("jinja2", "sse_starlette", "starlette", "uvicorn", extra="serve")
    if "-" in (graph.kg or ()):
        raise InputError("a page does not read its graph from stdin", hint="put the graph in a file")
    token = token_for(how.host)
    guard: dict[str, Any] = {"host": how.host, "token": token, "origins": origins_of(how.cors, token=token)}
    if how.sparql_only:
        _serve_sparql(graph, how, guard)
        return
    from kgsparql.resources import cache_directory
    from kgsparql.serving.app import ServedPage, make_app
    from kgsparql.serving.runs import FOLDER, KeptRuns, RunLog

    has_graph = bool(graph.kg or os.environ.get("KGSPARQL_KG"))
    with ExitStack() as stack:
        run_log = stack.enter_context(closing(RunLog(how.log))) if how.log else None
        knowledge, asking = stack.enter_context(
            _opened_with(graph, model, limits, how.retriever, how.option, how.embedder, how.lang, has_graph=has_graph)
        )
        listening = stack.enter_context(listening_at(how.host, how.port))
        page = ServedPage(
            knowledge=knowledge, asking=asking, kept=KeptRuns(cache_directory() / FOLDER), renderers=_file_renderers(),
            log=run_log, port=listening.getsockname()[1], workers=how.workers,
            routes=_sparql_routes(knowledge, how, stack), **guard,
        )  # fmt: skip
        graph.say("" if asking.model or model.no_model else HOW_TO_ADD)
        graph.say("" if knowledge else "no graph: only kept runs are shown; name one with -k data.ttl")
        address = address_of(page.host, page.port)
        c.write(address + (f"/?token={shown_token(token)}" if token else "/"), None)
        serve_app(make_app(page), listening)


@c.command
def mcp(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdin and stdout.")] = False,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help=f"With --http: another address than this machine's own; needs {TOKEN_VARIABLE}, or makes a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="With --http: 0 takes one that is free.")
    ] = 8000,
    retriever: Annotated[str, typer.Option("-r", "--retriever", metavar="NAME", help="The method of ask.")] = "auto",
    option: MethodOption = None,
    embedder: c.EmbedderOption = "auto",
    lang: c.LangOption = "en",
) -> None:
    """Serve a graph to a chat client or an agent, as tools over the Model Context Protocol.

    A client starts this command and speaks to it on stdin and stdout; with --http it serves many, at /mcp. The tools
    only read: ask, find, show, paths, plan, query and info.
    """
    _check_installed("mcp", extra="mcp")
    from kgsparql.serving.mcp import http_app, serve_stdio
    from kgsparql.serving.tools import Toolbox

    if "-" in graph.sources:
        raise InputError("the graph cannot come from stdin, where the client speaks", hint="put the graph in a file")
    token = token_for(host) if http else ""
    with ExitStack() as stack:
        listening = stack.enter_context(listening_at(host, port)) if http else None
        knowledge, asking = stack.enter_context(_opened_with(graph, model, limits, retriever, option, embedder, lang))
        assert knowledge is not None  # noqa: S101 - a graph is named
        if listening is None:
            serve_stdio(Toolbox(knowledge, asking))
            return
        bound = listening.getsockname()[1]
        c.write(f"{address_of(host, bound)}/mcp", None)
        c.say(f"every request needs: Authorization: Bearer {shown_token(token)}" if token else "")
        serve_app(http_app(Toolbox(knowledge, asking), host=host, port=bound, token=token), listening)


@contextmanager
def _opened_with(
    graph: GraphOptions, model: ModelOptions, limits: LimitOptions, retriever: str, option: list[str] | None,
    embedder: str, lang: str, *, has_graph: bool = True,
) -> Iterator[tuple[KnowledgeBase | None, AskOptions]]:  # fmt: skip
    """Open what is asked, and say how it is asked."""
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.retrievers import load

    options, languages = options_of(option), c.languages(lang)
    load(retriever, options)  # a wrong name or option is said before a graph is loaded
    opened_model = model.opened()
    asking = AskOptions(retriever=retriever, options=options, budget=limits.budget(), model=opened_model)
    opened = graph.opened(languages=languages, embedder=embedder, fresh=model.fresh) if has_graph else nullcontext()
    with opened_model or nullcontext(), opened as knowledge:
        yield knowledge, asking


def _serve_sparql(graph: GraphOptions, how: ServeOptions, guard: Mapping[str, Any]) -> None:
    """Serve the SPARQL endpoint alone, until Ctrl-C."""
    from starlette.middleware import Middleware

    from kgsparql.serving.guards import Guard
    from kgsparql.serving.sparql import BoundedQueries, ServedLimits, sparql_only_app

    with (
        graph.opened(embedder="none") as knowledge,
        BoundedQueries(knowledge, limits=ServedLimits(timeout_s=how.timeout, max_rows=how.max_rows)) as queries,
        listening_at(how.host, how.port) as listening,
    ):
        bound = listening.getsockname()[1]
        c.write(address_of(how.host, bound) + "/sparql", None)
        if guard["token"]:
            c.say(f"clients send the header Authorization: Bearer {shown_token(guard['token'])}")
        serve_app(sparql_only_app(queries, middleware=[Middleware(Guard, port=bound, **guard)]), listening)


def _sparql_routes(knowledge: KnowledgeBase | None, how: ServeOptions, stack: ExitStack) -> tuple[Route, ...]:
    """Make the endpoint beside the page; none over several graphs, since a query of a client's own runs on one."""
    from kgsparql.serving.sparql import BoundedQueries, ServedLimits, sparql_routes

    if knowledge is None or len(knowledge.graph.members) > 1:
        return ()
    limits = ServedLimits(timeout_s=how.timeout, max_rows=how.max_rows)
    return tuple(sparql_routes(stack.enter_context(BoundedQueries(knowledge, limits=limits))))


def _check_installed(*packages: str, extra: str) -> None:
    for package in packages:
        try:
            import_module(package)
        except ImportError as error:
            hint = f"pip install 'kgsparql[{extra}]'"
            raise OptionError(f"the package {error.name} is not installed", hint=hint) from error


def _file_renderers() -> Mapping[str, Callable[[Answer], str]]:
    from kgsparql.rendering import render

    return {form: partial(render, form=form) for form in ("md", "trig", "svg")}


# -- Who may ask, and where ---------------------------------------------------------------------------------------


def token_for(host: str) -> str:
    """Return the token that requests need: from the environment, else one made for an address that others can reach."""
    given = os.environ.get(TOKEN_VARIABLE, "")
    if given and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", given):
        hint = "16 or more of A-Z a-z 0-9 - _"
        raise OptionError(f"{TOKEN_VARIABLE} is too short, or has other characters", hint=hint)
    return given or ("" if host in {"127.0.0.1", "::1", "localhost"} else secrets.token_urlsafe(24))


def shown_token(token: str) -> str:
    """Return what is printed for a token: itself if it was made, since nobody knows it; else the variable's name."""
    return f"${TOKEN_VARIABLE}" if os.environ.get(TOKEN_VARIABLE) else token


def origins_of(given: Sequence[str] | None, *, token: str) -> frozenset[str]:
    """Read the sites that ``--cors`` names, as browsers write them.

    >>> origins_of(["https://YASGUI.org", "http://localhost:3000"], token="") == {
    ...     "https://yasgui.org", "http://localhost:3000"}
    True
    """
    for text in given or ():
        if text == "*" and token:
            raise OptionError("--cors *: with a token, any site is too many", hint="name each: --cors https://e.org")
        if text != "*" and not _ORIGIN.fullmatch(text):
            hint = "scheme and host, with a port where it is another: --cors https://e.org"
            raise OptionError(f"--cors {printable(text, 100)}: this is no origin", hint=hint)
    return frozenset(map(str.lower, given or ()))


def listening_at(host: str, port: int) -> socket.socket:
    """Listen there, so that a port that is taken is said before anything else."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on Windows it would let two programs listen at one port
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(128)  # whoever reads the address may come before the server is ready
        except OSError:
            made.close()
            raise
    except OSError as error:
        raise InputError(
            f"cannot listen at {printable(host, 100)} port {port}: {error.strerror or error}",
            hint=f"another port: --port {port + 1}, or --port 0 for one that is free",
        ) from error
    return made


def address_of(host: str, port: int) -> str:
    """Write the URL of a server.

    >>> address_of("::1", 8080)
    'http://[::1]:8080'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_app(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    import logging

    import uvicorn

    from kgsparql.serving.guards import PunctualConnection

    settings = uvicorn.Config(
        app, http=PunctualConnection, ws="none", log_level="warning", access_log=False, server_header=False,
        limit_concurrency=256, timeout_keep_alive=5, timeout_graceful_shutdown=1, h11_max_incomplete_event_size=32_768,
    )  # fmt: skip
    sys.setswitchinterval(0.0005)  # a thread that computes keeps others waiting so long; /healthz is to reply meanwhile
    server = uvicorn.Server(settings)
    # After Ctrl-C what is cancelled is no error of anybody's.
    logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
    with suppress(KeyboardInterrupt):  # how a server is stopped
        server.run(sockets=[listening])
