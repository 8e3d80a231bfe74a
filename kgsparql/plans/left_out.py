"""What a plan measures and cannot take into account: values that are no number and no date, and division by zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.plans import algebra as a
from kgsparql.plans.plan_compiler import ITEM, VALUE, PlanCompiler
from kgsparql.plans.set_words import Label, SetWords
from kgsparql.plans.type_check import parts
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import IRI, Literal, Term, printable

MOST = 1_000
"""As many are counted."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Values that cannot be read as what they should be, or items that would be divided by zero.

    :param measure: whose values they are, or what is 0.
    :param number: how many, counted up to :data:`MOST`.
    :param example: a value, or an item that would be divided by zero.
    """

    measure: a.Measure | a.Number
    number: int
    example: Term

    def in_words(self, label: Label) -> str:
        """What was left out, as a sentence.

        >>> from kgsparql.rdf.paths import PropertyPath
        >>> length = a.Value(PropertyPath.of("http://e.org/length"))
        >>> LeftOut(length, 1, Literal("20 m")).in_words(lambda term: "length")
        "1 value of length cannot be read as a number ('20 m') and is left out"
        >>> LeftOut(length, 3, Literal("20 m")).in_words(lambda term: "length")
        "3 values of length cannot be read as numbers (such as '20 m') and are left out"
        """
        of, are_many = SetWords(label).measure(self.measure), self.number > 1
        amount = f"{self.number:,}{' or more' if self.number == MOST else ''}"
        be, such_as = ("are", "such as ") if are_many else ("is", "")
        if not isinstance(self.example, Literal):
            have = "items have" if are_many else "item has"
            named = printable(label(self.example), 80)
            return f"{amount} {have} a {of} of 0 to be divided by ({such_as}{named}) and {be} left out"
        what = "number" if isinstance(self.measure, a.Value) and self.measure.kind == "number" else "date"
        read_as = f"{what}s" if are_many else f"a {what}"
        value = printable(value_text(self.example), 80)
        values = f"{amount} value{'s' * are_many} of {of}"
        return f"{values} cannot be read as {read_as} ({such_as}{value!r}) and {be} left out"


def left_out(plan: a.Plan, graph: KnowledgeGraph, *, vocabulary: GraphVocabulary) -> tuple[LeftOut, ...]:
    """What a plan leaves out: one query for each thing that it measures."""
    found = []
    for items, measure, is_divisor in dict.fromkeys(_measured(plan)):
        compiler = PlanCompiler(vocabulary, MOST)
        if is_divisor:
            name, group = ITEM, compiler.without_divisor(items, measure)
        elif isinstance(measure, a.Value):
            name, group = VALUE, compiler.unread(items, measure)
        else:
            continue
        head = ((ITEM, None), *(((VALUE, None),) if name is VALUE else ()))
        select = g.Select(head, group, distinct=True, limit=MOST)
        solutions = graph.select(g.select_query("left_out", select))
        examples = sorted((solution[name.name] for solution in solutions), key=str)
        found += [LeftOut(measure, len(examples), examples[0])] if examples else []
    return tuple(found)


def _measured(plan: a.Plan) -> Iterator[tuple[a.ItemSet, a.Measure | a.Number, bool]]:
    """The sets of a plan, with each value that is measured of their items, or that something is divided by."""
    for part in parts(plan):
        match part:
            case a.Where(items, measure, _, value):
                measures = [measure] if isinstance(value, IRI | Literal) else [measure, value]
            case a.Top(items, measure) | a.SummaryOf(_, items, measure):
                measures = [measure]
            case a.ItemTable(items, columns) | a.Grouped(items, _, columns):
                measures = [column.measure for column in columns if column.measure is not None]
            case _:
                continue
        for one in measures:
            yield from ((items, own, is_divisor) for own, is_divisor in _values(one))


def _values(measure: a.Measure | a.Number) -> Iterator[tuple[a.Measure | a.Number, bool]]:
    match measure:
        case a.Value(_, kind) if kind in {"number", "date", "year"}:
            yield measure, False
        case a.Summarised(_, path, unit):
            yield a.Value(path, "number", unit), False
        case a.Calculated(operator, left, right):
            yield from _values(left)
            yield from _values(right)
            if operator == "/" and not (isinstance(right, a.Constant) and right.value):
                yield right, True
