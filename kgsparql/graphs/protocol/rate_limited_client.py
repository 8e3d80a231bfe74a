"""Brings queries to an endpoint with limiter: in turn, again only where that may help, and never where it harms."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kgsparql.errors import EndpointRateLimitError, EndpointTimeoutError, KgsparqlError, QueryError, UnreachableError
from kgsparql.graphs.protocol.contact import checked_contact
from kgsparql.graphs.protocol.failures import timed_out
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S, Patience, RateLimiter, rate_limiter_of
from kgsparql.graphs.protocol.request import Form, Reply, Sender, SparqlRequest
from kgsparql.graphs.protocol.statuses import meaning_of, of_status
from kgsparql.http.address import host_of, is_loopback, server_of
from kgsparql.http.retry_after import in_words, retry_after_s

__all__ = ["RateLimitedClient"]

MAX_TRIES = 3
_FIRST_PAUSE_S = 0.25
_RECONNECT_WITHIN_S = 3.0
"""A connection that took longer to fail is not tried again: who is not there must be told so in time."""
_PATIENT_S = 10.0
"""A query that was given less says nothing about its endpoint when it is not done."""
_TOLD_FROM_S = 3.0
_Outcome: TypeAlias = Reply | UnreachableError


@dataclass(slots=True)
class RateLimitedClient:
    """A sender that asks only when its endpoint may be asked, and again where nothing was sent or the server wants it.

    :param note: called with a line before a wait that a person would notice.
    :param limiter: those of the endpoint in this process, if ``None``.
    """

    sender: Sender
    note: Callable[[str], None] | None = None
    limiter: RateLimiter | None = None
    _limiter: RateLimiter | None = field(default=None, init=False)
    _has_answered: bool = field(default=False, init=False)
    _is_told: bool = field(default=False, init=False)

    def send(
        self,
        request: SparqlRequest,
        form: Form,
        *,
        parameters: Mapping[str, str],
        left_s: float,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """The reply to a query, whatever its status; the last one, where it was asked again.

        :param left_s: until all is over: waiting, and every try. One try has ``request.timeout_s`` at most.
        :raises OptionError: if the endpoint wants to know who asks, and nobody says; then nothing is sent.
        :raises EndpointRateLimitError: if it wants to be left alone for longer than there is time, or than two minutes.
        :raises EndpointTimeoutError: if there was no turn, or no reply, in time.
        :raises EndpointError: if it failed too often just before, or there is no connection.
        :raises CancelledError: if ``cancel`` is set meanwhile.
        """
        checked_contact(request.url, needed=request.profile.needs_contact)
        if request.sent is not None:
            request.sent()
        limiter = self._rate_limiter(request)
        began = limiter.clock()
        patience = Patience(began + left_s, cancel)
        tries = 0
        while True:
            tries += 1
            self._tell(request, limiter.closed_s, patience, limiter)
            limiter.enter(request, patience)
            entered, outcome, pause_s, closed_s = limiter.clock(), None, None, None
            try:
                outcome = self._tried(limiter, request, form, parameters, patience)
                closed_s = retry_after_s(outcome.headers) if isinstance(outcome, Reply) else None
                pause_s = _pause_s(outcome, request, tries, limiter, took_s=limiter.clock() - began)
                if pause_s is not None:
                    pause_s = closed_s = max(pause_s, closed_s or 0.0)
            finally:  # not before: whoever is next in line would ask while nobody is to
                took_s = limiter.clock() - entered
                limiter.leave(took_s, closed_s=closed_s, runs_on_s=_runs_on_s(outcome, request, took_s))
            self._tell_trouble(request, limiter)
            if pause_s is None:
                if isinstance(outcome, Reply):
                    return outcome
                raise outcome
            if tries >= MAX_TRIES or pause_s > min(MAX_WAIT_S - patience.waited_s, patience.until - limiter.clock()):
                raise _given_up(outcome, request, pause_s, tries)

    def _rate_limiter(self, request: SparqlRequest) -> RateLimiter:
        if self.limiter is not None:
            return self.limiter
        is_kept = request.profile.counts_clients
        if self._limiter is None or is_kept:
            is_shared = is_kept and not is_loopback(host_of(request.url))
            self._limiter = rate_limiter_of(server_of(request.url), keep=is_kept, share=is_shared)
        return self._limiter

    def _tried(
        self,
        limiter: RateLimiter,
        request: SparqlRequest,
        form: Form,
        parameters: Mapping[str, str],
        patience: Patience,
    ) -> _Outcome:
        """One try, counted for what it was."""
        began = limiter.clock()
        within_s = min(request.timeout_s, patience.until - began)
        try:
            reply = self.sender.send(request, form, parameters=parameters, left_s=within_s, cancel=patience.cancel)
        except UnreachableError as error:
            if self._has_answered and error.detail.get("connected") is False:
                error.hint = "it answered before, and has stopped: is the server still running?"
            if not (isinstance(error, EndpointTimeoutError) and within_s < _PATIENT_S):
                limiter.failed(error.message, request.profile)
            return error
        self._has_answered = True
        failure = of_status(reply, request)
        if failure is None:
            limiter.succeeded()
        elif not isinstance(failure, QueryError):
            limiter.failed(failure.message, request.profile)
        elif request.profile.counts_bad_queries:
            limiter.failed(failure.message, request.profile, is_about_the_query=True)
        else:
            limiter.succeeded()
        return reply

    def _tell(self, request: SparqlRequest, pause_s: float, patience: Patience, limiter: RateLimiter) -> None:
        is_waited = pause_s <= min(MAX_WAIT_S - patience.waited_s, patience.until - limiter.clock())
        if self.note is not None and pause_s >= _TOLD_FROM_S and is_waited:
            self.note(f"{request.url} wants to be left alone: waiting {in_words(pause_s)}")

    def _tell_trouble(self, request: SparqlRequest, limiter: RateLimiter) -> None:
        trouble = "" if limiter.shared is None else limiter.shared.trouble
        if trouble and self.note is not None and not self._is_told:
            self._is_told = True
            what = "runs of kgsparql at the same time do not wait for each other"
            self.note(f"{request.url}: {what} (KGSPARQL_CACHE_DIR names a directory for their locks): {trouble}")


def _runs_on_s(outcome: _Outcome | None, request: SparqlRequest, took_s: float) -> float:
    """For how long an endpoint may still work on a query that nobody waits for any more.

    :param outcome: ``None`` if the question was stopped.
    """
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
    """The error of an endpoint that wants more time than there is."""
    failure = of_status(outcome, request) if isinstance(outcome, Reply) else outcome
    if failure is None or not isinstance(failure, EndpointRateLimitError):
        return failure or timed_out(request)
    times = f", after {tries} tries" if tries > 1 else ""
    hint = f"wait {in_words(pause_s)}" if pause_s >= 1 else failure.hint
    detail: dict[str, Any] = {**failure.detail, "retry_after_s": round(pause_s, 3)}
    return EndpointRateLimitError(f"{failure.message}{times}", hint=hint, **detail)
