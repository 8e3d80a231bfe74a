"""Choices from a numbered list: the numbers a model chose, and the scores it gave them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kgsparql.replies._cleaning import body_of, empty_reply, plain_text, scanned
from kgsparql.replies._lists import Item, item_of_text, items_of_text, says_none
from kgsparql.replies._readings import Names, score_of
from kgsparql.replies._scanner import Found, Scan

__all__ = ["Numbers", "numbers", "whole_number"]

_NUMBER_KEYS = ("n", "number", "index", "id", "no", "num", "#", "choice", "candidate")
_NAME_KEYS = ("name", "label", "relation", "predicate", "entity", "text")
_SCORE_KEYS = ("score", "relevance", "confidence", "probability", "weight", "rating")
_LIST_KEYS = (
    "choices", "numbers", "selected", "selection", "chosen", "relations", "entities", "candidates", "items",
    "results", "result", "answer", "ids", "indices", "list", *_NUMBER_KEYS,
)  # fmt: skip
_DIGITS = re.compile(r"[\s#(\[\"'*]*(-?\d{1,9})(?:\.0+)?[\s)\].,:;\"'*]*")
_BETWEEN = re.compile(r"[\s,;`*•-]*(?:\d{1,4}[.)])?\s*")
_LEADING = re.compile(r"(?:\b(?:is|are|choose|chose)|[:=])[\s*`\"]*\Z", re.IGNORECASE)
_CLAUSE_END = ' \t\r.,;`*"'


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was chosen from a list.

    :param numbers: those that are on the list, each once, in the order of the reply.
    :param scores: of those numbers that were given one that can be read; between 0 and 1.
    :param dropped: how much was not: choices not on the list, repeated, of a name that several candidates have, or
        unreadable, scores that are none, the end of a reply that breaks off; 1 for a reply that chooses nothing and
        does not say so.
    """

    numbers: tuple[int, ...]
    scores: dict[int, float]
    dropped: int


def numbers(text: str, *, count: int, names: Sequence[str] = ()) -> Numbers:
    r"""Read choices from a list that is numbered from 1 to ``count``.

    :param names: what the candidates are called, in their order; understood where a model writes no number, if one
        candidate alone has exactly this name.
    :raises ModelReplyError: if there is no reply (``E_LLM_EMPTY``), or it is too long (``E_LIMIT``).

    >>> numbers('{"choices": [{"n": 3, "score": 0.8}, {"n": 9, "score": 0.5}]}', count=4)
    Numbers(numbers=(3,), scores={3: 0.8}, dropped=1)
    >>> numbers("1. child (Score: 40%)\n2. capital of (Score: 0.6)", count=3, names=["spouse", "child", "capital of"])
    Numbers(numbers=(2, 3), scores={2: 0.4, 3: 0.6}, dropped=0)
    >>> numbers("In 1998 there were 3 of them.", count=4)
    Numbers(numbers=(), scores={}, dropped=1)
    """
    body = body_of(text)
    if not body.strip():
        raise empty_reply()
    by_name = Names(names)
    scan = scanned(body)
    found = _trusted(scan)
    if found is None and not scan.damaged and all(one.whole for one in scan.found):
        plain = plain_text(body)
        if items := items_of_text(plain, by_name):
            return _settled(items, count, by_name)
        if says_none(plain):
            return Numbers((), {}, 0)
    found = found or _in_prose(scan)
    if found is None:
        return Numbers((), {}, 1)
    items = [item for one in found for item in _items(one.value, by_name)]
    cut = sum(not one.whole for one in found)
    return _settled(items, count, by_name, dropped=cut)


def _trusted(scan: Scan) -> list[Found] | None:
    """The JSON that is certainly the answer: objects, and arrays on lines of their own."""
    best = scan.best
    if best is None:
        return None
    run = _run(scan, best)
    if best.rank == 2:
        return run
    start = scan.text[: run[0].start].rpartition("\n")[2].rstrip(_CLAUSE_END)
    end = scan.text[run[-1].end :].partition("\n")[0].strip(_CLAUSE_END)
    return run if not end and (not start or start.endswith(":")) else None


def _run(scan: Scan, best: Found) -> list[Found]:
    """The one that counts, and those right before it, if each of them is a single choice: JSON lines."""
    found = [one for one in scan.found if one.start <= best.start]
    run = [found.pop()]
    while found and _is_single(found[-1].value) and _is_single(run[0].value):
        if not _BETWEEN.fullmatch(scan.text, found[-1].end, run[0].start):
            break
        run.insert(0, found.pop())
    return run


def _is_single(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 1 and not isinstance(value[0], dict | list)
    return _under(value, _NUMBER_KEYS) is not None or _under(value, _NAME_KEYS) is not None


def _in_prose(scan: Scan) -> list[Found] | None:
    """An array within a sentence that leads to it; others, or one of several different ones, may cite."""
    if not scan.found or any(one.value != scan.found[0].value for one in scan.found):
        return None
    found = scan.found[0]
    leads = _LEADING.search(scan.text[max(0, found.start - 20) : found.start])
    return [found] if leads and scan.text[found.end : found.end + 1] != "(" else None


def _items(value: Any, names: Names) -> list[Item | None]:
    for _ in range(4):  # as deep as wrappers go
        if not isinstance(value, dict):
            break
        if (chosen := _of_object(value, names)) is not None:
            return chosen
        value = _inner(value)
    if isinstance(value, list):
        return [_of_member(member, names) for member in value]
    if isinstance(value, str):
        return items_of_text(value, names) or ([] if says_none(value) else [None])
    return [_of_member(value, names)]


def _of_object(value: dict[str, Any], names: Names) -> list[Item | None] | None:
    """A single choice, or a map from numbers or names to scores; ``None`` if it is a wrapper."""
    number = _under(value, _NUMBER_KEYS)
    name = _under(value, _NAME_KEYS)
    if isinstance(number, int | float | str) and (isinstance(number, bool) or not _is_listing(number)):
        read = whole_number(number)
        if read is None and isinstance(number, str) and number.strip():
            return [] if says_none(number) else [item_of_text(number, names)]
        return [None if read is None else Item(read, name if isinstance(name, str) else "", _score(value))]
    if isinstance(name, str) and not any(isinstance(member, list | dict) for member in value.values()):
        item = item_of_text(name, names)
        return [None if item is None else Item(item.number, item.name, _score(value, item.score))]
    keys = [key for key in value if whole_number(key) is not None or names.numbers(key)]
    if not keys:
        return None
    return [_of_entry(key, value[key], names) for key in value if _is_entry(key, value[key], keys)]


def _is_listing(number: Any) -> bool:
    return isinstance(number, str) and ("," in number or ";" in number)


def _is_entry(key: str, value: Any, keys: list[str]) -> bool:
    """Whether a member of a map is a choice; ``{"3": false}`` is none, and neither is a remark."""
    return value is not False and (key in keys or (isinstance(value, int | float) and value is not True))


def _of_entry(key: str, value: Any, names: Names) -> Item | None:
    if isinstance(value, list):
        return None
    score = _score(value) if isinstance(value, dict) else None if value is True else value
    if (number := whole_number(key)) is not None and not names.numbers(key):
        return Item(number, "", score)
    return Item(None, key, score) if names.numbers(key) else None


def _inner(value: dict[str, Any]) -> Any:
    """What a wrapper is around; ``None`` if that is not certain."""
    lower = {key.casefold(): member for key, member in value.items()}
    if "choices" in lower:
        return lower["choices"]
    filled = [member for member in lower.values() if isinstance(member, list | dict)]
    if len(filled) == 1:
        return filled[0]
    known = [lower[key] for key in _LIST_KEYS if key in lower]
    return known[0] if len(known) == 1 and not filled else None


def _of_member(member: Any, names: Names) -> Item | None:
    """One member of a list."""
    if isinstance(member, dict):
        chosen = _of_object(member, names)
        return chosen[0] if chosen is not None and len(chosen) == 1 else None
    if isinstance(member, list):
        if len(member) == 2 and isinstance(member[1], float) and (first := whole_number(member[0])) is not None:
            return Item(first, "", member[1])
        return _of_member(member[0], names) if len(member) == 1 and not isinstance(member[0], list) else None
    if (number := whole_number(member)) is not None:
        return Item(number, member if isinstance(member, str) and names.numbers(member) else "")
    return item_of_text(member, names) if isinstance(member, str) else None


def whole_number(value: Any) -> int | None:
    """A whole number as JSON or a text has it; ``None`` for anything else.

    >>> [whole_number(value) for value in (3, 3.0, "3", "[3]", "3.", "-3", 3.5, True, "3 of 4", None)]
    [3, 3, 3, 3, 3, -3, None, None, None, None]
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else None
    if isinstance(value, str) and len(value) <= 30 and (digits := _DIGITS.fullmatch(value)):
        return int(digits.group(1))
    return None


def _score(value: dict[str, Any], otherwise: Any = None) -> Any:
    found = _under(value, _SCORE_KEYS)
    return otherwise if found is None else found


def _under(value: dict[str, Any], keys: Iterable[str]) -> Any:
    lower = {key.casefold(): member for key, member in value.items()}
    return next((lower[key] for key in keys if lower.get(key) is not None), None)


def _settled(items: Sequence[Item | None], count: int, names: Names, dropped: int = 0) -> Numbers:
    """The choices that are on the list and unambiguous, each once."""
    read = [item for item in items if item is not None]
    dropped += len(items) - len(read)
    by_name = _are_ranks(read, names)
    chosen: dict[int, float | None] = {}
    for item in read:
        number = _decided(item, count, names, by_name=by_name)
        if number is None or number in chosen:
            dropped += 1
            continue
        chosen[number] = score_of(item.score)
        dropped += item.score is not None and chosen[number] is None
    scores = {number: score for number, score in chosen.items() if score is not None}
    return Numbers(tuple(chosen), scores, dropped)


def _are_ranks(items: Sequence[Item], names: Names) -> bool:
    """Whether the numbers only count the lines: 1, 2, 3 …, each before a name of some other candidate."""
    if len(items) < 2 or [item.number for item in items] != list(range(1, len(items) + 1)):
        return False
    found = [names.numbers(item.name) for item in items if item.is_marker]
    return len(found) == len(items) and all(found) and any(i not in own for i, own in enumerate(found, 1))


def _decided(item: Item, count: int, names: Names, *, by_name: bool) -> int | None:
    named = names.numbers(item.name) if item.name else ()
    if item.number is None or by_name:
        return named[0] if len(named) == 1 and named[0] <= count else None
    if not 1 <= item.number <= count or (named and item.number not in named):
        return None  # not on the list, or the name of another one beside it
    return item.number
