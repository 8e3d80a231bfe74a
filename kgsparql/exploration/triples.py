"""The query that finds out which triples a graph holds."""

from __future__ import annotations

from collections.abc import Iterable

from kgsparql.exploration.batched_select import union_of
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal, Term, Triple, spellings

_TRIPLE = ("subject", "predicate", "object")
_TEXT = ("subject", "predicate", "text")


def lookup(triples: Iterable[Triple], *, named_graphs: bool = False) -> Query:
    """The query that finds those of some triples that a graph holds; with ``named_graphs``, in which named graphs.

    Literals are looked up by their text, so compare the solutions with the triples: literals of another language or
    datatype are found, too. Looked up as they are, Virtuoso misses literals that it has itself returned: some with a
    language, decimals without a fraction (it takes them for integers) and coordinates (which it refuses). No triple
    may have a blank node.

    >>> from kgsparql.rdf.terms import IRI
    >>> term = IRI("http://e.org/a")
    >>> lookup([Triple(term, term, Literal("x", language="en"))]).name
    'verify_texts'
    """
    whole: list[tuple[Term, ...]] = []
    texts: list[tuple[Term, ...]] = []
    for subject, predicate, object_ in triples:
        if isinstance(object_, Literal):
            texts += [(subject, predicate, Literal(text)) for text in spellings(object_)]
        else:
            whole.append((subject, predicate, object_))
    name = "named_graphs" if named_graphs else "verify"
    arms = [Query.load(name).bind_rows(_TRIPLE, whole), Query.load(f"{name}_texts").bind_rows(_TEXT, texts)]
    return union_of([arm for arm in arms if not arm.empty] or arms[:1])
