"""An endpoint that wants the digest of a password (RFC 7616), checked by a server of its own."""

import hashlib
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import parse_http_list, parse_keqv_list

import pytest

from kgsparql import EndpointGraph, Query
from kgsparql.errors import EndpointAuthenticationError, KgsparqlError
from tests.endpoints.faults import SELECT_JSON
from tests.endpoints.ports import free_port
from tests.endpoints.test_requests import shown

ALL = Query("all", "SELECT ?s ?n WHERE { ?s ?p ?n }")
PASSWORD = "s3cret-canary"  # noqa: S105 - of a server that ends with its test
NOTHING = b'{"head": {"vars": []}, "results": {"bindings": []}}'  # what it looks for, apart from queries
HASHES = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256}


class DigestServer(BaseHTTPRequestHandler):
    """Replies to who knows the password; a nonce counts three times, each time with a higher count."""

    algorithm, others, moves_to = "SHA-256", "", ""
    nonces: dict[str, int]
    seen: list[str]

    def do_POST(self) -> None:
        """Reply, ask for a digest, or send elsewhere."""
        query = self.rfile.read(int(self.headers.get("content-length", 0)))
        given = self.headers.get("authorization", "")
        self.seen.append(given)
        if not self._is_right(given):
            nonce = secrets.token_hex(8)
            self.nonces[nonce] = 0
            wants = f'Digest realm="a, b", nonce="{nonce}", qop="auth", algorithm={self.algorithm}, opaque="o"'
            self._reply(401, f"you sent {given}".encode(), ("www-authenticate", self.others + wants))
        elif self.moves_to:
            self._reply(302, b"", ("location", self.moves_to))
        else:
            self._reply(
                200, SELECT_JSON if b"%3Fn" in query else NOTHING, ("content-type", "application/sparql-results+json")
            )

    do_GET = do_POST  # noqa: N815

    def _is_right(self, given: str) -> bool:
        if not given.startswith("Digest "):
            return False
        sent = parse_keqv_list(parse_http_list(given.removeprefix("Digest ")))
        digest = lambda text: HASHES[self.algorithm](text.encode()).hexdigest()  # noqa: E731
        count, nonce = int(sent["nc"], 16), sent["nonce"]
        is_new = 0 < self.nonces.get(nonce, 9) + 1 <= count <= 3
        self.nonces[nonce] = count
        rest = f"{nonce}:{sent['nc']}:{sent['cnonce']}:auth:{digest(f'{self.command}:{self.path}')}"
        right = digest(f"{digest(f'me:a, b:{PASSWORD}')}:{rest}")
        return is_new and (sent["uri"], sent["response"], sent["opaque"]) == (self.path, right, "o")

    def _reply(self, status: int, body: bytes, header: tuple[str, str]) -> None:
        self.send_response(status)
        self.send_header(*header)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(**how: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server, and the credentials that it was sent."""
    own = type("Own", (DigestServer,), {**how, "nonces": {}, "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", free_port()), own) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/sparql?default=a%2Cb", own.seen
        server.shutdown()


@pytest.mark.parametrize("how", [{}, {"algorithm": "MD5"}, {"others": 'Basic realm="x", '}])
def test_the_digest_of_a_password_is_sent_where_a_server_asks_for_it(how: dict[str, str]) -> None:
    with serving(**how) as (url, seen):
        graph = EndpointGraph(url)
        for _ in range(8):  # more than a nonce is good for
            assert len(graph.select(ALL)) == 2
        assert sum(one.startswith("Basic") for one in seen) == 1  # the first time, and never again
        assert PASSWORD not in "".join(seen)


def test_a_wrong_password_or_a_digest_of_no_known_kind_is_refused_and_not_shown() -> None:
    for how, own in (({}, "other-canary"), ({"algorithm": "MD4"}, PASSWORD)):
        with serving(**how) as (url, seen), pytest.raises(EndpointAuthenticationError) as caught:
            EndpointGraph(url.replace(PASSWORD, own)).select(ALL)
        assert own not in shown(caught.value)
        assert len(seen) < 10


def test_a_password_goes_to_no_server_to_which_one_redirects() -> None:
    with serving() as (other, sent), serving(moves_to=other.replace(f"me:{PASSWORD}@", "")) as (url, _):
        with pytest.raises(KgsparqlError, match="another server") as caught:
            EndpointGraph(url).select(ALL)
        assert sent == []
        assert PASSWORD not in shown(caught.value)
