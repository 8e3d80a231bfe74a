"""The client of model servers: one deadline for each call, and another try where nothing was paid for.

The `openai` package builds the requests; they go over the transport that endpoints use, too.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

from kgsparql.errors import (
    KEY_VARIABLE,
    AuthenticationError,
    InputError,
    ModelError,
    ModelReplyError,
    ModelTimeoutError,
    RateLimitError,
    RequestRefusedError,
    UnreachableError,
    redacted,
    unreadable_url,
    without,
)
from kgsparql.http.address import Address
from kgsparql.http.transport import (
    ERROR_BYTES,
    HttpReply,
    HttpRequest,
    NetworkError,
    Transport,
    message_in,
    retry_after_s,
    send,
)
from kgsparql.rdf.terms import Json, json_text, printable
from kgsparql.resources import ClosedAtExit

if TYPE_CHECKING:
    from kgsparql.http.connections import NetworkTransport

DEFAULT_BASE_URL = "https://api.openai.com/v1"
TRIES = 3
PAUSE_S = 0.2
RATE_PAUSE_S = 1.0
CHAT_BYTES = 512 * 1024
_MODELS_BYTES = 8 * 1024 * 1024
_SHOWN = 200
_OWN_WORDS = 2_000
_URL_HINT = "does the base URL end in /v1? kgsparql doctor lists the models of the server"
_TOO_LONG = re.compile(r"context.{0,3}(?:length|size|window)|prompt is too long|n_ctx", re.IGNORECASE)
_PASSING = {500, 502, 503}  # after these another try may help at once; a 504 has already waited long
_TAG = re.compile(r"<[^<>]*>")

_Failed = tuple[UnreachableError, float | None]
"""The error of a try, and after how many seconds it may be sent again; ``None``: it may not."""


class OpenAIClient(ClosedAtExit):
    """Sends requests to one server; several threads may use it. Connections are kept open between calls.

    :param base_url: up to and with ``/v1``; ``OPENAI_BASE_URL`` if not given, else OpenAI's own.
    :param api_key: ``OPENAI_API_KEY`` if not given; servers that need no key ignore it.
    :param timeout_s: of a call, over all its tries: it is sent three times at most, and again only if nothing was paid
        for: after a connection that failed, or a status that allows it; never after a server read it and said nothing.
    :param transport: a function that answers each HTTP request; ``None`` for the network.
    :raises InputError: for a base URL or a key that cannot be one.

    >>> OpenAIClient("http://localhost:11434/v1/").base_url
    'http://localhost:11434/v1'
    """

    def __init__(
        self, base_url: str | None = None, *, api_key: str | None = None, timeout_s: float = 60.0,
        transport: Transport | None = None,
    ) -> None:  # fmt: skip
        self.base_url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        self.timeout_s = timeout_s

        self._key = key = (api_key or os.environ.get(KEY_VARIABLE) or "").strip()
        if not (key.isascii() and key.isprintable() and " " not in key):
            message = "the key of the model server has characters that no key has"
            raise InputError(message, hint=f"look at {KEY_VARIABLE}")
        self._transport = transport
        self._connections: NetworkTransport | None = None
        self._written = threading.local()  # the request of this thread
        self._lock = threading.Lock()
        self._client: Any = None

    def chat(
        self, body: Json, *, timeout_s: float | None = None, began: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Json:  # fmt: skip
        """Return the JSON object that the server replies to a request for a completion, whatever is in it.

        :param began: when the time began to run, as :func:`time.monotonic` tells it; now, if ``None``.
        :raises ModelTimeoutError: if the reply is not here in time.
        :raises CancelledError: if ``cancel`` was set meanwhile; the connection is closed, so that the server can stop.
        :raises RequestRefusedError: for a request that the server does not take.
        :raises AuthenticationError: without a key, or with one that is not accepted.
        :raises RateLimitError: if it has too many requests, or no quota is left.
        :raises ModelReplyError: for a reply that is cut (``E_LLM_PARTIAL``), too long (``E_LIMIT``), or no JSON object.
        :raises ModelError: if the server cannot be reached, or fails.
        """
        return self._final_reply(
            "/chat/completions", body, max_bytes=CHAT_BYTES, timeout_s=timeout_s, began=began, cancel=cancel
        )

    def models(self) -> list[str]:
        """List the models of the server, by the names that requests use; errors as of :meth:`chat`."""
        data = self._final_reply("/models", None, max_bytes=_MODELS_BYTES, timeout_s=10.0).get("data")
        if not isinstance(data, list):
            raise ModelReplyError(f"{self.base_url}: its list of models is not one", hint=_URL_HINT)
        return [str(item["id"]) for item in data if isinstance(item, dict) and item.get("id")]

    def prepare(self) -> None:
        """Load what sends requests, which takes seconds on a busy machine and is no part of a call's time."""
        with self._lock:
            self._client = self._client or self._new_client()

    def __del__(self) -> None:
        """Close what nobody closed: no call is under way when nothing refers to the client any more."""
        with suppress(Exception):
            self.close()

    def close(self) -> None:
        """Close the connections; the next call opens another."""
        if self._connections is not None:
            self._connections.close()

    def _new_client(self) -> Any:
        import httpx2
        from openai import OpenAI

        from kgsparql.http.connections import NetworkTransport

        if self._transport is None:
            self._transport = self._connections = NetworkTransport(Address.parse(self.base_url).origin, self.base_url)
        written = self._written

        class NotingTransport(httpx2.BaseTransport):
            """Sends nothing: openai would wrap errors, and log headers, in which a server may repeat the key."""

            def handle_request(self, request: httpx2.Request) -> httpx2.Response:
                written.request = HttpRequest(request.method, str(request.url), dict(request.headers), request.read())
                return httpx2.Response(200, json={})

        http = httpx2.Client(transport=NotingTransport(), trust_env=False)
        return OpenAI(base_url=self.base_url, api_key=self._key or "none", max_retries=0, http_client=http)

    def _final_reply(
        self, path: str, body: Json | None, *, max_bytes: int, timeout_s: float | None = None,
        began: float | None = None, cancel: threading.Event | None = None,
    ) -> Json:  # fmt: skip
        """Send a request until it is answered, or is not to be sent again."""
        total_s = self.timeout_s if timeout_s is None else timeout_s
        self.prepare()
        deadline = (time.monotonic() if began is None else began) + total_s
        written = self._written_request(path, body)
        number = 0
        while True:
            number += 1
            request = replace(written, deadline=deadline, max_bytes=max_bytes, cancel=cancel)
            try:
                reply = send(cast("Transport", self._transport), request)
                if 200 <= reply.status < 300:
                    return self._json_object(reply.body)
                error, pause_s = self._refusal_error(reply, number)
            except NetworkError as failure:
                error, pause_s = self._network_failure(failure, number, max_bytes, total_s)
            if pause_s is None or pause_s >= deadline - time.monotonic() or number == TRIES:
                raise error
            (cancel or threading.Event()).wait(pause_s)

    def _written_request(self, path: str, body: Json | None) -> HttpRequest:
        """Have openai write a request, with its headers."""
        try:
            if body is None:
                self._client.get(path, cast_to=object)
            else:
                self._client.post(path, body=body, cast_to=object)
        except Exception as error:  # noqa: BLE001 - of several packages: what cannot be written as JSON, for one
            what = f"{type(error).__name__}: {self._error_excerpt(str(error))}"
            raise ModelError(f"{self.base_url}: the request cannot be sent: {what}") from None
        return cast("HttpRequest", self._written.request)

    def _network_failure(self, failure: NetworkError, number: int, max_bytes: int, total_s: float) -> _Failed:
        why = self._error_excerpt(failure.message)
        match failure.kind:
            case "late":
                return ModelTimeoutError(
                    f"{self.base_url}: no reply within {total_s:g} s",
                    hint="allow more time with --model-timeout, or ask a faster model",
                    timeout_s=total_s,
                ), None
            case "too large":
                return self._unusable_reply("E_LIMIT", f"is longer than {max_bytes // 1024:,} KiB"), None
            case "badly packed":
                return self._unusable_reply("E_LLM_FORMAT", f"is {why}"), None
            case "cut":
                return self._unusable_reply("E_LLM_PARTIAL", "was cut off"), None
            case "no reply":  # it is not sent again, since it might be paid for twice
                return self._unusable_reply("E_LLM_PARTIAL", f"did not begin: {why}"), None
        error = ModelError(
            f"cannot reach {self.base_url}{_after_tries(number)}: {why}",
            hint="is the server running, and is --base-url right? kgsparql doctor checks it",
        )
        return error, PAUSE_S * 2 ** (number - 1) if failure.may_pass else None

    def _json_object(self, body: bytes) -> Json:
        text, reply, is_json = body.decode("utf-8", "replace").strip(), None, False
        with suppress(ValueError, RecursionError):  # which hold the text, and so the key
            text = body.decode("utf-8-sig")
            reply, is_json = json.loads(text), True
            if "\\" in text or (self._key and self._key in text):
                reply = _cleaned_value(reply, self._key)
        if not isinstance(reply, dict):
            code, what = "E_LLM_FORMAT", "is JSON, but not an object" if is_json else "is not JSON"
            what = f"{what}: {self._error_excerpt(text)}"
            if not is_json and text.startswith("{") and not text.endswith("}"):
                code, what = "E_LLM_PARTIAL", f"was cut off after {len(body):,} bytes"
            elif not text.strip():
                code, what = "E_LLM_EMPTY", "is empty"
            raise self._unusable_reply(code, what)
        if not (reply.get("choices") or isinstance(reply.get("data"), list)) and message_in(text) != text:
            # such as that the model is loading: a status of 200 does not make it a reply
            raise ModelError(f"{self.base_url} reports an error: {self._error_excerpt(text)}", hint=_URL_HINT)
        return reply

    def _unusable_reply(self, code: str, what: str) -> ModelReplyError:
        return ModelReplyError(
            f"the reply of {self.base_url} {what}",
            code=code,
            hint=f"is this a model server? {_URL_HINT}"
            if code == "E_LLM_FORMAT"
            else "kgsparql doctor tests the server and the model; another model may do better",
        )

    def _refusal_error(self, reply: HttpReply, number: int) -> _Failed:
        status, text = reply.status, self._redacted_text(reply.body.decode("utf-8", "replace"))
        words = f": {self._error_excerpt(text)}" if text.strip() else ""
        said = f"{self.base_url}: {status}{_after_tries(number)}{words}"
        if status in {401, 403}:
            hint = f"set {KEY_VARIABLE} to a key of this server" + ("" if self._key else "; none was sent")
            return AuthenticationError(said, hint=hint, status=status), None
        if status in {400, 422}:
            hint = (
                "it is too long: ask for fewer facts (-O) or --reply-tokens, or give the model more context"
                if _TOO_LONG.search(text)
                else "the server does not take this request; kgsparql doctor shows what it takes"
            )
            return RequestRefusedError(said, hint=hint, status=status, body=text[:_OWN_WORDS]), None
        if status == 429:
            if "insufficient_quota" in text:
                hint = "no quota is left on this key: look at the account's plan and billing"
                return RateLimitError(said, hint=hint, status=status), None
            asked_s = retry_after_s(reply.headers, most_s=math.inf)
            hint = "try later" if asked_s is None else f"wait {asked_s:,.0f} s, as the server asks, then try again"
            pause_s = RATE_PAUSE_S * 2 ** (number - 1) if asked_s is None else asked_s
            return RateLimitError(said, hint=hint, status=status, wait_s=asked_s), pause_s
        pause_s = PAUSE_S * 2 ** (number - 1) if status in _PASSING else None
        hint = "the trouble is at the server; try later"
        if status == 404:
            hint = f"it has no such model or URL; {_URL_HINT}"
        elif 300 <= status < 400:
            said = f"{said}: redirects to {self._error_excerpt(reply.headers.get('location', 'elsewhere'))}"
            hint = "redirects are not followed, since the key goes with them; name the right --base-url"
        return ModelError(said, hint=hint, status=status), pause_s

    def _redacted_text(self, text: str) -> str:
        try:
            text = json_text(json.loads(text))  # no escape hides the key
        except (ValueError, RecursionError):
            if self._key and len(text) >= ERROR_BYTES // 4:
                text = text[: -len(self._key)]  # the part that was read may end inside the key
        return redacted(text.encode("utf-8", "replace").decode(), self._key)

    def _error_excerpt(self, text: str) -> str:
        """Quote the message in the text of an error, in one line, without the key."""
        line = printable(_TAG.sub(" ", message_in(self._redacted_text(text))), 4 * _SHOWN)
        return printable(redacted(line, self._key), _SHOWN)


def _cleaned_value(value: Any, key: str) -> Any:
    """Take the key out of a JSON value, and lone surrogates, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return without(value, key).encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_cleaned_value(item, key) for item in value]
    if isinstance(value, dict):
        return {_cleaned_value(name, key): _cleaned_value(item, key) for name, item in value.items()}
    return value


def _after_tries(number: int) -> str:
    return f" (after {number} tries)" if number > 1 else ""


def _checked_url(text: str) -> str:
    """Write a base URL in the one form in which it is shown and compared, without the path of a request.

    >>> _checked_url(" HTTP://LocalHost:8000/v1/chat/completions/ ")
    'http://localhost:8000/v1'
    """
    shown = printable(unreadable_url(text), 100)
    try:
        parts = urlsplit(text.strip())
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if "@" in text and is_url:  # a / in a password puts its end, and the @, into the path
        raise InputError(f"{shown}: a base URL with credentials in it", hint=f"put the key in {KEY_VARIABLE}")
    if not is_url or parts.query or parts.fragment or re.search(r"[\s\x00-\x1f\\<>\"]", text.strip()):
        raise InputError(f"{shown} is not the URL of a model server", hint="write it as http://localhost:11434/v1")
    path = re.sub(r"/+(?:chat/completions|embeddings|models)$", "", parts.path.rstrip("/"))
    return urlunsplit((parts.scheme, parts.netloc.lower(), path.rstrip("/"), "", ""))
