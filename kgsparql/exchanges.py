"""What was asked of endpoints and models and what they replied, kept in SQLite: a cache, or a recording."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from kgsparql.errors import DiskFullError, KgsparqlError, ReplayMissError, StoreError, StoreLockedError
from kgsparql.exchange_table import PRUNE, VERSION, has_tables, make_table, version

__all__ = ["EXCHANGES", "Exchanges", "Kind", "Mode", "key_of"]

T = TypeVar("T")

Mode = Literal["use", "write", "only"]
"""``use``: answer from the store, and add to it. ``write``: always ask, and keep the reply. ``only``: never ask."""

EXCHANGES = "exchanges.sqlite"
"""The file that exchanges are kept in, in the cache directory and in a snapshot."""

_BUSY_S = 2.0
"""For other processes that write: what is kept saves a call, and is not worth waiting for much longer."""
_SLICE_S = 0.1
"""For SQLite to wait at a time: Ctrl-C is not heard while it waits."""

_DAMAGE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}


@dataclass(frozen=True, slots=True)
class Kind:
    """How much there is of one kind of exchange.

    :param bytes: of requests and replies together, as JSON.
    :param oldest: when the oldest was kept, ISO 8601, UTC; ``newest`` likewise.
    """

    kind: str
    count: int
    bytes: int
    oldest: str
    newest: str


class Exchanges:
    """Requests and their replies in one file, which several threads and processes may use at once.

    Nothing is opened or made before it is needed: only :meth:`put` makes the file.

    :raises StoreError: from any method, if the file is there and is not such a store, or cannot be read or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory, Exchanges(Path(directory, "kept.sqlite")) as kept:
    ...     kept.put("model", {"question": "2 + 2"}, {"answer": 4})
    ...     kept.get("model", {"question": "2 + 2"}), kept.get("model", {"question": "2 + 3"})
    ({'answer': 4}, None)
    """

    is_recording = False
    """Whether it keeps everything that a run asks, in order, failures too."""

    def __init__(self, path: Path, *, mode: Mode = "use") -> None:
        self.path = Path(path)
        self.mode = mode
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._inherited: list[sqlite3.Connection] = []

    def __enter__(self) -> Exchanges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def get(self, kind: str, request: Mapping[str, Any], *, what: str = "") -> dict[str, Any] | None:
        """The reply that is kept for a request, as the mode allows; ``None``: ask.

        :param what: the request, as an error calls it.
        :raises ReplayMissError: if nobody may be asked, and it is not there.
        """
        if self.mode == "write":
            return None
        reply = self.known(kind, request)
        if reply is None and self.mode == "only":
            raise ReplayMissError(
                f"{what or f'this request ({kind})'} was not recorded in {self.path}",
                hint="ask once with the model, with the same options; then it can be replayed",
                path=str(self.path), kind=kind,
            )  # fmt: skip
        return reply

    def known(self, kind: str, request: Mapping[str, Any], *, at_most_s: float = math.inf) -> dict[str, Any] | None:
        """The reply that is kept for a request, whatever the mode; ``None`` if there is none.

        :param at_most_s: how old it may be.
        """
        with self._lock, self._translated():
            connection = self._there()
            if connection is None:
                return None
            key = (key_of(kind, request), _ago(at_most_s))
            select = "SELECT reply FROM exchange WHERE key = ? AND made >= ?"
            row = _waiting(lambda: connection.execute(select, key).fetchone())
            return None if row is None else dict(json.loads(row[0]))

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], *, again: bool = False) -> None:  # noqa: ARG002
        """Keep a reply, in the place of an earlier one.

        :param again: who asks next is to ask again, and may be told something else; a recording keeps all of that.
        :raises DiskFullError: if there is no space left for it.
        :raises StoreLockedError: if somebody else is writing for long.
        """
        asked, replied = _json(request), json.dumps(reply, separators=(",", ":"))
        row = (key_of(kind, request), kind, _now(), len(asked) + len(replied), asked, replied)
        with self._lock, self._translated():
            connection = self._open(make=True)
            _waiting(lambda: connection.execute("INSERT OR REPLACE INTO exchange VALUES (?, ?, ?, ?, ?, ?)", row))

    def fail(self, kind: str, request: Mapping[str, Any], error: KgsparqlError) -> None:
        """Keep that there was no reply; only a recording does that."""

    @contextmanager
    def alone(
        self,
        kind: str,  # noqa: ARG002
        request: Mapping[str, Any],  # noqa: ARG002
        *,
        within_s: float = math.inf,  # noqa: ARG002
        cancel: threading.Event | None = None,  # noqa: ARG002
    ) -> Iterator[None]:
        """Nobody else asks the same meanwhile, where that matters: in a recording."""
        yield

    def prune(self, kind: str, *, at_most_s: float, most_bytes: int) -> int:
        """Remove the exchanges of a kind that are older, and the oldest of more than so many bytes; how many."""
        with self._lock, self._translated():
            connection = self._there()
            if connection is None:
                return 0
            return _waiting(lambda: connection.execute(PRUNE, (kind, _ago(at_most_s), most_bytes)).rowcount)

    def summary(self) -> list[Kind]:
        """What there is, kind by kind, in the order of their names."""
        with self._lock, self._translated():
            connection = self._there()
            if connection is None:
                return []
            rows = connection.execute(
                "SELECT kind, count(*), sum(bytes), min(made), max(made) FROM exchange GROUP BY kind ORDER BY kind"
            )
            return [Kind(*row) for row in rows]

    def clear(self, kind: str | None = None) -> int:
        """Remove the exchanges of a kind, or all of them; how many there were. The file becomes smaller."""
        with self._lock, self._translated():
            connection = self._there()
            if connection is None:
                return 0
            delete = "DELETE FROM exchange WHERE ?1 IS NULL OR kind = ?1"
            removed = _waiting(lambda: connection.execute(delete, (kind,)).rowcount)
            _waiting(lambda: connection.execute("VACUUM"))
            _waiting(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            return removed

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def _there(self) -> sqlite3.Connection | None:
        """The connection to a file that is there; ``None`` if there is none."""
        return self._open(make=False) if self._connection is not None or self.path.exists() else None

    def _open(self, *, make: bool) -> sqlite3.Connection:
        if self._connection is not None and self._owner != os.getpid():
            self._inherited.append(self._connection)  # a parent's: SQLite forbids to use it, or close it, after a fork
            self._connection = None
        if self._connection is None:
            self._connection = _waiting(lambda: self._connected(make=make))
            self._owner = os.getpid()
        return self._connection

    def _connected(self, *, make: bool) -> sqlite3.Connection:
        if make:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        address = self.path.absolute().as_uri()
        try:
            return self._checked(f"{address}?mode={'rwc' if make else 'rw'}")
        except sqlite3.OperationalError as error:
            if make or error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
                raise
        # In a directory that cannot be written, a log beside the file is not to be had; nobody else writes it either.
        return self._checked(f"{address}?mode=ro&immutable=1")

    def _checked(self, address: str) -> sqlite3.Connection:
        """A connection to a file with our table in it, which is made if the file is new; any other stays as it is."""
        connection = sqlite3.connect(address, uri=True, timeout=_SLICE_S, isolation_level=None, check_same_thread=False)
        try:
            is_new = self._is_new(connection)
            if "immutable" not in address:
                connection.execute("PRAGMA journal_mode = WAL")  # readers read while somebody writes
                connection.execute("PRAGMA synchronous = NORMAL")
            if is_new:
                make_table(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Whether there is nothing in a file.

        :raises StoreError: if it has exchanges of another version.
        """
        connection.execute("BEGIN")  # the two are of one moment: somebody else may be making the table
        there, is_used = version(connection), has_tables(connection)
        connection.execute("COMMIT")
        if there not in {0, VERSION}:
            raise StoreError(
                f"{self.path}: exchanges of version {there}, where this kgsparql has version {VERSION}",
                hint="delete that file: the replies are asked for again; or use the kgsparql that wrote it",
                path=str(self.path),
            )
        if there == 0 and is_used:
            raise sqlite3.DatabaseError("a database of something else")
        return there == 0

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors, and the file system's, as ours."""
        try:
            yield
        except (StoreError, ReplayMissError):
            raise
        except (sqlite3.Error, OSError, ValueError) as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> StoreError:
        where, said = str(self.path), f"{self.path}: {error}"
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) == errno.ENOSPC:
            return DiskFullError(said, hint="free some space, or kgsparql cache --clear model", path=where)
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return StoreLockedError(said, hint="wait for the other process that uses it", path=where)
        if code in _DAMAGE or not isinstance(error, OSError | sqlite3.OperationalError):
            hint = f"delete {where}: it is made again, and the replies are asked for again"
            return StoreError(f"{said}: not a store of exchanges", code="E_STORE_CORRUPT", hint=hint, path=where)
        hint = "may this user read and write it? KGSPARQL_CACHE_DIR names another directory"
        return StoreError(said, hint=hint, path=where)


def _waiting(work: Callable[[], T]) -> T:
    """What something done in SQLite comes to, tried again for a while as long as somebody else has the file."""
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            if not is_busy or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _json(request: Mapping[str, Any]) -> str:
    """One text for equal requests, in ASCII, so that its characters are its bytes."""
    return json.dumps(request, sort_keys=True, separators=(",", ":"))


def key_of(kind: str, request: Mapping[str, Any]) -> bytes:
    """One key for equal requests of a kind."""
    return hashlib.sha256(f"{kind}\n{_json(request)}".encode()).digest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _ago(seconds: float) -> str:
    """The time so many seconds ago, as :func:`_now` writes it; the beginning of time, if there was none then."""
    if math.isinf(seconds):
        return ""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
