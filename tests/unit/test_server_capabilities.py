"""What is learnt from the words with which a server refuses a request, and what is not."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from kgsparql import LanguageModel, Usage
from kgsparql.errors import RequestRefusedError
from kgsparql.models.chat_completion import Call, Capabilities, Message, fewer_tokens, object_schema
from kgsparql.models.reply_json import plain_text
from kgsparql.storage.response_cache import ResponseCache
from tests.model_server import ModelServer, Reply, Status, Text

REFUSALS = {
    "temperature": [
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "Temperature isn't supported",
        json.dumps({"error": {"message": "Something is odd", "param": "temperature", "code": "unsupported_value"}}),
    ],
    "seed": [
        "Unrecognized request argument supplied: seed",
        "property 'seed' is unsupported, did you mean 'user'?",
        "seed: Extra inputs are not permitted",
        json.dumps({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 0}]}),
    ],
    "rung": [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "'response_format.type' must be 'json_object' or 'text'",
        "structured outputs are not supported by this model",
        "JSON mode is not enabled for this model",
        "failed to initialize samplers: failed to parse grammar",
        "Invalid schema for response_format 'test': In context=(), 'additionalProperties' is required",
    ],
    "system": [
        "Developer instruction is not enabled for this model",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Only user and assistant roles are supported!",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        json.dumps({"error": {"message": "Unsupported value", "param": "messages[0].role"}}),
    ],
    "limit": [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
}


def test_M18_a_parameter_is_blamed_in_many_words() -> None:
    for what, refusal in [(what, said) for what, all_ in REFUSALS.items() for said in all_]:
        found = Capabilities().after(refusal)
        assert found is not None
        now, before = asdict(found), asdict(Capabilities())
        changed = {name for name in now if now[name] != before[name]}
        assert changed == {"without"} if what in {"temperature", "seed"} else {what}
        assert what not in {"temperature", "seed"} or found.without == (what,)


def test_words_of_another_matter_blame_nothing_or_end_soon() -> None:
    for refusal in ("", "no such model", "the prompt is too long for this model", "max_tokens cannot exceed 2048"):
        assert Capabilities().after(refusal) is None
    mentioned = "prompt rejected by schema policy filter: your text mentions temperature and the system prompt"
    capabilities, steps = Capabilities(), 0
    while (less := capabilities.after(mentioned)) is not None:
        capabilities, steps = less, steps + 1
    assert (steps, capabilities) == (4, Capabilities("text", ("temperature",), system=False))


def test_a_limit_that_is_too_large_is_halved() -> None:
    for refusal, tokens in (
        ("'max_tokens' is too large: 4096. The maximum context length is 4500 tokens, with 900 input tokens.", 2048),
        ("maximum context length is 4097 tokens. You requested 4200 tokens (104 in the messages)", 2048),
        ("`max_tokens` must be less than or equal to `2000`, the maximum value for `max_tokens`", 2048),
        ("max_tokens: 4096 > 1000, which is the maximum allowed number of output tokens", 2048),
        ("max_tokens is not supported", None),
        ("the text exceeds 1000 tokens", None),
    ):
        assert fewer_tokens(refusal, 4096) == tokens
    assert fewer_tokens("max_tokens is too large", 100) is None


def ask(server: ModelServer, response_cache: ResponseCache, text: str) -> dict[str, Any]:
    """The last request that was sent for a question."""
    messages = (Message("system", "Be brief."), Message("user", text))
    with server.client() as client:
        LanguageModel("m", client, response_cache=response_cache).ask(
            Call("test", messages, object_schema(), plain_text), Usage(), lambda _: None
        )
    return server.requests[-1].body


def test_one_long_question_does_not_take_the_limit_from_the_others(tmp_path: Path) -> None:
    def script(body: dict[str, Any]) -> Reply:
        asked, length = body.get("max_tokens", 9_999), len(body["messages"][1]["content"])
        if length > 100 and asked > 3_600:
            says = "This model's maximum context length is 4500 tokens and your request has 900 input tokens."
            return Status(400, message=f"'max_tokens' or 'max_completion_tokens' is too large: {asked}. {says}")
        return Text("Paris")

    server = ModelServer(script)
    with ResponseCache(tmp_path / "x.sqlite") as response_cache:
        assert ask(server, response_cache, "long " * 100)["max_tokens"] == 2_048
        assert len(server.requests) == 2
        assert ask(server, response_cache, "Where?")["max_tokens"] == 4_096
        assert [*response_cache.summary()] == ["model"], "nothing was learnt of the server"


def test_of_a_request_that_is_refused_for_what_it_asks_nothing_is_learnt(tmp_path: Path) -> None:
    server = ModelServer([Status(400, message="your text mentions temperature and the system prompt")])
    with ResponseCache(tmp_path / "x.sqlite") as response_cache:
        with pytest.raises(RequestRefusedError):
            ask(server, response_cache, "How hot?")
        assert response_cache.summary() == {}
    assert len(server.requests) == 3
