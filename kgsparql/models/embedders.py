"""Getting vectors: the embedder that an option names, and vectors that are kept on disk."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kgsparql.errors import EmbeddingError, OptionError, StoreError, shown_source
from kgsparql.events import Tell, ignore
from kgsparql.models.embedding import (
    DEFAULT_MODEL,
    DEFAULT_NAME,
    INSTALL_HINT,
    Embedder,
    Floats,
    SentenceTransformerEmbedder,
    find_model,
    has_sentence_transformers,
)
from kgsparql.rdf.terms import printable
from kgsparql.storage.sqlite_file import SqliteFile

VECTORS = "vectors.sqlite"  # the file of vectors in the cache directory
MOST_VECTORS = 300_000  # then the oldest go: one of 384 numbers takes about 1.7 kB


_KEYS_AT_ONCE = 500


def open_embedder(spec: str = "auto") -> Embedder | None:
    """Open the embedder that ``spec`` names; nothing heavy is imported before it embeds.

    :param spec: ``auto``: the default model if it and sentence-transformers are on this machine, else ``None``.
        ``none``: ``None``. A directory with a model, or the name of one in the cache of the hub.
    :raises EmbeddingError: if what was named is not there.
    :raises OptionError: for a URL.

    >>> open_embedder("none") is None
    True
    """
    if spec == "none":
        return None
    if "://" in spec or shown_source(spec) != spec:
        hint = "name a model on this machine; in Python: embedder=OBJECT with name, dimension and embed"
        raise OptionError(f"{shown_source(spec)}: no embedder", hint=hint)
    if spec == "auto":
        model = find_model(DEFAULT_MODEL) if has_sentence_transformers() else None
        if model is None:
            return None
    elif not has_sentence_transformers():
        raise EmbeddingError("sentence-transformers is not installed", hint=INSTALL_HINT)
    elif (model := find_model(spec)) is None:
        hint = "get it from the hub (hf download NAME), or name a directory that holds one"
        raise EmbeddingError(f"{printable(spec, 100)}: no embedding model on this machine", hint=hint)
    from kgsparql.models.bert import BertEmbedder  # most commands need no vectors

    return BertEmbedder(model) if model.name == DEFAULT_NAME else SentenceTransformerEmbedder(model)


# --- Vectors on disk


class CachedEmbedder:
    """Embedder that embeds no text twice, not even in another process: vectors are kept by its name and the text.

    If the file cannot be read or written, it goes on without it and says so once.

    :param note: called with each line that a person should read.
    """

    def __init__(self, embedder: Embedder, path: Path, *, note: Tell = ignore) -> None:
        self.embedder = embedder
        self._store = VectorStore(path)
        self._note = note
        self._dimension = 0

    @property
    def name(self) -> str:
        """See :attr:`Embedder.name`."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """See :attr:`Embedder.dimension`; known from kept vectors without loading the model."""
        return self._dimension or self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :meth:`Embedder.embed`; each distinct text is embedded once."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        prefix = self.name.encode() + b"\0"
        keys = {
            text: hashlib.blake2b(prefix + text.encode("utf-8", "surrogatepass"), digest_size=20).digest()
            for text in texts
        }
        kept = self._store.tried(lambda: self._store.get(list(keys.values())), self._note_error) or {}
        missing = [text for text, key in keys.items() if key not in kept]
        kept |= self._new_vectors(missing, keys)
        if len({len(vector) for vector in kept.values()}) > 1:  # some are of other weights, under the same name
            kept = self._new_vectors(list(keys), keys)
        vectors = np.stack([kept[keys[text]] for text in texts])
        self._dimension = vectors.shape[1]
        return vectors

    def close(self) -> None:
        """Close the file, and the connections of an embedder that has some; the next text opens them again."""
        for used in (self._store, self.embedder):
            getattr(used, "close", lambda: None)()

    def _new_vectors(self, texts: Sequence[str], keys: Mapping[str, bytes]) -> dict[bytes, Floats]:
        if not texts:
            return {}
        found = {keys[text]: vector for text, vector in zip(texts, self.embedder.embed(texts), strict=True)}
        self._store.tried(lambda: self._store.put(found), self._note_error)
        return found

    def _note_error(self, error: StoreError) -> None:
        self._note(f"vectors of texts are not kept: {error.message} ({error.hint})")


class VectorStore(SqliteFile):
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

    what = "vectors"
    tables = (
        "CREATE TABLE vector (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, made INTEGER NOT NULL, numbers BLOB);"
    )
    again = "the vectors are made again"

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Return the vectors that are kept, by key, without damaged ones."""
        found: dict[bytes, Floats] = {}
        for at in range(0, len(keys), _KEYS_AT_ONCE):
            batch = keys[at : at + _KEYS_AT_ONCE]
            marks = ",".join("?" * len(batch))
            for key, data in self.rows(f"SELECT key, numbers FROM vector WHERE key IN ({marks})", batch):  # noqa: S608
                if isinstance(data, bytes) and data[-4:] == _vector_checksum(key, data[:-4]):
                    found[key] = np.frombuffer(data[:-4], dtype="<f4")
        return found

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Keep vectors; they replace earlier ones with the same keys."""
        now = int(time.time())
        numbers = ((key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items())
        rows = [(key, now, data + _vector_checksum(key, data)) for key, data in numbers]
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vector (key, made, numbers) VALUES (?, ?, ?)", rows)
            connection.execute("DELETE FROM vector WHERE id <= (SELECT max(id) FROM vector) - ?", (MOST_VECTORS,))


def _vector_checksum(key: bytes, data: bytes) -> bytes:
    return zlib.crc32(key + data).to_bytes(4, "little")
