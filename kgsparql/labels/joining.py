"""Several searches of labels as one: what an endpoint finds, and what was indexed of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from kgsparql.graph import KnowledgeGraph
from kgsparql.labels.rows import LabelRow
from kgsparql.labels.search import LabelSearch, Vocabulary

__all__ = ["JoinedLabels", "SliceLabels"]


class JoinedLabels:
    """Labels that are searched in several places. Of a name that several have, the first place's counts.

    :param parts: the best first.
    """

    def __init__(self, parts: Sequence[LabelSearch]) -> None:
        self.parts = tuple(parts)

    @property
    def has_vectors(self) -> bool:
        """Whether any part can compare by meaning; of the others, labels are found by spelling."""
        return any(part.has_vectors for part in self.parts)

    def asking(self, graph: KnowledgeGraph) -> JoinedLabels:
        """As :meth:`LabelSearch.asking`."""
        return JoinedLabels([part.asking(graph) for part in self.parts])

    def about(self, text: str, languages: tuple[str, ...]) -> JoinedLabels:
        """As :meth:`LabelSearch.about`."""
        return JoinedLabels([part.about(text, languages) for part in self.parts])

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """As :meth:`LabelSearch.notes`."""
        return tuple(dict.fromkeys(note for part in self.parts for note in part.notes(linked)))

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """As :meth:`LabelSearch.vocabulary`."""
        found = [part.vocabulary(wanted) for part in self.parts]
        counts: Counter[str] = Counter()
        for vocabulary in found:
            counts.update({word: vocabulary.counts.get(word, 0) for word in wanted})
        stems = frozenset[str]().union(*(vocabulary.type_stems for vocabulary in found))
        labels = sum(vocabulary.labels for vocabulary in found)
        return Vocabulary(counts, labels, stems, capitals_tell=any(vocabulary.capitals_tell for vocabulary in found))

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """As :meth:`LabelSearch.exact`."""
        return sorted(_once(row for part in self.parts for row in part.exact(keys)), key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.with_words`."""
        return _in_turn([part.with_words(wanted, limit=limit) for part in self.parts])[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.like`."""
        return _in_turn([part.like(key, limit=limit) for part in self.parts])[:limit]

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """As :meth:`LabelSearch.nearest`."""
        found: list[list[tuple[LabelRow, float]]] = [[] for _ in vectors]
        for part in self.parts:
            if part.has_vectors:
                for hits, more in zip(found, part.nearest(vectors, limit=limit), strict=True):
                    known = {_name(row) for row, _ in hits}
                    hits += [(row, cosine) for row, cosine in more if _name(row) not in known]
        for hits in found:
            hits.sort(key=lambda hit: (-round(hit[1], 6), hit[0]))
        return found


class SliceLabels:
    """The index of a part of a graph: what it lacks may be in the graph.

    :param search: the index.
    :param note: what to say when nothing was linked.
    """

    def __init__(self, search: LabelSearch, note: str) -> None:
        self._search = search
        self._note = note

    @property
    def has_vectors(self) -> bool:
        """As :meth:`LabelSearch.has_vectors`."""
        return self._search.has_vectors

    def asking(self, graph: KnowledgeGraph) -> SliceLabels:  # noqa: ARG002 - an index asks nobody
        """As :meth:`LabelSearch.asking`."""
        return self

    def about(self, text: str, languages: tuple[str, ...]) -> LabelSearch:
        """As :meth:`LabelSearch.about`."""
        return self._search.about(text, languages)

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """What is indexed, where nothing was found."""
        return () if linked else (self._note,)

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """As :meth:`LabelSearch.vocabulary`."""
        return self._search.vocabulary(wanted)

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """As :meth:`LabelSearch.exact`."""
        return self._search.exact(keys)

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.with_words`."""
        return self._search.with_words(wanted, limit=limit)

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.like`."""
        return self._search.like(key, limit=limit)

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """As :meth:`LabelSearch.nearest`."""
        return self._search.nearest(vectors, limit=limit)


def _name(row: LabelRow) -> tuple[str, str, str]:
    return row.iri, row.text, row.key


def _once(rows: Iterable[LabelRow]) -> list[LabelRow]:
    found: dict[tuple[str, str, str], LabelRow] = {}
    for row in rows:
        found.setdefault(_name(row), row)
    return list(found.values())


def _in_turn(lists: Sequence[Sequence[LabelRow]]) -> list[LabelRow]:
    """The rows of several ranked lists, the best of each before the second of any."""
    return _once(row for rows in zip_longest(*lists) for row in rows if row is not None)
