"""Processes that answer questions of a run beside this one: Python runs one thread at a time.

Each opens the same graph anew. ``worker_process.py`` is the other side.
"""

from __future__ import annotations

import gc
import os
import pickle
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kgsparql.errors import error_from
from kgsparql.evaluation import baselines
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.runs.outcome import QuestionOutcome
from kgsparql.evaluation.runs.plan import NO_MODEL, Method, Plan
from kgsparql.graphs.child_process import read_frame, start_child, stop_child, write_frame
from kgsparql.http.address import is_address
from kgsparql.knowledge_base import KnowledgeBase

_MODULE = "kgsparql.evaluation.runs.worker_process"

_NOT_SENT = frozenset({"model", "chooser", "emit", "cancel", "stop"})
"""Fields of :class:`AskOptions` that belong to this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """What a worker process is told first.

    :param opened_with: arguments of :func:`kgsparql.knowledge_base.open`; the graph must have this ``fingerprint``.
    :param asking: fields of :class:`AskOptions`.
    :param gc_threshold: when Python looks for circles of objects, as in this process.
    """

    opened_with: Mapping[str, Any]
    fingerprint: str
    asking: Mapping[str, Any]
    gold_topics: bool
    gc_threshold: tuple[int, int, int]


class WorkerProcess:
    """A process that answers one question at a time; several threads must not use it at once."""

    def __init__(self, setup: WorkerSetup) -> None:
        with Path(os.devnull).open("wb") as nowhere:  # notes and progress are shown by this process
            self._child = start_child(_MODULE, nowhere, environment={"OMP_NUM_THREADS": "1"})
        self._opened = threading.Event()
        self._reader = threading.Thread(target=self._open, args=(setup,), daemon=True)
        self._is_ready = False
        self._reader.start()

    def _open(self, setup: WorkerSetup) -> None:
        self._is_ready = self._reply(setup) is not None
        self._opened.set()

    def is_ready(self, timeout_s: float) -> bool | None:
        """Whether it has opened the graph; ``None`` as long as that is not known."""
        return self._is_ready if self._opened.wait(timeout_s) else None

    def outcome(self, method: Method, question: Question) -> QuestionOutcome | None:
        """The outcome of a question; ``None`` if the process has ended, whatever ended it."""
        reply = self._reply((method, question))
        if reply is None:
            return None
        record, steps, error = pickle.loads(reply)  # noqa: S301 - our own process wrote it
        return QuestionOutcome(question, record, steps, None if error is None else error_from(error))

    def _reply(self, request: object) -> bytes | None:
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:
            return None
        try:
            write_frame(stdin, {}, pickle.dumps(request))  # type: ignore[arg-type]
            frame = read_frame(stdout)  # type: ignore[arg-type]
        except (OSError, ValueError):  # a pipe that is closed at one of its ends
            return None
        return None if frame is None else frame[1]

    def kill(self) -> None:
        """End it, in the middle of a question too: who waits for its outcome gets ``None``."""
        self._child.kill()

    def close(self) -> None:
        """End it, and free what belongs to it."""
        stop_child(self._child, self._reader)


class WorkerProcesses:
    """The processes of a run; they start when the first method needs them, and stay until the run ends."""

    def __init__(self, knowledge: KnowledgeBase, plan: Plan) -> None:
        self._knowledge = knowledge
        self._plan = plan
        self._started: list[WorkerProcess] = []

    def for_method(self, method: Method, questions: Sequence[Question]) -> list[WorkerProcess] | None:
        """As many as are of use beside this process; ``None`` where threads serve, or must do.

        Threads serve where a model or a server is waited for, whose limits are those of one process. Processes need a
        method that is nothing but its options, and a graph that can be opened again.
        """
        if min(self._plan.workers, len(questions)) < 2 or not _may_be_sent(method, self._plan):
            return None
        if not _may_be_opened_again(self._knowledge):
            return None
        wanted = min(self._plan.workers, len(questions), _processors()) - 1
        if wanted > len(self._started):
            _ = self._knowledge.indexes.linker  # one process makes the index, the others find it
            setup = self._setup()
            self._started += [WorkerProcess(setup) for _ in range(wanted - len(self._started))]
        return self._started[:wanted]

    def _setup(self) -> WorkerSetup:
        asking = self._plan.asking
        return WorkerSetup(
            opened_with=self._knowledge.opened_with or {}, fingerprint=self._knowledge.graph.fingerprint,
            asking={f.name: getattr(asking, f.name) for f in fields(asking) if f.name not in _NOT_SENT},
            gold_topics=self._plan.gold_topics, gc_threshold=gc.get_threshold(),
        )  # fmt: skip

    def kill(self) -> None:
        """End all, so that nobody waits for them."""
        for process in self._started:
            process.kill()

    def close(self) -> None:
        """End all, and free what belongs to them."""
        for process in self._started:
            process.close()
        self._started.clear()


def _may_be_sent(method: Method, plan: Plan) -> bool:
    """Whether a method waits for nobody and is one of ours without an index, which another process can be sent."""
    waits = method.with_model and (plan.asking.model is not None or plan.oracle is not None)
    name = method.label.removesuffix(NO_MODEL)
    is_ours = type(method.retriever).__module__.startswith("kgsparql.") and name not in baselines.names()
    return is_ours and not waits


def _may_be_opened_again(knowledge: KnowledgeBase) -> bool:
    """Whether another process can open the same graph: one on this machine, not kept in memory whatever its size."""
    opened_with = knowledge.opened_with
    if opened_with is None or not opened_with.get("cache", True) or is_address(opened_with["embedder"] or ""):
        return False
    return knowledge.graph.is_as_loaded


def _processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
