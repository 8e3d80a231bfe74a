"""Texts that are a few letters from another: candidates by the letters they have, then the real edit distance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_CLASSES = 32
"""Characters are counted in so many classes, by the last five bits of their code point: each ASCII letter is alone."""
_AT_ONCE = 100_000


def signatures(texts: Sequence[str]) -> NDArray[np.uint64]:
    """For each text, of shape ``(n_texts,)``: which of 32 classes of characters it has (low bits), which twice (high).

    One edit changes the counts of at most two classes, so at most two bits; two swapped neighbours change none.

    >>> one, other, far = signatures(["inception", "incepton", "matrix"])
    >>> int(np.bitwise_count(one ^ other)), int(np.bitwise_count(one ^ far))
    (1, 11)
    """
    parts = [_signatures(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def _signatures(texts: Sequence[str]) -> NDArray[np.uint64]:
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    classes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4") % _CLASSES
    places = np.repeat(np.arange(len(texts)) * _CLASSES, lengths) + classes
    counts = np.bincount(places, minlength=len(texts) * _CLASSES).reshape(-1, _CLASSES)
    bits = np.packbits(np.hstack([counts > 0, counts > 1]), axis=1, bitorder="little")
    return bits.view("<u8").ravel().astype(np.uint64)


def by_length(texts: Iterable[str]) -> list[str]:
    """The texts in the order that :class:`SpellingSearch` needs: the shortest first."""
    return sorted(texts, key=lambda text: (len(text), text))


def unlikeliness(text: str, other: str, edits: int) -> tuple[int, bool, bool]:
    """Sort key: how unlikely it is that a text is a mistyped form of another one, so many edits away.

    There is one way to leave out a certain letter or to swap two, but 25 to type a wrong one, or one too many; and the
    first letter is seldom wrong.

    Source: the noisy channel of Kernighan, Church and Gale (COLING 1990), its probabilities taken as equal.
    """
    is_one_way = len(other) > len(text) or sorted(other) == sorted(text)
    return edits, not is_one_way, other[:1] != text[:1]


def nearest_first(text: str, near: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Texts with their distance from another one, each once: the likeliest to be meant first."""
    return sorted(set(near), key=lambda hit: (unlikeliness(text, *hit), hit[0]))


class SpellingSearch:
    """Finds the texts that are a few edits from another: all of them are compared by signature, a few letter by letter.

    A million texts take a millisecond, and nine bytes each.

    :param lengths: of the texts in characters, ascending, of shape ``(n_texts,)``.
    :param found: as :func:`signatures`, in the same order.
    :param take: gives the texts at some places.
    """

    def __init__(
        self, lengths: NDArray[np.integer], found: NDArray[np.uint64], take: Callable[[NDArray[np.intp]], list[str]]
    ) -> None:
        longest = int(lengths[-1]) if len(lengths) else 0
        self._starts = np.searchsorted(lengths, np.arange(longest + 2))
        self._signatures = found
        self._take = take

    @classmethod
    def of(cls, texts: Iterable[str]) -> SpellingSearch:
        """A search of texts in memory.

        >>> SpellingSearch.of(["inception", "interception", "exception"]).near("incepton", edits=1)
        [('inception', 1)]
        """
        ordered = by_length(texts)
        lengths = np.fromiter(map(len, ordered), dtype=np.int64, count=len(ordered))
        return cls(lengths, signatures(ordered), lambda places: [ordered[i] for i in places])

    def near(self, text: str, *, edits: int) -> list[tuple[str, int]]:
        """The texts at most so many edits away, with their distance: the likeliest to be meant first.

        Two swapped neighbours are one edit. The text itself is not among them.

        Source: optimal string alignment distance (Damerau 1964; Levenshtein 1966), by ``rapidfuzz``.
        """
        if len(text) <= edits:
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        first, last = (min(max(0, n), len(self._starts) - 1) for n in (len(text) - edits, len(text) + edits + 1))
        start, end = int(self._starts[first]), int(self._starts[last])
        (own,) = signatures([text])
        unlike = np.bitwise_count(self._signatures[start:end] ^ own)
        candidates = self._take(start + np.flatnonzero(unlike <= 2 * edits))
        hits = process.extract(text, candidates, scorer=OSA.distance, score_cutoff=edits, limit=None)
        return nearest_first(text, ((hit, int(distance)) for hit, distance, _ in hits if distance))
