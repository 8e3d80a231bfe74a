"""Graphs that declare classes and properties, and say little else: these are what one asks about."""

from __future__ import annotations

import pytest

from kgsparql.knowledge_base import KnowledgeBase
from tests.conftest import graph_from

PROPERTY = "http://www.w3.org/1999/02/22-rdf-syntax-ns#Property"
VOCABULARY = f"""
:offers a <{PROPERTY}> ; rdfs:label "offers" ; :inverseOf :itemOffered ; :domainIncludes :Shop .
:itemOffered a <{PROPERTY}> ; rdfs:label "itemOffered" ; :inverseOf :offers ; :domainIncludes :Offer .
:maps a <{PROPERTY}> ; rdfs:label "maps" ; :supersededBy :hasMap ; :domainIncludes :Place .
:hasMap a <{PROPERTY}> ; rdfs:label "hasMap" ; :domainIncludes :Place .
:seller a <{PROPERTY}> ; rdfs:label "seller" ; :supersededBy :merchant .
:merchant a <{PROPERTY}> ; rdfs:label "merchant" .
:Offer a rdfs:Class ; rdfs:label "Offer" . :Map a rdfs:Class ; rdfs:label "Map" .
:Place a rdfs:Class ; rdfs:label "Place" . :Shop a rdfs:Class ; rdfs:label "Shop" ; rdfs:subClassOf :Place .
:inverseOf rdfs:label "inverseOf" . :supersededBy rdfs:label "supersededBy" . :partOf rdfs:label "partOf" .
:Offer :partOf :Retail . :Retail a rdfs:Class ; rdfs:label "Retail Terms" .
"""


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("What is the inverse of offers?", {"itemOffered"}),  # a property, and not the class Offer
        ("Is maps superseded by hasMap?", {"true"}),
        ("Is hasMap superseded by maps?", {"false"}),
        ("Which property supersedes seller?", {"merchant"}),
        ("What is Offer part of?", {"Retail Terms"}),
        ("Of what is Offer part?", {"Retail Terms"}),
    ],
)
def test_properties_are_asked_about_in_words(question: str, right: set[str]) -> None:
    answer = KnowledgeBase(graph_from(VOCABULARY)).ask(question)
    assert {one.label for one in answer.best} == right
    assert answer.status == "answered", answer.gaps


OWL = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
:hasPart a owl:ObjectProperty ; rdfs:label "has part" . :madeOf a owl:ObjectProperty ; rdfs:label "made from" .
:Fiddle rdfs:subClassOf :Strings , [ owl:onProperty :hasPart ; owl:someValuesFrom :Gut ] ,
  [ owl:onProperty :hasPart ; owl:someValuesFrom :Bow ] , [ owl:onProperty :madeOf ; owl:allValuesFrom :Wood ] .
:Guitar rdfs:subClassOf :Strings , [ owl:onProperty :hasPart ; owl:someValuesFrom :Steel ] .
:Flute rdfs:subClassOf :Instrument , [ owl:onProperty :madeOf ; owl:hasValue :silver ] . :silver rdfs:label "Silver" .
:Strings rdfs:subClassOf :Instrument . :String rdfs:subClassOf :Part . :Bow rdfs:subClassOf :Part .
:Gut rdfs:subClassOf :String . :Steel rdfs:subClassOf :String .
""" + "".join(
    f':{name.partition(" ")[0]} a owl:Class ; rdfs:label "{name}" .\n'
    for name in (
        "Fiddle",
        "Guitar",
        "Flute",
        "Strings",
        "Instrument",
        "Part",
        "Bow",
        "String",
        "Gut String",
        "Steel String",
        "Wood",
    )
)


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Which parts does Fiddle have?", {"Gut String", "Bow"}),
        ("Which instruments have a Bow?", {"Fiddle"}),
        ("Which instruments have the part String?", {"Fiddle", "Guitar"}),  # of a class below it
        ("Does Guitar have a Steel String?", {"true"}),
        ("Does Guitar have a Bow?", {"false"}),
        ("How many instruments are there?", {"4"}),
    ],
)
def test_what_owl_restricts_classes_to_is_what_they_have(question: str, right: set[str]) -> None:
    answer = KnowledgeBase(graph_from(OWL)).ask(question)
    assert {one.label for one in answer.best} == right
    assert answer.status == "answered", answer.gaps
    assert all(triple.verified for item in answer.evidence for triple in item.triples)


def test_what_owl_says_by_restrictions_is_no_sure_nothing() -> None:
    """Only what some are is read, of classes that nothing is of."""
    read = KnowledgeBase(graph_from(OWL))
    assert {one.label for one in read.ask("What is Flute made from?").best} == {"Silver"}
    assert read.ask("Is Fiddle made from Wood?").status == "partial"  # from nothing else
    assert read.ask("Which parts does Fiddle not have?").status == "partial"  # it has a String, if not all of them
    populated = KnowledgeBase(graph_from(f'{OWL} :one a :Fiddle ; rdfs:label "Number 1" ; :hasPart :Steel .'))
    assert populated.ask("Does Fiddle have a Bow?").status == "partial"
    assert populated.ask("Does Number 1 have a Steel String?").best[0].label == "true"


def test_what_a_class_has_from_those_above_it_alone_makes_a_count_unsure() -> None:
    electric = ':Electric a owl:Class ; rdfs:label "Electric Guitar" ; rdfs:subClassOf :Guitar .'
    knowledge = KnowledgeBase(graph_from(f"{OWL} {electric}"))
    for question in ("How many instruments have a Steel String?", "Which instruments do not have a Steel String?"):
        answer = knowledge.ask(question)
        assert answer.status == "partial"
        assert "Electric Guitar" in answer.gaps[0].text
    listed = knowledge.ask("Which instruments have a Steel String?")
    assert listed.status == "answered"  # as far as it goes
    assert any("Electric Guitar" in str(note) for note in listed.notes)
    assert knowledge.ask("How many instruments have a Bow?").status == "answered"


SCHOOL = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Person a owl:Class ; rdfs:label "person" ; rdfs:subClassOf [ owl:onProperty :hasParent ; owl:someValuesFrom :Person ] .
:Student a owl:Class ; rdfs:label "student" ; rdfs:subClassOf :Person . :hasParent rdfs:label "has parent" .
:Graduate a owl:Class ; rdfs:label "graduate" ; rdfs:subClassOf :Student .
:ann a :Graduate ; rdfs:label "Ann" . :cara a :Graduate ; rdfs:label "Cara" .
"""
OFFICE = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Device a owl:Class ; rdfs:label "device" ; rdfs:subClassOf [ owl:onProperty :hasPart ; owl:someValuesFrom :Screw ] .
:Screw a owl:Class ; rdfs:label "screw" . :hasPart rdfs:label "has part" . :worksIn rdfs:label "works in" .
:Phone a owl:Class ; rdfs:label "phone" ; rdfs:subClassOf :Device . :sales rdfs:label "Sales" .
:Employee a owl:Class ; rdfs:label "employee" .
:Manager a owl:Class ; rdfs:label "manager" ; rdfs:subClassOf :Employee .
:ann a :Manager ; rdfs:label "Ann Lee" ; :worksIn :sales . :bob a :Manager ; rdfs:label "Bob Ray" .
"""


@pytest.mark.parametrize(
    ("triples", "question", "right"),
    [
        (SCHOOL, "How many students are there?", {"2"}),  # of a class below the one with the restriction
        (OFFICE, "How many employees are there?", {"2"}),
        (OFFICE, "Which employees do not work in Sales?", {"Bob Ray"}),
        (OFFICE, "How many devices are there?", {"1"}),
    ],
)
def test_classes_are_counted_only_where_nothing_is_of_them(triples: str, question: str, right: set[str]) -> None:
    answer = KnowledgeBase(graph_from(triples)).ask(question)
    assert {one.label for one in answer.best} == right
    assert answer.status == "answered", answer.gaps
