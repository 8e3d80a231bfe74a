"""A predicate that leads to an RDF list or container leads to what is in it: in its order, counted, from either end."""

from __future__ import annotations

import pytest

import kgsparql
from kgsparql.knowledge_base import KnowledgeBase
from tests.conftest import graph_from

ALBUMS = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:Album a rdfs:Class ; rdfs:label "album" . :Song a rdfs:Class ; rdfs:label "song" . :track rdfs:label "track" .
:stop rdfs:label "stop" .
:roads a :Album ; rdfs:label "Winter Roads" ; :track ( :zinc :amber :basalt ) .
:lights a :Album ; rdfs:label "Harbour Lights" ; :track ( :amber ) .
:none a :Album ; rdfs:label "No Songs" ; :track () .
:amber a :Song ; rdfs:label "Amber" . :basalt a :Song ; rdfs:label "Basalt" . :zinc a :Song ; rdfs:label "Zinc" .
:nine rdfs:label "Line Nine" ; :stop [ a rdf:Seq ; rdf:_1 :quay ; rdf:_2 :mint ; rdf:_10 :alder ] .
:alder rdfs:label "Alder" . :mint rdfs:label "Mint" . :quay rdfs:label "Quay" .
"""


@pytest.fixture(scope="module")
def albums() -> KnowledgeBase:
    return KnowledgeBase(graph_from(ALBUMS), embedder="none")


def test_members_of_a_list_are_found_in_its_order_and_counted(albums: KnowledgeBase) -> None:
    for question, expected in {
        "What are the tracks of Winter Roads?": ["Zinc", "Amber", "Basalt"],
        "What are the stops of Line Nine?": ["Quay", "Mint", "Alder"],
        "What is the second track of Winter Roads?": ["Amber"],
        "What is the last stop of Line Nine?": ["Alder"],
        "How many tracks does Winter Roads have?": ["3"],
        "How many tracks does No Songs have?": ["0"],
        "On which albums is Amber a track?": ["Harbour Lights", "Winter Roads"],
        "Is Zinc a track of Winter Roads?": ["true"],
        "Is Zinc a track of Harbour Lights?": ["false"],
    }.items():
        found = albums.ask(question)
        labels = [one.label for one in found.answers]
        assert (question, found.status, labels) == (question, "answered", expected if found.computed else labels)
        assert found.computed or labels[: len(expected)] == expected
        assert found.computed is None or found.computed.is_confirmed is not False


def test_what_is_not_told_of_a_list_is_doubted(albums: KnowledgeBase) -> None:
    of_lists = albums.ask("Which album has the most tracks?")
    assert of_lists.gaps[0].text == "what was found is a list of what is asked for, and not what is in it"
    assert albums.ask("What is the fourth track of Winter Roads?").gaps[0].words == "fourth"
    assert (
        kgsparql.render(albums.ask("How many tracks does Winter Roads have?"))
        .splitlines()[1]
        .endswith("(counted: tracks of Winter Roads)")
    )  # and not of the rest of the rest of them
