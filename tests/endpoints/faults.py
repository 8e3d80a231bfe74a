"""Endpoints of which every reply is known: without a socket (``Fake``), and with one (``FaultServer``)."""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from kgsparql import EndpointGraph
from kgsparql.http.transport import HttpReply, HttpRequest, Transport
from tests.endpoints.proxy import Fault, Proxy, sends

_numbers = count(1)


def fresh_url() -> str:
    """The URL of an endpoint that a transport stands in for; what is known of one is not of another."""
    return f"http://e{next(_numbers)}.localhost/sparql"


JSON = "application/sparql-results+json"
XML = "application/sparql-results+xml"
SELECT_JSON = (
    b'{"head":{"vars":["s","n"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/a"},'
    b'"n":{"type":"literal","value":"1","datatype":"http://www.w3.org/2001/XMLSchema#integer"}},'
    b'{"s":{"type":"bnode","value":"b"},"n":{"type":"literal","value":"\\u00e9","xml:lang":"fr"}}]}}'
)
ASK_JSON = b'{"head":{},"boolean":true}'
SELECT_XML = (
    b'<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="s"/>'
    b'<variable name="n"/></head><results><result><binding name="s"><uri>http://e.org/a</uri></binding>'
    b'<binding name="n"><literal xml:lang="fr">a</literal></binding></result></results></sparql>'
)


@contextmanager
def taking(*, at_least: float = 0.0, less_than: float = math.inf) -> Iterator[None]:
    """Fail where what is inside takes less or more seconds."""
    began = time.monotonic()
    yield
    assert at_least <= time.monotonic() - began < less_than


def FaultServer(fault: Fault, *, describe: Fault | None = None) -> Proxy:
    """A proxy with no engine behind it, where each request has the same fault.

    :param describe: what requests for a description of the service get; ``None`` for 404. They are in ``probes``.
    """
    return Proxy("", lambda _: fault, describe=describe or results(b"", status="404 Not Found"))


def reply(
    body: bytes, *, status: str = "200 OK", type: str | None = JSON, headers: Iterable[str] = (),  # noqa: A002
    length: int | None = None,
) -> bytes:  # fmt: skip
    """The bytes of a response."""
    kind = [f"Content-Type: {type}"] if type else []
    lines = [f"HTTP/1.1 {status}", *kind, f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def results(body: bytes = SELECT_JSON, **options: Any) -> Fault:
    """Reply always the same."""
    return sends(reply(body, **options))


def http(body: bytes = SELECT_JSON, *, status: int = 200, type: str | None = JSON, **headers: str) -> HttpReply:  # noqa: A002
    """A reply without a socket."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpReply(status, {**({"content-type": type} if type else {}), **named}, body)


class Fake:
    """An endpoint without a socket, which gives one reply after the other, and the last for ever.

    A graph that looks round is told that there is nothing else, and its requests are not in ``asked``.
    """

    def __init__(self, *replies: HttpReply | Transport) -> None:
        self.url = fresh_url()
        self.asked: list[HttpRequest] = []
        self._replies = list(replies)

    def __call__(self, request: HttpRequest) -> HttpReply:
        if request.method == "GET" and "query=" not in request.url:
            return HttpReply(404)
        self.asked.append(request)
        given = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return given(request) if callable(given) else given

    @property
    def methods(self) -> str:
        return " ".join(request.method for request in self.asked)

    def graph(self, **options: Any) -> EndpointGraph:
        return EndpointGraph(self.url, transport=self, **options)


def answering(body: bytes = SELECT_JSON, **options: Any) -> Fake:
    """Reply always the same, with no socket."""
    return Fake(http(body, **options))
