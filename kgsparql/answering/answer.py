"""The values a question passes through: what was found, what was written, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from kgsparql.evidence.evidence import CitedTriple, Evidence
from kgsparql.evidence.evidence_tree import DecisionTree
from kgsparql.evidence.notes import Fallback
from kgsparql.rdf.terms import Term, printable

if TYPE_CHECKING:
    from kgsparql.errors import KgsparqlError
    from kgsparql.evidence.evidence import EvidenceItem
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.linking.passages.documents import Excerpt


LISTED = 60
"""Candidates that a model is shown, and can choose by their number; of more, those that the ranker likes best."""

_IN_JSON = 1_000
"""Answers in the JSON object of an answer; ``more_answers`` counts the rest, which the query of their item finds."""

_NO_TREE = DecisionTree()

Status = OneOf["answered", "partial", "not_in_graph", "no_entity"]
Grounding = OneOf["graph", "model", "mixed"]


@dataclass(frozen=True, slots=True)
class AnswerTerm:
    """A term that answers the question, and the markers of the evidence it is in.

    :param score: higher is better; comparable only within one answer.
    :param description: what tells it from another that is shown under the same label; empty where there is none.
    """

    term: Term
    label: str
    score: float = 0.0
    markers: tuple[str, ...] = ()
    description: str = ""

    @property
    def shown(self) -> str:
        """The label, and the description after it."""
        return f"{self.label} ({self.description})" if self.description else self.label


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement and the evidence it rests on."""

    text: str
    markers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InferenceStep:
    """A triple of the evidence that the answer was inferred from, and the marker of its item."""

    marker: str
    cited: CitedTriple


@dataclass(frozen=True, slots=True)
class Draft:
    """What a method wrote, before anybody checked it.

    :param text: the answer in words; empty if there is none but the ranked candidates.
    :param sufficient: whether the writer thought the evidence enough; ``None`` if nobody judged.
    :param removed: how many citations, choices and steps the writer made up, which are gone.
    :param removed_names: some of them, as a reader may be told.
    :param is_ungrounded: the writer answered, but none of the evidence carries it; ``text`` says so.
    :param is_ranked: nobody chose among the answers: they are candidates in order.
    """

    text: str
    answers: tuple[AnswerTerm, ...] = ()
    claims: tuple[Claim, ...] = ()
    grounding: Grounding = "graph"
    inference: tuple[InferenceStep, ...] = ()
    tree: DecisionTree = _NO_TREE
    sufficient: bool | None = None
    removed: int = 0
    removed_names: tuple[str, ...] = field(default=(), compare=False)
    is_ungrounded: bool = False
    is_ranked: bool = False


GapCode = OneOf["name", "part_of_name", "predicate", "word", "operation", "ambiguous", "kind", "step"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Words of a question that the answer does not account for.

    :param text: the sentence for the reader.
    """

    code: GapCode
    words: str
    text: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a method found.

    :param sufficient: whether the method thought it enough; ``None`` if it does not judge.
    :param draft: what the method's own sufficiency call already wrote.
    :param notes: what a limit cut off, and whatever else the reader should know.
    """

    evidence: Evidence = field(default_factory=Evidence)
    candidates: tuple[AnswerTerm, ...] = ()
    sufficient: bool | None = None
    draft: Draft | None = None
    tree: DecisionTree = _NO_TREE
    notes: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[tuple[str, tuple[AnswerTerm, ...]], ...]:
        """What a model may name as the answer by its number: all ends of an item of several, or one candidate.

        Each with the words it is shown in; at most :data:`LISTED` candidates.
        """
        groups = [
            (
                f"all {len(item.ends):,} at the end of {item.marker} [{item.marker}]",
                tuple(c for c in self.candidates if c.term in ends),
            )
            for item in self.evidence
            if len(ends := frozenset(item.ends)) > 1
        ]
        single = [(f"{c.shown} [{', '.join(c.markers)}]", (c,)) for c in self.candidates[:LISTED]]
        return (*(group for group in groups if group[1]), *single)


@dataclass(frozen=True, slots=True)
class Answer:
    """The verified draft with its evidence, and what it cost.

    :param model: who was asked to choose and to write; empty if nobody was.
    :param labels: a label for every term of the evidence, predicates too; answers and links carry their own.
    :param notes: everything the reader should know: cuts, fallbacks, limits, what was left out.
    :param removed: citations and steps that a model made up; none of them is shown.
    :param gaps: what of the question the answer does not account for; there is none in an answer that is `answered`.
    :param error: what kept a model from writing the answer, where one was asked: the evidence is still whole.
    """

    question: str
    status: Status
    text: str
    answers: tuple[AnswerTerm, ...] = ()
    claims: tuple[Claim, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    linked: tuple[LinkedEntity, ...] = ()
    grounding: Grounding = "graph"
    inference: tuple[InferenceStep, ...] = ()
    tree: DecisionTree = _NO_TREE
    retriever: str = ""
    model: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    labels: Mapping[Term, str] = field(default_factory=dict)
    fallbacks: tuple[Fallback, ...] = ()
    removed: int = 0
    is_ranked: bool = False
    gaps: tuple[Gap, ...] = ()
    error: KgsparqlError | None = None

    @property
    def cited(self) -> tuple[str, ...]:
        """The markers of what the answer rests on, in the order of the evidence; the rest was only found on the way."""
        used = {
            *(marker for claim in self.claims for marker in claim.markers),
            *(marker for term in self.answers for marker in term.markers),
            *(step.marker for step in self.inference),
        }
        return tuple(item.marker for item in self.evidence if item.marker in used)

    def to_json(self) -> dict[str, Any]:
        """The answer as one JSON object; terms in N-Triples syntax with a label beside each."""
        return {
            "question": self.question,
            "status": self.status,
            "grounding": self.grounding,
            "retriever": self.retriever,
            "model": self.model,
            "text": self.text,
            "answers": [{**_scored_term(a), "markers": list(a.markers)} for a in self.answers[:_IN_JSON]],
            "more_answers": max(0, len(self.answers) - _IN_JSON),
            "claims": [{"text": claim.text, "markers": list(claim.markers)} for claim in self.claims],
            "cited": list(self.cited),
            "evidence": [_item(item, self.labels) for item in self.evidence],
            "linked": [_link(link) for link in self.linked],
            "inference": [{"marker": step.marker, **_triple(step.cited, self.labels)} for step in self.inference],
            "tree": self.tree.text(),
            "usage": dict(self.usage),
            "not_understood": [{"code": gap.code, "words": gap.words, "text": gap.text} for gap in self.gaps],
            "notes": list(self.notes),
            "fallbacks": [{"purpose": f.purpose, "reason": f.reason} for f in self.fallbacks],
            "removed": self.removed,
            "error": None if self.error is None else self.error.to_json(),
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


def _scored_term(named: AnswerTerm | LinkedEntity) -> dict[str, Any]:
    description = {"description": named.description} if named.description else {}
    return {"term": str(named.term), "label": named.label, **description, "score": round(named.score, 4)}


def _link(link: LinkedEntity) -> dict[str, Any]:
    place = {"mention": link.mention.text, "start": link.mention.start, "end": link.mention.end}
    others = [{**_scored_term(c), "matched": c.matched} for c in link.candidates]
    return {**place, **_scored_term(link), "matched": link.matched, "candidates": others}
