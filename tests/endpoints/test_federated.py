"""Several graphs in one question, some of them behind a server of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyoxigraph
import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql.cli import app
from kgsparql.errors import EndpointError
from kgsparql.exploration import neighbours, shortest_paths, walk_ends
from kgsparql.graphs import FederatedGraph, open_graph
from kgsparql.paths import PropertyPath, Walk
from kgsparql.query import Query
from kgsparql.terms import IRI, BlankNode
from tests.conftest import FIXTURES
from tests.endpoints.servers import free_port, oxigraph_serve, store_of

DBR, DBO = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"
ASKED = "Who were the doctoral students of people who worked at the University of Paris?"


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two files with every other triple of the Nobel graph, but those about one blank node in the same file."""
    folder = tmp_path_factory.mktemp("halves")
    random = Random(11)  # noqa: S311 - divided the same way every time
    halves: tuple[list[pyoxigraph.Triple], ...] = ([], [])
    for quad in pyoxigraph.parse(path=str(FIXTURES / "nobel.ttl")):
        has_blank = any(isinstance(term, BlankNode) for term in (quad.subject, quad.object))
        halves[0 if has_blank else random.randrange(2)].append(quad.triple)
    for name, triples in zip(("one.ttl", "two.ttl"), halves, strict=True):
        pyoxigraph.serialize(triples, str(folder / name), format=pyoxigraph.RdfFormat.TURTLE)
    return folder / "one.ttl", folder / "two.ttl"


@pytest.fixture(scope="module")
def served(halves: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The second half behind a server."""
    with oxigraph_serve(store_of(halves[1], tmp_path_factory.mktemp("served") / "store")) as url:
        yield url


@pytest.mark.parametrize("retriever", ["path_ranking", "think_on_graph", "mindmap", "struct_gpt", "entity"])
def test_a_file_and_an_endpoint_answer_as_one_graph(retriever: str, halves: tuple[Path, Path], served: str) -> None:
    whole = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none").ask(ASKED, retriever=retriever)
    found = kgsparql.open(halves[0], served, embedder="none").ask(ASKED, retriever=retriever)
    assert [(a.label, a.markers) for a in found.answers] == [(a.label, a.markers) for a in whole.answers]
    assert [item.text for item in found.evidence] == [item.text for item in whole.evidence]
    assert {graph for item in found.evidence for graph in item.graphs} == {str(halves[0]), served}
    assert all(cited.verified for item in found.evidence for cited in item.triples)


def test_walks_and_paths_go_from_one_graph_into_the_other(halves: tuple[Path, Path], served: str) -> None:
    whole, both = open_graph(FIXTURES / "nobel.ttl"), open_graph([halves[0], served])
    paris = IRI(f"{DBR}University_of_Paris")
    path = PropertyPath.of(f"^{DBO}employer", f"{DBO}birthPlace", f"^{DBO}birthPlace")
    (expected,), (found,) = walk_ends(whole, [Walk(paris, path)]), walk_ends(both, [Walk(paris, path)])
    assert len(expected.items) > 1
    assert found == expected
    curie, bohr = IRI(f"{DBR}Marie_Curie"), IRI(f"{DBR}Niels_Bohr")
    assert shortest_paths(both, curie, bohr) == shortest_paths(whole, curie, bohr)


def test_E22_an_endpoint_that_goes_away_leaves_what_the_file_says(halves: tuple[Path, Path], tmp_path: Path) -> None:
    with oxigraph_serve(store_of(halves[1], tmp_path / "store")) as url:
        knowledge = kgsparql.open(halves[0], url, embedder="none", cache=False)
        before = knowledge.ask(ASKED)
    after = knowledge.ask(ASKED)
    assert not [note for note in before.notes if url in note]
    assert [note for note in after.notes if url in note and "may be missing" in note]
    assert {graph for item in after.evidence for graph in item.graphs} == {str(halves[0])}
    assert all(cited.verified for item in after.evidence for cited in item.triples)


def test_E01_an_endpoint_that_is_not_there_is_asked_once(halves: tuple[Path, Path]) -> None:
    url = f"http://127.0.0.1:{free_port()}/query"
    graph = open_graph([halves[0], url])
    assert isinstance(graph, FederatedGraph)
    found = neighbours(graph, [IRI(f"{DBR}Marie_Curie")])
    assert found.items
    assert len(graph.failures) == 1
    assert url in graph.failures[0]
    with pytest.raises(EndpointError):
        open_graph([url, f"{url}2"]).select(Query.load("any"))


def test_the_command_line_takes_graphs_of_any_kind(halves: tuple[Path, Path], served: str) -> None:
    named = ["-k", str(halves[0]), "-k", served]
    run = CliRunner()
    asked = run.invoke(app, ["ask", ASKED, *named, "--no-model", "--embedder", "none", "-f", "json"])
    assert asked.exit_code == 0, asked.output
    evidence = json.loads(asked.stdout)["evidence"]
    assert {one["source"] for item in evidence for one in item["queries"]} == {str(halves[0]), served}
    told = run.invoke(app, ["info", *named, "-f", "json"])
    assert [one["name"] for one in json.loads(told.stdout)] == [str(halves[0]), served]
    refused = run.invoke(app, ["query", "SELECT * { ?s ?p ?o } LIMIT 1", *named])
    assert refused.exit_code == 2
    assert "one graph" in refused.stderr
