"""One member of several graphs being asked, and how it may fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kgsparql.errors import (
    GRAPH_FAILED,
    CancelledError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
)
from kgsparql.graphs.protocols import OpenedGraph

__all__ = ["Call", "Failure", "is_survivable", "left_s"]

_POLL_S = 0.05
_STRIKES = 3
"""Queries that a member may fail at, one after the other, before it is not asked again; one that is not there, once."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Failure:
    """How a member failed last, and how often it has."""

    error: KgsparqlError
    strikes: int

    @property
    def is_final(self) -> bool:
        """Whether it is not worth asking again; a query that it could not run may just have been too much for it."""
        is_heavy = isinstance(self.error, EndpointTimeoutError | QueryError)
        return self.strikes >= (_STRIKES if is_heavy else 1)


def is_survivable(error: BaseException, deadline: float | None) -> bool:
    """Whether a question goes on without the member that had this; not when it was the question's own time."""
    if isinstance(error, EndpointTimeoutError) and deadline is not None and time.monotonic() >= deadline:
        return False
    return isinstance(error, GRAPH_FAILED) and not isinstance(error, QuerySyntaxError)


def left_s(deadline: float | None) -> float | None:
    """Seconds until a deadline, if there is one."""
    return None if deadline is None else max(0.001, deadline - time.monotonic())


@dataclass(slots=True)
class Call(Generic[_T]):
    """A member being asked, on a thread of its own if :meth:`start` begins it."""

    ask: Callable[[OpenedGraph, threading.Event | None], _T]
    member: OpenedGraph
    cancel: threading.Event | None
    result: list[_T] = field(default_factory=list)
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin on another thread, which nobody waits for when Python ends."""
        threading.Thread(target=self.run, name="kgsparql member", daemon=True).start()

    def run(self) -> None:
        """Ask, and keep what came of it."""
        try:
            self.result.append(self.ask(self.member, self.cancel))
        except BaseException as error:  # noqa: BLE001 - raised, or told, where it is waited for
            self.error = error
        self.done.set()

    def wait(self) -> BaseException | None:
        """The error, if there was one, once it has replied.

        :raises CancelledError: if the question is stopped meanwhile.
        """
        while not self.done.wait(_POLL_S):
            if self.cancel is not None and self.cancel.is_set():
                raise CancelledError("stopped")
        return self.error
