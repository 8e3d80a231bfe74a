"""The steps of a question, in order: link, retrieve, verify, compose."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from kgsparql.answering.answer import LISTED, Answer, AnswerTerm, Draft, Gap, Retrieval, Status, Support
from kgsparql.answering.composing import closed_book, compose_from_templates, evidence_labels
from kgsparql.answering.confidence import calibration, path_lead, signals_of
from kgsparql.answering.coverage import gaps
from kgsparql.answering.entity_linking import MAX_NAMESAKES_SHOWN, link_entities, link_notes
from kgsparql.answering.retriever import Retriever, without_lost_items
from kgsparql.answering.session import Session
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, UnreachableError
from kgsparql.events import EvidenceFound, Finished
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.same_as import same_items, with_reasons
from kgsparql.evidence.term_labels import described_starts, descriptions_of, namesake_groups
from kgsparql.evidence.verbalising import decision_tree
from kgsparql.graphs.notes import Note
from kgsparql.linking.linked_entity import LinkedEntity

_Named = TypeVar("_Named", AnswerTerm, LinkedEntity)

_NOTHING: dict[Status, str] = {
    "no_entity": "Nothing in the question was found in the graph.",
    "not_in_graph": "The graph holds no evidence for this question.",
    "partial": "A limit was reached before anything was found.",
    "answered": "There is evidence, but nothing in it that the question did not name already.",
}

_MAX_REMOVED_NAMES = 5  # of what a model made up
_NOT_SURE = "No sure answer:"
_WAY_OUT = "search for what it is called: kgsparql find TEXT; then name it with -e IRI"
# Words that ask for something that Wikidata says about a statement, not about a thing.
_ASKS_ABOUT_STATEMENTS = re.compile(r"\b(when|since|until|till|during|year|long|whom)\b", re.IGNORECASE)
_STATEMENTS = "dates and the like of what is said were not looked at (since when, with whom): --qualifiers does"


def retrieve(retriever: Retriever, session: Session) -> Retrieval:
    """Find evidence for the question, verified, without an answer."""
    found = _verified_retrieval(retriever, session)
    judged, draft, known = _judged_draft(found, compose_from_templates(found, session.say), session, failed=False)
    ranked = Answer(
        session.question, "partial", "", draft.answers, evidence=judged.evidence, linked=session.links,
        is_ranked=draft.is_ranked, gaps=known or (), computed=judged.computed,
    )  # fmt: skip
    confidence = _weighed_answer(ranked, judged, session, is_judged=known is not None).confidence
    return replace(found, notes=session.notes.lines(link_notes(session.links)), confidence=confidence)


def answer(retriever: Retriever, session: Session) -> Answer:
    """Answer one question.

    If a model or an endpoint fails when there is evidence already, the answer is made of that, and ``error`` says what
    happened. If one of several graphs fails, the answer is partial.

    :raises UnreachableError: if a model, or the only graph, fails before there is any evidence.
    :raises CancelledError: if the session was stopped.
    """
    found = _verified_retrieval(retriever, session)
    draft, error = _draft_and_error(retriever, found, session)
    if draft.removed:
        session.notes.append(f"removed, since it is not in the evidence: {_removed_text(draft)}", code="made_up")
    found, draft, known = _judged_draft(found, draft, session, failed=error is not None)
    missing = tuple(_in_own_words(gap, session) for gap in known or ())
    outcome = _answer_status(session, found.evidence, draft, failed=error is not None)
    if missing and (outcome == "answered" or (draft.text and outcome == "not_in_graph")):
        outcome = "partial" if outcome == "answered" else outcome
        draft = replace(draft, text=f"{_not_sure(missing[0], session)}\n{draft.text}".rstrip())
        session.notes.extend(Note("not_understood", gap.text) for gap in missing[1:])
    if outcome == "no_entity":
        session.notes.extend([Note("way_out", _WAY_OUT)])
    labels = evidence_labels(found.evidence, session, besides=found.computed.terms if found.computed else ())
    made = Answer(
        question=session.original,
        status="partial" if session.graph.failures else outcome,
        text=draft.text or (_not_sure(missing[0], session) if missing else session.say(_NOTHING[outcome])),
        answers=draft.answers,
        claims=draft.claims,
        evidence=found.evidence,
        linked=tuple(_at_own_place(link, session) for link in session.links),
        grounding=draft.grounding,
        inference=draft.inference,
        tree=draft.tree or decision_tree(_drawn_items(found.evidence, draft), labels),
        graphs=tuple(member.name for member in session.graph.members),
        retriever=retriever.used(found).name,
        model="" if session.model is None else session.model.name,
        labels=labels,
        notes=session.notes.lines(link_notes(session.links)),
        fallbacks=tuple(session.notes.fallbacks),
        removed=draft.removed,
        is_ranked=draft.is_ranked,
        gaps=missing,
        computed=found.computed,
        error=error or session.notes.lost or next(iter(session.graph.errors.values()), None),
        usage={**session.usage.to_json(), "rounds": session.rounds},
    )
    made = _weighed_answer(made, found, session, is_judged=known is not None)
    session.emit(Finished(status=made.status, answer=made))
    return made


def _not_sure(gap: Gap, session: Session) -> str:
    return f"{session.say(_NOT_SURE)} {gap.text}"


def _in_own_words(gap: Gap, session: Session) -> Gap:
    """Tell what is left out of a question in its own language and words, where it was read in English."""
    if (read := session.translation) is None:
        return gap
    words = read.original_words(gap.words)  # first: `no` may be a word of the question, or what is said
    values = tuple(words if own == gap.words else own for own in gap.values)  # others are labels of the graph
    return replace(gap, words=words, values=values).translated(session.sentences)


def _at_own_place(link: LinkedEntity, session: Session) -> LinkedEntity:
    """Tell where in the question as it was asked a name stands."""
    if session.translation is None or link.mention.start < 0:
        return link
    start, end = session.translation.place_of(link.mention.start, link.mention.end)
    return replace(link, mention=replace(link.mention, text=session.original[start:end], start=start, end=end))


def _weighed_answer(made: Answer, found: Retrieval, session: Session, *, is_judged: bool) -> Answer:
    """Return the answer with its confidence; with a doubt, where nothing else is in doubt and it is not enough.

    :param is_judged: the gaps are all that it leaves out; else that was not checked.
    """
    own, support = calibration(), found.support or Support(path_lead=path_lead(found))
    gaps = made.gaps if is_judged and not session.notes.partial else None
    signals = signals_of(support, gaps, made.best, is_computed=made.computed is not None)
    confidence = 0.0 if made.status == "no_entity" else own.probability(signals)
    made = replace(made, confidence=confidence, signals=signals)
    if made.status != "answered" or made.gaps or confidence >= max(session.min_confidence, own.sure * is_judged):
        return made
    values = (f"{100 * confidence:.0f}", own.weakest(signals))
    gap = Gap("confidence", "", "it is {} % likely to be right: {}", values).translated(session.sentences)
    return replace(made, status="partial", gaps=(gap,), text=f"{_not_sure(gap, session)}\n{made.text}")


def _drawn_items(evidence: Evidence, draft: Draft) -> list[EvidenceItem]:
    """Choose what the tree shows: what is cited where somebody chose, else everything; no passages."""
    cited = evidence.keep(marker for claim in draft.claims for marker in claim.markers)
    drawn = cited if len(cited) and not draft.is_ranked else evidence
    return [item for item in drawn if item.kind != "passage"]


def _removed_text(draft: Draft) -> str:
    """Name what a model made up, for a note.

    >>> _removed_text(Draft("", removed=3, removed_names=("[P77]", "candidate 99")))
    '[P77], candidate 99 and 1 more'
    """
    names = draft.removed_names[:_MAX_REMOVED_NAMES]
    more, named = draft.removed - len(names), ", ".join(names)
    return f"{named} and {more} more" if named and more else named or f"{more} of what the model cited or chose"


def _verified_retrieval(retriever: Retriever, session: Session) -> Retrieval:
    """Link, retrieve, look up again, and tell apart what has the same name."""
    found = Retrieval()
    with session.within_budget():
        link_entities(session, retriever.find_mentions(session))
        found = retriever.retrieve(session)
    if not len(found.evidence) and session.notes.lost is not None:
        raise session.notes.lost
    link_entities(session)  # where the budget ended before: an answer says what it is about
    hidden = session.graph.ignored.hidden if _ASKS_ABOUT_STATEMENTS.search(session.question) else ()
    if hidden and any(link.term in hidden for link in session.links):
        session.notes.append(_STATEMENTS, code="statements_ignored")
    if session.same and len(found.evidence):
        labels = session.labels((term for same in session.same for term in same.terms), in_grace=True)
        found = replace(found, evidence=Evidence([*found.evidence, *same_items(session.same, labels)]))
    session.emit(EvidenceFound(items=tuple((item.marker, item.text) for item in found.evidence)))
    return _with_descriptions(without_lost_items(found, session), session)


def _with_descriptions(found: Retrieval, session: Session) -> Retrieval:
    """Describe things of the same label: candidates, links, starts of evidence; one query where there are such."""
    drafted = found.draft.answers if found.draft is not None else ()
    named = [(answer.term, answer.label) for some in (found.candidates, drafted) for answer in some[:LISTED]]
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

    def described(some: tuple[_Named, ...]) -> tuple[_Named, ...]:
        return tuple(replace(one, description=known.get(one.term, one.description)) for one in some)

    session.links = described(tuple(replace(link, candidates=described(link.candidates)) for link in session.links))
    draft = found.draft and replace(found.draft, answers=described(found.draft.answers))
    evidence = described_starts(found.evidence, known, session.labels)
    return replace(found, evidence=evidence, candidates=described(found.candidates), draft=draft)


def _draft_and_error(retriever: Retriever, found: Retrieval, session: Session) -> tuple[Draft, UnreachableError | None]:
    draft, failure = None, None
    try:
        with session.within_budget():
            if len(found.evidence) or found.draft is not None:
                draft = retriever.compose(found, session)
            else:
                draft = closed_book(session) or Draft("")
    except UnreachableError as error:  # a model, but an endpoint or an embedder too: its message says which
        failure, cause = error, f"{error.message} [{error.code}]"
        session.notes.append(f"no answer was written: {error.message}", code="model_failed", cause=cause)
    draft = draft or compose_from_templates(found, session.say)
    answers, claims = (with_reasons(some, found.evidence, session.same) for some in (draft.answers, draft.claims))
    return replace(draft, answers=answers, claims=claims), failure


def _judged_draft(
    found: Retrieval, draft: Draft, session: Session, *, failed: bool
) -> tuple[Retrieval, Draft, tuple[Gap, ...] | None]:
    """Return what was found and drafted, or what is computed of it, and what of the question is left out.

    ``None`` for the latter where that was not checked: a model that wrote the answer has judged it.
    """
    if found.computed is not None:
        return found, draft, found.gaps if draft == found.draft else None
    if found.is_judged:
        return found, draft, found.gaps
    if (draft.text and not draft.is_ranked) or failed or session.notes.partial:
        return found, draft, None
    try:
        missing = gaps(session, found)
    except UnreachableError as error:  # an embedder
        session.notes.append(f"whether this is what was asked was not checked: {error.message}", code="unchecked")
        return found, draft, None
    if any(gap.code == "operation" for gap in missing):
        from kgsparql.answering.planned import counted_beside  # with all of the plans

        if counted := counted_beside(found, session, missing):
            return counted, counted.draft or draft, counted.gaps
    return found, draft, missing


def _answer_status(session: Session, evidence: Evidence, draft: Draft, *, failed: bool) -> Status:
    if session.notes.partial or failed:
        return "partial"
    is_written, is_enough = draft.grounding != "graph" and bool(draft.text), draft.sufficient is not False
    if draft.is_ungrounded and not is_written:
        return "partial"
    if is_written or len(evidence):
        return "answered" if is_enough else "not_in_graph"
    return "not_in_graph" if session.links else "no_entity"
