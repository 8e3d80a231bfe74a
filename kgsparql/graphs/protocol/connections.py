"""The connections to an endpoint, and a request on its way over them, ended at a deadline.

Every request runs on a thread of its own. Its caller can stop waiting at any time, and then shuts the connection down.
"""

from __future__ import annotations

import io
import socket
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError

from kgsparql.errors import CancelledError, EndpointError, InputError
from kgsparql.graphs.protocol.failures import of_transport, timed_out
from kgsparql.graphs.protocol.request import Reply, SparqlRequest
from kgsparql.http.address import PROXY_HINT, Address
from kgsparql.http.threaded_call import ThreadedCall
from kgsparql.rdf.terms import printable
from kgsparql.redaction import unreadable_url

CONNECT_S = 3.0
"""Seconds for a connection to one of the addresses that a host may have."""
REACH_S = 8.0
"""Seconds for name server, connection and TLS handshake together."""
_PIECE = 2**16
_CONNECTIONS = 8


@dataclass(eq=False)
class Exchange:
    """One request on its way, on a thread of its own.

    :param max_bytes: of the reply when it is unpacked.
    """

    _pool: urllib3.HTTPConnectionPool
    _http: urllib.request.Request
    _request: SparqlRequest
    _deadline: float
    _max_bytes: int
    abandoned: bool = field(default=False, init=False)
    connection: HTTPConnection | None = field(default=None, init=False)
    is_connected: bool = field(default=False, init=False)
    is_fresh: bool = field(default=False, init=False)
    has_headers: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._call = ThreadedCall(self._reply, name="kgsparql endpoint")

    def reply(self) -> Reply | None:
        """The reply when it is there; ``None`` for one that is too large."""

        def seconds_left() -> float:
            now = time.monotonic()
            if self._request.cancel is not None and self._request.cancel.is_set():
                raise CancelledError("stopped while an endpoint was asked")
            if now >= self._deadline:
                raise timed_out(self._request)
            if not self.is_connected and now >= self._began + REACH_S:
                raise EndpointError(
                    f"{self._request.url}: no connection within {REACH_S:g} s",
                    hint="check the URL and the network", **self._request.detail(),
                )  # fmt: skip
            return self._deadline - now

        return self._call.result(seconds_left)

    def _reply(self) -> Reply | None:
        _running.exchange = self
        try:
            try:
                return self._sent()
            except ProtocolError:
                # A server may close a connection that was kept open just when we use it again.
                if self.is_fresh or self.has_headers or self.abandoned:
                    raise
                return self._sent()
        except (HTTPError, HTTPException, OSError, UnicodeError) as error:
            raise of_transport(
                error, self._request, is_connected=self.is_connected, has_headers=self.has_headers
            ) from error

    def abandon(self) -> None:
        """Shut its connection down, which wakes the thread that waits for bytes."""
        self.abandoned = True
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _sent(self) -> Reply | None:
        self.is_fresh = self.has_headers = False
        left = max(0.001, self._deadline - time.monotonic())
        target = urlsplit(self._http.full_url)
        is_proxied = self._pool.proxy is not None and target.scheme == "http"  # of TLS a proxy sees only the host
        origin = (target.scheme, target.netloc) if is_proxied else ("", "")
        response = self._pool.urlopen(
            self._http.get_method(),
            urlunsplit((*origin, target.path or "/", target.query, "")),
            body=self._http.data,  # type: ignore[arg-type]
            headers={**dict(self._http.header_items()), "Accept-Encoding": "gzip"},
            retries=False,
            redirect=False,
            assert_same_host=False,
            timeout=urllib3.Timeout(connect=min(CONNECT_S, left), read=left),
            preload_content=False,
        )
        self.has_headers = True
        whole = False
        try:
            body = io.BytesIO()
            for piece in response.stream(_PIECE, decode_content=True):
                body.write(piece)
                if body.tell() > self._max_bytes or self.abandoned:
                    return None
            whole = True
            return Reply(response.status, response.headers, body.getvalue())
        finally:
            if whole:
                response.release_conn()
            else:
                response.close()


class _Running(threading.local):
    exchange: Exchange


_running = _Running()


class _Watched(HTTPConnection):
    """A connection that tells its exchange about itself, so that the exchange can shut it down."""

    def connect(self) -> None:
        exchange = _running.exchange
        exchange.connection, exchange.is_fresh, exchange.is_connected = self, True, False
        super().connect()
        exchange.is_connected = True
        if exchange.abandoned:
            self.close()
            raise ProtocolError("abandoned")

    def request(self, *args: Any, **options: Any) -> None:
        exchange = _running.exchange
        exchange.connection = self
        exchange.is_connected = self.sock is not None
        super().request(*args, **options)


class _WatchedTls(_Watched, HTTPSConnection):
    pass


class _HttpPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Watched


class _HttpsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _WatchedTls


def connections(address: Address) -> urllib3.HTTPConnectionPool:
    """Connections to an endpoint, through the proxy that the environment names for it, if there is one."""
    scheme, host, port = address.origin
    classes: dict[str, type[urllib3.HTTPConnectionPool]] = {"http": _HttpPool, "https": _HttpsPool}
    proxies = urllib.request.getproxies()
    variable = scheme if proxies.get(scheme) else "all"
    proxy = proxies.get(variable)
    if not proxy or urllib.request.proxy_bypass(f"{host}:{port}"):
        try:
            return classes[scheme](host, port, maxsize=_CONNECTIONS)
        except HTTPError:  # no name that a host can have
            raise InputError(f"{address.url}: not a URL", hint="for example https://host/sparql") from None
    try:
        user = urllib3.util.parse_url(proxy).auth
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        manager = urllib3.ProxyManager(proxy, maxsize=_CONNECTIONS, proxy_headers=headers)
    except (HTTPError, ValueError):
        raise InputError(
            f"{variable.upper()}_PROXY: {printable(unreadable_url(proxy), 200)} is not the URL of a proxy over HTTP",
            hint=PROXY_HINT,
        ) from None
    manager.pool_classes_by_scheme = classes
    return manager.connection_from_host(host, port, scheme)
