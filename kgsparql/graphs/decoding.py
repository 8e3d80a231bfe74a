"""Bytes of an RDF file on their way to the parser: unpacked, hashed, in UTF-8, within stated limits.

Each step is a generator of chunks, so that a file is read once and never held whole.
"""

from __future__ import annotations

import codecs
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from kgsparql.errors import GraphLoadError, LimitError, OptionError
from kgsparql.graphs.parse_errors import error_at

if TYPE_CHECKING:
    from hashlib import _Hash


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
    """The bytes of an open file, hashed and counted; ``on_read`` is called with the number of bytes read so far."""
    while chunk := file.read(CHUNK_BYTES):
        tally.digest.update(chunk)
        tally.packed_bytes += len(chunk)
        yield chunk
        if on_read is not None:
            on_read(tally.packed_bytes)


def unpacked(chunks: Iterator[bytes], name: str, tally: Tally, limits: ReadLimits) -> Iterator[bytes]:
    """The bytes with gzip unpacked, which is recognised by its first bytes and not by the name.

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
    """The data of one or more gzip members, checksums verified."""
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
    """The error about a byte; ``offset`` is that of the decoder's first byte, ``tally`` counts the lines before."""
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
        """At most ``size`` bytes; none at the end."""
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
