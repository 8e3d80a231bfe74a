"""A kept answer is the same whether it was kept as TriG or as JSON, and so is what is found when it is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.answering.kept_answers import KeptAnswer, kept_answer, named_triples
from kgsparql.answering.recheck import Rechecker, recheck
from kgsparql.graphs import OxigraphGraph
from kgsparql.rendering import render
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
QUESTIONS = [
    json.loads(line)["question"]
    for name in ("nobel_questions", "computed_questions")
    for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines()
]
CHECKED = QUESTIONS[::10]
"""Those that are checked on a graph, too: each starts processes."""


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    knowledge = kgsparql.open(NOBEL, embedder="none")
    return {question: knowledge.ask(question) for question in QUESTIONS}


def both(answer: Answer) -> Iterator[KeptAnswer]:
    """The answer as TriG has it, and as JSON has it; items and triples in one order."""
    for kept in (kept_answer(render(answer, "trig")), kept_answer(render(answer, "json"))):
        items = tuple(sorted(kept.items, key=lambda item: item.marker))
        cited, retrieved = (tuple(sorted(triples, key=str)) for triples in (kept.cited, kept.retrieved))
        yield replace(kept, items=items, cited=cited, retrieved=retrieved)


def test_trig_holds_of_every_answer_what_json_holds(answers: dict[str, Answer]) -> None:
    for question, answer in answers.items():
        from_trig, from_json = both(answer)
        assert from_trig == from_json, question
    several = [answer for answer in answers.values() if answer.computed and len(answer.computed.columns) > 1]
    assert len(several) > 10


@pytest.mark.parametrize("question", CHECKED)
def test_both_give_the_same_outcome_when_they_are_checked(answers: dict[str, Answer], question: str) -> None:
    graph = kgsparql.open(NOBEL, embedder="none").graph
    assert isinstance(graph, OxigraphGraph)
    with Rechecker(graph) as rechecker:
        for kept in both(answers[question]):
            found = rechecker.recheck(kept)
            assert found.stands
            assert found.is_whole
    named = named_triples(kept.cited)
    if not named:  # a no rests on what is not there
        assert not kept.cited
        return
    lost = named[len(question) % len(named)]
    for quad in list(graph.store.quads_for_pattern(*lost, None)):
        graph.store.remove(quad)
    from_trig, from_json = (outcome(kept, graph) for kept in both(answers[question]))
    assert from_trig == from_json
    assert from_trig["triples"]["gone"] == [str(lost)]
    assert from_trig["stands"] is False


def outcome(kept: KeptAnswer, graph: OxigraphGraph) -> dict[str, Any]:
    return recheck(kept, graph).to_json()


def test_the_number_that_ranks_an_item_is_checked_from_trig_too(answers: dict[str, Answer]) -> None:
    graph = kgsparql.open(NOBEL, embedder="none").graph
    assert isinstance(graph, OxigraphGraph)
    answer = answers["Who is the youngest of all Nobel laureates?"]
    assert answer.computed is not None
    (item, born), = answer.computed.rows  # fmt: skip
    for quad in list(graph.store.quads_for_pattern(item, None, born, None)):  # type: ignore[arg-type]
        graph.store.remove(quad)
        graph.store.add(replace_object(quad, "1999-01-01"))
    for kept in both(answer):
        changed = next(one for one in recheck(kept, graph).items if one.is_computed)
        assert (changed.verdict, changed.gone) == ("changed", ((item, born),))
        assert [str(row[1])[1:11] for row in changed.new] == ["1999-01-01"]


def replace_object(quad: Any, value: str) -> Any:
    import pyoxigraph as ox

    literal = ox.Literal(value, datatype=quad.object.datatype)
    return ox.Quad(quad.subject, quad.predicate, literal, quad.graph_name)
