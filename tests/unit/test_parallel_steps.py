"""Steps of one question at the same time, told in order."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsparql.answering.choosing import Candidate, choose
from kgsparql.answering.session import Oracle, Session
from kgsparql.budget import Budget, Usage
from kgsparql.errors import BudgetExceededError, InputError
from kgsparql.events import CandidatesChosen, Event, FallbackUsed, ModelCalled
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.models.chat_completion import Call, Message, object_schema
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.retrievers._walking import run_in_parallel
from kgsparql.storage.response_cache import ResponseCache
from tests.model_server import ModelServer, Reply, Slow, Text
from tests.sessions import labels_of


def session_of(graph: OxigraphGraph, events: list[Event], budget: Budget | None = None) -> Session:
    usage = Usage(budget or Budget())
    return Session(
        question="what?", labels=labels_of(MeteredGraph(graph, usage, events.append)), linker=None, ranker=BM25Ranker(),
    )  # fmt: skip


def test_results_and_what_is_told_come_in_the_order_of_the_steps(graph_of: Callable[..., OxigraphGraph]) -> None:
    events: list[Event] = []
    session = session_of(graph_of(":a :p :b ."), events)
    second_is_done = threading.Event()

    def first(own: Session) -> int:
        assert second_is_done.wait(10), "the steps did not run at the same time"
        own.fall_back("first", "late")
        own.notes.append("first")
        return 1

    def second(own: Session) -> int:
        own.fall_back("second", "early")
        own.notes.append("second")
        second_is_done.set()
        return 2

    assert run_in_parallel(session, [first, second]) == [1, 2]
    assert [event.purpose for event in events if isinstance(event, FallbackUsed)] == ["first", "second"]
    assert session.notes.texts == ["first", "second"]
    assert [fallback.purpose for fallback in session.notes.fallbacks] == ["first", "second"]


def test_a_budget_that_ended_one_of_them_ended_the_question_early(graph_of: Callable[..., OxigraphGraph]) -> None:
    session = session_of(graph_of(":a :p :b ."), [])

    def spent(own: Session) -> None:
        with own.within_budget():
            raise BudgetExceededError("budget reached: 1 query", limit="queries")

    run_in_parallel(session, [lambda own: None, spent, lambda own: None])
    assert session.notes.partial
    assert [note for note in session.notes.texts if "budget reached" in note] == [
        "budget reached: 1 query: some steps were left out"
    ]
    whole = session_of(graph_of(":a :p :b ."), [])
    run_in_parallel(whole, [lambda own: None] * 2)
    assert not whole.notes.partial


def test_with_an_oracle_the_steps_take_turns(graph_of: Callable[..., OxigraphGraph]) -> None:
    """It tells what it does by itself, so that side by side the order would be a matter of luck."""
    events: list[Event] = []
    session = session_of(graph_of(":a :p :b ."), events)
    session = replace(session, oracle=Oracle())
    threads: list[int] = []

    def step(number: int) -> Callable[[Session], None]:
        def chosen(own: Session) -> None:
            threads.append(threading.get_ident())
            choose([Candidate(0, "one", score=1.0)], f"step {number}", 1, own)
            own.fall_back(f"step {number}", "why")

        return chosen

    run_in_parallel(session, [step(1), step(2)])
    assert threads == [threading.get_ident()] * 2
    told = [event.purpose for event in events if isinstance(event, CandidatesChosen | FallbackUsed)]
    assert told == ["step 1", "step 1", "step 2", "step 2"]


@pytest.mark.parametrize("first", ["1", "2"])
def test_empty_replies_are_asked_for_again_whoever_gets_the_first(
    graph_of: Callable[..., OxigraphGraph], tmp_path: Path, first: str
) -> None:
    """Each step's first reply is empty; the replay gives the same, whichever was the first."""
    counts: Counter[str] = Counter()

    def script(body: dict[str, Any]) -> Reply:
        step = str(body["messages"][-1]["content"])
        counts[step] += 1
        reply = Text("" if counts[step] == 1 else f"reply {step}")
        return reply if step == first else Slow(0.2, reply)

    def said(model: LanguageModel) -> tuple[list[str | None], list[str], int]:
        events: list[Event] = []
        session = replace(session_of(graph_of(":a :p :b ."), events), model=model)
        replies = run_in_parallel(session, [asking("1"), asking("2")])
        told = [f"{event.prompt} {event.error}" for event in events if isinstance(event, ModelCalled)]
        return replies, told, session.usage.model_calls

    with ModelServer(script) as server:
        client = OpenAIClient(server.url, timeout_s=20.0)
        with ResponseCache(tmp_path / "x.sqlite") as response_cache:
            asked = said(LanguageModel("m", client, response_cache=response_cache))
        with ResponseCache(tmp_path / "x.sqlite", mode="only") as response_cache:
            replayed = said(LanguageModel("m", client, response_cache=response_cache))
        client.close()
    said_by_step = [f"user\n{step} {error}" for step in "12" for error in ("E_LLM_EMPTY", "")]
    assert asked == replayed == (["reply 1", "reply 2"], said_by_step, 4)


def asking(text: str) -> Callable[[Session], str | None]:
    call = Call("step", (Message("user", text),), object_schema(), str)
    return lambda session: session.ask_model(call)


def test_where_the_budget_may_end_the_steps_take_turns(graph_of: Callable[..., OxigraphGraph]) -> None:
    for budget in (Budget(max_calls=1), Budget(max_calls=3), Budget(max_tokens=10_000)):
        threads: list[int] = []
        session = session_of(graph_of(":a :p :b ."), [], budget)
        run_in_parallel(session, [lambda _, met=threads: met.append(threading.get_ident())] * 2)  # type: ignore[misc]
        assert threads == [threading.get_ident()] * 2


def test_the_first_error_in_order_is_raised_once_all_have_ended(graph_of: Callable[..., OxigraphGraph]) -> None:
    events: list[Event] = []
    session = session_of(graph_of(":a :p :b ."), events)

    def fails(own: Session) -> None:
        own.fall_back("failed", "why")
        raise InputError("first")

    def fails_later(own: Session) -> None:
        raise InputError("second")

    with pytest.raises(InputError, match="first"):
        run_in_parallel(session, [fails, fails_later, lambda own: own.fall_back("fine", "why")])
    assert [fallback.purpose for fallback in session.notes.fallbacks] == ["failed", "fine"]
