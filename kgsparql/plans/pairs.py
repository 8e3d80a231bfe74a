"""Two things compared: whether one has more of something than the other, and how much more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import Denotation, Match, PlannedReading, best, ends, unplanned
from kgsparql.plans.expressions import read_as
from kgsparql.plans.measuring import MeasureFit, by_year
from kgsparql.plans.phrases_on_graph import OnPhrases
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import Literal, zip_equal
from kgsparql.reading.clauses import NounPhrase
from kgsparql.reading.gaps import Gap, left_out_at, quoted, rival, turned


class PairPlanner(OnPhrases):
    """Plans one question about two things, or two sets."""

    def plan(self) -> PlannedReading:
        """The likeliest comparison, or difference."""
        question, by = self.question, self.question.comparative
        if question.asks == "difference" and by is not None and not (by.measures or question.measured):
            return self._difference_of_counts()
        phrase, opposite, left = question.phrase, question.other or NounPhrase(), list[int]()
        measured = theirs = question.measured
        if phrase.of and opposite.of and phrase.chunks and opposite.chunks:
            # the height of the one and that of the other
            measured, theirs = self.positions(phrase.chunks), self.positions(opposite.chunks)
            left = [p for said in (*phrase.restrictions, *opposite.restrictions) for p in self.said_in(said)]
            phrase, opposite = phrase.of, opposite.of
        likeliest = (best(self.phrases.denotations(own), 1) for own in (phrase, opposite))
        sides = [side for own in likeliest for side in own if not side.is_free]
        if len(sides) < 2:
            return unplanned()
        is_pair = all(side.is_named or len(self.view.members(side.known)) == 1 for side in sides)
        summary = question.summary or ("" if is_pair else "avg")
        self.measuring.look_at_measured(sides)
        options = self._measures_of(sides[0], measured, counts=not summary)
        if not options:  # gave more milk, as was observed
            rest = tuple(p for p in measured if self.texts[p] not in self.lexicon.joining_verbs)
            measured = theirs = rest or measured
            options = self._measures_of(sides[0], rest, counts=False) if rest else []
            options = [one for one in options if one.path.last in self.view.vocabulary.joined]
        if not options:
            return PlannedReading(None, doubts=left_out_at(measured or ((by.position,) if by else ())))
        others = options if theirs == measured else self._measures_of(sides[1], theirs, counts=not summary)
        others = self.measuring.times(sides[1], by.event) if by is not None and by.event else others
        both = [(side, own[0]) for side, own in zip_equal(sides, (options, others)) if own]
        self.view.look_for_members(_measured_ends(side.known, option.path, option.measure) for side, option in both)
        values = [self._values_of(*side) for side in both]
        if len(both) < 2 or not all(values):
            return unplanned()
        one, other = sides
        whole = replace(one, score=one.score + other.score, doubts=(*one.doubts, *other.doubts)).leaving_out(left)
        word = self.texts[by.position if by is not None else measured[-1]]
        how = (*other.how, *(Match(word, path) for path in dict.fromkeys(option.path for _, option in both)))
        if question.asks == "difference":
            return self._difference_plan(whole, both, how) if is_pair else unplanned()
        is_observed = both[0][1].path.last in self.view.vocabulary.joined and max(map(len, values)) > 1
        if is_observed and not summary and max(map(min, values)) <= min(map(max, values)):  # now one, now the other
            whole = whole.doubted(rival())
        if is_pair and by is not None and "size" in by.measures and not measured:
            one = one.doubted(*self._otherwise_sized(one, other, options, by.comparison))
            whole = whole.doubted(*one.doubts)
        numbers = [value_of(side.known, option.measure, summary) for side, option in both]
        comparison = "=" if by is None else options[0].compared(by.comparison)
        return whole.reading(a.Compares(numbers[0], comparison, numbers[1]), options[0].score, *how)

    def _measures_of(self, side: Denotation, positions: Sequence[int], *, counts: bool) -> list[MeasureFit]:
        """What is compared of one of the two."""
        by, lexicon = self.question.comparative, self.lexicon
        word = "" if by is None else self.texts[by.position]
        if word in lexicon.order_words or (positions and word in lexicon.last_words):  # died later
            return self.measuring.times(side, positions)
        if positions:
            hints = () if by is None else by.measures  # how long: never how many
            return self.measuring.measures_at(side, positions, hints, counts=counts and "duration" not in hints)
        return self.measuring.measures(side, (), by.measures) if by is not None and by.measures else []

    def _otherwise_sized(
        self, one: Denotation, other: Denotation, options: Sequence[MeasureFit], how: a.Comparison
    ) -> Iterator[Gap]:
        """Doubt that one is larger which is so by its area, say, and not by its population."""
        found = dict[bool, str]()
        for option in options:
            if isinstance(option.measure, a.Value) and self._values_of(other, option):
                larger = a.Where(one.known, option.measure, option.compared(how), value_of(other.known, option.measure))
                found.setdefault(self.view.has_items(larger), quoted(self.fit.text(option.last)))
        if len(found) > 1:
            yield rival(*found.values())

    def _values_of(self, side: Denotation, option: MeasureFit) -> list[Any]:
        """What is measured of one of the two, to be compared; nothing where the graph does not say it."""
        measure = option.measure
        found = self.view.members(_measured_ends(side.known, option.path, measure))
        if isinstance(measure, a.Value):
            amounts = self.view.vocabulary.amounts.get(option.path.last)
            if amounts is not None and amounts.is_mixed:  # which the engine makes comparable
                return [*found]
            return [own for end in found if (own := read_as(end, measure.kind)) is not None]
        return [len(found)]

    # --- how much more

    def _difference_of_counts(self) -> PlannedReading:
        """How many more there are of one set than of another."""
        phrases = (self.phrases.denotations(one) for one in (self.question.phrase, self.question.other) if one)
        likeliest = (best(self.predicating.settled_of(own), 1) for own in phrases)
        sides = [side for own in likeliest for side in own if not side.is_named]
        if len(sides) < 2:
            return unplanned()
        one, other = sides
        plan = a.Calculated("-", a.Count(one.known), a.Count(other.known))
        return one.doubted(*other.doubts).reading(plan, other.score, *other.how)

    def _difference_plan(
        self, whole: Denotation, sides: Sequence[tuple[Denotation, MeasureFit]], how: Sequence[Match]
    ) -> PlannedReading:
        """How much more the one has than the other; of a difference, how much more the one that has more."""
        by, doubts, numbers, values = self.question.comparative, list[Gap](), list[a.Number](), list[Any]()
        for side, option in sides:
            own, asked, one = by_year(option), self.question.unit, list[Decimal | Literal]([Decimal(1)])
            is_bare = isinstance(own.measure, a.Value) and not own.measure.unit
            if asked == "year" and is_bare and self.measuring.is_of_time(own):  # a year is in years
                asked = ""
            in_unit, more = self.measuring.in_its_unit(own.measure, one, asked)
            found = self._values_of(side, own)
            known = sorted(map(str, self.view.members(ends(side.known, option.path)))) if len(found) > 1 else ()
            doubts += [
                *more,
                *(rival("another value", value) for value in known[:1]),
            ]
            number = value_of(side.known, own.measure)
            factors = (a.Constant(own) for own in in_unit if isinstance(own, Decimal))
            numbers += [number if in_unit == one else a.Calculated("/", number, factor) for factor in factors]
            values.append(max(found, key=str) if isinstance(found[0], Literal) else max(found))
        is_more = by is None or sides[0][1].compared(by.comparison) not in {"<", "<="}
        if any(isinstance(one, Literal) for one in values):  # in several units
            (first, its), (other, option) = sides
            second, ways = value_of(other.known, option.measure), cast("tuple[a.Comparison, ...]", (">", "<"))
            values = [self.view.has_items(a.Where(first.known, its.measure, how, second)) for how in ways]
        if by is not None and values[0] != values[1] and (values[0] > values[1]) != is_more:
            doubts.append(turned(self.texts[by.position]))
        if values[0] < values[1]:
            numbers.reverse()
        return whole.doubted(*doubts).reading(a.Calculated("-", *numbers), sides[0][1].score, *how)


def value_of(items: a.ItemSet, measure: a.Value | a.HowMany | a.Summarised, summary: str = "") -> a.Number:
    """The one number of a set: how many it has of something, or its value."""
    if isinstance(measure, a.HowMany):
        return a.Count(_measured_ends(items, measure.path, measure))
    return a.SummaryOf("avg" if summary == "avg" else "sum" if summary == "sum" else "max", items, measure)


def _measured_ends(items: a.ItemSet, path: PropertyPath, measure: Any) -> a.ItemSet:
    """Return what is read to measure a set: what a path leads to, of those that are counted."""
    reached = ends(items, path)
    is_among = isinstance(measure, a.HowMany) and measure.among is not None
    return a.Both((reached, measure.among)) if is_among else reached
