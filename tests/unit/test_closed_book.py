"""The model alone: what it knows is never the graph's."""

import json
from typing import Any

import pytest

from kgsparql import Answer, KnowledgeBase, LanguageModel, Literal
from kgsparql.errors import ModelReplyError
from kgsparql.evaluation.closed_book import NOT_KNOWN, ClosedBook
from kgsparql.evaluation.runs.plan import load_methods
from kgsparql.models.openai_client import OpenAIClient
from tests.model_server import ModelServer, Text

RADIUM = "Who discovered radium?"


def replied(nobel: KnowledgeBase, text: Any, **options: Any) -> tuple[Answer, list[Any]]:
    """What the method makes of a reply, and what the model was asked."""
    with (
        ModelServer([Text(text)]) as server,
        LanguageModel("scripted-model", OpenAIClient(server.url, timeout_s=5.0)) as model,
    ):
        return nobel.ask(RADIUM, retriever=ClosedBook(), model=model, **options), server.requests


def test_names_that_a_model_knows_are_never_the_graph_s(nobel: KnowledgeBase) -> None:
    answer, (request,) = replied(nobel, {"answers": ["Marie Curie", "Pierre Curie", "marie curie"]})
    assert (answer.grounding, len(answer.evidence), answer.claims) == ("model", 0, ())
    assert [(a.term, a.label, a.markers) for a in answer.answers] == [
        (Literal("Marie Curie"), "Marie Curie", ()), (Literal("Pierre Curie"), "Pierre Curie", ()),
    ]  # fmt: skip
    assert answer.answers[0].score > answer.answers[1].score
    assert (answer.usage["model_calls"], answer.text) == (1, "Marie Curie; Pierre Curie")
    rules, question = request.body["messages"]
    assert question["content"] == f"Question: {RADIUM}", "it is asked nothing of the graph"
    assert "radium" not in rules["content"].lower()
    assert nobel.ask(RADIUM, retriever=ClosedBook()).answers == ()


def test_a_model_that_does_not_know_gives_no_answer_and_a_reply_without_a_list_is_an_error(
    nobel: KnowledgeBase,
) -> None:
    replies: tuple[Any, ...] = ({"answers": []}, {"answers": ["unknown"]}, {"answers": ["I don't know", " "]}, [])
    for reply in replies:
        answer, _ = replied(nobel, json.dumps(reply))
        assert (answer.status, answer.answers, answer.text) == ("not_in_graph", (), NOT_KNOWN)
    for text in ("It was Marie Curie.", '{"names": 3}'):
        with pytest.raises(ModelReplyError):
            replied(nobel, text, require_model=True)


def test_it_is_a_baseline_where_there_is_a_model() -> None:
    methods, (note,) = load_methods(["baselines"], {}, model=False)
    assert (methods, note.startswith("closed_book is left out: it asks the model")) == ([], True)
    methods, notes = load_methods(["baselines"], {"closed_book": {"most": "3"}}, model=True)
    assert ([method.label for method in methods], notes) == (["path_ranking+no_model", "closed_book"], [])
    assert (methods[1].options, methods[1].links) == ({"most": 3}, False)
