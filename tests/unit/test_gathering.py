"""What is computed over several graphs is what it is over one graph of all their triples, however these are divided."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pyoxigraph
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from kgsparql.graphs import FederatedGraph, gathering
from kgsparql.plans.running import run
from kgsparql.plans.type_check import MAX_PARTS, parts
from kgsparql.rdf.terms import Triple
from tests.deep import examples
from tests.unit.test_federated import divided, graph
from tests.unit.test_plans import CONDITIONS, NUMBERS, SETS, TABLES, graphs


def computed(plan: Any, *members: Any) -> list[Any]:
    found = run(plan, FederatedGraph(members) if len(members) > 1 else members[0])
    return [sorted(map(str, found.rows)), found.facts, found.empty_part, found.left_out, found.is_confirmed]


@examples(200, short=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    graphs(30, 60), SETS | NUMBERS | CONDITIONS | TABLES, st.sampled_from([-1, -1, 1000]), st.sampled_from([1, 2, 100]),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_a_plan_over_a_divided_graph_comes_to_what_it_does_over_the_graph(
    triples: list[Triple], plan: Any, whole: int, chunk: int, random: Any
) -> None:
    assume(len(list(parts(plan))) <= MAX_PARTS)
    quads = [pyoxigraph.Quad(one.subject, one.predicate, one.object) for one in triples]
    members = divided([*quads, *quads[::3]], 2, random).members  # some are in two
    with (
        patch.object(gathering, "_WHOLE", whole),
        patch.object(FederatedGraph, "chunk_size", chunk),
    ):
        assert computed(plan, *members) == computed(plan, graph(quads, "whole"))
