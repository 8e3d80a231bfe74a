"""What is said of a noun phrase, on a graph: each verb, preposition, copula or possession restricts its set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgsparql.linking.words import countries, roots_of
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import Denotation, Rel, Role, back, best, ends, joined, met, of_classes, of_one_act
from kgsparql.plans.label_fit import SAME
from kgsparql.plans.named_words import NamedWords
from kgsparql.plans.predicating import Predicating
from kgsparql.plans.type_check import parts, parts_of
from kgsparql.rdf.terms import IRI, Literal, first_of
from kgsparql.rdf.vocabulary import TAXONOMY
from kgsparql.reading.clauses import (
    Alternatives,
    NounPhrase,
    Predication,
    Quantity,
    Restriction,
    Superlative,
    relations,
    with_argument_within,
)
from kgsparql.reading.gaps import Gap, known_elsewhere, left_out, quoted, rival, unsaid

_GIVEN, _BRANCHES, _KEPT = 5, 3, 4
_OBJECTS: dict[str, Role] = {"": "object", "by": "by", "of": "of", "than": "of"}  # roles behind prepositions


class Restricting(NamedWords):
    """Restricts sets by what is said of them."""

    def __init__(self, predicating: Predicating) -> None:
        super().__init__(predicating.connector, predicating.question)
        self.predicating, self.measuring, self.phrases = predicating, predicating.measuring, predicating.phrases

    def restrict(self, given: Denotation, said: Restriction) -> list[Denotation]:  # noqa: PLR0911 - one arm a form
        """Keep of a set what something is true of, in the likeliest readings."""
        if isinstance(said, Alternatives):
            return self._in_any(given, said.branches)
        if said.is_negated:
            return self._denied(given, replace(said, is_negated=False, is_only=False))
        if said.is_only:
            return [self._without_others(one) for one in self.restrict(given, replace(said, is_only=False))]
        if (joined := self._joined_arguments(given, said)) is not None:
            return joined
        if said.whose is not None:
            return self._whose(given, said, said.whose)
        if said.compared is not None:
            return self.predicating.compared(given, said, said.compared)
        if said.object is not None and said.object.same:
            return self._sharing(given, said.object, said.verb, said.preposition)
        if said.object is not None:
            said = self._as_placed(said, said.object)
        is_origin = said.preposition == "from" and said.subject is not None and bool(given.head and said.verb)
        if is_origin and self.lexicon.origin_verbs.issuperset(self.connector.at(said.verb)):  # they have these
            had = replace(said, verb=(), light="have", preposition="", object=said.subject, subject=None)
            return self.restrict(given, had)
        is_place = said.verb and self.lexicon.place_verbs.issuperset(self.connector.at(said.verb))
        if is_place and (given.classes or given.head or given.asked == "where"):
            said = replace(said, verb=(), light="be", is_passive=False, preposition=said.preposition or "in")
        if said.object is not None and not self.lexicon.share_verbs.isdisjoint(self.connector.at(said.verb[:1])):
            is_had = said.object.quantity is not None or said.preposition in self.lexicon.by_words
            if not (said.is_passive and is_had):
                return self._shared(given, said, said.object)
            said = replace(said, verb=(), light="have", preposition="", is_passive=False)  # shared by two: they have it
        found = self._or_of_role(given, said, self._by_argument(given, self.as_doers(said)))
        act = self.as_act(given, said) if all(one.doubts for one in found) else None
        return found if act is None else [*self._by_argument(given, act), *found]

    def _or_of_role(self, given: Denotation, said: Predication, found: list[Denotation]) -> list[Denotation]:
        such = None if any(one.is_near for one in found) else self.role_set(given, said)
        kept = [] if such is None else self._by_argument(such, said)
        return [one for one in kept if not one.doubts] or [*kept, *found]

    def _as_placed(self, said: Predication, thing: NounPhrase) -> Predication:
        """What is said to be French is from France; below something its kinds, where a taxonomy has any."""
        is_adjective = thing.head is not None and thing.head.text.lower() in countries()
        if is_adjective and said.light == "be" and not (said.verb or said.preposition):
            return replace(said, preposition="from")
        word, head = self.texts[thing.kinds[0]] if thing.kinds else "", thing.head
        terms = () if head is None else (*head.classes, *(name.term for name in head.entities))
        if word not in self.lexicon.under_words or self.predicating.steps_below(a.Items(terms), TAXONOMY):
            return said
        return replace(said, preposition=word, object=replace(thing, kinds=()))

    def _without_others(self, one: Denotation) -> Denotation:
        way = one.path if one.how else None
        start = first_of(own.start for own in parts_of(one.items, a.Ends) if own.path == way)
        if way is None or start is None:
            return one.doubted(left_out("only"))
        return replace(
            one, items=a.Minus(one.known, a.Has(one.known, back(way), a.Minus(ends(one.known, back(way)), start)))
        )

    def _by_argument(self, given: Denotation, said: Predication) -> list[Denotation]:
        more = said.more
        if said.object == NounPhrase() and said.subject is not None:  # nothing but fillers: `have together`
            said = replace(said, object=None)
        if said.object is None and said.subject is None and more:
            (preposition, phrase), *rest = more
            return self.restrict(given, replace(said, preposition=preposition, object=phrase, more=tuple(rest)))
        if said.object is not None and said.subject is not None:  # each must hold of the same answer
            found = self.restrict(given, replace(said, object=None, more=()))
            whose = Predication(verb=said.verb, light=said.light, object=said.object, more=more)
            others = self.restrict(replace(given, score=0.0, doubts=()), whose)
            return best(new for one in found[:_BRANCHES] for new in met(one, others[:_BRANCHES]))
        if (argument := said.object or said.subject) is None:
            return self._intransitive(given, said)
        is_named = any(chunk.entities for chunk in argument.chunks)
        words = (*said.verb, *self.positions(argument.chunks))
        is_stated = said.preposition and given.items is not None and words and not (is_named or _is_number(argument))
        if is_stated and (stated := self.predicating.stated(given, words)):
            return stated
        if (ordered := self._quantified(given, said, argument)) is not None:
            if _is_number(argument):
                return self._with_more(given, said, ordered)
            left = [position for _, phrase in more for position in sorted(phrase.positions)]
            return [one.leaving_out(left) for one in ordered]
        if (called := self._called(given, said, argument)) is not None:
            return called
        others = self.phrases.denotations(argument)[:_GIVEN]
        if said.light != "be" or said.preposition:  # each of them is looked at: in the same queries
            self.view.profiler.look_at([one.items for one in others if isinstance(one.items, a.Items)])
        with self.connector.together(others):
            found = [new for one in others for new in self.with_argument(given, said, one, argument)]
        is_of_all = argument.every is not None and said.preposition in {"", *self.lexicon.by_words}
        summed = self.lexicon.together_words | self.lexicon.summaries.keys()
        is_of_all = is_of_all and summed.isdisjoint(self.texts)  # how much all have together
        is_of_all = is_of_all and self.texts[argument.every or 0] not in self.lexicon.one_by_one
        if is_of_all and given.asked != "what":  # what prices all have: any of them
            found = [self._of_all(given, one) for one in found]
        if all(one.doubts for one in found):  # a class may be what something leads to itself: avoids meat
            kinds = [replace(one, items=a.Items((one.items.of,)), classes=frozenset()) for one in others
                     if isinstance(one.items, a.Instances)]  # fmt: skip
            held = [new for one in kinds for new in self.with_argument(given, said, one, argument)]
            found += [new for new in held if new.items is not None and self.view.members(new.items)]
            texts = self._as_texts(argument)
            found = [*(new for one in texts for new in self.with_argument(given, said, one, argument)), *found]
        return self._with_more(given, said, best(found)) if more else best(found)

    def _of_all(self, given: Denotation, one: Denotation) -> Denotation:
        """Keep what is so of everything that it is asked of: the films with *every* genre."""
        path = one.path if len(one.how) > len(given.how) else None
        starts = [part.start for part in parts_of(one.known, a.Ends) if part.path == path]
        if path is None or not starts:
            return one
        return replace(one, items=a.Where(one.known, a.HowMany(back(path), starts[0]), "=", a.Count(starts[0])))

    def _quantified(self, given: Denotation, said: Predication, argument: NounPhrase) -> list[Denotation] | None:
        """What has the most of something, or so many, or is of a time; ``None`` where nothing like it is said."""
        measuring = self.measuring
        if said.object is None and argument.quantity is None:
            return measuring.extreme(given, said, argument) if argument.most else None
        own, best_of, head = self.lexicon, argument.superlative, argument.head
        is_value = best_of is not None and head is not None and not (head.entities or head.classes)
        if is_value and (verb := self.connector.at(said.verb)):  # needs the longest time
            is_had = (own.taking_words | own.joining_verbs | own.measuring_verbs).issuperset(verb)
            such = measuring.extreme(given, replace(said, verb=(), light="have", preposition=""), argument)
            if is_had or (said.preposition and such and not such[0].doubts):  # is baked in the hottest oven
                return [one.leaving_out(() if is_had else said.verb) for one in such]
        if best_of is not None and said.light == "be" and not argument.chunks and argument.of is None:
            return measuring.superlative(given, best_of)  # which is the oldest
        is_verb_first = best_of is not None and bool(said.verb) and not argument.chunks  # founded first
        if argument.most or (best_of and said.light == "have") or (is_verb_first and argument.of is None):
            return measuring.extreme(given, said, argument)
        match argument.restrictions:
            case (Predication(verb=()) as when,) if not said.verb and when.preposition:
                bare, quantity = replace(argument, restrictions=()), self.quantity_of(when)
                if quantity is not None and (found := measuring.dated(given, bare, quantity)):
                    return found
        if (quoted := argument.quantity) and quoted.place:
            return self.predicating.with_text(given, argument, quoted.value.text, quoted.place)
        if argument.quantity is not None:
            return measuring.with_quantity(given, said, argument, argument.quantity)
        return self._at_time(given, said, said.preposition, argument) if _is_number(argument) else None

    def _at_time(self, given: Denotation, said: Predication, preposition: str, phrase: NounPhrase) -> list[Denotation]:
        return self.predicating.at_value(given, said.verb, self._comparison_of(preposition, phrase), phrase.chunks[-1])

    def _comparison_of(self, preposition: str, phrase: NounPhrase) -> a.Comparison | None:
        """How a preposition compares with the value behind it."""
        is_in = not preposition or (preposition in self.lexicon.between_words and phrase.chunks[-1].last is not None)
        return "=" if is_in else self.lexicon.value_prepositions.get(preposition)

    def quantity_of(self, said: Predication) -> Quantity | None:
        """What something is compared with: `is above 4`, `was before 1930`, `is 4.9`."""
        other, compared = said.object, said.compared
        if other is not None and other.quantity is not None and not other.chunks:
            return other.quantity
        if compared is not None or other is None or not _is_number(other):
            return compared.quantity if compared is not None else None
        comparison = self._comparison_of(said.preposition, other)
        return comparison and Quantity(comparison, other.chunks[-1])

    def _called(self, given: Denotation, said: Predication, phrase: NounPhrase) -> list[Denotation] | None:
        """Films called Jaws: those with a text in their names."""
        chunks, verb = phrase.chunks, self.connector.at(said.verb)
        if not (given.items and chunks and verb and self.lexicon.naming_words.issuperset(verb)) or said.preposition:
            return None
        text = " ".join(self.chunked.raw[position] for position in range(chunks[0].start, chunks[-1].end))
        return [given.kept(a.Named(given.items, text), 1.0)]

    def with_argument(
        self, given: Denotation, said: Predication, argument: Denotation, phrase: NounPhrase
    ) -> list[Denotation]:
        """Keep of a set what something is true of, where the other argument is one that a phrase may denote."""
        subject, verb = said.subject, self.positions_of_verb(said)
        if argument.is_free and not argument.head:
            return []
        if said.light == "be" and not said.preposition and subject is None:
            return self.predicating.is_a(given, argument, phrase)
        if said.light == "have" and subject is None and not verb:
            return self.predicating.has(given, argument, phrase)
        start = self.word_set(argument) if argument.is_free else self.predicating.settled(argument)
        if start is None:
            return []
        is_pending = given.is_free and not given.asked and bool(verb)  # a child born in Paris
        head = () if is_pending else given.head
        wanted = given if given.classes or (subject is None and not given.is_free) else None
        role = _OBJECTS.get(said.preposition, "prep")
        if role == "prep" and said.is_passive and self.lexicon.using & {*self.connector.at(said.verb)}:
            role = "by"  # used in a recipe: it uses them
        role = self._role_of_subject(given, said, verb) if subject is not None else role
        if role == "prep" and head and not verb:
            role = "of"  # `the languages in films`: the noun names the predicate
        asks = ("where", "when", "who", "why", "how") if subject is not None else ("where", "when", "who")
        hints = self.question.measures or self.question.closing
        rel = Rel(
            (*verb, *head), role, said.preposition, wanted,
            asked=given.asked if given.asked in asks and (subject is not None or given.is_free) else "",
            hints=hints if given.is_free and subject is not None else (), verb=verb, head=head,
        )  # fmt: skip
        found = met(given.headless(), self.connector.connect(start, rel))
        is_plain = bool(verb and given.classes) and not given.head and (phrase.every is None or phrase.is_each)
        if is_plain and all(one.doubts for one in found):
            found = [*met(given.headless(), self.joined_by(given, start, verb)), *found]
            texts, moments = {*self.connector.at(verb)}, roots_of(self.lexicon.moments)
            if texts <= self.lexicon.living_verbs | self.lexicon.occurring:  # who live in a town, what is held on a day
                is_held, bare = texts <= self.lexicon.occurring, replace(said, verb=(), light="be")
                for one in [own for own in self.with_argument(given, bare, argument, phrase) if own.how]:
                    is_moment = not moments.isdisjoint(self.fit.label_roots(one.last))
                    found = [one, *found] if (is_moment if is_held else self.fit.is_location(one.last)) else found
        found = [replace(one, head=given.head) for one in found] if is_pending else found
        found = [self._but_themselves(one, phrase) for one in found]
        if said.light == "do" and not verb:  # the verb was not read
            return [one.doubted(unsaid(self.fit.text(one.last))) for one in found]
        return found

    def _but_themselves(self, one: Denotation, phrase: NounPhrase) -> Denotation:
        """Leave out with whom somebody did what both did: who wrote a book *with Ann*."""
        if len(one.how) < 2 or one.how[-2].path != back(one.path):
            return one
        beside = [own for own in phrase.restrictions if isinstance(own, Predication) and own.object is not None]
        if self.lexicon.with_words.isdisjoint(own.preposition for own in beside):
            return one
        starts = [own.start for own in parts_of(one.known, a.Ends) if own.path == one.how[-2].path]
        return replace(one, items=a.Minus(one.known, starts[0])) if starts else one

    def _role_of_subject(self, given: Denotation, said: Predication, verb: Sequence[int]) -> Role:
        """The role of a subject whose verb has what is asked for as its object: `which films did Ann direct`."""
        if (how := said.preposition) == "value":
            return "value"
        if said.is_passive:
            is_by = how == "by" or " ".join((*self.connector.at(verb), how)) in self.lexicon.done_by
            return "object" if is_by else "subject"
        if verb:
            return "subject"
        if said.preposition and given.asked != "where":
            return "of" if given.head else "where"
        return "where" if given.asked == "where" else "of" if given.head else "any"

    def _with_more(self, given: Denotation, said: Predication, found: list[Denotation]) -> list[Denotation]:
        """Restrict further by the other arguments of a verb: each must hold of the same answer."""
        for preposition, phrase in said.more:
            if _is_number(phrase):
                self.predicating.look_at_times(found[:5])
                found = best(new for one in found[:5] for new in self._at_time(one, said, preposition, phrase))
                found = [replace(one, items=of_one_act(one.known)) for one in found]
                continue
            further = Predication(verb=said.verb, preposition=preposition, object=phrase)
            others = self.restrict(replace(given, score=0.0, doubts=()), further)
            if found and others:
                found = best(new for one in found[:_BRANCHES] for new in met(one, others))
            else:
                found = others or [one.leaving_out(self.said_in(Predication(object=phrase))) for one in found]
        return found

    def restrict_choice(self, given: Denotation, said: Restriction) -> list[Denotation]:
        """Keep of some things to choose from the one that has more of something, or what something is true of."""
        if isinstance(said, Predication):
            by = said.compared
            if by is not None and by.quantity is None and said.object is None:
                most = Superlative(by.position, by.comparison in {">", ">="}, by.measures)
                return self.measuring.extreme(given, said, NounPhrase(superlative=most))  # "died": by that date
            phrase = said.object
            if phrase is not None and (phrase.most or phrase.superlative):
                return self.measuring.extreme(given, said, phrase)
        return self.restrict(given, said)

    # --- and, or, not

    def all_of(self, given: Denotation, said: Sequence[Restriction], most: int = _KEPT) -> list[Denotation]:
        """Restrict a set by one after the other."""
        found = [given]
        for one in said:
            with self.connector.together(found):
                found = best((new for own in found for new in self.restrict(own, one)), most)
        return found

    def _in_any(self, given: Denotation, branches: Sequence[Sequence[Restriction]]) -> list[Denotation]:
        """What one of some branches is true of."""
        parts = [one for branch in branches for one in self.all_of(given, branch, _BRANCHES)[:1] if not one.is_free]
        if len(parts) < len(branches):
            return []
        either = joined(parts, a.Either(tuple(part.known for part in parts)))
        return [replace(either, classes=given.classes, asked=given.asked)]

    def _denied(self, given: Denotation, said: Predication) -> list[Denotation]:
        """What something is not true of; songs that Ann did not write with Bob are hers, and not his."""
        beside = [one for one in said.more if one[0] in self.lexicon.with_words]
        if said.subject is not None and beside:
            theirs = [Predication(said.verb, how, object=phrase, is_negated=True) for how, phrase in beside]
            return self.all_of(
                given, [replace(said, more=tuple(one for one in said.more if one not in beside)), *theirs]
            )
        found = []
        if said.light == "have" and said.object:  # who has no children
            given = self.such_as_have(given, self.positions(said.object.chunks))
        given = self.role_set(given, said) or given  # which actors: whoever is one of some film
        for one in self.restrict(given, said)[:_KEPT]:
            base = given
            if not self.lexicon.knowing.isdisjoint(self.texts):
                one = one.of_known()  # noqa: PLW2901
            if (denied := self.predicating.denied(one)) is not None:
                found.append(denied)
                continue
            if given.items is None and one.items is not None:
                kind = self._broadest_class(one.items)
                whole = self.word_set(given) if given.head else None
                if kind is None and whole is None:
                    continue
                kinds = frozenset[IRI]() if kind is None else frozenset({kind})
                base = replace(given, items=of_classes(kinds) if whole is None else whole.items, classes=kinds, head=())
            if base.items is not None and one.items is not None:
                left: a.ItemSet = a.Minus(base.items, one.items)
                if base.is_named and one.how and one.items == a.Has(base.items, one.path):
                    left = a.Lacks(base.items, one.path)
                without = replace(one, items=left, classes=base.classes, asked=given.asked)
                found.append(without.doubted(*self._named_more(given, one), *self.of_no_such_thing(one.items)))
        return found

    def _named_more(self, given: Denotation, one: Denotation) -> Iterator[Gap]:
        """Doubt that something is missing which may be said in another way: no port, but a home port."""
        if not (isinstance(one.items, a.Has) and one.items.to is None and one.items.path.is_direct):
            return
        (own,) = one.items.path.steps
        said = self.fit.label_roots(own.predicate)
        for use in self.view.uses(given.known):
            if use.step != own and said < self.fit.label_roots(use.predicate):
                yield rival(*(quoted(self.fit.text(step.predicate)) for step in (use.step, own)))

    def of_no_such_thing(self, items: a.Plan) -> Iterator[Gap]:
        """Doubt that something is not so which is said of nothing like what it is asked of: studied *at* a country."""
        for part in parts(items):
            if not isinstance(part, a.Ends | a.Has) or part.path.last in TAXONOMY:
                continue
            kinds = self.view.classes_in(part.start if isinstance(part, a.Ends) else part.items)
            for step in part.path.steps:
                known = self.view.profiler.at_ends(step.predicate)
                near, far = (known.subjects, known.objects)[:: 1 if step.is_forward else -1]
                if kinds and near and kinds.isdisjoint(near):
                    yield known_elsewhere(self.fit.text(step.predicate))
                    return
                kinds = far

    def _broadest_class(self, items: a.ItemSet) -> IRI | None:
        kinds = [kind for kind in self.view.classes_in(items) if self.view.has_instances(kind)]
        sizes = {kind: len(self.view.members(a.Instances(kind))) for kind in kinds}
        return max(kinds, key=lambda kind: (sizes[kind], str(kind)), default=None)

    def _joined_arguments(self, given: Denotation, said: Predication) -> list[Denotation] | None:
        """Read `worked at A and B` as two relations, `A or B` as two branches; ``None`` where nothing is joined."""
        other = said.object
        for one in other.restrictions if other is not None else ():  # had concerts in both 2014 and 2015: one in each
            if isinstance(one, Predication) and one.object and one.object.joined_by == "and":
                each = [with_argument_within(said, one, part) for part in one.object.parts if _is_number(part)]
                if len(each) == len(one.object.parts):
                    return self.all_of(given, each)
        if other is not None and len(apart := self._told_apart(other)) > 1:  # had concerts before 2005 and after 2010
            return self.all_of(given, [replace(said, object=one) for one in apart])
        phrase = other if other is not None and other.parts else said.subject
        numbers = [part.quantity for part in phrase.parts if part.quantity is not None] if phrase is not None else []
        if phrase is None or not phrase.parts or not all(one.is_of_value for one in numbers):
            return None
        if phrase is other:
            each = [replace(said, object=part) for part in _like_the_first(phrase.parts)]
        else:
            each = [replace(said, subject=part) for part in phrase.parts]
        if phrase.joined_by == "or":  # films that A or B directed may be all of both together
            return self._in_any(given, [[one] for one in each]) if phrase is other else None
        is_any = given.is_free and not given.head and said.light == "have" and not said.verb and phrase is not other
        return (self.predicating.in_common(given, phrase.parts) if is_any else None) or self.all_of(given, each)

    def _told_apart(self, phrase: NounPhrase) -> list[NounPhrase]:
        """Tell apart what cannot be of one thing: concerts before 2005 and after 2010 are two."""
        times = [one for one in relations(phrase.restrictions) if one.object is not None and _is_number(one.object)]
        bounds = [
            (one.object.chunks[0].number, self._comparison_of(one.preposition, one.object))
            for one in times
            if one.object
        ]
        signs = {sign for _, sign in bounds}
        match sorted((number, sign) for number, sign in bounds if number is not None and sign is not None):
            case [(first, "=" | "<" | "<="), (last, "=" | ">" | ">=")] if first != last or "=" not in signs:
                is_apart = len({tuple(self.connector.at(one.verb)) for one in times} - {()}) < 2
            case _:
                return []
        others = [tuple(own for own in phrase.restrictions if own is not one) for one in times if is_apart]
        return [replace(phrase, restrictions=rest) for rest in others]

    def _whose(self, given: Denotation, said: Predication, noun: NounPhrase) -> list[Denotation]:
        """Those whose advisor was born in Bonn; whose grain is not rye have another one."""
        if self.lexicon.records.issuperset(self.connector.at(self.positions(noun.chunks))):
            return self.all_of(given, said.said)  # its record was updated last
        match said.said:
            case (Predication(is_negated=True, light="be", compared=None) as own,) if given.items is not None:
                such = self._whose(given, replace(said, said=(replace(own, is_negated=False),)), noun)
                others = [(one, a.Has(given.items, back(one.path), None)) for one in such]
                return [replace(one, items=a.Minus(have, one.known)) for one, have in others]
        owned = self.all_of(Denotation(None), said.said)
        for one in relations(said.said):
            if one.light == "be" and one.object is not None and len(said.said) == 1:
                owned += self._as_texts(one.object)
        rel = Rel(self.positions(noun.chunks), "value", wanted=given, hops=1)
        found = best(new for own in owned for new in met(given, self.connector.connect(own, rel)))
        return [one.leaving_out(given.head) for one in found] if given.is_free else found

    def _as_texts(self, phrase: NounPhrase) -> list[Denotation]:
        """The names of things as texts: in tables, that of a country may be a text beside a person, too."""
        names = phrase.head.entities if phrase.head is not None and self.view.profiler.graph.naming.measured else ()
        return [Denotation(a.Items((Literal(name.label),))) for name in names if isinstance(name.term, IRI)]

    def _intransitive(self, given: Denotation, said: Predication) -> list[Denotation]:
        if not (verb := self.positions_of_verb(said)):
            is_cut_off = said.light in {"have", "do"} or (said.light == "be" and not said.verb)
            used = self.lexicon.using.intersection(self.connector.at(said.verb))  # by what, is not said
            return [given.doubted(*map(left_out, [said.light] if is_cut_off else used))]
        if given.is_free:
            return [replace(given, head=(*given.head, *verb))]
        found = self.predicating.has(given, Denotation(None, head=verb), NounPhrase())
        texts, ways = self.connector.at(verb), [one.last for one in found]
        if any(self.fit.whole(texts, own) == SAME for own in ways):  # completed: it has a `completion date`
            found = [one.doubted(unsaid(self.fit.text(one.last))) for one in found]
        return found or [given.leaving_out(verb)]

    def _sharing(
        self, given: Denotation, phrase: NounPhrase, verb: Sequence[int], preposition: str
    ) -> list[Denotation]:
        """Those with the same genre as Jaws: along a path from it, and back to others."""
        named = [p for p in verb if self.texts[p] not in self.lexicon.share_verbs]
        words, found = (*named, *self.positions(phrase.chunks)), list[Denotation]()
        for one in self.phrases.denotations(phrase.of)[:_BRANCHES] if phrase.of is not None else []:
            rel = Rel(words, "subject" if verb else "of", preposition, keep=_KEPT)
            middles = self.connector.connect(one, rel)
            unnamed = [] if middles else self.connector.connect(one, replace(rel, words=()))
            for middle in middles or [way.leaving_out(words) for way in unnamed]:
                way = middle.path
                others: a.ItemSet = ends(middle.known, back(way))
                if not way.is_direct:  # a step back never leads to the start
                    others = a.Minus(a.Ends(middle.known, back(way)), one.known)
                found += met(given, [replace(middle, items=others)])
        return best(found)

    def _shared(self, given: Denotation, said: Predication, phrase: NounPhrase) -> list[Denotation]:
        """Those that share actors with Jaws."""
        said_of = [one for one in phrase.restrictions if isinstance(one, Predication)]
        of = [one.object for one in said_of if one.preposition in {"with", "of"} and one.object is not None]
        other = first_of([*of, *(one for _, one in said.more)])
        if other is None:
            return [given.leaving_out(said.verb)]
        return self._sharing(given, NounPhrase(chunks=phrase.chunks, of=other, same=said.verb[:1]), (), "")


def _like_the_first(parts: Sequence[NounPhrase]) -> list[NounPhrase]:
    """Say of each part what is said of the first: the `place of death` of `place of death Rome or Paris`."""
    first, *others = parts
    nouns = first.chunks[:-1]
    if not nouns or not first.chunks[-1].entities or first.of is not None:
        return list(parts)
    bare = (p if len(p.chunks) > 1 or p.of else replace(p, chunks=(*nouns, *p.chunks)) for p in others)
    return [first, *bare]


def _is_number(phrase: NounPhrase) -> bool:
    return len(phrase.chunks) == 1 and phrase.chunks[0].is_value and phrase.of is None
