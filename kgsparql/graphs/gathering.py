"""Triples of several graphs that a query may need, gathered into a store of this process, where the query is run.

Each pattern is asked of every graph, bound by what others found (a semi-join, the most selective first). What is
gathered is more than the query needs, never less, so that counts, comparisons and absences come out as over one graph:
a triple that two graphs hold is there once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

import pyoxigraph as ox

from kgsparql.graphs.graph import BOUND, Halving, Solutions
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Node, Variable
from kgsparql.rdf.paths import Direction
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term

_WHOLE = 1_000
"""Triples of a predicate that are read at the first look; where there are no more, it is not asked about again."""
_MOST_TRIPLES = 300_000
"""Triples that are gathered for one question."""
_MOST_EACH = 50_000
"""Triples that one query fetches."""
_LOOKED_AT = 10  # predicates that are looked at with one query
_AT_ONCE = 10  # chunks that one query asks about, so that the usual case costs one query
_IN_REPLY = ".reply-"
"""Part of the names of blank nodes of endpoints, which are told apart by the reply that they are in."""
_CUT = "more triples than can be joined over several graphs"

Replies: TypeAlias = Mapping[int, Solutions]
"""What each member replied, by its place."""
_Terms: TypeAlias = frozenset[Term]


@dataclass(frozen=True, slots=True)
class TripleLookup:
    """The triples of a predicate; or of a term, as subject or, where ``way`` is inverse, as object.

    :param predicate: ``None`` for any. :param term: ``None`` for any.
    """

    predicate: IRI | None
    term: Term | None = None
    way: Direction = "forward"

    def query(self, others: Iterable[TripleLookup] = (), *, limit: int = BOUND + 1) -> Query:
        """Write the query of this lookup and others of its kind."""
        some = [self, *others]
        if self == TripleLookup(None):
            names = (Variable("subject"), Variable("predicate"), Variable("object"))
            every = g.Select(tuple((name, None) for name in names), (g.Fact(*names),), distinct=True, limit=limit)
            return g.select_query("triples", every)
        if self.term is None:
            query = Query.load("predicate_triples").bind(predicate=[cast("IRI", one.predicate) for one in some])
        elif self.predicate is None:
            query = Query.load(f"neighbours_{self.way}").bind(entity=[cast("Term", one.term) for one in some])
        else:
            rows = [(cast("Term", one.term), cast("IRI", one.predicate)) for one in some]
            query = Query.load(f"group_{self.way}").bind_rows(("entity", "predicate"), rows)
        return query.limit(limit)

    @property
    def kind(self) -> tuple[bool, bool, Direction]:
        """What one query can ask for together."""
        return self.predicate is None, self.term is None, self.way


@dataclass(slots=True)
class GatheredTriples:
    """What was gathered for the queries of one question.

    :param seen: lookups that were made → the members that hold any of it, and whether that is all here.
    :param full: lookups that were not only looked at.
    :param likely: lookups of predicates that were met, which are looked at beside others, to save queries.
    """

    store: ox.Store = field(default_factory=ox.Store)
    seen: dict[TripleLookup, dict[int, bool]] = field(default_factory=dict)
    full: set[TripleLookup] = field(default_factory=set)
    likely: dict[TripleLookup, None] = field(default_factory=dict)

    def is_whole(self, lookup: TripleLookup) -> bool:
        """Tell whether all triples of a lookup are here."""
        term, way = lookup.term, lookup.way
        wider = (lookup, TripleLookup(lookup.predicate), TripleLookup(None, term, way), TripleLookup(None))
        return any(one in self.seen and all(self.seen[one].values()) for one in wider)

    def quads(self, lookup: TripleLookup) -> Iterator[ox.Quad]:
        """Yield the triples of a lookup that are here."""
        subject, far = (lookup.term, None) if lookup.way == "forward" else (None, lookup.term)
        if isinstance(subject, Literal):
            return iter(())
        return self.store.quads_for_pattern(subject, lookup.predicate, far)

    def ends(self, lookup: TripleLookup) -> Iterator[Term]:
        """Yield what the triples of a lookup lead to."""
        return (quad.object if lookup.way == "forward" else quad.subject for quad in self.quads(lookup))


@dataclass(frozen=True, slots=True)
class PatternStep:
    """A triple pattern of one of several predicates (of any, without); or any number of such steps one after another.

    :param name: of the variable that the predicate is.
    """

    subject: Node
    predicates: tuple[IRI, ...]
    object: Node
    name: Variable | None = None
    is_closure: bool = False


@dataclass(slots=True)
class PatternScope:
    """A group of patterns: those that every solution has, and groups that give or take its variables.

    :param unions: groups of which one has the solution; a sub-select is the only one.
    :param later: groups that a solution may lack, or must.
    :param shared: variables that are those of the group around; ``None`` for all.
    :param is_summary: it has a solution where its patterns have none, and gives no terms.
    """

    steps: list[PatternStep] = field(default_factory=list)
    unions: list[list[PatternScope]] = field(default_factory=list)
    later: list[PatternScope] = field(default_factory=list)
    domains: dict[Variable, _Terms] = field(default_factory=dict)
    outer: PatternScope | None = None
    shared: frozenset[Variable] | None = None
    is_summary: bool = False
    is_dead: bool = False
    lacks: bool = False

    @classmethod
    def of(cls, select: g.Select, outer: PatternScope | None = None) -> PatternScope:
        """Read the patterns of a SELECT."""
        plain = frozenset(name for name, expression in select.head if expression is None)
        is_summary = not select.group_by and any(_has_aggregate(expression) for _, expression in select.head)
        shared = plain if select.limit is None and not is_summary else frozenset[Variable]()
        scope = cls(outer=outer, shared=shared, is_summary=is_summary)
        scope._read(select.group)
        return scope

    def _inner(self, group: g.Group) -> PatternScope:
        scope = PatternScope(outer=self)
        scope._read(group)
        return scope

    def _read(self, group: g.Group) -> None:
        for pattern in group:
            match pattern:
                case g.Fact(subject, IRI() as predicate, far):
                    self.steps.append(PatternStep(subject, (predicate,), far))
                case g.Fact(subject, Variable() as name, far):
                    self.steps.append(PatternStep(subject, (), far, name))
                case g.OneOfPredicates(start, predicates, end, then):
                    middle = Variable(f"middle{id(pattern)}") if predicates and then else start if then else end
                    self.steps += [PatternStep(start, predicates, middle)] if predicates else []
                    self.steps += [PatternStep(middle, then, end, is_closure=True)] if then else []
                case g.Values(name, terms):
                    self._narrow(name, terms)
                case g.NotExists(inner) | g.Without(inner) | g.Optional(inner):
                    self.later.append(self._inner(inner))
                case g.Union(groups):
                    self.unions.append([self._inner(one) for one in groups])
                case g.Select():
                    self.unions.append([PatternScope.of(pattern, self)])

    @property
    def all_steps(self) -> Iterator[PatternStep]:
        """The patterns of this group and of those in it."""
        yield from self.steps
        for inner in (*(one for arms in self.unions for one in arms), *self.later):
            yield from inner.all_steps

    @property
    def is_cut(self) -> bool:
        """Whether something that it needs is not here."""
        inner = (*(one for arms in self.unions for one in arms), *self.later)
        return self.lacks or any(one.is_cut for one in inner)

    def terms_of(self, node: Node | None) -> _Terms | None:
        """Return the terms that a node may be; ``None`` if it may be anything."""
        if not isinstance(node, Variable):
            return None if node is None else frozenset((node,))
        if node in self.domains:
            return self.domains[node]
        if self.outer is not None and (self.shared is None or node in self.shared):
            return self.outer.terms_of(node)
        return None

    def _narrow(self, node: Node | None, terms: Iterable[Term]) -> None:
        if isinstance(node, Variable):
            known = self.terms_of(node)
            self.domains[node] = frozenset(terms) if known is None else known.intersection(terms)
            self.is_dead |= not self.domains[node]

    def run(self, gathered: GatheredTriples) -> Generator[Sequence[TripleLookup], None, None]:
        """Gather what it needs; yields the lookups that must be made before it goes on."""
        todo, again, unions = list(self.steps), list[PatternStep](), list(self.unions)
        while (todo or unions) and not self.is_dead:
            sizes = {step: self._size(step, gathered) for step in todo}
            step = min(todo, key=sizes.__getitem__, default=None)
            if unions and (step is None or sizes[step] > BOUND):
                arms = unions.pop(0)
                yield from together([arm.run(gathered) for arm in arms])
                self._take_arms(arms)
            elif step is not None:
                todo.remove(step)
                yield from self._look_up(step, gathered)
                is_whole = self._take(step, gathered)
                if not is_whole and step not in again:
                    again.append(step)
                    todo.append(step)  # others may narrow it
                else:
                    self.lacks |= not is_whole
        if not self.is_dead:
            yield from together([one.run(gathered) for one in self.later])

    def _take_arms(self, arms: Sequence[PatternScope]) -> None:
        """Narrow variables to what the arms of a union found; one that an arm leaves open may be anything."""
        alive = [arm for arm in arms if not arm.is_dead]
        self.is_dead |= not alive and not any(arm.is_summary for arm in arms)
        names = [set(arm.domains) if arm.shared is None else arm.domains.keys() & arm.shared for arm in alive]
        for name in set[Variable]().union(*names).intersection(*names) if names else ():
            self._narrow(name, frozenset[Term]().union(*(arm.domains[name] for arm in alive)))

    def _size(self, step: PatternStep, gathered: GatheredTriples) -> int:
        """Estimate how much a pattern costs: nothing where all is here, more than anything where it is not bound."""
        predicates = self._predicates_of(step)
        if predicates and all(gathered.is_whole(TripleLookup(predicate)) for predicate in predicates):
            return 0
        ends = (self.terms_of(step.subject), self.terms_of(step.object))
        return min((len(terms) for terms in ends if terms is not None), default=BOUND + 1)

    def _predicates_of(self, step: PatternStep) -> tuple[IRI, ...]:
        known = step.predicates or self.terms_of(step.name) or ()
        return tuple(term for term in known if isinstance(term, IRI))

    def lookups(
        self, step: PatternStep, terms: Iterable[Term] | None = None, way: Direction = "forward"
    ) -> list[TripleLookup]:
        """List the lookups of a pattern, from its end that may be fewer terms; or from some terms of one end."""
        if terms is None:
            near, far = self.terms_of(step.subject), self.terms_of(step.object)
            is_inverse = near is None or (far is not None and len(far) < len(near))
            terms, way = (far, "inverse") if is_inverse else (near, "forward")
        predicates: Sequence[IRI | None] = self._predicates_of(step) or (None,)
        if terms is None:
            return [TripleLookup(predicate) for predicate in predicates]
        some = sorted((term for term in terms if way == "inverse" or not isinstance(term, Literal)), key=str)
        return [TripleLookup(predicate, term, way) for term in some for predicate in predicates]

    def _look_up(self, step: PatternStep, gathered: GatheredTriples) -> Generator[Sequence[TripleLookup], None, None]:
        wanted = self.lookups(step)
        yield wanted
        met = {lookup.term for lookup in wanted if lookup.term is not None}
        while step.is_closure and wanted and met:
            way = wanted[0].way
            ends = {end for one in wanted for end in gathered.ends(one)} - met
            met |= ends
            wanted = self.lookups(step, ends, way)
            yield wanted

    def _take(self, step: PatternStep, gathered: GatheredTriples) -> bool:
        """Narrow the variables of a pattern to what was found; return whether that is all there is."""
        near, far = self.terms_of(step.subject), self.terms_of(step.object)
        if any(map(is_nameless, near or ())) or any(map(is_nameless, far or ())):
            return False
        if step.is_closure:
            return self._take_closure(step, gathered)
        found = [
            quad
            for one in self.lookups(step)
            for quad in gathered.quads(one)
            if (near is None or quad.subject in near) and (far is None or quad.object in far)
        ]
        if not all(map(gathered.is_whole, self.lookups(step))):
            return False
        self._narrow(step.subject, {quad.subject for quad in found})
        self._narrow(step.object, {quad.object for quad in found})
        self._narrow(step.name, {quad.predicate for quad in found})
        return True

    def _take_closure(self, step: PatternStep, gathered: GatheredTriples) -> bool:
        asked = self.lookups(step)
        is_whole = True
        if asked and asked[0].term is None:
            return all(map(gathered.is_whole, asked))
        way = asked[0].way if asked else "forward"
        start, end = (step.subject, step.object) if way == "forward" else (step.object, step.subject)
        met = set(self.terms_of(start) or ())
        while asked:
            is_whole &= all(map(gathered.is_whole, asked))
            ends = {far for one in asked for far in gathered.ends(one)} - met
            met |= ends
            asked = self.lookups(step, ends, way)
        if is_whole:
            self._narrow(end, met)
        return is_whole


@dataclass(slots=True)
class TripleGatherer:
    """Gathers what one query needs.

    :param ask: asks every member; the names of blank nodes in the replies of endpoints begin so.
    :param beside: returns the triples of a blank node, which cannot be asked for by name; ``None`` where it cannot.
    :param places: of the members.
    :param chunk_size: how many terms one ``VALUES`` block may hold.
    :param is_remote: a member is, which is not asked for all its triples.
    :ivar lacking: replies that lack something, without solutions.
    """

    gathered: GatheredTriples
    ask: Callable[[Query, str], Replies]
    beside: Callable[[TripleLookup], Iterable[ox.Triple] | None]
    places: frozenset[int]
    chunk_size: int
    is_remote: bool
    lacking: list[Solutions] = field(default_factory=list)
    _halving: Halving = field(default_factory=Halving)

    def gather(self, scopes: Sequence[PatternScope]) -> int | None:
        """Gather what groups of patterns need; return instead the only member that has any of it, if it has much."""
        steps = [step for scope in scopes for step in scope.all_steps]
        self._look_at([TripleLookup(predicate) for step in steps for predicate in step.predicates])
        large = [
            step
            for step in steps
            if not all(map(self.gathered.is_whole, map(TripleLookup, step.predicates or (None,))))
        ]
        if large:
            self._look_at([lookup for step in large for lookup in _lookups_of_constants(step)])
            found = [self._holders(scope) for scope in scopes]
            holders = frozenset[int]().union(*(places for places in found if places is not None))
            if len(holders) == 1:
                return min(holders)
        for wanted in together([scope.run(self.gathered) for scope in scopes]):
            self._fetch(wanted)
        if any(scope.is_cut for scope in scopes):
            self.lacking.append(Solutions(cut=_CUT))
        return None

    def _holders(self, scope: PatternScope) -> frozenset[int] | None:
        """Return the members that hold triples of a group; ``None`` where it has no solution."""
        held = []
        for step in scope.steps:
            places = self._holders_of_step(step)
            if not places and not step.is_closure:
                return None
            held.append(places)
        for arms in scope.unions:
            parts = [self._holders(arm) for arm in arms]
            if all(part is None for part in parts) and not any(arm.is_summary for arm in arms):
                return None
            held += [part for part in parts if part is not None]
        held += [part for one in scope.later if (part := self._holders(one)) is not None]
        return frozenset[int]().union(*held)

    def _holders_of_step(self, step: PatternStep) -> frozenset[int]:
        looked_at = [lookup for lookup in _lookups_of_constants(step) if lookup in self.gathered.seen]
        held = frozenset[int]()
        for predicate in step.predicates:
            places = frozenset(self.gathered.seen[TripleLookup(predicate)])
            for lookup in looked_at:
                places &= self.places if lookup.predicate != predicate else self.gathered.seen[lookup].keys()
            held |= places
        if step.predicates:
            return held
        return frozenset(self.gathered.seen[looked_at[0]]) if looked_at else self.places

    def _look_at(self, lookups: Sequence[TripleLookup]) -> None:
        """Read the first triples of lookups that were not made yet: these may be all."""
        new = [one for one in dict.fromkeys(lookups) if one not in self.gathered.seen]
        if new:
            likely = [one for one in self.gathered.likely if one not in self.gathered.seen and one not in new]
            new += likely[: -len(new) % _LOOKED_AT]
        for at in range(0, len(new), _LOOKED_AT):
            self._ask_for([[one] for one in new[at : at + _LOOKED_AT]], limit=_WHOLE + 1)

    def _fetch(self, lookups: Iterable[TripleLookup]) -> None:
        """Make the lookups that were not made yet, chunk by chunk, several chunks with one query."""
        gathered = self.gathered
        kinds: dict[tuple[bool, bool, Direction], list[TripleLookup]] = {}
        for lookup in dict.fromkeys(lookups):
            if (
                lookup in gathered.full
                or gathered.is_whole(lookup)
                or (lookup == TripleLookup(None) and self.is_remote)
            ):
                continue
            gathered.full.add(lookup)
            if isinstance(lookup.term, BlankNode):
                self._take_beside(lookup)
            else:
                kinds.setdefault(lookup.kind, []).append(lookup)
        chunks = [
            some[at : at + size]
            for (_, is_scan, _), some in kinds.items()
            for size in (1 if is_scan else self.chunk_size,)
            for at in range(0, len(some), size)
        ]
        for at in range(0, len(chunks), _AT_ONCE):
            if len(gathered.store) < _MOST_TRIPLES:
                self._ask_for(chunks[at : at + _AT_ONCE], limit=_MOST_EACH)

    def _ask_for(self, chunks: Sequence[Sequence[TripleLookup]], *, limit: int) -> None:
        """Ask for chunks with one query; where a result is cut, for each by itself, and then for its halves."""
        if not chunks:
            return
        queries = [chunk[0].query(chunk[1:], limit=limit) for chunk in chunks]
        replies = self.ask(
            Query.union(queries) if len(queries) > 1 else queries[0], f"{_IN_REPLY}{len(self.gathered.seen)}."
        )
        are_cut = [reply for reply in replies.values() if reply.cut]
        is_single = len(chunks) == 1 and len(chunks[0]) == 1
        if are_cut and not is_single and not self._halving.should_give_up(are_cut[0]):
            half = len(chunks[0]) // 2
            for part in chunks if len(chunks) > 1 else (chunks[0][:half], chunks[0][half:]):
                self._ask_for([part], limit=limit)
            return
        for chunk in chunks:
            for lookup in chunk:
                self.gathered.seen[lookup] = {}
            for place, reply in replies.items():
                self._take_reply(chunk, place, reply, limit)
        self.lacking += [replace(reply, solutions=(), cut="") for reply in replies.values() if not reply.complete]

    def _take_reply(self, chunk: Sequence[TripleLookup], place: int, reply: Solutions, limit: int) -> None:
        """Keep the triples of a reply that are of some lookups."""
        is_inverse, of_term = chunk[0].way == "inverse", chunk[0].term is not None
        wanted: dict[tuple[Term | None, Term | None], TripleLookup] = {(one.predicate, one.term): one for one in chunk}
        found: Counter[TripleLookup] = Counter()
        quads = []
        for solution in reply:
            subject, far = (solution.get(name, solution.get("entity")) for name in ("subject", "object"))
            predicate = solution["predicate"]
            if of_term == ("entity" not in solution) or not (is_inverse or "object" in solution):
                continue
            near = None if not of_term else far if is_inverse else subject
            lookup = wanted.get((predicate, near)) or wanted.get((None, near))
            if lookup is not None and isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and far:
                found[lookup] += 1
                quads.append(ox.Quad(subject, predicate, far))
        self.gathered.store.extend(quads)
        is_whole = not reply.cut and found.total() < limit
        for lookup in found if is_whole else chunk:
            self.gathered.seen[lookup][place] = is_whole

    def _take_beside(self, lookup: TripleLookup) -> None:
        """Keep the triples of a blank node."""
        triples = self.beside(lookup)
        self.gathered.seen[lookup] = {} if triples is not None else dict.fromkeys(self.places, False)
        self.gathered.store.extend(ox.Quad(one.subject, one.predicate, one.object) for one in triples or ())


def together(runs: Iterable[Iterator[Sequence[TripleLookup]]]) -> Iterator[Sequence[TripleLookup]]:
    """Run several at once: what each waits for is asked for with one query."""
    waiting = list(runs)
    while waiting:
        wanted = [(run, asked) for run in waiting if (asked := next(run, None)) is not None]
        if wanted:
            yield [lookup for _, asked in wanted for lookup in asked]
        waiting = [run for run, _ in wanted]


def is_nameless(term: Term) -> bool:
    """Tell whether a term is a blank node of an endpoint: each reply names these in its own way."""
    return isinstance(term, BlankNode) and _IN_REPLY in term.value


def _lookups_of_constants(step: PatternStep) -> list[TripleLookup]:
    """List the lookups of a pattern from the ends that are no variables."""
    ends: tuple[tuple[Node, Direction], ...] = ((step.subject, "forward"), (step.object, "inverse"))
    fixed = [(end, way) for end, way in ends if not isinstance(end, Variable)]
    fixed = [(end, way) for end, way in fixed if way == "inverse" or isinstance(end, IRI)]
    return [TripleLookup(predicate, end, way) for end, way in fixed for predicate in step.predicates or (None,)]


def _has_aggregate(expression: g.Expression | None) -> bool:
    if isinstance(expression, g.Apply):
        return any(map(_has_aggregate, expression.arguments))
    return isinstance(expression, g.Aggregate)


def open_predicate(select: g.Select) -> Variable | None:
    """Return the predicate of a query that is one pattern, where it is open: its solutions are those of all graphs."""
    facts = [one for one in select.group if not isinstance(one, g.Values | g.Filter)]
    (first, *others) = facts or (None,)
    is_one = isinstance(first, g.Fact) and not others and not select.group_by
    return first.predicate if is_one and isinstance(first, g.Fact) and isinstance(first.predicate, Variable) else None
