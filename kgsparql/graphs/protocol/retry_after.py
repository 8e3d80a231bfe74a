"""How long a server wants to be left alone: the header ``Retry-After``, in seconds or as a date."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST_S", "in_words", "retry_after_s"]

LONGEST_S = 86_400.0
"""A server that names a longer time, or one too far away to count, means this."""
_BETWEEN = re.compile(r",(?!\s*\d{1,2}[ -][A-Za-z])")
"""A comma between two values, not the one in a date."""
_SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?")
_READ = 1_000


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait; ``None`` if it says nothing, or nothing that can be meant.

    A date is compared with the server's own, where it sends one: clocks differ, and ours may jump. Of several values,
    which a server and a proxy before it may send, the greatest counts.

    >>> retry_after_s({"retry-after": "7"}), retry_after_s({"retry-after": "-1"}), retry_after_s({})
    (7.0, None, None)
    >>> retry_after_s({"retry-after": "1.5"}), retry_after_s({"retry-after": "30, 120"})
    (2.0, 120.0)
    >>> date = "Wed, 21 Oct 2026 07:28:"
    >>> retry_after_s({"retry-after": f"{date}30 GMT", "date": f"{date}00 GMT"})
    30.0
    """
    values = _BETWEEN.split(headers.get("retry-after", "")[:_READ])
    named = [wait_s for value in values if (wait_s := _wait_s(value.strip(), headers)) is not None]
    return max(named, default=None)


def _wait_s(value: str, headers: Mapping[str, str]) -> float | None:
    if _SECONDS.fullmatch(value):
        return float(math.ceil(min(LONGEST_S, float(value))))
    until, now = _seconds(value), _seconds(headers.get("date", ""))
    if until is None:
        return None
    return min(LONGEST_S, max(0.0, until - (time.time() if now is None else now)))


def _seconds(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def in_words(seconds: float) -> str:
    """A time as a person says it.

    >>> in_words(7), in_words(600), in_words(86400)
    ('7 s', '10 min', '24 h')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{round(seconds / 3600)} h"
