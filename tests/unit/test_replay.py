"""Questions recorded with a model server and asked again without it: the same bytes, whatever went wrong meanwhile."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kgsparql.answering.answer_json import answer_to_json
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.storage.response_cache import ResponseCache
from tests.model_server import Cut, Html, Length, ModelServer, NullContent, Refusal, Reply, Text
from tests.scripted import by_call, wrote

BORN = "Where was Marie Curie born?"


def empty_first(reply: Reply) -> Any:
    """A model whose first reply is empty."""
    numbers = count()
    return lambda _: NullContent() if next(numbers) == 0 else reply


SCRIPTS: dict[str, dict[str, Any]] = {
    "mentions refused": {"mentions": Refusal()},
    "mentions cut at the limit": {"mentions": Length('{"mentions": [')},
    "a page instead of mentions": {"mentions": Html()},
    "mentions broken off": {"mentions": Cut(20)},
    "mentions empty, then there": {"mentions": empty_first(Text({"mentions": []}))},
    "answer refused": {"answer": Refusal()},
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_M01_M02_M03_a_question_with_a_fallback_is_replayed_to_the_same_bytes(
    nobel: KnowledgeBase, tmp_path: Path, script: dict[str, Any]
) -> None:
    path = tmp_path / "x.sqlite"

    def ask(response_cache: ResponseCache, url: str) -> str:
        with OpenAIClient(url, timeout_s=5) as client:
            asked = LanguageModel("m", client, response_cache=response_cache)
            answer = answer_to_json(nobel.ask(BORN, model=asked, retriever="mindmap", options={"verbalise": "model"}))
        answer["usage"] |= dict.fromkeys(("seconds", "cached_calls", "paid_cost"))
        return json.dumps(answer, ensure_ascii=False, default=str)

    with ModelServer(by_call(**{"answer": wrote("So [P1]."), **script})) as server:
        with ResponseCache(path, mode="write") as response_cache:
            recorded = ask(response_cache, server.url)
        assert server.requests
    with ResponseCache(path, mode="only") as response_cache:
        assert ask(response_cache, server.url) == recorded
    with ResponseCache(path, mode="use") as response_cache:
        assert ask(response_cache, server.url) == recorded
