"""What the words of one question name on a graph: predicates and classes, and which words say something at all."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain

from kgsparql.linking.words import root, roots_of, stem
from kgsparql.plans import algebra as a
from kgsparql.plans.connecting import Connector
from kgsparql.plans.denotation import Denotation, Match, Rel, ends, of_classes
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.type_check import parts_of
from kgsparql.plans.weights import weights
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, first_of, normalised
from kgsparql.rdf.vocabulary import TAXONOMY
from kgsparql.reading.clauses import Chunk, NounPhrase, Predication, Restriction, positions_in
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import unsaid

_W = weights("measure")
_CLASSES = 3
_DATES = frozenset({"date", "time", "year"})


class NamedWords:
    """The words of one question, on a graph, for what plans a part of it."""

    def __init__(self, connector: Connector, asked: Form) -> None:
        self.connector, self.chunked, self.lexicon, self.question = connector, asked.read, asked.language, asked
        self.view, self.fit, self.texts = connector.view, connector.fit, asked.texts

    def said_in(self, said: Restriction) -> list[int]:
        """The positions of the words of what is said that say something."""
        return [
            position
            for position in sorted(positions_in(said))
            if self.texts[position] not in self.lexicon.function_words
        ]

    def positions_of_verb(self, said: Predication) -> tuple[int, ...]:
        """The positions of the words of a verb that say something: `make` does where a predicate is `made by`."""
        light: AbstractSet[str] = self.lexicon.fillers
        if not (said.is_passive or said.preposition):
            acting = {*self.connector.at(said.verb)} - self.lexicon.have_forms
            light = light - {text for text in acting if self.view.predicates_called([text])}
        light = light | self.lexicon.prepositions if len(said.verb) > 1 else light  # level of training
        return tuple(p for p in said.verb if self.texts[p] not in light)

    def positions(self, chunks: Sequence[Chunk]) -> tuple[int, ...]:
        """The positions of the words of chunks that say something: no small words, no numbers."""
        return tuple(
            position
            for chunk in chunks
            if chunk.number is None or chunk.entities
            for position in chunk.span
            if self.texts[position] not in self.lexicon.function_words or (chunk.is_strong and len(chunk.span) == 1)
        )

    def being(self, items: a.ItemSet) -> PropertyPath | None:
        """The path to the persons that some things are: each judge leads to one, and no two to the same."""
        persons, joining = roots_of(self.lexicon.persons), roots_of(self.lexicon.joining_words)
        found = [
            use.path
            for use in self.view.uses(items)
            if use.kind == "item" and use.step.is_forward and use.share == use.most == 1
            for own in [self.fit.roots_of(use.classes)]
            if not own.isdisjoint(persons) and self.fit.label_roots(use.predicate) <= own | joining
        ]
        reached = [len(self.view.members(one)) for one in (items, *(ends(items, path) for path in found))]
        return found[0] if len(found) == 1 and reached[0] == reached[1] else None

    def have_names(self, items: a.ItemSet) -> bool:
        """Whether things are called otherwise than by the key of their row, `id=1`, and than the question does."""
        some = [one for one in self.view.members(items) if isinstance(one, IRI)][:3]
        names, asked = self.view.labels(some, in_grace=True).values(), normalised(self.chunked.question)
        return not some or any("=" not in name and normalised(name) not in asked for name in names)

    def led_from(self, given: Denotation, rel: Rel) -> list[Denotation]:
        """What belongs to things; where they have nothing of it, to the persons that they are."""
        found = self.connector.connect(given, rel)
        steps = {use.step for use in self.view.uses(given.known)}
        if any(one.path.first_step in steps for one in found) or (path := self.being(given.known)) is None:
            return found
        return self.connector.connect(replace(given, items=ends(given.known, path)), rel) or found

    @staticmethod
    def are_open(found: Sequence[Denotation]) -> bool:
        """Whether two relations lead as well to the same things, and no word tells which: source and destination."""
        match found[:2]:
            case [one, other] if one.path.is_direct and other.path.is_direct:
                is_same = one.path.first_step.direction == other.path.first_step.direction
                return is_same and one.last != other.last and abs(one.rank - other.rank) < 1e-6
        return False

    def predicates_named(self, texts: Sequence[str]) -> list[tuple[IRI, float]]:
        """The predicates that account for all of some words, and how well."""
        found = [(predicate, self.fit.whole(texts, predicate)) for predicate in self.view.predicates_called(texts)]
        return [(predicate, fit) for predicate, fit in found if fit]

    def word_set(self, given: Denotation) -> Denotation | None:
        """Everything that a predicate leads to that the words of a phrase name: a noun that is no class."""
        texts = self.connector.at(given.head)
        said = {kind for chunk in self.chunked.chunks for kind in chunk.classes}
        named = [(fit, self.view.subject_class(one), one) for one, fit in self.predicates_named(texts)]
        for _, kind, predicate in sorted(named, key=lambda one: (one[1] in said, one[0], str(one[2])), reverse=True):
            is_office = any(way.office and not way.is_value for way in self.view.vocabulary.joined.get(predicate, ()))
            path, such, label = Step(predicate).path, self.subjects_of(predicate), self.fit.text(predicate)
            if kind is not None and such and not (is_office or predicate in TAXONOMY):
                doubts = (unsaid(label),) * self.fit.is_of_other(label, texts[-1])
                if self.fit.form(predicate) == "of":  # members are who is a member of something
                    return Denotation(a.Has(such, path), _W.word_set, classes=frozenset({kind})).doubted(*doubts)
                how = (Match(" ".join(texts), path),)
                return Denotation(a.Ends(such, path), _W.word_set, how=how).doubted(*doubts)
        return None

    def role_set(self, given: Denotation, said: Predication) -> Denotation | None:
        """Who is what a noun says that is no class, where something is said of them: owners, that they live in Rome."""
        is_counted = said.object is not None and bool(said.object.most or said.object.quantity)
        is_plain = bool(said.verb or not said.preposition) and said.subject is None and not is_counted
        is_role = is_plain and given.is_free and bool(given.head and given.asked)
        such = self.word_set(given) if is_role else None
        said_roots = {*map(root, self.connector.at(given.head))}
        known = a.Items(()) if such is None else such.known
        ways = [one.path for one in parts_of(known, a.Ends)] + [one.path for one in parts_of(known, a.Has)]
        are_so = (self.fit.form(way.last) == "agent" or self.fit.label_roots(way.last) <= said_roots for way in ways)
        return such if all(are_so) else None  # no *animal breed*

    def measured_by(self, positions: Sequence[int]) -> list[str]:
        """Words for what verbs measure: how long it takes, what it weighs."""
        said = {root(self.texts[position]) for position in positions}
        return [word for verb, own in self.lexicon.verb_measures.items() if root(verb) in said for word in own]

    def is_only_date(self, items: a.ItemSet, use: PredicateUse) -> bool:
        """Whether nothing else tells when things were, and it is no life that began or ended then."""
        dates = [own for own in self.view.uses(items) if own.kind in _DATES]
        return dates == [use] and not self.fit.is_of_life(use.predicate)

    def measured_class(self, positions: Sequence[int]) -> IRI | None:
        """The one class of all that has a predicate that words name."""
        return getattr(self.having(positions), "of", None)

    def such_as_have(self, given: Denotation, positions: Sequence[int]) -> Denotation:
        """The same; where nothing says what is meant, all that may have a predicate that words name."""
        is_open = given.is_free and self.lexicon.empty_nouns.issuperset(self.connector.at(given.head))
        such = self.having(positions) if is_open else None
        return given if such is None else replace(given, items=such, head=())

    def having(self, positions: Sequence[int]) -> a.ItemSet | None:
        """All that may have a predicate that words name."""
        named = self.predicates_named(self.connector.at(positions))
        found = [self.subjects_of(predicate) for predicate, _ in named]
        return first_of(one for one in found if one is not None)

    def subjects_of(self, predicate: IRI) -> a.ItemSet | None:
        """All that may have a predicate: of one class, or of several where none has all of them."""
        kind, of = self.view.subject_class(predicate), self.view.profiler.at_ends(predicate).subject_kinds
        is_whole = kind == self.view.things or all(kind in self.view.profiler.with_broader([one]) for one in of)
        return None if kind is None else of_classes([kind] if is_whole else of)

    def are_one_label(self, positions: Sequence[int]) -> bool:
        """Whether some predicate has all of these words in its label: `place of birth`."""
        roots = {root(self.texts[position]) for position in positions}
        called = self.view.predicates_called(self.connector.at(positions))
        return len(roots) == len(positions) and any(roots <= self.fit.label_roots(one) for one in called)

    def classes_named(self, positions: Sequence[int]) -> list[IRI]:
        """The classes that words name; `cars` those of `cars data`, where no predicate is called so."""
        texts = self.connector.at(positions)
        found = self.view.classes_called(texts)
        own = roots_of(texts)
        if not found and all(self.fit.label_roots(one) != own for one in self.view.predicates_called(texts)):
            found = self.view.classes_called(texts, self.lexicon.table_words)
        acts = [] if found or len(texts) != 1 else self.acts_alike(texts)
        found = found or [kind for word in acts for kind in self.view.classes_called([word])]
        return found[:_CLASSES]

    def joined_by(self, given: Denotation, other: Denotation, verb: Sequence[int]) -> list[Denotation]:
        """What the one relation, or table, joins whose names say no more than its two kinds and the verb do."""
        texts, near = self.connector.at(verb), other.classes or frozenset(self.view.classes_in(other.known))
        said, is_light = roots_of(texts), self.lexicon.joining_verbs.issuperset(texts)
        doers = " ".join(self.fit.names(sorted(near | given.classes, key=str))).split()
        is_light |= all(len(stem(text)) > 3 and any(one.startswith(stem(text)) for one in doers) for text in texts)
        known = self.fit.roots_of(near | given.classes) | roots_of(self.lexicon.joining_words)
        groups = (roots_of([one]) for one in self.lexicon.joined_by_alike)
        alike = said.union(*(one for one in groups if not said.isdisjoint(one)), roots_of(self.acts_alike(texts)))
        found = list[Denotation]()
        for one in self.connector.connect(other, Rel(wanted=given)) if near and near.isdisjoint(given.classes) else ():
            steps = one.path.steps
            middle = self.view.classes_in(ends(other.known, PropertyPath(steps[:1])))
            if len(steps) > 1:  # of several that lead there, those that lead on
                last = self.view.profiler.at_ends(steps[-1].predicate)
                middle = middle.intersection(last.subjects if steps[-1].is_forward else last.objects)
            names = self.fit.roots_of(middle).union(*(self.fit.label_roots(step.predicate) for step in steps))
            if middle and names <= known | alike and (is_light or not names.isdisjoint(alike)):
                found.append(replace(one, score=other.score + 1.0, doubts=other.doubts))
        return found[: len(found) == 1]

    def acts_alike(self, verb: Sequence[str]) -> list[str]:
        """List words for what was done where something is said by a verb: a loan, where it was borrowed."""
        said, groups = roots_of(verb), (group.split() for group in self.lexicon.acts)
        made = [stem(text).removesuffix("e") + ending for text in verb for ending in sorted(self.lexicon.act_endings)]
        return [*chain(*(group for group in groups if said & roots_of(group))), *made]

    def counting_acts(self, asked: Form) -> Form:
        """Ask how many loans a book has where it is asked how many times it was borrowed."""
        match asked.phrase:
            case NounPhrase(chunks=(), restrictions=(Predication(verb=verb, subject=NounPhrase() as whose),)) if (
                asked.asks == "count" and self.classes_named(verb)
            ):
                acts, said = self.chunks_at(verb), Predication(light="have", subject=whose)
                return replace(asked, phrase=NounPhrase(chunks=acts, restrictions=(said,)))
        return asked

    def chunks_at(self, positions: Sequence[int]) -> tuple[Chunk, ...]:
        """Make words at some positions a noun."""
        return tuple(Chunk(at, at + 1, self.texts[at]) for at in positions)

    def as_act(self, given: Denotation, said: Predication) -> Predication | None:
        """Say of what was borrowed that it has a loan, or so many; None where no class is called by the verb."""
        other = said.object
        texts = set[str]() if other is None else {*self.connector.at(sorted(other.positions))}
        is_how_often = other is not None and texts <= self.lexicon.occasions
        if given.is_free or said.more or said.subject or not (is_how_often or texts <= self.lexicon.anything):
            return None
        act = replace(other if is_how_often and other else NounPhrase(), chunks=self.chunks_at(said.verb))
        return Predication(light="have", object=act) if said.verb and self.classes_named(said.verb) else None

    def as_doers(self, said: Predication) -> Predication:
        """Say of who does something that they are of the class of those who do: who play poker are poker players."""
        thing = said.object
        if thing is None or not (said.verb and thing.chunks):
            return said
        if said != Predication(verb=said.verb[:1], object=NounPhrase(chunks=thing.chunks[:1])):  # more is said
            return said
        verb = self.texts[said.verb[0]].removesuffix("s").removesuffix("e")
        own = self.connector.at(self.positions(thing.chunks))
        called = (self.view.classes_called([*own, verb + ending]) for ending in self.lexicon.agent_suffixes)
        kinds = first_of(filter(None, called))
        doers = replace(thing.chunks[0], start=said.verb[0], classes=tuple(kinds or ()), entities=())
        return replace(said, verb=(), light="be", object=replace(thing, chunks=(doers,))) if kinds else said

    def are_values(self, given: Denotation) -> bool:
        """Whether it is whatever things have that a noun names, which is no class: the years of concerts."""
        named = any(one.classes and (one.end - 1,) == given.head[-1:] for one in self.chunked.chunks)
        return given.is_free and given.head != () and not (named or self.classes_named(given.head))
