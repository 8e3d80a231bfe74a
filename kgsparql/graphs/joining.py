"""Solutions of several graphs put together: merged, or joined pattern by pattern, each looked up in every graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias, cast

from kgsparql.graphs.graph import BOUND, Halving, Solution, Solutions
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Direction
from kgsparql.rdf.query import Join, Query, TriplePattern
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, whole_number

MAX_ROWS = 100_000
"""Rows that are kept after a pattern; more are a cut."""

_INTEGER = IRI("http://www.w3.org/2001/XMLSchema#integer")

_Key: TypeAlias = frozenset[tuple[str, Term]]
Row: TypeAlias = dict[str, Term]
State: TypeAlias = tuple[list[Row], tuple[TriplePattern, ...]]


def joined(
    joins: Sequence[Join], select: Callable[[Query], Solutions], chunk_size: int
) -> tuple[list[Solution], list[Solutions], bool]:
    """Join triples of several graphs, with one query for the next pattern of all joins.

    A term is looked up in every graph, so that the triples of one solution may be in different graphs. A blank node
    has no name in a later query: what lies behind it is asked for together with the way to it, within one graph.

    :param select: asks every graph.
    :return: the solutions, the results of lookups of which there are more, and whether these are all solutions.
    """
    lookups = Lookups(select, chunk_size)
    searches = [_Search(join, lookups) for join in joins]
    running = [search.run() for search in searches]
    while running:
        waiting = [(search, wanted) for search in running if (wanted := next(search, None)) is not None]
        lookups.fetch(lookup for _, wanted in waiting for lookup in wanted)
        running = [search for search, _ in waiting]
    solutions = [solution for search in searches for solution in search.solutions]
    return solutions, lookups.incomplete, all(search.complete for search in searches)


@dataclass(slots=True)
class _Search:
    """A join on its way. A row has the terms of some variables; patterns are joined with the rows one by one."""

    join: Join
    lookups: Lookups
    complete: bool = True
    _found: dict[tuple[Term, ...], Solution] = field(default_factory=dict)

    @property
    def solutions(self) -> list[Solution]:
        """The solutions found, at most as many as the join's limit."""
        return list(self._found.values())[: self.join.limit]

    def run(self) -> Iterator[Sequence[Lookup]]:
        """Find all solutions; yields the lookups that must be made before it goes on."""
        states: list[State] = [([{}], self.join.patterns)]
        while states:
            rows, todo = states.pop()
            while rows and todo:
                pattern, found = todo[0], None
                for candidate, wanted in self._next_patterns(rows, todo):
                    yield wanted
                    triples = self.lookups.triples_of(wanted)
                    if found is None or triples.complete:
                        pattern, found = candidate, triples
                    if triples.complete:
                        break
                if found is None:
                    break  # nothing that is known has a name
                if not found.complete:
                    found = self._triples_between(rows, pattern) or found
                self.complete = self.complete and found.complete
                rest = tuple(other for other in todo if other is not pattern)
                grown = self._grown_rows(rows, pattern, found)
                states += self._states_behind_blanks(rows, grown, pattern, rest)
                rows, todo = self._needed_rows(grown, rest), rest
            if not todo:
                self._take_rows(rows)

    def _next_patterns(
        self, rows: Sequence[Row], todo: Sequence[TriplePattern]
    ) -> list[tuple[TriplePattern, Sequence[Lookup]]]:
        """Return the patterns that may be joined next, each with its lookups from one end; the fewest lookups first."""
        bound = set(rows[0])
        candidates: list[tuple[int, int, TriplePattern, Sequence[Lookup]]] = []
        for at, pattern in enumerate(todo):
            if bound and not pattern.variables & bound:
                continue
            ends: tuple[tuple[str, Direction], ...] = ((pattern.subject, "forward"), (pattern.object, "inverse"))
            for name, way in ends:
                terms = self._terms_of(name, rows)
                if terms is not None:
                    wanted = self._lookups_from(pattern, terms, way)
                    candidates.append((len(wanted), at, pattern, wanted))
        return [(pattern, wanted) for _, _, pattern, wanted in sorted(candidates, key=lambda one: one[:2])]

    def _terms_of(self, name: str, rows: Sequence[Row]) -> list[Term] | None:
        """Return the IRIs and literals that a variable may be; ``None`` if it may be anything."""
        if name in rows[0]:
            known = dict.fromkeys(row[name] for row in rows)
        elif name in self.join.values:
            known = dict.fromkeys(self.join.values[name])
        else:
            return None
        return [term for term in known if isinstance(term, IRI | Literal)]

    def _lookups_from(self, pattern: TriplePattern, terms: Sequence[Term], way: Direction) -> list[Lookup]:
        values, predicate = self.join.values, pattern.predicate
        near = [term for term in terms if way == "inverse" or isinstance(term, IRI)]
        if isinstance(predicate, IRI):
            return [Lookup(term, predicate, way) for term in near]
        some = [p for p in values.get(predicate, ()) if isinstance(p, IRI)]
        if some and predicate not in self.join.skipped:
            return [Lookup(term, p, way) for term in near for p in some]
        return [Lookup(term, None, way, frozenset(some)) for term in near]

    def _triples_between(self, rows: Sequence[Row], pattern: TriplePattern) -> FoundTriples | None:
        """Return the triples of a pattern whose two ends are both known, where one end alone has too many triples."""
        subjects, objects = self._terms_of(pattern.subject, rows), self._terms_of(pattern.object, rows)
        if subjects is None or objects is None:
            return None
        return self.lookups.between([term for term in subjects if isinstance(term, IRI)], objects)

    def _grown_rows(self, rows: Sequence[Row], pattern: TriplePattern, found: FoundTriples) -> list[Row]:
        places = (pattern.subject, pattern.predicate, pattern.object)
        bindings = [
            {name: term for name, term in zip(places, triple, strict=True) if isinstance(name, str)}
            for triple in found.triples
            if all(self._may_be(name, term) for name, term in zip(places, triple, strict=True))
        ]
        return self._joined_rows(rows, bindings)

    def _joined_rows(self, rows: Sequence[Row], found: Sequence[Mapping[str, Term]]) -> list[Row]:
        """Return the rows joined with bindings of a pattern's variables, on the variables that they share."""
        if not found:
            return []
        shared = [name for name in found[0] if name in rows[0]]
        index: dict[tuple[Term, ...], list[Mapping[str, Term]]] = {}
        for named in found:
            index.setdefault(tuple(named[name] for name in shared), []).append(named)
        pairs = ((row, named) for row in rows for named in index.get(tuple(row[name] for name in shared), ()))
        return [row for one, other in pairs if self._is_apart(row := {**one, **other})]

    def _may_be(self, name: str | IRI, term: Term) -> bool:
        join = self.join
        if isinstance(name, IRI):
            return name == term
        if name in (join.others if isinstance(term, Literal) else join.literals):
            return False
        if name in join.ranges and not _is_in(term, join.values.get(join.ranges[name], ())):
            return False
        return name not in join.values or (term in join.values[name]) != (name in join.skipped)

    def _is_apart(self, row: Mapping[str, Term]) -> bool:
        return all(a not in row or b not in row or row[a] != row[b] for a, b in self.join.apart)

    def _needed_rows(self, rows: Sequence[Row], rest: Sequence[TriplePattern]) -> list[Row]:
        """Cut rows to what is still needed, each once; drop those with a blank node that would have to be looked up."""
        ahead = frozenset[str]().union(*(pattern.variables for pattern in rest))
        needed = {*ahead, *(name for name, _ in self.join.head)}
        needed.update(name for pair in self.join.apart if ahead.intersection(pair) for name in pair)
        distinct: dict[tuple[Term, ...], Row] = {}
        for row in rows:
            kept = {name: term for name, term in row.items() if name in needed}
            if not any(isinstance(kept.get(name), BlankNode) for name in ahead):
                distinct.setdefault(tuple(kept.values()), kept)
            if len(distinct) == MAX_ROWS:
                self.complete = False
                break
        return list(distinct.values())

    def _states_behind_blanks(
        self, rows: Sequence[Row], grown: Sequence[Row], pattern: TriplePattern, rest: tuple[TriplePattern, ...]
    ) -> list[State]:
        """Return the rows that go on through blank nodes that a pattern led to, and the patterns that are then left."""
        states: list[State] = []
        part: tuple[TriplePattern, ...] = (pattern,)
        blank: list[str] = []
        while rest:
            ahead = frozenset[str]().union(*(p.variables for p in rest))
            met = {name for row in grown for name in ahead & row.keys() if isinstance(row[name], BlankNode)}
            if not met:
                break
            blank.append(min(met))
            beside = tuple(p for p in rest if blank[-1] in p.variables)
            part, rest = part + beside, tuple(p for p in rest if p not in beside)
            if len(part) == len(self.join.patterns):
                break  # all within one graph
            grown = self._joined_rows(rows, self._solutions_through(rows, part, blank))
            states.append((self._needed_rows(grown, rest), rest))
        return [state for state in states if state[0]]

    def _solutions_through(
        self, rows: Sequence[Row], part: tuple[TriplePattern, ...], blank: Sequence[str]
    ) -> list[Solution]:
        """Return the solutions of some patterns in one graph, with blank nodes between them."""
        names = sorted(frozenset[str]().union(*(pattern.variables for pattern in part)))
        values = {name: tuple(terms) for name in names if (terms := self._terms_of(name, rows)) is not None}
        longest = max(values, key=lambda name: len(values[name]), default="")
        join = Join(part, tuple((name, name) for name in names))
        solutions: list[Solution] = []
        size = self.lookups.chunk_size
        for at in range(0, len(values.get(longest, ())), size):
            chunk = {**values, longest: values[longest][at : at + size]}
            part_of_join = replace(join, values=MappingProxyType(chunk))
            found = self.lookups.select(path_queries.through_blank_nodes(part_of_join, blank, limit=BOUND + 1))
            if not self.lookups.is_whole(found):
                self.complete = False
                self.lookups.incomplete.append(found)
            solutions += found
        return solutions

    def _take_rows(self, rows: Sequence[Row]) -> None:
        walk: Row = {} if self.join.number is None else {"walk": Literal(self.join.number)}
        for row in rows:
            solution = {shown: row[name] for name, shown in self.join.head} | walk
            self._found.setdefault(tuple(solution.values()), solution)


def _is_in(term: Term, ranges: Sequence[Term]) -> bool:
    """Tell whether a literal is in one of these languages or has none; true if there are no languages."""
    tag = (term.language or "").lower() if isinstance(term, Literal) else ""
    wanted = [range_.value.lower() for range_ in ranges if isinstance(range_, Literal)]
    return not (tag and wanted) or any(r in {"*", tag} or tag.startswith(f"{r}-") for r in wanted)


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
        """Return the triples of some lookups that were fetched."""
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
        found = self.select(Query.union([_lookup_query(chunk) for chunk in chunks]))
        if self.is_whole(found):
            for chunk in chunks:
                self._take_triples(chunk, found)
            return
        for chunk in chunks:
            self._fetch_chunk(chunk)

    def _fetch_chunk(self, chunk: Sequence[Lookup]) -> None:
        found = self.select(_lookup_query(chunk))
        is_whole, is_enough = self.is_whole(found), self._halving.should_give_up(found)
        if is_whole or is_enough or len(chunk) == 1:
            self._take_triples(chunk, found)
            if not is_whole:
                self._cut.update(chunk)
                self.incomplete.append(found)
            return
        half = len(chunk) // 2
        self._fetch_chunk(chunk[:half])
        self._fetch_chunk(chunk[half:])

    def is_whole(self, found: Solutions) -> bool:
        """Tell whether fewer terms would find no more; note a result that lacks some for another reason."""
        is_whole = not found.cut and len(found) <= BOUND
        if found.failed or (found.invalid and is_whole):
            self.incomplete.append(replace(found, cut=""))
        return is_whole

    def _take_triples(self, chunk: Sequence[Lookup], found: Solutions) -> None:
        by_term: dict[tuple[Term, Direction], list[Lookup]] = {}
        for lookup in chunk:
            by_term.setdefault((lookup.term, lookup.way), []).append(lookup)
        for solution in found:
            way, triple = _triple_of(solution)
            for lookup in by_term.get((solution["entity"], way), ()):
                wanted = triple[1] not in lookup.skip if lookup.predicate is None else triple[1] == lookup.predicate
                if wanted:
                    self._known[lookup][triple] = None

    def between(self, subjects: Sequence[Term], objects: Sequence[Term]) -> FoundTriples | None:
        """Return the triples between two sets of terms; ``None`` where these make too many pairs."""
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


def _lookup_query(chunk: Sequence[Lookup]) -> Query:
    way, skip = chunk[0].way, sorted(chunk[0].skip, key=str)
    if chunk[0].predicate is not None:
        pairs = [(lookup.term, cast("IRI", lookup.predicate)) for lookup in chunk]
        return Query.load(f"group_{way}").bind_rows(("entity", "predicate"), pairs).limit(BOUND + 1)
    query = Query.load(f"neighbours_{way}").bind(entity=[lookup.term for lookup in chunk])
    return (query.bind(predicate=skip) if skip else query).limit(BOUND + 1)


def _triple_of(solution: Solution) -> tuple[Direction, TripleTerms]:
    near, predicate = solution["entity"], solution["predicate"]
    if "object" in solution:
        return "forward", (near, predicate, solution["object"])
    return "inverse", (solution["subject"], predicate, near)


def merged(parts: Sequence[Solutions], counts: frozenset[str]) -> Solutions:
    """Merge solutions in the order of the parts, each once; add up those that count the same thing.

    >>> one = Solutions(("a", "n"), ({"a": Literal("x"), "n": Literal(2)},))
    >>> [s["n"].value for s in merged([one, one], frozenset({"n"}))], len(merged([one, one], frozenset()))
    (['4'], 1)
    """
    variables = tuple(dict.fromkeys(name for part in parts for name in part.variables))
    solutions: list[Solution]
    if counts:
        solutions = _summed_solutions((solution for part in parts for solution in part), counts)
    else:
        distinct: dict[_Key, Solution] = {}
        for part in parts:
            for solution in part:
                distinct.setdefault(frozenset(solution.items()), solution)
        solutions = list(distinct.values())
    return Solutions.together(
        parts,
        variables=variables or tuple(dict.fromkeys(name for solution in solutions for name in solution)),
        solutions=tuple(solutions),
    )


def _summed_solutions(solutions: Iterable[Solution], counts: frozenset[str]) -> list[Solution]:
    sums: dict[tuple[_Key, frozenset[str]], dict[str, Term]] = {}
    for solution in solutions:
        counted = counts.intersection(solution)
        about = frozenset((name, term) for name, term in solution.items() if name not in counted)
        known = sums.setdefault((about, counted), {})
        if not known:
            known.update(solution)
            continue
        for name in counted:
            known[name] = Literal(str(whole_number(known[name]) + whole_number(solution[name])), datatype=_INTEGER)
    return list(sums.values())
