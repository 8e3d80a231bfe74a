"""A file of SQLite that several threads and processes use at once, made by whoever first has something to keep."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kgsparql.errors import DiskFullError, KgsparqlError, StoreError, StoreLockedError

__all__ = ["Contents", "SqliteFile", "waiting"]

_T = TypeVar("_T")

_BUSY_S = 2.0
"""For other processes that write: what is kept saves work, and is not worth waiting for much longer."""
_SLICE_S = 0.1
"""For SQLite to wait at a time: Ctrl-C is not heard while it waits."""
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}
_NOT_FOR_US = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a file.

    :param what: as errors call it, for example ``exchanges``.
    :param tables: the statements that make its tables and indexes, a semicolon after each.
    :param version: of these; kept as SQLite's ``user_version``.
    :param again: what a file that was deleted costs, for example ``the replies are asked for again``.
    :param room: what makes room for more, as a hint says it.
    """

    what: str
    tables: str
    version: int
    again: str
    room: str = "delete what you do not need"


class SqliteFile:
    """One file, which is opened when it is first used, and again in a process that was forked.

    A file of another version, or of another program, is refused and left as it is.

    :raises StoreError: from any use, if the file cannot be read or written, or is none of ours.

    >>> import tempfile
    >>> notes = Contents("notes", "CREATE TABLE note (text TEXT NOT NULL);", 1, "they are written again")
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = SqliteFile(Path(directory, "notes.sqlite"), notes)
    ...     with file.writing() as connection:
    ...         _ = connection.execute("INSERT INTO note VALUES ('milk')")
    ...     with file.opened() as connection:
    ...         print(connection.execute("SELECT text FROM note").fetchall())
    ...     file.close()
    [('milk',)]
    """

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = Path(path)
        self.contents = contents
        self._lock = threading.RLock()
        _files.add(self)
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._inherited: list[sqlite3.Connection] = []

    def after_fork(self) -> None:
        """In the child: another thread of the parent, which is not here to let it go, may have held the lock."""
        self._lock = threading.RLock()

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection | None]:
        """The connection, for one thread at a time, each statement on its own; ``None`` if there is no file."""
        with self._lock, self._translated():
            is_there = self._connection is not None or self.path.exists()
            yield self._open(make=False) if is_there else None

    def rows(self, select: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """What a SELECT finds; nothing if there is no file."""
        with self.opened() as connection:
            return [] if connection is None else waiting(lambda: connection.execute(select, parameters).fetchall())

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one piece of work that is kept whole or not at all; the file is made if there is none.

        :raises DiskFullError: if there is no space left for it.
        :raises StoreLockedError: if somebody else is writing for long.
        """
        with self._lock, self._translated():
            connection = self._open(make=True)
            waiting(lambda: connection.execute("BEGIN IMMEDIATE"))
            with _whole(connection):
                yield connection

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def _open(self, *, make: bool) -> sqlite3.Connection:
        if self._connection is not None and self._owner != os.getpid():
            self._inherited.append(self._connection)  # a parent's: SQLite forbids to use it, or close it, after a fork
            self._connection = None
        if self._connection is None:
            self._connection = waiting(lambda: self._connected(make=make))
            self._owner = os.getpid()
            weakref.finalize(self, _close, self._connection, self._owner).atexit = False
        return self._connection

    def _connected(self, *, make: bool) -> sqlite3.Connection:
        if make:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        address = self.path.absolute().as_uri()
        try:
            return self._checked(f"{address}?mode={'rwc' if make else 'rw'}")
        except sqlite3.OperationalError as error:
            if make or error.sqlite_errorcode & 0xFF not in _NOT_FOR_US:
                raise
        # In a directory that cannot be written, a log beside the file is not to be had; nobody else writes it either.
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{self.path}: it was not closed, and {log.name} cannot be read where nothing may be written",
                hint="open it once where it may be written, or by who wrote it", path=str(self.path),
            )  # fmt: skip
        return self._checked(f"{address}?mode=ro&immutable=1")

    def _checked(self, address: str) -> sqlite3.Connection:
        """A connection to a file with our tables in it, which are made if the file is new; any other stays as it is."""
        connection = sqlite3.connect(address, uri=True, timeout=_SLICE_S, isolation_level=None, check_same_thread=False)
        try:
            is_new = self._is_new(connection)
            if "immutable" not in address:
                connection.execute("PRAGMA journal_mode = WAL")  # readers read while somebody writes
                connection.execute("PRAGMA synchronous = NORMAL")
            if is_new:
                self._make_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Whether there is nothing in a file.

        :raises StoreError: if it is of another version.
        """
        connection.execute("BEGIN")  # the two are of one moment: somebody else may be making the tables
        (there,), is_used = connection.execute("PRAGMA user_version").fetchone(), _has_tables(connection)
        connection.execute("COMMIT")
        own = self.contents.version
        if there not in {0, own}:
            raise StoreError(
                f"{self.path}: {self.contents.what} of version {there}, where this kgsparql has version {own}",
                hint=f"delete that file: {self.contents.again}; or use the kgsparql that wrote it", path=str(self.path),
            )  # fmt: skip
        if there == 0 and is_used:
            raise sqlite3.DatabaseError("a database of something else")
        return bool(there == 0)

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        """Make the tables, unless somebody else was faster."""
        connection.execute("BEGIN IMMEDIATE")
        with _whole(connection):
            if not _has_tables(connection):
                for statement in self.contents.tables.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {self.contents.version}")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors, and the file system's, as ours."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            if isinstance(error, KgsparqlError):
                raise
            raise self._error(error) from error

    def _error(self, error: Exception) -> StoreError:
        where, said, contents = str(self.path), f"{self.path}: {error}", self.contents
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) == errno.ENOSPC:
            return DiskFullError(said, hint=f"free some space, or {contents.room}", path=where)
        if code in _BUSY:
            return StoreLockedError(said, hint="wait for the other process that uses it", path=where)
        if code in _DAMAGE or not isinstance(error, OSError | sqlite3.OperationalError):
            hint = f"delete {where}: it is made again, and {contents.again}"
            return StoreError(f"{said}: not a store of {contents.what}", code="E_STORE_CORRUPT", hint=hint, path=where)
        hint = "may this user read and write it? KGSPARQL_CACHE_DIR names another directory"
        return StoreError(said, hint=hint, path=where)


def waiting(work: Callable[[], _T]) -> _T:
    """What something done in SQLite comes to, tried again for a while as long as somebody else has the file."""
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def _whole(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that has begun, ended with what was done in it, or with nothing of that."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _close(connection: sqlite3.Connection, owner: int) -> None:
    if owner == os.getpid():
        connection.close()


_files: weakref.WeakSet[SqliteFile] = weakref.WeakSet()


def _after_fork() -> None:
    for file in list(_files):
        file.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
