"""What the predicates and classes of common vocabularies are called, and what else a graph calls its predicates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf.literals import plain_text
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, local_name, normalised
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS, LABELS, SHAPE_NAME, SHAPE_PATH
from kgsparql.resources import packaged_toml

_ANY_VOCABULARY = "*"
_MOST_NAMES = 20  # of one predicate, that a graph gives


class KnownName(NamedTuple):
    """A name of a predicate or class, with its language tag."""

    text: str
    language: str = "en"


class PredicateName(NamedTuple):
    """One name of a predicate of a graph, with the roots of its words."""

    predicate: IRI
    text: str
    roots: frozenset[str]
    is_label: bool


def known_names(term: IRI, *, is_labelled: bool = False) -> tuple[KnownName, ...]:
    """List what a predicate or class is called by its vocabulary and by people, beside its local name.

    :param is_labelled: the graph says what it is called, so that only its vocabulary adds to that.

    >>> [name.text for name in known_names(IRI("http://www.w3.org/2003/01/geo/wgs84_pos#lat"))][0]
    'latitude'
    >>> known_names(IRI("http://example.org/wheelbase"))
    ()
    """
    shipped = _shipped_names()
    return shipped.get(term.value) or (() if is_labelled else shipped.get(normalised(local_name(term)), ()))


def name_of_code(term: IRI) -> str:
    """Return the name of a term whose IRI ends in a code such as ``IAO_0000115``; empty for others.

    >>> name_of_code(IRI("http://purl.obolibrary.org/obo/IAO_0000115")), name_of_code(IRI("http://e.org/alt"))
    ('definition', '')
    """
    names = _shipped_names().get(term.value, ()) if term.value[-1:].isdecimal() else ()
    return names[0].text if names else ""


@cache
def _shipped_names() -> Mapping[str, tuple[KnownName, ...]]:
    found: dict[str, tuple[KnownName, ...]] = {}
    for namespaces, terms in packaged_toml("schema/known_names.toml").items():
        for own in namespaces.split():
            for local, said in terms.items():
                names = (name.strip().partition("@") for name in said.split(","))
                key = local if own == _ANY_VOCABULARY else f"{own}{local}"
                found[key] = tuple(KnownName(name, language or "en") for name, _, language in names)
    return found


def other_names(graph: KnowledgeGraph, predicates: Sequence[IRI]) -> dict[IRI, tuple[str, ...]]:
    """Find by which English names some predicates of a graph may be meant: what it says, shapes too, then known ones.

    One query; none where a graph in this process has no such names.
    """
    naming = (*LABELS, *ALTERNATIVE_LABELS)
    own = Query.load("labels").bind(predicate=naming, range=[Literal("en")])
    of_shapes = Query.load("labels_linked").bind(predicate=[SHAPE_NAME], link=[SHAPE_PATH], range=[Literal("en")])
    shaping = frozenset((SHAPE_PATH, SHAPE_NAME))
    has_shapes = shaping <= {*predicates} or (graph.is_embedded and shaping <= graph.held(shaping))
    arms = [own] * bool(graph.held(frozenset(naming))) + [of_shapes] * has_shapes
    found: dict[IRI, list[str]] = defaultdict(list)
    for solution in select_about(graph, arms, predicates).seen if arms else ():
        predicate, name = solution["entity"], solution["label"]
        if isinstance(predicate, IRI) and isinstance(name, Literal):
            found[predicate].append(plain_text(name))
    for predicate in predicates:
        is_named = predicate in found and normalised(local_name(predicate)) not in map(normalised, found[predicate])
        known = known_names(predicate, is_labelled=is_named)
        found[predicate] += [name.text for name in known if name.language == "en"]
    return {one: tuple(sorted(names[:_MOST_NAMES], key=len)) for one, names in found.items() if names}
