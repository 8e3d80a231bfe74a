"""A reply without the reasoning and fences around its answer, and the one JSON value in it."""

from __future__ import annotations

import re
from typing import Any

from kgsparql.errors import ModelReplyError
from kgsparql.models.reply_parsing._scanner import scan
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
