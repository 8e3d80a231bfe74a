"""What a question asks to be computed: counts, extremes, comparisons, absences, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from kgsparql.rdf.terms import Literal

if TYPE_CHECKING:
    from kgsparql.plans import algebra as a

Wanted = OneOf["items", "count", "yes or no", "summary", "groups", "percentage"]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The most or least of something is asked for.

    :param hints: words for what may be measured: those of the adjective (`price` for `cheapest`).
    :param of_noun: what is measured is named by the words after it: `most employees`, `highest density`.
    :param number: how many: `the five largest`.
    :param summary: of several values of one item: `the best average rating`.
    """

    words: frozenset[int]
    largest: bool
    hints: tuple[str, ...]
    of_noun: bool = False
    number: int = 1
    summary: a.Summary | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """Something is compared with a number or a year.

    :param upper: the end of a range: `between 1950 and 1960`, `in the 1950s`.
    """

    words: frozenset[int]
    comparison: a.Comparison
    value: Decimal
    upper: Decimal | None = None
    is_year: bool = False
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dated:
    """Something is compared with a day or a month: `on 14 March 1879`."""

    words: frozenset[int]
    comparison: a.Comparison
    date: Literal


@dataclass(frozen=True, slots=True)
class Against:
    """Two things that are named are compared: `Is iron heavier than gold`; the words near it may say by what."""

    words: frozenset[int]
    comparison: a.Comparison
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """A word that is in the name of what is asked for."""

    words: frozenset[int]
    text: str


@dataclass(frozen=True, slots=True)
class Absent:
    """Something is not so; the words after it say what."""

    words: frozenset[int]


Cue = Extreme | Compared | Dated | Against | Called | Absent


@dataclass(frozen=True, slots=True)
class Cues:
    """What a question asks to be computed.

    :param words: places of the words that say what is wanted: `how many`, `average`.
    :param operations: what is done on the way, in the order of the question.
    :param group: places of the words that name what the answer has a row for: `department` of `for each department`.
    :param of_best: not the best itself is asked for, but something of it: `where was the oldest laureate born`.
    :param sought: words for what that is, where it is a place or a time.
    """

    wanted: Wanted
    words: frozenset[int]
    operations: tuple[Cue, ...] = ()
    summary: a.Summary | None = None
    group: frozenset[int] = frozenset()
    of_best: bool = False
    sought: tuple[str, ...] = ()

    def asking(self, words: Sequence[str]) -> frozenset[int]:
        """Places right after the words that ask which or how many; of `who`, its own."""
        asking = {i + 1 for i, word in enumerate(words) if word in {"which", "what", "all", "any"}}
        asking |= {i for i, word in enumerate(words) if word == "who"}
        return frozenset(asking | ({max(self.words) + 1} if self.words else set()))

    def following(self, words: Sequence[str]) -> frozenset[int]:
        """Places right after the words that ask which, how many, or for the oldest and the like."""
        extremes = (cue.words for cue in self.operations if isinstance(cue, Extreme) and cue.hints)
        return self.asking(words) | {max(places) + 1 for places in extremes}

    @property
    def is_any(self) -> bool:
        """Whether anything is asked to be computed."""
        return self.wanted != "items" or bool(self.operations)
