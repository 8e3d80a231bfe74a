"""Labels that were found for one text: few, so that what is common must be guessed from how they were found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kgsparql.linking.labels.rows import LabelRow
from kgsparql.linking.labels.search import MemoryLabels, Vocabulary
from kgsparql.linking.words import stem
from kgsparql.models.embedding import Embedder

__all__ = ["FoundLabels"]

ASSUMED_LABELS = 10_000
"""Labels that a graph is taken to have, at least, when a word is judged by how few of those found have it."""
COMMON = 0.02
"""Share of them that have a word of which more labels were found than are read."""


class FoundLabels(MemoryLabels):
    """What was found for one text.

    :param vectors: those that were made, by text; more are added when they are wanted.
    :param common: words that more labels have than were read.
    :param small: words that are taken for those of classes and predicates, whose labels are not all at hand.
    """

    def __init__(
        self,
        rows: Iterable[LabelRow],
        vectors: dict[str, NDArray[np.float32]],
        embedder: Embedder | None = None,
        common: Collection[str] = (),
        small: Collection[str] = (),
    ) -> None:
        super().__init__(rows)
        self._small = small
        self._vectors = vectors
        self._embedder = embedder
        self._common = common

    @property
    def has_vectors(self) -> bool:  # type: ignore[override]
        """As :meth:`LabelSearch.has_vectors`."""
        return self._embedder is not None

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        found = Vocabulary.of(self.rows)
        labels = max(found.labels, ASSUMED_LABELS)
        counts = {**found.counts, **{word: int(COMMON * labels) for word in self._common}}
        stems = found.type_stems | {stem(word) for word in self._small}
        return Vocabulary(counts, labels, stems, capitals_tell=found.capitals_tell)

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """As :meth:`LabelSearch.nearest`; texts get their vectors here."""
        by_text: dict[str, list[LabelRow]] = defaultdict(list)
        for row in self.rows:
            by_text[row.text].append(row)
        texts = sorted(by_text)
        missing = [text for text in texts if text not in self._vectors]
        if missing and self._embedder is not None:
            self._vectors.update(zip(missing, self._embedder.embed(missing), strict=True))
        if not texts:
            return [[] for _ in vectors]
        matrix = np.stack([self._vectors[text] for text in texts])
        found = []
        for cosines in vectors @ matrix.T:
            best = np.argsort(-cosines.round(6), kind="stable")[:limit]
            found.append([(row, float(cosines[i])) for i in best for row in by_text[texts[i]]])
        return found
