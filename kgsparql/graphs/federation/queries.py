"""One query of a federation: sent to each member, which may fail; the solutions merged, joins found across members."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from kgsparql.errors import GRAPH_FAILED, EndpointTimeoutError, KgsparqlError, QueryError, QuerySyntaxError
from kgsparql.graphs.federation.joining import joined
from kgsparql.graphs.graph import KnowledgeGraph, Solution, Solutions
from kgsparql.rdf.query import Join, Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, renamed, whole_number

if TYPE_CHECKING:
    from kgsparql.graphs.federation.federated_graph import FederatedGraph


_OF_MEMBER = re.compile(r"m(\d+)\.(.+)")
_INTEGER = IRI("http://www.w3.org/2001/XMLSchema#integer")

_Key: TypeAlias = frozenset[tuple[str, Term]]

_CLASSES = "classes are in the place of other solutions"
_TOO_MANY = "terms with too many triples to be joined over several graphs"
_MOST_FAILURES = 3
"""Queries at which a member may fail before it is not asked again; a member that cannot be reached, one."""


@dataclass(frozen=True, slots=True)
class MemberFailure:
    """The last error of a member, and how many queries failed there."""

    error: KgsparqlError
    number: int

    @property
    def is_final(self) -> bool:
        """Whether it is not asked again; where the query was too much for it, another may do."""
        is_heavy = isinstance(self.error, EndpointTimeoutError | QueryError)
        return self.number >= (_MOST_FAILURES if is_heavy else 1)


def is_survivable(error: BaseException, deadline: float | None) -> bool:
    """Whether a question goes on without the member that had this error; not when its own time was over."""
    if isinstance(error, EndpointTimeoutError) and deadline is not None and time.monotonic() >= deadline:
        return False
    return isinstance(error, GRAPH_FAILED) and not isinstance(error, QuerySyntaxError)


@dataclass(frozen=True, slots=True)
class FederatedQuery:
    """A query of a federation that must be over at a deadline, or when ``cancel`` is set.

    :param only: the place of the one member to ask; ``None`` for all.
    """

    graph: FederatedGraph
    deadline: float | None = None
    cancel: threading.Event | None = None
    only: int | None = None

    @property
    def _left_s(self) -> float | None:
        return None if self.deadline is None else max(0.001, self.deadline - time.monotonic())

    def of_each(self, query: Query) -> list[Solutions]:
        """The solutions of each member, blank nodes with names that no other member has."""

        def solutions(member: KnowledgeGraph) -> Solutions:
            return member.select_within(query, timeout_s=self._left_s, cancel=self.cancel)

        graph = self.graph
        replies = graph.ask_each(solutions, self.cancel, self.deadline, only=self.only)
        return [_of_member(found, at, graph.members[at].name) for at, found in replies.items()]

    def ask(self, query: Query) -> bool:
        """Whether it holds in any member."""

        def holds(member: KnowledgeGraph) -> bool:
            return member.ask_within(query, timeout_s=self._left_s, cancel=self.cancel)

        return any(self.graph.ask_each(holds, self.cancel, self.deadline, only=self.only).values())

    def select(self, query: Query) -> Solutions:
        """The solutions of all members together."""
        found = merged(self.of_each(query), query.counts)
        return replace(found, failed=self.graph.failed)

    def may_be_across(self, join: Join) -> bool:
        """Whether its triples may be in different members: there are several, of predicates that are used at all."""
        used = self.graph.used
        for predicates in join.one_of:
            if predicates not in used:
                found = self.select(Query.load("predicate_triples").bind(predicate=predicates).limit(1))
                if not found.complete and not len(found):
                    continue  # a member that failed, or cut its result, may have one
                used[predicates] = len(found) > 0
            if not used[predicates]:
                return False
        return len(join.patterns) > 1

    def across(self, joins: Sequence[Join]) -> list[Solutions]:
        """The solutions of joins whose triples are in different members, and why these may not be all."""
        solutions, incomplete, complete = joined(joins, self.select, self.graph.chunk_size)
        reasons = [replace(found, solutions=()) for found in incomplete if not found.complete]
        is_whole = complete and not any(found.complete for found in incomplete)
        cut = "" if is_whole else _TOO_MANY
        return [Solutions(solutions=tuple(self._not_classes(solutions, joins)), cut=cut), *reasons]

    def without_classes(self, arms: Sequence[Query]) -> Solutions:
        """The solutions of queries for terms that are no classes; no member may call them a class."""
        found = self.select(arms[0] if len(arms) == 1 else Query.union(arms))
        joins = [arm.join for arm in arms if arm.join is not None]
        kept = self._not_classes(found.solutions, joins)
        at_limit = len(found) >= min(join.limit for join in joins)
        is_whole = len(kept) == len(found) or not at_limit
        return replace(found, solutions=tuple(kept), cut=found.cut or ("" if is_whole else _CLASSES))

    def _not_classes(self, solutions: Sequence[Solution], joins: Sequence[Join]) -> list[Solution]:
        """The solutions of joins whose terms are no classes in any member, where they must not be."""
        names = {join.names: join.classless for join in joins if join.classless}
        classless = [names.get(frozenset(solution), frozenset()) for solution in solutions]
        terms = {s[name] for s, own in zip(solutions, classless, strict=True) for name in own}
        classes = self._classes(sorted((term for term in terms if isinstance(term, IRI)), key=str))
        return [s for s, own in zip(solutions, classless, strict=True) if not any(s[name] in classes for name in own)]

    def _classes(self, terms: Sequence[IRI]) -> set[Term]:
        query, size = Query.load("classes"), self.graph.chunk_size
        chunks = (terms[at : at + size] for at in range(0, len(terms), size))
        return {s["entity"] for chunk in chunks for s in self.select(query.bind(entity=chunk).limit(len(chunk) + 1))}


def merged(parts: Sequence[Solutions], counts: frozenset[str]) -> Solutions:
    """Solutions in the order of the parts, each once; of those that count the same thing, the sums.

    >>> one = Solutions(("a", "n"), ({"a": Literal("x"), "n": Literal(2)},))
    >>> [s["n"].value for s in merged([one, one], frozenset({"n"}))], len(merged([one, one], frozenset()))
    (['4'], 1)
    """
    variables = tuple(dict.fromkeys(name for part in parts for name in part.variables))
    solutions: list[Solution]
    if counts:
        solutions = _sums((solution for part in parts for solution in part), counts)
    else:
        distinct: dict[_Key, Solution] = {}
        for part in parts:
            for solution in part:
                distinct.setdefault(frozenset(solution.items()), solution)
        solutions = list(distinct.values())
    return Solutions.together(
        parts,
        variables=variables or tuple(dict.fromkeys(name for solution in solutions for name in solution)),
        solutions=tuple(solutions),
    )


def _sums(solutions: Iterable[Solution], counts: frozenset[str]) -> list[Solution]:
    sums: dict[tuple[_Key, frozenset[str]], dict[str, Term]] = {}
    for solution in solutions:
        counted = counts.intersection(solution)
        about = frozenset((name, term) for name, term in solution.items() if name not in counted)
        known = sums.setdefault((about, counted), {})
        if not known:
            known.update(solution)
            continue
        for name in counted:
            known[name] = Literal(str(whole_number(known[name]) + whole_number(solution[name])), datatype=_INTEGER)
    return list(sums.values())


def _of_member(found: Solutions, at: int, name: str) -> Solutions:
    """The solutions of a member, its blank nodes by names that no other member has, itself named where they are cut."""
    solutions = found.solutions
    if any(isinstance(term, BlankNode | Triple) for solution in solutions for term in solution.values()):

        def name_in_federation(node: BlankNode) -> BlankNode:
            return BlankNode(f"m{at}.{node.value}")

        solutions = tuple({n: renamed(term, name_in_federation) for n, term in s.items()} for s in solutions)
    return replace(found, solutions=solutions, cut=found.cut and f"{name}: {found.cut}")


def local_triple(triple: Triple) -> tuple[int | None, Triple]:
    """The place of the member that a triple's blank nodes are from, and the triple as that member has it.

    >>> a, p = IRI("http://e.org/a"), IRI("http://e.org/p")
    >>> at, own = local_triple(Triple(a, p, BlankNode("m1.b7")))
    >>> at, str(own.object)
    (1, '_:b7')
    """
    places: set[int] = set()

    def local(node: BlankNode) -> BlankNode:
        found = _OF_MEMBER.fullmatch(node.value)
        if found is None:
            return node
        places.add(int(found[1]))
        return BlankNode(found[2])

    own = renamed(triple, local)
    return (min(places) if len(places) == 1 else None), own
