"""A plan that a model writes: asked for, run, and mended once where it is none or comes to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from kgsparql.answering.link_mending import looked_up, mend_links
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.errors import PlanError, QueryError
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.plans import algebra as a
from kgsparql.plans.running import Computed, run
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.wording import none_in_words
from kgsparql.rdf.terms import printable
from kgsparql.retrievers._plan_calls import WrittenPlan, ask_for_plan

_ASKED = 3
"""Times that a model is asked, at most: once more to look up a name, once more to mend a plan."""
_LOOKED_UP = 3


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A plan that a model wrote and that was run.

    :param left_out: conditions of the question that it says the plan leaves out.
    """

    computed: Computed
    left_out: str = ""


@dataclass(slots=True)
class PlanWriting:
    """The talk with a model about the plan of one question.

    :param refused: the model says that no plan comes near the question.
    :param best: the plan that it settled on, or the last that could be run; ``None`` where there is none.
    :param remark: what the model is told about its last reply.
    :param fault: what is wrong with it.
    """

    asked: PlanQuestion
    refused: bool = False
    found: tuple[LinkedEntity, ...] = ()
    best: RunPlan | None = None
    before: a.Plan | None = None
    remark: str = ""
    fault: str = ""

    def run(self) -> None:
        """Ask for a plan until it is settled."""
        session = self.asked.session
        for _ in range(_ASKED):
            if self.remark and session.usage.calls_left == 0:
                break
            written = ask_for_plan(session, self.asked.lists(self.found), remark=self.remark)
            if written is None or self._is_settled(written):
                break
        if self.best is not None:
            used = terms_in(self.best.computed.plan)
            mend_links(session, [one for one in self.found if one.term in used])
        elif self.remark and not self.refused:
            why = (self.fault or self.remark).partition(";")[0]
            session.fall_back("plan", f"no plan that can be run: {printable(why, 160)}")

    def _is_settled(self, written: WrittenPlan) -> bool:
        """Take in a reply; whether nothing more is asked."""
        if not written.line:
            self.refused = bool(self.found) or not written.search
            if self.refused:
                self.best = None
            else:
                self._look_up(written.search)
            return self.refused
        computed, self.fault = self._run(written)
        if computed is not None:
            self.best = RunPlan(computed, written.left_out)
        is_same = written.plan is not None and written.plan == self.before
        self.before = written.plan
        again = "If that is the answer, reply with the same plan, else mend it" if computed is not None else "Mend it"
        self.remark = f"You wrote {written.line} before. {self.fault} {again}." if self.fault else ""
        return not self.fault or is_same

    def _look_up(self, name: str) -> None:
        self.found = looked_up(name, self.asked.session, at_most=_LOOKED_UP)
        told = "what was found is among the entities" if self.found else "nothing in the graph is called so"
        self.remark = f"You looked for {name}: {told}."

    def _run(self, written: WrittenPlan) -> tuple[Computed | None, str]:
        """What a plan comes to; where it is none, cannot be run or comes to nothing, why, for the model."""
        if written.plan is None:
            return None, f"It is no plan: {written.fault}."
        session = self.asked.session
        try:
            computed = run(written.plan, session.graph, vocabulary=self.asked.vocabulary)
        except (PlanError, QueryError) as error:
            return None, f"It could not be run: {error.message}."
        if computed.rows and computed.empty_part is None:
            return computed, ""
        comes_to = "no" if isinstance(written.plan, a.Exists) else "nothing"
        if computed.empty_part is None:
            return computed, f"It comes to {comes_to}."
        labels = session.labels(terms_in(computed.empty_part), in_grace=True)
        none = none_in_words(computed.empty_part, labels.__getitem__)
        return computed, f"It comes to {comes_to}: {none} in this graph."
