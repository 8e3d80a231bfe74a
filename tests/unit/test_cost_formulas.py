"""Cost formulas: what they may say, and what they may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.answering.cost_formulas import evaluated, names_in
from kgsparql.answering.retriever import Cost
from kgsparql.errors import InputError


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("3", 3),
        ("-width + 10", 7),
        ("3 * depth - 2 * (width - 1)", 5),
        ("entities * 7 // 2", 7),
        ("max(0, width - 5) + min(depth, 2, 9)", 2),
        ("2 + (mode == 'model')", 3),
        ("2 + (mode != 'model')", 2),
        ("1 < depth <= 3", 1),
        ("-" * 900 + "1", 1),
        ("(given is None) + (width is not None)", 2),
        ("5 if fast and not slow else 9", 5),
        ("(fast or slow) * 4", 4),
        ("0 + True", 1),
        (" depth ", 3),
    ],
)
def test_what_a_formula_comes_to(formula: str, value: int) -> None:
    names = {"depth": 3, "width": 3, "entities": 2, "mode": "model", "given": None, "fast": True, "slow": False}
    assert evaluated(formula, names) == value
    assert isinstance(evaluated(formula, names), int)


@pytest.mark.parametrize(
    "formula",
    [
        "",
        "1 +",
        "unknown",
        "2 ** 100",
        "10 / 3",
        "1.5",
        "'a' * 1000000",
        "[1] * 5",
        "(1, 2)",
        "depth.real",
        "depth[0]",
        "lambda: 1",
        "__import__('os').system('true')",
        "open('x')",
        "max(1, *[2])",
        "max(1, key=2)",
        "max()",
        "1 // 0",
        "'a' < 1",
        "1 if 1 else",
        "(x := 3)",
        "f'{depth}'",
        "1; 2",
        "None",
        "'text'",
        "depth in (1, 2)",
        "(" * 500 + "1" + ")" * 500,
        "1" * 1001,
        "1 + " * 240 + "1\x00",
    ],
)
def test_what_is_no_formula_is_said_and_never_run(formula: str) -> None:
    with pytest.raises(InputError, match="not a formula"):
        evaluated(formula, {"depth": 3})


def test_names_come_in_their_order() -> None:
    assert names_in("b + a * max(b, c)") == ("b", "a", "c")
    with pytest.raises(InputError):
        names_in("a +")


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_an_error_of_ours(text: str) -> None:
    try:
        found = evaluated(text, {"x": 1})
    except InputError:
        found = 0
    assert isinstance(found, int)


def test_what_is_not_known_of_a_question_counts_once() -> None:
    cost = Cost(calls="(2 + mediators) * steps + 1", rounds="steps", queries="entities * 3")
    assert cost.bounds({"steps": 3}) == {"calls": 10, "rounds": 3, "queries": 3}
    assert cost.bounds({"steps": 3}, entities=4, mediators=0) == {"calls": 7, "rounds": 3, "queries": 12}
    assert cost.open_names({"steps": 3}) == ("mediators", "entities")
