"""How far apart some times are: a median alone hid a question of 1,800 times its cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

_LONGEST = 90  # characters of a name that are told


@dataclass(frozen=True)
class Spread:
    """The middle of some times, what 19 of 20 are at most, the longest, and what took that long."""

    median: float
    p95: float
    max: float
    slowest: str

    @classmethod
    def of(cls, times: Iterable[tuple[str, float]]) -> Spread:
        """Order times, each with the name of what took it.

        >>> Spread.of([("a", 1.0), ("b", 9.0), ("c", 2.0)])
        Spread(median=2.0, p95=9.0, max=9.0, slowest='b')
        """
        ordered = sorted(times, key=lambda one: one[1])
        figures = [figure for _, figure in ordered]
        p95 = figures[ceil(0.95 * len(figures)) - 1]
        return cls(statistics.median(figures), p95, figures[-1], ordered[-1][0])

    @property
    def told_slowest(self) -> str:
        """The name of the slowest, as a cell of a table."""
        return " ".join(self.slowest.replace("|", "\\|").split())[:_LONGEST]

    def __str__(self) -> str:
        return f"median {self.median:,.2f}, p95 {self.p95:,.2f}, max {self.max:,.2f}: {self.told_slowest}"
