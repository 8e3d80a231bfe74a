"""One connection to a model server. It can be hung up from another thread, and reads no more than a given limit."""

from __future__ import annotations

import logging
import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from kgsparql.errors import InputError
from kgsparql.http.address import PROXY_HINT
from kgsparql.http.threaded_call import ThreadedCall
from kgsparql.redaction import redacted

CONNECT_S = 10.0
"""Within this a server must accept the connection."""

ERROR_BYTES = 16 * 1024
"""Bytes that are read of the body of an error."""

_PIECE = 64 * 1024

_LOGS_OF_HEADERS = ("httpcore2.http11", "httpcore2.http2")
"""These loggers show the headers of replies, in which a server may repeat the key."""

Send = Callable[[Any, Any], Any]
"""Sends a request with an `openai` client and a timeout; gives the context manager of a streamed response."""


class LongBodyError(Exception):
    """A body over the limit."""


class PackedBodyError(Exception):
    """A body whose compression is unknown or broken."""


@dataclass(frozen=True, repr=False)
class _WithoutKey(logging.Filter):
    """Takes the key out of what is logged. A logger adds equal filters once."""

    key: str

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if self.key in text:
            record.msg, record.args = redacted(text, self.key), ()
        return True


class Connection:
    """One `openai` client with at most one connection, used for one request at a time, each on a thread of its own.

    Once :meth:`wait` has returned: ``is_sent`` if the whole request was written, ``status`` and ``headers`` if a reply
    began (else 0), ``body`` as far as it came, and ``error`` if it ended badly.
    """

    def __init__(self, base_url: str, api_key: str) -> None:
        from openai import DefaultHttpxClient, OpenAI

        try:
            http = DefaultHttpxClient(
                follow_redirects=False,  # the key and the question are for this server, not for where it points to
                event_hooks={"request": [self._on_request], "response": [self._on_response]},
            )
        except (ImportError, ValueError):  # of SOCKS, or no URL; its message may repeat a password
            variables = "the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names"
            raise InputError(f"{base_url}: {variables} cannot be used", hint=PROXY_HINT) from None
        self._client = OpenAI(
            base_url=base_url,
            api_key=api_key,
            max_retries=0,
            http_client=http,
            default_headers={"Accept-Encoding": "gzip"},  # what can be unpacked piece by piece
        )
        for name in _LOGS_OF_HEADERS:
            logging.getLogger(name).addFilter(_WithoutKey(api_key))
        self._lock = threading.Lock()
        self._is_abandoned = False
        self._is_busy = False
        self._stream: Any = None

    def start(self, send: Send, limit: int, timeout_s: float) -> None:
        """Send a request.

        :param limit: how many bytes of the body are read, unpacked.
        """
        self.is_sent = False
        self.status = 0
        self.headers: Any = {}
        self.body = b""
        self.error: Exception | None = None
        self._is_busy = True
        self._call = ThreadedCall(partial(self._run, send, limit, timeout_s), name="kgsparql-model")

    def wait(self, seconds_left: Callable[[], float]) -> None:
        """Wait until the request has ended; ``seconds_left`` as of :meth:`ThreadedCall.result`."""
        self._call.result(seconds_left)

    def abandon(self) -> None:
        """Hang up, whatever is going on. The server notices, and can stop; nothing can be sent any more."""
        with self._lock:
            self._is_abandoned = True
            is_busy = self._is_busy
        self._hang_up()
        if not is_busy:
            self.close()

    def close(self) -> None:
        """Close the connection; only when nothing is under way."""
        self._client.close()

    def _run(self, send: Send, limit: int, timeout_s: float) -> None:
        from openai import Timeout

        body: list[bytes] = []
        try:
            # A second more than the caller waits, whose deadline says how long that was.
            timeout = Timeout(timeout_s + 1, connect=min(timeout_s, CONNECT_S))
            with send(self._client, timeout) as response:
                _append_body(response.http_response.iter_raw(), self.headers, limit, body)
        except Exception as error:  # noqa: BLE001 - of several packages; they are told apart by how far this came
            self.error = error
        self.body = self.body or b"".join(body)
        with self._lock:
            self._is_busy = False
            is_abandoned = self._is_abandoned
        if is_abandoned:
            self.close()

    def _on_request(self, request: Any) -> None:
        request.extensions = {**request.extensions, "trace": self._on_trace}

    def _on_trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember the stream, by which to hang up before there is a reply, and whether the request has been sent.

        From then on a model may work for it.
        """
        if event.endswith(".send_request_body.complete"):
            self.is_sent = True
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._stream = info["return_value"]
            if self._is_abandoned:
                self._hang_up()

    def _on_response(self, response: Any) -> None:
        """Read the beginning of the body of an error here: `openai` would read all of it."""
        self.status, self.headers = response.status_code, response.headers
        if not response.is_success:
            body: list[bytes] = []
            with suppress(Exception):  # the status says enough
                _append_body(response.stream, self.headers, ERROR_BYTES, body)
            response.close()
            self.body = b"".join(body)[:ERROR_BYTES]

    def _hang_up(self) -> None:
        found = None if self._stream is None else self._stream.get_extra_info("socket")
        if found is not None:
            with suppress(OSError):  # it may be closed already
                # Closing it would leave the other thread waiting, and the server too. TLS says no goodbye.
                socket.socket.shutdown(found, socket.SHUT_RDWR)


def _append_body(raw: Iterable[bytes], headers: Any, limit: int, body: list[bytes]) -> None:
    """Append a body to ``body``, piece by piece, unpacked.

    :raises LongBodyError: if it goes over the limit, by at most a piece.
    :raises PackedBodyError: if it cannot be unpacked.
    :raises EOFError: if its end is missing.
    """
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise PackedBodyError(f"packed as {encoding[:40]}")
    size = 0
    for piece in raw if encoding in {"", "identity"} else _unpacked(raw):
        body.append(piece)
        size += len(piece)
        if size > limit:
            raise LongBodyError


def _unpacked(raw: Iterable[bytes]) -> Iterator[bytes]:
    """What gzip or zlib packed, in small pieces: a small body may unpack to a huge one."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        for chunk in raw:
            rest = chunk
            while rest and not unpacker.eof:
                yield unpacker.decompress(rest, _PIECE)
                rest = unpacker.unconsumed_tail
        yield unpacker.flush()
    except zlib.error as error:
        raise PackedBodyError("packed badly") from error
    if not unpacker.eof:
        raise EOFError
