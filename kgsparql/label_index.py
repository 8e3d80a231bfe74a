"""The labels of a graph, ready to be searched."""

from __future__ import annotations

from dataclasses import dataclass

from kgsparql.label_search import LabelSearch


@dataclass(frozen=True, slots=True)
class LabelIndex:
    search: LabelSearch
