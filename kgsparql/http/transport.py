"""The one way to a server, for endpoints and models: a thread, a total deadline, and a limit of bytes for each request.

A transport is any function of an :class:`HttpRequest` that returns an :class:`HttpReply`; tests pass their own.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from kgsparql.errors import CancelledError
from kgsparql.http.failures import NetworkError, failure_of

if TYPE_CHECKING:
    from http.client import HTTPConnection

REACH_S = 8.0
"""Seconds for name server, connection and TLS handshake together."""
ERROR_BYTES = 2**17
"""Of the body of an error no more is read."""
_POLL_S = 0.05

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class HttpRequest:
    """A request on its way, and how far it came.

    :param deadline: for the whole of it, from the name server to the last byte, as ``time.monotonic`` tells it.
    :param max_bytes: of the reply when it is unpacked.
    :param may_repeat: it may be sent twice, where a server closed the connection without a word.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    deadline: float = math.inf
    max_bytes: int = 2**26
    cancel: threading.Event | None = None
    may_repeat: bool = False
    connection: HTTPConnection | None = field(default=None, init=False, repr=False)
    is_connected: bool = field(default=False, init=False)
    is_fresh: bool = field(default=True, init=False)
    is_sent: bool = field(default=False, init=False)
    has_reply: bool = field(default=False, init=False)
    is_abandoned: bool = field(default=False, init=False)

    def abandon(self) -> None:
        """Shut its connection down, which wakes the thread that waits for bytes, and tells the server."""
        self.is_abandoned = True
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                # Closing it would leave the other thread waiting, and the server too. TLS says no goodbye.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A whole reply, unpacked.

    :param headers: their names in lower case.
    :param seconds: from the request to the last byte.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    seconds: float = 0.0


Transport: TypeAlias = Callable[[HttpRequest], HttpReply]


def send(transport: Transport, request: HttpRequest) -> HttpReply:
    """Send a request on a thread of its own, and wait for the reply until the deadline.

    :raises NetworkError: if no whole reply came in time.
    :raises CancelledError: if the request's ``cancel`` is set meanwhile.
    """
    began = time.monotonic()

    def seconds_left() -> float:
        now = time.monotonic()
        if request.cancel is not None and request.cancel.is_set():
            raise CancelledError("stopped while a server was asked")
        if now >= request.deadline:
            raise NetworkError("late", is_connected=True)
        if not request.is_connected and now >= began + REACH_S:
            raise NetworkError("unreachable", f"no connection within {REACH_S:g} s", "check the URL and the network")
        return request.deadline - now

    seconds_left()
    call = ThreadedCall(partial(_answer, transport, request), name="kgsparql request")
    try:
        return replace(call.result(seconds_left), seconds=time.monotonic() - began)
    except BaseException:  # Ctrl-C too: nobody wants the reply any more
        request.abandon()
        raise


def _answer(transport: Transport, request: HttpRequest) -> HttpReply:
    try:
        reply = transport(request)
    except NetworkError:
        raise
    except Exception as error:
        raise failure_of(
            error, is_connected=request.is_connected, is_sent=request.is_sent, has_reply=request.has_reply
        ) from error
    if len(reply.body) > request.max_bytes:
        raise NetworkError("too large", is_connected=True)
    return reply


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
        """Wait for what the call returns, or raises.

        :param seconds_left: until the deadline. It is called again and again while the call runs, and ends the waiting
            by raising an error.
        """
        while not wait([self._future], max(0.0, min(_POLL_S, seconds_left()))).done:
            pass
        return self._future.result()
