"""What a query plan came to, as evidence and draft; and what is computed of the ends of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgsparql.answering.answer import COMPUTED_MARKER, AnswerTerm, Claim, Draft, Gap, Retrieval, rows_text, unit_of
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.answering.retriever import without_lost_items
from kgsparql.answering.session import Session
from kgsparql.errors import QueryError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.graphs.graph import Source
from kgsparql.graphs.notes import Cut
from kgsparql.plans import algebra as a
from kgsparql.plans.cue_reading import read_cues
from kgsparql.plans.item_sets import both
from kgsparql.plans.measure_words import Label
from kgsparql.plans.readings import Reading
from kgsparql.plans.running import Computed, run
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.wording import in_words, none_in_words
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, printable
from kgsparql.rdf.vocabulary import SUBCLASS_OF

_MAX_CITED, _CITED_SAMPLE = 100, 20  # facts that an item cites, at most; of more, a sample
_NOTHING = "nothing"
_FAILED = "No value: the engine gives none, though the facts for it are there; it may be too large"
_READINGS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((a.Count,), "counted"),
    ((a.Exists, a.Compares, a.SameItems, a.Not, a.AllOf, a.AnyOf), "checked"),
    ((a.Top,), "compared"),
    ((a.SummaryOf, a.Calculated, a.Constant, a.ItemTable, a.Grouped), "computed"),
)


def computed_retrieval(
    found: Computed, session: Session, *, score: float = 1.0, gaps: tuple[Gap, ...] = ()
) -> Retrieval:
    """Make a retrieval of what a plan came to: one item of evidence (Q1), its answers, and the draft that says them."""
    if found.is_confirmed is False:
        gaps = (Gap("reading", "", "computed again from its facts, the value is not the same"), *gaps)
    examples = [own.example for own in found.left_out]
    label = session.labels([*terms_in(found.plan), *found.terms, *examples], in_grace=True).__getitem__
    gaps = (*gaps, *(Gap("value", "", own.in_words(label)) for own in found.left_out))
    reading, value, shown = reading_in_words(found.plan, label), _value_text(found, label), found.facts
    if len(shown) > _MAX_CITED:  # first those that name an item of the answer
        items = frozenset(found.items)
        shown = tuple(sorted(shown, key=lambda fact: items.isdisjoint((fact.subject, fact.object)))[:_CITED_SAMPLE])
    of = "" if shown == found.facts else f" of {'' if found.all_facts else 'more than '}{len(found.facts):,}"
    again = {True: "; computed again from them: the same", False: "; computed again from them: NOT the same", None: ""}
    basis = f" ({len(shown)}{of} facts{again[found.is_confirmed]})" if found.facts else ""
    sources = tuple(Source(member.name) for member in session.graph.members)
    item = EvidenceItem(
        kind="computed",
        text=f"{reading} = {value}{basis}",
        triples=tuple(CitedTriple(triple, sources=sources) for triple in shown),
        query=found.query,
        score=score,
        ends=found.items,
        cuts=(Cut("rows", len(found.rows)),) if found.is_cut else (),
        marker=COMPUTED_MARKER,
    )
    session.note_cuts(item.cuts)
    terms = found.items or dict.fromkeys(row[0] for row in found.rows)
    answers = tuple(AnswerTerm(term, label(term), score, (COMPUTED_MARKER,)) for term in terms if term is not None)
    draft = _computed_draft(found, reading, value, answers, label)
    return Retrieval(Evidence([item]), answers, draft=draft, computed=found, gaps=gaps)


def reading_in_words(plan: a.Plan, label: Label) -> str:
    """Say which reading of the question a plan is: what was done, and to what."""
    done = next((word for forms, word in _READINGS if isinstance(plan, forms)), "found")
    said = in_words(plan, label).removeprefix("the number of " if isinstance(plan, a.Count) else "")
    return f"{done}: {printable(said, 600)}"


def _value_text(found: Computed, label: Label) -> str:
    if found.has_failed:
        return "no value"
    if isinstance(found.plan, a.Exists | a.Compares | a.SameItems | a.Not | a.AllOf | a.AnyOf):
        return _NOTHING if found.value is None else "yes" if found.value == Literal(value=True) else "no"
    unit = "" if found.value is None else unit_of(found)
    return f"{rows_text(found, label)} {unit}".strip() or _NOTHING


def _computed_draft(found: Computed, reading: str, value: str, answers: tuple[AnswerTerm, ...], label: Label) -> Draft:
    """Make the draft: the value, then the reading it is of; nothing is said to be so where nothing was found."""
    if found.has_failed:
        return Draft(f"{_FAILED} [{COMPUTED_MARKER}]\n{reading}", sufficient=False)
    part = found.empty_part
    if value == _NOTHING:
        empty = "" if part in {None, found.plan} else f"; {none_in_words(part, label)} in this graph"
        return Draft(f"Nothing in this graph [{COMPUTED_MARKER}]\n{reading}{empty}", sufficient=False)
    where = " in this graph" if isinstance(found.plan, a.Count | a.Exists) and part is not None else ""
    claim = Claim(f"{reading} = {value}", (COMPUTED_MARKER,))
    return Draft(f"{value}{where} [{COMPUTED_MARKER}]\n({reading})", answers, (claim,), sufficient=True)


_MAX_SETS = 20  # sets that are looked at: what the path leads to, and what that leads to
_MAX_PLANS = 4
_SURE_SCORE = 0.99  # a plan that fits less well, such as one with a measure that nobody named, is not the answer
_SAID_BY_PLANS = frozenset({"operation", "word"})  # what a path may leave out that a plan over its ends accounts for


def computed_beside(found: Retrieval, session: Session, missing: tuple[Gap, ...]) -> Retrieval | None:
    """Compute what is asked of what was found, verified, beside the evidence; ``None`` if that cannot be."""
    computed: Retrieval | None = None
    with session.within_budget():
        computed = _path_computation(found, session, missing)
    if computed is None:
        return None
    verified = without_lost_items(computed, session)
    if verified.draft is None:  # what it rests on is gone
        return None
    return replace(verified, evidence=Evidence([*verified.evidence, *found.evidence]))


def _path_computation(found: Retrieval, session: Session, missing: tuple[Gap, ...]) -> Retrieval | None:
    """Compute what is asked of all that the best path leads to; ``None`` where no plan says it all."""
    best = found.best_item
    if best is None or not session.graph.is_one_local_graph or not {gap.code for gap in missing} <= _SAID_BY_PLANS:
        return None
    asked = PlanQuestion.of(session, sets=_MAX_SETS)
    items = _asked_ends(best, asked)
    if items is None:
        return None
    left = {word for gap in missing for word in gap.words.split()}
    said = {i: 1.0 for i in asked.words.content if asked.words.texts[i] not in left}
    reading = Reading(items, said, frozenset(asked.named), classes=asked.profiler(items).classes)
    plans = [
        own for own in asked.ranked_plans(_MAX_PLANS, found=reading)
        if own.plan != items and own.score >= _SURE_SCORE
        and not (own.left or own.silent or own.is_of_another_class)
    ]  # fmt: skip
    is_far = len(best.paths[0].property_path.steps) > 1
    if not plans or (is_far and isinstance(plans[0].plan, a.Exists)):  # of a detour, there is nearly always something
        return None
    try:
        computed = run(plans[0].plan, session.graph, vocabulary=asked.vocabulary)
    except QueryError as error:
        session.notes.append(f"a plan could not be run: {error.message}", code="plan_failed")
        return None
    return computed_retrieval(computed, session, score=plans[0].score)


def _asked_ends(best: EvidenceItem, asked: PlanQuestion) -> a.ItemSet | None:
    """Return what is asked for of the ends of a path, as a set; ``None`` where the question names what is not in it."""
    path = best.paths[0].property_path
    starts = tuple(dict.fromkeys(own.start for own in best.paths if own.property_path == path))
    named = {own.term for own in asked.named if not own.is_class}
    named |= {link.term for link in asked.session.links if link.kind == "entity"}
    ends = _all_ends(best, path, [start for start in starts if isinstance(start, IRI)])
    if ends is None or not named <= set(starts):
        return None
    places = asked.asked_for(read_cues(asked.session.question))
    classes = (own.term for own in asked.named if own.is_class and own.words & places and own.term not in starts)
    wanted = next(classes, None)
    if not isinstance(wanted, IRI):
        return ends
    is_among = wanted in asked.profiler.with_broader(asked.profiler(ends).classes)
    return both(a.Instances(wanted), ends) if is_among else None


def _all_ends(best: EvidenceItem, path: PropertyPath, starts: Sequence[IRI]) -> a.ItemSet | None:
    """Return all items that a path leads to, as a set; ``None`` where no set is just that."""
    is_of_schema = any(step.predicate == SUBCLASS_OF for step in path.steps)
    if best.cuts or is_of_schema or not starts or not all(isinstance(end, IRI) for end in best.ends):
        return None
    ends = a.Ends(a.Items(tuple(starts)), path)
    if not path.goes_back:
        return ends
    # The start is none of those beside it.
    return a.Minus(ends, a.Items(tuple(starts))) if len(path.steps) == 2 else None
