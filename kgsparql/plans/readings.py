"""Sets of items that words of a question may mean: things it names, and what paths from these lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsparql.evidence.term_labels import TermLabels
from kgsparql.linking.words import words
from kgsparql.plans import algebra as a
from kgsparql.plans.item_sets import both, classes_in, ends, is_yes_no, stated, turns_back, unfiltered
from kgsparql.plans.question_words import NEAR, Fit, QuestionWords, alike
from kgsparql.plans.set_profile import PredicateUse, Profiler
from kgsparql.rdf.terms import IRI, Literal, Term, normalised

_PLAIN_STEP = 0.08
"""What each step of a path costs beside the words it accounts for."""
_KIND_STEP = 0.15
"""What a step costs from an entity that is named as a kind, as in `the cheapest oscillator`, to what is of it."""
_SILENT_STEP = 0.4
"""What a step costs that no word of the question asks for."""
ACCOUNTED = 0.55
"""How well a word is accounted for, at least, that is asked for no more."""
RARE = 0.05
"""What a predicate costs that next to none of the items have."""
_KIND_FIT = 0.9
"""How well the class of what a predicate leads to accounts for a word, beside the predicate itself."""
_KINDS = 3
"""Classes of what a predicate leads to that are looked at."""
CHAINS = 12
"""Sets that are kept for each thing that is named."""
_EXPANDED = 5
"""Sets that are followed by another step."""


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """Something that words of a question name: an entity, a value, or a class.

    :param words: their places.
    :param others: that are named beside it as well: `in Paris or Rome`.
    """

    term: IRI | Literal
    words: frozenset[int]
    is_class: bool = False
    score: float = 1.0
    others: tuple[IRI | Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A set of items, and what of a question it accounts for.

    :param fit: for each word, how well.
    :param cost: what speaks against it: steps, above all those that nobody asks for.
    :param classes: what many of the items are.
    :param cues: what is asked to be done with it that is done, by number.
    :param kind: what its items are: nothing is reached from values.
    :param silent: steps that nothing in the question asks for.
    """

    items: a.ItemSet
    fit: Fit
    named: frozenset[NamedTerm] = frozenset()
    cost: float = 0.0
    classes: tuple[IRI, ...] = ()
    cues: frozenset[int] = frozenset()
    kind: a.Kind = "item"
    silent: int = 0

    @property
    def score(self) -> float:
        """The words that are accounted for and what is done that is asked, less what speaks against it."""
        return sum(self.fit.values()) + len(self.cues) - self.cost

    def more(self, fit: Fit, cost: float = 0.0) -> Reading:
        """The same, with more words accounted for."""
        return replace(self, fit=together(self.fit, fit), cost=self.cost + cost)


def together(one: Fit, other: Fit) -> Fit:
    """How well two names together account for words.

    >>> together({1: 0.5}, {1: 0.8, 2: 1.0})
    {1: 0.8, 2: 1.0}
    """
    return {i: max(one.get(i, 0.0), other.get(i, 0.0)) for i in sorted({*one, *other})}


@dataclass(slots=True)
class Reader:
    """Makes the readings of one question.

    :param asks_whether: the question wants a yes or no.
    :param after_cues: places right after the words that ask which, how many, or for the most.
    :param focus: those of them that do not come after a superlative.
    :param most: sets that may be looked at.
    """

    words: QuestionWords
    profiler: Profiler
    labels: TermLabels
    named: Sequence[NamedTerm]
    asks_whether: bool = False
    after_cues: frozenset[int] = frozenset()
    focus: frozenset[int] = frozenset()
    most: int = 60
    _looked: set[a.ItemSet] = field(default_factory=set)

    def uses(self, items: a.ItemSet) -> Sequence[tuple[PredicateUse, Fit]]:
        """The predicates of a set, with the words that each accounts for; none where too much was looked at."""
        whole = unfiltered(items)
        if whole not in self._looked:
            if len(self._looked) >= self.most:
                return ()
            self._looked.add(whole)
        found = self.profiler(whole).uses
        self.profiler.with_broader(kind for use in found for kind in use.classes[:_KINDS])  # all with one query
        kinds = {use: self._kinds(use) for use in found}
        names = self.labels([t for use in found for t in (use.step.predicate, *kinds[use])], in_grace=True)
        own = self.words.fits([names[use.step.predicate] for use in found])
        return [(use, together(fit, self._kind_fit(kinds[use], names))) for use, fit in zip(found, own, strict=True)]

    def _kinds(self, use: PredicateUse) -> list[IRI]:
        """The classes of what a predicate leads to, and those above them."""
        return list(self.profiler.with_broader(use.classes[:_KINDS]))

    def _kind_fit(self, kinds: Sequence[IRI], names: Mapping[Term, str]) -> Fit:
        best: Fit = {}
        for fit in self.words.fits([names[kind] for kind in kinds]):
            best = together(best, fit)
        return {i: round(_KIND_FIT * value, 3) for i, value in best.items()}

    def starts(self) -> list[Reading]:
        """The things that are named, as sets."""
        return [self._start(own) for own in self.named]

    def _start(self, own: NamedTerm) -> Reading:
        fit = dict.fromkeys(sorted(own.words), own.score)
        if own.is_class and isinstance(own.term, IRI):
            return Reading(a.Instances(own.term), fit, frozenset({own}), classes=(own.term,))
        classes = self.profiler(a.Items((own.term,))).classes if isinstance(own.term, IRI) else ()
        of_class = self.profiler.with_broader(classes) if own.others else classes
        kinds = [n for n in self.named if n.is_class and n.term in of_class]
        beside = {i for n in kinds for i in n.words if own.others or self._are_close(own, i)}
        fit.update(dict.fromkeys(sorted(beside - own.words), _KIND_FIT))
        return Reading(a.Items((own.term, *own.others)), fit, frozenset({own}), classes=classes)

    @staticmethod
    def _are_close(own: NamedTerm, place: int) -> bool:
        return any(abs(place - i) == 1 for i in own.words)

    def chains(self, start: Reading, *, hops: int = 2) -> list[Reading]:
        """A set, and what paths from it lead to, the likeliest first."""
        found, last = [start], [start]
        for _ in range(hops):
            last = sorted((s for one in last for s in self.steps(one)), key=_by_score)[:CHAINS]
            found += last
            last = last[:_EXPANDED]
        return [start, *sorted(found[1:], key=_by_score)[: 2 * CHAINS]]

    def steps(
        self, reading: Reading, sought: Sequence[str] = (), rest: frozenset[int] = frozenset()
    ) -> Iterator[Reading]:
        """What each predicate of a set leads to.

        A step that no word asks for must lead to things of a class: it may be on the way to what is asked for.

        :param sought: words for what is asked for, which the question does not have itself.
        :param rest: the words of the question one of which must then say what of it: `born` of `where was … born`.
        """
        if reading.kind != "item":
            return
        taken = {i for own in reading.named for i in own.words}
        for use, fit in self.uses(reading.items):
            new = {i: v for i, v in fit.items() if i not in taken and reading.fit.get(i, 0.0) < ACCOUNTED}
            if sought and use.kind != "text" and (use.kind == "item") == ("date" in sought):
                continue  # a place is no date, and no place is a time
            name = self.labels([use.step.predicate], in_grace=True)[use.step.predicate]
            is_sought = alike(name, sought, self.words.ranker) > NEAR and (not rest or not rest.isdisjoint(fit))
            if (not new and use.kind != "item" and not is_sought) or turns_back(reading.items, use):
                continue
            if self._comes_back(reading, use):
                continue
            if is_yes_no(use) and (self.asks_whether or not isinstance(reading.items, a.Items)):
                yield replace(reading.more(new), items=stated(reading.items, use, "true"))
                continue
            is_natural = use.step.direction == "inverse" and (self._is_kind(reading) or self._names_kind(use, reading))
            is_asked = max(new.values(), default=0.0) >= ACCOUNTED or is_sought
            cost = _PLAIN_STEP if is_asked else _KIND_STEP if is_natural else _SILENT_STEP
            yield replace(
                reading.more(new, cost + RARE * (1 - use.share)),
                items=ends(reading.items, use.path),
                classes=use.classes,
                kind=use.kind,
                silent=reading.silent + (cost == _SILENT_STEP),
            )

    def _comes_back(self, reading: Reading, use: PredicateUse) -> bool:
        """Whether a path that left the class it began with leads to it again: laureates of where laureates work."""
        begun = classes_in(reading.items.start) if isinstance(reading.items, a.Ends) else set()
        has_left = bool(reading.classes) and begun.isdisjoint(self.profiler.with_broader(reading.classes))
        return has_left and not begun.isdisjoint(self.profiler.with_broader(use.classes))

    def classes_at(self, places: frozenset[int]) -> set[IRI | Literal]:
        """The classes that words at these places name."""
        return {own.term for own in self.named if own.is_class and own.words & places}

    def is_of(self, reading: Reading, classes: set[IRI | Literal]) -> bool:
        """Whether what a reading is about is of one of these classes, as it was found or as many of its items are."""
        looked_at = self.profiler.profiles.get(unfiltered(reading.items))
        own = {*reading.classes, *classes_in(reading.items), *(looked_at.classes if looked_at else ())}
        return not classes.isdisjoint(self.profiler.with_broader(own))

    def _is_kind(self, reading: Reading) -> bool:
        """Whether an entity is named as a kind of things: right after `which`, `how many` or a superlative."""
        is_entity = isinstance(reading.items, a.Items)
        return is_entity and any(min(own.words, default=0) in self.after_cues for own in reading.named)

    def _names_kind(self, use: PredicateUse, reading: Reading) -> bool:
        """Whether a predicate is called by what kind of thing it leads to: `country` leads to countries."""
        names = self.labels([use.step.predicate, *reading.classes], in_grace=True)
        called = set(words(normalised(names[use.step.predicate])))
        return any(called & set(words(normalised(names[kind]))) for kind in reading.classes)

    def met(self, one: Reading, other: Reading) -> Reading | None:
        """What two readings have in common; ``None`` where they name the same, or are of unlike classes."""
        is_value = one.kind != "item" or other.kind != "item"
        if is_value or any(x.words & y.words for x in one.named for y in other.named) or one.cues & other.cues:
            return None
        if not self._are_alike(one, other):
            return None
        return Reading(
            both(one.items, other.items),
            together(one.fit, other.fit),
            one.named | other.named,
            one.cost + other.cost,
            one.classes or other.classes,
            one.cues | other.cues,
            silent=one.silent + other.silent,
        )

    def _are_alike(self, one: Reading, other: Reading) -> bool:
        for x, y in ((one, other), (other, one)):
            if isinstance(x.items, a.Items):
                # Whether an item is of a set, not which: it is of its classes, or among them where it has none.
                if not self.asks_whether or isinstance(y.items, a.Items):
                    return False
                return bool(set(x.classes) & set(y.classes)) or x.items.terms[0] in self.profiler.sample(y.items)
        narrower = [set(self.profiler.with_broader([c])) for r in (one, other) for c in r.classes]
        ours, theirs = narrower[: len(one.classes)], narrower[len(one.classes) :]
        return any(x & y for x in ours for y in theirs)


def _by_score(reading: Reading) -> tuple[float, int, str]:
    return -reading.score, len(str(reading.items)), str(reading.items)
