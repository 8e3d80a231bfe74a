"""The triples that have some terms: few bounded queries for all of them, each answer kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

from kgsparql.graphs.graph import BOUND, Halving, Solution, Solutions
from kgsparql.rdf.paths import Direction
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term

FEW_PAIRS = 50_000
"""Pairs of terms that are looked up, at most, where both terms have too many triples."""

_AT_ONCE = 10
"""Chunks that one query asks about, so that the usual case costs one query."""

TripleTerms: TypeAlias = tuple[Term, Term, Term]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Asks for the triples that have a term as subject; or as object, where ``way`` is inverse.

    :param predicate: of the triples; ``None`` for all but those in ``skip``.
    """

    term: Term
    predicate: IRI | None
    way: Direction
    skip: frozenset[IRI] = frozenset()


@dataclass(frozen=True, slots=True)
class FoundTriples:
    """Triples, and whether these are all there are."""

    triples: Sequence[TripleTerms]
    complete: bool = True


@dataclass(slots=True)
class Lookups:
    """The lookups made so far.

    :param select: asks every graph.
    :param incomplete: the results of which there are more.
    """

    select: Callable[[Query], Solutions]
    chunk_size: int
    incomplete: list[Solutions] = field(default_factory=list)
    _known: dict[Lookup, dict[TripleTerms, None]] = field(default_factory=dict)
    _cut: set[Lookup] = field(default_factory=set)
    _halving: Halving = field(default_factory=Halving)

    def triples_of(self, lookups: Iterable[Lookup]) -> FoundTriples:
        """The triples of some lookups that were fetched."""
        wanted = list(lookups)
        triples = dict.fromkeys(triple for lookup in wanted for triple in self._known[lookup])
        return FoundTriples(tuple(triples), complete=self._cut.isdisjoint(wanted))

    def fetch(self, lookups: Iterable[Lookup]) -> None:
        """Make those lookups that were not made yet."""
        groups: dict[tuple[Direction, bool, frozenset[IRI]], list[Lookup]] = {}
        for lookup in dict.fromkeys(lookups):
            if lookup not in self._known:
                self._known[lookup] = {}
                groups.setdefault((lookup.way, lookup.predicate is None, lookup.skip), []).append(lookup)
        size = self.chunk_size
        chunks = [group[at : at + size] for group in groups.values() for at in range(0, len(group), size)]
        for at in range(0, len(chunks), _AT_ONCE):
            self._fetch_chunks(chunks[at : at + _AT_ONCE])

    def _fetch_chunks(self, chunks: Sequence[Sequence[Lookup]]) -> None:
        if len(chunks) == 1:
            self._fetch_chunk(chunks[0])
            return
        found = self.select(Query.union([_query(chunk) for chunk in chunks]))
        if self.is_whole(found):
            for chunk in chunks:
                self._take(chunk, found)
            return
        for chunk in chunks:
            self._fetch_chunk(chunk)

    def _fetch_chunk(self, chunk: Sequence[Lookup]) -> None:
        found = self.select(_query(chunk))
        is_whole, is_enough = self.is_whole(found), self._halving.should_give_up(found)
        if is_whole or is_enough or len(chunk) == 1:
            self._take(chunk, found)
            if not is_whole:
                self._cut.update(chunk)
                self.incomplete.append(found)
            return
        half = len(chunk) // 2
        self._fetch_chunk(chunk[:half])
        self._fetch_chunk(chunk[half:])

    def is_whole(self, found: Solutions) -> bool:
        """Whether asking about fewer terms would find no more; a result that lacks some for another reason is noted."""
        is_whole = not found.cut and len(found) <= BOUND
        if found.failed or (found.invalid and is_whole):
            self.incomplete.append(replace(found, cut=""))
        return is_whole

    def _take(self, chunk: Sequence[Lookup], found: Solutions) -> None:
        by_term: dict[tuple[Term, Direction], list[Lookup]] = {}
        for lookup in chunk:
            by_term.setdefault((lookup.term, lookup.way), []).append(lookup)
        for solution in found:
            way, triple = _triple(solution)
            for lookup in by_term.get((solution["entity"], way), ()):
                wanted = triple[1] not in lookup.skip if lookup.predicate is None else triple[1] == lookup.predicate
                if wanted:
                    self._known[lookup][triple] = None

    def between(self, subjects: Sequence[Term], objects: Sequence[Term]) -> FoundTriples | None:
        """The triples between two sets of terms; ``None`` where these make too many pairs."""
        if not subjects or not objects or len(subjects) * len(objects) > FEW_PAIRS:
            return None
        query, size = Query.load("between_pairs"), self.chunk_size
        triples: dict[TripleTerms, None] = {}
        complete = True
        for i in range(0, len(subjects), size):
            for j in range(0, len(objects), size):
                pairs = query.bind(subject=subjects[i : i + size], object=objects[j : j + size])
                found = self.select(pairs.limit(BOUND + 1))
                triples.update(dict.fromkeys((s["subject"], s["predicate"], s["object"]) for s in found))
                if not self.is_whole(found):
                    complete = False
                    self.incomplete.append(found)
        return FoundTriples(tuple(triples), complete)


def _query(chunk: Sequence[Lookup]) -> Query:
    way, skip = chunk[0].way, sorted(chunk[0].skip, key=str)
    if chunk[0].predicate is not None:
        pairs = [(lookup.term, cast("IRI", lookup.predicate)) for lookup in chunk]
        return Query.load(f"group_{way}").bind_rows(("entity", "predicate"), pairs).limit(BOUND + 1)
    query = Query.load(f"neighbours_{way}").bind(entity=[lookup.term for lookup in chunk])
    return (query.bind(predicate=skip) if skip else query).limit(BOUND + 1)


def _triple(solution: Solution) -> tuple[Direction, TripleTerms]:
    near, predicate = solution["entity"], solution["predicate"]
    if "object" in solution:
        return "forward", (near, predicate, solution["object"])
    return "inverse", (solution["subject"], predicate, near)
