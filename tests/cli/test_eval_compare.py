"""``kgsparql eval compare`` over runs as they are left on disk."""

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


def test_a_run_that_was_stopped_and_gone_on_with_has_the_same_table(run: Run, made: Path) -> None:
    file = made / "answers" / "entity.jsonl"
    whole, table = file.read_text(), run("eval", "compare", made, made, "--reproducible").stdout
    assert table.startswith("films: 30 questions, no model\n")
    lines = whole.splitlines(keepends=True)
    file.write_text("".join(lines[:12]) + lines[12][:40])
    assert "entity 12 of 30" in run("eval", "compare", made, "--reproducible").stdout
    file.write_text("".join(lines[:12] + lines[:11:-1]))  # the rest ended in another order
    assert run("eval", "compare", made, "--reproducible").stdout == table


def test_each_format_goes_into_a_file_that_names_it(run: Run, made: Path, tmp_path: Path) -> None:
    text = {}
    for form in ("md", "csv", "json"):
        done = run("eval", "compare", made, "-o", tmp_path / f"table.{form}")
        assert (done.exit_code, done.stdout) == (0, ""), done.stderr
        text[form] = (tmp_path / f"table.{form}").read_bytes().decode()
    assert [one["method"] for one in json.loads(text["json"]) if not one["by"]] == ["mindmap", "entity"]
    assert next(csv.DictReader(io.StringIO(text["csv"], newline="")))["n"] == "30"
    assert "\r\r" not in text["csv"]
    assert text["md"].startswith("## films")
    command = [sys.executable, "-m", "kgsparql", "eval", "compare", str(made), "-f", "json"]
    other = subprocess.run(command, capture_output=True, check=True, env={"PYTHONHASHSEED": "7", "PATH": ""})
    assert other.stdout.decode() == text["json"], "another process writes the same bytes"


def test_metrics_baseline_slices_and_failures(run: Run, made: Path) -> None:
    explained = run("eval", "compare", "--explain", "--metrics", "hits@1,mrr").stdout
    assert explained.startswith("hits@1  (answer; higher is better)\n    ")
    assert "\nmrr  (" in explained
    assert "\nf1  (" not in explained
    done = run("eval", "compare", made, "--metrics", "f1", "--baseline", "entity")
    assert done.exit_code == 0, done.stderr
    assert "Against entity (the baseline)" in done.stdout
    assert "f1 by hops" in done.stdout
    shown = run("eval", "compare", made, "--failures", "--limit", 2).stdout
    assert shown.count("  right: ") == 2
    assert "## Where methods differ" in run("eval", "compare", made, "--failures", "-f", "md").stdout
    pytest.importorskip("rouge_score")
    assert "rougeL" in run("eval", "compare", made, "--metrics", "rougeL,f1").stdout


def test_plots_are_files_and_the_same_each_time(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = [question("q1", text="?"), question("q2", hops=2)]
    for place, name in (("A", "a/../b $x$"), ("B", "日本")):
        methods = {
            f"m_{calls}": [record(one, f"m_{calls}", ["right"], calls=calls) for one in asked] for calls in (0, 1, 400)
        }
        made_run(tmp_path / place, asked, methods, dataset=name)
    for place in ("one", "two"):
        done = run("eval", "compare", tmp_path / "A", tmp_path / "B", "--plots", tmp_path / place)
        assert done.exit_code == 0, done.stderr
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    drawn = [f"{kind}.{ending}" for kind in ("quality-cost", "risk-coverage") for ending in ("png", "svg")]
    assert names == [f"{name}-{one}" for name in ("a-b-x-1", "dataset-2") for one in drawn]
    for name in names:
        data = (tmp_path / "one" / name).read_bytes()
        assert data.startswith(SIGNATURES[name[-3:]])
        assert data == (tmp_path / "two" / name).read_bytes()
        assert b"2026-" not in data


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
        ([made, "-f", "xml"], "no output format 'xml'"),
        ([made, "-f", "json", "--failures"], "--failures is no part of json"),
        ([made, "--plots", made / "run.json"], "cannot write"),
    ):
        assert message in refused(*arguments)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "kgsparql[eval]" in refused(made, "--plots", tmp_path / "plots")
