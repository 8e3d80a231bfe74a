"""``kgsparql mcp``: the tools of a graph for programs that speak the Model Context Protocol."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._method_options import options_of
from kgsparql.cli._model_options import LimitOptions, ModelOptions
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.serving.tools import Toolbox

_TOKEN_VARIABLE = "KGSPARQL_TOKEN"  # noqa: S105 - its name


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
            help=f"With --http: another address than this machine's own; needs {_TOKEN_VARIABLE}, or makes a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="With --http: 0 takes one that is free.")
    ] = 8000,
    retriever: Annotated[str, typer.Option("-r", "--retriever", metavar="NAME", help="The method of ask.")] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option("-O", "--option", metavar="NAME=VALUE", help="An option of the method; repeatable."),
    ] = None,
    embedder: c.EmbedderOption = "auto",
    lang: c.LangOption = "en",
) -> None:
    """Serve a graph to a chat client or an agent, as tools over the Model Context Protocol.

    A client starts this command and speaks to it on stdin and stdout; with --http it serves many, at /mcp. The tools
    only read: ask, find, show, paths, plan, query and info.
    """
    _check_installed()
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.retrievers import load
    from kgsparql.serving.mcp import serve_stdio
    from kgsparql.serving.tools import Toolbox

    options = options_of(option)
    load(retriever, options)  # a wrong name or option is said before a graph is loaded
    if "-" in graph.sources:
        raise InputError("the graph cannot come from stdin, where the client speaks", hint="put the graph in a file")
    token = _token(host) if http else ""
    with ExitStack() as stack:
        listening = stack.enter_context(_listening(host, port)) if http else None
        opened_model = model.opened()
        if opened_model is not None:
            stack.enter_context(opened_model)
        opened = graph.opened(languages=c.languages(lang), embedder=embedder, fresh=model.fresh)
        knowledge = stack.enter_context(opened)
        asking = AskOptions(retriever=retriever, options=options, budget=limits.budget(), model=opened_model)
        toolbox = stack.enter_context(Toolbox(knowledge, asking))
        if listening is None:
            serve_stdio(toolbox)
        else:
            _serve_http(toolbox, listening, host, token)


def _check_installed() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise OptionError("the package mcp is not installed", hint="pip install 'kgsparql[mcp]'") from error


def _token(host: str) -> str:
    """The token that requests need: from the environment, else one made for an address that others can reach."""
    from kgsparql.serving.mcp import LOOPBACK

    given = os.environ.get(_TOKEN_VARIABLE, "")
    if given and (len(given) < 16 or not all(char.isascii() and (char.isalnum() or char in "-_") for char in given)):
        raise OptionError(
            f"{_TOKEN_VARIABLE} is too short, or has other characters", hint="16 or more of A-Z a-z 0-9 - _"
        )
    return given or ("" if host in LOOPBACK else secrets.token_urlsafe(24))


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, so that a port that is taken is said before anything else."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen()  # who reads the address may connect at once, and waits
    except OSError as error:
        raise InputError(
            f"cannot listen at {printable(host, 100)} port {port}: {error.strerror or error}",
            hint="another port: --port 8001, or --port 0 for one that is free",
        ) from error
    return made


def _serve_http(toolbox: Toolbox, listening: socket.socket, host: str, token: str) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    from kgsparql.serving.mcp import http_app

    shown = f"[{host}]" if ":" in host else host
    c.write(f"http://{shown}:{listening.getsockname()[1]}/mcp", None)
    if token and _TOKEN_VARIABLE not in os.environ:
        c.say(f"every request needs: Authorization: Bearer {token}")
    settings = uvicorn.Config(
        http_app(toolbox, host=host, token=token), log_level="warning", access_log=False, server_header=False,
        limit_concurrency=256, timeout_graceful_shutdown=1,
    )  # fmt: skip
    uvicorn.Server(settings).run(sockets=[listening])
