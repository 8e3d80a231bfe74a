"""Vectors of texts kept on disk: a text is embedded once by each embedder, however many processes ask."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgsparql.embedding import Embedder
from kgsparql.errors import StoreError, StoreLockedError

__all__ = ["VECTORS", "CachedEmbedder", "KeptVectors", "VectorStore"]

VECTORS = "vectors.sqlite"
"""The file in the cache directory that vectors are kept in."""

_MOST_BYTES = 512_000_000
"""What is kept at most; of more, the oldest go. A vector of 384 numbers takes about 1.7 kB."""

_VERSION = 1
_BUSY_S = 2.0
_BATCH = 500
_UNIT = 1e-3
"""How far from 1 the length of a vector may be that was not damaged on the disk."""

_SCHEMA = "CREATE TABLE vector (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, made INTEGER NOT NULL, numbers BLOB)"

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class KeptVectors:
    """How many vectors there are, and when the oldest and the newest were made: ISO 8601, UTC; empty for none."""

    count: int
    oldest: str = ""
    newest: str = ""


class VectorStore:
    """Vectors by key in one file, which several threads and processes may use at once.

    Only :meth:`put` makes the file.

    :param most_bytes: the size of the file from which on the oldest vectors make room for new ones.
    :raises StoreError: from any method, if the file is there and is not such a store, or cannot be read or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     store = VectorStore(Path(directory, "vectors.sqlite"))
    ...     store.put({b"a": np.array([0.6, 0.8], dtype=np.float32)})
    ...     print(store.get([b"a", b"b"]))
    ...     store.close()
    {b'a': array([0.6, 0.8], dtype=float32)}
    """

    def __init__(self, path: Path, *, most_bytes: int = _MOST_BYTES) -> None:
        self.path = Path(path)
        self.most_bytes = most_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._inherited: list[sqlite3.Connection] = []

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are there, by key; one that was damaged is not."""
        with self._opened(make=False) as connection:
            if connection is None:
                return {}
            found: dict[bytes, Vector] = {}
            for batch in (keys[at : at + _BATCH] for at in range(0, len(keys), _BATCH)):
                marks = ",".join("?" * len(batch))
                rows = connection.execute(f"SELECT key, numbers FROM vector WHERE key IN ({marks})", batch)  # noqa: S608
                found.update((key, np.frombuffer(numbers, dtype="<f4")) for key, numbers in rows if _is_whole(numbers))
            return {key: vector for key, vector in found.items() if abs(float(vector @ vector) - 1) < _UNIT}

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors, in the place of earlier ones with these keys."""
        now = int(time.time())
        rows = [(key, now, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
        with self._opened(make=True) as connection:
            assert connection is not None  # noqa: S101 - make
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO vector (key, made, numbers) VALUES (?, ?, ?)", rows)
            if _bytes_used(connection) > self.most_bytes:
                first, last = connection.execute("SELECT min(id), max(id) FROM vector").fetchone()
                connection.execute("DELETE FROM vector WHERE id <= ?", (first + (last - first) // 4,))
            connection.execute("COMMIT")

    def summary(self) -> KeptVectors:
        """What there is."""
        with self._opened(make=False) as connection:
            if connection is None:
                return KeptVectors(0)
            count, oldest, newest = connection.execute("SELECT count(*), min(made), max(made) FROM vector").fetchone()
            return KeptVectors(count, _when(oldest), _when(newest)) if count else KeptVectors(0)

    def clear(self) -> int:
        """Remove all vectors; how many there were. The file becomes smaller."""
        with self._opened(make=False) as connection:
            if connection is None:
                return 0
            removed = connection.execute("DELETE FROM vector").rowcount
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return removed

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                _close(self._connection, self._owner)
                self._connection = None

    @contextmanager
    def _opened(self, *, make: bool) -> Iterator[sqlite3.Connection | None]:
        """The connection, for one thread at a time; ``None`` if there is no file and none is to be made."""
        with self._lock:
            try:
                yield self._connected(make=make)
            except (sqlite3.Error, OSError, ValueError) as error:
                with_us = self._connection if self._owner == os.getpid() else None
                if with_us is not None and with_us.in_transaction:
                    with_us.rollback()
                raise self._error(error) from error

    def _connected(self, *, make: bool) -> sqlite3.Connection | None:
        if self._connection is not None and self._owner != os.getpid():
            self._inherited.append(self._connection)  # a parent's: SQLite forbids to use it, or close it, after a fork
            self._connection = None
        if self._connection is None:
            if not make and not self.path.exists():
                return None
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _connection(self.path)
            self._owner = os.getpid()
            weakref.finalize(self, _close, self._connection, self._owner)
        return self._connection

    def _error(self, error: Exception) -> StoreError:
        said, code = f"{self.path}: {error}", getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return StoreLockedError(said, hint="wait for the other process that uses it", path=str(self.path))
        if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR} or isinstance(
            error, ValueError
        ):
            hint = "kgsparql cache --clear vectors removes it; it is made again"
            return StoreError(f"{said}: not a store of vectors", code="E_STORE_CORRUPT", hint=hint, path=str(self.path))
        hint = "may this user read and write it? KGSPARQL_CACHE_DIR names another directory"
        return StoreError(said, hint=hint, path=str(self.path))


class CachedEmbedder:
    """An embedder that embeds no text twice, also not in another process: vectors are kept by its name and the text.

    Where they cannot be kept, or what was kept cannot be read, that is said once and done without.

    :param note: called with each line that a person should read.
    """

    def __init__(
        self,
        embedder: Embedder,
        path: Path,
        *,
        note: Callable[[str], None] | None = None,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        self.embedder = embedder
        self._store: VectorStore | None = VectorStore(path, most_bytes=most_bytes)
        self._note = note
        self._dimension = 0

    @property
    def name(self) -> str:
        """As :meth:`Embedder.name`."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """As :meth:`Embedder.dimension`; what was kept says it too, and needs no model for that."""
        return self._dimension or self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        """As :meth:`Embedder.embed`; each distinct text is embedded once."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        keys = _keys(self.name, dict.fromkeys(texts))
        kept = self._kept(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in kept]
        if missing:
            kept |= self._made(missing, keys)
        if len({len(vector) for vector in kept.values()}) > 1:  # some are of other weights, under the same name
            kept = self._made(list(keys), keys)
        vectors = np.stack([kept[keys[text]] for text in texts])
        self._dimension = vectors.shape[1]
        return vectors

    def _made(self, texts: Sequence[str], keys: Mapping[str, bytes]) -> dict[bytes, Vector]:
        found = {keys[text]: vector for text, vector in zip(texts, self.embedder.embed(texts), strict=True)}
        self._keep(found)
        return found

    def close(self) -> None:
        """Close the file; the next text opens it again."""
        if self._store is not None:
            self._store.close()

    def _kept(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        try:
            return {} if self._store is None else self._store.get(keys)
        except StoreLockedError:
            return {}
        except StoreError as error:
            self._do_without(error)
            return {}

    def _keep(self, vectors: Mapping[bytes, Vector]) -> None:
        try:
            if self._store is not None:
                self._store.put(vectors)
        except StoreLockedError:
            return  # somebody else writes for long: these are embedded once more some day, and nothing is lost
        except StoreError as error:
            self._do_without(error)

    def _do_without(self, error: StoreError) -> None:
        self.close()
        self._store = None
        if self._note is not None:
            self._note(f"vectors of texts are not kept: {error.message} ({error.hint})")


def _keys(name: str, texts: Iterable[str]) -> dict[str, bytes]:
    begun = hashlib.blake2b(name.encode() + b"\0", digest_size=20)
    keys = {}
    for text in texts:
        whole = begun.copy()
        whole.update(text.encode("utf-8", "surrogatepass"))
        keys[text] = whole.digest()
    return keys


def _connection(path: Path) -> sqlite3.Connection:
    """A connection to a file with our table in it, which is made if the file is new.

    :raises ValueError: for a file of something else.
    """
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        if _version(connection) != _VERSION:
            connection.execute("BEGIN IMMEDIATE")  # somebody else may be making the table
            is_empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if _version(connection) == 0 and is_empty:
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute("COMMIT")
            _check_version(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_version(connection: sqlite3.Connection) -> None:
    version = _version(connection)
    if version != _VERSION:
        raise ValueError(f"a database of something else, or of another version ({version})")


def _close(connection: sqlite3.Connection, owner: int) -> None:
    if owner == os.getpid():
        connection.close()


def _is_whole(numbers: object) -> bool:
    return isinstance(numbers, bytes) and len(numbers) > 0 and len(numbers) % 4 == 0


def _bytes_used(connection: sqlite3.Connection) -> int:
    (size,), (pages,), (free,) = (
        connection.execute(f"PRAGMA {what}").fetchone() for what in ("page_size", "page_count", "freelist_count")
    )
    return int(size * (pages - free))


def _when(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
