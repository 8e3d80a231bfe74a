"""Passages of documents and the entities they mention, in LanceDB tables beside the label index of a graph."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsparql.errors import StoreError
from kgsparql.linking.words import stop_words, tokens
from kgsparql.rdf.terms import IRI, printable
from kgsparql.storage.lance_tables import MANIFEST, Tables, errors_translated, lancedb, one_of
from kgsparql.storage.location import Location

if TYPE_CHECKING:
    from kgsparql.linking.passages.documents import Excerpt, TextMention

PASSAGE_TOKENS = 200
"""Tokens of a passage: three to six sentences."""

FOLDER = "passages"
"""The directory of the tables, below that of the label index."""

RECIPE = "passages-1"
"""Changes whenever the passages, the mentions or the tables would be made differently."""

_AT_ONCE = 5_000
_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, where it stands, and what it mentions.

    :param number: its place among all passages: by document, then in order.
    """

    number: int
    text: str
    excerpt: Excerpt


class Passages:
    """The passages of a graph's documents; none, if none were indexed. Nothing is read before it is needed.

    :param locate: gives the directory of the graph's label index; called when it is first needed. ``None`` for no
        passages.

    >>> len(Passages())
    0
    """

    def __init__(self, locate: Callable[[], Location] | None = None, source: str = "") -> None:
        self._locate = locate
        self._source = source

    @cached_property
    def _directory(self) -> Location | None:
        return None if self._locate is None else self._locate()

    @cached_property
    def _tables(self) -> Tables:
        return Tables((self._directory or Path()) / FOLDER)

    @cached_property
    def _manifest(self) -> dict[str, Any] | None:
        manifest = None if self._directory is None else self._tables.manifest()
        return manifest if manifest is not None and manifest.get("recipe") == RECIPE else None

    def __len__(self) -> int:
        return 0 if self._manifest is None else int(self._manifest["rows"])

    @property
    def documents(self) -> int:
        """How many documents were indexed."""
        return 0 if self._manifest is None else int(self._manifest["documents"])

    @cached_property
    def note(self) -> str:
        """A note if there are no passages now, but documents were indexed for another state of this graph."""
        if self._manifest is not None or not isinstance(self._directory, Path) or not self._source:
            return ""
        for path in sorted(self._directory.parent.glob(f"*/{FOLDER}/{MANIFEST}")):
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
        """The passages that mention any of these entities: their numbers, in order, and which entities."""
        if self._manifest is None:
            return {}
        found: defaultdict[int, set[IRI]] = defaultdict(set)
        named = {term.value: term for term in terms}
        wanted = sorted(named)
        for at in range(0, len(wanted), _AT_ONCE):
            query = self._table("mentions").search().where(one_of("iri", wanted[at : at + _AT_ONCE]))
            with errors_translated(self._tables.directory):
                rows = query.select(["iri", "passage"]).limit(_MANY).to_arrow()
            for iri, passage in zip(rows["iri"].to_pylist(), rows["passage"].to_pylist(), strict=True):
                found[passage].add(named[iri])
        return {number: frozenset(found[number]) for number in sorted(found)}

    def like(self, text: str, *, limit: int = 1_000) -> list[int]:
        """The numbers of the passages that share words with a text, those with the rarest words first."""
        stops = stop_words(("en",))
        wanted = " ".join(token.text for token in tokens(text) if token.text not in stops)
        if self._manifest is None or not wanted:
            return []
        match = lancedb("query").MatchQuery(wanted, "text")
        rows = self._rows(self._table("passages").search(match, query_type="fts").select(["number", "_score"]), limit)
        return [row["number"] for row in sorted(rows, key=lambda row: (-round(row["_score"], 4), row["number"]))]

    def read(self, numbers: Collection[int]) -> list[Passage]:
        """The passages with these numbers, with all their mentions, in the order of the numbers."""
        if self._manifest is None or not numbers:
            return []
        wanted = sorted(set(numbers))
        from kgsparql.linking.passages.documents import Excerpt, TextMention

        mentions: defaultdict[int, list[TextMention]] = defaultdict(list)
        where = ", ".join(str(int(number)) for number in wanted)
        for row in self._rows(self._table("mentions").search().where(f"passage IN ({where})")):
            mentions[row["passage"]].append(TextMention(row["start"], row["end"], IRI(row["iri"])))
        rows = self._rows(self._table("passages").search().where(f"number IN ({where})"))
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

    def _table(self, what: str) -> Any:
        table = self._tables.open((self._manifest or {})[what])
        if table is None:
            raise StoreError(
                f"{self._tables.directory}: the table of {what} is damaged or gone",
                hint="run kgsparql index with --text again",
            )
        return table

    def _rows(self, query: Any, limit: int = _MANY) -> list[dict[str, Any]]:
        with errors_translated(self._tables.directory):
            rows: list[dict[str, Any]] = query.limit(limit).to_arrow().to_pylist()
        return rows
