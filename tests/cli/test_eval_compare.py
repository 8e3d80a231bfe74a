"""``kgsparql eval compare`` over runs as they are left on disk."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.made_runs import made_run, question, record, sampled_questions, sampled_records

SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml"}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    asked = sampled_questions(30)
    methods = {name: sampled_records(asked, name, skill) for name, skill in (("mindmap", 0.9), ("entity", 0.5))}
    return made_run(tmp_path / "R", asked, methods)


def test_a_run_that_was_stopped_and_gone_on_with_has_the_same_table(run: Run, made: Path, tmp_path: Path) -> None:
    file = made / "answers" / "entity.jsonl"
    whole, table = file.read_text(), run("eval", "compare", made, "--reproducible").stdout
    lines = whole.splitlines(keepends=True)
    file.write_text("".join(lines[:12]) + lines[12][:40])
    partly = run("eval", "compare", made, "--reproducible").stdout
    assert "entity 12 of 30" in partly
    file.write_text("".join(lines[:12] + lines[:11:-1]))  # the rest ended in another order
    assert run("eval", "compare", made, "--reproducible").stdout == table


def test_each_format_goes_into_a_file_that_names_it(run: Run, made: Path, tmp_path: Path) -> None:
    text = {}
    for form in ("md", "csv", "json"):
        done = run("eval", "compare", made, "-o", tmp_path / f"table.{form}")
        assert (done.exit_code, done.stdout) == (0, ""), done.stderr
        text[form] = (tmp_path / f"table.{form}").read_bytes().decode()
    assert [row["method"] for row in json.loads(text["json"])] == ["mindmap", "entity"]
    assert next(csv.DictReader(io.StringIO(text["csv"], newline="")))["n"] == "30"
    assert "\r\r" not in text["csv"]
    assert text["md"].startswith("## films")


def test_one_byte_is_the_same_in_another_process(made: Path, run: Run, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kgsparql", "eval", "compare", str(made), "-f", "json"]
    other = subprocess.run(command, capture_output=True, check=True, env={"PYTHONHASHSEED": "7", "PATH": ""})
    assert other.stdout.decode() == run("eval", "compare", made, "-f", "json").stdout


def test_metrics_baseline_slices_and_seed(run: Run, made: Path) -> None:
    done = run("eval", "compare", made)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("films: 30 questions, no model\n")
    for said in ("hits@1 by hops", "mindmap *"):
        assert said in done.stdout
    assert "\x1b" not in done.stdout
    explained = run("eval", "compare", "--explain", "--metrics", "hits@1,mrr")
    assert explained.stdout.startswith("hits@1  (answer; higher is better)\n    ")
    assert "\nmrr  (" in explained.stdout
    assert "\nf1  (" not in explained.stdout
    done = run("eval", "compare", made, "--metrics", "f1", "--baseline", "entity", "--by", "direction", "--seed", 3)
    assert done.exit_code == 0, done.stderr
    assert "Against entity (the baseline)" in done.stdout
    assert "f1 by direction of the path" in done.stdout
    assert "seed 3" in done.stdout
    assert " by " not in run("eval", "compare", made, "--by", "none").stdout


def test_failures_show_what_was_found(run: Run, made: Path) -> None:
    done = run("eval", "compare", made, "--failures", "--limit", 2)
    assert done.exit_code == 0, done.stderr
    shown = done.stdout[done.stdout.index("Where methods differ") :]
    assert shown.count("  right: ") == 2
    assert "P1: Topic —film→" in shown
    assert "## Where methods differ" in run("eval", "compare", made, "--failures", "-f", "md").stdout


def test_plots_are_files_and_the_same_each_time(run: Run, made: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for place in ("one", "two"):
        done = run("eval", "compare", made, "--plots", tmp_path / place)
        assert done.exit_code == 0, done.stderr
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert names == [
        f"films-{kind}.{ending}" for kind in ("by-hops", "quality-cost", "risk-coverage") for ending in ("png", "svg")
    ]
    for name in names:
        data = (tmp_path / "one" / name).read_bytes()
        assert data.startswith(SIGNATURES[name[-3:]])
        assert data == (tmp_path / "two" / name).read_bytes()
        assert b"2026-" not in data


def test_plots_of_datasets_with_odd_names(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = [question("q1", text="?"), question("q2", hops=2)]
    costs = ((0, 0.001), (1, 0.1), (400, 30.0))  # far apart
    for place, name in (("A", "a/../b $x$"), ("B", "a .. b $x$"), ("C", "日本")):
        methods = {
            f"m_{calls}": [record(one, f"m_{calls}", ["right"], calls=calls, seconds=seconds) for one in asked]
            for calls, seconds in costs
        }
        made_run(tmp_path / place, asked, methods, dataset=name)
    done = run("eval", "compare", *(tmp_path / place for place in "ABC"), "--plots", tmp_path / "plots")
    assert done.exit_code == 0, done.stderr
    names = {file.name for file in (tmp_path / "plots").iterdir() if file.name.endswith("-by-hops.svg")}
    assert names == {"a-b-x-1-by-hops.svg", "a-b-x-2-by-hops.svg", "dataset-by-hops.svg"}


def test_what_cannot_be_done_is_said_in_a_line(
    run: Run, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")

    def refused(*arguments: object) -> str:
        done = run("eval", "compare", *arguments)
        assert done.exit_code == 2
        assert done.stderr.startswith("error: ")
        return done.stderr

    for arguments, message in (
        ([], "no run was given"),
        ([tmp_path / "nothing"], "no run is here"),
        ([made, "--by", "colour"], "--by colour"),
        ([made, "-f", "xml"], "no output format 'xml'"),
        ([made, "-f", "json", "--failures"], "--failures is no part of json"),
        ([made, "--plots", made / "run.json"], "cannot write"),
    ):
        assert message in refused(*arguments)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "kgsparql[eval]" in refused(made, "--plots", tmp_path / "plots")


def test_metrics_of_text_are_a_table_of_their_own(run: Run, made: Path) -> None:
    pytest.importorskip("rouge_score")
    done = run("eval", "compare", made, "--metrics", "rougeL,f1")
    assert done.exit_code == 0, done.stderr
    assert "rougeL" in done.stdout
    assert "rougeL" not in run("eval", "compare", made).stdout
    pytest.importorskip("bert_score")
    done = run("eval", "compare", made, "--text-metrics")
    assert done.exit_code == 0, done.stderr
    assert "Words of the answers\n  method" in done.stdout
    assert "bertscore f1" in done.stdout
