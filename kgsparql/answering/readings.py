"""What a model may do for an answer: choose which reading of a question is meant, by its number in a list of ours.

What is answered is all that the chosen reading leads to, or comes to, as without a model: no word of a reply is shown
but a text of the graph that it quotes letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kgsparql.answering.answer import AnswerTerm, Claim, Draft, Reading, Retrieval
from kgsparql.answering.choosing import MAX_LINE, MAX_PASSAGE, Links, reading_call
from kgsparql.answering.confidence import support_of_path
from kgsparql.answering.entity_linking import links_to_mend, meant_by, mend_links
from kgsparql.answering.retriever import Retriever
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import ModelReplyError
from kgsparql.events import CandidatesChosen
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.verbalising import arrow
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import Term, distinct, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.reading.gaps import not_the_graphs

if TYPE_CHECKING:
    from kgsparql.models.replies import SaidReading

LISTED_READINGS = 10  # lines that a model reads at once: more make a small one choose worse
_MAX_QUOTE = 300  # characters
_MAX_NAMES = 60  # names that stand in the text of an answer
_EXAMPLES = 2
_KEPT_BESIDE = 3  # readings of what was linked first that are listed again beside those of another meaning
HELD = frozenset({"name", "operation", "value", "kind", "confidence"})
"""Codes of doubts that a model's choice does not settle, however well it chooses: others compare words."""

NONE_FITS = not_the_graphs("the model finds none of the readings to be what was asked")


@frozen
class _Talk:
    """The talk with a model about the readings of one question.

    :param listed: the readings that it has not seen, the likeliest first.
    """

    retriever: Retriever
    found: Retrieval
    session: Session
    listed: Sequence[Reading]

    def outcome(self) -> Retrieval | None:
        """Ask for a reading, once more where that is wanted, and follow what was chosen; ``None`` for none."""
        session, retriever = self.session, self.retriever
        links = links_to_mend(session) if retriever.mends else None
        if not (self.listed or links or retriever.computes):
            return None
        if not self.listed and retriever.computes and session.model_writes_plans:  # which it would be asked for next
            written = retriever.written_plan(session)
            return written and weighed_choice(written, self.found, session)
        said = self._said_of(self.listed[:LISTED_READINGS], links)
        made = self._comes_to(said, self.listed, links)
        if made or said.compute:  # there may be no line, and no plan: neither is asked for again
            return made
        meant, others = meant_by(said, links, session), self.listed[LISTED_READINGS : 2 * LISTED_READINGS]
        if meant:
            others = [*retriever.readings_about(meant, session), *self.listed[:_KEPT_BESIDE]][:LISTED_READINGS]
        if others and session.graph.usage.calls_left != 0 and (made := self._comes_to(self._said_of(others), others)):
            used = {path.start for item in made.evidence for path in item.paths}
            mend_links(session, [one for one in meant if one.term in used])
            return made
        return None

    def _said_of(self, readings: Sequence[Reading], links: Links | None = None) -> SaidReading:
        session = self.session
        call = reading_call(
            session.original, [one.text for one in readings], links,
            computes=self.retriever.computes and session.model_writes_plans,
            quotes=any(one.passage for one in readings),
        )  # fmt: skip
        said = session.ask_model(call, required=True)
        if said is None:
            raise ModelReplyError("no model was asked")
        return _told_choice(said, readings, session)

    def _comes_to(self, said: SaidReading, listed: Sequence[Reading], links: Links | None = None) -> Retrieval | None:
        """Return what was chosen, followed; ``None`` where nothing was, or that leads nowhere."""
        session, retriever = self.session, self.retriever
        if said.compute and (written := retriever.written_plan(session, meant_by(said, links, session))) is not None:
            return weighed_choice(written, self.found, session)
        chosen = [listed[number - 1] for number in said.numbers]
        if chosen and chosen[0].passage is not None:
            return quoted_passage(chosen[0].passage, said.quote, self.found)
        if len(chosen) > 1 and session.trust is None and shown_terms(self.found):
            session.notes.fall_back("reading", "several lines together count only of a model that passed its trial")
            return self.found
        made = put_together([one.follow() for one in chosen], self.found)
        if made and session.settles_words:
            made = replace(made, gaps=tuple(gap for gap in made.gaps if gap.code in HELD))
        return made and weighed_choice(made, self.found, session, is_one=len(chosen) == 1)


def _told_choice(said: SaidReading, readings: Sequence[Reading], session: Session) -> SaidReading:
    if said.dropped:
        session.notes.fall_back("reading", f"{said.dropped} of what the reply chose is not on the list")
    kept = tuple(printable(readings[n - 1].text, 120) for n in said.numbers)
    pruned = len(readings) - len(kept)
    session.emit(CandidatesChosen(purpose="reading", chosen_by=session.asked_model, kept=kept, pruned=pruned))
    return said


def chosen_reading(retriever: Retriever, found: Retrieval, session: Session) -> Retrieval | None:
    """Have the model of a session say which reading of its question is meant; what that comes to, ``None`` for none.

    :raises ModelError: if the server cannot be reached, fails or refuses.
    :raises ModelReplyError: for a reply that cannot be used.
    :raises BudgetExceededError: if the budget does not hold the call.
    """
    listed = readings_in(found, session) if found.readings is None else found.readings(True)
    return _Talk(retriever, found, session, listed).outcome()


# --- What evidence may be chosen


def readings_in(found: Retrieval, session: Session) -> list[Reading]:
    """List what pieces of evidence lead to as readings, the best first: their ends, and what lies on the way."""
    labels = session.labels(term for item in found.evidence for term in item.nodes)
    first = next((own.markers for own in found.candidates), ())
    readings: list[Reading] = []
    for item in sorted(found.evidence, key=lambda item: item.marker not in first):
        if item.kind == "passage":
            readings.append(Reading(printable(item.text, MAX_PASSAGE), lambda: None, passage=item))
            continue
        for where, terms in _places_of(item, session):
            names = "; ".join(printable(labels.get(term, ""), 60) for term in terms[:_EXAMPLES])
            told = f" – {where} ({len(terms):,}: {names})" if where else ""
            said = printable(item.text, MAX_LINE - len(told))
            readings.append(Reading(said + told, partial(part_of_item, item, terms, session, found.candidates)))
    return readings


def _places_of(item: EvidenceItem, session: Session) -> Iterator[tuple[str, tuple[Term, ...]]]:
    """Yield what an item leads to, by each predicate where several lead there, then what is on the way."""
    ends: dict[Step, dict[Term, None]] = {}
    for way in item.paths:
        ends.setdefault(way.hops[-1].step, {}).update({} if is_mediator(way.end) else {way.end: None})
    labels = session.labels(step.predicate for step in ends)
    by_step = [(f"what {arrow(step, labels)} leads to" * (len(ends) > 1), tuple(own)) for step, own in ends.items()]
    between = [tuple(term for term in some if not is_mediator(term)) for some in item.between]
    every = [*([("", item.ends)] if item.ends else by_step), *(("what is on the way", some) for some in between)]
    yield from ((where, terms) for where, terms in every if terms)


def part_of_item(
    item: EvidenceItem, terms: Sequence[Term], session: Session, candidates: Iterable[AnswerTerm] = ()
) -> Retrieval:
    """Answer with terms of one piece of evidence.

    :param candidates: what is known of some of them already.
    """
    evidence, labels = Evidence([item]), session.labels(terms)
    known = {one.term: one for one in candidates}
    answers = [replace(known.get(t) or AnswerTerm(t, labels[t]), markers=(evidence[0].marker,)) for t in terms]
    return Retrieval(evidence, tuple(answers))


# --- What was chosen, as evidence and draft


def put_together(parts: Iterable[Retrieval | None], found: Retrieval) -> Retrieval | None:
    """Put what was chosen before the other evidence; its answers, all of them, are the answer."""
    kept = [one for one in parts if one is not None and (one.candidates or one.computed is not None)]
    if not kept:
        return None
    if kept[0].computed is not None:
        beside = (replace(item, marker="") for item in found.evidence if item.kind != "computed")
        return replace(kept[0], evidence=Evidence([*kept[0].evidence, *beside]), readings=None)
    items = _each_once(item for one in kept for item in one.evidence)
    places = {_told_of(item): at for at, item in enumerate(items)}
    evidence = Evidence(replace(item, marker="") for item in _each_once([*items, *found.evidence]))
    answers: dict[Term, AnswerTerm] = {}
    for one in kept:
        markers = {item.marker: evidence[places[_told_of(item)]].marker for item in one.evidence}
        for own in one.candidates:
            cited = tuple(markers[marker] for marker in own.markers if marker in markers)
            before = answers.setdefault(own.term, replace(own, markers=()))
            answers[own.term] = replace(before, markers=distinct((*before.markers, *cited)))
    chosen = tuple(answers.values())
    made = Retrieval(evidence, chosen, draft=draft_of(chosen, evidence))
    return replace(made, gaps=kept[0].gaps, is_judged=kept[0].is_judged) if len(kept) == 1 else made


def _told_of(item: EvidenceItem) -> Hashable:
    """Return what an item tells, however it is worded: things of one name may be described in its text."""
    walks = frozenset((path.start, path.property_path) for path in item.paths)
    return item.kind, (walks, frozenset(item.ends)) if item.ends else item.paths or item.text


def _each_once(items: Iterable[EvidenceItem]) -> list[EvidenceItem]:
    first: dict[Hashable, EvidenceItem] = {}
    for item in items:
        first.setdefault(_told_of(item), item)
    return [*first.values()]


def draft_of(chosen: Sequence[AnswerTerm], evidence: Evidence) -> Draft:
    """Draft what was chosen: its names, and a claim for each piece of evidence that it rests on."""
    cited = dict.fromkeys(marker for own in chosen for marker in own.markers)
    names = ", ".join(printable(own.shown, 180) for own in chosen[:_MAX_NAMES])
    more = f" and {len(chosen) - _MAX_NAMES:,} more" if len(chosen) > _MAX_NAMES else ""
    claims = tuple(Claim(evidence[marker].text, (marker,)) for marker in cited)
    return Draft(f"{names}{more} [{', '.join(cited)}]", tuple(chosen), claims, sufficient=True)


def weighed_choice(made: Retrieval, found: Retrieval, session: Session, *, is_one: bool = True) -> Retrieval:
    """Tell how clearly the question is read; a choice against the ranking is a doubt, unless trust was earned.

    :param is_one: it is one reading; several together are a doubt where there was none before.
    """
    before, chosen = shown_terms(found), shown_terms(made)
    support = made.support or found.support or support_of_path(found)
    is_followed = session.is_trusted and (is_one or not session.is_draft_sure)
    if before == chosen or is_followed or not before:
        return replace(made, support=replace(support, path_lead=max(support.path_lead, 0.5)))
    labels = session.labels(before)
    others = "; ".join(printable(labels[term], 60) for term in sorted(before, key=str)[:_EXAMPLES])
    gap = not_the_graphs(f"the model chose it, the ranking leads to {others}")
    return replace(made, support=replace(support, path_lead=0.0), gaps=(*made.gaps, gap))


def shown_terms(found: Retrieval) -> frozenset[Term]:
    """List what is answered, whoever chose it: the values that were computed, else what the best evidence leads to."""
    if found.computed is not None:
        return frozenset(term for row in found.computed.rows for term in row if term is not None)
    if found.draft is not None:
        return frozenset(own.term for own in found.draft.answers)
    first = found.candidates[:1]
    return frozenset(one.term for own in first for one in found.candidates if one.markers[:1] == own.markers[:1])


def quoted_passage(item: EvidenceItem, quote: str, found: Retrieval) -> Retrieval | None:
    """Answer with words of a passage, if they stand there."""
    words = " ".join(quote.split())
    stands = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", " ".join(item.text.split()))
    if not words or len(words) > _MAX_QUOTE or stands is None:
        return None
    text = f"“{printable(words, _MAX_QUOTE)}” [{item.marker}] (words of the graph)"
    draft = Draft(text, (), (Claim(item.text, (item.marker,)),), sufficient=True)
    return replace(found, draft=draft, computed=None, readings=None)
