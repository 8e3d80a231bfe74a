"""Expressions of compiled plans: what values are compared by, calculations, summaries for each item."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from kgsparql.dataclasses import dataclass
from kgsparql.plans import algebra as a
from kgsparql.plans.dates import (
    DATE_PATTERN,
    DAY,
    LESS_PRECISE,
    TIME_PATTERN,
    YEAR,
    ZONE,
    Precision,
    date_number,
    instant_of,
    year_of,
)  # fmt: skip
from kgsparql.plans.type_check import kind_of_literal
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Apply, Expression, Group, Variable
from kgsparql.rdf.terms import IRI, Literal, Term

NUMBER = "^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)$"
"""A text that is a number."""
_DECIMAL = IRI("http://www.w3.org/2001/XMLSchema#decimal")


@dataclass(frozen=True, slots=True)
class Measured:
    """Patterns that bind a measure, the value itself, and the number or text that it is compared by.

    :param holders: what has the value, where that is not the item itself: equal values of two of these are two.
    """

    group: Group
    value: Expression
    key: Expression
    holders: tuple[Variable, ...] = ()


def calculated(operator: a.Arithmetic, one: Measured, other: Measured) -> Measured:
    """Nothing is divided by zero: there is no solution, on every engine. Whole numbers are divided into fractions.

    What the engines do otherwise: Virtuoso divides whole numbers into whole ones, and divides before it filters;
    Oxigraph 0.5 cannot divide 0 by a fraction.
    """
    if operator == "round":
        power = Literal(10 ** int(getattr(other.key, "value", "0")))
        whole = Apply("ROUND", (Apply("*", (one.key, power)),))
        value = Apply("/", (Apply("*", (whole, Literal("1.0", datatype=_DECIMAL))), power))
        return Measured(one.group, value, value)
    if operator != "/":
        value = Apply(operator, (one.key, other.key))
        return Measured((*one.group, *other.group), value, value)
    is_zero, is_none = (Apply("=", (side.key, Literal(0))) for side in (other, one))
    fraction = Apply("*", (one.key, Literal("1.0", datatype=_DECIMAL)))
    quotient = Apply("/", (fraction, Apply("IF", (is_zero, Literal(1), other.key))))
    value = Apply("IF", (is_none, Literal(0), quotient))
    return Measured((*one.group, *other.group, g.Filter(Apply("!", (is_zero,)))), value, value)


def each_of(by: Variable, into: Variable, summary: g.Aggregate, group: Group) -> g.Select:
    """A sub-select with a row for each term of a variable. rdflib gives an empty row where there is none."""
    some = Apply(">", (g.Aggregate("COUNT", summary.of), Literal(0)))
    return g.Select(((by, None), (into, summary)), group, group_by=(by,), having=some)


def distinct_values(by: tuple[Variable, ...], value: Variable, found: Measured, members: Group) -> g.Select:
    """A sub-select with a row for each value that is measured of each of these terms."""
    head = (*((one, None) for one in (*by, *found.holders)), (value, found.key))
    return g.Select(head, (*members, *found.group), distinct=True)


AGGREGATES: dict[a.Summary, g.Aggregation] = {"sum": "SUM", "avg": "AVG", "min": "MIN", "max": "MAX"}


def key_of(value: Expression, kind: a.Kind) -> Expression:
    """What a value is compared by: its number, its date as a number, its text in small letters, or itself."""
    if kind == "number":
        text = Apply("STR", (value,))
        return Apply("IF", (Apply("isNumeric", (value,)), value, _read(text, NUMBER, Apply("decimal", (text,)))))
    if kind == "time":
        return _read(_text_with_zone(value), TIME_PATTERN, Apply("dateTime", (_text_with_zone(value),)))
    if kind in {"date", "year"}:
        return date_key(value, YEAR if kind == "year" else DAY)
    return Apply("LCASE", (Apply("STR", (value,)),)) if kind == "text" else value


def is_read(value: Expression, kind: a.Kind) -> Expression:
    """Whether a value can be read as its kind, which is no text."""
    if kind == "time":
        return Apply("REGEX", (_text_with_zone(value), Literal(TIME_PATTERN)))
    return Apply("isNumeric", (key_of(value, kind),))


def _text_with_zone(value: Expression) -> Expression:
    """The text of a time; without a zone, it is UTC."""
    text = Apply("CONCAT", (Apply("STR", (value,)), Literal("Z")))
    return Apply("REPLACE", (text, Literal(f"{ZONE}Z$"), Literal("$1")))


def date_key(value: Expression, precision: Precision) -> Expression:
    """The number of a date, as precise as is asked."""
    whole = Apply("CONCAT", (Apply("STR", (value,)), Literal(LESS_PRECISE)))
    kept = Apply("REPLACE", (whole, Literal(DATE_PATTERN), Literal(precision.kept)))
    return _read(whole, DATE_PATTERN, Apply("integer", (kept,)))


def _read(text: Expression, pattern: str, number: Expression) -> Expression:
    """The number that a text stands for, else the text: what it cannot be read as, Virtuoso reads as far as it can."""
    return Apply("IF", (Apply("REGEX", (text, Literal(pattern))), number, text))


def decimal(number: Decimal | Literal) -> Literal:
    """A number as a literal; a literal as it is."""
    if isinstance(number, Literal):
        return number
    return Literal(int(number)) if number == int(number) else Literal(f"{number:f}", datatype=_DECIMAL)


def read_as(end: Term | None, kind: a.Kind) -> Any:
    """Read in Python what a value is compared by; nothing where it cannot be read as its kind."""
    if kind == "item":
        return end
    if kind == "text":
        return term_text(end).lower()
    if not isinstance(end, Literal):
        return None
    if kind in {"date", "time", "year"}:
        return {"date": date_number, "time": instant_of, "year": year_of}[kind](end.value)
    if kind_of_literal(end) == "text" and not re.fullmatch(NUMBER, end.value):
        return None
    try:
        return Fraction(Decimal(end.value))
    except (InvalidOperation, ValueError, OverflowError):  # INF, and what is not of its own datatype
        return None


def term_text(term: Term | None) -> str:
    """Return the text of a term; none of a blank node, or where there is no term."""
    return term.value if isinstance(term, IRI | Literal) else ""
