"""The front door: open a graph, ask it questions."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kgsparql.answering import answer, checked_question, retrieve
from kgsparql.asking import Asking, ignore
from kgsparql.budget import Usage
from kgsparql.choosing import RankerChooser
from kgsparql.errors import (
    AmbiguousLabelError,
    CancelledError,
    InputError,
    KgsparqlError,
    LimitError,
    NotFoundError,
    PrefixError,
    QueryError,
    StoreError,
    UnreachableError,
)
from kgsparql.events import Event, Finished, Numbering
from kgsparql.exploration import Found, Label, NeighbourGroup, by_label, labels, neighbours, shortest_paths
from kgsparql.graph import OpenedGraph, Solutions
from kgsparql.graphs import EndpointGraph, FederatedGraph, open_graph
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.graphs.noise import Noise
from kgsparql.passage_building import IndexedTexts, build_passages
from kgsparql.passages import PASSAGE_TOKENS, Passages
from kgsparql.paths import Directions
from kgsparql.paths import Path as GraphPath
from kgsparql.query import Query
from kgsparql.resources import cache_directory
from kgsparql.session import Session
from kgsparql.snapshots import Snapshot
from kgsparql.terms import IRI, Literal, PrefixMap, Term, iri, printable

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib

    from kgsparql.answer import Answer, Retrieval
    from kgsparql.embedding import Embedder
    from kgsparql.kept_labels import KeptLabels
    from kgsparql.label_index import LabelIndex
    from kgsparql.linking import LinkedEntity, Linker
    from kgsparql.ranking import Ranker

__all__ = ["Asking", "KnowledgeBase", "open"]


LABELS_PER_SECOND = 500
"""Short labels that the default model embeds in a second on two cores, for estimates."""
_POLL_S = 0.1


class KnowledgeBase:
    """A graph with its labels, ready to be asked.

    :param embedder: ``auto``, ``none``, a model's name or path, or an OpenAI-compatible ``URL#model``.
    :param languages: language tags of labels, the preferred first.
    :param prefixes: more prefixes, before those of the files and those that kgsparql knows.
    :param note: called with each line a person should read (an index that was made, a file kept as a store).
    :ivar remembers: labels that answers show are kept for later questions, where not all of the graph are indexed.
    :param snapshot: that the graph is recorded into, or replayed from; its recording is the graph's, too.
    :raises SnapshotError: if the graph is not the one of the snapshot.
    """

    def __init__(
        self,
        graph: OpenedGraph,
        *,
        languages: tuple[str, ...] = ("en",),
        embedder: str | Embedder | None = "auto",
        prefixes: Mapping[str, str] | None = None,
        note: Callable[[str], None] = ignore,
        progress: Callable[[str, int, int | None], None] | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        self.graph = graph
        self.languages = languages
        self.prefixes = PrefixMap.default().merged({**graph.prefixes, **dict(prefixes or {})})
        self._embedder = embedder
        self._note = note
        self.progress = progress
        self._preparing = threading.Lock()
        self.remembers = True
        self.snapshot = snapshot
        if snapshot is not None:
            snapshot.about_graph(graph)

    def ask(self, question: str, **options: Any) -> Answer:
        """Answer a question; the keyword options are those of :class:`Asking`.

        :raises InputError: for an empty question.
        :raises LimitError: for one of more than 4,000 characters.
        """
        return self.answer(question, Asking(**options))

    def answer(self, question: str, asking: Asking) -> Answer:
        """As :meth:`ask`, with the options as one value."""
        with self._recorded(question, asking) as (usage, told):
            session = self.session(question, asking, usage=usage)
            made = answer(asking.method(), session, augment=asking.augment, rerank=asking.rerank)
            told.update(made.usage)
        return made

    def retrieve(self, question: str, **options: Any) -> Retrieval:
        """Verified evidence for a question, without an answer; options as for :meth:`ask`."""
        asking = Asking(**options)
        with self._recorded(question, asking) as (usage, _):
            session = self.session(question, asking, usage=usage)
            return retrieve(asking.method(), session, augment=asking.augment, rerank=asking.rerank)

    @contextmanager
    def _recorded(self, question: str, asking: Asking) -> Iterator[tuple[Usage, dict[str, Any]]]:
        """The usage of a question; what it took is recorded at its end, however that comes, or is as it was recorded.

        What its answer says it took is to be put into the second.
        """
        asked = {"question": question, "graph": self.graph.name, "languages": self.languages, **asking.described()}
        replayed = None if self.snapshot is None else self.snapshot.elapsed(asked)
        usage = Usage(asking.budget, cancel=asking.cancel, replayed=replayed)
        told: dict[str, Any] = {}
        try:
            yield usage, told
        finally:
            if self.snapshot is not None:
                self.snapshot.keep(asked, usage, told or usage.to_json())

    def measured(self, what: Mapping[str, Any], value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Something that a clock said; of what is replayed, what it said then.

        :param what: names it, among everything that is measured.
        """
        return value if self.snapshot is None else self.snapshot.measured(what, value)

    def stream(self, question: str, **options: Any) -> Iterator[Event]:
        """The steps of answering, as they happen; the last event carries the answer.

        Closing the iterator stops the question.
        """
        asking = Asking(**options)
        waiting: queue.SimpleQueue[Event | BaseException] = queue.SimpleQueue()

        def both(event: Event) -> None:
            asking.emit(event)
            waiting.put(event)

        def work() -> None:
            try:
                self.answer(question, replace(asking, emit=both))
            except BaseException as error:  # noqa: BLE001 - handed to the caller, not handled here
                waiting.put(error)

        threading.Thread(target=work, daemon=True).start()
        try:
            while True:
                event = waiting.get()
                if isinstance(event, BaseException):
                    raise event
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            asking.cancel.set()

    def session(self, question: str, asking: Asking, *, usage: Usage | None = None) -> Session:
        """A session for one question.

        :param usage: what is counted and limited; all of it, from now on, if ``None``.
        :raises NotFoundError: for a graph without triples, or a given entity that the graph does not mention.
        """
        text = checked_question(question)
        usage = usage or Usage(asking.budget, cancel=asking.cancel)
        graph = self.graph.within(usage) if isinstance(self.graph, EndpointGraph | FederatedGraph) else self.graph
        self._prepare(graph, usage, with_labels=not asking.entities)
        if self.is_empty:
            raise NotFoundError(
                f"{self.graph.name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right file?"
            )
        linker, ranker = None if asking.entities else self.linker, self.ranker
        if graph is self.graph:
            usage.started = time.monotonic()  # making an index of what is on this machine is not the question's cost
        given = tuple(self._resolved(e, graph) if isinstance(e, str) else e for e in asking.entities)
        for term in given:
            _check_mentioned(graph, term)
        emit = Numbering(asking.emit, lambda: usage.seconds)
        session = Session(
            question=text,
            graph=MeteredGraph(
                self._asked(graph), usage, emit, noise=replace(self.noise, qualifiers=asking.qualifiers)
            ),
            linker=linker,
            ranker=ranker,
            model=asking.model,
            allow_model_knowledge=asking.allow_model_knowledge,
            complete=asking.complete,
            chooser=None if asking.chooser is None else asking.chooser(RankerChooser(ranker, emit)),
            usage=usage,
            emit=emit,
            given=given,
            passages=self.passages,
            languages=self.languages,
            direction=asking.direction,
            seed=asking.seed,
            notes=list(graph.notes),
            remember=self._remember,
        )
        if self.embedder is None:
            session.fall_back("ranking", "no embedding model: texts are compared by the words they share")
        return session

    def _asked(self, view: OpenedGraph) -> OpenedGraph:
        """What a question asks: its own limits are counted elsewhere, but members that failed it has met."""
        return self.graph.remembering(view) if isinstance(view, FederatedGraph) else self.graph  # type: ignore[attr-defined]

    def _prepare(self, graph: OpenedGraph, usage: Usage, *, with_labels: bool) -> None:
        """Read what a question needs beside its own queries; once, and stopped with the question.

        :param graph: our own, or an endpoint within the question's time, which then ends this too.
        """
        while not self._preparing.acquire(timeout=_POLL_S):
            if graph is not self.graph:
                usage.check()
            elif usage.cancel.is_set():
                raise CancelledError("stopped")
        try:
            if "is_empty" not in self.__dict__:
                self.__dict__["is_empty"] = _is_empty(graph)
            if "noise" not in self.__dict__:
                self.__dict__["noise"] = _noise(graph)
            if with_labels and not self.is_empty and "index" not in self.__dict__:
                self.__dict__["index"] = self._index_of(graph, usage.cancel)
        finally:
            self._preparing.release()

    @cached_property
    def is_empty(self) -> bool:
        """Whether the graph holds no triple at all."""
        return _is_empty(self.graph)

    @cached_property
    def noise(self) -> Noise:
        """What no method walks in this graph."""
        return _noise(self.graph)

    @cached_property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors, if anything does."""
        from kgsparql.embedding import INSTALL_HINT, open_embedder

        if not isinstance(self._embedder, str):
            return self._embedder
        found = open_embedder(self._embedder, recording=None if self.snapshot is None else self.snapshot.exchanges)
        if found is None and self._embedder == "auto":
            self._note(f"no embedding model: words are compared by spelling, not by meaning ({INSTALL_HINT})")
        return found

    @cached_property
    def ranker(self) -> Ranker:
        """What compares texts with questions; it remembers texts, from one question and one process to the next."""
        from kgsparql.ranking import ranker_for

        return ranker_for(self._remembering)

    @cached_property
    def _remembering(self) -> Embedder | None:
        """The embedder, asked once for each text; one that is not our own is asked as often as it likes to be."""
        from kgsparql.embedding_cache import VECTORS, CachedEmbedder

        if self.embedder is None or not isinstance(self._embedder, str):  # anybody else's name may say too little
            return self.embedder
        return CachedEmbedder(self.embedder, self._cache / VECTORS, note=self._note)

    @cached_property
    def index(self) -> LabelIndex:
        """The labels of the graph; made, or opened, when they are first needed."""
        return self._index_of(self.graph, None)

    def _index_of(self, graph: OpenedGraph, cancel: threading.Event | None) -> LabelIndex:
        if isinstance(graph, FederatedGraph):
            return self._index_of_members(graph, cancel)
        from kgsparql.label_index import label_index

        embedder, directory = self.embedder, self._index_directory(graph)
        index = label_index(
            graph, directory, embedder=embedder, progress=self.progress, cancel=cancel,
            kept=self._kept_of(graph) if graph.is_remote else None, candidates=self._remembering,
        )  # fmt: skip
        if index.note:
            self._note(index.note)
        if embedder is not None and index.embedder is None and index.rows:
            seconds = index.texts / LABELS_PER_SECOND
            takes = f"{max(1, round(seconds))} s" if seconds < 100 else f"{round(seconds / 60)} min"
            self._note(
                f"{index.rows:,} labels are searched by spelling; `kgsparql index -k {self.graph.name}` adds search by "
                f"meaning, once, in about {takes}"
            )
        return index

    def _index_of_members(self, graph: FederatedGraph, cancel: threading.Event | None) -> LabelIndex:
        """The indexes of several graphs as one; a graph whose labels cannot be had does not keep the others back."""
        from kgsparql.label_merging import merged_index

        found: dict[str, LabelIndex] = {}
        failed: list[KgsparqlError] = []
        for member in graph.members:
            try:
                found[member.name] = self._index_of(member, cancel)
            except (LimitError, QueryError, UnreachableError) as error:
                failed.append(error)
        if not found:
            raise failed[0]
        for why in failed:
            self._note(f"what only one graph names cannot be found by its name: {why.message}")
        return merged_index(found)

    def _kept_of(self, graph: OpenedGraph) -> KeptLabels:
        """Labels of an endpoint that is not indexed as a whole: a slice of it, and those of earlier answers."""
        from kgsparql.label_index import kept_labels

        kept = kept_labels(graph, cache_directory())
        if self.snapshot is None:
            return kept
        return type(kept)(self.snapshot.adopted(kept.path.parent, cache_directory()) / kept.path.name)

    def _remember(self, found: Mapping[Term, Label]) -> None:
        """Keep the labels that a question has shown, where not all are indexed; a snapshot stays what it is."""
        index = self.__dict__.get("index")
        if index is None or not index.is_partial or self.snapshot is not None or not self.remembers:
            return
        from kgsparql.label_rows import label_row

        made = (
            label_row(term.value, label.text, language=(label.language or "").lower(), degree=1)
            for term, label in found.items()
            if isinstance(term, IRI) and not label.derived
        )
        try:
            self._kept_of(self.graph).remember(row for row in made if row is not None)
        except StoreError as error:
            self._note(f"labels of this answer are not kept: {error.message}")

    @property
    def index_directory(self) -> Path:
        """Where the label index of this graph is kept."""
        return self._index_directory(self.graph)

    def _index_directory(self, graph: OpenedGraph) -> Path:
        from kgsparql.label_index import index_directory

        directory = index_directory(graph, cache_directory())
        return directory if self.snapshot is None else self.snapshot.adopted(directory, cache_directory())

    @property
    def _cache(self) -> Path:
        return cache_directory() if self.snapshot is None else self.snapshot.cache

    def build_index(self, *, cancel: threading.Event | None = None) -> LabelIndex:
        """Build the whole label index: full text, and a vector for each label if there is an embedder.

        What an earlier, interrupted run embedded is kept.
        """
        from kgsparql.label_index import build_label_index
        from kgsparql.label_merging import merged_index

        graphs = self.graph.members if isinstance(self.graph, FederatedGraph) else (self.graph,)
        built = {
            graph.name: build_label_index(
                graph, self._index_directory(graph), embedder=self.embedder, progress=self.progress, cancel=cancel
            )
            for graph in graphs
        }
        return merged_index(built) if len(built) > 1 else built[self.graph.name]

    def build_slice(
        self, classes: Iterable[IRI | str], *, limit: int, cancel: threading.Event | None = None
    ) -> LabelIndex:
        """Index the labels of the instances of some classes of an endpoint, whose labels are too many to be read.

        The pages that an interrupted run has read are kept, and read no more.

        :param limit: instances of each class, at most.
        :raises InputError: if the graph is no endpoint.
        """
        from kgsparql.label_index import build_slice
        from kgsparql.label_slices import read_slice

        if not isinstance(self.graph, EndpointGraph):
            raise InputError(
                f"{self.graph.name} is not an endpoint: its labels are indexed as a whole", hint="leave out --class"
            )
        kept = self._kept_of(self.graph)
        terms = [self.resolve(name) if isinstance(name, str) else name for name in classes]
        read_slice(
            self.graph, terms, kept, limit=limit, languages=self.languages, progress=self.progress, cancel=cancel
        )
        return build_slice(self.graph, kept, embedder=self.embedder, progress=self.progress, cancel=cancel)

    def index_texts(
        self, directory: Path, *, passage_tokens: int = PASSAGE_TOKENS, cancel: threading.Event | None = None
    ) -> IndexedTexts:
        """Cut the documents of a directory into passages, and find what they mention; the label index is built first.

        They take the place of those that were indexed before, all at once.

        :raises InputError: if there is no such directory, or nothing in it that can be read.
        """
        built = build_passages(
            self.index_directory, directory, source=self.graph.name, passage_tokens=passage_tokens,
            languages=self.languages, progress=self.progress, cancel=cancel,
        )  # fmt: skip
        self.__dict__.pop("passages", None)
        return built

    @cached_property
    def passages(self) -> Passages:
        """The passages of documents that were indexed with the graph; nothing is read before they are asked for."""
        return Passages(lambda: self.index_directory, self.graph.name)

    @cached_property
    def linker(self) -> Linker:
        """Finds entities in a question; made, with the label index, when it is first needed."""
        from kgsparql.linking import Linker

        return Linker(self.index, self._remembering if self.index.embedder else None, languages=self.languages)

    def find(self, text: str, *, limit: int = 10) -> list[LinkedEntity]:
        """The entities, classes and predicates whose labels are like a text, or have it as a part, the best first.

        :raises InputError: for a text without a letter or digit.
        :raises LimitError: for one of more than 4,000 characters.
        """
        if not any(char.isalnum() for char in text):
            raise InputError(
                "there is nothing to search for", hint="write a name, or a part of one: kgsparql find Curi"
            )
        return self.linker.find(checked_question(text), limit=limit)

    def info(self, *, shown: int = 10) -> dict[str, Any]:
        """What the graph holds, as a JSON object: sources, triples, named graphs, commonest classes and predicates.

        :param shown: how many named graphs, classes and predicates; ``cuts`` says where there are more.
        """
        from kgsparql.graph_info import graph_info
        from kgsparql.label_index import is_looked_up, open_label_index

        index = open_label_index(self.graph, self.index_directory)
        made = "no index yet: the first question makes one" if index is None else f"{index.rows:,} labels indexed"
        if is_looked_up(self.graph, self.index_directory):
            pages = self._kept_of(self.graph).pages()
            made = "looked up for each question" + "".join(f", {p.entities:,} of <{c}>" for c, p in pages.items())
        if len(self.passages):
            made += f", {len(self.passages):,} passages of {self.passages.documents:,} documents"
        found = graph_info(self.graph, self.labels, self.prefixes, shown=shown)
        return {**found, "label_index": made}

    def resolve(self, name: str) -> IRI:
        """The entity a person means: an IRI, a CURIE, or an exact label.

        :raises NotFoundError: if no entity has this label.
        :raises AmbiguousLabelError: if several have it.
        :raises PrefixError: if it is neither a label nor a CURIE with a known prefix.
        """
        return self._resolved(name, self.graph)

    def _resolved(self, name: str, graph: OpenedGraph) -> IRI:
        text = name.strip()
        if text.startswith("_:"):
            raise InputError(
                f"{printable(text, 40)}: a blank node has no name outside its graph", hint="name an IRI beside it"
            )
        if re.match(r"<.*>$|[A-Za-z][\w+.-]*://|urn:", text):
            return iri(text)
        unknown: PrefixError | None = None
        if re.fullmatch(r"[\w.-]*:\S+", text):
            try:
                return self.prefixes.expand(text)
            except PrefixError as error:
                unknown = error
        found = by_label(graph, text, languages=self.languages)
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguousLabelError(
                f"{len(found)} entities are labelled {printable(text, 80)!r}",
                hint="name one by its IRI:",
                candidates=[self.prefixes.compress(term) for term in found],
            )
        if unknown is not None:
            raise unknown
        raise NotFoundError(
            f"nothing is labelled {printable(text, 80)!r}", hint=f"search for it: kgsparql find {printable(text, 80)!r}"
        )

    def show(self, entity: IRI | str, *, direction: Directions = "both", limit: int = 10) -> Found[NeighbourGroup]:
        """What is around an entity, at most ``limit`` neighbours by each predicate and direction.

        :raises NotFoundError: if the graph does not mention it.
        """
        term = self.resolve(entity) if isinstance(entity, str) else entity
        found = neighbours(self.graph, [term], direction=direction, limit=limit, skip=frozenset())
        if not found.items and not found.cuts:
            raise NotFoundError(f"{term} is not in the graph", hint="check the IRI, or search: kgsparql find TEXT")
        return found

    def paths(
        self, start: IRI | str, end: IRI | str, *, max_hops: int = 5, direction: Directions = "both"
    ) -> Found[GraphPath]:
        """The shortest paths between two entities."""
        ends = [self.resolve(e) if isinstance(e, str) else e for e in (start, end)]
        return shortest_paths(self.graph, *ends, max_hops=max_hops, direction=direction)

    def labels(self, terms: Iterable[Term]) -> dict[Term, str]:
        """A label for each term, its local name where the graph has none."""
        return {t: label.text for t, label in labels(self.graph, list(terms), languages=self.languages).items()}


def open(
    *sources: str | Path | rdflib.Graph | pyoxigraph.Store,
    languages: tuple[str, ...] = ("en",),
    embedder: str | Embedder | None = "auto",
    note: Callable[[str], None] = ignore,
    progress: Callable[[str, int, int | None], None] | None = None,
    snapshot: Snapshot | None = None,
    **options: Any,
) -> KnowledgeBase:
    """Open RDF files, a directory of them, a store, a SPARQL endpoint, an ``rdflib.Graph`` or a ``pyoxigraph.Store``.

    :param snapshot: that everything is recorded into, or replayed from.
    :param options: of :func:`kgsparql.graphs.open_graph`: ``format``, ``base``, ``encoding``, ``skip_bad``, ``cache``.
    :raises GraphLoadError: for a file that is missing or is not RDF.

    >>> knowledge = open("fixtures/nobel.ttl")
    >>> knowledge.resolve("Marie Curie")
    <NamedNode value=http://dbpedia.org/resource/Marie_Curie>
    """
    given = [_plain(source) for source in sources]
    recording = None if snapshot is None else snapshot.exchanges
    graph = open_graph(given, notes=note, progress=progress, recording=recording, **options)
    return KnowledgeBase(graph, languages=languages, embedder=embedder, note=note, progress=progress, snapshot=snapshot)


def _is_empty(graph: OpenedGraph) -> bool:
    found = graph.select(Query.load("any"))
    return _is_none(found, "count")


def _noise(graph: OpenedGraph) -> Noise:
    """What the profile of an endpoint calls noise, and the identifiers of a Wikibase.

    A public endpoint that is known to be none is not asked for those.
    """
    if isinstance(graph, FederatedGraph):
        profiles = [member.profile for member in graph.members if isinstance(member, EndpointGraph)]
        return Noise.of(graph, (term for profile in profiles for term in profile.noise))
    profile = graph.profile if isinstance(graph, EndpointGraph) else None
    if profile is None:
        return Noise.of(graph)
    if profile.is_public and not profile.external_ids:
        return Noise(frozenset(profile.noise))
    return Noise.of(graph, profile.noise)


def _check_mentioned(graph: OpenedGraph, entity: IRI) -> None:
    """Refuse an entity that no triple has, as subject, predicate or object: every method would find nothing."""
    found = graph.select(Query.load("mentioned").bind(entity=[entity]))
    if _is_none(found, "places"):
        elsewhere = graph.profile.elsewhere if isinstance(graph, EndpointGraph) else ()
        others = "".join(f"; another service has more: -k {other}" for other in elsewhere)
        hint = f"check the IRI, or search: kgsparql find TEXT{others}"
        raise NotFoundError(f"{entity} is not in the graph", hint=hint)


def _is_none(found: Solutions, name: str) -> bool:
    """Whether what was counted is nothing; of a result that was cut that cannot be told."""
    counts = [count.value for s in found if isinstance(count := s.get(name), Literal)]
    return found.complete and counts == ["0"]


def _plain(source: Any) -> str | Path | pyoxigraph.Store:
    """The source as the graphs know it: rdflib's graphs become stores, the rest stays."""
    if isinstance(source, str | Path):
        return source
    if type(source).__module__.startswith("rdflib"):
        from kgsparql.interop import store_from_rdflib

        return store_from_rdflib(source)
    return cast("pyoxigraph.Store", source)
