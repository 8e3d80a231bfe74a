"""How sure a mean is, and whether two methods differ: intervals, paired tests, Holm's correction.

A share of questions has Wilson's interval, and a difference of two shares that of Bonett and Price: for nine right
answers to nine questions the bootstrap would say that the share is certainly 1. Both tests ask how often values that
are exchanged at random between the methods would differ as much; a ``p`` from the bootstrap would be far too small for
few questions. Resamples depend only on how many values there are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kgsparql.dataclasses import dataclass

Values = NDArray[np.float64]

RESAMPLES = 10_000

FEW = 30  # with fewer values, a bootstrap interval is rough and tends to be too narrow

_MAX_VALUES_DRAWN = 4_000_000  # at once: with their counts they take 64 MB

_MAX_EXCHANGED_EXACTLY = 13  # of at most so many values that differ, all 8,192 exchanges are tried
_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
_ROUNDING = 1e-9  # smaller differences are rounding errors


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of ``n`` values with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two methods on the same ``n`` questions, first minus second, with its 95 % interval.

    :param low: not a number where no value differs, unless all are 0 or 1: then the bootstrap interval says nothing.
    :param p: how often a difference at least so large comes about by chance.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int
    wins: int
    losses: int


def intervals(columns: Sequence[Values], *, shares: Sequence[bool] = ()) -> list[Interval | None]:
    """Return the mean of each column, of shape (n,), with its 95 % interval; ``None`` for a column without a value.

    It is that of the percentile bootstrap; of :func:`wilson` for a share whose values are all 0 or 1.

    :param shares: whether each column is a share: a count that happens to be 0 or 1 is none. By default none is.

    Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), section 13.3.

    >>> intervals([np.array([2.0, 2.0]), np.array([])])
    [Interval(mean=2.0, low=2.0, high=2.0, n=2), None]
    """
    found: list[Interval | None] = [None] * len(columns)
    drawn = list(columns)
    for i, column in enumerate(columns):
        if shares and shares[i] and len(column) and _is_binary(column):
            found[i] = wilson(int(np.count_nonzero(column)), len(column))
            drawn[i] = column[:0]
    for batch, values in _equal_length_batches(drawn):
        bounds = np.quantile(_resampled_means(values), (0.025, 0.975), axis=0)
        for i, column, low, high in zip(batch, values.T, *bounds.tolist(), strict=True):
            mean = float(column.mean())
            # Rounding may leave a constant column a hair outside its own mean.
            found[i] = Interval(mean, min(low, mean), max(high, mean), len(values))
    return found


def wilson(right: int, n: int) -> Interval:
    """Return a share with Wilson's 95 % score interval, which always has a width.

    Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927).
    """
    z2 = _Z * _Z
    middle = (right + z2 / 2) / (n + z2)
    half = _Z * math.sqrt(right * (n - right) / n + z2 / 4) / (n + z2)
    low, high = (0.0 if not right else middle - half), (1.0 if right == n else middle + half)
    return Interval(right / n, low, high, n)


def differences(pairs: Sequence[tuple[Values, Values]]) -> list[Difference | None]:
    """Return the difference of each pair, first minus second, with interval and test; ``None`` where it has no value.

    Where every value is 0 or 1, they are :func:`bonett_price` and :func:`mcnemar`. Else the interval is that of the
    paired bootstrap, and ``p`` that of a two-sided randomisation test, exact where few values differ.

    :param pairs: two arrays of shape (n,) each, the values of the same questions in the same order.

    Source: Koehn, Statistical Significance Tests for Machine Translation Evaluation (EMNLP 2004), section 3; Smucker,
    Allan & Carterette, A Comparison of Statistical Significance Tests for IR Evaluation (CIKM 2007), section 2.1.
    """
    columns = [first - second for first, second in pairs]
    drawn = [own[: 0 if all(map(_is_binary, pair)) else None] for own, pair in zip(columns, pairs, strict=True)]
    bounds, chances = intervals(drawn), _chance_of_sums(drawn)
    found: list[Difference | None] = []
    for column, own, chance in zip(columns, bounds, chances, strict=True):
        n = len(column)
        wins, losses = int(np.count_nonzero(column > _ROUNDING)), int(np.count_nonzero(column < -_ROUNDING))
        if own is not None:
            bounds_of = (own.low, own.high) if wins + losses else (math.nan, math.nan)
            found.append(Difference(own.mean, *bounds_of, chance, n, wins, losses))
        elif n:
            mean, p = (wins - losses) / n, mcnemar(wins, losses)
            found.append(Difference(mean, *bonett_price(wins, losses, n), p, n, wins, losses))
        else:
            found.append(None)
    return found


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
    ways = accumulate(range(1, fewer + 1), lambda before, i: before * (n - i + 1) // i, initial=1)  # n over 0, 1, …
    p: float = 2 * sum(ways) / 2**n
    return min(1.0, p)


def holm(p_values: Sequence[float], *, comparisons: int | None = None) -> list[float]:
    """Return ``p`` of each comparison of a family, made larger so that the chance of any wrong "differs" stays 5 %.

    :param comparisons: how many the family has, if these are only some of them. The others are taken to have no smaller
        ``p``, which can only make these larger.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).

    >>> holm([0.01, 0.04, 0.03]), holm([0.01], comparisons=3)
    ([0.03, 0.06, 0.06], [0.03])
    """
    count = len(p_values) if comparisons is None else comparisons
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (count - place) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _is_binary(values: Values) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _equal_length_batches(columns: Sequence[Values]) -> Iterator[tuple[list[int], Values]]:
    """Yield the places of columns of equal length, which share their resamples, with their values side by side."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for i, column in enumerate(columns):
        by_length[len(column)].append(i)
    by_length.pop(0, None)
    for same in by_length.values():
        yield same, np.stack([columns[i] for i in same], axis=1)


def _chance_of_sums(columns: Sequence[Values]) -> list[float]:
    """Return how often the sum of each column is as far from 0 if the sign of each value is drawn at random."""
    chances = [1.0] * len(columns)
    many = list(columns)
    for i, column in enumerate(columns):
        apart = column[np.abs(column) > _ROUNDING]
        if len(apart) <= _MAX_EXCHANGED_EXACTLY:
            every_sign = 1.0 - 2.0 * ((np.arange(2 ** len(apart))[:, None] >> np.arange(len(apart))) & 1)
            chances[i] = float(np.mean(_reach_observed(every_sign @ apart, apart.sum())))
            many[i] = column[:0]
    for batch, values in _equal_length_batches(many):
        counts, random = np.zeros(len(batch)), np.random.default_rng((0, len(values), 1))
        for rows in _batch_rows(len(values)):
            signs = 1.0 - 2.0 * random.integers(0, 2, size=(rows, len(values))).astype(np.float64)
            counts += np.count_nonzero(_reach_observed(signs @ values, values.sum(axis=0)), axis=0)
        for i, count in zip(batch, counts, strict=True):
            chances[i] = float((count + 1) / (RESAMPLES + 1))
    return chances


def _reach_observed(sums: Values, observed: Values) -> NDArray[np.bool_]:
    return np.abs(sums) >= np.abs(observed) * (1 - _ROUNDING) - _ROUNDING


def _batch_rows(n: int) -> Iterator[int]:
    """Yield how many rows of ``n`` values to draw at once, until there are RESAMPLES."""
    rows = max(1, min(RESAMPLES, _MAX_VALUES_DRAWN // n))
    yield from (min(rows, RESAMPLES - at) for at in range(0, RESAMPLES, rows))


def _resampled_means(values: Values) -> Values:
    """Draw the means of resamples, of shape (RESAMPLES, columns), from values of shape (n, columns)."""
    n = len(values)
    random = np.random.default_rng((0, n))
    means = []
    for rows in _batch_rows(n):
        drawn = random.integers(0, n, size=(rows, n)) + np.arange(rows)[:, None] * n
        # How often each value is drawn is counted, so that one matrix product does all columns.
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        means.append(counts.astype(np.float64) @ values / n)
    return np.concatenate(means)
