"""Labels of an endpoint that cannot be asked now: what is kept of them, whatever it holds meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgsparql.errors import StoreError
from kgsparql.graphs.profiles import WithProfile
from kgsparql.graphs.protocols import OpenedGraph, naming_of
from kgsparql.linking.labels.building import LabelIndex, opened, recipe
from kgsparql.linking.labels.kept import KeptLabels
from kgsparql.linking.labels.partial import open_slice
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.terms import printable
from kgsparql.storage.lance_tables import MANIFEST, Tables

__all__ = ["last_directory", "last_known"]


def last_directory(graph: OpenedGraph, parent: Path) -> Path | None:
    """Where the newest index of an endpoint is, below a directory: which is the right one only the endpoint knows."""
    if not isinstance(graph, WithProfile):
        return None
    made: list[tuple[str, Path]] = []
    for path in (parent / "labels").glob(f"*/{MANIFEST}"):
        with suppress(StoreError):  # of another version: its own graph will say so
            manifest = Tables(path.parent).manifest() or {}
            if manifest.get("account") == graph.account and manifest.get("recipe") == recipe(naming_of(graph)):
                made.append((_read(manifest), path.parent))
    return max(made)[1] if made else None


def _read(manifest: Mapping[str, Any]) -> str:
    """When the labels of an index were read; empty where it does not say so."""
    read = manifest.get("read")
    return read if isinstance(read, str) else ""


def last_known(
    graph: OpenedGraph, directory: Path | None, kept: KeptLabels, embedder: Embedder | None
) -> LabelIndex | None:
    """What is kept of the labels of an endpoint, and in its note what that is; ``None`` if nothing is.

    :param directory: of its index, as :func:`last_directory`.
    :param kept: a slice of it, for one that has no index.
    """
    tables = None if directory is None else Tables(directory)
    manifest = None if tables is None else tables.manifest()
    if tables is not None and manifest is not None:
        found = opened(tables, manifest, embedder)
        of = printable(_read(manifest).partition("T")[0], 40) or "an unknown day"
    else:
        part = open_slice(graph, kept, embedder)
        if part is None:
            return None
        read = (f"{page.entities:,} of <{name}>" for name, page in kept.pages().items() if page.entities)
        found, of = part, ", ".join(read)
    return replace(found, note=f"names of {graph.name} are those of {of}: it could not be asked")
