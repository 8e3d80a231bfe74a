"""What a query plan came to, as evidence and draft."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, cast

from kgsparql.answering.answer import COMPUTED_MARKER, AnswerTerm, Claim, Draft, Retrieval, rows_text, unit_of
from kgsparql.answering.plan_question import common_profiler
from kgsparql.answering.retriever import without_lost_items
from kgsparql.answering.said_source import disputed
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.exploration.labels import UNKNOWN
from kgsparql.graphs.notes import Cut
from kgsparql.linking.words import counted
from kgsparql.plans import algebra as a
from kgsparql.plans.adapting import by_names, of_names, summarised
from kgsparql.plans.denotation import back, ends
from kgsparql.plans.expressions import read_as
from kgsparql.plans.label_fit import NEAR
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.running import NO_NUMBER, Computed, run
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.type_check import parts_of, terms_in
from kgsparql.plans.writing import Label, in_words, none_in_words
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import (
    IRI,
    BlankNode,
    Literal,
    Term,
    Triple,
    distinct,
    iris_in,
    local_name,
    printable,
    whole_number,
    zip_equal,
)
from kgsparql.rdf.vocabulary import RDF_TYPE, is_unknown
from kgsparql.reading.gaps import Gap, not_all, rival

_MAX_CITED, _CITED_SAMPLE = 100, 20  # facts that an item cites, at most; of more, a sample
_MOST_LEARNT = 200  # terms whose labels and classes an endpoint is asked for together
_NOTHING = "nothing"
_OTHERS, _NEVER_TOGETHER = "others are", "each of these is found, never all together"
MOST_FIRST = 10  # of more, hardly anything is less: recipes, of which each has one list of ingredients
_UNCOUNTED = "{!r} was not counted: the endpoint says that there are {}, and over a million are not asked for"
_READINGS: tuple[tuple[Any, str], ...] = (
    ((a.Count,), "counted"),
    (a.Condition, "checked"),
    ((a.Top,), "compared"),
    ((a.SummaryOf, a.Calculated, a.Constant, a.ItemTable, a.Grouped, a.BestOfEach, a.Numbers), "computed"),
)


def run_plan(plan: a.Plan, session: Session) -> Computed:
    """Find what a plan comes to on the graph of a question; see :func:`run`."""
    return run(plan, session.graph, vocabulary=session.vocabulary)


def with_names(found: Computed, session: Session) -> Computed | None:
    """Return the same with names for blank nodes, those called alike as one; ``None`` where a set has other nodes."""
    plan, are_blank = found.plan, [isinstance(one, BlankNode) for one in found.items or found.terms]
    if isinstance(plan, a.Count) and isinstance(found.value, Literal):
        is_named = any(isinstance(one, BlankNode) for one in common_profiler(session).sample(plan.items))
        named = _names_of_blank_nodes(plan.items, int(found.value.value), session) if is_named else None
        return found if named is None else run_plan(a.Count(named.plan), session)  # type: ignore[arg-type]
    if found.is_table and any(are_blank):
        return _with_names_in_table(found, session)
    if found.items and all(are_blank):
        return _names_of_blank_nodes(plan, len(found.items), session) or _with_unknown(found, session)  # type: ignore[arg-type]
    return found


def _naming_steps(session: Session) -> Iterator[Step]:
    """Yield the steps that may lead to names, the likeliest first; of an endpoint one: each costs two queries."""
    labels = session.vocabulary.labels[: 1 if session.graph.is_remote else None]
    return map(Step, filter(session.graph.held(frozenset(labels)).__contains__, labels))


def _names_of_blank_nodes(nodes: a.ItemSet, many: int, session: Session) -> Computed | None:
    """Find what all blank nodes of a set are called, by one predicate; ``None`` where some have no name."""
    for step in _naming_steps(session):
        if len(run_plan(a.Has(nodes, step.path), session).items) == many:
            named: a.ItemSet = ends(nodes, step.path)
            if isinstance(nodes, a.Top) and isinstance(nodes.measure, a.HowMany):  # nodes of one name count as one
                named = replace(nodes, items=ends(nodes.items, step.path), measure=of_names(nodes.measure, step))
            return run_plan(named, session)
    return None


def _with_names_in_table(found: Computed, session: Session) -> Computed:
    """Call the blank nodes of a table by their names, one row for each; leave it where some have none."""
    at = {i for row in found.rows for i, term in enumerate(row) if isinstance(term, BlankNode)}
    for step in _naming_steps(session):
        named = run_plan(by_names(found.plan, at, step), session)
        if not any(isinstance(term, BlankNode) for term in named.terms):
            return named
    return found


def _with_unknown(found: Computed, session: Session) -> Computed | None:
    """Call blank nodes of which nothing is said unknown; ``None`` where anything is."""
    profiler = Profiler(session.graph, session.vocabulary, common=common_profiler(session))
    if any(use.step.is_forward and use.predicate != RDF_TYPE for use in profiler(cast("a.ItemSet", found.plan)).uses):
        return None
    session.notes.labels.update(dict.fromkeys(found.items, UNKNOWN))
    return found


def computed_retrieval(
    found: Computed, session: Session, *, score: float = 1.0, gaps: tuple[Gap, ...] = ()
) -> Retrieval:
    """Make a retrieval of what a plan came to: one item of evidence (Q1), its answers, and the draft that says them."""
    say = session.say
    if each := _of_one_each(found, session):
        found = each[-1]
        gaps = (rival(*(computed_words(one, str) for one in each)), *gaps)
    if found.is_no_number:
        gaps = (not_all(NO_NUMBER), *gaps)
    if found.unread:
        gaps = (not_all(found.unread), *gaps)
    if found.uncounted is not None:
        kind, number = found.uncounted
        name = session.labels([kind])[kind]
        gaps = (not_all(_UNCOUNTED.format(name, f"{number:,}")), *gaps)
        if not found.rows:
            return Retrieval(gaps=gaps, is_judged=True)
    if isinstance(found.plan, a.Top) and found.plan.number == 1 and len(found.rows) > MOST_FIRST:
        gaps = (rival("each of the first", f"the {len(found.rows) - 1:,} others"), *gaps)
    following = found.compared.next if found.compared is not None else ()
    examples = (own.example for own in found.left_out)
    every = chain(terms_in(found.plan), found.terms, examples, found.measured, *following)
    shown_terms = [term for term in every if term is not None]
    session.labels.learn(islice(chain(shown_terms, *found.facts), _MOST_LEARNT))
    shown = _cited_facts(found)
    label = session.labels(chain(shown_terms, *shown)).__getitem__
    gaps = (*([not_all(f"{found.tied:,} more share the last place")] if found.tied else ()), *gaps)
    gaps += (*_value_gaps(found, label), *_unknown_gaps(found, session), *_source_gaps(found, session))
    in_english = session.compared_labels(terms_in(found.plan)).__getitem__ if session.translation is not None else label
    reading, value = reading_in_words(found.plan, in_english), computed_words(found, label, say)
    facts = f"{'' if found.all_facts else say('more than ')}{counted(len(found.facts), say('fact'), say('facts'))}"
    some = "; " + say("{} are cited").format(len(shown)) if len(shown) < len(found.facts) else ""
    basis = f" ({facts}{some})" if found.facts else ""
    cited = partial(CitedTriple, sources=(session.graph.source(None),))
    item = EvidenceItem(
        kind="computed", text=f"{reading} = {best_text(found, label) if found.measured else value}{basis}",
        triples=tuple(map(cited, shown)), query=found.query, score=score,
        ends=found.items, cuts=(Cut("rows", len(found.rows)),) if found.is_cut else (), marker=COMPUTED_MARKER,
    )  # fmt: skip
    session.notes.add_cuts(item.cuts)
    terms = found.items or dict.fromkeys(row[0] for row in found.rows)
    named = ((term, f"{label(term)} {found.units.get(term, '')}".strip()) for term in terms if term is not None)
    answers = tuple(AnswerTerm(term, text, score, (COMPUTED_MARKER,)) for term, text in named)
    beside = ((found.retired, "deprecated left out"), (found.twins, "the same as others"))
    why = "".join(f"; {number:,} {session.say(told)}" for number, told in beside if number)
    why += "".join(f"; {own.in_words(label)}" for own in found.left_out if own.says_nothing)
    why += _why_nothing(found, in_english, session)
    draft = _computed_draft(found, reading, value, answers, session, why=why)
    return Retrieval(Evidence([item]), answers, draft=draft, computed=found, gaps=gaps)


def _value_gaps(found: Computed, label: Label) -> Iterator[Gap]:
    """Doubt what is not read, what belongs together, and what may be the same."""
    yield from (not_all(own.in_words(label)) for own in found.left_out if not own.says_nothing)
    if found.multiplied:
        one, other = found.multiplied
        yield rival(f"each {one} with each {other}", "those that belong together")


def _unknown_gaps(found: Computed, session: Session) -> Iterator[Gap]:
    """Doubt a number of things, or a no, where one is there and nobody knows which."""
    plan = found.plan
    if not isinstance(plan, a.Count | a.Exists) or session.graph.is_remote or found.value == Literal(value=True):
        return
    sets = plan.items.sets if isinstance(plan.items, a.Both) else (plan.items,)
    ways = [one for one in sets if isinstance(one, a.Ends)]
    if isinstance(plan, a.Exists):
        ways += [a.Ends(named, back(one.path)) for one in ways for named in sets if isinstance(named, a.Items)]
    found_on = (session.graph.select(compiled(way, vocabulary=session.vocabulary)) for way in ways)
    ends = {end for solution in chain(*found_on) for end in solution.values()}
    unknown = sum(map(is_unknown, ends))
    if unknown and (isinstance(plan, a.Exists) or len(ends) > 1):
        yield not_all(f"{unknown:,} of these are unknown, and may be the same")


def _source_gaps(found: Computed, session: Session) -> Iterator[Gap]:
    """Doubt a value, what is best, or what is in bounds, that is not so by what another named graph says."""
    facts = found.facts if found.compared is None else found.compared.facts[0]
    is_in_bounds = isinstance(found.plan, a.Count | a.Exists) or any(parts_of(found.plan, a.Where))
    if found.value is not None or found.compared is not None or is_in_bounds:
        in_part = is_in_bounds and found.compared is None  # both are cited where both are in bounds
        several = disputed(session.graph, facts, session.labels.languages, in_part=in_part)
        two = [*several.values()][:2]
        if two and any(parts_of(found.plan, a.Disputed)):
            session.notes.append(f"sources differ: {'; '.join(two)}", code="sources")
        elif two and _is_best_by_each(found, several, session):
            session.notes.append(f"sources differ, and each leads to this: {'; '.join(two)}", code="sources")
        elif two:
            yield rival(*two)


def _is_best_by_each(found: Computed, values: Collection[Term], session: Session) -> bool:
    """Whether one is best by each of several values that are in dispute, which are in one unit."""
    match found.plan, found.compared and found.compared.next:
        case a.Top(_, a.Value(path, kind), 1, largest), ((_, worst), *_) if path.last not in session.vocabulary.amounts:
            first, *others = (read_as(one, kind) for one in (worst, *values))
            return None not in {first, *others} and bool(min(others) > first if largest else max(others) < first)
    return False


def with_rows(found: Computed, session: Session) -> Computed:
    """Return a table of whose, when and value for the bare numbers of nodes that say these, and have no name."""
    plan = found.plan
    if not isinstance(plan, a.Ends) or not isinstance(found.rows[1:] and found.rows[0][0], Literal):
        return found
    *before, last = plan.path.steps
    items = a.Ends(plan.start, PropertyPath(tuple(before))) if before else plan.start
    profiler = Profiler(session.graph, session.vocabulary, common=common_profiler(session))
    uses = {one.step: one for one in profiler(items).uses if one.step.is_forward and one.most == 1}
    nodes, kinds = iris_in(profiler.sample(items)), {one.kind for one in uses.values()}
    called = session.labels([*nodes, *(step.predicate for step in uses)])
    is_named = any(called[node] != local_name(node) for node in nodes)
    if last not in uses or uses[last].kind != "number" or is_named or not kinds >= {"item", "date"}:
        return found
    measured = sorted(uses.values(), key=lambda one: (one.step == last, one.kind != "item"))
    columns = [a.Column(called[o.predicate], a.Value(o.path, o.kind, o.unit), optional=True) for o in measured]
    return run_plan(a.ItemTable(items, tuple(columns), shows_items=False), session)


def _of_one_each(found: Computed, session: Session) -> tuple[Computed, ...]:
    """Return what a total comes to with the least and the most of each thing, where sources differ on one of these."""
    match found.plan:
        case a.SummaryOf("sum" | "avg", _, a.Value(path) as measure) as plan if disputed(
            session.graph, found.facts, session.labels.languages, in_part=False
        ):
            return tuple(
                run_plan(replace(plan, measure=summarised(how, measure, path)), session) for how in ("min", "max")
            )
    return ()


def counted_beside(found: Retrieval, session: Session, missing: tuple[Gap, ...]) -> Retrieval | None:
    """Count, where how many is asked, all that the best path leads to, verified, beside the evidence.

    ``None`` where that is not all that is asked, or the path leads to more than was found.
    """
    best = found.best_item
    is_all = {gap.code for gap in missing} == {"operation"} and session.asked.asks == "count"
    if best is None or not is_all or best.cuts or not best.ends:
        return None
    path = best.property_path
    starts = distinct(own.start for own in best.paths if own.property_path == path)
    named = {link.term for link in session.links if link.kind == "entity"}
    is_whole = named <= set(starts) and all(isinstance(term, IRI) for term in (*starts, *best.ends))
    if not is_whole or (path.goes_back and len(path.steps) > 2):
        return None
    items = a.Items(tuple(term for term in starts if isinstance(term, IRI)))
    if not (path.goes_back or _leads_to_what_is_counted(path, best, session)):
        return None
    ends: a.ItemSet = a.Ends(items, path)
    counted = a.Count(a.Minus(ends, items) if path.goes_back else ends)  # the start is none of those beside it
    made: Retrieval | None = None
    with session.within_budget():
        computed = run_plan(counted, session)
        made = without_lost_items(computed_retrieval(computed, session), session)
    if made is None or made.draft is None:  # what it rests on is gone
        return None
    return replace(made, evidence=Evidence([*made.evidence, *found.evidence]))


def _leads_to_what_is_counted(path: PropertyPath, best: EvidenceItem, session: Session) -> bool:
    """Whether the noun after `how many` names the last step of a path, or the class of what it leads to."""
    head = session.asked.phrase.head
    texts = [] if head is None else [session.asked.texts[at] for at in head.span]
    (kinds,) = session.compared_labels.majority_types([[(end,) for end in best.ends]], in_grace=True)
    fit = session.label_fit
    own = fit.phrase(texts, path.last) if texts else []
    return bool(own) and all(max(one, fit.word(text, kinds[0])) >= NEAR for one, text in zip(own, texts, strict=True))


def _cited_facts(found: Computed) -> tuple[Triple, ...]:
    """Choose the facts that are cited: what says the best, and the next, comes first; of many, a sample."""
    named = frozenset((*found.items, *(found.rows[0][:1] if found.rows else ())))
    parts = [*(found.compared.facts if found.compared is not None else ())]
    parts.append(tuple(sorted(found.facts, key=lambda fact: named.isdisjoint((fact.subject, fact.object)))))
    if len(found.facts) > _MAX_CITED:
        parts = [part[:_CITED_SAMPLE] for part in parts]
    return distinct(chain(*parts))


def best_text(found: Computed, label: Label) -> str:
    """Say what is best, with its value, what comes next, and of how many."""
    said, compared = [rows_text(found, label, with_values=True)], found.compared
    if compared is not None and compared.next:
        items, values = zip_equal(*compared.next)
        following = replace(found, rows=tuple((item,) for item in items), measured=values)
        said.append(f"next: {rows_text(following, label, with_values=True)}")
    return "; ".join([*said, *([f"of {compared.size:,}"] if compared is not None and compared.size else [])])


def reading_in_words(plan: a.Plan, label: Label) -> str:
    """Say which reading of the question a plan is: what was done, and to what."""
    done = next((word for forms, word in _READINGS if isinstance(plan, forms)), "found")
    said = in_words(plan, label).removeprefix("the number of " if isinstance(plan, a.Count) else "")
    return f"{done}: {printable(said, 600)}"


def computed_words(found: Computed, label: Label, say: Callable[[str], str] = str) -> str:
    """Say what a plan came to, on one line."""
    if isinstance(found.plan, a.Condition):
        return say(_NOTHING if found.value is None else "yes" if found.value == Literal(value=True) else "no")
    unit = "" if found.value is None else unit_of(found)
    return f"{rows_text(found, label, say=say)} {unit}".strip() or say(_NOTHING)


def _computed_draft(
    found: Computed, reading: str, value: str, answers: tuple[AnswerTerm, ...], session: Session, *, why: str
) -> Draft:
    """Make the draft: the value, then the reading it is of; nothing is said to be so where nothing was found."""
    read = reading if session.translation is None else f"{session.say('read in English')}: {reading}"
    if value == session.say(_NOTHING):
        none = NO_NUMBER if found.is_no_number else "Nothing in this graph"
        return Draft(f"{session.say(none)} [{COMPUTED_MARKER}]\n{read}{why}", sufficient=False)
    is_closed = isinstance(found.plan, a.Count | a.Exists) and found.empty_part is not None
    text = f"{value} {session.say('in this graph')}" if is_closed else value
    claim = Claim(f"{reading} = {value}", (COMPUTED_MARKER,))
    return Draft(f"{text} [{COMPUTED_MARKER}]\n({read}{why})", answers, (claim,), sufficient=True)


def _why_nothing(found: Computed, label: Label, session: Session) -> str:
    """Say which part of a plan has no items, that all have some and none is of all, or how many are found directly."""
    directly, value = found.directly, found.value
    if directly is not None and directly != (len(found.items) if value is None else whole_number(value)):
        return f"; {directly:,} {session.say('of them directly')}"
    part, whole = found.empty_part, found.plan.items if isinstance(found.plan, a.Count | a.Exists) else found.plan
    if part is None or isinstance(part, a.Minus | a.Lacks | a.Where):
        return ""
    if part != whole:
        return f"; {none_in_words(part, label)} {session.say('in this graph')}"
    if not isinstance(part, a.Both):
        return ""
    is_one_of = any(isinstance(one, a.Items) for one in part.sets)
    return f"; {session.say(_OTHERS if is_one_of else _NEVER_TOGETHER)}"
