"""Labels in memory: all of a small graph, or the few that were found for one text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kgsparql.linking import bm25
from kgsparql.linking.label_index.search import LabelIndex, LabelRow, LabelSearch, Rows, SpellingSearch, Vocabulary
from kgsparql.linking.words import trigrams, words
from kgsparql.models.embedding import Embedder


class MemoryLabels(LabelSearch):
    """Labels held in this process: of graphs so small that reading them again is faster than opening a database.

    >>> found = MemoryLabels([LabelRow("http://e.org/a", "Marie Curie", "marie curie")])
    >>> [row.text for row in found.like("curye marie", limit=5)]
    ['Marie Curie']

    :param embedder: compares texts by meaning, which are embedded when they are first compared; ``None`` for none.
    """

    def __init__(self, rows: Iterable[LabelRow], embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self.rows = sorted(rows)
        self._by_key: dict[str, list[LabelRow]] = defaultdict(list)
        for row in self.rows:
            self._by_key[row.key].append(row)

    @property
    def has_vectors(self) -> bool:
        """See :meth:`LabelSearch.has_vectors`."""
        return self._embedder is not None

    def held_rows(self) -> Iterable[LabelRow]:
        """See :meth:`LabelSearch.held_rows`."""
        return self.rows

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:  # noqa: ARG002 - all of it is at hand
        """See :meth:`LabelSearch.vocabulary`."""
        return self._own_vocabulary

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """See :meth:`LabelSearch.exact`."""
        return [row for key in sorted(set(keys)) for row in self._by_key.get(key, ())]

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.with_words`."""
        return self._best_rows(self._word_postings, wanted, limit)

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.like`."""
        return self._best_rows(self._trigram_postings, trigrams(key), limit)

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """See :meth:`LabelSearch.near`."""
        return (self._word_spellings if words else self._key_spellings).near(text, edits=edits)

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """See :meth:`LabelSearch.nearest`."""
        if not self.rows:
            return [[] for _ in vectors]
        texts, matrix = self._embedded_texts
        found = nearest_places(vectors, matrix, limit)
        return [[(row, cosine) for place, cosine in hits for row in texts[place]] for hits in found]

    def _best_rows(self, postings: _Postings, terms: Iterable[str], limit: int) -> list[LabelRow]:
        return [row for key in postings.best(terms, limit) for row in self._by_key[key]][:limit]

    @cached_property
    def _own_vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.rows, self._by_key)

    @cached_property
    def _word_postings(self) -> _Postings:
        return _Postings((key, words(key)) for key in self._by_key)

    @cached_property
    def _trigram_postings(self) -> _Postings:
        return _Postings((key, trigrams(key)) for key in self._by_key)

    @cached_property
    def _key_spellings(self) -> SpellingSearch:
        return SpellingSearch.of(self._by_key)

    @cached_property
    def _word_spellings(self) -> SpellingSearch:
        return SpellingSearch.of(self._own_vocabulary.counts)

    @cached_property
    def _embedded_texts(self) -> tuple[list[list[LabelRow]], NDArray[np.float32]]:
        """The rows of each text, in the order of the texts, and their vectors, of shape ``(n_texts, dimension)``."""
        found: dict[str, list[LabelRow]] = defaultdict(list)
        for row in self.rows:
            found[row.text].append(row)
        texts = sorted(found)
        vectors = np.zeros((len(texts), 0), np.float32) if self._embedder is None else self._embedder.embed(texts)
        return [found[text] for text in texts], vectors


def memory_index(rows: Rows, embedder: Embedder | None = None, *, note: str = "") -> LabelIndex:
    """Make an index that is held in memory."""
    name = None if embedder is None else embedder.name
    return LabelIndex(MemoryLabels(rows, embedder), len(rows), len({row.text for row in rows}), name, note=note)


def nearest_places(
    vectors: NDArray[np.float32], matrix: NDArray[np.float32], limit: int
) -> list[list[tuple[int, float]]]:
    """Find, for each vector, the nearest rows of a matrix, by number, with their cosines; all are of unit length."""
    found = []
    for cosines in vectors @ matrix.T:
        best = np.argsort(-cosines.round(6), kind="stable")[:limit]
        found.append([(int(i), float(cosines[i])) for i in best])
    return found


class _Postings:
    """Keys by the words they have; scored by BM25, as if no key had a word twice."""

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
        """Find the keys that have most of these words, the best first."""
        scores = np.zeros(len(self._keys))
        for term in sorted(set(terms)):
            if places := self._places.get(term):
                scores[places] += bm25.inverse_frequency(len(self._keys), len(places))
        scores *= self._weights
        # Equal scores in the order of the keys, so that the limit cuts the same every time.
        order = sorted(np.flatnonzero(scores), key=lambda i: (-round(float(scores[i]), 9), self._keys[i]))
        return [self._keys[i] for i in order[:limit]]
