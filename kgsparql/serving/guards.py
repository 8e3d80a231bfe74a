"""What every request and connection passes: who may ask, from which page, how much, and how long they may take."""

from __future__ import annotations

import hmac
import json
from asyncio import TimerHandle, Transport
from collections.abc import Collection, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs, quote

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY_BYTES = 262_144

SPARQL_PATH = "/sparql"
MOST_QUERY_BYTES = 4_000_000
"""Of a body for :data:`SPARQL_PATH`: a query has at most a million characters."""

COOKIE = "kgsparql_token"

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

REQUEST_S = 20.0
"""How long a client may take to send a request, head and body."""
UNREAD_S = 60.0
"""How long a client may read nothing of what is to be sent to it."""

_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
_CROSS_ORIGIN = {
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "accept, authorization, content-type",
    "access-control-expose-headers": "x-sparql-maxrows, x-kgsparql-cut, retry-after",
    "access-control-allow-private-network": "true",
    "access-control-max-age": "600",
    "vary": "origin",
}
"""What a page of another site that may ask is told; never that a cookie may come with it."""


class Guard:
    """Lets a request through if it is for this server, of one of its own pages, with the token, and not too large.

    A name server that turns another name into our address (DNS rebinding) is refused by ``Host``; a page of another
    site by ``Origin``. Whoever comes with ``?token=`` gets it as a cookie.

    :param host: the address that is bound.
    :param port: its port.
    :param token: needed for every request but ``/healthz``; none for the own machine alone.
    :param origins: other sites whose pages may ask the SPARQL endpoint, and nothing else; ``*`` is any.
    """

    def __init__(
        self, app: ASGIApp, *, host: str, port: int, token: str = "", origins: Collection[str] = frozenset()
    ) -> None:
        self._app = app
        self._token = token
        self._origins = frozenset(origins)
        bracketed = f"[{host}]" if ":" in host else host
        is_any = host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
        names = (*_LOOPBACK, bracketed.lower())
        with_port = [f"{name}:{port}" for name in names]
        self._hosts = None if is_any else {*with_port, *(names if port in {80, 443} else ())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        cross = self._cross_origin_headers(scope["path"], headers)
        send = _with_headers(send, {**_HEADERS, **cross})
        refusal = self._refusal_of(scope, headers, is_other_site=bool(cross))
        if refusal is not None:
            await _send_error(send, *refusal)
            return
        if cross and scope["method"] == "OPTIONS":  # a browser asks whether it may ask; it sends no token with that
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._token and given:
            await _send_cookie(send, scope["path"], self._token)
            return
        if scope["path"] == SPARQL_PATH:  # which bounds what it reads itself
            await self._app(scope, receive, send)
            return
        body = await _whole_body(receive)
        if body is not None and len(body) <= MOST_BODY_BYTES:
            await self._app(
                scope, _receive_after({"type": "http.request", "body": body, "more_body": False}, receive), send
            )
        elif body is not None:
            await _send_error(send, *_too_large_error(MOST_BODY_BYTES))

    def _cross_origin_headers(self, path: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Return what lets a page of another site read the reply; empty where it may not."""
        origin = headers.get("origin")
        if origin is None or path != SPARQL_PATH or not self._origins & {"*", origin}:
            return {}
        return {**_CROSS_ORIGIN, "access-control-allow-origin": "*" if "*" in self._origins else origin}

    def _refusal_of(self, scope: Scope, headers: dict[str, str], *, is_other_site: bool) -> tuple[int, str, str] | None:
        host = headers.get("host", "").lower()
        if self._hosts is not None and host not in self._hosts:
            return 421, "this is not a server for that name", "open the address that kgsparql serve printed"
        origin = headers.get("origin")
        changes = scope["method"] not in {"GET", "HEAD", "OPTIONS"}
        if not is_other_site and origin is not None and origin.lower() not in {f"http://{host}", f"https://{host}"}:
            return 403, "a page of another site may not ask here", "open the page of this server"
        is_ours = is_other_site or headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
        if not is_ours and (changes or scope["path"] == SPARQL_PATH):  # an image's address may be a query
            return 403, "a page of another site may not ask here", "open the page of this server"
        length = headers.get("content-length", "0")
        most = MOST_QUERY_BYTES if scope["path"] == SPARQL_PATH else MOST_BODY_BYTES
        if not length.isdecimal() or int(length) > most:
            return _too_large_error(most)
        is_open = scope["path"] == "/healthz" or (is_other_site and scope["method"] == "OPTIONS")
        if self._token and not is_open and not self._has_token(scope, headers):
            return 401, "a token is needed", "open the address with ?token=… that kgsparql serve printed"
        return None

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        given = [*parse_qs(scope["query_string"].decode("latin-1")).get("token", [])]
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given.append(bearer.strip())
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        if cookie is not None:
            given.append(cookie.value)
        return any(hmac.compare_digest(one.encode(), self._token.encode()) for one in given)


def _too_large_error(most: int) -> tuple[int, str, str]:
    return 413, f"the request is larger than {most:,} bytes", "send less"


async def _whole_body(receive: Receive) -> bytes | None:
    """Read the body, or more of it than a body may have; ``None`` if the client went away before its end."""
    body = b""
    while len(body) <= MOST_BODY_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return body


def _receive_after(message: Message, receive: Receive) -> Receive:
    """Make what gives this message, and then what comes."""
    messages = [message]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in headers.items() if n == "vary" or n.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return with_headers


async def _send_error(send: Send, status: int, message: str, hint: str) -> None:
    error = {"code": f"E_HTTP_{status}", "message": message, "hint": hint, "retryable": False, "detail": {}}
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _send_cookie(send: Send, path: str, token: str) -> None:
    """Keep the token in the browser, and its address free of it."""
    cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
    location = quote("/" + path.lstrip("/\\"))  # never another host
    headers = [(b"location", location.encode()), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class PunctualConnection(H11Protocol):
    """Is closed where a request is not whole, or a reply not read, in time; or at once where there are too many.

    So a client that opens connections and never ends its requests cannot keep all places for itself: whoever sends a
    whole request has a place. It needs no token for that, since the head of a request is where a token would be.
    """

    late: TimerHandle | None = None
    unread: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start waiting for a request, in the place of another connection if there is no other place."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that it is paused while anything is still to be sent
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            waiting = [one for one in cast("set[PunctualConnection]", self.connections) if one.late is not None]
            if waiting:
                min(waiting, key=lambda one: one.late.when() if one.late else 0.0).give_up()
        self._watch()

    def handle_events(self) -> None:
        """Handle what has come, and wait for the rest of it."""
        super().handle_events()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        super().connection_lost(exc)
        self.resume_writing()
        self._stop_waiting()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._look_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Take note that the client has read."""
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()

    def _look_again(self, unsent: int) -> None:
        def look() -> None:
            left = self.transport.get_write_buffer_size()
            self._look_again(left) if left < unsent else self.give_up()

        self.unread = self.loop.call_later(UNREAD_S, look)

    def _watch(self) -> None:
        is_whole = self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}
        if is_whole:
            self._stop_waiting()
        elif self.late is None and not self.transport.is_closing():
            self.late = self.loop.call_later(REQUEST_S, self.give_up)

    def give_up(self) -> None:
        """Close the connection, whatever is still to be sent."""
        self._stop_waiting()
        self.transport.abort()

    def _stop_waiting(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None
