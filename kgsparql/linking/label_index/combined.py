"""Several searches of labels as one: the layers of one graph, or several graphs, of which any may fail."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import GRAPH_FAILED, KgsparqlError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.search import LabelIndex, LabelRow, LabelSearch, Vocabulary, nearest_first

_ROLES = ("label", "alternative", "derived")


@dataclass(frozen=True)
class CombinedLabels(LabelSearch):
    """Labels of several places of one graph, or of several graphs; a name that several have is one row.

    Its degree is their sum. A name that one has only from an IRI is left out of a search in which another gives a
    label. A graph of several that fails when its labels are looked up does not keep the others back.

    :param names: of the graphs, in the order of the parts; none for the places of one graph.
    :param note: what to say where nothing was linked, such as how much of the graph is indexed.
    :param failed: the errors of those that failed, by name; they are not asked again in this question.
    """

    parts: tuple[LabelSearch, ...]
    names: tuple[str, ...] = ()
    note: str = ""
    failed: dict[str, KgsparqlError] = field(default_factory=dict)

    @property
    def has_vectors(self) -> bool:
        """Tell whether any part has vectors."""
        return any(part.has_vectors for part in self.parts)

    def with_graph(self, graph: KnowledgeGraph) -> CombinedLabels:
        """See :meth:`LabelSearch.with_graph`; each of several graphs gets its own member of the graph."""
        members = {member.name: member for member in graph.members}
        of_parts = [members.get(name) for name in self.names] or [graph] * len(self.parts)
        parts = (part if own is None else part.with_graph(own) for part, own in zip(self.parts, of_parts, strict=True))
        return replace(self, parts=tuple(parts), failed={})

    def offline(self) -> CombinedLabels:
        """See :meth:`LabelSearch.offline`."""
        return replace(self, parts=tuple(part.offline() for part in self.parts))

    def for_text(self, text: str, languages: tuple[str, ...]) -> CombinedLabels:
        """See :meth:`LabelSearch.for_text`."""
        found: list[LabelSearch] = []
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
        """See :meth:`LabelSearch.notes`; says which graphs failed, so that their names were not looked up."""
        notes = dict.fromkeys(note for part in self.parts for note in part.notes(linked))
        failures = (error.message_about(name) for name, error in self.failed.items())
        unlinked = (self.note,) if self.note and not linked else ()
        return (*notes, *unlinked, *(f"{why}; its names were not looked up" for why in failures))

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """See :meth:`LabelSearch.vocabulary`."""
        found = [part.vocabulary(wanted) for part in self.parts]
        return Vocabulary(
            {word: count for word in wanted if (count := sum(part.counts.get(word, 0) for part in found))},
            sum(part.labels for part in found),
            frozenset[str]().union(*(part.type_stems for part in found)),
            capitals_tell=any(part.capitals_tell for part in found),
        )

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """See :meth:`LabelSearch.exact`."""
        found = chain.from_iterable(part.exact(keys) for part in self.parts)
        return sorted(_without_repeats(found), key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.with_words`."""
        return _interleaved_rows(part.with_words(wanted, limit=limit) for part in self.parts)[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.like`."""
        return _interleaved_rows(part.like(key, limit=limit) for part in self.parts)[:limit]

    def near_keys(self, key: str, *, edits: int) -> list[tuple[str, int]]:
        """See :meth:`LabelSearch.near_keys`."""
        return nearest_first(key, chain.from_iterable(part.near_keys(key, edits=edits) for part in self.parts))

    def near_words(self, word: str, *, edits: int) -> list[tuple[str, int]]:
        """See :meth:`LabelSearch.near_words`."""
        return nearest_first(word, chain.from_iterable(part.near_words(word, edits=edits) for part in self.parts))

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """See :meth:`LabelSearch.nearest`; asks the parts that have vectors."""
        found = [part.nearest(vectors, limit=limit) for part in self.parts if part.has_vectors]
        nearest = []
        for number in range(len(vectors)):
            best: dict[tuple[str, ...], tuple[LabelRow, float]] = {}
            hits = chain.from_iterable(of_part[number] for of_part in found)
            for row, cosine in sorted(hits, key=lambda hit: (-hit[1], hit[0])):
                best.setdefault((row.iri, row.text, row.key, row.language), (row, cosine))
            nearest.append(list(best.values())[:limit])
        return nearest


def _interleaved_rows(lists: Iterable[Sequence[LabelRow]]) -> list[LabelRow]:
    """Join several ranked lists, the best of each before the second of any."""
    return _without_repeats(row for rows in zip_longest(*lists) for row in rows if row is not None)


def _without_repeats(rows: Iterable[LabelRow]) -> list[LabelRow]:
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


def federated_index(indexes: Mapping[str, LabelIndex]) -> LabelIndex:
    """Join the indexes of several graphs, by name; with vectors if all have vectors of the same embedder."""
    embedders = {index.embedder for index in indexes.values()}
    return LabelIndex(
        CombinedLabels(tuple(index.search for index in indexes.values()), tuple(indexes)),
        rows=sum(index.rows for index in indexes.values()),
        texts=sum(index.texts for index in indexes.values()),
        embedder=embedders.pop() if len(embedders) == 1 else None,
    )
