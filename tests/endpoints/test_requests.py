"""What is sent to an endpoint: how it is asked, over which connections, and that a password stays where it belongs."""

import asyncio
import base64
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import kgsparql
from kgsparql import Budget, EndpointGraph, EndpointProfile, KgsparqlError, Query, Usage
from kgsparql.errors import BudgetExceededError, EndpointTimeoutError, InputError
from kgsparql.graphs.protocol.request import SparqlRequest, built_request
from kgsparql.http.address import Address
from kgsparql.http.connections import NetworkTransport
from kgsparql.http.transport import HttpRequest
from tests.endpoints.faults import SELECT_JSON, FaultServer, answering, reply, results
from tests.endpoints.proxy import Exchange, Fault, hangs, sends
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import metered

ALL = Query("all", "SELECT ?s ?n WHERE { ?s ?p ?n }")
CANARY = "s3cret-canary"


def test_a_query_is_a_form_that_is_posted_and_nothing_else_is_in_it() -> None:
    odd = Query("odd", "#\nPREFIX insert: <http://e.org/>\nSELECT * { ?s insert:data ?o } # DELETE")
    with FaultServer(results()) as server:
        for query in (ALL, odd):
            EndpointGraph(server.url + "?key=1").select(query)
        EndpointGraph(server.url, profile=EndpointProfile(engine="Oxigraph")).select(ALL)
    request, other, of_oxigraph = server.requests
    assert request.line == f"POST {urlsplit(server.url).path}?key=1 HTTP/1.1"
    assert (request.form, other.form) == ({"query": ALL.text}, {"query": odd.text})
    assert of_oxigraph.form == {"query": ALL.text, "union-default-graph": "true"}
    assert request.headers["content-type"] == "application/x-www-form-urlencoded; charset=utf-8"
    assert request.headers["user-agent"] == f"kgsparql/{version('kgsparql')}"
    assert request.headers["accept"].startswith("application/sparql-results+json, application/sparql-results+xml;q=")
    assert request.headers["accept-encoding"] == "gzip"
    assert "authorization" not in request.headers


def test_sparqlwrapper_builds_the_request_and_opens_no_connection() -> None:
    """The function of SPARQLWrapper that builds is not a public one: a version without it is noticed here."""
    address = Address.parse("http://me:secret@nowhere.invalid/sparql?infer=1")
    sent = SparqlRequest(address.url, "all", ALL.text, 1.0, parameters={"union-default-graph": "true"})
    by_get, by_post = (built_request(address, address.target, sent, method) for method in ("GET", "POST"))
    wanted = {"query": [ALL.text], "union-default-graph": ["true"]}
    assert parse_qs(urlsplit(by_get.url).query) == {"infer": ["1"], **wanted}
    assert (by_post.url, parse_qs((by_post.body or b"").decode())) == (address.target, wanted)
    for built in (by_get, by_post):
        headers = {name.lower(): value for name, value in built.headers.items()}
        assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"me:secret"
        assert headers["accept"].startswith("application/sparql-results+json")


def test_one_connection_serves_queries_one_after_another_and_one_that_the_server_closed_is_no_error() -> None:
    closing = sends(reply(SELECT_JSON), closing=True)
    for behave in (results(), closing):
        with FaultServer(behave) as server:
            graph = EndpointGraph(server.url)
            assert [len(graph.select(ALL)) for _ in range(10)] == [2] * 10
        assert 10 <= len(server.requests) <= (20 if behave is closing else 10)  # what came then is sent once more
        assert (server.connections == 1) is (behave is not closing)
    with FaultServer(sends(b"", closing=True)) as server:
        with pytest.raises(KgsparqlError):
            EndpointGraph(server.url).select(ALL)
        assert len(server.requests) <= 2  # once on a connection that was kept, once on a new one


def test_a_request_that_is_given_up_late_leaves_its_connection_to_the_next() -> None:
    with FaultServer(results()) as server:
        transport = NetworkTransport(("http", "127.0.0.1", server.port), server.url)
        first, second = (HttpRequest("GET", server.url, deadline=time.monotonic() + 10) for _ in range(2))
        assert transport(first)
        first.abandon()
        assert transport(second)
        transport.close()
    assert server.connections == 1


def test_several_threads_ask_at_once() -> None:
    together = threading.Barrier(4, timeout=10)

    async def behave(exchange: Exchange) -> None:
        await asyncio.to_thread(together.wait)
        await exchange.write(reply(SELECT_JSON))

    with FaultServer(behave) as server, ThreadPoolExecutor(4) as pool:
        graph = EndpointGraph(server.url)
        selected = [pool.submit(graph.select, ALL) for _ in range(4)]
        assert [len(future.result()) for future in selected] == [2] * 4


def test_the_time_of_a_question_ends_what_is_asked_for_it() -> None:
    with FaultServer(hangs) as server:
        graph = metered(EndpointGraph(server.url), budget=Budget(max_seconds=0.5))
        with pytest.raises(BudgetExceededError):
            graph.select(ALL)
    with FaultServer(results()) as server:
        graph = metered(EndpointGraph(server.url), budget=Budget(max_seconds=0.0))
        assert len(graph.unlimited().select(ALL)) == 2, "work owed to the reader is not bound by it"


def test_a_graph_of_one_question_ends_with_it_and_shares_what_was_found() -> None:
    with FaultServer(results()) as server:
        graph = EndpointGraph(server.url)
        graph.within(Usage()).select(ALL)
        assert len(graph.select(ALL)) == 2
        assert server.connections == 1
    with FaultServer(hangs) as server:
        graph = EndpointGraph(server.url)
        for asked in (
            lambda view: view.select(ALL), lambda view: view.fingerprint, lambda view: view.may_repeat_triples,
        ):  # fmt: skip
            with pytest.raises(BudgetExceededError):
                asked(graph.within(Usage(Budget(max_seconds=0.3))))
            with pytest.raises(EndpointTimeoutError):
                graph.select(ALL, timeout_s=0.1)


def test_a_proxy_of_the_environment_is_used_where_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer(results()) as proxy, FaultServer(results()) as direct:
        monkeypatch.setenv("http_proxy", f"http://me:{CANARY}@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", f"127.0.0.1:{direct.port}")
        assert len(EndpointGraph("http://nowhere.invalid/sparql?infer=1").select(ALL)) == 2
        assert len(EndpointGraph(direct.url).select(ALL)) == 2
        assert (len(proxy.requests), len(direct.requests)) == (1, 1)
        monkeypatch.delenv("http_proxy")
        monkeypatch.setenv("all_proxy", f"http://127.0.0.1:{proxy.port}")
        assert len(EndpointGraph("http://nowhere.invalid/for_all").select(ALL)) == 2
    assert proxy.requests[0].line == "POST http://nowhere.invalid/sparql?infer=1 HTTP/1.1"
    sent = proxy.requests[0].headers["proxy-authorization"].removeprefix("Basic ")
    assert base64.b64decode(sent).decode() == f"me:{CANARY}"
    assert "proxy-authorization" not in direct.requests[0].headers
    monkeypatch.delenv("no_proxy")
    for name in ("all_proxy", "http_proxy"):
        monkeypatch.setenv(name, f"socks5://me:{CANARY}@127.0.0.1:1")
        with pytest.raises(InputError, match=name.upper()) as caught:
            EndpointGraph("http://nowhere.invalid/other").select(ALL)
        assert CANARY not in str(caught.value)


def test_a_url_that_no_host_can_have_is_an_input_error() -> None:
    for url in ("http://[::1/sparql", "http://[", "http://]/", "http://\x00/", "http://%zz/", "http://\u2100.com/"):
        with pytest.raises(InputError, match=r"not (a|the) URL"):
            kgsparql.open(url, embedder="none").query("ASK {}")


def shown(error: KgsparqlError) -> str:
    """Whatever a user may see of an error."""
    said = "".join(traceback.format_exception(error)) + repr(error) + str(error.to_json()) + str(error.detail)
    return said + error.message + error.hint


def test_U12_nor_in_the_name_of_a_wrong_url() -> None:
    for url in (
        f"https://me:{CANARY}@", f"https://me:{CANARY}@host:port/", f"https://{CANARY}@host/",
        f"https://me:/{CANARY}@host/sparql", f"https://me:pa/{CANARY}@host/", f"https://me:{CANARY}'@host/ x",
        f"https://me:1/{CANARY}@host/sparql", f"me:{CANARY}@host", f"https://me:p@{CANARY}@host/x y",
        f"https://host:x/?apikey={CANARY}", f"https://host/?apikey=a {CANARY}",
    ):  # fmt: skip
        with pytest.raises(InputError) as wrong:
            EndpointGraph(url)
        assert CANARY not in shown(wrong.value), url


def test_U12_a_key_in_the_query_is_sent_and_not_shown() -> None:
    for name in ("apikey", "api_key", "access-token", "X-Amz-Signature", "Auth", "pass%77ord", "k3y", "client"):
        with FaultServer(results()) as server:
            graph = EndpointGraph(f"{server.url}?infer=1&{name}={CANARY}%21")
            graph.select(ALL)
            assert graph.name == graph.url == f"{server.url}?infer=1"
            told = repr(vars(graph)) + str(graph.source("http://e.org/g")) + repr(graph._address)
        assert CANARY not in told
        assert {request.path.partition("?")[2] for request in server.requests} == {f"infer=1&{name}={CANARY}%21"}
        echo = answering(f"you sent {CANARY}%21, that is {CANARY}!".encode(), status=400, type="text/plain")
        echo.url += f"?{name}={CANARY}%21"
        with pytest.raises(KgsparqlError) as caught:
            echo.graph().select(ALL)
        assert CANARY not in shown(caught.value)
        assert "you sent ***, that is ***" in caught.value.message


def test_L31_a_graph_beside_one_that_the_default_graph_repeats_is_seen(tmp_path: Path) -> None:
    """Twelve triples are in the default graph and in a named graph, one in another, whichever the server has first."""
    same = "".join(f"<http://e.org/a{i}> <http://e.org/p> <http://e.org/b{i}> .\n" for i in range(12))
    alone = "<http://e.org/a1> <http://e.org/q> <http://e.org/alone> ."
    query = Query("q", "SELECT ?o { <http://e.org/a1> <http://e.org/q> ?o }")
    for repeated, other in (("g1", "g2"), ("g2", "g1")):
        data = tmp_path / f"{repeated}.trig"
        data.write_text(f"{same}<http://e.org/{repeated}> {{ {same} }}\n<http://e.org/{other}> {{ {alone} }}\n")
        with oxigraph_serve(store_of(data, tmp_path / repeated)) as url:
            graph = EndpointGraph(url)
            assert [str(solution["o"]) for solution in graph.select(query)] == ["<http://e.org/alone>"]


def counting(count: int | None) -> Fault:
    """An endpoint with so many triples, or one that cannot count them."""
    body = (
        f'{{"head":{{"vars":["count"]}},"results":{{"bindings":[{{"count":{{"type":"literal","value":"{count}"}}}}]}}}}'
    )
    return results(b"too hard", status="500 Broken") if count is None else results(body.encode())


def test_a_fingerprint_follows_the_url_and_the_number_of_triples() -> None:
    with FaultServer(counting(3)) as three, FaultServer(counting(3)) as other, FaultServer(counting(None)) as none:
        first = EndpointGraph(three.url).fingerprint
        assert first == EndpointGraph(three.url).fingerprint == EndpointGraph(three.url, name="x").fingerprint
        assert first != EndpointGraph(three.url.replace("//", f"//us%20er:{CANARY}@")).fingerprint
        assert first != EndpointGraph(other.url).fingerprint
        assert len(EndpointGraph(none.url).fingerprint) == len(first)
        three.plan = lambda _: counting(4)
        assert first != EndpointGraph(three.url).fingerprint


def test_what_can_be_no_key_stays_in_the_name_of_an_endpoint() -> None:
    told = "infer=true&repository=wikidata&page=17&default-graph-uri=urn:graph:4711&context=http://e.org/graph1"
    graph = EndpointGraph(f"http://127.0.0.1:9/sparql?{told}&who=4711-0815-abc")
    assert graph.name == f"http://127.0.0.1:9/sparql?{told}"


PASSWORD = "s3cret-canary"  # noqa: S105 - of nobody


def test_a_password_goes_to_no_server_to_which_one_redirects() -> None:
    fake = answering(b"", status=302, location="http://other.example.org/sparql")
    with pytest.raises(KgsparqlError, match="redirects to http://other") as caught:
        EndpointGraph(f"http://me:{PASSWORD}@one.example.org/sparql", transport=fake).select(ALL)
    assert {urlsplit(request.url).hostname for request in fake.asked} == {"one.example.org"}
    assert PASSWORD not in shown(caught.value)
