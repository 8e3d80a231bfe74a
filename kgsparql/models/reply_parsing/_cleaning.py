"""What a model writes around its answer: reasoning and fences; and the one JSON value in what is left."""

from __future__ import annotations

import re
from typing import Any

from kgsparql.errors import ModelReplyError
from kgsparql.models.reply_parsing._scanner import scan
from kgsparql.rdf.terms import printable

__all__ = ["MAX_CHARACTERS", "body_of", "empty_reply", "json_value", "plain_text", "unusable"]

MAX_CHARACTERS = 200_000
"""A longer reply is refused unread."""

_HINT = "ask again, or ask another model"
_TAG = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection)"
_THINKS = re.compile(rf"<{_TAG}>|◁think▷|\[THINK\]", re.IGNORECASE)
_THOUGHT = re.compile(rf"</{_TAG}>|◁/think▷|\[/THINK\]", re.IGNORECASE)
_JSON_START = re.compile(r"\s*(?:`{3}\w*\s*)?(?:\{|\[\s*[\d{\[\"'\]])")
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+-]*[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_BLANK_EDGES = re.compile(r"\A(?:[^\S\n]*\n)+")


def empty_reply() -> ModelReplyError:
    """The error for a reply in which there is nothing."""
    return ModelReplyError("the model's reply is empty", hint=_HINT, code="E_LLM_EMPTY")


def unusable(text: str, wanted: str) -> ModelReplyError:
    """The error for a reply that does not hold what was asked for."""
    return ModelReplyError(f"the model's reply is not {wanted}: {printable(text, 200)}", hint=_HINT)


def body_of(text: str | None) -> str:
    """The reply without the reasoning before its answer, and without reasoning that was cut off; may be empty.

    In a reply that begins as JSON, a tag is text.

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


def plain_text(text: str) -> str:
    r"""The reply without reasoning, fences, and blank lines before and after; for answers in prose. May be empty.

    :raises ModelReplyError: if the reply is too long.

    >>> plain_text("<think>France …</think>\n\n```\nParis\n```\n")
    'Paris'
    """
    bare, fences = _FENCE_LINE.subn("", body_of(text))
    bare = bare.rstrip()
    return _BLANK_EDGES.sub("", bare.removesuffix("```") if fences % 2 else bare)


def json_value(text: str) -> Any:
    """The one JSON object or array in a reply.

    Fences, prose around it, trailing commas, Python's quotes and words, and unquoted keys are no obstacle. Of several,
    the last counts: a model that corrects itself; one with objects in it before an array of numbers or words, since
    brackets cite. Of one that breaks off, the complete members are kept; what stands at the very end may have been
    longer and is not. Of a key that is repeated, the last value counts.

    :raises ModelReplyError: if nothing can be used; ``code`` is ``E_LLM_EMPTY``, ``E_LLM_FORMAT`` or ``E_LIMIT``.

    >>> json_value('Here you are: {"choices": [{"n": 3, "score": 0.8}, {"n": 1')
    {'choices': [{'n': 3, 'score': 0.8}]}
    """
    body = body_of(text)
    if not body.strip():
        raise empty_reply()
    found = scan(body).best
    if found is None:
        raise unusable(body, "JSON")
    return found.value
