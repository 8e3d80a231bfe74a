"""Senders of requests over HTTP, within an endpoint's rate limits, and again only where that may help."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast
from urllib.parse import urljoin

from SPARQLWrapper import GET, POST, SPARQLWrapper

from kgsparql.errors import (
    EndpointRateLimitError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    UnreachableError,
)
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S, RateLimiter, rate_limiter_of
from kgsparql.graphs.protocol.refusals import meaning_of, of_network, of_status
from kgsparql.graphs.protocol.request import Form, Sender, SparqlRequest, checked_contact, user_agent
from kgsparql.http.address import Address, host_of, is_loopback, server_of
from kgsparql.http.connections import NetworkTransport
from kgsparql.http.transport import HttpReply, HttpRequest, NetworkError, Transport, in_words, retry_after_s, send
from kgsparql.rdf.terms import printable
from kgsparql.redaction import unreadable_url

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
class RateLimitedSender:
    """A sender that keeps an endpoint's rate limits, and retries where nothing was sent or the server asks for it."""

    sender: Sender
    note: Callable[[str], None] | None = None
    limiter: RateLimiter | None = None
    _is_trouble_noted: bool = field(default=False, init=False)

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status; the last one, where it was sent again."""
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
            if pause_s is None:
                if isinstance(outcome, HttpReply):
                    return outcome
                raise outcome
            if tries >= MAX_TRIES or pause_s > _may_wait_s(request, limiter, waited_s):
                raise _given_up_error(outcome, request, pause_s, tries)

    def _limiter_for(self, request: SparqlRequest) -> RateLimiter:
        is_shared = request.profile.is_public and not is_loopback(host_of(request.url))
        return self.limiter or rate_limiter_of(server_of(request.url), share=is_shared)

    def _outcome(self, limiter: RateLimiter, request: SparqlRequest) -> _Outcome:
        """Try once; the limiter counts the outcome as a success or a failure of the endpoint."""
        within_s = min(request.timeout_s, request.deadline - limiter.clock())
        try:
            reply = self.sender.send(request)
        except UnreachableError as error:
            if not (isinstance(error, EndpointTimeoutError) and within_s < _PATIENT_S):
                limiter.failed(error.message, request.profile)
            return error
        failure = of_status(reply, request)
        is_about_the_query = isinstance(failure, QueryError)
        if failure is None or (is_about_the_query and not request.profile.is_public):
            limiter.succeeded()
        else:
            limiter.failed(failure.message, request.profile, is_about_the_query=is_about_the_query)
        return reply

    def _note_wait(self, request: SparqlRequest, limiter: RateLimiter, waited_s: float) -> None:
        if self.note is None:
            return
        pause_s = limiter.closed_s
        if _TOLD_FROM_S <= pause_s <= _may_wait_s(request, limiter, waited_s):
            self.note(f"{request.url} wants to be left alone: waiting {in_words(pause_s)}")
        trouble = "" if limiter.shared is None or self._is_trouble_noted else limiter.shared.trouble
        if trouble:
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
        self._max_url = MAX_URL

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        if isinstance(self._transport, NetworkTransport):
            self._transport.close()

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status.

        A query is posted; or sent by GET where the profile says so and the server takes a URL so long (414).

        :raises EndpointError: if there is no connection, not the whole reply in time, or it leads elsewhere.
        """
        began = time.monotonic()
        deadline = min(request.deadline, began + request.timeout_s)
        url, redirects_left = self._address.target, MAX_REDIRECTS
        while True:
            http = self._http_request(url, request)
            http.deadline, http.cancel, http.may_repeat = deadline, request.cancel, True
            http.max_bytes = self._max_bytes if request.text else min(self._max_bytes, _DESCRIPTION_BYTES)
            try:
                reply = send(self._transport, http)
            except NetworkError as failure:
                raise of_network(failure, request, http.max_bytes) from failure
            if reply.status == 414 and http.method == GET and request.text and "retry-after" not in reply.headers:
                self._max_url = len(http.url) - 1
                continue
            if reply.status not in _REDIRECTS or "location" not in reply.headers or retry_after_s(reply.headers):
                return replace(reply, seconds=time.monotonic() - began)
            if redirects_left == 0:
                raise request.reply_error(f"more than {MAX_REDIRECTS} redirects", "E_REDIRECT", "check the URL")
            url, redirects_left = self._redirected(url, reply.headers["location"], request), redirects_left - 1

    def _http_request(self, url: str, request: SparqlRequest) -> HttpRequest:
        """Build a GET for a description, or where the profile says so and the URL is not too long; else a POST."""
        if request.form == "DESCRIPTION" or not request.profile.post:
            by_get = built_request(self._address, url, request, GET)
            if not request.text or len(by_get.url) <= min(request.profile.max_url, self._max_url):
                return by_get
        return built_request(self._address, url, request, POST)

    def _redirected(self, url: str, location: str, request: SparqlRequest) -> str:
        """Return the URL that a redirect leads to, on the same server: queries and passwords go nowhere else."""
        shown, hint = printable(unreadable_url(location), 200), "ask its operator, or is it another URL?"
        try:
            address = Address.parse(urljoin(url, location))
        except ValueError:  # no URL at all, or not one of an endpoint
            address = None
        if address is not None and address.origin == self._address.origin:
            return address.target
        if address is not None:
            shown, hint = address.url, f"if that is the one you mean: -k {shlex.quote(address.url)}"
        message = f"redirects to {shown}, which is {'another server' if address else 'no endpoint'}"
        raise request.reply_error(message, "E_REDIRECT", hint, location=shown)


def built_request(address: Address, url: str, request: SparqlRequest, method: str) -> HttpRequest:
    """Build the HTTP request by SPARQLWrapper, whose public ``query`` would send it too, without our limits."""
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
