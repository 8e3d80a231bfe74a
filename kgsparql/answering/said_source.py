"""`according to the Census 2020`: a question that names one of the named graphs of a file asks that one alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from kgsparql.exploration import labels
from kgsparql.exploration.labels import own_label
from kgsparql.graphs.graph import BOUND, KnowledgeGraph
from kgsparql.linking.words import root, stop_words, tokens
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, distinct, iris_in, normalised
from kgsparql.rdf.vocabulary import SAME_AS
from kgsparql.reading.lexicon import lexicon
from kgsparql.schema.patterns import patterns

_STOPS = stop_words()
_MOST_GRAPHS, _LONGEST = 50, 8  # named graphs that a question may name; words of such a name


def said_source(graph: KnowledgeGraph, question: str, languages: Sequence[str]) -> tuple[str, str, KnowledgeGraph]:
    """Take a question that names a named graph for one about what that says; else return the graph as it is.

    :return: the question without the name, and what the reader is to know of it; both empty where none is named.

    It is named by some words of its name after `according to`, or by all of that, if it is called a `census` or the
    like, after `in`.
    """
    words = tokens(question)
    texts = [word.text.lower() for word in words]
    breaks = {at for at in range(1, len(words)) if "," in question[words[at - 1].end : words[at].start]}
    spans = [*_spans_after_phrases(texts, breaks), *_spans_of_subject(texts)]
    known = graph.named_graphs() if spans and graph.is_embedded else None
    if not known or len(known) > _MOST_GRAPHS:
        return "", "", graph
    called = labels(graph, known, languages=tuple(languages))
    names = {one: called[one].text for one in known}
    for at, start, end, stop, joint in spans:
        named = _named_by(texts[start:end], names, by_part=start - at > 1 or stop > end)
        if named is not None and (part := graph.part(named)) is not None:
            left, right = question[: words[at].start].rstrip(" ,"), joint + question[words[stop - 1].end :].lstrip(" ,")
            rest = f"{left} {right}" if left and right[:1].isalnum() else f"{left}{right}"
            about = sources_named(graph, [named], languages)[named]
            told = f"only what {about} says was asked: the named graph {named}, and the default graph"
            return rest[:1].upper() + rest[1:], told, part
    return "", "", graph


_Span: TypeAlias = tuple[int, int, int, int, str]
"""Where it begins, where what may be a name begins and ends, what else is taken out, and what stands in its place."""


def _spans_of_subject(texts: Sequence[str]) -> Iterator[_Span]:
    """Find what may be the name of who says something: `what does the Census give as …`, `when does it say that …`."""
    own = lexicon()
    for at in (at for at, text in enumerate(texts) if text in own.do_forms and at < _LONGEST):
        for end in range(min(len(texts), at + 1 + _LONGEST) - 1, at + 1, -1):
            if texts[end] in own.telling_verbs:
                is_of = not own.told_as.isdisjoint(texts[end + 1 : end + 2])
                is_that = not own.relatives.isdisjoint(texts[end + 1 : end + 2])
                joint = "is " if is_of else f"{next(iter(own.statements))} " if is_that and not at else ""
                yield at, at + 1, end, end + 1 + (is_of or is_that), joint


def _spans_after_phrases(texts: Sequence[str], breaks: Collection[int]) -> Iterator[_Span]:
    """Find what may be a name behind a phrase, the longest first.

    :param breaks: positions of the words before which there is a comma.
    """
    for at in range(len(texts)):
        for size in (2, 1):
            if " ".join(texts[at : at + size]) in lexicon().source_phrases:
                start = at + size
                last = min(len(texts), start + _LONGEST, *(one for one in breaks if one > start))
                yield from ((at, start, end, end, "") for end in range(last, start, -1) if texts[end - 1] not in _STOPS)


def _named_by(said: Sequence[str], names: Mapping[IRI, str], *, by_part: bool) -> IRI | None:
    """Find the one graph that some words name; ``None`` where they name none, or several."""
    own, is_source = _content_roots(said), not lexicon().source_words.isdisjoint(said)
    known = {one: _content_roots(normalised(name).split()) for one, name in names.items()}
    fits = [one for one, its in known.items() if (own and own <= its if by_part else is_source and own == its)]
    return fits[0] if len(fits) == 1 else None


def _content_roots(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(root(text) for text in texts if text not in _STOPS)


def sources_named(graph: KnowledgeGraph, named: Sequence[IRI], languages: Sequence[str]) -> dict[IRI, str]:
    """Name some graphs, each with what it was made of, by whom and when, as far as that is said."""
    x, p, y = variables("x p y")
    by = g.Values(p, tuple(map(IRI, sorted(patterns()["provenance"]))))
    told = g.found(graph, "provenance", (x, p, y), (g.Values(x, tuple(named)), by, g.Fact(x, p, y)), limit=_MOST_GRAPHS)
    called = labels(graph, (*named, *chain(*(one.values() for one in told))), languages=tuple(languages))
    said: dict[Term, list[str]] = defaultdict(list)
    for one in told:
        end = called[one["y"]]
        text = one["y"].value if end.derived and isinstance(one["y"], IRI) else end.text
        said[one["x"]].append(f"{called[one['p']].text} {text}")
    beside = {one: f" [{', '.join(sorted(own))}]" for one, own in said.items()}
    return {one: called[one].text + beside.get(one, "") for one in named}


def disputed(
    graph: KnowledgeGraph, facts: Sequence[Triple], languages: Sequence[str], *, in_part: bool
) -> dict[Term, str]:
    """Find values of one thing of which one named graph says one, and another the other, each with its name.

    :param in_part: only where some of these facts say one of them, and none the other.
    """
    said = [fact for fact in facts if isinstance(fact.object, Literal)]
    if not (said and graph.is_embedded and graph.named_graphs()):
        return {}
    x, p, y, twin, by = variables("x p y twin by")
    keys = g.Values(x, iris_in(fact.subject for fact in said)), g.Values(p, distinct(fact.predicate for fact in said))
    same = g.OneOfPredicates(x, (), twin, then=(Step(SAME_AS), Step(SAME_AS, "inverse")))
    told = (*keys, same, g.Said(by, (g.Fact(twin, p, y),)))
    each: dict[tuple[Term, IRI], dict[IRI, set[Term]]] = defaultdict(lambda: defaultdict(set))
    for one in g.found(graph, "disputed", (x, p, y, by), told, distinct=True, limit=BOUND):
        each[one["x"], one["p"]][one["by"]].add(one["y"])
    for fact in said:
        own = each[fact.subject, fact.predicate]
        values = {value: name for name, some in own.items() for value in some if len(some) == 1}
        if len(values) > 1 and not (in_part and values.keys() <= {other.object for other in said}):
            names = sources_named(graph, [*values.values()], languages)
            return {one: f"{own_label(one).text} ({names[values[one]]})" for one in sorted(values, key=str)}
    return {}
