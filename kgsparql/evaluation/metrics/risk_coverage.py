"""Whether a method's own score tells its right answers from its wrong ones: risk and coverage, and AUROC.

Source: El-Yaniv & Wiener, On the Foundations of Noise-free Selective Classification (JMLR 2010), for risk and coverage;
Fawcett, An introduction to ROC analysis (2006), for the area under the curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.judging import Metric, defined, in_order, is_silent
from kgsparql.evaluation.record import Record

COVERAGES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of the answers, the surest first, of which tables say how many are right."""


def _score_margin(_question: Question, record: Record) -> float | None:
    """Measure how far the score of the first answer is above that of the best answer of another path.

    Its whole score where there is no other. It says how sure a method is, by its own measure; other methods have other
    measures. Not defined where nothing was answered, and for a failed question.
    """
    if record.has_failed or is_silent(record):
        return None
    groups = in_order(record.answers, ranked=record.ranked)
    first = next(groups, None)
    if first is None:
        return None
    other = next(groups, None)
    return first[0].score - (other[0].score if other else 0.0)


METRICS: tuple[Metric, ...] = (defined("margin", "grounding", "margin", "", _score_margin),)


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """How many of the surest answers are right.

    :param n: questions with an answer, a margin and known right answers.
    :param right: by each of :data:`COVERAGES`, the share of right ones among so many answers of the largest margin.
    :param curve: shape (n,): the same for the 1, 2, … n surest answers. The risk is 1 minus this.
    :param auroc: how often a right answer has a larger margin than a wrong one, equal ones counting half; ``None``
        where all are right, or all wrong.
    """

    n: int
    right: tuple[float, ...]
    curve: NDArray[np.float64]
    auroc: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the figures, without the curve, as a JSON object."""
        right = {f"{coverage:g}": round(share, 6) for coverage, share in zip(COVERAGES, self.right, strict=True)}
        return {"n": self.n, "right": right, "auroc": None if self.auroc is None else round(self.auroc, 6)}


def risk_coverage(values: Mapping[str, NDArray[np.float64]]) -> RiskCoverage | None:
    """Compare margins with right first answers; ``None`` where either is not there.

    Answers of equal margin share what is right among them, so that their order says nothing.

    :param values: ``margin`` and ``hits@1`` of the same questions, each of shape (questions,), NaN where undefined.

    >>> found = risk_coverage({"margin": np.array([0.9, 0.5, 0.5, 0.1]), "hits@1": np.array([1.0, 1.0, 0.0, 0.0])})
    >>> found.n, found.right, found.auroc
    (4, (1.0, 1.0, 0.75, 0.6666666666666666, 0.5), 0.875)
    """
    if not {"margin", "hits@1"} <= values.keys():
        return None
    both = ~(np.isnan(values["margin"]) | np.isnan(values["hits@1"]))
    margins, right = values["margin"][both], values["hits@1"][both]
    n = len(margins)
    if not n:
        return None
    _, level_of = np.unique(-margins, return_inverse=True)  # level 0 is the largest margin
    sizes, rights = np.bincount(level_of), np.bincount(level_of, weights=right)
    curve = np.cumsum((rights / sizes)[np.sort(level_of)]) / np.arange(1, n + 1)
    picked = tuple(float(curve[max(1, round(coverage * n)) - 1]) for coverage in COVERAGES)
    wrongs = sizes - rights
    wrong_below = wrongs.sum() - np.cumsum(wrongs)
    pairs = rights.sum() * wrongs.sum()
    auroc = float((rights * (wrong_below + wrongs / 2)).sum() / pairs) if pairs else None
    return RiskCoverage(n=n, right=picked, curve=curve, auroc=auroc)
