"""The record of one question with one method, a line of a run's file: what metrics are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kgsparql.answering.answer import Answer
from kgsparql.dataclasses import asdict, fields, frozen
from kgsparql.errors import KgsparqlError, ModelReplyError, RequestRefusedError, UnreachableError
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.evidence.notes import CUT_SHORT, WITHOUT_MODEL
from kgsparql.rdf.terms import Json, Term


@frozen
class RecordedAnswer:
    """Answer that was given.

    :param term: in N-Triples syntax; empty for a name that a model gave without a graph.
    :param score: higher is better; comparable only within one record.
    :param markers: of the evidence that has it, the best first.
    :param degree: how many triples it is in, which orders the answers of one path; ``None`` if not counted.
    """

    term: str
    label: str
    score: float = 0.0
    markers: tuple[str, ...] = ()
    degree: int | None = None


@frozen
class RecordedEvidence:
    """Piece of evidence.

    :param triples: each as its three terms in N-Triples syntax.
    :param verified: for each triple, whether it was found again; ``None`` where that could not be checked.
    """

    marker: str
    triples: tuple[tuple[str, str, str], ...] = ()
    verified: tuple[bool | None, ...] = ()


@frozen(kw_only=True)
class RecordedCost:
    """Calls, tokens, queries and time.

    :param rounds: model calls that waited for each other: the longest chain.
    :param cost: of all calls, those answered from the response cache included; ``None`` without prices.
    :param seconds: wall time.
    """

    model_calls: int = 0
    rounds: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    queries: int = 0
    rows: int = 0
    seconds: float = 0.0


@frozen(kw_only=True)
class Record:
    """Result of one question with one method.

    :param status: of :class:`Answer`, or ``error``.
    :param error: code and message, if the question failed, or the model did when there was evidence.
    :param is_lost: a server did not answer: the question is asked again when the run is resumed.
    :param ranked: nobody chose among the answers: they are candidates in order.
    :param score: of the answer as a whole, the higher the likelier it is right; comparable among the records of one
        method: the confidence. ``None`` if there is no answer, and of a baseline.
    :param is_sure: the answer accounts for all of the question, and nothing failed: it was given as *the* answer, and
        not as *no sure answer*.
    :param linked: of each name in the question, the entity that was taken and the other candidates, the best first.
    :param is_without_model: a model was to be asked, and this is the answer without it: it failed, or was not trusted.
    :param is_cut_short: a limit, or the end of the budget or graph, left something out, of the evidence or on the way.
    :param fallbacks: ``(purpose, reason)`` of what was done in the second-best way.
    :param value: the number, date, or yes or no that was computed, in N-Triples syntax; empty where none was.
    :param rows: of a computed table, each cell as ``(term, label)``.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    question: str
    method: str
    status: str
    error: tuple[str, str] | None = None
    is_lost: bool = False
    grounding: str = "graph"
    text: str = ""
    ranked: bool = False
    score: float | None = None
    is_sure: bool = False
    answers: tuple[RecordedAnswer, ...] = ()
    evidence: tuple[RecordedEvidence, ...] = ()
    linked: tuple[tuple[str, ...], ...] = ()
    claims: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_cut_short: bool = False
    is_without_model: bool = False
    fallbacks: tuple[tuple[str, str], ...] = ()
    value: str = ""
    rows: tuple[tuple[tuple[str, str], ...], ...] = ()
    measured: RecordedCost = RecordedCost()

    @property
    def has_failed(self) -> bool:
        """Whether an error kept it from an answer; candidates that are listed when a model is lost are no answer."""
        return self.status == "error" or self.error is not None

    @classmethod
    def of(
        cls, answer: Answer, *, question: str, method: str, degrees: Mapping[Term, int],
    ) -> Record:  # fmt: skip
        """Make the record of an answer.

        :param degrees: of answers, as far as they were counted.
        """
        usage, error = answer.usage, answer.error
        cost = {field.name: usage[field.name] for field in fields(RecordedCost)}
        return cls(
            question=question, method=method, status=answer.status,
            error=None if error is None else (error.code, error.message), is_lost=error is not None and is_lost(error),
            grounding=answer.grounding, text=answer.text, ranked=answer.is_ranked,
            score=answer.confidence if answer.signals and answer.best else None,
            is_sure=answer.status == "answered" and error is None,
            answers=tuple(
                RecordedAnswer(
                    "" if answer.grounding == "model" else str(one.term), one.label, round(one.score, 6), one.markers,
                    degrees.get(one.term),
                )
                for one in answer.answers
            ),
            evidence=tuple(map(_recorded_evidence, answer.evidence)),
            linked=tuple(tuple(str(one.term) for one in (link, *link.candidates)) for link in answer.linked),
            claims=tuple((claim.text, claim.markers) for claim in answer.claims),
            is_cut_short=any(note.code in CUT_SHORT for note in answer.notes) or any(i.cuts for i in answer.evidence),
            is_without_model=any(note.code in WITHOUT_MODEL for note in answer.notes),
            fallbacks=tuple((f.purpose, f.reason) for f in answer.fallbacks),
            value="" if answer.value is None else str(answer.value), rows=_table_rows(answer),
            measured=RecordedCost(**cost),
        )  # fmt: skip

    @classmethod
    def failed(cls, error: KgsparqlError, *, question: str, method: str, seconds: float) -> Record:
        """Make the record of a question that an error left without an answer: it counts as wrong."""
        return cls(
            question=question, method=method, status="error", error=(error.code, error.message), is_lost=is_lost(error),
            measured=RecordedCost(seconds=round(seconds, 6)),
        )  # fmt: skip

    def to_json(self) -> Json:
        """Write the record as one JSON object."""
        return asdict(self)


def is_lost(error: KgsparqlError) -> bool:
    """Tell whether an error says that a server did not answer, so that asking again may help.

    A server that refused the request, or whose reply was of no use, would do so again.
    """
    useless = isinstance(error, ModelReplyError | RequestRefusedError)
    return isinstance(error, UnreachableError) and not useless and error.code not in {"E_LIMIT", "E_PARTIAL"}


def _table_rows(answer: Answer) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return the rows of a table; none of an answer that is a value or a set."""
    computed = answer.computed
    if computed is None or len(computed.columns) == 1:
        return ()
    return tuple(
        tuple(("", "") if cell is None else (str(cell), answer.labels.get(cell, "")) for cell in row)
        for row in computed.rows
    )


def _recorded_evidence(item: EvidenceItem) -> RecordedEvidence:
    triples = tuple((str(c.triple.subject), str(c.triple.predicate), str(c.triple.object)) for c in item.triples)
    return RecordedEvidence(item.marker, triples, tuple(cited.verified for cited in item.triples))
