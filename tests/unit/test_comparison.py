"""Runs made by hand, compared: means, intervals, slices, the best, what is tested on which questions; tables."""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.comparison import (
    Comparison,
    Leaderboard,
    Row,
    chosen_metrics,
    compare,
    metric_definitions,
    records,
)
from kgsparql.evaluation.comparison_report import (
    comparison_csv,
    comparison_json,
    comparison_markdown,
    comparison_text,
    disagreements_text,
)
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.record import Record, RecordedEvidence, RecordedLink
from kgsparql.evaluation.runs.directory import Run
from kgsparql.rendering.text import escaped_markdown
from kgsparql.storage.files import read_sealed_json
from tests.kept import rewrite
from tests.made_runs import iri, made_run, question, record, sampled_questions, sampled_records

FOUR = [
    question("q1", hops=1, type_="who", path=["directed"]),
    question("q2", hops=1, type_="who", path=["^directed"]),
    question("q3", hops=2, type_="when", path=["directed", "^starring"]),
    question("q4", hops=2, type_="", path=["directed", "starring"]),
]
SKILLS = {"path_ranking": 0.95, "path_ranking+no_model": 0.9, "think_on_graph": 0.8, "mindmap": 0.6, "entity": 0.4}
FEW = "fewer than 30 questions: Wilson's intervals are wide; bootstrap intervals are rough, and too narrow"


def given(method: str, letters: str, asked: Sequence[Question] = FOUR, **fields: Any) -> list[Record]:
    """Records of questions: right, wrong, 2nd place right, 0 for nothing, e for an error; - was not asked."""
    answers = {"r": ["right"], "w": ["wrong"], "2": ["wrong", "right"], "0": [], "e": []}
    late = {"error": ("E_TIMEOUT", "too late")}
    pairs = ((one, letter) for one, letter in zip(asked, letters, strict=False) if letter != "-")
    return [record(one, method, answers[letter], **(late if letter == "e" else fields)) for one, letter in pairs]


def compared(*runs: Path, **options: Any) -> Comparison:
    return compare(list(map(Run.open, runs)), **options)


def only(*runs: Path, **options: Any) -> Leaderboard:
    (board,) = compared(*runs, **options).leaderboards
    return board


def made(path: Path, **letters: str) -> Path:
    return made_run(path, FOUR, {name: given(name, own) for name, own in letters.items()})


def best(board: Leaderboard) -> str | None:
    return board.best.name if board.best else None


def row_tests(board: Leaderboard, place: int) -> Any:
    """What is tested of the row at a place."""
    return board.tests[board.rows[place]]


def named(board: Leaderboard, name: str) -> Row:
    return next(row for row in board.rows if row.name == name)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    methods = {"good": given("good", "rrrw", calls=2, queries=5), "poor": given("poor", "w2ew", queries=1)}
    return made_run(tmp_path / "R", FOUR, methods, model="small-model", without_model=["poor"])


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = sampled_questions(36)
    methods = {name: sampled_records(asked, name, skill, calls=3 * ("+" not in name)) for name, skill in SKILLS.items()}
    return made_run(tmp_path_factory.mktemp("runs") / "R", asked, methods, model="a-model")


def test_means_intervals_and_slices_by_hand(run: Path, tmp_path: Path) -> None:
    good, poor = only(run).rows
    assert (good.name, good.model, good.n, poor.model) == ("good", "small-model", 4, "")
    assert (good.mean("hits@1"), good.mean("model_calls")) == (0.75, 2)
    assert [poor.mean(name) for name in ("hits@1", "mrr", "failed", "triple_recall")] == [0, 0.125, 0.25, None]
    assert poor.mean("queries") == 1.5  # the failed question counts with the three it sent
    found, calls = good.means["hits@1"], poor.means["model_calls"]
    assert found is not None
    # Wilson: with z² = 3.8415, middle (3 + 1.9207) / 7.8415 = .6275, half 1.96 · √(3/4 + .9604) / 7.8415 = .3269
    assert (found.low, found.high, found.n) == (pytest.approx(0.3006, abs=1e-4), pytest.approx(0.9544, abs=1e-4), 4)
    assert calls is not None
    assert (calls.low, calls.high, calls.method) == (0, 0, "bootstrap"), "a count of calls is no share"
    hops = {value: (part.n, part.means["hits@1"]) for value, part in good.slices["hops"].items()}
    assert {value: (n, mean and mean.mean) for value, (n, mean) in hops.items()} == {"1": (2, 1.0), "2": (2, 0.5)}
    assert {value: part.n for value, part in good.slices["type"].items()} == {"when": 1, "who": 2, "unknown": 1}
    assert {v: part.n for v, part in good.slices["direction"].items()} == {"forward": 2, "inverse": 1, "mixed": 1}
    bare = made_run(tmp_path / "N", [question("q1", hops=None)], {"x": given("x", "r")})
    assert dict(only(bare).rows[0].slices) == {"hops": {}, "type": {}, "direction": {}}


def test_the_best_or_a_baseline_is_what_others_are_tested_against(run: Path) -> None:
    board = only(run)
    assert (board.primary, board.best, board.reference) == ("hits@1", board.rows[0], board.rows[0])
    test = row_tests(board, 1)["hits@1"]
    assert (test.difference.mean, test.won, test.lost, test.verdict) == (-0.75, 0, 3, "not shown")
    assert test.p == 2 / 8  # exact McNemar of 0 and 3
    board = only(run, baseline="poor")
    found = board.reference, board.best, row_tests(board, 0)["hits@1"].difference.mean
    assert found == (board.rows[1], board.rows[0], 0.75)
    with pytest.raises(OptionError, match="nobody") as caught:
        only(run, baseline="nobody")
    assert "good, poor" in caught.value.hint
    board = only(run, metrics=["queries"])  # of a cost less is better
    assert [row.name for row in board.rows] == ["poor", "good"]
    test = row_tests(board, 1)["queries"]
    assert (test.difference.mean, test.won, test.lost) == (3.5, 0, 4)
    assert test.p == 2 / 16  # all four differ, and only two of sixteen exchanges go as far
    assert board.rows[0].mean("fallbacks") == 0  # always told


def test_p_is_corrected_for_the_number_of_comparisons(tmp_path: Path) -> None:
    asked = [question(f"q{i}") for i in range(8)]
    methods = {m: given(m, c * 8, asked) for m, c in (("best", "r"), ("x", "w"), ("y", "w"))}
    run = made_run(tmp_path / "R", asked, methods)
    tests = [own["hits@1"] for own in only(run).tests.values()]
    # three pairs of rows, since the best might have been any of them
    found = {(one.difference.p, one.p, one.comparisons, one.verdict) for one in tests}
    assert found == {(2 / 256, 6 / 256, 3, "worse")}
    # of another dataset, which lacks the baseline, the reference is found on its questions
    other = made_run(tmp_path / "S", asked, {m: given(m, "r" * 8, asked) for m in "abc"}, dataset="books")
    boards = compared(run, other, baseline="best").leaderboards
    assert [{own["hits@1"].comparisons for own in board.tests.values()} for board in boards] == [{2}, {3}]
    assert row_tests(boards[0], 1)["hits@1"].p == 4 / 256


def test_the_best_is_decided_on_questions_that_all_were_asked(tmp_path: Path) -> None:
    # of its own questions b has 2/3 right, a 2/4; of the three that both were asked, both have two
    board = only(made(tmp_path / "R", a="rrww", b="rwr"))
    assert (best(board), row_tests(board, 1)["hits@1"].difference.n) == ("b", 3)
    # of the two shared questions a has both and b one, though b has more of its own
    asked = [question(f"q{i}") for i in range(6)]
    methods = {name: given(name, letters, asked) for name, letters in (("a", "wwrr--"), ("b", "--rwrr"))}
    board = only(made_run(tmp_path / "S", asked, methods))
    assert [row.name for row in board.rows] == ["b", "a"]
    assert best(board) == "a"
    # with half of the questions one may be the best, with fewer one may have had the easy ones
    assert best(only(made(tmp_path / "H", good="wrrw", half="rr"))) == "half"
    methods = {"good": given("good", "rrrwr", [*FOUR, asked[5]]), "less": given("less", "rr")}
    assert best(only(made_run(tmp_path / "L", [*FOUR, asked[5]], methods))) == "good"
    # of equal ones the cheaper
    methods = {"dear": given("dear", "rrwr", queries=9), "cheap": given("cheap", "rrrw", queries=2)}
    assert best(only(made_run(tmp_path / "T", FOUR, methods))) == "cheap"


def test_questions_that_only_some_were_asked_are_said(tmp_path: Path) -> None:
    board = only(made(tmp_path / "R", good="rrww", cut="wr", none=""))
    cut = named(board, "cut")
    assert (cut.n, cut.mean("hits@1")) == (2, 0.5)
    assert board.tests[cut]["hits@1"].difference.n == 2
    assert board.tests[named(board, "none")] == {}
    assert any("cut 2 of 4; none none of 4" in note for note in board.notes)
    first = made_run(tmp_path / "A", FOUR[:3], {"x": given("x", "rrr")})
    second = made_run(tmp_path / "B", FOUR[1:], {"y": given("y", "www", FOUR[1:])})
    board = only(first, second)
    assert row_tests(board, 1)["hits@1"].difference.n == 2
    assert any("2 were asked of all" in note for note in board.notes)
    # the same id with another text is another question
    other = [question("q1", text="Something else?")]
    one = made_run(tmp_path / "C", FOUR[:1], {"x": given("x", "r")})
    board = only(one, made_run(tmp_path / "D", other, {"y": given("y", "r", other)}))
    assert row_tests(board, 1) == {}
    assert any("0 were asked of all" in note for note in board.notes)
    # nobody knows the answers of one
    asked = [FOUR[0], replace(FOUR[1], answers=None)]
    board = only(made_run(tmp_path / "F", asked, {"x": given("x", "rr")}))
    hits = board.rows[0].means["hits@1"]
    assert hits is not None
    assert (hits.mean, hits.n, board.rows[0].n) == (1.0, 1, 2)
    assert any("hits@1 is not defined for every question" in note for note in board.notes)


def test_rows_are_told_apart_by_model_and_by_run(tmp_path: Path) -> None:
    runs = [
        made_run(tmp_path / name, FOUR, {"x": given("x", "rrrr")}, model=model)
        for name, model in (("A", ""), ("B", "small"), ("C", "small"))
    ]
    board = only(*runs, baseline="x, small (B)")
    assert [row.name for row in board.rows] == ["x, no model", "x, small (B)", "x, small (C)"]
    assert board.reference is board.rows[1]
    with pytest.raises(OptionError, match=r"x may be any of 'x, no model', 'x, small \(B\)', 'x, small \(C\)'"):
        only(*runs, baseline="x")


def test_a_failed_call_counts_as_wrong_and_of_one_asked_again_the_last_counts(tmp_path: Path) -> None:
    lost = given("x", "rrr", status="partial", error=("E_MODEL", "gone"))
    board = only(made_run(tmp_path / "R", FOUR, {"x": [*lost, *given("x", "r", FOUR[3:])]}))
    (x,) = board.rows
    assert (x.mean("hits@1"), x.mean("f1"), x.mean("failed"), x.mean("partial")) == (0.25, 0.25, 0.75, 0)
    assert x.mean("linking_recall@1") == 1
    assert "questions that failed count as wrong: x 75%" in board.notes
    (again,) = only(made_run(tmp_path / "S", FOUR[:1], {"x": [*given("x", "e"), *given("x", "r")]})).rows
    assert (again.n, again.mean("hits@1"), again.mean("failed")) == (1, 1.0, 0)


def test_a_ceiling_is_never_the_best_and_a_row_in_which_no_oracle_chose_is_none(tmp_path: Path) -> None:
    def oracles(path: str, **rows: tuple[str, tuple[str, ...] | None]) -> Path:
        methods = {name: given(name, letters, chosen_by=by) for name, (letters, by) in rows.items()}
        return made_run(tmp_path / path, FOUR, methods, model="oracle")

    run = oracles("O", walker=("rrrr", ("oracle",)), entity=("rrrw", ()))
    board = only(run)
    assert [(row.title, row.model) for row in board.rows] == [("walker ‡", "oracle"), ("entity", "")]
    assert best(board) == "entity"
    letters = {"walker": given("walker", "rrww"), "x": given("x", "rwww")}
    board = only(run, methods := made_run(tmp_path / "M", FOUR, letters, model="small"))
    assert board.rows[0].title == "walker, oracle ‡"
    assert row_tests(board, 0)["hits@1"].won == 1  # how far it is to the ceiling is told all the same
    board = only(run, methods, baseline="walker, oracle")
    assert board.reference is named(board, "walker, oracle")
    # oracles alone are compared with each other, also where no record says who chose
    for by in (("oracle",), None):
        alone = only(oracles(f"A{by}", w=("rrrw", by), v=("rwww", by)))
        assert [row.title for row in alone.rows] == ["w", "v"]
        assert alone.best is alone.reference is alone.rows[0]


def test_what_runs_differ_in_and_what_of_the_dataset_is_not_there_is_told(tmp_path: Path) -> None:
    def run(name: str, **about: Any) -> Path:
        return made_run(tmp_path / name, FOUR, {"x": given("x", "rrrr")}, **about)

    first = run("A")
    elsewhere = {"name": "elsewhere/films.ttl", "fingerprint": "f" * 16}
    assert only(first, run("B", began="2026-01-02", graph=elsewhere)).notes == (FEW,)
    about = {"sha256": "other answers", "gold_topics": True, "prompts": "b" * 64, "graph": {"fingerprint": "x"}}
    assert only(first, run("C", **about, options={"max_hops": 2})).notes[0] == (
        "the runs were not run alike: they differ in dataset, gold_topics, graph, prompts, x.max_hops"
    )
    board = only(first, run("D", left_out=["q.jsonl:2: no \x1btext", "3"], missing_share=0.234, without_answer=3))
    assert board.notes[:3] == (
        "2 questions left out of the dataset, as q.jsonl:2: no text",
        "23 % of the gold terms are not in the graph: these are not the figures of the dataset",
        "3 questions without a right answer: who says nothing is right there",
    )
    assert only(run("E", left_out=[], missing_share=0.01, without_answer=0)).notes == (FEW,)


def test_what_is_no_run_is_said(tmp_path: Path, run: Path) -> None:
    with pytest.raises(InputError, match="no question has been answered yet"):
        compared(made(tmp_path / "E", x=""))
    config = read_sealed_json(run / "run.json")
    for label in ("../../two/answers/x", "..", "", "x\n", "/etc/x"):  # it would lead elsewhere
        config["methods"][0]["label"] = label
        rewrite(run / "run.json", config)
        with pytest.raises(DataError, match=r"run\.json: .* is no label of a method"):
            compared(run)


def test_metrics_are_chosen_by_name_and_explained() -> None:
    assert chosen_metrics(["f1", "hits@1", "f1"]) == ("f1", "hits@1")
    assert "seconds" in chosen_metrics()
    assert "seconds" not in chosen_metrics(reproducible=True)
    assert "rougeL" in chosen_metrics(["all", "rougeL"])
    assert "rougeL" not in chosen_metrics(["all"])
    with pytest.raises(OptionError, match="'f2'") as caught:
        chosen_metrics(["f1", "f2"])
    assert "hits@1, expected_hits@1" in caught.value.hint
    text = metric_definitions(chosen_metrics())
    assert all(f"\n{name}  (" in f"\n{text}" for name in chosen_metrics())
    assert "Wilson's score interval" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_text_fits_a_terminal_and_has_every_table(sampled: Path) -> None:
    """What a user sees of named metrics is in docs/evaluation.md, byte for byte."""
    text = comparison_text(compared(sampled))
    assert max(map(len, text.splitlines())) <= 100
    for title in ("Quality", "Against path_ranking", "hits@1 by hops", "Risk and coverage", "Reliability", "Cost"):
        assert f"\n{title}" in text
    assert re.search(r"^  method +grounded .*fallbacks +truncated +failed$", text, re.MULTILINE)
    assert "p is corrected (Holm) for all 10; it decides" in " ".join(text.split())
    assert text.startswith("films: 36 questions, a-model, no model\n  Best hits@1: path_ranking, ")
    assert "\n  Shown to be worse than path_ranking: " in text
    text = comparison_text(compared(sampled, metrics=["f1", "queries"], baseline="entity"))
    assert "Against entity (the baseline), on 36 questions" in text
    assert "p is corrected (Holm) for all 4;" in " ".join(text.split())
    assert "hits@1" not in text


def test_long_names_go_on_in_the_next_line_and_datasets_have_a_mean(tmp_path: Path) -> None:
    name = "a_method_with_a_name+and_another_name_that_is_long"
    for place, dataset, count in (("A", "films", 24), ("B", "books", 30)):
        asked = sampled_questions(count)
        methods = {own: sampled_records(asked, own, 0.8) for own in (name, "short")}
        made_run(tmp_path / place, asked, methods, dataset=dataset)
    found = compared(tmp_path / "A", tmp_path / "B")
    text, alone = comparison_text(found), comparison_text(compared(tmp_path / "A"))
    assert max(map(len, text.splitlines())) <= 100
    assert name not in alone[alone.index("Quality") : alone.index("In brackets")]
    figures = [float(one["AUROC"] or 0) for one in records(found) if one["method"] == "short" and not one["by"]]
    assert text.endswith(f"{sum(figures) / 2:.3f}\n")
    assert f"| short | {sum(figures) / 2:.3f} |" in comparison_markdown(found)
    assert "Mean AUROC" not in alone


def test_intervals_are_named_and_have_width(tmp_path: Path) -> None:
    asked = [question(f"q{i}", ["right", "other"]) for i in range(8)]
    run = made_run(tmp_path / "R", asked, {name: given(name, "r" * 8, asked, ranked=False) for name in "ab"})
    found = compared(run)
    text = comparison_text(found)
    assert "0.000 [-0.277, +0.277]" in text  # hits@1: Bonett and Price's
    assert re.search(r"f1 +0\.000 +0:0", text)  # each 2/3: nothing to draw from
    second = records(found)[2]
    assert (second["versus"], second["hits@1 difference low"]) == ("a", -0.277181)
    assert "f1 difference low" not in second
    for metrics, said in (
        (["hits@1"], "Wilson's score interval)."),
        (["f1"], "bootstrap, 10,000 resamples)."),
        (["hits@1", "f1"], "Wilson's score interval; else bootstrap, 10,000 resamples)."),
    ):
        assert f"95 % interval of the mean ({said}" in " ".join(comparison_text(compared(run, metrics=metrics)).split())


def test_records_have_every_metric_and_csv_and_json_have_the_same(sampled: Path) -> None:
    found = compared(sampled)
    in_json = json.loads(comparison_json(found))
    whole = [one for one in in_json if not one["by"]]
    assert [one["method"] for one in whole] == [row.method for row in found.rows]
    for one in whole:
        assert list(one)[:5] == ["dataset", "method", "model", "run", "name"]
        assert one["n"] == one["questions"] == 36
        assert set(chosen_metrics()) <= set(one)
        assert one["hits@1 low"] <= one["hits@1"] <= one["hits@1 high"]
        assert (one["triple_recall"], one["triple_recall n"]) == (None, 0)
        assert 0 <= one["right of the surest 10 %"] <= 1
    assert [one["best"] for one in whole] == [True, False, False, False, False]
    assert {"hits@1 difference", "hits@1 p", "hits@1 verdict"} <= set(whole[1])
    assert [(one["slice"], one["n"]) for one in in_json if one["by"] == "hops"] == [("1", 12), ("2", 12), ("3", 12)] * 5
    text = comparison_csv(found)
    assert text.count("\r\n") == text.count("\n") == 1 + 5 * (1 + 3 + 3 + 2)
    for line, one in zip(csv.DictReader(io.StringIO(text, newline="")), in_json, strict=True):
        assert float(line["hits@1"]) == one["hits@1"]
        assert line["triple_recall"] == ""


def test_markdown_is_a_table_for_each_and_what_it_shows_is_the_text(tmp_path: Path) -> None:
    asked = [question(f"q{type_}", type_=type_, hops=None) for type_ in ("a|b <script>", "c")]
    run = made_run(tmp_path / "R", asked, {"x": given("x", "rr", asked)}, dataset="[x](http://evil) |")
    text = comparison_markdown(compared(run))
    assert text.startswith("## \\[x\\](http://evil) \\|: 2 questions, no model")
    assert "a\\|b \\<script\\>" in text
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    sizes = [{len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()} for block in blocks]
    assert [len(own) for own in sizes] == [1] * len(blocks)
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["strikethrough", "table"])
    for text in ("&lt;b&gt; &copy;", "~~a~~ $x$ `a`", "*a* __b__", "[a](http://evil)", "![a](b) <i>", "#1 a\\b"):
        (inline,) = [token for token in parser.parse(f"## {escaped_markdown(text)}") if token.type == "inline"]
        assert {token.type for token in inline.children} <= {"text", "text_special"}
        assert "".join(token.content for token in inline.children) == text
        assert not any(char in re.sub(r"\\.", "", escaped_markdown(text)) for char in "&~$<`*_[")


def test_hostile_texts_leave_no_control_characters_links_or_formulas(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"
    asked = [question("q1\"'><b>", text=f"Who? {evil}", type_=evil), question("q2", text="[link](javascript:alert(1))")]
    item = RecordedEvidence(marker="P1", kind="path", text=f"a —{evil}→ b", ends=(iri("wrong"),))
    methods = {
        "good": given("good", "rr", asked),
        "bad": given("bad", "ww", asked, evidence=[item]),
        "lost": given("lost", "00", asked, error=("E_MODEL", evil)),
    }
    found = compared(made_run(tmp_path / "\x1b[31mR", asked, methods, dataset=f"films {evil}", model=evil))
    assert "\x1b" not in comparison_text(found) + disagreements_text(found)
    markdown = comparison_markdown(found) + disagreements_text(found, markdown=True)
    assert "<script" not in markdown.replace("\\<", "")
    assert "[link]" not in markdown.replace("\\[", "").replace("\\]", "")
    for place, start in enumerate(("=", "-", "@", "\t=", "\x1b=", " @")):
        evil = f'{start}HYPERLINK("http://evil", "a\nb")\x1b[31m'
        asked = [question("q1", type_=evil)]
        run = made_run(tmp_path / str(place), asked, {"x": given("x", "r", asked)}, dataset=evil, model=evil)
        text = comparison_csv(compared(run))
        assert "\x1b" not in text
        lines = list(csv.DictReader(io.StringIO(text, newline="")))
        shown = {line[name] for line in lines for name in ("dataset", "model", "slice")} - {"", "1"}
        assert shown
        assert all(cell.startswith("'") and 'HYPERLINK("http://evil", "a b")' in cell for cell in shown)


def test_the_questions_on_which_methods_differ_say_where_it_went_wrong(tmp_path: Path) -> None:
    other = RecordedLink(iri("elsewhere"), "Elsewhere", "Topic", "exact", 1.0)
    found = RecordedEvidence(marker="P1", kind="path", text="Topic —film→ right", ends=(iri("right"),))
    methods = {
        "good": given("good", "rrr"),
        "second": given("second", "22"),
        "chooser": given("chooser", "w", evidence=[found]),
        "finder": given("finder", "w"),
        "linker": given("linker", "w", linked=(other,)),
        "lost": given("lost", "0", error=("E_MODEL", "gone")),
        "silent": given("silent", "0"),
        "halfway": given("halfway", "r", status="partial", error=("E_MODEL", "lost")),
    }
    comparison = compared(made_run(tmp_path / "R", FOUR[:3], methods))
    text = disagreements_text(comparison)
    assert "Which film is q3" not in text, "nobody but one was asked the third"
    words = " ".join(text.split())
    for said in (
        "Which film is q1? (q1) right: right good: 1, answered: right ✓ ",
        "second: 0, answered: wrong, right ✓; a right answer is number 2 ",
        "chooser: 0, answered: wrong; found, not chosen: [P1] Topic —film→ right ",
        "finder: 0, answered: wrong; not found: no right answer is in the evidence ",
        "linker: 0, answered: wrong; not found: linked to Elsewhere, not to what the question is about ",
        "lost: 0, error: nothing; failed: gone [E_MODEL] ",
        "silent: 0, not_in_graph: nothing; not found: no right answer is in the evidence ",
        "halfway: 0, partial: nothing; failed: lost [E_MODEL]",
    ):
        assert said in words
    assert max(map(len, text.splitlines())) <= 100
    assert disagreements_text(comparison, 1).count("right: right") == 1
