"""Files of SQLite of ours: kept replies, the log of questions, and what becomes of a file that is not right."""

import contextlib
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kgsparql.errors import DiskFullError, EndpointError, StoreError, StoreLockedError
from kgsparql.storage import sqlite_file as module
from kgsparql.storage.question_log import log_question
from kgsparql.storage.response_cache import Mode, ResponseCache
from kgsparql.storage.sqlite_file import SqliteFile
from tests.world import ROOT, kept_kinds

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
    assert kept_kinds(kept) == {"model": 1}
    with ResponseCache(path) as again:
        assert again.get("model", REQUEST) == REPLY
    kept.close()
    kept.close()
    assert kept.get("model", REQUEST) == REPLY, "what is closed opens again"


def test_modes_say_what_a_kept_reply_is_for_and_nothing_is_made_before_one(kept: ResponseCache, path: Path) -> None:
    modes: dict[Mode, object] = {"use": REPLY, "write": None}
    for mode in modes:
        with ResponseCache(path, mode=mode) as opened:
            assert (opened.lookup("model", REQUEST), kept_kinds(opened)) == (None, {})
            assert opened.get("model", REQUEST) is None
    assert not path.parent.exists()
    kept.put("model", REQUEST, REPLY)
    for mode, found in modes.items():
        with ResponseCache(path, mode=mode) as opened:
            assert opened.get("model", REQUEST) == found
            assert opened.lookup("model", REQUEST) == REPLY


def test_a_full_disk_is_an_error_and_what_was_there_stays(kept: ResponseCache) -> None:
    kept.put("model", REQUEST, REPLY)
    connection = kept._connections[os.getpid()]
    connection.execute("PRAGMA max_page_count = 8")  # as if there were no more room than that
    with pytest.raises(DiskFullError) as caught:
        kept.put("model", {"large": 1}, {"text": "x" * 200_000})
    assert caught.value.code == "E_DISK_FULL"
    assert caught.value.hint.endswith("kgsparql cache --clear all"), "one kind is not cleared without room"
    assert kept.get("model", REQUEST) == REPLY
    assert kept.get("model", {"large": 1}) is None


def test_a_store_in_use_by_others_can_be_read(kept: ResponseCache, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


CURIE = {"type": "uri", "value": "http://e.org/curie", "label": "Marie Curie"}


def answered(question: str = "Who?", **others: object) -> dict[str, object]:
    return {
        "question": question, "status": "answered", "text": "Marie Curie", "graphs": ["g"], "retriever": "mindmap",
        "model": "m", "usage": {"tokens": 12, "seconds": 1.5},
        "answers": [{"term": CURIE, "best": True}], "more_answers": 0, **others,
    }  # fmt: skip


def test_a_log_is_without_keys_and_its_owners_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    path = tmp_path / "q.jsonl"
    for own in ({}, {"text": "http://me:pw@e.org/ says sk-very-secret, a key"}):
        assert log_question(path, answered(**own)) == ""
    first, other = path.read_text(encoding="utf-8").splitlines()
    assert {**json.loads(first), "at": 0} == {**answered(), "at": 0}
    assert "a key" in other
    assert not any(secret in other for secret in ("sk-very-secret", "me:pw"))
    assert path.stat().st_mode & 0o077 == 0


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    program = (
        "import sys, pathlib; from kgsparql.storage.question_log import log_question\n"
        "for at in range(40): log_question(pathlib.Path(sys.argv[1]), {'question': f'{sys.argv[2]} {at}?' * 9_000})"
    )
    command = [sys.executable, "-c", program, str(path)]
    running = [subprocess.Popen([*command, str(number)], cwd=ROOT) for number in range(4)]
    assert [one.wait(60) for one in running] == [0, 0, 0, 0]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["question"] for line in lines}) == len(lines) == 160


class Notes(SqliteFile):
    what = "notes"
    tables = "CREATE TABLE note (text TEXT UNIQUE);\nCREATE INDEX by_text ON note (text);"
    again = "they are written again"


@pytest.fixture
def notes_file(tmp_path: Path) -> Path:
    return tmp_path / "below" / "notes.sqlite"


def added(file: SqliteFile, *texts: str) -> None:
    with file.transaction() as connection:
        connection.executemany("INSERT INTO note VALUES (?)", [(text,) for text in texts])


def notes(file: SqliteFile) -> list[str] | None:
    with file.connection() as connection:
        return None if connection is None else [text for (text,) in connection.execute("SELECT text FROM note")]


def test_who_writes_makes_the_file_and_a_piece_of_work_is_kept_whole_or_not_at_all(notes_file: Path) -> None:
    file = Notes(notes_file)
    assert notes(file) is None
    assert not notes_file.parent.exists()
    added(file, "one")
    assert notes(Notes(notes_file)) == ["one"]
    file.close()
    assert notes(file) == ["one"], "it opens again"
    with pytest.raises(StoreError):
        added(file, "two", "one")

    def fail_after_writing() -> None:
        with file.transaction() as connection:
            connection.execute("INSERT INTO note VALUES ('three')")
            raise EndpointError("gone")

    with pytest.raises(EndpointError, match="gone"):
        fail_after_writing()
    assert notes(file) == ["one"]
    added(file, "four")
    assert notes(Notes(notes_file)) == ["one", "four"]


def test_a_file_of_another_version_or_of_something_else_is_refused_and_stays(notes_file: Path) -> None:
    notes_file.parent.mkdir()
    other = notes_file.with_name("other.sqlite")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    later = notes_file.with_name("later.sqlite")
    with closing(sqlite3.connect(later)) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(StoreError, match="not a store of notes"):
        notes(Notes(later))
    before = other.read_bytes()
    for use in (notes, added):
        with pytest.raises(StoreError, match="not a store of notes") as caught:
            use(Notes(other))
        assert caught.value.code == "E_STORE_CORRUPT"
        assert caught.value.hint.endswith("it is made again, and they are written again")
    assert other.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_forked_while_another_thread_writes_waits_for_nobody(notes_file: Path) -> None:
    file = Notes(notes_file)
    added(file, "one")
    holding, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with file.transaction():
            holding.set()
            go_on.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert holding.wait(10)
        child = multiprocessing.get_context("fork").Process(target=notes, args=(file,))
        child.start()
        child.join(20)
        ended = child.exitcode
        if ended is None:
            child.kill()
    finally:
        go_on.set()
        thread.join()
    assert ended == 0


_TAKEN = "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)"


@pytest.mark.skipif(
    sys.platform == "win32", reason="locks of POSIX belong to a process and a file, not to who opened it"
)
def test_who_opens_the_file_twice_keeps_the_locks_of_the_first(notes_file: Path) -> None:
    one, two = Notes(notes_file), Notes(notes_file)
    added(one, "one")
    with one.connection():
        added(two, "two")  # closing a file that was opened for nothing else had ended every lock of the process
        two.close()
        taken = subprocess.run([sys.executable, "-c", _TAKEN, notes_file], check=False, capture_output=True, text=True)
    assert "BlockingIOError" in taken.stderr
    one.close()
