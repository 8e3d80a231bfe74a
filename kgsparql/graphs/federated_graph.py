"""Several graphs asked as one: every query goes to each, and walks lead from one into another."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import Self, TypeVar, cast

import pyoxigraph as ox

from kgsparql.budget import Usage
from kgsparql.errors import GRAPH_FAILED, EndpointTimeoutError, InputError, KgsparqlError, QueryError, QuerySyntaxError
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solutions, Source, in_parts
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.http.transport import ThreadedCall
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Select, Variable
from kgsparql.rdf.paths import Hop, Step, Walk, directions
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, renamed, whole_number
from kgsparql.rdf.vocabulary import Naming

_T = TypeVar("_T")
_NODE_OF_MEMBER = re.compile(r"m(\d+)\.(.+)")
NOT_COMPUTED = "what is counted, compared or excluded is not computed over several graphs: load them into one store"
_NOT_JOINED = "facts of different graphs are not joined: load them into one store"
_TOO_MANY = "more triples than are walked over several graphs"
_MOST_WALKED = 100_000  # triples that are read for the walks of one query
_MOST_FAILURES = 3
"""Queries at which a member may fail before it is not asked again; a member that cannot be reached, one."""


class FederatedGraph(KnowledgeGraph):
    """Graphs of any kind as one. Its solutions are those of the members, each once, in the order of the members.

    A walk of several steps is also found where its triples are in different members, step by step; a blank node is
    only ever joined within its own. What is computed is asked of the member that alone has what is needed for it;
    things are counted here, and counts that only order what is shown are added.

    A member may fail: the solutions of the others are then not complete, ``failures`` says why, and the member is not
    asked again. :meth:`refreshed` forgets that.

    :param members: at least two. Members of the same name, such as an endpoint as two users see it, are numbered.
    :raises InputError: for fewer.
    """

    def __init__(self, members: Sequence[KnowledgeGraph], *, name: str | None = None) -> None:
        if len(members) < 2:
            raise InputError("a federation needs several graphs", hint="open a single graph by itself")
        named = {}
        for member in members:  # of one name: all but the first are copies with a number in their name
            called, numbers = member.name, count(2)
            while called in named:
                called = f"{member.name} ({next(numbers)})"
            named[called] = member if called == member.name else member.changed(name=called)
        self._members = tuple(named.values())
        self.name = name or ", ".join(member.name for member in members)
        self.prefixes = {prefix: name for one in reversed(members) for prefix, name in one.prefixes.items()}
        self.stored = tuple(source for member in members for source in member.stored)
        self._only: int | None = None
        self._failed: dict[int, list[KgsparqlError]] = {}
        self._held: dict[g.Group, set[int]] = {}

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        """Return the same graphs for one question; failures are shared with this one."""
        members = (member.within(usage, in_grace=in_grace, most_s=most_s) for member in self._members)
        return super().within(usage, in_grace=in_grace).changed(_members=tuple(members))

    def shared(self) -> Self:
        """Return the same graphs for what is the same for all questions; failures are shared with this one."""
        return self.changed(_members=tuple(member.shared() for member in self._members))

    def refreshed(self) -> Self:
        """Return the same graphs, all failures forgotten; others of those that changed."""
        return self._of_members(self.changed(_failed={}).ask_each(lambda member: member.refreshed()).values())

    def reopened(self) -> Self:
        """Return the graphs as they are now, of which nothing is remembered."""
        return self._of_members(member.reopened() for member in self._members)

    def _of_members(self, members: Iterable[KnowledgeGraph]) -> Self:
        own = tuple(members)
        if own == self._members:
            return self.changed(_failed={}, _held={})
        return self.changed(_failed={}, _held={}, _origin=None, _members=own)

    def with_own_failures(self) -> Self:
        """Return the same graphs for optional queries: what fails there does not count as failed here."""
        return self.changed(_failed={at: list(errors) for at, errors in self._failed.items()})

    @property
    def errors(self) -> dict[str, KgsparqlError]:
        """The last error of each member that failed, by its name."""
        return {self._members[at].name: errors[-1] for at, errors in sorted(self._failed.items())}

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
        each = ((naming.labels, naming.links, naming.pages, naming.measured) for naming in named)
        return Naming(*(tuple(dict.fromkeys(chain.from_iterable(own))) for own in zip(*each, strict=True)))

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
        """Return the solutions of all members and of walks across them; raise the first member's error if all fail.

        :param timeout_s: for all that it takes together.
        """
        if query.empty:
            return Solutions()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        if self._only is not None:
            return self._replies(query, deadline)[self._only]
        arms = query.arms or (query,)
        made_of = [arm.made_of for arm in arms if arm.made_of is not None]
        walks = {walk for arm in arms for walk in arm.walks if len(walk.path.steps) + len(walk.constraints) > 1}
        if len(made_of) == len(arms):
            found = self._select_computed(query, made_of, deadline)
        else:
            found = self._select_all(query, deadline)
            if walks:
                store, lacking = self._walked_triples(walks, deadline)
                across = OxigraphGraph(store, name=self.name, fingerprint="").changed(_check=self._check).select(query)
                found = merged([found, across, *lacking], query.counts)
        return replace(found, failed=tuple(self.errors))

    def _select_computed(self, query: Query, parts: Sequence[Select], deadline: float | None) -> Solutions:
        """Return the solutions of a query from the only member that has any of what it looks at, else what each finds.

        Things are then counted here; what else is computed, ordered or excluded is not told: over two graphs it may be
        something else.
        """
        holders = self._holders([part.group for part in parts], deadline)
        if len(holders) == 1:
            (only,) = holders
            return self.changed(_only=only)._replies(query, deadline)[only]  # noqa: SLF001 - its own
        if holders and not all(map(_only_adds, parts)):
            return self._select_counted(query, parts, deadline)
        found = self._select_all(query, deadline)
        is_joined = bool(holders) and any(self._is_joined(part.group) for part in parts)
        return replace(found, cut=found.cut or _NOT_JOINED * is_joined)

    def _select_counted(self, query: Query, parts: Sequence[Select], deadline: float | None) -> Solutions:
        """Return the solution of a query of nothing but numbers of things, counted here; of another it is none."""
        numbers, counted = [], []
        for one in parts[0].group:
            match one:
                case g.Select(((number, g.Aggregate("COUNT", Variable() as of)),), group, _, (), None) if all(
                    map(_only_adds, group)
                ):
                    things = g.Select((of,), group, distinct=True, limit=BOUND + 1)
                    found = self._select_computed(g.select_query("counted", things), [things], deadline)
                    if len(found) <= BOUND:
                        numbers.append(g.Values(number, (Literal(len(found)),)))
                        counted.append(replace(found, solutions=()))
        if len(parts) > 1 or len(numbers) < len(parts[0].group):
            return Solutions(cut=NOT_COMPUTED)
        of_numbers = g.select_query(query.name, replace(parts[0], group=tuple(numbers)))
        value = OxigraphGraph(ox.Store(), name=self.name, fingerprint="").select(of_numbers)
        return Solutions.together(counted, variables=value.variables, solutions=value.solutions)

    def _holders(self, groups: Sequence[g.Group], deadline: float | None) -> set[int]:
        """Find the members that may have a part in the solutions of groups: they match one of the patterns."""
        n, facts = Variable("n"), dict.fromkeys(chain.from_iterable(map(_all_facts, groups)))
        new = [fact for fact in facts if fact not in self._held]
        for part in in_parts(new, MAX_ARMS):
            some = {Literal(str(i)): fact for i, fact in enumerate(part)}
            self._held.update({fact: set() for fact in some.values()})
            asked = [g.Select((n,), (g.Values(n, (number,)), *fact), limit=1) for number, fact in some.items()]
            query = Query.union([g.select_query("held", one) for one in asked])
            for place, found in self._replies(query, deadline).items():
                for solution in found:
                    self._held[some[cast("Literal", solution["n"])]].add(place)
        return set().union(*map(self._holders_of, groups))

    def _holders_of(self, group: g.Group) -> set[int]:
        own = [self._held[fact] for fact in _required_facts(group)]
        return set().union(*own, *map(self._holders_of, _inner_groups(group))) if all(own) else set()

    def _is_joined(self, group: g.Group) -> bool:
        """Tell whether a solution of a group may be of more than one triple, and so of different graphs."""
        match [one for one in group if not isinstance(one, g.Values | g.Filter)]:
            case [g.Fact()]:
                return False
            case [g.Union(groups)]:
                return any(self._is_joined(one) for one in groups if self._holders_of(one))
            case [g.Select(_, inner)]:
                return self._is_joined(inner)
        return True

    def _walked_triples(self, walks: Iterable[Walk], deadline: float | None) -> tuple[ox.Store, list[Solutions]]:
        """Ask all members for each step of some walks, from what the step before led to; blank nodes lead nowhere."""
        store, lacking, hops = ox.Store(), list[Solutions](), 0
        reached: dict[Walk, set[Term]] = {walk: {walk.start} for walk in walks}
        while reached:
            wanted = {
                (node, step)
                for walk, nodes in reached.items()
                for step in (*walk.path.steps[hops : hops + 1], *(c.step for c in walk.constraints if c.at == hops))
                for node in nodes
                if isinstance(node, IRI) or step.direction == "inverse"  # a literal is no subject
            }
            ends: dict[tuple[Term, Step], set[Term]] = defaultdict(set)
            for hop in self._hops(wanted, lacking, deadline):
                ends[hop.start, hop.step].add(hop.end)
                store.add(ox.Quad(*hop.triple))
            reached = {
                walk: set().union(*(ends.get((node, walk.path.steps[hops]), ()) for node in nodes))
                for walk, nodes in reached.items()
                if hops < len(walk.path.steps)
            }
            hops += 1
            if len(store) > _MOST_WALKED and reached:
                lacking.append(Solutions(cut=_TOO_MANY))
                break
        return store, lacking

    def _hops(
        self, wanted: Iterable[tuple[Term, Step]], lacking: list[Solutions], deadline: float | None
    ) -> Iterator[Hop]:
        """Yield the hops of all members from some terms by a step each; those to a blank node are left out."""
        for way in directions("both"):
            pairs = sorted({(node, step.predicate) for node, step in wanted if step.direction == way}, key=str)
            for chunk in in_parts(pairs, self.chunk_size):
                query = Query.load(f"group_{way}").bind_rows(("entity", "predicate"), chunk).limit(BOUND + 1)
                found = self._select_all(query, deadline)
                if not found.complete or len(found) > BOUND:
                    lacking.append(replace(found, solutions=(), cut=found.cut or _TOO_MANY * (len(found) > BOUND)))
                for s in found:
                    end = s["object" if way == "forward" else "subject"]
                    if not isinstance(end, BlankNode):
                        yield Step(cast("IRI", s["predicate"]), way).hop(s["entity"], end)

    def _select_all(self, query: Query, deadline: float | None) -> Solutions:
        """Return the solutions of all members together, blank nodes with names that no other member has."""
        return merged([*self._replies(query, deadline).values()], query.counts)

    def _replies(self, query: Query, deadline: float | None) -> dict[int, Solutions]:
        """Return the solutions of each member, blank nodes with names that no other has; who cut them is said."""

        def select(member: KnowledgeGraph) -> Solutions:
            left_s = None if deadline is None else max(0.001, deadline - time.monotonic())
            return member.select(query, left_s)

        replies = self.ask_each(select, deadline)
        for at, found in replies.items():
            own, solutions = partial(_name_in_federation, at), found.solutions
            if any(isinstance(term, BlankNode | Triple) for solution in solutions for term in solution.values()):
                solutions = tuple({n: renamed(term, own) for n, term in s.items()} for s in solutions)
            cut = found.cut and f"{self._members[at].name}: {found.cut}"
            replies[at] = replace(found, solutions=solutions, cut=cut)
        return replies

    def ask_each(self, ask: Callable[[KnowledgeGraph], _T], deadline: float | None = None) -> dict[int, _T]:
        """Ask each member, remote ones side by side; return the replies by place, without the members that fail."""
        calls = {}
        for at, member in enumerate(self._members):
            errors = self._failed.get(at, [])  # where the query was too much for it, another may do
            is_heavy = bool(errors) and isinstance(errors[-1], EndpointTimeoutError | QueryError)
            if self._only in {None, at} and len(errors) < (_MOST_FAILURES if is_heavy else 1):
                calls[at] = partial(ask, member)
                if member.is_remote:
                    calls[at] = partial(ThreadedCall(calls[at], name="kgsparql member").result, lambda: math.inf)
        replies = {}
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


def _name_in_federation(place: int, node: BlankNode) -> BlankNode:
    return BlankNode(f"m{place}.{node.value}")


def local_triple(triple: Triple) -> tuple[int | None, Triple]:
    """Find the member that a triple's blank nodes are from; return its place, and the triple as that member has it.

    >>> a, p = IRI("http://e.org/a"), IRI("http://e.org/p")
    >>> at, own = local_triple(Triple(a, p, BlankNode("m1.b7")))
    >>> at, str(own.object)
    (1, '_:b7')
    """
    places = set()

    def local(node: BlankNode) -> BlankNode:
        if found := _NODE_OF_MEMBER.fullmatch(node.value):
            places.add(int(found[1]))
        return BlankNode(found[2]) if found else node

    own = renamed(triple, local)
    return (min(places) if len(places) == 1 else None), own


def _required_facts(group: g.Group) -> Iterator[g.Group]:
    """Yield the patterns that every solution of a group has, each with the terms that its variables may be."""
    for one in group:
        if isinstance(one, g.Fact | g.OneOfPredicates):
            nodes = (one.subject, one.predicate, one.object) if isinstance(one, g.Fact) else (one.start, one.end)
            known = (other for other in group if isinstance(other, g.Values) and other.variable in nodes)
            # Any number of steps is one at least: none leads from each term to itself.
            yield (*known, one if isinstance(one, g.Fact) or one.predicates else replace(one, predicates=one.then))


def _inner_groups(group: g.Group) -> Iterator[g.Group]:
    for one in group:
        match one:
            case g.Union(groups):
                yield from groups
            case g.NotExists(inner) | g.Without(inner) | g.Optional(inner) | g.Select(_, inner):
                yield inner
            case g.OneOfPredicates(_, predicates, end, then) if predicates and then:
                yield (g.OneOfPredicates(Variable("middle"), then, end),)


def _all_facts(group: g.Group) -> Iterator[g.Group]:
    yield from chain(_required_facts(group), *map(_all_facts, _inner_groups(group)))


def _only_adds(part: g.Select | g.Pattern) -> bool:
    """Tell whether what one more graph says can only add solutions."""
    match part:
        case g.Select(_, group):
            is_plain = all(of is None or isinstance(of, Literal) for _, of in part.columns)
            return is_plain and not (part.group_by or part.having or part.order) and all(map(_only_adds, group))
        case g.Union(groups):
            return all(_only_adds(one) for group in groups for one in group)
    return not isinstance(part, g.NotExists | g.Without | g.Optional)


def merged(parts: Sequence[Solutions], counts: frozenset[str]) -> Solutions:
    """Merge solutions in the order of the parts, each once; add up those that count the same thing.

    >>> one = Solutions(("a", "n"), ({"a": Literal("x"), "n": Literal(2)},))
    >>> [s["n"].value for s in merged([one, one], frozenset({"n"}))], len(merged([one, one], frozenset()))
    (['4'], 1)
    """
    variables = tuple(dict.fromkeys(name for part in parts for name in part.variables))
    distinct: dict[object, dict[str, Term]] = {}
    for solution in (solution for part in parts for solution in part):
        counted = counts.intersection(solution)
        about = frozenset((name, term) for name, term in solution.items() if name not in counted)
        # Solutions that count other variables are about something else.
        known = distinct.setdefault((about, counted), {})
        for name in counted.intersection(known):
            number = whole_number(known[name]) + whole_number(solution[name])
            known[name] = Literal(number)
        if not known:
            known.update(solution)
    solutions = tuple(distinct.values())
    variables = variables or tuple(dict.fromkeys(name for solution in solutions for name in solution))
    return Solutions.together(parts, variables=variables, solutions=solutions)
