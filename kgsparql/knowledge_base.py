"""The front door: open a graph, ask it questions."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsparql.answering.answer import Answer, Retrieval
from kgsparql.answering.ask_options import AskOptions, asked_with, checked_question
from kgsparql.answering.follow_up import Before, read_after
from kgsparql.answering.pipeline import answer, retrieve
from kgsparql.answering.said_source import said_source
from kgsparql.answering.session import Session
from kgsparql.budget import Budget, Usage
from kgsparql.errors import BudgetExceededError, CancelledError, InputError, StoreError
from kgsparql.events import Tell, ignore, numbered
from kgsparql.evidence.notes import Notes
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.exploration.counting import graph_info
from kgsparql.exploration.lookups import GraphLookups, check_mentioned, empty_graph_error, entity_named, holds_nothing
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.metered_graph import IgnoredPredicates, MeteredGraph
from kgsparql.graphs.notes import Note
from kgsparql.graphs.rdflib_interop import RdflibCopy, is_of_rdflib, prefixes_from_rdflib
from kgsparql.graphs.sources import open_graph
from kgsparql.linking.graph_indexes import GraphIndexes
from kgsparql.linking.label_index.search import Progress
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.models.embedding import Embedder
from kgsparql.plans.algebra import Plan
from kgsparql.plans.running import Computed, run
from kgsparql.plans.type_check import check, terms_in
from kgsparql.rdf.terms import IRI, Json, printable
from kgsparql.rdf.vocabulary import claim_kind
from kgsparql.resources import ClosedAtExit
from kgsparql.retrievers import load
from kgsparql.schema.vocabulary import GraphVocabulary

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib

    from kgsparql.answering.recheck import Recheck
    from kgsparql.graphs.user_query import GraphQueries, QueryResult
    from kgsparql.plans.schema_overview import SchemaOverview
    from kgsparql.retrievers._planned_question import PlannedQuestion

_POLL_S = 0.1


class KnowledgeBase(GraphLookups, ClosedAtExit):
    """A graph with its labels, ready to be asked; as a context manager it is closed at the end.

    Parameters are those of :func:`open`.

    :ivar indexes: finds things by name: the label indexes, and the vectors that are kept with them.

    >>> with open("fixtures/nobel.ttl", embedder="none") as knowledge:
    ...     print(knowledge.ask("Where was Marie Curie born?").answers[0].label)
    Warsaw
    """

    def __init__(
        self, graph: KnowledgeGraph, *, languages: tuple[str, ...] = ("en",), embedder: str | Embedder | None = "auto",
        prefixes: Mapping[str, str] | None = None, note: Tell = ignore,
        progress: Progress | None = None, index: str | Path | None = None,
    ) -> None:  # fmt: skip
        super().__init__(graph, languages=languages, prefixes=prefixes)
        self._note = note
        self._running: list[threading.Event] = []
        self.indexes = GraphIndexes(
            graph, languages=languages, embedder=embedder, note=note, progress=progress, place=index
        )
        self._preparing = threading.Lock()
        self._refreshing = threading.Lock()
        self._ignored: IgnoredPredicates | None = None
        self._is_empty: bool | None = None

    def __repr__(self) -> str:
        return f"<KnowledgeBase {printable(self.graph.name, 200)}>"

    def close(self) -> None:
        """Stop what runs, end the process of queries, close connections and files; what is asked later opens them.

        A question that runs in another thread ends with a ``CancelledError``. The triples of files stay in memory.
        """
        for cancel in tuple(self._running):
            cancel.set()
        self.indexes.close()
        self.graph.close()

    def refresh(self) -> None:
        """Read files and ask endpoints again: the next question uses nothing that is known or kept by now.

        A ``GraphLoadError`` for a file that is no RDF any more leaves the graph as it was.
        """
        self._use(self.graph.reopened())
        self._current_state()

    def _current_state(self) -> tuple[KnowledgeGraph, GraphIndexes]:
        """Return the graph for the next question, and its indexes; after a change, what was known is forgotten."""
        with self._refreshing:
            graph = self.graph.refreshed()
            if graph is not self.graph:
                self._use(graph)
            return graph, self.indexes

    def _use(self, graph: KnowledgeGraph) -> None:
        self.graph, self.indexes = graph, self.indexes.of_changed(graph)
        self._is_empty = self._ignored = None

    @contextmanager
    def _stopped_by_close(self, cancel: threading.Event) -> Iterator[None]:
        self._running.append(cancel)
        try:
            yield
        finally:
            self._running.remove(cancel)

    @asked_with(AskOptions)
    def ask(self, question: str, asking: AskOptions) -> Answer:
        """Answer a question; the keyword options are those of :class:`AskOptions`, which says what each does.

        :raises QuestionError: for an empty question, or what is no text.
        :raises LimitError: for one of more than 4,000 characters.
        :raises OptionError: for an option, or a value of one, that there is not.

        >>> answer = open("fixtures/nobel.ttl", embedder="none").ask("Where was Marie Curie born?", min_confidence=0.8)
        >>> answer.status, answer.best[0].label, 0.8 < answer.confidence < 1
        ('answered', 'Warsaw', True)
        """
        return self.answer(question, asking)

    @asked_with(AskOptions)
    async def aask(self, question: str, asking: AskOptions) -> Answer:
        """Answer as :meth:`ask`, on a thread beside the event loop; cancelling the task stops the question."""
        import asyncio  # 15 ms that other questions need not wait for

        try:
            return await asyncio.to_thread(self.answer, question, asking)
        except asyncio.CancelledError:
            asking.cancel.set()
            raise

    def answer(self, question: str, asking: AskOptions) -> Answer:
        """Answer as :meth:`ask`, with the options as one value."""
        with self._stopped_by_close(asking.cancel):
            return answer(load(asking.retriever, asking.options), self.session(question, asking))

    @asked_with(AskOptions)
    def retrieve(self, question: str, asking: AskOptions) -> Retrieval:
        """Retrieve verified evidence for a question, without an answer; options as for :meth:`ask`."""
        with self._stopped_by_close(asking.cancel):
            return retrieve(load(asking.retriever, asking.options), self.session(question, asking))

    def session(self, question: str, asking: AskOptions, *, usage: Usage | None = None) -> Session:
        """Make a session for one question.

        :raises NotFoundError: for a graph without triples, or a given entity that the graph does not mention.
        """
        text = checked_question(question)
        usage = usage or Usage(asking.budget, cancel=asking.cancel, stop=asking.stop)
        asked, indexes = self._current_state()
        without, told, asked = said_source(asked, text, self.languages)
        graph = asked.within(usage) if asked.is_remote else asked
        try:
            ignored, linker = self._prepared_parts(graph, indexes, usage, with_labels=not asking.entities)
            if not graph.is_remote:
                usage.started = time.monotonic()  # an index that is made of what is on this machine is no cost of it
            given = tuple(
                entity_named(e, graph, prefixes=self.prefixes, languages=self.languages) if isinstance(e, str) else e
                for e in asking.entities
            )
            for term in given:
                check_mentioned(graph, term)
            if graph.is_remote:  # no query of the question; nobody looks for named graphs again where there are none
                _ = graph.profile.has_many_labels or graph.shared().may_repeat_triples
        except BudgetExceededError as error:
            raise _over_before_asking(error, graph.name) from error
        usage.begin_asking(is_remote=asked.is_remote)
        metered = MeteredGraph(asked, usage, numbered(asking.emit, lambda: usage.seconds), ignored=ignored)
        notes = Notes(metered)
        notes.extend(Note("graph", line) for line in asked.notes)
        notes.extend([Note("source", told)] if without else [])
        session = Session(
            question=without or text, asked_as=text if without else "",
            labels=TermLabels(metered, notes, self.languages),
            linker=None if linker is None else linker.with_graph(metered.unfiltered()), ranker=self.indexes.ranker,
            model=asking.model, require_model=asking.require_model,
            complete=asking.complete,
            given=given, min_confidence=asking.min_confidence, reading=asking.reading, choices=asking.choices,
            guarantee=asking.guarantee,
        )  # fmt: skip
        if asking.model is not None and asking.trial:
            from kgsparql.retrievers._trial import admitted  # not needed without a model

            session.admit = partial(admitted, asking.model, usage, required=asking.require_model)
        read_after(session, asking.after if isinstance(asking.after, Before) else None, asking.language)
        if self.indexes.embedder is None:
            session.notes.fall_back("ranking", "no embedding model: texts are compared by the words they share")
        return session

    def _prepared_parts(
        self, graph: KnowledgeGraph, indexes: GraphIndexes, usage: Usage, *, with_labels: bool
    ) -> tuple[IgnoredPredicates, Linker | None]:
        """Prepare what a question needs beside its own queries; it is read once where nothing failed."""
        while not self._preparing.acquire(timeout=_POLL_S):
            if graph.is_remote:
                usage.check()
            elif usage.cancel.is_set():
                raise CancelledError("stopped")
        try:
            if graph.is_remote and with_labels:
                _ = graph.fingerprint  # what is kept is of that
            ignored = self._ignored_of(graph.shared())
            if self._is_empty_graph(graph.shared()):
                raise empty_graph_error(graph)
            if not with_labels:
                return ignored, None
            return ignored, indexes.linker_for(graph, usage.cancel)
        finally:
            self._preparing.release()

    @property
    def is_empty(self) -> bool:
        """Whether the graph holds no triple at all."""
        return self._is_empty_graph(self.graph)

    def _is_empty_graph(self, graph: KnowledgeGraph) -> bool:
        if self._is_empty is None and not holds_nothing(graph):
            self._is_empty = False
        return self._is_empty is None

    def _ignored_of(self, graph: KnowledgeGraph) -> IgnoredPredicates:
        """Return what the profiles of endpoints call noise, and the identifiers of a Wikibase.

        A public endpoint is only asked for those if its profile says that it has such. One that nobody described is
        asked as a file is: the same graph has the same answers wherever it is.
        """
        if self._ignored is None:
            own = GraphVocabulary.of(graph).valued if graph.is_embedded else ()
            self._ignored = replace(IgnoredPredicates.of_profile(graph), alone=frozenset(filter(claim_kind, own)))
        return self._ignored

    def query(
        self, sparql: str, *, timeout_s: float = 30.0, max_rows: int = 100_000, cancel: threading.Event | None = None
    ) -> QueryResult:
        """Run a SELECT, ASK, CONSTRUCT or DESCRIBE over the union of all graphs; known prefixes need no declaration.

        It is checked, and run in a process that is killed at its deadline, or at the endpoint. A result can be read,
        printed, and made a ``DataFrame`` or an rdflib graph; that of an ASK is true or false.

        :param max_rows: solutions or triples that are kept; ``result.cut`` says if there were more.
        :raises ForbiddenQueryError: for an update, or a query that asks another server.
        :raises QuerySyntaxError: for what is no SPARQL, with line and column.
        :raises QueryTimeoutError: at the deadline.

        >>> bool(open("fixtures/nobel.ttl", embedder="none").query("ASK { dbr:Marie_Curie dbo:birthDate ?born }"))
        True
        """
        cancel = cancel or threading.Event()
        with self._stopped_by_close(cancel):
            self._current_state()
            return self._user_queries.run(sparql, timeout_s=timeout_s, max_rows=max_rows, cancel=cancel)

    def why_nothing(self, sparql: str) -> str:
        """Say in a sentence why a query finds nothing, counts 0 or says no; empty where it names nothing.

        >>> open("fixtures/nobel.ttl", embedder="none").why_nothing("SELECT * { ?city a dbo:Village }")
        'the graph does not mention dbo:Village'
        """
        self._current_state()
        return self._user_queries.why_nothing(sparql)

    @property
    def _user_queries(self) -> GraphQueries:
        from kgsparql.graphs.user_query import GraphQueries

        return GraphQueries(self.graph, prefixes=self.prefixes, note=self._note)

    def bounded(self, asking: AskOptions) -> GraphLookups:
        """Make lookups that have the time of one question, and end when it is stopped."""
        graph = self.graph.within(Usage(asking.budget, cancel=asking.cancel))
        return GraphLookups(graph, languages=self.languages, prefixes=dict(self.prefixes))

    def run(self, plan: Plan) -> Computed:
        """Run a query plan: return a set, a number, yes or no, or a table, with its query and the facts it rests on.

        :raises PlanError: for a plan that makes no sense.
        :raises NotFoundError: if it names something that the graph does not mention, such as another graph's class.
        """
        check(plan)
        graph = self._current_state()[0].within(Usage(Budget()))
        for term in sorted(terms_in(plan), key=str):
            if isinstance(term, IRI):
                check_mentioned(graph, term)
        return run(plan, graph, vocabulary=GraphVocabulary.of(graph))

    def recheck(self, answer: Answer | Mapping[str, Any] | str | bytes) -> Recheck:
        """Check an answer, its JSON object, or its text, on the graph as it is now.
        :raises AnswerFileError: for what is not just one answer.
        :raises UnreachableError: if an endpoint fails: of what it holds nothing can be told.
        """
        from kgsparql.answering.kept_answers import kept_answer
        from kgsparql.answering.recheck import recheck  # not needed to answer

        return recheck(kept_answer(answer), self._current_state()[0])

    @asked_with(AskOptions)
    def plan(self, question: str, asking: AskOptions) -> PlannedQuestion:
        """Return what a question names, the plans it may ask for, and what the likeliest comes to; ask no model.

        A half-written plan in place of a question has words in quotes, which are filled with what is called so; its
        plans are the fillings that come to something. Options and errors are those of :meth:`ask`.

        :raises PlanError: for what begins with a parenthesis and is no plan, whatever fills it.

        >>> planned = open("fixtures/nobel.ttl", embedder="none").plan("How many Nobel laureates are there?")
        >>> planned.chosen.words, planned.computed.value.value
        ('the number of Nobel laureates', '74')
        >>> open("fixtures/nobel.ttl", embedder="none").plan('(count (has "laureate" "born in" "Warsaw"))').chosen.words
        'the number of Nobel laureates whose place of birth is Warsaw'
        """
        from kgsparql.retrievers._half_written import completed_plan
        from kgsparql.retrievers._planned_question import planned_question
        from kgsparql.retrievers.query_plan import QueryPlan

        asking = replace(asking.without_model(), retriever=QueryPlan.name, options={})
        with self._stopped_by_close(asking.cancel):
            session = self.session(question, asking)
            return completed_plan(session) if question.lstrip().startswith("(") else planned_question(session)

    def index_paths(self) -> int:
        """Build the adjacency that paths are found in; returns its edges, 0 where queries find them instead.

        They do so in endpoints, small graphs, and where no adjacency can be kept (a note says why).
        """
        from kgsparql.graphs.oxigraph import OxigraphGraph

        built = None
        try:
            if isinstance(self.graph, OxigraphGraph):
                built = self.graph.built_adjacency(self.indexes.progress)
        except StoreError as error:
            self._note(f"paths are still searched by queries: {error.message}")
        return 0 if built is None else built.edges

    def find(self, text: str, *, limit: int = 10) -> list[LinkedEntity]:
        """Find entities, classes and predicates whose labels are like a text, or have it as a part, the best first.

        :raises InputError: for a text without a letter or digit.
        :raises LimitError: for one of more than 4,000 characters.
        """
        if not any(char.isalnum() for char in text):
            raise InputError(
                "there is nothing to search for", hint="write a name, or a part of one: kgsparql find Curi"
            )
        graph, indexes = self._current_state()
        linker = indexes.linker.with_graph(graph)
        found = linker.find(checked_question(text), limit=limit)
        for line in linker.search.notes:
            self._note(line)
        return found

    def info(self, *, shown: int = 10) -> Json:
        """Describe the graph as a JSON object: sources, triples, named graphs, commonest classes and predicates.

        :param shown: how many named graphs, classes and predicates; ``cuts`` says where there are more.
        """
        from kgsparql.graphs.endpoint import EndpointGraph, endpoint_json

        graph, indexes = self._current_state()
        indexed = indexes.description()  # of an endpoint that is down, this is the first to fail
        found = graph_info(graph, self.labels, self.prefixes, shown=shown)
        said = {"endpoint": endpoint_json(self.graph)} if isinstance(self.graph, EndpointGraph) else {}
        return {**found, **said, "label_index": indexed}

    def schema(self) -> SchemaOverview:
        """Describe what the graph is read as: its kinds and relations, with their names and examples.

        An endpoint is asked for no more than a question may ask it; ``missing`` says what it could not tell.

        >>> schema = open("fixtures/nobel.ttl", embedder="none").schema()
        >>> print(next(relation for relation in schema.relations if relation.label == "place of birth"))
        dbo:birthPlace ! place of birth (81): person → city or settlement; Aage Bohr — place of birth → Copenhagen
        """
        from kgsparql.plans.schema_overview import schema_overview  # not needed to answer

        self._current_state()
        return schema_overview(self.bounded(AskOptions()))


def _over_before_asking(error: BudgetExceededError, endpoint: str) -> BudgetExceededError:
    message = f"{error.message} before the question was asked, while {endpoint} said what there is"
    index = f"kgsparql index -k {shlex.quote(endpoint)}"
    hint = f"{error.hint}; if the labels there were never read, `{index}` does that once"
    return BudgetExceededError(message, hint=hint, **error.detail)


def open(
    *sources: str | Path | rdflib.Graph | pyoxigraph.Store, languages: tuple[str, ...] = ("en",),
    embedder: str | Embedder | None = "auto", note: Tell = ignore,
    progress: Progress | None = None, index: str | Path | None = None,
    prefixes: Mapping[str, str] | None = None, **options: Any,
) -> KnowledgeBase:  # fmt: skip
    """Open RDF files, a directory of them, a store, a SPARQL endpoint, an rdflib graph or a ``pyoxigraph.Store``.

    A ``Graph`` or ``Dataset`` of rdflib is copied, also what is added later.
    Its prefixes are known.

    :param languages: language tags of labels, the preferred first.
    :param embedder: ``auto``, ``none``, a model's name or path, or what makes vectors.
    :param note: called with each line a person should read (an index that was made, a file kept as a store).
    :param progress: called with how far something long has come: its name, how much is done, and of how much.
    :param index: the directory below which label indexes are; the cache directory, if none.
    :param prefixes: more prefixes, before those of the sources and those that kgsparql knows.
    :param options: of :func:`kgsparql.graphs.open_graph`: ``format``, ``base``, ``skip_bad``, …
    :raises GraphLoadError: for a file that is missing or is not RDF.
    """
    of_rdflib = [source for source in sources if is_of_rdflib(source)]
    given = [RdflibCopy(source) if is_of_rdflib(source) else source for source in sources]
    bound = {prefix: name for graph in reversed(of_rdflib) for prefix, name in prefixes_from_rdflib(graph).items()}
    graph = open_graph(given, notes=note, progress=progress, **options)
    return KnowledgeBase(
        graph, languages=languages, embedder=embedder, prefixes={**bound, **(prefixes or {})}, note=note,
        progress=progress, index=index,
    )  # fmt: skip
