"""A question read, planned and run: one plan for whatever is asked, as a retrieval."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from typing import Any, TypeAlias

from kgsparql.answering.answer import Reading, Retrieval
from kgsparql.answering.computed import (
    computed_retrieval,
    computed_words,
    reading_in_words,
    run_plan,
    with_names,
    with_rows,
)
from kgsparql.answering.confidence import support_of_plan
from kgsparql.answering.kinds_found import amount_gaps, kinds_missed, measure_gaps, sort_gap_of, value_gaps
from kgsparql.answering.plan_question import common_profiler, name_schema, predicates_of, read_whole
from kgsparql.answering.retriever import answers_at_ends
from kgsparql.answering.said_source import read_by_source
from kgsparql.answering.session import Session
from kgsparql.answering.unclear_names import ambiguous_gap, longer_names, other_meanings
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import LimitError, PlanError, QueryError
from kgsparql.events import QuestionRead, ignore
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.evidence.verbalising import arrow
from kgsparql.linking.words import is_foreign
from kgsparql.plans import algebra as a
from kgsparql.plans.adapting import as_meant, in_unit
from kgsparql.plans.denotation import PlannedReading
from kgsparql.plans.expressions import kind_at_end
from kgsparql.plans.graph_view import KnownGraph, ListMembers
from kgsparql.plans.in_time import TimePlanner
from kgsparql.plans.label_fit import NEAR, LabelFit
from kgsparql.plans.moments import Moments
from kgsparql.plans.phrases_on_graph import MEANINGS
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.planner import Planner
from kgsparql.plans.running import Computed
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.type_check import exchanged, kind_of, mapped, parts, parts_of, terms_in
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.paths import Step, Walk
from kgsparql.rdf.terms import IRI, Literal, Term, distinct, first_of, iris_in, normalised, split_camel_case
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import places_of
from kgsparql.reading.form import Form, described
from kgsparql.reading.gaps import Gap, left_out, no_name, other_kind, rival, uncomputed
from kgsparql.reading.parser import read_question
from kgsparql.reading.times import times_said, without_time
from kgsparql.schema.kinds import predicate_of_things

_CANNOT_RUN = (PlanError, QueryError, LimitError)
_COMPUTING: dict[str, tuple[Any, ...]] = {  # by what a question asks for, parts of plans of which one is needed
    "how many": (a.Count, a.HowMany), "for yes or no": (a.Condition,),
    "for what is not so": (a.Minus, a.Lacks, a.Not, a.HowMany), "for the ": (a.Top, a.BestOfEach),
}  # fmt: skip
_SAMPLE = 20  # items whose classes are looked up
_PLANS_LISTED = 3  # plans that a model reads beside the paths

_NOTHING: tuple[tuple[Any, ...], ...] = ((), ((Literal(value=False),),), ((Literal(0),),))
"""How the rows begin of a plan that comes to nothing."""


@frozen
class ReadQuestion:
    """A question, read and planned; nothing is run yet.

    :param asked: the question. :param reading: the likeliest plan, with what it leaves out.
    """

    asked: Form
    reading: PlannedReading

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What of the question the plan leaves out, as sentences."""
        found = dict.fromkeys(map(partial(_with_words, self.asked.read), self.reading.doubts))
        return tuple(sorted(found, key=lambda gap: gap.code != "name"))


def read_and_planned(session: Session, *, is_now: bool = True) -> ReadQuestion:
    """Read the question of a session, whose entities are linked, and plan it on its graph.

    :param is_now: in the present tense, what holds now is asked for.
    """
    name_schema(session)
    asked = read_whole(session)
    own, words = asked.language, asked.read
    session.asked_about(kind for chunk in words.chunks for kind in chunk.classes)
    vocabulary = session.vocabulary
    profiler = Profiler(session.graph, vocabulary, common=common_profiler(session))
    session.looked_at = profiler.known
    things = first_of(one for chunk in words.chunks for one in chunk.classes if predicate_of_things(one))
    view = KnownGraph(profiler, session.compared_labels, session.linker, predicates_of(session), things)
    session.said_as = view.names_said(session.question)
    view.labels, profiler.unwalked = session.compared_labels, profiler.unwalked - session.said_as.keys()
    view.classes_of(name.term for chunk in words.chunks for name in chunk.entities[:MEANINGS])
    content = {*words.texts} - own.empty_words
    named = frozenset(text for text in content if view.predicates_called([text, *own.other_ends(text)]))
    fit = LabelFit(session.compared_labels, session.ranker, own, named)
    plan = partial(Planner, view, fit)
    in_time = TimePlanner(view, fit)
    told = (
        _read_in_language(asked, plan, view)
        or read_by_source(asked, plan, view)
        or _read_in_unit(asked, plan, session)
        or _read_in_time(asked, plan, in_time)
    )
    if told is None and (plain := plan(asked).plan()).doubts:
        told = _read_in_order(asked, plan, Moments(view, fit))
    asked, reading = told or (asked, plain)
    reading = ListMembers(profiler).read(reading, asked.place_in_list)
    reading = in_time.with_dates_left_out(in_time.with_undated(reading, asked) if told is None else reading, asked)
    if told is None and is_now and (now := in_time.now(reading, asked)) is not reading:
        reading, asked = now, replace(asked, is_definition=False)
    session.read_as(asked)
    reading = as_meant(view.with_all_steps(view.with_kinds_below(reading), asked), asked, view, session.those)
    if session.emit is not ignore:
        session.emit(_read_event(asked, reading, session))
    return ReadQuestion(asked, reading)


_Plans: TypeAlias = Callable[[Form], Planner]
_ReadOtherwise: TypeAlias = tuple[Form, PlannedReading] | None
"""The question without what was taken for a time, a language or a unit, and its plan with that."""


def _read_in_language(asked: Form, planner: _Plans, view: KnownGraph) -> _ReadOtherwise:
    """Read what is asked for in a language as the texts with its tag; ``None`` where no such text is asked for.

    What is asked of a thing that is named is its name: what it is called in French.
    """
    texts, own, chunks = asked.texts, asked.language, asked.read.chunks
    named = places_of(chunk for chunk in chunks if len(chunk.span) > 1)
    for at in (p for p, text in enumerate(texts) if text in own.languages and p not in named):
        start, end, (after, joint) = at, at + 1, (*texts[at + 1 : at + 3], "", "")[:2]
        if after in own.identity_nouns | own.word_nouns:
            if joint in own.of_words | own.summed_over:  # the Spanish word for it: it, in Spanish
                start, end = at - (texts[at - 1] in own.determiners), at + 3
        elif at and texts[at - 1] in own.locatives and (not after or after in own.prepositions):
            start -= 2 if texts[max(0, at - 2)] in own.naming_words else 1
        else:
            continue
        rest = read_question(asked.read.without(start, end))
        reading, tag = planner(rest).plan(), own.languages[texts[at]]
        if (made := _texts_in(tag, reading, view)) is not None:
            if made.plan == reading.plan:
                none = other_kind(f"a name or text in {asked.read.raw[at]}", "none", asked.read.raw[at])
                return asked, PlannedReading(None, doubts=(none,), is_impossible=True)
            return replace(rest, is_definition=False), made
    return None


def _read_in_time(asked: Form, planner: _Plans, in_time: TimePlanner) -> _ReadOtherwise:
    """Read what is said of when as the time at which something held; ``None`` where the graph does not say when."""
    for said in times_said(asked):
        if said.kind == "any":  # who served as mayor is who was mayor
            rest = read_question(without_time(asked, said)[0])
            if (found := _read_in_time(rest, planner, in_time)) is not None:
                return found
            ever = in_time.ever(planner(rest).plan(), rest)
            return None if ever.plan is None or ever.doubts else (replace(rest, is_definition=False), ever)
        read, told = without_time(asked, said)
        rest = asked if said.kind == "age" else read_question(read)
        plain = planner(rest).plan()
        made = in_time.age(said, asked) if rest is asked else in_time.at(plain, rest, told)
        flags = [own for own in parts_of(plain.plan, a.Where) if getattr(own.measure, "kind", "") == "text"]
        states = [own for own in parts_of(plain.plan, a.Items) if all(isinstance(one, Literal) for one in own.terms)]
        if (
            made is None
            and said.kind == "now"
            and {d.code for d in plain.doubts} <= {"predicate"}
            and (flags or states)
        ):
            made = plain  # still open, still on loan
        if made is not None:
            return replace(rest, is_definition=False), made
    return None


def _read_in_order(asked: Form, planner: _Plans, moments: Moments) -> _ReadOtherwise:
    """Read what is before or after a named thing by the date of each; ``None`` where these do not tell."""
    for said in times_said(asked):
        if said.beside is not None and said.kind in {"before", "after"}:
            rest = read_question(without_time(asked, said)[0])
            if (made := moments.order(planner(rest).plan(), rest, said)) is not None:
                return replace(rest, is_definition=False), made
    return None


def _read_in_unit(asked: Form, planner: _Plans, session: Session) -> _ReadOtherwise:
    """Read `in kilometres` at the end as the unit of the number that is asked for; ``None`` where it is of none."""
    texts, own = asked.texts, asked.language
    start, at, end = len(texts) - 2, len(texts) - 1, len(texts)  # in km
    start -= texts[start] in own.degrees  # in degrees Celsius
    if texts[0] in own.how_words and not own.amounts.isdisjoint(texts[1:2]):  # how many km long
        start, at, end = 1, 2, 3
    if not 0 < at < len(texts) or texts[at] not in own.units or texts[start] not in own.locatives | own.amounts:
        return None
    rest, sign = read_question(asked.read.without(start, end)), own.units[texts[at]]
    reader = planner(rest)
    plan = (reading := reader.plan()).plan
    if isinstance(plan, a.Ends) and len(found := [*reader.view.members(plan)]) == 1:  # the one length that it has
        kind: a.Kind = "duration" if kind_at_end(found) == "duration" else "number"
        plan = a.SummaryOf("max", plan.start, a.Value(plan.path, kind))
    made = plan and mapped(plan, partial(in_unit, sign=sign, amounts=session.vocabulary.amounts))
    if reading.doubts or not isinstance(made, a.Number) or kind_of(made)[1] != sign:
        return None
    return rest, replace(reading, plan=made)


def _texts_in(tag: str, reading: PlannedReading, view: KnownGraph) -> PlannedReading | None:
    """Keep the texts in a language of what a plan comes to, of a thing its names; the plan as it is where none is."""
    plan = reading.plan
    sets = [plan] if isinstance(plan, a.Ends) else []
    if isinstance(plan, a.Items):
        names = (*view.vocabulary.labels, *ALTERNATIVE_LABELS)
        sets = [a.Ends(plan, Step(one).path) for one in names]
    view.look_for_members(sets)
    for own in sets:
        texts = [one for one in view.members(own) if isinstance(one, Literal) and one.language]
        if found := sorted((one for one in texts if str(one.language).partition("-")[0] == tag), key=str):
            return replace(reading, plan=a.Both((own, a.Items(tuple(found)))), others=())
    return reading if isinstance(plan, a.Items) else None


def _read_event(asked: Form, reading: PlannedReading, session: Session) -> QuestionRead:
    plan, ways = reading.plan, [(match.words, match.path) for match in reading.how]
    terms = [] if plan is None else sorted(terms_in(plan), key=str)
    label = session.labels([*terms, *chain(*(way.predicates for _, way in ways))], in_grace=True)
    return QuestionRead(
        clauses=tuple(described(asked)),
        plan="" if plan is None else reading_in_words(plan, label.__getitem__),
        matches=tuple((said, " ".join(arrow(step, label) for step in way.steps)) for said, way in ways),
    )


def plan_readings(read: ReadQuestion, found: Retrieval | None, session: Session) -> list[Reading]:
    """List the likeliest plans of a question as readings; what the first comes to is known, and said with it.

    :param found: what the likeliest plan came to.
    """
    plans = [read.reading, *(one for one in read.reading.others if one.plan != read.reading.plan)]
    listed = [(one, one.plan) for one in plans if one.plan is not None and not _checks_a_name(one.plan)]
    terms = {term for _, plan in listed[:_PLANS_LISTED] for term in terms_in(plan)}
    label = session.labels(sorted(terms, key=str), in_grace=True).__getitem__
    readings = []
    for one, plan in listed[:_PLANS_LISTED]:
        text = reading_in_words(plan, label)
        own = replace(read, reading=replace(one, others=()))
        if one is read.reading and found is not None and found.computed is not None:
            known = session.labels(found.computed.terms, in_grace=True)
            text = f"{text} ({computed_words(found.computed, known.__getitem__)})"
        readings.append(Reading(text, partial(planned_retrieval, own, session), plan=plan))
    return readings


def plan_gaps(made: Computed, session: Session) -> tuple[Gap, ...]:
    """Doubt what of a question a plan has nothing for, whoever made it: names, numbers, words that tell, operations.

    Of a question in a language that is not read only names are checked.
    """
    plan, asked, fit = made.plan, session.asked, session.label_fit
    used = terms_in(plan)
    labels = session.compared_labels(sorted(used, key=str), in_grace=True)
    kinds = session.compared_labels.majority_types([[(item,) for item in made.items[:_SAMPLE]]], in_grace=True)[0]
    names = [normalised(name) for name in (*labels.values(), *kinds) if name]

    def is_said(text: str) -> bool:
        return any(fit.word(text, name) >= NEAR or fit.is_other_end(text, name) for name in names)

    gaps = list[Gap]()
    linked = set[int]()
    for link in (link for link in session.links if link.kind == "entity" and link.mention.text):
        linked |= {*asked.read.positions_between(link.mention.start, link.mention.end)}
        if used.isdisjoint({link.term, *(other.term for other in link.candidates)}):
            words = normalised(link.mention.text).split()
            if not all(map(is_said, words)):
                gaps.append(left_out(link.mention.text, "name"))
    if is_foreign(session.question):
        return tuple(gaps)
    parts_made = {type(part) for part in parts(plan)}
    gaps += [
        uncomputed(said, said or text)
        for said, text in asked.operations()
        if not any(issubclass(kind, _parts_computing(text)) for kind in parts_made)
    ]
    is_changed_count = isinstance(plan, a.Calculated) and {type(plan.left), type(plan.right)} == {a.Count, a.Constant}
    if asked.asks == "set" and (is_changed_count or isinstance(plan, a.Count | a.Condition)):
        gaps.append(other_kind("neither a number nor a yes", "one"))
    operating = {text for said, _ in asked.operations() for text in normalised(said).split()}
    operating |= asked.language.multiples.keys() if any(isinstance(part, a.Constant) for part in parts(plan)) else set()
    written = normalised(reading_in_words(plan, labels.__getitem__)).split()
    for place in sorted({*chain.from_iterable(asked.pieces)} - linked):
        text = asked.texts[place]
        is_telling = text.isdecimal() or (text not in operating and asked.tells(place))
        if is_telling and text not in written and not is_said(text):
            is_name = asked.read.is_capital(place)
            gaps.append(left_out(text, "value" if text.isdecimal() else "name" if is_name else "word"))
    return tuple(gaps)


def _parts_computing(text: str) -> tuple[Any, ...]:
    """List the parts of plans that compute what a question is said to ask for."""
    of_all = (a.SummaryOf, a.Calculated, a.Summarised, a.ItemTable, a.Grouped)
    return next(((*some, *of_all) for start, some in _COMPUTING.items() if text.startswith(start)), (object,))


def computed_plan(found: ReadQuestion, session: Session) -> Computed | None:
    """Run the plan of a question; ``None`` where there is none, or it cannot be run, which is noted."""
    plan = found.reading.plan
    if plan is None:
        return None
    try:
        return run_plan(plan, session)
    except _CANNOT_RUN as error:
        session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
        return None


def planned_retrieval(found: ReadQuestion, session: Session) -> Retrieval | None:
    """Answer a question by its likeliest plan that can be run; ``None`` where there is none, or what has no name.

    What a plan only looks up along a path from one thing is shown as that path.
    """
    failed: tuple[Gap, ...] = ()
    for reading in (found.reading, *found.reading.others):
        try:
            made = _retrieval_of_plan(replace(found, reading=reading), session)
        except _CANNOT_RUN as error:
            session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
            failed = (rival("a reading that could not be computed"),)
        else:
            return made and replace(made, gaps=(*made.gaps, *failed))
    return None


def _retrieval_of_plan(found: ReadQuestion, session: Session) -> Retrieval | None:
    reading = found.reading
    plan = reading.plan
    if reading.is_impossible:
        return Retrieval(gaps=found.gaps, is_judged=True)
    if isinstance(plan, a.Ends) and isinstance(plan.start, a.Items) and len(plan.start.terms) == 1:
        (start,) = plan.start.terms
        own, path = session.vocabulary, plan.path
        stated = {*own.restricted, *own.relations, *own.joined, *own.valued, *own.keyed}
        is_said = stated.isdisjoint(path.predicates) and not any(step.is_repeated for step in path.steps)
        if isinstance(start, IRI) and is_said and (made := _looked_up(Walk(start, path), found, session)) is not None:
            return made
    if (unsaid := _unsaid_part(found)) is not None:
        return unsaid
    computed = None if plan is None else run_plan(plan, session)
    computed = None if computed is None else with_names(computed, session)
    if computed is None:
        return None
    computed = with_rows(computed, session)
    made = computed_retrieval(computed, session, score=reading.score)
    names, is_no = tuple[Gap, ...](), computed.rows[:1] in _NOTHING
    with session.within_budget():  # a value is not lost where doubts are no longer looked for
        names = _name_gaps(computed.plan, found, session, is_no=is_no)
    subjects = (one.subject for one in found.asked.relations if one.subject is not None)
    if is_no and any(one.every is not None and found.asked.asks == "count" for one in subjects):
        names = (*names, rival("any", "all"))  # how many templates do all documents use
    kinds = [*(value_gaps if is_no else measure_gaps)(computed.plan, session)]
    last = session.compared_labels([match.path.last for match in reading.how], in_grace=True)
    led = plan.sets[0] if isinstance(plan, a.Both) else plan
    ways = [led.path.last] if isinstance(led, a.Ends) and led.path.last_step.is_forward else []
    steps = [*map(split_camel_case, replace(session.compared_labels, said_as={})(ways, in_grace=True).values())]
    if (sort := sort_gap_of(session.question, computed.items, steps, session)) is not None:
        kinds.append(sort)
    kinds += amount_gaps([*chain.from_iterable(computed.rows)], [*last.values()], session)
    gaps = distinct((*found.gaps, *made.gaps, *names, *kinds))
    return replace(made, gaps=gaps, support=support_of_plan(reading))


def _unsaid_part(found: ReadQuestion) -> Retrieval | None:
    """Say that nothing is known of what is asked of a class or a thing, where its plan is all of that, and no more."""
    plan = found.reading.plan
    items = plan.items if isinstance(plan, a.Count | a.Exists) else plan
    is_bare = isinstance(items, a.Instances) or _checks_a_name(plan)
    if is_bare and any(doubt.position >= 0 for doubt in found.reading.doubts):
        return Retrieval(gaps=found.gaps, is_judged=True)
    return None


def says_nothing(plan: a.Plan | None) -> bool:
    """Tell whether a plan is only what the question names, or that there is that, of which nobody doubts."""
    return isinstance(plan.items if isinstance(plan, a.Exists) else plan, a.Items)


def _checks_a_name(plan: a.Plan | None) -> bool:
    return isinstance(plan, a.Exists) and says_nothing(plan)


def _looked_up(walk: Walk, found: ReadQuestion, session: Session) -> Retrieval | None:
    """Return all that a path leads to, with its triples; ``None`` where that is nothing that has a name."""
    (item,) = expanded_items([walk], session.labels, question=session.masked_question)
    if item is None:
        return None
    evidence = Evidence([replace(item, score=found.reading.score)])
    gaps = (*found.gaps, *_name_gaps(a.Items((walk.start,)), found, session))
    called = session.compared_labels(walk.path.predicates, in_grace=True)
    names = [split_camel_case(called[predicate]) for predicate in walk.path.predicates]
    gaps += tuple(islice(kinds_missed(session.asked, item, names, session), 1))
    answers, support = answers_at_ends(evidence, session), support_of_plan(found.reading)
    return Retrieval(evidence, answers, gaps=gaps, is_judged=True, support=support)


def _name_gaps(plan: a.Plan, found: ReadQuestion, session: Session, *, is_no: bool = False) -> tuple[Gap, ...]:
    """Doubt names of which the plan takes one of several meanings.

    What the linker took for a name may be none; of things called just the same, those count that have an answer, too.
    Where it comes to nothing, so do those that are better known by a longer name that begins so.
    """
    read, used, doubts = {n.term for c in found.asked.read.chunks for n in c.entities}, terms_in(plan), list[Gap]()
    for link in session.links:
        if link.term not in read:
            continue
        others = [one.term for one in link.likely_alternatives if isinstance(one.term, IRI)]
        taken = first_of(filter(used.__contains__, (link.term, *others)))
        rivals = [one for one in others if one != taken]
        longer = longer_names(link) if is_no and taken == link.term else []
        if meant := [one for one in longer if _has_answer(plan, link.term, one.term, session)]:
            doubts.append(ambiguous_gap(link, [link, *meant]))
        is_whole = link.label.casefold() == link.mention.text.casefold()
        named = {term for one in parts_of(plan, a.Items) for term in one.terms} if is_no and rivals else set[Term]()
        is_other = any(_leads_to(thing, one, session) for thing in sorted(iris_in(named), key=str) for one in rivals)
        if is_other or not (is_whole and taken and not any(_has_answer(plan, taken, one, session) for one in rivals)):
            doubts += other_meanings(used, [link], session.question)
    return tuple(doubts)


def _leads_to(thing: IRI, other: IRI, session: Session) -> bool:
    """Tell whether something leads to another thing over a third one, whatever that is."""
    p, q, y = variables("p q y")
    return bool(g.found(session.graph, "near", (p,), (g.Fact(thing, p, y), g.Fact(y, q, other)), limit=1))


def _has_answer(plan: a.Plan, taken: Term, other: IRI, session: Session) -> bool:
    """Tell whether a plan about another thing of the name comes to something; to a yes, where it says whether."""
    changed = exchanged(plan, taken, other)
    if isinstance(changed, a.Table):
        return True
    is_value = isinstance(changed, a.Constant | a.Calculated | a.Compares)  # unbound, where it has no such value
    items = changed.items if isinstance(changed, a.Count | a.SummaryOf) else changed
    holds = items if is_value or isinstance(items, a.Condition) else a.Exists(items)
    found = session.graph.select(compiled(holds, vocabulary=session.vocabulary))
    return any(is_value or term == Literal(value=True) for row in found for term in row.values())


def _with_words(words: Chunked, doubt: Gap) -> Gap:
    if doubt.position < 0:
        return doubt
    at, said = doubt.position, words.raw[doubt.position]
    known = {place for chunk in words.chunks for place in chunk.span}
    unknown = [words.is_capital(place) and place not in known for place in range(len(words.raw))]
    if unknown[at]:  # with the words beside it that are so, too: one name
        first, last = at - unknown[at::-1].index(False), (*unknown, False).index(False, at)
        return no_name(words.text_of(first + 1, last))
    return doubt.said(said)
