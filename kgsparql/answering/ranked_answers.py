"""Ranked answers: every end of the evidence in order."""

from __future__ import annotations

from itertools import islice
from typing import cast

from kgsparql.answering.answer import AnswerTerm
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.path_expansion import LABELLED
from kgsparql.evidence.term_labels import name_by_itself
from kgsparql.rdf.terms import IRI, Term

_AS_GOOD = 0.05
"""What an item may score less than the best about the same entity, and read the question as well.

With it, 5 of 539 questions of five data sets gained a right first answer and none lost one (path ranking, no model). It
is the distance below which the two best readings of a question are called uncertain.
"""


def answers_at_ends(evidence: Evidence, session: Session) -> tuple[AnswerTerm, ...]:
    """Every end of the items that have any, once: in the order of the best item each is an end of, then of its ends.

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
