"""Questions and records in a few words, for tests of metrics."""

from collections.abc import Collection, Sequence
from typing import Any

from kgsparql.evaluation.dataset import GoldAnswer, Question, Record, RecordedAnswer, RecordedEvidence, Topic
from kgsparql.evaluation.metrics import METRICS, Group
from kgsparql.rdf.terms import IRI, Triple
from tests.world import EX

ALL: frozenset[Group] = frozenset({"answer", "evidence", "linking", "grounding", "cost"})


def asking(gold: str | None, **fields: Any) -> Question:
    """A question whose right answers are the entities of these names; ``None`` while nobody knows."""
    answers = None if gold is None else tuple(GoldAnswer(IRI(EX + name), name) for name in gold.split())
    return Question(id="1", text="?", answers=answers, **fields)


def entity(name: str, *, score: float = 1.0, marker: str = "P1") -> RecordedAnswer:
    """An entity that was given as an answer."""
    return RecordedAnswer(f"<{EX}{name}>", name, score, (marker,) if marker else ())


def path(names: str, *, score: float = 1.0, marker: str = "P1") -> tuple[RecordedAnswer, ...]:
    """The answers at the end of one path."""
    return tuple(entity(name, score=score, marker=marker) for name in names.split())


def record(*answers: RecordedAnswer, status: str = "answered", **fields: Any) -> Record:
    """What a method came to."""
    return Record(question="1", method="test", status=status, answers=answers, **fields)


def triple(text: str) -> Triple:
    """A triple from the names of its terms."""
    return Triple(*(IRI(EX + name) for name in text.split()))


def item(
    *triples: str, marker: str = "P1", verified: Sequence[bool | None] | None = None, **fields: Any
) -> RecordedEvidence:
    """A piece of evidence; its triples were found again, unless said otherwise."""
    made = tuple((str(t.subject), str(t.predicate), str(t.object)) for t in map(triple, triples))
    return RecordedEvidence(marker, triples=made, verified=tuple(verified or [True] * len(made)), **fields)


def link(*names: str) -> tuple[str, ...]:
    """An entity that was found in the question, and what else was thought of."""
    return tuple(f"<{EX}{name}>" for name in names)


def topics(names: str) -> tuple[Topic, ...]:
    """Entities that a question is about."""
    return tuple(Topic(IRI(EX + name), name) for name in names.split())


def scores(question: Question, made: Record, *, groups: Collection[Group] = ALL) -> dict[str, float | None]:
    """The figures of one question by name of the metric; ``None`` where one is not defined for it."""
    return {name: metric.of(question, made) for name, metric in METRICS.items() if metric.group in groups}


def of(names: str, question: Question, made: Record) -> list[float | None]:
    """The values of metrics, by their names."""
    return [METRICS[name].of(question, made) for name in names.split()]
