"""Sets of items, what is measured of them, and numbers, in words: by the names of classes, predicates and items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from kgsparql.dataclasses import dataclass, replace
from kgsparql.linking.english_forms import is_past_form
from kgsparql.plans import algebra as a
from kgsparql.plans.phrases import (
    NOT_BACK,
    THEY,
    THOSE,
    Clause,
    Phrase,
    Relation,
    behind,
    both,
    condition,
    ends,
    many,
    names,
    of_class,
    one,
    owned,
    relation,
)  # fmt: skip
from kgsparql.rdf.literals import number_text, value_text
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, Term
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
_BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"
_NAMED_KINDS = 4
"""Classes with one last word, as kinds of sensors, of which each is named; of more, only how many."""
_YEAR = re.compile(r"(?<!light )\byear\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SetWords:
    """Says sets of items and what is measured of them."""

    label: Label

    # --- sets

    def phrase(self, items: a.ItemSet) -> Phrase:  # noqa: PLR0911 - one arm a form
        """A set of items."""
        match items:
            case a.Instances(of):
                return of_class(self.label(of))
            case a.Items(terms):
                nodes = Counter(map(self.label, terms))
                return names([name if n == 1 else f"{name} ({n} nodes)" for name, n in nodes.items()])
            case a.Ends(start, path):
                found = self.along(self.phrase(start), self.relations(path))
                return replace(found, is_one=found.is_one and path.steps[-1].direction == "forward")
            case a.Where():
                return self._where(items)
            case a.Named(inner, word):
                return self.phrase(inner).with_clause(Clause(f'with the word "{word}" in their name'))
            case a.Has(inner, path, to):
                return self._has(self.phrase(inner), path, to)
            case a.Lacks(inner, path, to):
                return self._lacks(self.phrase(inner), path, to)
            case a.Both(sets):
                return both([self.phrase(own) for own in sets])
            case a.Either(sets):
                return _either([self.phrase(own) for own in sets])
            case a.Minus(inner, without):
                phrase, left = self.phrase(inner), self.phrase(without)
                is_same = left.kind == phrase.kind == "class" and left.single == phrase.single and not left.is_plain
                return phrase.without(f"those{left.tail}" if is_same else left.own_number)
            case a.Top():
                return self._top(items)

    def _has(self, phrase: Phrase, path: PropertyPath, to: a.ItemSet | None) -> Phrase:
        steps = self.relations(path)
        last = steps[-1]
        if to is not None:
            return phrase.with_clause(leads(steps, self.phrase(to)))
        if not last.is_noun:
            thing = of_class(last.object_noun) if last.object_noun and not last.is_inverse else names(["something"])
            return phrase.with_clause(leads(steps, thing))
        has = one(last.text)
        if len(steps) > 1 and steps[-2].is_noun:
            return phrase.with_clause(says(steps[:-1], f"has {has}"))
        clause = Clause(f"with another {last.text}" if last.is_back else f"with {has}")
        return phrase.with_clause(_behind_steps(steps[:-1], clause))

    def _lacks(self, phrase: Phrase, path: PropertyPath, to: a.ItemSet | None) -> Phrase:
        steps = self.relations(path)
        end = None if to is None else self.phrase(to)
        if len(steps) == 1 and steps[0].is_noun:
            noun = steps[0].text
            if end is None:
                return phrase.with_clause(Clause(f"without {one(noun)}"))
            if end.kind == "names" and end.is_plain:
                return phrase.with_clause(Clause(f"without {end.as_one_of} as {noun}"))
            return phrase.with_clause(Clause(f"without {one(noun)} that is {end.as_one_of}", end.needs_room))
        end = end or names(["anything"])
        is_passive = len(steps) == 1 and steps[0].form == "passive" and not steps[0].is_inverse
        if is_passive and end.kind == "names" and end.is_plain and not steps[0].object_noun:
            return phrase.with_clause(Clause(f"not {condition(steps[0], end).text}"))
        return phrase.without(self._has(THOSE, path, to).all_of_them)

    def _where(self, where: a.Where) -> Phrase:
        """The items of which a comparison is true; of two that make a range, both at once."""
        items, measure, comparison, value = where.items, where.measure, where.comparison, where.value
        inner = self.phrase(items)
        match items, where:
            case a.Where(rest, m, ">=", Literal() as low), a.Where(_, _, "<=", Literal() as high) if m == measure:
                lowest, highest = self.quantity(measure, low), self.quantity(measure, high)
                return self.phrase(rest).with_clause(self._measured(measure, f"is from {lowest} to {highest}"))
        match measure, comparison, value:
            case a.HowMany(path, among), "=", a.Count(all_items) if among == all_items:
                every = names([f"all {self.phrase(all_items).own_number}"])
                return inner.with_clause(leads(self.relations(path), every))
        if isinstance(measure, a.HowMany) and isinstance(value, Literal):
            amount, is_one = how_many(comparison, value.value), is_for_one(comparison, value.value)
            return inner.with_clause(Clause(self._with_so_many(measure, amount, is_one=is_one)))
        if isinstance(value, IRI):
            return inner.with_clause(self._is_item(measure, comparison, names([self.label(value)])))
        if isinstance(measure, a.Value) and isinstance(value, Literal):
            if value.datatype.value == _BOOLEAN and comparison == "=":
                return inner.with_clause(self._is_true(measure.path, is_true=value.value in {"true", "1"}))
            if measure.kind in {"text", "item"}:
                return inner.with_clause(self._is_item(measure, comparison, names([value.value])))
        return inner.with_clause(self._measured(measure, self.compares(measure, comparison, value)))

    def _measured(self, measure: a.Measure, said: str) -> Clause:
        if not isinstance(measure, a.Value):
            return Clause(f"whose {self.measure(measure)} {said}")
        steps = self.relations(measure.path)
        if steps[-1].is_noun:
            return says(steps, said)
        return _behind_steps(steps[:-1], Clause(f"whose '{self.label(measure.path.steps[-1].predicate)}' {said}"))

    def _is_item(self, measure: a.Measure, comparison: a.Comparison, item: Phrase) -> Clause:
        if comparison == "=" and isinstance(measure, a.Value):
            return leads(self.relations(measure.path), item)
        return self._measured(measure, f"{NUMBERS_COMPARED[comparison]} {item.single}")

    def _is_true(self, path: PropertyPath, *, is_true: bool) -> Clause:
        """What is true of items by a predicate of yes and no: *that are radioactive*, where its name says so."""
        label = self.label(path.steps[-1].predicate)
        first, _, rest = label.partition(" ")
        clause = Clause(f"where '{label}' is {'yes' if is_true else 'no'}")
        not_ = "" if is_true else " not"
        if rest and first.lower() == "is":
            clause = Clause(f"that are{not_} {rest}")
        elif rest and first.lower() == "has":
            is_done = is_past_form(rest.split()[0]) or rest.split()[0] == "been"
            clause = Clause(f"that have{not_} {rest}" if is_done or is_true else f"that do not have {rest}")
        return _behind_steps(self.relations(path)[:-1], clause)

    def _top(self, top: a.Top) -> Phrase:
        """The best of a set; of a set that has clauses, *among those*."""
        inner = self.phrase(top.items)
        most = self.most(top.measure, largest=top.largest)
        among = ", among" if re.search(" (?:whose|that) ", most[1:]) else " among"
        count = "" if top.number == 1 else f"{top.number:,} "
        head = f"{count}{inner.single if top.number == 1 else inner.plural}"
        if inner.is_plain and (inner.kind == "class" or (inner.kind == "ends" and not inner.is_open)):
            text = f"the {head} {most}"
        elif inner.kind == "class" and inner.clauses:
            text = f"the {head} {most}{among} those{inner.tail}"
        else:
            text = f"the {count or 'one '}{most}{among} {inner.definite}"
        return Phrase(text, text, "best", is_one=top.number == 1)

    # --- measures

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
        """What is measured of an item, as a noun without an article; a number of a set, with its own."""
        match measure:
            case a.Value(path, kind):
                noun = self.value(path)
                return f"{noun} (year)" if kind == "year" and not _YEAR.search(noun) else noun
            case a.HowMany():
                return f"number of {self.counted(measure).all_of_them}"
            case a.Summarised(summary, path):
                return f"{_SUMMARIES[summary]} {self.value(path)}"
            case a.Calculated():
                return self._calculated(measure)
            case a.Count(items):
                return f"the number of {self.phrase(items).all_of_them}"
            case a.Constant(value):
                return number_text(str(value))
            case a.SummaryOf(summary, items, inner):
                return self._summary(summary, items, inner)

    def _calculated(self, number: a.Calculated) -> str:
        """A calculation; a part of a number in a hundred is a percentage."""
        match number:
            case a.Calculated("round", own, a.Constant(digits)):
                return f"{self.measure(own)}, rounded to {digits} digit{'s' * (digits != 1)}"
            case a.Calculated("*", a.Calculated("/", a.Count() as part, a.Count() as whole), a.Constant(value)) if (
                value == _PERCENT
            ):
                return f"{self.measure(part)} as a percentage of {self.measure(whole)}"
        left, right = (
            f"({self.measure(part)})" if isinstance(part, a.Calculated) else self.measure(part)
            for part in (number.left, number.right)
        )
        return f"{left} {_OPERATORS[number.operator]} {right}"

    def _summary(self, summary: a.Summary, items: a.ItemSet, measure: a.Measure) -> str:
        """One number for what is measured of a set: *the average price of the products*."""
        of, word = self.phrase(items).as_owner, self.summary_word(summary, measure)
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
        return f"their {self.summary_word(summary, measure)} {self.measure(measure)}"

    def summary_word(self, summary: a.Summary, measure: a.Measure) -> str:
        """The word for one number of several: *average*, *latest*."""
        in_time = {"min": "earliest", "max": "latest"} if is_time(measure, self.label) else {}
        return in_time.get(summary, _SUMMARIES[summary])

    def most(self, measure: a.Measure, *, largest: bool) -> str:
        """What is true of the best: *with the largest price*."""
        if isinstance(measure, a.HowMany):
            return self._with_so_many(measure, f"the {'most' if largest else 'fewest'}")
        word = self.summary_word("max" if largest else "min", measure)
        if isinstance(measure, a.Value) and len(measure.path.steps) > 1:
            return f"whose {self.measure(measure)} is the {word}"
        return f"with the {word} {self.measure(measure)}"

    def _with_so_many(self, measure: a.HowMany, amount: str, *, is_one: bool = False) -> str:
        """What is true of items with so many of something: *with 5 or more employees*."""
        found = self.counted(measure)
        noun = ("thing" if is_one else "things") if found.kind == "those" else found.single if is_one else found.plural
        return f"with {amount} {noun}{found.tail}"

    def compares(self, measure: a.Measure, comparison: a.Comparison, value: Literal | a.Measure | a.Count) -> str:
        """A comparison, as what is said of a measure: *is before 1966*."""
        in_time = is_time(measure, self.label, value)
        if not isinstance(value, Literal):
            own = "" if isinstance(value, a.Count) else "their "
            return f"{(DATES_COMPARED if in_time else NUMBERS_COMPARED)[comparison]} {own}{self.measure(value)}"
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


def leads(steps: list[Relation], end: Phrase) -> Clause:
    """What is true of the items from which some steps lead to an end; nouns in a row are owned by each other."""
    nouns = len(steps) - max((i + 1 for i, step in enumerate(steps) if not step.is_noun), default=0)
    before = steps[: len(steps) - max(nouns, 1)]
    run = steps[len(before) :]
    last = replace(steps[-1], text=owned([step.text for step in run]), is_back=any(step.is_back for step in run))
    if not before:
        return condition(last, end)
    is_end = last.is_inverse and not last.is_back
    return leads(before, ends(end, last.reversed) if is_end else THOSE.with_clause(condition(last, end)))


def says(steps: list[Relation], said: str) -> Clause:
    """What is said of that to which some steps lead: *whose author's date of birth is before 1950*."""
    last = max((i + 1 for i, step in enumerate(steps) if not step.is_noun), default=0)
    back = NOT_BACK if any(step.is_back for step in steps[last:]) else ""
    return _behind_steps(steps[:last], Clause(f"whose {owned([step.text for step in steps[last:]])} {said}{back}"))


def _behind_steps(steps: list[Relation], clause: Clause) -> Clause:
    """What is true of the items from which some steps lead to what a clause is true of."""
    return leads(steps, THOSE.with_clause(clause)) if steps else clause


def _either(phrases: list[Phrase]) -> Phrase:
    heads = {(phrase.kind, phrase.single) for phrase in phrases}
    first = phrases[0]
    if len(heads) == 1 and all(len(p.clauses) == 1 and not p.exceptions and not p.is_open for p in phrases):
        clauses = [phrase.clauses[0] for phrase in phrases]
        said = " or ".join(behind(clause.text) if i else clause.text for i, clause in enumerate(clauses))
        return replace(first, clauses=(Clause(said, any(clause.is_open for clause in clauses), is_choice=True),))
    last = {phrase.own_number.split()[-1].removesuffix("s") for phrase in phrases}
    if len(phrases) > _NAMED_KINDS and len(last) == 1 and all(phrase.kind == "class" for phrase in phrases):
        text = f"{last.pop()}s of {len(phrases)} kinds"
        return Phrase(text, text, "best")
    comma = "" if all(phrase.is_plain for phrase in phrases) else ","
    text = f"{comma} or ".join(phrase.own_number for phrase in phrases)
    return Phrase(text, text, "best")


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
        return measure.kind in {"date", "time", "year"}
    is_year = not isinstance(value, Literal) or re.fullmatch(r"[12]\d{3}", value.value) is not None
    return is_year and _YEAR.search(label(measure.path.steps[-1].predicate)) is not None
