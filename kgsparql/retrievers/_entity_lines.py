"""Lines of evidence around the entities that a question is about: found, compared with it, and made into items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsparql.answering.choosing import Candidate
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.verbalising import Line, line_terms, line_text
from kgsparql.evidence.wikibase_statements import read_statements, worded
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.graphs.cut import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, Path, PropertyPath, may_follow
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, as_iri
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._lines import cut_of, lines_around, lines_beyond, without_inverse_lines, without_names

__all__ = ["RankedLine", "best_lines", "degrees", "line_items", "lines_of", "terms_shown"]

SHOWN = 50
"""Ways of a line whose triples are cited."""

FRONTIER = 100
"""Ends that are walked on from, for one more hop."""

_SAMPLE = 20
"""Ways of a line whose terms say what kind of thing stands at each place."""


@dataclass(frozen=True, slots=True)
class RankedLine:
    """A line, how well it fits the question, and how many edges what it is about has."""

    line: Line
    score: float
    degree: int

    @property
    def shown(self) -> Line:
        """The line as far as its triples are cited."""
        return Line(self.line.path, self.line.ways[:SHOWN], self.line.count, self.line.exact)


def lines_of(
    groups: Sequence[NeighbourGroup], named: Collection[Term], session: Session, *, max_hops: int
) -> list[Line]:
    """The lines of one step around all entities, and of up to ``max_hops + 1`` steps from those that are named.

    :param groups: the neighbours of the entities.
    :param named: those from which it is worth going on; the longer lines of others say little about the question.
    """
    around = lines_around(groups)
    lines = without_inverse_lines(around)
    with session.within_budget():
        level = lines_beyond([line for line in around if line.start in named], session, frontier=FRONTIER, limit=SHOWN)
        lines += level
        for _ in range(1, max_hops):
            level = _further(level, session)
            lines += level
    between = [w.terms[-2] for x in lines for w in x.ways[:1] if isinstance(w.end, Literal)]
    steps = [step.predicate for line in lines for step in line.path]
    labels: Mapping[Term, str] = {}
    with session.within_budget():
        labels = session.labels([*between, *steps])
    return without_names(lines, labels)


def _further(lines: Sequence[Line], session: Session) -> list[Line]:
    """The lines one step longer than these, through at most :data:`FRONTIER` of their ends, and never in a circle."""
    reached: dict[IRI, list[Path]] = {}
    for line in lines:
        for way in line.ways:
            if isinstance(way.end, IRI):
                reached.setdefault(way.end, []).append(way)
    onward = list(reached)
    if len(onward) > FRONTIER:
        session.note_cuts([Cut("neighbours walked on from", FRONTIER, len(onward))])
    found = neighbours(session.graph, onward[:FRONTIER], direction=session.direction, limit=SHOWN)
    # What lies beyond an end that was not walked on from, or behind a line that was cut, was not looked for.
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
            for hop in _hops(group):
                if hop.end in way.terms:
                    if may_follow(way.hops[-1], hop):
                        cut.add(key)  # a circle, which the query of the path would walk
                else:
                    longer.setdefault(key, []).append(way.then(Path(group.entity, (hop,))))
    return [Line(key[1], tuple(ways[:SHOWN]), len(ways), exact=key not in cut) for key, ways in longer.items()]


def _hops(group: NeighbourGroup) -> list[Hop]:
    near, step = group.entity, group.step
    ends = [far for far in group.neighbours if not is_mediator(far)]
    pairs = [(near, far) if step.direction == "forward" else (far, near) for far in ends]
    return [Hop(Triple(subject, step.predicate, object_), step.direction) for subject, object_ in pairs]  # type: ignore[arg-type]


def degrees(groups: Iterable[NeighbourGroup]) -> Counter[Term]:
    """How many neighbours each entity is known to have."""
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
    """The lines that fit the question best, the better connected first among equals; or just the better connected.

    A line of an entity that is only like the question has that much less to say; of lines of several steps to the same
    ends, one is kept.
    """
    kinds = [[""] * (len(line.path) + 1) for line in lines]
    with session.within_budget():
        kinds = session.kinds([[way.terms for way in line.ways[:_SAMPLE]] for line in lines])
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
    """Lines as evidence: one step is a line of neighbours, more are a path.

    :param groups: the neighbours of the entities, blank nodes among them, which are no ends of lines.
    """
    labels = session.labels(terms_shown(ranked), in_grace=True)
    read_statements([way for own in ranked for way in own.shown.ways], session)
    left_out = {(g.entity, g.step): [term for term in g.neighbours if is_mediator(term)] for g in groups}
    items = []
    for own in ranked:
        named, beside = worded(own.shown.ways, session, labels)
        item = _item(own, named, left_out.get((as_iri(own.line.start), own.line.path.steps[0]), ()))
        items.append(replace(item, triples=(*item.triples, *beside)))
    return items


def terms_shown(ranked: Sequence[RankedLine]) -> list[Term]:
    """Every term of these lines that is shown."""
    return list(line_terms(own.shown for own in ranked))


def _item(ranked: RankedLine, labels: Mapping[Term, str], left_out: Sequence[Term]) -> EvidenceItem:
    """A line as an item; of one step with everything it leads to, also what may be named as the answer in one go."""
    line, shown = ranked.line, ranked.shown
    whole = line.exact and line.count == len(shown.ways)
    ends = shown.ends if whole and len(line.path) == 1 and len(shown.ends) > 1 else ()
    answers = path_queries.answers(
        line.path, as_iri(line.start),
        without_blank=any(isinstance(term, BlankNode) for term in left_out),
        without_statements=any(isinstance(term, IRI) for term in left_out),
    )  # fmt: skip
    return EvidenceItem(
        kind="path" if len(line.path) > 1 else "neighbours",
        text=line_text(shown, labels),
        triples=tuple(dict.fromkeys(CitedTriple(hop.triple, hop.direction) for way in shown.ways for hop in way.hops)),
        query=answers if ends else _query(shown, whole=whole),
        score=ranked.score,
        cuts=() if whole else (cut_of(shown, labels),),
        ways=shown.ways,
        ends=ends,
    )


def _query(line: Line, *, whole: bool) -> Query:
    """The query that finds a line again: everything on its path, or, of a line that was cut, what is shown."""
    start, limit = as_iri(line.start), max(1000, len(line.ways))  # blank nodes, which are not shown, are found too
    if whole:
        return path_queries.walk_triples(line.path, [start], limit=limit)
    through: dict[int, Iterable[Term]] = {}
    for place in range(1, len(line.path)):
        between = dict.fromkeys(way.terms[place] for way in line.ways)
        if not any(isinstance(term, BlankNode) for term in between):
            through[place] = between
    return path_queries.walk_triples(line.path, [start], line.ends, limit=limit, through=through or None)
