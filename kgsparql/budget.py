"""What a question may cost, and what it has cost so far."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from kgsparql.errors import BudgetExceededError, CancelledError, OptionError

__all__ = ["Budget", "Elapsed", "Prices", "Usage"]

_SHORTEST_GRACE_S = 5.0
_UNPREPARED = (-1, -1)
"""Of a question whose time was over before it was asked."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model charges for a million tokens, in any currency."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost.

        >>> Prices(0.5, 2.0).of(1_000_000, 500_000)
        1.5
        """
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one question; ``None`` is no limit.

    :param max_calls: of the model.
    :param max_tokens: of prompts and completions together.
    :param max_cost: in the currency of ``prices``, without which it cannot be.
    :raises OptionError: for a limit that is no number, is infinite or below 0, and for one on cost without prices.
    """

    max_queries: int | None = 500
    max_rows: int | None = 1_000_000
    max_seconds: float | None = 120.0
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        limits = ("max_queries", "max_rows", "max_seconds", "max_calls", "max_tokens", "max_cost")
        for name in limits:
            limit = getattr(self, name)
            if limit is not None and not (math.isfinite(limit) and limit >= 0):
                option = f"--{name.replace('_', '-')}"
                raise OptionError(
                    f"{option} {limit}: not a limit", hint="a number from 0 on; leave it out for no limit"
                )
        if self.max_cost is not None and self.prices is None:
            raise OptionError(
                "a limit on cost needs the model's prices", hint="--prices PROMPT,COMPLETION for a million tokens"
            )


@dataclass(frozen=True, slots=True)
class Elapsed:
    """What a question that is replayed took when it was recorded, as far as another run would not come to the same.

    :param over_at: queries and model calls that were counted when its time was over; ``None`` if it was not, and
        less than 0 each if it was not even prepared then.
    :param prepared: queries to prepare it.
    :param owed_over_at: as ``over_at``, of the grace time after that; recordings keep it by this name.
    """

    seconds: float
    cached_calls: int = 0
    paid_cost: float | None = None
    over_at: tuple[int, int] | None = None
    prepared: int = 0
    owed_over_at: tuple[int, int] | None = None


@dataclass(slots=True)
class Usage:
    """Running totals of one question; safe to add to from several threads.

    ``seconds`` is wall time since the question began; ``rows`` counts SPARQL solutions. Of the model calls,
    ``cached_calls`` were answered from the response cache; they count as calls, so that a budget ends a question at
    the same place whether or not somebody asked it before. ``cost`` is of all calls for the same reason; ``paid_cost``
    is of those that were not answered from the store. Texts that a server embeds are not counted. ``prepared`` counts
    what endpoints were asked before the question itself: what they are, and their labels. It is no part of ``queries``,
    since whoever asks next finds that done.

    :param is_prepared: what is asked from now on is for the question itself.
    :param replayed: the question is one that was recorded: its time is over where it was then, whatever a clock says.
    :param over_at: as that of :class:`Elapsed`, of this run; so is ``owed_over_at``.
    """

    budget: Budget = field(default_factory=Budget)
    queries: int = 0
    rows: int = 0
    model_calls: int = 0
    cached_calls: int = 0
    cached_prompt_tokens: int = 0
    cached_completion_tokens: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cancel: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)
    replayed: Elapsed | None = None
    over_at: tuple[int, int] | None = None
    owed_over_at: tuple[int, int] | None = None
    prepared: int = 0
    is_prepared: bool = False
    _ended: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def seconds(self) -> float:
        """Wall time since the question began."""
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Until the budget's deadline; ``None`` if it has none."""
        if self.budget.max_seconds is None or self.replayed is not None:
            return None
        return max(0.0, self.budget.max_seconds - self.seconds)

    @property
    def grace_s(self) -> float | None:
        """Seconds left of the grace time, in which an answer may look up what it must show; ``None`` if unlimited.

        It is a quarter of the question's time, at least 5 s, and runs from when that time was first seen to be over.

        >>> Usage(Budget(max_seconds=4)).grace_s, Usage(Budget(max_seconds=60)).grace_s
        (5.0, 15.0)
        """
        if self.budget.max_seconds is None or self.replayed is not None:
            return None
        return max(0.0, self._whole_grace_s - (0.0 if self._ended is None else time.monotonic() - self._ended))

    @property
    def _whole_grace_s(self) -> float:
        return max(_SHORTEST_GRACE_S, (self.budget.max_seconds or 0.0) / 4)

    @property
    def calls_left(self) -> int | None:
        """Model calls that the budget still holds; ``None`` if it does not limit them."""
        return None if self.budget.max_calls is None else max(0, self.budget.max_calls - self.model_calls)

    @property
    def cost(self) -> float | None:
        """What the tokens cost, or cost when a kept reply was paid for; ``None`` if the prices are not known."""
        prices = self.budget.prices
        return None if prices is None else prices.of(self.prompt_tokens, self.completion_tokens)

    @property
    def paid_cost(self) -> float | None:
        """What this question cost; ``None`` if the prices are not known."""
        if self.cost is None or self.budget.prices is None:
            return None
        return self.cost - self.budget.prices.of(self.cached_prompt_tokens, self.cached_completion_tokens)

    def asked(self) -> None:
        """Count a query that an endpoint is about to be sent, if it is to prepare the question."""
        with self._lock:
            self.prepared += not self.is_prepared

    def before_query(self, *, in_grace: bool = False) -> None:
        """Count a query that is about to be sent, whatever becomes of it.

        :param in_grace: it is sent however little of the budget is left, as long as :attr:`grace_s` says.
        :raises CancelledError: if the question was stopped.
        :raises BudgetExceededError: if a limit is reached; nothing is counted then.

        >>> usage = Usage(Budget(max_queries=1))
        >>> usage.before_query(); usage.queries
        1
        >>> usage.before_query()
        Traceback (most recent call last):
        ...
        kgsparql.errors.BudgetExceededError: budget reached: 1 query
        >>> usage.before_query(in_grace=True); usage.queries
        2
        """
        self.check(in_grace=in_grace)
        with self._lock:
            most = None if in_grace else self.budget.max_queries
            if most is not None and self.queries >= most:
                raise self._exceeded("queries", most, "--max-queries")
            self.queries += 1

    def after_query(self, rows: int, *, in_grace: bool = False) -> None:
        """Add the solutions that a query returned.

        :param in_grace: as for :meth:`before_query`.
        :raises BudgetExceededError: if that is more than the budget holds.
        """
        with self._lock:
            self.rows += rows
        if not in_grace and self.budget.max_rows is not None and self.rows > self.budget.max_rows:
            raise self._exceeded("rows", self.budget.max_rows, "a narrower question")

    def reserve_call(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count a model call that is about to be made, with what it may use.

        The tokens of its prompt are an estimate, and those of its reply as many as are asked for at most.
        Reserved before, corrected by :meth:`settle_call` after: calls side by side cannot spend the same tokens twice.

        :raises CancelledError: if the question was stopped.
        :raises BudgetExceededError: if it would go over a limit; nothing is counted then.

        >>> usage = Usage(Budget(max_tokens=100))
        >>> usage.reserve_call(60, 30); usage.settle_call(60, 30, actual=(55, 10)); usage.prompt_tokens
        55
        >>> usage.reserve_call(60, 30)
        Traceback (most recent call last):
        ...
        kgsparql.errors.BudgetExceededError: budget reached: 100 tokens (65 used, up to 90 more needed)
        """
        self.check()
        budget = self.budget
        with self._lock:
            if budget.max_calls is not None and self.model_calls >= budget.max_calls:
                raise self._exceeded("model calls", budget.max_calls, "--max-calls")
            used, wanted = self.prompt_tokens + self.completion_tokens, prompt_tokens + completion_tokens
            if budget.max_tokens is not None and used + wanted > budget.max_tokens:
                more = f" ({used} used, up to {wanted} more needed)"
                fewer = "--max-tokens, or ask for shorter replies with --reply-tokens 300"
                raise self._exceeded("tokens", budget.max_tokens, fewer, more)
            if budget.max_cost is not None and budget.prices is not None:
                spent, next_ = self.cost or 0.0, budget.prices.of(prompt_tokens, completion_tokens)
                if spent + next_ > budget.max_cost:
                    more = f" ({spent:.4g} spent, up to {next_:.4g} more needed)"
                    raise self._exceeded("cost", budget.max_cost, "--max-cost", more)
            self.model_calls += 1
            self.prompt_tokens += prompt_tokens
            self.completion_tokens += completion_tokens

    def settle_call(
        self, prompt_tokens: int, completion_tokens: int, *, actual: tuple[int, int], cached: bool = False
    ) -> None:
        """Put what a call used, ``(prompt_tokens, completion_tokens)``, in the place of what was reserved for it."""
        with self._lock:
            self.prompt_tokens += actual[0] - prompt_tokens
            self.completion_tokens += actual[1] - completion_tokens
            if cached:
                self.cached_calls += 1
                self.cached_prompt_tokens += actual[0]
                self.cached_completion_tokens += actual[1]

    def cancel_call(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Take a reserved call back: it never reached a model, so nothing was paid."""
        with self._lock:
            self.model_calls -= 1
            self.prompt_tokens -= prompt_tokens
            self.completion_tokens -= completion_tokens

    def check(self, waited: str = "", *, in_grace: bool = False, is_late: bool = False) -> None:
        """Whether the question may go on.

        :param waited: what it waited for last, if anything, to be said where its time is over.
        :param in_grace: it is for what the answer must show, which may use the grace time.
        :param is_late: the time for that has been running since the question's was over, seen or not.
        :raises CancelledError: if it was stopped.
        :raises BudgetExceededError: if its time is over.
        """
        if self.cancel.is_set():
            raise CancelledError("stopped")
        if self.budget.max_seconds is not None and self._is_over(in_grace=in_grace, is_late=is_late):
            so_far = (self.queries, self.model_calls) if self.is_prepared or in_grace else _UNPREPARED
            if in_grace:
                self.owed_over_at = self.owed_over_at or so_far
            else:
                self.over_at = self.over_at or so_far
            more = f" ({waited})" if waited else ""
            raise self._exceeded("seconds", self.budget.max_seconds, "--max-seconds", more)

    def _is_over(self, *, in_grace: bool, is_late: bool) -> bool:
        if self.replayed is not None:
            over_at = self.replayed.owed_over_at if in_grace else self.replayed.over_at
            if over_at is None or (over_at != _UNPREPARED and not self.is_prepared):
                return False
            return self.queries >= over_at[0] and self.model_calls >= over_at[1]
        if self.budget.max_seconds is None or self.seconds <= self.budget.max_seconds:
            return False
        if self._ended is None:
            self._ended = self.started + self.budget.max_seconds if is_late else time.monotonic()
        return not in_grace or self.grace_s == 0

    @staticmethod
    def _exceeded(what: str, limit: float, hint: str, more: str = "") -> BudgetExceededError:
        shown = f"{limit:.10f}".rstrip("0").rstrip(".")  # as it was typed: 0.0000001, 1000000
        unit = {"queries": "query", "model calls": "model call"}.get(what, what) if limit == 1 else what
        return BudgetExceededError(f"budget reached: {shown} {unit}{more}", hint=f"raise it with {hint}", limit=what)

    def to_json(self, *, reproducible: bool = False) -> dict[str, Any]:
        """Totals as JSON; what differs between runs is null when the output must be the same every time."""
        took = self.replayed or Elapsed(
            round(self.seconds, 3), self.cached_calls, self.paid_cost, prepared=self.prepared
        )
        return {
            "model_calls": self.model_calls,
            "cached_calls": None if reproducible else took.cached_calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "tokens": self.prompt_tokens + self.completion_tokens,
            "cost": None if self.cost is None else round(self.cost, 8),
            "paid_cost": None if reproducible or took.paid_cost is None else round(took.paid_cost, 8),
            "queries": self.queries,
            "prepared": None if reproducible else took.prepared,
            "rows": self.rows,
            "seconds": None if reproducible else took.seconds,
        }
