"""When an endpoint may be asked: how many queries at once, how often, and not while it asks for a pause."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from weakref import WeakValueDictionary

from kgsparql.errors import CancelledError, EndpointError, EndpointRateLimitError, EndpointTimeoutError
from kgsparql.graphs.profiles.profile import EndpointProfile
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.graphs.protocol.shared_rate_state import RateState, SharedRateState
from kgsparql.http.retry_after import in_words

MAX_WAIT_S = 120.0
"""The longest that one query waits for the endpoint's sake."""
MOST_FAILURES = 5
"""In a row; then an endpoint is not asked for :data:`REST_S`."""
REST_S = 60.0
_MINUTE_S = 60.0
_POLL_S = 0.05
_SAME_S = 1.0
"""Clock tolerance in seconds."""
_RESERVE_S = 1.0
"""Query time that must be left for a query to begin: the endpoint's own count may be a little ahead of ours."""


@dataclass(slots=True, weakref_slot=True)
class RateLimiter:
    """Lets queries go to one server, first come, first served; for all threads and questions of this process.

    :param shared: takes turns with the other processes of this user; ``None`` if it need not.
    :param clock: in seconds, never back.
    :param wait: waits on a condition, at most so long.
    """

    seed: str = ""
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Condition, float], object] = threading.Condition.wait
    shared: SharedRateState | None = None
    random: Random = field(init=False)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _line: deque[object] = field(default_factory=deque)
    _running: int = 0
    _left_behind: list[float] = field(default_factory=list)
    _ended: float = -math.inf
    _saved_s: float = math.inf
    _counted: float = 0.0
    _closed_until: float = -math.inf
    _resting_until: float = -math.inf
    _why: str = ""
    _failures: int = 0
    _errors: deque[float] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)  # noqa: S311 - so that threads do not come back together, no secret

    @property
    def closed_s(self) -> float:
        """Seconds for which the endpoint still asks for a pause."""
        return max(0.0, self._closed_until - self.clock())

    def enter(self, request: SparqlRequest, waited_s: float = 0.0, *, is_again: bool = False) -> float:
        """Wait until the endpoint may be asked; :meth:`leave` must follow.

        :param waited_s: how long the request waited for the endpoint before its earlier tries.
        :param is_again: the request was sent before, and so it came before those who are in line.
        :return: that, and how long it waited now.
        :raises EndpointRateLimitError: if it would have to wait for longer than it may.
        :raises EndpointTimeoutError: if there was no turn in time.
        :raises EndpointError: if too many queries failed just before.
        :raises CancelledError: if the request's ``cancel`` is set meanwhile.
        """
        ticket, began = object(), self.clock()
        with self._changed:
            (self._line.appendleft if is_again else self._line.append)(ticket)
            try:
                while (step_s := self._waited_step_s(ticket, request, began, waited_s)) is not None:
                    waited_s += step_s
                self._running += 1
            finally:
                with suppress(ValueError):
                    self._line.remove(ticket)
                if self.shared is not None and not self._line:
                    self.shared.step_back()
                self._changed.notify_all()
        return waited_s

    def leave(self, took_s: float, *, closed_s: float | None = None, runs_on_s: float = 0.0) -> None:
        """A query is over: keep what was learned from it, and let the next go.

        :param closed_s: seconds for which nobody may ask.
        :param runs_on_s: seconds for which the endpoint may still work on it, though nobody waits any more.
        """
        with self._changed:
            self._running -= 1
            self._ended = self.clock()
            self._saved_s -= took_s + runs_on_s
            if closed_s is not None:
                self._closed_until = max(self._closed_until, self._ended + closed_s)
            if runs_on_s > 0:
                self._left_behind.append(self._ended + runs_on_s)
            if self.shared is not None:
                self.shared.leave(self._state(self.shared))
            self._changed.notify_all()

    def succeeded(self) -> None:
        """The endpoint replied as it should; an error in a query counts as that, too."""
        with self._changed:
            self._failures = 0

    def failed(self, why: str, profile: EndpointProfile, *, is_about_the_query: bool = False) -> None:
        """Count a failure. After too many in a row, or half of what leads to a ban, nobody asks for a while."""
        with self._changed:
            now = self.clock()
            self._errors.append(now)
            while self._errors[0] <= now - _MINUTE_S:
                self._errors.popleft()
            self._failures = 0 if is_about_the_query else self._failures + 1
            most = profile.errors_per_minute
            if most is not None and len(self._errors) >= max(1, most // 2):
                self._rest(now, f"{len(self._errors)} queries failed within a minute, the last: {why}")
            elif self._failures >= MOST_FAILURES:
                self._rest(now, f"{self._failures} queries in a row failed, the last: {why}")

    def _rest(self, now: float, why: str) -> None:
        self._resting_until, self._why = now + REST_S, why

    def _waited_step_s(self, ticket: object, request: SparqlRequest, began: float, waited_s: float) -> float | None:
        """``None`` if the request may be sent now; else it waits a little: the seconds it waited for the endpoint."""
        now = self.clock()
        if request.cancel is not None and request.cancel.is_set():
            raise CancelledError("stopped while an endpoint was waited for")
        if now < self._resting_until:
            raise self._left_alone(request, self._resting_until - now)
        wanted_s, why = self._pause_wanted(now, request.profile)
        left_s = request.deadline - now
        if wanted_s > max(0.0, min(left_s, MAX_WAIT_S - waited_s)):
            raise _too_long(request, wanted_s, why)
        if left_s <= 0:
            raise _no_turn(request, now - began)
        is_first = self._line[0] is ticket and wanted_s <= 0
        if is_first and self._has_room(now, request.profile) and self._has_turn(request):
            return None
        self.wait(self._changed, min(left_s, _POLL_S, wanted_s) if wanted_s > 0 else min(left_s, _POLL_S))
        return max(0.0, self.clock() - now) if wanted_s > 0 else 0.0

    def _has_room(self, now: float, profile: EndpointProfile) -> bool:
        self._left_behind = [until for until in self._left_behind if until > now]
        return self._running + len(self._left_behind) < self._most_at_once(profile)

    def _has_turn(self, request: SparqlRequest) -> bool:
        """Whether this process has the turn. What others have learned is taken over, and may forbid it after all."""
        if self.shared is None:
            return True
        known = self.shared.enter(max(1, self._most_at_once(request.profile) - len(self._left_behind)))
        if known is None:
            return False
        now = self.clock()
        self._take_over(known, now - self.shared.clock())
        is_fine = now >= self._resting_until and self._pause_wanted(now, request.profile)[0] <= 0
        if is_fine and self._has_room(now, request.profile):
            return True
        self.shared.leave()
        return False

    def _take_over(self, known: RateState, ahead_s: float) -> None:
        """Take over what other processes know; ``ahead_s``: how far our clock is ahead of theirs."""
        if not known.at:
            return
        self._ended = max(self._ended, known.ended + ahead_s)
        self._closed_until = max(self._closed_until, known.closed_until + ahead_s)
        self._left_behind = [until + ahead_s for until in known.left_behind]
        self._errors = deque(at + ahead_s for at in known.errors)
        self._failures = known.failures
        if known.saved_s is not None:
            self._saved_s, self._counted = known.saved_s, known.counted + ahead_s
        if known.resting_until + ahead_s > self._resting_until + _SAME_S:
            self._resting_until, self._why = known.resting_until + ahead_s, "too many queries of another run failed"

    def _state(self, shared: SharedRateState) -> RateState:
        """What other processes should know; none of it repeats words of the server."""
        now = shared.clock()
        ahead_s = self.clock() - now
        closed, resting = (
            0.0 if math.isinf(until) else until - ahead_s for until in (self._closed_until, self._resting_until)
        )
        return RateState(
            at=now, ended=now, closed_until=closed, resting_until=resting, failures=self._failures,
            left_behind=tuple(until - ahead_s for until in self._left_behind),
            errors=tuple(at - ahead_s for at in self._errors),
            saved_s=None if math.isinf(self._saved_s) else self._saved_s, counted=self._counted - ahead_s,
        )  # fmt: skip

    def _most_at_once(self, profile: EndpointProfile) -> int:
        """How many queries may run at once; after too many failures, one."""
        return 1 if self._failures >= MOST_FAILURES else max(1, profile.concurrency)

    def _pause_wanted(self, now: float, profile: EndpointProfile) -> tuple[float, str]:
        """For how many seconds nobody may ask, and why."""
        closed_s = self._closed_until - now
        share_s = self._until_saved_s(now, profile)
        if closed_s > 0 and closed_s >= share_s:
            return closed_s, "it wants to be left alone"
        pause_s = self._ended + profile.pause_s - now
        if share_s > 0 and share_s >= pause_s:
            return share_s, "the time that its queries may take in a minute is used up"
        return max(0.0, pause_s, closed_s), "there is a pause between queries"

    def _until_saved_s(self, now: float, profile: EndpointProfile) -> float:
        if profile.query_seconds is None:
            return 0.0
        most = profile.burst_seconds or profile.query_seconds
        rate = profile.query_seconds / _MINUTE_S
        self._saved_s = min(most, self._saved_s + (now - self._counted) * rate)
        self._counted = now
        return max(0.0, (min(_RESERVE_S, most) - self._saved_s) / rate)

    def _left_alone(self, request: SparqlRequest, seconds: float) -> EndpointError:
        return EndpointError(
            f"{request.url}: not asked again for {in_words(seconds)}: {self._why}", hint=f"wait {in_words(seconds)}",
            **request.detail(retry_after_s=round(seconds, 3), is_resting=True),
        )  # fmt: skip


def _too_long(request: SparqlRequest, seconds: float, why: str) -> EndpointRateLimitError:
    return EndpointRateLimitError(
        f"{request.url}: not to be asked for another {in_words(seconds)}: {why}", hint=f"wait {in_words(seconds)}",
        **request.detail(retry_after_s=round(seconds, 3)),
    )  # fmt: skip


def _no_turn(request: SparqlRequest, waited_s: float) -> EndpointTimeoutError:
    return EndpointTimeoutError(
        f"{request.url}: {request.what} waited {in_words(waited_s)} and had no turn", hint="fewer questions at once",
        **request.detail(waited_s=round(waited_s, 3)),
    )  # fmt: skip


_limiters: WeakValueDictionary[str, RateLimiter] = WeakValueDictionary()
_kept: dict[str, RateLimiter] = {}
_limiters_lock = threading.Lock()


def rate_limiter_of(server: str, *, keep: bool = False, share: bool = False) -> RateLimiter:
    """The limiter of a server, the same for all its endpoints and all graphs of this process.

    :param keep: even when no graph uses it any more: a public endpoint counts clients, not the graphs they open.
    :param share: with other processes, by files in the cache directory.
    """
    with _limiters_lock:
        limiter = _limiters.get(server)
        if limiter is None:
            limiter = _limiters[server] = RateLimiter(seed=server)
        if share and limiter.shared is None:
            limiter.shared = SharedRateState(server)
        if keep:
            _kept[server] = limiter
        return limiter
