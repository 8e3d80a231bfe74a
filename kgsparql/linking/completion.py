"""Names of a graph that complete what somebody is writing: entities, classes and predicates."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.words import STOP_WORDS
from kgsparql.rdf.terms import normalised

_MOST_WORDS = 6  # of what is written that may be the beginning of one name
_LEAST_CHARACTERS = 2
_MOST_COMPARED = 400  # of the names that begin so: the best known of them
_WHOLE, _KIND = 100_000, 50_000  # more than the degree of anything that is as well known as that


def beginnings(text: str) -> list[tuple[int, str]]:
    """List where a name may begin that is being written, and what there is of it, the longest first."""
    words = list(re.finditer(r"[^\s?!,;:\"“”()]+", text))[-_MOST_WORDS:]
    found = [(word.start(), normalised(text[word.start() :])) for word in words if text[-1:].isalnum()]
    return [one for one in found if len(one[1]) >= _LEAST_CHARACTERS and one[1] not in STOP_WORDS["en"]]


class Completions:
    """Names by the beginnings of their words; the best known come first, before them classes and predicates."""

    def __init__(self, rows: Iterable[LabelRow]) -> None:
        self._rows = [row for row in rows if row.text]
        found = [
            (row.key[at:], number, min(row.degree, _KIND - 1) + _KIND * (row.kind != "entity") + _WHOLE * (at == 0))
            for number, row in enumerate(self._rows)
            for at in (0, *(gap.end() for gap in re.finditer(" ", row.key)))
        ]
        found.sort()
        self._beginnings = [text for text, _, _ in found]
        self._numbers, self._weights = (np.array([own[place] for own in found], dtype=np.int64) for place in (1, 2))

    def of(self, text: str, *, limit: int = 8) -> tuple[int, list[LabelRow]]:
        """Complete the last words of a text, as many as begin a name together: from where on, and the names."""
        for start, written in beginnings(text):
            if found := self._names_begun(written):
                named = {self._rows[number].iri: self._rows[number] for number in reversed(found)}
                return start, list(reversed(named.values()))[:limit]
        return len(text), []

    def _names_begun(self, written: str) -> list[int]:
        """Find the names with a word that begins so, the best first."""
        start = bisect_left(self._beginnings, written)
        end = bisect_left(self._beginnings, f"{written}\U0010ffff")
        weights = self._weights[start:end]
        best = np.argsort(-weights, kind="stable")[:_MOST_COMPARED]
        return [int(number) for number in self._numbers[start:end][best]]
