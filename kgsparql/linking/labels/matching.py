"""How well a label fits the words of a question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgsparql.linking.labels.search import Vocabulary
from kgsparql.linking.words import Token, stem, words

__all__ = ["Fit", "exact_fit", "fit", "is_begun", "similarity"]

SAME_STEM = 0.95
"""``directors`` for ``director``."""
TYPE_WORD = 0.3
"""What the word of a class or predicate counts, beside other words: `film`, `city`, `time zone`."""
_STOP_WEIGHT = 0.1
"""Stop words count a little, so that `The Last Man` is a better match than `Last Man` where both are there."""
_MISSING_STOP = 0.5
"""... and where they are not, the label is a little less what was asked: `This Is Not a Film` for `film`."""


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


def _weight(word: str, vocabulary: Vocabulary, stops: Collection[str]) -> float:
    if word in stops:
        return _STOP_WEIGHT
    return vocabulary.idf(word) * (TYPE_WORD if stem(word) in vocabulary.type_stems else 1.0)


def fit(
    key: str,
    question: Sequence[Token],
    allowed: Sequence[int],
    vocabulary: Vocabulary,
    stops: Collection[str],
    *,
    well_spelled: Collection[int] = (),
) -> Fit | None:
    """The best fit of a label's words to some tokens of a question, each token used once; ``None`` without any.

    :param allowed: numbers of the tokens that may be matched.
    :param well_spelled: numbers of those that are taken as they are, without typing errors.
    """
    label = words(key)
    told = [word for word in label if word not in stops] or list(label)
    free = list(allowed)
    places: set[int] = set()
    found = total = weight = 0.0
    for word in sorted(told, key=lambda w: (-vocabulary.idf(w), w)):
        idf = vocabulary.idf(word)
        total += idf
        likeness, _, best = max(
            ((_likeness(word, question[i].text, vocabulary, i in well_spelled), -i, i) for i in free),
            default=(0, 0, 0),
        )
        if likeness > 0:
            free.remove(best)
            places.add(best)
            found += idf * likeness
            weight += _weight(word, vocabulary, stops) * likeness
    if not places:
        return None
    asked = {token.text for token in question}
    total += sum(_MISSING_STOP for word in label if word in stops and word not in asked)
    return Fit(frozenset(places), found / total, weight)


def _likeness(word: str, asked: str, vocabulary: Vocabulary, is_well_spelled: bool) -> float:
    """As :func:`similarity`, but a word that other labels have is no typing error."""
    likeness = similarity(word, asked)
    return likeness if likeness >= SAME_STEM or not (is_well_spelled or vocabulary.counts.get(asked)) else 0.0


def is_begun(asked: Sequence[str], key: str) -> bool:
    """Whether some word of a question is only the beginning of a word of a label, which shares none with it.

    >>> is_begun(["frank"], "frankreich"), is_begun(["frank"], "anne frank"), is_begun(["movie"], "movies")
    (True, False, False)
    """
    told = words(key)
    if {stem(word) for word in asked} & {stem(word) for word in told}:
        return False
    return any(word.startswith(own) for own in asked for word in told)


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
    shorter, longer = sorted((len(word), len(other)))
    # Short words are one edit from too many others, as `Faust` from `Fausta`, and `deliver` is two from `driver`; but
    # two letters at the end may be an ending, as in `injured` and `injury`.
    is_long = shorter >= 9 or word[:5] == other[:5]
    allowed = 0 if shorter < 6 else 2 if is_long else 1
    if longer - shorter > allowed or word[0] != other[0] or any(c.isdigit() for c in word + other):
        return 0.0  # a number with another digit is another number
    edits = _edits(word, other)
    return round(1 - edits / longer, 3) if edits <= allowed else 0.0


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
