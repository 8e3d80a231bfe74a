"""One planner: every question is a plan, a lookup too; the likeliest reading with what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import filterfalse

from kgsparql.linking.english_forms import singular
from kgsparql.linking.words import countries, root, roots_of
from kgsparql.plans import algebra as a
from kgsparql.plans.connecting import Connector
from kgsparql.plans.denotation import Denotation, Match, PlannedReading, Rel, best, ends, of_classes, union, unplanned
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.label_fit import NEAR, LabelFit
from kgsparql.plans.named_words import NamedWords
from kgsparql.plans.pairs import PairPlanner, value_of
from kgsparql.plans.phrases_on_graph import Phrases
from kgsparql.plans.tables import TablePlanner
from kgsparql.plans.type_check import UNITS, parts_of
from kgsparql.plans.weights import weights
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal, distinct, normalised
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS, TAXONOMY
from kgsparql.reading.clauses import Chunk, NounPhrase, Predication, Superlative
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import Gap, known_elsewhere, left_out_at, quoted, rival, uncomputed, unsaid

_READINGS, _W = 8, weights("reading")
"""How much less well than the best a reading may fit that is taken because the best comes to nothing."""


class Planner(NamedWords):
    """Plans one question on a graph."""

    def __init__(self, view: KnownGraph, fit: LabelFit, asked: Form) -> None:
        asked = NamedWords(Connector(view, fit, asked), asked).counting_acts(asked)
        super().__init__(Connector(view, fit, asked), asked)
        self.chunks = asked.read.chunks
        self.phrases = Phrases(self.connector, asked)
        self.tables = TablePlanner(self.phrases)

    def plan(self) -> PlannedReading:
        """The likeliest reading, with what it leaves out, and doubts for words that are in no clause."""
        doubted: dict[bool, list[Gap]] = {True: [], False: []}  # numbers and dates that may be others, or cannot be
        for chunk in self.chunks:
            if chunk.problem is not None and not chunk.classes:
                doubted[chunk.is_value].append(chunk.problem)
        for phrase in self.question.phrases:
            if (best_of := phrase.superlative) is not None and best_of.number < 1:  # the first none: `top 0`
                doubted[False].append(uncomputed(f"{self.texts[best_of.position]} {best_of.number}"))
        if doubted[False]:
            return PlannedReading(None, doubts=tuple(doubted[False]), is_impossible=True)
        if (names := self._other_names() or self._of_code()) is not None:
            return names
        found, question = self._without_named(self.tables.as_asked(self._read())), self.question
        unread = [*question.unread]
        if not isinstance(found.plan, a.ItemTable):
            unread += question.pronouns  # else of its items
        is_of_all = any(isinstance(part.value, a.Count) for part in parts_of(found.plan, a.Where))  # with every genre
        if question.each is not None and not (self._is_table() or is_of_all):
            unread += [p for p, text in enumerate(self.texts) if text in self.lexicon.distributives]
        if not isinstance(found.plan, a.Table | a.Numbers):  # the smallest price and its shop
            asked = (p for one in question.columns for p in sorted(one.positions))
            unread += [p for p in asked if not roots_of(self.lexicon.naming_words) & {root(self.texts[p])}]
        unread += self._not_averaged(found)
        doubted[True] += self._other_countries(found)
        is_bare = isinstance(plan.items if isinstance(plan := found.plan, a.Count | a.Exists) else plan, a.Instances)
        doubted[True] += [one.problem for one in self.chunks if one.classes and one.problem is not None and is_bare]
        doubts = (
            *found.doubts,
            *left_out_at(unread),
            *doubted[True],
            *(self._leaps(found.how) if isinstance(found.plan, a.SummaryOf) else ()),
        )
        return replace(found, doubts=distinct(doubts))

    def _without_named(self, found: PlannedReading) -> PlannedReading:
        """Leave out of what is found who is named, where others are asked for: who else plays for Ann's club."""
        is_count = isinstance(plan := found.plan, a.Count)
        items = plan.items if isinstance(plan, a.Count) else plan
        if self.lexicon.else_words.isdisjoint(self.texts) or not isinstance(items, a.ItemSet):
            return found
        named = {name.term for chunk in self.chunks for name in chunk.entities} & self.view.members(items)
        if not named:
            return found
        others = a.Minus(items, a.Items(tuple(sorted(named, key=str))))
        return replace(found, plan=a.Count(others) if is_count else others)

    def _other_countries(self, found: PlannedReading) -> Iterator[Gap]:
        """Doubt that whose tour country is France is French: where the adjective is no name, but a text."""
        adjectives = [one for one in self.chunks if one.text.lower() in countries()]
        texts = {name.term for one in adjectives for name in one.entities if isinstance(name.term, Literal)}
        if not texts or found.plan is None:
            return
        ends_at = [(one.to, one.path.last) for one in parts_of(found.plan, a.Has)]
        ends_at += [(one.start, one.path.steps[0].predicate) for one in parts_of(found.plan, a.Ends)]
        for items, predicate in ends_at:
            is_so = isinstance(items, a.Items) and not texts.isdisjoint(items.terms)
            if is_so and not self.fit.label_roots(predicate) <= roots_of(self.lexicon.countries_are):
                yield unsaid(self.fit.text(predicate))

    def _not_averaged(self, found: PlannedReading) -> list[int]:
        """The positions of words such as `average`, where a plan has no average, and no name in it says so."""
        asks = [p for p, text in enumerate(self.texts) if self.lexicon.summaries.get(text) == "avg"]
        made = found.plan
        if not asks or made is None or any(parts_of(made, a.SummaryOf, a.Summarised)):
            return []
        named = {p for chunk in self.chunks for p in chunk.span}
        said = {word for match in found.how for word in match.words.split()}
        return [p for p in asks if p not in named and self.texts[p] not in said]

    def _is_table(self) -> bool:
        question = self.question
        is_best = question.each is not None and self.tables.asks_best(question.each)
        is_number = question.asks in {"count", "share"}
        return bool(question.columns or is_number or question.phrase.summary or is_best)

    def _read(self) -> PlannedReading:
        question = self.question
        if question.each is not None and self._is_table():
            return self.tables.plan(question.each)
        match question.asks:
            case "share":
                return self.tables.share()
            case "count":
                found = self._chosen(self._restricted(), a.Count)
                is_one = isinstance(found.plan, a.Count) and isinstance(found.plan.items, a.Items)  # comedies are many
                return unplanned() if is_one else self._not_stated(found)
            case "ask":
                return self._whether()
            case "choose":
                return self._choice()
            case "compare" | "difference":
                return PairPlanner(self.phrases).plan()
            case _:
                return self._set()

    def _not_stated(self, found: PlannedReading) -> PlannedReading:
        """Read as the number itself what the graph states as one, as their sum of several; unknown, it is not 0."""
        head, is_count = self.question.phrase.head, isinstance(found.plan, a.Count)
        items = found.plan.items if isinstance(found.plan, a.Count) else found.plan
        is_total = head is None or head.text == singular(head.text)  # the total audience of the plays
        is_total = is_total and not {"sum", "avg"}.isdisjoint(map(self.lexicon.summaries.get, self.texts))
        is_total |= not self.lexicon.together_words.isdisjoint(self.texts)
        if (is_count or is_total) and isinstance(items, a.Ends):
            kind, path = self.view.subject_class(items.path.steps[0].predicate), items.path
            uses = self.view.uses(items.start if kind is None else a.Instances(kind))
            is_one = isinstance(items.start, a.Items) and len(items.start.terms) == 1
            said = self.lexicon.occasions if is_one else self.lexicon.occasions | self.lexicon.distinct_words
            is_of_each = head is not None and head.text.endswith(f"{self.tables.fit.text(items.path.last)}s")
            if is_count and (is_of_each or not said.isdisjoint(self.texts)):
                return found  # how often; how many rainfalls; how many different ratings: of equal ones, one
            for use in (u for u in uses if u.path == path and (u.kind in {"number", *UNITS} or u.states_numbers)):
                if use.kind == "text" and is_count:
                    unsummed = (*found.doubts, uncomputed("how many"))
                    return replace(found, plan=items) if is_one else replace(found, doubts=unsummed)
                asked: list[a.Summary] = [one for one in map(self.lexicon.summaries.get, self.texts) if one]
                own = a.Value(path, "number" if use.kind == "text" else use.kind, use.unit)
                summed = a.SummaryOf([*asked, "sum"][0], items.start, own)
                return replace(found, plan=(items if is_count else found.plan) if is_one else summed)
        return found

    # --- which, how many

    def _set(self) -> PlannedReading:
        phrase = self.question.phrase
        if phrase.summary and (phrase.of is not None or not phrase.restrictions):
            found = self._summaries(phrase, phrase.summary[1])
            return max(found, key=lambda own: own.score, default=unplanned())
        if (listed := self.tables.listed()) is not None:
            return listed
        if phrase.superlative and (value := self._extreme_value(phrase, phrase.superlative)) is not None:
            return value
        likeliest = self._chosen(self._kinds_of_named(phrase) or self._restricted())
        field = self.tables.field_of_class(phrase) if likeliest.doubts else None
        other = likeliest if field is None else self._chosen(self.phrases.settled(field))
        return self._not_stated(likeliest if other.doubts else other)

    def _kinds_of_named(self, phrase: NounPhrase) -> list[Denotation]:
        """What kind of film a named film is: what its genre, format or another name for kinds leads to."""
        are_many = any(singular(self.texts[p]) != self.texts[p] for p in phrase.kinds)
        if self.view.is_ontology and are_many:  # which kinds of one class are kinds of another, too
            return []
        match phrase.restrictions:
            case [Predication(light="be", verb=(), preposition="", object=NounPhrase() as thing)] if phrase.kinds:
                rel = Rel((), "of", asked="", hints=self.lexicon.hints["kind"], hops=1)
                named = [one for one in self.phrases.denotations(thing) if one.is_named]
                found = [made for one in named for made in self.connector.connect(one, rel) if not made.doubts]
                above = [one.kept(ends(one.known, Step(by).path)) for one in named for by in sorted(TAXONOMY, key=str)]
                bare = replace(phrase, kinds=(), restrictions=())  # what kind of omics topic
                for among in self.phrases.denotations(bare)[:1] if self.view.is_ontology and phrase.chunks else ():
                    above = [one.kept(a.Both((one.known, among.known))).doubted(*among.doubts) for one in above]
                self.view.look_for_items(one.known for one in above)
                found = [one for one in above if self.view.has_items(one.known)] or found
                return best(found or [one.leaving_out(phrase.kinds) for one in named])
        return []

    def _restricted(self) -> list[Denotation]:
        """What is asked for; a noun that nothing accounts for is left out, or is whatever a predicate leads to."""
        found = self._of_persons(self.phrases.denotations(self.question.phrase))
        head = self.question.phrase.head
        if head is not None and head.number is not None and not head.entities:
            return []  # no number that the question says itself is its answer
        if all(one.is_free for one in found):
            wholes = [(one, self.word_set(one)) for one in found if one.head]
            found = [whole.doubted(*one.doubts) for one, whole in wholes if whole is not None][:1]
        return self.phrases.predicating.settled_of(found)

    def _of_persons(self, found: list[Denotation]) -> list[Denotation]:
        """What `who` asks for, read as people are, too, where no person is found at the end of a path of its own."""
        phrase = self.question.phrase
        is_who = self.lexicon.question_words.get(phrase.asked) == "agent" and not phrase.chunks
        if not (is_who and phrase.restrictions and any(own.entities or own.classes for own in self.chunks)):
            return found
        kinds = self.view.classes_called(["person"])
        likely = [one for one in found[:1] if not one.is_free and not one.doubts]
        if not kinds or any(self.view.has_any(one.known, frozenset(kinds)) for one in likely):
            return found
        persons = self.phrases.denotations(replace(phrase, chunks=(Chunk(-1, -1, "person", classes=tuple(kinds)),)))
        own = (one for one in persons if not one.is_free)
        read = (replace(one, items=_of_any_class(one.known, kinds), score=one.score - _W.said) for one in own)
        return best([*found, *(one for one in read if self._comes_to(one))])

    def _chosen(self, found: Sequence[Denotation], plan: Callable[[a.ItemSet], a.Plan] | None = None) -> PlannedReading:
        """The best reading that comes to something, nearly as good as the best; doubted where another fits as well."""
        if not found:
            return unplanned()
        first, *_ = others = best(found, _READINGS)
        near = first.rank - _W.nothing_beside
        taken = next((one for one in others if one.rank > near and self._comes_to(one)), first)
        others.remove(taken)
        doubts = [*taken.doubts]
        if first is not taken and not first.doubts and first.rank > taken.rank + _W.likelier:
            doubts.append(rival())
        for one in others:
            is_rival = one.rank > taken.rank - _W.as_well and (taken.doubts or not one.doubts)
            if is_rival and not self._comes_to(one) <= self._comes_to(taken):
                doubts.append(self._as_well(one, taken))
                break
        doubts += [*self._of_empty_classes(taken), *self._leaps(taken.how)]
        if not self._comes_to(taken):
            doubts += [*self.phrases.restricting.of_no_such_thing(taken.known), *self._of_one_thing()]
        made, *more = (one.reading(one.known if plan is None else plan(one.known)) for one in (taken, *others))
        return replace(made, doubts=tuple(doubts), others=tuple(more))

    def _as_well(self, other: Denotation, taken: Denotation) -> Gap:
        """Doubt a reading beside which another fits as well, by the predicates that tell them apart."""
        ways = ((one.path, own.path) for one, own in zip(other.how, taken.how, strict=False) if one.path != own.path)
        names = [quoted(self.fit.text(path.last)) for path in next(ways, ())]
        return rival(*names) if len(set(names)) > 1 else rival()

    def _leaps(self, how: Sequence[Match]) -> tuple[Gap, ...]:
        """Doubt a path whose first steps no word names, though words name others: books `by` somebody's child."""
        for words, path in how:
            if path.is_direct:
                continue
            named = [max(self.fit.phrase(words.split(), step.predicate), default=0.0) for step in path.steps]
            odd = [step.predicate for step, own in zip(path.steps[:-1], named, strict=False) if own < NEAR]
            joints = self.lexicon.prepositions & set(self.texts)  # at: `at station`
            odd = [one for one in odd if self.fit.text(one).split()[0] not in joints]
            is_leap = any(not (one in TAXONOMY or self.fit.is_location(one)) for one in odd)
            if is_leap and max(named) >= NEAR:
                return (unsaid(self.fit.text(odd[0])),)
        return ()

    def _of_empty_classes(self, taken: Denotation) -> tuple[Gap, ...]:
        """Doubt what is said of a class of which nothing in the graph is."""
        kinds = {part.of for part in parts_of(taken.known, a.Instances)}
        empty = filterfalse(self.view.has_instances, sorted(kinds, key=str))
        return tuple(map(known_elsewhere, self.fit.names([*empty][:1])))

    def _of_one_thing(self) -> Iterator[Gap]:
        """Doubt that a noun is the name of one thing, where it is asked which such thing something is true of."""
        phrase = self.question.phrase
        if phrase.head is not None and phrase.head.is_name and not phrase.head.classes and phrase.asked:
            yield from left_out_at([phrase.head.start])

    def _comes_to(self, one: Denotation) -> frozenset[object]:
        return self.view.members(one.known)

    def _other_names(self) -> PlannedReading | None:
        """Read what something is called besides, how many names, or whether it has one; ``None`` where none is."""
        asked = self.question.other_names
        whose, *other = [self._named_by(chunk) for chunk in asked.chunks] if asked is not None else [None]
        if whose is None:
            return None
        paths = [Step(own).path for own in ALTERNATIVE_LABELS]
        found = [own for path in paths if self.view.has_items(own := ends(whose.known, path))]
        if not found:
            return None
        names = union(found)
        if asked is not None and other:
            # Either name may be the other one: `Is Aurum a synonym of Gold?` asks no more than the reverse.
            is_same = other[0] is not None and other[0].known == whose.known
            said = [
                normalised(self.chunked.text_of(chunk.start, chunk.end))
                for chunk in asked.chunks[0 if is_same else 1 :]
            ]
            texts = [own for own in self.view.members(names) if isinstance(own, Literal)]
            same = tuple(own for own in texts if normalised(own.value) in said)
            return whose.reading(_exists(a.Both((names, a.Items(same or (Literal(said[-1]),))))))
        return whose.reading(a.Count(names) if self.question.asks == "count" else names)

    def _of_code(self) -> PlannedReading | None:
        """Read what has a code, where only that is asked: `What is R.1.3?`; ``None`` where several say it."""
        phrase = self.question.phrase
        if not self.question.is_definition or phrase.of is not None or (code := _text_at_end(phrase)) is None:
            return None
        start, kinds = a.Items((code.entities[0].term,)), phrase.chunks[:-1]
        ways = [use.path for use in self.view.uses(start) if use.step.direction == "inverse"]
        if len(ways) != 1 or any(not chunk.classes for chunk in kinds):
            return None
        sets = (ends(start, ways[0]), *(of_classes(frozenset(chunk.classes)) for chunk in kinds))
        found = Denotation(a.Both(sets) if kinds else sets[0], how=(Match(code.text, ways[0]),))
        return found.reading(found.known) if self.view.has_items(found.known) else None

    def _named_by(self, chunk: Chunk) -> Denotation | None:
        """Return the named thing that words denote, if it is one."""
        found = self.phrases.denotations(NounPhrase(chunks=(chunk,)))[:1]
        return next((one for one in found if one.is_named), None)

    # --- whether

    def _whether(self) -> PlannedReading:
        """Whether something is true of a phrase, or there is any such thing."""
        question = self.question
        phrase = replace(question.phrase, is_negated=False)  # is no laureate a writer
        owner = phrase.of if phrase.of is not None and not question.said else NounPhrase()
        if (code := _text_at_end(owner)) is not None and owner.chunks[:-1] and owner.chunks[-2].is_name:
            phrase = replace(phrase, of=replace(owner, chunks=owner.chunks[:-1]))  # the code of Archaeology 012
            question = replace(question, said=(Predication(light="be", object=NounPhrase(chunks=(code,))),))
        if (valued := self._whether_of_value(phrase)) is not None:
            return valued
        if question.asks_existence and not question.said:
            return self._existence(phrase)
        subjects = self.phrases.denotations(phrase)
        found: list[Denotation] = []
        for subject in [one for one in subjects[:4] if not one.is_free]:
            own = [subject]
            for said in question.said:
                kept = best((new for one in own for new in self.phrases.restricting.restrict(one, said)), 5)
                own = kept or [one.leaving_out(self.said_in(said)) for one in own]
            found += own
        ranked = best([one for one in found if not one.is_free])
        if not ranked:
            return unplanned()
        near = [one for one in ranked if one.rank > ranked[0].rank - _W.as_well and _are_alike(one, ranked[0])]
        taken = next((one for one in near if self._comes_to(one)), ranked[0])  # of namesakes, one of whom it is so
        rivals = [o for o in ranked if not _are_alike(o, taken) and o.rank > taken.rank - _W.as_well and not o.doubts]
        doubts = taken.doubts
        if any(bool(self._comes_to(other)) != bool(self._comes_to(taken)) for other in rivals):
            doubts = (*doubts, rival())
        doubts += self._of_empty_classes(taken)
        others = tuple(other.reading(_exists(other.known)) for other in ranked if other is not taken)
        plan = _exists(taken.known)
        if question.phrase.is_negated:
            plan = a.Not(a.Exists(taken.known))
        elif (phrase.every is not None or (phrase.parts and phrase.joined_by == "and")) and not subjects[0].is_free:
            plan = a.Not(a.Exists(a.Minus(subjects[0].known, taken.known)))  # of all: there is none it is not true of
        return replace(taken.reading(plan), doubts=doubts, others=others)

    def _whether_of_value(self, phrase: NounPhrase) -> PlannedReading | None:
        """Whether a value compares so: `is the rating of X above 4`; ``None`` where none is named."""
        owner, (said, *more) = phrase.of, (*phrase.restrictions, *self.question.said, None)
        if owner is None or not phrase.chunks or more[:-1] or (isinstance(said, Predication) and said.is_negated):
            return None
        quantity = phrase.quantity or owner.quantity
        if quantity is None and isinstance(said, Predication):
            quantity = self.phrases.restricting.quantity_of(said)
        if quantity is None:
            return None
        quantity, noun = replace(quantity, is_of_value=True), replace(phrase, of=None, quantity=None, restrictions=())
        whose = [one for one in self.phrases.denotations(replace(owner, quantity=None))[:4] if one.is_named]
        have = Predication(light="have", object=noun)
        found = best(new for one in whose for new in self.phrases.measuring.with_quantity(one, have, noun, quantity))
        return (
            found[0].reading(_exists(found[0].known)) if found and found[0].rank > 0 and not found[0].doubts else None
        )

    def _existence(self, phrase: NounPhrase) -> PlannedReading:
        """Whether there is any, or so many, of what a phrase denotes."""
        if (apart := self.phrases.predicating.set_apart(phrase)) is not None:
            return PlannedReading(a.Exists(apart))
        subjects, quantity = self.phrases.denotations(phrase), phrase.quantity
        if subjects and subjects[0].is_named:
            return unplanned()
        if quantity is None:  # that a class itself is such is another question
            subjects = [one.doubted(rival()) if _is_of_one_thing(one.items) else one for one in subjects]
            return self._chosen(self.phrases.predicating.settled_of(subjects), a.Exists)
        things = self.phrases.denotations(replace(self.question.phrase, quantity=None))
        return self._chosen(
            self.phrases.predicating.settled_of(things),
            lambda items: a.Compares(a.Count(items), quantity.comparison, a.Constant(quantity.number)),
        )

    # --- how much, of two

    def _summaries(self, phrase: NounPhrase, how: a.Summary) -> Iterator[PlannedReading]:
        """The average, the sum, the highest of a value over a set; of nobody's, over all that have it."""
        if (owner := phrase.of) is None:
            such = self.having(self.positions(phrase.chunks))
            owners = [] if such is None else [Denotation(such)]
            yield from self._summarised(self.positions(phrase.chunks), owners, how)
            return
        chunks, whose = self.phrases.owned_noun(phrase, owner)
        owners = self.phrases.predicating.settled_of(self.phrases.denotations(whose)[:3])
        yield from self._summarised(self.positions(chunks), owners, how)

    def _summarised(
        self, positions: Sequence[int], owners: Sequence[Denotation], how: a.Summary
    ) -> Iterator[PlannedReading]:
        phrase = self.question.phrase
        at = phrase.summary[0] if phrase.summary else phrase.superlative.position if phrase.superlative else -1
        for one in owners:
            hints = phrase.superlative.measures if phrase.superlative else ()
            options = self.phrases.measuring.measures(one, positions, hints)
            if how in {"avg", "sum"}:
                options = [own for own in options if own.kind in {"number", *UNITS}]
            for option in options[:2]:
                match = Match(" ".join(self.connector.at(sorted(phrase.positions))), option.path)
                summary: a.Summary = (
                    how if not option.is_turned else "max" if how == "min" else "min"
                )  # the oldest age is the highest
                is_bare = one.is_named and how != "sum" and len(self.view.members(ends(one.known, option.path))) < 2
                read = one.leaving_out([at] * is_bare)  # a thing's only value is not its highest
                yield read.reading(a.SummaryOf(summary, one.known, option.measure), option.score, match)
                if is_bare:  # nor are those of other things
                    break

    def _extreme_value(self, phrase: NounPhrase, best_of: Superlative) -> PlannedReading | None:
        """The highest value itself, where a measure and no thing is named: `the earliest date of birth`."""
        head = phrase.head
        is_thing = head is None or bool(head.classes) or head.is_name or phrase.asked == "who"
        is_often = not self.lexicon.frequencies.isdisjoint(best_of.measures)
        if is_thing or is_often or phrase.restrictions or best_of.number * best_of.rank > 1:
            return None
        summary: a.Summary = "max" if best_of.is_largest else "min"
        positions = self.positions(phrase.chunks)
        found = self._summaries(phrase, summary)
        texts = self.connector.at(positions)
        named = [own for own in found if self.fit.whole(texts, own.how[-1].path.last)]
        return max(named, key=lambda own: own.score, default=None)

    def _choice(self) -> PlannedReading:
        """Which of some named things: the older of two, those of which something is true."""
        choices, phrase = self.question.choices, self.question.phrase
        parts = [best(self.phrases.denotations(part), 1) for part in choices.parts] if choices is not None else []
        named = [own[0] for own in parts if own and own[0].is_named]
        if len(named) < max(2, len(parts)):
            return unplanned()
        terms = tuple(t for one in named if isinstance(one.items, a.Items) for t in one.items.terms)
        found = [Denotation(a.Items(terms), 1.0, tuple(doubt for one in named for doubt in one.doubts))]
        if not phrase.restrictions and phrase.superlative:
            found = self.phrases.measuring.superlative(found[0], phrase.superlative)
        elif not phrase.restrictions:
            found = [found[0].leaving_out(self.positions(phrase.chunks))]
        for said in phrase.restrictions:
            found = best((new for one in found for new in self.phrases.restricting.restrict_choice(one, said)), 4)
        return self._chosen(found)


def _text_at_end(phrase: NounPhrase) -> Chunk | None:
    """Return the text of the graph that a phrase ends with, such as a code, and no name of a blank node."""
    if (head := phrase.head) is None or not head.entities:
        return None
    is_text = isinstance(head.entities[0].term, Literal) and head.entities[0].calls is None
    return replace(head, number=None, last=None) if is_text else None


def _of_any_class(items: a.ItemSet, kinds: Sequence[IRI]) -> a.ItemSet:
    """The same items, not only those of some classes, where something else restricts them: a prize is a club's, too."""
    if not isinstance(items, a.Both):
        return items
    others = (one for one in items.sets if not (isinstance(one, a.Instances) and one.of in kinds))
    kept = tuple(_of_any_class(one, kinds) for one in others)
    return items if not kept else kept[0] if len(kept) == 1 else a.Both(kept)


def _exists(items: a.ItemSet) -> a.Plan:
    """Whether there is any; of one thing that has so many of something, how many there are is compared."""
    match items:
        case a.Where(a.Items((_,)) as one, a.HowMany() as measure, comparison, Literal(value=number)):
            return a.Compares(value_of(one, measure), comparison, a.Constant(Decimal(number)))
    return a.Exists(items)


def _is_of_one_thing(items: a.ItemSet | None) -> bool:
    """Whether a set is a thing that is named, where it is of others, too."""
    sets = items.sets if isinstance(items, a.Both) else ()
    return any(isinstance(one, a.Items) or _is_of_one_thing(one) for one in sets)


def _are_alike(one: Denotation, other: Denotation) -> bool:
    """Whether words are taken for the same paths, or none but `has` and `is`: then whatever leads there makes a yes."""
    return one.how == other.how or {match.words for match in (*one.how, *other.how)} <= {"", "is"}
