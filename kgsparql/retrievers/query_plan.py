"""Query plans: what a question asks to be computed, as a typed plan that is one query, run and computed again.

A model writes the plan over numbered terms, in one call, and mends it once if it is none or comes to nothing. Without a
model, plans are made of what the question names, one operator at a time, and ranked by the words they account for. The
value comes with the plan in words, its query and the facts it rests on.

Source: ours; plans are enumerated and ranked in place of written after Gu et al., "Don't Generate, Discriminate"
(ACL 2023), arXiv:2212.09736.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.choosing import is_read
from kgsparql.answering.computed_answers import computed_retrieval, reading_in_words
from kgsparql.answering.link_mending import looked_up, mend_links
from kgsparql.answering.option_ranges import Within
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.errors import PlanError, QueryError
from kgsparql.graphs.protocols import naming_of
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.plans import algebra as a
from kgsparql.plans.cue_reading import read_cues
from kgsparql.plans.enumeration import RankedPlan, enumerated_plans
from kgsparql.plans.naming import named_in
from kgsparql.plans.question_words import QuestionWords
from kgsparql.plans.readings import NamedTerm, Reader
from kgsparql.plans.running import Computed, run
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.term_lists import TermLister, TermLists
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.plans.wording import in_words
from kgsparql.rdf.terms import printable
from kgsparql.retrievers._plan_calls import WrittenPlan, ask_for_plan

_ASKED = 3
"""Times that a model is asked for a plan, at most: to look up a name, and to mend what is none or comes to nothing."""
_LOOKED_UP = 3
_NEARLY = 0.05
"""How much less well than the best a plan may fit that is run because the best comes to nothing."""
_SAME = 0.005
"""By how much the scores of two plans may differ that fit as well."""
_UNSURE = 0.6
"""A plan that fits the question less well is not its answer without a doubt."""


@dataclass(frozen=True, slots=True)
class QueryPlan(Retriever):
    """Typed plans of what the question asks to be computed, the likeliest run as one query.

    :param sets: sets of items that are looked at to make plans: three queries each.
    :param plans_run: plans that are run, until one comes to something.
    """

    name: ClassVar[str] = "query_plan"
    summary: ClassVar[str] = "counts, yes or no, extremes, comparisons and tables, computed by one checked query"
    source: ClassVar[str] = "kgsparql"
    cost: ClassVar[Cost] = Cost(calls="3", rounds="3", queries="8 * sets + 6 * plans_run + entities + 20")

    sets: Annotated[int, Within(1, 500)] = 60
    plans_run: Annotated[int, Within(1, 20)] = 8

    def retrieve(self, session: Session) -> Retrieval:
        """One item (Q1): what the plan that a model wrote, or the likeliest, comes to, with the facts it rests on."""
        asked = _asked(session)
        if is_read(session.choose):
            found: Retrieval | None = None
            with session.within_budget():
                found = self._by_model(session, asked)
            if found is not None:
                return found
        return self._by_rank(session, asked)

    def _by_model(self, session: Session, asked: _Asked) -> Retrieval | None:
        """What the plan that a model writes comes to; ``None`` where it writes none that can be run."""
        found: tuple[LinkedEntity, ...] = ()
        best: tuple[WrittenPlan, Computed] | None = None
        before, why = None, ""
        for _ in range(_ASKED):
            if why and session.usage.calls_left == 0:
                break
            written = ask_for_plan(session, _listed(session, asked, found, self.sets), why=why)
            if written is None or (not written.line and (found or not written.search)):
                break
            if not written.line:
                found = looked_up(written.search, session, at_most=_LOOKED_UP)
                told = "what was found is among the entities" if found else "nothing in the graph is called so"
                why = f"You looked for {written.search}: {told}."
                continue
            computed, fault = _run_or_why(written, session, asked.vocabulary)
            if computed is not None:
                best = (written, computed)
            if not fault or (before is not None and before == written.plan):
                break
            before = written.plan
            why = f"You wrote {written.line} before. {fault} Mend it, or reply with the same plan."
        if best is not None:
            mend_links(session, [one for one in found if one.term in terms_in(best[1].plan)])
            return _of_written(best, session)
        if why:
            session.fall_back("plan", f"no plan that can be run: {printable(why, 160)}")
            return None
        return Retrieval() if written is not None else None

    def _by_rank(self, session: Session, asked: _Asked) -> Retrieval:
        """What the likeliest of the plans comes to that can be made of what the question names."""
        words, vocabulary = asked.words, asked.vocabulary
        plans: list[RankedPlan] = []
        with session.within_budget():
            plans = self.plans(session, asked)
        found: tuple[RankedPlan, Computed] | None = None
        with session.within_budget():
            found = self._first_with_a_value(plans, session, vocabulary)
        if found is None and session.notes.partial and plans:
            # Nothing can be said without a value: run the best plan, whatever the budget says.
            unlimited = session.unlimited()
            with session.within_budget():
                found = self._first_with_a_value(plans[:1], unlimited, vocabulary)
        if found is None:
            return Retrieval()
        ranked, computed = found
        gaps = _gaps(ranked, words)
        with session.within_budget():
            gaps = gaps or self._rival(ranked, computed, plans, session, vocabulary)
        return computed_retrieval(computed, session, score=ranked.score, gaps=gaps)

    def plans(self, session: Session, asked: _Asked) -> list[RankedPlan]:
        """The likeliest plans, the best first."""
        cues, words = read_cues(session.question), asked.words
        asks_whether, after = cues.wanted == "yes or no", words.nouns_after(cues.following(words.texts))
        reader = Reader(words, asked.profiler, session.labels, asked.named, asks_whether, after, self.sets)
        return enumerated_plans(reader, cues, most=self.plans_run)

    def _first_with_a_value(
        self, plans: list[RankedPlan], session: Session, vocabulary: GraphVocabulary
    ) -> tuple[RankedPlan, Computed] | None:
        """The first plan that comes to something, of those that fit nearly as well as the best; else the best."""
        tried: list[tuple[RankedPlan, Computed]] = []
        for ranked in [own for own in plans if own.score >= plans[0].score - _NEARLY]:
            try:
                computed = run(ranked.plan, session.graph, vocabulary=vocabulary)
            except QueryError as error:
                session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
                continue
            if computed.rows and (computed.empty_part is None or isinstance(ranked.plan, a.Exists)):
                return ranked, computed
            tried.append((ranked, computed))
        return tried[0] if tried else None

    def _rival(
        self,
        ranked: RankedPlan,
        computed: Computed,
        plans: list[RankedPlan],
        session: Session,
        vocabulary: GraphVocabulary,
    ) -> tuple[Gap, ...]:
        """A doubt, where another plan fits just as well and comes to something else."""
        others = [own for own in plans if own.plan != ranked.plan and abs(own.score - ranked.score) <= _SAME]
        for other in others[:1]:
            rival = run(other.plan, session.graph, vocabulary=vocabulary)
            if rival.rows and rival.empty_part is None and _firsts(rival) != _firsts(computed):
                labels = session.labels(terms_in(other.plan), in_grace=True)
                reading = reading_in_words(other.plan, labels.__getitem__)
                return (Gap("reading", "", f"another reading fits as well ({printable(reading, 200)})"),)
        return ()


def _listed(session: Session, asked: _Asked, found: Sequence[LinkedEntity], most: int) -> TermLists:
    lister = TermLister(asked.words, asked.profiler, session.labels, session.linker, most)
    return lister.lists(session.question, asked.named, [*session.links, *found])


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says and names, and the graph looked at for it."""

    words: QuestionWords
    named: list[NamedTerm]
    profiler: Profiler
    vocabulary: GraphVocabulary


def _asked(session: Session) -> _Asked:
    vocabulary = GraphVocabulary(labels=naming_of(session.graph).labels)
    words = QuestionWords(session.question, session.ranker, session.linker)
    named: list[NamedTerm] = []
    with session.within_budget():
        named = named_in(session.question, words, session.links, session.linker, session.labels)
    return _Asked(words, named, Profiler(session.graph, vocabulary, direction=session.direction), vocabulary)


def _run_or_why(written: WrittenPlan, session: Session, vocabulary: GraphVocabulary) -> tuple[Computed | None, str]:
    """What a plan comes to; where it is none, cannot be run or comes to nothing, why, for a model."""
    if written.plan is None:
        return None, f"It is no plan: {written.fault}."
    try:
        computed = run(written.plan, session.graph, vocabulary=vocabulary)
    except (PlanError, QueryError) as error:
        return None, f"It could not be run: {error.message}."
    if computed.rows and computed.empty_part is None:
        return computed, ""
    part = computed.empty_part or written.plan
    labels = session.labels(terms_in(part), in_grace=True)
    return computed, f"It comes to nothing, for there is no {in_words(part, labels.__getitem__)} in this graph."


def _of_written(found: tuple[WrittenPlan, Computed], session: Session) -> Retrieval:
    written, computed = found
    left = written.left_out
    gaps = (Gap("word", left, f"what was computed leaves out {left!r}"),) if left else ()
    return computed_retrieval(computed, session, gaps=gaps)


def _firsts(computed: Computed) -> set[object]:
    return {row[0] for row in computed.rows}


def _gaps(ranked: RankedPlan, words: QuestionWords) -> tuple[Gap, ...]:
    """The words that a plan leaves out, and whether it fits the question at all."""
    if ranked.left:
        said = ", ".join(repr(words.texts[i]) for i in ranked.left)
        return (Gap("word", " ".join(words.texts[i] for i in ranked.left), f"what was computed leaves out {said}"),)
    if ranked.silent:
        return (Gap("step", "", "what was computed takes a step that nothing in the question asks for"),)
    if ranked.is_of_another_class:
        return (Gap("kind", "", "what was computed is of another kind than what is asked for"),)
    if ranked.score < _UNSURE:
        return (Gap("reading", "", "this may not be what was asked"),)
    return ()
