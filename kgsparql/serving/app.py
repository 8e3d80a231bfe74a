"""The page as an ASGI application: questions in, their steps as server-sent events, finished runs by their address."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from kgsparql.errors import CancelledError, InputError, KgsparqlError, NotFoundError
from kgsparql.rdf.terms import printable
from kgsparql.rendering.answer_json import answer_to_json, error_json, unanswered_json
from kgsparql.rendering.drawing import MOST_WHOLE, drawing_of
from kgsparql.serving.graph_facts import graph_facts
from kgsparql.serving.guards import Guard
from kgsparql.serving.kept_runs import KeptRuns
from kgsparql.serving.meanings import corrected
from kgsparql.serving.node_neighbours import node_neighbours
from kgsparql.serving.reproduction import Reproduction
from kgsparql.serving.requests import AskRequest, read_rating
from kgsparql.serving.run_log import RunLog
from kgsparql.serving.run_words import recheck_words, run_words
from kgsparql.serving.runs import AskedRun, Runs
from kgsparql.serving.wider_drawing import WiderDrawing

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase

STATIC = Path(__file__).parent / "static"

_POLL_S = 0.03
"""How often a stream looks for further steps."""

_SWEEP_S = 1.0

_STATUS = {InputError: 400, NotFoundError: 404}

_MEDIA_TYPES = {
    "json": "application/json", "md": "text/markdown; charset=utf-8", "trig": "application/trig; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ServedPage:
    """What is served.

    :param knowledge: what is asked; ``None`` where only kept runs are shown.
    :param asking: how questions are asked, unless the page says otherwise.
    :param kept: where finished runs are kept.
    :param renderers: makes an answer a file, by the suffix of that.
    :param log: where questions are logged, and people may rate the answers; ``None`` logs nothing.
    :param host: the address that is bound, with its ``port``; ``token`` and ``origins`` as of :class:`Guard`.
    :param routes: of the SPARQL endpoint beside the page, if there is one.
    """

    knowledge: KnowledgeBase | None
    asking: AskOptions
    kept: KeptRuns
    renderers: Mapping[str, Callable[[Answer], str]] = field(default_factory=dict)
    log: RunLog | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    token: str = ""
    origins: frozenset[str] = frozenset()
    routes: tuple[BaseRoute, ...] = ()
    workers: int = 4

    def freeze(self, run: AskedRun, answer: Answer) -> dict[str, Any]:
        """A finished run as one JSON object, which needs no graph to be shown again; it is kept."""
        drawing, answered = drawing_of(answer), answer_to_json(answer)
        frozen = {
            **run.summary(),
            "state": "finished",
            "asked_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "answer": answered,
            "drawing": drawing.to_json() if drawing else None,
            "whole_drawing": drawing_of(answer, most_nodes=MOST_WHOLE).to_json() if drawing.left_out else None,
            "events": list(run.events),
            "left_out": run.left_out,
            "files": {suffix: made for suffix, render in self.renderers.items() if (made := render(answer))},
            **(self.log.add(answered, run=run.id) if self.log else {}),
        }
        try:
            self.kept.put(run.id, frozen)
        except OSError as error:
            why = f"not kept: {error.strerror or error}; its address opens it until the server ends"
            answered["notes"].append({"code": "not_kept", "text": why})
        return frozen


def make_app(page: ServedPage) -> Starlette:
    """The application that serves a page."""
    return _Handlers(page).app()


class _Handlers:
    """What is done for each request."""

    def __init__(self, page: ServedPage) -> None:
        self.page = page
        self.runs = Runs(self._answer, page.freeze, workers=page.workers)
        self._about: asyncio.Task[dict[str, Any]] | None = None
        self._rechecking = asyncio.Semaphore(1)
        self._looking = asyncio.Semaphore(page.workers)
        environment = Environment(loader=FileSystemLoader(STATIC), autoescape=True)
        self._template = environment.get_template("page.html")

    def app(self) -> Starlette:
        page = self.page
        routes: list[BaseRoute] = [
            Route("/", self.html),
            Route("/runs/{name}.{suffix}", self.file),
            Route("/runs/{name}", self.html),
            Route("/api/graph", self.graph),
            Route("/api/ask", self.ask, methods=["POST"]),
            Route("/api/runs/{name}", self.run, methods=["GET"]),
            Route("/api/runs/{name}", self.stop, methods=["DELETE"]),
            Route("/api/runs/{name}/events", self.events),
            Route("/api/runs/{name}/recheck", self.recheck, methods=["POST"]),
            Route("/api/runs/{name}/queries/{marker}", self.queries),
            Route("/api/runs/{name}/rating", self.rate, methods=["POST"]),
            Route("/api/runs/{name}/drawing", self.drawing, methods=["POST"]),
            Route("/api/neighbours", self.neighbours),
            Route("/healthz", self.health),
            Mount("/static", StaticFiles(directory=STATIC)),
            *page.routes,
        ]
        guard = Middleware(Guard, host=page.host, port=page.port, token=page.token, origins=page.origins)
        return Starlette(
            routes=routes,
            middleware=[guard],
            lifespan=self._lifespan,
            exception_handlers={KgsparqlError: _told},
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._about = asyncio.create_task(run_in_threadpool(graph_facts, self.page.knowledge, self.page.asking))
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            self.runs.cancel_all()

    async def _sweep(self) -> None:
        while True:
            self.runs.sweep()
            await run_in_threadpool(self.page.kept.sweep)
            await asyncio.sleep(_SWEEP_S)

    async def html(self, _: Request) -> Response:
        """The page; a script fills it."""
        name = printable(self.page.knowledge.graph.name, 200) if self.page.knowledge else ""
        return HTMLResponse(self._template.render(graph=name), headers={"cache-control": "no-cache"})

    async def health(self, _: Request) -> Response:
        """That the server is there."""
        return JSONResponse({"status": "ok"})

    async def graph(self, _: Request) -> Response:
        """What the page says of the graph, and what may be asked."""
        assert self._about is not None  # noqa: S101 - made when the application starts
        return JSONResponse({**await asyncio.shield(self._about), "has_sparql": bool(self.page.routes)})

    async def ask(self, request: Request) -> Response:
        """Put a question in line; its run has the answer."""
        asked = await AskRequest.read(request)
        meanings = None
        if asked.corrects is not None:
            meanings = corrected(await self._found(asked.corrects["run"]), asked.corrects)
            asked = asked.about([link["term"]["value"] for link in meanings])
        asking = await run_in_threadpool(asked.asking, self._knowledge, self.page.asking)
        return JSONResponse(
            self.runs.start(asked.question, asking, asked.settings, meanings).summary(), status_code=202
        )

    async def run(self, request: Request) -> Response:
        """A run, finished or not, with what people said of its answer, if that is in the log."""
        found, log = await self._found(request.path_params["name"]), self.page.log
        rating = await run_in_threadpool(log.rating, found) if log else None
        return JSONResponse({**found, "rating": rating, **run_words(found)})

    async def rate(self, request: Request) -> Response:
        """Log that the answer of a run was right or wrong, and what is right."""
        log = self.page.log
        if log is None:
            raise InputError("no log is kept, so nothing can be rated", hint="kgsparql serve --log FILE")
        rating, found = await read_rating(request), await self._found(request.path_params["name"])
        await run_in_threadpool(partial(log.rate, found, **rating))
        return JSONResponse(await run_in_threadpool(log.rating, found))

    async def stop(self, request: Request) -> Response:
        """Have a run answered from what it has found."""
        run = self.runs.get(request.path_params["name"])
        if run is not None:
            self.runs.stop(run)
        return Response(status_code=204)

    async def events(self, request: Request) -> Response:
        """The steps of a run, from the one after ``Last-Event-ID`` on, then ``over``."""
        run = self.runs.get(request.path_params["name"])
        if run is None:
            await self._found(request.path_params["name"])  # an error, unless it is kept
            return EventSourceResponse(_only_over("finished"))
        last = request.headers.get("last-event-id", "")
        return EventSourceResponse(self._steps(run, int(last) if last.isdecimal() else 0), ping=15)

    async def recheck(self, request: Request) -> Response:
        """Whether a finished run still stands on the graph as it is now."""
        from kgsparql.answering.answer_file import kept_answer
        from kgsparql.answering.recheck import recheck

        graph, found = self._knowledge.graph, await self._found(request.path_params["name"])
        if "answer" not in found:
            raise NotFoundError("this run has no answer that could be checked", hint="wait until it is finished")
        async with self._rechecking:
            outcome = await run_in_threadpool(recheck, kept_answer(found["answer"]), graph)
        return JSONResponse(recheck_words(outcome))

    async def queries(self, request: Request) -> Response:
        """How the queries of a piece of evidence are run outside the page, and whether they can be run on it."""
        found, page = await self._found(request.path_params["name"]), self.page
        if page.knowledge is None or "answer" not in found:
            return JSONResponse({"ways": [], "is_served": False})
        served_at = f"{request.base_url}sparql" if page.routes else None
        here = Reproduction(knowledge=page.knowledge, served_at=served_at, needs_token=bool(page.token))
        ways = here.ways(found["answer"], request.path_params["marker"])
        return JSONResponse({"ways": ways, "is_served": any(ways) and served_at is not None})

    async def neighbours(self, request: Request) -> Response:
        """What a node of a drawing is, and some of what is around it in the graph as it is now."""
        knowledge, query = self._knowledge, dict(request.query_params)
        async with self._looking:
            return JSONResponse(await run_in_threadpool(node_neighbours, knowledge, self.page.asking, query))

    async def drawing(self, request: Request) -> Response:
        """The drawing of a finished run, to which neighbours are added."""
        found, wider = await self._found(request.path_params["name"]), await WiderDrawing.read(request)
        if not found.get("drawing"):
            raise NotFoundError("this run has no drawing", hint="it is made of the evidence of a finished run")
        async with self._looking:
            return JSONResponse(await run_in_threadpool(wider.of, found))

    async def file(self, request: Request) -> Response:
        """A finished run as a file."""
        name, suffix = request.path_params["name"], request.path_params["suffix"]
        found = await self._found(name)
        if suffix == "json" and "answer" in found:
            text = json.dumps(found["answer"], ensure_ascii=False, indent=2)
        elif suffix in _MEDIA_TYPES and suffix in found.get("files", {}):
            text = found["files"][suffix]
        else:
            raise NotFoundError(f"this run is no .{printable(suffix, 20)}", hint="there are .json, .md, .trig and .svg")
        disposition = f'attachment; filename="kgsparql-{name[:8]}.{suffix}"'
        return Response(text, media_type=_MEDIA_TYPES[suffix], headers={"content-disposition": disposition})

    async def _steps(self, run: AskedRun, after: int) -> AsyncIterator[dict[str, str]]:
        run.watchers += 1
        run.was_watched = True
        sent = sum(1 for event in run.events if event["sequence"] <= after)
        try:
            while True:
                is_over = run.is_over  # before the steps are read: none comes after it
                while sent < len(run.events):
                    event = run.events[sent]
                    sent += 1
                    yield {"id": str(event["sequence"]), "data": json.dumps(event, ensure_ascii=False)}
                if is_over:
                    yield {"event": "over", "data": json.dumps({"state": run.state})}
                    return
                await asyncio.sleep(_POLL_S)
        finally:
            run.watchers -= 1
            run.seen_at = time.monotonic()

    async def _found(self, name: str) -> dict[str, Any]:
        """The JSON of a run that is in memory or kept.

        :raises NotFoundError: if it is neither.
        """
        run = self.runs.get(name)
        if run is not None:
            run.seen_at = time.monotonic()
            return run.frozen or run.summary()
        kept = await run_in_threadpool(self.page.kept.get, name)
        if kept is None:
            raise NotFoundError("there is no such run", hint="old runs are removed; ask the question again")
        return kept

    def _answer(self, question: str, asking: AskOptions) -> Answer:
        try:
            return self._knowledge.answer(question, asking)
        except KgsparqlError as error:
            if self.page.log and not isinstance(error, CancelledError):
                self.page.log.add(unanswered_json(question, error))
            raise

    @property
    def _knowledge(self) -> KnowledgeBase:
        if self.page.knowledge is None:
            raise InputError("no graph is open: only kept runs can be looked at", hint="kgsparql serve -k GRAPH")
        return self.page.knowledge


async def _only_over(state: str) -> AsyncIterator[dict[str, str]]:
    yield {"event": "over", "data": json.dumps({"state": state})}


async def _told(_: Request, error: Exception) -> Response:
    """An error of ours as JSON."""
    assert isinstance(error, KgsparqlError)  # noqa: S101 - registered for nothing else
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 503)
    return JSONResponse({"error": error_json(error)}, status_code=status)
