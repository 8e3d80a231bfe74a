"""The full-text searches of SPARQL engines: a query for each, and search words in its own syntax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgsparql.graphs.profiles import TextSearch
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal

MAX_SEARCHES = MAX_ARMS
"""Searches in one query, at most."""

_FILES: dict[TextSearch, str] = {
    "bif:contains": "text_search/bif_contains",
    "graphdb": "text_search/graphdb",
    "jena": "text_search/jena",
    "qlever": "text_search/qlever",
}


def label_search(
    kind: TextSearch,
    searches: Iterable[Sequence[str]],
    *,
    predicates: Sequence[IRI],
    languages: Sequence[str],
    limit: int,
) -> Query:
    """Make a query for the labels that have all words of any of the searches: ``?entity``, ``?predicate``, ``?label``.

    :param searches: at most :data:`MAX_SEARCHES`; those without a letter or digit are left out.
    :param languages: tags, the empty one for literals without.
    """
    tags = [Literal(tag) for tag in languages]
    one = Query.load(_FILES[kind]).bind(predicate=predicates, language=tags).limit(limit)
    literals = dict.fromkeys(search_words(kind, words) for words in searches)
    return Query.union([one.fix(words=literal) for literal in literals if literal is not None])


def wikibase_search(names: Iterable[str], *, host: str, languages: Sequence[str]) -> Query:
    """Make a query for the items that a Wikibase's own search finds for some names: ``?words``, ``?entity``."""
    query = Query.load("text_search/mwapi").fix(host=Literal(host))
    words = dict.fromkeys(Literal(name) for name in names if name.strip())
    return query.bind(words=list(words), language=[Literal(tag) for tag in languages])


def search_words(kind: TextSearch, words: Iterable[str]) -> Literal | None:
    """Write a search for labels with all these words, in an engine's own syntax; ``None`` if no word is left.

    That syntax has operators, wildcards and fields, so only letters and digits are passed on.

    >>> print(search_words("bif:contains", ["Curie's", 'x" OR *']))
    "'curie' AND 's' AND 'x' AND 'or'"
    >>> print(search_words("jena", ["NOT", "curie~2"]), search_words("qlever", ["Marie", "Curie"]))
    "not AND curie AND 2" "marie curie"
    """
    plain = [word for text in words for word in _plain_words(text)]
    if not plain:
        return None
    if kind == "bif:contains":
        return Literal(" AND ".join(f"'{word}'" for word in plain))
    return Literal(" ".join(plain) if kind == "qlever" else " AND ".join(plain))


def _plain_words(text: str) -> list[str]:
    """Split into the runs of letters and digits in lower case, which no engine takes for operators."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).split()
