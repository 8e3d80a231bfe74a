"""Identifiers of things beside their IRIs: the predicates that a graph declares to be such, and IRIs made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import quote, unquote

from kgsparql.errors import IriError
from kgsparql.graphs.graph import Solution
from kgsparql.rdf.terms import IRI, Literal, Triple, iri
from kgsparql.rdf.vocabulary import claim_kind

FORMATTER = IRI("http://www.wikidata.org/prop/direct/P1921")
"""Wikidata's "formatter URI for RDF resource"."""

MAX_FORMATTERS = 5
"""Of one predicate; of more, the first in lexical order are used."""

_PLACE = "$1"
_NAMESPACE = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+[/?#]|urn:[^:]+:)", re.IGNORECASE)
"""How a formatter must begin, so that not every IRI of the web fits it."""

Identifier: TypeAlias = tuple[IRI, IRI | Literal]
"""A predicate, and a value that only one thing has."""


@dataclass(frozen=True, slots=True)
class Formatter:
    """Turns identifiers into IRIs.

    :param predicate: leads from a thing to its identifier.
    :param stated: the triple that states the formatter.

    >>> viaf, stated = IRI("http://e.org/viaf"), IRI("http://e.org/stated")
    >>> formatter = Formatter.parse(viaf, stated, Literal("http://viaf.org/$1/rdf"))
    >>> [one.value for one in formatter.iris("47/11")], formatter.identifiers(IRI("http://viaf.org/4711/rdf"))
    (['http://viaf.org/47%2F11/rdf', 'http://viaf.org/47/11/rdf'], ['4711'])
    """

    predicate: IRI
    stated: Triple
    before: str
    after: str

    @classmethod
    def parse(cls, predicate: IRI, property_: IRI, formatter: Literal) -> Formatter | None:
        """From the formatter of a property; ``None`` unless it has one ``$1``, in a namespace of its own."""
        before, _, after = formatter.value.partition(_PLACE)
        if formatter.value.count(_PLACE) != 1 or not _NAMESPACE.match(before):
            return None
        return cls(predicate, Triple(property_, FORMATTER, formatter), before, after)

    def iris(self, value: str) -> list[IRI]:
        """The IRIs of an identifier: percent-encoded, and as it is where that makes an IRI."""
        texts = dict.fromkeys((quote(value, safe=""), *([] if "%" in value else [value])))
        found = []
        for text in texts if value else ():
            try:
                found.append(iri(f"{self.before}{text}{self.after}"))
            except IriError:
                continue  # it makes an IRI only when it is encoded
        return found

    def identifiers(self, term: IRI) -> list[str]:
        """The identifiers that an IRI may be made of."""
        text = term.value
        if not (text.startswith(self.before) and text.endswith(self.after)):
            return []
        inner = text[len(self.before) : len(text) - len(self.after)]
        return [value for value in dict.fromkeys((inner, unquote(inner))) if term in self.iris(value)]


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The identifying predicates of graphs: external identifiers of a Wikibase, inverse functional properties of OWL.

    :param predicates: each value of theirs belongs to one thing.
    :param formatters: of those whose values make IRIs.
    :param crowded: for predicates with more formatters than are used, how many they have.
    """

    predicates: frozenset[IRI] = frozenset()
    formatters: Mapping[IRI, tuple[Formatter, ...]] = field(default_factory=lambda: MappingProxyType({}))
    crowded: Mapping[IRI, int] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def declared(cls, solutions: Iterable[Solution]) -> Identifiers:
        """From the solutions of ``queries/external_ids.rq``."""
        predicates: set[IRI] = set()
        formatters: dict[Formatter, None] = {}
        for solution in solutions:
            predicate = solution.get("key", solution.get("predicate"))
            if not isinstance(predicate, IRI) or ("key" not in solution and claim_kind(predicate) != "direct"):
                continue
            predicates.add(predicate)
            property_, pattern = solution.get("property"), solution.get("formatter")
            if isinstance(property_, IRI) and isinstance(pattern, Literal):
                parsed = Formatter.parse(predicate, property_, pattern)
                formatters.update({parsed: None} if parsed else {})
        return cls._of(frozenset(predicates), formatters)

    @classmethod
    def together(cls, parts: Iterable[Identifiers]) -> Identifiers:
        """Those of several graphs together."""
        each = list(parts)
        formatters = dict.fromkeys(one for part in each for some in part.formatters.values() for one in some)
        found = cls._of(frozenset[IRI]().union(*(part.predicates for part in each)), formatters)
        crowded = {predicate: count for part in each for predicate, count in part.crowded.items()}
        return replace(found, crowded=MappingProxyType({**found.crowded, **crowded}))

    @classmethod
    def _of(cls, predicates: frozenset[IRI], formatters: Iterable[Formatter]) -> Identifiers:
        every: dict[IRI, list[Formatter]] = {}
        for one in sorted(formatters, key=lambda one: (one.predicate.value, one.before, one.after, str(one.stated))):
            every.setdefault(one.predicate, []).append(one)
        crowded = {predicate: len(some) for predicate, some in every.items() if len(some) > MAX_FORMATTERS}
        taken = {predicate: tuple(some[:MAX_FORMATTERS]) for predicate, some in every.items()}
        return cls(predicates, MappingProxyType(taken), MappingProxyType(crowded))

    def iris_of(self, identifier: Identifier) -> list[tuple[IRI, Formatter]]:
        """The IRIs that are made of an identifier, each with its formatter."""
        predicate, value = identifier
        formatters = self.formatters.get(predicate, ()) if isinstance(value, Literal) else ()
        return [(term, formatter) for formatter in formatters for term in formatter.iris(value.value)]

    def identifiers_of(self, term: IRI) -> list[tuple[Identifier, Formatter]]:
        """The identifiers that an IRI may be made of, each with its formatter."""
        return [
            ((formatter.predicate, Literal(value)), formatter)
            for some in self.formatters.values()
            for formatter in some
            for value in formatter.identifiers(term)
        ]
