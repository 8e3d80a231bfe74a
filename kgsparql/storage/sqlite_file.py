"""An SQLite file of the cache that several threads and processes use at once; the first that writes creates it."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from kgsparql.errors import DiskFullError, KgsparqlError, StoreError, StoreLockedError
from kgsparql.resources import ClosedAtExit

T = TypeVar("T")

_BUSY_S = 2.0
"""How long to wait for another process that writes: a cache only saves work, so it is not worth a longer wait."""
_VERSION = 1  # of the tables, kept as SQLite's ``user_version``
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}


class SqliteFile(ClosedAtExit):
    """One file, opened when it is first used, and again in a forked process; a StoreError if it is not ours.

    Locks and connections are kept by process: SQLite forbids a forked one to use or close its parent's.

    :cvar what: is in it, in messages.
    :cvar tables: the statements that create the tables and indexes, a semicolon after each.
    :cvar again: what happens if the file is deleted.
    """

    what: str
    tables: str
    again: str

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_broken = False
        self._locks: dict[int, Any] = {}
        self._connections: dict[int, sqlite3.Connection] = {}
        weakref.finalize(self, _close_own, self._connections).atexit = False

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection | None]:
        """Return the connection, for one thread at a time, in autocommit mode; ``None`` if there is no file."""
        with self._errors_translated(), self._own_lock:
            exists = os.getpid() in self._connections or self.path.exists()
            yield self._own_connection(create=False) if exists else None

    def rows(self, select: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a SELECT; none if there is no file."""
        with self.connection() as connection:
            return [] if connection is None else connection.execute(select, parameters).fetchall()

    def change(self, statement: str, parameters: Sequence[Any]) -> int:
        """Return how many rows an UPDATE or a DELETE changed."""
        with self.connection() as connection:
            return 0 if connection is None else connection.execute(statement, parameters).rowcount

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction, which is committed unless an error leaves the block. Creates the file."""
        with (
            self._errors_translated(),
            self._own_lock,
            _committed_block(self._own_connection(create=True)) as connection,
        ):
            yield connection

    def tried(self, use: Callable[[], T], note: Callable[[StoreError], object]) -> T | None:
        """Use the file where it only saves work: if that fails it is noted, and the file is not used any more.

        Where only another process is writing, it is used again later.
        """
        try:
            return None if self.is_broken else use()
        except StoreLockedError:
            return None
        except StoreError as error:
            self.is_broken = True
            note(error)
            return None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._own_lock:
            _close_own(self._connections)

    @property
    def _own_lock(self) -> Any:
        return self._locks.setdefault(os.getpid(), threading.RLock())

    def _own_connection(self, *, create: bool) -> sqlite3.Connection:
        if (own := os.getpid()) not in self._connections:
            self._connections[own] = self._new_connection(create=create)
        return self._connections[own]

    def _new_connection(self, *, create: bool) -> sqlite3.Connection:
        """Open a connection to a file of ours; creates the tables in a new file, and leaves any other file as it is."""
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # of which SQLite will say more
                # Only its owner reads it: it may hold replies. SQLite gives its log the same mode. One that is there is
                # not opened: closing it would end the locks of every other connection of this process.
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        address = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        with ExitStack() as opened:
            opened.callback(connection.close)
            # Both reads see one state, even while another process creates the tables.
            with _committed_block(connection, ""):
                (found,), has_tables = connection.execute("PRAGMA user_version").fetchone(), _has_tables(connection)
            if found not in {0, _VERSION} or (found == 0 and has_tables):
                raise sqlite3.DatabaseError("a database of something else")
            connection.execute("PRAGMA journal_mode = WAL")  # readers read while somebody writes
            connection.execute("PRAGMA synchronous = NORMAL")
            if found == 0:
                with _committed_block(connection):
                    for statement in self.tables.split(";") if not _has_tables(connection) else ():
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
            opened.pop_all()
        return connection

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        try:
            yield
        except KgsparqlError:
            raise
        except (sqlite3.Error, OSError, ValueError) as error:
            raise self._store_error(error) from error

    def _store_error(self, error: Exception) -> StoreError:
        where, message = str(self.path), f"{self.path}: {error}"
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) == errno.ENOSPC:
            return DiskFullError(message, hint="free some space, or kgsparql cache --clear all", path=where)
        if code in _BUSY:
            return StoreLockedError(message, hint="wait for the other process that uses it", path=where)
        is_text = code == 0 and "UTF-8" in str(error)
        if code in _DAMAGE or is_text or not isinstance(error, OSError | sqlite3.OperationalError):
            hint = f"delete {where}: it is made again, and {self.again}"
            message += f": not a store of {self.what}"
            return StoreError(message, code="E_STORE_CORRUPT", hint=hint, path=where)
        hint = "may this user read and write it? KGSPARQL_CACHE_DIR names another directory"
        return StoreError(message, hint=hint, path=where)


@contextmanager
def _committed_block(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """Commit what the block did at its end; roll it back after an error."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _close_own(connections: dict[int, sqlite3.Connection]) -> None:
    if (own := connections.pop(os.getpid(), None)) is not None:
        own.close()
