"""Values compared by what they say: how long something lasts, when it was, what a note says."""

from fractions import Fraction
from pathlib import Path

import pytest
import rdflib
from pyoxigraph import Store

import kgsparql
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import is_read, key_of, read_as
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.terms import Literal

PREFIXES = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
FERRIES = """
:Ferry a rdfs:Class ; rdfs:label "ferry" . :crossing rdfs:label "crossing time" . :leaves rdfs:label "first departure" .
:operator rdfs:label "operator" . :o rdfs:label "Nordline" . :q rdfs:label "Baycross" .
:a a :Ferry ; rdfs:label "Gull" ; :crossing "2 h 10 min" ; :leaves "06:30:00"^^xsd:time ; :operator :o .
:b a :Ferry ; rdfs:label "Heron" ; :crossing "95 min" ; :leaves "05:45:00"^^xsd:time ; :operator :o .
:c a :Ferry ; rdfs:label "Petrel" ; :crossing "PT1H"^^xsd:duration ; :leaves "10:05:00"^^xsd:time ; :operator :q .
:d a :Ferry ; rdfs:label "Tern" ; :crossing "45 minutes"@en ; :leaves "07:15:00"^^xsd:time ; :operator :q .
"""
PUMPS = """
:Pump a rdfs:Class ; rdfs:label "pump" . :warranty rdfs:label "warranty" .
:a a :Pump ; rdfs:label "AquaOne" ; :warranty "P2Y0M0D"^^xsd:duration .
:b a :Pump ; rdfs:label "BlueJet" ; :warranty "30 months" .
:c a :Pump ; rdfs:label "CoreFlow" ; :warranty "P6M"^^xsd:yearMonthDuration .
"""
PERMITS = """
:Permit a rdfs:Class ; rdfs:label "permit" . :validity rdfs:label "validity" .
:a a :Permit ; rdfs:label "Permit Oak" ; :validity "P1Y"^^xsd:duration .
:b a :Permit ; rdfs:label "Permit Elm" ; :validity "P364D"^^xsd:duration .
:c a :Permit ; rdfs:label "Permit Fir" ; :validity "P90D"^^xsd:duration .
"""
MUSEUMS = """
:Museum a rdfs:Class ; rdfs:label "museum" . :opened rdfs:label "opening date" . :year rdfs:label "founding year" .
:visited rdfs:label "inspection date" . :visitors rdfs:label "visitors" .
:a a :Museum ; rdfs:label "Clock House" ; :opened "1893"^^xsd:gYear ; :year 1880 ; :visited "2019-04-02 09:30:00" .
:b a :Museum ; rdfs:label "Salt Barn" ; :opened "1921-06-30"^^xsd:date ; :year 1919 ; :visited "2021-11-15 14:00:05" .
:c a :Museum ; rdfs:label "Tram Hall" ; :opened "1994-05-01T10:00:00"^^xsd:dateTime ; :visited "2021-11-15 16:00:00" .
:d a :Museum ; rdfs:label "Wool Loft" ; :opened "2003-09"^^xsd:gYearMonth ; :year 2001 ; :visitors 1994 .
"""
TOOLS = """
:tool a skos:Concept ; skos:prefLabel "tool" ; skos:definition "A thing that is held in the hand to do work." .
:adze a skos:Concept ; skos:prefLabel "adze" ; skos:broader :tool ; skos:definition
  [ rdf:value "An axe with its blade across the handle." ; :source :book ] .
:awl a skos:Concept ; skos:prefLabel "awl" ; skos:broader :tool ; skos:scopeNote :note7 .
:note7 rdf:value "Use for leather work only."@en ; :source :book ; :written "2020-05-01"^^xsd:date .
"""


def _said(graph: str, question: str, folder: Path) -> str:
    """Return what is answered, and ``?`` before it where it is in doubt."""
    (folder / "graph.ttl").write_text(PREFIXES + graph, encoding="utf-8")
    with kgsparql.open(folder / "graph.ttl", embedder="none", note=lambda text: None) as knowledge:
        answer = knowledge.ask(question)
    return "?" * (answer.status != "answered") + answer.text.partition(" [")[0].partition("\n")[0].strip()


@pytest.mark.parametrize(("question", "said"), [
    ("Which ferry has the longest crossing time?", "Gull"),
    ("Which ferry has the shortest crossing time?", "Tern"),
    ("Is the crossing time of Petrel longer than the crossing time of Tern?", "yes"),
    ("Is the crossing time of Gull shorter than the crossing time of Heron?", "no"),
    ("Which ferries have a crossing time over 90 minutes?", "Gull; Heron"),
    ("Which ferries have a crossing time of less than 1 hour?", "Tern"),
    ("What is the total crossing time of the ferries?", "5 h 30 min"),
    ("What is the average crossing time of the ferries?", "1 h 22 min 30 s"),
    ("How much longer is the crossing time of Gull than the crossing time of Tern?", "1 h 25 min"),
    ("Which ferry has the earliest first departure?", "Heron"),
    ("Which ferry has the latest first departure?", "Petrel"),
])  # fmt: skip
def test_amounts_of_time_are_compared_by_their_length(question: str, said: str, tmp_path: Path) -> None:
    assert _said(FERRIES, question, tmp_path) == said


def test_a_number_without_a_unit_is_no_length_of_time(tmp_path: Path) -> None:
    assert _said(FERRIES, "Which ferries have a crossing time over 100?", tmp_path).startswith("?")


@pytest.mark.parametrize(("question", "said"), [
    ("Which pump has the longest warranty?", "BlueJet"),
    ("Which pumps have a warranty longer than 12 months?", "AquaOne; BlueJet"),
    ("Which pumps have a warranty of at least 2 years?", "AquaOne; BlueJet"),
    ("Which pumps have a longer warranty than CoreFlow?", "AquaOne; BlueJet"),
    ("What is the average warranty of the pumps?", "1 year 8 months"),
])  # fmt: skip
def test_years_are_twelve_months(question: str, said: str, tmp_path: Path) -> None:
    assert _said(PUMPS, question, tmp_path) == said


@pytest.mark.parametrize("question", [
    "Which permit has the longest validity?",
    "Which permits have a validity over 100 days?",
    "Is the validity of Permit Oak longer than the validity of Permit Elm?",
])  # fmt: skip
def test_days_and_years_are_not_compared_for_sure(question: str, tmp_path: Path) -> None:
    assert _said(PERMITS, question, tmp_path).startswith("?")


@pytest.mark.parametrize(("question", "said"), [
    ("Which museums have an opening date before 1930?", "Clock House; Salt Barn"),
    ("Which museums have an opening date in 1994?", "Tram Hall"),
    ("How many museums have an opening date after 1900?", "3"),
    ("Which museums with a founding year before 1950 are there?", "Clock House; Salt Barn"),
    ("Which museums have an opening date after 30 June 1921?", "Tram Hall; Wool Loft"),
    ("Which museum has the latest inspection date?", "Tram Hall"),
    ("Which museums have an inspection date before 2020?", "Clock House"),
])  # fmt: skip
def test_a_noun_for_a_time_is_compared_as_a_time(question: str, said: str, tmp_path: Path) -> None:
    assert _said(MUSEUMS, question, tmp_path) == said


def test_a_number_is_no_time(tmp_path: Path) -> None:
    assert _said(MUSEUMS, "Which museums have visitors in 1994?", tmp_path) != "Wool Loft"


@pytest.mark.parametrize(("question", "said"), [
    ("What is the definition of adze?", "An axe with its blade across the handle."),
    ("What is the definition of tool?", "A thing that is held in the hand to do work."),
    ("What is the scope note of awl?", "Use for leather work only."),
])  # fmt: skip
def test_a_note_that_is_a_node_is_its_text(question: str, said: str, tmp_path: Path) -> None:
    assert _said(TOOLS, question, tmp_path) == said


@pytest.mark.parametrize(("kind", "texts"), [
    (
        "duration",
        ["PT2H10M", "P1DT0.5S", "P0Y0M5DT10M", "2 h 10 min", "1 hour, 5 minutes and 3 s", "90min", "1.5 h"],
    ),
    ("months", ["P2Y6M", "P18M", "P10Y0M0D", "3 years", "1 year, 6 months", "P1D", "PT0S"]),
    ("clock", ["07:30:00", "23:05", "7:30"]),
])  # fmt: skip
def test_an_amount_of_time_is_the_same_in_a_query_and_in_python(kind: a.Kind, texts: list[str]) -> None:
    value, key = Variable("value"), Variable("key")
    for text in texts:
        group = (g.Values(value, (Literal(text),)), g.Filter(is_read(value, kind)))
        query = g.select_query("key", g.Select(((key, key_of(value, kind)),), group)).text
        found = [str(one["key"].value) for one in Store().query(query)]
        also = [str(one[0]) for one in rdflib.Graph().query(query)]
        if kind != "clock":
            found, also = list(map(Fraction, found)), list(map(Fraction, also))
        assert found == also == [one for one in [read_as(Literal(text), kind)] if one is not None], text
