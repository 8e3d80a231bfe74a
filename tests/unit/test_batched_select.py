"""What a reply left out is asked for again, in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from kgsparql.exploration.batched_select import batched_select, selected
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.graph import Solution, Solutions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term
from tests.engines import WatchedGraph

E = "http://example.org/"
GraphOf = Callable[..., OxigraphGraph]
OUT = Query("out", "SELECT ?s ?o { VALUES ?s { UNDEF } ?s <http://example.org/p> ?o } LIMIT 1000")


def ex(name: str) -> IRI:
    return IRI(E + name)


@dataclass
class Flawed(WatchedGraph):
    """A real store behind an endpoint that cuts long results, or loses a variable in every third solution of a union.

    :param most: solutions of one query.
    :param loses: that variable.
    """

    graph: OxigraphGraph
    most: int = 1_000_000
    loses: str = ""
    asked: list[Query] = field(default_factory=list)

    def select(self, query: Query) -> Solutions:
        self.asked.append(query)
        found = self.graph.select(query)
        if self.loses and len(query.arms) > 1:
            lost = tuple(
                {name: term for name, term in solution.items() if name != self.loses or i % 3}
                for i, solution in enumerate(found)
            )
            found = replace(found, solutions=lost)
        if len(found) <= self.most:
            return found
        return replace(found, solutions=found.solutions[: self.most], cut=f"stopped at {self.most} solutions")


def in_order(found: Sequence[Solution]) -> list[list[tuple[str, str]]]:
    return sorted(sorted((name, str(term)) for name, term in solution.items()) for solution in found)


@pytest.fixture
def star(graph_of: GraphOf) -> OxigraphGraph:
    """Six entities with two neighbours each, and a hub with forty."""
    return graph_of(
        "\n".join(f":e{i} :p :n{i}, :m{i} ." for i in range(6)) + "\n".join(f"\n:hub :p :h{i} ." for i in range(40))
    )


def arms_of(names: Sequence[str]) -> list[Query]:
    return [OUT.bind(s=[ex(name)]) for name in names]


def test_a_query_is_asked_once_where_its_solutions_are_whole_or_it_is_no_union(star: OxigraphGraph) -> None:
    graph = Flawed(star)
    union = Query.union(arms_of(["e0", "e1", "e2"]))
    assert in_order(selected(graph, union)) == in_order(star.select(union))
    assert [query.text for query in graph.asked] == [union.text]
    assert len(selected(graph, OUT.bind(s=[ex("e0")]), is_whole=lambda _: False)) == 2
    lossy = Flawed(star, loses="o")
    assert len(selected(lossy, Query.union(arms_of(["e0", "e1"])), is_whole=lambda solution: "s" in solution)) == 4
    assert (len(graph.asked), len(lossy.asked)) == (2, 1)


def test_each_arm_of_a_union_is_asked_again_where_a_variable_was_lost(star: OxigraphGraph) -> None:
    graph = Flawed(star, loses="o")
    arms = arms_of(["e0", "e1", "e2"])
    union = Query.union(arms)
    lost = graph.select(union)
    assert any("o" not in solution for solution in lost)
    graph.asked.clear()
    found = selected(graph, union)
    assert in_order(found) == in_order(star.select(union))
    assert [query.text for query in graph.asked] == [union.text, *(arm.text for arm in arms)]
    assert found.variables == lost.variables
    assert found.complete


def test_what_an_arm_that_was_asked_again_lacks_is_said(star: OxigraphGraph) -> None:
    graph = Flawed(star, loses="o", most=5)
    found = selected(graph, Query.union(arms_of(["e0", "hub"])))
    assert found.cut == "stopped at 5 solutions"
    assert len(found) == 7
    assert in_order([s for s in found if s["s"] == ex("e0")]) == in_order(star.select(arms_of(["e0"])[0]))


def asked_all(graph: Flawed, names: Sequence[str], *, bound: int = 10) -> tuple[list[Solution], dict[Term, int]]:
    found = batched_select(
        graph, lambda keys, most: OUT.bind(s=keys).limit(most + 1), [ex(name) for name in names],
        key_of=lambda solution: solution["s"], bound=bound,
    )  # fmt: skip
    return found.solutions, {key: len(some) for key, some in found.over.items()}


ENTITIES = [f"e{i}" for i in range(6)]


def test_what_a_chunk_was_cut_of_comes_in_parts_and_what_is_under_the_bound_at_once(star: OxigraphGraph) -> None:
    for most in (2, 3, 5, 11):
        graph = Flawed(star, most=most)
        found, over = asked_all(graph, ENTITIES, bound=1_000)
        assert in_order(found) == in_order(star.select(OUT.bind(s=map(ex, ENTITIES))))
        assert over == {}
        assert len(graph.asked) > 1
    graph = Flawed(star)
    found, over = asked_all(graph, ENTITIES, bound=12)
    assert (len(found), over, len(graph.asked)) == (12, {}, 1)


def test_only_the_key_with_too_many_solutions_is_over(star: OxigraphGraph) -> None:
    """Whether it is our bound that it reaches, or that of the endpoint."""
    for most in (8, 1_000):
        found, over = asked_all(Flawed(star, most=most), [*ENTITIES, "hub"])
        assert in_order(found) == in_order(star.select(OUT.bind(s=map(ex, ENTITIES))))
        assert over == {ex("hub"): min(most, 11)}


def test_keys_of_which_nothing_comes_are_over_and_not_asked_for_ever(star: OxigraphGraph) -> None:
    graph = Flawed(star, most=0)
    found, over = asked_all(graph, ENTITIES)
    assert found == []
    assert over == dict.fromkeys(map(ex, ENTITIES), 0)
    assert len(graph.asked) <= 2 * len(ENTITIES)
