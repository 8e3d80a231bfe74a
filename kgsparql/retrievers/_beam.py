"""Think-on-Graph's beam: chains of triples from the question's entities, what they are worth, and which go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgsparql.answering.choosing import Choice
from kgsparql.rdf.paths import Path, PropertyPath
from kgsparql.rdf.terms import IRI, Term

__all__ = ["Beam", "Chain", "Trail", "beam_of", "normalised", "shares"]

_SHARPNESS = 10.0
"""How much a small difference between two scores of a ranker makes of a share; 10 makes of 0.1 a factor of e."""

_REPEATED = 0.25
"""What a chain counts for, for each better one of the same trail, where nobody told siblings apart."""

Trail = tuple[Term, PropertyPath]
"""An entity of the question and the predicates walked from it: what siblings have in common."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A path from an entity of the question.

    :param score: how good it is among those of its depth: its predicate's share, times its own among its siblings.
    :param by_oracle: whether an oracle chose every step of it.
    :param others: siblings that nobody rejected: they go on in its place where it cannot.
    """

    path: Path
    score: float = 1.0
    by_oracle: bool = True
    others: tuple[Path, ...] = ()

    @property
    def end(self) -> Term:
        """Where it has come to."""
        return self.path.end

    @property
    def trail(self) -> Trail:
        """What it shares with its siblings."""
        return self.path.start, self.path.property_path


@dataclass(frozen=True, slots=True)
class Beam:
    """What is kept of one depth.

    :param kept: the best chains, and those that go on.
    :param onward: the best chains that do not end at a literal.
    """

    kept: tuple[Chain, ...] = ()
    onward: tuple[Chain, ...] = ()


def beam_of(
    chains: Iterable[Chain],
    labels: Mapping[Term, str],
    width: int,
    *,
    spread: bool,
    waiting: Mapping[Trail, Sequence[Path]],
) -> Beam:
    """The best chains of a depth: by score, then label, then IRI; none that is worth nothing.

    A literal keeps its place among the best, and takes none of those that go on.

    :param spread: one chain of each trail before any has two: nobody told the siblings apart, and they stand in for
        each other.
    :param waiting: siblings that were not even looked at, by trail.
    """
    ordered = sorted(
        (chain for chain in chains if chain.score > 0),
        key=lambda chain: (-chain.score, labels.get(chain.end, ""), str(chain.end)),
    )
    met: dict[tuple[Trail, Term], Chain] = {}
    for chain in ordered:
        met.setdefault((chain.trail, chain.end), chain)
    distinct = _spread(met.values()) if spread else list(met.values())
    onward = [chain for chain in distinct if isinstance(chain.end, IRI)][:width]
    paths = {chain.path for chain in (*distinct[:width], *onward)}
    kept = tuple(chain for chain in distinct if chain.path in paths)
    return Beam(kept, tuple(_with_others(onward, distinct, waiting)))


def _spread(chains: Iterable[Chain]) -> list[Chain]:
    """The chains, each later one of a trail worth half of what it would be as the one before."""
    seen: Counter[Trail] = Counter()
    worth = []
    for chain in chains:
        worth.append((chain.score * _REPEATED ** seen[chain.trail], chain))
        seen[chain.trail] += 1
    return [chain for _, chain in sorted(worth, key=lambda pair: -pair[0])]


def _with_others(
    onward: Sequence[Chain], chains: Sequence[Chain], waiting: Mapping[Trail, Sequence[Path]]
) -> list[Chain]:
    """The chains that go on, the best of each trail with its siblings that do not."""
    taken = {chain.path for chain in onward}
    others: dict[Trail, list[Path]] = {}
    for chain in chains:
        if chain.path not in taken and isinstance(chain.end, IRI):
            others.setdefault(chain.trail, []).append(chain.path)
    found: list[Chain] = []
    for chain in onward:
        own = [*others.pop(chain.trail, ()), *(p for p in waiting.get(chain.trail, ()) if isinstance(p.end, IRI))]
        first = all(chain.trail != earlier.trail for earlier in found)
        found.append(replace(chain, others=tuple(own)) if first else chain)
    return found


def shares(choices: Sequence[Choice]) -> list[float]:
    """What each choice is worth beside the others of its call; not normalised.

    A model's scores as they are; of a ranker, and of an oracle, to whom all it chooses is the same, what the ranker's
    scores make of it, so that a small difference counts.
    """
    if choices and choices[0].chosen_by == "model":
        return [choice.score for choice in choices]
    scores = [choice.score if choice.candidate.score is None else choice.candidate.score for choice in choices]
    best = max(scores, default=0.0)
    return [float(np.exp(_SHARPNESS * (score - best))) for score in scores]


def normalised(values: Sequence[float]) -> list[float]:
    """The values as parts of 1; all alike where there is nothing to go by.

    >>> normalised([1, 3]), normalised([0, 0])
    ([0.25, 0.75], [0.5, 0.5])
    """
    total = sum(values)
    return [value / total for value in values] if total > 0 else [1 / len(values) for _ in values]
