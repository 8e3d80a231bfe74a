"""The labels of several graphs, searched as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.labels.index import LabelIndex
from kgsparql.labels.rows import LabelRow
from kgsparql.labels.search import LabelSearch, Vocabulary

__all__ = ["MergedLabels", "merged_index"]

_ROLES = ("label", "alternative", "derived")


def merged_index(indexes: Mapping[str, LabelIndex]) -> LabelIndex:
    """The indexes of several graphs as one; searched by meaning where all of them are, by the same embedder."""
    embedders = {index.embedder for index in indexes.values()}
    return LabelIndex(
        MergedLabels({name: index.search for name, index in indexes.items()}),
        rows=sum(index.rows for index in indexes.values()),
        texts=sum(index.texts for index in indexes.values()),
        embedder=embedders.pop() if len(embedders) == 1 else None,
    )


@dataclass(frozen=True)
class MergedLabels:
    """Labels of several graphs, by the names of these; what several call the same is one row.

    Something that one graph only knows by its IRI is called what another calls it, where both come up in a search.
    """

    parts: Mapping[str, LabelSearch]

    @property
    def has_vectors(self) -> bool:
        """Whether every label has a vector."""
        return all(part.has_vectors for part in self.parts.values())

    def asking(self, graph: Any) -> MergedLabels:
        """As :meth:`LabelSearch.asking`, each part with its own member of the graph."""
        members = {member.name: member for member in getattr(graph, "members", ())}
        return MergedLabels(
            {name: part.asking(members[name]) if name in members else part for name, part in self.parts.items()}
        )

    def about(self, text: str, languages: tuple[str, ...]) -> MergedLabels:
        """As :meth:`LabelSearch.about`."""
        return MergedLabels({name: part.about(text, languages) for name, part in self.parts.items()})

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """As :meth:`LabelSearch.notes`."""
        return tuple(dict.fromkeys(chain.from_iterable(part.notes(linked) for part in self.parts.values())))

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """As :meth:`LabelSearch.vocabulary`."""
        parts = [part.vocabulary(wanted) for part in self.parts.values()]
        return Vocabulary(
            _Sums([part.counts for part in parts]),
            sum(part.labels for part in parts),
            frozenset[str]().union(*(part.type_stems for part in parts)),
            capitals_tell=any(part.capitals_tell for part in parts),
        )

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """As :meth:`LabelSearch.exact`."""
        return sorted(_once(chain.from_iterable(part.exact(keys) for part in self.parts.values())), key=_by_key)

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.with_words`."""
        return _in_turn(part.with_words(wanted, limit=limit) for part in self.parts.values())[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.like`."""
        return _in_turn(part.like(key, limit=limit) for part in self.parts.values())[:limit]

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """As :meth:`LabelSearch.nearest`."""
        found = [part.nearest(vectors, limit=limit) for part in self.parts.values()]
        merged = []
        for hits in zip(*found, strict=True):
            best: dict[LabelRow, float] = {}
            for row, cosine in sorted(chain.from_iterable(hits), key=lambda hit: (-hit[1], hit[0])):
                best.setdefault(row, cosine)
            merged.append(list(best.items())[:limit])
        return merged


class _Sums(Mapping[str, int]):
    """In how many labels of all graphs a word is."""

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


def _by_key(row: LabelRow) -> tuple[str, LabelRow]:
    return row.key, row


def _in_turn(found: Iterable[Sequence[LabelRow]]) -> list[LabelRow]:
    """The best of each, then the second of each …"""
    return _once(row for rows in zip_longest(*found) for row in rows if row is not None)


def _once(rows: Iterable[LabelRow]) -> list[LabelRow]:
    """The rows in their order, those that say the same of the same thing as one, in which degrees are added."""
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
