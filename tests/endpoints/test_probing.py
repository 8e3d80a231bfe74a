"""What an endpoint is found to be before its first query; and what ``info`` says of it."""

import json
import threading
from typing import Any

from kgsparql import Budget, EndpointGraph, Query, Usage
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, known_endpoints
from kgsparql.http.transport import HttpReply, HttpRequest, Transport
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.endpoints.faults import FaultServer, answering, fresh_url, http, reply, results, taking
from tests.endpoints.proxy import Proxy, hangs, sends
from tests.endpoints.servers import Virtuoso, rdflib_endpoint
from tests.world import FIXTURES

ALL = Query("all", "SELECT ?s ?n { ?s ?p ?n } LIMIT 3")
PEOPLE = FIXTURES / "queries" / "people.trig"
VIRTUOSO = "Virtuoso/07.20.3229 (Linux) x86_64-pc-linux-gnu"


def found_out(graph: EndpointGraph) -> EndpointProfile:
    graph.select(ALL)
    assert graph.probe.server is not None
    return graph.profile


def turtle(body: bytes, **options: Any) -> HttpReply:
    return http(body, type="text/turtle", **options)


def described(said: HttpReply, probes: list[HttpRequest] | None = None) -> Transport:
    """An endpoint that says this of itself."""

    def transport(request: HttpRequest) -> HttpReply:
        if request.method != "GET" or "query=" in request.url:
            return answering()(request)
        if probes is not None:
            probes.append(request)
        return said

    return transport


def test_engines_say_what_they_are(people_url: str, virtuoso_server: Virtuoso) -> None:
    graph = EndpointGraph(people_url)
    assert (graph.profile, graph.probe.server) == (UNKNOWN, None), "nothing is sent before the first query"
    found = found_out(graph)
    assert found.engine == "Oxigraph"
    assert str(graph.probe.server).startswith("Oxigraph/")
    assert (graph.profile.name, graph.profile.engine, graph.profile.urls) == ("Oxigraph", "Oxigraph", ())
    with rdflib_endpoint(FIXTURES / "queries" / "people.ttl") as url:
        graph = EndpointGraph(url)
        found = found_out(graph)
    assert (found.engine, graph.profile.concurrency) == ("rdflib-endpoint", 1)
    graph = EndpointGraph(virtuoso_server.fill(PEOPLE))
    found = found_out(graph)
    assert graph.may_repeat_triples
    assert found.engine == "Virtuoso"
    assert (graph.profile.has_union, graph.profile.max_solutions) == (True, 10_000)


def test_one_request_for_all_queries_questions_and_threads() -> None:
    with FaultServer(results(), describe=results(b"", type="text/turtle", headers=[f"Server: {VIRTUOSO}"])) as server:
        graph = EndpointGraph(server.url.replace("//", "//me:secret@") + "?apikey=s3cret")
        views = [graph.within(Usage(Budget())) for _ in range(4)]
        threads = [threading.Thread(target=view.select, args=(ALL,)) for view in views for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [view.profile.name for view in views] == ["Virtuoso"] * 4
    (probe,) = server.probes
    assert len(server.requests) == 12, "of Virtuoso it is known that it shows all graphs: nothing more is asked"
    assert probe.line.endswith("/sparql?apikey=s3cret HTTP/1.1")
    assert probe.headers["authorization"].startswith("Basic ")
    assert probe.headers["accept"] == "text/turtle"
    assert probe.headers["user-agent"].startswith("kgsparql/")


def test_an_endpoint_whose_profile_says_enough_is_not_asked() -> None:
    known = known_endpoints()
    qlever = next(profile for profile in known.engines if profile.name == "QLever")
    for profile in (known.named("dbpedia"), qlever, EndpointProfile(name="mine")):
        probes: list[HttpRequest] = []
        EndpointGraph(fresh_url(), profile=profile, transport=described(http(b""), probes)).select(ALL)
        assert probes == []


def test_of_a_service_only_the_engine_is_found_out() -> None:
    known = EndpointProfile(name="Ours", urls=("http://e.org/",), chunk_size=7, max_solutions=99)
    graph = EndpointGraph(fresh_url(), profile=known, transport=described(turtle(b"", server=VIRTUOSO)))
    graph.select(ALL)
    profile = graph.profile
    assert (profile.name, profile.engine, profile.chunk_size, profile.max_solutions) == ("Ours", "Virtuoso", 7, 99)
    assert (profile.text_search, profile.has_union, profile.urls) == ("bif:contains", True, known.urls)


def test_an_engine_gives_itself_away_by_a_header_or_its_description() -> None:
    for headers, body, engine in (
        ({"server": "Virtuoso/08.03.3326 (Linux)"}, b"", "Virtuoso"),
        ({"server": "Apache Jena Fuseki (4.9.0)"}, b"", "Apache Jena Fuseki"),
        ({"fuseki_request_id": "17"}, b"", "Apache Jena Fuseki"),
        ({"server": "GraphDB 6.0.7835, Forest 2.1.3"}, b"", "GraphDB"),
        ({"server": "Jetty"}, b"<a:a> <http://www.bigdata.com/rdf#/features/KB/Namespace> 'kb' .", "Blazegraph"),
        ({"server": "\x1b[31mVirtuoso/07"}, b"", ""),
        ({"server": "cloudflare"}, b"<a:a> <a:b> 'Server: Virtuoso/07' .", ""),
        ({"server": "nginx/1.2", "x_sparql_default_graph": ""}, b"", "Virtuoso"),
    ):
        graph = EndpointGraph(fresh_url(), transport=described(turtle(body, **headers)))
        assert found_out(graph).engine == engine, headers
        assert "\x1b" not in str(graph.probe.server)
    moved = http(b"", status=302, location="/snorql/", server="Virtuoso/08")
    assert found_out(EndpointGraph(fresh_url(), transport=described(moved))).engine == "Virtuoso", "as it says here"


def test_a_reply_that_says_nothing_changes_nothing() -> None:
    for said in (
        http(b"<html>Virtuoso http://www.bigdata.com/rdf#</html>", type="text/html"),
        turtle(b"\xff\xfe\x00"),
        turtle(b"", status=500, server=VIRTUOSO[1:]),
        http(b"", status=401, www_authenticate="Basic"),
        http(b"", status=302, location="http://127.0.0.1:9/sparql"),
        http(b"", status=302, location="/sparql"),
    ):
        probes: list[HttpRequest] = []
        graph = EndpointGraph(fresh_url(), transport=described(said, probes))
        assert [len(graph.select(ALL)) for _ in range(2)] == [2, 2]
        assert graph.profile == UNKNOWN
        assert len(probes) <= 8, "redirects within the server are followed a few times, and then no more"
        assert not any(":9/" in probe.url for probe in probes), "and none to another server"

    for said in (reply(b"<a:a> ", type="text/turtle", length=99_999), b""):
        describe = sends(said, closing=True)
        with FaultServer(results(), describe=describe) as server, taking(less_than=10):
            graph = EndpointGraph(server.url)
            assert [len(graph.select(ALL)) for _ in range(2)] == [2, 2]
            assert graph.profile == UNKNOWN


def test_E02_a_server_that_hangs_there_is_asked_all_the_same() -> None:
    with FaultServer(results(), describe=hangs) as server:
        graph = EndpointGraph(server.url, timeout_s=2)
        assert len(graph.select(ALL)) == 2, "within what the query may take"
        assert len(graph.select(ALL)) == 2
    assert len(server.probes) == 1, "it is not looked at again at once"


def test_info_says_what_an_endpoint_is(run: Run, people_url: str) -> None:
    done = run("info", "-k", people_url)
    assert done.exit_code == 0, done.stderr
    first, endpoint, dialect, *_ = done.stdout.splitlines()
    assert first == f"{people_url}: 7 triples"
    assert endpoint == "  endpoint   Oxigraph"
    assert dialect == "  dialect    text search: none"
    told = json.loads(run("info", "-k", people_url, "-f", "json").stdout)
    assert told["missing"] == {}
    assert (told["endpoint"]["url"], told["endpoint"]["engine"]) == (people_url, "Oxigraph")
    assert told["endpoint"]["chunk_size"] == 200
    assert told["endpoint"]["has_union"] is None
    assert "endpoint" not in json.loads(run("info", "-k", PEOPLE, "-f", "json").stdout)


def test_info_goes_on_where_an_endpoint_gives_up(run: Run, nobel_url: str) -> None:
    gives_up = sends(
        reply(b"java.util.concurrent.TimeoutException", status="500 Internal Server Error", type="text/plain")
    )
    heavy = ("GROUP BY", "SELECT (COUNT(*) AS ?count) WHERE {\n  ?subject ?predicate ?object")
    with Proxy(nobel_url, lambda request: gives_up if any(part in request.query for part in heavy) else None) as proxy:
        done = run("info", "-k", proxy.url)
        told = json.loads(run("info", "-k", proxy.url, "-f", "json").stdout)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"{proxy.url}: triples not counted\n")
    for what in ("triples", "classes", "predicates"):
        assert f"  missing    {what}: not counted: the endpoint gave up (" in done.stdout
    assert set(told["missing"]) == {"triples", "classes", "predicates"}
    assert (told["triples"], told["classes"]) == (None, [])
