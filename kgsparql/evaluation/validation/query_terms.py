"""The IRIs that the SPARQL of a dataset names, and when its result says nothing because a graph lacks them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from kgsparql.errors import IriError
from kgsparql.graphs.user_query import QueryLimits
from kgsparql.graphs.user_query.tokens import SparqlToken, tokenise
from kgsparql.rdf.terms import IRI, Literal, Term, iri

__all__ = ["named_iris", "says_nothing"]

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NO = frozenset({"false", "0", "0.0", "0.0E0", "0E0"})


def named_iris(query: str) -> tuple[IRI, ...]:
    """The IRIs that a query matches triples with, each once, in their order; functions and datatypes are none of these.

    :param query: SPARQL that :func:`kgsparql.graphs.user_query.check` let pass, with all its prefixes declared.
    :raises QueryError: if it is none.

    >>> prefix = "PREFIX e: <http://e.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    >>> [term.value for term in named_iris(prefix + "ASK { e:a <http://e.org/b> ?n FILTER(e:f(?n) > xsd:int('7')) }")]
    ['http://e.org/a', 'http://e.org/b']
    """
    tokens = tokenise(query, QueryLimits())
    prefixes: dict[str, str] = {}
    declarations: set[int] = set()
    for i, (before, token) in enumerate(pairwise(tokens), 1):
        if before.word == "PREFIX" and token.kind == "name" and i + 1 < len(tokens):
            prefixes[token.text[:-1]] = tokens[i + 1].text[1:-1]
            declarations.update((i, i + 1))
        elif before.word == "BASE":
            declarations.add(i)
    found: dict[IRI, None] = {}
    for i, token in enumerate(tokens):
        if token.kind in {"iri", "name"} and i not in declarations and not _is_no_term(tokens, i):
            term = _iri(token, prefixes)
            if term is not None and not term.value.startswith(_XSD):
                found[term] = None
    return tuple(found)


def _is_no_term(tokens: Sequence[SparqlToken], i: int) -> bool:
    """Whether an IRI is of a graph, a datatype or a function, and so need not be in any triple."""
    before = tokens[i - 1] if i else None
    if before is not None and (before.word == "GRAPH" or before.text == "^^"):
        return True
    # Only a function has its arguments right behind its name: a list of objects stands apart in all that people write.
    end = tokens[i].start + len(tokens[i].text)
    return i + 1 < len(tokens) and tokens[i + 1].text == "(" and tokens[i + 1].start == end


def _iri(token: SparqlToken, prefixes: dict[str, str]) -> IRI | None:
    """What a token stands for; ``None`` for an IRI that is not whole, since nobody knows its base."""
    prefix, _, name = token.text.partition(":")
    value = token.text[1:-1] if token.kind == "iri" else prefixes.get(prefix, "") + name.replace("\\", "")
    try:
        return iri(value)
    except IriError:
        return None


def says_nothing(terms: Sequence[Term], named: Collection[IRI], absent: Collection[IRI]) -> bool:
    """Whether a result is *no* or nought, or any truth, only because a graph mentions nothing that it is about.

    *No* and nought say nothing as soon as one IRI is absent; *yes* does if all are (``FILTER NOT EXISTS``).

    >>> a, b = IRI("http://e.org/a"), IRI("http://e.org/b")
    >>> says_nothing([Literal(0)], [a, b], [b]), says_nothing([Literal(7)], [a, b], [b]), says_nothing([a], [b], [b])
    (True, False, False)
    """
    texts = {term.value if isinstance(term, Literal) else "" for term in terms}
    if not absent or not texts:
        return False
    return texts <= _NO or (texts == {"true"} and len(absent) == len(named))
