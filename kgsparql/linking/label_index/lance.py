"""A label index that is kept: the packed labels, and the vectors of their texts in LanceDB tables; built and opened."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.dataclasses import dataclass
from kgsparql.linking.label_index.packed import EMBED_AT_ONCE, PackedLabels, nearest_texts, pack
from kgsparql.linking.label_index.search import Progress, Rows
from kgsparql.models.embedders import CachedEmbedder
from kgsparql.models.embedding import Embedder, Floats
from kgsparql.storage.files import keep_newest, remove_leftovers, writer_lock
from kgsparql.storage.lance_tables import MANIFEST, Tables, errors_translated, lancedb, row_tuples, table_tag

EXACT_VECTORS = 100_000
"""Up to so many vectors are compared one by one in NumPy: at 100,000 reading them takes 0.23 s and a search 4 ms,
where an HNSW index takes a minute to build and answers in 9 ms."""
KEEP_EVERY = 2_048
"""Texts whose vectors are written together: a kill may cost them, some 4 s of work."""

_BATCH_TEXTS = 256


@dataclass()
class LanceVectors:
    """Vectors of the texts of an index, in a table.

    :param entry: that of the table in the manifest, as :class:`Builder` publishes it.
    """

    _tables: Tables
    _entry: Mapping[str, Any]

    def nearest(self, vectors: Floats, *, limit: int) -> list[list[tuple[str, float]]]:
        """Find, for each vector, the nearest texts with their cosines."""
        if self._entry["texts"] > EXACT_VECTORS:
            return [self._nearest_by_index(vector, limit) for vector in vectors]
        return nearest_texts(vectors, *self._text_matrix, limit)

    def _nearest_by_index(self, vector: Floats, limit: int) -> list[tuple[str, float]]:
        query = self._tables.opened(self._entry["table"]).search(vector, vector_column_name="vector")
        query = query.distance_type("cosine").ef(200).refine_factor(2)
        hits = row_tuples(self._tables.rows(query, ["text", "_distance"], limit))
        return [(text, 1 - distance) for distance, text in sorted((round(far, 6), text) for text, far in hits)]

    @cached_property
    def _text_matrix(self) -> tuple[list[str], Floats]:
        with errors_translated(self._tables.directory):
            data = self._tables.opened(self._entry["table"]).to_arrow().sort_by("number")
        flat = data["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return data["text"].to_pylist(), flat.reshape(len(data), -1)


def opened_index(tables: Tables, manifest: Mapping[str, Any], embedder: Embedder | None) -> PackedLabels:
    """Open the index that a manifest describes; with an embedder, if it has its vectors or can make them at once."""
    entry = None if embedder is None else manifest["vectors"].get(embedder.name)
    # The vectors of few texts are beside those of questions, where reading them takes a second less.
    is_beside = manifest["texts"] <= EMBED_AT_ONCE and isinstance(embedder, CachedEmbedder)
    vectors = None if entry is None or is_beside else LanceVectors(tables, entry)
    return PackedLabels(tables.blob(manifest["labels"]), embedder, vectors)


# --- Building


def built_index(
    read: Callable[[], Rows], content: Mapping[str, Any], directory: Path, embedder: Embedder | None, *,
    progress: Progress, made_of: Sequence[str], wait_s: float,
) -> PackedLabels:  # fmt: skip
    """Build an index and open it; none of the steps is done twice, so that a run which was stopped goes on.

    :param content: entries of the manifest that say what the index is made of: made of anything else, it is stale.
    :param made_of: files of the graph: older indexes of them go.
    """
    tables = Tables(directory)
    with writer_lock(directory, wait_s=wait_s):
        remove_leftovers(directory)
        manifest, rows = tables.manifest(), None
        if manifest is None or not is_of(manifest, content):
            rows = read()
            progress("indexing labels", len(rows), len(rows))
            name = f"labels_{table_tag()}"
            counts = tables.put_blob(name, partial(pack, rows))
            manifest = {"labels": name, "vectors": {}, **counts, **content, "made_of": made_of}
            tables.publish(manifest)
        if embedder is not None and embedder.name not in manifest["vectors"]:
            texts = sorted({row.text for row in (read() if rows is None else rows)})
            name = _vector_table(embedder.name, texts)
            _drop_leftovers(tables, manifest, also=name)
            manifest["vectors"][embedder.name] = _embedded_texts(tables, name, texts, embedder, progress)
            tables.publish(manifest)
        _drop_leftovers(tables, manifest)
    if made_of:
        keep_newest(directory, MANIFEST, partial(_is_older, made_of))
    return opened_index(tables, manifest, embedder)


def _embedded_texts(
    tables: Tables, name: str, texts: Sequence[str], embedder: Embedder, progress: Progress
) -> dict[str, Any]:
    """Write a vector for each distinct text that has none yet, in their order; return the entry of the manifest.

    What was embedded before a Ctrl-C or an error is kept; a kill costs at most the last :data:`KEEP_EVERY` texts.
    """
    import pyarrow as pa

    table, kept = _kept_vectors(tables, name, len(texts))
    while kept < len(texts):
        pending = []
        try:
            for at in range(kept, min(kept + KEEP_EVERY, len(texts)), _BATCH_TEXTS):
                pending.append(embedder.embed(texts[at : at + _BATCH_TEXTS]))
                progress("embedding labels", min(at + _BATCH_TEXTS, len(texts)), len(texts))
        finally:
            if pending:
                vectors = np.concatenate(pending)
                end = kept + len(vectors)
                flat = pa.array(vectors.ravel(), pa.float32())
                columns = {
                    "number": pa.array(range(kept, end), pa.int64()),
                    "text": pa.array(texts[kept:end], pa.string()),
                    "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
                }
                table, kept = tables.written(name, pa.table(columns), table), end
    if len(texts) > EXACT_VECTORS:  # too many to compare them one by one
        with errors_translated(tables.directory):
            table.optimize()
            if not table.list_indices():
                table.create_index("vector", config=lancedb("index").HnswSq(distance_type="cosine"))
    return {"table": name, "texts": len(texts), "dimension": embedder.dimension}


def is_of(manifest: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Tell whether the index that a manifest describes was made of this."""
    return all(manifest.get(name) == value for name, value in content.items())


def _is_older(made_of: Sequence[str], directory: Path) -> bool:
    """Tell whether an index is of these files; one that took long to make stays, or has passages of texts."""
    manifest = Tables(directory).manifest() or {}
    took_long = manifest.get("vectors") and manifest["texts"] > EMBED_AT_ONCE
    return manifest.get("made_of") == made_of and not took_long and not any(directory.glob(f"*/{MANIFEST}"))


def _drop_leftovers(tables: Tables, manifest: dict[str, Any], also: str = "") -> None:
    """Drop the tables that builds left behind which were stopped, or are older."""
    named = {manifest["labels"], also, *(entry["table"] for entry in manifest["vectors"].values())}
    tables.drop(name for name in tables.names() if name not in named)


def _vector_table(embedder: str, texts: Iterable[str]) -> str:
    """Return the name of the table that holds an embedder's vectors of exactly these texts."""
    digest = hashlib.sha256(embedder.encode())
    for text in texts:
        digest.update(b"\0" + text.encode("utf-8", "replace"))
    return f"vectors_{digest.hexdigest()[:24]}"


def _kept_vectors(tables: Tables, name: str, most: int) -> tuple[Any, int]:
    """Find out how many texts, from the first on, have a vector from an earlier run, and in which table."""
    found = tables.open(name)
    if found is not None:
        with errors_translated(tables.directory):
            numbers = found.search().select(["number"]).limit(most + 1).to_arrow()["number"].to_numpy()
        if len(numbers) <= most and np.array_equal(np.sort(numbers), np.arange(len(numbers))):
            return found, len(numbers)
    return None, 0
