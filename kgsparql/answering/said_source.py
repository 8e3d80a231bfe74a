"""`according to the Census 2020`: a question that names one of the named graphs of a file asks that one alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kgsparql.dataclasses import frozen
from kgsparql.exploration import labels
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.words import root, stop_words, tokens
from kgsparql.rdf.terms import IRI, normalised
from kgsparql.reading.lexicon import lexicon

_STOPS = stop_words()
_MOST_GRAPHS, _LONGEST = 50, 8  # named graphs that a question may name; words of such a name


@frozen
class SaidSource:
    """A question without the name of a named graph; empty for one that names none.

    :param told: what the reader is to know of it.
    """

    question: str = ""
    told: str = ""


def said_source(graph: KnowledgeGraph, question: str, languages: Sequence[str]) -> tuple[SaidSource, KnowledgeGraph]:
    """Take a question that names a named graph for one about what that says; else return the graph as it is.

    It is named by some words of its name after `according to`, or by all of that, if it is called a `census` or the
    like, after `in`.
    """
    words = tokens(question)
    texts = [word.text.lower() for word in words]
    breaks = {at for at in range(1, len(words)) if "," in question[words[at - 1].end : words[at].start]}
    spans = [*_spans_after_phrases(texts, breaks)]
    known = graph.named_graphs() if spans and graph.is_embedded else None
    if not known or len(known) > _MOST_GRAPHS:
        return SaidSource(), graph
    names = {one: found.text for one, found in labels(graph, known, languages=tuple(languages)).items()}
    for at, start, end in spans:
        named = _named_by(texts[start:end], {one: names[one] for one in known}, by_part=start - at > 1)
        if named is not None and (part := graph.part(named)) is not None:
            left, right = question[: words[at].start].rstrip(" ,"), question[words[end - 1].end :].lstrip(" ,")
            rest = f"{left} {right}" if left and right[:1].isalnum() else f"{left}{right}"
            told = f"only what {names[named]} says was asked: the named graph {named}, and the default graph"
            return SaidSource(rest[:1].upper() + rest[1:], told), part
    return SaidSource(), graph


def _spans_after_phrases(texts: Sequence[str], breaks: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """Yield where a phrase begins and ends, and each end of what may be a name behind it, the longest first.

    :param breaks: positions of the words before which there is a comma.
    """
    for at in range(len(texts)):
        for size in (2, 1):
            if " ".join(texts[at : at + size]) in lexicon().source_phrases:
                start = at + size
                last = min(len(texts), start + _LONGEST, *(one for one in breaks if one > start))
                yield from ((at, start, end) for end in range(last, start, -1) if texts[end - 1] not in _STOPS)


def _named_by(said: Sequence[str], names: Mapping[IRI, str], *, by_part: bool) -> IRI | None:
    """Find the one graph that some words name; ``None`` where they name none, or several."""
    own, is_source = _content_roots(said), not lexicon().source_words.isdisjoint(said)
    known = {one: _content_roots(normalised(name).split()) for one, name in names.items()}
    fits = [one for one, its in known.items() if (own and own <= its if by_part else is_source and own == its)]
    return fits[0] if len(fits) == 1 else None


def _content_roots(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(root(text) for text in texts if text not in _STOPS)
