"""Labels in LanceDB tables: the rows, their words, and the vectors of their texts; searched and built."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import CancelledError, StoreError
from kgsparql.linking.label_index.memory import memory_index, nearest_places
from kgsparql.linking.label_index.search import (
    LabelIndex,
    LabelRow,
    LabelSearch,
    Progress,
    Rows,
    SpellingSearch,
    Vocabulary,
    silent,
)
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.terms import normalised
from kgsparql.storage.files import keep_newest, remove_leftovers
from kgsparql.storage.lance_tables import (
    MANIFEST,
    Location,
    Tables,
    errors_translated,
    lancedb,
    one_of,
    row_tuples,
    table_tag,
)

EMBED_AT_ONCE = 2_000
"""Up to so many texts are embedded on first use, in 2 to 4 s; more only by ``kgsparql index``."""
EXACT_VECTORS = 100_000
"""Up to so many vectors are compared one by one in NumPy: at 100,000 reading them takes 0.23 s and a search 4 ms,
where an HNSW index takes a minute to build and answers in 9 ms."""
KEEP_EVERY = 2_048
"""Texts whose vectors are written together: a kill may cost them, some 4 s of work."""

_BATCH_TEXTS = 256
_KEYS_AT_ONCE = 5_000
_MOST_COMPARED = 5_000_000  # keys that are read into memory to look for typing errors
_MOST_HELD = 500_000  # rows that are held in memory, in some 65 MB,
_HELD_AFTER = 20  # by a process that looked keys up more often: reading them takes as long as some fifty queries
_WRITTEN_AT_ONCE = 250_000  # rows: each write is a new version of the table, and holds its rows in memory
_COLUMNS = list(LabelRow._fields)


class LanceLabels(LabelSearch):
    """Labels in the tables of a directory.

    :param manifest: as :class:`Builder` publishes it.
    """

    def __init__(self, tables: Tables, manifest: dict[str, Any], embedder: str | None = None) -> None:
        self._tables = tables
        self._manifest = manifest
        self._vectors_entry = manifest["vectors"].get(embedder)
        self._searches = 0

    @property
    def has_vectors(self) -> bool:
        """See :meth:`LabelSearch.has_vectors`."""
        return self._vectors_entry is not None

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:  # noqa: ARG002 - reading all takes some milliseconds
        """See :meth:`LabelSearch.vocabulary`."""
        return self._whole_vocabulary

    def held_rows(self) -> Iterable[LabelRow]:
        """See :meth:`LabelSearch.held_rows`."""
        is_held = self._manifest["rows"] <= _MOST_HELD
        return map(LabelRow._make, row_tuples(self._columns_of("labels", *_COLUMNS))) if is_held else ()

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """See :meth:`LabelSearch.exact`."""
        self._searches += 1
        is_held = self._searches > _HELD_AFTER and self._manifest["rows"] <= _MOST_HELD
        found = self._held_rows.with_keys(keys) if is_held else self._rows_with_keys(sorted(set(keys)))
        return sorted(found, key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.with_words`."""
        return self._full_text_rows(" ".join(wanted), "key", limit)

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.like`."""
        return self._full_text_rows(key, "text", limit)

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """See :meth:`LabelSearch.near`; of very many labels, only keys that share trigrams are found."""
        if words:
            spellings = self._word_spellings
        elif self._manifest["keys"] > _MOST_COMPARED:
            spellings = SpellingSearch.of({row.key for row in self.like(text, limit=100)})
        else:
            spellings = self._key_spellings
        return spellings.near(text, edits=edits)

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """See :meth:`LabelSearch.nearest`."""
        if self._vectors_entry["texts"] <= EXACT_VECTORS:
            texts, matrix = self._text_matrix
            found = [[(texts[i], cosine) for i, cosine in hits] for hits in nearest_places(vectors, matrix, limit)]
        else:
            found = [self._nearest_by_index(vector, limit) for vector in vectors]
        rows: dict[str, list[LabelRow]] = {text: [] for hits in found for text, _ in hits}
        for row in self.exact(set(map(normalised, rows))):
            if row.text in rows:
                rows[row.text].append(row)
        return [[(row, cosine) for text, cosine in hits for row in rows[text]] for hits in found]

    def _nearest_by_index(self, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        query = self._tables.opened(self._vectors_entry["table"]).search(vector, vector_column_name="vector")
        query = query.distance_type("cosine").ef(200).refine_factor(2)
        hits = self._rows_of_query(query, ["text", "_distance"], limit)
        return [(text, 1 - distance) for distance, text in sorted((round(far, 6), text) for text, far in hits)]

    def _full_text_rows(self, text: str, column: str, limit: int) -> list[LabelRow]:
        if not text.strip():
            return []
        # No fuzziness: trigrams already forgive typing errors.
        search = self._label_table.search(lancedb("query").MatchQuery(text, column), query_type="fts")
        # Twice the limit, so that among equals the same rows are kept every time.
        found = self._rows_of_query(search, [*_COLUMNS, "_score"], 2 * limit)
        return [row for _, row in sorted((-round(row[-1], 4), LabelRow(*row[:-1])) for row in found)[:limit]]

    def _rows_with_keys(self, keys: Sequence[str]) -> Iterator[LabelRow]:
        for at in range(0, len(keys), _KEYS_AT_ONCE):
            query = self._label_table.search().where(one_of("key", keys[at : at + _KEYS_AT_ONCE]))
            yield from map(LabelRow._make, self._rows_of_query(query, _COLUMNS))

    def _rows_of_query(self, query: Any, columns: list[str], limit: int = 1_000_000) -> list[tuple[Any, ...]]:
        return row_tuples(self._tables.rows(query, columns, limit))

    def _columns_of(self, table: str, *columns: str) -> Any:
        """Read some columns of a table that the manifest names, whole."""
        return self._tables.rows(self._tables.opened(self._manifest[table]).search(), columns).combine_chunks()

    @cached_property
    def _label_table(self) -> Any:
        return self._tables.opened(self._manifest["labels"])

    @cached_property
    def _whole_vocabulary(self) -> Vocabulary:
        known, counts = self._manifest, dict(row_tuples(self._columns_of("words", "word", "labels")))
        return Vocabulary(counts, known["keys"], frozenset(known["type_stems"]), known["capitals_tell"])

    @cached_property
    def _held_rows(self) -> _HeldRows:
        return _HeldRows(self._columns_of("labels", *_COLUMNS))

    @cached_property
    def _text_matrix(self) -> tuple[list[str], NDArray[np.float32]]:
        with errors_translated(self._tables.directory):
            data = self._tables.opened(self._vectors_entry["table"]).to_arrow().sort_by("number")
        flat = data["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return data["text"].to_pylist(), flat.reshape(len(data), -1)

    @cached_property
    def _key_spellings(self) -> SpellingSearch:
        return self._read_spellings("labels", "key")

    @cached_property
    def _word_spellings(self) -> SpellingSearch:
        return self._read_spellings("words", "word")

    def _read_spellings(self, table: str, column: str) -> SpellingSearch:
        """Read the texts of a column: those of a million labels are held in some 30 MB."""
        from pyarrow import compute

        texts = compute.unique(self._columns_of(table, column)[column])
        texts = texts.take(compute.array_sort_indices(compute.utf8_length(texts)))
        return SpellingSearch(compute.utf8_length(texts).to_numpy(), lambda start, end: texts[start:end].to_pylist())


class _HeldRows:
    """Rows held as Arrow columns: a key takes a few microseconds, where a query of LanceDB takes four milliseconds.

    300,000 rows take 40 MB, and a quarter of a second of processor time to make.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        hashes = np.fromiter(map(hash, table["key"].to_pylist()), dtype=np.int64, count=len(table))
        self._places = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._places]

    def with_keys(self, keys: Collection[str]) -> Iterator[LabelRow]:
        asked = set(keys)
        wanted = np.array(sorted(set(map(hash, asked))), dtype=np.int64)
        starts, ends = (np.searchsorted(self._hashes, wanted, side) for side in ("left", "right"))
        places = [self._places[start:end] for start, end in zip(starts, ends, strict=True)]
        found = self._table.take(np.concatenate([np.zeros(0, dtype=np.int64), *places]))
        return (row for row in map(LabelRow._make, row_tuples(found)) if row.key in asked)  # others may share a hash


def opened_index(tables: Tables, manifest: dict[str, Any], embedder: Embedder | None) -> LabelIndex:
    """Open the index that a manifest describes, with the vectors of an embedder if it has them."""
    if (held := held_rows(manifest)) is not None:
        return memory_index(held, embedder if manifest["texts"] <= EMBED_AT_ONCE else None)
    name = embedder.name if embedder is not None and embedder.name in manifest["vectors"] else None
    search = LanceLabels(tables, manifest, name)
    return LabelIndex(search, manifest["rows"], manifest["texts"], name, tables.directory)


def held_rows(manifest: Mapping[str, Any]) -> list[LabelRow] | None:
    """Return the rows that a manifest holds itself, as they are few; ``None`` where they are in a table."""
    return [LabelRow._make(row) for row in manifest["held"]] if "held" in manifest else None


# --- Building


@dataclass(frozen=True, slots=True)
class Builder:
    """Builder of an index; none of its steps is done twice, so that a run which was stopped goes on.

    :param content: entries of the manifest that say what the index is made of: made of anything else, it is stale.
    :param more: further entries of the manifest.
    """

    content: Mapping[str, Any]
    directory: Location
    embedder: Embedder | None
    progress: Progress = silent
    cancel: threading.Event = field(default_factory=threading.Event)
    more: Mapping[str, Any] = field(default_factory=dict)

    def build(self, read: Callable[[], Rows], *, wait_s: float = 0.0) -> LabelIndex:
        """Do all that was not done before, and open the index."""
        tables, embedder = Tables(self.directory), self.embedder
        with tables.lock(wait_s=wait_s):
            if isinstance(self.directory, Path):
                remove_leftovers(self.directory)
            manifest, rows = tables.manifest(), None
            is_known = manifest is not None and is_of(manifest, self.content)
            if manifest is None or not is_known or "held" in manifest or tables.open(manifest["labels"]) is None:
                rows = (held_rows(manifest) if manifest and is_known else None) or read()
                self.progress("indexing labels", len(rows), len(rows))
                manifest = _write_labels(tables, rows) | dict(self.content) | dict(self.more)
                tables.publish(manifest)
            if embedder is not None and embedder.name not in manifest["vectors"]:
                texts = sorted({row.text for row in (read() if rows is None else rows)})
                name = _vector_table(embedder.name, texts)
                _drop_leftovers(tables, manifest, also=name)
                manifest["vectors"][embedder.name] = self._embedded_texts(tables, name, texts, embedder)
                tables.publish(manifest)
            _drop_leftovers(tables, manifest)
        if isinstance(self.directory, Path) and (sources := self.more.get("made_of")):
            _remove_older(self.directory, sources)
        return opened_index(tables, manifest, embedder)

    def hold(self, rows: Rows) -> None:
        """Keep rows that are few in the manifest: whoever opens them needs no LanceDB, whose import takes seconds."""
        tables, texts = Tables(self.directory), len({row.text for row in rows})
        held = {"held": list(map(list, rows)), "rows": len(rows), "texts": texts, "vectors": {}}
        with tables.lock(wait_s=30.0):
            tables.publish(held | dict(self.content) | dict(self.more))

    def _embedded_texts(self, tables: Tables, name: str, texts: Sequence[str], embedder: Embedder) -> dict[str, Any]:
        """Write a vector for each distinct text that has none yet, in their order; return the entry of the manifest.

        What was embedded before a Ctrl-C or an error is kept; a kill costs at most the last :data:`KEEP_EVERY` texts.
        """
        import pyarrow as pa

        table, kept = _kept_vectors(tables, name, len(texts))
        pending: list[NDArray[np.float32]] = []

        def keep_pending() -> None:
            nonlocal table, kept
            if not pending:
                return
            vectors = np.concatenate(pending)
            pending.clear()
            end = kept + len(vectors)
            columns = {
                "number": pa.array(range(kept, end), pa.int64()),
                "text": pa.array(texts[kept:end], pa.string()),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), vectors.shape[1]),
            }
            table, kept = tables.written(name, pa.table(columns), table), end

        try:
            while (done := kept + sum(map(len, pending))) < len(texts):
                if self.cancel.is_set():
                    raise CancelledError("stopped while embedding", hint="run it again: it goes on from here")
                pending.append(embedder.embed(texts[done : done + _BATCH_TEXTS]))
                if len(pending) * _BATCH_TEXTS >= KEEP_EVERY:
                    keep_pending()
                self.progress("embedding labels", min(done + _BATCH_TEXTS, len(texts)), len(texts))
        finally:
            keep_pending()
        if len(texts) > EXACT_VECTORS:  # too many to compare them one by one
            with errors_translated(tables.directory):
                table.optimize()
                if not table.list_indices():
                    table.create_index("vector", config=lancedb("index").HnswSq(distance_type="cosine"))
        return {"table": name, "texts": len(texts), "dimension": embedder.dimension}


def _write_labels(tables: Tables, rows: Rows) -> dict[str, Any]:
    """Write the rows and their words, and index both; return what the manifest says about them."""
    import pyarrow as pa
    from pyarrow import compute

    tag, schema = table_tag(), pa.schema([(name, pa.int32() if name == "degree" else pa.string()) for name in _COLUMNS])
    labels, unread, parts = None, iter(rows), []
    while (some := list(islice(unread, _WRITTEN_AT_ONCE))) or labels is None:
        data = pa.table([[row[i] for row in some] for i in range(len(_COLUMNS))], schema=schema)
        labels = tables.written(f"labels_{tag}", data, labels)
        parts.append(data.select(["key", "text"]))
    texts = pa.concat_tables(parts)
    vocabulary = Vocabulary.of(rows, compute.unique(texts["key"]).to_pylist())
    schema = pa.schema([("word", pa.string()), ("labels", pa.int32())])
    tables.written(f"words_{tag}", pa.table([list(vocabulary.counts), list(vocabulary.counts.values())], schema=schema))
    if len(rows):
        indexes = lancedb("index")
        plain: dict[str, Any] = {"stem": False, "remove_stop_words": False, "with_position": False}
        with errors_translated(tables.directory):
            labels.create_index("key", config=indexes.BTree())
            # Trigrams of the texts, for typing errors; whole words of the keys.
            parts_of_words = indexes.FTS(base_tokenizer="ngram", ngram_min_length=3, ngram_max_length=3, **plain)
            labels.create_index("text", config=parts_of_words)
            whole = indexes.FTS(base_tokenizer="whitespace", **plain)
            labels.create_index("key", config=whole, name="key_words", replace=False)
    return {
        "labels": f"labels_{tag}", "words": f"words_{tag}", "rows": len(rows), "keys": vocabulary.labels,
        "texts": compute.count_distinct(texts["text"]).as_py(), "vectors": {},
        "type_stems": sorted(vocabulary.type_stems), "capitals_tell": vocabulary.capitals_tell,
    }  # fmt: skip


def is_of(manifest: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Tell whether the index that a manifest describes was made of this."""
    return all(manifest.get(name) == value for name, value in content.items())


def _remove_older(directory: Path, sources: object) -> None:
    """Keep the newest two indexes of files that change; one that took long to make stays, or has passages of texts."""
    older = []
    for file in directory.parent.glob(f"*/{MANIFEST}"):
        if any(file.parent.glob(f"*/{MANIFEST}")):
            continue
        with suppress(OSError, ValueError, StoreError):
            manifest = Tables(file.parent).manifest() or {}
            if manifest.get("made_of") == sources and file.parent != directory and manifest["texts"] <= EMBED_AT_ONCE:
                older.append(file)
    keep_newest(older)


def _drop_leftovers(tables: Tables, manifest: dict[str, Any], also: str = "") -> None:
    """Drop the tables that builds left behind which were stopped, or are older."""
    named = {manifest["labels"], manifest["words"], also}
    named |= {entry["table"] for entry in manifest["vectors"].values()}
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
