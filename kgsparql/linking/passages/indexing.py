"""Indexing documents: cut into passages, searched for labels of the graph, and written beside these."""

from __future__ import annotations

import hashlib
import heapq
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from kgsparql.errors import IndexStaleError, InputError, LimitError, StoreError
from kgsparql.linking.label_index.merging import FOLDER as SHARDS
from kgsparql.linking.label_index.merging import Part, finished_shards
from kgsparql.linking.label_index.rows import Progress
from kgsparql.linking.label_index.shards import Shard
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
    shard: Shard | None = None,
    merge: bool = False,
) -> IndexedTexts:
    """Cut the documents of a directory into passages, and find the entities they mention.

    They replace those that were indexed before, all at once: a run that is stopped leaves the old ones. Documents that
    have not changed are not indexed again.

    :param directory: of the graph's label index, which must have been built.
    :param languages: whose stop words name no entity, beside those of English.
    :param shard: index only the documents whose names are in it, apart from the others.
    :param merge: join what was indexed of all shards; no document is read again.
    :raises InputError: if there is no such directory, or nothing in it that can be read.
    :raises LimitError: for passages that are too short or too long.
    :raises StoreError: if there is no label index, or shards to be merged are missing or do not go together.
    :raises IndexStaleError: if a shard to be merged was made of other documents or labels.
    :raises StoreLockedError: if another process is writing there.
    """
    checked_tokens(passage_tokens)
    files, others = files_of(texts)
    tables = Tables(directory / FOLDER)
    if shard is not None:
        files, others = [path for path in files if shard.has(_name(path, texts))], []
        tables = Tables(directory / FOLDER / SHARDS / shard.folder)
    with (Tables(directory) if shard is None else tables).lock():
        labels = Tables(directory).manifest()
        if labels is None:
            raise StoreError(f"{directory}: there is no label index", hint="run kgsparql index first")
        made_of = [RECIPE, str(passage_tokens), labels["labels"], " ".join(languages)]
        digest = _digest(files, texts, made_of)
        known = tables.manifest()
        if known is not None and known.get("digest") == digest:
            skipped = (*others, *(Skipped(name, reason) for name, reason in known["skipped"]))
            return IndexedTexts(known["documents"], known["rows"], known["mention_rows"], skipped, changed=False)
        builder = _Builder(tables, passage_tokens, progress)
        parts: list[Part] = []
        if merge:
            parts = _parts(tables.directory / SHARDS, files, texts, made_of, source)
            manifest = builder.merge(parts, {_name(path, texts): i for i, path in enumerate(files)})
        else:
            gazetteer = Gazetteer(_iris_by_label(Tables(directory), labels), languages=languages)
            manifest = builder.build(files, texts, gazetteer)
        if not manifest["documents"] and shard is None:
            tables.drop([name for name in tables.names() if known is None or name not in known.values()])
            why = "; ".join(map(str, [*builder.skipped, *others][:3]))
            raise InputError(f"{printable(str(texts), 200)}: no document can be read: {why}", hint=".txt, .md or .pdf")
        tables.publish({**manifest, "digest": digest, "source": source, "recipe": RECIPE})
        tables.drop(name for name in tables.names() if name not in (manifest["passages"], manifest["mentions"]))
        for part in parts:
            part.tables.remove()
    return IndexedTexts(manifest["documents"], manifest["rows"], manifest["mention_rows"], (*others, *builder.skipped))


def _parts(folder: Location, files: Sequence[Path], directory: Path, made_of: Sequence[str], source: str) -> list[Part]:
    """What was indexed of all shards of some documents, if all are there and of these documents."""
    command = f"kgsparql index -k {shlex.quote(source)} --text {shlex.quote(str(directory))}"
    parts = []
    for shard, part in finished_shards(folder, source, command):
        own = [path for path in files if shard.has(_name(path, directory))]
        if part.manifest.get("digest") != _digest(own, directory, made_of):
            raise IndexStaleError(
                f"shard {shard} was made of other documents, labels or --passage-tokens",
                hint=f"with the options of the others, run: {command} --shard {shard}",
            )
        parts.append(part)
    return parts


def checked_tokens(passage_tokens: int) -> int:
    """A number of tokens that a passage may have.

    :raises LimitError: for passages that are too short or too long.
    """
    least, most = _TOKENS
    if not least <= passage_tokens <= most:
        raise LimitError(f"passages of {passage_tokens:,} tokens", hint=f"from {least:,} to {most:,}", limit="tokens")
    return passage_tokens


def _digest(files: Sequence[Path], directory: Path, made_of: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(made_of).encode())
    for path in files:
        try:
            own = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            own = f"unreadable {error.errno}"
        digest.update(f"\n{_name(path, directory)}\0{own}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _name(path: Path, directory: Path) -> str:
    """The name of a document, as passages have it."""
    return path.relative_to(directory).as_posix()


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
        passages, mentions = self._new_tables()
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
        return self._finished(passages, mentions, documents)

    def merge(self, parts: Sequence[Part], places: Mapping[str, int]) -> dict[str, Any]:
        """As :meth:`build`, from the tables of all shards.

        :param places: of the documents among all.
        """
        passages, mentions = self._new_tables()
        for _, row, mentioned in heapq.merge(*(_part_rows(part, places) for part in parts), key=itemgetter(0)):
            for mention in mentioned:
                mentions.add({**mention, "passage": passages.count})
            passages.add({**row, "number": passages.count})
        left_out = (Skipped(name, reason) for part in parts for name, reason in part.manifest["skipped"])
        self.skipped += sorted(left_out, key=lambda skipped: places[skipped.name])
        return self._finished(passages, mentions, sum(part.manifest["documents"] for part in parts))

    def _new_tables(self) -> tuple[_Table, _Table]:
        tag = table_tag()
        passages = _Table(self.tables, f"passages_{tag}", _PASSAGE_TYPES)
        return passages, _Table(self.tables, f"mentions_{tag}", _MENTION_TYPES)

    def _finished(self, passages: _Table, mentions: _Table, documents: int) -> dict[str, Any]:
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


def _part_rows(part: Part, places: Mapping[str, int]) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    """The passages of a part in their order, each with the place of its document and what it mentions."""
    rows, mentions = (
        chain.from_iterable(batch.to_pylist() for batch in part.tables.batches(part.manifest[what]))
        for what in ("passages", "mentions")
    )
    mention = next(mentions, None)
    for row in rows:
        mentioned = []
        while mention is not None and mention["passage"] == row["number"]:
            mentioned.append(mention)
            mention = next(mentions, None)
        yield places[row["document"]], row, mentioned


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
