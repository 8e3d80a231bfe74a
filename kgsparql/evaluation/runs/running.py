"""Asking every question with every method; each answer is written as it comes, so that a run can be resumed."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.errors import CancelledError, EndpointError, KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.configuration import check_same, now
from kgsparql.evaluation.runs.directory import Run, RunDirectory
from kgsparql.evaluation.runs.plan import Method, MethodProgress, Plan
from kgsparql.events import CandidatesChosen, Event, Finished, ModelCalled, QueryRun
from kgsparql.exploration import predicates
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import IRI, Term
from kgsparql.storage.file_lock import writer_lock

UNREACHABLE = 3
"""Questions in a row that an endpoint or a model server did not answer, after which the run stops."""

_STOP_S = 2.0
"""Seconds that questions may take to end when the run stops."""

_DEGREES = 200
"""Answers of a question whose triples are counted, which orders the answers of one path."""

_QUERY = 2_000
"""Characters of a query that are written with the steps of a question."""


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
    with knowledge.forgetting():
        for method in plan.methods:
            _run_method(knowledge, plan, method, directory=directory, done=done(method.label), tell=tell)


def _run_method(
    knowledge: KnowledgeBase, plan: Plan, method: Method, *,
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
    with closing(_outcomes(knowledge, plan, method, left)) as outcomes:
        for question, record, events, error in outcomes:
            directory.add(record, events)
            progress.add(question, record)
            per_question = (time.monotonic() - began) / (progress.done - before)
            progress.seconds_left = per_question * (progress.total - progress.done)
            tell(progress)
            lost_in_a_row = lost_in_a_row + 1 if record.is_lost else 0
            if lost_in_a_row >= UNREACHABLE:
                stopped = error or EndpointError("nobody answers")
                about = f"{UNREACHABLE} questions in a row: the run stops; --resume goes on with it."
                stopped.hint = f"{about} {stopped.hint or ''}".strip()
                raise stopped


_Outcome = tuple[Question, Record, list[dict[str, Any]], KgsparqlError | None]
"""A question, its record, its steps, and the error it ended with."""


def _outcomes(
    knowledge: KnowledgeBase, plan: Plan, method: Method, questions: Sequence[Question]
) -> Generator[_Outcome]:
    """The outcomes as they come; at most ``plan.workers`` questions are asked at the same time."""
    waiting: queue.SimpleQueue[Question] = queue.SimpleQueue()
    ended: queue.SimpleQueue[_Outcome | BaseException] = queue.SimpleQueue()
    for question in questions:
        waiting.put(question)
    stop, counting, lost_in_a_row = threading.Event(), threading.Lock(), 0

    def work() -> None:
        nonlocal lost_in_a_row
        while not stop.is_set():
            try:
                question = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcome = _outcome(knowledge, plan, method, question)
                with counting:
                    lost_in_a_row = lost_in_a_row + 1 if outcome[1].is_lost else 0
                    # The caller stops the run then; until it does, no other question begins. With a snapshot the
                    # caller counts in the order of the questions, which is another row.
                    if lost_in_a_row >= UNREACHABLE and knowledge.snapshot is None:
                        stop.set()
                    ended.put(outcome)
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                ended.put(error)
                return

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(plan.workers, len(questions)))]
    for thread in threads:
        thread.start()
    try:
        came = (_or_raise(ended.get()) for _ in questions)
        yield from came if knowledge.snapshot is None else _in_order(came, questions)
    except BaseException:
        plan.asking.cancel.set()
        raise
    finally:
        stop.set()
        until = time.monotonic() + _STOP_S
        for thread in threads:  # what they use, such as the model, may be closed next
            thread.join(max(0.0, until - time.monotonic()))


def _in_order(outcomes: Iterable[_Outcome], questions: Sequence[Question]) -> Iterator[_Outcome]:
    """The same in the order of the questions: the speed of threads must not show in a snapshot."""
    waiting: dict[str, _Outcome] = {}
    left = deque(question.id for question in questions)
    for outcome in outcomes:
        waiting[outcome[0].id] = outcome
        while left and left[0] in waiting:
            yield waiting.pop(left.popleft())


def _or_raise(outcome: _Outcome | BaseException) -> _Outcome:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _outcome(knowledge: KnowledgeBase, plan: Plan, method: Method, question: Question) -> _Outcome:
    """The outcome of one question with one method; nothing is recorded if the run was stopped."""
    events: list[Event] = []
    asking = _asking(plan, method, question, events.append)
    began = time.monotonic()
    try:
        answer = knowledge.answer(question.text, asking)
        record = Record.of(
            answer, question=question.id, method=method.label, degrees=_degrees(knowledge, answer),
            model_seconds=_clocked(knowledge, method, question, "model", _model_seconds(events)),
            chosen_by={event.chosen_by for event in events if isinstance(event, CandidatesChosen)}, links=method.links,
        )  # fmt: skip
        return question, record, _steps(events), answer.error if isinstance(answer.error, KgsparqlError) else None
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end a night's run: it counts as wrong, and says why
        known = error if isinstance(error, KgsparqlError) else KgsparqlError(f"{type(error).__name__}: {error}")
        seconds = _clocked(knowledge, method, question, "whole", time.monotonic() - began)
        record = Record.failed(known, question=question.id, method=method.label, seconds=seconds, links=method.links)
        return question, record, _steps(events), known


def _asking(plan: Plan, method: Method, question: Question, emit: Callable[[Event], None]) -> AskOptions:
    asking = replace(plan.asking, retriever=method.retriever, options={}, emit=emit)
    if plan.gold_topics:
        asking = asking.about(topic.iri for topic in question.topics)
    if not method.with_model:
        return replace(asking, model=None)
    if plan.oracle is not None and (chooser := plan.oracle(question)) is not None:
        return replace(asking, chooser=chooser)
    return asking


def _degrees(knowledge: KnowledgeBase, answer: Answer) -> dict[Term, int]:
    """How many triples each of the first answers is in, where several share a place; endpoints are not asked."""
    first = [a for a in answer.answers[:_DEGREES] if isinstance(a.term, IRI)]
    if knowledge.graph.is_remote or len({(a.score, a.markers[:1]) for a in first}) == len(first):
        return {}
    degrees: dict[Term, int] = dict.fromkeys((a.term for a in first), 0)
    for count in predicates(knowledge.graph, degrees, skip=()).items:
        degrees[count.entity] += count.count
    return degrees


def _clocked(knowledge: KnowledgeBase, method: Method, question: Question, what: str, seconds: float) -> float:
    """The seconds that were measured; in a replay, those of the snapshot."""
    named = {"run": method.label, "question": question.id, "text": question.text, "what": what}
    return float(knowledge.measured(named, {"seconds": seconds})["seconds"])


def _model_seconds(events: Iterable[Event]) -> float:
    """Seconds during which a model was waited for: calls at the same time count once."""
    calls = sorted((e.at_s - e.seconds, e.at_s) for e in events if isinstance(e, ModelCalled))
    waited, until = 0.0, 0.0
    for began, ended in calls:
        waited += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return waited


def _steps(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The steps as they are written: of a long query the beginning, and no answer, which has a file of its own."""
    kept = []
    for event in events:
        if isinstance(event, QueryRun) and len(event.text) > _QUERY:
            event = replace(event, text=f"{event.text[:_QUERY]} … ({len(event.text):,} characters)")  # noqa: PLW2901
        if isinstance(event, Finished):
            event = replace(event, answer=None)  # noqa: PLW2901
        kept.append(event.to_json())
    return kept


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
