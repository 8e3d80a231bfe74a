"""What cannot be taken into account is counted and said: values that are no number or date, division by zero."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

import kgsparql
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.plans import algebra as a
from kgsparql.plans.running import run
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal
from tests.engines import ENGINES, engine_from_file

_E = "http://e.org/"
BRIDGES = """
@prefix e: <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
e:Bridge a rdfs:Class ; rdfs:label "bridge" . e:length rdfs:label "length" . e:lanes rdfs:label "lane count" .
e:opened rdfs:label "opening date" . e:price rdfs:label "price" .
e:a a e:Bridge ; rdfs:label "Tower Bridge" ; e:length "244" ; e:opened "1894-06-30"^^xsd:date ; e:lanes 2 .
e:b a e:Bridge ; rdfs:label "Forth Bridge" ; e:length "2,467 m" ; e:opened "1890-03-04"^^xsd:date ; e:lanes 0 .
e:c a e:Bridge ; rdfs:label "Rialto Bridge" ; e:length "48" ; e:opened "2001-13-45"^^xsd:date ; e:lanes 1 .
e:d a e:Bridge ; rdfs:label "Old Bridge" ; e:length "120" ; e:opened "unknown" ; e:price 9000000000000000000 .
e:f a e:Bridge ; rdfs:label "New Bridge" ; e:opened [] ; e:price 9000000000000000000 .
"""
BRIDGE = a.Instances(IRI(_E + "Bridge"))


LENGTH, LANES = a.Value(PropertyPath.of(_E + "length")), a.Value(PropertyPath.of(_E + "lanes"))
OPENED = a.Value(PropertyPath.of(_E + "opened"), "date")
HALF = a.Column("half", a.Calculated("/", LANES, a.Constant(Decimal(2))))
BAD_LENGTH, BAD_DATES = (
    "1 of the values of length cannot be read as a number, such as '2,467 m'",
    "2 of the values of opening date cannot be",
)
PLANS: list[tuple[a.Plan, list[str]]] = [
    (a.SummaryOf("sum", BRIDGE, LENGTH), [BAD_LENGTH]),
    (a.Top(BRIDGE, OPENED), [f"{BAD_DATES} read as a date, such as '2001-13-45'"]),
    (a.Count(a.Where(BRIDGE, LANES, ">", Literal(1))), []),
    (
        a.Top(BRIDGE, a.Calculated("/", LENGTH, LANES)),
        [BAD_LENGTH, "1 of the items have a lanes of 0 to be divided by, such as b"],
    ),
    (a.ItemTable(BRIDGE, (HALF,)), []),
    (a.Count(a.Has(BRIDGE, LENGTH.path)), []),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "bridges.ttl"
    file.write_text(BRIDGES, encoding="utf-8")
    return file


@pytest.fixture
def bridges(file: Path) -> KnowledgeBase:
    return kgsparql.open(file, embedder="none")


def _label(term: object) -> str:
    """The local name, as a noun."""
    name = str(getattr(term, "value", term)).removeprefix(_E)
    return {"opened": "opening date"}.get(name, name)


@pytest.mark.parametrize(("plan", "said"), PLANS)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_plan_leaves_out_is_counted(file: Path, engine: str, plan: a.Plan, said: list[str]) -> None:
    found = [own.in_words(_label) for own in run(plan, engine_from_file(engine, file)).left_out]
    assert [text[: len(start)] for text, start in zip(found, said, strict=True)] == said
    assert all(text.endswith("left out") for text in found)


def test_a_number_that_is_too_large_is_not_said_to_be_nothing(bridges: KnowledgeBase) -> None:
    answer = bridges.ask("What is the total price of all bridges?", retriever="query_plan")
    assert answer.status == "not_in_graph"
    assert "\nNo value: the engine gives none, though the facts for it are there" in answer.text
