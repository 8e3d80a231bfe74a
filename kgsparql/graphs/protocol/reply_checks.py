"""Checks that a reply is one to the query that was sent: its variables, the terms that it names, its counts.

An endpoint may be wrong, or lie. What comes after relies on this: a term that the query names is a key of what is asked
for, a count is a number, and a number of ours that comes back is one that was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from kgsparql.graphs.graph import Solution, Solutions
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, printable

_COUNT = re.compile(r"\+?[0-9]{1,18}")


class Bindings(dict[str, Term]):
    """A solution; to need a variable that the endpoint left unbound is an error of the reply."""

    __slots__ = ("_request",)

    def __init__(self, request: SparqlRequest, terms: Mapping[str, Term]) -> None:
        super().__init__(terms)
        self._request = request

    def __missing__(self, name: str) -> NoReturn:
        _refuse(self._request, f"lacks the variable ?{name}")


def about_the_query(found: Solutions, query: Query, request: SparqlRequest) -> Solutions:
    """The solutions that the query may have; others are left out and counted.

    Virtuoso writes some IRIs in another way than it is asked for them.

    :raises EndpointReplyError: if a count is no number of triples.
    """
    for name in query.counts:
        for term in (solution[name] for solution in found if name in solution):
            if not isinstance(term, Literal) or not _COUNT.fullmatch(term.value):
                _refuse(request, f"has a count that is none: {printable(str(term), 40)}")
    if not len(found):
        return found
    arms = [_Arm(arm, is_one_of_many=len(query.arms) > 1) for arm in query.arms or (query,)]
    kept = [solution for solution in found if any(arm.may_give(solution) for arm in arms)]
    lost = len(found) - len(kept)
    return replace(found, solutions=tuple(kept), unasked=lost) if lost else found


class _Arm:
    """What is known of the solutions of a query, or of an arm of a union, before they come.

    The variables tell the arms of a union apart.
    """

    def __init__(self, query: Query, *, is_one_of_many: bool) -> None:
        self.variables = query.variables if is_one_of_many else frozenset()
        self.asked = {names: {tuple(map(_key, row)) for row in rows} for names, rows in query.asked.items()}
        self.subjects = {p.subject for p in query.triples}
        self.predicates = {p.predicate for p in query.triples if isinstance(p.predicate, str)}

    def may_give(self, solution: Solution) -> bool:
        """Whether a solution has no other variables or terms, and no literal where a triple can have none."""
        return (
            (not self.variables or solution.keys() <= self.variables)
            and all(
                tuple(_key(solution[name]) for name in names) in rows
                for names, rows in self.asked.items()
                if solution.keys() >= set(names)
            )
            and all(isinstance(solution[name], IRI) for name in self.predicates.intersection(solution))
            and all(isinstance(solution[name], IRI | BlankNode) for name in self.subjects.intersection(solution))
        )


def refuse_other_variables(
    names: frozenset[str], listed: frozenset[str], request: SparqlRequest, *, has_head: bool
) -> None:
    """Refuse a reply with variables that the query does not have, or without one that it lists.

    :param names: the variables of the reply.
    :param listed: those of the query; empty for ``SELECT *``.
    :param has_head: whether the reply names its variables; else those may be missing that no solution binds.
    """
    known = listed or {name for name in names if f"?{name}" in request.text or f"${name}" in request.text}
    lacking = listed - names if has_head else frozenset()
    if lacking or names - known:
        odd = ", ".join(f"?{name}" for name in sorted(lacking or names - known))
        what = f"the variable {printable(odd, 80)}"
        _refuse(request, f"lacks {what}" if lacking else f"has {what}, which the query has not")


def _key(term: Term) -> object:
    return term.value if isinstance(term, Literal) else term  # an engine may give a number another datatype


def _refuse(request: SparqlRequest, why: str) -> NoReturn:
    hint = "the server does not reply to what it was asked: is this the URL of the endpoint itself?"
    raise request.reply_error(f"the reply to {request.what} {why}", "E_FORMAT", hint)
