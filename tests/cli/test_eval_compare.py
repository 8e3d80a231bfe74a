"""``kgsparql eval compare`` over runs as they are left on disk."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.made_runs import made_run, sampled_questions, sampled_records


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
    assert text["md"].startswith("## films")
    command = [sys.executable, "-m", "kgsparql", "eval", "compare", str(made), "-f", "json"]
    other = subprocess.run(command, capture_output=True, check=True, env={"PYTHONHASHSEED": "7", "PATH": ""})
    assert other.stdout.decode() == text["json"], "another process writes the same bytes"


def test_metrics_baseline_slices_and_failures(run: Run, made: Path) -> None:
    done = run("eval", "compare", made, "--metrics", "f1", "--baseline", "entity")
    assert done.exit_code == 0, done.stderr
    assert "Against entity (the baseline)" in done.stdout
    assert "f1 by hops" in done.stdout
    shown = run("eval", "compare", made, "--failures", "--limit", 2).stdout
    assert shown.count("  right: ") == 2
    assert "## Where methods differ" in run("eval", "compare", made, "--failures", "-f", "md").stdout
    pytest.importorskip("rouge_score")
    assert "rougeL" in run("eval", "compare", made, "--metrics", "rougeL,f1").stdout


def test_what_cannot_be_done_is_said_in_a_line(
    run: Run, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    ):
        assert message in refused(*arguments)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "kgsparql[eval]" in refused(made)
