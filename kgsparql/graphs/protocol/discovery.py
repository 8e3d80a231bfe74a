"""What is found out about an endpoint before its first query: its engine, and which named graphs queries see."""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import pyoxigraph as ox

from kgsparql.errors import (
    BudgetExceededError,
    CancelledError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
)
from kgsparql.graphs.graph import Solutions
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, KnownEndpoints, known_endpoints
from kgsparql.graphs.protocol.refusals import is_about_the_query
from kgsparql.graphs.protocol.request import RequestLimits, SparqlRequest
from kgsparql.http.address import Address, host_of, is_loopback
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import read_sealed_json, replace_text, sealed_json

FOLDER = "endpoints"
"""In the cache directory: a file of JSON for each endpoint."""
KEPT_FOR = timedelta(days=7)
SAMPLE = 10
"""Triples of named graphs that are looked for in the union."""
_DESCRIPTION_S = 5.0
_NAMED_GRAPHS_S = 10.0
"""Seconds for each of the two queries, at most."""
_AGAIN_S = 60.0
"""Seconds until another try, after one that took too long or had no result."""
_POLL_S = 0.1
_UNION_FEATURE = IRI("http://www.w3.org/ns/sparql-service-description#UnionDefaultGraph")
_FEATURE = IRI("http://www.w3.org/ns/sparql-service-description#feature")
_VOID_TRIPLES = IRI("http://rdfs.org/ns/void#triples")
_VERSION = re.compile(r"[/ (]v?(\d[\w.+-]*)")
_TURTLE = {"text/turtle", "application/n-triples"}
_TRIPLE = ("subject", "predicate", "object")
_UNION: Mapping[str, str] = {"union-default-graph": "true"}
"""Asks Oxigraph's server for the union of all graphs; other servers ignore the parameter."""

Select: TypeAlias = Callable[[Query, Mapping[str, str], RequestLimits], Solutions]
"""Sends a SELECT with more parameters beside it."""


@contextmanager
def _one_at_a_time(lock: threading.Lock, limits: RequestLimits) -> Iterator[bool]:
    """Wait for a lock; yields whether it was free before the deadline.

    :raises CancelledError: if the limits' ``cancel`` is set meanwhile.
    """
    is_ours = False
    while not is_ours and (left_s := limits.left_s) > 0:
        limits.raise_if_cancelled()
        is_ours = lock.acquire(timeout=min(_POLL_S, left_s))
    try:
        yield is_ours
    finally:
        if is_ours:
            lock.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What an endpoint says of itself.

    :param at: when it was probed, ISO 8601.
    :param engine: the name of the profile of its engine; empty if it is not known. ``version`` is of the engine.
    :param server: the header of that name.
    :param is_described: whether there is a service description.
    :param has_union: whether that says that the default graph is the union of all; ``None`` if it does not say it.
    :param triples: how many there are, as its description in VoID says.
    """

    at: str
    engine: str = ""
    version: str = ""
    server: str = ""
    is_described: bool = False
    has_union: bool | None = None
    triples: int | None = None


@dataclass(slots=True)
class Probe:
    """Finds out what engine an endpoint runs, before its first query, if its profile does not say; for any threads.

    Where a probe fails, the endpoint is asked as an unknown one.

    :param known: its profile before the probe; ``profile``: with what was found.
    :param keep: whether the result is kept in the cache directory: not for a recording, which must have it itself, and
        never of an endpoint on this machine, which may be another tomorrow.
    :param now: the time, ISO 8601.
    :param found: the result; ``None`` before the probe, and where the profile says enough.
    :param trouble: why nothing was found, or why the result is not kept.
    """

    address: Address
    known: EndpointProfile = UNKNOWN
    keep: bool = True
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds")
    profile: EndpointProfile = field(init=False)
    found: ProbeResult | None = field(default=None, init=False)
    trouble: str = field(default="", init=False)
    _again_from: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.profile = self.known
        self.keep = self.keep and not is_loopback(host_of(self.address.url))

    @property
    def is_needed(self) -> bool:
        """Whether the profile does not say enough, and a probe may be tried now."""
        says_enough = self.known.engine or (self.known.name != UNKNOWN.name and not self.known.urls)
        return not says_enough and self.found is None and time.monotonic() >= self._again_from

    def run(self, fetch: Callable[[RequestLimits], HttpReply], limits: RequestLimits) -> None:
        """Probe the endpoint with one request, unless that was done.

        :param fetch: fetches the service description.
        :param limits: of the query that waits for this; half of its time is left to it.
        :raises CancelledError: if the limits' ``cancel`` is set meanwhile.
        :raises EndpointError: if there is no connection.
        """
        if not self.is_needed:
            return
        limits = replace(limits, deadline=time.monotonic() + min(_DESCRIPTION_S, limits.query_s / 2))
        with _one_at_a_time(self._lock, limits) as is_ours:
            if is_ours and self.is_needed:
                self._find(fetch, replace(limits, query_s=limits.left_s))

    def _find(self, fetch: Callable[[RequestLimits], HttpReply], limits: RequestLimits) -> None:
        self.trouble, known = "", known_endpoints()
        found = recalled(self.address) if self.keep else None
        if found is None:
            try:
                reply = fetch(limits)
            except (CancelledError, BudgetExceededError):
                raise
            except KgsparqlError as error:
                if error.detail.get("connected") is False:
                    raise  # nobody is there: the query would fail, too
                self.trouble, self._again_from = error.message, time.monotonic() + _AGAIN_S
                return
            found = _result_of(reply, self.address, known, at=self.now())
            if self.keep:
                try:
                    remember(self.address, found)
                except OSError as error:
                    self.trouble = f"not kept: {error.strerror or error}"
        self.profile, self.found = _with_engine(self.known, known.by_name(found.engine), found), found


def recalled(address: Address) -> ProbeResult | None:
    """Read the result that is kept of an endpoint; ``None`` for none, and for one too old or not readable."""
    try:
        kept = read_sealed_json(_file_of(address))
        age = datetime.now(UTC) - datetime.fromisoformat(kept.pop("at"))
        if kept.pop("url") != address.url or not timedelta(0) <= age < KEPT_FOR:
            return None
        found = ProbeResult(**kept, at=(datetime.now(UTC) - age).isoformat(timespec="seconds"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # it is probed again
    is_text = all(isinstance(text, str) for text in (found.engine, found.version, found.server))
    is_known = found.is_described in {True, False} and found.has_union in {True, False, None}
    return found if is_text and is_known and isinstance(found.triples, int | None) else None


def remember(address: Address, found: ProbeResult) -> None:
    """Keep the result of a probe; an OSError if it cannot be written."""
    target = _file_of(address)
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_text(target, sealed_json({"url": address.url, **asdict(found)}))


def _file_of(address: Address) -> Path:
    return cache_directory() / FOLDER / hashlib.sha256(address.url.encode()).hexdigest()[:32]


def _result_of(reply: HttpReply, address: Address, known: KnownEndpoints, *, at: str) -> ProbeResult:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_rdf = reply.status == 200 and (kind in _TURTLE or kind == "application/rdf+xml")
    engine = known.engine(address.url, headers, reply.body.decode("utf-8", "replace") if is_rdf else "")
    described = _description_graph(reply.body, address) if is_rdf and kind in _TURTLE else None
    counts = [term.value for term in _objects_of(described, _VOID_TRIPLES) if isinstance(term, Literal)]
    return ProbeResult(
        at=at,
        engine=engine.name if engine else "",
        version=_version_in(headers, engine),
        server=printable(headers.get("server", ""), 120),
        is_described=described is not None,
        has_union=_UNION_FEATURE in _objects_of(described, _FEATURE) or None,
        # The greatest number in a VoID description is that of the whole, not of a part.
        triples=max((int(count) for count in counts if re.fullmatch("[0-9]{1,18}", count)), default=None),
    )


def _description_graph(body: bytes, address: Address) -> OxigraphGraph | None:
    store = ox.Store()
    try:
        store.bulk_load(body, ox.RdfFormat.TURTLE, base_iri=address.url)
    except (SyntaxError, ValueError, OSError, RuntimeError, MemoryError):
        return None
    return OxigraphGraph(store, name=address.url, fingerprint="") if len(store) else None


def _objects_of(graph: OxigraphGraph | None, predicate: IRI) -> set[Term]:
    if graph is None:
        return set()
    return {row["object"] for row in graph.select(Query.load("predicate_triples").bind(predicate=[predicate]))}


def _version_in(headers: Mapping[str, str], engine: EndpointProfile | None) -> str:
    """Read the version in the header by which the engine was recognised."""
    for sign in engine.signs if engine else ():
        name, _, value = sign.partition(":")
        said = headers.get(name.lower(), "")
        if value.strip() and said.lower().startswith(value.strip().lower()):
            matched = _VERSION.search(said)
            return printable(matched[1], 40) if matched else ""
    return ""


def _with_engine(known: EndpointProfile, engine: EndpointProfile | None, found: ProbeResult) -> EndpointProfile:
    """Complete the profile of an endpoint by that of its engine, and by what it says of its union."""
    profile = known
    if engine is not None:
        own = {f.name: value for f in fields(known) if (value := getattr(known, f.name)) != f.default}
        profile = replace(engine, **{"engine": engine.name, "aliases": (), **own, "signs": ()})
    if profile.has_union is None and found.has_union is not None:
        profile = replace(profile, has_union=found.has_union)
    return profile


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
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def view(self, select: Select, limits: RequestLimits) -> GraphView:
        """Tell which graphs queries see; probed once, if that has a result.

        :raises EndpointTimeoutError: if it takes too long, waiting for another thread that probes included.
        :raises CancelledError: if the limits' ``cancel`` is set meanwhile.
        """
        if (known := self._known_view) is not None:
            return known
        with _one_at_a_time(self._lock, limits) as is_ours:
            if (known := self._known_view) is not None:
                return known
            if not is_ours:
                raise self._timeout_error(limits.query_s)
            view = self._view = self._probed(select, limits)
            self._until = time.monotonic() + view.lasts_s
        if view.note and view.note not in self._noted and self.note is not None:
            self._noted.add(view.note)
            self.note(view.note)
        return view

    @property
    def _known_view(self) -> GraphView | None:
        return self._view if time.monotonic() < self._until else None

    def _timeout_error(self, timeout_s: float, said: str = "") -> EndpointTimeoutError:
        return SparqlRequest(self.url, "named_graph_triples", "", timeout_s).timed_out(said=said)

    def _probed(self, select: Select, limits: RequestLimits) -> GraphView:
        """Look for triples of named graphs that the default graph does not show, and then for them in the union."""
        timeout_s = min(limits.query_s, _NAMED_GRAPHS_S, limits.left_s)

        def solutions(query: Query, parameters: Mapping[str, str], enough: int) -> Solutions:
            left_s = max(0.001, limits.left_s)
            found = select(query, parameters, replace(limits, query_s=min(timeout_s, left_s)))
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
            # An endpoint that cannot run our query never will; one that took too long is spared for a while; one that
            # failed quickly may just have been restarted, and is asked again at once.
            lasts_s = math.inf if isinstance(error, QueryError) else 0.0
            lasts_s = _AGAIN_S if isinstance(error, EndpointTimeoutError) else lasts_s
            return GraphView({}, f"{self.name}: it cannot be told whether queries see its named graphs", lasts_s)
        # Where the sample is full, another graph might come first next time: none is named.
        such = f", such as {graphs[0]}" if len(sample) < SAMPLE else ""
        return GraphView({}, f"{self.name}: queries do not see its named graphs{such}")
