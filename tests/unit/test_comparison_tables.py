"""A comparison as text, Markdown, CSV and JSON, and the questions on which methods differ."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kgsparql.evaluation.comparison import Comparison, compare
from kgsparql.evaluation.comparison_exports import comparison_csv, comparison_json
from kgsparql.evaluation.comparison_tables import comparison_markdown, comparison_text, escaped, metric_definitions
from kgsparql.evaluation.disagreements import disagreements, disagreements_markdown, disagreements_text
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import RecordedEvidence, RecordedLink
from kgsparql.evaluation.scoring import chosen_metrics, opened
from tests.kept import rewrite
from tests.made_runs import iri, made_run, question, record, sampled_questions, sampled_records

SKILLS = {"path_ranking": 0.95, "path_ranking+no_model": 0.9, "think_on_graph": 0.8, "mindmap": 0.6, "entity": 0.4}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = sampled_questions(36)
    methods = {
        name: sampled_records(asked, name, skill, calls=0 if "+" in name else 3) for name, skill in SKILLS.items()
    }
    return made_run(tmp_path_factory.mktemp("runs") / "R", asked, methods, model="a-model")


@pytest.fixture(scope="module")
def comparison(run: Path) -> Comparison:
    return compare(opened([run]))


def test_text_fits_a_terminal_and_has_every_table(comparison: Comparison) -> None:
    text = comparison_text(comparison)
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    for title in ("Quality", "Against path_ranking", "hits@1 by hops", "Reliability", "Cost"):
        assert f"\n{title}" in text
    assert re.search(r"^  method +grounded .*fallbacks +truncated +failed$", text, re.MULTILINE)
    assert re.search(r"^  path_ranking \* +0\.\d{3} \(0\.\d{3}–[01]\.\d{3}\)", text, re.MULTILINE)
    assert "exact McNemar test" in text
    words = " ".join(text.split())
    assert "p is corrected (Holm) for all 10; it decides, not the interval. p below 0.05 shows a difference" in words
    assert "Bonett and Price, exact McNemar test, where all values are 0 or 1; else paired bootstrap" in words
    lines = text.splitlines()
    assert lines[0] == "films: 36 questions, models: a-model, none"
    assert lines[1].startswith("  Best hits@1: path_ranking, ")
    assert any(line.startswith("  Shown to be worse than path_ranking: ") for line in lines[:5])


def test_long_names_go_on_in_the_next_line(tmp_path: Path) -> None:
    asked = sampled_questions(6)
    name = "a_method_with_a_name+and_another_name_that_is_long"
    methods = {name: sampled_records(asked, name, 0.9), "short": sampled_records(asked, "short", 0.5)}
    for place in "AB":
        made_run(tmp_path / place, asked, methods)
    text = comparison_text(compare(opened([tmp_path / "A", tmp_path / "B"])))
    assert max(map(len, text.splitlines())) <= 100
    assert name not in text[text.index("Quality") : text.index("In brackets")]


def test_what_is_named_is_shown_with_the_rates_that_are_always_shown(run: Path) -> None:
    text = comparison_text(compare(opened([run]), metrics=["f1", "queries"], by=["type"], baseline="entity"))
    assert "f1 by type of question" in text
    assert "Against entity (the baseline), on 36 questions" in text
    assert "p is corrected (Holm) for all 4;" in " ".join(text.split())
    assert re.search(r"^  method +fallbacks +truncated +failed$", text, re.MULTILINE)
    assert "hits@1" not in text
    assert " by hops" not in comparison_text(compare(opened([run]), by=()))


def test_markdown_is_a_table_for_each_and_escapes(tmp_path: Path) -> None:
    asked = [question("q1", type_="a|b <script>", hops=None)]
    run = made_run(tmp_path / "R", asked, {"x": [record(asked[0], "x", ["right"])]}, dataset="[x](http://evil) |")
    text = comparison_markdown(compare(opened([run]), by=["type"]))
    assert text.startswith("## \\[x\\](http://evil) \\|: 1 question, no model")
    assert "a\\|b \\<script\\>" in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        heads, rule, *rows = block.splitlines()
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in (heads, rule, *rows)}
        assert len(cells) == 1
        assert rows


def test_markdown_of_a_text_is_the_text() -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["strikethrough", "table"])
    for text in ("&lt;b&gt; &copy;", "~~a~~ $x$ `a`", "*a* __b__", "[a](http://evil)", "![a](b) <i>", "#1 a\\b"):
        (inline,) = [token for token in parser.parse(f"## {escaped(text)}") if token.type == "inline"]
        assert {token.type for token in inline.children} <= {"text", "text_special"}
        assert "".join(token.content for token in inline.children) == text
        assert not any(char in re.sub(r"\\.", "", escaped(text)) for char in "&~$<`*_[")


def test_rows_that_do_not_differ_have_no_interval_without_width(tmp_path: Path) -> None:
    asked = [question(f"q{i}", ["right", "other"]) for i in range(8)]
    methods = {name: [record(one, name, ["right"], ranked=False) for one in asked] for name in "ab"}
    found = compare(opened([made_run(tmp_path / "R", asked, methods)]))
    text = comparison_text(found)
    assert "0.000 [-0.277, +0.277]" in text  # hits@1: Bonett and Price's
    assert "[0.000, 0.000]" not in text
    assert re.search(r"f1 +0\.000 +0:0", text)  # each 2/3: nothing to draw from
    versus = json.loads(comparison_json(found))[1]["versus"]["metrics"]
    assert (versus["hits@1"]["interval"], versus["hits@1"]["low"]) == ("bonett_price", -0.277181)
    assert (versus["f1"]["interval"], versus["f1"]["low"], versus["f1"]["high"]) == ("bootstrap", None, None)


def test_ceilings_and_rows_in_which_nobody_chose_are_marked_everywhere(tmp_path: Path) -> None:
    asked = sampled_questions(6)
    for other, mark, said, best in (
        ("walker+no_model", "walker ‡", "‡ an oracle chooses: a ceiling, no method", [False, True]),
        ("entity", "entity †", "† nobody chooses: as without a model, no ceiling", [True, False]),
    ):
        methods = {
            name: [replace(one, chosen_by=by) for one in sampled_records(asked, name, 0.9)]
            for name, by in (("walker", ("oracle",)), (other, ()))
        }
        found = compare(opened([made_run(tmp_path / other, asked, methods, model="oracle")]))
        for text in (comparison_text(found), comparison_markdown(found)):
            assert mark in text
            assert said in text
        rows = {row["method"]: row for row in json.loads(comparison_json(found))}
        assert [rows[name]["best"] for name in methods] == best
        assert [rows[name]["chosen_by"] for name in methods] == [["oracle"], []]
        assert rows["walker"]["ceiling"] is (mark == "walker ‡")
        assert mark == "walker ‡" or rows[other]["versus"] is None


def test_json_is_a_list_of_rows_with_every_metric(comparison: Comparison) -> None:
    found = json.loads(comparison_json(comparison))
    assert [row["method"] for row in found] == [row.method for row in comparison.rows]
    for row in found:
        assert list(row)[:3] == ["dataset", "method", "model"]
        assert row["n"] == 36
        assert list(row["metrics"]) == [name for name in METRICS if METRICS[name].group != "text"]
        assert {"hits@1", "expected_hits@1", "precision", "recall", "f1", "model_calls", "queries", "seconds"} <= set(
            row["metrics"]
        )
        low, high = row["intervals"]["hits@1"]
        assert low <= row["metrics"]["hits@1"] <= high
        assert row["metrics"]["triple_recall"] is None
        assert row["intervals"]["triple_recall"] is None
        assert {value: part["n"] for value, part in row["by_hop"].items()} == {"1": 12, "2": 12, "3": 12}
        assert set(row["by_direction"]) == {"forward", "mixed"}
        assert set(row["by_type"]) == {"type 1", "type 2", "type 3"}
    assert [row["best"] for row in found] == [True, False, False, False, False]
    assert found[0]["versus"] is None
    assert found[1]["versus"]["reference"] == "path_ranking"
    assert {"difference", "p", "p_holm", "test", "verdict"} <= set(found[1]["versus"]["metrics"]["hits@1"])


def test_csv_has_a_line_for_each_row_and_slice(comparison: Comparison) -> None:
    text = comparison_csv(comparison)
    assert text.count("\r\n") == text.count("\n") == 1 + 5 * (1 + 3 + 3 + 2)
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    whole = [line for line in lines if not line["by"]]
    assert [line["method"] for line in whole] == [row.method for row in comparison.rows]
    means = json.loads(comparison_json(comparison))
    for line, row in zip(whole, means, strict=True):
        assert float(line["hits@1"]) == row["metrics"]["hits@1"]
        assert [float(line["hits@1 low"]), float(line["hits@1 high"])] == row["intervals"]["hits@1"]
        assert (line["triple_recall"], line["triple_recall n"]) == ("", "0")
    assert {(line["by"], line["slice"]) for line in lines if line["by"] == "hops"} == {("hops", h) for h in "123"}


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    """Two runs that differ in time and in the order in which questions ended, told apart by nothing else."""
    asked = sampled_questions(24)
    rendered = []
    for place, began, step in (("first", "2026-01-01", 1), ("second", "2027-12-31", -1)):
        methods = {}
        for name, skill in SKILLS.items():
            records = sampled_records(asked, name, skill)
            methods[name] = [
                replace(one, measured=replace(one.measured, seconds=one.measured.seconds * (1 if step > 0 else 7)))
                for one in records[::step]
            ]
        run = made_run(tmp_path / place, asked, methods, began=began)
        found = compare(opened([run]), reproducible=True)
        questions = disagreements(found)
        rendered.append([
            comparison_text(found), comparison_markdown(found), comparison_csv(found), comparison_json(found),
            disagreements_text(questions),
        ])  # fmt: skip
    assert rendered[0] == rendered[1]
    assert json.loads(rendered[0][3])[0]["metrics"]["seconds"] is None
    assert "seconds" not in rendered[0][0]


def hostile(path: Path) -> Path:
    """A run whose texts are markup."""
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"
    asked = [
        question("q1\"'><b>", text=f"Who? {evil}", type_=evil, hops=1),
        question("q2", text="[link](javascript:alert(1)) ![](http://evil)", hops=2),
    ]
    item = RecordedEvidence(marker="P1", kind="path", text=f"a —{evil}→ b", ends=(iri("wrong"),))
    methods = {
        "good": [record(one, "good", ["right"]) for one in asked],
        "bad": [record(one, "bad", ["wrong", evil.replace(" ", "")], evidence=[item]) for one in asked],
        "lost": [record(one, "lost", error=("E_MODEL", evil)) for one in asked],
    }
    return made_run(path, asked, methods, dataset=f"films {evil}", model=evil, licence="")


def test_text_and_markdown_of_hostile_texts_have_no_control_characters_and_no_links(tmp_path: Path) -> None:
    other = hostile(tmp_path / "\x1b[31mR")
    config = json.loads((other / "run.json").read_text())
    rewrite(other / "run.json", {**config, "model": "", "gold_topics": "\x1b[31m"})
    found = compare(opened([hostile(tmp_path / "R"), other]))
    questions = disagreements(found)
    assert "\x1b" not in comparison_text(found) + disagreements_text(questions)
    markdown = comparison_markdown(found) + disagreements_markdown(questions)
    assert "<script" not in markdown.replace("\\<", "")
    assert "[link]" not in markdown.replace("\\[", "").replace("\\]", "")


def test_the_questions_on_which_methods_differ_say_where_it_went_wrong(tmp_path: Path) -> None:
    asked = [question("q1", ["right"], path=["directed"]), question("q2", hops=2), question("q3")]
    other = RecordedLink(iri("elsewhere"), "Elsewhere", "Topic", "exact", 1.0)
    found_not_chosen = RecordedEvidence(marker="P1", kind="path", text="Topic —film→ right", ends=(iri("right"),))
    methods = {
        "good": [record(one, "good", ["right"]) for one in asked],
        "second": [record(one, "second", ["wrong", "right"]) for one in asked[:2]],
        "chooser": [record(asked[0], "chooser", ["wrong"], evidence=[found_not_chosen])],
        "finder": [record(asked[0], "finder", ["wrong"])],
        "linker": [replace(record(asked[0], "linker", ["wrong"]), linked=(other,))],
        "lost": [record(asked[0], "lost", error=("E_MODEL", "gone"))],
        "silent": [record(asked[0], "silent", [])],
        "halfway": [replace(record(asked[0], "halfway", ["right"]), status="partial", error=("E_MODEL", "lost"))],
    }
    comparison = compare(opened([made_run(tmp_path / "R", asked, methods)]))
    shown = {one.question.id: one for one in disagreements(comparison)}
    assert set(shown) == {"q1", "q2"}  # nobody but one was asked the third
    why = {outcome.name: outcome.why for outcome in shown["q1"].outcomes}
    assert why == {
        "good": "",
        "second": "a right answer is number 2 of 2",
        "chooser": "found, not chosen: a right answer is in the evidence (P1)",
        "finder": "not found: no right answer is in the evidence",
        "linker": "not found: linked to Elsewhere, not to what the question is about",
        "lost": "failed: gone [E_MODEL]",
        "silent": "not found: no right answer is in the evidence",
        "halfway": "failed: lost [E_MODEL]",
    }
    text = disagreements_text(disagreements(comparison))
    assert "Which film is q1? (films q1, 1 hop)" in text
    assert "  right: right" in text
    assert "given: wrong, right ✓" in text
    assert "P1 ✓: Topic —film→ right" in text
    assert max(map(len, text.splitlines())) <= 100
    assert len(disagreements(comparison, 1)) == 1


def test_every_metric_is_explained() -> None:
    text = metric_definitions(chosen_metrics("all"))
    for name in chosen_metrics("all"):
        assert f"\n{name}  (" in f"\n{text}"
    assert max(map(len, text.splitlines())) <= 100


def test_csv_holds_no_formula_and_no_control_character(tmp_path: Path) -> None:
    for place, start in enumerate(("=", "-", "@", "\t=", "\x1b=", " @")):
        evil = f'{start}HYPERLINK("http://evil", "a\nb")\x1b[31m'
        asked = [question("q1", type_=evil)]
        methods = {"x": [record(asked[0], "x", ["right"])]}
        run = made_run(tmp_path / str(place), asked, methods, dataset=evil, model=evil)
        text = comparison_csv(compare(opened([run])))
        assert "\x1b" not in text
        lines = list(csv.DictReader(io.StringIO(text, newline="")))
        shown = {line[name] for line in lines for name in ("dataset", "model", "slice")} - {"", "1"}
        assert shown
        assert all(cell.startswith("'") and 'HYPERLINK("http://evil", "a b")' in cell for cell in shown)


def test_a_table_says_which_intervals_it_has(tmp_path: Path) -> None:
    asked = [question("q1", ["a", "b"]), question("q2")]
    run = made_run(tmp_path / "R", asked, {"x": [record(one, "x", ["a"], ranked=False) for one in asked]})

    def caption(*metrics: str) -> str:
        text = " ".join(comparison_text(compare(opened([run]), metrics=metrics, by=())).split())
        return text[text.index("In brackets") :].split(" Reliability")[0]

    assert caption("hits@1").startswith("In brackets: 95 % interval of the mean (Wilson's score interval).")
    drawn = "bootstrap, 10,000 resamples, seed 0)."
    assert caption("f1").startswith(f"In brackets: 95 % interval of the mean ({drawn}")
    assert caption("hits@1", "f1").startswith(
        f"In brackets: 95 % interval of the mean (Wilson's score interval; else {drawn}"
    )
    assert "Wilson's score interval" in " ".join(metric_definitions(["f1"]).split())


def test_of_several_datasets_the_mean_of_their_figures_is_told(tmp_path: Path) -> None:
    for place, dataset in (("A", "films"), ("B", "books")):
        asked = sampled_questions(24, seed=ord(place))
        made_run(tmp_path / place, asked, {"x": sampled_records(asked, "x", 0.8)}, dataset=dataset)
    found = compare(opened([tmp_path / "A", tmp_path / "B"]))
    figures = [row["risk_coverage"]["auroc"] for row in json.loads(comparison_json(found))]
    text = comparison_text(found)
    assert text.endswith(f"datasets\n  method  AUROC\n  x       {sum(figures) / 2:.3f}\n")
    assert f"| x | {sum(figures) / 2:.3f} |" in comparison_markdown(found)
    assert "mean AUROC" not in comparison_text(compare(opened([tmp_path / "A"])))
