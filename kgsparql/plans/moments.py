"""Ages, and what was before what: by the one date that a thing has, or that something else has said of it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from kgsparql.dataclasses import frozen, replace
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import Match, PlannedReading
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.label_fit import NEAR, LabelFit
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.rdf.terms import IRI, XSD, Literal, zip_equal
from kgsparql.reading.clauses import Chunk
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import unsaid
from kgsparql.reading.times import Days, TimeSaid, clause_of, days_of_date, says_more, today
from kgsparql.schema.dating import ITSELF


@frozen
class Moments:
    """Finds when something was by the dates of things."""

    view: KnownGraph
    fit: LabelFit

    def of_thing(self, thing: a.ItemSet, said: Sequence[str] = (), hints: Sequence[str] = ()) -> a.Held | None:
        """Find the one date of a thing that words or hints are like, as *died* is like a date of death.

        Without words and hints, the only date that it has; ``None`` where there are several, or none.
        """
        uses = self._dates_of(thing)
        if said or hints:
            fits = [
                max(*self.fit.phrase(said, one.predicate), self.fit.hinted(one.predicate, hints), 0.0) for one in uses
            ]
            best = max(fits, default=0.0)
            uses = [one for one, fit in zip_equal(uses, fits) if fit == best >= NEAR]
        found = [a.Held(thing, one.path, ITSELF) for one in uses]
        return found[0] if len(found) == 1 and len(self.view.members(found[0])) == 1 else None

    def _dates_of(self, items: a.ItemSet) -> list[PredicateUse]:
        return [
            one
            for one in self.view.uses(items)
            if one.step.is_forward and one.kind != "item" and self.view.may_be("time", one)
        ]

    def age(self, said: TimeSaid, asked: Form, moment: a.Held | None, day: int) -> PlannedReading | None:
        """Read how old something was as the whole years from when it came to be; ``None`` where that is not known.

        :param moment: facts of one date, by whose last day it is counted; ``None`` where a day is said.
        :param day: by which it is counted, such as 20091231; 0 where none is said.
        """
        own, thing = asked.language, _first_of(said.beside)
        stated = any(self.fit.hinted(use.predicate, [*own.in_years]) for use in self.view.uses(thing))
        born, died = (self.of_thing(thing, hints=hints) for hints in (own.begins_life, own.ends_life))
        begin, over, asked_at = self._days_of(born), self._days_of(died), (day, day) if day else self._days_of(moment)
        if born is None or stated or begin is None or asked_at is None or asked_at[1] < begin[0]:
            return None
        if (is_over := over is not None and over[1] < asked_at[1]) and day == today():
            moment = died
        then: a.Number = a.Constant(Decimal(day))
        if moment is not None:
            then = a.SummaryOf("max", moment.to or moment, a.When(moment, "end"))
        doubts = (unsaid(self.fit.text(died.path.last)),) if is_over and died is not None else ()
        plan = a.Calculated("years", then, a.SummaryOf("min", born, a.When(born)))
        return PlannedReading(plan, 1.0, doubts)

    def order(self, reading: PlannedReading, asked: Form, said: TimeSaid) -> PlannedReading | None:
        """Read what was before another thing, or whether one was, by their dates; ``None`` where these do not tell."""
        comparison: a.Comparison = "<" if said.kind == "before" else ">"
        other = self.of_thing(_first_of(said.beside))
        if asked.asks == "ask":
            clause = clause_of(asked.read)
            one = self.of_thing(_first_of(clause.names[0])) if clause.names and not says_more(clause, asked) else None
            match reading.plan:
                case a.Exists(a.Has(a.Items() as thing, path, None)) if not reading.doubts:  # it was launched before
                    one, other = (a.Held(own, path, ITSELF) for own in (thing, _first_of(said.beside)))
            if one is None or other is None or not self._are_apart(one, other):
                return None
            numbers = (a.SummaryOf("min", facts, a.When(facts)) for facts in (one, other))
            return PlannedReading(a.Compares(next(numbers), comparison, next(numbers)), 1.0, how=(Match("", one.path),))
        items = reading.plan.items if isinstance(reading.plan, a.Top) else reading.plan
        if other is None or not isinstance(items, a.ItemSet) or reading.doubts:
            return None
        uses = self._dates_of(items)
        uses = [one for one in uses if one.path == other.path] or uses
        if len(uses) != 1:
            return None
        (date,) = self.view.members(other)
        if not isinstance(date, Literal):
            return None
        if " " in date.value:  # as databases write it
            date = Literal(date.value.replace(" ", "T"), datatype=IRI(f"{XSD}dateTime"))
        found: a.ItemSet = a.Where(items, a.Value(uses[0].path, "date"), comparison, date)
        found = replace(reading.plan, items=found) if isinstance(reading.plan, a.Top) else found
        return replace(reading, plan=found, others=())

    def _days_of(self, facts: a.Held | None) -> Days | None:
        """The first and the last day of the one date of some facts; ``None`` where there are several, or none."""
        dates = () if facts is None else self.view.members(a.Times(facts))
        found = [days for one in dates if isinstance(one, Literal) and (days := days_of_date(one)) is not None]
        return found[0] if len(found) == len(dates) == 1 else None

    def _are_apart(self, one: a.Held, other: a.Held) -> bool:
        """Whether of two dates none is within the other, or both are the same: which is earlier is known."""
        first, then = self._days_of(one), self._days_of(other)
        return first is not None and then is not None and (first == then or first[1] < then[0] or then[1] < first[0])


def _first_of(chunk: Chunk | None) -> a.Items:
    return a.Items(tuple(name.term for name in chunk.entities[:1]) if chunk is not None else ())
