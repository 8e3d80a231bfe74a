"""Keys and passwords taken out of whatever is shown, logged or kept."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

KEY_VARIABLE = "OPENAI_API_KEY"

SHORTEST = 6  # characters of a secret: `none`, which is given to servers without keys, is not one
_LONGEST_WORD = 20
_OPEN = {"default-graph-uri", "named-graph-uri", "query"}
_HIDDEN = r"[\w.-]*(?:key|keyid|token|secret|password|passwd|pwd|pass|auth|authorization|credentials?|signature|sig)"
_NAME = re.compile(_HIDDEN, re.IGNORECASE)
_IN_AUTHORITY = re.compile(r"(?<=://)[^/\s'\"<>?#]+@")
_IN_QUERY = re.compile(rf"(?i)(?<=[?&])((?:{_HIDDEN})=)[^&\s#'\"<>]+")


def redacted(text: str, *secrets: str | None) -> str:
    """Put ``***`` in place of these secrets, of the key in the environment, and of credentials in URLs.

    >>> redacted("POST https://me:pass@host/sparql?api_key=abc failed")
    'POST https://***@host/sparql?api_key=*** failed'
    """
    return _IN_QUERY.sub(r"\1***", _IN_AUTHORITY.sub("***@", without(text, *secrets, os.environ.get(KEY_VARIABLE))))


def without(text: str, *secrets: str | None) -> str:
    """Return the text with ``***`` in place of these secrets; what is too short for a secret stays."""
    for secret in secrets:
        if secret and len(secret) >= SHORTEST:
            text = text.replace(secret, "***")
    return text


def secret_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets in every encoding in which a server may repeat them, the longest first."""
    found: set[str] = set()
    for secret in filter(None, secrets):
        in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
        found |= {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret), in_json}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def is_secret_parameter(name: str, value: str) -> bool:
    """Tell whether the value of a URL parameter is secret: by its name, or because it looks like a key.

    >>> is_secret_parameter("k3y", "8f7a9b2c"), is_secret_parameter("infer", "true")
    (True, False)
    >>> is_secret_parameter("repository", "wikidata"), is_secret_parameter("default-graph-uri", "urn:graph:1")
    (False, False)
    """
    if _NAME.fullmatch(name) is not None:
        return True
    is_plain = len(value) < SHORTEST or "://" in value or (is_word(value) and not value.isdecimal())
    return not is_plain and name.lower() not in _OPEN


def is_word(secret: str) -> bool:
    """Tell whether a secret is a word or number that ordinary texts have too: hiding it would hide those."""
    is_spelt_so = secret.islower() or secret.isupper() or secret.istitle()
    return secret.isdecimal() or (secret.isalpha() and is_spelt_so and len(secret) <= _LONGEST_WORD)


def shown_source(text: str) -> str:
    """Return what may be shown of a source that could not be opened: all of a path, less of what may be a URL."""
    return unreadable_url(text) if "://" in text or ":" in text.rpartition("@")[0] else text


def unreadable_url(text: str) -> str:
    r"""Return what may be shown of a text that is not a valid URL: the part between the last ``@`` and the first ``?``.

    Before the ``@`` may be a user and a password, after the ``?`` a key.

    >>> unreadable_url("https://me:pa/ss@host/sparql"), unreadable_url("http://host:x/sparql?apikey=1 2")
    ('***@host/sparql', 'http://host:x/sparql?***')
    """
    shown, question_mark, _ = text.strip().rpartition("@")[2].partition("?")
    return f"{'***@' if '@' in text else ''}{shown}{'?***' if question_mark else ''}"
