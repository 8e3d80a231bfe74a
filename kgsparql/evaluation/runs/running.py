"""Asking every question with every method; each answer is written as it comes, so that a run can be resumed.

Python runs one thread at a time, so methods that wait for nobody are also asked in worker processes, each of which
opens the graph anew.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import closing
from functools import partial
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import event_json
from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.dataclasses import dataclass, fields, replace
from kgsparql.errors import CancelledError, EndpointError, KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.runs.plan import Method, Plan, check_same, now
from kgsparql.events import CandidatesChosen, Event, Finished, ModelCalled, QueryRun
from kgsparql.exploration import degrees
from kgsparql.http.address import is_address
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.knowledge_base import open as open_knowledge
from kgsparql.rdf.terms import IRI, Term
from kgsparql.storage.files import writer_lock

UNREACHABLE = 3  # questions in a row that an endpoint or a model server did not answer, after which the run stops
_MAX_DEGREES = 200  # answers of a question whose triples are counted, which orders the answers of one path
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
    without_model: int = 0
    cost: float | None = None

    def add(self, question: Question, record: Record) -> None:
        """Count one more answer."""
        self.done += 1
        self.hits += METRICS["hits@1"].of(question, record) or 0.0
        self.failed += record.error is not None
        self.without_model += record.is_without_model
        if (cost := record.measured.cost) is not None:
            self.cost = (self.cost or 0.0) + cost


Tell = Callable[[MethodProgress], None]


def resume_or_begin(
    knowledge: KnowledgeBase, plan: Plan, path: Path, config: Mapping[str, Any], *, tell: Tell = ignore
) -> Run:
    """Complete the run in a directory: what is there is kept, the rest is asked.

    :param config: from :func:`kgsparql.evaluation.runs.plan.configuration`.
    :raises InputError: if what is there is a run of something else, or no run.
    :raises StoreLockedError: if another process is writing it.
    """
    began = config["began"]
    with writer_lock(path):
        if (path / "run.json").is_file():
            there = Run.open(path)
            there.mend()
            check_same(there.config, config, path)
            began = there.config["began"]
        else:
            there = Run.begin(path, config, plan.questions)
        run(knowledge, plan, there, tell=tell)
        there.write_config({**config, "began": began, "ended": now()})
    return Run.open(path)


def run(knowledge: KnowledgeBase, plan: Plan, there: Run, *, tell: Tell = ignore) -> None:
    """Ask what is not answered yet, method by method.

    A question that fails is recorded with its error. If an endpoint or a model server did not answer it, it is asked
    again when the run is resumed.

    :raises UnreachableError: after three such questions in a row; what is done is kept.
    """
    with closing(Asking(knowledge, plan)) as asking:
        for method in plan.methods:
            progress, left = MethodProgress(method.label, 0, len(plan.questions)), []
            records = there.records(method.label)
            for question in plan.questions:
                record = records.get(question.id)
                if record is None or record.is_lost:
                    left.append(question)
                else:
                    progress.add(question, record)
            tell(progress)
            lost_in_a_row = 0
            with closing(asking.outcomes(method, left)) as outcomes:
                for outcome in outcomes:
                    there.add(outcome.record, outcome.steps)
                    progress.add(outcome.question, outcome.record)
                    tell(progress)
                    lost_in_a_row = lost_in_a_row + 1 if outcome.record.is_lost else 0
                    if lost_in_a_row >= UNREACHABLE:
                        stopped = outcome.error or EndpointError("nobody answers")
                        about = f"{UNREACHABLE} questions in a row: the run stops; --resume goes on with it."
                        stopped.hint = f"{about} {stopped.hint or ''}".strip()
                        raise stopped


class Asking:
    """Asks the questions of a run: in worker processes where these are of use, else in threads."""

    def __init__(self, knowledge: KnowledgeBase, plan: Plan) -> None:
        self._knowledge = knowledge
        self._plan = plan
        self._pool: ProcessPoolExecutor | None = None
        self._end_of_pipe: Connection | None = None

    def outcomes(self, method: Method, questions: Sequence[Question]) -> Generator[QuestionOutcome]:
        """Yield the outcomes as they come; at most ``plan.workers`` questions are asked at the same time."""
        left = {question.id: question for question in questions}
        if (processes := self.pool_for(method, questions)) is not None:
            try:
                for outcome in self._completed_outcomes(processes, partial(_worker_outcome, method), questions):
                    del left[outcome.question.id]
                    yield outcome
            except BrokenExecutor:  # a process was killed, or the graph is another by now: the rest is asked here
                self.close()
        ask = partial(outcome_of, self._knowledge, self._plan, method)
        threads = ThreadPoolExecutor(self._plan.workers)
        try:
            yield from self._completed_outcomes(threads, ask, list(left.values()))
        finally:
            threads.shutdown(cancel_futures=True)

    def _completed_outcomes(
        self, pool: Executor, ask: Callable[[Question], QuestionOutcome], questions: Sequence[Question]
    ) -> Generator[QuestionOutcome]:
        """Ask a question only when the outcome of another is dealt with, so that none begins after a run stopped."""
        waiting = iter(questions)
        asked = [pool.submit(ask, question) for question in islice(waiting, self._plan.workers)]
        try:
            while asked:
                done = wait(asked, return_when=FIRST_COMPLETED).done
                for future in [one for one in asked if one in done]:
                    asked.remove(future)
                    yield future.result()
                    asked += [pool.submit(ask, question) for question in islice(waiting, 1)]
        except BrokenExecutor:
            raise
        except BaseException:
            self._plan.asking.cancel.set()
            self.close()
            raise

    def pool_for(self, method: Method, questions: Sequence[Question]) -> ProcessPoolExecutor | None:
        """Return the processes for the questions of a method; ``None`` where threads serve, or must do."""
        count = min(self._plan.workers, _processor_count())
        if min(count, len(questions)) < 2 or not self._can_be_sent(method):
            return None
        if self._pool is None:
            _ = self._knowledge.indexes.linker  # one process makes the index, the others find it
            context = get_context("spawn")
            stop, self._end_of_pipe = context.Pipe(duplex=False)
            own = self._plan.asking
            asking = {f.name: getattr(own, f.name) for f in fields(AskOptions) if f.name not in _NOT_SENT}
            graph = self._knowledge.opened_with or {}, self._knowledge.graph.fingerprint
            arguments = stop, *graph, asking, self._plan.gold_topics
            self._pool = ProcessPoolExecutor(count, context, initializer=_open_worker, initargs=arguments)
        return self._pool

    def _can_be_sent(self, method: Method) -> bool:
        """Tell whether other processes can ask with a method.

        Not where a model or a server is waited for, whose limits are those of one process. The method must be one of
        ours, which are nothing but their options, and the graph one on this machine that can be opened again.
        """
        plan, opened_with = self._plan, self._knowledge.opened_with
        waits = method.with_model and (plan.asking.model is not None or plan.oracle is not None)
        is_ours = type(method.retriever).__module__.startswith(("kgsparql.retrievers.", "kgsparql.answering."))
        if waits or not is_ours or opened_with is None:
            return False
        is_kept = opened_with.get("cache", True) and not is_address(opened_with["embedder"] or "")
        return is_kept and self._knowledge.graph.is_as_loaded

    def close(self) -> None:
        """End all processes, in the middle of a question too."""
        pool, self._pool = self._pool, None
        if pool is not None and self._end_of_pipe is not None:
            self._end_of_pipe.close()
            pool.shutdown(cancel_futures=True)


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
            model_seconds=model_seconds(events),
            chosen_by={event.chosen_by for event in events if isinstance(event, CandidatesChosen)}, links=method.links,
        )  # fmt: skip
        error = answer.error if isinstance(answer.error, KgsparqlError) else None
        return QuestionOutcome(question, record, _written_events(events), error)
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end a night's run: it counts as wrong, and says why
        known = error if isinstance(error, KgsparqlError) else KgsparqlError(f"{type(error).__name__}: {error}")
        seconds = time.monotonic() - began
        record = Record.failed(known, question=question.id, method=method.label, seconds=seconds, links=method.links)
        return QuestionOutcome(question, record, _written_events(events), known)


def _question_options(plan: Plan, method: Method, question: Question, emit: Callable[[Event], None]) -> AskOptions:
    asking = replace(plan.asking, retriever=method.retriever, options={}, emit=emit)
    if plan.gold_topics:
        asking = asking.about(topic.iri for topic in question.topics)
    if not method.with_model:
        return asking.without_model()
    if plan.oracle is not None and (oracle := plan.oracle(question)) is not None:
        return replace(asking, oracle=oracle)
    return asking


def _answer_degrees(knowledge: KnowledgeBase, answer: Answer) -> Mapping[Term, int]:
    """Count the triples of the first answers, where several share a place; endpoints are not asked."""
    first = [a for a in answer.answers[:_MAX_DEGREES] if isinstance(a.term, IRI)]
    if knowledge.graph.is_remote or len({(a.score, a.markers[:1]) for a in first}) == len(first):
        return {}
    terms = dict.fromkeys(a.term for a in first)
    found = degrees(knowledge.graph, terms, skip=())
    return {term: found[term] for term in terms}


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


def _processor_count() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_TIME_TO_STOP_S = 1.0
"""What a worker has to stop a question and send what came of it; an outcome is sent in milliseconds."""
_worker: tuple[KnowledgeBase, Plan]
"""In a worker: its graph, and how questions are asked."""


def _open_worker(
    stop: Connection, opened_with: Mapping[str, Any], fingerprint: str, asking: Mapping[str, Any], gold_topics: bool
) -> None:
    """Open the graph in a worker; the process ends if it is another by now, whose answers would be others."""
    global _worker  # noqa: PLW0603 - what an initializer of a pool leaves for its tasks
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal: the first one stops us
    cancel = threading.Event()
    threading.Thread(target=_end_with, args=(stop, cancel), daemon=True).start()
    gc.set_threshold(500_000, 20, 50)  # as in __main__: no solution is part of a circle
    named = dict(opened_with)
    knowledge = open_knowledge(*named.pop("sources"), **named)
    if knowledge.graph.fingerprint != fingerprint:
        os._exit(1)
    _ = knowledge.indexes.linker
    own = AskOptions(**asking, cancel=cancel)
    _worker = knowledge, Plan(questions=(), methods=(), asking=own, gold_topics=gold_topics)


def _end_with(stop: Connection, cancel: threading.Event) -> None:
    """End this process when the first one closes its end of a pipe, or is killed: a pool would go on for ever.

    What is being asked is stopped first: the first process would wait for ever for the rest of half an outcome.
    """
    stop.poll(None)
    cancel.set()
    time.sleep(_TIME_TO_STOP_S)
    os._exit(1)


def _worker_outcome(method: Method, question: Question) -> QuestionOutcome:
    return outcome_of(*_worker, method, question)
