"""What a server says of its size (VoID) is used in place of counting, and what is too large is not counted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import kgsparql
from benchmarks.wikidata_service import simulated
from kgsparql import UNKNOWN, Answer, EndpointGraph, KnowledgeBase, PrefixMap, open_graph
from kgsparql.exploration.counting import graph_info
from tests.endpoints.proxy import Proxy, Response, Seen
from tests.serving.sparql_server import sparql_server
from tests.world import NOBEL

Opened = Callable[[str], Proxy]
PREFIXES = """
@prefix void: <http://rdfs.org/ns/void#> . @prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix dbo: <http://dbpedia.org/ontology/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
LARGE = """
void:triples 30000000 ;
  void:classPartition [ void:class dbo:Scientist ; void:entities 2000000 ], [ void:class dbo:City ; void:entities 98 ] ;
  void:propertyPartition [ void:property rdfs:label ; void:triples 900 ],
    [ void:property dbo:birthPlace ; void:triples 1500000 ] .
"""
COUNTED = "How many scientists are there?"
NOT_COUNTED = "this may not be all: 'scientist' was not counted: the endpoint says that there are"


class Describing(Proxy):
    """A server that says what it holds in its service description."""

    description = f"{PREFIXES} [] a sd:Service ; sd:defaultDataset [ sd:defaultGraph <#all> ] . <#all> {LARGE}"

    def ask_engine(self, request: Seen, headers: dict[str, str]) -> Response:
        if request.asks_for_description:
            return Response(200, "OK", {"Content-Type": "text/turtle"}, self.description.encode())
        return super().ask_engine(request, headers)


@pytest.fixture
def described(tmp_path: Path, serve: Callable[[Path], str]) -> Opened:
    """The Nobel graph with more triples, behind a proxy that keeps what it is asked."""

    def opened(more: str) -> Proxy:
        data = tmp_path / "data.ttl"
        data.write_text(NOBEL.read_text("utf-8") + PREFIXES + more, encoding="utf-8")
        return Proxy(serve(data))

    return opened


def answered(answer: Answer) -> tuple[str, str, list[str]]:
    first_line = answer.text.splitlines()[0]
    return answer.status, answer.best[0].label if answer.best else first_line, [gap.text for gap in answer.gaps]


def counts_sent(proxy: Proxy) -> list[str]:
    """The queries that count more than what is around an entity, but whether there is a triple."""
    bounded = ("VALUES ?entity {", "VALUES ?i2 {", "LIMIT 1 }")
    queries = [" ".join(request.query.split()) for request in proxy.of("COUNT(")]
    return [query for query in queries if not any(part in query for part in bounded)]


def test_what_is_too_large_is_not_counted_and_only_answers_that_need_it_are_not_sure(described: Opened) -> None:
    with described(f"<urn:all> {LARGE}") as proxy:
        knowledge = kgsparql.open(proxy.url, embedder="none")
        status, label, gaps = answered(knowledge.ask(COUNTED))
        assert (status, label) == ("partial", "2000000")
        assert [gap.startswith(f"{NOT_COUNTED} 2,000,000") for gap in gaps] == [True]
        for question in (
            "How many scientists were born before 1900?", "Who is the oldest scientist?",
            "Which are the three oldest scientists?", "What is the birth place of the oldest scientist?",
            "Which city has the most scientists?", "How many scientists were born in each city?",
        ):  # fmt: skip
            status, text, gaps = answered(knowledge.ask(question))
            assert (status, text[:15], gaps[0][: len(NOT_COUNTED)]) == ("partial", "No sure answer:", NOT_COUNTED)
        assert not counts_sent(proxy)
        assert not proxy.of("MIN("), "nothing is ranked"
        oldest = knowledge.ask("Who is the oldest scientist born in Warsaw?")
        assert answered(oldest) == ("answered", "Marie Curie", [])
        assert answered(knowledge.ask("How many scientists were born in Warsaw?")) == ("answered", "1", [])
        assert answered(knowledge.ask("Where was Marie Curie born?")) == ("answered", "Warsaw", [])
        assert not counts_sent(proxy)
        assert answered(knowledge.ask("How many cities are there?")) == ("answered", "98", [])
        assert len(counts_sent(proxy)) == 1
        in_german = knowledge.ask("Wie viele Wissenschaftler gibt es?", language="de")
        assert in_german.gaps[0].text.startswith("das ist vielleicht nicht alles: ")
        assert len(proxy.of("void#")) == 1
        quick = KnowledgeBase(EndpointGraph(proxy.url, profile=replace(UNKNOWN, quick_counts=True)), embedder="none")
        assert answered(quick.ask(COUNTED)) == ("answered", "96", [])


@pytest.mark.parametrize("more", [
    f"<urn:all> void:sparqlEndpoint <https://elsewhere.example/sparql> ; {LARGE}",
    f"<urn:one> {LARGE} <urn:other> void:triples 30 .",
    "<urn:all> void:triples 'many', 7 ; void:classPartition [ void:class dbo:Scientist ; void:entities 1 ] .",
])  # fmt: skip
def test_a_description_of_another_place_or_of_several_or_in_part_changes_nothing(described: Opened, more: str) -> None:
    with described(more) as proxy:
        assert answered(kgsparql.open(proxy.url, embedder="none").ask(COUNTED)) == ("answered", "96", [])


def test_what_is_said_of_all_classes_and_predicates_is_not_asked(described: Opened) -> None:
    facts = graph_info(open_graph(NOBEL), lambda _: {}, PrefixMap({}), shown=500)
    kinds = (("classes", "class", "entities"), ("predicates", "property", "triples"))
    parts = [
        f"void:{kind}Partition [ void:{kind} {one['term']} ; void:{number} {one['count']} ]"
        for what, kind, number in kinds
        for one in facts[what]
    ]
    said = f"<urn:all> {' ; '.join(parts)} ; void:triples {facts['triples']} ."
    with described(said) as proxy:
        knowledge = kgsparql.open(proxy.url, embedder="none")
        for question, expected in ((COUNTED, "96"), ("Where was Marie Curie born?", "Warsaw")):
            assert answered(knowledge.ask(question)) == ("answered", expected, [])
        assert not [query for query in counts_sent(proxy) if "ORDER BY DESC(?count)" in query]


def test_classes_of_a_wikibase_are_not_counted_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CONTACT", "mailto:tester@example.org")
    items = """
        @prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix void: <http://rdfs.org/ns/void#> .
        @prefix wikibase: <http://wikiba.se/ontology#> .
        wd:Q5 rdfs:label "human"@en . wd:Q515 rdfs:label "city"@en . wd:Q3 rdfs:label "Ulm"@en ; wdt:P31 wd:Q515 .
        wd:Q1 rdfs:label "Anna Berg"@en ; wdt:P31 wd:Q5 ; wdt:P19 wd:Q3 . wd:P31 rdfs:label "instance of"@en .
        wd:P19 rdfs:label "place of birth"@en ; wikibase:directClaim wdt:P19 . wd:P31 wikibase:directClaim wdt:P31 .
        <urn:all> void:triples 15000000000 ; void:classPartition [ void:class wd:Q5 ; void:entities 12000000 ] ."""
    with simulated(items, tmp_path) as (simulator, _):
        knowledge = KnowledgeBase(EndpointGraph(simulator.url, profile=simulator.profile()), embedder="none")
        status, label, gaps = answered(knowledge.ask("How many instances of human are there?"))
        assert (status, label, gaps[0][21:42]) == ("partial", "12000000", "'human' was not count")
        assert answered(knowledge.ask("How many instances of city are there?")) == ("answered", "1", [])
        assert len([request for request in simulator.of("COUNT(") if "AS ?value" in request.query]) == 1
        assert simulator.throttled == 0


def test_what_a_service_description_says_is_neither_counted_nor_asked_for(nobel_url: str) -> None:
    with Describing(nobel_url) as proxy:
        knowledge = kgsparql.open(proxy.url, embedder="none")
        status, label, gaps = answered(knowledge.ask(COUNTED))
        assert (status, label, gaps[0].startswith(f"{NOT_COUNTED} 2,000,000")) == ("partial", "2000000", True)
        assert not proxy.of("void#"), "it is in the description"
        assert not counts_sent(proxy)
        assert len(proxy.probes) == 1
        told = knowledge.info()
        assert (told["triples"], [(one["curie"], one["count"]) for one in told["classes"]]) == (
            30_000_000, [("dbo:Scientist", 2_000_000), ("dbo:City", 98)],
        )  # fmt: skip
        assert not proxy.of("GROUP BY")


@pytest.mark.parametrize("description", [
    "<#all> void:triples",
    "[] a sd:Service .",
    f"<#all> {LARGE} <#other> void:triples 7 .",
    f"<#all> void:sparqlEndpoint <http://e.org/> ; {LARGE}",
    "<#all> void:triples -3, 'many', 12345678901234567890 ; void:classPartition [ void:class dbo:City ] .",
    "<#all> void:classPartition <#p> . <#p> void:classPartition <#all> .",
])  # fmt: skip
def test_a_service_description_that_is_wrong_or_of_another_place_changes_nothing(
    nobel_url: str, description: str
) -> None:
    with Describing(nobel_url) as proxy:
        proxy.description = PREFIXES + description
        assert answered(kgsparql.open(proxy.url, embedder="none").ask(COUNTED)) == ("answered", "96", [])
        assert len(proxy.of("void#")) == 1, "one in the graph is looked for"


def test_a_graph_that_kgsparql_serves_is_not_counted_by_another(tmp_path: Path) -> None:
    file = kgsparql.open(NOBEL, embedder="none")
    with sparql_server(file) as server, Proxy(server.url) as proxy:
        knowledge = kgsparql.open(proxy.url, embedder="none")
        for question in (COUNTED, "Where was Marie Curie born?"):
            assert answered(knowledge.ask(question)) == answered(file.ask(question))
        assert not proxy.of("void#")
        told, expected = knowledge.info(), file.info()
        assert told["triples"] == expected["triples"]
        for what in ("classes", "predicates"):
            assert [(one["term"], one["label"], one["count"]) for one in told[what]] == [
                (one["term"], one["label"], one["count"]) for one in expected[what]
            ]
        assert not [
            query for query in counts_sent(proxy) if "ORDER BY DESC(?count)" in query or "?count) WHERE" in query
        ]
