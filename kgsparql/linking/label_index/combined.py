"""Labels of several places of one graph, or of several graphs, that are searched as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

from kgsparql.dataclasses import field, frozen, replace
from kgsparql.errors import GRAPH_FAILED, KgsparqlError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import LabelRow, Vocabulary, nearest_first
from kgsparql.linking.words import in_turn
from kgsparql.models.embedding import Embedder, Floats
from kgsparql.rdf.terms import zip_equal

_ROLES = ("label", "alternative", "derived")


@frozen
class CombinedLabels:
    """Labels of several places of one graph, or of several graphs; a name that several have is one row.

    Its degree is their sum. A name that one has only from an IRI is left out of a search in which another gives a
    label. A graph of several that fails when its labels are looked up does not keep the others back.

    :param names: of the graphs, in the order of the parts; none for the places of one graph.
    :param failed: the errors of those that failed, by name; they are not asked again in this question.
    """

    parts: tuple[LabelSearch, ...]
    names: tuple[str, ...] = ()
    failed: dict[str, KgsparqlError] = field(default_factory=dict)

    @property
    def embedder(self) -> Embedder | None:
        """That of the vectors, where all parts have vectors of the same one."""
        first = self.parts[0].embedder
        return first if all(part.embedder is first for part in self.parts) else None

    @property
    def row_count(self) -> int:
        """How many rows all parts have."""
        return sum(part.row_count for part in self.parts)

    def with_graph(self, graph: KnowledgeGraph) -> CombinedLabels:
        """See :meth:`PackedLabels.with_graph`; each of several graphs gets its own member of the graph."""
        members = {member.name: member for member in graph.members}
        of_parts = [members.get(name) for name in self.names] or [graph] * len(self.parts)
        parts = (part.with_graph(own) if own else part for part, own in zip_equal(self.parts, of_parts))
        return replace(self, parts=tuple(parts), failed={})

    def held_rows(self) -> Iterable[LabelRow]:
        """See :meth:`PackedLabels.held_rows`."""
        return chain.from_iterable(part.held_rows() for part in self.parts)

    def offline(self) -> CombinedLabels:
        """See :meth:`PackedLabels.offline`."""
        return replace(self, parts=tuple(part.offline() for part in self.parts))

    def for_text(self, text: str, languages: tuple[str, ...]) -> CombinedLabels:
        """See :meth:`PackedLabels.for_text`."""
        found = []
        for name, part in zip_longest(self.names, self.parts):
            try:
                found.append((part.offline() if name in self.failed else part).for_text(text, languages))
            except GRAPH_FAILED as error:
                if name is None:
                    raise
                self.failed[name] = error
                found.append(part.offline().for_text(text, languages))
        if self.names and len(self.failed) == len(self.parts):
            raise self.failed[self.names[0]]
        return replace(self, parts=tuple(found))

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """See :meth:`PackedLabels.notes`; says which graphs failed, so that their names were not looked up."""
        notes = dict.fromkeys(note for part in self.parts for note in part.notes(linked))
        whys = (f"{error.message_about(name)}; its names were not looked up" for name, error in self.failed.items())
        return (*notes, *whys)

    @property
    def vocabulary(self) -> Vocabulary:
        """See :meth:`PackedLabels.vocabulary`."""
        found = [part.vocabulary for part in self.parts]
        return Vocabulary(
            lambda word: sum(part.count(word) for part in found), sum(part.labels for part in found),
            frozenset[str]().union(*(part.type_stems for part in found)),
            capitals_tell=any(part.capitals_tell for part in found),
        )  # fmt: skip

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """See :meth:`PackedLabels.exact`."""
        found = _without_repeats(row for part in self.parts for row in part.exact(keys))
        return sorted(found, key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """See :meth:`PackedLabels.with_words`."""
        return _without_repeats(in_turn(part.with_words(wanted, limit=limit) for part in self.parts))[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """See :meth:`PackedLabels.like`."""
        return _without_repeats(in_turn(part.like(key, limit=limit) for part in self.parts))[:limit]

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """See :meth:`PackedLabels.near`."""
        return nearest_first(text, (hit for part in self.parts for hit in part.near(text, edits=edits, words=words)))

    def nearest(self, vectors: Floats, *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """See :meth:`PackedLabels.nearest`; a part without vectors finds nothing."""
        found = [part.nearest(vectors, limit=limit) for part in self.parts]
        nearest = []
        for number in range(len(vectors)):
            best = dict[tuple[str, ...], tuple[LabelRow, float]]()
            hits = chain.from_iterable(of_part[number] for of_part in found)
            for hit in sorted(hits, key=lambda hit: (-hit[1], hit[0])):
                best.setdefault(_identity_of(hit[0]), hit)
            nearest.append(list(best.values())[:limit])
        return nearest


def _identity_of(row: LabelRow) -> tuple[str, ...]:
    return row.iri, row.text, row.key, row.language


def _without_repeats(rows: Iterable[LabelRow]) -> list[LabelRow]:
    all_rows = list(rows)
    kinds = {row.iri: row.kind for row in reversed(all_rows) if row.kind != "entity"}  # the first of each
    named = {row.iri for row in all_rows if row.role != "derived"}
    merged = dict[tuple[str, ...], LabelRow]()
    for row in all_rows:
        if row.role != "derived" or row.iri not in named:
            known = merged.get(_identity_of(row), row._replace(degree=0))
            role, kind = min(row.role, known.role, key=_ROLES.index), kinds.get(row.iri, row.kind)
            merged[_identity_of(row)] = row._replace(role=role, degree=row.degree + known.degree, kind=kind)
    return list(merged.values())


LabelSearch: TypeAlias = PackedLabels | CombinedLabels
"""Labels that can be searched; results come in a fixed order, the best first, then by IRI and text."""
