"""The labels of an endpoint that are not all indexed: looked up by question, beside a slice and earlier answers."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kgsparql.embedding import Embedder
from kgsparql.graphs.profiles import UNKNOWN
from kgsparql.labels.building import RECIPE, Builder, IndexedGraph, LabelIndex, opened, recipe
from kgsparql.labels.endpoint import EndpointLabels
from kgsparql.labels.joining import JoinedLabels, SliceLabels
from kgsparql.labels.kept import KEPT, KeptLabels, SeenLabels
from kgsparql.labels.rows import Progress
from kgsparql.labels.search import LabelSearch, MemoryLabels
from kgsparql.tables import Tables
from kgsparql.vocabulary import Naming

__all__ = ["build_slice", "kept_labels", "looked_up"]


def kept_labels(graph: IndexedGraph, parent: Path) -> KeptLabels:
    """The labels kept of an endpoint, below a directory; they stay whatever becomes of what it holds."""
    key = hashlib.sha256(f"{RECIPE}\nkept\n{getattr(graph, 'url', graph.name)}".encode()).hexdigest()
    return KeptLabels(parent / "labels" / key[:32] / KEPT)


def looked_up(graph: IndexedGraph, kept: KeptLabels | None, embedder: Embedder | None) -> LabelIndex:
    """Labels that are asked for question by question, beside those that are kept."""
    profile = getattr(graph, "profile", UNKNOWN)
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
    part = None if kept is None else _open_slice(graph, kept, embedder)
    parts += [] if part is None else [SliceLabels(part.search, part.note)]
    return LabelIndex(
        JoinedLabels(parts),
        rows=0 if part is None else part.rows,
        texts=0 if part is None else part.texts,
        embedder=None if embedder is None else embedder.name,
        directory=None if part is None else part.directory,
        note="; ".join(notes),
        is_partial=True,
    )


@dataclass(frozen=True, slots=True)
class _Slice:
    """What the index of a slice is made from: it is another one when more was read."""

    name: str
    fingerprint: str

    @classmethod
    def of(cls, graph: IndexedGraph, kept: KeptLabels) -> _Slice:
        read = [[name, page.last, page.entities] for name, page in kept.pages().items() if page.entities]
        return cls(graph.name, hashlib.sha256(json.dumps(read).encode()).hexdigest())


def build_slice(
    graph: IndexedGraph,
    kept: KeptLabels,
    *,
    embedder: Embedder | None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> LabelIndex:
    """Index the labels that were read of some classes of an endpoint, as :func:`build_label_index` does all labels."""
    part = _Slice.of(graph, kept)
    more = {"slice": {name: asdict(page) for name, page in kept.pages().items()}}
    builder = Builder(part, kept.path.parent, embedder, progress, cancel, more)  # type: ignore[arg-type]
    return builder.build(kept.paged(), wait_s=0.0, with_descriptions=False)


def _open_slice(graph: IndexedGraph, kept: KeptLabels, embedder: Embedder | None) -> LabelIndex | None:
    """The index of the slice of an endpoint, or, of one that was not finished, the labels read so far."""
    pages = {name: page for name, page in kept.pages().items() if page.entities}
    if not pages:
        return None
    named = ", ".join(f"{page.entities:,} of <{name}>" for name, page in pages.items())
    note = f"of {graph.name} only the labels of some entities are indexed: {named}"
    part = _Slice.of(graph, kept)
    tables = Tables(kept.path.parent)
    manifest = tables.manifest()
    if manifest is not None and (manifest["fingerprint"], manifest["recipe"]) == (part.fingerprint, recipe(Naming())):
        return replace(opened(tables, manifest, embedder), note=note)
    rows = kept.paged()
    return LabelIndex(MemoryLabels(rows), len(rows), len({row.text for row in rows}), note=note)
