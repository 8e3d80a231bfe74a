"""Senders that keep replies: one records all of them, to be replayed; the other caches results for a while."""

from __future__ import annotations

import os
import re
import time
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kgsparql.errors import KgsparqlError, StoreError, UnreachableError
from kgsparql.graphs.protocol.replies import boolean, solutions, triples
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE, Sender, SparqlRequest
from kgsparql.http.transport import HttpReply
from kgsparql.redaction import SHORTEST, is_word, without
from kgsparql.storage.response_cache import QUERY, Recording, ResponseCache

MOST_BYTES = 256_000_000
"""Of the cache, for all endpoints; beyond, the oldest replies are removed."""
MOST_REPLY_BYTES = 8_000_000
"""A larger reply is not cached: it is read once, for an index that is itself kept."""
MOST_S = 7 * 24 * 3600.0
"""Seconds after which nothing is used again, whatever a profile says."""

_HEADERS = re.compile(r"content-type|retry-after|server|link|(?:x-sql|x-sparql|fuseki)-.+")
"""The headers that are read and kept; others may tell who asked, such as their address."""
_CREDENTIALS = re.compile(rb"(?i)\b(basic|bearer) +[A-Za-z0-9+/=._~-]{6,}")
"""Our own header, in the reply of a server that shows what it was sent."""


@dataclass(slots=True)
class RecordedSender:
    """A sender for a snapshot: a recording keeps all outcomes, failures too; in a replay nothing is sent."""

    sender: Callable[[], Sender]
    recording: Recording
    asker: int = 0

    def send(self, request: SparqlRequest) -> HttpReply:
        """Return the recorded reply, or send the request and record what comes of it."""
        exchange, recording = _exchange_key(request, self.asker), self.recording
        with recording.exclusive(QUERY, exchange, within_s=request.deadline - time.monotonic(), cancel=request.cancel):
            what = "a query that this run needs" if request.name else "the query"
            kept = recording.get(QUERY, exchange, what=f"{what}, to {request.url}", asked=request.name)
            if kept is not None:
                return reply_of(kept)
            try:
                reply = self.sender().send(request)
            except UnreachableError as error:
                recording.fail(QUERY, exchange, error)
                raise
            reply = _without_secrets(reply, request)
            recording.put(QUERY, exchange, _entry_of(reply), again=reply.status != 200)
            return reply


@dataclass(slots=True)
class CachedSender:
    """A sender that uses complete results again for as long as the endpoint's profile says.

    Nothing is kept of an endpoint that is asked with a password or a key. Where results cannot be kept, a note says so
    once.
    """

    sender: Sender
    response_cache: ResponseCache
    note: Callable[[str], None] | None = None
    _is_pruned: bool = field(default=False, init=False)
    _is_broken: bool = field(default=False, init=False)

    def send(self, request: SparqlRequest) -> HttpReply:
        """Return a kept reply, or send the request and keep the reply where it may be used again."""
        exchange, cache = _exchange_key(request), self.response_cache
        keep_s = 0.0 if any(request.secrets) else min(request.profile.keep_s, MOST_S)
        if keep_s and not self._is_broken:
            with self._broken_at_an_error():
                if not self._is_pruned:
                    self._is_pruned = True
                    cache.prune(QUERY, at_most_s=MOST_S, most_bytes=MOST_BYTES)
                kept = None if cache.mode == "write" else cache.lookup(QUERY, exchange, at_most_s=keep_s)
                if kept is not None:
                    return reply_of(kept)
        reply = self.sender.send(request)
        may_keep = keep_s and not self._is_broken and len(reply.body) <= MOST_REPLY_BYTES
        if may_keep and request.form in {"SELECT", "ASK"} and _is_complete(reply, request):
            with self._broken_at_an_error():
                cache.put(QUERY, exchange, _entry_of(reply))
        return reply

    @contextmanager
    def _broken_at_an_error(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            self._is_broken = True
            if self.note is not None:
                self.note(f"results are not kept: {error.message} ({error.hint})")


def _is_complete(reply: HttpReply, request: SparqlRequest) -> bool | None:
    """Tell whether a reply holds all results; ``None`` if it holds none of the form that was asked for."""
    try:
        if request.form == "SELECT":
            return solutions(reply, request).complete
        if request.form == "ASK":
            boolean(reply, request)
        else:
            deque(triples(reply, request), maxlen=0)
    except KgsparqlError:
        return None  # whoever reads it raises the error
    return True


def _exchange_key(request: SparqlRequest, asker: int = 0) -> dict[str, Any]:
    """Return the key of a request: what two requests must share to be the same; not who asks, but its number."""
    given = dict(sorted(request.parameters.items()))
    exchange = {"endpoint": request.url, "form": request.form, "query": request.text, "parameters": given}
    return {**exchange, "asker": asker} if asker else exchange


def _entry_of(reply: HttpReply) -> dict[str, Any]:
    kept_headers = {name: value for name, value in sorted(reply.headers.items()) if _HEADERS.fullmatch(name)}
    try:
        body = {"body": reply.body.decode("utf-8")}
    except UnicodeDecodeError:
        body = {"base64": b64encode(reply.body).decode("ascii")}
    return {"status": reply.status, "headers": kept_headers, **body, "seconds": round(reply.seconds, 6)}


def reply_of(kept: Mapping[str, Any]) -> HttpReply:
    """Return the reply that was kept."""
    body = b64decode(kept["base64"]) if "base64" in kept else str(kept["body"]).encode("utf-8")
    return HttpReply(int(kept["status"]), dict(kept["headers"]), body, float(kept["seconds"]))


def _without_secrets(reply: HttpReply, request: SparqlRequest) -> HttpReply:
    """Return the reply without the credentials that the server echoed; where it is no result, without the contact, too.

    Results stay as they are: our password, or the contact, may be a term of the graph.

    :raises StoreError: for results with what can only be credentials.
    """
    contact = os.environ.get(CONTACT_VARIABLE, "").strip()
    secrets = [secret for secret in (*request.secrets, contact) if len(secret) >= SHORTEST]
    headers = {name: without(value, *secrets) for name, value in reply.headers.items()}
    met, body = [secret for secret in secrets if secret.encode() in reply.body], reply.body
    if (met or _CREDENTIALS.search(body)) and _is_complete(reply, request) is None:
        body = _CREDENTIALS.sub(rb"\1 ***", body)
        for secret in secrets:
            body = body.replace(secret.encode(), b"***")
    elif not all(secret == contact or is_word(secret) for secret in met):
        raise StoreError(
            f"{request.url}: the results of {request.what} repeat the password, or the key, and are not recorded",
            hint="record it as another user, or with another key",
        )
    return replace(reply, body=body, headers=headers)
