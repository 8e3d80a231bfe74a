"""Sentences that are asked whether they are so: what says the wrong thing about the right names is not so."""

import pytest

import kgsparql
from tests.conftest import graph_from

PLANT = """
@prefix : <http://example.org/plant/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Pump rdfs:label "pump" . :Tank rdfs:label "tank" . :Engineer rdfs:label "engineer" . :Town rdfs:label "town" .
:feeds rdfs:label "feeds" . :weight rdfs:label "weight" . :maintains rdfs:label "maintains" .
:owner rdfs:label "owned by" . :birthPlace rdfs:label "place of birth" . :birthDate rdfs:label "date of birth" .
:alder a :Pump ; rdfs:label "Pump Alder" ; :feeds :north ; :weight 120 ; :owner :gil .
:birch a :Pump ; rdfs:label "Pump Birch" ; :feeds :north , :south ; :weight 95 ; :owner :ines .
:north a :Tank ; rdfs:label "Tank North" . :south a :Tank ; rdfs:label "Tank South" .
:york a :Town ; rdfs:label "York" .
:gil a :Engineer ; rdfs:label "Gil Osei" ; :maintains :alder , :birch ; :birthPlace :york ; :birthDate "1970-02-03" .
:ines a :Engineer ; rdfs:label "Ines Roth" ; :maintains :birch .
"""


@pytest.fixture(scope="module")
def plant() -> kgsparql.KnowledgeBase:
    return kgsparql.KnowledgeBase(graph_from(PLANT), embedder="none")


@pytest.mark.parametrize(
    ("sentence", "is_so"),
    {
        "the weight of Pump Birch is less than 95": "false",  # the comparison is no part of the name of a thing
        "the owner of Pump Alder is Gil Osei": "true",
        "there are two tanks": "true",
        "Pump Birch has the highest weight": "false",  # of one alone, it always has
        "York was born in Gil Osei": "false",  # though only one of the two can be born
        "the birthplace of Gil Osei is York": "true",
    }.items(),
)
def test_a_sentence_is_so_or_not(plant: kgsparql.KnowledgeBase, sentence: str, is_so: str) -> None:
    answer = plant.ask(f"Is it true that {sentence}?")
    assert (answer.status, answer.value and answer.value.value) == ("answered", is_so), answer.gaps


def test_a_word_before_a_noun_is_not_lost_where_the_noun_has_something(plant: kgsparql.KnowledgeBase) -> None:
    answer = plant.ask("How many purple pumps have the weight 120?")
    assert [gap.words for gap in answer.gaps] == ["purple"]
    assert plant.ask("How many pumps have the weight 120?").gaps == ()


def test_who_is_maintained_by_somebody_is_whom_somebody_maintains(plant: kgsparql.KnowledgeBase) -> None:
    maintained = plant.ask("Is Pump Alder maintained by Gil Osei?").value
    turned = plant.ask("Is Gil Osei maintained by Pump Alder?").value
    assert [value and value.value for value in (maintained, turned)] == ["true", "false"]
