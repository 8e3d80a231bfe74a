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


def test_what_owl_says_by_restrictions_is_no_sure_nothing() -> None:
    turtle = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
    :hasTopping a owl:ObjectProperty ; rdfs:label "has topping" . :top a owl:Class ; rdfs:label "Topping" .
    :cheese a owl:Class ; rdfs:label "Cheese" ; rdfs:subClassOf :top . :ham a owl:Class ; rdfs:label "Ham" .
    :pizza a owl:Class ; rdfs:label "Margherita" ; rdfs:subClassOf :dish ; :colour :red . :red rdfs:label "Red" .
    :pizza rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :hasTopping ; owl:someValuesFrom :cheese ] .
    :plate a :dish ; rdfs:label "Plate 1" ; :hasTopping :ham ; :colour :red . :dish a owl:Class ; rdfs:label "Dish" ."""
    knowledge = KnowledgeBase(graph_from(turtle))
    for question in ("What topping does Margherita have?", "Which toppings does Margherita have?"):
        answer = knowledge.ask(question)
        assert (answer.status, "restrictions" in str(answer.gaps)) == ("partial", True), question
    assert knowledge.ask("Does Margherita have the topping Cheese?").status == "partial"
    assert knowledge.ask("Is Margherita's colour Ham?").status == "answered"
