"""Runs checked queries of users and models, in a process that is killed at the deadline, or at an endpoint.

And says why one finds nothing, by what it names.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from kgsparql.dataclasses import dataclass
from kgsparql.errors import CancelledError, InputError, KgsparqlError, QuerySyntaxError, QueryTimeoutError
from kgsparql.graphs.endpoint import EndpointGraph
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.oxigraph import OxigraphGraph, engine_error
from kgsparql.graphs.protocol.replies import boolean, read_solutions, triples, why_cut
from kgsparql.graphs.query_process import BoundedLines
from kgsparql.graphs.user_query.checking import CheckedQuery, check, iris_of, tokenise
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal, PrefixMap, other_spellings, printable

_FILTERS = re.compile(r"\bFILTER\b", re.IGNORECASE)
_COUNTS_ONCE = re.compile(r"\b(DISTINCT|GRAPH)\b", re.IGNORECASE)


@dataclass(slots=True)
class GraphQueries:
    """Runs queries on one graph: at its endpoint, or in the processes of the graph.

    A process makes no connections: :func:`check` stops SERVICE. Over a graph in memory it could not either, on Linux,
    for want of a file descriptor; over a store on disk, which opens files as it goes, the check is all there is.
    """

    graph: KnowledgeGraph
    prefixes: PrefixMap | None = None
    note: Callable[[str], None] = lambda _: None

    def run(self, text: str, **limits: Any) -> QueryResult:
        """Check a query and run it; limits and errors as of :func:`check` and :meth:`run_checked`."""
        result = self.run_checked(check(text, prefixes=self.prefixes), **limits)
        if result.cut is not None:
            self.note(f"cut: {result.cut} ({result.reason or 'max_rows keeps more'})")
        return result

    def why_nothing(self, text: str) -> str:
        """Say why a query finds nothing, as :func:`why_nothing`."""
        prefixes = self.prefixes or PrefixMap.default()
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
        graph, until = self.graph, time.monotonic() + timeout_s
        if isinstance(graph, EndpointGraph):
            return _run_on_endpoint(graph, query, timeout_s, BoundedLines(max_rows, max_bytes), cancel)
        if not isinstance(graph, OxigraphGraph):
            raise InputError("a query of your own runs on files, a store or an endpoint", hint="open the graph as one")

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
            self.note("a triple that is in several graphs of the store counts once for each: DISTINCT counts it once")
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


Run: TypeAlias = Callable[..., QueryResult]

_SECONDS = 5.0
"""For what is asked about one empty result."""


def is_nothing(result: QueryResult) -> bool:
    """Tell whether a whole result is empty, no, or one row of nothing and zeros, such as a count of nothing."""
    if result.form == "ASK":
        return not result.boolean
    if result.form == "SELECT" and result.rows == 1:
        (row,) = result.solutions
        return all(isinstance(term, Literal) and term.value == "0" for term in row.values())
    return result.rows == 0 and result.complete


def why_nothing(query: CheckedQuery, run: Run, prefixes: PrefixMap) -> str:
    """Say in one sentence why a query finds nothing: what of all that it names the graph has nowhere.

    :param run: runs a checked query, for so many seconds as ``timeout_s`` says.
    """
    named = iris_of(query)
    spelt = {other: one for one in named for other in other_spellings(one)}
    asked = Query.load("known").bind(entity=[*named, *spelt])
    try:
        found = run(check(asked.text), timeout_s=_SECONDS).solutions if named else ()
    except KgsparqlError as error:
        return f"why there is nothing could not be found out: {printable(error.message, 200)}"
    known = {solution["entity"] for solution in found}
    if unknown := [one for one in named if one not in known]:
        meant = [str(other) for other, one in spelt.items() if one in unknown and other in known]
        where = f"the graph does not mention {' and '.join(map(prefixes.compress, unknown))}"
        return printable(where, 600) + f"; did you mean {' and '.join(meant)}?" * bool(meant)
    if _FILTERS.search(query.text):
        return "the graph mentions all that it names, but nothing matches the whole query: try it without FILTER"
    if any(token.kind == "string" for token in tokenise(query.text)):
        return "a text matches only with its language or datatype: better start from the IRI"
    return "the graph mentions all that it names, but nothing matches the whole query" if named else ""
