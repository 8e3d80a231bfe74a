"""The store of exchanges: what is found again, what the modes allow, and what becomes of a file that is not right."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgsparql.errors import DiskFullError, StoreLockedError
from kgsparql.storage import sqlite_file as module
from kgsparql.storage.response_cache import Mode, ResponseCache

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Où ? \ud800 \x00"}], "temperature": 0.0}
REPLY = {"choices": [{"message": {"content": "là"}}], "b": 1, "a": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "below" / "kept.sqlite"


@pytest.fixture
def kept(path: Path) -> Iterator[ResponseCache]:
    with ResponseCache(path) as opened:
        yield opened


def test_a_reply_is_found_again_by_an_equal_request_of_its_kind(kept: ResponseCache, path: Path) -> None:
    kept.put("model", REQUEST, {"an": "earlier reply"})
    kept.put("model", REQUEST, REPLY)
    turned = dict(reversed(REQUEST.items()))
    assert list(turned) != list(REQUEST)
    assert kept.get("model", turned) == REPLY
    assert list(kept.get("model", REQUEST) or ()) == list(REPLY)  # in the order in which it came: the same bytes
    assert kept.get("model", REQUEST | {"temperature": 0.1}) is None
    assert kept.get("embedding", REQUEST) is None
    assert [count for count, *_ in kept.summary().values()] == [1]
    with ResponseCache(path) as again:
        assert again.get("model", REQUEST) == REPLY
    kept.close()
    kept.close()
    assert kept.get("model", REQUEST) == REPLY, "what is closed opens again"


def test_modes_say_what_a_kept_reply_is_good_for_and_nothing_is_made_before_one_is_kept(
    kept: ResponseCache, path: Path
) -> None:
    modes: dict[Mode, object] = {"use": REPLY, "write": None}
    for mode in modes:
        with ResponseCache(path, mode=mode) as opened:
            assert (opened.lookup("model", REQUEST), opened.summary(), opened.clear()) == (None, {}, 0)
            assert opened.get("model", REQUEST) is None
    assert not path.parent.exists()
    kept.put("model", REQUEST, REPLY)
    for mode, found in modes.items():
        with ResponseCache(path, mode=mode) as opened:
            assert opened.get("model", REQUEST) == found
            assert opened.lookup("model", REQUEST) == REPLY


def test_each_kind_is_counted_and_cleared_and_the_file_shrinks(kept: ResponseCache, path: Path) -> None:
    for i in range(20):
        kept.put("model", {"i": i}, {"text": "x" * 50_000})
    kept.put("abilities", {}, {})
    size = 20 * len('{"i":0}{"text":""}' + "x" * 50_000) + 10
    assert kept.summary() == {"abilities": (1, 4), "model": (20, size)}
    assert _size(path) > 1_000_000
    assert kept.clear("model") == 20
    assert _size(path) < 100_000
    assert kept.get("abilities", {}) == {}
    assert (kept.clear("no such kind"), kept.clear(), kept.summary()) == (0, 1, {})


def test_a_full_disk_is_an_error_and_what_was_there_stays(kept: ResponseCache) -> None:
    kept.put("model", REQUEST, REPLY)
    connection = kept._uses[os.getpid()].connection
    assert connection is not None
    connection.execute("PRAGMA max_page_count = 8")  # as if there were no more room than that
    with pytest.raises(DiskFullError) as caught:
        kept.put("model", {"large": 1}, {"text": "x" * 200_000})
    assert caught.value.code == "E_DISK_FULL"
    assert caught.value.hint.endswith("kgsparql cache --clear all"), "one kind is not cleared without room"
    assert kept.get("model", REQUEST) == REPLY
    assert kept.get("model", {"large": 1}) is None


def test_a_store_that_somebody_else_is_writing_to_can_be_read(
    kept: ResponseCache, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.put("model", REQUEST, REPLY)
    kept.close()
    monkeypatch.setattr(module, "_BUSY_S", 0.1)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert kept.get("model", REQUEST) == REPLY
        with pytest.raises(StoreLockedError):
            kept.put("model", {"x": 1}, {})
        other.execute("ROLLBACK")
    kept.put("model", {"x": 1}, {})
    assert kept.get("model", {"x": 1}) == {}


def test_I14_ctrl_c_is_heard_while_somebody_else_has_the_file(kept: ResponseCache, path: Path) -> None:
    kept.put("model", REQUEST, REPLY)
    kept.close()
    script = (
        "import sys; from pathlib import Path; from kgsparql.storage import response_cache, sqlite_file\n"
        "sqlite_file._BUSY_S = 60.0\n"
        "kept = response_cache.ResponseCache(Path(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "try:\n    kept.put('model', {'x': 1}, {})\nexcept KeyboardInterrupt:\n    print('interrupted')"
    )
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=10)  # far less than it would wait for the file
    assert output == "interrupted\n"


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.iterdir())
