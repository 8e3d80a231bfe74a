"""What every request passes: who may ask, from which page, and how much."""

from __future__ import annotations

import hmac
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY_BYTES = 262_144
SPARQL_PATH = "/sparql"
TEXT2SPARQL_PATH = "/text2sparql"
MOST_QUERY_BYTES = 4_000_000  # of a body for :data:`SPARQL_PATH`: a query has at most a million characters
_COOKIE = "kgsparql_token"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
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


class Guard:
    """Lets a request through if it is for this server, of one of its own pages, with the token, and not too large.

    A name server that turns another name into our address (DNS rebinding) is refused by ``Host``; a page of another
    site by ``Origin``. Whoever comes with ``?token=`` gets it as a cookie.

    :param host: the address that is bound, with its ``port``.
    :param token: needed for every request but ``/healthz``; none for the own machine alone.
    """

    def __init__(self, app: ASGIApp, *, host: str, port: int, token: str = "") -> None:
        self._app, self._token = app, token
        names = {*_LOOPBACK, f"[{host}]".lower() if ":" in host else host.lower()}
        is_any = host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
        with_port = {f"{name}:{port}" for name in names} | (names if port in {80, 443} else set())
        self._hosts = None if is_any else with_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        reply = self._refusal_of(request)
        if reply is None and self._token and request.query_params.get("token"):
            location = quote("/" + scope["path"].lstrip("/\\"))  # never another host, and free of the token
            reply = RedirectResponse(location, 303)
            reply.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
        if reply is None:
            most = _most_bytes(scope["path"])
            try:
                body = await _bounded_body(request, most)
            except ClientDisconnect:
                return
            if body is None:
                reply = _too_large(most)
            else:
                receive = _receive_after({"type": "http.request", "body": body, "more_body": False}, receive)
        await (reply or self._app)(scope, receive, send_with_headers)

    def _refusal_of(self, request: Request) -> Response | None:
        headers, path = request.headers, request.scope["path"]
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if self._hosts is not None and host not in self._hosts:
            return refused_response(
                421, "this is not a server for that name", "open the address that was printed when the server started"
            )
        is_ours = origin is None or origin.lower() in {f"http://{host}", f"https://{host}"}
        is_sent_by_ours = headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
        # An image's address may be a query or a question; a link to the page is followed.
        is_work = path.startswith((SPARQL_PATH, TEXT2SPARQL_PATH, "/api/"))
        is_harmless = request.method in {"GET", "HEAD", "OPTIONS"} and not is_work
        if not (is_ours and (is_sent_by_ours or is_harmless)):
            return refused_response(403, "a page of another site may not ask here", "open the page of this server")
        if "content-length" in headers and "transfer-encoding" in headers:  # a proxy may see another end of it
            reply = refused_response(400, "a request with two lengths", "send one of its two headers, and no more")
            reply.headers["connection"] = "close"
            return reply
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _most_bytes(path):
            return _too_large(_most_bytes(path))
        if self._token and path != "/healthz" and not self._has_token(request):
            return refused_response(
                401, "a token is needed", "open the address with ?token=… that was printed when it started"
            )
        return None

    def _has_token(self, request: Request) -> bool:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = [*request.query_params.getlist("token"), request.cookies.get(_COOKIE, "")]
        given += [bearer.strip()] if scheme.lower() == "bearer" else []
        return any(hmac.compare_digest(one.encode(), self._token.encode()) for one in given)


def refused_response(status: int, message: str, hint: str) -> Response:
    """Make the reply to a request that is not answered."""
    error = {"code": f"E_HTTP_{status}", "message": message, "hint": hint, "retryable": False, "detail": {}}
    return JSONResponse({"error": error}, status)


def _too_large(most: int) -> Response:
    return refused_response(413, f"the request is larger than {most:,} bytes", "send less")


def _most_bytes(path: str) -> int:
    return MOST_QUERY_BYTES if path == SPARQL_PATH else MOST_BODY_BYTES


async def _bounded_body(request: Request, most: int) -> bytes | None:
    """Read the body; ``None`` if it is larger than that."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


def _receive_after(message: Message, receive: Receive) -> Receive:
    """Make what gives this message, and then what comes."""
    messages = [message]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received
