"""What all that plans a phrase needs; what may be measured of a set, and sets that are kept or ordered by it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from itertools import zip_longest
from math import prod
from typing import Protocol

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.words import root, roots_of, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.adapting import in_unit, summarised
from kgsparql.plans.connecting import Connector
from kgsparql.plans.denotation import Denotation, Match, Rel, back, ends, met, of_classes, unfiltered
from kgsparql.plans.expressions import decimal
from kgsparql.plans.label_fit import BY_CLASS, NEAR
from kgsparql.plans.named_words import NamedWords
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.type_check import UNITS, parts_of
from kgsparql.plans.weights import weights
from kgsparql.rdf.literals import converted, unit, unit_named
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, first_of
from kgsparql.rdf.vocabulary import OF_ONTOLOGIES
from kgsparql.reading.clauses import NounPhrase, Predication, Quantity, Superlative
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import Gap, left_out_at, may_mean, other_kind, quoted, rival

_FIRST_RANKS = 3  # of one thing, that are counted with all who tie
_FOLLOWED, _TRIED, _CLASSES = 10, 3, 3
_W = weights("measure")
FIRST_YEAR = 100  # a smaller number is no date
_TIMES = ("date", "time", "year", "clock")
_ORDERED = ("number", *_TIMES, *UNITS)
_TURNED: dict[a.Comparison, a.Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@frozen
class MeasureFit:
    """One thing that may be measured, how well words and graph fit, and whether it is turned: runs the other way."""

    score: float
    measure: a.Value | a.HowMany | a.Summarised
    is_turned: bool = False

    def compared(self, comparison: a.Comparison) -> a.Comparison:
        """Return how the values compare of what an adjective says to compare so."""
        return _TURNED.get(comparison, comparison) if self.is_turned else comparison

    @property
    def path(self) -> PropertyPath:
        """The path that leads to what is measured."""
        return self.measure.path

    @property
    def kind(self) -> str:
        """What its values are; empty of what is counted or summed up."""
        return self.measure.kind if isinstance(self.measure, a.Value) else ""

    @property
    def last(self) -> IRI:
        """The predicate that the path ends with."""
        return self.path.last


class Phrasing(Protocol):
    """What finds the sets of phrases."""

    def denotations(self, phrase: NounPhrase) -> list[Denotation]:
        """Find the sets that a phrase may denote with all that is said of it, the likeliest first."""

    def with_argument(
        self, given: Denotation, said: Predication, argument: Denotation, phrase: NounPhrase
    ) -> list[Denotation]:
        """Keep of a set what something is true of, where the other argument is one that a phrase may denote."""


class Measuring(NamedWords):
    """Finds measures for words of one question, and does with them what it asks."""

    def __init__(self, connector: Connector, asked: Form, phrases: Phrasing) -> None:
        super().__init__(connector, asked)
        self.phrases = phrases

    def measures(
        self, given: Denotation, positions: Sequence[int], hints: Sequence[str] = (), *, counts: bool = False,
        among: Collection[IRI] = (),
    ) -> list[MeasureFit]:  # fmt: skip
        """What may be measured of the items of a set, the likeliest first.

        :param positions: of the words that name it. :param hints: words for it where an adjective tells.
        :param counts: how many things a predicate leads to may be meant.
        :param among: things of one of these classes are counted.
        """
        if given.items is None:
            return []
        texts, items = self.connector.at(positions), unfiltered(given.items)  # what all of its kind may have
        self.look_at_measured([given])
        ways: list[tuple[PredicateUse, ...]] = [(use,) for use in self.view.uses(items)]
        for use in self._followed_uses(items):
            ways += ((use, own) for own in self.view.uses(ends(items, use.path)) if not own.step.inverts(use.step))
        self.fit.compare(texts, [use.predicate for own in ways for use in own])
        found = [one for uses in ways for one in self._measures(items, uses, texts, hints)]
        if counts:
            found += [one for uses in ways for one in self._counts(items, uses, texts, among)]
        if not found and (by_verb := self.measured_by(positions)):
            return self.measures(given, (), by_verb)
        return sorted(found, key=lambda one: (-one.score, str(one.measure)))

    def _followed_uses(self, items: a.ItemSet) -> list[PredicateUse]:
        return [use for use in self.view.uses(items) if use.kind == "item"][:_FOLLOWED]

    def look_at_measured(self, given: Sequence[Denotation]) -> None:
        """Look at all that may be measured of some sets, in the queries that one would take."""
        sets = [unfiltered(one.items) for one in given if one.items is not None]
        self.view.profiler.look_at(sets)
        self.view.profiler.look_at(ends(items, use.path) for items in sets for use in self._followed_uses(items))

    def _measures(
        self, items: a.ItemSet, uses: tuple[PredicateUse, ...], texts: Sequence[str], hints: Sequence[str]
    ) -> Iterator[MeasureFit]:
        """The values at the end of a path, where they can be ordered and words or hints name them."""
        fit, last, is_far = self.fit, uses[-1], len(uses) > 1
        if last.kind not in _ORDERED or last.step.is_inverse:
            return
        unlike = _TIMES if "duration" in hints else () if {"year", "date"}.isdisjoint(hints) else UNITS
        if last.kind in unlike:  # no date is long, and no length of time is first
            return
        own = [max(both) for both in zip_longest(*(fit.phrase(texts, use.predicate) for use in uses))]
        hinted = [fit.hinted(use.predicate, hints) for use in uses]
        is_only_span = last.kind in UNITS and sum(own.kind in UNITS for own in self.view.uses(items)) == 1
        if ("duration" in hints and is_only_span) or (
            not is_far and "date" in hints and self.is_only_date(items, last)
        ):
            hinted[-1] = max(hinted[-1], NEAR)  # whatever it is called: orders of May were `ordered on` it
        is_theirs = bool(hinted[0]) or (is_far and bool(hinted[-1]) and uses[0].path == self.being(items))
        if min(own) < NEAR if texts else not is_theirs:  # whose birth? not its own
            return
        if self.lexicon.id_words & {*words_of(fit.text(last.predicate))} and self.lexicon.id_words.isdisjoint(texts):
            return  # no id is the largest of anything
        is_number_of = not self.lexicon.count_words.isdisjoint(words_of(fit.text(last.predicate)))  # rating count
        known = roots_of((*texts, *self.texts, *self.lexicon.time_nouns))
        if is_far and last.kind != "number" and not fit.label_roots(last.predicate) <= known:
            return  # awarded in 1921 is not when the winner died
        score = sum(own) / len(own) + _W.hinted * max(hinted) if texts else max(hinted)
        way = PropertyPath(tuple(use.step for use in uses))
        measure = a.Value(way, last.kind, self._unit_of(last))
        amount = self.amount_behind(items, uses[0]) if is_far else None
        is_far = is_far and (amount is None or amount.path != measure.path)
        if is_far and texts and max(fit.phrase(texts, last.predicate)) < NEAR:
            return  # borrowed the most: times, and not the fines of them
        is_turned = any(fit.hinted(use.predicate, [hint for hint in hints if hint[0] == "-"]) for use in uses)
        score -= _W.deeper * is_far + _W.number_of * (is_number_of and self.lexicon.count_words.isdisjoint(self.texts))
        yield MeasureFit(score + _W.share * prod(use.share for use in uses), measure, is_turned)

    def _unit_of(self, use: PredicateUse) -> str:
        """The unit that the graph states of values: in the name of a predicate, as their datatype, or beside them."""
        if use.kind != "number" or use.unit:
            return use.unit
        label = self.fit.labels([use.predicate], in_grace=True)[use.predicate]
        word = label.strip().rpartition(" ")[2].strip("()").lower()
        named = unit_named(label) or unit_named(f"{label} {self.lexicon.units.get(word, '')}")
        return "" if "per" in label.split() else named  # miles per gallon

    def amount_behind(self, items: a.ItemSet, use: PredicateUse) -> a.Value | None:
        """The number of what a predicate leads to, where it is no more than a number with its unit: of a price."""
        words = roots_of(self.lexicon.measure_words)
        onward = self.view.uses(ends(items, use.path)) if use.kind == "item" else ()
        match [own for own in onward if own.kind == "number" and self.fit.label_roots(own.predicate) <= words]:
            case [number]:
                return a.Value(PropertyPath((use.step, number.step)), "number", number.unit)
        return None

    def _counts(
        self, items: a.ItemSet, uses: tuple[PredicateUse, ...], texts: Sequence[str], among: Collection[IRI]
    ) -> Iterator[MeasureFit]:
        """How many things a path leads to, of a class or those that its predicate is called by."""
        fit = self.fit
        last, share, path = uses[-1], prod(use.share for use in uses), PropertyPath(tuple(use.step for use in uses))
        if last.kind in _ORDERED or (len(uses) == 1 and self.amount_behind(items, last) is not None):
            return
        if self.view.is_ontology and last.predicate.value.startswith(OF_ONTOLOGIES):  # each class is below some other
            return
        is_called = fit.form(last.predicate) in {"noun", "agent"}  # not `located in`, however like a city
        is_noun = is_called and any(fit.says(text, fit.text(last.predicate)) for text in texts[-1:])
        is_noun = is_noun and not self.lexicon.is_participle(texts[-1])  # what was borrowed
        is_other = bool(among) and not fit.label_roots(last.predicate) <= roots_of(texts)
        if is_other and last.kind != "item":  # the type code of a template is none
            return
        if is_noun and not (is_other or fit.allows(last.step, "of", texts[-1])):  # children of each, not parents
            return
        own = fit.with_classes(texts, fit.phrase(texts, last.predicate), last.classes)
        is_of_class = not frozenset(among).isdisjoint(self.view.profiler.with_broader(last.classes))
        if among and last.kind == "item" and not last.classes:  # of many classes, none of them common
            is_of_class = self.view.has_any(ends(items, path), frozenset(among))
        if own and len(uses) == 1 and min(own) >= NEAR and ((is_called and min(own) > BY_CLASS) or not is_of_class):
            yield MeasureFit(sum(own) / len(own) + _W.counted_share * share, a.HowMany(path))
        is_through = all(fit.goes_down(use.step) for use in uses[:-1])  # the universities of its cities
        if last.kind == "item" and is_of_class and (is_through or self.view.joins(items, path.steps, among, fit)):
            score = _W.of_class + _W.counted_share * share - _W.deeper * (len(uses) - 1)
            yield MeasureFit(score, a.HowMany(path, of_classes(among)))

    def measures_of_noun(self, given: Denotation, phrase: NounPhrase, hints: Sequence[str] = ()) -> list[MeasureFit]:
        """What a noun names: `servings` of recipes, `prizes` of laureates."""
        return self.measures_at(given, self.positions(phrase.chunks), hints)

    def measures_at(
        self, given: Denotation, positions: Sequence[int], hints: Sequence[str] = (), *, counts: bool = True
    ) -> list[MeasureFit]:
        """What the words at some positions name: of ``has more children than``."""
        own = [chunk for chunk in self.chunked.chunks if not set(positions).isdisjoint(chunk.span)]
        kinds: Collection[IRI] = own[0].classes[:1] if len(own) == 1 and set(positions) <= set(own[0].span) else ()
        kinds = kinds or self.classes_named(positions)[:1]
        kinds = kinds or (self.view.classes_ending_with(self.texts[positions[-1]]) if positions else ())
        return self.measures(given, positions, hints, counts=counts and bool(positions), among=kinds)

    def numbers_of_noun(self, given: Denotation, phrase: NounPhrase) -> list[MeasureFit]:
        """How many of what a noun names each has; of what belongs to it, a number that is stated says nothing."""
        found = self.measures_of_noun(given, phrase)
        return [one for one in found if isinstance(one.measure, a.HowMany) or one.path.is_direct]

    def is_of_time(self, option: MeasureFit) -> bool:
        """Whether a measure is a date, or a number that is called a year."""
        own, hints = self.fit.label_roots(option.last), roots_of(self.lexicon.hints["time"]) - {"time"}
        is_date = option.kind in {"date", "time", "year", "clock"}
        return is_date or (option.kind == "number" and not own.isdisjoint(hints))

    def times(self, given: Denotation, positions: Sequence[int]) -> list[MeasureFit]:
        """When something was, by the words for what happened; else whenever it was."""
        hints = self.lexicon.hints["time"]
        found = self.measures(given, positions, hints) if positions else []
        if named := [one for one in found if self.is_of_time(one)]:
            return named
        return [replace(o, score=o.score - _W.any_time) for o in self.measures(given, (), hints) if self.is_of_time(o)]

    def dated(self, given: Denotation, phrase: NounPhrase, quantity: Quantity) -> list[Denotation]:
        """What has a time that a noun names, and that compares so: a founding date before 1650."""
        value, found = quantity.value, filter(self.is_of_time, self.measures_of_noun(given, phrase))
        options = [one for one in found if (one.kind == "clock") == value.is_clock]
        options = [one for one in options if value.date is None or one.kind != "number"]
        return [self.keep(given, one, quantity) for one in options[:_TRIED]]

    # --- extremes

    def superlative(self, given: Denotation, best: Superlative) -> list[Denotation]:
        """The largest, the second oldest, the top five of a set."""
        is_often = not self.lexicon.frequencies.isdisjoint(best.measures)
        if is_often and given.is_free and (whole := self.word_set(given)) is not None:
            fits = [fit for _, fit in self.predicates_named(self.connector.at(given.head))]
            given = whole.doubted(*[rival()] * (fits.count(max(fits)) > 1))
        if given.items is None:
            return [given.leaving_out([best.position])]
        if isinstance(given.items, a.Items) and len(given.items.terms) == 1 and self.question.asks != "choose":
            return [  # the longest of one thing is the longest of what it has
                new
                for one in self.connector.connect(given, Rel())[:4]
                if one.items is not None and len(self.view.members(one.items)) > 1
                for new in self.superlative(one, best)
            ]
        options = self.measures(given, (), best.measures) if best.measures else []
        options = options[: _TRIED - 1]
        made = [self._top(given, one, best).doubted(*self._says_more(given, one, best)) for one in options]
        if "size" in best.measures and len({self.view.members(one.known) for one in made}) > 1:
            made = [made[0].doubted(rival(*(quoted(self.fit.text(one.last)) for one in options)))]
        return made or (self._most_often(given, best) if is_often else []) or [given.leaving_out([best.position])]

    def _most_often(self, given: Denotation, best: Superlative) -> list[Denotation]:
        """What the most of a set lead to, of what they lead to: the most common nationality of people."""
        for one in given.items.sets if isinstance(given.items, a.Both) else (given.items,):
            if isinstance(one, a.Ends):
                *before, last = one.path.steps
                among = a.Ends(one.start, PropertyPath((*before,))) if before else one.start
                option = MeasureFit(0.0, a.HowMany(last.reversed.path, among))
                return [] if isinstance(among, a.Items) else [self._top(given, option, best)]
        return []

    def _says_more(self, given: Denotation, option: MeasureFit, best: Superlative) -> tuple[Gap, ...]:
        """Doubt a measure whose name says more than the adjective: the `crew size` of the biggest boat."""
        fit = self.fit
        said = fit.roots_of(given.classes).union(*map(fit.roots, best.measures))
        label = fit.text(option.last)
        more = fit.roots(label) - said - roots_of((*self.texts, *self.lexicon.measure_words))
        uses = [use for use in self.view.uses(given.known) if use.kind == option.kind]
        sign = getattr(option.measure, "unit", "")
        vague = self.lexicon.vague_measures if unit(sign).kind == sign else ()  # no size in m² is one of a crew
        measured = [one for one in best.measures if one not in vague]
        is_only = sum(fit.hinted(use.predicate, measured) > 0 for use in uses) == 1  # depth that it has
        doubt = may_mean(self.texts[best.position], label, code="part_of_name")
        return (doubt,) if more and not is_only and option.path.is_direct else ()

    def _top(self, given: Denotation, option: MeasureFit, best: Superlative) -> Denotation:
        items, best = given.known, replace(best, is_largest=best.is_largest != option.is_turned)
        is_few = best.number == 1 and best.rank <= _FIRST_RANKS  # the second is the first of the others, whoever ties
        for _ in range(best.rank - 1 if is_few else 0):
            items = a.Minus(items, a.Top(items, option.measure, largest=best.is_largest))
        if best.rank > 1 and not is_few:  # each of these would have all of the plan before it twice
            items = a.Minus(items, a.Top(items, option.measure, best.rank - 1, best.is_largest))
        top = a.Top(items, option.measure, best.number, best.is_largest, Decimal(best.number if best.is_share else 0))
        return given.kept(top, option.score, Match(self.texts[best.position], option.path))

    def extreme(self, given: Denotation, said: Predication, phrase: NounPhrase) -> list[Denotation]:
        """What has the most of something, or the highest value of it."""
        best = phrase.superlative or Superlative(*(phrase.most or (-1, True)))
        positions, by_verb = self.positions(phrase.chunks), self.measured_by(said.verb)
        verbs = self.positions_of_verb(said)
        best = replace(best, measures=tuple(one for one in best.measures if one in by_verb) or best.measures)
        if self.question.asks == "ask" and isinstance(given.items, a.Items):  # of one alone, it always has the highest
            kind = self.measured_class(positions or verbs)
            if kind is None or kind not in self.view.classes_in(given.items):
                return [given.leaving_out([best.position])]
            return met(given, self.extreme(Denotation(a.Instances(kind), classes=frozenset({kind})), said, phrase))
        said_by = [p for p in verbs if not said.light]  # `joined` may be light, and a date
        if phrase.most and positions and (said_by or self.are_values(given)):  # the year that has the most concerts
            found = self._counted(given, said, phrase)[:_TRIED]
            made = [
                self._top(one, option, best)
                for one, option in found  # of six with none, none has the most
                if one.items is not None
                and self.view.members(a.Has(one.items, option.path, getattr(option.measure, "among", None)))
            ]
            if made:
                return made
        if given.is_free:
            such = self.having(positions or verbs)
            if such is None:
                return []
            known = self.fit.roots_of([one.of for one in parts_of(such, a.Instances)]) | roots_of(
                self.lexicon.empty_nouns
            )
            left = [p for p in given.head if root(self.texts[p]) not in known]
            given = replace(given, items=such, head=()).leaving_out(left)
        verb, counts = [p for p in said_by if self.texts[p] not in self.lexicon.comparatives], phrase.most is not None
        if counts and not best.measures:
            options = self.numbers_of_noun(given, phrase)
        else:
            options = self.measures_of_noun(given, phrase, best.measures)
        if said_by and not positions and (named := self.measures(given, said_by, best.measures, counts=counts)):
            options, verb = named, []  # `was founded first`: by when it was founded
        if phrase.superlative and not counts:
            options = [one for one in options if one.kind]
        refined = self._refined(given, options[:_TRIED], phrase)
        made = [self._top(one, option, best).leaving_out(self.unsaid_by(option.path, verb)) for one, option in refined]
        if counts and verbs and not (positions or by_verb) and any(made):  # milked the most: so often, or so much
            made = [one.doubted(rival()) for one in made]
        return self._told_apart(made, options) or [given.leaving_out(positions or [best.position])]

    def _told_apart(self, made: list[Denotation], options: Sequence[MeasureFit]) -> list[Denotation]:
        """Doubt a number of things that are joined in two ways, and come to another: which flights of an airport."""
        near = [own for own in options[:2] if not own.kind and options[0].score - own.score < 1e-6]
        names = {self.fit.text(own.last): own for own in near}
        is_one = len(names) < 2 or self.view.members(made[0].known) == self.view.members(made[1].known)
        return made if is_one else [own.doubted(rival(*map(quoted, names))) for own in made]

    def unsaid_by(self, path: PropertyPath, verb: Sequence[int]) -> list[int]:
        """The words for what happened that no name on the way to a time says: who worked then was not born then."""
        own, names = self.lexicon, [*map(self.fit.text, path.predicates)]
        is_bare = own.moments.issuperset(words_of(names[-1]))  # the year of a car is that in which it was made
        light = own.light_words.union(own.making if is_bare else ())
        light = own.empty_words if self.fit.is_of_life(path.last) else light
        if not own.count_words.isdisjoint(words_of(names[-1])) or path.last in self.view.vocabulary.joined:
            light |= own.joining_verbs
        told = (p for p in verb if self.texts[p] not in light)
        return [p for p in told if all(self.fit.word(self.texts[p], name) < NEAR for name in names)]

    def _refined(
        self, given: Denotation, options: Sequence[MeasureFit], phrase: NounPhrase
    ) -> list[tuple[Denotation, MeasureFit]]:
        """The same, of what is said of the noun: children born in Paris, the average price; else that is left out."""
        bare = replace(phrase, quantity=None, most=None, superlative=None, summary=None)
        things = self.phrases.denotations(bare) if phrase.restrictions or phrase.of else []
        thing = first_of(one for one in things if not one.is_free)
        left = [position for said in phrase.restrictions for position in self.said_in(said)]
        left += sorted(phrase.of.positions) if phrase.of is not None else []
        found = []
        for option in options:
            measure, doubts = option.measure, left_out_at(left)
            if isinstance(measure, a.HowMany) and thing is not None and not phrase.summary:
                measure, doubts = replace(measure, among=thing.items), thing.doubts
            elif isinstance(measure, a.Value) and phrase.summary is not None:
                measure = summarised(phrase.summary[1], measure, measure.path)
            found.append((given.doubted(*doubts), replace(option, measure=measure)))
        return found

    # --- comparisons with a value

    def with_quantity(
        self, given: Denotation, said: Predication, phrase: NounPhrase, quantity: Quantity
    ) -> list[Denotation]:
        """What has more than so much, or so many, of something."""
        given = self.such_as_have(given, self.positions(phrase.chunks) or self.positions_of_verb(said))
        if given.is_free and not self.are_values(given):
            return []
        nouns = self.lexicon.noun_measures
        hints = [hint for at in self.positions(phrase.chunks) for hint in nouns.get(self.texts[at], ())]
        for one in self.measures(given, (), hints)[:1] if hints else ():  # more than 10,000 people
            return [self.keep(given, one, quantity)]
        found = self._quantified_by(given, said, phrase, quantity)[:_TRIED]
        made = self._told_apart([self.keep(one, option, quantity) for one, option in found], [own for _, own in found])
        return made or [given.leaving_out((*said.verb, *self.positions(phrase.chunks), *quantity.positions))]

    def _quantified_by(
        self, given: Denotation, said: Predication, phrase: NounPhrase, quantity: Quantity
    ) -> list[tuple[Denotation, MeasureFit]]:
        """What a number is of: the value that the noun names, how many there are of it, or what the verb says."""
        if quantity.is_of_value:
            kinds = _ORDERED if abs(quantity.number) >= FIRST_YEAR or quantity.value.date else ("number", *UNITS)
            values = [one for one in self.measures_of_noun(given, phrase) if one.kind in kinds]
            return self._refined(given, values[:_TRIED], phrase)
        noun = phrase.of or phrase  # more than 3 litres of milk
        of_noun = self.measures_of_noun(given, noun) if quantity.value.unit and noun.chunks else []
        if values := self.of_its_kind(of_noun, quantity):
            return self._refined(given.leaving_out(self.unsaid_by(values[0].path, said.verb)), values[:1], noun)
        if phrase.chunks:
            return self._counted(given, said, phrase)
        verb = self.positions_of_verb(said)
        found = self.measures(given, verb, () if verb else self.measured_by(said.verb))  # took exactly one day
        return [(given, one) for one in self.of_its_kind(found, quantity) or found]

    @staticmethod
    def of_its_kind(options: Sequence[MeasureFit], quantity: Quantity) -> list[MeasureFit]:
        """Those of some measures that a number with its unit may be of: no length is two hours."""
        kind = unit(quantity.value.unit).kind
        return [one for one in options if isinstance(one.measure, a.Value) and unit(one.measure.unit).kind == kind]

    def in_its_unit(
        self, measure: a.Measure, bounds: list[Decimal | Literal], asked: str
    ) -> tuple[list[Decimal | Literal], tuple[Gap, ...]]:
        """The same numbers in the unit of what is measured, or a doubt where the graph states none, or another."""
        own = measure.unit if isinstance(measure, a.Value) else ""
        known = self.lexicon.units.get(own.lower(), own.lower())
        asked = known if self.lexicon.unit_namesakes.get(asked) == known else asked
        numbers = [one if isinstance(one, Literal) else converted(one, asked, known) for one in bounds]
        made = [one for one in numbers if one is not None]
        if not asked or len(made) == len(bounds):
            return made if asked else bounds, ()
        return bounds, (other_kind(asked, own or "of no unit that the graph says"),)

    def _counted(self, given: Denotation, said: Predication, phrase: NounPhrase) -> list[tuple[Denotation, MeasureFit]]:
        """How many of something each has: by a path that the verb names, or the noun alone."""
        verb = self.positions_of_verb(said)
        if not verb and given.items is not None and (numbers := self.numbers_of_noun(given, phrase)):
            return self._refined(given, numbers[:_TRIED], phrase)
        found, bare = [], replace(phrase, quantity=None, most=None, superlative=None)
        # who made the most films: directed them, or wrote
        unsaid = left_out_at(p for p in said.verb if not verb and self.texts[p] not in self.lexicon.using)
        for thing in self.phrases.denotations(bare)[:_TRIED]:
            if thing.is_free:
                continue
            for one in self.phrases.with_argument(replace(given, score=0.0), said, thing, bare)[:_TRIED]:
                reached = given if given.items is not None else replace(one, score=given.score)
                option = MeasureFit(one.score, a.HowMany(back(one.path), thing.items))
                found.append((replace(reached, doubts=(*given.doubts, *one.doubts, *unsaid), head=()), option))
        if not found:
            texts = self.positions(phrase.chunks)
            for option in self.measures(given, verb, counts=True)[:_TRIED]:
                kinds = self.view.classes_in(ends(given.known, option.path))
                names = [self.fit.text(option.last), *self.fit.names(kinds)]
                left = [p for p in texts if max(self.fit.word(self.texts[p], name) for name in names) < NEAR]
                found.append((given.leaving_out(left), option))
        return sorted(found, key=lambda one: -(one[0].rank + one[1].score))

    def keep(self, given: Denotation, option: MeasureFit, quantity: Quantity) -> Denotation:
        """Keep of a set what compares so with a value, or with a range: what is after it is after its end."""
        value, comparison = quantity.value, option.compared(quantity.comparison)
        if quantity.is_share:  # more than half of all that there are
            whole = getattr(option.measure, "among", None) or ends(given.known, option.path)
            part = a.Calculated("*", a.Count(whole), a.Constant(quantity.number / 100))
            shared = given.kept(a.Where(given.known, option.measure, comparison, part), option.score)
            return shared.leaving_out([] if isinstance(option.measure, a.HowMany) else quantity.positions)
        measure = in_unit(option.measure, value.unit, self.view.vocabulary.amounts, is_asked=False)
        first = value.number if value.date is None else value.date
        bounds = [bound for bound in (first, value.last) if bound is not None]
        is_age = value.unit == "year" and isinstance(measure, a.Value) and not measure.unit
        is_age = is_age and self.fit.hinted(option.last, [*self.lexicon.in_years]) > 0
        bounds, doubts = self.in_its_unit(measure, bounds, "" if is_age else value.unit)
        if not value.unit and option.kind in UNITS:  # longer than 90: of what?
            doubts = (other_kind("a number", "a length of time"),)
        sides: Sequence[a.Comparison] = (">=", "<=") if len(bounds) > 1 and comparison == "=" else (comparison,)
        if comparison in {">", "<="}:
            bounds = bounds[-1:]
        if isinstance(measure, a.HowMany) and quantity.number < 0:
            doubts = (other_kind("less than 0", "a number of things"),)
        kept = given.known
        for side, bound in zip(sides, bounds, strict=False):
            own = by_year(replace(option, measure=measure)).measure if isinstance(bound, Decimal) else measure
            kept = a.Where(kept, own, side, decimal(bound))
        return given.kept(kept, option.score, Match(value.text, option.path)).doubted(*doubts)


def by_year(option: MeasureFit) -> MeasureFit:
    """The same, of the years of dates."""
    measure = option.measure
    if isinstance(measure, a.Value) and measure.kind in {"date", "time"}:
        return replace(option, measure=replace(measure, kind="year"))
    return option
