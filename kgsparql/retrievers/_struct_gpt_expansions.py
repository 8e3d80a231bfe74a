"""StructGPT's frontiers, the expansions that are possible from them, and the facts that an expansion leads to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsparql.answering.choosing import Choice
from kgsparql.answering.session import Session
from kgsparql.evidence.verbalising import arrow
from kgsparql.exploration import PredicateCount, neighbours, walk_ways
from kgsparql.exploration.mediators import hop_of
from kgsparql.graphs.cut import Cut
from kgsparql.rdf.paths import Constraint, Path, PropertyPath, Step, Walk, may_follow
from kgsparql.rdf.terms import IRI, Term, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._walking import example_ends

_HUB = 500  # with more neighbours than this by one predicate, an entity is a hub: only some of them are fetched
_FACTS = 1_000  # facts that one step fetches, over all predicates that it follows

Unit = tuple[Path, ...]
"""Paths that are shown together: one path to a term, or all paths through one mediator."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of one entity by one predicate, as far as they were fetched.

    :param mediated: paths of two hops through neighbours that are mediators.
    """

    ends: tuple[Term, ...] = ()
    mediated: tuple[Path, ...] = ()
    cuts: tuple[Cut, ...] = ()


KnownNeighbours = dict[tuple[IRI, Step], Neighbours]
"""The neighbours that were fetched, by entity and step: none is fetched twice."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The entities that a walk has led to, each with one path there.

    :param oracle_steps: how many of its steps, from the first, an oracle chose.
    """

    walk: Walk
    ways: Mapping[IRI, Path]
    oracle_steps: int = 0


@dataclass(frozen=True, slots=True)
class Expansion:
    """A predicate that can be followed from a frontier."""

    frontier: Frontier
    step: Step
    counts: Mapping[IRI, PredicateCount]

    @property
    def path(self) -> PropertyPath:
        """The whole path from the topic, this step the last."""
        return PropertyPath((*self.frontier.walk.path.steps, self.step))


@dataclass(frozen=True, slots=True)
class ReachedTerms:
    """A walk and the terms it has led to, each with the first path there; never a blank node."""

    walk: Walk
    ways: Mapping[Term, Path]

    @property
    def ends(self) -> tuple[Term, ...]:
        """The terms; the start only if there is no other."""
        return tuple(end for end in self.ways if end != self.walk.start) or tuple(self.ways)


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """The facts that one predicate led to, and the part of them that is shown.

    :param walk: the walk with this step, without the conditions on mediators.
    :param units: in the order of the graph; the paths through a mediator are one hop longer than the walk.
    :param score: how well the path fits the question.
    :param oracle_steps: how many steps, from the first, an oracle chose.
    :param conditions: sets of conditions on mediators, of which one must be met.
    :param shown: the units that fit into a prompt, once that is known.
    """

    walk: Walk
    units: tuple[Unit, ...]
    score: float
    oracle_steps: int
    cuts: tuple[Cut, ...] = ()
    conditions: tuple[tuple[Constraint, ...], ...] = ((),)
    shown: tuple[Unit, ...] = ()

    @property
    def ways(self) -> tuple[Path, ...]:
        """Every way that is shown."""
        return tuple(way for unit in self.shown for way in unit)

    @property
    def is_whole(self) -> bool:
        """Whether all facts are shown: none was cut by a limit or for lack of space."""
        return not self.cuts and len(self.shown) == len(self.units)

    @property
    def mediated(self) -> tuple[Unit, ...]:
        """The units behind a mediator."""
        return tuple(unit for unit in self.units if self.is_mediated(unit))

    def is_mediated(self, unit: Unit) -> bool:
        """Whether a unit is behind a mediator: its paths are one hop longer."""
        return len(unit[0]) > len(self.walk.path.steps)

    def reached_terms(self) -> list[ReachedTerms]:
        """The walks and the terms they lead to: one to the neighbours, and one for each predicate behind a mediator."""
        found: dict[Walk, dict[Term, Path]] = {}
        for unit in self.units:
            for way in unit:
                for walk in self._walks(way, unit):
                    found.setdefault(walk, {}).setdefault(way.end, way)
        return [ReachedTerms(walk, ways) for walk, ways in found.items()]

    def meets(self, unit: Unit, constraint: Constraint) -> bool:
        """Whether the mediator of a unit meets a condition."""
        return any(way.hops[-1].step == constraint.step and way.end in constraint.values for way in unit)

    def _walks(self, way: Path, unit: Unit) -> Iterator[Walk]:
        if not self.is_mediated(unit):
            yield self.walk
            return
        for conditions in self.conditions:
            if all(self.meets(unit, constraint) for constraint in conditions):
                yield replace(self.walk, path=way.property_path, constraints=(*self.walk.constraints, *conditions))


def expansions_of(frontiers: Iterable[Frontier], counted: Iterable[PredicateCount]) -> list[Expansion]:
    """The expansions that are possible: the predicates of each frontier in the order of its entities, each once.

    A predicate that only leads back to the terms before is left out. One that was followed before is not: the children
    of the parents of somebody's children are often just these children, and yet another question.
    """
    at: dict[IRI, list[PredicateCount]] = {}
    for count in counted:
        at.setdefault(count.entity, []).append(count)
    expansions: list[Expansion] = []
    for frontier in frontiers:
        steps: dict[Step, dict[IRI, PredicateCount]] = {}
        for entity, way in frontier.ways.items():
            for count in at.get(entity, ()):
                back = bool(way.hops) and count.step.inverts(way.hops[-1].step)
                onward = replace(count, count=count.count - 1) if back and count.exact else count
                if onward.count:
                    steps.setdefault(count.step, {})[entity] = onward
        expansions += [Expansion(frontier, step, own) for step, own in steps.items()]
    return expansions


def expansion_text(expansion: Expansion, labels: Mapping[Term, str], examples: Iterable[Term] = ()) -> str:
    """An expansion as a line: the topic, the predicates followed so far, this one, and its number of neighbours.

    :param examples: some of these neighbours.
    """
    counts = expansion.counts.values()
    arrows = " … ".join(arrow(step, labels) for step in expansion.path.steps)
    count = f"{sum(c.count for c in counts):,}{'' if all(c.exact for c in counts) else '+'}"
    named = "; ".join(printable(labels[term], 60) for term in examples)
    return f"{labels[expansion.frontier.walk.start]} {arrows} ({count}{f': {named}' if named else ''})"


def examples_of(expansions: Sequence[Expansion], session: Session) -> list[list[Term]]:
    """Some terms that each expansion leads to from its first entity."""
    first = [(expansion, next(iter(expansion.counts))) for expansion in expansions]
    return example_ends([(expansion.frontier.ways[entity], expansion.step) for expansion, entity in first], session)


def fetch_neighbours(
    expansions: Sequence[tuple[Expansion, Sequence[IRI]]], known: KnownNeighbours, session: Session, *, limit: int
) -> KnownNeighbours:
    """The neighbours of these entities that are not known yet: one query, one more each for blank nodes and hubs."""
    wanted = {
        (entity, expansion.step): expansion.counts[entity]
        for expansion, entities in expansions
        for entity in entities
        if (entity, expansion.step) not in known
    }
    hubs = {key: count for key, count in wanted.items() if _is_hub(count)}
    others = [key for key in wanted if key not in hubs]
    return _of_hubs(hubs, session, limit) | _of_others(others, session, limit)


def found_facts(
    choices: Sequence[Choice],
    expansions: Sequence[tuple[Expansion, Sequence[IRI]]],
    known: KnownNeighbours,
    session: Session,
) -> Iterator[FoundFacts]:
    """For each expansion that was chosen, the facts from these entities, one path to each term."""
    for choice, (expansion, entities) in zip(choices, expansions, strict=True):
        plain: dict[Term, Unit] = {}
        mediated: list[Unit] = []
        cuts = [_cut_of(expansion, entities, session)] if len(entities) < len(expansion.counts) else []
        for entity in entities:
            way, near = expansion.frontier.ways[entity], known[entity, expansion.step]
            for unit in _plain_units(way, expansion.step, near.ends):
                plain.setdefault(unit[0].end, unit)
            mediated += _mediated_units(way, near.mediated)
            cuts += near.cuts
        yield FoundFacts(
            walk=replace(expansion.frontier.walk, path=expansion.path),
            units=(*plain.values(), *mediated),
            score=choice.candidate.score or 0.0,
            oracle_steps=expansion.frontier.oracle_steps + (choice.chosen_by == "oracle"),
            cuts=tuple(cuts),
        )


def _is_hub(count: PredicateCount) -> bool:
    return count.count > _HUB or not count.exact


def affordable_entities(expansion: Expansion, known: KnownNeighbours, *, expansions: int, limit: int) -> list[IRI]:
    """The first entities of an expansion, as many as one query can ask about; at least one."""
    left = _FACTS // expansions
    entities: list[IRI] = []
    for entity, count in expansion.counts.items():
        if (entity, expansion.step) not in known:
            left -= min(count.count, limit) if _is_hub(count) else count.count
        if left < 0 and entities:
            break
        entities.append(entity)
    return entities


def _cut_of(expansion: Expansion, entities: Sequence[IRI], session: Session) -> Cut:
    labels = session.labels([expansion.frontier.walk.start, *(step.predicate for step in expansion.path.steps)])
    return Cut("entities asked about", len(entities), len(expansion.counts), expansion_text(expansion, labels))


def _of_hubs(hubs: Mapping[tuple[IRI, Step], PredicateCount], session: Session, limit: int) -> KnownNeighbours:
    walks = [Walk(entity, PropertyPath((step,))) for entity, step in hubs]
    found = walk_ways(session.graph, walks, [None] * len(walks), limit=limit)
    near: KnownNeighbours = {}
    for ((entity, step), count), own in zip(hubs.items(), found, strict=True):
        cut = Cut("neighbours", limit, count.count if count.exact else None, f"{entity} {step}")
        near[entity, step] = Neighbours(tuple(way.path.end for way in own.items), cuts=(cut,))
    return near


def _of_others(keys: Sequence[tuple[IRI, Step]], session: Session, limit: int) -> KnownNeighbours:
    steps: dict[IRI, list[Step]] = {}
    for entity, step in keys:
        steps.setdefault(entity, []).append(step)
    found = neighbours(session.graph, steps, steps=steps, direction=session.direction, limit=limit)
    near: KnownNeighbours = dict.fromkeys(keys, Neighbours())
    for group in found.items:
        cuts = tuple(cut for cut in found.cuts if cut.where == f"{group.entity} {group.step}")
        near[group.entity, group.step] = Neighbours(group.neighbours, group.mediated, cuts)
    return near


def _plain_units(way: Path, step: Step, ends: Iterable[Term]) -> Iterator[Unit]:
    for end in ends:
        hop = hop_of(way.end, step.predicate, end, step.direction)
        if not is_mediator(end) and (not way.hops or may_follow(way.hops[-1], hop)):
            yield (way.then(Path(way.end, (hop,))),)


def _mediated_units(way: Path, paths: Iterable[Path]) -> Iterator[Unit]:
    """The paths through each mediator as one unit; deeper mediators were reported as a cut before."""
    behind: dict[Term, list[Path]] = {}
    for path in paths:
        if not is_mediator(path.end) and (not way.hops or may_follow(way.hops[-1], path.hops[0])):
            behind.setdefault(path.hops[0].end, []).append(way.then(path))
    yield from (tuple(unit) for unit in behind.values())
