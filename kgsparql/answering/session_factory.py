"""Makes the session of a question; what must be known of the graph first is found out once."""

from __future__ import annotations

import shlex
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.session import Session
from kgsparql.budget import Usage
from kgsparql.errors import BudgetExceededError, CancelledError, InputError, LimitError, NotFoundError
from kgsparql.events import Numbering
from kgsparql.evidence.notes import Notes
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.exploration.lookups import check_mentioned, counts_nothing, entity_named
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.ignored_predicates import IgnoredPredicates
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Note
from kgsparql.linking.graph_indexes import GraphIndexes
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, PrefixMap

if TYPE_CHECKING:
    from kgsparql.linking.linker import Linker


MAX_QUESTION_CHARACTERS = 4_000


def checked_question(text: str) -> str:
    """Return the question without control characters and surrounding space.

    :raises InputError: if no letter or digit is left.
    :raises LimitError: if it is longer than 4,000 characters.

    >>> checked_question(" Who? ")
    'Who?'
    """
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise LimitError(
            f"the question has {len(text):,} characters; at most {MAX_QUESTION_CHARACTERS:,}",
            hint="ask a shorter question",
        )
    kept = (" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in {"Cc", "Cs", "Cf"})
    question = " ".join("".join(kept).split())
    if not any(c.isalnum() for c in question):
        raise InputError("the question is empty", hint='write it in quotes: kgsparql ask "Who …?" -k data.ttl')
    return question


_POLL_S = 0.1


class SessionFactory:
    """Makes the session of each question that a graph is asked."""

    def __init__(
        self, graph: KnowledgeGraph, labels: GraphIndexes, *, prefixes: PrefixMap, languages: tuple[str, ...]
    ) -> None:
        self.graph = graph
        self._labels = labels
        self._prefixes = prefixes
        self._languages = languages
        self._preparing = threading.Lock()
        self._is_empty: bool | None = None
        self._ignored: dict[str, IgnoredPredicates] = {}

    @property
    def is_empty(self) -> bool:
        """Tell whether the graph holds no triple at all."""
        return self._is_empty_of(self.graph)

    def create(self, question: str, asking: AskOptions, usage: Usage | None = None) -> Session:
        """Make a session for one question.

        :param usage: what is counted and limited; all of it, from now on, if ``None``.
        :raises NotFoundError: for a graph without triples, or a given entity that the graph does not mention.
        """
        text = checked_question(question)
        usage = usage or Usage(asking.budget, cancel=asking.cancel)
        asked = self.graph.refreshed()
        graph = asked.within(usage)
        with _naming_what_took_the_time(graph):
            ignored, linker, missing = self._prepared(graph, usage, with_labels=not asking.entities)
            ranker = self._labels.ranker
            if graph is self.graph:
                usage.started = time.monotonic()  # an index that is made of what is on this machine is no cost of it
            given = self._given_entities(asking, graph)
            notes = [*(Note("graph", line) for line in graph.notes), *missing]
        usage.is_prepared = True
        emit = Numbering(asking.emit, lambda: usage.seconds)
        metered = MeteredGraph(asked, usage, emit, ignored=replace(ignored, qualifiers=asking.qualifiers))
        collected = Notes(metered)
        collected.extend(notes)
        labels = TermLabels(metered, collected, self._languages)
        session = Session(
            question=text,
            labels=labels,
            linker=None if linker is None else linker.with_graph(metered.unfiltered()),
            ranker=ranker,
            model=asking.model,
            allow_model_knowledge=asking.allow_model_knowledge,
            complete=asking.complete,
            oracle=asking.oracle,
            given=given,
            passages=self._labels.passages,
            direction=asking.direction,
            seed=asking.seed,
        )
        if self._labels.embedder is None:
            session.fall_back("ranking", "no embedding model: texts are compared by the words they share")
        return session

    def _given_entities(self, asking: AskOptions, graph: KnowledgeGraph) -> tuple[IRI, ...]:
        given = tuple(
            entity_named(e, graph, prefixes=self._prefixes, languages=self._languages) if isinstance(e, str) else e
            for e in asking.entities
        )
        for term in given:
            check_mentioned(graph, term)
        return given

    def _prepared(
        self, graph: KnowledgeGraph, usage: Usage, *, with_labels: bool
    ) -> tuple[IgnoredPredicates, Linker | None, tuple[Note, ...]]:
        """Prepare what a question needs beside its own queries; it is read once where nothing failed.

        :param graph: our own, or an endpoint within the question's time, which then ends this too.
        """
        while not self._preparing.acquire(timeout=_POLL_S):
            if graph is not self.graph:
                usage.check()
            elif usage.cancel.is_set():
                raise CancelledError("stopped")
        try:
            if graph.is_remote:
                usage.check()  # a replay ends where the recording did, which asked for nothing more then
            ignored = self._ignored_of(graph)
            if self._is_empty_of(graph):
                raise NotFoundError(
                    f"{self.graph.name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right file?"
                )
            if not with_labels:
                return ignored, None, ()
            linker = self._labels.linker_for(graph, usage.cancel)
            return ignored, linker, self._labels.missing_notes
        finally:
            self._preparing.release()

    def _is_empty_of(self, graph: KnowledgeGraph) -> bool:
        if self._is_empty is not None:
            return self._is_empty
        is_empty = counts_nothing(graph.select(Query.load("any")), "count")
        if not graph.errors:
            self._is_empty = is_empty
        return is_empty

    def _ignored_of(self, graph: KnowledgeGraph) -> IgnoredPredicates:
        """Return what the profiles of endpoints call noise, and the identifiers of a Wikibase.

        A public endpoint is only asked for those if its profile says that it has such; so is one of several. One that
        nobody described is asked as a file is: the same graph has the same answers wherever it is.
        """
        if len(graph.members) == 1:
            return self._ignored_of_one(graph)
        if any(member.name not in self._ignored for member in graph.members):
            graph.ask_each(self._ignored_of_one)
        named = (term for member in graph.members for term in member.profile.noise)
        own = [self._ignored[member.name] for member in graph.members if member.name in self._ignored]
        return IgnoredPredicates.together([IgnoredPredicates(frozenset(named)), *own])

    def _ignored_of_one(self, graph: KnowledgeGraph) -> IgnoredPredicates:
        if graph.name not in self._ignored:
            self._ignored[graph.name] = _ignored_of_member(graph)
        return self._ignored[graph.name]


def _ignored_of_member(graph: KnowledgeGraph) -> IgnoredPredicates:
    profile = graph.profile
    if not profile.may_be_searched_for_noise:
        return IgnoredPredicates(frozenset(profile.noise))
    return IgnoredPredicates.of(graph, profile.noise) if profile.noise else IgnoredPredicates.of_dump(graph)


@contextmanager
def _naming_what_took_the_time(graph: KnowledgeGraph) -> Iterator[None]:
    """If the time of the question ends in here, the error says what for: the same in a replay, which sends nothing."""
    try:
        yield
    except BudgetExceededError as error:
        endpoints = [member.name for member in graph.members if member.is_remote]
        message = f"{error.message} before the question was asked, while {' and '.join(endpoints)} said what there is"
        command = f"kgsparql index -k {' -k '.join(map(shlex.quote, endpoints))}"
        hint = f"{error.hint}; if the labels there were never read, `{command}` does that once"
        raise BudgetExceededError(message, hint=hint, **error.detail) from error
