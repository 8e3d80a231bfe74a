"""What is measured of items, and numbers, in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from kgsparql.plans import algebra as a
from kgsparql.plans.phrases import THEY, Phrase, both, condition, ends
from kgsparql.plans.relation_words import Relation, many, owned, relation
from kgsparql.rdf.literals import number_text, value_text
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import Literal, Term
from kgsparql.rdf.vocabulary import LABELS

Label = Callable[[Term], str]

NUMBERS_COMPARED: dict[a.Comparison, str] = {
    "=": "is", "!=": "is not", "<": "is less than", "<=": "is at most", ">": "is more than", ">=": "is at least",
}  # fmt: skip
DATES_COMPARED: dict[a.Comparison, str] = {
    "=": "is", "!=": "is not", "<": "is before", "<=": "is not after", ">": "is after", ">=": "is not before",
}  # fmt: skip
_HOW_MANY: dict[a.Comparison, tuple[str, str]] = {
    "=": ("exactly ", ""), "!=": ("not exactly ", ""), "<": ("fewer than ", ""), "<=": ("", " or fewer"),
    ">": ("more than ", ""), ">=": ("", " or more"),
}  # fmt: skip
_SUMMARIES: dict[a.Summary, str] = {"sum": "total", "avg": "average", "min": "smallest", "max": "largest"}
_OPERATORS: dict[a.Arithmetic, str] = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
_PERCENT = 100
_YEAR = re.compile(r"(?<!light )\byear\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MeasureWords:
    """Says measures by the names of predicates.

    :param phrase: a set of items in words.
    """

    label: Label
    phrase: Callable[[a.ItemSet], Phrase]

    def relations(self, path: PropertyPath) -> list[Relation]:
        """How each step of a path is said; that the ends are read by their names is not."""
        found: list[Relation] = []
        for i, step in enumerate(path.steps):
            if step.predicate in LABELS and step.direction == "forward" and found and i == len(path.steps) - 1:
                break
            own = relation(self.label(step.predicate))
            own = own.reversed if step.direction == "inverse" else own
            found.append(replace(own, is_back=i > 0 and step.inverts(path.steps[i - 1])))
        return found

    def along(self, start: Phrase, steps: list[Relation]) -> Phrase:
        """What some steps lead to from items."""
        for step in steps:
            start = ends(start, step)
        return start

    def value(self, path: PropertyPath) -> str:
        """What stands at the end of a path from an item, as a noun: *author's date of birth*."""
        steps = self.relations(path)
        if all(step.is_noun for step in steps):
            return owned([step.text for step in steps])
        last = steps[-1]
        if path.steps[-1].direction == "inverse" and not last.is_noun:
            return self.along(THEY, steps).all_of_them
        name = last.text if last.is_noun else f"'{self.label(path.steps[-1].predicate)}'"
        return name if len(steps) == 1 else f"{name} of {self.along(THEY, steps[:-1]).as_owner}"

    def counted(self, measure: a.HowMany) -> Phrase:
        """What is counted of an item."""
        found = self.along(THEY, self.relations(measure.path))
        return found if measure.among is None else both([found, self.phrase(measure.among)])

    def measure(self, measure: a.Measure | a.Number) -> str:
        """What is measured of an item, as a noun without an article."""
        match measure:
            case a.Value(path, kind):
                noun = self.value(path)
                return f"{noun} (year)" if kind == "year" and not _YEAR.search(noun) else noun
            case a.HowMany():
                return f"number of {self.counted(measure).all_of_them}"
            case a.Summarised(summary, path):
                return f"{_SUMMARIES[summary]} {self.value(path)}"
            case a.Calculated():
                return self.calculated(measure)
            case _:
                return self.number(measure)

    def calculated(self, number: a.Calculated) -> str:
        """A calculation; a part of a number in a hundred is a percentage."""
        match number:
            case a.Calculated("*", a.Calculated("/", a.Count() as part, a.Count() as whole), a.Constant(value)) if (
                value == _PERCENT
            ):
                return f"{self.number(part)} as a percentage of {self.number(whole)}"
        left, right = (
            f"({self.measure(part)})" if isinstance(part, a.Calculated) else self.measure(part)
            for part in (number.left, number.right)
        )
        return f"{left} {_OPERATORS[number.operator]} {right}"

    def number(self, number: a.Number | a.Measure) -> str:
        """A number, with its article."""
        match number:
            case a.Count(items):
                return f"the number of {self.phrase(items).all_of_them}"
            case a.Constant(value):
                return number_text(str(value))
            case a.SummaryOf(summary, items, measure):
                return self.summary(summary, items, measure)
            case _:
                return self.measure(number)

    def summary(self, summary: a.Summary, items: a.ItemSet, measure: a.Measure) -> str:
        """One number for what is measured of a set: *the average price of the products*."""
        of, word = self.phrase(items).as_owner, self._summary_word(summary, measure)
        if isinstance(measure, a.Value | a.HowMany) and self._is_short(measure):
            if summary == "sum" and isinstance(measure, a.Value):
                return f"the sum of the {many(self.measure(measure))} of {of}"
            return f"the {word} {self.measure(measure)} of {of}"
        return f"the {'sum' if summary == 'sum' else word}, over {of}, of the {self.measure(measure)}"

    def _is_short(self, measure: a.Value | a.HowMany) -> bool:
        """Whether a measure is one noun."""
        is_whole = isinstance(measure, a.Value) or measure.among is None
        return is_whole and len(measure.path.steps) == 1 and self.relations(measure.path)[0].is_noun

    def summary_of_them(self, summary: a.Summary, measure: a.Measure) -> str:
        """One number for what is measured of the items that the sentence is about."""
        if summary == "sum" and isinstance(measure, a.Value) and len(measure.path.steps) == 1:
            return f"the sum of their {many(self.measure(measure))}"
        return f"their {self._summary_word(summary, measure)} {self.measure(measure)}"

    def _summary_word(self, summary: a.Summary, measure: a.Measure) -> str:
        in_time = {"min": "earliest", "max": "latest"} if is_time(measure, self.label) else {}
        return in_time.get(summary, _SUMMARIES[summary])

    def most(self, measure: a.Measure, *, largest: bool, are_many: bool) -> str:
        """What is true of the best: *with the largest price*.

        :param are_many: it is said of several.
        """
        if isinstance(measure, a.HowMany):
            return self._with_so_many(measure, f"the {'most' if largest else 'fewest'}", are_many=are_many)
        word = "largest" if largest else "smallest"
        if is_time(measure, self.label):
            word = "latest" if largest else "earliest"
        if isinstance(measure, a.Value) and len(measure.path.steps) > 1:
            return f"whose {self.measure(measure)} is the {word}"
        return f"with the {word} {self.measure(measure)}"

    def has_as_many(self, measure: a.HowMany, comparison: a.Comparison, value: Literal) -> str:
        """What is true of the items of which a number is counted: *with more than 5 employees*."""
        return self._with_so_many(
            measure, how_many(comparison, value.value), is_one=is_for_one(comparison, value.value)
        )

    def _with_so_many(self, measure: a.HowMany, amount: str, *, is_one: bool = False, are_many: bool = True) -> str:
        """What is true of items with so many of something: *with 5 or more employees*, *that worked at the most*."""
        steps = self.relations(measure.path)
        if len(steps) == 1 and not steps[0].is_noun and measure.among is None:
            noun = "" if steps[0].is_inverse else steps[0].object_noun
            counted = f"{amount} {noun if is_one else many(noun)}".strip()
            return condition(steps[0], Phrase(counted, counted, "amount", is_one=is_one), are_many=are_many).text
        found = self.counted(measure)
        noun = "" if found.kind == "those" else f" {found.single if is_one else found.plural}"
        return f"with {amount}{noun}{found.tail}"

    def compares(self, measure: a.Measure, comparison: a.Comparison, value: Literal | a.Measure) -> str:
        """A comparison, as what is said of a measure: *is before 1966*."""
        in_time = is_time(measure, self.label, value)
        if not isinstance(value, Literal):
            return f"{(DATES_COMPARED if in_time else NUMBERS_COMPARED)[comparison]} their {self.measure(value)}"
        if not in_time:
            return f"{NUMBERS_COMPARED[comparison]} {self.quantity(measure, value)}"
        if comparison in {">=", "<="}:
            return f"is {value_text(value)} or {'later' if comparison == '>=' else 'earlier'}"
        is_year = isinstance(measure, a.Value) and measure.kind == "year" and not _YEAR.search(self.value(measure.path))
        in_it = " in" if is_year and comparison in {"=", "!="} else ""
        return f"{DATES_COMPARED[comparison]}{in_it} {value_text(value)}"

    def quantity(self, measure: a.Measure, value: Literal) -> str:
        """A value that is compared with a measure, in its unit."""
        if isinstance(measure, a.Value) and (measure.kind != "number" or is_time(measure, self.label, value)):
            return value_text(value)
        unit = f" {measure.unit}" if isinstance(measure, a.Value | a.Summarised) and measure.unit else ""
        return f"{number_text(value.value)}{unit}"


def how_many(comparison: a.Comparison, number: str) -> str:
    """A comparison with a number of things.

    >>> how_many(">=", "12000"), how_many(">", "5")
    ('12,000 or more', 'more than 5')
    """
    if comparison == "=" and number == "0":
        return "no"
    before, after = _HOW_MANY[comparison]
    return f"{before}{number_text(number)}{after}"


def is_for_one(comparison: a.Comparison, number: str) -> bool:
    """Whether a noun after a comparison with a number of things is in the singular: *more than 1 city*."""
    return number == "1" and comparison not in {">=", "<="}


def is_time(measure: a.Measure | a.Number, label: Label, value: object = None) -> bool:
    """Whether what is measured is before or after, and not less or more: a date, or what is called a year.

    >>> from kgsparql.rdf.paths import PropertyPath
    >>> path = PropertyPath.of("http://e.org/p")
    >>> is_time(a.Value(path, "date"), lambda term: "born"), is_time(a.Value(path), lambda term: "release year")
    (True, True)
    >>> is_time(a.Value(path), lambda term: "year"), is_time(a.Value(path), lambda term: "year", Literal("5"))
    (True, False)
    """
    if isinstance(measure, a.SummaryOf):
        return measure.summary in {"min", "max"} and is_time(measure.measure, label)
    if not isinstance(measure, a.Value):
        return False
    if measure.kind != "number":
        return measure.kind in {"date", "year"}
    is_year = not isinstance(value, Literal) or re.fullmatch(r"[12]\d{3}", value.value) is not None
    return is_year and _YEAR.search(label(measure.path.steps[-1].predicate)) is not None
