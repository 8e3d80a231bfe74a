"""Whether the whole answer is right: a computed value, a set, or the rows of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer, Question
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.metrics.judging import judgement
from kgsparql.evaluation.metrics.metric import Metric, defined
from kgsparql.evaluation.record import Record
from kgsparql.rdf.terms import Literal, parse_term

_NEAR = 1e-6
"""Numbers that differ by less than this share of them are the same."""

_ORDERED = "RESULT_ORDER_MATTERS"
"""A word of a question's type: its rows are right only in the order of the gold rows."""

_VERDICTS = frozenset({"true", "false"})


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
    if len(gold) != 1 or gold[0].label not in _VERDICTS:
        return None
    given = _literal_text(record.value)
    return float(record.status == "answered" and given in _VERDICTS and given != gold[0].label)


def _same_rows(question: Question, record: Record) -> bool:
    if len(question.rows) != len(record.rows):
        return False
    is_round = _is_round(question)
    if _ORDERED in question.type:
        pairs = zip(question.rows, record.rows, strict=True)
        return all(_same_row(gold, given, is_round=is_round) for gold, given in pairs)
    left = list(record.rows)
    for gold in question.rows:
        place = next((i for i, given in enumerate(left) if _same_row(gold, given, is_round=is_round)), None)
        if place is None:
            return False
        del left[place]
    return True


def _same_row(gold: Sequence[GoldAnswer], given: Sequence[tuple[str, str]], *, is_round: bool) -> bool:
    """Tell whether each right value has a cell of its own."""
    left = list(given)
    for cell in gold:
        place = next((i for i, own in enumerate(left) if _same_cell(cell, *own, is_round=is_round)), None)
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
    defined("exact", "answer", "exact", "higher", _is_exact),
    defined("wrong_yes_no", "grounding", "wrong yes/no", "lower", _wrong_verdict),
)
