"""The algebra of query plans: sets of items, measures of an item, numbers, yes/no, and tables, as frozen values.

A plan is one of these values. It holds terms of a graph and nothing that a model wrote.

Source: ours; enumerating and ranking plans in place of writing them follows Gu et al., "Don't Generate, Discriminate"
(ACL 2023), arXiv:2212.09736.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal as OneOf
from typing import TypeAlias

from kgsparql.dataclasses import frozen
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.schema.dating import Dates

Kind = OneOf["number", "date", "time", "year", "duration", "months", "clock", "text", "item"]
"""What a measure gives: two measures, or a measure and a value, are compared only if their kinds are alike."""

Comparison = OneOf["=", "!=", "<", "<=", ">", ">="]
TextPlace = OneOf["CONTAINS", "STRSTARTS", "STRENDS"]
Arithmetic = OneOf["+", "-", "*", "/", "round", "years"]
Summary = OneOf["sum", "avg", "min", "max"]
Moment = OneOf["start", "end", "span"]
TimeOrder = OneOf["before", "while", "after"]

# --- measures: what an item has one or more values of


@frozen
class Value:
    """The values at the end of a path from an item.

    :param kind: what they are read as: a ``year`` is taken from a date; a ``number`` may be written as text; a ``time``
        is an instant, whatever the zone it is written in; a ``duration`` has seconds, and another has ``months``; a
        ``clock`` is a time of day.
    :param unit: as the graph states it, such as ``g``; empty where it states none.
    :param among: only those that are in a set.
    """

    path: PropertyPath
    kind: Kind = "number"
    unit: str = ""
    among: ItemSet | None = None


@frozen
class HowMany:
    """How many distinct items a path from an item leads to, of those in a set if one is given; 0 where none."""

    path: PropertyPath
    among: ItemSet | None = None


@frozen
class Summarised:
    """One number for the values at the end of a path from an item, such as their average."""

    summary: Summary
    path: PropertyPath
    unit: str = ""
    kind: Kind = "number"


@frozen
class Calculated:
    """Two numbers of an item, or two numbers, calculated into one; one is rounded to so many digits, a constant.

    Of two days, such as 20090131, ``years`` are the whole years by the first since the second.
    """

    operator: Arithmetic
    left: Measure | Number
    right: Measure | Number


@frozen
class When:
    """When a fact that leads to an item began or was over, or how many years it lasted: until today, if it holds."""

    facts: Held
    of: Moment | OneOf["years"] = "start"


@frozen
class OfColumn:
    """What is measured of that which an earlier column of the same row leads to."""

    column: str
    measure: Measure


# --- sets of items


@frozen
class Members:
    """The items of the group that a row of a table is about."""


@frozen
class Instances:
    """Everything of a class, or of a class below it."""

    of: IRI


@frozen
class Items:
    """These terms."""

    terms: tuple[IRI | Literal, ...]


@frozen
class Ends:
    """What a path leads to from the items of a set."""

    start: ItemSet
    path: PropertyPath


@frozen
class Where:
    """The items of a set of which some value of a measure compares so with a value.

    Two that make a range, one right within the other, hold of one and the same value: from 1960 to 1969.
    """

    items: ItemSet
    measure: Measure
    comparison: Comparison
    value: IRI | Literal | Measure | Number

    @property
    def other_end(self) -> Where | None:
        """The condition within this one that makes a range with it."""
        one, other = self, self.items
        if not (isinstance(other, Where) and isinstance(one.measure, Value) and one.measure == other.measure):
            return None
        are_ends = {one.comparison[0], other.comparison[0]} == {"<", ">"}
        return other if are_ends and isinstance(one.value, Literal) and isinstance(other.value, Literal) else None


@frozen
class Named:
    """The items of a set that have a word in a label, at its start or its end, in whatever case; texts, in themselves.

    :param place: where in it, by the function that tells.
    """

    items: ItemSet
    word: str
    place: TextPlace = "CONTAINS"


@frozen
class Has:
    """The items of a set from which a path leads to anything, or to an item of another set."""

    items: ItemSet
    path: PropertyPath
    to: ItemSet | None = None


@frozen
class Lacks:
    """The items of a set from which a path leads nowhere, or to no item of another set."""

    items: ItemSet
    path: PropertyPath
    to: ItemSet | None = None


@frozen
class Both:
    """The items that are in all of these sets."""

    sets: tuple[ItemSet, ...]


@frozen
class Either:
    """The items that are in any of these sets."""

    sets: tuple[ItemSet, ...]


@frozen
class Minus:
    """The items of the first set that are not in the second."""

    items: ItemSet
    without: ItemSet


@frozen
class Current:
    """The items of a set that the graph does not say to be deprecated, withdrawn or replaced."""

    items: ItemSet


@frozen
class Once:
    """The items of a set, of those that the graph says to be the same, just one."""

    items: ItemSet


@frozen
class Retired:
    """The items of a set of which it does."""

    items: ItemSet


@frozen
class Unknown:
    """The items of a set that say nothing: a text such as `unknown`, or a node of which nothing is said."""

    items: ItemSet


@frozen
class Sources:
    """The named graphs that say of anything that it is in a set."""

    saying: ItemSet


@frozen
class Disputed:
    """The items of a set of which one named graph says something by a path, and another one something else."""

    items: ItemSet
    path: PropertyPath


@frozen
class OnlyIn:
    """The items of a set of which this named graph says something, and no other one does."""

    items: ItemSet
    graph: ItemSet


@frozen
class Held:
    """What a path leads to by facts that held at some time: by a predicate whose facts have dates, or over a node.

    :param dates: where the dates stand; ``ITSELF`` where the path leads to the date. :param to: only these are led to.
    :param first: it was not over before this day, such as 20090131, and had begun by the day ``last``; 0 for any.
    :param over_by: it was over before this day; 0 for any. :param with_undated: facts without dates are among them.
    """

    start: ItemSet
    path: PropertyPath
    dates: Dates
    first: int = 0
    last: int = 0
    over_by: int = 0
    with_undated: bool = False
    to: ItemSet | None = None

    @property
    def ends(self) -> Ends:
        """What the path leads to at any time."""
        return Ends(self.start, self.path)


@frozen
class Beside:
    """What facts lead to that held before, after or while some others did."""

    facts: Held
    order: TimeOrder
    others: Held


@frozen
class Times:
    """When facts began, when they were over, or both: dates."""

    facts: Held
    of: Moment = "start"


@frozen
class Top:
    """The items of a set with the largest values of a measure, or the smallest.

    :param number: how many; of 1, all that share the best value.
    :param share: so many percent of the items, which are counted when the plan is run; 0 where the number is said.
    """

    items: ItemSet
    measure: Measure
    number: int = 1
    largest: bool = True
    share: Decimal = Decimal()


# --- numbers


@frozen
class Count:
    """How many items a set has."""

    items: ItemSet


@frozen
class SummaryOf:
    """The sum, average, least or most of a measure over the distinct pairs of an item of a set and its value."""

    summary: Summary
    items: ItemSet
    measure: Measure


@frozen
class Constant:
    """A number that the question says."""

    value: Decimal


# --- yes or no


@frozen
class Exists:
    """Whether a set has any item."""

    items: ItemSet


@frozen
class Compares:
    """Whether two numbers compare so."""

    left: Number
    comparison: Comparison
    right: Number


@frozen
class Not:
    """The opposite."""

    condition: Condition


# --- tables


@frozen
class Column:
    """A measure of each item, or a number, under a name.

    :param optional: an item without a value keeps its row.
    """

    name: str
    measure: Measure | Number
    optional: bool = False


@frozen
class ItemTable:
    """One row for an item and its values, in the order of a column, or of what is no column, where it has one.

    Of a column that leads to things there is a row for each, which later columns may measure: ``OfColumn``.

    :param shows_items: the items are a column; not where their names are asked for, which are one.
    :param having: a column, and what it is compared with: only the rows of which that is true.
    """

    items: ItemSet
    columns: tuple[Column, ...]
    order_by: str | Measure = ""
    largest_first: bool = True
    limit: int | None = None
    shows_items: bool = True
    having: Having | None = None

    def led_to(self, name: str) -> ItemSet:
        """What a column leads to, as a set."""
        match next(one.measure for one in self.columns if one.name == name):
            case OfColumn(column, Value(path, among=among)):
                ends = Ends(self.led_to(column), path)
            case Value(path, among=among):
                ends = Ends(self.items, path)
            case _:
                raise ValueError(f"{name} leads to nothing")
        return ends if among is None else Both((ends, among))

    @property
    def measured(self) -> tuple[Column, ...]:
        """The columns, and after them what the rows are ordered by, if that is none: of several values the first."""
        by = self.order_by
        if isinstance(by, Value) and by.among is None:
            by = Summarised("max" if self.largest_first else "min", by.path, by.unit, by.kind)
        return self.columns if isinstance(by, str) else (*self.columns, Column("", by, optional=True))


@frozen
class Grouped:
    """One row for each term that a path from the items of a set leads to, with numbers over the items of this group.

    :param having: a column, and what it is compared with: only the groups of which that is true.
    """

    items: ItemSet
    key: PropertyPath
    columns: tuple[Column, ...]
    having: Having | None = None
    order_by: str = ""
    largest_first: bool = True
    limit: int | None = None


@frozen
class BestOfEach:
    """One row for each term that a path from the items of a set leads to, and an item with the best value there."""

    items: ItemSet
    key: PropertyPath
    measure: Measure
    largest: bool = True


@frozen
class Numbers:
    """One row of several numbers side by side."""

    columns: tuple[Column, ...]

    @property
    def numbers(self) -> tuple[Measure | Number, ...]:
        """The numbers without their names."""
        return tuple(column.measure for column in self.columns)


Measure: TypeAlias = Value | HowMany | When | Summarised | Calculated | Constant | OfColumn
ItemSet: TypeAlias = (
    Members
    | Instances
    | Items
    | Ends
    | Where
    | Named
    | Has
    | Lacks
    | Both
    | Either
    | Minus
    | Current
    | Retired
    | Once
    | Unknown
    | Sources
    | Disputed
    | OnlyIn
    | Held
    | Beside
    | Times
    | Top
)
Number: TypeAlias = Count | SummaryOf | Constant | Calculated
Having: TypeAlias = tuple[str, Comparison, Measure | Number]
Condition: TypeAlias = Exists | Compares | Not
Table: TypeAlias = ItemTable | Grouped | BestOfEach
Plan: TypeAlias = ItemSet | Number | Condition | Table | Numbers
