"""Who chooses in Think-on-Graph, what each choice is worth, and what is done where nobody chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgsparql.answering.choosing import Candidate, Choice, wording_scores
from kgsparql.answering.session import Session
from kgsparql.evidence.verbalising import path_text
from kgsparql.rdf.paths import Path
from kgsparql.rdf.terms import Term
from kgsparql.retrievers._beam import Chain, normalised, shares
from kgsparql.retrievers._think_on_graph_steps import Offer, Pair
from kgsparql.retrievers._walking import is_opaque

__all__ = ["Scored", "chosen_pairs", "chosen_with", "meeting", "scored", "unscored"]


@dataclass(frozen=True, slots=True)
class Scored:
    """The chains to all that was listed at a depth.

    :param told_apart: whether a model took some of them and left others.
    """

    chains: tuple[Chain, ...]
    told_apart: bool = False


def chosen_with(candidates: Sequence[Candidate], purpose: str, at_most: int, session: Session) -> list[Choice]:
    """What whoever chooses chooses; the ranker, in the place of a model that chose nothing or has no call left."""
    if session.chooser is None and not session.can_spare_call(purpose):
        return session.ranked.choose(session.masked_question, candidates, purpose, at_most)
    with session.within_budget():
        chosen = session.choose.choose(session.question, candidates, purpose, at_most)
        if chosen or not candidates:
            return chosen
        session.fall_back(purpose, "the model chose nothing")
    return session.ranked.choose(session.masked_question, candidates, purpose, at_most)


def chosen_pairs(made: Sequence[Offer], choices: Sequence[Choice], width: int, session: Session) -> list[Pair]:
    """At most ``width`` predicates of each chain, with shares that sum to 1 where a model gave the scores.

    The scores of a ranker are of whole paths: they can be compared from one chain to the next, and sum to 1 over all.
    """
    worth = _worth(choices, "predicates", session)
    of_chain: dict[int, list[tuple[Choice, float]]] = {}
    for choice, value in zip(choices, worth, strict=True):
        of_chain.setdefault(made[choice.candidate.number].place, []).append((choice, value))
    kept = [some[:width] for some in of_chain.values()]
    total = sum(value for own in kept for _, value in own)
    pairs = []
    for own in kept:
        weight = 1.0 if own[0][0].chosen_by == "model" else sum(value for _, value in own) / total
        for (choice, _), part in zip(own, normalised([value for _, value in own]), strict=True):
            offer = made[choice.candidate.number]
            pairs.append(Pair(offer, part * weight, choice.chosen_by == "oracle" and offer.chain.by_oracle))
    return pairs


def scored(pairs: Sequence[Pair], labels: Mapping[Term, str], width: int, session: Session) -> Scored:
    """The chains to all that is listed: the share of the predicate, times the part among the siblings.

    Nobody is asked about what all has its place in the beam, nor about what has no name.

    :raises ModelError: if a model was asked and cannot be reached.
    """
    listed = [(i, path) for i, pair in enumerate(pairs) for path in pair.listed]
    named = [(i, path) for i, path in listed if not is_opaque(path.end, session)]
    candidates = [Candidate(n, path_text(path, labels), path=path.property_path) for n, (_, path) in enumerate(named)]
    if len(listed) <= width or len(candidates) < 2:
        return Scored(tuple(_chains(pairs, listed, dict.fromkeys(named, 1.0))))
    choices = chosen_with(candidates, "entities", len(candidates), session)
    by_model = any(choice.chosen_by == "model" for choice in choices)
    values = dict.fromkeys(named, 0.0)
    for choice, value in zip(choices, _worth(choices, "entities", session), strict=True):
        values[named[choice.candidate.number]] = value
    return Scored(tuple(_chains(pairs, listed, values)), told_apart=by_model and len(choices) < len(candidates))


def _worth(choices: Sequence[Choice], purpose: str, session: Session) -> list[float]:
    """What each choice is worth; as the ranker says, where the scores of a model say nothing."""
    worth = shares(choices)
    if len(choices) == 1:
        return [1.0]
    if not choices or choices[0].chosen_by != "model" or len(set(worth)) > 1:
        return worth
    session.fall_back(purpose, "the model gave no scores, or all the same: the ranker's are used")
    scores = wording_scores(session.ranker, session.question, [choice.candidate for choice in choices])
    return shares([Choice(c.candidate, float(s), "ranker") for c, s in zip(choices, scores, strict=True)])


def _chains(
    pairs: Sequence[Pair], listed: Sequence[tuple[int, Path]], values: Mapping[tuple[int, Path], float]
) -> list[Chain]:
    """A chain for each path; one whose end has no name has the part of one of so many siblings."""
    chains = []
    for i, pair in enumerate(pairs):
        own = [path for j, path in listed if j == i]
        known = [values[i, path] for path in own if (i, path) in values]
        total = sum(known)
        for path in own:
            part = 1 / len(own)
            if (i, path) in values:
                part = values[i, path] / total * len(known) / len(own) if total > 0 else 0.0
            chains.append(Chain(path, pair.share * part, by_oracle=pair.by_oracle))
    return chains


def unscored(pairs: Sequence[Pair]) -> Scored:
    """The chains to all that is listed, siblings all alike."""
    return Scored(
        tuple(
            Chain(path, pair.share / len(pair.listed), by_oracle=pair.by_oracle)
            for pair in pairs
            for path in pair.listed
        )
    )


def meeting(chains: Sequence[Chain], bonus: float) -> list[Chain]:
    """The chains, with a bonus for those that meet one from another entity of the question."""
    topics: dict[Term, set[Term]] = {}
    for chain in chains:
        topics.setdefault(chain.end, set()).add(chain.path.start)
    return [replace(c, score=c.score * (1 + bonus if len(topics[c.end]) > 1 else 1)) for c in chains]
