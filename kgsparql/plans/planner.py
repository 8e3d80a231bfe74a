"""One planner: every question is a plan, a lookup too; the likeliest reading with what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from kgsparql.plans import algebra as a
from kgsparql.plans.connecting import TAXONOMY, Connector
from kgsparql.plans.denotation import Denotation, Doubt, Match, PlannedReading, best
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.item_sets import ends
from kgsparql.plans.label_fit import NEAR, LabelFit
from kgsparql.plans.phrases_on_graph import Phrases
from kgsparql.plans.tables import TablePlanner
from kgsparql.plans.type_check import parts
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import Clauses, NounPhrase, Predication, Superlative, phrases_in
from kgsparql.reading.lexicon import Lexicon

_READINGS = 8
_NOTHING_BESIDE = 0.3
"""How much less well than the best a reading may fit that is taken because the best comes to nothing."""
_LIKELIER = 0.1
"""By how much a reading that comes to nothing must fit better to be the likelier one."""
_AS_WELL = 0.06
"""By how much the scores of two readings may differ that fit as well."""


class Planner:
    """Plans one question on a graph."""

    def __init__(self, view: KnownGraph, fit: LabelFit, lexicon: Lexicon, chunked: Chunked, question: Clauses) -> None:
        self.view, self.question, self.lexicon, self.texts = view, question, lexicon, chunked.texts
        called = {p: frozenset(c.predicates) for own in phrases_in(question) for c in own.chunks for p in c.span}
        self.connector = Connector(view, fit, lexicon, chunked.texts, called)
        self.phrases = Phrases(self.connector, chunked, lexicon, question)
        self.tables = TablePlanner(self.phrases, question)

    def plan(self) -> PlannedReading:
        """The likeliest reading, with what it leaves out."""
        question = self.question
        if question.each is not None and (question.columns or question.form == "count" or question.phrase.summary):
            return self._unread(self.tables.plan(question.each))
        match question.form:
            case "share":
                found = self.tables.share()
            case "count":
                found = self._count()
            case "ask":
                found = self._whether()
            case "choose":
                found = self._choice()
            case "compare":
                found = self._comparison()
            case _:
                found = self._set()
        apart = [p for p, text in enumerate(self.texts) if text in self.lexicon.distributives and question.each]
        return self._unread(found, apart)

    def _unread(self, found: PlannedReading, more: Sequence[int] = ()) -> PlannedReading:
        """The same, with doubts for words that are in no clause."""
        pronouns = () if isinstance(found.plan, a.ItemTable) else self.question.pronouns  # of its items
        unread = (*self.question.unread, *pronouns, *more)
        doubts = (*found.doubts, *(Doubt(position, "not read") for position in unread))
        return replace(found, doubts=tuple(dict.fromkeys(doubts)))

    # --- which, how many, whether

    def _set(self) -> PlannedReading:
        phrase = self.question.phrase
        if phrase.summary and phrase.of is not None:
            return self._summary(phrase, phrase.of, phrase.summary[1])
        if (listed := self.tables.listed()) is not None:
            return listed
        if phrase.superlative and (found := self._extreme_value(phrase, phrase.superlative)) is not None:
            return found
        return self._chosen(self._restricted(phrase), lambda items: items)

    def _restricted(self, phrase: NounPhrase) -> list[Denotation]:
        """What a phrase denotes; a noun that nothing accounts for is left out, or is whatever a predicate leads to."""
        found = self.phrases.denotations(phrase)
        if all(one.is_free for one in found):
            wholes = [(one, self.phrases.word_set(one)) for one in found if one.head]
            found = [whole.doubted(*one.doubts) for one, whole in wholes if whole is not None][:1]
        return [self.phrases.settled(one) for one in found if not one.is_free]

    def _chosen(self, found: Sequence[Denotation], plan: Callable[[a.ItemSet], a.Plan]) -> PlannedReading:
        """The best reading that comes to something, nearly as good as the best; doubted where another fits as well."""
        ranked = best([one for one in found if one.items is not None], _READINGS)
        if not ranked:
            return PlannedReading(None, doubts=(Doubt(-1, "nothing"),))
        near = [one for one in ranked if one.rank > ranked[0].rank - _NOTHING_BESIDE]
        taken = next((one for one in near if self._terms(one)), ranked[0])
        doubts = taken.doubts
        if ranked[0] is not taken and not ranked[0].doubts and ranked[0].rank > taken.rank + _LIKELIER:
            doubts = (*doubts, Doubt(-1, "a likelier reading comes to nothing"))
        if any(self._is_rival(other, taken) for other in ranked if other is not taken):
            doubts = (*doubts, Doubt(-1, "another reading fits as well"))
        doubts += (*self._of_empty_classes(taken.known), *self._leaps(taken.how))
        others = tuple(_reading(plan, other) for other in ranked if other is not taken)
        return replace(_reading(plan, taken), doubts=doubts, others=others)

    def _leaps(self, how: Sequence[Match]) -> tuple[Doubt, ...]:
        """Doubt a path whose first steps no word names, though words name others: books `by` somebody's child."""
        for words, path, _ in how:
            named = [max(self.phrases.fit.phrase(words.split(), step.predicate), default=0.0) for step in path.steps]
            firsts = zip(path.steps[:-1], named[:-1], strict=True)
            odd = [step for step, own in firsts if own < NEAR and step.predicate not in TAXONOMY]
            if max(named, default=0.0) >= NEAR and any(not self.connector.is_location(one.predicate) for one in odd):
                return (Doubt(-1, "a step that no word names"),)
        return ()

    def _of_empty_classes(self, items: a.ItemSet) -> tuple[Doubt, ...]:
        """Doubt what is said of a class of which nothing in the graph is."""
        kinds = {part.of for part in parts(items) if isinstance(part, a.Instances)}
        is_empty = any(not self.view.has_instances(kind) for kind in kinds)
        return (Doubt(-1, "nothing in this graph is of a class that is asked about"),) if is_empty else ()

    def _terms(self, one: Denotation) -> frozenset[object]:
        return frozenset() if one.items is None else self.view.members(one.items).terms

    def _is_rival(self, other: Denotation, taken: Denotation) -> bool:
        """Whether another reading fits as well and comes to something else."""
        if other.rank <= taken.rank - _AS_WELL or (other.doubts and not taken.doubts):
            return False
        return not self._terms(other) <= self._terms(taken)

    def _count(self) -> PlannedReading:
        phrase = self.question.phrase
        if (stated := self._stated_number(phrase)) is not None:
            return stated
        return self._chosen(self._restricted(phrase), a.Count)

    def _stated_number(self, phrase: NounPhrase) -> PlannedReading | None:
        """A number that the graph states, or things of one: how many servings, how many children it has."""
        said = phrase.restrictions[0] if len(phrase.restrictions) == 1 else None
        if not isinstance(said, Predication) or said.subject is None:
            return None
        noun, made = NounPhrase(chunks=phrase.chunks), []
        for one in self.phrases.denotations(said.subject)[:4]:
            if one.items is None or not one.is_named:
                continue
            for option in self.phrases.measures_of_noun(one, noun)[:3]:
                last = self.phrases.fit.text(option.match.steps[-1].predicate)
                verb = [p for p in said.verb if self.texts[p] not in self.lexicon.fillers | self.lexicon.have_forms]
                unsaid = [p for p in verb if self.phrases.fit.word(self.texts[p], last) < 0.5]
                reached = ends(one.items, option.match)
                if isinstance(option.measure, a.HowMany):
                    plan: a.Plan = a.Count(_among(reached, option.measure.among))
                elif self.view.members(reached).terms:
                    plan = reached
                else:
                    continue
                reading = one.leaving_out(unsaid)
                how = (*one.how, Match(self._said(phrase), option.match))
                made.append(PlannedReading(plan, round(reading.rank + option.score, 3), reading.doubts, how))
        return max(made, key=lambda own: own.score, default=None)

    def _said(self, phrase: NounPhrase) -> str:
        return " ".join(self.texts[p] for p in sorted(phrase.positions))

    def _whether(self) -> PlannedReading:
        is_none = self.question.phrase.is_negated  # is no laureate a writer
        subjects = self.phrases.denotations(replace(self.question.phrase, is_negated=False))
        if self.question.asks_existence and not self.question.said and subjects and subjects[0].is_named:
            return PlannedReading(None, doubts=(Doubt(-1, "nothing is asked of it"),))
        quantity = self.question.phrase.quantity
        if self.question.asks_existence and not self.question.said and quantity is not None:
            things = self.phrases.denotations(replace(self.question.phrase, quantity=None))
            return self._chosen(
                [self.phrases.settled(one) for one in things],
                lambda items: a.Compares(a.Count(items), quantity.comparison, a.Constant(quantity.number)),
            )
        if self.question.asks_existence and not self.question.said:
            return self._chosen([self.phrases.settled(one) for one in subjects], a.Exists)
        found: list[Denotation] = []
        for subject in [one for one in subjects[:4] if not one.is_free]:
            own = [subject]
            for said in self.question.said:
                kept = best((new for one in own for new in self.phrases.restrict(one, said)), 5)
                own = kept or [one.leaving_out(self.phrases.said_in(said)) for one in own]
            found += own
        ranked = best([one for one in found if one.items is not None])
        if not ranked:
            return PlannedReading(None, doubts=(Doubt(-1, "nothing"),))
        near = [one for one in ranked if one.rank > ranked[0].rank - _AS_WELL and one.how == ranked[0].how]
        taken = next((one for one in near if self._terms(one)), ranked[0])  # of namesakes, one of whom it is so
        others = [one for one in ranked if one.how != taken.how]
        doubts, is_so = taken.doubts, bool(self._terms(taken))
        if any(bool(self._terms(o)) != is_so and o.rank > taken.rank - _AS_WELL and not o.doubts for o in others):
            doubts = (*doubts, Doubt(-1, "another reading says otherwise"))
        doubts += self._of_empty_classes(taken.known)
        more = tuple(_reading(_exists, other) for other in ranked if other is not taken)
        phrase = self.question.phrase
        is_of_all = phrase.every is not None or (bool(phrase.parts) and phrase.joined_by == "and")
        if is_none:
            return replace(_reading(lambda items: a.Not(a.Exists(items)), taken), doubts=doubts, others=more)
        if is_of_all and subjects[0].items is not None:  # of all: there is none that it is not true of
            left = a.Not(a.Exists(a.Minus(subjects[0].known, taken.known)))
            return replace(_reading(lambda _: left, taken), doubts=doubts, others=more)
        return replace(_reading(_exists, taken), doubts=doubts, others=more)

    # --- how much, of two

    def _summary(self, phrase: NounPhrase, owner: NounPhrase, how: a.Summary) -> PlannedReading:
        """The average, the sum, the highest of a value over a set."""
        nothing = PlannedReading(None, doubts=(Doubt(-1, "no such value"),))
        return max(self._summaries(phrase, owner, how), key=lambda own: own.score, default=nothing)

    def _summaries(self, phrase: NounPhrase, owner: NounPhrase, how: a.Summary) -> Iterator[PlannedReading]:
        chunks, whose = self.phrases.owned_noun(phrase, owner)
        found = self.phrases.denotations(whose)[:3]
        owners = [self.phrases.settled(one) for one in found if one.items is not None]
        return self._summarised(self.phrases.positions(chunks), owners, how, self._said(phrase))

    def _summarised(
        self, positions: Sequence[int], owners: Sequence[Denotation], how: a.Summary, words: str
    ) -> Iterator[PlannedReading]:
        for one in owners:
            options = self.phrases.measures(one, positions)
            if how in {"avg", "sum"}:
                options = [own for own in options if isinstance(own.measure, a.Value) and own.measure.kind == "number"]
            for option in options[:2]:
                said = (*one.how, Match(words, option.match))
                score = round(one.rank + option.score, 3)
                yield PlannedReading(a.SummaryOf(how, one.known, option.measure), score, one.doubts, said)

    def _extreme_value(self, phrase: NounPhrase, best_of: Superlative) -> PlannedReading | None:
        """The highest value itself, where a measure and no thing is named: `the earliest date of birth`."""
        head = phrase.head
        is_thing = head is None or bool(head.classes) or head.is_name or phrase.asked == "who"
        if is_thing or phrase.restrictions or best_of.number * best_of.rank > 1:
            return None
        summary: a.Summary = "max" if best_of.is_largest else "min"
        if phrase.of is not None:
            found = self._summaries(phrase, phrase.of, summary)
        else:
            positions = self.phrases.positions(phrase.chunks)
            kind = self.phrases.measured_class(positions)
            owners = [] if kind is None else [Denotation(a.Instances(kind))]
            found = self._summarised(positions, owners, summary, self._said(phrase))
        positions = self.phrases.positions(phrase.chunks)
        named = [own for own in found if self._is_named_by(own.how[-1].path.steps[-1].predicate, positions)]
        return max(named, key=lambda own: own.score, default=None)

    def _is_named_by(self, predicate: IRI, positions: Sequence[int]) -> bool:
        """Whether the name of a predicate has all of some words, or what is like them."""
        own = self.phrases.fit.phrase(self.connector.at(positions), predicate)
        return bool(own) and min(own) >= NEAR

    def _choice(self) -> PlannedReading:
        """Which of some named things: the older of two, those of which something is true."""
        choices = self.question.choices
        parts = [best(self.phrases.denotations(part), 1) for part in choices.parts] if choices is not None else []
        named = [own[0] for own in parts if own and own[0].is_named]
        if len(named) < max(2, len(parts)):
            return PlannedReading(None, doubts=(Doubt(-1, "choices"),))
        terms = tuple(t for one in named if isinstance(one.items, a.Items) for t in one.items.terms)
        doubts = tuple(doubt for one in named for doubt in one.doubts)
        given = Denotation(a.Items(terms), 1.0, doubts)
        phrase = self.question.phrase
        found = [given]
        if not phrase.restrictions and phrase.superlative:
            found = self.phrases.superlative(given, phrase.superlative)
        for said in phrase.restrictions:
            found = best((new for one in found for new in self.phrases.restrict_choice(one, said)), 4)
        return self._chosen(found, lambda items: items)

    def _comparison(self) -> PlannedReading:
        """Whether one thing is older, or has more of something, than another."""
        question, by = self.question, self.question.comparative
        phrase, opposite, measured = question.phrase, question.other, question.measured
        if opposite is not None and phrase.of and opposite.of and phrase.chunks == opposite.chunks:
            # the height of the one and that of the other
            measured, phrase, opposite = self.phrases.positions(phrase.chunks), phrase.of, opposite.of
        left = best(self.phrases.denotations(phrase), 1)
        right = best(self.phrases.denotations(opposite), 1) if opposite is not None else []
        if by is None or not left or not right or left[0].items is None or right[0].items is None:
            return PlannedReading(None, doubts=(Doubt(-1, "nothing"),))
        one, other = left[0], right[0]
        noun = NounPhrase(chunks=[])
        summary = question.summary or ("" if one.is_named and other.is_named else "avg")
        if self.texts[by.position] in self.lexicon.order_words:
            options = self.phrases.times(one, measured)
        elif measured:
            options = self.phrases.measures_at(one, measured, counts=not summary)
        else:
            options = self.phrases.measures_of_noun(one, noun, by.measures) if by.measures else []
        for option in options[:1]:
            paths = [ends(side.known, option.match) for side in (one, other)]
            if isinstance(option.measure, a.Value) and not all(self.view.members(path).terms for path in paths):
                return PlannedReading(None, doubts=(Doubt(by.position, "the graph does not say it of both"),))
            sides = [_value_of(side.known, option.measure, summary) for side in (one, other)]
            plan = a.Compares(sides[0], by.comparison, sides[1])
            how = (*one.how, *other.how, Match(self.texts[by.position], option.match))
            doubts = (*one.doubts, *other.doubts)
            return PlannedReading(plan, round(one.rank + other.rank + option.score, 3), doubts, how)
        unsaid = measured or (by.position,)
        return PlannedReading(None, doubts=tuple(Doubt(p, "leaves out") for p in unsaid))


def _reading(plan: Callable[[a.ItemSet], a.Plan], one: Denotation) -> PlannedReading:
    return PlannedReading(plan(one.known), round(one.rank, 3), one.doubts, one.how)


def _exists(items: a.ItemSet) -> a.Plan:
    """Whether there is any; of one thing that has so many of something, how many there are is compared."""
    match items:
        case a.Where(a.Items((_,)) as one, a.HowMany(path, among), comparison, Literal(value=number)):
            return a.Compares(a.Count(_among(ends(one, path), among)), comparison, a.Constant(Decimal(number)))
    return a.Exists(items)


def _among(items: a.ItemSet, among: a.ItemSet | None) -> a.ItemSet:
    return items if among is None else a.Both((items, among))


def _value_of(items: a.ItemSet, measure: a.Value | a.HowMany | a.Summarised, summary: str) -> a.Number:
    """The one number of a set: how many it has of something, or its value."""
    if isinstance(measure, a.HowMany):
        return a.Count(_among(ends(items, measure.path), measure.among))
    return a.SummaryOf("avg" if summary == "avg" else "sum" if summary == "sum" else "max", items, measure)
