"""Find the text and the JSON in a reply of a language model: without reasoning, fences and prose around them.

The rule for all readers: use what is complete and unambiguous, never guess. JSON that is cut or has bad escapes is not
mended: json-repair completes ``[3, 1`` to ``[3, 1]``, but the reply may have been cut inside ``12``.
A model whose reply cannot be used costs little, because the ranker chooses instead.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import accumulate
from typing import Any

from kgsparql.dataclasses import frozen
from kgsparql.errors import ModelReplyError
from kgsparql.rdf.terms import Json, json_text, printable

MAX_CHARACTERS = 200_000  # a longer reply is refused
_HINT = "ask again, or ask another model"
_TAG = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection)"
_REASONING_STARTS = re.compile(rf"<{_TAG}>|◁think▷|\[THINK\]", re.IGNORECASE)
_REASONING_ENDS = re.compile(rf"</{_TAG}>|◁/think▷|\[/THINK\]", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+-]*[ \t]*\r?(?:\n|\Z)", re.MULTILINE)


def unusable(text: str, wanted: str) -> ModelReplyError:
    """Return the error for a reply that is not what was wanted."""
    return ModelReplyError(f"the model's reply is not {wanted}: {printable(text, 200)}", hint=_HINT)


def without_reasoning(text: str | None) -> str:
    """Remove the reasoning before the answer, and reasoning that was cut off; the rest may be empty."""
    text = text or ""
    if len(text) > MAX_CHARACTERS:
        raise ModelReplyError(
            f"the model's reply has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read",
            hint="limit the tokens of a reply",
            code="E_LIMIT",
        )
    if _JSON_START.match(_FENCE.sub("", text.lstrip(), count=1)):
        return text  # tags inside JSON strings are text
    ends = [tag.end() for tag in _REASONING_ENDS.finditer(text)]
    text = text[ends[-1] :] if ends else text
    starts = _REASONING_STARTS.search(text)
    return text[: starts.start()] if starts else text


def filled_body(text: str) -> str:
    """Return the reply without its reasoning; an error for one of which nothing is left."""
    body = without_reasoning(text)
    if not body.strip():
        raise ModelReplyError("the model's reply is empty", hint=_HINT, code="E_LLM_EMPTY")
    return body


def plain_text(text: str) -> str:
    r"""Remove reasoning, code fences and outer blank lines.

    >>> plain_text("<think>France …</think>\n\n```\nParis\n```\n")
    'Paris'
    """
    bare, fences = _FENCE.subn("", without_reasoning(text))
    bare = bare.rstrip()
    return re.sub(r"\A(?:[^\S\n]*\n)+", "", bare.removesuffix("```") if fences % 2 else bare)


# --- JSON in a reply

_SCALAR = r"-?(?:[\d.]+(?:[eE][-+]?\d+)?|Infinity|NaN|true|false|null)\s*(?:[,\]]|\Z)"
_JSON_START = re.compile(rf"""\s*(?:\{{\s*(?:["'}}\\]|\w+\s*:|\Z)|\[\s*(?:["'{{\[\]]|{_SCALAR}|\Z))""")
_BRACKET = re.compile(r"[\[{]")
_WRAPPERS = frozenset("result response reply output data json answer function arguments parameters properties".split())
_MAX_WRAPPERS = 4
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")
_DECODER = json.JSONDecoder(strict=False)  # models write line feeds into strings
_MAX_DEPTH = 100


@frozen
class FoundJson:
    """One JSON value in a reply."""

    value: Any
    start: int
    end: int

    @property
    def rank(self) -> int:
        """Prefer objects (2) over arrays of numbers or words (1), which may be citations, over empty values (0)."""
        if isinstance(self.value, dict):
            return 2 if self.value else 0
        return 2 if any(isinstance(member, dict) for member in self.value) else int(bool(self.value))


def find_json(text: str) -> list[FoundJson]:
    """Find the outermost JSON values of a text, the one that answers last.

    It is of the highest rank, and the last of those. Nothing after or inside a broken value is read: it could be half
    of something else.

    >>> [found.value for found in find_json('first {"a": [1, 2,]} then [12, 1')]
    [{'a': [1, 2]}]
    """
    found: list[FoundJson] = []
    at = 0
    while bracket := _BRACKET.search(text, at):
        at = bracket.start() + 1
        if _JSON_START.match(text, bracket.start()):
            if (one := _read_json(text, bracket.start())) is None:
                break
            found.append(one)
            at = one.end
    return sorted(found, key=lambda one: (one.rank, one.start))


def _read_json(text: str, start: int) -> FoundJson | None:
    """Read the value that starts here: strictly, then without trailing commas; ``None`` if it is none."""
    for body in (text[start:], _TRAILING_COMMA.sub("", text[start:])):
        with suppress(ValueError, RecursionError):
            value, end = _DECODER.raw_decode(body)
            depths = accumulate((char in "[{") - (char in "]}") for char in body[:end])
            json_text(value).encode()  # not with half a pair of surrogates
            is_deep = max(depths) > _MAX_DEPTH
            end += len(text) - start - len(body)
            return None if is_deep else FoundJson(_inner_value(value), start, start + end)
    return None


def _inner_value(value: Any, most: int = _MAX_WRAPPERS) -> Any:
    """Take a value out of an object that only holds it, such as the call of a tool, or a result."""
    members = by_lower_name(value)
    inner = [name for name, own in members.items() if isinstance(own, dict | list) or name in _WRAPPERS]
    own = members[inner[0]] if len(inner) == 1 and inner[0] in _WRAPPERS else None
    with suppress(ValueError, RecursionError):
        own = json.loads(own) if isinstance(own, str) else own
    return _inner_value(own, most - 1) if isinstance(own, dict | list) and most else value


def json_value(text: str) -> Any:
    """Return the JSON object or array that a reply answers with: the last of the highest rank.

    >>> json_value('Here you are: {"choices": [{"n": 3, "score": 0.8}]}')
    {'choices': [{'n': 3, 'score': 0.8}]}
    """
    body = filled_body(text)
    found = find_json(body)
    if not found:
        raise unusable(body, "JSON")
    return found[-1].value


def by_lower_name(value: Any) -> Json:
    """Return the members of a JSON object, or of the only one in a list, by their names in lower case."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return {str(name).casefold(): member for name, member in value.items()} if isinstance(value, dict) else {}


def members_of(body: str) -> Json:
    """Return the members of the object that a text answers with, by their names in lower case; none without one."""
    found = find_json(body)
    return by_lower_name(found[-1].value) if found else {}


def first_member(value: Json, *names: str) -> Any:
    """Return the first of these members that is there and not null."""
    return next((value[name] for name in names if value.get(name) is not None), None)
