"""A client at a service with Wikidata's limits, and a rude one, so that the service is known to notice."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from benchmarks.time_world import turtle
from benchmarks.wikidata_service import IMPOLITE, ItemSearch, WikidataSimulator, questions_of, records_of_run, simulated
from kgsparql import EndpointGraph, KnowledgeBase, Query
from kgsparql.errors import RateLimitError
from tests.endpoints import proxy as faults
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Seen, sends
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import FIXTURES, ROOT

CONTACT = "mailto:tester@example.org"
SMALL = Query("small", "SELECT ?s WHERE { ?s ?p ?o } LIMIT 3")
QALD = ROOT.parent / "shared" / "data" / "wikidata_qald10"


@pytest.fixture(autouse=True)
def contact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CONTACT", CONTACT)


def graph_of(simulator: WikidataSimulator, *, timeout_s: float = 30.0, **profile: Any) -> EndpointGraph:
    return EndpointGraph(simulator.url, profile=simulator.profile(**profile), timeout_s=timeout_s)


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


def test_a_run_of_questions_is_polite_from_its_first_request_on(wikidata: tuple[str, Path], tmp_path: Path) -> None:
    url, file = wikidata
    questions = questions_of(file, limit=4)
    overloaded = sends(reply(b"busy", status="503 Service Unavailable", headers=["Retry-After: 1"]))

    def sometimes(request: Seen) -> faults.Fault | None:
        return overloaded if request.number in {7, 19} else None

    simulator = WikidataSimulator(url, speed=60, charge=lambda _: 9, faults=sometimes)
    with simulator:
        knowledge = KnowledgeBase(EndpointGraph(simulator.url, profile=simulator.profile()), embedder="none")
        records = records_of_run(knowledge, questions, tmp_path / "run", method="think_on_graph", workers=3)
        figures = simulator.figures
    assert len(records) == len(questions)
    assert {record.error for record in records} == {None}
    assert any(record.answers for record in records)
    assert figures["throttled"] > 0, "nothing was learned"
    assert {figures[name] for name in IMPOLITE} == {0}, json.dumps(figures)
    assert figures["most at once"] == 1


ITEMS = """
@prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix wikibase: <http://wikiba.se/ontology#> .
wd:Q5 rdfs:label "human"@en . wd:Q7725634 rdfs:label "novel"@en . wd:Q1 rdfs:label "Anna Berg"@en ; wdt:P31 wd:Q5 .
wd:Q2 rdfs:label "The Lantern"@en ; wdt:P31 wd:Q7725634 , wd:Q77 ; wdt:P50 wd:Q1 ; wdt:P674 wd:Q4 , wd:Q6 .
wd:Q4 rdfs:label "Olga Marsh"@en ; wdt:P31 wd:Q5 ; wdt:P451 wd:Q6 . wd:Q6 rdfs:label "Ivo Reed"@en ; wdt:P31 wd:Q5 .
wd:Q8 rdfs:label "Lantern Street"@en ; wdt:P31 wd:Q88 .
wd:P31 rdfs:label "instance of"@en ; wikibase:directClaim wdt:P31 .
wd:P50 rdfs:label "author"@en ; wikibase:directClaim wdt:P50 .
wd:P451 rdfs:label "unmarried partner"@en ; wikibase:directClaim wdt:P451 .
wd:P674 rdfs:label "characters"@en ; wikibase:directClaim wdt:P674 .
"""


def test_names_that_are_written_small_are_found_as_in_a_file_and_nothing_is_asked_for_alone(tmp_path: Path) -> None:
    asked = "Among the characters in the lantern, who is the unmarried partner of Ivo Reed?"
    with simulated(ITEMS, tmp_path) as (simulator, items), kgsparql.open(items, embedder="none") as file:
        with KnowledgeBase(graph_of(simulator), embedder="none") as service:
            answer, expected = service.ask(asked), file.ask(asked)
        assert [link.label for link in answer.linked] == [link.label for link in expected.linked]
        assert {link.label for link in answer.linked} >= {"The Lantern", "Ivo Reed"}
        assert (answer.status, [one.label for one in answer.best]) == (expected.status, ["Olga Marsh"])
        queries = [request.query for request in simulator.requests]
    assert len([query for query in queries if "LIMIT 300 }" in query]) <= 2, "ends of predicates"
    unnamed = [query for query in queries if "VALUES ?entity { <http://www.wikidata.org/entity/Q77> " in query]
    assert len(unnamed) <= 2, "what a class without a name is called is asked once by the plan, once by the paths"
    assert len(queries) <= 32


def test_who_names_no_contact_is_told_how_to_and_asks_no_more_than_is_taken(
    wikidata: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KGSPARQL_CONTACT")
    with WikidataSimulator(wikidata[0]) as simulator:
        graph = graph_of(simulator)
        for _ in range(10):
            assert len(graph.select(SMALL)) == 3
        with pytest.raises(RateLimitError, match="it takes 10 requests a minute of who names no contact") as caught:
            graph.select(SMALL, timeout_s=5)
        assert "export KGSPARQL_CONTACT=you@example.org" in caught.value.message
        monkeypatch.setenv("KGSPARQL_CONTACT", CONTACT)
        for _ in range(3):
            graph.select(SMALL)
        assert (len(simulator.requests), simulator.throttled) == (13, 0)
        monkeypatch.delenv("KGSPARQL_CONTACT")
        with pytest.raises(RateLimitError, match="Rate limit exceeded"):
            graph_of(simulator, requests_per_minute=None, requests_without_contact=None).select(SMALL, timeout_s=5)


OF_TIME = {
    "Who was mayor of Belmire on 1 May 2012?": {"Oskar Finn"},
    "Who has been mayor of Arnsby since 2014?": {"Petra Quill"},
    "Who are the former mayors of Arnsby?": {"Ida Holm", "Jonas Wrede"},
    "Who is the mayor of Fernholt?": {"Alma Kerr", "Bo Lind"},
    "Which presidents did Velmora have between 2011 and 2017?": {"Livia Dorn"},
}


def test_questions_of_time_are_answered_by_statements_with_twelve_requests_each(tmp_path: Path) -> None:
    """Properties are called as their aliases are: a mayor is a head of government."""
    items = tmp_path / "items.ttl"
    items.write_text(turtle("statements"), encoding="utf-8")
    with (
        oxigraph_serve(store_of(items, tmp_path / "store")) as url,
        WikidataSimulator(url, search=ItemSearch(items)) as simulator,
        KnowledgeBase(graph_of(simulator), embedder="none") as service,
    ):
        service.ask("Who was mayor of Corvane in 1995?")  # what is the same for all questions is asked once
        for question, expected in OF_TIME.items():
            before = len(simulator.requests)
            answer = service.ask(question)
            assert (answer.sure, {one.label for one in answer.best}) == (True, expected), question
            assert len(simulator.requests) - before <= 12, question
