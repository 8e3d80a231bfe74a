"""Network failures in one form for endpoints and models, and the header by which a server asks to wait."""

from __future__ import annotations

import math
import re
import socket
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias

from kgsparql.rdf.terms import printable

Failure: TypeAlias = Literal["unreachable", "no reply", "late", "cut", "badly packed", "too large"]

LONGEST_S = 86_400.0
"""An endpoint that asks for more, or for a time too far away to count, is taken to mean this."""
_SHOWN = 200
_NETWORK_HINT = "check the URL and the network"
_PLAIN_HINT = "is it http:// and not https://, or another port?"
_NOT_TLS = re.compile(r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|HTTP_REQUEST|UNKNOWN_PROTOCOL")
"""OpenSSL's names for a reply that is not TLS."""
_COMMA_BETWEEN_VALUES = re.compile(r",(?!\s*\d{1,2}[ -][A-Za-z])")
"""Not the comma in a date."""
_SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?")
_HEADER_CHARACTERS = 1_000


class NetworkError(Exception):
    """A request that got no whole reply.

    :ivar kind: ``no reply`` is a connection that ended after the request was sent; ``late`` is our own deadline.
    :ivar may_pass: nothing was sent, and another try may succeed.
    :ivar is_connected: there was a connection, whatever came of it.
    """

    def __init__(
        self, kind: Failure, message: str = "", hint: str = "", *, may_pass: bool = False, is_connected: bool = False
    ) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message
        self.hint = hint or "is the server running, and is this its URL?"
        self.may_pass, self.is_connected = may_pass, is_connected


def failure_of(error: BaseException, *, is_connected: bool, is_sent: bool, has_reply: bool) -> NetworkError:
    """Tell what an error of the network, or of urllib3, means for a request that came so far.

    >>> refused = ConnectionRefusedError(111, "Connection refused")
    >>> failure = failure_of(refused, is_connected=False, is_sent=False, has_reply=False)
    >>> failure.kind, failure.message, failure.may_pass
    ('unreachable', 'no connection: Connection refused', True)
    """
    import ssl

    from urllib3.exceptions import DecodeError, ReadTimeoutError  # 66 ms that a graph in files need not wait for

    if isinstance(error, DecodeError):
        return NetworkError("badly packed", "not packed as it says", "is there a proxy between?")
    inmost = error
    while (inner := inmost.__cause__ or inmost.__context__) is not None and inner is not inmost:
        inmost = inner
    reason = printable(str(getattr(inmost, "strerror", None) or inmost), _SHOWN)
    is_late = isinstance(inmost, TimeoutError)
    if is_connected and is_late:
        return NetworkError("late", is_connected=True)
    if has_reply or is_sent:
        kind: Failure = "cut" if has_reply else "no reply"
        return NetworkError(kind, f"no reply: {reason}", is_connected=is_connected)
    message, hint, may_pass = f"no connection: {reason}", "", not is_connected and isinstance(inmost, OSError)
    if is_late and isinstance(error, ReadTimeoutError):  # the connection was accepted, but no TLS hello came
        message, hint, may_pass = "no TLS connection in time: the server may not speak TLS", _PLAIN_HINT, False
    elif is_late:
        message, hint = "no connection in time", _NETWORK_HINT
    elif isinstance(inmost, socket.gaierror):
        message, hint, may_pass = "there is no host of this name", f"{_NETWORK_HINT}, and the spelling", False
    elif isinstance(inmost, ssl.SSLError) and _NOT_TLS.search(str(inmost)):
        message, hint, may_pass = "no TLS connection: the server does not speak TLS there", _PLAIN_HINT, False
    elif isinstance(inmost, ssl.SSLError):
        why = printable(getattr(inmost, "verify_message", "") or reason, _SHOWN)
        message, hint = f"no TLS connection: {why}", "check the URL; SSL_CERT_FILE names certificates to trust"
        may_pass = False
    return NetworkError("unreachable", message, hint, may_pass=may_pass, is_connected=is_connected)


def retry_after_s(headers: Mapping[str, str], *, most_s: float = LONGEST_S) -> float | None:
    """Read how many seconds a server asks to wait, rounded up; ``None`` if it asks for nothing sensible.

    A date is compared with the server's own ``Date`` where it sends one, because clocks differ. A server and a proxy
    before it may each send a value: the greatest counts.

    :param headers: of a reply, names in lower case.
    :param most_s: a longer wait becomes this one; with infinity any finite wait is returned as it is.

    >>> retry_after_s({"retry-after": "7"}), retry_after_s({"retry-after": "-1"}), retry_after_s({})
    (7.0, None, None)
    >>> retry_after_s({"retry-after": "1.5"}), retry_after_s({"retry-after": "30, 120"})
    (2.0, 120.0)
    >>> date = "Wed, 21 Oct 2026 07:28:"
    >>> retry_after_s({"retry-after": f"{date}30 GMT", "date": f"{date}00 GMT"})
    30.0
    """
    values = _COMMA_BETWEEN_VALUES.split(headers.get("retry-after", "")[:_HEADER_CHARACTERS])
    waits_s = [wait_s for value in values if (wait_s := _wait_s(value.strip(), headers)) is not None]
    longest_s = min(most_s, max(waits_s, default=math.inf))
    return longest_s if waits_s and math.isfinite(longest_s) else None


def _wait_s(value: str, headers: Mapping[str, str]) -> float | None:
    if _SECONDS.fullmatch(value):
        seconds = float(value)
        return float(math.ceil(seconds)) if math.isfinite(seconds) else seconds
    until, now = _timestamp_of(value), _timestamp_of(headers.get("date", ""))
    if until is None:
        return None
    return max(0.0, until - (time.time() if now is None else now))


def _timestamp_of(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def in_words(seconds: float) -> str:
    """Write a duration for people.

    >>> in_words(7), in_words(600), in_words(86400)
    ('7 s', '10 min', '24 h')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{round(seconds / 3600)} h"
