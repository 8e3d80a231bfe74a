"""Scores in a reply, and names of candidates."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

_VALUE = (
    r"[-+−]?(?:\d{1,30}(?:[.,]\d{1,30})?|[.,]\d{1,30})(?:[eE][-+]?\d{1,4})?(?:\s?%|\s?/\s?\d{1,9}(?:[.,]\d{1,9})?)?"
)
# Without the word for it, only what looks like a score is one: a label may end in (1998).
_SHARE = r"(?:[01]?[.,]\d{1,30}|[01]|\d{1,3}(?:[.,]\d{1,9})?\s?%|\d{1,3}(?:[.,]\d{1,9})?\s?/\s?\d{1,3})"
_NAMED = re.compile(
    rf"[(\[{{]?\s*\b(?:score|relevance|confidence|probability)\b[*_]*\s*(?::|=|is\b|of\b)?[*_]*\s*"
    rf"(?P<value>{_VALUE}|(?<=[:=])\s?[a-z]{{1,20}}|(?<=[:=]\s)[a-z]{{1,20}})[*_]*\s*[)\]}}]?",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    rf"(?:[(\[]\s?(?P<inside>{_SHARE})\s?[)\]]|(?:^|[:=|,]\s?|\s[-–—]\s)(?P<after>{_SHARE}))\s?[.;,*]{{0,3}}$"
)
_NUMBER = re.compile(rf"{_VALUE}")
_MARKS = " \t\r\n\"'“”‘’„«»`*{}<>"
_BEFORE_NAME = re.compile(r"[/#:.](?=\S)")
_MAX_NAME = 1000


def without_marks(text: str) -> str:
    """The text without the quotes, braces and emphasis around it.

    >>> without_marks("**{capital of}**")
    'capital of'
    """
    return text.strip(_MARKS)


def score_of(value: Any) -> float | None:
    """A score, clipped to 0 … 1; ``None`` for anything else.

    >>> [score_of(value) for value in (0.4, "0,4", "40%", "9/10", 1e9, "-1", "NaN", "high", None)]
    [0.4, 0.4, 0.4, 0.9, 1.0, 0.0, None, None, None]
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    number = _as_float(value) if isinstance(value, str) else value
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return None
    return float(min(max(number, 0), 1))


def _as_float(text: str) -> float | None:
    bare = text.strip(_MARKS + "()[]").replace("−", "-")
    if len(bare) > 100 or not _NUMBER.fullmatch(bare):
        return None
    share, _, whole = bare.replace(",", ".").removesuffix("%").partition("/")
    divisor = float(whole) if whole else 100.0 if bare.endswith("%") else 1.0
    return float(share) / divisor if divisor else None


def split_score(text: str) -> tuple[str, str | None]:
    """A text without its score, and the score in it or behind it, as it is written.

    >>> split_score("capital of (Score: 0.4)"), split_score("capital of: 40%"), split_score("World Cup (1998)")
    (('capital of', '0.4'), ('capital of', '40%'), ('World Cup (1998)', None))
    """
    if len(text) > _MAX_NAME:
        return text, None
    if spelled_out := list(_NAMED.finditer(text)):
        named = spelled_out[-1]
        return text[: named.start()].strip(" \t-–—:|,;"), named.group("value").strip()
    text = text.rstrip()
    trailing = _TRAILING.search(text)
    if trailing is None:
        return text, None
    return text[: trailing.start()].rstrip(" \t-–—:=|,"), trailing.group("inside") or trailing.group("after")


class Names:
    """The names of numbered candidates; case, underscores, quotes and braces do not matter.

    >>> names = Names(["capital of", "capital", "part of", "part_of"])
    >>> names.numbers("wiki.relation.Capital_of"), names.numbers("part of"), names.numbers("capitals")
    ((1,), (3, 4), ())
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._numbers: dict[str, tuple[int, ...]] = {}
        for number, name in enumerate(names, 1):
            if key := _key(name):
                self._numbers[key] = (*self._numbers.get(key, ()), number)
        self._keys = [_key(name) for name in names]

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def numbers(self, text: str) -> tuple[int, ...]:
        """The candidates of this name, which may follow a namespace; of the longest name that fits."""
        if len(text) > _MAX_NAME:
            return ()
        key = _key(text)
        if key in self._numbers or not key:
            return self._numbers.get(key, ())
        space = key.find(" ")
        for separator in list(_BEFORE_NAME.finditer(key))[:20]:
            if 0 <= space < separator.start():
                break
            if found := self._numbers.get(key[separator.end() :]):
                return found
        return ()

    def mentions(self, text: str, number: int) -> bool:
        """Whether the text contains the name of this candidate, as whole words."""
        key = self._keys[number - 1] if number <= len(self._keys) else ""
        return bool(key) and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", _key(text[:_MAX_NAME])) is not None


def _key(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").split()).strip(_MARKS).rstrip(".,;:").strip(_MARKS)
