"""Runs checked queries of users and models: in a process that is killed at the deadline, or at an endpoint."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any

from kgsparql.errors import (
    CancelledError,
    InputError,
    KgsparqlError,
    QuerySyntaxError,
    QueryTimeoutError,
)
from kgsparql.graphs import EndpointGraph, OxigraphGraph
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.oxigraph import engine_error
from kgsparql.graphs.protocol.replies import boolean, read_solutions, triples, why_cut
from kgsparql.graphs.query_process import BoundedLines
from kgsparql.graphs.user_query.checking import CheckedQuery, check
from kgsparql.graphs.user_query.patterns import why_nothing
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.rdf.terms import PrefixMap, printable

_COUNTS_ONCE = re.compile(r"\b(DISTINCT|GRAPH)\b", re.IGNORECASE)


class GraphQueries:
    """Runs queries on one graph: at its endpoint, or in the processes of the graph.

    A process makes no connections: :func:`check` stops SERVICE. Over a graph in memory it could not either, on Linux,
    for want of a file descriptor; over a store on disk, which opens files as it goes, the check is all there is.
    """

    def __init__(
        self, graph: KnowledgeGraph, *, prefixes: PrefixMap | None = None, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self._graph, self._prefixes, self._note = graph, prefixes, note

    def run(self, text: str, **limits: Any) -> QueryResult:
        """Check a query and run it; limits and errors as of :func:`check` and :meth:`run_checked`."""
        result = self.run_checked(check(text, prefixes=self._prefixes), **limits)
        if result.cut is not None:
            self._note(f"cut: {result.cut} ({result.reason or 'max_rows keeps more'})")
        return result

    def why_nothing(self, text: str) -> str:
        """Say why a query finds nothing, as :func:`why_nothing.why_nothing`."""
        prefixes = self._prefixes or PrefixMap.default()
        return why_nothing(check(text, prefixes=prefixes), self.run_checked, prefixes)

    def run_checked(
        self, query: CheckedQuery, *, timeout_s: float = 30.0, max_rows: int = 100_000, max_bytes: int = 2**28,
        cancel: threading.Event | None = None,
    ) -> QueryResult:  # fmt: skip
        """Run a query over all graphs as one; any number of threads may do so.

        :param timeout_s: it is stopped then.
        :param max_rows: solutions or triples that are kept; ``complete`` is ``False`` when there were more.
        :param cancel: looked at twenty times a second; the query is stopped when it is set.
        :raises QuerySyntaxError: if the engine cannot parse it, with line and column of what the user wrote.
        :raises QueryTimeoutError: at the deadline.
        :raises LimitError: if it takes more memory than it may.
        :raises QueryCrashError: if it ended the process.
        :raises QueryError: for any other failure of the engine.
        """
        graph, until = self._graph, time.monotonic() + timeout_s
        if isinstance(graph, EndpointGraph):
            return _run_on_endpoint(graph, query, timeout_s, BoundedLines(max_rows, max_bytes), cancel)
        if not isinstance(graph, OxigraphGraph):
            hint = "load the graphs into one store (kgsparql load), or name one of them alone"
            raise InputError("a query of your own runs on one store or one endpoint", hint=hint)

        def look_up_time() -> None:
            if cancel is not None and cancel.is_set():
                raise CancelledError("the query was stopped")
            if time.monotonic() >= until:
                raise QueryTimeoutError(
                    f"the query was stopped after {timeout_s:g} s",
                    hint="start from an IRI, or give it longer (--max-seconds; timeout_s)",
                )

        may_repeat = graph.may_repeat_triples
        try:
            header, content = graph.processes.reply_to(
                query.text, look_up_time, max_rows, max_bytes, is_set=graph.is_in_memory and may_repeat
            )
        except SyntaxError as error:
            raise _placed_syntax_error(str(error), query) from error
        except (OSError, RuntimeError) as error:
            if isinstance(error, KgsparqlError):
                raise
            raise engine_error(graph.name, "query", error) from error
        if may_repeat and not graph.is_in_memory and query.form == "SELECT" and not _COUNTS_ONCE.search(query.text):
            self._note("a triple that is in several graphs of the store counts once for each: DISTINCT counts it once")
        return QueryResult(query.form, content, header["rows"], header["complete"], header["seconds"])


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


def _run_on_endpoint(
    graph: EndpointGraph, query: CheckedQuery, timeout_s: float, lines: BoundedLines, cancel: threading.Event | None
) -> QueryResult:
    began, invalid = time.monotonic(), 0
    reply, request = graph.send(query.text, query.form, timeout_s=timeout_s, cancel=cancel)
    try:
        if query.form == "SELECT":
            complete, invalid = read_solutions(reply, request, lines.take)
        else:
            complete = lines.take((boolean if query.form == "ASK" else triples)(reply, request))
    except QuerySyntaxError as error:
        raise _placed_syntax_error(str(error.detail.get("said", error.message)), query) from error
    why = why_cut(reply, request, lines.rows + invalid, "solutions" if query.form == "SELECT" else "triples")
    is_whole, seconds = complete and not why and not invalid, time.monotonic() - began
    return QueryResult(query.form, bytes(lines.content), lines.rows, is_whole, seconds, why, invalid)
