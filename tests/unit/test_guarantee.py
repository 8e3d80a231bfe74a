"""Under a guarantee stand as few readings as hold the right one so often as was asked for, or none."""

import json

import pytest

import kgsparql
from kgsparql.answering.ask_options import GUARANTEES
from kgsparql.answering.confidence import SIGNALS, guarantee
from kgsparql.errors import OptionError
from kgsparql.knowledge_base import KnowledgeBase
from tests.world import BORN

IN_DOUBT = "Which laureates died before 1970 in hospital?"


def test_a_sure_answer_that_is_enough_stays_and_costs_no_query(nobel: KnowledgeBase) -> None:
    plain, held = nobel.ask(BORN), nobel.ask(BORN, guarantee=95)
    assert (held.sure, held.text, held.choices) == (True, plain.text, ())
    assert (held.guarantee, plain.guarantee) == (95, 0)
    assert held.usage["queries"] <= plain.usage["queries"]  # names of classes are kept from the first
    assert [note for note in held.notes if note.code == "guarantee"] == [
        "answers that are as sure are right in 95 of 100 questions"
    ]


def test_readings_that_are_enough_are_the_first_of_those_under_the_doubt(nobel: KnowledgeBase) -> None:
    plain, held = nobel.ask(IN_DOUBT), nobel.ask(IN_DOUBT, guarantee=80)
    assert (len(plain.choices), held.choices, held.guarantee) == (3, plain.choices[:1], 80)
    assert held.text.startswith("No sure answer: it is one of these readings in 80 of 100 questions\n")
    assert "'hospital' is left out" in [*held.notes]
    chosen = nobel.ask(IN_DOUBT, guarantee=80, reading=1)
    assert (chosen.sure, chosen.guarantee, len(chosen.best)) == (True, 0, held.choices[0].count)


def test_where_no_readings_are_enough_there_are_neither_readings_nor_answers(nobel: KnowledgeBase) -> None:
    none = nobel.ask(IN_DOUBT, guarantee=95)
    said = "no set of readings holds the right answer in 95 of 100 questions; 'hospital' is left out"
    assert (none.text, none.gaps[0].text) == (f"No sure answer: {said}", said)
    assert (none.choices, none.answers, none.values, none.guarantee, none.confidence) == ((), (), (), 0, 0)
    assert len(none.evidence)
    shown = json.loads(kgsparql.render(none, "json"))
    assert (shown["guarantee"], shown["choices"], shown["status"]) == (0, [], "partial")


def test_that_nothing_is_in_the_graph_is_kept_only_where_it_is_likely_enough(nobel: KnowledgeBase) -> None:
    question = "Whom did Paul Dirac marry?"
    assert nobel.ask(question).status == "not_in_graph"
    for percent in GUARANTEES:
        answer = nobel.ask(question, guarantee=percent)
        assert answer.choices == ()
        assert answer.sure == (answer.guarantee == percent)


def test_what_a_limit_cuts_off_is_not_guaranteed(nobel: KnowledgeBase) -> None:
    cut = nobel.ask(BORN, guarantee=80, budget=kgsparql.Budget(max_queries=3))
    assert (cut.guarantee, cut.choices, cut.sure) == (0, (), False)


def test_more_questions_of_100_never_take_fewer_readings() -> None:
    own = guarantee()
    for share in range(21):
        signals = dict.fromkeys(SIGNALS, share / 20)
        sizes = [own.size(signals, 3, percent) or 4 for percent in GUARANTEES]
        assert sizes == sorted(sizes)
    assert own.size(dict.fromkeys(SIGNALS, 1.0), 1, 95) == 1
    assert own.size(dict.fromkeys(SIGNALS, 1.0), 0, 80) == 0


def test_what_was_not_measured_is_refused(nobel: KnowledgeBase) -> None:
    with pytest.raises(OptionError, match="no guarantee of 99 in 100"):
        nobel.ask(BORN, guarantee=99)
    why = "a guarantee with a model, or with a method that is named"
    with pytest.raises(OptionError, match=why):
        nobel.ask(BORN, guarantee=90, retriever="path_ranking")
    with pytest.raises(OptionError, match=why), kgsparql.open_model("one", base_url="http://127.0.0.1:9/v1") as model:
        nobel.ask(BORN, guarantee=90, model=model)
