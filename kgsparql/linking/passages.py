"""Passages of documents and the entities they mention, in a LanceDB table beside the label index of a graph."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, cast

from kgsparql.dataclasses import dataclass, field, frozen
from kgsparql.errors import InputError, StoreError
from kgsparql.linking.documents import Excerpt, Gazetteer, Skipped, TextMention, files_of, passage_spans, text_of
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import Progress, silent
from kgsparql.linking.words import grouped, stop_words, tokens
from kgsparql.rdf.terms import IRI, Json, printable
from kgsparql.storage.files import digest_of, writer_lock
from kgsparql.storage.lance_tables import (
    MANIFEST,
    Tables,
    errors_translated,
    lancedb,
    quoted,
    row_tuples,
    table_tag,
)

PASSAGE_TOKENS = 200
"""Tokens of a passage: three to six sentences."""
FOLDER = "passages"
"""The directory of the table, below that of the label index."""
RECIPE = "passages-2"
"""Changes whenever the passages, the mentions or the table would be made differently."""

_OVERLAP = 4  # a quarter of a passage may be in the next one, too
_ROWS_AT_ONCE = 5_000  # because each write makes a new version of the table
_MOST_ROWS = 1_000_000
_COLUMNS = {**dict.fromkeys(("number", "start", "end"), "int32"), "document": "string", "text": "string"}
_LISTS = {"iris": "string", "starts": "int32", "ends": "int32"}  # of the mentions of a passage, in their order


@frozen
class Passage:
    """Passage, where it stands, and what it mentions.

    :param number: its place among all passages: by document, then in order.
    """

    number: int
    text: str
    excerpt: Excerpt


class Passages:
    """Passages of a graph's documents; none, if none were indexed. Nothing is read before it is needed.

    :param locate: gives the directory of the graph's label index; called when it is first needed. ``None`` for no
        passages.

    >>> len(Passages())
    0
    """

    def __init__(self, locate: Callable[[], Path] | None = None, source: str = "") -> None:
        self._locate = locate
        self._source = source

    @cached_property
    def _open_tables(self) -> Tables | None:
        return None if self._locate is None else Tables(self._locate() / FOLDER)

    @cached_property
    def _index_manifest(self) -> Json:
        """What was indexed; empty for nothing."""
        manifest = self._open_tables.manifest() if self._open_tables else None
        return manifest if manifest and manifest.get("recipe") == RECIPE else {}

    @cached_property
    def _passage_table(self) -> Any:
        tables = cast("Tables", self._open_tables)
        return tables.opened(self._index_manifest["passages"], hint="run kgsparql index with --text again")

    def __len__(self) -> int:
        return int(self._index_manifest.get("rows", 0))

    @property
    def documents(self) -> int:
        """Return how many documents were indexed."""
        return int(self._index_manifest.get("documents", 0))

    @cached_property
    def note(self) -> str:
        """Note that documents were indexed for another state of this graph, but not for this one; else empty."""
        place = self._open_tables.directory if self._open_tables and self._source and not len(self) else None
        for path in sorted(place.parent.parent.glob(f"*/{FOLDER}/{MANIFEST}")) if place else ():
            with suppress(OSError, ValueError, AttributeError):
                if json.loads(path.read_text(encoding="utf-8")).get("source") == self._source:
                    return (
                        "documents were indexed with an earlier state of this graph, or another of its name; for this "
                        f"one run: kgsparql index -k {shlex.quote(printable(self._source, 200))} --text DIR"
                    )
        return ""

    def mentioning(self, terms: Collection[IRI]) -> dict[int, frozenset[IRI]]:
        """Find the passages that mention any of these entities: their numbers, in order, and which entities."""
        named = {term.value: term for term in terms}
        wanted, found = sorted(named), dict[int, frozenset[IRI]]()
        for at in range(0, len(wanted) if self._index_manifest else 0, _ROWS_AT_ONCE):
            where = f"array_has_any(iris, [{', '.join(map(quoted, wanted[at : at + _ROWS_AT_ONCE]))}])"
            for number, iris in self._rows_of_query(self._passage_table.search().where(where), ["number", "iris"]):
                found[number] = frozenset(named[iri] for iri in iris if iri in named)
        return dict(sorted(found.items()))

    def like(self, text: str, *, limit: int = 1_000) -> list[int]:
        """Find the numbers of the passages that share words with a text, those with the rarest words first."""
        stops = stop_words(("en",))
        wanted = " ".join(token.text for token in tokens(text) if token.text not in stops)
        if not self._index_manifest or not wanted:
            return []
        search = self._passage_table.search(lancedb("query").MatchQuery(wanted, "text"), query_type="fts")
        found = self._rows_of_query(search, ["number", "_score"], limit)
        return [number for number, _ in sorted(found, key=lambda row: (-round(row[1], 4), row[0]))]

    def read(self, numbers: Collection[int]) -> list[Passage]:
        """Read the passages with these numbers, with all their mentions, in the order of the numbers."""
        if not self._index_manifest or not numbers:
            return []
        where = f"number IN ({', '.join(str(int(number)) for number in sorted(set(numbers)))})"
        columns = ("number", "text", "document", "start", "end", "starts", "ends", "iris")
        rows = sorted(self._rows_of_query(self._passage_table.search().where(where), columns))
        return [
            Passage(number, text, Excerpt(document, start, end, tuple(map(TextMention, starts, ends, map(IRI, iris)))))
            for number, text, document, start, end, starts, ends, iris in rows
        ]

    def _rows_of_query(self, query: Any, columns: Sequence[str], limit: int = _MOST_ROWS) -> list[tuple[Any, ...]]:
        return row_tuples(cast("Tables", self._open_tables).rows(query, columns, limit))


# --- Indexing


@frozen
class IndexedTexts:
    """Counts of the documents, passages and mentions of an index.

    :param changed: whether anything had to be done.
    """

    documents: int
    passages: int
    mentions: int
    skipped: tuple[Skipped, ...] = ()
    changed: bool = True


def build_passages(
    directory: Path, texts: Path, *, source: str, languages: tuple[str, ...] = ("en",), progress: Progress = silent,
) -> IndexedTexts:  # fmt: skip
    """Cut the documents of a directory into passages, and find the entities they mention.

    They replace those that were indexed before, all at once: a run that is stopped leaves the old ones. Documents that
    have not changed are not indexed again.

    :param directory: of the graph's label index, which must have been built.
    :param source: the graph, as the user named it.
    :param languages: whose stop words name no entity, beside those of English.
    :raises InputError: if there is no such directory, or nothing in it that can be read.
    :raises StoreError: if there is no label index.
    :raises StoreLockedError: if another process is writing there.
    """
    files, others = files_of(texts)
    tables, index = Tables(directory / FOLDER), Tables(directory)
    with writer_lock(directory):
        labels = index.manifest()
        if labels is None:
            raise StoreError(f"{directory}: there is no label index", hint="run kgsparql index first")
        made_of = [RECIPE, labels["labels"], " ".join(languages)]
        digest = _digest_of_files(files, texts, made_of)
        known = tables.manifest() or {}
        is_changed = known.get("digest") != digest
        if is_changed:
            gazetteer = Gazetteer(_iris_by_label(index, labels), languages=languages)
            written = _Writer(gazetteer, progress).write(tables, files, texts)
            known = {**written, "digest": digest, "source": source, "recipe": RECIPE}
            if not known["documents"]:
                tables.drop([known["passages"]])
                why = "; ".join(map(str, [*(Skipped(*one) for one in known["skipped"]), *others][:3]))
                message = f"{printable(str(texts), 200)}: no document can be read: {why}"
                raise InputError(message, hint="name a directory of .txt or .md files")
            tables.publish(known)
            tables.drop(name for name in tables.names() if name != known["passages"])
    skipped = (*others, *(Skipped(*one) for one in known["skipped"]))
    return IndexedTexts(known["documents"], known["rows"], known["mentions"], skipped, is_changed)


def _digest_of_files(files: Sequence[Path], directory: Path, made_of: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(made_of).encode())
    for path in files:
        try:
            own = digest_of(path)
        except OSError as error:
            own = f"unreadable {error.errno}"
        digest.update(f"\n{path.relative_to(directory).as_posix()}\0{own}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _iris_by_label(tables: Tables, manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Read the normalised labels of entities with their IRIs; of classes too, where most labels are of classes."""
    labels = PackedLabels(tables.blob(manifest["labels"]))
    counts = Counter(row.kind for row in labels.rows())
    kinds = {"entity", "class"} if counts["class"] > counts["entity"] else {"entity"}
    return grouped((row.key, row.iri) for row in labels.rows() if row.kind in kinds)


@dataclass(slots=True)
class _Writer:
    """Writer of passages, with their mentions, while documents are read.

    :ivar skipped: name and reason of each document that could not be read.
    """

    gazetteer: Gazetteer
    progress: Progress
    skipped: list[tuple[str, str]] = field(default_factory=list)
    documents: int = 0

    def write(self, tables: Tables, files: Sequence[Path], directory: Path) -> Json:
        """Write and index the table; return what the manifest says about it."""
        import pyarrow as pa

        columns = [(name, pa.type_for_alias(kind)) for name, kind in _COLUMNS.items()]
        schema = pa.schema([*columns, *((name, pa.list_(pa.type_for_alias(kind))) for name, kind in _LISTS.items())])
        name, count, mentions, table = f"passages_{table_tag()}", 0, 0, None
        rows = ({"number": number, **row} for number, row in enumerate(self._passage_rows(files, directory)))
        while (some := list(islice(rows, _ROWS_AT_ONCE))) or table is None:
            table = tables.written(name, pa.Table.from_pylist(some, schema=schema), table)
            count += len(some)
            mentions += sum(len(row["iris"]) for row in some)
        if count:
            indexes = lancedb("index")
            words = indexes.FTS(base_tokenizer="simple", stem=False, remove_stop_words=False, with_position=False)
            with errors_translated(tables.directory):
                for column, config in (("number", indexes.BTree()), ("iris", indexes.LabelList()), ("text", words)):
                    table.create_index(column, config=config)
        return {
            "documents": self.documents, "passages": name, "rows": count, "mentions": mentions,
            "skipped": self.skipped,
        }  # fmt: skip

    def _passage_rows(self, files: Sequence[Path], directory: Path) -> Iterator[Json]:
        for done, path in enumerate(files):
            self.progress("reading documents", done, len(files))
            name, text = path.relative_to(directory).as_posix(), text_of(path)
            if isinstance(text, Skipped):
                self.skipped.append((name, text.reason))
                continue
            self.documents += 1
            yield from self._rows_of_text(name, text)
        self.progress("reading documents", len(files), len(files))

    def _rows_of_text(self, document: str, text: str) -> Iterator[Json]:
        for start, end in passage_spans(text, tokens=PASSAGE_TOKENS, overlap=PASSAGE_TOKENS // _OVERLAP):
            mentions = self.gazetteer.mentions(text[start:end])
            yield {
                "document": document, "start": start, "end": end, "text": text[start:end],
                "iris": [mention.term.value for mention in mentions],
                "starts": [start + mention.start for mention in mentions],
                "ends": [start + mention.end for mention in mentions],
            }  # fmt: skip
