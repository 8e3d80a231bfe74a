"""Plans for a question without a model: made from what it names, one operator at a time, and ranked.

Source: enumerating and ranking in place of writing follows Gu et al., "Don't Generate, Discriminate" (ACL 2023),
arXiv:2212.09736; cues, fits and costs are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations

from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.plans.cues import Against, Compared, Cues
from kgsparql.plans.operations import Operations
from kgsparql.plans.question_words import Fit
from kgsparql.plans.readings import CHAINS, Reader, Reading, ends, unfiltered
from kgsparql.plans.type_check import check
from kgsparql.rdf.terms import IRI

_BEAM = 10
_ASK_FOR_MORE = frozenset({"list", "their", "its", "give", "with", "show", "including", "along"})
"""Words with which more is asked of items than which they are."""
_COLUMNS = 6
_COLUMN = 0.8
"""How well a predicate accounts for a word, at least, to be a column of a table."""
_TABLE = 0.1
_ONLY_THE_VALUE = 0.1
"""What speaks for a value in place of the items that have it, where the question does not name these."""
"""What a table costs where a list would do."""
ACCOUNTED = 0.4
"""How well a word is accounted for, at least, that is not said to be left out."""


@dataclass(frozen=True, slots=True)
class RankedPlan:
    """A plan and how well it fits a question.

    :param score: in [0, 1]: the share of what is asked that it accounts for, less what speaks against it.
    :param left: places of the words that it does not account for.
    """

    plan: a.Plan
    score: float
    left: tuple[int, ...] = ()


def enumerated_plans(reader: Reader, cues: Cues, *, most: int = 8) -> list[RankedPlan]:
    """The likeliest plans for a question, the best first."""
    operations = Operations(reader, cues)
    ranked: dict[a.Plan, RankedPlan] = {}
    for reading in _sets(reader, operations):
        for plan, fit, cost in _wrapped(reading, operations):
            try:
                check(plan)
            except PlanError:
                continue
            made = _ranked(plan, replace(reading.more(fit, cost)), reader, cues)
            if plan not in ranked or ranked[plan].score < made.score:
                ranked[plan] = made
    return sorted(ranked.values(), key=lambda own: (-own.score, len(str(own.plan)), str(own.plan)))[:most]


def _sets(reader: Reader, operations: Operations) -> list[Reading]:
    """The sets that the question may be about, with what is asked to be done with them done."""
    starts = reader.starts()
    chains = {next(iter(start.named)): reader.chains(start) for start in starts}
    found = [reading for own in chains.values() for reading in own]
    for one, other in combinations(chains.values(), 2):
        met = [reader.met(x, y) for x in one[:CHAINS] for y in other[:CHAINS]]
        found += sorted((m for m in met if m is not None), key=lambda r: -r.score)[:_BEAM]
    threes = [
        reader.met(x, y) for x in sorted(found, key=lambda r: -r.score)[:_BEAM] if len(x.named) == 2 for y in starts
    ]
    found += [three for three in threes if three is not None]
    best = [*starts, *sorted(found, key=lambda r: (-r.score, str(r.items)))[: 2 * _BEAM]]
    done = [new for one in best for new in operations.applied(one)]
    plain = [one for one in done if len(one.named) == 1 and isinstance(unfiltered(one.items), a.Instances)]
    best_first = sorted(done, key=lambda r: (-r.score, str(r.items)))[:_BEAM]
    done = [*best_first, *(one for one in plain if one not in best_first)]
    after = [step for one in done[: _BEAM // 2] if isinstance(one.items, a.Top) for step in reader.steps(one)]
    return [*done, *sorted(after, key=lambda r: -r.score)[:_BEAM]]


def _wrapped(reading: Reading, operations: Operations) -> Iterator[tuple[a.Plan, Fit, float]]:
    """The plans that answer what is wanted of a set, each with more words accounted for, and what it costs."""
    cues = operations.cues
    match cues.wanted:
        case "count":
            yield a.Count(reading.items), {}, 0.0
            for option in operations.measures(reading, cues.words, ("number",))[:2]:
                if isinstance(reading.items, a.Items) and option.fit and isinstance(option.measure, a.Value):
                    yield ends(reading.items, option.measure.path), option.fit, option.cost
        case "yes or no":
            yield a.Exists(reading.items), {}, 0.0
            yield from _comparisons(reading, operations)
        case "summary" if cues.summary is not None:
            kinds: Sequence[a.Kind] = ("number", "date") if cues.summary in {"min", "max"} else ("number",)
            for option in operations.measures(reading, cues.words, kinds, counts=True)[:4]:
                yield a.SummaryOf(cues.summary, reading.items, option.measure), option.fit, option.cost
        case "groups":
            yield from _tables(reading, operations)
        case "percentage":
            whole = next((n.term for n in reading.named if n.is_class), None)
            if isinstance(whole, IRI) and reading.items != a.Instances(whole):
                share = a.Calculated("/", a.Count(reading.items), a.Count(a.Instances(whole)))
                yield a.Calculated("*", share, a.Constant(Decimal(100))), {}, 0.0
        case _:
            if isinstance(reading.items, a.Top) and not any(named.words for named in reading.named):
                best: a.Summary = "max" if reading.items.largest else "min"
                yield a.SummaryOf(best, reading.items.items, reading.items.measure), {}, -_ONLY_THE_VALUE
            yield reading.items, {}, 0.0
            if _ASK_FOR_MORE & set(operations.reader.words.texts):
                yield from _listed(reading, operations, of_kinds=("number", "date", "year", "text"))


def _comparisons(reading: Reading, operations: Operations) -> Iterator[tuple[a.Plan, Fit, float]]:
    """Whether one number compares so with another: how many things, or what is measured of two that are named."""
    cues, reader = operations.cues, operations.reader
    for number, cue in enumerate(cues.operations):
        if number in reading.cues:
            continue
        if isinstance(cue, Compared) and isinstance(reading.items, a.Ends) and not cue.is_year:
            done = dict.fromkeys(sorted(cue.words), 1.0)
            yield a.Compares(a.Count(reading.items), cue.comparison, a.Constant(cue.value)), done, -1.0
        if isinstance(cue, Against) and isinstance(reading.items, a.Items):
            (first,) = reading.named
            others = [n for n in reader.named if not n.is_class and not n.words & first.words]
            others = [n for n in others if min(n.words, default=0) > max(first.words, default=0)]
            near = frozenset(range(min(first.words, default=0), max(cue.words) + 1))
            for option in operations.measures(reading, near, ("number", "date"), cue.hints, counts=True)[:3]:
                for other in others[:2]:
                    one, two = (_measured(a.Items((term,)), option.measure) for term in (first.term, other.term))
                    done = dict.fromkeys(sorted({*cue.words, *other.words}), 1.0)
                    yield a.Compares(one, cue.comparison, two), {**option.fit, **done}, option.cost - 1.0


def _measured(items: a.Items, measure: a.Measure) -> a.Number:
    """What is measured of one item, as a number."""
    return (
        a.Count(a.Ends(items, measure.path)) if isinstance(measure, a.HowMany) else a.SummaryOf("max", items, measure)
    )


def _listed(
    reading: Reading, operations: Operations, *, of_kinds: Sequence[a.Kind]
) -> Iterator[tuple[a.Plan, Fit, float]]:
    """A table of the items with what else of them is asked for: `their names and prices`."""
    if isinstance(unfiltered(reading.items), a.Items):
        return
    columns: list[a.Column] = []
    fits: dict[int, float] = {}
    for use, fit in operations.reader.uses(reading.items):
        new = {i: v for i, v in fit.items() if v >= _COLUMN and reading.fit.get(i, 0.0) < v}
        if new and use.kind in of_kinds:
            name = operations.reader.labels([use.step.predicate], in_grace=True)[use.step.predicate]
            columns.append(a.Column(name, a.Value(use.path, use.kind, use.unit), optional=True))
            fits.update(new)
    if columns and len({column.name for column in columns}) == len(columns):
        yield a.ItemTable(reading.items, tuple(columns[:_COLUMNS])), fits, _TABLE


def _tables(reading: Reading, operations: Operations) -> Iterator[tuple[a.Plan, Fit, float]]:
    """A row for each item, where the items are what there is to be a row for; else one for each of what they have."""
    cues, reader = operations.cues, operations.reader
    is_of_group = any(named.words & cues.group for named in reading.named) and isinstance(
        unfiltered(reading.items), a.Instances
    )
    if is_of_group:
        if cues.summary is not None:
            options = operations.summaries(reading, cues.words, cues.summary)
        else:
            options = operations.measures(reading, cues.words or cues.group, ("number",), counts=True)
        if cues.summary is not None:
            for single in operations.measures(reading, cues.words, ("number",), counts=True)[:3]:
                if single.fit:
                    yield a.SummaryOf(cues.summary, reading.items, single.measure), single.fit, single.cost
        for option in options[:4]:
            column = a.Column("value", option.measure, optional=True)
            yield a.ItemTable(reading.items, (column,), "value"), option.fit, option.cost
        if cues.summary is None and not cues.words:
            yield from _listed(reading, operations, of_kinds=("number", "date", "year", "text", "item"))
        return
    for use, fit in reader.uses(reading.items):
        own = {i: v for i, v in fit.items() if i in cues.group}
        if not own:
            continue
        if cues.summary is None:
            yield a.Grouped(reading.items, use.path, (a.GroupColumn("number"),), order_by="number"), own, 0.0
            continue
        for option in operations.measures(reading, cues.words, ("number",))[:2]:
            of_group = a.GroupColumn("value", cues.summary, option.measure)
            yield a.Grouped(reading.items, use.path, (of_group,), order_by="value"), {**own, **option.fit}, option.cost


def _ranked(plan: a.Plan, reading: Reading, reader: Reader, cues: Cues) -> RankedPlan:
    said = {
        i for own in (cues.words, *(c.words for n, c in enumerate(cues.operations) if n in reading.cues)) for i in own
    }
    asked = [i for i in reader.words.content if i not in cues.words]
    done = sum(n in reading.cues for n in range(len(cues.operations)))
    weight = len(asked) + len(cues.operations) + 1
    fit = sum(1.0 if i in said else reading.fit.get(i, 0.0) for i in asked)
    bonus = sum(1 for n in reading.cues)
    score = (fit + done + 1 - (reading.cost + bonus)) / weight
    left = tuple(i for i in asked if i not in said and reading.fit.get(i, 0.0) < ACCOUNTED)
    missed = [i for n, cue in enumerate(cues.operations) if n not in reading.cues for i in sorted(cue.words)]
    return RankedPlan(plan, round(score, 4), tuple(sorted({*left, *missed})))
