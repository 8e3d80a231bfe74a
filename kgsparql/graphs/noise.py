"""What a graph says that leads nowhere: identifiers in other catalogues, and the parts that statements are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kgsparql.graph import BOUND, KnowledgeGraph, Solution, Solutions
from kgsparql.graphs.identifiers import Identifiers
from kgsparql.graphs.profiles.catalogue import known_endpoints
from kgsparql.query import Query
from kgsparql.terms import IRI, Term
from kgsparql.vocabulary import claim_part

__all__ = ["Noise"]

_PREDICATES = ("predicate", "onward")
"""The variables that hold what is walked, in every query that does not say which predicates it wants."""

_WIKIBASE = "http://wikiba.se/ontology#"
"""What a Wikibase says of its own records: ranks, counts, kinds of properties."""
_DIRECT_CLAIM = IRI(f"{_WIKIBASE}directClaim")
"""Leads from a property of a Wikibase to the predicate."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Predicates that are read by no method, however they are met.

    A Wikibase such as Wikidata says everything twice: as a direct claim, and as a statement with qualifiers, references
    and a rank. Of these two only the direct claims are walked, unless ``qualifiers`` are wanted too.

    :param terms: predicates by name: external identifiers, and what an endpoint's profile calls noise.
    :param qualifiers: statements are walked, through which qualifiers are reached.
    :param identifiers: what is looked up in other graphs all the same.
    :param hidden: the entities of which statements were met that are not walked, so far.

    >>> wikidata = "http://www.wikidata.org/prop/"
    >>> Noise().drops(IRI(wikidata + "P39")), Noise(qualifiers=True).drops(IRI(wikidata + "P39"))
    (True, False)
    >>> Noise().drops(IRI(wikidata + "direct/P39"))
    False
    """

    terms: frozenset[IRI] = frozenset()
    qualifiers: bool = False
    identifiers: Identifiers = field(default_factory=Identifiers)
    hidden: set[Term] = field(default_factory=set, init=False, compare=False)

    @classmethod
    def of(cls, graph: KnowledgeGraph, terms: Iterable[IRI] = ()) -> Noise:
        """That of a graph, which says itself which of its properties are external identifiers: one query.

        :raises KgsparqlError: if the graph cannot be asked.
        """
        found = graph.select(Query.load("external_ids"))
        external = (predicate for s in found if isinstance(predicate := s.get("predicate"), IRI))
        return cls(frozenset((*terms, *external)), identifiers=Identifiers.declared(found))

    @classmethod
    def of_dump(cls, graph: KnowledgeGraph) -> Noise:
        """That of a graph that nobody described: what a known service calls noise is so in a dump of it, too.

        It is one if the graph declares these properties itself, and not only uses them. One query more; two if it is a
        Wikibase.
        """
        if not graph.select(Query.load("predicate_triples").bind(predicate=[_DIRECT_CLAIM]).limit(1)):
            return cls.of(graph)
        named = {predicate for profile in known_endpoints().profiles for predicate in profile.noise}
        pairs = [(predicate, _DIRECT_CLAIM) for predicate in named]
        declared = graph.select(Query.load("group_inverse").bind_rows(("entity", "predicate"), pairs).limit(BOUND))
        return cls.of(graph, (term for solution in declared if isinstance(term := solution["entity"], IRI)))

    @classmethod
    def together(cls, parts: Iterable[Noise]) -> Noise:
        """That of several graphs."""
        each = list(parts)
        terms = frozenset[IRI]().union(*(part.terms for part in each))
        return cls(terms, identifiers=Identifiers.together(part.identifiers for part in each))

    def drops(self, predicate: Term) -> bool:
        """Whether a predicate leads nowhere."""
        if not isinstance(predicate, IRI):
            return False
        if predicate in self.terms or predicate.value.startswith(_WIKIBASE):
            return True
        part = claim_part(predicate)
        if part is None or part[0] == "direct":
            return False
        return part[0] == "other" or not self.qualifiers

    def without(self, solutions: Solutions) -> Solutions:
        """The solutions that do not walk such a predicate; they keep count of the others."""
        walked = [name for name in _PREDICATES if name in solutions.variables]
        if not walked:
            return solutions
        dropped = {p: self.drops(p) for p in {s[name] for s in solutions for name in walked if name in s}}
        if not any(dropped.values()) and not (self.qualifiers and len(walked) > 1):
            return solutions
        claims = {p for p in dropped if isinstance(p, IRI) and _is_claim(p)} if not self.qualifiers else set()
        self.hidden.update(s["entity"] for s in solutions if "entity" in s and s.get("predicate") in claims)
        kept = tuple(
            s for s in solutions if not any(dropped[s[name]] for name in walked if name in s) and not _repeats(s)
        )
        return replace(solutions, solutions=kept, left_out=solutions.left_out + len(solutions) - len(kept))


def _is_claim(predicate: IRI) -> bool:
    """Whether a predicate leads from an entity to a statement of a Wikibase."""
    part = claim_part(predicate)
    return part is not None and part[0] == "claim"


def _repeats(solution: Solution) -> bool:
    """Whether a way through a statement leads to its value, as the direct claim does by itself."""
    first, second = (solution.get(name) for name in _PREDICATES)
    if not isinstance(first, IRI) or not isinstance(second, IRI):
        return False
    parts = (claim_part(first), claim_part(second))
    if None in parts:
        return False
    kinds, properties = zip(*(part for part in parts if part is not None), strict=True)
    return set(kinds) == {"claim", "statement"} and len(set(properties)) == 1
