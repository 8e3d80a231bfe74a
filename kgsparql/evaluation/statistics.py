"""How sure a mean is, and whether two methods differ: bootstrap intervals, paired tests, Holm's correction.

Everything is the same for the same numbers and seed: resamples depend on the seed and on how many values there are,
and on nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEW", "RESAMPLES", "Difference", "Interval", "differences", "holm", "intervals", "mcnemar"]

Values: TypeAlias = "NDArray[np.float64]"
Places: TypeAlias = "NDArray[np.intp]"

RESAMPLES = 10_000
"""Samples that are drawn, with replacement, from the values that there are."""

FEW = 30
"""Below so many values a bootstrap interval is rough: it tends to be too narrow."""

_AT_ONCE = 4_000_000
"""Values drawn at once: with their counts, some 64 MB."""

_COLUMNS = 512
"""Columns resampled at once: their means are 40 MB."""

_NOTHING = 1e-9
"""Differences below it are what adding in another order leaves."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of ``n`` values and the 95 % interval that it lies in; the interval holds the mean."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def few(self) -> bool:
        """Whether there are so few values that the interval is rough."""
        return self.n < FEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one method has more than another, on the same questions.

    :param mean: of the differences, first minus second.
    :param low: with ``high`` its 95 % bootstrap interval.
    :param p: how often a difference at least so large comes about if there is none.
    :param n: questions that both have a value for.
    :param test: ``mcnemar`` where every value is 0 or 1, else ``bootstrap``.
    :param wins: questions where the first has more.
    :param losses: questions where it has less.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int
    test: Literal["mcnemar", "bootstrap"]
    wins: int
    losses: int


def intervals(columns: Sequence[Values], *, seed: int = 0) -> list[Interval | None]:
    """The mean of each column with its 95 % bootstrap interval; ``None`` for a column without a value.

    The bounds are the 2.5 and 97.5 % quantiles of the means of :data:`RESAMPLES` resamples (the percentile method).

    :param columns: arrays of shape (n,), of any lengths.

    Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), section 13.3.

    >>> intervals([np.array([1.0, 1.0]), np.array([])])
    [Interval(mean=1.0, low=1.0, high=1.0, n=2), None]
    """
    found: list[Interval | None] = [None] * len(columns)
    for batch in _batches(columns):
        values = np.stack([columns[i] for i in batch], axis=1)
        bounds = np.quantile(_resampled_means(values, seed), (0.025, 0.975), axis=0)
        for place, i in enumerate(batch):
            mean = float(values[:, place].mean())
            # Adding the same values in another order may leave a constant column a hair outside its own mean.
            low, high = min(float(bounds[0, place]), mean), max(float(bounds[1, place]), mean)
            found[i] = Interval(mean, low, high, len(values))
    return found


def differences(pairs: Sequence[tuple[Values, Values]], *, seed: int = 0) -> list[Difference | None]:
    """What the first of each pair has more than the second, and how sure that is; ``None`` for a pair without a value.

    Where every value is 0 or 1, ``p`` is that of :func:`mcnemar`. Elsewhere it is that of the paired bootstrap:
    questions are resampled with both their values, and ``p`` is twice the smaller share of resamples whose mean
    difference is at most, or at least, nothing. The interval comes from the bootstrap in both cases.

    :param pairs: two arrays of shape (n,) each, the values of the same questions in the same order.

    Source: Efron & Tibshirani (1993), sections 13.3 and 15.4; Koehn, Statistical Significance Tests for Machine
    Translation Evaluation (EMNLP 2004), section 3, for resampling questions with what both methods made of them.

    >>> differences([(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0]))])[0].p
    1.0
    """
    columns = [first - second for first, second in pairs]
    found: list[Difference | None] = [None] * len(pairs)
    for batch in _batches(columns):
        means = _resampled_means(np.stack([columns[i] for i in batch], axis=1), seed)
        bounds = np.quantile(means, (0.025, 0.975), axis=0)
        below = (np.count_nonzero(means <= _NOTHING, axis=0) + 1) / (RESAMPLES + 1)
        above = (np.count_nonzero(means >= -_NOTHING, axis=0) + 1) / (RESAMPLES + 1)
        for place, i in enumerate(batch):
            wins = int(np.count_nonzero(columns[i] > _NOTHING))
            losses = int(np.count_nonzero(columns[i] < -_NOTHING))
            is_binary = all(bool(np.isin(values, (0.0, 1.0)).all()) for values in pairs[i])
            found[i] = Difference(
                mean=float(columns[i].mean()),
                low=float(bounds[0, place]),
                high=float(bounds[1, place]),
                p=mcnemar(wins, losses) if is_binary else min(1.0, 2 * float(min(below[place], above[place]))),
                n=len(columns[i]),
                test="mcnemar" if is_binary else "bootstrap",
                wins=wins,
                losses=losses,
            )
    return found


def mcnemar(wins: int, losses: int) -> float:
    """How likely a split at least so uneven is, if either method is as likely to be the one that is right.

    Exact: two-sided binomial with probability 1/2 over the questions where just one of two methods is right.

    :param wins: questions that only the first got right.
    :param losses: questions that only the second got right.

    Source: McNemar, Note on the sampling error of the difference between correlated proportions (1947); the exact
    form is that of Dietterich, Approximate Statistical Tests (1998), section 3.1, without the normal approximation.

    >>> mcnemar(1, 5)  # 2 · (1 + 6) / 2^6
    0.21875
    """
    n, fewer = wins + losses, min(wins, losses)
    term = total = 1
    for i in range(1, fewer + 1):
        term = term * (n - i + 1) // i
        total += term
    p: float = 2 * total / 2**n
    return min(1.0, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """``p`` of each comparison of a family, made larger so that one wrong "differs" in the family stays a 5 % chance.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _batches(columns: Sequence[Values]) -> list[list[int]]:
    """Columns of the same length, which share their resamples; none for those without a value."""
    by_length: dict[int, list[int]] = {}
    for i, column in enumerate(columns):
        if len(column):
            by_length.setdefault(len(column), []).append(i)
    return [same[at : at + _COLUMNS] for same in by_length.values() for at in range(0, len(same), _COLUMNS)]


def _resampled_means(values: Values, seed: int) -> Values:
    """The means of resamples, of shape (RESAMPLES, columns), from values of shape (n, columns).

    How often each value is drawn is counted first, so that one product of matrices does all columns.
    """
    n = len(values)
    random = np.random.default_rng((seed, n))
    means = np.empty((RESAMPLES, values.shape[1]))
    rows = max(1, min(RESAMPLES, _AT_ONCE // n))
    for at in range(0, RESAMPLES, rows):
        size = min(rows, RESAMPLES - at)
        drawn = random.integers(0, n, size=(size, n)) + np.arange(size)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        means[at : at + size] = counts.astype(np.float64) @ values / n
    return means
