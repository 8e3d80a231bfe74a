"""Millions of rows of one kind, gathered one by one: as Arrow arrays they take a tenth of the memory of Python's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from kgsparql.storage.lance_tables import arrow

AT_ONCE = 50_000
"""Rows that are Python objects at a time; so few are never made into arrays."""

Row = TypeVar("Row", bound=NamedTuple)


class Gathered(Generic[Row]):
    """Rows that can be counted, and read several times.

    >>> class Pair(NamedTuple):
    ...     word: str
    ...     number: int
    >>> pairs = Gathered(Pair, [Pair("b", 1), Pair("a", 2)])
    >>> len(pairs), list(pairs.in_order("word"))
    (2, [Pair(word='a', number=2), Pair(word='b', number=1)])

    :param kind: of texts and numbers.
    """

    def __init__(self, kind: type[Row], rows: Iterable[Row] = ()) -> None:
        self._kind = kind
        self._tables: list[Any] = []
        self._few: list[Row] = []
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Put a row behind the others."""
        self._few.append(row)
        if len(self._few) == AT_ONCE:
            self._put_away()

    def extend(self, others: Gathered[Row]) -> None:
        """Put the rows of another, in any order, among these."""
        self._tables += others._tables
        for row in others._few:
            self.add(row)

    def __len__(self) -> int:
        return sum(map(len, self._tables)) + len(self._few)

    def __iter__(self) -> Iterator[Row]:
        for table in self._tables:
            for at in range(0, len(table), AT_ONCE):
                yield from self._rows(table.slice(at, AT_ONCE))
        yield from self._few

    def in_order(self, column: str) -> Iterator[Row]:
        """The rows in the order of a column of texts."""
        place = self._kind._fields.index(column)
        if not self._tables:
            yield from sorted(self._few, key=lambda row: row[place])
            return
        self._put_away()
        self._tables = [arrow().concat_tables(self._tables).combine_chunks()]
        places = arrow("compute").sort_indices(self._tables[0][column])
        for at in range(0, len(places), AT_ONCE):
            yield from self._rows(self._tables[0].take(places[at : at + AT_ONCE]))

    def _put_away(self) -> None:
        if self._few:
            columns = [arrow().array(values) for values in zip(*self._few, strict=True)]
            self._tables.append(arrow().table(columns, names=list(self._kind._fields)))
            self._few = []

    def _rows(self, table: Any) -> Iterator[Row]:
        return map(self._kind._make, zip(*(column.to_pylist() for column in table.columns), strict=True))
