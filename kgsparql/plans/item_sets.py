"""Sets of items made of others: what a path leads to, what one was chosen from."""

from __future__ import annotations

from kgsparql.plans import algebra as a
from kgsparql.rdf.paths import PropertyPath


def ends(items: a.ItemSet, path: PropertyPath) -> a.Ends:
    """What a path leads to; one path where the set is what a path leads to itself."""
    if isinstance(items, a.Ends):
        return a.Ends(items.start, PropertyPath((*items.path.steps, *path.steps)))
    return a.Ends(items, path)


def unfiltered(items: a.ItemSet) -> a.ItemSet:
    """The set that a set was chosen from: its items have the same predicates.

    >>> from kgsparql.rdf.terms import IRI, Literal
    >>> city, size = a.Instances(IRI("http://e.org/City")), a.Value(PropertyPath.of("http://e.org/size"))
    >>> unfiltered(a.Top(a.Where(city, size, ">", Literal(5)), size)) == city
    True
    """
    match items:
        case a.Where(inner) | a.Top(inner) | a.Lacks(inner) | a.Has(inner) | a.Named(inner) | a.Minus(inner):
            return unfiltered(inner)
        case a.Both(sets):
            plain = [one for one in sets if isinstance(one, a.Instances)]
            return unfiltered(plain[0] if plain else sets[0])
        case a.Ends(start, path):
            return a.Ends(unfiltered(start), path)
        case _:
            return items
