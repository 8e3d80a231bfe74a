"""One chat completion: the messages and the schema that go to a server, what it takes, and what its reply holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from typing import Literal as OneOf

from kgsparql.errors import ModelReplyError
from kgsparql.rdf.terms import printable

_NOTE = "kgsparql"
"""The member of a kept reply that we add."""

_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4
_MAX_TOKENS_OF_A_CALL = 10_000_000
"""More than any model reads or writes."""

_MAX_LINE_CHARACTERS = 300
_LOOK_ALIKES = str.maketrans({"<": "‹", ">": "›", "＜": "‹", "＞": "›", "◁": "‹", "▷": "›", "`": "'"})
# Such as [/INST], [SYSTEM_PROMPT], [TOOL_CALLS]; [P1] is none.
_CONTROL_TOKEN = re.compile(r"\[\s*(/?\s*(?:[A-Z][A-Z_]{2,}|(?i:inst|sys|think|tool|available)[a-z_]*))\s*\]")

T = TypeVar("T")

RUNGS = ("json_schema", "json_object", "text")
"""The ways to enforce the form of a reply, the strictest first."""

CAPABILITIES = "abilities"
"""The kind of exchange that keeps the capabilities of a server for a model."""

_FEWEST_REPLY_TOKENS = 64

_FORMAT_PARAMETERS = frozenset({"response_format", "json_schema", "json_object", "guided_json", "grammar", "schema"})
_SYSTEM_PARAMETERS = frozenset({"system_role", "system"})
_CONTENT_PARAMETERS = ("messages", "prompt", "input", "model")

# A refusal may repeat words of the prompt. A refusing word is about a parameter only if there are at most filling words
# between the two.
_REFUSING_WORDS = frozenset(
    "aren't can't cannot deprecated disallowed doesn't don't extra failed forbidden invalid isn't must not only "
    "unavailable unexpected unknown unrecognised unrecognized unsupported".split()
)
_FILLING_WORDS = frozenset(
    "a accept accepts an any are argument arguments be body compile currently do does field fields for given has in "
    "inference input inputs is it key keyword may model named of option options output outputs parameter parameters "
    "parse property provided request role roles specified supplied support supported supports the this to type use "
    "used value values variant was were with yet".split()
)
_SAME_PARAMETER = (
    (re.compile(r"json mode"), "json_object"),
    (re.compile(r"structured[ _]outputs?"), "json_schema"),
    (re.compile(r"(?:system|developer)['\"`]? (?:role|message|prompt|instruction)s?"), "system_role"),
    (re.compile(r"only user and \w+ roles|roles must alternate"), "system_role not"),
)
_CLAUSE = re.compile(r"[.;!?](?:\s|$)|\n")
_WORD = re.compile(r"[a-z_]+(?:['’][a-z]+)?(?:\.[a-z_]+)*|\d[\d.]*")

_TOO_MANY_TOKENS = re.compile(r"too (?:large|high|big|long)|exceed|at most|less than|maximum|reduce|context|>\s*\d")
_CONTEXT_LENGTH = re.compile(r"context[ _](?:length|window|size)\D{0,20}(\d+)")
_PROMPT_TOKENS = re.compile(
    r"(\d+) (?:input|prompt) tokens|(\d+) (?:tokens )?(?:from|in|for) (?:the|your) (?:input|messages|prompt)"
)
_MAX_TOKENS = re.compile(r"(?:at most|less than or equal to|maximum(?: \w+)* (?:is|of)|exceed|>)\W{0,4}(\d+)")


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


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: OneOf["system", "user", "assistant"]
    content: str

    def to_json(self) -> dict[str, str]:
        """Write the message as OpenAI's protocol has it."""
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
    """Make the strict JSON schema of an object with these properties, all of them required.

    >>> object_schema(n={"type": "integer"})["required"]
    ['n']
    """
    return {
        "type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Estimate how many tokens these messages have: one for four bytes, and a few for each turn.

    >>> estimated_tokens([Message("user", "a" * 40)])
    14
    """
    return sum(_TOKENS_PER_MESSAGE + -(-len(m.content.encode()) // _BYTES_PER_TOKEN) for m in messages)


def with_note(reply: Mapping[str, Any], **note: Any) -> dict[str, Any]:
    """Add a note of ours to a reply, with which it is kept.

    :param note: ``unusable``, the code of the error that the reply is; with ``message`` and ``hint`` where no whole
        reply came. ``left_out``: parameters that were set and not sent.
    """
    return {**reply, _NOTE: {**note_of(reply), **note}}


def without_note(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Drop our note from a reply, and anything from a server that looks like one."""
    return {name: value for name, value in reply.items() if name != _NOTE}


def note_of(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read our note in a reply; empty for none.

    >>> note_of(with_note(with_note({"choices": []}, left_out=["temperature"]), unusable="E_LLM_EMPTY"))
    {'left_out': ['temperature'], 'unusable': 'E_LLM_EMPTY'}
    """
    note = reply.get(_NOTE)
    return note if isinstance(note, dict) else {}


def text_of(reply: Mapping[str, Any], purpose: str) -> tuple[str, ModelReplyError | None]:
    """Read the text of a reply, and the error if it cannot be used."""
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
    """Read prompt and completion tokens as the server counts them; estimated where it gives no usable number.

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
        return count if min(estimate, 1) <= count <= _MAX_TOKENS_OF_A_CALL else estimate

    written = estimated_tokens([Message("assistant", text)]) if text else 0
    completion = counted("completion_tokens", written)
    return counted("prompt_tokens", reserved[0]), completion


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a server takes for a model, as far as its refusals have shown.

    :param limit: its parameter for the length of a reply; empty if it takes none.
    """

    rung: str = RUNGS[0]
    without: tuple[str, ...] = ()
    limit: str = "max_tokens"
    system: bool = True

    @classmethod
    def of_json(cls, known: Mapping[str, Any]) -> Capabilities:
        """Read capabilities that were kept as JSON."""
        limit, system = str(known["limit"]), bool(known["system"])
        return cls(rung=str(known["rung"]), without=tuple(known["without"]), limit=limit, system=system)

    def after(self, refusal: str) -> Capabilities | None:
        """Learn from a refusal; ``None`` if it blames no parameter that can be left out.

        >>> Capabilities().after("Unsupported value: 'temperature' does not support 0").without
        ('temperature',)
        >>> Capabilities().after("response_format of type json_schema is not supported").rung
        'json_object'
        >>> Capabilities().after("your text mentions temperature, which is not allowed") is None
        True
        """
        said, parameter = _message_and_parameter(refusal)
        if parameter.startswith(_CONTENT_PARAMETERS) and not parameter.endswith("role"):
            return None  # the content is refused, not the way of asking
        blamed = {*_blamed_names(said), "system" if parameter.endswith("role") else parameter.partition(".")[0]} - {""}
        if self.limit in blamed and not _TOO_MANY_TOKENS.search(said):
            other = "max_completion_tokens"
            return replace(self, limit=other if self.limit != other and other in said else "")
        for name in ("temperature", "seed"):
            if name in blamed and name not in self.without:
                return replace(self, without=(*self.without, name))
        if self.rung != RUNGS[-1] and blamed & _FORMAT_PARAMETERS:
            return replace(self, rung=RUNGS[RUNGS.index(self.rung) + 1])
        if self.system and blamed & _SYSTEM_PARAMETERS:
            return replace(self, system=False)
        return None


def fewer_tokens(refusal: str, tokens: int) -> int | None:
    """Read a smaller limit of tokens from a refusal that says that this one is too large; else ``None``.

    >>> fewer_tokens("max_tokens is too large. The context length is 4500, and there are 900 prompt tokens", 4096)
    3600
    >>> fewer_tokens("max_tokens is not supported", 4096) is None
    True
    """
    said, _ = _message_and_parameter(refusal)
    context, prompt = _CONTEXT_LENGTH.search(said), _PROMPT_TOKENS.search(said)
    if context and prompt:
        room = int(context[1]) - int(prompt[1] or prompt[2])
    elif re.search(r"\bmax_(?:completion_)?tokens\b", said) and _TOO_MANY_TOKENS.search(said):
        most = _MAX_TOKENS.search(said)
        room = int(most[1]) if most else tokens // 2
    else:
        return None
    room = room if room < tokens else tokens // 2
    return room if room >= _FEWEST_REPLY_TOKENS else None


def _message_and_parameter(refusal: str) -> tuple[str, str]:
    """Read the message of a refusal, and the parameter that it names or empty; both in lower case."""
    try:
        value = json.loads(refusal)
    except (ValueError, RecursionError):
        return refusal.lower(), ""
    for name in ("error", "detail"):
        value = value.get(name) or value if isinstance(value, dict) else value
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return str(first).lower(), ""
    where = first.get("param") or [part for part in first.get("loc") or () if part != "body"]
    parameter = ".".join(map(str, where)) if isinstance(where, list) else str(where)
    return str(first.get("message") or first.get("msg") or refusal).lower(), parameter.lower()


def _blamed_names(said: str) -> Iterator[str]:
    """Find the names of parameters beside which a refusing word stands."""
    for pattern, name in _SAME_PARAMETER:
        said = pattern.sub(name, said)
    names = {"temperature", "seed", "max_tokens", "max_completion_tokens", *_FORMAT_PARAMETERS, *_SYSTEM_PARAMETERS}
    for clause in _CLAUSE.split(said):
        words = [word.partition(".")[0].replace("’", "'") for word in _WORD.findall(clause)]
        for at, word in enumerate(words):
            if word in names:
                beside = (words[at + 1 :], words[:at][::-1])
                nearest = (next((w for w in some if not _is_filling(w, names)), "") for some in beside)
                if not _REFUSING_WORDS.isdisjoint(nearest):
                    yield word


def _is_filling(word: str, names: set[str]) -> bool:
    return word in _FILLING_WORDS or word in names or not word[0].isalpha()
