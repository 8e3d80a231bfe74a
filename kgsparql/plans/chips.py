"""A plan as chips: classes, items, predicates, values and operators, and what else could stand there.

What is offered is counted in the graph, with the rest of the plan as it is: no option leads to nothing.

Source: ours; guidance without dead ends follows Ferré, "Sparklis: An expressive query builder for SPARQL endpoints with
guidance in natural language" (Semantic Web 8(3), 2017).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import reduce
from typing import Any, TypeAlias, cast, get_args
from typing import Literal as OneOf

from kgsparql.dataclasses import fields, frozen, is_dataclass, replace
from kgsparql.errors import PlanError
from kgsparql.graphs.graph import KnowledgeGraph, select_each
from kgsparql.plans import algebra as a
from kgsparql.plans.english import ANYTHING, leads, listed
from kgsparql.plans.expressions import as_kind, decimal, read_as
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.plan_patterns import ITEM, PlanCompiler
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.type_check import UNITS, check, kind_of
from kgsparql.plans.writing import Label, Writer
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, iris_in, whole_number
from kgsparql.rdf.vocabulary import CLASS_KINDS
from kgsparql.schema.vocabulary import GraphVocabulary

Place: TypeAlias = tuple[str | int, ...]
"""Where a part of a plan stands: names of fields, and numbers in tuples."""
ChipKind = OneOf["class", "item", "predicate", "operator", "value", "condition"]

MOST_OPTIONS, MOST_COUNTED, MOST_SECONDS = 40, 1_000, 3.0
"""Options of a chip; what one finds is counted up to here; after so long no more are counted."""
_PAIRS = 200_000  # of an item and what could stand there: that many are read to find the commonest
_SPREAD = 15  # values that are offered for more, less, before or after
_OPEN = IRI("urn:x-kgsparql:open")
_OPEN_ITEMS = a.Items((_OPEN,))
_OPERATORS = {a.Has: "path", a.Lacks: "path", a.SummaryOf: "summary", a.Top: "largest"}
_OPERATORS |= {a.Where: "comparison", a.Compares: "comparison", a.Summarised: "summary", a.BestOfEach: "largest"}
"""The field of a part before which its operator is said."""


@frozen
class Chip:
    """A part of a plan that can be another, in all the places where it stands."""

    kind: ChipKind
    places: tuple[Place, ...]

    def part_of(self, plan: a.Plan) -> Any:
        """Return what stands there."""
        return _part_at(plan, self.places[0])


@frozen
class Option:
    """What could stand in the place of a chip.

    :param plan: with this part. :param count: of what it finds, up to 1 more than :data:`MOST_COUNTED`; ``None`` where
        the answer is what two numbers are to each other.
    """

    part: Any
    plan: a.Plan
    count: int | None


def chips(plan: a.Plan) -> list[Chip]:
    """List the parts of a plan that can be others, in its order, and the place for a further condition.

    >>> from kgsparql.rdf.paths import PropertyPath
    >>> born = a.Ends(a.Items((IRI("http://e.org/Rome"),)), PropertyPath.of("^http://e.org/born"))
    >>> [chip.kind for chip in chips(a.Count(a.Both((born, a.Instances(IRI("http://e.org/Poet"))))))]
    ['item', 'predicate', 'class', 'condition']
    """
    found = dict[tuple[ChipKind, str], tuple[Place, ...]]()
    for kind, place in _chip_places(plan, ()):
        part = None if kind in {"operator", "value"} else _part_at(plan, place)
        key = kind, str(part or place)
        found[key] = (*found.get(key, ()), place)
    main, place = cast("Any", plan), ()
    while hasattr(main, "items") and (isinstance(main, a.Top) or not isinstance(main, a.ItemSet)):
        main, place = main.items, (*place, "items")
    more = [Chip("condition", (place,))] if isinstance(main, a.ItemSet) else []
    return [*(Chip(kind, places) for (kind, _), places in found.items()), *more]


def _chip_places(part: Any, place: Place) -> Iterator[tuple[ChipKind, Place]]:
    match part:
        case a.Instances() | a.Items():
            yield "class" if isinstance(part, a.Instances) else "item", place
        case a.Either(sets) if all(isinstance(one, a.Instances) for one in sets):
            yield "class", place
        case Step():
            yield "predicate", place
        case a.Column():
            return  # a table keeps its columns
        case tuple():
            for i, one in enumerate(part):
                yield from _chip_places(one, (*place, i))
        case _ if is_dataclass(part):
            for own in fields(part):
                if own.name == _OPERATORS.get(type(part)):
                    yield "operator", place
                if own.name == "to" and getattr(part, own.name) is None:
                    yield "item", (*place, own.name)
                yield from _chip_places(getattr(part, own.name), (*place, own.name))
            if isinstance(part, a.Where) and isinstance(part.value, IRI | Literal):
                yield "value", place


def _part_at(plan: Any, place: Place) -> Any:
    for key in place:
        plan = getattr(plan, key) if isinstance(key, str) else plan[key]
    return plan


def _plan_with(plan: Any, place: Place, part: Any) -> Any:
    if not place:
        return part
    key, inner = place[0], _plan_with(_part_at(plan, place[:1]), place[1:], part)
    if isinstance(key, str):
        return replace(plan, **{key: inner})
    made = (*plan[:key], inner, *plan[key + 1 :])
    return type(plan)(*made) if hasattr(plan, "_fields") else made


def part_words(kind: ChipKind, part: Any, label: Label) -> str:  # noqa: PLR0911 - one arm a kind
    """Say what stands at a chip.

    >>> part_words("class", a.Instances(IRI("http://e.org/Poet")), lambda term: term.value)
    'http://e.org/Poet'
    """
    say = Writer(label)
    match kind, part:
        case "class", a.Instances(of):
            return label(of)
        case "class", _:
            return f"{say.phrase(part)}"
        case "item", _:
            return "anything" if part is None else listed([label(term) for term in part.terms], "or")
        case "predicate", Step(predicate):
            return label(predicate)
        case _, Step():
            return leads(say.relations(part.path), ANYTHING).text
        case "value", a.Where(_, measure, _, value):
            return say.quantity(measure, value) if isinstance(value, Literal) else label(cast("IRI", value))
        case "condition", _:
            return "+"
        case _, a.Has() | a.Lacks():
            return "with" if isinstance(part, a.Has) else "without"
        case _, a.Top() | a.BestOfEach() | a.SummaryOf() | a.Summarised():
            return say.word(part, "best")
        case _, a.Where() | a.Compares():
            return say.word(part, "sign")
    return "any" if kind == "operator" else "+"


def options(
    plan: a.Plan, chip: Chip, graph: KnowledgeGraph, *, vocabulary: GraphVocabulary | None = None
) -> tuple[list[Option], bool]:
    """Find what could stand in the place of a chip, the most frequent first, and whether there may be more.

    :raises PlanError: for a plan that makes no sense.
    """
    check(plan)
    finder = _OptionFinder(plan, chip, Profiler(graph, vocabulary or GraphVocabulary()))
    made: dict[a.Plan, Any] = {} if chip.kind == "condition" else {plan: chip.part_of(plan)}
    for part, one in finder.others():
        with suppress(PlanError):  # a date where a number stood: no option, and no fault
            check(one)
            made.setdefault(one, part)
    counts = list(finder.counts([*made][:MOST_OPTIONS]))
    found = [Option(part, one, n) for (one, part), n in zip(made.items(), counts, strict=False) if n != 0]
    return sorted(found, key=lambda one: -(one.count or 0)), len(counts) < len(made)


class _OpenCompiler(PlanCompiler):
    """Compiles a set of which one part is open, and knows by what that is bound."""

    bound: g.Expression = _OPEN

    def members(self, items: a.ItemSet | tuple[a.ItemSet, ...], x: Variable) -> g.Group:
        match items:
            case _ if items == _OPEN_ITEMS:
                self.bound = x
                return ()
            case a.Where(inner, measure, _, value) if value == _OPEN:
                found = self.measured(measure, x, inner)
                self.bound = found.value
                return (*self.members(inner, x), *found.group)
        return super().members(items, x)


@frozen
class _OptionFinder:
    """Finds the options of one chip."""

    plan: a.Plan
    chip: Chip
    profiler: Profiler

    def others(self) -> Iterable[tuple[Any, a.Plan]]:
        """Yield other parts, for which all of the plan was not looked at, and the plan with each."""
        part, found = self.chip.part_of(self.plan), list[Any]()
        match self.chip.kind:
            case "class":
                back = Step(self.profiler.vocabulary.types[0], "inverse").path
                own = iris_in(self._terms(a.Ends(_OPEN_ITEMS, back)))
                found = [a.Instances(one) for one in self.profiler.with_broader(own) if one not in CLASS_KINDS]
            case "item":
                found = [a.Items((one,)) for one in self._terms(_OPEN_ITEMS)]
            case "value":
                found = [replace(part, value=one) for one in self._values(part)]
            case "condition":
                paths = [use.path for use in self.profiler(part).uses]
                return [(path.first_step, self._with(a.Has(part, path))) for path in paths]
            case "predicate":
                return self._steps(self.chip.places[0])
            case "operator":
                found = _operators(part)
        return [(one, self._with(one)) for one in found]

    def _with(self, part: Any, up: int = 0) -> a.Plan:
        plan = self.plan
        for place in self.chip.places:
            plan = _plan_with(plan, place[: len(place) - up], part)
        return plan

    def _steps(self, place: Place) -> Iterator[tuple[Step, a.Plan]]:
        """Yield steps that what is before has; where a value is measured, it is read as what each leads to."""
        measure, path, i = _part_at(self.plan, place[:-3]), _part_at(self.plan, place[:-2]), cast("int", place[-1])
        around = [_part_at(self.plan, place[:end]) for end in range(len(place) - 3, -1, -1)]
        near = next(one for own in around if (one := getattr(own, "start", None) or getattr(own, "items", None)))
        for use in self.profiler(a.Ends(near, PropertyPath(path.steps[:i])) if i else near).uses:
            if not (isinstance(measure, a.Value | a.Summarised) and i + 1 == len(path.steps)):
                yield use.step, self._with(use.step)
                continue
            kind = "year" if kind_of(measure)[0] == "year" and use.kind in {"date", "time"} else use.kind
            longer = PropertyPath((*path.steps[:i], use.step))
            own: Any = {"kind": kind} if isinstance(measure, a.Value) else {}
            yield use.step, self._with(replace(measure, path=longer, unit=use.unit, **own), 3)

    def _values(self, where: a.Where) -> list[IRI | Literal]:
        """List what the measure of a condition comes to; for more or less, a few from the least to the most."""
        kind, _ = kind_of(where.measure)
        found = self._terms(replace(where, value=_OPEN))
        if kind in UNITS:
            found = [own for one in found if (own := as_kind(one, kind)) is not None]
        elif kind in {"number", "year"}:
            found = [decimal(Decimal(one.value)) for one in found if read_as(one, "number") is not None]
        if where.comparison in {"=", "!="}:
            return found
        found.sort(key=lambda one: cast("Any", read_as(one, "number" if kind in {"year", *UNITS} else kind)) or 0)
        return found[:: max(1, len(found) // _SPREAD)]

    def _terms(self, part: a.ItemSet) -> list[IRI | Literal]:
        """Read what is open in a part, the most frequent first."""
        place, x, n = self.chip.places[0], Variable("open"), Variable("n")
        compiler = _OpenCompiler(self.profiler.vocabulary, _PAIRS)
        group = compiler.members(_binding_set(_plan_with(self.plan, place, part), place), ITEM)
        pairs = g.Select(((x, compiler.bound), ITEM), group, distinct=True, limit=_PAIRS)
        head = (x, (n, g.Aggregate("COUNT", ITEM)))
        by, most = ((n, True), (g.apply("STR", x), False)), 2 * MOST_OPTIONS
        graph = self.profiler.graph
        found = g.found(graph, "open", head, (pairs,), group_by=(x,), order=by, limit=most) if group else ()
        return [one for solution in found if isinstance(one := solution.get(x.name), IRI | Literal)]

    def counts(self, plans: Sequence[a.Plan]) -> Iterator[int | None]:
        """Count what each plan finds, some together, as long as there is time."""
        number, until = Variable("number"), time.monotonic() + MOST_SECONDS
        done = 0
        while done < len(plans) and time.monotonic() < until:
            some = plans[done : 2 * done + 1]  # what takes long is seen early
            done += len(some)
            rows = [self._rows_of(one, self.chip.places[0]) for one in some]
            places = [i for i, one in enumerate(rows) if one is not None]
            selects = [g.Select(((number, g.Aggregate("COUNT", one.columns[0][0])),), (one,)) for one in rows if one]
            each = select_each(self.profiler.graph, "count", selects)
            counts = {places[at]: whole_number(one["number"]) for at, one in each}
            yield from (None if one is None else counts.get(i, 0) for i, one in enumerate(rows))

    def _rows_of(self, plan: Any, place: Place) -> g.Select | None:
        """Select what a plan finds, or compares to find the best, of which some is to be there; nothing of numbers."""
        vocabulary = self.profiler.vocabulary
        compiler = _OpenCompiler(vocabulary, MOST_COUNTED)
        match plan:
            case a.Count(items) | a.Exists(items):
                return self._rows_of(items, ())
            case a.Top(items) | a.SummaryOf(_, items) | a.ItemTable(items):
                each = g.Select((ITEM,), compiler.members(items, ITEM), distinct=True)  # not for each way to it
                found = list[g.Group]()
                for measure in (one.measure for one in getattr(plan, "measured", ()) or [cast("Any", plan)]):
                    found.append(compiler.measured(measure, ITEM, items).group)
                    if isinstance(measure, a.HowMany):  # of which there may be none
                        found[-1] = compiler.members(a.Has(_OPEN_ITEMS, measure.path, measure.among), ITEM)
                return g.Select((ITEM,), (each, *g.any_of(found)), distinct=True, limit=MOST_COUNTED + 1)
            case _ if isinstance(plan, a.ItemSet | a.Table):
                select: g.Select = compiled(plan, vocabulary=vocabulary, limit=MOST_COUNTED + 1).made_of
                values = [value for _, value in select.columns if value is not None]
                bound = [g.apply("=", one, one) for one in values]  # not so of what has no value
                has_any = [g.Filter(reduce(lambda one, other: g.apply("||", one, other), bound))] if bound else []
                return replace(select, group=(*select.group, *has_any), order=())
        inner = _part_at(plan, place[:1]) if place else None
        return self._rows_of(inner, place[1:]) if isinstance(inner, tuple) or is_dataclass(inner) else None


def _operators(part: Any) -> list[Any]:
    """List a part with other operators, and the set without its condition."""
    match part:
        case a.Has(items, path, to) | a.Lacks(items, path, to):
            return [a.Has(items, path, to), a.Lacks(items, path, to), items]
        case a.Top() | a.BestOfEach():
            return [replace(part, largest=not part.largest), part.items]
        case a.SummaryOf() | a.Summarised():
            return [replace(part, summary=one) for one in get_args(a.Summary)]
    others = [replace(part, comparison=one) for one in get_args(a.Comparison)]
    return [*others, *([part.items] if isinstance(part, a.Where) else [])]


def _binding_set(part: Any, place: Place) -> a.ItemSet:
    """Make of a plan with an open part a set in whose patterns it is bound: a best, a number, an absence is left."""
    if not place:
        return cast("a.ItemSet", part)
    key, rest, inner = place[0], place[1:], _part_at(part, place[:1])
    if isinstance(part, a.Both):
        return cast("a.ItemSet", _plan_with(part, place[:2], _binding_set(inner[rest[0]], rest[1:])))
    bound = _binding_set(inner, rest)
    match part, key:
        case a.Ends(), _:
            return replace(part, start=bound)
        case ((a.Has() | a.Lacks()), "to"):
            return a.Has(part.items, part.path, bound)
        case (
            (a.Has() | a.Lacks() | a.Named() | a.Minus() | a.Current() | a.Retired() | a.Where(_, a.Value())),
            "items",
        ):
            return cast("a.ItemSet", replace(part, items=bound))
    return bound
