"""What of a question an answer accounts for; which question has which answer, and which doubts, is in ``golden/``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import kgsparql
from kgsparql import IRI, LinkedEntity, Mention, answer_to_json
from kgsparql.reading.asking import Asked
from kgsparql.reading.chunks import chunked
from tests.world import FIXTURES

FILMS = FIXTURES / "golden" / "films.ttl"


def test_a_predicate_that_leads_both_ways_is_no_answer_where_none_is_asked() -> None:
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl")
    asked = knowledge.ask("Who did a PhD under Paul Langevin?")  # to a model, much like whom he did it under
    assert (asked.status, [gap.text for gap in asked.gaps]) == ("partial", ["P2 fits the question as well as P1"])
    assert knowledge.ask("Who was Paul Langevin's doctoral advisor?").status == "answered"


def test_what_two_labels_have_of_a_mention_may_mean_both() -> None:
    """To a model, `Ekman die` is like Olof Ekman; what is in the label of it is only Ekman."""
    link = LinkedEntity(IRI("e:o"), "Olof Ekman", 0.83, "entity", "vector", Mention("Ekman die", 10, 19))
    other = LinkedEntity(IRI("e:l"), "Lena Ekman", 0.81, "entity", "vector", Mention("Ekman", 10, 15))
    assert replace(link, candidates=(other,)).likely_alternatives == (other,)


def test_a_name_is_rather_what_is_written_just_so(shared_data: Path) -> None:
    knowledge = kgsparql.open(shared_data / "schemaorg" / "graph.nt.gz", embedder="none")
    answer = knowledge.ask("How many properties does Event have?")  # of the class, and not of `event`
    assert ([one.label for one in answer.best], answer.status) == (["43"], "partial")  # or of which it is the range


def test_operations() -> None:
    for question, text in (
        ("How many films are there?", "how many there are"), ("Who won more than two prizes?", "for a comparison"),
        ("Who was hired before 2015?", "for a comparison"), ("What is the total budget?", "for the total"),
        ("Which employees don't have a manager?", "for what is not so"), ("Is Ann a chemist?", "for yes or no"),
        ("Who is the youngest?", "for the youngest"), ("Who wrote Nothing but the Truth?", None), ("Who is Isa?", None),
        ("Is Ann or Bob older?", "for a comparison"), ("Why is Ann famous?", "for a reason"),
        ("What is the second prize of Ann?", "for the second"), ("What are the films of Ann?", None),
    ):  # fmt: skip
        asked = [text for _, text in Asked.of(chunked(question, None)).operations()]
        assert asked[:1] == ([] if text is None else [text]), question


def test_what_is_not_accounted_for_is_said_first_and_in_json() -> None:
    answer = kgsparql.open(FILMS, embedder="none").ask("Who directed The Tide?", retriever="path_ranking")
    assert answer.text.splitlines()[0] == (
        "No sure answer: this graph knows 'directed by', but nothing of it was found here"
    )
    assert answer_to_json(answer)["not_understood"][0]["words"] == "directed"
