"""Documents: plain text, Markdown and PDF files, read page by page and cut into passages."""

from __future__ import annotations

import codecs
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError
from kgsparql.rdf.terms import IRI, printable

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 in a token of a model, roughly."""

PDF_HINT = "pip install 'kgsparql[pdf]' reads PDF files"

_TEXTS = frozenset((".txt", ".text", ".md", ".markdown"))
_PDF = ".pdf"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；]|\n(?=[#*\-])")
_GAP = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, order=True)
class TextMention:
    """A name of an entity in a document; ``start`` and ``end`` count characters as in :class:`Excerpt`."""

    start: int
    end: int
    term: IRI


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Where in a document a passage stands.

    :param document: its path below the directory that was indexed, with ``/`` on every system.
    :param start: in characters of the document, or, if it has pages, of the page; as is ``end``.
    :param page: from 1; ``None`` for a document without pages.
    :param mentions: the entities it names, in their order.

    >>> str(Excerpt("report.pdf", 0, 90, page=3))
    'report.pdf, page 3'
    """

    document: str
    start: int
    end: int
    page: int | None = None
    mentions: tuple[TextMention, ...] = ()

    def __str__(self) -> str:
        return self.document if self.page is None else f"{self.document}, page {self.page}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or the whole text of a document without pages.

    :param number: from 1; ``None`` for a document without pages.
    """

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read."""

    name: str
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be read, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{printable(self.name, 200)}: {self.reason}"


def files_of(directory: Path) -> tuple[list[Path], list[Skipped]]:
    """The files in a directory, and below it, that can be read as documents, and the others; sorted by name.

    Names that begin with a dot are left out, and no link to a directory is followed.

    :raises InputError: if there is no such directory, or nothing in it.
    """
    if not directory.is_dir():
        what = "a file, not a directory" if directory.is_file() else "no such directory"
        raise InputError(
            f"{printable(str(directory), 200)}: {what}", hint="name a directory of .txt, .md or .pdf files"
        )
    found, others = [], []
    for path in sorted(directory.rglob("*"), key=lambda path: path.relative_to(directory).parts):
        name = path.relative_to(directory)
        if any(part.startswith(".") for part in name.parts) or not path.is_file():
            continue
        if path.suffix.lower() in _TEXTS | {_PDF}:
            found.append(path)
        else:
            others.append(Skipped(name.as_posix(), "not .txt, .md or .pdf"))
    if not found and not others:
        raise InputError(
            f"{printable(str(directory), 200)}: an empty directory", hint="put .txt, .md or .pdf files in it"
        )
    return found, others


def read_document(path: Path, directory: Path) -> Document | Skipped:
    """A document, or why it cannot be read: no error is raised, so that one bad file does not keep the others out.

    Text is UTF-8, or UTF-16 with a byte order mark.
    """
    name = path.relative_to(directory).as_posix()
    try:
        data = path.read_bytes()
    except OSError as error:
        return Skipped(name, error.strerror or type(error).__name__)
    pages = _pdf_pages(data) if path.suffix.lower() == _PDF else _text_page(data)
    if isinstance(pages, str):
        return Skipped(name, pages)
    if not any(page.text.strip() for page in pages):
        return Skipped(name, "no text in it" + (" (a scan?)" if path.suffix.lower() == _PDF else ""))
    return Document(name, tuple(pages))


def _text_page(data: bytes) -> list[Page] | str:
    """The text of a file as one page, or why it is no text."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start:,}); convert it: iconv -f … -t UTF-8"
    if "\0" in text:
        return "not a text: it has bytes of zero"
    return [Page(None, text.replace("\r\n", "\n"))]


def _pdf_pages(data: bytes) -> list[Page] | str:
    """The pages of a PDF file, or why it cannot be read."""
    if find_spec("pypdf") is None:
        return PDF_HINT
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what is wrong with a file is said once, by us
    try:
        reader: Any = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return "it needs a password"
        texts = [page.extract_text() for page in reader.pages]
    except DependencyError as error:
        return printable(str(error), 120)
    except Exception as error:  # noqa: BLE001 - a damaged file raises whatever it leads the parser into
        return f"not a PDF that can be read: {printable(str(error) or type(error).__name__, 120)}"
    # A font without a character table may give half of a surrogate pair, which is no text.
    return [Page(i, text.encode("utf-8", "replace").decode()) for i, text in enumerate(texts, 1)]


def passage_spans(text: str, *, tokens: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
    """Start and end of each passage of a text: of at most so many tokens, and none that is only white space.

    A passage ends with a paragraph, else with a sentence, else with a word, if that is in its second half. The next one
    begins with the last sentences of the one before, as far as the overlap holds them.

    :param tokens: of :data:`BYTES_PER_TOKEN` bytes each, as for ``overlap``.

    >>> text = "One thing. Another thing. A third thing altogether."
    >>> [text[a:b] for a, b in passage_spans(text, tokens=7)]
    ['One thing. Another thing.', 'A third thing altogether.']
    >>> [text[a:b] for a, b in passage_spans(text, tokens=10, overlap=4)]
    ['One thing. Another thing.', 'Another thing. A third thing altogether.']
    """
    at = last = 0
    while at < len(text):
        limit = at + _characters_of(text[at : at + tokens * BYTES_PER_TOKEN], tokens)
        end, is_clean = (len(text), True) if limit >= len(text) else _last_end(text, at, limit)
        start, stop = _stripped(text, at, end)
        is_new = start < stop and stop > last
        if is_new:
            yield start, stop
            last = stop
        if end >= len(text):
            return
        earliest = max(start + 1, end - overlap * BYTES_PER_TOKEN)
        at = _first_start(text, earliest, end, by_sentence=is_clean) if overlap and is_new else end


def _characters_of(text: str, tokens: int) -> int:
    """How many characters of a text so many tokens hold, at least one."""
    if text.isascii():
        return max(1, len(text))
    return max(1, len(text.encode("utf-8", "replace")[: tokens * BYTES_PER_TOKEN].decode("utf-8", "ignore")))


def _last_end(text: str, start: int, limit: int) -> tuple[int, bool]:
    """The last good place to end a passage, in its second half, and whether a sentence ends there."""
    half = start + (limit - start) // 2
    for pattern in (_PARAGRAPH_END, _SENTENCE_END, _GAP):
        ends = [found.end() for found in pattern.finditer(text, start, min(len(text), limit + 1)) if found.end() > half]
        fitting = [end for end in ends if len(text[start:end].rstrip()) <= limit - start]
        if fitting:
            return fitting[-1], pattern is not _GAP
    return limit, False


def _first_start(text: str, earliest: int, end: int, *, by_sentence: bool) -> int:
    """The first good place to begin a passage: after a sentence or, within one, after a word; else at ``end``."""
    for pattern in (_PARAGRAPH_END, _SENTENCE_END) if by_sentence else (_PARAGRAPH_END, _SENTENCE_END, _GAP):
        for found in pattern.finditer(text, max(0, earliest - 2), end):
            if earliest <= found.end() < end:
                return found.end()
    return end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Start and end without the white space at both ends."""
    kept = text[start:end]
    return start + len(kept) - len(kept.lstrip()), end - len(kept) + len(kept.rstrip())
