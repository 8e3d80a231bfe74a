"""How sure a mean is, and whether two methods differ: intervals, paired tests, Holm's correction.

A share of questions has Wilson's interval, and a difference of two shares that of Bonett and Price: for nine right
answers to nine questions Student's would say that the share is certainly 1. Both tests ask how often values that are
exchanged at random between the methods would differ as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

FEW = 30  # with fewer values, an interval that supposes a normal distribution is rough

_EXCHANGES = 10_000  # that are drawn
_AT_ONCE = 1_000
_MAX_EXCHANGED_EXACTLY = 13  # of at most so many values that differ, all 8,192 exchanges are tried
_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
_ROUNDING = 1e-9  # smaller differences are rounding errors


class Interval(NamedTuple):
    """A mean of ``n`` values with its 95 % interval; no numbers for none."""

    mean: float
    low: float
    high: float
    n: int


class Difference(NamedTuple):
    """The mean difference of two methods on the same ``n`` questions, first minus second, with its 95 % interval.

    :ivar low: not a number where no value differs, unless all are 0 or 1: then Student's interval says nothing.
    :ivar p: how often a difference at least so large comes about by chance.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int
    wins: int
    losses: int


def interval(values: Values, *, is_share: bool = False) -> Interval:
    """Return the mean of some values with its 95 % interval: Student's, or Wilson's for a share of zeros and ones.

    :param is_share: a count that happens to be 0 or 1 is none; no share is below 0 or above 1.

    Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927); for the quantile of
    Student's distribution the first terms of Cornish and Fisher's expansion.

    >>> interval(np.array([2.0, 2.0]))
    Interval(mean=2.0, low=2.0, high=2.0, n=2)
    """
    n = len(values)
    if not n:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = middle = float(values.mean())
    if is_share and _is_binary(values):
        shrunk = 1 + _Z**2 / n
        middle = (mean + _Z**2 / (2 * n)) / shrunk
        half = _Z * math.sqrt(mean * (1 - mean) / n + (_Z / (2 * n)) ** 2) / shrunk
    else:
        free = max(1, n - 1)
        quantile = _Z + (_Z**3 + _Z) / (4 * free) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * free**2)
        half = quantile * math.sqrt(float(np.square(values - mean).sum()) / free / n)
    low, high = middle - half, middle + half
    return Interval(mean, max(0.0, low), min(1.0, high), n) if is_share else Interval(mean, low, high, n)


def difference(first: Values, second: Values) -> Difference:
    """Return the difference of two methods, first minus second, with interval and test.

    Where every value is 0 or 1, they are :func:`bonett_price` and :func:`mcnemar`. Else the interval is Student's, and
    ``p`` that of a two-sided randomisation test, exact where few values differ.

    :param first: values of the same questions in the same order as ``second``, at least one.

    Source: Smucker, Allan & Carterette, A Comparison of Statistical Significance Tests for IR Evaluation (CIKM 2007),
    section 2.1.
    """
    own = first - second
    mean, *bounds, n = interval(own)
    wins, losses = int(np.count_nonzero(own > _ROUNDING)), int(np.count_nonzero(own < -_ROUNDING))
    if _is_binary(first) and _is_binary(second):
        return Difference(mean, *bonett_price(wins, losses, n), mcnemar(wins, losses), n, wins, losses)
    low, high = bounds if wins + losses else (math.nan, math.nan)
    return Difference(mean, low, high, _chance_of_sum(own), n, wins, losses)


def bonett_price(wins: int, losses: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two shares of the same ``n`` questions: never without width.

    Source: Bonett & Price, Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired
    Data (2012): Wald's interval with one question more that only the first got right, and one that only the second did.

    >>> [round(bound, 4) for bound in bonett_price(0, 0, 98)]  # ±1.96 · √(.02 / 100)
    [-0.0277, 0.0277]
    """
    first, second = (wins + 1) / (n + 2), (losses + 1) / (n + 2)
    half = _Z * math.sqrt((first + second - (first - second) ** 2) / (n + 2))
    return max(-1.0, first - second - half), min(1.0, first - second + half)


def mcnemar(wins: int, losses: int) -> float:
    """Return how likely a split at least so uneven is, if either method is as likely to be the one that is right.

    Source: McNemar, Note on the sampling error of the difference between correlated proportions (1947).
    """
    n, fewer = wins + losses, min(wins, losses)
    p: float = 2 * sum(math.comb(n, few) for few in range(fewer + 1)) / 2**n
    return min(1.0, p)


def holm(p_values: Sequence[float], *, comparisons: int) -> list[float]:
    """Return ``p`` of each comparison of a family, made larger so that the chance of any wrong "differs" stays 5 %.

    :param comparisons: how many the family has. Those that are not here are taken to have no smaller ``p``, which can
        only make these larger.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).

    >>> holm([0.01, 0.04, 0.03], comparisons=3), holm([0.01], comparisons=3)
    ([0.03, 0.06, 0.06], [0.03])
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    raised = accumulate((min(1.0, (comparisons - place) * p_values[i]) for place, i in enumerate(order)), max)
    return [p for _, p in sorted(zip(order, raised, strict=True))]


def _is_binary(values: Values) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _chance_of_sum(values: Values) -> float:
    """Return how often the sum of some values is as far from 0 if the sign of each is drawn at random."""
    apart = values[np.abs(values) > _ROUNDING]
    least = abs(apart.sum()) * (1 - _ROUNDING) - _ROUNDING
    if len(apart) <= _MAX_EXCHANGED_EXACTLY:
        every_sign = 1.0 - 2.0 * ((np.arange(2 ** len(apart))[:, None] >> np.arange(len(apart))) & 1)
        return float(np.mean(np.abs(every_sign @ apart) >= least))
    random, reached = np.random.default_rng(len(apart)), 1
    for _ in range(_EXCHANGES // _AT_ONCE):
        sums = random.choice((-1.0, 1.0), size=(_AT_ONCE, len(apart))) @ apart
        reached += int(np.count_nonzero(np.abs(sums) >= least))
    return reached / (_EXCHANGES + 1)
