"""Answers found by SPARQL, in memory, on disk and at an endpoint; SPARQL of a file is foreign text."""

from dataclasses import replace
from pathlib import Path

import pytest

import kgsparql
from kgsparql import IRI, KnowledgeBase, Literal
from kgsparql.errors import DataError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Question
from kgsparql.evaluation.datasets import answered, load, missing_share
from kgsparql.graphs.stores import load_store
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import FIXTURES

RIVERS = FIXTURES / "datasets" / "rivers"
R = "https://kgsparql.example/rivers/"


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return kgsparql.open(RIVERS / "graph.ttl", embedder="none")


def asked(*queries: str) -> Dataset:
    questions = (Question(id=f"q{i}", text="?", sparql=sparql) for i, sparql in enumerate(queries))
    return Dataset(name="some", questions=tuple(questions))


def unanswered(dataset: Dataset) -> Dataset:
    return replace(dataset, questions=tuple(replace(question, answers=None) for question in dataset.questions))


def why_not(dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = 5) -> dict[str, str]:
    """The reasons why questions have no answer, by their ids; one that has is put beside them."""
    known = Question(id="known", text="?", sparql="ASK { ?s ?p ?o }")
    found = answered(replace(dataset, questions=(*dataset.questions, known)), knowledge, timeout_s=timeout_s)
    assert found.questions[-1].answers == (GoldAnswer(Literal(True), "true"),)
    return {problem.where: problem.message.removeprefix("no answer is known: ") for problem in found.problems}


def terms_by_id(dataset: Dataset) -> dict[str, set[object]]:
    return {question.id: {answer.term for answer in question.answers or ()} for question in dataset.questions}


def test_queries_find_gold_answers_in_memory_on_disk_and_at_an_endpoint(rivers: KnowledgeBase, tmp_path: Path) -> None:
    dataset = load(RIVERS)
    dataset = replace(dataset, questions=tuple(question for question in dataset.questions if question.sparql))
    gold = terms_by_id(answered(unanswered(dataset), rivers))
    assert gold["r5"] == {Literal(True)}
    load_store([RIVERS / "graph.ttl"], tmp_path / "store")
    with oxigraph_serve(store_of(RIVERS / "graph.ttl", tmp_path / "served")) as url:
        for knowledge in (kgsparql.open(source, embedder="none") for source in (tmp_path / "store", url)):
            assert terms_by_id(answered(unanswered(dataset), knowledge)) == gold


def test_answers_are_filled_from_sparql_and_a_refused_query_says_why(rivers: KnowledgeBase) -> None:
    filled = answered(load(FIXTURES / "datasets" / "sparql_only.jsonl"), rivers)
    assert [question.id for question in filled.questions] == ["1", "4"]
    first, second = (question.answers for question in filled.questions)
    named = {(IRI(R + name), name) for name in ("Basel", "Bonn", "Cologne")}
    assert {(a.term, a.label) for a in first or ()} == named
    assert second == (GoldAnswer(Literal(True), "true"),)
    refused, empty = filled.problems
    assert refused.where == "2"
    assert "XMLSchema#int> is not supported" in refused.message
    assert str(empty) == "3: left out: no answer is known: it finds nothing"


def test_foreign_sparql_is_checked_bounded_and_never_fatal(rivers: KnowledgeBase) -> None:
    refused = {
        "SELECT ?x {": "line 1:", "DROP ALL": "DROP is not run here",
        "SELECT ?x { SERVICE <http://e.org/> { ?x ?y ?z } }": "SERVICE is not run here",
        "CONSTRUCT { ?x ?y ?z } WHERE { ?x ?y ?z }": "CONSTRUCT has no answers",
        "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }": "more than 100,000 solutions",
        "SELECT ?x { " + "{" * 3000 + "}" * 3000 + " }": "deep",
    }  # fmt: skip
    reasons = why_not(asked(*refused), rivers)
    for reason, wanted in zip(reasons.values(), refused.values(), strict=True):
        assert wanted in reason
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }"
    assert why_not(asked(endless), rivers, timeout_s=1)["q0"].startswith("the query was stopped after 1 s (")


def test_answers_of_several_columns_are_the_iris_and_none_are_of_another_graph(rivers: KnowledgeBase) -> None:
    rows = f"SELECT ?r ?l {{ ?r <{R}length> ?l FILTER(?l > 1200) }}"
    names = f"SELECT ?n ?l {{ ?r <{R}length> ?l ; rdfs:label ?n FILTER(?l > 2000) }}"
    iris, literals = answered(asked(rows, names), rivers).questions
    assert {answer.label for answer in iris.answers or ()} == {"Rhine", "Danube"}
    assert {answer.label for answer in literals.answers or ()} == {"Danube", "2850"}
    with pytest.raises(DataError, match="none of the 1 queries of some finds anything"):
        answered(asked("SELECT ?x { ?x <http://e.org/p> ?y }"), rivers)
    complete = answered(load(RIVERS), rivers)
    assert {answer.label for answer in complete.questions[3].answers or ()} == {"Rhine", "Elbe", "Danube"}
    assert answered(complete, rivers) == complete


def test_the_share_of_terms_that_a_graph_lacks(rivers: KnowledgeBase) -> None:
    assert missing_share(load(RIVERS), rivers) == pytest.approx(1 / 9)
    assert missing_share(load(FIXTURES / "nobel_questions.jsonl"), rivers) == 1.0
    assert missing_share(load(FIXTURES / "datasets" / "sparql_only.jsonl"), rivers) == 0.0
