"""The Python front door: whatever holds a graph is opened, asked, streamed, stopped, and seen to change."""

import copy
import dataclasses
import inspect
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph
import pyoxigraph as ox
import pytest
import rdflib

import kgsparql
from kgsparql import IRI, Literal, OxigraphGraph, Triple
from kgsparql.answering.answer_json import event_json
from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import (
    AmbiguousLabelError,
    CancelledError,
    GraphLoadError,
    InputError,
    NotFoundError,
    OptionError,
    PrefixError,
)
from kgsparql.events import Event, Finished, QueryRun
from kgsparql.graphs.rdflib_interop import quads_from_rdflib, to_rdflib, triples_to_rdflib
from kgsparql.graphs.stores import load_store
from tests.engines import WatchedGraph
from tests.world import BORN, FIXTURES, NOBEL


def test_whatever_holds_the_graph_the_answer_is_the_same(nobel: kgsparql.KnowledgeBase, tmp_path: Path) -> None:
    store = pyoxigraph.Store()
    store.load(path=str(NOBEL))
    expected = nobel.ask(BORN)
    assert expected.answers[0].label == "Warsaw"
    for source in (str(NOBEL), rdflib.Graph().parse(data=NOBEL.read_bytes(), format="turtle"), store):
        answer = kgsparql.open(source, embedder="none").ask(BORN)
        assert [a.label for a in answer.answers] == [a.label for a in expected.answers]
        assert [item.text for item in answer.evidence] == [item.text for item in expected.evidence]
    (tmp_path / "a.ttl").write_text("<http://e/a> <http://e/p> <http://e/b> .")
    (tmp_path / "b.nt").write_text("<http://e/b> <http://e/p> <http://e/c> .")
    found = kgsparql.open(tmp_path).paths(IRI("http://e/a"), IRI("http://e/c"))
    assert [len(path) for path in found.items] == [2], "a directory is all its files"


def test_retrieve_is_evidence_verified_without_an_answer_and_goes_back_to_rdflib(nobel: kgsparql.KnowledgeBase) -> None:
    found = nobel.retrieve(BORN)
    assert found.draft is None
    assert all(cited.verified for item in found.evidence for cited in item.triples)
    assert len(triples_to_rdflib(found.evidence.triples)) == len(found.evidence.triples) > 0


def test_events_are_numbered_and_the_last_carries_the_answer(nobel: kgsparql.KnowledgeBase) -> None:
    events: list[Event] = []
    nobel.ask(BORN, emit=events.append)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.at_s for event in events] == sorted(event.at_s for event in events)
    (last,) = [event for event in events if isinstance(event, Finished)]
    assert last is events[-1]
    assert event_json(last)["answer"]["question"] == BORN
    assert sum(isinstance(event, QueryRun) for event in events) == last.answer.usage["queries"]
    kinds = Event.__subclasses__()
    assert len({event_json(kind())["kind"] for kind in kinds}) == len({kind.__name__ for kind in kinds}) > 10


def test_a_question_that_is_stopped_raises(nobel: kgsparql.KnowledgeBase) -> None:
    cancel = threading.Event()
    with pytest.raises(CancelledError):
        nobel.ask(BORN, cancel=cancel, emit=lambda _: cancel.set())


def test_closing_ends_queries_and_questions_that_run() -> None:
    with kgsparql.open(NOBEL, embedder="none") as knowledge:
        assert knowledge.query("ASK { ?s ?p ?o }")
        begun, closed = threading.Event(), threading.Event()

        def wait(_: object) -> None:
            begun.set()
            closed.wait(20)

        endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
        ends: list[BaseException] = []

        def end_of(run: Callable[[], object]) -> None:
            try:
                run()
            except BaseException as error:  # noqa: BLE001 - looked at below
                ends.append(error)

        runs = (lambda: knowledge.query(endless, timeout_s=60), lambda: knowledge.ask(BORN, emit=wait))
        threads = [threading.Thread(target=end_of, args=(run,)) for run in runs]
        for thread in threads:
            thread.start()
        assert begun.wait(20)
        time.sleep(0.3)  # so that the query runs, too
    closed.set()
    for thread in threads:
        thread.join(20)
    assert [type(error) for error in ends] == [CancelledError, CancelledError]
    with knowledge:
        assert knowledge.query("ASK { ?s ?p ?o }")  # opened again


def test_names_resolve_to_iris_a_last_name_to_the_best_connected_and_said(nobel: kgsparql.KnowledgeBase) -> None:
    curie = IRI("http://dbpedia.org/resource/Marie_Curie")
    for name in ("Marie Curie", "dbr:Marie_Curie", curie.value, str(curie), " Marie Curie "):
        assert nobel.resolve(name) == curie
    for wrong, error in (("nope:x", PrefixError), ("Nobody", NotFoundError)):
        with pytest.raises(error):
            nobel.resolve(wrong)
    with pytest.raises(InputError, match="blank node"):
        nobel.resolve("_:b0")
    with pytest.raises(AmbiguousLabelError) as caught:
        kgsparql.open(FIXTURES / "corner_cases.trig").resolve("Springfield")
    assert len(caught.value.detail["candidates"]) == 3
    answer = nobel.ask("When was she born?", entities=("Marie Curie",))
    assert [link.matched for link in answer.linked] == ["given"]
    assert nobel.show("dbr:Marie_Curie").items == nobel.show(curie).items
    assert nobel.paths("Marie Curie", "Pierre Curie").items
    for question, label in (
        ("Where was Einstein born?", "Albert Einstein"),
        ("Which prizes did Curie win?", "Marie Curie"),
        ("What did Hemingway write?", "Ernest Hemingway"),
    ):
        answer = nobel.ask(question)
        assert [link.label for link in answer.linked] == [label]
        (note,) = [note for note in answer.notes if f"was taken to mean {label}" in note]
        assert ("to take another, add -e " in note) == bool(answer.linked[0].candidates)


def test_what_rdflib_allows_and_rdf_does_not_is_refused() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("http://e.org/a b"), rdflib.RDF.type, rdflib.Literal("x")))
    with pytest.raises(GraphLoadError, match="valid URI"):
        quads_from_rdflib(graph)
    graph = rdflib.Graph()
    graph.add((rdflib.Literal("x"), rdflib.RDF.type, rdflib.Literal("x")))
    with pytest.raises(GraphLoadError, match="subject of a triple must be"):
        quads_from_rdflib(graph)
    with pytest.raises(InputError, match="triple terms"):
        to_rdflib(Triple(IRI("http://e.org/a"), IRI("http://e.org/p"), IRI("http://e.org/b")))


def test_options_out_of_range_are_refused(nobel: kgsparql.KnowledgeBase) -> None:
    for option in ("max_hops", "paths_per_pair"):
        for value in (0, -1, 10**20):
            with pytest.raises(OptionError, match=f"{option}={value}"):
                nobel.ask(BORN, retriever="mindmap", options={option: value})
    with pytest.raises(OptionError, match="no option"):
        nobel.ask(BORN, options={"nope": 1})
    assert len([i for i in nobel.ask(BORN, options={"paths_kept": 1}).evidence if i.kind == "path"]) == 1


class _Forgetful(WatchedGraph):
    """A graph from which a triple vanishes between retrieval and verification."""

    def __init__(self, graph: kgsparql.OxigraphGraph, triple: Triple) -> None:
        super().__init__(graph)
        self.triple = triple

    def select(self, query: kgsparql.Query, timeout_s: float | None = None) -> kgsparql.Solutions:
        if query.name == "verify":
            self.graph.store.remove(pyoxigraph.Quad(self.triple.subject, self.triple.predicate, self.triple.object))
        return self.graph.select(query)


def test_an_answer_does_not_rest_on_a_triple_that_is_gone() -> None:
    ann, child, bob, cat = (IRI(f"http://e.org/{name}") for name in ("ann", "child", "bob", "cat"))
    for method in ("ask", "retrieve"):
        store = pyoxigraph.Store()
        store.extend([pyoxigraph.Quad(ann, child, bob), pyoxigraph.Quad(ann, child, cat)])
        store.add(pyoxigraph.Quad(ann, IRI("http://e.org/knows"), IRI("http://e.org/dan")))
        graph = _Forgetful(kgsparql.open_graph(store), Triple(ann, child, bob))
        knowledge = kgsparql.KnowledgeBase(graph, embedder="none")  # type: ignore[arg-type]
        made = getattr(knowledge, method)("Who is a child?", entities=(ann,))
        answers = made.answers if method == "ask" else made.candidates
        assert [a.label for a in answers] == ["dan"]
        assert {m for a in answers for m in a.markers} <= {item.marker for item in made.evidence}
        assert all("bob" not in item.text for item in made.evidence)
        assert method == "retrieve" or "bob" not in made.tree.mermaid()
        assert any("not in the graph any more" in note for note in made.notes)


def test_L41_namesakes_are_reported_with_their_iris(nobel: kgsparql.KnowledgeBase) -> None:
    corners = kgsparql.open(FIXTURES / "corner_cases.trig", embedder="none")
    (note,) = [note for note in corners.ask("Where is Springfield?").notes if "things are called" in note]
    assert note.startswith("3 things are called")
    assert note.count("springfield-") == 3
    for entity in ("rock", "evening-star", "Kind", "earth", "hub"):
        term = IRI(f"https://kgsparql.example/corner/{entity}")
        texts = [item.text for item in corners.ask("What is near?", entities=(term,)).evidence]
        assert len(texts) == len(set(texts))
    answer = nobel.ask("Who was Shroedingr?")
    assert answer.status == "no_entity"
    assert any("did you mean" in note and "Schr" in note for note in answer.notes)


def test_a_quoted_triple_is_no_end_of_a_way(tmp_path: Path) -> None:
    file = tmp_path / "quoted.ttl"
    file.write_text(
        """@prefix e: <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        e:alpha rdfs:label "Alpha" ; e:says <<( e:beta e:near e:gamma )>> ; e:near e:beta . e:beta rdfs:label "Beta" .
        """,
        encoding="utf-8",
    )
    knowledge = kgsparql.open(file, embedder="none")
    for retriever in ("path_ranking", "think_on_graph", "mindmap", "entity", "struct_gpt", "query_plan"):
        assert "Beta" in knowledge.ask("What is near Alpha?", retriever=retriever).text
        assert knowledge.ask("What does Alpha say?", retriever=retriever).error is None


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
        store, lambda: store.load(WIZARD.encode(), ox.RdfFormat.TURTLE),
        lambda: store.update(f"DELETE WHERE {{ {zorblax} ?p ?o }}"),
    )  # fmt: skip


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


LAMPS = """
@prefix e: <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
e:Lamp a rdfs:Class ; rdfs:label "lamp" . e:code rdfs:label "article code" . e:release rdfs:label "release" .
e:span rdfs:label "warranty" . e:price rdfs:label "price" . e:watts rdfs:label "power" .
e:a a e:Lamp ; rdfs:label "Orro" ; e:code "00712"^^xsd:integer ; e:release 1.10 ; e:span "PT36H"^^xsd:duration ;
  e:price 12.50 ; e:watts 1.5E3 .
e:b a e:Lamp ; rdfs:label "Vetch" ; e:code "815"^^xsd:integer ; e:price 12.5 .
"""


@pytest.mark.parametrize("is_stored", [False, True])
def test_values_are_shown_as_the_file_writes_them_compared_as_what_they_are(tmp_path: Path, is_stored: bool) -> None:
    source = tmp_path / "lamps.ttl"
    source.write_text(LAMPS, encoding="utf-8")
    if is_stored:
        load_store(source, tmp_path / "store")
        source = tmp_path / "store"
    with kgsparql.open(source, embedder="none") as lamps:
        for question, shown in {
            "What is the article code of Orro?": "00712",
            "What is the release of Orro?": "1.10",
            "What is the warranty of Orro?": "PT36H",
            "What is the power of Orro?": "1500",
            "What is the price of Vetch?": "12.5 (12.5, 12.50)",  # two spellings of one value: both are said
        }.items():
            answer = lamps.ask(question)
            assert kgsparql.render(answer).splitlines()[0] == f"{shown}  [P1]"
            assert f"→ {shown.partition(' ')[0]}" in next(iter(answer.evidence)).text
        assert lamps.ask("What is the article code of Orro?").answers[0].term == Literal(712)
        assert lamps.ask("Which lamp has the article code 712?").answers[0].label == "Orro"
        assert lamps.ask("How many lamps have a price of 12.50?").value.value == "2"


@dataclass(frozen=True, slots=True)
class Value:
    name: str
    numbers: tuple[int, ...] = ()
    made: list[int] = field(default_factory=list, compare=False)
    shown: float = field(default=0.5, kw_only=True)
    hidden: str = field(default="x", init=False, repr=False)


def test_a_value_is_made_compared_shown_and_copied() -> None:
    value = Value("a", (1,), shown=1.0)
    assert repr(value) == "Value(name='a', numbers=(1,), made=[], shown=1.0)"
    assert value == Value("a", (1,), [7], shown=1.0) != Value("a", (1,))
    assert len({value, Value("a", (1,), [7], shown=1.0)}) == 1
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value  # noqa: S301
    assert replace(value, name="b") == Value("b", (1,), shown=1.0)
    assert dataclasses.asdict(value)["hidden"] == "x"
    assert list(inspect.signature(Value).parameters) == ["name", "numbers", "made", "shown"]
    assert Value("a").made is not Value("a").made
