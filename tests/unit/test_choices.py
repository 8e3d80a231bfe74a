"""Under a doubt stand the likely readings, and the one that is chosen by its number is the answer."""

import pytest

import kgsparql
from kgsparql.errors import OptionError
from kgsparql.knowledge_base import KnowledgeBase
from tests.world import graph_of

IN_DOUBT = "Which laureates died before 1970 in hospital?"
OF_ONE_OF_TWO = "Which prize went to Tinbergen?"


def test_a_doubt_has_at_most_three_readings_and_a_sure_answer_none(nobel: KnowledgeBase) -> None:
    answer = nobel.ask(IN_DOUBT)
    assert not answer.sure
    assert 2 <= len(answer.choices) <= 3
    assert len({choice.reading for choice in answer.choices}) == len(answer.choices)
    likeliest = answer.choices[0]
    assert likeliest.reading == "Nobel laureates whose date of death is before 1970"
    assert (likeliest.count, len(likeliest.first)) == (len(answer.values), 3)
    assert nobel.ask("Which laureates died before 1970?").choices == ()


@pytest.mark.parametrize("question", [IN_DOUBT, OF_ONE_OF_TWO, "How many Germans won?", "Who was Bohr's teacher?"])
def test_the_reading_that_is_chosen_is_the_answer_and_is_sure(nobel: KnowledgeBase, question: str) -> None:
    for number, choice in enumerate(nobel.ask(question).choices, 1):
        answer = nobel.ask(question, reading=number)
        assert answer.sure
        assert [one.shown for one in answer.best][: len(choice.first)] == [*choice.first]
        assert len(answer.best) == choice.count
        assert all(triple.verified for item in answer.evidence.keep(answer.cited) for triple in item.triples)
        assert any(note.code == "chosen" and choice.reading in str(note) for note in answer.notes)


def test_each_meaning_of_a_name_is_a_reading_of_its_own(nobel: KnowledgeBase) -> None:
    first, second = nobel.ask(OF_ONE_OF_TWO).choices[:2]
    assert {first.reading, second.reading} == {
        "awards that Jan Tinbergen received", "awards that Nikolaas Tinbergen received",
    }  # fmt: skip
    assert first.first != second.first


def test_a_number_that_no_reading_has_is_refused_with_how_many_there_are(nobel: KnowledgeBase) -> None:
    with pytest.raises(OptionError, match="no reading 9 of this question: there are 3"):
        nobel.ask(IN_DOUBT, reading=9)
    with pytest.raises(OptionError, match="no reading 2 of this question: there is no choice"):
        nobel.ask("Who was born on Mars?", reading=2)


def test_readings_that_lead_to_the_same_are_one_and_none_comes_to_nothing(nobel: KnowledgeBase) -> None:
    answer = nobel.ask("Who is the father of the winner of the prize?")
    assert all(choice.count and choice.first for choice in answer.choices)
    assert len({choice.first for choice in answer.choices}) == len(answer.choices)


def test_what_keeps_readings_from_being_followed_is_said_and_the_answer_stands(nobel: KnowledgeBase) -> None:
    whole = nobel.ask(IN_DOUBT)
    cut = nobel.ask(IN_DOUBT, budget=kgsparql.Budget(max_queries=whole.usage["queries"] - 3))
    assert [note.code for note in whole.notes if note.code == "readings_cut"] == []
    (note,) = [note for note in cut.notes if note.code == "readings_cut"]
    assert note.startswith("not every reading was followed: ")
    assert (cut.gaps, cut.values, list(cut.evidence)) == (whole.gaps, whole.values, list(whole.evidence))
    assert set(cut.choices) < set(whole.choices)
    assert cut.choices


def test_who_wants_no_readings_pays_for_none(nobel: KnowledgeBase) -> None:
    listed, bare = nobel.ask(IN_DOUBT), nobel.ask(IN_DOUBT, choices=False)
    assert (bare.choices, bare.gaps, bare.values) == ((), listed.gaps, listed.values)
    assert bare.usage["queries"] < listed.usage["queries"]


def test_no_reading_is_what_nobody_means(nobel: KnowledgeBase) -> None:
    """A step twice that is said once, there and back, or what is named itself."""
    asked = ("Who was Albert Einstein's second wife?", "Who was Ernest Rutherford's mentor's mentor?")
    second, mentors = ([one.reading for one in nobel.ask(question).choices] for question in asked)
    assert second[0] == "spouse of Albert Einstein"
    assert not any("spouses of spouses" in reading or "others that" in reading for reading in (*second, *mentors))
    assert all("Albert Einstein" not in one.first for one in nobel.ask(asked[0]).choices)


def test_a_name_with_a_word_in_quotes_is_not_surely_what_was_said() -> None:
    turtle = ':c a :Recipe ; rdfs:label "100% Fruit \\"Cake\\"" ; :rating 5 . :Recipe rdfs:label "recipe" .'
    turtle += ':k a :Recipe ; rdfs:label "Moist Carrot Cake" ; :rating 4 . :rating rdfs:label "rating" .'
    recipes = KnowledgeBase(graph_of(turtle), embedder="none")
    carrot, fruit = (recipes.ask(f"What is the rating of {name}?") for name in ("Carrot Cake", "Fruit Cake"))
    assert (carrot.sure, carrot.values, fruit.sure) == (True, (4,), False)
    assert "may mean 100% Fruit" in fruit.gaps[0].text
