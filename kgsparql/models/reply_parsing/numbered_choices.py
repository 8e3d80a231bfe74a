"""Choices from a numbered list: the numbers a model chose, and the scores it gave them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsparql.models.reply_parsing.choices_in_text import (
    ListedChoice,
    Names,
    choice_of_text,
    choices_of_text,
    says_none,
    score_of,
)
from kgsparql.models.reply_parsing.cleaning import JsonSpan, by_lower_name, filled_body_of, plain_text, scan
from kgsparql.rdf.terms import printable

_NUMBER_KEYS = ("n", "number", "index", "id")
_NAME_KEYS = ("name", "label", "relation", "predicate", "entity")
_SCORE_KEYS = ("score", "relevance", "confidence", "probability")
_DIGITS = re.compile(r"[\s#(\[\"'*]*(-?\d{1,9})(?:\.0+)?[\s)\].,:;\"'*]*")
_MAX_SEARCH = 200
_CLAUSE_END = ' \t\r.,;`*"'


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was chosen from a list.

    :param numbers: of the candidates, each once, in the order of the reply.
    :param scores: by number, between 0 and 1; only those that can be read.
    :param dropped: how many parts of the reply were not used: choices that are not on the list, repeated, ambiguous or
        unreadable, unreadable scores, the end of a reply that breaks off, JSON before the one that counts; 1 for a
        reply that chooses nothing and does not say so.
    :param search: a name that the reply asks to be looked up, on one line.
    """

    numbers: tuple[int, ...]
    scores: dict[int, float]
    dropped: int
    search: str = ""


def numbers(text: str, *, count: int, names: Sequence[str] = ()) -> Numbers:
    r"""The choices in a reply, from a list that is numbered from 1 to ``count``.

    :param names: of the candidates, in their order; a name stands for a number if exactly one candidate has it.
    :raises ModelReplyError: if there is no reply (``E_LLM_EMPTY``), or it is too long (``E_LIMIT``).

    >>> numbers('{"choices": [{"n": 3, "score": 0.8}, {"n": 9, "score": 0.5}]}', count=4)
    Numbers(numbers=(3,), scores={3: 0.8}, dropped=1, search='')
    >>> numbers("1. child (Score: 40%)\n2. capital of (Score: 0.6)", count=3, names=["spouse", "child", "capital of"])
    Numbers(numbers=(2, 3), scores={2: 0.4, 3: 0.6}, dropped=0, search='')
    >>> numbers("In 1998 there were 3 of them.", count=4).dropped
    1
    >>> numbers('{"search": "New York City"}', count=4)
    Numbers(numbers=(), scores={}, dropped=0, search='New York City')
    """
    body = filled_body_of(text)
    by_name = Names(names)
    read = scan(body)
    best = read.best
    if best is not None and _is_choice(best, body):
        before = sum(1 for one in read.found if one is not best and one.rank == best.rank)
        chosen = _valid_choices(_choices_of_json(best.value, by_name), count, by_name, before + (not best.whole))
        return replace(chosen, search=_search_of(best.value))
    if not read.damaged and all(one.whole for one in read.found):
        plain = plain_text(body)
        if choices := choices_of_text(plain, by_name):
            return _valid_choices(choices, count, by_name)
        if says_none(plain):
            return Numbers((), {}, 0)
    return Numbers((), {}, 1)


def _is_choice(found: JsonSpan, body: str) -> bool:
    """Whether this JSON is certainly the answer: objects, or an array on lines of its own; others may be citations."""
    start = body[: found.start].rpartition("\n")[2].rstrip(_CLAUSE_END)
    end = body[found.end :].partition("\n")[0].strip(_CLAUSE_END)
    return found.rank == 2 or (not end and (not start or start.endswith(":")))


def _search_of(value: Any) -> str:
    """The name that a reply asks to be looked up; empty if it has none."""
    name = _member(value, ("search",)) if isinstance(value, dict) else None
    return printable(name, _MAX_SEARCH) if isinstance(name, str) and not says_none(name) else ""


def _choices_of_json(value: Any, names: Names) -> list[ListedChoice | None]:
    if isinstance(value, dict):
        chosen = _choices_of_object(value, names)
        if chosen is not None:
            return chosen
        return _choices_of_json(_wrapped_value(value), names)
    if isinstance(value, list):
        return [_choice_of_member(member, names) for member in value]
    if isinstance(value, str):
        return choices_of_text(value, names) or ([] if says_none(value) else [None])
    return [_choice_of_member(value, names)]


def _wrapped_value(value: dict[str, Any]) -> Any:
    """The content of a wrapper: its ``choices``, or its only object or array."""
    if "choices" in value or _search_of(value):
        return value.get("choices", [])
    filled = [member for member in value.values() if isinstance(member, list | dict)]
    return filled[0] if len(filled) == 1 else None


def _choices_of_object(value: dict[str, Any], names: Names) -> list[ListedChoice | None] | None:
    """A single choice, or a map from numbers or names to scores; ``None`` if it is a wrapper."""
    number, name = _member(value, _NUMBER_KEYS), _member(value, _NAME_KEYS)
    score = _member(value, _SCORE_KEYS)
    if number is not None and not isinstance(number, list | dict):
        if (read := whole_number(number)) is not None:
            return [ListedChoice(read, name if isinstance(name, str) else "", score)]
        return [choice_of_text(number, names) if isinstance(number, str) else None]
    if isinstance(name, str):
        choice = choice_of_text(name, names)
        return [choice and ListedChoice(choice.number, choice.name, choice.score if score is None else score)]
    if not any(whole_number(key) is not None or names.numbers(key) for key in value):
        return None
    return [_choice_of_entry(key, member, names) for key, member in value.items()]


def _choice_of_entry(key: str, score: Any, names: Names) -> ListedChoice | None:
    """The choice of a number or name with its score; ``{"3": false}`` and a remark are none."""
    if isinstance(score, bool | list | dict):
        return None
    named = names.numbers(key)
    number = None if named else whole_number(key)
    return ListedChoice(number, key if named else "", score) if named or number is not None else None


def _choice_of_member(member: Any, names: Names) -> ListedChoice | None:
    if isinstance(member, dict):
        chosen = _choices_of_object(member, names)
        return chosen[0] if chosen is not None and len(chosen) == 1 else None
    if (number := whole_number(member)) is not None:
        return ListedChoice(number, member if isinstance(member, str) and names.numbers(member) else "")
    return choice_of_text(member, names) if isinstance(member, str) else None


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


def _member(value: dict[str, Any], keys: Iterable[str]) -> Any:
    lower = by_lower_name(value)
    return next((lower[key] for key in keys if lower.get(key) is not None), None)


def _valid_choices(choices: Sequence[ListedChoice | None], count: int, names: Names, dropped: int = 0) -> Numbers:
    """The choices that are on the list and unambiguous, each once."""
    read = [choice for choice in choices if choice is not None]
    dropped += len(choices) - len(read)
    by_name = _are_ranks(read, names)
    chosen: dict[int, float | None] = {}
    for choice in read:
        number = _number_of(choice, count, names, by_name=by_name)
        if number is None or number in chosen:
            dropped += 1
            continue
        chosen[number] = score_of(choice.score)
        dropped += choice.score is not None and chosen[number] is None
    scores = {number: score for number, score in chosen.items() if score is not None}
    return Numbers(tuple(chosen), scores, dropped)


def _are_ranks(choices: Sequence[ListedChoice], names: Names) -> bool:
    """Whether the numbers only count the lines: 1, 2, 3 …, some of them before the name of another candidate."""
    if len(choices) < 2 or [choice.number for choice in choices] != list(range(1, len(choices) + 1)):
        return False
    found = [names.numbers(choice.name) for choice in choices if choice.is_marker]
    return len(found) == len(choices) and all(found) and any(i not in own for i, own in enumerate(found, 1))


def _number_of(choice: ListedChoice, count: int, names: Names, *, by_name: bool) -> int | None:
    named = names.numbers(choice.name) if choice.name else ()
    if choice.number is None or by_name:
        return named[0] if len(named) == 1 and named[0] <= count else None
    if not 1 <= choice.number <= count or (named and choice.number not in named):
        return None  # not on the list, or beside the name of another candidate
    return choice.number
