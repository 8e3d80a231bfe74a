"""Queries that an answer can do without: an endpoint that does not reply to them does not take the answer away."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import kgsparql
from kgsparql import IRI, Answer, Budget, EndpointGraph, EndpointProfile, KnowledgeBase, open_graph
from kgsparql.plans import algebra as a
from kgsparql.plans.running import run
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Fault, Plan, Proxy, Seen, hangs, sends
from tests.world import FIXTURES

SPRINGFIELDS = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
:s1 rdfs:label "Springfield"@en ; schema:description "capital of Illinois"@en .
:s2 rdfs:label "Springfield"@en ; schema:description "town in Oregon"@en .
:ann rdfs:label "Marge Lee"@en ; :livedIn :s1 , :s2 . :livedIn rdfs:label "lived in" .
"""
LIVED = "Where has Marge Lee lived?"
REFUSED = sends(reply(b"SP031: SPARQL: Internal error", status="400 Bad Request", type="text/plain"))


# Parts of the queries that an answer can do without.
DESCRIBED = ("?class", "schema.org/description")
SAID_SAME = ("owl#sameAs", "VALUES (?entity ?predicate)")


def among(requests: Sequence[Seen], parts: Sequence[str]) -> list[Seen]:
    """The requests whose query has all of these parts."""
    return [request for request in requests if all(part in request.query for part in parts)]


def at(asked: Sequence[str], fault: Fault) -> Plan:
    return lambda request: fault if among([request], asked) else None


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], str], wikibase: str) -> dict[str, str]:
    """The URLs of two servers."""
    springfields = tmp_path_factory.mktemp("optional") / "springfields.ttl"
    springfields.write_text(SPRINGFIELDS, encoding="utf-8")
    return {"springfields": serve(springfields), "wikibase": wikibase}


def answered(url: str, question: str, *, max_seconds: float = 60.0) -> tuple[Answer, float]:
    """An answer, and how long it took when all was prepared."""
    knowledge = KnowledgeBase(open_graph(url, cache=False), embedder="none")
    knowledge.find("nothing")
    began = time.monotonic()
    answer = knowledge.ask(question, retriever="path_ranking", budget=Budget(max_seconds=max_seconds))
    return answer, time.monotonic() - began


def test_E09_a_refused_optional_query_leaves_the_answer(served: dict[str, str]) -> None:
    with Proxy(served["springfields"], at(DESCRIBED, REFUSED)) as proxy:
        answer, _ = answered(proxy.url, LIVED)
    assert among(proxy.requests, DESCRIBED), "it was asked"
    assert "Springfield" in {term.label for term in answer.answers} | set(answer.labels.values())
    assert answer.answers
    assert answer.usage["queries"]
    assert [note for note in answer.notes if "some steps were left out" in note]


def test_E06_the_time_of_a_question_holds_where_an_optional_query_hangs(served: dict[str, str]) -> None:
    with Proxy(served["springfields"], at(DESCRIBED, hangs)) as proxy:
        answer, took = answered(proxy.url, LIVED, max_seconds=4)
    assert len(among(proxy.requests, DESCRIBED)) == 1
    assert "Springfield" in {term.label for term in answer.answers} | set(answer.labels.values())
    assert took < 20, "not the 30 s that a query may have"


def test_E06_things_of_one_name_are_not_told_apart_without_time(served: dict[str, str]) -> None:
    with Proxy(served["springfields"], at(DESCRIBED, hangs)) as proxy:
        answer, _ = answered(proxy.url, LIVED, max_seconds=3)
    assert {term.label for term in answer.answers[:2]} == {"Springfield"}
    assert [note for note in answer.notes if note.endswith("things of the same name are not told apart")]
    assert answer.status == "answered"


COUNTED = "How many laureates studied at the University of Göttingen?"


def test_a_value_stands_where_what_it_rests_on_cannot_be_read(nobel_url: str) -> None:
    with (
        Proxy(nobel_url, at(("SELECT DISTINCT ?i0",), REFUSED)) as proxy,
        kgsparql.open(proxy.url, embedder="none") as knowledge,
    ):
        answer = knowledge.ask(COUNTED)
        refused = [seen.query for seen in among(proxy.requests, ("SELECT DISTINCT ?i0",))]
        assert len(refused) == len({*refused}), "each was asked once: that of the answer, and of other readings"
    assert [term.label for term in answer.best] == ["3"]
    assert answer.status == "partial"
    assert answer.gaps[0].text.startswith("this may not be all: ")


def test_facts_are_the_answer_where_no_plan_can_be_made(nobel_url: str) -> None:
    refusing = at(("AS ?n)", "?forward"), REFUSED)
    with Proxy(nobel_url, refusing) as proxy, kgsparql.open(proxy.url, embedder="none") as knowledge:
        answer = knowledge.ask(COUNTED)
        looked_up = knowledge.ask("Where was Marie Curie born?")
    assert [note for note in answer.notes if note.startswith("nothing was computed")]
    assert answer.status == "partial"
    assert answer.evidence
    assert ([term.label for term in looked_up.best], looked_up.status) == (["Warsaw"], "answered")


def test_a_computed_set_says_that_the_server_may_have_cut_it(nobel_url: str) -> None:
    universities = a.Instances(IRI("http://dbpedia.org/ontology/University"))
    whole = run(universities, open_graph(nobel_url))
    assert whole.unread == ""
    capped = EndpointGraph(nobel_url, profile=EndpointProfile(max_solutions=len(whole.rows)))
    assert run(universities, capped).unread


WIKIBASE, LIBRARY = (FIXTURES / "identifiers" / f"{name}.ttl" for name in ("wikibase", "library"))
FAILS = sends(reply(b"sorry", status="500 Internal Server Error", type="text/plain"))
WRITTEN = "What was written by Marie Curie?"
VIAF = IRI("http://www.wikidata.org/prop/direct/P214")
