"""What a method found, on its way to an answer: its ends ranked, and its triples looked up again."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import cast

from kgsparql.answering.answer import AnswerTerm, Retrieval
from kgsparql.answering.session import Session
from kgsparql.events import Verified
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.evidence_tree import DecisionTree
from kgsparql.evidence.path_expansion import LABELLED
from kgsparql.evidence.term_labels import name_by_itself
from kgsparql.evidence.verification import Verification, verify
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import IRI, Term

_AS_GOOD = 0.05
"""What an item may score less than the best about the same entity, and read the question as well.

With it, 5 of 539 questions of five data sets gained a right first answer and none lost one (path ranking, no model). It
is the distance below which the two best readings of a question are called uncertain.
"""


def answers_at_ends(evidence: Evidence, session: Session) -> tuple[AnswerTerm, ...]:
    """Rank every end of the items once: by the best item that each is an end of, then as its ends are ordered.

    What the best items of several entities of the question lead to comes first: who was in a film with both, not with
    one of them. An item that reads the question less well than another about the same entity says nothing of the kind.
    What the question names itself comes last: it is hardly what is asked for.

    :return: each with that item's score and the markers of all items it is an end of.
    """
    markers: dict[Term, list[str]] = {}
    scores: dict[Term, float] = {}
    topics: dict[Term, set[Term]] = {}
    best: dict[Term, float] = {}
    mentioned = {meant.term: link.term for link in session.links for meant in (*link.candidates, link)}
    mentioned |= {same.other: same.term for same in session.same}
    for item in sorted(evidence, key=lambda item: -item.score):
        about = {mentioned.get(cast("IRI", way.start), way.start) for way in item.ways[:1]}
        leading = {topic for topic in about if item.score >= best.setdefault(topic, item.score) - _AS_GOOD}
        for end in item.ends:
            markers.setdefault(end, []).append(item.marker)
            scores.setdefault(end, item.score)
            topics.setdefault(end, set()).update(leading)
    named = {link.term for link in session.links}
    markers = dict(sorted(markers.items(), key=lambda found: (found[0] in named, -len(topics[found[0]]))))
    labels = session.labels(islice(markers, LABELLED), in_grace=True)
    return tuple(
        AnswerTerm(end, labels.get(end) or name_by_itself(end, str(end)), scores[end], tuple(own))
        for end, own in markers.items()
    )


def without_lost_items(retrieval: Retrieval, session: Session) -> Retrieval:
    """Return the retrieval after its triples were looked up again: without the items of which some are gone."""
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
