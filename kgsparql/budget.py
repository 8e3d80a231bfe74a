"""What a question may cost, and what it has cost so far."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from kgsparql.dataclasses import dataclass, field, fields, frozen
from kgsparql.errors import BudgetExceededError, CancelledError, OptionError

_SHORTEST_GRACE_S, _LOCAL_GRACE_S = 5.0, 1.0  # the latter where nothing is asked over a network
_REMOTE_SHARE = 2 / 3  # of a question's time, to ask endpoints in; the rest is for looking up again what was found


@frozen
class Budget:
    """Limits for one question; ``None`` is no limit.

    :param max_tokens: of prompts and completions together.
    :raises OptionError: for a limit that is no number, is infinite or below 0.
    """

    max_queries: int | None = 500
    max_rows: int | None = 1_000_000
    max_seconds: float | None = 120.0
    max_calls: int | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        for own in fields(self):
            limit = getattr(self, own.name)
            if limit is not None and not (math.isfinite(limit) and limit >= 0):
                message = f"--{own.name.replace('_', '-')} {limit}: not a limit"
                raise OptionError(message, hint="a number from 0 on; leave it out for no limit")


class AnyEvent(threading.Event):
    """Is set as soon as one of several events is."""

    _POLL_S = 0.05

    def __init__(self, *events: threading.Event) -> None:
        super().__init__()
        self._events = events

    def is_set(self) -> bool:
        """Tell whether one of them is."""
        return any(event.is_set() for event in self._events)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until one of them is, at most ``timeout`` seconds; whether one is."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            time.sleep(min(self._POLL_S, left))
        return self.is_set()


@dataclass(slots=True)
class Usage:
    """Running totals of one question; safe to add to from several threads.

    :param cached_calls: model calls that were answered from the response cache. They count as calls, and their
        tokens count, so that a budget ends a question at the same place whether or not it was asked before.
    :param cancel: ends the question with an error.
    :param stop: ends it as if its time was over, so that it is answered from what was found.
    :param trial_tokens: what a trial of the model took, before it was asked: no part of its budget.
    :param prepared: queries to endpoints before the question itself, until it ``is_prepared``: what they are, and their
        labels. They are no part of ``queries``, since the next question finds that done.
    :param asking_s: after so many seconds the answer is made of what was found; ``None``: at the limit.
    """

    budget: Budget = field(default_factory=Budget)
    queries: int = 0
    rows: int = 0
    model_calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    trial_tokens: int = 0
    cancel: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)
    prepared: int = 0
    is_prepared: bool = False
    asking_s: float | None = None
    _ended: float | None = None
    _is_local: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin_asking(self, *, is_remote: bool) -> None:
        """Note that the question is prepared; of the time left, a third is kept for an answer that takes requests."""
        self.is_prepared = True
        self._is_local = not is_remote
        if is_remote and self.budget.max_seconds is not None:
            self.asking_s = self.seconds + _REMOTE_SHARE * max(0.0, self.budget.max_seconds - self.seconds)

    @property
    def seconds(self) -> float:
        """Wall time since the question began."""
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left to ask in; ``None`` if the budget does not limit them."""
        if self.stop.is_set():
            return 0.0
        if self.budget.max_seconds is None:
            return None
        return max(0.0, (self.budget.max_seconds if self.asking_s is None else self.asking_s) - self.seconds)

    @property
    def is_over(self) -> bool:
        """Whether the time to ask in was seen to be over."""
        return self._ended is not None

    @property
    def grace_s(self) -> float | None:
        """Seconds left of the grace time, in which an answer may look up what it must show; ``None`` if unlimited."""
        if self.budget.max_seconds is None and not self.stop.is_set():
            return None
        last_s = (1 - _REMOTE_SHARE) * (self.budget.max_seconds or 0.0)
        whole = _LOCAL_GRACE_S if self._is_local else max(_SHORTEST_GRACE_S, last_s)
        return max(0.0, whole - (0.0 if self._ended is None else time.monotonic() - self._ended))

    @property
    def calls_left(self) -> int | None:
        """Model calls that the budget still holds; ``None`` if it does not limit them."""
        return None if self.budget.max_calls is None else max(0, self.budget.max_calls - self.model_calls)

    def count_preparing(self, *, is_shared: bool) -> None:
        """Count a query that an endpoint is about to be sent, if the question is being prepared, or all share it."""
        with self._lock:
            self.prepared += is_shared or not self.is_prepared

    def before_query(self, *, in_grace: bool = False) -> None:
        """Count a query that is about to be sent, whatever becomes of it.

        :param in_grace: it is sent however little of the budget is left, as long as :attr:`grace_s` says.
        :raises BudgetExceededError: if a limit is reached; nothing is counted then.

        >>> usage = Usage(Budget(max_queries=0))
        >>> usage.before_query()
        Traceback (most recent call last):
        ...
        kgsparql.errors.BudgetExceededError: budget reached: 0 queries
        """
        self.check(in_grace=in_grace)
        with self._lock:
            most = None if in_grace else self.budget.max_queries
            if most is not None and self.queries >= most:
                raise self._exceeded_error("queries", most, "--max-queries")
            self.queries += 1

    def after_query(self, rows: int, *, in_grace: bool) -> None:
        """Add the solutions that a query returned, which may be more than the budget holds: then this is an error."""
        with self._lock:
            self.rows += rows
        if not in_grace and self.budget.max_rows is not None and self.rows > self.budget.max_rows:
            raise self._exceeded_error("rows", self.budget.max_rows, "a narrower question")

    def reserve_call(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count a model call that is about to be made, with the tokens it may use, so that none are spent twice.

        :raises BudgetExceededError: if it would go over a limit; nothing is counted then.
        """
        self.check()
        budget = self.budget
        with self._lock:
            if self.calls_left == 0:
                raise self._exceeded_error("model calls", self.model_calls, "--max-calls")
            used, wanted = self.prompt_tokens + self.completion_tokens, prompt_tokens + completion_tokens
            if budget.max_tokens is not None and used + wanted > budget.max_tokens:
                more = f" ({used} used, up to {wanted} more needed)"
                fewer = "--max-tokens, or ask for shorter replies with --reply-tokens 300"
                raise self._exceeded_error("tokens", budget.max_tokens, fewer, more)
            self.model_calls += 1
            self.prompt_tokens += prompt_tokens
            self.completion_tokens += completion_tokens

    def settle_call(self, reserved: tuple[int, int], actual: tuple[int, int] | None, *, cached: bool = False) -> None:
        """Replace the ``(prompt_tokens, completion_tokens)`` that were reserved for a call by those it used.

        :param actual: ``None`` for a call that never reached a model: nothing was paid, and it does not count.
        """
        prompt, completion = actual or (0, 0)
        with self._lock:
            self.model_calls -= actual is None
            self.prompt_tokens += prompt - reserved[0]
            self.completion_tokens += completion - reserved[1]
            self.cached_calls += cached

    def check(self, waited: str = "", *, in_grace: bool = False, is_late: bool = False) -> None:
        """Refuse to go on where the question was stopped, or its time is over.

        :param waited: what the question waited for last, for the error message.
        :param in_grace: for what the answer must show: it may use the grace time.
        :param is_late: the grace time began when the question's time was over, even if nobody saw that.
        :raises CancelledError: if it was stopped; :class:`BudgetExceededError` if its time is over.
        """
        if self.cancel.is_set():
            raise CancelledError("stopped")
        is_limited = self.budget.max_seconds is not None or self.stop.is_set()
        if is_limited and self._is_over(in_grace=in_grace, is_late=is_late):
            if self.stop.is_set() or self.budget.max_seconds is None:
                raise BudgetExceededError("stopped: this is what was found until then", hint="ask again", limit="stop")
            more = f" ({waited})" if waited else ""
            raise self._exceeded_error("seconds", self.budget.max_seconds, "--max-seconds", more)

    def _is_over(self, *, in_grace: bool, is_late: bool) -> bool:
        most = self.budget.max_seconds if self.asking_s is None else self.asking_s
        if not self.stop.is_set() and (most is None or self.seconds <= most):
            return False
        if self._ended is None:
            is_late = is_late and most is not None and not self.stop.is_set()
            self._ended = self.started + (most or 0.0) if is_late else time.monotonic()
        return not in_grace or self.grace_s == 0

    @staticmethod
    def _exceeded_error(what: str, limit: float, hint: str, more: str = "") -> BudgetExceededError:
        shown = f"{limit:.10f}".rstrip("0").rstrip(".")  # as it was typed: 0.0000001, 1000000
        unit = {"queries": "query", "model calls": "model call"}.get(what, what) if limit == 1 else what
        return BudgetExceededError(f"budget reached: {shown} {unit}{more}", hint=f"raise it with {hint}", limit=what)

    def to_json(self) -> dict[str, Any]:
        """Return the totals as a JSON object."""
        return {
            "model_calls": self.model_calls, "cached_calls": self.cached_calls, "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens, "tokens": self.prompt_tokens + self.completion_tokens,
            "trial_tokens": self.trial_tokens, "queries": self.queries, "prepared": self.prepared, "rows": self.rows,
            "seconds": round(self.seconds, 3),
        }  # fmt: skip
