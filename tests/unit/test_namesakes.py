"""Things that are shown under the same label: what tells them apart is shown, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgsparql
from kgsparql.cli._rendering import render
from kgsparql.graphs import open_graph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.terms import IRI
from tests.endpoints.servers import oxigraph_serve, store_of

TURTLE = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
:City rdfs:label "city" . :Town rdfs:label "town"@en , "Kleinstadt"@de . :Film rdfs:label "film"@en .
:s1 rdfs:label "Springfield"@en ; a :City ; :twinOf :a1 ;
  schema:description "capital of Illinois. It has many parks."@en , "Hauptstadt von Illinois"@de .
:s2 rdfs:label "Springfield"@en ; a :Town , :City ; :twinOf :a2 .
:s3 rdfs:label "Springfield"@en ; wdt:P31 :Film .
:Q4 rdfs:label "Springfield"@en .
:s5 rdfs:label "Paris"@en ; rdfs:comment "a city" . :s6 rdfs:label "Paris"@en ; rdfs:comment "A city" .
:a1 rdfs:label "Ashikaga" . :a2 rdfs:label "Killarney" .
:marge rdfs:label "Marge Lee"@en ; :livedIn :s1 , :s2 , :s3 , :Q4 . :livedIn rdfs:label "lived in" .
:ann rdfs:label "Ann Lee"@en ; :livedIn :s5 , :s6 , :a1 .
:twinOf rdfs:label "twin city" .
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("namesakes") / "namesakes.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["embedded", "endpoint"])
def knowledge(
    request: pytest.FixtureRequest, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KnowledgeBase]:
    if request.param == "embedded":
        yield kgsparql.open(file, embedder="none")
        return
    with oxigraph_serve(store_of(file, tmp_path_factory.mktemp("served") / "store")) as url:
        yield KnowledgeBase(open_graph(url), embedder="none")


def asked(knowledge: KnowledgeBase, question: str, **options: object) -> tuple[kgsparql.Answer, list[str]]:
    names: list[str] = []
    answer = knowledge.ask(question, emit=lambda event: names.append(getattr(event, "name", "")), **options)
    return answer, [name for name in names if "class_labels" in name]


def test_answers_of_the_same_label_are_told_apart_by_one_query(knowledge: KnowledgeBase) -> None:
    answer, queries = asked(knowledge, "Where has Marge Lee lived?")
    told = {term.term.value[-2:]: term.description for term in answer.answers if isinstance(term.term, IRI)}
    expected = {"s1": "capital of Illinois", "s2": "town", "s3": "film", "Q4": "Q4"}
    assert {name: text for name, text in told.items() if text} == expected
    assert set(told) > set(expected)
    assert len(queries) == 1
    shown = render(answer, "text")
    assert "Springfield (capital of Illinois) [P1" in shown
    assert "Springfield (town) [P1" in shown
    assert r"Springfield (town) \[P1" in render(answer, "md")
    listed = {own["term"]: own.get("description") for own in answer.to_json()["answers"]}
    assert listed["<http://example.org/s3>"] == "film"
    assert listed["<http://example.org/a1>"] is None


def test_nothing_is_asked_where_no_label_is_there_twice(knowledge: KnowledgeBase) -> None:
    answer, queries = asked(
        knowledge, "Which twin city has it?", entities=("http://example.org/s1",), options={"max_hops": 1}
    )
    assert "Ashikaga" in {term.label for term in answer.answers}
    assert queries == []


def test_what_is_linked_is_told_from_what_else_may_be_meant(knowledge: KnowledgeBase) -> None:
    answer, queries = asked(knowledge, "What is the twin city of Springfield?")
    (link,) = answer.linked
    assert (link.term.value[-2:], link.description) == ("s1", "capital of Illinois")
    assert {c.description for c in link.candidates[:3]} == {"town", "film", "Q4"}
    assert len(queries) == 1
    (note,) = [note for note in answer.notes if "things are called" in note]
    assert "<http://example.org/s1> (capital of Illinois) is linked, and there are " in note
    assert "<http://example.org/s2> (town)" in note
    assert "Springfield (capital of Illinois) <http://example.org/s1> (exact 1.00; or " in render(answer, "text")


def test_descriptions_are_in_the_readers_language(file: Path) -> None:
    german = kgsparql.open(file, embedder="none", languages=("de", "en"))
    answer = german.ask("Where has Marge Lee lived?")
    told = {term.term.value[-2:]: term.description for term in answer.answers if isinstance(term.term, IRI)}
    assert (told["s1"], told["s2"]) == ("Hauptstadt von Illinois", "Kleinstadt")


def test_the_same_description_does_not_tell_apart(file: Path) -> None:
    answer = kgsparql.open(file, embedder="none").ask("Where has Ann Lee lived?")
    told = {term.term.value[-2:]: term.description for term in answer.answers if isinstance(term.term, IRI)}
    assert (told["s5"], told["s6"], told["a1"]) == ("a city, s5", "A city, s6", "")


def test_a_retrieval_has_them_too(file: Path) -> None:
    found = kgsparql.open(file, embedder="none").retrieve("Where has Marge Lee lived?")
    assert "Springfield (film) [P1]" in {text for text, _ in found.choices}
