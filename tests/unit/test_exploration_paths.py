"""Walks, shortest paths and predicate paths, against brute force."""

import sys
from typing import Any
from unittest.mock import patch

import pyoxigraph
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from kgsparql import IRI, BlankNode, KnowledgeGraph, Literal, OxigraphGraph, Triple
from kgsparql.errors import InputError
from kgsparql.exploration import neighbours, predicates, shortest_paths, walk_ends, walk_ways
from kgsparql.exploration.neighbourhood import mediated_paths
from kgsparql.exploration.predicate_paths import paths_of_several
from kgsparql.rdf.paths import Directions, Hop, Path, PropertyPath, Step, Walk
from kgsparql.rdf.vocabulary import UNWALKED, Naming
from tests.brute_force import CLASSES, IRIS, all_shortest_paths, all_walks, multigraphs, predicate_paths
from tests.deep import examples
from tests.engines import CountingGraph, engine_from_quads
from tests.world import ex, graph_of

A, B, C, P, Q = (IRI(f"http://example.org/{name}") for name in "abcpq")


def test_the_hops_of_a_path_join_and_none_is_repeated() -> None:
    """Chaining must not repeat the junction: MindMap, known mistake 6."""
    with pytest.raises(ValueError, match="does not start at"):
        Path(A, (Hop(Triple(B, P, C)),))
    chained = Path(A, (Hop(Triple(A, P, B)),)).then(Path(B, (Hop(Triple(C, Q, B), "inverse"),)))
    assert chained.terms == (A, B, C)
    assert str(chained.property_path) == "<http://example.org/p>/^<http://example.org/q>"
    assert (Path(A).end, Path(A).terms, len(Path(A))) == (A, (A,), 0)


search_of_paths = sys.modules["kgsparql.exploration.shortest_paths"]
"""The module; its name in the package is the function."""

ways = st.sampled_from(["both", "forward", "inverse"])


def graph_from(triples: list[Triple], engine: str = "oxigraph") -> KnowledgeGraph:
    return engine_from_quads(engine, [pyoxigraph.Quad(t.subject, t.predicate, t.object) for t in triples])


def by_names(path: Path) -> list[str]:
    return [term.value.rsplit("/", 1)[-1] if isinstance(term, IRI) else "[]" for term in path.terms]


@examples(300)
@example([Triple(A, P, BlankNode("b0")), Triple(BlankNode("b0"), P, B)], A, B, "both", 6, 1, 4, 2)
@given(
    triples=multigraphs,
    start=st.sampled_from([*IRIS, *CLASSES, *CLASSES]),
    end=st.sampled_from([*IRIS, *CLASSES, *CLASSES]),
    direction=ways,
    max_hops=st.integers(0, 6),
    chunk_size=st.sampled_from([1, 2, 1000]),
    max_pairs=st.sampled_from([0, 4, 1_000_000]),
    few=st.sampled_from([0, 2, 1_000]),
)
def test_shortest_paths_equal_brute_force(
    triples: list[Triple], start: IRI, end: IRI, direction: Directions, max_hops: int, chunk_size: int, max_pairs: int,
    few: int,
) -> None:  # fmt: skip
    """Literals, classes, self loops, parallel predicates, blank nodes; by joins, by levels, in chunks; ends as hubs."""
    graph = CountingGraph(graph_from(triples), chunk_size=chunk_size)
    with patch.multiple(search_of_paths, MAX_PAIRS=max_pairs, FEW=few):
        found = shortest_paths(graph, start, end, max_hops=max_hops, direction=direction)
    expected = all_shortest_paths(triples, start, end, max_hops=max_hops, direction=direction)
    assert len(set(found.items)) == len(found.items)
    if not found.cuts:
        assert set(found.items) == expected
    else:
        assert {cut.what for cut in found.cuts} == {"hops through nested blank nodes"}
        assert all(set(path.triples) <= set(triples) for path in found.items)


@examples(25, short=5, suppress_health_check=[HealthCheck.too_slow])
@given(triples=multigraphs, start=st.sampled_from(IRIS), end=st.sampled_from(IRIS), direction=ways)
def test_shortest_paths_are_alike_on_rdflib(triples: list[Triple], start: IRI, end: IRI, direction: Directions) -> None:
    on_rdflib = shortest_paths(graph_from(triples, "rdflib"), start, end, direction=direction)
    assert set(on_rdflib.items) == set(shortest_paths(graph_from(triples), start, end, direction=direction).items)


@examples(150)
@given(
    triples=multigraphs,
    start=st.sampled_from([*IRIS, *CLASSES]),
    end=st.sampled_from([*IRIS, *CLASSES]),
    direction=ways,
    hub_limit=st.integers(1, 4),
    limit=st.integers(1, 3),
    few=st.sampled_from([0, 1_000]),
    bound=st.sampled_from([0, 10_000]),
)
def test_what_is_found_under_limits_is_true_and_what_is_not_is_a_cut(
    triples: list[Triple], start: IRI, end: IRI, direction: Directions, hub_limit: int, limit: int, few: int, bound: int
) -> None:
    """A bound of 0 leaves as many bridges as the limit, so that their number is cut as well."""
    graph = graph_from(triples)
    with patch.multiple(search_of_paths, FEW=min(few, hub_limit), BOUND=bound, HUB=hub_limit):
        found = shortest_paths(graph, start, end, direction=direction, limit=limit)
    expected = all_shortest_paths(triples, start, end, direction=direction)
    assert len(found.items) <= limit
    for path in found.items:
        assert (path.start, path.end) == (start, end)
        assert set(path.triples) <= set(triples)
        assert len(set(path.terms)) == len(path.terms)
    if not found.cuts:
        assert set(found.items) == expected
    for cut in found.cuts:
        if cut.what == "paths":
            assert cut.limit == len(found.items)
            assert cut.known is None or cut.known > cut.limit


@examples(150)
@given(triples=multigraphs, start=st.sampled_from(IRIS), direction=ways, max_hops=st.integers(0, 4))
@example(
    triples=[Triple(IRIS[0], ex(name), BlankNode("b0")) for name in "pq"], start=IRIS[0], direction="both", max_hops=4
)
def test_predicate_paths_are_whole(triples: list[Triple], start: IRI, direction: Directions, max_hops: int) -> None:
    nested = any(isinstance(t.subject, BlankNode) and isinstance(t.object, BlankNode) for t in triples)
    found = predicate_paths(graph_from(triples), start, max_hops=max_hops, direction=direction)
    expected = all_walks(triples, start, max_hops=max_hops, direction=direction)
    paths = [item.path for item in found.items]
    assert len(set(paths)) == len(paths)
    if nested:
        assert set(paths) <= set(expected)
    else:
        assert set(paths) == set(expected)
        assert found.cuts == ()


@examples(100)
@given(triples=multigraphs, start=st.sampled_from(IRIS))
def test_the_ends_and_ways_of_walks_equal_brute_force(triples: list[Triple], start: IRI) -> None:
    graph = graph_from(triples)
    for property_path, ends in all_walks(triples, start, max_hops=3, through_literals=True).items():
        walk = Walk(start, property_path)
        (found,) = walk_ends(graph, [walk])
        assert set(found.items) == ends
        (ways,) = walk_ways(graph, [walk], [None])
        paths = [way.path for way in ways.items]
        assert {path.end for path in paths} == ends
        assert all(path.property_path == property_path for path in paths)
        assert all(set(path.triples) <= set(triples) for path in paths)


def between(graph: KnowledgeGraph, start: str, end: str, **options: Any) -> list[list[str]]:
    """The shortest paths by the names of their terms; none may be cut."""
    found = shortest_paths(graph, ex(start), ex(end), **options)
    assert found.cuts == ()
    return [by_names(path) for path in found.items]


def test_paths_through_terms_of_few_triples_come_first_and_more_than_the_limit_are_a_cut() -> None:
    crowd = " ".join(f":x{i} :p :busy ." for i in range(20))
    graph = graph_of(f":a :p :busy , :quiet , :also . :busy :p :b . :quiet :p :b . :also :p :b . {crowd}")
    assert [path[1] for path in between(graph, "a", "b")] == ["also", "quiet", "busy"]
    graph = graph_of(" ".join(f":a :p :m{i} . :m{i} :p :b ; :q :b ." for i in range(20)))
    found = shortest_paths(graph, ex("a"), ex("b"), limit=7)
    assert len(found.items) == 7
    assert [(cut.what, cut.limit, cut.known) for cut in found.cuts] == [("paths", 7, None)]
    assert {by_names(path)[1] for path in found.items} == {"m0", "m1", "m10", "m11"}
    parallel = graph_of(" ".join(f":a :p{i} :b ." for i in range(1_500)))
    found = shortest_paths(parallel, ex("a"), ex("b"), limit=50)
    assert (len(found.items), [(cut.limit, cut.known) for cut in found.cuts]) == (50, [(50, None)])
    assert len(between(parallel, "a", "b", limit=1_500)) == 1_500


def test_few_queries_for_each_distance() -> None:
    for far, queries in (("n1", 1), ("n2", 1), ("n3", 2), ("n4", 4), ("n5", 6), ("n6", 8)):
        graph = CountingGraph(graph_of(" ".join(f":n{i} :p :n{i + 1} ." for i in range(8))))
        assert len(between(graph, "n0", far, max_hops=8)) == 1
        assert len(graph.queries) == queries


def test_a_hub_on_the_way_is_a_cut_and_a_hub_at_an_end_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_of_paths, "HUB", 10)
    monkeypatch.setattr(search_of_paths, "FEW", 10)
    crowd = " ".join(f":x{i} :p :hub ." for i in range(30))
    graph = graph_of(
        f"{crowd} :a :q :a1 . :a1 :q :a2 . :a2 :q :a3 . :a3 :q :hub . :hub :q :b1 . :b1 :q :b2 . :b2 :q :b ."
    )
    assert between(graph, "a", "hub") == [["a", "a1", "a2", "a3", "hub"]]
    assert between(graph, "hub", "b") == [["hub", "b1", "b2", "b"]]
    with patch.object(search_of_paths, "MAX_PAIRS", 0):
        through = shortest_paths(graph, ex("x1"), ex("b"))
    assert through.items == ()
    assert [(cut.what, cut.limit, cut.known, cut.where) for cut in through.cuts] == [("hops", 10, None, str(ex("hub")))]
    crowds = " ".join(f":x{i} :p :left . :y{i} :p :right ." for i in range(30))
    assert between(graph_of(f"{crowds} :left :q :right ."), "left", "right") == [["left", "right"]]
    far = shortest_paths(graph_of(f"{crowds} :m :p :left , :right ."), ex("left"), ex("right"))
    assert far.items == ()
    assert {cut.where for cut in far.cuts} == {str(ex("left")), str(ex("right"))}


def test_Q19_Q20_paths_start_and_end_at_iris_and_an_absent_end_has_none() -> None:
    graph = CountingGraph(graph_of(":a :p :b ."))
    for start, end in ((BlankNode("b"), ex("a")), (ex("a"), BlankNode("b")), (Literal("x"), ex("a"))):
        with pytest.raises(InputError):
            shortest_paths(graph, start, end)
    with pytest.raises(InputError):
        predicate_paths(graph, BlankNode("b"))
    assert shortest_paths(graph, ex("a"), ex("a")).items == (Path(ex("a")),)
    assert graph.queries == []
    assert between(graph, "absent", "a") == []


def test_L43_loops_and_cycles_end() -> None:
    graph = graph_of(":a :p :a , :b . :b :p :a , :b . :p :p :p . :p a :p .")
    assert between(graph, "a", "b") == [["a", "b"], ["a", "b"]]
    assert between(graph, "a", "c", max_hops=50) == []
    assert len(predicate_paths(graph, ex("a"), max_hops=4).items) == 30


def test_predicate_paths_cap_their_frontier_and_say_so() -> None:
    many = " ".join(f":a :p :b{i} . :b{i} :q :c{i} ." for i in range(30))
    graph = graph_of(f"{many} :c9 :r :d .")
    rare = PropertyPath.of(*(f"http://example.org/{name}" for name in "pqr"))
    found = predicate_paths(graph, ex("a"), frontier=5)
    assert rare not in [item.path for item in found.items]
    assert {(cut.limit, cut.known) for cut in found.cuts} == {(5, 30)}
    whole = predicate_paths(graph, ex("a"), frontier=30)
    assert (rare in [item.path for item in whole.items], whole.cuts) == (True, ())


def test_a_search_is_told_the_cuts_of_its_own_paths_alone() -> None:
    crowd = " ".join(f":n{i} :q :busy ." for i in range(9))
    graph, options = graph_of(f":a :p :busy . :b :p :c . :c :p :busy . {crowd}"), {"max_hops": 3, "frontier": 5}
    starts = [(ex("a"), (), None), (ex("b"), (), None)]
    together = paths_of_several(graph, starts, direction="both", **options)
    assert together == [predicate_paths(graph, start, skip=(), **options) for start, *_ in starts]
    assert [bool(found.cuts) for found in together] == [True, False]  # the second only counts what :busy leads to


def test_walks_are_bounded_and_say_so_and_may_end_at_a_blank_node() -> None:
    graph = graph_of(":a :p " + " , ".join(f":b{i}" for i in range(30)) + " . :c :p [ :q 1 ] , :b .")
    walk, to_blank = (Walk(ex(start), PropertyPath.of("http://example.org/p")) for start in "ac")
    (found,) = walk_ends(graph, [walk], limit=10)
    assert (len(found.items), [(cut.what, cut.limit) for cut in found.cuts]) == (10, [("ends", 10)])
    (some,) = walk_ways(graph, [walk], [None], limit=10)
    assert (len(some.items), [(cut.what, cut.limit) for cut in some.cuts]) == (10, [("walks", 10)])
    (few,) = walk_ways(graph, [walk], [[ex("b3"), ex("b4"), ex("absent")]])
    (none,) = walk_ways(graph, [walk], [[]])
    assert (len(few.items), none.items) == (2, ())
    (ends,), (ways,) = walk_ends(graph, [to_blank]), walk_ways(graph, [to_blank], [None])
    assert [type(end) for end in ends.items] == [IRI, BlankNode]
    assert tuple(way.path.end for way in ways.items) == ends.items


class Named(OxigraphGraph):
    """A graph whose profile says by which predicates it names things."""

    @property
    def naming(self) -> Naming:
        return Naming(labels=(ex("called"),))


def test_label_predicates_of_a_graphs_own_are_not_walked() -> None:
    """As the known ones are not, in whatever way a graph is walked."""
    plain = graph_of(
        ":a :called :n ; :knows :b . :b :called 'B' ; :knows [ :called 'it' ; :knows :c ] . :c :called :n ."
    )
    named = Named(plain.store, name="named", fingerprint="named")
    steps = [count.step for count in predicates(named, [ex("a"), ex("b")]).items]
    groups = neighbours(named, [ex("a"), ex("b")]).items
    walked = [path.property_path for group in groups for path in group.mediated]
    paths = predicate_paths(named, ex("a"), max_hops=3).items
    through, _ = mediated_paths(named, [(ex("b"), Step(ex("knows")))], direction="both", skip=UNWALKED)
    walked += [path.property_path for some in through.values() for path in some]
    met = {step.predicate for step in (*steps, *(g.step for g in groups), *(s for path in walked for s in path.steps))}
    assert met | {step.predicate for path in paths for step in path.path.steps} <= {ex("knows")}
    assert walked, "what is behind the blank node is found"
    (shortest,) = shortest_paths(named, ex("a"), ex("c")).items
    assert {step.predicate for step in shortest.property_path.steps} == {ex("knows")}, "not by the name of both"
    by_name = predicates(named, [ex("a")], skip=()).items
    assert ex("called") in {count.step.predicate for count in by_name}, "unless everything is asked for"
    assert ex("called") in {count.step.predicate for count in predicates(plain, [ex("a")]).items}
