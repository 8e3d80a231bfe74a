"""Several graphs asked as one: every query goes to each, and joins are found across them."""

from __future__ import annotations

import copy
import hashlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kgsparql.budget import Usage
from kgsparql.errors import CancelledError, InputError, KgsparqlError
from kgsparql.graphs.federation.queries import (
    FederatedQuery,
    MemberFailure,
    is_survivable,
    local_triple,
    merged,
)
from kgsparql.graphs.notes import Note
from kgsparql.graphs.protocols import BlankNodeLookup, OpenedGraph, Solutions, Source, naming_of, within
from kgsparql.http.threaded_call import ThreadedCall
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Triple
from kgsparql.rdf.vocabulary import Naming

_T = TypeVar("_T")


class FederatedGraph:
    """Graphs of any kind as one. Its solutions are those of the members, each once, in the order of the members.

    Counts are added: a triple that two members hold counts twice. A join, such as a walk of several steps, is also
    found where its triples are in different members; a blank node is only ever joined within its own.

    A member may fail: the solutions of the others are then not complete, ``failures`` says why, and the member is not
    asked again. :meth:`refreshed` forgets that.

    :param members: at least two. Members of the same name, such as an endpoint as two users see it, are numbered.
    :ivar used: for some predicates, whether any member has a triple with one of them, as far as that was asked.
    :raises InputError: for fewer.
    """

    def __init__(self, members: Sequence[OpenedGraph], *, name: str | None = None) -> None:
        if len(members) < 2:
            raise InputError("a federation needs several graphs", hint="open a single graph by itself")
        self.members = _with_own_names(members)
        self.name = name or ", ".join(member.name for member in members)
        self.prefixes: dict[str, str] = {}
        for member in reversed(members):
            self.prefixes.update(member.prefixes)
        self._failed: dict[int, MemberFailure] = {}
        self.used: dict[tuple[IRI, ...], bool] = {}

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> FederatedGraph:
        """The same graphs for one question, as :meth:`InTime.within`; failures are shared with this one."""
        view = copy.copy(self)
        view.members = tuple(within(member, usage, in_grace=in_grace, most_s=most_s) for member in self.members)
        return view

    def refreshed(self) -> FederatedGraph:
        """The same graphs, all failures forgotten."""
        view = copy.copy(self)
        view._failed = {}  # noqa: SLF001 - its own
        return view

    def with_own_failures(self) -> FederatedGraph:
        """The same graphs for optional queries: what fails there does not count as failed here."""
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
    def each_member(self) -> tuple[Member, ...]:
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
        named = sorted((naming_of(member) for member in self.members), key=lambda naming: naming.labels == usual)
        labels = dict.fromkeys(predicate for naming in named for predicate in naming.labels)
        return Naming(tuple(labels), tuple(dict.fromkeys(link for naming in named for link in naming.links)))

    @property
    def fingerprint(self) -> str:
        """A hash of what the members hold; of one that fails, of its name."""
        found = self.each(lambda member: member.fingerprint)
        prints = [found.get(at, member.name) for at, member in enumerate(self.members)]
        return hashlib.sha256("\n".join(prints).encode()).hexdigest()

    @property
    def stored(self) -> tuple[Any, ...]:
        """The files of all members."""
        return tuple(source for member in self.members for source in member.stored)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of any answer should know of each member."""
        by_member = self.each(lambda member: member.notes)
        return tuple(dict.fromkeys(note for notes in by_member.values() for note in notes))

    @property
    def may_repeat_triples(self) -> bool:
        """Whether counts must be of distinct triples; they are added all the same."""
        return any(self.each(lambda member: member.may_repeat_triples).values())

    @property
    def is_remote(self) -> bool:
        """Whether some queries go over a network."""
        return any(member.is_remote for member in self.members)

    def source(self, named_graph: str | None) -> Source:
        """How to cite a named graph where its member is not known; each member cites its own."""
        return Source(self.name, named_graph)

    def sources_of(self, triple: Triple) -> tuple[Source, ...] | None:
        """Where a triple with a blank node is found; ``None`` if the member that it came from cannot be asked."""
        at, own = local_triple(triple)
        members = [self.members[at]] if at is not None and at < len(self.members) else self.members
        found = [member.sources_of(own) if isinstance(member, BlankNodeLookup) else None for member in members]
        known = [sources for sources in found if sources is not None]
        if not known or (None in found and not any(known)):
            return None
        return tuple(dict.fromkeys(source for sources in known for source in sources))

    def select(self, query: Query) -> Solutions:
        """As :meth:`KnowledgeGraph.select`, with the errors of the members if all of them fail."""
        return self.select_within(query)

    def ask(self, query: Query) -> bool:
        """Whether it holds in any member."""
        return self.ask_within(query)

    def select_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> Solutions:
        """As :meth:`select`, with the limits of :meth:`Interruptible.select_within` for all that it takes together."""
        if query.empty:
            return Solutions()
        federated = FederatedQuery(self, None if timeout_s is None else time.monotonic() + timeout_s, cancel)
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
        """As :meth:`ask`, with the limits of :meth:`select_within`."""
        if query.empty:
            return False
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        return FederatedQuery(self, deadline, cancel).ask(query)

    def each(
        self,
        ask: Callable[[OpenedGraph], _T],
        cancel: threading.Event | None = None,
        deadline: float | None = None,
        *,
        only: int | None = None,
    ) -> dict[int, _T]:
        """The reply of each member by its place, without those that fail; remote members are asked side by side.

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


def _with_own_names(members: Sequence[OpenedGraph]) -> tuple[OpenedGraph, ...]:
    """The members, of which those that come after another of the same name are copies with a number in theirs."""
    named: dict[str, OpenedGraph] = {}
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


class Member:
    """One member of a federation by itself, with the errors and the names of blank nodes that it has there."""

    def __init__(self, graph: FederatedGraph, at: int) -> None:
        self._graph, self._at = graph, at
        self.name = graph.members[at].name
        self.chunk_size = graph.members[at].chunk_size

    @property
    def may_repeat_triples(self) -> bool:
        """Taken for granted: to find it out may take a query that is no part of the question."""
        return True

    @property
    def naming(self) -> Naming:
        """By which predicates it names things."""
        return naming_of(self._graph.members[self._at])

    def select(self, query: Query) -> Solutions:
        """As :meth:`KnowledgeGraph.select`."""
        if query.empty:
            return Solutions()
        (found,) = FederatedQuery(self._graph, only=self._at).of_each(query)
        return found

    def ask(self, query: Query) -> bool:
        """As :meth:`KnowledgeGraph.ask`."""
        return not query.empty and FederatedQuery(self._graph, only=self._at).ask(query)

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Member:
        """As :meth:`InTime.within`."""
        return Member(self._graph.within(usage, in_grace=in_grace, most_s=most_s), self._at)

    def source(self, named_graph: str | None) -> Source:
        """As :meth:`KnowledgeGraph.source`."""
        return self._graph.members[self._at].source(named_graph)
