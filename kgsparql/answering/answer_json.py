"""An answer as a JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgsparql.rdf.terms import Term, printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer, AnswerTerm
    from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.linking.passages.documents import Excerpt

__all__ = ["answer_json"]

_IN_JSON = 1_000
"""Answers in the JSON object of an answer; ``more_answers`` counts the rest, which the query of their item finds."""


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer as one JSON object; terms in N-Triples syntax with a label beside each."""
    return {
        "question": answer.question,
        "status": answer.status,
        "grounding": answer.grounding,
        "retriever": answer.retriever,
        "model": answer.model,
        "text": answer.text,
        "answers": [
            {
                "term": str(a.term),
                "label": a.label,
                **_description(a),
                "score": round(a.score, 4),
                "markers": list(a.markers),
            }
            for a in answer.answers[:_IN_JSON]
        ],
        "more_answers": max(0, len(answer.answers) - _IN_JSON),
        "claims": [{"text": claim.text, "markers": list(claim.markers)} for claim in answer.claims],
        "cited": list(answer.cited),
        "evidence": [_item(item, answer.labels) for item in answer.evidence],
        "linked": [_link(link) for link in answer.linked],
        "inference": [{"marker": step.marker, **_triple(step.cited, answer.labels)} for step in answer.inference],
        "tree": answer.tree.text(),
        "usage": dict(answer.usage),
        "notes": list(answer.notes),
        "fallbacks": [{"purpose": f.purpose, "reason": f.reason} for f in answer.fallbacks],
        "removed": answer.removed,
        "error": None if answer.error is None else answer.error.to_json(),
    }


def _item(item: EvidenceItem, labels: Mapping[Term, str]) -> dict[str, Any]:
    return {
        "marker": item.marker,
        "kind": item.kind,
        "text": item.text,
        "triples": [_triple(cited, labels) for cited in item.triples],
        "score": round(item.score, 4),
        "cuts": [str(cut) for cut in item.cuts],
        "query": item.query.shown or None,
        "queries": [{"source": own.source, "query": own.query.shown} for own in item.queries],
        "source": None if item.excerpt is None else _excerpt(item.excerpt),
    }


def _triple(cited: CitedTriple, labels: Mapping[Term, str]) -> dict[str, Any]:
    triple = cited.triple
    return {
        **_named("subject", triple.subject, labels),
        **_named("predicate", triple.predicate, labels),
        **_named("object", triple.object, labels),
        "direction": cited.direction,
        "sources": [{"graph": s.graph, "named_graph": s.named_graph} for s in cited.sources],
        "verified": cited.verified,
    }


def _named(role: str, term: Term, labels: Mapping[Term, str]) -> dict[str, str]:
    return {role: str(term), f"{role}_label": labels.get(term, printable(getattr(term, "value", str(term))))}


def _excerpt(excerpt: Excerpt) -> dict[str, Any]:
    return {
        "document": excerpt.document,
        "page": excerpt.page,
        "start": excerpt.start,
        "end": excerpt.end,
        "mentions": [{"term": str(m.term), "start": m.start, "end": m.end} for m in excerpt.mentions],
    }


def _description(named: AnswerTerm | LinkedEntity) -> dict[str, str]:
    """What tells it from others of its label, where there are any."""
    return {"description": named.description} if named.description else {}


def _link(link: LinkedEntity) -> dict[str, Any]:
    others = [
        {"term": str(c.term), "label": c.label, **_description(c), "score": round(c.score, 4), "matched": c.matched}
        for c in link.candidates
    ]
    return {
        "mention": link.mention.text, "start": link.mention.start, "end": link.mention.end, "term": str(link.term),
        "label": link.label, **_description(link), "score": round(link.score, 4), "matched": link.matched,
        "candidates": others,
    }  # fmt: skip
