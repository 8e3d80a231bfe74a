"""What cues ask to be done with a set: kept by a comparison or an absence, ordered, summed, counted, tabulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgsparql.plans import algebra as a
from kgsparql.plans.cues import Absent, Against, Called, Compared, Cues, Dated, Extreme
from kgsparql.plans.question_words import Fit, alike
from kgsparql.plans.readings import ACCOUNTED, RARE, Reader, Reading, is_yes_no, stated, together
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, local_name

_XSD = "http://www.w3.org/2001/XMLSchema#"
_UNNAMED_MEASURE = 0.45
"""What a measure costs that no word names, where it is one of several."""
_ONLY_MEASURE = 0.15
"""The same, where it is the only one of its kind."""
_DEEPER = 0.1
"""What a measure costs that is two steps away."""
_SILENT = 0.35
"""What a first step costs that no word names, before a value."""
_NEAR_WORDS = 4
"""Words after a cue that may say what it is about; before it, half as many."""
_IDENTIFIERS = frozenset({"id", "identifier", "lat", "long", "latitude", "longitude", "code", "number", "phone", "zip"})
_DO = frozenset("do does did don doesn didn".split())
_BEFORE_NOUN = frozenset("of the all our their its these those".split())
_COUNTED = 0.05
"""What it costs to count what a predicate leads to, beside a value of it."""
_ONE_EACH = 0.5
"""The same, where it never leads to more than one thing."""
_CALLED = 0.9
"""How well the name of a predicate accounts for a word that it is called by."""
_KEPT = 4
"""Ways of doing one thing that are kept."""


@dataclass(frozen=True, slots=True)
class MeasureOption:
    """One measure of the items of a set, the words it accounts for, and what speaks against it."""

    measure: a.Measure
    fit: Fit
    cost: float = 0.0

    @property
    def score(self) -> float:
        """The words that are accounted for, less what speaks against it."""
        return sum(self.fit.values()) - self.cost


@dataclass(frozen=True, slots=True)
class Operations:
    """Does with sets what the cues of one question ask."""

    reader: Reader
    cues: Cues

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
            found = sorted(made, key=lambda r: -r.score)[:_KEPT] or found
        return [reading, *found] if self.reader.asks_whether and order else found

    def _one(self, reading: Reading, number: int) -> Iterator[Reading]:
        cue = self.cues.operations[number]
        match cue:
            case Compared():
                made = self._compared(reading, cue)
            case Dated(words, comparison, date):
                made = (
                    (a.Where(reading.items, option.measure, comparison, date), option.fit, option.cost)
                    for option in self.measures(reading, words, ("date",))[:_KEPT]
                )
            case Extreme():
                made = self._extremes(reading, cue)
            case Absent():
                made = self._absences(reading, cue)
            case Called():
                made = iter([(a.Named(reading.items, cue.text), {}, 0.0)])
            case Against():
                made = iter(())
        for items, fit, cost in made:
            accounted = together(fit, dict.fromkeys(sorted(cue.words & set(self.reader.words.content)), 1.0))
            yield replace(reading.more(accounted, cost), items=items, cues=reading.cues | {number})

    def _compared(self, reading: Reading, cue: Compared) -> Iterator[tuple[a.ItemSet, Fit, float]]:
        kinds: tuple[a.Kind, ...] = ("date", "number") if cue.is_year else ("number",)
        for option in self.measures(reading, cue.words, kinds, cue.hints, counts=not cue.is_year and not cue.hints)[
            :_KEPT
        ]:
            measure = option.measure
            if cue.is_year and isinstance(measure, a.Value) and measure.kind == "date":
                measure = replace(measure, kind="year")
            elif cue.is_year and not self._holds_years(option):
                continue
            kept: a.ItemSet = a.Where(reading.items, measure, cue.comparison, _number(cue.value))
            if cue.upper is not None:
                kept = a.Where(kept, measure, "<=", _number(cue.upper))
            yield kept, option.fit, option.cost

    def _holds_years(self, option: MeasureOption) -> bool:
        """Whether a number is a year, as its values and its name tell."""
        if not isinstance(option.measure, a.Value):
            return False
        name = local_name(option.measure.path.steps[-1].predicate).lower()
        return "year" in name or "date" in name or "year" in self._name(option.measure.path)

    def _name(self, path: PropertyPath) -> str:
        last = path.steps[-1].predicate
        return self.reader.labels([last], in_grace=True)[last].lower()

    def _extremes(self, reading: Reading, cue: Extreme) -> Iterator[tuple[a.ItemSet, Fit, float]]:
        noun = self._noun(cue)
        of_noun, of_best = self.reader.classes_at(noun), self.is_of_best(noun)
        is_of_noun = self.reader.is_of(reading, of_noun)
        if of_noun and (not is_of_noun if cue.hints else is_of_noun and of_best):
            return  # `the oldest book` is no person, and who won `the most prizes` is no prize
        between = range(min(cue.words), max(noun) + 1) if cue.hints and of_noun and of_best else None
        kinds: tuple[a.Kind, ...] = ("date", "number") if "date" in cue.hints else ("number",)
        if cue.summary is not None:
            for option in self.summaries(reading, cue.words, cue.summary)[:_KEPT]:
                yield a.Top(reading.items, option.measure, cue.number, cue.largest), option.fit, option.cost
            return
        options = self.measures(reading, cue.words, kinds, cue.hints, counts=cue.of_noun, between=between)
        for option in options[:_KEPT]:
            yield a.Top(reading.items, option.measure, cue.number, cue.largest), option.fit, option.cost

    def _noun(self, cue: Extreme) -> frozenset[int]:
        """The place of the noun that a superlative stands before: `oldest of our laureates`."""
        after = max(cue.words) + 1
        texts = self.reader.words.texts
        return frozenset(i for i in self.reader.words.nouns_after({after}) if _BEFORE_NOUN.issuperset(texts[after:i]))

    def is_of_best(self, noun: frozenset[int]) -> bool:
        """Whether not the best itself is asked for, but something of it: `which university did the oldest attend`."""
        asked = self.reader.classes_at(self.reader.focus)
        return self.cues.of_best or bool(asked and asked.isdisjoint(self.reader.classes_at(noun)))

    def summaries(self, reading: Reading, cue: frozenset[int], summary: a.Summary) -> list[MeasureOption]:
        """One number for the values that each item has, directly or over what belongs to it: the average price."""
        found = self.measures(reading, cue, ("number",))
        for use, fit in self.reader.uses(reading.items):
            if use.kind == "item":
                step = Reading(a.Ends(reading.items, use.path), {})
                cost = _DEEPER if fit else 3 * _DEEPER
                for option in self.measures(step, cue, ("number",))[:_KEPT]:
                    if isinstance(option.measure, a.Value) and option.fit:
                        path = PropertyPath((use.step, *option.measure.path.steps))
                        measure = a.Value(path, option.measure.kind, option.measure.unit)
                        found.append(MeasureOption(measure, together(option.fit, fit), option.cost + cost))
        made = [
            replace(o, measure=a.Summarised(summary, o.measure.path, o.measure.unit))
            for o in found
            if isinstance(o.measure, a.Value)
        ]
        return sorted(made, key=lambda option: (-option.score, str(option.measure)))

    def _absences(self, reading: Reading, cue: Absent) -> Iterator[tuple[a.ItemSet, Fit, float]]:
        last = max(cue.words)
        near = frozenset(i for i in self._near(cue.words, reading) if i > last)
        of_classes: set[int] = set()
        texts = self.reader.words.texts
        is_verb = not _DO.isdisjoint(texts[max(0, min(cue.words) - 1) : last])
        there = _there(reading, texts[last:])
        for named in self.reader.named:
            is_done = is_verb and last + 1 in named.words  # `did not work` is no field of work
            if named.is_class and named.words & near and isinstance(named.term, IRI) and not is_done:
                of_class = a.Instances(named.term)
                is_none = texts[last] == "not" and min(named.words) == last + 1
                without = a.Minus(reading.items, of_class) if is_none else self._without_any(reading, of_class)
                if without != reading.items and (is_none or not self._is_called(reading, named.words)):
                    of_classes |= named.words
                    yield without, dict.fromkeys(sorted(named.words), 1.0), 0.0
        for use, fit in self.reader.uses(reading.items):
            own = {i: v for i, v in fit.items() if i in near}
            if own.keys() - of_classes:
                yield (
                    stated(reading.items, use, "false") if is_yes_no(use) else a.Lacks(reading.items, use.path, there),
                    own,
                    0.0,
                )

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

    def measures(
        self,
        reading: Reading,
        cue: frozenset[int],
        kinds: Sequence[a.Kind],
        hints: Sequence[str] = (),
        *,
        counts: bool = False,
        between: range | None = None,
    ) -> list[MeasureOption]:
        """What may be measured of the items, the likeliest first.

        :param cue: places of the words that ask for it; words near them may name it, any without a cue.
        :param counts: how many things a predicate leads to may be meant, too.
        :param between: the places of the words that may name it.
        """
        if reading.kind != "item":
            return []
        near = self._near(cue, reading)
        if between is not None:
            near &= frozenset(between)
        found = [*self._direct(reading, near, kinds, hints), *self._deeper(reading, near, kinds, hints)]
        if counts:
            found += self._counts(reading, near)
        return sorted(found, key=lambda option: (-option.score, str(option.measure)))

    def _direct(
        self, reading: Reading, near: frozenset[int], kinds: Sequence[a.Kind], hints: Sequence[str]
    ) -> Iterator[MeasureOption]:
        uses = [(use, fit) for use, fit in self.reader.uses(reading.items) if use.kind in kinds]
        uses = [
            (use, fit) for use, fit in uses if use.step.direction == "forward" and not self._is_identifier(use, fit)
        ]
        for use, fit in uses:
            own, cost = self._fit(use, fit, near, hints, len(uses))
            yield MeasureOption(a.Value(use.path, use.kind, use.unit), own, cost)

    def _deeper(
        self, reading: Reading, near: frozenset[int], kinds: Sequence[a.Kind], hints: Sequence[str]
    ) -> Iterator[MeasureOption]:
        """Values two steps away, such as the amount of a price."""
        for use, fit in self.reader.uses(reading.items):
            own, cost = self._fit(use, fit, near, hints, 2)
            if use.kind != "item" or (cost >= _UNNAMED_MEASURE and not self._is_mediator(use)):
                continue
            inner = Reading(a.Ends(reading.items, use.path), {})
            values = [
                (v, f) for v, f in self.reader.uses(inner.items) if v.kind in kinds and v.step.direction == "forward"
            ]
            values = [(v, f) for v, f in values if not self._is_identifier(v, f)]
            for value, more in values:
                path = PropertyPath((use.step, value.step))
                fits, extra = self._fit(value, more, near, hints, len(values))
                if value.kind == "date" and not fits and not self._is_mediator(use):
                    continue  # what was written before 1900 is not what somebody wrote who was born before
                first = cost if cost < 0 else 0.0 if own else _SILENT
                yield MeasureOption(a.Value(path, value.kind, value.unit), together(own, fits), first + extra + _DEEPER)

    def _counts(self, reading: Reading, near: frozenset[int]) -> Iterator[MeasureOption]:
        for use, fit in self.reader.uses(reading.items):
            own = {i: v for i, v in fit.items() if i in near}
            if own:
                rare = RARE * (1 - use.share)
                counted = a.HowMany(use.path, self._class_named(use, own))
                yield MeasureOption(counted, own, rare + (_COUNTED if use.most > 1 else _ONE_EACH))
            elif use.kind == "item" and use.most > 1:
                for further, more in self.reader.uses(a.Ends(reading.items, use.path)):
                    named = {i: v for i, v in more.items() if i in near}
                    if named and further.kind == "item" and not further.step.inverts(use.step):
                        yield MeasureOption(a.HowMany(PropertyPath((use.step, further.step))), named, _SILENT)

    def _class_named(self, use: PredicateUse, own: Fit) -> a.Instances | None:
        """The class of what is counted, where words that ask for it name one: `most laureates` counts no others."""
        broader = {above for kind in use.classes for above in (kind, *self.reader.profiler.broader(kind))}
        named = [n.term for n in self.reader.named if n.is_class and n.words and n.words <= own.keys()]
        return next((a.Instances(term) for term in named if isinstance(term, IRI) and term in broader), None)

    def _fit(
        self, use: PredicateUse, fit: Fit, near: frozenset[int], hints: Sequence[str], rivals: int
    ) -> tuple[Fit, float]:
        """The words near a cue that a predicate accounts for; without any, what it costs that it is not named."""
        own = {i: v for i, v in fit.items() if i in near}
        labels = self.reader.labels([use.step.predicate], in_grace=True)
        hinted = alike(labels[use.step.predicate], hints, self.reader.words.ranker)
        if own or hinted:
            return own, -hinted / 2
        return {}, _ONLY_MEASURE if rivals == 1 else _UNNAMED_MEASURE

    def _is_identifier(self, use: PredicateUse, fit: Fit) -> bool:
        name = self._name(use.path).split()
        return not fit and (name[-1:] or [""])[0] in _IDENTIFIERS

    def _is_mediator(self, use: PredicateUse) -> bool:
        return use.step.direction == "forward" and use.most == 1 and use.share > 0.9

    def _near(self, cue: frozenset[int], reading: Reading) -> frozenset[int]:
        """The words around a cue that nothing accounts for yet; all such words without a cue."""
        free = frozenset(i for i in self.reader.words.content if reading.fit.get(i, 0.0) < ACCOUNTED) - cue
        if not cue:
            return free
        first, last = min(cue), max(cue)
        return free & frozenset(range(first - _NEAR_WORDS // 2 - 1, last + _NEAR_WORDS + 1))


def _number(value: object) -> Literal:
    text = str(value)
    return Literal(text, datatype=IRI(_XSD + ("integer" if text.isdecimal() else "decimal")))


def _is_one(items: a.ItemSet) -> bool:
    return isinstance(items, a.Items) and len(items.terms) == 1


def _there(reading: Reading, texts: Sequence[str]) -> a.Items | None:
    """The one thing that a set was kept by, where the question says `there`."""
    named = [own.term for own in reading.named if not own.is_class]
    return a.Items((named[0],)) if "there" in texts and len(named) == 1 else None


def _counts(items: a.ItemSet) -> bool:
    """Whether a set is filtered by a count, which for one thing is better compared as a number."""
    return isinstance(items, a.Where) and isinstance(items.measure, a.HowMany)
