"""Read what a language model replied: choices, mentions, readings.

Every prompt asks for JSON. A reply that has none chooses and names nothing: the ranker and the words of the question
do it instead.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar

from kgsparql.dataclasses import field, frozen, replace
from kgsparql.models.reply_json import (
    by_lower_name,
    filled_body,
    find_json,
    first_member,
    members_of,
    plain_text,
    unusable,
)
from kgsparql.rdf.terms import distinct, normalised, printable

_NONE = {"none", "nothing", "no", "n/a", "none of them", "none of these", "none of the above", "[]"}
_MARKS = " \t\r\n\"'“”‘’`*{}<>"
_TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_WHOLE = re.compile(r"-?\d{1,9}(?:\.0+)?")
_LIST = re.compile(r"-?\d{1,9}(?:\s*,\s*-?\d{1,9}){0,1000}\.?")
_SHARE = re.compile(r"([-+\d.eE]{1,30})\s?(%|/\s?\d{1,4})?")
_MAX_SEARCH = 200
_MAX_SAID = 200  # characters of a step in a model's words

_Read = TypeVar("_Read")


# --- Choices from a numbered list, and mentions


@frozen
class SaidReading:
    """What a model said of a list: of candidates, or of the readings of a question.

    :param numbers: of those that it chose, each once, in the order of the reply.
    :param scores: by number, in [0, 1]; only those that can be read.
    :param dropped: how many parts of the reply were not used; 1 for a reply that chooses nothing and does not say so.
    :param search: a name that the reply asks to be looked up, on one line.
    :param meaning: the place in its list of what a name means, other than it was taken for.
    :param compute: none of them says what has to be computed.
    :param quote: words of a passage; nobody has looked yet whether they stand there.
    """

    numbers: tuple[int, ...] = ()
    scores: dict[int, float] = field(default_factory=dict, repr=False)
    dropped: int = 0
    search: str = ""
    meaning: int | None = None
    compute: bool = False
    quote: str = ""


def numbers(text: str, *, count: int) -> SaidReading:
    r"""Read the choices in a reply from a list that is numbered from 1 to ``count``; each counts once, others not.

    >>> numbers('{"choices": [{"n": 3, "score": 0.8}, {"n": 9, "score": 0.5}]}', count=4).scores
    {3: 0.8}
    >>> numbers("3, 1", count=4).numbers
    (3, 1)
    >>> numbers("In 1998 there were 3 of them.", count=4).dropped
    1
    """
    body = filled_body(text)
    found = find_json(body)
    plain = plain_text(body).strip()
    scores: dict[int, float | None] = {}
    search = ""
    if found and (found[-1].rank == 2 or plain == body[found[-1].start : found[-1].end].strip()):
        dropped = sum(one.rank == found[-1].rank for one in found[:-1])
        choices = list(_choices_in(found[-1].value))
        search = printable(str(by_lower_name(found[-1].value).get("search") or "").strip(), _MAX_SEARCH)
    elif says_none(plain):
        return SaidReading()
    else:
        is_list = _LIST.fullmatch(plain.strip("*`()")) is not None
        choices = [(whole_number(part), None) for part in plain.split(",")] if is_list else []
        dropped = int(not is_list)
    for number, written in choices:
        if number is None or not 1 <= number <= count or number in scores:
            dropped += 1
            continue
        scores[number] = score_of(written)
        dropped += written is not None and scores[number] is None
    search = "" if says_none(search) else search
    return SaidReading(tuple(scores), {n: score for n, score in scores.items() if score is not None}, dropped, search)


def says_none(text: str) -> bool:
    """Tell whether a text only says that nothing on the list is right."""
    return text.strip(_MARKS + ".!").casefold() in _NONE


def _choices_in(value: Any) -> Iterator[tuple[int | None, Any]]:
    """Yield the number of each choice, ``None`` if it cannot be read, and its score as written."""
    members = by_lower_name(value)
    if listed := [name for name in ("choices", "numbers") if name in members]:
        value = members[listed[0]]
    elif members and members.keys() <= {"search", "meaning", "compute", "quote"}:
        return
    if isinstance(value, str) and says_none(value):
        return
    value = value.strip(_MARKS + "[]").split(",") if isinstance(value, str) else value
    for choice in value if isinstance(value, list) else [value]:
        own = by_lower_name(choice)
        number = first_member(own, "n", "number", "index", "id") if own else choice
        yield whole_number(number), first_member(own, "score", "relevance", "confidence", "probability")


def whole_number(value: Any) -> int | None:
    """Read a whole number as JSON or a text has it.

    >>> [whole_number(value) for value in (3, 3.0, "3", " -3.0", 3.5, True, "3 of 4", None)]
    [3, 3, 3, -3, None, None, None, None]
    """
    text = "" if isinstance(value, bool) else str(value).strip(_MARKS + "#().[]")
    return int(float(text)) if _WHOLE.fullmatch(text) else None


def score_of(value: Any) -> float | None:
    """Read a score and clip it to [0, 1].

    >>> [score_of(value) for value in (0.4, "40%", "9/10", 1e9, "-1", "NaN", "high", None)]
    [0.4, 0.4, 0.9, 1.0, 0.0, None, None, None]
    """
    share = None if isinstance(value, bool) else _SHARE.fullmatch(str(value).strip(_MARKS))
    try:
        divisor = 1.0 if share is None or not share[2] else 100.0 if share[2] == "%" else float(share[2][1:])
        score = math.nan if share is None else float(share[1]) / divisor
    except (ValueError, ZeroDivisionError):
        return None
    return min(max(score, 0.0), 1.0) if math.isfinite(score) else None


def mentions(text: str) -> list[tuple[str, bool]]:
    """Read the mentions in a reply, each with whether it names a type.

    >>> mentions('[{"mention": "Nobel Prize", "is_type": false}, {"mention": "city", "is_type": true}]')
    [('Nobel Prize', False), ('city', True)]
    """
    body = filled_body(text)
    found = find_json(body)
    value = found[-1].value if found else None
    listed = value if isinstance(value, list) else first_member(by_lower_name(value), "mentions", "entities")
    kept: dict[str, tuple[str, bool]] = {}
    for one in listed if isinstance(listed, list) else []:
        own = by_lower_name(one)
        name = first_member(own, "mention", "text", "name", "entity", "label") if own else one
        bare = " ".join(name.strip(_MARKS).split()) if isinstance(name, str) else ""
        if any(char.isalnum() for char in bare[:300]):
            kept.setdefault(bare.casefold(), (bare, bool(truth_of(own.get("is_type")))))
    if not kept and not says_none(plain_text(body)) and (not found or listed != []):
        raise unusable(body, "a list of mentions")
    return list(kept.values())


def truth_of(value: Any) -> bool | None:
    """Read yes or no.

    >>> [truth_of(value) for value in (True, "No.", 1, "maybe", ["yes"])]
    [True, False, True, None, None]
    """
    return _TRUTH.get(str(value).strip(_MARKS + ".!").casefold())


# --- Readings


def said_reading(text: str, *, count: int, meanings: int = 0) -> SaidReading:
    """Read which of ``count`` readings a reply chooses.

    :raises ModelReplyError: for one that says nothing of them.

    >>> said_reading('{"numbers": [3, 9], "compute": false}', count=4)
    SaidReading(numbers=(3,), dropped=1, search='', meaning=None, compute=False, quote='')
    >>> said_reading("2", count=4).numbers
    (2,)
    """
    body = filled_body(text)
    members = members_of(body)
    letter = str(members.get("meaning") or "").strip(_MARKS + ".").casefold()
    at = ord(letter) - ord("a") if len(letter) == 1 else -1
    said = replace(
        numbers(text, count=count), meaning=at if 0 <= at < meanings else None,
        compute=truth_of(members.get("compute")) is True, quote=str(members.get("quote") or ""),
    )  # fmt: skip
    if said.dropped and said == SaidReading(dropped=said.dropped):
        raise unusable(body, "a number of the list")
    return said


@frozen
class SaidStep:
    """A step towards an answer, as a model says it.

    :param used: markers of the facts that it rests on. :param start: the number of a thing, 0 for none; so ``end``.
    """

    used: tuple[str, ...]
    start: int
    end: int
    says: str


@frozen
class SaidAnswer:
    """What a model said that read numbered facts.

    :param answers: numbers of things, each once. :param used: markers of facts, each once.
    :param enough: the facts answer the question; ``None`` where it does not say.
    :param quote: words of a passage; nobody has looked yet whether they stand there.
    :param dropped: how many parts of the reply were not used.
    """

    answers: tuple[int, ...] = ()
    used: tuple[str, ...] = ()
    steps: tuple[SaidStep, ...] = ()
    enough: bool | None = None
    quote: str = ""
    dropped: int = 0


def said_answer(text: str, *, markers: Sequence[str], names: Sequence[str]) -> SaidAnswer:
    """Read what a reply answers from facts with these markers about things with these names, numbered from 1.

    A thing may be called by its name, if no other has it, and a fact by the number in its marker.

    :raises ModelReplyError: for one that says nothing of them.

    >>> said_answer('{"answers": [2, 9], "used": ["F1"]}', markers=["F1"], names=["Ann", "Bob"])
    SaidAnswer(answers=(2,), used=('F1',), steps=(), enough=None, quote='', dropped=1)
    >>> said_answer('{"answers": ["ann"], "used": [1]}', markers=["F1"], names=["Ann", "Bob"]).answers
    (1,)
    """
    body = filled_body(text)
    members = members_of(body)
    if members.keys().isdisjoint({"answers", "used", "enough", "steps", "quote"}):
        raise unusable(body, "answers")
    bare, keys = Counter(marker[1:] for marker in markers), [normalised(name) for name in names]
    known = {marker.casefold(): marker for marker in markers}
    known |= {marker[1:]: marker for marker in markers if bare[marker[1:]] == 1}
    counts = Counter(keys)
    numbers_of = {key: n for n, key in enumerate(keys, 1) if counts[key] == 1}

    def thing(value: Any) -> int | None:
        is_text = isinstance(value, str) and not says_none(value)
        ended = re.search(r"\[(\d{1,9})\]$", value.strip()) if is_text else None
        number = whole_number(value if ended is None else ended[1])
        if number is not None and 1 <= number <= len(names):
            return number
        return numbers_of.get(normalised(value)) if is_text else None

    def fact(value: Any) -> str | None:
        return known.get(str(value).strip(_MARKS + "[].").casefold())

    def step(value: Any) -> SaidStep | None:
        own = by_lower_name(value)
        start, end = (thing(own.get(name)) or 0 for name in ("start", "end"))
        says = printable(re.sub(r"\s*\[[A-Z]?\d+\]", "", str(own.get("says") or "")), _MAX_SAID)  # no marker of ours
        return SaidStep(_each_read(own.get("used"), fact)[0], start, end, says) if own else None

    answers, lost = _each_read(members.get("answers"), thing)
    used, lost_facts = _each_read(members.get("used"), fact)
    steps, _ = _each_read(members.get("steps"), step)
    quote, enough = members.get("quote"), truth_of(members.get("enough"))
    return SaidAnswer(answers, used, steps, enough, quote if isinstance(quote, str) else "", lost + lost_facts)


def said_sentences(text: str, *, markers: Collection[str]) -> dict[str, str]:
    """Read the sentence that a reply gives for each of some lines.

    :raises ModelReplyError: for one that gives none.

    >>> said_sentences('{"sentences": [{"marker": "P1", "text": "Ann knows Bob."}]}', markers=["P1", "P2"])
    {'P1': 'Ann knows Bob.'}
    """
    body = filled_body(text)
    listed = members_of(body).get("sentences")
    own = map(by_lower_name, listed if isinstance(listed, list) else ())
    found = {str(one.get("marker")): printable(one.get("text") or "", 300) for one in own}
    kept = {marker: said for marker, said in found.items() if marker in markers and said}
    if not kept:
        raise unusable(body, "sentences")
    return kept


def _each_read(value: Any, read: Callable[[Any], _Read | None]) -> tuple[tuple[_Read, ...], int]:
    """Read the members of a list, each once; count those that cannot be read."""
    if isinstance(value, str):
        value = [] if says_none(value) or not value else [value] if read(value) is not None else value.split(",")
    asked = value if isinstance(value, list) else [] if value is None else [value]
    kept = [one for one in map(read, asked) if one is not None]
    return distinct(kept), len(asked) - len(kept)
