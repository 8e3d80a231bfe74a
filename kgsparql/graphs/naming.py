"""The predicates by which a graph names its things, by what its facts are like, and those that lead to web pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import pyoxigraph as ox

from kgsparql.dataclasses import frozen
from kgsparql.graphs.graph import Solution
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, grouped, iris_in, local_name
from kgsparql.rdf.vocabulary import (
    LABEL_NODES,
    LABELS,
    OF_ONTOLOGIES,
    RDF_TYPE,
    UNWALKED,
    Naming,
    has_readable_end,
    leads_to_pages,
    may_be_name,
)

_QUADS_SEEN = 10_000  # in which things are looked for; a store on disk keeps them in no order
_MOST_TRIPLES = 500_000  # of a graph whose classes are listed, too: in more that takes long
_THINGS, _OF_A_KIND, _FACTS, _FACTS_OF_LABELLED = 4_000, 200, 200, 50  # that are looked at, at most
_LEAST_THINGS = 3
_PART_UNNAMED = 0.1  # of a kind, at least, for which a name is looked for
_NEARLY_ALL, _NEARLY_UNIQUE, _UNIQUE_ANYWHERE, _MOST = 0.9, 0.8, 0.6, 0.5
_MOST_CHARACTERS = 60  # of a name, on average; a description is longer
_LEAST_LETTERS = 3

_ADDRESS = re.compile(r"\w@\w|://|^www\.", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[\W\d_]+")
_CALLS = ("name", "title", "label")
# How predicates are called that name what is beside a thing, or say something of it: its director, its town, its motto.
_OF_OTHERS = re.compile(
    r"(?:[eo]r|ee|ist|ian|person|contact|head|motto|slogan|quote|address|place|site|city|town|country|street|phone|mail|"
    r"notes?|remarks?|comments?|text|status|colou?r|size|first|last)$",
    re.IGNORECASE,
)


class _Embedded(Protocol):
    """What is asked of the graph, which imports this file."""

    stored: tuple[Any, ...]

    def quads(self, *pattern: Any) -> Iterator[ox.Quad]: ...

    def stream(self, query: Query) -> Iterator[Solution]: ...

    def held(self, predicates: frozenset[IRI]) -> frozenset[IRI]: ...


@frozen
class _SeenThing:
    """What a graph says of a thing: texts and links by predicate, and its classes."""

    iri: IRI
    texts: Mapping[IRI, Sequence[Literal]]
    links: Mapping[IRI, Sequence[IRI]]
    kinds: Sequence[IRI]
    is_labelled: bool


def naming_of(graph: _Embedded) -> Naming:
    """Tell how a graph names its things, by at most some thousand of them.

    Where things of a kind have no label of a known vocabulary, the predicate counts as a label that gives nearly all of
    them one short text, which nearly no other has.
    """
    things = _seen_things(graph)
    kinds = defaultdict[IRI | None, list[_SeenThing]](list)
    for thing in things:
        for kind in thing.kinds or (None,):
            if len(kinds[kind]) < _OF_A_KIND and not str(getattr(kind, "value", "")).startswith(OF_ONTOLOGIES):
                kinds[kind].append(thing)
    found: dict[IRI, None] = {}
    while new := {p for kind, some in kinds.items() if (p := _name_of(kind, some, found)) and p not in found}:
        found |= dict.fromkeys(sorted(p for p in new if _is_name_anywhere(graph, p)), None)
        if not new & found.keys():
            break
    links = tuple(link for link in Naming().links if next(graph.quads(None, link), None) is not None)
    pages = {p for thing in things for p in thing.links if leads_to_pages(p)}
    return Naming((*LABELS, *found), links, tuple(sorted(pages, key=str)), tuple(found))


def _seen_things(graph: _Embedded) -> list[_SeenThing]:
    """Look at the first things of a graph, and at the first of each class."""
    seen = [*islice(graph.quads(), _QUADS_SEEN)]
    facts = grouped((quad.subject, quad) for quad in seen)
    subjects: dict[Any, None] = dict.fromkeys(facts)
    if sum(source.triples for source in graph.stored) <= _MOST_TRIPLES:
        x, kind = g.variables("x kind")
        classes = g.Select((kind,), (g.Fact(x, RDF_TYPE, kind),), distinct=True, limit=_THINGS)
        listed = [one["kind"] for one in graph.stream(g.select_query("kinds", classes))]
        each = min(_OF_A_KIND, _THINGS // max(1, len(listed)) + 1)
        of_classes = (q.subject for own in listed for q in islice(graph.quads(None, RDF_TYPE, own), each))
        subjects = {**dict.fromkeys(of_classes), **dict.fromkeys(islice(subjects, _THINGS))}
    held, is_whole = graph.held(frozenset(LABELS)), len(seen) < _QUADS_SEEN
    of_things = ((one, facts[one] if is_whole else graph.quads(one)) for one in iris_in(subjects)[: 2 * _THINGS])
    return [_seen_thing(graph, iri, [*islice(own, _FACTS)], held) for iri, own in of_things]


def _seen_thing(graph: _Embedded, iri: IRI, facts: Sequence[ox.Quad], held: Collection[IRI]) -> _SeenThing:
    texts, links = defaultdict[IRI, list[Literal]](list), defaultdict[IRI, list[IRI]](list)
    labels = [label for label in held if len(facts) == _FACTS and next(graph.quads(iri, label), None)]
    is_labelled = bool(labels) or any(quad.predicate in held for quad in facts)
    for quad in facts[: _FACTS_OF_LABELLED if is_labelled else _FACTS]:
        if isinstance(quad.object, Literal):
            texts[quad.predicate].append(quad.object)
        elif isinstance(quad.object, IRI):
            links[quad.predicate].append(quad.object)
    kinds = links.pop(RDF_TYPE, [])
    return _SeenThing(iri, texts, links, kinds, is_labelled or any(p in links for p in LABEL_NODES))


def _name_of(kind: IRI | None, things: Sequence[_SeenThing], names: Collection[IRI]) -> IRI | None:
    """Find the predicate that names those things of a kind that no label and none of some predicates names."""
    unnamed = [one for one in things if not one.is_labelled and not any(p in one.texts for p in names)]
    if len(unnamed) < max(1, _PART_UNNAMED * len(things)):
        return None
    best, score = None, None
    has_readable_ends = _have_readable_ends(unnamed)
    for predicate in {p for one in unnamed for p in one.texts} - UNWALKED:
        called = _rank_as_name(predicate, kind)
        if called > 1 and (has_readable_ends or len(unnamed) < _LEAST_THINGS):
            continue
        if called > 2 and _OF_OTHERS.search(local_name(predicate)):
            continue
        measured = _as_name([one.texts[predicate] for one in unnamed if predicate in one.texts], len(unnamed))
        if measured is not None:
            is_code, unique, length = measured
            own = (called > 0, is_code, called, -unique, -length, predicate.value)
            if score is None or own < score:
                best, score = predicate, own
    return best


def _as_name(texts: Sequence[Sequence[Literal]], things: int) -> tuple[bool, float, float] | None:
    """Tell whether texts are codes, how unique they are, and how long; ``None`` if they do not name as many things."""
    if len(texts) < _NEARLY_ALL * things or any(literal_kind(own[0]) != "text" for own in texts):
        return None
    once = sum(len({one.language for one in own}) == len(own) for own in texts)
    written = [own[0].value for own in texts]
    unique, length = len(set(written)) / len(written), sum(map(len, written)) / len(written)
    is_short = (
        length <= _MOST_CHARACTERS and _share_of(written, lambda text: any(map(str.isalpha, text))) >= _NEARLY_ALL
    )
    has_addresses = _share_of(written, _ADDRESS.search) > 1 - _NEARLY_ALL
    if not is_short or has_addresses or once < _NEARLY_ALL * len(texts) or unique < _NEARLY_UNIQUE:
        return None
    return _share_of(written, _is_code) > _MOST, round(unique, 1), length


def _is_code(text: str) -> bool:
    """Tell whether a text has digits, or is a word of capitals.

    >>> [_is_code(text) for text in ("AX-2210/7", "USA", "Delta Airlines", "東京")]
    [True, True, False, False]
    """
    return any(map(str.isdigit, text)) or (text.isupper() and " " not in text)


def _rank_as_name(predicate: IRI, kind: IRI | None) -> int:
    """Tell how much the name of a predicate is that of a name: 0 for ``name``, 3 for what is not called so at all.

    >>> predicates = [IRI(f"http://e.org/{name}") for name in ("name", "airline", "airlinename", "pilotName", "at")]
    >>> [_rank_as_name(one, IRI("http://e.org/airlines")) for one in predicates]
    [0, 1, 1, 2, 3]
    """
    if may_be_name(predicate):
        return 0
    own, of = (_NO_LETTERS.sub("", local_name(one)).lower() if one else "" for one in (predicate, kind))
    end = next((end for end in _CALLS if own.endswith(end)), "")
    about = own.removesuffix(end)
    # airlines, countries, Person: a class may be called in the plural
    if len(about) >= _LEAST_LETTERS and about[:-1] in of and abs(len(of) - len(about)) <= len("ies"):
        return 1
    return 2 if end else 3


def _have_readable_ends(things: Iterable[_SeenThing]) -> bool:
    """Tell whether the ends of IRIs call most things, as in ``/Marie_Curie``; not ``/person_12``, nor ``/Q42``."""
    ends = [local_name(one.iri) for one in things]
    kept = {_NO_LETTERS.sub("", end) for end in ends if has_readable_end(end)}
    return len(kept) > _MOST * len(ends)


def _is_name_anywhere(graph: _Embedded, predicate: IRI) -> bool:
    """Tell whether a predicate gives names to all that has it: most of these have no label, and hardly two the same."""
    quads = [*islice(graph.quads(None, predicate), _THINGS)]
    some = quads[:_OF_A_KIND]
    labelled = sum(any(next(graph.quads(q.subject, p), None) for p in graph.held(frozenset(LABELS))) for q in some)
    are_unique = len({q.object for q in quads}) >= _UNIQUE_ANYWHERE * len({q.subject for q in quads})
    return predicate in LABELS or (are_unique and labelled <= _MOST * len(some))


def _share_of(values: Sequence[Any], is_so: Any) -> float:
    return sum(1 for one in values if is_so(one)) / max(1, len(values))
