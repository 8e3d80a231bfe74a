"""Whether answers are right, singly and as a whole.

Given and right answers are compared strictly: IRIs by their characters, literals by value, names only where there is
no term; duplicates count once. No right answer and none given: 1. No right answer and one given: 0. None given: 0. A
failed question, also for want of its model: 0. Not defined while nobody knows the right answers.

Candidates that nobody chose among, right behind each other, of the same score and with the same first piece of
evidence are in the order of their degree, the highest first, then of their labels. Where somebody chose, the order
given stands.

The leading answers are the first, and those right behind it that have the same score and the same first piece of
evidence. Of a method that ranks paths, these are all ends of the best one; of methods that rank entities (entity,
mindmap), often the first answer alone. The set, of precision and recall, is the leading answers where nobody chose
among the candidates, else all answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer, Question
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.metrics.judging import Judgement, Metric, f1, judgement
from kgsparql.evaluation.record import Record
from kgsparql.rdf.terms import Literal, parse_term

_BOOLEANS = frozenset({"true", "false"})

_NEAR = 1e-6  # numbers that differ by less than this share of them are the same
_ORDERED = "RESULT_ORDER_MATTERS"  # a word of a question's type: its rows are right only in the order of the gold rows

_T = TypeVar("_T")
_G = TypeVar("_G")
_Formula: TypeAlias = Callable[[Judgement], float]
"""For a question that has right answers and did not fail."""


def _set_precision(found: Judgement) -> float:
    return found.right(found.predicted) / found.predicted if found.predicted else 0.0


def _set_recall(found: Judgement) -> float:
    return found.gold_found(found.predicted) / found.gold


def _answer_metric(name: str, formula: _Formula) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        found = judgement(question, record)
        if found is None:
            return None
        return formula(found) if found.settled is None else found.settled

    return Metric(name, "answer", "higher", value)


def _hits_metric(first: int) -> Metric:
    """Make the metric whether any of the first answers is right."""
    return _answer_metric(f"hits@{first}", lambda own: float(own.right(first) > 0))


def _is_exact(question: Question, record: Record) -> float | None:
    """Tell whether the whole answer is right: value, rows, or set of answers, with nothing missing or added.

    A computed value is compared with the one right answer: numbers with a tolerance of a millionth of them, or, where
    the question asks for a round one, of half the last digit of the right answer; dates by value and precision, so
    that a year is no day. A row is right if it has every value of a right row, in whatever column, and more columns do
    no harm; every row must be right, and every right row there, in its order where the type of the question holds
    RESULT_ORDER_MATTERS. Else the set of answers must be the right one, as for precision and recall. No right answer:
    1 if none was given. A failed question: 0. Not defined while nobody knows the right answers.
    """
    found = judgement(question, record)
    if found is None or record.has_failed:
        return None if found is None else 0.0
    gold = question.answers or ()
    if question.rows:
        return float(_same_rows(question, record))
    if record.value:
        return float(len(gold) == 1 and _same_cell(gold[0], record.value, "", is_round=_is_round(question)))
    if found.settled is not None:
        return found.settled
    right = found.right(found.predicted) == found.predicted > 0
    return float(right and found.gold_found(found.predicted) == found.gold)


def _wrong_verdict(question: Question, record: Record) -> float | None:
    """Count the yes/no questions to which the opposite was answered without a word of doubt (`answered`).

    Nothing answered, or a partial answer: 0. Not defined for a question whose right answer is no yes or no.
    """
    gold = question.answers or ()
    if len(gold) != 1 or gold[0].label not in _BOOLEANS:
        return None
    given = _literal_text(record.value)
    return float(record.status == "answered" and given in _BOOLEANS and given != gold[0].label)


def _same_rows(question: Question, record: Record) -> bool:
    def is_same(gold: Sequence[GoldAnswer], given: Sequence[tuple[str, str]]) -> bool:
        return _each_has_its_own(gold, given, lambda cell, own: _same_cell(cell, *own, is_round=_is_round(question)))

    if len(question.rows) != len(record.rows):
        return False
    if _ORDERED in question.type:
        return all(map(is_same, question.rows, record.rows))
    return _each_has_its_own(question.rows, record.rows, is_same)


def _each_has_its_own(gold: Sequence[_T], given: Sequence[_G], is_same: Callable[[_T, _G], bool]) -> bool:
    """Tell whether each right thing is the same as a given one that no other is the same as."""
    left = list(given)
    for one in gold:
        place = next((i for i, own in enumerate(left) if is_same(one, own)), None)
        if place is None:
            return False
        del left[place]
    return True


def _same_cell(gold: GoldAnswer, term: str, label: str, *, is_round: bool) -> bool:
    if GoldAnswers([gold]).found(term, label):
        return True
    if not term.startswith('"'):
        return False
    right = gold.label if gold.term is None else _literal_text(str(gold.term))
    try:
        one, other = float(right), float(_literal_text(term))
    except ValueError:
        return False
    digits = len(right.partition(".")[2])
    return math.isclose(one, other, rel_tol=_NEAR, abs_tol=0.5 * 10**-digits + 1e-12 if is_round else 0.0)


def _is_round(question: Question) -> bool:
    return "round" in question.text.lower()


def _literal_text(term: str) -> str:
    """Return the text of a literal in N-Triples syntax; empty for anything else."""
    try:
        literal = parse_term(term) if term else None
    except InputError:
        return ""
    return literal.value if isinstance(literal, Literal) else ""


METRICS: tuple[Metric, ...] = (
    _hits_metric(1),
    # Hits@1 if one of the leading answers is drawn at random
    _answer_metric("expected_hits@1", lambda own: own.right(own.leading) / own.leading if own.leading else 0.0),
    *map(_hits_metric, (3, 5, 10)),
    _answer_metric("mrr", lambda own: next((1 / place for place, right in enumerate(own.found, 1) if right), 0.0)),
    _answer_metric("precision", _set_precision),
    _answer_metric("recall", _set_recall),
    _answer_metric("f1", lambda found: f1(_set_precision(found), _set_recall(found))),  # of each question
    Metric("exact", "answer", "higher", _is_exact),
    Metric("wrong_yes_no", "grounding", "lower", _wrong_verdict),
)
