"""Read what a language model replied: choices, mentions, verdicts, quantities and answers.

JSON comes first; numbered or bulleted lines are read where a server cannot force JSON. A model whose reply cannot be
used costs little, because the ranker chooses instead: so nothing here tries to read choices out of prose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgsparql.models.citations import listed_markers, without_open_citation
from kgsparql.models.reply_json import (
    FoundJson,
    best_json,
    by_lower_name,
    empty_reply,
    filled_body,
    find_json,
    first_member,
    plain_text,
    starts_as_json,
    unusable,
    without_reasoning,
)
from kgsparql.rdf.terms import printable

# --- Choices from a numbered list

_NUMBER = ("n", "number", "index", "id")
_NAME = ("name", "label", "relation", "predicate", "entity")
_SCORE = ("score", "relevance", "confidence", "probability")
_NONE = {"none", "nothing", "no", "n/a", "none of them", "none of these", "none of the above", "[]"}
_MARKS = " \t\r\n\"'“”‘’`*{}<>"
_WHOLE = re.compile(r"[\s#(\[\"'*]*(-?\d{1,9})(?:\.0+)?[\s)\].,:;\"'*]*")
_SHARE = re.compile(r"(-?\d{1,30}(?:[.,]\d{1,30})?(?:[eE][-+]?\d{1,4})?)\s?(%|/\s?\d{1,4})?")
_LISTED_LINE = re.compile(
    r"[\s>*#(\[{|-]*(-?\d{1,9})\s*\*{0,2}\s?(?:(?:[.):\]|]|\s[–-])(?=[\s*(]|$)|\s(?=\(score)|$)[\s*]*(.*)",
    re.IGNORECASE,
)
_SAID_SCORE = re.compile(r"[({]?\s*\bscore\b\W{0,3}(-?[\w.,/]+\s?%?)", re.IGNORECASE)
_SCORE_AT_END = re.compile(r"(?:^|[(:|]\s?)\(?([01]?[.,]\d+|[01]|\d{1,3}\s?%)\W*$")
_MAX_SEARCH = 200


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


def numbers(text: str, *, count: int, names: Sequence[str] = ()) -> Numbers:
    r"""Read the choices in a reply from a list that is numbered from 1 to ``count``.

    :param names: of the candidates; in JSON a name that exactly one candidate has stands for its number.
    :raises ModelReplyError: if the reply is empty (``E_LLM_EMPTY``) or too long (``E_LIMIT``).

    >>> numbers('{"choices": [{"n": 3, "score": 0.8}, {"n": 9, "score": 0.5}]}', count=4)
    Numbers(numbers=(3,), scores={3: 0.8}, dropped=1, search='')
    >>> numbers("3. capital of (Score: 0.4)\n1. child", count=4).numbers
    (3, 1)
    >>> numbers("In 1998 there were 3 of them.", count=4).dropped
    1
    """
    body = filled_body(text)
    found, is_broken = find_json(body)
    best = best_json(found)
    known = _numbers_by_name(names)
    plain = plain_text(body).strip()
    if best is not None and (best.rank == 2 or _stands_alone(best, body)):
        earlier = sum(one.rank == best.rank for one in found) - 1
        chosen = _valid_choices(_choices_in(best.value, known), count, dropped=earlier + (not best.whole))
        search = str(by_lower_name(best.value).get("search") or "").strip()
        return replace(chosen, search="" if search.casefold() in _NONE else printable(search, _MAX_SEARCH))
    if says_none(plain):
        return Numbers((), {}, 0)
    choices = [] if is_broken or any(not one.whole for one in found) else list(_choices_in_lines(plain, known))
    return _valid_choices(choices, count) if choices else Numbers((), {}, 1)


def says_none(text: str) -> bool:
    """Tell whether a text only says that nothing on the list is right."""
    return text.strip(_MARKS + ".!").casefold() in _NONE


def _stands_alone(found: FoundJson, body: str) -> bool:
    """Tell whether an array has lines of its own: ``[1, 2]`` inside a sentence is a citation."""
    before = body[: found.start].rpartition("\n")[2].strip(_MARKS)
    after = body[found.end :].partition("\n")[0].strip(_MARKS + ".")
    return not after and (not before or before.endswith(":"))


def _numbers_by_name(names: Sequence[str]) -> dict[str, int | None]:
    known: dict[str, int | None] = {}
    for number, name in enumerate(names, 1):
        key = name.strip(_MARKS).casefold()
        known[key] = None if key in known else number  # two candidates of one name: the name says nothing
    return known


_Choice = tuple[int | None, Any]
"""The number of a choice, ``None`` if it cannot be read, and its score as written."""


def _choices_in(value: Any, known: dict[str, int | None]) -> list[_Choice]:
    if isinstance(value, list):
        return [_choice_of(member, known) for member in value]
    if isinstance(value, str) and says_none(value):
        return []
    if not isinstance(value, dict):
        return list(_choices_in_lines(str(value), known)) or [(None, None)]
    members = by_lower_name(value)
    if "choices" in members:
        return _choices_in(members["choices"], known)
    if first_member(members, *_NUMBER, *_NAME) is not None:
        return [_choice_of(value, known)]
    if members and all(whole_number(name) is not None or known.get(name) for name in members):
        return [
            (None if isinstance(score, bool | dict | list) else whole_number(name) or known.get(name), score)
            for name, score in members.items()
        ]
    inner = [member for member in value.values() if isinstance(member, dict | list)]
    return _choices_in(inner[0], known) if len(inner) == 1 else [] if "search" in members else [(None, None)]


def _choice_of(member: Any, known: dict[str, int | None]) -> _Choice:
    if isinstance(member, dict):
        members = by_lower_name(member)
        name = str(first_member(members, *_NAME) or "").strip(_MARKS).casefold()
        number = whole_number(first_member(members, *_NUMBER))
        if first_member(members, *_NUMBER, *_NAME) is None:
            return (*_choices_in(member, known), (None, None))[0]
        contradicts = number is not None and known.get(name, number) != number
        return None if contradicts else number or known.get(name), first_member(members, *_SCORE)
    number = whole_number(member)
    return number if number is not None else known.get(str(member).strip(_MARKS).casefold()), None


def _choices_in_lines(text: str, known: dict[str, int | None]) -> Iterator[_Choice]:
    """Read ``3. name (0.8)`` on each line, or ``3, 1`` on one; prose yields nothing."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        listed = _LISTED_LINE.match(line[:1000])
        if listed and len(listed[2].split()) <= 12 and not listed[2].rstrip().endswith((".", "!", "?")):
            number, rest = int(listed[1]), listed[2]
            score = _SAID_SCORE.search(rest) or _SCORE_AT_END.search(rest)
            name = rest[: score.start()].strip(_MARKS + "-:|(").casefold() if score else rest.strip(_MARKS).casefold()
            is_other = known.get(name) not in {None, number} or (
                score is None and bool(known and name) and name not in known
            )
            yield None if is_other else number, score[1] if score else None
        elif len(lines) == 1 and len(line) <= 1000:
            parts = re.split(r"[,;]\s*(?:and\s+)?|\s+and\s+", line.rpartition(":")[2].strip(" ."))
            if all(_WHOLE.fullmatch(part) for part in parts):
                yield from ((whole_number(part), None) for part in parts)


def _valid_choices(choices: Iterable[_Choice], count: int, dropped: int = 0) -> Numbers:
    """Keep the choices that are on the list, each once; count the others."""
    scores: dict[int, float | None] = {}
    for number, written in choices:
        if number is None or not 1 <= number <= count or number in scores:
            dropped += 1
            continue
        scores[number] = score_of(written)
        dropped += written is not None and scores[number] is None
    return Numbers(tuple(scores), {n: score for n, score in scores.items() if score is not None}, dropped)


def whole_number(value: Any) -> int | None:
    """Read a whole number as JSON or a text has it.

    >>> [whole_number(value) for value in (3, 3.0, "3", "[3]", "3.", "-3", 3.5, True, "3 of 4", None)]
    [3, 3, 3, 3, 3, -3, None, None, None, None]
    """
    if isinstance(value, str) and (digits := _WHOLE.fullmatch(value[:30])):
        return int(digits[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if value == int(value) else None


def score_of(value: Any) -> float | None:
    """Read a score and clip it to [0, 1].

    >>> [score_of(value) for value in (0.4, "0,4", "40%", "9/10", 1e9, "-1", "NaN", "high", None)]
    [0.4, 0.4, 0.4, 0.9, 1.0, 0.0, None, None, None]
    """
    if isinstance(value, str):
        share = _SHARE.fullmatch(value.strip(_MARKS + "()[]").replace("−", "-"))
        if share is None:
            return None
        divisor = 100.0 if share[2] == "%" else float(share[2][1:]) if share[2] else 1.0
        value = float(share[1].replace(",", ".")) / divisor if divisor else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(min(max(value, 0), 1)) if isinstance(value, int) or math.isfinite(value) else None


# --- Mentions, verdicts, quantities

_MENTION = ("mention", "text", "name", "entity", "label")
_TOPIC = re.compile(r"\b(?:entit|mention|keyword|term|name|concept|extracted|answer)", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•+–]\s+|\(?\d{1,3}[.)]\s+)(?=\S)")
_PARTS = re.compile(r"(?:\([^()]{0,300}\)|\"[^\"]{0,300}\"|[^,，、])++")
_REFUSAL = re.compile(r"\b(?:sorry|cannot|can['’]t|unable to|there are no|as an ai)\b", re.IGNORECASE)
_VERDICT = re.compile(r"(?<![\w'’-])(?:(yes|true)|(no|false)(?!\.?\s?\d))(?![\w]|[-'’]\w)", re.IGNORECASE)
_UNITS = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_QUANTITY = re.compile(
    r"(?<![\w.,:/−–-])([-−]?)[$€£]?\s?(\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?|\d*\.?\d+(?:[eE]-?\d{1,4})?)"
    r"\s?(thousand|million|billion)?"
    r"(?!st\b|nd\b|rd\b|th\b|\d|[.,:/–-]\d)",
    re.IGNORECASE,
)


def mentions(text: str) -> list[tuple[str, bool]]:
    """Read the mentions in a reply, each with whether it names a type: JSON, bullets, or one line with commas.

    :raises ModelReplyError: if the reply is empty (``E_LLM_EMPTY``), too long (``E_LIMIT``) or prose
        (``E_LLM_FORMAT``).

    >>> mentions('[{"mention": "Nobel Prize", "is_type": false}, {"mention": "city", "is_type": true}]')
    [('Nobel Prize', False), ('city', True)]
    >>> mentions("The entities are: Paris, Mercury (planet, inner)")
    [('Paris', False), ('Mercury (planet, inner)', False)]
    """
    body = filled_body(text)
    found, is_broken = find_json(body)
    best = best_json(found)
    read = list(_mentions_in(best.value)) if best is not None else []
    plain = plain_text(body).strip()
    if not read and best is None and not is_broken and not says_none(plain):
        lead_in, colon, rest = plain.partition(":")
        lines = (rest if colon and _TOPIC.search(lead_in) else plain).strip().splitlines()
        names = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)] or lines
        names = _PARTS.findall(names[0]) if len(lines) == 1 and not _BULLET.match(lines[0]) else names
        words = max((len(name.split()) for name in names), default=9)
        is_sentence = plain.endswith((".", "!", "?")) and not colon and len(plain.split()) > 3 * len(names)
        if words > 8 or is_sentence or _REFUSAL.search(plain):
            raise unusable(plain, "a list of mentions")
        read = [(name, False) for name in names]
    elif not read and (is_broken or (best is not None and (not best.whole or best.value))) and not _is_empty(best):
        raise unusable(plain, "a list of mentions")
    kept: dict[str, tuple[str, bool]] = {}
    for name, is_type in read:
        bare = " ".join(name.strip(_MARKS).split()).removeprefix("and ")
        bare = bare[:-1] if bare.endswith(".") and "." not in bare[:-1] else bare  # but "Washington D.C." stays
        if any(char.isalnum() for char in bare[:300]):
            kept.setdefault(bare.casefold(), (bare, is_type))
    return list(kept.values())


def _is_empty(best: FoundJson | None) -> bool:
    """Tell whether the reply is a complete, empty list of mentions."""
    return best is not None and best.whole and by_lower_name(best.value).get("mentions") == []


def _mentions_in(value: Any) -> Iterator[tuple[str, bool]]:
    if isinstance(value, str):
        yield from ((part, False) for part in _PARTS.findall(value))
    elif isinstance(value, list):
        for member in value:
            yield from [(member, False)] if isinstance(member, str) else _mentions_in(member)
    elif isinstance(value, dict):
        members = by_lower_name(value)
        if isinstance(name := first_member(members, *_MENTION), str):
            yield name, bool(truth_of(members.get("is_type")))
        elif value and all(isinstance(member, bool) for member in value.values()):
            yield from value.items()
        else:
            yield from _mentions_in(first_member(members, "mentions", "entities"))


def truth_of(value: Any) -> bool | None:
    """Read yes or no.

    >>> [truth_of(value) for value in (True, "no", 1, "maybe", ["yes"])]
    [True, False, True, None, None]
    """
    if isinstance(value, bool | int | float):
        return bool(value) if value in {0, 1} else None
    verdict = _VERDICT.search(value) if isinstance(value, str) else None
    return None if verdict is None else verdict[1] is not None


def quantity(text: str) -> float | None:
    """Read the number that a reply answers with: in JSON, after "answer is", or the only one.

    :raises ModelReplyError: if the reply is too long (``E_LIMIT``).

    >>> [quantity(reply) for reply in ("It is 1,234.5 km.", "-40 %", '{"answer": "1 234"}', "In 1998 there were 3.")]
    [1234.5, -40.0, 1234.0, None]
    """
    body = without_reasoning(text)
    best = best_json(find_json(body)[0])
    if best is not None and isinstance(best.value, dict):
        value = first_member(by_lower_name(best.value), "answer", "value", "number", "result")
        return quantity(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    plain = re.sub(r"\[[^\[\]]{0,40}\]", " ", plain_text(body))
    answer = re.search(r"\banswer\b\W{0,3}(?:is|=|:)[\s*_:$]{0,6}", plain, re.IGNORECASE)
    said = _QUANTITY.match(plain, answer.end()) if answer else None
    values = {_quantity_value(match) for match in ([said] if said else _QUANTITY.finditer(plain))}
    return values.pop() if len(values) == 1 else None


def _quantity_value(match: re.Match[str]) -> float | None:
    value = float(re.sub(r"[, ]", "", match[2])) * _UNITS.get((match[3] or "").casefold(), 1.0)
    return (-value if match[1] else value) if math.isfinite(value) else None


# --- Written answers

_ANSWER = ("answer", "final_answer", "final answer", "response")
_CITED = ("used", "evidence", "markers", "marker", "citations")
_TEXT = ("text", "answer", "name", "label", "claim")
_HEADING = re.compile(
    r"^[ \t#>*_]{0,20}output\s?([1-9])\b[ \t]*[*_]{0,3}[ \t]?[:.)]?[*_]{0,3}", re.IGNORECASE | re.MULTILINE
)
_LEAD_IN = re.compile(r"\A[*_#\s]{0,6}(?:the\s)?(?:final\s)?answer(?:\sis)?[*_]{0,3}\s?:[*_]{0,3}\s*", re.IGNORECASE)


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
    """Read the answer in a reply: JSON, prose under headings "Output 1", "Output 2" …, or prose.

    :raises ModelReplyError: if there is no answer in it (``E_LLM_EMPTY``), it is JSON without one (``E_LLM_FORMAT``),
        or too long (``E_LIMIT``).

    >>> read = written_answer('{"answer": "Paris", "entities": [2, "all"], "used": ["p1, N2"]}')
    >>> read.answer, read.entities, read.markers, read.dropped
    ('Paris', (2,), ('P1', 'N2'), 1)
    >>> written_answer("**Final answer:** It is Paris [P1].").answer
    'It is Paris [P1].'
    """
    body = filled_body(text)
    if "{" not in body and not body.lstrip("` \n").startswith("["):
        body = without_open_citation(body)
    found, is_broken = find_json(body)
    best, plain = best_json(found), plain_text(body).strip()
    value = best.value if best is not None else None
    if isinstance(value, list) and value and best is not None and plain == body[best.start : best.end].strip():
        value = value[0] if value and isinstance(value[0], dict) else {"answer": value}
    members = by_lower_name(value)
    if best is not None and (any(name in members for name in _ANSWER) or truth_of(members.get("sufficient")) is False):
        return _AnswerReader(int(not best.whole)).read(members)
    if is_broken or any(not one.whole for one in found) or starts_as_json(plain):
        raise unusable(body, "an answer in JSON")
    return WrittenAnswer(_answer_in_prose(plain))


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
        steps, claims = (
            tuple(self._written_steps(members.get("inference"))),
            tuple(self._written_claims(members.get("claims"))),
        )
        markers = self._cited_markers(first_member(members, *_CITED))
        named = members.get("entities") is not None
        return WrittenAnswer(answer, entities, steps, claims, markers, sufficient, self.dropped, named)

    def _entity_numbers(self, value: Any) -> Iterator[int]:
        for member in _as_list(value):
            for part in member.split(",") if isinstance(member, str) else [member]:
                number = whole_number(first_member(part, "n", "number", "id") if isinstance(part, dict) else part)
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


def _answer_in_prose(plain: str) -> str:
    before, *rest = _HEADING.split(plain)
    sections = dict(zip(rest[-2::-2], rest[::-2], strict=True))  # of several with one number, the first
    answer = sections.get("1") or before.strip() or (rest[1] if rest else "")
    answer = _LEAD_IN.sub("", answer.strip(), count=1).strip().removeprefix("**").removesuffix("**").strip()
    if not answer:
        raise empty_reply()
    return answer
