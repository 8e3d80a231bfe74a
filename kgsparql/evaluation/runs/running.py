"""Asking every question with every method; each answer is written as it comes, so that a run can be resumed.

Questions are asked in threads, which serve where a model or an endpoint is waited for: Python runs one at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from kgsparql.answering.answer import Answer
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import CancelledError, EndpointError, KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.runs.plan import Method, Plan, check_same, now
from kgsparql.events import ignore
from kgsparql.exploration import degrees
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import IRI, Json, Term
from kgsparql.storage.files import writer_lock

UNREACHABLE = 3  # questions in a row that an endpoint or a model server did not answer, after which the run stops
_MAX_DEGREES = 200  # answers of a question whose triples are counted, which orders the answers of one path


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

QuestionOutcome: TypeAlias = tuple[Question, Record, KgsparqlError | None]
"""What came of a question, and what it, or its model's part, ended with."""


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
        with closing(_outcomes_of_method(knowledge, plan, method, left)) as outcomes:
            for question, record, error in outcomes:
                there.add(record)
                progress.add(question, record)
                tell(progress)
                lost_in_a_row = lost_in_a_row + 1 if record.is_lost else 0
                if lost_in_a_row >= UNREACHABLE:
                    stopped = error or EndpointError("nobody answers")
                    about = f"{UNREACHABLE} questions in a row: the run stops; --resume goes on with it."
                    stopped.hint = f"{about} {stopped.hint or ''}".strip()
                    raise stopped


def _outcomes_of_method(
    knowledge: KnowledgeBase, plan: Plan, method: Method, questions: Sequence[Question]
) -> Generator[QuestionOutcome]:
    """Yield the outcomes as they come; at most ``plan.workers`` questions are asked at the same time.

    A question is asked only when the outcome of another is dealt with, so that none begins after a run stopped.
    """
    waiting = iter(questions)
    with ThreadPoolExecutor(plan.workers) as threads:
        asked = {threads.submit(_outcome_of, knowledge, plan, method, one) for one in islice(waiting, plan.workers)}
        try:
            while asked:
                done, asked = wait(asked, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                    asked |= {threads.submit(_outcome_of, knowledge, plan, method, one) for one in islice(waiting, 1)}
        except BaseException:
            plan.asking.cancel.set()  # the threads are waited for
            raise


def _outcome_of(knowledge: KnowledgeBase, plan: Plan, method: Method, question: Question) -> QuestionOutcome:
    """Ask one question with one method; nothing is recorded if the run was stopped."""
    asking = replace(plan.asking, retriever=method.retriever, options={})
    if plan.gold_topics:
        asking = asking.about(topic.iri for topic in question.topics)
    if not method.with_model:
        asking = asking.without_model()
    about: Json = {"question": question.id, "method": method.label}
    began = time.monotonic()
    try:
        answer = knowledge.answer(question.text, asking)
        record = Record.of(answer, degrees=_answer_degrees(knowledge, answer), **about)
        return question, record, answer.error if isinstance(answer.error, KgsparqlError) else None
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end a night's run: it counts as wrong, and says why
        known = error if isinstance(error, KgsparqlError) else KgsparqlError(f"{type(error).__name__}: {error}")
        return question, Record.failed(known, seconds=time.monotonic() - began, **about), known


def _answer_degrees(knowledge: KnowledgeBase, answer: Answer) -> Mapping[Term, int]:
    """Count the triples of the first answers, where several share a place; endpoints are not asked."""
    first = [a for a in answer.answers[:_MAX_DEGREES] if isinstance(a.term, IRI)]
    if knowledge.graph.is_remote or len({(a.score, a.markers[:1]) for a in first}) == len(first):
        return {}
    terms = dict.fromkeys(a.term for a in first)
    found = degrees(knowledge.graph, terms, skip=())
    return {term: found[term] for term in terms}
