"""Evidence keeps its markers; verification decides what may be cited."""

import threading

import pyoxigraph
import pytest

from kgsparql.budget import Budget, Usage
from kgsparql.errors import BudgetExceededError, CancelledError
from kgsparql.events import Event, QueryRun
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem, verify
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.graph import Source
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Triple
from tests.world import graph_of

A, B, P = (IRI(f"http://example.org/{name}") for name in "abp")
Q = Query("q", "")
ANY = Query("any", "SELECT * { ?s ?p ?o }")


def item(*triples: Triple, kind: str = "neighbours") -> EvidenceItem:
    return EvidenceItem(kind, "text", tuple(map(CitedTriple, triples)), Q)  # type: ignore[arg-type]


def metered(graph: OxigraphGraph, budget: Budget | None = None, events: list[Event] | None = None) -> MeteredGraph:
    return MeteredGraph(graph, Usage(budget or Budget()), ([] if events is None else events).append)


def stored(*quads: pyoxigraph.Quad) -> OxigraphGraph:
    store = pyoxigraph.Store()
    store.extend(quads)
    return OxigraphGraph(store, name="t", fingerprint="0")


def test_markers_are_given_once_and_never_renumbered() -> None:
    evidence = Evidence([item(kind="path"), item(), item(), item(kind="path")])
    assert [i.marker for i in evidence] == ["P1", "N1", "N2", "P2"]
    assert [i.marker for i in evidence.keep(["N2", "P2"])] == ["N2", "P2"]


def test_found_triples_carry_their_sources_and_absent_ones_go() -> None:
    graph = metered(graph_of(":a :p :b ."))
    checked = verify(Evidence([item(Triple(A, P, B)), item(Triple(A, P, B), Triple(A, P, A))]), graph)
    (kept,) = checked.evidence
    assert kept.triples == (CitedTriple(Triple(A, P, B), sources=(Source("test"),), verified=True),)
    assert (checked.found, checked.lost, checked.removed) == (1, ("N2",), (Triple(A, P, A),))
    checked = verify(Evidence([item(Triple(A, P, B), Triple(B, P, A), kind="path")]), graph)
    assert (len(checked.evidence), checked.lost) == (0, ("P1",)), "a path falls with any of its triples"


def test_L32_one_triple_in_two_graphs_is_one_fact_with_two_sources() -> None:
    one, two = IRI("http://example.org/g1"), IRI("http://example.org/g2")
    graph = metered(stored(pyoxigraph.Quad(A, P, B, one), pyoxigraph.Quad(A, P, B, two)))
    (kept,) = verify(Evidence([item(Triple(A, P, B))]), graph).evidence
    assert kept.triples[0].sources == (Source("t", one.value), Source("t", two.value))


def test_blank_nodes_are_looked_up_where_their_names_last() -> None:
    blank = BlankNode("m")
    evidence = Evidence([item(Triple(A, P, blank)), item(Triple(A, P, BlankNode("other")))])
    checked = verify(evidence, metered(stored(pyoxigraph.Quad(A, P, blank))))
    assert [i.triples[0].verified for i in checked.evidence] == [True]
    assert checked.lost == ("N2",)


def test_verification_asks_in_batches_of_200() -> None:
    triples = [Triple(A, P, Literal(str(i))) for i in range(401)]
    graph = stored(*(pyoxigraph.Quad(t.subject, t.predicate, t.object) for t in triples))
    events: list[Event] = []
    assert verify(Evidence([item(*triples)]), metered(graph, events=events)).found == 401
    assert [e.name for e in events if isinstance(e, QueryRun)] == ["verify_texts"] * 3 + ["named_graphs_texts"] * 3


def test_a_budget_is_kept_and_unlimited_work_is_still_counted() -> None:
    graph = metered(graph_of(":a :p :b, :a ."), Budget(max_queries=1))
    graph.select(ANY)
    with pytest.raises(BudgetExceededError, match="1 query"):
        graph.select(ANY)
    graph.unlimited().select(ANY)
    assert graph.usage.queries == 2
    with pytest.raises(BudgetExceededError, match="1 rows"):
        metered(graph_of(":a :p :b, :a ."), Budget(max_rows=1)).select(ANY)


def test_a_stopped_question_sends_nothing_more() -> None:
    stop = threading.Event()
    graph = MeteredGraph(graph_of(":a :p :b ."), Usage(cancel=stop), [].append)
    stop.set()
    for view in (graph, graph.unlimited()):
        with pytest.raises(CancelledError):
            view.select(ANY)
