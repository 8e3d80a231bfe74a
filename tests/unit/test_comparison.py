"""Runs made by hand, compared: means, intervals, kinds, the best, what is tested on which questions; tables."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.comparison import (
    Comparison,
    chosen_metrics,
    compare,
    comparison_csv,
    comparison_json,
    comparison_text,
)
from kgsparql.evaluation.dataset import Question, Record, RecordedEvidence
from kgsparql.evaluation.run_directory import Run
from kgsparql.storage.files import read_sealed_json
from tests.made_runs import iri, made_run, question, record, sampled_questions, sampled_records
from tests.world import rewrite

FOUR = [
    question("q1", hops=1, type_="who", path=["directed"]),
    question("q2", hops=1, type_="who", path=["^directed"]),
    question("q3", hops=2, type_="when", path=["directed", "^starring"]),
    question("q4", hops=2, type_="", path=["directed", "starring"]),
]
SKILLS = {"path_ranking": 0.95, "path_ranking+no_model": 0.9, "think_on_graph": 0.8, "mindmap": 0.6, "entity": 0.4}
FIGURES = Path(__file__).with_name("comparison.jsonl")
"""Of sampled records: those that the comparison had before it was made with pandas."""


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


def lines(found: Comparison) -> dict[str, dict[str, Any]]:
    """The line of each row, by its name."""
    return {line["name"]: line for line in found.whole.to_dict("records")}


def difference_of(found: Comparison, name: str, metric: str = "hits@1") -> dict[str, Any]:
    own = found.tests
    (line,) = own[(own["name"] == name) & (own["metric"] == metric)].to_dict("records")
    return dict(line)


def words(*found: Comparison) -> str:
    text = comparison_text(found)
    return " ".join(text.split())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    methods = {"good": given("good", "rrrw", calls=2, queries=5), "poor": given("poor", "w2ew", queries=1)}
    return made_run(tmp_path / "R", FOUR, methods, model="small-model", without_model=["poor"])


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = sampled_questions(36)
    methods = {name: sampled_records(asked, name, skill, calls=3 * ("+" not in name)) for name, skill in SKILLS.items()}
    return made_run(tmp_path_factory.mktemp("runs") / "R", asked, methods, model="a-model")


def test_figures_are_those_that_are_kept_and_csv_has_the_same(sampled: Path) -> None:
    found = compare([Run.open(sampled)], metrics=["hits@1", "f1", "confidence", "queries"])
    in_json, kept = json.loads(comparison_json(found)), list(map(json.loads, FIGURES.read_text().splitlines()))
    for one, wanted in zip(in_json, kept, strict=True):
        assert {name: one[name] for name in wanted} == pytest.approx(wanted, abs=2e-6, nan_ok=True)
    text = comparison_csv(found)
    assert text.count("\n") == 1 + len(kept)
    for line, one in zip(csv.DictReader(io.StringIO(text, newline="")), in_json, strict=True):
        assert (float(line["hits@1"]), line["name"]) == (one["hits@1"], one["name"])


def test_means_and_intervals_by_hand(run: Path) -> None:
    found = only(run)
    good, poor = lines(found).values()
    assert (good["name"], good["model"], good["n"], poor["model"]) == ("good", "small-model", 4, "")
    assert (good["hits@1"], good["model_calls"]) == (0.75, 2)
    assert [poor[name] for name in ("hits@1", "mrr", "failed", "triple_recall n")] == [0, 0.125, 0.25, 0]
    assert poor["queries"] == 1.5, "the failed question counts with the three it sent"
    # Wilson: with z² = 3.8415, middle (3 + 1.9207) / 7.8415 = .6275, half 1.96 · √(3/4 + .9604) / 7.8415 = .3269
    assert [good[f"hits@1 {bound}"] for bound in ("low", "high")] == pytest.approx([0.3006, 0.9544], abs=1e-4)
    assert (poor["model_calls low"], poor["model_calls high"]) == (0, 0), "a count of calls is no share"
    kinds = found.means[(found.means["name"] == "good") & (found.means["by"] != "")].to_dict("records")
    assert {(line["by"], line["slice"]): (line["n"], line["hits@1"]) for line in kinds} == {
        ("hops", "1"): (2, 1.0), ("hops", "2"): (2, 0.5), ("type", "unknown"): (1, 0), ("type", "when"): (1, 1),
        ("type", "who"): (2, 1), ("direction", "forward"): (2, 0.5), ("direction", "inverse"): (1, 1),
        ("direction", "mixed"): (1, 1),
    }  # fmt: skip


def test_the_best_is_what_others_are_tested_against(run: Path) -> None:
    found = only(run)
    assert (found.primary, found.best) == ("hits@1", "good")
    test = difference_of(found, "poor")
    assert [test[name] for name in ("difference", "won", "lost", "verdict")] == [-0.75, 0, 3, "not shown"]
    assert test["p"] == 2 / 8  # exact McNemar of 0 and 3
    found = only(run, metrics=["queries"])  # of a cost less is better
    assert list(found.rows) == ["poor", "good"]
    test = difference_of(found, "good", "queries")
    assert [test[name] for name in ("difference", "won", "lost")] == [3.5, 0, 4]
    assert test["p"] == 2 / 16  # all four differ, and only two of sixteen exchanges go as far
    assert lines(found)["poor"]["fallbacks"] == 0, "always told"


def test_p_is_corrected_for_the_number_of_comparisons(tmp_path: Path) -> None:
    asked = [question(f"q{i}") for i in range(8)]
    run = made(tmp_path / "R", asked, best="r" * 8, x="w" * 8, y="w" * 8)
    tests = [difference_of(only(run), name) for name in "xy"]
    # three pairs of rows, since the best might have been any of them
    assert {(one["p"], one["comparisons"], one["verdict"]) for one in tests} == {(6 / 256, 3, "worse")}
    other = made_run(tmp_path / "S", asked, {m: given(m, "r" * 8, asked) for m in "ab"}, dataset="books")
    films, books = compare([Run.open(run), Run.open(other)])
    assert [set(own.tests["comparisons"]) for own in (films, books)] == [{3}, {1}]


def test_the_best_is_decided_on_questions_that_all_were_asked(tmp_path: Path) -> None:
    # of its own questions b has 2/3 right, a 2/4; of the three that both were asked, both have two
    found = only(made(tmp_path / "R", a="rrww", b="rwr"))
    assert (found.best, difference_of(found, "a")["n"]) == ("b", 3)
    # of the two shared questions a has both and b one, though b has more of its own
    asked = [question(f"q{i}") for i in range(6)]
    found = only(made(tmp_path / "S", asked, a="wwrr--", b="--rwrr"))
    assert (list(found.rows), found.best) == (["b", "a"], "a")
    # with half of the questions one may be the best, with fewer one may have had the easy ones
    assert only(made(tmp_path / "H", good="wrrw", half="rr")).best == "half"
    assert only(made(tmp_path / "L", [*FOUR, asked[5]], good="rrrwr", less="rr")).best == "good"
    # of equal ones the cheaper
    methods = {"dear": given("dear", "rrwr", queries=9), "cheap": given("cheap", "rrrw", queries=2)}
    assert only(made_run(tmp_path / "T", FOUR, methods)).best == "cheap"


def test_questions_that_only_some_were_asked_are_said(tmp_path: Path) -> None:
    found = only(made(tmp_path / "R", good="rrww", cut="wr", none=""))
    assert (lines(found)["cut"]["n"], lines(found)["cut"]["hits@1"], lines(found)["none"]["n"]) == (2, 0.5, 0)
    assert difference_of(found, "cut")["n"] == 2
    assert "none" not in set(found.tests["name"])
    assert "cut 2 of 4; none none of 4" in words(found)
    first = made_run(tmp_path / "A", FOUR[:3], {"x": given("x", "rrr")})
    found = only(first, made(tmp_path / "B", FOUR[1:], y="www"))
    assert (difference_of(found, "y")["n"], "2 were asked of all" in words(found)) == (2, True)
    # the same id with another text is another question
    one = made_run(tmp_path / "C", FOUR[:1], {"x": given("x", "r")})
    found = only(one, made(tmp_path / "D", [question("q1", text="Something else?")], y="r"))
    assert (len(found.tests), "0 were asked of all" in words(found)) == (0, True)
    # nobody knows the answers of one
    found = only(made(tmp_path / "F", [FOUR[0], replace(FOUR[1], answers=None)], x="rr"))
    assert [lines(found)["x"][name] for name in ("hits@1", "hits@1 n", "n")] == [1.0, 1, 2]
    assert "hits@1 is not defined for every question (up to 1 are" in words(found)


def test_rows_are_told_apart_by_model_and_by_run(tmp_path: Path) -> None:
    runs = [
        made_run(tmp_path / name, FOUR, {"x": given("x", "rrrr")}, model=model)
        for name, model in (("A", ""), ("B", "small"), ("C", "small"))
    ]
    assert list(only(*runs).rows) == ["x, no model", "x, small (B)", "x, small (C)"]


def test_a_failed_call_counts_as_wrong_and_of_one_asked_again_the_last_counts(tmp_path: Path) -> None:
    lost = given("x", "rrr", status="partial", error=("E_MODEL", "gone"))
    found = only(made_run(tmp_path / "R", FOUR, {"x": [*lost, *given("x", "r", FOUR[3:])]}))
    assert [lines(found)["x"][name] for name in ("hits@1", "f1", "failed", "partial")] == [0.25, 0.25, 0.75, 0]
    assert lines(found)["x"]["linking_recall@1"] == 1
    assert "questions that failed count as wrong: x 75%" in words(found)
    again = only(made_run(tmp_path / "S", FOUR[:1], {"x": [*given("x", "e"), *given("x", "r")]}))
    assert [lines(again)["x"][name] for name in ("n", "hits@1", "failed")] == [1, 1.0, 0]


def test_what_of_the_dataset_is_not_there_is_told(tmp_path: Path) -> None:
    def run(name: str, **about: Any) -> Path:
        return made_run(tmp_path / name, FOUR, {"x": given("x", "rrrr")}, **about)

    first = run("A")
    few = " Notes - fewer than 30 questions: Wilson's intervals are wide, the others are rough"
    assert words(only(first, run("B"))).endswith(few)
    said = words(only(first, run("D", left_out=["q.jsonl:2: no \x1btext", "3"], missing_share=0.23, without_answer=3)))
    assert "- 2 questions left out of the dataset, as q.jsonl:2: no text" in said
    assert "- 23 % of the gold terms are not in the graph: these are not the figures of the dataset" in said
    assert "- 3 questions without a right answer: who says nothing is right there" in said
    assert words(only(run("E", left_out=[], missing_share=0.01, without_answer=0))).endswith(few)


def test_what_is_no_run_and_no_metric_is_said(tmp_path: Path, run: Path) -> None:
    with pytest.raises(InputError, match="no question has been answered yet"):
        only(made(tmp_path / "E", x=""))
    config = read_sealed_json(run / "run.json")
    for label in ("../../two/answers/x", "..", "", "x\n", "/etc/x"):  # it would lead elsewhere
        config["methods"][0]["label"] = label
        rewrite(run / "run.json", config)
        with pytest.raises(DataError, match=r"run\.json: .* is no label of a method"):
            only(run)
    assert chosen_metrics(["f1", "hits@1", "f1"]) == ("f1", "hits@1")
    with pytest.raises(OptionError, match="'f2'") as caught:
        chosen_metrics(["f1", "f2"])
    assert "hits@1, expected_hits@1" in caught.value.hint


def test_hostile_texts_leave_no_control_characters_links_or_formulas(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"
    asked = [question("q1\"'><b>", text=f"Who? {evil}", type_=evil), question("q2", text="[link](javascript:alert(1))")]
    item = RecordedEvidence("P1", ((iri("a"), iri("b"), f'"{evil}"'),))
    methods = {
        "good": given("good", "rr", asked),
        "bad": given("bad", "ww", asked, evidence=[item]),
        "lost": given("lost", "00", asked, error=("E_MODEL", evil)),
    }
    found = [only(made_run(tmp_path / "\x1b[31mR", asked, methods, dataset=f"films {evil}", model=evil))]
    assert "\x1b" not in comparison_text(found)
    for place, start in enumerate(("=", "-", "@", "\t=", "\x1b=", " @")):
        evil = f'{start}HYPERLINK("http://evil", "a\nb")\x1b[31m'
        asked = [question("q1", type_=evil), question("q2", type_="")]
        run = made_run(tmp_path / str(place), asked, {"x": given("x", "rr", asked)}, dataset=evil, model=evil)
        text = comparison_csv([only(run)])
        assert "\x1b" not in text
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        shown = {line[name] for line in rows for name in ("dataset", "model", "slice")} - {"", "unknown"}
        assert shown
        assert all(cell.startswith("'") and 'HYPERLINK("http://evil", "a b")' in cell for cell in shown)
