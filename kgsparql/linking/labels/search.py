"""Finding labels by key, by word, by parts of words, by vector: the interface, and its form for small graphs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kgsparql.graphs.protocols import KnowledgeGraph
from kgsparql.linking import bm25
from kgsparql.linking.labels.rows import LabelRow
from kgsparql.linking.words import STOP_WORDS, stem, trigrams, words
from kgsparql.rdf.terms import normalised

__all__ = ["LabelSearch", "LocalLabels", "MemoryLabels", "Vocabulary"]

TYPE_WORDS = 2
"""Content words of a class or predicate label beyond which some may be names: `MP of the Sejm of Poland ID`."""

SMALL_LETTERS = 0.02
"""Share of labels that must begin with a small letter before a capital is taken to mean anything."""


class Vocabulary:
    """How many labels have each word, and which words are those of types and predicates.

    :param counts: word to the number of distinct keys that have it.
    :param labels: the number of distinct keys.
    :param type_stems: stems of the words of class and predicate labels.
    :param capitals_tell: some labels begin with a small letter, so that a capital marks a name.
    """

    def __init__(
        self, counts: Mapping[str, int], labels: int, type_stems: Collection[str] = (), *, capitals_tell: bool = False
    ) -> None:
        self.counts = counts
        self.labels = labels
        self.type_stems = frozenset(type_stems)
        self.capitals_tell = capitals_tell

    @classmethod
    def of(cls, rows: Iterable[LabelRow]) -> Vocabulary:
        """The vocabulary of some labels; a key counts once, however many languages or things share it."""
        keys: set[str] = set()
        types: set[str] = set()
        small = 0
        for row in rows:
            keys.add(row.key)
            small += row.kind == "entity" and row.text[0].islower()
            if row.kind != "entity" and row.role != "alternative":
                types.update(_type_stems(row))
        counts = Counter(chain.from_iterable(set(words(key)) for key in keys))
        return cls(counts, len(keys), types, capitals_tell=small > SMALL_LETTERS * len(keys))

    def idf(self, word: str) -> float:
        """How much a word says about which label is meant; more than 0."""
        return math.log(1 + self.labels / (0.5 + self.counts.get(word, 0)))

    @property
    def highest_idf(self) -> float:
        """The idf of a word that one label has."""
        return math.log(1 + self.labels / 1.5)


def _type_stems(row: LabelRow) -> list[str]:
    """Stems of a short class or predicate label; of `location.location.time_zones` only the last part tells."""
    key = normalised(row.text.rsplit(".", 1)[-1]) if row.role == "derived" else row.key
    told = [word for word in words(key) if word not in STOP_WORDS["en"]]
    return [stem(word) for word in told] if len(told) <= TYPE_WORDS else []


class LabelSearch(Protocol):
    """Labels that can be searched. Results come in a fixed order: best first, then by IRI and text."""

    @property
    def has_vectors(self) -> bool:
        """Whether every label has a vector, so that :meth:`nearest` may be used."""
        ...

    def with_graph(self, graph: KnowledgeGraph) -> LabelSearch:
        """The same for one question, whose view of the graph is asked if any is."""
        ...

    def offline(self) -> LabelSearch:
        """What of it is searched without asking anybody: all that is left while its graph does not answer."""
        ...

    def for_text(self, text: str, languages: tuple[str, ...]) -> LabelSearch:
        """The labels that a text may name, or all of them: what is searched for the text is searched for here."""
        ...

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """What the reader of an answer should know of the search, by the IRIs that were linked."""
        ...

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """The vocabulary, of use for at least the wanted words."""
        ...

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """The rows with one of these keys."""
        ...

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """Rows that have some of these words, those with the rarest and the fewest others first."""
        ...

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """Rows that share runs of three characters with a normalised text."""
        ...

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """For each vector of ``(n, dimension)`` the rows of the nearest texts, with their cosines."""
        ...


class LocalLabels:
    """Labels that are all at hand, whatever is asked."""

    def with_graph(self, graph: KnowledgeGraph) -> Self:  # noqa: ARG002 - none is asked
        """As :meth:`LabelSearch.with_graph`."""
        return self

    def offline(self) -> Self:
        """As :meth:`LabelSearch.offline`."""
        return self

    def for_text(self, text: str, languages: tuple[str, ...]) -> Self:  # noqa: ARG002 - all labels are here
        """As :meth:`LabelSearch.for_text`."""
        return self

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002 - there is nothing to say
        """As :meth:`LabelSearch.notes`."""
        return ()


class MemoryLabels(LocalLabels):
    """Labels held in this process: for graphs so small that reading them again is faster than opening a database.

    >>> found = MemoryLabels([LabelRow("http://e.org/a", "Marie Curie", "marie curie")])
    >>> [row.text for row in found.like("curye marie", limit=5)]
    ['Marie Curie']
    """

    has_vectors = False

    def __init__(self, rows: Iterable[LabelRow]) -> None:
        self.rows = sorted(rows)
        self._by_key: dict[str, list[LabelRow]] = defaultdict(list)
        for row in self.rows:
            self._by_key[row.key].append(row)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.rows)

    @cached_property
    def _words(self) -> _Postings:
        return _Postings((key, words(key)) for key in self._by_key)

    @cached_property
    def _trigrams(self) -> _Postings:
        return _Postings((key, trigrams(key)) for key in self._by_key)

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:  # noqa: ARG002 - all of it is at hand
        """As :meth:`LabelSearch.vocabulary`."""
        return self._vocabulary

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """As :meth:`LabelSearch.exact`."""
        return [row for key in sorted(set(keys)) for row in self._by_key.get(key, ())]

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.with_words`."""
        return self._rows(self._words.best(wanted, limit), limit)

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """As :meth:`LabelSearch.like`."""
        return self._rows(self._trigrams.best(trigrams(key), limit), limit)

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """As :meth:`LabelSearch.nearest`."""
        raise NotImplementedError("labels in memory have no vectors")

    def _rows(self, keys: Iterable[str], limit: int) -> list[LabelRow]:
        return [row for key in keys for row in self._by_key[key]][:limit]


class _Postings:
    """Which keys have which words: BM25 over short texts, where no word is there twice."""

    def __init__(self, texts: Iterable[tuple[str, Collection[str]]]) -> None:
        self._keys: list[str] = []
        self._places: dict[str, list[int]] = defaultdict(list)
        lengths = []
        for number, (key, terms) in enumerate(texts):
            self._keys.append(key)
            lengths.append(len(terms))
            for term in set(terms):
                self._places[term].append(number)
        sizes = np.array(lengths, dtype=np.float64)
        mean = sizes.mean() if lengths else 1.0
        self._weights = bm25.term_scores(1.0, 1.0, bm25.length_norms(sizes, max(mean, 1e-9)))

    def best(self, terms: Iterable[str], limit: int) -> list[str]:
        """The keys with most of these words, the best first, at most ``limit``."""
        scores = np.zeros(len(self._keys))
        for term in sorted(set(terms)):
            places = self._places.get(term)
            if places:
                scores[places] += bm25.inverse_frequency(len(self._keys), len(places))
        scores *= self._weights
        hits = np.flatnonzero(scores)
        # Equal scores in the order of the keys, so that a cut is the same every time.
        order = sorted(hits, key=lambda i: (-round(float(scores[i]), 9), self._keys[i]))
        return [self._keys[i] for i in order[:limit]]
