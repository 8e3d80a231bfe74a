"""The steps of a question, in order: link, retrieve, verify, compose."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from kgsparql.answering.answer import LISTED, Answer, AnswerTerm, Draft, Retrieval, Status
from kgsparql.answering.choices import chosen_by_number, with_choices
from kgsparql.answering.confidence import calibration, guarantee, signals_of, support_of_path
from kgsparql.answering.coverage import gaps
from kgsparql.answering.entity_linking import MAX_NAMESAKES_SHOWN, link_entities, link_notes
from kgsparql.answering.kinds_found import (
    class_gaps,
    restriction_gaps,
    unused_words,
)
from kgsparql.answering.readings import HELD, NONE_FITS, chosen_reading, shown_terms, weighed_choice
from kgsparql.answering.retriever import Retriever, evidence_labels, without_lost_items
from kgsparql.answering.said_source import sources_named
from kgsparql.answering.session import Session
from kgsparql.errors import GRAPH_FAILED, MODEL_FAILED, BudgetExceededError, QueryError, UnreachableError
from kgsparql.events import Drafted, EvidenceFound, Finished, ignore
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.evidence.same_as import same_items, with_reasons
from kgsparql.evidence.term_labels import described_starts, descriptions_of, namesake_groups
from kgsparql.evidence.verbalising import decision_tree
from kgsparql.graphs.notes import Note
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import words_of
from kgsparql.rdf.terms import IRI, Labels, Term, distinct, first_of
from kgsparql.rdf.vocabulary import RDF_TYPE, is_unknown
from kgsparql.reading.gaps import Gap, held_by_none, held_in, other_kind
from kgsparql.reading.translation import Translation

_Named = TypeVar("_Named", AnswerTerm, LinkedEntity)

_NOTHING: dict[Status, str] = {
    "no_entity": "Nothing in the question was found in the graph.",
    "not_in_graph": "Nothing in this graph",
    "partial": "A limit was reached before anything was found.",
    "answered": "There is evidence, but nothing in it that the question did not name already.",
}

_NOT_SURE = "No sure answer:"
_MOST_TOLD = 4  # answers behind which stands what their graphs were made of; of more, only the names
NO_EVIDENCE = other_kind("more than this graph says of it", "nothing")
_WAY_OUT = "ask again with a name as the graph has it: kgsparql find TEXT finds it, and -e IRI names it"


def retrieve(retriever: Retriever, session: Session) -> Retrieval:
    """Find evidence for the question, verified, without an answer."""
    session.only_evidence = True
    found, session, _ = _found_in_session(retriever, session)
    judged, draft, known = _judged_draft(found, retriever.compose(found, session), session)
    ranked = Answer(
        session.question, "answered", "", draft.answers, evidence=judged.evidence, linked=session.links,
        is_ranked=draft.is_ranked, gaps=known or (), computed=judged.computed,
    )  # fmt: skip
    weighed = _weighed_answer(ranked, judged, session, is_judged=known is not None)
    notes = session.notes.lines(link_notes(session))
    return replace(found, notes=notes, gaps=weighed.gaps, confidence=weighed.confidence)


def answer(retriever: Retriever, session: Session) -> Answer:
    """Answer one question: without a model first, then by the reading that a model chooses, where there is one.

    If a model fails, what was found without it is the answer. If an endpoint fails when there is evidence already, the
    answer is made of that, and ``error`` says what happened.

    :raises UnreachableError: if the only graph fails before there is any evidence; if a model fails that is required.
    :raises CancelledError: if the session was stopped.
    """
    found, session, first = _found_in_session(retriever, session, drafts=True)
    made = _answer_of(found, retriever, session)
    if first is not None and _wants_readings(made, session) and not session.notes.partial:
        made = with_choices(made, first, session)
    if session.guarantee and not session.reading:
        made = _guaranteed_answer(made, session)
    session.emit(Finished(status=made.status, answer=made))
    return made


def _found_in_session(
    retriever: Retriever, session: Session, *, drafts: bool = False
) -> tuple[Retrieval, Session, Retrieval | None]:
    """Return what is found; the session of it; and what was found without a model, unless that or a person chose.

    :param drafts: the answer without the model is emitted before it is asked.
    """
    again, drafting = session.anew(), replace(session, model=None)
    found = _verified_retrieval(retriever, drafting)
    if session.reading:
        chosen = chosen_by_number(session.reading, found, drafting)
        return _with_descriptions(without_lost_items(chosen, drafting), drafting), drafting, None
    if session.model is None or session.notes.partial:
        return found, drafting, found
    drafted = _answer_of(found, retriever, drafting.anew()) if drafts else None
    if drafted is not None:
        session.emit(Drafted(status=drafted.status, answer=drafted))
    if session.admit is not None:
        trust, told = session.admit()
        for one in (drafting, again):
            one.trust = trust
            one.notes.extend([] if told is None else [told])
        if trust is None or not trust.chooses:
            return found, drafting, found
    standing = drafting.anew()  # what is done for the model from here on is no matter of the draft
    asking = again if retriever.asks_on_the_way else replace(drafting, model=session.model)
    asking.is_draft_sure = drafted is not None and drafted.status == "answered"
    try:
        made = _chosen_retrieval(retriever, found, asking)
    except (*GRAPH_FAILED, *MODEL_FAILED, BudgetExceededError) as error:
        if session.require_model:
            raise
        return found, _standing_draft(standing, asking, error.message, f"{error.message} [{error.code}]"), found
    if asking.notes.partial and not session.require_model:
        return found, _standing_draft(standing, asking, asking.notes.why_partial), found
    if made is not None:
        is_other = shown_terms(made) != shown_terms(found)
        left = replace(standing, model=session.model, rounds=asking.rounds)
        said = f"{left.asked_model} was not tried out, and reads this otherwise: "
        left.notes.extend(Note("untried", said + item.text) for item in [*made.evidence][:is_other])
        is_left = False
        if drafted is not None and asking.trust is None and not retriever.asks_on_the_way:
            is_left = _stands_before(drafted, _answer_of(made, retriever, asking.anew()), is_other=is_other)
        return (found, left, found) if is_left else (made, asking, None)
    asked = replace(drafting, model=session.model, rounds=asking.rounds)
    if found.candidates and asking.is_trusted:
        return replace(found, gaps=(*found.gaps, NONE_FITS)), asked, found
    asked.notes.append(NONE_FITS.text, code="nothing_chosen")
    return found, asked, found


def _standing_draft(standing: Session, asking: Session, why: str, cause: str = "") -> Session:
    """Return the session of the draft, which stands, with a note that says why."""
    what = f"{asking.asked_model} did not help, the answer is the one without it: {why}"
    standing.notes.append(what, code="model_failed", cause=cause)
    standing.notes.fallbacks += [one for one in asking.notes.fallbacks if one not in standing.notes.fallbacks]
    return replace(standing, rounds=asking.rounds)


def _stands_before(drafted: Answer, read: Answer, *, is_other: bool) -> bool:
    """Tell whether a draft stands before what a model reads that was not tried out.

    It does where it is sure, and where it leaves less in doubt; of as much, where it is likelier.
    """
    own, other = ((sum(gap.code != "model" for gap in one.gaps), -one.confidence) for one in (drafted, read))
    return (is_other and drafted.sure) or (bool(drafted.answers) and own < other)


def _chosen_retrieval(retriever: Retriever, found: Retrieval, session: Session) -> Retrieval | None:
    """Return what the reading comes to that a model chooses; ``None`` where it chooses none."""
    if retriever.asks_on_the_way:
        asked = _verified_retrieval(retriever, session)
        if asked.draft is None:
            return None
        is_one = len({own.markers for own in asked.draft.answers}) < 2
        return weighed_choice(asked, found, session, is_one=is_one)
    made = chosen_reading(retriever, found, session)
    return None if made is None else _with_descriptions(without_lost_items(made, session), session)


def _answer_of(found: Retrieval, retriever: Retriever, session: Session) -> Answer:
    """Make the answer of what was found, with what of the question it leaves out."""
    graph, notes = session.graph, session.notes
    draft = retriever.compose(found, session)
    if session.same:
        answers, claims = (with_reasons(some, found.evidence, session.same) for some in (draft.answers, draft.claims))
        draft = replace(draft, answers=answers, claims=claims)
    found, draft, known = _judged_draft(found, draft, session)
    missing = distinct(_in_own_words(gap, session) for gap in known or ())
    outcome = _answer_status(session, found, draft)
    if known is not None and outcome == "answered":  # all other words were read
        unread = {*words_of(" ".join(gap.words for gap in known))}
        told = [one for one in notes.texts if unread.isdisjoint(words_of(one.split(";")[0]))]
        notes.drop(MISSING_NAME, told)
    if outcome == "not_in_graph" and not (len(found.evidence) or draft.text):  # an empty plan is evidence
        missing = missing or (_in_own_words(NO_EVIDENCE, session),)
    if missing and outcome in {"answered", "not_in_graph"}:
        is_none = outcome == "not_in_graph"  # which is not said where it is doubted
        shown = "\n".join(draft.text.splitlines()[is_none:])
        outcome, draft = "partial", replace(draft, text=f"{_not_sure(missing[0], session)}\n{shown}".rstrip())
        notes.extend(Note("not_understood", gap.text) for gap in missing[1:2])
    if outcome == "no_entity":
        notes.extend([Note("way_out", session.say(_WAY_OUT))])
    labels = evidence_labels(found.evidence, session, besides=found.computed.terms if found.computed else ())
    text = draft.text or (_not_sure(missing[0], session) if missing else session.say(_NOTHING[outcome]))
    made = Answer(
        question=session.original, status=outcome,
        text=text, answers=draft.answers, claims=draft.claims, evidence=found.evidence,
        linked=session.links if (read := session.wording) is None
        else tuple(_at_own_place(link, read) for link in session.links),
        grounding=draft.grounding, inference=draft.inference, own_steps=draft.own_steps,
        tree=draft.tree or decision_tree(_drawn_items(found.evidence, draft), labels),
        graphs=(graph.name,),
        digest=graph.fingerprint if graph.is_as_loaded else "",
        retriever=retriever.used(found).name, model=session.asked_model, trust=session.trust, labels=labels,
        notes=notes.lines(link_notes(session)), fallbacks=tuple(notes.fallbacks),
        is_ranked=draft.is_ranked, gaps=missing, computed=found.computed,
        error=notes.lost,
        usage={**graph.usage.to_json(), "rounds": session.rounds},
        language=session.language,
        they=None if session.those is None or session.those.kind is None else session.those.items,  # else of nobody
    )  # fmt: skip
    return _weighed_answer(made, found, session, is_judged=known is not None)


def _not_sure(gap: Gap, session: Session) -> str:
    return f"{session.say(_NOT_SURE)} {gap.text}"


def _in_own_words(gap: Gap, session: Session) -> Gap:
    """Tell what is left out of a question in its own language and words, where it was read in English."""
    if (read := session.wording) is None:
        return gap
    words = read.original_words(gap.words)  # first: `no` may be a word of the question, or what is said
    values = tuple(words if own == gap.words else own for own in gap.values)  # others are labels of the graph
    return replace(gap, words=words, values=values).translated(session.sentences)


def _at_own_place(link: LinkedEntity, read: Translation) -> LinkedEntity:
    """Tell where in the question as it was asked a name stands."""
    if link.mention.start < 0:
        return link
    start, end = read.place_of(*link.mention.place)
    return replace(link, mention=replace(link.mention, text=read.original[start:end], start=start, end=end))


def _weighed_answer(made: Answer, found: Retrieval, session: Session, *, is_judged: bool) -> Answer:
    """Return the answer with its confidence; with a doubt, where nothing else is in doubt and it is not enough.

    :param is_judged: the gaps are all that it leaves out; else that was not checked.
    """
    own, support = calibration(), found.support or support_of_path(found)
    unlike = list[Gap]()
    is_whole = is_judged and not session.notes.partial  # before a look at classes, which may fail
    with session.within_budget(), suppress(QueryError):
        if session.reading:  # a person has read what it leaves out
            return replace(made, confidence=own.probability(signals_of(support, (), made.best, is_computed=False)))
        unlike += class_gaps(_asked_for(made, session) if made.status == "answered" else [], session)
        unlike += unused_words(made, session) if made.status in {"answered", "not_in_graph"} else ()
        is_none = made.status == "answered" and {one.label for one in made.best} <= {"false", "0"}
        unlike += restriction_gaps(session) if is_none or made.status == "not_in_graph" else ()
    gaps = (*made.gaps, *unlike) if is_whole else None
    signals = signals_of(support, gaps, made.best, is_computed=made.computed is not None)
    confidence = 0.0 if made.status == "no_entity" else own.probability(signals)
    made = replace(made, confidence=confidence, signals=signals)
    is_enough = not unlike and confidence >= max(session.min_confidence, own.sure * is_judged)
    if (made.status != "answered" and not unlike) or made.gaps or is_enough:
        return made
    doubts = distinct(_in_own_words(one, session) for one in unlike or [own.doubt(signals)])
    return _doubted_answer(made, doubts, session)


def _asked_for(made: Answer, session: Session) -> list[Term]:
    """List what is asked for: of things found before, what stands beside them."""
    found = made.computed
    if session.those is not None and found is not None and found.is_table:
        return [end for *_, end in found.rows if end is not None]
    return [one.term for one in made.best]


def _doubted_answer(made: Answer, doubts: tuple[Gap, ...], session: Session) -> Answer:
    """Return an answer in doubt: its first line says the first one, and nothing says any longer that it is none."""
    shown = "\n".join(made.text.splitlines()[made.status == "not_in_graph" or bool(made.gaps) :])
    return replace(made, status="partial", gaps=doubts, text=f"{_not_sure(doubts[0], session)}\n{shown}".rstrip())


def _wants_readings(made: Answer, session: Session) -> bool:
    """Tell whether readings are to be listed: under a doubt, or where the answer alone is not guaranteed."""
    if session.guarantee:
        return not (made.sure and guarantee().size(made.signals, 1, session.guarantee))
    return session.choices and bool(made.gaps)


def _guaranteed_answer(made: Answer, session: Session) -> Answer:
    """Keep as few readings as hold the right one as often as was asked for; where all are too few, none.

    A sure answer stays where one is enough. That nothing is in the graph is no reading: it is sure, or nothing is.
    """
    if made.status == "no_entity":
        return made
    percent, listed = session.guarantee, 1 if made.status == "not_in_graph" else max(made.sure, len(made.choices))
    is_whole = (made.sure or bool(made.gaps)) and not session.notes.partial
    size = guarantee().size(made.signals, listed, percent) if is_whole else 0
    if size == 1 and made.sure:
        told = Note("guarantee", f"answers that are as sure are right in {percent} of 100 questions")
        return replace(made, choices=(), guarantee=percent, notes=(*made.notes, told))
    why = (*made.gaps, _in_own_words(calibration().doubt(made.signals), session))[0]
    if size:
        gap, notes = held_in(percent), (*made.notes, Note("not_understood", why.text))
        made = replace(made, choices=made.choices[:size], guarantee=percent, notes=notes)
    else:
        gap = held_by_none(percent, why.text)
        made = replace(made, text="", answers=(), claims=(), choices=(), computed=None, confidence=0.0)
    return _doubted_answer(made, (_in_own_words(gap, session), *made.gaps), session)


def _drawn_items(evidence: Evidence, draft: Draft) -> list[EvidenceItem]:
    """Choose what the tree shows: what is cited where somebody chose, else everything; no passages."""
    markers = () if draft.is_ranked else chain.from_iterable(claim.markers for claim in draft.claims)
    return [item for item in evidence.keep(markers) or evidence if item.kind != "passage"]


def _verified_retrieval(retriever: Retriever, session: Session) -> Retrieval:
    """Link, retrieve, look up again, and tell apart what has the same name."""
    found = Retrieval()
    with session.within_budget():
        if not session.graph.is_embedded:  # what it declares is read before anything is asked of it
            _ = session.vocabulary
        link_entities(session, retriever.find_mentions(session))
        found = retriever.retrieve(session)
    if not len(found.evidence) and session.notes.lost is not None:
        raise session.notes.lost
    link_entities(session)  # where the budget ended before: an answer says what it is about
    if session.same and len(found.evidence):
        labels = session.labels(term for path in session.same for term in (*path.terms, path.hops[0].triple.predicate))
        found = replace(found, evidence=Evidence([*found.evidence, *same_items(session.same, labels)]))
    if session.emit is not ignore:
        session.emit(EvidenceFound(items=tuple((item.marker, item.text) for item in found.evidence)))
    return _with_sources(_with_descriptions(without_lost_items(found, session), session), session)


def _with_sources(found: Retrieval, session: Session) -> Retrieval:
    """Say of answers that stand in different named graphs which of these says each."""
    drafted = found.draft.answers if found.draft is not None else ()
    first = first_of(drafted or found.candidates)
    led = [item for item in found.evidence if first is not None and item.marker in first.markers]
    ways = {item.property_path for item in led if item.paths}
    led += [item for item in found.evidence if item.paths and item.property_path in ways and item not in led]
    markers = {item.marker for item in led}
    alike = [one for one in (drafted or found.candidates) if not markers.isdisjoint(one.markers)]
    every = [triple for item in led for triple in item.triples]
    cited = [own for own in every if own.triple.predicate != RDF_TYPE] or every
    said = {
        one.term: {source.named_graph for own in cited if one.term in own.triple for source in own.sources}
        for one in alike
    }
    graphs = sorted({IRI(name) for names in said.values() for name in names if name}, key=str)
    if not graphs or len({*map(frozenset, said.values())}) == 1 or None in set().union(*said.values()):
        return found
    label = (
        session.labels(graphs)
        if len(alike) > _MOST_TOLD
        else sources_named(session.graph, graphs, session.labels.languages)
    )
    known = {term: ", ".join(label[one] for one in graphs if one.value in names) for term, names in said.items()}
    return _described_answers(found, known)


def _with_descriptions(found: Retrieval, session: Session) -> Retrieval:
    """Describe things of the same label: candidates, links, starts of evidence; one query where there are such."""
    drafted = found.draft.answers if found.draft is not None else ()
    listed = (one for some in (found.candidates, drafted) for one in some[:LISTED] if not is_unknown(one.term))
    named: list[tuple[Term, str]] = [(one.term, one.label) for one in listed]
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
    links = (replace(link, candidates=_all_described(link.candidates, known)) for link in session.links)
    asked, session.links = session.read_before(whole=True), _all_described(links, known)
    if asked is not None:  # described, they are read the same
        session.read_as(asked)
    return replace(_described_answers(found, known), evidence=described_starts(found.evidence, known, session.labels))


def _described_answers(found: Retrieval, known: Labels) -> Retrieval:
    draft = found.draft and replace(found.draft, answers=_all_described(found.draft.answers, known))
    return replace(found, candidates=_all_described(found.candidates, known), draft=draft)


def _all_described(some: Iterable[_Named], known: Labels) -> tuple[_Named, ...]:
    return tuple(replace(one, description=known.get(one.term) or one.description) for one in some)


def _judged_draft(found: Retrieval, draft: Draft, session: Session) -> tuple[Retrieval, Draft, tuple[Gap, ...] | None]:
    """Return what was found and drafted, or what is computed of it, and what of the question is left out.

    ``None`` for the latter where that was not checked.
    """
    if found.computed is not None or found.is_judged:
        return found, draft, found.gaps
    if session.notes.partial:
        return found, draft, None
    try:
        missing = gaps(session, found)
        if session.settles_words and found.draft is not None and session.model is not None:  # it has read the question
            missing = tuple(gap for gap in missing if gap.code in HELD)
    except UnreachableError as error:  # an embedder
        session.notes.append(f"whether this is what was asked was not checked: {error.message}", code="unchecked")
        return found, draft, None
    if any(gap.code == "operation" for gap in missing):
        from kgsparql.answering.computed import counted_beside  # with all of the plans

        if counted := counted_beside(found, session, missing):
            return counted, counted.draft or draft, counted.gaps
    return found, draft, (*found.gaps, *missing)


def _answer_status(session: Session, found: Retrieval, draft: Draft) -> Status:
    is_doubted = found.is_judged and bool(found.gaps) and not len(found.evidence)  # nothing was found: of what was read
    if session.notes.partial or is_doubted:
        return "partial"
    if len(found.evidence):
        return "answered" if draft.sufficient is not False else "not_in_graph"
    return "not_in_graph" if session.links else "no_entity"
