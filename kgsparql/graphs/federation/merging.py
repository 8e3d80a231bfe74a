"""The solutions of several graphs as one: each once, counts added, blank nodes by names of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from kgsparql.graphs.protocols import Solution, Solutions
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, whole_number

__all__ = ["local_triple", "merged", "of_member"]

_OF_MEMBER = re.compile(r"m(\d+)\.(.+)")
_INTEGER = IRI("http://www.w3.org/2001/XMLSchema#integer")

_Key: TypeAlias = tuple[tuple[str, Term], ...]


def merged(parts: Sequence[Solutions], counts: frozenset[str]) -> Solutions:
    """Solutions in the order of the parts, each once; of those that count the same thing, the sums.

    >>> one = Solutions(("a", "n"), ({"a": Literal("x"), "n": Literal(2)},))
    >>> [s["n"].value for s in merged([one, one], frozenset({"n"}))], len(merged([one, one], frozenset()))
    (['4'], 1)
    """
    variables = tuple(dict.fromkeys(name for part in parts for name in part.variables))
    solutions: list[Solution]
    if counts:
        solutions = _added((solution for part in parts for solution in part), counts)
    else:
        distinct: dict[_Key, Solution] = {}
        for part in parts:
            for solution in part:
                distinct.setdefault(tuple(sorted(solution.items(), key=_name)), solution)
        solutions = list(distinct.values())
    return Solutions.together(
        parts,
        variables=variables or tuple(dict.fromkeys(name for solution in solutions for name in solution)),
        solutions=tuple(solutions),
    )


def _name(binding: tuple[str, Term]) -> str:
    return binding[0]


def _added(solutions: Iterable[Solution], counts: frozenset[str]) -> list[Solution]:
    sums: dict[tuple[_Key, frozenset[str]], dict[str, Term]] = {}
    for solution in solutions:
        counted = counts.intersection(solution)
        about = tuple(sorted(((n, t) for n, t in solution.items() if n not in counted), key=_name))
        known = sums.setdefault((about, counted), {})
        if not known:
            known.update(solution)
            continue
        for name in counted:
            known[name] = Literal(str(whole_number(known[name]) + whole_number(solution[name])), datatype=_INTEGER)
    return list(sums.values())


def of_member(found: Solutions, at: int, name: str) -> Solutions:
    """The solutions of a member, its blank nodes by names that no other member has, itself named where they are cut."""
    solutions = found.solutions
    if any(isinstance(term, BlankNode | Triple) for solution in solutions for term in solution.values()):
        solutions = tuple({n: _of_member(term, at) for n, term in solution.items()} for solution in solutions)
    return replace(found, solutions=solutions, cut=found.cut and f"{name}: {found.cut}")


def _of_member(term: Term, at: int) -> Term:
    if isinstance(term, BlankNode):
        return BlankNode(f"m{at}.{term.value}")
    if isinstance(term, Triple):
        subject, object_ = _of_member(term.subject, at), _of_member(term.object, at)
        return Triple(subject, term.predicate, object_)  # type: ignore[arg-type]
    return term


def local_triple(triple: Triple) -> tuple[int | None, Triple]:
    """The place of the member that a triple's blank nodes are from, and the triple as that member has it.

    >>> a, p = IRI("http://e.org/a"), IRI("http://e.org/p")
    >>> at, own = local_triple(Triple(a, p, BlankNode("m1.b7")))
    >>> at, str(own.object)
    (1, '_:b7')
    """
    places: set[int] = set()

    def local(term: Term) -> Term:
        if isinstance(term, BlankNode) and (found := _OF_MEMBER.fullmatch(term.value)):
            places.add(int(found[1]))
            return BlankNode(found[2])
        if isinstance(term, Triple):
            return Triple(local(term.subject), term.predicate, local(term.object))  # type: ignore[arg-type]
        return term

    own = Triple(local(triple.subject), triple.predicate, local(triple.object))  # type: ignore[arg-type]
    return (min(places) if len(places) == 1 else None), own
