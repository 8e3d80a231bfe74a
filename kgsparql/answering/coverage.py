"""What of a question a path accounts for, clause by clause: the rest is said, and is a doubt.

A word of a clause is used by the name of a step, of what the path goes through, or of the class of what was found. What
is found is of the kind that is asked for; what is to be computed, no path says. English only: of a question in another
language only names are checked, and that is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice

import numpy as np

from kgsparql.answering.answer import Retrieval
from kgsparql.answering.kinds_found import kinds_missed
from kgsparql.answering.plan_question import common_profiler, predicates_of
from kgsparql.answering.session import Session
from kgsparql.answering.unclear_names import SAME_WORD, ambiguous_names, missing_names
from kgsparql.dataclasses import dataclass, replace
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.label_matching import similarity
from kgsparql.linking.words import is_foreign, root, roots_of, stem, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.label_fit import LabelFit
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.weights import weights
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import Literal, Term, distinct, iris_in, normalised, printable, split_camel_case, zip_equal
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, RDF_TYPE, SUBCLASS_OF
from kgsparql.reading.form import Form, Link
from kgsparql.reading.gaps import Gap, known_elsewhere, left_out, other_kind, rival, turned, uncomputed, unsaid

_W = weights("left")
_SAMPLE = 20  # ends whose classes are looked up


def gaps(session: Session, found: Retrieval) -> tuple[Gap, ...]:
    """What of the question the best evidence does not account for, the gravest first."""
    asked = session.asked
    best = found.best_item
    if not session.links or not found.candidates:
        first = islice(() if is_foreign(session.question) else asked.operations(), 1)
        return tuple(uncomputed(said or text) for said, text in first)
    if best is None:
        return ()
    way = best.property_path  # further columns are beside what was asked for
    best = replace(best, paths=tuple(own for own in best.paths if own.property_path == way))
    return distinct(_Check(session, found, best, asked).gaps())


@dataclass(frozen=True)
class _Check:
    """The path of the best item beside the clauses."""

    session: Session
    found: Retrieval
    best: EvidenceItem
    asked: Form

    def gaps(self) -> Iterator[Gap]:
        """Everything that is left, the gravest first."""
        session, best, said = self.session, self.best, roots_of(self.steps)
        names = [*missing_names(session, best, self.asked.read, said), *ambiguous_names(session, self.found, best)]
        if is_foreign(session.question):
            yield from names
            yield left_out("what is no name")
        elif self.asked.is_definition and not self.telling:
            yield from names
            if not self._says_what_it_is() and said.isdisjoint(roots_of(self.asked.language.sorts["job"])):
                yield other_kind("what it is", "not that")
        else:
            named = {word for gap in names for word in words_of(gap.words)}
            kinds = islice(kinds_missed(self.asked, best, self.steps, session), 1)
            left = [*self._part_gaps(), *self._operation_gaps(), *names, *kinds]
            left += [*self._word_gaps(named), *self._step_gaps(), *self._pronoun_gaps()]
            left = [*{gap.words or gap.text: gap for gap in left}.values()]  # of one word the last doubt says more
            is_plain = not (self.telling or any(one.preposition for one in self.asked.relations))  # not what is on it
            is_settled = self.found.draft is not None or (self._says_what_it_is() and is_plain)
            yield from left or (() if is_settled else self._other_readings())  # a draft: somebody has chosen

    def _says_what_it_is(self) -> bool:
        return self.path.first_step.predicate in {*DESCRIPTIONS, RDF_TYPE, INSTANCE_OF, SUBCLASS_OF}

    # --- What was found

    @cached_property
    def path(self) -> PropertyPath:
        """The path of the best item."""
        return self.best.property_path

    @cached_property
    def steps(self) -> list[str]:
        """The names of its steps."""
        labels = self.session.compared_labels(self.path.predicates)
        return [split_camel_case(labels[predicate]) for predicate in self.path.predicates]

    @cached_property
    def kinds(self) -> list[str]:
        """The class at each place of it, the start's first; empty where the graph does not say."""
        return self._kinds_of(self.best)

    def _kinds_of(self, item: EvidenceItem) -> list[str]:
        groups = [[way.terms for way in item.paths if len(way.hops) == len(item.paths[0].hops)]]
        return self.session.compared_labels.majority_types(groups, in_grace=True)[0]

    @cached_property
    def names(self) -> list[str]:
        """What words may mean: the steps, the classes that they lead to, and all that the ends have in common."""
        along = [*self.steps, *filter(None, self.kinds[1:])]  # asked first: the ends are among them
        of_each = self.session.compared_labels.shared_types([[end] for end in self.best.ends[:_SAMPLE]])
        shared = set.intersection(*map(set, of_each)) if of_each else set()
        return [*distinct([*along, *sorted(shared)])]

    @cached_property
    def pieces(self) -> dict[int, tuple[int, ...]]:
        """The words in no name of the evidence, by their positions, each with the noun or verb that it is a part of."""
        chosen = () if self.found.draft is None else self.found.draft.answers[:1]  # to which several chains may lead
        items = (self.best, *self.found.evidence.keep(m for one in chosen for m in one.markers))
        there = {end for item in items for end in item.nodes}
        read, taken, others = self.asked.read, set[int](), set[int]()
        for link in self.session.links:
            is_given = link.matched in {"given", "same as"}
            is_there = is_given or any(one.term in there for one in (link, *link.likely_alternatives))
            places = read.positions_between(*link.mention.place)
            (taken if is_there else others).update(places)
        named = (one.span for one in read.chunks if any(name.term in there for name in one.entities))
        taken |= {p for span in named for p in span if p not in others}
        return {p: tuple(sorted({*own} - taken)) for own in self.asked.pieces for p in own if p not in taken}

    @cached_property
    def kinds_of_names(self) -> set[int]:
        """The words that say of what kind a thing is that is named after it: the *poem* Howl."""
        read, named = self.asked.read, (link.mention for link in self.session.links if link.matched == "exact")
        before = {at - 1 for one in named for at in read.positions_between(*one.place)[:1]}
        nouns = {p for p in before if p > 0 and read.raw[p].islower() and not self.texts[p].endswith("s")}
        return {p for p in nouns if self.texts[p - 1] in self.asked.language.determiners}

    @property
    def texts(self) -> Sequence[str]:
        """The words of the question."""
        return self.asked.texts

    @cached_property
    def telling(self) -> list[int]:
        """The positions of those of them that say what is asked."""
        return [p for p in sorted(self.pieces) if self.asked.tells(p)]

    def _pronoun_gaps(self) -> Iterator[Gap]:
        """The pronouns of a question in which nobody is named."""
        if all(link.kind in {"class", "predicate"} for link in self.session.links):
            yield from (left_out(self.texts[position]) for position in self.asked.pronouns)

    # --- Operations, and two questions in one

    def _part_gaps(self) -> Iterator[Gap]:
        """The questions in one of two, but for the one most like what was found; the columns that it has not."""
        said = roots_of(self.steps)
        columns = (self.asked.words(sorted(column.positions)) for column in self.asked.columns)
        yield from (left_out(text) for text in columns if said.isdisjoint(roots_of([text])))
        parts = self.asked.parts()
        alike = self.session.ranker.similarities(parts, self.names).max(axis=1, initial=0.0)
        yield from (left_out(part) for i, part in enumerate(parts) if i != int(alike.argmax()))

    @cached_property
    def operations(self) -> dict[str, str]:
        """The words that ask for something to be computed, and what they ask."""
        return dict(self.asked.operations())

    def _operation_gaps(self) -> Iterator[Gap]:
        """What is to be computed, if the best item does not state it."""
        own, ends = self.asked.language, self.best.ends
        is_number = self.asked.asks == "count" and all(map(_is_number, ends))
        for said, text in self.operations.items():
            is_only = len(ends) == 1 and (is_number or said in own.last_words or said in own.ordinals)
            is_stated = self.asked.asks != "ask" and root(said) in roots_of(self.steps)  # no yes: `is part of`
            is_stated &= self.asked.order is None  # no path is sorted, not even by sort
            if not (is_only or (said and is_stated)):
                yield uncomputed(said or text)

    # --- Words

    def _word_gaps(self, named: Collection[str]) -> Iterator[Gap]:
        """Words that no name on the path says or is like, and predicates of the graph that they name better.

        :param named: words of which another gap speaks.
        """
        texts, ranker = self.texts, self.session.ranker
        said = {p for p in self.pieces if self._is_said(p)}
        named_otherwise = (one for one in self.asked.read.chunks if one.entities and not one.classes)
        in_names = {p for one in named_otherwise for p in one.span if one.is_strong or p in self.asked.noun}
        is_met = self.path.goes_back or self.asked.is_shared(self.links)
        own = frozenset() if is_met else self.asked.language.share_verbs
        sharing = {p for p in self.pieces if texts[p] in own}  # with whom one shares something is no spouse
        left = sorted(({*self.telling} | sharing) - said - self.kinds_of_names)
        for p in (p for p in left if texts[p] not in named):
            word, alike = texts[p], 0.0 if p in in_names | sharing else self._likeness_of(p)
            other = self._named_otherwise(word, alike) if p == self.pieces[p][-1] else ""
            if other:
                yield known_elsewhere(other, word)
            elif (
                word.isdecimal()
                or p in in_names
                or (alike < self._least_for(p) if ranker.by_meaning else self._is_unnamed(p, said))
            ) and not self._changes_nothing(p, said):
                yield left_out(word)
        asked, phrase = self.asked, self.asked.phrase
        is_measured = any(self.fit.roots(own) <= roots_of(self.steps[-1:]) for own in asked.measures)  # how long
        is_asked = is_measured or phrase.asked or phrase.kinds or asked.asks != "set" or self._says_what_it_is()
        if not (self.telling or is_asked or any(one.classes for one in asked.read.chunks)):
            yield unsaid(self.steps[-1])

    def _changes_nothing(self, position: int, said: Collection[int]) -> bool:
        """Whether a word changes nothing: before a noun that is accounted for, where one thing was found.

        The step has no word that the question lacks, and no predicate has both: the `key` event, `offical` language.
        """
        word, own, piece = self.texts[position], self.asked.language, self.pieces[position]
        if word in own.time_adverbs or word in own.present_words:
            return True  # looked at where all is known that was found
        is_beside = position < piece[-1] and all(p in said for p in piece if p != position)
        if word in own.restrictive or not is_beside or len({*self.best.ends}) > 1 or self.session.linker is None:
            return False
        whole = {root(self.texts[p]) for p in piece}
        unsaid_words = self.fit.roots(self.steps[-1]) - whole - {root(word)}
        if word not in own.slight and any(similarity(word, one) < SAME_WORD for one in unsaid_words):
            return False  # the *goalkeeping* coach is no head coach
        rows = self.session.linker.search.offline().with_words([word, root(word)], limit=50)
        named = (row for row in rows if row.kind == "predicate" and whole <= roots_of([row.text]))
        return not any(named) and word not in {normalised(row.text) for row in rows}

    def _is_kind(self, position: int) -> bool:
        """Whether a word only says of what kind a value is: the `email address`, in which `year`, which `women`."""
        *others, last = self.pieces[position]
        is_kind = self.texts[position] in self.asked.language.kind_nouns and position == last
        return is_kind and (bool(others) or position in self.asked.noun)

    def _is_unnamed(self, position: int, said: Collection[int]) -> bool:
        """Whether a word names no step from its other end, no kind of what others say, and nothing in common."""
        is_shared = self.path.goes_back and self.asked.asks_for_others
        is_other_end = any(self.fit.is_other_end(self.texts[position], name) for name in self.steps)
        return not (is_shared or is_other_end or (said and self._is_kind(position)))

    def _least_for(self, position: int) -> float:
        """How like a step a word is at least: more where it alone says which attribute is asked for."""
        is_one = len(self.steps) == len(self._owned_nouns) == 1
        return _W.attribute if is_one and position in self._owned_nouns[0] else _W.near

    def _is_said(self, position: int) -> bool:
        """Whether a word is one of a step, of the class of what is at a place of the path, or of what it starts at."""
        text, start = self.texts[position], self.best.start
        own = {root(text), root(self.asked.language.irregular.get(text, text))}
        called = [link.label for link in self.session.links if link.term == start]  # the room temperature of Room 12
        times, named = self.asked.language.time_nouns, set(words_of(" ".join(self.names)))
        are_dates = all(isinstance(end, Literal) and literal_kind(end) == "date" for end in self.best.ends)
        is_of_time = not times.isdisjoint(named) or are_dates  # on what day; a date for a year
        return (
            (stem(text) in times and is_of_time)
            or not own.isdisjoint(roots_of([*self.names, *self.kinds[:1], *called]))
            or self._is_called(text)
        )

    def _likeness_of(self, position: int) -> float:
        """How like a step or class on the path a word is: by itself, with its piece, or as a verb with its object."""
        asked, piece = self.asked, self.pieces[position]
        objects = [one.object for one in asked.relations if set(piece) <= set(one.verb) and not one.preposition]
        wholes = [piece, *((*piece, *sorted(own.positions & self.pieces.keys())) for own in objects if own)]
        texts = [self.texts[position], *map(asked.words, wholes)]
        said, names = roots_of(self.texts[p] for p in {*piece} - {position}), [*map(self.fit.roots, self.names)]
        is_beside = not (said.isdisjoint(chain(*names)) or self._is_kind(position))
        alike = self.session.ranker.similarities(texts[:1] if is_beside else texts, self.names)
        for at, own in enumerate(names if is_beside else ()):  # a `vice president`, an `away` ground of a *home ground*
            if own & said:
                alike[:, at] *= own > said & own and alike[0, at] >= _W.attribute
        return float(alike.max(initial=0.0))

    def _rows_named(self, word: str) -> list[LabelRow]:
        """The names of predicates, aliases too, that have a word or are like it."""
        if self.session.linker is None:
            return []
        known = self.session.rows_named
        if word not in known:
            search = self.session.linker.search.offline()  # an endpoint is not asked for this
            others = self.asked.language.other_ends(word)
            rows = [*search.with_words([word, root(word), *others], limit=50), *search.like(word, limit=50)]
            known[word] = [row for row in rows if row.kind == "predicate"]
        return known[word]

    def _is_called(self, word: str) -> bool:
        """Whether a step has another name than its label that has a word: `author` is called `poet`."""
        own = {step.predicate.value for step in self.path.steps}
        return any(row.iri in own and root(word) in roots_of([row.text]) for row in self._rows_named(word))

    def _named_otherwise(self, word: str, on_path: float) -> str:
        """The predicate of the graph that a word names better than the path does; empty if there is none.

        One that leads to the same as the path says no more.
        """
        also = {
            item.paths[0].hops[0].triple.predicate
            for item in self.found.evidence
            if item.paths and {way.terms[1] for way in item.paths}.issuperset(self.best.ends)
        }
        others = self.asked.language.other_ends(word)
        names = {split_camel_case(row.text) for row in self._rows_named(word)}
        known = map(split_camel_case, self.session.compared_labels(also).values())
        labels = sorted(names.difference(known, self.steps))
        if not labels:
            return ""
        alike = self.session.ranker.similarities([word], labels)[0]
        said = [root(word)], *([root(other)] for other in others)
        same = [1.0 if [*self.fit.roots(label)] in said else 0.0 for label in labels]
        score, label = max(zip_equal(np.maximum(alike, same).tolist(), labels))
        return label if score >= _W.other and score > on_path + _W.nearer else ""

    # --- Steps

    @property
    def fit(self) -> LabelFit:
        """Compares words and names of predicates."""
        return self.session.label_fit

    @cached_property
    def links(self) -> list[Link]:
        """How the clauses join the start with what is asked for."""
        return self.asked.links_from(self.best.start)

    @cached_property
    def _owned_nouns(self) -> list[tuple[int, ...]]:
        """The nouns of a chain of possessions from the start on, each of a step."""
        return self.asked.owned_nouns(self.links)

    def _step_gaps(self) -> Iterator[Gap]:
        """Steps that go the other way than is asked, steps of which no word speaks, and more that are asked for."""
        fit, asked = self.fit, self.asked
        gone = len(self.path.steps)
        if gone < len(self._owned_nouns):
            yield left_out(printable(asked.words(self._owned_nouns[-1]), 60))
        for place, name in enumerate(self.steps):
            if fit.is_narrower(name, self.texts):
                yield unsaid(name)
            said = fit.unsaid(name, [self.texts[p] for p in self.pieces])
            if said and not self._are_all(said, place):
                yield unsaid(name, said)
        first = self.path.first_step
        said_of = (one.preposition for one in asked.relations if one.subject is not None and not one.verb)
        asks_where = asked.sort == "place" or not asked.language.locatives.isdisjoint(said_of)  # which floor
        if asks_where and fit.holds(first.predicate) and not fit.allows(first, "where", ""):
            yield turned(self.steps[0])
        for place, (step, link) in enumerate(zip(self.path.steps, self.links, strict=False)):
            is_one_kind = len(set(self.kinds[place : place + 2])) == 1
            if fit.is_turned(step, link[0], asked.said_by(link), is_one_kind=is_one_kind):
                yield turned(self.steps[place])
        if self.path.goes_back and not (len(self.links) > 1 or asked.asks_for_others):
            yield unsaid(self.steps[0])
        elif gone > 1 and (self.telling or self.operations):
            for name in self._unasked_steps():
                yield unsaid(name)

    def _are_all(self, said: str, place: int) -> bool:
        """Whether the graph says of all that a step leads to that they are what a word for a man or a woman means."""
        session, hops = self.session, (way.hops[place].triple for way in self.best.paths)
        ends = (one.object if self.path.steps[place].is_forward else one.subject for one in hops)
        nodes = a.Items(distinct(iris_in(ends)))
        profiler = Profiler(session.graph, session.vocabulary, common=common_profiler(session))
        view = KnownGraph(profiler, session.compared_labels, session.linker, predicates_of(session))
        such = view.of_sex(nodes, said, self.asked.language)
        return such is not None and not view.has_items(a.Minus(nodes, such))

    def _unasked_steps(self) -> list[str]:
        """The steps of a path that no word is left for, each word being used for one step."""
        texts = [self.texts[p] for p in self.pieces if p in self.telling or self._is_said(p)]
        texts += [word for said in self.operations for word in said.split()]
        texts += self.asked.language.sorts["place"][:1] if self.asked.sort == "place" else []
        named = dict.fromkeys(self.steps)
        alike = self.session.ranker.similarities([*named], texts)
        alike[np.array([[root(text) in roots_of([name]) for text in texts] for name in named], bool)] = 1.0
        left = dict.fromkeys(range(len(named)))
        for _ in range(min(alike.shape)):
            step, word = np.unravel_index(int(alike.argmax()), alike.shape)
            if alike[step, word] < _W.step:
                break
            left.pop(int(step), None)
            alike[step, :] = alike[:, word] = -1.0
        return [list(named)[i] for i in left]

    def _other_readings(self) -> Iterator[Gap]:
        """The first other item about the same thing that fits as well and leads elsewhere, not only less far.

        So does one that goes the first step the other way, where no word says which way is meant; and where words only
        say the class of what was found, one to the same class fits as well unless it is much less alike.
        """
        best, path, first = self.best, self.path, self.path.first_step
        says_way = not self.links or bool(self.fit.word_for(first, self.asked.said_by(self.links[0])))
        turned = path if says_way else PropertyPath((first.reversed, *path.steps[1:]))
        is_unsaid = {root(self.texts[p]) for p in self.telling} <= roots_of(self.kinds[-1:])
        start = best.start
        named = ({one.term, *(other.term for other in one.candidates)} for one in self.session.links)
        meant = {start}.union(*(terms for terms in named if start in terms))  # things of one name
        for item in self.found.evidence:
            if item.marker == best.marker or not item.paths or set(item.ends) == set(best.ends):
                continue
            other = item.property_path
            is_less_far = other.steps == path.steps[: len(other.steps)]
            is_elsewhere = item.start in meant and (not is_less_far or len(item.ends) > len(best.ends))
            is_alike = is_unsaid and len(other.steps) == len(path.steps)
            margin = _W.as_class if is_alike and self._kinds_of(item)[-1:] == self.kinds[-1:] else _W.as_well
            if is_elsewhere and (best.score - item.score < margin or other == turned != path):
                yield rival()
                return


def _is_number(term: Term) -> bool:
    return isinstance(term, Literal) and term.value.replace(".", "", 1).lstrip("-").isdecimal()
