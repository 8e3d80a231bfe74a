"""Units by their signs: which one a name of a graph states, and numbers converted from one into another."""

from __future__ import annotations

import re
from decimal import Decimal

_FACTORS = {
    sign: (kind, Decimal(factor))
    for kind, own in {
        "length": "mm:.001 cm:.01 dm:.1 m:1 km:1000 in:.0254 ft:.3048 yd:.9144 mi:1609.344",
        "mass": "mg:.000001 g:.001 kg:1 t:1000 oz:.028349523125 lb:.45359237",
        "time": "ms:.001 s:1 min:60 h:3600",
        "volume": "ml:.001 cl:.01 dl:.1 l:1",
        "power": "w:1 kw:1000",
    }.items()
    for sign, _, factor in (pair.partition(":") for pair in own.split())
}
_LETTERS = frozenset("AGHLMSTVWav")  # that stand for something else, but in brackets
_STATED = _FACTORS.keys() - {"in"} | set("v a hz usd eur gbp percent pct".split())  # `born in` is no inch


def converted(number: Decimal, unit: str, into: str) -> Decimal | None:
    """Convert a number into another unit; None where these are not of one kind, or not known.

    >>> str(converted(Decimal("1.5"), "cm", "mm")), converted(Decimal(2), "kg", "cm"), converted(Decimal(2), "x", "x")
    ('15', None, Decimal('2'))
    """
    if unit == into:
        return number
    (kind, factor), (other, divisor) = (_FACTORS.get(one, (one, Decimal(1))) for one in (unit, into))
    return number * factor / divisor if kind == other else None


def ratios(unit: str, into: str = "") -> set[Decimal]:
    """Return what numbers in a unit are multiplied with or divided by, for another; without that, for each of its kind.

    >>> sorted(map(str, ratios("h", "min"))), ratios("h", "kg"), Decimal(3600) in ratios("h")
    (['0.01666666666666666666666666667', '60'], set(), True)
    """
    others = (converted(Decimal(1), unit, one) for one in ([into] if into else _FACTORS))
    return {factor for one in others if one for factor in (one, 1 / one)}


def unit_named(name: str) -> str:
    """Return the sign of the unit that a name of several words ends with.

    A capital alone is no unit: `Model T`, `size L`; nor is an article's letter, `vitamin a`.

    >>> [unit_named(name) for name in ("weight g", "width in mm", "height (cm)", "is a b", "located in", "Model T")]
    ['g', 'mm', 'cm', '', '', '']
    """
    words = re.findall(r"[\w']+", name)
    last = words[-1] if len(words) > 1 else ""
    is_letter = last in _LETTERS and "(" not in name
    return last.lower() if last.lower() in _STATED and not is_letter else ""
