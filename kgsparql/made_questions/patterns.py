"""The frequent property paths of a graph, and where each of them starts: what questions can be made of."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from kgsparql.dataclasses import dataclass
from kgsparql.errors import NotFoundError
from kgsparql.exploration import PredicateCount, neighbours, predicate_counts, predicates
from kgsparql.exploration.predicate_paths import far_ends
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.words import in_turn
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Term, local_name
from kgsparql.rdf.vocabulary import INSTANCE_OF, RDF_TYPE, UNWALKED

T = TypeVar("T")

Progress = Callable[[str, int, int | None], None]

Cell = tuple[int, str]
"""Hops and direction, by which questions are balanced."""

Patterns = dict[Cell, dict[PropertyPath, list[IRI]]]
"""Property paths by hops and direction, each with starts that it leads somewhere from."""

TYPES = (RDF_TYPE, INSTANCE_OF)
"""Predicates that give the class of something: no question is made of them, but they name what is asked for."""

_MAX_PREDICATES = 150  # the commonest predicates, of which questions are made
_WAYS_OF_A_START = 4  # ways of each start that are walked on at each hop
_MAX_ENDS = 200  # a step that leads to more terms is not walked on: nobody would ask about all of them together
_ENDS_OF_A_PLURAL = 1.5  # average number of terms that a step leads to from which on questions use the plural

_NOT_ASKED = re.compile(
    r"^http://www\.w3\.org/(?:1999/02/22-rdf-syntax-ns|2002/07/owl)#|^http://www\.w3\.org/2000/01/rdf-schema#(?!subClassOf)"
    r"|^http://wikiba\.se/ontology#|^http://www\.w3\.org/2004/02/skos/core#(?:exactMatch|inScheme|notation|example)$"
)
_NAMES = frozenset({"name", "label", "title", "pref label", "alt label", "full name", "alternative name", "id"})

_Way = tuple[IRI, PropertyPath, Term, Term | None]
"""Where it starts, the path, where it is now, and where it was before."""


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How much of a graph is looked at.

    :param triples: of all predicates together from which starts are drawn.
    :param frontier: entities that are walked on from at each hop: reading the neighbours of large ones takes the time.
    :param ways: that end at them.
    """

    triples: int = 150_000
    starts: int = 600
    frontier: int = 500
    ways: int = 4_000


FULL = SampleSize()


def no_progress(_what: str, _done: int, _total: int | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Entities that questions may be about.

    :param entities: in the order they are to be used.
    :param near: by step, some terms that it leads to.
    :param skip: predicates that are not walked.
    :param many: steps that mostly lead to more than one term.
    """

    entities: tuple[IRI, ...]
    near: Mapping[Step, tuple[Term, ...]]
    skip: frozenset[IRI]
    many: frozenset[Step] = frozenset()


def drawn(items: Iterable[T], seed: object, *, key: Callable[[T], Hashable] = str) -> list[T]:
    """Sort items by a hash of the seed and their key: an order as good as random that is the same everywhere.

    >>> drawn("abc", 1) == drawn("cab", 1), sorted(drawn("abc", 1))
    (True, ['a', 'b', 'c'])
    """
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed}\0{key(item)}".encode("utf-8", "replace")).digest())


def equal_shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Divide ``limit`` among groups: equally, but for groups that have fewer; what is left over goes to the first.

    >>> equal_shares([300, 300, 10], 90), equal_shares([5, 5, 5], 7)
    ([40, 40, 10], [3, 2, 2])
    """
    shares = [0] * len(sizes)
    left = max(0, limit)
    while left and (open_ := [i for i, size in enumerate(sizes) if shares[i] < size]):
        each, more = divmod(left, len(open_))
        for place, i in enumerate(open_):
            added = min(sizes[i] - shares[i], each + (place < more))
            shares[i] += added
            left -= added
    return shares


def cell_of(path: PropertyPath) -> Cell:
    """Return the number of hops of a path, and which way it is walked.

    >>> cell_of(PropertyPath.of("http://e.org/p", "^http://e.org/q"))
    (2, 'mixed')
    """
    ways = {step.direction for step in path.steps}
    return len(path.steps), ways.pop() if len(ways) == 1 else "mixed"


def sampled_starts(graph: KnowledgeGraph, seed: int, size: SampleSize) -> Starts:
    """Draw entities at the commonest predicates of a graph, as many of each, on either side.

    :raises NotFoundError: for a graph that has nothing to ask about.
    """
    counted = predicate_counts(graph)
    unasked = {p for p in counted if _NOT_ASKED.search(p.value) or local_name(p).casefold() in _NAMES}
    skip = UNWALKED | set(TYPES) | unasked
    common = [p for p in counted if p not in skip][:_MAX_PREDICATES]
    if not common:
        raise NotFoundError(
            f"{graph.name} holds no triples that a question could be about", code="E_EMPTY_GRAPH",
            hint="is it the right file? labels and types alone are not enough",
        )  # fmt: skip
    near: dict[Step, list[Term]] = defaultdict(list)
    sides: dict[Step, dict[IRI, None]] = defaultdict(dict)
    for step, here, there in _sampled_steps(graph, common, size.triples):
        near[step].append(there)
        if isinstance(here, IRI):
            sides[step][here] = None
    entities = dict.fromkeys(in_turn(drawn(sides[step], seed) for step in sorted(sides)))
    return Starts(
        tuple(entities)[: size.starts],
        {step: tuple(drawn(dict.fromkeys(terms), seed)[:60]) for step, terms in near.items()},
        frozenset(skip),
        frozenset(step for step, terms in near.items() if len(terms) >= _ENDS_OF_A_PLURAL * len(sides[step]) > 0),
    )


def _sampled_steps(graph: KnowledgeGraph, predicates: Sequence[IRI], limit: int) -> Iterator[tuple[Step, Term, Term]]:
    """Yield both steps of each triple, with where they begin and where they lead."""
    query, each = Query.load("predicate_triples"), max(50, limit // len(predicates))
    for at in range(0, len(predicates), MAX_ARMS):
        arms = [query.bind(predicate=[p]).limit(each) for p in predicates[at : at + MAX_ARMS]]
        for solution in graph.select(Query.union(arms)):
            if isinstance(predicate := solution["predicate"], IRI):
                subject, object_ = solution["subject"], solution["object"]
                yield Step(predicate), subject, object_
                yield Step(predicate, "inverse"), object_, subject


def patterns_of(
    graph: KnowledgeGraph, starts: Starts, *, max_hops: int, seed: int, size: SampleSize = FULL,
    progress: Progress = no_progress,
) -> Patterns:  # fmt: skip
    """Find the property paths that lead somewhere from these starts, with a few queries for each hop.

    From each start a few ways are walked on, drawn by the seed; none through blank nodes.
    """
    patterns: Patterns = defaultdict(dict)
    level: list[_Way] = [(start, PropertyPath(()), start, None) for start in starts.entities]
    for hops in range(1, max_hops + 1):
        progress("looking for paths", hops - 1, max_hops)
        ends = sorted({end for _, _, end, _ in level if isinstance(end, IRI)}, key=str)
        if hops == max_hops and hops > 1:
            _add_last_hop(patterns, level, graph, ends, starts)
            return patterns
        groups: dict[Term, list[tuple[Step, tuple[Term, ...], int]]] = defaultdict(list)
        for group in neighbours(graph, ends, skip=starts.skip, limit=_WAYS_OF_A_START).items:
            if group.step in starts.near:
                groups[group.entity].append((group.step, group.neighbours, group.count))
        grown: list[_Way] = []
        for start, path, end, before in level:
            ways: list[_Way] = []
            for step, far, count in groups.get(end, ()):
                is_back = path.is_back(step)
                onward = [term for term in far if not (is_back and term == before) and term != start]
                if not onward or (is_back and count < 2):
                    continue
                longer = PropertyPath((*path.steps, step))
                _add_path(patterns, longer, start)
                if count <= _MAX_ENDS:
                    ways += [(start, longer, term, end) for term in onward if isinstance(term, IRI)]
            one_of_each_path = {way[1]: way for way in drawn(ways, seed, key=_way_key)}
            grown += islice(one_of_each_path.values(), _WAYS_OF_A_START)
        level = _with_few_ends(drawn(grown, seed, key=_way_key), size)
    return patterns


def _add_path(patterns: Patterns, path: PropertyPath, start: IRI) -> None:
    starts = patterns[cell_of(path)].setdefault(path, [])
    if start not in starts[-1:]:
        starts.append(start)


def _add_last_hop(
    patterns: Patterns, level: Iterable[_Way], graph: KnowledgeGraph, ends: Iterable[IRI], starts: Starts
) -> None:
    """Add the paths one step longer, without looking up their ends, which would be most of the work at a hub."""
    steps: dict[Term, list[PredicateCount]] = defaultdict(list)
    for count in predicates(graph, ends, skip=starts.skip).items:
        if count.step in starts.near:
            steps[count.entity].append(count)
    back = (count for _, path, end, _ in level for count in steps.get(end, ()) if path.is_back(count.step))
    beyond = far_ends(graph, back)
    for start, path, end, before in level:
        for count in steps.get(end, ()):
            leads_on = count.count > 1 and beyond.get((count.entity, count.step)) != {before}
            if leads_on or not path.is_back(count.step):
                _add_path(patterns, PropertyPath((*path.steps, count.step)), start)


def _way_key(way: _Way) -> str:
    return f"{way[0]} {way[1]} {way[2]}"


def _with_few_ends(ways: Iterable[_Way], size: SampleSize) -> list[_Way]:
    """Keep the first ways that end at no more than ``size.frontier`` entities."""
    ends: set[Term] = set()
    kept: list[_Way] = []
    for way in ways:
        if way[2] in ends or len(ends) < size.frontier:
            ends.add(way[2])
            kept.append(way)
    return kept[: size.ways]
