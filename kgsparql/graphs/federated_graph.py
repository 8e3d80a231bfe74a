"""Several graphs asked as one: every query goes to each, and joins are found across them."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Self, TypeVar

from kgsparql.budget import Usage
from kgsparql.errors import (
    GRAPH_FAILED,
    EndpointTimeoutError,
    InputError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
)
from kgsparql.graphs.gathering import (
    BEHIND_BLANK,
    GatheredTriples,
    TripleGatherer,
    TripleLookup,
    is_one_open_pattern,
    join_group,
)
from kgsparql.graphs.graph import KnowledgeGraph, Solutions, Source
from kgsparql.graphs.notes import Note
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.http.transport import ThreadedCall
from kgsparql.rdf.graph_patterns import Select
from kgsparql.rdf.query import Join, Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, renamed, whole_number
from kgsparql.rdf.vocabulary import Naming

_T = TypeVar("_T")
_NODE_OF_MEMBER = re.compile(r"m(\d+)\.(.+)")
_CUT_BY_CLASSES = "classes are in the place of other solutions"
_INTEGER = IRI("http://www.w3.org/2001/XMLSchema#integer")
_MOST_FAILURES = 3
"""Queries at which a member may fail before it is not asked again; a member that cannot be reached, one."""


class FederatedGraph(KnowledgeGraph):
    """Graphs of any kind as one. Its solutions are those of the members, each once, in the order of the members.

    What is computed, and a query of a user's own, is of each triple once (:mod:`kgsparql.graphs.gathering`); counts
    that only order what is shown are added. A walk of several steps is also found where its triples are in different
    members; a blank node is only ever joined within its own.

    A member may fail: the solutions of the others are then not complete, ``failures`` says why, and the member is not
    asked again. :meth:`refreshed` forgets that.

    :param members: at least two. Members of the same name, such as an endpoint as two users see it, are numbered.
    :raises InputError: for fewer.
    """

    def __init__(self, members: Sequence[KnowledgeGraph], *, name: str | None = None) -> None:
        if len(members) < 2:
            raise InputError("a federation needs several graphs", hint="open a single graph by itself")
        self._members = _with_own_names(members)
        self.name = name or ", ".join(member.name for member in members)
        self.prefixes = {prefix: name for one in reversed(members) for prefix, name in one.prefixes.items()}
        self.stored = tuple(source for member in members for source in member.stored)
        self._only: int | None = None
        self._failed: dict[int, list[KgsparqlError]] = {}
        self._used: dict[tuple[IRI, ...], bool] = {}
        self._gathered = GatheredTriples()
        self._origin: FederatedGraph | None = None
        self._check: Callable[[], None] = lambda: None

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        """Return the same graphs for one question; failures are shared with this one."""
        members = (member.within(usage, in_grace=in_grace, most_s=most_s) for member in self._members)
        return self.changed(_members=tuple(members), _check=partial(usage.check, in_grace=in_grace))

    def shared(self) -> Self:
        """Return the same graphs for what is the same for all questions; failures are shared with this one."""
        return self.changed(_members=tuple(member.shared() for member in self._members))

    def refreshed(self) -> Self:
        """Return the same graphs, all failures forgotten, and what was gathered."""
        return self._of_members(member.refreshed() for member in self._members)

    def renewed(self, usage: Usage) -> Self:
        """Return the same graphs; others of those that say that they changed. One that fails stays as it is."""
        found = self.refreshed().ask_each(lambda member: member.renewed(usage))
        return self._of_members(found.get(at, member) for at, member in enumerate(self._members))

    def reopened(self) -> Self:
        """Return the graphs as they are now, of which nothing is remembered."""
        return self._of_members(member.reopened() for member in self._members)

    def _of_members(self, members: Iterable[KnowledgeGraph]) -> Self:
        own, gathered = tuple(members), GatheredTriples()
        if own == self._members:
            return self.changed(_failed={}, _gathered=gathered, _origin=self.origin)
        return self.changed(_failed={}, _gathered=gathered, _origin=None, _used={}, _members=own)

    @property
    def origin(self) -> FederatedGraph:
        """The graphs that this is a view of for one question."""
        return self._origin or self

    def with_own_failures(self) -> Self:
        """Return the same graphs for optional queries: what fails there does not count as failed here."""
        return self.changed(_failed={at: list(errors) for at, errors in self._failed.items()})

    @property
    def errors(self) -> dict[str, KgsparqlError]:
        """The last error of each member that failed, by its name."""
        return {self._members[at].name: errors[-1] for at, errors in sorted(self._failed.items())}

    @property
    def failures(self) -> tuple[Note, ...]:
        """A note for each member that failed."""
        causes = (error.message_about(name) for name, error in self.errors.items())
        return tuple(Note("graph_failed", f"{cause}; what it holds may be missing", cause) for cause in causes)

    @property
    def members(self) -> tuple[KnowledgeGraph, ...]:
        """The members in the order given; of a view of one, only that."""
        return self._members if self._only is None else (self._members[self._only],)

    def close(self) -> None:
        """Close the connections of all members."""
        for member in self._members:
            member.close()

    @property
    def views_of_members(self) -> tuple[KnowledgeGraph, ...]:
        """The members one by one, with the errors and the names of blank nodes that they have here."""
        if self._only is not None:
            return (self,)
        return tuple(self.changed(_only=at, name=member.name) for at, member in enumerate(self._members))

    def source(self, named_graph: str | None) -> Source:
        """Return how a view of one member cites a named graph."""
        return super().source(named_graph) if self._only is None else self._members[self._only].source(named_graph)

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
        prints = [found.get(at, member.name) for at, member in enumerate(self._members)]
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
        members = [self._members[at]] if at is not None and at < len(self._members) else self.members
        found = [member.sources_of(own) for member in members]
        known = [sources for sources in found if sources is not None]
        if not known or (None in found and not any(known)):
            return None
        return tuple(dict.fromkeys(source for sources in known for source in sources))

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        """Return the solutions of all members and of joins across them; raise the first member's error if all fail.

        :param timeout_s: for all that it takes together.
        """
        if query.empty:
            return Solutions()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        select = partial(self._select_all, deadline=deadline)
        if self._only is not None:
            return select(query)
        arms = query.arms or (query,)
        if all(arm.made_of is not None for arm in arms):
            return self._select_gathered(query, [arm.made_of for arm in arms], deadline)
        parts = [select(query)]
        walks = [arm for arm in arms if arm.join is not None and self._may_be_across(arm.join, select)]
        if walks:
            across = [arm.join for arm in walks if arm.join is not None]
            gatherer = self._gatherer(deadline)
            gatherer.fill(map(join_group, across))
            parts.append(self._gathered_graph().select(Query.union(walks) if len(walks) > 1 else walks[0]))
            # In two steps, a blank node leads nowhere but within its own member.
            is_long = any(len(join.patterns) > 2 for join in across)
            parts += [one for one in gatherer.lacking if is_long or one.cut != BEHIND_BLANK]
        joins = {join.names: join for arm in arms if (join := arm.join) is not None and join.classless}
        found = parts[0] if len(parts) == 1 else merged(parts, query.counts)
        return _without_classes(found, joins, select, self.chunk_size) if joins else found

    def _select_gathered(self, query: Query, parts: Sequence[Select], deadline: float | None) -> Solutions:
        """Return the solutions of a query over the triples of all members, each once, that it may need."""
        if all(map(is_one_open_pattern, parts)):
            return self._select_all(query, deadline=deadline)
        gatherer = self._gatherer(deadline)
        only = gatherer.gather([part.group for part in parts])
        if only is None:
            found = self._gathered_graph().select(query)
        elif _is_given_up(self._failed.get(only, ())):
            found = Solutions()
        else:
            view = self.changed(_only=only)
            found = view._select_all(query, deadline=deadline)  # noqa: SLF001 - of its own class
        together = Solutions.together([found, *gatherer.lacking], variables=found.variables, solutions=found.solutions)
        return replace(together, failed=tuple(self.errors))

    def _gatherer(self, deadline: float | None) -> TripleGatherer:
        remote = frozenset(at for at, member in enumerate(self._members) if member.is_remote)
        ask = partial(self._replies, deadline=deadline)
        return TripleGatherer(self._gathered, ask, self._beside, self.chunk_size, remote)

    def _gathered_graph(self) -> OxigraphGraph:
        return OxigraphGraph(self._gathered.store, name=self.name, fingerprint="").changed(_check=self._check)

    def _beside(self, lookup: TripleLookup) -> Iterator[Triple]:
        """Yield the triples of a blank node of a member in this process."""
        places: set[int] = set()
        own = [renamed(term, partial(_local_node, places)) for term in lookup]
        for place in places:
            if isinstance(member := self._members[place], OxigraphGraph) and len(places) == 1:
                for quad in member.quads(*own):
                    yield renamed(quad.triple, partial(_name_in_federation, place))

    def _select_all(self, query: Query, *, deadline: float | None) -> Solutions:
        """Return the solutions of all members together, blank nodes with names that no other member has."""
        replies = self._replies(query, deadline=deadline)
        if self._only is not None:
            return replies[self._only]
        return replace(merged([*replies.values()], query.counts), failed=tuple(self.errors))

    def _replies(self, query: Query, *, deadline: float | None) -> dict[int, Solutions]:
        """Return the solutions of each member, blank nodes with names that no other member has."""

        def select(member: KnowledgeGraph) -> Solutions:
            left_s = None if deadline is None else max(0.001, deadline - time.monotonic())
            return member.select(query, left_s)

        replies = self.ask_each(select, deadline)
        return {at: _renamed_solutions(found, at, self._members[at].name) for at, found in replies.items()}

    def _may_be_across(self, join: Join, select: Callable[[Query], Solutions]) -> bool:
        """Tell whether its triples may be in different members: several, of predicates that are used at all."""
        for predicates in join.one_of:
            if predicates not in self._used:
                found = select(Query.load("predicate_triples").bind(predicate=predicates).limit(1))
                if found.complete or len(found):  # else a member that failed, or cut its result, may have one
                    self._used[predicates] = len(found) > 0
            if not self._used.get(predicates, True):
                return False
        return len(join.patterns) > 1

    def ask_each(self, ask: Callable[[KnowledgeGraph], _T], deadline: float | None = None) -> dict[int, _T]:
        """Ask each member, remote ones side by side; return the replies by place, without the members that fail."""
        calls: dict[int, Callable[[], _T]] = {}
        for at, member in enumerate(self._members):
            if self._only in {None, at} and not _is_given_up(self._failed.get(at, ())):
                calls[at] = partial(ask, member)
                if member.is_remote:
                    thread = ThreadedCall(calls[at], name="kgsparql member")
                    calls[at] = partial(thread.result, lambda: math.inf)
        replies: dict[int, _T] = {}
        for at in sorted(calls, key=lambda at: self._members[at].is_remote):  # local ones while the others run
            try:
                replies[at] = calls[at]()
            except KgsparqlError as error:
                is_own_timeout = isinstance(error, EndpointTimeoutError) and time.monotonic() >= (deadline or math.inf)
                if is_own_timeout or isinstance(error, QuerySyntaxError) or not isinstance(error, GRAPH_FAILED):
                    raise
                self._failed.setdefault(at, []).append(error)
        if not replies:
            raise next(errors[-1] for at, errors in sorted(self._failed.items()) if self._only in {None, at})
        return dict(sorted(replies.items()))


def _is_given_up(errors: Sequence[KgsparqlError]) -> bool:
    """Tell whether a member is not asked again; where the query was too much for it, another may do."""
    is_heavy = bool(errors) and isinstance(errors[-1], EndpointTimeoutError | QueryError)
    return len(errors) >= (_MOST_FAILURES if is_heavy else 1)


def _with_own_names(members: Sequence[KnowledgeGraph]) -> tuple[KnowledgeGraph, ...]:
    """Give members of one name numbers: all but the first are copies with a number in their name."""
    named: dict[str, KnowledgeGraph] = {}
    given = {member.name for member in members}
    for member in members:
        numbered = (f"{member.name} ({number})" for number in count(2))
        if member.name in named:
            name = next(name for name in numbered if name not in named and name not in given)
            named[name] = member.changed(name=name)
        else:
            named[member.name] = member
    return tuple(named.values())


def _renamed_solutions(found: Solutions, place: int, name: str) -> Solutions:
    """Rename the blank nodes of solutions, and say where they are cut that it was this member."""
    solutions, own = found.solutions, partial(_name_in_federation, place)
    if any(isinstance(term, BlankNode | Triple) for solution in solutions for term in solution.values()):
        solutions = tuple({n: renamed(term, own) for n, term in s.items()} for s in solutions)
    return replace(found, solutions=solutions, cut=found.cut and f"{name}: {found.cut}")


def _name_in_federation(place: int, node: BlankNode) -> BlankNode:
    return BlankNode(f"m{place}.{node.value}")


def _local_node(places: set[int], node: BlankNode) -> BlankNode:
    """Return a blank node as its member has it, and note the place of that."""
    found = _NODE_OF_MEMBER.fullmatch(node.value)
    if found is None:
        return node
    places.add(int(found[1]))
    return BlankNode(found[2])


def local_triple(triple: Triple) -> tuple[int | None, Triple]:
    """Find the member that a triple's blank nodes are from; return its place, and the triple as that member has it.

    >>> a, p = IRI("http://e.org/a"), IRI("http://e.org/p")
    >>> at, own = local_triple(Triple(a, p, BlankNode("m1.b7")))
    >>> at, str(own.object)
    (1, '_:b7')
    """
    places: set[int] = set()
    own = renamed(triple, partial(_local_node, places))
    return (min(places) if len(places) == 1 else None), own


def _without_classes(
    found: Solutions, joins: Mapping[frozenset[str], Join], select: Callable[[Query], Solutions], chunk_size: int
) -> Solutions:
    """Return solutions without those of joins where a class of any graph stands, where none may.

    :param joins: by the variables of their solutions.
    """
    middles = [
        {s[name] for name in joins[frozenset(s)].classless} if frozenset(s) in joins else set[Term]() for s in found
    ]
    terms = sorted((term for term in set[Term]().union(*middles) if isinstance(term, IRI)), key=str)
    classes = set[Term]()
    for at in range(0, len(terms), chunk_size):
        chunk = terms[at : at + chunk_size]
        classes |= {s["entity"] for s in select(Query.load("classes").bind(entity=chunk).limit(len(chunk) + 1))}
    kept = tuple(s for s, own in zip(found, middles, strict=True) if own.isdisjoint(classes))
    is_short = len(kept) < len(found) and sum(map(bool, middles)) >= min(join.limit for join in joins.values())
    return replace(found, solutions=kept, cut=found.cut or (_CUT_BY_CLASSES if is_short else ""))


def merged(parts: Sequence[Solutions], counts: frozenset[str]) -> Solutions:
    """Merge solutions in the order of the parts, each once; add up those that count the same thing.

    >>> one = Solutions(("a", "n"), ({"a": Literal("x"), "n": Literal(2)},))
    >>> [s["n"].value for s in merged([one, one], frozenset({"n"}))], len(merged([one, one], frozenset()))
    (['4'], 1)
    """
    variables = tuple(dict.fromkeys(name for part in parts for name in part.variables))
    distinct: dict[frozenset[tuple[str, Term]], dict[str, Term]] = {}
    for solution in (solution for part in parts for solution in part):
        counted = counts.intersection(solution)
        about = frozenset((name, term) for name, term in solution.items() if name not in counted)
        # Solutions that count other variables are about something else.
        known = distinct.setdefault(about | {(name, _INTEGER) for name in counted}, {})
        for name in counted.intersection(known):
            number = whole_number(known[name]) + whole_number(solution[name])
            known[name] = Literal(str(number), datatype=_INTEGER)
        if not known:
            known.update(solution)
    solutions = tuple(distinct.values())
    variables = variables or tuple(dict.fromkeys(name for solution in solutions for name in solution))
    return Solutions.together(parts, variables=variables, solutions=solutions)
