"""Who asks: the contact in the ``User-Agent`` of requests, for the operators of an endpoint."""

from __future__ import annotations

import os
import re
from importlib.metadata import metadata

from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

CONTACT_VARIABLE = "KGSPARQL_CONTACT"

_HINT = f"export {CONTACT_VARIABLE}=you@example.org (or the URL of a page about you)"
_CONTACT = re.compile(r"(?:mailto:)?[!-'*-~]+@[!-'*-~]+\.[!-'*-~]+|https?://[!-'*-~]+", re.ASCII)


def checked_contact(url: str, *, needed: bool) -> str:
    """The e-mail address or URL in :data:`CONTACT_VARIABLE`; empty without one.

    :raises OptionError: if it is needed and missing, or is neither an address nor a URL.
    """
    contact = os.environ.get(CONTACT_VARIABLE, "").strip()
    if contact and not _CONTACT.fullmatch(contact):
        raise OptionError(
            f"{CONTACT_VARIABLE}: {printable(contact, 60)!r} is neither an e-mail address nor a URL", hint=_HINT
        )
    if needed and not contact:
        raise OptionError(f"{url} is asked only by those who say how they can be reached", hint=_HINT)
    return contact


def user_agent(contact: str) -> str:
    """The ``User-Agent`` of requests.

    >>> user_agent("me@example.org").partition("/")[0], user_agent("me@example.org").endswith("(me@example.org)")
    ('kgsparql', True)
    """
    package = metadata("kgsparql")
    pages = (entry.partition(",")[2].strip() for entry in package.get_all("Project-URL") or ())
    comment = "; ".join(part for part in (contact, next(pages, "")) if part)
    return f"kgsparql/{package['Version']}" + (f" ({comment})" if comment else "")
