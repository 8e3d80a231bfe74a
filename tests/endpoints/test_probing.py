"""What an endpoint is found to be before its first query; and what ``info`` says of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kgsparql.budget import Budget, Usage
from kgsparql.errors import CancelledError
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, known_endpoints
from kgsparql.graphs.protocol.discovery import FOLDER, ProbeResult, recalled, remember
from kgsparql.http.address import Address
from kgsparql.rdf.query import Query
from kgsparql.resources import cache_directory
from kgsparql.storage.files import sealed_json
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.conftest import FIXTURES
from tests.endpoints import faults
from tests.endpoints.faults import NOTHING, FaultServer, reply, results
from tests.endpoints.proxy import Proxy, sends
from tests.endpoints.servers import Virtuoso, oxigraph_serve, rdflib_endpoint, store_of
from tests.kept import read_sealed_json, rewrite

ALL = Query("all", "SELECT ?s ?n { ?s ?p ?n } LIMIT 3")
PEOPLE = FIXTURES / "queries" / "people.trig"
VIRTUOSO = ("Server: Virtuoso/07.20.3229 (Linux) x86_64-pc-linux-gnu",)
DESCRIPTION = b"""@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix void: <http://rdfs.org/ns/void#> .
[] a sd:Service ; sd:endpoint <> ; sd:feature sd:UnionDefaultGraph ;
  sd:defaultDataset [ sd:defaultGraph [ void:triples 1234567 ] ] .
"""
URL = "http://sparql.example.org/query"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / FOLDER


@pytest.fixture(scope="module")
def people_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oxigraph_serve(store_of(PEOPLE, tmp_path_factory.mktemp("people") / "store")) as url:
        yield url


def found_out(graph: EndpointGraph) -> ProbeResult:
    graph.select(ALL)
    assert graph.probe.found is not None, graph.probe.trouble
    return graph.probe.found


def turtle(body: bytes, *headers: str, status: str = "200 OK") -> faults.Behaviour:
    return results(body, type="text/turtle", headers=headers, status=status)


def test_oxigraph_says_what_it_is(people_url: str) -> None:
    graph = EndpointGraph(people_url)
    assert (graph.profile, graph.probe.found) == (UNKNOWN, None), "nothing is sent before the first query"
    found = found_out(graph)
    assert (found.engine, found.is_described, found.has_union) == ("Oxigraph", True, None)
    assert found.version.split(".")[0].isdigit()
    assert found.server == f"Oxigraph/{found.version}"
    assert (graph.profile.name, graph.profile.engine, graph.profile.urls) == ("Oxigraph", "Oxigraph", ())


def test_rdflib_endpoint_says_what_it_is() -> None:
    with rdflib_endpoint(FIXTURES / "queries" / "people.ttl") as url:
        graph = EndpointGraph(url)
        found = found_out(graph)
    assert (found.engine, found.is_described) == ("rdflib-endpoint", True)
    assert graph.profile.concurrency == 1


def test_virtuoso_says_what_it_is(virtuoso_server: Virtuoso) -> None:
    graph = EndpointGraph(virtuoso_server.fill(PEOPLE))
    found = found_out(graph)
    assert graph.notes == ()
    assert graph.may_repeat_triples
    assert found.engine == "Virtuoso"
    assert found.version.startswith("07.20.")
    assert (graph.profile.has_union, graph.profile.max_solutions) == (True, 10_000)


def test_one_request_for_all_queries_questions_and_threads() -> None:
    with FaultServer(results(), describe=turtle(b"", *VIRTUOSO)) as server:
        graph = EndpointGraph(server.url)
        views = [graph.within(Usage(Budget())) for _ in range(4)]
        threads = [threading.Thread(target=view.select, args=(ALL,)) for view in views for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [view.profile.name for view in views] == ["Virtuoso"] * 4
    (probe,) = server.probes
    assert len(server.requests) == 12, "of Virtuoso it is known that it shows all graphs: nothing more is asked"
    assert probe.line == "GET /sparql HTTP/1.1"
    assert probe.headers["accept"] == "text/turtle"
    assert probe.headers["user-agent"].startswith("kgsparql/")


def test_an_endpoint_whose_profile_says_enough_is_not_asked() -> None:
    known = known_endpoints()
    for profile in (known.named("dbpedia"), known.by_name("QLever"), EndpointProfile(name="mine")):
        assert profile is not None
        with FaultServer(results()) as server:
            EndpointGraph(server.url, profile=profile).select(ALL)
        assert server.probes == []


def test_of_a_service_only_the_engine_is_found_out() -> None:
    known = EndpointProfile(
        name="Ours", urls=("http://e.org/",), chunk_size=7, max_solutions=99,
    )  # fmt: skip
    with FaultServer(results(), describe=turtle(b"", *VIRTUOSO)) as server:
        graph = EndpointGraph(server.url, profile=known)
        graph.select(ALL)
    profile = graph.profile
    assert (profile.name, profile.engine, profile.chunk_size, profile.max_solutions) == ("Ours", "Virtuoso", 7, 99)
    assert (profile.text_search, profile.has_union, profile.urls) == ("bif:contains", True, known.urls)


def test_credentials_go_where_the_queries_go() -> None:
    with FaultServer(results()) as server:
        EndpointGraph(server.url.replace("//", "//me:secret@") + "?apikey=s3cret").select(ALL)
    (probe,) = server.probes
    assert probe.line == "GET /sparql?apikey=s3cret HTTP/1.1"
    assert probe.headers["authorization"].startswith("Basic ")


def test_a_description_is_read() -> None:
    with FaultServer(results(), describe=turtle(DESCRIPTION, "Server: nginx/1.2")) as server:
        graph = EndpointGraph(server.url)
        found = found_out(graph)
    assert (found.engine, found.server, found.version) == ("", "nginx/1.2", "")
    assert (found.is_described, found.has_union, found.triples) == (True, True, 1_234_567)
    assert (graph.profile.name, graph.profile.has_union) == (UNKNOWN.name, True)


def test_an_engine_gives_itself_away() -> None:
    for headers, body, engine, version in (
        (("Server: Virtuoso/08.03.3326 (Linux)",), b"", "Virtuoso", "08.03.3326"),
        (("Server: Apache Jena Fuseki (4.9.0)",), b"", "Apache Jena Fuseki", "4.9.0"),
        (("Fuseki-Request-Id: 17",), b"", "Apache Jena Fuseki", ""),
        (("Server: GraphDB 6.0.7835, Forest 2.1.3",), b"", "GraphDB", "6.0.7835"),
        (("Server: Jetty",), b"<a:a> <http://www.bigdata.com/rdf#/features/KB/Namespace> 'kb' .", "Blazegraph", ""),
        (("Server: \x1b[31mVirtuoso/07",), b"", "", ""),
        (("Server: cloudflare",), b"<a:a> <a:b> 'Server: Virtuoso/07' .", "", ""),
    ):
        with FaultServer(results(), describe=turtle(body, *headers)) as server:
            found = found_out(EndpointGraph(server.url))
        assert (found.engine, found.version) == (engine, version)
        assert "\x1b" not in found.server


def test_a_reply_that_says_nothing_changes_nothing() -> None:
    for describe in (
        results(b"<html>no</html>", type="text/html"),
        results(b"<html>Virtuoso http://www.bigdata.com/rdf#</html>", type="text/html"),
        results(NOTHING),
        turtle(b"<a:a> <a:b> "),
        turtle(b"<a:a> <http://rdfs.org/ns/void#triples> " + b"9" * 5_000 + b" ."),
        turtle(b"\xff\xfe\x00"),
        turtle(b"", status="500 Internal Server Error"),
        turtle(DESCRIPTION, status="404 Not Found"),
        turtle(b"", status="405 Method Not Allowed"),
        results(b"", status="401 Unauthorized", headers=["WWW-Authenticate: Basic"]),
        results(b"", status="302 Found", headers=["Location: http://127.0.0.1:9/sparql"]),
        results(b"", status="302 Found", headers=["Location: /sparql"]),
        turtle(b"<a:a> <a:b> <a:c> .\n" * 20_000),
        results(DESCRIPTION, type="text/turtle", length=99_999),
        faults.close,
    ):
        with FaultServer(results(), describe=_closing(describe)) as server:
            graph = EndpointGraph(server.url)
            began = time.monotonic()
            assert len(graph.select(ALL)) == 2
            assert graph.profile == UNKNOWN
            assert time.monotonic() - began < 10
            graph.select(ALL)
            asked = len(server.probes)
        assert asked <= 8, "redirects within the server are followed a few times, and then no more"


def _closing(describe: faults.Behaviour) -> faults.Behaviour:
    """The behaviour, and the end of the connection: a body that is shorter than promised ends there."""

    def behave(sock: faults.socket.socket, request: faults.Request) -> None:
        describe(sock, request)
        sock.shutdown(faults.socket.SHUT_RDWR)

    return behave


def test_E02_a_server_that_hangs_there_is_asked_all_the_same() -> None:
    with FaultServer(results(), describe=faults.hang) as server:
        graph = EndpointGraph(server.url, timeout_s=2)
        assert len(graph.select(ALL)) == 2, "within what the query may take"
        assert len(graph.select(ALL)) == 2
    assert len(server.probes) == 1, "it is not looked at again at once"
    assert "did not answer" in graph.probe.trouble


def test_E17_no_other_server_is_asked() -> None:
    with FaultServer(results()) as other:
        moved = results(b"", status="302 Found", headers=[f"Location: {other.url}"])
        with FaultServer(results(), describe=moved) as server:
            graph = EndpointGraph(server.url)
            graph.select(ALL)
    assert "another server" in graph.probe.trouble
    assert other.connections == 0


def test_a_stop_is_heard_while_it_is_looked_for() -> None:
    cancel = threading.Event()
    with FaultServer(results(), describe=faults.hang) as server:
        threading.Timer(0.3, cancel.set).start()
        began = time.monotonic()
        with pytest.raises(CancelledError):
            EndpointGraph(server.url).select_within(ALL, cancel=cancel)
        assert time.monotonic() - began < 10
    assert server.requests == []


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A server that is reached as a proxy, so that the endpoint is not on this machine."""
    with FaultServer(results(), describe=turtle(DESCRIPTION, *VIRTUOSO)) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield server


def test_what_was_found_out_lasts_for_a_week(elsewhere: FaultServer, cache: Path) -> None:
    first = found_out(EndpointGraph(URL))
    (kept,) = cache.iterdir()
    assert read_sealed_json(kept)["url"] == URL
    graph = EndpointGraph(URL.replace("//", "//me:secret@"))
    assert found_out(graph) == first
    assert graph.profile.name == "Virtuoso"
    assert len(elsewhere.probes) == 1
    assert "secret" not in kept.read_text()
    told = read_sealed_json(kept)
    for at, probes in ((timedelta(days=6), 1), (timedelta(days=8), 2), (timedelta(days=-1), 3)):
        rewrite(kept, {**told, "at": (datetime.now(UTC) - at).isoformat()})
        found_out(EndpointGraph(URL))
        assert len(elsewhere.probes) == probes


@pytest.mark.parametrize("spoiled", ["", "{", "[]", '{"url": "%s"}', '{"url": "http://e.org/", "at": "%s"}', "\x00"])
def test_a_file_that_cannot_be_read_is_found_out_again(elsewhere: FaultServer, cache: Path, spoiled: str) -> None:
    found_out(EndpointGraph(URL))
    (kept,) = cache.iterdir()
    text = spoiled.replace("%s", URL)
    for probes, written in enumerate((text, sealed_json({"url": text})), 2):
        kept.write_text(written)
        assert found_out(EndpointGraph(URL)).engine == "Virtuoso"
        assert len(elsewhere.probes) == probes
        assert read_sealed_json(kept)["engine"] == "Virtuoso"


def test_what_was_found_out_is_in_the_cache_and_can_be_removed(run: Run, elsewhere: FaultServer) -> None:
    found_out(EndpointGraph(URL))
    told = {kept["kind"]: kept for kept in json.loads(run("cache", "-f", "json").stdout)["kinds"]}
    assert told["endpoints"]["count"] == 1
    assert run("cache", "--clear", "endpoints").exit_code == 0
    found_out(EndpointGraph(URL))
    assert len(elsewhere.probes) == 2


def test_what_is_kept_has_the_types_that_it_should_have() -> None:
    for change in ({"engine": 5}, {"has_union": "yes"}, {"triples": "many"}, {"more": 1}):
        address = Address.parse(URL)
        found = ProbeResult(
            at=datetime.now(UTC).isoformat(timespec="seconds"), engine="Virtuoso", has_union=True, triples=5
        )
        remember(address, found)
        assert recalled(address) == found
        (kept,) = (cache_directory() / FOLDER).iterdir()
        rewrite(kept, {**read_sealed_json(kept), **change})
        assert recalled(address) is None


def test_a_place_that_cannot_be_written_is_done_without(
    elsewhere: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "a file"))
    graph = EndpointGraph(URL)
    assert found_out(graph).engine == "Virtuoso"
    assert graph.probe.trouble.startswith("not kept: ")


def test_nothing_is_kept_of_a_server_on_this_machine(people_url: str, cache: Path) -> None:
    found_out(EndpointGraph(people_url))
    assert not cache.exists()


def test_info_says_what_an_endpoint_is(run: Run, people_url: str) -> None:
    done = run("info", "-k", people_url)
    assert done.exit_code == 0, done.stderr
    first, endpoint, limits, dialect, *_ = done.stdout.splitlines()
    assert first == f"{people_url}: 7 triples"
    assert endpoint.startswith("  endpoint   Oxigraph 0.")
    assert endpoint.endswith(f", found {datetime.now(UTC):%Y-%m-%d}")
    assert limits == "  limits     4 queries at a time, 200 terms looked up at once"
    assert dialect == "  dialect    what is in named graphs is found without naming them; text search: none"
    told = json.loads(run("info", "-k", people_url, "-f", "json").stdout)
    assert told["missing"] == {}
    assert (told["endpoint"]["url"], told["endpoint"]["engine"]) == (people_url, "Oxigraph")
    assert told["endpoint"]["limits"]["chunk_size"] == 200
    assert (told["endpoint"]["union_default_graph"], told["endpoint"]["shows_named_graphs"]) == (None, True)
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


def test_info_of_an_endpoint_that_is_not_there_is_an_error(run: Run) -> None:
    with FaultServer(results()) as server:
        pass
    done = run("info", "-k", server.url)
    assert done.exit_code == 5
    assert "E_ENDPOINT_DOWN" in done.stderr
