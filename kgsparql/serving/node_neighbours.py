"""What is around a node of a drawing: a page of its neighbours at a time, both ways, and what the node is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from kgsparql.budget import Usage
from kgsparql.errors import InputError
from kgsparql.exploration import NeighbourGroup, descriptions, types
from kgsparql.exploration.lookups import GraphLookups
from kgsparql.rdf.paths import Hop
from kgsparql.rdf.terms import IRI, BlankNode, Term, parse_term, printable
from kgsparql.rdf.vocabulary import UNWALKED
from kgsparql.rendering.answer_json import term_json

if TYPE_CHECKING:
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase

PAGE = 12
"""Neighbours that are shown at once."""

_MOST = 600
"""Neighbours of one node that a page shows."""

_MOST_OF_GROUP = 120
"""Of them by one predicate and direction. All are fetched each time: fewer of a hub's could be others."""

_MOST_CHARACTERS = 300


def node_neighbours(knowledge: KnowledgeBase, asking: AskOptions, query: Mapping[str, str]) -> dict[str, Any]:
    """What the graph says of a node, as JSON: its kinds and description, and those of its triples after some others.

    :param asking: how questions are asked: their time is that of these lookups.
    :param query: of the request: ``term``, an IRI in angle brackets, and ``after``, how many triples are there already.
    :raises InputError: for a term that is no IRI, or too far along.
    :raises NotFoundError: if the graph does not mention it.
    """
    term, after = _asked(query)
    graph = knowledge.graph.within(Usage(asking.budget))
    lookups = GraphLookups(graph, languages=knowledge.languages, prefixes=dict(knowledge.prefixes))
    groups = lookups.show(term, limit=_MOST_OF_GROUP).items
    hops = _in_turn(groups)[after : after + PAGE]
    labels = lookups.labels([term, *(one for hop in hops for one in hop.triple)])
    about = descriptions(graph, [term], languages=knowledge.languages)[term]
    kinds = about.classes or tuple(lookups.labels(types(graph, [term])[term]).values())
    return {
        "node": _term(term, labels),
        "curie": printable(lookups.prefixes.compress(term), _MOST_CHARACTERS),
        "kinds": [printable(kind, 60) for kind in kinds[:3]],
        "description": printable(about.text, _MOST_CHARACTERS),
        "graphs": [member.name for member in graph.members],
        "count": sum(group.count for group in groups),
        "is_exact": all(group.exact for group in groups),
        "triples": [
            {
                "subject": _term(hop.triple.subject, labels), "predicate": _term(hop.triple.predicate, labels),
                "object": _term(hop.triple.object, labels), "direction": hop.direction,
            }
            for hop in hops
        ],
    }  # fmt: skip


def _asked(query: Mapping[str, str]) -> tuple[IRI, int]:
    term, after = parse_term(query.get("term", "")), query.get("after", "0")
    if not isinstance(term, IRI):
        raise InputError("only what has an IRI can be looked up", hint="look up a node beside it")
    if not (after.isascii() and after.isdecimal() and len(after) < 6 and int(after) < _MOST):
        raise InputError(f"no more than {_MOST} neighbours are shown here", hint="kgsparql show, or a query, finds all")
    return term, int(after)


def _in_turn(groups: Iterable[NeighbourGroup]) -> list[Hop]:
    """The first neighbour of each group, forward and inverse by turns, then the second; last labels and the like."""
    forward: list[list[Hop]] = []
    inverse: list[list[Hop]] = []
    last: list[list[Hop]] = []
    for group in groups:
        kind = last if group.step.predicate in UNWALKED else forward if group.step.direction == "forward" else inverse
        kind.append(group.hops)
    ways = [hops for pair in zip_longest(forward, inverse) for hops in pair if hops is not None]
    return [hop for part in (ways, last) for row in zip_longest(*part) for hop in row if hop is not None]


def _term(term: Term, labels: Mapping[Term, str]) -> dict[str, Any]:
    label = "[]" if isinstance(term, BlankNode) else printable(labels[term], _MOST_CHARACTERS)
    return {"term": str(term), "label": label, "type": term_json(term, label)["type"]}
