"""Bytes of an RDF file on their way to the parser: unpacked, hashed, in UTF-8, hostile or foreign content refused.

Each step is a generator of chunks, so that a file is read once and never held whole.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
import re
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import accumulate, chain
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TypeVar, cast
from xml.parsers import expat  # only for the markup: the RDF is parsed by pyoxigraph

import pyoxigraph as ox

from kgsparql.dataclasses import dataclass, field
from kgsparql.errors import GraphLoadError, KgsparqlError, LimitError

if TYPE_CHECKING:
    from hashlib import _Hash


_Error = TypeVar("_Error", bound=KgsparqlError)
LINE_FORMATS = frozenset({"N-Triples", "N-Quads"})
MAX_UNPACKED_BYTES = 256 << 30
MAX_RATIO, _RATIO_FROM_BYTES = 200, 16 << 20
"""Unpacked bytes per packed byte, once so many are unpacked; RDF has 10 to 40."""
MAX_XML_DEPTH = 1000  # of nested elements in RDF/XML, in which its parser is quadratic
MAX_JSON_DEPTH = 500  # of objects and lists in JSON-LD: objects that are ten times as deep overflow its parser's stack
MAX_TRIPLE_DEPTH = 100  # of triples in triples: 1,000 take Oxigraph ten seconds, 20,000 overflow its stack
_TRIPLE_BRACKETS = re.compile(rb"<<\(|\)>>")
JSON_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)(\\?)', re.DOTALL)  # which may go on in the next chunk
_NO_BRACKET, _BRACKET_STEP = bytes(set(range(256)) - set(b"{}[]")), dict(zip(b"{}[]", (1, -1, 1, -1), strict=True))
_CHUNK_BYTES = 1 << 17
_SNIFFED_BYTES = 4096
_GZIP = b"\x1f\x8b"
_ARCHIVES = {_GZIP: "gzip data inside gzip data", b"PK\x03\x04": "a zip archive", b"BZh": "bzip2 data",
             b"\xfd7zXZ": "xz data", b"\x28\xb5\x2f\xfd": "Zstandard data"}  # fmt: skip


def error_at(kind: type[_Error], name: str, line: int, column: int, message: str, **options: Any) -> _Error:
    """Make an error about a place in a file; ``options`` are those of :class:`KgsparqlError`."""
    return kind(f"{name}:{line}:{column}: {message}", path=name, line=line, column=column, **options)


@dataclass(slots=True)
class Tally:
    """Counts of a file while it is read, and the digest of its bytes as they lie on the disk.

    :param name: of the file, in errors.
    """

    name: str
    packed_bytes: int = 0
    unpacked_bytes: int = 0
    lines: int = 0
    digest: _Hash = field(default_factory=hashlib.sha256)


def unpacked(file: BinaryIO, tally: Tally, on_read: Callable[[int], object] | None) -> Iterator[bytes]:
    """Yield the bytes with gzip unpacked, which is recognised by its first bytes and not by the name."""
    head, chunks = _with_head(_counted_chunks(file, tally, on_read))
    name, raw = tally.name, cast("BinaryIO", ChunkReader(chunks))
    source = gzip.GzipFile(fileobj=raw) if head.startswith(_GZIP) else raw
    try:
        while chunk := source.read(_CHUNK_BYTES):
            what = next((what for magic, what in _ARCHIVES.items() if chunk.startswith(magic)), "")
            if what and not tally.unpacked_bytes:
                hint = "unpack it first; only gzip is read, packed once"
                raise GraphLoadError(f"{name}: looks like {what}", code="E_FORMAT", hint=hint, path=name)
            done = tally.unpacked_bytes = tally.unpacked_bytes + len(chunk)
            if done > MAX_UNPACKED_BYTES:
                raise LimitError(f"{name}: more than {MAX_UNPACKED_BYTES:,} bytes unpacked", hint="split it", path=name)
            if done > max(_RATIO_FROM_BYTES, MAX_RATIO * tally.packed_bytes):
                hint = "this is not ordinary RDF; unpack it yourself if you trust it"
                raise LimitError(f"{name}: unpacks to more than {MAX_RATIO} times its size", hint=hint, path=name)
            yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        what = "the gzip data is cut off" if isinstance(error, EOFError) else f"damaged gzip data ({error})"
        raise GraphLoadError(f"{name}: {what}", hint="fetch or pack the file again", path=name) from error


def _counted_chunks(file: BinaryIO, tally: Tally, on_read: Callable[[int], object] | None) -> Iterator[bytes]:
    """Yield the bytes of an open file, hashed and counted."""
    while data := file.read(_CHUNK_BYTES):
        tally.digest.update(data)
        tally.packed_bytes += len(data)
        if on_read is not None:
            on_read(tally.packed_bytes)
        yield data


def _in_utf8(chunks: Iterable[bytes], tally: Tally) -> Iterator[bytes]:
    """Yield UTF-8 without a byte order mark; what is not UTF-8 is refused, with its place."""
    decoder, offset, named = codecs.getincrementaldecoder("utf-8")("strict"), 0, "ENCODING"
    for chunk in chain(chunks, [b""]):
        guess, pending = json.detect_encoding(chunk[:4]) if offset == 0 else "utf-8", len(decoder.getstate()[0])
        declared = DECLARED_ENCODING.match(chunk) if offset == 0 else None
        if declared is not None and declared[2].lower() != b"utf-8":
            named = declared[2].decode()
        hint = f"iconv -f {named if guess.startswith('utf-8') else guess} -t UTF-8 {tally.name}"
        if not guess.startswith("utf-8"):
            message = f"{tally.name}: looks like {guess.upper()}; expected UTF-8"
            raise GraphLoadError(message, code="E_ENCODING", hint=hint, path=tally.name)
        try:
            if pending or not chunk or not chunk.isascii():
                decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            before = error.object[: error.start]
            line, column = tally.lines + 1 + before.count(b"\n"), len(before) - before.rfind(b"\n")
            message = f"byte {offset - pending + error.start:,} is not valid UTF-8; expected UTF-8"
            raise error_at(GraphLoadError, tally.name, line, column, message, code="E_ENCODING", hint=hint) from error
        data = chunk.removeprefix(codecs.BOM_UTF8) if offset == 0 else chunk
        offset += len(chunk)
        tally.lines += data.count(b"\n")
        if data:
            yield data


class ChunkReader:
    """A file object over chunks, with the method that pyoxigraph needs."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._chunk, self._at = chunks, b"", 0

    def read(self, size: int = 1 << 62) -> bytes:
        """Read at most ``size`` bytes; none at the end."""
        while self._at >= len(self._chunk):
            if (chunk := next(self._chunks, None)) is None:
                return b""
            self._chunk, self._at = chunk, 0
        data = self._chunk[self._at : self._at + size]
        self._at += len(data)
        return data


DECLARED_ENCODING = re.compile(rb"(\A(?:\xef\xbb\xbf)?\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"'])([A-Za-z0-9._:-]+)")
_XML, _JSON = re.compile(rb"\s*(<\?xml\s|<rdf:RDF\s)"), re.compile(rb"\s*[{\[]\s*[{\"]\s*[@\"\w]")
_HTML = re.compile(
    rb"\s*(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype\s+html|(?:html|head|body)[\s>])", re.IGNORECASE | re.DOTALL
)
_OWL_SYNTAXES = {
    "OWL functional syntax": re.compile(rb"(?:\s|#.*)*+(?:Prefix|Ontology)\s*\("),
    "OWL Manchester syntax": re.compile(rb"(?:\s|#.*)*+(?:Prefix|Ontology):\s"),
    "OBO": re.compile(rb"(?:\s|!.*)*+(?:format-version:|\[Term\])"),
}
_OTHERS = (ox.RdfFormat.N_QUADS, ox.RdfFormat.TURTLE, ox.RdfFormat.TRIG)
"""What is tried where a text cannot be read as its name says: TriG last, which can hold all that Turtle can."""


def guarded(
    chunks: Iterator[bytes], named: ox.RdfFormat, tally: Tally, *, is_sure: bool
) -> tuple[ox.RdfFormat, Iterator[bytes]]:
    """Return the format of unpacked bytes, and UTF-8 for its parser.

    :param named: the format that the name of the file tells; where it ``is_sure``, the user named it.
    """
    name = tally.name
    head, text = _with_head(_in_utf8(chunks, tally))
    root = _root_element(head)
    found = named if is_sure else _format_in(head, root, named)
    _refuse_other_formats(head, root, found, name)
    if found == ox.RdfFormat.RDF_XML:
        return found, _checked_rdf_xml(text, name)
    return found, (_json_with_depth_checked if found == ox.RdfFormat.JSON_LD else _with_depth_checked)(text, name)


def _root_element(head: bytes) -> str:
    """Return namespace and name of the root of XML; empty for what is none."""
    parser, found = expat.ParserCreate("UTF-8", " "), list[str]()
    parser.StartElementHandler = lambda name, _: found.append(name)
    with suppress(expat.ExpatError):
        parser.Parse(head, False)
    return "".join(found[:1])


def _format_in(head: bytes, root: str, named: ox.RdfFormat) -> ox.RdfFormat:
    """Return the format in which the first bytes can be read: that of the name, where it is one."""
    if root.endswith("/22-rdf-syntax-ns# RDF"):
        return ox.RdfFormat.RDF_XML
    if _JSON.match(head) and b'"@' in head:
        return ox.RdfFormat.JSON_LD
    base = None if named.name in LINE_FORMATS else "file:"  # it may have relative IRIs
    is_text = not root and head.count(b"<<(") <= MAX_TRIPLE_DEPTH
    tried = [one for one in (named, *_OTHERS) if is_text and one.name not in {"RDF/XML", "JSON-LD"}]
    return next((one for one in tried if _can_read(head, one, base, least=one != named)), named)


def _can_read(head: bytes, rdf_format: ox.RdfFormat, base: str | None, *, least: int) -> bool:
    """Tell whether a parser takes the first bytes up to where they are cut, and finds so many statements."""

    def cut() -> Iterator[bytes]:
        yield head
        raise EOFError

    read = 0
    try:
        for _ in ox.parse(cast("IO[bytes]", ChunkReader(cut())), format=rdf_format, base_iri=base):
            read += 1
    except SyntaxError:
        return False
    except EOFError:
        return read >= least
    return False


def _json_with_depth_checked(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield JSON-LD that is not nested too deep."""
    depth, begun = 0, b""
    for chunk in chunks:
        parts = JSON_STRING.split(begun + chunk)  # what is between strings, and how each ends
        begun = b'"' + parts[-2] if len(parts) > 1 and not parts[-3] else b""
        *depths, depth = json_depths(b"".join(parts[::3]), depth)
        if max(depths, default=0) > MAX_JSON_DEPTH or depth > MAX_JSON_DEPTH:
            hint = "name them by @id and list them side by side, or convert the file to N-Quads"
            raise LimitError(f"{name}: objects or lists nested deeper than {MAX_JSON_DEPTH}", hint=hint)
        yield chunk


def json_depths(between: bytes, depth: int = 0) -> Iterator[int]:
    """Yield how deep JSON is nested, from a depth on; it is given without its strings."""
    return accumulate(map(_BRACKET_STEP.__getitem__, between.translate(None, _NO_BRACKET)), initial=depth)


def _with_depth_checked(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield Turtle and its kin; brackets in strings count, too, but nobody opens hundreds there and closes none."""
    depth, end = 0, b""
    for chunk in chunks:
        both = end + chunk
        # Most files have none, and the expression takes as long as a tenth of loading.
        for bracket in _TRIPLE_BRACKETS.findall(both) if depth or b"<<(" in both else ():
            depth = depth + 1 if bracket == b"<<(" else max(0, depth - 1)
            if depth > MAX_TRIPLE_DEPTH:
                message = f"{name}: triples in triples, nested deeper than {MAX_TRIPLE_DEPTH}"
                raise LimitError(message, hint="leave them out")
        end = chunk[-2:]  # a bracket may begin in one chunk and end in the next
        yield chunk


def _with_head(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes, and all bytes including these."""
    head = b""
    while len(head) < _SNIFFED_BYTES and (chunk := next(chunks, None)) is not None:
        head += chunk
    return head[:_SNIFFED_BYTES], chain([head] if head else [], chunks)


def _refuse_other_formats(head: bytes, root: str, rdf_format: ox.RdfFormat, name: str) -> None:
    looks_like = "OWL/XML" if root.endswith("/owl# Ontology") else ""
    looks_like = next((one for one, begins in _OWL_SYNTAXES.items() if begins.match(head)), looks_like)
    hint = f"ROBOT makes RDF of it: robot convert -i {shlex.quote(name)} -o {shlex.quote(f'{name}.ttl')}"
    if _HTML.match(head):
        looks_like, hint = "HTML", "a web page was saved instead of the data: fetch it again, asking for RDF"
    elif not looks_like and rdf_format != ox.RdfFormat.RDF_XML and _XML.match(head):
        looks_like, hint = "RDF/XML", "name the format: --input-format rdf"
    elif rdf_format.name in LINE_FORMATS | {"Turtle"} and _JSON.match(head):
        looks_like, hint = "JSON", "name the format, if it is JSON-LD: --input-format jsonld"
    if looks_like:
        message = f"looks like {looks_like}, not {rdf_format.name}"
        raise error_at(GraphLoadError, name, 1, 1, message, code="E_FORMAT", hint=hint)


def _checked_rdf_xml(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield XML after its markup was checked, with UTF-8 as its declared encoding.

    Entities are refused at their declaration, because Oxigraph resolves them there (667 bytes become 2 GiB).
    """
    parser = expat.ParserCreate("UTF-8")
    depth = 0

    def error_here(kind: type[_Error], message: str, **options: Any) -> _Error:
        return error_at(kind, name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, message, **options)

    def doctype(_root: str, system: str | None, public: str | None, has_subset: int) -> None:
        if has_subset or system or public:
            message = "RDF/XML with a document type definition (DOCTYPE with entities or an external file)"
            hint = f"resolve its entities: xmllint --noent --dropdtd {name}"
            raise error_here(GraphLoadError, message, code="E_DTD", hint=hint)

    def start(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_XML_DEPTH:
            message = f"elements nested deeper than {MAX_XML_DEPTH:,}"
            raise error_here(LimitError, message, hint="convert the file to N-Triples")

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler, parser.StartElementHandler, parser.EndElementHandler = doctype, start, end
    first = DECLARED_ENCODING.sub(rb"\1UTF-8", next(chunks, b""), count=1)
    try:
        for chunk in _with_line_feeds(chain([first], chunks)):
            parser.Parse(chunk, False)
            yield chunk
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        message = f"not well-formed XML: {expat.errors.messages.get(error.code, str(error))}"
        raise error_at(GraphLoadError, name, error.lineno, error.offset + 1, message, hint="fix the file") from error


def _with_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield XML with the line ends that a reader of XML makes of others; Oxigraph kept those in literals."""
    held = b""
    for chunk in chunks:
        text = held + chunk
        held = b"\r" if text.endswith(b"\r") else b""
        yield text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    yield held.replace(b"\r", b"\n")
