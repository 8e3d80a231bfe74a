"""Paths that begin alike as one table: what the others say of each term that the beginning leads to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kgsparql.evidence.term_labels import TermLabels
from kgsparql.evidence.verbalising import Line, line_text, name_of
from kgsparql.exploration import walk_ways
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, PropertyPath, Walk
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import is_mediator

_CELL = 4  # values of one column that a row shows
_WAYS = 500  # ways of one column, to all rows


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """What stands beside the rows of a path.

    :param at: the steps of the beginning, which lead to the rows.
    :param columns: the paths that begin like it.
    :param ways: to the values of the columns, from the start and through the rows.
    """

    at: int = 0
    columns: tuple[PropertyPath, ...] = ()
    ways: tuple[Path, ...] = ()

    def texts(self, labels: Mapping[Term, str]) -> dict[Term, str]:
        """For each row, its values, after the predicates that lead to them."""
        cells: dict[Term, dict[PropertyPath, list[Path]]] = {}
        for way in self.ways:
            row = way.terms[self.at]
            cell = Path(row, way.hops[self.at :])
            cells.setdefault(row, {}).setdefault(cell.property_path, []).append(cell)
        return {row: ", ".join(_cell(row, own, labels) for own in found.values()) for row, found in cells.items()}

    def query(self, walk: Walk, answers: Query) -> Query:
        """The query of the whole table; without columns that of the answers alone."""
        if not self.columns:
            return answers
        return path_queries.table(walk.path, walk.start, self.columns, at=self.at, answers=answers)


ALONE = JoinedRows()


def _cell(row: Term, ways: Sequence[Path], labels: Mapping[Term, str]) -> str:
    line = Line(ways[0].property_path, tuple(ways), len({way.end for way in ways}))
    text = line_text(line, labels, shown=_CELL, bar="; ")
    return text[len(name_of(row, labels)) + 1 :]


@dataclass(frozen=True, slots=True)
class JoinedWalks:
    """A walk, and others that begin like it: after ``at`` steps they go on from the same terms."""

    first: Walk
    at: int
    others: tuple[Walk, ...]


def joined_walks(walks: Sequence[Walk], columns: Collection[Walk]) -> list[JoinedWalks]:
    """The walks that begin alike, each in one group at most.

    The terms from which they go on are the ends of the first of them where others go on from there, else the terms
    before its ends.

    :param columns: those that may be joined to others.
    """
    groups = []
    left = list(walks)
    while left:
        first = left.pop(0)
        for at in (len(first.path.steps), len(first.path.steps) - 1):
            others = tuple(walk for walk in left if at and walk in columns and _goes_on(walk, first, at))
            if others:
                groups.append(JoinedWalks(first, at, others))
                left = [walk for walk in left if walk not in others]
                break
    return groups


def _goes_on(walk: Walk, first: Walk, at: int) -> bool:
    """Whether a walk says something of the rows of another; one that goes on and back is about other things."""
    is_same = walk.start == first.start and walk.constraints == first.constraints
    begun, further = walk.path.steps[:at], PropertyPath(walk.path.steps[at - 1 :])
    return is_same and begun == first.path.steps[:at] and len(further.steps) > 1 and not further.goes_back


def joined_rows(
    groups: Sequence[JoinedWalks], shown: Mapping[Walk, Sequence[Path]], terms: TermLabels
) -> dict[Walk, JoinedRows]:
    """What the others of each group say of the rows of the first; one query, or none without a group.

    :param shown: the ways of a walk that are shown, and so its rows.
    """
    asked: list[tuple[Walk, Mapping[int, Sequence[Term]]]] = []
    for group in groups:
        rows = dict.fromkeys(way.terms[group.at] for way in shown.get(group.first, ()))
        iris = [row for row in rows if isinstance(row, IRI)]
        asked += [(other, {group.at: iris}) for other in group.others if iris]
    if not asked:
        return {}
    found = walk_ways(
        terms.graph, [walk for walk, _ in asked], [None] * len(asked), limit=_WAYS, through=[via for _, via in asked]
    )
    reached = {
        walk: [way.path for way in own.items if not is_mediator(way.path.end) and not _is_circle(way.path)]
        for (walk, _), own in zip(asked, found, strict=True)
        if not own.cuts
    }
    tables: dict[Walk, JoinedRows] = {}
    for group in groups:
        at, others = group.at, [walk for walk in group.others if reached.get(walk)]
        leads = {way.terms[at]: way.hops[:at] for way in reversed(shown.get(group.first, ()))}
        ways = dict.fromkeys(
            Path(way.start, (*leads[way.terms[at]], *way.hops[at:])) for walk in others for way in reached[walk]
        )
        if ways:
            tables[group.first] = JoinedRows(at, tuple(dict.fromkeys(walk.path for walk in others)), _longest(ways))
    return tables


def _is_circle(path: Path) -> bool:
    return len(set(path.terms)) < len(path.terms)


def _longest(ways: Mapping[Path, None]) -> tuple[Path, ...]:
    """The ways but those that another goes on from: their values stand on it."""
    begun = {way.hops[:length] for way in ways for length in range(1, len(way))}
    return tuple(way for way in ways if way.hops not in begun)
