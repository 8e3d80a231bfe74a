"""Terms: safe text, keys for comparison, CURIEs."""

import re
import subprocess
import sys

import curies
import pytest

import kgsparql
from kgsparql.errors import IriError, PrefixError
from kgsparql.rdf.terms import IRI, PrefixMap, iri, local_name, normalised, printable


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
