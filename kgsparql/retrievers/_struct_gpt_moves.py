"""Where StructGPT's walks have led to, the predicates they can take from there, and what those lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsparql.answering.session import Session
from kgsparql.evidence.verbalising import arrow
from kgsparql.exploration import PredicateCount, neighbours, walk_ways
from kgsparql.exploration.mediators import hop_of
from kgsparql.graphs.cut import Cut
from kgsparql.rdf.paths import Constraint, Path, PropertyPath, Step, Walk, may_follow
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import is_mediator

__all__ = [
    "Followed",
    "Front",
    "Known",
    "Move",
    "Near",
    "Reached",
    "Unit",
    "affordable",
    "ask",
    "followed",
    "move_text",
    "moves_of",
]

_HUB = 500
"""Neighbours of one entity by one predicate beyond which only some are asked for."""

_FACTS = 1_000
"""Facts that one step asks for, over all predicates it follows."""

Unit = tuple[Path, ...]
"""Ways that are shown together: one to a term, or all through the same mediator."""


@dataclass(frozen=True, slots=True)
class Near:
    """What one entity has by one predicate, as far as it was asked for.

    :param mediated: two hops each, through neighbours that are mediators.
    """

    ends: tuple[Term, ...] = ()
    mediated: tuple[Path, ...] = ()
    cuts: tuple[Cut, ...] = ()


Known = dict[tuple[IRI, Step], Near]
"""What was asked for already, and is not asked for again, on whatever way it is come back to."""


@dataclass(frozen=True, slots=True)
class Front:
    """Entities that a walk has led to, each with a way there, in the order they are looked at.

    :param oracle: how many of its steps, from the first, an oracle chose.
    """

    walk: Walk
    ways: Mapping[IRI, Path]
    oracle: int = 0

    @classmethod
    def of(cls, topic: IRI) -> Front:
        """The walk without a step: it has led to its start."""
        return cls(Walk(topic, PropertyPath(())), {topic: Path(topic)})


@dataclass(frozen=True, slots=True)
class Move:
    """A predicate that can be followed from a front.

    :param counts: of the entities that have it, how many neighbours it leads to.
    """

    front: Front
    step: Step
    counts: Mapping[IRI, PredicateCount]

    @property
    def path(self) -> PropertyPath:
        """The whole path from the topic, this step the last."""
        return PropertyPath((*self.front.walk.path, self.step))


@dataclass(frozen=True, slots=True)
class Reached:
    """A walk and the terms it has led to, each with the first way there; blank nodes are none of them."""

    walk: Walk
    ways: Mapping[Term, Path]

    @property
    def ends(self) -> tuple[Term, ...]:
        """The terms; the start only if there is no other."""
        return tuple(end for end in self.ways if end != self.walk.start) or tuple(self.ways)


@dataclass(frozen=True, slots=True)
class Followed:
    """What one predicate led to.

    :param walk: the walk with this step, without the conditions on mediators.
    :param units: in the order of the graph; a way has one hop more than the walk behind a mediator.
    :param score: how well the path fits the question.
    :param conditions: what mediators must have; several are alternatives.
    """

    walk: Walk
    units: tuple[Unit, ...]
    score: float
    oracle: int
    cuts: tuple[Cut, ...] = ()
    conditions: tuple[tuple[Constraint, ...], ...] = ((),)

    @property
    def mediated(self) -> tuple[Unit, ...]:
        """The units behind a mediator."""
        return tuple(unit for unit in self.units if self.is_mediated(unit))

    def is_mediated(self, unit: Unit) -> bool:
        """Whether a unit is behind a mediator: its ways are a hop longer."""
        return len(unit[0]) > len(self.walk.path)

    def reached(self) -> list[Reached]:
        """The walks and the terms they lead to: to the neighbours, and on from each mediator by what it has."""
        found: dict[Walk, dict[Term, Path]] = {}
        for unit in self.units:
            for way in unit:
                for walk in self._walks(way, unit):
                    found.setdefault(walk, {}).setdefault(way.end, way)
        return [Reached(walk, ways) for walk, ways in found.items()]

    def meets(self, unit: Unit, constraint: Constraint) -> bool:
        """Whether the mediator of a unit has what a condition says."""
        return any(way.hops[-1].step == constraint.step and way.end in constraint.values for way in unit)

    def _walks(self, way: Path, unit: Unit) -> Iterator[Walk]:
        if not self.is_mediated(unit):
            yield self.walk
            return
        for conditions in self.conditions:
            if all(self.meets(unit, constraint) for constraint in conditions):
                yield replace(self.walk, path=way.property_path, constraints=(*self.walk.constraints, *conditions))


def moves_of(fronts: Iterable[Front], counted: Iterable[PredicateCount]) -> list[Move]:
    """What can be followed from these fronts: the predicates of each in the order of its entities, each once.

    A predicate that leads from all entities of a front to nothing but the terms just left leads nowhere. One that was
    followed before may be followed again: the children of the parents of somebody's children are often just these
    children, and yet another question.
    """
    at: dict[IRI, list[PredicateCount]] = {}
    for count in counted:
        at.setdefault(count.entity, []).append(count)
    moves: list[Move] = []
    for front in fronts:
        steps: dict[Step, dict[IRI, PredicateCount]] = {}
        for entity, way in front.ways.items():
            for count in at.get(entity, ()):
                back = bool(way.hops) and count.step.inverts(way.hops[-1].step)
                onward = replace(count, count=count.count - 1) if back and count.exact else count
                if onward.count:
                    steps.setdefault(count.step, {})[entity] = onward
        moves += [Move(front, step, own) for step, own in steps.items()]
    return moves


def move_text(move: Move, labels: Mapping[Term, str]) -> str:
    """A move as a line: the topic, the predicates followed so far, this one, and how many neighbours it leads to."""
    counts = move.counts.values()
    exact = all(count.exact for count in counts)
    arrows = " … ".join(arrow(step, labels) for step in move.path)
    return f"{labels[move.front.walk.start]} {arrows} ({sum(c.count for c in counts):,}{'' if exact else '+'})"


def ask(moves: Sequence[tuple[Move, Sequence[IRI]]], known: Known, session: Session, *, limit: int) -> Known:
    """What some entities of these moves have, as far as it is not known: one query, and one more each for blank
    nodes and for hubs.

    :param limit: neighbours of one entity by one predicate.
    """
    wanted = {
        (entity, move.step): move.counts[entity]
        for move, entities in moves
        for entity in entities
        if (entity, move.step) not in known
    }
    hubs = {key: count for key, count in wanted.items() if _is_hub(count)}
    others = [key for key in wanted if key not in hubs]
    return _of_hubs(hubs, session, limit) | _of_others(others, session, limit)


def followed(
    moves: Sequence[tuple[Move, Sequence[IRI]]], known: Known, session: Session
) -> Iterator[tuple[Move, tuple[Unit, ...], tuple[Cut, ...]]]:
    """What each move leads to from these entities, to each term one way, and what was left out."""
    for move, entities in moves:
        plain: dict[Term, Unit] = {}
        mediated: list[Unit] = []
        cuts = [_left_out(move, entities, session)] if len(entities) < len(move.counts) else []
        for entity in entities:
            way, near = move.front.ways[entity], known[entity, move.step]
            for unit in _plain(way, move.step, near.ends):
                plain.setdefault(unit[0].end, unit)
            mediated += _mediated(way, near.mediated)
            cuts += near.cuts
        units = (*plain.values(), *mediated)
        yield move, units, tuple(cuts)


def _is_hub(count: PredicateCount) -> bool:
    return count.count > _HUB or not count.exact


def affordable(move: Move, known: Known, *, moves: int, limit: int) -> list[IRI]:
    """The first entities of a move, as many as can be asked about in one query; at least one."""
    left = _FACTS // moves
    entities: list[IRI] = []
    for entity, count in move.counts.items():
        if (entity, move.step) not in known:
            left -= min(count.count, limit) if _is_hub(count) else count.count
        if left < 0 and entities:
            break
        entities.append(entity)
    return entities


def _left_out(move: Move, entities: Sequence[IRI], session: Session) -> Cut:
    labels = session.labels([move.front.walk.start, *(step.predicate for step in move.path)])
    return Cut("entities asked about", len(entities), len(move.counts), move_text(move, labels))


def _of_hubs(hubs: Mapping[tuple[IRI, Step], PredicateCount], session: Session, limit: int) -> Known:
    """Some neighbours of each hub, which ones the engine decides."""
    walks = [Walk(entity, PropertyPath((step,))) for entity, step in hubs]
    found = walk_ways(session.graph, walks, [None] * len(walks), limit=limit)
    near: Known = {}
    for ((entity, step), count), own in zip(hubs.items(), found, strict=True):
        cut = Cut("neighbours", limit, count.count if count.exact else None, f"{entity} {step}")
        near[entity, step] = Near(tuple(way.path.end for way in own.items), cuts=(cut,))
    return near


def _of_others(keys: Sequence[tuple[IRI, Step]], session: Session, limit: int) -> Known:
    """The neighbours of entities that have few, and what is behind those that are blank nodes."""
    steps: dict[IRI, list[Step]] = {}
    for entity, step in keys:
        steps.setdefault(entity, []).append(step)
    found = neighbours(session.graph, steps, steps=steps, direction=session.direction, limit=limit)
    near: Known = dict.fromkeys(keys, Near())
    for group in found.items:
        cuts = tuple(cut for cut in found.cuts if cut.where == f"{group.entity} {group.step}")
        near[group.entity, group.step] = Near(group.neighbours, group.mediated, cuts)
    return near


def _plain(way: Path, step: Step, ends: Iterable[Term]) -> Iterator[Unit]:
    for end in ends:
        hop = hop_of(way.end, step.predicate, end, step.direction)
        if not is_mediator(end) and (not way.hops or may_follow(way.hops[-1], hop)):
            yield (way.then(Path(way.end, (hop,))),)


def _mediated(way: Path, paths: Iterable[Path]) -> Iterator[Unit]:
    """The ways through each mediator together; what nests deeper is a cut that was told already."""
    behind: dict[Term, list[Path]] = {}
    for path in paths:
        if not is_mediator(path.end) and (not way.hops or may_follow(way.hops[-1], path.hops[0])):
            behind.setdefault(path.hops[0].end, []).append(way.then(path))
    yield from (tuple(unit) for unit in behind.values())
