"""What a model server replies: the text in it, what makes it useless, what it used, and what we note beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgsparql.errors import ModelReplyError
from kgsparql.models.prompting import Message, estimated_tokens
from kgsparql.rdf.terms import printable

__all__ = ["note", "noted", "plain_reply", "text_of", "tokens_of"]

_OURS = "kgsparql"


def note(reply: Mapping[str, Any], **what: Any) -> dict[str, Any]:
    """A reply with something noted beside it, which is kept with it.

    :param what: ``unusable``, the code of the error that it is; with ``message`` and ``hint`` in the place of a reply
        that did not come whole. ``left_out``: parameters that were not sent, though somebody gave them.
    """
    return {**reply, _OURS: {**noted(reply), **what}}


def plain_reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A reply without what looks like a note of ours, whoever wrote it."""
    return {name: value for name, value in reply.items() if name != _OURS}


def noted(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was noted beside a reply.

    >>> noted(note(note({"choices": []}, left_out=["temperature"]), unusable="E_LLM_EMPTY"))
    {'left_out': ['temperature'], 'unusable': 'E_LLM_EMPTY'}
    """
    found = reply.get(_OURS)
    return found if isinstance(found, dict) else {}


def text_of(reply: Mapping[str, Any], purpose: str) -> tuple[str, ModelReplyError | None]:
    """The text of a reply, and what makes it useless, if anything does."""
    broken = noted(reply)
    if "message" in broken:
        return "", ModelReplyError(str(broken["message"]), code=str(broken["unusable"]), hint=str(broken["hint"]))
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    text = content if isinstance(content, str) else ""
    reason = choice.get("finish_reason")
    about = f"the model's reply ({purpose})"
    if message.get("refusal") or reason == "content_filter":
        said = printable(str(message.get("refusal") or reason), 200)
        return text, ModelReplyError(f"{about} is a refusal: {said}", code="E_LLM_REFUSED", hint="ask in other words")
    if reason == "length":
        hint = "--reply-tokens allows longer replies; a reasoning model needs many"
        return text, ModelReplyError(f"{about} was cut off at its limit of tokens", code="E_LLM_LENGTH", hint=hint)
    if not text.strip():
        return text, ModelReplyError(
            f"{about} is empty", code="E_LLM_EMPTY", hint="try another model; kgsparql doctor tests this one"
        )
    return text, None


def tokens_of(reply: Mapping[str, Any], reserved: tuple[int, int], text: str) -> tuple[int, int]:
    """Prompt and completion tokens as the server counted them, or our own estimate where it says nothing sensible.

    :param reserved: what the call may use; counted for a reply that did not come whole.
    """
    if "message" in noted(reply):
        return reserved
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    guess = estimated_tokens([Message("assistant", text)])
    found = []
    for name, own in (("prompt_tokens", reserved[0]), ("completion_tokens", guess)):
        count = usage.get(name)
        found.append(count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else own)
    return found[0], found[1]
