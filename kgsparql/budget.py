"""What a question may cost, and what it has cost so far."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from kgsparql.errors import BudgetExceededError, CancelledError

__all__ = ["Budget", "Usage"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one question; ``None`` is no limit."""

    max_queries: int | None = 500
    max_rows: int | None = 1_000_000
    max_seconds: float | None = 120.0


@dataclass(slots=True)
class Usage:
    """Running totals of one question; safe to add to from several threads.

    ``seconds`` is wall time since the question began; ``rows`` counts SPARQL solutions.
    """

    budget: Budget = field(default_factory=Budget)
    queries: int = 0
    rows: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cancel: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def seconds(self) -> float:
        """Wall time since the question began."""
        return time.monotonic() - self.started

    def before_query(self) -> None:
        """Count a query that is about to be sent.

        :raises CancelledError: if the question was stopped.
        :raises BudgetExceededError: if it would go over a limit; nothing is counted then.

        >>> usage = Usage(Budget(max_queries=1))
        >>> usage.before_query(); usage.queries
        1
        >>> usage.before_query()
        Traceback (most recent call last):
        ...
        kgsparql.errors.BudgetExceededError: budget reached: 1 queries
        """
        self._check()
        with self._lock:
            if self.budget.max_queries is not None and self.queries >= self.budget.max_queries:
                raise self._exceeded("queries", self.budget.max_queries, "--max-queries")
            self.queries += 1

    def after_query(self, rows: int) -> None:
        """Add the solutions that a query returned.

        :raises BudgetExceededError: if that is more than the budget holds.
        """
        with self._lock:
            self.rows += rows
        if self.budget.max_rows is not None and self.rows > self.budget.max_rows:
            raise self._exceeded("rows", self.budget.max_rows, "a narrower question")

    def owed_query(self, rows: int) -> None:
        """Count a query that is sent whatever the budget says, and its solutions."""
        with self._lock:
            self.queries += 1
            self.rows += rows

    def _check(self) -> None:
        if self.cancel.is_set():
            raise CancelledError("stopped")
        if self.budget.max_seconds is not None and self.seconds > self.budget.max_seconds:
            raise self._exceeded("seconds", self.budget.max_seconds, "--max-seconds")

    @staticmethod
    def _exceeded(what: str, limit: float, hint: str) -> BudgetExceededError:
        return BudgetExceededError(f"budget reached: {limit:g} {what}", hint=f"raise it with {hint}", limit=what)

    def to_json(self, *, reproducible: bool = False) -> dict[str, Any]:
        """Totals as JSON; ``seconds`` is null when the output must be the same every time."""
        return {
            "model_calls": self.model_calls,
            "tokens": self.prompt_tokens + self.completion_tokens,
            "queries": self.queries,
            "rows": self.rows,
            "seconds": None if reproducible else round(self.seconds, 3),
        }
