"""Terms as Python values, and columns of these as a pandas ``DataFrame``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from kgsparql.errors import OptionError
from kgsparql.rdf.literal_text import NUMBERS
from kgsparql.rdf.terms import IRI, Literal, Term

if TYPE_CHECKING:
    import pandas as pd

PythonValue: TypeAlias = str | int | float | bool | date | datetime | None

_XSD = "http://www.w3.org/2001/XMLSchema#"
_FRACTIONS = frozenset(_XSD + name for name in ("decimal", "double", "float"))
_ZONE = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_INT64 = range(-(2**63), 2**63)


def python_value(term: Term | None) -> PythonValue:
    """A term as Python knows it: numbers, booleans and dates as such, an IRI and every other literal as text.

    A literal that is not of its datatype, or a date that Python does not have, is text as it is written.

    >>> xsd = "http://www.w3.org/2001/XMLSchema#"
    >>> typed = [("42", "integer"), ("2.50", "decimal"), ("1", "boolean"), ("1867-11-07Z", "date"), ("-0044", "gYear")]
    >>> [python_value(Literal(text, datatype=IRI(xsd + kind))) for text, kind in typed]
    [42, 2.5, True, datetime.date(1867, 11, 7), -44]
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
    except (ValueError, KeyError):
        return term.value


def data_frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """A ``DataFrame`` of these columns; whole numbers and booleans stay what they are where some have no value.

    :raises OptionError: where pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise OptionError("a DataFrame needs pandas", hint="pip install pandas") from error
    made = {name: pd.Series(list(values), dtype=_dtype(values)) for name, values in columns.items()}
    return pd.DataFrame(made)


def _dtype(values: Sequence[Any]) -> str | None:
    """The dtype of a column; ``None`` where pandas finds it out: it would make 1867 of a column with gaps 1867.0."""
    kinds = {type(value) for value in values if value is not None}
    has_gaps = any(value is None for value in values)
    if kinds == {int} and has_gaps and all(value in _INT64 for value in values if value is not None):
        return "Int64"
    if kinds == {bool} and has_gaps:
        return "boolean"
    return "object" if len(kinds) > 1 or not kinds <= {str, int, float, bool} else None


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,4000}", text):
        raise ValueError(text)
    return int(text)


def _fraction(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)


_READERS: dict[str, Callable[[str], PythonValue]] = {
    **dict.fromkeys(NUMBERS - _FRACTIONS, _whole),
    **dict.fromkeys(_FRACTIONS, _fraction),
    f"{_XSD}gYear": lambda text: _whole(_ZONE.sub("", text)),
    f"{_XSD}boolean": {"true": True, "1": True, "false": False, "0": False}.__getitem__,
    f"{_XSD}date": lambda text: date.fromisoformat(_ZONE.sub("", text)),
    f"{_XSD}dateTime": datetime.fromisoformat,
}
