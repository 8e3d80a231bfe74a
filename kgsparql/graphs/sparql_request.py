"""What is sent to a SPARQL endpoint, and what comes back, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from kgsparql.errors import InputError

__all__ = ["Address", "Form", "Reply", "Sent", "is_address"]

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]


def is_address(source: object) -> bool:
    """Whether a source is the URL of a server.

    >>> is_address("https://example.org/sparql"), is_address("data.ttl")
    (True, False)
    """
    return isinstance(source, str) and source.strip().lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is.

    :param url: without user and password, so that it may be shown.
    :param origin: scheme, host and port, which no redirect leaves.

    >>> address = Address.parse("https://me:secret@example.org/sparql#top")
    >>> address.url, address.user, address.origin
    ('https://example.org/sparql', 'me', ('https', 'example.org', 443))
    """

    url: str
    origin: tuple[str, str, int]
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that a URL names.

        :raises InputError: for a URL without a host, of another scheme, or with half of the credentials.
        """
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise InputError(f"{text}: not a URL: {error}", hint="for example https://host/sparql") from error
        scheme = parts.scheme.lower()
        if scheme not in {"http", "https"} or not host or any(char.isspace() for char in text.strip()):
            raise InputError(f"{text}: not the URL of an endpoint", hint="for example https://host/sparql")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if bool(user) != bool(password):
            raise InputError(f"{text}: needs user and password both", hint="USER:PASSWORD@ before the host")
        shown = parts.netloc.rpartition("@")[2]
        url = urlunsplit((scheme, shown, parts.path or "/", parts.query, ""))
        return cls(url, (scheme, host, port or (443 if scheme == "https" else 80)), user, password)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, as errors tell of it.

    :param secret: what a server may say back to us and nobody may see.
    """

    url: str
    name: str
    text: str
    timeout_s: float
    secret: str = field(default="", repr=False)

    @property
    def what(self) -> str:
        """The query, as errors call it."""
        return f"query {self.name}" if self.name else "the query"

    def detail(self, **more: Any) -> dict[str, Any]:
        """What an error keeps for who looks closer."""
        return {"url": self.url, "query": self.text, **more}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, all of it, unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
