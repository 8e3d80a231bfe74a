"""A request to a SPARQL endpoint as a value, who asks, and what sends it."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import metadata
from typing import Any, Literal, Protocol, TypeAlias

from kgsparql.errors import CancelledError, EndpointReplyError, EndpointTimeoutError, OptionError
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.terms import printable

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "DESCRIPTION"]
"""The form of a query; ``DESCRIPTION`` is a request without a query, for the service description."""

CONTACT_VARIABLE = "KGSPARQL_CONTACT"
"""Names who asks, for the operators of an endpoint: an e-mail address or a URL."""
_CONTACT = re.compile(r"(?:mailto:)?[!-'*-~]+@[!-'*-~]+\.[!-'*-~]+|https?://[!-'*-~]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What ends a request.

    :param query_s: seconds for one try, from its name server to the last byte.
    :param deadline: of all there is to do, as ``time.monotonic`` tells it: probing, waiting for a turn, trying again.
    :param sent: called before each request that is sent, those that probe the endpoint too.
    """

    query_s: float
    deadline: float
    cancel: threading.Event | None = None
    sent: Callable[[], None] | None = None

    @property
    def left_s(self) -> float:
        """Seconds until the deadline, or less than 0."""
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("stopped while an endpoint was asked")
        return self.deadline - time.monotonic()


@dataclass(frozen=True, slots=True)
class SparqlRequest:
    """A query for an endpoint, or a request for its service description. It may take several HTTP requests.

    :param name: of the query, as errors call it; empty for a user's own.
    :param timeout_s: for one try, from its name server to the last byte of the reply.
    :param secrets: what a server may echo and nobody may see.
    :param deadline: of all tries, and of reading the reply, as ``time.monotonic`` tells it.
    :param sent: called before it is sent; not where the reply comes out of a cache or a recording.
    """

    url: str
    name: str
    text: str
    timeout_s: float
    secrets: tuple[str, ...] = field(default=(), repr=False)
    profile: EndpointProfile = field(default=UNKNOWN, repr=False)
    form: Form = "SELECT"
    parameters: Mapping[str, str] = field(default_factory=dict)
    deadline: float = field(default=math.inf, compare=False, repr=False)
    cancel: threading.Event | None = field(default=None, compare=False, repr=False)
    sent: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    @property
    def what(self) -> str:
        """The query, as errors call it."""
        return f"query {self.name}" if self.name else "the query"

    def raise_if_over(self) -> None:
        """Raise an error at the deadline, or when the question was stopped."""
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("stopped while the reply of an endpoint was read")
        if time.monotonic() > self.deadline:
            message = f"{self.url}: the reply to {self.what} could not be read in time"
            raise EndpointTimeoutError(message, hint="ask for less at once", **self.detail())

    def detail(self, **more: Any) -> dict[str, Any]:
        """Make the ``detail`` of an error about this request."""
        return {"url": self.url, "query": self.text, **more}

    def reply_error(self, message: str, code: str, hint: str, **detail: Any) -> EndpointReplyError:
        """Make the error of a reply that holds no whole result."""
        return EndpointReplyError(f"{self.url}: {message}", code=code, hint=hint, **self.detail(**detail))

    def partial_error(self, message: str, **detail: Any) -> EndpointReplyError:
        """Make the error of a reply that breaks off; the message follows the name of the query."""
        hint = "the server may have run out of time: ask for less at once"
        return self.reply_error(f"the reply to {self.what} {message}", "E_PARTIAL", hint, **detail)

    def timed_out(self, *, said: str = "", status: int | None = None) -> EndpointTimeoutError:
        """Make the error of a query that took too long: by our clock, or as the server says."""
        message = f"{self.url} stopped {self.what} because it took too long"
        if not said and status is None:
            message = f"{self.url} did not answer {self.what} within {self.timeout_s:.3g} s"
        detail = self.detail(timeout_s=self.timeout_s, said=said, status=status)
        return EndpointTimeoutError(message, hint="ask for less at once, or try again later", **detail)


class Sender(Protocol):
    """Brings a request to an endpoint: over HTTP, within rate limits, or out of a cache or a recording."""

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status."""


def checked_contact(url: str, *, needed: bool) -> str:
    """Read the e-mail address or URL in :data:`CONTACT_VARIABLE`; empty without one."""
    contact = os.environ.get(CONTACT_VARIABLE, "").strip()
    message = ""
    if contact and not _CONTACT.fullmatch(contact):
        message = f"{CONTACT_VARIABLE}: {printable(contact, 60)!r} is neither an e-mail address nor a URL"
    elif needed and not contact:
        message = f"{url} is asked only by those who say how they can be reached"
    if message:
        raise OptionError(message, hint=f"export {CONTACT_VARIABLE}=you@example.org (or the URL of a page about you)")
    return contact


@cache
def user_agent(contact: str) -> str:
    """Write the ``User-Agent`` of requests: kgsparql, its version, who asks, and its page."""
    package = metadata("kgsparql")
    pages = (entry.partition(",")[2].strip() for entry in package.get_all("Project-URL") or ())
    comment = "; ".join(part for part in (contact, next(pages, "")) if part)
    return f"kgsparql/{package['Version']}" + (f" ({comment})" if comment else "")
