"""What is computed over several graphs is what it is over one graph of all their triples, however these are divided."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random
from typing import Any
from unittest.mock import patch

import pyoxigraph
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from kgsparql import BlankNode, KnowledgeGraph, PrefixMap, Query, Solutions, Triple
from kgsparql.errors import InputError, LimitError
from kgsparql.exploration import walk_ends
from kgsparql.graphs import FederatedGraph, OxigraphGraph, gathering
from kgsparql.graphs.user_query import GraphQueries, check
from kgsparql.graphs.user_query.patterns import patterns_of
from kgsparql.plans.running import run
from kgsparql.plans.type_check import parts
from kgsparql.rdf.paths import PropertyPath, Walk
from tests.deep import examples
from tests.unit.test_federated import divided, graph, parsed, shown
from tests.unit.test_plans import CONDITIONS, NUMBERS, SETS, TABLES, graphs
from tests.world import EX, ex

# Patterns of every form; the last ones bind a variable where a part that may be missing has one of its name.
QUERIES = """
SELECT ?a (COUNT(DISTINCT ?b) AS ?n) { ?a :p ?b ; a :C FILTER NOT EXISTS { ?b :q ?a } } GROUP BY ?a HAVING(?n > 1)
SELECT ?a ?c { ?a :p/^:q ?b . ?b (:p|:q)+ ?c . ?c a ?kind } ORDER BY ?a ?c
SELECT * { { ?a :p :n1 } UNION { ?a :q ?b . ?b a :C } OPTIONAL { ?a :r ?v FILTER(?v > 2) } }
SELECT ?a ?most { ?a a :C { SELECT ?a (MAX(?v) AS ?most) { ?a :r ?v } GROUP BY ?a } MINUS { ?a :p :n2 } }
SELECT ?n { { SELECT (COUNT(*) AS ?n) { ?a :q ?b . ?b :p ?a } } }
SELECT ?a ?x { VALUES ?a { :n1 :n2 :n3 } ?a !:p ?x . ?x ^:q* ?y . ?y a :C }
SELECT ?a ?v { ?a :r 2 . ?a :p ?b OPTIONAL { ?b :q [ :r ?v ] } FILTER(EXISTS { ?a :q ?b } || ?v = 3) }
SELECT * { ?a :p ?b OPTIONAL { ?b :q ?v } ?v a :C }
SELECT * { ?a :p ?b MINUS { ?b :q ?v } ?w :p ?a . ?v a :D }
SELECT * { { ?a :p ?b } { OPTIONAL { ?a :q ?b } } }
SELECT * { ?a a :C { SELECT ?a { ?a :p ?b . ?b :q ?c } ORDER BY ?a LIMIT 2 } }
SELECT ?a { ?a ?p ?b . ?b a :C FILTER(?p != :p) }
SELECT ?b { :n1 :p+ ?b }
SELECT ?a ?b { ?a :q* ?b }
SELECT (SUM(IF(EXISTS { ?a :p/:q ?b }, 1, 0)) AS ?n) { ?a a ?c } GROUP BY STR(?c)
SELECT ?a (EXISTS { ?a :p+/:q ?b } AS ?is) { ?a a :C }
""".strip().splitlines()


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


@pytest.mark.parametrize("seed", range(4))
def test_a_query_of_a_users_own_over_a_divided_graph_finds_what_it_does_in_the_graph(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - divided the same way every time
    nodes = [f":n{i}" for i in range(8)]
    lines = {f"{random.choice(nodes)} {random.choice([':p', ':q'])} {random.choice(nodes)} ." for _ in range(24)}
    lines |= {f"{node} a {random.choice([':C', ':D'])} ; :r {random.randrange(5)} ." for node in nodes}
    lines |= {f"{random.choice(nodes)} :p _:b{i} . _:b{i} :q {random.choice(nodes)} ; :r {i} ." for i in range(2)}
    whole = graph(parsed("\n".join(sorted(lines))), "whole")
    both = divided(list(whole.quads()), 2, random)
    for text, most in product(QUERIES, (-1, 1000)):
        query = check(text, prefixes=PrefixMap({"": EX}))
        with patch.object(gathering, "_WHOLE", most):
            held = both.refreshed().graph_for(patterns_of(query).group)
        assert isinstance(held, OxigraphGraph)
        found, expected = (shown(one.select(Query("own", query.text))) for one in (held, whole))
        assert found == expected, text


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


def test_what_cannot_be_asked_of_several_graphs_says_why_and_what_to_do() -> None:
    files = FederatedGraph([graph(parsed(":a :p :b ."), "one"), graph(parsed(":b :p :c ."), "two")])
    queries = GraphQueries(files, prefixes=PrefixMap({"": EX}))
    assert queries.run("SELECT * { ?s ?p ?o }").rows == 2
    with pytest.raises(InputError, match="GRAPH cannot be asked for") as refused:
        queries.run("SELECT * { GRAPH ?g { ?s ?p ?o } }")
    assert "kgsparql load" in refused.value.hint
    with_endpoint = FederatedGraph([graph(parsed(":a :p :b ."), "one"), Remote(":b :p :c .")])
    queries = GraphQueries(with_endpoint, prefixes=PrefixMap({"": EX}))
    with pytest.raises(LimitError, match="more triples than can be joined over several graphs"):
        queries.run("SELECT * { ?s ?p ?o }")  # all of an endpoint is too much to ask for
    assert queries.run("SELECT * { ?s :p ?o . ?o :p ?end }").rows == 1


def test_a_blank_node_of_an_endpoint_is_met_within_it_alone() -> None:
    file = graph(parsed(":a :p :b . :c :u :e . :d :u :f ."), "file")
    both = FederatedGraph([file, Remote(":b :q [ :r :c ; :s 3 ] , [ :r :d ; :s 4 ] .")])
    queries = GraphQueries(both, prefixes=PrefixMap({"": EX}))
    alone = check("SELECT * { :b :q ?v . ?v :r ?c ; :s ?n }", prefixes=PrefixMap({"": EX}))
    assert both.graph_for(patterns_of(alone).group) is both.members[1], "it is sent there"
    with pytest.raises(LimitError, match="beside blank nodes of an endpoint"):
        queries.run("SELECT * { :a :p/:q ?v }")
    (within,) = walk_ends(both, [Walk(ex("b"), PropertyPath.of(f"{EX}q", f"{EX}r"))])
    assert ({str(term) for term in within.items}, within.cuts) == ({f"<{EX}c>", f"<{EX}d>"}, ())
    (beyond,) = walk_ends(both, [Walk(ex("b"), PropertyPath.of(*(f"{EX}{step}" for step in "qru")))])
    assert (beyond.items, len(beyond.cuts)) == ((), 1)


def test_a_path_goes_from_a_file_to_an_endpoint_and_back() -> None:
    file = graph(parsed(":a :p :b . :c :r :d ."), "file")
    both = FederatedGraph([file, Remote(":b :q :c .")])
    (found,) = walk_ends(both, [Walk(ex("a"), PropertyPath.of(*(f"{EX}{step}" for step in "pqr")))])
    assert (found.items, found.cuts) == ((ex("d"),), ())
