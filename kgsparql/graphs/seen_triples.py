"""The triples in the replies that a recording keeps, as N-Quads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgsparql.errors import KgsparqlError, StoreError
from kgsparql.graph import Solution
from kgsparql.graphs.protocol.recorded import reply_of
from kgsparql.graphs.protocol.request import Sent
from kgsparql.graphs.protocol.results import solutions
from kgsparql.recording import QUERY, Recording
from kgsparql.terms import IRI, Literal, Term

__all__ = ["write_triples"]

_OF_TRIPLES = frozenset({
    "between", "between_pairs", "by_label", "group_forward", "group_inverse", "labels", "links_forward",
    "links_inverse", "named_graph_triples", "named_graphs", "neighbours_forward", "neighbours_inverse",
    "predicate_triples", "verify",
})  # fmt: skip
"""Queries whose every solution is a triple of the graph, by what its variables are called."""


def write_triples(recording: Recording, path: Path) -> None:
    """Write every triple that is seen in the replies, sorted, in the place of the file that was there.

    One that is seen in a named graph is written there alone, since most endpoints show it in their default graph, too.
    One with a blank node is left out: its name means nothing outside its reply.

    :raises StoreError: if the file cannot be written.
    """
    quads = {quad for request, reply in recording.all(QUERY) for quad in _quads(request, reply)}
    named = {quad.triple for quad in quads if isinstance(quad.graph_name, IRI)}
    kept = (quad for quad in quads if isinstance(quad.graph_name, IRI) or quad.triple not in named)
    lines = sorted(map(str, kept))
    made = path.with_name(f"{path.name}.partial.{os.getpid()}")
    try:
        with made.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line} .\n" for line in lines)
        made.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}", path=str(path)) from error


def _quads(request: Mapping[str, Any], reply: Mapping[str, Any]) -> Iterator[ox.Quad]:
    name = str(reply.get("name", ""))
    if request.get("form") != "SELECT" or "status" not in reply or not _OF_TRIPLES.issuperset(name.split("+")):
        return
    sent = Sent(str(request["endpoint"]), name, str(request["query"]), 0.0)
    try:
        found = solutions(reply_of(reply), sent)
    except KgsparqlError:
        return  # a failure that was kept for the replay: there is no triple in it
    for solution in found:
        subject, predicate, object_ = _triple(solution)
        if isinstance(subject, IRI) and isinstance(predicate, IRI) and isinstance(object_, IRI | Literal):
            graph = solution.get("graph")
            named = graph if isinstance(graph, IRI) else ox.DefaultGraph()
            yield ox.Quad(subject, predicate, object_, named)


def _triple(solution: Solution) -> tuple[Term | None, Term | None, Term | None]:
    entity, predicate = solution.get("entity"), solution.get("predicate")
    far = solution.get("object", solution.get("label"))
    if far is not None:
        return solution.get("subject", entity), predicate, far
    return solution.get("subject"), predicate, entity
