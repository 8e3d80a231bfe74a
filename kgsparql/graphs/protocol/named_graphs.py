"""Which named graphs of an endpoint queries see, and how they are made to see all of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from kgsparql.errors import (
    AuthenticationError,
    EndpointError,
    EndpointReplyError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    RateLimitError,
)
from kgsparql.graphs.graph import Solutions
from kgsparql.graphs.protocol.request import RequestLimits, SparqlRequest
from kgsparql.rdf.query import Query

_PROBE_S = 10.0
"""Seconds for each of the two queries, at most."""
_PROBE_AGAIN_S = 60.0
"""Seconds until the next probe, after one that took too long."""
_SAMPLE = 10
"""Triples of named graphs that are looked for in the union."""
_POLL_S = 0.1
_TRIPLE = ("subject", "predicate", "object")
_UNION: Mapping[str, str] = {"union-default-graph": "true"}
"""Asks Oxigraph's server for the union of all graphs; other servers ignore the parameter."""


Select: TypeAlias = Callable[[Query, Mapping[str, str], RequestLimits], Solutions]
"""Sends a SELECT with more parameters beside it."""


@dataclass(frozen=True, slots=True)
class GraphView:
    """Which graphs queries see.

    :param parameters: to send with each query, so that it sees all graphs.
    :param note: for the user, where graphs are not seen all the same.
    :param lasts_s: after so many seconds the endpoint is probed again.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    lasts_s: float = math.inf


@dataclass(slots=True)
class NamedGraphs:
    """Finds out, before the first query, whether queries see named graphs: with at most two small ones.

    Any number of threads may use it.

    :param name: what notes call the endpoint; ``url`` is what errors call it.
    :param note: called with each note once.
    """

    name: str
    url: str
    note: Callable[[str], None] | None = None
    _view: GraphView | None = None
    _until: float = 0.0
    _noted: set[str] = field(default_factory=set)
    _probing: threading.Lock = field(default_factory=threading.Lock)

    def view(self, select: Select, limits: RequestLimits) -> GraphView:
        """Which graphs queries see; probed once, if that has a result.

        :raises EndpointTimeoutError: if it takes too long, waiting for another thread that probes included.
        :raises CancelledError: if the limits' ``cancel`` is set meanwhile.
        """
        while (known := self._known_view) is None:
            left_s = limits.deadline - time.monotonic()
            if left_s <= 0:
                raise self._timed_out(limits.query_s)
            limits.raise_if_cancelled()
            if self._probing.acquire(timeout=min(_POLL_S, left_s)):
                try:
                    return self._known_view or self._keep(self._probe(select, limits))
                finally:
                    self._probing.release()
        return known

    def _timed_out(self, timeout_s: float, said: str = "") -> EndpointTimeoutError:
        from kgsparql.graphs.protocol.failures import timed_out

        return timed_out(SparqlRequest(self.url, "named_graph_triples", "", timeout_s), said=said)

    @property
    def _known_view(self) -> GraphView | None:
        return self._view if time.monotonic() < self._until else None

    def _keep(self, view: GraphView) -> GraphView:
        self._view, self._until = view, time.monotonic() + view.lasts_s
        if view.note and view.note not in self._noted and self.note is not None:
            self._noted.add(view.note)
            self.note(view.note)
        return view

    def _probe(self, select: Select, limits: RequestLimits) -> GraphView:
        """Look for triples of named graphs that the default graph does not show, and then for them in the union."""
        timeout_s = min(limits.query_s, _PROBE_S, limits.deadline - time.monotonic())

        def solutions(query: Query, parameters: Mapping[str, str], enough: int) -> Solutions:
            left_s = max(0.001, limits.deadline - time.monotonic())
            found = select(query, parameters, replace(limits, query_s=min(timeout_s, left_s)))
            if not found.complete and len(found) < enough:  # which says nothing about what is not there
                raise self._timed_out(timeout_s, found.missing)
            return found

        try:
            sample = solutions(Query.load("named_graph_triples").limit(_SAMPLE), {}, 1)
            triples = {tuple(s[name] for name in _TRIPLE) for s in sample}
            if not triples:
                return GraphView()
            shown = Query.load("verify").bind_rows(_TRIPLE, sorted(triples, key=str))
            if len({tuple(s.values()) for s in solutions(shown, _UNION, len(triples))}) == len(triples):
                return GraphView(_UNION)
            graphs = sorted(str(s["graph"]) for s in sample)
        except KgsparqlError as error:
            is_hurried = timeout_s < _PROBE_S and isinstance(error, EndpointTimeoutError)
            if is_hurried or not is_about_the_query(error):
                raise
            note = f"{self.name}: it cannot be told whether queries see its named graphs"
            return GraphView({}, note, lasts_s=_lasts_s(error))
        # Where the sample is full, another graph might come first next time: none is named.
        such = f", such as {graphs[0]}" if len(sample) < _SAMPLE else ""
        return GraphView({}, f"{self.name}: queries do not see its named graphs{such}")


def _lasts_s(error: KgsparqlError) -> float:
    """Seconds until the next probe, after one that failed.

    An endpoint that cannot run our query never will. One that took too long is spared for a while. One that failed
    quickly may just have been restarted: it is probed again at once.
    """
    if isinstance(error, EndpointTimeoutError):
        return _PROBE_AGAIN_S
    return math.inf if isinstance(error, QueryError) else 0.0


def is_about_the_query(error: KgsparqlError) -> bool:
    """Whether another query may succeed; not at an endpoint that is down, or wants a password."""
    if isinstance(error, EndpointReplyError | AuthenticationError | RateLimitError):
        return False
    failed_at_it = isinstance(error, EndpointError) and int(error.detail.get("status") or 0) >= 500
    return failed_at_it or isinstance(error, QueryError | EndpointTimeoutError)
