"""What finds entities by name in a graph: its label indexes, and the passages and vectors that are kept with these."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.errors import InputError, StoreError
from kgsparql.exploration import Label
from kgsparql.graphs import EndpointGraph, FederatedGraph
from kgsparql.graphs.protocols import OpenedGraph
from kgsparql.graphs.snapshots import Snapshot
from kgsparql.linking.passages.indexing import IndexedTexts, build_passages
from kgsparql.linking.passages.passages import PASSAGE_TOKENS, Passages
from kgsparql.rdf.terms import IRI, Term
from kgsparql.resources import cache_directory

if TYPE_CHECKING:
    from kgsparql.linking.labels.federated import MemberIndexes
    from kgsparql.linking.labels.kept import KeptLabels
    from kgsparql.linking.labels.search import LabelIndex
    from kgsparql.linking.linker import Linker
    from kgsparql.linking.ranking import Ranker
    from kgsparql.models.embedding import Embedder

__all__ = ["LabelIndexes"]

LABELS_PER_SECOND = 500
"""Short labels that the default model embeds in a second on two cores, for estimates."""


class LabelIndexes:
    """Makes, opens and keeps the label index of a graph, or one of each graph where there are several.

    :param embedder: ``auto``, ``none``, a model's name or path, or an OpenAI-compatible ``URL#model``.
    :param note: called with each line a person should read.
    :param snapshot: whose indexes are used, so that a replay finds what its recording found.
    :ivar remembers: labels that answers show are kept for later questions, where not all of the graph are indexed.
    """

    def __init__(
        self,
        graph: OpenedGraph,
        *,
        languages: tuple[str, ...],
        embedder: str | Embedder | None,
        note: Callable[[str], None],
        progress: Callable[[str, int, int | None], None] | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        self.graph = graph
        self.progress = progress
        self.remembers = True
        self._languages = languages
        self._embedder = embedder
        self._note = note
        self._snapshot = snapshot
        self._linker: Linker | None = None

    @cached_property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors, if anything does."""
        from kgsparql.models.embedding import INSTALL_HINT, open_embedder

        if not isinstance(self._embedder, str):
            return self._embedder
        found = open_embedder(self._embedder, recording=None if self._snapshot is None else self._snapshot.recording)
        if found is None and self._embedder == "auto":
            self._note(f"no embedding model: words are compared by spelling, not by meaning ({INSTALL_HINT})")
        return found

    @cached_property
    def ranker(self) -> Ranker:
        """What compares texts with questions; it remembers texts, from one question and one process to the next."""
        from kgsparql.linking.ranking import ranker_for

        return ranker_for(self._remembering)

    @cached_property
    def _remembering(self) -> Embedder | None:
        """The embedder, asked once for each text; one that is not our own is asked as often as it likes to be."""
        from kgsparql.models.embedding_cache import VECTORS, CachedEmbedder

        if self.embedder is None or not isinstance(self._embedder, str):  # anybody else's name may say too little
            return self.embedder
        cache = cache_directory() if self._snapshot is None else self._snapshot.cache
        return CachedEmbedder(self.embedder, cache / VECTORS, note=self._note)

    @property
    def index(self) -> LabelIndex:
        """The labels of the graph; made, or opened, when they are first needed."""
        return (self._linker or self.linker).index

    @property
    def linker(self) -> Linker:
        """Finds entities in a question; made, with the index, when it is first needed."""
        linker = self.prepare(self.graph.refreshed() if isinstance(self.graph, FederatedGraph) else self.graph)
        self._members.tell()
        return linker

    def prepare(self, graph: OpenedGraph, cancel: threading.Event | None = None) -> Linker:
        """Make, or open, the index that is needed now, and again where a graph failed the last time.

        What is missing is not told: an answer says it.

        :param graph: the graph, or an endpoint within the time of a question, which then ends this too.
        """
        if self._linker is None or not self._members.is_final:
            from kgsparql.linking.linker import Linker

            index = self.index_of(graph, cancel)
            self._linker = Linker(index, self._remembering if index.embedder else None, languages=self._languages)
        return self._linker

    def index_of(self, graph: OpenedGraph, cancel: threading.Event | None = None) -> LabelIndex:
        """The index of a graph, or of all that are in it."""
        if isinstance(graph, FederatedGraph):
            return self._members.joined(graph, lambda member: self.index_of(member, cancel))
        from kgsparql.linking.labels.index import label_index

        embedder, directory = self.embedder, self._directory_of(graph)
        index = label_index(
            graph, directory, embedder=embedder, progress=self.progress, cancel=cancel,
            kept=self._kept_of(graph) if graph.is_remote else None, candidates=self._remembering,
        )  # fmt: skip
        if index.note:
            self._note(index.note)
        if embedder is not None and index.embedder is None and index.rows:
            seconds = index.texts / LABELS_PER_SECOND
            takes = f"{max(1, round(seconds))} s" if seconds < 100 else f"{round(seconds / 60)} min"
            command = f"kgsparql index -k {shlex.quote(graph.name)}"
            self._note(
                f"{index.rows:,} labels are searched by spelling; `{command}` adds search by meaning, once, in about "
                f"{takes}"
            )
        return index

    @cached_property
    def _members(self) -> MemberIndexes:
        from kgsparql.linking.labels.federated import MemberIndexes

        return MemberIndexes(self._last_known, self._note)

    @property
    def missing(self) -> tuple[str, ...]:
        """Of several graphs, what the reader of an answer is told of those whose names could not be had."""
        return tuple(self._members.missing.values())

    def _last_known(self, graph: OpenedGraph) -> LabelIndex | None:
        """What is kept of the labels of an endpoint that cannot be asked."""
        from kgsparql.linking.labels.partial import last_directory, last_known

        if not graph.is_remote:
            return None
        directory = None if self._snapshot is None else last_directory(graph, self._snapshot.cache)
        if directory is None and (self._snapshot is None or not self._snapshot.is_replay):
            directory = last_directory(graph, cache_directory())
            directory = None if directory is None else self._adopted(directory)
        return last_known(graph, directory, self._kept_of(graph), self.embedder)

    def _kept_of(self, graph: OpenedGraph) -> KeptLabels:
        """Labels of an endpoint that is not indexed as a whole: a slice of it, and those of earlier answers."""
        from kgsparql.linking.labels.partial import kept_labels

        kept = kept_labels(graph, cache_directory())
        return type(kept)(self._adopted(kept.path.parent) / kept.path.name)

    def remember(self, found: Mapping[Term, Label]) -> None:
        """Keep the labels that a question has shown, where not all are indexed; a snapshot stays what it is."""
        index = None if self._linker is None else self._linker.index
        if index is None or not index.is_partial or self._snapshot is not None or not self.remembers:
            return
        from kgsparql.linking.labels.rows import label_row

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
    def directory(self) -> Path:
        """Where the label index of the graph is kept."""
        return self._directory_of(self.graph)

    def _directory_of(self, graph: OpenedGraph) -> Path:
        from kgsparql.linking.labels.index import index_directory

        return self._adopted(index_directory(graph, cache_directory()))

    def _adopted(self, directory: Path) -> Path:
        """The place of what is in the cache: there, or in the snapshot."""
        return directory if self._snapshot is None else self._snapshot.adopted(directory, cache_directory())

    def described(self) -> str:
        """What there is of an index, in a few words; none is made for it."""
        from kgsparql.linking.labels.index import is_looked_up, open_label_index

        index = open_label_index(self.graph, self.directory)
        made = "no index yet: the first question makes one" if index is None else f"{index.rows:,} labels indexed"
        if is_looked_up(self.graph, self.directory):
            pages = self._kept_of(self.graph).pages()
            made = "looked up for each question" + "".join(f", {p.entities:,} of <{c}>" for c, p in pages.items())
        if len(self.passages):
            made += f", {len(self.passages):,} passages of {self.passages.documents:,} documents"
        return made

    def build(self, cancel: threading.Event | None = None) -> LabelIndex:
        """Build the whole index, with a vector for each label if there is an embedder."""
        from kgsparql.linking.labels.federated import federated_index
        from kgsparql.linking.labels.index import build_label_index

        graphs = self.graph.members if isinstance(self.graph, FederatedGraph) else (self.graph,)
        built = {
            graph.name: build_label_index(
                graph, self._directory_of(graph), embedder=self.embedder, progress=self.progress, cancel=cancel
            )
            for graph in graphs
        }
        return federated_index(built) if len(built) > 1 else built[self.graph.name]

    def build_slice(self, classes: Iterable[IRI], *, limit: int, cancel: threading.Event | None = None) -> LabelIndex:
        """Index the labels of the instances of some classes of an endpoint, whose labels are too many to be read.

        :param classes: not gone through before it is known that the graph is an endpoint.
        :param limit: instances of each class, at most.
        :raises InputError: if the graph is no endpoint.
        """
        from kgsparql.linking.labels.partial import build_slice, read_slice

        if not isinstance(self.graph, EndpointGraph):
            raise InputError(
                f"{self.graph.name} is not an endpoint: its labels are indexed as a whole", hint="leave out --class"
            )
        kept, terms = self._kept_of(self.graph), list(classes)
        read_slice(
            self.graph, terms, kept, limit=limit, languages=self._languages, progress=self.progress, cancel=cancel
        )
        return build_slice(self.graph, kept, embedder=self.embedder, progress=self.progress, cancel=cancel)

    def index_texts(
        self, texts: Path, *, passage_tokens: int = PASSAGE_TOKENS, cancel: threading.Event | None = None
    ) -> IndexedTexts:
        """Cut the documents of a directory into passages, and find what they mention."""
        built = build_passages(
            self.directory, texts, source=self.graph.name, passage_tokens=passage_tokens,
            languages=self._languages, progress=self.progress, cancel=cancel,
        )  # fmt: skip
        self.__dict__.pop("passages", None)
        return built

    @cached_property
    def passages(self) -> Passages:
        """The passages of documents that were indexed with the graph; nothing is read before they are asked for."""
        return Passages(lambda: self.directory, self.graph.name)
