"""Indexing documents: cut into passages, searched for labels of the graph, and written beside these."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError, LimitError, StoreError
from kgsparql.linking.label_index.rows import Progress
from kgsparql.linking.passages.documents import Document, Excerpt, Skipped, files_of, passage_spans, read_document
from kgsparql.linking.passages.gazetteer import Gazetteer
from kgsparql.linking.passages.passages import FOLDER, PASSAGE_TOKENS, RECIPE
from kgsparql.rdf.terms import printable
from kgsparql.storage.lance_tables import Tables, errors_translated, lancedb, table_tag
from kgsparql.storage.location import Location

OVERLAP = 4
"""A quarter of a passage may be in the next one, too."""

_AT_ONCE = 5_000
_TOKENS = (20, 2_000)
_PASSAGE_TYPES = {**dict.fromkeys(("number", "page", "start", "end"), "int32"), "document": "string", "text": "string"}
_MENTION_TYPES = {"iri": "string", **dict.fromkeys(("passage", "start", "end"), "int32")}


@dataclass(frozen=True, slots=True)
class IndexedTexts:
    """How many documents, passages and mentions an index has.

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
    :param languages: whose stop words name no entity, beside those of English.
    :raises InputError: if there is no such directory, or nothing in it that can be read.
    :raises LimitError: for passages that are too short or too long.
    :raises StoreLockedError: if another process is writing there.
    """
    checked_tokens(passage_tokens)
    files, others = files_of(texts)
    with Tables(directory).lock():
        labels = Tables(directory).manifest()
        if labels is None:
            raise StoreError(f"{directory}: there is no label index", hint="run kgsparql index first")
        tables = Tables(directory / FOLDER)
        digest = _digest(files, texts, passage_tokens, labels["labels"], languages)
        known = tables.manifest()
        if known is not None and known.get("digest") == digest:
            skipped = (*others, *(Skipped(name, reason) for name, reason in known["skipped"]))
            return IndexedTexts(known["documents"], known["rows"], known["mention_rows"], skipped, changed=False)
        builder = _Builder(tables, passage_tokens, progress)
        gazetteer = Gazetteer(_iris_by_label(Tables(directory), labels), languages=languages)
        manifest = builder.build(files, texts, gazetteer)
        if not manifest["documents"]:
            tables.drop([name for name in tables.names() if known is None or name not in known.values()])
            why = "; ".join(map(str, [*builder.skipped, *others][:3]))
            raise InputError(f"{printable(str(texts), 200)}: no document can be read: {why}", hint=".txt, .md or .pdf")
        tables.publish({**manifest, "digest": digest, "source": source, "recipe": RECIPE})
        tables.drop(name for name in tables.names() if name not in (manifest["passages"], manifest["mentions"]))
    return IndexedTexts(manifest["documents"], manifest["rows"], manifest["mention_rows"], (*others, *builder.skipped))


def checked_tokens(passage_tokens: int) -> int:
    """A number of tokens that a passage may have.

    :raises LimitError: for passages that are too short or too long.
    """
    least, most = _TOKENS
    if not least <= passage_tokens <= most:
        raise LimitError(f"passages of {passage_tokens:,} tokens", hint=f"from {least:,} to {most:,}", limit="tokens")
    return passage_tokens


def _digest(files: Sequence[Path], directory: Path, passage_tokens: int, labels: str, languages: Sequence[str]) -> str:
    digest = hashlib.sha256(f"{RECIPE}\n{passage_tokens}\n{labels}\n{' '.join(languages)}".encode())
    for path in files:
        try:
            own = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            own = f"unreadable {error.errno}"
        digest.update(f"\n{path.relative_to(directory).as_posix()}\0{own}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _iris_by_label(tables: Tables, manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """The normalised labels of entities with their IRIs; of classes too, where most labels are of classes."""
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
    """Writes passages and mentions while documents are read."""

    tables: Tables
    passage_tokens: int
    progress: Progress | None
    skipped: list[Skipped] = field(default_factory=list)

    def build(self, files: Sequence[Path], directory: Path, gazetteer: Gazetteer) -> dict[str, Any]:
        """Write both tables; gives what the manifest says about them."""
        tag = table_tag()
        passages = _Table(self.tables, f"passages_{tag}", _PASSAGE_TYPES)
        mentions = _Table(self.tables, f"mentions_{tag}", _MENTION_TYPES)
        documents = 0
        for document in self._documents(files, directory):
            documents += 1
            for excerpt, text in self._passages(document):
                number = passages.count
                passages.add(
                    {
                        "number": number, "document": excerpt.document, "page": excerpt.page,
                        "start": excerpt.start, "end": excerpt.end, "text": text,
                    }
                )  # fmt: skip
                for mention in gazetteer.mentions(text):
                    start, end = excerpt.start + mention.start, excerpt.start + mention.end
                    mentions.add({"iri": mention.term.value, "passage": number, "start": start, "end": end})
        passages.finish(("number",), text="text")
        mentions.finish(("iri", "passage"))
        return {
            "documents": documents, "passages": passages.name, "rows": passages.count, "mentions": mentions.name,
            "mention_rows": mentions.count, "skipped": [[s.name, s.reason] for s in self.skipped],
        }  # fmt: skip

    def _documents(self, files: Sequence[Path], directory: Path) -> Iterator[Document]:
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

    def _passages(self, document: Document) -> Iterator[tuple[Excerpt, str]]:
        for page in document.pages:
            overlap = self.passage_tokens // OVERLAP
            for start, end in passage_spans(page.text, tokens=self.passage_tokens, overlap=overlap):
                yield Excerpt(document.name, start, end, page.number), page.text[start:end]


@dataclass(slots=True)
class _Table:
    """A table being written, many rows at a time, because each write makes a new version of it."""

    tables: Tables
    name: str
    types: Mapping[str, str]
    count: int = 0
    pending: list[dict[str, Any]] = field(default_factory=list)
    table: Any = None

    def add(self, row: dict[str, Any]) -> None:
        self.count += 1
        self.pending.append(row)
        if len(self.pending) >= _AT_ONCE:
            self._write()

    def finish(self, columns: Sequence[str], *, text: str = "") -> None:
        """Write what is pending, and index some columns by value, and one by its words."""
        if self.pending or self.table is None:
            self._write()
        if not self.count:
            return
        indexes = lancedb("index")
        with errors_translated(self.tables.directory):
            for column in columns:
                self.table.create_index(column, config=indexes.BTree())
            if text:
                config = indexes.FTS(base_tokenizer="simple", stem=False, remove_stop_words=False, with_position=False)
                self.table.create_index(text, config=config)

    def _write(self) -> None:
        import pyarrow as pa

        schema = pa.schema([(column, pa.type_for_alias(kind)) for column, kind in self.types.items()])
        data = pa.Table.from_pylist(self.pending, schema=schema)
        if self.table is None:
            self.table = self.tables.create(self.name, data)
        else:
            with errors_translated(self.tables.directory):
                self.table.add(data)
        self.pending = []
