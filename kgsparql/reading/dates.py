"""Dates that words of a question say: ``14 March 1879``, ``March 1879``, ``1879-03-14``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from kgsparql.rdf.terms import IRI, Literal
from kgsparql.reading.lexicon import Lexicon

_XSD = "http://www.w3.org/2001/XMLSchema#"


def date_at(words: Sequence[str], at: int, language: Lexicon) -> tuple[Literal, int] | None:
    """Return the date that begins at a word, and how many words say it; None where none does.

    >>> from kgsparql.reading.lexicon import lexicon
    >>> date_at("born on 14 march 1879".split(), 2, lexicon())[0].value
    '1879-03-14'
    >>> date_at("in march 1879".split(), 1, lexicon())[0].value
    '1879-03'
    >>> date_at("the 14th of march 1879".split(), 1, lexicon())[1]
    4
    >>> date_at(["1879", "03", "14"], 0, lexicon())[0].value, date_at("31 april 1900".split(), 0, lexicon())
    ('1879-03-14', None)
    """
    said = list(words[at : at + 4])
    if said[1:2] and said[1] in language.of_words:
        found, length = _in_order([said[0], *said[2:]], language), 4
    else:
        found, length = _in_order(said[:3], language), 3
    if found is None and said[:1] and said[0] in language.months and said[1:2] and _is_year(said[1]):
        return Literal(f"{said[1]}-{language.months[said[0]]:02}", datatype=IRI(_XSD + "gYearMonth")), 2
    return None if found is None else (Literal(found.isoformat(), datatype=IRI(_XSD + "date")), length)


def _in_order(said: Sequence[str], language: Lexicon) -> date | None:
    """Return the day that three words say, in one of the usual orders."""
    if len(said) < 3:
        return None
    one, two, three = said
    for day, month, year in ((one, two, three), (two, one, three), (three, two, one)):
        number = language.months.get(month, int(month) if _is_year(one) and month.isdecimal() else 0)
        known = next((day.removesuffix(end) for end in language.day_endings if day.endswith(end)), day)
        if known.isdecimal() and len(known) < 3 and number and _is_year(year):
            try:
                return date(int(year), number, int(known))
            except ValueError:  # the 31st of April
                return None
    return None


def _is_year(word: str) -> bool:
    return word.isdecimal() and len(word) == 4
