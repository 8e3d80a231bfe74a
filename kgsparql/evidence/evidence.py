"""What an answer rests on: triples with their sources, grouped in items that carry markers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, overload
from typing import Literal as OneOf

from kgsparql.graphs.graph import Source
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.literals import data_frame, python_value
from kgsparql.rdf.paths import Direction, Hop, Path
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, local_name, printable

if TYPE_CHECKING:
    import pandas as pd

    from kgsparql.linking.documents import Excerpt

ItemKind: TypeAlias = OneOf["path", "neighbours", "passage", "computed"]
_LETTERS: dict[ItemKind, str] = {"path": "P", "neighbours": "N", "passage": "T", "computed": "Q"}

_MAX_LINE_CHARACTERS = 20_000

_COLUMNS = (
    "marker", "kind", "subject", "subject_label", "predicate", "predicate_label", "object", "object_label", "direction",
    "graph", "named_graph", "verified", "score", "text",
)  # fmt: skip

NO_QUERY = Query("document", "", empty=True)
"""The query of what is in no graph: there is none that would find it."""


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """What finds the triples of an item that one of several graphs holds, by that graph's name."""

    source: str
    query: Query


@dataclass(frozen=True, slots=True)
class CitedTriple:
    """A triple that evidence rests on.

    :param direction: how it was walked; the triple itself keeps its own direction.
    :param verified: looked up again and found; ``None`` while nobody looked, or where nobody can.
    """

    triple: Triple
    direction: Direction = "forward"
    sources: tuple[Source, ...] = ()
    verified: bool | None = None

    @property
    def hop(self) -> Hop:
        """The triple as it was walked."""
        return Hop(self.triple, self.direction)


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """One numbered piece of evidence.

    :param text: the item as a sentence or an arrow line.
    :param score: higher is better; comparable only within one answer.
    :param query: the smallest query that finds this item again; for an item with ``ends``, just these;
        :data:`NO_QUERY` for what no graph holds.
    :param queries: one for each graph, where its triples are in several and none holds them all: ``query`` is then for
        a graph of them all together.
    :param ways: the paths it is made of, where it is made of several.
    :param ends: where the item leads to, every one that is known, even where the triples of only some are shown.
    :param between: the terms at each place between its start and its ends, where all of them are known.
    :param excerpt: where in a document it stands, for a passage that is from one.
    :param marker: ``P1`` (path), ``N1`` (neighbours), ``T1`` (passage), ``Q1`` (computed); given once, by
        :class:`Evidence`.
    """

    kind: ItemKind
    text: str
    triples: tuple[CitedTriple, ...]
    query: Query
    path: Path | None = None
    score: float = 0.0
    cuts: tuple[Cut, ...] = ()
    ways: tuple[Path, ...] = ()
    ends: tuple[Term, ...] = ()
    between: tuple[tuple[Term, ...], ...] = ()
    excerpt: Excerpt | None = None
    marker: str = ""
    queries: tuple[SourceQuery, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths it is made of, one or several; none for a passage."""
        return self.ways or (() if self.path is None else (self.path,))

    @property
    def named_ends(self) -> int | None:
        """How many of its ends are no blank nodes; ``None`` where its ends are not known."""
        return sum(not isinstance(end, BlankNode) for end in self.ends) if self.ends else None

    @property
    def terms(self) -> frozenset[Term]:
        """What it is about: its ends, what lies between, and the subjects and objects of its triples."""
        stated = (term for cited in self.triples for term in (cited.triple.subject, cited.triple.object))
        return frozenset((*self.ends, *(term for place in self.between for term in place), *stated))

    @property
    def graphs(self) -> tuple[str, ...]:
        """The graphs that its triples were found in, as the user named them."""
        return tuple(dict.fromkeys(source.graph for cited in self.triples for source in cited.sources))

    @property
    def sourced_text(self) -> str:
        """The text, after the document it is from."""
        return self.text if self.excerpt is None else f"{self.excerpt}: {self.text}"


class Evidence:
    """Items in order, with markers that never change; those that have none yet get the next ones.

    >>> q = Query("q", "")
    >>> evidence = Evidence([EvidenceItem("path", "a", (), q), EvidenceItem("neighbours", "b", (), q)])
    >>> [item.marker for item in evidence], [item.marker for item in evidence.keep(["N1"])]
    (['P1', 'N1'], ['N1'])
    """

    def __init__(self, items: Iterable[EvidenceItem] = ()) -> None:
        counts: dict[ItemKind, int] = {}
        marked = []
        for item in items:
            if not item.marker:
                counts[item.kind] = counts.get(item.kind, 0) + 1
                item = replace(item, marker=f"{_LETTERS[item.kind]}{counts[item.kind]}")  # noqa: PLW2901
            elif (number := item.marker[1:]).isdecimal():
                counts[item.kind] = max(counts.get(item.kind, 0), int(number))
            marked.append(item)
        self._items = {item.marker: item for item in marked}

    def __iter__(self) -> Iterator[EvidenceItem]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, marker: str | int) -> EvidenceItem: ...
    @overload
    def __getitem__(self, marker: slice) -> Evidence: ...
    def __getitem__(self, marker: str | int | slice) -> EvidenceItem | Evidence:
        """Get an item by its marker or its place, or some by a slice of places, with the markers they had."""
        if isinstance(marker, str):
            try:
                return self._items[marker]
            except KeyError:
                raise KeyError(f"no evidence {marker!r}; there are: {', '.join(self._items)}") from None
        items = list(self)[marker]
        return Evidence(items) if isinstance(items, list) else items

    def __repr__(self) -> str:
        return f"<Evidence {', '.join(self._items)}>" if self._items else "<Evidence: none>"

    def __str__(self) -> str:
        """Write a line for each item: its marker and its text."""
        return "\n".join(f"{item.marker:>4}  {printable(item.sourced_text, _MAX_LINE_CHARACTERS)}" for item in self)

    def __contains__(self, marker: object) -> bool:
        return marker in self._items

    @property
    def triples(self) -> tuple[Triple, ...]:
        """Every cited triple once, in order."""
        return tuple(dict.fromkeys(cited.triple for item in self for cited in item.triples))

    def to_dataframe(self, labels: Mapping[Term, str] = MappingProxyType({})) -> pd.DataFrame:
        """Make a line for each triple of each item, and one for an item without triples, such as a passage.

        :param labels: of the terms; of one that has none here, the local name.
        :raises OptionError: where pandas is not installed.
        """
        rows: list[dict[str, Any]] = []
        for item in self:
            about = {"marker": item.marker, "kind": item.kind, "score": item.score, "text": item.sourced_text}
            rows += [about | _triple_columns(cited, labels) for cited in item.triples] or [about]
        return data_frame({name: [row.get(name) for row in rows] for name in _COLUMNS})

    def keep(self, markers: Iterable[str]) -> Evidence:
        """Only these items, in their order, with the markers they had."""
        wanted = set(markers)
        return Evidence(item for item in self if item.marker in wanted)


def _triple_columns(cited: CitedTriple, labels: Mapping[Term, str]) -> dict[str, Any]:
    source = cited.sources[0] if cited.sources else None
    columns: dict[str, Any] = {"direction": cited.direction, "verified": cited.verified}
    if source is not None:
        columns |= {"graph": source.graph, "named_graph": source.named_graph}
    for name, term in zip(("subject", "predicate", "object"), cited.triple, strict=True):
        own = local_name(term) if isinstance(term, IRI) else term.value if isinstance(term, Literal) else str(term)
        columns |= {name: python_value(term), f"{name}_label": labels.get(term) or own}
    return columns
