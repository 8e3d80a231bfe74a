"""What kind of value an answer is, and in which unit: as a Python value and as JSON."""

from __future__ import annotations

from dataclasses import replace

import kgsparql
from kgsparql.answering.answer import computed_type
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.plans import algebra as a
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI
from kgsparql.rendering.answer_rdf import answer_to_trig
from tests.scripted import ask, by_call, chose, knowledge_of, reading_with

CHILDREN = "How many children did Marie Curie have?"
PARCELS = """
:Parcel a rdfs:Class ; rdfs:label "parcel" .
:weight_g rdfs:label "weight" .
:depth rdfs:label "depth mm" .
:a a :Parcel ; rdfs:label "first" ; :weight_g 1500 ; :depth 20 .
:b a :Parcel ; rdfs:label "second" ; :weight_g 500 ; :depth 30 .
:c a :Parcel ; rdfs:label "third" ; :weight_g 10000 ; :depth 20 .
"""


def test_the_kind_of_an_answer(nobel: kgsparql.KnowledgeBase) -> None:
    for question, kind in (
        (CHILDREN, "number"),
        ("Was Linus Pauling born in Germany?", "boolean"),
        ("Which elements have an atomic number above 100?", "entities"),
        ("When was the University of Pisa founded?", "date"),
        ("What is the chemical symbol of radium?", "text"),
        ("Who painted Xyzzyplugh?", None),
    ):
        answer = nobel.ask(question)
        shown = answer_to_json(answer)
        assert (answer.type, answer.unit) == (shown["type"], shown["unit"]) == (kind, "")


def test_what_a_model_chose_is_of_the_kind_that_it_leads_to_and_what_it_knows_answers_nothing(
    nobel: kgsparql.KnowledgeBase,
) -> None:
    chosen = ask(nobel, "Who is Richard Feynman?", reading_with("date of birth"), retriever="path_ranking").answer
    assert (chosen.status, chosen.type) == ("partial", "date")
    knowing = by_call(reading=chose(), **{"closed book": {"answer": "Nobody did."}})
    memory = ask(nobel, "Who painted Xyzzyplugh?", knowing, allow_model_knowledge=True).answer
    assert (memory.grounding, memory.status, memory.type) == ("model", "no_entity", None)
    two = ask(nobel, CHILDREN, chose(), retriever="query_plan").answer
    assert (two.type, two.unit) == ("number", ""), "the draft"


def test_the_least_year_is_a_date_though_it_is_written_as_a_number(nobel: kgsparql.KnowledgeBase) -> None:
    born = a.Value(PropertyPath.of("http://dbpedia.org/ontology/birthDate"), "year")
    laureates = a.Instances(IRI("https://kgsparql.example/nobel/Laureate"))
    found = nobel.run(a.SummaryOf("min", laureates, born))
    assert str(found.value).startswith('"1842"')
    assert computed_type(found) == "date"
    assert computed_type(nobel.run(laureates)) is None


def test_the_unit_of_a_number_is_that_of_what_was_summed_up(nobel: kgsparql.KnowledgeBase) -> None:
    parcels = knowledge_of(PARCELS)
    for question, value, unit, shown in (
        ("What is the total weight of all parcels?", "12000", "g", "12,000 g"),
        ("What is the average weight of the parcels?", "4000", "g", "4000 g"),
        ("What is the average depth of the parcels?", "23.333333333333333333", "mm", "23.333333 mm"),
        ("How many parcels have a weight above 600?", "2", "", "2"),
    ):
        answer = parcels.ask(question)
        assert answer.value is not None
        assert (answer.type, answer.value.value, answer.unit) == ("number", value, unit)  # type: ignore[union-attr]
        assert answer_to_json(answer)["unit"] == unit
        assert answer.text.startswith(f"{shown} [Q1]\n")
        assert answer_to_trig(answer).count(f'schema:unitText "{unit}"') == (2 if unit else 0)
    answer = nobel.ask("What percentage of the elements are radioactive?")
    assert (answer.type, answer.unit) == ("number", "%")
    assert answer.text.startswith("90.909091 % [Q1]\n")
    average = parcels.ask("What is the average weight of the parcels with a depth above 500?", retriever="query_plan")
    assert (average.value, average.status, average.type) == (None, "not_in_graph", None)
    assert average.text.startswith("Nothing in this graph [Q1]\n")
    assert replace(nobel.ask(CHILDREN), answers=(), claims=(), status="not_in_graph").type is None
