"""The labels of a graph, ready to be searched: read when they are few, kept in LanceDB when they are many."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kgsparql.embedding import Embedder
from kgsparql.errors import IndexStaleError, ModelMismatchError, StoreError, StoreLockedError
from kgsparql.graph import KnowledgeGraph
from kgsparql.graphs.locks import writer_lock
from kgsparql.label_reading import is_remote, read_descriptions, read_labels
from kgsparql.label_rows import LabelRow, Progress
from kgsparql.label_search import LabelSearch, MemoryLabels
from kgsparql.label_tables import LanceLabels, write_descriptions, write_labels
from kgsparql.label_vectors import embed_texts, vector_table
from kgsparql.tables import Tables, lancedb
from kgsparql.terms import IRI

__all__ = [
    "EMBED_AT_ONCE",
    "MEMORY_ROWS",
    "RECIPE",
    "IndexedGraph",
    "LabelIndex",
    "build_label_index",
    "index_directory",
    "label_index",
    "open_label_index",
]

RECIPE = "labels-4"
"""Changes whenever the rows, the keys or the tables would be made differently."""
MEMORY_ROWS = 20_000
"""Up to so many labels are read from the graph each time (0.5 s), because importing LanceDB alone takes 1 to 1.5 s."""
EMBED_AT_ONCE = 2_000
"""Up to so many texts are embedded on first use, in 2 to 4 s; more only when somebody asks for it."""


class IndexedGraph(KnowledgeGraph, Protocol):
    """A graph whose labels can be kept, because it can say whether it has changed."""

    @property
    def fingerprint(self) -> str:
        """A hash of what the graph holds."""
        ...


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """What a linker searches.

    :param rows: how many labels there are.
    :param texts: how many of them differ.
    :param embedder: whose vectors all labels have; ``None`` if they have none.
    :param directory: where it is kept; ``None`` for one that is made again each time.
    :param note: what a person should know, such as that nothing could be kept.
    """

    search: LabelSearch
    rows: int = 0
    texts: int = 0
    embedder: str | None = None
    directory: Path | None = None
    note: str = ""


def index_directory(graph: IndexedGraph, parent: Path) -> Path:
    """Where the index of a graph belongs below a directory: another content or recipe, another place."""
    key = hashlib.sha256(f"{RECIPE}\n{graph.fingerprint}".encode()).hexdigest()
    return parent / "labels" / key[:32]


def label_index(
    graph: IndexedGraph,
    directory: Path,
    *,
    embedder: Embedder | None = None,
    label_predicates: Iterable[IRI] = (),
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> LabelIndex:
    """The index of a graph for a question that wants it now: seconds, whatever was done before.

    One that was built is opened. Else few labels are held in memory, or embedded at once if there is an embedder;
    many are indexed for full-text search only. Those of an endpoint are always kept: they are read over the network.

    :param directory: where it is, or will be, kept.
    :raises IndexStaleError: if the one there was made from another graph or by another recipe.
    :raises ModelMismatchError: if the one there has vectors, but of another embedder, and more than are embedded here.
    :raises LimitError: if the labels of an endpoint are too many to be read.
    :raises CancelledError: if ``cancel`` is set before it is ready.
    """
    remote = is_remote(graph)
    found = _opened_or_embedded_again(graph, directory, embedder, label_predicates)
    if found is not None:
        is_wanted = embedder is not None and found.texts <= EMBED_AT_ONCE  # small enough to get its vectors now
        if found.embedder is not None or found.rows > MEMORY_ROWS or (remote and not is_wanted):
            return found
    rows = read_labels(
        graph, label_predicates=label_predicates, progress=progress, cancel=cancel, announce=_import_early
    )
    texts = len({row.text for row in rows})
    if embedder is not None and rows and texts <= EMBED_AT_ONCE:
        wanted = embedder
    elif len(rows) <= MEMORY_ROWS and not (remote and rows):
        return LabelIndex(MemoryLabels(rows), len(rows), texts)
    else:
        wanted = None
    builder = _Builder(graph, directory, wanted, tuple(label_predicates), progress, cancel)
    try:
        return builder.build(rows, wait_s=30.0, with_descriptions=False)
    except StoreLockedError:
        raise
    except StoreError as error:
        note = f"the label index is not kept (set KGSPARQL_CACHE_DIR to a directory you may write to): {error.message}"
        return LabelIndex(MemoryLabels(rows), len(rows), texts, note=note)


def _opened_or_embedded_again(
    graph: IndexedGraph, directory: Path, embedder: Embedder | None, label_predicates: Iterable[IRI]
) -> LabelIndex | None:
    """What was built, or, of another embedder and so small that it is embedded at once, nothing."""
    try:
        return open_label_index(graph, directory, embedder=embedder, label_predicates=label_predicates)
    except ModelMismatchError:
        plain = open_label_index(graph, directory, label_predicates=label_predicates)
        if plain is None or plain.texts > EMBED_AT_ONCE:
            raise
        return None


def build_label_index(
    graph: IndexedGraph,
    directory: Path,
    *,
    embedder: Embedder | None,
    label_predicates: Iterable[IRI] = (),
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> LabelIndex:
    """Build, or finish building, everything: full text, descriptions, and a vector for each distinct text.

    Full-text search works as soon as the labels are written. Embedding goes on where an earlier run stopped.

    :param embedder: ``None`` leaves vectors out.
    :raises StoreLockedError: if another process is building it.
    :raises EmbeddingError: if the embedder fails; what it did is kept.
    :raises CancelledError: if ``cancel`` is set before all is done; what was done is kept.
    """
    builder = _Builder(graph, directory, embedder, tuple(label_predicates), progress, cancel)
    return builder.build(None, wait_s=0.0, with_descriptions=True)


def open_label_index(
    graph: IndexedGraph,
    directory: Path,
    *,
    embedder: Embedder | None = None,
    label_predicates: Iterable[IRI] = (),
) -> LabelIndex | None:
    """The index that was built, ``None`` if none was, or none completely.

    :raises IndexStaleError: if it was made from another graph or by another recipe.
    :raises ModelMismatchError: if it has vectors, but of another embedder.
    """
    tables = Tables(directory)
    manifest = tables.manifest()
    if manifest is None:
        return None
    if manifest["fingerprint"] != graph.fingerprint or manifest["recipe"] != _recipe(label_predicates):
        raise IndexStaleError(
            f"{directory}: the label index was made from other data than {graph.name} has now",
            hint=f"run: kgsparql index -k {graph.name}", path=str(directory),
        )  # fmt: skip
    if embedder is not None and manifest["vectors"] and embedder.name not in manifest["vectors"]:
        there = ", ".join(sorted(manifest["vectors"]))
        raise ModelMismatchError(
            f"{directory}: the label index has vectors of {there}, not of {embedder.name}",
            hint=f"use that embedder, or add yours: kgsparql index -k {graph.name} --embedder …", path=str(directory),
        )  # fmt: skip
    return _opened(tables, manifest, embedder)


def _opened(tables: Tables, manifest: dict[str, Any], embedder: Embedder | None) -> LabelIndex:
    name = embedder.name if embedder is not None and embedder.name in manifest["vectors"] else None
    search = LanceLabels(tables, manifest, name)
    return LabelIndex(search, manifest["rows"], manifest["texts"], name, tables.directory)


def _recipe(label_predicates: Iterable[IRI]) -> str:
    return json.dumps([RECIPE, *sorted(predicate.value for predicate in label_predicates)])


@dataclass(frozen=True, slots=True)
class _Builder:
    graph: IndexedGraph
    directory: Path
    embedder: Embedder | None
    label_predicates: tuple[IRI, ...]
    progress: Progress | None
    cancel: threading.Event | None

    def build(self, rows: Sequence[LabelRow] | None, *, wait_s: float, with_descriptions: bool) -> LabelIndex:
        tables = Tables(self.directory)
        with writer_lock(self.directory, wait_s=wait_s):
            manifest = self._current(tables)
            if manifest is None:
                rows = self._rows() if rows is None else rows
                manifest = self._write_labels(tables, rows)
            if with_descriptions and "descriptions" not in manifest:
                found = read_descriptions(self.graph, cancel=self.cancel)
                manifest |= write_descriptions(tables, found, _tag())
                tables.publish(manifest)
            if self.embedder is not None and self.embedder.name not in manifest["vectors"]:
                rows = self._rows() if rows is None else rows
                self._embed(tables, manifest, self.embedder, sorted({row.text for row in rows}))
            _sweep(tables, manifest)
        return _opened(tables, manifest, self.embedder)

    def _rows(self) -> list[LabelRow]:
        return read_labels(
            self.graph, label_predicates=self.label_predicates, progress=self.progress, cancel=self.cancel
        )

    def _current(self, tables: Tables) -> dict[str, Any] | None:
        manifest = tables.manifest()
        if manifest is None or manifest["fingerprint"] != self.graph.fingerprint:
            return None
        is_whole = manifest["recipe"] == _recipe(self.label_predicates) and tables.open(manifest["labels"]) is not None
        return manifest if is_whole else None

    def _write_labels(self, tables: Tables, rows: Sequence[LabelRow]) -> dict[str, Any]:
        if self.progress is not None:
            self.progress("indexing labels", len(rows), len(rows))
        manifest = write_labels(tables, rows, self.graph.name, _tag())
        manifest |= {"fingerprint": self.graph.fingerprint, "recipe": _recipe(self.label_predicates)}
        tables.publish(manifest)
        return manifest

    def _embed(self, tables: Tables, manifest: dict[str, Any], embedder: Embedder, texts: list[str]) -> None:
        _sweep(tables, manifest, also=vector_table(embedder.name, texts))
        entry = embed_texts(tables, texts, embedder, progress=self.progress, cancel=self.cancel)
        manifest["vectors"][embedder.name] = entry
        tables.publish(manifest)


def _import_early(rows: int) -> None:
    """Import LanceDB while the graph is being read, if so many labels will need it: a second less to wait."""
    if rows > MEMORY_ROWS:
        threading.Thread(target=lancedb, name="kgsparql import", daemon=True).start()


def _tag() -> str:
    """Names no two builds share, so that one that is being read is never overwritten."""
    return uuid.uuid4().hex[:12]


def _sweep(tables: Tables, manifest: dict[str, Any], also: str = "") -> None:
    """Drop what stopped or older builds left behind."""
    named = {manifest["labels"], manifest["words"], manifest.get("descriptions", ""), also}
    named |= {entry["table"] for entry in manifest["vectors"].values()}
    tables.drop(name for name in tables.names() if name not in named)
