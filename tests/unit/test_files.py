"""Reading RDF files: formats, hostile input, and where errors say they are (rows L of the catalogue)."""

import gzip
import io
import itertools
import os
import resource
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgsparql import OxigraphGraph, Query, open_graph
from kgsparql.errors import GraphLoadError, InputError, KgsparqlError, OptionError
from kgsparql.graphs import decoding
from kgsparql.graphs.files import RdfFile, ReadOptions, blank_nodes, quads, rdf_files
from kgsparql.graphs.stores import load_store, open_store
from kgsparql.resources import option_file
from tests.deep import deep
from tests.world import XSD

TRIPLE = b'<http://e.org/a> <http://e.org/p> "v" .\n'
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">\n'
ABOUT_A = b'<rdf:Description rdf:about="http://e.org/a"><e:p>v</e:p></rdf:Description>\n'

Load = Callable[..., OxigraphGraph]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write bytes to a file of this name and open it."""

    def write_and_open(name: str, data: bytes, **options: Any) -> OxigraphGraph:
        path = tmp_path / name
        path.write_bytes(data)
        return open_graph(path, **options)

    return write_and_open


def objects(graph: OxigraphGraph) -> list[str]:
    return sorted(str(quad.object) for quad in graph.store)


def refused(code: str, load: Load, name: str, data: bytes, **options: Any) -> KgsparqlError:
    """The error of a load that must fail with this code; it says the file, and never has a traceback for a message."""
    with pytest.raises(KgsparqlError) as caught:
        load(name, data, **options)
    assert caught.value.code == code, caught.value
    assert name in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


def test_L04_every_format_packed_and_not_and_with_a_byte_order_mark(load: Load) -> None:
    for suffixes, data in (
        ("ttl nt nq trig", TRIPLE),
        ("rdf owl xml", RDF + ABOUT_A + b"</rdf:RDF>"),
        ("jsonld", b'{"@id": "http://e.org/a", "http://e.org/p": "v"}'),
    ):
        for name in (f"g.{suffix}" for suffix in suffixes.split()):
            for graph in (
                load(f"{name}.gz", gzip.compress(data)), load(name, data), load(name, b"\xef\xbb\xbf" + data),
            ):  # fmt: skip
                assert [str(quad) for quad in graph.store] == ['<http://e.org/a> <http://e.org/p> "v"'], name


def test_a_format_is_named_by_suffix_name_or_media_type(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("turtle", ".ttl", "text/turtle", "TTL"):
        assert len(load("data", TRIPLE, format=name).store) == 1
    refused("E_FORMAT", load, "data", TRIPLE)
    refused("E_FORMAT", load, "data.gz", gzip.compress(TRIPLE))
    with pytest.raises(OptionError, match="unknown RDF format"):
        load("data", TRIPLE, format="docx")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TRIPLE))))
    assert len(open_graph("-", format="nt").store) == 1
    with pytest.raises(GraphLoadError, match="standard input") as caught:
        open_graph("-")
    assert caught.value.code == "E_FORMAT"


def test_a_directory_is_the_rdf_files_in_it_and_what_is_not_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "b.nt").write_bytes(TRIPLE.replace(b'"v"', b'"b"'))
    (tmp_path / "a.ttl.gz").write_bytes(gzip.compress(TRIPLE))
    (tmp_path / "README.md").write_text("not RDF")
    (tmp_path / ".hidden.nt").write_bytes(TRIPLE)
    (tmp_path / "dangling.nt").symlink_to("nowhere.nt")
    os.mkfifo(tmp_path / "pipe.nt")
    for name in ("sub", "pictures", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "sub" / "s.nt").write_bytes(TRIPLE)
    notes: list[str] = []
    graph = open_graph(tmp_path, notes=notes.append)
    assert objects(graph) == ['"b"', '"v"']
    named = (name.value for name in graph.store.named_graphs())
    assert {graph.source(name).graph for name in named} == {str(tmp_path / "a.ttl.gz"), str(tmp_path / "b.nt")}
    assert notes == [f"{tmp_path}: what is in directories of it is not read: sub"]
    for name in ("a.ttl.gz", "b.nt"):
        (tmp_path / name).unlink()
    with pytest.raises(InputError, match="no RDF files") as caught:
        open_graph(tmp_path)
    assert "is not read: sub" in caught.value.hint


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a system without /proc")
def test_L01_L02_L03_where_a_file_is_not_well_formed(load: Load) -> None:
    assert "cut.ttl:2:18" in refused("E_PARSE", load, "cut.ttl", TRIPLE + b"<http://e.org/a> <http://e.org/p").message
    error = refused("E_IRI", load, "far.nt", TRIPLE * 120_000 + b"<http://e.org/a> <http://e.org/p> <http://x y> .\n")
    assert (error.detail["line"], error.detail["column"]) == (120_001, 35)
    assert "must be followed by a dot" in refused("E_PARSE", load, "dot.nt", TRIPLE[:-2] + b"\n").message


def test_L05_line_ends(load: Load) -> None:
    for end, skip_bad, suffix in itertools.product((b"\n", b"\r\n", b"\r"), (False, True), ("nt", "ttl")):
        data = end.join([TRIPLE.strip(), b"# c", TRIPLE.strip().replace(b"v", b"w"), b""])
        assert objects(load(f"ends.{suffix}", data, skip_bad=skip_bad)) == ['"v"', '"w"'], (end, skip_bad, suffix)


def test_lines_of_a_literal_in_xml_end_as_a_reader_of_xml_ends_them(load: Load) -> None:
    """Oxigraph kept ``\\r``, so a literal was another one where git had changed line ends; also between two chunks."""
    for size, end in itertools.product((1 << 16, 100_001), (b"\n", b"\r", b"\r\n")):
        text = b"\n".join([b"line"] * (size // 6))
        data = RDF + ABOUT_A.replace(b">v<", b">" + text + b"<") + b"</rdf:RDF>"
        (quad,) = load("ends.rdf", data.replace(b"\n", end)).store
        assert quad.object.value == text.decode()


def test_L06_L07_latin_1_utf_16_and_utf_32(load: Load) -> None:
    data = TRIPLE * 5000 + TRIPLE.replace(b'"v"', '"café"'.encode("latin-1"))
    message = refused("E_ENCODING", load, "latin.nt", data).message
    for said in (f"byte {data.index(0xE9):,}", "latin.nt:5001:39", "expected UTF-8"):
        assert said in message
    for codec in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        data = TRIPLE.decode().encode(codec)
        error = refused("E_ENCODING", load, "wide.nt", data)
        assert codec.upper() in error.message
        assert f"iconv -f {codec}" in error.hint


def test_L08_rdf_xml_in_another_encoding(load: Load) -> None:
    body, declared = (
        RDF + ABOUT_A.replace(b">v<", ">café<".encode("latin-1")) + b"</rdf:RDF>",
        b"<?xml version='1.0' encoding='%b'?>",
    )
    for said in (b"ISO-8859-1", b"windows-1252", b"x-klingon"):
        hint = refused("E_ENCODING", load, "x.rdf", declared % said + body).hint
        assert f"iconv -f {said.decode()} -t UTF-8" in hint
    in_utf8 = body.decode("latin-1").encode()
    assert objects(load("said.rdf", declared % b"ISO-8859-1" + in_utf8)) == ['"café"'], "whatever it calls itself"


def test_L09_L10_relative_iris_and_the_base(load: Load, tmp_path: Path) -> None:
    graph = load("rel.ttl", b"<> <b> <#c> .")
    own, folder = (tmp_path / "rel.ttl").as_uri(), tmp_path.as_uri()
    assert [str(quad) for quad in graph.store] == [f"<{own}> <{folder}/b> <{own}#c>"]
    (tmp_path / "more").mkdir()
    assert graph.fingerprint != load("more/rel.ttl", b"<> <b> <#c> .").fingerprint, "it is another graph there"
    assert load("whole.ttl", TRIPLE).fingerprint == load("more/whole.ttl", TRIPLE).fingerprint
    assert len(load("bad.ttl", b"<> <b> <c> . <x> oops .\n", skip_bad=True).store) == 1
    load_store(tmp_path / "rel.ttl", tmp_path / "store")
    assert [str(quad) for quad in open_store(tmp_path / "store").store] == [str(quad) for quad in graph.store]
    assert refused("E_IRI", load, "rel.nt", b"<a> <b> <c> .").hint.endswith("--skip-bad")  # where a base is not heeded
    assert "top of the file" not in refused("E_PARSE", load, "ff.nt", b"<http://e.org/a> \f <http://e.org/p> 1 .").hint
    xml = RDF + ABOUT_A + b'<rdf:Description rdf:about="x"><e:p>v</e:p></rdf:Description></rdf:RDF>'
    assert any(f"<{folder}/x>" in str(quad) for quad in load("rel.rdf", xml).store)
    graph = load("rel.ttl", b"<a> <b> <c> .", base="http://e.org/")
    assert [str(quad) for quad in graph.store] == ["<http://e.org/a> <http://e.org/b> <http://e.org/c>"]
    with pytest.raises(OptionError, match="base"):
        load("rel.ttl", b"<a> <b> <c> .", base="not absolute")


def test_L11_L12_iris_and_language_tags_that_are_not(load: Load) -> None:
    iris = [b"<http://e.org/%bx>" % bad for bad in (b" ", b"{", b'"', b"\\", b"\\u003E", b"\\u0020", b"|", b"^", b"`")]
    tags = [b'"x"@' + tag for tag in (b"en_US", b"abcdefghijklmn", b"", b"1")]
    for bad, suffix in itertools.product((*iris, *tags), ("nt", "ttl")):
        data, name = TRIPLE + TRIPLE.replace(b'"v"', bad) + TRIPLE.replace(b"v", b"w"), f"bad.{suffix}"
        with pytest.raises(GraphLoadError) as caught:
            load(name, data)
        assert caught.value.code in {"E_IRI", "E_PARSE"} - ({"E_IRI"} if bad in tags else set()), bad
        assert caught.value.detail["line"] == 2, bad
        notes: list[str] = []
        assert objects(load(name, data, skip_bad=True, notes=notes.append)) == ['"v"', '"w"'], bad
        assert any("1 bad statement was skipped" in note and f"{name}:2" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "place", "says", "hint"),
    [("e:a/b", 4, "'/' cannot stand in a prefixed name as it is", "write \\ before it, or the whole IRI in < >"),
     ("e:f(x)", 4, "( is not a valid predicate", "if it belongs to a name: write \\ before it, or the whole IRI in"),
     ("e:50%", 3, "escapes in IRIs should be %", "write %25 where a % is meant"),
     ("f:a", 1, "The prefix f: has not been declared", "declare the prefix at the top of the file")],
)  # fmt: skip
def test_a_character_that_a_name_cannot_hold_is_named_with_how_it_is_written(
    load: Load, name: str, place: int, says: str, hint: str
) -> None:
    error = refused("E_PARSE", load, "n.ttl", f"@prefix e: <http://e.org/> .\n{name} e:p 1 .".encode())
    assert f"n.ttl:2:{place}: {says}" in error.message
    assert error.hint.startswith(hint)


INVALID = {
    "an IRI with a space": b'"@id": "http://e.org/x y", "http://e.org/p": "w"',
    "a key that means nothing": b'"@id": "http://e.org/x", "name": "w"',
    "a predicate with a space": b'"@id": "http://e.org/x", "http://e.org/p q": "w"',
    "a tag that is none": b'"@id": "http://e.org/x", "http://e.org/p": {"@value": "w", "@language": "en_US"}',
    "a datatype that is none": b'"@id": "http://e.org/x", "http://e.org/p": {"@value": "w", "@type": "urn:x y"}',
    "a graph with a space": b'"@id": "http://e.org/x y", "@graph": [{"@id": "http://e.org/x", "http://e.org/p": "w"}]',
}  # fmt: skip


@pytest.mark.parametrize("data", INVALID.values(), ids=INVALID)
def test_statements_of_json_ld_that_are_not_valid_are_counted_and_the_first_is_shown(load: Load, data: bytes) -> None:
    good = b'{"@id": "http://e.org/a", "http://e.org/p": {"@value": "v\\n\\u2028", "@language": "en-US"}}'
    for options in ({}, {"skip_bad": True}):
        notes: list[str] = []
        graph = load("x.jsonld", b"[" + (good + b",") * 700 + b"{" + data + b"}]", notes=notes.append, **options)
        assert objects(graph) == ['"v\\n\u2028"@en-us']
        (note,) = graph.notes
        assert notes == [note]
        assert note.startswith("1 bad statement was skipped in ")
        assert note.endswith(" .")
        assert '"w"' in note
    notes.clear()
    assert len(load("y.jsonld", good, notes=notes.append).store) == 1
    assert not notes


def test_a_relative_iri_in_json_ld_is_that_of_the_file_as_in_turtle(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b'{"@id": "#a", "@type": "Town", "http://e.org/p": "v"}'
    graph = load("rel.jsonld", data)
    assert {quad.subject.value.rpartition("/")[2] for quad in graph.store} == {"rel.jsonld#a"}
    assert (len(graph.store), graph.notes) == (2, ())
    assert len(load("rel.jsonld", data, base="http://e.org/").store) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    (note,) = open_graph("-", format="jsonld").notes
    assert note.startswith("2 bad statements were skipped in standard input")


def test_skipping_counts_each_line_and_keeps_blank_nodes_joined(tmp_path: Path) -> None:
    path = tmp_path / "many.nt"
    good = b"_:a <http://e.org/p> _:b .\n"
    path.write_bytes((good * 3000 + b"<bad\n") * 3 + good)
    file = RdfFile("many.nt", path)
    found = list(quads(file, ReadOptions(skip_bad=True), blank_nodes()))
    assert (len(found), file.skipped) == (9001, 3)
    assert len(set(found)) == 1
    assert file.first_skipped.startswith("3001:")


def test_L13_L14_L15_L16_odd_texts(load: Load) -> None:
    assert objects(load("case.ttl", TRIPLE.replace(b'"v"', b'"v"@EN-us, "v"@en-US'))) == ['"v"@en-us']
    refused("E_PARSE", load, "s.nt", TRIPLE.replace(b"v", b"\\uD800"))
    refused("E_ENCODING", load, "s.nt", TRIPLE.replace(b"v", b"\xed\xa0\x80"))
    for text in ("a\u202eb\u200bc\u0000d", "x" * 10_000_000):
        graph = load("odd.nt", TRIPLE.replace(b"v", text.replace("\0", "\\u0000").encode()))
        assert [quad.object.value for quad in graph.store] == [text]


def test_L17_literal_of_64_mb(load: Load) -> None:
    data = TRIPLE + TRIPLE.replace(b"v", b"x" * (64 << 20))
    for skip_bad in (False, True):
        error = refused("E_LIMIT", load, "longer.nt", data, cache=False, skip_bad=skip_bad)
        assert "term over 16 MiB, line 2" in error.message


def laughs(levels: int) -> bytes:
    entities = b'<!ENTITY l0 "ha">' + b"".join(
        b'<!ENTITY l%d "%s">' % (level, b"&l%d;" % (level - 1) * 10) for level in range(1, levels + 1)
    )
    return b'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [' + entities + b"]>\n" + RDF + b"</rdf:RDF>"


DECLARED = (
    laughs(3), laughs(8), laughs(10),
    b"<!DOCTYPE rdf:RDF [<!ENTITY a '" + b"x" * 100_000 + b"'>]>" + RDF + b"</rdf:RDF>",
    b"<!-- a -->" * 5000 + b"\n \t<?pi x?> <!DOCTYPE\n\n rdf:RDF \n\t[ <!ENTITY % a 'b'> ]>" + RDF + b"</rdf:RDF>",
    b"\xef\xbb\xbf<!DOCTYPE rdf:RDF [<!ENTITY a 'b'>]>" + RDF + b"</rdf:RDF>",
    b'<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE rdf:RDF [<!ENTITY a "b">]>' + RDF + b"</rdf:RDF>",
    b'<!DOCTYPE rdf:RDF SYSTEM "file:///etc/hostname">' + RDF + b"</rdf:RDF>",
    b'<!DOCTYPE rdf:RDF PUBLIC "x" "http://127.0.0.1:9/x.dtd">' + RDF + b"</rdf:RDF>",
    b'<!DOCTYPE rdf:RDF [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + RDF + b"</rdf:RDF>",
)  # fmt: skip


def test_L18_L19_document_type_definitions(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    for data in DECLARED:
        assert "xmllint" in refused("E_DTD", load, "dtd.rdf", data).hint
    assert time.monotonic() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024
    assert objects(load("plain.rdf", b"<!DOCTYPE rdf:RDF>" + RDF + ABOUT_A + b"</rdf:RDF>")) == ['"v"']


def test_L18_hidden_by_an_encoding(load: Load) -> None:
    for codec in ("utf-16", "utf-7"):
        data = laughs(3).decode().replace('"1.0"', f'"1.0" encoding="{codec}"').encode(codec)
        with pytest.raises(GraphLoadError) as caught:
            load("hidden.rdf", data)
        assert caught.value.code in {"E_DTD", "E_ENCODING"}


def test_L20_L22_rdf_xml_json_ld_and_triples_nested_without_end(load: Load) -> None:
    start = time.monotonic()
    data = RDF + b"<rdf:Description><e:p>" * 25_000 + b"</e:p></rdf:Description>" * 25_000 + b"</rdf:RDF>"
    assert "nested deeper" in refused("E_LIMIT", load, "deep.rdf", data).message
    assert time.monotonic() - start < 10
    node = b'{"@id": "http://e.org/s", "http://e.org/p": '
    for opening, closing in ((b"[", b"]"), (node, b"}"), (b'{"@context": {"a":', b"}}")):  # Oxigraph ends the process
        message = refused("E_LIMIT", load, "deep.jsonld", opening * 5_000 + b"1" + closing * 5_000).message
        assert message.endswith("deep.jsonld: objects or lists nested deeper than 500")
    value = b'"http://e.org/q": "\\"]}' + rb"\\" * 70_000 + b'[{"}'  # brackets in strings are none
    assert len(load("flat.jsonld", b'{"@id": "http://e.org/s", ' + value).store) == 1
    term = b"<<( <http://e.org/a> <http://e.org/b> " * 20_000 + b"<http://e.org/c>" + b" )>>" * 20_000
    for name in ("deep.ttl", "deep.nt"):  # Oxigraph would end the process
        message = refused("E_LIMIT", load, name, b"<http://e.org/s> <http://e.org/p> " + term + b" .").message
        assert message.endswith("triples in triples, nested deeper than 100")


@pytest.mark.parametrize(
    ("opening", "closing"),
    [pytest.param(b"[ <http://e.org/p> ", b" ]", id="blank nodes"), deep(b"( ", b" )", id="lists")],
)
def test_L21_turtle_nested_without_end(load: Load, opening: bytes, closing: bytes) -> None:
    data = b"<http://e.org/a> <http://e.org/p> " + opening * 100_000 + b"1" + closing * 100_000 + b" ."
    assert len(load("deep.ttl", data).store) >= 100_000


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="a system with /proc")
def test_L45_a_link_to_what_may_take_for_ever_to_read_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "k.ttl").symlink_to("/proc/kmsg")
    for read in (lambda: open_graph(tmp_path / "k.ttl"), lambda: option_file(tmp_path / "k.ttl")):
        with pytest.raises(InputError, match="not a regular file"):
            read()


def test_L23_L24_contexts_outside_the_file(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)
    for context in (
        b'"http://127.0.0.1:9/context"', b'"file:///etc/hostname"',
        b'{"@version": 1.1, "@import": "http://127.0.0.1:9/context"}', b'["http://127.0.0.1:9/context", {}]',
    ):  # fmt: skip
        data = b'{"@context": ' + context + b', "@id": "http://e.org/a", "http://e.org/p": "v"}'
        assert "into the file" in refused("E_EGRESS", load, "c.jsonld", data).hint


def test_L25_gzip_that_is_not_what_it_should_be(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(TRIPLE * 1_000_000, 9)
    assert "times its size" in refused("E_LIMIT", load, "bomb.nt.gz", bomb).message
    for name in ("nested.nt.gz", "nested.nt.gz.gz"):
        assert "inside gzip" in refused("E_FORMAT", load, name, gzip.compress(gzip.compress(TRIPLE))).message
    whole = gzip.compress(b"".join(b'<http://e.org/%d> <http://e.org/p> "v" .\n' % n for n in range(5000)))
    for kept in (len(whole) // 2, len(whole) - 4, 3):
        assert "cut off" in refused("E_PARSE", load, "cut.nt.gz", whole[:kept]).message
    damaged = bytearray(whole)
    damaged[-6] ^= 255  # the checksum
    assert "damaged" in refused("E_PARSE", load, "damaged.nt.gz", bytes(damaged)).message
    assert len(load("two.nt.gz", gzip.compress(TRIPLE) + gzip.compress(TRIPLE.replace(b"v", b"w"))).store) == 2
    monkeypatch.setattr(decoding, "MAX_UNPACKED_BYTES", 1_000_000)
    assert "bytes unpacked" in refused("E_LIMIT", load, "limited.nt", TRIPLE * 100_000).message


def test_L26_gzip_is_known_by_its_bytes(load: Load) -> None:
    assert objects(load("packed.nt", gzip.compress(TRIPLE))) == ['"v"']
    assert objects(load("plain.nt.gz", TRIPLE)) == ['"v"']
    assert "zip archive" in refused("E_FORMAT", load, "data.ttl", b"PK\x03\x04....").message


def test_L27_what_is_no_rdf_or_another_format(load: Load) -> None:
    pages = (b"<!DOCTYPE html><html></html>", b"\n <!-- x --> <HTML lang=en>", b"<html>404</html>")
    for suffix in ("ttl", "nt", "rdf", "trig"):
        for page in pages:
            assert "looks like HTML" in refused("E_FORMAT", load, f"page.{suffix}", page).message
    for data, said in ((RDF + b"</rdf:RDF>", "RDF/XML"), (b'{"@id": "http://e.org/a"}', "JSON")):
        assert f"looks like {said}" in refused("E_FORMAT", load, "x.ttl", data, format="ttl").message
    for data, said in ((b'<?xml version="1.0"?><TriX/>', "RDF/XML"), (b'{"id": "http://e.org/a"}', "JSON")):
        assert f"looks like {said}" in refused("E_FORMAT", load, "x.ttl", data).message


HELD = {
    "Turtle": b'# of ours\n@prefix e: <http://e.org/> .\n@base <http://e.org/> . e:a e:p "v" , <here> .\n',
    "N-Quads": TRIPLE + b'<http://e.org/a> <http://e.org/p> "w" <http://e.org/g> .\n',
    "TriG": b'PREFIX e: <http://e.org/>\ne:g { e:a e:p "v" } GRAPH e:h { e:a e:p "w" }\n',
    "RDF/XML": b"<!-- of ours --><!DOCTYPE rdf:RDF>" + RDF + ABOUT_A * 2 + b"<e:C/></rdf:RDF>",
    "JSON-LD": b'[{"@id": "http://e.org/a", "http://e.org/p": "v", "http://e.org/q": "w"}]',
}


@pytest.mark.parametrize("held", HELD)
def test_a_file_is_read_as_what_it_holds_whatever_it_is_called(load: Load, tmp_path: Path, held: str) -> None:
    for suffix in ("ttl", "nt", "nq", "trig", "owl", "rdf", "jsonld", "owl.gz"):
        for more in (b"", b"\n" * 9_000):
            data = HELD[held] + more
            graph = load(f"x.{suffix}", gzip.compress(data) if suffix == "owl.gz" else data)
            assert len(graph.store) == 2, suffix
    assert ("e" in graph.prefixes) is (held in {"Turtle", "TriG"})
    statements = b"".join(b'<http://e.org/a> <http://e.org/p> "%d" .\n' % i for i in range(2_000))
    assert len(load("long.owl", statements + HELD["N-Quads"]).store) == 2_002


def test_a_store_is_filled_with_what_a_file_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.graphs.stores.SMALL_BYTES", 0)
    for name, held in (("quads.nt", "N-Quads"), ("core.owl", "Turtle")):
        (tmp_path / name).write_bytes(HELD[held])
        load_store(tmp_path / name, tmp_path / f"{name}.store")
        graph = open_graph(tmp_path / f"{name}.store")
        assert len(graph.store) == 2
        assert len(graph.named_graphs() or ()) == (held == "N-Quads")


OF_OWL = {
    "OWL/XML": b'<?xml version="1.0"?>\n<!DOCTYPE Ontology [<!ENTITY x "y">]>\n<Ontology ontologyIRI="http://e.org/o" '
               b'xmlns="http://www.w3.org/2002/07/owl#"/>',
    "OWL functional syntax": b"# of ours\nPrefix(:=<http://e.org/>)\nOntology(<http://e.org/o>\n)",
    "OWL Manchester syntax": b"Prefix: : <http://e.org/>\nOntology: <http://e.org/o>\nClass: A\n",
    "OBO": b"! of ours\nformat-version: 1.2\n[Term]\nid: E:1\n",
}  # fmt: skip


@pytest.mark.parametrize("syntax", OF_OWL)
def test_an_ontology_that_is_no_rdf_is_named_with_what_makes_rdf_of_it(load: Load, syntax: str) -> None:
    for suffix in ("owl", "ttl", "nt", "jsonld"):
        error = refused("E_FORMAT", load, f"my x.{suffix}", OF_OWL[syntax])
        assert f"looks like {syntax}, not " in error.message
        assert error.hint.startswith("ROBOT makes RDF of it: robot convert -i '")
        assert error.hint.endswith(f"/my x.{suffix}.ttl'")


def test_what_no_parser_reads_is_told_by_that_of_its_name(load: Load) -> None:
    for name, data, said in (
        ("a.ttl", b"@prefix e: <http://e.org/> .\ne:a e:b e:c ;; , .", ""),
        ("a.nt", TRIPLE + b"<http://e.org/a> <b> <http://e.org/c> .\n", "No scheme found"),
        ("a.rdf", b"nothing of the kind", "not well-formed XML"), ("a.rdf", RDF + b"<e:a", "not well-formed XML"),
        ("a.ttl", b"<<(" * 200, "nested deeper"), ("a.ttl", b"[] .", ""),
    ):  # fmt: skip
        with pytest.raises(KgsparqlError) as caught:
            load(name, data)
        assert said in caught.value.message


def test_L28_nothing_in_it(load: Load) -> None:
    for data in (b"", b"# nothing\n", b"\xef\xbb\xbf"):
        notes: list[str] = []
        assert len(load("empty.ttl", data, notes=notes.append).store) == 0
        assert any("no triples" in note for note in notes)


def test_L29_L30_one_file_twice_is_one_and_blank_nodes_belong_to_their_file(tmp_path: Path) -> None:
    path = tmp_path / "twice.ttl"
    path.write_bytes(TRIPLE + b"[] <http://e.org/p> [] .")
    assert len(open_graph([path, str(path), tmp_path / "." / "twice.ttl"]).store) == 2
    for name in ("a.nt", "b.nt"):
        (tmp_path / name).write_bytes(b"_:b0 <http://e.org/p> _:b0 .\n")
    graph = open_graph([tmp_path / "a.nt", tmp_path / "b.nt"])
    assert len({quad.subject for quad in graph.store}) == 2
    assert all(quad.subject == quad.object for quad in graph.store)


def test_blank_nodes_have_the_same_names_every_time(load: Load) -> None:
    data = b"[] <http://e.org/p> [ <http://e.org/q> _:x ], ( 1 2 ), <<( _:x <http://e.org/p> [] )>> ."
    once, again = (sorted(map(str, load("b.ttl", data.replace(b"[] )", b"_:y )")).store)) for _ in range(2))
    assert once == again
    assert len(once) == 8


def test_L33_values_are_canonical(load: Load) -> None:
    values = {"01": "integer", "+1": "integer", "1.0": "decimal", "1E400": "double", "1": "boolean"}
    data = "".join(f'<http://e.org/a> <http://e.org/p> "{v}"^^<{XSD}{t}> .\n' for v, t in values.items())
    graph = load("values.nt", data.encode())
    for quad in graph.store:
        assert graph.sources_of(quad.triple)
    assert {(q.object.value, q.object.datatype.value.removeprefix(XSD)) for q in graph.store} == {
        ("1", "integer"), ("1", "decimal"), ("INF", "double"), ("true", "boolean"),
    }  # fmt: skip


def test_L34_L35_L44_dates_and_numbers_beyond_the_usual_and_rdf_1_2(load: Load) -> None:
    dates = ["2020-02-31", "-0044-03-15", "0000-01-01", "99999999999-01-01"]
    numbers = ["12345678901234567890123", "0.1234567890123456789012345"]
    lines = [f'<http://e.org/a> <http://e.org/p> "{d}"^^<{XSD}date> .' for d in dates]
    lines += [f'<http://e.org/a> <http://e.org/p> "{n}"^^<{XSD}decimal> .' for n in numbers]
    assert {quad.object.value for quad in load("odd.nt", "\n".join(lines).encode()).store} == {*dates, *numbers}
    quoted = TRIPLE.replace(b'"v"', b'<<( <http://e.org/a> <http://e.org/p> "x"@en--ltr )>>')
    assert len(load("new.ttl", quoted).select(Query("all", "SELECT * { ?s ?p ?o }"))) == 1


def test_L45_paths_that_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.nt")
    (tmp_path / "empty").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "out.nt").symlink_to(tmp_path / "outside.nt")
    (tmp_path / "outside.nt").write_bytes(TRIPLE)
    for source in (tmp_path / "pipe.nt", tmp_path / "empty", tmp_path / "missing.nt", "/dev/zero", tmp_path / "links"):
        with pytest.raises(InputError) as caught:
            open_graph(source)
        assert str(source) in caught.value.message
        assert caught.value.code == "E_INPUT"
    with pytest.raises(InputError):
        rdf_files("x" * 5000)
    with pytest.raises(InputError):
        open_graph([])


def test_progress_and_fingerprint_come_from_one_reading(load: Load) -> None:
    seen: list[tuple[str, int, int]] = []
    data = TRIPLE * 20_000
    one = load("p.nt", data, progress=lambda *step: seen.append(step)).fingerprint
    assert {phase for phase, _, _ in seen} == {"reading"}
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})
    assert seen[-1][1:] == (len(data), len(data))
    assert load("b.nt", data).fingerprint == one
    assert load("p.nt", data + TRIPLE.replace(b"v", b"w")).fingerprint != one
    assert load("p.nt", data, base="http://e.org/").fingerprint != one
