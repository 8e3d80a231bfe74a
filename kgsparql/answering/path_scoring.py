"""How well predicate paths fit a question: an interpretable score, without training.

A score is a weighted sum of how well the words, the order of these, the kind of answer and the length fit.

Source: the project's own recipe; its parts and what each is worth are printed by ``benchmarks/path_weights.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import chain
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.retriever import Within
from kgsparql.answering.session import Session, without_places
from kgsparql.evidence.verbalising import arrow_text, nested_text, reversed_text
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.ranking import BM25Ranker, Ranker
from kgsparql.linking.words import root, stop_words, tokens
from kgsparql.plans.label_fit import LabelFit
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import Labels, Term
from kgsparql.reading.form import Form, Link

_MAX_RUN_WORDS = 3  # words of a run of the question that one predicate is compared with
_REPEATS_KIND = 0.45  # how alike a word beside a mention and the kind of this are, so that the word asks for nothing
_SAME_WORDS = 0.9  # how alike texts are at least of which all words have the same roots: `director`, `directed by`
_OUT_OF_ORDER = -1.0  # what a path with more steps than the question has places counts for in the order of its steps
_OTHER_WAY = 1.0  # taken off for each step that goes along its predicate the other way than is asked
_TOO_SHORT = 0.3  # taken off for each step that a chain of possessions asks for beyond those of the path
_DATE = "date year"  # the kind of literals that are dates
_NO_DATE = 1.0  # taken off a path to something else than dates, where when is asked of what has dates of its own
_OTHERS_DATE = 0.15  # taken off a path to dates for each hop after the first, there
_WORDINGS = (nested_text, arrow_text, reversed_text)

Weight: TypeAlias = Annotated[float, Within(0, 10)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each part of a score counts for; the last two are taken off. The weights are options of path ranking.

    :param nested: weight of the path as a noun phrase.
    :param arrow: weight of the path as a chain.
    :param reversed: weight of the path read from its end.
    :param coverage: weight of how well the words of the question are covered.
    :param order: weight of the order of the words.
    :param kind: weight of the kind of answer that is asked for.
    :param sharing: weight of going back along a predicate exactly where the question asks for others with the same.
    :param words: taken off for each hop beyond the number of words.
    :param runs: taken off for each hop beyond the number of runs of words.
    """

    nested: Weight = 1.0
    arrow: Weight = 0.5
    reversed: Weight = 0.5
    coverage: Weight = 0.5
    order: Weight = 0.5
    kind: Weight = 0.5
    sharing: Weight = 0.2
    words: Weight = 0.1
    runs: Weight = 0.2

    @property
    def signed(self) -> NDArray[np.float64]:
        """The weights in the order of :func:`path_features`, what is taken off negative; shape ``(9,)``."""
        values = np.array([getattr(self, field.name) for field in fields(Weights)], dtype=np.float64)
        values[-2:] *= -1
        return values


UNWORDED = Weights(nested=0.0, arrow=0.0, reversed=0.0)

KindedPath: TypeAlias = tuple[PropertyPath, Sequence[str]]
"""A property path and what the terms along it are: one kind more than there are steps, the start's first."""


@dataclass(frozen=True)
class ScoredQuestion:
    """A question about one of the things it mentions.

    :param about: what the paths start from, and ``place`` where it stands, as ``(start, end)`` in characters; ``None``
        where the question does not say its name.
    :param mentions: places of everything that was linked.
    """

    asked: Form
    about: Term | None = None
    place: tuple[int, int] | None = None
    mentions: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, session: Session, about: LinkedEntity | Term) -> ScoredQuestion:
        """Take the question of a session as one about an entity, or about another that its mention may mean."""
        places: dict[Term, tuple[int, int]] = {e.term: (e.mention.start, e.mention.end) for e in session.links}
        term = about.term if isinstance(about, LinkedEntity) else about
        if isinstance(about, LinkedEntity) and term not in places:
            start, end = about.mention.start, about.mention.end
            places = {own: at for own, at in places.items() if at[1] <= start or end <= at[0]} | {term: (start, end)}
        named = {own: at for own, at in places.items() if at[0] >= 0}
        return cls(session.asked, term, named.get(term), tuple(named.values()))

    @cached_property
    def masked(self) -> str:
        """The question without the mentions: what is asked weighs more than about whom."""
        return without_places(self.asked.read.question, self.mentions)

    @property
    def texts(self) -> tuple[str, ...]:
        """The words of the question, those of mentions too."""
        return self.asked.read.texts

    @cached_property
    def free(self) -> list[int]:
        """The positions of the words that are in no mention."""
        mentioned = {i for place in self.mentions for i in self._positions_in(place)}
        return [i for i in range(len(self.texts)) if i not in mentioned]

    def _positions_in(self, place: tuple[int, int]) -> list[int]:
        return [i for i, one in enumerate(self.asked.read.tokens) if place[0] < one.end and one.start < place[1]]

    @cached_property
    def content(self) -> list[int]:
        """The positions of the words that ask for something."""
        stops = stop_words(("en",))
        return [i for i in self.free if self.texts[i] not in stops]

    @cached_property
    def _own_positions(self) -> range | None:
        own = [] if self.place is None else self._positions_in(self.place)
        return range(own[0], own[-1] + 1) if own else None

    @cached_property
    def ranks(self) -> list[int] | None:
        """The order in which words are read outwards from what the paths start from; ``None`` where that is not named.

        After `X's`, what follows belongs to X first, then what stands before; else the other way round:
        `the gender of X's parents` leads to the parents and then to their gender.
        """
        if self._own_positions is None:
            return None
        first, last, count = self._own_positions.start, self._own_positions.stop - 1, len(self.texts)
        is_owner = last + 1 < count and self.texts[last + 1] == self.asked.language.possessive
        before, after = (count, 0) if is_owner else (0, count)
        return [before + first - i if i < first else after + i - last for i in range(count)]

    def asking_words(self, kind: str, ranker: Ranker) -> list[int]:
        """List the content words but for one beside the mention that only says what the mentioned thing is."""
        own = self._own_positions
        beside = [] if own is None else [i for i in self.content if i in {own.start - 1, own.stop}]
        if not beside or not kind:
            return self.content
        alike = ranker.similarities([self.texts[i] for i in beside], [kind])[:, 0]
        dropped = {i for i, value in zip(beside, alike, strict=True) if value >= _REPEATS_KIND}
        return [i for i in self.content if i not in dropped]

    def without_types(self, names: Iterable[str]) -> ScoredQuestion:
        """Have `director` be no mention, but ask for something, where a predicate or kind is called so."""
        known = frozenset().union(*map(_content_roots, names))

        def is_said(own: tuple[int, int]) -> bool:
            text = self.asked.read.question[slice(*own)]
            return own != self.place and text.islower() and _content_roots(text) <= known

        places = tuple(own for own in self.mentions if not is_said(own))
        return replace(self, mentions=places) if places != self.mentions else self

    def without_kind_of(self, kind: str) -> ScoredQuestion:
        """Return the question without `kind of`, unless it is the kind of what the paths start from that is asked for.

        `what kind of film is X` asks for something else than a film, `what kind of films did she make` for films.
        """
        said, kinds, noun = self.asked.read.tokens, self.asked.phrase.kinds, self.asked.noun
        if not (kinds and noun) or _content_roots(self.asked.words(noun)) == _content_roots(kind):
            return self
        return replace(self, mentions=(*self.mentions, (said[kinds[0]].start, said[noun[0] - 1].end)))

    def runs(self, positions: Iterable[int]) -> int:
        """Count the runs of words that nothing stands between: no other word, no mention, no punctuation."""
        count, last = 0, None
        for i in positions:
            is_next = last == i - 1 and not self.asked.read.gaps[i - 1].strip()
            count, last = count + (not is_next), i
        return count

    def phrases(self) -> list[tuple[str, int]]:
        """List runs of up to three free words from a content word on, and the rank of the first that is read."""
        free, content = set(self.free), set(self.content)
        found = []
        for i in self.content:
            for length in range(1, _MAX_RUN_WORDS + 1):
                positions = range(i, i + length)
                if not free.issuperset(positions):
                    break
                if length == 1 or not content.isdisjoint(positions[1:]):
                    rank = 0 if self.ranks is None else min(self.ranks[place] for place in positions)
                    found.append((self.asked.words(positions), rank))
        return found


def _content_roots(text: str) -> frozenset[str]:
    stops = stop_words(("en",))
    return frozenset(root(token.text) for token in tokens(text) if token.text not in stops)


def score_paths(
    question: ScoredQuestion, paths: Sequence[KindedPath], fit: LabelFit, weights: Weights, *,
    worded: Sequence[int] | None = None,
) -> NDArray[np.float64]:  # fmt: skip
    """Score each path, with an array of shape ``(n_paths,)``; higher is better, comparable within one question.

    Wordings of whole paths, which cost most of the time, are compared only where one has a weight.

    :param worded: the places of the paths whose wordings are compared; all of them, if ``None``.
    """
    is_worded = weights.nested or weights.arrow or weights.reversed
    scores = path_features(question, paths, fit, worded=worded if is_worded else ()) @ weights.signed
    asked = question.asked
    links = asked.links_from(question.about) if question.about is not None and question.place is not None else []
    owned = len(asked.owned_nouns(links))

    @cache
    def is_turned(step: Step, link: Link, is_one_kind: bool) -> bool:  # thousands of paths have a few hundred steps
        return fit.is_turned(step, link[0], asked.said_by(link), is_one_kind=is_one_kind)

    ways = [zip(path.steps, links, itertools.pairwise(kinds), strict=False) for path, kinds in paths]
    turned = [sum(is_turned(step, link, near == far) for step, link, (near, far) in way) for way in ways]
    scores -= _OTHER_WAY * np.array(turned)
    scores -= _TOO_SHORT * np.array([max(0, owned - len(path.steps)) for path, _ in paths])
    return scores - _off_for_dates(question, paths)


def _off_for_dates(question: ScoredQuestion, paths: Sequence[KindedPath]) -> NDArray[np.float64]:
    """Return what is taken off where a question asks when, and its subject has dates of its own: these come first."""
    lengths = np.array([len(path.steps) for path, _ in paths])
    leads_to_dates = np.array([kinds[-1] == _DATE for _, kinds in paths], dtype=bool)
    if not question.asked.asks_time or not (leads_to_dates & (lengths == 1)).any():
        return np.zeros(len(paths))
    return np.where(leads_to_dates, _OTHERS_DATE * (lengths - 1), _NO_DATE)


def path_features(
    question: ScoredQuestion, paths: Sequence[KindedPath], fit: LabelFit, *, worded: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Return the parts of the score of each path, shape ``(n_paths, 9)``, in the order of :class:`Weights`.

    :param worded: the places of the paths whose wordings are compared, all if ``None``; those of others count for
        nothing, which is less than for any wording that has to do with the question.
    """
    if not paths:
        return np.zeros((0, 9))
    ranker, labels = fit.ranker, fit.labels([step.predicate for path, _ in paths for step in path.steps], in_grace=True)
    steps = _NamedSteps(paths, labels)
    start_kind = paths[0][1][0]
    question = question.without_types({*steps.names, *chain.from_iterable([kinds for _, kinds in paths])})
    question = question.without_kind_of(start_kind)
    places = range(len(paths)) if worded is None else worded
    wordings = [say(*paths[i], labels) for say in _WORDINGS for i in places]
    ranked = np.zeros((len(_WORDINGS), len(paths)))
    ranked[:, list(places)] = ranker.rank(question.masked, wordings).reshape(len(_WORDINGS), len(places))
    words = question.asking_words(start_kind, ranker)
    lengths = np.array([len(path.steps) for path, _ in paths])
    return np.column_stack(
        [
            *ranked,
            _coverage_scores(question, words, steps, ranker),
            _order_scores(question, steps, ranker),
            _kind_scores(question, paths, labels, ranker),
            np.array([path.goes_back for path, _ in paths]) * (1.0 if question.asked.asks_for_others else -1.0),
            np.maximum(0, lengths - max(1, len(words))),
            np.maximum(0, lengths - max(1, question.runs(words))),
        ]
    )


def _text_likeness(texts: Sequence[str], names: Sequence[str], ranker: Ranker) -> NDArray[np.float64]:
    """Tell how alike texts and names are, shape ``(n_texts, n_names)``: in meaning, or in the words they share."""
    if not texts or not names:
        return np.zeros((len(texts), len(names)))
    return np.maximum(ranker.similarities(texts, names), _SAME_WORDS * BM25Ranker().similarities(texts, names))


class _NamedSteps:
    """The distinct names of predicates, and which of them each step of each path has; -1 after the last step."""

    def __init__(self, paths: Sequence[KindedPath], labels: Labels) -> None:
        numbers: dict[str, int] = {}
        self.longest = max([len(path.steps) for path, _ in paths])
        self.of = np.full((len(paths), self.longest), -1)
        for i, (path, _) in enumerate(paths):
            for j, step in enumerate(path.steps):
                self.of[i, j] = numbers.setdefault(labels[step.predicate], len(numbers))
        self.names = list(numbers)


def _coverage_scores(
    question: ScoredQuestion, words: Sequence[int], steps: _NamedSteps, ranker: Ranker
) -> NDArray[np.float64]:
    """Return the mean over the words of how alike the most alike step is."""
    if not words:
        return np.zeros(len(steps.of))
    alike = _text_likeness([question.texts[i] for i in words], steps.names, ranker)
    padded = np.column_stack([alike, np.full(len(words), -np.inf)])  # the last column is for -1: no step
    best: NDArray[np.float64] = padded[:, steps.of].max(axis=2).mean(axis=0)
    return best


def _order_scores(question: ScoredQuestion, steps: _NamedSteps, ranker: Ranker) -> NDArray[np.float64]:
    """Return the mean likeness of steps and phrases, where a later step is at a phrase that is read later."""
    phrases = question.phrases()
    if not phrases:
        return np.full(len(steps.of), _OUT_OF_ORDER)
    alike = _text_likeness([text for text, _ in phrases], steps.names, ranker)
    ranks = sorted({rank for _, rank in phrases})
    at = np.array([ranks.index(rank) for _, rank in phrases])
    by_rank = np.stack([alike[at == r].max(axis=0) for r in range(len(ranks))], axis=1)  # a row for each name
    if question.ranks is None:
        best = np.append(by_rank.max(axis=1), 0.0)  # the last is for -1: no step
        return np.asarray(best[steps.of].sum(axis=1) / (steps.of >= 0).sum(axis=1))
    scores = np.zeros(len(steps.of))
    before = np.zeros((len(steps.of), len(ranks)))  # the best sum with all earlier steps before each rank
    for j in range(steps.longest):
        here = before + by_rank[steps.of[:, j]]
        ends = steps.of[:, j] >= 0
        best = here.max(axis=1) / (j + 1)
        scores = np.where(ends, np.where(np.isfinite(best), best, _OUT_OF_ORDER), scores)
        reached = np.maximum.accumulate(here, axis=1)
        before = np.column_stack([np.full(len(here), -np.inf), reached[:, :-1]])
    return scores


def _kind_scores(
    question: ScoredQuestion, paths: Sequence[KindedPath], labels: Labels, ranker: Ranker
) -> NDArray[np.float64]:
    """Tell how alike the kind that is asked for is to the ends: to their kind, or to what the last step calls them."""
    expected, called = question.asked.kind, []
    for path, kinds in paths:
        last = path.steps[-1]
        called.append((kinds[-1], labels[last.predicate] if last.direction == "forward" else ""))
    names = [name for name in dict.fromkeys(chain.from_iterable(called)) if name]
    if not expected or not names:
        return np.zeros(len(paths))
    alike = dict(zip(names, ranker.similarities([expected], names)[0], strict=True))
    return np.array([max(alike.get(kind, 0.0), alike.get(name, 0.0)) for kind, name in called])
