"""``serve`` and ``mcp``: a page in the browser, a SPARQL endpoint, and tools over the Model Context Protocol."""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import sys
from collections.abc import Iterator, Sequence
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
    HostOption,
    LimitOptions,
    LogOption,
    MethodOption,
    ModelOptions,
    options_of,
)
from kgsparql.cli._settings import settings
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase

TOKEN_VARIABLE = "KGSPARQL_TOKEN"  # noqa: S105 - its name
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ServedMethodOptions:
    """How questions are answered that a page or a client asks."""

    retriever: Annotated[
        str, typer.Option("-r", "--retriever", metavar="NAME", help="The method, unless the page says otherwise.")
    ] = "auto"
    option: MethodOption = None
    embedder: c.EmbedderOption = "auto"
    lang: c.LangOption = "en"

    @contextmanager
    def opened(
        self, graph: GraphOptions, model: ModelOptions, limits: LimitOptions, *, has_graph: bool = True
    ) -> Iterator[tuple[KnowledgeBase | None, AskOptions]]:
        """Open what is asked, and say how it is asked."""
        from kgsparql.answering.ask_options import AskOptions
        from kgsparql.retrievers import load

        options, languages = options_of(self.option), c.languages(self.lang)
        load(self.retriever, options)  # a wrong name or option is said before a graph is loaded
        used = model.opened()
        asking = AskOptions(retriever=self.retriever, options=options, budget=limits.budget(), model=used)
        opened = graph.opened(languages=languages, embedder=self.embedder, fresh=model.fresh)
        with used or nullcontext(), opened if has_graph else nullcontext() as knowledge:
            yield knowledge, asking


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Where the page listens, and what it offers."""

    host: HostOption = "127.0.0.1"
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")] = 8080
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
def serve(
    graph: GraphOptions, how: ServeOptions, method: ServedMethodOptions, model: ModelOptions, limits: LimitOptions
) -> None:
    """Open a page that answers questions in the browser, and ties each sentence to its triples.

    Without a graph it shows only runs that were kept. Beside it, at /sparql, one graph is a read-only SPARQL endpoint.
    With --log people rate the answers on it. It binds 127.0.0.1; stop it with Ctrl-C.
    """
    _check_installed("jinja2", "sse_starlette", "starlette", "uvicorn", extra="serve")
    if "-" in (graph.kg or ()):
        raise InputError("a page does not read its graph from stdin", hint="put the graph in a file")
    token = token_for(how.host)
    guard: dict[str, Any] = {"host": how.host, "token": token, "origins": origins_of(how.cors, token=token)}
    from kgsparql.serving.guards import Guard
    from kgsparql.serving.sparql import BoundedQueries, sparql_only_app, sparql_routes

    bounded = partial(BoundedQueries, timeout_s=how.timeout, max_rows=how.max_rows)
    with ExitStack() as stack:
        if how.sparql_only:
            knowledge = stack.enter_context(graph.opened(embedder="none"))
            queries = stack.enter_context(bounded(knowledge))
            listening = stack.enter_context(listening_at(how.host, how.port))
            port = listening.getsockname()[1]
            c.write(address_of(how.host, port) + "/sparql", None)
            c.say(f"clients send the header Authorization: Bearer {shown_token(token)}" if token else "")
            serve_app(Guard(sparql_only_app(queries), port=port, **guard), listening)
            return
        from kgsparql.resources import cache_directory
        from kgsparql.serving.app import ServedPage
        from kgsparql.serving.runs import FOLDER, KeptRuns, RunLog

        run_log = stack.enter_context(closing(RunLog(how.log))) if how.log else None
        has_graph = bool(settings().named_sources(graph.kg))
        served, asking = stack.enter_context(method.opened(graph, model, limits, has_graph=has_graph))
        listening = stack.enter_context(listening_at(how.host, how.port))
        is_one = served is not None and len(served.graph.members) == 1  # a query of a client's own runs on one
        routes = sparql_routes(stack.enter_context(bounded(served))) if served is not None and is_one else ()
        page = ServedPage(
            served, asking, KeptRuns(cache_directory() / FOLDER), log=run_log, needs_token=bool(token), routes=routes,
            workers=how.workers,
        )  # fmt: skip
        graph.say("" if asking.model or model.no_model else HOW_TO_ADD)
        graph.say("" if served else "no graph: only kept runs are shown; name one with -k data.ttl")
        port = listening.getsockname()[1]
        c.write(address_of(how.host, port) + (f"/?token={shown_token(token)}" if token else "/"), None)
        serve_app(Guard(page.app, port=port, **guard), listening)


@c.command
def mcp(
    graph: GraphOptions,
    method: ServedMethodOptions,
    model: ModelOptions,
    limits: LimitOptions,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdin and stdout.")] = False,
    host: HostOption = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="With --http: 0 takes one that is free.")
    ] = 8000,
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
        knowledge, asking = stack.enter_context(method.opened(graph, model, limits))
        assert knowledge is not None  # noqa: S101 - a graph is named
        if listening is None:
            serve_stdio(Toolbox(knowledge, asking))
            return
        bound = listening.getsockname()[1]
        c.write(f"{address_of(host, bound)}/mcp", None)
        c.say(f"every request needs: Authorization: Bearer {shown_token(token)}" if token else "")
        serve_app(http_app(Toolbox(knowledge, asking), host=host, port=bound, token=token), listening)


def _check_installed(*packages: str, extra: str) -> None:
    for package in packages:
        try:
            import_module(package)
        except ImportError as error:
            hint = f"pip install 'kgsparql[{extra}]'"
            raise OptionError(f"the package {error.name} is not installed", hint=hint) from error


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
    """Read the sites that ``--cors`` names, as browsers write them."""
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
        # Whoever reads the address may come before the server is ready.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        message = f"cannot listen at {printable(host, 100)} port {port}: {error.strerror or error}"
        hint = f"another port: --port {port + 1}, or --port 0 for one that is free"
        raise InputError(message, hint=hint) from error


def address_of(host: str, port: int) -> str:
    """Write the URL of a server."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_app(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
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
