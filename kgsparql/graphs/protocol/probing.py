"""Probes an endpoint without a profile, once: its headers and its service description tell which engine it runs."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgsparql.errors import BudgetExceededError, CancelledError, KgsparqlError
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.profiles.catalogue import KnownEndpoints, known_endpoints
from kgsparql.graphs.profiles.profile import UNKNOWN, EndpointProfile
from kgsparql.graphs.protocol.request import Reply, RequestLimits
from kgsparql.http.address import Address, host_of, is_loopback
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import read_sealed_json, replace_text, sealed_json

FOLDER = "endpoints"
"""In the cache directory: a file of JSON for each endpoint."""
KEPT_FOR = timedelta(days=7)

_PROBE_S = 5.0
_AGAIN_S = 60.0
"""Seconds until the next probe, after one without a result."""
_POLL_S = 0.1
_SD = "http://www.w3.org/ns/sparql-service-description#"
_VOID_TRIPLES = IRI("http://rdfs.org/ns/void#triples")
_VERSION = re.compile(r"[/ (]v?(\d[\w.+-]*)")
_TURTLE = {"text/turtle", "application/n-triples"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What an endpoint says of itself.

    :param at: when it was probed, ISO 8601.
    :param engine: the name of the profile of its engine; empty if it is not known.
    :param version: of the engine.
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
    _until: float = field(default=0.0, init=False)
    _probing: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.profile = self.known
        self.keep = self.keep and not is_loopback(host_of(self.address.url))

    @property
    def is_needed(self) -> bool:
        """Whether the profile does not say enough, and a probe may be tried now."""
        says_enough = self.known.engine or (self.known.name != UNKNOWN.name and not self.known.urls)
        return not says_enough and self.found is None and time.monotonic() >= self._until

    def run(self, fetch: Callable[[RequestLimits], Reply], limits: RequestLimits) -> None:
        """Probe the endpoint with one request, unless that was done.

        :param fetch: fetches the service description.
        :param limits: of the query that waits for this; half of its time is left to it.
        :raises CancelledError: if the limits' ``cancel`` is set meanwhile.
        :raises EndpointError: if there is no connection.
        """
        deadline = time.monotonic() + min(_PROBE_S, limits.query_s / 2)
        while self.is_needed and (left_s := deadline - time.monotonic()) > 0:
            limits.raise_if_cancelled()
            if self._probing.acquire(timeout=min(_POLL_S, left_s)):
                try:
                    if self.is_needed:
                        self._run(fetch, replace(limits, query_s=left_s, deadline=time.monotonic() + left_s))
                finally:
                    self._probing.release()

    def _run(self, fetch: Callable[[RequestLimits], Reply], limits: RequestLimits) -> None:
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
                self.trouble, self._until = error.message, time.monotonic() + _AGAIN_S
                return
            found = _result_of(reply, self.address, known, at=self.now())
            if self.keep:
                try:
                    remember(self.address, found)
                except OSError as error:
                    self.trouble = f"not kept: {error.strerror or error}"
        self.profile, self.found = _with_engine(self.known, known.by_name(found.engine), found), found


def recalled(address: Address) -> ProbeResult | None:
    """The result that is kept of an endpoint; ``None`` for none, or for one that is too old or cannot be read."""
    try:
        kept = read_sealed_json(_file(address))
        age = datetime.now(UTC) - datetime.fromisoformat(kept.pop("at"))
        if kept.pop("url") != address.url or not timedelta(0) <= age < KEPT_FOR:
            return None
        return _checked_result({**kept, "at": (datetime.now(UTC) - age).isoformat(timespec="seconds")})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # it is probed again


def remember(address: Address, found: ProbeResult) -> None:
    """Keep the result of a probe; an OSError if it cannot be written."""
    target = _file(address)
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_text(target, sealed_json({"url": address.url, **asdict(found)}))


def _file(address: Address) -> Path:
    return cache_directory() / FOLDER / hashlib.sha256(address.url.encode()).hexdigest()[:32]


def _checked_result(kept: Mapping[str, Any]) -> ProbeResult:
    """The kept result; a TypeError if a field has not the right type."""
    found = ProbeResult(**kept)
    texts = (found.engine, found.version, found.server)
    if not all(isinstance(text, str) for text in texts) or not isinstance(found.is_described, bool):
        raise TypeError("kept otherwise")
    if found.has_union not in {True, False, None} or not isinstance(found.triples, int | None):
        raise TypeError("kept otherwise")
    return found


def _result_of(reply: Reply, address: Address, known: KnownEndpoints, *, at: str) -> ProbeResult:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_rdf = reply.status == 200 and (kind in _TURTLE or kind == "application/rdf+xml")
    text = reply.body.decode("utf-8", "replace") if is_rdf else ""
    engine = known.engine(address.url, headers, text)
    server = printable(headers.get("server", ""), 120)
    described = _description_graph(reply.body, address) if is_rdf and kind in _TURTLE else None
    has_union = IRI(_SD + "UnionDefaultGraph") in _objects(described, IRI(_SD + "feature")) or None
    return ProbeResult(
        at=at, engine=engine.name if engine else "", version=_version(engine, headers), server=server,
        is_described=described is not None, has_union=has_union, triples=_triples(described),
    )  # fmt: skip


def _description_graph(body: bytes, address: Address) -> OxigraphGraph | None:
    store = ox.Store()
    try:
        store.bulk_load(body, ox.RdfFormat.TURTLE, base_iri=address.url)
    except (SyntaxError, ValueError, OSError, RuntimeError, MemoryError):
        return None
    graph = OxigraphGraph(store, name=address.url, fingerprint="")
    return graph if len(store) else None


def _triples(graph: OxigraphGraph | None) -> int | None:
    """The greatest number of triples in a VoID description: that of the whole, not of a part."""
    counts = [term.value for term in _objects(graph, _VOID_TRIPLES) if isinstance(term, Literal)]
    return max((int(count) for count in counts if re.fullmatch("[0-9]{1,18}", count)), default=None)


def _objects(graph: OxigraphGraph | None, predicate: IRI) -> set[Term]:
    if graph is None:
        return set()
    return {
        solution["object"] for solution in graph.select(Query.load("predicate_triples").bind(predicate=[predicate]))
    }


def _version(engine: EndpointProfile | None, headers: Mapping[str, str]) -> str:
    """The version in the header by which the engine was recognised."""
    for sign in engine.signs if engine else ():
        name, _, value = sign.partition(":")
        said = headers.get(name.lower(), "")
        if value.strip() and said.lower().startswith(value.strip().lower()):
            matched = _VERSION.search(said)
            return printable(matched[1], 40) if matched else ""
    return ""


def _with_engine(known: EndpointProfile, engine: EndpointProfile | None, found: ProbeResult) -> EndpointProfile:
    """The profile of the endpoint; what it does not say is taken from the profile of its engine."""
    profile = known
    if engine is not None:
        own = {f.name: value for f in fields(known) if (value := getattr(known, f.name)) != f.default}
        profile = replace(engine, **{"engine": engine.name, "aliases": (), **own, "signs": ()})
    if profile.has_union is None and found.has_union is not None:
        profile = replace(profile, has_union=found.has_union)
    return profile
