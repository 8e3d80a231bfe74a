"""What cues ask to be done with a set: kept by a comparison or an absence, ordered, summed, counted, tabulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kgsparql.plans import algebra as a
from kgsparql.plans.cue_words import UNITS
from kgsparql.plans.cues import Absent, Against, Called, Compared, Cues, Dated, Extreme
from kgsparql.plans.item_sets import classes_in, is_yes_no, stated
from kgsparql.plans.measures import KEPT, MeasureOption, Measures, Told
from kgsparql.plans.readings import ACCOUNTED, Reader, Reading, together
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.type_check import parts
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal, local_name

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DO = frozenset("do does did don doesn didn".split())
"""Words before a `not` after which comes a verb."""
_BE = frozenset("s is are was were became".split())
"""Words after `who` with which the best itself is asked for."""
_BEFORE_NOUN = frozenset("of the all our their its these those".split())
"""Words between a superlative and its noun."""
_CALLED = 0.9
"""How well the name of a predicate accounts for a word that it is called by."""


@dataclass(frozen=True, slots=True)
class Operations:
    """Does with sets what the cues of one question ask."""

    reader: Reader
    cues: Cues

    @property
    def measures(self) -> Measures:
        """What may be measured of sets."""
        return Measures(self.reader)

    def applied(self, reading: Reading) -> list[Reading]:
        """The set after all that the question asks to be done with it, each in the likeliest ways."""
        is_one = _is_one(reading.items)
        if reading.kind != "item" or (is_one and not self.reader.asks_whether):
            return [reading]
        found = [reading]
        order = sorted(range(len(self.cues.operations)), key=lambda n: isinstance(self.cues.operations[n], Extreme))
        if is_one or (isinstance(reading.items, a.Both) and any(map(_is_one, reading.items.sets))):
            # One thing is the largest of itself, whatever it is.
            order = [n for n in order if isinstance(self.cues.operations[n], Compared | Dated | Absent)]
        for number in order:
            made = [new for one in found for new in self._one(one, number) if not (is_one and _counts(new.items))]
            found = sorted(made, key=lambda r: -r.score)[:KEPT] or found
        return [reading, *found] if self.reader.asks_whether and order else found

    def _one(self, reading: Reading, number: int) -> Iterator[Reading]:
        cue = self.cues.operations[number]
        match cue:
            case Compared():
                made = self._compared(reading, cue)
            case Dated(words, comparison, date):
                made = (
                    (a.Where(reading.items, option.measure, comparison, date), option)
                    for option in self.measures.of(reading, words, ("date",))[:KEPT]
                )
            case Extreme():
                made = self._extremes(reading, cue)
            case Absent():
                made = self._absences(reading, cue)
            case Called():
                made = iter([(a.Named(reading.items, cue.text), Told())])
            case Against():
                made = iter(())
        for items, told in made:
            accounted = together(told.fit, dict.fromkeys(sorted(cue.words & set(self.reader.words.content)), 1.0))
            silent = reading.silent + told.is_guess
            more = reading.more(accounted, told.cost)
            yield replace(more, items=items, cues=reading.cues | {number}, silent=silent)

    def _compared(self, reading: Reading, cue: Compared) -> Iterator[tuple[a.ItemSet, Told]]:
        kinds: tuple[a.Kind, ...] = ("date", "number") if cue.is_year else ("number",)
        after, is_plain = max(cue.words) + 1, not (cue.is_year or cue.hints)
        if is_plain and self.reader.classes_at(frozenset({after})) & classes_in(reading.items):
            return  # what has more than five employees is no employee
        is_noun = is_plain and after in self.reader.words.content and self.reader.words.texts[after] not in UNITS
        for option in self.measures.of(reading, cue.words, kinds, cue.hints, counts=not cue.is_year and not cue.hints)[
            :KEPT
        ]:
            measure = option.measure
            if cue.is_year and isinstance(measure, a.Value) and measure.kind == "date":
                measure = replace(measure, kind="year")
            elif cue.is_year and not self._holds_years(option):
                continue
            kept: a.ItemSet = a.Where(reading.items, measure, cue.comparison, _number(cue.value))
            if cue.upper is not None:
                kept = a.Where(kept, measure, "<=", _number(cue.upper))
            is_unsaid = is_noun and after not in option.fit
            yield kept, replace(option, is_guess=option.is_guess or is_unsaid)

    def _holds_years(self, option: MeasureOption) -> bool:
        """Whether a number is a year, as its values and its name tell."""
        if not isinstance(option.measure, a.Value):
            return False
        name = local_name(option.measure.path.steps[-1].predicate).lower()
        return "year" in name or "date" in name or "year" in self.measures.name(option.measure.path)

    def _extremes(self, reading: Reading, cue: Extreme) -> Iterator[tuple[a.ItemSet, Told]]:
        noun = self._noun(cue)
        of_noun, of_best = self.reader.classes_at(noun), self.is_of_best(cue)
        is_start = any(isinstance(part, a.Instances) and part.of in of_noun for part in parts(reading.items))
        is_of_noun = bool(of_noun & classes_in(reading.items)) or (not is_start and self.reader.is_of(reading, of_noun))
        if of_noun and (not is_of_noun if cue.hints else is_of_noun and of_best):
            return  # `the oldest book` is no person, and who won `the most prizes` is no prize
        if cue.hints and self._is_of_step(reading.items, noun):
            return  # the oldest member is no album that a member has made
        between = range(min(cue.words), max(noun) + 1) if cue.hints and of_noun and of_best else None
        kinds: tuple[a.Kind, ...] = ("date", "number") if "date" in cue.hints else ("number",)
        if cue.summary is not None:
            for option in self.measures.summaries(reading, cue.words, cue.summary)[:KEPT]:
                yield a.Top(reading.items, option.measure, cue.number, cue.largest), option
            return
        options = self.measures.of(reading, cue.words, kinds, cue.hints, counts=cue.of_noun, between=between)
        for option in options[:KEPT]:
            yield a.Top(reading.items, option.measure, cue.number, cue.largest), option

    def _noun(self, cue: Extreme) -> frozenset[int]:
        """The places of the noun that a superlative stands before: `oldest of our laureates`, `most Nobel prizes`."""
        after = max(cue.words) + 1
        texts = self.reader.words.texts
        nouns = [i for i in self.reader.words.nouns_after({after}) if i < len(texts)]
        noun = frozenset(i for i in nouns if _BEFORE_NOUN.issuperset(texts[after:i]))
        follows = frozenset(i + 1 for i in noun)
        return noun | follows if self.reader.classes_at(follows) and not self.reader.classes_at(noun) else noun

    def _is_of_step(self, items: a.ItemSet, noun: frozenset[int]) -> bool:
        """Whether a path goes on from what the noun after a superlative names."""
        names = [self.reader.labels([s.predicate], in_grace=True)[s.predicate] for s in _steps(items)]
        says = [any(i in fit for i in noun) for fit in self.reader.words.fits(names)]
        return any(says[:-1]) and not says[-1]

    def is_of_best(self, cue: Extreme) -> bool:
        """Whether not the best itself is asked for, but something of it: `which university did the oldest attend`."""
        noun, focus, texts = self._noun(cue), self.reader.focus, self.reader.words.texts
        if self.cues.of_best or max(cue.words) + 1 not in noun:
            return self.cues.of_best
        if not focus or max(focus) >= min(cue.words) or texts[max(focus)] == texts[min(noun)]:
            return False
        return not (texts[max(focus)] == "who" and texts[max(focus) + 1] in _BE)

    def asks_beyond(self) -> bool:
        """Whether something of the largest, oldest … of a class is asked for, and not that itself."""
        best = [cue for cue in self.cues.operations if isinstance(cue, Extreme) and cue.hints]
        return self.cues.of_best or any(
            self.reader.classes_at(self._noun(cue)) and self.is_of_best(cue) for cue in best
        )

    def _absences(self, reading: Reading, cue: Absent) -> Iterator[tuple[a.ItemSet, Told]]:
        last = max(cue.words)
        near = frozenset(i for i in self.measures.near(cue.words, reading) if i > last)
        of_classes: set[int] = set()
        texts = self.reader.words.texts
        is_verb = not _DO.isdisjoint(texts[max(0, min(cue.words) - 1) : last])
        is_there = "there" in texts[last:]
        there = _there(reading) if is_there else None
        for named in self.reader.named:
            is_done = is_verb and last + 1 in named.words  # `did not work` is no field of work
            if named.is_class and named.words & near and isinstance(named.term, IRI) and not is_done:
                of_class = a.Instances(named.term)
                is_none = texts[last] == "not" and min(named.words) == last + 1
                without = a.Minus(reading.items, of_class) if is_none else self._without_any(reading, of_class)
                if without != reading.items and (is_none or not self._is_called(reading, named.words)):
                    of_classes |= named.words
                    yield without, Told(dict.fromkeys(sorted(named.words), 1.0))
        for use, fit in self.reader.uses(reading.items):
            own = {i: v for i, v in fit.items() if i in near}
            is_said = max(own.values(), default=0.0) >= ACCOUNTED  # an absence rests on no guess: nothing would show it
            if is_said and own.keys() - of_classes and (there is not None or not is_there):
                without = a.Lacks(reading.items, use.path, there or self._class_denied(use, near))
                yield stated(reading.items, use, "false") if is_yes_no(use) else without, Told(own)

    def _class_denied(self, use: PredicateUse, near: frozenset[int]) -> a.Instances | None:
        """The class that things are said to be none of: `did not work at a university`, but not `no owner`."""
        (own,) = self.reader.words.fits([self.measures.name(use.path)])
        return self.measures.class_named(use, [i for i in near if own.get(i, 0.0) < _CALLED])

    def _is_called(self, reading: Reading, places: frozenset[int]) -> bool:
        """Whether a predicate of the items is itself called by these words: `no producer` is without that."""
        names = self.reader.labels([use.step.predicate for use, _ in self.reader.uses(reading.items)], in_grace=True)
        return any(
            all(fit.get(i, 0.0) >= _CALLED for i in places) for fit in self.reader.words.fits(list(names.values()))
        )

    def _without_any(self, reading: Reading, of_class: a.Instances) -> a.ItemSet:
        """The items from which no predicate leads to anything of a class."""
        lacking = reading.items
        for use, _ in self.reader.uses(reading.items):
            reached = a.Both((a.Ends(reading.items, use.path), of_class))
            if use.kind == "item" and self.reader.profiler.sample(reached):
                lacking = a.Lacks(lacking, use.path, of_class)
        return lacking


def _number(value: object) -> Literal:
    text = str(value)
    return Literal(text, datatype=IRI(_XSD + ("integer" if text.isdecimal() else "decimal")))


def _is_one(items: a.ItemSet) -> bool:
    return isinstance(items, a.Items) and len(items.terms) == 1


def _steps(items: a.ItemSet) -> tuple[Step, ...]:
    """The steps of the path that leads to a set; none where there is no such path."""
    paths = [one.path for one in (items.sets if isinstance(items, a.Both) else (items,)) if isinstance(one, a.Ends)]
    return paths[0].steps if len(paths) == 1 else ()


def _there(reading: Reading) -> a.Items | None:
    """The one place that all of a set have to do with, which the question says as `there`."""
    for part in reading.items.sets if isinstance(reading.items, a.Both) else (reading.items,):
        match part:
            case a.Has(_, path, a.Items() as place) | a.Ends(a.Items() as place, path) if len(path.steps) == 1:
                return place
    return None


def _counts(items: a.ItemSet) -> bool:
    """Whether a set is filtered by a count, which for one thing is better compared as a number."""
    return isinstance(items, a.Where) and isinstance(items.measure, a.HowMany)
