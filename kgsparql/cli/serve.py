"""``kgsparql serve``: a page in the browser."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._listening import (
    TOKEN_VARIABLE,
    address_of,
    listening_at,
    origins_of,
    serve_app,
    shown_token,
    token_for,
)
from kgsparql.cli._logging import LogOption
from kgsparql.cli._method_options import MethodOption, options_of
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.errors import InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.routing import Route

    from kgsparql.answering.answer import Answer
    from kgsparql.knowledge_base import KnowledgeBase


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
            help=f"Another address than this machine's own; needs {TOKEN_VARIABLE}, or makes a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")] = 8080,
    retriever: Annotated[
        str, typer.Option("-r", "--retriever", metavar="NAME", help="The method, unless the page says otherwise.")
    ] = "auto",
    option: MethodOption = None,
    embedder: c.EmbedderOption = "auto",
    lang: c.LangOption = "en",
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Questions that are answered at the same time.")
    ] = 4,
    log: LogOption = None,
    sparql_only: Annotated[
        bool, typer.Option("--sparql-only", help="No page: a read-only SPARQL endpoint at /sparql, for any client.")
    ] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option(
            "--cors",
            metavar="ORIGIN",
            help="A site whose pages may ask /sparql: https://yasgui.org; repeatable. * is any, without a token.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Stop a query at /sparql then.")
    ] = 30.0,
    max_rows: Annotated[
        int, typer.Option("--max-rows", min=1, help="Of a query at /sparql, keep at most so many solutions.")
    ] = 100_000,
) -> None:
    """Open a page that answers questions in the browser, and ties each sentence to its triples.

    Without a graph it shows only runs that were kept. Beside it, at /sparql, one graph is a read-only SPARQL endpoint.
    With --log people rate the answers on it. It binds 127.0.0.1; stop it with Ctrl-C.
    """
    _check_installed()
    if "-" in (graph.kg or ()):
        raise InputError("a page does not read its graph from stdin", hint="put the graph in a file")
    token = token_for(host)
    origins = origins_of(cors, token=token)
    bounds = {"timeout_s": timeout, "max_rows": max_rows}
    if sparql_only:
        _serve_sparql(graph, host, port, token, origins, bounds)
        return
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.resources import cache_directory
    from kgsparql.retrievers import load
    from kgsparql.serving.app import ServedPage, make_app
    from kgsparql.serving.kept_runs import FOLDER, KeptRuns
    from kgsparql.serving.run_log import RunLog

    options = options_of(option)
    load(retriever, options)  # a wrong name or option is said before a graph is loaded
    languages = c.languages(lang)
    has_graph = bool(graph.kg or os.environ.get("KGSPARQL_KG"))
    with ExitStack() as stack:
        run_log = stack.enter_context(closing(RunLog(log))) if log else None
        opened_model = model.opened()
        if opened_model is not None:
            stack.enter_context(opened_model)
        opened = graph.opened(languages=languages, embedder=embedder, fresh=model.fresh)
        knowledge = stack.enter_context(opened) if has_graph else None
        asking = AskOptions(retriever=retriever, options=options, budget=limits.budget(), model=opened_model)
        listening = stack.enter_context(listening_at(host, port))
        page = ServedPage(
            knowledge=knowledge, asking=asking, kept=KeptRuns(cache_directory() / FOLDER), renderers=_renderers(),
            log=run_log, host=host, port=listening.getsockname()[1], token=token, origins=origins, workers=workers,
            routes=_sparql_routes(knowledge, bounds, stack),
        )  # fmt: skip
        graph.say("" if opened_model or model.no_model else HOW_TO_ADD)
        graph.say("" if knowledge else "no graph: only kept runs are shown; name one with -k data.ttl")
        c.write(address_of(page.host, page.port) + (f"/?token={shown_token(token)}" if token else "/"), None)
        serve_app(make_app(page), listening)


def _serve_sparql(
    graph: GraphOptions, host: str, port: int, token: str, origins: frozenset[str], bounds: Mapping[str, Any]
) -> None:
    """Serve the SPARQL endpoint alone, until Ctrl-C."""
    from starlette.middleware import Middleware

    from kgsparql.serving.bounded_queries import BoundedQueries, ServedLimits
    from kgsparql.serving.guards import Guard
    from kgsparql.serving.sparql_protocol import sparql_only_app

    with (
        graph.opened(embedder="none") as knowledge,
        BoundedQueries(knowledge, limits=ServedLimits(**bounds)) as queries,
        listening_at(host, port) as listening,
    ):
        bound = listening.getsockname()[1]
        guard = Middleware(Guard, host=host, port=bound, token=token, origins=origins)
        c.write(address_of(host, bound) + "/sparql", None)
        if token:
            c.say(f"clients send the header Authorization: Bearer {shown_token(token)}")
        serve_app(sparql_only_app(queries, middleware=[guard]), listening)


def _sparql_routes(knowledge: KnowledgeBase | None, bounds: Mapping[str, Any], stack: ExitStack) -> tuple[Route, ...]:
    """The endpoint beside the page; none over several graphs, since a query of a client's own runs on one."""
    from kgsparql.serving.bounded_queries import BoundedQueries, ServedLimits
    from kgsparql.serving.sparql_protocol import sparql_routes

    if knowledge is None or len(knowledge.graph.members) > 1:
        return ()
    return tuple(sparql_routes(stack.enter_context(BoundedQueries(knowledge, limits=ServedLimits(**bounds)))))


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


def _renderers() -> Mapping[str, Callable[[Answer], str]]:
    from kgsparql.rendering import render

    return {form: partial(render, form=form) for form in ("md", "trig", "svg")}
