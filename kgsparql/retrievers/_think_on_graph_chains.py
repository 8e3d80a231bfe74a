"""Think-on-Graph's chains: the beam of those that are continued, and the evidence and walks that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.grounding import retrieval_with_tree
from kgsparql.answering.ranked_answers import answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.evidence.term_labels import read_statements
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, PropertyPath, Walk
from kgsparql.rdf.terms import IRI, BlankNode, Term, as_iri
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._lines import path_item
from kgsparql.retrievers._walking import SAMPLE, candidates_by_start, terms_of

_ORACLE = 100.0  # the score of a step that an oracle chose: more than the words of any path

_REPEATED = 0.25
"""The factor on the score of a chain for each better chain of the same trail, where siblings have equal scores."""

Trail = tuple[Term, PropertyPath]
"""An entity of the question and the predicates walked from it. Chains with the same trail are siblings."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A path from an entity of the question.

    :param score: among the chains of its depth: the share of its predicate, times its share among its siblings.
    :param by_oracle: whether an oracle chose every step.
    :param others: siblings that nobody rejected; their predicates count as those of the chain, too.
    """

    path: Path
    score: float = 1.0
    by_oracle: bool = True
    others: tuple[Path, ...] = ()

    @property
    def end(self) -> Term:
        """The last term."""
        return self.path.end

    @property
    def trail(self) -> Trail:
        """The start and the predicates, which it shares with its siblings."""
        return self.path.start, self.path.property_path


def beam_of(
    chains: Iterable[Chain],
    labels: Mapping[Term, str],
    width: int,
    *,
    spread: bool,
    kept: int,
    unlisted: Iterable[Path] = (),
) -> tuple[tuple[Chain, ...], tuple[Chain, ...]]:
    """The chains of a depth that are kept, and those that are continued: by score, then label, then IRI.

    Those that are continued are the best that do not end at a literal; they are kept, too.

    :param spread: prefer chains of different trails, since nobody has told siblings apart.
    :param kept: chains that are kept.
    """
    ordered = sorted(
        (chain for chain in chains if chain.score > 0),
        key=lambda chain: (-chain.score, labels.get(chain.end, ""), str(chain.end)),
    )
    met: dict[tuple[Trail, Term], Chain] = {}
    for chain in ordered:
        met.setdefault((chain.trail, chain.end), chain)
    distinct = _by_spread_score(met.values()) if spread else list(met.values())
    onward = [chain for chain in distinct if isinstance(chain.end, IRI)][:width]
    paths = {chain.path for chain in (*distinct[:kept], *onward)}
    return tuple(chain for chain in distinct if chain.path in paths), tuple(_with_others(onward, distinct, unlisted))


def _by_spread_score(chains: Iterable[Chain]) -> list[Chain]:
    """The chains, the best first, where each further chain of a trail counts a quarter of the one before."""
    seen: Counter[Trail] = Counter()
    scores = []
    for chain in chains:
        scores.append((chain.score * _REPEATED ** seen[chain.trail], chain))
        seen[chain.trail] += 1
    return [chain for _, chain in sorted(scores, key=lambda scored: -scored[0])]


def _with_others(onward: Sequence[Chain], chains: Sequence[Chain], unlisted: Iterable[Path]) -> list[Chain]:
    taken = {chain.path for chain in onward}
    others: dict[Trail, list[Path]] = {}
    for path in (*(chain.path for chain in chains if chain.path not in taken), *unlisted):
        if isinstance(path.end, IRI):
            others.setdefault((path.start, path.property_path), []).append(path)
    return [replace(chain, others=tuple(others.pop(chain.trail, ()))) for chain in onward]


def chains_retrieval(depths: Sequence[Sequence[Chain]], session: Session) -> Retrieval:
    """The chains that were kept as evidence, the deepest first, without those that another chain continues."""
    chains = [chain for kept in reversed(depths) for chain in kept]
    begun = {chain.path.hops[:n] for chain in chains for n in range(1, len(chain.path.hops))}
    whole = [chain for chain in chains if chain.path.hops not in begun]
    labels = session.labels(terms_of(chain.path for chain in whole), in_grace=True)
    read_statements([chain.path for chain in whole], session.labels)
    evidence = Evidence(_chain_item(chain, labels, session) for chain in whole)
    return retrieval_with_tree(evidence, _candidates(evidence, session), session)


def _chain_item(chain: Chain, labels: Mapping[Term, str], session: Session) -> EvidenceItem:
    path = chain.path
    named = {i: [term] for i, term in enumerate(path.terms) if i and not isinstance(term, BlankNode)}
    end = named.pop(len(path), None)
    query = path_queries.walk_triples(path.property_path, [as_iri(path.start)], end, limit=1000, through=named)
    return path_item(path, query, labels, session, score=chain.score)


def _candidates(evidence: Evidence, session: Session) -> tuple[AnswerTerm, ...]:
    """The ends of the chains, then the terms between; their starts only if there is nothing else."""
    paths = [(item, item.path) for item in evidence if item.path is not None]
    starts = {path.start for _, path in paths}
    met: dict[Term, None] = dict.fromkeys(path.end for _, path in paths)
    met |= dict.fromkeys(term for _, path in paths for term in reversed(path.terms[1:-1]))
    named = [term for term in met if not is_mediator(term)]
    terms = [term for term in named if term not in starts] or named
    labels = session.labels(terms, in_grace=True)
    return tuple(
        AnswerTerm(
            term,
            labels[term],
            max(item.score for item, path in paths if term in path.terms),
            tuple(item.marker for item, path in paths if term in path.terms),
        )
        for term in terms
    )


def cited_walks(draft: Draft, evidence: Evidence) -> tuple[list[Walk], list[Walk]]:
    """The walks that end at answers of the draft, and the walks of the other chains that it cites."""
    cited = dict.fromkeys(marker for claim in draft.claims for marker in claim.markers)
    answers = {answer.term for answer in draft.answers}
    leading: dict[Walk, None] = {}
    aside: dict[Walk, None] = {}
    for path in (evidence[marker].path for marker in cited):
        if path is None or not isinstance(path.start, IRI):
            continue
        places = [i for i, term in enumerate(path.terms) if i and term in answers]
        for place in places:
            leading[Walk(path.start, PropertyPath(path.property_path.steps[:place]))] = None
        if not places:
            aside[Walk(path.start, path.property_path)] = None
    return list(leading), [walk for walk in aside if walk not in leading]


def ranked_trails(
    met: Mapping[Trail, Sequence[Path]], by_oracle: Collection[Trail], session: Session
) -> list[tuple[Walk, float]]:
    """Every trail as a walk with its score, the best first: by the steps that an oracle chose, then by the words."""
    trails = list(met)
    kinds = session.labels.majority_types([[path.terms for path in met[trail][:SAMPLE]] for trail in trails])
    scored = candidates_by_start([(*trail, kind) for trail, kind in zip(trails, kinds, strict=True)], session)
    scores = {trail: candidate.score or 0.0 for trail, candidate in zip(trails, scored, strict=True)}
    chosen = {trail: len(trail[1].steps) if trail in by_oracle else 0 for trail in trails}
    ordered = sorted(trails, key=lambda trail: (-chosen[trail], -scores[trail], str(trail[1]), str(trail[0])))
    return [(Walk(t[0], t[1]), scores[t] + _ORACLE * chosen[t]) for t in ordered if isinstance(t[0], IRI)]


def ends_retrieval(walks: Sequence[tuple[Walk, float]], kept: Iterable[Chain], session: Session) -> Retrieval:
    """The walks with all their ends as evidence, and these as candidates: of each walk those of kept chains first."""
    items = expanded_items([walk for walk, _ in walks], session.labels)
    followed = zip(items, walks, strict=True)
    evidence = Evidence(replace(item, score=score) for item, (_, score) in followed if item is not None)
    best: dict[Term, float] = {}
    for chain in kept:
        best[chain.end] = max(chain.score, best.get(chain.end, 0.0))
    places = {item.marker: place for place, item in enumerate(evidence)}
    named = {link.term for link in session.links}
    answers = sorted(
        answers_at_ends(evidence, session),
        key=lambda answer: (answer.term in named, places[answer.markers[0]], -best.get(answer.term, 0.0)),
    )
    return retrieval_with_tree(evidence, tuple(answers), session)
