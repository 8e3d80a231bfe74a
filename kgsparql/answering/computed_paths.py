"""What a question asks to be computed of what a path leads to: how many there are, the first, those before a year."""

from __future__ import annotations

from collections.abc import Sequence

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.computed_answers import computed_retrieval
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.answering.session import Session
from kgsparql.errors import QueryError
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.plans import algebra as a
from kgsparql.plans.enumeration import RankedPlan
from kgsparql.plans.readings import Reading
from kgsparql.plans.running import run
from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import SUBCLASS_OF

_SETS = 20
"""Sets that are looked at: what the path leads to, and what that leads to."""
_PLANS = 4
_SURE = 0.6
"""A plan that fits the question less well is not its answer."""


_SAID_BY_PLANS = frozenset({"operation", "word", "kind"})
"""What a path may leave out of a question that a plan over its ends can account for."""


def computed_of_path(found: Retrieval, session: Session, missing: Sequence[Gap]) -> Retrieval | None:
    """What the question asks to be computed, of all that the best path leads to; ``None`` where no plan says all of it.

    :param missing: what of the question the path does not account for.
    """
    codes = {gap.code for gap in missing}
    if "operation" not in codes or not codes <= _SAID_BY_PLANS:
        return None
    best = next((item for item in found.evidence if item.marker in found.candidates[0].markers), None)
    items = None if best is None or best.cuts else _ends_of(best)
    if best is None or items is None or not session.graph.is_one_local_graph:
        return None
    asked = PlanQuestion.of(session, sets=_SETS)
    profile = asked.profiler(items)
    steps = session.labels([step.predicate for step in best.paths[0].property_path.steps], in_grace=True)
    fit = {i: 1.0 for name in steps.values() for own in asked.words.fits([name]) for i in own}
    starts = frozenset(own for own in asked.named if own.term in {path.start for path in best.paths})
    fit |= {i: 1.0 for own in starts for i in own.words}
    kind = "item" if all(isinstance(end, IRI) for end in best.ends) else "text"
    reading = Reading(items, fit, starts, classes=profile.classes, kind=kind)
    plans = [own for own in asked.ranked_plans(_PLANS, found=reading) if _says_all(own, items)]
    if not plans:
        return None
    try:
        computed = run(plans[0].plan, session.graph, vocabulary=asked.vocabulary)
    except QueryError as error:
        session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
        return None
    return computed_retrieval(computed, session, score=plans[0].score)


def _says_all(ranked: RankedPlan, items: a.ItemSet) -> bool:
    """Whether a plan leaves nothing of the question out, and does something with the set."""
    return ranked.plan != items and not ranked.left and not ranked.silent and ranked.score >= _SURE


def _ends_of(best: EvidenceItem) -> a.ItemSet | None:
    """All that the path of an item leads to, as a set; ``None`` where no set is just that."""
    path = best.paths[0].property_path
    starts = tuple(dict.fromkeys(own.start for own in best.paths if own.property_path == path))
    is_of_schema = any(step.predicate == SUBCLASS_OF for step in path.steps)
    if not path.steps or is_of_schema or not all(isinstance(start, IRI) for start in starts):
        return None
    ends = a.Ends(a.Items(starts), path)
    turns = [later.inverts(earlier) for earlier, later in zip(path.steps, path.steps[1:], strict=False)]
    if not any(turns):
        return ends
    return a.Minus(ends, a.Items(starts)) if len(path) == 2 else None  # the start is none of those beside it
