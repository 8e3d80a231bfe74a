"""A reply without the reasoning and fences around its answer, and the JSON in it, repaired where that is certain."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kgsparql.errors import ModelReplyError
from kgsparql.rdf.terms import printable

MAX_CHARACTERS = 200_000
"""A longer reply is refused."""

_HINT = "ask again, or ask another model"
_TAG = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection)"
_THINKS = re.compile(rf"<{_TAG}>|◁think▷|\[THINK\]", re.IGNORECASE)
_THOUGHT = re.compile(rf"</{_TAG}>|◁/think▷|\[/THINK\]", re.IGNORECASE)
_JSON_START = re.compile(r"\s*(?:`{3}\w*\s*)?(?:\{|\[\s*[\d{\[\"'\]])")
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+-]*[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_BLANK_EDGES = re.compile(r"\A(?:[^\S\n]*\n)+")

_MAX_DEPTH = 100
_OPENING = re.compile(r"[\[{]")
_DAMAGED = re.compile(r"""\{\s*[\\"'“]|\[\s*[\[{"'“]""")
_JSON = re.compile(
    r"""\{\s*+(?:[\\"'“}]|\w{1,100}+\s*+:|\Z)"""
    r"""|\[\s*+(?:["'“\[{\]]|-?[\d.]++(?:[eE][-+]?\d++)?\s*+(?:[,\]]|\Z)|-?(?:[Tt]rue|[Ff]alse|null|None|NaN|Inf)|\Z)"""
)

# A quote ends a string only where JSON could go on after it: models forget to escape quotes inside. All quantifiers are
# possessive (++, *+), so that the time stays linear whatever the text.
_END = r"\s*+(?:[,:}\]]|\Z)"
_STRING = rf'"(?:[^"\\]++|\\.|"(?!{_END}))*+(?:"|\\?\Z)'
_TOKEN = re.compile(rf"[\[\]{{}},]|{_STRING}", re.DOTALL)
_LOOSE = re.compile(
    rf"{_STRING}|'(?:[^'\\]++|\\.|'(?!{_END}))*+(?:'|\\?\Z)|“[^”]*+(?:”|\Z)|,(?=\s*+[\]}}])"
    r"|(?<![\w.+-])(?:[A-Za-z_]\w*+|\d{1,9}+(?=\s*+:))",
    re.DOTALL,
)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|["\\]')
_WORDS = {"True": "true", "False": "false", "None": "null"}
_WORDS |= {word: word for word in ("true", "false", "null", "NaN", "Infinity")}


def empty_reply() -> ModelReplyError:
    """The error for an empty reply."""
    return ModelReplyError("the model's reply is empty", hint=_HINT, code="E_LLM_EMPTY")


def unusable(text: str, wanted: str) -> ModelReplyError:
    """The error for a reply that is not what was wanted."""
    return ModelReplyError(f"the model's reply is not {wanted}: {printable(text, 200)}", hint=_HINT)


def body_of(text: str | None) -> str:
    """The reply without the reasoning before its answer, and without reasoning that breaks off; may be empty.

    In a reply that begins as JSON, tags are text.

    :raises ModelReplyError: if the reply is longer than ``MAX_CHARACTERS``; ``code`` is ``E_LIMIT``.
    """
    text = text or ""
    if len(text) > MAX_CHARACTERS:
        raise ModelReplyError(
            f"the model's reply has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read",
            hint="limit the tokens of a reply", code="E_LIMIT",
        )  # fmt: skip
    if _JSON_START.match(text):
        return text
    ends = [tag.end() for tag in _THOUGHT.finditer(text)]
    text = text[ends[-1] :] if ends else text
    thinks = _THINKS.search(text)
    return text[: thinks.start()] if thinks else text


def filled_body_of(text: str) -> str:
    """As :func:`body_of`.

    :raises ModelReplyError: also if nothing is left; ``code`` is ``E_LLM_EMPTY``.
    """
    body = body_of(text)
    if not body.strip():
        raise empty_reply()
    return body


def plain_text(text: str) -> str:
    r"""The reply without reasoning, fences, and blank lines at its ends; may be empty.

    :raises ModelReplyError: if the reply is too long.

    >>> plain_text("<think>France …</think>\n\n```\nParis\n```\n")
    'Paris'
    """
    bare, fences = _FENCE_LINE.subn("", body_of(text))
    bare = bare.rstrip()
    return _BLANK_EDGES.sub("", bare.removesuffix("```") if fences % 2 else bare)


def json_value(text: str) -> Any:
    """The one JSON object or array in a reply.

    It may have fences or prose around it, trailing commas, Python's quotes and words, and unquoted keys. Of several the
    last counts, since models correct themselves; but values with objects come before arrays of numbers or words, which
    may be citations. Of a value that breaks off, the complete members are kept; of a repeated key, the last value.

    :raises ModelReplyError: if nothing can be used; ``code`` is ``E_LLM_EMPTY``, ``E_LLM_FORMAT`` or ``E_LIMIT``.

    >>> json_value('Here you are: {"choices": [{"n": 3, "score": 0.8}, {"n": 1')
    {'choices': [{'n': 3, 'score': 0.8}]}
    """
    body = filled_body_of(text)
    found = scan(body).best
    if found is None:
        raise unusable(body, "JSON")
    return found.value


@dataclass(frozen=True, slots=True)
class JsonSpan:
    """An object or array in a text.

    :param start: the index of its first bracket; ``end`` is the index after its last.
    :param whole: whether it is closed; otherwise the text ends first, and ``value`` has its complete members.
    """

    value: dict[str, Any] | list[Any]
    start: int
    end: int
    whole: bool

    @property
    def rank(self) -> int:
        """2 for objects and arrays of objects, 1 for other arrays, which may be citations, 0 for empty ones."""
        if isinstance(self.value, dict):
            return 2 if self.value else 0
        return 2 if any(isinstance(member, dict) for member in self.value) else int(bool(self.value))


@dataclass(frozen=True, slots=True)
class Scan:
    """All outermost objects and arrays of a text.

    :param found: in the order of the text; the last one may be cut.
    """

    found: tuple[JsonSpan, ...]
    damaged: bool

    @property
    def best(self) -> JsonSpan | None:
        """The answer among them: of the highest rank, whole rather than cut, and the last of those."""
        return max(self.found, key=lambda span: (span.rank, span.whole, span.start), default=None)


def scan(text: str) -> Scan:
    """Find the objects and arrays of a text, in time linear in its length.

    >>> [found.value for found in scan('first {"a": [1, 2,]} then {b: 3} and [12, 1').found]
    [{'a': [1, 2]}, {'b': 3}, [12]]
    """
    found, damaged, at = [], False, 0
    while opening := _OPENING.search(text, at):
        at = start = opening.start()
        if not _JSON.match(text, start):
            at += 1
            continue
        at, whole, readings = _extent(text, start)
        value = next((value for reading in readings if (value := _json_value(reading)) is not None), None)
        if value or (value is not None and whole):
            found.append(JsonSpan(value, start, at, whole))
        else:  # what is inside a broken object is not read by itself
            damaged |= not whole or _DAMAGED.match(text, start) is not None
    return Scan(tuple(found), damaged)


def _extent(text: str, start: int) -> tuple[int, bool, list[str]]:
    """Where a bracket ends, whether it is closed there, and texts to parse; none if its brackets do not match.

    For what is not closed there are two texts, with the brackets closed: after the last string, and after the last
    member that is certainly complete.
    """
    stack: list[str] = []
    member = string = (0, 0)  # where each ended, and in how many brackets
    broken = False
    for token in _TOKEN.finditer(text, start):
        char = text[token.start()]
        if char in "[{":
            stack.append("]" if char == "[" else "}")
            broken |= len(stack) > _MAX_DEPTH
        elif char in "]}":
            broken |= stack.pop() != char
            if not stack:
                return token.end(), True, [] if broken else [text[start : token.end()]]
            member = token.end(), len(stack)
        elif char == ",":
            member = token.start(), len(stack)
        else:
            string = token.end(), len(stack)
    ends = [end for end in (string, member) if end[0]] if not broken else []
    return len(text), False, [text[start:at] + "".join(reversed(stack[:depth])) for at, depth in ends]


def _json_value(text: str) -> Any:
    """The value of a text as JSON, or as the JSON-like text of a model; ``None`` if it is neither."""
    for reading in (text, _LOOSE.sub(_strict_token, text)):
        with suppress(ValueError):
            value = json.loads(reading, strict=False)
            if "\\ud" in reading.lower():  # lone surrogates are replaced
                whole = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
                value = json.loads(whole.decode("utf-16-le", "replace"))
            return value
    return None


def _strict_token(token: re.Match[str]) -> str:
    """A token as JSON has it: strings in double quotes, Python's words, keys without quotes, no comma at the end."""
    text = token.group()
    if text == ",":
        return ""
    if text[0] not in "\"'“":
        return _WORDS.get(text, f'"{text}"')
    inside = text[1:-1].replace("\\'", "'")
    return '"' + _ESCAPE.sub(lambda char: char[0] if len(char[0]) > 1 else "\\" + char[0], inside) + '"'


def by_lower_name(value: dict[str, Any]) -> dict[str, Any]:
    """The members of a JSON object by their names in lower case."""
    return {name.casefold(): member for name, member in value.items()}
