"""The page as an ASGI application: questions in, their steps as server-sent events, finished runs by their address."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import answer_to_json, unanswered_json
from kgsparql.answering.ask_options import AskOptions, checked_question
from kgsparql.answering.follow_up import Before
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import (
    BudgetExceededError,
    CancelledError,
    InputError,
    KgsparqlError,
    NotFoundError,
    OptionError,
    why_invalid,
)
from kgsparql.http.transport import media_type
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import Json, json_text, printable
from kgsparql.rendering import render
from kgsparql.rendering.drawing import MOST_WHOLE, drawing_of
from kgsparql.rendering.text import model_outcome
from kgsparql.retrievers import load, names
from kgsparql.serving.guards import TEXT2SPARQL_PATH, refused_response
from kgsparql.serving.page_facts import (
    Completions,
    asked_instead,
    asked_plan,
    column_heads,
    graph_facts,
    graph_kinds,
    kind_relations,
    node_neighbours,
    run_chips,
    told_names,
)
from kgsparql.serving.runs import AskedRun, KeptRuns, Runs, corrected, page_error, run_words
from kgsparql.serving.sparql import HEALTH, BoundedQueries, sparql_route
from kgsparql.storage.question_log import log_question

STATIC = Path(__file__).parent / "static"

_POLL_S = 0.01  # how often a stream looks for further steps
_SWEEP_S = 1.0
_MOST_OF_A_RUN, _MOST_OF_A_CLIENT = 16, 64  # event streams, of 256 connections
_STATUS = {InputError: 400, NotFoundError: 404}
_MEDIA_TYPES = {
    "json": "application/json", "md": "text/markdown; charset=utf-8", "trig": "application/trig; charset=utf-8",
    "rq": "application/sparql-query; charset=utf-8",
}  # fmt: skip

_FILES = {"md": "md", "trig": "trig", "rq": "sparql"}


class _Sent(BaseModel):
    """What a page sends: a JSON object with these members and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Correction(_Sent):
    """Which meaning of a name is meant, by the run that it is of and the numbers of the link and the candidate."""

    run: str
    link: int
    candidate: int


class _Asked(_Sent):
    """A question, and what is set beside it: the run that it comes ``after``, the ``plan`` that an option has."""

    question: str
    entities: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=20)] | None = None
    method: str | None = None
    use_model: bool | None = None
    reading: Annotated[int, Field(ge=1)] | None = None
    after: str | None = None
    corrects: _Correction | None = None
    plan: Annotated[str, Field(max_length=100_000)] | None = None


async def _sent_question(request: Request) -> _Asked:
    """Read the JSON object that was sent.

    :raises InputError: for anything else. Of another content type it could be a form of another site.
    """
    if media_type(request.headers) != "application/json":
        raise InputError("this is not application/json", hint="send JSON, with that content type")
    try:
        return _Asked.model_validate_json(await request.body())
    except ValidationError as error:
        raise InputError(
            f"this cannot be read: {printable(why_invalid(error), 200)}", hint=f"send {', '.join(_Asked.model_fields)}"
        ) from error


class _StepStream(EventSourceResponse):
    """The steps of a run after one, until it is over; counted from before anything is sent."""

    def __init__(self, streams: Counter[str], client: str, run: AskedRun, steps: AsyncIterator[dict[str, str]]) -> None:
        super().__init__(steps, ping=15)
        self._streams, self._client, self._run = streams, client, run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        run, self._run.was_watched = self._run, True
        run.watchers, self._streams[self._client] = run.watchers + 1, self._streams[self._client] + 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            run.watchers, run.seen_at = run.watchers - 1, time.monotonic()
            self._streams[self._client] -= 1
            self._streams += Counter()  # keeps those above zero


@dataclass(eq=False)
class ServedPage:
    """The page of a graph; ``app`` is the application that serves it.

    :param asking: how questions are asked, unless the page says otherwise.
    :param log: where questions are logged, ``None`` logs nothing.
    :param queries: run those of the SPARQL endpoint beside the page.
    :param datasets: what a client of TEXT2SPARQL may call the graph.
    """

    knowledge: KnowledgeBase
    asking: AskOptions
    kept: KeptRuns
    queries: BoundedQueries
    log: Path | None = None
    workers: int = 4
    datasets: Collection[str] = ()

    def __post_init__(self) -> None:
        self.runs = Runs(self._answer_run, workers=self.workers)
        self._streams = Counter[str]()
        self._about: asyncio.Task[Json] | None = None
        self._looking = asyncio.Semaphore(self.workers)
        self._template = Environment(loader=FileSystemLoader(STATIC), autoescape=True).get_template("page.html")
        run = "/api/runs/{name}"
        sent = {
            "/": self.html, "/runs/{name}.{suffix}": self.file, "/runs/{name}": self.html, "/api/graph": self.graph,
            run: self.run, run + "/events": self.events, run + "/chips": self.chips,
            run + "/chips/{number:int}": self.chips, "/api/neighbours": self.neighbours, "/api/names": self.names,
            "/api/kinds": self.kinds,
            TEXT2SPARQL_PATH: self.text2sparql,
        }  # fmt: skip
        served = [
            *(Route(path, send) for path, send in sent.items()), HEALTH,
            Route("/api/ask", self.ask, methods=["POST"]), Route(run, self.stop, methods=["DELETE"]),
            Mount("/static", StaticFiles(directory=STATIC)), sparql_route(self.queries),
        ]  # fmt: skip
        handlers: Any = {KgsparqlError: _error_response, HTTPException: _no_such_request}
        self.app = Starlette(routes=served, lifespan=self._app_lifespan, exception_handlers=handlers)

    def freeze(self, run: AskedRun, answer: Answer) -> Json:
        """Make a finished run one JSON object, which needs no graph to be shown again; it is kept."""
        shown = self._shown_answer(answer)
        answered = shown["answer"]
        frozen = {
            **run.summary(), **shown, "state": "finished",
            "asked_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "outcome": model_outcome(run.draft, answer) if run.draft is not None else "", "events": list(run.events),
            "left_out": run.left_out,
            "files": {suffix: made for suffix, form in _FILES.items() if (made := render(answer, form))},
            **({"not_logged": why} if self.log and (why := log_question(self.log, answered)) else {}),
        }  # fmt: skip
        if run.settings.get("after", "") is None:
            answered["notes"].append(
                {"code": "follow_up", "text": "the question before was removed: this one is answered as it stands"}
            )
        try:
            self.kept.put(run.id, frozen)
        except OSError as error:
            why = f"not kept: {error.strerror or error}; its address opens it until the server ends"
            answered["notes"].append({"code": "not_kept", "text": why})
        return frozen

    def _shown_answer(self, answer: Answer) -> Json:
        """Make of an answer what the page shows of it: its JSON, its drawings, and what may be asked instead."""
        drawing = drawing_of(answer)
        return {
            "answer": answer_to_json(answer),
            "drawing": drawing.to_json() if drawing else None,
            "whole_drawing": drawing_of(answer, most_nodes=MOST_WHOLE).to_json() if drawing.left_out else None,
            "again": asked_instead(self.knowledge, answer),
            "heads": column_heads(self.knowledge, answer),
        }

    @asynccontextmanager
    async def _app_lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._about = asyncio.create_task(run_in_threadpool(graph_facts, self.knowledge, self.asking))
        sweeping = asyncio.create_task(self._sweep_runs())
        try:
            yield
        finally:
            sweeping.cancel()
            self.runs.cancel_all()

    async def _sweep_runs(self) -> None:
        while True:
            self.runs.sweep()
            await run_in_threadpool(self.kept.sweep)
            await asyncio.sleep(_SWEEP_S)

    async def html(self, _: Request) -> Response:
        """Send the page; a script fills it."""
        page = self._template.render(graph=printable(self.knowledge.graph.name, 200))
        return HTMLResponse(page, headers={"cache-control": "no-cache"})

    async def graph(self, _: Request) -> Response:
        """Send what the page says of the graph, and what may be asked."""
        assert self._about is not None  # noqa: S101 - made when the application starts
        return JSONResponse(await asyncio.shield(self._about))

    async def ask(self, request: Request) -> Response:
        """Put a question in line; its run has the answer."""
        sent = await _sent_question(request)
        settings = sent.model_dump(exclude_none=True, exclude={"question", "corrects", "plan"})
        question, meanings, corrects = sent.question, None, sent.corrects
        if corrects is not None:
            meanings = corrected(await self._run_json(corrects.run), corrects.link, corrects.candidate)
            settings["entities"] = [link["term"]["value"] for link in meanings]
        asking = await run_in_threadpool(self._asking_with, settings)
        asking = await self._asking_after(asking, settings)
        if sent.plan is not None:
            question, asking = await run_in_threadpool(asked_plan, self.knowledge, asking, sent.plan)
        run = self.runs.start(AskedRun(checked_question(question), asking, settings, meanings))
        return JSONResponse(run.summary(), status_code=202)

    async def run(self, request: Request) -> Response:
        """Send a run, finished or not."""
        return JSONResponse(_told_run(await self._run_of(request)))

    async def stop(self, request: Request) -> Response:
        """Have a run answered from what it has found."""
        run = self.runs.get(request.path_params["name"])
        if run is not None:
            run.asking.stop.set()
        return Response(status_code=204)

    async def events(self, request: Request) -> Response:
        """Stream the steps of a run, from the one after ``Last-Event-ID`` on, then ``over`` with the run itself."""
        run = self.runs.get(request.path_params["name"])
        if run is None:
            told = json_text(_told_run(await self._run_of(request)))
            return EventSourceResponse(iter([{"event": "over", "data": told}]))
        last, client = request.headers.get("last-event-id", ""), request.client.host if request.client else ""
        if run.watchers >= _MOST_OF_A_RUN or self._streams[client] >= _MOST_OF_A_CLIENT:  # each keeps a connection
            raise BudgetExceededError("too many watch here already", hint="close other pages, or open the run later")
        return _StepStream(self._streams, client, run, self._steps_of(run, int(last) if last.isdecimal() else 0))

    async def _steps_of(self, run: AskedRun, after: int) -> AsyncIterator[dict[str, str]]:
        sent = sum(1 for event in run.events if event["sequence"] <= after)
        while True:
            is_over = run.is_over  # before the steps are read: none comes after it
            while sent < len(run.events):
                event = run.events[sent]
                sent += 1
                yield {"id": str(event["sequence"]), "data": json_text(event)}
            if is_over:
                told = _told_run(run.frozen or run.summary())
                yield {"event": "over", "data": json_text(told)}
                return
            await asyncio.sleep(_POLL_S)

    async def chips(self, request: Request) -> Response:
        """Tell the parts of what a run was understood as; of a part with a number, what else could stand there."""
        found = await self._run_of(request)
        asking = await self._asking_after(self.asking, found.get("options", {}))
        async with self._looking:
            told = partial(run_chips, self.knowledge, asking, found, request.path_params.get("number"))
            return JSONResponse(await run_in_threadpool(told))

    async def neighbours(self, request: Request) -> Response:
        """Tell what a node of a drawing is, and some of what is around it in the graph as it is now."""
        told = partial(node_neighbours, self.knowledge, self.asking, request.query_params)
        async with self._looking:
            return JSONResponse(await run_in_threadpool(told))

    async def text2sparql(self, request: Request) -> Response:
        """Send the query of a question, once it is answered, as clients of the TEXT2SPARQL challenge ask for it."""
        sent = {name: request.query_params.get(name, "") for name in ("dataset", "question")}
        if not all(sent.values()):
            raise InputError("dataset and question are needed", hint=f"{TEXT2SPARQL_PATH}?dataset=IRI&question=…")
        if sent["dataset"] not in self.datasets:
            raise NotFoundError(
                f"no dataset {printable(sent['dataset'], 200)}",
                hint=printable(f"one of: {', '.join(self.datasets)}", 2_000),
            )
        run = self.runs.start(AskedRun(checked_question(sent["question"]), replace(self.asking, choices=False), {}))
        while not run.is_over:
            if await request.is_disconnected():
                run.asking.cancel.set()
                return Response(status_code=499)  # nobody reads it
            run.seen_at = time.monotonic()
            await asyncio.sleep(_POLL_S)
        if run.frozen is None:
            return JSONResponse({"error": run.error}, status_code=503)
        return JSONResponse({**sent, "query": run.frozen["files"]["rq"]})

    async def names(self, request: Request) -> Response:
        """Send names of the graph that complete what is written, as far as they are on this machine."""
        text = request.query_params.get("text", "")
        async with self._looking:
            start, rows = await run_in_threadpool(lambda: self._name_completions.of(text))
            told = await run_in_threadpool(told_names, self.knowledge, rows)
        return JSONResponse({"start": start, "names": told})

    async def kinds(self, request: Request) -> Response:
        """Send the kinds of things in the graph; of one of them, by its plan, what may be said of these."""
        plan = request.query_params.get("plan")
        async with self._looking:
            if plan is not None:
                told = await run_in_threadpool(kind_relations, self.knowledge, self.asking, plan)
                return JSONResponse(told)
            return JSONResponse({"kinds": await run_in_threadpool(lambda: self._graph_kinds)})

    @cached_property
    def _graph_kinds(self) -> list[Json]:
        return graph_kinds(self.knowledge)

    @cached_property
    def _name_completions(self) -> Completions:
        return Completions(self.knowledge.indexes.linker.search.held_rows())

    async def file(self, request: Request) -> Response:
        """Send a finished run as a file."""
        found, suffix = await self._run_of(request), request.path_params["suffix"]
        if suffix == "json" and "answer" in found:
            text = json_text(found["answer"], indent=2)
        elif suffix in _MEDIA_TYPES and suffix in found.get("files", {}):
            text = found["files"][suffix]
        else:
            raise NotFoundError(f"this run is no .{printable(suffix, 20)}", hint="there are .json, .md, .trig and .rq")
        disposition = f'attachment; filename="kgsparql-{found["id"][:8]}.{suffix}"'
        return Response(text, media_type=_MEDIA_TYPES[suffix], headers={"content-disposition": disposition})

    async def _run_of(self, request: Request) -> Json:
        return await self._run_json(request.path_params["name"])

    async def _run_json(self, name: str) -> Json:
        """Return the JSON of a run that is in memory or kept."""
        run = self.runs.get(name)
        if run is not None:
            run.seen_at = time.monotonic()
            if run.draft is not None and not run.is_over:
                return {**run.summary(), **await run_in_threadpool(self._shown_answer, run.draft)}
            return run.frozen or run.summary()
        kept = await run_in_threadpool(self.kept.get, name)
        if kept is None:
            raise NotFoundError("there is no such run", hint="old runs are removed; ask the question again")
        return kept

    async def _asking_after(self, asking: AskOptions, options: Json) -> AskOptions:
        """Return how a question is asked that follows a run, if that has an answer and was not removed."""
        before = None
        if options.get("after"):
            try:
                before = (await self._run_json(options["after"])).get("answer")
            except NotFoundError:
                options["after"] = None  # which its answer tells
        return asking if before is None else replace(asking, after=Before.from_json(before))

    def _asking_with(self, settings: Json) -> AskOptions:
        """Return how a question is asked: as usual, but for what was set."""
        asking, method = self.asking, settings.get("method")
        if method is not None:
            if method not in names():
                raise OptionError(f"no method {printable(method, 40)}", hint=f"one of: {', '.join(names())}")
            asking = replace(asking, retriever=method, options={})
        if settings.get("use_model") is False:
            asking = asking.without_model()
        load(asking.retriever, asking.options)
        asking = replace(asking, reading=settings.get("reading") or 0)
        return asking.about(map(self.knowledge.resolve, settings.get("entities", [])))

    def _answer_run(self, run: AskedRun) -> Json:
        try:
            return self.freeze(run, self.knowledge.answer(run.question, run.asking))
        except KgsparqlError as error:
            if self.log and not isinstance(error, CancelledError):
                log_question(self.log, unanswered_json(run.question, error))
            raise


def _told_run(found: Json) -> Json:
    return {**found, **run_words(found)}


async def _no_such_request(request: Request, error: HTTPException) -> Response:
    return refused_response(
        error.status_code,
        f"{error.detail}: {request.method} {printable(request.url.path, 200)}",
        "open / for the page; its manual lists the other addresses",
    )


async def _error_response(_: Request, error: KgsparqlError) -> Response:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 503)
    return JSONResponse({"error": page_error(error)}, status_code=status)
