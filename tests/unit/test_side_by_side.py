"""Steps of one question at the same time, told in order."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from kgsparql.budget import Budget, Usage
from kgsparql.errors import InputError
from kgsparql.events import Event, FallbackUsed
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.ranking import BM25Ranker
from kgsparql.session import Session
from kgsparql.side_by_side import side_by_side


def session_of(graph: OxigraphGraph, events: list[Event], budget: Budget | None = None) -> Session:
    usage = Usage(budget or Budget())
    return Session(
        question="what?", graph=MeteredGraph(graph, usage, events.append), linker=None, ranker=BM25Ranker(),
        usage=usage, emit=events.append,
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

    assert side_by_side(session, [first, second]) == [1, 2]
    assert [event.purpose for event in events if isinstance(event, FallbackUsed)] == ["first", "second"]
    assert session.notes == ["first", "second"]
    assert [fallback.purpose for fallback in session.fallbacks] == ["first", "second"]


@pytest.mark.parametrize("budget", [Budget(max_calls=1), Budget(max_tokens=10_000)])
def test_where_the_budget_may_end_the_steps_take_turns(graph_of: Callable[..., OxigraphGraph], budget: Budget) -> None:
    threads: list[int] = []
    session = session_of(graph_of(":a :p :b ."), [], budget)
    side_by_side(session, [lambda _: threads.append(threading.get_ident())] * 2)
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
        side_by_side(session, [fails, fails_later, lambda own: own.fall_back("fine", "why")])
    assert [fallback.purpose for fallback in session.fallbacks] == ["failed", "fine"]
