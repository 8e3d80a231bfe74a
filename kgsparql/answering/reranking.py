"""Reranking: all the evidence is put in a better order, once, at the end. An option of every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgsparql.answering.answer import LISTED, AnswerTerm, Retrieval
from kgsparql.answering.choosing import Candidate, Choice
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.rdf.terms import printable

MOST_RERANKED = LISTED
"""Pieces of evidence that may be chosen to come first: as many as a model is shown."""

PURPOSE = "pieces of evidence"

_TEXT = 300  # characters of an item that whoever chooses reads


def reranked_retrieval(retrieval: Retrieval, session: Session, *, first: int) -> Retrieval:
    """The same evidence, the pieces that a model (or an oracle) chooses first; the others follow as they were.

    Markers stay. The candidates are put in the order of the best item that each is in. Everything stays as it is where
    a draft is written already, where there is no call to spare, and where nobody but the ranker would choose: it has
    no better order than the method's own (measured, it has a worse one).

    :raises ModelError: if a model cannot be reached, fails or refuses.
    """
    items = list(retrieval.evidence)
    if len(items) < 2 or retrieval.draft is not None:
        return retrieval
    if session.chooser is None and session.model is None:
        session.notes.append("the evidence was not put in another order: there is no model", code="not_reranked")
        return retrieval
    if session.chooser is None and not session.can_spare_call(PURPOSE):
        return retrieval
    listed = [
        Candidate(
            i,
            printable(item.sourced_text, _TEXT),
            score=-float(i),
            path=next((path.property_path for path in item.paths), None),
        )
        for i, item in enumerate(items)
    ]
    chosen = session.choose.choose(session.question, listed, PURPOSE, first)
    return _in_order(retrieval, items, [choice for choice in chosen if choice.chosen_by != "ranker"])


def _in_order(retrieval: Retrieval, items: Sequence[EvidenceItem], chosen: Sequence[Choice]) -> Retrieval:
    """The retrieval with the chosen items first, scored above all others."""
    if not chosen:
        return retrieval
    places = [choice.candidate.number for choice in chosen]
    places += [i for i in range(len(items)) if i not in set(places)]
    scores = {item.marker: item.score for item in items}
    beside = {c: c.score - scores[c.markers[0]] for c in retrieval.candidates}
    most = max(map(abs, beside.values()), default=0.0)
    best = max([*scores.values(), *(c.score for c in retrieval.candidates)])
    for n, choice in enumerate(chosen):
        scores[items[choice.candidate.number].marker] = best + (len(chosen) - n) * (1 + 2 * most)
    ordered = {items[i].marker: place for place, i in enumerate(places)}
    moved = [_moved(c, ordered, scores, beside[c]) for c in retrieval.candidates]
    return replace(
        retrieval,
        evidence=Evidence(replace(items[i], score=scores[items[i].marker]) for i in places),
        candidates=tuple(sorted(moved, key=lambda c: (ordered[c.markers[0]], -c.score))),
    )


def _moved(candidate: AnswerTerm, ordered: Mapping[str, int], scores: Mapping[str, float], beside: float) -> AnswerTerm:
    """A candidate with the score of its new best item; its distance to the score of its best item stays."""
    markers = tuple(sorted(candidate.markers, key=lambda marker: ordered[marker]))
    return replace(candidate, markers=markers, score=scores[markers[0]] + beside)
