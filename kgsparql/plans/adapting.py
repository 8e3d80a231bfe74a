"""Plans changed to what is meant on a graph: without what is deprecated, each thing once, numbers in another unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kgsparql.dataclasses import frozen, replace
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import PlannedReading, ends
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.type_check import UNITS, exchanged, mapped, parts
from kgsparql.rdf.literals import unit
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, iris_in
from kgsparql.rdf.vocabulary import SAME_AS
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import left_out
from kgsparql.schema.amounts import Amounts


@frozen
class Those:
    """Things that were found before, of which a question asks what it could ask of all of their kind.

    :param kind: the class, or classes, whose name the question has in their place; ``None`` where nothing was found.
    :param said: the word of the question that means them.
    """

    items: a.ItemSet
    kind: a.ItemSet | None
    said: str

    def in_reading(self, reading: PlannedReading, view: KnownGraph) -> PlannedReading:
        """Return a reading of them alone; of a value that each may have, a table."""
        if reading.plan is None:
            return reading
        others = tuple(self.in_reading(one, view) for one in reading.others)
        plan = exchanged(reading.plan, self.kind, self.items)
        doubts = () if self.items in (*parts(plan),) else (left_out(self.said),)
        sets = plan.sets if isinstance(plan, a.Both) else (plan,)
        ends = next((one for one in sets if isinstance(one, a.Ends) and one.start == self.items), None)
        rest = tuple(one for one in sets if one != ends)
        uses = () if ends is None or len(rest) > 1 else view.uses(self.items)
        if (use := next((one for one in uses if ends is not None and one.path == ends.path), None)) is not None:
            name = view.labels([use.path.last])[use.path.last]
            measure = a.Value(use.path, use.kind, use.unit, *rest)
            plan = a.ItemTable(self.items, (a.Column(name, measure, optional=True),))
        return replace(reading, plan=plan, others=others, doubts=(*reading.doubts, *doubts))


def as_meant(reading: PlannedReading, asked: Form, view: KnownGraph, those: Those | None) -> PlannedReading:
    """Return a reading that leaves out what is deprecated, unless all of it is, or the question is about that.

    Of things that are the same, there is one.

    :param those: what was found before, where the question is about that alone.
    """
    reading = reading if those is None else those.in_reading(reading, view)
    vocabulary = view.vocabulary
    if vocabulary.retired and asked.language.retired_words.isdisjoint(asked.texts):
        reading = _keeping_by(a.Current, reading, view)
    if not vocabulary.has_twins:
        return reading
    plan = reading.plan and mapped(reading.plan, lambda part: _of_twins(part, view))
    return _keeping_by(a.Once, replace(reading, plan=plan), view)


def _of_twins(part: Any, view: KnownGraph) -> Any:
    """Return what a thing leads to with what those lead to that are the same, where these say anything of it."""
    match part:
        case a.Ends(a.Items((one,)) as start, path) | a.Where(a.Items((one,)) as start, a.Value(path)):
            same = Step(SAME_AS)
            twins = {end for way in (same, same.reversed) for end in view.members(a.Ends(start, way.path))}
            others = a.Items(tuple(sorted(iris_in(twins), key=str)))
            if others.terms and view.has_items(a.Ends(others, path)):
                both = a.Items((one, *others.terms))
                return exchanged(part, start, both)
    return part


def _keeping_by(form: type[a.Current | a.Once], reading: PlannedReading, view: KnownGraph) -> PlannedReading:
    """Keep of the items of a plan what a form keeps, where that is some, and anything is left out."""
    plan = reading.plan
    within = plan if isinstance(plan, a.Count | a.SummaryOf | a.Top | a.Table) else None
    items = plan if within is None else within.items
    if not isinstance(items, a.ItemSet) or isinstance(items, a.Items):
        return reading
    kept, same = form(items), Step(SAME_AS).path
    left_out = a.Retired(items) if form is a.Current else a.Both((items, a.Ends(items, same)))
    if not (view.has_items(left_out) and view.has_items(kept)):  # of the latter some queries take long
        return reading
    if form is a.Once and isinstance(measure := getattr(plan, "measure", None), a.Value):
        kept = a.Once(a.Has(items, measure.path))  # of what is the same, one that says it
    return replace(reading, plan=kept if within is None else replace(within, items=kept))


def in_unit(part: Any, sign: str, amounts: Mapping[IRI, Amounts], *, is_asked: bool = True) -> Any:
    """Return a measure in another unit of its kind, where the graph says the unit of each of its numbers.

    :param is_asked: for the number that is asked for; else only where the graph has several units, too.
    """
    if not isinstance(part, a.Value | a.Summarised) or part.kind not in {"number", "duration"}:
        return part
    known = Amounts("s", {}, is_mixed=False) if part.kind == "duration" else amounts.get(part.path.last)
    may_be = known is not None and (is_asked or known.is_mixed) and unit(sign).kind == unit(known.sign).kind
    return replace(part, unit=sign, kind="number") if may_be else part


def summarised(summary: a.Summary, measure: a.Value, path: PropertyPath) -> a.Summarised:
    """One number for the values that a path leads to, which are as those of a measure: amounts of time, or numbers."""
    return a.Summarised(summary, path, measure.unit, measure.kind if measure.kind in UNITS else "number")


def by_names(plan: a.Plan, at: Collection[int], step: Step) -> a.Plan:
    """Return the same table with what a step leads to for what is in some of its columns."""
    if isinstance(plan, a.Grouped):
        return replace(plan, key=PropertyPath((*plan.key.steps, step)))
    if not isinstance(plan, a.ItemTable):
        return plan
    columns = list[a.Column]()
    for place, one in enumerate(plan.columns, int(plan.shows_items)):
        measure = one.measure
        if place in at and isinstance(measure, a.Value):
            measure = a.Value(PropertyPath((*measure.path.steps, step)), "text")
        columns.append(replace(one, measure=of_names(measure, step) if plan.shows_items and 0 in at else measure))
    if not (plan.shows_items and 0 in at):
        return replace(plan, columns=tuple(columns))
    order, items = plan.order_by, ends(plan.items, step.path)
    order = order if isinstance(order, str) else of_names(order, step)
    return replace(plan, items=items, columns=tuple(columns), order_by=order)


def of_names(measure: Any, step: Step) -> Any:
    """Measure of all that is called so what was measured of each, by the step that leads to its name."""
    if isinstance(measure, a.Calculated):
        return replace(measure, left=of_names(measure.left, step), right=of_names(measure.right, step))
    path = getattr(measure, "path", None)
    return measure if path is None else replace(measure, path=PropertyPath((step.reversed, *path.steps)))
