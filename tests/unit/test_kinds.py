"""What nouns stand for that no class is called by, in which language something is called, and what is in a list."""

from __future__ import annotations

import pytest

from kgsparql import Answer, KnowledgeBase
from tests.world import graph_of


def told(answer: Answer) -> tuple[bool, list[str]]:
    return answer.sure, sorted(one.label for one in answer.best)


WEIGHTS = {"Bolt": 5, "Nut": 9, "Hinge": 70, "Gear": 300, "Clamp": 80}
CITIES = {"Acme": "Bonn", "Borg": "Oslo", "Cyan": "Oslo", "Dane": "Rome"}
PARTS = "@prefix v: <http://e.org/c/> ." + "".join(
    f'<http://e.org/part/{n}> v:name "{name} {n}" ; v:weight {own} ; v:made_by <http://e.org/maker/{n % 4}> .'
    for n, (name, own) in enumerate(WEIGHTS.items())
)
PARTS += "".join(
    f'<http://e.org/maker/{n}> v:name "{name}" ; v:city "{city}" .' for n, (name, city) in enumerate(CITIES.items())
)
CROPS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> . @prefix wgs: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
:s a skos:ConceptScheme ; dct:title "Thesaurus of Crops"@en .
:cereals a skos:Concept ; skos:inScheme :s ; skos:prefLabel "Cereals"@en .
:wheat a skos:Concept ; skos:broader :cereals ; skos:prefLabel "Wheat"@en, "Weizen"@de .
:rye a skos:Concept ; skos:broader :cereals ; skos:prefLabel "Rye"@en ; owl:deprecated true .
:spelt a skos:Concept ; skos:broader :wheat ; skos:prefLabel "Spelt"@en ; owl:deprecated true .
"""
ROOMS = """
@prefix bot: <https://w3id.org/bot#> .
:Hall a :Room ; rdfs:label "Hall" . :area rdfs:label "area" .
""" + "\n".join(
    f":Room{n} a bot:Space ; :area {10 + n} ; :holds :lamp{n} . :lamp{n} rdfs:label 'lamp {n}' ." for n in range(30)
)


@pytest.mark.parametrize(("graph", "question", "answers"), [
    (PARTS, "Which parts weigh more than 75?", ["Clamp 4", "Gear 3"]),
    (PARTS, "How many parts were made by Acme?", ["2"]),
    (PARTS, "What is the heaviest part?", ["Gear 3"]),
    (PARTS, "Which makers are in Bonn?", ["Acme"]),
    (CROPS, "Which subjects are deprecated?", ["Rye", "Spelt"]),
    (CROPS, "How many topics are there?", ["2"]),
    (CROPS, "Welche Themen sind veraltet?", ["Rye", "Spelt"]),
    (CROPS, "Quels sujets sont obsolètes ?", ["Rye", "Spelt"]),
    (ROOMS, "Which room has the largest area?", ["Room29"]),
    (ROOMS, "Which room holds lamp 7?", ["Room7"]),
    (ROOMS, "Is the Hall a room?", ["true"]),
])  # fmt: skip
def test_a_noun_that_no_class_has_is_of_what_is_called_so(graph: str, question: str, answers: list[str]) -> None:
    answer = KnowledgeBase(graph_of(graph), embedder="none").ask(question)
    assert told(answer) == (True, answers), (answer.text, answer.gaps)


@pytest.mark.parametrize(("graph", "question", "why"), [
    (ROOMS, "How many rooms are there?", "reading"),  # a class has the word, too
    (CROPS, "How many vegetables are there?", "operation"),  # a noun of nothing counts nothing
    (PARTS, "Which machines weigh more than 75?", "operation"),
])  # fmt: skip
def test_a_noun_of_what_the_graph_does_not_say_is_in_doubt(graph: str, question: str, why: str) -> None:
    answer = KnowledgeBase(graph_of(graph), embedder="none").ask(question)
    assert (answer.sure, [gap.code for gap in answer.gaps]) == (False, [why]), (answer.text, answer.gaps)
    assert (why == "operation") == (answer.value is None), answer.text


TOURS = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:e a :Tour ; rdfs:label "Second Line" ; :stops ( :d :c ) .
:Tour a rdfs:Class ; rdfs:label "tour" . :Town a rdfs:Class ; rdfs:label "town" . :stops rdfs:label "stops" .
:coast a :Tour ; rdfs:label "Coast Line" ; :stops [ a rdf:Seq ; rdf:_1 :a ; rdf:_2 :b ; rdf:_10 :c ] .
:hill a :Tour ; rdfs:label "Hill Line" ; :stops ( :c :d :a :b ) .
:a a :Town ; rdfs:label "Ashby" . :b a :Town ; rdfs:label "Barton" . :c a :Town ; rdfs:label "Corby" .
:d a :Town ; rdfs:label "Derby" .
"""


@pytest.mark.parametrize(("question", "answers"), [
    ("What is the second stop of Coast Line?", ["Barton"]),
    ("What is the last stop of Coast Line?", ["Corby"]),
    ("What is the third stop of Hill Line?", ["Ashby"]),
    ("Which towns are stops of Coast Line?", ["Ashby", "Barton", "Corby"]),
    ("Which tours have the stop Corby?", ["Coast Line", "Hill Line", "Second Line"]),
    ("What are the stops of Second Line?", ["Corby", "Derby"]),
    ("Which tours have Ashby as first stop?", ["Coast Line"]),
])  # fmt: skip
def test_members_of_lists_and_containers_are_in_their_order(question: str, answers: list[str]) -> None:
    answer = KnowledgeBase(graph_of(TOURS), embedder="none").ask(question)
    assert told(answer) == (True, answers), (answer.text, answer.gaps)


@pytest.mark.parametrize("question", ["What is the fifth stop of Hill Line?", "Which tours have Barton as last stop?"])
def test_a_place_that_is_not_found_in_a_list_is_in_doubt(question: str) -> None:
    answer = KnowledgeBase(graph_of(TOURS), embedder="none").ask(question)
    assert not answer.sure, answer.text


ROCKS = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:note a owl:AnnotationProperty ; rdfs:label "note" . :rock a owl:Class ; rdfs:label "rock" .
:lava a owl:Class ; rdfs:label "lava rock" ; rdfs:subClassOf :rock . :lime a owl:Class ; rdfs:label "limestone" ;
    rdfs:subClassOf :rock ; :note "soft" . :chalk a owl:Class ; rdfs:label "chalk" ; rdfs:subClassOf :lime .
:basalt a owl:Class ; rdfs:label "basalt" ; rdfs:subClassOf :lava .
:grit a owl:Class ; rdfs:label "obsolete grit" ; owl:deprecated true .
"""
SORTED = ROCKS + ":x a :basalt ; rdfs:label 'Specimen 1' . :y a :lime ; rdfs:label 'Specimen 2' ."


@pytest.mark.parametrize(("graph", "question", "answers"), [
    (ROCKS, "How many rocks are there?", ["4"]),
    (ROCKS, "Which lava rocks are there?", ["basalt"]),
    (ROCKS, "Which terms are deprecated?", ["obsolete grit"]),
    (ROCKS, "How many terms are there?", ["5"]),
    (SORTED, "Which rocks are there?", ["Specimen 1", "Specimen 2"]),
    (SORTED, "How many kinds of rock are there?", ["4"]),
])  # fmt: skip
def test_classes_are_the_things_where_nothing_is_of_them(graph: str, question: str, answers: list[str]) -> None:
    answer = KnowledgeBase(graph_of(graph), embedder="none").ask(question)
    assert told(answer) == (True, answers), (answer.text, answer.gaps)


def test_a_class_that_sorts_things_is_none_of_them() -> None:
    answer = KnowledgeBase(graph_of(SORTED), embedder="none").ask("Which chalks are there?")
    assert (answer.status, answer.best) == ("partial", ()), answer.text


HARBOURS = """
:Town a rdfs:Class ; rdfs:label "town"@en . :motto rdfs:label "motto"@en .
:German a :Tongue ; rdfs:label "German"@en .
:a a :Town ; rdfs:label "Copperhaven"@en, "Kupferhafen"@de, "Port-Cuivre"@fr ; skos:altLabel "Puerto Cobre"@es ;
    :motto "We go on"@en, "Wir gehen weiter"@de .
"""


@pytest.mark.parametrize(("question", "answers"), [
    ("What is Copperhaven called in French?", ["Port-Cuivre"]),
    ("What is the German name of Copperhaven?", ["Kupferhafen"]),
    ("What is the Spanish word for Copperhaven?", ["Puerto Cobre"]),
    ("What is the motto of Copperhaven in German?", ["Wir gehen weiter"]),
    ("Wie heißt Copperhaven auf Französisch?", ["Port-Cuivre"]),
    ("Comment s'appelle Copperhaven en allemand ?", ["Kupferhafen"]),
    ("¿Cuál es el nombre alemán de Copperhaven?", ["Kupferhafen"]),
])  # fmt: skip
def test_a_language_is_the_tag_of_a_text(question: str, answers: list[str]) -> None:
    answer = KnowledgeBase(graph_of(HARBOURS), embedder="none").ask(question)
    assert told(answer) == (True, answers), (answer.text, answer.gaps)


@pytest.mark.parametrize(
    "question", ["What is Copperhaven called in Welsh?", "What is the Danish name of Copperhaven?"]
)
def test_a_language_that_no_name_is_in_is_in_doubt(question: str) -> None:
    answer = KnowledgeBase(graph_of(HARBOURS), embedder="none").ask(question)
    assert answer.status == "partial", answer.text
