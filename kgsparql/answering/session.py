"""Everything that belongs to one question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import BudgetExceededError, ModelReplyError
from kgsparql.events import Emit, EntitiesLinked, Event, FallbackUsed, ignore
from kgsparql.evidence.notes import Fallback, Notes
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Note
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.linking.ranking import Ranker
from kgsparql.models.chat_completion import Call
from kgsparql.plans import algebra as a
from kgsparql.plans.adapting import Those
from kgsparql.plans.label_fit import LabelFit
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.set_profile import KnownSets
from kgsparql.rdf.paths import Path
from kgsparql.rdf.terms import IRI, Labels, Term, distinct
from kgsparql.reading.chunks import chunked
from kgsparql.reading.form import Form
from kgsparql.reading.lexicon import lexicon, said_in
from kgsparql.reading.parser import read_question
from kgsparql.reading.translation import Translation
from kgsparql.schema.vocabulary import GraphVocabulary

if TYPE_CHECKING:
    from kgsparql.models.language_model import LanguageModel
    from kgsparql.models.trust import Trust


def without_places(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Leave places out of a text; all of it where nothing would be left."""
    left = text
    for start, end in sorted(places, reverse=True):
        left = f"{left[:start]} {left[end:]}"
    return " ".join(left.split()) or text


T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Session:
    """One question on its way: the graph, who links, ranks and chooses, and the notes for the reader of its answer.

    A retriever takes its options from its own fields and everything else from here.

    :param question: as it is read: in English, but for names.
    :param asked_as: the question as it was asked, where it was read without the name of a named graph.
    :param translation: what stands in its place, where it is in another language.
    :param reworded: what stands in its place, where it is in English, and about what was found before.
    :param those: what was found before, where the question is about that.
    :param labels: of the terms of the graph; with it come the graph, metered, and the notes.
    :param compared: labels that words of the question are compared with, where these are not shown.
    :param said_as: which of their names the question has of predicates with several.
    :param model: who is asked; ``None`` for nobody.
    :param require_model: it is an error if that one fails.
    :param admit: finds out what the model is good for, and says what of that is news; ``None``: it is asked untried.
    :param trust: what the model was found good for; ``None`` where that is not known.
    :param is_draft_sure: the answer without the model leaves nothing out.
    :param given: entities named by the caller; then nothing is linked.
    :param links: the entities of the question, as the first step of the pipeline has found them.
    :param same: what the graph says is the same as a linked entity.
    :param min_confidence: what an answer must have at least to be called sure, beside what was fitted.
    :param reading: the number of the reading that a person has chosen; 0 for none.
    :param choices: the likely readings are listed under a doubt.
    :param guarantee: in how many of 100 questions the readings that are listed hold the right one; 0: nobody asks.
    :param rounds: model calls that waited for each other: the longest chain so far.
    :param looked_at: what was read of the sets that the question names, to plan it.
    :param only_evidence: no answer is wanted, but evidence to read: paths are walked beside a plan that has all.
    """

    question: str
    labels: TermLabels
    linker: Linker | None
    ranker: Ranker
    model: LanguageModel | None = None
    require_model: bool = False
    admit: Callable[[], tuple[Trust | None, Note | None]] | None = None
    trust: Trust | None = None
    is_draft_sure: bool = False
    complete: bool = True
    given: tuple[IRI, ...] = ()
    links: tuple[LinkedEntity, ...] = ()
    same: tuple[Path, ...] = ()
    min_confidence: float = 0.0
    reading: int = 0
    choices: bool = True
    guarantee: int = 0
    rounds: int = 0
    is_linked: bool = False
    only_evidence: bool = False
    asked_as: str = ""
    translation: Translation | None = None
    reworded: Translation | None = None
    those: Those | None = None
    compared: dict[Term, str] = field(default_factory=dict, repr=False)
    said_as: Labels = field(default_factory=dict, repr=False)
    looked_at: KnownSets = field(default_factory=KnownSets, repr=False)
    rows_named: dict[str, list[LabelRow]] = field(default_factory=dict, repr=False)
    _asked: tuple[tuple[LinkedEntity, ...], Form, bool] | None = field(default=None, repr=False)
    _fit: LabelFit | None = field(default=None, init=False, repr=False)
    _vocabulary: GraphVocabulary | None = field(default=None, init=False, repr=False)

    @property
    def language(self) -> str:
        """The language of the question."""
        return lexicon().language if self.translation is None else self.translation.language

    @property
    def sentences(self) -> Mapping[str, str]:
        """What sentences of answers and doubts are in the language of the question; English ones are missing."""
        return said_in(self.language)

    def say(self, sentence: str) -> str:
        """Return a sentence in the language of the question."""
        return self.sentences.get(sentence, sentence)

    @property
    def compared_labels(self) -> TermLabels:
        """The labels to compare the words of the question with: none in a language that it is not read in."""
        own = replace(self.labels, said_as=self.said_as) if self.said_as else self.labels
        if self.translation is None:
            return replace(own, known=self.compared) if self.compared else own
        return replace(own, languages=own.languages[1:], known=self.compared)

    def retired(self, terms: Sequence[IRI]) -> frozenset[Term]:
        """Return those of some terms that the graph says to be deprecated; one query, where it says so of any."""
        if not terms or not self.vocabulary.retired:
            return frozenset()
        marked = compiled(a.Retired(a.Items(distinct(terms))), vocabulary=self.vocabulary)
        return frozenset(row["answer"] for row in self.graph.select(marked))

    @property
    def original(self) -> str:
        """The question as it was asked."""
        return self.asked_as or (self.question if self.wording is None else self.wording.original)

    @property
    def wording(self) -> Translation | None:
        """The words that are read in the place of those of the question, where they are others."""
        return self.translation or self.reworded

    @property
    def linked(self) -> dict[IRI, LinkedEntity]:
        """The entities of the question by their terms, in order."""
        return {link.term: link for link in self.links}

    @property
    def graph(self) -> MeteredGraph:
        """The graph, with every query counted."""
        return self.labels.graph

    @property
    def vocabulary(self) -> GraphVocabulary:
        """The predicates by which the graph says what things are, read once for the question."""
        if self._vocabulary is None:
            self._vocabulary = GraphVocabulary.of(self.graph.shared()).without_keys(self.question)
            if self._vocabulary.unread:
                self.notes.fall_back(
                    "schema", f"what predicates are declared to be is not read: {self._vocabulary.unread}"
                )
        return self._vocabulary

    def asked_about(self, kinds: Iterable[IRI]) -> None:
        """Take nodes with dates as things, and for no relation, where these classes are asked about: whose bookings."""
        self._vocabulary = self.vocabulary.with_nodes_of(frozenset(kinds))

    @property
    def notes(self) -> Notes:
        """What the reader of the answer should know."""
        return self.labels.notes

    @property
    def emit(self) -> Emit:
        """Takes the events of the question."""
        return self.graph.emit

    def unlimited(self) -> Session:
        """Return the same question, with the graph asked however little of the budget is left."""
        return replace(self, labels=self.labels.unlimited())

    def anew(self) -> Session:
        """Return the same question as it was before anything was done for it, with notes of its own."""
        return replace(self, labels=replace(self.labels, notes=self.notes.copied()))

    def within_budget(self) -> AbstractContextManager[None]:
        """Run a step that may end early: if the budget is spent, or an endpoint gone, what was found stands."""
        return self.notes.within_budget()

    def set_links(self, links: tuple[LinkedEntity, ...]) -> None:
        """Take these for what the question is about."""
        self.links = links
        if self.emit is not ignore:
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
            return self.model.ask(call, self.graph.usage, self.hear_event)
        except BudgetExceededError:
            self.rounds -= 1  # there was no call
            raise
        except ModelReplyError as error:
            self.notes.fall_back(call.purpose, f"{error.message} [{error.code}]")
            if required:
                raise
            return None

    def hear_event(self, event: Event) -> None:
        """Pass on an event of the model's client; its fallbacks, such as an option that a server refuses, count."""
        if isinstance(event, FallbackUsed):
            fallback = Fallback(event.purpose, event.reason)
            self.notes.fallbacks += [] if fallback in self.notes.fallbacks else [fallback]
        self.emit(event)

    @property
    def asked_model(self) -> str:
        """The name of the model that chooses; empty for none."""
        return "" if self.model is None else self.model.name

    @property
    def model_reads(self) -> bool:
        """Tell whether a model reads the candidates: what is in no other's score is fetched for nobody else."""
        return self.model is not None

    @property
    def is_trusted(self) -> bool:
        """Tell whether the model has shown that it chooses well: what it chooses against the ranking is no doubt."""
        return self.trust is not None and self.trust.chooses

    @property
    def settles_words(self) -> bool:
        """Tell whether a choice of the model settles doubts about words: not where other words leave no doubt."""
        return self.is_trusted and not self.is_draft_sure

    @property
    def model_writes_plans(self) -> bool:
        """Tell whether a model may write a plan: not one that was tried, and failed at it."""
        return self.model_reads and (self.trust is None or self.trust.plans)

    def can_spare_call(self, purpose: str) -> bool:
        """Tell whether the model may be asked for this: the last call that the budget holds is kept for the answer."""
        left = self.graph.usage.calls_left
        if self.model is None or left is None or left > 1:
            return True
        self.notes.fall_back(purpose, "the last model call of the budget is kept for the answer")
        return False

    @property
    def asked(self) -> Form:
        """The question as it is read, with what was linked in it; copies that ask the same read the same."""
        if (asked := self.read_before()) is None:
            linker = None if self.given else self.linker  # where nothing was linked, no labels are asked for either
            asked = read_question(chunked(self.question, linker, links=self.links))
            self._asked = self.links, asked, False
        return asked

    def read_as(self, asked: Form) -> None:
        """Take the question as it was read with more of the graph: all that follows reads this."""
        self._asked = self.links, asked, True

    def read_before(self, *, whole: bool = False) -> Form | None:
        """Return the question as it was read with these links, if it was; ``whole``, with more of the graph."""
        links, asked, is_whole = self._asked or (None, None, False)
        is_same = links is self.links and asked is not None and asked.read.question == self.question
        return asked if is_same and is_whole >= whole else None

    @property
    def label_fit(self) -> LabelFit:
        """What compares words of the question with names of predicates."""
        if self._fit is None:
            self._fit = LabelFit(self.compared_labels, self.ranker, lexicon())
        return self._fit

    @property
    def masked_question(self) -> str:
        """The question without the mentions that were linked: what is asked weighs more than about whom."""
        places = (link.mention.place for link in self.links)
        return without_places(self.question, (place for place in places if place[0] >= 0))
