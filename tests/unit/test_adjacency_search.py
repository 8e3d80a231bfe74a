"""Paths in an adjacency: equal to those that queries find, shortest paths to brute force, too."""

import itertools
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from unittest.mock import patch

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import IRI, Literal, OxigraphGraph, Triple
from kgsparql.exploration import PredicatePath, shortest_paths
from kgsparql.graphs import oxigraph
from kgsparql.graphs.adjacency import Revision
from kgsparql.plans import algebra as a
from kgsparql.plans.set_profile import Profiler
from kgsparql.rdf.paths import Directions, PropertyPath, Step
from kgsparql.rdf.vocabulary import UNWALKED
from tests.brute_force import BLANK, CLASSES, IRIS, PREDICATES, all_shortest_paths, multigraphs, predicate_paths, typed
from tests.deep import examples
from tests.world import LABEL, ex

GRAPHS = [ox.DefaultGraph(), ex("g1"), ex("g2")]
search_of_predicate_paths = sys.modules["kgsparql.exploration.predicate_paths"]
numbers = itertools.count()


@pytest.fixture(autouse=True)
def small_graphs_have_one() -> Iterator[None]:
    with patch.object(oxigraph, "MIN_TRIPLES", 0):
        yield


def graphs_of(quads: list[ox.Quad]) -> tuple[OxigraphGraph, OxigraphGraph]:
    """The same quads with an adjacency, and without."""
    store = ox.Store()
    store.extend(quads)
    revision = Revision(f"test {next(numbers)}", "1")
    fast = OxigraphGraph(store, name="fast", fingerprint="0", revision=revision)
    assert fast.built_adjacency() is not None
    shutil.rmtree(revision.directory)  # it stays open
    return fast, OxigraphGraph(store, name="slow", fingerprint="0")


@examples(400, short=80)
@given(
    triples=multigraphs,
    graphs=st.lists(st.sets(st.sampled_from(GRAPHS), min_size=1), min_size=30, max_size=30),
    ends=st.tuples(*[st.sampled_from([*IRIS, *CLASSES])] * 2),
    direction=st.sampled_from(["both", "forward", "inverse"]),
    max_hops=st.integers(0, 6),
    skip=st.sampled_from([UNWALKED, frozenset({ex("p")}), frozenset()]),
    limit=st.sampled_from([1, 2, 1_000]),
)
def test_paths_equal_brute_force_and_those_of_queries(
    triples: list[Triple], graphs: list[set[IRI | ox.DefaultGraph]], ends: tuple[IRI, IRI], direction: Directions,
    max_hops: int, skip: frozenset[IRI], limit: int,
) -> None:  # fmt: skip
    """Blank nodes, literals, classes, self loops, parallel predicates, named graphs that repeat triples."""
    quads = [
        ox.Quad(t.subject, t.predicate, t.object, graph)
        for t, some in zip(triples, graphs, strict=False)
        for graph in some
    ]
    fast, slow = graphs_of(quads)
    start, end = ends
    options = {"direction": direction, "max_hops": max_hops, "skip": skip}
    whole = shortest_paths(fast, start, end, **options)
    expected = all_shortest_paths(triples, start, end, **options)
    assert len(whole.items) == len(set(whole.items))
    assert set(whole.items) == expected
    assert whole.cuts == ()
    found = shortest_paths(fast, start, end, limit=limit, **options)
    by_queries = shortest_paths(slow, start, end, limit=limit, **options)
    if all(cut.what == "paths" for cut in by_queries.cuts):  # not for nested blank nodes, which no query can name
        assert found == by_queries


# Few terms, so that many ways lead to each.
near = st.sampled_from([*IRIS[:4], CLASSES[0]])
named = st.builds(Triple, near, st.sampled_from(PREDICATES[:2]), near)
described = st.builds(
    Triple, near, st.sampled_from([*PREDICATES[:2], LABEL]), st.sampled_from([Literal("h"), Literal("x")])
)
around_blank = st.builds(Triple, near, st.just(PREDICATES[0]), st.just(BLANK[0]))
dense = st.tuples(
    st.lists(named, min_size=4, max_size=20, unique=True),
    st.lists(st.one_of(described, described, typed), max_size=6, unique=True),
    st.one_of(st.just([]), st.just([]), st.lists(around_blank, min_size=1, max_size=1)),
).map(lambda parts: [triple for part in parts for triple in part])


@examples(400, short=80)
@given(
    triples=dense,
    start=near,
    direction=st.sampled_from(["both", "both", "forward", "inverse"]),
    max_hops=st.integers(2, 4),
    frontier=st.sampled_from([1, 2, 3, 200]),
    skip=st.sampled_from([UNWALKED, frozenset({ex("p")}), frozenset()]),
    kept=st.sampled_from([None, 1, 3]),
    batch=st.sampled_from([1, 7, 1_000]),
    most=st.sampled_from([10, 10_000, 10_000]),
)
def test_predicate_paths_equal_those_of_queries(
    triples: list[Triple], start: IRI, direction: Directions, max_hops: int, frontier: int, skip: frozenset[IRI],
    kept: int | None, batch: int, most: int,
) -> None:  # fmt: skip
    """With literals beside entities, a start that no triple has, limits, and blank nodes at which queries go on."""
    fast, slow = graphs_of([ox.Quad(t.subject, t.predicate, t.object) for t in triples])
    asked: list[list[PredicatePath]] = [[], []]
    found = []
    for graph, levels in zip((fast, slow), asked, strict=True):

        def keep(level: Sequence[PredicatePath], levels: list[PredicatePath] = levels) -> Collection[PropertyPath]:
            levels += level
            return [path.path for path in level[-kept:]] if kept else [path.path for path in level]

        with patch.multiple(search_of_predicate_paths, _BATCH=batch, _MOST=most):
            found.append(
                predicate_paths(
                    graph, start, max_hops=max_hops, frontier=frontier, direction=direction, skip=skip, keep=keep
                )
            )
    by_numbers, by_queries = found
    assert by_numbers.items == by_queries.items
    assert set(by_numbers.cuts) == set(by_queries.cuts)
    assert asked[0] == asked[1]


@examples(200, short=60)
@given(
    triples=multigraphs,
    some=st.lists(st.sampled_from(IRIS), min_size=1, max_size=4, unique=True),
    step=st.builds(Step, st.sampled_from(PREDICATES), st.sampled_from(["forward", "inverse"])),
)
def test_sets_use_what_queries_find(triples: list[Triple], some: list[IRI], step: Step) -> None:
    fast, slow = graphs_of([ox.Quad(*triple) for triple in triples])
    items = a.Items(tuple(some))
    found, asked = Profiler(fast), Profiler(slow)
    for one in (items, a.Ends(items, PropertyPath((step,)))):
        assert set(found.sample(one)) == set(asked.sample(one))
        uses, expected = (
            [replace(use, ends=tuple(sorted(use.ends, key=str))) for use in own(one).uses] for own in (found, asked)
        )
        assert uses == expected
        assert found(one).classes == asked(one).classes


def test_what_is_in_a_list_is_looked_for_beyond_its_cells_and_other_things_are_not() -> None:
    store = ox.Store()
    store.load(
        b"@prefix : <http://e.org/> . :album :tracks ( :one :two ) . :one :by :ann . :ann :near :bob .",
        format=ox.RdfFormat.TURTLE,
    )
    fast, slow = graphs_of([*store])
    one, bob = (IRI(f"http://e.org/{name}") for name in ("one", "bob"))
    for term in (one, bob):
        told, expected = (Profiler(graph)(a.Items((term,))) for graph in (fast, slow))
        assert {(use.step, use.ends) for use in told.uses} == {(use.step, use.ends) for use in expected.uses}
    steps = Profiler(fast)
    assert steps._adjacent([one]) is None
    assert steps._adjacent([bob]) is not None, "one list in a graph does not make all of it slow"
    tracks = next(use for use in steps(a.Items((one,))).uses if use.step.predicate == IRI("http://e.org/tracks"))
    assert tracks.ends == (IRI("http://e.org/album"),)
