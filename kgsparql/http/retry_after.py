"""The header ``Retry-After``: how long a server asks to wait, in seconds or as a date."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

LONGEST_S = 86_400.0
"""An endpoint that asks for more, or for a time too far away to count, is taken to mean this."""
_BETWEEN = re.compile(r",(?!\s*\d{1,2}[ -][A-Za-z])")
"""A comma between two values, not the one in a date."""
_SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?")
_READ = 1_000
"""Characters of the header that are read."""


def retry_after_s(headers: Mapping[str, str], *, most_s: float = LONGEST_S) -> float | None:
    """The seconds that a server asks to wait, rounded up; ``None`` if it asks for nothing, or for nothing sensible.

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
    values = _BETWEEN.split(headers.get("retry-after", "")[:_READ])
    waits_s = [wait_s for value in values if (wait_s := _wait_s(value.strip(), headers)) is not None]
    longest_s = min(most_s, max(waits_s, default=math.inf))
    return longest_s if waits_s and math.isfinite(longest_s) else None


def _wait_s(value: str, headers: Mapping[str, str]) -> float | None:
    if _SECONDS.fullmatch(value):
        seconds = float(value)
        return float(math.ceil(seconds)) if math.isfinite(seconds) else seconds
    until, now = _seconds(value), _seconds(headers.get("date", ""))
    if until is None:
        return None
    return max(0.0, until - (time.time() if now is None else now))


def _seconds(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def in_words(seconds: float) -> str:
    """A duration for people.

    >>> in_words(7), in_words(600), in_words(86400)
    ('7 s', '10 min', '24 h')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{round(seconds / 3600)} h"
