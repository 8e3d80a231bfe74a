"""What terms are, in a word: the name of a class for an entity, ``date year``, ``number`` or ``text`` for a literal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kgsparql.rdf.terms import IRI, Literal, Term

__all__ = ["commonest_kind"]


def commonest_kind(terms: Iterable[Term], types_of: Mapping[IRI, tuple[IRI, ...]], classes: Mapping[Term, str]) -> str:
    """The name of what most of these terms are; among equals the first in lexical order, nothing where none is known.

    :param types_of: the classes of each entity.
    :param classes: the name of each class.

    >>> commonest_kind([Literal("a"), Literal("b"), Literal(3)], {}, {})
    'text'
    """
    counts: Counter[str] = Counter()
    for term in dict.fromkeys(terms):
        if isinstance(term, Literal):
            counts[_literal_kind(term)] += 1
        elif isinstance(term, IRI):
            counts.update(dict.fromkeys((classes[c] for c in types_of[term]), 1))
    return min(counts, key=lambda kind: (-counts[kind], kind), default="")


def _literal_kind(literal: Literal) -> str:
    name = literal.datatype.value.rsplit("#", 1)[-1]
    if name in {"date", "dateTime", "gYear", "gYearMonth", "time"} or name.startswith("dateTime"):
        return "date year"
    if name in {"integer", "decimal", "double", "float", "int", "long", "nonNegativeInteger", "positiveInteger"}:
        return "number"
    return "text"
