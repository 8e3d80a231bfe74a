"""What queries to an endpoint see of its named graphs, and how they are made to see all of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kgsparql.errors import (
    AuthenticationError,
    CancelledError,
    EndpointError,
    EndpointReplyError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    RateLimitError,
)
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.graphs.protocols import Solutions
from kgsparql.rdf.query import Query

__all__ = ["NamedGraphs", "Seen", "Select", "is_about_the_query"]

_LOOK_S = 10.0
_LOOK_AGAIN_S = 60.0
"""After a look that took too long."""
_SAMPLE = 10
_POLL_S = 0.1
_TRIPLE = ("subject", "predicate", "object")
_UNION: Mapping[str, str] = {"union-default-graph": "true"}
"""How Oxigraph's server is asked for the union of all graphs; others do not know the parameter, and ignore it."""


class Select(Protocol):
    """Sends a SELECT with more parameters beside it."""

    def __call__(
        self,
        query: Query,
        parameters: Mapping[str, str],
        *,
        timeout_s: float,
        left_s: float,
        cancel: threading.Event | None,
    ) -> Solutions:
        """The solutions.

        :param timeout_s: what errors say; ``left_s`` of it is left.
        """
        ...


@dataclass(frozen=True, slots=True)
class Seen:
    """How queries are made to see all graphs.

    :param parameters: to send with each.
    :param note: what is not seen.
    :param lasts_s: how long this is taken for granted.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    lasts_s: float = math.inf


@dataclass(slots=True)
class NamedGraphs:
    """Looks round in an endpoint before the first query, with at most two small ones; any thread may ask.

    :param name: what notes call the endpoint; ``url`` is where it is, as errors say it.
    :param note: called with a note the first time.
    """

    name: str
    url: str
    note: Callable[[str], None] | None = None
    _seen: Seen | None = None
    _until: float = 0.0
    _noted: set[str] = field(default_factory=set)
    _looking: threading.Lock = field(default_factory=threading.Lock)

    def seen(self, select: Select, timeout_s: float, left_s: float, cancel: threading.Event | None) -> Seen:
        """What queries see; looked for once, if that leads to something.

        :param timeout_s: for one query.
        :param left_s: for all, waiting for a turn included.
        :raises EndpointTimeoutError: if it takes too long, another thread's looking included.
        :raises CancelledError: if ``cancel`` is set meanwhile.
        :raises UnreachableError: if the endpoint is not there.
        """
        deadline = time.monotonic() + left_s
        while (known := self._known) is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise self._timed_out(timeout_s)
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped while an endpoint was asked")
            if self._looking.acquire(timeout=min(_POLL_S, left_s)):
                try:
                    return self._known or self._looked(select, min(timeout_s, _LOOK_S), left_s, cancel)
                finally:
                    self._looking.release()
        return known

    def _timed_out(self, timeout_s: float, said: str = "") -> EndpointTimeoutError:
        from kgsparql.graphs.protocol.failures import timed_out

        return timed_out(SparqlRequest(self.url, "named_graph_triples", "", timeout_s), said=said)

    @property
    def _known(self) -> Seen | None:
        return self._seen if time.monotonic() < self._until else None

    def _looked(self, select: Select, timeout_s: float, left_s: float, cancel: threading.Event | None) -> Seen:
        seen = self._look(select, min(timeout_s, left_s), left_s, cancel)
        self._seen, self._until = seen, time.monotonic() + seen.lasts_s
        if seen.note and seen.note not in self._noted and self.note is not None:
            self._noted.add(seen.note)
            self.note(seen.note)
        return seen

    def _look(self, select: Select, timeout_s: float, left_s: float, cancel: threading.Event | None) -> Seen:
        """Look for triples of named graphs that the default graph does not show, and then for them in the union."""
        deadline = time.monotonic() + left_s

        def asked(query: Query, parameters: Mapping[str, str], enough: int) -> Solutions:
            left_s = max(0.001, deadline - time.monotonic())
            found = select(query, parameters, timeout_s=min(timeout_s, left_s), left_s=left_s, cancel=cancel)
            if not found.complete and len(found) < enough:  # which says nothing about what is not there
                raise self._timed_out(timeout_s, found.missing)
            return found

        try:
            sample = asked(Query.load("named_graph_triples").limit(_SAMPLE), {}, 1)
            triples = {tuple(s[name] for name in _TRIPLE) for s in sample}
            if not triples:
                return Seen()
            shown = Query.load("verify").bind_rows(_TRIPLE, sorted(triples, key=str))
            if len({tuple(s.values()) for s in asked(shown, _UNION, len(triples))}) == len(triples):
                return Seen(_UNION)
            graphs = sorted(str(s["graph"]) for s in sample)
        except KeyError as error:
            message = f"{self.url}: the reply lacks the variable {error} of the query"
            raise EndpointReplyError(
                message, code="E_FORMAT", hint="is this the URL of the endpoint itself?"
            ) from error
        except KgsparqlError as error:
            is_hurried = timeout_s < _LOOK_S and isinstance(error, EndpointTimeoutError)
            if is_hurried or not is_about_the_query(error):
                raise
            note = f"{self.name}: it cannot be told whether queries see its named graphs"
            return Seen({}, note, lasts_s=_lasts_s(error))
        # Of a sample that is not all there is, another graph might be the first the next time.
        such = f", such as {graphs[0]}" if len(sample) < _SAMPLE else ""
        return Seen({}, f"{self.name}: queries do not see its named graphs{such}")


def _lasts_s(error: KgsparqlError) -> float:
    """How long not to look again after a look that failed.

    An endpoint that cannot run our query will not learn it. One that took too long is spared for a while, and one that
    failed quickly may just have been restarted.
    """
    if isinstance(error, EndpointTimeoutError):
        return _LOOK_AGAIN_S
    return math.inf if isinstance(error, QueryError) else 0.0


def is_about_the_query(error: KgsparqlError) -> bool:
    """Whether another query may fare better; an endpoint that is down or wants a password is so for all of them."""
    if isinstance(error, EndpointReplyError | AuthenticationError | RateLimitError):
        return False
    failed_at_it = isinstance(error, EndpointError) and int(error.detail.get("status") or 0) >= 500
    return failed_at_it or isinstance(error, QueryError | EndpointTimeoutError)
