"""The transport over the network: connections to one server, which a request can shut down, and the proxy before it."""

from __future__ import annotations

import io
import threading
import time
import urllib.request
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError

from kgsparql.errors import InputError, unreadable_url
from kgsparql.http.address import PROXY_HINT
from kgsparql.http.transport import ERROR_BYTES, HttpReply, HttpRequest, NetworkError
from kgsparql.rdf.terms import printable

_CONNECT_S = 3.0  # seconds for a connection to one of the addresses that a host may have
_STALE_WITHIN_S = 1.0
_PIECE_BYTES = 2**16
_CONNECTIONS = 8
_ENCODINGS = {"", "identity", "gzip", "x-gzip", "deflate"}


class NetworkTransport:
    """Connections to one server, kept open, through the proxy that the environment names for it, if there is one."""

    def __init__(self, origin: tuple[str, str, int], shown: str) -> None:
        self._origin, self._shown = origin, shown
        self._pool = _connection_pool(origin, shown)

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        closed, self._pool = self._pool, _connection_pool(self._origin, self._shown)
        closed.close()

    def __call__(self, request: HttpRequest) -> HttpReply:
        """Send a request, and read the reply up to its limits."""
        _this_thread.request = request
        began = time.monotonic()
        try:
            return self._exchange_once(request)
        except ProtocolError:
            # A server may close a connection that was kept open just when we use it again; later, it worked on it.
            was_read = request.is_sent and (not request.may_repeat or time.monotonic() > began + _STALE_WITHIN_S)
            if request.is_fresh or was_read or request.has_reply or request.is_abandoned:
                raise
            return self._exchange_once(request)
        finally:
            request.connection = None  # another request may have it by now

    def _exchange_once(self, request: HttpRequest) -> HttpReply:
        request.is_fresh = request.is_sent = request.has_reply = False
        left_s = max(0.001, request.deadline - time.monotonic())
        target = urlsplit(request.url)
        is_proxied = self._pool.proxy is not None and target.scheme == "http"  # of TLS a proxy sees only the host
        origin = (target.scheme, target.netloc) if is_proxied else ("", "")
        headers = {name: value for name, value in request.headers.items() if name.lower() != "accept-encoding"}
        response = self._pool.urlopen(
            request.method,
            urlunsplit((*origin, target.path or "/", target.query, "")),
            body=request.body,
            headers={**headers, "Accept-Encoding": "gzip"},  # what can be unpacked piece by piece
            retries=False,
            redirect=False,
            assert_same_host=False,
            timeout=urllib3.Timeout(connect=min(_CONNECT_S, left_s), read=left_s),
            preload_content=False,
        )
        request.has_reply = True
        is_whole = False
        try:
            body = _body_of(response, request)
            is_whole = True
        finally:
            (response.release_conn if is_whole else response.close)()
        headers = {name.lower(): value for name, value in response.headers.itermerged()}
        return HttpReply(response.status, headers, body)


def _body_of(response: urllib3.BaseHTTPResponse, request: HttpRequest) -> bytes:
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in _ENCODINGS:
        raise NetworkError("badly packed", f"packed as {printable(packing, 40)}")
    is_error = not 200 <= response.status < 300
    body, limit = io.BytesIO(), min(request.max_bytes, ERROR_BYTES) if is_error else request.max_bytes
    for piece in response.stream(_PIECE_BYTES, decode_content=True):
        body.write(piece)
        if body.tell() > limit and is_error:
            response.close()
            break
        if body.tell() > limit or request.is_abandoned:
            raise NetworkError("too large")
    return body.getvalue()[: limit if is_error else None]


_this_thread = threading.local()  # its ``request``


class _Watched(HTTPConnection):
    """A connection that tells the request of its thread about itself, so that the request can shut it down."""

    def connect(self) -> None:
        request = _this_thread.request
        request.connection, request.is_fresh, request.is_connected = self, True, False
        super().connect()
        request.is_connected = True
        if request.is_abandoned:
            self.close()
            raise ProtocolError("abandoned")

    def request(self, *args: Any, **options: Any) -> None:
        request = _this_thread.request
        request.connection = self
        request.is_connected = self.sock is not None
        super().request(*args, **options)
        request.is_sent = True


class _WatchedTls(_Watched, HTTPSConnection):
    pass


class _HttpPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Watched


class _HttpsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _WatchedTls


def _connection_pool(origin: tuple[str, str, int], shown: str) -> urllib3.HTTPConnectionPool:
    scheme, host, port = origin
    classes: dict[str, type[urllib3.HTTPConnectionPool]] = {"http": _HttpPool, "https": _HttpsPool}
    proxies = urllib.request.getproxies()
    variable = scheme if proxies.get(scheme) else "all"
    proxy = proxies.get(variable)
    if not proxy or urllib.request.proxy_bypass(f"{host}:{port}"):
        try:
            return classes[scheme](host, port, maxsize=_CONNECTIONS)
        except HTTPError:  # no name that a host can have
            raise InputError(f"{shown}: not a URL", hint="for example https://host/sparql") from None
    try:
        user = urllib3.util.parse_url(proxy).auth
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        manager = urllib3.ProxyManager(proxy, maxsize=_CONNECTIONS, proxy_headers=headers)
    except (HTTPError, ValueError):
        shown_proxy = f"{variable.upper()}_PROXY: {printable(unreadable_url(proxy), 200)}"
        raise InputError(f"{shown_proxy} is not the URL of a proxy over HTTP", hint=PROXY_HINT) from None
    manager.pool_classes_by_scheme = classes
    return manager.connection_from_host(host, port, scheme)
