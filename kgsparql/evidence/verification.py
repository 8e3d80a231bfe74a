"""Verification: every cited triple is looked up again, and what is not there is removed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, EndpointError, QueryError
from kgsparql.evidence.evidence import Evidence, EvidenceItem, SourceQuery
from kgsparql.exploration.batched_select import lookup
from kgsparql.graphs.graph import Halving, Solution, Source
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.rdf.terms import IRI, Literal, Term, Triple

BATCH = 200
"""Triples looked up by one query."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Evidence whose triples are all marked, and what could not be kept.

    :param removed: triples that the graph does not hold, or no longer.
    :param unknown: triples of which that cannot be told.
    :param unanswered: those of them that have a name to be asked for by.
    :param failure: why the graph, or all of several, could not be asked any more; ``None`` if it could.
    :param ended: where there was no time to ask.
    :param lost: markers of items that rested on them and are gone.
    """

    evidence: Evidence
    found: int
    removed: tuple[Triple, ...]
    unknown: int
    lost: tuple[str, ...]
    unanswered: int = 0
    failure: EndpointError | QueryError | None = None
    ended: BudgetExceededError | None = None


def verify(evidence: Evidence, graph: MeteredGraph) -> Verification:
    """Look each triple up again, with its named graphs; items with a missing triple are dropped.

    A triple with a blank node is looked up where blank nodes keep their names; elsewhere it stays, with ``verified``
    ``None``. So does a triple of which an endpoint that failed, or cut its results, did not say whether it is there.

    Each of several graphs is asked. An item whose triples are in several graphs gets a query for each. A triple that no
    graph confirms, and that just one of them could not be asked about, is cited as from that one.
    """
    triples = evidence.triples
    parts = [_lookup_in(triples, part.unfiltered()) for part in graph.members]
    sources: dict[Triple, tuple[Source, ...] | None] = {}
    likely: dict[Triple, tuple[Source, ...]] = {}
    for triple in triples:
        if not has_a_name(triple):
            sources[triple] = graph.sources_of(triple)
            continue
        held = {source for part in parts for source in part.named.get(triple, ())}
        silent = [part for part in parts if triple in part.open_]
        sources[triple] = tuple(sorted(held)) or (None if silent else ())
        if not held and len(silent) == 1 < len(parts):
            likely[triple] = (silent[0].source,)
    found = Evidence(
        _confirmed_item(item, parts, sources, likely)
        for item in evidence if all(sources[cited.triple] != () for cited in item.triples)
    )  # fmt: skip
    unknown = [triple for triple, own in sources.items() if own is None]
    failures = [part.failure for part in parts if part.failure is not None]
    return Verification(
        evidence=found,
        found=sum(map(bool, sources.values())),
        removed=tuple(triple for triple, own in sources.items() if own == ()),
        unknown=len(unknown),
        lost=tuple(item.marker for item in evidence if item.marker not in found),
        unanswered=sum(map(has_a_name, unknown)),
        failure=failures[0] if len(failures) == len(parts) else None,
        ended=next((part.ended for part in parts if part.ended), None),
    )


def has_a_name(triple: Triple) -> bool:
    """Tell whether a triple can be looked up by name: blank nodes have none, nor triples in triples."""
    return all(isinstance(term, IRI | Literal) for term in triple)


def _confirmed_item(
    item: EvidenceItem,
    parts: Sequence[_Lookup],
    sources: Mapping[Triple, tuple[Source, ...] | None],
    likely: Mapping[Triple, tuple[Source, ...]],
) -> EvidenceItem:
    """Mark the triples of an item, with a query for each graph that holds some, where none holds them all."""
    plain = [c.triple for c in item.triples if has_a_name(c.triple)]
    own = [
        (part.source.graph, [t for t in plain if t in part.held or likely.get(t) == (part.source,)]) for part in parts
    ]
    is_in_one = len(parts) == 1 or any(len(held) == len(plain) for _, held in own)
    return replace(
        item,
        triples=tuple(
            replace(c, sources=found or likely.get(c.triple, ()), verified=bool(found) or None)
            for c in item.triples for found in (sources[c.triple],)
        ),
        queries=() if is_in_one else tuple(SourceQuery(name, lookup(held)) for name, held in own if held),
    )  # fmt: skip


@dataclass(slots=True)
class _Lookup:
    """What a graph says of triples without blank nodes."""

    source: Source
    held: set[Triple] = field(default_factory=set)
    open_: set[Triple] = field(default_factory=set)
    named: dict[Triple, list[Source]] = field(default_factory=dict)
    failure: EndpointError | QueryError | None = None
    ended: BudgetExceededError | None = None


def _lookup_in(triples: Sequence[Triple], graph: MeteredGraph) -> _Lookup:
    plain = [triple for triple in triples if has_a_name(triple)]
    found = _Lookup(graph.source(None), open_=set(plain))
    try:
        _find_triples(plain, graph, found)
        for batch in _batches_of([triple for triple in plain if triple in found.held]):
            for triple, name in _triples_in(graph.select(lookup(batch, named_graphs=True))):
                found.named.setdefault(triple, []).append(graph.source(str(getattr(name, "value", name))))
    except GRAPH_FAILED as error:  # what is found already is not lost with its endpoint
        found.failure = error
    except BudgetExceededError as error:
        found.ended = error
    for triple in found.held:
        found.named.setdefault(triple, [found.source])
    return found


def _find_triples(triples: Sequence[Triple], graph: MeteredGraph, found: _Lookup) -> None:
    """Add the triples that are there to ``found``; where a result was cut, the rest is asked for in halves."""
    halving = Halving()
    todo = deque(_batches_of(triples))
    while todo:
        batch = todo.popleft()
        solutions = graph.select(lookup(batch))
        is_enough = halving.should_give_up(solutions)
        found.held.update(triple for triple, _ in _triples_in(solutions))
        missing = [triple for triple in batch if triple not in found.held]
        if solutions.complete or not missing:
            found.open_.difference_update(batch)
            continue
        found.open_.difference_update(found.held)
        if len(batch) > 1 and solutions.cut and not is_enough:
            graph.will_ask_again(solutions)
            half = -(-len(missing) // 2)
            todo.extendleft(part for part in (missing[half:], missing[:half]) if part)


def _triples_in(solutions: Iterable[Solution]) -> Iterator[tuple[Triple, Term | None]]:
    """Yield the triples that were found, with their named graphs; what a server sends need be no triple."""
    for solution in solutions:
        subject, predicate = solution["subject"], solution["predicate"]
        if isinstance(subject, IRI) and isinstance(predicate, IRI):
            yield Triple(subject, predicate, solution["object"]), solution.get("graph")


def _batches_of(triples: Sequence[Triple]) -> list[Sequence[Triple]]:
    return [triples[at : at + BATCH] for at in range(0, len(triples), BATCH)]
