"""What a question asks to be computed of what a path leads to: how many there are, the first, those before a year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.computed_answers import computed_retrieval
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.answering.session import Session
from kgsparql.answering.verified_retrieval import without_lost_items
from kgsparql.errors import QueryError
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.plans import algebra as a
from kgsparql.plans.cue_reading import read_cues
from kgsparql.plans.enumeration import RankedPlan
from kgsparql.plans.item_sets import both
from kgsparql.plans.readings import Reading
from kgsparql.plans.running import run
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import SUBCLASS_OF

_SETS = 20
"""Sets that are looked at: what the path leads to, and what that leads to."""
_PLANS = 4
_SURE = 0.99
"""A plan that fits the question less well, such as one with a measure that nobody named, is not its answer."""
_SAID_BY_PLANS = frozenset({"operation", "word"})
"""What a path may leave out of a question that a plan over its ends can account for."""


def computed_beside(found: Retrieval, session: Session, missing: tuple[Gap, ...]) -> Retrieval | None:
    """What is asked to be computed of what was found, verified, beside the evidence; ``None`` if that cannot be.

    Called where the question asks for an operation.

    :param missing: what of the question the best path does not account for.
    """
    computed: Retrieval | None = None
    with session.within_budget():
        computed = _computed_of_path(found, session, missing)
    if computed is None:
        return None
    verified = without_lost_items(computed, session)
    if verified.draft is None:  # what it rests on is gone
        return None
    return replace(verified, evidence=Evidence([*verified.evidence, *found.evidence]))


def _computed_of_path(found: Retrieval, session: Session, missing: tuple[Gap, ...]) -> Retrieval | None:
    """What is asked to be computed of all that the best path leads to; ``None`` where no plan says it all."""
    best = found.best_item
    if best is None or not session.graph.is_one_local_graph or not {gap.code for gap in missing} <= _SAID_BY_PLANS:
        return None
    asked = PlanQuestion.of(session, sets=_SETS)
    items = _asked_ends(best, asked)
    if items is None:
        return None
    left = {word for gap in missing for word in gap.words.split()}
    said = {i: 1.0 for i in asked.words.content if asked.words.texts[i] not in left}
    reading = Reading(items, said, frozenset(asked.named), classes=asked.profiler(items).classes)
    plans = [own for own in asked.ranked_plans(_PLANS, found=reading) if own.plan != items and _says_all(own)]
    is_far = len(best.paths[0].property_path.steps) > 1
    if not plans or (is_far and isinstance(plans[0].plan, a.Exists)):  # of a detour, there is nearly always something
        return None
    try:
        computed = run(plans[0].plan, session.graph, vocabulary=asked.vocabulary)
    except QueryError as error:
        session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
        return None
    return computed_retrieval(computed, session, score=plans[0].score)


def _says_all(ranked: RankedPlan) -> bool:
    return not (ranked.left or ranked.silent or ranked.is_of_another_class) and ranked.score >= _SURE


def _asked_ends(best: EvidenceItem, asked: PlanQuestion) -> a.ItemSet | None:
    """What is asked for of all that a path leads to, as a set; ``None`` where the question names what is not in it."""
    path = best.paths[0].property_path
    starts = tuple(dict.fromkeys(own.start for own in best.paths if own.property_path == path))
    named = {own.term for own in asked.named if not own.is_class}
    named |= {link.term for link in asked.session.links if link.kind == "entity"}
    ends = _all_ends(best, path, [start for start in starts if isinstance(start, IRI)])
    if ends is None or not named <= set(starts):
        return None
    places = asked.asked_for(read_cues(asked.session.question))
    wanted = [own.term for own in asked.named if own.is_class and own.words & places and own.term not in starts]
    if not wanted or not isinstance(wanted[0], IRI):
        return ends
    is_among = wanted[0] in asked.profiler.with_broader(asked.profiler(ends).classes)
    return both(a.Instances(wanted[0]), ends) if is_among else None


def _all_ends(best: EvidenceItem, path: PropertyPath, starts: Sequence[IRI]) -> a.ItemSet | None:
    """All items that a path leads to, as a set; ``None`` where no set is just that."""
    is_of_schema = any(step.predicate == SUBCLASS_OF for step in path.steps)
    if best.cuts or is_of_schema or not starts or not all(isinstance(end, IRI) for end in best.ends):
        return None
    ends = a.Ends(a.Items(tuple(starts)), path)
    turns = [later.inverts(earlier) for earlier, later in pairwise(path.steps)]
    if not any(turns):
        return ends
    return (
        a.Minus(ends, a.Items(tuple(starts))) if len(path.steps) == 2 else None
    )  # the start is none of those beside it
