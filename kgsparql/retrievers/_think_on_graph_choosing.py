"""Choices in Think-on-Graph: who makes them, the weight of each, and how far the walk has come by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kgsparql.answering.answer import MAX_CHOICES, Draft
from kgsparql.answering.choosing import Candidate, Choice, wording_scores
from kgsparql.answering.session import Session
from kgsparql.evidence.verbalising import path_text
from kgsparql.exploration import NeighbourGroup
from kgsparql.rdf.paths import Path, Step
from kgsparql.rdf.terms import Term
from kgsparql.retrievers._think_on_graph_chains import Chain, Trail
from kgsparql.retrievers._think_on_graph_steps import ChosenOffer, Offer, candidates_of
from kgsparql.retrievers._walking import is_opaque

_FEW = 12  # candidates of each of several chains in one list, at least
_TIE = 1e-3  # what the share of its predicate adds to an entity's score by a model, so that it decides among equals
_SHARPNESS = 10.0  # how strongly a difference between two scores of a ranker changes a share: 0.1 is a factor of e


@dataclass(slots=True)
class Walked:
    """The state of the walk.

    :param led_to: the neighbours by each step from a term, so that none is queried twice.
    :param met: the siblings of every trail that was walked.
    :param draft: the answer of the model that judged the evidence enough.
    :param asks_again: whether a model that chooses nothing is asked once more.
    :param stopped: whether the walk has ended before its full depth.
    """

    beam: tuple[Chain, ...]
    depths: list[tuple[Chain, ...]] = field(default_factory=list)
    led_to: dict[tuple[Term, Step], NeighbourGroup] = field(default_factory=dict)
    met: dict[Trail, list[Path]] = field(default_factory=dict)
    by_oracle: set[Trail] = field(default_factory=set)
    by_model: bool = False
    draft: Draft | None = None
    asks_again: bool = True
    stopped: bool = False

    def meet(self, chosen: Sequence[ChosenOffer]) -> None:
        """Remember the trails of these offers, and which an oracle chose."""
        for one in chosen:
            for path in one.siblings:
                trail = path.start, path.property_path
                self.met.setdefault(trail, []).append(path)
                if one.by_oracle:
                    self.by_oracle.add(trail)


def candidate_lists(
    offered: Sequence[Offer], session: Session, *, shortlist: int | None, batch: bool
) -> list[list[Candidate]]:
    """The offers as candidates, in one list or in one for each chain.

    :param shortlist: candidates of each chain: those that fit the question best; ``None`` for all.
    :param batch: make one list, which then has no more than a model reads: fewer of each of several chains.
    """
    by_place: dict[int, list[Candidate]] = {}
    for candidate in candidates_of(offered, session):
        by_place.setdefault(offered[candidate.number].place, []).append(candidate)
    if shortlist is not None:
        chains = len(by_place)
        most = max(1, min(max(shortlist // chains, _FEW), shortlist, MAX_CHOICES // chains)) if batch else shortlist
        for place, own in by_place.items():
            by_place[place] = sorted(own, key=lambda c: -(c.score or 0.0))[:most]
    lists = list(by_place.values())
    return [[c for own in lists for c in own]] if batch else lists


def choices_among(candidates: Sequence[Candidate], purpose: str, at_most: int, session: Session) -> list[Choice]:
    """The choices of the session's chooser, none where a model chose nothing; of the ranker if it has no call left."""
    if session.chooser is None and not session.can_spare_call(purpose):
        return session.ranked.choose(session.masked_question, candidates, purpose, at_most)
    with session.within_budget():
        return session.choose.choose(session.question, candidates, purpose, at_most)
    return session.ranked.choose(session.masked_question, candidates, purpose, at_most)


def chosen_offers(
    offered: Sequence[Offer], choices: Sequence[Choice], width: int, session: Session
) -> list[ChosenOffer]:
    """At most ``width`` predicates of each chain, with their shares.

    The shares of each chain sum to 1 if a model gave the scores. A ranker scores whole paths, which can be compared
    across chains, so its shares sum to 1 over all chains.
    """
    weights = _weights(choices, "predicates", session)
    of_chain: dict[int, list[tuple[Choice, float]]] = {}
    for choice, value in zip(choices, weights, strict=True):
        of_chain.setdefault(offered[choice.candidate.number].place, []).append((choice, value))
    kept = [some[:width] for some in of_chain.values()]
    total = sum(value for own in kept for _, value in own)
    chosen = []
    for own in kept:
        weight = 1.0 if own[0][0].chosen_by == "model" else sum(value for _, value in own) / total
        for (choice, _), part in zip(own, _normalised([value for _, value in own]), strict=True):
            offer = offered[choice.candidate.number]
            chosen.append(ChosenOffer(offer, part * weight, choice.chosen_by == "oracle" and offer.chain.by_oracle))
    return chosen


def scored_chains(
    chosen: Sequence[ChosenOffer], labels: Mapping[Term, str], width: int, session: Session, *, again: bool = False
) -> tuple[list[Chain], bool]:
    """The chains to everything listed, and whether a model took some siblings and left others.

    The score is a model's own, which read all in one list; else the share of the predicate times that among siblings.
    Nobody is asked if all fit into the beam, nor about terms that have no name.

    :param again: where a model takes none of what is listed, it is asked once more about what is not.
    :raises ModelError: if a model was asked and cannot be reached.
    """
    listed = [(i, path) for i, one in enumerate(chosen) for path in one.listed]
    named = [(i, path) for i, path in listed if not is_opaque(path.end, session)]
    candidates = [Candidate(n, path_text(path, labels), path=path.property_path) for n, (_, path) in enumerate(named)]
    if len(listed) <= width or len(candidates) < 2:
        return _chains(chosen, listed, dict.fromkeys(named, 1.0)), False
    choices = choices_among(candidates, "entities", len(candidates), session)
    rest = [replace(one, listed=tuple(one.unlisted)) for one in chosen]
    if not choices and again and any(one.listed for one in rest):
        return scored_chains(rest, labels, 0, session)
    by_model = not choices or any(choice.chosen_by == "model" for choice in choices)
    values = dict.fromkeys(named, 0.0)
    for choice, value in zip(choices, _weights(choices, "entities", session), strict=True):
        one = chosen[named[choice.candidate.number][0]]
        values[named[choice.candidate.number]] = value + _TIE * one.share if by_model else value
    return _chains(chosen, listed, values, shared=not by_model), by_model and len(choices) < len(candidates)


def _weights(choices: Sequence[Choice], purpose: str, session: Session) -> list[float]:
    """The weight of each choice; from the ranker's scores if a model gave none."""
    weights = _shares(choices)
    if not choices or choices[0].chosen_by != "model" or any(weights):
        return weights
    if len(choices) == 1:
        return [1.0]
    session.fall_back(purpose, "the model gave no scores: the ranker's are used")
    scores = wording_scores(session.ranker, session.question, [choice.candidate for choice in choices])
    return _shares([Choice(c.candidate, float(s), "ranker") for c, s in zip(choices, scores, strict=True)])


def _chains(
    chosen: Sequence[ChosenOffer],
    listed: Sequence[tuple[int, Path]],
    values: Mapping[tuple[int, Path], float],
    *,
    shared: bool = True,
) -> list[Chain]:
    """A chain for each path; a path whose end has no name, and so no value, gets an equal share among its siblings.

    :param shared: the values are weights among siblings; else they are scores already.
    """
    chains = []
    for i, one in enumerate(chosen):
        own = [path for j, path in listed if j == i]
        known = [values[i, path] for path in own if (i, path) in values]
        total = sum(known)
        for path in own:
            score = one.share / len(own)
            if (i, path) in values and not shared:
                score = values[i, path]
            elif (i, path) in values:
                score *= values[i, path] / total * len(known) if total > 0 else 0.0
            chains.append(Chain(path, score, by_oracle=one.by_oracle))
    return chains


def evenly_scored_chains(chosen: Sequence[ChosenOffer]) -> list[Chain]:
    """The chains to everything listed, with equal scores for siblings."""
    return [Chain(path, one.share / len(one.listed), by_oracle=one.by_oracle) for one in chosen for path in one.listed]


def with_meeting_bonus(chains: Sequence[Chain], bonus: float) -> list[Chain]:
    """The chains, with a bonus for those whose end is also reached from another entity of the question."""
    topics: dict[Term, set[Term]] = {}
    for chain in chains:
        topics.setdefault(chain.end, set()).add(chain.path.start)
    return [replace(c, score=c.score * (1 + bonus if len(topics[c.end]) > 1 else 1)) for c in chains]


def _shares(choices: Sequence[Choice]) -> list[float]:
    """The weight of each choice beside the others of its call, not normalised: the scores of a model as they are.

    Those of a ranker, and for an oracle, which gives none, too, are sharpened, so that a small difference counts.
    """
    if choices and choices[0].chosen_by == "model":
        return [choice.score for choice in choices]
    scores = [choice.score if choice.candidate.score is None else choice.candidate.score for choice in choices]
    best = max(scores, default=0.0)
    return [float(np.exp(_SHARPNESS * (score - best))) for score in scores]


def _normalised(values: Sequence[float]) -> list[float]:
    """The values as parts of 1; equal parts if all values are 0.

    >>> _normalised([1, 3]), _normalised([0, 0])
    ([0.25, 0.75], [0.5, 0.5])
    """
    total = sum(values)
    return [value / total for value in values] if total > 0 else [1 / len(values) for _ in values]
