"""Patterns of a query in groups, and the lookups that gather the triples which they may match."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias, cast

import pyoxigraph as ox

from kgsparql.dataclasses import dataclass, field
from kgsparql.graphs.graph import BOUND
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Node, Variable
from kgsparql.rdf.paths import Direction
from kgsparql.rdf.query import Join, Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term

TOO_MANY = "more triples than can be joined over several graphs"
BEHIND_BLANK = "what is beside blank nodes of an endpoint, which cannot be asked for"
_BOUND = 200  # terms that what meets in blank nodes is bound by; with more, it is asked for whole
MOST_EACH = 50_000
"""Triples that one query fetches."""
IN_REPLY = ".reply-"
"""Part of the names of blank nodes of endpoints, which are told apart by the reply that they are in."""

Wanted: TypeAlias = "TripleLookup | BlankLookup"
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


@dataclass(frozen=True, slots=True)
class BlankLookup:
    """The triples of patterns that meet in blank nodes: these have no name in a later query."""

    steps: tuple[PatternStep, ...]
    values: tuple[g.Values, ...]
    blank: tuple[Variable, ...]

    def query(self) -> Query:
        """Write the query; a solution has a triple of each pattern."""
        facts = [step.fact for step in self.steps]
        names = dict.fromkeys(name for fact in facts for name in _variables_of(fact))
        blank = (g.Filter(g.Apply("isBlank", (name,))) for name in self.blank)
        head = tuple((name, None) for name in names)
        select = g.Select(head, (*self.values, *facts, *blank), distinct=True, limit=MOST_EACH + 1)
        return g.select_query("behind_blank", select)


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
    replies: int = 0

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

    @property
    def is_one_fact(self) -> bool:
        """Whether it is a triple pattern of one predicate, or of any."""
        return not self.is_closure and len(self.predicates) < 2

    @property
    def fact(self) -> g.Fact:
        """The triple pattern."""
        predicate = self.predicates[0] if self.predicates else self.name or Variable("any")
        return g.Fact(self.subject, predicate, self.object)


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
    reasons: dict[str, None] = field(default_factory=dict)
    met_in_blanks: set[PatternStep] = field(default_factory=set)

    @classmethod
    def of(cls, select: g.Select, outer: PatternScope | None = None) -> PatternScope:
        """Read the patterns of a SELECT."""
        plain = frozenset(name for name, expression in select.head if expression is None)
        is_summary = not select.group_by and any(_has_aggregate(expression) for _, expression in select.head)
        shared = plain if select.limit is None and not is_summary else frozenset[Variable]()
        scope = cls(outer=outer, shared=shared, is_summary=is_summary)
        scope._read(select.group)
        return scope

    @classmethod
    def of_join(cls, join: Join) -> PatternScope:
        """Read the patterns of a join; its filters may need fewer triples."""
        scope = cls()
        for pattern in join.patterns:
            names = (Variable(pattern.subject), pattern.predicate, Variable(pattern.object))
            own = names[1] if isinstance(names[1], IRI) else Variable(names[1])
            scope._read((g.Fact(names[0], own, names[2]),))
            for name in pattern.variables & join.values.keys() - join.skipped:
                scope._narrow(Variable(name), join.values[name])
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
    def groups(self) -> Iterator[PatternScope]:
        """Yield the group and those in it."""
        yield self
        for inner in (*(one for arms in self.unions for one in arms), *self.later):
            yield from inner.groups

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

    def run(self, gathered: GatheredTriples) -> Generator[Sequence[Wanted], None, None]:
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
                is_whole = yield from (
                    self._follow(step, gathered) if step.is_closure else self._find(step, todo, gathered)
                )
                if not is_whole and step not in again:
                    again.append(step)
                    todo.append(step)  # others may narrow it
                else:
                    self.reasons |= {} if is_whole else {TOO_MANY: None}
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
        predicates, ends = self._predicates_of(step), (self.terms_of(step.subject), self.terms_of(step.object))
        if step.is_closure and ends == (None, None):
            return BOUND + 2  # last: it needs everything, if nothing else binds an end
        if predicates and all(gathered.is_whole(TripleLookup(predicate)) for predicate in predicates):
            return 0
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

    def _look_behind(
        self, step: PatternStep, todo: Sequence[PatternStep], gathered: GatheredTriples
    ) -> Generator[Sequence[Wanted], None, None]:
        """Look up patterns that meet in blank nodes of endpoints together, as far as these lead."""
        some = [step] if step.is_one_fact and step not in self.met_in_blanks else []
        while some:
            found = [(one, quad) for one in some for lookup in scans_of(one) for quad in gathered.quads(lookup)]
            ends = (
                ((one.subject, quad.subject) for one, quad in found),
                ((one.object, quad.object) for one, quad in found),
            )
            blank = {name for name, term in chain(*ends) if isinstance(name, Variable) and is_nameless(term)}
            more = [one for one in todo if one not in some and one.is_one_fact and blank & {one.subject, one.object}]
            if not more:
                break
            some += more
            self.met_in_blanks.update(some)
            inner = blank & {node for one in more for node in (one.subject, one.object)}
            names = (name for one in some for name in _variables_of(one.fact))
            bound = {name: terms for name in names if (terms := self.terms_of(name)) is not None}
            named = {name: [t for t in terms if isinstance(t, IRI | Literal)] for name, terms in bound.items()}
            fewest = sorted((one for one in named.items() if 0 < len(one[1]) <= _BOUND), key=lambda one: len(one[1]))
            values = tuple(g.Values(name, tuple(sorted(terms, key=str))) for name, terms in fewest[:1])
            yield [BlankLookup(tuple(some), values, tuple(sorted(inner)))]

    def _find(
        self, step: PatternStep, todo: Sequence[PatternStep], gathered: GatheredTriples
    ) -> Generator[Sequence[Wanted], None, bool]:
        """Narrow the variables of a pattern to what is found; return whether that is all there is."""
        near, far, asked = self.terms_of(step.subject), self.terms_of(step.object), self.lookups(step)
        for terms in (near, far):
            self._note_blanks(step, terms or (), gathered)
        yield asked
        yield from self._look_behind(step, todo, gathered)
        if not all(map(gathered.is_whole, asked)):
            return False
        quads = (quad for one in asked for quad in gathered.quads(one))
        found = [q for q in quads if (near is None or q.subject in near) and (far is None or q.object in far)]
        self._narrow(step.subject, {quad.subject for quad in found})
        self._narrow(step.object, {quad.object for quad in found})
        self._narrow(step.name, {quad.predicate for quad in found})
        return True

    def _follow(self, step: PatternStep, gathered: GatheredTriples) -> Generator[Sequence[Wanted], None, bool]:
        """Narrow one end of any number of steps to what is met from the other; return whether that is all there is.

        Where both ends may be anything, no step leads from each term of the graphs to itself.
        """
        asked, is_whole = self.lookups(step), True
        asked = asked if all(one.term is not None for one in asked) else [TripleLookup(None)]
        is_bound, way = all(one.term is not None for one in asked), asked[0].way if asked else "forward"
        start, end = (step.subject, step.object) if way == "forward" else (step.object, step.subject)
        met = set(self.terms_of(start) or ())
        while asked:
            yield asked
            is_whole &= all(map(gathered.is_whole, asked))
            ends = {far for one in asked for far in gathered.ends(one)} - met
            met |= ends
            asked = self.lookups(step, ends, way) if is_bound else []
        self._note_blanks(step, met, gathered)
        if is_whole and is_bound:
            self._narrow(end, met)
        return is_whole

    def _note_blanks(self, step: PatternStep, terms: Iterable[Term], gathered: GatheredTriples) -> None:
        """Say so if blank nodes of an endpoint are met by other names than those in the triples of a pattern."""
        met = {_reply_of(term) for term in terms if is_nameless(term)}
        scans = scans_of(step)
        if met and (step in self.met_in_blanks or (step.is_closure and all(map(gathered.is_whole, scans)))):
            ends = (end for one in scans for quad in gathered.quads(one) for end in (quad.subject, quad.object))
            known = {_reply_of(end) for end in ends if is_nameless(end)}
            # What was looked up together may go on from the blank nodes of one reply only: the others end there.
            met = met - known if step.is_closure or not met & known else set()
        self.reasons |= {BEHIND_BLANK: None} if met else {}


def together(runs: Iterable[Iterator[Sequence[Wanted]]]) -> Iterator[Sequence[Wanted]]:
    """Run several at once: what each waits for is asked for with one query."""
    waiting = list(runs)
    while waiting:
        wanted = [(run, asked) for run in waiting if (asked := next(run, None)) is not None]
        if wanted:
            yield [lookup for _, asked in wanted for lookup in asked]
        waiting = [run for run, _ in wanted]


def scans_of(step: PatternStep) -> list[TripleLookup]:
    """List the lookups of all triples of the predicates of a pattern."""
    return [TripleLookup(predicate) for predicate in step.predicates or (None,)]


def _variables_of(fact: g.Fact) -> Iterator[Variable]:
    return (node for node in (fact.subject, fact.predicate, fact.object) if isinstance(node, Variable))


def is_nameless(term: Term) -> bool:
    """Tell whether a term is a blank node of an endpoint: each reply names these in its own way."""
    return isinstance(term, BlankNode) and IN_REPLY in term.value


def _reply_of(term: Term) -> tuple[str, str]:
    """Return the member and the reply that a blank node of an endpoint was named in."""
    member, _, rest = str(term).partition(IN_REPLY)
    return member, rest.partition(".")[0]


def lookups_of_constants(step: PatternStep) -> list[TripleLookup]:
    """List the lookups of a pattern from the ends that are no variables; of several steps, these are not all."""
    if step.is_closure:
        return []
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
