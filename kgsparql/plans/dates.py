"""Dates as numbers, such as 19660301: one rule for a query and for Python, whatever the datatypes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgsparql.rdf.terms import Literal

_XSD = "http://www.w3.org/2001/XMLSchema#"
LESS_PRECISE = "-00-00"
"""Written after a date before it is read, so that a year alone is its beginning."""
DATE_PATTERN = "^(-?[0-9]+)Z?-(0[0-9]|1[0-2])Z?-([0-2][0-9]|3[01]).*$"


@dataclass(frozen=True, slots=True)
class Precision:
    """As much of a date as is compared: what is kept of its parts, year, month and day."""

    kept: str

    def number(self, text: str) -> int | None:
        """The number of a date; ``None`` for what is no date."""
        found = re.sub(DATE_PATTERN, self.kept.replace("$", "\\"), text + LESS_PRECISE, count=1)
        return int(found) if re.fullmatch(r"-?[0-9]+", found) else None


YEAR = Precision("$1")
MONTH = Precision("$1$2")
DAY = Precision("$1$2$3")


def precision_of(value: Literal) -> Precision:
    """How precise a date is by its datatype.

    >>> from kgsparql.rdf.terms import IRI
    >>> precision_of(Literal("1966", datatype=IRI("http://www.w3.org/2001/XMLSchema#gYear"))) is YEAR
    True
    """
    return {_XSD + "gYear": YEAR, _XSD + "gYearMonth": MONTH}.get(value.datatype.value, DAY)


def date_number(text: str, *, like: Literal | None = None) -> int | None:
    """A date as the number that dates are compared by: of a year or a month alone, that of its beginning.

    :param like: only as precise as this date.

    >>> date_number("1966-03-01T10:00:00Z"), date_number("1966"), date_number("-0044-03-15"), date_number("1966-02Z")
    (19660301, 19660000, -440315, 19660200)
    >>> date_number("soon"), date_number("1966-13-45"), date_number("20 m")
    (None, None, None)
    """
    return (DAY if like is None else precision_of(like)).number(text)


def year_of(text: str) -> int | None:
    """The year of a date.

    >>> year_of("1966-03-01"), year_of("-0044"), year_of("soon")
    (1966, -44, None)
    """
    return YEAR.number(text)
