"""What is prepared for a graph: its label index, passages of documents, the embedder, and the linker that uses them."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.errors import GRAPH_FAILED, EndpointError, InputError, KgsparqlError, OptionError
from kgsparql.graphs import EndpointGraph, FederatedGraph
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.notes import Note
from kgsparql.linking.label_index.combined import federated_index
from kgsparql.linking.label_index.open import (
    build_label_index,
    build_slice,
    entities_in_slices,
    index_directory,
    is_looked_up,
    label_index,
    open_label_index,
    slice_directory,
)
from kgsparql.linking.label_index.search import LabelIndex, Progress
from kgsparql.linking.linker import Linker
from kgsparql.linking.passages import PASSAGE_TOKENS, IndexedTexts, Passages, build_passages
from kgsparql.linking.ranking import Ranker, ranker_for
from kgsparql.models.embedders import VECTORS, CachedEmbedder, open_embedder
from kgsparql.models.embedding import INSTALL_HINT, Embedder
from kgsparql.rdf.terms import IRI
from kgsparql.resources import cache_directory
from kgsparql.storage.lance_tables import Location, ObjectPrefix, location

if TYPE_CHECKING:
    from kgsparql.graphs.snapshots import Snapshot


class GraphIndexes:
    """Label index, passages, embedder, ranker and linker of a graph: made or opened when they are first needed.

    A federated graph has a label index for each member; only of a member that failed it is tried again.

    :param embedder: ``auto``, ``none``, a model's name or path, or an OpenAI-compatible ``URL#model``.
    :param note: called with each line a person should read.
    :param snapshot: its indexes are used, so that a replay finds what its recording found.
    :param place: a directory or URI of object storage below which indexes are; the cache directory, if ``None``.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        languages: tuple[str, ...],
        embedder: str | Embedder | None,
        note: Callable[[str], None],
        progress: Progress | None = None,
        snapshot: Snapshot | None = None,
        place: str | Path | None = None,
    ) -> None:
        self.graph = graph
        self.progress = progress
        self._languages = languages
        self._embedder = embedder
        self._note = note
        self._snapshot = snapshot
        self._parent = None if place is None else location(str(place))
        if snapshot is not None and isinstance(self._parent, ObjectPrefix):
            raise OptionError(f"a snapshot has no copy of {place}", hint="leave out --index, or name a directory")
        self._linker: Linker | None = None
        self._of_members: dict[str, LabelIndex] = {}
        self._missing: dict[str, Note] = {}
        self._told: set[str] = set()

    @cached_property
    def embedder(self) -> Embedder | None:
        """Return what turns texts into vectors; ``None`` if nothing does."""
        if not isinstance(self._embedder, str):
            return self._embedder
        found = open_embedder(
            self._embedder, recording=None if self._snapshot is None else self._snapshot.recording, note=self._note
        )
        if found is None and self._embedder == "auto":
            self._note(f"no embedding model: words are compared by spelling, not by meaning ({INSTALL_HINT})")
        return found

    @cached_property
    def ranker(self) -> Ranker:
        """Return what compares texts with questions; vectors of texts are kept, also for the next process."""
        return ranker_for(self._cached_embedder)

    @cached_property
    def _cached_embedder(self) -> Embedder | None:
        """Give the embedder a cache, unless the caller made the embedder, whose name may not be unique."""
        if self.embedder is None or not isinstance(self._embedder, str):
            return self.embedder
        cache = cache_directory() if self._snapshot is None else self._snapshot.cache
        return CachedEmbedder(self.embedder, cache / VECTORS, note=self._note)

    def close(self) -> None:
        """Close the embedder that was opened here, and its file of vectors; the next text opens them again."""
        if isinstance(opened := vars(self).get("_cached_embedder"), CachedEmbedder):
            opened.close()

    @property
    def is_made(self) -> bool:
        """Tell whether the label index is there, so that a question need not make it."""
        return self._linker is not None or open_label_index(self.graph, self.directory) is not None

    @property
    def index(self) -> LabelIndex:
        """Return the labels of the graph."""
        return (self._linker or self.linker).index

    @property
    def linker(self) -> Linker:
        """Return what finds entities in a question; what is missing is noted, each line once."""
        linker = self.linker_for(self.graph.refreshed())
        for line in self._missing.values():
            if line not in self._told:
                self._told.add(line)
                self._note(line)
        return linker

    def linker_for(self, graph: KnowledgeGraph, cancel: threading.Event | None = None) -> Linker:
        """Return the linker, with the index; where a graph failed the last time, its index is tried again.

        What is missing is only in :attr:`missing_notes`, for the answer.
        """
        if self._linker is None or self._missing:
            index = self.index_of(graph, cancel)
            self._linker = Linker(index, self._cached_embedder if index.embedder else None, languages=self._languages)
        return self._linker

    def index_of(self, graph: KnowledgeGraph, cancel: threading.Event | None = None) -> LabelIndex:
        """Return the index of a graph, or of all its members as one."""
        if isinstance(graph, FederatedGraph):
            return self._joint_index(graph, cancel)
        embedder = self.embedder
        index = label_index(
            graph, self._directory_of(graph), embedder=embedder, progress=self.progress, cancel=cancel,
            slices=self._slices_of(graph) if graph.is_remote else None, candidates=self._cached_embedder,
        )  # fmt: skip
        if index.note:
            self._note(index.note)
        if embedder is not None and index.embedder is None and index.rows:
            command = f"kgsparql index -k {shlex.quote(graph.name)}"
            self._note(f"{index.rows:,} labels are searched by spelling; `{command}` adds search by meaning, once")
        return index

    def _joint_index(self, graph: FederatedGraph, cancel: threading.Event | None) -> LabelIndex:
        """Join the indexes of all members; one that has just failed is not asked again: it would take long."""
        failed: dict[str, KgsparqlError] = {}
        for member in graph.members:
            if member.name in self._of_members:
                continue
            error = graph.errors.get(member.name)
            if isinstance(error, EndpointError):
                failed[member.name] = error
                continue
            try:
                self._of_members[member.name] = self.index_of(member, cancel)
            except GRAPH_FAILED as raised:
                failed[member.name] = raised
        found = {member.name: self._of_members[member.name] for member in graph.members if member.name not in failed}
        if not found:
            raise next(iter(failed.values()))
        causes = {name: error.message_about(name) for name, error in failed.items()}
        self._missing = {
            name: Note("names_unfound", f"{cause}; names that only it knows are not found", cause)
            for name, cause in causes.items()
        }
        return federated_index(found)

    @property
    def missing_notes(self) -> tuple[Note, ...]:
        """Return what the reader of an answer is told about members of the graph whose names could not be read."""
        return tuple(self._missing.values())

    def _slices_of(self, graph: KnowledgeGraph) -> Path:
        return self._copy_in_snapshot(slice_directory(graph, cache_directory()))

    @property
    def directory(self) -> Location:
        """Return where the label index of the graph is kept."""
        return self._directory_of(self.graph)

    def _directory_of(self, graph: KnowledgeGraph) -> Location:
        directory = index_directory(graph, self._parent or cache_directory())
        return self._copy_in_snapshot(directory, self._parent) if isinstance(directory, Path) else directory

    def _copy_in_snapshot(self, directory: Path, parent: Location | None = None) -> Path:
        """Return the directory in the snapshot that stands for one in the cache; without a snapshot, the latter."""
        if self._snapshot is None:
            return directory
        return self._snapshot.cache_copy(directory, parent if isinstance(parent, Path) else cache_directory())

    def description(self) -> str:
        """Say in a few words what is indexed; makes no index."""
        if is_looked_up(self.graph, self.directory):
            read = entities_in_slices(self._slices_of(self.graph))
            text = "looked up for each question" + "".join(
                f", {count:,} of <{class_}>" for class_, count in read.items()
            )
        else:
            index = open_label_index(self.graph, self.directory)
            text = "no index yet: the first question makes one" if index is None else f"{index.rows:,} labels indexed"
        if len(self.passages):
            text += f", {len(self.passages):,} passages of {self.passages.documents:,} documents"
        return text

    def build(self) -> LabelIndex:
        """Build the whole index, with vectors if there is an embedder."""
        built = {
            graph.name: build_label_index(
                graph, self._directory_of(graph), embedder=self.embedder, progress=self.progress
            )
            for graph in self.graph.members
        }
        return federated_index(built) if len(built) > 1 else built[self.graph.name]

    def build_slice(self, classes: Iterable[IRI], *, limit: int) -> LabelIndex:
        """Index the labels of the instances of some classes of an endpoint, which has too many labels to read them."""
        if not isinstance(self.graph, EndpointGraph):
            raise InputError(
                f"{self.graph.name} is not an endpoint: its labels are indexed as a whole", hint="leave out --class"
            )
        return build_slice(
            self.graph, list(classes), self._slices_of(self.graph), limit=limit, languages=self._languages,
            embedder=self.embedder, progress=self.progress or (lambda *_: None),
        )  # fmt: skip

    def index_texts(self, texts: Path, *, passage_tokens: int = PASSAGE_TOKENS) -> IndexedTexts:
        """Cut the documents of a directory into passages, and find what they mention; see :func:`build_passages`."""
        built = build_passages(
            self.directory, texts, source=self.graph.name, passage_tokens=passage_tokens,
            languages=self._languages, progress=self.progress,
        )  # fmt: skip
        vars(self).pop("passages", None)
        return built

    @cached_property
    def passages(self) -> Passages:
        """Return the passages of the documents that were indexed with the graph."""
        return Passages(lambda: self.directory, self.graph.name)
