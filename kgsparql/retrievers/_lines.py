"""Lines of evidence around entities: everything one property path of one or two steps leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.paths import Hop, Path, PropertyPath, may_follow
from kgsparql.session import Session
from kgsparql.terms import IRI, BlankNode, Term, Triple
from kgsparql.verbalising import Line

__all__ = ["lines_around", "lines_beyond"]


def lines_around(groups: Iterable[NeighbourGroup]) -> list[Line]:
    """A line for each group of neighbours; what lies behind blank nodes instead of the blank nodes themselves."""
    lines = []
    for group in groups:
        plain = [Path(group.entity, (hop,)) for hop in _hops(group) if not isinstance(hop.end, BlankNode)]
        if plain:
            blank = len(group.neighbours) - len(plain)
            lines.append(Line(PropertyPath((group.step,)), tuple(plain), group.count - blank, group.exact))
        lines += _by_property_path(path for path in group.mediated if not isinstance(path.end, BlankNode))
    return lines


def lines_beyond(around: Sequence[Line], session: Session, *, frontier: int, limit: int) -> list[Line]:
    """Lines of two steps: on from the ends of the one-step lines, at most ``frontier`` of them, never straight back."""
    reached: dict[Term, list[Path]] = {}
    starts = {line.start for line in around}
    for line in around:
        for way in line.ways:
            if len(way) == 1 and way.end not in starts:
                reached.setdefault(way.end, []).append(way)
    onward = [term for term in reached if isinstance(term, IRI)][:frontier]
    found = neighbours(session.graph, onward, direction=session.direction, limit=limit)
    session.note_cuts(cut for cut in found.cuts if cut.what != "neighbours")
    return _by_property_path(
        first.then(second)
        for group in found.items
        for second in (Path(group.entity, (hop,)) for hop in _hops(group) if not isinstance(hop.end, BlankNode))
        for first in reached[group.entity]
        if may_follow(first.hops[-1], second.hops[0]) and second.end != first.start
    )


def _by_property_path(paths: Iterable[Path]) -> list[Line]:
    """The paths of each start and property path as one line, in the order the lines were met."""
    lines: dict[tuple[Term, PropertyPath], list[Path]] = {}
    for path in paths:
        lines.setdefault((path.start, path.property_path), []).append(path)
    return [Line(steps, tuple(ways), len(ways)) for (_, steps), ways in lines.items()]


def _hops(group: NeighbourGroup) -> list[Hop]:
    near, step = group.entity, group.step
    pairs = [(near, far) if step.direction == "forward" else (far, near) for far in group.neighbours]
    return [Hop(Triple(subject, step.predicate, object_), step.direction) for subject, object_ in pairs]  # type: ignore[arg-type]
