"""A question, planned: what it names, the plans that it may ask for, and what the likeliest comes to."""

from __future__ import annotations

import pytest

import kgsparql
from kgsparql.errors import NotFoundError
from kgsparql.plans import algebra as a
from kgsparql.rdf.terms import IRI
from kgsparql.retrievers._planned_question import QuestionTerm
from tests.conftest import FIXTURES

LAUREATE = IRI("https://kgsparql.example/nobel/Laureate")
CAMBRIDGE = IRI("http://dbpedia.org/resource/University_of_Cambridge")


@pytest.fixture(scope="module")
def nobel() -> kgsparql.KnowledgeBase:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


def test_what_is_named_is_said_with_the_words_that_name_it(nobel: kgsparql.KnowledgeBase) -> None:
    planned = nobel.plan("How many laureates worked at University of Cambridge?")
    named = {one.term: one for one in planned.named}
    assert named[CAMBRIDGE] == QuestionTerm("University of Cambridge", CAMBRIDGE, "University of Cambridge", "entity")
    assert named[LAUREATE] == QuestionTerm("laureates", LAUREATE, "Nobel laureate", "class")
    planned = nobel.plan("How many laureates were born in Germany or France?")
    assert [(one.words, one.label) for one in planned.named][1:] == [("Germany", "Germany"), ("France", "France")]
    planned = nobel.plan("blah xyzzy?")
    assert (planned.named, planned.candidates, planned.chosen, planned.computed) == ((), (), None, None)


def test_candidates_come_the_best_first_and_the_value_is_of_the_chosen(nobel: kgsparql.KnowledgeBase) -> None:
    planned = nobel.plan("How many Nobel laureates are there?")
    scores = [one.score for one in planned.candidates]
    assert scores == sorted(scores, reverse=True)
    assert planned.chosen is planned.candidates[0]
    assert planned.chosen.plan == a.Count(a.Instances(LAUREATE))
    assert planned.computed == nobel.run(planned.chosen.plan)
    assert planned.doubts == ()


def test_it_is_what_the_method_computes(nobel: kgsparql.KnowledgeBase) -> None:
    question = "How many laureates worked at University of Cambridge in purple?"
    planned, answered = nobel.plan(question), nobel.ask(question, retriever="query_plan")
    assert planned.chosen is not None
    assert planned.chosen.left_out == ("purple",)
    assert planned.doubts == tuple(gap.text for gap in answered.gaps) == ("what was computed leaves out 'purple'",)
    assert planned.computed == answered.computed


def test_an_entity_that_is_given_is_the_one_that_is_named(nobel: kgsparql.KnowledgeBase) -> None:
    planned = nobel.plan("How many laureates worked there?", entities=(CAMBRIDGE,))
    assert [one.term for one in planned.named if one.kind == "entity"] == [CAMBRIDGE]
    with pytest.raises(NotFoundError, match="is not in the graph"):
        nobel.plan("How many laureates worked there?", entities=(IRI("http://e.org/nowhere"),))


@pytest.mark.parametrize("prize", ["Nobel Prize in Physics", "Nobel Peace Prize"])
def test_who_did_something_are_the_people_who_did(nobel: kgsparql.KnowledgeBase, prize: str) -> None:
    """The prize has a predicate of its own that fits the verb: where it is awarded."""
    asked = [nobel.ask(f"{who} won the {prize}?") for who in ("Who", "Which people")]
    assert [answer.status for answer in asked] == ["answered"] * 2
    assert {own.term for own in asked[0].best} == {own.term for own in asked[1].best} != set()
