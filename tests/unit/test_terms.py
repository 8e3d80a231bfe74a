"""Terms: safe text, keys for comparison, CURIEs; literals and blank nodes are read however an engine writes them."""

import json
import re
import subprocess
import sys
from typing import Any

import curies
import pyoxigraph
import pytest

import kgsparql
from kgsparql.errors import IriError, PrefixError
from kgsparql.graphs.protocol.replies import respelt
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Constraint, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, iri, local_name, normalised, printable
from tests.world import EX, XSD, ex, graph_of


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("http://dbpedia.org/ontology/birthPlace", "birth place"),
        ("http://example.org/caf%C3%A9", "café"),
        ("http://example.org/HTTPServer", "HTTP server"),
        ("http://www.wikidata.org/entity/Q42", "Q42"),
        ("urn:isbn:123", "123"),
        ("http://example.org/#", "example.org"),
    ],
)
def test_L38_local_names_read_as_words(value: str, words: str) -> None:
    assert local_name(IRI(value)) == words


def test_L36_nfc_and_nfd_have_one_key_and_iris_are_left_alone() -> None:
    assert normalised("café") == normalised("cafe\u0301") == "cafe"
    assert iri("http://e.org/caf\u00e9") != iri("http://e.org/cafe\u0301")


@pytest.mark.parametrize("text", ["東京", "กรุงเทพ", "दिल्ली", "القاهرة", "🎈", "C++"])
def test_L39_keys_of_every_script_are_not_empty_and_stable(text: str) -> None:
    assert normalised(text)
    assert normalised(normalised(text)) == normalised(text)
    assert normalised("दिल्ली") != normalised("दल्ल"), "vowel signs stay"


def test_U03_L16_nothing_unprintable_is_printed_and_long_text_is_cut() -> None:
    hostile = "a\x00b\x1b[31mc\u202ed\ud800e\u200bf\r\ng"
    shown = printable(hostile)
    assert shown == "ab[31mcdef g"
    assert shown.encode("utf-8")
    assert len(printable("x" * 10_000_000)) == 300


def test_curies() -> None:
    prefixes = PrefixMap.default()
    assert prefixes.expand("dbo:birthPlace") == IRI("http://dbpedia.org/ontology/birthPlace")
    assert prefixes.compress(IRI("http://www.wikidata.org/entity/Q42")) == "wd:Q42"
    assert prefixes.compress(IRI("http://www.wikidata.org/prop/direct/P31")) == "wdt:P31"
    with pytest.raises(PrefixError, match="unknown prefix 'nope'"):
        prefixes.expand("nope:a")
    with pytest.raises(IriError):
        prefixes.expand("no colon")
    assert PrefixMap({"e": "http://e.org/"}).compress(IRI("http://e.org/a/b")) == "<http://e.org/a/b>"


def test_the_public_surface_is_what_it_says() -> None:
    assert kgsparql.__all__ == sorted(kgsparql.__all__, key=lambda n: (not n.isupper(), n.islower(), n))
    hooks = {"load_ipython_extension"}  # a notebook calls it, people do not
    assert kgsparql._HOME.keys() - hooks == set(kgsparql.__all__)
    for name in kgsparql.__all__:
        assert getattr(kgsparql, name) is not None
    with pytest.raises(AttributeError):
        _ = kgsparql.nothing_of_the_kind


def test_iris_are_shortened_as_curies_does_it() -> None:
    more = {"long": "http://ex.org/a/b/", "short": "http://ex.org/", "zweit": "http://ex.org/", "": "http://ex.org/a/"}
    prefixes = PrefixMap.default().merged(more)
    converter = curies.Converter([])
    for prefix, namespace in prefixes:
        converter.add_prefix(prefix, namespace, merge=True)
    for name in ("", "x", "a/x", "a/b/x", "a/b/", "x/y", "ü", "a%20b"):
        for _, namespace in prefixes:
            known = converter.compress(namespace + name) or ""
            wanted = known if re.fullmatch(r"[\w.-]*:[\w.%-]*", known) else f"<{namespace}{name}>"
            assert prefixes.compress(IRI(namespace + name)) == wanted


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import kgsparql, kgsparql.cli, sys; print(sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"lancedb", "pyarrow", "torch", "openai", "sentence_transformers", "rdflib", "curies", "pydantic", "numpy"}
    assert not heavy & set(eval(done.stdout))  # noqa: S307 - a list of names that this test printed


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
def test_numbers_are_found_whatever_their_datatype_and_texts_as_they_are(asked: Literal, found: set[str]) -> None:
    """Virtuoso returns an ``xsd:int`` as ``xsd:integer``, and would not find that; the text of both is the same."""
    graph = graph_of(YEARS)
    path = PropertyPath.of(EX + "year")
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
