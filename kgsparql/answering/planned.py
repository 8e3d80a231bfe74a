"""A question read, planned and run: one plan for whatever is asked, as a retrieval."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.computed import computed_retrieval
from kgsparql.answering.plan_question import common_profiler, predicates_of
from kgsparql.answering.retriever import answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.answering.unclear_names import other_meanings
from kgsparql.errors import PlanError, QueryError
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.plans import algebra as a
from kgsparql.plans.compiling import compiled
from kgsparql.plans.connecting import DIRECTION, UNSAID
from kgsparql.plans.denotation import LEFT_OUT, Doubt
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.label_fit import LabelFit
from kgsparql.plans.planner import PlannedReading, Planner
from kgsparql.plans.running import Computed, run
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.rdf.paths import Walk
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term
from kgsparql.reading.chunks import Chunked, chunked
from kgsparql.reading.clauses import Clauses
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.parser import read_question


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A question, read and planned; nothing is run yet.

    :param words: its words, covered by names.
    :param clauses: what it says.
    :param reading: the likeliest plan, with what it leaves out.
    """

    words: Chunked
    clauses: Clauses
    reading: PlannedReading

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What of the question the plan leaves out, as sentences."""
        return tuple(dict.fromkeys(_gap(doubt, self.words) for doubt in self.reading.doubts))


def read_and_planned(session: Session) -> ReadQuestion:
    """Read the question of a session, whose entities are linked, and plan it on its graph."""
    own = lexicon()
    words = chunked(session.question, session.linker, own, links=session.links)
    clauses = read_question(words, own)
    vocabulary = GraphVocabulary(labels=session.graph.naming.labels)
    profiler = Profiler(session.graph, vocabulary, direction=session.direction, common=common_profiler(session))
    view = KnownGraph(profiler, session.labels, session.linker, predicates_of(session))
    fit = LabelFit(session.labels, session.ranker, own)
    return ReadQuestion(words, clauses, Planner(view, fit, own, words, clauses).plan())


def computed_plan(found: ReadQuestion, session: Session) -> Computed | None:
    """Run the plan of a question; ``None`` where there is none, or it cannot be run, which is noted."""
    plan = found.reading.plan
    if plan is None:
        return None
    try:
        return run(plan, session.graph, vocabulary=GraphVocabulary(labels=session.graph.naming.labels))
    except (PlanError, QueryError) as error:
        session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
        return None


def planned_retrieval(found: ReadQuestion, session: Session) -> Retrieval | None:
    """Answer a question by its plan; ``None`` where it has none, or comes to what has no name.

    What a plan only looks up along a path from one thing is shown as that path.
    """
    plan = found.reading.plan
    if isinstance(plan, a.Ends) and isinstance(plan.start, a.Items) and len(plan.start.terms) == 1:
        (start,) = plan.start.terms
        if isinstance(start, IRI) and (made := _looked_up(Walk(start, plan.path), found, session)) is not None:
            return made
    computed = computed_plan(found, session)
    if computed is None or (computed.items and all(isinstance(item, BlankNode) for item in computed.items)):
        return None
    made = computed_retrieval(computed, session, score=found.reading.score)
    return replace(
        made, gaps=tuple(dict.fromkeys((*found.gaps, *made.gaps, *_name_gaps(computed.plan, found, session))))
    )


def _looked_up(walk: Walk, found: ReadQuestion, session: Session) -> Retrieval | None:
    """Return all that a path leads to, with its triples; ``None`` where that is nothing that has a name."""
    (item,) = expanded_items([walk], session.labels, question=session.masked_question)
    if item is None:
        return None
    evidence = Evidence([replace(item, score=found.reading.score)])
    names = _name_gaps(a.Items((walk.start,)), found, session)
    return Retrieval(evidence, answers_at_ends(evidence, session), gaps=(*found.gaps, *names), is_judged=True)


def _name_gaps(plan: a.Plan, found: ReadQuestion, session: Session) -> tuple[Gap, ...]:
    """Doubt names of which the plan takes one of several meanings.

    What the linker took for a name may be none; of things called just the same, those count that have an answer, too.
    """
    read, used, doubts = {n.term for c in found.words.chunks for n in c.entities}, terms_in(plan), list[Gap]()
    for link in (link for link in session.links if link.term in read):
        others = [one.term for one in link.likely_alternatives if isinstance(one.term, IRI)]
        is_whole = link.label.casefold() == link.mention.text.casefold()
        taken = next((term for term in (link.term, *others) if term in used), None)
        if (
            is_whole
            and taken is not None
            and not any(_has_answer(plan, taken, o, session) for o in others if o != taken)
        ):
            continue
        doubts += other_meanings(used, [link], session.question)
    return tuple(doubts)


def _has_answer(plan: a.Plan, taken: Term, other: IRI, session: Session) -> bool:
    """Tell whether a plan about another thing of the name comes to something; to a yes, where it says whether."""
    changed = _with_term(plan, taken, other)
    if isinstance(changed, a.Constant | a.Calculated | a.Compares | a.ItemTable | a.Grouped):
        return True
    items = changed.items if isinstance(changed, a.Count | a.SummaryOf | a.Exists) else changed
    query = compiled(a.Exists(items), vocabulary=GraphVocabulary(labels=session.graph.naming.labels))
    return any(term == Literal(value=True) for row in session.graph.select(query) for term in row.values())


def _with_term(part: Any, taken: Term, other: IRI) -> Any:
    """Make the same part of a plan about another thing."""
    if part == taken:
        return other
    if isinstance(part, tuple) and not hasattr(part, "_fields"):
        return tuple(_with_term(one, taken, other) for one in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{f.name: _with_term(getattr(part, f.name), taken, other) for f in fields(part)})
    return part


_SENTENCES = {
    DIRECTION: "the graph says this the other way round",
    UNSAID: "no word of the question says which fact is asked for",
}


def _gap(doubt: Doubt, words: Chunked) -> Gap:
    if doubt.position < 0:
        return Gap("reading", "", _SENTENCES.get(doubt.why, doubt.why))
    said = words.raw[doubt.position]
    if doubt.why in {LEFT_OUT, "not read"}:
        return Gap("word", said, f"what was computed leaves out {said!r}")
    return Gap("word", said, f"{said!r}: {_SENTENCES.get(doubt.why, doubt.why)}")
