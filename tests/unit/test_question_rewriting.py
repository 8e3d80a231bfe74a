"""The question said more precisely before the search: what it changes, and what it must not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.entity_linking import EntityLinking
from kgsparql.answering.question_rewriting import LONGEST, RULES
from kgsparql.answering.session import Session
from kgsparql.budget import Budget
from kgsparql.events import Event, QueryRun
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from tests.conftest import FIXTURES
from tests.model_server import ModelServer, Reply, Text
from tests.scripted import Body, by_call, question_of, reader
from tests.sessions import linked

QUESTION = "Who was Marie Curie hitched to?"
PRECISE = "Which person was the spouse of Marie Curie?"
Ask = Callable[..., tuple[Answer, ModelServer]]


@pytest.fixture(scope="module")
def nobel() -> kgsparql.KnowledgeBase:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


@pytest.fixture
def ask(nobel: kgsparql.KnowledgeBase) -> Iterator[Ask]:
    """Asks with a model that rewrites the question as it is told, and plays along otherwise."""
    opened: list[tuple[ModelServer, LanguageModel]] = []

    def run(rewriting: Any, question: str = QUESTION, **options: Any) -> tuple[Answer, ModelServer]:
        others = by_call(answer=reader)

        def script(body: Body) -> Reply:
            return Text(rewriting) if is_rewriting(body) else others(body)

        server = ModelServer(script).__enter__()
        model = LanguageModel("scripted-model", OpenAIClient(server.url, timeout_s=5.0))
        opened.append((server, model))
        return nobel.ask(question, model=model, **{"augment": True, **options}), server

    yield run
    for server, model in opened:
        model.client.close()
        server.__exit__(None, None, None)


def is_rewriting(body: Body) -> bool:
    return bool(body["messages"][0]["content"] == RULES)


def test_paths_are_ranked_by_the_precise_question_and_answered_to_the_one_that_was_asked(ask: Ask) -> None:
    plain, _ = ask({}, augment=False)
    answer, server = ask({"question": PRECISE})
    rewriting, paths, written = (request.body for request in server.requests)
    assert question_of(rewriting) == QUESTION
    assert question_of(paths) == PRECISE
    assert question_of(written) == QUESTION
    assert answer.question == QUESTION
    assert f"searched as: {PRECISE}" in answer.notes
    assert "spouse" in answer.evidence["P1"].text
    assert (answer.usage["model_calls"], answer.usage["rounds"]) == (
        plain.usage["model_calls"] + 1, plain.usage["rounds"] + 1,
    )  # fmt: skip
    assert answer.fallbacks == plain.fallbacks


def test_names_keep_their_places_in_other_words(nobel: kgsparql.KnowledgeBase) -> None:
    session = linked(nobel.session(QUESTION, AskOptions()))
    with session.with_rewritten_question(PRECISE):
        assert session.masked_question == "Which person was the spouse of ?"
        assert session.links[0].mention.text == "Marie Curie"
    assert session.masked_question == "Who was hitched to?"


class _Counting(Linker):
    """A linker that keeps what it was asked."""

    def __init__(self, linker: Linker) -> None:
        super().__init__(linker.index, linker.embedder, languages=linker.languages)
        self.asked: list[tuple[str, Any]] = []

    def link(self, question: str, mentions: Any = None) -> tuple[LinkedEntity, ...]:
        self.asked.append((question, mentions))
        return super().link(question, mentions)


def counting(nobel: kgsparql.KnowledgeBase) -> tuple[Session, _Counting]:
    session = nobel.session(QUESTION, AskOptions())
    assert session.linker is not None
    session.linker = linker = _Counting(session.linker)
    return session, linker


def test_the_linker_reads_the_question_once_for_its_names_and_its_links(nobel: kgsparql.KnowledgeBase) -> None:
    session, linker = counting(nobel)
    linking = EntityLinking(session)
    assert linking.names() == ["Marie Curie"]
    linking.link()
    assert [link.label for link in session.links] == ["Marie Curie"]
    assert linking.names() == ["Marie Curie"]
    assert linker.asked == [(QUESTION, None)]


def test_names_that_were_read_leave_the_links_to_what_a_model_finds(nobel: kgsparql.KnowledgeBase) -> None:
    session, linker = counting(nobel)
    linking = EntityLinking(session)
    linking.names()
    mentions = [("Pierre Curie", False)]
    linking.link(mentions)
    assert [link.label for link in session.links] == ["Pierre Curie"]
    assert linking.names() == ["Marie Curie"]
    assert linker.asked == [(QUESTION, None), (QUESTION, mentions)]


def test_what_is_linked_are_the_words_that_were_asked(ask: Ask) -> None:
    added = "Which person was the spouse of Marie Curie and knew Richard Feynman?"
    for method in ("path_ranking", "mindmap", "entity"):
        answer, _ = ask({"question": added}, retriever=method)
        assert f"searched as: {added}" in answer.notes
        assert [link.label for link in answer.linked] == ["Marie Curie"]


def test_no_word_of_the_model_is_in_a_query(ask: Ask) -> None:
    events: list[Event] = []
    word = "xylotomous"
    ask({"question": f"Which {word} person was the spouse of Marie Curie?"}, emit=events.append)
    queries = [event.text for event in events if isinstance(event, QueryRun)]
    assert queries
    assert not any(word in text for text in queries)


@pytest.mark.parametrize(
    ("rewriting", "why"),
    [
        ({"question": ""}, "no question"),
        ({"question": " … "}, "no question"),
        ({"question": 7}, "no question"),
        ({"answer": "Pierre Curie"}, "no question"),
        ("Certainly!", ""),
        ({"question": f"Who was Marie Curie's spouse{'?' * LONGEST}"}, "characters"),
        ({"question": "Which person was her spouse?"}, "lacks 'Marie Curie'"),
    ],
)
def test_a_rewriting_of_no_use_is_counted_and_the_question_stays(ask: Ask, rewriting: Any, why: str) -> None:
    plain, _ = ask({}, augment=False)
    answer, _ = ask(rewriting)
    (fallback,) = [f for f in answer.fallbacks if f.purpose == "rewriting"]
    assert why in fallback.reason
    assert not any(note.startswith("searched as") for note in answer.notes)
    assert (answer.text, answer.evidence.triples) == (plain.text, plain.evidence.triples)


def test_the_same_words_are_no_rewriting(ask: Ask) -> None:
    answer, _ = ask({"question": QUESTION.lower()})
    assert not any(note.startswith("searched as") for note in answer.notes)
    assert "rewriting" not in [f.purpose for f in answer.fallbacks]


def test_the_last_call_of_the_budget_is_for_the_answer(ask: Ask) -> None:
    answer, server = ask({"question": PRECISE}, budget=Budget(max_calls=1))
    assert not any(is_rewriting(request.body) for request in server.requests)
    assert "rewriting" in [f.purpose for f in answer.fallbacks]
    assert answer.usage["model_calls"] == 1


def test_without_a_model_the_question_stays_and_a_note_says_so(nobel: kgsparql.KnowledgeBase) -> None:
    plain, asked = (nobel.ask(QUESTION, augment=wanted) for wanted in (False, True))
    assert asked.text == plain.text
    assert set(asked.notes) - set(plain.notes) == {"the question was not said more precisely: there is no model"}
