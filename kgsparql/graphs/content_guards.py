"""Between a file and the RDF parser: hostile or foreign content is refused, contexts of JSON-LD are put in."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, cast
from xml.parsers import expat  # only for the markup: the RDF is parsed by pyoxigraph

import pyoxigraph as ox

from kgsparql.errors import GraphLoadError, InputError, LimitError
from kgsparql.graphs.decoding import LINE_FORMATS, ReadLimits, Tally, utf8
from kgsparql.graphs.parse_errors import error_at
from kgsparql.resources import option_file

_DECLARED = re.compile(rb"(\A\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"'])([A-Za-z0-9._:-]+)")
_HTML = re.compile(rb"<!doctype\s+html|<(html|head|body)[\s>]", re.IGNORECASE)
_XML = re.compile(rb"\A\s*(<\?xml\s|<rdf:RDF\s)")
_JSON = re.compile(rb"\A\s*[{\[]\s*[{\"]\s*[@\"\w]")
_SNIFFED_BYTES = 4096
_UNQUOTED = re.compile(
    rb"""(?:[^<>#"'\\]+|\\.|#[^\r\n]*[\r\n]|<[^<>"\s]*>|>(?=[^>])"""
    rb"""|"(?:[^"\\\r\n]++|\\.)++"|""(?=[^"])|\"{3}(?:[^"\\]++|\\.|"(?!""))*+\"{3}"""
    rb"""|'(?:[^'\\\r\n]++|\\.)++'|''(?=[^'])|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3})*+""",
    re.DOTALL,
)
"""What stands between the brackets of quoted triples; strings, IRIs and comments are tokens, as in the parser."""
_NO_TOKEN = re.compile(
    rb"""<[^<>"\s]*[<"\s]|"(?!"")(?:[^"\\\r\n]++|\\.)*+[\r\n]|'(?!'')(?:[^'\\\r\n]++|\\.)*+[\r\n]""", re.DOTALL
)
_LARGEST_CONTEXT = 16 << 20
_LONGEST_TOKEN = 17 << 20


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

    :raises GraphLoadError: with code ``E_FORMAT`` for content of another format, ``E_DTD`` for RDF/XML with a document
        type definition, ``E_ENCODING`` for bytes that are not text.
    :raises LimitError: for elements or quoted triples nested too deep.
    """
    head, chunks = _with_head(chunks)
    is_xml = rdf_format == ox.RdfFormat.RDF_XML
    if is_xml and encoding is None:
        encoding = _declared_encoding(head, name)
    head, text = _with_head(utf8(chunks, name, tally, encoding))
    _refuse_other_formats(head, rdf_format, name)
    if is_xml:
        return _xml(text, name, limits)
    return text if rdf_format == ox.RdfFormat.JSON_LD else _shallow(text, rdf_format, name, limits)


def _with_head(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, and all bytes including these."""
    taken: list[bytes] = []
    while sum(map(len, taken)) < _SNIFFED_BYTES and (chunk := next(chunks, None)) is not None:
        taken.append(chunk)
    head = b"".join(taken)
    return head, chain([head] if head else [], chunks)


def _declared_encoding(head: bytes, name: str) -> str | None:
    """The encoding that an XML declaration names; ``None`` for UTF-8."""
    found = _DECLARED.match(head[:_SNIFFED_BYTES].removeprefix(codecs.BOM_UTF8))
    if found is None:
        return None
    declared = found[2].decode("ascii")
    try:
        codec = codecs.lookup(declared).name
        "<?xml".encode(codec).decode(codec)
    except LookupError as error:
        message = f"the XML declaration names an unknown encoding, {declared}"
        hint = f"iconv -f ENCODING -t UTF-8 {name}"
        raise error_at(GraphLoadError, name, 1, 1, message, code="E_ENCODING", hint=hint) from error
    return None if codec in {"utf-8", "ascii"} else codec


def _refuse_other_formats(head: bytes, rdf_format: ox.RdfFormat, name: str) -> None:
    looks_like, hint = "", ""
    markup = head[:_SNIFFED_BYTES].strip()
    while markup.startswith(b"<!--"):
        markup = markup.partition(b"-->")[2].lstrip()
    if head.startswith(b"version https://git-lfs.github.com/"):
        looks_like, hint = "a pointer of Git LFS", "fetch the file itself: git lfs pull"
    elif _HTML.match(markup):
        looks_like, hint = "HTML", "a web page was saved instead of the data: fetch it again, asking for RDF"
    elif rdf_format != ox.RdfFormat.RDF_XML and _XML.match(head):
        looks_like, hint = "RDF/XML", "name the format: --input-format rdf"
    elif rdf_format.name in LINE_FORMATS | {"Turtle"} and _JSON.match(head):
        looks_like, hint = "JSON", "name the format, if it is JSON-LD: --input-format jsonld"
    if looks_like:
        message = f"looks like {looks_like}, not {rdf_format.name}"
        raise error_at(GraphLoadError, name, 1, 1, message, code="E_FORMAT", hint=hint)


def _xml(chunks: Iterator[bytes], name: str, limits: ReadLimits) -> Iterator[bytes]:
    """XML, passed on after its markup was checked, with UTF-8 as its declared encoding.

    Entities are refused at their declaration, because Oxigraph resolves them there (667 bytes become 2 GiB).
    """
    parser = expat.ParserCreate("UTF-8")
    depth = 0

    def doctype(_root: str, system: str | None, public: str | None, has_subset: int) -> None:
        if has_subset or system or public:
            message = "RDF/XML with a document type definition (DOCTYPE with entities or an external file)"
            hint = f"resolve its entities: xmllint --noent --dropdtd {name}"
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
            raise error_at(GraphLoadError, name, line, column, message, code="E_DTD", hint=hint)

    def start(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > limits.xml_depth:
            raise LimitError(
                f"{name}:{parser.CurrentLineNumber}: elements nested deeper than {limits.xml_depth:,}",
                hint="convert the file to N-Triples", path=name,
                line=parser.CurrentLineNumber, column=parser.CurrentColumnNumber + 1,
            )  # fmt: skip

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler, parser.StartElementHandler, parser.EndElementHandler = doctype, start, end
    first = _DECLARED.sub(rb"\1UTF-8", next(chunks, b""), count=1)
    yield from _checked_xml(parser, _with_line_feeds(chain([first], chunks)), name)


def _with_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """XML with the line ends that a reader of XML makes of any others; Oxigraph kept those in literals."""
    held = b""
    for chunk in chunks:
        text = held + chunk
        held = b"\r" if text.endswith(b"\r") else b""
        yield text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    yield held.replace(b"\r", b"\n")


def _checked_xml(parser: expat.XMLParserType, chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
            yield chunk
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        message = f"not well-formed XML: {expat.errors.messages.get(error.code, str(error))}"
        raise error_at(GraphLoadError, name, error.lineno, error.offset + 1, message, hint="fix the file") from error


def _shallow(chunks: Iterator[bytes], rdf_format: ox.RdfFormat, name: str, limits: ReadLimits) -> Iterator[bytes]:
    """Turtle and its kin, passed on after the depth of its quoted triples was checked: nothing else in it nests."""
    in_lines = rdf_format.name in LINE_FORMATS
    depth, line, rest, wanted = 0, 1, b"", 0
    for chunk in chain(chunks, [b""]):
        data, at, is_last = rest + chunk, 0, not chunk
        if len(data) < wanted and not is_last:
            rest = data
            continue
        if in_lines and not depth and b"<<" not in data:  # no token of theirs goes beyond its line
            at = len(data)
        while at < len(data):
            at = cast("re.Match[bytes]", _UNQUOTED.match(data, at)).end()
            bracket = data[at : at + 2]
            if bracket == b"<<":
                depth += 1
            elif bracket == b">>":
                depth = max(0, depth - 1)
            elif not (is_last or _NO_TOKEN.match(data, at) or len(data) - at > _LONGEST_TOKEN):
                break  # the rest of a token is in the next chunk
            if depth > limits.quoted_depth:
                line += data.count(b"\n", 0, at)
                message = f"quoted triples nested deeper than {limits.quoted_depth:,}"
                raise error_at(LimitError, name, line, at - data.rfind(b"\n", 0, at), message, hint="leave it out")
            at += 2 if bracket in {b"<<", b">>"} else 1
        line += data.count(b"\n", 0, at)
        rest, wanted = data[at:], 2 * (len(data) - at)  # a long token is not scanned again for each chunk
        if at:
            yield data[:at]


def read_context(path: str) -> Any:
    """The JSON-LD context in a file: the value of its ``@context``, else the whole file.

    :raises InputError: if the file cannot be read, or is not JSON.
    """
    try:
        text = option_file(path, at_most=_LARGEST_CONTEXT)
    except OSError as error:
        raise InputError(f"cannot read the context {path}: {error.strerror}", hint="check the path") from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"cannot read the context {path}: {error}", hint="--context takes a JSON-LD context"
        ) from error
    return data.get("@context", data) if isinstance(data, dict) else data


def with_context(document: bytes, context: Any) -> bytes:
    """A JSON-LD document with this context for each context that it only names by IRI: nothing is ever fetched.

    A document that is not JSON is returned unchanged: the parser will report the error with its place.

    >>> with_context(b'{"@context": "http://e.org/c", "name": "x"}', {"name": "http://e.org/name"})
    b'{"@context": {"name": "http://e.org/name"}, "name": "x"}'
    """
    try:
        return json.dumps(_with_contexts(json.loads(document), context)).encode()
    except (ValueError, RecursionError):
        return document


def _with_contexts(value: Any, context: Any) -> Any:
    if isinstance(value, list):
        return [_with_contexts(item, context) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _inlined(item, context) if key == "@context" else _with_contexts(item, context)
        for key, item in value.items()
    }


def _inlined(named: Any, context: Any) -> Any:
    if isinstance(named, list):
        return [_inlined(item, context) for item in named]
    return context if isinstance(named, str) else named
