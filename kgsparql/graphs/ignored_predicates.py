"""Predicates that no method walks: identifiers in other catalogues, and the parts of Wikibase statements."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kgsparql.dataclasses import field, frozen, replace
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution, Solutions
from kgsparql.graphs.profiles import known_endpoints
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term, iris_in
from kgsparql.rdf.vocabulary import PREDICATE_LABEL_LINKS, claim_kind, claim_part

_PREDICATES = ("predicate", "onward", "p")
"""The variables of walked predicates, in every query that does not name its predicates."""
_WIKIBASE = "http://wikiba.se/ontology#"
"""The namespace of what a Wikibase says of its own records: ranks, counts, types of properties."""
_DIRECT_CLAIM = IRI(f"{_WIKIBASE}directClaim")  # leads from a property of a Wikibase to the predicate


@frozen
class IgnoredPredicates:
    """Predicates that no method walks.

    A Wikibase such as Wikidata states everything twice: as a direct claim, and as a statement with qualifiers,
    references and a rank. Only direct claims are walked, unless ``qualifiers`` are wanted too.

    :param terms: such predicates: external identifiers, and what an endpoint's profile calls noise.
    :param hidden: filled with the entities of statements that were met and not walked.
    """

    terms: frozenset[IRI] = frozenset()
    qualifiers: bool = False
    notes: tuple[str, ...] = ()
    hidden: set[Term] = field(default_factory=set, init=False, compare=False)

    @classmethod
    def of(cls, graph: KnowledgeGraph, terms: Iterable[IRI] = ()) -> IgnoredPredicates:
        """Ask a graph that declares its external identifiers itself: one query; a note says if the result was cut."""
        found = graph.select(Query.load("external_ids"))
        direct = {*iris_in(solution["predicate"] for solution in found)}
        external = (part for predicate in direct for part in _predicates_of(predicate))
        cut = f"{graph.name} cut what it says identifies things: {found.cut}; some identifiers may be missing"
        return cls(frozenset((*terms, *external)), notes=(cut,) if found.cut else ())

    @classmethod
    def of_profile(cls, graph: KnowledgeGraph) -> IgnoredPredicates:
        """Read what is ignored of a graph: a public service is only asked if its profile says that it has such."""
        noise = graph.profile.noise
        if graph.profile.is_public and not graph.profile.external_ids:
            return cls(frozenset(noise))
        if noise or not graph.uses_any(PREDICATE_LABEL_LINKS):
            return cls.of(graph, noise)
        # A dump: if it declares the properties of a known service, their noise is ignored.
        known = known_endpoints()
        named = {predicate for profile in (*known.services, *known.engines) for predicate in profile.noise}
        pairs = [(predicate, _DIRECT_CLAIM) for predicate in named]
        declared = graph.select(Query.load("group_inverse").bind_rows(("entity", "predicate"), pairs).limit(BOUND))
        return cls.of(graph, iris_in(solution["entity"] for solution in declared))

    @classmethod
    def together(cls, parts: Iterable[IgnoredPredicates]) -> IgnoredPredicates:
        """Join those of several graphs."""
        each = list(parts)
        terms = frozenset[IRI]().union(*(part.terms for part in each))
        return cls(terms, notes=tuple(dict.fromkeys(note for part in each for note in part.notes)))

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
