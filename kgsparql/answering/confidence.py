"""How likely an answer is right: what speaks for it, weighed as on questions whose answers are known.

The weights, and the table from their sum to a probability, are in ``confidence.json``, which
``python -m benchmarks.confidence`` makes. Nothing is asked of the graph for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache

import numpy as np

from kgsparql.answering.answer import AnswerTerm, Retrieval, Support
from kgsparql.dataclasses import frozen
from kgsparql.plans.denotation import PlannedReading
from kgsparql.rdf.terms import Literal
from kgsparql.reading.gaps import Gap, unlikely
from kgsparql.resources import packaged_text

SIGNALS: Mapping[str, str] = dict(
    line.strip().split(": ", 1)
    for line in """
        nothing_left_out: something of the question is not accounted for
        words: several words are left out
        computed_if_asked: something is to be computed that is not
        kind: it is another kind of thing than was asked for
        steps: a step leads the other way, or no word names it
        predicate: a word of the question names something else that the graph knows
        reading: another reading fits as well
        names: a name was found only in part, or is shared
        holds_anyway: with all of the question the value would be another
        fit: the graph says it in other words than the question
        lead: the next reading fits nearly as well
        path_lead: another path fits nearly as well
        few: there are many answers
        found: nothing was found
    """.strip().splitlines()
)
"""What an answer is judged by, each in [0, 1] and 1 at best, with what is wrong where it is not."""

_OF_GAPS = {
    "computed_if_asked": {"operation"}, "kind": {"kind"}, "steps": {"step"}, "predicate": {"predicate"},
    "reading": {"reading"}, "names": {"name", "part_of_name", "ambiguous"},
}  # fmt: skip
_UNKNOWN = 0.5
_BEST_FIT, _CLEAR_LEAD, _MANY = 1.5, 0.5, 1000  # from where on more says no more


def support_of_plan(reading: PlannedReading) -> Support:
    """Tell how clearly a plan is what is asked."""
    rivals = [other.score for other in reading.others if other.plan != reading.plan]
    lead = reading.score - max(rivals) if rivals else 1.0
    return Support(_within_one(reading.score / (1 + len(reading.how)) / _BEST_FIT), _within_one(lead))


def support_of_path(found: Retrieval) -> Support:
    """Tell how much better the best path fits than the next that leads elsewhere; unknown where there is no path."""
    best = found.best_item
    if best is None:
        return Support()
    others = (item.score for item in found.evidence if item.paths and {*item.ends} != {*best.ends})
    return Support(path_lead=_within_one((best.score - max(others, default=0.0)) / _CLEAR_LEAD))


def signals_of(
    support: Support, gaps: Sequence[Gap] | None, best: Sequence[AnswerTerm], *, is_computed: bool
) -> dict[str, float]:
    """Weigh what speaks for an answer.

    :param gaps: what of the question it leaves out; ``None`` where only a model has judged that.
    """
    codes = None if gaps is None else {gap.code for gap in gaps}
    known = {name: _UNKNOWN if codes is None else float(codes.isdisjoint(some)) for name, some in _OF_GAPS.items()}
    return {
        "nothing_left_out": _UNKNOWN if codes is None else float(not codes), **known,
        "words": _UNKNOWN if gaps is None else 1 / (1 + sum(gap.code in {"word", "value"} for gap in gaps)),
        "holds_anyway": _holds_anyway(codes or set(), best, is_computed=is_computed),
        "fit": support.fit, "lead": support.lead, "path_lead": support.path_lead,
        "few": 1.0 - _within_one(math.log(max(1, len(best))) / math.log(_MANY)), "found": float(bool(best)),
    }  # fmt: skip


def _holds_anyway(codes: Collection[str], best: Sequence[AnswerTerm], *, is_computed: bool) -> float:
    """Tell whether a value would stay with the words that a plan leaves out: a no would, hardly a number, no yes."""
    if {"word", "name"}.isdisjoint(codes):
        return 0.6
    value = best[0].term if is_computed and len(best) == 1 else None
    if value == Literal(value=True):
        return 0.0
    return 1.0 if value == Literal(value=False) else 0.4 if isinstance(value, Literal) else 0.6


def _within_one(value: float) -> float:
    return min(1.0, max(0.0, value))


@frozen
class Calibration:
    """What makes a probability of signals.

    :param weights: of each signal, none below 0. :param bias: what is added to their sum.
    :param scores: in ascending order, each the logistic of a sum; ``probabilities`` has what was right there.
    :param sure: how likely an answer is at least that is called sure.
    """

    weights: Mapping[str, float]
    bias: float
    scores: Sequence[float] = (0.0, 1.0)
    probabilities: Sequence[float] = (0.0, 1.0)
    sure: float = 0.0

    def score(self, signals: Mapping[str, float]) -> float:
        """Return the logistic of the weighted sum."""
        return 1 / (1 + math.exp(-(self.bias + sum(weight * signals[name] for name, weight in self.weights.items()))))

    def probability(self, signals: Mapping[str, float]) -> float:
        """Tell how likely an answer with these signals is right; better signals never make it less.

        >>> one = Calibration({"fit": 2.0}, -1.0)
        >>> one.probability({"fit": 1.0}) > one.probability({"fit": 0.4})
        True
        """
        return round(float(np.interp(self.score(signals), self.scores, self.probabilities)), 4)

    def doubt(self, signals: Mapping[str, float]) -> Gap:
        """Say how likely an answer is right, and which signal costs the most."""
        weakest = SIGNALS[max(self.weights, key=lambda name: self.weights[name] * (1 - signals[name]))]
        return unlikely(100 * self.probability(signals), weakest)


@cache
def calibration() -> Calibration:
    """Return what was fitted."""
    return Calibration(**json.loads(packaged_text("answering/confidence.json")))


# --- As few readings as hold the right one in so many of 100 questions: split conformal prediction
#
# How likely the right reading is among the first, the first two or three is weighed by what the confidence rests on.
# The weights are in `guarantee.json`, which `python -m benchmarks.guarantee` makes, with how likely is enough: so that
# it held in 80, 90 and 95 of 100 questions of graphs that the weights had not seen.


@frozen
class Guarantee:
    """What tells how many readings are enough.

    :param sizes: how likely the right reading is among the first, the first two, and so on.
    :param least: how likely is enough, by the number of questions of 100.
    """

    sizes: Sequence[Calibration]
    least: Mapping[str, float]

    def size(self, signals: Mapping[str, float], listed: int, percent: int) -> int:
        """Return how many of the readings that are listed are enough; 0 where all of them are not.

        >>> one = Guarantee([Calibration({"fit": 2.0}, 0.0), Calibration({"fit": 4.0}, 0.0)], {"90": 0.9})
        >>> [one.size({"fit": fit}, 2, 90) for fit in (1.2, 0.6, 0.1)]
        [1, 2, 0]
        """
        likely = (own.score(signals) for own in self.sizes[:listed])
        return next((size for size, one in enumerate(likely, 1) if one >= self.least[str(percent)]), 0)


@cache
def guarantee() -> Guarantee:
    """Return what was fitted."""
    made = json.loads(packaged_text("answering/guarantee.json"))
    return Guarantee([Calibration(**one) for one in made["sizes"]], made["least"])
