"""Several graphs asked as one: every query goes to each, and joins are found across them."""

from __future__ import annotations

import copy
import hashlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self, TypeVar

from kgsparql.budget import Usage
from kgsparql.errors import CancelledError, InputError, KgsparqlError
from kgsparql.graphs.federation.queries import (
    FederatedQuery,
    MemberFailure,
    is_survivable,
    local_triple,
    merged,
)
from kgsparql.graphs.graph import KnowledgeGraph, Solutions, Source
from kgsparql.graphs.notes import Note
from kgsparql.http.transport import ThreadedCall
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Triple
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
        """The same graphs for one question, as :meth:`KnowledgeGraph.within`; failures are shared with this one."""
        view = copy.copy(self)
        view._members = tuple(  # noqa: SLF001 - its own
            member.within(usage, in_grace=in_grace, most_s=most_s) for member in self.members
        )
        return view

    def refreshed(self) -> Self:
        """The same graphs, all failures forgotten."""
        view = copy.copy(self)
        view._failed = {}  # noqa: SLF001 - its own
        return view

    def with_own_failures(self) -> Self:
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
        """Where a triple with a blank node is found; ``None`` if the member that it came from cannot be asked."""
        at, own = local_triple(triple)
        members = [self.members[at]] if at is not None and at < len(self.members) else self.members
        found = [member.sources_of(own) for member in members]
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
        """As :meth:`select`, with the limits of :meth:`KnowledgeGraph.select_within` for all that it takes together."""
        if query.empty:
            return Solutions()
        federated = FederatedQuery(self, _deadline(timeout_s), cancel)
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
        return FederatedQuery(self, _deadline(timeout_s), cancel).ask(query)

    def ask_each(
        self,
        ask: Callable[[KnowledgeGraph], _T],
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


def _with_own_names(members: Sequence[KnowledgeGraph]) -> tuple[KnowledgeGraph, ...]:
    """The members, of which those that come after another of the same name are copies with a number in theirs."""
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
        (found,) = FederatedQuery(self._graph, _deadline(timeout_s), cancel, self._at).of_each(query)
        return found

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """Return the answer as :meth:`ask`, with a limit of its own."""
        return not query.empty and FederatedQuery(self._graph, _deadline(timeout_s), cancel, self._at).ask(query)

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


def _deadline(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else time.monotonic() + timeout_s
