"""Queries of many clients over one graph: a few at a time, the others in a line of bounded length."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self, cast

from kgsparql.errors import CancelledError, InputError, KgsparqlError, LimitError, error_from
from kgsparql.exploration.void import void_triples
from kgsparql.graphs import EndpointGraph, OxigraphGraph
from kgsparql.graphs.user_query import CheckedQuery, QueryResult, QueryWorker, check, run_on_endpoint, serialise
from kgsparql.rdf.terms import Triple

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase

_READING = ("format", "base", "encoding", "skip_bad", "context", "cache")
"""Options of reading that a worker needs, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLimits:
    """What one query may take, and how many there may be.

    :param at_once: queries that run at the same time, each in a process that holds the graph, unless it is a store.
    :param waiting: further ones that wait their turn, at most ``timeout_s`` each.
    :param timeout_s: after which a query is killed.
    :param max_rows: solutions or triples of a result.
    :param max_bytes: bytes of a result before it is written in the format that is asked for.
    """

    at_once: int = 2
    waiting: int = 32
    timeout_s: float = 30.0
    max_rows: int = 100_000
    max_bytes: int = 2**26


@dataclass(frozen=True, slots=True)
class WrittenResult:
    """The bytes of a result in one of its formats; ``cut`` says in a clause that it lacks something, or is empty."""

    content: bytes = field(repr=False)
    rows: int
    cut: str = ""


class BoundedQueries:
    """Runs the queries of many clients, checked and bounded as those of ``kgsparql query``.

    :raises InputError: for several graphs as one: a query of a client's own runs on one.
    """

    def __init__(self, knowledge: KnowledgeBase, *, limits: ServedLimits | None = None) -> None:
        self.limits = limits or ServedLimits()
        self._knowledge = knowledge
        self._waiting = 0
        self._running: set[threading.Event] = set()
        self._slots = asyncio.Semaphore(self.limits.at_once)
        self._threads = ThreadPoolExecutor(self.limits.at_once, thread_name_prefix="sparql")
        self._workers: list[QueryWorker] = []
        self._idle: queue.LifoQueue[Callable[..., QueryResult]] = queue.LifoQueue()  # the last that ran has its graph
        for _ in range(self.limits.at_once):
            self._idle.put(self._runner())
        self._described: tuple[str, list[Triple]] = ("", [])
        self._describing = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; queries that still run end, too."""
        for cancel in tuple(self._running):
            cancel.set()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def check(self, text: str) -> CheckedQuery:
        """A text as a query that may run; the prefixes of the graph need no declaration. Errors as of :func:`check`."""
        return check(text, prefixes=self._knowledge.prefixes)

    async def run(self, query: CheckedQuery, form: str) -> WrittenResult:
        """Run a query and write its result; if the task is cancelled, the query is killed.

        :param form: a format of :data:`kgsparql.graphs.user_query.FORMATS`.
        :raises LimitError: if too many wait, or it waited too long (``limit`` is ``waiting``).
        :raises KgsparqlError: as :meth:`QueryWorker.run`, :func:`run_on_endpoint` and :func:`serialise`.
        """
        await self._wait_for_turn()
        cancel = threading.Event()
        self._running.add(cancel)
        try:
            work = partial(self._run, query, form, cancel)
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            cancel.set()
            self._running.discard(cancel)
            self._slots.release()

    def described(self, url: str) -> list[Triple]:
        """What is served at a URL, as VoID and service description; counted once."""
        with self._describing:
            if self._described[0] != url:
                self._described = (url, void_triples(self._knowledge.graph, served_at=url))
            return self._described[1]

    async def _wait_for_turn(self) -> None:
        if self._waiting >= self.limits.waiting and self._slots.locked():
            raise LimitError(f"{self._waiting} queries wait already", hint="ask again later", limit="waiting")
        self._waiting += 1
        try:
            await asyncio.wait_for(self._slots.acquire(), self.limits.timeout_s)
        except TimeoutError as error:
            waited = f"the query waited {self.limits.timeout_s:g} s for others to end"
            raise LimitError(waited, hint="ask again later", limit="waiting") from error
        finally:
            self._waiting -= 1

    def _run(self, query: CheckedQuery, form: str, cancel: threading.Event) -> WrittenResult:
        if cancel.is_set():  # a worker that is stopped has to load its graph again
            raise CancelledError("the query was stopped before it began")
        run = self._idle.get()
        try:
            return self._written(run, query, form, cancel)
        except KgsparqlError as error:
            failed = error_from(error.to_record())
        finally:
            self._idle.put(run)
        raise failed  # without its frames: what Oxigraph made in this thread must not be freed in another

    def _written(
        self, run: Callable[..., QueryResult], query: CheckedQuery, form: str, cancel: threading.Event
    ) -> WrittenResult:
        limits = self.limits
        result = run(
            query, timeout_s=limits.timeout_s, max_rows=limits.max_rows, max_bytes=limits.max_bytes, cancel=cancel
        )
        content = serialise(result, form, prefixes=self._knowledge.prefixes)
        cut = "" if result.complete else f"{result.cut}" + (f": {result.reason}" if result.reason else "")
        return WrittenResult(content, result.rows, cut)

    def _runner(self) -> Callable[..., QueryResult]:
        graph, opened = self._knowledge.graph, self._knowledge.opened_with
        if isinstance(graph, EndpointGraph):
            return partial(run_on_endpoint, graph)
        if not isinstance(graph, OxigraphGraph):
            raise InputError("SPARQL is served of one graph", hint="name it alone with -k")
        if opened is None:
            worker = QueryWorker(graph.store)
        else:
            reading = {name: opened[name] for name in _READING if name in opened}
            worker = QueryWorker(cast("list[str]", opened["sources"]), options=reading)
        self._workers.append(worker)
        return worker.run
