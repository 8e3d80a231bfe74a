"""The questions that must be computed: each has a query beside it, and two engines come to its gold answer."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode, QueryBoolean, RdfFormat, Store

FIXTURES = Path(__file__).parents[2] / "fixtures"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (FIXTURES / "computed_questions.jsonl").read_text(encoding="utf-8").splitlines()
]

Cell = str | tuple[str, str]
"""A literal, or the IRI of an item and its English label."""


@pytest.fixture(scope="module")
def store() -> Store:
    found = Store()
    found.load(path=str(FIXTURES / "nobel.ttl"), format=RdfFormat.TURTLE)
    return found


@pytest.fixture(scope="module")
def graph() -> rdflib.Graph:
    return rdflib.Graph().parse(data=(FIXTURES / "nobel.ttl").read_bytes(), format="turtle")


def on_oxigraph(store: Store, sparql: str) -> list[tuple[Cell, ...]]:
    found = store.query(sparql)
    if isinstance(found, QueryBoolean):
        return [(str(bool(found)).lower(),)]

    def cell(term: Any) -> Cell:
        if not isinstance(term, NamedNode):
            return str(term.value)
        labels = (quad.object for quad in store.quads_for_pattern(term, NamedNode(LABEL), None))
        return term.value, next(own.value for own in labels if isinstance(own, Literal) and own.language == "en")

    return [tuple(cell(term) for term in row) for row in found]


def on_rdflib(graph: rdflib.Graph, sparql: str) -> list[tuple[Cell, ...]]:
    found: Any = graph.query(sparql)
    if found.type == "ASK":
        return [(str(found.askAnswer).lower(),)]

    def cell(term: Any) -> Cell:
        if not isinstance(term, rdflib.URIRef):
            return str(term)
        labels = graph.objects(term, rdflib.URIRef(LABEL))
        return str(term), next(str(own) for own in labels if getattr(own, "language", None) == "en")

    return [tuple(cell(term) for term in row) for row in found]


def name(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[1]


def assert_gold(question: dict[str, Any], rows: list[tuple[Cell, ...]]) -> None:
    """The rows of a query are the gold answer, and no more."""
    match question["value_type"]:
        case "table":
            named = [[name(cell) for cell in row] for row in rows]
            is_ordered = "RESULT_ORDER_MATTERS" in question["type"]
            assert (named if is_ordered else sorted(named)) == question["rows"]
            assert question["answers"] == list(dict.fromkeys(cell for row in question["rows"] for cell in row))
        case "entities":
            gold = list(zip(question["answer_iris"], question["answers"], strict=True))
            given: list[Any] = [cell for (cell,) in rows]
            assert (given if question["kind"] == "top n" else sorted(given, key=name)) == gold
        case "number":
            ((found,),) = rows
            assert math.isclose(float(name(found)), float(question["answers"][0]), rel_tol=1e-9)
        case "date" | "boolean":
            assert rows == [tuple(question["answers"])]
        case other:
            pytest.fail(f"no type of value: {other}")


def test_the_query_beside_a_question_finds_its_gold_answer(store: Store) -> None:
    for question in QUESTIONS:
        assert_gold(question, on_oxigraph(store, question["sparql"]))


@pytest.mark.deep
def test_another_engine_finds_it_too(graph: rdflib.Graph) -> None:
    for question in QUESTIONS:
        assert_gold(question, on_rdflib(graph, question["sparql"]))


def test_a_tie_is_gold_only_where_the_question_has_one_answer_for_all_who_share_it() -> None:
    ties = [question for question in QUESTIONS if question["kind"] == "extreme with ties"]
    assert all(len(question["answers"]) > 1 for question in ties)
    alone = [question for question in QUESTIONS if question["kind"] == "extreme"]
    assert alone
    assert all(len(question["answers"]) == 1 for question in alone)
