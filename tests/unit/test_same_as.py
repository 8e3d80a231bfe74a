"""What a graph says is the same as an entity of the question: linked beside it, cited where an answer rests on it."""

from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import IRI, Budget, KnowledgeBase, Usage, open_graph
from kgsparql.errors import InputError, OptionError
from kgsparql.evidence.same_as import same_as
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.stores import load_store
from kgsparql.retrievers import names
from tests.world import FIXTURES, ex, graph_of

IDENTIFIERS = [FIXTURES / "identifiers" / f"{name}.ttl" for name in ("wikibase", "library")]
WD = "http://www.wikidata.org/entity/"
CURIE, PIERRE, PERSON = IRI(f"{WD}Q7186"), IRI(f"{WD}Q37463"), IRI("https://kgsparql.example/library/person-12")
NOBEL_CURIE = "http://dbpedia.org/resource/Marie_Curie"
OWL = "http://www.w3.org/2002/07/owl#"
FILMS = f"""
:mc <{OWL}sameAs> <{NOBEL_CURIE}> ; rdfs:label "Marya Salomea" .
:madame_curie :portrays :mc ; rdfs:label "Madame Curie (1943)" ; :director :leroy .
:leroy rdfs:label "Mervyn LeRoy" . :portrays rdfs:label "portrays" . :director rdfs:label "director" .
<{NOBEL_CURIE}> <{OWL}sameAs> :unknown_elsewhere .
"""
DIRECTED = "Who directed the film that portrays Marie Curie?"


def metered(turtle: str) -> tuple[MeteredGraph, list[Any]]:
    """A graph as a question asks it, and the events of that."""
    events: list[Any] = []
    return MeteredGraph(graph_of(turtle), Usage(Budget()), events.append), events


def test_what_is_said_of_the_same_in_another_file_answers() -> None:
    both = kgsparql.open(*IDENTIFIERS, embedder="none")
    for retriever in (name for name in names() if name != "query_plan"):
        answer = both.ask("What was written by Marie Curie?", retriever=retriever)
        links = {link.term: link for link in answer.linked}
        assert links[PERSON].matched == "same as"
        assert links[PERSON].mention == links[CURIE].mention
        (same,) = [item for item in answer.evidence if "same as" in item.text]
        assert same.text == "Marie Curie ←same as— Skłodowska-Curie, M."
        assert [[source.graph for source in cited.sources] for cited in same.triples] == [[str(IDENTIFIERS[1])]]
        assert all(cited.verified for cited in same.triples)
        found = next(term for term in answer.answers if term.label == "laboratory notebooks")
        assert same.marker in found.markers
        assert same.marker in answer.cited


def test_the_queries_for_what_is_the_same_are_two() -> None:
    events: list[Any] = []
    asked = MeteredGraph(open_graph(IDENTIFIERS), Usage(Budget()), events.append)
    assert [path.end for path in same_as(asked, [CURIE, PIERRE, IRI(f"{WD}Q90")]).items] == [PERSON]
    assert [event.name for event in events] == ["group_forward+group_inverse", "counts_forward+counts_inverse"]
    asked, events = metered(":a :p :b ; :q :b .")
    assert same_as(asked, [ex("a")]).items == ()
    assert len(events) == 1


def test_equivalents_are_bounded_and_something_else_must_be_said_of_them() -> None:
    crowd = "".join(f":same{n:04} <{OWL}sameAs> <{WD}Q7186> ; :p :x .\n" for n in range(1_000))
    bare = f"<{WD}Q7186> :p :x ; <{OWL}sameAs> :bare . :bare rdfs:label 'Bare' ."
    asked, events = metered(bare + crowd)
    found = same_as(asked, [CURIE])
    assert [path.end for path in found.items] == [ex(f"same{n:04}") for n in range(20)]
    assert len(events) <= 4
    assert {str(cut) for cut in found.cuts} == {
        "terms that may be equivalents: at most 200 of 1,001 taken", "equivalents: at most 20 of 199 taken",
    }  # fmt: skip


def test_what_is_the_same_is_linked_and_cited_and_looked_for_once() -> None:
    nobel = (FIXTURES / "nobel.ttl").read_text("utf-8")
    films = KnowledgeBase(graph_of(nobel + FILMS), embedder=None)
    for retriever in ("path_ranking", "mindmap", "think_on_graph"):
        answer = films.ask(DIRECTED, retriever=retriever)
        links = {link.term: link for link in answer.linked}
        assert links[ex("mc")].matched == "same as"
        assert links[ex("mc")].mention == links[IRI(NOBEL_CURIE)].mention
        assert ex("unknown_elsewhere") not in links, "nothing else is said of it"
        (same,) = [item for item in answer.evidence if "same as" in item.text and len(item.triples) == 1]
        leroy = next(found for found in answer.answers if found.label == "Mervyn LeRoy")
        assert same.marker in leroy.markers
        assert same.marker in answer.cited
    events: list[Any] = []
    films.ask(DIRECTED, emit=events.append)
    asked = [e for e in events if getattr(e, "name", "") == "group_forward+group_inverse"]
    assert len([e for e in asked if "sameAs" in e.text]) == 1
    given = films.ask("Who directed the film?", entities=[NOBEL_CURIE])
    assert [link.matched for link in given.linked] == ["given", "same as"]


def test_a_store_or_an_endpoint_is_asked_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.ttl").write_text(f"<http://e.org/{name}> <http://e.org/p> <http://e.org/x> .")
    load_store(tmp_path / "two.ttl", tmp_path / "store")
    file, store, url = (str(tmp_path / "one.ttl"), str(tmp_path / "store"), "https://e.org/sparql")
    for given, named in (([file, store], store), ([url, file], url), ([store, url], store), (["wikidata", url], "wik")):
        with pytest.raises(InputError, match=f"^{named}.*: a store or an endpoint is asked alone") as caught:
            open_graph(given)
        assert "kgsparql load FILES --store S" in caught.value.hint
    with pytest.raises(InputError, match="a graph in memory: "):
        kgsparql.open(graph_of("").store, file)
    assert open_graph([store, store]).name == store
    assert len(open_graph([file, str(tmp_path / "two.ttl")]).stored) == 2
    with pytest.raises(OptionError, match="given without a file: base"):
        open_graph(url, base="http://e.org/")
