"""What a graph says of its facts: by reifiers of RDF 1.2, and by `rdf:Statement`."""

from pathlib import Path

import pytest

import kgsparql
from tests.endpoints.servers import oxigraph_serve, store_of

CLUB = """
@prefix : <http://example.org/club/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:spouse rdfs:label "spouse" . :start rdfs:label "start year" . :end rdfs:label "end year" .
:works rdfs:label "works at" . :seen rdfs:label "retrieved" . :by rdfs:label "stated by" . :source rdfs:label "source" .
:member rdfs:label "member of" . :claims rdfs:label "claims" . :from rdfs:label "from" .
:quill rdfs:label "Quill Club" . :news rdfs:label "Daily News" .
:firm rdfs:label "Firm One" . :other rdfs:label "Firm Two" . :cy rdfs:label "Cy Dunn" ; :works :firm .
:ada rdfs:label "Ada Pell" ; :works :firm {| :by :bo ; :source :news |} , :other ; :spouse :cy ,
    :bo {| :start "1999"^^xsd:gYear ; :end "2004"^^xsd:gYear ; :seen "2020"^^xsd:gYear |} .
:bo rdfs:label "Bo Rask" ; :works :other {| :seen "2021-03-01"^^xsd:date |} .
:kim rdfs:label "Kim Oro" ; :member :quill . :cy :claims :said .
:said a rdf:Statement ; rdf:subject :kim ; rdf:predicate :member ; rdf:object :quill ; :from "2001"^^xsd:gYear .
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("annotations") / "club.ttl"
    file.write_text(CLUB)
    return file


@pytest.fixture(scope="module")
def club(file: Path) -> kgsparql.KnowledgeBase:
    return kgsparql.open(file, embedder="none")


@pytest.mark.parametrize(
    ("question", "said"),
    {
        "Since when is Bo Rask the spouse of Ada Pell?": "1999",
        "Bis wann war Ada Pell mit Bo Rask verheiratet?": "2004",
        "Depuis quand Kim Oro est-il membre de Quill Club ?": "2001",
        "Who said that Ada Pell works at Firm One?": "Bo Rask",
        "Who claims that Kim Oro is a member of Quill Club?": "Cy Dunn",
        "What is the source of the claim that Ada Pell works at Firm One?": "Daily News",
    }.items(),
)
def test_what_is_said_of_a_fact_is_found_and_checked(club: kgsparql.KnowledgeBase, question: str, said: str) -> None:
    answer = club.ask(question)
    assert (answer.status, [one.label for one in answer.best]) == ("answered", [said]), answer.gaps
    assert [item.verdict for item in club.recheck(answer).items] == ["stands"]


@pytest.mark.parametrize(
    "question",
    [
        "Since when is Ada Pell married to Cy Dunn?",  # of the other marriage alone it is said
        "Since when is Ada Pell married?",  # of one of two
        "Since when does Bo Rask work at Firm Two?",  # that was seen then
        "Who said that Ada Pell works at Firm Two?",
        "When was it said that Ada Pell works at Firm One?",
        "How certain is it that Ada Pell works at Firm One?",
    ],
)
def test_what_is_not_said_of_a_fact_is_in_doubt(club: kgsparql.KnowledgeBase, question: str) -> None:
    assert club.ask(question).status == "partial"


def test_a_server_is_asked_the_same(file: Path, tmp_path: Path) -> None:
    with oxigraph_serve(store_of(file, tmp_path / "store")) as url:
        answer = kgsparql.open(url, embedder="none").ask("Since when is Ada Pell married to Bo Rask?")
    assert [one.label for one in answer.best] == ["1999"], answer.gaps
