"""One question asked with one method: its record and its steps, whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.errors import CancelledError, KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.plan import Method, Plan
from kgsparql.events import CandidatesChosen, Event, Finished, ModelCalled, QueryRun
from kgsparql.exploration import predicates
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rendering.answer_json import event_json

_DEGREES = 200
"""Answers of a question whose triples are counted, which orders the answers of one path."""

_QUERY = 2_000
"""Characters of a query that are written with the steps of a question."""


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """What came of a question.

    :param steps: its events, as JSON objects.
    :param error: what it ended with, or what ended its model's part.
    """

    question: Question
    record: Record
    steps: list[dict[str, Any]]
    error: KgsparqlError | None = None


def outcome_of(knowledge: KnowledgeBase, plan: Plan, method: Method, question: Question) -> QuestionOutcome:
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
        error = answer.error if isinstance(answer.error, KgsparqlError) else None
        return QuestionOutcome(question, record, _steps(events), error)
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end a night's run: it counts as wrong, and says why
        known = error if isinstance(error, KgsparqlError) else KgsparqlError(f"{type(error).__name__}: {error}")
        seconds = _clocked(knowledge, method, question, "whole", time.monotonic() - began)
        record = Record.failed(known, question=question.id, method=method.label, seconds=seconds, links=method.links)
        return QuestionOutcome(question, record, _steps(events), known)


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
        kept.append(event_json(event))
    return kept
