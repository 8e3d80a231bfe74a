"""The time of a question, which ends whatever a graph is asked for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kgsparql.budget import Usage
from kgsparql.errors import CancelledError, EndpointTimeoutError

__all__ = ["QuestionTime"]


@dataclass(frozen=True, slots=True)
class QuestionTime:
    """What is left of the time of a question.

    :param usage: of the question: its time, and whether it was stopped.
    :param owed: its time may be over: what an answer owes its reader is asked for all the same, until the question is
        stopped; each query has only so long as :attr:`Usage.owed_s` says.
    :param most_s: for each query, where its answer can be done without.
    """

    usage: Usage
    owed: bool = False
    most_s: float | None = None

    @property
    def cancel(self) -> threading.Event:
        """Set when the question is stopped."""
        return self.usage.cancel

    def asked(self) -> None:
        """The endpoint is about to be sent a query."""
        self.usage.asked()

    def left_s(self) -> float | None:
        """Seconds that are left; ``None`` if there is no end.

        :raises CancelledError: if the question was stopped.
        :raises BudgetExceededError: if its time is over.
        """
        if self.cancel.is_set():
            raise CancelledError("stopped")
        left_s = self.usage.owed_s if self.owed else self.usage.seconds_left
        if left_s == 0:
            self.usage.check(owed=self.owed)
        return min((limit for limit in (left_s, self.most_s) if limit is not None), default=None)

    @contextmanager
    def timeouts_as_budget(self) -> Iterator[None]:
        """What runs out of time in here is called the question's, if it is that.

        :raises BudgetExceededError: if it was the question's time.
        """
        try:
            yield
        except EndpointTimeoutError as error:
            waited = error.message if "waited_s" in error.detail else ""
            self.usage.check(waited, owed=self.owed, is_late=self.owed)
            raise
