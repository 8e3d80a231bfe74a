"""A file of SQLite of ours: made by who writes, kept whole, and never taken for another."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgsparql.errors import EndpointError, StoreError
from kgsparql.sqlite_file import Contents, SqliteFile

NOTES = Contents(
    what="notes", tables="CREATE TABLE note (text TEXT UNIQUE);\nCREATE INDEX by_text ON note (text);", version=3,
    again="they are written again",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "below" / "notes.sqlite"


def added(file: SqliteFile, *texts: str) -> None:
    with file.writing() as connection:
        connection.executemany("INSERT INTO note VALUES (?)", [(text,) for text in texts])


def notes(file: SqliteFile) -> list[str] | None:
    with file.opened() as connection:
        return None if connection is None else [text for (text,) in connection.execute("SELECT text FROM note")]


def test_who_reads_makes_no_file_and_who_writes_does(path: Path) -> None:
    file = SqliteFile(path, NOTES)
    assert notes(file) is None
    assert not path.parent.exists()
    added(file, "one")
    assert notes(SqliteFile(path, NOTES)) == ["one"]
    file.close()
    assert notes(file) == ["one"], "it opens again"


def test_a_piece_of_work_is_kept_whole_or_not_at_all(path: Path) -> None:
    file = SqliteFile(path, NOTES)
    added(file, "one")
    with pytest.raises(StoreError):
        added(file, "two", "one")

    def fail_after_writing() -> None:
        with file.writing() as connection:
            connection.execute("INSERT INTO note VALUES ('three')")
            raise EndpointError("gone")

    with pytest.raises(EndpointError, match="gone"):
        fail_after_writing()
    assert notes(file) == ["one"]
    added(file, "four")
    assert notes(SqliteFile(path, NOTES)) == ["one", "four"]


def test_many_threads_write_one_after_the_other(path: Path) -> None:
    file = SqliteFile(path, NOTES)
    threads = [threading.Thread(target=added, args=(file, str(number))) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(notes(file) or []) == sorted(map(str, range(20)))


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
