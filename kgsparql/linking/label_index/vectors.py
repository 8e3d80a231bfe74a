"""A vector for each distinct text of the labels, kept as soon as it is made, so that none is made twice."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import CancelledError
from kgsparql.linking.label_index.rows import Progress
from kgsparql.models.embedding import Embedder
from kgsparql.storage.lance_tables import Tables, errors_translated, lancedb

EXACT_VECTORS = 100_000
"""Up to so many vectors are compared one by one in NumPy: at 100,000 reading them takes 0.23 s and a search 4 ms,
where an HNSW index takes a minute to build and answers in 9 ms."""
KEEP_EVERY = 2_048
"""Texts whose vectors are written together: a kill may cost them, some 4 s of work."""
_EMBED_AT_ONCE = 256


def vector_table(embedder: str, texts: Iterable[str]) -> str:
    """The name of the table that holds an embedder's vectors of exactly these texts."""
    digest = hashlib.sha256(embedder.encode())
    for text in texts:
        digest.update(b"\0" + text.encode("utf-8", "replace"))
    return f"vectors_{digest.hexdigest()[:24]}"


def embed_texts(
    tables: Tables,
    texts: Sequence[str],
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """Embed each text once and keep its vector; gives the manifest's entry. Goes on where an earlier run stopped.

    What was embedded before a Ctrl-C or an error is kept; a kill costs at most the last :data:`KEEP_EVERY` texts.

    :param texts: distinct, in a fixed order.
    :raises CancelledError: if ``cancel`` is set before all is embedded.
    :raises EmbeddingError: if the embedder fails.
    """
    writer = _Writer(tables, vector_table(embedder.name, texts), texts)
    done = writer.kept_before()
    try:
        while done < len(texts):
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped while embedding", hint="run it again: it goes on from here")
            vectors = embedder.embed(texts[done : done + _EMBED_AT_ONCE])
            done += len(vectors)
            writer.add(vectors)
            if progress is not None:
                progress("embedding labels", done, len(texts))
    finally:
        writer.keep()
    if len(texts) > EXACT_VECTORS:
        writer.add_index()
    return {"table": writer.name, "texts": len(texts), "dimension": embedder.dimension}


@dataclass(slots=True)
class _Writer:
    """Appends vectors to a table, many at a time: each write is a new version of the table."""

    tables: Tables
    name: str
    texts: Sequence[str]
    table: Any = None
    kept: int = 0
    pending: list[NDArray[np.float32]] = field(default_factory=list)

    def kept_before(self) -> int:
        """How many texts, from the first on, have a vector from an earlier run."""
        found = self.tables.open(self.name)
        if found is None:
            return 0
        with errors_translated(self.tables.directory):
            rows = found.search().select(["number"]).limit(len(self.texts) + 1).to_arrow()
        numbers = rows["number"].to_numpy()
        if len(numbers) <= len(self.texts) and np.array_equal(np.sort(numbers), np.arange(len(numbers))):
            self.table, self.kept = found, len(numbers)
        return self.kept

    def add(self, vectors: NDArray[np.float32]) -> None:
        self.pending.append(vectors)
        if sum(map(len, self.pending)) >= KEEP_EVERY:
            self.keep()

    def keep(self) -> None:
        if not self.pending:
            return
        import pyarrow as pa

        vectors = np.concatenate(self.pending)
        end = self.kept + len(vectors)
        columns = {
            "number": pa.array(range(self.kept, end), pa.int64()),
            "text": pa.array(self.texts[self.kept : end], pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), vectors.shape[1]),
        }
        if self.table is None:
            self.table = self.tables.create(self.name, pa.table(columns))
        else:
            with errors_translated(self.tables.directory):
                self.table.add(pa.table(columns))
        self.kept, self.pending = end, []

    def add_index(self) -> None:
        """Add an approximate index, for tables that are too large to compare vectors one by one."""
        with errors_translated(self.tables.directory):
            self.table.optimize()
            if not self.table.list_indices():
                self.table.create_index("vector", config=lancedb("index").HnswSq(distance_type="cosine"))
