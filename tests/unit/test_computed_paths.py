"""What is asked to be computed of what a path leads to, by the methods that follow paths, without a model."""

from __future__ import annotations

import rdflib

from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import Literal
from tests.conftest import FIXTURES


def test_how_many_are_counted_by_the_query_of_the_path(nobel: KnowledgeBase) -> None:
    for method in ("path_ranking", "think_on_graph", "struct_gpt"):
        answer = nobel.ask("How many doctoral students did Max Born have?", retriever=method)
        assert (answer.status, answer.retriever, answer.computed is not None) == ("answered", method, True)
        assert isinstance(answer.value, Literal)
        assert answer.value.value == "4"
        assert answer.text.startswith("4 [Q1]\n(counted: ")
        kinds = [item.kind for item in answer.evidence]
        assert kinds[0] == "computed"
        assert "path" in kinds, "what was found stands beside it"
        assert all(cited.verified for cited in answer.evidence["Q1"].triples)


def test_what_a_path_does_not_say_is_not_computed_and_a_start_is_not_among_its_own_others(nobel: KnowledgeBase) -> None:
    graph = rdflib.Graph().parse(FIXTURES / "nobel.ttl")
    dbo = rdflib.Namespace("http://dbpedia.org/ontology/")
    feynman = rdflib.URIRef("http://dbpedia.org/resource/Richard_Feynman")
    others = {other for place in graph.objects(feynman, dbo.employer) for other in graph.subjects(dbo.employer, place)}
    question = "How many scientists worked at the same institution as Richard Feynman?"
    answer = nobel.ask(question, retriever="path_ranking")
    assert isinstance(answer.value, Literal)
    assert answer.value.value == str(len(others - {feynman}))
    for question in (
        "Is Irène Joliot-Curie a child of Marie Curie?",  # two things are named, and the path is from one
        "How many people born in Warsaw won a prize?",  # the path ends at numbers
        "How many doctoral students of Max Born were born in Berlin?",
    ):
        answer = nobel.ask(question, retriever="path_ranking")
        assert (answer.status, answer.computed) == ("partial", None)
