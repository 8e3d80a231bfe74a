"""Plans in English: what was computed, as a person would say it, by the rules of ``english.txt``.

Nothing is left out, and a name that fits no English pattern is quoted. What is said depends on the plan and the names
in it alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from types import SimpleNamespace
from typing import Any

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.english_forms import Relation, folded, marked, relation
from kgsparql.plans import algebra as a
from kgsparql.plans.english import (
    ANYTHING,
    THEY,
    Clause,
    Phrase,
    both,
    either,
    lacking,
    leads,
    listed,
    minus,
    names,
    of_class,
    reached,
    say,
)
from kgsparql.plans.type_check import UNITS, parts, without_places
from kgsparql.rdf.literals import duration_of, number_text, value_text
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import LABELS
from kgsparql.reading.times import EVER
from kgsparql.schema.dating import ITSELF, TIME_QUALIFIERS, role_of

Label = Callable[[Term], str]

UNNAMED = frozenset({"value", "number"})
"""Names of columns that say nothing."""
_ASKED = {"start": "since when", "end": "until when", "span": "from when to when"}
_OF_ORDER = {
    ("start", False): "first", ("start", True): "last", ("end", True): "last", ("end", False): "first",
    ("years", True): "longest", ("years", False): "shortest",
}  # fmt: skip
_YEAR = re.compile(r"(?<!light )\byear\b", re.IGNORECASE)


def in_words(plan: a.Plan, label: Label) -> str:
    """What a plan computes.

    :param label: what a class, a predicate or an item is called.

    >>> city, size = IRI("http://e.org/City"), PropertyPath.of("http://e.org/size")
    >>> called = {city: "city", IRI("http://e.org/size"): "size"}.__getitem__
    >>> in_words(a.Top(a.Instances(city), a.Value(size)), called)
    'the city with the largest size'
    >>> in_words(a.Count(a.Where(a.Instances(city), a.Value(size), ">", Literal("50000"))), called)
    'the number of cities whose size is more than 50,000'
    """
    match plan:
        case a.Both((a.Ends() as ends, a.Items(terms))) if all(isinstance(one, Literal) for one in terms):
            plan = ends  # those of its labels that are in the language asked for: they are the answer, too
    said = Writer(label).said(without_places(plan), "in_number" if isinstance(plan, a.ItemSet) else "")
    return f"whether {said}" if isinstance(plan, a.Condition) else said


def none_in_words(items: a.ItemSet, label: Label) -> str:
    """That a set has no items.

    >>> from kgsparql.rdf.terms import IRI
    >>> none_in_words(a.Instances(IRI("http://e.org/City")), lambda term: "city")
    'there are no cities'
    """
    return Writer(label).said(a.Not(a.Exists(items)))


_PLACES = {"CONTAINS": "in", "STRSTARTS": "at the start of", "STRENDS": "at the end of"}


@frozen
class _Part:
    """A part of a plan in a sentence; what is in it is written when it is its turn."""

    writer: Writer
    part: Any

    def __getattr__(self, name: str) -> Any:
        return _Part(self.writer, getattr(self.part, name))

    def __getitem__(self, place: int) -> _Part:
        return _Part(self.writer, self.part[place])

    def __format__(self, case: str) -> str:
        return self.writer.said(self.part, case)


@frozen
class Writer:
    """Says sets of items, what is measured of them, and what is computed of them."""

    label: Label

    def said(self, part: Any, case: str = "") -> str:  # noqa: PLR0911 - one arm a form
        """A part of a plan, by the rule of its type; in a case that phrases have, or by another rule.

        >>> Writer(str).said(a.Constant(Decimal(12000)))
        '12,000'
        """
        match part:
            case a.Not(a.Exists() as inner):
                return self.word(inner, "none")
            case a.SummaryOf(_, items, a.When() as when):
                return self._time_said(self.phrase(items), when)
            case a.Calculated("years", left, right):
                days = (int(one.value) if isinstance(one, a.Constant) else self.said(one) for one in (left, right))
                return years_in_words(*days)
            case a.Compares(a.Count(items), comparison, a.Constant(value)):
                return _so_many("there", self.phrase(items), comparison, str(value))
            case a.Column(name) if not case:
                text = self.word(part)
                return text if name in {"", *UNNAMED, text.strip("'")} else f"{text} ({name})"
            case tuple():
                return listed([self.said(own) for own in part], case or "and")
            case int() | str():
                return part if isinstance(part, str) else f"{part:,}"
            case Decimal():
                return number_text(str(part))
        return format(self.phrase(part), case) if isinstance(part, a.ItemSet) else self.word(part, case)

    def word(self, part: Any, rule: str = "") -> str:
        """What a rule makes of a part of a plan, such as which is the ``best``."""
        return say(rule or type(part).__name__, *self._told(part))

    def _told(self, part: Any) -> tuple[set[str], *tuple[object, ...]]:
        """What rules ask of a part of a plan: its features, its items, what is said of its measure, what is in it."""
        measure, columns = getattr(part, "measure", getattr(part, "left", part)), getattr(part, "columns", ())
        columns = getattr(part, "measured", columns) if hasattr(part, "order_by") else ()
        # The items of a comparison are said beside it; here they would be said anew in each one that is around them.
        is_within = hasattr(part, "items") and not isinstance(part, a.Where)
        value, phrase = getattr(part, "value", None), self.phrase(part.items) if is_within else None
        features, more = _features(part) | (phrase.features if phrase else set()), SimpleNamespace()
        if path := getattr(measure, "path", None):
            counted = self._counted(measure)
            noun = f"{counted}" if isinstance(measure, a.HowMany) else self._noun(path)
            more = SimpleNamespace(counted=counted, noun=noun)
            features |= marked(
                short=counted.kind == "theirs" and counted.is_plain, chained=path.is_long,
                long=re.search(" (?:whose|that) ", noun), says_year=_YEAR.search(noun),
            )  # fmt: skip
        if isinstance(value, IRI | Literal):
            more.quantity = self.quantity(measure, value)
        if key := getattr(part, "key", None):
            more.group = self.phrase(a.Ends(part.items, key))
        if having := getattr(part, "having", None):
            features.add(f"comparison={having[1]}")
        by = getattr(part, "order_by", "")
        ordered = [own.measure for own in columns if own.name == by] if isinstance(by, str) else [by]
        features |= marked(
            time=any(is_time(own, self.label, value) for own in (ordered if columns else [measure])),
            lasting=getattr(getattr(measure, "measure", measure), "kind", "") in UNITS,
            several=len(columns) > 1, hidden=not isinstance(by, str), bare=not getattr(part, "columns", True),
            share=getattr(part, "share", 0), of_set=any(isinstance(one, a.Count | a.SummaryOf) for one in parts(value)),
        )  # fmt: skip
        return features, phrase, more, _Part(self, part)

    # --- sets

    def phrase(self, items: a.ItemSet | None) -> Phrase:  # noqa: PLR0911, PLR0912 - one arm a form
        """A set of items; none stands for whatever there is."""
        match items:
            case a.Instances(of):
                return of_class(self.label(of))
            case a.Items(terms):
                nodes = Counter(map(self.label, terms))
                return names([name if n == 1 else f"{name} ({n} nodes)" for name, n in nodes.items()])
            case a.Ends(start, path):
                found = reduce(reached, self.relations(path), self.phrase(start))
                return replace(found, is_one=found.is_one and path.last_step.is_forward)
            case a.Where():
                return self._facts_phrase(items) if isinstance(items.measure, a.When) else self._where(items)
            case a.Named(inner, word, place) | a.Has(inner, _, a.Named(a.Ends(), word, place)):
                name = self.label(items.path.last) if isinstance(items, a.Has) else "name"
                return self.phrase(inner).with_clause(Clause(f'with the word "{word}" {_PLACES[place]} their {name}'))
            case a.Has(_, path, a.Held(_, own) as facts) | a.Lacks(_, path, a.Held(_, own) as facts) if own == path:
                return _at_time(self.phrase(replace(items, to=None)), _time_of(facts))
            case a.Has(inner, path, to):
                return self.phrase(inner).with_clause(leads(self.relations(path), self.phrase(to)))
            case a.Lacks(inner, path, to):
                return lacking(self.phrase(inner), self.relations(path), self.phrase(to))
            case a.Either((a.Items((one,)), a.Instances(of))) if one == of:
                return names([f"{self.label(of)} or a kind of it"])
            case a.Either((start, a.Ends(again, PropertyPath((Step(_, way, True),))))) if start == again:
                return _or_classes("above" if way == "forward" else "below", self.phrase(start))
            case a.Both((a.Ends(a.Items((one,)), path), a.Ends(a.Items((other,)), again))) if path == again and (
                path.last_step.is_forward
            ):
                said = replace(names([f"both {self.label(one)} and {self.label(other)}"]), is_one=False)
                return reduce(reached, self.relations(path), said)
            case a.Both(sets) | a.Either(sets):
                return (both if isinstance(items, a.Both) else either)([self.phrase(own) for own in sets])
            case a.Held() | a.Beside() | a.Times() | a.Top(measure=a.When()):
                return self._facts_phrase(items)
            case a.Minus(a.Held() | a.Beside()) | a.Minus(_, a.Unknown()):
                return self._facts_phrase(items)
            case a.Minus(inner, without):
                return minus(self.phrase(inner), self.phrase(without))
            case a.Current(inner) | a.Once(inner) | a.Retired(inner):
                found, mark = self.phrase(inner), Clause("marked as deprecated")
                return found.with_clause(mark) if isinstance(items, a.Retired) else found
            case a.Top() | a.Sources() | a.Disputed() | a.OnlyIn():
                text = self.word(items)
                return Phrase(text, text, "best", is_one=getattr(items, "number", 0) == 1)
        return THEY if isinstance(items, a.Members) else ANYTHING

    def _where(self, where: a.Where) -> Phrase:
        """The items of which a comparison is true."""
        items, measure, comparison, value = where.items, where.measure, where.comparison, where.value
        steps = self.relations(measure.path) if isinstance(measure, a.Value | a.HowMany) else []
        said = self.word(where, "compared")
        match items, comparison, value:
            case a.Where(rest, a.Value() as other, ">=", Literal() as low), "<=", Literal() if other == measure:
                items, said = rest, f"is from {self.quantity(measure, low)} to {self.quantity(measure, value)}"
        match measure, comparison, value:
            case a.HowMany(_, among), "=", a.Count(every) if among == every:
                clause = leads(steps, names([f"all {self.phrase(every):in_number}"]))
            case a.HowMany(), _, Literal():
                clause = Clause(f"with {_so_many('so_many', self._counted(measure), comparison, value.value)}")
            case a.Value(path), "=", Literal() if value.datatype == Literal(value=True).datatype:
                said = "yes" if value.value in {"true", "1"} else "no"
                flag = Relation("flag", self.label(path.last))
                clause = leads([*steps[:-1], flag], Phrase(said, said, said))
            case a.Value(), "=", IRI() | Literal() if measure.kind != "year":
                clause = leads(steps, names([self.quantity(measure, value)]))
            case a.Value(path), _, _:
                last = steps[-1] if steps[-1].is_noun else Relation("noun", f"'{self.label(path.last)}'")
                clause = leads([*steps[:-1], last], Phrase(said, said, "said"))
            case _:
                clause = Clause(f"whose {self.said(measure)} {said}")
        among = getattr(measure, "among", None)
        found = self.phrase(items).with_clause(clause)
        return _at_time(found, _time_of(among)) if isinstance(among, a.Held) else found

    # --- facts with dates: in which time they held, before or after whom, since when

    def _facts_phrase(self, items: Any) -> Phrase:
        """Make the phrase of what facts with dates lead to, or of their dates."""
        match items:
            case a.Held(start, path, to=to):
                found = self.phrase(a.Ends(start, path) if to is None else a.Both((a.Ends(start, path), to)))
                return _at_time(found, said) if (said := _time_of(items)) else found
            case a.Minus(_, a.Unknown()):
                return names(["anything that is known"])
            case a.Minus(a.Held() as past, a.Held()):
                return _at_time(self.phrase(past.ends), "before, and not today")
            case a.Where(a.Where(a.Held() as facts, _, _, Literal() as low), _, _, Literal() as high):
                said = _in_span(int(low.value), int(high.value), 0, is_now=False)
                return _at_time(self.phrase(facts.ends), f"begun {said}")
            case a.Minus(a.Beside() as found_beside, _):
                return self.phrase(found_beside)
            case a.Beside(facts, order, others):
                whom = f"{self.phrase(others.to or others):in_number}"
                said = f"{'at the same time as' if order == 'while' else order} {whom}"
                if others.dates == ITSELF:
                    date = f"the {self._noun(others.path)} of {self.phrase(others.start):in_number}"
                    said = f"{'at' if order == 'while' else order} {date}"
                elif (others.start, others.path) != (facts.start, facts.path):
                    said = f"{order} {whom} was one of {self.phrase(others.ends):definite}"
                return _at_time(self.phrase(facts), said)
            case a.Times(a.Held() as facts, of):
                whose, ends = self.phrase(facts.to), self.phrase(facts.ends)
                text = f"{_ASKED[of]} {whose:in_number} was one of {ends:definite}"
                return Phrase(text, text, "best", is_one=True)
            case a.Top(inner, a.When(_, of), number, largest):
                text = (
                    f"the {_OF_ORDER[of, largest]}{f' {number}' if number > 1 else ''} of {self.phrase(inner):definite}"
                )
                return Phrase(text, text, "best", is_one=number == 1)
        raise AssertionError(f"not of facts with dates: {items}")

    def _time_said(self, whose: Phrase, when: a.When) -> str:
        """Say for how long something was so, or on which day it began, was over, or was."""
        facts, dates = when.facts, when.facts.dates
        if dates == ITSELF:
            return f"the {self._noun(facts.path)} of {self.phrase(facts.start):in_number}"
        ends = self.phrase(facts.ends)
        if when.of == "years":
            return f"for how many years, of those with dates, {whose:in_number} was one of {ends:definite}"
        date, *_ = (*(dates.began if when.of == "start" else dates.over), *dates.at)
        is_over = any(step.predicate == TIME_QUALIFIERS[1] or role_of(step.predicate) == "until" for step in date.steps)
        return f"the day {_ASKED['end' if is_over else 'start']} {whose:in_number} was one of {ends:definite}"

    # --- measures

    def relations(self, path: PropertyPath) -> list[Relation]:
        """How each step of a path is said; that they begin and end at names is not."""
        steps = path.steps
        if len(steps) > 1 and steps[-1].predicate in LABELS and steps[-1].is_forward:
            steps = steps[:-1]
        if len(steps) > 1 and steps[0].predicate in LABELS and steps[0].is_inverse:
            steps = steps[1:]
        found = []
        for i, step in enumerate(steps):
            own = relation(self.label(step.predicate))
            own = replace(own, text=say("repeated", own.features, own)) if step.is_repeated else own
            own = own.reversed if step.is_inverse else own
            found.append(replace(own, is_back=i > 0 and step.inverts(steps[i - 1])))
        return found

    def _noun(self, path: PropertyPath) -> str:
        """What stands at the end of a path from an item, as a noun: *author's date of birth*."""
        relations = self.relations(path)
        *steps, last = one if len(one := folded(relations)) == 1 else relations
        before, own = reduce(reached, steps, THEY), [s for s in path.steps if s.predicate not in LABELS] or path.steps
        if last.is_inverse and not last.is_of:
            return f"{reached(before, last)}"
        name = last.text if last.is_noun else f"'{self.label(own[-1].predicate)}'"
        return f"{name} of {before:owner}" if steps else name

    def _counted(self, measure: Any) -> Phrase:
        """What is counted or measured of an item."""
        found, among = reduce(reached, self.relations(measure.path), THEY), getattr(measure, "among", None)
        if isinstance(among, a.Held) and among.path == measure.path:
            return _at_time(found, _time_of(among))
        return both([found, self.phrase(among)]) if among else found

    def quantity(self, measure: a.Measure | a.Number, value: IRI | Literal) -> str:
        """A value that is compared with a measure, in its unit."""
        if isinstance(value, IRI):
            return self.label(value)
        if isinstance(measure, a.Value) and measure.kind in UNITS and isinstance(value, Literal):
            return value_text(duration_of(value, measure.unit))
        if isinstance(measure, a.Value) and (measure.kind != "number" or is_time(measure, self.label, value)):
            return value_text(value)
        return f"{number_text(value.value)} {getattr(measure, 'unit', '')}".strip()


def _or_classes(where: str, found: Phrase) -> Phrase:
    """Some items, or the classes that are above or below one of them."""
    if not found.clauses:
        return names([f"{found} or a class {where}"])
    *clauses, last = found.clauses
    return replace(found, clauses=(*clauses, replace(last, text=f"{last.text}, or a class {where} one of these")))


def _features(part: Any, before: str = "") -> set[str]:
    """What kinds of parts a part of a plan is of, and the words, numbers and absences in it."""
    found = {f"{before}{type(part).__name__}"}
    for name in getattr(part, "__slots__", ()):
        value = getattr(part, name)
        if name in {"measure", "left", "right"} and value is not None:
            found |= _features(value, f"{name}.")
        else:
            is_plain = isinstance(value, str | int | Decimal | None)
            found.add(f"{before}{name}={value if is_plain else type(value).__name__}")
    return found


def _so_many(rule: str, phrase: Phrase, comparison: str, number: str) -> str:
    """So many of some items: *5 or more employees*."""
    return say(rule, {f"comparison={comparison}", number, *phrase.features}, phrase, n=number_text(number))


def is_time(measure: a.Measure | a.Number | None, label: Label, value: object = None) -> bool:
    """Whether what is measured is before or after, and not less or more: a date, or what is called a year.

    >>> path = PropertyPath.of("http://e.org/p")
    >>> is_time(a.Value(path, "date"), lambda term: "born"), is_time(a.Value(path), lambda term: "release year")
    (True, True)
    >>> is_time(a.Value(path), lambda term: "year"), is_time(a.Value(path), lambda term: "year", Literal("5"))
    (True, False)
    """
    measure = getattr(measure, "measure", measure)
    if isinstance(measure, a.When):
        return measure.of != "years"
    if not isinstance(measure, a.Value) or measure.kind != "number":
        return getattr(measure, "kind", "") in {"date", "time", "year", "clock"}
    is_year = not isinstance(value, Literal) or re.fullmatch(r"[12]\d{3}", value.value) is not None
    return is_year and _YEAR.search(label(measure.path.last)) is not None


def _at_time(found: Phrase, said: str) -> Phrase:
    """Make the same phrase with a time, behind all that is said of the items."""
    *clauses, last = found.clauses or (Clause(""),)
    return replace(found, clauses=(*clauses, replace(last, text=f"{last.text} {said}".strip())))


def years_in_words(later: str | int, earlier: str | int) -> str:
    """Say which years are counted from one day, or what is said of it, to another.

    >>> years_in_words(20_100_301, "the birth date of Cy Dunn")
    'the whole years from the birth date of Cy Dunn to 2010-03-01'
    """
    first, last = (_written_day(one) if isinstance(one, int) else one for one in (earlier, later))
    return f"the whole years from {first} to {last}"


def _time_of(facts: a.Held) -> str:
    return _in_span(facts.first, facts.last, facts.over_by, is_now=facts.with_undated)


def _in_span(first: int, last: int, over_by: int, *, is_now: bool) -> str:
    """Say in which time something held.

    >>> _in_span(20_090_000, 20_091_231, 0, is_now=False), _in_span(0, 20_089_999, 0, is_now=False)
    ('in 2009', 'before 2009')
    >>> _in_span(20_091_232, 99_991_231, 0, is_now=False), _in_span(20_120_501, 20_120_501, 0, is_now=False)
    ('after 2009', 'on 2012-05-01')
    """
    if is_now and first != -EVER:
        return f"today, {_written_day(last)}" if first else "until today"
    if over_by:
        return f"until {_written_day(over_by - 1)}" if first else "that was over before today"
    if not last or first == -EVER:
        return ""
    begin, end = _written_day(first), _written_day(last)
    if first > last:
        return f"since {end} or before, and today" if first % 10_000 != 1231 else f"throughout {end}"
    if last == EVER:
        return f"after {_written_day(first - 1)}" if first % 10_000 == 1232 or first % 100 == 32 else f"since {begin}"
    if not first:
        return f"before {_written_day(last + 1)}" if last % 100 in {0, 99} else f"until {end}"
    if begin == end:
        return f"{'on' if len(begin) == 10 else 'in'} {begin}"
    return f"from {begin} to {end}"


def _written_day(day: int) -> str:
    """Write a day; the first or the last day of a year or a month as that alone."""
    year, month, number = day // 10_000, day // 100 % 100, day % 100
    if month in {0, 99} or (month, number) == (12, 31):
        return str(year)
    return f"{year}-{month:02}" if number in {0, 99} else f"{year}-{month:02}-{number:02}"
