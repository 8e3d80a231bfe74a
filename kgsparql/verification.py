"""Looks every cited triple up again: the only place that decides what a citation may claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from kgsparql.evidence import Evidence, EvidenceItem, Source
from kgsparql.graph import Solution
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.query import Query
from kgsparql.terms import IRI, BlankNode, Literal, Term, Triple

__all__ = ["Verification", "verify"]

BATCH = 200
"""Triples looked up by one query."""

_Key = tuple[Term, Term, Term]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Verification:
    """Evidence whose triples are all marked, and what could not be kept.

    :param removed: triples that the graph does not hold, or no longer.
    :param lost: markers of items that rested on them and are gone.
    """

    evidence: Evidence
    found: int
    removed: tuple[Triple, ...]
    unknown: int
    lost: tuple[str, ...]


def verify(evidence: Evidence, graph: MeteredGraph) -> Verification:
    """Mark each triple as found, with the named graphs it is in, and drop what rests on a triple that is not there.

    An item falls with any of its triples: its text says them all. A triple with a blank node is looked up where blank
    nodes keep their names; elsewhere it stays as retrieved, with ``verified`` ``None``.
    """
    triples = evidence.triples
    sources = _sources(triples, graph)
    kept: list[EvidenceItem] = []
    lost: list[str] = []
    for item in evidence:
        cited = tuple(
            replace(c, sources=found or (), verified=True if found else None)
            for c in item.triples
            if (found := sources[c.triple]) is None or found
        )
        if len(cited) < len(item.triples):
            lost.append(item.marker)
        else:
            kept.append(replace(item, triples=cited))
    return Verification(
        evidence=Evidence(kept),
        found=sum(1 for found in sources.values() if found),
        removed=tuple(triple for triple, found in sources.items() if found == ()),
        unknown=sum(1 for found in sources.values() if found is None),
        lost=tuple(lost),
    )


def _sources(triples: Sequence[Triple], graph: MeteredGraph) -> dict[Triple, tuple[Source, ...] | None]:
    """Where each triple is found: nowhere is ``()``, and ``None`` is a triple that cannot be asked for."""
    plain = [triple for triple in triples if all(isinstance(term, IRI | Literal) for term in _key(triple))]
    held: set[_Key] = set()
    named: dict[_Key, list[Source]] = {}
    verify_query, graphs_query = Query.load("verify"), Query.load("named_graphs")
    for batch in _batches(plain):
        rows = [_key(triple) for triple in batch]
        held.update(map(_found, graph.select(verify_query.bind_rows(("subject", "predicate", "object"), rows))))
    for batch in _batches([triple for triple in plain if _key(triple) in held]):
        rows = [_key(triple) for triple in batch]
        for solution in graph.select(graphs_query.bind_rows(("subject", "predicate", "object"), rows)):
            named.setdefault(_found(solution), []).append(graph.source(_text(solution["graph"])))
    found: dict[Triple, tuple[Source, ...] | None] = {}
    for triple in triples:
        key = _key(triple)
        if any(isinstance(term, BlankNode | Triple) for term in key):
            found[triple] = graph.sources_of(triple)
        else:
            found[triple] = tuple(sorted(set(named.get(key, [graph.source(None)])))) if key in held else ()
    return found


def _key(triple: Triple) -> _Key:
    return triple.subject, triple.predicate, triple.object


def _found(solution: Solution) -> _Key:
    return solution["subject"], solution["predicate"], solution["object"]


def _text(term: Term) -> str:
    return term.value if isinstance(term, IRI | BlankNode | Literal) else str(term)


def _batches(items: Iterable[_T]) -> Iterator[list[_T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, BATCH)):
        yield batch
