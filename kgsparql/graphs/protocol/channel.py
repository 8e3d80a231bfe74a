"""The way to one endpoint: what brings queries there, and what must be known of it before the first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from kgsparql.graphs.protocol.named_graphs import NamedGraphs, Seen
from kgsparql.graphs.protocol.probing import Probe
from kgsparql.graphs.protocol.request import Form, Reply, Sender, SparqlRequest
from kgsparql.graphs.protocols import Solutions
from kgsparql.http.address import Address
from kgsparql.rdf.query import Query
from kgsparql.storage.recording import Recording
from kgsparql.storage.response_cache import ResponseCache

__all__ = ["Channel", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends one thing that is asked of an endpoint.

    :param query_s: for one query, from its name server to the last byte.
    :param all_s: for looking round before it, waiting for a turn, and trying again, too.
    :param asked: called before each query that is sent, those for looking round too.
    """

    query_s: float
    all_s: float
    cancel: threading.Event | None = None
    asked: Callable[[], None] | None = None

    @classmethod
    def of(
        cls, query_s: float, all_s: float, cancel: threading.Event | None, asked: Callable[[], None] | None = None
    ) -> Limits:
        """The limits, in which no query has more than there is for all."""
        all_s = max(0.001, all_s)
        return cls(min(query_s, all_s), all_s, cancel, asked)


@dataclass(slots=True)
class Channel:
    """Sends queries to one endpoint over the union of its graphs; any number of threads may use it.

    :param name: what notes call the endpoint.
    :param probe: finds out what it is.
    :param max_bytes: of one reply when it is unpacked.
    :param response_cache: a recording, or a cache, of what is asked.
    :param note: called with a line a person should read, once.
    """

    address: Address
    name: str
    probe: Probe
    max_bytes: int
    response_cache: ResponseCache | None = None
    note: Callable[[str], None] | None = None
    _asker: int = field(default=0, init=False)
    _named_graphs: NamedGraphs = field(init=False)
    _sender: Sender | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._named_graphs = NamedGraphs(self.name, self.address.url, self.note)
        if isinstance(self.response_cache, Recording):
            who = (self.address.target, self.address.user, self.address.password)
            self._asker = self.response_cache.asker_number(self.address.url, *who)

    def send(self, query: Query, form: Form, limits: Limits) -> tuple[Reply, SparqlRequest]:
        """What the endpoint replies, whatever its status, and what it was sent.

        :raises UnreachableError: if there is no whole reply in time.
        :raises CancelledError: if the limits' ``cancel`` is set meanwhile.
        """
        deadline = time.monotonic() + limits.all_s
        parameters = self.probe_graphs(limits).parameters
        left_s = max(0.001, deadline - time.monotonic())
        return self._send(query, form, replace(limits, all_s=left_s), parameters)

    def probe_graphs(self, limits: Limits) -> Seen:
        """What queries see, found out before the first of them; what the endpoint is has then been found out, too.

        :raises KgsparqlError: as :meth:`send`.
        """
        self.probe.run(partial(self._description, limits), limits.query_s, limits.cancel)
        if self.probe.profile.has_union:
            return Seen()
        return self._named_graphs.seen(partial(self._select, limits), limits.query_s, limits.all_s, limits.cancel)

    def _description(self, limits: Limits, timeout_s: float, cancel: threading.Event | None) -> Reply:
        asked = Query("service_description", "")
        return self._send(asked, "DESCRIPTION", Limits(timeout_s, timeout_s, cancel, limits.asked), {})[0]

    def _select(
        self,
        limits: Limits,
        query: Query,
        parameters: Mapping[str, str],
        *,
        timeout_s: float,
        left_s: float,
        cancel: threading.Event | None,
    ) -> Solutions:
        from kgsparql.graphs.protocol.results import solutions

        return solutions(*self._send(query, "SELECT", Limits(timeout_s, left_s, cancel, limits.asked), parameters))

    def _send(
        self, query: Query, form: Form, limits: Limits, parameters: Mapping[str, str]
    ) -> tuple[Reply, SparqlRequest]:
        """What comes back, with nothing found out before; all the time is left."""
        left_s, cancel, address = limits.all_s, limits.cancel, self.address
        until = time.monotonic() + left_s
        text = query.without_heading if query.name else query.text  # of a user's own query the lines are counted
        request = SparqlRequest(
            address.url, query.name, text, limits.query_s, address.secrets, self.probe.profile, until, cancel,
            limits.asked,
        )  # fmt: skip
        if self._sender is None:
            self._sender = self._new_sender()
        return self._sender.send(request, form, parameters=parameters, left_s=left_s, cancel=cancel), request

    def _new_sender(self) -> Sender:
        """What brings queries to the endpoint, each wrapped in the next: the connection, manners, what is kept."""
        from kgsparql.graphs.protocol.recorded import CachedSender, RecordedSender

        if isinstance(self.response_cache, Recording):
            return RecordedSender(self._polite, self.response_cache, self._asker)
        if self.response_cache is None:
            return self._polite()
        return CachedSender(self._polite(), self.response_cache, self.note)

    def _polite(self) -> Sender:
        from kgsparql.graphs.protocol.client import Client
        from kgsparql.graphs.protocol.rate_limited_client import RateLimitedClient

        client = Client(self.address, max_bytes=self.max_bytes)
        return RateLimitedClient(client, note=self.note)
