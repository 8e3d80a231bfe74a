"""An SQLite file that several threads and processes use at once; the first one that writes creates it."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kgsparql.errors import DiskFullError, KgsparqlError, StoreError, StoreLockedError

_T = TypeVar("_T")

_BUSY_S = 2.0
"""How long to wait for another process that writes: a cache only saves work, so it is not worth a longer wait."""
_SLICE_S = 0.1
"""How long SQLite waits at a time: Ctrl-C does nothing while it waits."""
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}
_NOT_FOR_US = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}


@dataclass(frozen=True, slots=True)
class Contents:
    """The tables of a file, and the words for them in messages.

    :param what: the name in error messages, for example ``exchanges``.
    :param tables: the statements that create the tables and indexes, a semicolon after each.
    :param version: of these tables; kept as SQLite's ``user_version``.
    :param again: what happens if the file is deleted, for example ``the replies are asked for again``.
    :param room: the hint that says how to free space.
    :param elsewhere: the hint that says how to have the file in another place.
    """

    what: str
    tables: str
    version: int
    again: str
    room: str = "delete what you do not need"
    elsewhere: str = "KGSPARQL_CACHE_DIR names another directory"


class SqliteFile:
    """One file, opened when it is first used, and again in a forked process.

    A file of another version or another program is refused and not changed.

    :raises StoreError: from any method, if the file cannot be read or written, or is not ours.

    >>> import tempfile
    >>> notes = Contents("notes", "CREATE TABLE note (text TEXT NOT NULL);", 1, "they are written again")
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = SqliteFile(Path(directory, "notes.sqlite"), notes)
    ...     with file.transaction() as connection:
    ...         _ = connection.execute("INSERT INTO note VALUES ('milk')")
    ...     file.rows("SELECT text FROM note")
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

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection | None]:
        """Return the connection, for one thread at a time, in autocommit mode; ``None`` if there is no file."""
        with self._lock, self._errors_translated():
            exists = self._connection is not None or self.path.exists()
            yield self._own_connection(create=False) if exists else None

    def rows(self, select: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a SELECT; none if there is no file."""
        with self.connection() as connection:
            return (
                []
                if connection is None
                else _retried_while_busy(lambda: connection.execute(select, parameters).fetchall())
            )

    def delete(self, statement: str, parameters: Sequence[Any] = (), *, shrink: bool = False) -> int:
        """Return the number of rows that a DELETE removed; 0 if there is no file.

        :param shrink: give the freed space back to the disk.
        """
        with self.connection() as connection:
            if connection is None:
                return 0
            deleted = _retried_while_busy(lambda: connection.execute(statement, parameters).rowcount)
            if shrink:
                _retried_while_busy(lambda: connection.execute("VACUUM"))
                _retried_while_busy(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            return deleted

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the connection in a transaction, which is committed unless an error leaves the block. Creates the file.

        :raises DiskFullError: if there is no space left.
        :raises StoreLockedError: if another process is writing for longer than we wait.
        """
        with self._lock, self._errors_translated():
            connection = self._own_connection(create=True)
            _retried_while_busy(lambda: connection.execute("BEGIN IMMEDIATE"))
            with _committed_block(connection):
                yield connection

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def _own_connection(self, *, create: bool) -> sqlite3.Connection:
        if self._connection is not None and self._owner != os.getpid():
            self._inherited.append(self._connection)  # the parent's: SQLite forbids to use or close it after a fork
            self._connection = None
        if self._connection is None:
            self._connection = _retried_while_busy(lambda: self._new_connection(create=create))
            self._owner = os.getpid()
            weakref.finalize(self, _close_connection, self._connection, self._owner).atexit = False
        return self._connection

    def _new_connection(self, *, create: bool) -> sqlite3.Connection:
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # of which SQLite will say more
                # Only its owner reads it: it may hold replies. SQLite gives its log the same mode.
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        address = self.path.absolute().as_uri()
        try:
            return self._checked_connection(f"{address}?mode={'rwc' if create else 'rw'}")
        except sqlite3.OperationalError as error:
            if create or getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NOT_FOR_US:
                raise
        # SQLite needs a log beside the file, which a read-only directory does not allow; nobody writes the file there.
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{self.path}: it was not closed, and {log.name} cannot be read where nothing may be written",
                hint="open it once where it may be written, or by who wrote it", path=str(self.path),
            )  # fmt: skip
        return self._checked_connection(f"{address}?mode=ro&immutable=1")

    def _checked_connection(self, address: str) -> sqlite3.Connection:
        """Open a connection to a file of ours; creates the tables in a new file, and leaves any other file as it is."""
        connection = sqlite3.connect(address, uri=True, timeout=_SLICE_S, isolation_level=None, check_same_thread=False)
        try:
            is_new = self._is_new(connection)
            if "immutable" not in address:
                connection.execute("PRAGMA journal_mode = WAL")  # readers read while somebody writes
                connection.execute("PRAGMA synchronous = NORMAL")
            if is_new:
                self._create_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        connection.execute("BEGIN")  # both reads see one state, even while another process creates the tables
        (found,), has_tables = connection.execute("PRAGMA user_version").fetchone(), _has_tables(connection)
        connection.execute("COMMIT")
        own = self.contents.version
        if found not in {0, own}:
            raise StoreError(
                f"{self.path}: {self.contents.what} of version {found}, where this kgsparql has version {own}",
                hint=f"delete that file: {self.contents.again}; or use the kgsparql that wrote it", path=str(self.path),
            )  # fmt: skip
        if found == 0 and has_tables:
            raise sqlite3.DatabaseError("a database of something else")
        return bool(found == 0)

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        """Create the tables, unless another process was faster."""
        connection.execute("BEGIN IMMEDIATE")
        with _committed_block(connection):
            if not _has_tables(connection):
                for statement in self.contents.tables.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {self.contents.version}")

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            if isinstance(error, KgsparqlError):
                raise
            raise self._store_error(error) from error

    def _store_error(self, error: Exception) -> StoreError:
        where, message, contents = str(self.path), f"{self.path}: {error}", self.contents
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) == errno.ENOSPC:
            return DiskFullError(message, hint=f"free some space, or {contents.room}", path=where)
        if code in _BUSY:
            return StoreLockedError(message, hint="wait for the other process that uses it", path=where)
        is_text = code == 0 and "UTF-8" in str(error)
        if code in _DAMAGE or is_text or not isinstance(error, OSError | sqlite3.OperationalError):
            hint = f"delete {where}: it is made again, and {contents.again}"
            return StoreError(
                f"{message}: not a store of {contents.what}", code="E_STORE_CORRUPT", hint=hint, path=where
            )
        hint = f"may this user read and write it? {contents.elsewhere}"
        return StoreError(message, hint=hint, path=where)


def _retried_while_busy(work: Callable[[], _T]) -> _T:
    """Return the result of some work in SQLite, tried again for a while as long as another process holds the file."""
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def _committed_block(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the open transaction at the end of the block; roll it back after an error."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _close_connection(connection: sqlite3.Connection, owner: int) -> None:
    if owner == os.getpid():
        connection.close()


_files: weakref.WeakSet[SqliteFile] = weakref.WeakSet()


def _after_fork() -> None:
    """Replace the locks in a forked child: threads of the parent, absent here, may have held them."""
    for file in list(_files):
        file._lock = threading.RLock()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
