"""An answer as a nanopublication: what is asserted, where it is from, and who published it. It is not signed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.metadata import version

import pyoxigraph
from pyoxigraph import Quad, RdfFormat

from kgsparql.answering.answer import Answer
from kgsparql.errors import NotFoundError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, PrefixMap, Term, Triple

_PREFIXES = {
    "np": "http://www.nanopub.org/nschema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "schema": "http://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "kgs": "https://w3id.org/kgsparql#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_iri = PrefixMap(_PREFIXES).expand


def answer_to_nanopub(answer: Answer, *, at: str = "") -> str:
    """The answer as a nanopublication in TriG: head, assertion, provenance and publication info, each a graph.

    The assertion is the cited triples and, where something was computed, its value, as that of the question. Triples
    with a blank node are left out: a nanopublication has none.

    :param at: when it was given, as an ``xsd:dateTime``; left out where it is empty.
    :raises NotFoundError: for an answer that the graph does not carry: there is nothing to assert.
    """
    cited = dict.fromkeys(t.triple for marker in answer.cited for t in answer.evidence[marker].triples)
    triples = [triple for triple in cited if not any(isinstance(term, BlankNode | Triple) for term in triple)]
    values = _values(answer)
    if answer.status not in {"answered", "partial"} or not (triples or values):
        raise NotFoundError(
            "nothing in the graph carries this answer, so there is nothing to publish",
            hint="-f trig writes any answer, with why it is none",
        )
    text = "\n".join([answer.question, answer.text, *map(str, triples), at])
    made = _Nanopub(f"urn:kgsparql:np:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}")
    quads = [
        *made.head(),
        *made.assertion(triples, values),
        *made.provenance(answer, at),
        *made.publication(answer, at),
    ]
    return (pyoxigraph.serialize(quads, format=RdfFormat.TRIG, prefixes=_PREFIXES) or b"").decode("utf-8")


def _values(answer: Answer) -> list[Term]:
    """What was computed, if the answer rests on it."""
    computed = answer.computed
    if computed is None or not any(answer.evidence[marker].kind == "computed" for marker in answer.cited):
        return []
    found = computed.items if computed.value is None else (computed.value,)
    return [value for value in found if not isinstance(value, BlankNode)]


class _Nanopub:
    """The four graphs; their names and those of what they are about begin with that of the nanopublication."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._of_question, self._activity, self._software = map(self._part, ("question", "activity", "software"))

    def _part(self, name: str) -> IRI:
        return IRI(f"{self._name}#{name}")

    def _quad(self, subject: IRI, name: str, value: Term | str, graph: str) -> Quad:
        return Quad(subject, _iri(name), Literal(value) if isinstance(value, str) else value, self._part(graph))

    def head(self) -> Iterator[Quad]:
        """What the nanopublication consists of."""
        own = IRI(self._name)
        yield self._quad(own, "rdf:type", _iri("np:Nanopublication"), "head")
        yield self._quad(own, "np:hasAssertion", self._part("assertion"), "head")
        yield self._quad(own, "np:hasProvenance", self._part("provenance"), "head")
        yield self._quad(own, "np:hasPublicationInfo", self._part("pubinfo"), "head")

    def assertion(self, triples: list[Triple], values: list[Term]) -> Iterator[Quad]:
        """What is said."""
        for triple in triples:
            yield Quad(triple.subject, triple.predicate, triple.object, self._part("assertion"))
        for value in values:
            yield self._quad(self._of_question, "schema:value", value, "assertion")

    def provenance(self, answer: Answer, at: str) -> Iterator[Quad]:
        """Where it is from: the graphs, the question, and the queries that find it again."""
        asserted = self._part("assertion")
        yield self._quad(asserted, "prov:wasGeneratedBy", self._activity, "provenance")
        yield self._quad(self._activity, "rdf:type", _iri("prov:Activity"), "provenance")
        yield self._quad(self._activity, "prov:wasAssociatedWith", self._software, "provenance")
        yield self._quad(self._activity, "prov:used", self._of_question, "provenance")
        yield self._quad(self._of_question, "rdf:type", _iri("prov:Entity"), "provenance")
        yield self._quad(self._of_question, "schema:text", answer.question, "provenance")
        if at:
            ended = Literal(at, datatype=_iri("xsd:dateTime"))
            yield self._quad(self._activity, "prov:endedAtTime", ended, "provenance")
        for number, name in enumerate(answer.graphs, 1):
            graph = self._part(f"G{number}")
            yield self._quad(asserted, "prov:wasDerivedFrom", graph, "provenance")
            yield self._quad(graph, "rdf:type", _iri("prov:Entity"), "provenance")
            yield self._quad(graph, "schema:name", name, "provenance")
        for marker in answer.cited:
            query = answer.evidence[marker].query
            if query.text:
                node = self._part(marker)
                yield self._quad(self._activity, "prov:used", node, "provenance")
                yield self._quad(node, "rdf:type", _iri("sh:SPARQLSelectExecutable"), "provenance")
                yield self._quad(node, "kgs:marker", marker, "provenance")
                yield self._quad(node, "sh:select", query.shown, "provenance")

    def publication(self, answer: Answer, at: str) -> Iterator[Quad]:
        """Who made the nanopublication itself, and when."""
        own = IRI(self._name)
        yield self._quad(own, "rdfs:label", answer.question, "pubinfo")
        yield self._quad(own, "prov:wasAttributedTo", self._software, "pubinfo")
        yield self._quad(own, "dct:creator", self._software, "pubinfo")
        if at:
            yield self._quad(own, "dct:created", Literal(at, datatype=_iri("xsd:dateTime")), "pubinfo")
        yield self._quad(self._software, "rdf:type", _iri("prov:SoftwareAgent"), "pubinfo")
        yield self._quad(self._software, "schema:name", "kgsparql", "pubinfo")
        yield self._quad(self._software, "schema:softwareVersion", version("kgsparql"), "pubinfo")
        if answer.model:
            model = self._part("model")
            yield self._quad(self._activity, "prov:wasAssociatedWith", model, "pubinfo")
            yield self._quad(model, "rdf:type", _iri("prov:SoftwareAgent"), "pubinfo")
            yield self._quad(model, "schema:name", answer.model, "pubinfo")
