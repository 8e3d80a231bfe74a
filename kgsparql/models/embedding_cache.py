"""Vectors of texts kept on disk: a text is embedded once by each embedder, however many processes ask."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import StoreError, StoreLockedError
from kgsparql.models.embedding import Embedder
from kgsparql.storage.sqlite_file import Contents, SqliteFile

__all__ = ["VECTORS", "CachedEmbedder", "KeptVectors", "VectorStore"]

VECTORS = "vectors.sqlite"
"""The file in the cache directory that vectors are kept in."""

_MOST_BYTES = 512_000_000
"""What is kept at most; of more, the oldest go. A vector of 384 numbers takes about 1.7 kB."""

_BATCH = 500
_UNIT = 1e-3
"""How far from 1 the length of a vector may be that was not damaged on the disk."""

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
        self._file = SqliteFile(self.path, _CONTENTS)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are there, by key; one that was damaged is not."""
        found: dict[bytes, Vector] = {}
        for batch in (keys[at : at + _BATCH] for at in range(0, len(keys), _BATCH)):
            marks = ",".join("?" * len(batch))
            rows = self._file.rows(f"SELECT key, numbers FROM vector WHERE key IN ({marks})", batch)  # noqa: S608
            found.update((key, np.frombuffer(numbers, dtype="<f4")) for key, numbers in rows if _is_whole(numbers))
        return {key: vector for key, vector in found.items() if abs(float(vector @ vector) - 1) < _UNIT}

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors, in the place of earlier ones with these keys."""
        now = int(time.time())
        rows = [(key, now, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
        with self._file.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vector (key, made, numbers) VALUES (?, ?, ?)", rows)
            if _bytes_used(connection) > self.most_bytes:
                first, last = connection.execute("SELECT min(id), max(id) FROM vector").fetchone()
                connection.execute("DELETE FROM vector WHERE id <= ?", (first + (last - first) // 4,))

    def summary(self) -> KeptVectors:
        """What there is."""
        found = self._file.rows("SELECT count(*), min(made), max(made) FROM vector") or [(0, None, None)]
        count, *times = found[0]
        return KeptVectors(count, *map(_when, times)) if count else KeptVectors(0)

    def clear(self) -> int:
        """Remove all vectors; how many there were. The file becomes smaller."""
        return self._file.delete("DELETE FROM vector", shrink=True)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()


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


def _is_whole(numbers: object) -> bool:
    return isinstance(numbers, bytes) and len(numbers) > 0 and len(numbers) % 4 == 0


def _bytes_used(connection: sqlite3.Connection) -> int:
    (size,), (pages,), (free,) = (
        connection.execute(f"PRAGMA {what}").fetchone() for what in ("page_size", "page_count", "freelist_count")
    )
    return int(size * (pages - free))


def _when(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
