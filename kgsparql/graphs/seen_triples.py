"""The triples in the replies that a recording keeps, as N-Quads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgsparql.errors import KgsparqlError, ResourceNotFoundError, StoreError
from kgsparql.graphs.graph import Solution
from kgsparql.graphs.protocol.recorded import reply_of
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.graphs.protocol.results import solutions
from kgsparql.rdf import path_queries
from kgsparql.rdf.query import Query, TriplePattern
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.storage.atomic_replace import replace_text
from kgsparql.storage.recording import QUERY, Recording

_ONE_VALUE = re.compile(r"VALUES \?(\w+) \{ <([^<>\s]*)> \}")


def write_triples(recording: Recording, path: Path) -> None:
    """Write every triple that is seen in the replies, sorted; an earlier file is replaced.

    A triple in a named graph is written only there, since most endpoints show it in their default graph, too. A triple
    with a blank node is left out: the node's name means nothing outside its reply.

    :raises StoreError: if the file cannot be written.
    """
    quads = {quad for request, reply in recording.all(QUERY) for quad in _quads(request, reply)}
    named = {quad.triple for quad in quads if isinstance(quad.graph_name, IRI)}
    kept = (quad for quad in quads if isinstance(quad.graph_name, IRI) or quad.triple not in named)
    try:
        replace_text(path, "".join(f"{line} .\n" for line in sorted(map(str, kept))), mode=0o600)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}", path=str(path)) from error


@dataclass(frozen=True, slots=True)
class _Arm:
    """A query, or an arm of a union, and the triples that its solutions show.

    :param names: the variables that each solution binds.
    :param number: the value of ``?walk`` in the solutions of a walk.
    """

    names: frozenset[str]
    triples: tuple[TriplePattern, ...]
    number: str = ""

    def may_give(self, solution: Solution) -> bool:
        """Whether a solution may be from this arm."""
        walk = solution.get("walk")
        return self.names == solution.keys() and self.number == (walk.value if isinstance(walk, Literal) else "")


def _quads(request: Mapping[str, Any], reply: Mapping[str, Any]) -> Iterator[ox.Quad]:
    name, text = str(reply.get("name", "")), str(request.get("query", ""))
    if request.get("form") != "SELECT" or "status" not in reply:
        return
    arms = list(_file_arms(name))
    if {"walk", "walk_triples"} & set(name.split("+")):
        arms += [_Arm(names, steps, number) for names, number, steps in path_queries.steps_of_walks(text)]
    if not any(arm.triples for arm in arms):
        return
    try:
        found = solutions(reply_of(reply), SparqlRequest(str(request["endpoint"]), name, text, 0.0))
    except KgsparqlError:
        return  # a failure that was kept for the replay: it shows no triple
    given = _given(text)
    for solution in found:
        patterns = {arm.triples for arm in arms if arm.may_give(solution)}
        for pattern in patterns.pop() if len(patterns) == 1 else ():  # of two possible arms neither is sure
            yield from _quad(pattern, {**given, **solution})


def _file_arms(name: str) -> Iterator[_Arm]:
    """The arms of a query that are from our files, with the triples that their heads declare."""
    for part in name.split("+"):
        with suppress(ResourceNotFoundError):  # not from a file, such as a walk
            query = Query.load(part)
            yield _Arm(query.variables, query.triples)


def _given(text: str) -> dict[str, Term]:
    """The variables to which a query gives exactly one value, and the values."""
    values = _ONE_VALUE.findall(text)
    names = Counter(name for name, _ in values)
    return {name: IRI(value) for name, value in values if names[name] == 1}


def _quad(pattern: TriplePattern, terms: Solution) -> Iterator[ox.Quad]:
    subject, object_ = terms.get(pattern.subject), terms.get(pattern.object)
    predicate = terms.get(pattern.predicate) if isinstance(pattern.predicate, str) else pattern.predicate
    if isinstance(subject, IRI) and isinstance(predicate, IRI) and isinstance(object_, IRI | Literal):
        graph = terms.get("graph")
        yield ox.Quad(subject, predicate, object_, graph if isinstance(graph, IRI) else ox.DefaultGraph())
