"""Everything that belongs to one question, and the question itself as it is scored."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from kgsparql.budget import Usage
from kgsparql.errors import BudgetExceededError, ModelReplyError
from kgsparql.events import Emit, EntitiesLinked, Event, FallbackUsed
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.notes import Fallback, Notes
from kgsparql.evidence.same_as import Same
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.linking.passages import Passages
from kgsparql.linking.ranking import Ranker
from kgsparql.linking.words import TextToken, root, stop_words, tokens
from kgsparql.models.chat_completion import Call
from kgsparql.rdf.paths import Directions, PropertyPath
from kgsparql.rdf.terms import IRI, Term, Triple

if TYPE_CHECKING:
    from kgsparql.models.language_model import LanguageModel


_MAX_RUN_WORDS = 3  # words of a run of the question that one predicate is compared with
_REPEATS_KIND = 0.45  # how alike a word beside a mention and the kind of this are, so that the word asks for nothing
_KIND_OF = re.compile(r"\b((?:kind|type|sort)s? of) (\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class ScoredQuestion:
    """A question about one of the things it mentions.

    :param mentions: places of everything that was linked, as ``(start, end)`` in characters.
    :param about: the place of what the paths start from; ``None`` where the question does not say its name.
    """

    question: str
    mentions: tuple[tuple[int, int], ...] = ()
    about: tuple[int, int] | None = None

    @cached_property
    def masked(self) -> str:
        """The question without the mentions: what is asked weighs more than about whom."""
        text = self.question
        for start, end in sorted(self.mentions, reverse=True):
            text = f"{text[:start]} {text[end:]}"
        return " ".join(text.split()) or self.question

    @cached_property
    def tokens(self) -> list[TextToken]:
        """The words of the question, those of mentions too."""
        return tokens(self.question)

    @cached_property
    def free(self) -> list[int]:
        """The places of the words that are in no mention."""
        mentioned = {i for place in self.mentions for i in self._places_in(place)}
        return [i for i in range(len(self.tokens)) if i not in mentioned]

    def _places_in(self, place: tuple[int, int]) -> list[int]:
        return [i for i, token in enumerate(self.tokens) if place[0] < token.end and token.start < place[1]]

    @cached_property
    def content(self) -> list[int]:
        """The places of the words that ask for something."""
        stops = stop_words(("en",))
        return [i for i in self.free if self.tokens[i].text not in stops]

    @cached_property
    def _own_places(self) -> range | None:
        own = [] if self.about is None else self._places_in(self.about)
        return range(own[0], own[-1] + 1) if own else None

    @cached_property
    def ranks(self) -> list[int] | None:
        """The order in which words are read outwards from what the paths start from; ``None`` where that is not named.

        After `X's`, what follows belongs to X first, then what stands before; else the other way round:
        `the gender of X's parents` leads to the parents and then to their gender.
        """
        if self._own_places is None:
            return None
        first, last, count = self._own_places.start, self._own_places.stop - 1, len(self.tokens)
        is_owner = last + 1 < count and self.tokens[last + 1].text == "s"
        before, after = (count, 0) if is_owner else (0, count)
        return [before + first - i if i < first else after + i - last for i in range(count)]

    def asking_words(self, kind: str, ranker: Ranker) -> list[int]:
        """List the content words but for one beside the mention that only says what the mentioned thing is."""
        own = self._own_places
        beside = [] if own is None else [i for i in self.content if i in {own.start - 1, own.stop}]
        if not beside or not kind:
            return self.content
        alike = ranker.similarities([self.tokens[i].text for i in beside], [kind])[:, 0]
        dropped = {i for i, value in zip(beside, alike, strict=True) if value >= _REPEATS_KIND}
        return [i for i in self.content if i not in dropped]

    def without_types(self, names: Iterable[str]) -> ScoredQuestion:
        """Have `director` be no mention, but ask for something, where a predicate or kind is called so."""
        known = frozenset().union(*map(_content_roots, names))

        def is_said(own: tuple[int, int]) -> bool:
            text = self.question[slice(*own)]
            return own != self.about and text.islower() and _content_roots(text) <= known

        places = tuple(own for own in self.mentions if not is_said(own))
        return replace(self, mentions=places) if places != self.mentions else self

    def without_kind_of(self, kind: str) -> ScoredQuestion:
        """Return the question without `kind of`, unless it is the kind of what the paths start from that is asked for.

        `what kind of film is X` asks for something else than a film, `what kind of films did she make` for films.
        """
        found = _KIND_OF.search(self.question)
        if found is None or _content_roots(found[2]) == _content_roots(kind):
            return self
        return replace(self, mentions=(*self.mentions, found.span(1)))

    def runs(self, places: Iterable[int]) -> int:
        """Count the runs of words that nothing stands between: no other word, no mention, no punctuation."""
        count, last = 0, None
        for i in places:
            is_next = last == i - 1 and not self.question[self.tokens[i - 1].end : self.tokens[i].start].strip()
            count, last = count + (not is_next), i
        return count

    def phrases(self) -> list[tuple[str, int]]:
        """List runs of up to three free words from a content word on, and the rank of the first that is read."""
        free, content = set(self.free), set(self.content)
        found = []
        for i in self.content:
            for length in range(1, _MAX_RUN_WORDS + 1):
                places = range(i, i + length)
                if not free.issuperset(places):
                    break
                if length == 1 or not content.isdisjoint(places[1:]):
                    rank = 0 if self.ranks is None else min(self.ranks[place] for place in places)
                    found.append((" ".join(self.tokens[place].text for place in places), rank))
        return found


def _content_roots(text: str) -> frozenset[str]:
    stops = stop_words(("en",))
    return frozenset(root(token.text) for token in tokens(text) if token.text not in stops)


@dataclass(frozen=True, slots=True)
class Oracle:
    """What a perfect chooser would know, for ceilings: it sees where candidates lead, not their wording.

    :param predicates: of the gold path; on it is what walks only these.
    :param paths: gold paths from an entity of the question, where they are known whole: on them is what
        begins them, the longest first.
    :param triples: gold triples, which the evidence should hold; the paths lead to them then.
    """

    predicates: frozenset[IRI] = frozenset()
    paths: tuple[PropertyPath, ...] = ()
    triples: tuple[Triple, ...] = ()

    def is_gold(self, path: PropertyPath) -> bool:
        """Tell whether a path is on a gold one."""
        if self.paths:
            return any(gold.steps[: len(path.steps)] == path.steps for gold in self.paths)
        return self.predicates.issuperset(step.predicate for step in path.steps)

    def is_enough(self, evidence: Evidence) -> bool | None:
        """Tell whether a way of the evidence walks a whole gold path; ``None`` where nothing gold is known."""
        walked = {path.property_path for item in evidence for path in item.paths}
        reached = [any(own.steps[: len(gold.steps)] == gold.steps for own in walked) for gold in self.paths]
        if self.triples:
            return set(self.triples).issubset(evidence.triples) or (bool(reached) and all(reached))
        return any(reached) if reached else None


T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Session:
    """One question on its way: the graph, who links, ranks and chooses, and the notes for the reader of its answer.

    A retriever takes its options from its own fields and everything else from here.

    :param labels: of the terms of the graph; with it come the graph, metered, and the notes.
    :param model: who is asked; ``None`` for nobody.
    :param oracle: who chooses in place of the model.
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
    oracle: Oracle | None = None
    allow_model_knowledge: bool = False
    complete: bool = True
    given: tuple[IRI, ...] = ()
    links: tuple[LinkedEntity, ...] = ()
    same: tuple[Same, ...] = ()
    passages: Passages = field(default_factory=Passages)
    direction: Directions = "both"
    seed: int = 0
    rounds: int = 0
    kept_a_call: bool = False
    is_linked: bool = False
    random: Random = field(init=False)

    def __post_init__(self) -> None:
        seed = hashlib.sha256(f"{self.seed}\n{self.question}".encode()).digest()
        self.random = Random(seed)  # noqa: S311 - for samples that are the same on every machine, not for secrets

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
        """Return the same question, with the graph asked however little of the budget is left."""
        return replace(self, labels=self.labels.unlimited())

    def within_budget(self) -> AbstractContextManager[None]:
        """Run a step that may end early: if the budget is spent, or an endpoint gone, what was found stands."""
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

    def ask_model(self, call: Call[T], *, required: bool = False) -> T | None:
        """Ask the model; ``None`` if there is none, or its reply is of no use: do the second-best thing then.

        :param required: a reply of no use is an error, too.
        :raises ModelReplyError: for such a reply.
        :raises ModelError: if the server cannot be reached, fails or refuses.
        :raises BudgetExceededError: if the call could go over the budget.
        """
        if self.model is None:
            return None
        self.rounds += 1
        try:
            return self.model.ask(call, self.usage, self._hear_event)
        except BudgetExceededError:
            self.rounds -= 1  # there was no call
            raise
        except ModelReplyError as error:
            self.fall_back(call.purpose, f"{error.message} [{error.code}]")
            if required:
                raise
            return None

    def _hear_event(self, event: Event) -> None:
        """Pass on an event of the model's client; its fallbacks, such as an option that a server refuses, count."""
        if isinstance(event, FallbackUsed):
            fallback = Fallback(event.purpose, event.reason)
            self.notes.fallbacks += [] if fallback in self.notes.fallbacks else [fallback]
        self.emit(event)

    @property
    def reads_lists(self) -> bool:
        """Tell whether a model or an oracle chooses from lists; else the ranker takes the best."""
        return self.model is not None or self.oracle is not None

    @property
    def model_reads(self) -> bool:
        """Tell whether a model reads the candidates: what is in no other's score is fetched for nobody else."""
        return self.model is not None and self.oracle is None

    def can_spare_call(self, purpose: str) -> bool:
        """Tell whether the model may be asked for this: the last call that the budget holds is kept for the answer."""
        left = self.usage.calls_left
        if self.model is None or left is None or left > 1:
            return True
        self.kept_a_call = True
        self.fall_back(purpose, "the last model call of the budget is kept for the answer")
        return False

    def fit(self, expected: str, kinds: Sequence[str]) -> list[float]:
        """Score how well each kind of term fits the one the question expects, in [0, 1]; 0 where either is unknown."""
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
        """Return the question without its mentions, as one about this entity, or another that its mention may mean."""
        places: dict[Term, tuple[int, int]] = {e.term: (e.mention.start, e.mention.end) for e in self.links}
        term = about.term if isinstance(about, LinkedEntity) else about
        if isinstance(about, LinkedEntity) and about.term not in places:
            start, end = about.mention.start, about.mention.end
            places = {term: own for term, own in places.items() if own[1] <= start or end <= own[0]}
            places[about.term] = (start, end)
        named = tuple(own for own in places.values() if own[0] >= 0)
        place = None if term is None else places.get(term)
        return ScoredQuestion(self.question, named, place if place in named else None)
