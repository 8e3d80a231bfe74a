"""The way to one endpoint: what sends queries there, and what must be known of it before the first."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from kgsparql.graphs.graph import Solutions
from kgsparql.graphs.protocol.named_graphs import GraphView, NamedGraphs
from kgsparql.graphs.protocol.probing import Probe
from kgsparql.graphs.protocol.request import Form, Reply, RequestLimits, Sender, SparqlRequest
from kgsparql.http.address import Address
from kgsparql.rdf.query import Query
from kgsparql.storage.recording import Recording
from kgsparql.storage.response_cache import ResponseCache

if TYPE_CHECKING:
    from kgsparql.graphs.protocol.client import Client


@dataclass(slots=True)
class Channel:
    """Sends queries to one endpoint over the union of its graphs; any number of threads may use it.

    :param name: what notes call the endpoint.
    :param max_bytes: of one reply when it is unpacked.
    :param response_cache: a recording, or a cache, of what is asked.
    :param note: called with a line for the user, each line once.
    """

    address: Address
    name: str
    probe: Probe
    max_bytes: int
    response_cache: ResponseCache | Recording | None = None
    note: Callable[[str], None] | None = None
    _asker: int = field(default=0, init=False)
    _named_graphs: NamedGraphs = field(init=False)
    _sender: Sender | None = field(default=None, init=False)
    _clients: list[Client] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._named_graphs = NamedGraphs(self.name, self.address.url, self.note)
        if isinstance(self.response_cache, Recording):
            who = (self.address.target, self.address.user, self.address.password)
            self._asker = self.response_cache.asker_number(self.address.url, *who)

    def close(self) -> None:
        """Close the connections and the file of replies; the next query opens others."""
        for client in self._clients:
            client.close()
        if self.response_cache is not None:
            self.response_cache.close()

    def send(self, query: Query, form: Form, limits: RequestLimits) -> tuple[Reply, SparqlRequest]:
        """The reply of the endpoint, whatever its status, and the request; with the errors of :meth:`Sender.send`."""
        return self._send(query, form, limits, self.probe_graphs(limits).parameters)

    def probe_graphs(self, limits: RequestLimits) -> GraphView:
        """Which graphs queries see. Asked before the first query; what the endpoint is has then been probed, too."""
        self.probe.run(self._description, limits)
        if self.probe.profile.has_union:
            return GraphView()
        return self._named_graphs.view(self._select, limits)

    def _description(self, limits: RequestLimits) -> Reply:
        return self._send(Query("service_description", ""), "DESCRIPTION", limits, {})[0]

    def _select(self, query: Query, parameters: Mapping[str, str], limits: RequestLimits) -> Solutions:
        from kgsparql.graphs.protocol.results import solutions_of

        return solutions_of(query, *self._send(query, "SELECT", limits, parameters))

    def _send(
        self, query: Query, form: Form, limits: RequestLimits, parameters: Mapping[str, str]
    ) -> tuple[Reply, SparqlRequest]:
        """As :meth:`send`, with nothing probed before."""
        request = SparqlRequest(
            self.address.url,
            query.name,
            query.without_heading if query.name else query.text,  # errors count the lines of a user's own query
            limits.query_s,
            self.address.secrets,
            self.probe.profile,
            form,
            parameters,
            deadline=max(limits.deadline, time.monotonic() + 0.001),  # what ran out before is this query's timeout
            cancel=limits.cancel,
            sent=limits.sent,
        )
        if self._sender is None:
            self._sender = self._new_sender()
        return self._sender.send(request), request

    def _new_sender(self) -> Sender:
        """The senders of the endpoint, each wrapped in the next: the connection, rate limits, a cache or recording."""
        from kgsparql.graphs.protocol.recorded import CachedSender, RecordedSender

        if isinstance(self.response_cache, Recording):
            return RecordedSender(cache(self._rate_limited), self.response_cache, self._asker)
        if self.response_cache is None:
            return self._rate_limited()
        return CachedSender(self._rate_limited(), self.response_cache, self.note)

    def _rate_limited(self) -> Sender:
        from kgsparql.graphs.protocol.client import Client, RateLimitedClient

        self._clients.append(Client(self.address, max_bytes=self.max_bytes))
        return RateLimitedClient(self._clients[-1], note=self.note)
