"""What is found out about an endpoint before its first query: its engine, and which named graphs queries see."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from kgsparql.errors import (
    BudgetExceededError,
    CancelledError,
    EndpointTimeoutError,
    InputError,
    KgsparqlError,
    LimitError,
    QueryError,
)
from kgsparql.graphs.graph import Solutions
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, KnownEndpoints, known_endpoints
from kgsparql.graphs.protocol.replies import solutions_of
from kgsparql.graphs.protocol.request import Form, RequestLimits, SparqlRequest, is_about_the_query
from kgsparql.http.address import Address
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import printable

SAMPLE = 10  # triples of named graphs that are looked for in the union
_DESCRIPTION_S = 5.0
_NAMED_GRAPHS_S = 10.0  # seconds for each of the two queries, at most
_AGAIN_S = 60.0  # seconds until another try, after one that took too long or had no result
_POLL_S = 0.1
_VERSION = re.compile(r"[/ (]v?(\d[\w.+-]*)")
_RDF = {"text/turtle", "application/n-triples", "application/rdf+xml"}
_TRIPLE = ("subject", "predicate", "object")
_UNION: Mapping[str, str] = {"union-default-graph": "true"}
"""Asks Oxigraph's server for the union of all graphs; other servers ignore the parameter."""

Send: TypeAlias = Callable[[Query, Form, Mapping[str, str], RequestLimits], tuple[HttpReply, SparqlRequest]]
"""Sends a query with more parameters beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What an endpoint says of itself: the engine, by the name of its profile, and the header ``Server``."""

    engine: str = ""
    version: str = ""
    server: str = ""


@dataclass(frozen=True, slots=True)
class GraphView:
    """Which graphs queries see: the parameters to send, so that these are all; and a note, where they are not."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    lasts_s: float = math.inf


@dataclass(slots=True)
class Probe:
    """Finds out what engine an endpoint runs, if its profile does not say, and which graphs queries see.

    It takes one request and at most two small queries. Where the request fails, the endpoint is asked as an unknown
    one. Any number of threads may use it.

    :param name: what notes call the endpoint.
    :param known: its profile before the probe; ``profile``: with what was found.
    :param note: called with each note once.
    :ivar trouble: why nothing was found; ``fingerprint`` and ``has_named_graphs`` are what the graph found out later.
    """

    address: Address
    name: str
    known: EndpointProfile = UNKNOWN
    note: Callable[[str], None] | None = None
    profile: EndpointProfile = field(init=False)
    found: ProbeResult | None = field(default=None, init=False)
    trouble: str = field(default="", init=False)
    fingerprint: str | None = field(default=None, init=False)
    has_named_graphs: bool | None = field(default=None, init=False)
    _again_from: float = field(default=0.0, init=False)
    _view: GraphView | None = field(default=None, init=False)
    _view_until: float = field(default=0.0, init=False)
    _noted: set[str] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.profile = self.known

    def graphs(self, send: Send, limits: RequestLimits) -> GraphView:
        """Tell which graphs queries see, once it is known what the endpoint is.

        :raises EndpointTimeoutError: if it takes too long, waiting for another thread that probes included.
        :raises EndpointError: if there is no connection.
        :raises CancelledError: if the limits' ``cancel`` is set meanwhile.
        """
        while (view := self._known_view()) is None:
            if (left_s := limits.left_s) <= 0:
                raise self._timeout_error(limits.query_s)
            if not self._lock.acquire(timeout=min(_POLL_S, left_s)):
                continue
            try:
                if self._needs_description():
                    self._read_description(send, limits)  # and then it is seen whether there is time for more
                elif self._known_view() is None:
                    view = self._view = self._probed_view(send, limits)
                    self._view_until = time.monotonic() + view.lasts_s
                    break
            finally:
                self._lock.release()
        if view.note and view.note not in self._noted and self.note is not None:
            self._noted.add(view.note)
            self.note(view.note)
        return view

    def _needs_description(self) -> bool:
        says_enough = self.known.engine or (self.known.name != UNKNOWN.name and not self.known.urls)
        return not says_enough and self.found is None and time.monotonic() >= self._again_from

    def _known_view(self) -> GraphView | None:
        if self._needs_description():
            return None
        if self.profile.has_union:
            return GraphView()
        return self._view if time.monotonic() < self._view_until else None

    def _read_description(self, send: Send, limits: RequestLimits) -> None:
        """Fetch and read what the endpoint says of itself; half of the query's time is left to the query."""
        most_s, known = min(_DESCRIPTION_S, limits.query_s / 2), known_endpoints()
        limits = replace(limits, query_s=most_s, deadline=time.monotonic() + most_s)
        try:
            reply, _ = send(Query("service_description", ""), "DESCRIPTION", {}, limits)
        except (CancelledError, BudgetExceededError):
            raise
        except KgsparqlError as error:
            is_ours = isinstance(error, InputError) and not isinstance(error, LimitError)  # such as a wrong proxy
            if is_ours or error.detail.get("connected") is False:
                raise  # nobody is there: the query would fail, too
            self.trouble, self._again_from = error.message, time.monotonic() + _AGAIN_S
            return
        found = _result_of(reply, self.address.url, known)
        self.profile, self.found = _with_engine(self.known, known.by_name(found.engine)), found

    def _timeout_error(self, timeout_s: float, said: str = "") -> EndpointTimeoutError:
        return SparqlRequest(self.address.url, "named_graph_triples", "", timeout_s).timed_out(said=said)

    def _probed_view(self, send: Send, limits: RequestLimits) -> GraphView:
        """Look for triples of named graphs that the default graph does not show, and then for them in the union."""
        timeout_s = min(limits.query_s, _NAMED_GRAPHS_S, limits.left_s)

        def solutions(query: Query, parameters: Mapping[str, str], enough: int) -> Solutions:
            in_time = replace(limits, query_s=min(timeout_s, max(0.001, limits.left_s)))
            found = solutions_of(query, *send(query, "SELECT", parameters, in_time))
            if not found.complete and len(found) < enough:  # which says nothing about what is not there
                raise self._timeout_error(timeout_s, found.missing)
            return found

        try:
            sample = solutions(Query.load("named_graph_triples").limit(SAMPLE), {}, 1)
            triples = {tuple(s[name] for name in _TRIPLE) for s in sample}
            if not triples:
                return GraphView()
            shown = Query.load("verify").bind_rows(_TRIPLE, sorted(triples, key=str))
            if len({tuple(s.values()) for s in solutions(shown, _UNION, len(triples))}) == len(triples):
                return GraphView(_UNION)
            graphs = sorted(str(s["graph"]) for s in sample)
        except KgsparqlError as error:
            is_hurried = timeout_s < _NAMED_GRAPHS_S and isinstance(error, EndpointTimeoutError)
            if is_hurried or not is_about_the_query(error):
                raise
            # One that took too long is spared for a while; one that failed quickly may just have been restarted.
            lasts_s = _AGAIN_S if isinstance(error, EndpointTimeoutError) else 0.0
            lasts_s = math.inf if isinstance(error, QueryError) else lasts_s
            return GraphView({}, f"{self.name}: it cannot be told whether queries see its named graphs", lasts_s)
        # Where the sample is full, another graph might come first next time: none is named.
        such = f", such as {graphs[0]}" if len(sample) < SAMPLE else ""
        return GraphView({}, f"{self.name}: queries do not see its named graphs{such}")


def _result_of(reply: HttpReply, url: str, known: KnownEndpoints) -> ProbeResult:
    headers = reply.headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    description = reply.body.decode("utf-8", "replace") if reply.status == 200 and kind in _RDF else ""
    engine = known.engine(url, headers, description)
    server = headers.get("server", "")
    is_of_engine = engine and any(f"server: {server}".lower().startswith(sign.lower()) for sign in engine.signs)
    version = _VERSION.search(server) if is_of_engine else None
    return ProbeResult(
        engine=engine.name if engine else "",
        version=printable(version[1], 40) if version else "",
        server=printable(server, 120),
    )


def _with_engine(known: EndpointProfile, engine: EndpointProfile | None) -> EndpointProfile:
    """Complete the profile of an endpoint by that of its engine."""
    if engine is None:
        return known
    own = {f.name: value for f in fields(known) if (value := getattr(known, f.name)) != f.default}
    return replace(engine, **{"engine": engine.name, "aliases": (), **own, "signs": ()})
