"""What a question names, the plans that can be made of it, and the one that is chosen: a question, planned."""

from __future__ import annotations

from typing import Literal as OneOf

from kgsparql.answering.answer import AnswerTerm, Retrieval, Support
from kgsparql.answering.computed import computed_retrieval, run_plan
from kgsparql.answering.confidence import calibration, signals_of, support_of_plan
from kgsparql.answering.entity_linking import link_entities
from kgsparql.answering.planned import computed_plan, planned_retrieval, read_and_planned
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.plans.algebra import Plan
from kgsparql.plans.running import Computed
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.writing import in_words
from kgsparql.rdf.terms import IRI, Labels, Literal, Term, first_of
from kgsparql.reading.clauses import Chunk
from kgsparql.reading.form import described
from kgsparql.reading.gaps import rival

_TIED = 0.01  # plans whose fits are no further apart are equally likely


@frozen
class QuestionTerm:
    """Something in the graph that a question names.

    :param words: of the question, as it writes them.
    """

    words: str
    term: IRI | Literal
    label: str
    kind: OneOf["entity", "class", "text", "predicate"]


@frozen
class CandidatePlan:
    """A plan that may be what a question asks.

    :param words: the plan in English.
    :param score: how well it fits the question, larger if better; comparable only within one question.
    :param left_out: words of the question that it does not account for.
    :param comes_to: its value, or how many and the first of its items, where it was run.
    """

    plan: Plan
    words: str
    score: float
    left_out: tuple[str, ...] = ()
    comes_to: str = ""


@frozen
class PlannedQuestion:
    """A question, planned.

    :param read: its clauses, with names in ‹› and classes in <>.
    :param candidates: the likeliest plans, the best first.
    :param chosen: the candidate that is computed; ``None`` where there is none, or none could be run.
    :param computed: what it comes to.
    :param doubts: why that may not be what was asked, as sentences.
    :param confidence: how likely it is what was asked, in [0, 1]; 0 where nothing is computed.
    :param notes: what a limit cut off, and whatever else the reader should know.
    :param labels: what the terms of the plans and the values are called.
    """

    question: str
    read: tuple[str, ...]
    named: tuple[QuestionTerm, ...]
    candidates: tuple[CandidatePlan, ...]
    chosen: CandidatePlan | None
    computed: Computed | None
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    labels: Labels
    confidence: float = 0.0


@frozen
class GivenPlan(Retriever):
    """Answers by a plan that is given; the question is only its words."""

    name = "query_plan"
    summary = "a plan that is given"
    source = "kgsparql"

    plan: Plan

    def cost(self, **_: int) -> Cost:
        """Bound what a question costs: the plan, what it rests on, and what it leaves out."""
        return Cost(calls=0, rounds=0, queries=40)

    def find_mentions(self, _: Session) -> tuple[tuple[str, bool], ...]:
        """Look for no names: the plan has its terms."""
        return ()

    def retrieve(self, session: Session) -> Retrieval:
        """Return what the plan comes to."""
        found = run_plan(self.plan, session)
        return replace(computed_retrieval(found, session), support=Support(1.0, 1.0))


def planned_question(session: Session) -> PlannedQuestion:
    """A question planned as the method ``query_plan`` does without a model.

    :raises EndpointError: if the graph is an endpoint, and fails before there is a value.
    """
    notes = session.notes
    link_entities(session)
    found = None
    answered = None
    with session.within_budget():
        found = read_and_planned(session)
        answered = planned_retrieval(found, session)
    if found is None and notes.lost is not None:
        raise notes.lost
    if found is None:
        return PlannedQuestion(session.question, (), (), (), None, None, (), tuple(notes.texts), {})
    computed = None if answered is None else answered.computed or computed_plan(found, session)
    plans = [(own, own.plan) for own in (found.reading, *found.reading.others) if own.plan is not None]
    chunks = found.asked.read.chunks
    named = [(own, term) for own in chunks for term in (*(name.term for name in own.entities), *own.classes)]
    terms: list[Term] = [term for _, term in named]
    terms += [term for _, plan in plans for term in sorted(terms_in(plan), key=str)]
    labels = session.labels([*terms, *(() if computed is None else computed.terms)])
    candidates = []
    for own, plan in plans:
        left = dict.fromkeys(found.asked.read.raw[doubt.position] for doubt in own.doubts if doubt.position >= 0)
        candidates.append(CandidatePlan(plan, in_words(plan, labels.__getitem__), own.score, tuple(left)))
    gaps, confidence = () if answered is None else answered.gaps, 0.0
    if computed is not None:
        first, *others = candidates
        notes.drop(MISSING_NAME, () if first.left_out else notes.texts)  # all words were read
        tied = first_of(one for one in others if one.plan != first.plan and abs(first.score - one.score) < _TIED)
        if tied is not None:
            gaps = (*gaps, rival(tied.words, first.words))
        best = [AnswerTerm(term, labels[term]) for term in computed.terms]
        signals = signals_of(support_of_plan(found.reading), gaps, best, is_computed=True)
        confidence = calibration().probability(signals)
        gaps = gaps if gaps or confidence >= calibration().sure else (calibration().doubt(signals),)
    return PlannedQuestion(
        question=session.question, read=tuple(described(found.asked)),
        named=tuple(QuestionTerm(chunk.text, term, labels[term], _kind_of_term(chunk, term)) for chunk, term in named),
        candidates=tuple(candidates), chosen=candidates[0] if computed is not None else None, computed=computed,
        doubts=tuple(gap.text for gap in gaps), notes=tuple(notes.texts), labels=labels, confidence=confidence,
    )  # fmt: skip


def _kind_of_term(chunk: Chunk, term: IRI | Literal) -> OneOf["entity", "class", "text"]:
    if isinstance(term, Literal):
        return "text"
    return "class" if term in chunk.classes else "entity"
