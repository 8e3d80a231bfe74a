"""What came of one question with one method, as a line of a run's file: enough for any metric, now or later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kgsparql.answering.answer import Answer, AnswerTerm
from kgsparql.errors import KgsparqlError, ModelReplyError, RequestRefusedError, UnreachableError
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.rdf.terms import Term

__all__ = ["Record", "RecordedAnswer", "RecordedCost", "RecordedEvidence", "RecordedLink", "is_lost"]


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer that was given.

    :param term: in N-Triples syntax; empty for a name that a model said without a graph.
    :param score: higher is better; comparable only within one record.
    :param markers: of the evidence it is in, the best first.
    :param degree: triples it is in, which orders answers of one path; ``None`` where nobody counted.
    """

    term: str
    label: str
    score: float = 0.0
    markers: tuple[str, ...] = ()
    degree: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedEvidence:
    """A piece of evidence.

    :param triples: each as its three terms in N-Triples syntax.
    :param verified: for each triple, whether it was found again; ``None`` where nobody could look.
    :param ends: everything it leads to, as terms in N-Triples syntax.
    :param cuts: what a limit left out of it.
    :param is_cited: whether the answer rests on it.
    """

    marker: str
    kind: str
    text: str
    score: float = 0.0
    triples: tuple[tuple[str, str, str], ...] = ()
    verified: tuple[bool | None, ...] = ()
    ends: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    query: str = ""
    is_cited: bool = False


@dataclass(frozen=True, slots=True)
class RecordedLink:
    """An entity that was found in the question, in N-Triples syntax, and what else was thought of, the best first."""

    term: str
    label: str
    mention: str = ""
    matched: str = ""
    score: float = 0.0
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCost:
    """What it cost.

    :param rounds: model calls that waited for each other: the longest chain.
    :param cost: of all calls, those answered from the response cache included; ``None`` without prices.
    :param paid_cost: of those that were not.
    :param seconds: wall time; ``model_seconds`` of them were spent waiting for a model.
    """

    model_calls: int = 0
    rounds: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    paid_cost: float | None = None
    queries: int = 0
    rows: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What came of one question with one method.

    :param question: its id in the dataset.
    :param method: the label of the method in its run.
    :param status: of :class:`Answer`, or ``error``.
    :param error: code and message, if the question failed, or the model did when there was evidence.
    :param is_lost: nobody was there to answer: it is asked again when the run goes on.
    :param ranked: nobody chose among the answers: they are candidates in order.
    :param answers: all of them, the best first.
    :param linked: what was found in the question; ``None`` for a method that does not look.
    :param chosen_by: who chose among candidates on the way: ``model``, ``oracle`` or a ranker; nobody if it is empty,
        and ``None`` where nobody noted it.
    :param claims: texts with the markers they cite.
    :param removed: citations, choices and steps that the model made up.
    :param fallbacks: ``(purpose, reason)`` of what was done in the second-best way.
    """

    question: str
    method: str
    status: str
    error: tuple[str, str] | None = None
    is_lost: bool = False
    grounding: str = "graph"
    text: str = ""
    ranked: bool = False
    answers: tuple[RecordedAnswer, ...] = ()
    evidence: tuple[RecordedEvidence, ...] = ()
    linked: tuple[RecordedLink, ...] | None = ()
    chosen_by: tuple[str, ...] | None = None
    claims: tuple[tuple[str, tuple[str, ...]], ...] = ()
    removed: int = 0
    notes: tuple[str, ...] = ()
    fallbacks: tuple[tuple[str, str], ...] = ()
    measured: RecordedCost = RecordedCost()

    @property
    def has_failed(self) -> bool:
        """Whether an error kept it from an answer: what templates list once a model is lost is none."""
        return self.status == "error" or self.error is not None

    @classmethod
    def of(
        cls,
        answer: Answer,
        *,
        question: str,
        method: str,
        degrees: Mapping[Term, int],
        model_seconds: float = 0.0,
        chosen_by: Iterable[str] = (),
        links: bool = True,
    ) -> Record:
        """What an answer comes to.

        :param degrees: of answers, as far as somebody counted.
        :param chosen_by: who chose on the way.
        :param links: the method looks for the entities of the question.
        """
        usage = answer.usage
        return cls(
            question=question,
            method=method,
            status=answer.status,
            error=None if answer.error is None else (answer.error.code, answer.error.message),
            is_lost=answer.error is not None and is_lost(answer.error),
            grounding=answer.grounding,
            text=answer.text,
            ranked=answer.is_ranked,
            answers=tuple(_given(a, answer.grounding, degrees) for a in answer.answers),
            evidence=tuple(_evidence(item, answer.cited) for item in answer.evidence),
            linked=tuple(map(_link, answer.linked)) if links else None,
            chosen_by=tuple(sorted(set(chosen_by))),
            claims=tuple((claim.text, claim.markers) for claim in answer.claims),
            removed=answer.removed,
            notes=answer.notes,
            fallbacks=tuple((f.purpose, f.reason) for f in answer.fallbacks),
            measured=RecordedCost(
                model_seconds=round(min(model_seconds, usage["seconds"]), 6),
                **{name: usage[name] for name in _USAGE},
            ),
        )  # fmt: skip

    @classmethod
    def failed(cls, error: KgsparqlError, *, question: str, method: str, seconds: float, links: bool = True) -> Record:
        """A question that has no answer because of an error: it counts as wrong, and says why.

        :param links: the method looks for the entities of the question.
        """
        measured = RecordedCost(seconds=round(seconds, 6))
        return cls(
            question=question,
            method=method,
            status="error",
            error=(error.code, error.message),
            is_lost=is_lost(error),
            linked=() if links else None,
            measured=measured,
        )

    def to_json(self) -> dict[str, Any]:
        """The record as one JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """What :meth:`to_json` gave; a file of an earlier version may lack fields, which are then as by default."""
        chosen_by, linked = data.get("chosen_by"), data.get("linked", ())
        return cls(**{
            **data,
            "error": None if data.get("error") is None else tuple(data["error"]),
            "answers": tuple(RecordedAnswer(**{**a, "markers": tuple(a["markers"])}) for a in data.get("answers", ())),
            "evidence": tuple(_item(item) for item in data.get("evidence", ())),
            "linked": None if linked is None else tuple(
                RecordedLink(**{**a, "candidates": tuple(a["candidates"])}) for a in linked
            ),
            "chosen_by": None if chosen_by is None else tuple(chosen_by),
            "claims": tuple((text, tuple(markers)) for text, markers in data.get("claims", ())),
            "notes": tuple(data.get("notes", ())),
            "fallbacks": _pairs(data.get("fallbacks", ())),
            "measured": RecordedCost(**data.get("measured", {})),
        })  # fmt: skip


def is_lost(error: KgsparqlError) -> bool:
    """Whether an error says that nobody was there to answer, and not that an answer was of no use.

    A server that refuses one request, or whose reply to it cannot be used, would do so again.
    """
    useless = isinstance(error, ModelReplyError | RequestRefusedError)
    return isinstance(error, UnreachableError) and not useless and error.code not in {"E_LIMIT", "E_PARTIAL"}


_USAGE = (
    "model_calls", "rounds", "prompt_tokens", "completion_tokens", "cost", "paid_cost", "queries", "rows", "seconds",
)  # fmt: skip


def _given(answer: AnswerTerm, grounding: str, degrees: Mapping[Term, int]) -> RecordedAnswer:
    term = "" if grounding == "model" else str(answer.term)
    return RecordedAnswer(term, answer.label, round(answer.score, 6), answer.markers, degrees.get(answer.term))


def _evidence(item: EvidenceItem, cited: Collection[str]) -> RecordedEvidence:
    triples = [c.triple for c in item.triples]
    return RecordedEvidence(
        marker=item.marker,
        kind=item.kind,
        text=item.text,
        score=round(item.score, 6),
        triples=tuple((str(t.subject), str(t.predicate), str(t.object)) for t in triples),
        verified=tuple(c.verified for c in item.triples),
        ends=tuple(map(str, item.ends)),
        cuts=tuple(map(str, item.cuts)),
        query=item.query.text,
        is_cited=item.marker in cited,
    )


def _link(link: LinkedEntity) -> RecordedLink:
    others = tuple(str(other.term) for other in link.candidates)
    return RecordedLink(str(link.term), link.label, link.mention.text, link.matched, round(link.score, 6), others)


def _item(data: Mapping[str, Any]) -> RecordedEvidence:
    lists = {name: tuple(data.get(name, ())) for name in ("verified", "ends", "cuts")}
    return RecordedEvidence(**{**data, **lists, "triples": tuple(tuple(triple) for triple in data.get("triples", ()))})


def _pairs(pairs: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in pairs)
