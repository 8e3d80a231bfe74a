"""What a question names, the plans that can be made of it, and the one that is chosen: a question, planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from kgsparql.answering.entity_linking import link_entities
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.answering.session import Session
from kgsparql.plans.algebra import Plan
from kgsparql.plans.enumeration import RankedPlan
from kgsparql.plans.readings import NamedTerm
from kgsparql.plans.running import Computed
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.wording import in_words
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.reading.chunks import chunked
from kgsparql.reading.parser import read_question
from kgsparql.reading.showing import described
from kgsparql.retrievers.query_plan import QueryPlan


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """Something in the graph that a question names.

    :param words: of the question, as it writes them; empty for the class of what has a predicate that is named.
    """

    words: str
    term: IRI | Literal
    label: str
    kind: OneOf["entity", "class", "text"]


@dataclass(frozen=True, slots=True)
class CandidatePlan:
    """A plan that may be what a question asks.

    :param words: the plan in English.
    :param score: how well it fits the question, about 1 if in all of it; comparable only within one question.
    :param left_out: words of the question that it does not account for.
    """

    plan: Plan
    words: str
    score: float
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question, planned.

    :param read: its clauses, with names in ‹› and classes in <>.
    :param candidates: the likeliest plans, the best first.
    :param chosen: the candidate that is computed; ``None`` where there is none, or none could be run.
    :param computed: what it comes to.
    :param doubts: why that may not be what was asked, as sentences.
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
    labels: Mapping[Term, str]


def planned_question(session: Session, method: QueryPlan) -> PlannedQuestion:
    """A question planned as the method ``query_plan`` does without a model.

    :raises EndpointError: if the graph is an endpoint, and fails before there is a value.
    """
    link_entities(session, method.find_mentions(session))
    asked = PlanQuestion.of(session, sets=method.sets)
    found = method.by_rank(asked)
    if found.computed is None and session.notes.lost is not None:
        raise session.notes.lost
    terms: list[Term] = [term for own in asked.named for term in (own.term, *own.others)]
    terms += [term for ranked in found.plans for term in sorted(terms_in(ranked.plan), key=str)]
    terms += [] if found.computed is None else found.computed.terms
    labels = session.labels(terms, in_grace=True)
    plans = {ranked.plan: _candidate(ranked, asked, labels) for ranked in found.plans}
    said = chunked(session.question, session.linker, links=session.links)
    return PlannedQuestion(
        question=session.question,
        read=tuple(described(read_question(said), said.texts)),
        named=tuple(one for own in asked.named for one in _question_terms(own, asked, labels)),
        candidates=tuple(plans.values()),
        chosen=None if found.chosen is None else plans[found.chosen.plan],
        computed=found.computed,
        doubts=tuple(gap.text for gap in found.gaps),
        notes=tuple(session.notes.texts),
        labels=labels,
    )


def _candidate(ranked: RankedPlan, asked: PlanQuestion, labels: Mapping[Term, str]) -> CandidatePlan:
    left = tuple(asked.words.texts[i] for i in ranked.left)
    return CandidatePlan(ranked.plan, in_words(ranked.plan, labels.__getitem__), ranked.score, left)


def _question_terms(own: NamedTerm, asked: PlanQuestion, labels: Mapping[Term, str]) -> list[QuestionTerm]:
    tokens = [asked.words.tokens[i] for i in sorted(own.words)]
    words = " ".join(asked.session.question[token.start : token.end] for token in tokens)
    kind: OneOf["entity", "class", "text"] = "entity"
    if own.is_class or isinstance(own.term, Literal):
        kind = "class" if own.is_class else "text"
    first = QuestionTerm(words, own.term, labels[own.term], kind)
    return [first, *(replace(first, term=other, label=labels[other]) for other in own.others)]
