"""The frequent property paths of a graph, and where each of them starts: what questions can be made of."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from kgsparql.dataclasses import frozen
from kgsparql.errors import NotFoundError
from kgsparql.exploration import neighbours, predicate_counts
from kgsparql.graphs.graph import KnowledgeGraph, in_parts
from kgsparql.linking.label_index.search import Progress, silent
from kgsparql.linking.words import in_turn
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Term, local_name
from kgsparql.rdf.vocabulary import INSTANCE_OF, RDF_TYPE, UNWALKED

T = TypeVar("T")

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
_NAMES = {"name", "label", "title", "pref label", "alt label", "full name", "alternative name", "id"}

_Way = tuple[IRI, PropertyPath, IRI, IRI | None]
"""Where it starts, the path, where it is now, and where it was before."""


@frozen
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


@frozen
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
    near = defaultdict(list)
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
    for some in in_parts(predicates, MAX_ARMS):
        arms = [query.bind(predicate=[p]).limit(each) for p in some]
        for solution in graph.select(Query.union(arms)):
            if isinstance(predicate := solution["predicate"], IRI):
                subject, object_ = solution["subject"], solution["object"]
                yield Step(predicate), subject, object_
                yield Step(predicate, "inverse"), object_, subject


def patterns_of(
    graph: KnowledgeGraph, starts: Starts, *, max_hops: int, seed: int, size: SampleSize = FULL,
    progress: Progress = silent,
) -> Patterns:  # fmt: skip
    """Find the property paths that lead somewhere from these starts, with a few queries for each hop.

    From each start a few ways are walked on, drawn by the seed; none through blank nodes.
    """
    patterns: Patterns = defaultdict(dict)
    ways: list[_Way] = [(start, PropertyPath(()), start, None) for start in starts.entities]
    for hops in range(max_hops):
        progress("looking for paths", hops, max_hops)
        groups = defaultdict(list)
        ends = sorted({end for _, _, end, _ in ways}, key=str)
        for group in neighbours(graph, ends, skip=starts.skip, limit=_WAYS_OF_A_START).items:
            if group.step in starts.near:
                groups[group.entity].append(group)
        grown: list[_Way] = []
        for start, path, end, before in ways:
            longer: list[_Way] = []
            for group in groups[end]:
                is_back = path.is_back(group.step)
                onward = [term for term in group.neighbours if term != start and not (is_back and term == before)]
                if not onward or (is_back and group.count < 2):
                    continue
                way = PropertyPath((*path.steps, group.step))
                known = patterns[cell_of(way)].setdefault(way, [])
                known += [start] if start not in known[-1:] else []
                if group.count <= _MAX_ENDS:
                    longer += [(start, way, term, end) for term in onward if isinstance(term, IRI)]
            grown += islice({way[1]: way for way in drawn(longer, seed, key=_way_key)}.values(), _WAYS_OF_A_START)
        grown = drawn(grown, seed, key=_way_key)
        walked_on = set(islice(dict.fromkeys(way[2] for way in grown), size.frontier))
        ways = [way for way in grown if way[2] in walked_on][: size.ways]
    return patterns


def _way_key(way: _Way) -> str:
    return f"{way[0]} {way[1]} {way[2]}"
