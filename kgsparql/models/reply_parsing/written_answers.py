"""Answers as models write them, with claims, steps of inference, and the markers of their evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kgsparql.models.reply_parsing.citations import listed_markers, without_open_citation
from kgsparql.models.reply_parsing.cleaning import (
    by_lower_name,
    empty_reply,
    filled_body_of,
    plain_text,
    scan,
    unusable,
)
from kgsparql.models.reply_parsing.numbered_choices import whole_number
from kgsparql.models.reply_parsing.verdicts import truth_of

_ANSWER_KEYS = ("answer", "final_answer", "final answer", "response")
_CITED_KEYS = ("used", "evidence", "markers", "marker", "citations")
_TEXT_KEYS = ("text", "answer", "name", "label", "claim")

_HEADING = re.compile(
    r"(?:^[ \t#>*_]{0,20}|[*_]{0,3})\boutput\s?([1-9])\b"
    r"(?:[ \t]{0,5}[*_]{0,3}[ \t]?[:：][ \t]?[*_]{0,3}|[ \t]?[*_.)-]{0,4}[ \t]{0,5}$)",
    re.IGNORECASE | re.MULTILINE,
)
_LEAD_IN = re.compile(r"\A[*_#\s]{0,6}(?:the\s)?(?:final\s)?answer(?:\sis)?[*_]{0,3}\s?:[*_]{0,3}\s*", re.IGNORECASE)
_JSON_START = re.compile(r"""\s*"?(?:\{\s*[\\"'“‘}]|\[\s*[{\["'“\\])""")


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
    """An answer as a model wrote it; nothing is checked, and citations inside its text are not yet found.

    :param answer: in words; empty only if there are ``entities`` instead, or ``sufficient`` is false.
    :param entities: the numbers of the entities that are the answer.
    :param markers: listed as used, such as ``P1``; each once.
    :param sufficient: whether the evidence suffices; ``None`` if the reply does not say.
    :param dropped: how many entities, steps, claims and markers could not be read; the end of a reply that breaks off
        counts as one.
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
    """The answer in a reply: JSON, prose with headings "Output 1", "Output 2" …, or prose.

    :raises ModelReplyError: if there is no answer in it (``E_LLM_EMPTY``), it is JSON that cannot be used
        (``E_LLM_FORMAT``), or too long (``E_LIMIT``).

    >>> read = written_answer('{"answer": "Paris", "entities": [2, "all"], "used": ["p1, N2"]}')
    >>> read.answer, read.entities, read.markers, read.dropped
    ('Paris', (2,), ('P1', 'N2'), 1)
    >>> written_answer("**Final answer:** It is Paris [P1].").answer
    'It is Paris [P1].'
    """
    body = filled_body_of(text)
    if "{" not in body and not body.lstrip("` \n").startswith("["):
        body = without_open_citation(body)
    read = scan(body)
    best = read.best
    plain = plain_text(body)
    value = best.value if best is not None else None
    if isinstance(value, list) and best is not None and plain == body[best.start : best.end]:  # nothing but a list
        value = value[0] if value and isinstance(value[0], dict) else {"answer": value}
    if isinstance(value, dict) and best is not None:
        lower = by_lower_name(value)
        if any(key in lower for key in _ANSWER_KEYS) or truth_of(lower.get("sufficient")) is False:
            return _answer_of_object(lower, cut=not best.whole)
    if read.damaged or any(not span.whole for span in read.found) or _JSON_START.match(plain):
        raise unusable(body, "an answer in JSON")
    return _answer_of_prose(plain)


def _first_member(value: dict[str, Any], keys: Iterable[str]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def _answer_of_object(value: dict[str, Any], *, cut: bool) -> WrittenAnswer:
    dropped = _Dropped(int(cut))
    sufficient = truth_of(value.get("sufficient"))
    answer = _answer_text(_first_member(value, _ANSWER_KEYS))
    entities = _entities(value.get("entities"), dropped)
    if not answer and not entities and sufficient is not False:
        raise empty_reply()
    return WrittenAnswer(
        answer=answer,
        entities=entities,
        steps=tuple(_steps(value.get("inference"), dropped)),
        claims=tuple(_claims(value.get("claims"), dropped)),
        markers=tuple(_markers(_first_member(value, _CITED_KEYS), dropped)),
        sufficient=sufficient,
        dropped=dropped.count,
        names_entities=value.get("entities") is not None,
    )


@dataclass(slots=True)
class _Dropped:
    count: int = 0


def _answer_text(value: Any) -> str:
    """An answer in words; empty if there is none."""
    if isinstance(value, list):
        return ", ".join(filter(None, (_answer_text(member) for member in value if not isinstance(member, list))))
    if isinstance(value, dict):
        return _scalar_text(_first_member(value, _TEXT_KEYS))
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return str(value) if math.isfinite(value) else ""
    if isinstance(value, int):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def _members(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _entities(value: Any, dropped: _Dropped) -> tuple[int, ...]:
    found: dict[int, None] = {}
    members = [
        part for member in _members(value) for part in (member.split(",") if isinstance(member, str) else [member])
    ]
    for member in members:
        number = whole_number(_first_member(member, ("n", "number", "id")) if isinstance(member, dict) else member)
        if number is None or number < 1 or number in found:
            dropped.count += 1
        else:
            found[number] = None
    return tuple(found)


def _steps(value: Any, dropped: _Dropped) -> Iterable[WrittenStep]:
    for member in _members(value):
        lower = by_lower_name(member) if isinstance(member, dict) else {}
        subject, predicate, object_ = (_scalar_text(lower.get(name)) for name in ("subject", "predicate", "object"))
        if not (subject and predicate and object_):
            dropped.count += 1
            continue
        markers = _markers(_first_member(lower, _CITED_KEYS), dropped)
        dropped.count += max(0, len(markers) - 1)
        yield WrittenStep(markers[0] if markers else "", subject, predicate, object_)


def _claims(value: Any, dropped: _Dropped) -> Iterable[WrittenClaim]:
    for member in _members(value):
        lower = by_lower_name(member) if isinstance(member, dict) else {}
        text = _scalar_text(_first_member(lower, _TEXT_KEYS) if lower else member)
        if not text:
            dropped.count += 1
            continue
        yield WrittenClaim(text, tuple(_markers(_first_member(lower, _CITED_KEYS), dropped)))


def _markers(value: Any, dropped: _Dropped) -> list[str]:
    found: list[str] = []
    for member in _members(value):
        number = whole_number(member) if not isinstance(member, str) else None
        markers = listed_markers(member if isinstance(member, str) else "" if number is None else str(number))
        dropped.count += not markers and member != ""
        found.extend(markers)
    return list(dict.fromkeys(found))


def _answer_of_prose(plain: str) -> WrittenAnswer:
    before, *rest = _HEADING.split(plain)
    sections = dict(zip(rest[-2::-2], rest[::-2], strict=True))  # of several with one number, the first
    answer = sections.get("1") or before.strip() or (rest[1] if rest else "")
    answer = _LEAD_IN.sub("", answer.strip(), count=1).strip().removeprefix("**").removesuffix("**").strip()
    if not answer:
        raise empty_reply()
    return WrittenAnswer(answer)
