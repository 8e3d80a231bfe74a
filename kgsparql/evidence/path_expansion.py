"""From a path that was found to every answer on it: its property path is asked, and what that finds is the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.evidence.verbalising import Line, line_terms, line_text
from kgsparql.evidence.wikibase_statements import read_statements, statement_labels
from kgsparql.exploration import Found, walk_ends, walk_ways
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, Walk, Way
from kgsparql.rdf.terms import IRI, BlankNode, Term
from kgsparql.rdf.vocabulary import is_mediator

SHOWN = 50
"""Ends of a walk whose triples are cited; the query of the item finds them all."""

ENDS = 10_000
"""Ends of a walk that are fetched."""

LABELLED = 1_000
"""Ends that are asked for their labels; of more, the others are called by the end of their IRIs."""

_WAYS = 2_000


def expanded_items(
    walks: Sequence[Walk],
    terms: TermLabels,
    *,
    shown: int = SHOWN,
    limit: int = ENDS,
    keep: Callable[[Sequence[Term]], list[Term]] = list,
) -> list[EvidenceItem | None]:
    """An item of evidence for each walk, with all its ends and the triples of the first; ``None`` where it has no end.

    Two queries for up to 50 walks, and the labels. The start counts as an end only if there is no other; a blank node
    never does. The query of an item finds just its ends.

    :param shown: ends of each walk whose triples are cited, one way to each.
    :param limit: ends of each walk; more are a cut.
    :param keep: those of the ends that a reader wants.
    """
    found = walk_ends(terms.graph, walks, limit=limit)
    named = [[end for end in own.items if not is_mediator(end)] for own in found]
    ends = [keep([e for e in own if e != walk.start] or own) for own, walk in zip(named, walks, strict=True)]
    labels = terms(end for own in ends if len(own) <= LABELLED for end in own)
    ordered = [_ordered(own, labels) for own in ends]
    ways = walk_ways(terms.graph, walks, [own[:shown] for own in ordered], limit=_WAYS)
    read_statements([way.path for own in ways for way in own.items], terms)
    terms.notes.add_cuts(cut for met, own in zip(found, ways, strict=True) for cut in (*met.cuts, *own.cuts))
    return [
        _item(walk, own, met, via, terms) if own and via.items else None
        for walk, own, met, via in zip(walks, ordered, found, ways, strict=True)
    ]


def _ordered(ends: Sequence[Term], labels: Mapping[Term, str]) -> list[Term]:
    """The ends by their labels; of very many, as they came, by their text: labels cost a query for each thousand."""
    if len(ends) > LABELLED:
        return list(ends)
    return sorted(ends, key=lambda end: (labels[end].casefold(), str(end)))


def _item(walk: Walk, ends: Sequence[Term], met: Found[Term], ways: Found[Way], terms: TermLabels) -> EvidenceItem:
    """The item of one walk.

    :param met: every end that was found, those too that are not among ``ends``.
    """
    cuts = (*met.cuts, *ways.cuts)
    left_out = [end for end in met.items if is_mediator(end)]
    first = {way.path.end: way for way in reversed(ways.items)}
    kept = [first[end] for end in ends if end in first]
    line = Line(walk.path, tuple(way.path for way in kept), len(ends), exact=not cuts)
    asides = [term for c in walk.constraints for term in (c.step.predicate, *c.values)]
    labels, beside = statement_labels(line.ways, terms, terms([*line_terms([line]), *asides], in_grace=True))
    hops: dict[Hop, None] = dict.fromkeys(hop for way in kept for hop in (*way.path.hops, *way.aside))
    hops |= dict.fromkeys(cited.hop for cited in beside)
    seen = {cited.hop.step for cited in beside}
    told = [
        f"{labels[c.step.predicate]} {' or '.join(labels[v] for v in c.values[:5])}"
        for c in walk.constraints if c.step not in seen
    ]  # fmt: skip
    return EvidenceItem(
        kind="path",
        text=line_text(line, labels) + (f" (where {' and '.join(told)})" if told else ""),
        triples=tuple(CitedTriple(hop.triple, hop.direction) for hop in hops),
        query=path_queries.answers(
            walk.path,
            walk.start,
            constraints=walk.constraints,
            without_start=len(ends) + len(left_out) < len(met.items),
            without_blank=any(isinstance(end, BlankNode) for end in left_out),
            without_statements=any(isinstance(end, IRI) for end in left_out),
        ),
        cuts=cuts,
        ways=line.ways,
        ends=tuple(ends),
    )
