"""A graph behind a SPARQL endpoint."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from kgsparql.budget import Usage
from kgsparql.errors import KgsparqlError
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.graphs.profiles.catalogue import known_endpoints
from kgsparql.graphs.profiles.profile import EndpointProfile
from kgsparql.graphs.protocol.channel import Channel
from kgsparql.graphs.protocol.named_graphs import is_about_the_query
from kgsparql.graphs.protocol.probing import Probe
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S
from kgsparql.graphs.protocol.request import Form, QuestionDeadline, Reply, RequestLimits, SparqlRequest
from kgsparql.http.address import Address
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.recording import Recording
from kgsparql.storage.response_cache import ResponseCache

MAX_BYTES = 64 * 2**20
"""Of one reply, unpacked."""
TIMEOUT_S = 30.0
"""For a query, where the profile does not say how long the server lets one run."""
_WAY_S = 2.0
"""Added to the server's own limit, so that a server that ends a query has the time to say so."""
_COUNT_S = 5.0


class EndpointGraph(KnowledgeGraph):
    """A graph that is asked over HTTP, through SPARQLWrapper. Any number of threads may use it.

    Queries should see the union of the default graph and the named graphs. Before the first query, the endpoint is
    probed with at most two small ones: does it, or can it be asked to? If not, ``notes`` says what is not seen. An
    endpoint without a profile is asked once for its service description, too.

    Proxies are those of the environment: ``HTTPS_PROXY``, ``HTTP_PROXY``, else ``ALL_PROXY``; ``NO_PROXY`` names hosts
    that need none.

    :param url: with ``user:password@`` or a key in its query where the endpoint wants that; neither is ever shown.
    :param name: what citations say; the URL without credentials and keys, if ``None``.
    :param profile: how it is to be asked; what is known of the URL, if ``None``. With ``kgsparql.UNKNOWN`` it is
        asked without the limits that public services want; ``kgsparql.EndpointProfile`` makes one of your own.
    :param timeout_s: for one query, from its name server to the last byte. Waiting for a turn comes before that, and
        ends with the question's time, or after two minutes. ``None``: a little more than its profile says; 30 s if it
        says nothing.
    :param max_bytes: of one reply when it is unpacked.
    :param note: called with a line for the user, each line once.
    :param response_cache: a recording keeps all that is asked, or tells it again; a cache keeps what is replied where
        the profile says so.
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
        response_cache: ResponseCache | Recording | None = None,
    ) -> None:
        self._address = Address.parse(url)
        self.name = self._address.url if name is None else name
        profile = known_endpoints().at(url) if profile is None else profile
        self.probe = Probe(self._address, profile, keep=not isinstance(response_cache, Recording), now=self._now)
        if timeout_s is None:
            timeout_s = profile.timeout_s + _WAY_S if profile.timeout_s else TIMEOUT_S
        self.timeout_s = timeout_s
        self._recording = response_cache if isinstance(response_cache, Recording) else None
        self._question: QuestionDeadline | None = None
        self._found = _Found()
        self._channel = Channel(self._address, self.name, self.probe, max_bytes, response_cache, note)

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        """The same graph for one question: its queries end with the question's time, or when the question is stopped.

        Queries are not counted. Connections, and what was found out about the endpoint, are shared with this one.
        The options are those of :meth:`KnowledgeGraph.within`; waiting for a turn counts for ``most_s``, too.
        """
        view = copy.copy(self)
        view._question = QuestionDeadline(usage, in_grace, most_s)  # noqa: SLF001 - its own
        return view

    def close(self) -> None:
        """Close the connections; the next query opens others."""
        self._channel.close()

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
        return self._hash()

    @property
    def fingerprint(self) -> str:
        """A hash of the URL and the number of triples; or of today's date, if they cannot be counted in 5 s.

        So a change that keeps the number goes unseen, and a label index of what cannot be counted lasts for a day. For
        a service that is too large to be counted, a hash of the URL alone.
        """
        if self._found.fingerprint is None:
            self._found.fingerprint = self._hash("" if self.profile.has_many_labels else self._triple_count())
        return self._found.fingerprint

    def _hash(self, what: str = "") -> str:
        return hashlib.sha256(f"{self._address.user}\n{self._address.target}\n{what}".encode()).hexdigest()

    def _triple_count(self) -> str:
        try:
            counted = self.select_within(Query.load("info_triples"), timeout_s=_COUNT_S)
            count = counted[0].get("count") if counted.complete and len(counted) else None
            return count.value if isinstance(count, Literal) else self._today()
        except KgsparqlError as error:
            if not is_about_the_query(error):
                raise
            return self._today()

    def _today(self) -> str:
        return self._as_recorded("date", datetime.now(UTC).date().isoformat())

    def _now(self) -> str:
        return self._as_recorded("time", datetime.now(UTC).isoformat(timespec="seconds"))

    def _as_recorded(self, what: str, now: str) -> str:
        """What the clock says; in a replay, what it said in the recording."""
        if self._recording is None:
            return now
        return str(self._recording.recorded_value(what, {"endpoint": self.url}, {what: now})[what])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of any answer: named graphs that queries do not see."""
        with self._limits(self.timeout_s, None, None) as limits:
            found = self._channel.probe_graphs(limits).note
        return (found,) if found else ()

    @property
    def may_repeat_triples(self) -> bool:
        """Whether there are named graphs: then one triple may be in several, and counts must be of distinct ones."""
        if self.profile.has_named_graphs is not None:
            return self.profile.has_named_graphs
        if self._found.has_named_graphs is None:
            self._found.has_named_graphs = self._has_named_graphs()
        return self._found.has_named_graphs

    def _has_named_graphs(self) -> bool:
        """Whether a named graph is seen; true if the engine cannot tell."""
        try:
            found = self.select(Query.load("info_graphs").limit(1))
        except KgsparqlError as error:
            if not is_about_the_query(error):
                raise
            return True
        return bool(len(found) or found.invalid)

    def select(self, query: Query) -> Solutions:
        """The solutions of a SELECT.

        :raises QuerySyntaxError: if the endpoint says that it is not SPARQL.
        :raises QueryError: if it is not a SELECT, or the endpoint cannot run it.
        :raises UnreachableError: for whatever else is wrong at the endpoint.
        """
        return self.select_within(query)

    def ask(self, query: Query) -> bool:
        """The answer to an ASK, with the errors of :meth:`select`."""
        return self.ask_within(query)

    def select_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> Solutions:
        """As :meth:`select`, over ``timeout_s`` from now, waiting for a turn included, or at ``cancel``.

        :raises CancelledError: if ``cancel`` is set before the reply is there.
        """
        from kgsparql.graphs.protocol.results import solutions_of

        if query.empty:
            return Solutions()
        with self._limits(None, timeout_s, cancel) as limits:
            return solutions_of(query, *self._channel.send(query, "SELECT", limits))

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """As :meth:`ask`, with the limits of :meth:`select_within`."""
        from kgsparql.graphs.protocol.results import boolean

        if query.empty:
            return False
        with self._limits(None, timeout_s, cancel) as limits:
            return boolean(*self._channel.send(query, "ASK", limits))

    def send(
        self,
        text: str,
        form: Form,
        *,
        name: str,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> tuple[Reply, SparqlRequest]:
        """The reply of the endpoint to a query that was checked, over the union of its graphs.

        :param timeout_s: instead of the graph's own, and for waiting, too.
        :raises UnreachableError: if there is no whole reply in time; its status may be any.
        :raises CancelledError: if ``cancel`` is set meanwhile.
        :raises BudgetExceededError: if the time of the question is over that this graph is asked for.
        """
        with self._limits(timeout_s, timeout_s, cancel) as limits:
            return self._channel.send(Query(name, text), form, limits)

    @contextmanager
    def _limits(
        self, query_s: float | None, all_s: float | None, cancel: threading.Event | None
    ) -> Iterator[RequestLimits]:
        """The limits of a request that begins now; those of the question apply, too, if this is the graph of one.

        :param query_s: of one query; the graph's own, if ``None``.
        :param all_s: of all; what is left of the question, or two minutes more than ``query_s``, if ``None``.
        """
        query_s = self.timeout_s if query_s is None else query_s
        if self._question is None:
            yield RequestLimits.from_now(query_s, query_s + MAX_WAIT_S if all_s is None else all_s, cancel)
            return
        left_s = self._question.left_s()
        most_s = query_s + MAX_WAIT_S if left_s is None else left_s
        with self._question.timeouts_as_budget():
            all_s = most_s if all_s is None else min(all_s, most_s)
            yield RequestLimits.from_now(
                query_s, all_s, cancel or self._question.usage.cancel, self._question.usage.count_preparing
            )


@dataclass(slots=True)
class _Found:
    """What was found out about an endpoint once, shared by its views."""

    fingerprint: str | None = None
    has_named_graphs: bool | None = None
