"""Several searches of labels as one: the layers of one graph, or several graphs, of which any may fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import GRAPH_FAILED, KgsparqlError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.rows import LabelRow
from kgsparql.linking.label_index.search import LabelIndex, LabelSearch, Vocabulary, nearest_first

_RowCosine: TypeAlias = tuple[LabelRow, float]
_ROLES = ("label", "alternative", "derived")


@dataclass(frozen=True)
class _CombinedLabels(LabelSearch):
    """Search in several parts; a subclass says which rows of two parts are the same."""

    parts: tuple[LabelSearch, ...]

    @property
    def has_vectors(self) -> bool:
        return any(part.has_vectors for part in self.parts)

    @abstractmethod
    def _without_repeats(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        """Return the rows in their order, without those that repeat another."""

    @abstractmethod
    def _nearest_of_all(self, found: Sequence[Sequence[_RowCosine]], limit: int) -> list[_RowCosine]:
        """Join the hits of all parts for one vector."""

    def with_graph(self, graph: KnowledgeGraph) -> Self:
        return replace(self, parts=tuple(part.with_graph(graph) for part in self.parts))

    def offline(self) -> Self:
        return replace(self, parts=tuple(part.offline() for part in self.parts))

    def for_text(self, text: str, languages: tuple[str, ...]) -> Self:
        return replace(self, parts=tuple(part.for_text(text, languages) for part in self.parts))

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for part in self.parts for note in part.notes(linked)))

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        found = [part.vocabulary(wanted) for part in self.parts]
        return Vocabulary(
            {word: count for word in wanted if (count := sum(part.counts.get(word, 0) for part in found))},
            sum(part.labels for part in found),
            frozenset[str]().union(*(part.type_stems for part in found)),
            capitals_tell=any(part.capitals_tell for part in found),
        )

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        found = chain.from_iterable(part.exact(keys) for part in self.parts)
        return sorted(self._without_repeats(found), key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        return self._interleaved_rows([part.with_words(wanted, limit=limit) for part in self.parts])[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        return self._interleaved_rows([part.like(key, limit=limit) for part in self.parts])[:limit]

    def near_keys(self, key: str, *, edits: int) -> list[tuple[str, int]]:
        return nearest_first(key, chain.from_iterable(part.near_keys(key, edits=edits) for part in self.parts))

    def near_words(self, word: str, *, edits: int) -> list[tuple[str, int]]:
        return nearest_first(word, chain.from_iterable(part.near_words(word, edits=edits) for part in self.parts))

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[_RowCosine]]:
        found = [part.nearest(vectors, limit=limit) for part in self.parts if part.has_vectors]
        return [self._nearest_of_all([hits[i] for hits in found], limit) for i in range(len(vectors))]

    def _interleaved_rows(self, lists: Sequence[Sequence[LabelRow]]) -> list[LabelRow]:
        """Join several ranked lists, the best of each before the second of any."""
        return self._without_repeats(row for rows in zip_longest(*lists) for row in rows if row is not None)


@dataclass(frozen=True)
class LayeredLabels(_CombinedLabels):
    """Labels of one graph from several places, the best first; of a name that several have, the first row counts.

    :param note: what to say where nothing was linked, such as how much of the graph is indexed.
    """

    note: str = ""

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """See :meth:`LabelSearch.notes`."""
        notes = super().notes(linked)
        return notes if linked or not self.note else (*notes, self.note)

    def _without_repeats(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        found: dict[tuple[str, str, str], LabelRow] = {}
        for row in rows:
            found.setdefault(row[:3], row)
        return list(found.values())

    def _nearest_of_all(self, found: Sequence[Sequence[_RowCosine]], limit: int) -> list[_RowCosine]:  # noqa: ARG002 - all of each count
        kept: list[_RowCosine] = []
        for hits in found:
            known = {row[:3] for row, _ in kept}
            kept += [hit for hit in hits if hit[0][:3] not in known]
        return sorted(kept, key=lambda hit: (-round(hit[1], 6), hit[0]))


@dataclass(frozen=True)
class FederatedLabels(_CombinedLabels):
    """Labels of several graphs; a name that several graphs have is one row, with the sum of their degrees.

    A name that one graph only has from an IRI is left out of a search in which another graph gives a label. A graph
    that fails when its labels are looked up does not keep the others back.

    :param names: of the graphs, in the order of the parts.
    :param failed: the errors of those that failed, by name; they are not asked again in this question.
    """

    names: tuple[str, ...]
    failed: dict[str, KgsparqlError] = field(default_factory=dict)

    @property
    def has_vectors(self) -> bool:
        """Tell whether all parts have vectors."""
        return all(part.has_vectors for part in self.parts)

    def with_graph(self, graph: KnowledgeGraph) -> FederatedLabels:
        """See :meth:`LabelSearch.with_graph`; each part gets its own member of the graph."""
        members = {member.name: member for member in graph.members}
        named = zip(self.names, self.parts, strict=True)
        parts = (part.with_graph(members[name]) if name in members else part for name, part in named)
        return FederatedLabels(tuple(parts), self.names)

    def for_text(self, text: str, languages: tuple[str, ...]) -> FederatedLabels:
        """See :meth:`LabelSearch.for_text`.

        :raises KgsparqlError: the error of the first graph, if all fail.
        """
        found: list[LabelSearch] = []
        for name, part in zip(self.names, self.parts, strict=True):
            try:
                if name not in self.failed:
                    found.append(part.for_text(text, languages))
                    continue
            except GRAPH_FAILED as error:
                self.failed[name] = error
            found.append(part.offline().for_text(text, languages))
        if len(self.failed) == len(self.parts):
            raise self.failed[self.names[0]]
        return replace(self, parts=tuple(found))

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """See :meth:`LabelSearch.notes`; says which graphs failed, so that their names were not looked up."""
        failures = (error.message_about(name) for name, error in self.failed.items())
        return (*super().notes(linked), *(f"{why}; its names were not looked up" for why in failures))

    def _without_repeats(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        all_rows = list(rows)
        kinds = {row.iri: row.kind for row in reversed(all_rows) if row.kind != "entity"}  # the first of each
        named = {row.iri for row in all_rows if row.role != "derived"}
        merged: dict[tuple[str, str, str, str], LabelRow] = {}
        for row in all_rows:
            if row.role == "derived" and row.iri in named:
                continue
            identity = (row.iri, row.text, row.key, row.language)
            known = merged.get(identity, row._replace(degree=0))
            role = min(row.role, known.role, key=_ROLES.index)
            kind = kinds.get(row.iri, row.kind)
            merged[identity] = row._replace(role=role, degree=row.degree + known.degree, kind=kind)
        return list(merged.values())

    def _nearest_of_all(self, found: Sequence[Sequence[_RowCosine]], limit: int) -> list[_RowCosine]:
        best: dict[LabelRow, float] = {}
        for row, cosine in sorted(chain.from_iterable(found), key=lambda hit: (-hit[1], hit[0])):
            best.setdefault(row, cosine)
        return list(best.items())[:limit]


def federated_index(indexes: Mapping[str, LabelIndex]) -> LabelIndex:
    """Join the indexes of several graphs, by name; with vectors if all have vectors of the same embedder."""
    embedders = {index.embedder for index in indexes.values()}
    return LabelIndex(
        FederatedLabels(tuple(index.search for index in indexes.values()), tuple(indexes)),
        rows=sum(index.rows for index in indexes.values()),
        texts=sum(index.texts for index in indexes.values()),
        embedder=embedders.pop() if len(embedders) == 1 else None,
    )
