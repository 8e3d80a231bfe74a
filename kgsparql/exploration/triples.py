"""Looking triples up again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgsparql.exploration.asking import union_of
from kgsparql.query import Query
from kgsparql.terms import IRI, Literal, Term, Triple

__all__ = ["lookup"]

_XSD = "http://www.w3.org/2001/XMLSchema#"
_TRIPLE = ("subject", "predicate", "object")
_TEXT = ("subject", "predicate", "text")


def lookup(triples: Iterable[Triple], *, named_graphs: bool = False) -> Query:
    """The query that finds those of some triples that a graph holds; or with ``named_graphs`` where it holds them.

    What it finds is to be compared with what is looked for: a literal is asked for by its text, so that one of another
    language or datatype is found too. Asked for as it is, Virtuoso does not find what it has itself returned: literals
    with a language, among several; decimals without a fraction, which it takes for integers; and coordinates, which it
    refuses. No triple may have a blank node.

    >>> term = IRI("http://e.org/a")
    >>> lookup([Triple(term, term, Literal("x", language="en"))]).name
    'verify_texts'
    """
    whole: list[tuple[Term, ...]] = []
    texts: list[tuple[Term, ...]] = []
    for subject, predicate, object_ in triples:
        if isinstance(object_, Literal):
            texts += [(subject, predicate, Literal(text)) for text in _texts(object_)]
        else:
            whole.append((subject, predicate, object_))
    name = "named_graphs" if named_graphs else "verify"
    arms = [Query.load(name).bind_rows(_TRIPLE, whole), Query.load(f"{name}_texts").bind_rows(_TEXT, texts)]
    return union_of([arm for arm in arms if not arm.empty] or arms[:1])


def _texts(literal: Literal) -> Iterator[str]:
    """What ``STR`` may say of a literal that came back from an endpoint: of truth values and floats also the long form."""
    yield literal.value
    other = ""
    if literal.datatype.value == f"{_XSD}boolean":
        other = {"1": "true", "0": "false"}.get(literal.value, "")
    elif literal.datatype.value in {f"{_XSD}double", f"{_XSD}float"}:
        try:
            other = f"{float(literal.value):.15g}"
        except ValueError:
            return
    if other and other != literal.value:
        yield other
