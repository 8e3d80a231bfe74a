"""Endpoints whose replies are whole results, but not to what was asked: no wrong answer, and no error of our own."""

import json
import socket
from collections.abc import Callable
from typing import Any

import pyoxigraph
import pytest

import kgsparql
from kgsparql.errors import EndpointReplyError, KgsparqlError, NotFoundError
from kgsparql.exploration import neighbours, walk_ends
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.graphs.user_query import check, run_on_endpoint
from kgsparql.rdf.paths import PropertyPath, Walk
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI
from tests.conftest import FIXTURES
from tests.endpoints.faults import FaultServer, Request, reply

DBR = "http://dbpedia.org/resource/"
CURIE, JOLIOT = IRI(DBR + "Marie_Curie"), IRI(DBR + "Irène_Joliot-Curie")
NOT_ASKED = "file:///etc/passwd"
PLAIN = EndpointProfile(name="plain", has_union=True, has_named_graphs=False)

Rows = list[dict[str, dict[str, str]]]


class LyingServer(FaultServer):
    """An endpoint over ``fixtures/nobel.ttl`` whose results are changed before they are sent.

    :param change: is given the query, the variables and the solutions in JSON, and changes them.
    """

    def __init__(self, change: Callable[[str, list[str], Rows], object]) -> None:
        self._store = pyoxigraph.Store()
        self._store.bulk_load(path=str(FIXTURES / "nobel.ttl"))
        self._change = change
        super().__init__(self._lie)

    def _lie(self, sock: socket.socket, request: Request) -> None:
        found: Any = self._store.query(request.query)
        document = json.loads(found.serialize(format=pyoxigraph.QueryResultsFormat.JSON))
        if "results" in document:
            self._change(request.query, document["head"]["vars"], document["results"]["bindings"])
        sock.sendall(reply(json.dumps(document).encode()))


def counting(text: str) -> Callable[[str, list[str], Rows], None]:
    """Every integer is another text."""

    def change(_: str, __: list[str], rows: Rows) -> None:
        for term in (term for row in rows for term in row.values()):
            if term.get("datatype", "").endswith("#integer"):
                term["value"] = text

    return change


def test_a_count_that_is_none_is_an_error_of_the_reply_and_a_question_there_our_own() -> None:
    for text in ("abc", "1e3", "9" * 5000, "-7", "1" + "0" * 30, "٣"):
        with LyingServer(counting(text)) as server, pytest.raises(EndpointReplyError) as caught:
            EndpointGraph(server.url, profile=PLAIN).select(Query.load("info_triples"))
        assert caught.value.code == "E_FORMAT"
        assert "has a count that is none" in caught.value.message
        assert caught.value.detail["url"] == server.url
    for text in ("abc", "-7", "9" * 30):
        for question in ("Who is the spouse of Marie Curie?", "How many people were born in Paris?"):
            with LyingServer(counting(text)) as server, pytest.raises(KgsparqlError):
                kgsparql.open(server.url, embedder="none").ask(question)


def numbered(lie: str) -> Callable[[str, list[str], Rows], None]:
    """The number by which a walk is known in a union is another; counts are true."""

    def change(_: str, __: list[str], rows: Rows) -> None:
        for row in rows:
            if "walk" in row:
                row["walk"]["value"] = lie

    return change


def test_a_number_of_ours_that_comes_back_as_another_is_left_out() -> None:
    """-1 was the last walk: its answers went to the wrong question."""
    walks = [Walk(start, PropertyPath.of("http://dbpedia.org/ontology/spouse")) for start in (CURIE, JOLIOT)]
    for lie in ("-1", "2", "9" * 30, "abc"):
        with LyingServer(numbered(lie)) as server:
            found = walk_ends(EndpointGraph(server.url, profile=PLAIN), walks)
        assert [ends.items for ends in found] == [(), ()]


def about_another(_: str, names: list[str], rows: Rows) -> None:
    if "entity" in names and rows:
        rows[0]["entity"]["value"] = NOT_ASKED


def test_solutions_about_what_was_not_asked_for_are_left_out_and_counted() -> None:
    query = Query.load("neighbours_forward").bind(entity=[CURIE])
    with LyingServer(lambda *_: None) as honest, LyingServer(about_another) as server:
        whole = EndpointGraph(honest.url, profile=PLAIN).select(query)
        graph = EndpointGraph(server.url, profile=PLAIN)
        found, groups = graph.select(query), neighbours(graph, [CURIE])
    assert whole.complete
    assert (len(found), found.unasked, found.complete) == (len(whole) - 1, 1, False)
    assert found.missing == "1 solution not asked for left out"
    assert {group.entity for group in groups.items} == {CURIE}


def test_a_term_is_asked_for_in_each_arm_of_a_union_or_in_none() -> None:
    """One arm is about what is given, the other about whatever there is: then any entity is a good one."""
    given = Query.load("types").bind(entity=[CURIE])
    with LyingServer(lambda *_: None) as server:
        graph = EndpointGraph(server.url, profile=PLAIN)
        alone, both = (
            graph.select(given),
            graph.select(Query.union([given, Query("all", "SELECT ?entity { ?entity a ?t }")])),
        )
    assert {solution["entity"] for solution in alone} == {CURIE}
    assert (both.unasked, len({solution["entity"] for solution in both}) > 1) == (0, True)


LITERAL, BLANK = {"type": "literal", "value": "abc"}, {"type": "bnode", "value": "b"}


def test_a_literal_is_no_subject_and_a_predicate_is_an_iri() -> None:
    """Such a predicate came into the text of the next query."""
    for direction, far, wrong, unasked in (
        ("forward", "object", LITERAL, 1),
        ("forward", "object", BLANK, 1),
        ("inverse", "subject", LITERAL, 2),
        ("inverse", "subject", BLANK, 1),
    ):

        def change(_: str, names: list[str], rows: Rows, far: str = far, wrong: dict[str, str] = wrong) -> None:
            if {"entity", "predicate", far} == set(names):
                rows[0]["predicate"], rows[1][far] = wrong, wrong

        with LyingServer(change) as server:
            graph = EndpointGraph(server.url, profile=PLAIN)
            found = graph.select(Query.load(f"neighbours_{direction}").bind(entity=[CURIE]))
            groups = neighbours(graph, [CURIE], direction=direction)  # type: ignore[arg-type]
        assert found.unasked == unasked
        assert all(isinstance(group.step.predicate, IRI) for group in groups.items)
        assert groups.items


def test_a_walk_against_the_direction_of_a_triple_ends_at_no_literal() -> None:
    def change(_: str, names: list[str], rows: Rows) -> None:
        for row in rows:
            if "end" in names:
                row["end"] = LITERAL

    there, back = (PropertyPath.of(f"{way}http://dbpedia.org/ontology/spouse") for way in ("", "^"))
    with LyingServer(change) as server:
        found = walk_ends(EndpointGraph(server.url, profile=PLAIN), [Walk(CURIE, there), Walk(CURIE, back)])
    assert [len(ends.items) for ends in found] == [1, 0]


def test_a_variable_that_is_not_there_is_an_error_of_the_reply() -> None:
    for name in ("entity", "predicate"):

        def without(_: str, names: list[str], rows: Rows, name: str = name) -> None:
            for row in rows:
                row.pop(name, None)

        missing = pytest.raises(EndpointReplyError, match=rf"lacks the variable \?{name}")
        with LyingServer(without) as server, missing:
            neighbours(EndpointGraph(server.url, profile=PLAIN), [CURIE])


OTHER = {"s": {"type": "uri", "value": "http://a/"}, "EXTRA": {"type": "literal", "value": "hi"}}


def test_a_reply_of_other_variables_is_not_the_result_of_a_query() -> None:
    def other(_: str, names: list[str], rows: Rows) -> None:
        names[:], rows[:] = list(OTHER), [OTHER]

    with LyingServer(other) as server:
        graph = EndpointGraph(server.url, profile=PLAIN)
        for query in (
            "SELECT ?s (STR(?o) AS ?EXTRA) { ?s ?p ?o } LIMIT 2",
            "SELECT * { ?s ?p $EXTRA } LIMIT 2",
            "SELECT DISTINCT ?EXTRA ?s WHERE { ?s ?p ?EXTRA { SELECT ?p { ?s ?p ?o } } } LIMIT 2",
        ):
            assert run_on_endpoint(graph, check(query)).rows == 1
        for query, refusal in (
            ("SELECT * { ?s ?p ?o } LIMIT 2", r"has the variable \?EXTRA"),
            ("SELECT ?s { ?s ?p ?o } LIMIT 2", r"has the variable \?EXTRA"),
        ):
            with pytest.raises(EndpointReplyError, match=refusal) as caught:
                run_on_endpoint(graph, check(query))
            assert caught.value.code == "E_FORMAT"


def test_a_variable_that_nothing_binds_may_be_missing_where_there_is_no_head() -> None:
    body = b'{"results":{"bindings":[{"s":{"type":"uri","value":"http://a/"}}]}}'
    with FaultServer(lambda sock, _: sock.sendall(reply(body))) as server:
        graph = EndpointGraph(server.url, profile=PLAIN)
        assert run_on_endpoint(graph, check("SELECT ?s ?n { ?s ?p ?o OPTIONAL { ?s ?q ?n } }")).rows == 1


def test_a_server_that_gives_nothing_back_is_told_from_a_graph_without_the_names() -> None:
    with LyingServer(lambda _, __, rows: rows.clear()) as server:
        with pytest.raises(NotFoundError, match="gives nothing back: even whether there is any triple") as caught:
            kgsparql.open(server.url, embedder="none").ask("Where was Marie Curie born?")
        assert (caught.value.code, caught.value.message.split()[0]) == ("E_EMPTY_GRAPH", server.url)
        why = kgsparql.open(server.url, embedder="none").why_nothing("SELECT * { ?s ?p ?o }")
        assert "even whether there is any triple" in why
