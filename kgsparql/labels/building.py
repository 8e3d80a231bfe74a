"""Label indexes being built: what a directory of them says of itself, and the steps that are never done twice."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kgsparql.embedding import Embedder
from kgsparql.graph import KnowledgeGraph, naming_of
from kgsparql.graphs.locks import writer_lock
from kgsparql.labels.reading import read_descriptions, read_labels
from kgsparql.labels.rows import LabelRow, Progress
from kgsparql.labels.search import LabelSearch
from kgsparql.labels.tables import LanceLabels, write_descriptions, write_labels
from kgsparql.labels.vectors import embed_texts, vector_table
from kgsparql.tables import Tables
from kgsparql.vocabulary import Naming

__all__ = ["RECIPE", "Builder", "IndexedGraph", "LabelIndex", "opened", "recipe"]

RECIPE = "labels-4"
"""Changes whenever the rows, the keys or the tables would be made differently."""


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
    :param is_partial: there are more labels than these, which are looked up for each question.
    """

    search: LabelSearch
    rows: int = 0
    texts: int = 0
    embedder: str | None = None
    directory: Path | None = None
    note: str = ""
    is_partial: bool = False


def opened(tables: Tables, manifest: dict[str, Any], embedder: Embedder | None) -> LabelIndex:
    """The index that a manifest describes, with the vectors of an embedder if it has them."""
    name = embedder.name if embedder is not None and embedder.name in manifest["vectors"] else None
    search = LanceLabels(tables, manifest, name)
    return LabelIndex(search, manifest["rows"], manifest["texts"], name, tables.directory)


def recipe(naming: Naming) -> str:
    """How the rows of a graph are made that names things so: an index that was made by another is another index."""
    own = [] if naming == Naming() else [[p.value for p in naming.labels], [p.value for p in naming.links]]
    return json.dumps([RECIPE, *own])


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds an index, or finishes building one.

    :param more: what the manifest says besides.
    """

    graph: IndexedGraph
    directory: Path
    embedder: Embedder | None
    progress: Progress | None
    cancel: threading.Event | None
    more: Mapping[str, Any] = field(default_factory=dict)

    def build(self, rows: Sequence[LabelRow] | None, *, wait_s: float, with_descriptions: bool) -> LabelIndex:
        """The index, with all that was not there yet.

        :param rows: the labels; read from the graph, if ``None``.
        :param wait_s: for another process that is building it.
        """
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
        return opened(tables, manifest, self.embedder)

    def _rows(self) -> list[LabelRow]:
        return read_labels(self.graph, progress=self.progress, cancel=self.cancel)

    def _current(self, tables: Tables) -> dict[str, Any] | None:
        manifest = tables.manifest()
        if manifest is None or manifest["fingerprint"] != self.graph.fingerprint:
            return None
        is_whole = manifest["recipe"] == recipe(naming_of(self.graph)) and tables.open(manifest["labels"]) is not None
        return manifest if is_whole else None

    def _write_labels(self, tables: Tables, rows: Sequence[LabelRow]) -> dict[str, Any]:
        if self.progress is not None:
            self.progress("indexing labels", len(rows), len(rows))
        manifest = write_labels(tables, rows, self.graph.name, _tag())
        manifest |= {"fingerprint": self.graph.fingerprint, "recipe": recipe(naming_of(self.graph)), **self.more}
        tables.publish(manifest)
        return manifest

    def _embed(self, tables: Tables, manifest: dict[str, Any], embedder: Embedder, texts: list[str]) -> None:
        _sweep(tables, manifest, also=vector_table(embedder.name, texts))
        entry = embed_texts(tables, texts, embedder, progress=self.progress, cancel=self.cancel)
        manifest["vectors"][embedder.name] = entry
        tables.publish(manifest)


def _tag() -> str:
    """Names no two builds share, so that one that is being read is never overwritten."""
    return uuid.uuid4().hex[:12]


def _sweep(tables: Tables, manifest: dict[str, Any], also: str = "") -> None:
    """Drop what stopped or older builds left behind."""
    named = {manifest["labels"], manifest["words"], manifest.get("descriptions", ""), also}
    named |= {entry["table"] for entry in manifest["vectors"].values()}
    tables.drop(name for name in tables.names() if name not in named)
