"""What a graph says of a fact, by a reifier of RDF 1.2 or an `rdf:Statement`: since when it holds, who says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kgsparql.answering.answer import AnswerTerm, Claim, Draft, Gap, Reading, Retrieval
from kgsparql.answering.confidence import support_of_plan
from kgsparql.answering.kinds_found import amount_gaps
from kgsparql.answering.plan_question import predicates_of
from kgsparql.answering.planned import computed_plan, read_and_planned
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import arrow, triple_text
from kgsparql.linking.words import is_foreign, roots_of, words
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.paths import Step, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Triple, as_iri, normalised
from kgsparql.rdf.vocabulary import REIFIES, STATEMENT_PARTS, UNWALKED, is_mediator
from kgsparql.reading.asking import Asked

_MOST_FACTS = 5
_UNSAID = Gap("kind", "", "this asks about a statement, and nothing in this graph is said of that")
_NODE, _ABOUT, _ANSWER = map(g.Variable, ("node", "about", "answer"))


def told_of_fact(session: Session) -> Retrieval | None:
    """Answer a question about a fact, which it says whole: `since when is …`, `who said that …`; ``None`` for others.

    Without evidence where nothing is said of a statement: whatever else is found is in doubt then.
    """
    asked, own = session.asked, session.asked.language
    if is_foreign(session.question) or session.oracle is not None:
        return None
    texts, names = asked.read.texts, [p for one in asked.read.chunks if one.entities for p in one.span]
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
    read = read_and_planned(base)
    computed = computed_plan(read, base)
    if computed is None or computed.value != Literal(value=True) or len(computed.facts) > _MOST_FACTS:
        return nothing
    found: list[EvidenceItem] = []
    for step, item in (one for fact in computed.facts for one in _told_of(fact, session)):
        is_asked = _tells_time(step, item, texts[:start], session) if is_time else _names_words(step, said, session)
        found += [item] * is_asked
    if not found:
        return nothing
    first, *others = Evidence(found)
    rivals = [item.marker for item in others if item.ends != first.ends]
    rivals += [end.value for end in first.ends[1:] if is_time and isinstance(end, Literal)]
    told = {item.triples[0].triple for item in found}
    rivals += [triple_text(fact, session.labels(fact, in_grace=True)) for fact in computed.facts if fact not in told]
    gaps = [Gap("reading", "", "{} fits the question as well as {}", (one, first.marker)) for one in rivals[:1]]
    labels = session.labels(first.ends, in_grace=True)
    answers = tuple(AnswerTerm(end, labels[end], 1.0, (first.marker,)) for end in first.ends)
    text = f"{'; '.join(one.label for one in answers)} [{first.marker}]\n({first.text})"
    draft, doubts = Draft(text, answers, (Claim(first.text, (first.marker,)),), sufficient=True), (*read.gaps, *gaps)
    support = support_of_plan(read.reading)
    made = Retrieval(Evidence([first, *others]), answers, draft, gaps=doubts, is_judged=True, support=support)
    return replace(made, readings=lambda: [Reading(first.text, lambda: made)])


def _opens_statement(at: int, asked: Asked) -> bool:
    """Tell whether what is said follows: `who said that`, `how certain is it that`; not after `which claims that`."""
    own, (first, *_), (*_, before, last) = asked.language, asked.read.texts, ("", *asked.read.texts[:at])
    is_said = last in own.reporting and own.question_words.get(before) != "any"
    return asked.read.texts[at] in own.relatives and (is_said or (last in own.dummies and first in own.how_words))


def _told_of(fact: Triple, session: Session) -> Iterator[tuple[Step, EvidenceItem]]:
    """Look up what is said of a fact: for each predicate, forward or back, a piece of evidence."""
    forms: list[list[tuple[IRI, Any]]] = [[(REIFIES, fact)], [*zip(STATEMENT_PARTS, fact, strict=True)]]
    forms = [form for form in forms if form[0][0] in predicates_of(session) and not any(map(is_mediator, fact))]
    for form, direction in ((form, direction) for form in forms for direction in directions("both")):
        rows = session.graph.unfiltered().select(_said_of(form, _ABOUT, direction))
        found = [(Step(as_iri(row["about"]), direction), row["node"], row["answer"]) for row in rows]
        for step in dict.fromkeys(step for step, _, end in found if not is_mediator(end)):
            if step.predicate not in {REIFIES, *STATEMENT_PARTS, *UNWALKED}:
                said = [(node, end) for own, node, end in found if own == step and not is_mediator(end)]
                hops = [[Step(own).hop(node, part) for own, part in form] + [step.hop(node, end)] for node, end in said]
                triples = dict.fromkeys([fact, *(hop.triple for some in hops for hop in some)])
                ends = tuple(dict.fromkeys(end for _, end in said))
                labels = session.labels([*fact, step.predicate, *ends], in_grace=True)
                text = f"({triple_text(fact, labels)}) {arrow(step, labels)} {'; '.join(labels[end] for end in ends)}"
                query = _said_of(form, step.predicate, direction)
                yield step, EvidenceItem("path", text, tuple(map(CitedTriple, triples)), query, score=1.0, ends=ends)


def _said_of(form: Sequence[tuple[IRI, Any]], about: IRI | g.Variable, direction: str) -> Query:
    """Ask what is said of a fact; each of several graphs by itself, for a node that stands for a fact is in one."""
    subject, far = (_NODE, _ANSWER) if direction == "forward" else (_ANSWER, _NODE)
    head = [_ANSWER] if isinstance(about, IRI) else [_NODE, _ABOUT, _ANSWER]
    group = (*(g.Fact(_NODE, *part) for part in form), g.Fact(subject, about, far))
    select = g.Select(tuple((one, None) for one in head), group, distinct=True, limit=1_000)
    return replace(g.select_query("told_of_fact", select), made_of=None)


def _names_words(step: Step, said: Sequence[str], session: Session) -> bool:
    """Tell whether a predicate is named by the words that say what is asked, or says whose words a fact is."""
    fit, own = session.label_fit, session.asked.language
    if said:
        return fit.whole(said, step.predicate) > 0
    is_reporting = not roots_of(own.reporting).isdisjoint(fit.label_roots(step.predicate))
    is_reporting = is_reporting and own.question_words.get(session.asked.read.texts[0]) == "agent"
    return is_reporting and (fit.form(step.predicate) == "by") == (step.direction == "forward")


def _tells_time(step: Step, item: EvidenceItem, opening: Sequence[str], session: Session) -> bool:
    """Tell whether a time is said that is asked for, by a name that says no more than that, and whether it begins."""
    asked, own, name = session.asked, session.asked.language, session.label_fit.text(step.predicate)
    told = words(normalised(name))
    begins, ends = (not some.isdisjoint(told) for some in (own.beginning, own.ending))
    if {*told} - own.beginning - own.ending - own.moments - own.function_words - {*asked.read.texts}:
        return False
    if any(amount_gaps(item.ends, [name], session)):
        return False
    return ends if not own.ending.isdisjoint(opening) else not ends and (begins or own.starting.isdisjoint(opening))
