"""Terms that denote the same thing, as a graph says: the pairs are found and shown, never merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kgsparql.dataclasses import replace
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import path_text
from kgsparql.exploration import Found, neighbours, predicates
from kgsparql.exploration.batched_select import lookup, order_key
from kgsparql.graphs.graph import BOUND
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Path, Step, directions
from kgsparql.rdf.terms import IRI, Labels, as_iri, distinct
from kgsparql.rdf.vocabulary import EXACT_MATCH, SAME_AS, UNWALKED

# Equivalents of the entities of a question; of more, the first in the order of their text are taken.
MAX_SAME = 20
# Terms that may be equivalents and are checked: does a graph say anything else about them?
MAX_LOOKED_AT = 10 * MAX_SAME
_PREDICATES = (SAME_AS, EXACT_MATCH)


def same_as(graph: MeteredGraph, terms: Iterable[IRI]) -> Found[Path]:
    """Find the terms that a graph says are the same as some, and of which they say something else too: hops to these.

    By ``owl:sameAs`` and ``skos:exactMatch``, one hop in both directions. Two queries, in lexical order.
    """
    known = list(dict.fromkeys(terms))
    if not known:
        return Found()
    steps = [Step(predicate, way) for predicate in _PREDICATES for way in directions("both")]
    near = neighbours(graph.unfiltered(), known, steps=steps, limit=BOUND)
    said = [Path(hop.start, (hop,)) for group in near.items for hop in group.hops if isinstance(hop.end, IRI)]
    cuts = [*near.cuts]
    met = {(path.start, path.end): path for path in reversed(said) if path.end not in known}
    ordered = sorted(met.values(), key=lambda path: (order_key(path.end), known.index(as_iri(path.start))))
    found = list(dict.fromkeys(as_iri(path.end) for path in ordered))
    others = _first_of(found, MAX_LOOKED_AT, "terms that may be equivalents", cuts)
    counts = predicates(graph, others, skip=UNWALKED.union(_PREDICATES)).items if others else ()
    told = {count.entity for count in counts}
    taken = _first_of(sorted(told.intersection(others), key=order_key), MAX_SAME, "equivalents", cuts)
    return Found(tuple(path for path in ordered if path.end in taken), tuple(cuts))


def _first_of(some: list[IRI], most: int, what: str, cuts: list[Cut]) -> list[IRI]:
    """Take the first of some; that there are more is a cut."""
    cuts += [Cut(what, most, len(some))] if len(some) > most else []
    return some[:most]


def same_items(paths: Sequence[Path], labels: Labels) -> list[EvidenceItem]:
    """Make an item of evidence for each pair: the triple that says it."""
    return [
        EvidenceItem(
            "path",
            path_text(path, labels),
            tuple(CitedTriple(*hop) for hop in path.hops),
            lookup(path.triples),
            (path,),
        )
        for path in paths
    ]


def with_reasons(some: Iterable[Any], evidence: Evidence, same: Sequence[Path]) -> tuple[Any, ...]:
    """Have what rests on an equivalent also cite the items that say why that is the same as what was asked about."""
    said = {frozenset(cited.triple for cited in item.triples): item.marker for item in evidence}
    made = []
    for one in some:
        about = {term for marker in one.markers if marker in evidence for term in evidence[marker].nodes}
        reasons = [said.get(frozenset(path.triples)) for path in same if path.end in about]
        made.append(replace(one, markers=distinct((*one.markers, *filter(None, reasons)))))
    return tuple(made)
