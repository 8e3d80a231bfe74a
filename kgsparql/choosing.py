"""Choosing among numbered candidates: the only place where somebody's preference becomes a selection."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgsparql.events import CandidatesChosen, Emit
from kgsparql.ranking import Ranker
from kgsparql.terms import printable

__all__ = ["Candidate", "Choice", "Chooser", "RankerChooser", "wording_scores"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something to choose, known by its number in the list.

    :param text: what it is, in words: what a model reads.
    :param rephrased: the same in other words; a ranker reads them too, since no wording is best for every question.
    :param bonus: what a ranker adds to its score, for reasons that are not in the words.
    :param group: candidates of the same group say the same: at most one of them is chosen. ``None`` is no group.
    """

    number: int
    text: str
    rephrased: tuple[str, ...] = ()
    bonus: float = 0.0
    group: Hashable = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate that was chosen.

    :param score: higher is better; comparable only within one call.
    :param fallback: why somebody else than the first in line chose it; empty if nobody had to step in.
    """

    candidate: Candidate
    score: float
    chosen_by: OneOf["model", "ranker", "oracle"]
    fallback: str = ""


class Chooser(Protocol):
    """Chooses at most ``at_most`` candidates, the best first; ``purpose`` says what for, in words."""

    def choose(self, question: str, candidates: Sequence[Candidate], purpose: str, at_most: int) -> list[Choice]:
        """The chosen candidates, each at most once."""
        ...


@dataclass(frozen=True, slots=True)
class RankerChooser:
    """Chooses by the ranker's score over all wordings of a candidate; ties go to the lower number."""

    ranker: Ranker
    emit: Emit

    def choose(self, question: str, candidates: Sequence[Candidate], purpose: str, at_most: int) -> list[Choice]:
        """The ``at_most`` candidates with the highest scores."""
        if not candidates:
            return []
        scores = wording_scores(self.ranker, question, candidates)
        chosen: list[Choice] = []
        groups: set[Hashable] = set()
        for i in np.argsort(-scores, kind="stable"):
            group = candidates[i].group
            if len(chosen) < at_most and (group is None or group not in groups):
                groups.add(group)
                chosen.append(Choice(candidates[i], float(scores[i]), "ranker"))
        self.emit(
            CandidatesChosen(
                purpose=purpose,
                chosen_by=self.ranker.name,
                kept=tuple(printable(choice.candidate.text, 120) for choice in chosen),
                pruned=len(candidates) - len(chosen),
            )
        )
        return chosen


def wording_scores(ranker: Ranker, question: str, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """How well each candidate fits the question over all its wordings, shape ``(n_candidates,)``.

    Half the weight is on the text itself, the other half on all its other wordings together. Scores of one call can be
    compared with each other; those of two calls cannot, where a ranker weighs words by how rare they are among them.
    """
    wordings = [[candidate.text, *candidate.rephrased] for candidate in candidates]
    ranked = iter(ranker.rank(question, [wording for own in wordings for wording in own]))
    scores = np.array([candidate.bonus for candidate in candidates], dtype=np.float64)
    for i, own in enumerate(wordings):
        first, others = next(ranked), [next(ranked) for _ in own[1:]]
        scores[i] += (first + sum(others) / len(others)) / 2 if others else first
    return scores
