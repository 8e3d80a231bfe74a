"""A graph whose queries are counted against a budget and emitted as events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from kgsparql.budget import Usage
from kgsparql.errors import KgsparqlError
from kgsparql.events import Emit, PathsSearched, QueryRun
from kgsparql.graphs.adjacency import AdjacencyView, adjacency_view_of
from kgsparql.graphs.endpoint import EndpointGraph
from kgsparql.graphs.federation.federated_graph import FederatedGraph
from kgsparql.graphs.ignored_predicates import IgnoredPredicates
from kgsparql.graphs.notes import Note
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.protocols import BlankNodeLookup, KnowledgeGraph, Solutions, Source, naming_of, within
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Triple
from kgsparql.rdf.vocabulary import Naming


@dataclass(slots=True)
class MeteredGraph:
    """A graph with every query counted, checked against the budget, and emitted.

    :param limited: ``False`` for what an answer must show whatever the budget says: labels and verification. These
        queries are counted, and stop when the question is stopped.
    :param most_s: seconds for each query, where the graph can be interrupted.
    :param ignored: predicates whose solutions are left out.
    :param cut_short: why results were incomplete, for each that was; shared with :meth:`unlimited`.
    """

    graph: KnowledgeGraph
    usage: Usage
    emit: Emit
    limited: bool = True
    most_s: float | None = None
    ignored: IgnoredPredicates = field(default_factory=IgnoredPredicates)
    cut_short: list[str] = field(default_factory=list)
    name: str = field(init=False)
    chunk_size: int = field(init=False)
    _in_time: KnowledgeGraph = field(init=False)

    def __post_init__(self) -> None:
        self._in_time = within(self.graph, self.usage, in_grace=not self.limited, most_s=self.most_s)
        self.name = self.graph.name
        self.chunk_size = self.graph.chunk_size

    def unlimited(self) -> MeteredGraph:
        """The same graph, counted, without limits."""
        return replace(self, limited=False)

    def optional(self, most_s: float | None) -> MeteredGraph:
        """The same graph for optional queries: each has ``most_s``; a member that fails is asked again later."""
        graph = self.graph.with_own_failures() if isinstance(self.graph, FederatedGraph) else self.graph
        return replace(self, graph=graph, most_s=most_s)

    def unfiltered(self) -> MeteredGraph:
        """The same graph with its identifiers, pictures and statements: for lookups, where nothing is walked."""
        return replace(self, ignored=IgnoredPredicates(qualifiers=True))

    @property
    def members(self) -> tuple[MeteredGraph, ...]:
        """The members of a federation, counted with it; the graph itself if it is a single one."""
        if not isinstance(self.graph, FederatedGraph):
            return (self,)
        return tuple(replace(self, graph=member) for member in self.graph.each_member)

    @property
    def is_one_local_graph(self) -> bool:
        """Whether all triples are on this machine, in one graph: many small queries cost nothing, and counts add up."""
        return not isinstance(self.graph, FederatedGraph | EndpointGraph)

    @property
    def may_repeat_triples(self) -> bool:
        """Taken for granted: to find it out may take a query that is no part of the question."""
        return True

    @property
    def naming(self) -> Naming:
        """By which predicates the graph names things."""
        return naming_of(self.graph)

    @property
    def failures(self) -> tuple[Note, ...]:
        """A note for each member of a federation that failed."""
        return self.graph.failures if isinstance(self.graph, FederatedGraph) else ()

    @property
    def errors(self) -> tuple[KgsparqlError, ...]:
        """The errors of the members of a federation that failed."""
        return tuple(self.graph.errors.values()) if isinstance(self.graph, FederatedGraph) else ()

    def will_ask_again(self, solutions: Solutions) -> None:
        """No note is needed about this result: what it lacks is asked for in parts."""
        if solutions.missing in self.cut_short:
            self.cut_short.remove(solutions.missing)

    def select(self, query: Query) -> Solutions:
        """As :meth:`KnowledgeGraph.select`.

        :raises BudgetExceededError: if the query, or what it returns, is over the budget.
        :raises CancelledError: if the question was stopped.
        """
        if query.empty:
            return Solutions()
        return self.ignored.without(self._counted(query, lambda: self._in_time.select(query)))

    def ask(self, query: Query) -> bool:
        """As :meth:`KnowledgeGraph.ask`, with the errors of :meth:`select`."""
        return bool(self._counted(query, lambda: Solutions(solutions=({},) if self._in_time.ask(query) else ())))

    def adjacency_view(self) -> AdjacencyView | None:
        """The adjacency, without ignored predicates: a search is emitted, and its paths count as rows.

        There is none where statements of a Wikibase are in the graph: their parts are told apart by queries.
        """
        view = adjacency_view_of(self.graph)
        if view is None or view.adjacency.has_statements:
            return None
        check = partial(self.usage.check, in_grace=not self.limited)
        return replace(view, drops=self.ignored.drops, check=check, report=self._found_in_adjacency)

    def _found_in_adjacency(self, search: PathsSearched) -> None:
        self.emit(replace(search, graph=self.name))
        self.usage.after_query(search.paths, in_grace=not self.limited)

    def _counted(self, query: Query, run: Callable[[], Solutions]) -> Solutions:
        self.usage.before_query(in_grace=not self.limited)
        began = time.perf_counter()
        solutions = run()
        if solutions.missing:
            self.cut_short.append(solutions.missing)
        self.emit(
            QueryRun(
                graph=self.name,
                name=query.name,
                text=query.text,
                solutions=len(solutions),
                complete=solutions.complete,
                seconds=round(time.perf_counter() - began, 6),
            )
        )
        self.usage.after_query(len(solutions), in_grace=not self.limited)
        return solutions

    def source(self, named_graph: str | None) -> Source:
        """As :meth:`KnowledgeGraph.source`."""
        return self.graph.source(named_graph)

    def sources_of(self, triple: Triple) -> tuple[Source, ...] | None:
        """Where a triple is found; ``None`` if this graph cannot be asked for triples with blank nodes."""
        return self.graph.sources_of(triple) if isinstance(self.graph, BlankNodeLookup) else None


def embedded_in(graph: KnowledgeGraph) -> OxigraphGraph | None:
    """The graph in this process that queries go to, without a meter; ``None`` for an endpoint or several graphs."""
    inner = graph.graph if isinstance(graph, MeteredGraph) else graph
    return inner if isinstance(inner, OxigraphGraph) else None


def held(graph: KnowledgeGraph, predicates: frozenset[IRI]) -> frozenset[IRI]:
    """Those of some predicates that a graph has a triple with; all of them where that cannot be seen at once."""
    embedded = embedded_in(graph)
    return predicates if embedded is None else embedded.held(predicates)
