"""What Think-on-Graph makes of its chains: evidence to judge, walks to follow to the end, and answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.grounding import evidence_labels
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.evidence_tree import decision_tree
from kgsparql.evidence.path_expansion import answers_at_ends, completed
from kgsparql.evidence.verbalising import path_text
from kgsparql.evidence.wikibase_statements import read_statements, worded
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, PropertyPath, Walk
from kgsparql.rdf.terms import IRI, BlankNode, Term
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._beam import Chain, Trail

__all__ = ["all_ends", "chains_only", "cited_walks", "is_enough", "ranked_trails"]

_SAMPLE = 20
"""Siblings whose terms say what kind of thing stands at each place of a trail."""

_ORACLE = 100.0
"""What a step that an oracle chose counts for; more than the words of any path."""


def is_enough(draft: Draft | None) -> bool:
    """Whether somebody judged the evidence enough: a model with an answer that it carries, or an oracle."""
    return draft is not None and draft.sufficient is True


def chains_only(depths: Sequence[Sequence[Chain]], session: Session) -> Retrieval:
    """Exactly the chains that were kept, the deepest first; one that goes on in another is a part of that."""
    chains = [chain for kept in reversed(depths) for chain in kept]
    begun = {chain.path.hops[:n] for chain in chains for n in range(1, len(chain.path.hops))}
    whole = [chain for chain in chains if chain.path.hops not in begun]
    terms = [t for chain in whole for x in chain.path.triples for t in (x.subject, x.predicate, x.object)]
    labels = session.labels(terms, in_grace=True)
    read_statements([chain.path for chain in whole], session)
    evidence = Evidence(_chain_item(chain, labels, session) for chain in whole)
    return Retrieval(
        evidence=evidence,
        candidates=_on_the_chains(evidence, session),
        tree=decision_tree(evidence, evidence_labels(evidence, session)),
    )


def _chain_item(chain: Chain, labels: Mapping[Term, str], session: Session) -> EvidenceItem:
    path = chain.path
    worded_labels, beside = worded([path], session, labels)
    named = {i: [term] for i, term in enumerate(path.terms) if i and not isinstance(term, BlankNode)}
    end = named.pop(len(path), None)
    start = path.start
    if not isinstance(start, IRI):
        raise TypeError(f"a chain starts at an IRI, not at {start}")
    return EvidenceItem(
        kind="path",
        text=path_text(path, worded_labels),
        triples=(*(CitedTriple(hop.triple, hop.direction) for hop in path.hops), *beside),
        query=path_queries.walk_triples(path.property_path, [start], end, limit=1000, through=named),
        path=path,
        score=chain.score,
    )


def _on_the_chains(evidence: Evidence, session: Session) -> tuple[AnswerTerm, ...]:
    """The ends of the chains, then what they pass; what they start from only if there is nothing else."""
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
    """The walks that a draft's answers are ends of, and those of the other chains it cites."""
    cited = dict.fromkeys(marker for claim in draft.claims for marker in claim.markers)
    answers = {answer.term for answer in draft.answers}
    leading: dict[Walk, None] = {}
    aside: dict[Walk, None] = {}
    for path in (evidence[marker].path for marker in cited):
        if path is None or not isinstance(path.start, IRI):
            continue
        places = [i for i, term in enumerate(path.terms) if i and term in answers]
        for place in places:
            leading[_walk(path.start, path, place)] = None
        if not places:
            aside[_walk(path.start, path, len(path))] = None
    return list(leading), [walk for walk in aside if walk not in leading]


def _walk(start: IRI, path: Path, length: int) -> Walk:
    return Walk(start, PropertyPath(path.property_path.steps[:length]))


def ranked_trails(
    met: Mapping[Trail, Sequence[Path]], by_oracle: Collection[Trail], session: Session
) -> list[tuple[Walk, float]]:
    """Every trail as a walk, the best first: what an oracle chose, the longest before others; then by its words."""
    trails = list(met)
    kinds = session.kinds([[path.terms for path in met[trail][:_SAMPLE]] for trail in trails])
    scores: dict[Trail, float] = {}
    for topic in dict.fromkeys(topic for topic, _ in trails):
        own = [(trail, kind) for trail, kind in zip(trails, kinds, strict=True) if trail[0] == topic]
        scored = session.path_candidates([(trail[1], kind) for trail, kind in own], about=topic)
        scores |= {trail: candidate.score or 0.0 for (trail, _), candidate in zip(own, scored, strict=True)}
    chosen = {trail: len(trail[1]) if trail in by_oracle else 0 for trail in trails}
    ordered = sorted(trails, key=lambda trail: (-chosen[trail], -scores[trail], str(trail[1]), str(trail[0])))
    return [(Walk(t[0], t[1]), scores[t] + _ORACLE * chosen[t]) for t in ordered if isinstance(t[0], IRI)]


def all_ends(walks: Sequence[tuple[Walk, float]], kept: Iterable[Chain], session: Session) -> Retrieval:
    """Each walk with all its ends as evidence; the ends as candidates, of each walk those that were kept first.

    :param walks: with their scores, the best first.
    """
    items = completed([walk for walk, _ in walks], session)
    followed = zip(items, walks, strict=True)
    evidence = Evidence(replace(item, score=score) for item, (_, score) in followed if item is not None)
    best: dict[Term, float] = {}
    for chain in kept:
        best[chain.end] = max(chain.score, best.get(chain.end, 0.0))
    places = {item.marker: place for place, item in enumerate(evidence)}
    named = {link.term for link in session.link()}
    answers = sorted(
        answers_at_ends(evidence, session),
        key=lambda answer: (answer.term in named, places[answer.markers[0]], -best.get(answer.term, 0.0)),
    )
    tree = decision_tree(evidence, evidence_labels(evidence, session))
    return Retrieval(evidence=evidence, candidates=tuple(answers), tree=tree)
