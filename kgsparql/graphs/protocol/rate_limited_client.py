"""Sends requests within an endpoint's rate limits, and again only where that may help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kgsparql.errors import EndpointRateLimitError, EndpointTimeoutError, KgsparqlError, QueryError, UnreachableError
from kgsparql.graphs.protocol.contact import checked_contact
from kgsparql.graphs.protocol.failures import meaning_of, of_status, timed_out
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S, RateLimiter, rate_limiter_of
from kgsparql.graphs.protocol.request import Reply, Sender, SparqlRequest
from kgsparql.http.address import host_of, is_loopback, server_of
from kgsparql.http.retry_after import in_words, retry_after_s

MAX_TRIES = 3
_FIRST_PAUSE_S = 0.25
_RECONNECT_WITHIN_S = 3.0
"""A connection that took longer to fail is not tried again: the user must hear soon that nobody is there."""
_PATIENT_S = 10.0
"""A query that had less time than this and timed out says nothing about its endpoint."""
_TOLD_FROM_S = 3.0
"""A wait from this on is announced with a note."""
_Outcome: TypeAlias = Reply | UnreachableError


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
        :raises EndpointRateLimitError: if it asks for a wait longer than the time left, or than two minutes.
        :raises EndpointTimeoutError: if there was no turn, or no reply, in time.
        :raises EndpointError: if it failed too often just before, or there is no connection.
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
            waited_s = limiter.enter(request, waited_s)
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
    """The error where the endpoint asks for a longer pause than there is time."""
    failure = of_status(outcome, request) if isinstance(outcome, Reply) else outcome
    if failure is None or not isinstance(failure, EndpointRateLimitError):
        return failure or timed_out(request)
    times = f", after {tries} tries" if tries > 1 else ""
    hint = f"wait {in_words(pause_s)}" if pause_s >= 1 else failure.hint
    detail: dict[str, Any] = {**failure.detail, "retry_after_s": round(pause_s, 3)}
    return EndpointRateLimitError(f"{failure.message}{times}", hint=hint, **detail)
