"""A command that is ended leaves nothing; one that was killed leaves what the next command removes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgsparql.storage.files import is_abandoned
from tests.cli.conftest import Run
from tests.cli.lock_holder import lock_held
from tests.world import NOBEL, ROOT

KEY = "a" * 32


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that takes seconds to load, and is kept as a store in the cache when it is asked."""
    file = tmp_path_factory.mktemp("big") / "big.nt"
    file.write_bytes(b"".join(b"<http://e.org/%d> <http://e.org/p> <http://e.org/o> .\n" % i for i in range(1_500_000)))
    return file


def ended(tmp_path: Path, how: signal.Signals, until: Callable[[], bool], *arguments: object) -> int:
    """The exit status of a command that gets a signal as soon as something is so."""
    command = [sys.executable, "-m", "kgsparql", *map(str, arguments)]
    environment = {**os.environ, "KGSPARQL_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not until():
        assert process.poll() is None, "it ended before"
        time.sleep(0.01)
    process.send_signal(how)
    return process.wait(60)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_S02_a_load_that_was_ended_leaves_nothing_after_the_next_command(
    how: signal.Signals, big: Path, tmp_path: Path, run: Run
) -> None:
    store = tmp_path / "S"
    status = ended(tmp_path, how, lambda: any(tmp_path.glob("S.partial-*")), "load", big, "--store", store)
    if how == signal.SIGKILL:
        assert is_abandoned(store)
        assert run("info", "-k", store).exit_code == 2  # there is no store
    else:
        assert status == 130
    assert not list(tmp_path.glob("S*"))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_S02_a_query_that_was_killed_while_its_file_was_loaded_leaves_nothing(big: Path, tmp_path: Path) -> None:
    graphs = tmp_path / "cache" / "graphs"
    ended(tmp_path, signal.SIGKILL, lambda: any(graphs.glob("*.partial-*")), "query", "ASK {}", "-k", big)
    until = time.monotonic() + 20
    while any(graphs.iterdir()):  # the child that loads it ends after its parent
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    (directory / "graphs").mkdir(parents=True)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(directory))
    return directory


def test_what_a_killed_writer_left_is_removed_by_any_command_and_what_somebody_writes_is_not(
    run: Run, cache: Path
) -> None:
    partial, lock = cache / "graphs" / f"{KEY}.partial-0123456789ab", cache / "graphs" / f"{KEY}.lock"
    partial.mkdir()
    (partial / "000001.sst").write_bytes(b"half")
    with lock_held(cache / "graphs" / KEY):
        assert run("info", "-k", NOBEL).exit_code == 0
        assert partial.exists()
    lock.write_text("4242\n")
    assert run("info", "-k", NOBEL).exit_code == 0
    assert list((cache / "graphs").iterdir()) == []


def test_files_of_others_in_the_cache_are_no_leftovers(run: Run, cache: Path, tmp_path: Path) -> None:
    others = [cache / "graphs" / "mine.lock", cache / "other" / f"{KEY}.txt", tmp_path / "poetry.lock"]
    for file in others:
        file.parent.mkdir(exist_ok=True)
        file.write_text("content-hash = 1\n")
    assert run("info", "-k", NOBEL).exit_code == 0
    run("info", "-k", tmp_path / "poetry")
    assert [file.read_text() for file in others] == ["content-hash = 1\n"] * 3


def test_S01_what_lancedb_was_making_goes_with_the_next_index(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    arguments = ("index", "-k", NOBEL, "--embedder", "none", "-q")
    assert run(*arguments).exit_code == 0
    (labels,) = (tmp_path / "cache" / "labels").glob("*/labels_*.bin")
    half_made = labels.with_name("vectors_0.lance") / "_indices" / "0123" / ".tmpqWDQjB"
    half_made.parent.mkdir(parents=True)
    half_made.write_bytes(b"half")
    assert run(*arguments).exit_code == 0
    assert not half_made.exists()
