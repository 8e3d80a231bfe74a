"""The only place where words choose a path: from a set that is given to what is asked of it, over one step or two.

Each path is scored by the words that its labels cover, by its direction against the role of the given set, by the class
of what it leads to, and by the steps that no word names. That there is nothing competes, too: where a predicate is
named in full and what is given has none of it, the empty set is an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import chain, starmap

from kgsparql.linking.words import roots_of, stem
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import Denotation, Match, PathFit, Rel, Role, ends, of_classes
from kgsparql.plans.graph_view import KnownGraph, Looking, Wanted, in_step
from kgsparql.plans.label_fit import NEAR, SAME, LabelFit
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.weights import weights
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.rdf.vocabulary import OF_ONTOLOGIES, TAXONOMY
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import Gap, left_out_at, turned, unsaid

_FOLLOWED = 14  # first steps that a second one is tried after
_LIKELY_WAYS = 24  # paths of which it is looked up whether they lead to what is wanted
_LEAST_WAYS, _WAYS_TOGETHER = 3, 50  # the same, of each of many things that may be meant, and of all
_DEEPER = 3  # further steps from what holds things to what is in them
_W = weights("step")


class Connector:
    """Finds paths from given sets for the words of one question; strictly, where who does what to whom counts."""

    def __init__(self, view: KnownGraph, fit: LabelFit, asked: Form) -> None:
        self.view, self.fit, self.lexicon, self.texts = view, fit, asked.language, asked.read.texts
        # For each word, the predicates whose names the question has there word for word, and those that have the word,
        # or words that it is one of, as a name beside their label.
        nothing = [frozenset[IRI]()] * len(self.texts)
        self.called, self.named = [*nothing], [*nothing]
        for chunk in chain.from_iterable(phrase.chunks for phrase in asked.phrases):
            for position in chunk.span:
                self.called[position] = frozenset(chunk.predicates)
        for span, predicates in asked.read.predicates.items():
            for position in range(*span):
                self.named[position] |= frozenset(predicates)
        self.hint_roots = roots_of(chain(*self.lexicon.hints.values()))
        self._ways: dict[tuple[object, ...], list[PathFit]] = {}
        self._alternatives: list[Sequence[Denotation]] = []

    @contextmanager
    def together(self, alternatives: Sequence[Denotation]) -> Iterator[None]:
        """Ask about sets of which any may be meant in the same queries, as long as the ``with`` lasts."""
        self._alternatives.append(alternatives)
        yield
        self._alternatives.pop()

    def _like(self, given: Denotation) -> Iterator[Denotation]:
        """Yield a set, and what else may be meant in its place."""
        yield given
        for some in self._alternatives:
            if any(one.items == given.items for one in some):
                yield from some

    def connect(self, given: Denotation, rel: Rel) -> list[Denotation]:
        """The likeliest sets that paths from a given one lead to, the best first."""
        if given.items is None or self._are_numbers(given.items):
            return []
        search = _Search(self, given, given.items, rel)
        if search.key not in self._ways:
            wanted, several = [None] if rel.wanted is None else [*self._like(rel.wanted)], {search.key: search}
            for one in self._like(given):
                for end in wanted if one.items is not None else ():
                    other = _Search(self, one, one.known, replace(rel, wanted=end))
                    if other.key not in self._ways:
                        several.setdefault(other.key, other)
            share = max(_LEAST_WAYS, min(_LIKELY_WAYS, _WAYS_TOGETHER // len(several)))
            most = {**dict.fromkeys(several, share), search.key: _LIKELY_WAYS}
            self._ways.update(in_step({key: one.ways(most[key]) for key, one in several.items()}))
        return [*map(search.denotation, self._ways[search.key][: rel.keep])]

    def _are_numbers(self, items: a.ItemSet) -> bool:
        """Whether a set is of numbers or dates: two things with the same version number have nothing to do with it."""
        some = () if isinstance(items, a.Items) else self.view.profiler.sample(items)[:5]
        return bool(some) and all(isinstance(one, Literal) and literal_kind(one) != "text" for one in some)

    def at(self, positions: Sequence[int]) -> list[str]:
        """The words at some positions."""
        return [*map(self.texts.__getitem__, positions)]


class _Search:
    """One search from a given set."""

    def __init__(self, connector: Connector, given: Denotation, items: a.ItemSet, rel: Rel) -> None:
        self.own, self.given, self.items, self.rel = connector, given, items, rel
        self.view, self.fit, self.lexicon = connector.view, connector.fit, connector.lexicon
        self.texts = connector.at(rel.words)
        self.noun = self.texts[-1] if self.texts else ""
        self.led_by = connector.at(rel.verb[:1])[0] if rel.verb else self.noun
        self.kind = self.lexicon.question_words.get(rel.asked, "")
        self._is_within = rel.preposition in self.lexicon.locatives
        self._is_joined = self._is_within or rel.preposition in {"of", "for"}
        asking = self.lexicon.hints
        self.hints = rel.hints or asking.get(f"{self.kind} {rel.preposition}") or asking.get(self.kind, ())
        self.classes = rel.wanted.classes if rel.wanted else frozenset[IRI]()
        self.item = rel.wanted.items if rel.wanted is not None and not self.classes else None
        self.wanted = Wanted(self.view, self.classes, self.item)
        self.called = frozenset[IRI]().union(*map(connector.called.__getitem__, rel.words))
        self._per_step, self._location, self.is_direct = cache(self._read_step), cache(self._read_location), False
        self.halves, self.direct = set[tuple[Step, ...]](), set[tuple[Step, ...]]()
        self.key = (items, replace(rel, wanted=None), self.classes, self.item)  # what its paths depend on

    def ways(self, most: int) -> Looking[list[PathFit]]:
        """The paths that fit, the best first; of so many it is looked up whether they lead to what is wanted."""
        yield from self.wanted.look_up()
        yield self.view.profiler.look_at, [self.items]
        self.wanted.item_classes -= self.view.classes_in(self.items) if self.view.is_ontology else frozenset()
        yield from self._compare(first := self.view.uses(self.items))
        found = [*map(self._way, first)]
        if self.rel.hops > 1:
            promising = sorted(found, key=self._promise)[:_FOLLOWED]
            promising = [way for way in promising if way.last.kind == "item" and self._may_go_on(way)]
            onward = [ends(self.items, way.path) for way in promising]
            yield self.view.profiler.look_at, onward
            yield from self._compare([*chain.from_iterable(map(self.view.uses, onward))])
            for way in promising:
                found += self._further(way)
            if self.wanted.is_said:
                yield from self._go_on_to_wanted(found)
        turns = dict[tuple[Step, Role, str], None]()
        found = [way for way in found if self.view.may_be(self.kind, way.last)]
        for way in found:
            way.named = self._steps_named(way)
            if self._is_statement(way.steps):
                self.halves.add(way.steps[:1])
            turns |= dict.fromkeys(self._turns(way))
        yield self.view.profiler.look_at_ends, [one[0].predicate for one in turns if self._is_turned(*one) is None]
        likely = sorted(filter(self._is_likely, found), key=lambda o: (not self.wanted.is_at(o.last), o.order()))[:most]
        yield from self.wanted.look_for([(way.last, ends(self.items, way.path)) for way in likely])
        fitting = [*filter(self._leads_to_wanted, likely)]
        have, turned = set[Step](), set[Step]()
        self.direct = {way.steps for way in likely if way.is_direct()}
        for way in fitting:
            have.update(way.named if self._is_found(way) else ())
            if len(way.steps) == 1 and way.direction <= _W.against_role:
                turned.add(way.last.step.reversed)
        if not self.halves:
            fitting += self._of_nothing(have, turned)
        self.is_direct = any(map(PathFit.is_direct, fitting))
        for way in fitting:
            way.doubts = [*self._doubts(way)]
            way.score -= _W.farther * (self.is_direct and len(way.steps) > 1)
        return sorted(fitting, key=PathFit.order)

    def _compare(self, uses: Sequence[PredicateUse]) -> Looking[None]:
        """Compare the words with all labels at once; the classes at the ends are named in the same query."""
        kinds, predicates = [kind for use in uses for kind in use.classes], [use.predicate for use in uses]
        yield self.view.labels.learn_schema, [*kinds, *predicates]
        if self.wanted.is_said:
            yield self.view.profiler.with_broader, kinds
        self.fit.compare(self.texts, predicates, self.rel.preposition)

    def _promise(self, way: PathFit) -> tuple[float, str]:
        """Order paths by how likely it is that they, or what they lead to, are meant."""
        promise = sum(way.cover) + way.hinted + _W.promising_share * way.share + self._location(way.steps[0])
        return -promise, str(way.steps)

    def _may_go_on(self, way: PathFit) -> bool:
        """Whether :meth:`_further` may yield anything, so that it is worth reading what a path leads to."""
        is_half = bool(self.rel.verb) and self.fit.text(way.last.step.predicate).startswith(stem(self.led_by))
        is_node = way.last.step.direction == "inverse" and self.fit.means_class(self.texts, way.last.classes)
        may_join = self._is_joined or self.wanted.is_said or bool(self.view.profiler.graph.held(frozenset(TAXONOMY)))
        return len(self.texts) != 1 or may_join or is_half or is_node

    def _further(self, way: PathFit) -> Iterator[PathFit]:
        is_open = not self.texts or self.wanted.is_said or bool(self._location(way.last.step))
        uses = self.view.uses(ends(self.items, way.path))
        is_act = way.last.step.is_inverse and not self.rel.preposition and self.lexicon.is_participle(self.led_by)
        said = [is_act and use.step.is_forward and self.fit.says_act(self.led_by, use.predicate) for use in uses]
        for use, is_beside in zip(uses, said, strict=True):  # of what was given something: given by, given on
            if self.view.profiler.vocabulary.are_one(use.step.predicate, way.last.step.predicate):
                continue
            onward = self._way(use)
            alone = max(sum(way.cover), sum(onward.cover)) + 1e-6
            if any(said) and not is_beside:
                both = zip(self.rel.words, onward.cover, strict=True)  # the step beside it accounts for the verb
                onward.cover = [1.0 if position in self.rel.verb else own for position, own in both]
            gains = sum(map(max, way.cover, onward.cover)) > alone
            if is_open or gains or self._location(use.step) or self._is_statement((*way.steps, use.step)):
                yield way.then(onward)

    def _go_on_to_wanted(self, found: list[PathFit]) -> Looking[None]:
        """Go on up or down what holds things, to what is wanted: the cities in districts of the states of a country.

        Where words name a step, up from its ends, to countries of the cities where one worked; or down to where these
        are, and back: who worked at something in a city of a country.
        """
        fit, known, said = self.fit, {way.steps for way in found}, bool(self.texts)
        held = [way for way in found if len(way.steps) == 1 + said and fit.is_location(way.last.step.predicate)]
        down = [way for way in held if said and self._is_within and all(map(fit.goes_down, way.steps))]
        if down and not any(min(way.cover) >= NEAR and self.wanted.is_at(way.last) for way in found):
            yield self.view.profiler.look_at, [ends(self.items, way.path) for way in down]
            ways = [(way, use) for way in down for use in self.view.uses(ends(self.items, way.path))]
            found += [way.then(self._way(use)) for way, use in ways if self._says_all(use.step)]
        if said:
            held = [way for way in held if self._says_all(way.steps[0]) and not fit.goes_down(way.last.step)]
        for _ in range(_DEEPER):
            if not held or any(self.wanted.is_at(way.last) for way in held):
                return
            yield self.view.profiler.look_at, [ends(self.items, way.path) for way in held]
            ways = [(way, use) for way in held for use in self.view.uses(ends(self.items, way.path))]
            ways = [(way, use) for way, use in ways if fit.goes_down(use.step) == fit.goes_down(way.last.step)]
            further = [way.then(self._way(use)) for way, use in ways if fit.is_location(use.step.predicate)]
            held = sorted(further, key=self._promise)[:_FOLLOWED]
            found += [way for way in held if way.steps not in known]

    def _way(self, use: PredicateUse) -> PathFit:
        cover, step = self.fit.with_classes(self.texts, self._per_step(use.step), use.classes), use.step
        return PathFit((step,), use, use.share, cover, self.fit.hinted(step.predicate, self.hints))

    def _read_step(self, step: Step) -> list[float]:
        """How well the name of a step alone accounts for each word."""
        own = self.fit.phrase(self.texts, step.predicate, self.rel.preposition)
        for i, position in enumerate(self.rel.words):
            if step.predicate in self.own.called[position]:
                own[i] = 1.0
            elif step.predicate in self.own.named[position]:
                own[i] = max(own[i], _W.by_name)
        return own

    def _says_all(self, step: Step) -> bool:
        """Whether the name of a step accounts for every word."""
        return min(self._per_step(step)) >= NEAR

    def _read_location(self, step: Step) -> float:
        """How well a step may be meant that no word names, by a preposition or `have` alone."""
        if step.predicate in TAXONOMY:
            return 0.0 if self.view.is_ontology else _W.taxonomy
        if step.predicate in self.view.profiler.vocabulary.restricted and not self.rel.preposition:
            return _W.location
        if self.rel.role == "prep" and not self.fit.allows(step, "prep", self.noun):
            return 0.0
        is_said = self.fit.text(step.predicate).startswith(f"{self.rel.preposition} ")  # at: `at station`
        return _W.location if self._is_joined and (is_said or self.fit.is_location(step.predicate)) else 0.0

    def _is_of_its_terms(self, step: Step) -> bool:
        """Whether a step is what an ontology says of its own terms: each is below some other, and in some subset."""
        own, known = step.predicate, self.view.vocabulary
        is_other = own in TAXONOMY or own.value.startswith(OF_ONTOLOGIES) or bool(known.restricted)
        is_other &= known.is_ontology and own not in known.restricted
        return is_other and known.populated.isdisjoint(self.view.profiler.at_ends(own).subjects)  # nor of things beside

    def _is_likely(self, way: PathFit) -> bool:
        """Whether a path may be meant by its words; its score is set, but for what it leads to."""
        if any(self._is_of_its_terms(step) and step not in way.named for step in way.steps):
            return False
        costs = [*starmap(self._direction, self._turns(way))]
        is_each = bool(way.named or (self.hints and way.hinted) or (self._is_within and self.rel.role != "where"))
        way.direction = min(costs) if is_each else max(costs)
        is_bare = self.rel.role == "where" and not (self.texts or way.hinted)
        if is_bare and all(self.fit.contained.isdisjoint(self.fit.label_roots(s.predicate)) for s in way.steps):
            return False
        way.left = tuple(p for p, own in zip(self.rel.words, way.cover, strict=True) if own < NEAR)
        if self.texts and len(way.left) == len(self.texts) and max(way.cover) < _W.least_cover and way.hinted < NEAR:
            return False
        cover = sum(way.cover) / len(way.cover) if way.cover else _W.unnamed + max(map(self._location, way.steps))
        joint, names = self.rel.preposition, [*map(self.fit.text, way.path.predicates)]
        is_joined = joint != "of" and joint in names[0 if self.rel.role == "prep" else -1].split()
        is_joined |= any(self.fit.says(joint, name) for name in names)  # from, of a source
        way.score = cover + _W.joined * is_joined + way.direction + _W.hinted * way.hinted + _W.share * way.share
        way.score -= self._cost_of_silence(way) + self._cost_of_head(way)
        way.score -= _W.half * (way.steps in self.halves)  # the verb names the other end of the statement, too
        if self.called and self.called.isdisjoint(step.predicate for step in way.steps):
            way.score -= _W.otherwise_called
        return True

    def _steps_named(self, way: PathFit) -> tuple[Step, ...]:
        """The steps that words name."""
        per, named = [*map(self._per_step, way.steps)], set[int]()
        least = NEAR if len(per) == 1 else _W.likely
        is_own = self._is_statement(way.steps)  # its verb names both
        for word in range(len(self.texts)):
            for at in range(len(per)) if is_own else (self._nearest(per, word),):
                if per[at][word] >= least:
                    named.add(at)
        return tuple(map(way.steps.__getitem__, sorted(named)))

    def _is_statement(self, steps: tuple[Step, ...]) -> bool:
        """Whether the verb names both ends of a statement, or words both its class and the other end: a wife."""
        match steps:
            case (Step(first, "inverse"), Step(last, "forward")):
                if self.rel.verb and self.fit.are_of_statement(self.led_by, first, last):
                    return True
                uses = self.view.uses(self.items) if self.fit.names_end(self.texts, last, self.hints) else ()
                return any(use.step == steps[0] and self.fit.means_class(self.texts, use.classes) for use in uses)
        return False

    def _turns(self, way: PathFit) -> list[tuple[Step, Role, str]]:
        """The steps whose direction counts, each with the role of what it starts from, and a noun that may name it."""
        if way.named:  # of a statement: what is given does something, or what belongs to it is named
            is_both = self._is_statement(way.steps)
            steps = way.named if not is_both else way.steps[:1] if self.rel.verb else way.steps[1:]
            return [(step, self._role_at(step, way), self.led_by) for step in steps]
        is_hinted = bool(self.hints and way.hinted)
        role = self.rel.role if is_hinted or self.rel.role in {"where", "prep"} else "any"
        role = "where" if is_hinted and self.kind == "place" else role
        if self.rel.role == "of" and self._is_within and len(way.last.ends) < 2:
            role = "prep"  # cities in a country: its capital is one, of which nothing is said but that it is there
        return [(step, role, self.noun) for step in way.steps]

    def _nearest(self, per: list[list[float]], word: int) -> int:
        """Which step a word names: the one that covers it best, of two the last for the noun of what is asked for."""
        last = len(per) - 1 if self.rel.head else 0
        return max(range(len(per)), key=lambda at: (per[at][word], sum(per[at]), at == last))

    def _role_at(self, step: Step, way: PathFit) -> Role:
        """The role of what a step starts from: the noun of what is asked for makes the last step that of its owner."""
        nouns = self.fit.roots_of(self.classes) | roots_of(self.own.at(self.rel.head[-1:]))
        is_last_of_noun = step == way.steps[-1] and not nouns.isdisjoint(self.fit.label_roots(step.predicate))
        is_last_of_noun &= self.fit.form(step.predicate) in {"noun", "agent"}
        return "of" if is_last_of_noun and self.rel.role in {"prep", "of", "subject"} else self.rel.role

    def _direction(self, step: Step, role: Role, noun: str) -> float:
        """What it costs to go against the role: much where only the direction tells both ends, or the words say it."""
        is_grave = self._is_turned(step, role, noun)
        if is_grave is None and not self.view.profiler.at_ends(step.predicate).are_of_one_kind:
            return _W.against_role_by_types
        return 0.0 if is_grave is False else _W.against_role

    def _is_turned(self, step: Step, role: Role, noun: str) -> bool | None:
        """Whether a step goes against the role as the words say it; ``None`` where it does, and only its ends tell."""
        if role in {"of", "value"} and step.predicate in self.called:
            return (step.direction == "forward") != ("of" in {role, self.fit.form(step.predicate)})  # what X is part of
        if role == "of" and self.fit.form(step.predicate) == "verb":  # what is eligible for it
            role = "object" if self.fit.text(step.predicate).split()[-1:] == [self.rel.preposition] else role
        if self.fit.allows(step, role, noun):
            return False
        is_doer = self.fit.form(step.predicate) == "agent" and self.fit.says(noun, self.fit.text(step.predicate))
        is_grave = (is_doer and role in {"subject", "object"}) or role in {"of", "value", "where"}
        is_grave = is_grave or self.fit.is_said_so(step.predicate, noun, self.rel.preposition)
        is_told = self.item is not None and self.given.is_named  # was the author written by the book
        is_grave = is_grave or is_told or (role == "prep" and (not self.texts or self.rel.role == "of"))
        return is_grave or None

    def _leads_to_wanted(self, way: PathFit) -> bool:
        """Whether what a path leads to may be what is wanted; how well, is added to its score."""
        fit, own = self.wanted.fit(way.last, ends(self.items, way.path)), self.fit.label_roots(way.steps[-1].predicate)
        is_its_name = any(map(own.issuperset, map(self.fit.roots, self.fit.names(self.classes))))
        way.score += (fit or 0.0) + (_W.named_end if self.texts else _W.named_only_end) * is_its_name
        return fit is not None

    def _cost_of_silence(self, way: PathFit) -> float:
        if not self.texts and len(way.steps) == 1:
            return 0.0
        licensed = way.steps if not self.texts else way.steps[:-1] if self.rel.role == "prep" else ()
        cost = _W.past_doer * (bool(self.rel.verb) and way.named == way.steps[:1] != way.steps)  # one is a step away
        for step in way.steps:
            if step not in way.named:
                cost += _W.licensed if step in licensed and self._is_silent(step) else _W.silent
        return cost

    def _cost_of_head(self, way: PathFit) -> float:
        """What it costs that the noun of what is asked for is named by another step than the last."""
        head = self.own.at(self.rel.head)
        if not head or len(way.steps) == 1:
            return 0.0
        last = max(self.fit.with_classes(head, self.fit.phrase(head, way.steps[-1].predicate), way.last.classes))
        most = max(max(self.fit.phrase(head, step.predicate)) for step in way.steps)
        return _W.head if last < max(NEAR, most - _W.head_margin) else 0.0

    def _is_found(self, way: PathFit) -> bool:
        is_located = self.rel.role != "prep" or self._location(way.steps[0]) or way.steps[0] in way.named
        is_near = bool(is_located) and not self._goes_astray(way)
        return not way.left and way.direction > _W.turned and (is_near or len(way.steps) == 1)

    def _goes_astray(self, way: PathFit) -> bool:
        """Whether a path goes on beyond all that is said, but not up, or up, to the capital of a city's country."""
        silent = [step for step in way.steps if step not in way.named]
        if not (self.texts and silent):
            return False
        are_up = [self.fit.is_location(step.predicate) and not self.fit.goes_down(step) for step in silent]
        is_place = all(self.fit.is_location(step.predicate) for step in way.named)  # in a city, so in its country
        is_of_whole = self.rel.role == "of" and any(are_up) and not is_place
        return is_of_whole or (way.steps[:1] in self.direct and not all(are_up))

    def _of_nothing(self, have: set[Step], turned: set[Step]) -> Iterator[PathFit]:
        """Predicates that the words name in full, in a direction that the role allows, which what is given lacks."""
        if not self.texts or self.rel.role == "any" or self.kind in {"time", "place"}:
            return
        called = list(dict.fromkeys([*sorted(self.called, key=str), *self.view.predicates_called(self.texts)]))
        self.fit.labels(called)
        for predicate in called:
            label, own = self.fit.text(predicate), self._per_step(Step(predicate))
            more = self.fit.roots(label) - roots_of(self.texts) - self.own.hint_roots
            is_there = predicate in self.called and any(one.predicate in self.called for one in have)
            if min(own) < SAME or len(more) > 1 or is_there:
                continue
            both = [Step(predicate), Step(predicate, "inverse")]
            allowed = [step for step in both if self._direction(step, self.rel.role, self.led_by) >= 0]
            for step in allowed:
                is_turned, is_open = step in turned, len(allowed) > 1
                score = None if step in have else self._score_of_nothing(step, is_turned=is_turned, is_open=is_open)
                if score is not None:
                    score += sum(own) / len(own) - _W.more_said * len(more)
                    yield PathFit(
                        (step,), PredicateUse(step, "item", 0.0, 0, ()), cover=own, named=(step,), score=score
                    )

    def _score_of_nothing(self, step: Step, *, is_turned: bool, is_open: bool) -> float | None:
        """How well the classes at both ends of a predicate fit; ``None`` where they do not, or none are known."""
        is_called, is_forward = step.predicate in self.called, step.direction == "forward"
        known = self.view.profiler.at_ends(step.predicate)
        near, far = (known.subjects, known.objects) if is_forward else (known.objects, known.subjects)
        if self.classes and self.classes.isdisjoint(far):
            return None
        is_text = isinstance(self.items, a.Items) and isinstance(self.items.terms[0], Literal)
        is_end = any(isinstance(one, Literal) for one in self.view.profiler.sample(self.items)[:1])
        if (is_forward and is_end) or (not is_forward and not is_text and known.lead_to_texts):
            return None
        given, item_classes = self.view.classes_in(self.items), self.wanted.item_classes
        if not ((given and near) or is_called or (is_turned and not (known.are_mutual or self.kind))):  # nothing tells
            return None
        fits = not given.isdisjoint(near)  # of a named thing of another class it is simply not so
        fits = is_called or (fits and not (item_classes and far and item_classes.isdisjoint(far)))
        last, joint = self.fit.text(step.predicate).rpartition(" ")[2], self.rel.preposition
        others = self.lexicon.prepositions - {joint} if joint else self.lexicon.locatives  # won: not `awarded in`
        is_other = last in others and not {last, joint} <= self.lexicon.locatives - self.lexicon.moving
        if not fits and (is_open or is_other or (self.item is None and self.kind)):
            return None
        wanted = _W.of_class if self.classes else _W.item if self.item is not None else 0.0
        return wanted - (0.0 if fits else _W.misfit)

    def _doubts(self, way: PathFit) -> Iterator[Gap]:
        rel, is_far = self.rel, len(way.steps) > 1
        yield from left_out_at(way.left)
        if self._cost_of_head(way) and not way.left:  # what is asked for is on the way, and not at its end
            yield from left_out_at(rel.head[:1])
        last = self.fit.text(way.steps[-1].predicate)
        if way.steps[-1].is_forward and any(self.fit.is_of_other(last, noun) for noun in self.own.at(rel.head[-1:])):
            yield unsaid(last)
        if self.texts and is_far:
            free = way.steps if rel.role in {"where", "any"} else way.steps[:-1] if rel.role == "prep" else ()
            odd = [step for step in way.steps if step not in way.named and not (step in free and self._location(step))]
            if odd and (self.is_direct or (rel.role == "prep" and self._is_within) or self._goes_astray(way)):
                yield unsaid(self.fit.text(odd[0].predicate))
            own = [max(self.fit.phrase(self.texts, step.predicate)) for step in way.steps]
            if not way.hinted and not self.classes and max(own) < SAME:  # and no word of the question is in a label
                yield unsaid(last)
        elif is_far and (self.classes or rel.hints):
            is_silent = all(map(self._is_silent, way.steps[:-1]))
            if not (is_silent or self.view.joins(self.items, way.steps, self.classes, self.fit)):
                yield unsaid(last)
        for label in (self.fit.text(step.predicate) for step in way.steps):
            if self.fit.is_narrower(label, self.own.texts):
                yield unsaid(label)
            if (said := self.fit.unsaid(label, self.texts)) and not (label == last and self._of_sex(way)):
                yield unsaid(label, said)
        if way.direction <= _W.turned and self.view.vocabulary.silent.isdisjoint(step.predicate for step in way.steps):
            yield turned(last)
        is_told = self.texts or way.hinted or self.wanted.is_said or rel.role in {"where", "any"}
        if not is_told and not any(map(self._location, way.steps)):
            yield unsaid(last)

    def _is_silent(self, step: Step) -> bool:
        """Whether a step goes without saying: down what holds things, or where a preposition says so."""
        return step.predicate in self.view.vocabulary.silent or self.fit.goes_down(step) or bool(self._location(step))

    def _of_sex(self, way: PathFit) -> a.ItemSet | None:
        """Those that a path leads to whom a word for a man or a woman means: the sons of what children there are."""
        said = self.fit.unsaid(self.fit.text(way.last.step.predicate), self.texts)
        return self.view.of_sex(ends(self.items, way.path), said, self.lexicon)

    def denotation(self, way: PathFit) -> Denotation:
        """The set that a path leads to, of the class that is wanted."""
        how = (*self.given.how, Match(" ".join(self.texts) or self.rel.preposition, way.path))
        found, asked = self._of_sex(way) or ends(self.items, way.path), getattr(self.rel.wanted, "asked", "")
        items = a.Both((found, of_classes(self.classes))) if self.classes else found
        made = Denotation(items, self.given.score + way.score, self.given.doubts, asked=asked, how=how)
        return made.doubted(*way.doubts)
