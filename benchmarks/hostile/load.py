"""Rows L on files: cut, mislabelled, packed, nested, with things in them that reach for others."""

from __future__ import annotations

import gzip
import socket
import threading
from pathlib import Path

from benchmarks.hostile.processes import check
from benchmarks.hostile.rows import EX, Place, row

TRIPLE = b'<http://e.org/a> <http://e.org/p> "v" .\n'
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">\n'
ABOUT_A = b'<rdf:Description rdf:about="http://e.org/a"><e:p>v</e:p></rdf:Description>\n'
XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
OBJECTS = "SELECT (STR(?o) AS ?v) { ?s ?p ?o }"
RSS_FLOOR_MIB = 160
"""What kgsparql takes without a graph; a row that promises growth is measured above it."""


def as_object(bad: bytes) -> bytes:
    """A statement with this between its brackets."""
    return b"<http://e.org/a> <http://e.org/p> <http://e.org/" + bad + b"> .\n"


def objects(at: Place, name: str, data: bytes, *options: object) -> list[str]:
    """The objects of the triples of a file."""
    return at.values(OBJECTS, at.write(name, data), options=options)


def bad_everywhere(at: Place, exit: int, says: str | list[str], name: str, data: bytes) -> None:  # noqa: A002
    """A file that ``info`` and ``load`` refuse alike, and nothing is stored."""
    file = at.write(name, data)
    at.refused(exit, says, "info", "-k", file)
    at.refused(exit, says, "load", file, "--store", "S")
    check(not (at.folder / "S").exists(), "a store was left")


@row("L01", "Turtle that ends in the middle of a triple", "exit 4, file:line:column, nothing stored")
def cut_in_a_triple(at: Place) -> None:
    bad_everywhere(at, 4, "cut.ttl:2:18", "cut.ttl", TRIPLE + b"<http://e.org/a> <http://e.org/p")


@row("L02", "N-Triples with a bad object at line 1,200,001, into a store", "exit 4 with the line, the store unchanged")
def bad_far_down(at: Place) -> None:
    lines = at.smaller(1_200_000, 60_000, "lines")
    at.fine("load", at.write("first.nt", TRIPLE), "--store", "S")
    file = at.folder / "far.nt"
    with file.open("wb") as out:
        for n in range(lines):
            out.write(b'<http://e.org/%d> <http://e.org/p> "v" .\n' % n)
        out.write(b"<http://e.org/a> <http://e.org/p> <http://x y> .\n")
    at.refused(4, f"far.nt:{lines + 1}:35", "load", file, "--store", "S", within_s=120)
    check(at.count("S") == 1, "the store changed")


@row("L03", "N-Triples without the last full stop", "exit 4, 'must be followed by a dot'")
def no_dot(at: Place) -> None:
    bad_everywhere(at, 4, ["must be followed by a dot", "dot.nt:2:1"], "dot.nt", TRIPLE[:-2] + b"\n")


@row("L04", "a byte order mark before Turtle, N-Triples, RDF/XML, JSON-LD", "read as without it")
def byte_order_mark(at: Place) -> None:
    other = {"rdf": RDF + ABOUT_A + b"</rdf:RDF>", "jsonld": b'{"@id": "http://e.org/a", "http://e.org/p": "v"}'}
    for suffix in ("ttl", "nt", "rdf", "jsonld"):
        found = objects(at, f"bom.{suffix}", b"\xef\xbb\xbf" + other.get(suffix, TRIPLE))
        check(found == ["v"], f"{suffix}: {found}")


@row("L05", "line ends LF, CRLF, CR and all mixed", "the same triples")
def line_ends(at: Place) -> None:
    one, two = TRIPLE.strip(), TRIPLE.strip().replace(b"v", b"w")
    for suffix in ("nt", "ttl"):
        for name, data in {
            "lf": b"\n".join([one, b"# c", two, b""]), "crlf": b"\r\n".join([one, b"# c", two, b""]),
            "cr": b"\r".join([one, b"# c", two, b""]), "mixed": one + b"\r\n# c\r" + two + b"\n",
        }.items():  # fmt: skip
            found = objects(at, f"{name}.{suffix}", data)
            check(found == ["v", "w"], f"{name}.{suffix}: {found}")


@row("L06", "Latin-1 N-Triples", "exit 4, the byte, 'expected UTF-8'; --encoding latin-1 reads it")
def latin_1(at: Place) -> None:
    data = TRIPLE * 5000 + TRIPLE.replace(b'"v"', '"café"'.encode("latin-1"))
    offset = data.index("é".encode("latin-1"))
    bad_everywhere(at, 4, [f"byte {offset:,}", "expected UTF-8", "latin.nt:5001:39"], "latin.nt", data)
    found = at.values(OBJECTS, at.folder / "latin.nt", options=["--encoding", "latin-1"])
    check("café" in found, f"{found}")


@row("L07", "UTF-16 and UTF-32 with and without a mark", "exit 4, the encoding is guessed; --encoding reads it")
def utf_16(at: Place) -> None:
    for codec in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        file = at.write("wide.nt", TRIPLE.decode().encode(codec))
        at.refused(4, [codec.upper(), "wide.nt"], "info", "-k", file)
        found = at.values(OBJECTS, file, options=["--encoding", codec])
        check(found == ["v"], f"{codec}: {found}")


@row("L08", "RDF/XML in ISO-8859-1 and in an encoding that is none", "read; exit 4 with the conversion command")
def xml_encodings(at: Place) -> None:
    body = RDF + ABOUT_A.replace(b">v<", ">café<".encode("latin-1")) + b"</rdf:RDF>"
    found = objects(at, "latin.rdf", b'<?xml version="1.0" encoding="ISO-8859-1"?>' + body)
    check(found == ["café"], f"{found}")
    bad_everywhere(at, 4, "iconv", "x.rdf", b'<?xml version="1.0" encoding="x-klingon"?>' + body)


@row("L09", "relative IRIs without a base", "exit 4, the place, and a hint to --base")
def relative(at: Place) -> None:
    bad_everywhere(at, 4, ["rel.ttl:1:1", "--base"], "rel.ttl", b"<a> <b> <c> .")


@row("L10", "the same with --base", "absolute IRIs")
def with_a_base(at: Place) -> None:
    found = objects(at, "rel.ttl", b"<a> <b> <c> .", "--base", EX)
    check(found == [f"{EX}c"], f"{found}")


@row("L11", "IRIs with a space, braces, quotes, a backslash, \\u003E", "exit 4 with line; --skip-bad drops and counts")
def iris_that_are_none(at: Place) -> None:
    for suffix in ("nt", "ttl"):
        for bad in (b" ", b"{", b'"', b"\\", b"\\u003E", b"\\u0020", b"|", b"^", b"`"):
            data = TRIPLE + as_object(bad + b"x") + TRIPLE.replace(b"v", b"w")
            file = at.write(f"iri.{suffix}", data)
            at.refused(4, f"iri.{suffix}:2:", "info", "-k", file)
        done = at.fine("load", file, "--store", f"S-{suffix}", "--skip-bad")
        check("1 bad statement skipped" in done.stderr + done.stdout, done.stderr)
        found = at.values(OBJECTS, f"S-{suffix}")
        check(found == ["v", "w"], f"{found}")


@row("L12", "language tags en_US, one of 14 letters, an empty one", "exit 4 with line; --skip-bad drops them")
def language_tags(at: Place) -> None:
    for suffix in ("nt", "ttl"):
        for tag in (b"en_US", b"abcdefghijklmn", b"", b"1"):
            data = TRIPLE + TRIPLE.replace(b'"v"', b'"x"@' + tag) + TRIPLE.replace(b"v", b"w")
            file = at.write(f"tag.{suffix}", data)
            at.refused(4, f"tag.{suffix}:2:", "info", "-k", file)
            found = at.values(OBJECTS, file, options=["--skip-bad"])
            check(found == ["v", "w"], f"{tag!r} in {suffix}: {found}")


@row("L13", "one text as @EN-us and as @en-US", "one triple; found in any case")
def language_case(at: Place) -> None:
    file = at.write("case.ttl", b'<http://e.org/a> <http://e.org/p> "v"@EN-us, "v"@en-US .')
    check(at.count(file) == 1, "two triples")
    for tag in ("en-us", "EN-US", "en"):
        found = at.values(f"SELECT (STR(?o) AS ?v) {{ ?s ?p ?o FILTER LANGMATCHES(LANG(?o), '{tag}') }}", file)
        check(found == ["v"], f"{tag}: {found}")


@row("L14", "a lone surrogate, as \\uD800 and as bytes", "exit 4")
def surrogate(at: Place) -> None:
    bad_everywhere(at, 4, "s.nt:1:", "s.nt", TRIPLE.replace(b"v", b"\\uD800"))
    bad_everywhere(at, 4, "expected UTF-8", "b.nt", TRIPLE.replace(b"v", b"\xed\xa0\x80"))


@row("L15", "NUL, U+202E, ESC and zero-width characters in a label", "kept exactly; never raw on a terminal")
def odd_characters(at: Place) -> None:
    text = "a\u202eb\u200bc\u0000d\u001b[31me"
    label = text.replace("\0", "\\u0000").replace("\u001b", "\\u001B")
    line = f'<{EX}a> {LABEL} "{label}" .\n<{EX}a> <{EX}p> <{EX}b> .\n'
    file = at.write("odd.nt", line)
    found = at.values("SELECT (STR(?o) AS ?v) { ?s rdfs:label ?o }", file)
    check(found == [text], f"{found!r}")
    for command in (["show", f"{EX}a"], ["find", "bc"], ["query", "SELECT * { ?s ?p ?o }"], ["info"]):
        done = at.run(*command, "-k", file)
        for char in "\u202e\u001b\0":
            check(char not in done.stdout + done.stderr, f"{command[0]} prints {char!r}")


@row("L16", "a literal of 10 MB", "loads; an answer shows a part of it")
def literal_10_mb(at: Place) -> None:
    long = "x" * 10_000_000
    file = at.write("long.nt", f'<{EX}a> {LABEL} "{long}" .\n<{EX}a> <{EX}p> <{EX}b> .\n<{EX}b> {LABEL} "Bonn" .\n')
    found = at.values("SELECT (STRLEN(?o) AS ?v) { <http://e.org/a> rdfs:label ?o }", file)
    check(found == ["10000000"], f"{found}")
    done = at.fine("show", "Bonn", "-k", file)
    check(len(done.stdout) < 5_000, f"{len(done.stdout):,} characters on the terminal")


@row("L17", "a literal of 64 MB", "exit 2, 'term over 16 MiB, line 2', and bounded memory")
def literal_64_mb(at: Place) -> None:
    file = at.write("longer.nt", TRIPLE + TRIPLE.replace(b"v", b"x" * (64 << 20)))
    for more in ((), ("--skip-bad",)):
        at.refused(2, "term over 16 MiB, line 2", "info", "-k", file, *more, below_mib=600)
    at.refused(2, "term over 16 MiB, line 2", "load", file, "--store", "S", below_mib=600)


def laughs(levels: int) -> bytes:
    """Entities that are ten times the one before, so many times."""
    entities = b'<!ENTITY l0 "ha">' + b"".join(
        b'<!ENTITY l%d "%s">' % (level, b"&l%d;" % (level - 1) * 10) for level in range(1, levels + 1)
    )
    return b'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [' + entities + b"]>\n" + RDF + b"</rdf:RDF>"


@row("L18", "billion laughs of 3, 8 and 10 levels, and a quadratic entity", "exit 4 at once, no memory taken")
def billion_laughs(at: Place) -> None:
    quadratic = b"<!DOCTYPE rdf:RDF [<!ENTITY a '" + b"x" * 100_000 + b"'>]>" + RDF + b"&a;" * 9 + b"</rdf:RDF>"
    for data in (laughs(3), laughs(8), laughs(10), quadratic):
        at.refused(4, "DTD", "info", "-k", at.write("dtd.rdf", data), below_mib=RSS_FLOOR_MIB + 100, within_s=10)


@row("L19", "RDF/XML with external entities, file:// and http://", "exit 4, no file opened, no connection")
def external_entities(at: Place) -> None:
    secret = at.write("secret.txt", "canary-of-this-row")
    with listening() as (port, callers):
        for where in (f"file://{secret}", f"http://127.0.0.1:{port}/x"):
            data = f'<!DOCTYPE rdf:RDF [<!ENTITY x SYSTEM "{where}">]>'.encode() + RDF
            data += ABOUT_A.replace(b">v<", b">&x;<") + b"</rdf:RDF>"
            done = at.refused(4, "DTD", "info", "-k", at.write("xxe.rdf", data))
            check("canary" not in done.stderr, "the file was read")
            at.refused(4, "DTD", "info", "-k", at.write("d.rdf", f'<!DOCTYPE a SYSTEM "{where}">'.encode() + RDF))
    check(not callers, f"{len(callers)} connections")


@row("L20", "RDF/XML nested 50,000 deep", "exit 2 within 10 s: the catalogue's time limit, here a limit on depth")
def deep_xml(at: Place) -> None:
    data = RDF + b"<rdf:Description><e:p>" * 25_000 + b"</e:p></rdf:Description>" * 25_000 + b"</rdf:RDF>"
    at.refused(2, "nested deeper", "info", "-k", at.write("deep.rdf", data), within_s=10)


@row("L21", "Turtle with 100,000 nested [ and (", "loads, or exit 2; no crash")
def deep_turtle(at: Place) -> None:
    for opening, closing in ((b"[ <http://e.org/p> ", b" ]"), (b"( ", b" )")):
        data = b"<http://e.org/a> <http://e.org/p> " + opening * 100_000 + b"1" + closing * 100_000 + b" ."
        check(at.count(at.write("deep.ttl", data)) >= 100_000, "some are missing")


@row("L22", "JSON-LD nested 100,000 deep", "exit 4, 'Max stack size'")
def deep_json(at: Place) -> None:
    bad_everywhere(at, 4, "Max stack size", "deep.jsonld", b"[" * 100_000)


def context(at: Place, of: str) -> Path:
    """A JSON-LD file with this context."""
    return at.write("remote.jsonld", f'{{"@context": {of}, "@id": "http://e.org/a", "name": "v"}}')


@row("L23", "JSON-LD with a context at http://", "exit 4, no request; --context FILE stands in for it")
def remote_context(at: Place) -> None:
    with listening() as (port, callers):
        for of in (f'"http://127.0.0.1:{port}/c"', f'["http://localhost:{port}/c", {{}}]'):
            at.refused(4, "--context", "info", "-k", context(at, of))
            local = at.write("context.jsonld", '{"@context": {"name": "http://e.org/name"}}')
            found = at.values("SELECT (STR(?p) AS ?v) { ?s ?p ?o }", context(at, of), options=["--context", local])
            check(found == ["http://e.org/name"], f"{found}")
    check(not callers, f"{len(callers)} connections")


@row("L24", "JSON-LD with a context at file://, and with @import", "exit 4, nothing read")
def context_in_a_file(at: Place) -> None:
    secret = at.write("secret.jsonld", '{"@context": {"name": "http://e.org/canary"}}')
    with listening() as (port, callers):
        for of in (f'"file://{secret}"', f'{{"@version": 1.1, "@import": "http://127.0.0.1:{port}/c"}}',
                   f'{{"@version": 1.1, "@import": "file://{secret}"}}'):  # fmt: skip
            done = at.refused(4, "remote.jsonld", "info", "-k", context(at, of))
            check("canary" not in done.stderr, "the file was read")
    check(not callers, f"{len(callers)} connections")


@row("L25", "a gzip bomb of 1 GB, gzip in gzip, gzip cut and damaged", "exit 2 or 4, nothing stored, memory bounded")
def bombs(at: Place) -> None:
    size = at.smaller(1_000_000_000, 100_000_000, "bytes unpacked")
    bomb = gzip.compress(TRIPLE * (size // len(TRIPLE)), 9)
    for command in (["info", "-k", "bomb.nt.gz"], ["load", "bomb.nt.gz", "--store", "S"]):
        at.write("bomb.nt.gz", bomb)
        at.refused(2, "times its size", *command, below_mib=400)
    bad_everywhere(at, 4, "inside gzip", "nested.nt.gz", gzip.compress(gzip.compress(TRIPLE)))
    whole = gzip.compress(b"".join(b'<http://e.org/%d> <http://e.org/p> "v" .\n' % n for n in range(5000)))
    for kept in (len(whole) // 2, len(whole) - 4, 3):
        bad_everywhere(at, 4, "cut off", "cut.nt.gz", whole[:kept])
    damaged = bytearray(whole)
    damaged[-6] ^= 255
    bad_everywhere(at, 4, "damaged", "damaged.nt.gz", bytes(damaged))


@row("L26", "gzip named .nt, N-Triples named .nt.gz, a zip named .ttl", "known by its bytes; exit 4 for the zip")
def magic_bytes(at: Place) -> None:
    check(objects(at, "packed.nt", gzip.compress(TRIPLE)) == ["v"], "packed.nt")
    check(objects(at, "plain.nt.gz", TRIPLE) == ["v"], "plain.nt.gz")
    bad_everywhere(at, 4, "zip archive", "data.ttl", b"PK\x03\x04....")


@row("L27", "a web page saved as .ttl, .nt, .rdf, .trig", "exit 4, 'looks like HTML'")
def web_page(at: Place) -> None:
    for suffix in ("ttl", "nt", "rdf", "trig"):
        page = b"<!DOCTYPE html><html><body>404</body></html>"
        at.refused(4, "looks like HTML", "info", "-k", at.write(f"page.{suffix}", page))


@row("L28", "an empty file, one of comments only", "0 triples and a note; a question is exit 3 or 4, never an answer")
def nothing(at: Place) -> None:
    for data in (b"", b"# nothing\n", b"\xef\xbb\xbf"):
        file = at.write("empty.ttl", data)
        done = at.fine("query", "SELECT * { ?s ?p ?o }", "-k", file)
        check("no triples" in done.stderr, f"no note: {done.stderr!r}")
        done = at.run("ask", "Who is it?", "-k", file, "--no-model")
        check(done.exit in {3, 4} and "no triples" in done.stderr, f"exit {done.exit}: {done.stderr[:200]!r}")


@row("L29", "one file twice, also with blank nodes, also into a store", "the same count")
def twice(at: Place) -> None:
    file = at.write("twice.ttl", TRIPLE + b"[] <http://e.org/p> [] .")
    check(at.count(file, "./twice.ttl") == at.count(file) == 2, "in memory")
    for _ in range(2):
        at.fine("load", file, "--store", "S")
        check(at.count("S") == 2, "in a store")


@row("L30", "two files that both name a blank node _:b0", "two nodes")
def blank_nodes_of_two_files(at: Place) -> None:
    files = [at.write(name, f"_:b0 <{EX}p> '{name}' .\n".replace("'", '"')) for name in ("a.nt", "b.nt")]
    text = "SELECT (COUNT(DISTINCT ?s) AS ?v) { ?s ?p ?o }"
    check(at.values(text, *files) == ["2"], "in memory")
    at.fine("load", *files, "--store", "S")
    check(at.values(text, "S") == ["2"], "in a store")


class listening:  # noqa: N801 - as contextlib.closing
    """A port of this machine, and who connected to it."""

    def __enter__(self) -> tuple[int, list[str]]:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.callers: list[str] = []
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self._socket.getsockname()[1], self.callers

    def _accept(self) -> None:
        try:
            while True:
                caller, address = self._socket.accept()
                self.callers.append(str(address))
                caller.close()
        except OSError:
            return

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
