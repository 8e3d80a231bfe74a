"""What several graphs call by different names: pairs that one of them says are the same, shown and never merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from kgsparql.evidence import CitedTriple, Cut, Evidence, EvidenceItem
from kgsparql.exploration import Found, predicates
from kgsparql.exploration.asking import far_end, order_key, union_of
from kgsparql.exploration.mediators import hop_of
from kgsparql.graph import BOUND, KnowledgeGraph
from kgsparql.paths import Hop, Path
from kgsparql.query import Query
from kgsparql.terms import IRI, Term
from kgsparql.verbalising import path_text
from kgsparql.vocabulary import EXACT_MATCH, SAME_AS, UNWALKED

__all__ = ["Same", "resting_on", "same_as", "same_items"]

MAX_SAME = 20
"""Equivalents of the entities of a question; of more, the first in the order of their text are taken."""

_PREDICATES = (SAME_AS, EXACT_MATCH)


@dataclass(frozen=True, slots=True)
class Same:
    """That a graph says a term is the same as another, in one direction or the other."""

    hop: Hop

    @property
    def term(self) -> IRI:
        """The one that was known."""
        return cast("IRI", self.hop.start)

    @property
    def other(self) -> IRI:
        """The one that it is the same as."""
        return cast("IRI", self.hop.end)


def same_as(graph: KnowledgeGraph, terms: Iterable[IRI]) -> Found[Same]:
    """The terms that a graph says are the same as some, and of which it says something else too.

    By ``owl:sameAs`` and ``skos:exactMatch``, one hop in both directions. Two queries in all. In lexical order.
    """
    known = list(dict.fromkeys(terms))
    pairs = [(term, predicate) for term in known for predicate in _PREDICATES]
    arms = [
        Query.load(f"group_{way}").bind_rows(("entity", "predicate"), pairs).limit(BOUND + 1)
        for way in ("forward", "inverse")
    ]
    if not known:
        return Found()
    met: dict[tuple[Term, Term], Same] = {}
    for solution in graph.select(union_of(arms)):
        way, far = far_end(solution)
        if isinstance(far, IRI) and far not in known:
            hop = hop_of(solution["entity"], solution["predicate"], far, way)
            met.setdefault((hop.start, far), Same(hop))
    places = {term: place for place, term in enumerate(known)}
    ordered = sorted(met.values(), key=lambda same: (order_key(same.other), places[same.term]))
    others = list(dict.fromkeys(same.other for same in ordered))
    skip = UNWALKED.union(_PREDICATES)
    said = {count.entity for count in predicates(graph, others[:BOUND], skip=skip).items} if others else set()
    others = [other for other in others if other in said]
    taken = set(others[:MAX_SAME])
    cuts = (Cut("equivalents", MAX_SAME, len(others)),) if len(others) > MAX_SAME else ()
    return Found(tuple(same for same in ordered if same.other in taken), cuts)


def same_items(pairs: Sequence[Same], labels: Mapping[Term, str]) -> list[EvidenceItem]:
    """An item of evidence for each pair: the triple that says it."""
    items = []
    for same in pairs:
        triple = same.hop.triple
        row = (triple.subject, triple.predicate, triple.object)
        path = Path(same.term, (same.hop,))
        items.append(
            EvidenceItem(
                kind="path",
                text=path_text(path, labels),
                triples=(CitedTriple(triple, same.hop.direction),),
                query=Query.load("verify").bind_rows(("subject", "predicate", "object"), [row]),
                path=path,
            )
        )
    return items


def resting_on(markers: Sequence[str], evidence: Evidence, pairs: Sequence[Same]) -> tuple[str, ...]:
    """The markers, and those of the items that say why facts about an equivalent are facts about what was asked."""
    said = {item.triples[0].triple: item.marker for item in evidence if len(item.triples) == 1}
    of = {marker: _terms(evidence[marker]) for marker in markers if marker in evidence}
    more = [
        said[same.hop.triple]
        for same in pairs
        if same.hop.triple in said and any(same.other in terms for terms in of.values())
    ]
    return tuple(dict.fromkeys((*markers, *more)))


def _terms(item: EvidenceItem) -> set[Term]:
    return {term for cited in item.triples for term in (cited.triple.subject, cited.triple.object)}
