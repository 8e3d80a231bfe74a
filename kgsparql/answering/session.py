"""Everything that belongs to one question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.answer import Fallback
from kgsparql.answering.choosing import Candidate, Chooser, ModelChooser, RankerChooser, wording_scores
from kgsparql.answering.notes import link_notes, missing_notes
from kgsparql.answering.path_scoring import Asked, Weights, WordedPath, path_scores
from kgsparql.budget import Usage
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, ModelReplyError
from kgsparql.events import EntitiesLinked, Event, FallbackUsed
from kgsparql.evidence.same_as import Same, same_as
from kgsparql.evidence.term_labels import TermNames
from kgsparql.evidence.verbalising import nested_text
from kgsparql.linking.linked_entity import LinkedEntity, Mention
from kgsparql.linking.linker import Linker
from kgsparql.linking.passages.passages import Passages
from kgsparql.linking.ranking import Ranker
from kgsparql.linking.words import place_of
from kgsparql.models.chat_completion import Call
from kgsparql.models.language_model import LanguageModel
from kgsparql.rdf.paths import Directions, PropertyPath
from kgsparql.rdf.terms import IRI, Term, local_name, printable

__all__ = ["Session"]

T = TypeVar("T")

_ASIDE = 0.25
"""Of the time of a question, for each query to find equivalents: most questions are answered without any."""

_LOOKED = "looking for what graphs say is the same:"
_KEPT = "the last model call of the budget is kept for the answer"


@dataclass(slots=True, kw_only=True)
class Session(TermNames):
    """One question on its way: the graph (metered), who links, ranks and chooses, the budget, and what to tell.

    A retriever takes its options from its own fields and everything else from here. It never asks whether there is a
    model: ``choose`` and :meth:`ask_model` do what can be done.

    :param model: who is asked; ``None`` for nobody.
    :param chooser: who chooses, if it is neither the model nor, without one, the ranker.
    :param allow_model_knowledge: where the graph has no answer, a model's own may be shown, labelled as such.
    :param complete: follow a way that was chosen to every answer on it, not only to those that were met.
    :param own_words: the question as it was asked, where :attr:`question` is another wording for a while: what is
        linked, and what an answer is written to.
    :param given: entities named by the caller; then nothing is linked.
    :param passages: of documents that were indexed with the graph, if any were.
    :param rounds: model calls that waited for each other: the longest chain so far.
    :param same: what one of several graphs says is the same as a linked entity.
    :param random: seeded by the seed and the question.
    """

    question: str
    linker: Linker | None
    ranker: Ranker
    usage: Usage
    model: LanguageModel | None = None
    chooser: Chooser | None = None
    allow_model_knowledge: bool = False
    complete: bool = True
    own_words: str = ""
    given: tuple[IRI, ...] = ()
    passages: Passages = field(default_factory=Passages)
    direction: Directions = "both"
    seed: int = 0
    rounds: int = 0
    same: tuple[Same, ...] = ()
    random: Random = field(init=False)
    ranked: RankerChooser = field(init=False)
    choose: Chooser = field(init=False)
    _links: tuple[LinkedEntity, ...] | None = None
    _found: tuple[LinkedEntity, ...] | None = None

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
            return self.model.ask(call, self.usage, self._heard)
        except BudgetExceededError:
            self.rounds -= 1  # there was no call
            raise
        except ModelReplyError as error:
            self.fall_back(call.purpose, f"{error.message} [{error.code}]")
            if required:
                raise
            return None

    def _heard(self, event: Event) -> None:
        """Tell what the model's client tells; a fallback of its own, such as an option the server refuses, is kept."""
        if isinstance(event, FallbackUsed) and (told := Fallback(event.purpose, event.reason)) not in self.fallbacks:
            self.fallbacks.append(told)
        self.emit(event)

    def can_spare_call(self, purpose: str) -> bool:
        """Whether the model may be asked for this: the last call that the budget holds is kept for the answer.

        That a call is not made is counted as a fallback.
        """
        left = self.usage.calls_left
        if self.model is None or left is None or left > 1:
            return True
        self.fall_back(purpose, _KEPT)
        return False

    @property
    def kept_a_call(self) -> bool:
        """Whether a choice or a judgement was not the model's, because its call was kept for the answer."""
        return any(fallback.reason == _KEPT for fallback in self.fallbacks)

    def link(self, mentions: Sequence[tuple[str, bool]] | None = None) -> tuple[LinkedEntity, ...]:
        """The entities of the question: those given, else those the linker finds; the same at every call.

        :param mentions: what a model takes for names in the question, and whether each names a type; ``None`` leaves
            it to the linker to find them.
        """
        if self._links is None:
            if self.given:
                named = self.labels(self.given, in_grace=True)
                self._links = tuple(
                    LinkedEntity(
                        term=term, label=named[term], score=1.0, kind="entity", matched="given",
                        mention=self._mention(named[term]),
                    )
                    for term in dict.fromkeys(self.given)
                )  # fmt: skip
            else:
                self._links = ()
                with self.within_budget():
                    own = self.linker.link(self.own_words, mentions) if self.linker and mentions else self._named()
                    self._links = own
                    self._note_links(self._links, mentions)
            self._labels.update({e.term: e.label for e in self._links if e.label != local_name(e.term)})
            self._links += self._equivalents(self._links)
            self.emit(
                EntitiesLinked(
                    entities=tuple(
                        (e.mention.text, str(e.term), e.label, round(e.score, 4), e.matched) for e in self._links
                    )
                )
            )
        return self._links

    def _equivalents(self, links: Sequence[LinkedEntity]) -> tuple[LinkedEntity, ...]:
        """What one of several graphs says is the same as a linked entity: an entity of its own, as well as that one."""
        if len(self.graph.members) == 1 or not links:
            return ()
        limit_s = self.usage.budget.max_seconds
        aside = self.graph.optional(None if limit_s is None else limit_s * _ASIDE)
        before = aside.failures
        with self.within_budget():
            try:
                found = same_as(aside, [link.term for link in links])
            except GRAPH_FAILED as error:
                self.notes.append(f"{_LOOKED} {error.message}")
            else:
                self.note_cuts(found.cuts)
                self.same = found.items
                self.notes.extend(f"{_LOOKED} {line}" for line in aside.failures if line not in before)
        named = self.labels((same.other for same in self.same), in_grace=True)
        of = {link.term: link for link in links}
        known = {same.other: of[same.term] for same in reversed(self.same)}
        return tuple(
            LinkedEntity(
                term=other, label=named[other], score=link.score, kind=link.kind, matched="same as",
                mention=link.mention,
            )
            for other, link in reversed(known.items())
        )  # fmt: skip

    def _note_links(self, links: Sequence[LinkedEntity], mentions: Sequence[tuple[str, bool]] | None) -> None:
        """What the reader should know of the links, and of names in the question that have none."""
        self.notes.extend(link_notes(links))
        if self.linker is None:
            return
        if links:
            self.notes.extend(missing_notes(self.linker.unlinked_names(self.own_words, links, mentions)))
        elif near := self.linker.suggest(self.own_words):
            self.notes.append(f"did you mean: {'; '.join(printable(entity.label, 60) for entity in near)}?")
        self.notes.extend(self.linker.notes(links))

    def _mention(self, label: str) -> Mention:
        place = place_of(label, self.own_words)
        return Mention("", -1, -1) if place is None else Mention(self.own_words[slice(*place)], *place)

    def _named(self) -> tuple[LinkedEntity, ...]:
        """What the linker finds in the question by itself; it is asked once."""
        if self._found is None:
            self._found = self.linker.link(self.own_words) if self.linker else ()
        return self._found

    def names(self) -> list[str]:
        """The names that the question has, as it writes them: of entities given, else those the linker finds.

        They are read before a method begins, and settle no links: what these are only :meth:`link` says, to which a
        method may still bring the names that a model finds. Without such, its links are those read here.
        """
        links = self.link() if self.given else self._named()
        return [link.mention.text for link in links if link.mention.text]

    @contextmanager
    def worded(self, question: str) -> Iterator[None]:
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
        return self.asked().masked

    def asked(self, about: LinkedEntity | Term | None = None) -> Asked:
        """The question without its mentions, as one about this linked entity, or another that its mention may mean."""
        places = {link.term: self._place(link.mention) for link in self.link()}
        place = None if about is None else places.get(about.term if isinstance(about, LinkedEntity) else about)  # type: ignore[arg-type]
        if isinstance(about, LinkedEntity) and place is None:
            place = self._place(about.mention)
            places = {term: own for term, own in places.items() if own[1] <= place[0] or place[1] <= own[0]}
            places[about.term] = place
        named = tuple(own for own in places.values() if own[0] >= 0)
        return Asked(self.question, named, place if place in named else None)

    def path_candidates(
        self,
        paths: Sequence[tuple[PropertyPath, Sequence[str]]],
        *,
        about: LinkedEntity | Term,
        weights: Weights | None = None,
        words: Mapping[Term, str] = MappingProxyType({}),
        texts: Sequence[str] = (),
    ) -> list[Candidate]:
        """Property paths from a linked entity as numbered candidates, from 0, scored as wholes against the question.

        :param paths: each with the kinds along it: one more than it has steps, empty where a kind is not known.
        :param words: of predicates, to be compared with the question in place of their labels.
        :param texts: what a model reads of each; the paths in words without any.
        """
        worded = [WordedPath(path, tuple(kinds)) for path, kinds in paths]
        named = self.labels((step.predicate for path, _ in paths for step in path), in_grace=True)
        scores = path_scores(self.asked(about), worded, {**named, **words}, self.ranker, weights or Weights())
        shown = texts or [nested_text(p.path, p.kinds, named) for p in worded]
        return [
            Candidate(i, text, score=float(score), path=p.path)
            for i, (p, text, score) in enumerate(zip(worded, shown, scores, strict=True))
        ]
