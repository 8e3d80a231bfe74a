"""A graph behind a SPARQL endpoint."""

from __future__ import annotations

import copy
import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kgsparql.budget import Usage

from kgsparql.errors import (
    EndpointError,
    EndpointReplyError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
)
from kgsparql.evidence import Source
from kgsparql.graph import Solutions
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.sparql_request import Address, Form, Reply, Sent
from kgsparql.query import Query
from kgsparql.terms import Literal

if TYPE_CHECKING:
    from kgsparql.graphs.sparql_http import Client

__all__ = ["EndpointGraph"]

MAX_BYTES = 64 * 2**20
"""Of one reply, unpacked."""
_COUNT_S = 5.0
_LOOK_S = 10.0
_SAMPLE = 10
_LOOK_AGAIN_S = 60.0
"""After a look that took too long."""
_POLL_S = 0.1
_TRIPLE = ("subject", "predicate", "object")
_UNION: Mapping[str, str] = {"union-default-graph": "true"}
"""How Oxigraph's server is asked for the union of all graphs; others do not know the parameter, and ignore it."""


class EndpointGraph:
    """A graph that is asked over HTTP, through SPARQLWrapper. Any number of threads may use it.

    Queries are to see the union of the default graph and the named graphs. Whether they do is found out before the
    first of them, with at most three small queries; an endpoint that can be asked for the union is, and for one that
    cannot, ``notes`` says what is not seen. An endpoint that fails just then is looked at again.

    Proxies are those of the environment: ``HTTPS_PROXY``, ``HTTP_PROXY``, ``NO_PROXY``.

    :param url: with ``user:password@`` or a key in its query where the endpoint wants that; neither is ever shown.
    :param name: what citations say; the URL without credentials and keys, if ``None``.
    :param timeout_s: for one query, from its name server to the last byte.
    :param max_bytes: of one reply when it is unpacked.
    :param note: called with a line a person should read, once.
    :raises InputError: for what is not the URL of an endpoint.

    >>> EndpointGraph("https://me:secret@example.org/sparql").name
    'https://example.org/sparql'
    """

    chunk_size = 200
    is_remote = True
    stored: tuple[StoredSource, ...] = ()

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        timeout_s: float = 30.0,
        max_bytes: int = MAX_BYTES,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._address = Address.parse(url)
        self.name = self._address.shown if name is None else name
        self.timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._note = note
        self._usage: Usage | None = None
        self._found = _Found()
        self.prefixes: dict[str, str] = {}

    def within(self, usage: Usage) -> EndpointGraph:
        """The same graph for one question: whatever is asked of it ends with the question's time, or when it is stopped.

        Queries are not counted. Connections, and what is found out about the endpoint, are shared with this one.
        """
        view = copy.copy(self)
        view._usage = usage
        return view

    @property
    def url(self) -> str:
        """Where it is, without credentials and keys."""
        return self._address.shown

    @property
    def fingerprint(self) -> str:
        """A hash of the URL and the number of triples; of an endpoint that cannot count them in 5 s, of today's date.

        So a change that keeps the number goes unseen, and a label index of what cannot be counted lasts for a day.
        """
        if self._found.fingerprint is None:
            self._found.fingerprint = self._fingerprint()
        return self._found.fingerprint

    def _fingerprint(self) -> str:
        try:
            (counted,) = self.select_within(Query.load("info_triples"), timeout_s=_COUNT_S)
            what = counted["count"].value if isinstance(counted["count"], Literal) else ""
        except KgsparqlError as error:
            if not _is_about_the_query(error):
                raise
            what = datetime.now(UTC).date().isoformat()
        return hashlib.sha256(f"{self._address.user}\n{self._address.url}\n{what}".encode()).hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of any answer should know: named graphs that queries do not see."""
        found = self._seen(self.timeout_s, None).note
        return (found,) if found else ()

    @property
    def may_repeat_triples(self) -> bool:
        """Whether there are named graphs, so that one triple may be in several and counts must be of distinct ones."""
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
        """As :meth:`select`, over sooner: after ``timeout_s``, if that is less than the graph's, or at ``cancel``.

        :raises CancelledError: if ``cancel`` is set before the reply is there.
        """
        from kgsparql.graphs.sparql_results import solutions

        return Solutions() if query.empty else solutions(*self._asked(query, "SELECT", timeout_s, cancel))

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """As :meth:`ask`, with the limits of :meth:`select_within`."""
        from kgsparql.graphs.sparql_results import boolean

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

        :param timeout_s: instead of the graph's own.
        :raises UnreachableError: if there is no whole reply in time; its status may be any.
        :raises CancelledError: if ``cancel`` is set meanwhile.
        :raises BudgetExceededError: if the time of the question is over that this graph is asked for.
        """
        within = self.timeout_s if timeout_s is None else timeout_s
        if self._usage is None:
            return self._send(text, form, name, within, cancel)
        self._usage.check()
        left = self._usage.seconds_left
        within = within if left is None else max(0.001, min(within, left))
        try:
            return self._send(text, form, name, within, cancel or self._usage.cancel)
        except EndpointTimeoutError:
            self._usage.check()  # what was over may have been the time of the question
            raise

    def _send(
        self, text: str, form: Form, name: str, within: float, cancel: threading.Event | None
    ) -> tuple[Reply, Sent]:
        deadline = time.monotonic() + within
        parameters = self._seen(within, cancel).parameters
        left = max(0.001, deadline - time.monotonic())
        return self._sent(Query(name, text), form, timeout_s=within, left_s=left, parameters=parameters, cancel=cancel)

    def _asked(
        self, query: Query, form: Form, timeout_s: float | None, cancel: threading.Event | None
    ) -> tuple[Reply, Sent]:
        within = self.timeout_s if timeout_s is None else max(0.001, min(timeout_s, self.timeout_s))
        return self.send(query.text, form, name=query.name, timeout_s=within, cancel=cancel)

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
        sent = Sent(self.url, query.name, query.text, timeout_s, (self._address.password, *self._address.keys))
        client = self._found.client
        if client is None:
            from kgsparql.graphs.sparql_http import Client

            client = self._found.client = Client(self._address, max_bytes=self._max_bytes)
        return client.send(sent, form, parameters=parameters, left_s=left_s, cancel=cancel), sent

    def _look(self, timeout_s: float, cancel: threading.Event | None) -> _Union:
        """Take some triples of named graphs, and see whether the default graph shows them too."""
        from kgsparql.graphs.sparql_results import solutions

        deadline = time.monotonic() + timeout_s

        def select(query: Query, parameters: Mapping[str, str]) -> Solutions:
            left = max(0.001, deadline - time.monotonic())
            sent = self._sent(query, "SELECT", timeout_s=timeout_s, left_s=left, parameters=parameters, cancel=cancel)
            return solutions(*sent)

        try:
            sample = select(Query.load("named_graph_triples").limit(_SAMPLE), {})
            triples = {tuple(s[name] for name in _TRIPLE) for s in sample}
            if not triples:
                return _Union()
            shown = Query.load("verify").bind_rows(_TRIPLE, sorted(triples, key=str))
            for parameters in ({}, _UNION):
                if len({tuple(s.values()) for s in select(shown, parameters)}) == len(triples):
                    return _Union(parameters)
        except KeyError as error:
            message = f"{self.url}: the reply lacks the variable {error} of the query"
            raise EndpointReplyError(
                message, code="E_FORMAT", hint="is this the URL of the endpoint itself?"
            ) from error
        except KgsparqlError as error:
            is_hurried = timeout_s < _LOOK_S and isinstance(error, EndpointTimeoutError)
            if is_hurried or not _is_about_the_query(error):
                raise
            return _Union({}, f"{self.name}: it cannot be told whether queries see its named graphs")
        graph = min(str(s["graph"]) for s in sample)
        return _Union({}, f"{self.name}: queries do not see its named graphs, such as {graph}")


@dataclass(frozen=True, slots=True)
class _Union:
    """How queries are made to see all graphs.

    :param parameters: to send with each.
    :param note: what is not seen.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def _is_about_the_query(error: KgsparqlError) -> bool:
    """Whether another query may fare better; an endpoint that is down or wants a password is so for all of them."""
    if isinstance(error, EndpointReplyError):
        return False
    failed_at_it = isinstance(error, EndpointError) and int(error.detail.get("status") or 0) >= 500
    return failed_at_it or isinstance(error, QueryError | EndpointTimeoutError)
