"""An HTTP server that does one thing wrong, on a socket of its own."""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Self
from urllib.parse import parse_qs

from kgsparql import EndpointGraph
from kgsparql.http.transport import HttpReply, HttpRequest, Transport
from tests.endpoints.ports import listener

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


class Request:
    """What a client sent: the request line, headers in lower case, and the fields of its form."""

    def __init__(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        self.line, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.form = {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}

    @property
    def query(self) -> str:
        return self.form.get("query", "")

    @property
    def asks_for_description(self) -> bool:
        """Whether this is a request without a query, for what the server says of itself."""
        asks = any(name in self.line for name in ("query=", "queries=", "action="))
        return self.line.startswith("GET ") and not asks and not self.query


@contextmanager
def taking(*, at_least: float = 0.0, less_than: float = math.inf) -> Iterator[None]:
    """Fail where what is inside takes less or more seconds."""
    began = time.monotonic()
    yield
    assert at_least <= time.monotonic() - began < less_than


Behaviour = Callable[[socket.socket, Request], None]


class FaultServer:
    """Calls a behaviour for each request; it writes what it wants, and the connection stays open after it.

    :param describe: what requests for a description of the service get; ``None`` for 404. They are in ``probes``.
    """

    def __init__(self, behaviour: Behaviour, *, describe: Behaviour | None = None) -> None:
        self.requests: list[Request] = []
        self.probes: list[Request] = []
        self.connections = 0
        self._behaviour = behaviour
        self._describe = describe or results(b"", status="404 Not Found")
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = listener()
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/sparql"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.append(sock)
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        with sock, suppress(OSError):
            while (request := self._received(sock)) is not None:
                if request.asks_for_description:
                    self.probes.append(request)
                    self._describe(sock, request)
                    continue
                self.requests.append(request)
                self._behaviour(sock, request)

    @staticmethod
    def _received(sock: socket.socket) -> Request | None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = sock.recv(65536)
            if not piece:
                return None
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(Request(head + b"\r\n\r\n").headers.get("content-length", "0"))
        while len(body) < length:
            body += sock.recv(65536)
        return Request(head + b"\r\n\r\n" + body)


def reply(
    body: bytes,
    *,
    status: str = "200 OK",
    type: str | None = JSON,  # noqa: A002
    headers: Iterable[str] = (),
    length: int | None = None,
) -> bytes:
    """The bytes of a response."""
    kind = [f"Content-Type: {type}"] if type else []
    lines = [f"HTTP/1.1 {status}", *kind, f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def results(body: bytes = SELECT_JSON, **options: object) -> Behaviour:
    """Reply always the same."""
    data = reply(body, **options)  # type: ignore[arg-type]
    return lambda sock, _: sock.sendall(data)


def http(
    body: bytes = SELECT_JSON,
    *,
    status: int = 200,
    type: str | None = JSON,  # noqa: A002
    **headers: str,
) -> HttpReply:
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


def drip(data: bytes, *, every_s: float = 0.05) -> Behaviour:
    """Reply a byte at a time."""

    def behave(sock: socket.socket, _: Request) -> None:
        for byte in data:
            sock.sendall(bytes([byte]))
            time.sleep(every_s)

    return behave


def hang(sock: socket.socket, _: Request) -> None:
    """Reply nothing until the client goes."""
    while sock.recv(65536):
        pass


def close(sock: socket.socket, _: Request) -> None:
    """Close the connection without a reply."""
    sock.shutdown(socket.SHUT_RDWR)
