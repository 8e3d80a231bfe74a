"""Triples of several graphs that a query may need, gathered into a store of this process, where the query is run.

Each pattern is asked of every graph, bound by what others found (a semi-join, the most selective first). What is
gathered is more than the query needs, never less, so that counts, comparisons and absences come out as over one graph:
a triple that two graphs hold is there once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import pyoxigraph as ox

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.graphs.graph import Halving, Solutions
from kgsparql.graphs.pattern_scopes import (
    BEHIND_BLANK,
    IN_REPLY,
    MOST_EACH,
    BlankLookup,
    GatheredTriples,
    PatternScope,
    PatternStep,
    TripleLookup,
    Wanted,
    is_nameless,
    lookups_of_constants,
    scans_of,
    together,
)
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.paths import Direction
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Term

_WHOLE = 1_000
"""Triples of a predicate that are read at the first look; where there are no more, it is not asked about again."""
_MOST_TRIPLES = 300_000
"""Triples that are gathered for one question."""
_LOOKED_AT = 10  # predicates that are looked at with one query
_AT_ONCE = 10  # chunks that one query asks about, so that the usual case costs one query

Replies: TypeAlias = Mapping[int, Solutions]
"""What each member replied, by its place."""


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
    hidden: list[ox.Quad] = field(default_factory=list)
    together: set[ox.Quad] = field(default_factory=set)
    _halving: Halving = field(default_factory=Halving)

    def gather(self, scopes: Sequence[PatternScope]) -> int | None:
        """Gather what groups of patterns need; return instead the only member that has any of it, if it has much."""
        steps = [step for scope in scopes for one in scope.groups for step in one.steps]
        self._look_at([TripleLookup(predicate) for step in steps for predicate in step.predicates])
        large = [
            step
            for step in steps
            if not all(map(self.gathered.is_whole, map(TripleLookup, step.predicates or (None,))))
        ]
        if large:
            self._look_at([lookup for step in large for lookup in lookups_of_constants(step)])
            found = [self._holders(scope) for scope in scopes]
            holders = frozenset[int]().union(*(places for places in found if places is not None))
            if len(holders) == 1:
                return min(holders)
        self.fill(scopes)
        return None

    def fill(self, scopes: Sequence[PatternScope]) -> None:
        """Gather what groups of patterns need, from the terms that they begin at."""
        for wanted in together([scope.run(self.gathered) for scope in scopes]):
            self._fetch(wanted)
        reasons = dict.fromkeys(why for scope in scopes for one in scope.groups for why in one.reasons)
        self.lacking += [Solutions(cut=why) for why in reasons]

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
        looked_at = [lookup for lookup in lookups_of_constants(step) if lookup in self.gathered.seen]
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

    def _fetch(self, lookups: Iterable[Wanted]) -> None:
        """Make the lookups that were not made yet, chunk by chunk, several chunks with one query."""
        gathered = self.gathered
        kinds: dict[tuple[bool, bool, Direction], list[TripleLookup]] = {}
        for lookup in dict.fromkeys(lookups):
            if isinstance(lookup, BlankLookup):
                self._fetch_behind(lookup)
                continue
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
                self._ask_for(chunks[at : at + _AT_ONCE], limit=MOST_EACH)

    def _ask_for(self, chunks: Sequence[Sequence[TripleLookup]], *, limit: int) -> None:
        """Ask for chunks with one query; where a result is cut, for each by itself, and then for its halves."""
        if not chunks:
            return
        queries = [chunk[0].query(chunk[1:], limit=limit) for chunk in chunks]
        self.gathered.replies += 1
        replies = self.ask(
            Query.union(queries) if len(queries) > 1 else queries[0], f"{IN_REPLY}{self.gathered.replies}."
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
        is_whole = not reply.cut and found.total() < limit
        nameless = [quad for quad in quads if is_nameless(quad.subject) or is_nameless(quad.object)]
        if nameless and is_whole:
            self._remove_older(found, f"m{place}{IN_REPLY}")
        self.gathered.store.extend(quads if is_whole else set(quads).difference(nameless))
        for lookup in found if is_whole else chunk:
            self.gathered.seen[lookup][place] = is_whole

    def _remove_older(self, lookups: Iterable[TripleLookup], of_member: str) -> None:
        """Remove triples whose blank nodes other replies of a member named: with this reply they would count twice."""
        own = f"{of_member}{self.gathered.replies}."
        older = {
            quad
            for lookup in lookups
            for quad in self.gathered.quads(lookup)
            for term in (quad.subject, quad.object)
            if isinstance(term, BlankNode) and term.value.startswith(of_member) and not term.value.startswith(own)
        }
        for quad in older:
            self.gathered.store.remove(quad)
        if not older.isdisjoint(self.together):
            self.lacking.append(Solutions(cut=BEHIND_BLANK))

    def _take_beside(self, lookup: TripleLookup) -> None:
        """Keep the triples of a blank node of a graph in this process."""
        triples = self.beside(lookup)
        self.gathered.seen[lookup] = {}
        self.gathered.store.extend(ox.Quad(one.subject, one.predicate, one.object) for one in triples or ())

    def _fetch_behind(self, lookup: BlankLookup) -> None:
        """Keep the triples of patterns that meet in blank nodes, in place of those that were fetched one by one."""
        store = self.gathered.store
        old = [
            quad
            for step in lookup.steps
            for one in scans_of(step)
            for quad in self.gathered.quads(one)
            if (step.subject in lookup.blank and is_nameless(quad.subject))
            or (step.object in lookup.blank and is_nameless(quad.object))
        ]
        self.hidden += [quad for quad in old if quad not in self.together]
        for quad in old:
            store.remove(quad)
        self.gathered.replies += 1
        for reply in self.ask(lookup.query(), f"{IN_REPLY}{self.gathered.replies}.").values():
            for solution in reply:
                for step in lookup.steps:
                    nodes = (step.fact.subject, step.fact.predicate, step.fact.object)
                    subject, predicate, far = (solution.get(n.name) if isinstance(n, Variable) else n for n in nodes)
                    if isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and far is not None:
                        quad = ox.Quad(subject, predicate, far)
                        store.add(quad)
                        if is_nameless(subject) or is_nameless(far):
                            self.together.add(quad)
            if not reply.complete:
                self.lacking.append(replace(reply, solutions=()))

    def leave(self) -> None:
        """Leave what was gathered as the next query may need it: no blank node of an endpoint twice."""
        for quad in self.together:
            self.gathered.store.remove(quad)
        self.gathered.store.extend(self.hidden)
