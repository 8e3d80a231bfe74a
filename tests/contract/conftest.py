"""Graphs on both backends, made once for all tests of the contract of methods."""

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

import kgsparql
from kgsparql import Answer, answer_to_json, open_graph
from tests.scripted import Player, ask
from tests.world import EX, NOBEL, Asked, known

BACKENDS = ("embedded", "endpoint")
HUB_DEGREE = 30_001
SMALL = """
:ann rdfs:label "Ann Alpha" ; a :Person ; :worksAt :acme , :bolt ; :studiedAt :uni ; :born "1970-01-01"^^xsd:date ;
    :employment [ :organisation :acme ; :role "engineer" ] , [ :organisation :bolt ; :role "pilot" ] ; :knows :cat .
:ben rdfs:label "Ben Beta" ; a :Person ; :worksAt :acme ; :studiedAt :uni ; :born "1971-02-02"^^xsd:date .
:cat rdfs:label "Cat Gamma" ; a :Person ; :worksAt :bolt ; :knows :ben ; rdfs:comment "A person who knows Ben." .
:dan rdfs:label "Dan Delta" ; a :Person ; :studiedAt :uni ; :worksAt :acme .
:acme rdfs:label "Acme" ; a :Organisation ; :city :paris . :bolt rdfs:label "Bolt" ; a :Organisation ; :city :rome .
:uni rdfs:label "The University" ; :city :paris . :paris rdfs:label "Paris" . :rome rdfs:label "Rome" .
:worksAt rdfs:label "works at" . :studiedAt rdfs:label "studied at" . :born rdfs:label "date of birth" .
:employment rdfs:label "employment" . :organisation rdfs:label "organisation" . :role rdfs:label "role" .
:knows rdfs:label "knows" . :city rdfs:label "city" . :Person rdfs:label "person" .
:Organisation rdfs:label "organisation" .
"""
PLAYERS = {"no model": None, "good": Player(), "never enough": Player(sufficient=False)}


def indexed(graph: kgsparql.KnowledgeGraph) -> kgsparql.KnowledgeBase:
    """Open a graph whose labels are read, which is no part of any question here."""
    knowledge = kgsparql.KnowledgeBase(graph, embedder="none")
    assert knowledge.indexes.index
    return knowledge


@pytest.fixture(scope="session")
def nobel_graphs(nobel_url: str) -> dict[str, kgsparql.KnowledgeBase]:
    """The bundled graph in this process, and behind a server; both go by the same name."""
    sources = {"embedded": NOBEL, "endpoint": nobel_url}
    return {backend: indexed(open_graph(source, name="nobel")) for backend, source in sources.items()}


@pytest.fixture(scope="session")
def hub_graphs(
    tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], str]
) -> dict[str, kgsparql.KnowledgeBase]:
    """``:alpha`` is in ``:hub``, as 30,000 others are, three times what is counted; ``:hub`` is part of ``:beta``."""
    data = tmp_path_factory.mktemp("hub") / "hub.nt"
    named = {"alpha": "Alpha", "hub": "The Hub", "beta": "Beta", "in": "is in", "of": "is part of"}
    with data.open("w", encoding="utf-8") as file:
        label = "http://www.w3.org/2000/01/rdf-schema#label"
        file.writelines(f'<{EX}{key}> <{label}> "{text}" .\n' for key, text in named.items())
        file.write(f"<{EX}alpha> <{EX}in> <{EX}hub> .\n<{EX}hub> <{EX}of> <{EX}beta> .\n")
        file.writelines(f"<{EX}thing{i}> <{EX}in> <{EX}hub> .\n" for i in range(HUB_DEGREE - 1))
    store = pyoxigraph.Store()
    store.bulk_load(path=data)
    sources = {"embedded": store, "endpoint": serve(data)}
    return {backend: indexed(open_graph(source, name="hub")) for backend, source in sources.items()}


@pytest.fixture(scope="session")
def once(nobel_graphs: dict[str, kgsparql.KnowledgeBase]) -> Callable[..., Asked]:
    """Asks the bundled graph, on a backend and with one of :data:`PLAYERS`; each question once for all tests."""

    @functools.cache
    def run(backend: str, question: str, method: str, player: str) -> Asked:
        return ask(nobel_graphs[backend], question, PLAYERS[player], retriever=method)

    return run


@pytest.fixture(scope="session")
def small() -> kgsparql.KnowledgeBase:
    """Four people, two organisations, blank nodes between some of them."""
    return known(SMALL)


def as_bytes(answer: Answer) -> str:
    """The answer as JSON, without what may differ from one run to the next."""
    said = answer_to_json(answer)
    said["usage"] |= {"seconds": None, "cached_calls": None, "prepared": None}
    return json.dumps(said, ensure_ascii=False)


MARKERS = re.compile(r"\[([PNTQ]\d+(?:, [PNTQ]\d+)*)\]")


def check_honest(asked: Asked) -> None:
    """Nothing in an answer rests on what is not there, whatever a model said."""
    answer = asked.answer
    assert answer.status in {"answered", "partial", "not_in_graph", "no_entity"}
    evidence = answer.evidence
    assert [item.marker for item in evidence] == list(dict.fromkeys(item.marker for item in evidence))
    for item in evidence:
        assert item.text, item.marker
        assert item.score == item.score, "not a number"
        assert abs(item.score) < 1e6
        for cited in item.triples:
            assert cited.verified or _has_blank_node(cited.triple), cited.triple
            assert _holds(asked.knowledge, cited.triple), cited.triple
    known = {item.marker: _terms(item) for item in evidence}
    for term in answer.answers:
        assert term.markers, f"{term.label} rests on nothing"
        assert abs(term.score) < 1e6
        for marker in term.markers:
            assert term.term in known[marker], f"{term.label} is not in {marker}"
    for claim in answer.claims:
        assert claim.markers
        assert set(claim.markers) <= known.keys(), claim
    for step in answer.inference:
        assert step.cited.triple in {cited.triple for cited in evidence[step.marker].triples}
    if answer.grounding == "graph" and not answer.text.startswith("Ranked candidates"):
        in_text = {m for found in MARKERS.findall(answer.text) for m in found.split(", ")}
        assert in_text <= known.keys(), answer.text
        assert not answer.answers or in_text, "an answer without a citation"


def _terms(item: kgsparql.EvidenceItem) -> set[Any]:
    return {t for cited in item.triples for t in (cited.triple.subject, cited.triple.object)} | set(item.ends)


def _has_blank_node(triple: kgsparql.Triple) -> bool:
    return any(isinstance(term, kgsparql.BlankNode) for term in (triple.subject, triple.object))


def _holds(knowledge: kgsparql.KnowledgeBase, triple: kgsparql.Triple) -> bool:
    store = getattr(knowledge.graph, "store", None)
    if store is None or _has_blank_node(triple):
        return True  # it was looked up again: the answer says so
    return any(store.quads_for_pattern(triple.subject, triple.predicate, triple.object, None))
