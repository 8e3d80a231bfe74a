"""A label that some words of a question may mean, and in which order such labels are listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from kgsparql.linking.labels.matching import Fit
from kgsparql.linking.labels.rows import LabelRow

__all__ = ["Candidate", "Matched"]

Matched: TypeAlias = OneOf["given", "exact", "text", "vector", "same as"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A label that may be what some words of a question mean.

    :param score: in [0, 1]: how much of the label was found, or how near its meaning is.
    :param weight: how much of the question it explains; what the longest, most telling match has most of.
    :param is_common: it rests on words that are more likely to be just words: `write`, `films`, `words`.
    """

    row: LabelRow
    fit: Fit
    score: float
    weight: float
    matched: Matched
    is_type: bool
    language_rank: int
    is_common: bool = False

    @property
    def order(self) -> tuple[float, bool, int, int, str, str]:
        """Most specific first; then the asked language, the better connected, the IRI."""
        row = self.row
        return (-round(self.weight, 6), self.matched != "exact", self.language_rank, -row.degree, row.iri, row.text)
