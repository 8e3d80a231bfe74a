"""What is prepared for a graph: its label index, the embedder, and the linker that uses them.

The labels of a graph are packed into one run of bytes that is kept, and mapped by the next process; those of a small
graph are packed anew each time. The vectors of many texts are in LanceDB. An endpoint with too many labels to read
(Wikidata has hundreds of millions) is asked for them in each question.

Start reading at :func:`label_index`, which picks one of them for a question.
"""

from __future__ import annotations

import copy
import hashlib
import os
import shlex
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.dataclasses import dataclass
from kgsparql.errors import LimitError, OptionError, StoreError, StoreLockedError
from kgsparql.events import Tell, ignore
from kgsparql.graphs.adjacency import MIN_TRIPLES
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.packed import EMBED_AT_ONCE, PackedLabels, nearest_texts, pack
from kgsparql.linking.label_index.reading import Gathered, read_labels, too_many
from kgsparql.linking.label_index.search import LabelRow, Progress, recipe, silent
from kgsparql.linking.linker import Linker
from kgsparql.linking.ranking import Ranker, ranker_for
from kgsparql.models.embedders import VECTORS, CachedEmbedder, open_embedder
from kgsparql.models.embedding import INSTALL_HINT, Embedder, Floats
from kgsparql.rdf.terms import Json
from kgsparql.resources import cache_directory
from kgsparql.storage.files import digest_of, keep_newest, remove_leftovers, writer_lock
from kgsparql.storage.lance_tables import MANIFEST, Tables, errors_translated, lancedb

KEPT_ROWS = 1_000
"""Fewer labels are read anew: to keep them takes longer, but where they are among the names of a large graph."""


def index_directory(graph: KnowledgeGraph, parent: Path) -> Path:
    """Return where to keep the index of a graph. Other data or another recipe gives another place."""
    # A large endpoint is known by its URL: asking it for a fingerprint would count all its triples.
    made_of = graph.url if graph.profile.has_many_labels else graph.fingerprint
    return parent / "labels" / digest_of(f"{recipe(graph.naming)}\n{made_of}".encode())[:32]


def label_index(
    graph: KnowledgeGraph, directory: Path, *, embedder: Embedder | None = None, progress: Progress = silent,
    note: Tell = ignore, cancel: threading.Event | None = None,
) -> PackedLabels:  # fmt: skip
    """Return an index that is ready within seconds, whatever was built before.

    :param embedder: embeds the labels if they are few; many get only full-text search until ``kgsparql index`` runs.
    :param note: called with what a person should know, such as that nothing could be kept.
    :raises CancelledError: if ``cancel`` is set before the index is ready.
    """
    if is_looked_up(graph, directory):
        return _looked_up_index(graph, embedder)
    if (built := open_label_index(directory, embedder=embedder)) is not None:
        return built
    try:
        rows = Gathered(LabelRow, read_labels(graph, progress=progress, cancel=cancel))
    except LimitError:
        if not graph.is_remote:
            raise
        with suppress(OSError):  # without a writable cache, the next process finds out for itself
            directory.parent.mkdir(parents=True, exist_ok=True)
            _large_mark(directory).touch()
        return _looked_up_index(graph, embedder)
    takes_long = graph.is_remote or sum(source.triples for source in graph.stored) >= MIN_TRIPLES
    if len(rows) < (1 if takes_long else KEPT_ROWS):
        return PackedLabels.of(rows, embedder)
    try:
        manifest = _kept_index(graph, directory, lambda: rows, None, progress, wait_s=30.0)
    except StoreLockedError:
        raise
    except StoreError as error:  # better slow than nothing
        note(f"the label index is not kept (set KGSPARQL_CACHE_DIR to a directory you may write to): {error.message}")
        return PackedLabels.of(rows, embedder)
    return _opened_index(directory, manifest, embedder)


def is_looked_up(graph: KnowledgeGraph, directory: Path) -> bool:
    """Tell whether the labels of a graph are looked up: too many to read, or a linker finds them."""
    is_to_be = graph.profile.has_many_labels or graph.profile.linker_url
    return graph.is_remote and bool(is_to_be or _large_mark(directory).exists())


def _large_mark(directory: Path) -> Path:
    """Name the file beside an index that says that its graph has too many labels to read."""
    return directory.with_name(f"{directory.name}.large")


def _looked_up_index(graph: KnowledgeGraph, embedder: Embedder | None) -> PackedLabels:
    """Make an index that looks labels up for each question."""
    from kgsparql.linking.label_index.lookup import EndpointLabels  # most questions need none of it

    return EndpointLabels(graph, embedder=embedder)


def build_label_index(
    graph: KnowledgeGraph, directory: Path, *, embedder: Embedder | None, progress: Progress = silent
) -> PackedLabels:
    """Build the whole index: full text, and a vector for each distinct text. A run that was stopped goes on.

    Full-text search works as soon as the labels are written, while vectors are still being made.

    :raises LimitError: if the labels of an endpoint are too many to be read.
    :raises StoreLockedError: if another process is building it.
    :raises EmbeddingError: if the embedder fails; what it did is kept.
    """
    if graph.profile.has_many_labels:
        raise too_many(graph, "its profile says that they are too many")
    if isinstance(embedder, CachedEmbedder):  # the index keeps the vectors itself
        embedder = embedder.embedder
    read = partial(read_labels, graph, progress=progress)
    return _opened_index(directory, _kept_index(graph, directory, read, embedder, progress), embedder)


def open_label_index(directory: Path, *, embedder: Embedder | None = None) -> PackedLabels | None:
    """Open the index that is kept in the directory of a graph; ``None`` if there is no complete one."""
    manifest = Tables(directory).manifest()
    return None if manifest is None else _opened_index(directory, manifest, embedder)


# --- All that is prepared


class GraphIndexes:
    """Label index, embedder, ranker and linker of a graph: made or opened when they are first needed.

    :param embedder: ``auto``, ``none``, a model's name or path, or what makes vectors.
    :param note: called with each line a person should read.
    :param place: a directory below which indexes are; the cache directory, if ``None``.
    """

    def __init__(
        self, graph: KnowledgeGraph, *, languages: tuple[str, ...], embedder: str | Embedder | None,
        note: Tell, progress: Progress | None = None, place: str | Path | None = None,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.progress = progress or silent
        self._languages = languages
        self._embedder = embedder
        self._note = note
        if "://" in str(place):
            raise OptionError(f"{str(place)!r} is no place for an index", hint="name a directory")
        self._parent = None if place is None else Path(place).absolute()
        self._linker: Linker | None = None

    @cached_property
    def embedder(self) -> Embedder | None:
        """Return what turns texts into vectors; ``None`` if nothing does."""
        if not isinstance(self._embedder, str):
            return self._embedder
        found = open_embedder(self._embedder)
        if found is None and self._embedder == "auto":
            self._note(f"no embedding model: words are compared by spelling, not by meaning ({INSTALL_HINT})")
        return found

    @cached_property
    def ranker(self) -> Ranker:
        """Return what compares texts with questions; vectors of texts are kept, also for the next process."""
        return ranker_for(self._cached_embedder)

    @cached_property
    def _cached_embedder(self) -> Embedder | None:
        """Give the embedder a cache, unless the caller made the embedder, whose name may not be unique."""
        if self.embedder is None or not isinstance(self._embedder, str):
            return self.embedder
        return CachedEmbedder(self.embedder, cache_directory() / VECTORS, note=self._note)

    def of_changed(self, graph: KnowledgeGraph) -> GraphIndexes:
        """Return these indexes for the graph as it is now."""
        other = copy.copy(self)
        vars(other).update(graph=graph, _linker=None)
        return other

    def close(self) -> None:
        """Close the embedder that was opened here, and its file of vectors; the next text opens them again."""
        if isinstance(opened := vars(self).get("_cached_embedder"), CachedEmbedder):
            opened.close()

    @property
    def is_made(self) -> bool:
        """Tell whether the label index is there, so that a question need not make it."""
        return self._linker is not None or open_label_index(self.directory) is not None

    @property
    def index(self) -> PackedLabels:
        """Return the labels of the graph."""
        return self.linker.search

    @property
    def linker(self) -> Linker:
        """Return what finds entities in a question."""
        return self.linker_for(self.graph)

    def linker_for(self, graph: KnowledgeGraph, cancel: threading.Event | None = None) -> Linker:
        """Return the linker, with the index, which is read of this view of the graph if there is none yet."""
        if self._linker is None:
            self._linker = Linker(self._index_of(graph, cancel), languages=self._languages)
        return self._linker

    def _index_of(self, graph: KnowledgeGraph, cancel: threading.Event | None) -> PackedLabels:
        directory = index_directory(graph, self._parent or cache_directory())
        index = label_index(
            graph, directory, embedder=self._cached_embedder, progress=self.progress, note=self._note, cancel=cancel
        )
        if self.embedder is not None and index.embedder is None and index.row_count:
            files = [one.source for one in getattr(graph, "stored", ())]
            named = files if ", ".join(files) == graph.name else [graph.name]
            command = " ".join(["kgsparql index", *(f"-k {shlex.quote(one)}" for one in named)])
            self._note(f"{index.row_count:,} labels are searched by spelling; `{command}` adds search by meaning, once")
        return index

    @property
    def directory(self) -> Path:
        """Return where the label index of the graph is kept."""
        return index_directory(self.graph, self._parent or cache_directory())

    def description(self) -> str:
        """Say in a few words what is indexed; makes no index."""
        if is_looked_up(self.graph, self.directory):
            return "looked up for each question"
        index = open_label_index(self.directory)
        return "no index yet: the first question makes one" if index is None else f"{index.row_count:,} labels indexed"

    def build(self) -> PackedLabels:
        """Build the whole index, with vectors if there is an embedder."""
        return build_label_index(self.graph, self.directory, embedder=self.embedder, progress=self.progress)


# --- An index that is kept: the packed labels, and the vectors of their texts in LanceDB tables


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
        rows = self._tables.rows(query, ["text", "_distance"], limit).to_pydict()
        hits = sorted((round(far, 6), text) for text, far in zip(rows["text"], rows["_distance"], strict=True))
        return [(text, 1 - distance) for distance, text in hits]

    @cached_property
    def _text_matrix(self) -> tuple[list[str], Floats]:
        with errors_translated(self._tables.directory):
            data = self._tables.opened(self._entry["table"]).to_arrow().sort_by("number")
        flat = data["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return data["text"].to_pylist(), flat.reshape(len(data), -1)


def _opened_index(directory: Path, manifest: Mapping[str, Any], embedder: Embedder | None) -> PackedLabels:
    """Open the index that a manifest describes; with an embedder, if it has its vectors or can make them at once."""
    tables, entry = Tables(directory), None if embedder is None else manifest["vectors"].get(embedder.name)
    # The vectors of few texts are beside those of questions, where reading them takes a second less.
    is_beside = manifest["texts"] <= EMBED_AT_ONCE and isinstance(embedder, CachedEmbedder)
    vectors = None if entry is None or is_beside else LanceVectors(tables, entry)
    return PackedLabels(tables.blob(manifest["labels"]), embedder, vectors)


# --- Building


def _kept_index(
    graph: KnowledgeGraph, directory: Path, read: Callable[[], Iterable[LabelRow]], embedder: Embedder | None,
    progress: Progress, *, wait_s: float = 0.0,
) -> Json:  # fmt: skip
    """Build an index; none of the steps is done twice, so that a run which was stopped goes on; return its manifest."""
    has_files = graph.is_embedded and all(source.source != "-" for source in graph.stored)
    made_of = sorted(os.path.realpath(source.source) for source in graph.stored) if has_files else []
    tables = Tables(directory)
    with writer_lock(directory, wait_s=wait_s):
        remove_leftovers(directory)
        manifest = tables.manifest()
        if manifest is None:
            name = f"labels_{uuid.uuid4().hex[:12]}"  # of no other build: one that is being read is not overwritten
            counts = tables.put_blob(name, partial(pack, read()))
            manifest = {"labels": name, "vectors": {}, **counts, "made_of": made_of}
            tables.publish(manifest)
        if embedder is not None and embedder.name not in manifest["vectors"]:
            texts = sorted({row.text for row in PackedLabels(tables.blob(manifest["labels"])).rows()})
            name = _vector_table(embedder.name, texts)
            _drop_leftovers(tables, manifest, also=name)
            manifest["vectors"][embedder.name] = _embedded_texts(tables, name, texts, embedder, progress)
            tables.publish(manifest)
        _drop_leftovers(tables, manifest)
    if made_of:
        keep_newest(directory, MANIFEST, partial(_is_older, made_of))
    return manifest


def _embedded_texts(
    tables: Tables, name: str, texts: Sequence[str], embedder: Embedder, progress: Progress
) -> dict[str, Any]:
    """Write a vector for each distinct text that has none yet, in their order; return the entry of the manifest.

    What was embedded before a Ctrl-C or an error is kept; a kill costs at most the last :data:`KEEP_EVERY` texts.
    """
    total = len(texts)
    import pyarrow as pa

    table, kept = _kept_vectors(tables, name, total)
    while kept < total:
        pending = []
        try:
            for at in range(kept, min(kept + KEEP_EVERY, total), _BATCH_TEXTS):
                pending.append(embedder.embed(texts[at : at + _BATCH_TEXTS]))
                progress("embedding labels", min(at + _BATCH_TEXTS, total), total)
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
    if total > EXACT_VECTORS:  # too many to compare them one by one
        with errors_translated(tables.directory):
            table.optimize()
            if not table.list_indices():
                table.create_index("vector", config=lancedb("index").HnswSq(distance_type="cosine"))
    return {"table": name, "texts": total, "dimension": embedder.dimension}


def _is_older(made_of: Sequence[str], directory: Path) -> bool:
    """Tell whether an index is of these files; one that took long to make stays."""
    manifest = Tables(directory).manifest() or {}
    took_long = manifest.get("vectors") and manifest["texts"] > EMBED_AT_ONCE
    return manifest.get("made_of") == made_of and not took_long


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
