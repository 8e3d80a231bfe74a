"""The lines of the entity method: found around the entities, ranked against the question, and made into evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsparql.answering.choosing import Candidate
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.evidence.verbalising import Line, line_terms
from kgsparql.evidence.wikibase_statements import read_statements
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.graphs.cut import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, PropertyPath, may_follow
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, as_iri
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._lines import (
    hops_of,
    line_item,
    lines_around,
    lines_beyond,
    without_inverse_lines,
    without_names,
)
from kgsparql.retrievers._walking import SAMPLE

__all__ = ["RankedLine", "best_lines", "degrees", "line_items", "lines_of", "terms_shown"]

SHOWN = 50
"""Ways of a line that are shown, and whose triples are cited."""

FRONTIER = 100
"""Ends that are walked on from for each further hop."""


@dataclass(frozen=True, slots=True)
class RankedLine:
    """A line and its score.

    :param degree: number of edges that are known at the start of the line, plus the number of its ends.
    """

    line: Line
    score: float
    degree: int

    @property
    def shown(self) -> Line:
        """The line with only the ways that are shown."""
        return Line(self.line.path, self.line.ways[:SHOWN], self.line.count, self.line.exact)


def lines_of(
    groups: Sequence[NeighbourGroup], named: Collection[Term], session: Session, *, max_hops: int
) -> list[Line]:
    """The lines of one step around all entities, and of up to ``max_hops + 1`` steps from the named ones.

    :param groups: the neighbours of the entities.
    :param named: the entities that longer lines begin at; those of other entities say little about the question.
    """
    around = lines_around(groups)
    lines = without_inverse_lines(around)
    with session.within_budget():
        level = lines_beyond([line for line in around if line.start in named], session, frontier=FRONTIER, limit=SHOWN)
        lines += level
        for _ in range(1, max_hops):
            level = _longer_lines(level, session)
            lines += level
    between = [w.terms[-2] for x in lines for w in x.ways[:1] if isinstance(w.end, Literal)]
    steps = [step.predicate for line in lines for step in line.path]
    labels: Mapping[Term, str] = {}
    with session.within_budget():
        labels = session.labels([*between, *steps])
    return without_names(lines, labels)


def _longer_lines(lines: Sequence[Line], session: Session) -> list[Line]:
    """The lines that continue these by one step, from at most :data:`FRONTIER` of their ends, and never in a circle."""
    reached: dict[IRI, list[Path]] = {}
    for line in lines:
        for way in line.ways:
            if isinstance(way.end, IRI):
                reached.setdefault(way.end, []).append(way)
    onward = list(reached)
    if len(onward) > FRONTIER:
        session.note_cuts([Cut("neighbours walked on from", FRONTIER, len(onward))])
    found = neighbours(session.graph, onward[:FRONTIER], direction=session.direction, limit=SHOWN)
    # A line is partial if it continues a line that was cut, or one with an end that was not walked on from.
    partial = {(line.start, line.path) for line in lines if not line.exact or line.count > len(line.ways)}
    partial |= {(way.start, way.property_path) for term in onward[FRONTIER:] for way in reached[term]}
    longer: dict[tuple[Term, PropertyPath], list[Path]] = {}
    cut: set[tuple[Term, PropertyPath]] = set()
    for group in found.items:
        is_whole = group.exact and group.count == len(group.neighbours)
        for way in reached[group.entity]:
            key = way.start, PropertyPath((*way.property_path.steps, group.step))
            if not is_whole or (way.start, way.property_path) in partial:
                cut.add(key)
            for hop in hops_of(group):
                if hop.end in way.terms:
                    if may_follow(way.hops[-1], hop):
                        cut.add(key)  # a circle, which the query of the path would walk
                else:
                    longer.setdefault(key, []).append(way.then(Path(group.entity, (hop,))))
    return [Line(key[1], tuple(ways[:SHOWN]), len(ways), exact=key not in cut) for key, ways in longer.items()]


def degrees(groups: Iterable[NeighbourGroup]) -> Counter[Term]:
    """The number of known neighbours of each entity."""
    counts: Counter[Term] = Counter()
    for group in groups:
        counts[group.entity] += group.count
    return counts


def best_lines(
    lines: Sequence[Line],
    matched: Mapping[Term, LinkedEntity],
    degree: Mapping[Term, int],
    session: Session,
    *,
    at_most: int,
    by_degree: bool,
) -> list[RankedLine]:
    """The lines that fit the question best, with more edges first among equals; or just those with the most edges.

    The score of the entity is added, so that lines of less similar entities rank lower. Of longer lines with the same
    ends, one is kept.

    :param by_degree: rank by edges alone.
    """
    kinds = [[""] * (len(line.path) + 1) for line in lines]
    with session.within_budget():
        kinds = session.labels.majority_types([[way.terms for way in line.ways[:SAMPLE]] for line in lines])
    session.labels((step.predicate for line in lines for step in line.path), in_grace=True)
    edges = [degree.get(line.start, 0) + line.count for line in lines]
    scored: list[Candidate | None] = [None] * len(lines)
    for start in dict.fromkeys(line.start for line in lines):
        own = [i for i, line in enumerate(lines) if line.start == start]
        for i, candidate in zip(
            own, session.path_candidates([(lines[i].path, kinds[i]) for i in own], about=start), strict=True
        ):
            score = float(edges[i]) if by_degree else (candidate.score or 0.0) + matched[start].score
            group = frozenset(lines[i].ends) if len(lines[i].path) > 1 else None
            scored[i] = replace(candidate, number=i, score=score, group=group)
    candidates = [candidate for candidate in scored if candidate is not None]
    candidates.sort(key=lambda c: (-edges[c.number], c.text, str(lines[c.number].start), str(c.path)))
    chosen = session.ranked.choose(session.masked_question, candidates, "lines around the entities", at_most)
    return [RankedLine(lines[c.candidate.number], c.score, edges[c.candidate.number]) for c in chosen]


def line_items(ranked: Sequence[RankedLine], groups: Sequence[NeighbourGroup], session: Session) -> list[EvidenceItem]:
    """Lines as evidence: a line of one step has the kind ``neighbours``, a longer one the kind ``path``.

    Where a line of one step is whole, its several ends can be named as the answer with one marker.

    :param groups: the neighbours of the entities; their blank nodes are no ends of lines.
    """
    labels = session.labels(terms_shown(ranked), in_grace=True)
    read_statements([way for own in ranked for way in own.shown.ways], session.labels)
    left_out = {(g.entity, g.step): [term for term in g.neighbours if is_mediator(term)] for g in groups}
    items = []
    for own in ranked:
        line, start = own.shown, as_iri(own.line.start)
        item = replace(line_item(line, labels, session), score=own.score)
        if not item.cuts and len(line.path) == 1 and len(line.ends) > 1:
            mediators = left_out.get((start, line.path.steps[0]), ())
            query = path_queries.answers(
                line.path, start,
                without_blank=any(isinstance(term, BlankNode) for term in mediators),
                without_statements=any(isinstance(term, IRI) for term in mediators),
            )  # fmt: skip
            item = replace(item, query=query, ends=line.ends)
        items.append(item)
    return items


def terms_shown(ranked: Sequence[RankedLine]) -> list[Term]:
    """Every term of these lines that is shown."""
    return list(line_terms(own.shown for own in ranked))
