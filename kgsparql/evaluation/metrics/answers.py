"""Whether the answers are right; and the lenient "exact match" of earlier papers, to compare with their figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.judging import Judgement, judgement, without_markers
from kgsparql.evaluation.metrics.metric import Metric, defined, f1
from kgsparql.evaluation.record import Record

_RULE = (
    "Given and right answers are compared strictly: IRIs by their characters, literals by value, names only where there"
    " is no term; duplicates count once. No right answer and none given: 1. No right answer and one given: 0. None"
    " given: 0. A failed question, also for want of its model: 0. Not defined while nobody knows the right answers."
)
_ORDER = (
    "Candidates that nobody chose among, right behind each other, of the same score and with the same first piece of"
    " evidence are in the order of their degree, the highest first, then of their labels. Where somebody chose, the"
    " order given stands."
)
_LEADING = (
    "The leading answers are the first, and those right behind it that have the same score and the same first piece of"
    " evidence. Of a method that ranks paths, these are all ends of the best one; of methods that rank entities"
    " (entity, mindmap), often the first answer alone."
)
_SET = f"The set is the leading answers where nobody chose among the candidates, else all answers. {_LEADING}"

_BRACES = re.compile(r"\{([^{}]*)\}")
_VERDICTS = frozenset({"yes", "no", "true", "false"})

_Formula: TypeAlias = Callable[[Judgement], float]
"""For a question that has right answers and did not fail."""


def _hits_at(first: int) -> _Formula:
    return lambda found: float(found.right(first) > 0)


def _expected_hits(found: Judgement) -> float:
    return found.right(found.leading) / found.leading if found.leading else 0.0


def _reciprocal_rank(found: Judgement) -> float:
    return next((1 / place for place, numbers in enumerate(found.found, 1) if numbers), 0.0)


def _set_precision(found: Judgement) -> float:
    return found.right(found.predicted) / found.predicted if found.predicted else 0.0


def _set_recall(found: Judgement) -> float:
    return found.gold_found(found.predicted) / found.gold


def _answer_metric(name: str, title: str, formula: _Formula, about: str) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        found = judgement(question, record)
        if found is None:
            return None
        return formula(found) if found.settled is None else found.settled

    return Metric(name, "answer", title, "higher", value, f"{about} {_RULE}")


def _lenient_em(question: Question, record: Record) -> float | None:
    """Count a reply as right if it is part of the name of a right answer, or such a name part of it.

    Capitals and spaces aside. It is no exact match, and called so only because papers on Think-on-Graph and its
    successors do: the reply "a" is right for Paris, and a long reply is right for everything it happens to mention. The
    reply is what a model wrote, without citations; where it has braces, what is in the first of them, a bare yes or no
    aside, as in "{Yes} … {X}" (the scripts of those papers take the "Yes"). Without words of a model, each label of the
    predicted set is a reply. Those scripts count an empty reply as right, since an empty text is part of every text:
    here it is wrong, as is a failed question. No right answer: 1 if none was given, else 0.

    Source: the evaluation script of Think-on-Graph (Sun et al., ICLR 2024), but for the empty reply and the verdict.
    """
    found = judgement(question, record)
    if found is None or found.settled is not None:
        return None if found is None else found.settled
    right = [key for answer in question.answers or () if (key := _bare_text(answer.label))]
    return float(any(reply in name or name in reply for reply in _reply_texts(record, found) for name in right))


def _reply_texts(record: Record, found: Judgement) -> list[str]:
    if record.ranked or not record.text.strip():
        replies = [answer.label for answer in found.answers[: found.predicted]]
    else:
        text = without_markers(record.text)
        braced = [content for content in _BRACES.findall(text) if content.strip()]
        replies = [next((content for content in braced if _bare_text(content) not in _VERDICTS), (braced or [text])[0])]
    return [bare for reply in replies if (bare := _bare_text(reply))]


def _bare_text(text: str) -> str:
    return "".join(text.split()).lower()


METRICS = (
    _answer_metric("hits@1", "Hits@1", _hits_at(1), f"Whether the first answer is right. {_ORDER}"),
    _answer_metric(
        "expected_hits@1", "exp. Hits@1", _expected_hits,
        f"Right ones of the leading answers / leading answers: Hits@1 if one of them is drawn at random. {_LEADING}",
    ),
    *(
        _answer_metric(
            f"hits@{k}", f"Hits@{k}", _hits_at(k), f"Whether any of the first {k} answers is right. {_ORDER}"
        )
        for k in (3, 5, 10)
    ),
    _answer_metric(
        "mrr", "MRR", _reciprocal_rank,
        f"1 / rank of the first right answer among all; 0 without one. {_ORDER}",
    ),
    _answer_metric("precision", "Precision", _set_precision, f"Right answers of the set / answers of the set. {_SET}"),
    _answer_metric("recall", "Recall", _set_recall, f"Right answers that are in the set / right answers. {_SET}"),
    _answer_metric(
        "f1", "F1", lambda found: f1(_set_precision(found), _set_recall(found)),
        f"2 · precision · recall / (precision + recall), of each question; 0 if both are 0. {_SET}"
    ),
    defined("lenient_em", "answer", "EM (lenient)", "higher", _lenient_em),
)  # fmt: skip
