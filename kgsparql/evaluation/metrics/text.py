"""How near the words of an answer are to a reference: ROUGE, by the package that papers use.

Compared are the words of a model without citations, else the labels of the predicted set, with the reference answer of
the dataset, else the labels of the right answers; of labels the first 100, with commas between. Words are stemmed.
Nothing said, or a failed question: 0. Not defined without a reference and right answers.

Source: Lin, ROUGE (2004).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from kgsparql.errors import OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.judging import Metric, in_order, judgement, without_markers
from kgsparql.evaluation.record import Record

_LISTED = 100
"""At most so many labels stand for a sentence: the longest common subsequence takes the product of the lengths."""


def _text_and_reference(question: Question, record: Record) -> tuple[str, str] | None:
    reference = question.reference.strip() or _label_list(answer.label for answer in question.answers or ())
    if not reference:
        return None
    if record.has_failed:
        return "", reference
    if not record.ranked and record.text.strip():
        return without_markers(record.text).strip(), reference
    found = judgement(question, record)
    given = found.answers[: found.predicted] if found else next(in_order(record.answers, ranked=record.ranked), ())
    return _label_list(answer.label for answer in given), reference


def _label_list(labels: Iterable[str]) -> str:
    return ", ".join(islice(filter(None, labels), _LISTED))


@cache
def _rouge_scorer() -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise OptionError("ROUGE needs the package rouge-score", hint="pip install 'kgsparql[eval]'") from error
    return RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)


@lru_cache(maxsize=64)
def _rouge_f1(text: str, reference: str) -> dict[str, float] | None:
    """Return F1 of each kind of ROUGE; ``None`` if the package sees no word in the reference."""
    scores = _rouge_scorer().score(reference, text)
    is_seen = re.search(r"[a-z0-9]", reference.lower())
    return {kind: float(score.fmeasure) for kind, score in scores.items()} if is_seen else None


def _rouge_metric(kind: str) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        pair = _text_and_reference(question, record)
        found = None if pair is None else _rouge_f1(*pair)
        return None if found is None else found[kind]

    return Metric(kind, "text", "higher", value)


METRICS = tuple(map(_rouge_metric, ("rouge1", "rouge2", "rougeL")))
