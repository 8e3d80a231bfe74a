"""What is kept between runs is listed and cleared; questions are logged."""

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgsparql.cli import app
from tests.cli.conftest import Run
from tests.model_server import ModelServer
from tests.scripted import by_call
from tests.world import NOBEL, PHYSICS

SCRIPT = by_call(mentions={"mentions": ["Marie Curie"]}, answer={"answers": ["Warsaw"]})
pytestmark = pytest.mark.usefixtures("empty_cache")


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a store of a file, a label index, and replies of a model that refuses schemas."""
    directory = tmp_path_factory.mktemp("filled") / "cache"
    with pytest.MonkeyPatch.context() as patch, ModelServer(SCRIPT, schema=False) as server:
        patch.setenv("KGSPARQL_CACHE_DIR", str(directory))
        patch.setattr("kgsparql.graphs.sources.CACHE_FROM_BYTES", 1_000)
        patch.setattr("kgsparql.linking.graph_indexes.KEPT_ROWS", 0)
        asked = ["ask", "Where was Marie Curie born?", "-k", str(NOBEL), "-r", "mindmap", "--embedder", "none"]
        done = CliRunner().invoke(app, [*asked, "--base-url", server.url, "-q"])
    assert done.exit_code == 0, done.stderr
    return directory


@pytest.fixture
def filled(filled_once: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, into which what is written next goes likewise."""
    monkeypatch.setattr("kgsparql.graphs.sources.CACHE_FROM_BYTES", 1_000)
    monkeypatch.setattr("kgsparql.linking.graph_indexes.KEPT_ROWS", 0)
    return Path(shutil.copytree(filled_once, empty_cache))


def kinds(run: Run) -> dict[str, dict[str, object]]:
    done = run("cache", "-f", "json")
    assert done.exit_code == 0, done.stderr
    return {kind["kind"]: kind for kind in json.loads(done.stdout)["kinds"]}


def size_of(directory: Path) -> int:
    return sum(file.lstat().st_size for file in directory.rglob("*") if file.is_file())


def test_no_cache_and_an_empty_one_are_no_errors(run: Run, empty_cache: Path) -> None:
    done = run("cache")
    assert (done.exit_code, done.stdout) == (0, f"{empty_cache}: nothing is kept\n")
    assert not empty_cache.exists()
    cleared = run("cache", "--clear", "all")
    assert cleared.exit_code == 0
    assert "labels: 0 bytes freed" in cleared.stdout
    assert not empty_cache.exists()
    assert json.loads(run("cache", "-f", "json").stdout) == {"directory": str(empty_cache), "bytes": 0, "kinds": []}


def test_each_kind_is_measured_cleared_and_made_again(run: Run, filled: Path) -> None:
    found = json.loads(run("cache", "-f", "json").stdout)
    assert found["directory"] == str(filled)
    sizes = {kind["kind"]: kind["bytes"] for kind in found["kinds"]}
    assert {"graphs", "labels", "exchanges"} <= sizes.keys()
    assert min(sizes.values()) > 0
    assert sum(sizes.values()) == found["bytes"]
    text = run("cache").stdout.splitlines()
    assert text[0].startswith(f"{filled}: ")
    assert [line.split()[0] for line in text[1:]] == list(sizes)
    done = run("cache", "--clear", "labels", "--clear", "lables")
    assert (done.exit_code, "'lables'" in done.stderr) == (2, True)
    for kind in (*sizes, "vectors", "all"):
        assert kind in done.stderr.splitlines()[-1]
    assert kinds(run).keys() == sizes.keys(), "a wrong name clears nothing"
    for kind in ("graphs", "exchanges"):
        done = run("cache", "--clear", kind, "-f", "json")
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["cleared"] == [{"kind": kind, "bytes": sizes[kind]}]
        assert f"{kind}: 0 bytes freed" in run("cache", "--clear", kind).stdout
    assert kinds(run).keys() == sizes.keys() - {"graphs", "exchanges"}
    done = run("cache", "--clear", "all")
    assert (done.exit_code, "labels: " in done.stdout, kinds(run)) == (0, True, {})
    assert run("show", "Marie Curie", "-k", NOBEL, "-q").exit_code == 0
    assert list(kinds(run)) == ["graphs"]


def test_what_a_stopped_writer_left_goes_and_what_is_not_ours_is_never_touched(run: Run, filled: Path) -> None:
    """``KGSPARQL_CACHE_DIR`` may name a directory in which somebody has ``graphs`` of their own."""
    (store,) = (filled / "graphs").iterdir()
    for name in (f"{store.name}.partial-0123456789ab", f"{'0' * 32}.partial-0123456789ab"):
        (filled / "graphs" / name).mkdir()
        (filled / "graphs" / name / "000001.sst").write_bytes(b"x" * 100_000)
    found = kinds(run)["graphs"]
    assert int(str(found["bytes"])) > 200_000
    own = [filled / "graphs" / "thesis" / "people.ttl", filled / "labels" / "notes.txt", filled / "other.txt"]
    for file in own:
        file.parent.mkdir(exist_ok=True)
        file.write_text("kept")
    assert run("cache", "--clear", "all").exit_code == 0
    assert [file.read_text() for file in own] == ["kept"] * 3
    assert [entry.name for entry in (filled / "graphs").iterdir()] == ["thesis"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
def test_no_symbolic_link_leads_out_of_the_cache(run: Run, filled: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "data").write_bytes(b"x" * 1_000_000)
    (store,) = (filled / "graphs").iterdir()
    (filled / "graphs" / ("a" * 32)).symlink_to(outside)
    (store / "inside").symlink_to(outside)
    before = kinds(run)["graphs"]
    assert int(str(before["bytes"])) < 1_000_000
    assert run("cache", "--clear", "graphs").exit_code == 0
    assert (outside / "deep" / "data").stat().st_size == 1_000_000
    assert list((filled / "graphs").iterdir()) == []
    (filled / "graphs").rmdir()
    (filled / "graphs").symlink_to(outside)
    (outside / ("b" * 32)).mkdir()
    (filled / "exchanges.sqlite").rename(outside / "mine.sqlite")
    (filled / "exchanges.sqlite").symlink_to(outside / "mine.sqlite")
    kept = (outside / "mine.sqlite").read_bytes()
    done = run("cache", "--clear", "all")
    assert done.exit_code == 0
    assert (outside / ("b" * 32)).is_dir()
    assert (outside / "mine.sqlite").read_bytes() == kept


def asked(run: Run, path: Path, question: str = PHYSICS) -> None:
    assert run("ask", question, "-k", NOBEL, "-q", "--log", path).exit_code in {0, 3}


def test_no_log_is_kept_unless_one_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("ask", PHYSICS, "-k", NOBEL, "-q").exit_code == 0
    assert {one.name for one in tmp_path.iterdir()} <= {"cache"}, "what took long to count may be kept there"


def test_answers_and_errors_are_logged_as_lines_of_json_in_their_order(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    asked(run, path)
    run("ask", "-", "-k", NOBEL, "-q", "--log", path, stdin=f"What colour is Xyzzy?\n{'x' * 5000}\n")
    one, other, wrong = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert (one["question"], one["status"], one["at"][:2]) == (PHYSICS, "answered", "20")
    assert other["question"] == "What colour is Xyzzy?"
    assert "at most 4,000" in wrong["error"]["message"]
    assert "log is gone: the file of --log" in run("log").stderr


def test_a_log_that_cannot_be_written_costs_no_answer_but_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "not_a_log.ttl").write_text("<a:b> <a:c> <a:d> .")
    for place in ("file/q.jsonl", "not_a_log.ttl"):
        done = run("ask", PHYSICS, "-k", NOBEL, "-f", "plain", "-q", "--log", tmp_path / place)
        assert (done.exit_code, "Marie Curie" in done.stdout, "not logged" in done.stderr) == (0, True, True)
    assert (tmp_path / "not_a_log.ttl").read_text() == "<a:b> <a:c> <a:d> ."
