"""What an endpoint declares of its predicates is followed, read once, and bounded."""

from dataclasses import replace
from pathlib import Path

import pytest

import kgsparql
from kgsparql import UNKNOWN, EndpointGraph, KnowledgeBase
from tests.endpoints.proxy import Proxy, Response, Seen
from tests.endpoints.servers import oxigraph_serve, store_of

FAMILY = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:hasSon rdfs:subPropertyOf :hasChild . :hasStepson rdfs:subPropertyOf :hasSon .
:hasDaughter rdfs:subPropertyOf :hasChild .
:hasChild rdfs:label "has child" ; owl:inverseOf :childOf . :marriedTo a owl:SymmetricProperty .
:ann a :Person ; rdfs:label "Ann Lee" ; :hasSon :bob ; :hasDaughter :eve ; :marriedTo :carl .
:bob a :Person ; rdfs:label "Bob Lee" . :eve rdfs:label "Eve Lee" . :carl a :Person ; rdfs:label "Carl Moor" .
:dora a :Person ; rdfs:label "Dora Lee" ; :childOf :ann . :acme rdfs:label "Acme" . :bolt rdfs:label "Bolt" .
:c4f1a09b2e7d a :Employer ; :employerOf :ann ; :employerIs :acme .
:475839201385 a :Employer ; :employerOf :bob ; :employerIs :bolt .
"""
DECLARED = "owl#TransitiveProperty> }"  # in the query for what is declared, and in none for labels
TYPED = "LIMIT 1000000"
CHILDREN = "Who are the children of Ann Lee?"


class Refusing(Proxy):
    """A server that does not say what is declared, or of which classes things are."""

    refused = DECLARED

    def ask_engine(self, request: Seen, headers: dict[str, str]) -> Response:
        if self.refused in request.query:
            return Response(403, "Forbidden", {"Content-Type": "text/plain"}, b"not for you")
        return super().ask_engine(request, headers)


@pytest.fixture
def family(tmp_path: Path) -> Path:
    (tmp_path / "family.ttl").write_text(FAMILY, encoding="utf-8")
    return store_of(tmp_path / "family.ttl", tmp_path / "store")


def test_sub_properties_inverses_and_symmetric_predicates_are_followed(family: Path) -> None:
    with oxigraph_serve(family) as url, Proxy(url) as proxy:
        knowledge = kgsparql.open(proxy.url, embedder="none")
        found = knowledge.ask(CHILDREN)
        assert (found.sure, {one.label for one in found.best}) == (True, {"Bob Lee", "Dora Lee", "Eve Lee"})
        married = knowledge.ask("Who is Carl Moor married to?")
        assert (married.sure, [one.label for one in married.best]) == (True, ["Ann Lee"])
        assert len(proxy.of(DECLARED)) == 1, "once for all questions"


def test_nodes_that_only_join_two_things_are_followed(family: Path) -> None:
    with oxigraph_serve(family) as url, Proxy(url) as proxy:
        knowledge = kgsparql.open(proxy.url, embedder="none")
        found = [knowledge.ask(f"Who is the employer of {name} Lee?") for name in ("Ann", "Bob")]
        assert [(own.sure, [one.label for one in own.best]) for own in found] == [(True, ["Acme"]), (True, ["Bolt"])]
        assert [len(proxy.of(text)) for text in (TYPED, "LIMIT 180", DECLARED)] == [1, 1, 1], "once for all questions"


@pytest.mark.parametrize("refused", [DECLARED, TYPED])
def test_a_refusal_is_said_and_not_tried_again(family: Path, refused: str) -> None:
    with oxigraph_serve(family) as url, Refusing(url) as proxy:
        proxy.refused = refused
        knowledge = kgsparql.open(proxy.url, embedder="none")
        said = [one.reason for one in knowledge.ask(CHILDREN).fallbacks if one.purpose == "schema"]
        assert [one.partition(":")[0] for one in said] == ["what predicates are declared to be is not read"]
        knowledge.ask("Who is Carl Moor married to?")
        assert len(proxy.of(refused)) == 1


def test_a_public_service_is_not_asked(family: Path) -> None:
    with oxigraph_serve(family) as url, Proxy(url) as proxy:
        public = replace(UNKNOWN, is_public=True)
        KnowledgeBase(EndpointGraph(proxy.url, profile=public), embedder="none").ask(CHILDREN)
        assert not proxy.of(DECLARED) + proxy.of(TYPED)
