"""When an endpoint may be asked: how many queries at once, how often, and not while it asks for a pause.

Until when a public service is to be left alone is kept in a small file, for the next process: people ask in loops.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from kgsparql.errors import CancelledError, EndpointError, EndpointRateLimitError, EndpointTimeoutError
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.http.address import Address
from kgsparql.http.transport import LONGEST_S, in_words
from kgsparql.resources import cache_directory

MOST_FAILURES = 5  # in a row; then an endpoint is not asked for `REST_S`
REST_S = 60.0
_MINUTE_S = 60.0
_POLL_S = 0.05
_WORTH_KEEPING_S = 1.0  # a shorter pause is over when the next process asks


def kept_until_file(url: str) -> Path:
    """Name the file that tells until when a service is to be left alone, by the time of day."""
    return cache_directory() / "rate-limits" / hashlib.sha256(url.encode()).hexdigest()[:32]


class RateLimiter:
    """Lets queries go to one server, first come, first served; for all threads and questions of this process.

    :param is_kept: whether public services are left alone by the next process, too.
    :ivar said: what it failed with since it answered last.
    """

    def __init__(
        self, seed: str = "", clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Condition, float], object] = threading.Condition.wait, *, is_kept: bool = False,
    ) -> None:  # fmt: skip
        self.clock, self.wait, self._is_kept = clock, wait, is_kept
        self.random = Random(seed)  # noqa: S311 - so that threads do not come back together, no secret
        self._changed = threading.Condition()
        self._line: deque[object] = deque()
        self._running = 0
        self._ended = self._resting_until = -math.inf
        self._closed: dict[str, float] = {}  # by URL, as services on one server ask for pauses of their own
        self._failures = 0  # in a row
        self._errors: list[float] = []  # when the last ones were
        self._why_resting = ""
        self.said = ""

    def closed_s(self, request: SparqlRequest) -> float:
        """Tell for how many seconds the endpoint still asks for a pause, or is left alone after failures."""
        return max(self._closed_until(request), self._resting_until) - self.clock()

    def _closed_until(self, request: SparqlRequest) -> float:
        if request.url not in self._closed:
            self._closed[request.url] = -math.inf
            if self._keeps(request):
                with suppress(OSError, ValueError):  # what cannot be believed is nothing
                    left_s = float(kept_until_file(request.url).read_text(encoding="ascii")) - time.time()
                    if left_s <= LONGEST_S:  # else the clock was set back since
                        self._closed[request.url] = self.clock() + left_s
        return self._closed[request.url]

    def _keeps(self, request: SparqlRequest) -> bool:
        return self._is_kept and request.profile.is_public and not Address.parse(request.url).is_loopback

    def enter(self, request: SparqlRequest, *, is_again: bool) -> None:
        """Wait until the endpoint may be asked; :meth:`leave` must follow.

        :param is_again: the request was sent before, and so it came before those who are in line.
        :raises EndpointError: if it would have to wait for longer than it may, or too many queries failed before.
        """
        ticket, began = object(), self.clock()
        with self._changed:
            (self._line.appendleft if is_again else self._line.append)(ticket)
            try:
                while self._waits_for_turn(ticket, request, began):
                    pass
                self._running += 1
            finally:
                self._line.remove(ticket)
                self._changed.notify_all()

    def leave(self, request: SparqlRequest, closed_s: float | None) -> None:
        """Keep what was learned from a query that is over, and let the next go.

        :param closed_s: seconds for which nobody may ask.
        """
        with self._changed:
            now = self._ended = self.clock()
            self._running -= 1
            if closed_s is not None:
                self._closed[request.url] = max(self._closed_until(request), now + closed_s)
            left_s = self.closed_s(request)
            if left_s > _WORTH_KEEPING_S and self._keeps(request):
                with suppress(OSError):  # the next process is told so by the server
                    file = kept_until_file(request.url)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(str(time.time() + left_s), encoding="utf-8", newline="")
            self._changed.notify_all()

    def succeeded(self, profile: EndpointProfile) -> None:
        """Note that the endpoint replied as it should; an error in a query counts as that, too."""
        with self._changed:
            self._failures, self.said = 0, ""
            if profile.errors_per_minute is None:
                self._resting_until = -math.inf

    def failed(self, why: str, profile: EndpointProfile, *, is_about_the_query: bool = False) -> None:
        """Count a failure. After too many in a row, or half of what leads to a ban, nobody asks for a while."""
        with self._changed:
            now, self.said = self.clock(), why
            self._errors = [*(at for at in self._errors if at > now - _MINUTE_S), now]
            self._failures = 0 if is_about_the_query else self._failures + 1
            most = profile.errors_per_minute
            if most is not None and len(self._errors) >= max(1, most // 2):
                self._why_resting = f"{len(self._errors)} queries failed within a minute, the last: {why}"
            elif self._failures >= MOST_FAILURES:
                self._why_resting = f"{self._failures} queries in a row failed, the last: {why}"
            else:
                return
            self._resting_until = now + REST_S

    def _waits_for_turn(self, ticket: object, request: SparqlRequest, began: float) -> bool:
        """Wait a little, unless the request may be sent now."""
        now = self.clock()
        if request.cancel is not None and request.cancel.is_set():
            raise CancelledError("stopped while an endpoint was waited for")
        if (resting_s := self._resting_until - now) > 0:
            wait, detail = in_words(resting_s), request.detail(retry_after_s=round(resting_s, 3))
            message = f"{request.url}: not asked again for {wait}: {self._why_resting}"
            raise EndpointError(message, hint=f"wait {wait}", **detail)
        wanted_s, why = max(
            (self._closed_until(request) - now, "it wants to be left alone"),
            (self._ended + request.profile.pause_s - now, "there is a pause between queries"),
        )
        left_s = request.deadline - now
        if wanted_s > max(0.0, request.may_wait_s(now)):
            wait, detail = in_words(wanted_s), request.detail(retry_after_s=round(wanted_s, 3))
            message = f"{request.url}: not to be asked for another {wait}: {why}"
            raise EndpointRateLimitError(message, hint=f"wait {wait}", **detail)
        if left_s <= 0:
            message = f"{request.url}: {request.what} waited {in_words(now - began)} and had no turn"
            detail = request.detail(waited_s=round(now - began, 3))
            raise EndpointTimeoutError(message, hint="fewer questions at once", **detail)
        at_once = 1 if self._failures >= MOST_FAILURES else max(1, request.profile.concurrency)
        if self._line[0] is ticket and wanted_s <= 0 and self._running < at_once:
            return False
        self.wait(self._changed, min(left_s, _POLL_S, wanted_s if wanted_s > 0 else _POLL_S))
        return True


_limiters: dict[str, RateLimiter] = {}
_limiters_lock = threading.Lock()


def rate_limiter_of(server: str) -> RateLimiter:
    """Return the limiter of a server, the same for all its endpoints and all graphs of this process."""
    with _limiters_lock:
        return _limiters.setdefault(server, RateLimiter(seed=server, is_kept=True))
