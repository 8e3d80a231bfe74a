"""Questions that only ask what something is: its description and its kinds come first."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgsparql

GRAPH = """
@prefix : <http://e.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:PowerTool a owl:Class ; rdfs:subClassOf :Tool ; rdfs:label "power tool" ;
  rdfs:comment "A tool with a motor."@en , "Ein Werkzeug mit Motor."@de .
:Tool a owl:Class ; rdfs:label "tool" .
:saw a :PowerTool , owl:NamedIndividual ; rdfs:label "chain saw" ; :maker :North .
:North rdfs:label "North Green" ; :boss :Ada .
:Ada a :Person ; rdfs:label "Ada Novak" ; :age 40 .
:Bo a :Person ; rdfs:label "Bo Lind" ; :age 50 ; :occupation "welder" .
:spade a :Tool ; rdfs:label "Spaten"@de ; :maker :North .
"""


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> kgsparql.KnowledgeBase:
    file: Path = tmp_path_factory.mktemp("definitions") / "tools.ttl"
    file.write_text(GRAPH, encoding="utf-8")
    return kgsparql.open(file, embedder="none")


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("What is a power tool?", ["power tool —comment→ A tool with a motor.", "power tool —sub class of→ tool"]),
        ("What does power tool mean?", ["power tool —comment→ A tool with a motor."]),
        ("Define power tool", ["power tool —comment→ A tool with a motor."]),
        ("What is the chain saw?", ["chain saw —type→ power tool"]),
        ("Who is Bo Lind?", ["Bo Lind —occupation→ welder"]),
    ],
)
def test_what_it_is_comes_first(knowledge: kgsparql.KnowledgeBase, question: str, texts: list[str]) -> None:
    answer = knowledge.ask(question)
    assert answer.status == "answered"
    assert [item.text for item in answer.evidence][: len(texts)] == texts
    assert all(cited.verified for item in answer.evidence for cited in item.triples)
    paths = [(item.ways[0].start, item.ways[0].property_path) for item in answer.evidence]
    assert len(paths) == len(set(paths)), "no path is said twice"


def test_descriptions_in_the_language_of_the_reader(knowledge: kgsparql.KnowledgeBase) -> None:
    german = kgsparql.open(knowledge.graph.name, embedder="none", languages=("de",))
    assert german.ask("What is a power tool?").answers[0].label == "Ein Werkzeug mit Motor."


@pytest.mark.parametrize("question", ["Who is Ada Novak?", "What is North Green?"])
def test_where_the_graph_does_not_say_it_no_answer_is_made_up(knowledge: kgsparql.KnowledgeBase, question: str) -> None:
    answer = knowledge.ask(question)
    assert [gap.text for gap in answer.gaps] == ["nothing in this graph says what it is"]
    assert answer.status == "partial"


def test_a_question_for_one_fact_gets_that_fact(knowledge: kgsparql.KnowledgeBase) -> None:
    assert knowledge.ask("What is the age of Ada Novak?").answers[0].label == "40"


def test_the_end_of_an_iri_is_a_name_beside_labels_in_another_language(knowledge: kgsparql.KnowledgeBase) -> None:
    (link,) = knowledge.ask("Who is the maker of the spade?").linked
    assert (link.label, link.term.value) == ("spade", "http://e.org/spade")
    assert [entity.label for entity in knowledge.find("Spaten")][:1] == ["Spaten"]
