"""``kgsparql serve``: a page in the browser."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._method_options import options_of
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.applications import Starlette
    from starlette.routing import Route

    from kgsparql.answering.answer import Answer
    from kgsparql.knowledge_base import KnowledgeBase

_TOKEN_VARIABLE = "KGSPARQL_TOKEN"  # noqa: S105 - its name
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_CONNECTIONS = 256
_SWITCH_S = 0.0005
"""How long a thread that computes keeps the others waiting: the page is to reply while questions are answered."""


@c.command
def serve(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help=f"Another address than this machine's own; needs {_TOKEN_VARIABLE}, or makes a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")] = 8080,
    retriever: Annotated[
        str, typer.Option("-r", "--retriever", metavar="NAME", help="The method, unless the page says otherwise.")
    ] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option("-O", "--option", metavar="NAME=VALUE", help="An option of the method; repeatable."),
    ] = None,
    embedder: c.EmbedderOption = "auto",
    lang: c.LangOption = "en",
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Questions that are answered at the same time.")
    ] = 4,
    sparql_only: Annotated[
        bool, typer.Option("--sparql-only", help="No page: a read-only SPARQL endpoint at /sparql, for any client.")
    ] = False,
) -> None:
    """Open a page that answers questions in the browser, and ties each sentence to its triples.

    Without a graph it shows only runs that were kept. Beside it, at /sparql, one graph is a read-only SPARQL endpoint.
    It binds 127.0.0.1; stop it with Ctrl-C.
    """
    _check_installed()
    if "-" in (graph.kg or ()):
        raise InputError("a page does not read its graph from stdin", hint="put the graph in a file")
    if sparql_only:
        _serve_sparql(graph, host, port)
        return
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.resources import cache_directory
    from kgsparql.retrievers import load
    from kgsparql.serving.app import ServedPage, make_app
    from kgsparql.serving.kept_runs import FOLDER, KeptRuns

    options = options_of(option)
    load(retriever, options)  # a wrong name or option is said before a graph is loaded
    languages = c.languages(lang)
    token = _token(host)
    has_graph = bool(graph.kg or os.environ.get("KGSPARQL_KG"))
    with ExitStack() as stack:
        opened_model = model.opened()
        if opened_model is not None:
            stack.enter_context(opened_model)
        opened = graph.opened(languages=languages, embedder=embedder, fresh=model.fresh)
        knowledge = stack.enter_context(opened) if has_graph else None
        asking = AskOptions(retriever=retriever, options=options, budget=limits.budget(), model=opened_model)
        listening = stack.enter_context(_listening(host, port))
        page = ServedPage(
            knowledge=knowledge, asking=asking, kept=KeptRuns(cache_directory() / FOLDER), renderers=_renderers(),
            host=host, port=listening.getsockname()[1], token=token, workers=workers,
            routes=_sparql_routes(knowledge, stack),
        )  # fmt: skip
        graph.say("" if opened_model or model.no_model else HOW_TO_ADD)
        graph.say("" if knowledge else "no graph: only kept runs are shown; name one with -k data.ttl")
        c.write(_address(page.host, page.port) + (f"/?token={page.token}" if page.token else "/"), None)
        _serve(make_app(page), listening)


def _serve_sparql(graph: GraphOptions, host: str, port: int) -> None:
    """Serve the SPARQL endpoint alone, until Ctrl-C."""
    from starlette.middleware import Middleware

    from kgsparql.serving.bounded_queries import BoundedQueries
    from kgsparql.serving.guards import Guard
    from kgsparql.serving.sparql_protocol import sparql_only_app

    token = _token(host)
    with (
        graph.opened(embedder="none") as knowledge,
        BoundedQueries(knowledge) as queries,
        _listening(host, port) as listening,
    ):
        bound = listening.getsockname()[1]
        guard = Middleware(Guard, host=host, port=bound, token=token)
        c.write(_address(host, bound) + "/sparql", None)
        if token:
            c.say(f"clients send the header Authorization: Bearer {token}")
        _serve(sparql_only_app(queries, middleware=[guard]), listening)


def _sparql_routes(knowledge: KnowledgeBase | None, stack: ExitStack) -> tuple[Route, ...]:
    """The endpoint beside the page; none over several graphs, since a query of a client's own runs on one."""
    from kgsparql.graphs.protocols import members_of
    from kgsparql.serving.bounded_queries import BoundedQueries
    from kgsparql.serving.sparql_protocol import sparql_routes

    if knowledge is None or len(members_of(knowledge.graph)) > 1:
        return ()
    return tuple(sparql_routes(stack.enter_context(BoundedQueries(knowledge))))


def _check_installed() -> None:
    try:
        import jinja2  # noqa: F401
        import sse_starlette  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise OptionError(
            f"the page needs {error.name}, which is not installed", hint="pip install 'kgsparql[serve]'"
        ) from error


def _token(host: str) -> str:
    """The token that requests need: from the environment, else one made for an address that others can reach."""
    given = os.environ.get(_TOKEN_VARIABLE, "")
    if given and (len(given) < 16 or not all(char.isascii() and (char.isalnum() or char in "-_") for char in given)):
        raise OptionError(
            f"{_TOKEN_VARIABLE} is too short, or has other characters", hint="16 or more of A-Z a-z 0-9 - _"
        )
    return given or ("" if host in _LOOPBACK else secrets.token_urlsafe(24))


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, so that a port that is taken is said before anything else."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(128)  # whoever reads the address may come before the server is ready
        except OSError:
            made.close()
            raise
    except OSError as error:
        raise InputError(
            f"cannot listen at {printable(host, 100)} port {port}: {error.strerror or error}",
            hint="another port: --port 8081, or --port 0 for one that is free",
        ) from error
    return made


def _renderers() -> Mapping[str, Callable[[Answer], str]]:
    from kgsparql.answering.rendering.formats import render

    return {form: partial(render, form=form) for form in ("md", "trig", "svg")}


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _serve(app: Starlette, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=5, timeout_graceful_shutdown=1, h11_max_incomplete_event_size=32_768,
    )  # fmt: skip
    sys.setswitchinterval(_SWITCH_S)
    with suppress(KeyboardInterrupt):  # how a server is stopped
        uvicorn.Server(settings).run(sockets=[listening])
