"""An answer as RDF: PROV-O and schema.org, with the evidence as plain triples in a graph of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pyoxigraph
from pyoxigraph import DefaultGraph, Quad, RdfFormat

from kgsparql.answering.answer import Answer
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.linking.passages.documents import Excerpt, TextMention
from kgsparql.rdf.terms import IRI, BlankNode, Literal
from kgsparql.rdf.vocabulary import RDF_TYPE

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


def answer_to_trig(answer: Answer) -> str:
    """The answer as TriG: the default graph says what was asked, answered and why.

    ``…#evidence`` holds the triples the answer cites, ``…#retrieved`` what else was found on the way: only the first
    are what it is derived from. What a model says from memory is derived from nothing. ``ontologies/shapes.ttl`` says
    what is always there. The same answer gives the same IRIs.
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
            answer.model,
            answer.text,
            *(item.query.text or item.sourced_text for item in answer.evidence),
        ]
    )
    run = f"urn:kgsparql:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"
    question, given = IRI(run + "#question"), IRI(run + "#answer")
    yield from _answer_quads(answer, run, question, given)
    cited = frozenset(answer.cited)
    for item in answer.evidence:
        node = IRI(f"{run}#{item.marker}")
        is_cited = item.marker in cited
        link = IRI(_SCHEMA + "citation") if is_cited else IRI(_KGS + "retrieved")
        yield Quad(given, link, node, DefaultGraph())
        yield from _item_quads(node, item)
    for part in ("evidence", "retrieved"):  # each graph in one piece
        graph = IRI(f"{run}#{part}")
        items = [item for item in answer.evidence if (item.marker in cited) == (part == "evidence")]
        for triple in dict.fromkeys(t.triple for item in items for t in item.triples):
            yield Quad(triple.subject, triple.predicate, triple.object, graph)
    yield from _document_quads(run, answer.evidence)


def _answer_quads(answer: Answer, run: str, question: IRI, given: IRI) -> Iterator[Quad]:
    default = DefaultGraph()
    rows: list[tuple[IRI, IRI, IRI | Literal]] = [
        (question, RDF_TYPE, IRI(_SCHEMA + "Question")),
        (question, IRI(_SCHEMA + "text"), Literal(answer.question)),
        (given, RDF_TYPE, IRI(_SCHEMA + "Answer")),
        (given, IRI(_SCHEMA + "parentItem"), question),
        (given, IRI(_SCHEMA + "text"), Literal(answer.text)),
        (given, IRI(_KGS + "status"), Literal(answer.status)),
        (given, IRI(_KGS + "grounding"), Literal(answer.grounding)),
    ]
    if answer.status == "answered" or (answer.status == "partial" and answer.cited):
        rows.append((question, IRI(_SCHEMA + "acceptedAnswer"), given))
    if any(answer.evidence[marker].triples for marker in answer.cited):
        rows.append((given, IRI(_PROV + "wasDerivedFrom"), IRI(run + "#evidence")))
    if answer.model and answer.error is None and answer.status in {"answered", "partial"}:
        writer = IRI(run + "#model")
        rows += [
            (given, IRI(_PROV + "wasAttributedTo"), writer),
            (writer, RDF_TYPE, IRI(_PROV + "SoftwareAgent")),
            (writer, IRI(_SCHEMA + "name"), Literal(answer.model)),
        ]
    for subject, predicate, object_ in rows:
        yield Quad(subject, predicate, object_, default)
    for term in answer.answers:
        if not isinstance(term.term, BlankNode):
            yield Quad(given, IRI(_SCHEMA + "about"), term.term, default)


def _item_quads(node: IRI, item: EvidenceItem) -> Iterator[Quad]:
    default = DefaultGraph()
    kind = {"path": "EvidencePath", "neighbours": "EvidenceNeighbours", "passage": "EvidencePassage"}[item.kind]
    yield Quad(node, RDF_TYPE, IRI(_KGS + kind), default)
    if item.query.text:
        yield Quad(node, RDF_TYPE, IRI(_SH + "SPARQLSelectExecutable"), default)
    yield Quad(node, IRI(_KGS + "marker"), Literal(item.marker), default)
    yield Quad(node, IRI(_SCHEMA + "text"), Literal(item.text), default)
    yield Quad(node, IRI(_KGS + "score"), Literal(str(round(item.score, 4)), datatype=IRI(_XSD + "double")), default)
    if item.query.text:
        yield Quad(node, IRI(_SH + "select"), Literal(item.query.shown), default)
    for i, own in enumerate(item.queries, 1):
        part = IRI(f"{node.value}-{i}")
        yield Quad(node, IRI(_KGS + "sourceQuery"), part, default)
        yield Quad(part, RDF_TYPE, IRI(_SH + "SPARQLSelectExecutable"), default)
        yield Quad(part, IRI(_SCHEMA + "name"), Literal(own.source), default)
        yield Quad(part, IRI(_SH + "select"), Literal(own.query.shown), default)


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
            yield Quad(context, RDF_TYPE, IRI(_NIF + "Context"), default)
            yield Quad(context, RDF_TYPE, IRI(_SCHEMA + "DigitalDocument"), default)
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
    default, count = DefaultGraph(), IRI(_XSD + "nonNegativeInteger")
    yield Quad(node, RDF_TYPE, IRI(_NIF + kind), default)
    yield Quad(node, IRI(_NIF + "referenceContext"), context, default)
    yield Quad(node, IRI(_NIF + "beginIndex"), Literal(str(place.start), datatype=count), default)
    yield Quad(node, IRI(_NIF + "endIndex"), Literal(str(place.end), datatype=count), default)
    yield Quad(node, IRI(_NIF + "anchorOf"), Literal(text), default)
