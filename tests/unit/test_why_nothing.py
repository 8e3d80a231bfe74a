"""A query that finds nothing says which of its patterns is to blame."""

import pyoxigraph as ox
import pytest

import kgsparql
from kgsparql.errors import QueryTimeoutError
from kgsparql.graphs.user_query import QueryResult, check, is_nothing, why_nothing
from kgsparql.rdf.terms import PrefixMap
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
BOTH = "both { ?c dbo:birthDate ?d } and { ?c rdf:type dbo:City } are found here, but never together"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "SELECT * { ?s rdfs:label ?name ; dbo:award/<http://e.org/nope> ?o }",
            "no triple here has the predicate e:nope",
        ),
        ("PREFIX e: <http://e.org/> SELECT * { ?s a e:Robot }", "nothing here is of the class e:Robot"),
        ('ASK { ?s rdfs:label "Marie Curie"@la }', '{ ?s rdfs:label "Marie Curie"@la }; a text matches only'),
        ("SELECT (COUNT(*) AS ?n) { ?c a dbo:City . OPTIONAL { ?c e:no ?x } ?c dbo:birthDate ?d }", BOTH),
        (
            "SELECT * { ?s dbo:birthDate ?d FILTER(YEAR(?d) > 2100) }",
            "found here, together; what else the query asks for",
        ),
        ("SELECT * { { ?s dbo:birthDate 1 } UNION { ?s dbo:deathDate 1 } }", ""),
    ],
)
def test_the_pattern_that_finds_nothing_is_named(query: str, why: str) -> None:
    with kgsparql.open(NOBEL, embedder="none", prefixes={"e": "http://e.org/"}) as knowledge:
        assert is_nothing(knowledge.query(query))
        said = knowledge.why_nothing(query)
    assert why in said
    assert bool(why) is bool(said)


def test_a_graph_that_gives_nothing_at_all_is_told_from_one_without_the_predicate() -> None:
    with kgsparql.open(ox.Store(), embedder="none") as knowledge:
        assert "even whether there is any triple" in knowledge.why_nothing("SELECT * { ?s rdfs:label ?name }")


def test_what_cannot_be_found_out_is_said() -> None:
    def late(*_: object, **__: object) -> QueryResult:
        raise QueryTimeoutError("the query was stopped after 5 s", timeout_s=5.0)

    said = why_nothing(check("SELECT * { ?s ?p 'x' }"), late, PrefixMap.default())
    assert said == "why there is nothing could not be found out: the query was stopped after 5 s"
