"""Passages of documents and the entities they mention, in a file beside the label index of a graph."""

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
from typing import Any

import numpy as np

from kgsparql.dataclasses import frozen
from kgsparql.errors import InputError, StoreError
from kgsparql.linking.documents import Excerpt, Gazetteer, Skipped, TextMention, files_of, passage_spans, text_of
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import Progress, silent
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.rdf.terms import IRI, Json, grouped, json_text, printable
from kgsparql.storage.files import digest_of, remove_leftovers, replace_text, writer_lock
from kgsparql.storage.lance_tables import Tables, errors_translated

PASSAGE_TOKENS = 200
"""Tokens of a passage: three to six sentences."""
PASSAGES = "passages.jsonl"
"""The file in the directory of the label index: a line that says what was indexed, then one for each passage."""
RECIPE = "passages-3"
"""Changes whenever the passages, the mentions or the file would be made differently."""

_OVERLAP = 4  # a quarter of a passage may be in the next one, too


@frozen
class Passage:
    """Passage, where it stands, and what it mentions."""

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
    def _kept_file(self) -> Path | None:
        return None if self._locate is None else self._locate() / PASSAGES

    @cached_property
    def _kept_head(self) -> Json:
        return {} if self._kept_file is None else _head_of(self._kept_file)

    def __len__(self) -> int:
        return int(self._kept_head.get("rows", 0))

    @property
    def documents(self) -> int:
        """Return how many documents were indexed."""
        return int(self._kept_head.get("documents", 0))

    @cached_property
    def note(self) -> str:
        """Note that documents were indexed for another state of this graph, but not for this one; else empty."""
        own = self._kept_file if self._source and not self._kept_head else None
        others = own.parent.parent.glob(f"*/{PASSAGES}") if own else ()
        of_old = own.parent.parent.glob("*/passages/*.json") if own else ()  # which 0.2 wrote
        if not any(_head_of(file).get("source") == self._source for file in others) and not any(of_old):
            return ""
        return (
            "documents were indexed with an earlier state or version, or another graph of its name; for this one run: "
            f"kgsparql index -k {shlex.quote(printable(self._source, 200))} --text DIR"
        )

    @cached_property
    def every(self) -> list[Passage]:
        """All passages, by document, then in order."""
        if self._kept_file is None or not self._kept_head:
            return []
        with errors_translated(self._kept_file.parent), self._kept_file.open(encoding="utf-8") as lines:
            return [_passage_of(json.loads(line)) for line in islice(lines, 1, None)]

    def mentioning(self, terms: Collection[IRI], question: str) -> list[tuple[Passage, frozenset[IRI]]]:
        """Find the passages that mention any of these entities, with these: the likest to a question first."""
        named = ((one, {*terms}.intersection(m.term for m in one.excerpt.mentions)) for one in self.every)
        found = [(one, frozenset(own)) for one, own in named if own]
        scores = BM25Ranker().rank(question, [one.text for one, _ in found])
        return [found[i] for i in np.argsort(-scores, kind="stable")]


def _head_of(file: Path) -> Json:
    """Read what was indexed; empty for nothing, and for what was made in another way."""
    with suppress(OSError, ValueError), file.open(encoding="utf-8") as lines:
        head: Json = json.loads(next(lines, ""))
        return head if head["recipe"] == RECIPE else {}
    return {}


def _passage_of(row: Json) -> Passage:
    mentions = tuple(TextMention(start, end, IRI(iri)) for start, end, iri in row["mentions"])
    return Passage(row["text"], Excerpt(row["document"], row["start"], row["end"], mentions))


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
    total, tables, file = len(files), Tables(directory), directory / PASSAGES
    with writer_lock(directory):
        labels = tables.manifest()
        if labels is None:
            raise StoreError(f"{directory}: there is no label index", hint="run kgsparql index first")
        digest = _digest_of_files(files, texts, [RECIPE, labels["labels"], " ".join(languages)])
        head = _head_of(file)
        is_changed = head.get("digest") != digest
        if is_changed:
            remove_leftovers(file)
            gazetteer = Gazetteer(_iris_by_label(tables, labels), languages=languages)
            rows, skipped = list[Json](), list[tuple[str, str]]()
            for done, path in enumerate(files):
                progress("reading documents", done, total)
                name, text = path.relative_to(texts).as_posix(), text_of(path)
                if isinstance(text, Skipped):
                    skipped.append((name, text.reason))
                else:
                    rows += _rows_of_text(name, text, gazetteer)
            progress("reading documents", total, total)
            if len(skipped) == total:
                why = "; ".join(map(str, [*(Skipped(*one) for one in skipped), *others][:3]))
                message = f"{printable(str(texts), 200)}: no document can be read: {why}"
                raise InputError(message, hint="name a directory of .txt or .md files")
            head = {
                "recipe": RECIPE, "source": source, "digest": digest, "documents": total - len(skipped),
                "rows": len(rows), "mentions": sum(len(row["mentions"]) for row in rows), "skipped": skipped,
            }  # fmt: skip
            with errors_translated(directory):
                replace_text(file, "".join(f"{json_text(one)}\n" for one in (head, *rows)), mode=0o600, sync=True)
    skipped_files = (*others, *(Skipped(*one) for one in head["skipped"]))
    return IndexedTexts(head["documents"], head["rows"], head["mentions"], skipped_files, is_changed)


def _rows_of_text(document: str, text: str, gazetteer: Gazetteer) -> Iterator[Json]:
    for start, end in passage_spans(text, tokens=PASSAGE_TOKENS, overlap=PASSAGE_TOKENS // _OVERLAP):
        mentions = gazetteer.mentions(text[start:end])
        placed = [(start + one.start, start + one.end, one.term.value) for one in mentions]
        yield {"document": document, "start": start, "end": end, "text": text[start:end], "mentions": placed}


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
