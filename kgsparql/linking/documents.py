"""Documents: plain text and Markdown files, cut into passages, searched for names."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kgsparql.dataclasses import dataclass, frozen
from kgsparql.errors import InputError
from kgsparql.linking.words import TextToken, stop_words, tokens, words
from kgsparql.rdf.terms import IRI, printable

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 in a token of a model, roughly."""

_TEXTS = frozenset((".txt", ".text", ".md", ".markdown"))
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；]|\n(?=[#*\-])")
_GAP = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, order=True)
class TextMention:
    """Name of an entity in a document; ``start`` and ``end`` count characters as in :class:`Excerpt`."""

    start: int
    end: int
    term: IRI


@frozen
class Excerpt:
    """Place of a passage in a document.

    :param document: its path below the directory that was indexed, with ``/`` on every system.
    :param start: in characters of the document, as is ``end``.
    :param mentions: the entities it names, in their order.
    """

    document: str
    start: int
    end: int
    mentions: tuple[TextMention, ...] = ()

    def __str__(self) -> str:
        return self.document


@frozen
class Skipped:
    """File that could not be read, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{printable(self.name, 200)}: {self.reason}"


def files_of(directory: Path) -> tuple[list[Path], list[Skipped]]:
    """List the files in a directory and below it that can be read as documents, and the others; sorted by name.

    Names that begin with a dot are left out, and no link to a directory is followed.
    """
    if not directory.is_dir():
        what = "a file, not a directory" if directory.is_file() else "no such directory"
        raise InputError(f"{printable(str(directory), 200)}: {what}", hint="name a directory of .txt or .md files")
    found, others = [], []
    for path in sorted(directory.rglob("*"), key=lambda path: path.relative_to(directory).parts):
        name = path.relative_to(directory)
        if any(part.startswith(".") for part in name.parts) or not path.is_file():
            continue
        if path.suffix.lower() in _TEXTS:
            found.append(path)
        else:
            others.append(Skipped(name.as_posix(), "not .txt or .md; of a PDF, pdftotext makes one"))
    if not found and not others:
        raise InputError(f"{printable(str(directory), 200)}: an empty directory", hint="put .txt or .md files in it")
    return found, others


def text_of(path: Path) -> str | Skipped:
    """Read a document, or say why not: no error is raised, so that one bad file does not keep others out.

    Text is UTF-8, or UTF-16 with a byte order mark.
    """
    try:
        data = path.read_bytes()
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
        text = data.decode(encoding).replace("\r\n", "\n")
    except OSError as error:
        return Skipped(path.name, error.strerror or type(error).__name__)
    except UnicodeDecodeError as error:
        return Skipped(path.name, f"not UTF-8 (byte {error.start:,}); convert it: iconv -f … -t UTF-8")
    if "\0" in text:
        return Skipped(path.name, "not a text: it has bytes of zero")
    return text if text.strip() else Skipped(path.name, "no text in it")


def passage_spans(text: str, *, tokens: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
    """Yield start and end of each passage of a text: of at most so many tokens, and none that is only white space.

    A passage ends with a paragraph, else with a sentence, else with a word, if that is in its second half. The next one
    begins with the last sentences of the one before, as far as the overlap holds them.

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
        kept = text[at:end]  # less the white space at both ends
        start, stop = at + len(kept) - len(kept.lstrip()), end - len(kept) + len(kept.rstrip())
        is_new = start < stop and stop > last
        if is_new:
            yield start, stop
            last = stop
        if end >= len(text):
            return
        earliest = max(start + 1, end - overlap * BYTES_PER_TOKEN)
        at = _first_start(text, earliest, end, by_sentence=is_clean) if overlap and is_new else end


def _characters_of(text: str, tokens: int) -> int:
    """Count the characters of a text that so many tokens hold, at least one."""
    if text.isascii():
        return max(1, len(text))
    return max(1, len(text.encode("utf-8", "replace")[: tokens * BYTES_PER_TOKEN].decode("utf-8", "ignore")))


def _last_end(text: str, start: int, limit: int) -> tuple[int, bool]:
    """Find the last good place to end a passage, in its second half, and whether a sentence ends there."""
    half = start + (limit - start) // 2
    for pattern in (_PARAGRAPH_END, _SENTENCE_END, _GAP):
        ends = [found.end() for found in pattern.finditer(text, start, min(len(text), limit + 1)) if found.end() > half]
        fitting = [end for end in ends if len(text[start:end].rstrip()) <= limit - start]
        if fitting:
            return fitting[-1], pattern is not _GAP
    return limit, False


def _first_start(text: str, earliest: int, end: int, *, by_sentence: bool) -> int:
    """Find the first good place to begin a passage: after a sentence or, within one, after a word; else ``end``."""
    for pattern in (_PARAGRAPH_END, _SENTENCE_END) if by_sentence else (_PARAGRAPH_END, _SENTENCE_END, _GAP):
        for found in pattern.finditer(text, max(0, earliest - 2), end):
            if earliest <= found.end() < end:
                return found.end()
    return end


# --- Names


class Gazetteer:
    """Finder of every label in a text in one pass, whatever capitals and accents the text has.

    Of labels that overlap, the one that begins first counts, and of those the longest. Every entity of a label is
    mentioned: a text does not say which. Labels of stop words alone, or of a single character, name nothing.

    Source: Aho and Corasick, "Efficient string matching", CACM 1975.

    :param labels: normalised label to the IRIs that have it.
    :param languages: whose stop words name nothing, beside those of English.

    >>> gazetteer = Gazetteer({"new york": ["http://e.org/ny"], "york": ["http://e.org/y"]})
    >>> [(m.start, m.end, m.term.value) for m in gazetteer.mentions("In New  York, not in Yorkshire or York")]
    [(3, 12, 'http://e.org/ny'), (34, 38, 'http://e.org/y')]
    """

    def __init__(self, labels: Mapping[str, Iterable[str]], *, languages: tuple[str, ...] = ("en",)) -> None:
        from ahocorasick_rs import AhoCorasick, Implementation

        stops = stop_words(languages)
        keys = sorted(key for key in labels if len(key) > 1 and any(word not in stops for word in words(key)))
        self._terms = [[IRI(value) for value in sorted(set(labels[key]))] for key in keys]
        # The compact form: with millions of labels, the fast one would be larger than the graph.
        self._automaton = AhoCorasick(keys, store_patterns=False, implementation=Implementation.ContiguousNFA)

    def mentions(self, text: str) -> tuple[TextMention, ...]:
        """Find every mention in a text, in order; places are in characters."""
        found = tokens(text)
        mentions = list[TextMention]()
        next_token = 0
        for first, last, key in sorted(self._label_spans(found), key=lambda span: (span[0], -span[1])):
            if first >= next_token:
                next_token = last + 1
                mentions += (TextMention(found[first].start, found[last].end, term) for term in self._terms[key])
        return tuple(mentions)

    def _label_spans(self, found: Sequence[TextToken]) -> Iterator[tuple[int, int, int]]:
        """Yield the labels that begin and end where tokens do: number of first and last token, and of the label."""
        parts = list[str]()
        begins = dict[int, int]()
        ends = dict[int, int]()
        at = 0
        for i, token in enumerate(found):
            gap = "" if token.joined or not parts else " "
            begins[at + len(gap)] = i
            at += len(gap) + len(token.text)
            ends[at] = i
            parts += [gap, token.text]
        for key, start, end in self._automaton.find_matches_as_indexes("".join(parts), overlapping=True):
            if start in begins and end in ends:
                yield begins[start], ends[end], key
