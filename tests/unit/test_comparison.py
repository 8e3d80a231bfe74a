"""Runs made by hand, compared: means, the best, differences on shared questions, by kind; text and JSON."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.comparison import (
    Comparison,
    Difference,
    Row,
    compare,
    comparison_lines,
    comparison_text,
    difference,
)
from kgsparql.evaluation.dataset import Question, Record, RecordedEvidence
from kgsparql.evaluation.run_directory import Run
from kgsparql.storage.files import read_sealed_json
from tests.made_runs import iri, made_run, question, record
from tests.world import rewrite

FOUR = [
    question("q1", hops=1, type_="who", path=["directed"]),
    question("q2", hops=1, type_="who", path=["^directed"]),
    question("q3", hops=2, type_="when", path=["directed", "^starring"]),
    question("q4", hops=2, type_="", path=["directed", "starring"]),
]


def given(method: str, letters: str, asked: Sequence[Question] = FOUR, **fields: Any) -> list[Record]:
    """Records of questions: right, wrong, 2nd place right, 0 for nothing, e for an error; - was not asked."""
    answers = {"r": ["right"], "w": ["wrong"], "2": ["wrong", "right"], "0": [], "e": []}
    late = {"error": ("E_TIMEOUT", "too late")}
    pairs = ((one, letter) for one, letter in zip(asked, letters, strict=False) if letter != "-")
    return [record(one, method, answers[letter], **(late if letter == "e" else fields)) for one, letter in pairs]


def only(*runs: Path, **options: Any) -> Comparison:
    (found,) = compare(map(Run.open, runs), **options)
    return found


def made(path: Path, asked: Sequence[Question] = FOUR, /, **letters: str) -> Path:
    return made_run(path, asked, {name: given(name, own, asked) for name, own in letters.items()})


def rows(found: Comparison) -> dict[str, Row]:
    return {row.name: row for row in found.rows}


def between(found: Comparison, name: str, metric: str = "hits@1") -> Difference:
    return found.differences()[name, metric]


def words(*found: Comparison) -> str:
    text = comparison_text(found)
    return " ".join(text.split())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    methods = {"good": given("good", "rrrw", calls=2, queries=5), "poor": given("poor", "w2ew", queries=1)}
    return made_run(tmp_path / "R", FOUR, methods, model="small-model")


def test_means_by_hand(run: Path) -> None:
    found = only(run, metrics=["hits@1", "mrr", "triple_recall", "model_calls", "queries"])
    good, poor = found.rows
    assert (good.name, good.model, len(good.scores)) == ("good", "small-model", 4)
    assert (good.mean("hits@1"), good.mean("model_calls")) == (0.75, 2)
    assert [poor.mean(name) for name in ("hits@1", "mrr", "failed")] == [0, 0.125, 0.25]
    assert str(poor.mean("triple_recall")) == "nan"
    assert "triple_recall" not in comparison_text([found])
    assert poor.mean("queries") == 1.5, "the failed question counts with the three it sent"
    text = words(only(run))
    assert text.endswith(
        "0 % 25 % Cost: mean of a question method model_calls tokens queries seconds "
        "good 2.0 1,040 5.0 0.50 poor 0 0 1.5 0.50"
    )


def test_each_row_is_compared_with_the_best(run: Path) -> None:
    found = only(run)
    assert [row.name for row in found.rows] == ["good", "poor"]
    apart = between(found, "poor")
    assert (apart.mean, apart.n) == (-0.75, 4)
    assert -1 <= apart.low < -0.75 < apart.high < 0.5
    assert {metric for _, metric in found.differences()} == {"hits@1", "expected_hits@1", "f1"}
    found = only(run, metrics=["queries"])  # of a cost less is better
    assert [row.name for row in found.rows] == ["poor", "good"]
    assert between(found, "good", "queries").mean == 3.5
    assert set(found.differences()) == {("good", "queries")}
    assert rows(found)["poor"].mean("fallbacks") == 0, "always told"
    assert "Difference" not in comparison_text([only(made(run.parent / "S", x="rrrr"))])


def test_an_interval_is_wide_where_there_are_few_questions_and_narrow_where_there_are_many(tmp_path: Path) -> None:
    asked = [question(f"q{i}") for i in range(200)]

    def apart(name: str, **letters: str) -> Difference:
        found = only(made(tmp_path / name, asked[: len(letters["x"])], **letters))
        return difference(rows(found)["y"], rows(found)["x"], "hits@1") or Difference(0, 0, 0, 0)

    equal = apart("A", x="r" * 8, y="r" * 8)
    assert (equal.mean, equal.n) == (0, 8)
    assert equal.low < -0.1 < 0.1 < equal.high, "that eight agree does not say that all do"
    few, many = apart("B", x="rrww", y="wwww"), apart("C", x="rrww" * 50, y="wwww" * 50)
    assert few.mean == many.mean == -0.5
    assert few.low < many.low < -0.5 < many.high < few.high
    assert many.high < -0.4
    assert apart("D", x="rrww" * 50, y="wwww" * 50) == many, "the same runs have the same interval"
    costs = {name: [record(one, name, ["right"], queries=n) for one in asked] for name, n in (("x", 3), ("y", 5))}
    found = only(made_run(tmp_path / "E", asked, costs), metrics=["queries"])
    assert between(found, "y", "queries") == (2.0, 2.0, 2.0, 200), "a cost has no bounds, and here no chance"


def test_an_interval_holds_the_true_difference_nearly_always(tmp_path: Path) -> None:
    drawn, held = random.Random(3), 0  # noqa: S311
    asked = [question(f"q{i}") for i in range(25)]
    for number in range(15):
        letters = {name: "".join(drawn.choices("rw", [p, 1 - p], k=25)) for name, p in (("x", 0.7), ("y", 0.5))}
        by_name = rows(only(made(tmp_path / str(number), asked, **letters)))
        found = difference(by_name["y"], by_name["x"], "hits@1")
        assert found is not None
        held += found.low <= -0.2 <= found.high
    assert held >= 13


def test_differences_are_over_the_questions_that_both_were_asked(tmp_path: Path) -> None:
    found = only(made(tmp_path / "R", good="rrww", cut="wr", none=""))
    assert [row.name for row in found.rows] == ["good", "cut", "none"]
    assert (len(rows(found)["cut"].scores), rows(found)["cut"].mean("hits@1")) == (2, 0.5)
    assert (between(found, "cut").mean, between(found, "cut").n) == (-0.5, 2)
    assert ("none", "hits@1") not in found.differences()
    assert "none 0 –" in words(found)
    first = made_run(tmp_path / "A", FOUR[:3], {"x": given("x", "rrr")})
    assert between(only(first, made(tmp_path / "B", FOUR[1:], y="www")), "y").n == 2
    # the same id with another text is another question
    one = made_run(tmp_path / "C", FOUR[:1], {"x": given("x", "r")})
    assert not only(one, made(tmp_path / "D", [question("q1", text="Something else?")], y="r")).differences()
    # nobody knows the answers of one
    found = only(made(tmp_path / "F", [FOUR[0], replace(FOUR[1], answers=None)], x="rr"))
    assert (rows(found)["x"].mean("hits@1"), len(rows(found)["x"].values("hits@1"))) == (1.0, 1)


def test_rows_are_told_apart_by_model_and_by_run(tmp_path: Path) -> None:
    runs = [
        made_run(tmp_path / name, FOUR, {"x": given("x", "rrrr")}, model=model)
        for name, model in (("A", ""), ("B", "small"), ("C", "small"))
    ]
    assert [*rows(only(*runs))] == ["x, no model", f"x, small ({runs[1]})", f"x, small ({runs[2]})"]
    other = made_run(tmp_path / "S", FOUR, {"x": given("x", "rrrr")}, dataset="books")
    assert [found.dataset for found in compare(map(Run.open, (*runs, other)))] == ["films", "books"]


def test_a_failed_call_counts_as_wrong_and_of_one_asked_again_the_last_counts(tmp_path: Path) -> None:
    lost = given("x", "rrr", status="partial", error=("E_MODEL", "gone"))
    row = rows(only(made_run(tmp_path / "R", FOUR, {"x": [*lost, *given("x", "r", FOUR[3:])]})))["x"]
    assert [row.mean(name) for name in ("hits@1", "f1", "failed", "partial")] == [0.25, 0.25, 0.75, 0]
    assert row.mean("linking_recall@1") == 1
    again = only(made_run(tmp_path / "S", FOUR[:1], {"x": [*given("x", "e"), *given("x", "r")]}))
    assert [rows(again)["x"].mean(name) for name in ("hits@1", "failed")] == [1.0, 0]


def test_what_of_the_dataset_is_not_there_is_told(tmp_path: Path) -> None:
    def run(name: str, **about: Any) -> Path:
        return made_run(tmp_path / name, FOUR, {"x": given("x", "rrrr")}, **about)

    first = run("A")
    assert words(only(first, run("B"))).endswith(f"x ({tmp_path / 'B'}) 0 0 3.0 0.50")
    said = words(only(first, run("D", left_out=["q.jsonl:2: no \x1btext", "3"], missing_share=0.23, without_answer=3)))
    assert "2 questions left out of the dataset, as q.jsonl:2: no text" in said
    assert "23 % of the gold terms are not in the graph: these are not the figures of the dataset" in said
    assert "3 questions without a right answer: who says nothing is right there" in said
    assert "gold terms" not in words(only(run("E", left_out=[], missing_share=0.01, without_answer=0)))


def test_json_has_a_line_for_each_row(run: Path) -> None:
    found = [only(run, metrics=["hits@1", "triple_recall"])]
    good, poor = comparison_lines(found)
    assert [good[name] for name in ("dataset", "method", "model", "asked", "of", "hits@1", "triple_recall")] == [
        "films", "good", "small-model", 4, 4, 0.75, None,
    ]  # fmt: skip
    assert [poor[name] for name in ("versus", "hits@1 difference", "hits@1 n")] == ["good", -0.75, 4]
    assert "versus" not in good


def test_what_is_no_run_and_no_metric_is_said(tmp_path: Path, run: Path) -> None:
    with pytest.raises(InputError, match="no question has been answered yet"):
        only(made(tmp_path / "E", x=""))
    config = read_sealed_json(run / "run.json")
    for label in ("../../two/answers/x", "..", "", "x\n", "/etc/x"):  # it would lead elsewhere
        config["methods"][0]["label"] = label
        rewrite(run / "run.json", config)
        with pytest.raises(DataError, match=r"run\.json: .* is no label of a method"):
            only(run)
    assert only(made(tmp_path / "M", x="r"), metrics=["f1", "hits@1", "f1"]).metrics[:3] == (
        "f1", "hits@1", "without_model",
    )  # fmt: skip
    with pytest.raises(OptionError, match="'f2'") as caught:
        compare([], metrics=["f1", "f2"])
    assert "hits@1, expected_hits@1" in caught.value.hint


def test_hostile_texts_leave_no_control_characters(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"
    asked = [question("q1\"'><b>", text=f"Who? {evil}", type_=evil), question("q2", text="[link](javascript:alert(1))")]
    item = RecordedEvidence("P1", ((iri("a"), iri("b"), f'"{evil}"'),))
    methods = {
        "good": given("good", "rr", asked), "bad": given("bad", "ww", asked, evidence=[item]),
        "lost": given("lost", "00", asked, error=("E_MODEL", evil)),
    }  # fmt: skip
    found = [only(made_run(tmp_path / "\x1b[31mR", asked, methods, dataset=f"films {evil}", model=evil))]
    assert "\x1b" not in comparison_text(found)
