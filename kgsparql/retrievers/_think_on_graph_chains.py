"""One depth of Think-on-Graph: the predicates that may continue a beam, and the paths they lead to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from kgsparql.answering.answer import Retrieval
from kgsparql.answering.retriever import answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.term_labels import path_labels, terms_of
from kgsparql.evidence.verbalising import arrow, path_text
from kgsparql.exploration import NeighbourGroup
from kgsparql.rdf.paths import Path, PropertyPath, Step, Walk, may_follow
from kgsparql.rdf.terms import Term
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES, UNWALKED, is_mediator
from kgsparql.retrievers._walking import (
    NextStep,
    answers_of,
    candidates_by_start,
    groups_of,
    items_at_ends,
    path_items,
    predicate_counts,
    query_through,
    told_count,
    ways_of,
)

_MAX_STAND_INS = 150  # siblings of the chains in a beam whose predicates are offered, too
NEIGHBOURS_PER_PREDICATE = 200  # neighbours of an entity that are fetched by one predicate

# Taken off the score of a predicate that was walked from the same term before. It is seldom what is asked, but on
# PathQuestion 18 % of the paths of three hops lead through their start again.
_WALKED_AGAIN_PENALTY = 0.3
# The factor on the score of a chain for each better chain of the same walk, where siblings have equal scores.
_REPEATED_WALK_FACTOR = 0.25
_SKIPPED = UNWALKED.union(PICTURES_AND_PAGES)
_IDENTIFIERS = re.compile(r"\b(?:ids?|identifiers?)$", re.IGNORECASE)


@frozen
class Chain:
    """A path from an entity of the question, with its score among those of its depth.

    :param others: siblings that nobody rejected; their predicates count as those of the chain, too.
    """

    path: Path
    score: float = 1.0
    others: tuple[Path, ...] = ()

    @property
    def end(self) -> Term:
        """The last term."""
        return self.path.end

    @property
    def walk(self) -> Walk:
        """The start and the predicates, which it shares with its siblings."""
        return self.path.walk


@frozen(kw_only=True)
class Offer(NextStep):
    """A predicate that may continue a chain, or a sibling that stands in for it; ``again`` from the same term.

    :param share: of the predicate in its chain, once it is chosen.
    :param siblings: the paths to all neighbours, once it is chosen; those ``listed`` may be chosen.
    """

    place: int
    count: NeighbourGroup
    again: bool
    share: float = 0.0
    siblings: tuple[Path, ...] = ()
    listed: tuple[Path, ...] = ()

    @property
    def unlisted(self) -> list[Path]:
        """The siblings that nobody is asked about."""
        listed = set(self.listed)
        return [path for path in self.siblings if path not in listed]


def offers(beam: Sequence[Chain], session: Session, *, walked: Collection[tuple[Term, Step]]) -> list[Offer]:
    """Find what may continue the chains of a beam, but for steps that only lead back.

    A sibling stands in for the chains of its walk with the predicates that they have not. Identifiers are offered only
    if the question asks for them.
    """
    ways = [(place, chain.path) for place, chain in enumerate(beam)]
    ways += [(place, path) for place, chain in enumerate(beam) for path in chain.others][:_MAX_STAND_INS]
    begins = all(not chain.path.hops for chain in beam)
    counts = predicate_counts((path.end for _, path in ways), session, skip=_SKIPPED, begins=begins)
    offered: list[Offer] = []
    known: set[tuple[Walk, Step]] = set()
    for place, path in ways:
        chain = beam[place]
        for count in counts.get(path.end, ()):
            needless = path != chain.path and (chain.walk, count.step) in known
            goes_back = bool(path.hops) and count.step.inverts(path.hops[-1].step)
            if not needless and not (count.count <= 1 and goes_back):
                known.add((chain.walk, count.step))
                again = (path.end, count.step) in walked
                offered.append(Offer(way=path, step=count.step, place=place, count=count, again=again))
    offered.sort(key=lambda offer: offer.place)
    labels = session.labels(_offer_terms(offered))
    if re.search(r"\b(?:ids?|identifiers?)\b", session.question, re.IGNORECASE):
        return offered
    return [offer for offer in offered if not _IDENTIFIERS.search(labels[offer.step.predicate])]


def _offer_terms(offered: Sequence[Offer]) -> list[Term]:
    ways = [offer.way for offer in offered]
    return [*terms_of(ways), *(way.start for way in ways), *(offer.step.predicate for offer in offered)]


def scored_offers(offered: Sequence[Offer], session: Session) -> list[Offer]:
    """Write the chain of each offer as text, and score its whole property path."""
    named = session.labels(_offer_terms(offered))
    labels = {**named, **path_labels([offer.way for offer in offered], session.labels, in_grace=False)[0]}
    walks = [(one.way.start, PropertyPath((*one.way.property_path.steps, one.step))) for one in offered]
    paths = [(start, path, [""] * (len(path.steps) + 1)) for start, path in walks]
    scored = []
    for one, candidate in zip(offered, candidates_by_start(paths, session), strict=True):
        text = f"{path_text(one.way, labels)} {arrow(one.step, labels)} ({told_count([one.count])})"
        score = (candidate.score or 0.0) - _WALKED_AGAIN_PENALTY * one.again
        scored.append(replace(one, text=text, score=score))
    return scored


def expanded_offers(
    chosen: Sequence[Offer], groups: dict[tuple[Term, Step], NeighbourGroup], session: Session
) -> list[Offer]:
    """Find the paths to the neighbours of each offer, and add what is found to the known groups."""
    wanted = ((one.way.end, one.step) for one in chosen if (one.way.end, one.step) not in groups)
    found = groups_of(wanted, session, limit=NEIGHBOURS_PER_PREDICATE)
    session.notes.add_cuts(found.cuts)
    groups |= {(group.entity, group.step): group for group in found.items}
    expanded = []
    for one in chosen:
        path, group = one.way, groups.get((one.way.end, one.step))
        ways = dict.fromkeys([] if group is None else ways_of(group))
        siblings = tuple(path.then(way) for way in ways if not path.hops or may_follow(path.hops[-1], way.hops[0]))
        if siblings:
            expanded.append(replace(one, siblings=siblings, listed=siblings))
    return expanded


def by_spread_score(chains: Iterable[Chain]) -> list[Chain]:
    """Order chains, where each further chain of a walk counts a quarter of the one before."""
    seen: Counter[Walk] = Counter()
    scores = []
    for chain in chains:
        scores.append((chain.score * _REPEATED_WALK_FACTOR ** seen[chain.walk], chain))
        seen[chain.walk] += 1
    return [chain for _, chain in sorted(scores, key=lambda scored: -scored[0])]


def chains_retrieval(depths: Sequence[Sequence[Chain]], session: Session) -> Retrieval:
    """Make the kept chains evidence, the deepest first, without those that another chain continues.

    Candidates are the ends of the chains, then the terms between; their starts only if there is nothing else.
    """
    chains = [chain for kept in reversed(depths) for chain in kept]
    begun = {chain.path.hops[:n] for chain in chains for n in range(1, len(chain.path.hops))}
    whole = [chain for chain in chains if chain.path.hops not in begun]
    found = [(chain.path, query_through([chain.path]), chain.score) for chain in whole]
    evidence = Evidence(path_items(found, session))
    paths = [(item, path) for item in evidence for path in item.paths]
    starts = {path.start for _, path in paths}
    between = (term for _, path in paths for term in reversed(path.terms[1:-1]))
    named = dict.fromkeys(t for t in (*(path.end for _, path in paths), *between) if not is_mediator(t))
    terms = [term for term in named if term not in starts] or named
    held = ((term, item.score, item.marker) for term in terms for item, path in paths if term in path.terms)
    return Retrieval(evidence, tuple(answers_of(held, session)))


def ends_retrieval(walks: Mapping[Walk, float], kept: Iterable[Chain], session: Session) -> Retrieval:
    """Follow walks to all their ends, which are the candidates: of each walk those of kept chains first."""
    evidence = Evidence(items_at_ends(walks, session))
    best: dict[Term, float] = {}
    for chain in kept:
        best[chain.end] = max(chain.score, best.get(chain.end, 0.0))
    places = {item.marker: place for place, item in enumerate(evidence)}
    named = session.linked
    answers = sorted(
        answers_at_ends(evidence, session),
        key=lambda answer: (answer.term in named, places[answer.markers[0]], -best.get(answer.term, 0.0)),
    )
    return Retrieval(evidence, tuple(answers))
