"""Several searches of labels as one: of several graphs, or of what an endpoint finds and what was indexed of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import GRAPH_FAILED, KgsparqlError
from kgsparql.graphs.protocols import KnowledgeGraph, members_of
from kgsparql.linking.labels.building import LabelIndex
from kgsparql.linking.labels.rows import LabelRow
from kgsparql.linking.labels.search import LabelSearch, Vocabulary

__all__ = ["FederatedLabels", "LayeredLabels", "federated_index"]

_ROLES = ("label", "alternative", "derived")
_Hit: TypeAlias = tuple[LabelRow, float]


def federated_index(indexes: Mapping[str, LabelIndex]) -> LabelIndex:
    """The indexes of several graphs as one; searched by meaning where all of them are, by the same embedder.

    :param indexes: by the names of the graphs.
    """
    embedders = {index.embedder for index in indexes.values()}
    return LabelIndex(
        FederatedLabels(tuple(index.search for index in indexes.values()), tuple(indexes)),
        rows=sum(index.rows for index in indexes.values()),
        texts=sum(index.texts for index in indexes.values()),
        embedder=embedders.pop() if len(embedders) == 1 else None,
    )


@dataclass(frozen=True)
class _JoinedLabels(ABC):
    """Labels that are searched in several places; a subclass says who is asked, and what of two places is the same."""

    parts: tuple[LabelSearch, ...]

    @property
    @abstractmethod
    def has_vectors(self) -> bool:
        """As :meth:`LabelSearch.has_vectors`."""

    @abstractmethod
    def with_graph(self, graph: KnowledgeGraph) -> Self:
        """As :meth:`LabelSearch.with_graph`."""

    @abstractmethod
    def _once(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        """The rows in their order, those that say the same as one."""

    @abstractmethod
    def _nearest(self, found: Sequence[Sequence[_Hit]], limit: int) -> list[_Hit]:
        """What every part found near one vector, as one."""

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
            _Sums([part.counts for part in found]),
            sum(part.labels for part in found),
            frozenset[str]().union(*(part.type_stems for part in found)),
            capitals_tell=any(part.capitals_tell for part in found),
        )

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """As :meth:`LabelSearch.exact`."""
        found = chain.from_iterable(part.exact(keys) for part in self.parts)
        return sorted(self._once(found), key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.with_words`."""
        return self._in_turn([part.with_words(wanted, limit=limit) for part in self.parts])[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.like`."""
        return self._in_turn([part.like(key, limit=limit) for part in self.parts])[:limit]

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[_Hit]]:
        """As :meth:`LabelSearch.nearest`; of parts without vectors, labels are found by spelling."""
        found = [part.nearest(vectors, limit=limit) for part in self.parts if part.has_vectors]
        return [self._nearest([hits[i] for hits in found], limit) for i in range(len(vectors))]

    def _in_turn(self, lists: Sequence[Sequence[LabelRow]]) -> list[LabelRow]:
        """The rows of several ranked lists, the best of each before the second of any."""
        return self._once(row for rows in zip_longest(*lists) for row in rows if row is not None)


@dataclass(frozen=True)
class LayeredLabels(_JoinedLabels):
    """Labels of one graph from several places, the best first: of a name that several have, the first place's counts.

    :param note: what to say where nothing was linked, such as how much of the graph is indexed.
    """

    note: str = ""

    @property
    def has_vectors(self) -> bool:
        """Whether any part can compare by meaning."""
        return any(part.has_vectors for part in self.parts)

    def with_graph(self, graph: KnowledgeGraph) -> LayeredLabels:
        """As :meth:`LabelSearch.with_graph`."""
        return replace(self, parts=tuple(part.with_graph(graph) for part in self.parts))

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """As :meth:`LabelSearch.notes`."""
        told = super().notes(linked)
        return told if linked or not self.note else (*told, self.note)

    def _once(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        found: dict[tuple[str, str, str], LabelRow] = {}
        for row in rows:
            found.setdefault(_name(row), row)
        return list(found.values())

    def _nearest(self, found: Sequence[Sequence[_Hit]], limit: int) -> list[_Hit]:  # noqa: ARG002 - all of each count
        kept: list[_Hit] = []
        for hits in found:
            known = {_name(row) for row, _ in kept}
            kept += [hit for hit in hits if _name(hit[0]) not in known]
        return sorted(kept, key=lambda hit: (-round(hit[1], 6), hit[0]))


@dataclass(frozen=True)
class FederatedLabels(_JoinedLabels):
    """Labels of several graphs; what several call the same is one row, in which degrees are added.

    Something that one graph only knows by its IRI is called what another calls it, where both come up in a search.

    A graph that fails when its labels are looked up does not keep the others back.

    :param names: of the graphs, in the order of the parts.
    :param failed: what was wrong with those that failed, by name; not asked again in this question.
    """

    names: tuple[str, ...]
    failed: dict[str, KgsparqlError] = field(default_factory=dict)

    @property
    def has_vectors(self) -> bool:
        """Whether every label has a vector."""
        return all(part.has_vectors for part in self.parts)

    def with_graph(self, graph: KnowledgeGraph) -> FederatedLabels:
        """As :meth:`LabelSearch.with_graph`, each part with its own member of the graph."""
        members = {member.name: member for member in members_of(graph)}
        asked = (part.with_graph(members[name]) if name in members else part for name, part in self._named)
        return FederatedLabels(tuple(asked), self.names)

    def for_text(self, text: str, languages: tuple[str, ...]) -> FederatedLabels:
        """As :meth:`LabelSearch.for_text`.

        :raises KgsparqlError: what was wrong with the first graph, if all fail.
        """
        found = [self._about(name, part, text, languages) for name, part in self._named]
        if len(self.failed) == len(self.parts):
            raise self.failed[self.names[0]]
        return replace(self, parts=tuple(found))

    def _about(self, name: str, part: LabelSearch, text: str, languages: tuple[str, ...]) -> LabelSearch:
        if name not in self.failed:
            try:
                return part.for_text(text, languages)
            except GRAPH_FAILED as error:
                self.failed[name] = error
        return part.offline().for_text(text, languages)

    @property
    def _named(self) -> Iterable[tuple[str, LabelSearch]]:
        return zip(self.names, self.parts, strict=True)

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """As :meth:`LabelSearch.notes`, and of which graphs no names were looked up."""
        told = (error.message_about(name) for name, error in self.failed.items())
        return (*super().notes(linked), *(f"{why}; its names were not looked up" for why in told))

    def _once(self, rows: Iterable[LabelRow]) -> list[LabelRow]:
        met = list(rows)
        kinds: dict[str, str] = {}
        named: set[str] = set()
        for row in met:
            if row.kind != "entity":
                kinds.setdefault(row.iri, row.kind)
            if row.role != "derived":
                named.add(row.iri)
        merged: dict[tuple[str, str, str, str], LabelRow] = {}
        for row in met:
            if row.role == "derived" and row.iri in named:
                continue
            place = (row.iri, row.text, row.key, row.language)
            known = merged.get(place)
            role = row.role if known is None else min(row.role, known.role, key=_ROLES.index)
            degree = row.degree + (known.degree if known is not None else 0)
            merged[place] = row._replace(role=role, degree=degree, kind=kinds.get(row.iri, row.kind))  # type: ignore[arg-type]
        return list(merged.values())

    def _nearest(self, found: Sequence[Sequence[_Hit]], limit: int) -> list[_Hit]:
        best: dict[LabelRow, float] = {}
        for row, cosine in sorted(chain.from_iterable(found), key=lambda hit: (-hit[1], hit[0])):
            best.setdefault(row, cosine)
        return list(best.items())[:limit]


class _Sums(Mapping[str, int]):
    """In how many labels of all parts a word is."""

    def __init__(self, parts: Sequence[Mapping[str, int]]) -> None:
        self._parts = parts

    def __getitem__(self, word: str) -> int:
        found = sum(part.get(word, 0) for part in self._parts)
        if not found:
            raise KeyError(word)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chain.from_iterable(self._parts)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _name(row: LabelRow) -> tuple[str, str, str]:
    return row.iri, row.text, row.key
