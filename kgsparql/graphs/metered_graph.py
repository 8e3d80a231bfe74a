"""A graph whose queries are counted against a budget, emitted as events, and walk no ignored predicate.

Ignored are identifiers in other catalogues, and the parts of Wikibase statements.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache, partial
from operator import attrgetter
from typing import Self

from kgsparql.budget import Usage
from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.events import Emit, PathsSearched, QueryRun
from kgsparql.graphs.adjacency import AdjacencyView
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solutions
from kgsparql.graphs.profiles import known_endpoints
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term, iris_in
from kgsparql.rdf.vocabulary import PREDICATE_LABEL_LINKS, claim_kind

_PREDICATES = ("predicate", "onward", "p")
"""The variables of walked predicates, in every query that does not name its predicates."""
_WIKIBASE = "http://wikiba.se/ontology#"
"""The namespace of what a Wikibase says of its own records: ranks, counts, types of properties."""
_DIRECT_CLAIM = IRI(f"{_WIKIBASE}directClaim")  # leads from a property of a Wikibase to the predicate


@frozen
class IgnoredPredicates:
    """Predicates that no method walks.

    A Wikibase such as Wikidata states everything twice: as a direct claim, and as a statement with qualifiers,
    references and a rank. Only direct claims are walked.

    :param terms: such predicates: external identifiers, and what an endpoint's profile calls noise.
    :param keeps_statements: for lookups, where nothing is walked.
    :param alone: predicates to statements of which there is no direct claim.
    """

    terms: frozenset[IRI] = frozenset()
    keeps_statements: bool = False
    alone: frozenset[IRI] = frozenset()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, graph: KnowledgeGraph, terms: Iterable[IRI] = ()) -> IgnoredPredicates:
        """Ask a graph that declares its external identifiers itself: one query; a note says if the result was cut."""
        found = graph.select(Query.load("external_ids"))
        external = iris_in(solution["predicate"] for solution in found)
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

    def drops(self, predicate: Term) -> bool:
        """Tell whether a predicate is ignored."""
        if not isinstance(predicate, IRI):
            return False
        kind = _kind_of_claim(predicate)
        is_stated = not self.keeps_statements and kind not in {"", "direct"} and predicate not in self.alone
        return kind == "other" or is_stated or predicate in self.terms

    def without(self, solutions: Solutions) -> Solutions:
        """Return the solutions that walk no ignored predicate; ``left_out`` counts the others."""
        walked = [name for name in _PREDICATES if name in solutions.variables]
        dropped = {p: self.drops(p) for p in {s[name] for s in solutions for name in walked if name in s}}
        if not any(dropped.values()):
            return solutions
        kept = tuple(s for s in solutions if not any(dropped[s[name]] for name in walked if name in s))
        return replace(solutions, solutions=kept, left_out=solutions.left_out + len(solutions) - len(kept))


@lru_cache(maxsize=4096)
def _kind_of_claim(predicate: IRI) -> str:
    """Return the kind of claim; ``other`` also for what a Wikibase says of its own records."""
    return "other" if predicate.value.startswith(_WIKIBASE) else claim_kind(predicate)


# -- The graph ----------------------------------------------------------------------------------------------------


@dataclass()
class MeteredGraph(KnowledgeGraph):
    """A graph with every query counted, checked against the budget, and emitted.

    :param limited: ``False`` for what an answer must show whatever the budget says: labels and verification.
    :param most_s: seconds for each query, where the graph can be interrupted.
    :param is_shared: for what is the same for all questions: no part of this one, but within its time.
    :param ignored: predicates whose solutions are left out.
    :param cut_short: why results were incomplete, for each that was; shared with :meth:`unlimited`.
    """

    graph: KnowledgeGraph
    usage: Usage
    emit: Emit
    limited: bool = True
    most_s: float | None = None
    is_shared: bool = False
    ignored: IgnoredPredicates = field(default_factory=IgnoredPredicates)
    cut_short: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        graph = self.graph.shared() if self.is_shared else self.graph
        self._in_time = graph.within(self.usage, in_grace=not self.limited, most_s=self.most_s)

    def unlimited(self) -> MeteredGraph:
        """Return the same graph, counted, without limits."""
        return replace(self, limited=False)

    def unfiltered(self) -> MeteredGraph:
        """Return the same graph with its identifiers, pictures and statements: for lookups, where nothing is walked."""
        return replace(self, ignored=IgnoredPredicates(keeps_statements=True))

    def shared(self) -> Self:
        """Return the same graph for what is the same for all questions, which is no part of this one."""
        return replace(self, is_shared=True, ignored=replace(self.ignored), cut_short=[])

    def will_ask_again(self, solutions: Solutions) -> None:
        """Take the note about these solutions back: what they lack is asked for in parts."""
        if solutions.missing in self.cut_short:
            self.cut_short.remove(solutions.missing)

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        """Return the solutions of a SELECT, without those of ignored predicates."""
        if query.empty:
            return Solutions()
        if self.is_shared:
            self.usage.check()
            return self.ignored.without(self._in_time.select(query, timeout_s))
        self.usage.before_query(in_grace=not self.limited)
        began = time.perf_counter()
        solutions = self._in_time.select(query, timeout_s)
        if solutions.missing:
            self.cut_short.append(solutions.missing)
        self.emit(
            QueryRun(
                name=query.name, text=query.text, solutions=len(solutions),
                complete=solutions.complete, seconds=round(time.perf_counter() - began, 6),
            )
        )  # fmt: skip
        self.usage.after_query(len(solutions), in_grace=not self.limited)
        return self.ignored.without(solutions)

    def adjacency_view(self) -> AdjacencyView | None:
        """Return the adjacency, without ignored predicates."""
        if (view := self.graph.adjacency_view()) is None:
            return None
        check = partial(self.usage.check, in_grace=not self.limited)
        view = replace(view, drops=self.ignored.drops, check=check)
        return view if self.is_shared else replace(view, report=self._count_search)

    def _count_search(self, search: PathsSearched) -> None:
        self.emit(search)
        self.usage.after_query(search.paths, in_grace=not self.limited)


# What is not counted is answered by the graph itself; but another graph made of this one is counted, too.
_COUNTED = {*vars(MeteredGraph), "changed", "reopened", "refreshed", "within"}
for _name in {*vars(KnowledgeGraph), *KnowledgeGraph.__annotations__} - _COUNTED:
    if not _name.startswith("_"):
        setattr(MeteredGraph, _name, property(attrgetter(f"graph.{_name}")))
MeteredGraph.sizes = property(attrgetter("_in_time.sizes"))  # type: ignore[assignment, method-assign]
