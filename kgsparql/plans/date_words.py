"""Dates that words of an English question say: `14 March 1879`, `March 1879`, `1879-03-14`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from kgsparql.rdf.terms import IRI, Literal

_XSD = "http://www.w3.org/2001/XMLSchema#"
_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sept sep,"
        "october oct,november nov,december dec".split(","),
        1,
    )
    for name in names.split()
}
_DAY, _YEAR = re.compile(r"(\d\d?)(?:st|nd|rd|th)?"), re.compile(r"\d{4}")


def date_at(words: Sequence[str], at: int) -> tuple[Literal, int] | None:
    """The date that begins at a place, a month or a day, and how many words say it.

    >>> date_at("born on 14 march 1879".split(), 2)[0].value, date_at("in march 1879".split(), 1)[0].value
    ('1879-03-14', '1879-03')
    >>> date_at("march 14 1879".split(), 0)[0].value, date_at("the 14th of march 1879".split(), 1)[1]
    ('1879-03-14', 4)
    >>> date_at(["1879", "03", "14"], 0)[0].value, date_at("31 april 1900".split(), 0), date_at(["1879"], 0)
    ('1879-03-14', None, None)
    """
    said = list(words[at : at + 4])
    if said[1:2] == ["of"]:
        found, length = _in_order([said[0], *said[2:]]), 4
    else:
        found, length = _in_order(said[:3]), 3
    if found is None and said[:1] and said[0] in _MONTHS and said[1:2] and _YEAR.fullmatch(said[1]):
        return Literal(f"{said[1]}-{_MONTHS[said[0]]:02}", datatype=IRI(_XSD + "gYearMonth")), 2
    return None if found is None else (Literal(found.isoformat(), datatype=IRI(_XSD + "date")), length)


def _in_order(said: Sequence[str]) -> date | None:
    """The day that three words say, in one of the usual orders."""
    if len(said) < 3:
        return None
    one, two, three = said
    for day, month, year in ((one, two, three), (two, one, three), (three, two, one)):
        number = _MONTHS.get(month, int(month) if _YEAR.fullmatch(one) and month.isdecimal() else 0)
        if (known := _DAY.fullmatch(day)) and number and _YEAR.fullmatch(year):
            try:
                return date(int(year), number, int(known[1]))
            except ValueError:  # the 31st of April
                return None
    return None
