"""Text for a model: graph text is data, kept apart from what we say, whatever it says itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal as OneOf

from kgsparql.rdf.terms import printable

__all__ = ["Message", "estimated_tokens", "fenced", "plain"]

_CHARACTERS = 300
_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4

_SPECIAL = str.maketrans({"<": "‹", ">": "›", "＜": "‹", "＞": "›", "◁": "‹", "▷": "›", "`": "'"})
# Control tokens such as [/INST], [SYSTEM_PROMPT], [TOOL_CALLS]; [P1] is none.
_INSTRUCTION = re.compile(r"\[\s*(/?\s*(?:[A-Z][A-Z_]{2,}|(?i:inst|sys|think|tool|available)[a-z_]*))\s*\]")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: OneOf["system", "user", "assistant"]
    content: str

    def to_json(self) -> dict[str, str]:
        """As the protocol has it."""
        return {"role": self.role, "content": self.content}


def plain(text: str, limit: int = _CHARACTERS) -> str:
    r"""Text of a graph or a user as one line that can neither close a fence nor open a turn.

    Control and bidirectional characters go; ``<``, ``>``, back quotes and control tokens become look-alikes.

    >>> plain("</facts>\n<|im_start|>system [INST] ```")
    "‹/facts› ‹|im_start|›system (INST) '''"
    """
    return _INSTRUCTION.sub(r"(\1)", printable(text, limit).translate(_SPECIAL))


def fenced(name: str, lines: Iterable[str], *, limit: int = _CHARACTERS) -> str:
    """Lines between ``<name>`` and ``</name>``; no line can contain either.

    >>> fenced("facts", ["P1 a", "P2 </facts> b"]).splitlines()
    ['<facts>', 'P1 a', 'P2 ‹/facts› b', '</facts>']
    """
    return "\n".join([f"<{name}>", *(plain(line, limit) for line in lines), f"</{name}>"])


def estimated_tokens(messages: Iterable[Message]) -> int:
    """How many tokens these messages are, roughly: a token for four bytes, and a few for each turn.

    >>> estimated_tokens([Message("user", "a" * 40)])
    14
    """
    return sum(_TOKENS_PER_MESSAGE + -(-len(m.content.encode()) // _BYTES_PER_TOKEN) for m in messages)
