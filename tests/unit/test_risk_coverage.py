"""Risk and coverage: what is right among the surest answers, by hand and by all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.statistics import risk_coverage
from tests.unit.scored import asking, entity, path, record


def found(margins: list[float], right: list[float]):  # type: ignore[no-untyped-def]
    return risk_coverage({"margin": np.array(margins, float), "hits@1": np.array(right, float)})


def test_the_surest_answers_come_first() -> None:
    curve = found([0.1, 0.9, 0.5, 0.7], [0, 1, 1, 0])
    assert curve.n == 4
    assert curve.curve.tolist() == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])
    assert curve.right == pytest.approx((1, 1, 1 / 2, 2 / 3, 1 / 2))
    assert curve.auroc == 3 / 4  # of four pairs of right and wrong, only 0.5 is below 0.7


def test_answers_of_equal_margin_share_what_is_right_among_them() -> None:
    curve = found([1, 1, 1, 1], [1, 0, 0, 0])
    assert curve.curve.tolist() == [0.25] * 4
    assert curve.auroc == 0.5


def test_what_has_no_margin_or_no_known_answer_is_left_out() -> None:
    nan = float("nan")
    curve = found([0.9, nan, 0.5], [1, 1, nan])
    assert (curve.n, curve.auroc) == (1, None)
    assert found([nan], [1]) is None
    assert risk_coverage({"hits@1": np.array([1.0])}) is None


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=30))
def test_auroc_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[int, bool]]) -> None:
    curve = found([margin for margin, _ in rows], [float(right) for _, right in rows])
    pairs = [(m, n) for m, is_right in rows for n, other in rows if is_right and not other]
    if not pairs:
        assert curve.auroc is None
    else:
        assert curve.auroc == pytest.approx(sum((m > n) + (m == n) / 2 for m, n in pairs) / len(pairs))
    assert curve.curve[-1] == pytest.approx(sum(right for _, right in rows) / len(rows))


def test_the_margin_is_to_the_next_path() -> None:
    margin = METRICS["margin"].of
    question = asking("a")
    assert margin(question, record(*path("a b", score=0.9), entity("c", score=0.6, marker="P2"))) == pytest.approx(0.3)
    assert margin(question, record(*path("a b", score=0.9))) == 0.9
    assert margin(question, record(status="not_in_graph")) is None
    assert margin(question, record(entity("a"), status="error", error=("E_TIMEOUT", "late"))) is None
