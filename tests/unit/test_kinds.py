"""What nouns stand for that no class is called by, in which language something is called, and what is in a list."""

import pytest

from tests.world import known, told

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
@prefix owl: <http://www.w3.org/2002/07/owl#> .
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
TOURS = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:e a :Tour ; rdfs:label "Second Line" ; :stops ( :d :c ) .
:Tour a rdfs:Class ; rdfs:label "tour" . :Town a rdfs:Class ; rdfs:label "town" . :stops rdfs:label "stops" .
:coast a :Tour ; rdfs:label "Coast Line" ; :stops [ a rdf:Seq ; rdf:_1 :a ; rdf:_2 :b ; rdf:_10 :c ] .
:hill a :Tour ; rdfs:label "Hill Line" ; :stops ( :c :d :a :b ) .
:a a :Town ; rdfs:label "Ashby" . :b a :Town ; rdfs:label "Barton" . :c a :Town ; rdfs:label "Corby" .
:d a :Town ; rdfs:label "Derby" .
"""
ROCKS = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:note a owl:AnnotationProperty ; rdfs:label "note" . :rock a owl:Class ; rdfs:label "rock" .
:lava a owl:Class ; rdfs:label "lava rock" ; rdfs:subClassOf :rock . :lime a owl:Class ; rdfs:label "limestone" ;
    rdfs:subClassOf :rock ; :note "soft" . :chalk a owl:Class ; rdfs:label "chalk" ; rdfs:subClassOf :lime .
:basalt a owl:Class ; rdfs:label "basalt" ; rdfs:subClassOf :lava .
:grit a owl:Class ; rdfs:label "obsolete grit" ; owl:deprecated true .
"""
SORTED = ROCKS + ":x a :basalt ; rdfs:label 'Specimen 1' . :y a :lime ; rdfs:label 'Specimen 2' ."
HARBOURS = """
:Town a rdfs:Class ; rdfs:label "town"@en . :motto rdfs:label "motto"@en .
:German a :Tongue ; rdfs:label "German"@en .
:a a :Town ; rdfs:label "Copperhaven"@en, "Kupferhafen"@de, "Port-Cuivre"@fr ; skos:altLabel "Puerto Cobre"@es ;
    :motto "We go on"@en, "Wir gehen weiter"@de .
"""


@pytest.mark.parametrize(("graph", "question", "answers"), [
    # a noun that no class has is of what is called so
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
    # members of lists and containers are in their order
    (TOURS, "What is the second stop of Coast Line?", ["Barton"]),
    (TOURS, "What is the last stop of Coast Line?", ["Corby"]),
    (TOURS, "What is the third stop of Hill Line?", ["Ashby"]),
    (TOURS, "Which towns are stops of Coast Line?", ["Ashby", "Barton", "Corby"]),
    (TOURS, "Which tours have the stop Corby?", ["Coast Line", "Hill Line", "Second Line"]),
    (TOURS, "What are the stops of Second Line?", ["Corby", "Derby"]),
    (TOURS, "Which tours have Ashby as first stop?", ["Coast Line"]),
    # classes are the things where nothing is of them
    (ROCKS, "How many rocks are there?", ["4"]),
    (ROCKS, "Which lava rocks are there?", ["basalt"]),
    (ROCKS, "Which terms are deprecated?", ["obsolete grit"]),
    (ROCKS, "How many terms are there?", ["5"]),
    (SORTED, "Which rocks are there?", ["Specimen 1", "Specimen 2"]),
    (SORTED, "How many kinds of rock are there?", ["4"]),
    # a language is the tag of a text
    (HARBOURS, "What is Copperhaven called in French?", ["Port-Cuivre"]),
    (HARBOURS, "What is the German name of Copperhaven?", ["Kupferhafen"]),
    (HARBOURS, "What is the Spanish word for Copperhaven?", ["Puerto Cobre"]),
    (HARBOURS, "What is the motto of Copperhaven in German?", ["Wir gehen weiter"]),
    (HARBOURS, "Wie heißt Copperhaven auf Französisch?", ["Port-Cuivre"]),
    (HARBOURS, "Comment s'appelle Copperhaven en allemand ?", ["Kupferhafen"]),
    (HARBOURS, "¿Cuál es el nombre alemán de Copperhaven?", ["Kupferhafen"]),
])  # fmt: skip
def test_a_noun_is_of_what_is_called_so(graph: str, question: str, answers: list[str]) -> None:
    answer = known(graph).ask(question)
    assert told(answer) == (True, answers), (answer.text, answer.gaps)


@pytest.mark.parametrize(("graph", "question", "why"), [
    (ROOMS, "How many rooms are there?", "reading"),  # a class has the word, too
    (CROPS, "How many vegetables are there?", "operation"),  # a noun of nothing counts nothing
    (PARTS, "Which machines weigh more than 75?", "operation"),
])  # fmt: skip
def test_a_noun_of_what_the_graph_does_not_say_is_in_doubt(graph: str, question: str, why: str) -> None:
    answer = known(graph).ask(question)
    assert (answer.sure, [gap.code for gap in answer.gaps]) == (False, [why]), (answer.text, answer.gaps)
    assert (why == "operation") == (answer.value is None), answer.text


@pytest.mark.parametrize(("graph", "question"), [
    (TOURS, "What is the fifth stop of Hill Line?"),  # a place that is not in the list
    (TOURS, "Which tours have Barton as last stop?"),
    (HARBOURS, "What is Copperhaven called in Welsh?"),  # no name is in this language
    (HARBOURS, "What is the Danish name of Copperhaven?"),
])  # fmt: skip
def test_what_is_not_found_is_in_doubt(graph: str, question: str) -> None:
    assert known(graph).ask(question).status == "partial"


def test_a_class_that_sorts_things_is_none_of_them() -> None:
    answer = known(SORTED).ask("Which chalks are there?")
    assert (answer.status, answer.best) == ("partial", ()), answer.text


def test_a_question_about_them_asks_of_things_without_a_class() -> None:
    parts = known(PARTS)
    before = parts.ask("Which parts weigh more than 50?")
    assert told(parts.ask("which of them were made by Acme?", after=before)) == (True, ["Clamp 4"])
