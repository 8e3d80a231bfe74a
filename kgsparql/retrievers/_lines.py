"""Lines of facts around entities, which MindMap and the entity method show: made, continued, scored and worded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from kgsparql.answering.choosing import Candidate
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.term_labels import read_statements, statement_labels
from kgsparql.evidence.verbalising import Line, arrow, line_terms, line_text
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.graphs.notes import Cut
from kgsparql.linking.answer_type import asks_for_others
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, Path, PropertyPath, may_follow
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, as_iri, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._walking import SAMPLE, candidates_by_start

SHOWN = 50
"""Ways of a line that are shown, and whose triples are cited."""

_MAX_ENDS_TOLD = 20  # ends that the text of a line of one step names; a longer one names half as many

_WAY_BACK_PENALTY = 2.0  # taken off the score of a line that leads back along a predicate: such a line comes last


def lines_around(groups: Iterable[NeighbourGroup]) -> list[Line]:
    """Make a line of each group of neighbours; blank nodes are replaced by what lies behind them."""
    lines = []
    for group in groups:
        plain = [Path(group.entity, (hop,)) for hop in _named_hops(group)]
        if plain:
            blank = len(group.neighbours) - len(plain)
            lines.append(Line(PropertyPath((group.step,)), tuple(plain), group.count - blank, group.exact))
        whole = group.exact and group.count == len(group.neighbours)
        lines += _by_property_path((path, whole) for path in group.mediated if not is_mediator(path.end))
    return lines


def lines_beyond(lines: Sequence[Line], session: Session, *, frontier: int, steps: int = 1) -> list[Line]:
    """Continue the lines of so many steps by another, never in a circle.

    At most ``frontier`` ends are walked on from: one of each line in turn, so that late lines have their share.
    """
    starts = {line.start for line in lines}
    own = [line for line in lines if len(line.path.steps) == steps]
    reached: dict[Term, list[Path]] = {}
    for turn in zip_longest(*(line.ways for line in own)):
        for way in turn:
            if way is not None and isinstance(way.end, IRI) and way.end not in starts:
                reached.setdefault(way.end, []).append(way)
    onward = [term for term in reached if isinstance(term, IRI)]
    if len(onward) > frontier:
        session.note_cuts([Cut("neighbours walked on from", frontier, len(onward))])
    found = neighbours(session.graph, onward[:frontier], direction=session.direction, limit=SHOWN)
    # A line is partial if it continues a line that was cut, or one with an end that was not walked on from.
    partial = {(line.start, line.path) for line in own if not line.exact or line.count > len(line.ways)}
    partial |= {(way.start, way.property_path) for term in onward[frontier:] for way in reached[term]}
    return _by_property_path(
        (first.then(Path(group.entity, (hop,))), whole and (first.start, first.property_path) not in partial)
        for group in found.items
        for whole in [group.count == len(group.neighbours)]
        for hop in _named_hops(group)
        for first in reached[group.entity]
        if may_follow(first.hops[-1], hop) and hop.end not in first.terms[:-1]
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
    return [hop for hop in group.hops if not is_mediator(hop.end)]


def without_inverse_lines(lines: Sequence[Line]) -> list[Line]:
    """Leave out each inverse line whose several ends are exactly those of a line by another forward predicate.

    Graphs that store the inverse of every triple say everything twice. A single common end may be chance.
    """
    forward: dict[tuple[Term, frozenset[Term]], set[IRI]] = {}
    for line in lines:
        if len(line.path.steps) == 1 and line.path.steps[0].direction == "forward":
            forward.setdefault((line.start, frozenset(line.ends)), set()).add(line.path.steps[0].predicate)

    def is_said(line: Line) -> bool:
        others = forward.get((line.start, frozenset(line.ends)), set()) - {line.path.steps[0].predicate}
        is_inverse = len(line.path.steps) == 1 and line.path.steps[0].direction == "inverse"
        return is_inverse and len(line.ends) > 1 and bool(others)

    return [line for line in lines if not is_said(line)]


def telling_lines(lines: Sequence[Line], session: Session) -> list[Line]:
    """Keep the lines that say something: none that only repeats a name or goes in a circle, no two that read alike.

    Two predicates of one name that lead to the same ends read alike.
    """
    between = [way.terms[-2] for line in lines for way in line.ways[:1] if isinstance(way.end, Literal)]
    labels = session.labels([*between, *(step.predicate for line in lines for step in line.path.steps)])

    def says_nothing(way: Path) -> bool:
        is_name = isinstance(way.end, Literal) and way.end.value == labels.get(way.terms[-2])
        return is_name or way.end in way.terms[:-1]

    told: dict[tuple[object, ...], Line] = {}
    for line in lines:
        steps = tuple((labels[step.predicate], step.direction) for step in line.path.steps)
        if not all(map(says_nothing, line.ways)):
            told.setdefault((line.start, steps, frozenset(line.ends)), line)
    return list(told.values())


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
        back = not others and any(
            labels[a.predicate] == labels[b.predicate] and a.direction != b.direction
            for a, b in pairwise(line.path.steps)
        )
        group = frozenset(line.ends) if len(line.path.steps) > 1 else None
        candidates.append(replace(candidate, score=(candidate.score or 0.0) - _WAY_BACK_PENALTY * back, group=group))
    return candidates


def line_items(scored: Sequence[tuple[Line, float]], session: Session) -> list[EvidenceItem]:
    """Make lines evidence: a line of one step has the kind ``neighbours``, a longer one the kind ``path``."""
    shown = [replace(line, ways=line.ways[:SHOWN]) for line, _ in scored]
    labels = session.labels(line_terms(shown), in_grace=True)
    read_statements([way for line in shown for way in line.ways], session.labels)
    items = [_line_item(line, labels, session) for line in shown]
    return [replace(item, score=score) for item, (_, score) in zip(items, scored, strict=True)]


def _line_item(line: Line, labels: Mapping[Term, str], session: Session) -> EvidenceItem:
    named, beside = statement_labels(line.ways, session.labels, labels)
    cited = dict.fromkeys(CitedTriple(hop.triple, hop.direction) for way in line.ways for hop in way.hops)
    is_whole = line.exact and line.count == len(line.ways)
    steps = " ".join(arrow(step, named) for step in line.path.steps)
    known = line.count if line.exact else None
    cut = Cut("ends", len(line.ways), known, f"{printable(named[line.start], 80)} {steps}")
    return EvidenceItem(
        kind="path" if len(line.path.steps) > 1 else "neighbours",
        text=line_text(line, named, shown=_MAX_ENDS_TOLD if len(line.path.steps) == 1 else _MAX_ENDS_TOLD // 2),
        triples=(*cited, *beside),
        query=_line_query(line, is_whole=is_whole),
        cuts=() if is_whole else (cut,),
        ways=line.ways,
    )


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


def direct_first(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """Put each direct fact before what continues it."""
    begun = [(item.paths[0].start, item.paths[0].hops[0].step) for item in items]
    direct = {begins: place for place, begins in enumerate(begun) if len(items[place].paths[0]) == 1}
    places = dict.fromkeys(place for i, begins in enumerate(begun) for place in (direct.get(begins, i), i))
    return [items[place] for place in places]
