"""Passages: parts of a long text of the graph, and the names that are in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from kgsparql.linking.words import stop_words, tokens, words

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 in a token of a model, roughly."""
PASSAGE_BYTES = 200 * BYTES_PER_TOKEN
"""The most bytes in a passage: three to six sentences."""

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；]|\n(?=[#*\-])")
_GAP = re.compile(r"\s+")


def passage_spans(text: str, most: int = PASSAGE_BYTES) -> Iterator[tuple[int, int]]:
    """Yield start and end of each passage of a text: of at most so many bytes, and none that is only white space.

    A passage ends with a paragraph, else with a sentence, else with a word, if that is in its second half.

    >>> text = "One thing. Another thing. A third thing altogether."
    >>> [text[a:b] for a, b in passage_spans(text, 28)]
    ['One thing. Another thing.', 'A third thing altogether.']
    """
    at = 0
    while at < len(text):
        fitting = text[at : at + most].encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
        limit = at + max(1, len(fitting))
        end = len(text) if limit >= len(text) else _last_end(text, at, limit)
        kept = text[at:end]  # less the white space at both ends
        if kept.strip():
            yield at + len(kept) - len(kept.lstrip()), at + len(kept.rstrip())
        at = end


def _last_end(text: str, start: int, limit: int) -> int:
    """Find the last good place to end a passage, in its second half."""
    half = start + (limit - start) // 2
    for pattern in (_PARAGRAPH_END, _SENTENCE_END, _GAP):
        ends = [found.end() for found in pattern.finditer(text, start, min(len(text), limit + 1)) if found.end() > half]
        fitting = [end for end in ends if len(text[start:end].rstrip()) <= limit - start]
        if fitting:
            return fitting[-1]
    return limit


def names_in(text: str, names: Collection[str], *, languages: tuple[str, ...] = ("en",)) -> Iterator[str]:
    """Yield each normalised name that is in a text, whatever capitals and accents it has there.

    Of names that overlap, the one that begins first counts, and of those the longest. Stop words alone, or a single
    character, name nothing.

    >>> list(names_in("In New  York, not in Yorkshire or York", {"new york", "york", "in"}))
    ['new york', 'york']
    """
    stops, found, at = stop_words(languages), tokens(text), 0
    known = {name for name in names if len(name) > 1 and any(word not in stops for word in words(name))}
    longest = max(map(len, known), default=0)
    while at < len(found):
        said, name, after = "", "", at + 1
        for end, token in enumerate(found[at:], at + 1):
            said += token.text if token.joined or not said else f" {token.text}"
            if len(said) > longest:
                break
            if said in known:
                name, after = said, end
        if name:
            yield name
        at = after
