"""Answers as queries, as RDF and as kept files: each says the same."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyoxigraph
import pytest
import rdflib

import kgsparql
from kgsparql import Answer, LanguageModel, OxigraphGraph, render
from kgsparql.answering.kept_answers import kept_answer
from kgsparql.answering.recheck import recheck
from kgsparql.evidence.evidence import has_a_name
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.rendering.answer_rdf import answer_to_trig
from tests.deep import DEEP
from tests.model_server import ModelServer
from tests.scripted import ask, by_call, chose, reading_with
from tests.world import FEYNMAN, FIXTURES, NOBEL, PASSED, ROOT, XSD

ASKED = {
    "Where was Marie Curie born?": "fact", "Which people were born in Warsaw?": "the other way",
    "Who shared a prize with Marie Curie?": "there and back", "How many Nobel laureates are there?": "count",
    "Was Marie Curie born in Warsaw?": "yes or no", "Is Marie Curie older than Pierre Curie?": "comparison",
    "Who is the oldest laureate?": "superlative", "Which laureates have no spouse?": "absence",
    "List the laureates and their birth dates.": "two columns",
    "How many laureates were born in each country?": "groups",
    "How many years older is Pierre Curie than Marie Curie?": "difference",
    "What is the mass of Marie Curie?": "doubted",
}  # fmt: skip
COLUMNS = {"two columns": 2, "groups": 2}


def rows_of(store: pyoxigraph.Store, query: str) -> set[tuple[str, ...]]:
    found = store.query(query)
    if isinstance(found, pyoxigraph.QueryBoolean):
        return {(str(kgsparql.Literal(value=bool(found))),)}
    assert isinstance(found, pyoxigraph.QuerySolutions)
    return {tuple(map(str, solution)) for solution in found}


def store_of(file: Path) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(path=file)
    return store


def test_the_query_of_an_answer_gives_its_rows_and_no_other_columns(nobel: kgsparql.KnowledgeBase) -> None:
    store = store_of(FIXTURES / "nobel.ttl")
    for question, kind in ASKED.items():
        answer = nobel.ask(question)
        query = kgsparql.render(answer, "sparql")
        rows = {(str(one.term),) for one in answer.best}
        if answer.computed is not None:
            rows = {tuple(map(str, row)) for row in answer.computed.rows}
        assert rows_of(store, query) == rows, kind
        assert {len(row) for row in rows} == {COLUMNS.get(kind, 1)}, kind
        assert query.split()[0] == ("ASK" if answer.type == "boolean" else "SELECT"), kind
        assert "PREFIX" not in query, kind
        assert not any(line.startswith("#") for line in query.splitlines()), kind


def test_what_a_model_chose_among_is_what_its_query_finds(nobel: kgsparql.KnowledgeBase) -> None:
    chosen = ask(nobel, "Where was Marie Curie born?", reading_with("Marie Curie —studied at→"), trust=PASSED).answer
    found = rows_of(store_of(FIXTURES / "nobel.ttl"), kgsparql.render(chosen, "sparql"))
    assert found == {("<http://dbpedia.org/resource/University_of_Paris>",)}


def test_what_is_met_on_the_way_along_a_path_is_what_its_query_finds(nobel: kgsparql.KnowledgeBase) -> None:
    answer = nobel.ask("Which doctoral students of Max Born never got a Nobel Prize?")
    found = rows_of(store_of(FIXTURES / "nobel.ttl"), kgsparql.render(answer, "sparql"))
    assert {row[0] for row in found} <= {str(one.term) for one in answer.best}
    assert found


PREFIXES = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX schema: <http://schema.org/> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX kgs: <https://w3id.org/kgsparql#> PREFIX sh: <http://www.w3.org/ns/shacl#>
"""
COMPUTED = {
    "computed": "How many children did Marie Curie have?", "yes or no": "Was Linus Pauling born in Germany?",
    "items": "Name the three oldest universities.", "table": "For each author, the number of books.",
}  # fmt: skip
UNKNOWN = "Who painted Xyzzyplugh?"


@pytest.fixture(scope="module")
def answers(nobel: kgsparql.KnowledgeBase) -> dict[str, Answer]:
    """An answer of each kind."""
    script, made = by_call(reading=chose(1)), {}
    with ModelServer(script) as server, LanguageModel("a model", OpenAIClient(server.url)) as model:
        made["cited"] = nobel.ask(FEYNMAN, model=model, retriever="mindmap")
        made["not in the graph"] = nobel.ask(UNKNOWN, model=model, retriever="mindmap")
    made["no model"] = nobel.ask(FEYNMAN)
    made["passages"] = nobel.ask("Who was Marie Curie?", retriever="entity")
    made["no entity"] = nobel.ask(UNKNOWN)
    made["unsure"] = nobel.ask("Is Ève Curie a child of Marie Curie?", retriever="path_ranking")
    for kind, question in COMPUTED.items():
        made[kind] = nobel.ask(question)
    return made


def loaded(answer: Answer) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(answer_to_trig(answer).encode(), pyoxigraph.RdfFormat.TRIG)
    return store


def holds(store: pyoxigraph.Store, pattern: str) -> bool:
    return bool(store.query(f"{PREFIXES} ASK {{ {pattern} }}"))


def select(store: pyoxigraph.Store, pattern: str) -> list[str]:
    rows = store.query(f"{PREFIXES} SELECT DISTINCT ?x {{ {pattern} }} ORDER BY ?x")
    return [row["x"].value for row in rows]  # type: ignore[union-attr,index]


def test_an_answer_is_derived_from_what_it_cites_and_nothing_else(answers: dict[str, Answer]) -> None:
    answer, store = answers["cited"], loaded(answers["cited"])
    assert answer.cited == ("P1",)
    assert select(store, "?a schema:citation/kgs:marker ?x") == ["P1"]
    others = sorted(item.marker for item in answer.evidence if item.marker != "P1")
    assert select(store, "?a kgs:retrieved/kgs:marker ?x") == others
    assert holds(store, '?q schema:acceptedAnswer ?a . ?a kgs:grounding "graph" ; schema:parentItem ?q')
    assert select(store, "?a prov:wasAttributedTo ?agent . ?agent a prov:SoftwareAgent ; schema:name ?x") == ["a model"]
    (graph,) = select(store, "?a prov:wasDerivedFrom ?x")
    triples = {quad.triple for quad in store.quads_for_pattern(None, None, None, pyoxigraph.NamedNode(graph))}
    assert triples == {cited.triple for cited in answer.evidence["P1"].triples}
    (rest,) = select(store, "GRAPH ?x { ?s ?p ?o } FILTER(STRENDS(STR(?x), '#retrieved'))")
    found = {quad.triple for quad in store.quads_for_pattern(None, None, None, pyoxigraph.NamedNode(rest))}
    assert found | triples == set(answer.evidence.triples)


def test_only_what_somebody_chose_is_an_accepted_answer(answers: dict[str, Answer]) -> None:
    for kind in ("not in the graph", "no entity"):
        store = loaded(answers[kind])
        assert holds(store, f'?a schema:parentItem ?q ; kgs:status "{answers[kind].status}"')
        for name in ("schema:acceptedAnswer", "prov:wasDerivedFrom", "prov:wasAttributedTo"):  # the words are ours
            assert not holds(store, f"?a {name} ?x")
    accepted = {"cited": "accepted", "no model": "suggested", "unsure": "suggested"}
    for kind in (*accepted, "no entity"):
        store = loaded(answers[kind])
        there = [name for name in ("accepted", "suggested") if holds(store, f"?q schema:{name}Answer ?a")]
        assert there == ([accepted[kind]] if kind in accepted else [])


def test_what_was_computed_is_a_value_beside_its_plan_and_query(answers: dict[str, Answer]) -> None:
    universities = ("University_of_Cambridge", "Sapienza_University_of_Rome", "University_of_Pisa")
    for kind, values in {
        "computed": {f'"2"^^<{XSD}integer>'}, "yes or no": {f'"false"^^<{XSD}boolean>'},
        "items": {f"<http://dbpedia.org/resource/{name}>" for name in universities}, "table": set(), "no model": set(),
    }.items():  # fmt: skip
        answer, store = answers[kind], loaded(answers[kind])
        for of in ("?a schema:parentItem ?q ; schema:value ?x", '?i kgs:marker "Q1" ; schema:value ?x'):
            rows = store.query(f"{PREFIXES} SELECT ?x {{ {of} }}")
            assert {str(row["x"]) for row in rows} == values  # type: ignore[union-attr,index]
        if answer.computed is not None:
            item = '?a schema:citation ?i . ?i a kgs:EvidenceComputation ; kgs:marker "Q1" ;'
            assert select(store, f"{item} sh:select ?x") == [answer.computed.query.shown]
            assert select(store, f"{item} schema:text ?x") == [answer.evidence["Q1"].text]
    uncited = loaded(replace(answers["computed"], answers=(), claims=(), status="not_in_graph"))
    assert select(uncited, "?i a kgs:EvidenceComputation ; schema:value ?x") == ["2"], "that of its item alone"
    assert not holds(uncited, "?a schema:parentItem ?q ; schema:value ?x")


def test_every_term_of_our_own_is_in_the_vocabulary(answers: dict[str, Answer]) -> None:
    vocabulary = pyoxigraph.Store()
    vocabulary.load(path=str(ROOT / "ontologies" / "kgsparql.ttl"))
    declared = {quad.subject for quad in vocabulary}
    for answer in answers.values():
        used = {term for quad in loaded(answer) for term in (quad.predicate, quad.object)}
        ours = {t for t in used if isinstance(t, pyoxigraph.NamedNode) and t.value.startswith("https://w3id.org/")}
        assert ours
        assert ours <= declared


def wrong(answer: Answer) -> Iterator[str]:
    """The answer with one thing made wrong."""
    right = answer_to_trig(answer)
    yield right.replace('kgs:grounding "graph"', 'kgs:grounding "model"')
    yield right.replace('kgs:status "answered"', 'kgs:status "not_in_graph"')
    yield right.replace('kgs:marker "P1"', 'kgs:marker "first"')
    yield answer_to_trig(replace(answer, text=""))
    yield answer_to_trig(replace(answer, graphs=()))
    yield right.replace("schema:position", "schema:rank")


def conforms(trig: str) -> bool:
    """Whether an answer has the shape that is promised."""
    pyshacl = pytest.importorskip("pyshacl")
    said = rdflib.Graph()
    for quad in pyoxigraph.parse(trig.encode(), pyoxigraph.RdfFormat.TRIG):
        if isinstance(quad.graph_name, pyoxigraph.DefaultGraph):
            said.parse(data=f"{quad.triple} .", format="nt")
    return bool(pyshacl.validate(said, shacl_graph=rdflib.Graph().parse(ROOT / "ontologies" / "shapes.ttl"))[0])


def test_every_kind_of_answer_has_the_shape_that_is_promised(answers: dict[str, Answer]) -> None:
    for kind, answer in answers.items():
        assert conforms(answer_to_trig(answer)), kind
    assert not any(conforms(trig) for trig in wrong(answers["cited"]))
    assert conforms(answer_to_trig(replace(answers["unsure"], grounding="mixed")))
    unsure = answer_to_trig(answers["unsure"])
    assert not conforms(unsure.replace("schema:suggestedAnswer", "schema:acceptedAnswer"))


QUESTIONS = [
    json.loads(line)["question"]
    for name in ("nobel_questions", "computed_questions")
    for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines()
]


def changeable() -> OxigraphGraph:
    """Return the graph as a store made in Python, which may change."""
    graph = kgsparql.open(NOBEL, embedder="none").graph
    assert isinstance(graph, OxigraphGraph)
    return OxigraphGraph(graph.store, name=graph.name, fingerprint=None)


@pytest.mark.parametrize("question", QUESTIONS[:: 10 if DEEP else 25])  # each starts processes
def test_an_answer_stands_until_what_it_cites_is_gone(nobel: kgsparql.KnowledgeBase, question: str) -> None:
    graph, kept = changeable(), kept_answer(render(nobel.ask(question), "json"))
    found = recheck(kept, graph)
    assert found.stands
    assert found.is_whole
    named = [*filter(has_a_name, kept.cited)]
    if not named:  # a no rests on what is not there
        assert not kept.cited
        return
    lost = named[len(question) % len(named)]
    for quad in list(graph.store.quads_for_pattern(*lost, None)):
        graph.store.remove(quad)
    found = recheck(kept, graph)
    assert (found.gone, found.stands) == ((lost,), False)
