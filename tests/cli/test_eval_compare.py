"""``kgsparql eval compare`` and ``eval tune`` over runs as they are left on disk."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kgsparql.evaluation.runs.directory import Run as Made
from kgsparql.retrievers._loading import Preset
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.made_runs import made_run, question, record, sampled_questions, sampled_records
from tests.model_server import ModelServer
from tests.scripted import Player

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


PLAIN = ("--embedder", "none", "--no-model")
NOBEL = (FIXTURES / "nobel_questions.jsonl", "-k", FIXTURES / "nobel.ttl")


def test_from_values_to_a_preset_that_is_taken(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    values = ("-O", "max_hops=1,2", "-O", "paths-kept=1,9")
    done = run(
        "eval", "tune", *NOBEL, *PLAIN, "--limit", "8", *values, "-o", out, "--metric", "queries", "--split", "0.75"
    )
    assert done.exit_code == 0, done.stderr
    assert "5 trials\n" in done.stderr
    assert "6 development and 2 held-out questions; 0 of " in done.stderr
    assert "take 30 held-out questions or more" in done.stderr, "before anything is asked"
    assert "4-max_hops-2-paths_kept-9 6/6 · Hits@1 " in done.stderr
    assert "Against default (the baseline), on 2 questions" in done.stdout
    preset = out / "preset.toml"
    assert done.stderr.endswith(f"preset: {preset}\n")
    found = Preset.load(preset)
    assert found.tuned is not None
    assert [found.tuned[name] for name in ("dataset", "trials")] == ["nobel_questions", 5]
    assert found.comment in " ".join(done.stdout.split())
    assert found.options == {"max_hops": 1, "paths_kept": 1}
    development, held_out = (Made.open(out / name) for name in ("development", "held_out"))
    assert development.methods[:2] == ("default", "1-max_hops-1-paths_kept-1")
    assert {len(development.questions), len(held_out.questions)} == {6, 2}
    assert {one.id for one in development.questions}.isdisjoint(one.id for one in held_out.questions)
    assert held_out.config["methods"][1]["options"]["max_hops"] == 1
    assert all(len(held_out.records(name)) == 2 for name in ("default", "chosen"))

    asked = run("ask", "Where was Marie Curie born?", *NOBEL[1:], *PLAIN, "--preset", preset, "-f", "json")
    assert json.loads(asked.stdout)["answers"][0]["term"]["label"] == "Warsaw"
    ran = tmp_path / "ran"
    more = ("-r", "entity,path_ranking", "-O", "path_ranking.paths_kept=4", "-O", "entity.max_hops=2")
    done = run("eval", *NOBEL, *PLAIN, "--limit", "1", "--preset", preset, *more, "-o", ran, "-q")
    assert done.exit_code == 0, done.stderr
    options = {method["label"]: method["options"] for method in Made.open(ran).config["methods"]}
    assert (options["path_ranking"]["paths_kept"], options["path_ranking"]["max_hops"]) == (4, 1)
    assert options["entity"]["max_hops"] == 2


def test_calls_of_a_model_are_bounded(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    with ModelServer(Player()) as server:
        how = ("--embedder", "none", "--base-url", server.url, "-m", "tiny", "--limit", "4", "-O", "paths_kept=1,3")
        done = run("eval", "tune", *NOBEL, *how, "-o", tmp_path / "t")
        assert done.exit_code == 0, done.stderr
        assert "3 trials: about 20 model calls at most" in done.stderr
        assert 0 < len(server.requests) <= 20
    assert ["setting", "f1", "model_calls", "queries"] in [line.split() for line in done.stdout.splitlines()]


def test_what_is_wrong_is_said_before_a_graph_is_loaded(run: Run, tmp_path: Path) -> None:
    where = (NOBEL[0], "-k", tmp_path / "no.ttl", "--no-model", "-o", tmp_path / "t")
    own, other = tmp_path / "own.toml", tmp_path / "other.toml"
    own.write_text('method = "mindmap"\n[options]\npaths = 1\n')
    other.write_text('method = "mindmap"\n')
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    for command, arguments, said in (
        ("tune", ("-O", "paths=1"), "no option 'paths'"),
        ("tune", ("-O", "paths_kept=1", "--metric", "beauty"), "no metric 'beauty'"),
        ("tune", ("-O", "paths_kept=1", "-o", tmp_path / "full"), "something is there already"),
        ("run", ("--preset", own), "own.toml: mindmap has no option 'paths'"),
    ):
        done = run("eval", command, *where, *arguments)
        assert done.exit_code == 2, done.stderr
        assert said in done.stderr
        assert not (tmp_path / "t").exists()
    done = run("eval", *NOBEL, *PLAIN, "-o", tmp_path / "t", "--preset", other, "-r", "entity")
    assert (done.exit_code, "-O mindmap.…: this method is not asked" in done.stderr) == (2, True)
