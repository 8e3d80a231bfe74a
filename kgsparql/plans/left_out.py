"""What a plan leaves out of the values that it measures, and how that is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter

from kgsparql.dataclasses import frozen, replace
from kgsparql.graphs.graph import Solutions
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import coarser_pattern
from kgsparql.plans.plan_patterns import ITEM, VALUE, PlanCompiler
from kgsparql.plans.type_check import UNITS, parts, parts_of
from kgsparql.plans.writing import Label, Writer
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import apply, filter_by
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, printable
from kgsparql.schema.patterns import patterns
from kgsparql.schema.vocabulary import GraphVocabulary

MOST_LEFT_OUT = 1_000  # values that are left out, and counted
_BEGINS_AS_NUMBER = re.compile("[-+]?[0-9]")
LEFT_OUT_SENTENCES = {
    "number": "{} of the values of {} cannot be read as a number, such as {!r}, and are left out",
    "unit": "{} of the values of {} are in no unit that can be converted, such as {!r}, and are left out",
    "date": "{} of the values of {} cannot be read as a date, such as {!r}, and are left out",
    "time": "{} of the values of {} cannot be read as a time, such as {!r}, and are left out",
    "duration": "{} of the values of {} cannot be compared as durations with the others, such as {!r}",
    "coarse": "{} of the values of {} are less precise than what is asked, such as {!r}",
    "nothing": "{} of the values of {} say nothing, such as {!r}",
    "zero": "{} of the items have a {} of 0 to be divided by, such as {}, and are left out",
}


@frozen
class LeftOut:
    """Values that cannot be read as what they should be, or items that would be divided by zero.

    :param measure: whose values they are, or what is 0. :param is_coarse: they are read, and less precise than needed.
    :param number: how many, counted up to :data:`MOST_LEFT_OUT`.
    :param example: a value, or an item that would be divided by zero.
    """

    measure: a.Measure | a.Number
    number: int
    example: Term
    is_coarse: bool = False

    @property
    def says_nothing(self) -> bool:
        """Tell whether the values only say that there is none, as `n/a` does."""
        return isinstance(self.example, Literal) and self.example.value.strip().lower() in patterns()["nothing"]

    def in_words(self, label: Label) -> str:
        """What was left out, as a sentence.

        >>> from kgsparql.rdf.paths import PropertyPath
        >>> length = a.Value(PropertyPath.of("http://e.org/length"))
        >>> LeftOut(length, 3, Literal("20 m")).in_words(lambda term: "length")
        "3 of the values of length cannot be read as a number, such as '20 m', and are left out"
        """
        sentence, *values = self.sentence(label)
        return sentence.format(*values)

    def sentence(self, label: Label) -> tuple[str, ...]:
        """The sentence with places for the values, which it is followed by."""
        of, amount = Writer(label).said(self.measure), f"{self.number:,}{'+' * (self.number == MOST_LEFT_OUT)}"
        if not isinstance(self.example, Literal):
            return LEFT_OUT_SENTENCES["zero"], amount, of, printable(label(self.example), 80)
        kind: str = "coarse" if self.is_coarse else self.measure.kind if isinstance(self.measure, a.Value) else "date"
        value = printable(value_text(self.example), 80)
        if (
            kind == "number"
            and isinstance(self.measure, a.Value)
            and self.measure.unit
            and _BEGINS_AS_NUMBER.match(self.example.value)
        ):
            kind = "unit"
        kind = "nothing" if self.says_nothing else kind
        sentence = LEFT_OUT_SENTENCES["duration"] if kind in UNITS else LEFT_OUT_SENTENCES.get(kind)
        return sentence or LEFT_OUT_SENTENCES["date"], amount, of, value


def found_left_out(
    plan: a.Plan, select: Callable[[Query], Solutions], vocabulary: GraphVocabulary
) -> tuple[LeftOut, ...]:
    """Find what a plan leaves out: one query for each thing that it measures."""
    found = []
    for items, measure, of in dict.fromkeys(_measure_group(plan)):
        compiler = PlanCompiler(vocabulary, MOST_LEFT_OUT)
        if isinstance(of, Literal) and isinstance(measure, a.Value):
            is_coarse = filter_by("REGEX", apply("STR", VALUE), coarser_pattern(of))
            head, group = [ITEM, VALUE], (*compiler.along(ITEM, measure.path, VALUE), is_coarse)
        elif of:  # divided by zero
            by = compiler.measured(measure, ITEM, items)
            head, group = [ITEM], (*by.group, filter_by("=", by.key, 0))
        elif isinstance(measure, a.Value):
            head, group = [ITEM, VALUE], compiler.unread(measure)
        else:
            continue
        group = (*compiler.members(items, ITEM), *group)
        query = g.select_query("left_out", g.Select(tuple(head), group, distinct=True, limit=MOST_LEFT_OUT))
        solutions = select(query)
        examples = sorted((solution[head[-1].name] for solution in solutions), key=str)
        each = [LeftOut(measure, 1, one, isinstance(of, Literal)) for one in examples]
        for _, alike in groupby(sorted(each, key=attrgetter("says_nothing")), attrgetter("says_nothing")):
            first, *others = alike
            found.append(replace(first, number=1 + len(others)))
    return tuple(found)


def _measure_group(plan: a.Plan) -> Iterator[tuple[a.ItemSet, a.Measure | a.Number, bool | Literal]]:
    """The sets of a plan, with each value of their items that is measured, divided by, or compared with a date."""
    for part in parts(plan):
        match part:
            case a.Where(items, measure, _, value):
                measures = [measure] if isinstance(value, IRI | Literal) else [measure, value]
                is_date = isinstance(measure, a.Value) and measure.kind in {"date", "time"}
                if is_date and isinstance(value, Literal) and coarser_pattern(value):
                    yield items, measure, value
            case a.Top(items, measure) | a.SummaryOf(_, items, measure) | a.BestOfEach(items, _, measure):
                measures = [measure]
            case a.ItemTable(items):
                measures = [column.measure for column in part.measured]
                for own in parts_of(measures, a.OfColumn):
                    yield from ((part.led_to(own.column), *one) for one in _value_witnesses(own.measure))
            case _:
                continue
        for one in measures:
            yield from ((items, *own) for own in _value_witnesses(one))


def _value_witnesses(measure: a.Measure | a.Number) -> Iterator[tuple[a.Measure | a.Number, bool]]:
    match measure:
        case a.Value(_, kind) if kind not in {"text", "item"}:
            yield measure, False
        case a.Summarised(_, path, unit, kind):
            yield a.Value(path, kind, unit), False
        case a.Calculated(operator, left, right):
            yield from _value_witnesses(left)
            yield from _value_witnesses(right)
            if operator == "/" and not (isinstance(right, a.Constant) and right.value):
                yield right, True
