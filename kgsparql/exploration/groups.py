"""Neighbours in groups: ordinary entities whole from one query, hubs counted first and then some of each group."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from kgsparql.exploration.batched_select import batched_select, far_end, order_key, skipping, union_of
from kgsparql.exploration.counting import predicates, step_key
from kgsparql.exploration.found import NeighbourGroup, PredicateCount
from kgsparql.graphs.cut import Cut
from kgsparql.graphs.protocols import BOUND, CutShort, Halving, KnowledgeGraph, Solution
from kgsparql.rdf.paths import Direction, Directions, Step, directions
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Term

__all__ = ["Group", "Selection", "Steps", "entity_of", "groups_of", "hub_groups"]

WHOLE = 2_000
"""Neighbours of a hub that are fetched to order its small groups: faster than to have the engine order them."""

Group: TypeAlias = tuple[IRI, Step]
Steps: TypeAlias = Iterable[Step] | Mapping[IRI, Iterable[Step]]
"""Steps to take from every entity, or from each entity its own."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which neighbours are asked for.

    :param ways: the directions there is anything to ask in.
    :param steps: of each entity; ``None`` for all that are not skipped.
    :param skip: predicates that are left out where no steps are given.
    """

    ways: tuple[Direction, ...]
    steps: Mapping[IRI, Sequence[Step]] | None
    skip: frozenset[IRI]

    @classmethod
    def of(
        cls, entities: Sequence[IRI], steps: Steps | None, *, direction: Directions, skip: frozenset[IRI]
    ) -> Selection:
        """From what :func:`neighbours` is given."""
        if steps is None:
            return cls(directions(direction), None, skip)
        if isinstance(steps, Mapping):
            own = {entity: tuple(dict.fromkeys(steps.get(entity, ()))) for entity in entities}
        else:
            own = dict.fromkeys(entities, tuple(dict.fromkeys(steps)))
        used = {step.direction for some in own.values() for step in some}
        return cls(tuple(way for way in directions("both") if way in used), own, skip)

    @property
    def pairs_per_entity(self) -> int:
        """How many rows of a query one entity needs at most."""
        return 1 if self.steps is None else max(map(len, self.steps.values()))

    def allows(self, group: Group) -> bool:
        """Whether a group is asked for."""
        entity, step = group
        return step in self.steps[entity] if self.steps is not None else step.predicate not in self.skip

    def query(self, chunk: Sequence[IRI], bound: int) -> Query:
        """The query for all neighbours of some entities, at most so many, and one more, in each direction."""
        arms = [self._arm(way, chunk) for way in self.ways]
        return union_of([arm.limit(bound + 1) for arm in arms])

    def _arm(self, way: Direction, chunk: Sequence[IRI]) -> Query:
        if self.steps is None:
            return skipping(Query.load(f"neighbours_{way}"), "predicate", self.skip).bind(entity=chunk)
        pairs = [(entity, s.predicate) for entity in chunk for s in self.steps[entity] if s.direction == way]
        return Query.load(f"group_{way}").bind_rows(("entity", "predicate"), pairs)


def entity_of(solution: Solution) -> IRI:
    """The entity that a solution is about."""
    return cast("IRI", solution["entity"])


def groups_of(solutions: Iterable[Solution]) -> dict[Group, NeighbourGroup]:
    """The groups of solutions that are all there are: ordered and counted here."""
    return {
        (entity, step): NeighbourGroup(entity, step, tuple(sorted(ends, key=order_key)), len(ends))
        for (entity, step), ends in _members(solutions).items()
    }


def hub_groups(
    graph: KnowledgeGraph, hubs: Mapping[IRI, list[Solution]], chosen: Selection, limit: int
) -> tuple[dict[Group, NeighbourGroup], list[Cut]]:
    """The groups of entities that may have too many neighbours to fetch: counted first, then some of each.

    :param hubs: those entities, each with the neighbours that were seen.
    """
    direction: Directions = "both" if len(chosen.ways) > 1 else chosen.ways[0]
    counted = predicates(graph, hubs, direction=direction, skip=chosen.skip if chosen.steps is None else ())
    counts = {(count.entity, count.step): count for count in counted.items}
    counts = {group: count for group, count in counts.items() if chosen.allows(group)}
    totals = dict.fromkeys(hubs, 0)
    for (entity, _), count in counts.items():
        totals[entity] += count.count if count.exact else BOUND + 1
    whole = [entity for entity, total in totals.items() if total <= BOUND]
    asked = batched_select(graph, chosen.query, whole, key_of=entity_of, chunk_size=1)
    groups = groups_of(asked.solutions)
    larger = {group: count for group, count in counts.items() if group[0] not in whole or group[0] in asked.over}
    seen = _members(solution for entity, some in hubs.items() if entity not in whole for solution in some)
    for group, ends in _some_of_each(graph, larger, seen, limit).items():
        groups[group] = NeighbourGroup(*group, tuple(ends), larger[group].count, larger[group].exact)
    lost = (group for group in larger if group not in groups)  # an endpoint cut what it should have said of them
    cuts = (Cut("neighbours", 0, larger[g].count if larger[g].exact else None, f"{g[0]} {g[1]}") for g in lost)
    return groups, [*counted.cuts, *cuts]


def _some_of_each(
    graph: KnowledgeGraph, counts: Mapping[Group, PredicateCount], seen: Mapping[Group, Sequence[Term]], limit: int
) -> dict[Group, list[Term]]:
    """The first of each small group, in order, while that needs few neighbours in all; any of each other group."""
    members: dict[Group, list[Term]] = {}
    arms = []
    fetched = 0
    for group, count in sorted(counts.items(), key=lambda item: (item[1].count, step_key(item[0][1]))):
        fetched += count.count
        small = fetched <= WHOLE and count.exact
        if not small and len(seen.get(group, ())) >= limit:
            members[group] = list(seen[group][:limit])
        else:
            arm = Query.load(f"group_{group[1].direction}")
            arm = arm.bind_rows(("entity", "predicate"), [(group[0], group[1].predicate)])
            arms.append(arm.limit(count.count if small else limit))
    halving = Halving()
    todo = deque(arms[start : start + MAX_ARMS] for start in range(0, len(arms), MAX_ARMS))
    while todo:
        some = todo.popleft()
        found = graph.select(Query.union(some))
        if len(some) == 1 or halving.should_give_up(found) or not found.cut:
            members |= _members(found)
        else:  # an endpoint cut it
            if isinstance(graph, CutShort):
                graph.will_ask_again(found)
            todo.extendleft((some[len(some) // 2 :], some[: len(some) // 2]))
    return {group: sorted(ends, key=order_key)[:limit] for group, ends in members.items()}


def _members(solutions: Iterable[Solution]) -> dict[Group, list[Term]]:
    members: dict[Group, list[Term]] = {}
    for solution in solutions:
        way, far = far_end(solution)
        members.setdefault((entity_of(solution), Step(cast("IRI", solution["predicate"]), way)), []).append(far)
    return members
