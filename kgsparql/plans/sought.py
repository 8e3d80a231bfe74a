"""What is looked for from a given set, and the paths and measures that are found for it, each with how well it fits."""

from __future__ import annotations

from dataclasses import dataclass, field

from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import Denotation, Doubt, Role
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.rdf.paths import PropertyPath, Step

_KEPT = 8
_OF_A_WORD = 0.5
"""What a word costs that a path leaves out."""
_WRONG_WAY = -0.3


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for from a given set.

    :param words: positions of the words that name the predicates.
    :param role: of the given set in its clause. :param preposition: that joins it.
    :param wanted: what is at the other end: of a class, or named. :param asked: its question word.
    :param hints: words that the names of the predicates may have: what `how long` asks for.
    :param verb: the words that are a verb. :param head: those of the noun at the other end.
    """

    words: tuple[int, ...] = ()
    role: Role = "any"
    preposition: str = ""
    wanted: Denotation | None = None
    asked: str = ""
    hints: tuple[str, ...] = ()
    verb: tuple[int, ...] = ()
    head: tuple[int, ...] = ()
    hops: int = 2
    keep: int = _KEPT


@dataclass(slots=True)
class WayFound:
    """A path, and how well it fits.

    :param cover: how well it accounts for each word. :param hinted: how well it has what a question word asks for.
    :param use: of its last step; ``None`` where what is given has no such step.
    """

    path: tuple[Step, ...]
    cover: list[float]
    hinted: float
    use: PredicateUse | None
    share: float
    named: tuple[Step, ...] = ()
    direction: float = 0.0
    score: float = 0.0
    left: tuple[int, ...] = ()
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def rank(self) -> float:
        """The score, less what the words cost that are left out."""
        return self.score - _OF_A_WORD * len(self.left)

    @property
    def is_direct(self) -> bool:
        """Whether one step accounts for all of the words, the right way."""
        return len(self.path) == 1 and not self.left and self.direction > _WRONG_WAY and bool(self.named)


@dataclass(frozen=True, slots=True)
class MeasureChoice:
    """One thing that may be measured, and how well words and graph fit."""

    score: float
    measure: a.Value | a.HowMany | a.Summarised

    @property
    def match(self) -> PropertyPath:
        """The path that leads to what is measured."""
        return self.measure.path
