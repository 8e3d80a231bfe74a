"""Many entities and large ones: how many queries, and what the cuts say."""

import random
from collections import Counter
from functools import cache

import pyoxigraph
import pytest

from kgsparql.exploration import labels, neighbours, predicates, shortest_paths, types
from kgsparql.graphs import OxigraphGraph
from kgsparql.rdf.terms import IRI, Literal
from tests.brute_force import ex
from tests.engines import CountingGraph

LABEL = IRI("http://www.w3.org/2000/01/rdf-schema#label")
EDGES = 130_000
PREDICATES = 40


@cache
def store_with_hub() -> pyoxigraph.Store:
    """A hub with 130,000 triples into it by 40 predicates and 500 out of it, one by a rare predicate; 2,000 others."""
    store = pyoxigraph.Store()
    kinds = [ex(f"p{i:02}") for i in range(PREDICATES)]
    hub = ex("hub")
    store.bulk_extend(pyoxigraph.Quad(ex(f"n{i}"), kinds[i % PREDICATES], hub) for i in range(EDGES))
    store.bulk_extend(pyoxigraph.Quad(hub, ex("out"), ex(f"n{i}")) for i in range(500))
    store.add(pyoxigraph.Quad(ex("only"), ex("rare"), hub))
    chosen = random.Random(1)  # noqa: S311
    for i in range(2_000):
        store.add(pyoxigraph.Quad(ex(f"e{i}"), LABEL, Literal(f"entity {i}", language="en")))
        for _ in range(4):
            store.add(pyoxigraph.Quad(ex(f"e{i}"), chosen.choice(kinds), ex(f"e{chosen.randrange(2_000)}")))
    return store


@pytest.fixture
def graph() -> CountingGraph:
    return CountingGraph(OxigraphGraph(store_with_hub(), name="hub", fingerprint="0"))


def test_two_hundred_entities_with_labels_in_a_handful_of_queries(graph: CountingGraph) -> None:
    entities = [ex(f"e{i}") for i in range(200)]
    found = neighbours(graph, entities)
    assert len(graph.queries) == 1
    labels(graph, [*entities, *(term for group in found.items for term in (group.step.predicate, *group.neighbours))])
    predicates(graph, entities)
    types(graph, entities)
    assert len(graph.queries) <= 6
    assert {group.entity for group in found.items} == set(entities)


def test_entities_together_equal_entities_alone(graph: CountingGraph) -> None:
    """Also when one of them is a hub, and when chunks are small."""
    entities = [ex(f"e{i}") for i in range(40)] + [ex("hub")] + [ex(f"n{i}") for i in range(40)]
    together = neighbours(graph, entities, limit=5)
    queries = len(graph.queries)
    alone = [neighbours(graph, [entity], limit=5) for entity in entities]
    in_chunks = neighbours(CountingGraph(graph.graph, chunk_size=7), entities, limit=5)
    assert together.items == tuple(group for found in alone for group in found.items)
    assert together.items == in_chunks.items
    assert set(together.cuts) == {cut for found in alone for cut in found.cuts} == set(in_chunks.cuts)
    assert queries <= 6


def test_Q16_neighbours_of_a_hub(graph: CountingGraph) -> None:
    found = neighbours(graph, [ex("hub")])
    assert len(graph.queries) <= 3
    by_step = {str(group.step).replace("http://example.org/", ""): group for group in found.items}
    assert len(by_step) == PREDICATES + 2
    assert (by_step["^<rare>"].neighbours, by_step["^<rare>"].count) == ((ex("only"),), 1)
    assert (by_step["^<p07>"].count, by_step["^<p07>"].exact) == (EDGES // PREDICATES, True)
    assert all(len(group.neighbours) == min(10, group.count) for group in found.items)
    assert by_step["<out>"].neighbours == tuple(
        sorted((ex(f"n{i}") for i in range(500)), key=lambda term: term.value)[:10]
    )
    assert sum(group.count for group in found.items) == EDGES + 501
    cuts = [cut for cut in found.cuts if cut.where == f"{ex('hub')} ^{ex('p07')}"]
    assert [(cut.what, cut.limit, cut.known) for cut in cuts] == [("neighbours", 10, EDGES // PREDICATES)]
    assert len(found.cuts) == PREDICATES + 1


def test_Q16_counts_of_a_hub_are_exact_in_one_query(graph: CountingGraph) -> None:
    found = predicates(graph, [ex("e1"), ex("hub")])
    assert len(graph.queries) == 1
    assert sum(count.count for count in found.items if count.entity == ex("hub")) == EDGES + 501
    assert all(count.exact for count in found.items)


def test_Q16_more_than_can_be_counted_is_a_lower_bound() -> None:
    store = pyoxigraph.Store()
    store.bulk_extend(pyoxigraph.Quad(ex(f"n{i}"), ex("p"), ex("hub")) for i in range(200_100))
    graph = OxigraphGraph(store, name="hub", fingerprint="0")
    found = predicates(graph, [ex("hub")])
    assert [(count.count >= 200_000, count.exact) for count in found.items] == [(True, False)]
    assert str(found.items[0]).endswith("+)")
    assert [(cut.what, cut.known, cut.where) for cut in found.cuts] == [("predicates", None, str(ex("hub")))]
    near = neighbours(graph, [ex("hub")])
    assert (len(near.items[0].neighbours), near.items[0].exact) == (10, False)
    assert {(cut.what, cut.known) for cut in near.cuts} == {("predicates", None), ("neighbours", None)}


def test_Q16_a_path_across_a_hub(graph: CountingGraph) -> None:
    """Between two neighbours of the hub: found by comparing neighbourhoods, the hub is never fetched."""
    found = shortest_paths(graph, ex("n1"), ex("n700"))
    assert found.items[0].terms == (ex("n1"), ex("hub"), ex("n700"))
    assert len(graph.queries) <= 2
    to_hub = shortest_paths(graph, ex("hub"), ex("n700"))
    assert [len(path) for path in to_hub.items] == [1]


def test_Q17_twenty_thousand_terms_are_asked_in_chunks(graph: CountingGraph) -> None:
    terms = [*(ex(f"absent{i}") for i in range(19_000)), *(ex(f"e{i}") for i in range(1_000))]
    found = labels(graph, terms)
    names = Counter(query.name for query in graph.queries)
    assert names == {"labels+labels_linked": 20, "labels+labels_by_name+labels_linked": 19}, (
        "and only the unlabelled ones are asked for again"
    )
    assert sum(not label.derived for label in found.values()) == 1_000
    assert list(found) == terms
