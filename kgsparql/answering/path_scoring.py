"""Scores of property paths: how well their words, the order of these, the kind of answer and the length fit.

Source: the project's own recipe; its parts and what each is worth are printed by ``benchmarks/path_weights.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.retriever import Within
from kgsparql.answering.session import ScoredQuestion
from kgsparql.evidence.verbalising import arrow_text, nested_text, reversed_text
from kgsparql.linking.answer_type import asks_for_others, expected_kind
from kgsparql.linking.ranking import BM25Ranker, Ranker
from kgsparql.linking.roles import asked_way, owned_chain, phrase_around
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import Term

_SAME_WORDS = 0.9  # how alike texts are at least of which all words have the same roots: `director`, `directed by`
_OUT_OF_ORDER = -1.0  # what a path with more steps than the question has places counts for in the order of its steps
_OTHER_WAY = 1.0  # taken off for each of the first two steps that goes along its predicate the other way than is asked
_TOO_SHORT = 0.3  # taken off for each step that a chain of possessions asks for beyond those of the path
_DATE = "date year"  # the kind of literals that are dates
_ASKS_DATE = frozenset({_DATE, "date", "year"})  # kinds that a question expects which asks when
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


def _text_likeness(texts: Sequence[str], names: Sequence[str], ranker: Ranker) -> NDArray[np.float64]:
    """Tell how alike texts and names are, shape ``(n_texts, n_names)``: in meaning, or in the words they share."""
    if not texts or not names:
        return np.zeros((len(texts), len(names)))
    return np.maximum(ranker.similarities(texts, names), _SAME_WORDS * BM25Ranker().similarities(texts, names))


def score_paths(
    question: ScoredQuestion,
    paths: Sequence[KindedPath],
    labels: Mapping[Term, str],
    ranker: Ranker,
    weights: Weights,
    *,
    worded: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Score each path, with an array of shape ``(n_paths,)``; higher is better, comparable within one question.

    Wordings of whole paths, which cost most of the time, are compared only where one has a weight.

    :param worded: the places of the paths whose wordings are compared; all of them, if ``None``.
    """
    is_worded = weights.nested or weights.arrow or weights.reversed
    scores = path_features(question, paths, labels, ranker, worded=worded if is_worded else ()) @ weights.signed
    starts = [path.steps[:2] for path, _ in paths]
    other_ways = {steps: len(steps_other_way(question, steps, labels)) for steps in set(starts)}
    scores -= _OTHER_WAY * np.array([other_ways[steps] for steps in starts])
    owned = len(owned_chain(question.question, question.about)) if question.about else 0
    scores -= _TOO_SHORT * np.array([max(0, owned - len(path.steps)) for path, _ in paths])
    return scores - _off_for_dates(question, paths)


def _off_for_dates(question: ScoredQuestion, paths: Sequence[KindedPath]) -> NDArray[np.float64]:
    """Return what is taken off where a question asks when, and its subject has dates of its own: these come first."""
    lengths = np.array([len(path.steps) for path, _ in paths])
    leads_to_dates = np.array([kinds[-1] == _DATE for _, kinds in paths], dtype=bool)
    if expected_kind(question.masked) not in _ASKS_DATE or not (leads_to_dates & (lengths == 1)).any():
        return np.zeros(len(paths))
    return np.where(leads_to_dates, _OTHERS_DATE * (lengths - 1), _NO_DATE)


def steps_other_way(question: ScoredQuestion, steps: Sequence[Step], labels: Mapping[Term, str]) -> list[Step]:
    """Return those of the first two steps that go along their predicates the other way than the question says."""
    about, found = question.about, []
    for step in steps[:2]:
        way = asked_way(question.question, about, labels[step.predicate]) if about else ""
        if way and way != step.direction:
            found.append(step)
        about = phrase_around(question.question, about) if about else None
    return found


def path_features(
    question: ScoredQuestion,
    paths: Sequence[KindedPath],
    labels: Mapping[Term, str],
    ranker: Ranker,
    *,
    worded: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Return the parts of the score of each path, shape ``(n_paths, 9)``, in the order of :class:`Weights`.

    :param worded: the places of the paths whose wordings are compared, all if ``None``; those of others count for
        nothing, which is less than for any wording that has to do with the question.
    """
    if not paths:
        return np.zeros((0, 9))
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
    for_others = asks_for_others(question.masked, names=len(question.mentions))
    return np.column_stack(
        [
            *ranked,
            _coverage_scores(question, words, steps, ranker),
            _order_scores(question, steps, ranker),
            _kind_scores(question, paths, labels, ranker),
            np.array([path.goes_back for path, _ in paths]) * (1.0 if for_others else -1.0),
            np.maximum(0, lengths - max(1, len(words))),
            np.maximum(0, lengths - max(1, question.runs(words))),
        ]
    )


class _NamedSteps:
    """The distinct names of predicates, and which of them each step of each path has; -1 after the last step."""

    def __init__(self, paths: Sequence[KindedPath], labels: Mapping[Term, str]) -> None:
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
    alike = _text_likeness([question.tokens[i].text for i in words], steps.names, ranker)
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
    question: ScoredQuestion, paths: Sequence[KindedPath], labels: Mapping[Term, str], ranker: Ranker
) -> NDArray[np.float64]:
    """Tell how alike the kind that is asked for is to the ends: to their kind, or to what the last step calls them."""
    expected, called = expected_kind(question.masked), []
    for path, kinds in paths:
        last = path.steps[-1]
        called.append((kinds[-1], labels[last.predicate] if last.direction == "forward" else ""))
    names = [name for name in dict.fromkeys(chain.from_iterable(called)) if name]
    if not expected or not names:
        return np.zeros(len(paths))
    alike = dict(zip(names, ranker.similarities([expected], names)[0], strict=True))
    return np.array([max(alike.get(kind, 0.0), alike.get(name, 0.0)) for kind, name in called])
