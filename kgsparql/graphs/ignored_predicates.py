"""Predicates that no method walks: identifiers in other catalogues, and the parts of Wikibase statements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import quote, unquote

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import IriError
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution, Solutions
from kgsparql.graphs.profiles import known_endpoints
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, iri
from kgsparql.rdf.vocabulary import PREDICATE_LABEL_LINKS, claim_kind, claim_part

FORMATTER = IRI("http://www.wikidata.org/prop/direct/P1921")  # Wikidata's "formatter URI for RDF resource"
_PLACE = "$1"
_NAMESPACE = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+[/?#]|urn:[^:]+:)", re.IGNORECASE)
"""How a formatter must begin, so that not every IRI of the web fits it."""
_PREDICATES = ("predicate", "onward", "p")
"""The variables of walked predicates, in every query that does not name its predicates."""
_WIKIBASE = "http://wikiba.se/ontology#"
"""The namespace of what a Wikibase says of its own records: ranks, counts, types of properties."""
_DIRECT_CLAIM = IRI(f"{_WIKIBASE}directClaim")  # leads from a property of a Wikibase to the predicate

Identifier: TypeAlias = tuple[IRI, IRI | Literal]
"""A predicate, and a value that only one thing has."""


@dataclass(frozen=True, slots=True)
class Formatter:
    """Turns identifiers into IRIs: those to which ``predicate`` leads, as the triple ``stated`` says.

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
        """Read the formatter of a property; ``None`` unless it has one ``$1``, in a namespace of its own."""
        before, _, after = formatter.value.partition(_PLACE)
        if formatter.value.count(_PLACE) != 1 or not _NAMESPACE.match(before):
            return None
        return cls(predicate, Triple(property_, FORMATTER, formatter), before, after)

    def iris(self, value: str) -> list[IRI]:
        """Return the IRIs of an identifier: percent-encoded, and as it is where that makes an IRI."""
        texts = dict.fromkeys((quote(value, safe=""), *([] if "%" in value else [value])))
        found = []
        for text in texts if value else ():
            try:
                found.append(iri(f"{self.before}{text}{self.after}"))
            except IriError:
                continue  # it makes an IRI only when it is encoded
        return found

    def identifiers(self, term: IRI) -> list[str]:
        """Return the identifiers that an IRI may be made of."""
        text = term.value
        if not (text.startswith(self.before) and text.endswith(self.after)):
            return []
        inner = text[len(self.before) : len(text) - len(self.after)]
        return [value for value in dict.fromkeys((inner, unquote(inner))) if term in self.iris(value)]


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The identifying predicates of graphs: external identifiers of a Wikibase, inverse functional ones of OWL."""

    predicates: frozenset[IRI] = frozenset()
    formatters: tuple[Formatter, ...] = ()

    @classmethod
    def declared(cls, solutions: Iterable[Solution]) -> Identifiers:
        """Read the solutions of ``queries/external_ids.rq``."""
        each = []
        for solution in solutions:
            predicate = solution.get("key", solution.get("predicate"))
            if not isinstance(predicate, IRI) or ("key" not in solution and claim_kind(predicate) != "direct"):
                continue
            property_, pattern = solution.get("property"), solution.get("formatter")
            parsed = None
            if isinstance(property_, IRI) and isinstance(pattern, Literal):
                parsed = Formatter.parse(predicate, property_, pattern)
            each.append(cls(frozenset((predicate,)), (parsed,) if parsed else ()))
        return cls.together(each)

    @classmethod
    def together(cls, parts: Iterable[Identifiers]) -> Identifiers:
        """Join those of several graphs."""
        each = list(parts)
        formatters = {one for part in each for one in part.formatters}
        ordered = sorted(formatters, key=lambda one: (one.predicate.value, one.before, one.after, str(one.stated)))
        return cls(frozenset[IRI]().union(*(part.predicates for part in each)), tuple(ordered))

    def iris_of(self, identifier: Identifier) -> list[tuple[IRI, Formatter]]:
        """Return the IRIs that are made of an identifier, each with its formatter."""
        predicate, value = identifier
        if not isinstance(value, Literal):
            return []
        return [(term, one) for one in self.formatters if one.predicate == predicate for term in one.iris(value.value)]

    def identifiers_of(self, term: IRI) -> list[tuple[Identifier, Formatter]]:
        """Return the identifiers that an IRI may be made of, each with its formatter."""
        return [
            ((formatter.predicate, Literal(value)), formatter)
            for formatter in self.formatters
            for value in formatter.identifiers(term)
        ]


@dataclass(frozen=True, slots=True)
class IgnoredPredicates:
    """Predicates that no method walks.

    A Wikibase such as Wikidata states everything twice: as a direct claim, and as a statement with qualifiers,
    references and a rank. Only direct claims are walked, unless ``qualifiers`` are wanted too.

    :param terms: such predicates: external identifiers, and what an endpoint's profile calls noise.
    :param identifiers: predicates of identifiers, which are looked up in other graphs all the same.
    :param hidden: filled with the entities of statements that were met and not walked.
    """

    terms: frozenset[IRI] = frozenset()
    qualifiers: bool = False
    identifiers: Identifiers = field(default_factory=Identifiers)
    notes: tuple[str, ...] = ()
    hidden: set[Term] = field(default_factory=set, init=False, compare=False)

    @classmethod
    def of(cls, graph: KnowledgeGraph, terms: Iterable[IRI] = ()) -> IgnoredPredicates:
        """Ask a graph that declares its external identifiers itself: one query; a note says if the result was cut."""
        found = graph.select(Query.load("external_ids"))
        direct = (term for solution in found if isinstance(term := solution.get("predicate"), IRI))
        external = (part for predicate in direct for part in _predicates_of(predicate))
        cut = f"{graph.name} cut what it says identifies things: {found.cut}; some identifiers may be missing"
        notes = (cut,) if found.cut else ()
        return cls(frozenset((*terms, *external)), identifiers=Identifiers.declared(found), notes=notes)

    @classmethod
    def of_profile(cls, graph: KnowledgeGraph) -> IgnoredPredicates:
        """Read what is ignored of a graph: a public service is only asked if its profile says that it has such."""
        noise = graph.profile.noise
        if graph.profile.is_public and not graph.profile.external_ids:
            return cls(frozenset(noise))
        return cls.of(graph, noise) if noise else cls.of_dump(graph)

    @classmethod
    def of_dump(cls, graph: KnowledgeGraph) -> IgnoredPredicates:
        """Ask a graph without a profile; if it declares the properties of a known service, their noise is ignored."""
        if not graph.uses_any(PREDICATE_LABEL_LINKS):
            return cls.of(graph)
        known = known_endpoints()
        named = {predicate for profile in (*known.services, *known.engines) for predicate in profile.noise}
        pairs = [(predicate, _DIRECT_CLAIM) for predicate in named]
        declared = graph.select(Query.load("group_inverse").bind_rows(("entity", "predicate"), pairs).limit(BOUND))
        return cls.of(graph, (term for solution in declared if isinstance(term := solution["entity"], IRI)))

    @classmethod
    def together(cls, parts: Iterable[IgnoredPredicates]) -> IgnoredPredicates:
        """Join those of several graphs."""
        each = list(parts)
        terms = frozenset[IRI]().union(*(part.terms for part in each))
        notes = tuple(dict.fromkeys(note for part in each for note in part.notes))
        return cls(terms, identifiers=Identifiers.together(part.identifiers for part in each), notes=notes)

    def drops(self, predicate: Term) -> bool:
        """Tell whether a predicate is ignored."""
        if not isinstance(predicate, IRI):
            return False
        kind = _kind_of_claim(predicate)
        return kind == "other" or (not self.qualifiers and kind not in {"", "direct"}) or predicate in self.terms

    def without(self, solutions: Solutions) -> Solutions:
        """Return the solutions that walk no ignored predicate; ``left_out`` counts the others."""
        walked = [name for name in _PREDICATES if name in solutions.variables]
        dropped = {p: self.drops(p) for p in {s[name] for s in solutions for name in walked if name in s}}
        if not any(dropped.values()) and not (self.qualifiers and len(walked) > 1):
            return solutions
        claims = set() if self.qualifiers else {p for p in dropped if claim_kind(p) == "claim"}
        self.hidden.update(s["entity"] for s in solutions if "entity" in s and s.get("predicate") in claims)
        kept = tuple(
            s
            for s in solutions
            if not any(dropped[s[name]] for name in walked if name in s) and not _repeats_direct_claim(s)
        )
        return replace(solutions, solutions=kept, left_out=solutions.left_out + len(solutions) - len(kept))


@lru_cache(maxsize=4096)
def _kind_of_claim(predicate: IRI) -> str:
    """Return the kind of claim; ``other`` also for what a Wikibase says of its own records."""
    return "other" if predicate.value.startswith(_WIKIBASE) else claim_kind(predicate)


def _predicates_of(direct: IRI) -> Iterable[IRI]:
    """Return a predicate; for that of a direct claim, also those of statements of the same property."""
    part = claim_part(direct)
    if part is None or part[0] != "direct":
        return (direct,)
    before, name = direct.value.removesuffix(f"direct/{part[1]}"), part[1]
    return (direct, *(IRI(f"{before}{kind}{name}") for kind in ("", "statement/", "qualifier/")))


def _repeats_direct_claim(solution: Solution) -> bool:
    """Tell whether two hops lead through a statement to its value, as the direct claim does in one."""
    terms = (solution.get(name) for name in _PREDICATES)
    parts = {part for term in terms if isinstance(term, IRI) and (part := claim_part(term))}
    return {kind for kind, _ in parts} == {"claim", "statement"} and len({name for _, name in parts}) == 1
