"""Keys and passwords taken out of whatever is shown, logged or kept."""

from __future__ import annotations

import os
import re

__all__ = ["KEY_VARIABLE", "redacted"]

KEY_VARIABLE = "OPENAI_API_KEY"

_SHORTEST = 6
"""Characters from which a value is taken for a secret: `none`, which servers without keys are given, is not."""

_IN_AUTHORITY = re.compile(r"(?<=://)[^/\s@'\"<>]+@")
_IN_QUERY = re.compile(r"(?i)(?<=[?&])((?:api[-_]?key|access[-_]?token|key|token|password)=)[^&\s#'\"<>]+")


def redacted(text: str, *secrets: str | None) -> str:
    """The text with ``***`` in place of these secrets, of the key in the environment, and of credentials in URLs.

    >>> redacted("POST https://me:pass@host/sparql?api_key=abc failed")
    'POST https://***@host/sparql?api_key=*** failed'
    """
    for secret in (*secrets, os.environ.get(KEY_VARIABLE)):
        if secret and len(secret) >= _SHORTEST:
            text = text.replace(secret, "***")
    return _IN_QUERY.sub(r"\1***", _IN_AUTHORITY.sub("***@", text))
