"""Intervals and tests against numbers worked out by hand."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.evaluation.statistics import Difference, bonett_price, difference, holm, interval, mcnemar
from tests.deep import examples


def between(first: list[float], second: list[float]) -> Difference:
    return difference(np.array(first), np.array(second))


def near(*numbers: float) -> tuple[float, ...]:
    return tuple(pytest.approx(one, abs=5e-5) for one in numbers)


def test_intervals_by_hand() -> None:
    # Student's quantiles in tables: 2.2622 for 9 degrees of freedom, 2.0452 for 29, each times s / √n
    ten, thirty = np.arange(10.0), np.tile([0.0, 0.5, 1.0], 10)
    assert interval(ten)[:3] == pytest.approx((4.5, 4.5 - 2.2622 * 0.95743, 4.5 + 2.2622 * 0.95743), abs=5e-3)
    assert interval(thirty, is_share=True)[:3] == pytest.approx((0.5, 0.5 - 2.0452 * 0.07581, 0.5 + 0.15505), abs=2e-4)
    assert interval(np.array([1.0, 0.5, 1.0]), is_share=True).high == 1.0 < interval(np.array([1.0, 0.5, 1.0])).high
    assert interval(np.array([3.0])) == (3.0, 3.0, 3.0, 1), "a single value has no width"
    none = interval(np.array([]))
    assert (np.isnan(none.mean), none.n) == (True, 0)
    for right, n, low, high in (
        (0, 10, 0.0, 0.2775),  # z² = 3.8415: z² / (n + z²)
        (9, 9, 0.7009, 1.0),  # n / (n + z²)
        (5, 10, 0.2366, 0.7634),  # 1/2 ± 1.96 · √(10/4 + 3.8415/4) / 13.8415
    ):
        values = np.array([1.0] * right + [0.0] * (n - right))
        assert interval(values, is_share=True) == (right / n, *near(low, high), n)
    assert interval(np.ones(8)) == (1, 1, 1, 8), "a count that is 1 each time is no share"


def test_bonett_and_price_by_hand() -> None:
    for wins, losses, n, low, high in (
        (0, 0, 8, -0.2772, 0.2772),  # ± 1.96 · √(.2 / 10) = .1414 · 1.96
        (6, 1, 18, -0.0228, 0.5228),  # 7/20 - 2/20 = .25; √((.45 - .0625) / 20) = .1392; half .2728
        (2, 0, 2, -0.3487, 1.0),  # 3/4 - 1/4 = .5; √((1 - .25) / 4) = .4330; half .8487, cut at 1
    ):
        assert bonett_price(wins, losses, n) == near(low, high)
        assert bonett_price(losses, wins, n) == near(-high, -low)


@given(st.integers(0, 60), st.integers(0, 60))
@examples(60)
def test_mcnemar_is_the_exact_sum(wins: int, losses: int) -> None:
    n = wins + losses
    tail = sum(Fraction(comb(n, i), 2**n) for i in range(min(wins, losses) + 1))
    assert mcnemar(wins, losses) == float(min(Fraction(1), 2 * tail))


def test_zeros_and_ones_are_tested_by_mcnemar() -> None:
    found = between([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    assert (found.wins, found.losses, found.n, found.p) == (5, 1, 7, 0.21875)
    assert found.mean == pytest.approx(4 / 7)
    assert 0 < mcnemar(15_500, 15_000) < 0.01
    assert found.low < found.mean < found.high
    # equal zeros and ones may differ all the same
    assert between([1.0, 0.0] * 4, [1.0, 0.0] * 4)[:4] == (0.0, *near(-0.2772, 0.2772), 1.0)
    assert np.isnan(between([0.5] * 4, [0.5] * 4).low), "where no value differs, it would have no width"


def test_other_values_are_tested_by_exchanging_them() -> None:
    # Of the 2^5 exchanges only two, none and all, leave a sum of five times .25
    found = between([0.5] * 5, [0.25] * 5)
    assert found[:4] == (0.25, 0.25, 0.25, 2 / 32)
    assert between([0.25] * 5, [0.5] * 5).p == found.p
    assert between([0.5] * 5 + [0.3] * 40, [0.25] * 5 + [0.3] * 40).p == found.p, "where they are equal says nothing"
    same = between([0.1, 0.7, 0.3, 0.9], [0.1, 0.7, 0.3, 0.9])
    assert (same.mean, same.p, same.wins, same.losses) == (0.0, 1.0, 0, 0)
    # .5, .5 and -.5: sums of the 8 exchanges are ±1.5 twice and ±.5 six times, all at least .5 from nothing
    assert between([0.5, 0.5, 0.0], [0.0, 0.0, 0.5]).p == 1.0
    # .6, .5 and -.1 (sum 1): of ±.6 ±.5 ±.1, those of at least 1 in size are ±1.2 and ±1.0
    assert between([0.6, 0.5, 0.0], [0.0, 0.0, 0.1]).p == 4 / 8
    # many are exchanged at random: 2 of 2^20 exchanges; none of the 10,000 that were drawn
    assert between([0.5] * 20, [0.25] * 20).p == pytest.approx(1 / 10_001)
    drawn = np.random.default_rng(5)
    equal = between(list(drawn.random(200)), list(drawn.random(200)))
    assert 0.05 < equal.p < 1
    assert equal.low < 0 < equal.high


def test_holm_by_hand() -> None:
    assert holm([], comparisons=0) == []
    assert holm([0.6, 0.5, 0.001], comparisons=3) == [1.0, 1.0, 0.003]
    # of 6: .004 · 6, .01 · 5, .03 · 4
    assert holm([0.01, 0.004, 0.03], comparisons=6) == [pytest.approx(0.05), pytest.approx(0.024), pytest.approx(0.12)]
