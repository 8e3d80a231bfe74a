"""Asking every question with every method; each answer is written as it comes, so that a run can be resumed.

Python runs one thread at a time, so methods that wait for nobody are also asked in worker processes, each of which
opens the graph anew.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError as Unanswered
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import closing
from dataclasses import dataclass, fields, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.errors import CancelledError, EndpointError, KgsparqlError, error_from
from kgsparql.evaluation import baselines
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import Run, RunDirectory
from kgsparql.evaluation.runs.plan import NO_MODEL, Method, Plan, check_same, now
from kgsparql.events import CandidatesChosen, Event, Finished, ModelCalled, QueryRun
from kgsparql.exploration import predicates
from kgsparql.http.address import is_address
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.knowledge_base import open as open_knowledge
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rendering.answer_json import event_json
from kgsparql.storage.files import writer_lock

UNREACHABLE = 3
"""Questions in a row that an endpoint or a model server did not answer, after which the run stops."""

_STOP_S = 2.0
"""Seconds that questions may take to end when the run stops."""

_OPENED_S = 0.05
"""Seconds between two looks whether a process has opened the graph, while others may answer the last question."""

_MAX_DEGREES = 200
"""Answers of a question whose triples are counted, which orders the answers of one path."""

_MAX_QUERY_CHARACTERS = 2_000

_NOT_SENT = frozenset({"model", "oracle", "emit", "cancel", "stop"})
"""Fields of :class:`AskOptions` that belong to this process."""


@dataclass(slots=True)
class MethodProgress:
    """How far a method is.

    :param hits: sum of ``hits@1`` over the questions that are done.
    """

    method: str
    done: int
    total: int
    hits: float = 0.0
    failed: int = 0
    cost: float | None = None

    def add(self, question: Question, record: Record) -> None:
        """Count one more answer."""
        self.done += 1
        self.hits += METRICS["hits@1"].of(question, record) or 0.0
        self.failed += record.error is not None
        if record.measured.cost is not None:
            self.cost = (self.cost or 0.0) + record.measured.cost


Tell = Callable[[MethodProgress], None]


def resume_or_begin(
    knowledge: KnowledgeBase, plan: Plan, path: Path, config: Mapping[str, Any], *, tell: Tell = ignore
) -> Run:
    """Complete the run in a directory: what is there is kept, the rest is asked.

    :param config: from :func:`kgsparql.evaluation.runs.plan.configuration`.
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


def run(
    knowledge: KnowledgeBase,
    plan: Plan,
    directory: RunDirectory,
    done: Callable[[str], Mapping[str, Record]],
    *,
    tell: Tell = ignore,
) -> None:
    """Ask what is not answered yet, method by method.

    A question that fails is recorded with its error. If an endpoint or a model server did not answer it, it is asked
    again when the run is resumed.

    :param done: returns the records that a method already has, by question.
    :raises UnreachableError: after three such questions in a row; what is done is kept.
    """
    with knowledge.forgetting(), closing(WorkerProcesses(knowledge, plan)) as workers:
        for method in plan.methods:
            progress, left = MethodProgress(method.label, 0, len(plan.questions)), []
            records = done(method.label)
            for question in plan.questions:
                record = records.get(question.id)
                if record is None or record.is_lost:
                    left.append(question)
                else:
                    progress.add(question, record)
            tell(progress)
            _run_method(_MethodRun(knowledge, plan, method, left, workers), directory, progress, tell)


def _run_method(method_run: _MethodRun, directory: RunDirectory, progress: MethodProgress, tell: Tell) -> None:
    lost_in_a_row = 0
    with closing(method_run.outcomes()) as outcomes:
        for outcome in outcomes:
            question, record = outcome.question, outcome.record
            directory.add(record, outcome.steps)
            progress.add(question, record)
            tell(progress)
            lost_in_a_row = lost_in_a_row + 1 if record.is_lost else 0
            if lost_in_a_row >= UNREACHABLE:
                stopped = outcome.error or EndpointError("nobody answers")
                about = f"{UNREACHABLE} questions in a row: the run stops; --resume goes on with it."
                stopped.hint = f"{about} {stopped.hint or ''}".strip()
                raise stopped


class _MethodRun:
    """The questions of one method, asked by a few threads at a time: in this process, or one thread a worker."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        plan: Plan,
        method: Method,
        questions: Sequence[Question],
        workers: WorkerProcesses,
    ) -> None:
        self._knowledge, self._plan, self._method = knowledge, plan, method
        self._questions, self._workers = questions, workers
        self._waiting: queue.SimpleQueue[Question] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[QuestionOutcome | BaseException] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._counting, self._lost_in_a_row = threading.Lock(), 0

    def outcomes(self) -> Generator[QuestionOutcome]:
        """Yield the outcomes as they come; at most ``plan.workers`` questions are asked at the same time."""
        for question in self._questions:
            self._waiting.put(question)
        remote = self._workers.opening(self._method, self._questions)
        here = 1 if remote else min(self._plan.workers, len(self._questions))
        threads = [
            threading.Thread(target=self._answer_waiting, args=(one,), daemon=True) for one in [*[None] * here, *remote]
        ]
        for thread in threads:
            thread.start()
        try:
            came = (_or_raise(self._ended.get()) for _ in self._questions)
            yield from came if self._knowledge.snapshot is None else _in_order(came, self._questions)
        except BaseException:
            self._plan.asking.cancel.set()
            self._workers.close()
            raise
        finally:
            self._stop.set()
            until = time.monotonic() + _STOP_S
            for thread in threads:  # what they use, such as the model, may be closed next
                thread.join(max(0.0, until - time.monotonic()))

    def _answer_waiting(self, opening: Future[None] | None) -> None:
        """Answer questions until none is left.

        :param opening: is done when a worker has opened the graph; ``None`` to ask in this process.
        """
        if opening is not None and not self._is_of_use(opening):
            return
        while not self._stop.is_set():
            try:
                question = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcome = None if opening is None else self._workers.outcome(self._method, question)
                outcome = outcome or outcome_of(self._knowledge, self._plan, self._method, question)
                with self._counting:
                    self._lost_in_a_row = self._lost_in_a_row + 1 if outcome.record.is_lost else 0
                    # The caller stops the run then; until it does, no other question begins. With a snapshot the
                    # caller counts in the order of the questions, which is another row.
                    if self._lost_in_a_row >= UNREACHABLE and self._knowledge.snapshot is None:
                        self._stop.set()
                    self._ended.put(outcome)
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                self._ended.put(error)
                return

    def _is_of_use(self, opening: Future[None]) -> bool:
        """Wait until a worker can be asked, or until nothing is left that it could be asked."""
        while not (self._stop.is_set() or self._waiting.empty()):
            try:
                return opening.exception(_OPENED_S) is None
            except NotYet:
                continue
        return False


def _in_order(outcomes: Iterable[QuestionOutcome], questions: Sequence[Question]) -> Iterator[QuestionOutcome]:
    """Yield the outcomes in the order of the questions: the speed of threads must not show in a snapshot."""
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


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """What came of one question with one method.

    :param steps: its events, as JSON objects.
    :param error: what it ended with, or what ended its model's part.
    """

    question: Question
    record: Record
    steps: list[dict[str, Any]]
    error: KgsparqlError | None = None


def outcome_of(knowledge: KnowledgeBase, plan: Plan, method: Method, question: Question) -> QuestionOutcome:
    """Ask one question with one method; nothing is recorded if the run was stopped."""
    events: list[Event] = []
    asking = _question_options(plan, method, question, events.append)
    began = time.monotonic()
    try:
        answer = knowledge.answer(question.text, asking)
        record = Record.of(
            answer, question=question.id, method=method.label, degrees=_answer_degrees(knowledge, answer),
            model_seconds=_replayed_seconds(knowledge, method, question, "model", model_seconds(events)),
            chosen_by={event.chosen_by for event in events if isinstance(event, CandidatesChosen)}, links=method.links,
        )  # fmt: skip
        error = answer.error if isinstance(answer.error, KgsparqlError) else None
        return QuestionOutcome(question, record, _written_events(events), error)
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end a night's run: it counts as wrong, and says why
        known = error if isinstance(error, KgsparqlError) else KgsparqlError(f"{type(error).__name__}: {error}")
        seconds = _replayed_seconds(knowledge, method, question, "whole", time.monotonic() - began)
        record = Record.failed(known, question=question.id, method=method.label, seconds=seconds, links=method.links)
        return QuestionOutcome(question, record, _written_events(events), known)


def _question_options(plan: Plan, method: Method, question: Question, emit: Callable[[Event], None]) -> AskOptions:
    asking = replace(plan.asking, retriever=method.retriever, options={}, emit=emit)
    if plan.gold_topics:
        asking = asking.about(topic.iri for topic in question.topics)
    if not method.with_model:
        return replace(asking, model=None)
    if plan.oracle is not None and (oracle := plan.oracle(question)) is not None:
        return replace(asking, oracle=oracle)
    return asking


def _answer_degrees(knowledge: KnowledgeBase, answer: Answer) -> dict[Term, int]:
    """Count the triples of the first answers, where several share a place; endpoints are not asked."""
    first = [a for a in answer.answers[:_MAX_DEGREES] if isinstance(a.term, IRI)]
    if knowledge.graph.is_remote or len({(a.score, a.markers[:1]) for a in first}) == len(first):
        return {}
    degrees: dict[Term, int] = dict.fromkeys((a.term for a in first), 0)
    for count in predicates(knowledge.graph, degrees, skip=()).items:
        degrees[count.entity] += count.count
    return degrees


def _replayed_seconds(knowledge: KnowledgeBase, method: Method, question: Question, what: str, seconds: float) -> float:
    """Return the seconds that were measured; in a replay, those of the snapshot."""
    named = {"run": method.label, "question": question.id, "text": question.text, "what": what}
    return float(knowledge.measured(named, {"seconds": seconds})["seconds"])


def model_seconds(events: Iterable[Event]) -> float:
    """Add the seconds during which a model was waited for: calls at the same time count once."""
    calls = sorted((e.at_s - e.seconds, e.at_s) for e in events if isinstance(e, ModelCalled))
    waited, until = 0.0, 0.0
    for began, ended in calls:
        waited += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return waited


def _written_events(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Write events as JSON: of a long query the beginning, and no answer, which has a file of its own."""
    kept = []
    for event in events:
        if isinstance(event, QueryRun) and len(event.text) > _MAX_QUERY_CHARACTERS:
            event = replace(event, text=f"{event.text[:_MAX_QUERY_CHARACTERS]} … ({len(event.text):,} characters)")  # noqa: PLW2901
        if isinstance(event, Finished):
            event = replace(event, answer=None)  # noqa: PLW2901
        kept.append(event_json(event))
    return kept


class WorkerProcesses:
    """Processes that answer questions beside this one; they start when the first method needs them.

    A worker that ends, whatever ends it, is done without: its question is asked in this process.
    """

    def __init__(self, knowledge: KnowledgeBase, plan: Plan) -> None:
        self._knowledge = knowledge
        self._plan = plan
        self._pool: ProcessPoolExecutor | None = None
        self._end_of_pipe: Connection | None = None

    def opening(self, method: Method, questions: Sequence[Question]) -> list[Future[None]]:
        """Start as many workers as are of use; each future is done when one of them has opened the graph.

        There is none where threads serve, or must do: where a model or a server is waited for, whose limits are those
        of one process. Workers need a method that is nothing but its options, and a graph that can be opened again.
        """
        count = min(self._plan.workers, len(questions), _processor_count()) - 1
        if count < 1 or not _may_be_sent(method, self._plan) or not _may_be_opened_again(self._knowledge):
            return []
        if self._pool is None:
            _ = self._knowledge.indexes.linker  # one process makes the index, the others find it
            context = get_context("spawn")
            stop, self._end_of_pipe = context.Pipe(duplex=False)
            most = min(self._plan.workers, _processor_count()) - 1
            arguments = (self._worker_setup(), stop)
            self._pool = ProcessPoolExecutor(most, context, initializer=_open_worker, initargs=arguments)
        return [self._pool.submit(_is_open) for _ in range(count)]

    def _worker_setup(self) -> _WorkerSetup:
        asking = {
            field.name: getattr(self._plan.asking, field.name)
            for field in fields(self._plan.asking)
            if field.name not in _NOT_SENT
        }
        opened_with = self._knowledge.opened_with or {}
        fingerprint = self._knowledge.graph.fingerprint
        return _WorkerSetup(opened_with, fingerprint, asking, self._plan.gold_topics, gc.get_threshold())

    def outcome(self, method: Method, question: Question) -> QuestionOutcome | None:
        """Ask a worker; ``None`` if the workers have ended."""
        if self._pool is None:
            return None
        try:
            record, steps, error = self._pool.submit(_worker_outcome, method, question).result()
        except (Unanswered, RuntimeError):  # a process was killed, or the pool was closed at this moment
            return None
        return QuestionOutcome(question, record, steps, None if error is None else error_from(error))

    def close(self) -> None:
        """End all, in the middle of a question too: who waits for its outcome gets ``None``."""
        pool, self._pool = self._pool, None
        if pool is not None and self._end_of_pipe is not None:
            self._end_of_pipe.close()
            pool.shutdown(cancel_futures=True)


def _may_be_sent(method: Method, plan: Plan) -> bool:
    """Tell whether a method waits for nobody and is one of ours without an index, which another process can be sent."""
    waits = method.with_model and (plan.asking.model is not None or plan.oracle is not None)
    name = method.label.removesuffix(NO_MODEL)
    is_ours = type(method.retriever).__module__.startswith("kgsparql.") and name not in baselines.names()
    return is_ours and not waits


def _may_be_opened_again(knowledge: KnowledgeBase) -> bool:
    """Tell whether another process can open the same graph: one on this machine, and not only in memory."""
    opened_with = knowledge.opened_with
    if opened_with is None or not opened_with.get("cache", True) or is_address(opened_with["embedder"] or ""):
        return False
    return knowledge.graph.is_as_loaded


def _processor_count() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class _WorkerSetup:
    """What a worker is told first.

    :param opened_with: arguments of :func:`kgsparql.knowledge_base.open`; the graph must have this ``fingerprint``.
    :param asking: fields of :class:`AskOptions`.
    :param gc_threshold: when Python looks for circles of objects, as in the first process.
    """

    opened_with: Mapping[str, Any]
    fingerprint: str
    asking: Mapping[str, Any]
    gold_topics: bool
    gc_threshold: tuple[int, int, int]


_worker: tuple[KnowledgeBase, Plan]
"""In a worker: its graph, and how questions are asked."""


def _open_worker(setup: _WorkerSetup, stop: Connection) -> None:
    """Open the graph in a worker; the process ends if it is another by now, whose answers would be others."""
    global _worker  # noqa: PLW0603 - what an initializer of a pool leaves for its tasks
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal: the first one stops us
    threading.Thread(target=_end_with, args=(stop,), daemon=True).start()
    gc.set_threshold(*setup.gc_threshold)
    named = dict(setup.opened_with)
    knowledge = open_knowledge(*named.pop("sources"), **named)
    if knowledge.graph.fingerprint != setup.fingerprint:
        os._exit(1)
    _ = knowledge.indexes.linker
    knowledge.indexes.remembers = False  # each question is answered as if alone
    asking = AskOptions(**setup.asking)
    _worker = knowledge, Plan(questions=(), methods=(), asking=asking, gold_topics=setup.gold_topics)


def _end_with(stop: Connection) -> None:
    """End this process when the first one closes its end of a pipe, or is killed: a pool would go on for ever."""
    stop.poll(None)
    os._exit(1)


def _is_open() -> None:
    """Do nothing: a worker comes to it when its graph is open."""


def _worker_outcome(method: Method, question: Question) -> tuple[Record, list[dict[str, Any]], dict[str, Any] | None]:
    knowledge, plan = _worker
    found = outcome_of(knowledge, plan, method, question)
    return found.record, found.steps, None if found.error is None else found.error.to_record()
