"""How well predicate paths fit a question: an interpretable score, without training.

A score is a weighted sum: of how well the steps account for the words, in the order in which the clauses join them, of
the kind of answer, and of what speaks against a path.

Source: the project's own recipe; its parts and what each is worth are printed by ``benchmarks/path_weights.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np

from kgsparql.answering.session import Session, without_places
from kgsparql.evidence.verbalising import nested_text
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.ranking import Scores
from kgsparql.linking.words import root, stop_words, tokens
from kgsparql.plans.label_fit import NEAR, LabelFit
from kgsparql.plans.weights import weights
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import Labels, Term, zip_equal
from kgsparql.reading.form import Form, Link

WEIGHTS: Mapping[str, float] = vars(weights("path"))
"""What each part of a score counts for."""
_SIGNED = np.array([*WEIGHTS.values()])

_MAX_RUN_WORDS = 3  # words of a run of the question that one predicate is compared with
_OUT_OF_ORDER = -1.0  # what a path with more steps than the question has places counts for in the order of its steps
_DATE = "date year"  # the kind of literals that are dates

KindedPath: TypeAlias = tuple[PropertyPath, Sequence[str]]
"""A property path and what the terms along it are: one kind more than there are steps, the start's first."""


@dataclass(frozen=True)
class Start:
    """What paths start from, and the words of a question beside the things that it names.

    :param term: ``None`` where nothing is named; it stands at ``place``, as ``(start, end)`` in characters.
    :param mentions: places of everything that was linked.
    """

    asked: Form
    term: Term | None = None
    place: tuple[int, int] | None = None
    mentions: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, session: Session, about: LinkedEntity | Term) -> Start:
        """Take an entity of a session, or another that its mention may mean."""
        places: dict[Term, tuple[int, int]] = {e.term: e.mention.place for e in session.links}
        term = about.term if isinstance(about, LinkedEntity) else about
        if isinstance(about, LinkedEntity) and term not in places:
            start, end = about.mention.place
            places = {own: at for own, at in places.items() if at[1] <= start or end <= at[0]} | {term: (start, end)}
        named = {own: at for own, at in places.items() if at[0] >= 0}
        return cls(session.asked, term, named.get(term), tuple(named.values()))

    @cached_property
    def masked(self) -> str:
        """The question without the mentions: what is asked weighs more than about whom."""
        return without_places(self.asked.read.question, self.mentions)

    @cached_property
    def free(self) -> list[int]:
        """The positions of the words that are in no mention."""
        mentioned = {i for place in self.mentions for i in self._positions_in(place)}
        return [i for i in range(len(self.asked.texts)) if i not in mentioned]

    def _positions_in(self, place: tuple[int, int]) -> list[int]:
        return [i for i, one in enumerate(self.asked.read.tokens) if place[0] < one.end and one.start < place[1]]

    @cached_property
    def content(self) -> list[int]:
        """The positions of the words that ask for something."""
        return [i for i in self.free if self.asked.texts[i] not in stop_words()]

    @cached_property
    def _own_positions(self) -> range:
        own = [] if self.place is None else self._positions_in(self.place)
        return range(own[0], own[-1] + 1) if own else range(-1, 0)  # it is named by words that were read before

    @cached_property
    def ranks(self) -> list[int]:
        """The order in which words are read outwards from what the paths start from, all at once where it is not named.

        After `X's`, what follows belongs to X first, then what stands before; else the other way round:
        `the gender of X's parents` leads to the parents and then to their gender.
        """
        first, last, texts = self._own_positions.start, self._own_positions.stop - 1, self.asked.texts
        count = len(texts)
        if first < 0:
            return [0] * count
        is_owner = last + 1 < count and texts[last + 1] == self.asked.language.possessive
        before, after = (count, 0) if is_owner else (0, count)
        return [before + first - i if i < first else after + i - last for i in range(count)]

    @property
    def links(self) -> list[Link]:
        """How the clauses join it with what is asked for; nothing where it is not named."""
        return [] if self.term is None or self.place is None else self.asked.links_from(self.term)

    def asking_words(self, kind: str, fit: LabelFit) -> list[int]:
        """List the content words but for one beside the mention that only says what the mentioned thing is."""
        beside, texts = {self._own_positions.start - 1, self._own_positions.stop}, self.asked.texts
        return [i for i in self.content if i not in beside or fit.word(texts[i], kind.lower()) < NEAR]

    def without_types(self, names: Iterable[str]) -> Start:
        """Have `director` be no mention, but ask for something, where a predicate or kind is called so."""
        known = frozenset().union(*map(_content_roots, names))

        def is_said(own: tuple[int, int]) -> bool:
            text = self.asked.read.question[slice(*own)]
            return own != self.place and text.islower() and _content_roots(text) <= known

        return replace(self, mentions=tuple(own for own in self.mentions if not is_said(own)))

    def without_kind_of(self, kind: str) -> Start:
        """Return it without `kind of`, unless it is the kind of what the paths start from that is asked for.

        `what kind of film is X` asks for something else than a film, `what kind of films did she make` for films.
        """
        said, kinds, noun = self.asked.read.tokens, self.asked.phrase.kinds, self.asked.noun
        if not (kinds and noun) or _content_roots(self.asked.words(noun)) == _content_roots(kind):
            return self
        return replace(self, mentions=(*self.mentions, (said[kinds[0]].start, said[noun[0] - 1].end)))

    def phrases(self) -> list[tuple[str, int]]:
        """List runs of up to three free words from a content word on, and the rank of the first that is read."""
        free, content = set(self.free), set(self.content)
        runs = [range(i, i + length) for i in self.content for length in range(1, _MAX_RUN_WORDS + 1)]
        runs = [run for run in runs if free.issuperset(run) and (len(run) == 1 or content & {*run[1:]})]
        return [(self.asked.words(run), min(self.ranks[i] for i in run)) for run in runs]


def _content_roots(text: str) -> frozenset[str]:
    return frozenset(root(token.text) for token in tokens(text) if token.text not in stop_words())


def score_paths(start: Start, paths: Sequence[KindedPath], fit: LabelFit, *, worded: int = 20) -> Scores:
    """Score each path, with an array of shape ``(n_paths,)``; higher is better, comparable within one question.

    :param worded: of so many, the likeliest without it, the wording counts: it takes most of the time.
    """
    return np.asarray(path_features(start, paths, fit, worded=worded) @ _SIGNED)


def path_features(start: Start, paths: Sequence[KindedPath], fit: LabelFit, *, worded: int | None = None) -> Scores:
    """Return the parts of the score of each path, shape ``(n_paths, n_weights)``, in the order of ``WEIGHTS``.

    :param worded: of how many the wording is compared; of all, if ``None``.
    """
    if not paths:
        return np.zeros((0, len(WEIGHTS)))
    labels = fit.labels([step.predicate for path, _ in paths for step in path.steps])
    steps, start_kind = _NamedSteps(paths, labels), paths[0][1][0]
    start = start.without_types({*steps.names, *chain.from_iterable([kinds for _, kinds in paths])})
    start = start.without_kind_of(start_kind)
    asking = [start.asked.texts[i] for i in start.asking_words(start_kind, fit)]
    lengths, back = np.array([(len(path.steps), path.goes_back) for path, _ in paths]).T
    shares = start.asked.asks_for_others and not start.asked.is_shared(start.links)
    parts = {
        "wording": np.zeros(len(paths)),
        "covered": _coverage_scores(asking, steps, fit),
        "order": _order_scores(start.phrases(), steps, fit),
        "kind": _kind_scores(start, paths, labels, fit),
        "sharing": back * (1 if shares else -1),
        "dates": _off_for_dates(start, paths),
        "long": np.maximum(0, lengths - back * shares - max(1, len(asking))),  # to go back is to share
        **_chain_scores(start, paths, steps, fit),
    }
    found = np.column_stack([parts[name] for name in WEIGHTS])
    likely = np.argsort(-(found @ _SIGNED), kind="stable")[:worded]
    found[likely, [*WEIGHTS].index("wording")] = fit.ranker.rank(
        start.masked, [nested_text(path, kinds, labels) for path, kinds in (paths[i] for i in likely)]
    )
    return found


class _NamedSteps:
    """The distinct names of predicates, and which of them each step of each path has; -1 after the last step."""

    def __init__(self, paths: Sequence[KindedPath], labels: Labels) -> None:
        numbers = dict[str, int]()
        self.longest = max([len(path.steps) for path, _ in paths])
        self.of = np.full((len(paths), self.longest), -1)
        for i, (path, _) in enumerate(paths):
            for j, step in enumerate(path.steps):
                self.of[i, j] = numbers.setdefault(labels[step.predicate], len(numbers))
        self.names = list(numbers)


def _coverage_scores(words: Sequence[str], steps: _NamedSteps, fit: LabelFit) -> Scores:
    """Return the mean over the words of how well the best step accounts for each."""
    if not words:
        return np.zeros(len(steps.of))
    alike = fit.likeness(words, steps.names)
    padded = np.column_stack([alike, np.full(len(words), -np.inf)])  # the last column is for -1: no step
    best: Scores = padded[:, steps.of].max(axis=2).mean(axis=0)
    return best


def _order_scores(phrases: Sequence[tuple[str, int]], steps: _NamedSteps, fit: LabelFit) -> Scores:
    """Return the mean likeness of steps and phrases, where a later step is at a phrase that is read later."""
    of = steps.of
    if not phrases:
        return np.full(len(of), _OUT_OF_ORDER)
    alike = fit.likeness([text for text, _ in phrases], steps.names)
    ranks = sorted({rank for _, rank in phrases})
    at = np.array([ranks.index(rank) for _, rank in phrases])
    by_rank = np.stack([alike[at == r].max(axis=0) for r in range(len(ranks))], axis=1)  # a row for each name
    if len(ranks) == 1:
        best = np.append(by_rank[:, 0], 0.0)  # the last is for -1: no step
        return np.asarray(best[of].sum(axis=1) / (of >= 0).sum(axis=1))
    scores = np.zeros(len(of))
    before = np.zeros((len(of), len(ranks)))  # the best sum with all earlier steps before each rank
    for j in range(steps.longest):
        here = before + by_rank[of[:, j]]
        ends = of[:, j] >= 0
        best = here.max(axis=1) / (j + 1)
        scores = np.where(ends, np.where(np.isfinite(best), best, _OUT_OF_ORDER), scores)
        reached = np.maximum.accumulate(here, axis=1)
        before = np.column_stack([np.full(len(here), -np.inf), reached[:, :-1]])
    return scores


def _chain_scores(start: Start, paths: Sequence[KindedPath], steps: _NamedSteps, fit: LabelFit) -> dict[str, Scores]:
    """Return how well the steps are what the clauses say from the start on, how many are turned, and are lacking."""
    links, asked = start.links, start.asked
    if not links:
        return dict.fromkeys(("chain", "turned", "short"), np.zeros(len(paths)))
    owned, lengths = len(asked.owned_nouns(links)), np.array([len(path.steps) for path, _ in paths])
    said = [" ".join(reversed(asked.said_by(link))) for link in links]
    alike = np.column_stack([fit.likeness(said, steps.names), np.zeros(len(links))])
    found = sum((alike[i, steps.of[:, i]] for i in range(min(len(links), steps.longest))), np.zeros(len(paths)))

    @cache
    def is_turned(step: Step, link: Link, is_one_kind: bool) -> bool:  # thousands of paths have a few hundred steps
        return fit.is_turned(step, link[0], asked.said_by(link), is_one_kind=is_one_kind)

    ways = [zip(path.steps, links, itertools.pairwise(kinds), strict=False) for path, kinds in paths]
    turned = [sum(is_turned(step, link, near == far) for step, link, (near, far) in way) for way in ways]
    chained = found / np.maximum(lengths, max(1, len(links)))
    return {"chain": chained, "turned": np.array(turned), "short": np.maximum(0, owned - lengths)}


def _kind_scores(start: Start, paths: Sequence[KindedPath], labels: Labels, fit: LabelFit) -> Scores:
    """Tell how alike the kind that is asked for is to the ends: to their kind, or to what the last step calls them."""
    called = []
    for path, kinds in paths:
        last = path.last_step
        called.append((kinds[-1], labels[last.predicate] if last.is_forward else ""))
    names = [name for name in dict.fromkeys(chain.from_iterable(called)) if name]
    if not start.asked.kind or not names:
        return np.zeros(len(paths))
    alike = dict(zip_equal(names, fit.likeness([start.asked.kind], names)[0]))
    return np.array([max(alike.get(kind, 0.0), alike.get(name, 0.0)) for kind, name in called])


def _off_for_dates(start: Start, paths: Sequence[KindedPath]) -> Scores:
    """Tell what speaks against each where a question asks when, and its subject has dates of its own."""
    lengths = np.array([len(path.steps) for path, _ in paths])
    leads_to_dates = np.array([kinds[-1] == _DATE for _, kinds in paths], dtype=bool)
    if not start.asked.asks_time or not (leads_to_dates & (lengths == 1)).any():
        return np.zeros(len(paths))
    return np.where(leads_to_dates, np.maximum(0, lengths - max(1, len(start.links))), 1)  # of more than was named
