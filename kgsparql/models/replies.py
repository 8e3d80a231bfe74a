"""Read what a language model replied: choices, mentions, quantities and answers.

Every prompt asks for JSON. A reply that has none chooses and names nothing: the ranker and the words of the question
do it instead. Only an answer may be prose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kgsparql.models.citations import listed_markers
from kgsparql.models.reply_json import (
    by_lower_name,
    empty_reply,
    filled_body,
    find_json,
    first_member,
    plain_text,
    unusable,
    without_reasoning,
)
from kgsparql.rdf.terms import printable

_NONE = {"none", "nothing", "no", "n/a", "none of them", "none of these", "none of the above", "[]"}
_MARKS = " \t\r\n\"'“”‘’`*{}<>"
_TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_WHOLE = re.compile(r"-?\d{1,9}(?:\.0+)?")
_LIST = re.compile(r"-?\d{1,9}(?:\s*,\s*-?\d{1,9}){0,1000}\.?")
_SHARE = re.compile(r"([-+\d.eE]{1,30})\s?(%|/\s?\d{1,4})?")
_QUANTITY = re.compile(
    r"(?<![\w.,:/−–-])([-−]?)[$€£]?\s?(\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?|\d*\.?\d+(?:[eE]-?\d{1,4})?)"
    r"(?!\w|[.,:/–-]\d|\s?(?:thousand|million|billion))",
    re.IGNORECASE,
)
_MAX_SEARCH = 200


# --- Choices from a numbered list, and mentions


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was chosen from a list.

    :param numbers: of the candidates, each once, in the order of the reply.
    :param scores: by number, in [0, 1]; only those that can be read.
    :param dropped: how many parts of the reply were not used; 1 for a reply that chooses nothing and does not say so.
    :param search: a name that the reply asks to be looked up, on one line.
    """

    numbers: tuple[int, ...]
    scores: dict[int, float]
    dropped: int
    search: str = ""


def numbers(text: str, *, count: int) -> Numbers:
    r"""Read the choices in a reply from a list that is numbered from 1 to ``count``; each counts once, others not.

    >>> numbers('{"choices": [{"n": 3, "score": 0.8}, {"n": 9, "score": 0.5}]}', count=4)
    Numbers(numbers=(3,), scores={3: 0.8}, dropped=1, search='')
    >>> numbers("3, 1", count=4).numbers
    (3, 1)
    >>> numbers("In 1998 there were 3 of them.", count=4).dropped
    1
    """
    body = filled_body(text)
    found, _ = find_json(body)
    plain = plain_text(body).strip()
    scores: dict[int, float | None] = {}
    search = ""
    if found and (found[-1].rank == 2 or plain == body[found[-1].start : found[-1].end].strip()):
        dropped = sum(one.rank == found[-1].rank for one in found[:-1]) + (not found[-1].whole)
        choices = list(_choices_in(found[-1].value))
        search = printable(str(by_lower_name(found[-1].value).get("search") or "").strip(), _MAX_SEARCH)
    elif says_none(plain):
        return Numbers((), {}, 0)
    else:
        is_list = _LIST.fullmatch(plain) is not None
        choices = [(whole_number(part), None) for part in plain.split(",")] if is_list else []
        dropped = int(not is_list)
    for number, written in choices:
        if number is None or not 1 <= number <= count or number in scores:
            dropped += 1
            continue
        scores[number] = score_of(written)
        dropped += written is not None and scores[number] is None
    search = "" if says_none(search) else search
    return Numbers(tuple(scores), {n: score for n, score in scores.items() if score is not None}, dropped, search)


def says_none(text: str) -> bool:
    """Tell whether a text only says that nothing on the list is right."""
    return text.strip(_MARKS + ".!").casefold() in _NONE


def _choices_in(value: Any) -> Iterator[tuple[int | None, Any]]:
    """Yield the number of each choice, ``None`` if it cannot be read, and its score as written."""
    members = by_lower_name(value)
    if "choices" in members:
        value = members["choices"]
    elif members.keys() == {"search"}:
        return
    if isinstance(value, str) and says_none(value):
        return
    for choice in value if isinstance(value, list) else [value]:
        own = by_lower_name(choice)
        number = first_member(own, "n", "number", "index", "id") if own else choice
        yield whole_number(number), first_member(own, "score", "relevance", "confidence", "probability")


def whole_number(value: Any) -> int | None:
    """Read a whole number as JSON or a text has it.

    >>> [whole_number(value) for value in (3, 3.0, "3", " -3.0", 3.5, True, "3 of 4", None)]
    [3, 3, 3, -3, None, None, None, None]
    """
    text = "" if isinstance(value, bool) else str(value).strip(_MARKS + ".")
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
    found, _ = find_json(body)
    value = found[-1].value if found else None
    listed = value if isinstance(value, list) else first_member(by_lower_name(value), "mentions", "entities")
    kept: dict[str, tuple[str, bool]] = {}
    for one in listed if isinstance(listed, list) else []:
        own = by_lower_name(one)
        name = first_member(own, "mention", "text", "name", "entity", "label") if own else one
        bare = " ".join(name.strip(_MARKS).split()) if isinstance(name, str) else ""
        if any(char.isalnum() for char in bare[:300]):
            kept.setdefault(bare.casefold(), (bare, bool(truth_of(own.get("is_type")))))
    if not kept and not says_none(plain_text(body)) and (not found or not found[-1].whole or listed != []):
        raise unusable(body, "a list of mentions")
    return list(kept.values())


def truth_of(value: Any) -> bool | None:
    """Read yes or no.

    >>> [truth_of(value) for value in (True, "No.", 1, "maybe", ["yes"])]
    [True, False, True, None, None]
    """
    return _TRUTH.get(str(value).strip(_MARKS + ".!").casefold())


def quantity(text: str) -> float | None:
    """Read the only number in the answer of a reply, in JSON or prose.

    >>> quantity("It is 1,234.5 km."), quantity('{"answer": "-40 %"}'), quantity("3 million"), quantity("3 of 12")
    (1234.5, -40.0, None, None)
    """
    body = without_reasoning(text)
    found, _ = find_json(body)
    members = by_lower_name(found[-1].value) if found else {}
    said = str(first_member(members, "answer", "value", "number", "result")) if members else plain_text(body)
    numbers = _QUANTITY.findall(re.sub(r"\[[^\[\]]{0,40}\]", " ", said))
    values = {float(re.sub(r"[, ]", "", digits)) * (-1 if sign else 1) for sign, digits in numbers}
    value = values.pop() if len(values) == 1 else math.inf
    return value if math.isfinite(value) else None


# --- Written answers

_ANSWER = ("answer", "final_answer", "final answer", "response")
_CITED = ("used", "evidence", "markers", "marker", "citations")
_TEXT = ("text", "answer", "name", "label", "claim")


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A step of inference as the model wrote it; ``marker`` is empty if it cites nothing."""

    marker: str
    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class WrittenClaim:
    """A claim and the markers that are listed as its evidence; its text may cite more."""

    text: str
    markers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer as a model wrote it; nothing is checked yet.

    :param answer: in words; empty only if there are ``entities`` instead, or ``sufficient`` is false.
    :param entities: the numbers of the entities that are the answer.
    :param markers: listed as used, such as ``P1``; each once.
    :param sufficient: whether the evidence suffices; ``None`` if the reply does not say.
    :param dropped: how many parts could not be read; the end of a reply that breaks off counts as one.
    :param names_entities: whether the reply has a list of entities; an empty list says that none is the answer.
    """

    answer: str
    entities: tuple[int, ...] = ()
    steps: tuple[WrittenStep, ...] = ()
    claims: tuple[WrittenClaim, ...] = ()
    markers: tuple[str, ...] = ()
    sufficient: bool | None = None
    dropped: int = 0
    names_entities: bool = False


def written_answer(text: str) -> WrittenAnswer:
    """Read the answer in a reply: JSON, or prose.

    >>> read = written_answer('{"answer": "Paris", "entities": [2, "all"], "used": ["p1, N2"]}')
    >>> read.answer, read.entities, read.markers, read.dropped
    ('Paris', (2,), ('P1', 'N2'), 1)
    >>> written_answer("It is Paris [P1].").answer
    'It is Paris [P1].'
    """
    body = filled_body(text)
    plain = plain_text(body).strip()
    is_json = plain.startswith(("{", "["))
    found, is_broken = find_json(body if is_json or "{" in body else "")
    members = by_lower_name(found[-1].value) if found else {}
    if any(name in members for name in _ANSWER) or truth_of(members.get("sufficient")) is False:
        reader = _AnswerReader(int(not found[-1].whole))
        return replace(reader.read(members), dropped=reader.dropped)
    if (found or is_broken) and (is_json or is_broken):
        raise unusable(body, "an answer in JSON")
    if not plain:
        raise empty_reply()
    return WrittenAnswer(plain)


@dataclass(slots=True)
class _AnswerReader:
    """Reads the members of a JSON answer and counts what it cannot read."""

    dropped: int = 0
    seen: set[int] = field(default_factory=set)

    def read(self, members: dict[str, Any]) -> WrittenAnswer:
        answer, sufficient = _answer_words(first_member(members, *_ANSWER)), truth_of(members.get("sufficient"))
        entities = tuple(self._entity_numbers(members.get("entities")))
        if not answer and not entities and sufficient is not False:
            raise empty_reply()
        return WrittenAnswer(
            answer, entities, tuple(self._written_steps(members.get("inference"))),
            tuple(self._written_claims(members.get("claims"))), self._cited_markers(first_member(members, *_CITED)),
            sufficient, names_entities=members.get("entities") is not None,
        )  # fmt: skip

    def _entity_numbers(self, value: Any) -> Iterator[int]:
        for member in _as_list(value):
            number = whole_number(member)
            if number is None or number < 1 or number in self.seen:
                self.dropped += 1
            else:
                self.seen.add(number)
                yield number

    def _written_steps(self, value: Any) -> Iterator[WrittenStep]:
        for member in map(by_lower_name, _as_list(value)):
            words = [_answer_words(member.get(name)) for name in ("subject", "predicate", "object")]
            if not all(words):
                self.dropped += 1
                continue
            markers = self._cited_markers(first_member(member, *_CITED))
            self.dropped += max(0, len(markers) - 1)
            yield WrittenStep(markers[0] if markers else "", *words)

    def _written_claims(self, value: Any) -> Iterator[WrittenClaim]:
        for one in _as_list(value):
            member = by_lower_name(one)
            text = _answer_words(first_member(member, *_TEXT) if member else one)
            if text:
                yield WrittenClaim(text, self._cited_markers(first_member(member, *_CITED)))
            else:
                self.dropped += 1

    def _cited_markers(self, value: Any) -> tuple[str, ...]:
        markers: dict[str, None] = {}
        for member in _as_list(value):
            read = listed_markers(str(member))
            self.dropped += not read and member != ""
            markers.update(dict.fromkeys(read))
        return tuple(markers)


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _answer_words(value: Any) -> str:
    """Return an answer of any JSON type in words; empty if it says nothing."""
    if isinstance(value, list):
        return ", ".join(filter(None, (_answer_words(member) for member in value if not isinstance(member, list))))
    if isinstance(value, dict):
        return _answer_words(first_member(by_lower_name(value), *_TEXT))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None or (isinstance(value, float) and not math.isfinite(value)) else str(value).strip()
