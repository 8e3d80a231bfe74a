"""The triples of a graph as a compressed adjacency: the neighbours of each term, in arrays that are mapped into memory.

It is kept in the cache directory for one revision of a graph. Without one, exploration asks queries.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kgsparql.dataclasses import dataclass, field, frozen
from kgsparql.events import PathsSearched
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, BlankNode, Json, Term
from kgsparql.resources import cache_directory
from kgsparql.storage.files import are_whole, digest_of, read_sealed_json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Numbers: TypeAlias = "npt.NDArray[np.integer[Any]]"
Marks: TypeAlias = "npt.NDArray[np.bool_]"

FOLDER = "adjacency"  # of the cache directory
ABOUT_FILE = "about.json"
RECIPE = "adjacency-7"  # changes whenever the arrays would be made differently

IS_CLASS = 1 << 15  # the bit of ``Adjacency.about`` that says that a term is a class
MAX_DEGREE = 10_001  # up to here the degrees of terms are kept
_TERMS_KEPT = 65_536  # terms that are kept as they were read
MIN_TRIPLES = 10_000  # a graph of fewer is searched by queries: they take milliseconds there
MOST_TRIPLES = 10_000_000  # one of more, too: building takes 150 bytes of memory for each


@frozen
class Revision:
    """One state of a graph, whose blank nodes have their names in it.

    :param place: the graph, whatever its state: of each place, the adjacency of one state is kept.
    :param content: changes with the triples, and with the names of blank nodes.
    """

    place: str
    content: str

    @property
    def directory(self) -> Path:
        """Where the adjacency is kept."""
        return cache_directory().absolute() / FOLDER / digest_of(self.place.encode())[:32]

    @property
    def made_of(self) -> dict[str, str]:
        """What an adjacency must say of itself to be the one of this state."""
        return {"recipe": RECIPE, "content": self.content}


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """The neighbours of each IRI and blank node, a number each: IRIs first, both in lexical order.

    A triple that is in several named graphs is there once. Literals are no neighbours; only their predicates are kept.

    :param names: the texts of all terms in UTF-8, one after the other; ``name_starts``: where each begins.
    :param iris: how many of the terms are IRIs.
    :param starts: where the neighbours of each term begin in ``others``; shape ``(terms + 1,)``.
    :param others: the neighbours, those of one term together.
    :param steps: how each is reached: twice the number of the predicate, and 1 more if the neighbour is the subject.
    :param literals: the numbers of the predicates that lead from each term to a literal, in order.
    :param literal_starts: where these begin in ``literals``; shape ``(terms + 1,)``.
    :param about: the number of triples with each term as subject or object, literals included, at most
        ``MAX_DEGREE``; and ``IS_CLASS``.
    """

    predicates: tuple[IRI, ...]
    iris: int
    names: Numbers
    name_starts: Numbers
    starts: Numbers
    others: Numbers
    steps: Numbers
    literal_starts: Numbers
    literals: Numbers
    about: Numbers
    _known: dict[int, IRI | BlankNode] = field(default_factory=dict, init=False, repr=False)
    _numbers: dict[Term, int] = field(default_factory=dict, init=False, repr=False)

    @property
    def edges(self) -> int:
        """The number of triples."""
        return len(self.others) // 2

    def number(self, term: IRI) -> int | None:
        """Find the number of an IRI; ``None`` if it has no neighbours."""
        if (number := self._numbers.get(term)) is not None:
            return number
        place = self.place(term.value)
        return place if place < self.iris and self.term(place) == term else None

    def place(self, text: str) -> int:
        """Count the IRIs that come before a text."""
        return bisect_left(range(self.iris), text.encode(), key=self._name_of)

    def predicate_number(self, predicate: IRI) -> int:
        """Return the place of a predicate of the graph in ``predicates``."""
        return bisect_left(self.predicates, predicate.value, key=lambda own: own.value)

    def step_number(self, step: Step) -> int:
        """Return the number of a step, as in ``steps``; -1 for a predicate that the graph has not."""
        number = self.predicate_number(step.predicate)
        is_known = self.predicates[number : number + 1] == (step.predicate,)
        return 2 * number + (step.direction == "inverse") if is_known else -1

    def step(self, number: int) -> Step:
        """Return the step with a number, as in ``steps``."""
        return Step(self.predicates[number // 2], "inverse" if number % 2 else "forward")

    def degrees(self, numbers: Numbers) -> Numbers:
        """Return the number of triples of each term, at most ``MAX_DEGREE``; 0 for a blank node."""
        degrees: Numbers = self.about[numbers] % IS_CLASS
        return degrees * (numbers < self.iris)

    def triples_of_iris(self, uncounted: Collection[IRI]) -> Iterator[tuple[str, int]]:
        """Yield each IRI, and in how many triples it is, at most ``MAX_DEGREE``.

        It does not count as the object of some predicates; then, of one with more triples, literals do not, either.
        """
        import numpy as np

        numbers = [2 * n + 1 for n, predicate in enumerate(self.predicates) if predicate in uncounted]
        before = np.append(0, np.cumsum(np.isin(self.steps, numbers)))[self.starts]
        left_out = np.diff(before)
        counts = self.degrees(np.arange(len(self.about))).astype(np.int64)
        walked = np.minimum(np.diff(self.starts.astype(np.int64)) - left_out, MAX_DEGREE)
        counts = np.where((counts < MAX_DEGREE) | (left_out == 0), counts - left_out, walked)[: self.iris]
        names, ends = self.names.data, self.name_starts[1:].tolist()
        for start, end, count in zip([0, *ends], ends, counts.tolist(), strict=False):
            yield str(names[start:end], "utf-8"), count

    def term(self, number: int) -> IRI | BlankNode:
        """Return the term with a number."""
        if (term := self._known.get(number)) is None:
            name = self._name_of(number).decode()
            term = IRI(name) if number < self.iris else BlankNode(name)
            if len(self._known) >= _TERMS_KEPT:
                self._known.clear()
                self._numbers.clear()
            self._known[number], self._numbers[term] = term, number
        return term

    def terms(self, numbers: Numbers) -> list[Term]:
        """Return the terms with some numbers."""
        return [self._known.get(number) or self.term(number) for number in numbers.tolist()]

    def _name_of(self, number: int) -> bytes:
        return self.names[self.name_starts[number] : self.name_starts[number + 1]].tobytes()


# The arrays that are kept, a file each.
ARRAYS = ("names", "name_starts", "starts", "others", "steps", "literal_starts", "literals", "about")


def open_adjacency(revision: Revision) -> Adjacency | None:
    """Open the adjacency of a graph; ``None`` if none is kept, or only half of one, or that of another state."""
    directory = revision.directory
    try:
        about: Json = read_sealed_json(directory / ABOUT_FILE)
        if not revision.made_of.items() <= about.items():
            return None
        if not are_whole(directory, about["sizes"]):
            return None
        import numpy as np

        # A view without the class memmap, whose slices take several times as long.
        arrays = {name: np.asarray(np.load(directory / f"{name}.npy", mmap_mode="r")) for name in ARRAYS}
    except (OSError, ValueError, LookupError, TypeError):
        return None
    predicates = tuple(map(IRI, about["predicates"]))
    return Adjacency(predicates, about["iris"], **arrays)


@frozen
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

    def report_search(self, began: float, start: object, paths: int, *, end: str = "", what: str = "paths") -> None:
        """Report a search that began then, and what it found, so many of them."""
        seconds = round(time.perf_counter() - began, 6)
        self.report(PathsSearched(start=str(start), end=end, what=what, paths=paths, seconds=seconds))


def starts_of(*columns: Numbers) -> Numbers:
    """Say where a row of sorted columns differs from the one before."""
    import numpy as np

    new = np.ones(len(columns[0]), np.bool_)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(new)


def sorted_once(values: Numbers) -> Numbers:
    """Sort numbers, each once; `np.unique` imports all of `numpy.ma` for this, which takes as long as a query."""
    import numpy as np

    ordered = np.sort(values)
    return ordered[starts_of(ordered)] if len(ordered) else ordered


def batches(counts: Numbers, most: int) -> Iterator[slice]:
    """Yield slices of a list whose counts are together at most so many, or of one item with more."""
    ends, low = counts.cumsum(), 0
    while low < len(ends):
        before = ends[low - 1] if low else 0
        high = max(low + 1, int(ends.searchsorted(before + most, "right")))
        yield slice(low, high)
        low = high
