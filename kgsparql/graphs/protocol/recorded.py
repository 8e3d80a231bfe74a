"""Senders that remember: one keeps every exchange, to be replayed; the other saves an endpoint the same work."""

from __future__ import annotations

import os
import re
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kgsparql.errors import DataError, StoreError, UnreachableError
from kgsparql.exchanges import Exchanges
from kgsparql.graphs.protocol.contact import CONTACT_VARIABLE
from kgsparql.graphs.protocol.request import Form, Reply, Sender, Sent
from kgsparql.graphs.protocol.results import boolean, solutions
from kgsparql.recording import QUERY, Recording
from kgsparql.redaction import SHORTEST, without

__all__ = ["CachedSender", "RecordedSender", "keep_s_of", "reply_of"]

MOST_BYTES = 256_000_000
"""Of what the cache keeps of all endpoints; of more, the oldest go."""
MOST_REPLY_BYTES = 8_000_000
"""A larger reply is not cached: it is read once, into an index that is kept itself."""
MOST_S = 7 * 24 * 3600.0
"""Nothing is cached for longer, whatever a profile says."""

_HEADERS = re.compile(r"content-type|retry-after|server|link|(?:x-sql|x-sparql|fuseki)-.+")
"""What anybody reads of the headers of a reply; others may tell of whoever asked, such as their address."""
_CREDENTIALS = re.compile(rb"(?i)\b(basic|bearer) +[A-Za-z0-9+/=._~-]{6,}")
"""A header of ours in the words of a server that shows what it was sent."""


@dataclass(slots=True)
class RecordedSender:
    """A sender for a snapshot: while it is recorded everything is kept, failures too; in a replay nothing is sent.

    What is kept is the outcome: how often the endpoint was asked for it, and what was waited, is not.

    :param make: the sender that asks; it is never made for a replay.
    """

    make: Callable[[], Sender]
    recording: Recording
    _sender: Sender | None = field(default=None, init=False)
    _making: threading.Lock = field(default_factory=threading.Lock, init=False)

    def send(
        self,
        sent: Sent,
        form: Form,
        *,
        parameters: Mapping[str, str],
        left_s: float,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """As :meth:`Sender.send`.

        :raises ReplayMissError: if nothing may be sent, and this was not recorded.
        :raises StoreError: if it cannot be kept: a recording that lacks something is none.
        """
        request, recording = _request(sent, form, parameters), self.recording
        with recording.alone(QUERY, request, within_s=left_s, cancel=cancel):
            kept = recording.get(QUERY, request, what=f"{sent.what} to {sent.url}")
            if kept is not None:
                return reply_of(kept)
            try:
                reply = self._asked().send(sent, form, parameters=parameters, left_s=left_s, cancel=cancel)
            except UnreachableError as error:
                recording.fail(QUERY, request, error)
                raise
            reply = _without_secrets(reply, sent)
            recording.put(QUERY, request, {**_kept(reply), "name": sent.name}, again=reply.status != 200)
            return reply

    def _asked(self) -> Sender:
        with self._making:
            if self._sender is None:
                self._sender = self.make()
            return self._sender


@dataclass(slots=True)
class CachedSender:
    """A sender that asks a public endpoint a second time only after a while: whole results are used again until then.

    Of one that is not public, or is asked with a password or a key, nothing is kept. Where results cannot be kept, that
    is said once and done without.

    """

    sender: Sender
    exchanges: Exchanges
    note: Callable[[str], None] | None = None
    _is_open: bool = field(default=False, init=False)
    _is_broken: bool = field(default=False, init=False)

    def send(
        self,
        sent: Sent,
        form: Form,
        *,
        parameters: Mapping[str, str],
        left_s: float,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """As :meth:`Sender.send`."""
        request, keep_s = _request(sent, form, parameters), keep_s_of(sent)
        kept = self._known(request, keep_s) if keep_s else None
        if kept is not None:
            return reply_of(kept)
        reply = self.sender.send(sent, form, parameters=parameters, left_s=left_s, cancel=cancel)
        if keep_s and not self._is_broken and len(reply.body) <= MOST_REPLY_BYTES and _is_whole(reply, sent, form):
            try:
                self.exchanges.put(QUERY, request, _kept(reply))
            except StoreError as error:
                self._do_without(error)
        return reply

    def _known(self, request: Mapping[str, Any], keep_s: float) -> dict[str, Any] | None:
        if self._is_broken:
            return None
        try:
            if not self._is_open:
                self._is_open = True
                self.exchanges.prune(QUERY, at_most_s=MOST_S, most_bytes=MOST_BYTES)
            if self.exchanges.mode == "write":
                return None
            return self.exchanges.known(QUERY, request, at_most_s=min(keep_s, MOST_S))
        except StoreError as error:
            self._do_without(error)
            return None

    def _do_without(self, error: StoreError) -> None:
        self._is_broken = True
        if self.note is not None:
            self.note(f"results are not kept: {error.message} ({error.hint})")


def _is_whole(reply: Reply, sent: Sent, form: Form) -> bool:
    """Whether a reply is a result, and nothing says that it is not all of it."""
    try:
        if form == "SELECT":
            return solutions(reply, sent).complete
        return form == "ASK" and boolean(reply, sent) is not None
    except (DataError, UnreachableError):
        return False  # whoever reads it will say so


def keep_s_of(sent: Sent) -> float:
    """How long a result of this request may be used again; 0 for not at all."""
    return sent.profile.keep_s if sent.profile.is_public and not any(sent.secrets) else 0.0


def _request(sent: Sent, form: Form, parameters: Mapping[str, str]) -> dict[str, Any]:
    """What makes two exchanges the same; nothing of who asks."""
    return {"endpoint": sent.url, "form": form, "query": sent.text, "parameters": dict(sorted(parameters.items()))}


def _kept(reply: Reply) -> dict[str, Any]:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    told = {name: v for name, v in sorted(headers.items()) if _HEADERS.fullmatch(name)}
    try:
        body = {"body": reply.body.decode("utf-8")}
    except UnicodeDecodeError:
        body = {"base64": b64encode(reply.body).decode("ascii")}
    return {"status": reply.status, "headers": told, **body, "seconds": round(reply.seconds, 6)}


def reply_of(kept: Mapping[str, Any]) -> Reply:
    """The reply that was kept."""
    body = b64decode(kept["base64"]) if "base64" in kept else str(kept["body"]).encode("utf-8")
    return Reply(int(kept["status"]), dict(kept["headers"]), body, float(kept["seconds"]))


def _without_secrets(reply: Reply, sent: Sent) -> Reply:
    """The reply without what a server said back of our credentials; and, where it is no result, of who asks."""
    secrets, body = list(sent.secrets), reply.body
    is_words = reply.headers.get("content-type", "text/plain").lower().startswith(("text/html", "text/plain"))
    if reply.status != 200 or is_words:
        secrets.append(os.environ.get(CONTACT_VARIABLE, "").strip())  # in results it may be a term
        body = _CREDENTIALS.sub(rb"\1 ***", body)
    for secret in secrets:
        if len(secret) >= SHORTEST:
            body = body.replace(secret.encode("utf-8"), b"***")
    return replace(reply, body=body, headers={n: without(v, *secrets) for n, v in reply.headers.items()})
