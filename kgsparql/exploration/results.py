"""The results of exploration: items, and the limits that left others out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from kgsparql.exploration.mediators import hop_of
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, Term

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """Items, and the limits that left others out; without a cut, nothing was left out."""

    items: tuple[T, ...] = ()
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True, slots=True)
class PredicateCount:
    """The number of neighbours that an entity has along one step.

    :param exact: ``False`` if there may be more; :meth:`__str__` then shows ``10,000+``.

    >>> a, p = IRI("http://e.org/a"), IRI("http://e.org/p")
    >>> str(PredicateCount(a, Step(p), 10000, exact=False))
    '<http://e.org/p> (10,000+)'
    """

    entity: IRI
    step: Step
    count: int
    exact: bool = True

    def __str__(self) -> str:
        return f"{self.step} ({self.count:,}{'' if self.exact else '+'})"


@dataclass(frozen=True, slots=True)
class NeighbourGroup:
    """The neighbours of an entity along one step, at most as many as were asked for.

    :param count: of all neighbours; at least so many if ``exact`` is ``False``.
    :param mediated: paths of two hops through those neighbours that are blank nodes.
    """

    entity: IRI
    step: Step
    neighbours: tuple[Term, ...]
    count: int
    exact: bool = True
    mediated: tuple[Path, ...] = ()

    @property
    def hops(self) -> list[Hop]:
        """The hop to each neighbour."""
        return [hop_of(self.entity, self.step.predicate, far, self.step.direction) for far in self.neighbours]


@dataclass(frozen=True, slots=True)
class PredicatePath:
    """A property path that leads somewhere.

    :param ends: some of the terms it leads to, in the order of their text; none where they were not fetched.
    """

    path: PropertyPath
    ends: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Label:
    """A label of a term.

    :param derived: it is made from the IRI's local name, as the graph has no label.
    """

    text: str
    language: str | None = None
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A literal that describes an entity."""

    entity: IRI
    predicate: IRI
    literal: Literal
