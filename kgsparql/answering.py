"""The way of a question: link, retrieve, compose, verify. The only module that knows all of it."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from kgsparql.answer import Answer, AnswerTerm, Draft, Retrieval, Status
from kgsparql.composing import candidates_text
from kgsparql.errors import InputError, LimitError
from kgsparql.events import EvidenceFound, Finished, Verified
from kgsparql.evidence import Evidence
from kgsparql.retriever import Retriever
from kgsparql.session import Session
from kgsparql.terms import IRI, BlankNode, Literal, Term, Triple
from kgsparql.verification import verify

__all__ = ["MAX_QUESTION_CHARACTERS", "answer", "checked_question", "retrieve"]

MAX_QUESTION_CHARACTERS = 4_000

_NOTHING: dict[Status, str] = {
    "no_entity": "Nothing in the question was found in the graph.",
    "not_in_graph": "The graph holds no evidence for this question.",
    "partial": "A limit was reached before there was anything to answer with.",
    "answered": "There is evidence, but nothing in it that the question did not name already.",
}


def checked_question(text: str) -> str:
    """The question without control characters and surrounding space.

    :raises InputError: if no letter or digit is left.
    :raises LimitError: if it is longer than 4,000 characters.

    >>> checked_question(" Who? ")
    'Who?'
    """
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise LimitError(
            f"the question has {len(text):,} characters; at most {MAX_QUESTION_CHARACTERS:,}",
            hint="ask a shorter question",
        )
    kept = (" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in {"Cc", "Cs", "Cf"})
    question = " ".join("".join(kept).split())
    if not any(c.isalnum() for c in question):
        raise InputError("the question is empty", hint='write it in quotes: kgsparql ask "Who …?" -k data.ttl')
    return question


def retrieve(retriever: Retriever, session: Session) -> Retrieval:
    """Evidence for the question, verified, without an answer."""
    retrieval, _ = _verified(_retrieved(retriever, session), session)
    return replace(retrieval, notes=session.told)


def answer(retriever: Retriever, session: Session) -> Answer:
    """The whole way of one question.

    :raises CancelledError: if the session was stopped.
    """
    found = _retrieved(retriever, session)
    draft = retriever.compose(found, session) if len(found.evidence) else Draft(text="")
    retrieval, lost = _verified(found, session)
    draft = _without(draft, lost)
    status = _status(session, retrieval.evidence)
    made = Answer(
        question=session.question,
        status=status,
        text=draft.text or candidates_text(draft.answers) or _NOTHING[status],
        answers=draft.answers,
        claims=draft.claims,
        evidence=retrieval.evidence,
        linked=session.link(),
        grounding=draft.grounding,
        tree=draft.tree,
        retriever=retriever.name,
        labels=session.labels(_terms(retrieval.evidence), owed=True),
        notes=session.told,
        usage=session.usage.to_json(),
    )
    session.emit(Finished(status=status, answer=made))
    return made


def _retrieved(retriever: Retriever, session: Session) -> Retrieval:
    retrieval = Retrieval()
    with session.within_budget():
        retrieval = retriever.retrieve(session)
    session.emit(EvidenceFound(items=tuple((item.marker, item.text) for item in retrieval.evidence)))
    return retrieval


def _verified(retrieval: Retrieval, session: Session) -> tuple[Retrieval, frozenset[str]]:
    """The retrieval without what is not in the graph, and the markers that went."""
    found = verify(retrieval.evidence, session.graph.unlimited())
    if found.removed:
        session.notes.append(
            f"{len(found.removed)} cited triples are not in the graph any more: what rested on them is gone"
        )
    if found.unknown:
        session.notes.append(f"{found.unknown} cited triples have blank nodes and could not be looked up again")
    session.emit(Verified(found=found.found, removed=len(found.removed), unknown=found.unknown))
    lost = frozenset(found.lost)
    return replace(
        retrieval,
        evidence=found.evidence,
        candidates=_cited(retrieval.candidates, lost),
        draft=None if retrieval.draft is None else _without(retrieval.draft, lost),
        tree="" if lost else retrieval.tree,
    ), lost


def _cited(answers: tuple[AnswerTerm, ...], lost: frozenset[str]) -> tuple[AnswerTerm, ...]:
    """The answers that still rest on something, without the markers that went."""
    kept = (replace(a, markers=tuple(m for m in a.markers if m not in lost)) for a in answers)
    return tuple(a for a in kept if a.markers)


def _without(draft: Draft, lost: frozenset[str]) -> Draft:
    """The draft without the citations that verification took away, and without what then rests on nothing."""
    if not lost:
        return draft
    claims = (replace(c, markers=tuple(m for m in c.markers if m not in lost)) for c in draft.claims)
    return replace(draft, answers=_cited(draft.answers, lost), claims=tuple(c for c in claims if c.markers), tree="")


def _status(session: Session, evidence: Evidence) -> Status:
    if session.partial:
        return "partial"
    if not session.link():
        return "no_entity"
    return "answered" if len(evidence) else "not_in_graph"


def _terms(evidence: Evidence) -> list[Term]:
    """Every term of the evidence, once, in order."""
    terms: dict[Term, None] = {}
    for triple in evidence.triples:
        for term in (triple.subject, triple.predicate, triple.object):
            if isinstance(term, IRI | Literal | BlankNode | Triple):
                terms.setdefault(term)
    return list(terms)
