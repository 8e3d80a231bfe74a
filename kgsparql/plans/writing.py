"""Plans in English: what was computed, as a person would say it, by the rules of ``english.txt``.

Nothing is left out, and a name that fits no English pattern is quoted. What is said depends on the plan and the names
in it alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import reduce
from typing import Any

from kgsparql.dataclasses import dataclass, fields, is_dataclass, replace
from kgsparql.linking.english_forms import is_past_form
from kgsparql.plans import algebra as a
from kgsparql.plans.english import (
    ANYTHING,
    THEY,
    THOSE,
    Clause,
    Phrase,
    Saying,
    both,
    either,
    leads,
    listed,
    names,
    of_class,
    reached,
)
from kgsparql.plans.list_members import without_places
from kgsparql.plans.relations import Relation, many, owned, relation
from kgsparql.rdf.literals import number_text, value_text
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import LABELS

Label = Callable[[Term], str]

UNNAMED = frozenset({"value", "number"})
"""Names of columns that say nothing."""
_BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"
_YEAR = re.compile(r"(?<!light )\byear\b", re.IGNORECASE)


def in_words(plan: a.Plan, label: Label) -> str:
    """What a plan computes.

    :param label: what a class, a predicate or an item is called.

    >>> from kgsparql.rdf.terms import IRI, Literal
    >>> city, size = IRI("http://e.org/City"), PropertyPath.of("http://e.org/size")
    >>> called = {city: "city", IRI("http://e.org/size"): "size"}.__getitem__
    >>> in_words(a.Top(a.Instances(city), a.Value(size)), called)
    'the city with the largest size'
    >>> in_words(a.Count(a.Where(a.Instances(city), a.Value(size), ">", Literal("50000"))), called)
    'the number of cities whose size is more than 50,000'
    """
    said = Writer(label).said(without_places(plan), "number" if isinstance(plan, a.ItemSet) else "")
    return f"whether {said}" if isinstance(plan, a.Condition) else said


def none_in_words(items: a.ItemSet, label: Label) -> str:
    """That a set has no items.

    >>> from kgsparql.rdf.terms import IRI
    >>> none_in_words(a.Instances(IRI("http://e.org/City")), lambda term: "city")
    'there are no cities'
    """
    return Writer(label).said(a.Not(a.Exists(items)))


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a plan in a sentence, which is written when it is its turn."""

    writer: Writer
    part: Any

    def __getattr__(self, name: str) -> _Part:
        return _Part(self.writer, getattr(self.part, name))

    def __format__(self, case: str) -> str:
        return self.writer.said(self.part, case)


@dataclass(frozen=True, slots=True)
class Writer:
    """Says sets of items, what is measured of them, and what is computed of them."""

    label: Label

    def said(self, part: Any, case: str = "") -> str:
        """A part of a plan, by the rule of its type or another one.

        >>> Writer(str).said(a.Constant(Decimal(12000)))
        '12,000'
        """
        match part:
            case a.Not(a.Exists(items)) | a.Exists(items):
                phrase = self.phrase(items)
                return str(Saying(phrase.features | ({"not"} if isinstance(part, a.Not) else set()), phrase)["Exists"])
            case a.Compares(a.Count(items), comparison, a.Constant(value)):
                return _so_many(self.phrase(items), comparison, str(value), "there")
            case a.Column() | a.GroupColumn() if not case:
                text = self.said(part.measure) if isinstance(part, a.Column) else self.said(part, "GroupColumn")
                is_named = part.name and part.name not in UNNAMED and part.name != text.strip("'")
                return f"{text} ({part.name})" if is_named else text
            case tuple():
                return listed([self.said(own) for own in part], case or "and")
            case int():
                return f"{part:,}"
            case str() | Decimal():
                return part if isinstance(part, str) else number_text(str(part))
        if isinstance(part, a.ItemSet):
            return format(self.phrase(part), case)
        return str(self._saying(part)[case or type(part).__name__])

    def _saying(self, part: Any) -> Saying:
        """What may stand in a sentence about a part that is no set of items."""
        measure = part if isinstance(part, a.Measure) else getattr(part, "measure", None)
        features, made = {*_shape(part), type(measure).__name__}, dict[str, Any]()
        timed = [part.left if isinstance(part, a.Compares) else measure]
        match measure:
            case a.Value(path) | a.Summarised(_, path):
                made["noun"] = self._noun(path)
                made["nouns"] = many(made["noun"])
                is_chained = isinstance(measure, a.Value) and len(path.steps) > 1
                features |= _so(chained=is_chained, unsaid=self._is_unsaid_year(measure))
            case a.HowMany():
                made["counted"] = self._counted(measure)
        match part:
            case a.SummaryOf() | a.GroupColumn():
                features |= _so(short=measure is not None and self._is_short(measure))
            case a.ItemTable() | a.Grouped():
                timed = [column.measure for column in part.columns if column.name == part.order_by]
                is_all, is_ordered = part.limit is None, bool(part.order_by)
                features |= _so(all=is_all, unordered=not is_ordered, several=len(part.columns) > 1)
        if isinstance(part, a.Grouped) and part.having is not None:
            made["name"], comparison, made["bound"] = part.having[0], part.having[1], self.said(part.having[2])
            features.add(comparison)
        if isinstance(part, a.Grouped | a.BestOfEach):
            made["group"] = self.phrase(a.Ends(part.items, part.key))
        features |= _so(time=any(is_time(own, self.label) for own in timed))
        return Saying(features, _Part(self, part), **made)

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
                found = self._along(self.phrase(start), self.relations(path))
                return replace(found, is_one=found.is_one and path.steps[-1].direction == "forward")
            case a.Where():
                return self._where(items)
            case a.Named(inner, word):
                return self.phrase(inner).with_clause(Clause(f'with the word "{word}" in their name'))
            case a.Has(inner, path, to):
                end = ANYTHING if to is None else self.phrase(to)
                return self.phrase(inner).with_clause(leads(self.relations(path), end))
            case a.Lacks(inner, path, to):
                return self._lacks(self.phrase(inner), path, to)
            case a.Both(sets):
                return both([self.phrase(own) for own in sets])
            case a.Either(sets):
                return either([self.phrase(own) for own in sets])
            case a.Minus(inner, without):
                phrase, left = self.phrase(inner), self.phrase(without)
                is_same = left.kind == phrase.kind == "class" and left.single == phrase.single and not left.is_plain
                return phrase.without(f"those{left.tail}" if is_same else f"{left:number}")
            case a.Top():
                return self._top(items)

    def _lacks(self, phrase: Phrase, path: PropertyPath, to: a.ItemSet | None) -> Phrase:
        (step, *further), end = self.relations(path), ANYTHING if to is None else self.phrase(to)
        is_named = end.is_plain and end.kind in {"names", "anything"}
        is_passive = step.form == "passive" and not step.is_inverse and not step.thing and is_named
        if further or not (step.is_noun or is_passive):
            return phrase.without(f"{THOSE.with_clause(leads([step, *further], end))}")
        return phrase.with_clause(Clause(Saying(step.features | end.features, step, end=end)["lacks"], end.needs_room))

    def _where(self, where: a.Where) -> Phrase:
        """The items of which a comparison is true; of two that make a range, both at once."""
        items, measure, comparison, value = where.items, where.measure, where.comparison, where.value
        match items, comparison, value:
            case a.Where(rest, other, ">=", Literal() as low), "<=", Literal() if other == measure:
                comparing = self.comparing(measure, "<=", value, lowest=self.quantity(measure, low))
                return self.phrase(rest).with_clause(self._measured(measure, comparing["range"]))
        inner = self.phrase(items)
        match measure, comparison, value:
            case a.HowMany(path, among), "=", a.Count(every) if among == every:
                clause = leads(self.relations(path), names([f"all {self.phrase(every):number}"]))
            case a.HowMany(), _, Literal():
                clause = Clause(f"with {_so_many(self._counted(measure), comparison, value.value, 'so_many')}")
            case a.Value(path), "=", Literal() if value.datatype.value == _BOOLEAN:
                clause = self._is_true(path, is_true=value.value in {"true", "1"})
            case (a.Value(path), "=", IRI()) | (a.Value(path, "text" | "item"), "=", Literal()):
                clause = leads(self.relations(path), names([self.quantity(measure, value)]))
            case _:
                clause = self._measured(measure, self.comparing(measure, comparison, value)["compared"])
        return inner.with_clause(clause)

    def _measured(self, measure: a.Measure, said: str) -> Clause:
        if not isinstance(measure, a.Value):
            return Clause(f"whose {self.said(measure)} {said}")
        *steps, last = self.relations(measure.path)
        last = last if last.is_noun else Relation("noun", f"'{self.label(measure.path.steps[-1].predicate)}'")
        return leads([*steps, last], Phrase(said, said, "said"))

    def _is_true(self, path: PropertyPath, *, is_true: bool) -> Clause:
        """What is true of items by a predicate of yes and no: *that are radioactive*, where its name says so."""
        label, steps = self.label(path.steps[-1].predicate), self.relations(path)[:-1]
        first, _, rest = label.partition(" ")
        is_done = is_past_form(rest.partition(" ")[0]) or rest.startswith("been")
        features = _so(done=is_done) | ({first.lower()} if rest else set()) | ({"yes"} if is_true else {"no"})
        clause = Clause(Saying(features, label=label, rest=rest)["true"])
        return leads(steps, THOSE.with_clause(clause)) if steps else clause

    def _top(self, top: a.Top) -> Phrase:
        """The best of a set; of a set that has clauses, *among those*."""
        inner, most = self.phrase(top.items), str(self._saying(top)["most"])
        features = inner.features | _so(long=re.search(" (?:whose|that) ", most[1:]), several=top.number > 1)
        text = Saying(features, inner=inner, most=most, number=f"{top.number:,}")["top"]
        return Phrase(text, text, "best", is_one=top.number == 1)

    # --- measures

    def relations(self, path: PropertyPath) -> list[Relation]:
        """How each step of a path is said; that the ends are read by their names is not."""
        steps = path.steps
        if len(steps) > 1 and steps[-1].predicate in LABELS and steps[-1].direction == "forward":
            steps = steps[:-1]
        found = [relation(self.label(step.predicate)) for step in steps]
        return [
            replace(own.reversed if step.direction == "inverse" else own, is_back=i > 0 and step.inverts(steps[i - 1]))
            for i, (own, step) in enumerate(zip(found, steps, strict=True))
        ]

    def _along(self, start: Phrase, steps: list[Relation]) -> Phrase:
        return reduce(reached, steps, start)

    def _noun(self, path: PropertyPath) -> str:
        """What stands at the end of a path from an item, as a noun: *author's date of birth*."""
        steps = self.relations(path)
        last = steps[-1]
        if all(step.is_noun for step in steps):
            return owned([step.text for step in steps])
        if last.is_inverse and not last.is_noun and path.steps[-1].direction == "inverse":
            return f"{self._along(THEY, steps)}"
        name = last.text if last.is_noun else f"'{self.label(path.steps[-1].predicate)}'"
        return name if len(steps) == 1 else f"{name} of {self._along(THEY, steps[:-1]):owner}"

    def _counted(self, measure: a.HowMany) -> Phrase:
        """What is counted of an item."""
        found = self._along(THEY, self.relations(measure.path))
        return found if measure.among is None else both([found, self.phrase(measure.among)])

    def _is_short(self, measure: a.Measure) -> bool:
        """Whether a measure is one noun."""
        is_whole = isinstance(measure, a.Value) or (isinstance(measure, a.HowMany) and measure.among is None)
        return is_whole and len(measure.path.steps) == 1 and self.relations(measure.path)[0].is_noun

    def _is_unsaid_year(self, measure: a.Measure) -> bool:
        is_year = isinstance(measure, a.Value) and measure.kind == "year"
        return is_year and not _YEAR.search(self._noun(measure.path))

    def comparing(self, measure: a.Measure | a.Number, comparison: a.Comparison, value: Any = None, **more: str) -> Saying:
        """What may stand in a comparison: its ``sign``, such as *is before*, or all of it as ``compared``."""
        features = {comparison} | _so(
            time=is_time(measure, self.label, value), literal=isinstance(value, Literal),
            own=isinstance(value, a.Measure), unsaid=self._is_unsaid_year(measure),
        )  # fmt: skip
        text = self.quantity(measure, value) if isinstance(value, IRI | Literal) else value and self.said(value)
        return Saying(features, value=text, **more)

    def quantity(self, measure: a.Measure | a.Number, value: IRI | Literal) -> str:
        """A value that is compared with a measure, in its unit."""
        if isinstance(value, IRI):
            return self.label(value)
        if isinstance(measure, a.Value) and (measure.kind != "number" or is_time(measure, self.label, value)):
            return value_text(value)
        return f"{number_text(value.value)} {getattr(measure, 'unit', '')}".strip()


def _shape(part: Any) -> Iterator[str]:
    """Yield the features of a part of a plan: what it is of what, how it compares, which way is best."""
    yield type(part).__name__
    for own in fields(part):
        value = getattr(part, own.name)
        if value is None or own.name in {"largest", "largest_first"}:
            yield f"no-{own.name}" if value is None else "max" if value else "min"
        elif own.name in {"operator", "comparison", "summary"} or isinstance(value, Decimal):
            yield str(value)
        elif is_dataclass(value) and own.name != "measure":
            yield from (f"{own.name}.{one}" for one in _shape(value))


def _so(**features: object) -> set[str]:
    return {name for name, is_so in features.items() if is_so}


def _so_many(phrase: Phrase, comparison: str, number: str, rule: str) -> str:
    """So many of some items: *5 or more employees*."""
    return str(Saying({comparison, number, *phrase.features}, phrase, n=number_text(number))[rule])


def is_time(measure: a.Measure | a.Number | None, label: Label, value: object = None) -> bool:
    """Whether what is measured is before or after, and not less or more: a date, or what is called a year.

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
