"""The protocols that graphs implement, and the solutions that they return."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, cast, overload, runtime_checkable

from kgsparql.budget import Usage
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Term, Triple
from kgsparql.rdf.vocabulary import Naming

BOUND = 10_000
"""The most solutions that one query is meant to fetch; where there are more, it is split, or some are enough."""
MOST_CUT = 4
"""Results in a row that an endpoint may cut while smaller and smaller parts are asked for."""

Solution: TypeAlias = Mapping[str, Term]
"""Variable name to term; an unbound variable is absent."""

_Graph = TypeVar("_Graph", bound="KnowledgeGraph")


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Where a triple was found: the graph as the user named it, and the named graph inside it, if any."""

    graph: str
    named_graph: str | None = None

    def __str__(self) -> str:
        return self.graph if self.named_graph is None else f"{self.graph} · {self.named_graph}"


@dataclass(frozen=True, slots=True)
class Solutions(Sequence[Solution]):
    """The solutions of a SELECT.

    :param cut: why there are more than these, in a clause; asking for less may bring them. An endpoint may cut a result
        and still reply 200.
    :param invalid: how many solutions are missing because a term in them is invalid.
    :param unasked: how many are missing because the query cannot have them.
    :param failed: the members of a federation that did not reply.
    :param left_out: how many solutions were dropped because of an ignored predicate.
    """

    variables: tuple[str, ...] = ()
    solutions: tuple[Solution, ...] = ()
    cut: str = ""
    invalid: int = 0
    failed: tuple[str, ...] = ()
    left_out: int = 0
    unasked: int = 0

    @classmethod
    def together(
        cls, parts: Sequence[Solutions], *, variables: tuple[str, ...], solutions: tuple[Solution, ...]
    ) -> Solutions:
        """Solutions made of those of several results; what is missing in any of these is missing."""
        return cls(
            variables,
            solutions,
            cut="; ".join(dict.fromkeys(part.cut for part in parts if part.cut)),
            invalid=sum(part.invalid for part in parts),
            failed=tuple(dict.fromkeys(name for part in parts for name in part.failed)),
            left_out=sum(part.left_out for part in parts),
            unasked=sum(part.unasked for part in parts),
        )

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not (self.cut or self.invalid or self.unasked or self.failed)

    @property
    def missing(self) -> str:
        """Why a graph that replied lacks some solutions, in a clause; empty if it lacks none.

        >>> Solutions(cut="the endpoint stopped at 10 solutions", invalid=2).missing
        'the endpoint stopped at 10 solutions, and 2 solutions with invalid terms left out'
        """
        broken = ((self.invalid, "with invalid terms"), (self.unasked, "not asked for"))
        dropped = [f"{number:,} solution{'s' * (number > 1)} {why} left out" for number, why in broken if number]
        return ", and ".join(filter(None, (self.cut, *dropped)))

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


@dataclass(slots=True)
class Halving:
    """Tells when to stop asking an endpoint that cuts results for ever smaller parts.

    >>> halving, cut = Halving(), Solutions(cut="the endpoint stopped at 10 solutions")
    >>> [halving.should_give_up(cut) for _ in range(5)], halving.should_give_up(Solutions())
    ([False, False, False, False, True], False)
    """

    cut: int = 0

    def should_give_up(self, found: Solutions) -> bool:
        """Whether this result is the last of too many in a row that were cut."""
        self.cut = self.cut + 1 if found.cut else 0
        return self.cut > MOST_CUT


@runtime_checkable
class KnowledgeGraph(Protocol):
    """A graph that answers SPARQL. Its default graph is the union of everything it holds.

    ``name`` is what the user called it and what citations say.
    """

    name: str

    @property
    def chunk_size(self) -> int:
        """How many terms one ``VALUES`` block may hold; exploration sends as many queries as that makes necessary."""

    @property
    def may_repeat_triples(self) -> bool:
        """Whether one triple may be in more than one graph, so that counts must be of distinct triples.

        True where nobody knows: to count distinct ones is never wrong, and takes twice as long.
        """

    def select(self, query: Query) -> Solutions:
        """The solutions of a SELECT; none at all, and no query sent, when a parameter was bound to no term.

        :raises QuerySyntaxError: if the text is not SPARQL.
        :raises QueryError: if it is not a SELECT, or the engine fails.
        """

    def ask(self, query: Query) -> bool:
        """The answer to an ASK, with the errors of :meth:`select`."""

    def source(self, named_graph: str | None) -> Source:
        """How to cite a named graph of this graph, or its default graph (``None``)."""


@runtime_checkable
class BlankNodeLookup(Protocol):
    """A graph whose blank nodes keep their names between queries, as in an embedded store."""

    def sources_of(self, triple: Triple) -> tuple[Source, ...] | None:
        """Where a triple is found; empty if it is not there, ``None`` if that cannot be asked."""


@runtime_checkable
class CutShort(Protocol):
    """A graph that notes for the reader which results an endpoint cut."""

    def will_ask_again(self, solutions: Solutions) -> None:
        """No note is needed about this result: what it lacks is asked for in parts."""


class OpenedGraph(KnowledgeGraph, Protocol):
    """A graph that a user opened, with its metadata."""

    @property
    def fingerprint(self) -> str:
        """A hash that changes with the triples of the graph, as far as that can be told."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The prefixes that its files declare."""

    @property
    def stored(self) -> tuple[Any, ...]:
        """The files that it was loaded from, a dataclass each."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of any answer."""

    @property
    def is_remote(self) -> bool:
        """Whether every query goes over a network."""


def naming_of(graph: KnowledgeGraph) -> Naming:
    """The label predicates of a graph; those that kgsparql knows, where it has no attribute ``naming``."""
    naming = getattr(graph, "naming", None)  # no protocol: to look for one takes as long as a small query
    return naming if isinstance(naming, Naming) else Naming()


@runtime_checkable
class WithMembers(Protocol):
    """A graph that is made of others."""

    @property
    def members(self) -> tuple[KnowledgeGraph, ...]:
        """Its members in the order given; the graph itself if it is a single one."""


def members_of(graph: _Graph) -> tuple[_Graph, ...]:
    """The members of a graph, each to be asked by itself; the graph itself if it is a single one."""
    return cast("tuple[_Graph, ...]", graph.members) if isinstance(graph, WithMembers) else (graph,)


@runtime_checkable
class Interruptible(Protocol):
    """A graph whose queries can be stopped while they run."""

    def select_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> Solutions:
        """As :meth:`KnowledgeGraph.select`, over after ``timeout_s`` or at ``cancel``.

        :raises EndpointTimeoutError: if it took longer.
        :raises CancelledError: if ``cancel`` was set.
        """

    def ask_within(
        self, query: Query, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """As :meth:`KnowledgeGraph.ask`, with the limits of :meth:`select_within`."""


@runtime_checkable
class InTime(Protocol):
    """A graph that can be asked within the time of a question."""

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> KnowledgeGraph:
        """The same graph for one question: its queries end with the question's time, or when the question is stopped.

        :param in_grace: queries for what an answer must show: when the question's time is over, they may still take
            :attr:`Usage.grace_s`.
        :param most_s: seconds for each query.
        """


def within(graph: _Graph, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> _Graph:
    """A graph for one question, as :meth:`InTime.within`; the graph itself, where it cannot be interrupted."""
    return cast("_Graph", graph.within(usage, in_grace=in_grace, most_s=most_s)) if isinstance(graph, InTime) else graph
