"""A graph behind a SPARQL endpoint."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from kgsparql.errors import (
    CancelledError,
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
_POLL_S = 0.1
_TRIPLE = ("subject", "predicate", "object")
_UNION: Mapping[str, str] = {"union-default-graph": "true"}
"""How Oxigraph's server is asked for the union of all graphs; others do not know the parameter, and ignore it."""


class EndpointGraph:
    """A graph that is asked over HTTP, through SPARQLWrapper. Any number of threads may use it.

    Queries are to see the union of the default graph and the named graphs. Whether they do is found out before the
    first of them, with at most three small queries; an endpoint that can be asked for the union is, and for one that
    cannot, ``notes`` says what is not seen.

    :param url: with ``user:password@`` where the endpoint wants that; it is never shown.
    :param name: what citations say; the URL without credentials, if ``None``.
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
        self.name = self._address.url if name is None else name
        self.timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._note = note
        self._looking = threading.Lock()
        self._union: _Union | None = None
        self.prefixes: dict[str, str] = {}

    @property
    def url(self) -> str:
        """Where it is, without credentials."""
        return self._address.url

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the URL and the number of triples; of an endpoint that cannot count them in 5 s, of today's date.

        So a change that keeps the number goes unseen, and a label index of what cannot be counted lasts for a day.
        """
        try:
            (counted,) = self.select_within(Query.load("info_triples"), timeout_s=_COUNT_S)
            what = counted["count"].value if isinstance(counted["count"], Literal) else ""
        except KgsparqlError as error:
            if not _is_about_the_query(error):
                raise
            what = datetime.now(UTC).date().isoformat()
        return hashlib.sha256(f"{self._address.user}\n{self.url}\n{what}".encode()).hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of any answer should know: named graphs that queries do not see."""
        found = self._seen(self.timeout_s, None).note
        return (found,) if found else ()

    @cached_property
    def may_repeat_triples(self) -> bool:
        """Whether there are named graphs, so that one triple may be in several and counts must be of distinct ones."""
        return len(self.select(Query.load("info_graphs").limit(1))) > 0

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
        """
        within = self.timeout_s if timeout_s is None else timeout_s
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
        sent = Sent(self.url, query.name, query.text, timeout_s, self._address.password)
        return self._client.send(sent, form, parameters=parameters, left_s=left_s, cancel=cancel), sent

    @cached_property
    def _client(self) -> Client:
        from kgsparql.graphs.sparql_http import Client

        return Client(self._address, max_bytes=self._max_bytes)

    def _seen(self, timeout_s: float, cancel: threading.Event | None) -> _Union:
        """What queries see of the named graphs; found out once."""
        while self._union is None:
            if not self._looking.acquire(timeout=_POLL_S):
                if cancel is not None and cancel.is_set():
                    raise CancelledError("stopped while an endpoint was asked")
                continue
            try:
                if self._union is None:
                    self._union = self._look(min(timeout_s, _LOOK_S), cancel)
                    if self._union.note and self._note is not None:
                        self._note(self._union.note)
            finally:
                self._looking.release()
        return self._union

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
