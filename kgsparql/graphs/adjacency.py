"""The triples of a graph as a compressed adjacency: the neighbours of each term, in arrays that are mapped into memory.

It is kept in the cache directory for one revision of a graph. Without one, exploration asks queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.events import PathsSearched
from kgsparql.rdf.terms import IRI, BlankNode
from kgsparql.rdf.vocabulary import claim_kind
from kgsparql.resources import cache_directory
from kgsparql.storage.array_file import read_arrays
from kgsparql.storage.sorted_names import SortedNames

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FOLDER = "adjacency"
"""Of the cache directory."""
RECIPE = "adjacency-3"
"""Changes whenever the arrays would be made differently."""

IS_CLASS = 1 << 15
"""The bit of :attr:`Adjacency.about` that says that a term is a class."""
MOST_DEGREE = 10_000
"""The degrees of terms are kept up to here."""
IRI_MARK, BLANK_MARK = b"0", b"1"
"""What the name of an IRI or a blank node begins with, so that IRIs come first."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of a graph, whose blank nodes have their names in it.

    :param place: the graph, whatever its state: of each place, the adjacency of one state is kept.
    :param content: changes with the triples, and with the names of blank nodes.
    """

    place: str
    content: str

    @property
    def file(self) -> Path:
        """Where the adjacency is kept."""
        return cache_directory().absolute() / FOLDER / hashlib.sha256(self.place.encode()).hexdigest()[:32]

    @property
    def made_of(self) -> dict[str, str]:
        """What an adjacency must say of itself to be the one of this state."""
        return {"recipe": RECIPE, "content": self.content}


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """The neighbours of each IRI and blank node, a number each: in lexical order, IRIs first.

    A triple that is in several named graphs is there once. Literals are no neighbours; only their predicates are kept.

    :param iris: how many of the terms are IRIs.
    :param starts: where the neighbours of each term begin in ``others``; shape ``(terms + 1,)``.
    :param others: the neighbours, those of one term together.
    :param steps: how each is reached: twice the number of the predicate, and 1 more if the neighbour is the subject.
    :param literals: the numbers of the predicates that lead from each term to a literal, in order.
    :param literal_starts: where these begin in ``literals``; shape ``(terms + 1,)``; made of their numbers when opened.
    :param about: the number of triples with each term as subject or object, literals included, at most
        ``MOST_DEGREE``; and ``IS_CLASS``.
    :param has_statements: whether there are statements of a Wikibase.
    """

    predicates: tuple[IRI, ...]
    names: SortedNames
    iris: int
    starts: npt.NDArray[np.unsignedinteger]
    others: npt.NDArray[np.uint32]
    steps: npt.NDArray[np.unsignedinteger]
    literal_starts: npt.NDArray[np.int64]
    literals: npt.NDArray[np.unsignedinteger]
    about: npt.NDArray[np.uint16]
    has_statements: bool

    @property
    def edges(self) -> int:
        """The number of triples."""
        return len(self.others) // 2

    def number(self, term: IRI) -> int | None:
        """The number of an IRI; ``None`` if it has no neighbours."""
        return self.names.number(IRI_MARK + term.value.encode())

    def term(self, number: int) -> IRI | BlankNode:
        """The term with a number."""
        name = self.names[number].decode()
        return IRI(name[1:]) if number < self.iris else BlankNode(name[1:])


def open_adjacency(revision: Revision) -> Adjacency | None:
    """The adjacency of a graph; ``None`` if none is kept, or only half of one, or that of another state."""
    found = read_arrays(revision.file)
    if found is None:
        return None
    about, arrays = found
    if {name: about.get(name) for name in revision.made_of} != revision.made_of:
        return None
    import numpy as np

    predicates = tuple(map(IRI, about["predicates"]))
    starts = arrays["name_starts"].astype(np.uint64, copy=False)  # a copy if the file is of the other byte order
    return Adjacency(
        predicates,
        SortedNames(arrays["names"].data, starts.data, len(arrays["about"])),
        about["iris"],
        arrays["starts"],
        arrays["others"],
        arrays["steps"],
        np.concatenate([np.zeros(1, np.int64), np.cumsum(arrays["literal_counts"], dtype=np.int64)]),
        arrays["literals"],
        arrays["about"],
        any(claim_kind(predicate) == "claim" for predicate in predicates),
    )


@dataclass(frozen=True, slots=True)
class AdjacencyView:
    """An adjacency as one question may use it.

    :param drops: whether a predicate is ignored.
    :param check: called between steps of a search; raises an error if the question must stop.
    :param report: called with each search that was made.
    """

    adjacency: Adjacency
    drops: Callable[[IRI], bool] = lambda _: False
    check: Callable[[], None] = lambda: None
    report: Callable[[PathsSearched], None] = lambda _: None
