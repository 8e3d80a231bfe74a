"""Graphs that pass on to others: none may forget a member of ``KnowledgeGraph`` and answer with its default."""

from collections.abc import Callable

import pytest

from kgsparql.budget import Usage
from kgsparql.graphs import FederatedGraph, OxigraphGraph
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.rdf.query import Query

PUBLIC = {name for name in (*vars(KnowledgeGraph), *KnowledgeGraph.__annotations__) if not name.startswith("_")}

# Several graphs have no adjacency, directory or account of their own; the notes of results are the meter's.
OF_SEVERAL = {
    "account", "adjacency_view", "changed", "directory", "held", "is_as_loaded", "is_embedded", "is_one_local_graph",
    "may_have_name", "named_graphs", "profile", "url", "will_ask_again",
}  # fmt: skip


@pytest.mark.parametrize(("wrapper", "defaults"), [(MeteredGraph, {"changed"}), (FederatedGraph, OF_SEVERAL)])
def test_a_wrapper_decides_about_every_member_of_a_graph(wrapper: type[KnowledgeGraph], defaults: set[str]) -> None:
    set_in_init = {"name", "prefixes", "stored"} if wrapper is not MeteredGraph else set()
    assert PUBLIC - set(vars(wrapper)) - set_in_init == defaults - set_in_init


def test_a_metered_graph_counts_however_it_is_asked(graph_of: Callable[..., OxigraphGraph]) -> None:
    graph = graph_of("<http://e.org/a> <http://e.org/p> <http://e.org/b> .")
    usage = Usage()
    metered = MeteredGraph(graph, usage, lambda _: None)
    every, is_any = Query("every", "SELECT * { ?s ?p ?o }"), Query("any", "ASK { ?s ?p ?o }")
    for view in (metered, metered.within(usage), metered.refreshed(), metered.with_own_failures(), *metered.members):
        before = usage.queries
        assert len(view.select(every)) == len(view.select(every, 1)) == 1
        assert view.ask(is_any)
        view.ask_each(lambda one: one.select(every))
        assert usage.queries == before + 4
