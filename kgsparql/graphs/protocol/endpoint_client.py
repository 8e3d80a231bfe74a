"""The client of one endpoint: it builds requests, keeps rate limits, and sends again only where that may help."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeAlias, cast
from urllib.parse import urljoin

from SPARQLWrapper import GET, POST, SPARQLWrapper

from kgsparql.errors import (
    EndpointError,
    EndpointRateLimitError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    UnreachableError,
)
from kgsparql.graphs.graph import Solutions
from kgsparql.graphs.protocol.discovery import GraphView, NamedGraphs, Probe
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S, RateLimiter, rate_limiter_of
from kgsparql.graphs.protocol.refusals import meaning_of, of_status
from kgsparql.graphs.protocol.request import Form, RequestLimits, Sender, SparqlRequest, checked_contact, user_agent
from kgsparql.http.address import Address, host_of, is_loopback, server_of
from kgsparql.http.connections import NetworkTransport
from kgsparql.http.failures import NetworkError, in_words, retry_after_s
from kgsparql.http.transport import HttpReply, HttpRequest, Transport, send
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import printable
from kgsparql.redaction import unreadable_url
from kgsparql.storage.recording import Recording
from kgsparql.storage.response_cache import ResponseCache

MAX_REDIRECTS = 3
MAX_URL = 8_000
"""Bytes of the longest URL that is sent; less where the profile says so, or a server refused one (414)."""
MAX_TRIES = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.8, application/json;q=0.5"
_TRIPLES = "application/n-triples, text/turtle;q=0.8"
_ACCEPT: Mapping[Form, str] = {
    "SELECT": _RESULTS, "ASK": _RESULTS, "CONSTRUCT": _TRIPLES, "DESCRIBE": _TRIPLES, "DESCRIPTION": "text/turtle",
}  # fmt: skip
_DESCRIPTION_BYTES = 2**18
_FIRST_PAUSE_S = 0.25
_RECONNECT_WITHIN_S = 3.0
"""A connection that took longer to fail is not tried again: the user must hear soon that nobody is there."""
_PATIENT_S = 10.0
"""A query that had less time than this and timed out says nothing about its endpoint."""
_TOLD_FROM_S = 3.0
"""A wait from this on is announced with a note."""
_Outcome: TypeAlias = HttpReply | UnreachableError


@dataclass(slots=True)
class EndpointClient:
    """Sends queries to one endpoint over the union of its graphs; any number of threads may use it.

    :param name: what notes call the endpoint.
    :param max_bytes: of one reply when it is unpacked.
    :param response_cache: keeps results, where the profile says so.
    :param recording: keeps all that is asked, or tells it again; it takes the place of the cache.
    :param note: called with a line for the user, each line once.
    :param transport: sends HTTP requests; over the network, if ``None``.
    """

    address: Address
    name: str
    probe: Probe
    max_bytes: int
    response_cache: ResponseCache | None = None
    recording: Recording | None = None
    note: Callable[[str], None] | None = None
    transport: Transport | None = None
    _asker: int = field(default=0, init=False)
    _named_graphs: NamedGraphs = field(init=False)
    _sender: Sender | None = field(default=None, init=False)
    _http: HttpSender | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._named_graphs = NamedGraphs(self.name, self.address.url, self.note)
        if self.recording is not None:
            who = (self.address.target, self.address.user, self.address.password)
            self._asker = self.recording.asker_number(self.address.url, *who)

    def close(self) -> None:
        """Close the connections and the file of replies; the next query opens others."""
        if self._http is not None:
            self._http.close()
        for kept in filter(None, (self.response_cache, self.recording)):
            kept.close()

    def send(self, query: Query, form: Form, limits: RequestLimits) -> tuple[HttpReply, SparqlRequest]:
        """Get the reply of the endpoint, whatever its status, with the request; errors as of :meth:`Sender.send`."""
        return self._send(query, form, limits, self.probe_graphs(limits).parameters)

    def probe_graphs(self, limits: RequestLimits) -> GraphView:
        """Tell which graphs queries see, once it has been probed what the endpoint is."""
        self.probe.run(self._description, limits)
        if self.probe.profile.has_union:
            return GraphView()
        return self._named_graphs.view(self._select, limits)

    def _description(self, limits: RequestLimits) -> HttpReply:
        return self._send(Query("service_description", ""), "DESCRIPTION", limits, {})[0]

    def _select(self, query: Query, parameters: Mapping[str, str], limits: RequestLimits) -> Solutions:
        from kgsparql.graphs.protocol.replies import solutions_of

        return solutions_of(query, *self._send(query, "SELECT", limits, parameters))

    def _send(
        self, query: Query, form: Form, limits: RequestLimits, parameters: Mapping[str, str]
    ) -> tuple[HttpReply, SparqlRequest]:
        """Send as :meth:`send`, with nothing probed before."""
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
        from kgsparql.graphs.protocol.recorded import CachedSender, RecordedSender

        if self.recording is not None:
            return RecordedSender(cache(self._rate_limited), self.recording, self._asker)
        if self.response_cache is None:
            return self._rate_limited()
        return CachedSender(self._rate_limited(), self.response_cache, self.note)

    def _rate_limited(self) -> Sender:
        self._http = HttpSender(self.address, max_bytes=self.max_bytes, transport=self.transport)
        return RateLimitedSender(self._http, note=self.note)


@dataclass(slots=True)
class RateLimitedSender:
    """A sender that keeps an endpoint's rate limits, and retries where nothing was sent or the server asks for it.

    :param note: called with a line before a wait that a person would notice.
    :param limiter: that of the endpoint's server in this process, if ``None``.
    """

    sender: Sender
    note: Callable[[str], None] | None = None
    limiter: RateLimiter | None = None
    _limiter: RateLimiter | None = field(default=None, init=False)
    _has_answered: bool = field(default=False, init=False)
    _is_trouble_noted: bool = field(default=False, init=False)

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status; the last one, where it was sent again.

        :raises OptionError: if the endpoint wants to know who asks, and nobody says; then nothing is sent.
        :raises UnreachableError: as :meth:`RateLimiter.enter` and :meth:`HttpSender.send`.
        :raises CancelledError: if the request's ``cancel`` is set meanwhile.
        """
        checked_contact(request.url, needed=request.profile.needs_contact)
        if request.sent is not None:
            request.sent()
        limiter = self._limiter_for(request)
        began, waited_s, tries = limiter.clock(), 0.0, 0
        while True:
            tries += 1
            self._note_wait(request, limiter, waited_s)
            waited_s = limiter.enter(request, waited_s, is_again=tries > 1)
            entered, outcome, pause_s, closed_s = limiter.clock(), None, None, None
            try:
                outcome = self._outcome(limiter, request)
                closed_s = retry_after_s(outcome.headers) if isinstance(outcome, HttpReply) else None
                pause_s = _pause_s(outcome, request, tries, limiter, took_s=limiter.clock() - began)
                if pause_s is not None:
                    pause_s = closed_s = max(pause_s, closed_s or 0.0)
            finally:  # only now that the pause is known: else the next in line would send during it
                took_s = limiter.clock() - entered
                limiter.leave(took_s, closed_s=closed_s, runs_on_s=_runs_on_s(outcome, request, took_s))
            self._note_trouble(request, limiter)
            if pause_s is None:
                if isinstance(outcome, HttpReply):
                    return outcome
                raise outcome
            if tries >= MAX_TRIES or pause_s > _may_wait_s(request, limiter, waited_s):
                raise _given_up_error(outcome, request, pause_s, tries)

    def _limiter_for(self, request: SparqlRequest) -> RateLimiter:
        if self.limiter is not None:
            return self.limiter
        is_public = request.profile.is_public
        if self._limiter is None or is_public:
            is_shared = is_public and not is_loopback(host_of(request.url))
            self._limiter = rate_limiter_of(server_of(request.url), keep=is_public, share=is_shared)
        return self._limiter

    def _outcome(self, limiter: RateLimiter, request: SparqlRequest) -> _Outcome:
        """Try once; the limiter counts the outcome as a success or a failure of the endpoint."""
        within_s = min(request.timeout_s, request.deadline - limiter.clock())
        try:
            reply = self.sender.send(request)
        except UnreachableError as error:
            if self._has_answered and error.detail.get("connected") is False:
                error.hint = "it answered before, and has stopped: is the server still running?"
            if not (isinstance(error, EndpointTimeoutError) and within_s < _PATIENT_S):
                limiter.failed(error.message, request.profile)
            return error
        self._has_answered = True
        failure = of_status(reply, request)
        is_about_the_query = isinstance(failure, QueryError)
        if failure is None or (is_about_the_query and not request.profile.is_public):
            limiter.succeeded()
        else:
            limiter.failed(failure.message, request.profile, is_about_the_query=is_about_the_query)
        return reply

    def _note_wait(self, request: SparqlRequest, limiter: RateLimiter, waited_s: float) -> None:
        pause_s = limiter.closed_s
        if self.note is not None and _TOLD_FROM_S <= pause_s <= _may_wait_s(request, limiter, waited_s):
            self.note(f"{request.url} wants to be left alone: waiting {in_words(pause_s)}")

    def _note_trouble(self, request: SparqlRequest, limiter: RateLimiter) -> None:
        trouble = "" if limiter.shared is None else limiter.shared.trouble
        if trouble and self.note is not None and not self._is_trouble_noted:
            self._is_trouble_noted = True
            what = "runs of kgsparql at the same time do not wait for each other"
            self.note(f"{request.url}: {what} (KGSPARQL_CACHE_DIR names a directory for their locks): {trouble}")


def _may_wait_s(request: SparqlRequest, limiter: RateLimiter, waited_s: float) -> float:
    return min(MAX_WAIT_S - waited_s, request.deadline - limiter.clock())


def _runs_on_s(outcome: _Outcome | None, request: SparqlRequest, took_s: float) -> float:
    """Tell how long an endpoint may still work on a query; the outcome is ``None`` if the question was stopped."""
    if isinstance(outcome, HttpReply):
        return 0.0
    is_late = isinstance(outcome, EndpointTimeoutError) and outcome.detail.get("status") is None
    is_left = outcome is None or is_late or outcome.code == "E_LIMIT"
    return max(0.0, request.profile.abandoned_query_s - took_s) if is_left else 0.0


def _pause_s(
    outcome: _Outcome, request: SparqlRequest, tries: int, limiter: RateLimiter, *, took_s: float
) -> float | None:
    """Tell how long to wait before another try; ``None`` if there is to be none."""
    backoff_s = _FIRST_PAUSE_S * 2 ** (tries - 1) * limiter.random.uniform(0.75, 1.25)
    if not isinstance(outcome, HttpReply):
        may_pass = bool(outcome.detail.get("unsent")) and took_s < _RECONNECT_WITHIN_S
        return backoff_s if may_pass and tries < MAX_TRIES else None
    meaning = meaning_of(outcome, request)
    if meaning == "may pass":
        return backoff_s if tries == 1 else None
    if meaning not in {"throttled", "overloaded"}:
        return None
    asked_s = retry_after_s(outcome.headers)
    if asked_s is not None:
        return asked_s
    return backoff_s if request.profile.overload_pause_s is None else request.profile.overload_pause_s


def _given_up_error(outcome: _Outcome, request: SparqlRequest, pause_s: float, tries: int) -> KgsparqlError:
    """Make the error where the endpoint asks for a longer pause than there is time."""
    failure = of_status(outcome, request) if isinstance(outcome, HttpReply) else outcome
    if failure is None or not isinstance(failure, EndpointRateLimitError):
        return failure or request.timed_out()
    times = f", after {tries} tries" if tries > 1 else ""
    hint = f"wait {in_words(pause_s)}" if pause_s >= 1 else failure.hint
    detail: dict[str, Any] = {**failure.detail, "retry_after_s": round(pause_s, 3)}
    return EndpointRateLimitError(f"{failure.message}{times}", hint=hint, **detail)


class HttpSender:
    """A sender over HTTP, which follows redirects within the server; any number of threads may use it."""

    def __init__(self, address: Address, *, max_bytes: int, transport: Transport | None = None) -> None:
        self._address = address
        self._max_bytes = max_bytes
        self._transport = transport or NetworkTransport(address.origin, address.url)
        self._refused_methods: set[str] = set()
        self._max_url = MAX_URL

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        if isinstance(self._transport, NetworkTransport):
            self._transport.close()

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status.

        A query is posted; or sent by GET where the profile says so and it fits in a URL. A server that takes no POST
        (405), or no URL so long (414), is asked the other way, once.

        :raises EndpointError: if there is no connection, or not the whole reply in time.
        :raises EndpointReplyError: if it breaks off (``E_PARTIAL``), is too large (``E_LIMIT``), or leads elsewhere
            (``E_REDIRECT``).
        :raises CancelledError: if the request's ``cancel`` is set meanwhile.
        """
        began = time.monotonic()
        deadline = min(request.deadline, began + request.timeout_s)
        url, redirects_left = self._address.target, MAX_REDIRECTS
        while True:
            http = self._request_by_allowed_method(url, request)
            http.deadline, http.cancel, http.may_repeat = deadline, request.cancel, True
            http.max_bytes = self._max_bytes if request.text else min(self._max_bytes, _DESCRIPTION_BYTES)
            try:
                reply = send(self._transport, http)
            except NetworkError as failure:
                raise _network_error(failure, request, http.max_bytes) from failure
            if self._must_ask_the_other_way(reply, http, url, request):
                continue
            if reply.status not in _REDIRECTS or "location" not in reply.headers or retry_after_s(reply.headers):
                return replace(reply, seconds=time.monotonic() - began)
            if redirects_left == 0:
                raise request.reply_error(f"more than {MAX_REDIRECTS} redirects", "E_REDIRECT", "check the URL")
            url, redirects_left = self._redirected(url, reply.headers["location"], request), redirects_left - 1

    def _request_by_allowed_method(self, url: str, request: SparqlRequest) -> HttpRequest:
        wanted, other = (POST, GET) if request.profile.post else (GET, POST)
        method = other if wanted in self._refused_methods and other not in self._refused_methods else wanted
        if request.form == "DESCRIPTION" or method == GET:
            http = built_request(self._address, url, request, GET)
            if request.form == "DESCRIPTION" or self._fits(http, request):
                return http
        return built_request(self._address, url, request, POST)

    def _fits(self, by_get: HttpRequest, request: SparqlRequest) -> bool:
        return len(by_get.url) <= min(request.profile.max_url, self._max_url)

    def _must_ask_the_other_way(self, reply: HttpReply, http: HttpRequest, url: str, request: SparqlRequest) -> bool:
        """Tell whether the server refuses the method, and the other one is still to be tried; GET only if it fits."""
        if not request.text or reply.status not in {405, 414, 501}:
            return False
        wants_rest = "retry-after" in reply.headers or meaning_of(reply, request) in {"throttled", "overloaded"}
        if http.method == GET and reply.status == 414:
            self._max_url = min(self._max_url, len(http.url) - 1)
            return not wants_rest
        if http.method == GET:
            is_refused, other = reply.status == 405, POST
        else:
            fits = self._fits(built_request(self._address, url, request, GET), request)
            is_refused, other = reply.status in {405, 501} and fits, GET
        if not is_refused or other in self._refused_methods or wants_rest:
            return False
        self._refused_methods.add(http.method)
        return True

    def _redirected(self, url: str, location: str, request: SparqlRequest) -> str:
        """Return the URL that a redirect leads to, on the same server: queries and passwords go nowhere else."""
        shown, hint = printable(unreadable_url(location), 200), "ask its operator, or is it another URL?"
        try:
            address = Address.parse(urljoin(url, location))
        except ValueError:  # no URL at all, or not one of an endpoint
            address = None
        if address is None or address.origin != self._address.origin:
            if address is not None:
                shown, hint = address.url, f"if that is the one you mean: -k {shlex.quote(address.url)}"
            message = f"redirects to {shown}, which is {'another server' if address else 'no endpoint'}"
            raise request.reply_error(message, "E_REDIRECT", hint, location=shown)
        return address.target


def built_request(address: Address, url: str, request: SparqlRequest, method: str) -> HttpRequest:
    """Build the HTTP request by SPARQLWrapper, whose public ``query`` would send it too, without deadline and limits.

    :param url: that of the address, or where a redirect led.
    """
    contact = checked_contact(request.url, needed=request.profile.needs_contact)
    is_rdf = request.form in {"CONSTRUCT", "DESCRIBE"}
    wrapper = SPARQLWrapper(url, returnFormat="turtle" if is_rdf else "json", agent=user_agent(contact))
    wrapper.setOnlyConneg(True)
    wrapper.addCustomHttpHeader("Accept", _ACCEPT[request.form])
    if address.user:
        wrapper.setCredentials(address.user, address.password)
    for name, value in request.parameters.items():
        wrapper.addParameter(name, value)
    # Instead of setQuery, which guesses the form, and may take a query for an update.
    wrapper.queryString, wrapper.queryType = request.text, request.form
    wrapper.setMethod(method)
    built = wrapper._createRequest()  # noqa: SLF001
    full_url = str(built.full_url)
    if request.form == "DESCRIPTION":
        full_url = url
    elif method == GET and "?" in url:  # SPARQLWrapper would write a second one
        full_url = f"{url}&{full_url[len(url) + 1 :]}"
    return HttpRequest(method, full_url, dict(built.header_items()), cast("bytes | None", built.data))


def _network_error(failure: NetworkError, request: SparqlRequest, max_bytes: int) -> KgsparqlError:
    match failure.kind:
        case "late":
            return request.timed_out()
        case "cut":
            return request.partial_error("broke off")
        case "badly packed":
            return request.reply_error(f"the reply is {failure.message}", "E_FORMAT", failure.hint)
        case "too large":
            message = f"the reply to {request.what} is larger than {max_bytes / 2**20:g} MiB"
            return request.reply_error(message, "E_LIMIT", "ask for less at once", limit="bytes")
    detail = request.detail(unsent=failure.may_pass, connected=failure.is_connected)
    return EndpointError(f"{request.url}: {failure.message}", hint=failure.hint, **detail)
