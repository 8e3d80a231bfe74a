"""Questions that are being answered for somebody who watches: on a few threads, bounded, stopped when nobody does."""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.errors import BudgetExceededError, KgsparqlError
from kgsparql.events import Event, Finished
from kgsparql.rendering.answer_json import error_json, event_json
from kgsparql.rendering.text import step_words

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer

Ask = Callable[[str, AskOptions], "Answer"]
Freeze = Callable[["AskedRun", "Answer"], dict[str, Any]]

_MOST_EVENTS = 4_000
"""Steps of a run that are kept; further ones are counted."""

_LONGEST_TEXT = 20_000
"""Characters of a query, a prompt or a reply in a step."""


@dataclass(slots=True, eq=False)
class AskedRun:
    """A question on its way, and then its answer.

    :param settings: what the page asked for, beside the question.
    :param meanings: links that are shown in the place of the answer's own, where a person corrected one of them.
    :param frozen: the finished run as one JSON object, its answer and pictures included; ``None`` until then.
    :param error: what kept it from an answer, as JSON.
    :param watchers: how many streams read its steps now.
    :param seen_at: when it was last watched, or else made, as :func:`time.monotonic` tells it.
    """

    question: str
    asking: AskOptions
    settings: Mapping[str, Any]
    meanings: list[dict[str, Any]] | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    events: list[dict[str, Any]] = field(default_factory=list)
    left_out: int = 0
    frozen: dict[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    watchers: int = 0
    was_watched: bool = False
    seen_at: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Whether there is an answer, or an error."""
        return self.frozen is not None or self.error is not None

    @property
    def state(self) -> str:
        """``running``, ``finished`` or ``failed``."""
        return "finished" if self.frozen is not None else "failed" if self.error is not None else "running"

    def receive(self, event: Event) -> None:
        """Keep a step, with its words; of the last, the answer is elsewhere."""
        if isinstance(event, Finished):
            return
        if len(self.events) >= _MOST_EVENTS:
            self.left_out += 1
            return
        told = {name: _shortened(value) for name, value in event_json(event).items()}
        self.events.append({**told, "words": step_words(event)})

    def summary(self) -> dict[str, Any]:
        """What is known of it before it is frozen, as JSON."""
        return {"id": self.id, "question": self.question, "options": dict(self.settings), "state": self.state,
                "meanings": self.meanings, "error": self.error}  # fmt: skip


class Runs:
    """The runs of a page: asked on ``workers`` threads, at most ``most_waiting`` in line, the newest kept in memory.

    :param ask: answers a question.
    :param freeze: makes the JSON of a finished run, and keeps it.
    :param abandoned_s: so long after the last who watched it has gone, a run is ended.
    :param unwatched_s: so long after it was put in line, if nobody came to watch it.
    """

    def __init__(
        self, ask: Ask, freeze: Freeze, *, workers: int = 4, most_waiting: int = 64, most_kept: int = 100,
        abandoned_s: float = 5.0, unwatched_s: float = 60.0,
    ) -> None:  # fmt: skip
        self._ask, self._freeze = ask, freeze
        self._most_waiting, self._most_kept = most_waiting, most_kept
        self._abandoned_s, self._unwatched_s = abandoned_s, unwatched_s
        self._waiting: queue.SimpleQueue[AskedRun] = queue.SimpleQueue()
        self._runs: OrderedDict[str, AskedRun] = OrderedDict()
        self._lock = threading.Lock()
        for number in range(workers):
            threading.Thread(target=self._work, name=f"kgsparql question {number}", daemon=True).start()

    def start(
        self, question: str, asking: AskOptions, settings: Mapping[str, Any],
        meanings: list[dict[str, Any]] | None = None,
    ) -> AskedRun:  # fmt: skip
        """Put a question in line.

        :raises BudgetExceededError: if too many are waiting.
        """
        with self._lock:
            running = sum(not run.is_over for run in self._runs.values())
            if running >= self._most_waiting:
                raise BudgetExceededError(
                    f"{running} questions are being answered already", hint="ask again in a few seconds"
                )
            run = AskedRun(question, asking, settings, meanings)
            run.asking = replace(asking, emit=run.receive, cancel=threading.Event(), stop=threading.Event())
            self._runs[run.id] = run
        self._waiting.put(run)
        return run

    def get(self, name: str) -> AskedRun | None:
        """A run that is in memory."""
        return self._runs.get(name)

    def stop(self, run: AskedRun) -> None:
        """Have a run answered from what it has found."""
        run.asking.stop.set()

    def sweep(self) -> None:
        """End runs that nobody watches any more, and let go of the oldest finished ones."""
        now = time.monotonic()
        with self._lock:
            for run in self._runs.values():
                patience_s = self._abandoned_s if run.was_watched else self._unwatched_s
                if not run.is_over and not run.watchers and now - run.seen_at > patience_s:
                    run.asking.cancel.set()
            finished = [name for name, run in self._runs.items() if run.is_over and not run.watchers]
            for name in finished[: max(0, len(self._runs) - self._most_kept)]:
                del self._runs[name]

    def cancel_all(self) -> None:
        """End all runs."""
        for run in list(self._runs.values()):
            run.asking.cancel.set()

    def _work(self) -> None:
        while True:
            run = self._waiting.get()
            try:
                run.frozen = self._freeze(run, self._ask(run.question, run.asking))
            except KgsparqlError as error:
                run.error = error_json(error)
            except Exception as error:  # noqa: BLE001 - told to whoever asked; the thread has other questions to answer
                bug = KgsparqlError(f"{type(error).__name__}: {error}", hint="a bug in kgsparql")
                run.error = error_json(bug)
            finally:
                run.asking = replace(run.asking, emit=ignore)  # it held the run: a circle that is rarely looked for


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]} … (+{len(value) - _LONGEST_TEXT:,} characters)"
    return value
