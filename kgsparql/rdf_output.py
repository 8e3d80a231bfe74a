"""An answer as RDF: PROV-O and schema.org, with the evidence as plain triples in a graph of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pyoxigraph
from pyoxigraph import DefaultGraph, Quad, RdfFormat

from kgsparql.answer import Answer
from kgsparql.evidence import EvidenceItem
from kgsparql.terms import IRI, BlankNode, Literal

__all__ = ["answer_to_trig"]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SCHEMA = "http://schema.org/"
_PROV = "http://www.w3.org/ns/prov#"
_SH = "http://www.w3.org/ns/shacl#"
_KGS = "https://w3id.org/kgsparql#"
_XSD = "http://www.w3.org/2001/XMLSchema#"

_PREFIXES = {"rdf": _RDF, "schema": _SCHEMA, "prov": _PROV, "sh": _SH, "kgs": _KGS, "xsd": _XSD}
_A = IRI(_RDF + "type")


def answer_to_trig(answer: Answer) -> str:
    """The answer as TriG: the default graph says what was asked, answered and why; ``…#evidence`` holds the triples.

    The same answer gives the same IRIs.
    """
    data = pyoxigraph.serialize(_quads(answer), format=RdfFormat.TRIG, prefixes=_PREFIXES)
    return (data or b"").decode("utf-8")


def _quads(answer: Answer) -> Iterator[Quad]:
    text = "\n".join([answer.question, answer.retriever, answer.text, *(item.query.text for item in answer.evidence)])
    run = f"urn:kgsparql:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"
    question, given, evidence = IRI(run + "#question"), IRI(run + "#answer"), IRI(run + "#evidence")
    default = DefaultGraph()
    rows: list[tuple[IRI, IRI, IRI | Literal]] = [
        (question, _A, IRI(_SCHEMA + "Question")),
        (question, IRI(_SCHEMA + "text"), Literal(answer.question)),
        (question, IRI(_SCHEMA + "acceptedAnswer"), given),
        (given, _A, IRI(_SCHEMA + "Answer")),
        (given, IRI(_SCHEMA + "text"), Literal(answer.text)),
        (given, IRI(_KGS + "status"), Literal(answer.status)),
        (given, IRI(_PROV + "wasDerivedFrom"), evidence),
    ]
    for subject, predicate, object_ in rows:
        yield Quad(subject, predicate, object_, default)
    for term in answer.answers:
        if not isinstance(term.term, BlankNode):
            yield Quad(given, IRI(_SCHEMA + "about"), term.term, default)
    for item in answer.evidence:
        node = IRI(f"{run}#{item.marker}")
        yield Quad(given, IRI(_SCHEMA + "citation"), node, default)
        yield from _item_quads(node, item)
        for cited in item.triples:
            yield Quad(cited.triple.subject, cited.triple.predicate, cited.triple.object, evidence)


def _item_quads(node: IRI, item: EvidenceItem) -> Iterator[Quad]:
    default = DefaultGraph()
    kind = {"path": "EvidencePath", "neighbours": "EvidenceNeighbours", "passage": "EvidencePassage"}[item.kind]
    yield Quad(node, _A, IRI(_KGS + kind), default)
    yield Quad(node, _A, IRI(_SH + "SPARQLSelectExecutable"), default)
    yield Quad(node, IRI(_KGS + "marker"), Literal(item.marker), default)
    yield Quad(node, IRI(_SCHEMA + "text"), Literal(item.text), default)
    yield Quad(node, IRI(_KGS + "score"), Literal(str(round(item.score, 4)), datatype=IRI(_XSD + "double")), default)
    yield Quad(node, IRI(_SH + "select"), Literal(item.query.text), default)
