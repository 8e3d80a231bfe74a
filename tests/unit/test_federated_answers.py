"""Questions to several graphs: what is the same thing, answers of one graph of them all, evidence of each."""

import json
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyoxigraph
import pytest

import kgsparql
from kgsparql import IRI, Answer, Budget, FederatedGraph, KnowledgeBase, OxigraphGraph, Query, Usage, open_graph, render
from kgsparql.errors import EndpointError, InputError, OptionError
from kgsparql.evidence.same_as import same_as
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.sources import groups_of
from kgsparql.graphs.stores import load_store
from kgsparql.rendering.answer_rdf import answer_to_trig
from kgsparql.retrievers import names
from tests import world
from tests.unit.test_federated import Broken, divided, ex, graph
from tests.unit.test_kept_answers import conforms
from tests.world import FIXTURES

WIKIBASE = list(pyoxigraph.parse(path=str(FIXTURES / "identifiers" / "wikibase.ttl")))
LIBRARY = list(pyoxigraph.parse(path=str(FIXTURES / "identifiers" / "library.ttl")))
WD = "http://www.wikidata.org/entity/"
CURIE, PIERRE, PERSON = IRI(f"{WD}Q7186"), IRI(f"{WD}Q37463"), IRI("https://kgsparql.example/library/person-12")
PREFIXES = f"@prefix wd: <{WD}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"


def quads(turtle: str) -> list[pyoxigraph.Quad]:
    return list(pyoxigraph.parse((world.PREFIXES + PREFIXES + turtle).encode(), pyoxigraph.RdfFormat.TURTLE))


def metered(*members: list[pyoxigraph.Quad]) -> tuple[MeteredGraph, list[Any]]:
    """Several graphs as a question asks them, and the events of that."""
    whole = FederatedGraph([graph(some, f"graph {at}") for at, some in enumerate(members)])
    events: list[Any] = []
    return MeteredGraph(whole, Usage(Budget()), events.append), events


def test_what_is_said_of_the_same_in_another_graph_answers() -> None:
    both = KnowledgeBase(FederatedGraph([graph(WIKIBASE, "wikibase"), graph(LIBRARY, "library")]), embedder=None)
    for retriever in (name for name in names() if name != "query_plan"):
        answer = both.ask("What was written by Marie Curie?", retriever=retriever)
        links = {link.term: link for link in answer.linked}
        assert links[PERSON].matched == "same as"
        assert links[PERSON].mention == links[CURIE].mention
        (same,) = [item for item in answer.evidence if "same as" in item.text]
        assert same.text == "Marie Curie ←same as— Skłodowska-Curie, M."
        assert [[source.graph for source in cited.sources] for cited in same.triples] == [["library"]]
        assert all(cited.verified for cited in same.triples)
        found = next(term for term in answer.answers if term.label == "laboratory notebooks")
        assert same.marker in found.markers
        assert same.marker in answer.cited
    for question, label, same_text, is_cited in (
        ("What is the place of birth of Skłodowska-Curie, M.?", "Warsaw",
         "Skłodowska-Curie, M. —same as→ Marie Curie", True),
        ("Who was the spouse of Marie Curie?", "Pierre Curie", "Marie Curie ←same as— Skłodowska-Curie, M.", False),
    ):  # fmt: skip
        answer = both.ask(question, retriever="path_ranking")
        assert answer.answers[0].label == label
        (same,) = [item for item in answer.evidence if "same as" in item.text]
        assert same.text == same_text
        assert (same.marker in answer.answers[0].markers) is is_cited


def test_the_queries_for_what_is_the_same_are_two() -> None:
    asked, events = metered(WIKIBASE, LIBRARY)
    assert [path.end for path in same_as(asked, [CURIE, PIERRE, IRI(f"{WD}Q90")]).items] == [PERSON]
    assert [event.name for event in events] == ["group_forward+group_inverse", "counts_forward+counts_inverse"]
    asked, events = metered(quads(":a :p :b ."), quads(":a :q :b ."))
    assert same_as(asked, [ex("a")]).items == ()
    assert len(events) == 1


def test_equivalents_are_bounded_and_something_else_must_be_said_of_them() -> None:
    crowd = quads("".join(f":same{n:04} owl:sameAs wd:Q7186 ; :p :x .\n" for n in range(1_000)))
    asked, events = metered(quads("wd:Q7186 :p :x ; owl:sameAs :bare ."), [*crowd, *quads(":bare rdfs:label 'Bare' .")])
    found = same_as(asked, [CURIE])
    assert [path.end for path in found.items] == [ex(f"same{n:04}") for n in range(20)]
    assert len(events) <= 4
    assert {str(cut) for cut in found.cuts} == {
        "terms that may be equivalents: at most 200 of 1,001 taken", "equivalents: at most 20 of 199 taken",
    }  # fmt: skip


NOBEL = list(pyoxigraph.parse(path=str(FIXTURES / "nobel.ttl")))
QUESTIONS = [json.loads(line) for line in (FIXTURES / "nobel_questions.jsonl").read_text("utf-8").splitlines()]
FILMS = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:mc owl:sameAs <http://dbpedia.org/resource/Marie_Curie> ; rdfs:label "Marya Salomea" .
:madame_curie :portrays :mc ; rdfs:label "Madame Curie (1943)" ; :director :leroy .
:leroy rdfs:label "Mervyn LeRoy" .
:portrays rdfs:label "portrays" . :director rdfs:label "director" .
<http://dbpedia.org/resource/Marie_Curie> owl:sameAs :unknown_elsewhere .
"""
ACROSS = "Who were the doctoral students of people who worked at the University of Paris?"
DIRECTED = "Who directed the film that portrays Marie Curie?"


@pytest.fixture(scope="module")
def parts() -> KnowledgeBase:
    return KnowledgeBase(divided(NOBEL, 3, Random(7)), embedder=None)  # noqa: S311 - divided the same way every time


def said(answer: Answer) -> Any:
    return (
        answer.status,
        [(a.label, a.markers) for a in answer.answers],
        [(item.marker, item.text, {c.triple for c in item.triples}) for item in answer.evidence],
        [(str(link.term), link.matched) for link in answer.linked],
        answer.notes,
    )


def test_the_answers_of_a_divided_graph_are_those_of_the_graph(parts: KnowledgeBase) -> None:
    whole = KnowledgeBase(graph(NOBEL, "whole"), embedder=None)
    for retriever, asked in product([name for name in names() if name != "query_plan"], QUESTIONS[::10]):
        expected = whole.ask(asked["question"], retriever=retriever)
        found = parts.ask(asked["question"], retriever=retriever)
        assert said(found) == said(expected), (retriever, asked["id"])
        assert all(cited.verified for item in found.evidence for cited in item.triples)


def test_every_triple_says_its_graph_and_each_graph_has_a_query_that_is_shown(parts: KnowledgeBase) -> None:
    answer = parts.ask(ACROSS)
    trig = answer_to_trig(answer)
    assert conforms(trig)
    assert not conforms(trig.replace("schema:name", "schema:alternateName").replace("sh:select", "sh:ask"))
    members = {member.name: member for member in parts.graph.members}  # type: ignore[attr-defined]
    across = [item for item in answer.evidence if item.queries]
    assert across, "no item has triples in several graphs"
    for item in answer.evidence:
        for cited in item.triples:
            triple = (cited.triple.subject, cited.triple.predicate, cited.triple.object)
            for source in cited.sources:
                query = Query.load("verify").bind_rows(("subject", "predicate", "object"), [triple])
                assert len(members[source.graph].select(query)) == 1
    for item in across:
        found = [s for own in item.queries for s in members[own.source].select(own.query)]
        assert {(s["subject"], s["predicate"], s["object"]) for s in found} == {
            (c.triple.subject, c.triple.predicate, c.triple.object) for c in item.triples
        }
        assert {own.source for own in item.queries} == set(item.graphs)
    item = across[0]
    assert f"of {item.queries[0].source}:" in render(answer, "text", verbose=1)
    assert f"({', '.join(item.graphs)})" in render(answer, "text")
    assert f"<summary>SPARQL of {item.queries[0].source}</summary>" in render(answer, "md")
    data = next(one for one in json.loads(render(answer, "json"))["evidence"] if one["marker"] == item.marker)
    assert [(q["source"], q["query"]) for q in data["queries"]] == [(q.source, q.query.shown) for q in item.queries]
    assert trig.count("kgs:sourceQuery") == sum(len(i.queries) for i in answer.evidence)


def test_what_is_the_same_in_another_graph_is_linked_and_cited_and_looked_for_once() -> None:
    films = KnowledgeBase(FederatedGraph([graph(NOBEL, "nobel"), graph(quads(FILMS), "films")]), embedder=None)
    for retriever in ("path_ranking", "mindmap", "think_on_graph"):
        answer = films.ask(DIRECTED, retriever=retriever)
        links = {str(link.term): link for link in answer.linked}
        assert links["<http://example.org/mc>"].matched == "same as"
        assert links["<http://example.org/mc>"].mention == links["<http://dbpedia.org/resource/Marie_Curie>"].mention
        assert "<http://example.org/unknown_elsewhere>" not in links, "nothing else is said of it"
        (same,) = [item for item in answer.evidence if "same as" in item.text and len(item.triples) == 1]
        assert [source.graph for source in same.triples[0].sources] == ["films"]
        leroy = next(found for found in answer.answers if found.label == "Mervyn LeRoy")
        assert same.marker in leroy.markers
        assert same.marker in answer.cited
        born = [found for found in answer.answers if same.marker not in found.markers]
        assert all("films" not in answer.evidence[marker].graphs for found in born for marker in found.markers)
    events: list[Any] = []
    films.ask(DIRECTED, emit=events.append)
    asked = [e for e in events if getattr(e, "name", "") == "group_forward+group_inverse"]
    assert len([e for e in asked if "sameAs" in e.text]) == 1
    alone = KnowledgeBase(graph([*NOBEL, *quads(FILMS)], "alone"), embedder=None).ask(DIRECTED)
    assert [link.matched for link in alone.linked] == [link.matched for link in films.ask(DIRECTED).linked]
    given = films.ask("Who directed the film?", entities=["http://dbpedia.org/resource/Marie_Curie"])
    assert [link.matched for link in given.linked] == ["given", "same as"]


def test_E22_a_graph_that_fails_is_named_in_the_answer_and_asked_again_for_a_later_question() -> None:
    broken = Broken(EndpointError("nobody is there"))
    knowledge = KnowledgeBase(FederatedGraph([graph(NOBEL, "nobel"), broken]), embedder=None)
    answer = knowledge.ask("Where was Marie Curie born?")
    assert answer.answers[0].label == "Warsaw"
    assert [n for n in answer.notes if "broken" in n and "nobody is there" in n]
    assert all(cited.verified for item in answer.evidence for cited in item.triples)
    before, broken.times = broken.asked, 0
    answer = knowledge.ask("Where was Marie Curie born?", entities=["http://dbpedia.org/resource/Marie_Curie"])
    assert broken.asked > before
    assert not [note for note in answer.notes if "broken" in note]


def test_graphs_of_any_kind_are_opened_together(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.ttl").write_text(f"<http://e.org/{name}> <http://e.org/p> <http://e.org/x> .")
    load_store(tmp_path / "three.ttl", tmp_path / "store")
    named = [str(tmp_path / "one.ttl"), str(tmp_path / "store"), str(tmp_path / "two.ttl"), "https://e.org/sparql"]
    assert groups_of(named) == [[named[0], named[2]], [named[1]], [named[3]]]
    opened = open_graph(named[:3])
    assert isinstance(opened, FederatedGraph)
    assert opened.name == f"{named[0]}, {named[2]}, {named[1]}"
    pair = IRI("http://e.org/x"), IRI("http://e.org/p")
    found = opened.select(Query.load("group_inverse").bind_rows(("entity", "predicate"), [pair]))
    assert sorted(str(s["subject"]) for s in found) == [f"<http://e.org/{name}>" for name in ("one", "three", "two")]
    assert isinstance(open_graph([named[1], named[1]]), OxigraphGraph)
    with pytest.raises(OptionError, match="given without a file: base"):
        open_graph([named[1], named[3]], base="http://e.org/")
    with pytest.raises(InputError):
        open_graph([named[1], str(tmp_path / "none.ttl")])
    knowledge = kgsparql.open(*named[:3], embedder="none")
    assert {link.term for link in knowledge.find("three")} >= {IRI("http://e.org/three")}
