"""The parts of Okapi BM25, for everything that scores texts by words.

Source: Okapi BM25 (Robertson and Zaragoza 2009, section 3.4), with k1 = 1.2 and b = 0.75.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
_B = 0.75


def inverse_frequency(texts: int, having: int) -> float:
    """Return how rare a word is that so many of the texts have."""
    return math.log(1 + (texts - having + 0.5) / (having + 0.5))


def length_norms(lengths: NDArray[np.float64], usual: float) -> NDArray[np.float64]:
    """Return what the length of each text adds under the fraction of :func:`term_scores`; both lengths in words."""
    return np.asarray(K1 * (1 - _B + _B * lengths / usual))


def term_scores(idf: float, counts: NDArray[np.float64] | float, norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what one word adds to the score of each text, from how often each has it.

    >>> term_scores(inverse_frequency(10, 1), np.array([1.0, 2.0]), length_norms(np.array([5.0, 5.0]), 5.0)).round(2)
    array([1.99, 2.74])
    """
    return np.asarray(idf * counts * (K1 + 1) / (counts + norms))
