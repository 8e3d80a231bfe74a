"""``kgsparql mcp``: the tools of a graph for programs that speak the Model Context Protocol."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._listening import TOKEN_VARIABLE, address_of, listening_at, serve_app, shown_token, token_for
from kgsparql.cli._method_options import MethodOption, options_of
from kgsparql.cli._model_options import LimitOptions, ModelOptions
from kgsparql.errors import InputError, OptionError

if TYPE_CHECKING:
    import socket

    from kgsparql.serving.tools import Toolbox


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
    _check_installed()
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.retrievers import load
    from kgsparql.serving.mcp import serve_stdio
    from kgsparql.serving.tools import Toolbox

    options = options_of(option)
    load(retriever, options)  # a wrong name or option is said before a graph is loaded
    if "-" in graph.sources:
        raise InputError("the graph cannot come from stdin, where the client speaks", hint="put the graph in a file")
    token = token_for(host) if http else ""
    with ExitStack() as stack:
        listening = stack.enter_context(listening_at(host, port)) if http else None
        opened_model = model.opened()
        if opened_model is not None:
            stack.enter_context(opened_model)
        opened = graph.opened(languages=c.languages(lang), embedder=embedder, fresh=model.fresh)
        knowledge = stack.enter_context(opened)
        asking = AskOptions(retriever=retriever, options=options, budget=limits.budget(), model=opened_model)
        toolbox = Toolbox(knowledge, asking)
        if listening is None:
            serve_stdio(toolbox)
        else:
            _serve_http(toolbox, listening, host, token)


def _check_installed() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise OptionError("the package mcp is not installed", hint="pip install 'kgsparql[mcp]'") from error


def _serve_http(toolbox: Toolbox, listening: socket.socket, host: str, token: str) -> None:
    from kgsparql.serving.mcp import http_app

    port = listening.getsockname()[1]
    c.write(f"{address_of(host, port)}/mcp", None)
    if token:
        c.say(f"every request needs: Authorization: Bearer {shown_token(token)}")
    serve_app(http_app(toolbox, host=host, port=port, token=token), listening)
