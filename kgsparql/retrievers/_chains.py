"""MindMap's chains: shortest paths from each entity of the question to the next, joined to whole paths."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from kgsparql.answering.session import Session
from kgsparql.exploration import shortest_paths
from kgsparql.graphs.cut import Cut
from kgsparql.rdf.paths import Path
from kgsparql.rdf.terms import IRI, Term

__all__ = ["Segment", "chained_paths", "chains", "round_robin"]

Segment = tuple[Path, ...]
"""The shortest paths from an entity to the next, the best first."""

_JOINED = 10_000
"""Combinations of a chain's parts that are tried: with many entities there are too many to try all."""


def chains(
    entities: Sequence[IRI],
    session: Session,
    *,
    max_hops: int,
    paths_per_pair: int,
    hub_limit: int,
    limit: int,
    merge_inverses: bool,
) -> tuple[list[list[Segment]], list[Cut]]:
    """Chains of segments; an entity that cannot be reached from the one before starts a new chain.

    A path through an entity that is still to come replaces the other paths, and that entity is not a target again. When
    the budget is spent, it returns the chains found until then.

    :param limit: shortest paths of a pair that are enumerated and ordered; ``paths_per_pair`` of them are kept.
    :param merge_inverses: keep one of the paths that differ only by a predicate and its inverse.

    Source: Wen et al., section 3.2, but entities are compared by IRI, and each segment starts where the last one ended.
    """
    found: list[list[Segment]] = []
    cuts: list[Cut] = []
    segments: list[Segment] = []
    remaining = list(entities)
    start = remaining.pop(0) if remaining else None
    with session.within_budget():
        while start is not None and remaining:
            end = remaining.pop(0)
            shortest = shortest_paths(
                session.graph, start, end,
                max_hops=max_hops, direction=session.direction, hub_limit=hub_limit, limit=limit,
            )  # fmt: skip
            cuts.extend(shortest.cuts)
            items = _without_inverses(shortest.items) if merge_inverses else shortest.items
            paths = items[:paths_per_pair]
            through = next((path for path in items if set(path.terms[1:-1]) & set(remaining)), None)
            if through is not None:
                paths = (through,)
                remaining = [term for term in remaining if term not in through.terms]
            if paths:
                segments.append(paths)
            elif segments:
                found.append(segments)
                segments = []
            start = end
    return ([*found, segments] if segments else found), cuts


def _without_inverses(paths: Sequence[Path]) -> Segment:
    """The paths, without those that are another path with some predicates replaced by their inverses.

    Of paths through the same terms, those with more forward steps are preferred.
    """
    same: dict[tuple[Term, ...], list[Path]] = {}
    for path in paths:
        same.setdefault(path.terms, []).append(path)
    dropped: set[Path] = set()
    for some in same.values():
        kept: list[Path] = []
        for path in sorted(some, key=lambda p: sum(hop.direction == "inverse" for hop in p.hops)):
            if any(_is_same_but_for_inverses(path, other) for other in kept):
                dropped.add(path)
            else:
                kept.append(path)
    return tuple(path for path in paths if path not in dropped)


def _is_same_but_for_inverses(path: Path, other: Path) -> bool:
    """Whether each hop equals that of the other path, or has the other direction and another predicate: its inverse."""
    return all(
        a == b or (a.direction != b.direction and a.step.predicate != b.step.predicate)
        for a, b in zip(path.hops, other.hops, strict=True)
    )


def chained_paths(segments: Sequence[Segment]) -> Iterator[Path]:
    """Whole paths through all segments, lazily, those of better-placed parts first.

    A joined path that passes a term twice is left out, since no query finds it. If all do, the parts are returned as
    they are.
    """
    joined = False
    for parts in islice(_combinations(segments), _JOINED):
        terms = [parts[0].start, *chain.from_iterable(part.terms[1:] for part in parts)]
        if len(set(terms)) == len(terms):
            joined = True
            yield Path(parts[0].start, tuple(chain.from_iterable(part.hops for part in parts)))
    if not joined:
        yield from (path for turn in zip_longest(*segments) for path in turn if path is not None)


def _combinations(segments: Sequence[Segment]) -> Iterator[list[Path]]:
    """Every combination of one path of each segment, the better-placed first."""
    queue = [(0, (0,) * len(segments))]
    seen = {queue[0][1]}
    while queue:
        total, places = heapq.heappop(queue)
        yield [segment[place] for segment, place in zip(segments, places, strict=True)]
        for i, place in enumerate(places):
            following = (*places[:i], place + 1, *places[i + 1 :])
            if place + 1 < len(segments[i]) and following not in seen:
                seen.add(following)
                heapq.heappush(queue, (total + 1, following))


def round_robin(sources: Sequence[Iterator[Path]], at_most: int) -> list[Path]:
    """At most so many paths, one of each source in turn, so that every source has one before any has two."""
    taken: list[Path] = []
    turns = zip_longest(*sources)
    while len(taken) < at_most and (turn := next(turns, None)) is not None:
        taken += [path for path in turn if path is not None][: at_most - len(taken)]
    return taken
