"""What is refused before the RDF parser sees it: web pages, document type definitions, elements nested without end."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any
from xml.parsers import expat  # only looks at the markup; the RDF is read by pyoxigraph alone

import pyoxigraph as ox

from kgsparql.errors import GraphLoadError, LimitError
from kgsparql.graphs.decoding import LINE_FORMATS, ReadLimits, Tally, utf8

__all__ = ["guarded"]

_DECLARED = re.compile(rb"(\A\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"'])([A-Za-z0-9._:-]+)")
_HTML = re.compile(rb"<!doctype\s+html|<(html|head|body)[\s>]", re.IGNORECASE)
_XML = re.compile(rb"\A\s*(<\?xml\s|<rdf:RDF\s)")
_JSON = re.compile(rb"\A\s*[{\[]\s*[{\"]\s*[@\"\w]")
_SNIFFED_BYTES = 4096


def guarded(
    chunks: Iterator[bytes],
    rdf_format: ox.RdfFormat,
    name: str,
    tally: Tally,
    *,
    encoding: str | None,
    limits: ReadLimits,
) -> Iterator[bytes]:
    """UTF-8 for the parser of a format, from unpacked bytes.

    :raises GraphLoadError: with code ``E_FORMAT`` for what is plainly something else, ``E_DTD`` for RDF/XML with a
        document type definition, ``E_ENCODING`` for bytes that are not text.
    :raises LimitError: for elements nested too deep.
    """
    head, chunks = _with_head(chunks)
    is_xml = rdf_format == ox.RdfFormat.RDF_XML
    if is_xml and encoding is None:
        encoding = _declared_encoding(head, name)
    head, text = _with_head(utf8(chunks, name, tally, encoding))
    _refuse_other_formats(head, rdf_format, name)
    return _xml(text, name, limits) if is_xml else text


def _with_head(chunks: Iterator[bytes], size: int = _SNIFFED_BYTES) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, and all of them again."""
    taken: list[bytes] = []
    while sum(map(len, taken)) < size and (chunk := next(chunks, None)) is not None:
        taken.append(chunk)
    head = b"".join(taken)
    return head, chain([head] if head else [], chunks)


def _declared_encoding(head: bytes, name: str) -> str | None:
    """The encoding that an XML declaration names, when it is another than UTF-8."""
    found = _DECLARED.match(head[:_SNIFFED_BYTES].removeprefix(codecs.BOM_UTF8))
    if found is None:
        return None
    declared = found[2].decode("ascii")
    try:
        codec = codecs.lookup(declared).name
        "<?xml".encode(codec).decode(codec)
    except LookupError as error:
        raise GraphLoadError(
            f"{name}:1:1: the XML declaration names an unknown encoding, {declared}",
            code="E_ENCODING", hint=f"iconv -f ENCODING -t UTF-8 {name}", path=name, line=1, column=1,
        ) from error  # fmt: skip
    return None if codec in {"utf-8", "ascii"} else codec


def _without_comments(head: bytes) -> bytes:
    head = head.strip()
    while head.startswith(b"<!--"):
        head = head.partition(b"-->")[2].lstrip()
    return head


def _refuse_other_formats(head: bytes, rdf_format: ox.RdfFormat, name: str) -> None:
    looks_like, hint = "", ""
    if _HTML.match(_without_comments(head[:_SNIFFED_BYTES])):
        looks_like, hint = "HTML", "a web page was saved instead of the data: fetch it again, asking for RDF"
    elif rdf_format != ox.RdfFormat.RDF_XML and _XML.match(head):
        looks_like, hint = "RDF/XML", "name the format: --input-format rdf"
    elif rdf_format.name in LINE_FORMATS | {"Turtle"} and _JSON.match(head):
        looks_like, hint = "JSON", "name the format, if it is JSON-LD: --input-format jsonld"
    if looks_like:
        raise GraphLoadError(
            f"{name}:1:1: looks like {looks_like}, not {rdf_format.name}",
            code="E_FORMAT", hint=hint, path=name, line=1, column=1,
        )  # fmt: skip


def _xml(chunks: Iterator[bytes], name: str, limits: ReadLimits) -> Iterator[bytes]:
    """Pass on XML once its markup was looked at, with the declared encoding made true.

    Entities are refused where they are declared, because Oxigraph resolves them there (667 bytes become 2 GiB).
    """
    parser = expat.ParserCreate("UTF-8")
    depth = 0

    def place() -> dict[str, Any]:
        return {"path": name, "line": parser.CurrentLineNumber, "column": parser.CurrentColumnNumber + 1}

    def doctype(_root: str, system: str | None, public: str | None, has_subset: int) -> None:
        if has_subset or system or public:
            raise GraphLoadError(
                f"{name}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}: RDF/XML with a document type"
                " definition (DOCTYPE with entities or an external file)",
                code="E_DTD", hint=f"resolve its entities: xmllint --noent --dropdtd {name}", **place(),
            )  # fmt: skip

    def start(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > limits.xml_depth:
            raise LimitError(
                f"{name}:{parser.CurrentLineNumber}: elements nested deeper than {limits.xml_depth:,}",
                hint="convert the file to N-Triples", **place(),
            )  # fmt: skip

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler, parser.StartElementHandler, parser.EndElementHandler = doctype, start, end
    first = _DECLARED.sub(rb"\1UTF-8", next(chunks, b""), count=1)
    yield from _checked_xml(parser, chain([first], chunks), name)


def _checked_xml(parser: expat.XMLParserType, chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
            yield chunk
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        line, column = error.lineno, error.offset + 1
        raise GraphLoadError(
            f"{name}:{line}:{column}: not well-formed XML: {expat.errors.messages.get(error.code, error)}",
            hint="fix the file", path=name, line=line, column=column,
        ) from error  # fmt: skip
