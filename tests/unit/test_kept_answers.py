"""A kept answer is the same whether it was kept as TriG or as JSON, and so is what is found when it is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pyoxigraph as ox
import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.answering.kept_answers import KeptAnswer, kept_answer
from kgsparql.answering.recheck import Rechecker, recheck
from kgsparql.evidence.evidence import has_a_name
from kgsparql.graphs import OxigraphGraph
from kgsparql.rendering import render
from tests.conftest import FIXTURES
from tests.deep import DEEP

NOBEL = FIXTURES / "nobel.ttl"
QUESTIONS = [
    json.loads(line)["question"]
    for name in ("nobel_questions", "computed_questions")
    for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines()
]


def both(answer: Answer) -> Iterator[KeptAnswer]:
    """The answer as TriG has it, and as JSON has it; items and triples in one order."""
    for kept in (kept_answer(render(answer, "trig")), kept_answer(render(answer, "json"))):
        items = tuple(sorted(kept.items, key=lambda item: item.marker))
        cited, retrieved = (tuple(sorted(triples, key=str)) for triples in (kept.cited, kept.retrieved))
        yield replace(kept, items=items, cited=cited, retrieved=retrieved)


def test_trig_holds_of_every_answer_what_json_holds(nobel: kgsparql.KnowledgeBase) -> None:
    several = 0
    for question in QUESTIONS[:: 1 if DEEP else 3]:
        answer = nobel.ask(question)
        from_trig, from_json = both(answer)
        assert from_trig == from_json, question
        several += answer.computed is not None and len(answer.computed.columns) > 1
    assert several > (3 if DEEP else 0)


def changeable() -> OxigraphGraph:
    graph = kgsparql.open(NOBEL, embedder="none").graph
    assert isinstance(graph, OxigraphGraph)
    return graph


@pytest.mark.parametrize("question", QUESTIONS[:: 10 if DEEP else 25])  # each starts processes
def test_both_give_the_same_outcome_when_they_are_checked(nobel: kgsparql.KnowledgeBase, question: str) -> None:
    graph, answer = changeable(), nobel.ask(question)
    with Rechecker(graph) as rechecker:
        for kept in both(answer):
            found = rechecker.recheck(kept)
            assert found.stands
            assert found.is_whole
    named = [*filter(has_a_name, kept.cited)]
    if not named:  # a no rests on what is not there
        assert not kept.cited
        return
    lost = named[len(question) % len(named)]
    for quad in list(graph.store.quads_for_pattern(*lost, None)):
        graph.store.remove(quad)
    from_trig, from_json = (recheck(kept, graph).to_json() for kept in both(answer))
    assert from_trig == from_json
    assert from_trig["triples"]["gone"] == [str(lost)]
    assert from_trig["stands"] is False


def test_a_changed_number_that_ranks_an_item_is_gone_from_trig_too(nobel: kgsparql.KnowledgeBase) -> None:
    graph, answer = changeable(), nobel.ask("Who is the youngest of all Nobel laureates?")
    assert answer.computed is not None
    ((item,),), (born,) = answer.computed.rows, answer.computed.measured
    for quad in list(graph.store.quads_for_pattern(item, None, born, None)):  # type: ignore[arg-type]
        graph.store.remove(quad)
        later = ox.Literal("1999-01-01", datatype=quad.object.datatype)  # type: ignore[union-attr]
        graph.store.add(ox.Quad(quad.subject, quad.predicate, later, quad.graph_name))
    for kept in both(answer):
        found = recheck(kept, graph)
        assert [triple.object for triple in found.gone] == [born]
        assert not found.stands
