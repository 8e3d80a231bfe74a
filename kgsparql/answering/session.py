"""Everything that belongs to one question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.choosing import Candidate, Chooser, ModelChooser, RankerChooser, wording_scores
from kgsparql.answering.path_scoring import Weights, WordedPath, path_scores
from kgsparql.answering.scored_question import ScoredQuestion
from kgsparql.budget import Usage
from kgsparql.errors import BudgetExceededError, ModelReplyError
from kgsparql.events import Emit, EntitiesLinked, Event, FallbackUsed
from kgsparql.evidence.notes import Fallback, Notes
from kgsparql.evidence.same_as import Same
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.evidence.verbalising import nested_text
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Cut
from kgsparql.linking.linked_entity import LinkedEntity, Mention
from kgsparql.linking.linker import Linker
from kgsparql.linking.passages import Passages
from kgsparql.linking.ranking import Ranker
from kgsparql.linking.words import place_of
from kgsparql.models.chat_completion import Call
from kgsparql.rdf.paths import Directions, PropertyPath
from kgsparql.rdf.terms import IRI, Term

if TYPE_CHECKING:
    from kgsparql.models.language_model import LanguageModel

T = TypeVar("T")

_KEPT = "the last model call of the budget is kept for the answer"


@dataclass(slots=True, kw_only=True)
class Session:
    """One question on its way: the graph, who links, ranks and chooses, and the notes for the reader of its answer.

    A retriever takes its options from its own fields and everything else from here. It never asks whether there is a
    model: ``choose`` and :meth:`ask_model` do what can be done.

    :param labels: of the terms of the graph; with it come the graph, metered, and the notes.
    :param model: who is asked; ``None`` for nobody.
    :param chooser: who chooses, if it is neither the model nor, without one, the ranker.
    :param own_words: the question as it was asked, where :attr:`question` is another wording for a while: what is
        linked, and what an answer is written to.
    :param given: entities named by the caller; then nothing is linked.
    :param links: the entities of the question, as the first step of the pipeline has found them.
    :param same: what one of several graphs says is the same as a linked entity.
    :param passages: of documents that were indexed with the graph, if any were.
    :param rounds: model calls that waited for each other: the longest chain so far.
    :param kept_a_call: a choice or a judgement was not the model's, because its call was kept for the answer.
    """

    question: str
    labels: TermLabels
    linker: Linker | None
    ranker: Ranker
    model: LanguageModel | None = None
    chooser: Chooser | None = None
    allow_model_knowledge: bool = False
    complete: bool = True
    own_words: str = ""
    given: tuple[IRI, ...] = ()
    links: tuple[LinkedEntity, ...] = ()
    same: tuple[Same, ...] = ()
    passages: Passages = field(default_factory=Passages)
    direction: Directions = "both"
    seed: int = 0
    rounds: int = 0
    kept_a_call: bool = False
    random: Random = field(init=False)
    ranked: RankerChooser = field(init=False)
    choose: Chooser = field(init=False)

    def __post_init__(self) -> None:
        self.own_words = self.own_words or self.question
        seed = hashlib.sha256(f"{self.seed}\n{self.own_words}".encode()).digest()
        self.random = Random(seed)  # noqa: S311 - for samples that are the same on every machine, not for secrets
        self.ranked = RankerChooser(self.ranker, self.emit)
        if self.chooser is not None:
            self.choose = self.chooser
        elif self.model is not None:
            self.choose = ModelChooser(self.ask_model, self.ranked, self.emit, self.model.name, self.fall_back)
        else:
            self.choose = self.ranked

    @property
    def graph(self) -> MeteredGraph:
        """The graph, with every query counted."""
        return self.labels.graph

    @property
    def notes(self) -> Notes:
        """What the reader of the answer should know."""
        return self.labels.notes

    @property
    def usage(self) -> Usage:
        """What the question has cost so far, and may cost."""
        return self.graph.usage

    @property
    def emit(self) -> Emit:
        """Takes the events of the question."""
        return self.graph.emit

    def unlimited(self) -> Session:
        """The same question, with the graph asked however little of the budget is left."""
        return replace(self, labels=self.labels.unlimited())

    def branch(self, emit: Emit) -> Session:
        """The same question for a step beside others, with events, notes and fallbacks of its own."""
        graph = replace(self.graph, emit=emit)
        return replace(self, labels=replace(self.labels, graph=graph, notes=self.notes.branch(graph)))

    def within_budget(self) -> AbstractContextManager[None]:
        """A step that may end early: when the budget is spent, or an endpoint gone, what was found so far stands."""
        return self.notes.within_budget()

    def fall_back(self, purpose: str, reason: str) -> None:
        """Count something that was done in the second-best way."""
        self.notes.fall_back(purpose, reason)

    def note_cuts(self, cuts: Iterable[Cut]) -> None:
        """Have the reader know what a limit left out."""
        self.notes.add_cuts(cuts)

    def set_links(self, links: tuple[LinkedEntity, ...]) -> None:
        """Take these for what the question is about."""
        self.links = links
        entities = tuple((e.mention.text, str(e.term), e.label, round(e.score, 4), e.matched) for e in links)
        self.emit(EntitiesLinked(entities=entities))

    def link(self) -> tuple[LinkedEntity, ...]:
        """:attr:`links`, as methods of other packages call them that were written for earlier versions."""
        return self.links

    def ask_model(self, call: Call[T], *, required: bool = False) -> T | None:
        """What the model says; ``None`` if there is no model, or its reply is of no use: do the second-best thing then.

        :param required: a reply of no use is an error, too.
        :raises ModelReplyError: for such a reply.
        :raises ModelError: if the server cannot be reached, fails or refuses.
        :raises BudgetExceededError: if the call could go over the budget.
        """
        if self.model is None:
            return None
        self.rounds += 1
        try:
            return self.model.ask(call, self.usage, self._hear)
        except BudgetExceededError:
            self.rounds -= 1  # there was no call
            raise
        except ModelReplyError as error:
            self.fall_back(call.purpose, f"{error.message} [{error.code}]")
            if required:
                raise
            return None

    def _hear(self, event: Event) -> None:
        """Pass on an event of the model's client; its fallbacks, such as an option that a server refuses, count."""
        if isinstance(event, FallbackUsed):
            fallback = Fallback(event.purpose, event.reason)
            self.notes.fallbacks += [] if fallback in self.notes.fallbacks else [fallback]
        self.emit(event)

    @property
    def reads_lists(self) -> bool:
        """Whether a model or an oracle chooses from lists; else the ranker takes the best."""
        return self.model is not None or self.chooser is not None

    def can_spare_call(self, purpose: str) -> bool:
        """Whether the model may be asked for this: the last call that the budget holds is kept for the answer.

        That a call is not made is counted as a fallback.
        """
        left = self.usage.calls_left
        if self.model is None or left is None or left > 1:
            return True
        self.kept_a_call = True
        self.fall_back(purpose, _KEPT)
        return False

    @contextmanager
    def with_rewritten_question(self, question: str) -> Iterator[None]:
        """The question in other words, for what is ranked and chosen meanwhile; linked and answered are its own."""
        before, self.question = self.question, question
        try:
            yield
        finally:
            self.question = before

    def _place(self, mention: Mention) -> tuple[int, int]:
        """Where the question, in the words it has now, says a mention; before its beginning, if nowhere."""
        if self.question == self.own_words:
            return mention.start, mention.end
        return place_of(mention.text, self.question) or (-1, -1)

    def score(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        """How well each candidate fits the question, shape ``(n_candidates,)``.

        The mentions that were linked are left out of the question: what is asked weighs more than about whom.
        """
        return wording_scores(self.ranker, self.masked_question, candidates) if candidates else np.zeros(0)

    def fit(self, expected: str, kinds: Sequence[str]) -> list[float]:
        """How well each kind of term fits the kind the question expects, in [0, 1]; 0 where either is not known."""
        distinct = [kind for kind in dict.fromkeys(kinds) if kind]
        if not expected or not distinct:
            return [0.0] * len(kinds)
        scores = dict(zip(distinct, np.clip(self.ranker.rank(expected, distinct), 0.0, 1.0), strict=True))
        return [float(scores.get(kind, 0.0)) for kind in kinds]

    @property
    def masked_question(self) -> str:
        """The question without the mentions that were linked."""
        return self.scored_question().masked

    def scored_question(self, about: LinkedEntity | Term | None = None) -> ScoredQuestion:
        """The question without its mentions, as one about this linked entity, or another that its mention may mean."""
        places = {link.term: self._place(link.mention) for link in self.links}
        place = None if about is None else places.get(about.term if isinstance(about, LinkedEntity) else about)  # type: ignore[arg-type]
        if isinstance(about, LinkedEntity) and place is None:
            place = self._place(about.mention)
            places = {term: own for term, own in places.items() if own[1] <= place[0] or place[1] <= own[0]}
            places[about.term] = place
        named = tuple(own for own in places.values() if own[0] >= 0)
        return ScoredQuestion(self.question, named, place if place in named else None)

    def path_candidates(
        self,
        paths: Sequence[tuple[PropertyPath, Sequence[str]]],
        *,
        about: LinkedEntity | Term,
        weights: Weights | None = None,
        words: Mapping[Term, str] = MappingProxyType({}),
        texts: Sequence[str] = (),
        worded: Sequence[int] | None = None,
    ) -> list[Candidate]:
        """Property paths from a linked entity as numbered candidates, from 0, scored as wholes against the question.

        :param paths: each with the kinds along it: one more than it has steps, empty where a kind is not known.
        :param words: of predicates, to be compared with the question in place of their labels.
        :param texts: what a model reads of each; the paths in words without any.
        :param worded: the places of the paths whose wordings are compared with the question; all of them, if ``None``.
        """
        own = [WordedPath(path, tuple(kinds)) for path, kinds in paths]
        named = self.labels((step.predicate for path, _ in paths for step in path.steps), in_grace=True)
        question, labels = self.scored_question(about), {**named, **words}
        scores = path_scores(question, own, labels, self.ranker, weights or Weights(), worded=worded)
        shown = texts or [nested_text(p.path, p.kinds, named) for p in own]
        return [
            Candidate(i, text, score=float(score), path=p.path)
            for i, (p, text, score) in enumerate(zip(own, shown, scores, strict=True))
        ]
