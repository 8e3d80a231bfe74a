"""Answers as RDF: what an answer is derived from, what was only found, and who wrote it."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version

import pyoxigraph
import pytest
import rdflib

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.rendering.answer_rdf import answer_to_trig
from tests.conftest import ROOT, open_nobel
from tests.model_server import ModelServer
from tests.scripted import by_call, chose

XSD = "http://www.w3.org/2001/XMLSchema#"
QUESTION = "Which scientists worked at the same institution as Richard Feynman?"
PREFIXES = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX schema: <http://schema.org/> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX kgs: <https://w3id.org/kgsparql#> PREFIX sh: <http://www.w3.org/ns/shacl#>
"""
COMPUTED = {
    "computed": "How many children did Marie Curie have?",
    "yes or no": "Was Linus Pauling born in Germany?",
    "items": "Name the three oldest universities.",
    "table": "For each author, the number of books.",
}
UNKNOWN = "Who painted Xyzzyplugh?"


@pytest.fixture(scope="module")
def answers(nobel: kgsparql.KnowledgeBase) -> dict[str, Answer]:
    """An answer of each kind."""
    script, made = by_call(reading=chose(1), **{"closed book": {"answer": "It was somebody else."}}), {}
    with ModelServer(script) as server, LanguageModel("a model", OpenAIClient(server.url)) as model:
        made["cited"] = nobel.ask(QUESTION, model=model, retriever="mindmap")
        made["memory"] = nobel.ask(UNKNOWN, model=model, retriever="mindmap", allow_model_knowledge=True)
        made["not in the graph"] = nobel.ask(UNKNOWN, model=model, retriever="mindmap")
    made["no model"] = nobel.ask(QUESTION)
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


def ask(store: pyoxigraph.Store, pattern: str) -> bool:
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
    assert ask(store, '?q schema:acceptedAnswer ?a . ?a kgs:grounding "graph" ; schema:parentItem ?q')
    assert select(store, "?a prov:wasAttributedTo ?agent . ?agent a prov:SoftwareAgent ; schema:name ?x") == ["a model"]
    (graph,) = select(store, "?a prov:wasDerivedFrom ?x")
    triples = {quad.triple for quad in store.quads_for_pattern(None, None, None, pyoxigraph.NamedNode(graph))}
    assert triples == {cited.triple for cited in answer.evidence["P1"].triples}
    (rest,) = select(store, "GRAPH ?x { ?s ?p ?o } FILTER(STRENDS(STR(?x), '#retrieved'))")
    found = {quad.triple for quad in store.quads_for_pattern(None, None, None, pyoxigraph.NamedNode(rest))}
    assert found | triples == set(answer.evidence.triples)


def test_what_a_model_remembers_is_derived_from_nothing(answers: dict[str, Answer]) -> None:
    answer, store = answers["memory"], loaded(answers["memory"])
    assert (answer.status, answer.grounding, answer.cited) == ("no_entity", "model", ())
    assert ask(store, '?a kgs:grounding "model" ; prov:wasAttributedTo/schema:name "a model"')
    assert not ask(store, "?a prov:wasDerivedFrom ?x")
    assert not ask(store, "?a schema:citation ?x")
    assert not ask(store, "GRAPH ?g { ?s ?p ?o } FILTER(STRENDS(STR(?g), '#evidence'))")


def test_only_what_somebody_chose_is_an_accepted_answer(answers: dict[str, Answer]) -> None:
    for kind in ("not in the graph", "no entity"):
        store = loaded(answers[kind])
        assert ask(store, f'?a schema:parentItem ?q ; kgs:status "{answers[kind].status}"')
        for name in ("schema:acceptedAnswer", "prov:wasDerivedFrom", "prov:wasAttributedTo"):  # the words are ours
            assert not ask(store, f"?a {name} ?x")
    accepted = {"cited": "accepted", "no model": "suggested", "unsure": "suggested"}
    for kind in (*accepted, "memory", "no entity"):
        store = loaded(answers[kind])
        there = [name for name in ("accepted", "suggested") if ask(store, f"?q schema:{name}Answer ?a")]
        assert there == ([accepted[kind]] if kind in accepted else [])


def test_how_the_answer_came_about(answers: dict[str, Answer]) -> None:
    answer, store = answers["cited"], loaded(answers["cited"])
    assert select(store, "?a prov:wasGeneratedBy/prov:wasAssociatedWith/schema:name ?x") == ["a model", "kgsparql"]
    assert select(store, "?a prov:wasGeneratedBy/prov:used/schema:name ?x") == ["nobel.ttl"], (
        "its name, and not where it lies"
    )
    (digest,) = select(store, "?a prov:wasGeneratedBy/prov:used/schema:identifier ?x")
    assert digest == f"fingerprint:{open_nobel().graph.fingerprint}"
    assert select(store, "?a schema:parentItem ?q . ?s schema:softwareVersion ?x") == [version("kgsparql")]
    assert not ask(store, "?a prov:endedAtTime ?x"), "the same bytes each time"
    timed = pyoxigraph.Store()
    timed.load(answer_to_trig(answer, at="2026-11-22T10:00:00+00:00").encode(), pyoxigraph.RdfFormat.TRIG)
    assert select(timed, "?a prov:wasGeneratedBy/prov:endedAtTime ?x") == ["2026-11-22T10:00:00Z"]


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
    assert not ask(uncited, "?a schema:parentItem ?q ; schema:value ?x")


def test_candidates_have_their_rank_and_their_evidence(answers: dict[str, Answer]) -> None:
    answer, store = answers["no model"], loaded(answers["no model"])
    for rank, found in enumerate(answer.answers, 1):
        candidate = f"?a kgs:candidate ?c . ?c schema:position {rank} ."
        assert select(store, f"{candidate} ?c rdf:value ?x") == [found.term.value]  # type: ignore[union-attr]
        assert select(store, f"{candidate} ?c schema:citation/kgs:marker ?x") == sorted(found.markers)


def test_notes_and_what_was_not_understood_are_said(answers: dict[str, Answer]) -> None:
    for answer in answers.values():
        store = loaded(answer)
        assert select(store, "?a kgs:note/schema:text ?x") == sorted(map(str, answer.notes))
        assert select(store, "?a kgs:notUnderstood/kgs:words ?x") == sorted({gap.words for gap in answer.gaps})
    assert select(loaded(answers["unsure"]), "?a kgs:notUnderstood/kgs:code ?x")[0] == "operation"


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
    unsure = answer_to_trig(answers["unsure"])
    assert not conforms(unsure.replace("schema:suggestedAnswer", "schema:acceptedAnswer"))
