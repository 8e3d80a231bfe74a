"""An answer as RDF: PROV-O and schema.org, with the evidence as plain triples in a graph of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph
from pyoxigraph import DefaultGraph, Quad, RdfFormat

from kgsparql.answering.answer import Answer
from kgsparql.dataclasses import field, frozen
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.plans.plan_compiler import asked_query
from kgsparql.plans.running import Computed
from kgsparql.rdf.path_queries import NOTHING, answers, joined_answers
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, PrefixMap, Term

if TYPE_CHECKING:
    import rdflib

_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "schema": "http://schema.org/",
    "prov": "http://www.w3.org/ns/prov#", "sh": "http://www.w3.org/ns/shacl#", "kgs": "https://w3id.org/kgsparql#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}  # fmt: skip
_iri = PrefixMap(_PREFIXES).expand
_CANDIDATES = 1_000  # with rank and evidence; ``schema:about`` names all


def answer_to_trig(answer: Answer, *, at: str = "") -> str:
    """Write the answer as TriG: the default graph says what was asked, answered and why.

    ``…#evidence`` holds the triples the answer cites, ``…#retrieved`` what else was found on the way: only the first
    are what it is derived from. What was computed is the ``schema:value`` of its item, and of the answer where that
    cites it, with its unit. ``ontologies/shapes.ttl`` says what is always there. The same answer gives the same IRIs.

    :param at: when it was given, as an ``xsd:dateTime``; left out where it is empty.
    """
    return (pyoxigraph.serialize(_quads_of(answer, at), format=RdfFormat.TRIG, prefixes=_PREFIXES) or b"").decode()


def answer_to_rdflib(answer: Answer, *, at: str = "") -> rdflib.Dataset:
    """Return the answer as :func:`answer_to_trig` writes it, in an rdflib dataset; blank nodes keep their names."""
    from kgsparql.graphs.rdflib_interop import quads_to_rdflib

    return quads_to_rdflib(iter(_quads_of(answer, at)), prefixes=_PREFIXES)


_Value: TypeAlias = "Term | str | None"


@frozen
class _Statements:
    """What is said of an answer: quads whose nodes are parts of one run."""

    run: str
    quads: list[Quad] = field(default_factory=list)

    def part(self, name: str) -> IRI:
        return IRI(f"{self.run}#{name}")

    def add(self, node: IRI, kind: str = "", /, **said: _Value | Iterable[_Value]) -> IRI:
        """Say of which class a node is, unless that is empty, and what else; a text is a literal, ``None`` nothing.

        :param said: names with ``_`` for ``:``, ``schema_text`` for instance.
        """
        for name, values in {"rdf_type": _iri(kind) if kind else None, **said}.items():
            for value in [values] if values is None or isinstance(values, str | Term) else values:
                if value is not None:
                    term = Literal(value) if isinstance(value, str) else value
                    self.quads.append(Quad(node, _iri(name.replace("_", ":", 1)), term, DefaultGraph()))
        return node


def _quads_of(answer: Answer, at: str) -> list[Quad]:
    found_by = [item.query.text or item.text for item in answer.evidence]
    text = "\n".join([answer.question, answer.retriever, answer.model, answer.text, *found_by])
    of = _Statements(f"urn:kgsparql:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}")
    given, cited = of.part("answer"), frozenset(answer.cited)
    _add_answer(answer, of, given)
    _add_activity(answer, of, given, at)
    _add_parts(answer, of, given)
    for item in answer.evidence:
        node = of.part(item.marker)
        is_cited = item.marker in cited
        of.add(given, **{"schema_citation" if is_cited else "kgs_retrieved": node})
        _add_item(node, item, of)
        if item.kind == "computed" and answer.computed is not None:
            _add_computed((node, given) if is_cited else (node,), answer.computed, answer.unit, of)
    for part in ("evidence", "retrieved"):  # each graph in one piece
        items = [item for item in answer.evidence if (item.marker in cited) == (part == "evidence")]
        triples = dict.fromkeys(own.triple for item in items for own in item.triples)
        of.quads.extend(Quad(one.subject, one.predicate, one.object, of.part(part)) for one in triples)
    return of.quads


def _add_answer(answer: Answer, of: _Statements, given: IRI) -> None:
    question = of.add(of.part("question"), "schema:Question", schema_text=answer.question)
    of.add(
        given, "schema:Answer", schema_parentItem=question, schema_text=answer.text, kgs_status=answer.status,
        kgs_grounding=answer.grounding,
    )  # fmt: skip
    if answer.status == "answered" or (answer.status == "partial" and answer.cited):
        is_chosen = not answer.is_ranked and not answer.gaps
        of.add(question, **{f"schema_{'accepted' if is_chosen else 'suggested'}Answer": given})
    if any(answer.evidence[marker].triples for marker in answer.cited):
        of.add(given, prov_wasDerivedFrom=of.part("evidence"))
    if answer.model and answer.error is None and answer.status in {"answered", "partial"}:
        of.add(given, prov_wasAttributedTo=of.part("model"))
    of.add(given, schema_about=[one.term for one in answer.answers if not isinstance(one.term, BlankNode)])


def _add_activity(answer: Answer, of: _Statements, given: IRI, at: str) -> None:
    """Say how the answer came about: by which software and model, from which graphs, and when."""
    ours = version("kgsparql")
    agents = [of.add(of.part("software"), "prov:SoftwareAgent", schema_name="kgsparql", schema_softwareVersion=ours)]
    if answer.model:
        agents.append(of.add(of.part("model"), "prov:SoftwareAgent", schema_name=answer.model))
    activity = of.add(
        of.part("activity"), "prov:Activity", prov_wasAssociatedWith=agents, schema_instrument=answer.retriever,
        prov_endedAtTime=_typed_literal(at, "dateTime") if at else None,
        prov_used=[  # of a file, what it holds tells which it is, and not where it lies
            of.add(of.part("G1"), "prov:Entity", schema_name=Path(name).name if answer.digest else name,
                   schema_identifier=f"fingerprint:{answer.digest}" if answer.digest else None)
            for name in answer.graphs
        ],
    )  # fmt: skip
    of.add(given, prov_wasGeneratedBy=activity)


def _add_parts(answer: Answer, of: _Statements, given: IRI) -> None:
    """Say what may answer, each with its rank; what the reader should know; what the answer does not account for."""
    for rank, one in enumerate(answer.answers[:_CANDIDATES], 1):
        candidate = of.add(
            of.part(f"C{rank}"), "kgs:Candidate", schema_position=Literal(rank), schema_name=one.label,
            kgs_score=_typed_literal(round(one.score, 4), "double"),
            rdf_value=None if isinstance(one.term, BlankNode) else one.term,
            schema_citation=[of.part(marker) for marker in one.markers],
        )  # fmt: skip
        of.add(given, kgs_candidate=candidate)
    for number, note in enumerate(answer.notes, 1):
        node = of.add(of.part(f"note{number}"), "kgs:Note", kgs_code=note.code, schema_text=str(note))
        of.add(given, kgs_note=node)
    for number, gap in enumerate(answer.gaps, 1):
        node = of.part(f"gap{number}")
        of.add(node, "kgs:Note", kgs_code=gap.code, schema_text=gap.text, kgs_words=gap.words)
        of.add(given, kgs_notUnderstood=node)


def _typed_literal(value: object, kind: str) -> Literal:
    return Literal(str(value), datatype=_iri(f"xsd:{kind}"))


def _add_item(node: IRI, item: EvidenceItem, of: _Statements) -> None:
    executable = "sh:SPARQLSelectExecutable"
    kind = "Computation" if item.kind == "computed" else item.kind.capitalize()
    if item.query.text:
        of.add(node, executable, sh_select=item.query.shown)
    of.add(
        node, f"kgs:Evidence{kind}", kgs_marker=item.marker, schema_text=item.text,
        kgs_score=_typed_literal(round(item.score, 4), "double"), kgs_cut=map(str, item.cuts),
        kgs_ends=None if item.named_ends is None else Literal(item.named_ends),
    )  # fmt: skip


def _add_computed(nodes: Sequence[IRI], found: Computed, unit: str, of: _Statements) -> None:
    """Say what a plan came to: a number, a yes or no, or each item of a set; and rows, as lines of SPARQL's TSV."""
    values = found.items if found.value is None else (found.value,)
    named = [value for value in values if not isinstance(value, BlankNode)]
    for node in nodes:
        of.add(node, schema_value=named, schema_unitText=unit or None)
    plain = (row for row in found.rows if len(row) > 1 and not any(isinstance(term, BlankNode) for term in row))
    lines = ["\t".join("" if term is None else str(term) for term in row) for row in plain]
    of.add(nodes[0], kgs_cut="items" if found.is_cut else None, kgs_row=lines)


def answer_query(answer: Answer) -> Query:
    """Return the query of what an answer comes to, doubted or not: no comments, prefixes, or columns beside it.

    ``SELECT * { FILTER(false) }`` stands for no answer, and for one that is in no graph.

    >>> import kgsparql
    >>> knowledge = kgsparql.open("fixtures/nobel.ttl", embedder="none")
    >>> answer_query(knowledge.ask("Is Paris the birthplace of Pierre Curie?")).text.split()[0]
    'ASK'
    >>> answer_query(knowledge.ask("Who is Batman?")).text
    'SELECT * { FILTER(false) }'
    """
    cited = [answer.evidence[marker] for marker in answer.cited]
    if answer.computed is not None and any(item.kind == "computed" for item in cited):
        return asked_query(answer.computed.plan, answer.computed.query)
    if not answer.best:
        return NOTHING
    shared = set.intersection(*(set(one.markers) for one in answer.best))
    leads = [answer.evidence[marker] for marker in answer.best[0].markers if marker in shared]
    if leads and len({path.start for item in leads for path in item.paths[:1]}) > 1:  # from each thing that is named
        return joined_answers((one for item in leads for one in _queries_of(item, answer)), in_all=True)
    leads = leads[:1] or [answer.evidence[one.markers[0]] for one in answer.best if one.markers]
    return joined_answers(one for item in leads for one in _queries_of(item, answer))


def _queries_of(item: EvidenceItem, answer: Answer) -> Iterator[Query]:
    """Yield what finds the answers of an item: its own query, or those of its paths, where it does not give them."""
    best = {one.term for one in answer.best if item.marker in one.markers}
    if "answer" in item.query.variables and not best.isdisjoint(item.ends):
        yield item.query
        return
    for path in item.paths:
        places = [place for place, term in enumerate(path.terms) if place and term in best]
        if places and isinstance(path.start, IRI):
            yield answers(path.walk, place=places[-1])
