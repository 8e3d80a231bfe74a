"""An answer as RDF: PROV-O and schema.org, with the evidence as plain triples in a graph of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import DefaultGraph, Quad, RdfFormat

from kgsparql.evidence.evidence import Evidence, EvidenceItem, ItemKind
from kgsparql.plans.running import Computed
from kgsparql.rdf.terms import IRI, BlankNode, Literal, PrefixMap, Term

if TYPE_CHECKING:
    import rdflib

    from kgsparql.answering.answer import Answer


_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "schema": "http://schema.org/",
    "prov": "http://www.w3.org/ns/prov#",
    "sh": "http://www.w3.org/ns/shacl#",
    "kgs": "https://w3id.org/kgsparql#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_TEXT_PREFIXES = {"nif": "http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#"}
_iri = PrefixMap({**_PREFIXES, **_TEXT_PREFIXES}).expand

_ITEM_CLASSES: Mapping[ItemKind, str] = {
    "path": "EvidencePath",
    "neighbours": "EvidenceNeighbours",
    "passage": "EvidencePassage",
    "computed": "EvidenceComputation",
}

_CANDIDATES = 1_000  # with rank and evidence; ``schema:about`` names all


def answer_to_trig(answer: Answer, *, at: str = "") -> str:
    """Write the answer as TriG: the default graph says what was asked, answered and why.

    ``…#evidence`` holds the triples the answer cites, ``…#retrieved`` what else was found on the way: only the first
    are what it is derived from. What a model says from memory is derived from nothing. What was computed is the
    ``schema:value`` of its item, and of the answer where that cites it, with its unit. ``ontologies/shapes.ttl`` says
    what is always there. The same answer gives the same IRIs.

    :param at: when it was given, as an ``xsd:dateTime``; left out where it is empty.
    """
    data = pyoxigraph.serialize(_quads(answer, at), format=RdfFormat.TRIG, prefixes=_prefixes(answer))
    return (data or b"").decode("utf-8")


def answer_to_rdflib(answer: Answer, *, at: str = "") -> rdflib.Dataset:
    """Return the answer as :func:`answer_to_trig` writes it, in an rdflib dataset; blank nodes keep their names."""
    from kgsparql.graphs.rdflib_interop import quads_to_rdflib

    return quads_to_rdflib(_quads(answer, at), prefixes=_prefixes(answer))


def _prefixes(answer: Answer) -> dict[str, str]:
    has_texts = any(item.excerpt is not None for item in answer.evidence)
    return {**_PREFIXES, **(_TEXT_PREFIXES if has_texts else {})}


def _about(node: IRI, *said: tuple[str, Term | str]) -> Iterator[Quad]:
    """Yield a quad of the default graph for each predicate and object; a text is a plain literal."""
    for name, value in said:
        yield Quad(node, _iri(name), Literal(value) if isinstance(value, str) else value, DefaultGraph())


def _number(score: float) -> Literal:
    return Literal(str(round(score, 4)), datatype=_iri("xsd:double"))


def _quads(answer: Answer, at: str) -> Iterator[Quad]:
    found_by = [item.query.text or item.sourced_text for item in answer.evidence]
    text = "\n".join([answer.question, answer.retriever, answer.model, answer.text, *found_by])
    run = f"urn:kgsparql:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"
    given = IRI(run + "#answer")
    yield from _answer_quads(answer, run, IRI(run + "#question"), given)
    yield from _activity_quads(answer, run, given, at)
    yield from _candidate_quads(answer, run, given)
    yield from _note_quads(answer, run, given)
    cited = frozenset(answer.cited)
    for item in answer.evidence:
        node = IRI(f"{run}#{item.marker}")
        yield from _about(given, ("schema:citation" if item.marker in cited else "kgs:retrieved", node))
        yield from _item_quads(node, item)
        if item.kind == "computed" and answer.computed is not None:
            nodes = (node, given) if item.marker in cited else (node,)
            yield from _computed_quads(nodes, answer.computed, answer.unit)
    for part in ("evidence", "retrieved"):  # each graph in one piece
        graph = IRI(f"{run}#{part}")
        items = [item for item in answer.evidence if (item.marker in cited) == (part == "evidence")]
        for triple in dict.fromkeys(t.triple for item in items for t in item.triples):
            yield Quad(triple.subject, triple.predicate, triple.object, graph)
    yield from _document_quads(run, answer.evidence)


def _answer_quads(answer: Answer, run: str, question: IRI, given: IRI) -> Iterator[Quad]:
    yield from _about(question, ("rdf:type", _iri("schema:Question")), ("schema:text", answer.question))
    yield from _about(
        given,
        ("rdf:type", _iri("schema:Answer")),
        ("schema:parentItem", question),
        ("schema:text", answer.text),
        ("kgs:status", answer.status),
        ("kgs:grounding", answer.grounding),
    )
    if answer.status == "answered" or (answer.status == "partial" and answer.cited):
        is_chosen = not answer.is_ranked and not answer.gaps
        yield from _about(question, (f"schema:{'accepted' if is_chosen else 'suggested'}Answer", given))
    if any(answer.evidence[marker].triples for marker in answer.cited):
        yield from _about(given, ("prov:wasDerivedFrom", IRI(run + "#evidence")))
    if answer.model and answer.error is None and answer.status in {"answered", "partial"}:
        writer = IRI(run + "#model")
        yield from _about(given, ("prov:wasAttributedTo", writer))
        yield from _about(writer, ("rdf:type", _iri("prov:SoftwareAgent")), ("schema:name", answer.model))
    for found in answer.answers:
        if not isinstance(found.term, BlankNode):
            yield from _about(given, ("schema:about", found.term))


def _activity_quads(answer: Answer, run: str, given: IRI, at: str) -> Iterator[Quad]:
    """Yield how the answer came about: by which software and model, from which graphs, and when."""
    activity, software = IRI(run + "#activity"), IRI(run + "#software")
    yield from _about(given, ("prov:wasGeneratedBy", activity))
    yield from _about(activity, ("rdf:type", _iri("prov:Activity")), ("prov:wasAssociatedWith", software))
    yield from _about(activity, ("schema:instrument", answer.retriever))
    if at:
        yield from _about(activity, ("prov:endedAtTime", Literal(at, datatype=_iri("xsd:dateTime"))))
    yield from _about(software, ("rdf:type", _iri("prov:SoftwareAgent")), ("schema:name", "kgsparql"))
    yield from _about(software, ("schema:softwareVersion", version("kgsparql")))
    if answer.model:
        model = IRI(run + "#model")
        yield from _about(activity, ("prov:wasAssociatedWith", model))
        yield from _about(model, ("rdf:type", _iri("prov:SoftwareAgent")), ("schema:name", answer.model))
    for number, name in enumerate(answer.graphs, 1):
        graph = IRI(f"{run}#G{number}")
        yield from _about(activity, ("prov:used", graph))
        yield from _about(graph, ("rdf:type", _iri("prov:Entity")), ("schema:name", name))


def _candidate_quads(answer: Answer, run: str, given: IRI) -> Iterator[Quad]:
    """Yield what may answer, each with its rank, and the evidence it is in."""
    for rank, found in enumerate(answer.answers[:_CANDIDATES], 1):
        node = IRI(f"{run}#C{rank}")
        place = Literal(str(rank), datatype=_iri("xsd:integer"))
        yield from _about(given, ("kgs:candidate", node))
        yield from _about(node, ("rdf:type", _iri("kgs:Candidate")), ("schema:position", place))
        yield from _about(node, ("schema:name", found.label), ("kgs:score", _number(found.score)))
        if not isinstance(found.term, BlankNode):
            yield from _about(node, ("rdf:value", found.term))
        for marker in found.markers:
            yield from _about(node, ("schema:citation", IRI(f"{run}#{marker}")))


def _note_quads(answer: Answer, run: str, given: IRI) -> Iterator[Quad]:
    """Yield what the reader should know, and what of the question the answer does not account for."""
    for number, note in enumerate(answer.notes, 1):
        node = IRI(f"{run}#note{number}")
        yield from _about(given, ("kgs:note", node))
        yield from _about(node, ("rdf:type", _iri("kgs:Note")), ("kgs:code", note.code), ("schema:text", str(note)))
    for number, gap in enumerate(answer.gaps, 1):
        node = IRI(f"{run}#gap{number}")
        yield from _about(given, ("kgs:notUnderstood", node))
        yield from _about(node, ("rdf:type", _iri("kgs:Note")), ("kgs:code", gap.code), ("schema:text", gap.text))
        yield from _about(node, ("kgs:words", gap.words))


def _item_quads(node: IRI, item: EvidenceItem) -> Iterator[Quad]:
    kind = _ITEM_CLASSES[item.kind]
    executable = ("rdf:type", _iri("sh:SPARQLSelectExecutable"))
    yield from _about(node, ("rdf:type", _iri(f"kgs:{kind}")))
    if item.query.text:
        yield from _about(node, executable)
    yield from _about(node, ("kgs:marker", item.marker), ("schema:text", item.text), ("kgs:score", _number(item.score)))
    if item.named_ends is not None:
        yield from _about(node, ("kgs:ends", Literal(item.named_ends)))
    yield from _about(node, *(("kgs:cut", str(cut)) for cut in item.cuts))
    if item.query.text:
        yield from _about(node, ("sh:select", item.query.shown))
    for i, own in enumerate(item.queries, 1):
        part = IRI(f"{node.value}-{i}")
        yield from _about(node, ("kgs:sourceQuery", part))
        yield from _about(part, executable, ("schema:name", own.source), ("sh:select", own.query.shown))


def _computed_quads(nodes: Sequence[IRI], found: Computed, unit: str) -> Iterator[Quad]:
    """Yield what a plan came to: a number, a yes or no, or each item of a set; and rows, as lines of SPARQL's TSV."""
    values = found.items if found.value is None else (found.value,)
    for node in nodes:
        yield from _about(node, *(("schema:value", value) for value in values if not isinstance(value, BlankNode)))
        yield from _about(node, *([("schema:unitText", unit)] if unit else []))
    yield from _about(nodes[0], *([("kgs:cut", "items")] if found.is_cut else []))
    for row in found.rows:
        if len(row) > 1 and not any(isinstance(term, BlankNode) for term in row):
            line = "\t".join("" if term is None else str(term) for term in row)
            yield from _about(nodes[0], ("kgs:row", line))


def _document_quads(run: str, evidence: Evidence) -> Iterator[Quad]:
    """Yield the documents of the passages, and what these mention: a NIF context for each document or page."""
    contexts: dict[tuple[str, int | None], IRI] = {}
    for item in evidence:
        excerpt = item.excerpt
        if excerpt is None:
            continue
        known = (excerpt.document, excerpt.page)
        if known not in contexts:
            contexts[known] = context = IRI(f"{run}#D{len(contexts) + 1}")
            kinds = ("rdf:type", _iri("nif:Context")), ("rdf:type", _iri("schema:DigitalDocument"))
            yield from _about(context, *kinds, ("schema:name", excerpt.document))
            if excerpt.page is not None:
                yield from _about(context, ("schema:pagination", str(excerpt.page)))
        passage = IRI(f"{run}#{item.marker}")
        start, end = (Literal(str(at), datatype=_iri("xsd:nonNegativeInteger")) for at in (excerpt.start, excerpt.end))
        yield from _about(
            passage, ("rdf:type", _iri("nif:String")), ("nif:referenceContext", contexts[known]),
            ("nif:beginIndex", start), ("nif:endIndex", end), ("nif:anchorOf", item.text),
            ("schema:isPartOf", contexts[known]),
        )  # fmt: skip
        yield from _about(passage, *(("schema:mentions", mention.term) for mention in excerpt.mentions))
