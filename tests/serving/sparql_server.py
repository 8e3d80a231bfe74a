"""kgsparql's own SPARQL endpoint over real HTTP, at a port of this machine."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette

from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.serving.guards import Guard
from kgsparql.serving.sparql import BoundedQueries, sparql_route
from tests.endpoints.ports import listener


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class SparqlServer:
    port: int
    queries: BoundedQueries

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/sparql"

    def connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(self, method: str = "GET", target: str = "/sparql", body: bytes = b"", **headers: str) -> Reply:
        connection = self.connection()
        try:
            connection.request(method, target, body or None, {n.replace("_", "-"): v for n, v in headers.items()})
            return _reply(connection.getresponse())
        finally:
            connection.close()

    def ask(self, query: str, accept: str = "", *, method: str = "GET") -> Reply:
        headers = {"Accept": accept} if accept else {}
        return self.send(method, "/sparql?" + urlencode({"query": query}), **headers)


def _reply(response: HTTPResponse) -> Reply:
    return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


@contextmanager
def sparql_server(knowledge: KnowledgeBase, **limits: float) -> Iterator[SparqlServer]:
    """A server of a graph, with limits of :class:`BoundedQueries`."""
    with listener() as sock, BoundedQueries(knowledge, **limits) as queries:  # type: ignore[arg-type]
        port = sock.getsockname()[1]
        app = Guard(Starlette(routes=[sparql_route(queries)]), host="127.0.0.1", port=port)
        config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield SparqlServer(port, queries)
        finally:
            server.should_exit = True
            thread.join()
