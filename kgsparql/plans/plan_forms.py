"""Plans that answer what is wanted of a set: how many, whether, on average, a table, or the set itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from kgsparql.plans import algebra as a
from kgsparql.plans.cues import Against, Compared, Cues
from kgsparql.plans.item_sets import ends, unfiltered
from kgsparql.plans.measures import MeasureOption
from kgsparql.plans.operations import Operations
from kgsparql.plans.readings import Reader, Reading
from kgsparql.rdf.terms import IRI

_ASK_FOR_MORE = frozenset({"list", "their", "its", "give", "with", "show", "including", "along"})
"""Words with which more is asked of items than which they are."""
_COLUMNS = 6
_COLUMN = 0.8
"""How well a predicate accounts for a word, at least, to be a column of a table."""
_TABLE = 0.1
"""What a table costs where a list would do."""
_ONLY_THE_VALUE = 0.1
"""What speaks for a value in place of the items that have it, where the question does not name these."""
_VALUES: tuple[a.Kind, ...] = ("number", "date", "year", "text")
_MEASURES = 4
"""Measures that are tried for one set."""

Made = tuple[a.Plan, Reading]
"""A plan, and what of the question it accounts for."""


@dataclass(frozen=True, slots=True)
class PlanForms:
    """Makes the plans of one question from its sets."""

    operations: Operations

    @property
    def cues(self) -> Cues:
        """What the question asks to be computed."""
        return self.operations.cues

    @property
    def reader(self) -> Reader:
        """Knows what the sets have."""
        return self.operations.reader

    def plans(self, reading: Reading) -> Iterator[Made]:
        """The plans that answer what is wanted of a set."""
        match self.cues.wanted:
            case "count":
                if not (isinstance(reading.items, a.Top) and reading.items.number == 1):  # the best is one
                    yield a.Count(reading.items), reading
                yield from self._stated_numbers(reading)
            case "yes or no":
                if isinstance(reading.items, a.Top):
                    yield from self._is_the_best(reading, reading.items)
                else:
                    yield a.Exists(reading.items), reading
                yield from self._comparisons(reading)
            case "summary":
                yield from self._summaries(reading)
            case "groups":
                yield from self._tables(reading)
            case "percentage":
                yield from self._percentage(reading)
            case _:
                yield from self._values_of_the_best(reading)
                yield reading.items, reading
                if _ASK_FOR_MORE & set(self.reader.words.texts):
                    yield from self._listed(reading, _VALUES)

    def _stated_numbers(self, reading: Reading) -> Iterator[Made]:
        """A number that the graph states: the `number of employees` of one company is looked up."""
        if isinstance(reading.items, a.Items):
            for option in self.operations.measures.of(reading, self.cues.words, ("number",))[:_MEASURES]:
                if option.fit and isinstance(option.measure, a.Value):
                    yield ends(reading.items, option.measure.path), _with(reading, option)

    def _is_the_best(self, reading: Reading, best: a.Top) -> Iterator[tuple[a.Plan, Reading]]:
        """Whether something that is named is the best of others, which nothing else that is named is about."""
        if any(not own.is_class for own in reading.named):
            return
        for own in self.reader.named:
            if not own.is_class and isinstance(own.term, IRI):
                fit = dict.fromkeys(sorted(own.words), own.score)
                yield a.Exists(a.Both((a.Items((own.term,)), best))), reading.more(fit)

    def _comparisons(self, reading: Reading) -> Iterator[Made]:
        """Whether one number compares so with another: how many things, or what is measured of two that are named."""
        for number, cue in enumerate(self.cues.operations):
            if number in reading.cues:
                continue
            done = replace(reading, cues=reading.cues | {number})
            is_whole = isinstance(reading.items, a.Items | a.Instances)
            if isinstance(cue, Compared) and not is_whole and not cue.is_year:
                yield a.Compares(a.Count(reading.items), cue.comparison, a.Constant(cue.value)), done
            if isinstance(cue, Against) and isinstance(reading.items, a.Items):
                yield from self._against(done, cue)

    def _against(self, reading: Reading, cue: Against) -> Iterator[Made]:
        (first,) = reading.named
        others = [n for n in self.reader.named if not n.is_class and n.words and not n.words & first.words]
        if not first.words or min(first.words) > max(cue.words):
            return
        is_time = {"before", "after"} & {self.reader.words.texts[i] for i in cue.words}
        kinds: Sequence[a.Kind] = ("date",) if is_time else ("number", "date")
        counts = not (is_time or cue.hints)
        options = self.operations.measures.of(reading, cue.words, kinds, cue.hints, counts=counts)[:_MEASURES]
        for other in [n for n in others if min(n.words) > max(first.words)][:2]:
            for option in options:
                one, two = (_of_one(a.Items((term,)), option.measure) for term in (first.term, other.term))
                both = _with(reading, option).more(dict.fromkeys(sorted(other.words), other.score))
                yield a.Compares(one, cue.comparison, two), both

    def _summaries(self, reading: Reading) -> Iterator[Made]:
        summary = self.cues.summary or "sum"
        kinds: Sequence[a.Kind] = ("number", "date") if summary in {"min", "max"} else ("number",)
        for option in self.operations.measures.of(reading, frozenset(), kinds, counts=True)[:_MEASURES]:
            yield a.SummaryOf(summary, reading.items, option.measure), _with(reading, option)

    def _percentage(self, reading: Reading) -> Iterator[Made]:
        classes = sorted((n for n in reading.named if n.is_class), key=lambda n: (sorted(n.words), str(n.term)))
        whole = classes[0].term if classes else None
        if isinstance(whole, IRI) and reading.items != a.Instances(whole):
            share = a.Calculated("/", a.Count(reading.items), a.Count(a.Instances(whole)))
            yield a.Calculated("*", share, a.Constant(Decimal(100))), reading

    def _values_of_the_best(self, reading: Reading) -> Iterator[Made]:
        """The largest value alone: `the highest density` asks for no item."""
        top = reading.items
        asks_for_value = {"what", "how"} & set(self.reader.words.texts[:1])
        if asks_for_value and isinstance(top, a.Top) and not any(named.words for named in reading.named):
            yield (
                a.SummaryOf("max" if top.largest else "min", top.items, top.measure),
                reading.more({}, -_ONLY_THE_VALUE),
            )

    def _listed(self, reading: Reading, kinds: Sequence[a.Kind]) -> Iterator[Made]:
        """A table of the items with what else of them is asked for: `their names and prices`."""
        if isinstance(unfiltered(reading.items), a.Items):
            return
        columns: dict[str, a.Column] = {}
        fits: dict[int, float] = {}
        for use, fit in self.reader.uses(reading.items):
            new = {i: v for i, v in fit.items() if v >= _COLUMN and reading.fit.get(i, 0.0) < v}
            if new and use.kind in kinds:
                name = self.reader.labels([use.step.predicate], in_grace=True)[use.step.predicate]
                columns.setdefault(name, a.Column(name, a.Value(use.path, use.kind, use.unit), optional=True))
                fits.update(new)
        if columns:
            yield a.ItemTable(reading.items, tuple(columns.values())[:_COLUMNS]), reading.more(fits, _TABLE)

    def _tables(self, reading: Reading) -> Iterator[Made]:
        """A row for each item, where there is to be a row for these; else one for each of what they have."""
        is_named = any(named.words & self.cues.group for named in reading.named)
        if is_named and isinstance(unfiltered(reading.items), a.Instances):
            yield from self._rows_of_items(reading)
        else:
            yield from self._groups(reading)

    def _rows_of_items(self, reading: Reading) -> Iterator[Made]:
        cues, operations = self.cues, self.operations
        options = operations.measures.of(reading, frozenset(), ("number",), counts=True)
        if cues.summary is not None:
            for single in options[:_MEASURES]:  # `the average number of pages per book` is one number
                if single.fit:
                    yield a.SummaryOf(cues.summary, reading.items, single.measure), _with(reading, single)
            options = operations.measures.summaries(reading, frozenset(), cues.summary)
        for option in options[:_MEASURES]:
            column = a.Column("value", option.measure, optional=True)
            yield a.ItemTable(reading.items, (column,), "value"), _with(reading, option)
        if cues.summary is None and not cues.words:
            yield from self._listed(reading, (*_VALUES, "item"))

    def _groups(self, reading: Reading) -> Iterator[Made]:
        for use, fit in self.reader.uses(reading.items):
            own = {i: v for i, v in fit.items() if i in self.cues.group}
            if not own:
                continue
            keyed = reading.more(own)
            if self.cues.summary is None:
                yield a.Grouped(reading.items, use.path, (a.GroupColumn("number"),), order_by="number"), keyed
                continue
            for option in self.operations.measures.of(keyed, frozenset(), ("number",))[:_MEASURES]:
                column = a.GroupColumn("value", self.cues.summary, option.measure)
                yield a.Grouped(reading.items, use.path, (column,), order_by="value"), _with(keyed, option)


def _with(reading: Reading, option: MeasureOption) -> Reading:
    return replace(reading.more(option.fit, option.cost), silent=reading.silent + option.is_guess)


def _of_one(items: a.Items, measure: a.Measure) -> a.Number:
    """What is measured of one item, as a number."""
    if isinstance(measure, a.HowMany):
        return a.Count(a.Ends(items, measure.path))
    return a.SummaryOf("max", items, measure)
