"""The label index of a graph: in memory for few labels, in LanceDB for many, looked up where they are too many."""

from __future__ import annotations

import hashlib
import os
import shlex
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.errors import IndexStaleError, LimitError, ModelMismatchError, StoreError, StoreLockedError
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.profiles.profile import WithProfile
from kgsparql.graphs.protocols import OpenedGraph, naming_of
from kgsparql.linking.label_index.building import EMBED_AT_ONCE, RECIPE, Builder, IndexContent, recipe
from kgsparql.linking.label_index.lance import opened_index
from kgsparql.linking.label_index.memory import memory_index
from kgsparql.linking.label_index.reading import read_labels, too_many
from kgsparql.linking.label_index.rows import Progress, Rows
from kgsparql.linking.label_index.search import LabelIndex
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.lance_tables import Tables, lancedb
from kgsparql.storage.location import Location

if TYPE_CHECKING:
    from kgsparql.linking.label_index.kept_labels import KeptLabels
    from kgsparql.linking.label_index.shards import Shard

MEMORY_ROWS = 20_000
"""Up to so many labels are read from the graph each time, in 0.5 s: to import LanceDB alone takes 1 to 1.5 s."""


def index_directory(graph: OpenedGraph, parent: Location) -> Location:
    """The place of a graph's index below a directory: another one for other data or another recipe."""
    url = _url_of_large(graph)
    own = recipe(naming_of(graph))
    made_by = RECIPE if own == recipe(Naming()) else own
    key = hashlib.sha256(f"{made_by}\n{graph.fingerprint if url is None else url}".encode()).hexdigest()
    return parent / "labels" / key[:32]


def _url_of_large(graph: OpenedGraph) -> str | None:
    """The URL of an endpoint whose profile says that it has too many labels; it is not asked for a fingerprint."""
    return graph.url if isinstance(graph, WithProfile) and graph.profile.has_many_labels else None


def label_index(
    graph: OpenedGraph,
    directory: Location,
    *,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    kept: KeptLabels | None = None,
    candidates: Embedder | None = None,
) -> LabelIndex:
    """The index of a graph for a question that needs it now: ready in seconds, whatever was done before.

    One that was built is opened. Else few labels are held in memory, or embedded at once if there is an embedder; many
    are indexed for full-text search only. Those of an endpoint are always kept, as they are read over the network.
    Where they are too many to be read, they are looked up for each question, beside those that are kept. In object
    storage, where no lock keeps two processes apart, no question makes an index.

    :param kept: labels of an endpoint: a slice of it, and those of earlier answers.
    :param candidates: compares labels that are looked up with questions; ``embedder``, if ``None``.
    :raises IndexStaleError: if the one there was made from another graph or by another recipe.
    :raises StoreError: if there is none in object storage, and the labels are many.
    :raises ModelMismatchError: if the one there has only vectors of another embedder, and more than are embedded here.
    :raises CancelledError: if ``cancel`` is set before it is ready.
    """
    if is_looked_up(graph, directory):
        return _with_lookup(graph, kept, candidates or embedder)
    found = _index_to_use(graph, directory, embedder)
    if found is not None:
        gets_vectors = embedder is not None and found.texts <= EMBED_AT_ONCE
        is_small = found.rows <= MEMORY_ROWS and not graph.is_remote
        is_complete = found.embedder is not None or (graph.is_remote and not gets_vectors)
        if found.rows > MEMORY_ROWS or (is_complete and not (is_small and gets_vectors)):
            return found
    try:
        rows = read_labels(graph, progress=progress, cancel=cancel, announce=_import_early)
    except LimitError:
        if not graph.is_remote:
            raise
        _mark_large(directory)
        return _with_lookup(graph, kept, candidates or embedder)
    is_embedded = bool(embedder and rows) and _has_few_texts(rows)
    is_kept = isinstance(directory, Path)
    if len(rows) <= MEMORY_ROWS and not (graph.is_remote and rows and is_kept):
        return memory_index(rows, (candidates or embedder) if is_embedded else None)
    if not is_kept:
        raise StoreError(
            f"{directory}: there is no index of {graph.name} as it is now",
            hint=f"run: kgsparql index -k {shlex.quote(graph.name)} --index URI",
        )
    builder = _builder(graph, directory, embedder if is_embedded else None, progress, cancel)
    try:
        return builder.build(lambda: rows, wait_s=30.0)
    except StoreLockedError:
        raise
    except StoreError as error:  # nothing can be written there
        note = f"the label index is not kept (set KGSPARQL_CACHE_DIR to a directory you may write to): {error.message}"
        return memory_index(rows, note=note)


def _with_lookup(graph: OpenedGraph, kept: KeptLabels | None, embedder: Embedder | None) -> LabelIndex:
    from kgsparql.linking.label_index.partial_index import index_with_lookup

    return index_with_lookup(graph, kept, embedder)


def _has_few_texts(rows: Rows) -> bool:
    """Whether these are few enough to be embedded at once; of millions, only some are looked at."""
    found: set[str] = set()
    for row in rows:
        found.add(row.text)
        if len(found) > EMBED_AT_ONCE:
            return False
    return True


def is_looked_up(graph: OpenedGraph, directory: Location) -> bool:
    """Whether the labels of a graph are known to be too many to read them."""
    is_marked = isinstance(directory, Path) and _large_mark(directory).exists()
    return graph.is_remote and (_url_of_large(graph) is not None or is_marked)


def _large_mark(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.large")


def _mark_large(directory: Location) -> None:
    """Mark this graph as one with too many labels, so that nobody tries again to read them."""
    if not isinstance(directory, Path):
        return
    with suppress(OSError):  # where nothing can be kept, the next process finds out again
        directory.parent.mkdir(parents=True, exist_ok=True)
        _large_mark(directory).touch()


def _index_to_use(graph: OpenedGraph, directory: Location, embedder: Embedder | None) -> LabelIndex | None:
    """The index that was built; ``None`` if it is small and has another embedder's vectors, so it is made again."""
    try:
        return open_label_index(graph, directory, embedder=embedder)
    except ModelMismatchError:
        plain = open_label_index(graph, directory)
        if plain is None or plain.texts > EMBED_AT_ONCE:
            raise
        return None


def build_label_index(
    graph: OpenedGraph,
    directory: Location,
    *,
    embedder: Embedder | None,
    progress: Progress | None = None,
    shard: Shard | None = None,
) -> LabelIndex:
    """Build, or finish building, the whole index: full text, and a vector for each distinct text.

    Full-text search works as soon as the labels are written. Embedding goes on where an earlier run stopped.

    :param shard: build only its part, below that directory, for :func:`merge_label_index`.
    :raises LimitError: if the labels of an endpoint are too many to be read.
    :raises StoreLockedError: if another process is building it.
    :raises EmbeddingError: if the embedder fails; what it did is kept.
    """
    if _url_of_large(graph) is not None:
        raise too_many(graph, "its profile says that they are too many")
    read = partial(read_labels, graph, progress=progress, shard=shard)
    builder = _builder(graph, directory, embedder, progress)
    if shard is not None:
        from kgsparql.linking.label_index.merging import FOLDER

        builder = replace(builder, directory=directory / FOLDER / shard.folder, is_part=True)
    return builder.build(read, wait_s=0.0)


def merge_label_index(
    graph: OpenedGraph,
    directory: Location,
    *,
    embedder: Embedder | None,
    progress: Progress | None = None,
) -> LabelIndex:
    """Join the parts that were built of all shards into the whole index, and remove them; nothing is embedded again.

    Vectors may differ from those of one run in their last digits, as those of any two runs of a model do.

    :raises StoreError: if a part is missing or not finished, or they are of different counts.
    :raises IndexStaleError: if a part was made of another state of the graph.
    :raises ModelMismatchError: if a part has other vectors than those of the embedder.
    :raises StoreLockedError: if another process is building or merging the index.
    """
    from kgsparql.linking.label_index.merging import MergedRows, MergedVectors, complete_parts

    builder = _builder(graph, directory, embedder, progress)
    parts = complete_parts(builder.content, directory, embedder)
    vectors = None if embedder is None else MergedVectors(parts, embedder)
    index = replace(builder, embedder=vectors).build(lambda: MergedRows(parts), wait_s=0.0)
    for part in parts:
        part.tables.remove()
    return index


def _builder(
    graph: OpenedGraph,
    directory: Location,
    embedder: Embedder | None,
    progress: Progress | None,
    cancel: threading.Event | None = None,
) -> Builder:
    """The builder of a graph's index; of an endpoint, the index also says whose labels it has, and when they were read.

    So the index can be found while the endpoint is down.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    origin: dict[str, object] = {"account": graph.account, "read": now} if isinstance(graph, WithProfile) else {}
    if isinstance(graph, OxigraphGraph) and all(source.source != "-" for source in graph.stored):
        origin["made_of"] = sorted(os.path.realpath(source.source) for source in graph.stored)
    return Builder(IndexContent.of(graph), directory, embedder, progress, cancel, origin)


def open_label_index(graph: OpenedGraph, directory: Location, *, embedder: Embedder | None = None) -> LabelIndex | None:
    """The index that was built; ``None`` if none was, or none completely.

    :raises IndexStaleError: if it was made from another graph or by another recipe.
    :raises ModelMismatchError: if it has vectors, but of another embedder.
    """
    tables = Tables(directory)
    manifest = tables.manifest()
    if manifest is None:
        return None
    if not IndexContent.of(graph).is_in(manifest):
        raise IndexStaleError(
            f"{directory}: the label index was made from other data than {graph.name} has now",
            hint=f"run: kgsparql index -k {shlex.quote(graph.name)}", path=str(directory),
        )  # fmt: skip
    if embedder is not None and manifest["vectors"] and embedder.name not in manifest["vectors"]:
        there = ", ".join(sorted(manifest["vectors"]))
        raise ModelMismatchError(
            f"{directory}: the label index has vectors of {there}, not of {embedder.name}",
            hint=f"use that embedder, or add yours: kgsparql index -k {shlex.quote(graph.name)} --embedder …",
            path=str(directory),
        )  # fmt: skip
    return opened_index(tables, manifest, embedder)


def _import_early(rows: int) -> None:
    """Import LanceDB while the graph is being read, if so many labels need it: saves a second."""
    if rows > MEMORY_ROWS:
        threading.Thread(target=lancedb, name="kgsparql import", daemon=True).start()
