"""Predicates that no method walks: identifiers in other catalogues, and the parts of Wikibase statements."""

from __future__ import annotations

import string
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from kgsparql.graphs.graph import BOUND, Halving, KnowledgeGraph, Solution, Solutions
from kgsparql.graphs.identifiers import Identifiers
from kgsparql.graphs.profiles import known_endpoints
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import claim_kind, claim_part

_PREDICATES = ("predicate", "onward")
"""The variables of walked predicates, in every query that does not name its predicates."""

_WIKIBASE = "http://wikiba.se/ontology#"
"""Of what a Wikibase says of its own records: ranks, counts, types of properties."""
_DIRECT_CLAIM = IRI(f"{_WIKIBASE}directClaim")
"""Leads from a property of a Wikibase to the predicate."""

_DIGITS = tuple(string.digits)
_OTHERS = f"{string.ascii_letters}/#_-.:~)"
"""Last characters of IRIs, beside digits."""


@dataclass(frozen=True, slots=True)
class IgnoredPredicates:
    """Predicates that no method walks.

    A Wikibase such as Wikidata states everything twice: as a direct claim, and as a statement with qualifiers,
    references and a rank. Only direct claims are walked, unless ``qualifiers`` are wanted too.

    :param terms: such predicates: external identifiers, and what an endpoint's profile calls noise.
    :param qualifiers: statements are walked, too, which lead to qualifiers.
    :param identifiers: predicates of identifiers, which are looked up in other graphs all the same.
    :param notes: for the reader of an answer.
    :param hidden: filled with the entities of statements that were met and not walked.

    >>> wikidata = "http://www.wikidata.org/prop/"
    >>> IgnoredPredicates().drops(IRI(wikidata + "P39")), IgnoredPredicates().drops(IRI(wikidata + "direct/P39"))
    (True, False)
    >>> IgnoredPredicates(qualifiers=True).drops(IRI(wikidata + "P39"))
    False
    """

    terms: frozenset[IRI] = frozenset()
    qualifiers: bool = False
    identifiers: Identifiers = field(default_factory=Identifiers)
    notes: tuple[str, ...] = ()
    hidden: set[Term] = field(default_factory=set, init=False, compare=False)

    @classmethod
    def of(cls, graph: KnowledgeGraph, terms: Iterable[IRI] = ()) -> IgnoredPredicates:
        """Those of a graph that declares its external identifiers itself: one query.

        Where an endpoint cuts the result, it is asked for parts; a note says if these are cut, too.
        """
        found = graph.select(Query.load("external_ids"))
        if found.cut:
            found = _in_parts(graph, found)
        external = (part for s in found if isinstance(direct := s.get("predicate"), IRI) for part in _parts_of(direct))
        cut = f"{graph.name} cut what it says identifies things: {found.cut}; some identifiers may be missing"
        return cls(
            frozenset((*terms, *external)),
            identifiers=Identifiers.declared(found),
            notes=(cut,) if found.cut else (),
        )

    @classmethod
    def of_dump(cls, graph: KnowledgeGraph) -> IgnoredPredicates:
        """Those of a graph without a profile; it may be a dump of a known service, whose noise is then ignored, too.

        It is a dump if it declares these properties itself, and does not only use them. One query more; two if it is a
        Wikibase.
        """
        if not graph.select(Query.load("predicate_triples").bind(predicate=[_DIRECT_CLAIM]).limit(1)):
            return cls.of(graph)
        named = {predicate for profile in known_endpoints().profiles for predicate in profile.noise}
        pairs = [(predicate, _DIRECT_CLAIM) for predicate in named]
        declared = graph.select(Query.load("group_inverse").bind_rows(("entity", "predicate"), pairs).limit(BOUND))
        return cls.of(graph, (term for solution in declared if isinstance(term := solution["entity"], IRI)))

    @classmethod
    def together(cls, parts: Iterable[IgnoredPredicates]) -> IgnoredPredicates:
        """Those of several graphs together."""
        each = list(parts)
        terms = frozenset[IRI]().union(*(part.terms for part in each))
        notes = tuple(dict.fromkeys(note for part in each for note in part.notes))
        return cls(terms, identifiers=Identifiers.together(part.identifiers for part in each), notes=notes)

    def drops(self, predicate: Term) -> bool:
        """Whether a predicate is ignored."""
        if not isinstance(predicate, IRI):
            return False
        kind = _kind(predicate)
        return kind == "other" or (not self.qualifiers and kind not in {"", "direct"}) or predicate in self.terms

    def without(self, solutions: Solutions) -> Solutions:
        """The solutions that walk no ignored predicate; ``left_out`` counts the others."""
        walked = [name for name in _PREDICATES if name in solutions.variables]
        if not walked:
            return solutions
        dropped = {p: self.drops(p) for p in {s[name] for s in solutions for name in walked if name in s}}
        if not any(dropped.values()) and not (self.qualifiers and len(walked) > 1):
            return solutions
        claims = {p for p in dropped if claim_kind(p) == "claim"} if not self.qualifiers else set()
        self.hidden.update(s["entity"] for s in solutions if "entity" in s and s.get("predicate") in claims)
        kept = tuple(
            s for s in solutions if not any(dropped[s[name]] for name in walked if name in s) and not _repeats(s)
        )
        return replace(solutions, solutions=kept, left_out=solutions.left_out + len(solutions) - len(kept))


@lru_cache(maxsize=4096)
def _kind(predicate: IRI) -> str:
    """As :func:`claim_kind`; ``other`` also for what a Wikibase says of its own records."""
    return "other" if predicate.value.startswith(_WIKIBASE) else claim_kind(predicate)


def _in_parts(graph: KnowledgeGraph, seen: Solutions) -> Solutions:
    """All solutions of a result that an endpoint cut, in parts: by the last character of IRIs, or by more of them."""
    query, halving = Query.load("external_ids_ending"), Halving()
    first = [[digit] for digit in _DIGITS]
    todo = deque(_longer([""]))
    found, open_ = [seen], []
    while todo:
        endings = todo.popleft()
        part = graph.select(query.bind(ending=map(Literal, endings)))
        found.append(part)
        if halving.should_give_up(part):
            open_ = [part]
            break
        if part.cut and endings not in first:
            open_.append(part)
        elif part.cut:
            todo.extendleft(reversed(_longer(endings)))
    solutions = tuple(solution for part in found for solution in part)
    return replace(seen, solutions=solutions, cut=open_[0].cut if open_ else "")


def _longer(endings: Iterable[str]) -> list[list[str]]:
    """Longer endings: with each digit before them, and with all other characters.

    >>> [len(part) for part in _longer(["7"])], _longer(["7"])[0]
    ([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 60], ['07'])
    """
    some = list(endings)
    return [[digit + ending for ending in some] for digit in _DIGITS] + [[c + e for e in some for c in _OTHERS]]


def _parts_of(direct: IRI) -> Iterable[IRI]:
    """A predicate; with the predicate of a direct claim, those of statements of the same property.

    >>> [part.value for part in _parts_of(IRI("http://e.org/prop/direct/P1"))][1:3]
    ['http://e.org/prop/P1', 'http://e.org/prop/statement/P1']
    """
    part = claim_part(direct)
    if part is None or part[0] != "direct":
        return (direct,)
    before, name = direct.value.removesuffix(f"direct/{part[1]}"), part[1]
    return (direct, *(IRI(f"{before}{kind}{name}") for kind in ("", "statement/", "qualifier/")))


def _repeats(solution: Solution) -> bool:
    """Whether two hops lead through a statement to its value, as the direct claim does in one."""
    predicates = [p for name in _PREDICATES if isinstance(p := solution.get(name), IRI)]
    parts = {part for predicate in predicates if (part := claim_part(predicate))}
    return {kind for kind, _ in parts} == {"claim", "statement"} and len({name for _, name in parts}) == 1
