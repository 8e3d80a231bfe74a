"""An embedder small enough for every test: counts of hashed trigrams. It can be slow, and can write down its work."""

import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgsparql.linking.words import trigrams
from kgsparql.models.embedding import unit_vectors
from kgsparql.rdf.terms import normalised


class HashedEmbedder:
    dimension = 64

    def __init__(self, name: str = "hashed", *, log: Path | None = None, delay_s: float = 0.0) -> None:
        self.name = name
        self._log = log
        self._delay_s = delay_s

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        time.sleep(self._delay_s)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for i, text in enumerate(texts):
            for gram in trigrams(normalised(text)):
                vectors[i, zlib.crc32(gram.encode()) % self.dimension] += 1
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as stream:
                stream.writelines(f"{text}\n" for text in texts)
        return unit_vectors(vectors, len(texts), self.dimension, self.name)
