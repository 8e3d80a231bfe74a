"""Values for a person: numbers in plain digits, dates without a time that says nothing, and units; and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import Literal as OneOf

from kgsparql.dataclasses import frozen
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import IRI, XSD, Literal, Term, local_name
from kgsparql.resources import packaged_toml

if TYPE_CHECKING:
    import pandas as pd


EXACT_NUMBERS = frozenset(
    f"{XSD}{name}"
    for name in """decimal integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger
    negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte""".split()
)
FLOATS = frozenset((f"{XSD}double", f"{XSD}float"))
NUMBERS = EXACT_NUMBERS | FLOATS
"""The datatypes of numbers."""
_OF_DATES, _BOOLEAN = (f"{XSD}date", f"{XSD}gYear"), f"{XSD}boolean"
_TIME_TYPES = ("dateTime", "date", "time", "duration", "dayTimeDuration", "yearMonthDuration")
RESPELT = EXACT_NUMBERS | {f"{XSD}{name}" for name in _TIME_TYPES}
"""The datatypes of what the engine writes in its own way, where the spelling of a file may say more: 1.10, 01234."""


def literal_kind(value: Literal) -> OneOf["number", "boolean", "date", "text"]:
    """Tell what a literal is by its datatype; a year is a date, too."""
    name = value.datatype.value
    if name in NUMBERS:
        return "number"
    return "date" if name.startswith(_OF_DATES) else "boolean" if name == _BOOLEAN else "text"


def plain_text(value: Literal) -> str:
    """Return the text of a label, without the tags of ``rdf:HTML`` and ``rdf:XMLLiteral``."""
    if not value.datatype.value.endswith(("#HTML", "#XMLLiteral")):
        return value.value
    from html import unescape

    return unescape(re.sub("<[^<>]*>", "", value.value))


OF_RDF = re.compile(
    r"http://www\.(?:w3\.org/(?:2001/XMLSchema|1999/02/22-rdf-syntax-ns)#|opengis\.net/)|https?://schema\.org/"
)  # schema.org types dates so: Date
MIDNIGHT = re.compile(r"T00:00:00(?:\.0+)?(?:Z|[+-]\d\d:\d\d)?$")
_DURATIONS = frozenset(f"{XSD}{name}" for name in ("duration", "dayTimeDuration", "yearMonthDuration"))
_DURATION = re.compile(r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$")
_DURATION_SIGNS = ("years", "months", "days", "h", "min", "s")
_MAX_DIGITS = 18
_ODD_NUMBER = re.compile(
    r"\+|-?0\d|-?\d{1,4}\.\d*0\Z"
)  # with signs or zeros that its value does not need: a code, a version


def value_text(value: Literal, label: str = "") -> str:
    """Write the value of a literal for a person; what is no number and no date stays as it is.

    :param label: how the graph writes it, if not in the engine's way.

    >>> xsd = "http://www.w3.org/2001/XMLSchema#"
    >>> [value_text(Literal(text, datatype=IRI(xsd + "integer"))) for text in ("1209", "3005172", "+007")]
    ['1209', '3,005,172', '+007']
    >>> value_text(Literal("2015-03-01T00:00:00Z", datatype=IRI(xsd + "dateTime")))
    '2015-03-01'
    >>> value_text(Literal("1.2E6", datatype=IRI("http://dbpedia.org/datatype/euro"))), value_text(Literal("0012345"))
    ('1,200,000 euro', '0012345')
    >>> value_text(Literal("PT2H10M", datatype=IRI(xsd + "duration")))
    '2 h 10 min'
    """
    kind = value.datatype.value
    if label in {"", value.value} and kind in _DURATIONS and (parts := _DURATION.match(value.value)):
        said = [(number, sign) for number, sign in zip(parts.groups(), _DURATION_SIGNS, strict=True) if number]
        texts = (f"{n} {sign.removesuffix('s') or sign if n == '1' else sign}" for n, sign in said if n.strip("0"))
        return " ".join(texts) or " ".join(said[-1])
    if (label and label != value.value) or (kind in RESPELT and _ODD_NUMBER.match(value.value)):
        return label or value.value
    if kind == f"{XSD}dateTime":
        return MIDNIGHT.sub("", value.value)
    if kind in NUMBERS:
        return number_text(value.value)
    if value.language is not None or OF_RDF.match(kind):
        return value.value
    number = number_text(value.value)
    is_number = number != value.value or value.value.isdecimal()
    return f"{number} {local_name(IRI(kind))}" if is_number else value.value


def duration_of(number: Literal, unit: str) -> Literal:
    """Return a number of seconds or of whole months as a duration; any other as it is.

    >>> [duration_of(Literal(number), unit).value for number, unit in ((192600, "s"), (66, "month"), (3, "g"))]
    ['P2DT5H30M', 'P5Y6M', '3']
    """
    amount = Decimal(number.value) if number.datatype.value in NUMBERS else Decimal("NaN")
    if not amount.is_finite() or amount < 0 or unit not in {"s", "month"} or (unit == "month" and amount % 1):
        return number
    parts = (86_400, "DT", 3600, "H", 60, "M", 1, "S") if unit == "s" else (12, "Y", 1, "M")
    text, rest = "P", amount
    for factor, sign in zip(parts[::2], parts[1::2], strict=True):
        own = rest // factor if sign != "S" else rest.quantize(Decimal("0.001")).normalize()
        rest -= own * factor if sign != "S" else 0
        text += f"{own:f}{sign}" if own else sign[1:]
    name = "dayTimeDuration" if unit == "s" else "yearMonthDuration"
    return Literal(text.rstrip("T") if amount else f"{text}0{parts[-1]}", datatype=IRI(XSD + name))


def number_text(text: str) -> str:
    """Write a number in plain digits, grouped from five on; what is no number, or very long, stays as it is.

    >>> number_text("3005172"), number_text("1850"), number_text("2.50"), number_text("many")
    ('3,005,172', '1850', '2.5', 'many')
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite() or len(text) > _MAX_DIGITS or not -_MAX_DIGITS < number.adjusted() < _MAX_DIGITS:
        return text
    shown = f"{number:f}"
    whole = shown.partition(".")[0].lstrip("-")
    shown = f"{number:,f}" if len(whole) > len("9999") else shown
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def aligned(rows: Sequence[Sequence[str]], left: Collection[int], *, indent: str = "", rule: str = "") -> list[str]:
    """Return the lines of a table, its columns two spaces apart; those of ``left`` are aligned to the left.

    :param rule: the character of the line below the heads; none, if empty.
    """
    from rich.cells import cell_len  # counts two columns for a wide character, and none for a mark

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in [*rows[:1], *([[rule * width for width in widths]] if rule else []), *rows[1:]]:
        gaps = [" " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)]
        cells = [text + gap if i in left else gap + text for i, (text, gap) in enumerate(zip(row, gaps, strict=True))]
        lines.append(f"{indent}{'  '.join(cells)}".rstrip())
    return lines


PythonValue: TypeAlias = str | int | float | Decimal | bool | date | datetime | None

_DECIMAL = f"{XSD}decimal"
_ZONE = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_INT64 = range(-(2**63), 2**63)


def python_value(term: Term | None) -> PythonValue:
    """Give a term as Python knows it: numbers, booleans and dates as such, everything else as text.

    A literal that is not of its datatype, or a date that Python does not have, is text as it is written.

    >>> xsd = "http://www.w3.org/2001/XMLSchema#"
    >>> typed = [("42", "integer"), ("2.50", "decimal"), ("1", "boolean"), ("1867-11-07Z", "date"), ("-0044", "gYear")]
    >>> [python_value(Literal(text, datatype=IRI(xsd + kind))) for text, kind in typed]
    [42, Decimal('2.50'), True, datetime.date(1867, 11, 7), -44]
    >>> python_value(Literal("many", datatype=IRI(xsd + "integer"))), python_value(IRI("http://example.org/a"))
    ('many', 'http://example.org/a')
    """
    if not isinstance(term, Literal):
        return None if term is None else term.value if isinstance(term, IRI) else str(term)
    read = _READERS.get(term.datatype.value)
    if read is None:
        return term.value
    try:
        return read(term.value.strip())
    except (ValueError, KeyError, InvalidOperation):
        return term.value


def data_frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Make a ``DataFrame``, with decimals as ``float``; whole numbers and booleans stay where some have no value."""
    try:
        import pandas as pd
    except ImportError as error:
        raise OptionError("a DataFrame needs pandas", hint="pip install pandas") from error
    known = {name: [float(v) if isinstance(v, Decimal) else v for v in values] for name, values in columns.items()}
    return pd.DataFrame({name: pd.Series(values, dtype=_column_dtype(values)) for name, values in known.items()})


def _column_dtype(values: Sequence[Any]) -> str | None:
    """Give the dtype of a column; ``None`` where pandas finds it out, but with gaps it would make 1867.0 of 1867."""
    kinds = {type(value) for value in values if value is not None}
    has_gaps = any(value is None for value in values)
    if kinds == {int} and has_gaps and all(value in _INT64 for value in values if value is not None):
        return "Int64"
    if kinds == {bool} and has_gaps:
        return "boolean"
    return "object" if len(kinds) > 1 or not kinds <= {str, int, float, bool} else None


def _whole_number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,4000}", text):
        raise ValueError(text)
    return int(text)


_READERS: dict[str, Callable[[str], PythonValue]] = {
    **dict.fromkeys(EXACT_NUMBERS - {_DECIMAL}, _whole_number),
    **dict.fromkeys(FLOATS, lambda text: float(text.replace("_", "?"))),  # Python reads 1_000
    _DECIMAL: lambda text: Decimal(text.replace("_", "?")),
    f"{XSD}gYear": lambda text: _whole_number(_ZONE.sub("", text)),
    f"{XSD}boolean": {"true": True, "1": True, "false": False, "0": False}.__getitem__,
    f"{XSD}date": lambda text: date.fromisoformat(_ZONE.sub("", text)),
    f"{XSD}dateTime": datetime.fromisoformat,
}


_LETTERS = frozenset("AGHKLMSTVWav")  # that stand for something else, but in brackets
_NOT_WORDS = frozenset(("in", "d", "K", "week", "month", "year"))  # `born in` is no inch; one is `1 month`
_WITHOUT_SIZE = frozenset("v a hz usd eur gbp percent pct".split())


@frozen
class Scale:
    """The size of a unit: a number of it is ``(number + added) * factor`` of the base unit of its kind."""

    kind: str
    factor: Decimal
    added: Decimal = Decimal(0)


@cache
def _unit_table() -> tuple[Mapping[str, Scale], Mapping[str, str], Mapping[str, str]]:
    """Read the units, their names in vocabularies, and the words for them: both with the sign of each."""
    units, names, words = dict[str, Scale](), dict[str, str](), dict[str, str]()
    for kind, own in packaged_toml("rdf/units.toml").items():
        for sign, text in own.items():
            number, named, spelt = text.split("|")
            size, *added = re.findall(r"^[\d.]+|-[\d.]+", number)
            units[sign] = Scale(kind, Decimal(size), *map(Decimal, added))
            words |= dict.fromkeys((*[sign.lower()] * (sign not in _NOT_WORDS), *spelt.split()), sign)
            names |= dict.fromkeys(named.split(), sign)
    return units, names, words


def unit_words() -> Mapping[str, str]:
    """Return the words and signs that stand behind numbers, with the sign of the unit that each means.

    >>> unit_words()["miles"], unit_words()["kg"]
    ('mi', 'kg')
    """
    return _unit_table()[2]


def sign_of(name: str) -> str:
    """Return the sign of the unit that a text, or the name of an IRI, names; empty where it names none.

    >>> sign_of("KiloGM"), sign_of("Metres"), sign_of("°C"), sign_of("crate"), sign_of("square metre")
    ('kg', 'm', '°C', '', '')
    """
    _, names, words = _unit_table()
    return names.get(name) or words.get(name.lower().strip(".")) or (name if name in _NOT_WORDS else "")


def unit(sign: str) -> Scale:
    """Return the unit of a sign; what has no size here is a kind of its own."""
    return _unit_table()[0].get(sign) or Scale(sign, Decimal(1))


def converted(number: Decimal, one: str, into: str) -> Decimal | None:
    """Convert a number into another unit; None where these are not of one kind, or not known.

    >>> str(converted(Decimal("1.5"), "cm", "mm")), converted(Decimal(2), "kg", "cm"), converted(Decimal(2), "x", "x")
    ('15', None, Decimal('2'))
    >>> str(round(converted(Decimal(50), "°F", "°C"), 9))
    '10.000000000'
    """
    if one == into:
        return number
    own, other = unit(one), unit(into)
    return (number + own.added) * own.factor / other.factor - other.added if own.kind == other.kind else None


def ratios(one: str, into: str = "") -> set[Decimal]:
    """Return what numbers in a unit are multiplied with or divided by, for another; without that, for each of its kind.

    >>> sorted(map(str, ratios("h", "min"))), ratios("h", "kg"), Decimal(3600) in ratios("h")
    (['0.01666666666666666666666666667', '60'], set(), True)
    """
    others = (converted(Decimal(1), one, other) for other in ([into] if into else _unit_table()[0]))
    return {factor for other in others if other for factor in (other, 1 / other)}


@lru_cache(maxsize=20_000)
def unit_named(name: str) -> str:
    """Return the sign of the unit that a name of several words ends with.

    A capital alone is no unit: `Model T`, `size L`; nor is an article's letter, `vitamin a`.

    >>> [unit_named(name) for name in ("weight g", "width in mm", "height (cm)", "is a b", "located in", "Model T")]
    ['g', 'mm', 'cm', '', '', '']
    """
    words = re.findall(r"[\w']+", name)
    last = words[-1] if len(words) > 1 else ""
    is_letter = last in _LETTERS and "(" not in name
    sign = last.lower() if last.lower() in _WITHOUT_SIZE else _unit_table()[2].get(last.lower(), "")
    return "" if is_letter else sign
