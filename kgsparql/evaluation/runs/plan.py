"""What a run asks, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.choosing import Chooser, RankerChooser
from kgsparql.answering.retriever import Retriever
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record

Oracles = Callable[[Question], "Callable[[RankerChooser], Chooser] | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method as a run asks it.

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
    :param oracle: who chooses instead of a model, for each question; ``None`` for nobody.
    """

    questions: Sequence[Question]
    methods: Sequence[Method]
    asking: AskOptions
    gold_topics: bool = False
    oracle: Oracles | None = None
    workers: int = 1


@dataclass(slots=True)
class MethodProgress:
    """How far a method is.

    :param hits: sum of ``hits@1`` over the questions that are done.
    :param seconds_left: for this method; ``None`` while it is not known.
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
