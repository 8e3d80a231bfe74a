"""Labels read from a graph wherever it is; of an endpoint all of them, or an error that says why not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kgsparql.errors import EndpointReplyError, EndpointTimeoutError, LimitError
from kgsparql.graphs.protocols import KnowledgeGraph, OpenedGraph, Solutions, Source, naming_of
from kgsparql.linking.labels.rows import Description, LabelRow, Progress
from kgsparql.linking.labels.scanning import description_rows, label_rows
from kgsparql.rdf.query import Query
from kgsparql.rdf.vocabulary import Naming

__all__ = ["REMOTE_ROWS", "read_descriptions", "read_labels", "too_many"]

REMOTE_ROWS = 300_000
"""Of an endpoint with more labels none are read: it would be a minute's work for it, and for the network."""


def read_labels(
    graph: OpenedGraph,
    *,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    announce: Callable[[int], None] | None = None,
) -> list[LabelRow]:
    """As :func:`kgsparql.linking.labels.scanning.label_rows`.

    :raises LimitError: if the labels of an endpoint are more than :data:`REMOTE_ROWS`, or more than it gives in time.
    :raises CancelledError: if ``cancel`` is set before all is read.
    """

    def about(rows: int) -> None:
        if graph.is_remote and rows > REMOTE_ROWS:
            raise too_many(graph, f"there are about {rows:,}")
        if announce is not None:
            announce(rows)

    with _whole(graph) as readable:
        return label_rows(readable, progress=progress, cancel=cancel, announce=about)


def read_descriptions(graph: OpenedGraph, *, cancel: threading.Event | None = None) -> list[Description]:
    """As :func:`kgsparql.linking.labels.scanning.description_rows`, with the errors of :func:`read_labels`."""
    with _whole(graph) as readable:
        return description_rows(readable, cancel=cancel)


@contextmanager
def _whole(graph: OpenedGraph) -> Iterator[KnowledgeGraph]:
    if not graph.is_remote:
        yield graph
        return
    try:
        yield _WholeGraph(graph)
    except EndpointTimeoutError as error:
        raise too_many(graph, "it takes too long") from error
    except EndpointReplyError as error:
        if error.code != "E_LIMIT":
            raise
        raise too_many(graph, "they are too large for one reply") from error


@dataclass(slots=True)
class _WholeGraph:
    """A graph that gives all solutions or an error: a label that is missing once would not be found for good."""

    graph: KnowledgeGraph
    name: str = field(init=False)
    chunk_size: int = field(init=False)
    may_repeat_triples: bool = field(init=False)
    naming: Naming = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.graph.name
        self.chunk_size = self.graph.chunk_size
        self.may_repeat_triples = self.graph.may_repeat_triples
        self.naming = naming_of(self.graph)

    def select(self, query: Query) -> Solutions:
        solutions = self.graph.select(query)
        if solutions.cut or solutions.failed:
            raise too_many(self.graph, f"the endpoint gives only {len(solutions):,} at once")
        return solutions

    def ask(self, query: Query) -> bool:
        return self.graph.ask(query)

    def source(self, named_graph: str | None) -> Source:
        return self.graph.source(named_graph)


def too_many(graph: KnowledgeGraph, why: str) -> LimitError:
    """That the labels of an endpoint cannot all be read, and what can be done instead."""
    return LimitError(
        f"{graph.name}: its labels cannot all be read: {why}",
        hint="questions look them up; to index a part: kgsparql index -k … --class CLASS", limit="labels",
    )  # fmt: skip
