"""The time limit of a question, for a graph that is asked on its behalf."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kgsparql.budget import Usage
from kgsparql.errors import CancelledError, EndpointTimeoutError


@dataclass(frozen=True, slots=True)
class QuestionDeadline:
    """How long queries for a question may still take.

    :param usage: of the question: its time, and whether it was stopped.
    :param in_grace: as for :meth:`InTime.within`.
    :param most_s: seconds for each query; ``None`` for no limit of its own.
    """

    usage: Usage
    in_grace: bool = False
    most_s: float | None = None

    @property
    def cancel(self) -> threading.Event:
        """Set when the question is stopped."""
        return self.usage.cancel

    def left_s(self) -> float | None:
        """Seconds that are left; ``None`` if there is no limit.

        :raises CancelledError: if the question was stopped.
        :raises BudgetExceededError: if its time is over.
        """
        if self.cancel.is_set():
            raise CancelledError("stopped")
        left_s = self.usage.grace_s if self.in_grace else self.usage.seconds_left
        if left_s == 0:
            self.usage.check(in_grace=self.in_grace)
        return min((limit for limit in (left_s, self.most_s) if limit is not None), default=None)

    @contextmanager
    def timeouts_as_budget(self) -> Iterator[None]:
        """Turns a timeout of a query into the end of the question's time, if that is over.

        :raises BudgetExceededError: if it is.
        """
        try:
            yield
        except EndpointTimeoutError as error:
            waited = error.message if "waited_s" in error.detail else ""
            self.usage.check(waited, in_grace=self.in_grace, is_late=self.in_grace)
            raise
