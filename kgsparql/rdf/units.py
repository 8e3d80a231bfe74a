"""Units by their signs, and the numbers of one in another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from kgsparql.dataclasses import frozen
from kgsparql.resources import packaged_toml

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
