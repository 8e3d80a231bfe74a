"""Label indexes being built: what a directory of them says of itself, and the steps that are never done twice."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgsparql.graphs.protocols import OpenedGraph, naming_of
from kgsparql.linking.labels.rows import Description, LabelRow, Progress
from kgsparql.linking.labels.search import LabelSearch
from kgsparql.linking.labels.tables import LanceLabels, write_descriptions, write_labels
from kgsparql.linking.labels.vectors import embed_texts, vector_table
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.file_lock import writer_lock
from kgsparql.storage.lance_tables import Tables

__all__ = ["RECIPE", "Builder", "Content", "LabelIndex", "opened", "recipe"]

RECIPE = "labels-4"
"""Changes whenever the rows, the keys or the tables would be made differently."""


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
class Content:
    """What an index is made of: of anything else it is another index.

    :param fingerprint: of what the graph holds, or of the part of it that was read.
    :param recipe: as :func:`recipe`.
    """

    name: str
    fingerprint: str
    recipe: str

    @classmethod
    def of(cls, graph: OpenedGraph) -> Content:
        """All labels of a graph as it is now."""
        return cls(graph.name, graph.fingerprint, recipe(naming_of(graph)))

    def is_in(self, manifest: Mapping[str, Any]) -> bool:
        """Whether the index that a manifest describes was made of this."""
        return bool(manifest["fingerprint"] == self.fingerprint and manifest["recipe"] == self.recipe)


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds an index, or finishes building one.

    :param more: what the manifest says besides.
    """

    content: Content
    directory: Path
    embedder: Embedder | None
    progress: Progress | None
    cancel: threading.Event | None
    more: Mapping[str, Any] = field(default_factory=dict)

    def build(
        self,
        read: Callable[[], Sequence[LabelRow]],
        *,
        wait_s: float,
        describe: Callable[[], Sequence[Description]] | None = None,
    ) -> LabelIndex:
        """The index, with all that was not there yet.

        :param read: gives the labels, if they are needed.
        :param wait_s: for another process that is building it.
        :param describe: gives the descriptions, if these are to be in it and are not.
        """
        tables = Tables(self.directory)
        rows: Sequence[LabelRow] | None = None
        with writer_lock(self.directory, wait_s=wait_s):
            manifest = self._current(tables)
            if manifest is None:
                rows = read()
                manifest = self._write_labels(tables, rows)
            if describe is not None and "descriptions" not in manifest:
                manifest |= write_descriptions(tables, describe(), _tag())
                tables.publish(manifest)
            if self.embedder is not None and self.embedder.name not in manifest["vectors"]:
                rows = read() if rows is None else rows
                self._embed(tables, manifest, self.embedder, sorted({row.text for row in rows}))
            _sweep(tables, manifest)
        return opened(tables, manifest, self.embedder)

    def _current(self, tables: Tables) -> dict[str, Any] | None:
        manifest = tables.manifest()
        if manifest is None or not self.content.is_in(manifest):
            return None
        return manifest if tables.open(manifest["labels"]) is not None else None

    def _write_labels(self, tables: Tables, rows: Sequence[LabelRow]) -> dict[str, Any]:
        if self.progress is not None:
            self.progress("indexing labels", len(rows), len(rows))
        manifest = write_labels(tables, rows, self.content.name, _tag())
        manifest |= {"fingerprint": self.content.fingerprint, "recipe": self.content.recipe, **self.more}
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
