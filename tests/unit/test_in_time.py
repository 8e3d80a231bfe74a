"""Facts with dates: what held at a time, since when, before whom, now; in three ways of writing them."""

from pathlib import Path

import pytest

import kgsparql
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.rdf.terms import IRI
from kgsparql.schema.vocabulary import GraphVocabulary

PREFIXES = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Ferry a rdfs:Class ; rdfs:label "ferry" . :Person a rdfs:Class ; rdfs:label "person" .
:auk a :Ferry ; rdfs:label "Auk" ; :built "1988"^^xsd:gYear . :tern a :Ferry ; rdfs:label "Tern" .
:knot a :Ferry ; rdfs:label "Knot" .
:built rdfs:label "year built" . :born rdfs:label "birth date" .
:ida a :Person ; rdfs:label "Ida Moss" ; :born "2003-04-05"^^xsd:date . :ben a :Person ; rdfs:label "Ben Rusk" .
:ola a :Person ; rdfs:label "Ola Berg" . :una a :Person ; rdfs:label "Una Lee" .
:captain rdfs:label "captain" . :from rdfs:label "from" . :until rdfs:label "until" .
"""
NODES = (
    PREFIXES
    + """
:Command a rdfs:Class ; rdfs:label "command" . :ferry rdfs:label "ferry" .
:x1 a :Command ; :ferry :auk ; :captain :ida ; :from "1999"^^xsd:gYear ; :until "2005-06-30"^^xsd:date .
:x2 a :Command ; :ferry :auk ; :captain :ben ; :from "2005-07-01"^^xsd:date ; :until "2012"^^xsd:gYear .
:x3 a :Command ; :ferry :auk ; :captain :ola ; :from "2012"^^xsd:gYear .
:x4 a :Command ; :ferry :tern ; :captain :ben ; :from "2013-01"^^xsd:gYearMonth ; :until "2016"^^xsd:gYear .
:x6 a :Command ; :ferry :knot ; :captain :ida .
:x5 a :Command ; :ferry :tern ; :captain :una ; :from "1990"^^xsd:gYear ; :until "2012"^^xsd:gYear .
"""
)
REIFIERS = (
    PREFIXES
    + """
:auk :captain :ida {| :from "1999"^^xsd:gYear ; :until "2005-06-30"^^xsd:date |} ,
  :ben {| :from "2005-07-01"^^xsd:date ; :until "2012"^^xsd:gYear |} , :ola {| :from "2012"^^xsd:gYear |} .
:knot :captain :ida .
:tern :captain :ben {| :from "2013-01"^^xsd:gYearMonth ; :until "2016"^^xsd:gYear |} ,
  :una {| :from "1990"^^xsd:gYear ; :until "2012"^^xsd:gYear |} .
"""
)
STATEMENTS = """
@prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> . @prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> . @prefix s: <http://www.wikidata.org/entity/statement/> .
@prefix pqv: <http://www.wikidata.org/prop/qualifier/value/> . @prefix wikibase: <http://wikiba.se/ontology#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P9 a wikibase:Property ; rdfs:label "captain"@en ; wikibase:directClaim wdt:P9 ; wikibase:claim p:P9 .
wd:Q1 rdfs:label "Auk"@en ; wdt:P9 wd:Q3 , wd:Q4 , wd:Q5 ; p:P9 s:a , s:b , s:c , s:d .
wd:Q2 rdfs:label "Tern"@en ; wdt:P9 wd:Q4 , wd:Q6 ; p:P9 s:e , s:f .
wd:Q3 rdfs:label "Ida Moss"@en . wd:Q4 rdfs:label "Ben Rusk"@en . wd:Q5 rdfs:label "Ola Berg"@en .
wd:Q6 rdfs:label "Una Lee"@en . wd:Q7 rdfs:label "Knot"@en ; wdt:P9 wd:Q3 ; p:P9 s:g .
s:g ps:P9 wd:Q3 ; wikibase:rank wikibase:NormalRank .
s:a ps:P9 wd:Q3 ; wikibase:rank wikibase:NormalRank ; pq:P580 "1999-01-01T00:00:00Z"^^xsd:dateTime ; pqv:P580 s:v ;
  pq:P582 "2005-06-30T00:00:00Z"^^xsd:dateTime .
s:v wikibase:timePrecision 9 .
s:b ps:P9 wd:Q4 ; wikibase:rank wikibase:NormalRank ; pq:P580 "2005-07-01T00:00:00Z"^^xsd:dateTime ;
  pq:P582 "2012-01-01T00:00:00Z"^^xsd:dateTime ; pqv:P582 s:v .
s:c ps:P9 wd:Q5 ; wikibase:rank wikibase:NormalRank ; pq:P580 "2012-01-01T00:00:00Z"^^xsd:dateTime ; pqv:P580 s:v .
s:d ps:P9 wd:Q6 ; wikibase:rank wikibase:DeprecatedRank ; pq:P580 "2001-01-01T00:00:00Z"^^xsd:dateTime .
s:e ps:P9 wd:Q4 ; wikibase:rank wikibase:NormalRank ; pq:P580 "2013-01-01T00:00:00Z"^^xsd:dateTime ;
  pq:P582 "2016-01-01T00:00:00Z"^^xsd:dateTime ; pqv:P582 s:v .
s:f ps:P9 wd:Q6 ; wikibase:rank wikibase:NormalRank ; pq:P580 "1990-01-01T00:00:00Z"^^xsd:dateTime ; pqv:P580 s:v ;
  pq:P582 "2012-01-01T00:00:00Z"^^xsd:dateTime ; pqv:P582 s:v .
"""
SHAPES = {"nodes": NODES, "reifiers": REIFIERS, "statements": STATEMENTS}
ASKED = [
    ("Who was the captain of the Auk in 2003?", {"Ida Moss"}),
    ("In 2012, who was the captain of the Auk?", {"Ben Rusk", "Ola Berg"}),
    ("Who was the captain of the Auk on 30 June 2005?", {"Ida Moss"}),
    ("Who was the captain of the Auk in July 2005?", {"Ben Rusk"}),
    ("captains of the Auk 2006-2011", {"Ben Rusk"}),
    ("Who was the captain of the Auk before 2004?", {"Ida Moss"}),
    ("Who was the captain of the Auk after 2012?", {"Ola Berg"}),
    ("Who has been captain of the Auk since 2012?", {"Ola Berg"}),
    ("Who was captain of the Auk until 2005?", {"Ida Moss"}),
    ("Who is the captain of the Auk?", {"Ola Berg"}),
    ("Who is the current captain of the Auk?", {"Ola Berg"}),
    ("Who are the former captains of the Auk?", {"Ida Moss", "Ben Rusk"}),
    ("Who is the captain of the Tern?", {"Ben Rusk"}),  # the last of two that are over
    ("Who was the first captain of the Auk?", {"Ida Moss"}),
    ("Who was the captain of the Auk before Ben Rusk?", {"Ida Moss"}),
    ("Who succeeded Ben Rusk as captain of the Auk?", {"Ola Berg"}),
    ("Who was captain of the Auk the longest?", {"Ola Berg"}),
    ("Who was captain of the Auk while Una Lee was captain of the Tern?", {"Ida Moss", "Ben Rusk", "Ola Berg"}),
    ("When did Ida Moss become captain of the Auk?", {"1999"}),
    ("Until when was Ida Moss captain of the Auk?", {"2005-06-30"}),
    ("How many captains did the Auk have in 2012?", {"2"}),
    ("How long was Una Lee captain of the Tern?", {"22"}),
    ("Was Ben Rusk captain of the Auk in 2003?", {"no"}),
    ("Was Ben Rusk captain of the Auk in 2008?", {"yes"}),
]


@pytest.fixture(scope="module", params=SHAPES)
def ferries(request, tmp_path_factory):
    path = Path(tmp_path_factory.mktemp("ferries"), f"{request.param}.ttl")
    path.write_text(SHAPES[request.param], encoding="utf-8")
    with kgsparql.open(path, embedder="none") as graph:
        yield graph


def told(answer: kgsparql.Answer) -> set[str]:
    if answer.value is not None:
        return {{"true": "yes", "false": "no"}.get(str(answer.value.value), str(answer.value.value))}
    return {one.label.partition("T00")[0] for one in answer.best}


@pytest.mark.parametrize(("question", "gold"), ASKED)
def test_what_held_at_a_time_is_the_same_however_it_is_written(ferries, question, gold):
    answer = ferries.ask(question)
    assert answer.sure, answer.text
    assert told(answer) == gold
    if answer.computed is not None:  # a reifier may be told of without a plan
        assert read_plan_file(written_plan(answer.computed.plan)) == answer.computed.plan


def test_each_fact_is_shown_with_its_dates(ferries):
    answer = ferries.ask("Who was the captain of the Auk in 2003?")
    cited = {str(triple.object) for item in answer.evidence for triple in (one.triple for one in item.triples)}
    assert any("1999" in text for text in cited), cited
    assert any("2005-06-30" in text for text in cited), cited
    assert all(one.verified for item in answer.evidence for one in item.triples)


def test_what_the_graph_does_not_date_is_in_doubt(ferries):
    assert told(ferries.ask("Who is the captain of the Knot?")) == {"Ida Moss"}
    for question in ("Was Ida Moss captain of the Knot in 2003?", "When did Ida Moss become captain of the Knot?"):
        assert not ferries.ask(question).sure


def test_nodes_are_things_where_their_class_is_asked_about(tmp_path):
    path = tmp_path / "nodes.ttl"
    path.write_text(NODES, encoding="utf-8")
    with kgsparql.open(path, embedder="none") as graph:
        assert str(graph.ask("How many commands are there?").value.value) == "6"
        assert told(graph.ask("How many commands does Ben Rusk have?")) == {"2"}
        assert told(graph.ask("Which ferries was Ben Rusk captain of?")) == {"Auk", "Tern"}
        assert told(graph.ask("How many captains has the Tern had?")) == {"2"}


def test_things_with_a_name_or_a_date_of_their_own_are_no_relations(tmp_path):
    path = tmp_path / "concerts.ttl"
    path.write_text(
        PREFIXES
        + """
:Concert a rdfs:Class ; rdfs:label "concert" . :hall rdfs:label "hall" . :choir rdfs:label "choir" .
:c1 a :Concert ; rdfs:label "Winter Songs" ; :hall :auk ; :choir :ida ; :from "2010-01-02"^^xsd:date .
:c2 a :Concert ; rdfs:label "Sea Songs" ; :hall :auk ; :choir :ben ; :from "2012-01-02"^^xsd:date .
""",
        encoding="utf-8",
    )
    with kgsparql.open(path, embedder="none") as graph:
        assert IRI("http://example.org/hall") not in GraphVocabulary.of(graph.graph).dated
