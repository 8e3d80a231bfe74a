"""SPARQL requests over HTTP: built by SPARQLWrapper, by POST or GET, redirected only within a server."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urljoin

from SPARQLWrapper import GET, POST, SPARQLWrapper

from kgsparql.errors import InputError
from kgsparql.graphs.protocol.connections import Exchange, connections
from kgsparql.graphs.protocol.contact import checked_contact, user_agent
from kgsparql.graphs.protocol.failures import meaning_of
from kgsparql.graphs.protocol.request import Form, Reply, SparqlRequest
from kgsparql.http.address import Address
from kgsparql.http.retry_after import retry_after_s
from kgsparql.rdf.terms import printable
from kgsparql.redaction import unreadable_url

MAX_REDIRECTS = 3
MAX_URL = 8_000
"""Bytes of the longest URL that is sent; less where the profile says so, or a server refused one (414)."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.8, application/json;q=0.5"
_TRIPLES = "application/n-triples, text/turtle;q=0.8"
_ACCEPT: Mapping[Form, str] = {
    "SELECT": _RESULTS, "ASK": _RESULTS, "CONSTRUCT": _TRIPLES, "DESCRIBE": _TRIPLES, "DESCRIPTION": "text/turtle",
}  # fmt: skip
_DESCRIPTION_BYTES = 2**18


class Client:
    """Sends requests to one endpoint; any number of threads may use it.

    :param max_bytes: of a reply when it is unpacked.
    """

    def __init__(self, address: Address, *, max_bytes: int) -> None:
        self._address = address
        self._max_bytes = max_bytes
        self._pool = connections(address)
        self._refused: set[str] = set()
        self._longest = MAX_URL

    def send(self, request: SparqlRequest) -> Reply:
        """The reply to a request, whatever its status. Redirects within the server are followed.

        A query is posted; or sent by GET where the profile says so and it fits in a URL. A server that takes no POST
        (405), or no URL so long (414), is asked the other way, once.

        :raises EndpointError: if there is no connection.
        :raises EndpointTimeoutError: if the whole reply is not there in time.
        :raises EndpointReplyError: if it breaks off (``E_PARTIAL``), is too large (``E_LIMIT``), or leads elsewhere
            (``E_REDIRECT``).
        :raises CancelledError: if the request's ``cancel`` is set meanwhile.
        """
        began = time.monotonic()
        deadline = min(request.deadline, began + request.timeout_s)
        url, redirects_left = self._address.target, MAX_REDIRECTS
        while True:
            http, by_get = self._http_request(url, request)
            reply = self._carry(http, request, deadline)
            if self._refuses(reply, http, request, len(by_get.full_url)):
                continue
            if reply.status not in _REDIRECTS or "location" not in reply.headers or retry_after_s(reply.headers):
                return replace(reply, seconds=time.monotonic() - began)
            if redirects_left == 0:
                raise request.reply_error(f"more than {MAX_REDIRECTS} redirects", "E_REDIRECT", "check the URL")
            url, redirects_left = self._redirected(url, reply.headers["location"], request), redirects_left - 1

    def _http_request(self, url: str, request: SparqlRequest) -> tuple[urllib.request.Request, urllib.request.Request]:
        """The request in HTTP, by the method that the profile, the server and its length allow; and as it is by GET."""
        contact = checked_contact(request.url, needed=request.profile.needs_contact)
        is_rdf = request.form in {"CONSTRUCT", "DESCRIBE"}
        wrapper = SPARQLWrapper(url, returnFormat="turtle" if is_rdf else "json", agent=user_agent(contact))
        wrapper.setOnlyConneg(True)
        wrapper.addCustomHttpHeader("Accept", _ACCEPT[request.form])
        if self._address.user:
            wrapper.setCredentials(self._address.user, self._address.password)
        for name, value in request.parameters.items():
            wrapper.addParameter(name, value)
        # Instead of setQuery, which guesses the form, and may take a query for an update.
        wrapper.queryString, wrapper.queryType = request.text, request.form
        by_get = _built(wrapper, GET)
        if request.form == "DESCRIPTION":
            by_get.full_url = url
            return by_get, by_get
        if "?" in url:  # SPARQLWrapper would write a second one
            by_get.full_url = f"{url}&{by_get.full_url[len(url) + 1 :]}"
        wanted, other = (POST, GET) if request.profile.post else (GET, POST)
        method = other if wanted in self._refused and other not in self._refused else wanted
        is_get = method == GET and self._fits(len(by_get.full_url), request)
        return by_get if is_get else _built(wrapper, POST), by_get

    def _fits(self, length: int, request: SparqlRequest) -> bool:
        return length <= min(request.profile.max_url, self._longest)

    def _refuses(self, reply: Reply, http: urllib.request.Request, request: SparqlRequest, get_length: int) -> bool:
        """Whether the server refuses the method, and the other one is still to be tried; GET only where it fits."""
        if not request.text or reply.status not in {405, 414, 501}:
            return False
        wants_rest = "retry-after" in reply.headers or meaning_of(reply, request) in {"throttled", "overloaded"}
        method = http.get_method()
        if method == GET and reply.status == 414:
            self._longest = min(self._longest, get_length - 1)
            return not wants_rest
        if method == GET:
            is_refused, other = reply.status == 405, POST
        else:
            is_refused, other = reply.status in {405, 501} and self._fits(get_length, request), GET
        if not is_refused or other in self._refused or wants_rest:
            return False
        self._refused.add(method)
        return True

    def _redirected(self, url: str, location: str, request: SparqlRequest) -> str:
        """The URL that a redirect leads to, which must be on the same server: queries and passwords go nowhere else."""
        target = urljoin(url, location)
        try:
            address = Address.parse(target)
        except InputError:
            address = None
        if address is None or address.origin != self._address.origin:
            shown = printable(unreadable_url(target), 200) if address is None else address.url
            message, hint = f"redirects to {shown}, which is another server", f"if that is the one you mean: -k {shown}"
            raise request.reply_error(message, "E_REDIRECT", hint, location=shown)
        return address.target

    def _carry(self, http: urllib.request.Request, request: SparqlRequest, deadline: float) -> Reply:
        max_bytes = self._max_bytes if request.text else min(self._max_bytes, _DESCRIPTION_BYTES)
        exchange = Exchange(self._pool, http, request, deadline, max_bytes)
        try:
            reply = exchange.reply()
        except BaseException:  # Ctrl-C too: nobody wants the reply any more
            exchange.abandon()
            raise
        if reply is None:
            message = f"the reply to {request.what} is larger than {max_bytes / 2**20:g} MiB"
            raise request.reply_error(message, "E_LIMIT", "ask for less at once", limit="bytes")
        return reply


def _built(wrapper: SPARQLWrapper, method: str) -> urllib.request.Request:
    """The HTTP request of a wrapper, not sent: its public ``query`` sends it too, without deadline, limits and pool."""
    wrapper.setMethod(method)
    request: urllib.request.Request = wrapper._createRequest()  # noqa: SLF001
    return request
