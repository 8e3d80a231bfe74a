"""A polite client at a service with Wikidata's limits, and a rude one, so that the service is known to notice."""

from __future__ import annotations

import gzip
import http.client
import json
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

import pytest

import kgsparql
from kgsparql.budget import Usage
from kgsparql.errors import (
    AuthenticationError,
    CancelledError,
    EndpointTimeoutError,
    InputError,
    KgsparqlError,
    RateLimitError,
    UnreachableError,
)
from kgsparql.evaluation.record import Record
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.profiles import UNKNOWN
from kgsparql.graphs.snapshots import Snapshot
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.query import Query
from tests.conftest import FIXTURES, ROOT
from tests.endpoints import proxy as faults
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Seen, late, sends
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.endpoints.wikidata_simulator import (
    IMPOLITE,
    MAY_STRIKE,
    WikidataSimulator,
    answers_of_run,
    questions_of,
    records_of_run,
)

CONTACT = "mailto:tester@example.org"
POLITE = f"polite/1.0 ({CONTACT})"
SELECT = "SELECT ?s WHERE { ?s ?p ?o } LIMIT 3"
SMALL = Query("small", SELECT)
QALD = ROOT.parent / "shared" / "data" / "wikidata_qald10"


@pytest.fixture(autouse=True)
def contact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CONTACT", CONTACT)


def rude(simulator: WikidataSimulator, agent: str | None = POLITE, query: str = SELECT) -> tuple[int, str, str]:
    """Status, Retry-After and body of a request by somebody who keeps no limits."""
    where = urlsplit(simulator.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    connection.putrequest("POST", where.path)
    body = urlencode({"query": query}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
    for name, value in {**headers, **({"User-Agent": agent} if agent else {})}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    return answer.status, answer.headers.get("Retry-After", ""), said


def charged(seconds: float) -> Callable[[Seen], float]:
    return lambda _: seconds


def graph_of(simulator: WikidataSimulator, *, timeout_s: float = 30.0, **profile: Any) -> EndpointGraph:
    return EndpointGraph(simulator.url, profile=simulator.profile(**profile), timeout_s=timeout_s)


def test_the_simulator_answers_who_can_be_reached_and_throttles_strikes_and_bans_one_and_no_other(
    nobel_url: str,
) -> None:
    with WikidataSimulator(nobel_url) as simulator:
        assert "set a user-agent" in rude(simulator, None)[2]
        assert rude(simulator, "sparqlwrapper 2.0.0")[0] == 403
        assert "bindings" in rude(simulator)[2]
    assert (simulator.pleas, simulator.without_contact, simulator.banned) == (1, 2, ())
    assert simulator.user_agents == {"", "sparqlwrapper 2.0.0", POLITE}
    with WikidataSimulator(nobel_url, charge=charged(50)) as simulator:
        assert [rude(simulator)[0] for _ in range(3)] == [200, 200, 200]
        status, wait, _ = rude(simulator)
        assert (status, simulator.strikes) == (429, 0)
        assert 25 <= int(wait) <= 30
        assert [rude(simulator)[0] for _ in range(MAY_STRIKE + 1)] == [429, 403]
        assert (simulator.strikes, simulator.banned) == (MAY_STRIKE + 1, (POLITE,))
        assert rude(simulator, "other/1.0 (https://example.org)")[0] == 200
    with WikidataSimulator(nobel_url, charge=charged(150), speed=60) as simulator:
        assert [rude(simulator)[0], rude(simulator)[:2]] == [200, (429, "1")]
        time.sleep(1.05)
        assert rude(simulator)[0] == 200
    assert (simulator.strikes, simulator.throttled) == (0, 1)
    with WikidataSimulator(nobel_url, faults=lambda _: late(0.2)) as simulator, ThreadPoolExecutor(2) as pool:
        assert {status for status, *_ in pool.map(lambda _: rude(simulator), range(4))} == {200}
    assert simulator.most_at_once == 2
    with WikidataSimulator(nobel_url) as simulator:
        statuses = [rude(simulator, query="SELECT")[0] for _ in range(62)]
    assert statuses.count(400) in {60, 61}
    assert statuses[-1] == 429


def test_nobody_asks_without_a_contact_or_with_one_that_is_none(
    nobel_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WikidataSimulator(nobel_url) as simulator:
        for value in (None, "nobody", "me@", "me@example.org\r\nX-Evil: 1", " "):
            monkeypatch.setenv("KGSPARQL_CONTACT", value) if value else monkeypatch.delenv("KGSPARQL_CONTACT")
            with pytest.raises(InputError) as caught:
                graph_of(simulator).select(SMALL)
            assert "KGSPARQL_CONTACT" in f"{caught.value.message} {caught.value.hint}"
        assert simulator.requests == []
    # Wikidata itself is known by its URL; a proxy of the environment would notice a request.
    monkeypatch.delenv("KGSPARQL_CONTACT")
    with faults.Proxy("http://127.0.0.1:9/") as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(InputError) as caught:
            kgsparql.open("https://query.wikidata.org/sparql", embedder="none").ask("Who?", entities=["urn:x"])
        assert proxy.connections == 0
    assert "KGSPARQL_CONTACT" in f"{caught.value.message} {caught.value.hint}"


def test_one_query_at_a_time_whoever_asks_and_every_request_says_who(nobel_url: str) -> None:
    with WikidataSimulator(nobel_url, faults=lambda _: late(0.02)) as simulator:
        graphs = [graph_of(simulator) for _ in range(2)]
        with ThreadPoolExecutor(6) as pool:
            done = pool.map(lambda number: len(graphs[number % 2].select(SMALL)), range(24))
            assert list(done) == [3] * 24
        graphs[0].ask(Query("any", "ASK { ?s ?p ?o }"))
        assert graphs[0].fingerprint
    assert (simulator.most_at_once, simulator.without_contact) == (1, 0)
    (agent,) = simulator.user_agents
    assert agent.startswith(f"kgsparql/{version('kgsparql')} (")
    assert CONTACT in agent


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns so often that whatever can happen between two steps of one does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_nobody_asks_while_the_service_wants_to_be_left_alone(nobel_url: str) -> None:
    """One is told to wait; the others have not asked yet, and wait too."""
    with WikidataSimulator(nobel_url, charge=charged(30), speed=60) as simulator:
        graph = graph_of(simulator, query_seconds=None)
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda _: len(graph.select(SMALL)), range(14))) == [3] * 14
    assert simulator.throttled >= 2
    assert (simulator.strikes, simulator.banned, simulator.most_at_once) == (0, (), 1)


def test_a_time_too_long_to_wait_is_said_and_then_kept(nobel_url: str) -> None:
    with WikidataSimulator(nobel_url, charge=charged(500)) as simulator:
        graph = graph_of(simulator, query_seconds=None)
        graph.select(SMALL)
        for _ in range(4):
            with pytest.raises(RateLimitError) as caught:
                graph.select(SMALL)
            assert "wait" in caught.value.hint
        with pytest.raises(RateLimitError):
            graph_of(simulator, query_seconds=None).select(SMALL)
    assert len(simulator.requests) == 2
    assert simulator.strikes == 0


def test_query_time_is_saved_before_the_service_has_to_say_so(nobel_url: str) -> None:
    """Three at once use three seconds of query time a second, of which one comes back."""
    with WikidataSimulator(nobel_url, speed=60, faults=lambda _: late(0.25)) as simulator:
        simulator._charge = lambda request: (time.monotonic() - request.came) * simulator.speed
        graph = graph_of(simulator, concurrency=3, query_seconds=55.0, burst_seconds=1.8)
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(lambda _: len(graph.select(SMALL)), range(18))) == [3] * 18
    assert simulator.most_at_once > 1
    assert (simulator.throttled, simulator.strikes) == (0, 0)


def test_E24_a_bad_hour_or_wrong_queries_of_a_model_end_the_asking_before_a_ban(nobel_url: str) -> None:
    broken = sends(reply(b"java.lang.OutOfMemoryError", status="500 Broken", type="text/plain"))
    for fault, query, most in ((broken, SMALL, 15), (None, Query("wrong", "SELECT"), 29)):
        with WikidataSimulator(nobel_url, faults=lambda _, fault=fault: fault) as simulator:
            graph = graph_of(simulator)
            for _ in range(80):
                with pytest.raises(KgsparqlError) as caught:
                    graph.select(query)
        assert 1 <= len(simulator.requests) <= most
        assert isinstance(caught.value, UnreachableError)
        assert caught.value.retryable
        assert caught.value.hint
        assert simulator.throttled == 0


def test_a_ban_is_not_argued_with(nobel_url: str) -> None:
    banned = sends(reply(b"You have been banned until tomorrow.", status="403 Forbidden", type="text/plain"))
    with WikidataSimulator(nobel_url, faults=lambda _: banned) as simulator:
        graph = graph_of(simulator)
        for _ in range(20):
            with pytest.raises(UnreachableError):
                graph.select(SMALL)
        with pytest.raises(UnreachableError) as caught:
            graph_of(simulator).select(SMALL)
    assert len(simulator.requests) <= 5
    assert isinstance(caught.value, AuthenticationError) or "banned" in caught.value.message


def test_a_question_that_ends_while_it_waits_leaves_at_once(nobel_url: str) -> None:
    with WikidataSimulator(nobel_url, charge=charged(170)) as simulator:  # full again in 50 s
        graph = graph_of(simulator, timeout_s=100.0, query_seconds=None)
        graph.select(SMALL)
        cancel = threading.Event()
        timer = threading.Timer(0.3, cancel.set)
        timer.start()
        began = time.monotonic()
        with pytest.raises(KgsparqlError):
            graph.within(Usage(cancel=cancel)).select(SMALL)
        assert time.monotonic() - began < 10
        timer.join()
        with pytest.raises((RateLimitError, EndpointTimeoutError)):
            graph.select_within(SMALL, timeout_s=0.5)
        assert time.monotonic() - began < 20
    assert simulator.strikes == 0


@pytest.mark.parametrize("ends", ["timeout", "stop"])
def test_a_query_that_nobody_waits_for_any_more_still_runs_there(nobel_url: str, ends: str) -> None:
    """The service lets a query run for a second; nobody asks it anything until it may be done with the first."""
    with WikidataSimulator(nobel_url, speed=60, charge=charged(0), faults=faults.first(late(0.6))) as simulator:
        graph, cancel = graph_of(simulator), threading.Event()
        timer = threading.Timer(0.3, cancel.set)
        timer.start()
        with pytest.raises((EndpointTimeoutError, CancelledError)):
            graph.within(Usage(cancel=cancel)).select_within(SMALL, 0.3 if ends == "timeout" else None)
        timer.join()
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(lambda _: len(graph.select(SMALL)), range(6))) == [3] * 6
    assert simulator.most_at_once == 1
    assert len(simulator.requests) == 7


def test_an_endpoint_of_which_nothing_is_known_is_waited_for_too(nobel_url: str) -> None:
    """From the first look at it, over the reading of its labels, to the last triple that is looked up again."""
    with WikidataSimulator(nobel_url, charge=charged(30), speed=60) as simulator:
        known = KnowledgeBase(EndpointGraph(simulator.url), embedder="none")
        answer = known.ask("Where was Marie Curie born?")
    assert answer.status == "answered"
    assert simulator.throttled > 0
    assert simulator.strikes < UNKNOWN.concurrency, "what was on its way when the first was told to wait"
    assert simulator.figures["bans"] == 0


@pytest.fixture(scope="module")
def wikidata(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """An extract of Wikidata with questions where it is there, else the bundled graph: its URL, and the questions."""
    folder = tmp_path_factory.mktemp("wikidata")
    graph, questions = FIXTURES / "nobel.ttl", FIXTURES / "nobel_questions.jsonl"
    if QALD.is_dir():
        graph, questions = folder / "graph.nt", QALD / "questions.jsonl"
        with gzip.open(QALD / "graph.nt.gz") as packed, graph.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    with oxigraph_serve(store_of(graph, folder / "store")) as url:
        yield url, questions


def test_a_run_of_questions_is_polite_from_its_first_request_to_its_last_and_goes_again_without_any(
    wikidata: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, file = wikidata
    questions = questions_of(file, limit=4)
    overloaded = sends(reply(b"busy", status="503 Service Unavailable", headers=["Retry-After: 1"]))

    def sometimes(request: Seen) -> faults.Fault | None:
        return overloaded if request.number in {7, 19} else None

    simulator = WikidataSimulator(url, speed=60, charge=charged(6), faults=sometimes)

    def asked(mode: Literal["write", "only"]) -> list[Record]:
        with Snapshot(tmp_path / "snapshot", mode) as snapshot:
            graph = EndpointGraph(simulator.url, profile=simulator.profile(), recording=snapshot.recording)
            knowledge = KnowledgeBase(graph, embedder="none", snapshot=snapshot)
            return records_of_run(knowledge, questions, tmp_path / mode, method="think_on_graph", workers=3)

    with simulator:
        records = asked("write")
        figures = simulator.figures
    assert len(records) == len(questions)
    assert {record.error for record in records} == {None}
    assert any(record.answers for record in records)
    assert figures["throttled"] > 0, "nothing was learned"
    assert {figures[name] for name in IMPOLITE} == {0}, json.dumps(figures)
    assert figures["most at once"] == 1

    def connect(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", connect)
    asked("only")
    assert answers_of_run(tmp_path / "only") == answers_of_run(tmp_path / "write")
    assert answers_of_run(tmp_path / "write").count(b"\n") == len(questions)
