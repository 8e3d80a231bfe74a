"""Texts scored against a question: by meaning where there is an embedder, else by words."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.linking.label_index.search import K1, inverse_frequency, term_scores
from kgsparql.linking.words import STOP_WORDS, root, words, words_of
from kgsparql.models.embedding import Embedder, Floats
from kgsparql.rdf.terms import zip_equal

KIND = 0.1  # weight of a word for what a question word asks for; a word of the question has 1
_KINDS = {"who": "person", "when": "date year", "where": "place location"}

_REMEMBERED = 50_000  # vectors of texts

Scores = NDArray[np.float64]


def ranker_for(embedder: Embedder | None) -> Ranker:
    """The ranker by meaning if there is an embedder, else the one by words."""
    return BM25Ranker() if embedder is None else EmbeddingRanker(embedder)


class EmbeddingRanker:
    """Ranks by the cosine of question and text. A text is embedded once, however often it is ranked."""

    by_meaning = True

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vectors: dict[str, Floats] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Where the scores come from, for logs and answers."""
        return self.embedder.name

    def rank(self, question: str, texts: Sequence[str]) -> Scores:
        """A score for each text, of shape ``(n_texts,)``; higher is better, and only the order means something."""
        return self.similarities(texts, [question])[:, 0] if texts else np.zeros(0)

    def similarities(self, texts: Sequence[str], others: Sequence[str]) -> Scores:
        """How alike texts of a few words are, of shape ``(n_texts, n_others)``; 1 for the same."""
        if not texts or not others:
            return np.zeros((len(texts), len(others)))
        found = {text: vector for text in (*texts, *others) if (vector := self._vectors.get(text)) is not None}
        new = sorted({*texts, *others} - found.keys())
        found.update(zip_equal(new, self.embedder.embed(new)))
        with self._lock:  # of too many, only these are kept; another thread may still read the old ones
            if len(self._vectors) + len(new) > _REMEMBERED:
                self._vectors = found
            else:
                self._vectors.update(found)
        left, right = (np.array([found[text] for text in some], dtype=np.float64) for some in (texts, others))
        return np.asarray(left @ right.T)


class BM25Ranker:
    """Ranks by the words that question and text share; how rare a word is, the given texts alone tell.

    In English it also knows which kind of answer `who`, `when` and `where` ask for, and a few synonyms.

    Source: Okapi BM25, as in :func:`term_scores`, with light stemming; the usual length is fixed, so that the scores of
    two calls are comparable.

    >>> BM25Ranker().rank("Who directed it?", ["director", "directed by", "release year"]).round(2).tolist()
    [0.4, 0.4, 0.0]
    """

    name = "bm25"
    by_meaning = False
    usual_length = 2.0

    def rank(self, question: str, texts: Sequence[str]) -> Scores:
        """A score for each text, of shape ``(n_texts,)``; higher is better, and only the order means something."""
        if not texts:
            return np.zeros(0)
        # A word counts at most as often as the question has it: a path that uses a predicate twice fits no better.
        most = Counter(_terms(question))
        counted = [Counter(_terms(text)) for text in texts]
        documents = [Counter({t: min(n, most[t]) if t in most else n for t, n in own.items()}) for own in counted]
        found_in = Counter(term for document in documents for term in document)
        lengths = np.array([sum(own.values()) for own in counted], dtype=np.float64)
        scores = np.zeros(len(texts))
        asked = " ".join(kind for word, kind in _KINDS.items() if word in words_of(question))
        weights = dict.fromkeys(words(asked), KIND) | dict.fromkeys(_terms(question), 1.0)
        best = 0.0
        for term, weight in sorted(weights.items()):
            idf = weight * inverse_frequency(len(texts), found_in[term])
            best += idf * (K1 + 1)
            if found_in[term]:
                counts = np.array([document[term] for document in documents], dtype=np.float64)
                scores += term_scores(idf, counts, lengths, self.usual_length)
        # As a share of what no text can reach, so that the scores of two calls are comparable.
        return scores / best if best else scores

    def similarities(self, texts: Sequence[str], others: Sequence[str]) -> Scores:
        """The words in common, as a share of all.

        >>> BM25Ranker().similarities(["directed", "first film"], ["director", "film"]).round(2).tolist()
        [[1.0, 0.0], [0.0, 0.67]]
        """
        left, right = ([frozenset(_terms(text)) for text in some] for some in (texts, others))
        alike = [[2 * len(a & b) / (len(a) + len(b)) if a & b else 0.0 for b in right] for a in left]
        return np.array(alike, dtype=np.float64).reshape(len(texts), len(others))


Ranker: TypeAlias = EmbeddingRanker | BM25Ranker
"""Scores texts against a question: ``by_meaning``, or only by common words and a few synonyms."""


@lru_cache(maxsize=4096)
def _terms(text: str) -> tuple[str, ...]:
    """Roots of the words that are no stop words; of all words, if there are no others."""
    found = words_of(text)
    content = [word for word in found if word not in STOP_WORDS["en"]]
    return tuple(map(root, content or found))
