"""Passages of documents and the entities they mention, in LanceDB tables beside the label index of a graph."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError, LimitError, StoreError
from kgsparql.linking.documents import (
    Document,
    Excerpt,
    Gazetteer,
    Skipped,
    TextMention,
    files_of,
    passage_spans,
    read_document,
)
from kgsparql.linking.label_index.rows import Progress
from kgsparql.linking.words import stop_words, tokens
from kgsparql.rdf.terms import IRI, printable
from kgsparql.storage.lance_tables import MANIFEST, Location, Tables, errors_translated, lancedb, one_of, table_tag

PASSAGE_TOKENS = 200
"""Tokens of a passage: three to six sentences."""
FOLDER = "passages"
"""The directory of the tables, below that of the label index."""
RECIPE = "passages-1"
"""Changes whenever the passages, the mentions or the tables would be made differently."""

_LEAST_TOKENS, _MOST_TOKENS = 20, 2_000  # of a passage
_OVERLAP = 4  # a quarter of a passage may be in the next one, too
_ROWS_AT_ONCE = 5_000
_MOST_ROWS = 1_000_000
_PASSAGE_TYPES = {**dict.fromkeys(("number", "page", "start", "end"), "int32"), "document": "string", "text": "string"}
_MENTION_TYPES = {"iri": "string", **dict.fromkeys(("passage", "start", "end"), "int32")}


@dataclass(frozen=True, slots=True)
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

    def __init__(self, locate: Callable[[], Location] | None = None, source: str = "") -> None:
        self._locate = locate
        self._source = source

    @cached_property
    def _index_directory(self) -> Location | None:
        return None if self._locate is None else self._locate()

    @cached_property
    def _passage_tables(self) -> Tables:
        return Tables((self._index_directory or Path()) / FOLDER)

    @cached_property
    def _known_manifest(self) -> dict[str, Any] | None:
        manifest = None if self._index_directory is None else self._passage_tables.manifest()
        return manifest if manifest is not None and manifest.get("recipe") == RECIPE else None

    def __len__(self) -> int:
        return 0 if self._known_manifest is None else int(self._known_manifest["rows"])

    @property
    def documents(self) -> int:
        """Return how many documents were indexed."""
        return 0 if self._known_manifest is None else int(self._known_manifest["documents"])

    @cached_property
    def note(self) -> str:
        """Note that documents were indexed for another state of this graph, but not for this one; else empty."""
        if self._known_manifest is not None or not isinstance(self._index_directory, Path) or not self._source:
            return ""
        for path in sorted(self._index_directory.parent.glob(f"*/{FOLDER}/{MANIFEST}")):
            try:
                known = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if isinstance(known, dict) and known.get("source") == self._source:
                return (
                    "documents were indexed with an earlier state of this graph, or another of its name; for this one "
                    f"run: kgsparql index -k {shlex.quote(printable(self._source, 200))} --text DIR"
                )
        return ""

    def mentioning(self, terms: Collection[IRI]) -> dict[int, frozenset[IRI]]:
        """Find the passages that mention any of these entities: their numbers, in order, and which entities."""
        if self._known_manifest is None:
            return {}
        found: defaultdict[int, set[IRI]] = defaultdict(set)
        named = {term.value: term for term in terms}
        wanted = sorted(named)
        for at in range(0, len(wanted), _ROWS_AT_ONCE):
            query = self._opened_table("mentions").search().where(one_of("iri", wanted[at : at + _ROWS_AT_ONCE]))
            for row in self._rows_of_query(query.select(["iri", "passage"])):
                found[row["passage"]].add(named[row["iri"]])
        return {number: frozenset(found[number]) for number in sorted(found)}

    def like(self, text: str, *, limit: int = 1_000) -> list[int]:
        """Find the numbers of the passages that share words with a text, those with the rarest words first."""
        stops = stop_words(("en",))
        wanted = " ".join(token.text for token in tokens(text) if token.text not in stops)
        if self._known_manifest is None or not wanted:
            return []
        match = lancedb("query").MatchQuery(wanted, "text")
        rows = self._rows_of_query(
            self._opened_table("passages").search(match, query_type="fts").select(["number", "_score"]), limit
        )
        return [row["number"] for row in sorted(rows, key=lambda row: (-round(row["_score"], 4), row["number"]))]

    def read(self, numbers: Collection[int]) -> list[Passage]:
        """Read the passages with these numbers, with all their mentions, in the order of the numbers."""
        if self._known_manifest is None or not numbers:
            return []
        mentions: defaultdict[int, list[TextMention]] = defaultdict(list)
        where = ", ".join(str(int(number)) for number in sorted(set(numbers)))
        for row in self._rows_of_query(self._opened_table("mentions").search().where(f"passage IN ({where})")):
            mentions[row["passage"]].append(TextMention(row["start"], row["end"], IRI(row["iri"])))
        rows = self._rows_of_query(self._opened_table("passages").search().where(f"number IN ({where})"))
        return [
            Passage(
                number=row["number"],
                text=row["text"],
                excerpt=Excerpt(
                    row["document"], row["start"], row["end"], row["page"],
                    tuple(sorted(mentions[row["number"]], key=lambda m: (m.start, m.end, m.term.value))),
                ),
            )
            for row in sorted(rows, key=lambda row: row["number"])
        ]  # fmt: skip

    def _opened_table(self, what: str) -> Any:
        table = self._passage_tables.open((self._known_manifest or {})[what])
        if table is None:
            raise StoreError(
                f"{self._passage_tables.directory}: the table of {what} is damaged or gone",
                hint="run kgsparql index with --text again",
            )
        return table

    def _rows_of_query(self, query: Any, limit: int = _MOST_ROWS) -> list[dict[str, Any]]:
        with errors_translated(self._passage_tables.directory):
            rows: list[dict[str, Any]] = query.limit(limit).to_arrow().to_pylist()
        return rows


# --- Indexing


@dataclass(frozen=True, slots=True)
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
    directory: Location,
    texts: Path,
    *,
    source: str,
    passage_tokens: int = PASSAGE_TOKENS,
    languages: tuple[str, ...] = ("en",),
    progress: Progress | None = None,
) -> IndexedTexts:
    """Cut the documents of a directory into passages, and find the entities they mention.

    They replace those that were indexed before, all at once: a run that is stopped leaves the old ones. Documents that
    have not changed are not indexed again.

    :param directory: of the graph's label index, which must have been built.
    :param source: the graph, as the user named it.
    :param languages: whose stop words name no entity, beside those of English.
    :raises InputError: if there is no such directory, or nothing in it that can be read.
    :raises LimitError: for passages that are too short or too long.
    :raises StoreError: if there is no label index.
    :raises StoreLockedError: if another process is writing there.
    """
    checked_tokens(passage_tokens)
    files, others = files_of(texts)
    tables = Tables(directory / FOLDER)
    with Tables(directory).lock():
        labels = Tables(directory).manifest()
        if labels is None:
            raise StoreError(f"{directory}: there is no label index", hint="run kgsparql index first")
        digest = _digest_of_files(files, texts, [RECIPE, str(passage_tokens), labels["labels"], " ".join(languages)])
        known = tables.manifest()
        if known is not None and known.get("digest") == digest:
            skipped = (*others, *(Skipped(name, reason) for name, reason in known["skipped"]))
            return IndexedTexts(known["documents"], known["rows"], known["mention_rows"], skipped, changed=False)
        gazetteer = Gazetteer(_iris_by_label(Tables(directory), labels), languages=languages)
        builder = _Builder(tables, passage_tokens, progress)
        manifest = builder.build(files, texts, gazetteer)
        if not manifest["documents"]:
            tables.drop([name for name in tables.names() if known is None or name not in known.values()])
            why = "; ".join(map(str, [*builder.skipped, *others][:3]))
            raise InputError(f"{printable(str(texts), 200)}: no document can be read: {why}", hint=".txt, .md or .pdf")
        tables.publish({**manifest, "digest": digest, "source": source, "recipe": RECIPE})
        tables.drop(name for name in tables.names() if name not in (manifest["passages"], manifest["mentions"]))
    return IndexedTexts(manifest["documents"], manifest["rows"], manifest["mention_rows"], (*others, *builder.skipped))


def checked_tokens(passage_tokens: int) -> int:
    """Check a number of tokens that a passage may have.

    :raises LimitError: for passages that are too short or too long.
    """
    if not _LEAST_TOKENS <= passage_tokens <= _MOST_TOKENS:
        raise LimitError(
            f"passages of {passage_tokens:,} tokens", hint=f"from {_LEAST_TOKENS:,} to {_MOST_TOKENS:,}", limit="tokens"
        )
    return passage_tokens


def _digest_of_files(files: Sequence[Path], directory: Path, made_of: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(made_of).encode())
    for path in files:
        try:
            own = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            own = f"unreadable {error.errno}"
        digest.update(f"\n{path.relative_to(directory).as_posix()}\0{own}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _iris_by_label(tables: Tables, manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Read the normalised labels of entities with their IRIs; of classes too, where most labels are of classes."""
    table = tables.open(manifest["labels"])
    if table is None:
        raise StoreError(f"{tables.directory}: the table of labels is damaged or gone", hint="delete that directory")
    with errors_translated(tables.directory):
        rows = table.search().select(["key", "iri", "kind"]).limit(max(1, manifest["rows"])).to_arrow().to_pylist()
    counts = Counter(row["kind"] for row in rows)
    kinds = {"entity", "class"} if counts["class"] > counts["entity"] else {"entity"}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["kind"] in kinds:
            found[row["key"]].append(row["iri"])
    return found


@dataclass(slots=True)
class _Builder:
    """Writer of passages and mentions while documents are read."""

    tables: Tables
    passage_tokens: int
    progress: Progress | None
    skipped: list[Skipped] = field(default_factory=list)

    def build(self, files: Sequence[Path], directory: Path, gazetteer: Gazetteer) -> dict[str, Any]:
        """Write both tables; return what the manifest says about them."""
        tag = table_tag()
        passages = _TableWriter(self.tables, f"passages_{tag}", _PASSAGE_TYPES)
        mentions = _TableWriter(self.tables, f"mentions_{tag}", _MENTION_TYPES)
        documents = 0
        for document in self._read_documents(files, directory):
            documents += 1
            for excerpt, text in self._document_excerpts(document):
                number = passages.count
                for mention in gazetteer.mentions(text):
                    start, end = excerpt.start + mention.start, excerpt.start + mention.end
                    mentions.add({"iri": mention.term.value, "passage": number, "start": start, "end": end})
                passages.add(
                    {
                        "number": number, "document": excerpt.document, "page": excerpt.page,
                        "start": excerpt.start, "end": excerpt.end, "text": text,
                    }
                )  # fmt: skip
        passages.finish(("number",), text="text")
        mentions.finish(("iri", "passage"))
        return {
            "documents": documents, "passages": passages.name, "rows": passages.count, "mentions": mentions.name,
            "mention_rows": mentions.count, "skipped": [[s.name, s.reason] for s in self.skipped],
        }  # fmt: skip

    def _read_documents(self, files: Sequence[Path], directory: Path) -> Iterator[Document]:
        for i, path in enumerate(files):
            if self.progress is not None:
                self.progress("reading documents", i, len(files))
            found = read_document(path, directory)
            if isinstance(found, Skipped):
                self.skipped.append(found)
            else:
                yield found
        if self.progress is not None:
            self.progress("reading documents", len(files), len(files))

    def _document_excerpts(self, document: Document) -> Iterator[tuple[Excerpt, str]]:
        for page in document.pages:
            overlap = self.passage_tokens // _OVERLAP
            for start, end in passage_spans(page.text, tokens=self.passage_tokens, overlap=overlap):
                yield Excerpt(document.name, start, end, page.number), page.text[start:end]


@dataclass(slots=True)
class _TableWriter:
    """Writer of a table, many rows at a time, because each write makes a new version of it."""

    tables: Tables
    name: str
    types: Mapping[str, str]
    count: int = 0
    pending: list[dict[str, Any]] = field(default_factory=list)
    table: Any = None

    def add(self, row: dict[str, Any]) -> None:
        self.count += 1
        self.pending.append(row)
        if len(self.pending) >= _ROWS_AT_ONCE:
            self._write_pending()

    def finish(self, columns: Sequence[str], *, text: str = "") -> None:
        """Write what is pending, and index some columns by value, and one by its words."""
        if self.pending or self.table is None:
            self._write_pending()
        if not self.count:
            return
        indexes = lancedb("index")
        with errors_translated(self.tables.directory):
            for column in columns:
                self.table.create_index(column, config=indexes.BTree())
            if text:
                config = indexes.FTS(base_tokenizer="simple", stem=False, remove_stop_words=False, with_position=False)
                self.table.create_index(text, config=config)

    def _write_pending(self) -> None:
        import pyarrow as pa

        schema = pa.schema([(column, pa.type_for_alias(kind)) for column, kind in self.types.items()])
        data = pa.Table.from_pylist(self.pending, schema=schema)
        if self.table is None:
            self.table = self.tables.create(self.name, data)
        else:
            with errors_translated(self.tables.directory):
                self.table.add(data)
        self.pending = []
