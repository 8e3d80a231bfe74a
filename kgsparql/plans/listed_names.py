"""What the names of a list stand for, over which plans are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgsparql.plans import algebra as a
from kgsparql.rdf.terms import IRI, Literal


@dataclass(frozen=True, slots=True)
class ListedName:
    """What a name of a list stands for: an item (E), a class (C), a predicate (R) or a value of the question (L).

    :param kind: of a predicate, what it leads to.
    :param unit: of a predicate, of its numbers.
    :param also: of an item, others of its name that nothing tells apart from it.
    :param read_by: of a predicate that leads to items named by numbers, or to several of one name: the predicate of
        the names, by which these are compared and grouped.
    """

    term: IRI | Literal
    kind: a.Kind = "item"
    unit: str = ""
    also: tuple[IRI, ...] = ()
    read_by: IRI | None = None

    @property
    def items(self) -> a.Items:
        """The item, with the others of its name."""
        return a.Items((self.term, *self.also))


Names = Mapping[str, ListedName]
