"""What something is and has, and when it was, on a graph: copulas, adjectives, possessions, years."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from kgsparql.linking.english_forms import singular
from kgsparql.linking.words import roots_of
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import Denotation, Match, Rel, back, best, ends, met, named_set, of_classes, union
from kgsparql.plans.expressions import as_kind
from kgsparql.plans.measuring import FIRST_YEAR, MeasureFit, Measuring
from kgsparql.plans.named_words import NamedWords
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.type_check import UNITS, exchanged
from kgsparql.plans.weights import weights
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, XSD, Literal, first_of
from kgsparql.rdf.vocabulary import CLASS_ABOVE, DISJOINT_WITH, INSTANCE_OF, SUBCLASS_OF, TAXONOMY
from kgsparql.reading.clauses import Chunk, Comparative, NounPhrase, Predication, Quantity, relations
from kgsparql.reading.gaps import Gap, known_elsewhere, may_mean, other_kind, rival, unsaid

_W = weights("said")
_GIVEN, _TRIED = 5, 3
_HOURS = 24  # of a day


class Predicating(NamedWords):
    """Says of sets what they are, what they have, and when they were."""

    def __init__(self, measuring: Measuring) -> None:
        super().__init__(measuring.connector, measuring.question)
        self.measuring, self.phrases = measuring, measuring.phrases

    def is_a(self, given: Denotation, other: Denotation, phrase: NounPhrase) -> list[Denotation]:
        """X is A: of a class, one of a set, or called so by some predicate."""
        if other.is_free:
            found = [] if given.is_free else self._adjective(given, other)
            are_such = self.word_set(other) if found and all(one.doubts for one in found) else None
            return [*(met(given, [are_such]) if are_such else ()), *found]  # which people are mentors
        if (beside := self._beside(given, other)) is not None:
            return beside
        asked = self.question.phrase
        is_of_some = asked.is_negated or asked.every is not None or self.question.asks_existence
        if self.question.asks == "ask" and isinstance(given.items, a.Instances) and not is_of_some:
            given = replace(given, items=a.Items((given.items.of,)), classes=frozenset())
        if given.is_named and isinstance(other.items, a.Instances):  # a class may be asked about: BCF is a format
            below = self.steps_below(a.Items((other.items.of,)), [SUBCLASS_OF])
            other = replace(other, items=a.Either((other.items, below[SUBCLASS_OF]))) if below else other
        if (other.classes and phrase.of is None) or isinstance(other.items, a.Instances | a.Minus):
            if isinstance(given.items, a.Items) and not any(self.view.classes_of(given.items.terms).values()):
                given = given.doubted(other_kind("such a thing", "of no class"))
            return [
                replace(one, classes=other.classes or given.classes, head=()).leaving_out(given.head)
                for one in met(given, self._settled(other))  # a *suspension* bridge
            ]
        if isinstance(other.items, a.Items):
            return self._is_one_of(given, other)
        if self.lexicon.light.issuperset(self.connector.at(given.head)):  # which person is the author
            return met(given.headless(), [other])
        if not given.asked:  # `a child who is a citizen`: these are citizens, and somebody's children
            return [replace(one, head=given.head) for one in met(given, [other])]
        rel = Rel(given.head, "of", wanted=given if given.classes else None)
        return met(given.headless(), self.connector.connect(other, rel))

    def _beside(self, given: Denotation, other: Denotation) -> list[Denotation] | None:
        """`What types are the films of X`: of another class, so that a predicate is meant that leads from there.

        So the people who are poker players, where these stand apart and each leads to another one of them.
        """
        if given.items is None or other.items is None or isinstance(other.items, a.Items):
            return None
        is_class = isinstance(other.items, a.Instances)
        kinds = given.classes or (self.view.classes_in(given.items) if is_class else frozenset[IRI]())
        far = self.view.classes_in(other.items)
        if not (kinds and far and far.isdisjoint(kinds)) or self.view.members(a.Both((given.items, other.items))):
            return None
        found = []
        for one in self.connector.connect(other, Rel(preposition="of", wanted=given, hops=1)):
            is_said = not self.fit.label_roots(one.last).isdisjoint(self.fit.roots_of(kinds))
            reached = self.view.members(one.known)
            if is_class and is_said and len(reached) == len(self.view.members(other.items)):
                return met(given, [replace(one, score=other.score)])
            if reached:
                found.append(one if is_said else one.doubted(unsaid(self.fit.text(one.last))))
        if is_class:
            return None
        wanted = self.fit.names(sorted(given.classes, key=str))[0]
        # the class may only be untold in the graph: `which city is the capital`
        unlike = replace(other, score=given.score + other.score - _W.unlike, asked=given.asked, classes=frozenset())
        return [
            *met(given, found),
            unlike.doubted(other_kind(wanted, "not said to be one")),
        ]

    def _is_one_of(self, given: Denotation, other: Denotation) -> list[Denotation]:
        """X is Y, where Y is named: the same, below it in a taxonomy, or said so by some predicate."""
        if given.is_free and not given.head:
            return [replace(other, asked=given.asked)]
        is_among = bool(given.classes) and self.view.has_items(a.Both((given.known, other.known)))  # books except Emma
        are_many = any(
            singular(self.texts[p]) != self.texts[p] for p in self.question.phrase.kinds or self.question.noun[-1:]
        )
        if is_among and are_many and (below := [*self._below(given, other)]):  # which concepts are metals: such
            return met(given, below)
        are_such = self.question.asks != "ask"  # toppings of a pizza are kinds of vegetable, conductors Latvian
        if is_among or not (given.is_free or given.is_named or given.classes or are_such):
            return met(given, [replace(other, score=other.score + is_among)])  # Ann's advisor is Bob
        found = [one.leaving_out(given.head) for one in met(given.headless(), [*self._below(given, other)])]
        if given.head or given.classes:
            rel = Rel(given.head, "of" if given.head else "any", wanted=given if given.classes else None)
        else:
            rel = Rel(wanted=given, hops=1)  # what is near a city is none
        found += met(given.headless(), self.connector.connect(other, rel))
        if not found and given.is_named:  # nothing is below it, and nothing else leads there: a sure no
            nothing = [*self.nothing_below(other.known).values()][:1]
            found = met(
                given.headless(), [replace(other, items=one, score=other.score + _W.of_some) for one in nothing]
            )
        return found

    def _below(self, given: Denotation, other: Denotation) -> Iterator[Denotation]:
        """What is below a named thing in a taxonomy: for one thing that is asked about, in all that it stands in."""
        below = self.steps_below(other.known, TAXONOMY)
        ways = {one: Step(one, "inverse").path for one in TAXONOMY}
        if given.is_named:
            own = {use.step for use in self.view.uses(given.known)} - {Step(INSTANCE_OF, "inverse")}
            kinds = [other.known, *([below[CLASS_ABOVE]] if CLASS_ABOVE in below else [])]
            below[INSTANCE_OF] = ends(union(kinds), ways[INSTANCE_OF])
            sets = [items for one, items in below.items() if any(step.predicate == one for step in own)]
            below = {INSTANCE_OF: union(sets)} if sets else {}
        for predicate, items in below.items():
            yield Denotation(items, other.score + _W.of_some, other.doubts, how=(Match("is", ways[predicate]),))

    def in_common(self, given: Denotation, phrases: Sequence[NounPhrase]) -> list[Denotation] | None:
        """What named things have all of them, by whichever predicate: the same one for each."""
        things = [own for part in phrases for own in best(self.phrases.denotations(part), 1)]
        if not all(one.is_named for one in things):
            return None
        known = (self.view.uses(one.known) for one in things)
        paths = [
            [use.path for use in own if use.step.is_forward and use.step.predicate != DISJOINT_WITH] for own in known
        ]
        common = [path for path in paths[0] if all(path in own for own in paths)]
        sets = {path: a.Both(tuple(ends(one.known, path) for one in things)) for path in common}
        self.view.look_for_items(sets.values())
        found = {path: own for path, own in sets.items() if self.view.has_items(own)}
        how = (Match("in common", path) for path in found)
        return [given.kept(union([*found.values()]), 1.0, *how)] if found else None

    def set_apart(self, phrase: NounPhrase) -> a.ItemSet | None:
        """A class, but if it is disjoint with another that something is to be, too: a topping that is meat and fish.

        Not with what such things have: a topping that is hot.
        """
        bare = Predication(light="be")  # near an animal is none
        said = [one.object for one in relations(phrase.restrictions) if replace(one, object=None) == bare]
        nouns = [part for noun in (phrase, *filter(None, said)) for part in noun.parts or (noun,)]
        heads = [] if any(noun.joined_by == "or" for noun in filter(None, said)) else [noun.head for noun in nouns]
        kinds = [head.classes[0] for head in heads if head is not None and head.classes]
        for one, other in combinations(kinds, 2) if self.view.is_ontology else ():
            such, apart = Denotation(a.Instances(one)), ends(a.Items((other,)), Step(DISJOINT_WITH).path)
            if not self.view.has_items(a.Both((a.Items((one,)), apart))):
                continue
            wanted = Rel(wanted=replace(such, classes=frozenset((one,))), hops=1)
            if not self.connector.connect(Denotation(a.Items((other,))), wanted):
                return a.Minus(a.Items((one,)), apart)
        return None

    def steps_below(self, items: a.ItemSet, predicates: Iterable[IRI]) -> dict[IRI, a.ItemSet]:
        """What is below in each taxonomy that has any: one query for all."""
        below: dict[IRI, a.ItemSet] = {one: ends(items, Step(one, "inverse").path) for one in predicates}
        self.view.look_for_items(below.values())
        return {one: own for one, own in below.items() if self.view.has_items(own)}

    def nothing_below(self, items: a.ItemSet) -> dict[IRI, a.ItemSet]:
        """What is below a thing that stands lowest in a taxonomy: nothing, which makes a sure no."""
        own = {use.step for use in self.view.uses(items)}
        return {one: ends(items, Step(one, "inverse").path) for one in TAXONOMY[:2] if Step(one) in own}

    def _adjective(self, given: Denotation, other: Denotation) -> list[Denotation]:
        """Words that say what something is without naming a term: a predicate that is true of it."""
        found = self.stated(given, other.head) or [*self._still_or_over(given, other.head)]
        return found or [given.leaving_out(other.head)]

    def _still_or_over(self, given: Denotation, words: Sequence[int]) -> Iterator[Denotation]:
        """Keep what is `dead`, or `alive`: without a date when it was over, which others of its kind have."""
        texts = self.connector.at(words)
        is_over = [text in self.lexicon.over_words for text in texts]
        if len(texts) != 1 or not (is_over[0] or texts[0] in self.lexicon.alive_words) or given.items is None:
            return
        for use in self._uses_of_its_kind(given):
            is_date = use.step.is_forward and self.view.may_be("time", use)
            if is_date and self.fit.hinted(use.step.predicate, self.lexicon.ends_life):
                kept = (a.Has if is_over[0] else a.Lacks)(given.known, use.path)
                yield given.kept(kept, 1.0, Match(texts[0], use.path))

    def stated(self, given: Denotation, words: Sequence[int]) -> list[Denotation]:
        """Keep what it is stated to be so of, by a predicate with all of some words, or not to be: `open`, `closed`."""
        texts = self.connector.at(words)
        found = [*self._said_to_be(given, texts)]
        text = " ".join(texts)
        such = [] if found else self._said_to_be(given, [self.lexicon.opposites.get(text, text.removeprefix("un"))])
        return found or [self.denied(one) or replace(one, items=a.Minus(given.known, one.known)) for one in such]

    def _said_to_be(self, given: Denotation, texts: Sequence[str]) -> Iterator[Denotation]:
        marks = self.view.vocabulary.retired
        if marks and self.lexicon.retired_marks.issuperset(texts):  # what has no such mark is current
            yield given.kept(a.Retired(given.known), 1.0, Match(" ".join(texts), Step(marks[0][0]).path))
            return
        for predicate, fit in self.predicates_named(texts):
            path = Step(predicate).path
            for true, false in [flags] if (flags := self.view.profiler.at_ends(predicate).flags) else ():
                kept = given.kept(
                    a.Where(given.known, a.Value(path, "text"), "=", true), fit, Match(" ".join(texts), path)
                )
                is_told = self.view.has_items(a.Both((a.Items((true, false)), ends(given.known, path))))
                yield kept if is_told else kept.doubted(known_elsewhere(self.fit.text(predicate)))

    def denied(self, one: Denotation) -> Denotation | None:
        """Keep what it is stated not to be so of, if that is stated of any: of what nobody says, it is not denied."""
        items = one.items
        flags = self.view.profiler.at_ends(one.last).flags if isinstance(items, a.Where) and one.how else ()
        if not isinstance(items, a.Where) or items.value not in flags[:1]:
            return None
        are_any = self.view.members(a.Ends(a.Items(flags[1:]), back(one.path)))
        return replace(one, items=replace(items, value=flags[1])) if are_any else None

    def settled(self, given: Denotation) -> Denotation:
        """The same, with the words before its noun as what is said of it: `radioactive elements`."""
        return self._settled(given)[0]

    def _settled(self, given: Denotation) -> list[Denotation]:
        """All that this may be, the likeliest first."""
        is_bare = not given.head or given.items is None
        return [given] if is_bare else self._adjective(given.headless(), Denotation(None, head=given.head))

    def settled_of(self, found: Iterable[Denotation]) -> list[Denotation]:
        """The same of all that something restricts."""
        return [self.settled(one) for one in found if not one.is_free]

    def has(self, given: Denotation, other: Denotation, phrase: NounPhrase) -> list[Denotation]:
        """X has A: a predicate called A leads anywhere, or to the value that stands beside it; or X has one of A."""
        if valued := self._has_value(given, phrase):
            return valued
        found = []
        words = other.head or (() if any(c.is_name for c in phrase.chunks) else self.positions(phrase.chunks))
        if words and given.items is not None and not phrase.restrictions and phrase.of is None:
            texts = self.connector.at(words)
            if stated := self.stated(given, words):
                return stated
            for use in self._uses_of_its_kind(given):
                is_so = self.fit.allows(use.step, "of", texts[-1])  # a sequel: the one that is a *sequel of* it
                if is_so and (fit := self.fit.whole(texts, use.step.predicate)):
                    names = [self.fit.text(use.step.predicate), *self.fit.names(other.classes)]
                    said = self.fit.unsaid(names[0], texts)  # who has a child may have no son
                    such = self.view.of_sex(ends(given.items, use.path), said, self.lexicon)
                    kept = given.kept(a.Has(given.items, use.path, such), fit, Match(" ".join(texts), use.path))
                    found.append(kept.doubted(unsaid(names[0], said)) if said and such is None else kept)
                    is_called, *are_classes = (self.fit.roots(name) == roots_of(texts) for name in names)
                    if is_called and not any(are_classes):
                        return [found[-1]]  # an owner, who need be no `private owner`
        if not other.is_free:
            wanted = None if given.is_free else given
            rel = Rel(given.head, "of" if given.head else "any", wanted=wanted)
            reached = [replace(one, score=one.score + _W.back) for one in self.connector.connect(other, rel)]
            found += met(given.headless(), reached)
        return found

    def _uses_of_its_kind(self, given: Denotation) -> Iterator[PredicateUse]:
        """What something has; of a named thing also what others of its class have, which it may lack."""
        yield from (own := self.view.uses(given.known))
        if given.is_named and (kinds := self.view.classes_in(given.known)):
            known = {use.step for use in own}
            yield from (use for use in self.view.uses(of_classes(kinds)) if use.step not in known)

    def _has_value(self, given: Denotation, phrase: NounPhrase) -> list[Denotation]:
        """X has the place of birth Bonn: the words name a predicate, the name at their end its value."""
        named = [chunk for chunk in phrase.chunks if chunk.entities]
        value = phrase.head if phrase.head in named else first_of(named)  # or German nationality
        words = tuple(p for p in self.positions(phrase.chunks) if value is not None and p not in value.span)
        is_bare = given.is_free and not given.head
        if value is None or not words or (is_bare and not isinstance(value.entities[0].term, Literal)):
            return []
        rel = Rel(words, "value", wanted=None if given.is_free else given)
        starts = [Denotation(named_set(name), 1.0) for name in value.entities[:_GIVEN]]
        if self.view.profiler.graph.naming.measured:  # what it is called by is still asked for by its own word
            starts += [Denotation(a.Items((Literal(name.label),)), 1.0) for name in value.entities[:_GIVEN]]
        found = [new for one in starts for new in met(given.headless(), self.connector.connect(one, rel))]
        # `a sibling who has the field economics`: these have the field, and are somebody's siblings
        # and of tall laureates with German nationality, the word before the noun is not said yet
        return best(replace(one, head=given.head) for one in found)

    def with_text(self, given: Denotation, phrase: NounPhrase, text: str, place: a.TextPlace) -> list[Denotation]:
        """What has a text in its name, or in what a noun names: books with "Salt" in their title."""
        whole, kept = self.question.phrase, self.word_set(given) if given.is_free else given
        if kept is None or kept is not given:  # the titles that start with "The"
            return [] if kept is None else [kept.kept(a.Named(kept.known, text, place), 1.0)]
        chunks = phrase.chunks or (whole.chunks if whole.of is not None else ())  # the titles of those with it
        texts = self.connector.at(self.positions(chunks))
        uses = {use: self.fit.whole(texts, use.predicate) for use in self.view.uses(given.known) if use.kind == "text"}
        for use in sorted(filter(uses.get, uses), key=lambda one: (-uses[one], str(one.step)))[:1]:
            such = a.Named(ends(given.known, use.path), text, place)
            return [given.kept(a.Has(given.known, use.path, such), 1.0, Match(" ".join(texts), use.path))]
        left = [] if self.lexicon.identity_nouns.issuperset(texts) else self.positions(phrase.chunks)
        return [given.kept(a.Named(given.known, text, place), 1.0).leaving_out(left)]

    # --- when

    def at_value(
        self, given: Denotation, verb: Sequence[int], comparison: a.Comparison | None, chunk: Chunk
    ) -> list[Denotation]:
        """What happened before, in, or after a time, or has a number, or one in a range, of what the verb names."""
        is_bare = " ".join(self.connector.at(verb)) in self.lexicon.happening
        words = [p for p in verb if self.texts[p] not in self.lexicon.fillers and not is_bare]
        given = self.such_as_have(given, words)  # who was born in 1879
        if comparison is None or given.items is None or not chunk.is_value:
            return [] if given.is_free else [given.leaving_out(chunk.span)]
        self.look_at_times([given])
        times = self.measuring.times(given, words)
        hour = chunk.number if chunk.number is not None and not chunk.unit else None
        if hour is not None and 0 <= hour < _HOURS and words and times and times[0].kind == "clock":
            chunk = replace(chunk, number=None, date=Literal(f"{int(hour):02}:00:00", datatype=IRI(f"{XSD}time")))
            given = given.doubted(*[may_mean(chunk.text, "am", "pm")] * (hour <= _HOURS / 2))
        options = [one for one in times if (one.kind == "clock") == chunk.is_clock][:_TRIED]
        if chunk.is_clock and (is_open := self._open_at(given, words, Quantity(comparison, chunk))) is not None:
            return [is_open]
        if (chunk.date is not None or isinstance(chunk.last, Literal)) and not chunk.is_clock:
            options = [one for one in options if one.kind in {"date", "time"}]
        elif words and (chunk.unit or not options or options[0].score < 0):
            numbers = [one for one in self.measuring.measures(given, words) if one.kind == "number"][:_TRIED]
            is_year = chunk.may_be_years and not chunk.unit  # in 2018: nothing behind it costs as much
            options = [one for one in numbers if one.path.is_direct or not is_year] or options
        elif not words and chunk.number is not None and abs(chunk.number) < FIRST_YEAR:
            # `in phase 3`, which is no year
            options = [one for one in options if one.kind == "number"]
        options = [one for one in options if words or not self.fit.is_of_life(one.path.last)]  # mayor in 1979
        quantity = Quantity(comparison, chunk)
        on_the_way = [*self._on_the_way(given, quantity)]
        if on_the_way:  # of that prize, not of any that the winner got
            options = [one for one in options if one.path.is_direct]
        kept = [
            self.measuring.keep(given, one, quantity).leaving_out(self.measuring.unsaid_by(one.path, words))
            for one in options
        ]
        return [*kept, *on_the_way] or [given.leaving_out(chunk.span)]

    def compared(self, given: Denotation, said: Predication, by: Comparative) -> list[Denotation]:
        """What is older than something, or wider than so much, or was born before somebody died."""
        is_order = self.texts[by.position] in self.lexicon.order_words
        verb = self.positions_of_verb(said)
        given = self.such_as_have(given, verb)  # who was born after somebody died
        than = said.object if said.object is not None else NounPhrase()
        beside = self.phrases.denotations(than)[:1] if given.is_free and not verb else []
        for own in [one for other in beside for one in self.measuring.measures(other, (), by.measures)[:1]]:
            if (such := self.subjects_of(own.last)) is not None:
                given = replace(given, items=such)  # who is older than somebody
        # Of the average age, this is measured; the average singer is one of the things.
        noun = self.positions([chunk for chunk in than.chunks if not chunk.classes]) if than.summary else ()
        options = self.measuring.times(given, verb) if is_order else self._measures_by(given, verb, noun, by)
        options = options[: _TRIED - 1]
        if by.quantity is not None:
            if by.quantity.number < FIRST_YEAR:  # older than 30: an age, which is no date, and no year of one
                kinds = {"number", *UNITS}
                options = [one for one in options if one.kind in kinds and not self.measuring.is_of_time(one)]
            elif by.quantity.value.may_be_years:  # older than 1980, which is no age
                options = [one for one in options if not one.is_turned]
            options = self.measuring.of_its_kind(options, by.quantity) or options
            return [self.measuring.keep(given, one, by.quantity) for one in options] or [
                given.leaving_out([by.position])
            ]
        if (beside := [*self._beside_itself(given, said, by, options)]) and said.object is None:
            return beside
        how = than.summary[1] if than.summary else "max"  # of one
        is_open = than.summary is not None and not (than.of or isinstance(given.items, a.Instances | a.Items))
        made = [
            given.kept(kept, option.score, Match(getattr(value, "value", ""), option.path))
            .doubted(*one.doubts, *doubts, *[rival()] * is_open)  # the average of these, or of all?
            .leaving_out(self.measuring.unsaid_by(option.path, verb if is_order else ()))
            for option in (options if said.object is not None else ())
            for one in self._compared_with(given, than, noun)
            for value, *doubts in (
                self._values_beside(option, one, by)
                if one.is_named and than.summary is None
                else [(a.SummaryOf(how, one.known, own.measure),) for own in self._measures_by(one, verb, noun, by)[:1]]
            )
            if one.is_named or not by.event
            for kept in [a.Where(given.known, option.measure, option.compared(by.comparison), value)]
        ]
        return made or beside or [given.leaving_out([by.position, *by.event])]

    def _compared_with(self, given: Denotation, than: NounPhrase, noun: Sequence[int]) -> list[Denotation]:
        """Whose number it is: a bare average is of all such things, and `the one with the most power` one of these."""
        whose = than.of if than.summary and than.of else replace(than, summary=None)
        if not than.of and (noun or not than.chunks):
            kinds = tuple(given.classes or self.view.classes_in(given.known))
            whose = replace(than, summary=None, chunks=(Chunk(-1, -1, "", classes=kinds),))
        return [
            one
            for one in self.phrases.denotations(whose)[:_TRIED]
            if one.items and (one.is_named or than.summary or len(self.view.members(one.items)) == 1)
        ]

    def _beside_itself(
        self, given: Denotation, said: Predication, by: Comparative, options: Sequence[MeasureFit]
    ) -> Iterator[Denotation]:
        """What is wider than it is tall, or has more children than prizes: two measures of each are compared."""
        than = said.object
        if than is None:
            others = self.measuring.measures(given, (), by.own) if by.own else []
        elif than.summary or than.superlative or than.restrictions or than.of or any(c.entities for c in than.chunks):
            return
        else:
            options = self.measuring.measures_at(given, self.positions_of_verb(said), counts=True)
            others = self.measuring.measures_of_noun(given, than)
        for one, other in zip(options[:1], others[:1], strict=False):
            kept = a.Where(given.known, one.measure, one.compared(by.comparison), other.measure)
            how = (Match(self.texts[by.position], own.path) for own in (one, other))
            yield given.kept(kept, one.score + other.score, *how)

    def _measures_by(
        self, given: Denotation, verb: Sequence[int], noun: Sequence[int], by: Comparative
    ) -> list[MeasureFit]:
        """What is compared of a set: what a noun or verb names; else what the adjective measures."""
        named = self.measuring.measures_at(given, noun or verb, by.measures) if noun or verb else []
        return named if named or noun else self.measuring.measures(given, (), by.measures)

    def _values_beside(
        self, option: MeasureFit, other: Denotation, by: Comparative
    ) -> Iterator[tuple[Literal | a.Number, *tuple[Gap, ...]]]:
        """The value of another thing that a measure is compared with."""
        ways = self.measuring.times(other, by.event)[:1] if by.event else [option]
        found = self.view.members(ends(other.known, ways[0].path)) if ways else ()
        if isinstance(option.measure, a.HowMany):
            yield (Literal(len(found)),)
            return
        amounts = self.view.vocabulary.amounts.get(option.last)
        if found and amounts is not None and amounts.is_mixed:  # in whatever unit it is
            yield (a.SummaryOf("max", other.known, option.measure),)
            return
        known = sorted((own for one in found if (own := as_kind(one, option.kind)) is not None), key=str)
        for value in known[:1]:
            yield value, *[rival("another value", value.value)] * (len(known) > 1)

    def _open_at(self, given: Denotation, words: Sequence[int], when: Quantity) -> Denotation | None:
        """Keep what is open at a time: it has opened by then, and is not shut yet; open after it, it is shut later.

        ``None`` where words say nothing like it, or nothing tells when things open and shut.
        """
        text, own = self.texts[words[0]] if words else "", self.lexicon
        both = next(([shut, one] for shut, one in own.opposites.items() if text in {shut, one}), [])
        if own.be_forms.isdisjoint(self.texts[: words[0] if words else 0]):
            return None
        clocks = ([one for one in self.measuring.measures(given, (), [hint]) if one.kind == "clock"] for hint in both)
        match [one for some in clocks for one in some[:1]]:
            case [shuts, opens]:
                pass
            case _:
                return None
        sides: dict[str, tuple[tuple[MeasureFit, a.Comparison], ...]] = {
            "<": ((opens, "<"),), ">": ((shuts, ">"),), "<=": ((shuts, ">="),), ">=": ((opens, "<="),),
        }  # fmt: skip
        at_night = a.Where(given.known, opens.measure, ">", shuts.measure)
        kept = given.doubted(*[rival("the next day")] * self.view.has_items(at_night))
        for option, side in sides.get(when.comparison, ((opens, "<="), (shuts, ">"))):
            kept = self.measuring.keep(kept, option, replace(when, comparison=side))
        is_shut = text in own.opposites
        return replace(kept, items=a.Minus(a.Has(given.known, shuts.path), kept.known)) if is_shut else kept

    def _on_the_way(self, given: Denotation, quantity: Quantity) -> Iterator[Denotation]:
        """The year of a statement on the way: who won the prize in 1921."""
        for inner, middle in _middle_sets(given):
            times = [one for one in self.measuring.times(middle, ()) if not self.fit.is_of_life(one.path.last)]
            for option in [one for one in times if one.path.is_direct][:1]:
                further = a.Ends(self.measuring.keep(middle, option, quantity).known, inner.path.last_step.path)
                items = exchanged(given.known, inner, further)
                yield given.kept(items, option.score + _W.duration, Match(quantity.value.text, option.path))

    def look_at_times(self, given: Sequence[Denotation]) -> None:
        """Look at all that may tell when what some sets hold was, in the queries that one would take."""
        self.measuring.look_at_measured([*given, *(middle for one in given for _, middle in _middle_sets(one))])


def _middle_sets(given: Denotation) -> Iterator[tuple[a.Ends, Denotation]]:
    """The last path of two steps that leads to a set, and where its first step leads."""
    sets = given.items.sets if isinstance(given.items, a.Both) else (given.items,)
    for one in [own for own in sets if isinstance(own, a.Ends) and len(own.path.steps) == 2][-1:]:
        yield one, Denotation(a.Ends(one.start, PropertyPath(one.path.steps[:1])))
