"""Plans in English: what was computed, in the order in which it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgsparql.plans import algebra as a
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, Term

Label = Callable[[Term], str]

_COMPARED: dict[a.Comparison, str] = {
    "=": "is",
    "!=": "is not",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
}
_DATED: dict[a.Comparison, str] = {
    **_COMPARED,
    "<": "is before",
    "<=": "is not after",
    ">": "is after",
    ">=": "is not before",
}
_SUMMARIES: dict[a.Summary, str] = {"sum": "sum", "avg": "average", "min": "smallest", "max": "largest"}


def in_words(plan: a.Plan, label: Label) -> str:
    """What a plan computes.

    :param label: what a class, a predicate or an item is called.

    >>> city, size = IRI("http://e.org/City"), PropertyPath.of("http://e.org/size")
    >>> called = {city: "City", IRI("http://e.org/size"): "size"}.get
    >>> in_words(a.Top(a.Instances(city), a.Value(size)), lambda term: called(term, ""))
    'the City with the largest size'
    >>> in_words(a.Count(a.Where(a.Instances(city), a.Value(size), ">", Literal("5"))), lambda term: called(term, ""))
    'how many City there are whose size is more than 5'
    """
    return _Words(label).plan(plan)


class _Words:
    def __init__(self, label: Label) -> None:
        self.label = label

    def plan(self, plan: a.Plan) -> str:  # noqa: PLR0911 - one arm a form
        match plan:
            case a.Count(items):
                head, tail = self.head_and_tail(items)
                return f"how many {head} there are{tail}"
            case a.Exists() | a.Compares() | a.SameItems() | a.Not() | a.AllOf() | a.AnyOf():
                return f"whether {self.condition(plan)}"
            case a.SummaryOf() | a.Constant() | a.Calculated():
                return self.number(plan)
            case a.ItemTable(items, columns):
                names = _listed([column.name for column in columns])
                return f"for each of {self.items(items)}: {names}{self.order(plan)}"
            case a.Grouped(items, key, columns):
                names = _listed([column.name for column in columns])
                kept = ""
                if plan.having is not None:
                    name, comparison, number = plan.having
                    kept = f", where {name} {_COMPARED[comparison]} {number}"
                return f"for each {self.path(key)} of {self.items(items)}: {names}{kept}{self.order(plan)}"
            case a.Top():
                return f"the {self.items(plan)}"
            case _:
                return self.items(plan)

    def order(self, table: a.ItemTable | a.Grouped) -> str:
        if not table.order_by:
            return ""
        first = "largest" if table.largest_first else "smallest"
        of = "" if table.limit is None else f" {table.limit}"
        return f", the {first}{of} {table.order_by} first"

    def items(self, items: a.ItemSet) -> str:
        head, tail = self.head_and_tail(items)
        return head + tail

    def head_and_tail(self, items: a.ItemSet) -> tuple[str, str]:  # noqa: PLR0911 - one arm a form
        """What the items are, and what is true of them."""
        match items:
            case a.Instances(of):
                return self.label(of), ""
            case a.Items(terms):
                return _listed([self.label(term) for term in terms]), ""
            case a.Ends(start, path):
                return f"{self.path(path)} of {self.items(start)}", ""
            case a.Where(inner, measure, comparison, value):
                head, tail = self.head_and_tail(inner)
                return head, f"{tail}{_and(tail)} whose {self.compared(measure, comparison, value)}"
            case a.Named(inner, word):
                head, tail = self.head_and_tail(inner)
                return head, f'{tail}{_and(tail)} named "{word}"'
            case a.Has(inner, path, to) | a.Lacks(inner, path, to):
                head, tail = self.head_and_tail(inner)
                has = "with" if isinstance(items, a.Has) else "without"
                that = "" if to is None else f" that is {self.items(to)}"
                return head, f"{tail}{_and(tail)} {has} {self.path(path)}{that}"
            case a.Both(sets):
                return _listed([self.items(one) for one in sets], "that are also"), ""
            case a.Either(sets):
                return _listed([self.items(one) for one in sets], "or"), ""
            case a.Minus(inner, without):
                head, tail = self.head_and_tail(inner)
                return head, f"{tail}, without {self.items(without)}"
            case a.Top(inner, measure, number, largest):
                head, tail = self.head_and_tail(inner)
                most = "largest" if largest else "smallest"
                if isinstance(measure, a.Value) and measure.kind in {"date", "year"}:
                    most = "latest" if largest else "earliest"
                several = "" if number == 1 else f"{number} "
                return f"{several}{head}", f"{tail} with the {most} {self.measure(measure)}"

    def compared(self, measure: a.Measure, comparison: a.Comparison, value: IRI | Literal | a.Measure) -> str:
        dated = isinstance(measure, a.Value) and measure.kind in {"date", "year"}
        told = (_DATED if dated else _COMPARED)[comparison]
        if isinstance(value, IRI):
            return f"{self.measure(measure)} {told} {self.label(value)}"
        unit = f" {measure.unit}" if isinstance(measure, a.Value) and measure.unit else ""
        said = f"{value.value}{unit}" if isinstance(value, Literal) else self.measure(value)
        return f"{self.measure(measure)} {told} {said}"

    def measure(self, measure: a.Measure | a.Number) -> str:
        match measure:
            case a.Value(path, kind, _):
                return f"year of {self.path(path)}" if kind == "year" else self.path(path)
            case a.HowMany(path, among):
                inside = "" if among is None else f" among {self.items(among)}"
                return f"number of {self.path(path)}{inside}"
            case a.Summarised(summary, path, _):
                return f"{_SUMMARIES[summary]} {self.path(path)}"
            case a.Calculated(operator, left, right):
                return f"({self.measure(left)} {operator} {self.measure(right)})"
            case a.Constant(value):
                return str(value)
            case _:
                return self.number(measure)

    def number(self, number: a.Number | a.Measure) -> str:
        match number:
            case a.Count(items):
                return f"the number of {self.items(items)}"
            case a.SummaryOf(summary, items, measure):
                return f"the {_SUMMARIES[summary]} {self.measure(measure)} of {self.items(items)}"
            case a.Calculated(operator, left, right):
                return f"({self.number(left)} {operator} {self.number(right)})"
            case _:
                return self.measure(number)

    def condition(self, condition: a.Condition) -> str:
        match condition:
            case a.Exists(items):
                return f"there is any {self.items(items)}"
            case a.Compares(left, comparison, right):
                return f"{self.number(left)} {_COMPARED[comparison]} {self.number(right)}"
            case a.SameItems(left, right):
                return f"{self.items(left)} and {self.items(right)} are the same"
            case a.Not(inner):
                return f"it is not so that {self.condition(inner)}"
            case a.AllOf(conditions):
                return _listed([self.condition(one) for one in conditions])
            case a.AnyOf(conditions):
                return _listed([self.condition(one) for one in conditions], "or")

    def path(self, path: PropertyPath) -> str:
        return " / ".join(f"{'^' if s.direction == 'inverse' else ''}{self.label(s.predicate)}" for s in path)


def _listed(some: Sequence[str], word: str = "and") -> str:
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} {word} {some[-1]}"


def _and(tail: str) -> str:
    return " and" if tail else ""
