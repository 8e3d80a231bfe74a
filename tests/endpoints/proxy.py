"""A proxy between a client and a real engine that does one thing wrong with each request, as a plan says.

::

    with Proxy(url, first(cut(40), only="SELECT ?s")) as proxy:
        EndpointGraph(proxy.url).select(query)

A plan names a fault for a request, or ``None`` to pass it on. The proxy keeps what it saw of each request.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from itertools import count
from typing import Self
from urllib.parse import parse_qs, urlsplit

from tests.endpoints.ports import listener

ENGINE_S = 60.0
_numbers = count(1)
_PASSED_ON = ("accept", "content-type", "user-agent")


class Seen:
    """A request and what became of it: its line, headers in lower case, and form; times are of ``time.monotonic``.

    :ivar at_once: how many requests were open when it came, itself included.
    :ivar sent: bytes that went back.
    :ivar cost_s: how long the engine worked for it.
    """

    def __init__(self, head: bytes, body: bytes, number: int, at_once: int) -> None:
        self.line, *lines = head.decode("latin-1").rstrip().split("\r\n")
        self.method, self.path, _ = self.line.split(" ")
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.body = body
        self.form = {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        self.number = number
        self.at_once = at_once
        self.sent = 0
        self.status = 0
        self.cost_s = 0.0

    @property
    def query(self) -> str:
        return self.form.get("query") or parse_qs(urlsplit(self.path).query).get("query", [""])[0]

    @property
    def asks_for_description(self) -> bool:
        """Whether this is a request without a query, for what the server says of itself."""
        asks = any(name in self.line for name in ("query=", "queries=", "action="))
        return self.method == "GET" and not asks and not self.query


@dataclass(frozen=True, slots=True)
class Response:
    """What the engine replied, of one piece."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes

    def head(self, *, length: int | None = None) -> bytes:
        """The status line and headers, with a length of our own if one is given; ``-1`` for none."""
        length = len(self.body) if length is None else length
        headers = {**self.headers, **({"Content-Length": str(length)} if length >= 0 else {})}
        lines = [f"HTTP/1.1 {self.status} {self.reason}", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()

    def with_headers(self, **headers: str | None) -> Response:
        """With headers added (``_`` for ``-``), or taken away (``None``)."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lower = {name.lower() for name in named}
        kept = {name: value for name, value in self.headers.items() if name.lower() not in lower}
        return replace(self, headers={**kept, **{name: value for name, value in named.items() if value is not None}})


class Exchange:
    """One request on its way through the proxy: what a fault may use."""

    def __init__(self, proxy: Proxy, request: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.proxy = proxy
        self.request = request
        self.reader = reader
        self._writer = writer

    async def engine(self, **headers: str) -> Response:
        """The real engine's reply; headers of the request may be replaced."""
        began = time.monotonic()
        try:
            return await asyncio.to_thread(self.proxy.ask_engine, self.request, headers)
        finally:
            self.request.cost_s = time.monotonic() - began

    async def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        if data.startswith(b"HTTP/1.1 ") and not self.request.status:
            self.request.status = int(data[9:12])
        self.request.sent += len(data)
        self._writer.write(data)
        await self._writer.drain()

    def end(self) -> None:
        """Close the connection in good order."""
        self._writer.close()

    def reset(self) -> None:
        """Close the connection with an RST."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Fault = Callable[[Exchange], Awaitable[None]]
Plan = Callable[[Seen], Fault | None]


class Proxy:
    """Takes requests on a free port of 127.0.0.1, in a thread of its own.

    :param engine: the URL of the real engine.
    :param plan: asked for each request, in the order in which they come.
    :param describe: what requests for a description of the service get; ``None`` for what the engine says.
    :param latency_s: added to each round trip.
    :param tls: it speaks HTTPS with this certificate.
    """

    def __init__(
        self, engine: str, plan: Plan | None = None, *, describe: Fault | None = None, latency_s: float = 0.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        self.plan = plan
        self._describe = describe
        self.latency_s = latency_s
        self._tls = tls
        self.requests: list[Seen] = []
        self.probes: list[Seen] = []
        self.connections = 0
        self.most_at_once = 0
        self._open = 0
        self._engine = urlsplit(engine)
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._listener = listener()
        self.port = int(self._listener.getsockname()[1])
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}/{next(_numbers)}/sparql"  # what is known of one is not of another
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def of(self, text: str) -> list[Seen]:
        """The requests whose query has this text in it."""
        return [request for request in self.requests if text in request.query]

    def go_down(self) -> None:
        """Take no more connections and break those there are; only for faults."""
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    def ask_engine(self, request: Seen, headers: dict[str, str]) -> Response:
        """What the engine replies to a request."""
        body = request.body
        sent = {name: value for name, value in request.headers.items() if name in _PASSED_ON} | headers
        path = f"{self._engine.path}?{query}" if (query := urlsplit(request.path).query) else self._engine.path
        connection = HTTPConnection(self._engine.hostname or "", self._engine.port, timeout=ENGINE_S)
        try:
            connection.request(request.method, path, body or None, sent)
            reply = connection.getresponse()
            kept = {name: value for name, value in reply.getheaders() if name.lower() == "content-type"}
            return Response(reply.status, reply.reason, kept, reply.read())
        finally:
            connection.close()

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._server = await asyncio.start_server(self._serve, sock=self._listener, ssl=self._tls)
        self._ready.set()
        await self._stop.wait()
        self.go_down()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)\ncontent-length:\s*(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                self._open += 1
                self.most_at_once = max(self.most_at_once, self._open)
                request = Seen(head, body, len(self.requests), self._open)
                is_probe = request.asks_for_description
                (self.probes if is_probe else self.requests).append(request)
                try:
                    await asyncio.sleep(self.latency_s)
                    fault = self._describe if is_probe else self.plan and self.plan(request)
                    await (fault or passes)(Exchange(self, request, reader, writer))
                finally:
                    self._open -= 1
        self._writers.discard(writer)
        writer.close()


def first(*faults: Fault | None, then: Fault | None = None, only: str = "") -> Plan:
    """Faults for the first requests whose query has a text in it, one each; ``then`` for those after them."""
    left: Iterator[Fault | None] = iter(faults)
    return lambda request: next(left, then) if only in request.query else None


def replies(data_of: Callable[[Response], bytes], *, closing: bool = False, **headers: str) -> Fault:
    """What is made of the engine's reply; ``headers`` replace those of the request."""

    async def fault(exchange: Exchange) -> None:
        await exchange.write(data_of(await exchange.engine(**headers)))
        if closing:
            exchange.end()

    return fault


passes = replies(lambda reply: reply.head() + reply.body)
"""The engine's reply as it is."""


def sends(data: bytes, *, closing: bool = False) -> Fault:
    """These bytes, and the engine is not asked."""

    async def fault(exchange: Exchange) -> None:
        await exchange.write(data)
        if closing:
            exchange.end()

    return fault


def changed(change: Callable[[Response], Response], **headers: str) -> Fault:
    """The engine's reply, changed; ``headers`` replace those of the request."""
    return replies(lambda reply: (new := change(reply)).head() + new.body, **headers)


def packed(reply: Response) -> Response:
    """The reply in gzip."""
    return replace(reply, body=gzip.compress(reply.body)).with_headers(Content_Encoding="gzip")


def cut(at: int) -> Fault:
    """The connection ends after so many bytes of the body, whose length was promised."""
    return wrong_length(lambda real: real, at=at)


def wrong_length(promised: Callable[[int], int], *, at: int | None = None) -> Fault:
    """Another length than that of the body, and the end of the connection after the body (or ``at`` bytes of it)."""
    return replies(lambda reply: reply.head(length=promised(len(reply.body))) + reply.body[:at], closing=True)


def chunks_cut(at: int, *, ends_in_chunk: bool = False) -> Fault:
    """A chunked body that ends after so many bytes, between two chunks or inside one, without the last chunk."""

    def data_of(reply: Response) -> bytes:
        head, piece = reply.with_headers(Transfer_Encoding="chunked").head(length=-1), reply.body[:at]
        size = len(piece) + 10 if ends_in_chunk else len(piece)
        return head + f"{size:x}\r\n".encode() + piece + (b"" if ends_in_chunk else b"\r\n")

    return replies(data_of, closing=True)


def unframed(at: int | None = None) -> Fault:
    """A body whose length nobody said, which ends with the connection, after so many bytes."""
    return replies(lambda reply: reply.with_headers(Connection="close").head(length=-1) + reply.body[:at], closing=True)


def followed_by(data: bytes) -> Fault:
    """The engine's reply, and more that belongs to nothing, on a connection that stays open."""
    return replies(lambda reply: reply.head() + reply.body + data)


def resets(after: int | None = None) -> Fault:
    """An RST after so many bytes of the body; before any reply, if ``None``."""

    async def fault(exchange: Exchange) -> None:
        if after is not None:
            reply = await exchange.engine()
            await exchange.write(reply.head() + reply.body[:after])
            await asyncio.sleep(0.05)  # an RST takes with it what the client has not read yet
        exchange.reset()

    return fault


def drips(every_s: float, data: bytes | None = None) -> Fault:
    """The engine's reply, or these bytes, a byte at a time."""

    async def fault(exchange: Exchange) -> None:
        if (said := data) is None:
            reply = await exchange.engine()
            said = reply.head() + reply.body
        for byte in said:
            await exchange.write(bytes([byte]))
            await asyncio.sleep(every_s)

    return fault


def late(seconds: float, then: Fault = passes) -> Fault:
    """A fault, or the engine's reply, after some time."""

    async def fault(exchange: Exchange) -> None:
        await asyncio.sleep(seconds)
        await then(exchange)

    return fault


async def hangs(exchange: Exchange) -> None:
    """Nothing, until the client goes."""
    while await exchange.reader.read(65536):
        pass


async def goes_down(exchange: Exchange) -> None:
    """No reply, and no connections from now on."""
    exchange.proxy.go_down()
