"""A file of SQLite of ours: made by who writes, kept whole, and never taken for another."""

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgsparql.errors import EndpointError, StoreError
from kgsparql.storage.sqlite_file import Contents, SqliteFile

NOTES = Contents(
    what="notes", tables="CREATE TABLE note (text TEXT UNIQUE);\nCREATE INDEX by_text ON note (text);", version=3,
    again="they are written again",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "below" / "notes.sqlite"


def added(file: SqliteFile, *texts: str) -> None:
    with file.transaction() as connection:
        connection.executemany("INSERT INTO note VALUES (?)", [(text,) for text in texts])


def notes(file: SqliteFile) -> list[str] | None:
    with file.connection() as connection:
        return None if connection is None else [text for (text,) in connection.execute("SELECT text FROM note")]


def test_who_writes_makes_the_file_and_a_piece_of_work_is_kept_whole_or_not_at_all(path: Path) -> None:
    file = SqliteFile(path, NOTES)
    assert notes(file) is None
    assert not path.parent.exists()
    added(file, "one")
    assert notes(SqliteFile(path, NOTES)) == ["one"]
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
    assert notes(SqliteFile(path, NOTES)) == ["one", "four"]


def test_a_file_of_another_version_or_of_something_else_is_refused_and_stays(path: Path) -> None:
    added(SqliteFile(path, NOTES), "one")
    with pytest.raises(StoreError, match="notes of version 3, where this kgsparql has version 4"):
        notes(SqliteFile(path, replace(NOTES, version=4)))
    assert notes(SqliteFile(path, NOTES)) == ["one"]
    other = path.with_name("other.sqlite")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = other.read_bytes()
    for use in (notes, added):
        with pytest.raises(StoreError, match="not a store of notes") as caught:
            use(SqliteFile(other, NOTES))
        assert caught.value.code == "E_STORE_CORRUPT"
        assert caught.value.hint.endswith("it is made again, and they are written again")
    assert other.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_forked_while_another_thread_writes_waits_for_nobody(path: Path) -> None:
    file = SqliteFile(path, NOTES)
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
def test_who_opens_the_file_twice_keeps_the_locks_of_the_first(path: Path) -> None:
    one, two = SqliteFile(path, NOTES), SqliteFile(path, NOTES)
    added(one, "one")
    with one.connection():
        added(two, "two")  # closing a file that was opened for nothing else had ended every lock of the process
        two.close()
        taken = subprocess.run([sys.executable, "-c", _TAKEN, path], check=False, capture_output=True, text=True)
    assert "BlockingIOError" in taken.stderr
    one.close()
