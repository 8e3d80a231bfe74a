"""Evidence put in a better order once all of it is there: by a model's numbers, by an oracle, by nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.choosing import OracleChooser
from kgsparql.answering.pipeline import retrieve
from kgsparql.answering.reranking import reranked_retrieval
from kgsparql.budget import Budget
from kgsparql.errors import OptionError
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.retrievers import load
from tests.conftest import FIXTURES
from tests.model_server import ModelServer, Text
from tests.scripted import by_call, facts_of, numbered, purpose, reader, wrote

CURIE = "Which scientists studied with Marie Curie?"
Ask = Callable[..., tuple[Answer, ModelServer]]


@pytest.fixture(scope="module")
def nobel() -> kgsparql.KnowledgeBase:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


@pytest.fixture
def ask(nobel: kgsparql.KnowledgeBase) -> Iterator[Ask]:
    opened: list[tuple[ModelServer, LanguageModel]] = []

    def run(script: Any, question: str = CURIE, **options: Any) -> tuple[Answer, ModelServer]:
        server = ModelServer(script).__enter__()
        model = LanguageModel("scripted-model", OpenAIClient(server.url, timeout_s=5.0))
        opened.append((server, model))
        return nobel.ask(question, model=model, **{"retriever": "mindmap", "rerank": 3, **options}), server

    yield run
    for server, model in opened:
        model.client.close()
        server.__exit__(None, None, None)


def in_that_order(*places: int) -> dict[str, Any]:
    return {"choices": [{"n": n, "score": 1 - i / 10} for i, n in enumerate(places)]}


READ = by_call(answer=reader)
NOTHING: dict[str, Any] = {"choices": []}


def test_what_the_model_chooses_comes_first_and_nothing_is_thrown_away(ask: Ask, nobel: kgsparql.KnowledgeBase) -> None:
    before = list(nobel.retrieve(CURIE, retriever="mindmap", options={"mentions": "linker"}).evidence)
    answer, server = ask(by_call(choices=in_that_order(4, 2), answer=reader), options={"mentions": "linker"})
    assert [item.marker for item in answer.evidence] == [before[i].marker for i in (3, 1, 0, 2, *range(4, len(before)))]
    assert {item.marker: item.text for item in answer.evidence} == {item.marker: item.text for item in before}
    assert [purpose(request.body) for request in server.requests] == ["choices", "answer"]
    assert list(numbered(server.requests[0].body).values())[: len(before)] == [item.text for item in before]
    assert [marker for marker, _ in facts_of(server.requests[1].body)] == [item.marker for item in answer.evidence]
    assert (answer.usage["model_calls"], answer.usage["rounds"]) == (2, 2)
    scores = [item.score for item in answer.evidence]
    assert scores[0] > scores[1] > max(scores[2:])


def test_candidates_follow_the_best_item_that_they_are_in(nobel: kgsparql.KnowledgeBase) -> None:
    before = nobel.retrieve(CURIE, retriever="path_ranking")
    after = rest_of(nobel, "path_ranking", gold=before.evidence["P3"].ways[0].property_path)
    assert [item.marker for item in after.evidence][:2] == ["P3", "P1"]
    first = {c.term for c in after.candidates if c.markers[0] == "P3"}
    assert first == set(after.evidence["P3"].ends)
    assert [c.markers[0] for c in after.candidates[: len(first)]] == ["P3"] * len(first)
    assert {c.score for c in after.candidates[: len(first)]} == {after.evidence["P3"].score}
    assert {c.term for c in after.candidates} == {c.term for c in before.candidates}
    assert sorted((c.score for c in after.candidates), reverse=True) == [c.score for c in after.candidates]


def rest_of(nobel: kgsparql.KnowledgeBase, method: str, *, gold: Any) -> Any:
    """What an oracle makes of the evidence that was found without it."""
    session = nobel.session(CURIE, AskOptions())
    found = retrieve(load(method), session)
    session.chooser = session.choose = OracleChooser((), session.ranked, session.emit, paths=[gold])
    return reranked_retrieval(found, session, first=5)


def test_without_a_model_nothing_changes_and_a_note_says_so(nobel: kgsparql.KnowledgeBase) -> None:
    plain, asked = (nobel.ask(CURIE, rerank=n) for n in (None, 5))
    assert asked.evidence.keep(asked.cited).triples == plain.evidence.keep(plain.cited).triples
    assert [(a.term, a.score) for a in asked.answers] == [(a.term, a.score) for a in plain.answers]
    assert set(asked.notes) - set(plain.notes) == {"the evidence was not put in another order: there is no model"}


@pytest.mark.parametrize("reply", ["The third and the first.", NOTHING, in_that_order(999)])
def test_a_reply_of_no_use_leaves_the_order_as_it_was(ask: Ask, nobel: kgsparql.KnowledgeBase, reply: Any) -> None:
    before = nobel.retrieve(CURIE, retriever="mindmap", options={"mentions": "linker"})
    answer, _ = ask(by_call(choices=Text(reply), answer=reader), options={"mentions": "linker"})
    assert [item.marker for item in answer.evidence] == [item.marker for item in before.evidence]
    assert [item.score for item in answer.evidence] == [item.score for item in before.evidence]
    said = [f.purpose for f in answer.fallbacks if "embedding" not in f.reason]
    assert said == ([] if reply == NOTHING else ["pieces of evidence"])


def test_the_last_call_of_the_budget_is_for_the_answer(ask: Ask) -> None:
    answer, server = ask(READ, options={"mentions": "linker"}, budget=Budget(max_calls=1))
    assert [purpose(request.body) for request in server.requests] == ["answer"]
    assert "pieces of evidence" in [f.purpose for f in answer.fallbacks]
    assert answer.status == "answered"


def test_an_answer_that_is_written_already_is_not_asked_about_again(ask: Ask) -> None:
    script = by_call(answer=lambda body: wrote("It was so [P1].", entities=[1]))
    with_it, _ = ask(script, retriever="think_on_graph", complete=False)
    without, _ = ask(script, retriever="think_on_graph", complete=False, rerank=None)
    assert with_it.usage["model_calls"] == without.usage["model_calls"]
    assert with_it.text == without.text


@pytest.mark.parametrize("first", [0, -1, 61])
def test_a_number_out_of_range_is_refused_before_anything_is_asked(first: int) -> None:
    with pytest.raises(OptionError, match="rerank"):
        AskOptions(rerank=first)
