"""How well a label fits the words of a question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgsparql.label_search import Vocabulary
from kgsparql.words import Token, stem, trigrams, words

__all__ = ["Fit", "exact_fit", "fit", "similarity"]

SAME_STEM = 0.95
"""``directors`` for ``director``."""
MIN_SIMILARITY = 0.7
"""Edits in a word beyond which it is another word."""
_STOP_WEIGHT = 0.1
"""Stop words count a little, so that `The Last Man` is a better match than `Last Man` where both are there."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A label laid over a question.

    :param places: numbers of the question's tokens that the label's words matched.
    :param coverage: in [0, 1]: the share of the label, its words weighted by rarity, that was found.
    :param weight: how much was found: the sum of those weights, comparable within one question.
    """

    places: frozenset[int]
    coverage: float
    weight: float

    @property
    def first(self) -> int:
        """The first token."""
        return min(self.places)

    @property
    def last(self) -> int:
        """The last token."""
        return max(self.places)


def exact_fit(question: Sequence[Token], start: int, end: int, vocabulary: Vocabulary, stops: Collection[str]) -> Fit:
    """The fit of a label that is exactly the tokens from ``start`` to before ``end``."""
    weight = sum(_weight(token.text, vocabulary, stops) for token in question[start:end])
    return Fit(frozenset(range(start, end)), 1.0, weight)


def fit(
    key: str, question: Sequence[Token], allowed: Sequence[int], vocabulary: Vocabulary, stops: Collection[str]
) -> Fit | None:
    """The best fit of a label's words to some tokens of a question, each token used once; ``None`` without any.

    :param allowed: numbers of the tokens that may be matched.
    """
    label = words(key)
    told = [word for word in label if word not in stops] or list(label)
    free = list(allowed)
    places: set[int] = set()
    found = total = 0.0
    for word in sorted(told, key=lambda w: (-vocabulary.idf(w), w)):
        idf = vocabulary.idf(word)
        total += idf
        best = max(free, key=lambda i: (similarity(word, question[i].text), -i), default=None)
        if best is None:
            continue
        likeness = similarity(word, question[best].text)
        if likeness > 0:
            free.remove(best)
            places.add(best)
            found += idf * likeness
    if not places:
        return None
    return Fit(frozenset(places), found / total, found)


@lru_cache(maxsize=100_000)
def similarity(word: str, other: str) -> float:
    """How much two words look like one: 1 for the same, 0 for different ones, typing errors and endings between.

    >>> similarity("physics", "physics"), similarity("movie", "movies"), similarity("actor", "director")
    (1.0, 0.95, 0.0)
    >>> similarity("benjamin", "benjamim")
    0.875
    """
    if word == other:
        return 1.0
    if stem(word) == stem(other):
        return SAME_STEM
    longer = max(len(word), len(other))
    if min(len(word), len(other)) < 4 or abs(len(word) - len(other)) > 2 or word[0] != other[0]:
        return 0.0
    if any(c.isdigit() for c in word + other) or not trigrams(word) & trigrams(other):
        return 0.0  # a number with another digit is another number
    likeness = 1 - _edits(word, other) / longer
    return round(likeness, 3) if likeness >= MIN_SIMILARITY else 0.0


def _edits(word: str, other: str) -> int:
    """Edit distance, with two swapped neighbours as one edit.

    Source: optimal string alignment distance (Damerau 1964; Levenshtein 1966).
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(word, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and word[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _weight(word: str, vocabulary: Vocabulary, stops: Collection[str]) -> float:
    return _STOP_WEIGHT if word in stops else vocabulary.idf(word)
