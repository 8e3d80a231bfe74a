"""When an endpoint may be asked: how many queries at once, how often, and not while it asks for a pause.

What one process learns of a public server, such as a pause that it asked for, the other processes of the user read.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

from kgsparql.dataclasses import asdict, dataclass, field, replace
from kgsparql.errors import (
    CancelledError,
    EndpointError,
    EndpointRateLimitError,
    EndpointTimeoutError,
    StoreError,
    StoreLockedError,
)
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.http.transport import LONGEST_S, in_words
from kgsparql.resources import cache_directory
from kgsparql.storage.files import read_sealed_json, replace_text, sealed_json, writer_lock

FOLDER = "rate-limits"
"""In the cache directory: a small file for each server, and the lock of the process that asks it now."""
MOST_FAILURES = 5  # in a row; then an endpoint is not asked for `REST_S`
REST_S = 60.0
_MINUTE_S = 60.0
_POLL_S = 0.05
_RESERVE_S = 1.0
"""Query time that must be left for a query to begin: the endpoint's own count may be a little ahead of ours."""
_CLOCK_TOLERANCE_S = 5.0  # a file that seems to be from so near a future is believed; else the clock was set back since


@dataclass(slots=True, kw_only=True)
class RateState:
    """What is known of a server; times are in seconds of one clock.

    :param ended: when the last query was over.
    :param closed_until: the server asks for a pause; ``resting_until``: too many queries failed.
    :param saved_s: seconds of query time that were left at ``counted``.
    :param failures: how many queries in a row failed; ``errors``: when the last ones did.
    :param left_behind: until when it may work on each of the queries that nobody waits for any more.
    """

    ended: float = -math.inf
    closed_until: float = -math.inf
    resting_until: float = -math.inf
    saved_s: float = math.inf
    counted: float = -math.inf
    failures: int = 0
    errors: list[float] = field(default_factory=list)
    left_behind: list[float] = field(default_factory=list)

    @property
    def not_before(self) -> float:
        """Until when the server must not be asked."""
        return max(self.closed_until, self.resting_until)

    def shifted(self, by_s: float) -> RateState:
        """Return the same state by a clock that is so far ahead."""
        times = {name: getattr(self, name) + by_s for name in ("ended", "closed_until", "resting_until", "counted")}
        errors, left_behind = ([at + by_s for at in some] for some in (self.errors, self.left_behind))
        return replace(self, **times, errors=errors, left_behind=left_behind)

    @classmethod
    def read(cls, file: Path, now: float) -> RateState | None:
        """Read the state in a file, by the time of day; ``None`` if there is none that can be believed."""
        try:
            known = cls(**read_sealed_json(file))
        except (OSError, ValueError, TypeError):
            return None  # it is written again
        latest = max(known.ended, known.counted, *known.errors, known.not_before - LONGEST_S)
        return known if latest <= now + _CLOCK_TOLERANCE_S else None

    def write(self, file: Path) -> None:
        """Write the state for other processes to a file."""
        replace_text(file, sealed_json(asdict(self)))


def state_file(server: str) -> Path:
    """Name the file in which processes tell each other of a server."""
    return cache_directory().absolute() / FOLDER / hashlib.sha256(server.encode()).hexdigest()[:32]


def is_to_be_left_alone(file: Path) -> bool:
    """Tell whether the server of a state file must not be asked now."""
    known = RateState.read(file, time.time())
    return known is not None and known.not_before > time.time()


class RateLimiter:
    """Lets queries go to one server, first come, first served; for all threads and questions of this process.

    With a file, it takes turns with other processes, too: a lock is held while queries run, which ends with its
    process. Where no file can be written, processes do not wait for each other, and ``trouble`` says why.

    :ivar answers: whether it did when it was asked last, or patience was at an end; ``None`` before.
    :ivar said: what it failed with since then.
    """

    def __init__(
        self, seed: str = "", clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Condition, float], object] = threading.Condition.wait, file: Path | None = None,
        time_of_day: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.clock, self.wait, self.file, self.time_of_day = clock, wait, file, time_of_day
        self.trouble = ""
        self.random = Random(seed)  # noqa: S311 - so that threads do not come back together, no secret
        self._changed = threading.Condition()
        self._line: deque[object] = deque()
        self._running = 0
        self._turn = ExitStack()
        self._known = RateState()
        self._why_resting = ""
        self.answers: bool | None = None
        self.said = ""

    def closed_s(self, request: SparqlRequest, *, is_again: bool) -> float:
        """Tell for how many seconds the endpoint still asks for a pause, or is left alone."""
        return max(self._known.closed_until - self.clock(), self._resting_s(request, is_again=is_again))

    def _resting_s(self, request: SparqlRequest, *, is_again: bool) -> float:
        """Tell for how long nobody asks after failures; the pauses of who asks patiently again grow by themselves."""
        is_probing = is_again and request.waiting.is_patient and not request.profile.is_public
        return 0.0 if is_probing else self._known.resting_until - self.clock()

    def enter(self, request: SparqlRequest, *, is_again: bool = False) -> None:
        """Wait until the endpoint may be asked; :meth:`leave` must follow.

        :param is_again: the request was sent before, and so it came before those who are in line.
        :raises EndpointError: if it would have to wait for longer than it may, or too many queries failed before.
        """
        ticket, began = object(), self.clock()
        with self._changed:
            (self._line.appendleft if is_again else self._line.append)(ticket)
            try:
                while self._waits_for_turn(ticket, request, began, is_again=is_again):
                    pass
                self._running += 1
            finally:
                self._line.remove(ticket)
                self._changed.notify_all()

    def leave(self, took_s: float, *, closed_s: float | None = None, runs_on_s: float = 0.0) -> None:
        """Keep what was learned from a query that is over, and let the next go.

        :param closed_s: seconds for which nobody may ask.
        :param runs_on_s: seconds for which the endpoint may still work on it, though nobody waits any more.
        """
        with self._changed:
            known = self._known
            self._running -= 1
            known.ended = self.clock()
            known.saved_s -= took_s + runs_on_s
            if closed_s is not None:
                known.closed_until = max(known.closed_until, known.ended + closed_s)
            if runs_on_s > 0:
                known.left_behind.append(known.ended + runs_on_s)
            try:
                if self.file is not None and not self.trouble:
                    known.shifted(self.time_of_day() - self.clock()).write(self.file)
            except OSError as error:
                self.trouble = f"{self.file}: {error.strerror}"
            finally:
                if not self._running:
                    self._turn.close()
                self._changed.notify_all()

    def succeeded(self, profile: EndpointProfile) -> None:
        """Note that the endpoint replied as it should; an error in a query counts as that, too."""
        with self._changed:
            self._known.failures, self.answers, self.said = 0, True, ""
            if profile.errors_per_minute is None:
                self._known.resting_until = -math.inf

    def failed(self, why: str, profile: EndpointProfile, *, is_about_the_query: bool = False) -> None:
        """Count a failure. After too many in a row, or half of what leads to a ban, nobody asks for a while."""
        with self._changed:
            now, known, self.said = self.clock(), self._known, why
            known.errors = [*(at for at in known.errors if at > now - _MINUTE_S), now]
            known.failures = 0 if is_about_the_query else known.failures + 1
            most = profile.errors_per_minute
            if most is not None and len(known.errors) >= max(1, most // 2):
                self._why_resting = f"{len(known.errors)} queries failed within a minute, the last: {why}"
            elif known.failures >= MOST_FAILURES:
                self._why_resting = f"{known.failures} queries in a row failed, the last: {why}"
            else:
                return
            known.resting_until = now + REST_S

    def _waits_for_turn(self, ticket: object, request: SparqlRequest, began: float, *, is_again: bool) -> bool:
        """Wait a little, unless the request may be sent now."""
        now, waiting = self.clock(), request.waiting
        if request.cancel is not None and request.cancel.is_set():
            raise CancelledError("stopped while an endpoint was waited for")
        resting_s = self._resting_s(request, is_again=is_again)
        is_waited_out = waiting.is_patient and self.answers is not False
        if resting_s > (max(0.0, waiting.left_s(is_asked_for=False)) if is_waited_out else 0.0):
            why, wait = self._why_resting or "too many queries of another run failed", in_words(resting_s)
            detail = request.detail(retry_after_s=round(resting_s, 3))
            raise EndpointError(f"{request.url}: not asked again for {wait}: {why}", hint=f"wait {wait}", **detail)
        wanted_s, why = self._pause_wanted(now, request.profile)
        left_s, may_wait_s = request.until - now, waiting.left_s(is_asked_for=True)
        if wanted_s > max(0.0, may_wait_s if waiting.is_patient else min(left_s, may_wait_s)):
            wait, detail = in_words(wanted_s), request.detail(retry_after_s=round(wanted_s, 3))
            message = f"{request.url}: not to be asked for another {wait}: {why}"
            raise EndpointRateLimitError(message, hint=f"wait {wait}", **detail)
        if left_s <= 0:
            message = f"{request.url}: {request.what} waited {in_words(now - began)} and had no turn"
            detail = request.detail(waited_s=round(now - began, 3))
            raise EndpointTimeoutError(message, hint="fewer questions at once", **detail)
        paused_s = max(wanted_s, resting_s)
        is_first = self._line[0] is ticket and paused_s <= 0
        if is_first and self._has_room(now, request.profile) and self._has_turn(request.profile):
            return False
        self.wait(self._changed, min(left_s, _POLL_S, paused_s if paused_s > 0 else _POLL_S))
        if paused_s > 0:
            waiting.add(now, self.clock())
        return True

    def _has_room(self, now: float, profile: EndpointProfile) -> bool:
        known = self._known
        known.left_behind = [until for until in known.left_behind if until > now]
        at_once = 1 if known.failures >= MOST_FAILURES else max(1, profile.concurrency)
        return self._running + len(known.left_behind) < at_once

    def _has_turn(self, profile: EndpointProfile) -> bool:
        """Take the turn of this process. What others have learned is taken over, and may forbid it after all."""
        if self.file is None or self._running or self.trouble:
            return True
        try:
            self._turn.enter_context(writer_lock(self.file))
        except StoreLockedError:
            return False
        except StoreError as error:
            self.trouble = error.message
            return True
        now, today = self.clock(), self.time_of_day()
        if (known := RateState.read(self.file, today)) is not None:
            known = known.shifted(now - today)
            if known.resting_until > self._known.resting_until + 1.0:  # our own comes back with a little noise
                self._why_resting = ""
            self._known = known
        is_free = now >= self._known.resting_until and self._pause_wanted(now, profile)[0] <= 0
        if is_free and self._has_room(now, profile):
            return True
        self._turn.close()
        return False

    def _pause_wanted(self, now: float, profile: EndpointProfile) -> tuple[float, str]:
        """Tell for how many seconds nobody may ask, and why."""
        known, used_up_s = self._known, 0.0
        if profile.query_seconds is not None:
            rate, most = profile.query_seconds / _MINUTE_S, profile.burst_seconds or profile.query_seconds
            known.saved_s = min(most, known.saved_s + (now - known.counted) * rate)
            known.counted = now
            used_up_s = (min(_RESERVE_S, most) - known.saved_s) / rate
        return max(
            (known.closed_until - now, "it wants to be left alone"),
            (used_up_s, "the time that its queries may take in a minute is used up"),
            (known.ended + profile.pause_s - now, "there is a pause between queries"),
        )


_limiters: dict[str, RateLimiter] = {}
_limiters_lock = threading.Lock()


def rate_limiter_of(server: str, *, share: bool = False) -> RateLimiter:
    """Return the limiter of a server, the same for all its endpoints and all graphs of this process."""
    with _limiters_lock:
        limiter = _limiters.setdefault(server, RateLimiter(seed=server))
        if share and limiter.file is None:
            limiter.file = state_file(server)
        return limiter
