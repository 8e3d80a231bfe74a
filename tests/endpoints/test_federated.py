"""Several graphs in one question, some of them behind a server of their own."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyoxigraph
import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql import IRI, BlankNode, EndpointGraph, EndpointProfile, FederatedGraph, KnowledgeBase, open_graph
from kgsparql.cli import app
from kgsparql.graphs.oxigraph import OxigraphGraph
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.endpoints.ports import free_port
from tests.endpoints.proxy import Proxy, first, resets
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import FIXTURES, NOBEL

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
def served(halves: tuple[Path, Path], serve: Callable[[Path], str]) -> str:
    """The second half behind a server."""
    return serve(halves[1])


@pytest.mark.parametrize("retriever", ["path_ranking", "think_on_graph", "mindmap", "struct_gpt", "entity"])
def test_a_file_and_an_endpoint_answer_as_one_graph(retriever: str, halves: tuple[Path, Path], served: str) -> None:
    whole = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none").ask(ASKED, retriever=retriever)
    found = kgsparql.open(halves[0], served, embedder="none").ask(ASKED, retriever=retriever)
    assert [(a.label, a.markers) for a in found.answers] == [(a.label, a.markers) for a in whole.answers]
    assert [item.text for item in found.evidence] == [item.text for item in whole.evidence]
    assert {graph for item in found.evidence for graph in item.graphs} == {str(halves[0]), served}
    assert all(cited.verified for item in found.evidence for cited in item.triples)


def test_a_public_member_that_is_no_wikibase_is_not_asked_for_identifiers(served: str) -> None:
    wikibase = pyoxigraph.Store()
    viaf = "http://www.wikidata.org/prop/direct/P214"
    ontology = "http://wikiba.se/ontology#"
    wikibase.update(
        f"""INSERT DATA {{ <http://www.wikidata.org/entity/P214> <{ontology}propertyType> <{ontology}ExternalId> ;
        <{ontology}directClaim> <{viaf}> }}"""
    )
    own = OxigraphGraph(wikibase, name="own", fingerprint="own")
    noise = IRI(f"{DBO}wikiPageID")
    with Proxy(served) as public, Proxy(served) as private, Proxy(served) as catalogue:
        profiles = {
            public.url: EndpointProfile(has_union=True, is_public=True, noise=frozenset({noise})),
            private.url: EndpointProfile(has_union=True),
            catalogue.url: EndpointProfile(has_union=True, is_public=True, external_ids=True),
        }
        members = [EndpointGraph(url, profile=profile) for url, profile in profiles.items()]
        session = KnowledgeBase(FederatedGraph([own, *members]), embedder="none").session("Who?", kgsparql.AskOptions())
        assert session.graph.ignored.terms == {noise, IRI(viaf)}
        assert [len(proxy.of("ExternalId")) for proxy in (public, private, catalogue)] == [0, 1, 1]


WRITTEN = "What was written by Marie Curie?"
WIKIBASE, LIBRARY = (FIXTURES / "identifiers" / f"{name}.ttl" for name in ("wikibase", "library"))


def test_the_command_line_takes_graphs_of_any_kind(halves: tuple[Path, Path], served: str) -> None:
    named = ["-k", str(halves[0]), "-k", served]
    run = CliRunner()
    asked = run.invoke(app, ["ask", ASKED, *named, "--no-model", "--embedder", "none", "-f", "json"])
    assert asked.exit_code == (3 if json.loads(asked.stdout)["gaps"] else 0), asked.output
    evidence = json.loads(asked.stdout)["evidence"]
    assert {one["source"] for item in evidence for one in item["queries"]} == {str(halves[0]), served}
    told = run.invoke(app, ["info", *named, "-f", "json"])
    assert [one["name"] for one in json.loads(told.stdout)] == [str(halves[0]), served]
    refused = run.invoke(app, ["query", "SELECT * { ?s ?p ?o } LIMIT 1", *named])
    assert refused.exit_code == 2
    assert "load the graphs into one store" in refused.stderr


def test_E01_where_nothing_is_found_it_is_said_as_without_the_graph_that_is_not_there() -> None:
    url = f"http://127.0.0.1:{free_port()}/query"
    asked = ["ask", WRITTEN, "-k", str(LIBRARY), "--no-model", "--embedder", "none"]
    run = CliRunner()
    alone, done = run.invoke(app, asked), run.invoke(app, [*asked, "-k", url])
    assert (alone.exit_code, done.exit_code) == (3, 5)
    why = f"{url}: no connection: Connection refused"
    said = [f"      {why}; what it holds may be missing"]
    assert done.stdout.splitlines()[:-3] == [*alone.stdout.splitlines()[:-3], *said]
    assert "not found in the graph: 'Marie Curie'" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("partial · ")
    assert done.stderr.splitlines()[0] == f"error: {why} [E_ENDPOINT_DOWN]"
    assert done.stderr.count(url) == 1
    assert run.invoke(app, [*asked, "-k", url, "-f", "json", "-q"]).exit_code == 5


@pytest.mark.parametrize("after", [0, 18, 23])
def test_E22_an_answer_is_partial_wherever_a_graph_fails(wikibase: str, after: int) -> None:
    asked = ["ask", "Which notebooks were written by Marie Curie?", "-k", str(LIBRARY), "--fresh", "-q"]
    with Proxy(wikibase, lambda request: resets() if request.number >= after else None) as proxy:
        done = CliRunner().invoke(app, [*asked, "-k", proxy.url, "--no-model", "--embedder", "none", "-f", "json"])
        assert len(proxy.requests) > after
    answer = json.loads(done.stdout)
    assert (answer["status"], done.exit_code) == ("partial", 5)
    assert answer["error"]["code"] == "E_ENDPOINT_DOWN"
    assert (
        len([note for note in answer["notes"] if proxy.url in note["text"] and "looking for" not in note["text"]]) == 1
    )
    assert bool(answer["answers"]) is (after > 0)


def test_E22_a_triple_that_is_not_looked_up_again_is_cited_where_it_came_from(wikibase: str) -> None:
    with Proxy(wikibase) as proxy:
        graph = FederatedGraph([open_graph(LIBRARY), EndpointGraph(proxy.url)])
        knowledge = KnowledgeBase(graph, embedder="none")
        knowledge.session(WRITTEN, kgsparql.AskOptions())
        proxy.plan = first(then=resets(), only="VALUES (?subject ?predicate ?object)")
        answer = knowledge.ask("Who was the spouse of Marie Curie?")
    own = next(cited for item in answer.evidence for cited in item.triples if not cited.verified)
    assert (own.verified, [source.graph for source in own.sources]) == (None, [proxy.url])
    notes = [note for note in answer.notes if "looked up again" in note or proxy.url in note]
    lost = len({c.triple for item in answer.evidence for c in item.triples if not c.verified})
    assert notes == [
        f"{lost} cited triple{'s' * (lost > 1)} could not be looked up again",
        f"{proxy.url}: no reply: Connection reset by peer; what it holds may be missing",
    ]


def test_an_answer_of_a_file_is_checked_at_the_endpoint(run: Run, tmp_path: Path, nobel_url: str) -> None:
    file = tmp_path / "a.json"
    question = "How many children did Marie Curie have?"
    run("ask", question, "-k", NOBEL, "-q", "--no-model", "--embedder", "none", "-f", "json", "-o", file)
    done = run("check", file, "-k", nobel_url)
    assert done.exit_code == 0, done.output
    (tmp_path / "less.ttl").write_text(NOBEL.read_text().replace("dbr:Irène_Joliot-Curie, dbr:Ève", "dbr:Ève"))
    with oxigraph_serve(store_of(tmp_path / "less.ttl", tmp_path / "store")) as url:
        done = run("check", file, "-k", url)
    assert done.exit_code == 3, done.output
    assert "gone    dbr:Marie_Curie dbo:" in done.stdout
    done = run("check", file, "-k", f"http://127.0.0.1:{free_port()}/query")
    assert done.exit_code == 5
    assert "gone" not in done.output, "one that is down says nothing of triples"


def test_an_answer_over_two_graphs_is_checked_on_both(run: Run, tmp_path: Path, nobel_url: str) -> None:
    extra = tmp_path / "extra.ttl"
    extra.write_text(
        "@prefix dbr: <http://dbpedia.org/resource/> . @prefix : <http://e.org/> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'dbr:Warsaw :river :Vistula . :Vistula rdfs:label "Vistula" . :river rdfs:label "river" .'
    )
    file = tmp_path / "a.json"
    both = ["-k", nobel_url, "-k", extra]
    asked = ("ask", "On which river is the place of birth of Marie Curie?", "--no-model", "--embedder", "none", "-q")
    run(*asked, *both, "-f", "json", "-o", file)
    assert "Vistula" in json.dumps(json.loads(file.read_text())["evidence"])
    done = run("check", file, *both)
    assert done.exit_code == 0, done.output
    extra.write_text("<http://e.org/a> <http://e.org/b> 1 .")
    done = run("check", file, *both)
    assert done.exit_code == 3
    assert "gone    dbr:Warsaw <http://e.org/river> <http://e.org/Vistula>" in done.stdout
    assert done.stdout.count("gone    ") == 1
