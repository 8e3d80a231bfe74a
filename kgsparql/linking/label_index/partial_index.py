"""Labels of an endpoint of which not all are indexed: looked up by question, a slice of them, and what is kept of it.

A slice is the labels of the instances of some classes, which are read a page at a time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kgsparql.errors import EndpointTimeoutError, LimitError, NotFoundError, StoreError
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.linking.label_index.building import Builder, IndexContent, recipe
from kgsparql.linking.label_index.combined import LayeredLabels
from kgsparql.linking.label_index.endpoint import EndpointLabels
from kgsparql.linking.label_index.kept_labels import KEPT, KeptLabels, SeenLabels, SliceProgress
from kgsparql.linking.label_index.lance import opened_index
from kgsparql.linking.label_index.memory import memory_index
from kgsparql.linking.label_index.names import language_tags, names_of
from kgsparql.linking.label_index.rows import Progress
from kgsparql.linking.label_index.search import LabelIndex, LabelSearch
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, printable
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.storage.lance_tables import Tables
from kgsparql.storage.location import Location

PAGE = 1_000
"""Entities of a page, if the endpoint gives so many solutions at once."""


def kept_labels(graph: KnowledgeGraph, parent: Path) -> KeptLabels:
    """The file, below a directory, of the labels that are kept of an endpoint, for one account there.

    It stays the same when the endpoint's data change; with other label predicates it is another file.
    """
    key = hashlib.sha256(f"{recipe(graph.naming)}\nkept\n{graph.account}".encode()).hexdigest()
    return KeptLabels(parent / "labels" / key[:32] / KEPT)


def index_with_lookup(graph: KnowledgeGraph, kept: KeptLabels | None, embedder: Embedder | None) -> LabelIndex:
    """An index that looks labels up for each question, beside those that are kept: a slice, and earlier answers."""
    notes: list[str] = []
    seen = None if kept is None else SeenLabels(kept, notes.append)
    lookup = EndpointLabels(graph, profile=graph.profile, embedder=embedder, seen=seen)
    found = None if kept is None else _slice_index(graph, kept, embedder)
    part = memory_index(()) if found is None else found
    parts: tuple[LabelSearch, ...] = (lookup,) if found is None else (lookup, found.search)
    return LabelIndex(
        LayeredLabels(parts, part.note),
        rows=part.rows,
        texts=part.texts,
        embedder=None if embedder is None else embedder.name,
        directory=part.directory,
        note="; ".join(notes),
        is_partial=True,
    )


def _slice_content(graph: KnowledgeGraph, kept: KeptLabels) -> IndexContent:
    """What the index of a slice is made of: something else as soon as more is read."""
    read = [[name, page.last, page.entities] for name, page in kept.slices().items() if page.entities]
    return IndexContent(graph.name, hashlib.sha256(json.dumps(read).encode()).hexdigest(), recipe(graph.naming))


def build_slice(
    graph: KnowledgeGraph,
    kept: KeptLabels,
    *,
    embedder: Embedder | None,
    progress: Progress | None = None,
) -> LabelIndex:
    """Index the slice that was read of an endpoint, with vectors if there is an embedder."""
    more = {"slice": {name: asdict(page) for name, page in kept.slices().items()}}
    builder = Builder(_slice_content(graph, kept), kept.path.parent, embedder, progress, more=more)
    return builder.build(kept.slice_rows, wait_s=0.0)


def _slice_index(graph: KnowledgeGraph, kept: KeptLabels, embedder: Embedder | None) -> LabelIndex | None:
    """The index of a slice of an endpoint; the labels read so far, where it was not indexed; ``None`` for no slice."""
    pages = {name: page for name, page in kept.slices().items() if page.entities}
    if not pages:
        return None
    named = ", ".join(f"{page.entities:,} of <{name}>" for name, page in pages.items())
    note = f"of {graph.name} only the labels of some entities are indexed: {named}"
    tables = Tables(kept.path.parent)
    manifest = tables.manifest()
    if manifest is not None and _slice_content(graph, kept).is_in(manifest):
        return replace(opened_index(tables, manifest, embedder), note=note)
    return memory_index(kept.slice_rows(), note=note)


def read_slice(
    graph: KnowledgeGraph,
    classes: Sequence[IRI],
    kept: KeptLabels,
    *,
    limit: int,
    languages: Sequence[str] = ("en",),
    progress: Progress | None = None,
) -> int:
    """Read labels of the instances of each class, and keep every page; gives how many entities are kept of them.

    What an earlier run kept is not read again: after a Ctrl-C, an error or with a higher limit, it goes on from there.
    A page that the endpoint cut does no harm, as the next one begins where it ends. So the last page is an empty one,
    or, where it is known how many solutions the endpoint gives, a short one.

    :param limit: entities of each class, at most.
    :param languages: of the labels that are kept, beside those without a language, in ``mul`` and in English.
    :raises NotFoundError: for a class without instances.
    :raises LimitError: if the endpoint cannot sort the instances of a class in time, or gives none of a page.
    """
    total = 0
    most = graph.profile.max_solutions
    page_limit = PAGE if most is None else max(1, most - 1)  # a result of as many as it gives may have been cut
    for class_ in classes:
        page = kept.slices().get(class_.value, SliceProgress())
        while not page.whole and page.entities < limit:
            size = min(PAGE, limit - page.entities, page_limit)
            found = _next_page(graph, class_, page.last, size)
            entities = [entity for solution in found if isinstance(entity := solution["entity"], IRI)]
            if not entities and not page.entities:
                raise NotFoundError(
                    f"{class_} has no instances in {graph.name}", hint="name a class: kgsparql info shows the commonest"
                )
            rows = [row for name in names_of(graph, entities, language_tags(languages)) for row in name.rows()]
            last = entities[-1].value if entities else page.last
            page = SliceProgress(last, page.entities + len(entities), whole=_is_last(graph, found, size))
            kept.add_page(class_.value, rows, page)
            if progress is not None:
                progress("reading labels", page.entities, limit)
        total += page.entities
    return total


def _is_last(graph: KnowledgeGraph, page: Solutions, size: int) -> bool:
    """Whether nothing comes after a page; where the endpoint's limit is unknown, a short page may have been cut."""
    is_limit_known = not graph.is_remote or graph.profile.max_solutions is not None
    return not page or (is_limit_known and page.complete and len(page) < size)


def _next_page(graph: KnowledgeGraph, class_: IRI, last: str, size: int) -> Solutions:
    """The solutions after the last entity that was read; none only if there are no more.

    :raises LimitError: as :func:`read_slice`.
    """
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


def last_directory(graph: KnowledgeGraph, parent: Location) -> Location | None:
    """The directory of the newest index of an endpoint that is down, below a directory; ``None`` without any.

    Only the endpoint itself could say whether that index is up to date.
    """
    if not graph.is_remote:
        return None
    found: list[tuple[str, str]] = []
    for name in Tables(parent / "labels").published_below():
        with suppress(StoreError):  # of another version: its own graph will say so
            manifest = Tables(parent / "labels" / name).manifest() or {}
            if manifest.get("account") == graph.account and manifest.get("recipe") == recipe(graph.naming):
                found.append((_read_time(manifest), name))
    return parent / "labels" / max(found)[1] if found else None


def _read_time(manifest: Mapping[str, Any]) -> str:
    """When the labels of an index were read, in ISO 8601; empty where it does not say so."""
    read = manifest.get("read")
    return read if isinstance(read, str) else ""


def last_known(
    graph: KnowledgeGraph, directory: Location | None, kept: KeptLabels, embedder: Embedder | None
) -> LabelIndex | None:
    """What is kept of the labels of an endpoint that cannot be asked, with a note about it; ``None`` if nothing is.

    :param directory: of its index, as :func:`last_directory`.
    :param kept: has a slice of it, maybe, where there is no index.
    """
    tables = None if directory is None else Tables(directory)
    manifest = None if tables is None else tables.manifest()
    if tables is not None and manifest is not None:
        found = opened_index(tables, manifest, embedder)
        of = printable(_read_time(manifest).partition("T")[0], 40) or "an unknown day"
    else:
        part = _slice_index(graph, kept, embedder)
        if part is None:
            return None
        read = (f"{page.entities:,} of <{name}>" for name, page in kept.slices().items() if page.entities)
        found, of = part, ", ".join(read)
    return replace(found, note=f"names of {graph.name} are those of {of}: it could not be asked")
