"""A watch over the endpoints of a graph, whose names may change while it is asked."""

from __future__ import annotations

import threading
from contextlib import suppress

from kgsparql.budget import Budget, Usage
from kgsparql.errors import KgsparqlError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.graph_indexes import GraphIndexes

_PATIENCE_S = 0.5
"""A question waits so long for a check that begins with it: most end sooner, and then it sees what changed."""
_CLOSING_S = 2.0
_NO_LIMIT = Budget(max_queries=None, max_rows=None, max_seconds=None)


class NewsWatch:
    """A watch over a graph: each question is told what it is now, with its indexes.

    Endpoints are asked every ten minutes whether they changed, when a question comes, in the background; it is charged
    to none.
    """

    def __init__(self, indexes: GraphIndexes) -> None:
        self._indexes = indexes
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._thread = threading.Thread()
        self._found: GraphIndexes | None = None

    def current(self) -> tuple[KnowledgeGraph, GraphIndexes]:
        """Return the graph for the next question, and its indexes: others after a change."""
        with self._lock:
            known = self._indexes.graph
            graph = known.refreshed()
            if graph.members != known.members:
                self._use(self._indexes.of_changed(graph))
            elif not self._thread.is_alive() and any(member.is_to_be_checked for member in known.members):
                self._cancel.clear()
                self._thread = threading.Thread(target=self._check, name="kgsparql news", daemon=True)
                self._thread.start()
                self._thread.join(_PATIENCE_S)
            if (found := self._found) is not None:
                self._use(found)
                graph = found.graph.refreshed()
            return graph, self._indexes

    def reopen(self) -> None:
        """Forget what is known of the graph."""
        graph = self._indexes.graph.reopened()
        with self._lock:
            self._use(self._indexes.of_changed(graph))

    def close(self) -> None:
        """End the check that runs; what it would have found is found by the next one."""
        self._cancel.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSING_S)

    def _use(self, indexes: GraphIndexes) -> None:
        self.close()
        self._indexes, self._found = indexes, None

    def _check(self) -> None:
        # An endpoint that fails now is as it was; who asks it next is told why it fails.
        indexes = self._indexes
        with suppress(KgsparqlError):
            found = indexes.renewed(Usage(_NO_LIMIT, cancel=self._cancel))
            self._found = found if indexes is self._indexes else None
