"""Several graphs asked as one: every query goes to each, and joins are found across them."""

from __future__ import annotations

import copy
import hashlib
import math
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeVar

from kgsparql.budget import Usage
from kgsparql.errors import (
    GRAPH_FAILED,
    CancelledError,
    EndpointTimeoutError,
    InputError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
)
from kgsparql.graphs.graph import KnowledgeGraph, Solution, Solutions, Source
from kgsparql.graphs.joining import joined, merged
from kgsparql.graphs.notes import Note
from kgsparql.http.transport import ThreadedCall
from kgsparql.rdf.query import Join, Query
from kgsparql.rdf.terms import IRI, BlankNode, Term, Triple, renamed
from kgsparql.rdf.vocabulary import Naming

_T = TypeVar("_T")


class FederatedGraph(KnowledgeGraph):
    """Graphs of any kind as one. Its solutions are those of the members, each once, in the order of the members.

    Counts are added: a triple that two members hold counts twice. A join, such as a walk of several steps, is also
    found where its triples are in different members; a blank node is only ever joined within its own.

    A member may fail: the solutions of the others are then not complete, ``failures`` says why, and the member is not
    asked again. :meth:`refreshed` forgets that.

    :param members: at least two. Members of the same name, such as an endpoint as two users see it, are numbered.
    :ivar used: for some predicates, whether any member has a triple with one of them, as far as that was asked.
    :raises InputError: for fewer.
    """

    def __init__(self, members: Sequence[KnowledgeGraph], *, name: str | None = None) -> None:
        if len(members) < 2:
            raise InputError("a federation needs several graphs", hint="open a single graph by itself")
        self._members = _with_own_names(members)
        self.name = name or ", ".join(member.name for member in members)
        self.prefixes = {prefix: name for one in reversed(members) for prefix, name in one.prefixes.items()}
        self.stored = tuple(source for member in members for source in member.stored)
        self._failed: dict[int, MemberFailure] = {}
        self.used: dict[tuple[IRI, ...], bool] = {}

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        """Return the same graphs for one question; failures are shared with this one."""
        view = copy.copy(self)
        view._members = tuple(  # noqa: SLF001 - its own
            member.within(usage, in_grace=in_grace, most_s=most_s) for member in self.members
        )
        return view

    def refreshed(self) -> Self:
        """Return the same graphs, all failures forgotten."""
        view = copy.copy(self)
        view._failed = {}  # noqa: SLF001 - its own
        return view

    def with_own_failures(self) -> Self:
        """Return the same graphs for optional queries: what fails there does not count as failed here."""
        view = copy.copy(self)
        view._failed = dict(self._failed)  # noqa: SLF001 - its own
        return view

    @property
    def failed(self) -> tuple[str, ...]:
        """The members that failed."""
        return tuple(self.members[at].name for at in sorted(self._failed))

    @property
    def errors(self) -> dict[str, KgsparqlError]:
        """The error of each member that failed, by its name."""
        return {self.members[at].name: failure.error for at, failure in sorted(self._failed.items())}

    @property
    def failures(self) -> tuple[Note, ...]:
        """A note for each member that failed."""
        causes = (error.message_about(name) for name, error in self.errors.items())
        return tuple(Note("graph_failed", f"{cause}; what it holds may be missing", cause) for cause in causes)

    @property
    def members(self) -> tuple[KnowledgeGraph, ...]:
        """The members in the order given."""
        return self._members

    def close(self) -> None:
        """Close the connections of all members."""
        for member in self.members:
            member.close()

    @property
    def views_of_members(self) -> tuple[Member, ...]:
        """The members one by one; failures of theirs are remembered here."""
        return tuple(Member(self, at) for at in range(len(self.members)))

    @property
    def chunk_size(self) -> int:
        """How many terms one ``VALUES`` block may hold: the smallest number of all members."""
        return min(member.chunk_size for member in self.members)

    @property
    def naming(self) -> Naming:
        """By which predicates the members name things; those that a member states itself come first."""
        usual = Naming().labels
        named = sorted((member.naming for member in self.members), key=lambda naming: naming.labels == usual)
        labels = dict.fromkeys(predicate for naming in named for predicate in naming.labels)
        return Naming(tuple(labels), tuple(dict.fromkeys(link for naming in named for link in naming.links)))

    @property
    def fingerprint(self) -> str:
        """A hash of what the members hold; of one that fails, of its name."""
        found = self.ask_each(lambda member: member.fingerprint)
        prints = [found.get(at, member.name) for at, member in enumerate(self.members)]
        return hashlib.sha256("\n".join(prints).encode()).hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of any answer should know of each member."""
        by_member = self.ask_each(lambda member: member.notes)
        return tuple(dict.fromkeys(note for notes in by_member.values() for note in notes))

    @property
    def may_repeat_triples(self) -> bool:
        """Whether counts must be of distinct triples; they are added all the same."""
        return any(self.ask_each(lambda member: member.may_repeat_triples).values())

    @property
    def is_remote(self) -> bool:
        """Whether some queries go over a network."""
        return any(member.is_remote for member in self.members)

    def sources_of(self, triple: Triple) -> tuple[Source, ...] | None:
        """Return where a triple is found; ``None`` if the member that its blank node came from cannot be asked."""
        at, own = local_triple(triple)
        members = [self.members[at]] if at is not None and at < len(self.members) else self.members
        found = [member.sources_of(own) for member in members]
        known = [sources for sources in found if sources is not None]
        if not known or (None in found and not any(known)):
            return None
        return tuple(dict.fromkeys(source for sources in known for source in sources))

    def select(self, query: Query) -> Solutions:
        """Return the solutions of all members and of joins across them; raise the first member's error if all fail."""
        return self.select_within(query)

    def ask(self, query: Query) -> bool:
        """Tell whether it holds in any member."""
        return self.ask_within(query)

    def select_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> Solutions:
        """Return the solutions as :meth:`select`, with limits for all that it takes together."""
        if query.empty:
            return Solutions()
        federated = FederatedQuery(self, _deadline_after(timeout_s), cancel)
        arms = query.arms or (query,)
        classless = [arm for arm in arms if arm.join is not None and arm.join.classless]
        plain = [arm for arm in arms if arm not in classless]
        parts = []
        if not classless:
            parts.append(federated.select(query))
        elif plain:
            parts.append(federated.select(Query.union(plain)))
        if classless:
            parts.append(federated.without_classes(classless))
        joins = [arm.join for arm in arms if arm.join is not None and federated.may_be_across(arm.join)]
        if joins:
            parts += federated.across(joins)
        return parts[0] if len(parts) == 1 else merged(parts, query.counts)

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """Return the answer as :meth:`ask`, with the limits of :meth:`select_within`."""
        if query.empty:
            return False
        return FederatedQuery(self, _deadline_after(timeout_s), cancel).ask(query)

    def ask_each(
        self,
        ask: Callable[[KnowledgeGraph], _T],
        cancel: threading.Event | None = None,
        deadline: float | None = None,
        *,
        only: int | None = None,
    ) -> dict[int, _T]:
        """Ask each member, remote ones side by side; return the replies by place, without the members that fail.

        :param only: the place of the one member to ask; ``None`` for all.
        :raises KgsparqlError: the error of the first member, if all fail.
        """

        def raise_if_cancelled() -> float:
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped")
            return math.inf

        calls: dict[int, Callable[[], _T]] = {}
        for at, member in enumerate(self.members):
            if only in {None, at} and (at not in self._failed or not self._failed[at].is_final):
                calls[at] = partial(ask, member)
                if member.is_remote:
                    thread = ThreadedCall(calls[at], name="kgsparql member")
                    calls[at] = partial(thread.result, raise_if_cancelled)
        replies: dict[int, _T] = {}
        for at in sorted(calls, key=lambda at: self.members[at].is_remote):  # local ones while the others run
            try:
                replies[at] = calls[at]()
            except KgsparqlError as error:
                if not is_survivable(error, deadline):
                    raise
                self._failed[at] = MemberFailure(error, self._failed[at].number + 1 if at in self._failed else 1)
        if not replies:
            raise next(failure.error for at, failure in sorted(self._failed.items()) if only in {None, at})
        return dict(sorted(replies.items()))


def _with_own_names(members: Sequence[KnowledgeGraph]) -> tuple[KnowledgeGraph, ...]:
    """Give members of one name numbers: all but the first are copies with a number in their name."""
    named: dict[str, KnowledgeGraph] = {}
    given = {member.name for member in members}
    for member in members:
        name, number = member.name, 1
        while name in named or (number > 1 and name in given):
            number += 1
            name = f"{member.name} ({number})"
        own = member
        if name != member.name:
            own = copy.copy(member)
            own.name = name
        named[name] = own
    return tuple(named.values())


class Member(KnowledgeGraph):
    """One member of a federation by itself, with the errors and the names of blank nodes that it has there."""

    def __init__(self, graph: FederatedGraph, at: int) -> None:
        self._graph, self._at = graph, at
        self._own = graph.members[at]
        self.name = self._own.name

    def select(self, query: Query) -> Solutions:
        """Return the solutions of this member."""
        return self.select_within(query)

    def ask(self, query: Query) -> bool:
        """Return the answer of this member."""
        return self.ask_within(query)

    def select_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> Solutions:
        """Return the solutions as :meth:`select`, with a limit of their own."""
        if query.empty:
            return Solutions()
        (found,) = FederatedQuery(self._graph, _deadline_after(timeout_s), cancel, self._at).of_each(query)
        return found

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """Return the answer as :meth:`ask`, with a limit of its own."""
        return not query.empty and FederatedQuery(self._graph, _deadline_after(timeout_s), cancel, self._at).ask(query)

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        """Return the same member within the time of a question."""
        return type(self)(self._graph.within(usage, in_grace=in_grace, most_s=most_s), self._at)

    def source(self, named_graph: str | None) -> Source:
        """Return how the member cites a named graph."""
        return self._own.source(named_graph)

    @property
    def naming(self) -> Naming:
        """The predicates by which it names things."""
        return self._own.naming

    @property
    def chunk_size(self) -> int:
        """How many terms one ``VALUES`` block may hold there."""
        return self._own.chunk_size

    @property
    def is_remote(self) -> bool:
        """Whether its queries go over a network."""
        return self._own.is_remote

    @property
    def may_repeat_triples(self) -> bool:
        """Taken for granted: to find it out may take a query that is no part of the question."""
        return True


def _deadline_after(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else time.monotonic() + timeout_s


_NODE_OF_MEMBER = re.compile(r"m(\d+)\.(.+)")

_CUT_BY_CLASSES = "classes are in the place of other solutions"
_CUT_BY_JOINS = "terms with too many triples to be joined over several graphs"
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
    """Tell whether a question goes on without the member that had this error; not when its own time was over."""
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
        """Return the solutions of each member, blank nodes with names that no other member has."""

        def solutions(member: KnowledgeGraph) -> Solutions:
            return member.select_within(query, timeout_s=self._left_s, cancel=self.cancel)

        graph = self.graph
        replies = graph.ask_each(solutions, self.cancel, self.deadline, only=self.only)
        return [_renamed_solutions(found, at, graph.members[at].name) for at, found in replies.items()]

    def ask(self, query: Query) -> bool:
        """Tell whether it holds in any member."""

        def holds(member: KnowledgeGraph) -> bool:
            return member.ask_within(query, timeout_s=self._left_s, cancel=self.cancel)

        return any(self.graph.ask_each(holds, self.cancel, self.deadline, only=self.only).values())

    def select(self, query: Query) -> Solutions:
        """Return the solutions of all members together."""
        found = merged(self.of_each(query), query.counts)
        return replace(found, failed=self.graph.failed)

    def may_be_across(self, join: Join) -> bool:
        """Tell whether its triples may be in different members: several, of predicates that are used at all."""
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
        """Return the solutions of joins whose triples are in different members, and why these may not be all."""
        solutions, incomplete, complete = joined(joins, self.select, self.graph.chunk_size)
        reasons = [replace(found, solutions=()) for found in incomplete if not found.complete]
        is_whole = complete and not any(found.complete for found in incomplete)
        cut = "" if is_whole else _CUT_BY_JOINS
        return [Solutions(solutions=tuple(self._without_classes(solutions, joins)), cut=cut), *reasons]

    def without_classes(self, arms: Sequence[Query]) -> Solutions:
        """Return the solutions of queries for terms that no member may call a class."""
        found = self.select(arms[0] if len(arms) == 1 else Query.union(arms))
        joins = [arm.join for arm in arms if arm.join is not None]
        kept = self._without_classes(found.solutions, joins)
        at_limit = len(found) >= min(join.limit for join in joins)
        is_whole = len(kept) == len(found) or not at_limit
        return replace(found, solutions=tuple(kept), cut=found.cut or ("" if is_whole else _CUT_BY_CLASSES))

    def _without_classes(self, solutions: Sequence[Solution], joins: Sequence[Join]) -> list[Solution]:
        """Return the solutions of joins whose terms are no classes in any member, where they must not be."""
        names = {join.names: join.classless for join in joins if join.classless}
        classless = [names.get(frozenset(solution), frozenset()) for solution in solutions]
        terms = {s[name] for s, own in zip(solutions, classless, strict=True) for name in own}
        classes = self._classes_among(sorted((term for term in terms if isinstance(term, IRI)), key=str))
        return [s for s, own in zip(solutions, classless, strict=True) if not any(s[name] in classes for name in own)]

    def _classes_among(self, terms: Sequence[IRI]) -> set[Term]:
        query, size = Query.load("classes"), self.graph.chunk_size
        chunks = (terms[at : at + size] for at in range(0, len(terms), size))
        return {s["entity"] for chunk in chunks for s in self.select(query.bind(entity=chunk).limit(len(chunk) + 1))}


def _renamed_solutions(found: Solutions, at: int, name: str) -> Solutions:
    """Rename the blank nodes of a member's solutions, and say where they are cut that it was this member."""
    solutions = found.solutions
    if any(isinstance(term, BlankNode | Triple) for solution in solutions for term in solution.values()):

        def name_in_federation(node: BlankNode) -> BlankNode:
            return BlankNode(f"m{at}.{node.value}")

        solutions = tuple({n: renamed(term, name_in_federation) for n, term in s.items()} for s in solutions)
    return replace(found, solutions=solutions, cut=found.cut and f"{name}: {found.cut}")


def local_triple(triple: Triple) -> tuple[int | None, Triple]:
    """Find the member that a triple's blank nodes are from; return its place, and the triple as that member has it.

    >>> a, p = IRI("http://e.org/a"), IRI("http://e.org/p")
    >>> at, own = local_triple(Triple(a, p, BlankNode("m1.b7")))
    >>> at, str(own.object)
    (1, '_:b7')
    """
    places: set[int] = set()

    def local(node: BlankNode) -> BlankNode:
        found = _NODE_OF_MEMBER.fullmatch(node.value)
        if found is None:
            return node
        places.add(int(found[1]))
        return BlankNode(found[2])

    own = renamed(triple, local)
    return (min(places) if len(places) == 1 else None), own
