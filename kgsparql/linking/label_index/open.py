"""Choose, open and build the label index of a graph.

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
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from kgsparql.errors import (
    EndpointTimeoutError,
    IndexStaleError,
    LimitError,
    ModelMismatchError,
    NotFoundError,
    StoreError,
    StoreLockedError,
)
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.linking.label_index.combined import CombinedLabels
from kgsparql.linking.label_index.lance import EMBED_AT_ONCE, Builder, is_of, opened_index
from kgsparql.linking.label_index.memory import memory_index
from kgsparql.linking.label_index.names import language_tags, names_of
from kgsparql.linking.label_index.reading import MEMORY_ROWS, read_labels, too_many
from kgsparql.linking.label_index.search import LabelIndex, LabelRow, Progress, Rows, recipe, with_short
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.storage.lance_tables import Location, Tables

PAGE = 1_000
"""Entities of a page of a slice, if the endpoint gives so many solutions at once."""


def index_directory(graph: KnowledgeGraph, parent: Location) -> Location:
    """Return where to keep the index of a graph. Other data or another recipe gives another place."""
    # A large endpoint is known by its URL: asking it for a fingerprint would count all its triples.
    made_of = graph.url if graph.profile.has_many_labels else graph.fingerprint
    return parent / "labels" / _key_of(graph, made_of)


def _key_of(graph: KnowledgeGraph, made_of: str) -> str:
    return hashlib.sha256(f"{recipe(graph.naming)}\n{made_of}".encode()).hexdigest()[:32]


def label_index(
    graph: KnowledgeGraph,
    directory: Location,
    *,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    slices: Path | None = None,
    candidates: Embedder | None = None,
) -> LabelIndex:
    """Return an index that is ready within seconds, whatever was built before.

    :param embedder: embeds the labels if they are few; many get only full-text search until ``kgsparql index`` runs.
    :param slices: where the slice of a large endpoint is kept.
    :param candidates: compares labels that are looked up; ``embedder`` by default.
    :raises IndexStaleError: if the index there was made from other data or by another recipe.
    :raises StoreError: if object storage has no index and the labels are many.
    :raises ModelMismatchError: if the index there only has vectors of another embedder and is too big to embed anew.
    :raises CancelledError: if ``cancel`` is set before the index is ready.
    """
    if is_looked_up(graph, directory):
        return _index_with_lookup(graph, slices, candidates or embedder)
    if (built := _built_index(graph, directory, embedder)) is not None:
        return built
    try:
        rows = read_labels(graph, progress=progress, cancel=cancel)
    except LimitError:
        if not graph.is_remote:
            raise
        if (mark := _large_mark(directory)) is not None:  # so that the next question does not try to read them again
            with suppress(OSError):  # without a writable cache, the next process finds out for itself
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()
        return _index_with_lookup(graph, slices, candidates or embedder)
    embeds_now = bool(embedder and rows) and _has_few_texts(rows)
    # Labels of an endpoint are kept even if they are few: reading them again would cost its operators queries.
    if len(rows) <= MEMORY_ROWS and not (graph.is_remote and rows and isinstance(directory, Path)):
        return memory_index(rows, (candidates or embedder) if embeds_now else None)
    if not isinstance(directory, Path):  # no lock keeps two processes apart in object storage
        raise StoreError(
            f"{directory}: there is no index of {graph.name} as it is now",
            hint=f"run: kgsparql index -k {shlex.quote(graph.name)} --index URI",
        )
    builder = _index_builder(graph, directory, embedder if embeds_now else None, progress, cancel)
    try:
        return builder.build(lambda: rows, wait_s=30.0)
    except StoreLockedError:
        raise
    except StoreError as error:  # better slow than nothing
        note = "the label index is not kept (set KGSPARQL_CACHE_DIR to a directory you may write to)"
        return memory_index(rows, note=f"{note}: {error.message}")


def is_looked_up(graph: KnowledgeGraph, directory: Location) -> bool:
    """Tell whether the labels of a graph are known to be too many to read."""
    mark = _large_mark(directory)
    return graph.is_remote and (graph.profile.has_many_labels or (mark is not None and mark.exists()))


def _large_mark(directory: Location) -> Path | None:
    """Return the file beside an index that says that its graph has too many labels to read."""
    return directory.with_name(f"{directory.name}.large") if isinstance(directory, Path) else None


def _index_with_lookup(graph: KnowledgeGraph, slices: Path | None, embedder: Embedder | None) -> LabelIndex:
    """Make an index that looks labels up for each question, beside those of a slice."""
    from kgsparql.linking.label_index.lookup import EndpointLabels  # most questions need none of it

    lookup = EndpointLabels(graph, profile=graph.profile, embedder=embedder)
    index = LabelIndex(lookup, embedder=None if embedder is None else embedder.name)
    named = {} if slices is None else entities_in_slices(slices)
    if slices is None or not named:
        return index
    tables = Tables(slices)
    part = opened_index(tables, tables.manifest() or {}, embedder)
    listed = ", ".join(f"{count:,} of <{class_}>" for class_, count in named.items())
    note = f"of {graph.name} only the labels of some entities are indexed: {listed}"
    return replace(part, search=CombinedLabels((lookup, part.search), note=note), embedder=index.embedder)


def _has_few_texts(rows: Rows) -> bool:
    """Tell whether these can be embedded at once. Stops counting at the limit: there may be millions."""
    found: set[str] = set()
    for row in rows:
        found.add(row.text)
        if len(found) > EMBED_AT_ONCE:
            return False
    return True


def _built_index(graph: KnowledgeGraph, directory: Location, embedder: Embedder | None) -> LabelIndex | None:
    """Open the index that was built; ``None`` also for a small one that is better made anew.

    In memory it is faster, or it gets the vectors that it lacks.
    """
    try:
        built = open_label_index(graph, directory, embedder=embedder)
    except ModelMismatchError:
        plain = open_label_index(graph, directory)
        if plain is None or plain.texts > EMBED_AT_ONCE:
            raise
        return None
    if built is None or built.rows > MEMORY_ROWS:
        return built
    gets_vectors = embedder is not None and built.texts <= EMBED_AT_ONCE
    lacks_vectors = built.embedder is None
    is_better_anew = (gets_vectors and lacks_vectors) if graph.is_remote else (gets_vectors or lacks_vectors)
    return None if is_better_anew else built


def build_label_index(
    graph: KnowledgeGraph, directory: Location, *, embedder: Embedder | None, progress: Progress | None = None
) -> LabelIndex:
    """Build the whole index: full text, and a vector for each distinct text. A run that was stopped goes on.

    Full-text search works as soon as the labels are written, while vectors are still being made.

    :raises LimitError: if the labels of an endpoint are too many to be read.
    :raises StoreLockedError: if another process is building it.
    :raises EmbeddingError: if the embedder fails; what it did is kept.
    """
    if graph.profile.has_many_labels:
        raise too_many(graph, "its profile says that they are too many")
    return _index_builder(graph, directory, embedder, progress).build(partial(read_labels, graph, progress=progress))


def _index_builder(
    graph: KnowledgeGraph,
    directory: Location,
    embedder: Embedder | None,
    progress: Progress | None,
    cancel: threading.Event | None = None,
) -> Builder:
    """Make the builder of an index, which names the files of the graph: older indexes of them go."""
    has_files = graph.is_embedded and all(source.source != "-" for source in graph.stored)
    more = {"made_of": sorted(os.path.realpath(source.source) for source in graph.stored)} if has_files else {}
    return Builder(_content_of(graph), directory, embedder, progress, cancel, more)


def _content_of(graph: KnowledgeGraph) -> dict[str, str]:
    return {"fingerprint": graph.fingerprint, "recipe": recipe(graph.naming)}


def open_label_index(
    graph: KnowledgeGraph, directory: Location, *, embedder: Embedder | None = None
) -> LabelIndex | None:
    """Open the index that was built; ``None`` if there is no complete one."""
    tables = Tables(directory)
    manifest = tables.manifest()
    if manifest is None:
        return None
    if not is_of(manifest, _content_of(graph)):
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


# --- Slices: the labels of the instances of some classes of an endpoint that has too many to read all


def slice_directory(graph: KnowledgeGraph, parent: Path) -> Path:
    """Return where the slice of an endpoint is kept for one account there; it stays when the endpoint's data change."""
    return parent / "labels" / _key_of(graph, f"slice\n{graph.account}")


def entities_in_slices(directory: Path) -> dict[str, int]:
    """Return how many entities of each class are in a slice, by the IRI of the class."""
    return dict((Tables(directory).manifest() or {}).get("slice", {}))


def build_slice(
    graph: KnowledgeGraph,
    classes: Iterable[IRI],
    directory: Path,
    *,
    limit: int,
    languages: Sequence[str] = ("en",),
    embedder: Embedder | None = None,
    progress: Progress = lambda *_: None,
) -> LabelIndex:
    """Index the labels of the instances of some classes, read a page at a time, in place of those indexed before."""
    # A result of as many as the endpoint gives may have been cut. So the last page is an empty one.
    most = min(PAGE, max(1, (graph.profile.max_solutions or PAGE + 1) - 1))
    counts: dict[str, int] = {}
    rows: set[LabelRow] = set()
    for class_ in classes:
        last, count = "", 0
        while count < limit:
            found = _next_page(graph, class_, last, min(limit - count, most))
            entities = [entity for solution in found if isinstance(entity := solution["entity"], IRI)]
            if not entities:
                break
            rows.update(row for name in names_of(graph, entities, language_tags(languages)) for row in with_short(name))
            last, count = entities[-1].value, count + len(entities)
            progress("reading labels", count, limit)
        if not count:
            hint = "name a class: kgsparql info shows the commonest"
            raise NotFoundError(f"{class_} has no instances in {graph.name}", hint=hint)
        counts[class_.value] = count
    fingerprint = hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()
    content = {"recipe": recipe(graph.naming), "fingerprint": fingerprint, "slice": counts}
    return Builder(content, directory, embedder, progress).build(lambda: sorted(rows))


def _next_page(graph: KnowledgeGraph, class_: IRI, last: str, size: int) -> Solutions:
    """Ask for the solutions after the last entity that was read; none come back only if there are no more."""
    types = [RDF_TYPE, *graph.profile.type_predicates]
    query = Query.load("slice_entities").bind(kind=[class_], predicate=types, after=[Literal(last)])
    cause: EndpointTimeoutError | None = None
    try:
        found = graph.select(query.limit(size))
        if found or found.complete:
            return found
    except EndpointTimeoutError as error:
        cause = error
    raise LimitError(
        f"{graph.name}: the instances of {class_} are too many to be read in order",
        hint="name a narrower class: its instances are put in order by the endpoint", limit="labels",
    ) from cause  # fmt: skip
