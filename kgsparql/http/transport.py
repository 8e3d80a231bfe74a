"""The one way to a server, for endpoints and models: requests with a deadline and a limit of bytes, and their failures.

A transport is any function of an :class:`HttpRequest` that returns an :class:`HttpReply`; tests pass their own.
"""

from __future__ import annotations

import json
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.errors import CancelledError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from http.client import HTTPConnection

Failure = Literal["unreachable", "no reply", "late", "cut", "badly packed", "too large"]

REACH_S = 8.0  # seconds for name server, connection and TLS handshake together
ERROR_BYTES = 2**17  # of the body of an error no more is read
LONGEST_S = 3_600.0  # a server that asks for a longer wait is asked again after this
_POLL_S = 0.05
_NETWORK_HINT = "check the URL and the network"

T = TypeVar("T")


class NetworkError(Exception):
    """A request that got no whole reply.

    :ivar kind: ``no reply`` is a connection that ended after the request was sent; ``late`` is our own deadline.
    :ivar may_pass: nothing was sent, and another try may succeed.
    """

    def __init__(
        self, kind: Failure, message: str = "", hint: str = "", *, may_pass: bool = False, is_connected: bool = True
    ) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message
        self.hint = hint or "is the server running, and is this its URL?"
        self.may_pass, self.is_connected = may_pass, is_connected


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
    connection: HTTPConnection | None = field(default=None, repr=False)
    is_connected: bool = False
    is_fresh: bool = True
    is_sent: bool = False
    has_reply: bool = False
    is_abandoned: bool = False

    def abandon(self) -> None:
        """Shut its connection down, which wakes the thread that waits for bytes, and tells the server."""
        self.is_abandoned = True
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                # Closing it would leave the other thread waiting, and the server too. TLS says no goodbye.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


@frozen
class HttpReply:
    """A whole reply, unpacked; the names of its headers are in lower case.

    :param is_kept: it was kept, and is what the server said before.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    seconds: float = 0.0
    is_kept: bool = False


Transport = Callable[[HttpRequest], HttpReply]


def send(transport: Transport, request: HttpRequest) -> HttpReply:
    """Send a request on a thread of its own, and wait for the reply until the deadline."""
    began = time.monotonic()

    def seconds_left() -> float:
        now = time.monotonic()
        if request.cancel is not None and request.cancel.is_set():
            raise CancelledError("stopped while a server was asked")
        if now >= request.deadline:
            raise NetworkError("late")
        if not request.is_connected and now >= began + REACH_S:
            raise NetworkError("unreachable", f"no connection within {REACH_S:g} s", _NETWORK_HINT, is_connected=False)
        return request.deadline - now

    seconds_left()
    call = ThreadedCall(partial(_answer_once, transport, request), name="kgsparql request")
    try:
        return replace(call.result(seconds_left), seconds=time.monotonic() - began)
    except BaseException:  # Ctrl-C too: nobody wants the reply any more
        request.abandon()
        raise


def _answer_once(transport: Transport, request: HttpRequest) -> HttpReply:
    try:
        reply = transport(request)
    except NetworkError:
        raise
    except Exception as error:
        raise _failure_of(error, request) from error
    if len(reply.body) > request.max_bytes:
        raise NetworkError("too large")
    return reply


def _failure_of(error: BaseException, request: HttpRequest) -> NetworkError:
    """Tell what an error of the network, or of urllib3, means for a request that came so far."""
    import ssl

    from urllib3.exceptions import DecodeError  # 66 ms that a graph in files need not wait for

    if isinstance(error, DecodeError):
        return NetworkError("badly packed", "not packed as it says", "is there a proxy between?")
    inmost = error
    while (inner := inmost.__cause__ or inmost.__context__) is not None and inner is not inmost:
        inmost = inner
    is_late, is_connected = isinstance(inmost, TimeoutError), request.is_connected
    reason = getattr(inmost, "verify_message", "") or getattr(inmost, "strerror", None) or str(inmost)
    reason = "not in time" if is_late else printable(reason, 200)
    if is_connected and is_late:
        return NetworkError("late")
    if request.has_reply or request.is_sent:
        kind: Failure = "cut" if request.has_reply else "no reply"
        return NetworkError(kind, f"no reply: {reason}", is_connected=is_connected)
    hint, may_pass = _NETWORK_HINT if is_late else "", not is_connected and isinstance(inmost, OSError)
    if isinstance(inmost, socket.gaierror):
        reason, may_pass = f"there is no host of this name ({reason})", False
    elif isinstance(inmost, ssl.SSLError) or (is_late and "handshake" in str(inmost)):
        hint = "is it http:// and not https://, or another port? SSL_CERT_FILE names certificates to trust"
        reason, may_pass = f"TLS: {reason}", False
    return NetworkError("unreachable", f"no connection: {reason}", hint, may_pass=may_pass, is_connected=is_connected)


class ThreadedCall(Generic[T]):
    """A call on a daemon thread, whose caller can stop waiting at any time; the call itself then goes on.

    A name server, a handshake and a body that drips cannot be interrupted on the thread that waits for them.
    """

    def __init__(self, work: Callable[[], T], *, name: str) -> None:
        self._work = work
        self._future: Future[T] = Future()
        threading.Thread(target=self._run_work, name=name, daemon=True).start()

    def _run_work(self) -> None:
        try:
            self._future.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._future.set_exception(error)

    def result(self, seconds_left: Callable[[], float]) -> T:
        """Wait for what the call returns, or raises.

        :param seconds_left: called again and again meanwhile; it ends the waiting by raising an error.
        """
        while not wait([self._future], max(0.0, min(_POLL_S, seconds_left()))).done:
            pass
        return self._future.result()


def media_type(headers: Mapping[str, str]) -> str:
    """Read the type of what is sent, in lower case and without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def retry_after_s(headers: Mapping[str, str], *, most_s: float = LONGEST_S) -> float | None:
    """Read how many seconds a server asks to wait, rounded up; ``None`` if it asks for nothing sensible.

    A date is compared with the server's own ``Date`` where it sends one, because clocks differ. Of several values, as
    a proxy may add one, the greatest counts.

    :param headers: of a reply, names in lower case.
    :param most_s: a longer wait becomes this one.

    >>> retry_after_s({"retry-after": "1.5"}), retry_after_s({"retry-after": "30, 120"}), retry_after_s({})
    (2.0, 120.0, None)
    >>> date = "Wed, 21 Oct 2026 07:28:"
    >>> retry_after_s({"retry-after": f"{date}30 GMT", "date": f"{date}00 GMT"})
    30.0
    """
    value = headers.get("retry-after", "")[:1_000].strip()
    waits_s = [float(part) for part in value.split(",") if re.fullmatch(r"\s*\d+(\.\d*)?\s*", part, re.ASCII)]
    if waits_s:
        wait_s = min(most_s, max(waits_s))
        return float(math.ceil(wait_s)) if math.isfinite(wait_s) else None
    until, now = _timestamp_of(value), _timestamp_of(headers.get("date", ""))
    return None if until is None else min(most_s, max(0.0, until - (time.time() if now is None else now)))


def _timestamp_of(date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # a hundredth of the time of a command

    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


_MESSAGES = (
    "error", "errors", "fault", "exception", "message", "detail", "details", "reason", "msg", "error_description",
    "description", "faultstring", "title",
)  # fmt: skip
"""Members of an error in JSON, those that hold the others first; in any case."""


def message_in(text: str) -> str:
    """Find a server's own words in an error that is written as JSON; all of another text.

    >>> message_in('{"code": 500, "error": {"message": "heap space"}}'), message_in('{"detail": [{"msg": "no model"}]}')
    ('heap space', 'no model')
    >>> message_in('{"status": "ERROR", "exception": "line 1: no viable input"}'), message_in("Try later")
    ('line 1: no viable input', 'Try later')
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _said_in(value) or text


def _said_in(value: object, depth: int = 8) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and depth:
        return next(filter(None, (_said_in(one, depth - 1) for one in value[:8])), "")
    if isinstance(value, dict) and depth:
        members = {str(name).casefold(): member for name, member in value.items()}
        return next(filter(None, (_said_in(members.get(name), depth - 1) for name in _MESSAGES)), "")
    return ""


def in_words(seconds: float) -> str:
    """Write a duration for people."""
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{round(seconds / 3600)} h"
