"""Expressions of compiled plans: what values are compared by, calculations, summaries for each item.

Dates are compared as numbers, such as 19660301: one rule for a query and for Python, whatever the datatypes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import reduce
from typing import Any

from kgsparql.dataclasses import frozen
from kgsparql.linking.words import is_code
from kgsparql.plans import algebra as a
from kgsparql.plans.type_check import UNITS, kind_of_literal
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Expression, Group, Variable, apply, filter_by
from kgsparql.rdf.literals import MIDNIGHT, literal_kind, unit
from kgsparql.rdf.terms import IRI, XSD, Literal, Term
from kgsparql.schema.amounts import Amounts

NUMBER = "^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)$"
"""A text that is a number."""
_DECIMAL = IRI(XSD + "decimal")
_ONE = Literal("1.0", datatype=_DECIMAL)
LESS_PRECISE = "-00-00"
"""Written after a date before it is read, so that a year alone is its beginning."""
ZONE = "(Z|[+-][0-9][0-9]:[0-9][0-9])"
DATE_PATTERN = f"^(-?[0-9]{{4,}}){ZONE}?-(0[0-9]|1[0-2]){ZONE}?-([0-2][0-9]|3[01])([T ][0-9:.]+)?{ZONE}?(-00)*$"
"""A year has four digits at least: 05-06-1990 is not the 19th June of the year 5."""
TIME_PATTERN = f"^-?[0-9]{{4,}}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9.]+{ZONE}$"
_NUMBER = "[0-9]+([.][0-9]+)?"
_TIME_WORDS = "weeks?|days?|d|hours?|hrs?|h|minutes?|mins?|min|seconds?|secs?|sec|s"
# How values with an amount of time are written, and what is a text of each: months and days are not compared.
READ_PATTERNS: dict[str, str] = {
    "duration": f"^P(0+Y)?(0+M)?({_NUMBER}D)?(T({_NUMBER}H)?({_NUMBER}M)?({_NUMBER}S)?)?$"
    f"|^{_NUMBER} ?({_TIME_WORDS})((,? and |, ?| )?{_NUMBER} ?({_TIME_WORDS}))*$",
    "months": "^P([0-9]+Y)?([0-9]+M)?(0+D)?$|^[0-9]+ ?months?$"
    "|^[0-9]+ ?(years?|yrs?)((,? and |, ?| )?[0-9]+ ?months?)?$",
    "clock": "^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?$",
}
_SIGNS = {
    "duration": {"[Ww]": 604_800, "[Dd]": 86_400, "[Hh]": 3600, "[Mm]": 60, "[Ss]": 1},
    "months": {"[Yy]": 12, "[Mm]": 1},
}
"""How each part of an amount of time is marked, and what it is in the unit that these are compared in."""
_ISO_DATE = re.compile(r"-?\d{4}-\d\d(?:-\d\d(?:T.*| \d\d:\d\d:\d\d\S*)?)?\Z")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen
class Precision:
    """As much of a date as is compared: what is kept of its parts, year, month and day."""

    kept: str

    def number(self, text: str) -> int | None:
        """The number of a date; ``None`` for what is no date.

        >>> YEAR.number("1966-03-01"), YEAR.number("-0044"), YEAR.number("soon")
        (1966, -44, None)
        """
        found = re.sub(DATE_PATTERN, self.kept.replace("$", "\\"), text + LESS_PRECISE, count=1)
        return int(found) if re.fullmatch(r"-?[0-9]+", found) else None


YEAR = Precision("$1")
MONTH = Precision("$1$3")
DAY = Precision("$1$3$5")


def precision_of(value: Literal) -> Precision:
    """How precise a date is by its datatype.

    >>> from kgsparql.rdf.terms import IRI
    >>> precision_of(Literal("1966", datatype=IRI("http://www.w3.org/2001/XMLSchema#gYear"))) is YEAR
    True
    """
    return {XSD + "gYear": YEAR, XSD + "gYearMonth": MONTH}.get(value.datatype.value, DAY)


def date_number(text: str, *, like: Literal | None = None) -> int | None:
    """A date as the number that dates are compared by: of a year or a month alone, that of its beginning.

    :param like: only as precise as this date.

    >>> date_number("1966-03-01T10:00:00Z"), date_number("1966"), date_number("-0044-03-15"), date_number("1966-02Z")
    (19660301, 19660000, -440315, 19660200)
    >>> [date_number(text) for text in ("soon", "1966-13-45", "20 m", "13", "05-06-1990", "13 BC?", "1966-03-01?")]
    [None, None, None, None, None, None, None]
    """
    return (DAY if like is None else precision_of(like)).number(text)


def is_instant(value: object, kind: str = "") -> bool:
    """Whether a value is compared as an instant: a time of day, or with such; midnight alone is only a day.

    >>> is_instant(Literal("2020-01-01T10:00:00", datatype=IRI(XSD + "dateTime")))
    True
    """
    if not isinstance(value, Literal):
        return False
    is_read = value.datatype.value.startswith(XSD + "dateTime") or instant_of(value.value) is not None
    return is_read and (kind == "time" or MIDNIGHT.search(value.value.replace(" ", "T")) is None)


def instant_of(text: str) -> int | None:
    """The microseconds from 1970 to a time, which is in UTC where it says no zone.

    >>> instant_of("1970-01-01T02:00:00+02:00"), instant_of("1970-01-01T00:00:01"), instant_of("1970-01-01")
    (0, 1000000, None)
    """
    zoned = re.sub(f"{ZONE}Z$", r"\1", f"{text.replace(' ', 'T')}Z")
    try:
        found = datetime.fromisoformat(zoned) if re.match(TIME_PATTERN, zoned) else None
    except ValueError:
        return None
    return None if found is None else (found - _EPOCH) // timedelta(microseconds=1)


def coarser_pattern(value: Literal) -> str:
    """The pattern of the dates that are less precise than another one, and may be the same; empty where none are.

    >>> coarser_pattern(Literal("1966-03-01", datatype=IRI(XSD + "date")))
    '^1966(-03)?(Z|[+-][0-9][0-9]:[0-9][0-9])?$'
    """
    year, month, day = [*re.findall(r"-?[0-9]{4,}|(?<=-)[0-9]{2}", value.value.partition("T")[0]), "", "", ""][:3]
    day = f"(-{day})?" if is_instant(value) and day else ""
    if not month:
        return ""
    return f"^{year}(-{month}{day})?{ZONE}?$" if day or precision_of(value) is DAY else f"^{year}{ZONE}?$"


def as_kind(value: Term, kind: str) -> Literal | None:
    """Return a value as the literal that others are compared with as their kind; text that is a date has its datatype.

    >>> as_kind(Literal("1966-03-01"), "date").datatype.value.rpartition("#")[2], as_kind(Literal("soon"), "date")
    ('date', None)
    """
    if kind in UNITS and (amount := read_as(value, kind)) is not None:  # type: ignore[arg-type]
        return decimal(Decimal(amount.numerator) / amount.denominator)
    if not isinstance(value, Literal) or kind not in {"date", "time", "year"}:
        return value if isinstance(value, Literal) and kind not in UNITS else None
    if literal_kind(value) == "date" or date_number(value.value) is None:
        return value if date_number(value.value) is not None else None
    name = {"": "gYear", "-": "gYearMonth"}.get("".join(re.findall("(?<=[0-9])-", value.value)), "date")
    return Literal(value.value, datatype=IRI(XSD + name))


def today() -> str:
    """Write the day that it is, everywhere."""
    return datetime.now(UTC).date().isoformat()


def is_year(text: str) -> bool:
    """Tell whether a text may be a year."""
    return text.isdecimal() and len(text) == 4


def kind_at_end(ends: Sequence[Term]) -> a.Kind:
    """What most ends are read as; text that is a number, or a date, is one.

    >>> kind_at_end([Literal("12"), Literal("7.5")]), kind_at_end([Literal("a")]), kind_at_end([IRI("http://e.org/a")])
    ('number', 'text', 'item')
    >>> kind_at_end([Literal("12"), Literal("012")])
    'text'
    """
    if Literal not in {*map(type, ends)}:
        return "item"
    kinds = Counter(map(_kind_of_end, ends))
    if kinds["number"] and any(map(_has_zeros, ends)):
        return "text"
    (most, number), *_ = kinds.most_common(1)
    if most == "date" and 2 * sum(map(is_instant, ends)) > number:
        return "time"
    return most if number * 2 > len(ends) or most == "item" else "text"


def _has_zeros(end: Term) -> bool:
    """Tell whether a text begins with zeros that no number has: it is a code, as all are that stand beside it."""
    return isinstance(end, Literal) and kind_of_literal(end) == "text" and is_code(end.value) and end.value.isdecimal()


def _kind_of_end(end: Term) -> a.Kind:
    if not isinstance(end, Literal):
        return "item"
    kind = kind_of_literal(end)
    if kind != "text":
        return kind
    amounts: tuple[a.Kind, ...] = ("duration", "months", "clock")
    if found := [one for one in amounts if re.search(READ_PATTERNS[one], end.value) and re.search("[0-9]", end.value)]:
        return found[0]
    if end.language is not None:
        return kind
    return "date" if _ISO_DATE.match(end.value) else "number" if _PLAIN_NUMBER.match(end.value) else "text"


@frozen
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
        whole = apply("ROUND", apply("*", one.key, power))
        value = apply("/", apply("*", whole, _ONE), power)
        return Measured(one.group, value, value)
    group = (*one.group, *other.group)
    if operator == "years":
        days = apply("-", one.key, other.key)  # 20100301 less 19500201: the birthday was
        value = apply("FLOOR", apply("/", apply("*", days, _ONE), 10_000))
    elif operator != "/":
        value = apply(operator, one.key, other.key)
    else:
        is_zero, is_none = (apply("=", side.key, 0) for side in (other, one))
        quotient = apply("/", apply("*", one.key, _ONE), apply("IF", is_zero, 1, other.key))
        group, value = (*group, filter_by("!", is_zero)), apply("IF", is_none, 0, quotient)
    return Measured(group, value, value)


def each_of(by: Variable, into: Variable, summary: g.Aggregate, group: Group) -> g.Select:
    """A sub-select with a row for each term of a variable. rdflib gives an empty row where there is none."""
    some = apply(">", g.Aggregate("COUNT", summary.of), 0)
    return g.Select((by, (into, summary)), group, group_by=(by,), having=some)


def distinct_values(by: tuple[Variable, ...], value: Variable, found: Measured, members: Group) -> g.Select:
    """A sub-select with a row for each value that is measured of each of these terms."""
    return g.Select((*by, *found.holders, (value, found.key)), (*members, *found.group), distinct=True)


AGGREGATES: dict[a.Summary, g.Aggregation] = {"sum": "SUM", "avg": "AVG", "min": "MIN", "max": "MAX"}


def key_of(value: Expression, kind: a.Kind) -> Expression:
    """What a value is compared by: its number, its date as a number, its text in small letters, or itself."""
    text = apply("STR", value)
    if kind == "number":
        return apply("IF", apply("isNumeric", value), value, _read(text, NUMBER, apply("decimal", text)))
    if kind == "time":
        return _read(_text_with_zone(value), TIME_PATTERN, apply("dateTime", _text_with_zone(value)))
    if kind in {"date", "year"}:
        return date_key(value, YEAR if kind == "year" else DAY)
    if kind in _SIGNS:
        parts = list[Expression]()
        for sign, factor in _SIGNS[kind].items():
            pattern = Literal(_part_pattern(sign))
            number = apply("decimal", apply("REPLACE", text, pattern, "$2"))
            known = apply("IF", apply("REGEX", text, pattern), number, 0)
            parts.append(apply("*", known, factor))
        return reduce(lambda one, other: apply("+", one, other), parts)
    if kind == "clock":
        return text
    return apply("LCASE", text) if kind == "text" else value


def is_read(value: Expression, kind: a.Kind) -> Expression:
    """Whether a value can be read as its kind, which is no text."""
    if kind == "time":
        return apply("REGEX", _text_with_zone(value), TIME_PATTERN)
    if kind in READ_PATTERNS:
        return apply("REGEX", apply("STR", value), READ_PATTERNS[kind])
    return apply("isNumeric", key_of(value, kind))


def in_one_unit(amounts: Amounts, value: Expression, its: Variable, asked: str) -> tuple[Expression, Expression]:
    """What a value is in one unit, and whether that is known; an amount of time may be written as a duration, too."""
    key, is_known = amounts.in_one_unit(value, its, asked)
    into = unit(asked or amounts.sign)
    if into.kind != unit("s").kind:
        return key, is_known
    is_such, size = is_read(value, "duration"), decimal(into.factor)
    return apply("IF", is_such, apply("/", key_of(value, "duration"), size), key), apply("||", is_such, is_known)


def _part_pattern(sign: str) -> str:
    """The pattern of which ``$2`` is the number before a sign, the last one: minutes stand behind months."""
    return f"^(.*[^0-9.])?({_NUMBER}) ?{sign}.*$"


def _text_with_zone(value: Expression) -> Expression:
    """The text of a time; without a zone, it is UTC."""
    text = apply("REPLACE", apply("STR", value), " ", "T")  # as databases write it
    return apply("REPLACE", apply("CONCAT", text, "Z"), f"{ZONE}Z$", "$1")


def date_key(value: Expression, precision: Precision) -> Expression:
    """The number of a date, as precise as is asked."""
    whole = apply("CONCAT", apply("STR", value), LESS_PRECISE)
    kept = apply("REPLACE", whole, DATE_PATTERN, precision.kept)
    return _read(whole, DATE_PATTERN, apply("integer", kept))


def _read(text: Expression, pattern: str, number: Expression) -> Expression:
    """The number that a text stands for, else the text: what it cannot be read as, Virtuoso reads as far as it can."""
    return apply("IF", apply("REGEX", text, pattern), number, text)


def decimal(number: Decimal | Literal) -> Literal:
    """A number as a literal; a literal as it is."""
    if isinstance(number, Literal):
        return number
    return Literal(int(number)) if number == int(number) else Literal(f"{number:f}", datatype=_DECIMAL)


_READERS: dict[str, Callable[[str], int | None]] = {"date": date_number, "time": instant_of, "year": YEAR.number}


def read_as(end: Term | None, kind: a.Kind) -> Any:
    """Read in Python what a value is compared by; nothing where it cannot be read as its kind."""
    if kind == "item":
        return end
    if kind == "text":
        return term_text(end).lower()
    pattern = READ_PATTERNS.get(kind, NUMBER if isinstance(end, Literal) and kind_of_literal(end) == "text" else "")
    if not isinstance(end, Literal) or (kind not in _READERS and not re.search(pattern, end.value)):
        return None
    if kind in _READERS:
        return _READERS[kind](end.value)
    if kind in _SIGNS:
        found = ((re.match(_part_pattern(sign), end.value), own) for sign, own in _SIGNS[kind].items())
        return sum((Fraction(said[2]) * own for said, own in found if said), Fraction())
    if kind == "clock":
        return end.value
    try:
        return Fraction(Decimal(end.value))
    except (InvalidOperation, ValueError, OverflowError):  # INF, and what is not of its own datatype
        return None


def term_text(term: Term | None) -> str:
    """Return the text of a term; none of a blank node, or where there is no term."""
    return term.value if isinstance(term, IRI | Literal) else ""
