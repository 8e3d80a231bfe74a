"""The neighbours of some entities, in groups by step, and the paths through blank nodes.

The neighbours of an ordinary entity come whole from one query. Those of a hub are counted first; then some of each
group are fetched. No later query can name a blank node: both hops through one come at once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import TypeAlias, cast

from kgsparql.dataclasses import frozen, replace
from kgsparql.exploration.batched_select import (
    Found,
    NeighbourGroup,
    batched_select,
    entities_of,
    group_query,
    hop_in,
    limited_union,
    order_key,
    skipped_in,
    skipping,
    union_of,
)
from kgsparql.exploration.counting import predicates, step_key
from kgsparql.graphs.graph import BOUND, Halving, KnowledgeGraph, Solution, in_parts
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Directions, Path, Step, directions, may_follow
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Term, distinct
from kgsparql.rdf.vocabulary import UNWALKED, is_mediator

Group: TypeAlias = tuple[IRI, Step]


def mediated_paths(
    graph: KnowledgeGraph, groups: Iterable[Group], *, direction: Directions, skip: Iterable[IRI]
) -> tuple[dict[Group, list[Path]], list[Cut]]:
    """Find the paths of two hops that start with these groups and lead through a blank node.

    :param direction: of the second hop.
    """
    skipped = skipped_in(graph, skip)
    found: dict[Group, list[Path]] = {group: [] for group in groups}
    cuts = []
    for first in directions("both"):
        names = [f"mediated_{first}_{second}" for second in directions(direction)]
        arms = [skipping(Query.load(name), "onward", skipped) for name in names]
        batched = batched_select(
            graph,
            lambda chunk, bound, arms=arms: union_of(  # type: ignore[misc]
                [arm.bind_rows(("entity", "predicate"), chunk).limit(bound + 1) for arm in arms]
            ),
            [(entity, step.predicate) for entity, step in found if step.direction == first],
            key_of=_pair_in,
        )
        for (entity, predicate), some in batched.over.items():
            cuts.append(Cut("hops through blank nodes", len(some), None, f"{entity} {Step(predicate, first)}"))
        for solution in batched.seen:
            there = hop_in(solution)
            second: Direction = "forward" if "far_object" in solution else "inverse"
            onward = Step(cast("IRI", solution["onward"]), second)
            end = solution["far_object" if second == "forward" else "far_subject"]
            path = Path(there.start, (there, onward.hop(there.end, end)))
            if may_follow(*path.hops):
                found[cast("IRI", there.start), there.step].append(path)
    return found, cuts


_pair_in = itemgetter("entity", "predicate")


# Neighbours of a hub that are fetched to order its small groups: faster than if the engine orders them.
WHOLE = 2_000

# Steps to take from every entity, or from each entity its own.
Steps: TypeAlias = Iterable[Step] | Mapping[IRI, Iterable[Step]]


@frozen
class _Selection:
    """Which neighbours are asked for.

    :param ways: the directions in which there are steps to take.
    :param steps: of each entity; ``None`` for all that are not skipped.
    """

    ways: tuple[Direction, ...]
    steps: Mapping[IRI, Sequence[Step]] | None
    skip: frozenset[IRI]

    def query(self, chunk: Sequence[IRI], bound: int) -> Query:
        """Make the query for all neighbours of some entities, at most so many, and one more, in each direction."""
        if self.steps is None:
            arms = (skipping(Query.load(f"neighbours_{way}"), "predicate", self.skip) for way in self.ways)
            return limited_union(tuple(arms), bound + 1).bind(entity=chunk)
        steps = [(entity, step) for entity in chunk for step in self.steps[entity]]
        pairs = {way: [(e, step.predicate) for e, step in steps if step.direction == way] for way in self.ways}
        return union_of([group_query(way, own).limit(bound + 1) for way, own in pairs.items()])


def neighbours(
    graph: KnowledgeGraph, entities: Iterable[Term], *, direction: Directions = "both", steps: Steps | None = None,
    skip: Iterable[IRI] = UNWALKED, limit: int = 10,
) -> Found[NeighbourGroup]:  # fmt: skip
    """Find the neighbours of each entity, grouped by step, at most ``limit`` a group; what was left out is in the cuts.

    A few queries for all entities. The neighbours are in the order of their text, but of the large groups of a hub (an
    entity of more than 10,000 neighbours) any may come. With a blank node come the paths through it.

    :param direction: of the hops when no ``steps`` are given, and of the second hop through a blank node.
    :param steps: only these, for all entities or (a mapping) for each its own; ``skip`` then does not apply to them.
    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    ways, own = directions(direction), None
    if steps is not None:
        of_each = steps if isinstance(steps, Mapping) else dict.fromkeys(starts, tuple(steps))
        own = {entity: distinct(of_each.get(entity, ())) for entity in starts}
        used = {step.direction for some in own.values() for step in some}
        ways = tuple(way for way in directions("both") if way in used)
    if not ways:
        return Found()
    chosen = _Selection(ways, own, skipped_in(graph, skip))
    batched = batched_select(
        graph,
        chosen.query,
        starts,
        key_of=itemgetter("entity"),
        bound=lambda number: min(BOUND, 2_000 + 200 * number),  # 10,000 from a hub would not be used
        chunk_size=max(1, graph.chunk_size // (max(map(len, own.values())) if own else 1)),
    )
    hubs, cuts = _hub_groups(graph, batched.over, chosen, limit) if batched.over else ({}, [])
    found, more = _with_mediators(graph, _groups_of(batched.solutions) | hubs, direction=direction, skip=chosen.skip)
    groups = {key: _first_neighbours(group, limit) for key, group in found.items()}
    cuts += more + [cut_of_group(g, limit) for g in groups.values() if not g.exact or g.count > len(g.neighbours)]
    places = {entity: place for place, entity in enumerate(starts)}
    ordered = sorted(groups.values(), key=lambda group: (places[group.entity], step_key(group.step)))
    return Found(tuple(ordered), tuple(sorted(cuts, key=str)))


def _groups_of(solutions: Iterable[Solution]) -> dict[Group, NeighbourGroup]:
    """Make groups of complete solutions, ordered and counted here."""
    return {
        (entity, step): NeighbourGroup(entity, step, tuple(sorted(ends, key=order_key)), len(ends))
        for (entity, step), ends in _ends_of_groups(solutions).items()
    }


def _hub_groups(
    graph: KnowledgeGraph, hubs: Mapping[IRI, list[Solution]], chosen: _Selection, limit: int
) -> tuple[dict[Group, NeighbourGroup], list[Cut]]:
    """Find the groups of entities that may have too many neighbours to fetch: they are counted, then some fetched."""
    direction = "both" if len(chosen.ways) > 1 else chosen.ways[0]
    counted = predicates(graph, hubs, direction=direction, skip=chosen.skip if chosen.steps is None else ())
    counts = {(count.entity, count.step): count for count in counted.items}
    if chosen.steps is not None:
        counts = {group: count for group, count in counts.items() if group[1] in chosen.steps[group[0]]}
    totals = dict.fromkeys(hubs, 0)
    for (entity, _), count in counts.items():
        totals[entity] += count.count if count.exact else BOUND + 1
    whole = [entity for entity, total in totals.items() if total <= BOUND]
    batched = batched_select(graph, chosen.query, whole, key_of=itemgetter("entity"), chunk_size=1)
    groups = _groups_of(batched.solutions)
    larger = {group: count for group, count in counts.items() if group[0] not in whole or group[0] in batched.over}
    seen = _ends_of_groups(solution for entity, some in hubs.items() if entity not in whole for solution in some)
    for group, ends in _some_of_each(graph, larger, seen, limit).items():
        groups[group] = replace(larger[group], neighbours=tuple(ends))
    lost = (group for group in larger if group not in groups)  # an endpoint cut its result
    cuts = (Cut("neighbours", 0, larger[g].count if larger[g].exact else None, f"{g[0]} {g[1]}") for g in lost)
    return groups, [*counted.cuts, *cuts]


def _some_of_each(
    graph: KnowledgeGraph, counts: Mapping[Group, NeighbourGroup], seen: Mapping[Group, Sequence[Term]], limit: int
) -> dict[Group, list[Term]]:
    """Find the first neighbours of each small group in order, as long as few are fetched; any of other groups."""
    members = {}
    arms, fetched = [], 0
    for group, count in sorted(counts.items(), key=lambda item: (item[1].count, step_key(item[0][1]))):
        fetched += count.count
        small = fetched <= WHOLE and count.exact
        if not small and len(seen.get(group, ())) >= limit:
            members[group] = list(seen[group][:limit])
        else:
            arm = group_query(group[1].direction, [(group[0], group[1].predicate)])
            arms.append(arm.limit(count.count if small else limit))
    halving = Halving()
    todo = deque(in_parts(arms, MAX_ARMS))
    while todo:
        some = todo.popleft()
        found = graph.select(union_of(some))
        if len(some) == 1 or halving.should_give_up(found) or not found.cut:
            members |= _ends_of_groups(found)
        else:  # an endpoint cut it
            graph.will_ask_again(found)
            todo.extendleft((some[len(some) // 2 :], some[: len(some) // 2]))
    return {group: sorted(ends, key=order_key)[:limit] for group, ends in members.items()}


def _ends_of_groups(solutions: Iterable[Solution]) -> dict[Group, list[Term]]:
    members = defaultdict(list)
    for solution in solutions:
        hop = hop_in(solution)
        members[cast("IRI", hop.start), hop.step].append(hop.end)
    return members


def cut_of_group(group: NeighbourGroup, limit: int) -> Cut:
    """Say that a group has more neighbours than are kept."""
    kept, known = min(limit, len(group.neighbours)), group.count if group.exact else None
    return Cut("neighbours", kept, known, f"{group.entity} {group.step}")


def _with_mediators(
    graph: KnowledgeGraph, groups: dict[Group, NeighbourGroup], *, direction: Directions, skip: frozenset[IRI]
) -> tuple[dict[Group, NeighbourGroup], list[Cut]]:
    """Find the groups, with the paths through their blank nodes; blank nodes are in the order of these paths."""
    mediators = [key for key, group in groups.items() if any(is_mediator(t) for t in group.neighbours)]
    if not mediators:
        return groups, []
    found, cuts = mediated_paths(graph, mediators, direction=direction, skip=skip)
    mediated = {}
    for key in mediators:
        paths = sorted(found[key], key=_behind_key)
        behind = defaultdict(list)
        for path in paths:
            behind[path.hops[0].end].append(_behind_key(path))
        # Names of blank nodes change with every load, so they cannot be what the order follows.
        ordered = sorted(groups[key].neighbours, key=lambda term: (order_key(term), behind[term]))
        mediated[key] = replace(groups[key], neighbours=tuple(ordered), mediated=tuple(paths))
        if any(is_mediator(path.end) for path in paths):
            cuts.append(Cut("hops through nested blank nodes", 2, None, f"{key[0]} {key[1]}"))
    return groups | mediated, cuts


def _behind_key(path: Path) -> tuple[object, ...]:
    return step_key(path.hops[1].step), order_key(path.end)


def _first_neighbours(group: NeighbourGroup, limit: int) -> NeighbourGroup:
    """Find the first neighbours, and the paths through those of them that are blank nodes."""
    if not group.mediated:
        return replace(group, neighbours=group.neighbours[:limit])
    shown = {term for term in group.neighbours[:limit] if is_mediator(term)}
    met = dict.fromkeys(path.hops[0].end for path in group.mediated)
    if not shown & met.keys():  # an endpoint names blank nodes differently in each reply
        shown = set(islice(met, limit))
    paths = tuple(path for path in group.mediated if path.hops[0].end in shown)
    return replace(group, neighbours=group.neighbours[:limit], mediated=paths)
