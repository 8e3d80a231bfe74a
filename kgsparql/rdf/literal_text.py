"""Values for a person: numbers in plain digits, dates without a time that says nothing."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from kgsparql.rdf.terms import IRI, Literal, local_name

_XSD = "http://www.w3.org/2001/XMLSchema#"
NUMBERS = frozenset(
    f"{_XSD}{name}"
    for name in (
        "integer decimal double float int long short byte nonNegativeInteger positiveInteger nonPositiveInteger "
        "negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte"
    ).split()
)
"""The datatypes of numbers."""

_OF_RDF = re.compile(r"http://www\.(?:w3\.org/(?:2001/XMLSchema|1999/02/22-rdf-syntax-ns)#|opengis\.net/)")
_MIDNIGHT = re.compile(r"T00:00:00(?:\.0+)?(?:Z|[+-]\d\d:\d\d)?$")
_DIGITS = 18
"""Of a number that is written out, at most."""


def value_text(value: Literal) -> str:
    """The value of a literal for a person; what is no number and no date is as it was written.

    >>> xsd = "http://www.w3.org/2001/XMLSchema#"
    >>> [value_text(Literal(text, datatype=IRI(xsd + "integer"))) for text in ("1209", "3005172", "+007")]
    ['1209', '3,005,172', '7']
    >>> value_text(Literal("2015-03-01T00:00:00Z", datatype=IRI(xsd + "dateTime")))
    '2015-03-01'
    >>> value_text(Literal("1.2E6", datatype=IRI("http://dbpedia.org/datatype/euro"))), value_text(Literal("0012345"))
    ('1,200,000 euro', '0012345')
    """
    kind = value.datatype.value
    if kind == f"{_XSD}dateTime":
        return _MIDNIGHT.sub("", value.value)
    if kind in NUMBERS:
        return number_text(value.value)
    if value.language is not None or _OF_RDF.match(kind):
        return value.value
    number = number_text(value.value)
    is_number = number != value.value or value.value.isdecimal()
    return f"{number} {local_name(IRI(kind))}" if is_number else value.value


def number_text(text: str) -> str:
    """A number in plain digits, grouped from five before the point on; the same text if it is none, or very long.

    >>> number_text("3005172"), number_text("1850"), number_text("2.50"), number_text("many")
    ('3,005,172', '1850', '2.5', 'many')
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite() or len(text) > _DIGITS or not -_DIGITS < number.adjusted() < _DIGITS:
        return text
    shown = f"{number:f}"
    whole = shown.partition(".")[0].lstrip("-")
    shown = f"{number:,f}" if len(whole) > len("9999") else shown
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
