"""How an endpoint is asked: by which method, by whom, for how long, and nobody else; and what it cut or spoiled."""

import re
import socket
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kgsparql import Budget, EndpointGraph, KnowledgeGraph, Query, Usage
from kgsparql.errors import (
    BudgetExceededError,
    EndpointError,
    EndpointReplyError,
    EndpointTimeoutError,
    UnreachableError,
)
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, StatusMeaning, known_endpoints
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE
from kgsparql.http.transport import HttpReply, HttpRequest
from tests.endpoints.faults import Fake, FaultServer, answering, http, results
from tests.world import ROOT

ALL = Query("all", "SELECT ?s ?n WHERE { ?s ?p ?n }")
LONG = Query("long", ALL.text + " #" + "x" * 8000)
BY_GET = EndpointProfile(manner="GET", has_union=True)


def test_E21_by_get_where_the_profile_says_so_and_posted_where_that_is_too_long() -> None:
    fake = answering()
    fake.url += "?infer=1"
    graph = fake.graph(profile=BY_GET)
    graph.select(ALL)
    assert parse_qs(urlsplit(fake.asked[0].url).query) == {"infer": ["1"], "query": [ALL.text]}
    assert "content-type" not in {name.lower() for name in fake.asked[0].headers}
    graph.select(LONG)
    assert fake.methods == "GET POST"


@pytest.mark.parametrize(
    ("taken", "status", "methods"),
    [("POST", 200, "POST POST"), ("direct", 415, "POST POST POST"), ("GET", 405, "POST POST GET GET")],
)
def test_E21_the_manner_in_which_a_server_takes_queries_is_found_once(taken: str, status: int, methods: str) -> None:
    def behave(request: HttpRequest) -> HttpReply:
        is_form = "form" in str(request.headers)
        manner = "GET" if request.method == "GET" else "POST" if is_form else "direct"
        return http() if manner == taken else http(b"no", status=status)

    fake = Fake(behave)
    graph = fake.graph(profile=EndpointProfile(has_union=True))
    assert [len(graph.select(ALL)) for _ in range(2)] == [2, 2]
    assert fake.methods == methods
    fake = Fake(lambda request: http(b"", status=414) if request.method == "GET" else http())
    assert len(fake.graph(profile=BY_GET).select(ALL)) == 2


def test_E13_who_wants_to_be_left_alone_is_not_asked_another_way() -> None:
    busy = (StatusMeaning(status=405, means="throttled"),)
    away = {"location": "/elsewhere"}
    for status, headers, manner in (
        (405, {"retry_after": "60"}, "POST"), (405, {}, "POST"), (405, {}, "GET"), (501, {"retry_after": "60"}, "POST"),
        (414, {"retry_after": "60"}, "GET"), (301, {"retry_after": "60", **away}, "POST"),
        (307, {"retry_after": "1.5", **away}, "POST"),
    ):  # fmt: skip
        profile = EndpointProfile(is_public=True, concurrency=1, has_union=True, manner=manner, statuses=busy)
        fake = answering(b"", status=status, **headers)
        graph = fake.graph(profile=profile)
        for _ in range(2):
            with pytest.raises(UnreachableError):
                graph.select(ALL, timeout_s=1.0)
        assert len(fake.asked) == 1, (status, headers)
    with pytest.raises(EndpointError, match="302") as caught:
        answering(b"", status=302, retry_after="600", **away).graph().select(ALL)
    assert caught.value.hint == "wait 10 min"


def test_every_request_says_who_asks_and_how_they_are_reached_where_that_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = EndpointGraph("https://query.wikidata.org/sparql")  # known by its URL alone
    assert (graph.profile, graph.timeout_s) == (known_endpoints().named("wikidata"), 62.0)
    assert EndpointGraph(graph.url, profile=UNKNOWN).profile == UNKNOWN
    for contact, said in (
        ("", r"( \(https?://[^ )]+\))?"),
        ("me@example.org", r" \(me@example\.org(; https?://[^ )]+)?\)"),
    ):
        monkeypatch.setenv(CONTACT_VARIABLE, contact)
        with FaultServer(results()) as server:
            EndpointGraph(server.url).select(ALL)
        (agent,) = {request.headers["user-agent"] for request in server.requests}
        assert re.fullmatch(rf"kgsparql/[\d.]+\S*{said}", agent)


def test_E17_only_the_host_that_the_user_named_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    look_up = socket.getaddrinfo

    def noting(host: str, *arguments: Any, **options: Any) -> Any:
        asked.append(host)
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", noting)
    named = b'{"head":{"vars":["s"],"link":["http://nowhere.invalid/"]},"results":{"bindings":[]}}'
    with FaultServer(results(named)) as server:
        EndpointGraph(server.url).select(Query("far", "SELECT * { SERVICE <http://nowhere.invalid/> { ?s ?p ?o } }"))
    away = results(b"", status="302 Found", headers=["Location: http://nowhere.invalid/"])
    with FaultServer(away) as server, pytest.raises(EndpointReplyError):
        EndpointGraph(server.url).select(ALL)
    assert asked
    assert set(asked) == {"127.0.0.1"}


def test_waiting_counts_as_the_time_of_the_question_and_the_error_says_so() -> None:
    came, stop = threading.Event(), threading.Event()

    def hang(_: HttpRequest) -> HttpReply:
        came.set()
        stop.wait(60)
        return http()

    fake = Fake(hang)
    graph = fake.graph(profile=EndpointProfile(concurrency=1, has_union=True))
    busy = threading.Thread(target=graph.select, args=(ALL,))
    busy.start()
    in_time: list[Callable[[Usage], KnowledgeGraph]] = [
        lambda usage: MeteredGraph(graph, usage, lambda _: None), graph.within,
    ]  # fmt: skip
    try:
        assert came.wait(10)
        for limited in in_time:
            with pytest.raises(BudgetExceededError, match=r"1 seconds? .*had no turn"):
                limited(Usage(Budget(max_seconds=1))).select(ALL)
        with pytest.raises(EndpointTimeoutError, match="had no turn"):
            graph.select(ALL, timeout_s=0.2)
    finally:
        stop.set()
        busy.join(10)
    assert len(fake.asked) == 1


def test_E15_none_of_our_queries_has_a_path_of_any_length() -> None:
    texts = {path.name: path.read_text() for path in (ROOT / "queries").glob("*.rq")}
    assert len(texts) > 20
    for name, text in texts.items():
        bare = re.sub(r"#[^\n]*|<[^>]*>|\"[^\"]*\"", "", text)
        bare = re.sub(r"COUNT\((DISTINCT )?\*\)|SELECT (DISTINCT )?\*", "", bare)
        assert not re.search(r"[*+]|\w\?\s", bare), name
