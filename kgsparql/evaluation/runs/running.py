"""Asking every question with every method; each answer is written as it comes, so that a run can be resumed."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kgsparql.answering.ask_options import ignore
from kgsparql.errors import EndpointError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.configuration import check_same, now
from kgsparql.evaluation.runs.directory import Run, RunDirectory
from kgsparql.evaluation.runs.outcome import QuestionOutcome, outcome_of
from kgsparql.evaluation.runs.plan import Method, MethodProgress, Plan
from kgsparql.evaluation.runs.worker_processes import WorkerProcess, WorkerProcesses
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.storage.file_lock import writer_lock

UNREACHABLE = 3
"""Questions in a row that an endpoint or a model server did not answer, after which the run stops."""

_STOP_S = 2.0
"""Seconds that questions may take to end when the run stops."""

_OPENED_S = 0.05
"""Seconds between two looks whether a process has opened the graph, while others may answer the last question."""


def run(
    knowledge: KnowledgeBase,
    plan: Plan,
    directory: RunDirectory,
    done: Callable[[str], Mapping[str, Record]],
    *,
    tell: Callable[[MethodProgress], None] = ignore,
) -> None:
    """Ask what is not answered yet, method by method.

    A question that fails is recorded with its error. If an endpoint or a model server did not answer it, it is asked
    again when the run is resumed.

    :param done: the records that a method already has, by question.
    :raises UnreachableError: after three such questions in a row; what is done is kept.
    """
    with knowledge.forgetting(), closing(WorkerProcesses(knowledge, plan)) as processes:
        for method in plan.methods:
            _run_method(
                knowledge, plan, method, processes=processes, directory=directory, done=done(method.label), tell=tell
            )


def _run_method(
    knowledge: KnowledgeBase, plan: Plan, method: Method, *, processes: WorkerProcesses,
    directory: RunDirectory, done: Mapping[str, Record], tell: Callable[[MethodProgress], None],
) -> None:  # fmt: skip
    progress, left = MethodProgress(method.label, 0, len(plan.questions)), []
    for question in plan.questions:
        record = done.get(question.id)
        if record is None or record.is_lost:
            left.append(question)
        else:
            progress.add(question, record)
    tell(progress)
    began, before, lost_in_a_row = time.monotonic(), progress.done, 0
    with closing(_outcomes(knowledge, plan, method, left, processes)) as outcomes:
        for outcome in outcomes:
            question, record = outcome.question, outcome.record
            directory.add(record, outcome.steps)
            progress.add(question, record)
            per_question = (time.monotonic() - began) / (progress.done - before)
            progress.seconds_left = per_question * (progress.total - progress.done)
            tell(progress)
            lost_in_a_row = lost_in_a_row + 1 if record.is_lost else 0
            if lost_in_a_row >= UNREACHABLE:
                stopped = outcome.error or EndpointError("nobody answers")
                about = f"{UNREACHABLE} questions in a row: the run stops; --resume goes on with it."
                stopped.hint = f"{about} {stopped.hint or ''}".strip()
                raise stopped


def _outcomes(
    knowledge: KnowledgeBase, plan: Plan, method: Method, questions: Sequence[Question], processes: WorkerProcesses
) -> Generator[QuestionOutcome]:
    """The outcomes as they come; at most ``plan.workers`` questions are asked at the same time."""
    waiting: queue.SimpleQueue[Question] = queue.SimpleQueue()
    ended: queue.SimpleQueue[QuestionOutcome | BaseException] = queue.SimpleQueue()
    for question in questions:
        waiting.put(question)
    stop, counting, lost_in_a_row = threading.Event(), threading.Lock(), 0

    def is_of_use(process: WorkerProcess) -> bool:
        while (is_ready := process.is_ready(_OPENED_S)) is None:
            if stop.is_set() or waiting.empty():
                return False
        return is_ready

    def work(process: WorkerProcess | None) -> None:
        nonlocal lost_in_a_row
        if process is not None and not is_of_use(process):
            return
        while not stop.is_set():
            try:
                question = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcome = None if process is None else process.outcome(method, question)
                outcome = outcome or outcome_of(knowledge, plan, method, question)  # here, where a process has ended
                with counting:
                    lost_in_a_row = lost_in_a_row + 1 if outcome.record.is_lost else 0
                    # The caller stops the run then; until it does, no other question begins. With a snapshot the
                    # caller counts in the order of the questions, which is another row.
                    if lost_in_a_row >= UNREACHABLE and knowledge.snapshot is None:
                        stop.set()
                    ended.put(outcome)
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                ended.put(error)
                return

    beside = processes.for_method(method, questions)
    askers = [None] * min(plan.workers, len(questions)) if beside is None else [None, *beside]
    threads = [threading.Thread(target=work, args=(asker,), daemon=True) for asker in askers]
    for thread in threads:
        thread.start()
    try:
        came = (_or_raise(ended.get()) for _ in questions)
        yield from came if knowledge.snapshot is None else _in_order(came, questions)
    except BaseException:
        plan.asking.cancel.set()
        processes.kill()
        raise
    finally:
        stop.set()
        until = time.monotonic() + _STOP_S
        for thread in threads:  # what they use, such as the model, may be closed next
            thread.join(max(0.0, until - time.monotonic()))


def _in_order(outcomes: Iterable[QuestionOutcome], questions: Sequence[Question]) -> Iterator[QuestionOutcome]:
    """The same in the order of the questions: the speed of threads must not show in a snapshot."""
    waiting: dict[str, QuestionOutcome] = {}
    left = deque(question.id for question in questions)
    for outcome in outcomes:
        waiting[outcome.question.id] = outcome
        while left and left[0] in waiting:
            yield waiting.pop(left.popleft())


def _or_raise(outcome: QuestionOutcome | BaseException) -> QuestionOutcome:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def resume_or_begin(
    knowledge: KnowledgeBase,
    plan: Plan,
    path: Path,
    config: Mapping[str, Any],
    *,
    tell: Callable[[MethodProgress], None] = ignore,
) -> Run:
    """The whole run in a directory: what is there is kept, the rest is asked.

    :param config: from :func:`kgsparql.evaluation.runs.configuration.configuration`.
    :raises InputError: if what is there is a run of something else, or no run.
    :raises StoreLockedError: if another process is writing it.
    """
    directory = RunDirectory(path)
    began = config["began"]
    with writer_lock(path):
        if (path / "run.json").is_file():
            directory.mend()
            there = Run.open(path)
            check_same(there.config, config, path)
            began = there.config["began"]
        else:
            directory.begin(config, plan.questions)
        run(knowledge, plan, directory, Run.open(path).records, tell=tell)
        directory.write_config({**config, "began": began, "ended": now()})
    return Run.open(path)
