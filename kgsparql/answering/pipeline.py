"""The steps of a question, in order: link, retrieve, verify, compose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from kgsparql.answering.answer import LISTED, Answer, AnswerTerm, Draft, Gap, Retrieval, Status
from kgsparql.answering.composing import closed_book, compose_from_templates
from kgsparql.answering.entity_linking import MAX_NAMESAKES_SHOWN, EntityLinking, link_notes
from kgsparql.answering.grounding import evidence_labels
from kgsparql.answering.retrieval import without_lost_items
from kgsparql.answering.retriever import Retriever
from kgsparql.answering.session import Session
from kgsparql.answering.understanding import gaps
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, UnreachableError
from kgsparql.events import EvidenceFound, Finished
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.evidence_tree import DecisionTree, decision_tree
from kgsparql.evidence.same_as import resting_on, same_items
from kgsparql.evidence.term_labels import described_starts, descriptions_of, namesake_groups
from kgsparql.graphs.notes import Note
from kgsparql.linking.answer_type import operation_asked
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.rdf.terms import Term

_Named = TypeVar("_Named", AnswerTerm, LinkedEntity)

_NOTHING: dict[Status, str] = {
    "no_entity": "Nothing in the question was found in the graph.",
    "not_in_graph": "The graph holds no evidence for this question.",
    "partial": "A limit was reached before anything was found.",
    "answered": "There is evidence, but nothing in it that the question did not name already.",
}


_NOT_SURE = "No sure answer:"

_WAY_OUT = "search for what it is called: kgsparql find TEXT; then name it with -e IRI"
"""What to do where no entity was found."""

_ASKS_ABOUT_STATEMENTS = re.compile(r"\b(when|since|until|till|during|year|long|whom)\b", re.IGNORECASE)
"""Words that ask for something that Wikidata says about a statement, not about a thing."""
_STATEMENTS = "dates and the like of what is said were not looked at (since when, with whom): --qualifiers does"


def retrieve(retriever: Retriever, session: Session) -> Retrieval:
    """Find evidence for the question, verified, without an answer."""
    found = _with_descriptions(_verified_retrieval(retriever, session), session)
    return replace(found, notes=session.notes.lines(link_notes(session.links)))


def answer(retriever: Retriever, session: Session) -> Answer:
    """Answer one question.

    If a model or an endpoint fails when there is evidence already, the answer is made of that, and ``error`` says what
    happened. If one of several graphs fails, the answer is partial.

    :raises ModelError: if a model fails before there is any evidence.
    :raises EndpointError: if the only graph is an endpoint, and fails before there is any.
    :raises CancelledError: if the session was stopped.
    """
    found = _with_descriptions(_verified_retrieval(retriever, session), session)
    draft, error = _draft_and_error(retriever, found, session)
    draft = _with_equivalents_cited(draft, found.evidence, session)
    if draft.removed:
        session.notes.append(f"removed, since it is not in the evidence: {_removed_text(draft)}", code="made_up")
    found, draft, missing = _judged(found, draft, session, failed=error is not None)
    outcome = _status(session, found.evidence, draft, failed=error is not None)
    if missing and outcome == "answered":
        outcome = "partial"
        draft = replace(draft, text=f"{_NOT_SURE} {missing[0].text}\n{draft.text}")
        session.notes.extend(Note("not_understood", gap.text) for gap in missing[1:])
    session.notes.extend([Note("way_out", _WAY_OUT)] if outcome == "no_entity" else [])
    made = Answer(
        question=session.question,
        status="partial" if session.graph.failures else outcome,
        text=draft.text or (f"{_NOT_SURE} {missing[0].text}" if missing else _NOTHING[outcome]),
        answers=draft.answers,
        claims=draft.claims,
        evidence=found.evidence,
        linked=session.links,
        grounding=draft.grounding,
        inference=draft.inference,
        tree=draft.tree or _tree_of(found.evidence, draft, session),
        graphs=tuple(member.name for member in session.graph.members),
        retriever=retriever.used(found).name,
        model="" if session.model is None else session.model.name,
        labels=_labels(found, session),
        notes=session.notes.lines(link_notes(session.links)),
        fallbacks=tuple(session.notes.fallbacks),
        removed=draft.removed,
        is_ranked=draft.is_ranked,
        gaps=missing,
        computed=found.computed,
        error=error or session.notes.lost or next(iter(session.graph.errors.values()), None),
        usage={**session.usage.to_json(), "rounds": session.rounds},
    )
    session.emit(Finished(status=made.status, answer=made))
    return made


def _labels(found: Retrieval, session: Session) -> Mapping[Term, str]:
    computed = () if found.computed is None else found.computed.terms
    return {**session.labels(computed, in_grace=True), **evidence_labels(found.evidence, session)}


def _removed_text(draft: Draft) -> str:
    """Name what a model made up, for a note.

    >>> _removed_text(Draft("", removed=3, removed_names=("[P77]", "candidate 99")))
    '[P77], candidate 99 and 1 more'
    """
    more = draft.removed - len(draft.removed_names)
    named = ", ".join(draft.removed_names)
    return f"{named} and {more} more" if named and more else named or f"{more} of what the model cited or chose"


def _verified_retrieval(retriever: Retriever, session: Session) -> Retrieval:
    linking = EntityLinking(session)
    retrieval = Retrieval()
    with session.within_budget():
        linking.link(retriever.find_mentions(session))
        retrieval = retriever.retrieve(session)
    if not len(retrieval.evidence) and session.notes.lost is not None:
        raise session.notes.lost
    linking.link()  # where the budget ended before: an answer says what it is about
    hidden = session.graph.ignored.hidden if _ASKS_ABOUT_STATEMENTS.search(session.question) else ()
    if hidden and any(link.term in hidden for link in session.links):
        session.notes.append(_STATEMENTS, code="statements_ignored")
    retrieval = _with_equivalents(retrieval, session)
    session.emit(EvidenceFound(items=tuple((item.marker, item.text) for item in retrieval.evidence)))
    return without_lost_items(retrieval, session)


def _with_descriptions(found: Retrieval, session: Session) -> Retrieval:
    """Return the retrieval in which things of the same label (candidates, links, starts of evidence) are described.

    One query where there are such and the budget holds it, else none.
    """
    drafted = found.draft.answers if found.draft is not None else ()
    answers = (*found.candidates[:LISTED], *drafted[:LISTED])
    named = [(a.term, a.label) for a in answers]
    named += [(e.term, link.label) for link in session.links for e in (link, *link.namesakes[:MAX_NAMESAKES_SHOWN])]
    groups = namesake_groups(named)
    if not groups or session.notes.lost is not None:
        return found
    try:
        known = descriptions_of(groups, session.labels)
    except GRAPH_FAILED as error:
        session.notes.lose(error)
        return found
    except BudgetExceededError as error:
        if not session.notes.partial:
            session.notes.append(f"{error.message}: things of the same name are not told apart", code="namesakes")
        return found
    session.links = tuple(
        replace(_with_description(link, known), candidates=tuple(_with_description(c, known) for c in link.candidates))
        for link in session.links
    )

    def described(answers: tuple[AnswerTerm, ...]) -> tuple[AnswerTerm, ...]:
        return tuple(_with_description(answer, known) for answer in answers)

    draft = found.draft and replace(found.draft, answers=described(found.draft.answers))
    evidence = described_starts(found.evidence, known, session.labels)
    return replace(found, evidence=evidence, candidates=described(found.candidates), draft=draft)


def _with_description(named: _Named, descriptions: Mapping[Term, str]) -> _Named:
    return replace(named, description=descriptions.get(named.term, named.description))


def _with_equivalents(retrieval: Retrieval, session: Session) -> Retrieval:
    if not session.same or not len(retrieval.evidence):
        return retrieval
    terms = [term for same in session.same for term in same.terms]
    items = same_items(session.same, session.labels(terms, in_grace=True))
    evidence = Evidence([*retrieval.evidence, *items])
    candidates = tuple(replace(a, markers=resting_on(a.markers, evidence, session.same)) for a in retrieval.candidates)
    return replace(retrieval, evidence=evidence, candidates=candidates)


def _with_equivalents_cited(draft: Draft, evidence: Evidence, session: Session) -> Draft:
    """Have what rests on an entity of another graph also cite why that is the same as one of the question."""
    if not session.same:
        return draft
    return replace(
        draft,
        answers=tuple(replace(a, markers=resting_on(a.markers, evidence, session.same)) for a in draft.answers),
        claims=tuple(replace(c, markers=resting_on(c.markers, evidence, session.same)) for c in draft.claims),
    )


def _draft_and_error(retriever: Retriever, found: Retrieval, session: Session) -> tuple[Draft, UnreachableError | None]:
    try:
        with session.within_budget():
            if len(found.evidence) or found.draft is not None:
                return retriever.compose(found, session), None
            return closed_book(session) or Draft(""), None
    except UnreachableError as error:  # a model, but an endpoint or an embedder too: its message says which
        session.notes.append(
            f"no answer was written: {error.message}", code="model_failed", cause=f"{error.message} [{error.code}]"
        )
        return compose_from_templates(found), error
    return compose_from_templates(found), None


def _judged(
    found: Retrieval, draft: Draft, session: Session, *, failed: bool
) -> tuple[Retrieval, Draft, tuple[Gap, ...]]:
    """Return what was found and drafted, or what is computed of it, and what of the question is left out."""
    if found.computed is not None:
        return found, draft, found.gaps if draft == found.draft else ()  # a model that wrote the answer has judged it
    if (draft.text and not draft.is_ranked) or failed or session.notes.partial:
        return found, draft, ()
    missing = _gaps(found, session)
    if operation_asked(session.question) is None:
        return found, draft, missing
    from kgsparql.answering.computed import computed_beside  # with all of the plans

    computed = computed_beside(found, session, missing)
    return (found, draft, missing) if computed is None else (computed, computed.draft or draft, computed.gaps)


def _gaps(found: Retrieval, session: Session) -> tuple[Gap, ...]:
    """Tell what of the question is not accounted for; nothing, and a note, where an embedder fails over it."""
    try:
        return gaps(session, found)
    except UnreachableError as error:
        session.notes.append(f"whether this is what was asked was not checked: {error.message}", code="unchecked")
        return ()


def _tree_of(evidence: Evidence, draft: Draft, session: Session) -> DecisionTree:
    cited = evidence.keep(marker for claim in draft.claims for marker in claim.markers)
    drawn = cited if len(cited) else evidence
    return decision_tree(drawn, evidence_labels(drawn, session))


def _status(session: Session, evidence: Evidence, draft: Draft, *, failed: bool) -> Status:
    if session.notes.partial or failed:
        return "partial"
    if draft.grounding != "graph" and draft.text:
        return "answered" if draft.sufficient is not False else "not_in_graph"
    if draft.is_ungrounded:
        return "partial"
    if not session.links and not len(evidence):
        return "no_entity"
    if len(evidence) and draft.sufficient is not False:
        return "answered"
    return "not_in_graph"
