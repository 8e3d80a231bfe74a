"""Plans as JSON: short arrays over names that a list gives to the terms of a graph, both for models and for files.

A plan in a file is ``{"names": {"C1": {"term": "<http://…>"}, …}, "plan": ["count", "C1"]}``. What a name stands for is
looked up in the list it was made with, so that nothing a model wrote gets further than this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, cast, get_args

from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import decimal, integer
from kgsparql.plans.listed_names import ListedName, Names
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, parse_term, printable

MAX_DEPTH = 12
"""How deep the arrays of a plan may be nested."""

_COMPARISONS = frozenset(get_args(a.Comparison))
_ARITHMETIC = frozenset(get_args(a.Arithmetic))
_SUMMARIES = frozenset(get_args(a.Summary))
_CONDITIONS = frozenset({"exists", "compare", "same", "not", "all", "any"})
_OPTIONS = frozenset({"order", "largest_first", "limit", "having"})


def read_plan(written: Any, names: Names) -> a.Plan:
    """The plan that arrays over names stand for.

    :raises PlanError: for what is no plan, or a name that is not in the list; it says where.

    >>> of = {"C1": ListedName(IRI("http://e.org/City")), "R1": ListedName(IRI("http://e.org/size"), "number")}
    >>> read_plan(["top", "C1", "R1>", 1, "desc"], of).measure.kind
    'number'
    >>> read_plan(["count", "C9"], of)
    Traceback (most recent call last):
    kgsparql.errors.PlanError: C9 is not in the list; there are C1, R1
    """
    return _Reader(names).plan(written)


def read_plan_file(content: Any) -> a.Plan:
    """The plan of an object as :func:`kgsparql.plans.writing.written_plan` makes it.

    :raises PlanError: for another object; it says what is missing.

    >>> read_plan_file({"names": {"C1": {"term": "<http://e.org/City>"}}, "plan": ["count", "C1"]})
    Count(items=Instances(of=<NamedNode value=http://e.org/City>))
    """
    if not (isinstance(content, dict) and isinstance(content.get("names"), dict) and "plan" in content):
        is_question = isinstance(content, dict) and "candidates" in content
        why = ": of this question none was made" if is_question else ': an object with "names" and "plan" is expected'
        raise PlanError(f"not a plan{why}")
    names = {str(name): _name_of(str(name), one) for name, one in content["names"].items()}
    return read_plan(content["plan"], names)


def _name_of(name: str, one: Any) -> ListedName:
    try:
        term = parse_term(one["term"])
        kind, unit = one.get("kind", "item"), str(one.get("unit", ""))
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise PlanError(f'{name}: {{"term": "<IRI>"}} is expected, with a kind and a unit if it has one') from error
    if kind not in get_args(a.Kind) or not isinstance(term, IRI | Literal):
        raise PlanError(f"{name}: a term with a name, and one of the kinds {', '.join(get_args(a.Kind))}")
    return ListedName(term, kind, unit)


@dataclass(slots=True)
class _Reader:
    names: Names
    depth: int = 0

    def plan(self, written: Any) -> a.Plan:
        match written:
            case [str() as word, *_] if word in _CONDITIONS:
                return self.condition(written)
            case ["count", _]:
                return self.number(written)
            case [str() as word, _, _] if word in _SUMMARIES | _ARITHMETIC:
                return self.number(written)
            case ["table" | "group", *_]:
                return self.table(written)
            case _:
                return self.items(written)

    def nested(self, read: Callable[[Any], Any], written: Any) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise PlanError(f"a plan is nested more than {MAX_DEPTH} deep")
        found = read(written)
        self.depth -= 1
        return found

    def items(self, written: Any) -> a.ItemSet:
        return cast("a.ItemSet", self.nested(self._items, written))

    def _items(self, written: Any) -> a.ItemSet:  # noqa: PLR0911 - one arm an operator
        match written:
            case str() as name:
                return a.Instances(self.class_named(name)) if name.startswith("C") else self.named(name).items
            case ["items", *terms] if terms:
                return a.Items(tuple(term for name in terms for term in self.named(name).items.terms))
            case ["ends", start, path]:
                return a.Ends(self.items(start), self.path(path))
            case ["where", inner, path, "=" | "!=" as comparison, str() as name] if self.is_several(name):
                made = a.Has if comparison == "=" else a.Lacks
                return made(self.items(inner), self.path(path), self.items(name))
            case ["where", inner, measure, str() as comparison, value] if comparison in _COMPARISONS:
                measured = self.measure(measure)
                if isinstance(measured, a.Value) and measured.kind == "date" and isinstance(value, int):
                    measured = replace(measured, kind="year")
                return a.Where(self.items(inner), measured, cast("Any", comparison), self.value(value))
            case ["named", inner, str() as word]:
                return a.Named(self.items(inner), self.named(word).term.value)
            case ["has" | "lacks" as word, inner, path, *to] if len(to) <= 1:
                made = a.Has if word == "has" else a.Lacks
                return made(self.items(inner), self.path(path), self.items(to[0]) if to else None)
            case ["and", *sets] if sets:
                return a.Both(tuple(map(self.items, sets)))
            case ["or", *sets] if sets:
                return a.Either(tuple(map(self.items, sets)))
            case ["minus", inner, without]:
                return a.Minus(self.items(inner), self.items(without))
            case ["top", inner, measure, int() as number, "desc" | "asc" as order]:
                return a.Top(self.items(inner), self.measure(measure), number, order == "desc")
        raise _unlike("a set of items", written)

    def class_named(self, name: str) -> IRI:
        term = self.named(name).term
        if not isinstance(term, IRI):
            raise PlanError(f"{name}: a class is an IRI, and this is {printable(str(term), 40)}")
        return term

    def measure(self, written: Any) -> a.Measure:
        return cast("a.Measure", self.nested(self._measure, written))

    def _measure(self, written: Any) -> a.Measure:
        match written:
            case int() | float() | Decimal() if not isinstance(written, bool):
                return a.Constant(Decimal(str(written)))
            case ["n", path, *among] if len(among) <= 1:
                return a.HowMany(self.path(path), self.items(among[0]) if among else None)
            case ["year", path]:
                return replace(self.values(path), kind="year", unit="")
            case [str() as word, path] if word in _SUMMARIES:
                values = self.values(path)
                return a.Summarised(cast("Any", word), values.path, values.unit)
            case [str() as word, left, right] if word in _ARITHMETIC:
                return a.Calculated(cast("Any", word), self.measure(left), self.measure(right))
            case str() | [str(), *_]:
                return self.values(written)
        raise _unlike("a measure", written)

    def number(self, written: Any) -> a.Number:
        return cast("a.Number", self.nested(self._number, written))

    def _number(self, written: Any) -> a.Number:
        match written:
            case int() | float() | Decimal() if not isinstance(written, bool):
                return a.Constant(Decimal(str(written)))
            case ["count", items]:
                return a.Count(self.items(items))
            case [str() as word, items, measure] if word in _SUMMARIES:
                return a.SummaryOf(cast("Any", word), self.items(items), self.measure(measure))
            case [str() as word, left, right] if word in _ARITHMETIC:
                return a.Calculated(cast("Any", word), self.number(left), self.number(right))
        raise _unlike("a number", written)

    def condition(self, written: Any) -> a.Condition:
        return cast("a.Condition", self.nested(self._condition, written))

    def _condition(self, written: Any) -> a.Condition:
        match written:
            case ["exists", items]:
                return a.Exists(self.items(items))
            case ["compare", left, str() as comparison, right] if comparison in _COMPARISONS:
                return a.Compares(self.number(left), cast("Any", comparison), self.number(right))
            case ["same", left, right]:
                return a.SameItems(self.items(left), self.items(right))
            case ["not", inner]:
                return a.Not(self.condition(inner))
            case ["all", *some] if some:
                return a.AllOf(tuple(map(self.condition, some)))
            case ["any", *some] if some:
                return a.AnyOf(tuple(map(self.condition, some)))
        raise _unlike("a yes or no", written)

    def table(self, written: Any) -> a.ItemTable | a.Grouped:
        match written:
            case ["table", items, list() as columns, *rest] if len(rest) <= 1:
                options = self.options(rest)
                made = tuple(map(self.column, columns))
                return a.ItemTable(
                    self.items(items), made, options["order"], options["largest_first"], options["limit"]
                )
            case ["group", items, key, list() as columns, *rest] if len(rest) <= 1:
                options = self.options(rest)
                return a.Grouped(
                    self.items(items),
                    self.values(key).path,
                    tuple(map(self.group_column, columns)),
                    options["having"],
                    options["order"],
                    options["largest_first"],
                    options["limit"],
                )
        raise _unlike("a table", written)

    def column(self, written: Any) -> a.Column:
        match written:
            case [str() as name, measure, *rest] if rest in ([], ["optional"]):
                return a.Column(printable(name, 60), self.measure(measure), bool(rest))
        raise _unlike("a column", written)

    def group_column(self, written: Any) -> a.GroupColumn:
        match written:
            case [str() as name]:
                return a.GroupColumn(printable(name, 60))
            case [str() as name, str() as word, measure] if word in _SUMMARIES:
                return a.GroupColumn(printable(name, 60), cast("Any", word), self.measure(measure))
        raise _unlike("a column of a group", written)

    def options(self, rest: Sequence[Any]) -> dict[str, Any]:
        given = rest[0] if rest else {}
        if not isinstance(given, dict) or not given.keys() <= _OPTIONS:
            raise _unlike(f"an object with {', '.join(sorted(_OPTIONS))}", given)
        found: dict[str, Any] = {"order": "", "largest_first": True, "limit": None, "having": None}
        match given.get("having"):
            case None:
                pass
            case [str() as name, str() as comparison, int() | float() | Decimal() as number]:
                found["having"] = (printable(name, 60), comparison, Decimal(str(number)))
            case other:
                raise _unlike("a column, a comparison and a number", other)
        if found["having"] is not None and found["having"][1] not in _COMPARISONS:
            raise _unlike(f"one of {' '.join(sorted(_COMPARISONS))}", found["having"][1])
        for name, kind in (("order", str), ("largest_first", bool), ("limit", int)):
            if given.get(name) is not None:
                if type(given[name]) is not kind:
                    raise _unlike(f"{name} as {kind.__name__}", given[name])
                found[name] = given[name]
        return found

    def value(self, written: Any) -> IRI | Literal | a.Measure:
        """What a measure is compared with: a term of the list, a number, or another measure of the item."""
        if isinstance(written, int | float | Decimal) and not isinstance(written, bool):
            return integer(written) if isinstance(written, int) else decimal(Decimal(str(written)))
        if isinstance(written, str) and written[-1:] not in {">", "<"}:
            name = self.named(written)
            if name.kind == "item" or isinstance(name.term, Literal):
                return name.term
        return self.measure(written)

    def path(self, written: Any) -> PropertyPath:
        steps = [written] if isinstance(written, str) else written
        if not (isinstance(steps, list) and steps and all(isinstance(step, str) for step in steps)):
            raise _unlike("a path of predicates", written)
        return PropertyPath(tuple(map(self.step, steps)))

    def values(self, written: Any) -> a.Value:
        """What is measured at the end of a path: of items named by numbers, the names."""
        path, last = self.path(written), self.last(written)
        if last.read_by is not None:
            path = PropertyPath((*path.steps, Step(last.read_by, "forward")))
        return a.Value(path, last.kind, last.unit)

    def is_several(self, name: str) -> bool:
        """Whether a name stands for several items."""
        return name in self.names and bool(self.names[name].also)

    def step(self, written: str) -> Step:
        predicate = self.named(written.rstrip("<>")).term
        if not isinstance(predicate, IRI):
            raise _unlike("a predicate", written)
        return Step(predicate, "inverse" if written.endswith("<") else "forward")

    def last(self, written: Any) -> ListedName:
        """What the last predicate of a path leads to; an item, if it is walked back."""
        step = written if isinstance(written, str) else written[-1]
        if not isinstance(step, str):
            raise _unlike("a path of predicates", written)
        name = self.named(step.rstrip("<>"))
        return ListedName(name.term) if step.endswith("<") else name

    def named(self, name: Any) -> ListedName:
        if not isinstance(name, str) or name not in self.names:
            shown = printable(str(name), 40)
            raise PlanError(f"{shown} is not in the list; there are {', '.join(list(self.names)[:20]) or 'no names'}")
        return self.names[name]


def _unlike(expected: str, written: Any) -> PlanError:
    return PlanError(f"{expected} is expected, and this is none: {printable(str(written), 80)}")
