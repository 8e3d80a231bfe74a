"""What a model writes around its answer: reasoning, fences, channels; and the one JSON value in what is left."""

from __future__ import annotations

import json
import re
from typing import Any

from kgsparql.errors import ModelReplyError
from kgsparql.replies._scanner import Found, Scan, scan
from kgsparql.terms import printable

__all__ = ["MAX_CHARACTERS", "body_of", "empty_reply", "json_value", "plain_text", "scanned", "unusable"]

MAX_CHARACTERS = 200_000
"""A longer reply is refused unread."""

_HINT = "ask again, or ask another model"
_REASONING = re.compile(
    r"<(/?)(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection)>|◁(/?)think▷|\[(/?)THINK\]", re.IGNORECASE
)
_STOP_TOKENS = re.compile(r"(?:<\|(?:end|return|im_end|eot_id|endoftext)\|>\s*+)+\Z")
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+-]*[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_FENCE_START = re.compile(r"\A`{3,}(?:json\b)?")
_BLANK_EDGES = re.compile(r"\A(?:[^\S\n]*\n)+")
_ESCAPED_JSON = re.compile(r'[{\[,]\s*\\["n]')
_JSON_ESCAPE = re.compile(r'\\(["\\/nt])')


def empty_reply() -> ModelReplyError:
    """The error for a reply in which there is nothing."""
    return ModelReplyError("the model's reply is empty", hint=_HINT, code="E_LLM_EMPTY")


def unusable(text: str, wanted: str) -> ModelReplyError:
    """The error for a reply that does not hold what was asked for."""
    return ModelReplyError(f"the model's reply is not {wanted}: {printable(text, 200)}", hint=_HINT)


def body_of(text: str | None) -> str:
    """The reply without the reasoning before its answer; may be empty.

    Nothing before a reasoning tag that was never closed counts, and of what follows only the JSON with which the
    reply ends: everything else is reasoning that was cut off.

    :raises ModelReplyError: if the reply is longer than ``MAX_CHARACTERS``; ``code`` is ``E_LIMIT``.
    """
    text = text or ""
    if len(text) > MAX_CHARACTERS:
        raise ModelReplyError(
            f"the model's reply has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read",
            hint="limit the tokens of a reply", code="E_LIMIT",
        )  # fmt: skip
    has_tags = _REASONING.search(text) is not None
    if not (has_tags or "<|" in text) or _is_json(text):
        return text
    _, channel, final = text.rpartition("<|channel|>")
    if channel:
        text = final.removeprefix("final<|message|>") if final.startswith("final<|message|>") else ""
    text = text[:-200] + _STOP_TOKENS.sub("", text[-200:])
    return _without_reasoning(text) if has_tags else text


def _without_reasoning(text: str) -> str:
    parts: list[str] = []
    at, opened = 0, False
    for tag in _REASONING.finditer(text):
        closes = "/" in tag.group()
        if closes and not opened:
            parts.clear()  # opened by the prompt, as some servers do
        elif not closes and not opened:
            parts.append(text[at : tag.start()])
        if closes or not opened:
            at = tag.end()
        opened = not closes
    if not opened:
        return "".join([*parts, text[at:]])
    found = scan(text[at:]).found
    if found and found[-1].whole and not text[at + found[-1].end :].strip("` \t\r\n"):
        return text[at + found[-1].start :]
    return ""


def _is_json(text: str) -> bool:
    """Whether all of it is one object or array, so that a tag in it is part of a string."""
    bare = _unfenced(text)
    if not bare.startswith(("{", "[")):
        return False
    found = scan(bare).found
    return len(found) == 1 and found[0].start == 0 and found[0].whole and not bare[found[0].end :].strip()


def _unfenced(text: str) -> str:
    bare = _FENCE_LINE.sub("", text).strip()
    if bare.startswith("```") and bare.endswith("```") and len(bare) > 6:
        bare = _FENCE_START.sub("", bare[:-3], count=1).strip()
    return bare


def plain_text(text: str) -> str:
    r"""The reply without reasoning, fences, and blank lines before and after; for answers in prose. May be empty.

    :raises ModelReplyError: if the reply is too long.

    >>> plain_text("<think>France …</think>\n\n```\nParis\n```\n")
    'Paris'
    """
    body = body_of(text)
    bare, fences = _FENCE_LINE.subn("", body)
    if bare.strip().startswith("```"):
        return _unfenced(bare)
    if fences % 2:
        bare = bare.rstrip().removesuffix("```")
    return _BLANK_EDGES.sub("", bare).rstrip()


def scanned(body: str) -> Scan:
    """The objects and arrays of a reply's body, also of one that is written as a string in quotes."""
    bare = _unfenced(body)
    for _ in range(2):
        if not bare.startswith('"'):
            break
        try:
            inner = json.loads(bare, strict=False)
        except ValueError:
            break
        body = bare = inner.strip() if isinstance(inner, str) else bare
    result = scan(body)
    best = result.best
    if (best is None or best.rank < 2) and _ESCAPED_JSON.search(body):
        again = scan(_JSON_ESCAPE.sub(_plain, body))
        if again.best is None:
            return Scan(body, result.found, damaged=True)
        if best is None or again.best.rank > best.rank:
            return again
    return result


def _plain(escape: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escape.group(1), escape.group(1))


def json_value(text: str) -> Any:
    """The one JSON object or array in a reply.

    Fences, prose around it, trailing and missing commas, Python's and typographic quotes, unquoted keys, JSON within a
    string are no obstacle. Of several, the last counts: a model that corrects itself; one with objects in it before
    an array of numbers or words, since brackets cite. Of one that breaks off, the complete members are kept; what
    stands at the very end may have been longer and is not. Of a key that is repeated, the last value counts.

    :raises ModelReplyError: if nothing can be used; ``code`` is ``E_LLM_EMPTY``, ``E_LLM_FORMAT`` or ``E_LIMIT``.

    >>> json_value('Here you are: {"choices": [{"n": 3, "score": 0.8}, {"n": 1')
    {'choices': [{'n': 3, 'score': 0.8}]}
    """
    body = body_of(text)
    if not body.strip():
        raise empty_reply()
    found: Found | None = scanned(body).best
    if found is None:
        raise unusable(body, "JSON")
    return found.value
