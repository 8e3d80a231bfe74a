"""Terms of several graphs that denote the same thing: the pairs are found and shown, never merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from kgsparql.errors import IriError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import path_text
from kgsparql.exploration import Found, predicates
from kgsparql.exploration.batched_select import batched_select, far_end, hop_of, lookup, order_key, union_of
from kgsparql.graphs.graph import KnowledgeGraph, Solution
from kgsparql.graphs.ignored_predicates import Formatter, Identifier, Identifiers
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Hop, Path
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, iri, printable
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

# The identifiers of terms, and the hops to them.
_Held: TypeAlias = dict[IRI, dict[Identifier, Hop]]


@dataclass(frozen=True, slots=True)
class Same:
    """That graphs say a term is the same as another.

    :param term: the one that was known.
    :param other: the one that it is the same as.
    :param path: what says so: one hop between the two, or two by way of an identifier that they share; or, with a
        ``formatter``, the hop from one of them to its identifier, of which that makes the other.
    """

    term: IRI
    other: IRI
    path: Path
    formatter: Formatter | None = None

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The triples that say it."""
        return (*self.path.triples, *([] if self.formatter is None else [self.formatter.stated]))

    @property
    def terms(self) -> tuple[Term, ...]:
        """The two, and every term of these triples."""
        return (self.term, self.other, *(term for triple in self.triples for term in triple))


def same_as(graph: MeteredGraph, terms: Iterable[IRI]) -> Found[Same]:
    """Find the terms that graphs say are the same as some, and of which they say something else too.

    By ``owl:sameAs`` and ``skos:exactMatch``, one hop in both directions; and by what the graphs declare to be
    identifiers, where things of two graphs have the same one, or one graph says that it makes an IRI of the other.
    What several things of one graph have identifies none of them. Three queries, and more where there is very much to
    be asked. In lexical order.
    """
    known = list(dict.fromkeys(terms))
    if not known:
        return Found()
    identifiers = graph.ignored.identifiers
    said, held, cuts = _statements_about(graph.unfiltered(), known, identifiers)
    met: dict[tuple[IRI, IRI], Same] = {}
    for same in (*said, *_pairs_by_identifier(graph.unfiltered(), known, held, identifiers, cuts)):
        if same.other not in known:
            met.setdefault((same.term, same.other), same)
    places = {term: place for place, term in enumerate(known)}
    ordered = sorted(met.values(), key=lambda same: (order_key(same.other), places[same.term]))
    # Last are IRIs made of an identifier of a known term: no graph need contain them.
    made_last = sorted(ordered, key=lambda same: same.formatter is not None and same.path.start == same.term)
    others = list(dict.fromkeys(same.other for same in made_last))
    if len(others) > MAX_LOOKED_AT:
        cuts.append(Cut("terms that may be equivalents", MAX_LOOKED_AT, len(others)))
        others = others[:MAX_LOOKED_AT]
    counts = predicates(graph, others, skip=UNWALKED.union(_PREDICATES)).items if others else ()
    told = {count.entity for count in counts if count.step.predicate not in identifiers.predicates}
    others = sorted((other for other in others if other in told), key=order_key)
    if len(others) > MAX_SAME:
        cuts.append(Cut("equivalents", MAX_SAME, len(others)))
    taken = set(others[:MAX_SAME])
    return Found(tuple(same for same in ordered if same.other in taken), tuple(cuts))


def _statements_about(
    graph: KnowledgeGraph, known: Sequence[IRI], identifiers: Identifiers
) -> tuple[list[Same], _Held, list[Cut]]:
    """Ask what graphs say is the same as the known terms, and for their identifiers: one query.

    Where graphs declare so many that each cannot be asked for, as Wikidata does, plain texts are read instead.
    """
    declared = sorted(identifiers.predicates, key=str)
    named = declared
    is_read = len(declared) * len(known) > graph.chunk_size and any(claim_part(p) is not None for p in declared)
    if is_read:
        named = [predicate for predicate in declared if claim_part(predicate) is None]
    said: list[Same] = []
    held: _Held = {}
    cuts: list[Cut] = []
    most = min(MAX_PAIRS // len(known), (MAX_ARMS - 2) * graph.chunk_size - len(_PREDICATES))
    if len(named) > most:
        cuts.append(Cut("identifying predicates", most, len(named)))
        named = named[:most]

    def query_of(terms: Sequence[IRI], bound: int) -> Query:
        pairs = [(term, predicate) for term in terms for predicate in (*_PREDICATES, *named)]
        said = [(term, predicate) for term in terms for predicate in _PREDICATES]
        arms = [
            _group_query("forward", pairs[at : at + graph.chunk_size]) for at in range(0, len(pairs), graph.chunk_size)
        ]
        arms.append(_group_query("inverse", said))
        arms += [Query.load("plain_values").bind(entity=terms)] if is_read else []
        return union_of([arm.limit(bound + 1) for arm in arms])

    size = max(1, (MAX_ARMS - 2) * graph.chunk_size // (len(named) + len(_PREDICATES)))
    asked = batched_select(
        graph, query_of, known, key_of=lambda s: s["entity"], chunk_size=min(size, graph.chunk_size // 2)
    )
    cuts += [Cut("equivalents and identifiers", len(some), None, str(term)) for term, some in asked.over.items()]
    for solution in asked.seen:
        way, far = far_end(solution)
        term, predicate = solution["entity"], solution["predicate"]
        if not isinstance(term, IRI) or not isinstance(predicate, IRI) or not isinstance(far, IRI | Literal):
            continue
        hop = hop_of(term, predicate, far, way)
        if predicate in _PREDICATES and isinstance(far, IRI):
            said.append(Same(term, far, Path(term, (hop,))))
        elif predicate in identifiers.predicates and way == "forward":
            held.setdefault(term, {})[predicate, far] = hop
    return said, held, cuts


def _group_query(way: Direction, pairs: Sequence[tuple[IRI, IRI]]) -> Query:
    return Query.load(f"group_{way}").bind_rows(("entity", "predicate"), pairs)


def _pairs_by_identifier(
    graph: KnowledgeGraph, known: Sequence[IRI], held: _Held, identifiers: Identifiers, cuts: list[Cut]
) -> Iterator[Same]:
    made: dict[Identifier, list[tuple[IRI, Formatter]]] = {}
    for term in known:
        for identifier, formatter in identifiers.identifiers_of(term):
            made.setdefault(identifier, []).append((term, formatter))
    each = [sorted(held.get(term, ()), key=lambda one: (one[0].value, order_key(one[1]))) for term in known]
    wanted = list(dict.fromkeys([*made, *(one for turn in zip_longest(*each) for one in turn if one is not None)]))
    if len(wanted) > MAX_IDENTIFIERS:
        cuts.append(Cut("identifiers", MAX_IDENTIFIERS, len(wanted)))
        wanted = wanted[:MAX_IDENTIFIERS]
    holders = _holders_of(graph, wanted)
    for identifier in (one for one in wanted if one in holders):
        theirs = {other: Hop(Triple(other, *identifier)) for other in sorted(holders[identifier], key=str)}
        for term in (term for term in known if identifier in held.get(term, {})):
            own = held[term][identifier]
            yield from (Same(term, other, Path(term, (own, hop.reversed))) for other, hop in theirs.items())
            yield from (Same(term, other, Path(term, (own,)), by) for other, by in identifiers.iris_of(identifier))
        for term, formatter in made.get(identifier, ()):
            yield from (Same(term, other, Path(other, (hop,)), formatter) for other, hop in theirs.items())


def _holders_of(graph: KnowledgeGraph, wanted: Sequence[Identifier]) -> dict[Identifier, set[IRI]]:
    """Find who has each identifier, but for those that several things of one graph have."""
    query, size = Query.load("identified"), graph.chunk_size

    def query_of(chunk: Sequence[Identifier], _: int) -> Query:
        parts = [chunk[at : at + size] for at in range(0, len(chunk), size)]
        return union_of([query.bind_rows(("predicate", "object"), part) for part in parts])

    asked = batched_select(
        graph, query_of, wanted, key_of=_identifier_of, weight=lambda s: int(_literal_value(s, "entities")),
        chunk_size=MAX_IDENTIFIERS,
    )  # fmt: skip
    shared = {*asked.over, *(_identifier_of(s) for s in asked.solutions if _literal_value(s, "entities") != "1")}
    holders: dict[Identifier, set[IRI]] = {}
    for solution in asked.solutions:
        identifier = _identifier_of(solution)
        if identifier not in shared:
            try:
                holders.setdefault(identifier, set()).add(iri(_literal_value(solution, "iri")))
            except IriError:
                continue  # a server may hold what is none; no triple with it could be cited
    return holders


def _identifier_of(solution: Solution) -> Identifier:
    return solution["predicate"], solution["object"]  # type: ignore[return-value]


def _literal_value(solution: Solution, name: str) -> str:
    term = solution.get(name)
    return term.value if isinstance(term, Literal) else ""


def same_items(pairs: Sequence[Same], labels: Mapping[Term, str]) -> list[EvidenceItem]:
    """Make an item of evidence for each pair: the triples that say it."""
    items = []
    for same in pairs:
        ways = {hop.triple: hop.direction for hop in same.path.hops}
        items.append(
            EvidenceItem(
                kind="path",
                text=_item_text(same, labels),
                triples=tuple(CitedTriple(triple, ways.get(triple, "forward")) for triple in same.triples),
                query=lookup(same.triples),
                path=same.path,
                ways=() if same.formatter is None else (same.path,),
            )
        )
    return items


def _item_text(same: Same, labels: Mapping[Term, str]) -> str:
    text = path_text(same.path, labels)
    if same.formatter is None:
        return text
    other = same.other if same.path.start == same.term else same.term
    pattern, name = same.formatter.stated.object, labels.get(other) or str(other)
    return f"{text}, by {printable(labels.get(pattern) or str(pattern), 120)} the same as {printable(name, 120)}"


def resting_on(markers: Sequence[str], evidence: Evidence, pairs: Sequence[Same]) -> tuple[str, ...]:
    """Add the markers of the items that say why an equivalent is the same as what was asked about."""
    said = {frozenset(cited.triple for cited in item.triples): item.marker for item in evidence}
    cited = [c.triple for marker in markers if marker in evidence for c in evidence[marker].triples]
    terms = {term for triple in cited for term in (triple.subject, triple.object)}
    more = [m for same in pairs if (m := said.get(frozenset(same.triples))) and same.other in terms]
    return tuple(dict.fromkeys((*markers, *more)))
