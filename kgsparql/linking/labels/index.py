"""The labels of a graph, ready to be searched: read when they are few, kept in LanceDB when they are many."""

from __future__ import annotations

import hashlib
import shlex
import threading
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kgsparql.errors import IndexStaleError, LimitError, ModelMismatchError, StoreError, StoreLockedError
from kgsparql.graphs.profiles import WithProfile
from kgsparql.graphs.protocols import OpenedGraph, naming_of
from kgsparql.linking.labels.building import RECIPE, Builder, Content, LabelIndex, opened, recipe
from kgsparql.linking.labels.kept import KeptLabels
from kgsparql.linking.labels.partial import looked_up
from kgsparql.linking.labels.reading import read_descriptions, read_labels, too_many
from kgsparql.linking.labels.rows import Progress
from kgsparql.linking.labels.search import MemoryLabels
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.lance_tables import Tables, lancedb

__all__ = [
    "EMBED_AT_ONCE",
    "MEMORY_ROWS",
    "RECIPE",
    "LabelIndex",
    "build_label_index",
    "index_directory",
    "is_looked_up",
    "label_index",
    "open_label_index",
]

MEMORY_ROWS = 20_000
"""Up to so many labels are read from the graph each time (0.5 s), because importing LanceDB alone takes 1 to 1.5 s."""
EMBED_AT_ONCE = 2_000
"""Up to so many texts are embedded on first use, in 2 to 4 s; more only when somebody asks for it."""


def index_directory(graph: OpenedGraph, parent: Path) -> Path:
    """Where the index of a graph belongs below a directory: another content or recipe, another place."""
    shared = _shared_address(graph)
    naming = naming_of(graph)
    made = RECIPE if naming == Naming() else recipe(naming)
    key = hashlib.sha256(f"{made}\n{graph.fingerprint if shared is None else shared}".encode()).hexdigest()
    return parent / "labels" / key[:32]


def _shared_address(graph: OpenedGraph) -> str | None:
    """The URL of an endpoint that is known to have too many labels: nor is it asked to count itself."""
    return graph.url if isinstance(graph, WithProfile) and graph.profile.has_many_labels else None


def label_index(
    graph: OpenedGraph,
    directory: Path,
    *,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    kept: KeptLabels | None = None,
    candidates: Embedder | None = None,
) -> LabelIndex:
    """The index of a graph for a question that wants it now: seconds, whatever was done before.

    One that was built is opened. Else few labels are held in memory, or embedded at once if there is an embedder;
    many are indexed for full-text search only. Those of an endpoint are always kept: they are read over the network.
    Where they are too many to be read, they are looked up for each question, beside those that are kept.

    :param directory: where it is, or will be, kept.
    :param kept: labels of an endpoint: a slice of it, and those of earlier answers.
    :param candidates: compares labels that are looked up with questions; ``embedder``, if ``None``.
    :raises IndexStaleError: if the one there was made from another graph or by another recipe.
    :raises ModelMismatchError: if the one there has vectors, but of another embedder, and more than are embedded here.
    :raises CancelledError: if ``cancel`` is set before it is ready.
    """
    remote = graph.is_remote
    if is_looked_up(graph, directory):
        return looked_up(graph, kept, candidates or embedder)
    found = _opened_or_embedded_again(graph, directory, embedder)
    if found is not None:
        is_wanted = embedder is not None and found.texts <= EMBED_AT_ONCE  # small enough to get its vectors now
        if found.embedder is not None or found.rows > MEMORY_ROWS or (remote and not is_wanted):
            return found
    try:
        rows = read_labels(graph, progress=progress, cancel=cancel, announce=_import_early)
    except LimitError:
        if not remote:
            raise
        _mark_large(directory)
        return looked_up(graph, kept, candidates or embedder)
    texts = len({row.text for row in rows})
    if embedder is not None and rows and texts <= EMBED_AT_ONCE:
        wanted = embedder
    elif len(rows) <= MEMORY_ROWS and not (remote and rows):
        return LabelIndex(MemoryLabels(rows), len(rows), texts)
    else:
        wanted = None
    builder = Builder(Content.of(graph), directory, wanted, progress, cancel, _origin(graph))
    try:
        return builder.build(lambda: rows, wait_s=30.0)
    except StoreLockedError:
        raise
    except StoreError as error:
        note = f"the label index is not kept (set KGSPARQL_CACHE_DIR to a directory you may write to): {error.message}"
        return LabelIndex(MemoryLabels(rows), len(rows), texts, note=note)


def is_looked_up(graph: OpenedGraph, directory: Path) -> bool:
    """Whether the labels of a graph are known to be too many to be read."""
    return graph.is_remote and (_shared_address(graph) is not None or _large(directory).exists())


def _large(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.large")


def _mark_large(directory: Path) -> None:
    """Note that the labels of this graph are too many, so that nobody tries again to read them."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        _large(directory).touch()
    except OSError:
        return  # where nothing can be kept, the next process finds out again


def _opened_or_embedded_again(graph: OpenedGraph, directory: Path, embedder: Embedder | None) -> LabelIndex | None:
    """What was built, or, of another embedder and so small that it is embedded at once, nothing."""
    try:
        return open_label_index(graph, directory, embedder=embedder)
    except ModelMismatchError:
        plain = open_label_index(graph, directory)
        if plain is None or plain.texts > EMBED_AT_ONCE:
            raise
        return None


def build_label_index(
    graph: OpenedGraph,
    directory: Path,
    *,
    embedder: Embedder | None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> LabelIndex:
    """Build, or finish building, everything: full text, descriptions, and a vector for each distinct text.

    Full-text search works as soon as the labels are written. Embedding goes on where an earlier run stopped.

    :param embedder: ``None`` leaves vectors out.
    :raises LimitError: if the labels of an endpoint are too many to be read.
    :raises StoreLockedError: if another process is building it.
    :raises EmbeddingError: if the embedder fails; what it did is kept.
    :raises CancelledError: if ``cancel`` is set before all is done; what was done is kept.
    """
    if _shared_address(graph) is not None:
        raise too_many(graph, "its profile says that they are too many")
    builder = Builder(Content.of(graph), directory, embedder, progress, cancel, _origin(graph))
    return builder.build(
        partial(read_labels, graph, progress=progress, cancel=cancel),
        wait_s=0.0,
        describe=partial(read_descriptions, graph, cancel=cancel),
    )


def _origin(graph: OpenedGraph) -> dict[str, str]:
    """Of which endpoint, by whom, and when labels were read: what they were is still known when it cannot be asked."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"account": graph.account, "read": now} if isinstance(graph, WithProfile) else {}


def open_label_index(
    graph: OpenedGraph,
    directory: Path,
    *,
    embedder: Embedder | None = None,
) -> LabelIndex | None:
    """The index that was built, ``None`` if none was, or none completely.

    :raises IndexStaleError: if it was made from another graph or by another recipe.
    :raises ModelMismatchError: if it has vectors, but of another embedder.
    """
    tables = Tables(directory)
    manifest = tables.manifest()
    if manifest is None:
        return None
    if not Content.of(graph).is_in(manifest):
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
    return opened(tables, manifest, embedder)


def _import_early(rows: int) -> None:
    """Import LanceDB while the graph is being read, if so many labels will need it: a second less to wait."""
    if rows > MEMORY_ROWS:
        threading.Thread(target=lancedb, name="kgsparql import", daemon=True).start()
