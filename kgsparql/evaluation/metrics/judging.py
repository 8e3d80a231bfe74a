"""The answers of a record against the right ones, worked out once for all metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Generic, TypeVar

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.matching import GoldAnswers, identity, name
from kgsparql.evaluation.record import Record, RecordedAnswer

__all__ = ["Judgement", "in_order", "is_silent", "judgement"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was given, in the order in which it is scored, and whether it is right.

    :param gold: different right answers.
    :param answers: different given ones, the best first.
    :param found: for each of them, the numbers of the right answers it is equal to; empty for a wrong one.
    :param leading: how many of them lead: the first, and those right behind it of equal score and first marker.
    :param predicted: how many of them are the predicted set: the leading ones of candidates that nobody chose among,
        else all.
    :param is_failed: an error kept the method, or its model, from an answer.
    :param is_silent: nothing was given as an answer.
    """

    gold: int
    answers: tuple[RecordedAnswer, ...]
    found: tuple[tuple[int, ...], ...]
    leading: int
    predicted: int
    is_failed: bool
    is_silent: bool

    @property
    def settled(self) -> float | None:
        """The score by rule, whatever the metric: failed is 0; of no right answer, saying nothing is 1, else 0."""
        if self.is_failed:
            return 0.0
        return None if self.gold else float(self.is_silent)

    def right(self, first: int) -> int:
        """How many of the first so many are right."""
        return sum(1 for numbers in self.found[:first] if numbers)

    def gold_found(self, first: int) -> int:
        """How many right answers are among the first so many."""
        return len({number for numbers in self.found[:first] for number in numbers})


def judgement(question: Question, record: Record) -> Judgement | None:
    """The answers of a record against the right ones; ``None`` while nobody knows these."""
    return None if question.answers is None else _judged(_Same(question), _Same(record))


def is_silent(record: Record) -> bool:
    """Whether nothing was given as an answer: no term and no name, and no model says in words that it knows."""
    return not record.answers and not record.has_failed and not _is_in_words(record)


def _is_in_words(record: Record) -> bool:
    """Whether a model answers in words; where a limit was reached, ours stand in the text unless something is claimed.

    Words that no evidence carries are not shown, so that words of a model have claims or are not from the graph.
    """
    if record.ranked or not record.text.strip():
        return False
    is_claimed = bool(record.claims) or record.grounding != "graph"
    return record.status == "answered" or (record.status == "partial" and is_claimed)


def in_order(answers: Iterable[RecordedAnswer], *, ranked: bool) -> Iterator[tuple[RecordedAnswer, ...]]:
    """Different answers in runs of equal score and first marker, which is one path's answers, each run in its order.

    A path does not order its answers: the higher degree comes first, then the label, then the term. Answers that rest
    on no evidence, and those that somebody chose, stay in the order in which they were said.

    :param ranked: nobody chose among the answers: they are candidates.
    """
    distinct: dict[str, RecordedAnswer] = {}
    for answer in answers:
        distinct.setdefault(_key(answer), answer)
    for run in groupby(distinct.values(), _path):
        yield tuple(sorted(run[1], key=_rank) if ranked and run[0][1] else run[1])


def _path(answer: RecordedAnswer) -> tuple[float, str]:
    return answer.score, answer.markers[0] if answer.markers else ""


def _key(answer: RecordedAnswer) -> str:
    return identity(answer.term) if answer.term else f"name {name(answer.label)}"


def _rank(answer: RecordedAnswer) -> tuple[int, str, str]:
    return 1 if answer.degree is None else -answer.degree, answer.label, answer.term


class _Same(Generic[_T]):
    """A value by its identity, as the key of a cache: comparing thousands of answers would take longer than judging."""

    __slots__ = ("value",)

    def __init__(self, value: _T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=1024)
def _gold(question: _Same[Question]) -> GoldAnswers:
    return GoldAnswers(question.value.answers or ())


@lru_cache(maxsize=16)
def _judged(question: _Same[Question], record: _Same[Record]) -> Judgement:
    gold = _gold(question)
    given = record.value
    runs = [] if given.has_failed else list(in_order(given.answers, ranked=given.ranked))
    answers = tuple(answer for run in runs for answer in run)
    leading = len(runs[0]) if runs else 0
    return Judgement(
        gold=len(gold),
        answers=answers,
        found=tuple(gold.found(answer.term, answer.label) for answer in answers),
        leading=leading,
        predicted=leading if given.ranked else len(answers),
        is_failed=given.has_failed,
        is_silent=is_silent(given),
    )
