"""A call on a thread of its own, so that its caller can stop waiting at a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

_POLL_S = 0.05

T = TypeVar("T")


class ThreadedCall(Generic[T]):
    """A call that runs on a daemon thread. Its caller can stop waiting at any time; the call itself then goes on.

    A name server, a handshake and a body that drips cannot be interrupted on the thread that waits for them.

    >>> ThreadedCall(lambda: 6 * 7, name="example").result(lambda: 1.0)
    42
    """

    def __init__(self, work: Callable[[], T], *, name: str) -> None:
        self._work = work
        self._future: Future[T] = Future()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self._future.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._future.set_exception(error)

    def result(self, seconds_left: Callable[[], float]) -> T:
        """What the call returns, or raises.

        :param seconds_left: until the deadline. It is called again and again while the call runs, and ends the waiting
            by raising an error.
        """
        while not wait([self._future], max(0.0, min(_POLL_S, seconds_left()))).done:
            pass
        return self._future.result()
