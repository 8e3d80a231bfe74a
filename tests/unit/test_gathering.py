"""What is computed over several graphs is what it is over one graph of all their triples, however these are divided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyoxigraph
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from kgsparql import BlankNode, KnowledgeGraph, Query, Solutions, Triple
from kgsparql.errors import InputError
from kgsparql.exploration import walk_ends
from kgsparql.graphs import FederatedGraph, gathering
from kgsparql.graphs.user_query import GraphQueries
from kgsparql.plans.running import run
from kgsparql.plans.type_check import parts
from kgsparql.rdf.paths import PropertyPath, Walk
from tests.deep import examples
from tests.unit.test_federated import divided, graph, parsed
from tests.unit.test_plans import CONDITIONS, NUMBERS, SETS, TABLES, graphs
from tests.world import EX, ex


def computed(plan: Any, *members: Any) -> list[Any]:
    found = run(plan, FederatedGraph(members) if len(members) > 1 else members[0])
    rows = sorted(str(row).replace("#integer", "#decimal") for row in found.rows)  # of 0 and 0.0, any is the least
    return [rows, found.facts, found.empty_part, found.left_out]


@examples(200, short=20, suppress_health_check=[HealthCheck.too_slow])
@given(
    graphs(25, 40), SETS | NUMBERS | CONDITIONS | TABLES, st.sampled_from([-1, -1, 1000]), st.sampled_from([1, 2, 100]),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_a_plan_over_a_divided_graph_comes_to_what_it_does_over_the_graph(
    triples: list[Triple], plan: Any, whole: int, chunk: int, random: Any
) -> None:
    assume(len(list(parts(plan))) <= 15 and getattr(plan, "limit", None) is None)  # of ties, any is the first
    quads = [pyoxigraph.Quad(one.subject, one.predicate, one.object) for one in triples]
    members = divided([*quads, *quads[::3]], 2, random).members  # some are in two
    with patch.object(gathering, "_WHOLE", whole), patch.object(FederatedGraph, "chunk_size", chunk):
        assert computed(plan, *members) == computed(plan, graph(quads, "whole"))


class Remote(KnowledgeGraph):
    """A graph that names its blank nodes anew in each reply, as endpoints do."""

    is_remote = True

    def __init__(self, turtle: str) -> None:
        self.name, self.graph, self.replies = "remote", graph(parsed(turtle), "remote"), 0

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        found = self.graph.select(query, timeout_s)
        self.replies += 1
        blank = sorted({str(t) for s in found for t in s.values() if isinstance(t, BlankNode)})
        names = {name: BlankNode(f"b{(at + self.replies) % len(blank)}") for at, name in enumerate(blank)}
        return replace(found, solutions=tuple({n: names.get(str(t), t) for n, t in s.items()} for s in found))


def test_a_blank_node_of_an_endpoint_is_met_within_it_alone() -> None:
    file = graph(parsed(":a :p :b . :c :u :e . :d :u :f ."), "file")
    both = FederatedGraph([file, Remote(":b :q [ :r :c ; :s 3 ] , [ :r :d ; :s 4 ] .")])
    with pytest.raises(InputError, match="one store or one endpoint"):
        GraphQueries(both).run("ASK {}")
    (within,) = walk_ends(both, [Walk(ex("b"), PropertyPath.of(f"{EX}q", f"{EX}r"))])
    assert ({str(term) for term in within.items}, within.cuts) == ({f"<{EX}c>", f"<{EX}d>"}, ())
    (beyond,) = walk_ends(both, [Walk(ex("b"), PropertyPath.of(*(f"{EX}{step}" for step in "qru")))])
    assert (beyond.items, len(beyond.cuts)) == ((), 1)


def test_a_path_goes_from_a_file_to_an_endpoint_and_back() -> None:
    file = graph(parsed(":a :p :b . :c :r :d ."), "file")
    both = FederatedGraph([file, Remote(":b :q :c .")])
    (found,) = walk_ends(both, [Walk(ex("a"), PropertyPath.of(*(f"{EX}{step}" for step in "pqr")))])
    assert (found.items, found.cuts) == ((ex("d"),), ())
