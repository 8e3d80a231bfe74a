"""The kinds by which the benchmark of computed answers sorts questions."""

import importlib.util
from types import ModuleType

import pytest

from kgsparql.evaluation.dataset import GoldAnswer, Question
from tests.world import ROOT


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("computed", ROOT / "benchmarks" / "computed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("sparql", "kind"), [
    ("SELECT DISTINCT ?x WHERE { <http://e.org/a> <http://e.org/p> ?x }", "lookup"),
    ("ASK { ?x <http://e.org/p> 1 FILTER NOT EXISTS { ?x <http://e.org/q> ?y } }", "yes/no"),
    ("SELECT DISTINCT (COUNT(?x) AS ?n) WHERE { ?x <http://e.org/p> ?y }", "count"),
    ("SELECT (ROUND(AVG(?y) * 100) / 100 AS ?n) { ?x <http://e.org/p> ?y }", "number"),
    ("SELECT ?x { ?x <http://e.org/p> ?y } ORDER BY DESC(?y) LIMIT 1", "extreme"),
    ("SELECT ?x { ?x <http://e.org/p> ?y FILTER(?y > 5) }", "filter"),
    ('SELECT ?x { ?x <http://e.org/p> ?y FILTER(CONTAINS(?y, "a > b")) }', "lookup"),
    ("SELECT ?x { ?x <http://e.org/p> ?y MINUS { ?x <http://e.org/q> ?z } }", "negation"),
    ("SELECT (COUNT(?x) AS ?n) { ?x a <http://e.org/C> }", "count"),
    ("SELECT ?x ?n { ?x a <http://e.org/C> ; <http://e.org/n> ?n }", "table"),
    ("SELECT ?x (COUNT(?y) AS ?n) { ?x <http://e.org/p> ?y } GROUP BY ?x", "table"),
])  # fmt: skip
def test_a_kind_by_the_shape_of_a_query(benchmark: ModuleType, sparql: str, kind: str) -> None:
    assert benchmark.question_kind(Question(id="1", text="?", type="SELECT", sparql=sparql)) == kind


def test_the_word_of_the_dataset_comes_first_and_what_has_no_query_is_looked_up(benchmark: ModuleType) -> None:
    question = Question(id="1", text="?", type="table,RESULT_ORDER_MATTERS", sparql="ASK { ?x ?p 1 }")
    assert benchmark.question_kind(question) == "table"
    assert benchmark.question_kind(Question(id="1", text="?", path=("author",))) == "lookup"
    assert benchmark.columns("SELECT ?x (ROUND(AVG(?y) * 100) / 100 AS ?n)") == 2


def test_yes_and_no_stand_apart_and_always_no_is_a_baseline(benchmark: ModuleType) -> None:
    no = Question(id="1", text="?", type="yes/no", answers=(GoldAnswer(None, "false"),))
    zero = Question(id="2", text="?", type="count", answers=(GoldAnswer(None, "0"),))
    eight = Question(id="3", text="?", type="count", answers=(GoldAnswer(None, "8"),))
    assert list(benchmark.kinds_of(no)) == ["yes/no", "yes/no: false", "computed"]
    assert [benchmark.always_no(question) for question in (no, zero, eight)] == [True, True, False]
    assert [benchmark.share(values) for values in ([1.0, 0.0, 0.0], [])] == ["33 %", "–"]
