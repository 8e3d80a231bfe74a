"""Labels in LanceDB tables: the rows, their words, and the vectors of their texts; written and searched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import StoreError
from kgsparql.linking.label_index.held_rows import HeldRows
from kgsparql.linking.label_index.memory import nearest_places
from kgsparql.linking.label_index.rows import LabelRow, Rows
from kgsparql.linking.label_index.search import LabelIndex, LabelSearch, Vocabulary
from kgsparql.linking.label_index.spelling import SpellingSearch, signatures
from kgsparql.linking.label_index.vectors import EXACT_VECTORS
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.terms import normalised
from kgsparql.storage.lance_tables import Tables, errors_translated, lancedb, one_of

_KEYS_AT_ONCE = 5_000
MAX_COMPARED = 5_000_000
"""Up to so many keys, or words, are read into memory to look for typing errors."""
MAX_HELD = 500_000
"""Up to so many rows are held in memory, in some 65 MB,"""
_HELD_AFTER = 20
"""by a process that looked keys up more often than this: reading them takes as long as some fifty queries."""
_COLUMNS = list(LabelRow._fields)
_WRITTEN_AT_ONCE = 250_000
"""Rows that are written together: each write is a new version of the table, and holds its rows in memory."""


class LanceLabels(LabelSearch):
    """Labels in the tables of a directory.

    :param manifest: as :func:`write_labels` makes it.
    """

    def __init__(self, tables: Tables, manifest: dict[str, Any], embedder: str | None = None) -> None:
        self._tables = tables
        self._manifest = manifest
        self._vectors_entry = manifest["vectors"].get(embedder)
        self._searches = 0

    @property
    def has_vectors(self) -> bool:
        """As :meth:`LabelSearch.has_vectors`."""
        return self._vectors_entry is not None

    @cached_property
    def _labels(self) -> Any:
        return self._table(self._manifest["labels"])

    @cached_property
    def _words(self) -> Any:
        return self._table(self._manifest["words"])

    def _table(self, name: str) -> Any:
        table = self._tables.open(name)
        if table is None:
            gone = self._tables.manifest() is None
            raise StoreError(
                f"{self._tables.directory}: the table {name} is {'gone' if gone else 'damaged'}",
                hint="it was removed meanwhile; ask again" if gone else "delete that directory; it is made again",
            )
        return table

    @cached_property
    def _key_spellings(self) -> SpellingSearch:
        return self._spellings(self._table(self._manifest["keys_table"]), "key")

    @cached_property
    def _word_spellings(self) -> SpellingSearch:
        return self._spellings(self._words, "word")

    def _spellings(self, table: Any, column: str) -> SpellingSearch:
        """The texts of a column: those of a million labels are held in some 30 MB."""
        from pyarrow import compute

        with errors_translated(self._tables.directory):
            data = table.search().select([column, "signature"]).to_arrow().combine_chunks()
        texts = data[column].combine_chunks()
        found = data["signature"].to_numpy()
        return SpellingSearch(compute.utf8_length(texts).to_numpy(), found, lambda at: texts.take(at).to_pylist())

    def near_keys(self, key: str, *, edits: int) -> list[tuple[str, int]]:
        """As :meth:`LabelSearch.near_keys`; of very many labels, only keys that share trigrams."""
        if self._manifest["keys"] > MAX_COMPARED:
            return SpellingSearch.of({row.key for row in self.like(key, limit=100)}).near(key, edits=edits)
        return self._key_spellings.near(key, edits=edits)

    def near_words(self, word: str, *, edits: int) -> list[tuple[str, int]]:
        """As :meth:`LabelSearch.near_words`; none where there are very many words."""
        return [] if self._manifest["words_count"] > MAX_COMPARED else self._word_spellings.near(word, edits=edits)

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """As :meth:`LabelSearch.vocabulary`."""
        if self._manifest["words_count"] <= MAX_COMPARED:
            return self._vocabulary
        return self._vocabulary_of(dict(self._rows_with(self._words, "word", wanted, ["word", "labels"])))

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        """All words: read in a few milliseconds, where a query for some takes two or three."""
        with errors_translated(self._tables.directory):
            data = self._words.search().select(["word", "labels"]).to_arrow()
        return self._vocabulary_of(dict(_tuples(data)))

    def _vocabulary_of(self, counts: Mapping[str, int]) -> Vocabulary:
        known = self._manifest
        return Vocabulary(counts, known["keys"], frozenset(known["type_stems"]), known["capitals_tell"])

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """As :meth:`LabelSearch.exact`."""
        self._searches += 1
        if self._searches > _HELD_AFTER and self._manifest["rows"] <= MAX_HELD:
            return self._held.exact(keys)
        found = (LabelRow(*row) for row in self._rows_with(self._labels, "key", keys, _COLUMNS))
        return sorted(found, key=lambda row: (row.key, row))

    @cached_property
    def _held(self) -> HeldRows:
        with errors_translated(self._tables.directory):
            return HeldRows(self._labels.search().select(_COLUMNS).to_arrow().select(_COLUMNS))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.with_words`."""
        return self._full_text_rows(" ".join(wanted), "key", limit)

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.like`."""
        return self._full_text_rows(key, "text", limit)

    def _full_text_rows(self, text: str, column: str, limit: int) -> list[LabelRow]:
        if not text.strip():
            return []
        # No fuzziness: trigrams already forgive typing errors.
        match = lancedb("query").MatchQuery(text, column)
        found = self._rows(self._labels.search(match, query_type="fts"), [*_COLUMNS, "_score"], 2 * limit)
        # Twice the limit was asked for, so that among equals the same rows are kept every time.
        rows = sorted((-round(row[-1], 4), LabelRow(*row[:-1])) for row in found)
        return [row for _, row in rows[:limit]]

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """As :meth:`LabelSearch.nearest`."""
        if self._vectors_entry["texts"] <= EXACT_VECTORS:
            all_texts, matrix = self._matrix
            found = [[(all_texts[i], cosine) for i, cosine in hits] for hits in nearest_places(vectors, matrix, limit)]
        else:
            found = self._indexed_nearest(vectors, limit)
        texts = {text for hits in found for text, _ in hits}
        rows: dict[str, list[LabelRow]] = {text: [] for text in texts}
        for row in self.exact({normalised(text) for text in texts}):
            if row.text in rows:
                rows[row.text].append(row)
        return [[(row, cosine) for text, cosine in hits for row in rows[text]] for hits in found]

    @cached_property
    def _matrix(self) -> tuple[list[str], NDArray[np.float32]]:
        with errors_translated(self._tables.directory):
            data = self._table(self._vectors_entry["table"]).to_arrow().sort_by("number")
        flat = data["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return data["text"].to_pylist(), flat.reshape(len(data), -1)

    def _indexed_nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[tuple[str, float]]]:
        table = self._table(self._vectors_entry["table"])
        found = []
        for vector in vectors:
            query = table.search(vector, vector_column_name="vector").distance_type("cosine").ef(200).refine_factor(2)
            hits = self._rows(query, ["text", "_distance"], limit)
            ranked = sorted((round(distance, 6), text) for text, distance in hits)
            found.append([(text, 1 - distance) for distance, text in ranked])
        return found

    def _rows_with(
        self, table: Any, column: str, values: Collection[str], columns: list[str]
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a table that have one of some values in a column."""
        wanted = sorted(set(values))
        for at in range(0, len(wanted), _KEYS_AT_ONCE):
            yield from self._rows(table.search().where(one_of(column, wanted[at : at + _KEYS_AT_ONCE])), columns)

    def _rows(self, query: Any, columns: list[str], limit: int = 1_000_000) -> list[tuple[Any, ...]]:
        with errors_translated(self._tables.directory):
            return _tuples(query.select(columns).limit(limit).to_arrow().select(columns))


def _tuples(table: Any) -> list[tuple[Any, ...]]:
    """The rows of an Arrow table, three times as fast as dictionaries."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def opened_index(tables: Tables, manifest: dict[str, Any], embedder: Embedder | None) -> LabelIndex:
    """The index that a manifest describes, with the vectors of an embedder if it has them."""
    name = embedder.name if embedder is not None and embedder.name in manifest["vectors"] else None
    search = LanceLabels(tables, manifest, name)
    return LabelIndex(search, manifest["rows"], manifest["texts"], name, tables.directory)


def write_rows(tables: Tables, rows: Rows, source: str, tag: str) -> dict[str, Any]:
    """Write the rows, without anything to search them by; gives what the manifest says about them."""
    return _written_rows(tables, rows, source, tag)[1]


def _written_rows(tables: Tables, rows: Rows, source: str, tag: str) -> tuple[Any, dict[str, Any], Any]:
    """The table of the rows, what the manifest says about them, and an Arrow array of their keys, each once."""
    import pyarrow as pa
    from pyarrow import compute

    columns = [*_COLUMNS, "source"]
    schema = pa.schema([(name, pa.int32() if name == "degree" else pa.string()) for name in columns])
    name, table, unread, parts = f"labels_{tag}", None, iter(rows), []
    while (some := list(islice(unread, _WRITTEN_AT_ONCE))) or table is None:
        data = pa.table(
            [*([row[i] for row in some] for i in range(len(_COLUMNS))), [source] * len(some)], schema=schema
        )
        if table is None:
            table = tables.create(name, data)
        else:
            with errors_translated(tables.directory):
                table.add(data)
        parts.append(data.select(["key", "text"]))
    texts = pa.concat_tables(parts)
    count = compute.count_distinct(texts["text"]).as_py()
    manifest = {"labels": name, "rows": len(rows), "texts": count, "vectors": {}}
    return table, manifest, compute.unique(texts["key"])


def write_labels(tables: Tables, rows: Rows, source: str, tag: str) -> dict[str, Any]:
    """Write the rows and their words, and index both; gives what the manifest says about them."""
    import pyarrow as pa

    indexes = lancedb("index")
    labels, written, keys = _written_rows(tables, rows, source, tag)
    vocabulary = Vocabulary.of(rows, keys.to_pylist())
    listed = _spelled("word", pa.array(list(vocabulary.counts), pa.string()))
    counts = pa.array([vocabulary.counts[word] for word in listed["word"].to_pylist()], pa.int32())
    kept = tables.create(f"words_{tag}", listed.append_column("labels", counts))
    tables.create(f"keys_{tag}", _spelled("key", keys))
    if len(rows):
        plain: dict[str, Any] = {"stem": False, "remove_stop_words": False, "with_position": False}
        with errors_translated(tables.directory):
            labels.create_index("key", config=indexes.BTree())
            # Trigrams of the texts, for typing errors; whole words of the keys.
            parts = indexes.FTS(base_tokenizer="ngram", ngram_min_length=3, ngram_max_length=3, **plain)
            labels.create_index("text", config=parts)
            labels.create_index(
                "key", config=indexes.FTS(base_tokenizer="whitespace", **plain), name="key_words", replace=False
            )
            kept.create_index("word", config=indexes.BTree())
    return written | {
        "keys_table": f"keys_{tag}",
        "words": f"words_{tag}",
        "words_count": len(vocabulary.counts),
        "keys": vocabulary.labels,
        "type_stems": sorted(vocabulary.type_stems),
        "capitals_tell": vocabulary.capitals_tell,
    }


def _spelled(column: str, texts: Any) -> Any:
    """An Arrow table of an array of texts, the shortest first, with their signatures."""
    import pyarrow as pa
    from pyarrow import compute

    lengths = compute.utf8_length(texts)
    order = [("length", "ascending"), (column, "ascending")]
    ordered = pa.table({column: texts, "length": lengths}).sort_by(order).select([column])
    found = [signatures(batch[column].to_pylist()) for batch in ordered.to_batches(max_chunksize=_WRITTEN_AT_ONCE)]
    return ordered.append_column("signature", pa.array(np.concatenate([signatures([]), *found]), pa.uint64()))
