"""Whether a plan makes sense: like is compared with like, numbers are summed, columns have names; and its size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, TypeVar, cast

from kgsparql.dataclasses import fields, is_dataclass, replace
from kgsparql.errors import PlanError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.plans import algebra as a
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, XSD, Literal, Term, iris_in
from kgsparql.rdf.vocabulary import LIST_FIRST, LIST_REST, RDF_TYPE

_T = TypeVar("_T")

MAX_PARTS = 60
"""The most parts of one plan: a question of a sentence has never needed more than twenty."""

_MOST_DIGITS = 10
UNITS = {"duration": "s", "months": "month"}
"""The units that amounts of time are compared in."""
_ALIKE = ({"number", "year"}, {"date", "time"}, *({"number", kind} for kind in UNITS))
OF_RDF = LIST_FIRST.value.removesuffix("first")
PLACE = re.compile(re.escape(OF_RDF) + r"_([1-9][0-9]*)\Z")  # a predicate from a container to one of its members
_KIND_NAMES = {"text": "text", "item": "an item", "months": "months"} | {
    kind: f"a {kind}" for kind in ("number", "date", "time", "year", "duration", "clock")
}


def is_back_from_container(step: Step) -> bool:
    """Tell whether a step leads from a member back to what has it in its order: ``^rdf:_2``."""
    return step.is_inverse and PLACE.match(step.predicate.value) is not None


def check(plan: a.Plan) -> None:
    """Nothing, if a plan makes sense.

    :raises PlanError: with what was expected where it does not.

    >>> from kgsparql.rdf.paths import PropertyPath, Step
    >>> city, size = IRI("http://e.org/City"), PropertyPath.of("http://e.org/size")
    >>> check(a.Top(a.Instances(city), a.Value(size, "number")))
    >>> check(a.SummaryOf("avg", a.Instances(city), a.Value(size, "text")))
    Traceback (most recent call last):
    kgsparql.errors.PlanError: avg needs numbers, and the measure gives text
    """
    found = list(parts(plan))
    if len(found) > MAX_PARTS:
        raise PlanError(f"a plan of {len(found)} parts; at most {MAX_PARTS}")
    for part in found:
        _check_part(part)
    if any(parts_of(plan.items if isinstance(plan, a.ItemTable) else plan, a.OfColumn)):
        raise PlanError("what a column leads to is measured in a table alone, by its other columns")
    numbers = parts_of(plan if isinstance(plan, a.Grouped) else (), a.Count, a.SummaryOf)
    if sum(map(is_of_members, numbers)) < found.count(a.Members()):
        raise PlanError("the items of each group are counted or summed up in the columns of a group alone")


def with_group_items(plan: a.Plan) -> a.Plan:
    """Make a plan whose parts are looked at alone: the items of any group are those of all."""
    items = plan.items if isinstance(plan, a.Grouped) else None
    return cast("a.Plan", mapped(plan, lambda part: items if isinstance(part, a.Members) else part) if items else plan)


def is_of_members(number: object) -> bool:
    """Tell whether a number is of the items of a group, or of some of them, or of what they lead to."""
    items: Any = number.items if isinstance(number, a.Count | a.SummaryOf) else None
    while isinstance(items := widest(items), a.Ends | a.Both):
        items = items.start if isinstance(items, a.Ends) else items.sets[0]
    return isinstance(items, a.Members)


def widest(items: a.ItemSet) -> a.ItemSet:
    """Return a set that all of a set is from, as few conditions as there are."""
    while isinstance(items, a.Where | a.Named | a.Has | a.Lacks | a.Minus):
        items = items.items
    return items


def kind_of(measure: a.Measure | a.Number | IRI | Literal) -> tuple[a.Kind, str]:
    """What a measure, a number or a value gives, and its unit.

    :raises PlanError: for a calculation with what is no number, or with unlike units.
    """
    match measure:
        case a.Value(_, kind, unit):
            return kind, unit
        case a.Summarised(_, _, unit, kind):
            return kind, unit
        case a.SummaryOf(_, _, inner) | a.OfColumn(_, inner):
            return kind_of(inner)
        case a.Calculated(operator, left, right):
            (one, unit), (other, other_unit) = kind_of(left), kind_of(right)
            for kind in (one, other):
                if kind not in {"number", "year", *UNITS}:
                    raise PlanError(f"{operator} needs numbers, and one side gives {_KIND_NAMES[kind]}")
            is_sum = operator in {"+", "-"}
            if is_sum and unit and other_unit and unit != other_unit:
                raise PlanError(f"{operator} of {unit} and {other_unit}: units are not mixed")
            if is_sum and one != other and not {one, other}.isdisjoint(UNITS):
                raise PlanError(f"{operator} of {_KIND_NAMES[one]} and {_KIND_NAMES[other]}")
            made: a.Kind = one if is_sum and one in UNITS else "number"
            return made, unit if other_unit in {unit, ""} else ""
        case IRI():
            return "item", ""
        case Literal():
            return "clock" if measure.datatype.value == f"{XSD}time" else kind_of_literal(measure), ""
        case _:
            return "number", ""


def kind_of_literal(value: Literal) -> a.Kind:
    """What a literal is by its datatype.

    >>> kind_of_literal(Literal(3)), kind_of_literal(Literal("3"))
    ('number', 'text')
    """
    kind = literal_kind(value)
    return "text" if kind == "boolean" else kind


def _check_part(part: object) -> None:
    match part:
        case a.Where(_, left, comparison, right) | a.Compares(left, comparison, right):
            _check_comparison(kind_of(left), comparison, kind_of(right))
        case a.Top(_, measure, number, _, share):
            _require_order("the largest or smallest", measure)
            if number < 1 or share > 100:
                raise PlanError(f"the first {number} of a set, or {share} %: at least 1, at most 100 %")
        case a.BestOfEach(_, _, measure):
            _require_order("the best of each", measure)
        case a.SummaryOf("min" | "max" as summary, _, measure):
            _require_order(summary, measure)
        case a.SummaryOf(summary, _, measure) if (kind := kind_of(measure)[0]) not in {"number", *UNITS}:
            raise PlanError(f"{summary} needs numbers, and the measure gives {_KIND_NAMES[kind]}")
        case a.Calculated(operator, _, right):
            kind_of(part)
            if operator == "round" and not (isinstance(right, a.Constant) and right.value in range(_MOST_DIGITS)):
                raise PlanError(f"a number is rounded to 0 to {_MOST_DIGITS - 1} digits")
        case a.Value(_, kind, _, among) if not (isinstance(among, a.Held | None) or kind in {"text", "item"}):
            raise PlanError(f"{_KIND_NAMES[kind]} is in no set")
        case a.Items(()) | a.Both(()) | a.Either(()):
            raise PlanError("a set of nothing")
        case a.Named(_, word) if not word.strip():
            raise PlanError("a name without a word")
        case a.ItemTable() | a.Grouped():
            _check_columns(part)


def _check_comparison(one: tuple[a.Kind, str], comparison: a.Comparison, other: tuple[a.Kind, str]) -> None:
    (kind, unit), (other_kind, other_unit) = one, other
    if kind != other_kind and not any({kind, other_kind} <= alike for alike in _ALIKE):
        raise PlanError(f"{_KIND_NAMES[kind]} is compared with {_KIND_NAMES[other_kind]}")
    if unit and other_unit and unit != other_unit:
        raise PlanError(f"{unit} is compared with {other_unit}: units are not mixed")
    if kind in {"text", "item"} and comparison not in {"=", "!="}:
        raise PlanError(f"{_KIND_NAMES[kind]} is compared by {comparison}; only = and != are possible")


def _require_order(what: str, measure: a.Measure) -> None:
    kind, _ = kind_of(measure)
    if not any(isinstance(part, a.Value | a.HowMany | a.Summarised | a.When) for part in parts(measure)):
        raise PlanError(f"{what} needs what each item has, and this is one number")
    if kind in {"text", "item"}:
        raise PlanError(f"{what} needs numbers or dates, and the measure gives {_KIND_NAMES[kind]}")


def _check_columns(table: a.ItemTable | a.Grouped) -> None:
    columns = table.columns
    names = [column.name for column in columns]
    for own in parts_of(table, a.OfColumn):
        before = next((columns[:i] for i, c in enumerate(columns) if own in parts(c)), columns)
        if not any(one.name == own.column and kind_of(one.measure)[0] == "item" for one in before):
            raise PlanError(f"there is no column {own.column!r} before that leads to things")
    is_by_name, shows_items = isinstance(table.order_by, str), getattr(table, "shows_items", False)
    if not is_by_name and isinstance(table, a.Grouped):
        raise PlanError("a table of groups is ordered by one of its columns")
    if (not names and (is_by_name or not shows_items)) or len(set(names)) < len(names):
        raise PlanError("a table needs columns, each with a name of its own")
    if not is_by_name and kind_of(cast("a.Measure", table.order_by))[0] == "item":
        raise PlanError("a table is ordered by numbers, dates or texts, and the measure gives items")
    sorted_by = {table.order_by} if table.order_by and is_by_name else set()
    asked = sorted_by | ({table.having[0]} if table.having is not None else set())
    for name in asked - set(names):
        raise PlanError(f"there is no column {name!r}; there are {', '.join(names)}")
    if table.having is not None:
        name, comparison, value = table.having
        column = next(one.measure for one in columns if one.name == name)
        _check_comparison(kind_of(column), comparison, kind_of(value))
    if table.limit is not None and table.limit < 1:
        raise PlanError(f"a table of {table.limit} rows: at least 1")


def parts(value: Any) -> Any:
    """A plan and all the parts it is made of."""
    if isinstance(value, tuple):
        for one in value:
            yield from parts(one)
    elif is_dataclass(value) and type(value).__module__ == a.__name__:
        yield value
        for each in fields(value):
            yield from parts(getattr(value, each.name))


def parts_of(value: Any, *kinds: type[_T]) -> Iterator[_T]:
    """The parts of a plan that are of one of some kinds."""
    return (part for part in parts(value) if isinstance(part, kinds))


def mapped(part: Any, change: Callable[[Any], Any]) -> Any:
    """Make the same plan of parts that were changed, the inner ones first."""
    if type(part) is tuple:
        return tuple(mapped(one, change) for one in part)
    if is_dataclass(part) and not isinstance(part, type):
        part = replace(part, **{each.name: mapped(getattr(part, each.name), change) for each in fields(part)})
    return change(part)


def exchanged(plan: Any, old: object, new: object) -> Any:
    """Make the same plan with something else in the place of a part."""
    return mapped(plan, lambda part: new if part == old else part)


def terms_in(plan: a.Plan) -> set[Term]:
    """The classes, items, predicates and values that a plan names.

    >>> [term.value for term in terms_in(a.Count(a.Instances(IRI("http://e.org/City"))))]
    ['http://e.org/City']
    """
    found = set[Term]()
    for part in parts(plan):
        for each in fields(part):
            value = getattr(part, each.name)
            if isinstance(value, PropertyPath):
                found.update(step.predicate for step in value.steps)
            else:
                found.update(o for o in (value if type(value) is tuple else (value,)) if isinstance(o, IRI | Literal))
    return found


def too_large(plan: a.Plan, graph: KnowledgeGraph) -> tuple[IRI, int] | None:
    """Find a class of which a plan counts or ranks more than the endpoint, as it says itself, is to be asked for."""
    for part in parts(plan) if graph.is_remote else ():
        if not isinstance(part, a.Count | a.SummaryOf | a.Top | a.ItemTable | a.Grouped | a.BestOfEach):
            continue
        inside = [*parts(part)]
        kinds = {one: kind for one in inside if (kind := class_of_all(one, graph)) is not None}
        bound = {one for one in inside if isinstance(one, a.Items) or getattr(one, "comparison", "") == "="}
        if not kinds or not bound <= {getattr(one, "start", 0) for one in kinds}:
            continue
        said = graph.sizes.stated("class") or {}
        is_listed = isinstance(part, a.ItemTable) and not part.order_by  # as far as it is read, in any order
        sets = [*(() if is_listed else (part.items,)), *(one.among for one in inside if isinstance(one, a.HowMany))]
        for own in ([(kinds[one], said.get(kinds[one], 0)) for one in parts(items) if one in kinds] for items in sets):
            if own and (found := min(own, key=itemgetter(1)))[1] > graph.sizes.most:
                return found
    return None


def without_ranking(items: a.ItemSet, graph: KnowledgeGraph) -> a.ItemSet:
    """Return a set in which the best of too many are any of these, of which some are read."""

    def change(part: Any) -> Any:
        return part.items if isinstance(part, a.Top) and too_large(part, graph) is not None else part

    return mapped(items, change) if graph.is_remote else items


def without_places(plan: Any) -> Any:
    """Make a plan for reading, in which the members of lists are what the predicate leads to, whatever their place."""

    def change(part: Any) -> Any:
        if not isinstance(part, a.Either | a.Both):
            return part
        plain = dict.fromkeys(mapped(one, _without_list_steps) for one in part.sets)
        return next(iter(plain)) if len(plain) == 1 else part

    return mapped(plan, change)


def _without_list_steps(part: Any) -> Any:
    if isinstance(part, PropertyPath):
        of_lists = {LIST_FIRST, LIST_REST}
        kept = (s for s in part.steps if s.predicate not in of_lists and not PLACE.match(s.predicate.value))
        return PropertyPath(tuple(kept))
    return part


def class_of_all(items: Any, graph: KnowledgeGraph) -> IRI | None:
    """Return the class of which a set has all instances, or what a path leads to from them."""
    if not (isinstance(items, a.Ends) and isinstance(items.start, a.Items)):
        return items.of if isinstance(items, a.Instances) else None
    first, terms = items.path.first_step, iris_in(items.start.terms)
    is_type = first.predicate in (RDF_TYPE, *graph.profile.type_predicates) and first.is_inverse
    return terms[0] if is_type and len(terms) == 1 else None
