"""A graph behind a SPARQL endpoint."""

from __future__ import annotations

import copy
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from kgsparql.budget import Usage
from kgsparql.errors import EndpointTimeoutError, KgsparqlError
from kgsparql.evidence import Source
from kgsparql.exchanges import Exchanges
from kgsparql.graph import Solutions
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile
from kgsparql.graphs.profiles.probing import Probe
from kgsparql.graphs.protocol.manners import MAX_WAIT_S
from kgsparql.graphs.protocol.named_graphs import NamedGraphs, Seen, is_about_the_query
from kgsparql.graphs.protocol.request import Address, Form, Reply, Sender, Sent
from kgsparql.query import Query
from kgsparql.recording import Recording
from kgsparql.terms import Literal
from kgsparql.vocabulary import Naming

__all__ = ["EndpointGraph"]

MAX_BYTES = 64 * 2**20
"""Of one reply, unpacked."""
TIMEOUT_S = 30.0
"""For a query, where nobody says how long the server lets one run."""
_WAY_S = 2.0
"""For what comes before and after: a server that ends a query should have the time to say so."""
_COUNT_S = 5.0


class EndpointGraph:
    """A graph that is asked over HTTP, through SPARQLWrapper. Any number of threads may use it.

    Queries are to see the union of the default graph and the named graphs. Whether they do is found out before the
    first of them, with at most two small queries; an endpoint that can be asked for the union is, and for one that
    cannot, ``notes`` says what is not seen. An endpoint that fails just then is looked at again. One that nobody
    described is asked once what it says of itself, too.

    Proxies are those of the environment: ``HTTPS_PROXY``, ``HTTP_PROXY``, ``NO_PROXY``.

    :param url: with ``user:password@`` or a key in its query where the endpoint wants that; neither is ever shown.
    :param name: what citations say; the URL without credentials and keys, if ``None``.
    :param profile: how it is to be asked.
    :param timeout_s: for one query, from its name server to the last byte. Waiting for a turn comes before that, and
        ends with the question's time, or after two minutes. ``None``: what its profile says, and a little for the way;
        30 s if it says nothing.
    :param max_bytes: of one reply when it is unpacked.
    :param note: called with a line a person should read, once.
    :param exchanges: a recording keeps all that is asked, or tells it again; a cache keeps what is replied where
        the profile says so.
    :raises InputError: for what is not the URL of an endpoint.

    >>> EndpointGraph("https://me:secret@example.org/sparql").name
    'https://example.org/sparql'
    """

    is_remote = True
    stored: tuple[StoredSource, ...] = ()

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        profile: EndpointProfile = UNKNOWN,
        timeout_s: float | None = None,
        max_bytes: int = MAX_BYTES,
        note: Callable[[str], None] | None = None,
        exchanges: Exchanges | None = None,
    ) -> None:
        self._address = Address.parse(url)
        self.name = self._address.url if name is None else name
        self.probe = Probe(self._address, profile, keep=not isinstance(exchanges, Recording))
        self.timeout_s = _time_of(profile) if timeout_s is None else timeout_s
        self._max_bytes = max_bytes
        self._note = note
        self._exchanges = exchanges
        who = (self._address.target, self._address.user, self._address.password)
        self._asker = exchanges.asker(self.url, *who) if isinstance(exchanges, Recording) else 0
        self._usage: Usage | None = None
        self._found = _Found()
        self._named_graphs = NamedGraphs(self.name, self.url, note)
        self.prefixes: dict[str, str] = {}

    def within(self, usage: Usage) -> EndpointGraph:
        """The same graph for one question: whatever it is asked ends with the question's time, or when that is stopped.

        Queries are not counted. Connections, and what is found out about the endpoint, are shared with this one.
        """
        view = copy.copy(self)
        view._usage = usage  # noqa: SLF001 - its own
        return view

    @property
    def profile(self) -> EndpointProfile:
        """What is known of the endpoint; of one that nobody described, more after its first query."""
        return self.probe.profile

    @property
    def naming(self) -> Naming:
        """By which predicates it names things, as its profile says."""
        known, said = Naming(), self.profile
        return Naming(said.label_predicates or known.labels, said.predicate_label_links or known.links)

    @property
    def chunk_size(self) -> int:
        """How many terms one ``VALUES`` block may hold."""
        return self.profile.chunk_size

    @property
    def url(self) -> str:
        """Where it is, without credentials and keys."""
        return self._address.url

    @property
    def fingerprint(self) -> str:
        """A hash of the URL and the number of triples; of an endpoint that cannot count them in 5 s, of today's date.

        So a change that keeps the number goes unseen, and a label index of what cannot be counted lasts for a day. Of a
        service that has very many, which change all the time and are not asked for, a hash of the URL alone.
        """
        if self._found.fingerprint is None:
            self._found.fingerprint = self._fingerprint()
        return self._found.fingerprint

    def _fingerprint(self) -> str:
        what = "" if self.profile.has_many_labels else self._counted()
        return hashlib.sha256(f"{self._address.user}\n{self._address.target}\n{what}".encode()).hexdigest()

    def _counted(self) -> str:
        try:
            counted = self.select_within(Query.load("info_triples"), timeout_s=_COUNT_S)
            count = counted[0].get("count") if counted.complete and len(counted) else None
            return count.value if isinstance(count, Literal) else self._today()
        except KgsparqlError as error:
            if not is_about_the_query(error):
                raise
            return self._today()

    def _today(self) -> str:
        """The date; in a replay that of the recording."""
        told = {"date": datetime.now(UTC).date().isoformat()}
        if isinstance(self._exchanges, Recording):
            told = self._exchanges.settled("date", {"endpoint": self.url}, told)
        return told["date"]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of any answer should know: named graphs that queries do not see."""
        with self._time_of_question(self.timeout_s + MAX_WAIT_S, None) as (within, cancel):
            found = self._seen(self.timeout_s, within, cancel).note
        return (found,) if found else ()

    @property
    def may_repeat_triples(self) -> bool:
        """Whether there are named graphs, so that one triple may be in several and counts must be of distinct ones."""
        if self.profile.has_named_graphs is not None:
            return self.profile.has_named_graphs
        if self._found.has_named_graphs is None:
            self._found.has_named_graphs = len(self.select(Query.load("info_graphs").limit(1))) > 0
        return self._found.has_named_graphs

    def select(self, query: Query) -> Solutions:
        """The solutions of a SELECT.

        :raises QuerySyntaxError: if the endpoint says that it is not SPARQL.
        :raises QueryError: if it is not a SELECT, or the endpoint cannot run it.
        :raises UnreachableError: for whatever else is wrong at the endpoint.
        """
        return self.select_within(query)

    def ask(self, query: Query) -> bool:
        """The answer to an ASK.

        :raises QueryError: as :meth:`select`.
        """
        return self.ask_within(query)

    def select_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> Solutions:
        """As :meth:`select`, over ``timeout_s`` from now, waiting for a turn included, or at ``cancel``.

        :raises CancelledError: if ``cancel`` is set before the reply is there.
        """
        from kgsparql.graphs.protocol.results import solutions

        if query.empty:
            return Solutions()
        reply, sent = self._asked(query, "SELECT", timeout_s, cancel)
        with self._told_whose_time():
            return solutions(reply, sent)

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """As :meth:`ask`, with the limits of :meth:`select_within`."""
        from kgsparql.graphs.protocol.results import boolean

        return False if query.empty else boolean(*self._asked(query, "ASK", timeout_s, cancel))

    def source(self, named_graph: str | None) -> Source:
        """How to cite a named graph, or the default graph (``None``)."""
        return Source(self.name, named_graph) if named_graph is not None else Source(self.name)

    def send(
        self,
        text: str,
        form: Form,
        *,
        name: str,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> tuple[Reply, Sent]:
        """What the endpoint replies to a query that is known to be one, over the union of its graphs.

        :param timeout_s: instead of the graph's own, and for waiting, too.
        :raises UnreachableError: if there is no whole reply in time; its status may be any.
        :raises CancelledError: if ``cancel`` is set meanwhile.
        :raises BudgetExceededError: if the time of the question is over that this graph is asked for.
        """
        own_s = self.timeout_s if timeout_s is None else timeout_s
        return self._within(Query(name, text), form, own_s, timeout_s, cancel)

    def _within(
        self, query: Query, form: Form, own_s: float, all_s: float | None, cancel: threading.Event | None
    ) -> tuple[Reply, Sent]:
        """A query with its time on its own, and the time for all: looking round, waiting, and trying again."""
        with self._time_of_question(own_s + MAX_WAIT_S if all_s is None else all_s, cancel) as (within, stop):
            deadline, own_s = time.monotonic() + within, min(own_s, within)
            parameters = self._seen(own_s, within, stop).parameters
            left_s = max(0.001, deadline - time.monotonic())
            return self._sent(query, form, timeout_s=own_s, left_s=left_s, parameters=parameters, cancel=stop)

    @contextmanager
    def _time_of_question(
        self, timeout_s: float, cancel: threading.Event | None
    ) -> Iterator[tuple[float, threading.Event | None]]:
        """The limits of what is asked now, which are those of the question too if this is the graph of one."""
        if self._usage is None:
            yield timeout_s, cancel
            return
        self._usage.check()
        left_s = self._usage.seconds_left
        with self._told_whose_time():
            yield timeout_s if left_s is None else max(0.001, min(timeout_s, left_s)), cancel or self._usage.cancel

    @contextmanager
    def _told_whose_time(self) -> Iterator[None]:
        """What was over may have been the time of the question."""
        try:
            yield
        except EndpointTimeoutError as error:
            if self._usage is not None:
                self._usage.check(error.message if "waited_s" in error.detail else "")
            raise

    def _asked(
        self, query: Query, form: Form, timeout_s: float | None, cancel: threading.Event | None
    ) -> tuple[Reply, Sent]:
        all_s = None if timeout_s is None else max(0.001, timeout_s)
        own_s = self.timeout_s if all_s is None else min(all_s, self.timeout_s)
        return self._within(query, form, own_s, all_s, cancel)

    def _sent(
        self,
        query: Query,
        form: Form,
        *,
        timeout_s: float,
        left_s: float,
        parameters: Mapping[str, str],
        cancel: threading.Event | None,
    ) -> tuple[Reply, Sent]:
        until = time.monotonic() + left_s
        text = query.without_heading if query.name else query.text  # of a user's own query the lines are counted
        sent = Sent(self.url, query.name, text, timeout_s, self._address.secrets, self.profile, until, cancel)
        sender = self._found.sender
        if sender is None:
            sender = self._found.sender = self._new_sender()
        return sender.send(sent, form, parameters=parameters, left_s=left_s, cancel=cancel), sent

    def _new_sender(self) -> Sender:
        """What brings queries to the endpoint, each wrapped in the next: the connection, manners, what is kept."""
        from kgsparql.graphs.protocol.recorded import CachedSender, RecordedSender

        if isinstance(self._exchanges, Recording):
            return RecordedSender(self._polite, self._exchanges, self._asker)
        if self._exchanges is None:
            return self._polite()
        return CachedSender(self._polite(), self._exchanges, self._note)

    def _polite(self) -> Sender:
        from kgsparql.graphs.protocol.client import Client
        from kgsparql.graphs.protocol.polite_client import PoliteClient

        client = Client(self._address, max_bytes=self._max_bytes)
        return PoliteClient(client, note=self._note)

    def _seen(self, own_s: float, all_s: float, cancel: threading.Event | None) -> Seen:
        self.probe.run(self._description, own_s, cancel)
        if self.profile.has_union:
            return Seen()
        return self._named_graphs.seen(self._select, min(own_s, all_s), all_s, cancel)

    def _description(self, timeout_s: float, cancel: threading.Event | None) -> Reply:
        asked = Query("service_description", "")
        options = {"timeout_s": timeout_s, "left_s": timeout_s}
        return self._sent(asked, "DESCRIPTION", **options, parameters={}, cancel=cancel)[0]

    def _select(
        self,
        query: Query,
        parameters: Mapping[str, str],
        *,
        timeout_s: float,
        left_s: float,
        cancel: threading.Event | None,
    ) -> Solutions:
        from kgsparql.graphs.protocol.results import solutions

        sent = self._sent(query, "SELECT", timeout_s=timeout_s, left_s=left_s, parameters=parameters, cancel=cancel)
        return solutions(*sent)


def _time_of(profile: EndpointProfile) -> float:
    return profile.timeout_s + _WAY_S if profile.timeout_s else TIMEOUT_S


@dataclass(slots=True)
class _Found:
    """What was found out about an endpoint once, for all that ask it."""

    sender: Sender | None = None
    fingerprint: str | None = None
    has_named_graphs: bool | None = None
