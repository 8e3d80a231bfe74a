"""What a metric is; and the answers of a record compared with the right ones, once for all metrics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Generic, TypeAlias, TypeVar
from typing import Literal as OneOf

from kgsparql.dataclasses import frozen
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.matching import GoldAnswers, identity
from kgsparql.evaluation.record import Record, RecordedAnswer

_T = TypeVar("_T")

Group: TypeAlias = OneOf["answer", "evidence", "linking", "grounding", "cost"]
Better: TypeAlias = OneOf["higher", "lower", ""]
Score: TypeAlias = Callable[[Question, Record], "float | None"]


@frozen
class Metric:
    """A figure for one question; the figure of a method is the mean over the questions that have one.

    :param better: which way is better; empty where neither is.
    :param of: gives ``None`` where it is not defined: the question is then left out of the mean, so that a share of
        some questions (those without an answer, say) is a mean too.
    """

    name: str
    group: Group
    better: Better
    of: Score


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 where both are.

    >>> f1(1.0, 0.5), f1(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@frozen
class Judgement:
    """The given answers in the order in which they are scored, and which of them are right.

    :param gold: how many different right answers there are.
    :param answers: the different given ones, the best first.
    :param found: for each of them, the numbers of the right answers it is equal to; empty for a wrong one.
    :param leading: how many of them lead: the first, and those right behind it of equal score and first marker.
    :param predicted: how many of them are the predicted set: the leading ones if nobody chose among candidates, else
        all.
    :param settled: the score in every metric if the question failed (0) or has no right answer (1 for silence, else 0).
    """

    gold: int
    answers: tuple[RecordedAnswer, ...]
    found: tuple[tuple[int, ...], ...]
    leading: int
    predicted: int
    settled: float | None

    def right(self, first: int) -> int:
        """How many of the first so many are right."""
        return sum(map(bool, self.found[:first]))

    def gold_found(self, first: int) -> int:
        """How many right answers are among the first so many."""
        return len({number for numbers in self.found[:first] for number in numbers})


def judgement(question: Question, record: Record) -> Judgement | None:
    """Compare the answers of a record with the right ones; ``None`` while nobody knows these."""
    return None if question.answers is None else _judge_answers(_ById(question), _ById(record))


def is_silent(record: Record) -> bool:
    """Tell whether nothing was given as an answer: no term, no name, and no words of a model.

    In a partial answer the text is a model's only if it has claims, or is not from the graph; else it is our own.
    """
    if record.answers or record.has_failed:
        return False
    is_claimed = bool(record.claims) or record.grounding != "graph"
    is_answer = record.status == "answered" or (record.status == "partial" and is_claimed)
    return record.ranked or not record.text.strip() or not is_answer


def in_order(answers: Iterable[RecordedAnswer], *, ranked: bool) -> Iterator[tuple[RecordedAnswer, ...]]:
    """Yield different answers in groups of equal score and first marker: the answers of one path.

    A path does not order its answers: the higher degree comes first, then the label, then the term. Answers without
    evidence, and those that somebody chose, stay in the order in which they were given.

    :param ranked: nobody chose among the answers: they are candidates.
    """
    distinct: dict[Hashable, RecordedAnswer] = {}
    for answer in answers:
        distinct.setdefault(identity(answer.term, answer.label), answer)
    for (_, marker), run in groupby(distinct.values(), lambda answer: (answer.score, answer.markers[:1])):
        group = tuple(run)
        if ranked and marker:
            group = tuple(
                sorted(group, key=lambda one: (1 if one.degree is None else -one.degree, one.label, one.term))
            )
        yield group


class _ById(Generic[_T]):
    """A value by its identity, as the key of a cache: comparing thousands of answers takes longer than judging them."""

    __slots__ = ("value",)

    def __init__(self, value: _T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=1024)
def _gold_answers(question: _ById[Question]) -> GoldAnswers:
    return GoldAnswers(question.value.answers or ())


@lru_cache(maxsize=16)
def _judge_answers(question: _ById[Question], record: _ById[Record]) -> Judgement:
    gold = _gold_answers(question)
    given = record.value
    groups = [] if given.has_failed else list(in_order(given.answers, ranked=given.ranked))
    answers = tuple(answer for group in groups for answer in group)
    leading = len(groups[0]) if groups else 0
    return Judgement(
        gold=len(gold), answers=answers, found=tuple(gold.found(answer.term, answer.label) for answer in answers),
        leading=leading, predicted=leading if given.ranked else len(answers),
        settled=float(is_silent(given)) if given.has_failed or not gold else None,
    )  # fmt: skip
