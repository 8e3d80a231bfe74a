"""A gazetteer: it finds the names of entities in a text, whatever capitals and accents the text has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kgsparql.linking.passages.documents import TextMention
from kgsparql.linking.words import TextToken, stop_words, tokens, words
from kgsparql.rdf.terms import IRI


class _KeySpan(NamedTuple):
    """A run of tokens that is a label: numbers of its first and last token, and of the label."""

    first: int
    last: int
    key: int


class Gazetteer:
    """Finds every label in a text in one pass, however many labels there are.

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

        stops = stop_words((*languages, "en"))
        keys = sorted(key for key in labels if _is_telling(key, stops))
        self._terms = [[IRI(value) for value in sorted(set(labels[key]))] for key in keys]
        # The compact form: with millions of labels, the fast one would be larger than the graph.
        self._automaton = AhoCorasick(keys, store_patterns=False, implementation=Implementation.ContiguousNFA)

    def mentions(self, text: str) -> tuple[TextMention, ...]:
        """Every mention in a text, in order; places are in characters."""
        found = tokens(text)
        chosen: list[_KeySpan] = []
        for span in sorted(self._spans(found), key=lambda span: (span.first, -span.last)):
            if not chosen or span.first > chosen[-1].last:
                chosen.append(span)
        return tuple(
            TextMention(found[span.first].start, found[span.last].end, term)
            for span in chosen
            for term in self._terms[span.key]
        )

    def _spans(self, found: Sequence[TextToken]) -> list[_KeySpan]:
        """The labels in the text that begin and end where tokens do."""
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
        return [
            _KeySpan(begins[start], ends[end], key) for key, start, end in matches if start in begins and end in ends
        ]


def _is_telling(key: str, stops: Iterable[str]) -> bool:
    """Whether a label can be a mention; `it` and `a` cannot, as they are in every text.

    >>> [_is_telling(key, {"it", "the"}) for key in ("it", "the it", "c", "x ray", "東京")]
    [False, False, False, True, True]
    """
    return len(key) > 1 and any(word not in stops for word in words(key))
