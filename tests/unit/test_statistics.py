"""Intervals and tests against numbers worked out by hand, and against scipy where it is installed."""

import tracemalloc
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.evaluation.statistics import (
    Difference,
    Interval,
    bonett_price,
    differences,
    holm,
    intervals,
    mcnemar,
    wilson,
)
from tests.deep import examples


def interval(*values: float) -> Interval:
    (found,) = intervals([np.array(values)])
    assert found is not None
    return found


def difference(first: list[float], second: list[float]) -> Difference:
    (found,) = differences([(np.array(first), np.array(second))])
    assert found is not None
    return found


def test_five_right_of_ten_have_the_quantiles_of_the_binomial_distribution() -> None:
    # P(X ≤ 1) = 11/1024 = .011 < .025 < P(X ≤ 2) = 56/1024 = .055, so the bounds are 2/10 and 8/10
    assert interval(*[1.0] * 5, *[0.0] * 5) == Interval(0.5, 0.2, 0.8, 10)
    # P(X = 0) = (3/4)^4 = .316 > .025; P(X ≤ 2) = 243/256 = .949 < .975 < P(X ≤ 3) = .996
    assert interval(1.0, 0.0, 0.0, 0.0) == Interval(0.25, 0.0, 0.75, 4)
    assert intervals([]) == []
    assert intervals([np.array([])]) == [None]
    assert differences([(np.array([]), np.array([]))]) == [None]
    # equal values have no width, and a single one has none
    assert interval(3.0) == Interval(3.0, 3.0, 3.0, 1)
    assert interval(*[0.1] * 7).low <= interval(*[0.1] * 7).mean <= interval(*[0.1] * 7).high


def test_resamples_depend_on_the_number_of_values_alone() -> None:
    random = np.random.default_rng(7)
    columns = [random.integers(0, 2, size).astype(float) for size in (40, 41, 40, 3)]
    assert intervals(columns) == [intervals([column])[0] for column in columns]
    values = [float(value) for value in random.random(50)]
    assert interval(*values) == interval(*values)
    tracemalloc.start()
    intervals([np.zeros(8_000)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000_000  # all resamples at once would be 640 MB


def test_wilson_and_bonett_and_price_by_hand() -> None:
    for right, n, low, high in (
        (0, 10, 0.0, 0.2775),  # z² = 3.8415: z² / (n + z²)
        (9, 9, 0.7009, 1.0),  # n / (n + z²)
        (5, 10, 0.2366, 0.7634),  # 1/2 ± 1.96 · √(10/4 + 3.8415/4) / 13.8415
    ):
        found = wilson(right, n)
        assert (found.mean, found.n) == (right / n, n)
        assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    for wins, losses, n, low, high in (
        (0, 0, 8, -0.2772, 0.2772),  # ± 1.96 · √(.2 / 10) = .1414 · 1.96
        (6, 1, 18, -0.0228, 0.5228),  # 7/20 - 2/20 = .25; √((.45 - .0625) / 20) = .1392; half .2728
        (2, 0, 2, -0.3487, 1.0),  # 3/4 - 1/4 = .5; √((1 - .25) / 4) = .4330; half .8487, cut at 1
    ):
        assert bonett_price(wins, losses, n) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
        assert bonett_price(losses, wins, n) == (pytest.approx(-high, abs=5e-5), pytest.approx(-low, abs=5e-5))


def test_only_shares_of_zeros_and_ones_are_wilsons() -> None:
    ones, halves, mixed = np.ones(8), np.full(8, 0.5), np.array([1.0, 0.5, 1.0])
    found = intervals([ones, ones, halves, mixed, np.array([])], shares=[True, False, True, True, True])
    assert (found[0], found[4]) == (wilson(8, 8), None)
    assert [(one.low, one.high) for one in found[1:3] if one] == [(1, 1), (0.5, 0.5)]
    assert found[3] == intervals([mixed])[0]


@given(st.integers(0, 60), st.integers(0, 60))
@examples(60)
def test_mcnemar_is_the_exact_sum(wins: int, losses: int) -> None:
    n = wins + losses
    tail = sum(Fraction(comb(n, i), 2**n) for i in range(min(wins, losses) + 1))
    assert mcnemar(wins, losses) == float(min(Fraction(1), 2 * tail))


def test_zeros_and_ones_are_tested_by_mcnemar() -> None:
    first, second = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    found = difference(first, second)
    assert (found.wins, found.losses, found.n, found.p) == (5, 1, 7, 0.21875)
    assert found.mean == pytest.approx(4 / 7)
    assert 0 < mcnemar(15_500, 15_000) < 0.01
    assert found.low < found.mean < found.high
    # equal zeros and ones may differ all the same
    found = difference([1.0, 0.0] * 4, [1.0, 0.0] * 4)
    assert (found.mean, found.p) == (0.0, 1.0)
    assert (found.low, found.high) == (pytest.approx(-0.2772, abs=5e-5), pytest.approx(0.2772, abs=5e-5))
    assert np.isnan(difference([0.5] * 4, [0.5] * 4).low), "where no value differs, it would have no width"


def test_other_values_are_tested_by_exchanging_them() -> None:
    # Of the 2^5 exchanges only two, none and all, leave a sum of five times .25
    found = difference([0.5] * 5, [0.25] * 5)
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)
    assert found.p == 2 / 32
    assert difference([0.25] * 5, [0.5] * 5).p == found.p
    assert difference([0.5] * 5 + [0.3] * 40, [0.25] * 5 + [0.3] * 40).p == found.p, "where they are equal says nothing"
    same = difference([0.1, 0.7, 0.3, 0.9], [0.1, 0.7, 0.3, 0.9])
    assert (same.mean, same.p, same.wins, same.losses) == (0.0, 1.0, 0, 0)
    # .5, .5 and -.5: sums of the 8 exchanges are ±1.5 twice and ±.5 six times, all at least .5 from nothing
    assert difference([0.5, 0.5, 0.0], [0.0, 0.0, 0.5]).p == 1.0
    # .6, .5 and -.1 (sum 1): of ±.6 ±.5 ±.1, those of at least 1 in size are ±1.2 and ±1.0
    assert difference([0.6, 0.5, 0.0], [0.0, 0.0, 0.1]).p == 4 / 8
    # many are exchanged at random: 2 of 2^20 exchanges; none of the 10,000 that were drawn
    assert difference([0.5] * 20, [0.25] * 20).p == pytest.approx(1 / 10_001)
    drawn = np.random.default_rng(5)
    equal = difference(list(drawn.random(200)), list(drawn.random(200)))
    assert 0.05 < equal.p < 1
    assert equal.low < 0 < equal.high


def test_holm_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]
    assert holm([0.6, 0.5, 0.001]) == [1.0, 1.0, 0.003]
    # of 6: .004 · 6, .01 · 5, .03 · 4
    assert holm([0.01, 0.004, 0.03], comparisons=6) == [pytest.approx(0.05), pytest.approx(0.024), pytest.approx(0.12)]
    assert holm([0.5], comparisons=3) == [1.0]
