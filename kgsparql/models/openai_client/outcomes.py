"""What a request to a model server came to: a JSON object, or an error and whether to try again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsparql.errors import (
    AuthenticationError,
    KgsparqlError,
    ModelError,
    ModelReplyError,
    ModelTimeoutError,
    RateLimitError,
    RequestRefusedError,
)
from kgsparql.http.retry_after import retry_after_s
from kgsparql.models.openai_client.connection import CONNECT_S, ERROR_BYTES, Connection, LongBodyError, PackedBodyError
from kgsparql.rdf.terms import printable
from kgsparql.redaction import KEY_VARIABLE, redacted, without

URL_HINT = "does the base URL end in /v1? kgsparql doctor lists the models of the server"

_EXCERPT = 200
_OWN_WORDS = 2_000
_TOO_LONG = re.compile(r"context.{0,3}(?:length|size|window)|prompt is too long|n_ctx", re.IGNORECASE)
_PAUSE_S = 0.2
_RATE_PAUSE_S = 1.0
_PASSING = {500, 502, 503}
"""Statuses after which another try may help at once; a 504 has already waited long."""

_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A request that failed.

    :param pause_s: after so many seconds it may be sent again; ``None``: it may not.
    """

    error: KgsparqlError
    pause_s: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Outcomes:
    """Reads what a server sent. The key is taken out of all results."""

    place: str
    key: str

    def of(self, connection: Connection, limit: int, number: int) -> dict[str, Any] | FailedRequest:
        """The JSON object that a server replied, or how the request failed.

        :param limit: bytes of the body that were read at most.
        :param number: of the try, from 1.
        """
        status, error = connection.status, connection.error
        if status and not 200 <= status < 300:
            return self._refusal(status, connection.headers, connection.body, number)
        if isinstance(error, LongBodyError):
            return self._unusable("E_LIMIT", f"is longer than {limit // 1024:,} KiB")
        if isinstance(error, PackedBodyError):
            return self._unusable("E_LLM_FORMAT", f"is {error}")
        if status and error is not None:
            return self._unusable("E_LLM_PARTIAL", "was cut off")
        if error is not None:
            return self._unanswered(error) if connection.is_sent else self._unreachable(error, number)
        return self._reply(connection.body)

    def _reply(self, body: bytes) -> dict[str, Any] | FailedRequest:
        try:
            text = body.decode("utf-8-sig")
            reply = json.loads(text)
            if "\\" in text or (self.key and self.key in text):
                reply = _cleaned(reply, self.key)
        except (ValueError, RecursionError):
            text = body.decode("utf-8", "replace").strip()
            if text.startswith("{") and not text.endswith("}"):
                return self._unusable("E_LLM_PARTIAL", f"was cut off after {len(body):,} bytes")
            if not text:
                return self._unusable("E_LLM_EMPTY", "is empty")
            return self._unusable("E_LLM_FORMAT", f"is not JSON: {self._excerpt(text)}")
        if not isinstance(reply, dict):
            return self._unusable("E_LLM_FORMAT", f"is JSON, but not an object: {self._excerpt(text)}")
        if reply.get("error") and not {"choices", "data"} & reply.keys():
            return FailedRequest(ModelError(f"{self.place} reports an error: {self._excerpt(text)}", hint=URL_HINT))
        return reply

    def _unusable(self, code: str, what: str) -> FailedRequest:
        hint = "kgsparql doctor tests the server and the model; another model may do better"
        if code == "E_LLM_FORMAT":
            hint = "is this a model server? " + URL_HINT
        return FailedRequest(ModelReplyError(f"the reply of {self.place} {what}", code=code, hint=hint))

    def _unanswered(self, error: Exception) -> FailedRequest:
        """A request that was sent and not answered. It is not sent again, since it might be paid for twice."""
        from openai import APITimeoutError

        if isinstance(error, APITimeoutError):
            hint = "allow more time with --model-timeout, or ask a faster model"
            return FailedRequest(ModelTimeoutError(f"{self.place}: no reply in time", hint=hint))
        return self._unusable("E_LLM_PARTIAL", f"did not begin: {self._excerpt(str(error.__cause__ or error))}")

    def _unreachable(self, error: Exception, number: int) -> FailedRequest:
        from openai import APIConnectionError, APITimeoutError

        hint = "is the server running, and is --base-url right? kgsparql doctor checks it"
        if isinstance(error, APITimeoutError):
            silent = ModelError(f"{self.place}: no connection within {CONNECT_S:g} s", hint=hint)
            return FailedRequest(silent)
        if not isinstance(error, APIConnectionError):
            what = f"{type(error).__name__}: {self._excerpt(str(error))}"
            return FailedRequest(ModelError(f"{self.place}: the request cannot be sent: {what}"))
        why = self._excerpt(str(error.__cause__ or error))
        unreachable = ModelError(f"cannot reach {self.place}{_tries(number)}: {why}", hint=hint)
        return FailedRequest(unreachable, _PAUSE_S * 2 ** (number - 1))

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes, number: int) -> FailedRequest:
        text = self._redacted(body.decode("utf-8", "replace"))
        about = f"{self.place}: {status}{_tries(number)}"
        said = f"{about}: {self._excerpt(text)}" if text.strip() else about
        if status in {401, 403}:
            hint = f"set {KEY_VARIABLE} to a key of this server" + ("" if self.key else "; none was sent")
            return FailedRequest(AuthenticationError(said, hint=hint, status=status))
        if status in {400, 422}:
            hint = "the server does not take this request; kgsparql doctor shows what it takes"
            if _TOO_LONG.search(text):
                hint = "it is too long: ask for fewer facts (-O) or --reply-tokens, or give the model more context"
            return FailedRequest(RequestRefusedError(said, hint=hint, status=status, body=text[:_OWN_WORDS]))
        if status == 404:
            return FailedRequest(ModelError(said, hint=f"it has no such model or URL; {URL_HINT}", status=status))
        if status == 429:
            return self._too_many(said, headers, text, number)
        if 300 <= status < 400:
            to = self._excerpt(headers.get("location", "elsewhere"))
            hint = "redirects are not followed, since the key goes with them; name the right --base-url"
            return FailedRequest(ModelError(f"{about}: redirects to {to}", hint=hint, status=status))
        pause = _PAUSE_S * 2 ** (number - 1) if status in _PASSING else None
        return FailedRequest(ModelError(said, hint="the trouble is at the server; try later", status=status), pause)

    def _too_many(self, said: str, headers: Mapping[str, str], text: str, number: int) -> FailedRequest:
        if "insufficient_quota" in text:
            hint = "no quota is left on this key: look at the account's plan and billing"
            return FailedRequest(RateLimitError(said, hint=hint, status=429))
        asked = retry_after_s(headers, most_s=math.inf)
        wait = f"wait {asked:,.0f} s, as the server asks, then try again" if asked is not None else "try later"
        error = RateLimitError(said, hint=wait, status=429, wait_s=asked)
        return FailedRequest(error, _RATE_PAUSE_S * 2 ** (number - 1) if asked is None else asked)

    def _redacted(self, text: str) -> str:
        """The text of an error of the server, without the key."""
        try:
            text = json.dumps(json.loads(text), ensure_ascii=False)  # no escape hides the key
        except (ValueError, RecursionError):
            if self.key and len(text) >= ERROR_BYTES // 4:
                text = text[: -len(self.key)]  # the part that was read may end inside the key
        return redacted(text.encode("utf-8", "replace").decode(), self.key)

    def _excerpt(self, text: str) -> str:
        """The message in the text of an error, in one line, without the key."""
        line = printable(_TAG.sub(" ", _message(self._redacted(text))), 4 * _EXCERPT)
        return printable(redacted(line, self.key), _EXCERPT)


def _message(text: str) -> str:
    """The message in the body of an error, if the body is like OpenAI's; else all of it.

    >>> _message('{"error": {"message": "no such model", "code": 404}}')
    'no such model'
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    return value if isinstance(value, str) else text


def _cleaned(value: Any, key: str) -> Any:
    """A JSON value without the key and without lone surrogates, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return without(value, key).encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_cleaned(item, key) for item in value]
    if isinstance(value, dict):
        return {_cleaned(name, key): _cleaned(item, key) for name, item in value.items()}
    return value


def _tries(number: int) -> str:
    return f" (after {number} tries)" if number > 1 else ""
