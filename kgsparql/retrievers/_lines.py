"""Lines of evidence around entities: everything one property path of one or two steps leads to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from kgsparql.answering.session import Session
from kgsparql.evidence.verbalising import Line, arrow
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.graphs.cut import Cut
from kgsparql.rdf.paths import Direction, Hop, Path, PropertyPath, may_follow
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, printable
from kgsparql.rdf.vocabulary import is_mediator

__all__ = ["cut_of", "lines_around", "lines_beyond", "without_inverse_lines", "without_names"]


def lines_around(groups: Iterable[NeighbourGroup]) -> list[Line]:
    """A line for each group of neighbours; what lies behind blank nodes instead of the blank nodes themselves."""
    lines = []
    for group in groups:
        plain = [Path(group.entity, (hop,)) for hop in _hops(group) if not is_mediator(hop.end)]
        whole = group.exact and group.count == len(group.neighbours)
        if plain:
            blank = len(group.neighbours) - len(plain)
            lines.append(Line(PropertyPath((group.step,)), tuple(plain), group.count - blank, group.exact))
        behind = [path for path in group.mediated if not is_mediator(path.end)]
        lines += _by_property_path((path, whole) for path in behind)
    return lines


def lines_beyond(around: Sequence[Line], session: Session, *, frontier: int, limit: int) -> list[Line]:
    """Lines of two steps: on from the ends of the one-step lines, and never straight back.

    At most ``frontier`` ends are walked on from, one of each line in turn, so that no line is left out for being late.
    """
    reached: dict[Term, list[Path]] = {}
    starts = {line.start for line in around}
    for turn in zip_longest(*(line.ways for line in around if len(line.path) == 1)):
        for way in turn:
            if way is not None and isinstance(way.end, IRI) and way.end not in starts:
                reached.setdefault(way.end, []).append(way)
    onward = [term for term in reached if isinstance(term, IRI)]
    if len(onward) > frontier:
        session.note_cuts([Cut("neighbours walked on from", frontier, len(onward))])
    found = neighbours(session.graph, onward[:frontier], direction=session.direction, limit=limit)
    # What lies beyond an end that was not walked on from, or behind a line that was cut, was not looked for.
    partial = {(line.start, line.path.steps[0]) for line in around if line.count > len(line.ways)}
    partial |= {(way.start, way.hops[0].step) for term in onward[frontier:] for way in reached[term]}
    return _by_property_path(
        (first.then(second), group.count == len(group.neighbours) and (first.start, first.hops[0].step) not in partial)
        for group in found.items
        for second in (Path(group.entity, (hop,)) for hop in _hops(group) if not is_mediator(hop.end))
        for first in reached[group.entity]
        if may_follow(first.hops[-1], second.hops[0]) and second.end != first.start
    )


def _by_property_path(paths: Iterable[tuple[Path, bool]]) -> list[Line]:
    """The paths of each start and property path as one line, in the order the lines were met.

    :param paths: each with whether its part of the line is whole; a line is exact when all its parts are.
    """
    lines: dict[tuple[Term, PropertyPath], list[tuple[Path, bool]]] = {}
    for path, whole in paths:
        lines.setdefault((path.start, path.property_path), []).append((path, whole))
    return [
        Line(steps, tuple(path for path, _ in some), len(some), all(whole for _, whole in some))
        for (_, steps), some in lines.items()
    ]


def _hops(group: NeighbourGroup) -> list[Hop]:
    near, step = group.entity, group.step
    pairs = [(near, far) if step.direction == "forward" else (far, near) for far in group.neighbours]
    return [Hop(Triple(subject, step.predicate, object_), step.direction) for subject, object_ in pairs]  # type: ignore[arg-type]


def without_inverse_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines but for those that lead, by an inverse, to just the several ends that a forward predicate leads to.

    Graphs that store the inverse of every triple say everything twice. A single end in common may be chance.
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
    return len(line.path) == 1 and line.path.steps[0].direction == direction


def without_names(lines: Iterable[Line], labels: Mapping[Term, str]) -> list[Line]:
    """The lines but for those that only say once more what the terms before their ends are called."""
    return [line for line in lines if not all(_is_name(way, labels) for way in line.ways[:1])]


def _is_name(way: Path, labels: Mapping[Term, str]) -> bool:
    return isinstance(way.end, Literal) and way.end.value == labels.get(way.terms[-2])


def cut_of(line: Line, labels: Mapping[Term, str], *, most: int = 0) -> Cut:
    """What is left out of a line that was cut.

    :param most: ends that the option ``ends_per_line`` lets a line have; 0 where the method has no such option.
    """
    known = line.count if line.exact else None
    steps = " ".join(arrow(step, labels) for step in line.path)
    cut = Cut("ends", len(line.ways), known, f"{printable(labels[line.start], 80)} {steps}")
    return replace(cut, told=f"{cut} (-O ends_per_line=N)") if most and len(line.ways) >= most else cut
