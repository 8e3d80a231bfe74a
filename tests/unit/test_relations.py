"""What a graph declares of its predicates: the same facts stated by others are the same answers."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

import kgsparql
from kgsparql import KnowledgeBase
from tests.world import NOBEL, graph_of

FAMILY = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:hasChild rdfs:label "child" . :married rdfs:label "spouse" ; a owl:SymmetricProperty .
:hasSon rdfs:subPropertyOf :hasChild . :hasHeir rdfs:subPropertyOf :hasSon . :childOf owl:inverseOf :hasChild .
:begot owl:equivalentProperty :hasChild .
:Person a rdfs:Class ; rdfs:label "person" .
:ann a :Person ; rdfs:label "Ann" ; :hasSon :bob ; :hasHeir :cy ; :begot :eve ; :married :max .
:max a :Person ; rdfs:label "Max" . :bob a :Person ; rdfs:label "Bob" . :cy a :Person ; rdfs:label "Cy" .
:dora a :Person ; rdfs:label "Dora" ; :childOf :ann . :eve a :Person ; rdfs:label "Eve" .
:fay a :Person ; rdfs:label "Fay" .
"""


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Who are the children of Ann?", ["Bob", "Cy", "Dora", "Eve"]),
        ("How many children does Ann have?", ["4"]),
        ("Is Dora a child of Ann?", ["true"]),
        ("Is Fay a child of Ann?", ["false"]),
        ("Which people have no child?", ["Bob", "Cy", "Dora", "Eve", "Fay", "Max"]),
        ("Who is the spouse of Max?", ["Ann"]),
        ("Who is the spouse of Ann?", ["Max"]),
    ],
)
def test_what_declarations_say_is_found_and_shown_by_what_is_stated(question: str, answers: list[str]) -> None:
    knowledge = KnowledgeBase(graph_of(FAMILY), embedder="none")
    answer = knowledge.ask(question)
    assert (answer.sure, sorted(one.label for one in answer.best)) == (True, answers), (answer.text, answer.gaps)
    cited = [own for item in answer.evidence for own in item.triples]
    assert all(own.verified for own in cited), "no triple is shown that is only inferred"


QUESTIONS = (
    "Where was Marie Curie born?", "How many laureates were born in Germany?",
    "Who was the doctoral advisor of Werner Heisenberg?",
    "Was Arnold Sommerfeld the doctoral advisor of Werner Heisenberg?", "Which prizes did Marie Curie get?",
    "Who were the doctoral students of Arnold Sommerfeld?",
)  # fmt: skip


DECLARED = {
    "below": "http://www.w3.org/2000/01/rdf-schema#subPropertyOf",
    "back": "http://www.w3.org/2002/07/owl#inverseOf",
}


@pytest.mark.parametrize("shape", DECLARED)
def test_answers_do_not_depend_on_how_a_link_is_stated(nobel: KnowledgeBase, shape: str) -> None:
    store = ox.Store()
    store.load(path=str(NOBEL), format=ox.RdfFormat.TURTLE)
    for number, name in enumerate(("birthPlace", "doctoralAdvisor", "award")):
        above, own = (
            ox.NamedNode(iri) for iri in (f"http://dbpedia.org/ontology/{name}", f"http://e.org/shape{number}")
        )
        facts = list(store.quads_for_pattern(None, above, None, None))
        assert len(facts) > 20
        for fact in facts:
            ends = (fact.subject, fact.object) if shape == "below" else (fact.object, fact.subject)
            store.remove(fact)
            store.add(ox.Quad(ends[0], own, ends[1]))
        store.add(ox.Quad(own, ox.NamedNode(DECLARED[shape]), above))
    with kgsparql.open(store, embedder="none") as other:
        for question in QUESTIONS:
            expected, got = nobel.ask(question), other.ask(question)
            assert (got.sure, {one.label for one in got.best}) == (True, {one.label for one in expected.best}), question
