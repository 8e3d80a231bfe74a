"""Things that are shown under the same label: what tells them apart is shown, too."""

from __future__ import annotations

import re

import pytest

import kgsparql
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import IRI
from kgsparql.rendering import render
from tests.conftest import graph_from
from tests.scripted import knowledge_of

TURTLE = """
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
def knowledge() -> KnowledgeBase:
    return knowledge_of(TURTLE)


def told(answer: kgsparql.Answer) -> dict[str, str]:
    """The descriptions of the answers, by the ends of their IRIs."""
    return {term.term.value[-2:]: term.description for term in answer.answers if isinstance(term.term, IRI)}


def asked(knowledge: KnowledgeBase, question: str, **options: object) -> tuple[kgsparql.Answer, list[str]]:
    names: list[str] = []
    answer = knowledge.ask(question, emit=lambda event: names.append(getattr(event, "name", "")), **options)
    return answer, [name for name in names if "class_labels" in name]


def test_answers_of_the_same_label_are_told_apart_by_one_query(knowledge: KnowledgeBase) -> None:
    answer, queries = asked(knowledge, "Where has Marge Lee lived?")
    expected = {"s1": "capital of Illinois", "s2": "town", "s3": "film", "Q4": "Q4"}
    assert {name: text for name, text in told(answer).items() if text} == expected
    assert set(told(answer)) > set(expected)
    assert len(queries) == 1
    shown = render(answer, "text")
    assert {"Springfield (capital of Illinois)", "Springfield (town)"} <= set(shown.partition("  [P1]")[0].split("; "))
    assert r"Springfield (town) \[P1" in render(answer, "md")
    listed = {own["term"]["value"]: own.get("description") for own in answer_to_json(answer)["answers"]}
    assert listed["http://example.org/s3"] == "film"
    assert listed["http://example.org/a1"] is None


def test_evidence_says_from_which_of_several_namesakes_it_starts(knowledge: KnowledgeBase) -> None:
    answer, _ = asked(knowledge, "Which twin city has Springfield?")
    texts = [item.text for item in answer.evidence]
    assert "Springfield (capital of Illinois) —twin city→ Ashikaga" in texts
    assert "Springfield (town) —twin city→ Killarney" in texts
    assert len(set(texts)) == len(texts)
    given: dict[str, object] = {"entities": ("http://example.org/s1",), "options": {"max_hops": 1}}
    answer, queries = asked(knowledge, "Which twin city has it?", **given)
    assert "Ashikaga" in {term.label for term in answer.answers}
    assert queries == [], "no label is there twice"


def test_what_is_linked_is_told_from_what_else_may_be_meant(knowledge: KnowledgeBase) -> None:
    answer, queries = asked(knowledge, "What is the twin city of Springfield?")
    (link,) = answer.linked
    assert (link.term.value[-2:], link.description) == ("s1", "capital of Illinois")
    assert {c.description for c in link.candidates[:3]} == {"town", "film", "Q4"}
    assert len(queries) == 2, "one for the list of paths, one for the answer"
    (note,) = [note for note in answer.notes if "things are called" in note]
    assert "<http://example.org/s1> (capital of Illinois) is linked; to take another, add -e " in note
    assert "-e http://example.org/s2 (town)" in note
    assert "Springfield (capital of Illinois) <http://example.org/s1> (exact 1.00; or " in render(answer, "text")


def test_descriptions_are_in_the_readers_language() -> None:
    german = KnowledgeBase(graph_from(TURTLE), embedder="none", languages=("de", "en"))
    found = told(german.ask("Where has Marge Lee lived?"))
    assert (found["s1"], found["s2"]) == ("Hauptstadt von Illinois", "Kleinstadt")


SEARCHING = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <http://schema.org/> .
:firm rdfs:label "Quaero"@en ; schema:description "company" ; :founder :ann .
:site rdfs:label "Quaero Search"@en ; skos:altLabel "Quaero"@en ; schema:description "search engine" .
:domain rdfs:label ".quaero"@en ; schema:description "top-level domain" .
:ann rdfs:label "Ann Beuys"@en . :given rdfs:label "Ann"@en ; schema:description "given name" .
:founder rdfs:label "founder" .
"""


def test_one_list_of_namesakes_and_a_count_that_fits() -> None:
    searching = knowledge_of(SEARCHING)
    answer = searching.ask("Who is the founder of Quaero?")
    (note,) = [note for note in answer.notes if "things are called" in note]
    before, _, named = note.partition("; to take another, add ")
    assert before == "2 things are called 'Quaero': <http://example.org/firm> (company) is linked"
    assert named == "-e http://example.org/site (search engine)", "and none with another sign"
    (line,) = [line for line in render(answer, "text").splitlines() if "Quaero' →" in line]
    assert line.removesuffix(")").partition("; or ")[2] == "<http://example.org/site> (search engine)"
    answer = searching.ask("Of what is Ann Beuys the founder?")
    (link,) = answer.linked
    assert "http://example.org/given" in {candidate.term.value for candidate in link.candidates}, "but not as meant"
    assert "'Ann Beuys' → Ann Beuys <http://example.org/ann> (exact 1.00)" in render(answer, "text")
    assert not [note for note in answer.notes if "things are called" in note]


def test_what_is_shown_tells_apart(knowledge: KnowledgeBase) -> None:
    found = told(knowledge.ask("Where has Ann Lee lived?"))
    assert (found["s5"], found["s6"], found["a1"]) == ("a city, s5", "A city, s6", ""), "the same does not"
    for texts, expected in (
        ((f"{'long ' * 14}and one", f"{'long ' * 14}and two"), ("long … long…, s1", "long … long…, s2")),
        (("\u200b\u200d", "a town"), ("s1", "a town")),
        (("\u200b", "\u200b\u200b"), ("s1", "s2")),
    ):
        lines = "".join(
            f':s{n} rdfs:label "Springfield"@en ; schema:description "{text}"@en . :ann :livedIn :s{n} .\n'
            for n, text in enumerate(texts, start=1)
        )
        prefix = TURTLE.partition(":City")[0]
        known = knowledge_of(f'{prefix}{lines}:ann rdfs:label "Ann Lee"@en . :livedIn rdfs:label "lived in" .')
        found = told(known.ask("Where has Ann Lee lived?"))
        assert tuple(re.sub("(long )+", "long … ", found[name]) for name in ("s1", "s2")) == expected
