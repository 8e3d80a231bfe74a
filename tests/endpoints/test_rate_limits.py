"""How an endpoint is asked over real connections: by which method, by whom, for how long, and nobody else."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kgsparql.budget import Budget, Usage
from kgsparql.errors import (
    BudgetExceededError,
    EndpointError,
    EndpointReplyError,
    EndpointTimeoutError,
    OptionError,
    QueryError,
    RateLimitError,
    UnreachableError,
)
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, StatusMeaning, known_endpoints
from kgsparql.graphs.protocol import replies
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE, SparqlRequest
from kgsparql.graphs.user_query import check, run_on_endpoint
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.query import Query
from tests.conftest import ROOT
from tests.endpoints import faults
from tests.endpoints.faults import JSON, SELECT_JSON, FaultServer, Request, reply, results

ALL = Query("all", "SELECT ?s ?n WHERE { ?s ?p ?n }")


def rows(number: int, *, iri: Callable[[int], str] = "http://e.org/{}".format) -> bytes:
    found = ",".join(f'{{"s":{{"type":"uri","value":"{iri(i)}"}}}}' for i in range(number))
    return f'{{"head":{{"vars":["s"]}},"results":{{"bindings":[{found}]}}}}'.encode()


def test_a_query_goes_by_get_where_the_profile_says_so_beside_what_the_url_has() -> None:
    with FaultServer(results()) as server:
        EndpointGraph(server.url + "?infer=1", profile=EndpointProfile(post=False, has_union=True)).select(ALL)
    method, target, _ = server.requests[-1].line.split(" ")
    assert method == "GET"
    assert parse_qs(urlsplit(target).query) == {"infer": ["1"], "query": [ALL.text]}
    assert "content-type" not in server.requests[-1].headers


def test_E21_a_query_too_long_for_a_url_is_posted() -> None:
    long = Query("long", ALL.text + " #" + "x" * 1500)
    with FaultServer(results()) as server:
        graph = EndpointGraph(server.url, profile=EndpointProfile(post=False, has_union=True))
        graph.select(long)
        graph.select(ALL)
    assert [request.line.split(" ")[0] for request in server.requests] == ["POST", "GET"]


def test_E21_what_the_server_finds_too_long_is_posted_once_and_then_at_once() -> None:
    def behave(sock: Any, request: Request) -> None:
        is_long = len(request.line) > 60
        sock.sendall(reply(b"", status="414 URI Too Long") if is_long else reply(SELECT_JSON))

    with FaultServer(behave) as server:
        graph = EndpointGraph(server.url, profile=EndpointProfile(post=False, has_union=True))
        for _ in range(3):
            assert len(graph.select(ALL)) == 2
        assert len(graph.select(Query("few", "SELECT*{?s ?p 1}"))) == 2
    assert [request.line.split(" ")[0] for request in server.requests] == ["GET", "POST", "POST", "POST", "GET"]


def test_a_server_that_takes_no_post_is_asked_by_get() -> None:
    def behave(sock: Any, request: Request) -> None:
        is_post = request.line.startswith("POST")
        sock.sendall(reply(b"", status="405 Method Not Allowed") if is_post else reply(SELECT_JSON))

    with FaultServer(behave) as server:
        graph = EndpointGraph(server.url, profile=EndpointProfile(has_union=True))
        assert len(graph.select(ALL)) == 2
        assert len(graph.select(ALL)) == 2
        assert [request.line.split(" ")[0] for request in server.requests] == ["POST", "GET", "GET"]
        with pytest.raises(EndpointError, match="405"):
            graph.select(Query("long", ALL.text + " #" + "x" * 1500))


def test_E13_who_wants_to_be_left_alone_is_not_asked_another_way() -> None:
    for status, headers, post in (
        ("405 Method Not Allowed", ["Retry-After: 60"], True),
        ("405 Method Not Allowed", [], True),
        ("405 Method Not Allowed", [], False),
        ("501 Not Implemented", ["Retry-After: 60"], True),
        ("414 URI Too Long", ["Retry-After: 60"], False),
        ("301 Moved Permanently", ["Retry-After: 60", "Location: /elsewhere"], True),
        ("307 Temporary Redirect", ["Retry-After: 1.5", "Location: /elsewhere"], True),
    ):
        busy = (StatusMeaning(status=405, means="throttled"),)
        profile = EndpointProfile(is_public=True, concurrency=1, has_union=True, post=post, statuses=busy)
        with FaultServer(results(b"", status=status, headers=headers)) as server:
            graph = EndpointGraph(server.url, profile=profile)
            for _ in range(2):
                with pytest.raises(UnreachableError):
                    graph.select_within(ALL, timeout_s=1.0)
            assert len(server.asked) == 1


def test_E13_a_post_is_not_taken_for_refused_because_it_came_too_soon() -> None:
    replies = [reply(b"", status="405 Method Not Allowed", headers=["Retry-After: 1"]), *[reply(SELECT_JSON)] * 2]
    with FaultServer(lambda sock, _: sock.sendall(replies.pop(0))) as server:
        graph = EndpointGraph(server.url, profile=EndpointProfile(is_public=True, has_union=True))
        assert [len(graph.select(ALL)) for _ in range(2)] == [2, 2]
    assert [request.line.split(" ")[0] for request in server.requests] == ["POST"] * 3


def test_a_redirect_that_is_to_wait_says_how_long() -> None:
    away = results(b"", status="302 Found", headers=["Retry-After: 600", "Location: /elsewhere"])
    with FaultServer(away) as server, pytest.raises(EndpointError, match="302") as caught:
        EndpointGraph(server.url).select(ALL)
    assert caught.value.hint == "wait 10 min"


@pytest.mark.parametrize("host", ["LOCALHOST", "localhost.", "LocalHost."])
def test_E11_one_server_however_its_name_is_written(host: str) -> None:
    profile = EndpointProfile(is_public=True, concurrency=1, has_union=True)
    with FaultServer(results(b"", status="429 Too Many", headers=["Retry-After: 600"])) as server:
        for name in ("localhost", host):
            with pytest.raises(RateLimitError):
                EndpointGraph(server.url.replace("127.0.0.1", name), profile=profile).select(ALL)
        assert len(server.requests) == 1


def test_every_request_says_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTACT_VARIABLE, "me@example.org")
    with FaultServer(results()) as server:
        EndpointGraph(server.url).select(ALL)
    agents = {request.headers["user-agent"] for request in server.requests}
    assert len(agents) == 1
    assert re.fullmatch(r"kgsparql/[\d.]+\S* \(me@example\.org(; https?://[^ )]+)?\)", agents.pop())


def test_without_a_contact_nobody_is_asked_who_wants_one() -> None:
    with FaultServer(results()) as server:
        with pytest.raises(OptionError, match="how they can be reached"):
            EndpointGraph(server.url, profile=EndpointProfile(needs_contact=True)).select(ALL)
        assert server.connections == 0


def test_an_endpoint_that_is_opened_by_its_url_alone_is_asked_with_the_limits_it_is_known_to_want() -> None:
    graph = EndpointGraph("https://query.wikidata.org/sparql")
    assert (graph.profile, graph.timeout_s) == (known_endpoints().named("wikidata"), 62.0)
    with pytest.raises(OptionError, match="how they can be reached"):
        graph.select(ALL)
    assert EndpointGraph(graph.url, profile=UNKNOWN).profile == UNKNOWN
    with pytest.raises(OptionError, match="how they can be reached"):
        EndpointGraph("https://query-main.wikidata.org/sparql?key=1").ask(Query("any", "ASK {}"))


def test_E05_a_plea_for_a_user_agent_says_how_to_set_one() -> None:
    plea = results(b"Please set a meaningful User-Agent.", type="text/plain")
    with FaultServer(plea) as server, pytest.raises(EndpointReplyError) as caught:
        EndpointGraph(server.url).select(ALL)
    assert CONTACT_VARIABLE in caught.value.hint


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
    profile = EndpointProfile(concurrency=1, has_union=True)
    with FaultServer(faults.hang) as server:
        graph, stop = EndpointGraph(server.url, profile=profile), threading.Event()

        def first() -> None:
            with pytest.raises(Exception, match="stopped"):
                graph.select_within(ALL, cancel=stop)

        busy = threading.Thread(target=first)
        busy.start()
        in_time: list[Callable[[Usage], KnowledgeGraph]] = [
            lambda usage: MeteredGraph(graph, usage, lambda _: None),
            graph.within,
        ]
        try:
            while not server.requests:
                stop.wait(0.01)
            for limited in in_time:
                with pytest.raises(BudgetExceededError, match=r"2 seconds .*had no turn"):
                    limited(Usage(Budget(max_seconds=2))).select(ALL)
            with pytest.raises(EndpointTimeoutError, match="had no turn"):
                graph.select_within(ALL, timeout_s=0.2)
        finally:
            stop.set()
            busy.join(10)
        assert len(server.requests) == 1


def test_E11_graphs_of_the_same_endpoint_wait_for_each_other() -> None:
    with FaultServer(results(b"", status="429 Too Many", headers=["Retry-After: 600"])) as server:
        for _ in range(2):
            with pytest.raises(RateLimitError, match=r"429|left alone"):
                EndpointGraph(server.url, profile=EndpointProfile(is_public=True, has_union=True)).select(ALL)
        assert len(server.requests) == 1


def test_E09_exactly_what_an_endpoint_gives_at_most() -> None:
    for profile, text, number, complete in (
        (EndpointProfile(), "", 10_000, False),
        (EndpointProfile(), "", 9_999, True),
        (EndpointProfile(), " LIMIT 10000", 10_000, True),
        (EndpointProfile(), " LIMIT 10001", 10_000, False),
        (EndpointProfile(name="known"), "", 10_000, True),
        (EndpointProfile(name="known", max_solutions=50), "", 50, False),
        (EndpointProfile(name="known", max_solutions=50), "", 49, True),
    ):
        with FaultServer(results(rows(number))) as server:
            found = EndpointGraph(server.url, profile=profile).select(Query("all", ALL.text + text))
        assert len(found) == number
        assert found.complete is complete
        assert found.cut == ("" if complete else f"the endpoint stopped at {number:,} solutions")


@pytest.mark.parametrize(
    ("headers", "status", "reason"),
    [
        (["X-SQL-State: S1TAT"], "200 OK", "the endpoint stopped early (S1TAT)"),
        (["X-SQL-Message: incomplete <b>results</b>"], "200 OK", "the endpoint stopped early (incomplete"),
        ([], "206 Partial Content", "the endpoint sent a part of the result (206)"),
    ],
)
def test_E09_the_reason_is_told(headers: list[str], status: str, reason: str) -> None:
    with FaultServer(results(headers=headers, status=status)) as server:
        graph = EndpointGraph(server.url)
        metered = MeteredGraph(graph, Usage(), lambda _: None)
        found = metered.select(ALL)
        result = run_on_endpoint(graph, check(ALL.text))
    assert found.cut.startswith(reason)
    assert metered.cut_short == [found.cut]
    assert (result.complete, result.reason) == (False, found.cut)


def test_E09_nothing_after_a_long_wait_may_be_a_timeout() -> None:
    def slowly(body: bytes) -> faults.Behaviour:
        def behave(sock: Any, _: Request) -> None:
            threading.Event().wait(0.3)
            sock.sendall(reply(body))

        return behave

    silent = EndpointProfile(silent_timeout_s=0.25)
    for body, profile, complete in (
        (rows(0), silent, False), (rows(1), silent, True), (rows(0), EndpointProfile(silent_timeout_s=5.0), True)
    ):  # fmt: skip
        with FaultServer(slowly(body)) as server:
            found = EndpointGraph(server.url, profile=profile).select(ALL)
        assert found.complete is complete
        assert ("may have run out of time" in found.cut) is not complete


def test_more_solutions_than_anybody_reads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "MAX_SOLUTIONS", 100)
    with FaultServer(results(rows(101))) as server, pytest.raises(EndpointReplyError, match="100 solutions") as caught:
        EndpointGraph(server.url).select(ALL)
    assert caught.value.code == "E_LIMIT"


def test_E20_a_bad_term_among_a_thousand_solutions_costs_its_solution() -> None:
    bad = {7, 500, 999}
    body = rows(1000, iri=lambda i: f"http://e.org/{i}" + (" oh no" if i in bad else ""))
    with FaultServer(results(body)) as server:
        graph = EndpointGraph(server.url)
        found, result = graph.select(ALL), run_on_endpoint(graph, check(ALL.text))
    assert [s["s"].value for s in found] == [f"http://e.org/{i}" for i in range(1000) if i not in bad]
    assert (found.complete, found.invalid) == (False, 3)
    assert found.missing == result.reason == "3 solutions with invalid terms left out"
    assert len(result.solutions) == 997


def test_E20_a_bad_term_in_a_result_that_was_cut_is_counted_too() -> None:
    body = rows(10, iri=lambda i: f"http://e.org/{i}" + (" oh no" if i == 7 else ""))
    with FaultServer(results(body, headers=["X-SQL-State: S1TAT"])) as server:
        graph = EndpointGraph(server.url)
        found, result = graph.select(ALL), run_on_endpoint(graph, check(ALL.text)).solutions
    for solutions in (found, result):
        assert (len(solutions), solutions.complete, solutions.invalid) == (9, False, 1)
        assert solutions.cut == "the endpoint stopped early (S1TAT)"


def test_E20_whatever_is_no_term_costs_its_solution() -> None:
    for term in (
        '{"type":"literal","value":"x","xml:lang":"e n"}',
        '{"type":"literal","value":"x","datatype":"no iri"}',
        '{"type":"uri"}',
        '{"type":"uri","value":7}',
        '{"type":"what","value":"x"}',
        '"x"',
        "[]",
    ):
        body = rows(3).replace(b'{"type":"uri","value":"http://e.org/1"}', term.encode())
        with FaultServer(results(body)) as server:
            found = EndpointGraph(server.url).select(ALL)
        assert [s["s"].value for s in found] == ["http://e.org/0", "http://e.org/2"]
        assert found.invalid == 1


def test_E20_solutions_are_read_whatever_is_around_them() -> None:
    for body in (
        b'{"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/0"}}]}}',
        b'{"head":{},"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/0"}}]}}',
        b'{"head":{"vars":[]},"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/0"}}]}}',
        b'{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/0"},"x":null}]}}',
        b'{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/0"}}]},"ms":5}',
    ):
        with FaultServer(results(body)) as server:
            found = EndpointGraph(server.url).select(ALL)
        assert [s["s"].value for s in found] == ["http://e.org/0"]
        assert (found.complete, found.invalid) == (True, 0)


def test_E20_any_name_of_a_blank_node_is_one_and_the_same_name_the_same_node() -> None:
    node = '{{"s":{{"value":"{}","type":"bnode"}}}}'
    named = ",".join(node.format(name) for name in ("nodeID://b1", "b1", "a b", "a b"))
    body = f'{{"head":{{"vars":["s"]}},"results":{{"bindings":[{named}]}}}}'.encode()
    with FaultServer(results(body)) as server:
        first, second, third, fourth = (s["s"] for s in EndpointGraph(server.url).select(ALL))
    assert third == fourth
    assert len({first, second, third}) == 3


def test_E20_one_that_breaks_off_is_still_not_mended() -> None:
    body = rows(3, iri="http://e.org/a {}".format)
    for end in range(len(body)):
        with pytest.raises(EndpointReplyError) as caught:
            replies.repaired_reply(
                HttpReply(200, {"content-type": JSON}, body[:end]),
                EndpointReplyError("cut", code="E_FORMAT"),
                SparqlRequest("http://e.org/", "q", "", 10.0),
            )
        assert caught.value.message == "cut"


def test_E15_none_of_our_queries_has_a_path_of_any_length() -> None:
    texts = {path.name: path.read_text() for path in (ROOT / "queries").glob("*.rq")}
    assert len(texts) > 20
    for name, text in texts.items():
        bare = re.sub(r"#[^\n]*|<[^>]*>|\"[^\"]*\"", "", text)
        bare = re.sub(r"COUNT\((DISTINCT )?\*\)|SELECT (DISTINCT )?\*", "", bare)
        assert not re.search(r"[*+]|\w\?\s", bare), name


def test_E15_a_path_that_virtuoso_cannot_walk_is_said_to_be_one() -> None:
    said = b"Virtuoso 37000 Error TN...: Transitive start not given"
    refused = pytest.raises(QueryError)
    with FaultServer(results(said, status="500 SPARQL Request Failed")) as server, refused as caught:
        EndpointGraph(server.url).select(Query("", "SELECT * { ?s <http://e.org/p>+ ?o }"))
    assert "fixed number of steps" in caught.value.hint
    assert len(server.asked) == 1
