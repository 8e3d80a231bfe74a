"""The base class of all graphs, and the solutions that they return."""

from __future__ import annotations

import copy
import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeAlias, TypeVar

from kgsparql.budget import Usage
from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.graphs.adjacency import AdjacencyView
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile
from kgsparql.rdf.graph_patterns import Select, Variable, select_query
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, whole_number
from kgsparql.rdf.vocabulary import Naming

BOUND = 10_000
"""The most solutions that one query is meant to fetch; where there are more, it is split, or some are enough."""
MOST_CUT = 4  # results in a row that an endpoint may cut while smaller and smaller parts are asked for

Solution: TypeAlias = Mapping[str, Term]
"""Variable name to term; an unbound variable is absent."""

VOID = "http://rdfs.org/ns/void#"
_PARTITIONS = {
    "classPartition": ("class", "class", "entities"),
    "propertyPartition": ("predicate", "property", "triples"),
}
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Where a triple was found: the graph as the user named it, and the named graph inside it, if any."""

    graph: str
    named_graph: str | None = None

    def __str__(self) -> str:
        return self.graph if self.named_graph is None else f"{self.graph} · {self.named_graph}"


@frozen
class Solutions:
    """The solutions of a SELECT.

    :param cut: why there are more than these, in a clause; asking for less may bring them.
    :param invalid: how many solutions are missing because a term in them is invalid.
    :param left_out: how many solutions were dropped because of an ignored predicate.
    """

    variables: tuple[str, ...] = ()
    solutions: tuple[Solution, ...] = ()
    cut: str = ""
    invalid: int = 0
    left_out: int = 0

    @property
    def complete(self) -> bool:
        """Tell whether nothing is missing."""
        return not (self.cut or self.invalid)

    @property
    def missing(self) -> str:
        """Say in a clause why a graph that replied lacks some solutions; nothing if it lacks none."""
        dropped = f"{self.invalid:,} solution{'s' * (self.invalid > 1)} with invalid terms left out"
        return ", and ".join(filter(None, (self.cut, dropped * (self.invalid > 0))))

    def __getitem__(self, index: int) -> Solution:
        return self.solutions[index]

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)


@frozen
class StatedSizes:
    """What an endpoint says that it holds: instances of each class, triples of each predicate, and of the dataset.

    :param most: of so many it may be asked how many there are.
    """

    counts: Mapping[str, Mapping[Term, int]] = field(default_factory=dict)
    most: float = 1_000_000

    @classmethod
    def of(cls, triples: Iterable[Triple], graph: KnowledgeGraph) -> StatedSizes:
        """Read the triples of descriptions, if they are about one dataset, and not of another place."""
        said, parts = defaultdict[str, dict[Any, Any]](dict), list[tuple[Any, str, Any]]()
        for triple in triples:
            name = triple.predicate.value.removeprefix(VOID)
            if name in _PARTITIONS:
                parts.append((triple.subject, name, triple.object))
            said[name][triple.subject] = triple.object
        rows = [(one, "all", one, number) for one, number in said["triples"].items()]
        for whole, partition, part in parts:
            kind, term, number = _PARTITIONS[partition]
            if part in said[term] and part in said[number]:
                rows.append((whole, kind, said[term][part], said[number][part]))
        here, within = IRI(graph.url), {part for _, _, part in parts}
        own = [
            row for row in rows
            if row[0] not in within and said["sparqlEndpoint"].get(row[0], here) == here
            and _NUMBER.fullmatch(getattr(row[3], "value", ""))
        ]  # fmt: skip
        counts = defaultdict[str, dict[Term, int]](dict)
        for _, kind, term, number in sorted(own, key=lambda row: (-int(row[3].value), str(row[2]))):
            counts[kind][term] = int(number.value)
        most = math.inf if graph.profile.quick_counts else cls().most
        return cls(counts if len({row[0] for row in own}) == 1 else {}, most)

    @property
    def are_large(self) -> bool:
        """Whether anything is more than may be counted."""
        return any(number > self.most for own in self.counts.values() for number in own.values())

    def stated(self, kind: str) -> Mapping[Term, int] | None:
        """Count each class or predicate, the commonest first; ``None`` where it is not large, and does not say all."""
        of_predicates, whole = (sum(self.counts.get(one, {}).values()) for one in ("predicate", "all"))
        return self.counts.get(kind, {}) if self.are_large or 0 < whole <= of_predicates else None


def select_each(graph: KnowledgeGraph, name: str, selects: Sequence[Select]) -> Iterator[tuple[int, Solution]]:
    """Run several queries as one; yield the solutions, each with the place of its query."""
    n = Variable("n")  # by a BIND: as VALUES it has rdflib read all triples
    heads = [((n, Literal(str(at))), *one.head) for at, one in enumerate(selects)]
    arms = [select_query(name, replace(one, head=head)) for one, head in zip(selects, heads, strict=True)]
    for solution in graph.select(Query.union(arms)) if arms else ():
        yield whole_number(solution["n"]), solution


def in_parts(some: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    """Cut a sequence into parts of so many, the last one of what is left.

    >>> [*in_parts("abcde", 2)]
    ['ab', 'cd', 'e']
    """
    return (some[at : at + size] for at in range(0, len(some), size))


@dataclass(slots=True)
class Halving:
    """Tells when to stop asking an endpoint that cuts results for ever smaller parts."""

    cut: int = 0

    def should_give_up(self, found: Solutions) -> bool:
        """Tell whether this result is the last of too many in a row that were cut."""
        self.cut = self.cut + 1 if found.cut else 0
        return self.cut > MOST_CUT


class KnowledgeGraph(ABC):
    """A graph that answers SPARQL. Its default graph is the union of everything it holds.

    A backend writes :meth:`select`; each other member has a default that is right, if not the fastest. A graph that
    passes queries on to another decides about every member (``tests/contract/test_graphs.py``).

    :ivar name: what the user called it, and what citations say.
    :ivar prefixes: those that its files declare.
    :ivar stored: the files that it was loaded from, a dataclass each.
    :ivar directory: of its store on disk.
    :ivar is_embedded: its triples are held in this process, so that a small query costs next to nothing.
    :ivar is_as_loaded: its triples stay those of its files or its store; those of a store made in Python may change.
    """

    name: str
    prefixes: Mapping[str, str] = MappingProxyType({})
    stored: tuple[Any, ...] = ()
    directory: Path | None = None
    is_embedded = is_as_loaded = False
    _origin: KnowledgeGraph | None = None
    _check: Callable[[], None] = staticmethod(lambda: None)

    @abstractmethod
    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        """Return the solutions of a SELECT; none, and send no query, when a parameter was bound to no term.

        :param timeout_s: where the graph can be interrupted, an EndpointTimeoutError if it takes longer.
        """

    def changed(self, **attributes: Any) -> Self:
        """Return a copy with other values of some attributes; what they hold is shared."""
        view = copy.copy(self)
        vars(view).update({"_origin": self.origin, **attributes})
        return view

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:  # noqa: ARG002
        """Return the same graph for one question: its queries end with the question's time, or when it is stopped.

        :param in_grace: when the question's time is over, they may still take :attr:`Usage.grace_s`.
        :param most_s: seconds for each query.
        """
        return self.changed(_check=partial(usage.check, in_grace=in_grace))

    def shared(self) -> Self:
        """Return the same graph for what is the same for all questions: an endpoint's replies are kept on disk."""
        return self

    def refreshed(self) -> Self:
        """Return the graph for the next question: another where it was seen that its triples changed.

        Endpoints are asked every ten minutes.
        """
        return self

    def reopened(self) -> Self:
        """Return the graph as it is now, of which nothing is remembered; files are read again."""
        return self.changed(_origin=None)

    def close(self) -> None:  # noqa: B027 - most graphs have no connections
        """Close connections; the next query opens others."""

    def source(self, named_graph: str | None) -> Source:
        """Return how to cite a named graph of this graph, or its default graph (``None``)."""
        return Source(self.name, named_graph)

    def sources_of(self, triple: Triple) -> tuple[Source, ...] | None:  # noqa: ARG002
        """Return where a triple is found: empty if it is not there, ``None`` if that cannot be asked."""
        return None

    def will_ask_again(self, solutions: Solutions) -> None:  # noqa: B027 - most graphs keep no notes
        """Take note that what these solutions lack is asked for in parts, so that no reader is told of it."""

    def adjacency_view(self) -> AdjacencyView | None:
        """Return its triples as an adjacency; ``None`` if there is none, so that queries are sent."""
        return None

    def named_graphs(self) -> list[IRI] | None:
        """Return the named graphs that hold anything, in order, where no query is needed for it; else ``None``."""
        return [] if self.profile.has_named_graphs is False else None

    def held(self, predicates: frozenset[IRI]) -> frozenset[IRI]:
        """Return those of some predicates that are in a triple; all of them where that cannot be seen at once."""
        return predicates

    def uses_any(self, predicates: tuple[IRI, ...]) -> bool:
        """Tell whether a triple has, or may have, one of some predicates."""
        return bool(self.held(frozenset(predicates)))

    def may_have_name(self, term: IRI) -> bool:  # noqa: ARG002
        """Tell whether a term may have a literal by a predicate that is called like a name."""
        return True

    def is_page(self, term: IRI) -> bool:  # noqa: ARG002
        """Tell whether all that is known of a term is that it is a page of something; untrue where nobody knows."""
        return False

    def part(self, name: IRI) -> KnowledgeGraph | None:  # noqa: ARG002
        """Return what one named graph says as a graph of its own; ``None`` where nobody can take it apart."""
        return None

    @property
    def origin(self) -> KnowledgeGraph:
        """The graph that this is a view of for one question: what is known of all its triples is kept for that."""
        return self._origin or self

    @property
    def chunk_size(self) -> int:
        """How many terms one ``VALUES`` block may hold."""
        return self.profile.chunk_size if self.is_remote else 1000

    @property
    def may_repeat_triples(self) -> bool:
        """Whether one triple may be in more than one graph, so that counts must be of distinct triples."""
        return True

    @property
    def naming(self) -> Naming:
        """The predicates by which it names things."""
        return Naming()

    @property
    def profile(self) -> EndpointProfile:
        """What is known of the endpoint behind it."""
        return UNKNOWN

    @property
    def url(self) -> str:
        """Where the endpoint is, without credentials and keys; empty for a graph on this machine."""
        return ""

    @property
    def fingerprint(self) -> str:
        """A hash that changes with the triples of the graph, as far as that can be told."""
        return hashlib.sha256(self.name.encode()).hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of any answer."""
        return ()

    @property
    def sizes(self) -> StatedSizes:
        """What it says of itself, and need not be asked."""
        return StatedSizes()

    @property
    def is_remote(self) -> bool:
        """Whether some queries go over a network."""
        return False
