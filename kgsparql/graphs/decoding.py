"""Bytes of an RDF file on their way to the parser: unpacked, hashed, in UTF-8, hostile or foreign content refused.

Each step is a generator of chunks, so that a file is read once and never held whole.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TypeVar, cast
from xml.parsers import expat  # only for the markup: the RDF is parsed by pyoxigraph

import pyoxigraph as ox

from kgsparql.errors import GraphLoadError, InputError, KgsparqlError, LimitError, OptionError
from kgsparql.resources import option_file

if TYPE_CHECKING:
    from hashlib import _Hash


_Error = TypeVar("_Error", bound=KgsparqlError)
CHUNK_BYTES = 1 << 17
LINE_FORMATS = frozenset({"N-Triples", "N-Quads"})
"""Formats with one statement a line."""
_GZIP = b"\x1f\x8b"
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"7z\xbc\xaf": "a 7z archive",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
}


def error_at(kind: type[_Error], name: str, line: int, column: int, message: str, **options: Any) -> _Error:
    """Make an error about a place in a file; ``options`` are those of :class:`KgsparqlError`."""
    return kind(f"{name}:{line}:{column}: {message}", path=name, line=line, column=column, **options)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How large a file may be before it is refused.

    :param unpacked_bytes: decoded size of one file.
    :param ratio: unpacked bytes per packed byte, checked once ``ratio_from_bytes`` are unpacked; RDF has 10 to 40.
    :param xml_depth: depth of nested elements in RDF/XML, in which its parser is quadratic.
    :param quoted_depth: depth of quoted triples in quoted triples; 20,000 crash Oxigraph, 1,000 take it 10 s.
    """

    unpacked_bytes: int = 256 << 30
    ratio: int = 200
    ratio_from_bytes: int = 16 << 20
    xml_depth: int = 1000
    quoted_depth: int = 100


@dataclass(slots=True)
class Tally:
    """Counts of a file while it is read.

    :param packed_bytes: bytes read from the disk or pipe.
    :param unpacked_bytes: bytes handed to the parser.
    :param lines: line ends among them.
    """

    packed_bytes: int = 0
    unpacked_bytes: int = 0
    lines: int = 0
    digest: _Hash = field(default_factory=hashlib.sha256)

    @property
    def sha256(self) -> str:
        """Hash of the bytes as they lie on the disk, in hexadecimal."""
        return self.digest.hexdigest()


def raw_chunks(file: BinaryIO, tally: Tally, on_read: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Yield the bytes of an open file, hashed and counted; ``on_read`` gets the number of bytes read so far."""
    while chunk := file.read(CHUNK_BYTES):
        tally.digest.update(chunk)
        tally.packed_bytes += len(chunk)
        yield chunk
        if on_read is not None:
            on_read(tally.packed_bytes)


def unpacked(chunks: Iterator[bytes], name: str, tally: Tally, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the bytes with gzip unpacked, which is recognised by its first bytes and not by the name.

    :raises GraphLoadError: for other archives, gzip inside gzip, damaged or cut data.
    :raises LimitError: for data that unpacks beyond the limits.
    """
    first = next(chunks, b"")
    packed = first.startswith(_GZIP)
    whole = chain([first] if first else [], chunks)
    for chunk in _gzip_content(whole, name, tally, limits) if packed else whole:
        if tally.unpacked_bytes == 0:
            _refuse_archives(chunk, name, inside_gzip=packed)
        tally.unpacked_bytes += len(chunk)
        if tally.unpacked_bytes > limits.unpacked_bytes:
            raise LimitError(
                f"{name}: more than {limits.unpacked_bytes:,} bytes unpacked", hint="split the file", path=name
            )
        yield chunk


def _refuse_archives(head: bytes, name: str, *, inside_gzip: bool) -> None:
    if inside_gzip and head.startswith(_GZIP):
        raise GraphLoadError(
            f"{name}: gzip data inside gzip data", code="E_FORMAT", hint="unpack it once: gunzip", path=name
        )
    for magic, what in _ARCHIVES.items():
        if head.startswith(magic):
            raise GraphLoadError(
                f"{name}: looks like {what}", code="E_FORMAT", hint="unpack it first; only gzip is read", path=name
            )


def _gzip_content(chunks: Iterable[bytes], name: str, tally: Tally, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the data of one or more gzip members, checksums verified."""
    member = zlib.decompressobj(wbits=31)
    done = 0
    for packed in chunks:
        rest = packed
        while rest:
            if member.eof:
                if not rest.startswith(_GZIP[:1]) and not rest.strip(b"\0"):
                    rest = b""  # padding with zeros after the last member is allowed
                    continue
                member = zlib.decompressobj(wbits=31)
            try:
                chunk = member.decompress(rest, CHUNK_BYTES * 4)
            except zlib.error as error:
                raise GraphLoadError(
                    f"{name}: damaged gzip data ({error})", hint="fetch or pack the file again", path=name
                ) from error
            rest = member.unused_data if member.eof else member.unconsumed_tail
            done += len(chunk)
            if done > limits.ratio_from_bytes and done > limits.ratio * tally.packed_bytes:
                raise LimitError(
                    f"{name}: unpacks to more than {limits.ratio} times its size", path=name,
                    hint="this is not ordinary RDF; unpack it yourself if you trust it",
                )  # fmt: skip
            if chunk:
                yield chunk
    if not member.eof:
        raise GraphLoadError(f"{name}: the gzip data is cut off", hint="fetch the file again", path=name)


def utf8(chunks: Iterable[bytes], name: str, tally: Tally, encoding: str | None) -> Iterator[bytes]:
    """UTF-8 without a byte order mark: checked if it is UTF-8 already, else transcoded from ``encoding``.

    :raises GraphLoadError: with code ``E_ENCODING`` and the offset of the first byte that is not in the encoding.
    :raises OptionError: for an encoding that Python does not know.
    """
    try:
        with suppress(UnicodeError):
            b"a".decode(encoding or "utf-8")  # unlike a lookup, this refuses codecs that do not decode to text
        decoder = codecs.getincrementaldecoder(encoding or "utf-8")("strict")
    except LookupError as error:
        raise OptionError(f"unknown encoding {encoding!r}", hint="for example latin-1, cp1252, utf-16") from error
    transcode = encoding is not None and codecs.lookup(encoding).name != "utf-8"
    offset = 0
    for chunk in chain(chunks, [b""]):
        if offset == 0 and not transcode:
            _refuse_utf16(chunk, name)
        pending = len(decoder.getstate()[0])
        data = chunk
        try:
            if transcode or pending or not chunk or not chunk.isascii():
                text = decoder.decode(chunk, not chunk)
                data = text.encode() if transcode else chunk
        except UnicodeDecodeError as error:
            raise _encoding_error(error, offset - pending, name, tally) from error
        if tally.lines == 0 and offset == 0:
            data = data.removeprefix(codecs.BOM_UTF8)
        offset += len(chunk)
        tally.lines += data.count(b"\n")
        if data:
            yield data


def _encoding_error(error: UnicodeDecodeError, offset: int, name: str, tally: Tally) -> GraphLoadError:
    """Make the error about a byte; ``offset`` is that of the decoder's first one, ``tally`` counts lines before."""
    before = bytes(error.object[: error.start])
    line, column = tally.lines + 1 + before.count(b"\n"), len(before) - before.rfind(b"\n")
    offset += error.start
    message = f"byte {offset:,} is not valid {error.encoding.upper()}; expected UTF-8"
    hint = "name the encoding, for example --encoding latin-1"
    return error_at(GraphLoadError, name, line, column, message, code="E_ENCODING", hint=hint, offset=offset)


def _refuse_utf16(head: bytes, name: str) -> None:
    """Refuse UTF-16 and UTF-32, recognised by their marks, or by the zeros beside ASCII characters."""
    sample = head[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    guess = None
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        guess = "utf-32"
    elif sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        guess = "utf-16"
    elif len(sample) >= 4 and max(even, odd) > len(sample) // 8 and min(even, odd) < max(even, odd) // 4:
        guess = "utf-16-be" if even > odd else "utf-16-le"
    if guess is not None:
        raise GraphLoadError(
            f"{name}: looks like {guess.upper()}; expected UTF-8",
            code="E_ENCODING", hint=f"--encoding {guess}", path=name, guess=guess,
        )  # fmt: skip


class ChunkReader:
    """A file object over chunks, with the methods that pyoxigraph needs. Keeps the error that ended the reading."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._chunk = b""
        self._at = 0
        self.error: BaseException | None = None

    @property
    def file(self) -> IO[bytes]:
        """The reader itself, typed as a file."""
        return cast("IO[bytes]", self)

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes; none at the end."""
        if size < 0:
            size = 1 << 62
        while self._at >= len(self._chunk):
            try:
                self._chunk, self._at = next(self._chunks), 0
            except StopIteration:
                return b""
            except BaseException as error:
                self.error = error
                raise
        end = self._at + size
        data = self._chunk[self._at : end]
        self._at = end
        return data


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
        return _checked_rdf_xml(text, name, limits)
    return text if rdf_format == ox.RdfFormat.JSON_LD else _with_depth_checked(text, rdf_format, name, limits)


def _with_head(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes, and all bytes including these."""
    taken: list[bytes] = []
    while sum(map(len, taken)) < _SNIFFED_BYTES and (chunk := next(chunks, None)) is not None:
        taken.append(chunk)
    head = b"".join(taken)
    return head, chain([head] if head else [], chunks)


def _declared_encoding(head: bytes, name: str) -> str | None:
    """Return the encoding that an XML declaration names; ``None`` for UTF-8."""
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


def _checked_rdf_xml(chunks: Iterator[bytes], name: str, limits: ReadLimits) -> Iterator[bytes]:
    """Yield XML after its markup was checked, with UTF-8 as its declared encoding.

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
    """Yield XML with the line ends that a reader of XML makes of others; Oxigraph kept those in literals."""
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


def _with_depth_checked(
    chunks: Iterator[bytes], rdf_format: ox.RdfFormat, name: str, limits: ReadLimits
) -> Iterator[bytes]:
    """Yield Turtle and its kin after the depth of its quoted triples was checked: nothing else in it nests."""
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
    """Read the JSON-LD context in a file: the value of its ``@context``, else the whole file.

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
    """Return a JSON-LD document with this context for each context that it only names by IRI: nothing is ever fetched.

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
        key: _inlined_context(item, context) if key == "@context" else _with_contexts(item, context)
        for key, item in value.items()
    }


def _inlined_context(named: Any, context: Any) -> Any:
    if isinstance(named, list):
        return [_inlined_context(item, context) for item in named]
    return context if isinstance(named, str) else named
