"""How a SPARQL request goes over HTTP: built by SPARQLWrapper, carried by one pool of connections, over at a deadline.

Every request runs on a thread of its own and its caller waits for that. A name server, a handshake and a body that
drips cannot be interrupted where they wait; the caller can always go, and takes the connection down with it.
"""

from __future__ import annotations

import io
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException
from importlib.metadata import version
from typing import Any, cast
from urllib.parse import urljoin, urlsplit, urlunsplit

import urllib3
from SPARQLWrapper import POST, SPARQLWrapper
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError

from kgsparql.errors import CancelledError, EndpointError, EndpointReplyError, InputError
from kgsparql.graphs.sparql_failures import of_transport, timed_out
from kgsparql.graphs.sparql_request import Address, Form, Reply, Sent
from kgsparql.redaction import unreadable_url
from kgsparql.terms import printable

__all__ = ["Client"]

CONNECT_S = 3.0
"""For a connection to one of the addresses that a host may have."""
REACH_S = 8.0
"""For the name, the connection and the handshake together."""
MAX_REDIRECTS = 3
_POLL_S = 0.05
_PIECE = 2**16
_CONNECTIONS = 8
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.8, application/json;q=0.5"
_TRIPLES = "application/n-triples, text/turtle;q=0.8"
_ACCEPT: Mapping[Form, str] = {"SELECT": _RESULTS, "ASK": _RESULTS, "CONSTRUCT": _TRIPLES, "DESCRIBE": _TRIPLES}


class Client:
    """Sends queries to one endpoint; any number of threads may use it.

    :param max_bytes: of a reply when it is unpacked.
    """

    def __init__(self, address: Address, *, max_bytes: int) -> None:
        self._address = address
        self._max_bytes = max_bytes
        self._pool = _pool(address)

    def send(
        self,
        sent: Sent,
        form: Form,
        *,
        parameters: Mapping[str, str],
        left_s: float,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """The reply to a query, whatever its status; redirects within the origin are followed.

        :param parameters: sent beside the query.
        :param left_s: until the deadline; what looking round took may be gone from ``sent.timeout_s``.
        :raises EndpointError: if there is no connection.
        :raises EndpointTimeoutError: if the whole reply is not there in time.
        :raises EndpointReplyError: if it breaks off (``E_PARTIAL``), is too large (``E_LIMIT``), or leads elsewhere
            (``E_REDIRECT``).
        :raises CancelledError: if ``cancel`` is set meanwhile.
        """
        deadline = time.monotonic() + left_s
        url = self._address.target
        for _ in range(MAX_REDIRECTS + 1):
            wrapper = _Wrapper(url, form, lambda request: self._carry(request, sent, deadline, cancel))
            if self._address.user:
                wrapper.setCredentials(self._address.user, self._address.password)
            wrapper.setQuery(sent.text)
            for name, value in parameters.items():
                wrapper.addParameter(name, value)
            reply = cast("Reply", wrapper.query().response)
            if reply.status not in _REDIRECTS or "location" not in reply.headers:
                return reply
            url = self._redirected(url, reply.headers["location"], sent)
        raise EndpointReplyError(
            f"{sent.url}: more than {MAX_REDIRECTS} redirects", code="E_REDIRECT", hint="check the URL", **sent.detail()
        )

    def _redirected(self, url: str, location: str, sent: Sent) -> str:
        """Where a redirect leads, if that is the same server: a query, and a password, go nowhere else."""
        target = urljoin(url, location)
        try:
            address = Address.parse(target)
        except InputError:
            address = None
        if address is None or address.origin != self._address.origin:
            shown = printable(unreadable_url(target), 200) if address is None else address.url
            raise EndpointReplyError(
                f"{sent.url}: redirects to {shown}, which is another server", code="E_REDIRECT",
                hint=f"if that is the one you mean: -k {shown}", **sent.detail(location=shown),
            )  # fmt: skip
        return address.target

    def _carry(
        self, request: urllib.request.Request, sent: Sent, deadline: float, cancel: threading.Event | None
    ) -> Reply:
        exchange = _Exchange(self._pool, request, deadline, self._max_bytes)
        threading.Thread(target=exchange.run, name="kgsparql endpoint", daemon=True).start()
        try:
            reply = exchange.wait(sent, cancel)
        except BaseException:  # Ctrl-C too: what is on its way is not wanted any more
            exchange.abandon()
            raise
        if reply is None:
            raise EndpointReplyError(
                f"{sent.url}: the reply to {sent.what} is larger than {self._max_bytes / 2**20:g} MiB",
                code="E_LIMIT", hint="ask for less at once", **sent.detail(limit="bytes"),
            )  # fmt: skip
        return reply


class _Wrapper(SPARQLWrapper):  # type: ignore[misc,unused-ignore]
    """SPARQLWrapper, with the transport and the guesses taken out."""

    def __init__(self, url: str, form: Form, carry: Callable[[urllib.request.Request], Reply]) -> None:
        self._form: Form = form
        self._carry = carry
        super().__init__(url, returnFormat="json", agent=f"kgsparql/{version('kgsparql')}")
        self.setMethod(POST)
        self.setOnlyConneg(True)

    def _parseQueryType(self, query: str) -> str:  # noqa: N802, ARG002
        """The form that the caller knows; a guess may take a query for an update."""
        return self._form

    def _getAcceptHeader(self) -> str:  # noqa: N802
        return _ACCEPT[self._form]

    def _query(self) -> tuple[Any, str]:
        return self._carry(self._createRequest()), self.returnFormat


class _Exchange:
    """One request on its way: run on its own thread, waited for on another."""

    def __init__(
        self, pool: urllib3.HTTPConnectionPool, request: urllib.request.Request, deadline: float, max_bytes: int
    ) -> None:
        self._pool = pool
        self._request = request
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._reply: Reply | None = None
        self._error: BaseException | None = None
        self.abandoned = False
        self.connection: HTTPConnection | None = None
        self.is_connected = False
        self.is_fresh = False
        self.has_headers = False

    def run(self) -> None:
        """Send and read; everything that happens is kept for who waits."""
        _running.exchange = self
        try:
            try:
                self._reply = self._sent()
            except ProtocolError:
                # A server may close a connection that was kept open just when we use it again.
                if self.is_fresh or self.has_headers or self.abandoned:
                    raise
                self._reply = self._sent()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error
        finally:
            self._ended.set()

    def wait(self, sent: Sent, cancel: threading.Event | None) -> Reply | None:
        """The reply when it is there; ``None`` for one that is too large."""
        while not self._ended.wait(max(0.0, min(_POLL_S, self._deadline - time.monotonic()))):
            now = time.monotonic()
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped while an endpoint was asked")
            if now >= self._deadline:
                raise timed_out(sent)
            if not self.is_connected and now >= self._began + REACH_S:
                raise EndpointError(
                    f"{sent.url}: no connection within {REACH_S:g} s",
                    hint="check the URL and the network", **sent.detail(),
                )  # fmt: skip
        if self._error is not None:
            if not isinstance(self._error, HTTPError | HTTPException | OSError | UnicodeError):
                raise self._error
            raise of_transport(
                self._error, sent, is_connected=self.is_connected, has_headers=self.has_headers
            ) from self._error
        return self._reply

    def abandon(self) -> None:
        """End it wherever it is: a thread that waits for bytes is woken by the end of its connection."""
        self.abandoned = True
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _sent(self) -> Reply | None:
        self.is_fresh = self.has_headers = False
        left = max(0.001, self._deadline - time.monotonic())
        target = urlsplit(self._request.full_url)
        is_proxied = self._pool.proxy is not None and target.scheme == "http"  # of TLS a proxy sees only the host
        origin = (target.scheme, target.netloc) if is_proxied else ("", "")
        response = self._pool.urlopen(
            "POST",
            urlunsplit((*origin, target.path or "/", target.query, "")),
            body=self._request.data,  # type: ignore[arg-type]
            headers={**dict(self._request.header_items()), "Accept-Encoding": "gzip"},
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
    """The exchange that the thread at hand works for."""

    exchange: _Exchange


_running = _Running()


class _Watched(HTTPConnection):
    """A connection that tells its exchange about itself, so that it can be taken down."""

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


def _pool(address: Address) -> urllib3.HTTPConnectionPool:
    """Connections to an endpoint, through the proxy that the environment names for it, if there is one."""
    scheme, host, port = address.origin
    classes: dict[str, type[urllib3.HTTPConnectionPool]] = {"http": _HttpPool, "https": _HttpsPool}
    proxy = urllib.request.getproxies().get(scheme)
    if not proxy or urllib.request.proxy_bypass(f"{host}:{port}"):
        return classes[scheme](host, port, maxsize=_CONNECTIONS)
    try:
        user = urllib3.util.parse_url(proxy).auth
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        manager = urllib3.ProxyManager(proxy, maxsize=_CONNECTIONS, proxy_headers=headers)
    except (HTTPError, ValueError):
        raise InputError(
            f"{scheme.upper()}_PROXY: {printable(unreadable_url(proxy), 200)} is not the URL of a proxy",
            hint="write it as http://host:port; NO_PROXY names hosts that need none",
        ) from None
    manager.pool_classes_by_scheme = classes
    return manager.connection_from_host(host, port, scheme)
