"""Calls to a model server: one deadline for each, and another try where that can help."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kgsparql.errors import CancelledError, InputError, ModelReplyError, ModelTimeoutError
from kgsparql.models.openai_client.connection import Connection, Send
from kgsparql.models.openai_client.outcomes import URL_HINT, FailedRequest, Outcomes
from kgsparql.rdf.terms import printable
from kgsparql.redaction import KEY_VARIABLE, unreadable_url

DEFAULT_BASE_URL = "https://api.openai.com/v1"

_CHAT_BYTES = 512 * 1024
_EMBEDDINGS_BYTES = 64 * 1024 * 1024
_MODELS_BYTES = 8 * 1024 * 1024


class OpenAIClient:
    """Sends requests to one server; several threads may use it. Connections are kept open between calls.

    :param base_url: up to and with ``/v1``; ``OPENAI_BASE_URL`` if not given, else OpenAI's own.
    :param api_key: ``OPENAI_API_KEY`` if not given; servers that need no key ignore it.
    :param timeout_s: of a call, over all its tries.
    :param tries: how often a request is sent at most. It is sent again only if nothing was paid for: after a connection
        that failed, or a status that allows it; never after a server has read it and not answered.
    :raises InputError: for a base URL or a key that cannot be one.

    >>> OpenAIClient("http://localhost:11434/v1/").base_url
    'http://localhost:11434/v1'
    """

    def __init__(
        self, base_url: str | None = None, *, api_key: str | None = None, timeout_s: float = 60.0, tries: int = 3
    ) -> None:
        self.base_url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        self.timeout_s = timeout_s
        self.tries = max(1, tries)
        self._key = _checked_key(api_key or os.environ.get(KEY_VARIABLE) or "")
        self._lock = threading.Lock()
        self._outcomes = Outcomes(self.base_url, self._key)
        self._idle: list[Connection] = []
        self._is_closed = False

    def chat(
        self,
        body: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        began: float | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any]:
        """The JSON object that the server replies to a request for a completion, whatever is in it.

        :param began: when the time began to run, as :func:`time.monotonic` tells it; now, if ``None``.
        :raises ModelTimeoutError: if the reply is not here in time.
        :raises CancelledError: if ``cancel`` was set meanwhile; the connection is closed, so that the server can stop.
        :raises RequestRefusedError: for a request that the server does not take.
        :raises AuthenticationError: without a key, or with one that is not accepted.
        :raises RateLimitError: if it has too many requests, or no quota is left.
        :raises ModelReplyError: for a reply that is cut (``E_LLM_PARTIAL``), too long (``E_LIMIT``), or no JSON object.
        :raises ModelError: if the server cannot be reached, or fails.
        """

        def send(client: Any, timeout: Any) -> Any:
            more = {name: value for name, value in body.items() if name not in {"model", "messages"}}
            create = client.chat.completions.with_streaming_response.create
            return create(model=body["model"], messages=body["messages"], extra_body=more, timeout=timeout)

        return self._call(send, _CHAT_BYTES, timeout_s, cancel, began)

    def embeddings(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the server replies to a request for embeddings; errors as of :meth:`chat`."""

        def send(client: Any, timeout: Any) -> Any:
            create = client.embeddings.with_streaming_response.create
            return create(**{"encoding_format": "float", **body}, timeout=timeout)

        return self._call(send, _EMBEDDINGS_BYTES)

    def models(self, *, timeout_s: float = 10.0) -> list[str]:
        """The models that the server lists, by the names that requests use; errors as of :meth:`chat`."""

        def send(client: Any, timeout: Any) -> Any:
            return client.models.with_streaming_response.list(timeout=timeout)

        data = self._call(send, _MODELS_BYTES, timeout_s).get("data")
        if not isinstance(data, list):
            raise ModelReplyError(f"{self.base_url}: its list of models is not one", hint=URL_HINT)
        return [str(item["id"]) for item in data if isinstance(item, dict) and item.get("id")]

    def prepare(self) -> None:
        """Load what sends requests, which takes seconds on a busy machine and is no part of a call's time."""
        self._put_back(self._connection())

    def __enter__(self) -> OpenAIClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Close what nobody closed: no call is under way when nothing refers to the client any more."""
        with suppress(Exception):
            self.close()

    def close(self) -> None:
        """Close the connections; the next call opens another."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _call(
        self,
        send: Send,
        limit: int,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
        began: float | None = None,
    ) -> dict[str, Any]:
        total_s = self.timeout_s if timeout_s is None else timeout_s
        self.prepare()
        deadline = (time.monotonic() if began is None else began) + total_s

        def seconds_left() -> float:
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped")
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                hint = "allow more time with --model-timeout, or ask a faster model"
                raise ModelTimeoutError(f"{self.base_url}: no reply within {total_s:g} s", hint=hint, timeout_s=total_s)
            return left_s

        number = 0
        while True:
            number += 1
            left_s = seconds_left()
            connection = self._connection()
            try:
                connection.start(send, limit, max(left_s, 0.001))  # the client takes no timeout of 0
                connection.wait(seconds_left)
                outcome = self._outcomes.of(connection, limit, number)
            except BaseException:
                connection.abandon()
                raise
            self._put_back(connection)
            if not isinstance(outcome, FailedRequest):
                return outcome
            pause = outcome.pause_s
            if pause is None or number >= self.tries or pause >= deadline - time.monotonic():
                raise outcome.error
            (cancel or threading.Event()).wait(pause)

    def _connection(self) -> Connection:
        with self._lock:
            self._is_closed = False
            if self._idle:
                return self._idle.pop()
        return Connection(self.base_url, self._key or "none")

    def _put_back(self, connection: Connection) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()


def _checked_url(text: str) -> str:
    """A base URL in the one form in which it is shown and compared, without the path of a request.

    :raises InputError: for anything else, and for a URL with credentials.

    >>> _checked_url(" HTTP://LocalHost:8000/v1// ")
    'http://localhost:8000/v1'
    >>> _checked_url("http://localhost:8000/v1/chat/completions")
    'http://localhost:8000/v1'
    """
    hint = "write it as http://localhost:11434/v1"
    shown = printable(unreadable_url(text), 100)
    try:
        parts = urlsplit(text.strip())
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or re.search(r"[\s\x00-\x1f\\<>\"]", text.strip()):
        raise InputError(f"{shown} is not the URL of a model server", hint=hint)
    if "@" in text:  # a / in a password puts its end, and the @, into the path
        raise InputError(f"{shown}: a base URL with credentials in it", hint=f"put the key in {KEY_VARIABLE}")
    if parts.query or parts.fragment:
        raise InputError(f"{shown}: a base URL ends before ? and #", hint=hint)
    path = re.sub(r"/+(?:chat/completions|embeddings|models)$", "", parts.path.rstrip("/"))
    return urlunsplit((parts.scheme, parts.netloc.lower(), path.rstrip("/"), "", ""))


def _checked_key(text: str) -> str:
    key = text.strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError("the key of the model server has characters that no key has", hint=f"look at {KEY_VARIABLE}")
    return key
