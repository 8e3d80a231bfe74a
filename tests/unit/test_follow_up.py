"""Questions that follow another one, on the bundled graph: what is filled in, what answers them, and what is not."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.answering.follow_up import Before
from kgsparql.cli import app
from tests.world import FIXTURES

TALKS = {
    "of a person": [
        ("Where was Marie Curie born?", "Warsaw"), ("and where did she die?", "Passy"), ("And when?", "1934-07-04"),
        ("what about Pierre Curie?", "1906-04-19"), ("Who was his wife?", "Marie Curie"),
    ],
    "of what was found": [
        ("Who won the Nobel Prize in Chemistry 1911?", "Marie Curie"), ("and in 1908?", "Ernest Rutherford"),
        ("And in Physics?", "Gabriel Lippmann"), ("Where did he work?", "University of Paris"),
    ],
    "of a place": [("Where was Marie Curie born?", "Warsaw"), ("In which country is it?", "Poland")],
    "in German": [
        ("Wo wurde Marie Curie geboren?", "Warschau"), ("Und wo ist sie gestorben?", "Passy"),
        ("und Pierre Curie?", "Paris"),
    ],
    "in French": [("Où est née Marie Curie ?", "Varsovie"), ("Où est-elle morte ?", "Passy")],
    "in Spanish": [("¿Dónde nació Marie Curie?", "Warsaw"), ("¿y dónde murió?", "Passy")],
}  # fmt: skip


@pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS)
def test_what_is_left_out_is_filled_in_and_said(nobel: kgsparql.KnowledgeBase, talk: list[tuple[str, str]]) -> None:
    before: kgsparql.Answer | None = None
    for question, right in talk:
        answer = nobel.ask(question, after=before)
        assert (answer.status, [own.label for own in answer.best]) == ("answered", [right]), question
        assert any(note.code == "follow_up" for note in answer.notes) == (before is not None), question
        if before is not None:
            alone = nobel.ask(answer.question)
            assert [own.term for own in alone.best] == [own.term for own in answer.best], "it stands for itself"
        before = answer


def test_what_was_filled_in_is_said_in_the_language_of_the_question(nobel: kgsparql.KnowledgeBase) -> None:
    said = {
        "in German": [
            "'sie' wurde für Marie Curie gehalten", "noch einmal gefragt, mit 'Pierre Curie' statt 'Marie Curie'",
        ],
        "in French": ["'elle' a été pris pour Marie Curie"], "in Spanish": ["preguntado sobre Marie Curie"],
    }  # fmt: skip
    for talk, notes in said.items():
        before, told = None, list[str]()
        for question, _ in TALKS[talk]:
            before = nobel.ask(question, after=before)
            told += [note for note in before.notes if note.code == "follow_up"]
        assert told == notes


def test_how_many_of_them_are_those_that_were_found(nobel: kgsparql.KnowledgeBase) -> None:
    before = nobel.ask("Who won the Nobel Peace Prize?")
    found = nobel.ask("Which of them were born in South Africa?", after=before)
    assert {own.label for own in found.best} == {"F. W. de Klerk", "Nelson Mandela"}
    assert {own.term for own in found.best} < {own.term for own in before.best}
    counted = nobel.ask("How many of them were born in South Africa?", after=before)
    assert str(counted.text).startswith("2 ")
    assert nobel.ask("how many?", after=before).text.startswith("6 ")


def test_whom_a_pronoun_means_is_doubted_where_nothing_tells(nobel: kgsparql.KnowledgeBase) -> None:
    assert nobel.ask("Where were they born?").status == "partial"
    before = nobel.ask("When was Marie Curie born?")
    answer = nobel.ask("In which country is it?", after=before)  # a person and a date are no `it`
    assert answer.status != "answered"
    plain = nobel.ask("Where was Pierre Curie born?", after=before)
    assert plain.question == "Where was Pierre Curie born?"
    assert not any(note.code == "follow_up" for note in plain.notes)


def test_a_pronoun_of_what_the_question_names_itself_and_one_that_stands_for_nothing_are_left(
    nobel: kgsparql.KnowledgeBase,
) -> None:
    before = nobel.ask("Where was Irène Joliot-Curie born?")
    for question in (
        "Which prize did Marie Curie share with her husband?",
        "Is it true that Marie Curie was born in Warsaw?",
        "Who was born in Warsaw and worked there?",
        "Wie viele Preise gibt es?",
        "Combien de prix y a-t-il ?",
    ):
        assert nobel.ask(question, after=before).question == question


def test_what_is_kept_of_an_answer_serves_as_well(nobel: kgsparql.KnowledgeBase) -> None:
    answer = nobel.ask("Who won the Nobel Prize in Physics 1908?")
    assert Before.from_json(answer_to_json(answer)) == Before.of(answer)


def test_on_the_command_line() -> None:
    lines = "Where was Marie Curie born?\nand where did she die?\n"
    asked = ["ask", "-i", "-k", str(FIXTURES / "nobel.ttl"), "--embedder", "none", "--no-model", "-f", "plain"]
    done = CliRunner().invoke(app, asked, input=lines)
    assert (done.exit_code, done.stdout) == (0, "Warsaw\nPassy\n"), done.stderr
    refused = CliRunner().invoke(app, [*asked, "Where was Marie Curie born?"], input=lines)
    assert (refused.exit_code, "leave one out" in refused.stderr) == (2, True)
