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

MAX_ROWS = 100_000  # rows that are kept after a pattern; more are a cut
_AT_ONCE = 10  # chunks that one query asks about, so that the usual case costs one query
_CUT_BY_CLASSES = "classes are in the place of other solutions"
_CUT_BY_JOINS = "terms with too many triples to be joined over several graphs"
_INTEGER = IRI("http://www.w3.org/2001/XMLSchema#integer")

_Key: TypeAlias = frozenset[tuple[str, Term]]
Row: TypeAlias = dict[str, Term]
Patterns: TypeAlias = tuple[TriplePattern, ...]
TripleTerms: TypeAlias = tuple[Term, Term, Term]
Found: TypeAlias = tuple[Sequence[TripleTerms], bool]
"""Triples, and whether these are all there are."""
Select: TypeAlias = Callable[[Query], Solutions]
"""Asks every graph."""


def joined(joins: Sequence[Join], select: Select, chunk_size: int) -> list[Solutions]:
    """Join triples of several graphs, with one query for the next pattern of all joins.

    A term is looked up in every graph, so that the triples of one solution may be in different graphs. A blank node
    has no name in a later query: what lies behind it is asked for together with the way to it, within one graph.

    :return: the solutions; and, without solutions, the results of lookups that lack some, for the reasons.
    """
    lookups = _Lookups(select, chunk_size)
    searches = [_Search(join, lookups) for join in joins]
    running = [(search, search.run()) for search in searches]
    while running:
        waiting = [(one, wanted) for one in running if (wanted := next(one[1], None)) is not None]
        lookups.fetch(lookup for _, wanted in waiting for lookup in wanted)
        running = [one for one, _ in waiting]
    solutions = tuple(s for search in searches for s in list(search.found.values())[: search.join.limit])
    cut = "" if all(search.is_complete for search in searches) else _CUT_BY_JOINS
    return [Solutions(solutions=solutions, cut=cut), *lookups.incomplete]


def without_classes(
    found: Solutions, joins: Sequence[Join], select: Select, chunk_size: int, *, is_at_limit: bool = False
) -> Solutions:
    """Return the solutions of joins whose terms are no classes in any graph, where they must not be.

    :param is_at_limit: the solutions were limited before, so that classes may have taken the place of others.
    """
    names = {join.names: join.classless for join in joins if join.classless}
    classless = [(s, names.get(frozenset(s), frozenset[str]())) for s in found]
    terms = sorted({term for s, own in classless for name in own if isinstance(term := s[name], IRI)}, key=str)
    classes = set[Term]()
    for at in range(0, len(terms), chunk_size):
        chunk = terms[at : at + chunk_size]
        classes |= {s["entity"] for s in select(Query.load("classes").bind(entity=chunk).limit(len(chunk) + 1))}
    kept = tuple(s for s, own in classless if not any(s[name] in classes for name in own))
    is_short = is_at_limit and len(kept) < len(found) >= min(join.limit for join in joins)
    return replace(found, solutions=kept, cut=found.cut or (_CUT_BY_CLASSES if is_short else ""))


@dataclass(slots=True)
class _Search:
    """A join on its way. A row has the terms of some variables; patterns are joined with the rows one by one."""

    join: Join
    lookups: _Lookups
    is_complete: bool = True
    found: dict[tuple[Term, ...], Solution] = field(default_factory=dict)

    def run(self) -> Iterator[Sequence[_Lookup]]:
        """Find all solutions; yields the lookups that must be made before it goes on."""
        states: list[tuple[list[Row], Patterns]] = [([{}], self.join.patterns)]
        while states:
            rows, todo = states.pop()
            while rows and todo:
                pattern, found = todo[0], None
                for candidate, wanted in self._next_patterns(rows, todo):
                    yield wanted
                    triples = self.lookups.triples_of(wanted)
                    if found is None or triples[1]:
                        pattern, found = candidate, triples
                    if triples[1]:
                        break
                if found is None:
                    break  # nothing that is known has a name
                self.is_complete &= found[1]
                rest = tuple(other for other in todo if other is not pattern)
                grown = self._grown_rows(rows, pattern, found[0])
                states += self._states_behind_blanks(rows, grown, pattern, rest)
                rows, todo = self._needed_rows(grown, rest), rest
            for row in () if todo else rows:
                solution = {shown: row[name] for name, shown in self.join.head}
                if self.join.number is not None:
                    solution["walk"] = Literal(self.join.number)
                self.found.setdefault(tuple(solution.values()), solution)

    def _next_patterns(self, rows: Sequence[Row], todo: Patterns) -> list[tuple[TriplePattern, Sequence[_Lookup]]]:
        """Return the patterns that may be joined next, each with its lookups from one end; the fewest lookups first."""
        bound = set(rows[0])
        candidates: list[tuple[TriplePattern, Sequence[_Lookup]]] = []
        for pattern in todo:
            if bound and not pattern.variables & bound:
                continue
            ends: tuple[tuple[str, Direction], ...] = ((pattern.subject, "forward"), (pattern.object, "inverse"))
            for name, way in ends:
                terms = self._terms_of(name, rows)
                if terms is not None:
                    candidates.append((pattern, self._lookups_from(pattern, terms, way)))
        return sorted(candidates, key=lambda one: len(one[1]))

    def _terms_of(self, name: str, rows: Sequence[Row]) -> list[Term] | None:
        """Return the IRIs and literals that a variable may be; ``None`` if it may be anything."""
        if name not in rows[0] and name not in self.join.values:
            return None
        known = (row[name] for row in rows) if name in rows[0] else self.join.values[name]
        return [term for term in dict.fromkeys(known) if isinstance(term, IRI | Literal)]

    def _lookups_from(self, pattern: TriplePattern, terms: Sequence[Term], way: Direction) -> list[_Lookup]:
        predicate = pattern.predicate
        near = [term for term in terms if way == "inverse" or isinstance(term, IRI)]
        some = [predicate] if isinstance(predicate, IRI) else self.join.values.get(predicate, ())
        some = [one for one in some if isinstance(one, IRI)]
        if some and predicate not in self.join.skipped:
            return [_Lookup(term, one, way) for term in near for one in some]
        return [_Lookup(term, None, way, frozenset(some)) for term in near]

    def _grown_rows(self, rows: Sequence[Row], pattern: TriplePattern, triples: Sequence[TripleTerms]) -> list[Row]:
        places = (pattern.subject, pattern.predicate, pattern.object)
        bindings = [
            {name: term for name, term in zip(places, triple, strict=True) if isinstance(name, str)}
            for triple in triples
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

    def _needed_rows(self, rows: Sequence[Row], rest: Patterns) -> list[Row]:
        """Cut rows to what is still needed, each once; drop those with a blank node that would have to be looked up."""
        ahead = _variables_of(rest)
        needed = {*ahead, *(name for name, _ in self.join.head)}
        needed.update(name for pair in self.join.apart if ahead.intersection(pair) for name in pair)
        distinct: dict[tuple[Term, ...], Row] = {}
        for row in rows:
            kept = {name: term for name, term in row.items() if name in needed}
            if not any(isinstance(kept.get(name), BlankNode) for name in ahead):
                distinct.setdefault(tuple(kept.values()), kept)
            if len(distinct) == MAX_ROWS:
                self.is_complete = False
                break
        return list(distinct.values())

    def _states_behind_blanks(
        self, rows: Sequence[Row], grown: Sequence[Row], pattern: TriplePattern, rest: Patterns
    ) -> list[tuple[list[Row], Patterns]]:
        """Return the rows that go on through blank nodes that a pattern led to, and the patterns that are then left."""
        states = []
        part: Patterns = (pattern,)
        blank: list[str] = []
        while rest:
            ahead = _variables_of(rest)
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

    def _solutions_through(self, rows: Sequence[Row], part: Patterns, blank: Sequence[str]) -> list[Solution]:
        """Return the solutions of some patterns in one graph, with blank nodes between them."""
        names = sorted(_variables_of(part))
        values = {name: tuple(terms) for name in names if (terms := self._terms_of(name, rows)) is not None}
        longest = max(values, key=lambda name: len(values[name]), default="")
        join = Join(part, tuple((name, name) for name in names))
        solutions: list[Solution] = []
        size = self.lookups.chunk_size
        for at in range(0, len(values.get(longest, ())), size):
            chunk = {**values, longest: values[longest][at : at + size]}
            part_of_join = replace(join, values=MappingProxyType(chunk))
            found = self.lookups.select(path_queries.through_blank_nodes(part_of_join, blank, limit=BOUND + 1))
            self.is_complete &= self.lookups.is_whole(found, is_last=True)
            solutions += found
        return solutions


def _variables_of(patterns: Patterns) -> frozenset[str]:
    return frozenset[str]().union(*(pattern.variables for pattern in patterns))


def _is_in(term: Term, ranges: Sequence[Term]) -> bool:
    """Tell whether a literal is in one of these languages or has none; true if there are no languages."""
    tag = (term.language or "").lower() if isinstance(term, Literal) else ""
    wanted = [range_.value.lower() for range_ in ranges if isinstance(range_, Literal)]
    return not (tag and wanted) or any(r in {"*", tag} or tag.startswith(f"{r}-") for r in wanted)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Asks for the triples that have a term as subject; or as object, where ``way`` is inverse.

    :param predicate: of the triples; ``None`` for all but those in ``skip``.
    """

    term: Term
    predicate: IRI | None
    way: Direction
    skip: frozenset[IRI] = frozenset()


@dataclass(slots=True)
class _Lookups:
    """The lookups made so far."""

    select: Select
    chunk_size: int
    incomplete: list[Solutions] = field(default_factory=list)
    _known: dict[_Lookup, dict[TripleTerms, None]] = field(default_factory=dict)
    _cut: set[_Lookup] = field(default_factory=set)
    _halving: Halving = field(default_factory=Halving)

    def triples_of(self, lookups: Sequence[_Lookup]) -> Found:
        """Return the triples of some lookups that were fetched."""
        triples = dict.fromkeys(triple for lookup in lookups for triple in self._known[lookup])
        return tuple(triples), self._cut.isdisjoint(lookups)

    def fetch(self, lookups: Iterable[_Lookup]) -> None:
        """Make those lookups that were not made yet."""
        groups: dict[tuple[Direction, bool, frozenset[IRI]], list[_Lookup]] = {}
        for lookup in dict.fromkeys(lookups):
            if lookup not in self._known:
                self._known[lookup] = {}
                groups.setdefault((lookup.way, lookup.predicate is None, lookup.skip), []).append(lookup)
        size = self.chunk_size
        chunks = [group[at : at + size] for group in groups.values() for at in range(0, len(group), size)]
        for at in range(0, len(chunks), _AT_ONCE):
            self._fetch_chunks(chunks[at : at + _AT_ONCE])

    def _fetch_chunks(self, chunks: Sequence[Sequence[_Lookup]]) -> None:
        """Fetch chunks with one query; if the result is cut, each by itself, and then its halves."""
        queries = [_lookup_query(chunk) for chunk in chunks]
        found = self.select(Query.union(queries) if len(queries) > 1 else queries[0])
        is_last = len(chunks) == 1 and (self._halving.should_give_up(found) or len(chunks[0]) == 1)
        is_whole = self.is_whole(found, is_last=is_last)
        if is_whole or is_last:
            for chunk in chunks:
                self._take_triples(chunk, found)
                self._cut.update(() if is_whole else chunk)
            return
        half = len(chunks[0]) // 2
        for part in chunks if len(chunks) > 1 else (chunks[0][:half], chunks[0][half:]):
            self._fetch_chunks([part])

    def is_whole(self, found: Solutions, *, is_last: bool = False) -> bool:
        """Tell whether a query for less would find no more; note what the result lacks."""
        is_whole = not found.cut and len(found) <= BOUND
        if found.failed or (found.invalid and is_whole) or (found.cut and is_last):
            self.incomplete.append(replace(found, solutions=(), cut=found.cut if is_last else ""))
        return is_whole

    def _take_triples(self, chunk: Sequence[_Lookup], found: Solutions) -> None:
        by_term: dict[tuple[Term, Direction], list[_Lookup]] = {}
        for lookup in chunk:
            by_term.setdefault((lookup.term, lookup.way), []).append(lookup)
        for solution in found:
            near, predicate = solution["entity"], solution["predicate"]
            way: Direction = "forward" if "object" in solution else "inverse"
            triple = (
                (near, predicate, solution["object"]) if way == "forward" else (solution["subject"], predicate, near)
            )
            for lookup in by_term.get((near, way), ()):
                if predicate not in lookup.skip if lookup.predicate is None else predicate == lookup.predicate:
                    self._known[lookup][triple] = None


def _lookup_query(chunk: Sequence[_Lookup]) -> Query:
    way, skip = chunk[0].way, sorted(chunk[0].skip, key=str)
    if chunk[0].predicate is not None:
        pairs = [(lookup.term, cast("IRI", lookup.predicate)) for lookup in chunk]
        return Query.load(f"group_{way}").bind_rows(("entity", "predicate"), pairs).limit(BOUND + 1)
    query = Query.load(f"neighbours_{way}").bind(entity=[lookup.term for lookup in chunk])
    return (query.bind(predicate=skip) if skip else query).limit(BOUND + 1)


def merged(parts: Sequence[Solutions], counts: frozenset[str]) -> Solutions:
    """Merge solutions in the order of the parts, each once; add up those that count the same thing.

    >>> one = Solutions(("a", "n"), ({"a": Literal("x"), "n": Literal(2)},))
    >>> [s["n"].value for s in merged([one, one], frozenset({"n"}))], len(merged([one, one], frozenset()))
    (['4'], 1)
    """
    variables = tuple(dict.fromkeys(name for part in parts for name in part.variables))
    distinct: dict[_Key, Row] = {}
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
