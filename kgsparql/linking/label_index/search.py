"""Search of labels by key, word, trigram and vector: the interface, the vocabulary, and the index that a linker has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.rows import LabelRow
from kgsparql.linking.words import STOP_WORDS, stem, words
from kgsparql.rdf.terms import normalised
from kgsparql.storage.location import Location

TYPE_WORDS = 2
"""Longer labels of classes and predicates do not count: some of their words may be names, as in `MP of the Sejm ID`."""

SMALL_LETTERS = 0.02
"""Capitals mark names in a graph in which more than this share of labels begins with a small letter."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How many labels have each word, and which words are those of types and predicates.

    :param counts: word to the number of distinct keys that have it.
    :param labels: the number of distinct keys.
    :param type_stems: stems of the words of class and predicate labels.
    :param capitals_tell: capitals mark names, because some labels begin with a small letter.
    """

    counts: Mapping[str, int]
    labels: int
    type_stems: frozenset[str] = frozenset()
    capitals_tell: bool = False

    @classmethod
    def of(cls, rows: Iterable[LabelRow], keys: Collection[str]) -> Vocabulary:
        """The vocabulary of some labels; a key counts once, however many languages or entities have it.

        :param keys: of these rows, each once.
        """
        types: set[str] = set()
        small = 0
        for row in rows:
            small += row.kind == "entity" and row.text[0].islower()
            if row.kind != "entity" and row.role != "alternative":
                types.update(_type_stems(row))
        counts = Counter(chain.from_iterable(set(words(key)) for key in keys))
        return cls(counts, len(keys), frozenset(types), capitals_tell=small > SMALL_LETTERS * len(keys))

    def idf(self, word: str) -> float:
        """How much a word says about which label is meant; more than 0."""
        return math.log(1 + self.labels / (0.5 + self.counts.get(word, 0)))

    @property
    def highest_idf(self) -> float:
        """The idf of a word that one label has."""
        return math.log(1 + self.labels / 1.5)


def _type_stems(row: LabelRow) -> list[str]:
    """Stems of a short class or predicate label; of `location.location.time_zones`, those of the last part."""
    key = normalised(row.text.rsplit(".", 1)[-1]) if row.role == "derived" else row.key
    content = [word for word in words(key) if word not in STOP_WORDS["en"]]
    return [stem(word) for word in content] if len(content) <= TYPE_WORDS else []


class LabelSearch(Protocol):
    """Labels that can be searched. Results come in a fixed order: the best first, then by IRI and text.

    A search that has all labels at hand inherits :meth:`with_graph`, :meth:`offline`, :meth:`for_text` and
    :meth:`notes`.
    """

    @property
    def has_vectors(self) -> bool:
        """Whether every label has a vector, so that :meth:`nearest` may be used."""
        ...

    def with_graph(self, graph: KnowledgeGraph) -> LabelSearch:  # noqa: ARG002 - none is asked
        """The same search for one question; labels that are not at hand are looked up in this view of the graph."""
        return self

    def offline(self) -> LabelSearch:
        """The part that needs no graph: all that can be searched while the graph does not answer."""
        return self

    def for_text(self, text: str, languages: tuple[str, ...]) -> LabelSearch:  # noqa: ARG002 - all labels are here
        """The search to use for one text; an endpoint is asked here for all labels that the text may name."""
        return self

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002 - there is nothing to say
        """What the reader of an answer should know about the search."""
        return ()

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """The vocabulary; its counts hold for at least the wanted words."""
        ...

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """The rows with one of these keys."""
        ...

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """Rows that have some of these words: first those with the rarest ones and few other words."""
        ...

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """Rows that share trigrams with a normalised text."""
        ...

    def near_keys(self, key: str, *, edits: int) -> list[tuple[str, int]]:  # noqa: ARG002 - it may not know all keys
        """The keys that are so many typing errors, or fewer, from another text, with how many: the likeliest first.

        None where not all labels are at hand: the text may be that of a label that is not.
        """
        return []

    def near_words(self, word: str, *, edits: int) -> list[tuple[str, int]]:  # noqa: ARG002 - it may not know all words
        """As :meth:`near_keys`, for one word and the words of the vocabulary."""
        return []

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """For each vector, of shape ``(n, dimension)``, the rows of the nearest texts with their cosines."""
        ...


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """What a linker searches.

    :param embedder: name of the embedder whose vectors all labels have; ``None`` without vectors.
    :param directory: where it is kept; ``None`` for one that is made again each time.
    :param note: what a person should know, such as that nothing could be kept.
    :param is_partial: the graph has more labels, which are looked up for each question.
    """

    search: LabelSearch
    rows: int = 0
    texts: int = 0
    embedder: str | None = None
    directory: Location | None = None
    note: str = ""
    is_partial: bool = False
