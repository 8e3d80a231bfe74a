"""What a graph holds, and where it can be asked, as RDF: VoID and the SPARQL 1.1 service description."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import Any

import pyoxigraph as ox

from kgsparql.exploration.counting import counted, graph_info
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, Triple, iri, whole_number

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
    """A graph as a ``void:Dataset`` with what it holds; of an endpoint also the ``sd:Service``.

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
    found = [*_dataset(dataset, facts), *_distinct_terms(dataset, graph, facts["triples"], note)]
    if url:
        found += _about(dataset, ("void:sparqlEndpoint", IRI(url)))
        found += _service(url, facts, has_union=bool(served_at) or endpoint["union_default_graph"] is True)
    if served_at:
        found += _about(IRI(f"{url}#service"), *(("sd:resultFormat", _iri(f"formats:{f}")) for f in _RESULT_FORMATS))
    return found


def turtle(triples: Iterable[Triple]) -> str:
    """A description as Turtle."""
    return (ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=_PREFIXES) or b"").decode()


def _dataset(dataset: IRI, facts: Mapping[str, Any]) -> Iterator[Triple]:
    classes, predicates = facts["classes"], facts["predicates"]
    name = facts["name"] if "://" in facts["name"] else PurePath(facts["name"]).name
    yield from _about(dataset, ("rdf:type", _iri("void:Dataset")), ("dcterms:title", Literal(name)))
    if facts["triples"] is not None:
        yield from _about(dataset, ("void:triples", _integer(facts["triples"])))
    for what, name, listed in (("classes", "classes", classes), ("predicates", "properties", predicates)):
        if len(listed) < PARTITIONS and what not in facts["missing"]:
            yield from _about(dataset, (f"void:{name}", _integer(len(listed))))
    for name in sorted({name for term in (*classes, *predicates) if (name := _namespace(term["term"]))}):
        yield from _about(dataset, ("void:vocabulary", IRI(name)))
    yield from _partitions(dataset, "class", "entities", classes)
    yield from _partitions(dataset, "property", "triples", predicates)


def _partitions(dataset: IRI, kind: str, number: str, listed: Sequence[Mapping[str, Any]]) -> Iterator[Triple]:
    """Each class or predicate with its count; a partition has an IRI that stays the same when the counts change."""
    named = [
        (term, iri(term.strip("<>")), entry["count"]) for entry in listed if (term := entry["term"]).startswith("<")
    ]
    parts = {term: IRI(f"{dataset.value}-{kind}-{sha256(term.encode()).hexdigest()[:16]}") for term, _, _ in named}
    yield from _about(dataset, *((f"void:{kind}Partition", part) for part in parts.values()))
    for term, meant, count in named:
        yield from _about(parts[term], (f"void:{kind}", meant), (f"void:{number}", _integer(count)))


def _distinct_terms(
    dataset: IRI, graph: KnowledgeGraph, triples: int | None, note: Callable[[str], None]
) -> Iterator[Triple]:
    """How many things it is about, and how many values it gives; of a graph on this machine that is not too large."""
    if not graph.is_embedded:
        return
    if triples is None or triples > _COUNTED:
        note(f"distinct subjects and objects are counted up to {_COUNTED:,} triples")
        return
    for what in ("subjects", "objects"):
        (row,) = counted(graph, Query.load(f"info_{what}"), note=note)
        yield from _about(dataset, (f"void:distinct{what.title()}", _integer(whole_number(row["count"]))))


def _service(url: str, facts: Mapping[str, Any], *, has_union: bool) -> Iterator[Triple]:
    service, whole, default = (IRI(f"{url}#{part}") for part in ("service", "all-graphs", "default-graph"))
    yield from _about(service, ("rdf:type", _iri("sd:Service")), ("sd:endpoint", IRI(url)))
    yield from _about(service, ("sd:supportedLanguage", _iri("sd:SPARQL11Query")), ("sd:defaultDataset", whole))
    yield from _about(whole, ("rdf:type", _iri("sd:Dataset")))
    if has_union:  # else the default graph may hold less than what was counted
        yield from _about(service, ("sd:feature", _iri("sd:UnionDefaultGraph")))
        yield from _about(whole, ("sd:defaultGraph", default))
        yield from _about(default, ("rdf:type", _iri("sd:Graph")))
        if facts["triples"] is not None:
            yield from _about(default, ("void:triples", _integer(facts["triples"])))
    for name in facts["named_graphs"]:
        if name.startswith("<"):  # a blank node names no graph to anyone else
            part = IRI(f"{url}#graph-{sha256(name.encode()).hexdigest()[:16]}")
            yield from _about(whole, ("sd:namedGraph", part))
            yield from _about(part, ("rdf:type", _iri("sd:NamedGraph")), ("sd:name", iri(name.strip("<>"))))


def _about(node: IRI, *said: tuple[str, Term]) -> Iterator[Triple]:
    for name, value in said:
        yield Triple(node, _iri(name), value)


def _integer(number: int) -> Literal:
    return Literal(str(number), datatype=_iri("xsd:integer"))


def _namespace(term: str) -> str:
    """What an IRI has before its last part; empty where it has no such part.

    >>> _namespace("<http://dbpedia.org/ontology/award>"), _namespace("<urn:x>")
    ('http://dbpedia.org/ontology/', '')
    """
    found = _NAMESPACE.fullmatch(term.strip("<>"))
    name = found[1] if found else ""
    return name if "://" in name and not name.endswith("://") else ""
