"""Query plans: what a question asks, as a typed plan that is one query, run and computed again.

A model writes the plan over numbered terms, in one call, and mends it once if it is none or comes to nothing. Without a
model, the clauses of the question are planned on the graph. The value comes with the plan in words, its query and the
facts it rests on.

Source: ours; plans are made and ranked in place of written after Gu et al., "Don't Generate, Discriminate"
(ACL 2023), arXiv:2212.09736.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.computed import computed_retrieval
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.answering.planned import planned_retrieval, read_and_planned
from kgsparql.answering.retriever import Cost, Retriever, Within
from kgsparql.answering.session import Session
from kgsparql.retrievers._written_plans import PlanWriting


@dataclass(frozen=True, slots=True)
class QueryPlan(Retriever):
    """Typed plans of what the question asks, run as one query.

    :param sets: sets of items that are looked at to list terms for a model: three queries each.
    """

    name = "query_plan"
    summary = "what is asked as one checked query: lookups, counts, yes or no, extremes, comparisons, tables"
    source = "kgsparql"

    sets: Annotated[int, Within(1, 500)] = 60

    def cost(self, *, entities: int = 1, **_: int) -> Cost:
        """Bound what a question costs."""
        return Cost(calls=4, rounds=4, queries=8 * self.sets + entities + 84)

    def retrieve(self, session: Session) -> Retrieval:
        """One item (Q1): what the plan that a model wrote, or the likeliest, comes to, with the facts it rests on."""
        if session.model_reads:
            writing = PlanWriting(PlanQuestion.of(session, sets=self.sets))
            with session.within_budget():
                writing.run()
            if writing.best is not None:
                return computed_retrieval(writing.best.computed, session, gaps=_left_out(writing.best.left_out))
            if writing.refused:
                return Retrieval()
        found = None
        with session.within_budget():
            found = planned_retrieval(read_and_planned(session), session)
        if found is None:
            return Retrieval()
        # A model that wrote no plan says whether this one is what was asked.
        return replace(found, draft=None) if session.model_reads else found


def _left_out(words: str) -> tuple[Gap, ...]:
    """What a model says that its plan leaves out."""
    return (Gap("word", words, f"what was computed leaves out {words!r}"),) if words else ()
