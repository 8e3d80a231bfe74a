"""What sends SPARQL requests: over HTTP; and within an endpoint's rate limits, again only where that may help."""

from __future__ import annotations

import shlex
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import urljoin

from SPARQLWrapper import GET, POST, SPARQLWrapper

from kgsparql.errors import (
    EndpointRateLimitError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    UnreachableError,
)
from kgsparql.graphs.protocol.connections import Exchange, connections
from kgsparql.graphs.protocol.contact import checked_contact, user_agent
from kgsparql.graphs.protocol.failures import meaning_of, of_status, timed_out
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S, RateLimiter, rate_limiter_of
from kgsparql.graphs.protocol.request import Form, Reply, Sender, SparqlRequest
from kgsparql.http.address import Address, host_of, is_loopback, server_of
from kgsparql.http.retry_after import in_words, retry_after_s
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
MAX_TRIES = 3
_FIRST_PAUSE_S = 0.25
_RECONNECT_WITHIN_S = 3.0
"""A connection that took longer to fail is not tried again: the user must hear soon that nobody is there."""
_PATIENT_S = 10.0
"""A query that had less time than this and timed out says nothing about its endpoint."""
_TOLD_FROM_S = 3.0
"""A wait from this on is announced with a note."""
_Outcome: TypeAlias = Reply | UnreachableError


class Client:
    """Sends requests to one endpoint by SPARQLWrapper; any number of threads may use it."""

    def __init__(self, address: Address, *, max_bytes: int) -> None:
        self._address = address
        self._max_bytes = max_bytes
        self._pool = connections(address)
        self._refused: set[str] = set()
        self._longest = MAX_URL

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        closed, self._pool = self._pool, connections(self._address)
        closed.close()

    def send(self, request: SparqlRequest) -> Reply:
        """The reply to a request, whatever its status. Redirects within the server are followed.

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


@dataclass(slots=True)
class RateLimitedClient:
    """A sender that keeps an endpoint's rate limits, and retries where nothing was sent or the server asks for it.

    :param note: called with a line before a wait that a person would notice.
    :param limiter: that of the endpoint's server in this process, if ``None``.
    """

    sender: Sender
    note: Callable[[str], None] | None = None
    limiter: RateLimiter | None = None
    _limiter: RateLimiter | None = field(default=None, init=False)
    _has_answered: bool = field(default=False, init=False)
    _trouble_noted: bool = field(default=False, init=False)

    def send(self, request: SparqlRequest) -> Reply:
        """The reply to a request, whatever its status; the last one, where it was sent again.

        :raises OptionError: if the endpoint wants to know who asks, and nobody says; then nothing is sent.
        :raises UnreachableError: as :meth:`RateLimiter.enter` and :meth:`Client.send`.
        :raises CancelledError: if the request's ``cancel`` is set meanwhile.
        """
        checked_contact(request.url, needed=request.profile.needs_contact)
        if request.sent is not None:
            request.sent()
        limiter = self._rate_limiter(request)
        began, waited_s, tries = limiter.clock(), 0.0, 0
        while True:
            tries += 1
            self._note_wait(request, limiter, waited_s)
            waited_s = limiter.enter(request, waited_s, is_again=tries > 1)
            entered, outcome, pause_s, closed_s = limiter.clock(), None, None, None
            try:
                outcome = self._outcome(limiter, request)
                closed_s = retry_after_s(outcome.headers) if isinstance(outcome, Reply) else None
                pause_s = _pause_s(outcome, request, tries, limiter, took_s=limiter.clock() - began)
                if pause_s is not None:
                    pause_s = closed_s = max(pause_s, closed_s or 0.0)
            finally:  # only now that the pause is known: else the next in line would send during it
                took_s = limiter.clock() - entered
                limiter.leave(took_s, closed_s=closed_s, runs_on_s=_runs_on_s(outcome, request, took_s))
            self._note_trouble(request, limiter)
            if pause_s is None:
                if isinstance(outcome, Reply):
                    return outcome
                raise outcome
            if tries >= MAX_TRIES or pause_s > _may_wait_s(request, limiter, waited_s):
                raise _given_up(outcome, request, pause_s, tries)

    def _rate_limiter(self, request: SparqlRequest) -> RateLimiter:
        if self.limiter is not None:
            return self.limiter
        is_kept = request.profile.is_public
        if self._limiter is None or is_kept:
            is_shared = is_kept and not is_loopback(host_of(request.url))
            self._limiter = rate_limiter_of(server_of(request.url), keep=is_kept, share=is_shared)
        return self._limiter

    def _outcome(self, limiter: RateLimiter, request: SparqlRequest) -> _Outcome:
        """The outcome of one try; the limiter counts it as a success or a failure of the endpoint."""
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
        if trouble and self.note is not None and not self._trouble_noted:
            self._trouble_noted = True
            what = "runs of kgsparql at the same time do not wait for each other"
            self.note(f"{request.url}: {what} (KGSPARQL_CACHE_DIR names a directory for their locks): {trouble}")


def _may_wait_s(request: SparqlRequest, limiter: RateLimiter, waited_s: float) -> float:
    return min(MAX_WAIT_S - waited_s, request.deadline - limiter.clock())


def _runs_on_s(outcome: _Outcome | None, request: SparqlRequest, took_s: float) -> float:
    """For how long an endpoint may still work on a query; the outcome is ``None`` if the question was stopped."""
    if isinstance(outcome, Reply):
        return 0.0
    is_late = isinstance(outcome, EndpointTimeoutError) and outcome.detail.get("status") is None
    is_left = outcome is None or is_late or outcome.code == "E_LIMIT"
    return max(0.0, request.profile.abandoned_query_s - took_s) if is_left else 0.0


def _pause_s(
    outcome: _Outcome, request: SparqlRequest, tries: int, limiter: RateLimiter, *, took_s: float
) -> float | None:
    """How long to wait before another try; ``None`` if there is to be none."""
    backoff_s = _FIRST_PAUSE_S * 2 ** (tries - 1) * limiter.random.uniform(0.75, 1.25)
    if not isinstance(outcome, Reply):
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


def _given_up(outcome: _Outcome, request: SparqlRequest, pause_s: float, tries: int) -> KgsparqlError:
    """The error where the endpoint asks for a longer pause than there is time."""
    failure = of_status(outcome, request) if isinstance(outcome, Reply) else outcome
    if failure is None or not isinstance(failure, EndpointRateLimitError):
        return failure or timed_out(request)
    times = f", after {tries} tries" if tries > 1 else ""
    hint = f"wait {in_words(pause_s)}" if pause_s >= 1 else failure.hint
    detail: dict[str, Any] = {**failure.detail, "retry_after_s": round(pause_s, 3)}
    return EndpointRateLimitError(f"{failure.message}{times}", hint=hint, **detail)
