"""A model server that says what a test tells it to: OpenAI's requests over real HTTP, and everything that goes wrong.

::

    with ModelServer([Status(429, {"Retry-After": "0"}), Text("Paris")]) as server:
        OpenAIClient(server.url).chat({"model": "m", "messages": []})
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

from kgsparql.http.transport import HttpReply, HttpRequest
from kgsparql.models.openai_client import OpenAIClient
from tests.endpoints.ports import free_port

VECTOR_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was sent.

    :param headers: their names in lower case.
    :param body: the JSON object; empty for GET.
    :param refused: whether it was refused for an option of the server's, and took nothing from the script.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    refused: bool = False


class Reply:
    """Something to reply. ``payload`` is the body; ``send`` may do worse than send it."""

    status = 200
    headers: Mapping[str, str] = {}
    content_type = "application/json"

    def payload(self, request: Request) -> bytes:
        raise NotImplementedError

    def send(self, handler: _Handler, request: Request) -> None:
        payload = self.payload(request)
        self.begin(handler, len(payload))
        handler.wfile.write(payload)

    def begin(self, handler: _Handler, length: int) -> None:
        handler.send_response(self.status)
        sent = {"Content-Type": self.content_type, "Content-Length": str(length), **self.headers}
        for name, value in sent.items():
            handler.send_header(name, value)
        handler.end_headers()


@dataclass(frozen=True)
class Text(Reply):
    """A completion; what is not a string is written as JSON.

    :param usage: ``(prompt_tokens, completion_tokens)``, whatever they are; ``None`` leaves them out.
    :param more: what else the message has.
    """

    content: Any
    finish_reason: str | None = "stop"
    usage: tuple[Any, Any] | Literal["counted"] | None = "counted"
    more: Mapping[str, Any] = field(default_factory=dict)

    def payload(self, request: Request) -> bytes:
        plain = self.content is None or isinstance(self.content, str)
        content = self.content if plain else json.dumps(self.content, ensure_ascii=False)
        message = {"role": "assistant", "content": content, **self.more}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": self.finish_reason, "logprobs": None}
        reply: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "choices": [choice]}
        reply["model"] = request.body.get("model")
        if self.usage is not None:
            counted = len(json.dumps(request.body.get("messages"))) // 4, len(content or "") // 4
            prompt, completion = counted if self.usage == "counted" else self.usage
            reply["usage"] = {"prompt_tokens": prompt, "completion_tokens": completion}
        return json.dumps(reply).encode()


def NullContent() -> Text:
    return Text(None)


def Refusal(words: str = "I cannot help with that.") -> Text:
    return Text(None, more={"refusal": words})


def Length(cut: str) -> Text:
    """A reply that ended at its limit of tokens."""
    return Text(cut, finish_reason="length")


def Big(size: int = 1_000_000) -> Text:
    return Text("x" * size)


@dataclass(frozen=True)
class Raw(Reply):
    """These bytes. ``length`` is what is said of them; ``None`` says nothing, and ends them by hanging up."""

    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    length: int | None = -1

    def payload(self, request: Request) -> bytes:
        return self.body

    def begin(self, handler: _Handler, length: int) -> None:
        if self.length is not None:
            super().begin(handler, length if self.length == -1 else self.length)
            return
        handler.send_response(self.status)
        for name, value in {"Content-Type": self.content_type, "Connection": "close", **self.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.close_connection = True


def EmptyBody() -> Raw:
    return Raw(b"")


def NoChoices() -> Raw:
    return Raw(b'{"id": "chatcmpl-1", "object": "chat.completion", "choices": []}')


def Html(status: int = 200) -> Raw:
    page = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Welcome</h1></body></html>"
    return Raw(page, "text/html; charset=utf-8", status=status)


@dataclass(frozen=True)
class Status(Reply):
    """An error, in OpenAI's words unless ``body`` has others."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    message: str = "scripted error"

    def payload(self, request: Request) -> bytes:
        if self.body is not None:
            return self.body.encode()
        return json.dumps({"error": {"message": self.message, "type": "error", "code": self.status}}).encode()


@dataclass(frozen=True)
class Echo(Reply):
    """The ``Authorization`` header in the body, as a careless server shows it."""

    status: int = 200

    def payload(self, request: Request) -> bytes:
        said = f"got {request.headers.get('authorization')}"
        if self.status == 200:
            return Text(said, more={said: said}).payload(request)
        return json.dumps({"error": {"message": said, "param": said}}).encode()


@dataclass(frozen=True)
class Slow(Reply):
    """Another reply after a while, if the client is still there; ``server.hang_ups`` says when it was not."""

    seconds: float
    then: Reply = field(default_factory=lambda: Text("slow"))

    def send(self, handler: _Handler, request: Request) -> None:
        until = time.monotonic() + self.seconds
        while (left := until - time.monotonic()) > 0:
            if handler.is_left(min(left, 0.02)):
                return
        self.then.send(handler, request)


@dataclass(frozen=True)
class Drip(Reply):
    """Another reply, byte by byte."""

    then: Reply = field(default_factory=lambda: Text("drop by drop"))
    every_s: float = 0.25

    def send(self, handler: _Handler, request: Request) -> None:
        payload = self.then.payload(request)
        self.then.begin(handler, len(payload))
        for at in range(len(payload)):
            handler.wfile.write(payload[at : at + 1])
            handler.wfile.flush()
            if handler.is_left(self.every_s):
                return


@dataclass(frozen=True)
class Endless(Reply):
    """A body that goes on until the client hangs up."""

    def send(self, handler: _Handler, request: Request) -> None:
        Raw(b"", length=None).begin(handler, 0)
        handler.wfile.write(b'{"choices": [{"message": {"content": "')
        while not handler.is_left(0.001):
            handler.wfile.write(b"and so on " * 1000)


@dataclass(frozen=True)
class Cut(Reply):
    """The first bytes of another reply's body, or nothing at all; then the connection ends, or is reset."""

    after: int | None
    then: Reply = field(default_factory=lambda: Text("a reply that is not all there"))
    reset: bool = False

    def send(self, handler: _Handler, request: Request) -> None:
        if self.after is not None:
            payload = self.then.payload(request)
            self.then.begin(handler, len(payload))
            handler.wfile.write(payload[: self.after])
            handler.wfile.flush()
        handler.close_connection = True
        if self.reset:
            time.sleep(0.05)  # what was sent would be dropped with the connection
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(handler.connection.detach())


def Reset(after: int | None = None) -> Cut:
    return Cut(after, reset=True)


def HangUp() -> Cut:
    """The whole request is read, and the connection ends without a reply."""
    return Cut(None)


@dataclass(frozen=True)
class Altered(Reply):
    """The embeddings that are right, after something was done to their JSON object."""

    alter: Callable[[dict[str, Any]], object]

    def payload(self, request: Request) -> bytes:
        reply = _embeddings(request, hashed_vector)
        self.alter(reply)
        return json.dumps(reply).encode()


Script = Sequence[Reply | str] | Callable[[dict[str, Any]], Reply | str]
"""Replies in their order, the last for whatever comes after it; or a function of the request's body."""


class ModelServer:
    """The server, while the ``with`` lasts; ``url`` ends in ``/v1``.

    :param script: what ``/chat/completions`` replies. A string is a :class:`Text`.
    :param embeddings: likewise for ``/embeddings``; without it, vectors that depend on nothing but the text.
    :param vector: makes them.
    :param models: what ``/models`` lists, or a reply.
    :param schema: whether ``response_format`` may ask for a schema; ``json_mode`` likewise for any JSON object.
    :param refuses: parameters that are refused with 400, as OpenAI words it.
    :param system: whether there may be a system message.
    :param ignores_response_format: neither refused nor heeded.
    :param key: without which everything is 401.
    """

    def __init__(
        self, script: Script = ("scripted",), *, embeddings: Script | None = None,
        vector: Callable[[str], list[float]] | None = None, models: Sequence[str] | Reply = ("scripted-model",),
        schema: bool = True, json_mode: bool = True, refuses: Sequence[str] = (), system: bool = True,
        ignores_response_format: bool = False, key: str | None = None,
    ) -> None:  # fmt: skip
        self.script = script
        self.embeddings = embeddings
        self.vector = vector or hashed_vector
        self.models = models
        self.refused_formats = {"json_schema": not schema, "json_object": not json_mode}
        self.refuses = tuple(refuses)
        self.system = system
        self.ignores_response_format = ignores_response_format
        self.key = key
        self.requests: list[Request] = []
        self.hang_ups: list[float] = []
        self.connections = 0
        self._lock = threading.Lock()
        self._used = {"chat": 0, "embeddings": 0}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def client(self, **options: Any) -> OpenAIClient:
        """A client: over HTTP inside the ``with``; without it there is no socket, and replies are only bytes."""
        if hasattr(self, "_http"):
            return OpenAIClient(self.url, **options)
        return OpenAIClient("http://127.0.0.1:9/v1", transport=self.transport, **options)

    @property
    def answered(self) -> list[Request]:
        """The requests that were not refused for an option of the server's."""
        return [request for request in self.requests if not request.refused]

    def transport(self, request: HttpRequest) -> HttpReply:
        """Answer with no socket, for replies that are only bytes; the URL is any."""
        body = json.loads(request.body) if request.body else {}
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Request(request.method, urlsplit(request.url).path, headers, body)
        reply = self.reply(asked)
        named = {"content-type": reply.content_type, **{name.lower(): v for name, v in reply.headers.items()}}
        return HttpReply(reply.status, named, reply.payload(asked))

    def __enter__(self) -> ModelServer:
        self._http = _Server(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()
        if error is None and self._http.errors:  # of the test's own script
            raise self._http.errors[0]

    @property
    def open_connections(self) -> int:
        return len(self._http.open)

    def drop_connections(self) -> None:
        """Hang up on every client, as a server does with connections that have been idle for long."""
        self._http.drop()

    def reply(self, request: Request) -> Reply:
        """What to reply to a request, which is put down."""
        refusal = self._refusal(request)
        with self._lock:
            noted = Request(request.method, request.path, request.headers, request.body, refusal is not None)
            self.requests.append(noted)
            if refusal is not None:
                return refusal
            if request.path == "/v1/chat/completions":
                return self._next("chat", self.script, request)
            if request.path == "/v1/embeddings":
                if self.embeddings is not None:
                    return self._next("embeddings", self.embeddings, request)
                return Raw(json.dumps(_embeddings(request, self.vector)).encode())
            if isinstance(self.models, Reply):
                return self.models
            listed = [{"id": name, "object": "model"} for name in self.models]
            return Raw(json.dumps({"object": "list", "data": listed}).encode())

    def _next(self, kind: str, script: Script, request: Request) -> Reply:
        if callable(script):
            reply = script(request.body)
        else:
            reply = script[min(self._used[kind], len(script) - 1)]
            self._used[kind] += 1
        return Text(reply) if isinstance(reply, str) else reply

    def _refusal(self, request: Request) -> Reply | None:
        if request.path not in {"/v1/chat/completions", "/v1/embeddings", "/v1/models"}:
            return Status(404, message=f"no such URL: {request.path}")
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return Status(401, message="Incorrect API key provided.")
        problem = self._unsupported(request.body) if request.path == "/v1/chat/completions" else None
        return None if problem is None else Status(400, message=problem)

    def _unsupported(self, body: Mapping[str, Any]) -> str | None:
        form = (body.get("response_format") or {}).get("type")
        if self.refused_formats.get(form) and not self.ignores_response_format:
            return f"Invalid parameter: 'response_format' of type '{form}' is not supported."
        for name in self.refuses:
            if name in body:
                other = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                return f"Unsupported parameter: '{name}' is not supported with this model.{other}"
        if not self.system and any(message["role"] == "system" for message in body.get("messages", ())):
            return "System role not supported"
        return None


class _Server(ThreadingHTTPServer):
    """Ends at once, with all its connections, and keeps the errors of its threads."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, owner: ModelServer) -> None:
        super().__init__(("127.0.0.1", free_port()), _Handler)
        self.owner = owner
        self.stopped = threading.Event()
        self.errors: list[BaseException] = []
        self.open: set[socket.socket] = set()

    def hang_up(self) -> None:
        self.stopped.set()
        self.drop()

    def drop(self) -> None:
        for connection in list(self.open):
            with suppress(OSError):  # the client was faster
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner.connections += 1
        self.open.add(request)  # here, and not in its thread, which may begin after the server was told to end
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    wbufsize = -1  # else each header is a packet of its own, and a reply waits 40 ms for the client's receipt
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the client gave up meanwhile
            self.close_connection = True
            return
        if "json" not in self.headers.get("Content-Type", ""):  # to an endpoint that had this port before
            self.send_error(415)
            return
        self._answer(json.loads(body))

    def _answer(self, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        try:
            self.server.owner.reply(request).send(self, request)
        except ConnectionError:  # a client that leaves while there is more for it resets the connection
            self.server.owner.hang_ups.append(time.monotonic())
            raise

    def is_left(self, seconds: float) -> bool:
        """Whether the client hangs up, or the server is stopped, within these seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.connection], [], [], min(left, 0.02))[0] and not self.connection.recv(
                1, socket.MSG_PEEK
            ):
                self.server.owner.hang_ups.append(time.monotonic())
                self.close_connection = True
                return True
            if self.server.stopped.is_set():
                self.close_connection = True
                return True
        return False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def hashed_vector(text: str) -> list[float]:
    """A vector that depends on nothing but the text."""
    digest = hashlib.sha256(text.encode()).digest()
    return [byte / 255 - 0.5 for byte in digest[:VECTOR_LENGTH]]


def _embeddings(request: Request, vector: Callable[[str], list[float]]) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": i, "embedding": vector(text)} for i, text in enumerate(request.body["input"])
    ]
    return {"object": "list", "data": data, "model": request.body.get("model")}
