"""The values a question passes through: what was found, what was written, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from kgsparql.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.terms import Term, printable

if TYPE_CHECKING:
    from kgsparql.linking import LinkedEntity

__all__ = ["Answer", "AnswerTerm", "Claim", "Draft", "Grounding", "Retrieval", "Status"]

Status = OneOf["answered", "partial", "not_in_graph", "no_entity"]
Grounding = OneOf["graph", "model", "mixed"]


@dataclass(frozen=True, slots=True)
class AnswerTerm:
    """A term that answers the question, and the markers of the evidence it is in.

    :param score: higher is better; comparable only within one answer.
    """

    term: Term
    label: str
    score: float = 0.0
    markers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement and the evidence it rests on."""

    text: str
    markers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a method wrote, before anybody checked it.

    :param tree: MindMap's decision tree, as text.
    """

    text: str
    answers: tuple[AnswerTerm, ...] = ()
    claims: tuple[Claim, ...] = ()
    grounding: Grounding = "graph"
    tree: str = ""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a method found.

    :param candidates: possible answers, the best first.
    :param sufficient: whether the method thought it enough; ``None`` if it does not judge.
    :param draft: what the method's own sufficiency call already wrote.
    :param notes: what a limit cut off, and whatever else the reader should know.
    """

    evidence: Evidence = field(default_factory=Evidence)
    candidates: tuple[AnswerTerm, ...] = ()
    sufficient: bool | None = None
    draft: Draft | None = None
    tree: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The verified draft with its evidence, and what it cost.

    :param labels: a label for every term of the evidence, predicates too; answers and links carry their own.
    :param notes: everything the reader should know: cuts, fallbacks, limits, what was left out.
    """

    question: str
    status: Status
    text: str
    answers: tuple[AnswerTerm, ...] = ()
    claims: tuple[Claim, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    linked: tuple[LinkedEntity, ...] = ()
    grounding: Grounding = "graph"
    tree: str = ""
    retriever: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    labels: Mapping[Term, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The answer as one JSON object; terms in N-Triples syntax with a label beside each."""
        return {
            "question": self.question,
            "status": self.status,
            "grounding": self.grounding,
            "retriever": self.retriever,
            "text": self.text,
            "answers": [
                {"term": str(a.term), "label": a.label, "score": round(a.score, 4), "markers": list(a.markers)}
                for a in self.answers
            ],
            "claims": [{"text": claim.text, "markers": list(claim.markers)} for claim in self.claims],
            "evidence": [self._item(item) for item in self.evidence],
            "linked": [_link(link) for link in self.linked],
            "tree": self.tree,
            "usage": dict(self.usage),
            "notes": list(self.notes),
        }

    def _item(self, item: EvidenceItem) -> dict[str, Any]:
        return {
            "marker": item.marker,
            "kind": item.kind,
            "text": item.text,
            "triples": [self._triple(cited) for cited in item.triples],
            "score": round(item.score, 4),
            "cuts": [str(cut) for cut in item.cuts],
            "query": item.query.text,
        }

    def _triple(self, cited: CitedTriple) -> dict[str, Any]:
        triple = cited.triple
        return {
            **_named("subject", triple.subject, self.labels),
            **_named("predicate", triple.predicate, self.labels),
            **_named("object", triple.object, self.labels),
            "direction": cited.direction,
            "sources": [{"graph": s.graph, "named_graph": s.named_graph} for s in cited.sources],
            "verified": cited.verified,
        }


def _named(role: str, term: Term, labels: Mapping[Term, str]) -> dict[str, str]:
    return {role: str(term), f"{role}_label": labels.get(term, printable(getattr(term, "value", str(term))))}


def _link(link: LinkedEntity) -> dict[str, Any]:
    return {
        "mention": link.mention.text,
        "start": link.mention.start,
        "end": link.mention.end,
        "term": str(link.term),
        "label": link.label,
        "score": round(link.score, 4),
        "matched": link.matched,
        "candidates": [
            {"term": str(c.term), "label": c.label, "score": round(c.score, 4), "matched": c.matched}
            for c in link.candidates
        ],
    }
