"""What is sent to a SPARQL endpoint, and what comes back, as values."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile

__all__ = ["Form", "Reply", "Sender", "SparqlRequest"]

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "DESCRIPTION"]
"""Of a query, or, for a request without one, the description of the service."""


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
