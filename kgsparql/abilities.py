"""What a model server takes for a model, learnt from the words with which it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["ABILITIES", "FEWEST_TOKENS", "RUNGS", "Abilities", "fewer_tokens"]

RUNGS = ("json_schema", "json_object", "text")
"""How a reply is kept in shape, the strictest first."""

ABILITIES = "abilities"
"""The kind of exchange that keeps what a server takes for a model."""

FEWEST_TOKENS = 64
"""A reply that may not even be so long is not worth asking for."""

_PARAMETERS = ("temperature", "seed")
_LIMITS = ("max_completion_tokens", "max_tokens")

# A request may be refused for what is in it, and the refusal may repeat that: words that are not right beside the name
# of a parameter are not about the parameter.
_BAD = r"(?:un(?:supported|known|recogni[sz]ed|expected)|invalid|not supported|deprecated|disallowed|extra)"
_WHAT = r"(?:\s+(?:request|keyword|inference))?(?:\s+(?:parameter|argument|value|field|input|key|option)s?)?"
_CANNOT = (
    r"(?:(?:is|are|was|does|do|has|must|may|can|could|should|only)\b.{0,20}?\b"
    r"(?:not|n't|un\w+|only|deprecated|be|invalid)\b|(?:isn|doesn|don|can|aren)['’]?t\b|"
    r"extra inputs are not|unsupported|unknown|invalid|(?:is )?deprecated|not (?:supported|allowed|permitted))"
)
_UNSUPPORTED = r"(?:not|n['’]t|cannot)\s+(?:\w+\s+)?(?:support|accept|allow|take|use)\w*"
_SHAPE = r"(?:response_?format|json_schema|json_object|guided_json|structured[ _]outputs?|json[ _]mode|grammar)"
_SYSTEM = r"(?:system|developer)['\"`]?\s+(?:role|message|prompt|instruction)s?"
_ALTERNATE = re.compile(r"roles must alternate")


def _blames(name: str) -> re.Pattern[str]:
    """Finds words that refuse what is called so.

    :param name: a pattern.
    """
    quoted = rf"[\[('\"`]*\b{name}\b[\])'\"`]*"
    return re.compile(
        rf"{_BAD}{_WHAT}\s*(?:supplied|provided|given)?\s*[:=]?\s*{quoted}"
        rf"|{quoted}(?:\.\w+['\"`]?)?(?:\s+(?:parameter|value|field|of type)s?)?(?:\s+['\"`]?\w+['\"`])?"
        rf"\s*(?:\([^()]*\))?\s*[:,]?\s*{_CANNOT}"
        rf"|{_UNSUPPORTED}\s+(?:\w+\s+){{0,2}}{quoted}"
    )
