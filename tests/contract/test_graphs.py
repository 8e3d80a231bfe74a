"""What every graph backend promises. A new backend is one more factory in ``FACTORIES``."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from traceback import walk_tb

import pyoxigraph as ox
import pytest

from kgsparql import IRI, KnowledgeGraph, Literal, Query, Source, Term, Triple, Usage, open_graph
from kgsparql.errors import QueryError, QuerySyntaxError
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.stores import load_store
from tests.endpoints.servers import VIRTUOSO_GRAPH, Virtuoso, oxigraph_serve, rdflib_endpoint, store_of
from tests.world import EX, graph_of

DATA = f"""
@prefix : <{EX}> .
:a :p :b , "text"@en-GB , 1 ; :q _:node .
_:node :r "behind" .
GRAPH :g1 {{ :a :p :c . :shared :in :both }}
GRAPH :g2 {{ :shared :in :both }}
"""

Factory = Callable[..., KnowledgeGraph | Iterator[KnowledgeGraph]]


def _file(directory: Path) -> Path:
    path = directory / "data.trig"
    path.write_text(DATA, encoding="utf-8")
    return path


def in_memory(directory: Path) -> KnowledgeGraph:
    return open_graph(_file(directory), name="data")


def pyoxigraph_store(directory: Path) -> KnowledgeGraph:
    store = ox.Store()
    store.load(path=_file(directory))
    return open_graph(store, name="data")


def store_on_disk(directory: Path) -> KnowledgeGraph:
    load_store(_file(directory), directory / "store")
    return open_graph(directory / "store", name="data")


def endpoint(directory: Path) -> Iterator[KnowledgeGraph]:
    with oxigraph_serve(store_of(_file(directory), directory / "served")) as url:
        yield open_graph(url, name="data")


def endpoint_with_union(directory: Path) -> Iterator[KnowledgeGraph]:
    with oxigraph_serve(store_of(_file(directory), directory / "served"), "--union-default-graph") as url:
        yield open_graph(url, name="data")


def rdflib_server(directory: Path, rdflib_url: str) -> KnowledgeGraph:
    return open_graph(rdflib_url, name="data")


def virtuoso(directory: Path, virtuoso_server: Virtuoso) -> KnowledgeGraph:
    return open_graph(virtuoso_server.fill(_file(directory)), name="data")


FACTORIES: tuple[Factory, ...] = (
    in_memory, pyoxigraph_store, store_on_disk, endpoint, endpoint_with_union, rdflib_server, virtuoso,
)  # fmt: skip


@pytest.fixture(scope="module")
def rdflib_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with rdflib_endpoint(_file(tmp_path_factory.mktemp("rdflib"))) as url:
        yield url


@pytest.fixture(params=FACTORIES, ids=lambda factory: factory.__name__)
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KnowledgeGraph]:
    """Each graph; a factory gets the directory, and the servers it names."""
    servers = [name for name in inspect.signature(request.param).parameters if name != "directory"]
    made = request.param(tmp_path, **{name: request.getfixturevalue(name) for name in servers})
    if isinstance(made, Iterator):
        yield from made
    else:
        yield made


def named_graphs(graph: KnowledgeGraph, text: str) -> list[Term]:
    """What ``?g`` is in the solutions.

    Virtuoso has no default graph of its own: what others have there is in a named graph, whose name we gave it.
    """
    return [name for solution in graph.select(query(text)) if (name := solution["g"]) != IRI(VIRTUOSO_GRAPH)]


def query(text: str) -> Query:
    return Query("contract", text)


def test_is_a_knowledge_graph(graph: KnowledgeGraph) -> None:
    assert isinstance(graph, KnowledgeGraph)
    assert graph.name == "data"
    assert graph.chunk_size > 0


def test_solutions_hold_terms_and_leave_unbound_variables_out(graph: KnowledgeGraph) -> None:
    text = f"SELECT ?o ?x {{ <{EX}a> <{EX}p> ?o OPTIONAL {{ ?o <{EX}none> ?x }} }}"
    solutions = graph.select(query(text))
    assert solutions.variables == ("o", "x")
    assert solutions.complete
    assert {solution["o"] for solution in solutions} == {
        IRI(EX + "b"), IRI(EX + "c"), Literal("text", language="en-gb"),
        Literal("1", datatype=IRI("http://www.w3.org/2001/XMLSchema#integer")),
    }  # fmt: skip
    assert all("x" not in solution for solution in solutions)


def test_L31_queries_see_the_union_of_all_graphs(graph: KnowledgeGraph) -> None:
    assert len(graph.select(query(f"SELECT * {{ <{EX}a> <{EX}p> <{EX}b> . <{EX}a> <{EX}p> <{EX}c> }}"))) == 1
    assert named_graphs(graph, f"SELECT DISTINCT ?g {{ GRAPH ?g {{ <{EX}a> <{EX}p> ?o }} }}") == [IRI(EX + "g1")]
    assert graph.source(EX + "g1") == Source("data", EX + "g1")
    assert graph.source(None) == Source("data")


def test_L32_one_triple_in_two_graphs_is_one_fact(graph: KnowledgeGraph) -> None:
    pattern = f"{{ <{EX}shared> ?p ?o }}"
    assert len(graph.select(query(f"SELECT DISTINCT * {pattern}"))) == 1
    (count,) = graph.select(query(f"SELECT (COUNT(DISTINCT ?o) AS ?n) {pattern}"))
    assert str(getattr(count["n"], "value", "")) == "1"
    text = f"SELECT DISTINCT ?g {{ GRAPH ?g {{ <{EX}shared> ?p ?o }} }} ORDER BY ?g"
    assert named_graphs(graph, text) == [IRI(EX + "g1"), IRI(EX + "g2")]


def test_L13_language_tags_are_found_in_any_case(graph: KnowledgeGraph) -> None:
    assert len(graph.select(query(f'SELECT * {{ <{EX}a> <{EX}p> "text"@EN-gb }}'))) == 1


def test_a_parameter_bound_to_nothing_sends_no_query(graph: KnowledgeGraph) -> None:
    assert len(graph.select(query("SELECT * { VALUES ?s { UNDEF } ?s ?p ?o }").bind(s=[]))) == 0


def test_errors_are_those_of_kgsparql(graph: KnowledgeGraph) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        graph.select(query("SELECT * {"))
    assert caught.value.detail["query"] == "SELECT * {"
    with pytest.raises(QueryError):
        graph.select(query("ASK { ?s ?p ?o }"))


def test_an_error_holds_no_results_of_oxigraph() -> None:
    """They may be freed on their own thread only, and whoever keeps an error may be on another."""
    with pytest.raises(QueryError) as caught:
        graph_of(f"<{EX}a> <{EX}p> <{EX}b> .").select(query("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"))
    held = [value for frame, _ in walk_tb(caught.tb) for value in frame.f_locals.values()]
    assert held
    assert [value for value in held if isinstance(value, ox.QueryTriples)] == []


def test_blank_nodes_are_found_again_where_a_backend_says_so(graph: KnowledgeGraph) -> None:
    (solution,) = graph.select(query(f"SELECT ?node {{ ?node <{EX}r> ?o }}"))
    triple = Triple(solution["node"], IRI(EX + "r"), Literal("behind"))
    if graph.is_remote:
        assert graph.sources_of(triple) is None
        return
    assert graph.sources_of(triple) == (Source("data"),)
    assert graph.sources_of(Triple(IRI(EX + "shared"), IRI(EX + "in"), IRI(EX + "both"))) == (
        Source("data", EX + "g1"), Source("data", EX + "g2"),
    )  # fmt: skip
    assert graph.sources_of(Triple(IRI(EX + "a"), IRI(EX + "p"), Literal("no"))) == ()


def test_L31_several_files_are_cited_each_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "one.ttl").write_text(f"<{EX}a> <{EX}p> <{EX}b> .")
    (tmp_path / "two.trig").write_text(f"<{EX}a> <{EX}p> <{EX}b> . <{EX}g> {{ <{EX}a> <{EX}p> <{EX}c> }}")
    (tmp_path / "three.nq").write_text(f"<{EX}a> <{EX}p> <{EX}c> <{EX}g> .")
    names = [str(tmp_path / name) for name in ("one.ttl", "two.trig", "three.nq")]
    graph = open_graph(names)
    assert graph.sources_of(Triple(IRI(EX + "a"), IRI(EX + "p"), IRI(EX + "b"))) == (Source(names[0]), Source(names[1]))
    assert graph.sources_of(Triple(IRI(EX + "a"), IRI(EX + "p"), IRI(EX + "c"))) == (
        Source(f"{names[1]}, {names[2]}", EX + "g"),
    )
    assert graph.name == ", ".join(names)


def test_a_user_store_is_never_written_and_its_hash_follows_its_content() -> None:
    store = ox.Store()
    store.load(DATA.encode(), ox.RdfFormat.TRIG)
    before = open_graph(store)
    assert isinstance(before, OxigraphGraph)
    assert before.store is store
    first = before.fingerprint
    store.add(ox.Quad(IRI(EX + "new"), IRI(EX + "p"), Literal("x")))
    assert open_graph(store).fingerprint != first


PUBLIC = {name for name in (*vars(KnowledgeGraph), *KnowledgeGraph.__annotations__) if not name.startswith("_")}

# What returns the metered graph itself is counted as before.
MADE_OF_IT = {"changed", "reopened", "refreshed", "within"}


def test_a_metered_graph_decides_about_every_member_of_a_graph() -> None:
    assert PUBLIC - set(vars(MeteredGraph)) == MADE_OF_IT


def test_a_metered_graph_counts_however_it_is_asked() -> None:
    graph = graph_of("<http://e.org/a> <http://e.org/p> <http://e.org/b> .")
    usage = Usage()
    metered = MeteredGraph(graph, usage, lambda _: None)
    every = Query("every", "SELECT * { ?s ?p ?o }")
    for view in (metered, metered.within(usage), metered.refreshed()):
        before = usage.queries
        assert len(view.select(every)) == len(view.select(every, 1)) == 1
        assert usage.queries == before + 2
