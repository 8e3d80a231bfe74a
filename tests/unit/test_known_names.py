"""Predicates have the names of their vocabularies, of shapes and of people, where a graph has none or another one."""

import pytest

import kgsparql
from kgsparql import KnowledgeBase
from kgsparql.schema.known_names import other_names
from tests.world import ex, graph_of, known

MUSEUM = """
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix wgs: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
:Vase a rdfs:Class ; rdfs:label "vase" .
:shape sh:path :fld7 ; sh:name "glaze"@en . :fld8 rdfs:label "kiln"@en ; skos:altLabel "oven"@en .
:amphora a :Vase ; rdfs:label "Red Amphora" ; dct:license <http://l.test/open> ; :fld7 "iron" ; :fld8 "Kiln Three" ;
  dct:issued "2001-05-06"^^xsd:date ; wgs:alt 12 .
:jug a :Vase ; rdfs:label "Blue Jug" ; :fld7 "cobalt" ; :fld8 "Kiln Four" ; wgs:alt 40 .
:vera rdfs:label "Vera Quist" ; foaf:mbox <mailto:vera@m.test> ; foaf:homepage <http://vera.test/> .
<http://l.test/open> rdfs:label "Open Licence" .
:crackle rdfs:label "crackle" ; obo:IAO_0000115 "Fine cracks in a glaze." ; oio:hasExactSynonym "craquelure" ;
  obo:IAO_0100001 :crazing ; oio:hasDbXref "G:1" .
:crazing rdfs:label "crazing" .
:north a dcat:Dataset ; dct:title "North Finds" ; dct:modified "2019-01-01"^^xsd:date ; dcat:contactPoint :vera .
:south a dcat:Dataset ; dct:title "South Finds" ; dct:modified "2021-01-01"^^xsd:date .
"""


@pytest.mark.parametrize(("question", "answers"), [
    ("What is the email address of Vera Quist?", ["vera@m.test"]),
    ("Wie lautet die E-Mail-Adresse von Vera Quist?", ["vera@m.test"]),
    ("What is the licence of Red Amphora?", ["Open Licence"]),
    ("¿Cuál es la licencia de Red Amphora?", ["Open Licence"]),
    ("What is the publication date of Red Amphora?", ["2001-05-06"]),
    ("Which vase has the highest altitude?", ["Blue Jug"]),
    ("What is the glaze of Blue Jug?", ["cobalt"]),
    ("What is the oven of Blue Jug?", ["Kiln Four"]),
    ("What is the kiln of Blue Jug?", ["Kiln Four"]),
    ("What is the definition of crackle?", ["Fine cracks in a glaze."]),
    ("What is another word for crackle?", ["craquelure"]),
    ("What else is crackle called?", ["craquelure"]),
    ("What is crackle replaced by?", ["crazing"]),
    ("Who is the contact for North Finds?", ["Vera Quist"]),
    ("Which dataset has the earliest modification date?", ["North Finds"]),
    ("Which dataset has the contact Vera Quist?", ["North Finds"]),
])  # fmt: skip
def test_predicates_answer_to_what_people_call_them(question: str, answers: list[str]) -> None:
    answer = known(MUSEUM).ask(question)
    said = [one.label.removeprefix("mailto:") for one in answer.best]
    assert (answer.sure, said) == (True, answers), (answer.text, answer.gaps)


def test_a_code_is_shown_by_its_name_and_a_label_of_the_graph_stays() -> None:
    shown = kgsparql.render(known(MUSEUM).ask("What is crackle replaced by?"))
    assert "term replaced by" in shown
    assert "IAO" not in shown
    assert "—kiln→" in kgsparql.render(known(MUSEUM).ask("What is the oven of Blue Jug?"))


def test_names_in_iris_answer_as_labels_do() -> None:
    facts = ':A1 a :Cellist . :Cellist a rdfs:Class . :a rdfs:label "Ida Holm" ; :birthPlace :x ; :award :y . '
    facts += (
        ':x rdfs:label "Lund" . :y rdfs:label "Silver Bow" . :b rdfs:label "Jon Ek" ; :birthPlace :z ; :award :w . '
    )
    facts += ':z rdfs:label "Gävle" . :w rdfs:label "Gold Bow" .'
    knowledge = KnowledgeBase(graph_of(facts), embedder="none")
    for question, label in (
        ("What is the place of birth of Ida Holm?", "Lund"), ("Is Lund the place of birth of Ida Holm?", "true"),
        ("Is Lund the place of birth of Jon Ek?", "false"), ("Who received the award Gold Bow?", "Jon Ek"),
    ):  # fmt: skip
        answer = knowledge.ask(question)
        assert (answer.sure, [one.label for one in answer.best]) == (True, [label]), (
            question, answer.text, answer.gaps,
        )  # fmt: skip


def test_the_name_that_a_shape_gives_is_known_whichever_predicates_are_asked_about() -> None:
    graph = graph_of(
        '@prefix sh: <http://www.w3.org/ns/shacl#> . :shape sh:path :fld7 ; sh:name "glaze" . :pot :fld7 "celadon" .'
    )
    assert other_names(graph, [ex("fld7")]) == {ex("fld7"): ("glaze",)}
