"""Building a label index in a directory: what it is made of, and the steps, none of which is done twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgsparql.errors import StoreError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.lance import opened_index, write_labels, write_rows
from kgsparql.linking.label_index.rows import Progress, Rows
from kgsparql.linking.label_index.search import LabelIndex
from kgsparql.linking.label_index.vectors import embed_texts, vector_table
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.atomic_replace import remove_leftovers
from kgsparql.storage.lance_tables import MANIFEST, Tables, table_tag
from kgsparql.storage.leftovers import keep_newest
from kgsparql.storage.location import Location

EMBED_AT_ONCE = 2_000
"""Up to so many texts are embedded on first use, in 2 to 4 s; more only by ``kgsparql index``."""
RECIPE = "labels-6"
"""Changes whenever the rows, the keys or the tables would be made differently."""


def recipe(naming: Naming) -> str:
    """The recipe for the rows of a graph with these label predicates; an index made by another recipe is stale."""
    known = Naming()  # links that a graph does not use change no row
    is_known = naming.labels == known.labels and set(naming.links) <= set(known.links)
    own = [] if is_known else [[p.value for p in naming.labels], [p.value for p in naming.links]]
    return json.dumps([RECIPE, *own])


@dataclass(frozen=True, slots=True)
class IndexContent:
    """What an index is made of: made of anything else, it is stale.

    :param fingerprint: of the graph's data, or of the part of them that was read.
    """

    name: str
    fingerprint: str
    recipe: str

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> IndexContent:
        """All labels of a graph as it is now."""
        return cls(graph.name, graph.fingerprint, recipe(graph.naming))

    def is_in(self, manifest: Mapping[str, Any]) -> bool:
        """Whether the index that a manifest describes was made of this."""
        return bool(manifest["fingerprint"] == self.fingerprint and manifest["recipe"] == self.recipe)


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds an index, or finishes building one.

    :param more: further entries of the manifest.
    :param is_part: of an index; it is merged with others and not searched, so it gets rows and vectors only.
    """

    content: IndexContent
    directory: Location
    embedder: Embedder | None
    progress: Progress | None = None
    cancel: threading.Event | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    is_part: bool = False

    def build(self, read: Callable[[], Rows], *, wait_s: float) -> LabelIndex:
        """The index, after doing all that was not done before.

        :param read: gives the labels; called if they are needed.
        :param wait_s: seconds to wait for another process that is building it.
        """
        tables = Tables(self.directory)
        rows: Rows | None = None
        with tables.lock(wait_s=wait_s):
            if isinstance(self.directory, Path):
                remove_leftovers(self.directory)
            manifest = self._usable_manifest(tables)
            if manifest is None:
                rows = read()
                manifest = self._write_labels(tables, rows)
            if self.embedder is not None and self.embedder.name not in manifest["vectors"]:
                rows = read() if rows is None else rows
                self._embed(tables, manifest, self.embedder, sorted({row.text for row in rows}))
            _sweep(tables, manifest)
        if not self.is_part and isinstance(self.directory, Path) and (sources := self.more.get("made_of")):
            _remove_older(self.directory, sources)
        return opened_index(tables, manifest, self.embedder)

    def _usable_manifest(self, tables: Tables) -> dict[str, Any] | None:
        manifest = tables.manifest()
        if manifest is None or not self.content.is_in(manifest):
            return None
        return manifest if tables.open(manifest["labels"]) is not None else None

    def _write_labels(self, tables: Tables, rows: Rows) -> dict[str, Any]:
        if self.progress is not None:
            self.progress("indexing labels", len(rows), len(rows))
        write = write_rows if self.is_part else write_labels
        manifest = write(tables, rows, self.content.name, table_tag())
        manifest |= {"fingerprint": self.content.fingerprint, "recipe": self.content.recipe, **self.more}
        tables.publish(manifest)
        return manifest

    def _embed(self, tables: Tables, manifest: dict[str, Any], embedder: Embedder, texts: list[str]) -> None:
        _sweep(tables, manifest, also=vector_table(embedder.name, texts))
        entry = embed_texts(tables, texts, embedder, progress=self.progress, cancel=self.cancel)
        manifest["vectors"][embedder.name] = entry
        tables.publish(manifest)


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


def _sweep(tables: Tables, manifest: dict[str, Any], also: str = "") -> None:
    """Drop the tables that stopped or older builds left behind."""
    named = {manifest["labels"], manifest.get("keys_table"), manifest.get("words"), also}
    named |= {entry["table"] for entry in manifest["vectors"].values()}
    tables.drop(name for name in tables.names() if name not in named)
