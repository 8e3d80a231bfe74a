"""Texts that are values, not names: `Toulouse`, where the graph has it as the place of an address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, text_literal
from kgsparql.rdf.vocabulary import UNWALKED

_LOOKED_AT = 200
"""Triples with a text that are looked at."""


@dataclass(frozen=True, slots=True)
class ValueUse:
    """A text that things have by a predicate which is no name.

    :param entities: what has it, in lexical order.
    :param is_exact: whether these are all.
    """

    value: Literal
    predicate: IRI
    entities: tuple[IRI, ...]
    is_exact: bool


def value_uses(graph: KnowledgeGraph, text: str, *, languages: Sequence[str] = ("en",)) -> list[ValueUse]:
    """Where a text is a value: as it is written, in small letters or with capitals; the commonest first; one query."""
    forms = dict.fromkeys((text, text.lower(), text.capitalize(), text.title()))
    values = [text_literal(form, tag) for form in forms for tag in dict.fromkeys(("", *languages, "en"))]
    found = graph.select(Query.load("value_uses").bind(value=values).limit(_LOOKED_AT + 1))
    names = {*UNWALKED, *graph.naming.labels}
    uses: dict[tuple[Literal, IRI], set[IRI]] = {}
    for solution in found:
        value, predicate, entity = (solution[name] for name in ("value", "predicate", "entity"))
        if isinstance(value, Literal) and isinstance(predicate, IRI) and predicate not in names:
            own = uses.setdefault((value, predicate), set())
            own |= {entity} if isinstance(entity, IRI) else set()
    is_exact = found.complete and len(found) <= _LOOKED_AT
    made = [ValueUse(*key, tuple(sorted(own, key=str)), is_exact) for key, own in uses.items()]
    return sorted(made, key=lambda use: (-len(use.entities), str(use.value), str(use.predicate)))
