"""Noun phrases on a graph: the sets that one may denote, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgsparql.linking.words import root, roots_of, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.connecting import Connector
from kgsparql.plans.denotation import (
    Denotation,
    Rel,
    back,
    best,
    ends,
    joined,
    met,
    named_set,
    of_classes,
    union,
)  # fmt: skip
from kgsparql.plans.measuring import MeasureFit, Measuring
from kgsparql.plans.named_words import NamedWords
from kgsparql.plans.predicating import Predicating
from kgsparql.plans.restricting import Restricting
from kgsparql.plans.weights import weights
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal, first_of
from kgsparql.rdf.vocabulary import BROADER, INSTANCE_OF, RDF_TYPE, SUBCLASS_OF, TAXONOMY
from kgsparql.reading.clauses import Chunk, Name, NounPhrase, Predication, Quantity, positions_in, relations
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import left_out, left_out_at, may_mean

MEANINGS, _CLASSES, _GIVEN = 5, 3, 4  # of a name; of a class name; sets that a path is looked for from
_PHRASES = 7
_ASKED = ("who", "where", "when")
_W = weights("phrase")


class Phrases(NamedWords):
    """Finds what the noun phrases of one question denote."""

    def __init__(self, connector: Connector, asked: Form) -> None:
        super().__init__(connector, asked)
        self.measuring = Measuring(connector, asked, self)
        self.predicating = Predicating(self.measuring)
        self.restricting = Restricting(self.predicating)

    def with_argument(
        self, given: Denotation, said: Predication, argument: Denotation, phrase: NounPhrase
    ) -> list[Denotation]:
        """Keep of a set what something is true of, where the other argument is one that a phrase may denote."""
        return self.restricting.with_argument(given, said, argument, phrase)

    def denotations(self, phrase: NounPhrase) -> list[Denotation]:
        """The sets that a phrase may denote with all that is said of it, the likeliest first."""
        found = self._unrestricted(phrase)
        is_sample = self.question.is_listing and phrase is self.question.phrase  # name three laureates
        is_sample = is_sample and phrase.quantity is not None and not phrase.quantity.is_of_value
        unused = [*(phrase.quantity.positions if phrase.quantity and not is_sample else ())]
        unused += [one[0] for one in (phrase.most, phrase.summary) if one]
        if phrase.of is not None and phrase.of.is_empty:  # no noun that something is said of
            unused += sorted(positions_in(phrase.of))
        found = [one.doubted(left_out("not")) for one in found] if phrase.is_negated else found
        found = [one.leaving_out(unused) for one in found] if unused else found
        free = [one for one in found[:1] if one.is_free]
        are_such = any(one.light == "be" for one in relations(phrase.restrictions))  # which kinds of plant are herbs
        is_first = bool(phrase.kinds) and not (phrase.restrictions and (are_such or not self.view.is_ontology))
        if is_first:
            found = best(new for one in found for new in self._kinds(one, phrase))
        for restriction in phrase.restrictions:
            said = restriction.object if isinstance(restriction, Predication) else None
            if isinstance(said, NounPhrase) and said.kinds:  # they are such kinds, and no relation leads to them
                found = [one for one in found if one.items is not None] or found
            with self.connector.together(found[:5]):
                kept = best(new for one in found[:5] for new in self.restricting.restrict(one, restriction))
            if free and not any(not one.doubts for one in kept) and isinstance(restriction, Predication):
                kept = [*self._also_had(found, free[0], restriction), *kept]
            found = kept or [one.leaving_out(self.said_in(restriction)) for one in found if not one.is_free]
        if phrase.kinds and phrase.restrictions and not is_first and self._is_counted(phrase):
            found = [one.leaving_out(phrase.kinds) for one in found]
        if phrase.superlative:
            self.measuring.look_at_measured(found[:4] if phrase.superlative.measures else [])
            found = best(new for one in found[:4] for new in self.measuring.superlative(one, phrase.superlative))
        return found

    def _also_had(self, found: list[Denotation], free: Denotation, said: Predication) -> list[Denotation]:
        """Keep of values what is true of the same noun alone: towns that have a school, but no bank."""
        others = self.restricting.restrict(free, replace(said, is_negated=False))
        return [
            one.kept(
                a.Minus(one.known, other.known) if said.is_negated else a.Both((one.known, other.known)), other.score
            )
            for one in found[:1]
            for other in others[:1]
            if one.items is not None and other.items is not None and not (one.doubts or other.doubts)
        ]

    def settled(self, phrase: NounPhrase) -> list[Denotation]:
        """The same of those that something restricts, with the words before the noun as what is said of it."""
        return self.predicating.settled_of(self.denotations(phrase))

    # --- kinds

    def _kinds(self, given: Denotation, phrase: NounPhrase) -> list[Denotation]:
        """The kinds of a class or a concept: what is next below it."""
        items, rel = given.items, Rel(phrase.kinds, "of", "of", hops=1)
        if items is None:
            return [given]
        if isinstance(items, a.Instances):
            if below := self.predicating.steps_below(a.Items((items.of,)), [SUBCLASS_OF]):
                return [replace(given, items=below[SUBCLASS_OF], classes=frozenset())]
            values = [] if given.head else self.connector.connect(given, rel)
            values = [one for one in values if one.last != RDF_TYPE and not one.doubts]
            return values or [given if given.head else given.leaving_out(phrase.kinds)]
        own = self.predicating
        below = own.steps_below(items, TAXONOMY) or own.nothing_below(items)
        found = [given.kept(one, _W.below) for one in below.values()]
        is_class_meant = self.view.is_ontology and phrase.head is not None and bool(phrase.head.classes)
        if not (found or is_class_meant):  # `is a kind of`; what it is an instance of is no kind of it
            found = [one for one in self.connector.connect(given, rel) if one.last != RDF_TYPE]
        return found or [given.leaving_out(phrase.kinds)]

    # --- the phrase itself

    def _unrestricted(self, phrase: NounPhrase) -> list[Denotation]:  # noqa: PLR0912 - one a form
        chunks, of = phrase.chunks, phrase.of
        if phrase.parts:
            return self._joined(phrase)
        if valued := self._of_value(phrase):
            return valued
        if of is not None and not phrase.same and not of.is_empty:
            return self._of(phrase, of)
        if len(chunks) > 1 and (chunks[-1].text.lower() in self.lexicon.empty_nouns or self._are_one(*chunks[-2:])):
            return self._unrestricted(replace(phrase, chunks=chunks[:-1]))  # `laureate items`, `hot spiciness`
        match chunks:
            case (*before, Chunk(classes=(_, *_)) as noun, Chunk(entities=(Name(Literal()), *_)) as text):
                phrase = replace(phrase, chunks=(*before, text, noun))  # editions on loan
        head = phrase.head
        if head is None:
            return [Denotation(None, asked=phrase.asked)]
        if head.number is not None and not head.entities:
            return [Denotation(a.Items((Literal(str(head.number)),)))]
        positions = self.positions(chunks)
        if phrase.asked and positions and self.lexicon.place_nouns.issuperset(self.connector.at(positions)):
            return [Denotation(None, asked="where")]  # `which places`: where
        is_counted = self._is_counted(phrase)
        is_asked = phrase.asked in {"what", "which", "how"} or is_counted
        is_small = is_asked and self.chunked.raw[head.start][:1].islower()
        options = list[Denotation]()
        is_meant = self.question.is_definition and phrase is self.question.phrase
        is_meant = is_meant or bool(phrase.kinds and not phrase.restrictions)  # which kinds of sand are there
        such = [*self._such_as_text(phrase, head)]
        if head.entities and not such:
            is_name = is_meant or not (is_small and (phrase.restrictions or phrase.asked))
            is_many = is_counted or (phrase is self.question.phrase and not (phrase.asked or head.is_strong))
            is_many |= not is_name or (phrase.superlative is not None and not is_meant)
            is_whole = len(chunks) == 1  # how many mines dig coal
            members = self._instances_of_item(head) if is_many and is_whole and not phrase.kinds else []
            options += members or (self._named(phrase, head) if is_name else [])
        elif phrase.asked and len(chunks) == 1 and not (head.classes or phrase.kinds):  # which metals, in a thesaurus
            named = [one for one in self.chunked.chunks if one.span == head.span]
            options += [kind for one in named for kind in self._instances_of_item(one)]
        options += such
        for kind in head.classes[:_CLASSES]:
            options += self._of_class(phrase, head, kind)
        if not head.classes:
            options += self._of_modifier(phrase, head)
        if is_small or not head.is_name:
            options += self._words(phrase, head)
        return best(options, _PHRASES)

    def _joined(self, phrase: NounPhrase) -> list[Denotation]:
        """All of some phrases together, each in its likeliest meaning."""
        found = [best(self.settled(part), 1) for part in phrase.parts]
        if not all(found):
            return []
        parts = [own[0] for own in found]
        sets = tuple(part.items for part in parts if part.items is not None)
        if len(sets) < len(parts):
            return []
        is_kept = phrase.is_both and not all(isinstance(one, a.Items) for one in sets)
        classes = frozenset[IRI]().union(*(part.classes for part in parts))
        return [replace(joined(parts, a.Both(sets) if is_kept else union(sets)), classes=classes)]

    def _of_value(self, phrase: NounPhrase) -> list[Denotation]:
        """The operas of 1905; by the number that is their key, where some have it, order 1007."""
        of, (*before, last) = phrase.of, phrase.chunks or (None,)
        value = last if of is None and before else of.head if of is not None else None
        if value is None or not value.is_value or value.entities:
            return []
        bare = self._unrestricted(replace(phrase, of=None, chunks=phrase.chunks if of is not None else tuple(before)))
        keys, found = {*map(root, self.lexicon.key_words)}, list[Denotation]()
        for one in bare:
            for use in self.view.uses(one.items) if one.items is not None and one.classes else ():
                own = keys | self.fit.roots_of(one.classes)
                if use.kind == "number" and use.step.is_forward and self.fit.label_roots(use.predicate) <= own:
                    option = MeasureFit(_W.named, a.Value(use.path, use.kind))
                    found.append(self.measuring.keep(one, option, Quantity("=", value)))
        found = [one for one in found if self.view.has_items(one.known)]
        at_time = bare if of is not None else ()
        return best(found or (new for one in at_time for new in self.predicating.at_value(one, (), "=", value)))

    def _of(self, phrase: NounPhrase, owner: NounPhrase) -> list[Denotation]:
        """What belongs to something: Ann's doctoral advisor, the place of birth of Ann."""
        positions = self.positions(phrase.chunks)
        if positions and self.lexicon.identity_nouns.issuperset(self.connector.at(positions)):
            return self._names_of(positions, self.denotations(owner))
        if owner.is_both and owner.parts:  # members of both A and B
            shared = self._of(phrase, owner.parts[0])
            for part in owner.parts[1:]:
                shared = [new for one in shared for new in met(one, self._of(phrase, part)[:2])]
            return best(shared)
        if owner.most and owner.most[1]:
            return self._of_most(phrase, replace(owner, most=None))
        if phrase is not self.question.phrase and (such := self._value_called(positions, owner)):
            return such
        chunks, whose = self.owned_noun(phrase, owner)
        positions, is_merged, owner = self.positions(chunks), whose is not owner, whose
        found = list[Denotation]()
        for given in self.denotations(owner)[:_GIVEN]:
            start = self.word_set(given) if given.is_free else self.predicating.settled(given)
            if start is not None:
                start = replace(start, score=start.score + _W.merged) if is_merged else start
                found += self._owned(phrase, chunks, positions, start, is_merged=is_merged)
        for name in (chunk for chunk in chunks[:-1] if chunk.is_name):
            said = Predication(light="be", object=NounPhrase(chunks=(name,)))
            found = [new for one in found for new in self.restricting.restrict(one, said)]
        return best(found)

    def _value_called(self, positions: tuple[int, ...], owner: NounPhrase) -> list[Denotation]:
        """A value with the noun before it by which it is one: the state of Ohio, which people have as their state."""
        if owner.parts:
            parts = [self._value_called(positions, part)[:1] for part in owner.parts]
            items = [one.items for found in parts for one in found if one.items is not None]
            return [replace(parts[0][0], items=union(items))] if all(parts) and len(items) == len(parts) else []
        terms = [name.term for name in owner.head.entities] if owner.head is not None and not owner.restrictions else []
        texts = [one for one in terms if isinstance(one, Literal)]
        said = {root(self.texts[p]) for p in positions}
        uses = [(one, use) for one in texts for use in self.view.uses(a.Items((one,)))]
        found = [one for one, use in uses if said and said <= self.fit.label_roots(use.predicate)]
        return [Denotation(a.Items((one,)), _W.named) for one in found[:1]]

    def _of_most(self, phrase: NounPhrase, owner: NounPhrase) -> list[Denotation]:
        """The author of the most books: where the most of them lead."""
        sets = [(one, one.known) for one in self._of(phrase, owner)]
        return [
            one.kept(a.Top(items, a.HowMany(back(items.path), items.start)))
            for one, items in sets
            if isinstance(items, a.Ends) and items.path.is_direct
        ]

    def _names_of(self, positions: tuple[int, ...], owners: list[Denotation]) -> list[Denotation]:
        """What predicates called `id` or `name` say of some things; else the things, which are shown by their names."""
        named = self.view.predicates_called(self.connector.at(positions))
        rel = Rel(positions, "of", "of", hops=1)
        settled = self.predicating.settled_of(owners[:_GIVEN])
        found = [new for one in settled for new in self.led_from(one, rel)]
        found = [one for one in found if one.path.first_step.predicate in named]
        have = {use.step for one in settled for use in self.view.uses(one.known)}
        real = [one for one in found if one.path.first_step in have or self.view.has_items(one.known)]
        said, full = roots_of(self.connector.at(positions)), roots_of(self.lexicon.name_adjectives)
        kinds = self.fit.roots_of(frozenset().union(*(one.classes for one in owners)))
        more = [(one, self.fit.label_roots(one.path.first_step.predicate) - kinds) for one in real]
        own = [one for one, roots in more if roots == said] or [one for one, roots in more if roots <= said | full]
        own = [replace(one, doubts=tuple(doubt for doubt in one.doubts if doubt.code != "reading")) for one in own]
        is_id = not self.lexicon.id_words.isdisjoint(self.connector.at(positions))
        if not real and (is_id or not all(self.have_names(one.known) for one in settled)):
            return found or owners
        return own or [one for one in real if not one.doubts] or owners

    def owned_noun(self, phrase: NounPhrase, owner: NounPhrase) -> tuple[tuple[Chunk, ...], NounPhrase]:
        """The noun of what belongs to somebody, and to whom: the `place of birth`, one predicate, of `Ann`."""
        is_bare = bool(owner.chunks) and not (owner.restrictions or any(chunk.is_name for chunk in owner.chunks))
        if owner.of is not None and phrase.of_form == owner.of_form == "of" and is_bare:
            both = (*phrase.chunks, *owner.chunks)
            if self.are_one_label(self.positions(both)):  # and not the place of her birth
                return both, owner.of
        return phrase.chunks, owner

    def _owned(
        self,
        phrase: NounPhrase,
        chunks: tuple[Chunk, ...],
        positions: tuple[int, ...],
        start: Denotation,
        *,
        is_merged: bool,
    ) -> Iterator[Denotation]:
        names = [chunk for chunk in chunks[:-1] if chunk.is_name]
        words = tuple(p for p in positions if not any(p in name.span for name in names))
        head = chunks[-1] if chunks else None
        if head is not None and head.classes and not is_merged:
            for kind in self._classes_of_owned(head):
                wanted = Denotation(a.Instances(kind), classes=frozenset({kind}))
                yield from self.connector.connect(start, Rel(words, "of", "of", wanted))
                rest = tuple(p for p in words if p not in head.span)
                more = _W.one_label if self.are_one_label(words) else _W.class_alone
                for one in self.connector.connect(start, Rel(rest, "any", "of", wanted)):
                    yield replace(one, score=one.score + more)
        if words:
            asked = phrase.asked if phrase.asked in _ASKED else ""
            yield from self.led_from(start, Rel(words, "of", "of", asked=asked))
        elif not names:
            yield start

    def _classes_of_owned(self, head: Chunk) -> list[IRI]:
        """The classes that a noun of what belongs to something may name: *solo artist* is not the `artist` of it."""
        if (head.start, head.end) not in self.chunked.predicates:
            return [*head.classes[:2]]
        own = self.fit.roots(head.text.lower())
        return [kind for kind in head.classes[:2] if self.fit.roots_of([kind]) <= own]

    # --- heads

    def _named(self, phrase: NounPhrase, head: Chunk) -> Iterator[Denotation]:
        """The things that the head names, with the words before it that are not what they are."""
        before = phrase.chunks[:-1]
        is_exact = [name.label.casefold() == head.text.casefold() for name in head.entities]
        kinds = self.view.classes_of(name.term for name in head.entities[:MEANINGS]) if before else {}
        own = set(words_of(head.text))
        entities = head.entities if head.is_fuzzy else ()
        alike = [name for name in entities if own <= set(words_of(name.label))]  # `Bohr`, of several
        for place, name in enumerate(head.entities[:MEANINGS]):
            score = _W.named - (_W.fuzzy if head.is_fuzzy else _W.later) * place
            score -= _W.fuzzy if head.is_fuzzy else _W.other_label * (any(is_exact) and not is_exact[place])
            score -= _W.common_word * (not head.is_strong and bool(phrase.asked or before))
            score -= _W.asked_for * (not head.is_strong and bool(phrase.asked))
            left = [p for chunk in before for p in self._unsaid(chunk, name, kinds.get(name.term, frozenset()))]
            doubts = (
                *left_out_at(left),
                *([may_mean(head.text, *(one.label for one in alike))] if len(alike) > 1 else []),
            )
            yield Denotation(named_set(name), score, doubts)

    def _is_counted(self, phrase: NounPhrase) -> bool:
        return self.question.asks == "count" and phrase is self.question.phrase

    def _instances_of_item(self, head: Chunk) -> list[Denotation]:
        """Return what is said to be one of a thing that stands for a class: `films`, `metals` in a thesaurus."""
        terms = (name.term for name in head.entities[:MEANINGS])
        return [one for place, term in enumerate(terms) for one in self._said_to_be(term, place)]

    def _said_to_be(self, term: IRI | Literal, place: int) -> Iterator[Denotation]:
        """Yield what is said to be one of a thing, or a kind of it; doubted where there are kinds of these, too."""
        for use in self.view.uses(item := a.Items((term,))):
            if use.step in {Step(predicate, "inverse") for predicate in (INSTANCE_OF, BROADER, SUBCLASS_OF)}:
                step = use.step._replace(is_repeated=self.view.vocabulary.may_repeat(use.step, is_within=False))
                yield Denotation(ends(item, step.path), _W.named - _W.later * place)

    def _such_as_text(self, phrase: NounPhrase, head: Chunk) -> Iterator[Denotation]:
        """Yield what is told by a text or a thing in the plural: librarians are staff whose job is librarian."""
        is_asked = bool(phrase.asked) or (phrase is self.question.phrase and not self.question.is_definition)
        own = self.positions([head])
        is_otherwise = bool(head.classes or phrase.kinds or self.classes_named(own))
        is_kind = is_asked and not (is_otherwise or self.view.predicates_called(self.connector.at(own)))
        things = head.kinds_of_each if is_kind else ()
        for name in (*head.texts_of_each, *things):
            told = a.Items((name.term,))
            uses = [use for use in self.view.uses(told) if use.step.is_inverse and use.classes]
            for use in uses if name not in things or len(uses) == 1 else ():
                for kind in use.classes:
                    such = a.Both((a.Instances(kind), a.Ends(told, use.path)))
                    given = Denotation(such, _W.of_class + _W.wanted, classes=frozenset({kind}), asked=phrase.asked)
                    yield from self._with_words_before(given, phrase.chunks[:-1])

    def _unsaid(self, chunk: Chunk, name: Name, kinds: frozenset[IRI]) -> tuple[int, ...]:
        """The words of a chunk before a name that do not say what the thing is."""
        positions = tuple(chunk.span) if chunk.is_value else self.positions([chunk])  # the 1954 Nobel Prize
        if not kinds.isdisjoint(chunk.classes):
            return ()
        said = self.fit.roots_of(kinds) | {root(word) for word in name.label.casefold().split()}
        said |= self._roots_of_text(name.term)
        light = self.lexicon.fillers
        is_said = all(root(self.texts[p]) in said or self.texts[p] in light for p in positions)
        return () if is_said else positions

    def _roots_of_text(self, term: IRI | Literal) -> frozenset[str]:
        """The roots of words for what a text is, and of what: the city 'Aberdeen', the Inner Sea region."""
        uses = self.view.uses(a.Items((term,))) if isinstance(term, Literal) else ()
        of_each = (self.fit.label_roots(use.predicate) | self.fit.roots_of(use.classes) for use in uses)
        return frozenset[str]().union(*of_each)

    def _of_class(self, phrase: NounPhrase, head: Chunk, kind: IRI) -> list[Denotation]:
        """The instances of a class that the head names, restricted by the words before it."""
        view, before, is_main = self.view, phrase.chunks[:-1], phrase is self.question.phrase and not phrase.kinds
        if len(before) == 1 and self._are_one(head, before[0]):  # `the topic Phylogeny` is that
            before = ()
        is_many = is_main and (self._is_counted(phrase) or self.question.is_listing)
        is_many |= self.question.asks_existence and phrase.chunks == self.question.phrase.chunks
        is_bare = is_main and bool(phrase.asked) and not (phrase.restrictions or view.has_instances(kind))
        is_thing = self._is_a_thing(kind) and not (phrase.asked or (is_many and view.has_instances(kind)))
        if (is_bare or is_thing) and not before:
            place = head.classes.index(kind)
            below = [*self._said_to_be(kind, place)] if is_many or is_bare else []
            if below or is_thing:
                return below or [Denotation(a.Items((kind,)), _W.named - _W.later * place)]
        is_asked = bool(phrase.asked) or phrase is self.question.phrase
        score = _W.of_class + _W.wanted * is_asked - _W.later * (kind not in head.classes[:1])
        kinds = view.classes_ending_with(head.text, kind)
        found = [Denotation(of_classes(kinds), score, classes=kinds, asked=phrase.asked)]
        named = list[Denotation]()
        if len(before) == 1 and before[0].is_name:  # `film Jaws` is a film, `Jaws film` may be that, too
            said = view.classes_of(name.term for name in before[0].entities)
            own = [name for name in before[0].entities if kind in said.get(name.term, ())]
            named = [
                Denotation(a.Items((name.term,)), _W.named_of_class - _W.later * place)
                for place, name in enumerate(own)
            ]
        return [*named, *(new for one in found for new in self._with_words_before(one, before))]

    def _with_words_before(self, given: Denotation, before: Sequence[Chunk]) -> Iterator[Denotation]:
        """Yield the same, restricted by the words before its noun."""
        found = [given]
        for chunk in before:
            found = [new for one in found for new in self._modified(one, chunk)]
        yield from map(self._with_adjective, found)

    def _are_one(self, one: Chunk, other: Chunk) -> bool:
        """Whether a class of an ontology stands beside one above it."""
        above = self.view.profiler.with_broader(one.classes[:1])[1:] if self.view.is_ontology else ()
        return not {*above}.isdisjoint(other.classes or self.view.classes_called([other.text]))

    def _is_a_thing(self, kind: IRI) -> bool:
        """Whether a class itself is what is meant: in an ontology, where nothing is said to be of it."""
        typed = a.Ends(a.Items((kind,)), Step(RDF_TYPE, "inverse").path)
        return not self.view.has_instances(kind) or (self.view.is_ontology and not self.view.has_items(typed))

    def _with_adjective(self, given: Denotation) -> Denotation:
        """The same, kept by words before its noun where some predicate says that it is so: `radioactive elements`."""
        settled = self.predicating.settled(given)
        return settled if len(settled.doubts) == len(given.doubts) else given

    def _modified(self, given: Denotation, chunk: Chunk) -> list[Denotation]:
        positions = self.positions([chunk])
        if chunk.is_value and not chunk.entities:  # 1984 films, phase 3 trials
            if given.head and (named := self.measuring.measures(given, given.head)):
                return [self.measuring.keep(given.headless(), one, Quantity("=", chunk)) for one in named[:1]]
            return self.predicating.at_value(given, (), "=", chunk)
        if chunk.entities and chunk.number is None:
            joined = []
            for name in chunk.entities[:_GIVEN]:
                start = Denotation(named_set(name), _W.modifier)
                joined += met(given, self.connector.connect(start, Rel(wanted=given))[:2])
            return joined or [given.leaving_out(positions)]
        if chunk.classes and given.items is not None:
            return [replace(given, items=a.Both((given.items, a.Instances(chunk.classes[0]))))]
        return [replace(given, head=(*given.head, *positions))]

    def _of_modifier(self, phrase: NounPhrase, head: Chunk) -> Iterator[Denotation]:
        """What a name before the head has of it: `Nobel laureates`, `Apollo 11 crew`."""
        before = phrase.chunks[:-1]
        owner = first_of(chunk for chunk in before if chunk.entities and (chunk.is_strong or not head.entities))
        if owner is None:
            return
        words = tuple(p for p in self.positions(phrase.chunks) if p not in owner.span)
        kinds = self.view.classes_of(name.term for name in owner.entities[:_GIVEN])
        starts = [Denotation(named_set(name), _W.owner) for name in owner.entities[:_GIVEN]]
        with self.connector.together(starts):
            led = [self.connector.connect(start, Rel(words, "of", "of")) for start in starts]
        for name, start, found in zip(owner.entities, starts, led, strict=False):
            yield from found
            own = self.fit.roots_of(kinds.get(name.term, frozenset()))
            own |= self._roots_of_text(name.term)
            if words and all(root(self.texts[p]) in own for p in words):
                yield replace(start, score=1.0)

    def _words(self, phrase: NounPhrase, head: Chunk) -> Iterator[Denotation]:
        """What words may denote that are no name: a class that is called so, or whatever a predicate will tell."""
        positions = self.positions(phrase.chunks)
        if len(head.span) == 1:  # a predicate that is written as in code: `domainIncludes`
            for one in head.predicates:
                yield Denotation(a.Items((one,)), _W.predicate)
        kinds = self.classes_named(positions)
        meant = head.classes if self.view.is_ontology and not phrase.asked else ()  # as things, and not as kinds
        score = _W.of_class + (_W.wanted + _W.one_label) * (len(phrase.chunks) > 1)  # and no template that is a type
        for kind in kinds:
            if kind not in meant:
                classes = self.view.classes_ending_with(self.texts[positions[-1]], kind)
                yield Denotation(of_classes(classes), score, classes=classes, asked=phrase.asked)
        are_kinds = self.view.is_ontology and any(map(self.view.has_instances, head.classes))  # its items are kinds
        if phrase.kinds and phrase.asked and (head.classes or kinds) and not are_kinds:
            yield Denotation(None, _W.kinds, head=phrase.kinds, asked=phrase.asked)
        family = frozenset[IRI]()
        if len(positions) == 1 and not head.classes and not kinds:
            family = self.view.classes_ending_with(self.texts[positions[0]])
        if family:
            yield Denotation(of_classes(family), _W.family, classes=family, asked=phrase.asked)
        asked = phrase.asked or ("which" if phrase is self.question.phrase else "")
        yield Denotation(None, _W.whatever, head=positions, asked=asked)


class OnPhrases(NamedWords):
    """What plans with the sets that phrases denote."""

    def __init__(self, phrases: Phrases) -> None:
        super().__init__(phrases.connector, phrases.question)
        self.phrases, self.measuring, self.predicating = phrases, phrases.measuring, phrases.predicating
