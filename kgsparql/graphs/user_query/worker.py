"""Runs checked queries of users and models: in a process that is killed at the deadline, or at an endpoint."""

from __future__ import annotations

import math
import queue
import re
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias

import pyoxigraph as ox

from kgsparql.errors import (
    CancelledError,
    EndpointReplyError,
    InputError,
    KgsparqlError,
    LimitError,
    OptionError,
    QueryCrashError,
    QuerySyntaxError,
    QueryTimeoutError,
    error_from,
)
from kgsparql.graphs import EndpointGraph, OxigraphGraph
from kgsparql.graphs.child_process import END_S, Child, Frame
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.manifest import check_tables, read_manifest
from kgsparql.graphs.user_query.checking import CheckedQuery, check
from kgsparql.graphs.user_query.results import BoundedLines, QueryResult
from kgsparql.rdf.terms import PrefixMap, printable
from kgsparql.storage.files import is_store

Target: TypeAlias = str | Path | ox.Store | Sequence[str | Path]
"""A store on disk, RDF files, or a store in memory, of which the worker gets a copy."""

Progress: TypeAlias = Callable[[str, int, int], None]
_POLL_S = 0.1
_COUNTS_ONCE = re.compile(r"\b(DISTINCT|GRAPH)\b", re.IGNORECASE)


class QueryWorker:
    """Runs checked queries in a process of its own, kept between queries and started again after it was killed.

    :param target: opened in the worker as :func:`kgsparql.graphs.open_graph` opens it; a ``pyoxigraph.Store`` is sent
        as it is when the worker starts, blank nodes with their names.
    :param options: keyword options of ``open_graph`` (``format``, ``base``, ``encoding``, ``skip_bad``, ``cache``).
    :param memory_bytes: what queries may take beside what the graph takes; only Linux enforces it.
    :param progress: called with phase, done and total while the worker loads files; loading is no part of any deadline.
    :param notes: called with one line for each thing about the loading or a result that the user may want to know.
    :raises OptionError: for standard input, which the worker cannot read.

    The worker makes no connections: :func:`check` stops SERVICE. Over a graph held in memory it could not either, on
    Linux, for want of a file descriptor; over a store on disk, which opens files as it goes, the check is all there is.
    """

    def __init__(
        self,
        target: Target,
        *,
        options: Mapping[str, Any] | None = None,
        memory_bytes: int = 4 * 2**30,
        progress: Progress | None = None,
        notes: Callable[[str], None] | None = None,
    ) -> None:
        self._store = target if isinstance(target, ox.Store) else None
        given = [] if isinstance(target, ox.Store) else [target] if isinstance(target, str | Path) else list(target)
        self._sources = [str(source) for source in given]
        if "-" in self._sources:
            raise OptionError("the worker cannot read standard input", hint="open the graph, and give its store")
        self._options = dict(options or {})
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._notes = notes
        self._child: Child | None = None
        self._is_loading = False
        self._busy = threading.Lock()
        self._may_repeat = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The number of its process, while there is one."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the process, and with it a query that another thread runs; a later one would start another."""
        child, self._child = self._child, None
        if child is not None:
            child.stop(end_s=END_S if self._is_loading else 0.0)

    def start(self, *, cancel: threading.Event | None = None) -> None:
        """Start the process and have it load its graph, if that is not done yet; ``run`` does it too.

        :raises GraphLoadError: or whatever else is wrong with the sources.
        :raises CancelledError: if ``cancel`` was set meanwhile.
        """
        with self._busy:
            self._ensure_started(cancel)

    def run(
        self,
        query: CheckedQuery,
        *,
        timeout_s: float = 30.0,
        max_rows: int = 100_000,
        max_bytes: int = 2**28,
        cancel: threading.Event | None = None,
    ) -> QueryResult:
        """Run one query over all graphs as one. Several threads take turns.

        A triple that is in several graphs of a store on disk is a solution for each: ``notes`` says so where it
        matters.

        :param timeout_s: from the moment the worker has the query; it is killed then.
        :param max_rows: solutions or triples that are kept; ``complete`` is ``False`` when there were more.
        :param cancel: looked at ten times a second; the worker is killed when it is set.
        :raises QuerySyntaxError: if the engine cannot parse it, with line and column of what the user wrote.
        :raises QueryTimeoutError: at the deadline.
        :raises LimitError: if it takes more memory than it may.
        :raises QueryCrashError: if it ended the worker.
        :raises QueryError: for any other failure of the engine.
        :raises CancelledError: if ``cancel`` was set.
        """
        request = {"text": query.text, "max_rows": max_rows, "max_bytes": max_bytes}
        try:
            with self._busy:
                child = self._ensure_started(cancel)
                self._send_frame(child, request)
                header, content = self._next_reply(child, cancel, timeout_s)
            if "error" in header:
                is_syntax = header["error"]["class"] == "QuerySyntaxError"
                raise (
                    _syntax_error(header["error"]["message"], query) if is_syntax else _reported_error(header["error"])
                )
        except (LimitError, QueryCrashError) as error:
            if not isinstance(error, QueryTimeoutError):
                self._check_stores()  # what is read from a damaged one may take any memory
            raise
        counts_twice = self._may_repeat and query.form == "SELECT" and not _COUNTS_ONCE.search(query.text)
        if counts_twice and self._notes is not None:
            self._notes("a triple that is in several graphs of the store counts once for each: DISTINCT counts it once")
        return QueryResult(query.form, content, header["rows"], header["complete"], header["seconds"])

    def _check_stores(self) -> None:
        for store in filter(is_store, map(Path, self._sources)):
            check_tables(store, read_manifest(store), thoroughly=True)

    def _ensure_started(self, cancel: threading.Event | None) -> Child:
        """Return the process, with its graph loaded."""
        if self._child is not None and self._child.is_alive:
            return self._child
        self.close()
        content = b"" if self._store is None else self._store.dump(format=ox.RdfFormat.N_QUADS) or b""
        child = self._child = Child("kgsparql.graphs.user_query.process")
        self._is_loading = True
        sources = self._sources if self._store is None else None
        self._send_frame(
            child, {"sources": sources, "options": self._options, "memory_bytes": self._memory_bytes}, content
        )
        del content  # as large as the graph
        header, _ = self._next_reply(child, cancel)
        self._is_loading = False
        if "error" in header:
            self.close()
            raise _reported_error(header["error"])
        self._may_repeat = header["may_repeat"]
        return child

    def _send_frame(self, child: Child, header: dict[str, Any], content: bytes = b"") -> None:
        try:
            child.send(header, content)
        except OSError as error:
            raise self._crash_error(child) from error
        except BaseException:
            self.close()
            raise

    def _next_reply(self, child: Child, cancel: threading.Event | None, timeout_s: float | None = None) -> Frame:
        """Return the next frame with a reply; pass frames of progress on. Kill the worker if none comes in time."""
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        try:
            while True:
                try:
                    frame = child.next_frame(max(0.0, min(deadline - time.monotonic(), _POLL_S)))
                except queue.Empty:
                    if cancel is not None and cancel.is_set():
                        raise CancelledError("the query was stopped") from None
                    if time.monotonic() >= deadline:
                        raise QueryTimeoutError(
                            f"the query was stopped after {timeout_s:g} s",
                            hint="start from an IRI, or give it longer (--max-seconds; timeout_s)",
                            timeout_s=timeout_s,
                        ) from None
                    continue
                if frame is None:
                    break
                if not self._is_passed_on(frame[0]):
                    return frame
        except BaseException:  # Ctrl-C too: nobody wants the result any more
            self.close()
            raise
        raise self._crash_error(child)

    def _is_passed_on(self, header: dict[str, Any]) -> bool:
        """Tell whether a frame is progress or a note, which whoever wants it is told."""
        if "progress" in header and self._progress is not None:
            self._progress(*header["progress"])
        elif "note" in header and self._notes is not None:
            self._notes(header["note"])
        return "progress" in header or "note" in header

    def _crash_error(self, child: Child) -> KgsparqlError:
        """Return the error for a process that ended by itself."""
        if self._child is None:
            return CancelledError("the query was stopped")  # closed by another thread
        code, last = child.last_words()
        self.close()
        if "memory allocation of" in last or "MemoryError" in last:
            most = f"{self._memory_bytes / 2**30:.3g} GiB"
            return LimitError(f"the query needs more memory than {most}", hint="ask for less at once", limit="memory")
        try:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        except ValueError:
            how = f"signal {-code}"
        return QueryCrashError(
            f"the query ended the process that ran it ({how})",
            hint="nothing else was harmed; write the query with less nesting",
            said=printable(last[-600:]),
        )


def _reported_error(record: Mapping[str, Any]) -> KgsparqlError:
    return error_from({**record, "message": printable(record["message"])})


def _syntax_error(message: str, query: CheckedQuery) -> QuerySyntaxError:
    """Return the engine's error, at the line of what the user wrote."""
    head, _, rest = message.removeprefix("error at ").partition(": ")
    line, colon, column = head.partition(":")
    if not (colon and line.isdecimal() and column.isdecimal()):
        return QuerySyntaxError(printable(message, 200), query=query.text)
    at = max(1, int(line) - query.added)
    return QuerySyntaxError(
        f"line {at}:{column}: {printable(rest, 200)}", hint="see SPARQL 1.1", line=at, column=int(column),
        query=query.text,
    )  # fmt: skip


def run_on_endpoint(
    graph: EndpointGraph,
    query: CheckedQuery,
    *,
    timeout_s: float = 30.0,
    max_rows: int = 100_000,
    max_bytes: int = 2**28,
    cancel: threading.Event | None = None,
) -> QueryResult:
    """Run one checked query at an endpoint instead of a worker, over the union of its graphs where it has one.

    :param timeout_s: for the whole reply to arrive.
    :param max_rows: solutions or triples that are kept; the query is sent as it is, with the LIMIT it has.
    :raises QuerySyntaxError: if the endpoint says that it is not SPARQL, with line and column of what the user wrote.
    :raises QueryError: if it cannot run it.
    :raises UnreachableError: for whatever else is wrong at the endpoint.
    :raises CancelledError: if ``cancel`` is set.
    """
    from kgsparql.graphs.protocol.replies import boolean, read, refuse_other_variables, repaired_reply, triples, why_cut

    began = time.monotonic()
    reply, request = graph.send(query.text, query.form, timeout_s=timeout_s, cancel=cancel)
    lines, complete, invalid, has_head = BoundedLines(max_rows, max_bytes), True, 0, True
    try:
        if query.form == "ASK":
            lines.content += b"true" if boolean(reply, request) else b"false"
        elif query.form == "SELECT":
            try:
                complete = read(reply, request, "SELECT", lines.take)
            except EndpointReplyError as error:
                (reply, invalid), has_head = repaired_reply(reply, error, request), False
                lines = BoundedLines(max_rows, max_bytes)
                complete = read(reply, request, "SELECT", lines.take)
        else:
            complete = lines.take(triples(reply, request))
    except QuerySyntaxError as error:
        raise _syntax_error(str(error.detail.get("said", error.message)), query) from error
    number, seconds = 1 if query.form == "ASK" else lines.rows, time.monotonic() - began
    if query.form == "SELECT" and number:
        names = bytes(lines.content).partition(b"\n")[0].decode().replace("?", "").split("\t")
        refuse_other_variables(frozenset(names), query.listed, request, has_head=has_head)
    why = why_cut(reply, request, number + invalid, "solutions" if query.form == "SELECT" else "triples")
    is_whole = complete and not why and not invalid
    return QueryResult(query.form, bytes(lines.content), number, is_whole, seconds, why, invalid)


@contextmanager
def query_runner(
    graph: KnowledgeGraph, *, notes: Callable[[str], None] | None = None
) -> Iterator[Callable[..., QueryResult]]:
    """Yield the function that runs checked queries on a graph: at its endpoint, or in a process that ends here.

    :raises InputError: for a graph that is made of several.
    """
    if isinstance(graph, EndpointGraph):
        yield partial(run_on_endpoint, graph)
        return
    if not isinstance(graph, OxigraphGraph):
        raise InputError("a query of your own runs on one graph", hint="open that graph alone")
    with QueryWorker(graph.directory or graph.store, notes=notes) as worker:
        yield worker.run


class GraphQueries:
    """Runs queries on one graph; the process they run in is kept between them, and ends with this.

    A graph that its owner may change, such as a ``pyoxigraph.Store``, is sent to a new process for each query.

    :param prefixes: that a query may use without declaring them.
    :param note: called with what a reader should know about a result: that a limit cut it.
    """

    def __init__(self, graph: KnowledgeGraph, *, prefixes: PrefixMap, note: Callable[[str], None]) -> None:
        self._graph = graph
        self._prefixes = prefixes
        self._note = note
        self._worker: QueryWorker | None = None
        if isinstance(graph, OxigraphGraph) and graph.is_as_loaded:
            self._worker = QueryWorker(graph.directory or graph.store, notes=note)
            weakref.finalize(self, self._worker.close)

    def close(self) -> None:
        """End the process; the next query starts another."""
        if self._worker is not None:
            self._worker.close()

    def run(self, text: str, **limits: Any) -> QueryResult:
        """Check a query and run it; limits and errors as of :meth:`QueryWorker.run`.

        :raises ForbiddenQueryError: for what :func:`check` refuses; its other errors likewise.
        :raises InputError: for a graph that is made of several.
        """
        query = check(text, prefixes=self._prefixes)
        if self._worker is not None:
            result = self._worker.run(query, **limits)
        else:
            with query_runner(self._graph) as run:
                result = run(query, **limits)
        if result.cut is not None:
            self._note(f"cut: {result.cut} ({result.reason or 'max_rows keeps more'})")
        return result
