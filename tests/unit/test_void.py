"""What ``kgsparql info -f void`` says of a graph is true of it, has the promised shape, and claims nothing it cut."""

from collections import Counter
from pathlib import Path

import pytest
import rdflib

import kgsparql
from kgsparql.exploration import counting
from kgsparql.exploration.counting import turtle, void_triples
from tests.conftest import ROOT
from tests.serving.sparql_server import sparql_server

NOBEL = ROOT / "fixtures" / "nobel.ttl"
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
