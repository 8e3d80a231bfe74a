"""What is counted over a whole graph: as long as it is kept, and what ``kgsparql info -f void`` says of it."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyoxigraph
import pytest
import rdflib

import kgsparql
from kgsparql import OxigraphGraph, Query, Solutions, open_graph
from kgsparql.exploration import counting
from kgsparql.exploration.counting import COUNTS, counted, turtle, void_triples
from kgsparql.resources import cache_directory
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache
from tests.serving.sparql_server import sparql_server
from tests.world import NOBEL, ROOT

TWO = '<http://e.org/a> a <http://e.org/C> ; <http://e.org/p> "x" . <http://e.org/b> a <http://e.org/C> .'
CLASSES = Query.load("info_classes")


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(counting, "_KEPT_S", 0.0)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))


def graph(tmp_path: Path, text: str = TWO) -> OxigraphGraph:
    file = tmp_path / "data.ttl"
    file.write_text(text, encoding="utf-8")
    opened = open_graph(file)
    assert isinstance(opened, OxigraphGraph)
    return opened


def number_kept() -> int:
    with ResponseCache(cache_directory() / RESPONSE_FILE) as cache:
        return cache.summary().get(COUNTS, (0,))[0]


def numbers(found: Solutions) -> list[str]:
    return [s["count"].value for s in found]  # type: ignore[union-attr]


def refused(_: Query) -> Solutions:
    raise AssertionError("it is counted again")


def test_what_was_counted_is_not_counted_again_but_other_content_and_other_queries_are(tmp_path: Path) -> None:
    first = counted(graph(tmp_path), CLASSES)
    assert [str(s["term"]) for s in first] == ["<http://e.org/C>"]
    assert numbers(first) == ["2"]
    again = counted(graph(tmp_path), CLASSES, refused)
    assert (again.variables, list(again)) == (first.variables, list(first))
    assert numbers(counted(graph(tmp_path, TWO + " <http://e.org/c> a <http://e.org/C> ."), CLASSES)) == ["3"]
    counted(graph(tmp_path), Query.load("info_triples"))
    assert number_kept() == 3


@pytest.mark.parametrize("damage", ["substr(reply, 1, 9)", "replace(reply, '2', '3')", "'{}'"])
def test_what_was_damaged_is_counted_again(damage: str, tmp_path: Path) -> None:
    first = counted(graph(tmp_path), CLASSES)
    with closing(sqlite3.connect(cache_directory() / RESPONSE_FILE)) as connection, connection:
        connection.execute(f"UPDATE exchange SET reply = {damage}")  # noqa: S608 - ours
    assert list(counted(graph(tmp_path), CLASSES)) == list(first)
    assert list(counted(graph(tmp_path), CLASSES, refused)) == list(first)  # and kept whole again


def test_a_graph_that_its_owner_may_change_is_counted_each_time() -> None:
    store = pyoxigraph.Store()
    store.load(TWO.encode(), pyoxigraph.RdfFormat.TURTLE)
    knowledge = kgsparql.open(store, embedder="none")
    before = knowledge.info()["classes"][0]["count"]
    store.load(b"<http://e.org/c> a <http://e.org/C> .", pyoxigraph.RdfFormat.TURTLE)
    assert (before, knowledge.info()["classes"][0]["count"]) == (2, 3)
    assert number_kept() == 0


def test_where_nothing_can_be_kept_it_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(blocked))
    assert kgsparql.open(tmp_path / "data.ttl", embedder="none").info()["classes"][0]["count"] == 2


@pytest.mark.parametrize("named", ["", "<http://e.org/g2>", "_:g"])
def test_info_of_a_graph_in_this_process_is_that_of_its_queries(tmp_path: Path, named: str) -> None:
    """It is put together from fewer queries than an endpoint needs; what is in two graphs counts once."""
    file = tmp_path / "data.nq"
    triples = ["<http://e.org/a> a <http://e.org/C>", '<http://e.org/a> <http://e.org/p> "x"', "<http://e.org/b> a _:c"]
    lines = [f"{triple} {graph} ." for triple in triples for graph in {"", "<http://e.org/g1>", named}]
    file.write_text("\n".join(lines).replace(" a ", " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "))
    opened = open_graph(file)
    found = kgsparql.KnowledgeBase(opened, embedder="none").info()
    (triples_found,) = opened.select(Query.load("info_triples_distinct"))
    assert str(found["triples"]) == triples_found["count"].value == "3"  # type: ignore[union-attr]
    commonest = opened.select(Query.load("info_predicates_distinct"))
    assert [(p["term"], str(p["count"])) for p in found["predicates"]] == [
        (str(s["term"]), s["count"].value)  # type: ignore[union-attr]
        for s in commonest
    ]
    graphs = opened.select(Query.load("info_graphs"))
    assert found["named_graphs"] == [str(s["graph"]) for s in graphs]
    assert [kind["term"] for kind in found["classes"]] == ["<http://e.org/C>"]


GRAPHS = (NOBEL, ROOT / "fixtures" / "queries" / "people.ttl")
VOID = rdflib.Namespace("http://rdfs.org/ns/void#")
SD = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")


def described(*sources: object, served_at: str = "", notes: list[str] | None = None) -> rdflib.Graph:
    graph = kgsparql.open(*sources, embedder="none").graph  # type: ignore[arg-type]
    note = (lambda _: None) if notes is None else notes.append
    return rdflib.Graph().parse(data=turtle(void_triples(graph, served_at=served_at, note=note)), format="turtle")


def conforms(data: rdflib.Graph) -> bool:
    pyshacl = pytest.importorskip("pyshacl")
    shapes = rdflib.Graph().parse(ROOT / "ontologies" / "shapes.ttl")
    return bool(pyshacl.validate(data, shacl_graph=shapes)[0])


def value(data: rdflib.Graph, predicate: rdflib.URIRef) -> int | None:
    dataset = data.value(predicate=rdflib.RDF.type, object=VOID.Dataset)
    found = data.value(dataset, predicate)
    return None if found is None else int(found)


def partitions(data: rdflib.Graph, kind: str, number: str) -> dict[str, int]:
    parts = data.objects(None, VOID[f"{kind}Partition"])
    return {str(data.value(part, VOID[kind])): int(data.value(part, VOID[number])) for part in parts}


@pytest.mark.parametrize("file", GRAPHS, ids=lambda file: file.name)
def test_every_number_is_that_of_the_graph(file: Path) -> None:
    data, graph = described(file), rdflib.Graph().parse(file)
    assert conforms(data)
    assert value(data, VOID.triples) == len(graph)
    predicates = Counter(str(predicate) for predicate in graph.predicates())
    assert partitions(data, "property", "triples") == predicates
    assert value(data, VOID.properties) == len(predicates)
    classes = Counter(str(o) for o in graph.objects(None, rdflib.RDF.type) if isinstance(o, rdflib.URIRef))
    assert partitions(data, "class", "entities") == classes
    assert value(data, VOID.classes) == len(classes)
    assert next(data.objects(None, rdflib.DCTERMS["title"])) == rdflib.Literal(file.name)
    assert not list(data.objects(None, VOID.sparqlEndpoint))


def test_what_was_cut_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PARTITIONS", 3)
    notes: list[str] = []
    data = described(NOBEL, notes=notes)
    assert conforms(data)
    assert value(data, VOID.triples) == len(rdflib.Graph().parse(NOBEL))
    assert len(partitions(data, "class", "entities")) == len(partitions(data, "property", "triples")) == 3
    for claim in (VOID.classes, VOID.properties):
        assert value(data, claim) is None
    assert [note for note in notes if note.startswith("cut: classes")]


def test_an_endpoint_is_a_service_with_the_same_counts() -> None:
    with sparql_server(kgsparql.open(NOBEL, embedder="none")) as served:
        data = described(served.url)
        assert conforms(data)
        assert list(data.objects(None, VOID.sparqlEndpoint)) == [rdflib.URIRef(served.url)]
        (service,) = data.subjects(rdflib.RDF.type, SD.Service)
        assert (service, SD.endpoint, rdflib.URIRef(served.url)) in data
    near = described(NOBEL)
    for kind, number in (("class", "entities"), ("property", "triples")):
        assert partitions(data, kind, number) == partitions(near, kind, number)


def test_the_shapes_find_what_is_wrong() -> None:
    text = turtle(void_triples(kgsparql.open(NOBEL, embedder="none").graph, served_at="http://127.0.0.1:1/sparql"))
    assert conforms(rdflib.Graph().parse(data=text, format="turtle"))
    for right, wrong in (
        ("void:triples 3534 ;", "void:triples 3534 , 3535 ;"),
        ("void:triples 3534 ;", 'void:triples "many" ;'),
        ("void:entities 124", "void:entities 0"),
        ("void:class ", "void:property "),
        ("sd:SPARQL11Query", "sd:SPARQL11Update"),
        ("sd:endpoint ", "sd:name "),
    ):
        assert right in text
        assert not conforms(rdflib.Graph().parse(data=text.replace(right, wrong), format="turtle")), wrong


def test_hostile_and_odd_terms_are_written_as_rdf(tmp_path: Path) -> None:
    file = tmp_path / 'a\n<b> ".nt'
    file.write_text('<urn:a> <urn:p> "</script>" .\n<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> _:c .\n')
    data = described(file)
    assert conforms(data)
    assert partitions(data, "class", "entities") == {}
    assert str(next(data.objects(None, rdflib.DCTERMS["title"]))).endswith(".nt")
    empty = tmp_path / "empty.ttl"
    empty.write_text("")
    assert value(described(empty), VOID.triples) == 0
