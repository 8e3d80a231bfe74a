"""The way of a question: link, retrieve, compose, verify. The only module that knows all of it."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from kgsparql.answer import Answer, Draft, Retrieval, Status
from kgsparql.composing import candidates_text
from kgsparql.errors import InputError, LimitError
from kgsparql.events import EvidenceFound, Finished, Verified
from kgsparql.evidence import Evidence
from kgsparql.retriever import Retriever
from kgsparql.session import Session
from kgsparql.terms import IRI, BlankNode, Literal, Term, Triple
from kgsparql.verification import Verification, verify

__all__ = ["MAX_QUESTION_CHARACTERS", "answer", "checked_question", "retrieve"]

MAX_QUESTION_CHARACTERS = 4_000


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
    retrieval = _retrieved(retriever, session)
    evidence = _verified(retrieval.evidence, session).evidence
    return replace(retrieval, evidence=evidence, notes=tuple(session.notes))


def answer(retriever: Retriever, session: Session) -> Answer:
    """The whole way of one question.

    :raises CancelledError: if the session was stopped.
    """
    retrieval = _retrieved(retriever, session)
    draft = Draft(text="")
    if len(retrieval.evidence):
        draft = retriever.compose(retrieval, session)
    verification = _verified(retrieval.evidence, session)
    draft = _without(draft, verification)
    status = _status(session, verification.evidence)
    made = Answer(
        question=session.question,
        status=status,
        text=draft.text or candidates_text(draft.answers) or _nothing(status),
        answers=draft.answers,
        claims=draft.claims,
        evidence=verification.evidence,
        linked=session.link(),
        grounding=draft.grounding,
        tree=draft.tree,
        retriever=retriever.name,
        labels=session.labels(_terms(verification.evidence)),
        notes=tuple(session.notes),
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


def _verified(evidence: Evidence, session: Session) -> Verification:
    verification = verify(evidence, session.graph.unlimited())
    removed, unknown = len(verification.removed), verification.unknown
    if removed:
        session.notes.append(f"{removed} cited triples are no longer in the graph: what rested on them was removed")
    if unknown:
        session.notes.append(f"{unknown} cited triples have blank nodes and could not be looked up again")
    session.emit(Verified(found=verification.found, removed=removed, unknown=unknown))
    return verification


def _without(draft: Draft, verification: Verification) -> Draft:
    """The draft without the citations that verification took away, and without what then rests on nothing."""
    if not verification.lost:
        return draft
    lost = set(verification.lost)
    answers = tuple(replace(a, markers=tuple(m for m in a.markers if m not in lost)) for a in draft.answers)
    claims = tuple(replace(c, markers=tuple(m for m in c.markers if m not in lost)) for c in draft.claims)
    return replace(
        draft, answers=tuple(a for a in answers if a.markers), claims=tuple(c for c in claims if c.markers), tree=""
    )


def _status(session: Session, evidence: Evidence) -> Status:
    if session.partial:
        return "partial"
    if not session.link():
        return "no_entity"
    return "answered" if len(evidence) else "not_in_graph"


def _nothing(status: Status) -> str:
    if status == "no_entity":
        return "Nothing in the question was found in the graph."
    return "The graph holds no evidence for this question."


def _terms(evidence: Evidence) -> list[Term]:
    """Every term of the evidence, once, in order."""
    terms: dict[Term, None] = {}
    for triple in evidence.triples:
        for term in (triple.subject, triple.predicate, triple.object):
            if isinstance(term, IRI | Literal | BlankNode | Triple):
                terms.setdefault(term)
    return list(terms)
