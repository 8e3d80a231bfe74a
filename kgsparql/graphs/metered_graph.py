"""A graph whose queries are counted against a budget and emitted as events."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Self, TypeVar

from kgsparql.budget import Usage
from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.events import Emit, PathsSearched, QueryRun
from kgsparql.graphs.adjacency import AdjacencyView
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.graphs.ignored_predicates import IgnoredPredicates
from kgsparql.rdf.query import Query

_T = TypeVar("_T")


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
        return replace(self, ignored=IgnoredPredicates(qualifiers=True))

    def shared(self) -> Self:
        """Return the same graph for what is the same for all questions, which is no part of this one."""
        return replace(self, is_shared=True, ignored=replace(self.ignored), cut_short=[])

    @property
    def members(self) -> tuple[MeteredGraph, ...]:
        """The members of a federation, counted with it; the graph itself if it is a single one."""
        views = self.graph.views_of_members
        return (self,) if len(views) == 1 else tuple(replace(self, graph=view) for view in views)

    views_of_members = members

    def ask_each(self, ask: Callable[[KnowledgeGraph], _T]) -> dict[int, _T]:
        """Return what ``ask`` returns for each member, with its queries counted here."""
        return self.graph.ask_each(lambda member: ask(replace(self, graph=member)))

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
                graph=self.name, name=query.name, text=query.text, solutions=len(solutions),
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
        self.emit(replace(search, graph=self.name))
        self.usage.after_query(search.paths, in_grace=not self.limited)


# What is not counted is answered by the graph itself; but another graph made of this one is counted, too.
_COUNTED = {*vars(MeteredGraph), "changed", "reopened", "refreshed", "with_own_failures", "within"}
for _name in {*vars(KnowledgeGraph), *KnowledgeGraph.__annotations__} - _COUNTED:
    if not _name.startswith("_"):
        setattr(MeteredGraph, _name, property(attrgetter(f"graph.{_name}")))
MeteredGraph.sizes = property(attrgetter("_in_time.sizes"))  # type: ignore[assignment, method-assign]
