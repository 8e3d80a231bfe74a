"""What may be measured of the items of a set: their values, values two steps away, how many things they have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kgsparql.linking.words import root, words
from kgsparql.plans import algebra as a
from kgsparql.plans.cue_words import UNITS
from kgsparql.plans.question_words import Fit, alike
from kgsparql.plans.readings import ACCOUNTED, RARE, Reader, Reading, together
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI

KEPT = 4
"""Ways of doing one thing that are kept."""
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
_SAYS_LITTLE = frozenset(
    map(root, "of in the a an total overall value amount number count date year time day official current".split())
) | frozenset(map(root, UNITS))
"""Words with which the name of a predicate says nothing of what is measured."""
_COUNTED = 0.05
"""What it costs to count what a predicate leads to, beside a value of it."""
_ONE_EACH = 0.5
"""The same, where it never leads to more than one thing."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the words of a question say of something that is done.

    :param fit: the words that are accounted for.
    :param cost: what speaks against it.
    :param is_guess: no word says it, nor does what an adjective is about.
    """

    fit: Fit = field(default_factory=dict)
    cost: float = 0.0
    is_guess: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOption(Told):
    """One measure of the items of a set."""

    measure: a.Measure

    @property
    def score(self) -> float:
        """The words that are accounted for, less what speaks against it."""
        return sum(self.fit.values()) - self.cost


@dataclass(frozen=True, slots=True)
class Measures:
    """Finds what one question may want measured."""

    reader: Reader

    def of(
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
        near = self.near(cue, reading)
        if between is not None:
            near &= frozenset(between)
        found = [*self._direct(reading, near, kinds, hints), *self._deeper(reading, near, kinds, hints)]
        if counts:
            found += self._counts(reading, near)
        if "birth date" in hints:  # the youngest laureate was born last, whatever other dates there are of one
            found = [option for option in found if self._is_of_birth(option.measure)] or found
        return sorted(found, key=lambda option: (-option.score, str(option.measure)))

    def summaries(self, reading: Reading, cue: frozenset[int], summary: a.Summary) -> list[MeasureOption]:
        """One number for the values that each item has, directly or over what belongs to it: the average price."""
        found = self.of(reading, cue, ("number",))
        for use, fit in self.reader.uses(reading.items):
            if use.kind == "item":
                step = Reading(a.Ends(reading.items, use.path), {})
                cost = _DEEPER if fit else 3 * _DEEPER
                for option in self.of(step, cue, ("number",))[:KEPT]:
                    if isinstance(option.measure, a.Value) and option.fit:
                        path = PropertyPath((use.step, *option.measure.path.steps))
                        measure = a.Value(path, option.measure.kind, option.measure.unit)
                        found.append(
                            replace(option, measure=measure, fit=together(option.fit, fit), cost=option.cost + cost)
                        )
        made = [
            replace(o, measure=a.Summarised(summary, o.measure.path, o.measure.unit))
            for o in found
            if isinstance(o.measure, a.Value)
        ]
        return sorted(made, key=lambda option: (-option.score, str(option.measure)))

    def _direct(
        self, reading: Reading, near: frozenset[int], kinds: Sequence[a.Kind], hints: Sequence[str]
    ) -> Iterator[MeasureOption]:
        uses = [(use, fit) for use, fit in self.reader.uses(reading.items) if use.kind in kinds]
        uses = [
            (use, fit) for use, fit in uses if use.step.direction == "forward" and not self._is_identifier(use, fit)
        ]
        for use, fit in uses:
            own, cost = self._fit(use, fit, near, hints, len(uses))
            is_guess = not own and cost >= (_ONLY_MEASURE if hints or self._is_of_life(use) else _UNNAMED_MEASURE)
            is_guess = is_guess or (not own and self._is_of_something_else(use, hints))
            yield MeasureOption(measure=a.Value(use.path, use.kind, use.unit), fit=own, cost=cost, is_guess=is_guess)

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
                is_guess = first > 0 or (not fits and extra > 0 and len(values) > 1)
                yield MeasureOption(
                    measure=a.Value(path, value.kind, value.unit),
                    fit=together(own, fits),
                    cost=first + extra + _DEEPER,
                    is_guess=is_guess,
                )

    def _counts(self, reading: Reading, near: frozenset[int]) -> Iterator[MeasureOption]:
        for use, fit in self.reader.uses(reading.items):
            own = {i: v for i, v in fit.items() if i in near}
            if own:
                rare = RARE * (1 - use.share)
                cost = rare + (_COUNTED if use.most > 1 else _ONE_EACH)
                yield MeasureOption(measure=a.HowMany(use.path, self.class_named(use, own)), fit=own, cost=cost)
            elif use.kind == "item" and use.most > 1:
                for further, more in self.reader.uses(a.Ends(reading.items, use.path)):
                    named = {i: v for i, v in more.items() if i in near}
                    if named and further.kind == "item" and not further.step.inverts(use.step):
                        counted = a.HowMany(PropertyPath((use.step, further.step)))
                        yield MeasureOption(measure=counted, fit=named, cost=_SILENT, is_guess=True)

    def class_named(self, use: PredicateUse, places: Collection[int]) -> a.Instances | None:
        """The class of what a predicate leads to that these words name: `most laureates` counts no others."""
        broader = self.reader.profiler.with_broader(use.classes)
        named = [n.term for n in self.reader.named if n.is_class and n.words and n.words <= set(places)]
        return next((a.Instances(term) for term in named if isinstance(term, IRI) and term in broader), None)

    def _fit(
        self, use: PredicateUse, fit: Fit, near: frozenset[int], hints: Sequence[str], rivals: int
    ) -> tuple[Fit, float]:
        """The words near a cue that a predicate accounts for; without any, what it costs that it is not named."""
        own = {i: v for i, v in fit.items() if i in near}
        labels = self.reader.labels([use.step.predicate], in_grace=True)
        is_wrong = self._is_of_life(use) and "birth date" not in hints
        hinted = 0.0 if is_wrong else alike(labels[use.step.predicate], hints, self.reader.words.ranker)
        if own or hinted:
            return own, -hinted / 2
        return {}, _ONLY_MEASURE if rivals == 1 else _UNNAMED_MEASURE

    def _is_of_something_else(self, use: PredicateUse, hints: Sequence[str]) -> bool:
        """Whether a name says more than what an adjective is about: the `size` of a crew is not how big a ship is."""
        said = {root(word) for hint in hints for word in words(hint)} | set(map(root, self.reader.words.texts))
        more = {root(word) for word in words(self.name(use.path))} - said
        return bool(hints) and use.kind == "number" and not more <= _SAYS_LITTLE

    def _is_identifier(self, use: PredicateUse, fit: Fit) -> bool:
        name = self.name(use.path).split()
        return not fit and (name[-1:] or [""])[0] in _IDENTIFIERS

    def _is_of_life(self, use: PredicateUse) -> bool:
        """Whether something is when one was born or died, which nobody means who does not say so."""
        return not {"birth", "born", "death", "died"}.isdisjoint(self.name(use.path).split())

    def _is_of_birth(self, measure: a.Measure) -> bool:
        """Whether something is when one was born oneself."""
        if not isinstance(measure, a.Value) or len(measure.path.steps) > 1:
            return False
        return not {"birth", "born"}.isdisjoint(self.name(measure.path).split())

    def _is_mediator(self, use: PredicateUse) -> bool:
        return use.step.direction == "forward" and use.most == 1 and use.share > 0.9

    def near(self, cue: frozenset[int], reading: Reading) -> frozenset[int]:
        """The words around a cue that nothing accounts for yet; all such words without a cue."""
        named = {i for own in self.reader.named if not own.is_class for i in own.words}
        content = [i for i in self.reader.words.content if i not in named]
        free = frozenset(i for i in content if reading.fit.get(i, 0.0) < ACCOUNTED) - cue
        if not cue:
            return free
        first, last = min(cue), max(cue)
        return free & frozenset(range(first - _NEAR_WORDS // 2 - 1, last + _NEAR_WORDS + 1))

    def name(self, path: PropertyPath) -> str:
        """What the last step of a path is called, in small letters."""
        last = path.steps[-1].predicate
        return self.reader.labels([last], in_grace=True)[last].lower()
