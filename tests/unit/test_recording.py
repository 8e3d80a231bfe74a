"""Recordings: what a request came to, one time after the other, and how a replay tells it again."""

import json
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import errors
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.errors import CancelledError, KgsparqlError, ModelTimeoutError, RateLimitError, ReplayMissError
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.storage.response_cache import Recording, ResponseCache
from tests.deep import examples
from tests.model_server import Cut, Html, Length, ModelServer, NullContent, Refusal, Reply, Text
from tests.scripted import by_call

ASKED = {"text": "ASK {}"}
EVERY = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, KgsparqlError)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "snapshot" / "exchanges.sqlite"


def told(recording: Recording, request: dict[str, Any] = ASKED) -> object:
    try:
        return recording.get("query", request)
    except KgsparqlError as error:
        return type(error), error.to_json()


def test_who_asks_again_in_a_run_is_told_the_same_without_asking_and_what_is_measured_is_as_it_was(file: Path) -> None:
    with Recording(file, mode="write") as recording:
        assert recording.get("query", ASKED) is None
        recording.put("query", ASKED, {"n": 1})
        assert recording.get("query", ASKED) == {"n": 1}
        assert recording.get("model", ASKED) is None
    with Recording(file, mode="write") as another:
        assert another.get("query", ASKED) is None, "another run asks for itself"
        another.put("query", ASKED, {"n": 2})
    with Recording(file, mode="only") as replay:
        assert [replay.get("query", ASKED) for _ in range(3)] == [{"n": 2}] * 3
    with ResponseCache(file) as plain:
        assert plain.get("query", ASKED) == {"n": 2}, "it lies in a file of replies like any other"
    with Recording(file, mode="write") as recording:
        assert [recording.recorded_value("clock", {}, {"s": s})["s"] for s in (0.1, 0.2)] == [0.1, 0.2]
    with Recording(file, mode="only") as replay:
        assert [replay.recorded_value("clock", {}, {"s": 9.9})["s"] for _ in range(3)] == [0.1, 0.2, 0.2]


def test_who_asks_is_known_by_their_place_alone(file: Path) -> None:
    for mode in ("write", "only"):
        with Recording(file, mode=mode) as recording:  # type: ignore[arg-type]
            assert [recording.asker_number("http://e.org/", who, "x") for who in ("b", "a", "b", "c")] == [0, 1, 0, 2]
            assert recording.asker_number("http://e.org/other", "c", "x") == 0
            assert recording.asker_number("http://e.org/other", "cx") == 1


def test_the_replies_of_a_run_come_in_their_order_and_the_last_stays(file: Path) -> None:
    with Recording(file, mode="write") as recording:
        recording.fail("query", ASKED, RateLimitError("wait", hint="a while", url="http://e.org/", status=429))
        recording.put("query", ASKED, {"n": 1}, again=True)
        assert recording.get("query", ASKED) is None, "it is to be asked again"
        recording.put("query", ASKED, {"n": 2})
    with Recording(file, mode="only") as replay:
        kind, error = told(replay)  # type: ignore[misc]
        assert kind is RateLimitError
        assert (error["message"], error["hint"], error["detail"]["status"]) == ("wait", "a while", 429)
        assert [told(replay) for _ in range(3)] == [{"n": 1}, {"n": 2}, {"n": 2}]


def test_every_error_is_raised_as_it_was(file: Path) -> None:
    with Recording(file, mode="write") as recording:
        recording.fail("query", ASKED, CancelledError("stopped"))
        assert not file.exists(), "that somebody stopped it says nothing about who was asked"
        made = {
            kind: kind("what is wrong", hint="what to do", code="E_SOME", path="a", number=3, list=["x"])
            for kind in EVERY
            if kind is not CancelledError
        }
        for kind, error in made.items():
            recording.fail("query", {"kind": kind.__name__}, error)
    with Recording(file, mode="only") as replay:
        for kind, error in made.items():
            for _ in range(3):  # also more often than it was recorded
                assert told(replay, {"kind": kind.__name__}) == (kind, error.to_json())


@examples(60)
@given(outcomes=st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 9)), max_size=12))
def test_a_replay_tells_what_the_run_was_told(outcomes: list[tuple[int, bool, int]], tmp_path_factory: Any) -> None:
    file = tmp_path_factory.mktemp("recording") / "exchanges.sqlite"
    heard = []
    with Recording(file, mode="write") as recording:
        for which, is_failure, number in outcomes:
            request = {"which": which}
            kept = recording.get("query", request)
            if kept is None and is_failure:
                error = ModelTimeoutError(f"late {number}")
                recording.fail("query", request, error)
                heard.append((which, (type(error), error.to_json())))
                continue
            if kept is None:
                recording.put("query", request, kept := {"n": number})
            heard.append((which, kept))
    with Recording(file, mode="only") as replay:
        assert [(which, told(replay, {"which": which})) for which, _ in heard] == heard


def test_a_miss_names_what_was_asked_what_can_be_replayed_and_how_to_record_the_rest(tmp_path: Path) -> None:
    place = tmp_path / "kept there"
    with Recording(place / "exchanges.sqlite", mode="only") as replay, pytest.raises(ReplayMissError) as caught:
        replay.get("query", ASKED, what="a query that this run needs, to http://e.org/", asked="labels")
    assert caught.value.message == f"not recorded in {place}: a query that this run needs, to http://e.org/"
    assert (caught.value.detail["asked"], caught.value.detail["request"]) == ("labels", ASKED)
    assert caught.value.hint.endswith(f"or record this one too, with --record '{place}' in place of --replay '{place}'")
    assert not place.exists()


def test_nobody_asks_the_same_at_the_same_time(file: Path) -> None:
    running, most, replies = [], [], []

    def ask(recording: Recording, request: dict[str, Any]) -> None:
        with recording.exclusive("query", request):
            kept = recording.get("query", request)
            if kept is None:
                running.append(1)
                most.append(len(running))
                time.sleep(0.05)
                recording.put("query", request, kept := {"n": len(most)})
                running.pop()
            replies.append(kept)

    with Recording(file, mode="write") as recording:
        threads = [threading.Thread(target=ask, args=(recording, ASKED)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == [1]
    assert replies == [{"n": 1}] * 6


def test_whoever_waits_can_be_stopped(file: Path) -> None:
    cancel, holds, done = threading.Event(), threading.Event(), threading.Event()
    with Recording(file, mode="write") as recording:

        def hold() -> None:
            with recording.exclusive("query", ASKED):
                holds.set()
                done.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        assert holds.wait(20)
        threading.Timer(0.1, cancel.set).start()
        try:
            with pytest.raises(CancelledError), recording.exclusive("query", ASKED, cancel=cancel):
                pass
            with recording.exclusive("query", ASKED, within_s=0.05):
                pass  # its own time is over first: the asking says so
            with recording.exclusive("query", {"text": "another"}, cancel=cancel):
                pass
        finally:
            done.set()
            thread.join()


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
    "readings refused": {"reading": Refusal()},
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_M01_M02_M03_a_question_with_a_fallback_is_replayed_to_the_same_bytes(
    nobel: KnowledgeBase, tmp_path: Path, script: dict[str, Any]
) -> None:
    path = tmp_path / "x.sqlite"

    def ask(response_cache: ResponseCache, url: str) -> str:
        with OpenAIClient(url, timeout_s=5) as client:
            asked = LanguageModel("m", client, response_cache=response_cache)
            answer = answer_to_json(nobel.ask(BORN, model=asked, retriever="mindmap"))
        answer["usage"] |= dict.fromkeys(("seconds", "cached_calls", "paid_cost"))
        return json.dumps(answer, ensure_ascii=False, default=str)

    with ModelServer(by_call(**script)) as server:
        with ResponseCache(path, mode="write") as response_cache:
            recorded = ask(response_cache, server.url)
        assert server.requests
    with ResponseCache(path, mode="only") as response_cache:
        assert ask(response_cache, server.url) == recorded
    with ResponseCache(path, mode="use") as response_cache:
        assert ask(response_cache, server.url) == recorded
