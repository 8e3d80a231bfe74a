"""An answer as JSON; :mod:`~kgsparql.answering.answer_schema` has the types of all its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgsparql.answering.answer_schema import SCHEMA_VERSION
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer, AnswerTerm
    from kgsparql.answering.answer_schema import (
        AlternativeObject,
        AnsweredObject,
        AnswerObject,
        ComputedObject,
        ErrorObject,
        EvidenceObject,
        ExcerptObject,
        LinkObject,
        TermObject,
        TextMentionObject,
        TripleObject,
        UnansweredObject,
    )
    from kgsparql.errors import KgsparqlError
    from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.linking.passages.documents import Excerpt
    from kgsparql.plans.running import Computed

_IN_JSON = 1_000
"""Answers in the JSON object of an answer; ``more_answers`` counts the rest, which the query of their item finds."""


def answer_json(answer: Answer) -> AnsweredObject:
    """The answer as one JSON object."""
    labels, best = answer.labels, frozenset(answer.best)
    return {
        "schema_version": SCHEMA_VERSION,
        "question": answer.question,
        "status": answer.status,
        "grounding": answer.grounding,
        "graphs": list(answer.graphs),
        "retriever": answer.retriever,
        "model": answer.model,
        "text": answer.text,
        "type": answer.type,
        "value": None if answer.value is None else term_json(answer.value, _label(answer.value, labels)),
        "unit": answer.unit,
        "is_ranked": answer.is_ranked,
        "answers": [_answer(one, is_best=one in best) for one in answer.answers[:_IN_JSON]],
        "more_answers": max(0, len(answer.answers) - _IN_JSON),
        "claims": [{"text": claim.text, "markers": list(claim.markers)} for claim in answer.claims],
        "cited": list(answer.cited),
        "evidence": [_item(item, labels) for item in answer.evidence],
        "linked": [_link(link) for link in answer.linked],
        "inference": [{"marker": step.marker, **_triple(step.cited, labels)} for step in answer.inference],
        "tree": answer.tree.text(),
        "usage": dict(answer.usage),
        "computed": None if answer.computed is None else _computed(answer.computed, answer),
        "not_understood": [{"code": gap.code, "words": gap.words, "text": gap.text} for gap in answer.gaps],
        "notes": [{"code": note.code, "text": str(note)} for note in answer.notes],
        "fallbacks": [{"purpose": f.purpose, "reason": f.reason} for f in answer.fallbacks],
        "removed": answer.removed,
        "error": None if answer.error is None else error_json(answer.error),
    }


def unanswered_json(question: str, error: KgsparqlError | None = None) -> UnansweredObject:
    """What stands for the answer to a question that an error kept from one; without an error, to an empty line."""
    return {
        "schema_version": SCHEMA_VERSION,
        "question": printable(question),
        "status": "empty" if error is None else "error",
        "answers": [],
        "error": None if error is None else error_json(error),
    }


def error_json(error: KgsparqlError) -> ErrorObject:
    """The error; what is no JSON in its details is told as text."""
    detail = {name: _plain(value) for name, value in error.detail.items()}
    return {
        "code": error.code, "message": error.message, "hint": error.hint, "retryable": error.retryable,
        "detail": detail,
    }  # fmt: skip


def term_json(term: Term, label: str) -> TermObject:
    """A term and its label.

    >>> term_json(Literal("Köln", language="de"), "Köln")
    {'type': 'literal', 'value': 'Köln', 'xml:lang': 'de', 'label': 'Köln'}
    """
    if isinstance(term, IRI):
        return {"type": "uri", "value": term.value, "label": label}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term.value, "label": label}
    if not isinstance(term, Literal):
        return {"type": "triple", "value": str(term), "label": label}
    if term.language is not None:
        return {"type": "literal", "value": term.value, "xml:lang": term.language, "label": label}
    if term.datatype.value == "http://www.w3.org/2001/XMLSchema#string":
        return {"type": "literal", "value": term.value, "label": label}
    return {"type": "literal", "value": term.value, "datatype": term.datatype.value, "label": label}


def _computed(found: Computed, answer: Answer) -> ComputedObject:
    from kgsparql.plans.writing import written_plan  # not needed for most answers

    words = next((item.text for item in answer.evidence if item.kind == "computed"), "")
    return {
        "words": words,
        "plan": written_plan(found.plan),
        "columns": list(found.columns),
        "rows": [
            [None if term is None else term_json(term, _label(term, answer.labels)) for term in row]
            for row in found.rows[:_IN_JSON]
        ],
        "is_cut": found.is_cut or len(found.rows) > _IN_JSON,
        "facts": len(found.facts),
        "all_facts": found.all_facts,
        "is_confirmed": found.is_confirmed,
        "query": found.query.shown,
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else str(value)


def _label(term: Term, labels: Mapping[Term, str]) -> str:
    return labels.get(term, printable(getattr(term, "value", str(term))))


def _answer(one: AnswerTerm, *, is_best: bool) -> AnswerObject:
    made: AnswerObject = {
        "term": term_json(one.term, one.label), "is_best": is_best, "score": round(one.score, 4),
        "markers": list(one.markers),
    }  # fmt: skip
    if one.description:
        made["description"] = one.description
    return made


def _triple(cited: CitedTriple, labels: Mapping[Term, str]) -> TripleObject:
    subject, predicate, object_ = cited.triple.subject, cited.triple.predicate, cited.triple.object
    return {
        "subject": term_json(subject, _label(subject, labels)),
        "predicate": term_json(predicate, _label(predicate, labels)),
        "object": term_json(object_, _label(object_, labels)),
        "direction": cited.direction,
        "sources": [{"graph": s.graph, "named_graph": s.named_graph} for s in cited.sources],
        "verified": cited.verified,
    }


def _item(item: EvidenceItem, labels: Mapping[Term, str]) -> EvidenceObject:
    return {
        "marker": item.marker,
        "kind": item.kind,
        "text": item.text,
        "triples": [_triple(cited, labels) for cited in item.triples],
        "score": round(item.score, 4),
        "ends": item.named_ends,
        "cuts": [str(cut) for cut in item.cuts],
        "query": item.query.shown or None,
        "queries": [{"source": own.source, "query": own.query.shown} for own in item.queries],
        "source": None if item.excerpt is None else _excerpt(item.excerpt, labels),
    }


def _excerpt(excerpt: Excerpt, labels: Mapping[Term, str]) -> ExcerptObject:
    mentions: list[TextMentionObject] = [
        {"term": term_json(m.term, _label(m.term, labels)), "start": m.start, "end": m.end} for m in excerpt.mentions
    ]
    return {
        "document": excerpt.document, "page": excerpt.page, "start": excerpt.start, "end": excerpt.end,
        "mentions": mentions,
    }  # fmt: skip


def _alternative(link: LinkedEntity) -> AlternativeObject:
    made: AlternativeObject = {
        "term": term_json(link.term, link.label), "score": round(link.score, 4), "matched": link.matched,
    }  # fmt: skip
    if link.description:
        made["description"] = link.description
    return made


def _link(link: LinkedEntity) -> LinkObject:
    candidates = [_alternative(one) for one in link.candidates]
    place = link.mention
    return {
        "mention": place.text, "start": place.start, "end": place.end, **_alternative(link), "candidates": candidates,
    }  # fmt: skip
