"""How a SPARQL request goes over HTTP: built by SPARQLWrapper, by POST or GET, redirected only within a server."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import urljoin

from SPARQLWrapper import GET, POST, SPARQLWrapper

from kgsparql.errors import EndpointReplyError, InputError
from kgsparql.graphs.protocol.connections import Exchange, connections
from kgsparql.graphs.protocol.contact import checked_contact, user_agent
from kgsparql.graphs.protocol.request import Form, Reply, SparqlRequest
from kgsparql.graphs.protocol.statuses import meaning_of
from kgsparql.http.address import Address
from kgsparql.http.retry_after import retry_after_s
from kgsparql.rdf.terms import printable
from kgsparql.redaction import unreadable_url

__all__ = ["Client"]

MAX_REDIRECTS = 3
MAX_URL = 8_000
"""Bytes of a URL that servers take; less where the profile says so, or a server did."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.8, application/json;q=0.5"
_TRIPLES = "application/n-triples, text/turtle;q=0.8"
_ACCEPT: Mapping[Form, str] = {
    "SELECT": _RESULTS, "ASK": _RESULTS, "CONSTRUCT": _TRIPLES, "DESCRIBE": _TRIPLES, "DESCRIPTION": "text/turtle",
}  # fmt: skip
_DESCRIPTION_BYTES = 2**18


class Client:
    """Sends queries to one endpoint; any number of threads may use it.

    :param max_bytes: of a reply when it is unpacked.
    """

    def __init__(self, address: Address, *, max_bytes: int) -> None:
        self._address = address
        self._max_bytes = max_bytes
        self._pool = connections(address)
        self._refused: set[str] = set()
        self._longest = MAX_URL

    def send(
        self,
        request: SparqlRequest,
        form: Form,
        *,
        parameters: Mapping[str, str],
        left_s: float,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """The reply to a query, whatever its status; redirects within the origin are followed, unless it is to wait.

        It is posted, or sent by GET where the profile says so and it fits in a URL. A server that takes no POST (405),
        or no URL so long (414), is asked the other way, once.

        :param parameters: sent beside the query.
        :param left_s: until the deadline; what looking round took may be gone from ``request.timeout_s``.
        :raises EndpointError: if there is no connection.
        :raises EndpointTimeoutError: if the whole reply is not there in time.
        :raises EndpointReplyError: if it breaks off (``E_PARTIAL``), is too large (``E_LIMIT``), or leads elsewhere
            (``E_REDIRECT``).
        :raises CancelledError: if ``cancel`` is set meanwhile.
        """
        began = time.monotonic()
        deadline, url, left = began + left_s, self._address.target, MAX_REDIRECTS
        while True:
            wrapper = self._wrapper(url, form, request, parameters)
            reply = wrapper.carried(lambda http: self._carry(http, request, deadline, cancel))
            if self._refuses(reply, wrapper, request):
                continue
            if reply.status not in _REDIRECTS or "location" not in reply.headers or retry_after_s(reply.headers):
                return replace(reply, seconds=time.monotonic() - began)
            if left == 0:
                raise EndpointReplyError(
                    f"{request.url}: more than {MAX_REDIRECTS} redirects", code="E_REDIRECT", hint="check the URL",
                    **request.detail(),
                )  # fmt: skip
            url, left = self._redirected(url, reply.headers["location"], request), left - 1

    def _wrapper(self, url: str, form: Form, request: SparqlRequest, parameters: Mapping[str, str]) -> _Wrapper:
        contact = checked_contact(request.url, needed=request.profile.needs_contact)
        wrapper = _Wrapper(url, form, user_agent(contact))
        if self._address.user:
            wrapper.setCredentials(self._address.user, self._address.password)
        wrapper.setQuery(request.text)
        for name, value in parameters.items():
            wrapper.addParameter(name, value)
        fits = wrapper.length <= min(request.profile.max_url, self._longest)
        wanted, other = (POST, GET) if request.profile.post else (GET, POST)
        method = other if wanted in self._refused and other not in self._refused else wanted
        wrapper.setMethod(GET if form == "DESCRIPTION" else method if fits else POST)
        return wrapper

    def _refuses(self, reply: Reply, wrapper: _Wrapper, request: SparqlRequest) -> bool:
        """Whether the method is refused and the other one is still to be tried; by GET only what fits in a URL."""
        if not request.text or reply.status not in {405, 414, 501}:
            return False
        wants_rest = "retry-after" in reply.headers or meaning_of(reply, request) in {"throttled", "overloaded"}
        if wrapper.method == GET and reply.status == 414:
            self._longest = min(self._longest, wrapper.length - 1)
            return not wants_rest
        if wrapper.method == GET:
            is_refused, other = reply.status == 405, POST
        else:
            fits = wrapper.length <= min(request.profile.max_url, self._longest)
            is_refused, other = reply.status in {405, 501} and fits, GET
        if not is_refused or other in self._refused or wants_rest:
            return False
        self._refused.add(wrapper.method)
        return True

    def _redirected(self, url: str, location: str, request: SparqlRequest) -> str:
        """Where a redirect leads, if that is the same server: a query, and a password, go nowhere else."""
        target = urljoin(url, location)
        try:
            address = Address.parse(target)
        except InputError:
            address = None
        if address is None or address.origin != self._address.origin:
            shown = printable(unreadable_url(target), 200) if address is None else address.url
            raise EndpointReplyError(
                f"{request.url}: redirects to {shown}, which is another server", code="E_REDIRECT",
                hint=f"if that is the one you mean: -k {shown}", **request.detail(location=shown),
            )  # fmt: skip
        return address.target

    def _carry(
        self, http: urllib.request.Request, request: SparqlRequest, deadline: float, cancel: threading.Event | None
    ) -> Reply:
        max_bytes = self._max_bytes if request.text else min(self._max_bytes, _DESCRIPTION_BYTES)
        exchange = Exchange(self._pool, http, request, deadline, max_bytes)
        try:
            reply = exchange.reply(cancel)
        except BaseException:  # Ctrl-C too: what is on its way is not wanted any more
            exchange.abandon()
            raise
        if reply is None:
            raise EndpointReplyError(
                f"{request.url}: the reply to {request.what} is larger than {max_bytes / 2**20:g} MiB",
                code="E_LIMIT", hint="ask for less at once", **request.detail(limit="bytes"),
            )  # fmt: skip
        return reply


class _Wrapper(SPARQLWrapper):  # type: ignore[misc,unused-ignore]
    """SPARQLWrapper, with the transport and the guesses taken out."""

    def __init__(self, url: str, form: Form, agent: str) -> None:
        self._form: Form = form
        super().__init__(url, returnFormat="json", agent=agent)
        self.setOnlyConneg(True)

    def carried(self, carry: Callable[[urllib.request.Request], Reply]) -> Reply:
        """What comes back when somebody brings the request of HTTP to its server."""
        http = self._createRequest()
        if http.data is None:
            http.full_url = self._url
        return carry(http)

    @property
    def length(self) -> int:
        """Bytes of the URL if the query is sent by GET."""
        return len(self._url)

    @property
    def _url(self) -> str:
        if self._form == "DESCRIPTION":
            return str(self.endpoint)
        asked = self._getRequestEncodedParameters(("query", self.queryString))
        return f"{self.endpoint}{'&' if '?' in self.endpoint else '?'}{asked}"

    def _parseQueryType(self, query: str) -> str:  # noqa: N802, ARG002
        """The form that the caller knows; a guess may take a query for an update."""
        return self._form

    def _getAcceptHeader(self) -> str:  # noqa: N802
        return _ACCEPT[self._form]
