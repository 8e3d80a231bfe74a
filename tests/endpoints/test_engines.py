"""Every engine gives the same: each query its solutions, and each method its answers and evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from kgsparql.events import Event
from kgsparql.graph import OpenedGraph
from kgsparql.graphs import open_graph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.query import Query
from kgsparql.retrievers import names
from tests.conftest import FIXTURES, PREFIXES
from tests.contract.conftest import SMALL
from tests.endpoints.sameness import differences, told, was_cut
from tests.endpoints.servers import VIRTUOSO_GRAPH, Virtuoso, rdflib_endpoint, virtuoso
from tests.queries.test_queries import bound, cases, in_order, solutions_of

NOBEL = FIXTURES / "nobel.ttl"
QUERIES = FIXTURES / "queries"
QUESTIONS = [json.loads(line) for line in (FIXTURES / "nobel_questions.jsonl").read_text(encoding="utf-8").splitlines()]
SMALL_QUESTIONS = ("Where does Ann Alpha work?", "Who knows Ben Beta?", "Which city is Acme in?")

NOT_ON_VIRTUOSO = {
    (
        "between_pairs",
        "unbound",
    ): "a sub-select of two parameters that are both unbound finds nothing; it is never sent",
}

BY_GRAPH = sorted(cases(), key=lambda case: str(case.values[1]["graph"]))


Open = Callable[[Path], OpenedGraph]


@pytest.fixture(scope="module")
def on_virtuoso(virtuoso_server: Virtuoso) -> Open:
    """What the Virtuoso of this process serves of a file, which it holds until it is asked for another."""
    return lambda data: open_graph(virtuoso_server.fill(data), name="data")


@pytest.fixture(scope="module")
def on_rdflib() -> Iterator[Open]:
    """Graphs that rdflib-endpoint serves, a server for each file."""
    urls: dict[Path, str] = {}
    with ExitStack() as servers:

        def graph(data: Path) -> OpenedGraph:
            if data not in urls:
                urls[data] = servers.enter_context(rdflib_endpoint(data))
            return open_graph(urls[data], name="data")

        yield graph


# -- Queries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "case"), BY_GRAPH)
def test_solutions_on_virtuoso(on_virtuoso: Open, name: str, case: dict[str, Any]) -> None:
    if (name, case["name"]) in NOT_ON_VIRTUOSO:
        pytest.skip(NOT_ON_VIRTUOSO[name, case["name"]])
    graph = on_virtuoso(QUERIES / case["graph"])
    # What others have in the default graph is in a named graph there, which is one more.
    if name == "info_graph_count":
        (found,) = graph.select(bound(name, case))
        assert int(found["count"].value) == int(case["solutions"][0]["count"].split('"')[1]) + 1
        return
    own = f"<{VIRTUOSO_GRAPH}>"
    found = [solution for solution in solutions_of(graph, bound(name, case)) if solution.get("graph") != own]
    if case.get("ordered"):
        assert found == case["solutions"]
    assert in_order(found) == in_order(case["solutions"])


@pytest.mark.parametrize(("name", "case"), BY_GRAPH)
def test_solutions_on_rdflib_endpoint(on_rdflib: Open, name: str, case: dict[str, Any]) -> None:
    found = solutions_of(on_rdflib(QUERIES / case["graph"]), bound(name, case))
    if case.get("ordered"):
        assert found == case["solutions"]
    assert in_order(found) == in_order(case["solutions"])


def test_E12_virtuoso_with_a_cap_of_its_own_says_where_it_stopped(tmp_path: Path) -> None:
    data = tmp_path / "data.nt"
    data.write_text("".join(f"<http://e.org/a> <http://e.org/p> <http://e.org/b{i}> .\n" for i in range(80)))
    query = Query("q", "SELECT ?o { <http://e.org/a> ?p ?o } LIMIT 1000")
    with virtuoso(data, tmp_path / "server", max_rows=50) as url:
        graph = open_graph(url)
        found = graph.select(query)
        assert (len(found), found.cut) == (50, "the endpoint stopped at 50 solutions")
        assert graph.select(query.limit(49)).complete


# -- Answers ------------------------------------------------------------------------------------------------------


def check_same(embedded: KnowledgeBase, remote: KnowledgeBase, method: str, questions: list[str]) -> None:
    answered = 0
    for question in questions:
        events: list[Event] = []
        one = embedded.ask(question, retriever=method, emit=events.append)
        other = remote.ask(question, retriever=method, emit=events.append)
        first, second = told(one), told(other)
        for part in differences(first, second):
            assert second[part] == first[part], (question, part, was_cut(other, events))
        answered += bool(one.evidence)
    assert answered


@pytest.fixture(scope="module")
def nobel() -> KnowledgeBase:
    return KnowledgeBase(open_graph(NOBEL, name="data"), embedder="none")


@pytest.mark.parametrize("method", names())
def test_a_method_finds_the_same_on_virtuoso(nobel: KnowledgeBase, on_virtuoso: Open, method: str) -> None:
    remote = KnowledgeBase(on_virtuoso(NOBEL), embedder="none")
    check_same(nobel, remote, method, [question["question"] for question in QUESTIONS])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four people, and blank nodes between some of them and where they work."""
    file = tmp_path_factory.mktemp("small") / "small.nt"
    with file.open("wb") as output:
        triples = pyoxigraph.parse((PREFIXES + SMALL).encode(), pyoxigraph.RdfFormat.TURTLE)
        pyoxigraph.serialize((quad.triple for quad in triples), output, pyoxigraph.RdfFormat.N_TRIPLES)
    return file


@pytest.mark.parametrize("method", names())
@pytest.mark.parametrize("engine", ["virtuoso", "rdflib-endpoint"])
def test_a_method_finds_the_same_through_blank_nodes(
    request: pytest.FixtureRequest, small: Path, engine: str, method: str
) -> None:
    opened = request.getfixturevalue("on_virtuoso" if engine == "virtuoso" else "on_rdflib")(small)
    embedded = KnowledgeBase(open_graph(small, name="data"), embedder="none")
    check_same(embedded, KnowledgeBase(opened, embedder="none"), method, list(SMALL_QUESTIONS))
