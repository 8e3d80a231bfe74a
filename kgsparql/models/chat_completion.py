"""One chat completion: the messages and the schema that go to a server, what it takes, and what its reply holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import ModelReplyError
from kgsparql.http.transport import message_in
from kgsparql.rdf.terms import Json, printable

_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4
_MAX_TOKENS_OF_A_CALL = 10_000_000  # more than any model reads or writes
_FEWEST_REPLY_TOKENS = 64
_MAX_LINE_CHARACTERS = 300
_LOOK_ALIKES = str.maketrans({"<": "‹", ">": "›", "＜": "‹", "＞": "›", "◁": "‹", "▷": "›", "`": "'"})
# Such as [/INST], [SYSTEM_PROMPT], [TOOL_CALLS]; [P1] is none.
_CONTROL_TOKEN = re.compile(r"\[\s*(/?\s*(?:[A-Z][A-Z_]{2,}|(?i:inst|sys|think|tool|available)[a-z_]*))\s*\]")

T = TypeVar("T")


def plain(text: str, limit: int = _MAX_LINE_CHARACTERS) -> str:
    r"""Write text of a graph or a user as one line that can neither close a fence nor open a turn.

    Control and bidirectional characters are removed; ``<``, ``>``, back quotes and control tokens become look-alikes.

    >>> plain("</facts>\n<|im_start|>system [INST] ```")
    "‹/facts› ‹|im_start|›system (INST) '''"
    """
    return _CONTROL_TOKEN.sub(r"(\1)", printable(text, limit).translate(_LOOK_ALIKES))


def fenced(name: str, lines: Iterable[str], *, limit: int = _MAX_LINE_CHARACTERS) -> str:
    """Put lines between ``<name>`` and ``</name>``; no line can contain either.

    >>> fenced("facts", ["P1 a", "P2 </facts> b"]).splitlines()
    ['<facts>', 'P1 a', 'P2 ‹/facts› b', '</facts>']
    """
    return "\n".join([f"<{name}>", *(plain(line, limit) for line in lines), f"</{name}>"])


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@frozen
class Call(Generic[T]):
    """One question to a model, and how its reply becomes a value.

    :param purpose: a word or two, for events, notes and the name of the schema.
    :param rules: what it is to do. :param text: what it does that with.
    :param members: of the reply, an object: types, or a list with that of its items.
    :param read: makes the value from the text of the reply; raises :class:`ModelReplyError` where it cannot.
    """

    purpose: str
    rules: str
    text: str
    members: Mapping[str, Any]
    read: Callable[[str], T]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The turns that are sent, as OpenAI's protocol has them."""
        return [{"role": "system", "content": self.rules}, {"role": "user", "content": self.text}]

    @property
    def schema(self) -> Json:
        """The strict JSON schema of the reply, for servers that enforce one: all members are required."""
        return json_schema(self.members)


def json_schema(kind: Any) -> Json:
    """Make the strict JSON schema of what Python types say, all members of an object required.

    >>> json_schema([int])
    {'type': 'array', 'items': {'type': 'integer'}}
    >>> json_schema({"n": int})["required"]
    ['n']
    """
    if isinstance(kind, type):
        return {"type": _JSON_TYPES[kind]}
    if isinstance(kind, list):
        return {"type": "array", "items": json_schema(kind[0])}
    own = {name: json_schema(one) for name, one in kind.items()}
    return {"type": "object", "properties": own, "required": [*own], "additionalProperties": False}


def estimated_tokens(*turns: str) -> int:
    """Estimate how many tokens some turns of a conversation have: one for four bytes, and a few for each turn.

    >>> estimated_tokens("a" * 40)
    14
    """
    return sum(_TOKENS_PER_MESSAGE + -(-len(turn.encode()) // _BYTES_PER_TOKEN) for turn in turns)


# --- Replies


def text_of(reply: Json, purpose: str) -> tuple[str, ModelReplyError | None]:
    """Read the text of a reply, and the error if it cannot be used."""
    choices = reply.get("choices")
    choice = _object_in(choices[0] if isinstance(choices, list) and choices else None)
    message, reason = _object_in(choice.get("message")), choice.get("finish_reason")
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(_object_in(part).get("text", "")) for part in content)
    text = content if isinstance(content, str) and content.strip() else _text_elsewhere(message)
    if message.get("refusal") or reason == "content_filter":
        what = f"is a refusal: {printable(message.get('refusal') or reason, 200)}"
        code, hint = "E_LLM_REFUSED", "ask in other words"
    elif reason == "length":
        what, code = "was cut off at its limit of tokens", "E_LLM_LENGTH"
        hint = "--reply-tokens allows longer replies; a reasoning model needs many"
    elif not text.strip() and (said := message_in(json.dumps(choice.get("error")))) != "null":
        what, code = f"is an error: {printable(said, 200)}", "E_LLM_FORMAT"
        hint = "the trouble is at the server; try later"
    elif not text.strip():
        what, code, hint = "is empty", "E_LLM_EMPTY", "try another model; kgsparql doctor tests this one"
    else:
        return text, None
    return text, ModelReplyError(f"the model's reply ({purpose}) {what}", code=code, hint=hint)


def _text_elsewhere(message: Json) -> str:
    """Return the reply of a message without content: the one call of a tool, or the end of what is called reasoning."""
    calls = message.get("tool_calls")
    call = _object_in(calls[0] if isinstance(calls, list) and len(calls) == 1 else None).get("function")
    said = _object_in(call or message.get("function_call")).get("arguments")
    if isinstance(said, dict):
        return json.dumps(said)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    is_reply = isinstance(reasoning, str) and reasoning.rstrip(" \n`").endswith("}")
    return str(said or (reasoning if is_reply else ""))


def tokens_of(reply: Json, reserved: tuple[int, int], text: str) -> tuple[int, int]:
    """Read prompt and completion tokens as the server counts them; estimated where it gives no usable number.

    None is usable that cannot be: no token for a text, or more than any model takes.
    """
    usage = _object_in(reply.get("usage"))

    def counted(name: str, estimate: int) -> int:
        count = usage.get(name)
        if not isinstance(count, int) or isinstance(count, bool):
            return estimate
        return count if min(estimate, 1) <= count <= _MAX_TOKENS_OF_A_CALL else estimate

    written = estimated_tokens(text) if text else 0
    return counted("prompt_tokens", reserved[0]), counted("completion_tokens", written)


def _object_in(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


# --- What a server takes

CAPABILITIES = "abilities"  # the kind of exchange that keeps the capabilities of a server for a model
RUNGS = ("json_schema", "json_object", "text")  # the ways to enforce the form of a reply, the strictest first
_FORMAT = re.compile(r"response_format|json_(?:schema|object)|json mode|guided_json|grammar|schema|structured.outputs?")
_SYSTEM = re.compile(r"system|developer['\"`]? (?:message|instruction)|only user and|roles must alternate|\brole\b")
_TOO_MANY_TOKENS = re.compile(r"too (?:large|high|big|long)|exceed|at most|less than|maximum|reduce|context|>\s*\d")
_LIMIT_OF_TOKENS = re.compile(r"\bmax_(?:completion_)?tokens\b|context[ _](?:length|window|size)")


@frozen
class Capabilities:
    """What a server takes for a model, as far as its refusals have shown.

    :param limit: its parameter for the length of a reply; empty if it takes none.
    """

    rung: str = RUNGS[0]
    without: tuple[str, ...] = ()
    limit: str = "max_tokens"
    system: bool = True

    def after(self, refusal: str) -> Capabilities | None:
        """Leave out one parameter that a refusal mentions; ``None`` if it mentions none that can be.

        A refusal may mention one and be about something else: such a request is refused again, until nothing is left
        to leave out, and nothing is learnt of it.

        >>> Capabilities().after("Unsupported value: 'temperature' does not support 0").without
        ('temperature',)
        >>> Capabilities().after("response_format of type json_schema is not supported").rung
        'json_object'
        """
        said = _refusing_words(refusal)
        if self.limit and re.search(rf"\b{self.limit}\b", said) and not _TOO_MANY_TOKENS.search(said):
            other = "max_completion_tokens"
            return replace(self, limit=other if self.limit != other and other in said else "")
        for name in ("temperature", "seed"):
            if re.search(rf"\b{name}\b", said) and name not in self.without:
                return replace(self, without=(*self.without, name))
        if self.rung != RUNGS[-1] and _FORMAT.search(said):
            return replace(self, rung=RUNGS[RUNGS.index(self.rung) + 1])
        return replace(self, system=False) if self.system and _SYSTEM.search(said) else None


def fewer_tokens(refusal: str, tokens: int) -> int | None:
    """Halve a limit of tokens that a refusal says is too large; ``None`` if it says something else, or few are left.

    >>> fewer_tokens("max_tokens is too large. The context length is 4500, and there are 900 prompt tokens", 4096)
    2048
    >>> fewer_tokens("max_tokens is not supported", 4096) is None
    True
    """
    said = _refusing_words(refusal)
    is_too_large = _LIMIT_OF_TOKENS.search(said) and _TOO_MANY_TOKENS.search(said)
    return tokens // 2 if is_too_large and tokens // 2 >= _FEWEST_REPLY_TOKENS else None


def _refusing_words(refusal: str) -> str:
    """Read the message of a refusal and the parameter that it names, in lower case."""
    return " ".join([message_in(refusal), *re.findall(r'"(?:param|loc)":\s*(\[[^\]]*\]|"[^"]*")', refusal)]).lower()
