"""The predicates at some entities with counts, and what a whole graph holds: counted, and described as RDF.

The description is VoID and the SPARQL 1.1 service description.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import PurePath
from typing import Any

import pyoxigraph as ox

from kgsparql.errors import GRAPH_FAILED, EndpointError, InputError, QueryError, StoreError
from kgsparql.exploration.batched_select import (
    Found,
    PredicateCount,
    batched_select,
    entities_of,
    skipped_in,
    skipping,
    union_of,
)
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.endpoint import endpoint_json
from kgsparql.graphs.graph import KnowledgeGraph, Solution, Solutions
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Directions, Step, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, Triple, iri, parse_term, whole_number
from kgsparql.rdf.vocabulary import UNWALKED
from kgsparql.resources import cache_directory
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

Labels = Callable[[Iterable[Term]], dict[Term, str]]

COUNTED = 200_000
"""Triples that one counting query looks at (60 ms); where there are more, a count is a lower bound."""

COUNTS = "counts"
"""The kind of exchange that counts over whole graphs are kept as."""
_KEPT_S = 0.2
"""A count that took less is not kept."""
_MAX_KEPT_BYTES = 20_000_000

_COUNT_S = 20.0
"""Seconds for each count at a public endpoint."""


def predicates(
    graph: KnowledgeGraph, entities: Iterable[Term], *, direction: Directions = "both", skip: Iterable[IRI] = UNWALKED
) -> Found[PredicateCount]:
    """Count the predicates at each entity, with the number of distinct neighbours that each leads to.

    One query for a chunk of entities. Entities are in the order given, the steps of each in lexical order.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    skipped = skipped_in(graph, skip)
    arms = [skipping(Query.load(f"counts_{way}"), "predicate", skipped) for way in directions(direction)]
    batched = batched_select(
        graph,
        lambda chunk, _: union_of([arm.bind(entity=chunk) for arm in arms]),
        starts,
        key_of=lambda solution: solution["entity"],
        bound=COUNTED,
        weight=lambda solution: whole_number(solution["solutions"]),
    )
    counts: dict[Term, list[PredicateCount]] = {entity: [] for entity in starts}
    for solutions, exact in ((batched.solutions, True), *((some, False) for some in batched.over.values())):
        for solution in solutions:
            if isinstance(solution["predicate"], IRI):
                counts[solution["entity"]].append(_count_of_solution(solution, exact=exact))
    cuts = (Cut("predicates", len(some), None, str(entity)) for entity, some in batched.over.items())
    ordered = [count for entity in starts for count in sorted(counts[entity], key=_sort_key)]
    return Found(tuple(ordered), tuple(cuts))


def predicate_counts(graph: KnowledgeGraph) -> dict[IRI, int]:
    """Count the triples of each predicate of a graph, the commonest first, then in lexical order.

    A triple that is in several named graphs counts once.
    """
    kind = "_distinct" if graph.may_repeat_triples else ""
    return _predicate_counts(counted(graph, Query.load(f"index_predicates{kind}")))


def counted(
    graph: KnowledgeGraph,
    query: Query,
    select: Callable[[Query], Solutions] | None = None,
    *,
    note: Callable[[str], None] = lambda _: None,
) -> Solutions:
    """Select what a query finds that reads a whole graph; of a file or store, as it was counted before.

    Ten million triples take 7 s. Of two processes at once both count, and one of the two equal results stays.

    :param select: runs the query, if not the graph itself: within the time of a question, say.
    :param note: takes a line if what took long to count cannot be kept.
    """
    run = select or graph.select
    if not graph.is_as_loaded:
        return run(query)
    request = {"graph": graph.fingerprint, "query": query.text}
    with ResponseCache(cache_directory() / RESPONSE_FILE) as cache:
        if (kept := _kept_count(cache, request)) is not None:
            return kept
        began = time.perf_counter()
        found = run(query)
        if found.complete and time.perf_counter() - began >= _KEPT_S:
            rows = [{name: str(term) for name, term in solution.items()} for solution in found]
            try:
                cache.put(COUNTS, request, {"variables": found.variables, "rows": rows})
                cache.prune(COUNTS, at_most_s=math.inf, most_bytes=_MAX_KEPT_BYTES)
            except StoreError as error:
                note(
                    f"{graph.name}: counted anew each time, since nothing can be kept in {cache_directory()}: "
                    f"{error.message} (KGSPARQL_CACHE_DIR names another place)"
                )
    return found


def _kept_count(cache: ResponseCache, request: Mapping[str, str]) -> Solutions | None:
    """Find what was counted before; ``None`` where it is not kept or damaged: then it is counted again."""
    try:
        kept = cache.lookup(COUNTS, request)
        if kept is None:
            return None
        rows = tuple({name: parse_term(term) for name, term in row.items()} for row in kept["rows"])
        return Solutions(tuple(kept["variables"]), rows)
    except (StoreError, InputError, LookupError, TypeError, AttributeError):
        return None


def _predicate_counts(solutions: Solutions) -> dict[IRI, int]:
    counts = {p: whole_number(s["triples"]) for s in solutions if isinstance(p := s["predicate"], IRI)}
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].value)))


def step_key(step: Step) -> tuple[str, str]:
    """Return the key that lists of steps are sorted by."""
    return step.predicate.value, step.direction


def _count_of_solution(solution: Solution, *, exact: bool) -> PredicateCount:
    way: Direction = "forward" if "forward" in solution else "inverse"
    predicate, entity = solution["predicate"], solution["entity"]
    return PredicateCount(entity, Step(predicate, way), whole_number(solution[way]), exact)  # type: ignore[arg-type]


def _sort_key(count: PredicateCount) -> tuple[str, str]:
    return count.step.predicate.value, count.step.direction


def graph_info(
    graph: KnowledgeGraph,
    labels: Labels,
    prefixes: PrefixMap,
    *,
    shown: int,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Count sources, triples, named graphs, commonest classes and predicates, as a JSON object.

    A triple that is in several named graphs counts once. ``missing`` says what an endpoint could not count, and why;
    ``endpoint`` says what is known of it.

    :param shown: how many named graphs, classes and predicates; ``cuts`` says where there are more.
    :param note: takes a line for what a person should know.
    :raises UnreachableError: for an endpoint that does not reply at all.
    """
    counter = _Counter(graph, labels, prefixes, note)
    if graph.is_remote:
        graph.select(Query.load("any"))  # an unreachable endpoint is an error, not a list of missing counts
    kind = "_distinct" if counter.may_repeat_triples else ""
    triples, predicates = counter.triples_and_predicates(kind, shown + 1)
    named, graphs = counter.named_graphs(shown + 1)
    classes = counter.counts("classes", Query.load("info_classes").limit(shown + 1))
    commonest = {"classes": counter.described("classes", classes), "predicates": predicates}
    cuts = []
    if len(named) > shown:
        cuts.append(Cut("named graphs", shown, graphs))
    cuts += [Cut(what, shown) for what, rows in commonest.items() if len(rows) > shown]
    return {
        "name": graph.name,
        "triples": triples,
        "sources": [asdict(source) for source in graph.stored],
        "named_graphs": named[:shown],
        **{what: rows[:shown] for what, rows in commonest.items()},
        "cuts": [str(cut) for cut in cuts],
        "missing": counter.missing,
        **({"endpoint": endpoint_json(graph)} if isinstance(graph, EndpointGraph) else {}),
    }


@dataclass(slots=True)
class _Counter:
    """Counts in a graph."""

    graph: KnowledgeGraph
    labels: Labels
    prefixes: PrefixMap
    note: Callable[[str], None]
    missing: dict[str, str] = field(default_factory=dict)
    noted: set[str] = field(default_factory=set)

    @property
    def may_repeat_triples(self) -> bool:
        try:
            return self.graph.may_repeat_triples
        except GRAPH_FAILED as error:
            self._note_missing("named graphs", error)
            return False

    def number(self, what: str, query: Query) -> int | None:
        solutions = self._select_or_miss(what, query)
        return whole_number(solutions[0]["count"]) if solutions else None

    def triples_and_predicates(self, kind: str, most: int) -> tuple[int | None, list[dict[str, Any]]]:
        """Count the triples, and the commonest predicates: of a graph in this process, all from one query."""
        if self.graph.is_embedded:
            counts = _predicate_counts(self._select_or_miss("predicates", Query.load(f"index_predicates{kind}")))
            return sum(counts.values()), self.described("predicates", list(counts.items())[:most])
        triples = self.number("triples", Query.load(f"info_triples{kind}"))
        commonest = self.counts("predicates", Query.load(f"info_predicates{kind}").limit(most))
        return triples, self.described("predicates", commonest)

    def named_graphs(self, most: int) -> tuple[list[str], int | None]:
        """Find the names of some named graphs, and the number of all where there are as many.

        No query is sent to a graph that has none.
        """
        if (own := self.graph.named_graphs()) is not None:
            return [str(name) for name in own[:most]], len(own)
        if "named graphs" in self.missing:
            return [], None
        named = [str(s["graph"]) for s in self._select_or_miss("named graphs", Query.load("info_graphs").limit(most))]
        more = len(named) == most
        return named, self.number("named graphs", Query.load("info_graph_count")) if more else len(named)

    def counts(self, what: str, query: Query) -> list[tuple[Term, int]]:
        return [(solution["term"], whole_number(solution["count"])) for solution in self._select_or_miss(what, query)]

    def described(self, what: str, counts: Sequence[tuple[Term, int]]) -> list[dict[str, Any]]:
        """Terms with their counts, CURIEs and labels."""
        try:
            named = self.labels([term for term, _ in counts])
        except GRAPH_FAILED as error:
            self._note_missing(f"labels of {what}", error, "read")
            named = {}
        return [
            {
                "term": str(term),
                "curie": self.prefixes.compress(term) if isinstance(term, IRI) else str(term),
                "label": named.get(term, ""),
                "count": count,
            }
            for term, count in counts
        ]

    def _select_or_miss(self, what: str, query: Query) -> Solutions:
        try:
            if self.graph.profile.is_public:
                found = self.graph.select_within(query, timeout_s=_COUNT_S)
            else:
                found = counted(self.graph, query, note=self._note_once)
        except GRAPH_FAILED as error:
            self._note_missing(what, error)
            return Solutions()
        if not found.complete:  # of a count that was cut short, the number is wrong
            self.missing[what] = "not counted: the endpoint cut the result"
            return Solutions()
        return found

    def _note_once(self, line: str) -> None:
        if line not in self.noted:
            self.noted.add(line)
            self.note(line)

    def _note_missing(self, what: str, error: EndpointError | QueryError, done: str = "counted") -> None:
        """Note what an endpoint could not do; for a graph on this machine it is an error."""
        if not self.graph.is_remote:
            raise error
        self.missing[what] = f"not {done}: the endpoint gave up ({error.message})"


PARTITIONS = 500
"""The most classes, predicates and named graphs that are described, the commonest first."""

_COUNTED = 10_000_000
"""Triples up to which distinct subjects and objects are counted: the engine holds in memory all that it has seen."""

_PREFIXES = {
    "dcterms": "http://purl.org/dc/terms/",
    "formats": "http://www.w3.org/ns/formats/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "void": "http://rdfs.org/ns/void#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_iri = PrefixMap(_PREFIXES).expand
_RESULT_FORMATS = (
    "SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
    "Turtle", "TriG", "N-Triples", "JSON-LD", "RDF_XML",
)  # fmt: skip
"""Those that kgsparql's own endpoint writes."""

_NAMESPACE = re.compile(r"(.*[#/:])[^#/:]+\Z")


def void_triples(
    graph: KnowledgeGraph, *, served_at: str = "", note: Callable[[str], None] = lambda _: None
) -> list[Triple]:
    """Describe a graph as a ``void:Dataset`` with what it holds; of an endpoint also the ``sd:Service``.

    What was not counted, or only in part, is not claimed: without all its classes it has no ``void:classes``. The
    same graph has the same IRI. A file is called by its name alone: where it lies concerns nobody else.

    :param served_at: URL of our own endpoint, which answers queries over this graph.
    :param note: takes a line for what is left out.
    :raises UnreachableError: for an endpoint that does not reply at all.
    """
    facts = graph_info(graph, lambda _: {}, PrefixMap({}), shown=PARTITIONS, note=note)
    for what, why in facts["missing"].items():
        note(f"{what} {why}")
    for cut in facts["cuts"]:
        note(f"cut: {cut}")
    endpoint = facts.get("endpoint") or {}
    url = served_at or endpoint.get("url", "")
    dataset = IRI(f"{url}#dataset" if url else f"urn:kgsparql:{graph.fingerprint[:32]}#dataset")
    found = [*_dataset_triples(dataset, facts), *_distinct_terms(dataset, graph, facts["triples"], note)]
    if url:
        found += _triples_about(dataset, ("void:sparqlEndpoint", IRI(url)))
        found += _service_triples(url, facts, has_union=bool(served_at) or endpoint["union_default_graph"] is True)
    if served_at:
        found += _triples_about(
            IRI(f"{url}#service"), *(("sd:resultFormat", _iri(f"formats:{f}")) for f in _RESULT_FORMATS)
        )
    return found


def turtle(triples: Iterable[Triple]) -> str:
    """Write a description as Turtle."""
    return (ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=_PREFIXES) or b"").decode()


def _dataset_triples(dataset: IRI, facts: Mapping[str, Any]) -> Iterator[Triple]:
    classes, predicates = facts["classes"], facts["predicates"]
    name = facts["name"] if "://" in facts["name"] else PurePath(facts["name"]).name
    yield from _triples_about(dataset, ("rdf:type", _iri("void:Dataset")), ("dcterms:title", Literal(name)))
    if facts["triples"] is not None:
        yield from _triples_about(dataset, ("void:triples", _integer_literal(facts["triples"])))
    for what, name, listed in (("classes", "classes", classes), ("predicates", "properties", predicates)):
        if len(listed) < PARTITIONS and what not in facts["missing"]:
            yield from _triples_about(dataset, (f"void:{name}", _integer_literal(len(listed))))
    for name in sorted({name for term in (*classes, *predicates) if (name := _namespace_of(term["term"]))}):
        yield from _triples_about(dataset, ("void:vocabulary", IRI(name)))
    yield from _partition_triples(dataset, "class", "entities", classes)
    yield from _partition_triples(dataset, "property", "triples", predicates)


def _partition_triples(dataset: IRI, kind: str, number: str, listed: Sequence[Mapping[str, Any]]) -> Iterator[Triple]:
    """Describe each class or predicate with its count; the IRI of a partition stays when the counts change."""
    named = [
        (term, iri(term.strip("<>")), entry["count"]) for entry in listed if (term := entry["term"]).startswith("<")
    ]
    parts = {term: IRI(f"{dataset.value}-{kind}-{sha256(term.encode()).hexdigest()[:16]}") for term, _, _ in named}
    yield from _triples_about(dataset, *((f"void:{kind}Partition", part) for part in parts.values()))
    for term, meant, count in named:
        yield from _triples_about(parts[term], (f"void:{kind}", meant), (f"void:{number}", _integer_literal(count)))


def _distinct_terms(
    dataset: IRI, graph: KnowledgeGraph, triples: int | None, note: Callable[[str], None]
) -> Iterator[Triple]:
    """Count the things it is about and the values it gives; of a graph on this machine that is not too large."""
    if not graph.is_embedded:
        return
    if triples is None or triples > _COUNTED:
        note(f"distinct subjects and objects are counted up to {_COUNTED:,} triples")
        return
    for what in ("subjects", "objects"):
        (row,) = counted(graph, Query.load(f"info_{what}"), note=note)
        yield from _triples_about(
            dataset, (f"void:distinct{what.title()}", _integer_literal(whole_number(row["count"])))
        )


def _service_triples(url: str, facts: Mapping[str, Any], *, has_union: bool) -> Iterator[Triple]:
    service, whole, default = (IRI(f"{url}#{part}") for part in ("service", "all-graphs", "default-graph"))
    yield from _triples_about(service, ("rdf:type", _iri("sd:Service")), ("sd:endpoint", IRI(url)))
    yield from _triples_about(service, ("sd:supportedLanguage", _iri("sd:SPARQL11Query")), ("sd:defaultDataset", whole))
    yield from _triples_about(whole, ("rdf:type", _iri("sd:Dataset")))
    if has_union:  # else the default graph may hold less than what was counted
        yield from _triples_about(service, ("sd:feature", _iri("sd:UnionDefaultGraph")))
        yield from _triples_about(whole, ("sd:defaultGraph", default))
        yield from _triples_about(default, ("rdf:type", _iri("sd:Graph")))
        if facts["triples"] is not None:
            yield from _triples_about(default, ("void:triples", _integer_literal(facts["triples"])))
    for name in facts["named_graphs"]:
        if name.startswith("<"):  # a blank node names no graph to anyone else
            part = IRI(f"{url}#graph-{sha256(name.encode()).hexdigest()[:16]}")
            yield from _triples_about(whole, ("sd:namedGraph", part))
            yield from _triples_about(part, ("rdf:type", _iri("sd:NamedGraph")), ("sd:name", iri(name.strip("<>"))))


def _triples_about(node: IRI, *said: tuple[str, Term]) -> Iterator[Triple]:
    for name, value in said:
        yield Triple(node, _iri(name), value)


def _integer_literal(number: int) -> Literal:
    return Literal(str(number), datatype=_iri("xsd:integer"))


def _namespace_of(term: str) -> str:
    """Return what an IRI has before its last part; empty where it has no such part.

    >>> _namespace_of("<http://dbpedia.org/ontology/award>"), _namespace_of("<urn:x>")
    ('http://dbpedia.org/ontology/', '')
    """
    found = _NAMESPACE.fullmatch(term.strip("<>"))
    name = found[1] if found else ""
    return name if "://" in name and not name.endswith("://") else ""
