"""Plans that are made without a model: what their answers rest on. Which answer is right is in ``golden/``."""

from __future__ import annotations

import gc
import weakref
from functools import cache
from pathlib import Path

import kgsparql
from benchmarks.golden import is_given_by_facts
from kgsparql import IRI, Answer, Budget, FederatedGraph, KnowledgeBase, answer_to_json
from kgsparql.rendering.drawing import drawing_of
from tests.world import FIXTURES, known, open_nobel


@cache
def products() -> KnowledgeBase:
    return kgsparql.open(FIXTURES / "golden" / "products.ttl", embedder="none")


def said(answer: Answer) -> list[str]:
    """Return the value, or the names of the items, in order."""
    return [answer.value.value] if isinstance(answer.value, kgsparql.Literal) else [one.label for one in answer.answers]


def test_an_answer_says_what_was_done_and_what_it_rests_on() -> None:
    answer = products().ask("How many suppliers are in France?", retriever="query_plan")
    assert answer.status == "answered"
    value, reading = answer.text.splitlines()
    assert value == "2 [Q1]"
    assert reading.startswith("(counted: ")
    assert "France" in reading
    assert answer.computed is not None
    assert is_given_by_facts(answer.computed)
    assert len(answer.evidence["Q1"].triples) == len(answer.computed.facts) > 0


def test_a_value_is_not_lost_where_the_budget_ends_while_doubts_are_looked_for() -> None:
    question, budget = "Which laureate was born in November 1867?", Budget(max_queries=None)
    most = open_nobel().ask(question, retriever="query_plan", budget=budget).usage["queries"]
    limits = (0, most // 2, most - 1, most)
    found = [open_nobel().ask(question, retriever="query_plan", budget=Budget(max_queries=n)) for n in limits]
    assert all(said(answer) in ([], ["Marie Curie"]) for answer in found)
    assert all(answer.status == "partial" for answer in found if not said(answer))
    assert found[-1].status == "answered"


def test_what_is_known_of_a_graph_goes_with_it() -> None:
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
    assert knowledge.ask("How many Nobel laureates are there?", retriever="query_plan").computed is not None
    graph = weakref.ref(knowledge.graph)
    del knowledge
    gc.collect()
    assert graph() is None


def test_what_is_not_computed_of_laureates_is_a_doubt(shared_data: Path) -> None:
    """They were Konstantin Novoselov and the United Kingdom, for sure: by way of where laureates work, and of one."""
    knowledge = kgsparql.open(shared_data / "nobel" / "graph.nt.gz", embedder="none")
    for question in (
        "Who is the youngest Nobel laureate?",
        "Which country has the most Nobel laureates?",
    ):
        assert knowledge.ask(question).status != "answered"


def test_what_several_graphs_hold_is_counted_once() -> None:
    both = KnowledgeBase(FederatedGraph([open_nobel().graph, open_nobel().graph, products().graph]), embedder="none")
    for retriever in ("query_plan", "auto"):
        answer = both.ask("How many Nobel laureates are there?", retriever=retriever)
        assert answer.text == open_nobel().ask("How many Nobel laureates are there?").text


def test_the_evidence_of_the_best_has_it_and_the_next_also_where_there_are_more_facts_than_are_read() -> None:
    tracks = {57: 50, 33: 45}
    lines = [':Album a rdfs:Class ; rdfs:label "album" . :Track a rdfs:Class ; rdfs:label "track" .']
    lines.append(':album rdfs:label "album" .')
    for n in range(60):
        lines.append(f':a{n} a :Album ; rdfs:label "Songs {n}" .')
        lines += [f":t{n}_{i} a :Track ; :album :a{n} ." for i in range(tracks.get(n, 36))]
    answer = known("\n".join(["@prefix : <http://e.org/> .", *lines])).ask("Which album has the most tracks?")
    item = answer.evidence["Q1"]
    assert [one.label for one in answer.answers] == ["Songs 57"]
    assert " = Songs 57 (50); next: Songs 33 (45); of 60 (more than " in item.text
    named = {own.triple.object for own in item.triples}
    assert {IRI("http://e.org/a57"), IRI("http://e.org/a33")} <= named
    drawn = {node.label: node.role for node in drawing_of(answer).nodes}
    assert (drawn["Songs 57"], drawn["Songs 33"]) == ("answer", "other")
    compared = answer_to_json(answer)["computed"]["compared"]  # type: ignore[index]
    assert (compared["size"], [one["item"]["label"] for one in compared["next"]]) == (60, ["Songs 33"])  # type: ignore[index]
