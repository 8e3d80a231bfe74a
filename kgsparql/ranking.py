"""Texts scored against a question: by meaning where there is an embedder, else by words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgsparql.embedding import Embedder
from kgsparql.terms import normalised
from kgsparql.words import STOP_WORDS, stem, words

__all__ = ["BM25Ranker", "EmbeddingRanker", "Ranker", "ranker_for"]


class Ranker(Protocol):
    """Scores texts against a question."""

    @property
    def name(self) -> str:
        """What the scores are from, for logs and answers."""
        ...

    def rank(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """A score for each text, of shape ``(n_texts,)``; higher is better, and only the order means something."""
        ...


def ranker_for(embedder: Embedder | None) -> Ranker:
    """The ranker by meaning if there is an embedder, else the one by words."""
    return BM25Ranker() if embedder is None else EmbeddingRanker(embedder)


class EmbeddingRanker:
    """The cosine of question and text. A text is embedded once, however often it is ranked."""

    def __init__(self, embedder: Embedder, *, remembered: int = 50_000) -> None:
        self.embedder = embedder
        self._remembered = remembered
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """As :meth:`Ranker.name`."""
        return self.embedder.name

    def rank(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """As :meth:`Ranker.rank`."""
        if not texts:
            return np.zeros(0)
        known = self._vectors
        new = sorted({question, *texts} - known.keys())
        if len(known) + len(new) > self._remembered:
            known.clear()
            new = sorted({question, *texts})
        known.update(zip(new, self.embedder.embed(new), strict=True))
        matrix = np.array([known[text] for text in texts], dtype=np.float64)
        return matrix @ known[question].astype(np.float64)


class BM25Ranker:
    """The words that question and text share, rare ones first; rarity is counted over the given texts alone.

    Source: Okapi BM25 (Robertson and Zaragoza 2009, section 3.4), k1 1.2 and b 0.75, light stemming.

    >>> BM25Ranker().rank("Who directed it?", ["director", "directed by", "release year"]).round(2).tolist()
    [0.0, 1.09, 0.0]
    """

    name = "bm25"
    k1 = 1.2
    b = 0.75

    def rank(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """As :meth:`Ranker.rank`."""
        if not texts:
            return np.zeros(0)
        documents = [Counter(_terms(text)) for text in texts]
        found_in = Counter(term for document in documents for term in document)
        lengths = np.array([sum(document.values()) for document in documents], dtype=np.float64)
        norms = self.k1 * (1 - self.b + self.b * lengths / max(lengths.mean(), 1.0))
        scores = np.zeros(len(texts))
        for term in sorted(set(_terms(question))):
            if found_in[term]:
                idf = math.log(1 + (len(texts) - found_in[term] + 0.5) / (found_in[term] + 0.5))
                counts = np.array([document[term] for document in documents], dtype=np.float64)
                scores += idf * counts * (self.k1 + 1) / (counts + norms)
        return scores


def _terms(text: str) -> list[str]:
    """Stems of the words that mean something; of all words, if none does."""
    found = words(normalised(text))
    told = [word for word in found if word not in STOP_WORDS["en"]]
    return [stem(word) for word in told or found]
