"""The order in which a person would list names and values, and which of many to show."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgsparql.linking.answer_type import content_stems

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:[.,]\d+)?")
_FLOAT = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MINUS = re.compile(r"[-−](?=\d)")
_MOSTLY = 0.8  # names of which so many begin with a number are values: the least and the greatest are of interest

NaturalKey = tuple[tuple[int, float, str], ...]


def natural_key(text: str) -> NaturalKey:
    """The key that names are sorted by: numbers in them count by their value, letters without regard to capitals.

    >>> sorted(["10", "9.5", "Part 12", "part 2", "-3", "1,200", "0,19 EUR", "2015-03-01"], key=natural_key)
    ['-3', '0,19 EUR', '9.5', '10', '1,200', '2015-03-01', 'part 2', 'Part 12']
    """
    if _FLOAT.fullmatch(text):
        return ((0, float(text), ""),)
    sign = -1.0 if _MINUS.match(text) else 1.0
    key: list[tuple[int, float, str]] = []
    at = 0
    for found in _NUMBER.finditer(text):
        between = text[at : found.start()].casefold()
        if between and not (at == 0 and sign < 0 and found.start() == 1):
            key.append((1, 0.0, between))
        key.append((0, (sign if not key else 1.0) * _value(found[0]), ""))
        at = found.end()
    rest = text[at:].casefold()
    return (*key, (1, 0.0, rest)) if rest else tuple(key)


def _value(number: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        return float(number.replace(",", ""))
    return float(number.replace(",", "."))


def first_to_show(names: Sequence[str], question: str, at_most: int) -> list[int]:
    """The places of the names to show where there are too many, in order: named ones, extremes, then the first.

    A name that has more words of the question than others is one that the question may name.

    :param names: in natural order.

    >>> first_to_show([str(number) for number in range(100)], "the highest?", 6)
    [0, 1, 2, 97, 98, 99]
    >>> first_to_show(["Ann", "Ben", "Cas", "Dan Ott"], "did he meet Dan Ott?", 2)
    [0, 3]
    """
    if len(names) <= at_most:
        return list(range(len(names)))
    wanted = content_stems(question)
    shared = [len(wanted & content_stems(name)) if wanted else 0 for name in names]
    least = min(shared)
    named = sorted((i for i, count in enumerate(shared) if count > least), key=lambda i: -shared[i])
    kept = dict.fromkeys(named[: max(1, at_most // 2)])
    keys = [natural_key(name)[:1] for name in names]
    if sum(1 for key in keys if key and key[0][0] == 0) >= _MOSTLY * len(names):
        half = max(0, at_most - len(kept)) // 2
        kept |= dict.fromkeys((*range(half), *range(len(names) - half, len(names))))
    for i in range(len(names)):
        if len(kept) >= at_most:
            break
        kept[i] = None
    return sorted(kept)
