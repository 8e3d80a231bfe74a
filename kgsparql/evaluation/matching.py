"""When an answer that was given is a right one: terms by what they say, names only where there is no term.

- IRIs are equal code point by code point.
- Literals are equal by value, whatever their datatype: ``"1"^^xsd:integer``, ``"1.0"^^xsd:decimal`` and ``"1"`` are one
  number, ``true`` is the boolean ``1``, instants are compared as such, and ``"1965"`` is a year too. A date is no
  dateTime, one with a time zone is never equal to one without, and a code with a zero before it is no number.
- Numbers are also equal that differ by less than a millionth, unless both are whole: engines divide to other digits.
- Other texts are compared in Unicode's NFC form, with their case, whatever their language.
- Where a side has only a name, names are compared: NFC, case folded, white space as one space, whole names only; or the
  values that they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from math import isclose, isfinite

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer
from kgsparql.rdf.terms import XSD, Literal, parse_term

NEAR = 1e-6  # numbers that differ by less than this share of them are the same
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,17})?")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?")


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
    return _read_literal(term)[0] if term.startswith('"') else term or ("name", name(label))


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
        given = (("" if answer.term is None else str(answer.term), answer.label) for answer in answers)
        self._distinct = list({identity(*own): own for own in reversed([*given])}.values())[::-1]
        self._by_value: dict[Hashable, list[int]] = defaultdict(list)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for number, (term, label) in enumerate(self._distinct):
            value, own_name = _keys_of(term, label)
            self._by_value[value].append(number)
            self._by_name[own_name].append(number)

    def __len__(self) -> int:
        return len(self._distinct)

    def found(self, term: str, label: str = "") -> tuple[int, ...]:
        """Return the numbers of the right answers that a given answer is equal to; a name may be that of several.

        :param term: in N-Triples syntax; empty for an answer that is a name only.
        """
        value, own_name = _keys_of(term, label)
        called = [number for number in self._by_name.get(own_name, ()) if not (term and self._distinct[number][0])]
        found = {*self._by_value.get(value, ()), *(called if own_name else ())}
        near = (one for one in self._by_value if not found and _are_near(value, one))
        return tuple(sorted(found.union(*(self._by_value[one] for one in near))))


def _are_near(one: Hashable, other: Hashable) -> bool:
    """Tell whether two values are numbers that differ by less than a millionth, and not both whole."""
    match one, other:
        case ("number", Decimal() as x), ("number", Decimal() as y) if isfinite(x) and isfinite(y):
            return isclose(x, y, rel_tol=NEAR) and not (x == round(x) and y == round(y))
    return False


def _keys_of(term: str, label: str) -> tuple[Hashable, str]:
    """Return what an answer is, and what it is called; what a name is, is the value that it may be."""
    if term.startswith('"'):
        value, text = _read_literal(term)
        return value, name(text)
    return term or (_value_of(label) if label else None), name(label)


@lru_cache(maxsize=1 << 16)
def _read_literal(term: str) -> tuple[Hashable, str]:
    """Read the value and the text of a literal in N-Triples syntax; a text that is none is equal only to itself."""
    try:
        literal = parse_term(term)
    except InputError:
        literal = None
    if not isinstance(literal, Literal):
        return ("no literal", term), ""
    return _value_of(literal.value, is_boolean=literal.datatype.value == f"{XSD}boolean"), literal.value


def _value_of(text: str, *, is_boolean: bool = False) -> tuple[str, Hashable]:
    """Return the value that a text says: a truth, a number of any size and never rounded, an instant, or the text.

    >>> _value_of("+1.50") == _value_of("15e-1"), _value_of("007"), _value_of("1e")
    (True, ('text', '007'), ('text', '1e'))
    >>> _value_of("2000-01-01T00:00:00Z") == _value_of("1999-12-31T19:00:00.0-05:00"), _value_of("2020-02-31")
    (True, ('text', '2020-02-31'))
    """
    bare = text.strip(" \t\r\n")
    if bare in {"true", "false"} or (is_boolean and bare in {"1", "0"}):
        return "boolean", bare in {"true", "1"}
    if _NUMBER.fullmatch(bare):
        return "number", Decimal(bare)
    if found := _DATE.fullmatch(bare):
        day, time, zone = found.groups()
        try:
            return "dateTime" if time else "date", datetime.fromisoformat(f"{day}{time or 'T00:00:00'}{zone or ''}")
        except ValueError:  # a day of no calendar
            pass
    return "text", unicodedata.normalize("NFC", text)
