"""What kgsparql asks of a graph, wherever the graph is."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, overload, runtime_checkable

from kgsparql.evidence import Source
from kgsparql.query import Query
from kgsparql.terms import Term, Triple

__all__ = ["BlankNodeLookup", "CutShort", "Interruptible", "KnowledgeGraph", "OpenedGraph", "Solution", "Solutions"]

Solution: TypeAlias = Mapping[str, Term]
"""Variable name to term; an unbound variable is absent."""


@dataclass(frozen=True, slots=True)
class Solutions(Sequence[Solution]):
    """The solutions of a SELECT.

    :param complete: an endpoint may cut a result and still say 200; then this is ``False``.
    :param reason: why it is not, in a clause.
    :param invalid: solutions that are missing because a term in them is none; asking for less does not bring them.
    :param left_out: how many solutions came and were not wanted: what led nowhere.
    :param failed: of several graphs asked at once, those that did not reply; asking for less does not bring theirs.
    """

    variables: tuple[str, ...] = ()
    solutions: tuple[Solution, ...] = ()
    complete: bool = True
    left_out: int = 0
    reason: str = ""
    invalid: int = 0
    failed: tuple[str, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether there are more, and asking for less could bring them: not so what a graph that failed would say."""
        return not self.complete and (not self.failed or bool(self.reason))

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Solution]: ...
    def __getitem__(self, index: int | slice) -> Solution | Sequence[Solution]:
        return self.solutions[index]

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)


@runtime_checkable
class KnowledgeGraph(Protocol):
    """A graph that answers SPARQL. Its default graph is the union of everything it holds.

    ``name`` is what the user called it and what citations say.
    """

    name: str

    @property
    def chunk_size(self) -> int:
        """How many terms one ``VALUES`` block may hold; exploration sends as many queries as that makes necessary."""
        ...

    def select(self, query: Query) -> Solutions:
        """The solutions of a SELECT; none at all, and no query sent, when a parameter was bound to no term.

        :raises QuerySyntaxError: if the text is not SPARQL.
        :raises QueryError: if it is not a SELECT, or the engine fails.
        """
        ...

    def ask(self, query: Query) -> bool:
        """The answer to an ASK.

        :raises QueryError: as :meth:`select`.
        """
        ...

    def source(self, named_graph: str | None) -> Source:
        """How to cite a named graph of this graph, or its default graph (``None``)."""
        ...


@runtime_checkable
class BlankNodeLookup(Protocol):
    """A graph whose blank nodes keep their names between queries, as in an embedded store."""

    def sources_of(self, triple: Triple) -> tuple[Source, ...] | None:
        """Where a triple is found; empty if it is not there, ``None`` if that cannot be asked."""
        ...


@runtime_checkable
class CutShort(Protocol):
    """A graph that keeps in mind which results an endpoint cut, to tell the reader."""

    def will_ask_again(self, solutions: Solutions) -> None:
        """The reader need not be told of this result: what is missing is asked for in parts."""
        ...


class OpenedGraph(KnowledgeGraph, Protocol):
    """A graph that a user opened, with what must be known of it beside its answers."""

    @property
    def fingerprint(self) -> str:
        """A hash that changes with what the graph holds, as far as that can be told."""
        ...

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The prefixes that its files declare; none if it has no files."""
        ...

    @property
    def stored(self) -> tuple[Any, ...]:
        """The files that it was filled from, a dataclass each; none if it has none."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of any answer should know."""
        ...

    @property
    def may_repeat_triples(self) -> bool:
        """Whether one triple may be in more than one graph, so that counts must be of distinct triples."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether every query goes over a network."""
        ...


@runtime_checkable
class Interruptible(Protocol):
    """A graph whose queries can be given up while they run."""

    def select_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> Solutions:
        """As :meth:`KnowledgeGraph.select`, over after ``timeout_s`` or at ``cancel``.

        :raises EndpointTimeoutError: if it took longer.
        :raises CancelledError: if ``cancel`` was set.
        """
        ...

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """As :meth:`KnowledgeGraph.ask`, with the limits of :meth:`select_within`."""
        ...
