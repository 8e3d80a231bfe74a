"""A graph behind a SPARQL endpoint, and what is known of it in words for people and as JSON."""

from __future__ import annotations

import copy
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Self

from kgsparql.budget import Usage
from kgsparql.errors import CancelledError, EndpointTimeoutError, KgsparqlError, QueryError, UnreachableError
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, known_endpoints
from kgsparql.graphs.protocol.discovery import GraphView, Probe, ProbeResult
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S
from kgsparql.graphs.protocol.replies import boolean, solutions_of
from kgsparql.graphs.protocol.request import Form, RequestLimits, Sender, SparqlRequest, is_about_the_query
from kgsparql.graphs.protocol.senders import CachedSender, HttpSender, RateLimitedSender, RecordedSender
from kgsparql.http.address import Address
from kgsparql.http.transport import HttpReply, Transport, in_words
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.response_cache import Recording, ResponseCache

MAX_BYTES = 64 * 2**20  # of one reply, unpacked
TIMEOUT_S = 30.0  # for a query, where the profile does not say how long the server lets one run
_GRACE_FOR_THE_SERVER_S = 2.0
"""Added to the server's own limit, so that a server that ends a query has the time to say so."""
_COUNT_S = 5.0
NAMED_GRAPHS = {
    True: "what is in named graphs is found without naming them",
    False: "what is in named graphs is not found without naming them",
    None: "whether what is in named graphs is found is not known",
}
"""Whether queries see named graphs, in words."""


_TOLD = (
    "is_public", "needs_contact", "has_union", "text_search", "timeout_s", "concurrency", "pause_s", "query_seconds",
    "burst_seconds", "errors_per_minute", "max_solutions", "chunk_size", "keep_s", "label_predicates", "noise",
    "external_ids", "elsewhere",
)  # fmt: skip
"""The fields of a profile that ``info -f json`` tells."""


class EndpointGraph(KnowledgeGraph):
    """A graph that is asked over HTTP; requests are built by SPARQLWrapper. Any number of threads may use it.

    Before the first query, the endpoint is probed: what engine is it, and do queries see its named graphs, or can it
    be asked for them? If not, ``notes`` says so. Proxies are those of the environment (``HTTPS_PROXY``, ``HTTP_PROXY``,
    ``ALL_PROXY``, ``NO_PROXY``).

    :param url: with ``user:password@`` or a key in its query where the endpoint wants that; neither is ever shown.
    :param name: what citations say; the URL without credentials and keys, if ``None``.
    :param profile: how it is to be asked; what is known of the URL, if ``None``. With ``kgsparql.UNKNOWN`` it is
        asked without the limits that public services want; ``kgsparql.EndpointProfile`` makes one of your own.
    :param timeout_s: for one query, without waiting for a turn. ``None``: a little more than its profile says, or 30 s.
    :param max_bytes: of one reply when it is unpacked.
    :param note: called with a line for the user, each line once.
    :param response_cache: keeps results, where the profile says so.
    :param recording: of a snapshot: keeps all that is asked, or tells it again; it takes the place of the cache.
    :param transport: a function that answers each HTTP request; ``None`` for the network.
    :raises InputError: for what is not the URL of an endpoint.

    >>> EndpointGraph("https://me:secret@example.org/sparql").name
    'https://example.org/sparql'
    """

    is_remote = True

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        profile: EndpointProfile | None = None,
        timeout_s: float | None = None,
        max_bytes: int = MAX_BYTES,
        note: Callable[[str], None] | None = None,
        response_cache: ResponseCache | None = None,
        recording: Recording | None = None,
        transport: Transport | None = None,
    ) -> None:
        address = self._address = Address.parse(url)
        self.name = address.url if name is None else name
        profile = known_endpoints().at(url) if profile is None else profile
        self.probe = Probe(address, self.name, profile, note)
        if timeout_s is None:
            timeout_s = profile.timeout_s + _GRACE_FOR_THE_SERVER_S if profile.timeout_s else TIMEOUT_S
        self.timeout_s = timeout_s
        self._recording, self._response_cache = recording, response_cache
        self._http = HttpSender(address, max_bytes, transport)
        self._sender: Sender = RateLimitedSender(self._http, note)
        if recording is not None:
            asker = recording.asker_number(address.url, address.target, address.user, address.password)
            self._sender = RecordedSender(self._sender, recording, asker)
        elif response_cache is not None:
            self._sender = CachedSender(self._sender, response_cache, note)
        self._usage: Usage | None = None
        self._in_grace = False
        self._most_s: float | None = None

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        """Return the same graph for one question: its queries end with its time, or when it is stopped."""
        view = copy.copy(self)
        view._usage, view._in_grace, view._most_s = usage, in_grace, most_s  # noqa: SLF001 - its own
        return view

    def close(self) -> None:
        """Close the connections and the file of replies; the next query opens others."""
        self._http.close()
        for kept in filter(None, (self._response_cache, self._recording)):
            kept.close()

    @property
    def profile(self) -> EndpointProfile:
        """What is known of the endpoint; where it is probed, more after its first query."""
        return self.probe.profile

    @property
    def naming(self) -> Naming:
        """The label predicates of its profile."""
        known, profile = Naming(), self.profile
        return Naming(profile.label_predicates or known.labels, profile.predicate_label_links or known.links)

    @property
    def chunk_size(self) -> int:
        """How many terms one ``VALUES`` block may hold."""
        return self.profile.chunk_size

    @property
    def url(self) -> str:
        """Where it is, without credentials and keys."""
        return self._address.url

    @property
    def account(self) -> str:
        """A hash of its URL and user, as one user may see what another may not."""
        return self._hash_with("")

    @property
    def fingerprint(self) -> str:
        """A hash of the URL and the number of triples; or of today's date, if they cannot be counted in 5 s.

        So a change that keeps the number goes unseen, and a label index of what cannot be counted lasts for a day. For
        a service that is too large to be counted, a hash of the URL alone.
        """
        if self.probe.fingerprint is None:
            number = "" if self.profile.has_many_labels else self._triple_count()
            self.probe.fingerprint = self._hash_with(number)
        return self.probe.fingerprint

    def _hash_with(self, what: str) -> str:
        return hashlib.sha256(f"{self._address.user}\n{self._address.target}\n{what}".encode()).hexdigest()

    def _triple_count(self) -> str:
        try:
            counted = self.select_within(Query.load("info_triples"), _COUNT_S)
            count = counted[0].get("count") if counted.complete and len(counted) else None
            if isinstance(count, Literal):
                return count.value
        except KgsparqlError as error:
            if not is_about_the_query(error):
                raise
        today = datetime.now(UTC).date().isoformat()
        if self._recording is None:
            return today
        return str(self._recording.recorded_value("date", {"endpoint": self.url}, {"date": today})["date"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of any answer: named graphs that queries do not see."""
        with self._request_limits() as limits:
            found = self._graphs_seen(limits).note
        return (found,) if found else ()

    @property
    def may_repeat_triples(self) -> bool:
        """Whether there are named graphs: then one triple may be in several, and counts must be of distinct ones."""
        if self.profile.has_named_graphs is not None:
            return self.profile.has_named_graphs
        if self.probe.has_named_graphs is None:
            try:
                found = self.select(Query.load("info_graphs").limit(1))
                self.probe.has_named_graphs = bool(len(found) or found.invalid)
            except KgsparqlError as error:
                if not is_about_the_query(error):
                    raise
                self.probe.has_named_graphs = True  # the engine cannot tell
        return self.probe.has_named_graphs

    def select(self, query: Query) -> Solutions:
        """Get the solutions of a SELECT."""
        return self.select_within(query, None)

    def select_within(self, query: Query, timeout_s: float | None) -> Solutions:
        """Select as :meth:`select`, over ``timeout_s`` from now, waiting for a turn included."""
        if query.empty:
            return Solutions()
        with self._request_limits(None, timeout_s) as limits:
            return solutions_of(query, *self._reply_to(query, "SELECT", limits))

    def ask(self, query: Query) -> bool:
        """Get the answer to an ASK, with the errors of :meth:`select`."""
        if query.empty:
            return False
        with self._request_limits() as limits:
            return boolean(*self._reply_to(query, "ASK", limits))

    def send(
        self, text: str, form: Form, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> tuple[HttpReply, SparqlRequest]:
        """Get the reply of the endpoint to a user's query that was checked, over the union of its graphs."""
        with self._request_limits(timeout_s, timeout_s, cancel) as limits:
            return self._reply_to(Query("", text), form, limits)

    def _reply_to(self, query: Query, form: Form, limits: RequestLimits) -> tuple[HttpReply, SparqlRequest]:
        return self._send_query(query, form, self._graphs_seen(limits).parameters, limits)

    def _graphs_seen(self, limits: RequestLimits) -> GraphView:
        return self.probe.graphs(self._send_query, limits)

    def _send_query(
        self, query: Query, form: Form, parameters: Mapping[str, str], limits: RequestLimits
    ) -> tuple[HttpReply, SparqlRequest]:
        request = SparqlRequest(
            self.url,
            query.name,
            query.without_heading if query.name else query.text,  # errors count the lines of a user's own query
            limits.query_s,
            self._address.secrets,
            self.profile,
            form,
            parameters,
            deadline=max(limits.deadline, time.monotonic() + 0.001),  # what ran out before is this query's timeout
            cancel=limits.cancel,
            sent=limits.sent,
        )
        return self._sender.send(request), request

    @contextmanager
    def _request_limits(
        self, query_s: float | None = None, all_s: float | None = None, cancel: threading.Event | None = None
    ) -> Iterator[RequestLimits]:
        """Yield the limits of a request that begins now; those of the question apply, too, if this is a view for one.

        :param query_s: of one query; the graph's own, if ``None``.
        :param all_s: of all; what is left of the question, or two minutes more than ``query_s``, if ``None``.
        """
        query_s = self.timeout_s if query_s is None else query_s
        usage, sent, most_s = self._usage, None, query_s + MAX_WAIT_S
        if usage is not None:
            if usage.cancel.is_set():
                raise CancelledError("stopped")
            left_s = usage.grace_s if self._in_grace else usage.seconds_left
            if left_s == 0:
                usage.check(in_grace=self._in_grace)
            most_s = min((limit for limit in (left_s, self._most_s) if limit is not None), default=most_s)
            cancel, sent = cancel or usage.cancel, usage.count_preparing
        all_s = max(0.001, most_s if all_s is None else min(all_s, most_s))
        try:
            yield RequestLimits(min(query_s, all_s), time.monotonic() + all_s, cancel, sent)
        except EndpointTimeoutError as error:
            if usage is not None:  # the timeout of a query is the end of the budget, if the question's time is over
                waited = error.message if "waited_s" in error.detail else ""
                usage.check(waited, in_grace=self._in_grace, is_late=self._in_grace)
            raise


def summary(profile: EndpointProfile, found: ProbeResult | None) -> str:
    """Say what the service and its engine are.

    >>> summary(UNKNOWN, ProbeResult(server="nginx"))
    'an engine that does not say what it is (server: nginx)'
    """
    engine = profile.engine
    if found is not None:
        engine = " ".join(filter(None, (found.engine, found.version)))
        engine = engine or "an engine that does not say what it is" + (found.server and f" (server: {found.server})")
    is_named = profile.name not in {UNKNOWN.name, profile.engine}
    return ", on ".join(filter(None, (profile.name if is_named else "", engine))) or "an engine that is not known yet"


def limits_in_words(profile: EndpointProfile) -> list[str]:
    """List the limits of queries there, its own and those that we keep for its sake."""
    saved = f", at most {profile.burst_seconds:g} s saved up" if profile.burst_seconds is not None else ""
    lines = (
        (profile.timeout_s, "{:g} s a query"),
        (profile.query_seconds, f"{{:g}} s of query time a minute{saved}"),
        (profile.concurrency, "one query at a time" if profile.concurrency == 1 else "{} queries at a time"),
        (profile.pause_s, "{:g} s between queries"),
        (profile.chunk_size, "{:,} terms looked up at once"),
        (profile.max_solutions, "{:,} solutions a query"),
        (profile.errors_per_minute, "a ban from {} errors a minute on"),
        (profile.keep_s and in_words(profile.keep_s), "results kept for {}"),
    )
    return [line.format(limit) for limit, line in lines if limit]


def endpoint_json(graph: EndpointGraph) -> dict[str, Any]:
    """Describe what is known of an endpoint, and what it says of itself, as a JSON object; ``null`` is not known."""
    profile, found = graph.profile, graph.probe.found or ProbeResult()
    try:
        shows_named_graphs = not graph.notes
    except (UnreachableError, QueryError):
        shows_named_graphs = None
    return {
        "url": graph.url,
        "summary": summary(profile, graph.probe.found),
        "said_of_limits": limits_in_words(profile),
        "profile": None if profile.name == UNKNOWN.name else profile.name,
        "engine": profile.engine or None,
        "version": found.version or None,
        "server": found.server or None,
        "shows_named_graphs": shows_named_graphs,
        **{
            name: [getattr(one, "value", one) for one in value] if isinstance(value, tuple) else value
            for name in _TOLD
            for value in (getattr(profile, name),)
        },
    }
