"""All shortest paths between two entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from kgsparql.exploration.batched_select import entities_of, far_end, order_key, selected, skipped_in, union_of
from kgsparql.exploration.bidirectional_search import (
    Bridge,
    SearchRules,
    SearchSide,
    bridges,
    can_bridge,
    link_arms,
    meetings,
    one_hop,
    way_of,
)
from kgsparql.exploration.counting import predicates
from kgsparql.exploration.results import Found
from kgsparql.graphs.graph import BOUND, KnowledgeGraph
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Directions, Hop, Path
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Term
from kgsparql.rdf.vocabulary import UNWALKED

FEW = 1_000
"""Hops of an end, in a direction, that the first query fetches; for an end with more, joins are sent."""

MAX_DEGREE = 10_000
"""Degrees are compared up to here; a term with more counts as this many."""

_OPPOSITE: dict[Directions, Directions] = {"both": "both", "forward": "inverse", "inverse": "forward"}
_Onward: TypeAlias = dict[Term, dict[Hop, None]]


def shortest_paths(
    graph: KnowledgeGraph,
    start: Term,
    end: Term,
    *,
    max_hops: int = 5,
    direction: Directions = "both",
    skip: Iterable[IRI] = UNWALKED,
    hub_limit: int = 10_000,
    limit: int = 1_000,
) -> Found[Path]:
    """All shortest paths from ``start`` to ``end``; none if they are more than ``max_hops`` apart.

    A path does not lead through a literal, nor along a skipped predicate, nor through a class unless both ends are
    classes. The paths through terms of few triples come first, then lexical order. From an entity to itself there is
    the path without hops.

    One query finds a distance of 1 or 2, two find 3, three find 4; each hop more costs two, and an end of more
    than 1,000 hops one or two. Where there are several paths, one more asks for degrees. Where the graph has an
    adjacency, no query is asked, and the only cut is that of ``limit``: the paths are the same wherever queries cut
    nothing.

    :param hub_limit: a query does not expand a term with more hops than this, which is a cut unless it is an end.
    :param limit: how many paths are enumerated before they are ordered; more are a cut. The first in lexical order;
        of more than 1,000, and more than four times as many, any.
    :raises InputError: for a start or an end that is not an IRI.
    """
    near = SearchSide(entities_of([start])[0], direction)
    far = SearchSide(entities_of([end])[0], _OPPOSITE[direction])
    if near.end == far.end:
        return Found((Path(start),))
    skipped = skipped_in(graph, skip)
    view = graph.adjacency_view()
    if view is not None:
        from kgsparql.exploration.adjacency_search import paths_in_adjacency

        return paths_in_adjacency(
            view, near.end, far.end, max_hops=max_hops, direction=direction, skip=skipped, limit=limit
        )
    enough = max(limit, min(BOUND, max(FEW, 4 * limit)))
    rules = SearchRules(skipped, hub_limit)
    met, complete, cuts = _meet(graph, near, far, rules, max_hops=max_hops, enough=enough)
    cuts = [*near.cuts, *far.cuts, *cuts]
    if not met:
        return Found((), tuple(dict.fromkeys(cuts)))
    onward = _onward(met, near, far)
    paths = list(islice(_paths(near.end, far.end, onward), limit))
    known = _number_of_paths(near.end, far.end, onward)
    if known > len(paths) or not complete:
        cuts.append(Cut("paths", len(paths), known if complete else None, f"{start} – {end}"))
    return Found(tuple(_by_degree(graph, paths)), tuple(dict.fromkeys(cuts)))


def _meet(
    graph: KnowledgeGraph, near: SearchSide, far: SearchSide, rules: SearchRules, *, max_hops: int, enough: int
) -> tuple[list[Bridge], bool, list[Cut]]:
    """The bridges of all shortest paths, and whether these are all: both sides grow until they meet, or cannot grow."""
    if max_hops < 1:
        return [], True, []
    direct, complete, rules = _first_query(graph, near, far, rules, enough)
    if direct:
        return direct, complete, []
    ruled_out = 1
    while ruled_out < max_hops:
        met = meetings(near, far)
        if met:
            return met, True, []
        ruled_out = max(ruled_out, near.depth + far.depth)
        ahead = ruled_out + 1 - near.depth - far.depth
        if ruled_out >= max_hops or not near.frontier or not far.frontier:
            break
        if can_bridge(near, far, rules, graph.chunk_size, hops=ahead):
            met, complete = bridges(graph, near, far, rules, hops=ahead, bound=enough)
            if met:
                return met, complete, []
            ruled_out += 1
            continue
        open_sides = [side for side in (near, far) if not side.closed]
        if not open_sides:
            return [], True, [Cut("hops", rules.hub_limit, None, str(side.end)) for side in (near, far)]
        min(open_sides, key=lambda side: len(side.frontier)).expand(graph, rules)
    return [], True, []


def _first_query(
    graph: KnowledgeGraph, near: SearchSide, far: SearchSide, rules: SearchRules, enough: int
) -> tuple[list[Bridge], bool, SearchRules]:
    """Ask for the hops between the ends, for what is beside each, and whether they are classes, at once.

    An end with many hops is left as it is: what is two hops from it is found without fetching them.

    :return: the ways over one hop, if any; whether these are all; and the rules, which two classes change.
    """
    few = min(FEW, rules.hub_limit)
    arms = [arm.limit(enough + 1) for arm in one_hop(near.direction, [near.end], [far.end], rules)]
    arms += [
        arm.bind(entity=[side.end]).limit(few + 1) for side in (near, far) for arm in link_arms(side.direction, rules)
    ]
    arms.append(Query.load("classes").bind(entity=[near.end, far.end]))
    solutions = selected(graph, union_of(arms))
    direct = {way_of(solution, {near.end}): None for solution in solutions if "entity" not in solution}
    if direct:
        return [(near.end, way) for way in direct], not solutions.cut and len(direct) <= enough, rules
    classes = {solution["entity"] for solution in solutions if "predicate" not in solution}
    if classes == {near.end, far.end}:
        return [], True, replace(rules, classes=True)
    for side in (near, far):
        links = [s for s in solutions if "predicate" in s and s["entity"] == side.end]
        if not solutions.cut and max(Counter(far_end(s)[0] for s in links).values(), default=0) <= few:
            side.take(graph, rules, links)
    return [], True, rules


def _onward(met: Iterable[Bridge], near: SearchSide, far: SearchSide) -> _Onward:
    """The hops of all paths by the term they leave, walked from the start on."""
    onward: _Onward = {}
    back: list[Term] = []
    ahead: list[Term] = []
    for term, way in met:
        for hop in way:
            onward.setdefault(hop.start, {})[hop] = None
        back.append(term)
        ahead.append(way[-1].end if way else term)
    for stack, side in ((back, near), (ahead, far)):
        seen = set(stack)
        while stack:
            term = stack.pop()
            for hop in side.arriving.get(term, ()):
                walked = hop if side is near else hop.reversed
                onward.setdefault(walked.start, {})[walked] = None
                if hop.start not in seen:
                    seen.add(hop.start)
                    stack.append(hop.start)
    return onward


def _hop_key(hop: Hop) -> tuple[object, ...]:
    name = hop.end.value if isinstance(hop.end, BlankNode) else ""  # of two blank nodes, for one order in any search
    return order_key(hop.end), hop.triple.predicate.value, hop.direction, name


def _paths(start: IRI, end: IRI, onward: Mapping[Term, Iterable[Hop]]) -> Iterator[Path]:
    """Every path, in lexical order of its terms, then predicates."""
    ordered = {term: sorted(hops, key=_hop_key) for term, hops in onward.items()}

    def walk(term: Term, hops: tuple[Hop, ...]) -> Iterator[Path]:
        if term == end:
            yield Path(start, hops)
            return
        for hop in ordered.get(term, ()):
            yield from walk(hop.end, (*hops, hop))

    return walk(start, ())


def _number_of_paths(start: IRI, end: IRI, onward: Mapping[Term, Iterable[Hop]]) -> int:
    numbers: dict[Term, int] = {end: 1}

    def number(term: Term) -> int:
        if term not in numbers:
            numbers[term] = sum(number(hop.end) for hop in onward.get(term, ()))
        return numbers[term]

    return number(start)


def _by_degree(graph: KnowledgeGraph, paths: list[Path]) -> list[Path]:
    """The paths, those through terms of few triples first."""
    if len(paths) < 2:
        return paths
    inner = {term for path in paths for term in path.terms[1:-1] if isinstance(term, IRI)}
    degrees: Counter[Term] = Counter()
    for count in predicates(graph, sorted(inner, key=str), skip=()).items:
        degrees[count.entity] += count.count

    def key(path: Path) -> tuple[object, ...]:
        return sum(min(degrees[term], MAX_DEGREE) for term in path.terms[1:-1]), [_hop_key(hop) for hop in path.hops]

    return sorted(paths, key=key)
