"""Vectors of texts kept on disk, so that each embedder embeds a text once."""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import StoreError, StoreLockedError
from kgsparql.models.embedding import Embedder
from kgsparql.storage.sqlite_file import Contents, SqliteFile

VECTORS = "vectors.sqlite"
"""The file of vectors in the cache directory."""

_MOST_BYTES = 512_000_000
"""The largest size of the file; then the oldest vectors are removed. A vector of 384 numbers takes about 1.7 kB."""

_BATCH = 500
_UNIT = 1e-3
"""Tolerance of the squared length 1 of a vector; outside it, the vector was damaged on the disk."""

_CONTENTS = Contents(
    "vectors",
    "CREATE TABLE vector (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, made INTEGER NOT NULL, numbers BLOB);",
    version=1,
    again="the vectors are made again",
    room="clear them: kgsparql cache --clear vectors",
)

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class KeptVectors:
    """The number of vectors, and when the oldest and the newest were made: ISO 8601, UTC; empty for none."""

    count: int
    oldest: str = ""
    newest: str = ""


class VectorStore:
    """Vectors by key in one file; several threads and processes may use it. Only :meth:`put` makes the file.

    :raises StoreError: from any method, if the file is no such store, or cannot be read or written.

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
        self._file = SqliteFile(self.path, _CONTENTS)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are kept, by key, without damaged ones."""
        found: dict[bytes, Vector] = {}
        for batch in (keys[at : at + _BATCH] for at in range(0, len(keys), _BATCH)):
            marks = ",".join("?" * len(batch))
            rows = self._file.rows(f"SELECT key, numbers FROM vector WHERE key IN ({marks})", batch)  # noqa: S608
            found.update((key, vector) for key, data in rows if (vector := _vector(key, data)) is not None)
        return found

    def check(self) -> None:
        """Read all; a StoreError if something is damaged. A damaged vector is made again when it is needed."""
        self._file.check("SELECT key, numbers FROM vector", _vector)

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors; they replace earlier ones with the same keys."""
        now = int(time.time())
        numbers = {key: np.asarray(vector, dtype="<f4").tobytes() for key, vector in vectors.items()}
        rows = [(key, now, data + _crc(key, data)) for key, data in numbers.items()]
        with self._file.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vector (key, made, numbers) VALUES (?, ?, ?)", rows)
            if _bytes_used(connection) > self.most_bytes:
                first, last = connection.execute("SELECT min(id), max(id) FROM vector").fetchone()
                connection.execute("DELETE FROM vector WHERE id <= ?", (first + (last - first) // 4,))

    def summary(self) -> KeptVectors:
        """How many vectors there are, and how old."""
        found = self._file.rows("SELECT count(*), min(made), max(made) FROM vector") or [(0, None, None)]
        count, *times = found[0]
        if not count:
            return KeptVectors(0)
        return KeptVectors(count, *(datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") for at in times))

    def clear(self) -> int:
        """Remove all vectors and shrink the file; the number of removed vectors."""
        return self._file.delete("DELETE FROM vector", shrink=True)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()


class CachedEmbedder:
    """An embedder that embeds no text twice, not even in another process: vectors are kept by its name and the text.

    If the file cannot be read or written, it goes on without it and says so once.

    :param note: called with each line that a person should read.
    """

    def __init__(self, embedder: Embedder, path: Path, *, note: Callable[[str], None] | None = None) -> None:
        self.embedder = embedder
        self._store: VectorStore | None = VectorStore(path)
        self._note = note
        self._dimension = 0

    @property
    def name(self) -> str:
        """As :meth:`Embedder.name`."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """As :meth:`Embedder.dimension`; known from kept vectors without loading the model."""
        return self._dimension or self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        """As :meth:`Embedder.embed`; each distinct text is embedded once."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        keys = _keys(self.name, dict.fromkeys(texts))
        kept = self._kept_vectors(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in kept]
        if missing:
            kept |= self._new_vectors(missing, keys)
        if len({len(vector) for vector in kept.values()}) > 1:  # some are of other weights, under the same name
            kept = self._new_vectors(list(keys), keys)
        vectors = np.stack([kept[keys[text]] for text in texts])
        self._dimension = vectors.shape[1]
        return vectors

    def _new_vectors(self, texts: Sequence[str], keys: Mapping[str, bytes]) -> dict[bytes, Vector]:
        found = {keys[text]: vector for text, vector in zip(texts, self.embedder.embed(texts), strict=True)}
        self._keep(found)
        return found

    def close(self) -> None:
        """Close the file, and the connections of an embedder that has some; the next text opens them again."""
        for used in (self._store, self.embedder):
            if (close := getattr(used, "close", None)) is not None:
                close()

    def _kept_vectors(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        try:
            return {} if self._store is None else self._store.get(keys)
        except StoreError as error:
            self._stop_keeping(error)
            return {}

    def _keep(self, vectors: Mapping[bytes, Vector]) -> None:
        try:
            if self._store is not None:
                self._store.put(vectors)
        except StoreError as error:
            self._stop_keeping(error)

    def _stop_keeping(self, error: StoreError) -> None:
        if isinstance(error, StoreLockedError):
            return  # another process is writing: only these texts will be embedded again
        self.close()
        self._store = None
        if self._note is not None:
            self._note(f"vectors of texts are not kept: {error.message} ({error.hint})")


def _vector(key: bytes, data: object) -> Vector | None:
    """The vector that was kept; ``None`` if it is damaged. One of an earlier version has no checksum."""
    if not isinstance(data, bytes) or len(data) % 4 not in {0, 1}:
        return None
    numbers = data[: len(data) // 4 * 4 - len(data) % 4 * 4]
    if data != numbers and data != numbers + _crc(key, numbers):
        return None
    vector = np.frombuffer(numbers, dtype="<f4")
    return vector if abs(float(vector @ vector) - 1) < _UNIT else None


def _crc(key: bytes, data: bytes) -> bytes:
    """A checksum of five bytes, so that what has one is told from what has none."""
    return b"c" + zlib.crc32(key + data).to_bytes(4, "little")


def _keys(name: str, texts: Iterable[str]) -> dict[str, bytes]:
    prefix = name.encode() + b"\0"
    return {
        text: hashlib.blake2b(prefix + text.encode("utf-8", "surrogatepass"), digest_size=20).digest() for text in texts
    }


def _bytes_used(connection: sqlite3.Connection) -> int:
    (size,), (pages,), (free,) = (
        connection.execute(f"PRAGMA {what}").fetchone() for what in ("page_size", "page_count", "freelist_count")
    )
    return int(size * (pages - free))
