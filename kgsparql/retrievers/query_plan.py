"""Query plans: what a question asks to be computed, as a typed plan that is one query, run and computed again.

A model writes the plan over numbered terms, in one call, and mends it once if it is none or comes to nothing. Without a
model, plans are made of what the question names, one operator at a time, and ranked by the words they account for. The
value comes with the plan in words, its query and the facts it rests on.

Source: ours; plans are enumerated and ranked in place of written after Gu et al., "Don't Generate, Discriminate"
(ACL 2023), arXiv:2212.09736.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.computed import computed_retrieval, reading_in_words
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.answering.retriever import Cost, Retriever, Within
from kgsparql.answering.session import Session
from kgsparql.errors import QueryError
from kgsparql.plans import algebra as a
from kgsparql.plans.enumeration import RankedPlan
from kgsparql.plans.running import Computed, run
from kgsparql.plans.type_check import terms_in
from kgsparql.rdf.terms import printable
from kgsparql.retrievers._plan_doubts import plan_doubts
from kgsparql.retrievers._written_plans import PlanWriting

_NEARLY = 0.05
"""How much less well than the best a plan may fit that is run because the best comes to nothing."""
_SAME = 0.005
"""By how much the scores of two plans may differ that fit as well."""


@dataclass(frozen=True, slots=True)
class RankedChoice:
    """The likeliest plans for a question, the best first, and the one that was chosen.

    :param chosen: the plan that was run and answers; ``None`` where there is none, or none could be run.
    :param computed: what it comes to.
    :param gaps: what of the question it leaves out.
    """

    plans: tuple[RankedPlan, ...]
    chosen: RankedPlan | None = None
    computed: Computed | None = None
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryPlan(Retriever):
    """Typed plans of what the question asks to be computed, the likeliest run as one query.

    :param sets: sets of items that are looked at to make plans: three queries each.
    :param plans_run: plans that are run, until one comes to something.
    """

    name = "query_plan"
    summary = "counts, yes or no, extremes, comparisons and tables, computed by one checked query"
    source = "kgsparql"

    sets: Annotated[int, Within(1, 500)] = 60
    plans_run: Annotated[int, Within(1, 20)] = 8

    def cost(self, *, entities: int = 1, **_: int) -> Cost:
        """Bound what a question costs."""
        return Cost(
            calls=4,
            rounds=4,
            queries=8 * self.sets + 8 * self.plans_run + entities + 20,
        )

    def retrieve(self, session: Session) -> Retrieval:
        """One item (Q1): what the plan that a model wrote, or the likeliest, comes to, with the facts it rests on."""
        asked = PlanQuestion.of(session, sets=self.sets)
        if session.model_reads:
            writing = PlanWriting(asked)
            with session.within_budget():
                writing.run()
            if writing.best is not None:
                return computed_retrieval(writing.best.computed, session, gaps=_left_out(writing.best.left_out))
            if writing.refused:
                return Retrieval()
        found = self.by_rank(asked)
        if found.chosen is None or found.computed is None:
            return Retrieval()
        made = computed_retrieval(found.computed, session, score=found.chosen.score, gaps=found.gaps)
        # A model that wrote no plan says whether this one is what was asked.
        return replace(made, draft=None) if session.model_reads else made

    def by_rank(self, asked: PlanQuestion) -> RankedChoice:
        """The likeliest of the plans that can be made of what the question names, and what it comes to."""
        session = asked.session
        plans: list[RankedPlan] = []
        with session.within_budget():
            plans = asked.ranked_plans(self.plans_run)
        found: tuple[RankedPlan, Computed] | None = None
        with session.within_budget():
            found = _first_with_a_value(plans, asked)
        if found is None and session.notes.partial and plans:
            # Nothing can be said without a value: run the best plan, whatever the budget says.
            unlimited = replace(asked, session=session.unlimited())
            with session.within_budget():
                found = _first_with_a_value(plans[:1], unlimited)
        if found is None:
            return RankedChoice(tuple(plans))
        ranked, computed = found
        gaps: tuple[Gap, ...] = ()
        with session.within_budget():
            gaps = plan_doubts(ranked, computed, asked) or _rival_doubt(ranked, computed, plans, asked)
        if not gaps and ranked.score < plans[0].score - _SAME:
            gaps = (_other_reading("a likelier reading comes to nothing", plans[0].plan, session),)
        return RankedChoice(tuple(plans), ranked, computed, gaps)


def _first_with_a_value(plans: list[RankedPlan], asked: PlanQuestion) -> tuple[RankedPlan, Computed] | None:
    """Run the plans that fit nearly as well as the best until one comes to something; else the best."""
    tried: list[tuple[RankedPlan, Computed]] = []
    for ranked in [own for own in plans if own.score >= plans[0].score - _NEARLY]:
        try:
            computed = run(ranked.plan, asked.session.graph, vocabulary=asked.vocabulary)
        except QueryError as error:
            asked.session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
            continue
        if computed.rows and (computed.empty_part is None or isinstance(ranked.plan, a.Exists)):
            return ranked, computed
        tried.append((ranked, computed))
    return tried[0] if tried else None


def _rival_doubt(
    ranked: RankedPlan, computed: Computed, plans: list[RankedPlan], asked: PlanQuestion
) -> tuple[Gap, ...]:
    """Doubt a value where another plan fits just as well and comes to something else."""
    others = [own for own in plans if own.plan != ranked.plan and abs(own.score - ranked.score) <= _SAME]
    for other in others[:1]:
        rival = run(other.plan, asked.session.graph, vocabulary=asked.vocabulary)
        if rival.rows and rival.empty_part is None and _first_terms(rival) != _first_terms(computed):
            return (_other_reading("another reading fits as well", other.plan, asked.session),)
    return ()


def _other_reading(why: str, plan: a.Plan, session: Session) -> Gap:
    labels = session.labels(terms_in(plan), in_grace=True)
    return Gap("reading", "", f"{why} ({printable(reading_in_words(plan, labels.__getitem__), 200)})")


def _left_out(words: str) -> tuple[Gap, ...]:
    """What a model says that its plan leaves out."""
    return (Gap("word", words, f"what was computed leaves out {words!r}"),) if words else ()


def _first_terms(computed: Computed) -> set[object]:
    return {row[0] for row in computed.rows}
