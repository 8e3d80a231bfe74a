"""What answers by itself: one plan for whatever is asked; where none has all of it, what paths lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kgsparql.answering.answer import AnswerTerm, Claim, Draft, Reading, Retrieval
from kgsparql.answering.confidence import support_of_plan
from kgsparql.answering.coverage import gaps
from kgsparql.answering.kinds_found import amount_gaps
from kgsparql.answering.plan_question import predicates_of
from kgsparql.answering.planned import ReadQuestion, computed_plan, plan_readings, planned_retrieval, read_and_planned
from kgsparql.answering.readings import shown_terms
from kgsparql.answering.retriever import AUTO, Cost, Retriever, without_lost_items
from kgsparql.answering.session import Session
from kgsparql.dataclasses import field, frozen, replace
from kgsparql.errors import GRAPH_FAILED, LimitError, is_about_the_query
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.evidence.verbalising import arrow, triple_text
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Mentions
from kgsparql.linking.words import is_code, is_foreign, roots_of, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.type_check import parts, parts_of
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.paths import Step, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Triple, as_iri, distinct, zip_equal
from kgsparql.rdf.vocabulary import REIFIES, STATEMENT_PARTS, UNWALKED, is_mediator
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import Gap, known_elsewhere, other_kind, rival

_READ_OTHERWISE = rival("a reading with no answer")


@frozen
class PlannedOrWalked(Retriever):
    """A plan where one has all that is asked; else what paths lead to, or a plan that leaves something out.

    On a plan that leaves nothing out paths are no second opinion: as one, they made answers worse more than better.
    """

    name = AUTO
    summary = "a plan of what is asked; where none has all of it, what paths lead to"
    source = "kgsparql"
    mends = True
    computes = True
    planning: Callable[[], Retriever] = field(repr=False)
    walking: Retriever = field(repr=False)

    def cost(self, **_: int) -> Cost:
        """Bound both methods together."""
        return Cost(calls=7, rounds=7, queries=1000)

    def find_mentions(self, session: Session) -> Mentions:
        """Find names as the method for paths does."""
        return self.walking.find_mentions(session)

    def used(self, retrieval: Retrieval) -> Retriever:
        """Return the method that found something."""
        return self.walking if retrieval.computed is None else self.planning()

    def retrieve(self, session: Session) -> Retrieval:
        """Return what the plan comes to, or what paths lead to; of a question about a fact, what is said of that."""
        told = None
        with _noted_failure("what is said of facts was not looked at", session):
            told = told_of_fact(session)  # a server may know no triples in triples, or not write them so
        if told is not None and len(told.evidence):
            return told
        found = self._planned_or_walked(session)
        is_said = found.computed is not None and isinstance(found.computed.plan, a.Sources)
        return found if told is None or is_said else replace(found, gaps=(*told.gaps, *found.gaps))

    def _planned_or_walked(self, session: Session) -> Retrieval:
        found = None
        with _noted_failure("nothing was computed", session):
            found = _read_to_plan(session)
        if found is None:
            return self.walking.retrieve(session)
        read, planned = found
        if read.reading.is_impossible:  # nor is anything else what is asked for
            session.notes.drop(MISSING_NAME, [gap.words for gap in read.gaps])
            return planned or Retrieval()
        if session.those is not None:  # no path leads from all of them
            return replace(planned or Retrieval(), readings=lambda _: plan_readings(read, planned, session))
        if planned is not None and (_says_all(read, planned) or _needs_a_plan(read)):
            also = self.walking.retrieve(session) if session.only_evidence else None
            others = () if also is None else also.evidence
            made = replace(planned, evidence=_one_after_the_other(planned.evidence, others))
            return replace(made, readings=lambda walks: self._all_readings(read, planned, also, session, walks))
        walked = self.walking.retrieve(session)
        name = read.asked.phrase.head
        is_name = read.asked.is_definition and name is not None and len(name.span) == len(read.asked.texts)
        if is_name and (not len(walked.evidence) or gaps(session, walked)):
            planned = planned_retrieval(read, session)  # itself: nothing says what it is
            if planned is not None:
                return planned
        if planned is None and not len(walked.evidence):
            named = [name for chunk in read.asked.read.chunks for name in chunk.entities if name.calls]
            walked = replace(walked, gaps=tuple(known_elsewhere(name.label) for name in named), is_judged=bool(named))
        chosen = walked
        if planned is not None:
            missing: Iterable[Gap] = ()
            if walked.best_item is not None:
                walked = without_lost_items(walked, session)  # what is found again is not looked up once more
                missing = gaps(session, walked)
            chosen = _one_of(planned, replace(walked, gaps=tuple(missing), is_judged=True), read)
        return replace(chosen, readings=lambda walks: self._all_readings(read, planned, walked, session, walks))

    def _all_readings(
        self, read: ReadQuestion, planned: Retrieval | None, walked: Retrieval | None, session: Session,
        walks: bool,
    ) -> list[Reading]:  # fmt: skip
        """List the likeliest plans, then the paths; a plan that only follows a path is among these.

        :param walks: paths are looked for, where that was not done yet.
        """
        walked = walked or (self.walking.retrieve(session) if walks else Retrieval())
        paths = list(walked.readings(walks)) if walked.readings is not None else []
        plans = [] if _is_lookup(read.reading.plan) and paths else plan_readings(read, planned, session)
        return [*plans, *paths]

    def readings_about(self, meant: Sequence[LinkedEntity], session: Session) -> Sequence[Reading]:
        """List the paths from these entities."""
        return self.walking.readings_about(meant, session)

    def written_plan(self, session: Session, named: Sequence[LinkedEntity] = ()) -> Retrieval | None:
        """Return what the plan comes to that a model writes."""
        return self.planning().written_plan(session, named)


@contextmanager
def _noted_failure(what: str, session: Session) -> Iterator[None]:
    """Note that a query of a block failed, where others may not; the block stays within the budget."""
    with session.within_budget():
        try:
            yield
        except (*GRAPH_FAILED, LimitError) as error:
            if session.graph.is_remote and not is_about_the_query(error):
                raise
            session.notes.append(f"{what}: {error.message}", code="plan_failed")


def _read_to_plan(session: Session) -> tuple[ReadQuestion, Retrieval | None] | None:
    """Plan the question, where plans are made by themselves."""
    if is_foreign(session.question):
        return None
    read = read_and_planned(session)
    named = {name.term for chunk in read.asked.read.chunks for name in chunk.entities}
    is_about_others = not named.issuperset(session.given)  # nothing in the question says what a given thing has to do
    starts = (one.start for one in parts_of(read.reading.plan, a.Ends))
    texts = (text for one in starts if isinstance(one, a.Items) for text in one.terms if isinstance(text, Literal))
    has_code = any(is_code(text.value) for text in texts)  # what is R.1.3
    is_told = read.asked.is_definition and not has_code
    return read, None if is_told or is_about_others else planned_retrieval(read, session)


def _says_all(read: ReadQuestion, planned: Retrieval) -> bool:
    """Tell whether a plan has all that is asked, so that nothing else is looked for; not a look-up of nothing."""
    items = shown_terms(planned) if planned.computed is None else planned.computed.items
    return not planned.gaps and (not _is_lookup(read.reading.plan) or bool(items))


def _needs_a_plan(read: ReadQuestion) -> bool:
    """Tell whether something is to be computed, and the plan does, or what is of a class: no path comes to that."""
    plan, asked = read.reading.plan, read.asked
    is_list = asked.is_listing or not asked.language.existence_words.isdisjoint(asked.texts)
    is_of_class = isinstance(plan, a.Instances) and is_list and all(one.position < 0 for one in read.reading.doubts)
    is_dated = any(parts_of(plan, a.Held))
    return is_of_class or is_dated or (_is_computing(plan) and any(asked.operations()))


def _one_of(planned: Retrieval, walked: Retrieval, read: ReadQuestion) -> Retrieval:
    """Choose between a plan that leaves something out, or comes to nothing, and what paths lead to."""
    is_whole = bool(walked.candidates) and not walked.gaps
    if not planned.gaps:
        return replace(walked, gaps=(_READ_OTHERWISE,)) if is_whole else planned
    is_uncomputed = _is_computing(read.reading.plan) or any(gap.code == "operation" for gap in walked.gaps)
    if is_whole or (walked.candidates and not is_uncomputed):
        return walked
    return replace(planned, evidence=_one_after_the_other(planned.evidence, walked.evidence))


def _one_after_the_other(first: Evidence, others: Iterable[EvidenceItem]) -> Evidence:
    """Put evidence behind other evidence, without items of the same text; those behind get new markers."""
    told = {item.text for item in first}
    return Evidence([*first, *(replace(item, marker="") for item in others if item.text not in told)])


def _is_computing(plan: a.Plan | None) -> bool:
    """Whether a plan does more than follow paths to what has all of some things in common."""
    looked_up = (a.Items, a.Instances, a.Ends, a.Both, a.Either, a.Has)
    return plan is not None and not all(isinstance(part, looked_up) for part in parts(plan))


def _is_lookup(plan: a.Plan | None) -> bool:
    """Whether a plan only follows a path from named things: what path ranking may answer as well."""
    items = plan.sets[0] if isinstance(plan, a.Both) else plan
    return isinstance(items, a.Ends) and isinstance(items.start, a.Items)


_MOST_FACTS = 5
_UNSAID = other_kind("what is said of a statement", "not that")
_NODE, _ABOUT, _ANSWER = g.variables("node about answer")


def told_of_fact(session: Session) -> Retrieval | None:
    """Answer a question about a fact, which it says whole: `since when is …`, `who said that …`; ``None`` for others.

    Without evidence where nothing is said of a statement: whatever else is found is in doubt then.
    """
    asked, own = session.asked, session.asked.language
    if is_foreign(session.question):
        return None
    texts, names = asked.texts, [p for one in asked.read.chunks if one.entities for p in one.span]
    before = range(1, min((p for p in names if texts[p] not in own.reporting), default=0))
    clause = next((p + 1 for p in before if _opens_statement(p, asked)), 0)
    start = clause or next((p for p in before if texts[p] in own.auxiliaries), 0)
    said = [text for text in texts[:start] if text not in own.empty_words | own.reporting]
    nothing, is_time = Retrieval(gaps=(_UNSAID,)) if clause else None, asked.asks_time and not clause
    if not (clause or said or is_time) or {REIFIES, STATEMENT_PARTS[0]}.isdisjoint(predicates_of(session)):
        return nothing
    at, opening = asked.read.tokens[start].start, min(own.statements, key=len) if clause else ""
    links = tuple(one for one in session.links if one.mention.start >= at)
    base = replace(session.anew(), question=f"{opening:<{at}}{session.question[at:]}", links=links)
    read = read_and_planned(base, is_now=False)
    computed = computed_plan(read, base)
    if computed is None or computed.value != Literal(value=True) or len(computed.facts) > _MOST_FACTS:
        return nothing
    found = []
    for step, item in (one for fact in computed.facts for one in _told_of(fact, session)):
        is_asked = _tells_time(step, item, texts[:start], session) if is_time else _names_words(step, said, session)
        found += [item] * is_asked
    if not found:
        return nothing
    first, *others = Evidence(found)
    rivals = [item.marker for item in others if item.ends != first.ends]
    rivals += [end.value for end in first.ends[1:] if is_time and isinstance(end, Literal)]
    told = {item.triples[0].triple for item in found}
    rivals += [triple_text(fact, session.labels(fact)) for fact in computed.facts if fact not in told]
    gaps = [rival(one, first.marker) for one in rivals[:1]]
    labels = session.labels(first.ends)
    answers = tuple(AnswerTerm(end, labels[end], 1.0, (first.marker,)) for end in first.ends)
    text = f"{'; '.join(one.label for one in answers)} [{first.marker}]\n({first.text})"
    draft, doubts = Draft(text, answers, (Claim(first.text, (first.marker,)),), sufficient=True), (*read.gaps, *gaps)
    support = support_of_plan(read.reading)
    made = Retrieval(Evidence([first, *others]), answers, draft, gaps=doubts, is_judged=True, support=support)
    return replace(made, readings=lambda _: [Reading(first.text, lambda: made)])


def _opens_statement(at: int, asked: Form) -> bool:
    """Tell whether what is said follows: `who said that`, `how certain is it that`; not after `which claims that`."""
    own, (first, *_), (*_, before, last) = asked.language, asked.texts, ("", *asked.texts[:at])
    is_said = last in own.reporting and own.question_words.get(before) != "any"
    return asked.texts[at] in own.relatives and (is_said or (last in own.dummies and first in own.how_words))


def _told_of(fact: Triple, session: Session) -> Iterator[tuple[Step, EvidenceItem]]:
    """Look up what is said of a fact: for each predicate, forward or back, a piece of evidence."""
    forms = [[(REIFIES, fact)], [*zip_equal(STATEMENT_PARTS, fact)]]
    forms = [form for form in forms if form[0][0] in predicates_of(session) and not any(map(is_mediator, fact))]
    for form, direction in ((form, direction) for form in forms for direction in directions("both")):
        rows = session.graph.unfiltered().select(_said_of(form, _ABOUT, direction))
        found = [(Step(as_iri(row["about"]), direction), row["node"], row["answer"]) for row in rows]
        for step in distinct(step for step, _, end in found if not is_mediator(end)):
            if step.predicate not in {REIFIES, *STATEMENT_PARTS, *UNWALKED}:
                said = [(node, end) for own, node, end in found if own == step and not is_mediator(end)]
                hops = [[Step(own).hop(node, part) for own, part in form] + [step.hop(node, end)] for node, end in said]
                triples = dict.fromkeys([fact, *(hop.triple for some in hops for hop in some)])
                ends = distinct(end for _, end in said)
                labels = session.labels([*fact, step.predicate, *ends])
                text = f"({triple_text(fact, labels)}) {arrow(step, labels)} {'; '.join(labels[end] for end in ends)}"
                query = _said_of(form, step.predicate, direction)
                yield step, EvidenceItem("path", text, tuple(map(CitedTriple, triples)), query, score=1.0, ends=ends)


def _said_of(form: Sequence[tuple[IRI, Any]], about: IRI | g.Variable, direction: str) -> Query:
    """Ask what is said of a fact."""
    subject, far = (_NODE, _ANSWER) if direction == "forward" else (_ANSWER, _NODE)
    head = [_ANSWER] if isinstance(about, IRI) else [_NODE, _ABOUT, _ANSWER]
    group = (*(g.Fact(_NODE, *part) for part in form), g.Fact(subject, about, far))
    select = g.Select(tuple(head), group, distinct=True, limit=1_000)
    return g.select_query("told_of_fact", select)


def _names_words(step: Step, said: Sequence[str], session: Session) -> bool:
    """Tell whether a predicate is named by the words that say what is asked, or says whose words a fact is."""
    fit, own = session.label_fit, session.asked.language
    if said:
        return fit.whole(said, step.predicate) > 0
    is_reporting = not roots_of(own.reporting).isdisjoint(fit.label_roots(step.predicate))
    is_reporting = is_reporting and own.question_words.get(session.asked.texts[0]) == "agent"
    return is_reporting and (fit.form(step.predicate) == "by") == step.is_forward


def _tells_time(step: Step, item: EvidenceItem, opening: Sequence[str], session: Session) -> bool:
    """Tell whether a time is said that is asked for, by a name that says no more than that, and whether it begins."""
    asked, own, name = session.asked, session.asked.language, session.label_fit.text(step.predicate)
    told = words_of(name)
    begins, ends = (not some.isdisjoint(told) for some in (own.beginning, own.ending))
    if {*told} - own.beginning - own.ending - own.moments - own.function_words - {*asked.texts}:
        return False
    if any(amount_gaps(item.ends, [name], session)):
        return False
    return ends if not own.ending.isdisjoint(opening) else not ends and (begins or own.starting.isdisjoint(opening))
