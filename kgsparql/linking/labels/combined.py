"""Several searches of labels as one, of which the layers of one graph are the simpler case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.graphs.protocols import KnowledgeGraph
from kgsparql.linking.labels.rows import LabelRow
from kgsparql.linking.labels.search import LabelSearch, Vocabulary

__all__ = ["CombinedLabels", "LayeredLabels", "RowCosine"]

RowCosine: TypeAlias = tuple[LabelRow, float]


@dataclass(frozen=True)
class CombinedLabels(ABC):
    """Labels that are searched in several parts; a subclass says what rows of two parts are the same."""

    parts: tuple[LabelSearch, ...]

    @property
    def has_vectors(self) -> bool:
        """Whether any part has vectors."""
        return any(part.has_vectors for part in self.parts)

    def with_graph(self, graph: KnowledgeGraph) -> Self:
        """As :meth:`LabelSearch.with_graph`."""
        return replace(self, parts=tuple(part.with_graph(graph) for part in self.parts))

    @abstractmethod
    def _without_repeats(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        """The rows in their order, without those that repeat another."""

    @abstractmethod
    def _nearest_of_all(self, found: Sequence[Sequence[RowCosine]], limit: int) -> list[RowCosine]:
        """The hits of all parts for one vector, as one list."""

    def offline(self) -> Self:
        """As :meth:`LabelSearch.offline`."""
        return replace(self, parts=tuple(part.offline() for part in self.parts))

    def for_text(self, text: str, languages: tuple[str, ...]) -> Self:
        """As :meth:`LabelSearch.for_text`."""
        return replace(self, parts=tuple(part.for_text(text, languages) for part in self.parts))

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """As :meth:`LabelSearch.notes`."""
        return tuple(dict.fromkeys(note for part in self.parts for note in part.notes(linked)))

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """As :meth:`LabelSearch.vocabulary`."""
        found = [part.vocabulary(wanted) for part in self.parts]
        return Vocabulary(
            {word: count for word in wanted if (count := sum(part.counts.get(word, 0) for part in found))},
            sum(part.labels for part in found),
            frozenset[str]().union(*(part.type_stems for part in found)),
            capitals_tell=any(part.capitals_tell for part in found),
        )

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """As :meth:`LabelSearch.exact`."""
        found = chain.from_iterable(part.exact(keys) for part in self.parts)
        return sorted(self._without_repeats(found), key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.with_words`."""
        return self._interleaved([part.with_words(wanted, limit=limit) for part in self.parts])[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.like`."""
        return self._interleaved([part.like(key, limit=limit) for part in self.parts])[:limit]

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[RowCosine]]:
        """As :meth:`LabelSearch.nearest`, of the parts that have vectors."""
        found = [part.nearest(vectors, limit=limit) for part in self.parts if part.has_vectors]
        return [self._nearest_of_all([hits[i] for hits in found], limit) for i in range(len(vectors))]

    def _interleaved(self, lists: Sequence[Sequence[LabelRow]]) -> list[LabelRow]:
        """The rows of several ranked lists, the best of each before the second of any."""
        return self._without_repeats(row for rows in zip_longest(*lists) for row in rows if row is not None)


@dataclass(frozen=True)
class LayeredLabels(CombinedLabels):
    """Labels of one graph from several places, the best first; of a name that several have, the first row counts.

    :param note: what to say where nothing was linked, such as how much of the graph is indexed.
    """

    note: str = ""

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """As :meth:`LabelSearch.notes`."""
        notes = super().notes(linked)
        return notes if linked or not self.note else (*notes, self.note)

    def _without_repeats(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        found: dict[tuple[str, str, str], LabelRow] = {}
        for row in rows:
            found.setdefault(_identity(row), row)
        return list(found.values())

    def _nearest_of_all(self, found: Sequence[Sequence[RowCosine]], limit: int) -> list[RowCosine]:  # noqa: ARG002 - all of each count
        kept: list[RowCosine] = []
        for hits in found:
            known = {_identity(row) for row, _ in kept}
            kept += [hit for hit in hits if _identity(hit[0]) not in known]
        return sorted(kept, key=lambda hit: (-round(hit[1], 6), hit[0]))


def _identity(row: LabelRow) -> tuple[str, str, str]:
    return row.iri, row.text, row.key
