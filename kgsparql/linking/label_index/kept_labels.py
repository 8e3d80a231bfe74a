"""Labels of an endpoint in one SQLite file: those that answers showed, and the slices read of some classes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgsparql.errors import StoreError
from kgsparql.linking.label_index.rows import LabelRow
from kgsparql.rdf.terms import printable
from kgsparql.storage.sqlite_file import Contents, SqliteFile

KEPT = "labels.sqlite"
"""The file in the directory of an endpoint."""
_MOST_SEEN = 200_000
"""Labels of answers that are kept; of more, the oldest are dropped."""
_SEEN = ""
"""Stands for the class in rows of labels that answers showed."""

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
_BATCH = 500  # keys of one query: SQLite takes no more than some thousands
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
    """The labels of one endpoint in a file, which several threads and processes may use at once.

    The first write makes the file.

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

    def check(self) -> None:
        """Read all; a StoreError if the file is damaged."""
        self._file.check()

    def newest_id(self) -> int:
        """The row number of the newest label that an answer showed; 0 without any."""
        rows = self._file.rows("SELECT max(id) FROM label WHERE class = ?", (_SEEN,))
        return int(rows[0][0] or 0) if rows else 0

    def seen_rows(self, keys: Collection[str], *, up_to: int) -> list[LabelRow]:
        """The labels that answers showed with one of these keys, up to a row number."""
        wanted, found = sorted(set(keys)), list[LabelRow]()
        for batch in (wanted[at : at + _BATCH] for at in range(0, len(wanted), _BATCH)):
            marks = ", ".join("?" * len(batch))
            query = f"SELECT {_COLUMNS} FROM label WHERE class = ? AND id <= ? AND key IN ({marks})"  # noqa: S608
            found += (LabelRow(*row) for row in self._file.rows(query, (_SEEN, up_to, *batch)))
        return sorted(found, key=lambda row: (row.key, row))

    def slices(self) -> dict[str, SliceProgress]:
        """How far each class was read, by its IRI."""
        rows = self._file.rows("SELECT class, last, entities, whole FROM page ORDER BY class")
        return {name: SliceProgress(last, entities, bool(whole)) for name, last, entities, whole in rows}

    def add_page(self, name: str, rows: Sequence[LabelRow], page: SliceProgress) -> None:
        """Keep the labels of more entities of a class, and how far it is read now, in one transaction."""
        with self._file.transaction() as connection:
            connection.executemany(_ADD, [(name, *row) for row in rows])
            connection.execute(_PUT_PAGE, (name, page.last, page.entities, int(page.whole)))

    def slice_rows(self) -> list[LabelRow]:
        """The labels of all slices, each once, sorted."""
        query = f"SELECT DISTINCT {_COLUMNS} FROM label WHERE class <> ?"  # noqa: S608
        return sorted(LabelRow(*row) for row in self._file.rows(query, (_SEEN,)))


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
        """The labels with one of these keys, of entities other than the known ones."""
        if not self._newest:
            return []
        added = [row for row in self._kept.seen_rows(keys, up_to=self._newest) if row.iri not in known]
        self._added.update((row.iri, row.text) for row in added)
        return added

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """A note for each link that rests on an earlier answer."""
        names = sorted(self._added[iri] for iri in linked if iri in self._added)
        return tuple(f"{printable(name, 60)!r} was found among the labels of earlier answers" for name in names)
