"""What all that plans a phrase needs; what may be measured of a set, and sets that are kept or ordered by it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from kgsparql.linking.words import root
from kgsparql.plans import algebra as a
from kgsparql.plans.connecting import Connector
from kgsparql.plans.denotation import Denotation, Doubt, Match, left_out
from kgsparql.plans.item_sets import ends, unfiltered
from kgsparql.plans.label_fit import NEAR
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.sought import MeasureChoice, Sought
from kgsparql.plans.type_check import parts
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import (
    Chunk,
    Clauses,
    Comparative,
    NounPhrase,
    Predication,
    Quantity,
    Restriction,
    Superlative,
    positions_of,
    relations,
)
from kgsparql.reading.lexicon import Lexicon

_DEEPER, _FOLLOWED, _TRIED = 0.25, 10, 3
_CLASSES = 3
_XSD = "http://www.w3.org/2001/XMLSchema#"
_ORDERED = ("number", "date", "year")
_BY_CLASS = 0.9
_FIRST_YEAR = 100


class PhrasePlanner(ABC):
    """Plans the phrases of one question."""

    def __init__(self, connector: Connector, chunked: Chunked, lexicon: Lexicon, question: Clauses) -> None:
        self.connector, self.chunked, self.lexicon, self.question = connector, chunked, lexicon, question
        self.view, self.fit, self.texts = connector.view, connector.fit, chunked.texts

    @abstractmethod
    def denotations(self, phrase: NounPhrase) -> list[Denotation]:
        """Find the sets that a phrase may denote with all that is said of it, the likeliest first."""

    @abstractmethod
    def with_argument(
        self, given: Denotation, said: Predication, argument: Denotation, phrase: NounPhrase
    ) -> list[Denotation]:
        """Keep of a set what something is true of, where the other argument is one that a phrase may denote."""

    def said_in(self, said: Restriction) -> list[int]:
        """The positions of the words of what is said that say something."""
        found = {position for one in relations([said]) for position in positions_of(one)}
        return [position for position in sorted(found) if self.texts[position] not in self.lexicon.function_words]

    def positions_of_verb(self, said: Predication) -> tuple[int, ...]:
        """The positions of the words of a verb that say something."""
        return tuple(position for position in said.verb if self.texts[position] not in self.lexicon.fillers)

    def positions(self, chunks: Sequence[Chunk]) -> tuple[int, ...]:
        """The positions of the words of chunks that say something: no small words, no numbers."""
        return tuple(
            position
            for chunk in chunks
            if chunk.number is None or chunk.entities
            for position in chunk.span
            if self.texts[position] not in self.lexicon.function_words or (chunk.is_strong and len(chunk.span) == 1)
        )

    def word_set(self, given: Denotation) -> Denotation | None:
        """Everything that a predicate leads to that the words of a phrase name: a noun that is no class."""
        texts = self.connector.at(given.head)
        found = []
        for predicate in self.view.predicates_called(texts):
            own = self.fit.phrase(texts, predicate)
            if own and min(own) >= NEAR and (items := self.view.leads_to(predicate)) is not None:
                found.append((sum(own), str(predicate), predicate, items))
        if not found:
            return None
        _, _, predicate, items = max(found, key=lambda one: (one[0], one[1]))
        return Denotation(items, 0.3, how=(Match(" ".join(texts), PropertyPath((Step(predicate),))),))

    def are_one_label(self, positions: Sequence[int]) -> bool:
        """Whether some predicate has all of these words in its label: `place of birth`."""
        roots = {root(self.texts[position]) for position in positions}
        called = self.view.predicates_called(self.connector.at(positions))
        return len(roots) == len(positions) and any(roots <= self.fit.roots(self.fit.text(one)) for one in called)

    def classes_named(self, positions: Sequence[int]) -> list[IRI]:
        """The classes that words name."""
        return self.view.classes_called(self.connector.at(positions))[:_CLASSES]


class Measuring(PhrasePlanner):
    """Finds measures for words, and does with them what a question asks."""

    def measures(
        self,
        given: Denotation,
        positions: Sequence[int],
        hints: Sequence[str] = (),
        *,
        counts: bool = False,
        among: Sequence[a.Instances] = (),
    ) -> list[MeasureChoice]:
        """What may be measured of the items of a set, the likeliest first.

        :param positions: of the words that name it. :param hints: words for it where an adjective tells.
        :param counts: how many things a predicate leads to may be meant.
        :param among: things of one of these classes are counted.
        """
        if given.items is None:
            return []
        texts, items = self.connector.at(positions), unfiltered(given.items)  # what all of its kind may have
        first = self.view.uses(items)
        ways: list[tuple[tuple[PredicateUse, ...], float]] = [((use,), use.share) for use in first]
        followed = [use for use in first if use.kind == "item"][:_FOLLOWED]
        self.view.profiler.look_at(ends(items, use.path) for use in followed)
        for use in followed:
            further = self.view.uses(ends(items, use.path))
            ways += [((use, own), use.share * own.share) for own in further if not own.step.inverts(use.step)]
        self.fit.compare([*texts, " ".join(texts)], [self.fit.text(u.step.predicate) for own, _ in ways for u in own])
        found = [one for uses, share in ways for one in self._measures(uses, share, texts, hints)]
        if counts:
            found += [one for uses, share in ways for one in self._counts(items, uses, share, texts, among)]
        return sorted(found, key=lambda one: (-one.score, str(one.measure)))

    def _measures(
        self, uses: tuple[PredicateUse, ...], share: float, texts: Sequence[str], hints: Sequence[str]
    ) -> Iterator[MeasureChoice]:
        """The values at the end of a path, where they can be ordered and words or hints name them."""
        last = uses[-1]
        if last.kind not in _ORDERED or last.step.direction == "inverse":
            return
        own = [max(both) for both in zip_longest(*(self.fit.phrase(texts, u.step.predicate) for u in uses))]
        hinted = max((self._hinted(use, hints) for use in uses), default=0.0)
        if not (texts and min(own) >= NEAR) and not (not texts and hinted):
            return
        if not texts and len(uses) > 1 and not self._hinted(uses[0], hints):  # whose birth? not its own
            return
        if len(uses) > 1 and last.kind != "number" and self._says_other(last, texts):
            return  # awarded in 1921 is not when the winner died
        score = sum(own) / len(own) + 0.2 * hinted if texts else hinted
        path = PropertyPath(tuple(use.step for use in uses))
        yield MeasureChoice(score - _DEEPER * (len(uses) - 1) + 0.1 * share, a.Value(path, last.kind, last.unit))

    def _says_other(self, use: PredicateUse, texts: Sequence[str]) -> bool:
        """Whether the name of a date says of what it is, and the question does not."""
        said = {root(word) for word in (*texts, *self.texts, *self.lexicon.time_nouns)}
        return not self.fit.roots(self.fit.text(use.step.predicate)) <= said

    def _hinted(self, use: PredicateUse, hints: Sequence[str]) -> float:
        label = self.fit.text(use.step.predicate)
        own = self.fit.roots(label)
        return max((1 - 0.04 * i for i, hint in enumerate(hints) if self.fit.roots(hint) <= own), default=0.0)

    def _counts(
        self,
        items: a.ItemSet,
        uses: tuple[PredicateUse, ...],
        share: float,
        texts: Sequence[str],
        among: Sequence[a.Instances],
    ) -> Iterator[MeasureChoice]:
        """How many things a path leads to, of a class or those that its predicate is called by."""
        last, path = uses[-1], PropertyPath(tuple(use.step for use in uses))
        if last.kind in _ORDERED:
            return
        called = {r for name in self.view.names(last.classes).values() for r in self.fit.roots(name)}
        own = self.fit.phrase(texts, last.step.predicate)
        own = [max(one, _BY_CLASS * (root(text) in called)) for one, text in zip(own, texts, strict=True)]
        broader = self.view.profiler.with_broader(last.classes)
        is_of_class = any(one.of in broader for one in among)
        if among and last.kind == "item" and not last.classes:  # of many classes, none of them common
            is_of_class = self.view.has_any(ends(items, path), frozenset(one.of for one in among))
        is_called = bool(own) and min(own) > _BY_CLASS
        if own and len(uses) == 1 and min(own) >= NEAR and (is_called or not is_of_class):
            yield MeasureChoice(sum(own) / len(own) + 0.05 * share, a.HowMany(path))
        if last.kind != "item" or not is_of_class:
            return
        if all(self.connector.goes_down(use.step) for use in uses[:-1]):  # the universities of its cities
            yield MeasureChoice(
                0.9 + 0.05 * share - _DEEPER * (len(uses) - 1),
                a.HowMany(path, among[0] if len(among) == 1 else a.Either(tuple(among))),
            )

    def measures_of_noun(self, given: Denotation, phrase: NounPhrase, hints: Sequence[str] = ()) -> list[MeasureChoice]:
        """What a noun names: `servings` of recipes, `prizes` of laureates."""
        positions = self.positions(phrase.chunks)
        head = phrase.head
        kinds = head.classes if head is not None and len(phrase.chunks) == 1 else ()
        kind = next(iter(kinds), None) or next(iter(self.classes_named(positions)), None)
        family = self.view.classes_ending_with(self.texts[positions[-1]]) if kind is None and positions else ()
        sets = tuple(a.Instances(one) for one in sorted(family, key=str)) if kind is None else (a.Instances(kind),)
        return self.measures(given, positions, hints, counts=bool(positions), among=sets)

    def numbers_of_noun(self, given: Denotation, phrase: NounPhrase) -> list[MeasureChoice]:
        """How many of what a noun names each has; of what belongs to it, a number that is stated says nothing."""
        found = self.measures_of_noun(given, phrase)
        return [one for one in found if isinstance(one.measure, a.HowMany) or len(one.match.steps) == 1]

    def measures_at(self, given: Denotation, positions: Sequence[int], *, counts: bool) -> list[MeasureChoice]:
        """What the words at some positions name: of ``has more children than``."""
        kind = next(iter(self.classes_named(positions)), None)
        return self.measures(given, positions, counts=counts, among=() if kind is None else (a.Instances(kind),))

    # --- extremes

    def superlative(self, given: Denotation, best: Superlative) -> list[Denotation]:
        """The largest, the second oldest, the top five of a set."""
        if given.items is None:
            return [given.leaving_out([best.position])]
        if isinstance(given.items, a.Items) and len(given.items.terms) == 1 and self.question.form != "choose":
            return [  # the longest of one thing is the longest of what it has
                new
                for one in self.connector.connect(given, Sought())[:4]
                if one.items is not None and len(self.view.members(one.items).terms) > 1
                for new in self.superlative(one, best)
            ]
        options = self.measures(given, (), best.measures) if best.measures else []
        options = [own for own in options if not self._is_all_one(given.items, own.measure)][: _TRIED - 1]
        made = [self._top(given, one, best).doubted(*self._says_more(given, one, best)) for one in options]
        return made or [given.leaving_out([best.position])]

    def _is_all_one(self, items: a.ItemSet, measure: a.Measure) -> bool:
        """Whether a set was kept by one value of a measure, so that none is the first: `first awarded in 1969`."""
        kept = (part.measure for part in parts(items) if isinstance(part, a.Where) and part.comparison == "=")
        path = measure.path if isinstance(measure, a.Value) else None
        if not any(isinstance(own, a.Value) and own.path == path for own in kept):
            return False
        return self.view.members(a.Top(items, measure)).terms == self.view.members(items).terms

    def _says_more(self, given: Denotation, option: MeasureChoice, best: Superlative) -> tuple[Doubt, ...]:
        """Doubt a measure whose name says more than the adjective: the `crew size` of the biggest boat."""
        said = {r for hint in best.measures for r in self.fit.roots(hint)} | set(map(root, self.texts))
        said |= {r for name in self.view.names(given.classes).values() for r in self.fit.roots(name)}
        label = self.fit.text(option.match.steps[-1].predicate)
        more = self.fit.roots(label) - said - set(map(root, self.lexicon.measure_words))
        return (Doubt(best.position, f"taken for {label!r}"),) if more and len(option.match.steps) == 1 else ()

    def _top(self, given: Denotation, option: MeasureChoice, best: Superlative) -> Denotation:
        items = given.known
        for _ in range(best.rank - 1):  # the second is the first of the others
            items = a.Minus(items, a.Top(items, option.measure, largest=best.is_largest))
        top = a.Top(items, option.measure, best.number, largest=best.is_largest)
        said = Match(self.texts[best.position], option.match)
        return replace(given, items=top, score=given.score + option.score, how=(*given.how, said))

    def extreme(self, given: Denotation, said: Predication, phrase: NounPhrase) -> list[Denotation]:
        """What has the most of something, or the highest value of it."""
        best = phrase.superlative or Superlative(*(phrase.most or (-1, True)))
        positions = self.positions(phrase.chunks)
        if phrase.most and positions and self.positions_of_verb(said) and not said.light:
            found = self._counted(given, said, phrase)[:_TRIED]
            found = [(one, option) for one, option in found if one.items is not None and self._has_any(one, option)]
            if made := [self._top(one, option, best) for one, option in found]:
                return made
        if given.is_free or not (given.classes or given.is_named):
            kind = self.measured_class(positions)
            if kind is None:
                return [given.leaving_out(positions)] if not given.is_free else []
            if given.is_free:
                given = replace(given, items=a.Instances(kind), head=()).leaving_out(given.head)
        verb = [p for p in said.verb if self.texts[p] not in self.lexicon.comparatives] if not said.light else []
        if phrase.most and not best.measures:
            options = self.numbers_of_noun(given, phrase)
        else:
            options = self.measures_of_noun(given, phrase, best.measures)
        if verb and not positions and (named := self.measures(given, verb, best.measures)):
            options, verb = named, []  # `was founded first`: by when it was founded
        if phrase.superlative:
            options = [option for option in options if isinstance(option.measure, a.Value)]
        refined = self._refined(options[:_TRIED], phrase)
        made = [self._top(given, option, best).leaving_out(verb).doubted(*doubts) for option, doubts in refined]
        return made or [given.leaving_out(positions or [best.position])]

    def _has_any(self, given: Denotation, option: MeasureChoice) -> bool:
        """Whether any of a set has something of what is counted: of six with none, none has the most."""
        among = option.measure.among if isinstance(option.measure, a.HowMany) else None
        reached = ends(given.known, option.match)
        return bool(self.view.members(a.Both((reached, among)) if among is not None else reached).terms)

    def _refined(
        self, options: Sequence[MeasureChoice], phrase: NounPhrase
    ) -> list[tuple[MeasureChoice, tuple[Doubt, ...]]]:
        """The same, of what is said of the noun: children born in Paris, the average price; else that is left out."""
        if not (phrase.restrictions or phrase.of or phrase.summary):
            return [(option, ()) for option in options]
        bare = replace(phrase, quantity=None, most=None, superlative=None, summary=None)
        things = self.denotations(bare) if phrase.restrictions or phrase.of else []
        thing = next((one for one in things if one.items is not None), None)
        left = [position for said in phrase.restrictions for position in self.said_in(said)]
        left += sorted(phrase.of.positions) if phrase.of is not None else []
        found: list[tuple[MeasureChoice, tuple[Doubt, ...]]] = []
        for option in options:
            measure = option.measure
            if isinstance(measure, a.HowMany) and thing is not None and not phrase.summary:
                found.append((replace(option, measure=replace(measure, among=thing.items)), thing.doubts))
                continue
            if isinstance(measure, a.Value) and phrase.summary is not None:
                measure = a.Summarised(phrase.summary[1], measure.path, measure.unit)
            found.append((replace(option, measure=measure), left_out(left)))
        return found

    def measured_class(self, positions: Sequence[int]) -> IRI | None:
        """The class of what has a predicate that words name."""
        texts = self.connector.at(positions)
        for predicate in self.view.predicates_called(texts):
            own = self.fit.phrase(texts, predicate)
            kinds = self.view.profiler.at_ends(predicate).subject_kinds
            if own and min(own) >= NEAR and kinds:
                return kinds[0]
        return None

    # --- comparisons with a value

    def with_quantity(
        self, given: Denotation, said: Predication, phrase: NounPhrase, quantity: Quantity
    ) -> list[Denotation]:
        """What has more than so much, or so many, of something."""
        if given.items is None:
            return []
        value = number(str(quantity.number))
        made = [
            self._kept(one, option, quantity.comparison, value).doubted(*self._unconverted(option, quantity.unit))
            for one, option in self._quantified_by(given, said, phrase, quantity)[:_TRIED]
        ]
        return made or [given.leaving_out((*said.verb, *self.positions(phrase.chunks)))]

    def _quantified_by(
        self, given: Denotation, said: Predication, phrase: NounPhrase, quantity: Quantity
    ) -> list[tuple[Denotation, MeasureChoice]]:
        """What a number is of: the value that the noun names, how many there are of it, or what the verb says."""
        if quantity.is_of_value:
            values = [one for one in self.measures_of_noun(given, phrase) if isinstance(one.measure, a.Value)]
            return [(given.doubted(*doubts), one) for one, doubts in self._refined(values[:_TRIED], phrase)]
        if phrase.chunks:
            return self._counted(given, said, phrase)
        verb = self.positions_of_verb(said)
        found = self.measures(given, verb) if verb else []
        if not found and quantity.unit:  # of what has this unit, and of nothing else
            values = self.measures(given, (), self._measured_words())
            found = [one for one in values if isinstance(one.measure, a.Value) and one.measure.unit == quantity.unit]
        return [(given, one) for one in found]

    def _measured_words(self) -> tuple[str, ...]:
        """Words for what adjectives measure; which of them is meant, the unit of a number decides."""
        return tuple(dict.fromkeys(word for own in self.lexicon.comparatives.values() for word in own.measures))

    def _unconverted(self, option: MeasureChoice, unit: str) -> tuple[Doubt, ...]:
        """Doubt a number with a unit that the graph does not say of what it is compared with."""
        own = option.measure.unit if isinstance(option.measure, a.Value) else ""
        own = self.lexicon.units.get(own, own)
        if not unit or own == unit:
            return ()
        return (Doubt(-1, f"the graph does not say that the values are in {unit}, and nothing was converted"),)

    def _counted(
        self, given: Denotation, said: Predication, phrase: NounPhrase
    ) -> list[tuple[Denotation, MeasureChoice]]:
        """How many of something each has: by a path that the verb names, or the noun alone."""
        verb = self.positions_of_verb(said)
        if not verb:
            numbers = self.numbers_of_noun(given, phrase)[:_TRIED]
            return [(given.doubted(*doubts), option) for option, doubts in self._refined(numbers, phrase)]
        found, bare = [], replace(phrase, quantity=None, most=None, superlative=None)
        for thing in self.denotations(bare)[:_TRIED]:
            if thing.is_free:
                continue
            for one in self.with_argument(replace(given, score=0.0), said, thing, bare)[:_TRIED]:
                way = one.how[-1].path.steps
                back = PropertyPath(tuple(step.reversed for step in reversed(way)))
                reached = given if given.items is not None else replace(one, score=given.score)
                option = MeasureChoice(one.score, a.HowMany(back, thing.items))
                found.append((replace(reached, doubts=(*given.doubts, *one.doubts), head=()), option))
        if not found:
            texts = self.positions(phrase.chunks)
            for option in self.measures(given, verb, counts=True)[:_TRIED]:
                kinds = self.view.names(self.view.classes_in(ends(given.known, option.match))).values()
                names = [self.fit.text(option.match.steps[-1].predicate), *kinds]
                left = [p for p in texts if max(self.fit.word(self.texts[p], name) for name in names) < NEAR]
                found.append((given.leaving_out(left), option))
        return sorted(found, key=lambda one: -(one[0].rank + one[1].score))

    def _kept(self, given: Denotation, option: MeasureChoice, comparison: a.Comparison, value: Literal) -> Denotation:
        kept = a.Where(given.known, option.measure, comparison, value)
        how = (*given.how, Match(value.value, option.match))
        return replace(given, items=kept, score=given.score + option.score, how=how)

    def in_time(
        self, given: Denotation, verb: Sequence[int], comparison: a.Comparison | None, chunk: Chunk
    ) -> list[Denotation]:
        """What happened before, in, or after a year."""
        words = [p for p in verb if self.texts[p] not in self.lexicon.fillers]
        if given.is_free and not given.head and (kind := self.measured_class(words)) is not None:
            given = replace(given, items=a.Instances(kind))  # who was born in 1879
        if comparison is None or given.items is None:
            return [] if given.is_free else [given.leaving_out(chunk.span)]
        hints = self.lexicon.hints["time"]
        options = self.times(given, words)
        if chunk.date is not None:
            dates = [one for one in options if isinstance(one.measure, a.Value) and one.measure.kind == "date"]
            made = [self._kept(given, option, comparison, chunk.date) for option in dates[:_TRIED]]
        else:
            year = number(str(chunk.number))
            first: a.Comparison = ">=" if chunk.last is not None and comparison == "=" else comparison
            made = [self._kept(given, _by_year(option), first, year) for option in options[:_TRIED]]
            if first != comparison and chunk.last is not None:  # in the 1950s
                last = number(str(chunk.last))
                made = [
                    self._kept(one, _by_year(option), "<=", last) for one, option in zip(made, options, strict=False)
                ]
            made += self._on_the_way(given, hints, comparison, year)
        return made or [given.leaving_out(chunk.span)]

    def times(self, given: Denotation, positions: Sequence[int]) -> list[MeasureChoice]:
        """When something was, by the words for what happened; else whenever it was."""
        hints = self.lexicon.hints["time"]
        named = [o for o in self.measures(given, positions, hints) if self._is_of_time(o)] if positions else []
        return named or [
            replace(o, score=o.score - 0.2) for o in self.measures(given, (), hints) if self._is_of_time(o)
        ]

    def _is_of_time(self, option: MeasureChoice) -> bool:
        """Whether a measure is a date, or a number that is called a year."""
        if not isinstance(option.measure, a.Value):
            return False
        own = self.fit.roots(self.fit.text(option.measure.path.steps[-1].predicate))
        return option.measure.kind in {"date", "year"} or not own.isdisjoint(map(root, self.lexicon.hints["time"]))

    def _on_the_way(
        self, given: Denotation, hints: Sequence[str], comparison: a.Comparison, year: Literal
    ) -> Iterator[Denotation]:
        """The year of a statement on the way: who won the prize in 1921."""
        inner = given.items.sets[-1] if isinstance(given.items, a.Both) else given.items
        if not isinstance(inner, a.Ends) or len(inner.path.steps) != 2:
            return
        first, second = (PropertyPath((step,)) for step in inner.path.steps)
        middle = Denotation(a.Ends(inner.start, first))
        for option in [o for o in self.measures(middle, (), hints) if self._is_of_time(o)][:1]:
            kept = self._kept(middle, _by_year(option), comparison, year)
            items: a.ItemSet = a.Ends(kept.known, second)
            if isinstance(given.items, a.Both):
                items = a.Both((*given.items.sets[:-1], items))
            how = (*given.how, Match(year.value, option.match))
            yield replace(given, items=items, score=given.score + option.score + 0.3, how=how)

    def compared(self, given: Denotation, by: Comparative, other: NounPhrase | None) -> list[Denotation]:
        """What is older than something, or wider than so much."""
        options = self.measures(given, (), by.measures)[: _TRIED - 1]
        if by.quantity is not None:
            value = number(str(by.quantity))
            if by.quantity < _FIRST_YEAR:  # older than 30: an age, which is no date
                options = [one for one in options if isinstance(one.measure, a.Value) and one.measure.kind == "number"]
            made = [
                self._kept(given, _by_year(one), by.comparison, value).doubted(*self._unconverted(one, by.unit))
                for one in options
            ]
            return made or [given.leaving_out([by.position])]
        made = []
        for one in self.denotations(other)[:_TRIED] if other is not None else []:
            if one.items is None or not one.is_named:
                continue
            for option in options:
                values = self.view.members(ends(one.items, option.match)).terms
                known = sorted((value for value in values if isinstance(value, Literal)), key=str)
                made += [self._kept(given, option, by.comparison, value).doubted(*one.doubts) for value in known[:1]]
        return made or [given.leaving_out([by.position])]


def _by_year(option: MeasureChoice) -> MeasureChoice:
    measure = option.measure
    if isinstance(measure, a.Value) and measure.kind == "date":
        return replace(option, measure=replace(measure, kind="year"))
    return option


def number(text: str) -> Literal:
    """A number as a literal.

    >>> number("4").datatype.value.rpartition("#")[2], number("4.5").datatype.value.rpartition("#")[2]
    ('integer', 'decimal')
    """
    return Literal(text, datatype=IRI(_XSD + ("integer" if text.removeprefix("-").isdecimal() else "decimal")))
