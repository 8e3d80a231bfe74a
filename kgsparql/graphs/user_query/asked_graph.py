"""Queries of a user's own on a graph that is open: checked, bounded, and run where they can be stopped."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from kgsparql.errors import InputError
from kgsparql.graphs import EndpointGraph, OxigraphGraph
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.user_query.checking import check
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.graphs.user_query.worker import QueryWorker, run_on_endpoint
from kgsparql.rdf.terms import PrefixMap


class GraphQueries:
    """Runs queries on one graph; the process they run in is kept between them, and ends with this.

    A graph that its owner may change, such as a ``pyoxigraph.Store``, is sent to a new process for each query.

    :param prefixes: that a query may use without declaring them.
    :param note: called with what a reader should know about a result: that a limit cut it.
    :raises InputError: for a graph that is made of several.
    """

    def __init__(self, graph: KnowledgeGraph, *, prefixes: PrefixMap, note: Callable[[str], None]) -> None:
        if not isinstance(graph, OxigraphGraph | EndpointGraph):
            raise InputError("a query of your own runs on one graph", hint="open that graph alone")
        self._graph = graph
        self._prefixes = prefixes
        self._note = note
        self._kept: QueryWorker | None = None
        if isinstance(graph, OxigraphGraph) and graph.is_as_loaded:
            self._kept = QueryWorker(graph.directory or graph.store, notes=note)
            weakref.finalize(self, self._kept.close)

    def close(self) -> None:
        """End the process; the next query starts another."""
        if self._kept is not None:
            self._kept.close()

    def run(self, text: str, *, timeout_s: float, max_rows: int, cancel: threading.Event | None = None) -> QueryResult:
        """The result of a query; errors as of :func:`check` and :meth:`QueryWorker.run`."""
        query, graph = check(text, prefixes=self._prefixes), self._graph
        if isinstance(graph, EndpointGraph):
            result = run_on_endpoint(graph, query, timeout_s=timeout_s, max_rows=max_rows, cancel=cancel)
        elif self._kept is not None:
            result = self._kept.run(query, timeout_s=timeout_s, max_rows=max_rows, cancel=cancel)
        else:
            with QueryWorker(graph.directory or graph.store) as worker:
                result = worker.run(query, timeout_s=timeout_s, max_rows=max_rows, cancel=cancel)
        if result.cut is not None:
            self._note(f"cut: {result.cut} ({result.reason or 'max_rows keeps more'})")
        return result
