"""Choose and open the label index of a graph.

There are three kinds, because no single one is fast for all graphs:

* in memory, for up to 20,000 labels: reading them takes 0.5 s, importing LanceDB alone takes 1 to 1.5 s;
* in LanceDB, on disk or in object storage, for more labels;
* looked up for each question, for an endpoint with too many labels to read (Wikidata has hundreds of millions).

Start reading at :func:`label_index`, which picks one of them for a question.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import threading
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.errors import IndexStaleError, LimitError, ModelMismatchError, StoreError, StoreLockedError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.lance import EMBED_AT_ONCE, Builder, IndexContent, opened_index
from kgsparql.linking.label_index.memory import memory_index
from kgsparql.linking.label_index.reading import read_labels, too_many
from kgsparql.linking.label_index.rows import RECIPE, Progress, Rows, recipe
from kgsparql.linking.label_index.search import LabelIndex
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.lance_tables import Location, Tables, lancedb

if TYPE_CHECKING:
    from kgsparql.linking.label_index.kept import KeptLabels

MEMORY_ROWS = 20_000
"""Keep at most this many labels in memory."""


def index_directory(graph: KnowledgeGraph, parent: Location) -> Location:
    """Return where to keep the index of a graph. Other data or another recipe gives another place."""
    # A large endpoint is known by its URL: asking it for a fingerprint would count all its triples.
    url = _url_if_large(graph)
    own = recipe(graph.naming)
    made_by = RECIPE if own == recipe(Naming()) else own
    key = hashlib.sha256(f"{made_by}\n{graph.fingerprint if url is None else url}".encode()).hexdigest()
    return parent / "labels" / key[:32]


def _url_if_large(graph: KnowledgeGraph) -> str | None:
    """Return the URL of an endpoint whose profile says that it has too many labels to read."""
    return graph.url if graph.profile.has_many_labels else None


def label_index(
    graph: KnowledgeGraph,
    directory: Location,
    *,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    kept: KeptLabels | None = None,
    candidates: Embedder | None = None,
) -> LabelIndex:
    """Return an index that is ready within seconds, whatever was built before.

    :param embedder: embeds the labels if they are few; many get only full-text search until ``kgsparql index`` runs.
    :param kept: labels of a large endpoint that were kept: a slice of it, and those of earlier answers.
    :param candidates: compares labels that are looked up with the question; ``embedder`` by default.
    :raises IndexStaleError: if the index there was made from other data or by another recipe.
    :raises StoreError: if object storage has no index and the labels are many.
    :raises ModelMismatchError: if the index there only has vectors of another embedder and is too big to embed anew.
    :raises CancelledError: if ``cancel`` is set before the index is ready.
    """
    if is_looked_up(graph, directory):
        return _index_with_lookup(graph, kept, candidates or embedder)
    built = _built_index(graph, directory, embedder)
    if built is not None and not _is_better_made_anew(built, graph, embedder):
        return built
    try:
        rows = read_labels(graph, progress=progress, cancel=cancel, announce=_import_early)
    except LimitError:
        if not graph.is_remote:
            raise
        if (mark := _large_mark(directory)) is not None:  # so that the next question does not try to read them again
            with suppress(OSError):  # without a writable cache, the next process finds out for itself
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()
        return _index_with_lookup(graph, kept, candidates or embedder)
    embeds_now = bool(embedder and rows) and _has_few_texts(rows)
    # Labels of an endpoint are kept even if they are few: reading them again would cost its operators queries.
    if len(rows) <= MEMORY_ROWS and not (graph.is_remote and rows and isinstance(directory, Path)):
        return memory_index(rows, (candidates or embedder) if embeds_now else None)
    return _kept_index(_index_builder(graph, directory, embedder if embeds_now else None, progress, cancel), rows)


def _kept_index(builder: Builder, rows: Rows) -> LabelIndex:
    """Build the index of these rows; hold them in memory if the cache cannot be written: better slow than nothing."""
    if not isinstance(builder.directory, Path):  # no lock keeps two processes apart in object storage
        raise StoreError(
            f"{builder.directory}: there is no index of {builder.content.name} as it is now",
            hint=f"run: kgsparql index -k {shlex.quote(builder.content.name)} --index URI",
        )
    try:
        return builder.build(lambda: rows, wait_s=30.0)
    except StoreLockedError:
        raise
    except StoreError as error:
        note = f"the label index is not kept (set KGSPARQL_CACHE_DIR to a directory you may write to): {error.message}"
        return memory_index(rows, note=note)


def _index_with_lookup(graph: KnowledgeGraph, kept: KeptLabels | None, embedder: Embedder | None) -> LabelIndex:
    from kgsparql.linking.label_index.lookup import index_with_lookup  # most questions need none of it

    return index_with_lookup(graph, kept, embedder)


def _is_better_made_anew(built: LabelIndex, graph: KnowledgeGraph, embedder: Embedder | None) -> bool:
    """Tell whether a small index should be made again: in memory it is faster, or it can get the vectors it lacks."""
    if built.rows > MEMORY_ROWS:
        return False
    gets_vectors = embedder is not None and built.texts <= EMBED_AT_ONCE
    if graph.is_remote:
        return gets_vectors and built.embedder is None
    return gets_vectors or built.embedder is None


def _has_few_texts(rows: Rows) -> bool:
    """Tell whether these can be embedded at once. Stops counting at the limit: there may be millions."""
    found: set[str] = set()
    for row in rows:
        found.add(row.text)
        if len(found) > EMBED_AT_ONCE:
            return False
    return True


def is_looked_up(graph: KnowledgeGraph, directory: Location) -> bool:
    """Tell whether the labels of a graph are known to be too many to read."""
    mark = _large_mark(directory)
    return graph.is_remote and (_url_if_large(graph) is not None or (mark is not None and mark.exists()))


def _large_mark(directory: Location) -> Path | None:
    """Return the file beside an index that says that its graph has too many labels to read."""
    return directory.with_name(f"{directory.name}.large") if isinstance(directory, Path) else None


def _built_index(graph: KnowledgeGraph, directory: Location, embedder: Embedder | None) -> LabelIndex | None:
    """Open the index that was built; ``None`` if there is none, or a small one with another embedder's vectors."""
    try:
        return open_label_index(graph, directory, embedder=embedder)
    except ModelMismatchError:
        plain = open_label_index(graph, directory)
        if plain is None or plain.texts > EMBED_AT_ONCE:
            raise
        return None


def build_label_index(
    graph: KnowledgeGraph, directory: Location, *, embedder: Embedder | None, progress: Progress | None = None
) -> LabelIndex:
    """Build the whole index: full text, and a vector for each distinct text. A run that was stopped goes on.

    Full-text search works as soon as the labels are written, while vectors are still being made.

    :raises LimitError: if the labels of an endpoint are too many to be read.
    :raises StoreLockedError: if another process is building it.
    :raises EmbeddingError: if the embedder fails; what it did is kept.
    """
    if _url_if_large(graph) is not None:
        raise too_many(graph, "its profile says that they are too many")
    read = partial(read_labels, graph, progress=progress)
    return _index_builder(graph, directory, embedder, progress).build(read, wait_s=0.0)


def _index_builder(
    graph: KnowledgeGraph,
    directory: Location,
    embedder: Embedder | None,
    progress: Progress | None,
    cancel: threading.Event | None = None,
) -> Builder:
    """Make the builder of an index."""
    # An index of an endpoint names the account and the time, so that it can be found while the endpoint is down.
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    origin: dict[str, object] = {"account": graph.account, "read": now} if graph.is_remote else {}
    if graph.is_embedded and all(source.source != "-" for source in graph.stored):
        origin["made_of"] = sorted(os.path.realpath(source.source) for source in graph.stored)
    return Builder(IndexContent.of(graph), directory, embedder, progress, cancel, origin)


def open_label_index(
    graph: KnowledgeGraph, directory: Location, *, embedder: Embedder | None = None
) -> LabelIndex | None:
    """Open the index that was built; ``None`` if there is no complete one.

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
    """Import LanceDB in a thread while labels are still being read. Saves a second if there are many."""
    if rows > MEMORY_ROWS:
        threading.Thread(target=lancedb, name="kgsparql import", daemon=True).start()
