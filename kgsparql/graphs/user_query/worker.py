"""Runs checked queries of users and models: in a process that is killed at the deadline, or at an endpoint."""

from __future__ import annotations

import math
import os
import re
import signal
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgsparql.errors import (
    CancelledError,
    InputError,
    KgsparqlError,
    LimitError,
    OptionError,
    QueryCrashError,
    QuerySyntaxError,
    QueryTimeoutError,
    error_from,
)
from kgsparql.graphs import EndpointGraph, FederatedGraph, OxigraphGraph
from kgsparql.graphs.child_process import END_S, Child, Frame
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.protocol.replies import boolean, read_solutions, triples, why_cut
from kgsparql.graphs.user_query.checking import CheckedQuery, check
from kgsparql.graphs.user_query.patterns import patterns_of, why_nothing
from kgsparql.graphs.user_query.results import BoundedLines, QueryResult
from kgsparql.rdf.terms import PrefixMap, printable
from kgsparql.resources import ClosedAtExit

Target: TypeAlias = str | Path | ox.Store | Sequence[str | Path]
_of_others: list[Child | None] = []
_COUNTS_ONCE = re.compile(r"\b(DISTINCT|GRAPH)\b", re.IGNORECASE)


class QueryWorker(ClosedAtExit):
    """Runs checked queries in a process of its own, kept between queries and started again after it was killed.

    :param target: a store on disk, RDF files, or a ``pyoxigraph.Store``, which is sent when the worker starts.
    :param options: keyword options of ``open_graph`` (``format``, ``base``, ``encoding``, ``skip_bad``, ``cache``).
    :param memory_bytes: what queries may take beside what the graph takes; only Linux enforces it.
    :param progress: called with phase, done and total while the worker loads files, which is no part of any deadline.
    :param notes: called with one line for each thing about the loading or a result that the user may want to know.

    The worker makes no connections: :func:`check` stops SERVICE. Over a graph held in memory it could not either, on
    Linux, for want of a file descriptor; over a store on disk, which opens files as it goes, the check is all there is.
    """

    def __init__(
        self, target: Target, *, options: Mapping[str, Any] | None = None, memory_bytes: int = 4 * 2**30,
        progress: Callable[[str, int, int], None] | None = None, notes: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self._store = target if isinstance(target, ox.Store) else None
        given = (target,) if isinstance(target, str | Path) else () if isinstance(target, ox.Store) else target
        self._sources = [str(source) for source in given]
        if "-" in self._sources:
            raise OptionError("the worker cannot read standard input", hint="open the graph, and give its store")
        self._options = dict(options or {})
        self._memory_bytes = memory_bytes
        self._told: dict[str, Callable[..., None] | None] = {"progress": progress, "note": notes}
        self._child: Child | None = None
        self._is_loading = False
        self._busy = threading.Lock()
        self._owner = os.getpid()
        self._may_repeat = False

    @property
    def pid(self) -> int | None:
        """The number of its process, while there is one."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the process, and with it a query that another thread runs; a later one would start another."""
        self._forget_after_fork()
        child, self._child = self._child, None
        if child is not None:
            child.stop(end_s=END_S if self._is_loading else 0.0)

    def start(self) -> None:
        """Start the process and have it load its graph, if that is not done yet; ``run`` does it too."""
        self._forget_after_fork()
        with self._busy:
            self._ensure_started()

    def run(
        self, query: CheckedQuery, *, timeout_s: float = 30.0, max_rows: int = 100_000, max_bytes: int = 2**28,
        cancel: threading.Event | None = None, spent_s: float = 0.0,
    ) -> QueryResult:  # fmt: skip
        """Run one query over all graphs as one. Several threads take turns.

        :param timeout_s: from the moment the worker has the query; it is killed then. ``spent_s`` of these are over.
        :param max_rows: solutions or triples that are kept; ``complete`` is ``False`` when there were more.
        :param cancel: looked at ten times a second; the worker is killed when it is set.
        :raises QuerySyntaxError: if the engine cannot parse it, with line and column of what the user wrote.
        :raises QueryTimeoutError: at the deadline.
        :raises LimitError: if it takes more memory than it may.
        :raises QueryCrashError: if it ended the worker.
        :raises QueryError: for any other failure of the engine.
        """
        request = {"text": query.text, "max_rows": max_rows, "max_bytes": max_bytes}
        self._forget_after_fork()
        try:
            with self._busy:
                child = self._ensure_started(cancel)
                header, content = self._reply_to(child, request, timeout_s=timeout_s, cancel=cancel, spent_s=spent_s)
        except QuerySyntaxError as error:
            raise _placed_syntax_error(error.message, query) from error
        notes = self._told["note"]
        if self._may_repeat and notes and query.form == "SELECT" and not _COUNTS_ONCE.search(query.text):
            notes("a triple that is in several graphs of the store counts once for each: DISTINCT counts it once")
        return QueryResult(query.form, content, header["rows"], header["complete"], header["seconds"])

    def _forget_after_fork(self) -> None:
        """Leave alone what belongs to the process that this one was forked from: its worker, and a lock it may hold."""
        if self._owner != os.getpid():
            _of_others.append(self._child)  # to let go of it would close its pipes, which a thread of the other reads
            self._owner, self._child, self._busy = os.getpid(), None, threading.Lock()

    def _ensure_started(self, cancel: threading.Event | None = None) -> Child:
        """Return the process, with its graph loaded."""
        if self._child is not None and self._child.is_alive:
            return self._child
        self.close()
        content = b"" if self._store is None else self._store.dump(format=ox.RdfFormat.N_QUADS) or b""
        child = self._child = Child("kgsparql.graphs.user_query.process")
        self._is_loading = True
        sources = self._sources if self._store is None else None
        request = {"sources": sources, "options": self._options, "memory_bytes": self._memory_bytes}
        try:
            header, _ = self._reply_to(child, request, content, cancel=cancel)
        except BaseException:
            self.close()
            raise
        self._is_loading = False
        self._may_repeat = header["may_repeat"]
        return child

    def _reply_to(
        self, child: Child, *sent: Any, cancel: threading.Event | None, timeout_s: float = math.inf, spent_s: float = 0
    ) -> Frame:
        """Send a frame and return the reply; the worker is killed if it is late, or nobody wants it any more."""
        try:
            reply = child.reply_to(*sent, told=self._told, timeout_s=timeout_s - spent_s, cancel=cancel)
        except BaseException as error:  # Ctrl-C too
            self.close()
            if type(error) is not TimeoutError:
                raise
            why, hint = f"the query was stopped after {timeout_s:g} s", "start from an IRI, or give it longer"
            raise QueryTimeoutError(why, hint=f"{hint} (--max-seconds; timeout_s)", timeout_s=timeout_s) from None
        if reply is None:
            raise self._crash_error(child)
        if "error" in reply[0]:
            record = reply[0]["error"]
            raise error_from({**record, "message": printable(record["message"])})
        return reply

    def _crash_error(self, child: Child) -> KgsparqlError:
        """Return the error for a process that ended by itself."""
        if self._child is None:
            return CancelledError("the query was stopped")  # closed by another thread
        code, last = child.last_words()
        self.close()
        if "memory allocation of" in last or "MemoryError" in last:
            most = f"{self._memory_bytes / 2**30:.3g} GiB"
            return LimitError(f"the query needs more memory than {most}", hint="ask for less at once", limit="memory")
        named = {signal.value: signal.name for signal in signal.Signals}
        how = named.get(-code, f"signal {-code}") if code < 0 else f"exit code {code}"
        return QueryCrashError(
            f"the query ended the process that ran it ({how})",
            hint="nothing else was harmed; write the query with less nesting",
            said=printable(last[-600:]),
        )


_SENTENCE = re.compile(r"(?:the )?select (?:contains|overrides|\*)[^,]*", re.IGNORECASE)
_MISSING = "is something missing in it? a triple has three parts; FILTER, BIND and functions want ( )"
_GROUPING = "what is selected beside COUNT, MAX and the like is what GROUP BY names"


def _placed_syntax_error(message: str, query: CheckedQuery) -> QuerySyntaxError:
    """Return the engine's error, at the line of what the user wrote."""
    found = re.match(r"error at (\d+):(\d+): (.*)", message, re.DOTALL)
    if found is None:
        return QuerySyntaxError(printable(message, 200), query=query.text)
    line, column = max(1, int(found[1]) - query.added), int(found[2])
    read = "".join(query.text.splitlines()[int(found[1]) - 1 : int(found[1])])[: column - 1]
    why, hint = f"{read[-60:].strip()!r} cannot be read", _MISSING
    if own := _SENTENCE.search(found[3]):  # the rest is what the grammar has at this place, without the order of it
        why, hint = own[0], _GROUPING if "override" not in own[0] else "choose another name for it"
    message = f"line {line}:{column}: {printable(why, 120)}"
    return QuerySyntaxError(message, hint=hint, line=line, column=column, query=query.text)


def run_on_endpoint(
    graph: EndpointGraph, query: CheckedQuery, *, timeout_s: float = 30.0, max_rows: int = 100_000,
    max_bytes: int = 2**28, cancel: threading.Event | None = None,
) -> QueryResult:  # fmt: skip
    """Run one checked query at an endpoint, with the arguments and errors of :meth:`QueryWorker.run`."""

    def taken(results: Any) -> tuple[BoundedLines, bool]:
        lines = BoundedLines(max_rows, max_bytes)
        return lines, lines.take(results)

    began, invalid = time.monotonic(), 0
    reply, request = graph.send(query.text, query.form, timeout_s=timeout_s, cancel=cancel)
    try:
        if query.form == "SELECT":
            (lines, complete), invalid = read_solutions(reply, request, taken)
        else:
            lines, complete = taken((boolean if query.form == "ASK" else triples)(reply, request))
    except QuerySyntaxError as error:
        raise _placed_syntax_error(str(error.detail.get("said", error.message)), query) from error
    why = why_cut(reply, request, lines.rows + invalid, "solutions" if query.form == "SELECT" else "triples")
    is_whole, seconds = complete and not why and not invalid, time.monotonic() - began
    return QueryResult(query.form, bytes(lines.content), lines.rows, is_whole, seconds, why, invalid)


class GraphQueries(ClosedAtExit):
    """Runs queries on one graph: at its endpoint, or in a process that is kept between them, and ends with this.

    A graph that its owner may change, such as a ``pyoxigraph.Store``, is sent to a new process for each query.
    """

    def __init__(
        self, graph: KnowledgeGraph, *, prefixes: PrefixMap | None = None, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self._graph, self._prefixes, self._note = graph, prefixes, note
        self._worker: QueryWorker | None = None
        if isinstance(graph, OxigraphGraph) and (graph.is_as_loaded or graph.directory is not None):
            self._worker = QueryWorker(graph.directory or graph.store, notes=note)
            weakref.finalize(self, self._worker.close)

    def close(self) -> None:
        """End the process; the next query starts another."""
        if self._worker is not None:
            self._worker.close()

    def run(self, text: str, **limits: Any) -> QueryResult:
        """Check a query and run it; limits and errors as of :func:`check` and :meth:`QueryWorker.run`."""
        result = self.run_checked(check(text, prefixes=self._prefixes), **limits)
        if result.cut is not None:
            self._note(f"cut: {result.cut} ({result.reason or 'max_rows keeps more'})")
        return result

    def why_nothing(self, text: str) -> str:
        """Say why a query finds nothing, as :func:`why_nothing.why_nothing`."""
        prefixes = self._prefixes or PrefixMap.default()
        return why_nothing(check(text, prefixes=prefixes), self.run_checked, prefixes)

    def run_checked(self, query: CheckedQuery, **limits: Any) -> QueryResult:
        """Run a query that was checked; limits and errors as of :meth:`QueryWorker.run`."""
        if self._worker is not None:
            return self._worker.run(query, **limits)
        graph, timeout_s, began = self._graph, limits.pop("timeout_s", 30.0), time.monotonic()
        if isinstance(graph, FederatedGraph):
            graph = graph.refreshed().graph_for(patterns_of(query).group, timeout_s)
        spent_s = time.monotonic() - began
        if isinstance(graph, EndpointGraph):
            return run_on_endpoint(graph, query, timeout_s=max(0.001, timeout_s - spent_s), **limits)
        if not isinstance(graph, OxigraphGraph):
            raise InputError("a query of your own runs on a store or an endpoint", hint="open that graph alone")
        with QueryWorker(graph.directory or graph.store) as worker:
            return worker.run(query, timeout_s=timeout_s, spent_s=spent_s, **limits)
