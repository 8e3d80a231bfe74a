"""The parameters that a model server takes for a model, learnt from the texts of its refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

RUNGS = ("json_schema", "json_object", "text")
"""The ways to enforce the form of a reply, the strictest first."""

CAPABILITIES = "abilities"
"""The kind of exchange that keeps the capabilities of a server for a model."""

_FEWEST = 64
"""No reply shorter than this is asked for."""

_SHAPE = frozenset({"response_format", "json_schema", "json_object", "guided_json", "grammar", "schema"})
_SYSTEM = frozenset({"system_role", "system"})
_CONTENT = ("messages", "prompt", "input", "model")
"""Parameters that are the request itself."""

# A refusal may repeat words of the prompt. A refusing word is about a parameter only if there are at most filling words
# between the two.
_REFUSING = frozenset(
    "aren't can't cannot deprecated disallowed doesn't don't extra failed forbidden invalid isn't must not only "
    "unavailable unexpected unknown unrecognised unrecognized unsupported".split()
)
_FILLING = frozenset(
    "a accept accepts an any are argument arguments be body compile currently do does field fields for given has in "
    "inference input inputs is it key keyword may model named of option options output outputs parameter parameters "
    "parse property provided request role roles specified supplied support supported supports the this to type use "
    "used value values variant was were with yet".split()
)
_ALIKE = (
    (re.compile(r"json mode"), "json_object"),
    (re.compile(r"structured[ _]outputs?"), "json_schema"),
    (re.compile(r"(?:system|developer)['\"`]? (?:role|message|prompt|instruction)s?"), "system_role"),
    (re.compile(r"only user and \w+ roles|roles must alternate"), "system_role not"),
)
_CLAUSE = re.compile(r"[.;!?](?:\s|$)|\n")
_WORD = re.compile(r"[a-z_]+(?:['’][a-z]+)?(?:\.[a-z_]+)*|\d[\d.]*")

_TOO_MANY = re.compile(r"too (?:large|high|big|long)|exceed|at most|less than|maximum|reduce|context|>\s*\d")
_CONTEXT = re.compile(r"context[ _](?:length|window|size)\D{0,20}(\d+)")
_PROMPT = re.compile(
    r"(\d+) (?:input|prompt) tokens|(\d+) (?:tokens )?(?:from|in|for) (?:the|your) (?:input|messages|prompt)"
)
_MOST = re.compile(r"(?:at most|less than or equal to|maximum(?: \w+)* (?:is|of)|exceed|>)\W{0,4}(\d+)")


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
        """Capabilities that were kept as JSON."""
        limit, system = str(known["limit"]), bool(known["system"])
        return cls(rung=str(known["rung"]), without=tuple(known["without"]), limit=limit, system=system)

    def after(self, refusal: str) -> Capabilities | None:
        """The capabilities after a refusal; ``None`` if it blames no parameter that can be left out.

        >>> Capabilities().after("Unsupported value: 'temperature' does not support 0").without
        ('temperature',)
        >>> Capabilities().after("response_format of type json_schema is not supported").rung
        'json_object'
        >>> Capabilities().after("your text mentions temperature, which is not allowed") is None
        True
        """
        said, parameter = _message_and_parameter(refusal)
        if parameter.startswith(_CONTENT) and not parameter.endswith("role"):
            return None  # the content is refused, not the way of asking
        blamed = {*_blamed_names(said), "system" if parameter.endswith("role") else parameter.partition(".")[0]} - {""}
        if self.limit in blamed and not _TOO_MANY.search(said):
            other = "max_completion_tokens"
            return replace(self, limit=other if self.limit != other and other in said else "")
        for name in ("temperature", "seed"):
            if name in blamed and name not in self.without:
                return replace(self, without=(*self.without, name))
        if self.rung != RUNGS[-1] and blamed & _SHAPE:
            return replace(self, rung=RUNGS[RUNGS.index(self.rung) + 1])
        if self.system and blamed & _SYSTEM:
            return replace(self, system=False)
        return None


def fewer_tokens(refusal: str, tokens: int) -> int | None:
    """A smaller limit of tokens, if the refusal says that this one is too large; else ``None``.

    >>> fewer_tokens("max_tokens is too large. The context length is 4500, and there are 900 prompt tokens", 4096)
    3600
    >>> fewer_tokens("max_tokens is not supported", 4096) is None
    True
    """
    said, _ = _message_and_parameter(refusal)
    context, prompt = _CONTEXT.search(said), _PROMPT.search(said)
    if context and prompt:
        room = int(context[1]) - int(prompt[1] or prompt[2])
    elif re.search(r"\bmax_(?:completion_)?tokens\b", said) and _TOO_MANY.search(said):
        most = _MOST.search(said)
        room = int(most[1]) if most else tokens // 2
    else:
        return None
    room = room if room < tokens else tokens // 2
    return room if room >= _FEWEST else None


def _message_and_parameter(refusal: str) -> tuple[str, str]:
    """The message of a refusal, and the parameter that it names or empty; both in lower case."""
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
    """The names of parameters beside which a refusing word stands."""
    for pattern, name in _ALIKE:
        said = pattern.sub(name, said)
    names = {"temperature", "seed", "max_tokens", "max_completion_tokens", *_SHAPE, *_SYSTEM}
    for clause in _CLAUSE.split(said):
        words = [word.partition(".")[0].replace("’", "'") for word in _WORD.findall(clause)]
        for at, word in enumerate(words):
            if word in names:
                beside = (words[at + 1 :], words[:at][::-1])
                nearest = (next((w for w in some if not _is_filling(w, names)), "") for some in beside)
                if not _REFUSING.isdisjoint(nearest):
                    yield word


def _is_filling(word: str, names: set[str]) -> bool:
    return word in _FILLING or word in names or not word[0].isalpha()
