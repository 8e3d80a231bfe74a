"""``kgsparql cache`` over caches that real commands made."""

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgsparql.cli import app
from kgsparql.graphs.protocol.rate_limiter import kept_until, kept_until_file
from kgsparql.models.embedders import VECTORS, CachedEmbedder
from kgsparql.storage.response_cache import ResponseCache
from tests.cli.conftest import Run
from tests.cli.lock_holder import lock_held
from tests.model_server import ModelServer
from tests.scripted import by_call
from tests.unit.hashed_embedder import HashedEmbedder
from tests.world import NOBEL

SCRIPT = by_call(mentions={"mentions": ["Marie Curie"]})


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory that is not there yet."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(directory))
    return directory


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
def filled(filled_once: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, into which what is written next goes likewise."""
    monkeypatch.setattr("kgsparql.graphs.sources.CACHE_FROM_BYTES", 1_000)
    monkeypatch.setattr("kgsparql.linking.graph_indexes.KEPT_ROWS", 0)
    return Path(shutil.copytree(filled_once, cache))


def kinds(run: Run) -> dict[str, dict[str, object]]:
    done = run("cache", "-f", "json")
    assert done.exit_code == 0, done.stderr
    return {kind["kind"]: kind for kind in json.loads(done.stdout)["kinds"]}


def size_of(directory: Path) -> int:
    return sum(file.lstat().st_size for file in directory.rglob("*") if file.is_file())


def test_no_cache_and_an_empty_one_are_no_errors(run: Run, cache: Path) -> None:
    done = run("cache")
    assert (done.exit_code, done.stdout) == (0, f"{cache}: nothing is kept\n")
    assert not cache.exists()
    cleared = run("cache", "--clear", "all")
    assert cleared.exit_code == 0
    assert "labels: 0 removed, 0 bytes freed" in cleared.stdout
    assert not cache.exists()
    assert json.loads(run("cache", "-f", "json").stdout) == {"directory": str(cache), "bytes": 0, "kinds": []}


def test_each_kind_is_counted_measured_dated_cleared_and_made_again(run: Run, filled: Path) -> None:
    found = json.loads(run("cache", "-f", "json").stdout)
    assert found["directory"] == str(filled)
    counts = {kind["kind"]: kind["count"] for kind in found["kinds"]}
    assert counts["graphs"] == counts["labels"] == counts["abilities"] == 1
    assert counts["model"] >= 2
    for kind in found["kinds"]:
        assert kind["bytes"] > 0
    text = run("cache").stdout.splitlines()
    assert text[0].startswith(f"{filled}: ")
    assert [line.split()[0] for line in text[1:]] == list(counts)
    done = run("cache", "--clear", "labels", "--clear", "lables")
    assert (done.exit_code, "'lables'" in done.stderr) == (2, True)
    for kind in ("graphs", "labels", "model", "abilities", "exchanges", "all"):
        assert kind in done.stderr.splitlines()[-1]
    before = kinds(run)
    assert {kind: one["count"] for kind, one in before.items()} == counts, "a wrong name clears nothing"
    for kind in ("graphs", "model"):
        size = size_of(filled / kind)  # 0 for what is in the file of exchanges
        done = run("cache", "--clear", kind, "-f", "json")
        assert done.exit_code == 0, done.stderr
        (cleared,) = json.loads(done.stdout)["cleared"]
        assert cleared["count"] == before[kind]["count"]
        if kind == "graphs":
            assert cleared["bytes"] == size > 0
            assert list((filled / kind).iterdir()) == []
        assert f"{kind}: 0 removed" in run("cache", "--clear", kind).stdout
    assert set(before) - set(kinds(run)) == {"graphs", "model"}
    done = run("cache", "--clear", "all")
    assert (done.exit_code, "labels: 1 removed" in done.stdout, kinds(run)) == (0, True, {})
    assert run("show", "Marie Curie", "-k", NOBEL, "-q").exit_code == 0
    assert list(kinds(run)) == ["graphs"]


def test_what_another_process_writes_is_skipped_and_said(run: Run, filled: Path) -> None:
    (store,) = (filled / "graphs").iterdir()
    with lock_held(store) as holder:
        alone = run("cache", "--clear", "graphs")
        assert alone.exit_code == 4
        assert f"process {holder.pid}" in alone.stderr
        assert "[E_STORE_LOCKED]" in alone.stderr
        both = run("cache", "--clear", "graphs", "--clear", "labels")
        assert both.exit_code == 4
        assert "labels: 1 removed" in both.stdout
        assert store.is_dir()
    assert "graphs: 1 removed" in run("cache", "--clear", "graphs").stdout
    assert list((filled / "graphs").iterdir()) == []


def test_what_a_stopped_writer_left_goes_and_what_is_not_ours_is_never_touched(run: Run, filled: Path) -> None:
    """``KGSPARQL_CACHE_DIR`` may name a directory in which somebody has ``graphs`` of their own."""
    (store,) = (filled / "graphs").iterdir()
    for name in (f"{store.name}.partial-0123456789ab", f"{'0' * 32}.partial-0123456789ab"):
        (filled / "graphs" / name).mkdir()
        (filled / "graphs" / name / "000001.sst").write_bytes(b"x" * 100_000)
    found = kinds(run)["graphs"]
    assert found["count"] == 1
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


def test_a_broken_file_is_said_and_removed_and_another_version_only_if_all_of_it_is_meant(
    run: Run, cache: Path
) -> None:
    cache.mkdir()
    for kind, name in (("exchanges", "exchanges.sqlite"), ("vectors", VECTORS), ("all", "exchanges.sqlite")):
        (cache / name).write_bytes(b"this is no database, whatever its name says\n" * 100)
        what = "vectors" if kind == "vectors" else "exchanges"
        assert f"not a store of {what}" in run("cache").stdout
        done = run("cache", "--clear", kind)
        assert (done.exit_code, "4.4 kB freed" in done.stdout, (cache / name).exists()) == (0, True, False)
    with ResponseCache(cache / "exchanges.sqlite") as response_cache:
        response_cache.put("model", {"q": 1}, {"a": 1})
    with closing(sqlite3.connect(cache / "exchanges.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")
    refused = run("cache", "--clear", "model")
    assert (refused.exit_code, "version 99" in refused.stderr) == (4, True)
    assert run("cache", "--clear", "exchanges").exit_code == 0
    assert not (cache / "exchanges.sqlite").exists()


def test_vectors_are_counted_and_cleared(run: Run, cache: Path) -> None:
    with closing(CachedEmbedder(HashedEmbedder(), cache / VECTORS)) as embedder:
        embedder.embed([f"text {i}" for i in range(200)])
    found = kinds(run)["vectors"]
    assert found["count"] == 200
    assert found["what"] == "vectors of texts"
    assert found["bytes"] == size_of(cache)
    done = run("cache", "--clear", "vectors")
    assert done.exit_code == 0
    assert "vectors: 200 removed" in done.stdout
    assert kinds(run) == {}


def test_what_runs_tell_each_other_of_public_servers_is_listed_and_kept_while_one_wants_peace(
    run: Run, cache: Path
) -> None:
    now = time.time()
    for server, closed_until in (("https://a.example", 0.0), ("https://b.example", now + 600)):
        file = kept_until_file(server)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(closed_until))
    found = kinds(run)["rate-limits"]
    assert found["count"] == 2
    done = run("cache", "--clear", "all")
    assert (done.exit_code, "rate-limits: 1 removed" in done.stdout) == (0, True), done.stderr
    assert kinds(run)["rate-limits"]["count"] == 1
    assert kept_until(kept_until_file("https://b.example"), now) == pytest.approx(now + 600)
