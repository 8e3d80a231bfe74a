"""A name that is added, changed or removed at a server is noticed within ten minutes, at next to no cost."""

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgsparql
from kgsparql import EndpointGraph, EndpointProfile, KnowledgeBase
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Proxy, first, sends
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import BORN, FIXTURES

D, O = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"  # noqa: E741
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
SUMS, LABELS = "MD5(", "?entity ?predicate ?text"
ZORBLAX, TROGDOR = "Where was Zorblax Quimby born?", "Where was Trogdor Quabble born?"
PLAIN = EndpointProfile()


class Clock:
    """A clock of a graph, which a test sets."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """``fixtures/nobel.ttl`` behind a server of its own that can be written to."""
    with oxigraph_serve(store_of(FIXTURES / "nobel.ttl", tmp_path / "store"), writable=True) as url:
        yield url


def update(url: str, text: str) -> None:
    head = {"Content-Type": "application/sparql-update"}
    urllib.request.urlopen(urllib.request.Request(url.replace("/query", "/update"), text.encode(), head)).close()  # noqa: S310


def add(url: str, name: str = "Zorblax Quimby") -> None:
    update(
        url, f'INSERT DATA {{ <{D}Zorblax> <{LABEL}> "{name}"@en ; a <{O}Scientist> ; <{O}birthPlace> <{D}Warsaw> }}'
    )


def rename(url: str, name: str = "Trogdor Quabble") -> None:
    update(
        url, f'DELETE WHERE {{ <{D}Zorblax> <{LABEL}> ?any }} ; INSERT DATA {{ <{D}Zorblax> <{LABEL}> "{name}"@en }}'
    )


def of_clock(url: str, **options: object) -> tuple[KnowledgeBase, Clock]:
    """What is known of an endpoint, and the clock by which it is looked at again."""
    graph, clock = EndpointGraph(url, profile=PLAIN), Clock()
    graph.clock = clock
    return KnowledgeBase(graph, embedder="none", **options), clock  # type: ignore[arg-type]


def asked(knowledge: KnowledgeBase, question: str) -> tuple[str, int, int]:
    """The first answer to a question, if there is any, and how many queries it took, beside those to prepare it."""
    answer = knowledge.ask(question)
    first_one = answer.answers[0].label if answer.answers else ""
    return first_one, answer.usage["queries"], answer.usage["prepared"]


def test_a_name_that_is_new_or_changed_or_went_is_noticed_after_ten_minutes_and_no_question_pays(server: str) -> None:
    add(server)
    with Proxy(server) as proxy:
        knowledge, clock = of_clock(proxy.url)
        before = asked(knowledge, ZORBLAX)
        rename(server)
        clock.now = 599.0
        assert asked(knowledge, TROGDOR)[0] == ""
        assert (asked(knowledge, ZORBLAX)[0], len(proxy.of(SUMS))) == ("Warsaw", 1)
        clock.now = 600.0
        assert asked(knowledge, ZORBLAX)[0] == ""
        assert asked(knowledge, TROGDOR)[:2] == ("Warsaw", before[1])
        update(server, f"DELETE WHERE {{ <{D}Zorblax> ?p ?o }}")
        clock.now = 1_199.0
        asked(knowledge, BORN)
        clock.now = 1_200.0
        assert asked(knowledge, TROGDOR)[0] == ""
        assert len(proxy.of(SUMS)) == 3
        clock.now = 1_800.0
        read = len(proxy.of(LABELS))
        assert asked(knowledge, BORN)[0] == "Warsaw"
        assert (len(proxy.of(SUMS)), len(proxy.of(LABELS))) == (4, read)  # nothing changed: nothing is read


def test_a_check_that_fails_changes_nothing_and_is_not_repeated(server: str, capfd: pytest.CaptureFixture[str]) -> None:
    notes: list[str] = []
    with Proxy(server) as proxy:
        knowledge, clock = of_clock(proxy.url, note=notes.append)
        usual = asked(knowledge, BORN)
        rename(server)
        fails = sends(reply(b"sorry", status="500 Internal Server Error", type="text/plain"))
        proxy.plan = first(then=fails, only="COUNT(*)")
        said = len(notes)
        for clock.now in (600.0, 601.0, 602.0):
            assert asked(knowledge, BORN) == (usual[0], usual[1], 0)
        assert len(proxy.of(SUMS)) == 2
    assert (notes[said:], *capfd.readouterr()) == ([], "", "")


def test_fresh_means_that_what_was_kept_is_not_used(server: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = EndpointProfile(name="kept", aliases=("kept",), urls=(server,), keep_s=3_600.0)
    monkeypatch.setattr("kgsparql.graphs.sources.endpoint_named", lambda _: kept)
    add(server)
    ask = ("ask", ZORBLAX, "-k", server, "--no-model", "--embedder", "none")
    assert "Warsaw" in run(*ask).stdout
    rename(server)
    assert "Warsaw" in run(*ask).stdout
    assert "Warsaw" not in run(*ask, "--fresh").stdout
    knowledge = kgsparql.open(server, embedder="none")
    assert asked(knowledge, TROGDOR)[0] == "Warsaw"
    rename(server, "Wuffle Bimble")
    knowledge.refresh()
    assert asked(knowledge, TROGDOR)[0] == ""


ZEPPELINS = f"""INSERT DATA {{
  <{O}Zeppelin> <{LABEL}> "zeppelin"@en . <{O}mooring> <{LABEL}> "mooring"@en .
  <{D}LZ1> a <{O}Zeppelin> ; <{LABEL}> "Hindenburg"@en ; <{O}mooring> <{D}Warsaw> .
  <{D}LZ2> a <{O}Zeppelin> ; <{LABEL}> "Bodensee"@en ; <{O}mooring> <{D}Ulm> }}"""


def of_another_process(url: str, question: str, **options: bool) -> tuple[str, int]:
    """The first answer where nothing is known but what is on disk, and how many queries prepared it."""
    with kgsparql.open(url, embedder="none", **options) as knowledge:
        first_one, _, prepared = asked(knowledge, question)
        return first_one, prepared


def test_another_process_asks_little_and_sees_a_class_and_a_predicate_that_are_new(server: str) -> None:
    count = "How many zeppelins are there?"
    nothing, first_time = of_another_process(server, count)
    assert of_another_process(server, count) == (nothing, 1), "did it change"
    assert first_time > 8
    assert of_another_process(server, count, fresh=True)[1] > 8
    update(server, ZEPPELINS)
    assert of_another_process(server, count)[0] == "2"
    assert of_another_process(server, "What is the mooring of Hindenburg?")[0] == "Warsaw"
    assert of_another_process(server, count) == ("2", 1)
    update(server, f"DELETE DATA {{ <{D}LZ2> a <{O}Zeppelin> }}")
    assert of_another_process(server, count)[0] == "1"
    with kgsparql.open(server, embedder="none") as knowledge:
        assert asked(knowledge, count)[2] == 1
        knowledge.refresh()
        assert asked(knowledge, count)[2] > 8


def test_a_fingerprint_that_took_long_is_kept_for_ten_minutes(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.graphs.endpoint._SLOW_S", 0.0)
    add(server)
    with Proxy(server) as proxy:
        assert of_another_process(proxy.url, ZORBLAX)[0] == "Warsaw"
        rename(server)
        with kgsparql.open(proxy.url, embedder="none") as knowledge:
            clock = knowledge.graph.clock = Clock(time.monotonic())  # type: ignore[attr-defined]
            assert asked(knowledge, ZORBLAX)[0] == "Warsaw"
            assert len(proxy.of(SUMS)) == 1
            clock.now += 600.0
            assert asked(knowledge, ZORBLAX)[0] == ""
            assert asked(knowledge, TROGDOR)[0] == "Warsaw"
        assert of_another_process(proxy.url, ZORBLAX)[0] == ""
        assert len(proxy.of(SUMS)) == 2
