"""Sets of items made of others: what a path leads to, what two have in common, what one was chosen from."""

from __future__ import annotations

from kgsparql.plans import algebra as a
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal

_BOOLEAN = IRI("http://www.w3.org/2001/XMLSchema#boolean")


def ends(items: a.ItemSet, path: PropertyPath) -> a.Ends:
    """What a path leads to; one path where the set is what a path leads to itself."""
    if isinstance(items, a.Ends):
        return a.Ends(items.start, PropertyPath((*items.path.steps, *path.steps)))
    return a.Ends(items, path)


def is_yes_no(use: PredicateUse) -> bool:
    """Whether a predicate says that something is so, or not."""
    return all(isinstance(end, Literal) and end.datatype == _BOOLEAN for end in use.ends)


def stated(items: a.ItemSet, use: PredicateUse, verdict: str) -> a.Where:
    """The items of which a predicate says that something is so: `true`, or that it is not: `false`."""
    return a.Where(items, a.Value(use.path, "text"), "=", Literal(verdict, datatype=_BOOLEAN))


def unfiltered(items: a.ItemSet) -> a.ItemSet:
    """The set that a set was chosen from: its items have the same predicates.

    >>> from kgsparql.rdf.terms import IRI
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


def classes_in(items: a.ItemSet) -> set[IRI]:
    """The classes that all items of a set are said to be of."""
    match items:
        case a.Instances(of):
            return {of}
        case a.Where(inner) | a.Top(inner) | a.Lacks(inner) | a.Has(inner) | a.Named(inner) | a.Minus(inner):
            return classes_in(inner)
        case a.Both(sets):
            return {kind for one in sets for kind in classes_in(one)}
        case _:
            return set()


def turns_back(items: a.ItemSet, use: PredicateUse) -> bool:
    """Whether a step walks the last one of a path back."""
    return isinstance(items, a.Ends) and use.step.inverts(items.path.steps[-1])


def both(one: a.ItemSet, other: a.ItemSet) -> a.ItemSet:
    """What two sets have in common, said of the instances of a class where one of them is that.

    >>> from kgsparql.rdf.terms import IRI
    >>> city, paris = IRI("http://e.org/City"), IRI("http://e.org/Paris")
    >>> both(a.Instances(city), a.Ends(a.Items((paris,)), PropertyPath.of("http://e.org/twin"))).path
    PropertyPath(steps=(Step(predicate=<NamedNode value=http://e.org/twin>, direction='inverse'),))
    """
    if isinstance(other, a.Instances | a.Has | a.Where) and not isinstance(one, a.Instances | a.Has | a.Where):
        one, other = other, one
    if (
        isinstance(one, a.Instances | a.Has | a.Where)
        and isinstance(other, a.Ends)
        and isinstance(other.start, a.Items)
    ):
        back = PropertyPath(tuple(step.reversed for step in reversed(other.path.steps)))
        (term, *more) = other.start.terms
        if not more and isinstance(term, Literal):
            return a.Where(one, a.Value(back, "text"), "=", term)
        return a.Has(one, back, other.start)
    return a.Both((one, other))
