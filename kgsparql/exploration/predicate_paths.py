"""Which property paths lead anywhere from an entity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from kgsparql.exploration.batched_select import entities_of, skipped_in
from kgsparql.exploration.query_levels import Level, QueryLevel, Walking
from kgsparql.exploration.results import Found, PredicatePath
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, PropertyPath
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import UNWALKED

Keep: TypeAlias = Callable[[Sequence[PredicatePath]], Collection[PropertyPath]]


def predicate_paths(
    graph: KnowledgeGraph,
    start: Term,
    *,
    max_hops: int = 3,
    frontier: int = 200,
    direction: Directions = "both",
    skip: Iterable[IRI] = UNWALKED,
    keep: Keep | None = None,
    shown: int | None = None,
) -> Found[PredicatePath]:
    """The distinct property paths that lead somewhere from an entity, the shorter first, then in lexical order.

    A few queries for each length, however many paths there are; where the graph has an adjacency, only literals are
    asked for. A step that inverts the one before it is taken only where it leads to another term than the one just
    left. The ends of the longest paths are not fetched.

    :param frontier: how many ends of a path are expanded; a path that has more is a cut.
    :param keep: from the paths of one length, those that are expanded; all, if ``None``. No path ends the search.
    :param shown: how many ends of a path are returned; as many as are expanded, if ``None``.
    :raises InputError: for a start that is not an IRI.
    """
    (entity,) = entities_of([start])
    level = _beginning(Walking(graph, entity, direction, frontier, skipped_in(graph, skip), shown))
    found: list[PredicatePath] = []
    cuts: dict[Cut, None] = {}
    for hops in range(1, max_hops + 1):
        if not len(level):
            break
        if hops == max_hops and hops > 1:
            last = level.last_step()
            cuts.update(dict.fromkeys(last.cuts))
            found += last.items
            break
        level, more = level.longer()
        cuts.update(dict.fromkeys(more))
        found += (own := level.paths())
        if keep is not None and own and hops < max_hops:
            level = level.only(frozenset(keep(own)))
    return Found(tuple(found), tuple(cuts))


def _beginning(walking: Walking) -> Level:
    """The path of no step."""
    view = walking.graph.adjacency_view()
    if view is not None:
        from kgsparql.exploration.adjacency_levels import first_level

        level = first_level(walking, view)
        if level is not None:
            return level
    return QueryLevel(walking, {PropertyPath(()): {walking.start: set()}})
