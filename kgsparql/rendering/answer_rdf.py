"""An answer as RDF: PROV-O and schema.org, with the evidence as plain triples in a graph of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph
from pyoxigraph import DefaultGraph, Quad, RdfFormat

from kgsparql.evidence.evidence import EvidenceItem, ItemKind
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
    "path": "kgs:EvidencePath",
    "neighbours": "kgs:EvidenceNeighbours",
    "passage": "kgs:EvidencePassage",
    "computed": "kgs:EvidenceComputation",
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
    data = pyoxigraph.serialize(_quads_of(answer, at), format=RdfFormat.TRIG, prefixes=_declared_prefixes(answer))
    return (data or b"").decode("utf-8")


def answer_to_rdflib(answer: Answer, *, at: str = "") -> rdflib.Dataset:
    """Return the answer as :func:`answer_to_trig` writes it, in an rdflib dataset; blank nodes keep their names."""
    from kgsparql.graphs.rdflib_interop import quads_to_rdflib

    return quads_to_rdflib(iter(_quads_of(answer, at)), prefixes=_declared_prefixes(answer))


def _declared_prefixes(answer: Answer) -> dict[str, str]:
    has_texts = any(item.excerpt is not None for item in answer.evidence)
    return {**_PREFIXES, **(_TEXT_PREFIXES if has_texts else {})}


_Value: TypeAlias = "Term | str | None"


@dataclass(frozen=True, slots=True)
class _Statements:
    """What is said of an answer: quads whose nodes are parts of one run."""

    run: str
    quads: list[Quad] = field(default_factory=list)

    def part(self, name: str) -> IRI:
        return IRI(f"{self.run}#{name}")

    def add(self, node: IRI, kind: str, *said: tuple[str, _Value | Iterable[_Value]]) -> IRI:
        """Say of which class a node is, unless that is empty, and what else; a text is a literal, ``None`` nothing."""
        for name, values in [("rdf:type", _iri(kind) if kind else None), *said]:
            for value in [values] if values is None or isinstance(values, str | Term) else values:
                if value is not None:
                    term = Literal(value) if isinstance(value, str) else value
                    self.quads.append(Quad(node, _iri(name), term, DefaultGraph()))
        return node


def _quads_of(answer: Answer, at: str) -> list[Quad]:
    found_by = [item.query.text or item.sourced_text for item in answer.evidence]
    text = "\n".join([answer.question, answer.retriever, answer.model, answer.text, *found_by])
    of = _Statements(f"urn:kgsparql:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}")
    given, cited = of.part("answer"), frozenset(answer.cited)
    _add_answer(answer, of, given)
    _add_activity(answer, of, given, at)
    _add_parts(answer, of, given)
    for item in answer.evidence:
        node = of.part(item.marker)
        of.add(given, "", ("schema:citation" if item.marker in cited else "kgs:retrieved", node))
        _add_item(node, item, of)
        if item.kind == "computed" and answer.computed is not None:
            _add_computed((node, given) if item.marker in cited else (node,), answer.computed, answer.unit, of)
    for part in ("evidence", "retrieved"):  # each graph in one piece
        items = [item for item in answer.evidence if (item.marker in cited) == (part == "evidence")]
        triples = dict.fromkeys(own.triple for item in items for own in item.triples)
        of.quads.extend(Quad(one.subject, one.predicate, one.object, of.part(part)) for one in triples)
    _add_documents(answer, of)
    return of.quads


def _add_answer(answer: Answer, of: _Statements, given: IRI) -> None:
    question = of.add(of.part("question"), "schema:Question", ("schema:text", answer.question))
    of.add(
        given, "schema:Answer", ("schema:parentItem", question), ("schema:text", answer.text),
        ("kgs:status", answer.status), ("kgs:grounding", answer.grounding),
    )  # fmt: skip
    if answer.status == "answered" or (answer.status == "partial" and answer.cited):
        is_chosen = not answer.is_ranked and not answer.gaps
        of.add(question, "", (f"schema:{'accepted' if is_chosen else 'suggested'}Answer", given))
    if any(answer.evidence[marker].triples for marker in answer.cited):
        of.add(given, "", ("prov:wasDerivedFrom", of.part("evidence")))
    if answer.model and answer.error is None and answer.status in {"answered", "partial"}:
        of.add(given, "", ("prov:wasAttributedTo", of.part("model")))
    of.add(given, "", ("schema:about", [one.term for one in answer.answers if not isinstance(one.term, BlankNode)]))


def _add_activity(answer: Answer, of: _Statements, given: IRI, at: str) -> None:
    """Say how the answer came about: by which software and model, from which graphs, and when."""
    software = of.add(
        of.part("software"), "prov:SoftwareAgent",
        ("schema:name", "kgsparql"), ("schema:softwareVersion", version("kgsparql")),
    )  # fmt: skip
    ended = Literal(at, datatype=_iri("xsd:dateTime")) if at else None
    activity = of.add(
        of.part("activity"), "prov:Activity", ("prov:wasAssociatedWith", software),
        ("schema:instrument", answer.retriever), ("prov:endedAtTime", ended),
    )  # fmt: skip
    of.add(given, "", ("prov:wasGeneratedBy", activity))
    if answer.model:
        model = of.add(of.part("model"), "prov:SoftwareAgent", ("schema:name", answer.model))
        of.add(activity, "", ("prov:wasAssociatedWith", model))
    for number, name in enumerate(answer.graphs, 1):
        of.add(activity, "", ("prov:used", of.add(of.part(f"G{number}"), "prov:Entity", ("schema:name", name))))


def _add_parts(answer: Answer, of: _Statements, given: IRI) -> None:
    """Say what may answer, each with its rank; what the reader should know; what the answer does not account for."""
    for rank, one in enumerate(answer.answers[:_CANDIDATES], 1):
        candidate = of.add(
            of.part(f"C{rank}"), "kgs:Candidate", ("schema:position", Literal(rank)), ("schema:name", one.label),
            ("kgs:score", _score_literal(one.score)),
            ("rdf:value", None if isinstance(one.term, BlankNode) else one.term),
            ("schema:citation", [of.part(marker) for marker in one.markers]),
        )  # fmt: skip
        of.add(given, "", ("kgs:candidate", candidate))
    for number, note in enumerate(answer.notes, 1):
        said = ("kgs:code", note.code), ("schema:text", str(note))
        of.add(given, "", ("kgs:note", of.add(of.part(f"note{number}"), "kgs:Note", *said)))
    for number, gap in enumerate(answer.gaps, 1):
        about = ("kgs:code", gap.code), ("schema:text", gap.text), ("kgs:words", gap.words)
        of.add(given, "", ("kgs:notUnderstood", of.add(of.part(f"gap{number}"), "kgs:Note", *about)))


def _score_literal(score: float) -> Literal:
    return Literal(str(round(score, 4)), datatype=_iri("xsd:double"))


def _add_item(node: IRI, item: EvidenceItem, of: _Statements) -> None:
    executable = "sh:SPARQLSelectExecutable"
    if item.query.text:
        of.add(node, executable, ("sh:select", item.query.shown))
    of.add(
        node, _ITEM_CLASSES[item.kind], ("kgs:marker", item.marker), ("schema:text", item.text),
        ("kgs:score", _score_literal(item.score)), ("kgs:cut", [str(cut) for cut in item.cuts]),
        ("kgs:ends", None if item.named_ends is None else Literal(item.named_ends)),
    )  # fmt: skip
    for i, own in enumerate(item.queries, 1):
        said = ("schema:name", own.source), ("sh:select", own.query.shown)
        of.add(node, "", ("kgs:sourceQuery", of.add(IRI(f"{node.value}-{i}"), executable, *said)))


def _add_computed(nodes: Sequence[IRI], found: Computed, unit: str, of: _Statements) -> None:
    """Say what a plan came to: a number, a yes or no, or each item of a set; and rows, as lines of SPARQL's TSV."""
    values = found.items if found.value is None else (found.value,)
    named = [value for value in values if not isinstance(value, BlankNode)]
    for node in nodes:
        of.add(node, "", ("schema:value", named), ("schema:unitText", unit or None))
    of.add(nodes[0], "", ("kgs:cut", "items" if found.is_cut else None))
    for row in found.rows:
        if len(row) > 1 and not any(isinstance(term, BlankNode) for term in row):
            line = "\t".join("" if term is None else str(term) for term in row)
            of.add(nodes[0], "", ("kgs:row", line))


def _add_documents(answer: Answer, of: _Statements) -> None:
    """Say where the passages stand: a NIF context for each document or page; and what they mention."""
    contexts: dict[tuple[str, int | None], IRI] = {}
    for item in answer.evidence:
        if (excerpt := item.excerpt) is None:
            continue
        known = (excerpt.document, excerpt.page)
        if known not in contexts:
            page = None if excerpt.page is None else str(excerpt.page)
            context = of.add(
                of.part(f"D{len(contexts) + 1}"), "nif:Context", ("rdf:type", _iri("schema:DigitalDocument"))
            )
            contexts[known] = of.add(context, "", ("schema:name", excerpt.document), ("schema:pagination", page))
        start, end = (Literal(str(at), datatype=_iri("xsd:nonNegativeInteger")) for at in (excerpt.start, excerpt.end))
        of.add(
            of.part(item.marker), "nif:String", ("nif:referenceContext", contexts[known]),
            ("nif:beginIndex", start), ("nif:endIndex", end), ("nif:anchorOf", item.text),
            ("schema:isPartOf", contexts[known]), ("schema:mentions", [mention.term for mention in excerpt.mentions]),
        )  # fmt: skip
