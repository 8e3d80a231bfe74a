"""When an answer that was given is a right one: terms strictly, names only where there is no term.

- IRIs are equal code point by code point.
- Literals are equal by value: ``"1"^^xsd:integer``, ``"+1"^^xsd:int`` and ``"1.0"^^xsd:decimal`` are one number;
  ``true`` is ``1``; dates and times are compared as instants, and one with a time zone is never equal to one without.
  A date is no dateTime, and a year (``xsd:gYear``) is no number.
- A string without a type may be a value, since datasets have bare strings: ``"8"`` is equal to a typed 8, ``"1965"`` to
  the year and to the number. But two bare strings are equal only as strings: ``"1.0"`` is not ``"1"``.
- Strings are compared in Unicode's NFC form, with their case. A language tag counts only where both have one.
- A literal that is malformed, or of another datatype, is equal only to one that is written the same.
- Where a side has only a name, names are compared: NFC, case folded, white space as one space, whole names only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer
from kgsparql.rdf.literals import EXACT_NUMBERS, FLOATS
from kgsparql.rdf.terms import XSD, Literal, parse_term

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,17})?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_WRITTEN = {**dict.fromkeys(EXACT_NUMBERS, _INTEGER), f"{XSD}decimal": _DECIMAL}
_DATES = {f"{XSD}date": "date", f"{XSD}dateTime": "dateTime", f"{XSD}dateTimeStamp": "dateTime"}
_Value = tuple[str, Hashable]
"""A kind of values, and one of them."""
_INFINITE = "number", Decimal("Infinity")
_SPECIAL = {
    "NaN": ("number", "NaN"), "INF": _INFINITE, "+INF": _INFINITE, "-INF": ("number", Decimal("-Infinity")),
}  # fmt: skip
_BOOLEANS = {text: ("boolean", text in {"true", "1"}) for text in ("true", "1", "false", "0")}
_MET_BY_VALUE = ("name", "bare", "typed")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?")
_YEAR = re.compile(r"-?[0-9]{4,9}")


def name(text: str) -> str:
    r"""Return the key under which names are compared.

    >>> name("  Sa\u0303o   Paulo ") == name("são paulo")
    True
    """
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def identity(term: str, label: str = "") -> Hashable:
    """Return what equal terms, or names, have in common.

    :param term: in N-Triples syntax; empty for a name.

    >>> identity('"+1"^^<http://www.w3.org/2001/XMLSchema#int>')
    ('number', Decimal('1'))
    >>> identity("<http://example.org/a>")
    '<http://example.org/a>'
    """
    return _read_literal(term).value if term.startswith('"') else term or ("name", name(label))


class GoldAnswers:
    """Right answers of a question, indexed, so that finding one takes no time however many there are.

    >>> from kgsparql.rdf.terms import IRI
    >>> gold = GoldAnswers([GoldAnswer(IRI("http://e.org/p"), "Paris"), GoldAnswer(None, "8")])
    >>> gold.found("<http://e.org/p>"), gold.found("", "PARIS"), gold.found("", "Pari"), len(gold)
    ((0,), (0,), (), 2)
    >>> gold.found('"8"^^<http://www.w3.org/2001/XMLSchema#integer>')
    (1,)
    """

    def __init__(self, answers: Iterable[GoldAnswer]) -> None:
        distinct: dict[Hashable, tuple[str, str]] = {}
        for answer in answers:
            given = "" if answer.term is None else str(answer.term), answer.label
            distinct.setdefault(identity(*given), given)
        self._numbers: dict[_Key, tuple[int, ...]] = {}
        for number, given in enumerate(distinct.values()):
            for key in dict.fromkeys(_keys_of(*given)):
                self._numbers[key] = (*self._numbers.get(key, ()), number)
        self._size = len(distinct)
        self._has_names = any(not term for term, _ in distinct.values())

    def __len__(self) -> int:
        return self._size

    def found(self, term: str, label: str = "") -> tuple[int, ...]:
        """Return the numbers of the right answers that a given answer is equal to; a name may be that of several.

        :param term: in N-Triples syntax; empty for an answer that is a name only.
        """
        if term and not term.startswith('"') and not self._has_names:  # most answers
            return self._numbers.get(("iri", "iri", term), ())
        found = (self._numbers.get((other, own, key), ()) for own, other, key in _keys_of(term, label))
        return tuple(dict.fromkeys(number for numbers in found for number in numbers))


class _Literal(NamedTuple):
    """Literal for comparing.

    :param value: what equal literals have in common.
    :param text: its lexical form, in NFC.
    :param is_plain: a string without a type and a language.
    """

    value: _Value
    text: str
    is_plain: bool


_Key = tuple[str, str, "str | _Value"]
"""What an answer is, what it meets, and what both then have in common."""


def _keys_of(term: str, label: str) -> Iterator[_Key]:
    """Yield how an IRI, a name, a bare string or a typed value meets another answer, which has the same keys turned."""
    literal = _read_literal(term) if term.startswith('"') else None
    if literal is None:
        kind, text = "iri" if term else "name", label
    else:
        kind, text = "bare" if literal.is_plain else "typed", literal.text
    if key := name(text):
        yield from ((kind, other, key) for other in (["name"] if term else ["name", "iri", "bare", "typed"]))
    if kind == "iri":
        yield kind, kind, term
    elif kind != "typed":
        yield from ((kind, "typed", value) for value in _possible_values(text))
    if literal is not None:
        yield kind, "typed" if literal.is_plain else "bare", text
        yield from ((kind, other, literal.value) for other in ({kind} if literal.is_plain else _MET_BY_VALUE))


@lru_cache(maxsize=1 << 16)
def _read_literal(term: str) -> _Literal:
    """Read a literal in N-Triples syntax; a text that is none is equal only to itself."""
    try:
        literal = parse_term(term)
    except InputError:
        literal = None
    if not isinstance(literal, Literal):
        return _Literal(("no literal", term), term, is_plain=False)
    text, kind = unicodedata.normalize("NFC", literal.value), literal.datatype.value
    if literal.language is not None:
        return _Literal((f"@{literal.language.lower()}", text), text, is_plain=False)
    return _Literal(_typed_value(kind, text.strip(" \t\r\n")) or (kind, text), text, is_plain=kind == f"{XSD}string")


def _typed_value(datatype: str, text: str) -> _Value | None:
    """Return the value of a typed literal; ``None`` for an unknown datatype, or a malformed text."""
    if datatype in FLOATS:  # as the shortest decimal that stands for it; one that is too large is infinite
        return _SPECIAL.get(text) or (_number_value(text) and ("number", Decimal(repr(float(text)))))
    if datatype in _WRITTEN:
        return _number_value(text) if _WRITTEN[datatype].fullmatch(text) else None
    if datatype == f"{XSD}boolean":
        return _BOOLEANS.get(text)
    if datatype == f"{XSD}gYear":
        return _year_value(text)
    found = _date_value(text) if datatype in _DATES else None
    return found if found is not None and found[0] == _DATES[datatype] else None


@lru_cache(maxsize=1 << 14)
def _possible_values(text: str) -> tuple[_Value, ...]:
    """Return every value that a bare string may be."""
    bare = text.strip(" \t\r\n")
    boolean = _BOOLEANS[bare] if bare in {"true", "false"} else None
    found = (_number_value(bare), _SPECIAL.get(bare), boolean, _date_value(bare), _year_value(bare))
    return tuple(filter(None, found))


def _number_value(text: str) -> _Value | None:
    """Read a number: of any size, and never rounded.

    >>> _number_value("+1.50") == _number_value("0.0015e3"), _number_value("1e"), _number_value(".")
    (True, None, None)
    """
    return ("number", Decimal(text)) if _NUMBER.fullmatch(text) else None


def _year_value(text: str) -> _Value | None:
    return ("year", int(text)) if _YEAR.fullmatch(text) else None


def _date_value(text: str) -> _Value | None:
    """Read a date, or a date and time, as an instant; ``None`` for a day of no calendar, and one before our era.

    >>> _date_value("2000-01-01T00:00:00Z") == _date_value("1999-12-31T19:00:00.0-05:00"), _date_value("2020-02-31")
    (True, None)
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    day, time, zone = found.groups()
    try:
        return "dateTime" if time else "date", datetime.fromisoformat(f"{day}{time or 'T00:00:00'}{zone or ''}")
    except ValueError:
        return None
