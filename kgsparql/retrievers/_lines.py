"""Lines of evidence around entities: each is a start, a property path, and everything that the path leads to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from kgsparql.answering.choosing import Candidate
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.term_labels import statement_labels
from kgsparql.evidence.verbalising import Line, arrow, line_text, path_text
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.graphs.notes import Cut
from kgsparql.linking.answer_type import asks_for_others
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Direction, Hop, Path, PropertyPath, may_follow
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, as_iri, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._walking import SAMPLE, candidates_by_start

SHOWN = 50
"""Ways of a line that the entity method shows, and whose triples are cited."""

FRONTIER = 100
"""Ends that it walks on from for each further hop."""

_TOLD = 20  # ends that the text of a line of one step names; a longer one names half as many

_BACK = 2.0  # taken off the score of a line that leads back along a predicate: such a line comes last


def lines_around(groups: Iterable[NeighbourGroup]) -> list[Line]:
    """Make a line of each group of neighbours; blank nodes are replaced by what lies behind them."""
    lines = []
    for group in groups:
        plain = [Path(group.entity, (hop,)) for hop in _named_hops(group)]
        whole = group.exact and group.count == len(group.neighbours)
        if plain:
            blank = len(group.neighbours) - len(plain)
            lines.append(Line(PropertyPath((group.step,)), tuple(plain), group.count - blank, group.exact))
        behind = [path for path in group.mediated if not is_mediator(path.end)]
        lines += _by_property_path((path, whole) for path in behind)
    return lines


def lines_beyond(around: Sequence[Line], session: Session, *, frontier: int, limit: int) -> list[Line]:
    """Continue lines of one step by another, never straight back.

    At most ``frontier`` ends are walked on from: one of each line in turn, so that late lines have their share.
    """
    reached: dict[Term, list[Path]] = {}
    starts = {line.start for line in around}
    for turn in zip_longest(*(line.ways for line in around if len(line.path.steps) == 1)):
        for way in turn:
            if way is not None and isinstance(way.end, IRI) and way.end not in starts:
                reached.setdefault(way.end, []).append(way)
    onward = [term for term in reached if isinstance(term, IRI)]
    if len(onward) > frontier:
        session.note_cuts([Cut("neighbours walked on from", frontier, len(onward))])
    found = neighbours(session.graph, onward[:frontier], direction=session.direction, limit=limit)
    # A line is partial if it continues a line that was cut, or one with an end that was not walked on from.
    partial = {(line.start, line.path.steps[0]) for line in around if line.count > len(line.ways)}
    partial |= {(way.start, way.hops[0].step) for term in onward[frontier:] for way in reached[term]}
    return _by_property_path(
        (first.then(second), group.count == len(group.neighbours) and (first.start, first.hops[0].step) not in partial)
        for group in found.items
        for second in (Path(group.entity, (hop,)) for hop in _named_hops(group))
        for first in reached[group.entity]
        if may_follow(first.hops[-1], second.hops[0]) and second.end != first.start
    )


def _by_property_path(paths: Iterable[tuple[Path, bool]]) -> list[Line]:
    """One line for each start and property path; it is exact if all its paths are said to be complete."""
    lines: dict[tuple[Term, PropertyPath], list[tuple[Path, bool]]] = {}
    for path, whole in paths:
        lines.setdefault((path.start, path.property_path), []).append((path, whole))
    return [
        Line(steps, tuple(path for path, _ in some), len(some), all(whole for _, whole in some))
        for (_, steps), some in lines.items()
    ]


def _named_hops(group: NeighbourGroup) -> list[Hop]:
    """List the hops to the neighbours of a group, without those to mediators."""
    return [hop for hop in group.hops if not is_mediator(hop.end)]


def without_inverse_lines(lines: Sequence[Line]) -> list[Line]:
    """Leave out each inverse line whose several ends are exactly those of a line by another forward predicate.

    Graphs that store the inverse of every triple say everything twice. A single common end may be chance.
    """
    forward: dict[tuple[Term, frozenset[Term]], set[IRI]] = {}
    for line in lines:
        if _is_one_step(line, "forward"):
            forward.setdefault((line.start, frozenset(line.ends)), set()).add(line.path.steps[0].predicate)
    return [
        line
        for line in lines
        if not _is_one_step(line, "inverse")
        or len(line.ends) == 1
        or not forward.get((line.start, frozenset(line.ends)), set()) - {line.path.steps[0].predicate}
    ]


def _is_one_step(line: Line, direction: Direction) -> bool:
    return len(line.path.steps) == 1 and line.path.steps[0].direction == direction


def telling_lines(lines: Iterable[Line], session: Session) -> list[Line]:
    """Keep the lines that say something: none that only repeats a name or goes in a circle, no two that read alike.

    Two predicates of one name that lead to the same ends read alike.
    """
    own = list(lines)
    between = [way.terms[-2] for line in own for way in line.ways[:1] if isinstance(way.end, Literal)]
    labels = session.labels([*between, *(step.predicate for line in own for step in line.path.steps)])
    told: dict[tuple[object, ...], Line] = {}
    for line in own:
        steps = tuple((labels[step.predicate], step.direction) for step in line.path.steps)
        if not all(_is_name(way, labels) or way.end in way.terms[:-1] for way in line.ways):
            told.setdefault((line.start, steps, frozenset(line.ends)), line)
    return list(told.values())


def _is_name(way: Path, labels: Mapping[Term, str]) -> bool:
    return isinstance(way.end, Literal) and way.end.value == labels.get(way.terms[-2])


def line_candidates(lines: Sequence[Line], session: Session) -> list[Candidate]:
    """Score lines as candidates by how well their predicates and the kind of their ends fit the question.

    Those that lead back along a predicate of the same name come last, unless the question asks for others with the
    same. Of longer lines with the same ends, one may be chosen.
    """
    kinds = [[""] * (len(line.path.steps) + 1) for line in lines]
    with session.within_budget():
        kinds = session.labels.majority_types([[way.terms for way in line.ways[:SAMPLE]] for line in lines])
    labels = session.labels((step.predicate for line in lines for step in line.path.steps), in_grace=True)
    others = asks_for_others(session.masked_question)
    candidates = []
    scored = candidates_by_start([(x.start, x.path, kind) for x, kind in zip(lines, kinds, strict=True)], session)
    for line, candidate in zip(lines, scored, strict=True):
        back = any(
            labels[a.predicate] == labels[b.predicate] and a.direction != b.direction
            for a, b in pairwise(line.path.steps)
        )
        score = (candidate.score or 0.0) - _BACK * (back and not others)
        group = frozenset(line.ends) if len(line.path.steps) > 1 else None
        candidates.append(replace(candidate, score=score, group=group))
    return candidates


def _cut_of(line: Line, labels: Mapping[Term, str], *, most: int = 0) -> Cut:
    known = line.count if line.exact else None
    steps = " ".join(arrow(step, labels) for step in line.path.steps)
    cut = Cut("ends", len(line.ways), known, f"{printable(labels[line.start], 80)} {steps}")
    return replace(cut, told=f"{cut} (-O ends_per_line=N)") if most and len(line.ways) >= most else cut


def lines_of(
    groups: Sequence[NeighbourGroup], named: Collection[Term], session: Session, *, max_hops: int
) -> list[Line]:
    """Find the lines of one step around all entities, and of up to ``max_hops + 1`` steps from the named ones.

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
    with session.within_budget():
        return telling_lines(lines, session)
    return lines


def _longer_lines(lines: Sequence[Line], session: Session) -> list[Line]:
    """Continue lines by one step, from at most :data:`FRONTIER` of their ends, and never in a circle."""
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
            for hop in _named_hops(group):
                if hop.end in way.terms:
                    if may_follow(way.hops[-1], hop):
                        cut.add(key)  # a circle, which the query of the path would walk
                else:
                    longer.setdefault(key, []).append(way.then(Path(group.entity, (hop,))))
    return [Line(key[1], tuple(ways[:SHOWN]), len(ways), exact=key not in cut) for key, ways in longer.items()]


def line_item(line: Line, labels: Mapping[Term, str], session: Session, *, most: int = 0) -> EvidenceItem:
    """Make a line evidence: its text, its triples, and the query that finds them.

    :param most: value of the option ``ends_per_line``; 0 where the method has no such option.
    """
    named, beside = statement_labels(line.ways, session.labels, labels)
    cited = dict.fromkeys(CitedTriple(hop.triple, hop.direction) for way in line.ways for hop in way.hops)
    is_whole = line.exact and line.count == len(line.ways)
    return EvidenceItem(
        kind="path" if len(line.path.steps) > 1 else "neighbours",
        text=line_text(line, named, shown=_TOLD if len(line.path.steps) == 1 else _TOLD // 2),
        triples=(*cited, *beside),
        query=_line_query(line, is_whole=is_whole),
        cuts=() if is_whole else (_cut_of(line, named, most=most),),
        ways=line.ways,
    )


def direct_first(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """Put each direct fact before what continues it."""
    begun = [(item.paths[0].start, item.paths[0].hops[0].step) for item in items]
    direct = {begins: place for place, begins in enumerate(begun) if len(items[place].paths[0]) == 1}
    places = dict.fromkeys(place for i, begins in enumerate(begun) for place in (direct.get(begins, i), i))
    return [items[place] for place in places]


def path_item(
    path: Path, query: Query, labels: Mapping[Term, str], session: Session, *, score: float = 0.0
) -> EvidenceItem:
    """Make a single path evidence, with the query that finds it."""
    named, beside = statement_labels([path], session.labels, labels)
    cited = (CitedTriple(hop.triple, hop.direction) for hop in path.hops)
    return EvidenceItem("path", path_text(path, named), (*cited, *beside), query, path=path, score=score)


def _line_query(line: Line, *, is_whole: bool) -> Query:
    """Ask for everything on the path of a line; for a line that was cut, for the terms that are shown."""
    start, limit = as_iri(line.start), max(1000, len(line.ways))  # blank nodes, which are not shown, are found too
    if is_whole:
        return path_queries.walk_triples(line.path, [start], limit=limit)
    through: dict[int, Iterable[Term]] = {}
    for place in range(1, len(line.path.steps)):
        between = dict.fromkeys(way.terms[place] for way in line.ways)
        if not any(isinstance(term, BlankNode) for term in between):
            through[place] = between
    return path_queries.walk_triples(line.path, [start], line.ends, limit=limit, through=through or None)
