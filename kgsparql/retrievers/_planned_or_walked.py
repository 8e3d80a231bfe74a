"""What answers by itself: one plan for whatever is asked, with path ranking as the other opinion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from kgsparql.answering.annotations import told_of_fact
from kgsparql.answering.answer import Gap, Reading, Retrieval, Support
from kgsparql.answering.confidence import path_lead
from kgsparql.answering.coverage import gaps
from kgsparql.answering.planned import ReadQuestion, plan_readings, planned_retrieval, read_and_planned
from kgsparql.answering.readings import shown_terms
from kgsparql.answering.retriever import AUTO, Cost, Retriever, without_lost_items
from kgsparql.answering.session import Session
from kgsparql.errors import GRAPH_FAILED, is_about_the_query
from kgsparql.evidence.evidence import Evidence
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import is_foreign
from kgsparql.plans import algebra as a
from kgsparql.plans.connecting import TURNED
from kgsparql.plans.type_check import parts
from kgsparql.rdf.terms import Term

_NOTHING = Gap("reading", "", "nothing else was found")
_READ_OTHERWISE = Gap("reading", "", "read otherwise, the question asks for something that is not in this graph")
_OTHERWISE = Gap("reading", "", "a path that fits the question leads to something else")


@dataclass(frozen=True, slots=True)
class PlannedOrWalked(Retriever):
    """A plan where one says all that is asked; else what paths lead to, or a plan that leaves something out.

    An answer is sure if one of both is sure and the other does not surely contradict it; who answered is who gave it.
    """

    name: ClassVar[str] = AUTO
    summary: ClassVar[str] = "a plan of what is asked, with what paths lead to as the other opinion"
    source: ClassVar[str] = "kgsparql"
    mends: ClassVar[bool] = True
    ranks_paths: ClassVar[bool] = True
    computes: ClassVar[bool] = True
    planning: Callable[[], Retriever] = field(repr=False)
    walking: Retriever = field(repr=False)

    def cost(self, **_: int) -> Cost:
        """Bound both methods together."""
        return Cost(calls=7, rounds=7, queries=1000)

    def find_mentions(self, session: Session) -> Sequence[tuple[str, bool]] | None:
        """Find names as the method for paths does."""
        return self.walking.find_mentions(session)

    def used(self, retrieval: Retrieval) -> Retriever:
        """Return the method that found something."""
        return self.walking if retrieval.computed is None else self.planning()

    def retrieve(self, session: Session) -> Retrieval:
        """Return what the plan comes to, or what paths lead to; of a question about a fact, what is said of that."""
        told: Retrieval | None = None
        with session.within_budget():
            try:
                told = told_of_fact(session)
            except GRAPH_FAILED as error:  # a server may know no triples in triples, or not write them so
                if not (session.graph.is_remote and is_about_the_query(error)):
                    raise
                session.notes.append(f"what is said of facts was not looked at: {error.message}", code="plan_failed")
        if told is not None and len(told.evidence):
            return told
        found = self._planned_or_walked(session)
        return found if told is None else replace(found, gaps=(*told.gaps, *found.gaps))

    def _planned_or_walked(self, session: Session) -> Retrieval:
        found: tuple[ReadQuestion, Retrieval | None] | None = None
        with session.within_budget():
            try:
                found = _planned(session)
            except GRAPH_FAILED as error:
                if not (session.graph.is_remote and is_about_the_query(error)):
                    raise
                session.notes.append(f"nothing was computed: {error.message}", code="plan_failed")
        if found is None:
            return self.walking.retrieve(session)
        read, planned = found
        if planned is not None and (
            read.reading.is_impossible or (not planned.gaps and not _is_lookup(read.reading.plan))
        ):
            return replace(planned, readings=lambda: self._all_readings(read, planned, None, session))
        walked = self.walking.retrieve(session)
        if planned is None:
            return replace(walked, readings=lambda: self._all_readings(read, None, walked, session))
        missing: tuple[Gap, ...] = ()
        if walked.best_item is not None:
            walked = without_lost_items(walked, session)  # what is found again is not looked up once more
            missing = gaps(session, walked)
        judged = replace(walked, gaps=missing, is_judged=True)
        if not planned.gaps:
            session.notes.drop("order_unknown", [""])  # a plan says which
        chosen = _one_of(planned, judged, read, missing if walked.candidates else (_NOTHING,))
        support = _support_of(planned, walked)
        return replace(chosen, support=support, readings=lambda: self._all_readings(read, planned, walked, session))

    def _all_readings(
        self, read: ReadQuestion, planned: Retrieval | None, walked: Retrieval | None, session: Session
    ) -> list[Reading]:
        """List the likeliest plans, then the paths; a plan that only follows a path is among these."""
        walked = walked or self.walking.retrieve(session)
        paths = list(walked.readings()) if walked.readings is not None else []
        plans = [] if _is_lookup(read.reading.plan) and paths else plan_readings(read, planned, session)
        return [*plans, *paths]

    def readings_about(self, meant: Sequence[LinkedEntity], session: Session) -> Sequence[Reading]:
        """List the paths from these entities."""
        return self.walking.readings_about(meant, session)

    def written_plan(self, session: Session, named: Sequence[LinkedEntity] = ()) -> Retrieval | None:
        """Return what the plan comes to that a model writes."""
        return self.planning().written_plan(session, named)


def _planned(session: Session) -> tuple[ReadQuestion, Retrieval | None] | None:
    """Plan the question, where plans are made by themselves."""
    if session.oracle is not None or is_foreign(session.question):
        return None
    read = read_and_planned(session)
    named = {name.term for chunk in read.words.chunks for name in chunk.entities}
    is_about_others = not named.issuperset(session.given)  # nothing in the question says what a given thing has to do
    planned = None if read.clauses.is_definition or is_about_others else planned_retrieval(read, session)
    return read, planned


def _one_of(planned: Retrieval, other: Retrieval, read: ReadQuestion, missing: tuple[Gap, ...]) -> Retrieval:
    """Choose between what a plan came to and what was found otherwise.

    :param missing: what of the question the other leaves out.
    """
    items = _planned_items(planned)
    if not planned.gaps:
        if items == shown_terms(other):
            unlike = tuple(gap for gap in missing if gap.code == "kind")
            return other if not missing else replace(planned, gaps=unlike)
        sets = read.reading.plan.sets if isinstance(read.reading.plan, a.Both) else ()
        is_of_class = any(isinstance(one, a.Instances) for one in sets)
        is_narrower = is_of_class and set() < items < shown_terms(other)  # those of the class that is asked for
        if missing or is_narrower or (read.reading.is_said and items):
            return planned
        return replace(planned, gaps=(_OTHERWISE,)) if items else replace(other, gaps=(_READ_OTHERWISE,))
    if isinstance(read.reading.plan, a.Exists) and any(doubt.why == TURNED for doubt in read.reading.doubts):
        return planned  # the other reading of a question with yes or no knows no direction
    is_left_out = any(gap.code == "operation" for gap in missing)  # one or the other
    if not missing or (not _is_computing(read.reading.plan) and other.candidates and not is_left_out):
        return other
    return replace(planned, evidence=Evidence([*planned.evidence, *other.evidence]))


def _planned_items(planned: Retrieval) -> set[Term]:
    return {*(shown_terms(planned) if planned.computed is None else planned.computed.items)}


def _support_of(planned: Retrieval, walked: Retrieval) -> Support:
    """Tell how clearly both opinions read the question, and whether they agree."""
    items, others = _planned_items(planned), shown_terms(walked)
    is_unlike = bool(items and others) and items.isdisjoint(others)  # a value is no item
    agreement = 1.0 if items == others else 0.0 if is_unlike else 0.5
    return replace(planned.support or Support(), path_lead=path_lead(walked), agreement=agreement)


def _is_computing(plan: a.Plan | None) -> bool:
    """Whether a plan does more than follow paths to what has all of some things in common."""
    looked_up = (a.Items, a.Instances, a.Ends, a.Both, a.Either, a.Has)
    return plan is not None and not all(isinstance(part, looked_up) for part in parts(plan))


def _is_lookup(plan: a.Plan | None) -> bool:
    """Whether a plan only follows a path from named things: what path ranking may answer as well."""
    items = plan.sets[0] if isinstance(plan, a.Both) else plan
    return isinstance(items, a.Ends) and isinstance(items.start, a.Items)
