"""One chat completion: the messages and the schema that go to a server, and what can be read from its reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from typing import Literal as OneOf

from kgsparql.errors import ModelReplyError
from kgsparql.rdf.terms import printable

_NOTE = "kgsparql"
"""The member of a kept reply that we add."""

_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4
_MOST_TOKENS = 10_000_000
"""Of one call: more than any model reads or writes."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: OneOf["system", "user", "assistant"]
    content: str

    def to_json(self) -> dict[str, str]:
        """The message as OpenAI's protocol has it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One question to a model, and how its reply becomes a value.

    :param purpose: a word or two, for events, notes and the name of the schema.
    :param schema: JSON schema of the reply, for servers that enforce one.
    :param read: makes the value from the text of the reply; raises :class:`ModelReplyError` where it cannot.
    """

    purpose: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    read: Callable[[str], T]


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The strict JSON schema of an object with these properties, all of them required.

    >>> object_schema(n={"type": "integer"})["required"]
    ['n']
    """
    return {
        "type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Roughly how many tokens these messages have: one for four bytes, and a few for each turn.

    >>> estimated_tokens([Message("user", "a" * 40)])
    14
    """
    return sum(_TOKENS_PER_MESSAGE + -(-len(m.content.encode()) // _BYTES_PER_TOKEN) for m in messages)


def with_note(reply: Mapping[str, Any], **note: Any) -> dict[str, Any]:
    """A reply with a note of ours, which is kept with it.

    :param note: ``unusable``, the code of the error that the reply is; with ``message`` and ``hint`` where no whole
        reply came. ``left_out``: parameters that were set and not sent.
    """
    return {**reply, _NOTE: {**note_of(reply), **note}}


def without_note(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A reply without our note, and without anything from a server that looks like one."""
    return {name: value for name, value in reply.items() if name != _NOTE}


def note_of(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Our note in a reply; empty for none.

    >>> note_of(with_note(with_note({"choices": []}, left_out=["temperature"]), unusable="E_LLM_EMPTY"))
    {'left_out': ['temperature'], 'unusable': 'E_LLM_EMPTY'}
    """
    note = reply.get(_NOTE)
    return note if isinstance(note, dict) else {}


def text_of(reply: Mapping[str, Any], purpose: str) -> tuple[str, ModelReplyError | None]:
    """The text of a reply, and the error if it cannot be used."""
    note = note_of(reply)
    if "message" in note:
        return "", ModelReplyError(str(note["message"]), code=str(note["unusable"]), hint=str(note["hint"]))
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
        refusal = printable(str(message.get("refusal") or reason), 200)
        return text, ModelReplyError(
            f"{about} is a refusal: {refusal}", code="E_LLM_REFUSED", hint="ask in other words"
        )
    if reason == "length":
        hint = "--reply-tokens allows longer replies; a reasoning model needs many"
        return text, ModelReplyError(f"{about} was cut off at its limit of tokens", code="E_LLM_LENGTH", hint=hint)
    if not text.strip():
        hint = "try another model; kgsparql doctor tests this one"
        return text, ModelReplyError(f"{about} is empty", code="E_LLM_EMPTY", hint=hint)
    return text, None


def tokens_of(reply: Mapping[str, Any], reserved: tuple[int, int], text: str) -> tuple[int, int]:
    """Prompt and completion tokens as the server counts them; estimated where it gives no usable number.

    None is usable that cannot be: no token for a text, or more than any model takes.

    :param reserved: what the call may use; this counts where no whole reply came.
    """
    if "message" in note_of(reply):
        return reserved
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}

    def counted(name: str, estimate: int) -> int:
        count = usage.get(name)
        if not isinstance(count, int) or isinstance(count, bool):
            return estimate
        return count if min(estimate, 1) <= count <= _MOST_TOKENS else estimate

    written = estimated_tokens([Message("assistant", text)]) if text else 0
    completion = counted("completion_tokens", written)
    return counted("prompt_tokens", reserved[0]), completion
