"""Triples of several graphs that a query may need, gathered into a store of this process, where the query is run.

Each triple pattern is asked of every graph, about the terms that the patterns before it led to. What is gathered is
more than the query needs, never less, so that counts, comparisons and absences come out as over one graph: a triple
that two graphs hold is there once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.graphs.graph import BOUND, Halving, Solutions
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Node, Variable
from kgsparql.rdf.query import Join, Lookup, Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term

TOO_MANY = "more triples than can be joined over several graphs"
BEHIND_BLANK = "what is beside blank nodes of an endpoint, which cannot be asked for"
# Triples of a predicate that are read at the first look; where there are no more, it is not asked about again.
_WHOLE = 1_000
# Triples that one part of a query fetches, and all for one question.
_MOST_EACH, _MOST_TRIPLES = 50_000, 300_000
_AT_ONCE = 10  # chunks that one query asks about
_TRIPLE = (Variable("subject"), Variable("predicate"), Variable("object"))


class TripleLookup(NamedTuple):
    """The triples of a pattern; ``None`` is any term."""

    subject: Term | None = None
    predicate: IRI | None = None
    object: Term | None = None


_Known: TypeAlias = "dict[Variable, frozenset[Term]]"  # the terms that variables may be, where that is known
_Waiting: TypeAlias = "Generator[Sequence[TripleLookup], None, str]"  # yields the lookups that it waits for


@dataclass(frozen=True, slots=True)
class _Step:
    """A triple pattern of one of several predicates, or of any; or any number of such steps one after another."""

    start: Node
    predicates: tuple[IRI, ...]
    end: Node
    is_closure: bool = False


@dataclass(slots=True)
class GatheredTriples:
    """What was gathered for the queries of one question.

    :param asked: lookups that were made → at most so many triples were asked for.
    :param missing: the same lookups → the members that hold any of it → why it is not all here.
    """

    store: ox.Store = field(default_factory=ox.Store)
    asked: dict[TripleLookup, int] = field(default_factory=dict)
    missing: dict[TripleLookup, dict[int, str]] = field(default_factory=dict)

    def why_not_whole(self, lookup: TripleLookup) -> str:
        """Say why some triples of a lookup are not here; nothing if all are."""
        subject, predicate, far = lookup
        wider = (
            lookup,
            TripleLookup(subject, predicate),
            TripleLookup(None, predicate, far),
            TripleLookup(None, predicate),
            TripleLookup(),
        )
        reasons = [next(filter(None, self.missing[one].values()), "") for one in wider if one in self.missing]
        return "" if "" in reasons else next(iter(reasons), TOO_MANY)


@dataclass(slots=True)
class TripleGatherer:
    """Gathers what one query needs.

    :param ask: asks every member.
    :param beside: returns the triples of a blank node of a member in this process; others cannot be asked for by name.
    :param chunk_size: how many terms one ``VALUES`` block may hold.
    :param remote: the places of the members that name blank nodes anew in each reply, and are not asked for everything.
    :ivar lacking: replies that lack something, without solutions.
    """

    gathered: GatheredTriples
    ask: Callable[[Query], Mapping[int, Solutions]]
    beside: Callable[[TripleLookup], Iterable[ox.Triple]]
    chunk_size: int
    remote: frozenset[int]
    lacking: list[Solutions] = field(default_factory=list)
    _halving: Halving = field(default_factory=Halving)

    def gather(self, groups: Sequence[g.Group]) -> int | None:
        """Gather what groups of patterns need; return instead the only member that has any of it, if it has much."""
        missing, steps = self.gathered.missing, [step for group in groups for step in _all_steps(group)]
        scans = {step: [TripleLookup(None, predicate) for predicate in step.predicates] for step in steps}
        self._fetch(chain(*scans.values()), _WHOLE + 1)
        large = {step for step, some in scans.items() if not some or self._why_not_whole(some)}
        fixed = {step: [] if step.is_closure else self._lookups_of(step, {}) for step in large}
        self._fetch((one for one in chain(*fixed.values()) if one != TripleLookup()), _WHOLE + 1)
        looked_at = [one for step in steps for one in fixed.get(step) or scans[step]]
        places = {place for one in looked_at for place in missing.get(one, ())}
        if large and len(places) == 1 and missing.keys() >= {*looked_at}:
            return places.pop()
        self.fill(groups)
        return None

    def fill(self, groups: Iterable[g.Group]) -> None:
        """Gather what groups of patterns need, from the terms that they begin at."""
        for wanted in _run_together([self._follow_group(group, {}) for group in groups]):
            self._fetch(wanted, _MOST_EACH)

    def _fetch(self, lookups: Iterable[TripleLookup], limit: int) -> None:
        """Make the lookups that were not made yet, chunk by chunk, several chunks with one query."""
        gathered, chunks = self.gathered, dict[tuple[object, ...], list[TripleLookup]]()
        for lookup in dict.fromkeys(lookups):
            is_done = gathered.asked.get(lookup, 0) >= limit or not gathered.why_not_whole(lookup)
            if is_done or (lookup == TripleLookup() and self.remote):
                continue
            subject, predicate, far = lookup
            if all(one is None or isinstance(one, IRI | Literal) for one in lookup):
                chunks.setdefault((subject is None, predicate, far is None), []).append(lookup)
            else:
                gathered.store.extend(ox.Quad(*triple) for triple in self.beside(lookup))
                gathered.missing[lookup] = {}
        size = self.chunk_size
        parts = [some[at : at + size] for some in chunks.values() for at in range(0, len(some), size)]
        for at in range(0, len(parts), _AT_ONCE):
            if len(gathered.store) < _MOST_TRIPLES:
                self._ask_for(parts[at : at + _AT_ONCE], limit)

    def _ask_for(self, chunks: Sequence[Sequence[TripleLookup]], limit: int) -> None:
        """Ask for chunks with one query; where a result is cut, for each by itself, and then for its halves."""
        arms = [[_terms_at(place, chunk) for place in range(3)] for chunk in chunks]
        queries = [_query_of(arm, limit) for arm in arms]
        replies = self.ask(Query.union(queries) if len(queries) > 1 else queries[0])
        are_cut = [reply for reply in replies.values() if reply.cut]
        half = len(chunks[0]) // 2
        if are_cut and (half or len(chunks) > 1) and not self._halving.should_give_up(are_cut[0]):
            for part in chunks if len(chunks) > 1 else (chunks[0][:half], chunks[0][half:]):
                self._ask_for([part], limit)
            return
        for chunk in chunks:
            self.gathered.asked.update(dict.fromkeys(chunk, limit))
            self.gathered.missing.update({lookup: {} for lookup in chunk})
        for place, reply in replies.items():
            rows = [TripleLookup(s["subject"], s["predicate"], s["object"]) for s in reply if len(s) == len(_TRIPLE)]  # type: ignore[arg-type]
            for chunk, arm in zip(chunks, arms, strict=True):
                own = [
                    row for row in rows if all(some is None or one in some for one, some in zip(row, arm, strict=True))
                ]
                self._take_rows(chunk, place, own, is_cut=bool(reply.cut) or len(own) >= limit)
        self.lacking += [replace(reply, solutions=(), cut="") for reply in replies.values() if not reply.complete]

    def _take_rows(
        self, chunk: Sequence[TripleLookup], place: int, rows: Sequence[TripleLookup], *, is_cut: bool
    ) -> None:
        """Keep what a member replied; a blank node of an endpoint is named anew in each reply: it would count twice."""
        missing = self.gathered.missing
        for row in rows:
            lookup = TripleLookup(*(None if one is None else term for one, term in zip(chunk[0], row, strict=True)))  # type: ignore[arg-type]
            is_nameless = place in self.remote and any(isinstance(term, BlankNode) for term in row)
            if not is_nameless:
                self.gathered.store.add(ox.Quad(*row))  # type: ignore[arg-type]
            if lookup in missing and not missing[lookup].get(place):
                missing[lookup][place] = BEHIND_BLANK if is_nameless else ""
        if is_cut:
            for lookup in chunk:
                missing[lookup][place] = TOO_MANY

    def _why_not_whole(self, lookups: Iterable[TripleLookup]) -> str:
        return next(filter(None, map(self.gathered.why_not_whole, lookups)), "")

    def _gathered_quads(self, lookups: Iterable[TripleLookup]) -> Iterator[ox.Quad]:
        return (quad for one in lookups for quad in self.gathered.store.quads_for_pattern(*one, None))  # type: ignore[arg-type]

    def _lookups_of(self, step: _Step, known: _Known) -> list[TripleLookup]:
        """List the lookups of a pattern: from its end that may be fewer terms; from both, where one is a single one."""
        start, end = _terms_of(step.start, known), _terms_of(step.end, known)
        if start is not None and end is not None and min(len(start), len(end)) != 1:
            start, end = (start, None) if len(start) <= len(end) else (None, end)
        starts = [None] if start is None else sorted((one for one in start if not isinstance(one, Literal)), key=str)
        ends = [None] if end is None else sorted(end, key=str)
        return [TripleLookup(*one) for one in product(starts, step.predicates or [None], ends)]

    def _step_cost(self, step: _Step, known: _Known) -> int:
        """Estimate how much a pattern costs: nothing where all is here, most where it is not bound."""
        lookups = self._lookups_of(step, known)
        if not self._why_not_whole(lookups):
            return 0
        if _terms_of(step.start, known) is None and _terms_of(step.end, known) is None:
            return BOUND + 1 + step.is_closure  # last: it needs everything, if nothing else binds an end
        return len(lookups) + _WHOLE * (not self.gathered.missing.keys().isdisjoint(lookups))

    def _follow_group(self, group: g.Group, outer: _Known) -> _Waiting:
        """Gather what a group needs: first what every solution has, then the groups in it."""
        known, todo, again = dict(outer), [*_steps_of(group)], set[_Step]()
        for one in group:
            if isinstance(one, g.Values):
                _narrow_node(known, one.variable, one.terms)
        while todo and frozenset() not in known.values():
            step = min(todo, key=lambda one: self._step_cost(one, known))
            todo.remove(step)
            reason = yield from (self._follow_closure if step.is_closure else self._follow_step)(step, known)
            if reason and step not in again:  # others may narrow it
                again.add(step)
                todo.append(step)
            elif reason:
                self.lacking.append(Solutions(cut=reason))
        if frozenset() not in known.values():  # else it has no solution
            yield from _run_together([self._follow_group(*one) for one in _inner_groups(group, known)])
        return ""

    def _follow_step(self, step: _Step, known: _Known) -> _Waiting:
        """Narrow the variables of a pattern to what is found; return why that is not all there is."""
        lookups = self._lookups_of(step, known)
        yield lookups
        if reason := self._why_not_whole(lookups):
            return reason
        start, end = _terms_of(step.start, known), _terms_of(step.end, known)
        quads = self._gathered_quads(lookups)
        found = [q for q in quads if (start is None or q.subject in start) and (end is None or q.object in end)]
        _narrow_node(known, step.start, (quad.subject for quad in found))
        _narrow_node(known, step.end, (quad.object for quad in found))
        return ""

    def _follow_closure(self, step: _Step, known: _Known) -> _Waiting:
        """Narrow one end of any number of steps to what is met from the other; return why that is not all there is."""
        start, end = _terms_of(step.start, known), _terms_of(step.end, known)
        if start is None and end is None:  # no step leads from each term of the graphs to itself
            yield [TripleLookup()]
            return self._why_not_whole([TripleLookup()])
        is_forward = end is None or (start is not None and len(start) <= len(end))
        met, lookups = set[Term](), list[TripleLookup]()
        new = set((start if is_forward else end) or ())
        while new:
            met |= new
            from_, to = Variable("from"), Variable("to")
            more = self._lookups_of(replace(step, start=from_, end=to), {from_ if is_forward else to: frozenset(new)})
            yield more
            lookups += more
            new = {quad.object if is_forward else quad.subject for quad in self._gathered_quads(more)} - met
        reason = self._why_not_whole(lookups)
        if not reason:
            _narrow_node(known, step.end if is_forward else step.start, met)
        return reason


def _run_together(runs: Iterable[_Waiting]) -> _Waiting:
    """Run several at once: what each waits for is asked for with one query."""
    waiting = list(runs)
    while waiting:
        wanted = [(run, lookups) for run in waiting if (lookups := next(run, None)) is not None]
        yield [one for _, lookups in wanted for one in lookups]
        waiting = [run for run, _ in wanted]
    return ""


def join_group(join: Join) -> g.Group:
    """Return the patterns of a join; its filters may need fewer triples."""
    facts: list[g.Pattern] = []
    for pattern in join.patterns:
        predicate = pattern.predicate if isinstance(pattern.predicate, IRI) else Variable(pattern.predicate)
        facts.append(g.Fact(Variable(pattern.subject), predicate, Variable(pattern.object)))
        given = pattern.variables & join.values.keys() - join.skipped
        facts += [g.Values(Variable(name), join.values[name]) for name in given]  # type: ignore[arg-type]
    return tuple(facts)


def _steps_of(group: g.Group) -> Iterator[_Step]:
    """Yield the triple patterns that every solution of a group has."""
    for pattern in group:
        match pattern:
            case g.Fact(subject, predicate, far):
                yield _Step(subject, (predicate,) if isinstance(predicate, IRI) else (), far)
            case g.OneOfPredicates(start, predicates, end, then):
                middle = Variable(f"middle{id(pattern)}") if predicates and then else start if then else end
                if predicates:
                    yield _Step(start, predicates, middle)
                if then:
                    yield _Step(middle, then, end, is_closure=True)


def _inner_groups(group: g.Group, known: _Known) -> Iterator[tuple[g.Group, _Known]]:
    """Yield the groups in a group, each with what is known of the variables that it shares."""
    for pattern in group:
        match pattern:
            case g.Union(groups):
                yield from ((one, known) for one in groups)
            case g.NotExists(inner) | g.Without(inner) | g.Optional(inner):
                yield inner, known
            case g.Select(head, inner):
                plain = {name for name, expression in head if expression is None and pattern.limit is None}
                yield inner, {name: terms for name, terms in known.items() if name in plain}


def _all_steps(group: g.Group) -> Iterator[_Step]:
    """Yield the triple patterns of a group and of those in it."""
    yield from _steps_of(group)
    for inner, _ in _inner_groups(group, {}):
        yield from _all_steps(inner)


def _terms_of(node: Node, known: _Known) -> frozenset[Term] | None:
    """Return the terms that a node may be; ``None`` if it may be anything."""
    return known.get(node) if isinstance(node, Variable) else frozenset((node,))


def _narrow_node(known: _Known, node: Node, terms: Iterable[Term]) -> None:
    if isinstance(node, Variable):
        known[node] = frozenset(terms).intersection(*[known[node]] if node in known else [])


def _terms_at(place: int, chunk: Sequence[TripleLookup]) -> frozenset[Term] | None:
    terms = frozenset(lookup[place] for lookup in chunk)
    return None if None in terms else terms  # type: ignore[return-value]


def _query_of(arm: Sequence[frozenset[Term] | None], limit: int) -> Query:
    """Ask for the triples whose places have one of some terms each, where these are given."""
    given = {name: sorted(some, key=str) for name, some in zip(_TRIPLE, arm, strict=True) if some is not None}
    values = (g.Values(name, tuple(some)) for name, some in given.items())  # type: ignore[arg-type]
    head = tuple((name, None) for name in _TRIPLE)
    query = g.select_query("gathered", g.Select(head, (*values, g.Fact(*_TRIPLE)), distinct=True, limit=limit))
    rows: dict[tuple[str, ...], list[tuple[Term]]]
    rows = {(name.name,): [(term,) for term in some] for name, some in given.items()}
    return replace(query, lookup=Lookup(("subject", "predicate", "object"), rows, limit=limit), made_of=None)


def is_one_open_pattern(select: g.Select) -> bool:
    """Tell whether a query is one pattern whose predicate is open: its solutions are those of all graphs."""
    facts = [one for one in select.group if not isinstance(one, g.Values | g.Filter)]
    first = facts[0] if len(facts) == 1 and not select.group_by else None
    return isinstance(first, g.Fact) and isinstance(first.predicate, Variable)
