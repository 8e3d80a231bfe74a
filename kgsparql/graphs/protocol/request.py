"""A request to a SPARQL endpoint, its limits, and the reply, as values; and what sends one."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from kgsparql.budget import Usage
from kgsparql.errors import CancelledError, EndpointReplyError, EndpointTimeoutError
from kgsparql.graphs.profiles.profile import UNKNOWN, EndpointProfile

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "DESCRIPTION"]
"""The form of a query; ``DESCRIPTION`` is a request without a query, for the service description."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What ends a request.

    :param query_s: seconds for one try, from its name server to the last byte.
    :param deadline: of all there is to do, as ``time.monotonic`` tells it: probing, waiting for a turn, trying again.
    :param cancel: ends it when it is set.
    :param sent: called before each request that is sent, those that probe the endpoint too.
    """

    query_s: float
    deadline: float
    cancel: threading.Event | None = None
    sent: Callable[[], None] | None = None

    @classmethod
    def from_now(
        cls, query_s: float, all_s: float, cancel: threading.Event | None, sent: Callable[[], None] | None = None
    ) -> RequestLimits:
        """Limits whose deadline is ``all_s`` from now; one query has no longer than that."""
        all_s = max(0.001, all_s)
        return cls(min(query_s, all_s), time.monotonic() + all_s, cancel, sent)

    def raise_if_cancelled(self) -> None:
        """:raises CancelledError: if ``cancel`` is set."""
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("stopped while an endpoint was asked")


@dataclass(frozen=True, slots=True)
class QuestionDeadline:
    """How long queries for a question may still take.

    :param usage: of the question: its time, and whether it was stopped.
    :param in_grace: as for :meth:`KnowledgeGraph.within`.
    :param most_s: seconds for each query; ``None`` for no limit of its own.
    """

    usage: Usage
    in_grace: bool = False
    most_s: float | None = None

    def left_s(self) -> float | None:
        """Seconds that are left; ``None`` if there is no limit.

        :raises CancelledError: if the question was stopped.
        :raises BudgetExceededError: if its time is over.
        """
        if self.usage.cancel.is_set():
            raise CancelledError("stopped")
        left_s = self.usage.grace_s if self.in_grace else self.usage.seconds_left
        if left_s == 0:
            self.usage.check(in_grace=self.in_grace)
        return min((limit for limit in (left_s, self.most_s) if limit is not None), default=None)

    @contextmanager
    def timeouts_as_budget(self) -> Iterator[None]:
        """Turns a timeout of a query into a BudgetExceededError, if the question's time is over."""
        try:
            yield
        except EndpointTimeoutError as error:
            waited = error.message if "waited_s" in error.detail else ""
            self.usage.check(waited, in_grace=self.in_grace, is_late=self.in_grace)
            raise


@dataclass(frozen=True, slots=True)
class SparqlRequest:
    """A query for an endpoint, or a request for its service description, with its limits.

    It may take several HTTP requests: redirects, and further tries.

    :param name: of the query, as errors call it; empty for a user's own.
    :param timeout_s: for one try, from its name server to the last byte of the reply.
    :param secrets: what a server may echo and nobody may see.
    :param profile: what is known of the endpoint now.
    :param parameters: sent beside the query.
    :param deadline: of all tries, and of reading the reply, as ``time.monotonic`` tells it.
    :param cancel: ends it when it is set.
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

    def detail(self, **more: Any) -> dict[str, Any]:
        """The ``detail`` of an error about this request."""
        return {"url": self.url, "query": self.text, **more}

    def reply_error(self, message: str, code: str, hint: str, **detail: Any) -> EndpointReplyError:
        """The error of a reply that holds no whole result."""
        return EndpointReplyError(f"{self.url}: {message}", code=code, hint=hint, **self.detail(**detail))

    def partial_error(self, message: str, **detail: Any) -> EndpointReplyError:
        """The error of a reply that breaks off; the message follows the name of the query."""
        hint = "the server may have run out of time: ask for less at once"
        return self.reply_error(f"the reply to {self.what} {message}", "E_PARTIAL", hint, **detail)


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply, unpacked.

    :param seconds: from the request to the last byte.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    seconds: float = 0.0


class Sender(Protocol):
    """Brings a request to an endpoint: over HTTP, within rate limits, or out of a cache or a recording."""

    def send(self, request: SparqlRequest) -> Reply:
        """The reply to a request, whatever its status.

        :raises UnreachableError: if there is no whole reply in time.
        :raises CancelledError: if the request's ``cancel`` is set meanwhile.
        """
