"""What was found, without what the graph does not hold any more."""

from __future__ import annotations

from dataclasses import replace

from kgsparql.answering.answer import AnswerTerm, Retrieval
from kgsparql.answering.session import Session
from kgsparql.events import Verified
from kgsparql.evidence.evidence_tree import DecisionTree
from kgsparql.evidence.verification import Verification, verify
from kgsparql.linking.words import counted


def without_lost_items(retrieval: Retrieval, session: Session) -> Retrieval:
    """The retrieval after its triples were looked up again: without the items of which some are gone."""
    found = verify(retrieval.evidence, session.graph.unlimited())
    if found.removed:
        are, them = ("is", "it") if len(found.removed) == 1 else ("are", "them")
        session.notes.append(
            f"{counted(len(found.removed), 'cited triple')} {are} not in the graph any more: "
            f"what rested on {them} is gone",
            code="triples_gone",
        )
    if (nameless := found.unknown - found.unanswered) > 0:
        have = "has" if nameless == 1 else "have"
        session.notes.append(
            f"{counted(nameless, 'cited triple')} {have} blank nodes and could not be looked up again",
            code="unverified",
        )
    if found.unanswered:
        why = _why_unanswered(found, session)
        session.notes.append(
            f"{counted(found.unanswered, 'cited triple')} could not be looked up again{why}", code="unverified"
        )
    if found.failure is not None:
        session.notes.lose(found.failure)
    if found.ended is not None:
        session.notes.end(found.ended)
    session.emit(Verified(found=found.found, removed=len(found.removed), unknown=found.unknown))
    lost = frozenset(found.lost)
    return replace(
        retrieval,
        evidence=found.evidence,
        candidates=_still_cited(retrieval.candidates, lost),
        draft=None if lost else retrieval.draft,
        tree=DecisionTree() if lost else retrieval.tree,
    )


def _why_unanswered(found: Verification, session: Session) -> str:
    """Why triples could not be looked up again, as far as no other note says it."""
    if found.ended is not None:
        return ": no time was left"
    return "" if found.failure is not None or session.graph.failures else ": the endpoint cut the results"


def _still_cited(answers: tuple[AnswerTerm, ...], lost: frozenset[str]) -> tuple[AnswerTerm, ...]:
    kept = (replace(a, markers=tuple(m for m in a.markers if m not in lost)) for a in answers)
    return tuple(a for a in kept if a.markers)
