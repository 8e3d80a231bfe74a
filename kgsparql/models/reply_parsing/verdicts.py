"""Replies that are one word or one number: yes or no, and quantities."""

from __future__ import annotations

import math
import re
from typing import Any

from kgsparql.models.reply_parsing.cleaning import body_of, by_lower_name, plain_text, scan

# Not the "no" of "no-one", nor that of "No. 5".
_VERDICT = re.compile(r"(?<![\w'’-])(?:(yes|true)|(no|false)(?!\.?\s?\d))(?![\w]|[-'’]\w)", re.IGNORECASE)
_GROUPED = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])",  # 1,234,567.8
    r"\d{1,3}(?:\.\d{3})+,\d+(?![\d,.])",  # 1.234,5
    r"\d{1,3}(?:\.\d{3}){2,}(?![\d.])",  # 1.234.567
    r"\d{1,3}(?:[ '’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?(?!\d)",  # 1 234 567,8
    r"\d+,\d+(?![\d,])",  # 12,5
    r"(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,4})?",
)
_QUANTITY = re.compile(
    rf"(?<![\w.,:/−–-])(?P<sign>[-+−–]\s?(?=[\d.$€£]))?(?:[$€£]\s?)?(?P<number>{'|'.join(_GROUPED)})"
    rf"(?P<unit>\s?(?:thousand|million|billion|trillion)\b)?"
    rf"(?!st\b|nd\b|rd\b|th\b|s\b|\d|[.,:/−–-]\d)",
    re.IGNORECASE,
)
_UNITS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_CITATION = re.compile(r"\[[^\[\]]{0,40}\]")
_ANSWER = re.compile(r"\banswer\b\W{0,3}(?:is|=|:)[\s*_:$]{0,6}", re.IGNORECASE)


def truth_of(value: Any) -> bool | None:
    """Yes or no, of a JSON value.

    >>> [truth_of(value) for value in (True, "no", 1, "maybe", ["yes"])]
    [True, False, True, None, None]
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in {0, 1} else None
    verdict = _VERDICT.search(value) if isinstance(value, str) else None
    return None if verdict is None else verdict.group(1) is not None


def quantity(text: str) -> float | None:
    """The number that a reply answers with, without its unit: in JSON, after "answer is", or the only one.

    Thousands may be separated by commas, points, or spaces; ``40%`` is 40, ``3 million`` is 3,000,000. ``None`` if
    there is no number, or several and none that is said to be the answer.

    :raises ModelReplyError: if the reply is too long (``E_LIMIT``).

    >>> [quantity(reply) for reply in ("It is 1,234.5 km.", "-40 %", '{"answer": "1 234"}', "In 1998 there were 3.")]
    [1234.5, -40.0, 1234.0, None]
    """
    body = body_of(text)
    best = scan(body).best
    if best is not None and isinstance(best.value, dict):
        lower = by_lower_name(best.value)
        member = next((lower[key] for key in ("answer", "value", "number", "result") if key in lower), None)
        if isinstance(member, int | float) and not isinstance(member, bool):
            return _finite(member)
        return _quantity_of_text(member) if isinstance(member, str) else None
    return _quantity_of_text(plain_text(body))


def _quantity_of_text(text: str) -> float | None:
    text = _CITATION.sub(" ", text) if not _CITATION.fullmatch(text.strip()) else text
    answer = _ANSWER.search(text)
    if answer is not None and (match := _QUANTITY.match(text, answer.end())):
        return _as_float(match)
    found = {_as_float(match) for match in _QUANTITY.finditer(text)}
    return found.pop() if len(found) == 1 else None


def _as_float(match: re.Match[str]) -> float | None:
    number = re.sub(r"[ '’\u00a0\u2009\u202f]", "", match.group("number"))
    comma, point = number.rfind(","), number.rfind(".")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    elif comma > point:
        number = number.replace(".", "").replace(",", ".")
    elif number.count(".") > 1:
        number = number.replace(".", "")
    value = float(number) * _UNITS.get((match.group("unit") or "").strip().casefold(), 1.0)
    sign = (match.group("sign") or "+").strip()
    return _finite(value if sign == "+" else -value)


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
