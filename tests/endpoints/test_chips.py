"""Guided building, and a user's own words, over a real server: the same parts, options and counts as over a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgsparql
from kgsparql.plans.chips import chips, options
from kgsparql.rdf.terms import IRI

QUESTIONS = [
    "Which laureates were born in Warsaw?",
    "How many laureates were born after 1900?",
    "Which country has the most laureates?",
    "List the laureates without a spouse.",
    "How many laureates were born in each country?",
]


@pytest.fixture
def served(nobel_url: str) -> Iterator[kgsparql.KnowledgeBase]:
    with kgsparql.open(nobel_url, embedder="none") as opened:
        yield opened


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_offered_at_an_endpoint_is_what_is_offered_over_a_file(
    nobel: kgsparql.KnowledgeBase, served: kgsparql.KnowledgeBase, question: str
) -> None:
    planned = served.plan(question)
    plan = (planned.chosen or planned.candidates[0]).plan
    assert plan == (nobel.plan(question).chosen or nobel.plan(question).candidates[0]).plan
    for chip in chips(plan):
        here, _ = options(plan, chip, nobel.graph)
        there, _ = options(plan, chip, served.graph)
        assert {(str(one.plan), one.count) for one in there} == {(str(one.plan), one.count) for one in here}, chip
        assert all(one.count != 0 for one in there), chip


def test_own_words_are_kept_for_an_endpoint(
    served: kgsparql.KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    served.own_words.keep("home", IRI("http://dbpedia.org/ontology/birthPlace"))
    answer = served.ask("What is the home of Marie Curie?")
    assert (answer.status, answer.best[0].label) == ("answered", "Warsaw")
    assert [note.code for note in answer.notes] == ["own_word"]
