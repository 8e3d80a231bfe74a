"""Joins of triples that are in different graphs: pattern by pattern, each looked up in every graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from kgsparql.graphs.federation.lookups import FoundTriples, Lookup, Lookups
from kgsparql.graphs.graph import BOUND, Solution, Solutions
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Direction
from kgsparql.rdf.query import Join, Query, TriplePattern
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term

MAX_ROWS = 100_000
"""Rows that are kept after a pattern; more are a cut."""

Row: TypeAlias = dict[str, Term]
State: TypeAlias = tuple[list[Row], tuple[TriplePattern, ...]]


def joined(
    joins: Sequence[Join], select: Callable[[Query], Solutions], chunk_size: int
) -> tuple[list[Solution], list[Solutions], bool]:
    """The solutions of joins that need more than one graph; one query for the next pattern of all joins.

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
                for candidate, wanted in self._candidates(rows, todo):
                    yield wanted
                    triples = self.lookups.triples_of(wanted)
                    if found is None or triples.complete:
                        pattern, found = candidate, triples
                    if triples.complete:
                        break
                if found is None:
                    break  # nothing that is known has a name
                if not found.complete:
                    found = self._between(rows, pattern) or found
                self.complete = self.complete and found.complete
                rest = tuple(other for other in todo if other is not pattern)
                grown = self._grown_rows(rows, pattern, found)
                states += self._behind(rows, grown, pattern, rest)
                rows, todo = self._needed_rows(grown, rest), rest
            if not todo:
                self._take(rows)

    def _candidates(
        self, rows: Sequence[Row], todo: Sequence[TriplePattern]
    ) -> list[tuple[TriplePattern, Sequence[Lookup]]]:
        """The patterns that may be joined next, each with its lookups from one end; the fewest lookups first."""
        bound = set(rows[0])
        candidates: list[tuple[int, int, TriplePattern, Sequence[Lookup]]] = []
        for at, pattern in enumerate(todo):
            if bound and not pattern.variables & bound:
                continue
            ends: tuple[tuple[str, Direction], ...] = ((pattern.subject, "forward"), (pattern.object, "inverse"))
            for name, way in ends:
                terms = self._terms(name, rows)
                if terms is not None:
                    wanted = self._lookups(pattern, terms, way)
                    candidates.append((len(wanted), at, pattern, wanted))
        return [(pattern, wanted) for _, _, pattern, wanted in sorted(candidates, key=lambda one: one[:2])]

    def _terms(self, name: str, rows: Sequence[Row]) -> list[Term] | None:
        """The IRIs and literals that a variable may be; ``None`` if it may be anything."""
        if name in rows[0]:
            known = dict.fromkeys(row[name] for row in rows)
        elif name in self.join.values:
            known = dict.fromkeys(self.join.values[name])
        else:
            return None
        return [term for term in known if isinstance(term, IRI | Literal)]

    def _lookups(self, pattern: TriplePattern, terms: Sequence[Term], way: Direction) -> list[Lookup]:
        values, predicate = self.join.values, pattern.predicate
        near = [term for term in terms if way == "inverse" or isinstance(term, IRI)]
        if isinstance(predicate, IRI):
            return [Lookup(term, predicate, way) for term in near]
        some = [p for p in values.get(predicate, ()) if isinstance(p, IRI)]
        if some and predicate not in self.join.skipped:
            return [Lookup(term, p, way) for term in near for p in some]
        return [Lookup(term, None, way, frozenset(some)) for term in near]

    def _between(self, rows: Sequence[Row], pattern: TriplePattern) -> FoundTriples | None:
        """The triples of a pattern whose two ends are both known, where one end alone has too many triples."""
        subjects, objects = self._terms(pattern.subject, rows), self._terms(pattern.object, rows)
        if subjects is None or objects is None:
            return None
        return self.lookups.between([term for term in subjects if isinstance(term, IRI)], objects)

    def _grown_rows(self, rows: Sequence[Row], pattern: TriplePattern, found: FoundTriples) -> list[Row]:
        places = (pattern.subject, pattern.predicate, pattern.object)
        bindings = [
            {name: term for name, term in zip(places, triple, strict=True) if isinstance(name, str)}
            for triple in found.triples
            if all(self._allows(name, term) for name, term in zip(places, triple, strict=True))
        ]
        return self._joined_rows(rows, bindings)

    def _joined_rows(self, rows: Sequence[Row], found: Sequence[Mapping[str, Term]]) -> list[Row]:
        """The rows joined with bindings of a pattern's variables, on the variables that they share."""
        if not found:
            return []
        shared = [name for name in found[0] if name in rows[0]]
        index: dict[tuple[Term, ...], list[Mapping[str, Term]]] = {}
        for named in found:
            index.setdefault(tuple(named[name] for name in shared), []).append(named)
        pairs = ((row, named) for row in rows for named in index.get(tuple(row[name] for name in shared), ()))
        return [row for one, other in pairs if self._is_apart(row := {**one, **other})]

    def _allows(self, name: str | IRI, term: Term) -> bool:
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
        """The part of each row that is still needed, once; no row with a blank node that would have to be looked up."""
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

    def _behind(
        self, rows: Sequence[Row], grown: Sequence[Row], pattern: TriplePattern, rest: tuple[TriplePattern, ...]
    ) -> list[State]:
        """The rows that go on through blank nodes that a pattern led to, and the patterns that are then left."""
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
            grown = self._joined_rows(rows, self._through(rows, part, blank))
            states.append((self._needed_rows(grown, rest), rest))
        return [state for state in states if state[0]]

    def _through(self, rows: Sequence[Row], part: tuple[TriplePattern, ...], blank: Sequence[str]) -> list[Solution]:
        """The solutions of some patterns in one graph, with blank nodes between them."""
        names = sorted(frozenset[str]().union(*(pattern.variables for pattern in part)))
        values = {name: tuple(terms) for name in names if (terms := self._terms(name, rows)) is not None}
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

    def _take(self, rows: Sequence[Row]) -> None:
        walk: Row = {} if self.join.number is None else {"walk": Literal(self.join.number)}
        for row in rows:
            solution = {shown: row[name] for name, shown in self.join.head} | walk
            self._found.setdefault(tuple(solution.values()), solution)


def _is_in(term: Term, ranges: Sequence[Term]) -> bool:
    """Whether a literal is in one of these languages or has none; true if there are no languages."""
    tag = (term.language or "").lower() if isinstance(term, Literal) else ""
    wanted = [range_.value.lower() for range_ in ranges if isinstance(range_, Literal)]
    return not (tag and wanted) or any(r in {"*", tag} or tag.startswith(f"{r}-") for r in wanted)
