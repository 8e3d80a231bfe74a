"""``kgsparql eval tune`` as a user types it: from values to a preset that ``ask`` and ``eval`` take."""

import json
from pathlib import Path

import pytest

from kgsparql.evaluation.runs.directory import Run as Made
from kgsparql.retrievers._loading import Preset
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.model_server import ModelServer
from tests.scripted import Player

PLAIN = ("--embedder", "none", "--no-model")
NOBEL = (FIXTURES / "nobel_questions.jsonl", "-k", FIXTURES / "nobel.ttl")


def test_from_values_to_a_preset_that_is_taken(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    values = ("-O", "max_hops=1,2", "-O", "paths-kept=1,9")
    done = run("eval", "tune", *NOBEL, *PLAIN, "--limit", "8", *values, "-o", out, "--metric", "queries")
    assert done.exit_code == 0, done.stderr
    assert "5 trials\n" in done.stderr
    assert "4 development and 4 held-out questions; 0 of " in done.stderr
    assert "take 30 held-out questions or more" in done.stderr, "before anything is asked"
    assert "4-max_hops-2-paths_kept-9 4/4 · Hits@1 " in done.stderr
    assert "Against default (the baseline), on 4 questions" in done.stdout
    preset = out / "preset.toml"
    assert done.stderr.endswith(f"preset: {preset}\n")
    found = Preset.load(preset)
    assert found.tuned is not None
    assert [found.tuned[name] for name in ("dataset", "trials")] == ["nobel_questions", 5]
    assert found.comment in " ".join(done.stdout.split())
    assert found.options == {"max_hops": 1, "paths_kept": 1}

    asked = run("ask", "Where was Marie Curie born?", *NOBEL[1:], *PLAIN, "--preset", preset, "-f", "json")
    assert json.loads(asked.stdout)["answers"][0]["term"]["label"] == "Warsaw"
    ran = tmp_path / "ran"
    more = ("-r", "entity,path_ranking", "-O", "path_ranking.paths_kept=4", "-O", "entity.max_hops=2")
    done = run("eval", *NOBEL, *PLAIN, "--limit", "1", "--preset", preset, *more, "-o", ran, "-q")
    assert done.exit_code == 0, done.stderr
    options = {method["label"]: method["options"] for method in Made.open(ran).config["methods"]}
    assert (options["path_ranking"]["paths_kept"], options["path_ranking"]["max_hops"]) == (4, 1)
    assert options["entity"]["max_hops"] == 2


def test_an_option_that_the_metric_does_not_see_changes_nothing(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    how = ("-O", "paths_kept=1,5,10", "--trials", "1", "--split", "0.75")
    done = run("eval", "tune", *NOBEL, *PLAIN, "-q", "--limit", "8", *how, "-o", out)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Nothing beat the defaults" in done.stdout
    assert "6 development and 2 held-out questions" in done.stdout
    assert Preset.load(out / "preset.toml").options == {}


def test_calls_of_a_model_are_bounded(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    with ModelServer(Player()) as server:
        how = ("--embedder", "none", "--base-url", server.url, "-m", "tiny", "--limit", "4", "-O", "paths_kept=1,3")
        done = run("eval", "tune", *NOBEL, *how, "-o", tmp_path / "t")
        assert done.exit_code == 0, done.stderr
        assert "3 trials: about 30 model calls at most" in done.stderr
        assert 0 < len(server.requests) <= 30
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
