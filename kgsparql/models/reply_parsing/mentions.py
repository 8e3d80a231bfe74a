"""The mentions a model finds in a question."""

from __future__ import annotations

import re
from typing import Any

from kgsparql.models.reply_parsing.choices_in_text import says_none, without_marks
from kgsparql.models.reply_parsing.cleaning import by_lower_name, filled_body_of, plain_text, scan, unusable
from kgsparql.models.reply_parsing.verdicts import truth_of

_MAX_MENTION = 300
_TEXT_KEYS = ("mention", "text", "name", "entity", "label")
_BULLET = re.compile(r"^\s*(?:[-*•+–‣]\s+|\(?\d{1,3}[.)]\s+)(?=\S)")
_TOPIC = r"\b(?:entit(?:y|ies)|mentions?|keywords?|terms?|names?|concepts?|extracted|answer|output|result|following)\b"
_LEAD_IN = re.compile(r"^(?P<lead>[^:]{0,200}):\s*(?P<rest>.*)$")
_VERB_LEAD_IN = re.compile(rf"^.{{0,80}}?{_TOPIC}[^:,]{{0,80}}?\b(?:are|is|include)\b:?\s*(?P<rest>.*)$", re.IGNORECASE)
_TOPIC_WORD = re.compile(_TOPIC, re.IGNORECASE)
_PART = re.compile(r"(?:\([^()]{0,300}\)|\[[^\[\]]{0,300}\]|\"[^\"]{0,300}\"|“[^“”]{0,300}”|[^,，、])++")
# Words of a refusal; "I" only before a small letter, because "World War I, Ann" is a list.
_REFUSAL = re.compile(
    r"\b(?:I(?: [a-z]|['’](?:m|ve|d|ll)\b)|[Ss]orry\b|[Uu]nfortunately\b|(?i:as an ai\b|cannot\b|can['’]t\b|unable to\b"
    r"|there (?:are|is|were) no\b|no (?:entit|mention|name)|tut mir leid|lo siento|désolé))|抱歉|对不起|無法|无法"
)
_LAST_AND = re.compile(r"^(?:and|or|&)\s+", re.IGNORECASE)


def mentions(text: str) -> list[tuple[str, bool]]:
    """The mentions in a reply, each with whether it names a type; in their order, each once.

    In JSON, bullets and lines a comma is part of a mention; in a single line it separates mentions, except in
    parentheses and quotes.

    :raises ModelReplyError: if the reply is empty (``E_LLM_EMPTY``), too long (``E_LIMIT``), or a sentence
        (``E_LLM_FORMAT``).

    >>> mentions('[{"mention": "Nobel Prize", "is_type": false}, {"mention": "city", "is_type": true}]')
    [('Nobel Prize', False), ('city', True)]
    >>> mentions("The extracted entities are: Paris, Mercury (planet, inner)")
    [('Paris', False), ('Mercury (planet, inner)', False)]
    """
    body = filled_body_of(text)
    read, plain = scan(body), plain_text(body)
    best = read.best
    found = None if best is None else _mentions_of_json(best.value)
    is_json = read.damaged or (best is not None and (best.rank == 2 or plain.startswith(("{", "["))))
    if found is None and not is_json and (names := _mentions_of_text(plain)) is not None:
        found = [(name, False) for name in names]
    if found is None:
        raise unusable(plain, "a list of mentions")
    kept: dict[str, tuple[str, bool]] = {}
    for mention, is_type in found:
        clean = " ".join(mention.split())
        if 0 < len(clean) <= _MAX_MENTION and any(char.isalnum() for char in clean):
            kept.setdefault(clean.casefold(), (clean, is_type))
    return list(kept.values())


def _mentions_of_json(value: Any) -> list[tuple[str, bool]] | None:
    if isinstance(value, dict):
        return _mentions_of_object(value)
    members = [_mention_of_member(member) for member in value]
    if value and all(member is None for member in members):
        return None
    return [member for member in members if member is not None]


def _mentions_of_object(value: dict[str, Any]) -> list[tuple[str, bool]] | None:
    lower = by_lower_name(value)
    if (one := _mention_of_member(value)) is not None:
        return [one]
    if value and all(isinstance(member, bool) for member in value.values()):
        return list(value.items())
    lists = [member for member in value.values() if isinstance(member, list)]
    listed = lower.get("mentions", lower.get("entities", lists[0] if len(lists) == 1 else None))
    if isinstance(listed, str):
        return None if _REFUSAL.search(listed) else [(part, False) for part in _parts_of(listed) if not says_none(part)]
    return _mentions_of_json(listed) if isinstance(listed, list) else None


def _mention_of_member(member: Any) -> tuple[str, bool] | None:
    if isinstance(member, str):
        return member, False
    if not isinstance(member, dict):
        return None
    lower = by_lower_name(member)
    mention = next((lower[key] for key in _TEXT_KEYS if isinstance(lower.get(key), str)), None)
    return None if mention is None else (mention, bool(truth_of(lower.get("is_type"))))


def _mentions_of_text(text: str) -> list[str] | None:
    """The mentions of bullets, lines or a comma list; ``None`` if the text is a sentence."""
    if says_none(text):
        return []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    bulleted = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)]
    if bulleted:
        return _bare_parts(bulleted)
    if _REFUSAL.search(text):
        return None
    has_lead_in = bool(lines) and (rest := _after_lead_in(lines[0])) is not None
    if has_lead_in:
        lines = [rest, *lines[1:]] if rest else lines[1:]
    if len(lines) == 1:
        parts = _bare_parts(_parts_of(lines[0]))
        return parts if has_lead_in or not _is_sentence(lines[0], parts) else None
    parts = _bare_parts(lines)
    return parts if parts and not any(_is_sentence(line, [line]) for line in lines) else None


def _after_lead_in(line: str) -> str | None:
    """What follows "The entities are:"; ``None`` for a line without such a beginning: "Star Wars: A New Hope"."""
    bare = line.replace("**", "")
    lead_in = _LEAD_IN.match(bare)
    if lead_in and _TOPIC_WORD.search(lead_in.group("lead")):
        return lead_in.group("rest").strip()
    verb = _VERB_LEAD_IN.match(bare[:2000])
    return bare[verb.start("rest") :].strip() if verb else None


def _is_sentence(line: str, parts: list[str]) -> bool:
    """Whether a line without a lead-in is prose: it ends like a sentence, or has long parts."""
    if max((len(part.split()) for part in parts), default=0) > 8:
        return True
    return line.endswith((".", "!", "?")) and len(line.split()) > 3 * len(parts)


def _parts_of(line: str) -> list[str]:
    """The parts of a line between the commas outside parentheses and quotes."""
    parts = _PART.findall(line)
    return parts if len(parts) < 3 else [*parts[:-1], _LAST_AND.sub("", parts[-1].strip())]


def _bare_parts(parts: list[str]) -> list[str]:
    bare = [without_marks(part) for part in parts]
    # A full stop ends the list, but in "Washington D.C." it does not.
    bare = [part[:-1] if part.endswith(".") and "." not in part[:-1] else part for part in bare]
    return [part for part in map(without_marks, bare) if part]
