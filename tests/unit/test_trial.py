"""The trial of a model: what scripted servers are found good for, what is kept of it, and how a question goes then."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import Answer, Budget, KnowledgeBase, LanguageModel
from kgsparql.errors import CancelledError, ModelError
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.models.trust import Trust, kept_trust
from kgsparql.retrievers._trial import Trial, tried_as
from kgsparql.storage.response_cache import ResponseCache
from tests.model_server import ModelServer, Slow, Status, Text
from tests.scripted import question_of
from tests.tried import PLANS, Script, eager, erratic, strong, weak

pytestmark = pytest.mark.usefixtures("trial_is_on")


def model_of(server: ModelServer, tmp_path: Path) -> LanguageModel:
    client = OpenAIClient("http://model.test/v1", timeout_s=5.0, transport=server.transport)
    return LanguageModel("m", client, response_cache=ResponseCache(tmp_path / "replies.sqlite"))


def tried(script: Script, tmp_path: Path) -> tuple[Trust, ModelServer]:
    server = ModelServer(script)
    return Trial(model_of(server, tmp_path)).run(), server


def test_a_model_is_used_as_it_was_found_good_for(tmp_path: Path) -> None:
    for script, found in (
        (strong, (True, True)),
        (lambda body: strong(body, misses=1), (True, True)),
        (lambda body: strong(body, misses=2), (False, False)),
        (weak, (False, False)),
        (eager, (False, False)),  # it always chooses something, also where nothing is right
        (erratic, (False, False)),
        (lambda _: Text("I am a little teapot."), (False, False)),
    ):
        trust, server = tried(script, tmp_path)
        assert (trust.chooses, trust.plans) == found
        assert 0 < trust.tokens <= 3_000
        assert {request.body["max_tokens"] for request in server.requests} == {300}


def test_a_plan_that_does_something_else_is_wrong(tmp_path: Path) -> None:
    for plan in ("(count (where C2 (n ^R1) >= 2))", "(count (where C2 (n R4) > 10))", "(count C2)", "many"):
        trust, _ = tried(
            lambda body, plan=plan: Text({"plan": plan}) if question_of(body) in PLANS else strong(body),  # type: ignore[misc]
            tmp_path,
        )
        assert (trust.chooses, trust.plans) == (True, False)


def test_what_was_found_is_kept_for_its_server_model_and_prompts_and_a_failure_is_not(tmp_path: Path) -> None:
    trust, _ = tried(weak, tmp_path)
    other = model_of(ModelServer(), tmp_path)
    assert kept_trust(tried_as(other)) == trust
    assert kept_trust({**tried_as(other), "prompts": "others"}) is None
    other.name = "another"
    assert kept_trust(tried_as(other)) is None
    down = Trial(other)
    down.model.client = ModelServer(lambda _: Status(503)).client()
    with pytest.raises(ModelError):
        down.run()
    assert kept_trust(tried_as(other)) is None


def ask(knowledge: KnowledgeBase, model: LanguageModel, **asking: Any) -> Answer:
    return knowledge.ask("Where was Marie Curie born?", model=model, **asking)


def test_a_model_is_tried_before_it_is_asked_and_what_was_found_stays(nobel: KnowledgeBase, tmp_path: Path) -> None:
    server = ModelServer(strong)
    model = model_of(server, tmp_path)
    first = ask(nobel, model)
    assert (first.model, first.trust) == ("m", model.trust)
    (note,) = [note for note in first.notes if note.code == "tried"]
    assert "it chooses from lists and writes plans (10 of 10 lists, 1 of 1 plans right)" in str(note)
    asked = ["Curie" in str(request.body) for request in server.requests]
    assert asked == sorted(asked), "nothing of the question is sent before"
    assert kgsparql.answer_to_json(first)["trust"]["right"] == {"lists": [10, 10], "plans": [1, 1]}
    second = ask(nobel, model_of(server, tmp_path))
    assert (second.trust, second.usage["trial_tokens"], [n for n in second.notes if n.code == "tried"]) == (
        first.trust, 0, [],
    )  # fmt: skip


def test_a_model_worse_than_the_ranking_is_not_asked_about_a_graph(nobel: KnowledgeBase, tmp_path: Path) -> None:
    server = ModelServer(erratic)
    model = model_of(server, tmp_path)
    asked = ask(nobel, model, require_model=True)
    assert [str(note) for note in asked.notes if note.code == "trial"] == [
        "this model chooses worse than the ranking: it is not asked"
    ]
    assert asked.usage["model_calls"] == 0
    assert asked.usage["trial_tokens"] > 0
    assert not any("Curie" in str(request.body) for request in server.requests)
    assert ask(nobel, model).usage["trial_tokens"] == 0


def test_a_server_that_is_down_is_a_note_or_an_error_where_it_is_required(nobel: KnowledgeBase, tmp_path: Path) -> None:
    model = model_of(ModelServer(lambda _: Status(504)), tmp_path)
    with pytest.raises(ModelError):
        ask(nobel, model, require_model=True)
    asked = ask(nobel, model)
    assert asked.best[0].label == "Warsaw"
    (note,) = [note for note in asked.notes if note.code == "trial"]
    assert re.fullmatch(r"m could not be tried out, and is not asked: .*504.*", str(note))


def test_what_is_stopped_is_not_kept(nobel: KnowledgeBase, tmp_path: Path) -> None:
    stop = threading.Event()
    with ModelServer([Slow(30.0)]) as server:
        model = LanguageModel("m", server.client(), response_cache=ResponseCache(tmp_path / "replies.sqlite"))
        threading.Timer(1.0, stop.set).start()
        asked = ask(nobel, model, stop=stop)
    assert (asked.model, asked.best[0].label) == ("", "Warsaw")
    assert kept_trust(tried_as(model)) is None


def test_a_server_that_hangs_holds_a_question_no_longer_than_it_may_take_and_the_next_not_at_all(
    nobel: KnowledgeBase, tmp_path: Path
) -> None:
    stop, took = threading.Event(), list[float]()
    with ModelServer(lambda _: Slow(30.0)) as server:
        model = LanguageModel("m", server.client(), response_cache=ResponseCache(tmp_path / "replies.sqlite"))
        trying = threading.Thread(target=ask, args=(nobel, model), kwargs={"stop": stop})
        trying.start()
        while not model.trying.locked():
            time.sleep(0.01)
        cancel = threading.Event()
        threading.Timer(0.5, cancel.set).start()
        with pytest.raises(CancelledError):
            ask(nobel, model, cancel=cancel)
        assert model.trying.locked()
        stop.set()
        trying.join()
        for _ in range(2):
            began = time.monotonic()
            asked = ask(nobel, model, budget=Budget(max_seconds=2.0))
            took.append(time.monotonic() - began)
            assert asked.best[0].label == "Warsaw"
            (note,) = [note for note in asked.notes if note.code == "trial"]
            assert note == "m could not be tried out, and is not asked: budget reached: 2 seconds"
    assert 1.5 < took[0] < 4.0
    assert took[1] < 1.5
    assert len(server.requests) == 2
