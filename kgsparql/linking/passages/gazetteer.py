"""Names of entities found in a text: the labels it has word for word, however it spells capitals and accents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsparql.linking.passages.documents import TextMention
from kgsparql.linking.words import TextToken, stop_words, tokens, words
from kgsparql.rdf.terms import IRI

__all__ = ["MentionMatcher"]

_RUN = re.compile("[0-9A-Za-z$+<=>^`|~\\x80-\U0010ffff]+")
"""Between two of the ASCII characters that are in no word."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A run of tokens that is a key."""

    first: int
    last: int
    key: int


class MentionMatcher:
    """Finds every label in a text in one pass, however many labels there are.

    Of labels that overlap, the one that begins first counts, and of those the longest. Every entity of a label is
    mentioned: a text does not say which. Labels of stop words alone, or of a single character, name nothing.

    Source: Aho and Corasick, "Efficient string matching", CACM 1975.

    :param labels: normalised label to the IRIs that have it.
    :param languages: whose stop words name nothing, beside those of English.

    >>> matcher = MentionMatcher({"new york": ["http://e.org/ny"], "york": ["http://e.org/y"]})
    >>> [(m.start, m.end, m.term.value) for m in matcher.mentions("In New  York, not in Yorkshire or York")]
    [(3, 12, 'http://e.org/ny'), (34, 38, 'http://e.org/y')]
    """

    def __init__(self, labels: Mapping[str, Iterable[str]], *, languages: tuple[str, ...] = ("en",)) -> None:
        from ahocorasick_rs import AhoCorasick, Implementation

        stops = stop_words((*languages, "en"))
        keys = sorted(key for key in labels if _is_telling(key, stops))
        self._terms = [[IRI(value) for value in sorted(set(labels[key]))] for key in keys]
        # The compact form: with millions of labels the fast one would be larger than the graph.
        self._automaton = AhoCorasick(keys, store_patterns=False, implementation=Implementation.ContiguousNFA)

    def mentions(self, text: str) -> tuple[TextMention, ...]:
        """Every mention in a text, by its characters, in order."""
        found = _tokens(text)
        spans = self._spans(found)
        chosen: list[_Span] = []
        for span in sorted(spans, key=lambda span: (span.first, -span.last)):
            if not chosen or span.first > chosen[-1].last:
                chosen.append(span)
        return tuple(
            TextMention(found[span.first].start, found[span.last].end, term)
            for span in chosen
            for term in self._terms[span.key]
        )

    def _spans(self, found: Sequence[TextToken]) -> list[_Span]:
        """The keys that begin and end with tokens."""
        parts: list[str] = []
        begins: dict[int, int] = {}
        ends: dict[int, int] = {}
        at = 0
        for i, token in enumerate(found):
            gap = "" if token.joined or not parts else " "
            begins[at + len(gap)] = i
            at += len(gap) + len(token.text)
            ends[at] = i
            parts += [gap, token.text]
        matches = self._automaton.find_matches_as_indexes("".join(parts), overlapping=True)
        return [_Span(begins[start], ends[end], key) for key, start, end in matches if start in begins and end in ends]


def _tokens(text: str) -> list[TextToken]:
    """As :func:`kgsparql.linking.words.tokens`, ten times as fast where most of a text is ASCII.

    >>> text = "At the Cafe\u0301 de Flore, it's 20 $ – 東京 tower"
    >>> _tokens(text) == tokens(text)
    True
    """
    found: list[TextToken] = []
    for run in _RUN.finditer(text):
        start, end = run.span()
        if run[0].isascii():
            found.append(TextToken(run[0].lower(), start, end))
        else:
            found += [replace(t, start=start + t.start, end=start + t.end) for t in tokens(run[0])]
    return found


def _is_telling(key: str, stops: Iterable[str]) -> bool:
    """Whether a label can be a mention: `it` and `a` would be in every text.

    >>> [_is_telling(key, {"it", "the"}) for key in ("it", "the it", "c", "x ray", "東京")]
    [False, False, False, True, True]
    """
    return len(key) > 1 and any(word not in stops for word in words(key))
