"""Every command over an endpoint: the same results as over the file it serves, and clear errors in time."""

import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from pyoxigraph import RdfFormat

import kgsparql
from kgsparql import Budget, EndpointGraph, KnowledgeBase, Query, Solutions
from kgsparql.errors import BudgetExceededError, CancelledError, EndpointError, LimitError
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.endpoints import faults
from tests.endpoints.faults import FaultServer, reply, results
from tests.endpoints.ports import free_port
from tests.endpoints.proxy import Exchange, hangs
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import DBR, FIXTURES, NOBEL

PEOPLE = FIXTURES / "queries" / "people.trig"
COUNT = b'{"head":{"vars":["count"]},"results":{"bindings":[{"count":{"type":"literal","value":"3"}}]}}'


@pytest.fixture(scope="module")
def nobel_triples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same graph in a file that declares no prefixes, as an endpoint has none."""
    file = tmp_path_factory.mktemp("triples") / "nobel.nt"
    with file.open("wb") as output:
        pyoxigraph.serialize((quad.triple for quad in pyoxigraph.parse(path=NOBEL)), output, RdfFormat.N_TRIPLES)
    return file


def without_cost(printed: str) -> str:
    """What a command prints, but for seconds, and queries: an endpoint's labels of predicates are kept."""
    return re.sub(r"\d+ queries|\d\.\d\d s$", "…", printed, flags=re.MULTILINE)


@pytest.mark.parametrize("arguments", [
    ("show", "dbr:Niels_Bohr", "-f", "json"),
    ("paths", "Marie Curie", "Niels Bohr"),
    ("find", "Curie", "--embedder", "none"),
    ("ask", "Where was Marie Curie born?", "-r", "path_ranking", "--no-model", "--embedder", "none"),
    ("query", "SELECT ?s ?p ?o { ?s ?p ?o FILTER(isLiteral(?o)) } ORDER BY ?s ?p ?o LIMIT 9", "-f", "csv"),
    ("query", "SELECT ?o { ?s ?p ?o FILTER(isLiteral(?o)) } ORDER BY ?o LIMIT 9", "-f", "xml"),
])  # fmt: skip
def test_commands_print_the_same(run: Run, nobel_url: str, nobel_triples: Path, arguments: tuple[str, ...]) -> None:
    embedded, remote = (run(*arguments, "-k", source, "-q") for source in (nobel_triples, nobel_url))
    assert (embedded.exit_code, remote.exit_code) == (0, 0), remote.stderr
    printed = without_cost(remote.stdout.replace(nobel_url, str(nobel_triples)))
    printed, prepared = re.subn(r" \(\d+ more to prepare\)", "", printed)
    assert prepared == (arguments[0] == "ask"), "only of an endpoint there is something to be found out first"
    assert printed == without_cost(embedded.stdout)
    assert printed


def test_triples_of_a_query_are_the_same(run: Run, nobel_url: str, nobel_triples: Path) -> None:
    construct, describe = "CONSTRUCT { ?s rdfs:label ?o } WHERE { ?s rdfs:label ?o }", "DESCRIBE dbr:Warsaw"
    for shape, query in (("nt", construct), ("ttl", construct), ("trig", describe)):
        done = [run("query", query, "-k", source, "-f", shape, "-q") for source in (nobel_triples, nobel_url)]
        kind = RdfFormat.from_extension(shape)
        embedded, remote = ({q.triple for q in pyoxigraph.parse(result.stdout_bytes, kind)} for result in done)
        assert remote == embedded
        assert embedded
        assert ("rdfs:label" in done[1].stdout) == (shape != "nt")


def test_L31_named_graphs_are_counted_and_cited_by_name(run: Run, people_url: str) -> None:
    embedded, remote = (json.loads(run("info", "-k", source, "-f", "json").stdout) for source in (PEOPLE, people_url))
    for counted in (*embedded["classes"], *embedded["predicates"], *remote["classes"], *remote["predicates"]):
        del counted["curie"]  # the endpoint declares no prefixes
    for what in ("triples", "named_graphs", "classes", "predicates", "cuts"):
        assert remote[what] == embedded[what]
    assert (remote["name"], remote["sources"]) == (people_url, [])
    assert len(embedded["named_graphs"]) == 2
    known = kgsparql.open(people_url, embedder="none")
    answer = known.ask("What is the field?", entities=["http://example.org/marie"])
    cited = {source for item in answer.evidence for t in item.triples for source in t.sources}
    assert {(source.graph, source.named_graph) for source in cited} >= {(people_url, "http://example.org/archive")}
    assert known.graph.notes == ()


def test_what_an_endpoint_is_read_as_takes_few_requests_and_is_what_its_file_is(
    nobel_url: str, nobel_triples: Path, own_cache: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, asked, select = kgsparql.open(nobel_url, embedder="none"), list[str](), EndpointGraph.select
    monkeypatch.setattr(EndpointGraph, "select", lambda *own, **more: asked.append(own[1].name) or select(*own, **more))
    found, of_file = remote.schema(), kgsparql.open(nobel_triples, embedder="none").schema()
    assert len(asked) <= 26  # one for units
    assert [name for name in asked if name.startswith("info")] == [
        "info_graphs", "info_triples", "info_predicates", "info_classes",
    ]  # fmt: skip
    sizes, of_file_sizes = ({one.term: one.count for one in own.relations} for own in (found, of_file))
    assert sizes == of_file_sizes
    assert {one.term for one in found.kinds} == {one.term for one in of_file.kinds}


@pytest.mark.parametrize(("refused", "kinds", "relations", "said"), [
    ("info_classes", 0, 35, "classes: not counted: the endpoint gave up (too slow)"),
    ("ends", 20, 0, "all kinds and relations: too slow"),
])  # fmt: skip
def test_what_an_endpoint_does_not_tell_is_missing(
    nobel_url: str, own_cache: None, monkeypatch: pytest.MonkeyPatch, refused: str, kinds: int, relations: int,
    said: str,
) -> None:  # fmt: skip
    select = EndpointGraph.select

    def refuse(graph: EndpointGraph, query: Query, *more: Any, **other: Any) -> Solutions:
        if query.name == refused:
            raise EndpointError("too slow")
        return select(graph, query, *more, **other)

    monkeypatch.setattr(EndpointGraph, "select", refuse)
    found = kgsparql.open(nobel_url, embedder="none").schema()
    assert (len(found.kinds), len(found.relations), found.missing) == (kinds, relations, (said,))
    assert str(found).endswith(f"missing   {said}")


def test_labels_of_an_endpoint_are_read_once_and_kept(
    run: Run, nobel_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = kgsparql.open(nobel_url, embedder="none")
    assert known.indexes.index.row_count > 0
    again = kgsparql.open(nobel_url, embedder="none")
    asked: list[str] = []
    assert isinstance(again.graph, EndpointGraph)
    send = EndpointGraph._send_query
    monkeypatch.setattr(
        EndpointGraph, "_send_query", lambda client, query, *a: (asked.append(query.name), send(client, query, *a))[1]
    )
    assert again.indexes.index.row_count == known.indexes.index.row_count
    assert asked[-1] == "fingerprint"
    assert not [name for name in asked if name.startswith(("info", "index", "label"))]
    monkeypatch.undo()
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    done = run("index", "-k", nobel_url, "--embedder", "none")
    assert done.exit_code == 0, done.stderr
    assert run("find", "Curie", "-k", nobel_url, "--embedder", "none").stdout


def test_an_endpoint_with_too_many_labels_is_asked_for_those_of_the_question(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def known_as(url: str, limit: str) -> KnowledgeBase:
        monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / limit))
        return kgsparql.open(url, embedder="none")

    with oxigraph_serve(store_of(NOBEL, tmp_path / "store")) as url:
        monkeypatch.setattr("kgsparql.linking.label_index.reading.REMOTE_ROWS", 100)
        answer = known_as(url, "rows").ask("Where was Marie Curie born?")
        assert [found.label for found in answer.answers][:1] == ["Warsaw"]
        done = run("index", "-k", url, "--embedder", "none")
        assert done.exit_code == 2
        assert "cannot all be read" in done.stderr
        assert "questions look them up" in done.stderr
        monkeypatch.undo()
        known = known_as(url, "bytes")
        known.graph._http.max_bytes = 20_000  # type: ignore[attr-defined]
        assert not known.indexes.index.row_count


def test_labels_that_the_endpoint_cut_are_not_kept(tmp_path: Path) -> None:
    async def behave(exchange: Exchange) -> None:
        nothing = b'{"head":{"vars":["predicate","triples","graph"]},"results":{"bindings":[]}}'
        cut = reply(nothing, headers=["X-SQL-State: S1TAT"])
        await exchange.write(reply(COUNT) if "?count" in exchange.request.query else cut)

    with FaultServer(behave) as server:
        assert not kgsparql.open(server.url, embedder="none").indexes.index.row_count
        with pytest.raises(LimitError, match="gives only"):
            kgsparql.open(server.url, embedder="none").indexes.build()
    assert not list(tmp_path.rglob("labels_*"))


def test_what_an_endpoint_is_not_used_for(run: Run, tmp_path: Path) -> None:
    with FaultServer(results()) as server:
        for arguments, says in (
            (("show", "x", "-k", server.url, "--skip-bad", "--base", "http://e.org/"), "base, skip-bad"),
            (("show", "x", "-k", "localhost:7001/query"), "an endpoint starts with http://"),
            (("show", "x", "-k", "http://127.0.0.1/data.nt.gz"), "no file is read over the network"),
            (("load", server.url, "--store", tmp_path / "S"), "no file is read over the network"),
            (("show", "x", "-k", "https://user@host/sparql"), "user and password both"),
            (("query", "SELECT * { SERVICE <http://e.org/> { ?s ?p ?o } }", "-k", server.url), "SERVICE is not run"),
        ):
            done = run(*arguments)
            assert done.exit_code == 2
            assert says in done.stderr
        assert server.connections == 0


def test_a_query_of_the_user_is_cut_where_they_said_and_errors_name_their_line(run: Run, nobel_url: str) -> None:
    done = run("query", "SELECT ?s { ?s ?p ?o }", "-k", nobel_url, "--max-rows", "3", "-f", "tsv")
    assert done.stdout.count("\n") == 4
    assert "cut: solutions: at most 3" in done.stderr
    assert done.exit_code == 6
    done = run("query", "CONSTRUCT WHERE { ?s ?p ?o }", "-k", nobel_url, "--max-rows", "3", "-f", "nt")
    assert done.stdout.count("\n") == 3
    done = run("query", "SELECT ?s {\n  ?s rdfs:label }", "-k", nobel_url)
    assert done.exit_code == 4
    assert "line 2:" in done.stderr
    done = run(
        "query", "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a = ?i) }", "-k", nobel_url, "--timeout", "0.5"
    )
    assert done.exit_code == 5
    assert "within 0.5 s" in done.stderr


def test_E01_a_dead_endpoint_is_one_line_and_exit_5(run: Run) -> None:
    asked = ("ask", "Who?", "--embedder", "none", "--no-model")
    for arguments in (asked, ("show", "dbr:x"), ("query", "ASK {}"), ("info",)):
        url = f"http://127.0.0.1:{free_port()}/sparql"  # after five failures one is left alone
        with faults.taking(less_than=10):
            done = run(*arguments, "-k", url)
        assert (done.exit_code, done.stdout) == (5, "")
        (error,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert error == f"error: {url}: no connection: Connection refused [E_ENDPOINT_DOWN]"


async def counting_and_hanging(exchange: Exchange) -> None:
    """Counts are all that this endpoint can do."""
    await (results(COUNT) if "?count" in exchange.request.query else hangs)(exchange)


def test_U15_the_time_of_a_question_ends_whatever_it_asks() -> None:
    curie = (DBR + "Marie_Curie",)
    for behaviour, entities in (
        (counting_and_hanging, ()), (hangs, curie), (counting_and_hanging, ("Marie Curie",)),
    ):  # fmt: skip
        with FaultServer(behaviour) as server, faults.taking(less_than=15):
            known = kgsparql.open(server.url, embedder="none")
            with pytest.raises(BudgetExceededError) as caught:
                known.ask("Where was Marie Curie born?", entities=entities, budget=Budget(max_seconds=1.0))
        assert server.requests
        assert caught.value.detail["limit"] == "seconds"


@pytest.mark.skipif(sys.platform != "linux", reason="counts the open sockets in /proc")
def test_a_graph_that_is_closed_has_no_connection_left(nobel_url: str) -> None:
    def sockets() -> set[str]:
        links = (link for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
        return {str(target) for link in links if "socket" in str(target := link.readlink())}

    before = sockets()
    with kgsparql.open(nobel_url, embedder="none") as knowledge:
        assert knowledge.query("ASK { ?s ?p ?o }")
        opened = sockets() - before  # a connection of an earlier test may end meanwhile
        assert len(opened) == 1
    assert opened.isdisjoint(sockets())
    assert knowledge.query("ASK { ?s ?p ?o }")


def test_a_question_that_is_stopped_ends_the_reading_of_labels() -> None:
    before, cancel, ends = set(threading.enumerate()), threading.Event(), list[type[BaseException]]()

    def ask(knowledge: kgsparql.KnowledgeBase) -> None:
        try:
            knowledge.ask("Who?", cancel=cancel)
        except BaseException as error:  # noqa: BLE001
            ends.append(type(error))

    with FaultServer(counting_and_hanging) as server:
        taking = threading.Thread(target=ask, args=(kgsparql.open(server.url, embedder="none"),))
        taking.start()
        while not any("?count" not in request.query for request in server.requests) and taking.is_alive():
            time.sleep(0.02)
        cancel.set()
        taking.join(20)
        assert ends == [CancelledError]
        deadline = time.monotonic() + 20
        while (more := set(threading.enumerate()) - before - {server._thread}) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not more


def test_an_answer_of_a_file_is_checked_at_the_endpoint(run: Run, tmp_path: Path, nobel_url: str) -> None:
    file = tmp_path / "a.json"
    question = "How many children did Marie Curie have?"
    run("ask", question, "-k", NOBEL, "-q", "--no-model", "--embedder", "none", "-f", "json", "-o", file)
    done = run("check", file, "-k", nobel_url)
    assert done.exit_code == 0, done.output
    (tmp_path / "less.ttl").write_text(NOBEL.read_text().replace("dbr:Irène_Joliot-Curie, dbr:Ève", "dbr:Ève"))
    with oxigraph_serve(store_of(tmp_path / "less.ttl", tmp_path / "store")) as url:
        done = run("check", file, "-k", url)
    assert done.exit_code == 3, done.output
    assert "gone    dbr:Marie_Curie dbo:" in done.stdout
    done = run("check", file, "-k", f"http://127.0.0.1:{free_port()}/query")
    assert done.exit_code == 5
    assert "gone" not in done.output, "one that is down says nothing of triples"
