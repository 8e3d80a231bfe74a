"""English words that ask for something to be computed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kgsparql.linking.answer_type import YES_NO

if TYPE_CHECKING:
    from kgsparql.plans import algebra as a

ADJECTIVES: dict[str, tuple[str, bool, tuple[str, ...]]] = {}
"""Form to (`er` or `est`, whether more of it is a larger value, what may be measured)."""
DATES = ("date", "birth date", "year", "founded", "inception", "release date", "launched")
TIMES = tuple(hint for hint in DATES if hint != "birth date")
"""Of what was first or last, which is not when somebody was born."""
for _forms, _larger, _hints in (
    ("older oldest elder eldest", False, DATES),
    ("younger youngest", True, DATES),
    ("newer newest later latest last", True, TIMES),
    ("earlier earliest first", False, TIMES),
    ("longer longest", True, ("length", "duration", "runtime", "pages")),
    ("shorter shortest", False, ("length", "duration", "runtime", "height", "pages")),
    ("taller tallest higher highest", True, ("height", "elevation")),
    ("lower lowest", False, ("height", "elevation")),
    ("heavier heaviest", True, ("weight", "mass")),
    ("lighter lightest", False, ("weight", "mass")),
    ("larger largest bigger biggest greater greatest", True, ("area", "size", "population", "amount")),
    ("smaller smallest", False, ("area", "size", "population", "amount")),
    ("cheaper cheapest", False, ("price", "cost", "amount")),
    ("pricier priciest costlier costliest", True, ("price", "cost", "amount")),
    ("faster fastest", True, ("speed",)),
    ("slower slowest", False, ("speed",)),
    ("deeper deepest", True, ("depth",)),
    ("wider widest", True, ("width",)),
    ("narrower narrowest", False, ("width",)),
    ("richer richest", True, ("net worth", "revenue", "wealth")),
    ("poorer poorest", False, ("net worth", "revenue", "wealth")),
    ("better best", True, ("rating", "score", "rank")),
    ("worse worst", False, ("rating", "score", "rank")),
):
    for _form in _forms.split():
        ADJECTIVES[_form] = ("est" if _form.endswith("st") else "er", _larger, _hints)
LONG_ADJECTIVES = {
    "expensive": ("price", "cost", "amount"),
    "recent": TIMES,
    "populous": ("population",),
    "populated": ("population",),
    "valuable": ("value", "price"),
    "dense": ("density",),
}
OF_NOUN = frozenset("most least fewest highest lowest largest smallest greatest maximum minimum biggest".split())
"""Superlatives after which a noun may say what is measured."""
NUMBERS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}
NOT_NUMBERED = frozenset({"one"})
SUMMARIES: dict[str, a.Summary] = {
    "average": "avg", "mean": "avg", "total": "sum", "sum": "sum", "combined": "sum", "altogether": "sum",
    "maximum": "max", "minimum": "min", "add": "sum",
}  # fmt: skip
ASKS_YES_NO = re.compile(YES_NO, re.IGNORECASE)
COMPARISONS: tuple[tuple[tuple[str, ...], a.Comparison], ...] = (
    (("more", "than"), ">"), (("greater", "than"), ">"), (("larger", "than"), ">"), (("bigger", "than"), ">"),
    (("over",), ">"), (("above",), ">"), (("exceeding",), ">"), (("exceeds",), ">"), (("exceed",), ">"),
    (("less", "than"), "<"), (("fewer", "than"), "<"), (("smaller", "than"), "<"), (("under",), "<"), (("below",), "<"),
    (("at", "least"), ">="), (("no", "less", "than"), ">="), (("minimum", "of"), ">="),
    (("at", "most"), "<="), (("no", "more", "than"), "<="), (("up", "to"), "<="), (("maximum", "of"), "<="),
    (("exactly",), "="),
)  # fmt: skip
YEARS: tuple[tuple[tuple[str, ...], a.Comparison], ...] = (
    (("before",), "<"), (("until",), "<="), (("till",), "<="), (("prior", "to"), "<"), (("by",), "<="),
    (("after",), ">"), (("since",), ">="), (("from",), "="), (("in",), "="), (("of",), "="), (("during",), "="),
    (("no", "later", "than"), "<="),
)  # fmt: skip
BEFORE_NUMBER = frozenset({"the", "a", "and", "give", "count", "what", "total"})
BEFORE_EACH = frozenset("does do did has have in of from at on by to with under within".split())
ABSENT = frozenset("without no not never lack lacks lacking nor neither except excluding missing unassigned".split())
NEVER_YEARS = 2100
FIRST_YEAR = 1000
SOUGHT = {"where": ("place", "location", "city", "country"), "when": ("date", "year")}
"""What is asked for by a word of its own, in words that a predicate may be called by."""
UNITS = {
    unit: names.split()[0]
    for names in (
        "s second seconds sec,min minute minutes,h hour hours,g gram grams,kg kilo kilos kilogram kilograms,"
        "t ton tons tonne tonnes,mm millimetre millimetres,cm centimetre centimetres,m metre metres meter meters,"
        "km kilometre kilometres,ft foot feet,mi mile miles,lb pound pounds"
    ).split(",")
    for unit in names.split()
}
"""Units of numbers in a question, each by its sign."""
