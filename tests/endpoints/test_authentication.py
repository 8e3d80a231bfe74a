"""Tokens and keys for endpoints: where they are read, which requests have them, and what a refusal says."""

import os
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kgsparql import EndpointGraph, EndpointProfile, KgsparqlError, Query, open_graph
from kgsparql.errors import EndpointAuthenticationError, EndpointError, GraphLoadError, OptionError
from kgsparql.graphs.protocol.replies import triples
from kgsparql.http.transport import HttpReply, HttpRequest
from tests.endpoints.faults import Fake, FaultServer, answering, fresh_url, http, results
from tests.endpoints.test_requests import ALL, CANARY, shown

TIMES = count(1)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of profiles that the environment names, where a token is, too."""
    monkeypatch.setenv("KGSPARQL_ENDPOINTS", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("GRAPH_TOKEN", f"{CANARY}\n")
    return tmp_path / "profiles.toml"


def ours(file: Path, url: str, *lines: str) -> None:
    file.write_text("\n".join([f'[ours]\nurls = ["{url}"]', *lines]), encoding="utf-8")
    os.utime(file, ns=(time := next(TIMES), time))


@pytest.mark.parametrize(
    ("line", "header", "value"),
    [('token_env = "GRAPH_TOKEN"', "authorization", f"Bearer {CANARY}"),
     ('headers = { Authorization = "Token ${GRAPH_TOKEN}" }', "authorization", f"Token {CANARY}"),
     ('headers = { X-Api-Key = "${GRAPH_TOKEN}" }', "x-api-key", CANARY),
     (f'headers = {{ X-Api-Key = "{CANARY}" }}', "x-api-key", CANARY)],
)  # fmt: skip
def test_a_credential_of_a_profile_is_sent_with_every_request_and_shown_nowhere(
    file: Path, line: str, header: str, value: str
) -> None:
    said = results(f"no {value} here".encode(), status="500 Internal Server Error", type="text/plain")
    with FaultServer(results()) as server, FaultServer(said) as failing:
        ours(file, server.url, line)
        graph = open_graph("ours")
        assert isinstance(graph, EndpointGraph)
        assert len(graph.select(ALL)) == 2
        assert {one.headers[header] for one in (*server.requests, *server.probes)} == {value}
        assert server.probes
        told = repr(vars(graph)) + repr(graph._address) + repr(graph.profile) + str(graph.profile)
        assert CANARY not in told
        assert not graph.profile.is_public
        assert not file.with_name("cache").exists(), "nothing is kept of what needs a token"
        ours(file, failing.url, line)
        with pytest.raises(EndpointError) as caught:
            open_graph("ours").select(ALL)
    assert CANARY not in shown(caught.value)
    assert "no *** here" in caught.value.message


def test_a_credential_goes_to_the_servers_of_its_profile_alone(file: Path) -> None:
    fake = answering(b"", status=307, location="http://other.example.org/sparql")
    ours(file, fake.url, 'token_env = "GRAPH_TOKEN"', 'hosts = ["*.localhost"]')
    with pytest.raises(KgsparqlError, match="redirects to http://other"):
        open_graph("ours", transport=fake).select(ALL)
    assert {urlsplit(request.url).netloc for request in fake.asked} == {urlsplit(fake.url).netloc}
    other = answering()
    for url in (fresh_url(), fake.url.replace("http:", "https:"), fake.url.replace("localhost", "localhost:8080")):
        EndpointGraph(url, transport=other).select(ALL)
    EndpointGraph(fake.url.replace("//", "//me:password@"), transport=other).select(ALL)
    *elsewhere, typed = [request.headers.get("Authorization", "") for request in other.asked]
    assert (elsewhere, typed.split()[0]) == (["", "", ""], "Basic")
    made = EndpointProfile(headers=(("X-Key", CANARY),), has_union=True)
    EndpointGraph(fresh_url(), profile=made, transport=other).select(ALL)
    assert other.asked[-1].headers["X-key"] == CANARY


def test_a_variable_that_is_not_set_and_a_header_that_cannot_be_are_said(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours(file, fresh_url(), 'headers = { X-Key = "${NOT_SET}" }')
    with pytest.raises(OptionError, match="ours: its profile names NOT_SET, which is not set") as caught:
        open_graph("ours")
    assert caught.value.hint == "export NOT_SET=…"
    monkeypatch.setenv("NOT_SET", f"{CANARY}\r\nHost: e.org")
    for line in ('X-Key = "${NOT_SET}"', f'Host = "{CANARY}"', f'Content-Type = "{CANARY}"', f'"a b" = "{CANARY}"'):
        ours(file, fresh_url(), f"headers = {{ {line} }}")
        with pytest.raises(OptionError, match="ours: no header: ") as caught:
            open_graph("ours")
        assert CANARY not in shown(caught.value)
    for line in (f'headers = {{ X-Key = ["{CANARY}"] }}', f'headers = ["{CANARY}"]', f'token = "{CANARY}"'):
        ours(file, fresh_url(), line)
        with pytest.raises(GraphLoadError) as wrong:
            open_graph("ours")
        assert CANARY not in shown(wrong.value)
    file.unlink()
    with pytest.raises(OptionError, match="KGSPARQL_ENDPOINTS: no file"):
        open_graph("ours")


@pytest.mark.parametrize(
    ("status", "challenge", "has_token", "message", "hint"),
    [(401, 'Bearer realm="graph"', False, "access refused (401)", "give a token by token_env ="),
     (401, 'Basic realm="graph"', False, "access refused (401)", "put USER:PASSWORD@ before the host in the URL"),
     (401, "", False, "access refused (401)", "put USER:PASSWORD@ before the host in the URL, or give a token"),
     (401, 'Digest realm="g"', False, "access refused (401)", 'it asks for Digest realm="g", which'),
     (401, "Bearer", True, "the credentials that were given are refused (401)", "are they expired, or of another acc"),
     (403, "", False, "access refused (403)", "ask its operator; a key is given by token_env"),
     (403, "", True, "the credentials that were given are refused (403)", "ask its operator")],
)  # fmt: skip
def test_what_is_said_of_a_refusal_follows_the_challenge_and_what_was_given(
    file: Path, status: int, challenge: str, has_token: bool, message: str, hint: str
) -> None:
    fake = answering(b"", status=status, www_authenticate=challenge)
    ours(file, fake.url, *['token_env = "GRAPH_TOKEN"'] * has_token)
    with pytest.raises(EndpointAuthenticationError) as caught:
        open_graph("ours", transport=fake).select(ALL)
    assert caught.value.message == f"{fake.url}: {message}"
    assert caught.value.hint.startswith(hint)


def test_of_two_challenges_none_is_lost() -> None:
    both = ["WWW-Authenticate: Bearer", 'WWW-Authenticate: Basic realm="g"']
    twice = FaultServer(results(b"", status="401 Unauthorized", headers=both))
    with twice as server, pytest.raises(EndpointAuthenticationError) as caught:
        EndpointGraph(server.url).select(ALL)
    assert "USER:PASSWORD@ before the host in the URL, or give a token" in caught.value.hint


@pytest.mark.parametrize(("status", "said", "taken"), [
    (406, b"", "application/sparql-results+json"), (406, b"", "application/sparql-results+xml"),
    (400, b"Unknown output format", "application/sparql-results+json"),
])  # fmt: skip
def test_a_server_that_refuses_a_list_of_types_is_asked_for_one_and_then_for_that_at_once(
    status: int, said: bytes, taken: str
) -> None:
    def behave(request: HttpRequest) -> HttpReply:
        return http() if request.headers["Accept"] == taken else http(said, status=status)

    fake = Fake(behave)
    graph = fake.graph()
    assert [len(graph.select(ALL)) for _ in range(2)] == [2, 2]
    accepted = [request.headers["Accept"] for request in fake.asked]
    assert "," in accepted[0]
    assert accepted[-2:] == [taken] * 2
    assert len(accepted) == (3 if "json" in taken else 4)


def test_a_server_that_takes_one_type_of_triples_gives_them_and_one_that_takes_none_is_asked_once_more() -> None:
    text = b"<http://e.org/a> <http://e.org/b> <http://e.org/c> ."

    def behave(request: HttpRequest) -> HttpReply:
        is_turtle = request.headers["Accept"] == "text/turtle"
        return http(text, type="text/turtle") if is_turtle else http(b"", status=406)

    assert len(list(triples(*Fake(behave).graph().send("CONSTRUCT WHERE { ?s ?p ?o }", "CONSTRUCT")))) == 1
    refusing = answering(b"", status=406)
    graph = refusing.graph()
    for _ in range(2):
        with pytest.raises(EndpointError, match="status 406"):
            graph.select(Query("all", ALL.text))
    assert len(refusing.asked) == 5
