"""An answer as RDF: PROV-O and schema.org, with the evidence as plain triples in a graph of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pyoxigraph
from pyoxigraph import DefaultGraph, Quad, RdfFormat

from kgsparql.answer import Answer
from kgsparql.evidence import Evidence, EvidenceItem, Excerpt, TextMention
from kgsparql.terms import IRI, BlankNode, Literal

__all__ = ["answer_to_trig"]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SCHEMA = "http://schema.org/"
_PROV = "http://www.w3.org/ns/prov#"
_SH = "http://www.w3.org/ns/shacl#"
_KGS = "https://w3id.org/kgsparql#"
_NIF = "http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#"
_ITSRDF = "http://www.w3.org/2005/11/its/rdf#"
_XSD = "http://www.w3.org/2001/XMLSchema#"

_PREFIXES = {"rdf": _RDF, "schema": _SCHEMA, "prov": _PROV, "sh": _SH, "kgs": _KGS, "xsd": _XSD}
_TEXT_PREFIXES = {"nif": _NIF, "itsrdf": _ITSRDF}
_A = IRI(_RDF + "type")


def answer_to_trig(answer: Answer) -> str:
    """The answer as TriG: the default graph says what was asked, answered and why; ``…#evidence`` holds the triples.

    The same answer gives the same IRIs.
    """
    has_texts = any(item.excerpt is not None for item in answer.evidence)
    prefixes = {**_PREFIXES, **(_TEXT_PREFIXES if has_texts else {})}
    data = pyoxigraph.serialize(_quads(answer), format=RdfFormat.TRIG, prefixes=prefixes)
    return (data or b"").decode("utf-8")


def _quads(answer: Answer) -> Iterator[Quad]:
    text = "\n".join(
        [
            answer.question,
            answer.retriever,
            answer.text,
            *(item.query.text or item.sourced_text for item in answer.evidence),
        ]
    )
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
    yield from _document_quads(run, answer.evidence)


def _item_quads(node: IRI, item: EvidenceItem) -> Iterator[Quad]:
    default = DefaultGraph()
    kind = {"path": "EvidencePath", "neighbours": "EvidenceNeighbours", "passage": "EvidencePassage"}[item.kind]
    yield Quad(node, _A, IRI(_KGS + kind), default)
    if item.query.text:
        yield Quad(node, _A, IRI(_SH + "SPARQLSelectExecutable"), default)
    yield Quad(node, IRI(_KGS + "marker"), Literal(item.marker), default)
    yield Quad(node, IRI(_SCHEMA + "text"), Literal(item.text), default)
    yield Quad(node, IRI(_KGS + "score"), Literal(str(round(item.score, 4)), datatype=IRI(_XSD + "double")), default)
    if item.query.text:
        yield Quad(node, IRI(_SH + "select"), Literal(item.query.text), default)


def _document_quads(run: str, evidence: Evidence) -> Iterator[Quad]:
    """The documents of the passages, and what these mention: a NIF context for each document, or page, with offsets."""
    default = DefaultGraph()
    contexts: dict[tuple[str, int | None], IRI] = {}
    for item in evidence:
        excerpt = item.excerpt
        if excerpt is None:
            continue
        known = (excerpt.document, excerpt.page)
        if known not in contexts:
            contexts[known] = context = IRI(f"{run}#D{len(contexts) + 1}")
            yield Quad(context, _A, IRI(_NIF + "Context"), default)
            yield Quad(context, _A, IRI(_SCHEMA + "DigitalDocument"), default)
            yield Quad(context, IRI(_SCHEMA + "name"), Literal(excerpt.document), default)
            if excerpt.page is not None:
                yield Quad(context, IRI(_SCHEMA + "pagination"), Literal(str(excerpt.page)), default)
        yield from _string_quads(IRI(f"{run}#{item.marker}"), contexts[known], item.text, excerpt, "String")
        yield Quad(IRI(f"{run}#{item.marker}"), IRI(_SCHEMA + "isPartOf"), contexts[known], default)
        yield from _mention_quads(f"{run}#{item.marker}", contexts[known], item.text, excerpt)


def _mention_quads(passage: str, context: IRI, text: str, excerpt: Excerpt) -> Iterator[Quad]:
    default = DefaultGraph()
    spans: dict[tuple[int, int], IRI] = {}
    for mention in excerpt.mentions:
        yield Quad(IRI(passage), IRI(_SCHEMA + "mentions"), mention.term, default)
        span = (mention.start, mention.end)
        if span not in spans:
            spans[span] = phrase = IRI(f"{passage}_{mention.start}_{mention.end}")
            said = text[mention.start - excerpt.start : mention.end - excerpt.start]
            yield from _string_quads(phrase, context, said, mention, "Phrase")
        yield Quad(spans[span], IRI(_ITSRDF + "taIdentRef"), mention.term, default)


def _string_quads(node: IRI, context: IRI, text: str, place: Excerpt | TextMention, kind: str) -> Iterator[Quad]:
    """A part of a document, by its characters there."""
    default, count = DefaultGraph(), IRI(_XSD + "nonNegativeInteger")
    yield Quad(node, _A, IRI(_NIF + kind), default)
    yield Quad(node, IRI(_NIF + "referenceContext"), context, default)
    yield Quad(node, IRI(_NIF + "beginIndex"), Literal(str(place.start), datatype=count), default)
    yield Quad(node, IRI(_NIF + "endIndex"), Literal(str(place.end), datatype=count), default)
    yield Quad(node, IRI(_NIF + "anchorOf"), Literal(text), default)
