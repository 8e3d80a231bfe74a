"""One depth of Think-on-Graph: the predicates a beam may go on with, and what they lead to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.answer import LISTED
from kgsparql.answering.choosing import Candidate
from kgsparql.answering.session import Session
from kgsparql.evidence.verbalising import arrow, path_text
from kgsparql.evidence.wikibase_statements import worded
from kgsparql.exploration import NeighbourGroup
from kgsparql.exploration.mediators import hop_of
from kgsparql.graphs.cut import Cut
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step, may_follow
from kgsparql.rdf.terms import IRI, Term, Triple, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._beam import Chain, Trail
from kgsparql.retrievers._walking import linked_classes, predicate_counts

__all__ = ["Offer", "Pair", "Thinning", "candidates_of", "expanded", "offers", "sampled", "thinned"]

STAND_INS = 150
"""Siblings of a beam that its predicates are asked of too."""

COMPARED = 500
"""Names of neighbours that are compared with the question by their meaning, at one depth; of more, those that share
words with it."""

_AGAIN = 0.3
"""What is taken off the score of a predicate that was walked from the same term before: seldom what is asked, but on
PathQuestion 18 % of the ways of three hops lead through their start again."""

_IDENTIFIERS = re.compile(r"\b(?:ids?|identifiers?)$", re.IGNORECASE)

Thinning: TypeAlias = OneOf["embedding", "random", "none"]


@dataclass(frozen=True, slots=True)
class Offer:
    """A predicate that a chain may go on with, and how many neighbours it leads to.

    :param place: of the chain in the beam.
    :param path: the chain's own, or that of a sibling which stands in for it.
    :param again: it was walked from there before, on another way.
    """

    place: int
    chain: Chain
    path: Path
    step: Step
    count: int
    exact: bool
    again: bool = False

    @property
    def property_path(self) -> PropertyPath:
        """Everything that was walked, and this."""
        return PropertyPath((*self.path.property_path.steps, self.step))


@dataclass(frozen=True, slots=True)
class Pair:
    """An offer that was chosen, and what it leads to.

    :param share: of the predicate among those of its chain.
    :param by_oracle: an oracle chose it, and every step before.
    :param siblings: the paths to everything it leads to, through blank nodes to what lies behind.
    :param listed: those that may be chosen from.
    """

    offer: Offer
    share: float
    by_oracle: bool = False
    siblings: tuple[Path, ...] = ()
    listed: tuple[Path, ...] = ()


def offers(
    beam: Sequence[Chain], session: Session, *, skip: Collection[IRI], walked: Collection[tuple[Term, Step]]
) -> list[Offer]:
    """What every chain of the beam may go on with: one query for all of them, one more where it begins at a class.

    A step with nothing at its end but the term just left leads nowhere. Where a sibling of a chain has a predicate that
    no chain of its trail has, it stands in for them. Of identifiers nothing is offered, unless the question asks.
    """
    stand_ins = [(place, path) for place, chain in enumerate(beam) for path in chain.others][:STAND_INS]
    ends = dict.fromkeys([*(chain.end for chain in beam), *(path.end for _, path in stand_ins)])
    begins = all(not chain.path.hops for chain in beam)
    counts: dict[Term, list[tuple[Step, int, bool]]] = {}
    for own in predicate_counts(ends, session, skip=skip, classes=linked_classes(session) if begins else ()):
        counts.setdefault(own.entity, []).append((own.step, own.count, own.exact))
    made: list[Offer] = []
    known: set[tuple[Trail, Step]] = set()
    for place, path in (*((place, chain.path) for place, chain in enumerate(beam)), *stand_ins):
        chain = beam[place]
        for step, count, exact in counts.get(path.end, ()):
            needless = path != chain.path and (chain.trail, step) in known
            if not needless and not (count <= 1 and _goes_back(path, step)):
                known.add((chain.trail, step))
                made.append(Offer(place, chain, path, step, count, exact, again=(path.end, step) in walked))
    return _without_identifiers(sorted(made, key=lambda offer: offer.place), session)


def _goes_back(path: Path, step: Step) -> bool:
    return bool(path.hops) and step.inverts(path.hops[-1].step)


def _without_identifiers(made: Sequence[Offer], session: Session) -> list[Offer]:
    terms = (t for offer in made for x in offer.path.triples for t in (x.subject, x.predicate, x.object))
    labels = session.labels([*terms, *(offer.path.start for offer in made), *(offer.step.predicate for offer in made)])
    if re.search(r"\b(?:ids?|identifiers?)\b", session.question, re.IGNORECASE):
        return list(made)
    return [offer for offer in made if not _IDENTIFIERS.search(labels[offer.step.predicate])]


def candidates_of(made: Sequence[Offer], session: Session) -> list[Candidate]:
    """The offers as numbered candidates: the chain in words, and its whole property path scored."""
    named = session.labels(t for offer in made for t in (offer.path.start, *_terms(offer.path), offer.step.predicate))
    labels, _ = worded([offer.path for offer in made], session, named, in_grace=False)
    candidates: dict[int, Candidate] = {}
    for topic in dict.fromkeys(offer.path.start for offer in made):
        places = [i for i, offer in enumerate(made) if offer.path.start == topic]
        scored = session.path_candidates(
            [(made[i].property_path, [""] * (len(made[i].path) + 2)) for i in places],
            about=topic,
            texts=[_offer_text(made[i], labels) for i in places],
        )
        for i, one in zip(places, scored, strict=True):
            less = _AGAIN if made[i].again else 0.0
            candidates[i] = replace(one, number=i, score=(one.score or 0.0) - less)
    return [candidates[i] for i in range(len(made))]


def _offer_text(offer: Offer, labels: Mapping[Term, str]) -> str:
    count = f"{offer.count:,}{'' if offer.exact else '+'}"
    return f"{path_text(offer.path, labels)} {arrow(offer.step, labels)} ({count})"


def _terms(path: Path) -> list[Term]:
    return [term for triple in path.triples for term in (triple.subject, triple.predicate, triple.object)]


def expanded(chosen: Sequence[Pair], groups: Mapping[tuple[Term, Step], NeighbourGroup]) -> list[Pair]:
    """The pairs with the paths to their neighbours; those that lead to nothing are gone."""
    made = []
    for pair in chosen:
        group = groups.get((pair.offer.path.end, pair.offer.step))
        siblings = tuple(_onward(pair.offer.path, group)) if group is not None else ()
        if siblings:
            made.append(replace(pair, siblings=siblings, listed=siblings))
    return made


def _onward(path: Path, group: NeighbourGroup) -> Iterator[Path]:
    """A path continued to each neighbour, and through blank nodes to what lies behind: these two hops are one step."""
    predicate, direction = group.step.predicate, group.step.direction
    ways: list[tuple[Hop, ...]] = [
        (hop_of(group.entity, predicate, far, direction),)
        for far in group.neighbours
        if not (is_mediator(far) or isinstance(far, Triple))
    ]
    ways += [way.hops for way in group.mediated if not (is_mediator(way.end) or isinstance(way.end, Triple))]
    for hops in dict.fromkeys(ways):
        if not path.hops or may_follow(path.hops[-1], hops[0]):
            yield Path(path.start, path.hops + hops)


def thinned(
    pairs: Sequence[Pair], labels: Mapping[Term, str], session: Session, *, how: Thinning, threshold: int, to: int
) -> list[Pair]:
    """The pairs with fewer listed, where one has so many; and fewer of all, where that would be too long a list.

    :param how: ``embedding``: those most like the question, by the session's ranker; ``random``: any, seeded.
    """
    limits = [to if how != "none" and len(pair.siblings) >= threshold else len(pair.siblings) for pair in pairs]
    if how != "none" and sum(limits) > LISTED:
        limits = [min(limit, max(1, LISTED // len(pairs))) for limit in limits]
    if how == "random":
        return [replace(p, listed=sampled(p.siblings, n, session)) for p, n in zip(pairs, limits, strict=True)]
    long = [i for i, pair in enumerate(pairs) if limits[i] < len(pair.siblings)]
    made = list(pairs)
    for i, places in zip(long, _most_alike([pairs[i].siblings for i in long], labels, session), strict=True):
        made[i] = replace(pairs[i], listed=tuple(pairs[i].siblings[j] for j in sorted(places[: limits[i]])))
    return made


def _most_alike(siblings: Sequence[Sequence[Path]], labels: Mapping[Term, str], session: Session) -> list[list[int]]:
    """For each group of paths its places, those whose ends are most like the question first.

    Of very many those are compared by meaning that share most words with it: to embed all the names around a hub takes
    seconds.
    """
    texts = [[printable(labels[path.end], 300) for path in own] for own in siblings]
    sizes = [len(own) for own in texts]
    rooms = sizes if isinstance(session.ranker, BM25Ranker) else _rooms(sizes)
    if sum(rooms) < sum(sizes):
        session.note_cuts([Cut("names compared by meaning", sum(rooms), sum(sizes))])
    kept = [_most_words(own, room, session) for own, room in zip(texts, rooms, strict=True)]
    flat = [own[j] for own, places in zip(texts, kept, strict=True) for j in places]
    alike = iter(session.ranker.rank(session.question, flat))
    ordered = []
    for places in kept:
        scores = np.array([next(alike) for _ in places])
        ordered.append([places[j] for j in _best(scores)])
    return ordered


def _rooms(sizes: Sequence[int]) -> list[int]:
    """How many of each group are compared by meaning: all, or of the largest as many of each.

    >>> _rooms([30, 400]), _rooms([400, 30, 900])
    ([30, 400], [235, 30, 235])
    """
    rooms = [0] * len(sizes)
    left = COMPARED
    for place, (size, i) in enumerate(sorted((size, i) for i, size in enumerate(sizes))):
        rooms[i] = min(size, max(1, left // (len(sizes) - place)))
        left -= rooms[i]
    return rooms


def _most_words(texts: Sequence[str], room: int, session: Session) -> list[int]:
    """The places of those that share most words with the question, as many as there is room for."""
    if len(texts) <= room:
        return list(range(len(texts)))
    return _best(BM25Ranker().rank(session.question, texts))[:room]


def _best(scores: NDArray[np.float64]) -> list[int]:
    """The places of the scores, the highest first; of equals the first."""
    return [int(i) for i in np.argsort(-scores, kind="stable")]


def sampled(paths: Sequence[Path], number: int, session: Session) -> tuple[Path, ...]:
    """A seeded sample of paths, in their order."""
    return tuple(paths[i] for i in sorted(session.random.sample(range(len(paths)), min(number, len(paths)))))
