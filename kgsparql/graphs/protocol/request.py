"""What is sent to a SPARQL endpoint, and what comes back, as values."""

from __future__ import annotations

import math
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import unquote, unquote_plus, urlsplit, urlunsplit

from kgsparql.errors import InputError
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile
from kgsparql.rdf.terms import printable
from kgsparql.redaction import is_secret_parameter, spelt, unreadable_url

__all__ = ["Address", "Form", "Reply", "Sender", "SparqlRequest", "is_address"]

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "DESCRIPTION"]
"""Of a query, or, for a request without one, the description of the service."""


def is_address(source: object) -> bool:
    """Whether a source is the URL of a server.

    >>> is_address("https://example.org/sparql"), is_address("data.ttl")
    (True, False)
    """
    return isinstance(source, str) and source.strip().lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is.

    :param url: without user, password, and what in its query is or may be a key, so that it may be shown.
    :param target: the same with those keys, as it is asked.
    :param origin: scheme, host and port, which no redirect leaves.
    :param keys: the values of those keys.

    >>> address = Address.parse("https://me:secret@example.org/sparql?apikey=1234&infer=1#top")
    >>> address.url, address.user, address.origin
    ('https://example.org/sparql?infer=1', 'me', ('https', 'example.org', 443))
    """

    url: str
    target: str = field(repr=False)
    origin: tuple[str, str, int]
    keys: tuple[str, ...] = field(default=(), repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What a server may say back of the credentials and keys: as they are, encoded, and as a header has them."""
        pair = f"{self.user}:{self.password}" if self.user else ""
        header = b64encode(pair.encode()).decode("ascii")
        return spelt([self.password, pair, header, header.rstrip("="), *self.keys])

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that a URL names.

        :raises InputError: for a URL without a host, of another scheme, or with half of the credentials.
        """
        named, example = printable(unreadable_url(text), 200), "for example https://host/sparql"
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname or "", parts.port
        except ValueError:  # its words have parts of the password in them, where that is what is wrong
            raise InputError(f"{named}: not a URL", hint=example) from None
        scheme = parts.scheme.lower()
        if scheme not in {"http", "https"} or not host or any(char.isspace() for char in text.strip()):
            raise InputError(f"{named}: not the URL of an endpoint", hint=example)
        if "@" in parts.path and ":" in parts.netloc and "@" not in parts.netloc:
            raise InputError(f"{named}: not a URL", hint="a / in user or password is written %2F, an @ in the path %40")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if bool(user) != bool(password):
            raise InputError(f"{named}: needs user and password both", hint="USER:PASSWORD@ before the host")
        where, path = parts.netloc.rpartition("@")[2], parts.path or "/"
        fields = [pair.partition("=") for pair in parts.query.split("&")]
        secret = [is_secret_parameter(unquote_plus(name), unquote_plus(value)) for name, _, value in fields]
        query = "&".join("".join(pair) for pair, is_secret in zip(fields, secret, strict=True) if not is_secret)
        keys = [value for (_, _, value), is_secret in zip(fields, secret, strict=True) if is_secret]
        return cls(
            url=urlunsplit((scheme, where, path, query, "")),
            target=urlunsplit((scheme, where, path, parts.query, "")),
            origin=(scheme, host, port or (443 if scheme == "https" else 80)),
            keys=(*keys, *map(unquote_plus, keys)),
            user=user,
            password=password,
        )


@dataclass(frozen=True, slots=True)
class SparqlRequest:
    """A query on its way to an endpoint, or a request for the description of that, with its limits.

    What it takes may be several requests of HTTP: redirected, or tried again.

    :param name: of the query, as errors call it; empty for a user's own.
    :param timeout_s: for one try, from its name server to the last byte of the reply.
    :param secrets: what a server may say back to us and nobody may see.
    :param profile: what is known of the endpoint now.
    :param sent: called before it is sent; not where the reply is known.
    :param deadline: of reading the reply, too, as ``time.monotonic`` tells it; or it ends when ``cancel`` is set.
    """

    url: str
    name: str
    text: str
    timeout_s: float
    secrets: tuple[str, ...] = field(default=(), repr=False)
    profile: EndpointProfile = field(default=UNKNOWN, repr=False)
    deadline: float = field(default=math.inf, compare=False, repr=False)
    cancel: threading.Event | None = field(default=None, compare=False, repr=False)
    sent: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    @property
    def what(self) -> str:
        """The query, as errors call it."""
        return f"query {self.name}" if self.name else "the query"

    def detail(self, **more: Any) -> dict[str, Any]:
        """What an error keeps for who looks closer."""
        return {"url": self.url, "query": self.text, **more}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, all of it, unpacked.

    :param seconds: from the request to the last byte.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    seconds: float = 0.0


class Sender(Protocol):
    """Brings a query to an endpoint: over HTTP, with manners, or out of a recording."""

    def send(
        self,
        request: SparqlRequest,
        form: Form,
        *,
        parameters: Mapping[str, str],
        left_s: float,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """The reply to a query.

        :param parameters: sent beside the query.
        :param left_s: until the deadline of all there is to do, waiting for a turn and trying again included. It may be
            more than ``request.timeout_s``, or less: what looking round took may be gone from it.
        :raises UnreachableError: if there is no whole reply in time.
        :raises CancelledError: if ``cancel`` is set meanwhile.
        """
        ...
