"""What is one hop from some entities, or a few hops: neighbours in groups, and every triple near them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from kgsparql.exploration.batched_select import batched_select, entities_of, order_key, skipped_in
from kgsparql.exploration.counting import step_key
from kgsparql.exploration.found import Found, NeighbourGroup
from kgsparql.exploration.groups import Group, Selection, Steps, entity_of, groups_of, hub_groups
from kgsparql.exploration.mediators import hop_of, mediated_paths
from kgsparql.graphs.cut import Cut
from kgsparql.graphs.protocols import BOUND, KnowledgeGraph
from kgsparql.rdf.paths import Directions, Hop, Path
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import UNWALKED, is_mediator

__all__ = ["neighbourhood", "neighbours"]


def neighbours(
    graph: KnowledgeGraph,
    entities: Iterable[Term],
    *,
    direction: Directions = "both",
    steps: Steps | None = None,
    skip: Iterable[IRI] = UNWALKED,
    limit: int = 10,
) -> Found[NeighbourGroup]:
    """The neighbours of each entity, grouped by step, at most ``limit`` a group; what was left out is in the cuts.

    A few queries for all entities. Neighbours are in the order of their text, but of the large groups of a hub (an
    entity of more than 10,000 neighbours) the engine gives any. One that is a blank node comes with what lies behind.

    :param direction: of the hops when no ``steps`` are given, and of the second hop through a blank node.
    :param steps: only these, for all entities or (a mapping) for each its own; ``skip`` then does not apply to them.
    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    chosen = Selection.of(starts, steps, direction=direction, skip=skipped_in(graph, skip))
    if not chosen.ways:
        return Found()
    asked = batched_select(
        graph,
        chosen.query,
        starts,
        key_of=entity_of,
        bound=lambda number: min(BOUND, 2_000 + 200 * number),  # fetching 10,000 from a hub would be in vain
        chunk_size=max(1, graph.chunk_size // chosen.pairs_per_entity),
    )
    groups = groups_of(asked.solutions)
    cuts: list[Cut] = []
    if asked.over:
        hubs, cuts = hub_groups(graph, asked.over, chosen, limit)
        groups |= hubs
    groups, more = _with_mediators(graph, groups, direction=direction, skip=chosen.skip)
    groups = {key: _first(group, limit) for key, group in groups.items()}
    cuts += more
    cuts += [_cut(group, limit) for group in groups.values() if not group.exact or group.count > len(group.neighbours)]
    places = {entity: place for place, entity in enumerate(starts)}
    ordered = sorted(groups.values(), key=lambda group: (places[group.entity], step_key(group.step)))
    return Found(tuple(ordered), tuple(sorted(cuts, key=str)))


def neighbourhood(
    graph: KnowledgeGraph,
    entities: Iterable[Term],
    *,
    hops: int = 1,
    direction: Directions = "both",
    skip: Iterable[IRI] = UNWALKED,
    limit: int = 50,
) -> Found[Hop]:
    """Every hop within a distance of the entities, level by level, at most ``limit`` for an entity and a step.

    Each triple comes once, walked from the side it was first met on. A hop to a blank node and the one behind it
    count as one.

    :raises InputError: for a blank node or a literal.
    """
    frontier = entities_of(entities)
    visited: set[Term] = set(frontier)
    found: dict[object, Hop] = {}
    cuts: list[Cut] = []
    for _ in range(hops):
        level = neighbours(graph, frontier, direction=direction, skip=skip, limit=limit)
        cuts += level.cuts
        hops_met = [
            *(hop for group in level.items for hop in _hops(group)),
            *(hop for group in level.items for path in group.mediated for hop in path.hops),
        ]
        for hop in hops_met:
            found.setdefault(hop.triple, hop)
        met = (hop.end for hop in hops_met)
        ends = dict.fromkeys(end for end in met if isinstance(end, IRI) and not is_mediator(end))
        frontier = [end for end in ends if end not in visited]
        visited.update(frontier)
        if not frontier:
            break
    return Found(tuple(found.values()), tuple(dict.fromkeys(cuts)))


def _hops(group: NeighbourGroup) -> list[Hop]:
    return [hop_of(group.entity, group.step.predicate, far, group.step.direction) for far in group.neighbours]


def _cut(group: NeighbourGroup, limit: int) -> Cut:
    kept, known = min(limit, len(group.neighbours)), group.count if group.exact else None
    return Cut("neighbours", kept, known, f"{group.entity} {group.step}")


def _with_mediators(
    graph: KnowledgeGraph, groups: dict[Group, NeighbourGroup], *, direction: Directions, skip: frozenset[IRI]
) -> tuple[dict[Group, NeighbourGroup], list[Cut]]:
    """The groups, those with blank nodes with the paths through them; blank nodes in the order of these paths."""
    mediators = [key for key, group in groups.items() if any(is_mediator(t) for t in group.neighbours)]
    if not mediators:
        return groups, []
    found, cuts = mediated_paths(graph, mediators, direction=direction, skip=skip)
    mediated = {}
    for key in mediators:
        paths = sorted(found[key], key=_behind_key)
        behind: dict[Term, list[object]] = {}
        for path in paths:
            behind.setdefault(path.hops[0].end, []).append(_behind_key(path))
        # Names of blank nodes change with every load, so they say nothing about order.
        ordered = sorted(groups[key].neighbours, key=lambda term: (order_key(term), behind.get(term, [])))
        mediated[key] = replace(groups[key], neighbours=tuple(ordered), mediated=tuple(paths))
    return groups | mediated, cuts


def _behind_key(path: Path) -> tuple[object, ...]:
    return step_key(path.hops[1].step), order_key(path.end)


def _first(group: NeighbourGroup, limit: int) -> NeighbourGroup:
    """The first neighbours, and the paths through those of them that are blank nodes.

    On an endpoint blank nodes have other names in every reply: then the paths through the first so many.
    """
    shown: set[Term] = {term for term in group.neighbours[:limit] if is_mediator(term)}
    met = dict.fromkeys(path.hops[0].end for path in group.mediated)
    if not shown & met.keys():
        shown = set(islice(met, limit))
    paths = tuple(path for path in group.mediated if path.hops[0].end in shown)
    return replace(group, neighbours=group.neighbours[:limit], mediated=paths)
