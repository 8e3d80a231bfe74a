"""A query of several graphs on its way: sent to each, the solutions merged, joins found across them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kgsparql.graphs.federation.joining import joined
from kgsparql.graphs.federation.members import left_s
from kgsparql.graphs.federation.merging import merged, of_member
from kgsparql.graphs.protocols import Interruptible, OpenedGraph, Solution, Solutions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.triple_patterns import Join

if TYPE_CHECKING:
    from kgsparql.graphs.federated import FederatedGraph

__all__ = ["Asking"]

_CLASSES = "classes are in the place of other solutions"
_TOO_MANY = "terms with too many triples to be joined over several graphs"


class Asking:
    """One query of a federation on its way."""

    def __init__(self, graph: FederatedGraph, deadline: float | None, cancel: threading.Event | None) -> None:
        self.graph, self.deadline, self.cancel = graph, deadline, cancel

    def each(self, query: Query, *, only: int | None = None) -> list[Solutions]:
        """What each member says, its blank nodes by names that no other member has."""

        def asked(member: OpenedGraph, stop: threading.Event | None) -> Solutions:
            if isinstance(member, Interruptible):
                return member.select_within(query, timeout_s=left_s(self.deadline), cancel=stop)
            return member.select(query)

        graph = self.graph
        replies = graph.each(asked, self.cancel, self.deadline, only=only)
        return [of_member(found, at, graph.members[at].name) for at, found in replies.items()]

    def select(self, query: Query) -> Solutions:
        """What all members say together."""
        found = merged(self.each(query), query.counts)
        return replace(found, failed=self.graph.failed)

    def may_be_across(self, join: Join) -> bool:
        """Whether its triples may be in different members: there are several, of predicates that are used at all."""
        used = self.graph.used
        for predicates in join.one_of:
            if predicates not in used:
                found = self.select(Query.load("predicate_triples").bind(predicate=predicates).limit(1))
                if not found.complete and not len(found):
                    continue  # who did not say it all may have one
                used[predicates] = len(found) > 0
            if not used[predicates]:
                return False
        return len(join.patterns) > 1

    def across(self, joins: Sequence[Join]) -> list[Solutions]:
        """The solutions of joins whose triples are in different members, and why these may not be all."""
        solutions, incomplete, complete = joined(joins, self.select, self.graph.chunk_size)
        told = [replace(found, solutions=()) for found in incomplete if not found.complete]
        is_whole = complete and not any(found.complete for found in incomplete)
        cut = "" if is_whole else _TOO_MANY
        return [Solutions(solutions=tuple(self.not_classes(solutions, joins)), cut=cut), *told]

    def without_classes(self, arms: Sequence[Query]) -> Solutions:
        """What all members say to queries for terms that are no classes, when none of them calls those a class."""
        found = self.select(arms[0] if len(arms) == 1 else Query.union(arms))
        joins = [arm.join for arm in arms if arm.join is not None]
        kept = self.not_classes(found.solutions, joins)
        at_limit = len(found) >= min(join.limit for join in joins)
        is_whole = len(kept) == len(found) or not at_limit
        return replace(found, solutions=tuple(kept), cut=found.cut or ("" if is_whole else _CLASSES))

    def not_classes(self, solutions: Sequence[Solution], joins: Sequence[Join]) -> list[Solution]:
        """The solutions of joins whose terms are no classes in any member, where they must not be."""
        names = {join.names: join.classless for join in joins if join.classless}
        of = [names.get(frozenset(solution), frozenset()) for solution in solutions]
        terms = {s[name] for s, own in zip(solutions, of, strict=True) for name in own}
        classes = self._classes(sorted((term for term in terms if isinstance(term, IRI)), key=str))
        return [s for s, own in zip(solutions, of, strict=True) if not any(s[name] in classes for name in own)]

    def _classes(self, terms: Sequence[IRI]) -> set[Term]:
        query, size = Query.load("classes"), self.graph.chunk_size
        chunks = (terms[at : at + size] for at in range(0, len(terms), size))
        return {s["entity"] for chunk in chunks for s in self.select(query.bind(entity=chunk).limit(len(chunk) + 1))}
