"""``serve`` and ``mcp``: a page in the browser, a SPARQL endpoint, and tools over the Model Context Protocol."""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kgsparql.cli import _common as c
from kgsparql.cli._options import (
    HOW_TO_ADD,
    GraphOptions,
    HostOption,
    LimitOptions,
    LogOption,
    MethodOption,
    ModelOptions,
    opened_to_ask,
)
from kgsparql.dataclasses import frozen
from kgsparql.errors import InputError, OptionError, not_installed
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory

if TYPE_CHECKING:
    from starlette.types import ASGIApp


TOKEN_VARIABLE = "KGSPARQL_TOKEN"  # noqa: S105 - its name


@frozen
class ServedMethodOptions:
    """How questions are answered that a page or a client asks."""

    retriever: Annotated[str, c.option("-r --retriever NAME", "The method, unless the page says otherwise.")] = "auto"
    option: MethodOption = None
    embedder: c.EmbedderOption = "auto"
    lang: c.LangOption = "en"


@frozen
class ServeOptions:
    """Where the page listens, and what it offers."""

    host: HostOption = "127.0.0.1"
    port: Annotated[int, c.option("--port", "0 takes one that is free.", min=0, max=65535)] = 8080
    workers: Annotated[int, c.option("--workers", "Questions that are answered at the same time.", min=1, max=64)] = 4
    log: LogOption = None
    dataset: Annotated[
        list[str] | None,
        c.option("--dataset IRI", "What clients of TEXT2SPARQL call the graph, beside its own name; repeatable."),
    ] = None
    timeout: Annotated[float, c.option("--timeout SECONDS", "Stop a query at /sparql then.", min=0.1)] = 30.0
    max_rows: Annotated[
        int, c.option("--max-rows", "Of a query at /sparql, keep at most so many solutions.", min=1)
    ] = 100_000


@c.command
def serve(
    graph: GraphOptions, how: ServeOptions, method: ServedMethodOptions, model: ModelOptions, limits: LimitOptions
) -> None:
    """Open a page that answers questions in the browser, and ties each sentence to its triples.

    Beside it, at /sparql, one graph is a read-only SPARQL endpoint.
    It binds 127.0.0.1; stop it with Ctrl-C.
    """
    if "-" in graph.sources:
        raise InputError("a page does not read its graph from stdin", hint="put the graph in a file")
    token = token_for(how.host)
    try:
        import uvicorn  # noqa: F401 - as long as nothing is opened

        from kgsparql.serving.app import ServedPage
        from kgsparql.serving.guards import Guard
        from kgsparql.serving.runs import FOLDER, KeptRuns
        from kgsparql.serving.sparql import BoundedQueries
    except ImportError as missing:
        raise not_installed(missing, "serve") from missing

    with ExitStack() as stack:
        served, asking = stack.enter_context(opened_to_ask(graph, model, limits, method))
        queries = stack.enter_context(BoundedQueries(served, timeout_s=how.timeout, max_rows=how.max_rows))
        named = served.graph.name
        datasets = [*(how.dataset or ()), *(graph.kg or ()), named]
        datasets += [] if served.graph.is_remote else [Path(named).absolute().as_uri()]
        app = ServedPage(
            served, asking, KeptRuns(cache_directory() / FOLDER), queries, log=how.log,
            workers=how.workers, datasets=dict.fromkeys(datasets),
        ).app  # fmt: skip
        graph.say("" if asking.model or model.no_model else HOW_TO_ADD)
        _serve_at(how.host, how.port, "/", token, lambda port: Guard(app, host=how.host, port=port, token=token))


@c.command
def mcp(
    graph: GraphOptions, method: ServedMethodOptions, model: ModelOptions, limits: LimitOptions,
    http: Annotated[bool, c.option("--http", "Serve over HTTP instead of stdin and stdout.")] = False,
    host: HostOption = "127.0.0.1",
    port: Annotated[int, c.option("--port", "With --http: 0 takes one that is free.", min=0, max=65535)] = 8000,
) -> None:  # fmt: skip
    """Serve a graph to a chat client or an agent, as tools over the Model Context Protocol.

    A client starts this command and speaks to it on stdin and stdout; with --http it serves many, at /mcp. The tools
    only read: ask, find, show, paths, plan, query and info.
    """
    try:
        from kgsparql.serving.mcp import http_app, serve_stdio
        from kgsparql.serving.tools import Toolbox
    except ImportError as missing:
        raise not_installed(missing, "mcp") from missing
    if "-" in graph.sources:
        raise InputError("the graph cannot come from stdin, where the client speaks", hint="put the graph in a file")
    token = token_for(host) if http else ""
    with opened_to_ask(graph, model, limits, method) as (knowledge, asking):
        toolbox = Toolbox(knowledge, asking)
        if http:
            _serve_at(host, port, "/mcp", token, lambda bound: http_app(toolbox, host=host, port=bound, token=token))
        else:
            serve_stdio(toolbox)


def token_for(host: str) -> str:
    """Return the token that requests need: from the environment, else one made for an address that others can reach."""
    given = os.environ.get(TOKEN_VARIABLE, "")
    if given and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", given):
        raise OptionError(
            f"{TOKEN_VARIABLE} is too short, or has other characters", hint="16 or more of A-Z a-z 0-9 - _"
        )
    return given or ("" if host in {"127.0.0.1", "::1", "localhost"} else secrets.token_urlsafe(24))


def _serve_at(host: str, port: int, path: str, token: str, app_at: Callable[[int], ASGIApp]) -> None:
    """Say where it is served, and serve the application of that port until Ctrl-C; a token is in the page's address."""
    import uvicorn

    is_v6, is_page = ":" in host, path == "/"
    try:  # whoever reads the address may come before the server is ready
        listening = socket.create_server((host, port), family=socket.AF_INET6 if is_v6 else socket.AF_INET, backlog=128)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each reply of a connection waits 40 ms
    except OSError as error:
        message = f"cannot listen at {printable(host, 100)} port {port}: {error.strerror or error}"
        raise InputError(message, hint=f"another port: --port {port + 1}, or --port 0 for one that is free") from error
    with listening:
        bound = listening.getsockname()[1]
        # One that was made is printed, since nobody knows it; of the user's own, the name of the variable.
        shown = f"${TOKEN_VARIABLE}" if os.environ.get(TOKEN_VARIABLE) else token
        address = f"http://{f'[{host}]' if is_v6 else host}:{bound}{path}"
        c.write(f"{address}?token={shown}" if token and is_page else address, None)
        c.say(f"every request needs: Authorization: Bearer {shown}" if token and not is_page else "")
        settings = uvicorn.Config(
            app_at(bound), http="h11", ws="none", log_level="warning", access_log=False,
            server_header=False, limit_concurrency=256, timeout_keep_alive=5, timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=32_768,
        )  # fmt: skip
        sys.setswitchinterval(0.0005)  # so long a thread that computes keeps others waiting; /healthz is to reply
        server = uvicorn.Server(settings)
        # After Ctrl-C what is cancelled is no error of anybody's.
        logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
        with suppress(KeyboardInterrupt):  # how a server is stopped
            server.run(sockets=[listening])
