"""``kgsparql eval tune`` as a user types it: from values to a preset that ``ask`` and ``eval`` take."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgsparql.evaluation.runs.directory import Run as Made
from kgsparql.retrievers._loading import Preset
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.model_server import ModelServer
from tests.scripted import Player

PLAIN = ("--embedder", "none", "--no-model")


@pytest.fixture
def nobel(tmp_path: Path) -> Path:
    """The bundled graph with its questions, as a folder."""
    folder = tmp_path / "nobel"
    folder.mkdir()
    shutil.copy(FIXTURES / "nobel.ttl", folder / "graph.ttl")
    shutil.copy(FIXTURES / "nobel_questions.jsonl", folder / "questions.jsonl")
    return folder


def preset_in(folder: Path, text: str) -> Path:
    file = folder / "own.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_from_values_to_a_preset_that_is_taken(run: Run, nobel: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    done = run(
        "eval", "tune", nobel, *PLAIN, "--limit", "12", "-O", "max_hops=1,2", "-O", "paths-kept=1..9/8", "-o", out,
        "--metric", "queries",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "5 trials of path_ranking on some 6 questions, then 2 on some 6: no model calls" in done.stderr
    assert "6 development and 6 held-out questions; no topic entities in both, no paths in both" in done.stderr
    assert "trial 5 of 5: max_hops=2 paths_kept=9 6/6" in done.stderr
    assert "path_ranking on nobel · queries · no model" in done.stdout
    warning = "With 6 held-out questions only a large gain can be told from chance: take 30 or more."
    assert warning in " ".join(done.stderr.split()), "before anything is asked"
    assert warning in " ".join(done.stdout.split())
    preset = out / "preset.toml"
    assert done.stderr.endswith(f"preset: kgsparql ask --preset {preset}\n")
    found = Preset.load(preset)
    assert (found.tuned["dataset"], found.tuned["trials"], found.tuned["held_out"]["n"]) == ("nobel", 5, 6)
    assert found.comment in " ".join(done.stdout.split())
    assert found.options == {"max_hops": 1, "paths_kept": 1}

    asked = run(
        "ask", "Where was Marie Curie born?", "-k", nobel / "graph.ttl", *PLAIN, "--preset", preset, "-f", "json"
    )
    assert asked.exit_code == 0, asked.stderr
    assert json.loads(asked.stdout)["answers"][0]["term"]["label"] == "Warsaw"

    ran = tmp_path / "ran"
    done = run("eval", nobel, *PLAIN, "--limit", "2", "--preset", preset, "-O", "paths_kept=4", "-o", ran, "-q")
    assert done.exit_code == 0, done.stderr
    (method,) = Made.open(ran).config["methods"]
    assert method["label"] == "path_ranking"
    assert method["options"]["paths_kept"] == 4
    chosen = found.options["max_hops"]
    assert method["options"]["max_hops"] == (None if chosen == "none" else chosen)


def test_an_option_that_the_metric_does_not_see_changes_nothing(run: Run, nobel: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    done = run("eval", "tune", nobel, *PLAIN, "--limit", "8", "-O", "paths_kept=1,5,10", "-o", out)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.endswith(f"nothing beat the defaults: {out}/preset.toml names the method and no options\n")
    assert Preset.load(out / "preset.toml").options == {}
    question = ("ask", "Who won the Nobel Prize in Physics?", "-k", nobel / "graph.ttl", *PLAIN, "-f", "json")
    plain, preset = (json.loads(run(*question, *more).stdout) for more in ((), ("--preset", out / "preset.toml")))
    assert preset["answers"] == plain["answers"]
    assert len({answer["markers"][0] for answer in plain["answers"]}) > 1, "alternatives are there to be lost"


def test_json_and_a_preset_elsewhere(run: Run, nobel: Path, tmp_path: Path) -> None:
    preset = tmp_path / "mine.toml"
    done = run(
        "eval", "tune", nobel, *PLAIN, "-q", "--limit", "8", "-r", "mindmap", "-O", "paths_kept=1,5",
        "-o", tmp_path / "t", "--search", "random", "--trials", "1", "--metric", "hits@1", "--split", "0.75",
        "-f", "json", "--preset-out", preset,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert (said["method"], said["metric"], said["search"]) == ("mindmap", "hits@1", "random")
    assert len(said["split"]["development"]) == 6
    assert said["trials"][0]["default"] is True
    assert said["trials"][0]["options"] == {"paths_kept": 5}
    assert 0 <= said["trials"][0]["hits@1"] <= 1
    assert Preset.load(preset).method == "mindmap"
    assert not (tmp_path / "t" / "preset.toml").exists()


def test_killed_and_gone_on_with(run: Run, nobel: Path, tmp_path: Path) -> None:
    options = ("-O", "paths_kept=1..4", "--limit", "6", "--reproducible", *PLAIN)
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "kgsparql", "eval", "tune", str(nobel), *options, "-o", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and not list(out.glob("trials/*/answers/*.jsonl")):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (out / "preset.toml").exists()
    again = run("eval", "tune", nobel, *options, "-o", out)
    assert again.exit_code == 2
    assert "a tuning is there already" in again.stderr
    resumed = run("eval", "tune", nobel, *options, "-o", out, "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    whole = run("eval", "tune", nobel, *options, "-o", tmp_path / "whole")
    assert resumed.stdout == whole.stdout
    assert (out / "preset.toml").read_bytes() == (tmp_path / "whole" / "preset.toml").read_bytes()


def test_calls_of_a_model_are_bounded_and_not_paid_twice(
    run: Run, nobel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    with ModelServer(Player()) as server:
        command = (
            "eval", "tune", nobel, "--embedder", "none", "--base-url", server.url, "-m", "tiny", "--limit", "4",
            "-O", "paths_kept=1,3", "-o", tmp_path / "t", "--reproducible",
        )  # fmt: skip
        done = run(*command)
        assert done.exit_code == 0, done.stderr
        assert "3 trials of path_ranking on some 2 questions, then 2 on some 2: about 30 model calls" in done.stderr
        asked = len(server.requests)
        assert 0 < asked <= 30
        heads = next(line.split() for line in done.stdout.splitlines() if "calls" in line)
        assert heads == ["f1", "calls", "rounds", "queries", "paths_kept", "run"]
        resumed = run(*command, "--fresh", "--resume")
        assert resumed.stdout == done.stdout
        assert len(server.requests) == asked


def test_what_is_wrong_is_said_before_a_graph_is_loaded(run: Run, tmp_path: Path) -> None:
    where = (FIXTURES / "nobel_questions.jsonl", "-k", tmp_path / "no.ttl", "-o", tmp_path / "t", "-O")
    for arguments, said in (
        (("mindmap.paths_kept=1",), "this method is not tuned"),
        (("paths_kept=1", "-O", "paths_kept=2"), "named twice"),
        (("paths_kept=1", "--search", "greedy"), "no search 'greedy'"),
        (("paths_kept=1", "--trials", "3"), "--trials with --search grid"),
        (("paths_kept=1", "--resume"), "no tuning to go on with"),
        (("paths_kept=1", "--preset-out", "/no/such/place/p.toml"), "its directory is not there"),
    ):
        done = run("eval", "tune", *where, *arguments)
        assert done.exit_code == 2, done.stderr
        assert said in done.stderr
        assert not (tmp_path / "t").exists()


def test_a_preset_that_cannot_be_used_is_said_before_a_graph_is_loaded(run: Run, tmp_path: Path) -> None:
    commands: tuple[tuple[object, ...], ...] = (
        ("ask", "Where was Marie Curie born?"),
        ("eval", FIXTURES / "nobel_questions.jsonl", "-o", tmp_path / "t"),
    )
    for text, arguments, said in (
        ('method = "mindmap"\n', ("-r", "entity"), "-r entity: the preset"),
        ('method = "mindmap"\n[options]\npaths = 1\n', (), "own.toml: mindmap has no option 'paths'"),
        ("method = \n", (), "own.toml: not TOML: Invalid value (at line 1, column 10)"),
    ):
        file = preset_in(tmp_path, text)
        for command in commands:
            done = run(*command, "-k", tmp_path / "no.ttl", "--no-model", "--preset", file, *arguments)
            assert done.exit_code == 2, done.stderr
            assert said in done.stderr


def test_a_run_of_many_methods_takes_the_preset_of_one(run: Run, nobel: Path, tmp_path: Path) -> None:
    file = preset_in(tmp_path, 'method = "mindmap"\n[options]\npaths_kept = 2\n')
    ran = tmp_path / "ran"
    done = run(
        "eval", nobel, *PLAIN, "--limit", "1", "--preset", file, "-r", "entity,mindmap", "-o", ran, "-q",
        "-O", "entity.max_hops=2",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    options = {method["label"]: method["options"] for method in Made.open(ran).config["methods"]}
    assert options["mindmap"]["paths_kept"] == 2
    assert options["entity"]["max_hops"] == 2
