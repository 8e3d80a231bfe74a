"""From a way that was found to every answer on it: its property path is asked, and what that finds is the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import cast

from kgsparql.answering.answer import AnswerTerm
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import Line, line_terms, line_text
from kgsparql.evidence.wikibase_statements import read_statements, worded
from kgsparql.exploration import walk_ends, walk_ways
from kgsparql.graphs.cut import Cut
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, Walk, Way
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, local_name
from kgsparql.rdf.vocabulary import is_mediator

__all__ = ["ENDS", "answers_at_ends", "completed"]

SHOWN = 50
"""Ends of a walk whose triples are cited; the query of the item finds them all."""

ENDS = 10_000
"""Ends of a walk that are fetched."""

LABELLED = 1_000
"""Ends that are asked for their labels; of more, the others are called by the end of their IRIs."""

_WAYS = 2_000

_AS_GOOD = 0.05
"""What an item may score less than the best about the same entity, and read the question as well.

With it, 150 questions of MetaQA gained 4 right first answers and 100 of FB15k-237 one; no question of these, of 100 of
PathQuestion, 80 of ORKG and 109 of QALD-10 lost one (path ranking, no model). It is the distance below which the two
best readings of a question are called uncertain.
"""


def completed(
    walks: Sequence[Walk], session: Session, *, shown: int = SHOWN, limit: int = ENDS
) -> list[EvidenceItem | None]:
    """An item of evidence for each walk, with all its ends and the triples of the first; ``None`` where it has no end.

    Two queries for up to 50 walks, and the labels. The start is an end only if there is no other; a blank node, which
    has no name outside its graph, is none. The query of an item finds just its ends.

    :param shown: ends of each walk whose triples are cited, one way to each.
    :param limit: ends of each walk; more are a cut.
    :raises BudgetExceededError: if the budget ends before.
    """
    found = walk_ends(session.graph, walks, limit=limit)
    named = [[end for end in own.items if not is_mediator(end)] for own in found]
    ends = [[e for e in own if e != walk.start] or own for own, walk in zip(named, walks, strict=True)]
    labels = session.labels(end for own in ends if len(own) <= LABELLED for end in own)
    ordered = [_ordered(own, labels) for own in ends]
    ways = walk_ways(session.graph, walks, [own[:shown] for own in ordered], limit=_WAYS)
    read_statements([way.path for own in ways for way in own.items], session)
    cuts = [(*own.cuts, *via.cuts) for own, via in zip(found, ways, strict=True)]
    session.note_cuts(cut for own in cuts for cut in own)
    return [
        _item(
            walk,
            own,
            via.items,
            session,
            cuts=cuts_of,
            without_start=len(own) < len(all_named),
            left_out=[end for end in met.items if is_mediator(end)],
        )
        if own and via.items
        else None
        for walk, own, via, cuts_of, all_named, met in zip(walks, ordered, ways, cuts, named, found, strict=True)
    ]


def _ordered(ends: Sequence[Term], labels: Mapping[Term, str]) -> list[Term]:
    """The ends by their labels; of very many, as they came, by their text: labels cost a query for each thousand."""
    if len(ends) > LABELLED:
        return list(ends)
    return sorted(ends, key=lambda end: (labels[end].casefold(), str(end)))


def _item(
    walk: Walk,
    ends: Sequence[Term],
    ways: Sequence[Way],
    session: Session,
    *,
    cuts: tuple[Cut, ...],
    without_start: bool,
    left_out: Sequence[Term],
) -> EvidenceItem:
    """The item of one walk: the first way to each end that is shown.

    :param left_out: ends that have no name for a reader, which its query leaves out too.
    """
    first: dict[Term, Way] = {}
    for way in ways:
        first.setdefault(way.path.end, way)
    kept = [first[end] for end in ends if end in first]
    line = Line(walk.path, tuple(way.path for way in kept), len(ends), exact=not cuts)
    asides = [term for c in walk.constraints for term in (c.step.predicate, *c.values)]
    labels, beside = worded(line.ways, session, session.labels([*line_terms([line]), *asides], in_grace=True))
    hops: dict[Hop, None] = dict.fromkeys(hop for way in kept for hop in (*way.path.hops, *way.aside))
    hops |= dict.fromkeys(cited.hop for cited in beside)
    seen = {cited.hop.step for cited in beside}
    told = [
        f"{labels[c.step.predicate]} {' or '.join(labels[v] for v in c.values[:5])}"
        for c in walk.constraints if c.step not in seen
    ]  # fmt: skip
    return EvidenceItem(
        kind="path",
        text=line_text(line, labels) + (f" (where {' and '.join(told)})" if told else ""),
        triples=tuple(CitedTriple(hop.triple, hop.direction) for hop in hops),
        query=path_queries.answers(
            walk.path,
            walk.start,
            constraints=walk.constraints,
            without_start=without_start,
            without_blank=any(isinstance(end, BlankNode) for end in left_out),
            without_statements=any(isinstance(end, IRI) for end in left_out),
        ),
        cuts=cuts,
        ways=line.ways,
        ends=tuple(ends),
    )


def answers_at_ends(evidence: Evidence, session: Session) -> tuple[AnswerTerm, ...]:
    """Every end of the items that have any, once: in the order of the best item each is an end of, then of its ends.

    What the best items of several entities of the question lead to comes first: who was in a film with both, not with
    one of them. An item that reads the question less well than another about the same entity says nothing of the kind.
    What the question names itself comes last: it is hardly what is asked for.

    :return: each with that item's score and the markers of all items it is an end of.
    """
    markers: dict[Term, list[str]] = {}
    scores: dict[Term, float] = {}
    topics: dict[Term, set[Term]] = {}
    best: dict[Term, float] = {}
    mentioned = {meant.term: link.term for link in session.link() for meant in (*link.candidates, link)}
    mentioned |= {same.other: same.term for same in session.same}
    for item in sorted(evidence, key=lambda item: -item.score):
        about = {mentioned.get(cast("IRI", way.start), way.start) for way in item.ways[:1]}
        leading = {topic for topic in about if item.score >= best.setdefault(topic, item.score) - _AS_GOOD}
        for end in item.ends:
            markers.setdefault(end, []).append(item.marker)
            scores.setdefault(end, item.score)
            topics.setdefault(end, set()).update(leading)
    named = {link.term for link in session.link()}
    markers = dict(sorted(markers.items(), key=lambda found: (found[0] in named, -len(topics[found[0]]))))
    labels = session.labels(islice(markers, LABELLED), in_grace=True)
    return tuple(
        AnswerTerm(end, labels.get(end) or _by_itself(end), scores[end], tuple(own)) for end, own in markers.items()
    )


def _by_itself(term: Term) -> str:
    """What a term is called without asking the graph."""
    return local_name(term) if isinstance(term, IRI) else term.value if isinstance(term, Literal) else str(term)
