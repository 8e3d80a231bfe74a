"""What changed in a graph of this process is seen by the next question: names, classes and predicates."""

from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

import kgsparql
from kgsparql.errors import GraphLoadError
from kgsparql.graphs import OxigraphGraph
from kgsparql.rdf.terms import IRI, Literal
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
D, O = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"  # noqa: E741
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
WIZARD = f"""
<{D}Zorblax> <{LABEL}> "Zorblax Quimby"@en ; a <{O}Wizard> ; <{O}birthPlace> <{D}Warsaw> ; <{O}apprentice> <{D}Wuffle> .
<{D}Wuffle> <{LABEL}> "Wuffle Bimble"@en ; a <{O}Wizard> .
<{O}Wizard> <{LABEL}> "wizard"@en ; a <http://www.w3.org/2002/07/owl#Class> .
<{O}apprentice> <{LABEL}> "apprentice"@en ; a <http://www.w3.org/2002/07/owl#ObjectProperty> .
"""
ASKED = ("Where was Zorblax Quimby born?", "How many wizards are there?", "Who is the apprentice of Zorblax Quimby?")
FOUND = ["Warsaw", "2", "Wuffle Bimble"]


def firsts(knowledge: kgsparql.KnowledgeBase, questions: tuple[str, ...] = ASKED) -> list[str]:
    """The first answer to each question; empty where there is none."""
    return [answer.answers[0].label if (answer := knowledge.ask(q)).answers else "" for q in questions]


def of_store() -> tuple[ox.Store, Callable[[], None], Callable[[], None]]:
    store = ox.Store()
    store.load(path=str(NOBEL))
    zorblax = IRI(f"{D}Zorblax")
    return (
        store,
        lambda: store.load(WIZARD.encode(), ox.RdfFormat.TURTLE),
        lambda: store.update(f"DELETE WHERE {{ {zorblax} ?p ?o }}"),
    )


def of_rdflib() -> tuple[rdflib.Graph, Callable[[], None], Callable[[], None]]:
    graph = rdflib.Graph().parse(NOBEL)

    def add() -> None:
        graph.parse(data=WIZARD, format="turtle")

    def remove() -> None:
        graph.remove((rdflib.URIRef(f"{D}Zorblax"), None, None))

    return graph, add, remove


@pytest.mark.parametrize("made", [of_store, of_rdflib])
def test_a_live_graph_is_asked_as_it_is_now(
    made: Callable[[], tuple[ox.Store | rdflib.Graph, Callable[[], None], Callable[[], None]]],
) -> None:
    graph, add, remove = made()
    knowledge = kgsparql.open(graph, embedder="none")
    assert firsts(knowledge, (*ASKED, "How many scientists are there?"))[:3] == ["", "", ""]
    before, ranked = knowledge.graph, firsts(knowledge, ("Where was Marie Curie born?",))
    assert knowledge.graph is before  # nothing is read again where nothing changed
    add()
    assert firsts(knowledge) == FOUND
    assert bool(knowledge.query(f"ASK {{ <{D}Zorblax> a <{O}Wizard> }}"))
    remove()
    assert firsts(knowledge, ASKED[:2]) == ["", "1"]
    assert firsts(knowledge, ("Where was Marie Curie born?",)) == ranked


def test_a_name_that_takes_the_place_of_another_is_seen_though_nothing_is_more_or_less() -> None:
    store, add, _ = of_store()
    add()
    knowledge = kgsparql.open(store, embedder="none")
    assert firsts(knowledge) == FOUND
    store.update(
        f'DELETE {{ ?s <{LABEL}> ?l }} INSERT {{ ?s <{LABEL}> "Trogdor" }} '
        f'WHERE {{ ?s <{LABEL}> ?l, "Zorblax Quimby"@en }}'
    )
    assert firsts(knowledge, ("Where was Trogdor born?", *ASKED[:1])) == ["Warsaw", ""]


def test_what_was_counted_of_many_quads_is_counted_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    store, add, _ = of_store()
    add()
    monkeypatch.setattr("kgsparql.graphs.oxigraph._MOST_COUNTING_S", 0.0)
    monkeypatch.setattr(
        "kgsparql.graphs.oxigraph.time.perf_counter", iter([0.0, 1.0, 2.0, 3.0, 60.0, 61.0, 62.0, 63.0]).__next__
    )
    graph = OxigraphGraph(store, name="many", fingerprint=None)
    store.remove(next(store.quads_for_pattern(IRI(f"{D}Warsaw"), None, None)))
    assert graph.refreshed() is graph
    store.add(ox.Quad(IRI(f"{D}Warsaw"), IRI(LABEL), Literal("Varsovia")))
    assert graph.refreshed() is not graph  # of what is new, the newest are looked at each time
    assert OxigraphGraph(store, name="many", fingerprint="0").refreshed().is_as_loaded


def test_a_dataset_of_rdflib_with_one_triple_in_two_graphs_is_followed() -> None:
    dataset = rdflib.Dataset()
    for name in ("a", "b"):
        dataset.graph(rdflib.URIRef(f"http://e.org/{name}")).parse(data=WIZARD, format="turtle")
    knowledge = kgsparql.open(dataset, embedder="none")
    assert firsts(knowledge, ASKED[2:]) == FOUND[2:]
    added = (rdflib.URIRef(f"{D}Trogdor"), rdflib.RDFS.label, rdflib.Literal("Trogdor"))
    dataset.default_graph.add(added)
    dataset.default_graph.add((added[0], rdflib.URIRef(f"{O}apprentice"), rdflib.URIRef(f"{D}Wuffle")))
    assert firsts(knowledge, ("Who is the apprentice of Trogdor?",)) == ["Wuffle Bimble"]
    dataset.default_graph.add((added[0], rdflib.RDFS.comment, rdflib.URIRef("not an IRI")))
    with pytest.raises(GraphLoadError, match="not an IRI"):
        knowledge.ask("Who is the apprentice of Trogdor?")


def test_a_file_is_read_again_when_that_is_asked_for_and_what_is_no_rdf_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "nobel.ttl"
    file.write_bytes(NOBEL.read_bytes())
    knowledge = kgsparql.open(file, embedder="none")
    file.write_bytes(NOBEL.read_bytes() + WIZARD.encode())
    assert firsts(knowledge) == ["", "", ""]
    knowledge.refresh()
    assert firsts(knowledge) == FOUND
    assert bool(knowledge.query(f"ASK {{ <{D}Zorblax> a <{O}Wizard> }}"))
    file.write_text("nonsense", encoding="utf-8")
    with pytest.raises(GraphLoadError):
        knowledge.refresh()
    assert firsts(knowledge) == FOUND
