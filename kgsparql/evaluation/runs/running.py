"""Asking every question with every method: bounded, one line for each answer as it comes, to be gone on with later."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.answering.choosing import Chooser, RankerChooser
from kgsparql.answering.retriever import Retriever
from kgsparql.errors import CancelledError, EndpointError, KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import RunDirectory
from kgsparql.events import CandidatesChosen, Event, Finished, ModelCalled, QueryRun
from kgsparql.exploration import predicates
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import IRI, Term

__all__ = ["Method", "MethodProgress", "Plan", "run"]

UNREACHABLE = 3
"""Questions in a row that an endpoint or a model server did not answer, after which the run stops."""

_OUT_S = 2.0
"""What a question that was stopped may take to end."""

_DEGREES = 200
"""Answers whose triples are counted, so that those of one path have an order that means something."""

_QUERY = 2_000
"""Characters of a query that are kept with the steps of a question."""

Oracles = Callable[[Question], "Callable[[RankerChooser], Chooser] | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method as a run asks it.

    :param label: what it is called in the run; the name of its files.
    :param with_model: it may ask the model of the run.
    :param links: it looks for the entities of a question.
    """

    label: str
    retriever: Retriever
    options: Mapping[str, Any]
    with_model: bool = True
    links: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run asks, and how.

    :param asking: everything that is the same for all questions and methods.
    :param gold_topics: the entities are given, not linked.
    :param oracle: who chooses in the place of a model, for each question; ``None`` for nobody.
    :param workers: questions that are asked at the same time.
    """

    questions: Sequence[Question]
    methods: Sequence[Method]
    asking: AskOptions
    gold_topics: bool = False
    oracle: Oracles | None = None
    workers: int = 1


@dataclass(slots=True)
class MethodProgress:
    """How far a method is, for whoever waits.

    :param hits: sum of ``hits@1`` of what is done.
    :param cost: of what is done; ``None`` without prices.
    :param seconds_left: for this method; ``None`` while nobody can say.
    """

    method: str
    done: int
    total: int
    hits: float = 0.0
    failed: int = 0
    cost: float | None = None
    seconds_left: float | None = None

    def add(self, question: Question, record: Record) -> None:
        """Count one more answer."""
        self.done += 1
        self.hits += METRICS["hits@1"].of(question, record) or 0.0
        self.failed += record.error is not None
        if record.measured.cost is not None:
            self.cost = (self.cost or 0.0) + record.measured.cost


def run(
    knowledge: KnowledgeBase,
    plan: Plan,
    directory: RunDirectory,
    done: Callable[[str], Mapping[str, Record]],
    *,
    tell: Callable[[MethodProgress], None] = ignore,
) -> None:
    """Ask what is not answered yet, method by method.

    A question that fails is recorded with its error. One that an endpoint or a model server did not answer is asked
    again when the run goes on.

    :param done: the records of a method that are there, by question.
    :raises UnreachableError: after three such questions in a row; what is done is kept.
    :raises DiskFullError: if a line cannot be written.
    :raises CancelledError: if ``plan.asking.cancel`` was set.
    """
    with knowledge.forgetting():
        for method in plan.methods:
            _run_method(knowledge, plan, method, directory=directory, done=done(method.label), tell=tell)


def _run_method(
    knowledge: KnowledgeBase,
    plan: Plan,
    method: Method,
    *,
    directory: RunDirectory,
    done: Mapping[str, Record],
    tell: Callable[[MethodProgress], None],
) -> None:
    tally = MethodProgress(method.label, 0, len(plan.questions))
    left = _left(plan.questions, done, tally)
    tell(tally)
    began, before, row = time.monotonic(), tally.done, _InARow()
    with closing(_asked(knowledge, plan, method, left)) as asked:
        for question, record, events, error in asked:
            directory.add(record, events)
            tally.add(question, record)
            per_question = (time.monotonic() - began) / (tally.done - before)
            tally.seconds_left = per_question * (tally.total - tally.done)
            tell(tally)
            if row.is_too_long(record):
                raise _stopped(error or EndpointError("nobody answers"))


def _left(questions: Sequence[Question], done: Mapping[str, Record], tally: MethodProgress) -> list[Question]:
    """The questions that are still to be asked; the others are counted."""
    left = []
    for question in questions:
        record = done.get(question.id)
        if record is None or record.is_lost:
            left.append(question)
        else:
            tally.add(question, record)
    return left


@dataclass(slots=True)
class _InARow:
    """How many questions that ended one after the other nobody was there to answer."""

    lost: int = 0

    def is_too_long(self, record: Record) -> bool:
        """Count one more; whether it is time to stop."""
        self.lost = self.lost + 1 if record.is_lost else 0
        return self.lost >= UNREACHABLE


def _stopped(error: KgsparqlError) -> KgsparqlError:
    about = f"{UNREACHABLE} questions in a row: the run stops; --resume goes on with it."
    error.hint = f"{about} {error.hint or ''}".strip()
    return error


_Asked = tuple[Question, Record, list[dict[str, Any]], KgsparqlError | None]


def _asked(knowledge: KnowledgeBase, plan: Plan, method: Method, questions: Sequence[Question]) -> Generator[_Asked]:
    """What comes of the questions, as it comes; at most ``plan.workers`` are asked at the same time."""
    waiting: queue.SimpleQueue[Question] = queue.SimpleQueue()
    ended: queue.SimpleQueue[_Asked | BaseException] = queue.SimpleQueue()
    for question in questions:
        waiting.put(question)
    stop, row, counting = threading.Event(), _InARow(), threading.Lock()

    def work() -> None:
        while not stop.is_set():
            try:
                question = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                one = _ask(knowledge, plan, method, question)
                with counting:  # whoever waits for it stops the run: nobody begins another question meanwhile
                    if row.is_too_long(one[1]) and knowledge.snapshot is None:  # else it is another row that counts
                        stop.set()
                    ended.put(one)
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                ended.put(error)
                return

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(plan.workers, len(questions)))]
    for thread in threads:
        thread.start()
    try:
        came = (_raised(ended.get()) for _ in questions)
        yield from came if knowledge.snapshot is None else _in_order(came, questions)
    except BaseException:
        plan.asking.cancel.set()
        raise
    finally:
        stop.set()
        until = time.monotonic() + _OUT_S
        for thread in threads:  # what they use, such as the model, may be closed next
            thread.join(max(0.0, until - time.monotonic()))


def _in_order(came: Iterable[_Asked], questions: Sequence[Question]) -> Iterator[_Asked]:
    """The same in the order of the questions: threads that are faster or slower must not show in a snapshot."""
    waiting: dict[str, _Asked] = {}
    left = deque(question.id for question in questions)
    for one in came:
        waiting[one[0].id] = one
        while left and left[0] in waiting:
            yield waiting.pop(left.popleft())


def _raised(one: _Asked | BaseException) -> _Asked:
    if isinstance(one, BaseException):
        raise one
    return one


def _ask(knowledge: KnowledgeBase, plan: Plan, method: Method, question: Question) -> _Asked:
    """One question with one method.

    :raises CancelledError: if the run was stopped: there is nothing to record then.
    """
    events: list[Event] = []
    asking = _asking(plan, method, question, events.append)
    began = time.monotonic()
    try:
        answer = knowledge.answer(question.text, asking)
        record = Record.of(
            answer,
            question=question.id,
            method=method.label,
            degrees=_degrees(knowledge, answer),
            model_seconds=_clocked(knowledge, method, question, "model", _model_seconds(events)),
            chosen_by={event.chosen_by for event in events if isinstance(event, CandidatesChosen)},
            links=method.links,
        )
        return question, record, _kept(events), answer.error if isinstance(answer.error, KgsparqlError) else None
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end a night's run: it counts as wrong, and says why
        known = error if isinstance(error, KgsparqlError) else KgsparqlError(f"{type(error).__name__}: {error}")
        seconds = _clocked(knowledge, method, question, "whole", time.monotonic() - began)
        record = Record.failed(known, question=question.id, method=method.label, seconds=seconds, links=method.links)
        return question, record, _kept(events), known


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
    """How many triples each of the first answers is in, where several share a place; nobody asks an endpoint that."""
    first = [a for a in answer.answers[:_DEGREES] if isinstance(a.term, IRI)]
    if knowledge.graph.is_remote or len({(a.score, a.markers[:1]) for a in first}) == len(first):
        return {}
    degrees: dict[Term, int] = dict.fromkeys((a.term for a in first), 0)
    for count in predicates(knowledge.graph, degrees, skip=()).items:
        degrees[count.entity] += count.count
    return degrees


def _clocked(knowledge: KnowledgeBase, method: Method, question: Question, what: str, seconds: float) -> float:
    """What a clock said; of a run that is replayed, what it said then."""
    named = {"run": method.label, "question": question.id, "text": question.text, "what": what}
    return float(knowledge.measured(named, {"seconds": seconds})["seconds"])


def _model_seconds(events: Iterable[Event]) -> float:
    """How long anybody waited for a model: calls at the same time count once."""
    calls = sorted((e.at_s - e.seconds, e.at_s) for e in events if isinstance(e, ModelCalled))
    waited, until = 0.0, 0.0
    for began, ended in calls:
        waited += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return waited


def _kept(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The steps as they are written: a long query by its beginning; the answer has a file of its own."""
    kept = []
    for event in events:
        if isinstance(event, QueryRun) and len(event.text) > _QUERY:
            event = replace(event, text=f"{event.text[:_QUERY]} … ({len(event.text):,} characters)")  # noqa: PLW2901
        if isinstance(event, Finished):
            event = replace(event, answer=None)  # noqa: PLW2901
        kept.append(event.to_json())
    return kept
