"""Terms of several graphs that denote the same thing: the pairs are found and shown, never merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import IriError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import path_text
from kgsparql.exploration import Found, predicates
from kgsparql.exploration.batched_select import batched_select, hop_in, lookup, order_key, union_of
from kgsparql.graphs.graph import KnowledgeGraph, Solution
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Cut
from kgsparql.linking.words import in_turn
from kgsparql.rdf.paths import Hop, Path
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Labels, Literal, Term, Triple, iri
from kgsparql.rdf.vocabulary import EXACT_MATCH, SAME_AS, UNWALKED, claim_part

# Equivalents of the entities of a question; of more, the first in the order of their text are taken.
MAX_SAME = 20
# Terms that may be equivalents and are checked: does a graph say anything else about them?
MAX_LOOKED_AT = 10 * MAX_SAME
# Pairs of an entity and an identifying predicate that are asked for.
MAX_PAIRS = 2_000
# Identifiers of the entities of a question that are looked up; a well-known person has some 250 on Wikidata.
MAX_IDENTIFIERS = 1_000

_PREDICATES = (SAME_AS, EXACT_MATCH)

# A predicate, and a value that only one thing has.
Identifier: TypeAlias = tuple[IRI, IRI | Literal]
# The identifiers of terms, and the hops to them.
_Held: TypeAlias = dict[IRI, dict[Identifier, Hop]]


@dataclass(frozen=True, slots=True)
class Same:
    """That graphs say a term is the same as another.

    :param term: the one that was known.
    :param other: the one that it is the same as.
    :param path: what says so: one hop between the two, or two by way of an identifier that they share.
    """

    term: IRI
    other: IRI
    path: Path

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The triples that say it."""
        return self.path.triples

    @property
    def terms(self) -> tuple[Term, ...]:
        """The two, and every term of these triples."""
        return (self.term, self.other, *(term for triple in self.triples for term in triple))


def same_as(graph: MeteredGraph, terms: Iterable[IRI]) -> Found[Same]:
    """Find the terms that graphs say are the same as some, and of which they say something else too.

    By ``owl:sameAs`` and ``skos:exactMatch``, one hop in both directions; and by what the graphs declare to be
    identifiers, where things of two graphs have the same one.
    What several things of one graph have identifies none of them. Three queries, and more where there is very much to
    be asked. In lexical order.
    """
    known = list(dict.fromkeys(terms))
    if not known:
        return Found()
    identifiers, cuts = graph.ignored.identifiers, list[Cut]()
    said, held = _statements_about(graph.unfiltered(), known, identifiers, cuts)
    met: dict[tuple[IRI, IRI], Same] = {}
    for same in (*said, *_pairs_by_identifier(graph.unfiltered(), known, held, cuts)):
        if same.other not in known:
            met.setdefault((same.term, same.other), same)
    ordered = sorted(met.values(), key=lambda same: (order_key(same.other), known.index(same.term)))
    others = _first_of(
        list(dict.fromkeys(same.other for same in ordered)), MAX_LOOKED_AT, "terms that may be equivalents", cuts
    )
    counts = predicates(graph, others, skip=UNWALKED.union(_PREDICATES)).items if others else ()
    told = {count.entity for count in counts if count.step.predicate not in identifiers}
    taken = _first_of(sorted(told.intersection(others), key=order_key), MAX_SAME, "equivalents", cuts)
    return Found(tuple(same for same in ordered if same.other in taken), tuple(cuts))


_Some = TypeVar("_Some")


def _first_of(some: list[_Some], most: int, what: str, cuts: list[Cut]) -> list[_Some]:
    """Take the first of some; that there are more is a cut."""
    cuts += [Cut(what, most, len(some))] if len(some) > most else []
    return some[:most]


def _statements_about(
    graph: KnowledgeGraph, known: Sequence[IRI], identifiers: frozenset[IRI], cuts: list[Cut]
) -> tuple[list[Same], _Held]:
    """Ask what graphs say is the same as the known terms, and for their identifiers: one query.

    Where graphs declare so many that each cannot be asked for, as Wikidata does, plain texts are read instead.
    """
    size, named = graph.chunk_size, sorted(identifiers, key=str)
    is_read = len(named) * len(known) > size and any(claim_part(p) is not None for p in named)
    if is_read:
        named = [predicate for predicate in named if claim_part(predicate) is None]
    most = min(MAX_PAIRS // len(known), (MAX_ARMS - 2) * size - len(_PREDICATES))
    named = [*_PREDICATES, *_first_of(named, most, "identifying predicates", cuts)]

    def query_of(terms: Sequence[IRI], bound: int) -> Query:
        pairs = [(term, predicate) for term in terms for predicate in named]
        parts = [("group_forward", pairs[at : at + size]) for at in range(0, len(pairs), size)]
        parts.append(("group_inverse", [pair for pair in pairs if pair[1] in _PREDICATES]))
        arms = [Query.load(name).bind_rows(("entity", "predicate"), part) for name, part in parts]
        arms += [Query.load("plain_values").bind(entity=terms)] if is_read else []
        return union_of([arm.limit(bound + 1) for arm in arms])

    at_once = max(1, min((MAX_ARMS - 2) * size // len(named), size // 2))
    asked = batched_select(graph, query_of, known, key_of=lambda s: s["entity"], chunk_size=at_once)
    cuts += [Cut("equivalents and identifiers", len(some), None, str(term)) for term, some in asked.over.items()]
    said: list[Same] = []
    held: _Held = {}
    for solution in asked.seen:
        hop = hop_in(solution)
        term, predicate, far = hop.start, hop.triple.predicate, hop.end
        if not isinstance(term, IRI) or not isinstance(far, IRI | Literal):
            continue
        if predicate in _PREDICATES and isinstance(far, IRI):
            said.append(Same(term, far, Path(term, (hop,))))
        elif predicate in identifiers and hop.direction == "forward":
            held.setdefault(term, {})[predicate, far] = hop
    return said, held


def _pairs_by_identifier(graph: KnowledgeGraph, known: Sequence[IRI], held: _Held, cuts: list[Cut]) -> Iterator[Same]:
    each = [sorted(held.get(term, ()), key=lambda one: (one[0].value, order_key(one[1]))) for term in known]
    wanted = _first_of(list(dict.fromkeys(in_turn(each))), MAX_IDENTIFIERS, "identifiers", cuts)
    holders = _holders_of(graph, wanted)
    for identifier in wanted:
        hops = [Hop(Triple(other, *identifier)) for other in sorted(holders.get(identifier, ()), key=str)]
        for term in known:
            if own := held.get(term, {}).get(identifier):
                for hop in hops:
                    if isinstance(hop.start, IRI):
                        yield Same(term, hop.start, Path(term, (own, hop.reversed)))


def _holders_of(graph: KnowledgeGraph, wanted: Sequence[Identifier]) -> dict[Identifier, set[IRI]]:
    """Find who has each identifier, but for those that several things of one graph have."""
    query, size = Query.load("identified"), graph.chunk_size

    def query_of(chunk: Sequence[Identifier], _: int) -> Query:
        parts = [chunk[at : at + size] for at in range(0, len(chunk), size)]
        return union_of([query.bind_rows(("predicate", "object"), part) for part in parts])

    def key_of(solution: Solution) -> Any:
        return solution["predicate"], solution["object"]

    def count_of(solution: Solution) -> int:
        return int(getattr(solution.get("entities"), "value", 0))

    asked = batched_select(graph, query_of, wanted, key_of=key_of, weight=count_of, chunk_size=MAX_IDENTIFIERS)
    shared = {*asked.over, *(key_of(solution) for solution in asked.solutions if count_of(solution) != 1)}
    holders: dict[Identifier, set[IRI]] = {}
    for solution in asked.solutions:
        if key_of(solution) not in shared:
            with suppress(IriError):  # a server may hold what is none; no triple with it could be cited
                holders.setdefault(key_of(solution), set()).add(iri(getattr(solution.get("iri"), "value", "")))
    return holders


def same_items(pairs: Sequence[Same], labels: Labels) -> list[EvidenceItem]:
    """Make an item of evidence for each pair: the triples that say it."""
    items = []
    for same in pairs:
        cited = tuple(CitedTriple(hop.triple, hop.direction) for hop in same.path.hops)
        text = path_text(same.path, labels)
        items.append(EvidenceItem(kind="path", text=text, triples=cited, query=lookup(same.triples), path=same.path))
    return items


def with_reasons(some: Iterable[Any], evidence: Evidence, pairs: Sequence[Same]) -> tuple[Any, ...]:
    """Have what rests on an equivalent also cite the items that say why that is the same as what was asked about."""
    if not pairs:
        return tuple(some)
    said = {frozenset(cited.triple for cited in item.triples): item.marker for item in evidence}
    made = []
    for one in some:
        about = {term for marker in one.markers if marker in evidence for term in evidence[marker].nodes}
        reasons = [said.get(frozenset(same.triples)) for same in pairs if same.other in about]
        made.append(replace(one, markers=tuple(dict.fromkeys((*one.markers, *filter(None, reasons))))))
    return tuple(made)
