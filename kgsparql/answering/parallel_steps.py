"""Steps of one question that do not need each other, at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from kgsparql.answering.session import Session
from kgsparql.events import Event

T = TypeVar("T")


def run_in_parallel(session: Session, steps: Sequence[Callable[[Session], T]]) -> list[T]:
    """The results of all steps, in their order; each step gets a branch of the session.

    Their events, notes and fallbacks come in the order of the steps, whichever ends first, so that the same replies
    give the same bytes. Where the budget may end in one of them, they run one after the other: who gets the last call
    must not be a matter of luck.

    :raises BaseException: what the first step that failed raised, once all have ended.
    """
    if len(steps) < 2 or session.chooser is not None or _is_scarce(session, len(steps)):
        return [step(session) for step in steps]
    heard: list[list[Event]] = [[] for _ in steps]
    branches = [session.branch(events.append) for events in heard]
    results: list[T | BaseException | None] = [None] * len(steps)

    def run(i: int) -> None:
        try:
            results[i] = steps[i](branches[i])
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(steps))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        session.usage.cancel.set()
        raise
    for branch, events in zip(branches, heard, strict=True):
        session.notes.merge(branch.notes)
        session.rounds = max(session.rounds, branch.rounds)
        session.kept_a_call = session.kept_a_call or branch.kept_a_call
        for event in events:
            session.emit(event)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast("list[T]", results)


def _is_scarce(session: Session, calls: int) -> bool:
    """Whether a limit of the budget could end one of so many model calls, but not another.

    A call whose reply is empty is made twice.
    """
    budget = session.usage.budget
    if budget.max_tokens is not None or budget.max_cost is not None:
        return True
    return budget.max_calls is not None and session.usage.model_calls + 2 * calls > budget.max_calls
