"""What speaks against a plan that no model wrote: what it leaves out of the question, or takes for granted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from kgsparql.answering.answer import Gap, type_of_terms
from kgsparql.answering.kinds_found import sort_gap_of
from kgsparql.answering.plan_question import PlanQuestion
from kgsparql.answering.unclear_names import other_meanings
from kgsparql.linking.words import words
from kgsparql.plans import algebra as a
from kgsparql.plans.cue_reading import read_cues
from kgsparql.plans.cue_words import UNITS
from kgsparql.plans.enumeration import RankedPlan
from kgsparql.plans.running import Computed
from kgsparql.plans.type_check import parts, terms_in
from kgsparql.rdf.terms import IRI, normalised

_UNSURE = 0.6
"""A plan that fits the question less well is not its answer without a doubt."""
_LOOKED_AT = 20
"""Items of an answer whose classes are looked up."""
_SECOND = re.compile(r"\w.*\band (?:what|who|which|when|where|how)\b", re.IGNORECASE)
_TIME = re.compile(r"\b(?:what|which) (year|decade|century|month|day|date)\b", re.IGNORECASE)
_NUMBER_OF = re.compile(r"\b(?:average|mean|total|the) number of\b|\bhow many\b|\bmost\b|\bfewest\b", re.IGNORECASE)
"""Words with which a number of things is asked for."""
_SHARE_OF_ALL = re.compile(
    r"\b(?:top|bottom|best|worst|first|last|\w+est|most|least)\s+\d+\s*(?:%|percent\b|per cent\b)", re.IGNORECASE
)
_SEX = frozenset("woman women man men female male girl girls boy boys lady ladies".split())
_ALL = frozenset({"all", "every", "each", "always", "both"})
_EACH = frozenset({"each", "every", "per"})
_SHARED = frozenset("same share shares shared both common together also".split())
_NOT = frozenset({"not", "never", "neither"})


def plan_doubts(ranked: RankedPlan, computed: Computed, asked: PlanQuestion) -> tuple[Gap, ...]:
    """The first thing that speaks against a plan; nothing where it may be called the answer.

    The graph is asked only where nothing in the plan and the question themselves does.
    """
    return tuple(islice(_doubts(ranked, computed, asked), 1))


def _doubts(ranked: RankedPlan, computed: Computed, asked: PlanQuestion) -> Iterator[Gap]:
    yield from _doubtful_fit(ranked, asked)
    yield from _doubtful_kind(ranked.plan, computed, asked)
    yield from _doubtful_words(ranked.plan, asked)
    yield from _doubtful_units(ranked.plan, asked)
    yield from other_meanings(terms_in(ranked.plan), asked.session.links, asked.session.question)
    yield from _denied_otherwise(ranked.plan, asked)
    if isinstance(computed.empty_part, a.Instances):
        yield Gap("kind", "", "nothing in this graph is of a class that is asked about")
    if computed.empty_part is not None and _is_far_measured(ranked.plan):
        yield Gap("reading", "", "there is nothing like that, so something else may have been asked")
    if ranked.score < _UNSURE:
        yield Gap("reading", "", "this may not be what was asked")
    if _are_others(computed, asked):
        yield Gap("kind", "", "what was computed is of another kind than what is asked for")


def _doubtful_fit(ranked: RankedPlan, asked: PlanQuestion) -> Iterator[Gap]:
    """What a plan leaves out of the question, and what it adds to it."""
    if left := [asked.words.texts[i] for i in ranked.left]:
        yield Gap("word", " ".join(left), f"what was computed leaves out {', '.join(map(repr, left))}")
    if ranked.silent or _is_far_counted(ranked.plan):
        yield Gap("step", "", "nothing in the question asks for a part of what was computed")
    if ranked.is_of_another_class:
        yield Gap("kind", "", "what was computed is of another kind than what is asked for")


def _doubtful_kind(plan: a.Plan, computed: Computed, asked: PlanQuestion) -> Iterator[Gap]:
    """Two things, a time, a number, somebody or a place that is asked for where something else was computed."""
    question = asked.session.question
    if _SECOND.search(question) and not computed.is_table:
        yield Gap("operation", "and", "this asks for two things, of which one was computed")
    if (time := _TIME.search(question)) and computed.items and type_of_terms(computed.items) == "entities":
        yield Gap("kind", time[1], f"this asks for a {time[1].lower()}, and what was computed is none")
    if "date" in read_cues(question).sought and computed.items and type_of_terms(computed.items) == "entities":
        yield Gap("kind", "when", "this asks for a time, and what was computed is none")
    if _is_of_number(plan) != bool(_NUMBER_OF.search(question)) and isinstance(
        plan, a.SummaryOf | a.Grouped | a.ItemTable
    ):
        yield Gap("operation", "number", "what is averaged or summed up may not be what was asked for")
    if (sort := sort_gap_of(" ".join(question.casefold().split()), computed.items, (), asked.session)) is not None:
        yield sort


def _doubtful_words(plan: a.Plan, asked: PlanQuestion) -> Iterator[Gap]:
    """Small words that change what is asked: `all`, `than`, `the same`."""
    texts = asked.words.texts
    cues = read_cues(asked.session.question)
    read = {i for cue in cues.operations for i in cue.words}
    if any(text == "than" and i not in read for i, text in enumerate(texts)):
        yield Gap("word", "than", "what was computed leaves out 'than'")
    if "each" in texts and not isinstance(plan, a.Grouped | a.ItemTable | a.Exists | a.Compares):
        yield Gap("operation", "each", "this asks for something of each, and one thing was computed of all")
    if share := _SHARE_OF_ALL.search(asked.session.question):
        yield Gap("operation", share[0], f"this asks for {share[0]!r}, and what was computed is no such share")
    named = " ".join(getattr(term, "value", "").casefold() for term in terms_in(plan))
    for text in texts:
        if text in _SEX and not any(word in named for word in (text, "gender", "sex")):
            yield Gap("word", text, f"what was computed leaves out {text!r}")
    if not isinstance(plan, a.Exists):
        return
    for text in texts:
        if text in _ALL:
            yield Gap("word", text, f"this asks about {text}, and what was computed is whether there are any")
    sets = plan.items.sets if isinstance(plan.items, a.Both) else ()
    ends = [one for one in sets if isinstance(one, a.Ends) and isinstance(one.start, a.Items)]
    if len(ends) > 1 and ends[0].start != ends[1].start and _SHARED.isdisjoint(texts):
        yield Gap("reading", "", "what was computed is whether they have one in common")


def _doubtful_units(plan: a.Plan, asked: PlanQuestion) -> Iterator[Gap]:
    """Numbers with a unit, which the graph does not say of what they are compared with."""
    texts = asked.words.texts
    said = {UNITS[unit] for before, unit in pairwise(texts) if before.isdecimal() and unit in UNITS}
    compared = [p.measure for p in parts(plan) if isinstance(p, a.Where)]
    known = {UNITS.get(own.unit, own.unit) for own in compared if isinstance(own, a.Value | a.Summarised)}
    for unit in sorted(said - known):
        yield Gap("word", unit, f"the graph does not say that the values are in {unit}, and nothing was converted")


def _are_others(computed: Computed, asked: PlanQuestion) -> bool:
    """Whether what was found is of classes, and none of them is the one that `which`, `who` or `for each` asks for."""
    texts = asked.words.texts
    each = {i + 1 for i, text in enumerate(texts) if text in _EACH}
    places, found = read_cues(asked.session.question).asking(texts), computed.items
    if computed.is_table:
        places, found = frozenset(each), tuple(row[0] for row in computed.rows if row[0] is not None)
    focus = asked.words.nouns_after(places)
    wanted = {own.term for own in asked.named if own.is_class and own.words & focus}
    items = tuple(item for item in found if isinstance(item, IRI))[:_LOOKED_AT]
    if not wanted or not items:
        return False
    own = asked.profiler(a.Items(items)).classes
    return bool(own) and wanted.isdisjoint(asked.profiler.with_broader(own))


def _is_of_number(plan: a.Plan) -> bool:
    """Whether a plan counts something, or groups it to count."""
    counts = any(isinstance(part, a.HowMany | a.Count) for part in parts(plan))
    return counts or any(isinstance(part, a.GroupColumn) and part.summary is None for part in parts(plan))


def _denied_otherwise(plan: a.Plan, asked: PlanQuestion) -> Iterator[Gap]:
    """Something that is denied in the question and not in the plan, or that may be said in another way."""
    if _misses_the_denied(plan, asked):
        yield Gap("word", "not", "what is denied may not be what was computed")
    for part in parts(plan):
        if isinstance(part, a.Lacks) and part.to is None and len(part.path.steps) == 1:
            (own,) = part.path.steps
            others = [use.step.predicate for use in asked.profiler(part.items).uses if use.step != own]
            names = asked.session.labels([own.predicate, *others], in_grace=True)
            said = set(words(normalised(names[own.predicate])))
            for other in others:
                if other != own.predicate and said < set(words(normalised(names[other]))):
                    yield Gap("reading", "", f"{names[own.predicate]!r} is missing, but there is {names[other]!r}")


def _misses_the_denied(plan: a.Plan, asked: PlanQuestion) -> bool:
    """Whether a number stands after `not`, or something named there is no part of an absence: `not born in Germany`."""
    texts = asked.words.texts
    after = next(
        (i for i, word in enumerate(texts) if word in _NOT or (word == "t" and texts[i - 1][-1:] == "n")), None
    )
    if after is None:
        return False
    absent = [p.to if isinstance(p, a.Lacks) else p.without for p in parts(plan) if isinstance(p, a.Lacks | a.Minus)]
    denied = {term for part in absent if part is not None for term in terms_in(part)}
    named = [own.term for own in asked.named if not own.is_class and own.words and min(own.words) > after]
    return any(text.isdecimal() for text in texts[after:]) or any(term not in denied for term in named)


def _is_far_counted(plan: a.Plan) -> bool:
    """Whether items are compared by how many there are of what is two steps away."""
    return any(isinstance(part, a.HowMany) and len(part.path.steps) > 1 for part in parts(plan))


def _is_far_measured(plan: a.Plan) -> bool:
    """Whether items are kept by a value that is not their own."""
    kept = [part.measure for part in parts(plan) if isinstance(part, a.Where)]
    return any(isinstance(measure, a.Value) and len(measure.path.steps) > 1 for measure in kept)
