"""Labels that are kept of an endpoint of which not all are indexed: of earlier answers, and slices of its graph.

A slice is the labels of the instances of some classes, which are read a page at a time. Both are in one SQLite file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kgsparql.errors import EndpointTimeoutError, LimitError, NotFoundError, StoreError
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.linking.label_index.lance import Builder, IndexContent, opened_index
from kgsparql.linking.label_index.memory import memory_index
from kgsparql.linking.label_index.names import language_tags, names_of
from kgsparql.linking.label_index.rows import LabelRow, Progress, recipe
from kgsparql.linking.label_index.search import LabelIndex
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, printable
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.storage.lance_tables import Location, Tables
from kgsparql.storage.sqlite_file import Contents, SqliteFile

KEPT = "labels.sqlite"
"""The file in the directory of an endpoint."""
PAGE = 1_000
"""Entities of a page, if the endpoint gives so many solutions at once."""

_MOST_SEEN = 200_000  # labels of answers that are kept; of more, the oldest are dropped
_SEEN = ""  # stands for the class in rows of labels that answers showed
_CONTENTS = Contents(
    "labels",
    """
CREATE TABLE label (
    id INTEGER PRIMARY KEY, class TEXT NOT NULL, iri TEXT NOT NULL, text TEXT NOT NULL, key TEXT NOT NULL,
    role TEXT NOT NULL, language TEXT NOT NULL, kind TEXT NOT NULL, degree INTEGER NOT NULL,
    UNIQUE (class, iri, key, text, language, role)
);
CREATE INDEX label_key ON label (class, key);
CREATE TABLE page (class TEXT PRIMARY KEY, last TEXT NOT NULL, entities INTEGER NOT NULL, whole INTEGER NOT NULL);
""",
    version=1,
    again="what was in it is asked for again",
)
_KEYS_AT_ONCE = 500  # SQLite takes no more than some thousands
_COLUMNS = ", ".join(LabelRow._fields)
_ADD = f"INSERT OR IGNORE INTO label (class, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_DROP_OLDEST = "DELETE FROM label WHERE id IN (SELECT id FROM label WHERE class = ? ORDER BY id LIMIT ?)"
_PUT_PAGE = "INSERT OR REPLACE INTO page (class, last, entities, whole) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class SliceProgress:
    """How far the labels of a class were read.

    :param last: the IRI of the last entity that was read; empty before the first.
    """

    last: str = ""
    entities: int = 0
    whole: bool = False


class KeptLabels:
    """Labels of one endpoint in a file, which several threads and processes may use at once; the first write makes it.

    :raises StoreError: from any method, if the file cannot be read or written, or is another file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     kept = KeptLabels(Path(directory, "labels.sqlite"))
    ...     kept.remember([LabelRow("http://e.org/a", "Ann", "ann")])
    ...     [row.text for row in kept.seen_rows(["ann"], up_to=kept.newest_id())]
    ['Ann']
    """

    def __init__(self, path: Path, *, most_seen: int = _MOST_SEEN) -> None:
        self.path = Path(path)
        self.most_seen = most_seen
        self._file = SqliteFile(self.path, _CONTENTS)

    def remember(self, rows: Iterable[LabelRow]) -> None:
        """Keep labels that answers showed."""
        values = [(_SEEN, *row) for row in rows]
        if not values:
            return
        with self._file.transaction() as connection:
            connection.executemany(_ADD, values)
            (count,) = connection.execute("SELECT count(*) FROM label WHERE class = ?", (_SEEN,)).fetchone()
            if count > self.most_seen:
                connection.execute(_DROP_OLDEST, (_SEEN, count - self.most_seen))

    def newest_id(self) -> int:
        """Return the row number of the newest label that an answer showed; 0 without any."""
        rows = self._file.rows("SELECT max(id) FROM label WHERE class = ?", (_SEEN,))
        return int(rows[0][0] or 0) if rows else 0

    def seen_rows(self, keys: Collection[str], *, up_to: int) -> list[LabelRow]:
        """Find the labels that answers showed with one of these keys, up to a row number."""
        wanted, found = sorted(set(keys)), list[LabelRow]()
        for batch in (wanted[at : at + _KEYS_AT_ONCE] for at in range(0, len(wanted), _KEYS_AT_ONCE)):
            marks = ", ".join("?" * len(batch))
            query = f"SELECT {_COLUMNS} FROM label WHERE class = ? AND id <= ? AND key IN ({marks})"  # noqa: S608
            found += (LabelRow(*row) for row in self._file.rows(query, (_SEEN, up_to, *batch)))
        return sorted(found, key=lambda row: (row.key, row))

    def slices(self) -> dict[str, SliceProgress]:
        """Return how far each class was read, by its IRI."""
        rows = self._file.rows("SELECT class, last, entities, whole FROM page ORDER BY class")
        return {name: SliceProgress(last, entities, bool(whole)) for name, last, entities, whole in rows}

    def add_page(self, name: str, rows: Sequence[LabelRow], page: SliceProgress) -> None:
        """Keep the labels of more entities of a class, and how far it is read now, in one transaction."""
        with self._file.transaction() as connection:
            connection.executemany(_ADD, [(name, *row) for row in rows])
            connection.execute(_PUT_PAGE, (name, page.last, page.entities, int(page.whole)))

    def slice_rows(self) -> list[LabelRow]:
        """Return the labels of all slices, each once, sorted."""
        query = f"SELECT DISTINCT {_COLUMNS} FROM label WHERE class <> ?"  # noqa: S608
        return sorted(LabelRow(*row) for row in self._file.rows(query, (_SEEN,)))


def kept_labels(graph: KnowledgeGraph, parent: Path) -> KeptLabels:
    """Return the file, below a directory, of the labels that are kept of an endpoint, for one account there.

    It stays the same when the endpoint's data change; with other label predicates it is another file.
    """
    key = hashlib.sha256(f"{recipe(graph.naming)}\nkept\n{graph.account}".encode()).hexdigest()
    return KeptLabels(parent / "labels" / key[:32] / KEPT)


class SeenLabels:
    """Labels that answers showed before this object was made; they only add exact names of a question.

    Labels of later answers are not used, so that the order of questions changes no link.

    :param note: called with a line if they cannot be read.
    """

    def __init__(self, kept: KeptLabels, note: Callable[[str], None] = lambda _: None) -> None:
        self._kept = kept
        self._added: dict[str, str] = {}
        try:
            self._newest = kept.newest_id()
        except StoreError as error:
            self._newest = 0
            note(f"labels of earlier answers are not used: {error.message}")

    def other_rows(self, known: Collection[str], keys: Collection[str]) -> list[LabelRow]:
        """Find the labels with one of these keys, of entities other than the known ones."""
        if not self._newest:
            return []
        added = [row for row in self._kept.seen_rows(keys, up_to=self._newest) if row.iri not in known]
        self._added.update((row.iri, row.text) for row in added)
        return added

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """Make a note for each link that rests on an earlier answer."""
        names = sorted(self._added[iri] for iri in linked if iri in self._added)
        return tuple(f"{printable(name, 60)!r} was found among the labels of earlier answers" for name in names)


# --- Slices


def read_slice(
    graph: KnowledgeGraph,
    classes: Sequence[IRI],
    kept: KeptLabels,
    *,
    limit: int,
    languages: Sequence[str] = ("en",),
    progress: Progress | None = None,
) -> int:
    """Read labels of the instances of each class and keep every page; return how many entities are kept of them.

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
    """Tell whether nothing comes after a page; a short one may have been cut where the endpoint's limit is unknown."""
    is_limit_known = not graph.is_remote or graph.profile.max_solutions is not None
    return not page or (is_limit_known and page.complete and len(page) < size)


def _next_page(graph: KnowledgeGraph, class_: IRI, last: str, size: int) -> Solutions:
    """Ask for the solutions after the last entity that was read; none come back only if there are no more.

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


def build_slice(
    graph: KnowledgeGraph, kept: KeptLabels, *, embedder: Embedder | None, progress: Progress | None = None
) -> LabelIndex:
    """Index the slice that was read of an endpoint, with vectors if there is an embedder."""
    more = {"slice": {name: asdict(page) for name, page in kept.slices().items()}}
    builder = Builder(_slice_content(graph, kept), kept.path.parent, embedder, progress, more=more)
    return builder.build(kept.slice_rows, wait_s=0.0)


def _slice_content(graph: KnowledgeGraph, kept: KeptLabels) -> IndexContent:
    """Describe what the index of a slice is made of: something else as soon as more is read."""
    read = [[name, page.last, page.entities] for name, page in kept.slices().items() if page.entities]
    return IndexContent(graph.name, hashlib.sha256(json.dumps(read).encode()).hexdigest(), recipe(graph.naming))


def slice_index(graph: KnowledgeGraph, kept: KeptLabels, embedder: Embedder | None) -> LabelIndex | None:
    """Open the index of a slice, or hold the labels read so far in memory; ``None`` if there is no slice."""
    named = _slices_in_words(kept)
    if not named:
        return None
    note = f"of {graph.name} only the labels of some entities are indexed: {named}"
    tables = Tables(kept.path.parent)
    manifest = tables.manifest()
    if manifest is not None and _slice_content(graph, kept).is_in(manifest):
        return replace(opened_index(tables, manifest, embedder), note=note)
    return memory_index(kept.slice_rows(), note=note)


def _slices_in_words(kept: KeptLabels) -> str:
    return ", ".join(f"{page.entities:,} of <{name}>" for name, page in kept.slices().items() if page.entities)


# --- Endpoints that cannot be asked


def last_directory(graph: KnowledgeGraph, parent: Location) -> Location | None:
    """Find the directory of the newest index of an endpoint that is down, below a directory; ``None`` without any.

    Only the endpoint itself could say whether that index is up to date.
    """
    if not graph.is_remote:
        return None
    found: list[tuple[str, str]] = []
    for name in Tables(parent / "labels").published_below():
        with suppress(StoreError):  # of another version: its own graph will say so
            manifest = Tables(parent / "labels" / name).manifest() or {}
            if manifest.get("account") == graph.account and manifest.get("recipe") == recipe(graph.naming):
                found.append((_time_read(manifest), name))
    return parent / "labels" / max(found)[1] if found else None


def _time_read(manifest: Mapping[str, Any]) -> str:
    """Return when the labels of an index were read, in ISO 8601; empty where it does not say so."""
    read = manifest.get("read")
    return read if isinstance(read, str) else ""


def last_known(
    graph: KnowledgeGraph, directory: Location | None, kept: KeptLabels, embedder: Embedder | None
) -> LabelIndex | None:
    """Open what is kept of the labels of an endpoint that cannot be asked, with a note about it; ``None`` for nothing.

    :param directory: of its index, as :func:`last_directory`.
    :param kept: has a slice of it, maybe, where there is no index.
    """
    tables = None if directory is None else Tables(directory)
    manifest = None if tables is None else tables.manifest()
    if tables is not None and manifest is not None:
        found: LabelIndex | None = opened_index(tables, manifest, embedder)
        of = printable(_time_read(manifest).partition("T")[0], 40) or "an unknown day"
    else:
        found, of = slice_index(graph, kept, embedder), _slices_in_words(kept)
    return found and replace(found, note=f"names of {graph.name} are those of {of}: it could not be asked")
