"""The labels of an endpoint that are not all indexed: looked up by question, beside a slice and earlier answers."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import asdict, replace
from pathlib import Path

from kgsparql.graphs.profiles import WithProfile, profile_of
from kgsparql.graphs.protocols import KnowledgeGraph, naming_of
from kgsparql.linking.labels.building import Builder, Content, LabelIndex, opened, recipe
from kgsparql.linking.labels.endpoint import EndpointLabels
from kgsparql.linking.labels.joining import LayeredLabels
from kgsparql.linking.labels.kept import KEPT, KeptLabels, SeenLabels
from kgsparql.linking.labels.rows import Progress
from kgsparql.linking.labels.search import LabelSearch, MemoryLabels
from kgsparql.models.embedding import Embedder
from kgsparql.storage.lance_tables import Tables

__all__ = ["build_slice", "kept_labels", "looked_up", "open_slice"]


def kept_labels(graph: KnowledgeGraph, parent: Path) -> KeptLabels:
    """The labels kept of an endpoint, as who asks sees it, below a directory.

    They stay whatever becomes of what it holds; where it names things by other predicates they are others.
    """
    place = graph.account if isinstance(graph, WithProfile) else graph.name
    key = hashlib.sha256(f"{recipe(naming_of(graph))}\nkept\n{place}".encode()).hexdigest()
    return KeptLabels(parent / "labels" / key[:32] / KEPT)


def looked_up(graph: KnowledgeGraph, kept: KeptLabels | None, embedder: Embedder | None) -> LabelIndex:
    """Labels that are asked for question by question, beside those that are kept."""
    profile = profile_of(graph)
    notes: list[str] = []
    seen = None if kept is None else SeenLabels(kept, notes.append)
    parts: list[LabelSearch] = [
        EndpointLabels(
            graph,
            text_search=profile.text_search,
            search_host=profile.search_host,
            degree_predicate=profile.degree_predicate,
            embedder=embedder,
            known=seen,
        )
    ]
    part = None if kept is None else open_slice(graph, kept, embedder)
    parts += [] if part is None else [part.search]
    return LabelIndex(
        LayeredLabels(tuple(parts), "" if part is None else part.note),
        rows=0 if part is None else part.rows,
        texts=0 if part is None else part.texts,
        embedder=None if embedder is None else embedder.name,
        directory=None if part is None else part.directory,
        note="; ".join(notes),
        is_partial=True,
    )


def _content(graph: KnowledgeGraph, kept: KeptLabels) -> Content:
    """What the index of a slice is made of: it is another one when more was read."""
    read = [[name, page.last, page.entities] for name, page in kept.pages().items() if page.entities]
    return Content(graph.name, hashlib.sha256(json.dumps(read).encode()).hexdigest(), recipe(naming_of(graph)))


def build_slice(
    graph: KnowledgeGraph,
    kept: KeptLabels,
    *,
    embedder: Embedder | None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> LabelIndex:
    """Index the labels that were read of some classes of an endpoint, with vectors if there is an embedder."""
    more = {"slice": {name: asdict(page) for name, page in kept.pages().items()}}
    builder = Builder(_content(graph, kept), kept.path.parent, embedder, progress, cancel, more)
    return builder.build(kept.paged, wait_s=0.0)


def open_slice(graph: KnowledgeGraph, kept: KeptLabels, embedder: Embedder | None) -> LabelIndex | None:
    """The index of the slice of an endpoint, or, of one that was not finished, the labels read so far."""
    pages = {name: page for name, page in kept.pages().items() if page.entities}
    if not pages:
        return None
    named = ", ".join(f"{page.entities:,} of <{name}>" for name, page in pages.items())
    note = f"of {graph.name} only the labels of some entities are indexed: {named}"
    tables = Tables(kept.path.parent)
    manifest = tables.manifest()
    if manifest is not None and _content(graph, kept).is_in(manifest):
        return replace(opened(tables, manifest, embedder), note=note)
    rows = kept.paged()
    return LabelIndex(MemoryLabels(rows), len(rows), len({row.text for row in rows}), note=note)
