"""Readings of a question that a model chooses by their numbers: all that they come to is the answer, or the draft."""

from __future__ import annotations

from typing import Any

import pytest

from kgsparql.answering.readings import LISTED_READINGS
from kgsparql.errors import ModelError, ModelReplyError
from kgsparql.events import CandidatesChosen, Drafted, Finished
from tests import scripted
from tests.model_server import Refusal, Reply, Status, Text
from tests.scripted import Asked, chose, knowledge_of, numbered, purposes

EX = "http://example.org/"
ISLANDS = """
:iona rdfs:label "Iona" ; :ferry :mull , :staffa ; :owner :trust ; :founder :columba .
:mull rdfs:label "Mull" ; :owner :crown . :staffa rdfs:label "Staffa" . :trust rdfs:label "The Trust" .
:columba rdfs:label "Columba" . :crown rdfs:label "The Crown" .
"""
WHO = "who is the founder of Iona?"


def ask(script: Any, question: str = WHO, turtle: str = ISLANDS, **asking: Any) -> Asked:
    return scripted.ask(knowledge_of(turtle), question, script, **{"retriever": "path_ranking", **asking})


def at(asked: Asked, part: str) -> int:
    """The number of the first reading with these words."""
    return next(number for number, line in numbered(asked.bodies[0]).items() if part in line)


@pytest.fixture(scope="module")
def first() -> Asked:
    return ask([chose(1)])


def test_a_chosen_reading_is_all_that_it_leads_to_and_the_draft_was_shown_before(first: Asked) -> None:
    asked = ask([chose(at(first, "ferry"))])
    assert (set(asked.labels), asked.answer.evidence["P1"].text) == ({"Mull", "Staffa"}, "Iona —ferry→ Mull; Staffa")
    assert asked.answer.text.endswith("Mull, Staffa [P1]")
    assert len(set(asked.texts)) == len(asked.texts), "what was found and is chosen is one piece of evidence"
    assert [one.markers[0] for one in asked.answer.claims] == ["P1"]
    told = [event for event in asked.events if isinstance(event, Drafted | Finished)]
    assert [type(event).__name__ for event in told] == ["Drafted", "Finished"]
    assert [event.answer.answers[0].label for event in told if event.answer is not None] == ["Columba", "Mull"]
    (choice,) = [e for e in asked.events if isinstance(e, CandidatesChosen) and e.purpose == "reading"]
    assert (choice.chosen_by, choice.kept) == ("scripted-model", ("Iona —ferry→ … (2: Mull; Staffa)",))


def test_numbers_that_are_not_listed_are_dropped_and_counted_and_two_that_are_give_both(first: Asked) -> None:
    asked = ask([chose(at(first, "founder"), 99, 0)])
    assert (asked.labels, asked.answer.status) == (["Columba"], "answered")
    assert asked.answer.fallbacks[-1].reason == "2 of what the reply chose is not on the list"
    both = ask([chose(at(first, "founder"), at(first, "Iona —owner→ … ("))])
    assert [(one.label, one.markers) for one in both.answer.answers] == [("Columba", ("P1",)), ("The Trust", ("P2",))]


def test_a_choice_against_the_ranking_is_a_doubt_unless_the_model_is_trusted(first: Asked) -> None:
    other = ask([chose(at(first, "ferry"))]).answer
    assert (other.status, other.gaps[0].values) == ("partial", ("Columba",))


def test_none_is_asked_once_more_with_the_next_ten_and_then_the_draft_stands_with_a_note() -> None:
    many = ':iona rdfs:label "Iona" ; ' + " ; ".join(f':p{n} "{n}"' for n in range(24)) + " ."
    asked = ask([chose(), chose()], "what about Iona?", many, options={"prompt_paths": 30})
    one, two = (list(numbered(body).values()) for body in asked.bodies)
    assert (len(one), len(two), set(one) & set(two)) == (LISTED_READINGS, LISTED_READINGS, set())
    draft = ask(None, "what about Iona?", many)
    assert asked.labels == draft.labels
    assert "the model finds none of the readings to be what was asked" in asked.answer.notes
    later = ask([chose(), chose(3)], "what about Iona?", many, options={"prompt_paths": 30})
    assert f"(1: {later.labels[0]})" in two[2]


def test_what_has_to_be_computed_is_a_plan_that_the_model_writes() -> None:
    shops = '{} :Shop rdfs:label "shop" .'.format("".join(f':s{n} a :Shop ; rdfs:label "S{n}" .' for n in range(4)))
    plan = Text({"plan": "(count C1)", "left_out": "", "search": ""})
    asked = ask([chose(compute=True), plan], "How many shops are there?", shops, retriever="auto")
    assert purposes(asked) == ["reading", "plan"]
    assert (getattr(asked.answer.value, "value", None), asked.answer.retriever) == ("4", "query_plan")
    walked = ask([chose(1, compute=True)], WHO)
    assert (purposes(walked), walked.labels) == (["reading"], ["Columba"]), "path ranking is not asked to compute"


@pytest.mark.parametrize(
    "reply", [Status(500), Refusal(), Text(""), Text("Columba, of course."), Text('{"numbers": [7')], ids=str
)
def test_a_model_that_fails_leaves_the_draft_with_one_note_and_is_an_error_where_it_is_required(reply: Reply) -> None:
    def script(_: Any) -> Reply:
        return reply

    failed, without = ask(script).answer, ask(None).answer
    assert (failed.text, failed.status, failed.answers) == (without.text, without.status, without.answers)
    assert failed.confidence == without.confidence
    noted = [note for note in failed.notes if note.code == "model_failed"]
    assert len(noted) == 1
    assert noted[0].startswith("scripted-model did not help, the answer is the one without it: ")
    with pytest.raises((ModelError, ModelReplyError)):
        ask(script, require_model=True)


# --- Evidence that is given
