"""Literals and blank nodes are found, and read, however an engine writes them."""

import json
from collections.abc import Callable
from typing import Any

import pyoxigraph
import pytest

from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.protocol.replies import respelt
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Constraint, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal

E = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
GraphOf = Callable[..., OxigraphGraph]


def ex(name: str) -> IRI:
    return IRI(E + name)


YEARS = ':a :year "1911"^^xsd:int . :b :year "1911" . :c :year "1911"@en . :d :year "1912"^^xsd:int .'


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (Literal("1911", datatype=IRI(XSD + "integer")), {"a", "b", "c"}),
        (Literal("1911", datatype=IRI(XSD + "short")), {"a", "b", "c"}),
        (Literal("1911"), {"b"}),
        (Literal("1911", language="en"), {"c"}),
        (Literal("1913", datatype=IRI(XSD + "int")), set()),
    ],
)
def test_numbers_are_found_whatever_their_datatype_and_texts_as_they_are(
    graph_of: GraphOf, asked: Literal, found: set[str]
) -> None:
    """Virtuoso returns an ``xsd:int`` as ``xsd:integer``, and would not find that; the text of both is the same."""
    graph = graph_of(YEARS)
    path = PropertyPath.of(E + "year")
    ways = graph.select(path_queries.walk_triples(path, [ex(name) for name in "abcd"], [asked], limit=9))
    assert {way["n0"] for way in ways} == {ex(name) for name in found}
    constraint = Constraint(0, Step(ex("year")), (asked,))
    starts = path_queries.walk(PropertyPath(()), [ex(name) for name in "abcd"], limit=9, constraints=[constraint])
    assert {way["n0"] for way in graph.select(starts)} == {ex(name) for name in found}


def test_virtuosos_blank_nodes_and_truth_values_are_read_as_the_specifications_write_them() -> None:
    says = 'he said "bnode","value":"nodeID://b1" and <bnode>nodeID://b1</bnode>'
    body = {
        "head": {"vars": ["b", "t", "f", "n", "l"]},
        "results": {"bindings": [{
            "b": {"type": "bnode", "value": "nodeID://b10052"},
            "t": {"type": "literal", "datatype": XSD + "boolean", "value": "1"},
            "f": {"type": "literal", "datatype": XSD + "boolean", "value": "0"},
            "n": {"type": "literal", "datatype": XSD + "integer", "value": "1"},
            "l": {"type": "literal", "value": says},
        }]},
    }  # fmt: skip
    (solution,) = list(_parsed(respelt(json.dumps(body).encode()), pyoxigraph.QueryResultsFormat.JSON))
    assert [solution[name].value for name in "btfn"] == ["b10052", "true", "false", "1"]
    assert solution["l"].value == says


def _parsed(body: bytes, form: pyoxigraph.QueryResultsFormat) -> Any:
    return pyoxigraph.parse_query_results(body, format=form)
