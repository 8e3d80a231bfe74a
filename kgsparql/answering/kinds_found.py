"""Whether what was found is of the kind that is asked for (a time, somebody), and whether OWL says more of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.answer import Answer
from kgsparql.answering.plan_question import common_profiler
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.words import roots_of, stem, words, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import ends as ends_of
from kgsparql.plans.graph_view import A_LIST, KnownGraph
from kgsparql.plans.label_fit import unit_in
from kgsparql.plans.plan_patterns import PlanCompiler
from kgsparql.plans.type_check import PLACE, parts_of, terms_in
from kgsparql.plans.weights import weights
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal, Term, first_of, iris_in, normalised, split_camel_case
from kgsparql.rdf.vocabulary import (
    CLASS_KINDS,
    EQUIVALENT_CLASS,
    EXISTENTIAL,
    INSTANCE_OF,
    LIST_FIRST,
    LIST_REST,
    ON_PROPERTY,
    RDF_TYPE,
    RESTRICTED_TO,
    SUBCLASS_OF,
    TAXONOMY,
)
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import Gap, left_out, not_all, other_kind, quoted, rival, turned, uncomputed, undated
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.times import times_said
from kgsparql.schema.patterns import patterns

_W = weights("left")
_SAMPLE = 20  # ends of an item whose class is looked up
_RESTRICTIONS = 200  # of the classes that a question names
_YEAR = re.compile(r"\d{3,4}|\d:\d\d")
_FIGURE = re.compile(r"[\d.,:TZ+-]*\d[\d.,:TZ+-]*")
_POINT = re.compile(r"(?i:point|polygon|multi\w+)\s*\(")
_ORDERING = (a.Top, a.BestOfEach, a.SummaryOf, a.Summarised, a.Where, a.Compares, a.Calculated, a.Grouped, a.ItemTable)
_DATES = ("date", "year", "time")
_CODE = re.compile(r"[^\W\d]{0,3}[^\w]?\d[\d.,:TZ+-]*")
"""A number, a date, or an identifier such as `P-01`."""


def kinds_missed(asked: Form, best: EvidenceItem, steps: Sequence[str], session: Session) -> Iterator[Gap]:
    """What is asked for that the ends of a path cannot be, the gravest first.

    :param steps: the names of the predicates of the path.
    """
    ending, ends, own = steps[-1:], best.ends, asked.language
    texts = [end.value for end in ends if isinstance(end, Literal)]
    are_texts = len(texts) == len(ends) > 0
    shown = [*session.compared_labels(ends[:_SAMPLE]).values(), *texts]
    said, step = asked.words(asked.noun) or asked.phrase.asked, quoted(steps[-1])
    yield from _names_missed(asked, best, session, said)
    more = [roots_of([name]) - roots_of(ending) for name in shown]  # *authors list*
    if more and all(left and left <= roots_of(own.lists) for left in more):
        yield A_LIST
    is_dated = any(isinstance(end, Literal) and literal_kind(end) == "date" for end in ends)
    if asked.asks_amount and not asked.asks_time and is_dated:
        yield other_kind("an amount", "a date", said)
    yield from amount_gaps(ends, ending, session)
    if not unit_in(steps[-1].casefold()) <= roots_of(asked.texts):  # what a price is in
        yield other_kind("an amount", step, said)
    is_coded = are_texts and all(map(_CODE.fullmatch, texts))
    likely = session.ranker.similarities(ending, own.sorts["place"][:1]).max(initial=0.0)
    is_noun_of_place = asked.words(asked.noun).endswith(tuple(own.sorts["place"][1:]))  # the birthplace
    is_unlike = session.ranker.by_meaning and likely < _W.step
    if texts and ((is_coded and is_noun_of_place) or (asked.sort == "place" and (is_coded or is_unlike))):
        yield other_kind("a place", step, said)
    is_of_places = not roots_of([said]).isdisjoint(roots_of(own.sorts["place"]))  # which city
    if is_of_places and are_texts and all(map(_POINT.match, texts)):
        yield other_kind(said, step)
    last = best.property_path.last_step
    kinds = asked.words(asked.phrase.kinds)
    named = roots_of([*own.hints["kind"], said])
    is_far = len(steps) > 1 and not any(one.verb for one in asked.relations)  # the genre of films is no kind of person
    is_kind = last.predicate in {RDF_TYPE, INSTANCE_OF, *TAXONOMY} or not named.isdisjoint(roots_of(steps))
    if kinds and (is_far or not is_kind):
        yield other_kind(f"{kinds} of {said}", step, kinds)
    if kinds and last in (Step(RDF_TYPE, "inverse"), Step(INSTANCE_OF, "inverse")):  # what is of it is no kind of it
        yield other_kind(kinds, quoted(shown[0]))
    if gap := sort_gap_of(session.question, ends, ending if last.is_forward else (), session):
        yield gap
    yield from _level_missed(asked, best)
    if asked.asks_what_one_does and roots_of(own.sorts["job"]).isdisjoint(roots_of(steps)):
        yield other_kind("what somebody does", step, "do")
    yield from _noun_on_the_way(asked, best, steps, session)
    beside = [own.hints.get(f"{asked.sort} {one.preposition}", ()) for one in asked.relations]  # where is he from
    closing, whole, roots = asked.closing or next(filter(None, beside), ()), " ".join(steps).casefold(), roots_of(steps)
    if closing and not any(one in whole if " " in one else roots_of([one]) <= roots for one in closing):
        yield other_kind(closing[0], step)


def _names_missed(asked: Form, best: EvidenceItem, session: Session, said: str) -> Iterator[Gap]:
    """Doubt that what was found is but what the thing is called, another name of the question, or a key."""
    ends, shown = best.ends, "".join(session.compared_labels(best.ends[:1]).values())
    if _is_own_name(asked, best, session):
        yield other_kind("more than its name", quoted(shown))
    if len(ends) == 1 < len(session.links) and ends[0] in {link.term for link in session.links}:  # whose sister is Ann
        yield other_kind("something else", quoted(shown))
    if isinstance(first_of(ends), Literal) and best.property_path.last in session.vocabulary.keyed:
        yield other_kind(said or "a thing", quoted(shown))


def _level_missed(asked: Form, best: EvidenceItem) -> Iterator[Gap]:
    """Doubt that what is below something, or above it, was found by other ways than those of a taxonomy."""
    own, said = asked.language, {asked.read.texts[p] for one in asked.phrases for p in one.kinds}
    for levels, way in ((own.below_words, "inverse"), (own.above_words, "forward")):
        level = next(filter(levels.__contains__, said), "")
        steps = best.property_path.steps if level else ()
        if not all(step.predicate in TAXONOMY and step.direction == way for step in steps):
            yield left_out(level)


def value_gaps(plan: a.Plan, session: Session) -> Iterator[Gap]:
    """Doubt that there is nothing where things are met with values: mayors with the day on which Ann was born."""
    profiler = common_profiler(session)
    for both in parts_of(plan, a.Both):
        steps = [one.path.last_step for one in both.sets if isinstance(one, a.Ends)]
        kinds = {profiler.at_ends(step.predicate).kind for step in steps if step.is_forward}
        if "item" in kinds and kinds & {"date", "time"}:
            yield undated()


def measure_gaps(plan: a.Plan, session: Session) -> Iterator[Gap]:
    """Doubt a number of nodes that say themselves how many, and which is the first by one of two dates."""
    yield from _stated_counts(plan, session)
    profiler, fit, x = common_profiler(session), session.label_fit, Variable("x")
    for top in parts_of(plan, a.Top):
        if not (isinstance(top.measure, a.Value) and top.measure.kind in _DATES):
            continue
        by = top.measure.path
        said = fit.label_roots(by.last) - roots_of(session.asked.language.moments)
        for use in (use for use in profiler(top.items).uses if use.kind in _DATES and use.step.is_forward):
            if use.path == by or fit.label_roots(use.predicate).isdisjoint(said):
                continue  # an opening year, where some have no opening date
            alone = PlanCompiler(session.vocabulary, 1).members(a.Lacks(a.Has(top.items, use.path), by), x)
            if g.found(session.graph, "alone", (x,), alone, limit=1):
                yield rival(*map(quoted, session.labels([use.predicate, by.last]).values()))


def _stated_counts(plan: a.Plan, session: Session) -> Iterator[Gap]:
    """Doubt that nodes are to be counted which have a number of what is asked for: a rating with its `rating count`."""
    profiler, fit, counting = common_profiler(session), session.label_fit, session.asked.language.count_words
    tops = [(one.items, one.measure) for one in parts_of(plan, a.Top)]
    counted = [one.items for one in parts_of(plan, a.Count)]
    counted += [ends_of(items, one.path) for items, one in tops if isinstance(one, a.HowMany)]
    asked, last = roots_of(session.asked.texts), counting - patterns()["key"]  # a flight number is no number of flights
    for use in (use for items in counted for use in profiler(items).uses if use.kind == "number"):
        own = words_of(fit.text(use.predicate))
        is_count = bool(own) and (own[0] in counting or own[-1] in last)
        if is_count and not asked.isdisjoint(fit.label_roots(use.predicate) - roots_of(counting)):
            yield rival(quoted(fit.text(use.predicate)))


def _noun_on_the_way(asked: Form, best: EvidenceItem, steps: Sequence[str], session: Session) -> Iterator[Gap]:
    """Doubt that the noun that is asked for is at the end, where a step on the way has it and no class of the ends."""
    way, noun = best.property_path, roots_of([asked.words(asked.noun[-1:])])
    is_in_list = any(one in {LIST_FIRST, LIST_REST} or PLACE.match(one.value) for one in way.predicates)
    if len(steps) == 1 or not noun or is_in_list:
        return
    groups = [[own.terms for own in best.paths if own.property_path == way]]
    (kinds,) = session.compared_labels.majority_types(groups, in_grace=True)
    (shared,) = session.compared_labels.shared_types([best.ends[:_SAMPLE]])
    ends = [kinds[-1], *shared, *(steps[-1:] if way.last_step.is_forward else ())]
    if roots_of(steps[-1:]) & roots_of(asked.language.naming_words):  # their names
        ends.append(kinds[-2])
    if noun.isdisjoint(roots_of(ends)) and not noun.isdisjoint(roots_of([*steps, *kinds[1:-1]])):
        yield other_kind(asked.words(asked.noun), quoted(kinds[-1] or steps[-1]))


def amount_gaps(ends: Sequence[Term | None], steps: Sequence[str], session: Session) -> Iterator[Gap]:
    """Doubt that what was found is a time or an amount, where that is asked for, and that it begins or ends by then.

    :param steps: the name of the predicate that leads to it.
    """
    asked = session.asked
    if not (ends and (asked.asks_time or asked.asks_amount)):
        return
    shown = [end.value for end in ends if isinstance(end, Literal)]
    shown += session.compared_labels([end for end in ends[:_SAMPLE] if end is not None]).values()
    if {text.strip().lower() for text in shown} <= patterns()["nothing"]:  # nobody knows it
        return
    said = asked.words(asked.noun) or asked.phrase.asked
    for kind, pattern in (("a time", _YEAR),) * asked.asks_time + (("an amount", _FIGURE),) * asked.asks_amount:
        if not any(map(pattern.search, shown)):
            yield other_kind(kind, quoted(shown[0]) if shown else "none", said)
    own, bound, measures = asked.language, asked.bound, asked.measures
    is_named = any(roots_of([hint]) <= roots_of([name]) for hint in measures for name in steps)
    is_named = is_named or any(roots_of([name]) <= roots_of(asked.texts) for name in steps)
    if measures and steps and not is_named:
        yield other_kind(measures[0], quoted(steps[-1]))
    for name in steps:
        told = set(words_of(name))
        ends_then = roots_of(told & own.ending)
        if bound in own.starting and not ends_then <= roots_of(asked.texts):  # since when it is closed is said
            yield turned(name)
        elif bound in own.ending and not ends_then:
            yield left_out(bound)


def _is_own_name(asked: Form, best: EvidenceItem, session: Session) -> bool:
    """Whether all that was found is how the thing that the question is about is called, and no name is asked for."""
    own, texts = asked.language, {normalised(end.value) for end in best.ends if isinstance(end, Literal)}
    naming = roots_of(own.identity_nouns | own.naming_words)
    if not texts or len(texts) < len(set(best.ends)) or naming & roots_of(asked.texts):
        return False
    names = set(map(normalised, session.compared_labels({path.start for path in best.paths}).values()))
    if asked.sort == "agent":  # nor is the family name of somebody anybody else
        names.update(word for name in list(names) for word in words(name))
    return texts <= names


def sort_gap_of(asked: str, ends: Sequence[Term], steps: Sequence[str], session: Session) -> Gap | None:
    """The doubt that what was found is not somebody where `who` asks, or no place where `where` does.

    :param ends: what was found; of literals the name of the step says what they are, of things without a class nothing.
    :param steps: the name of the predicate that they are the values of; empty where they are none.
    """
    language = lexicon()
    opening = dropwhile((language.prepositions - language.companions).__contains__, words_of(asked))
    first, second, *_ = *opening, "", ""
    is_beside = first in language.companions  # with whom one studies is no university
    sort, sorts = language.question_words.get(second if is_beside else first, ""), language.sorts
    if sort == "any" and second in language.persons:
        sort = "agent"  # which people
    if sort == "any" and second in language.sorts["place"]:
        sort = "place"  # which town
    if sort not in {"agent", "place"} or not ends:
        return None
    wanted = "somebody" if sort == "agent" else "a place"
    values = {literal_kind(end) if isinstance(end, Literal) else "text" for end in ends}
    if "text" not in values:  # who published it is no year
        return other_kind(wanted, f"a {min(values)}", first)
    labels, some = session.compared_labels, ends[:_SAMPLE]
    (kinds,) = labels.shared_types([some])
    are_named = any(map(labels.has_label, some)) or not any(labels.has_label(link.term) for link in session.links)
    said = [*kinds, *steps]
    is_text = all(isinstance(end, Literal) for end in ends)
    *before, last = ("", *words_of(" ".join(steps)))
    is_stuff = last in language.of_words and language.is_participle(before[-1] if before else "")  # made of
    if sort == "agent" and (is_stuff or ((is_text or not kinds) and last in language.locatives)):
        return other_kind(wanted, quoted(steps[-1]), first)  # created in
    if not said or not (kinds or is_text):
        return None
    wanted_names = [name for name in sorts[sort] if not is_beside or name not in sorts["place"]]
    others = [name for own in ("agent", "place", "other") for name in sorts[own] if name not in wanted_names]
    mine, other = _likeness_of(said, wanted_names, session), _likeness_of(said, others, session)
    nearer = other - mine
    is_said = bool(steps) and mine[-1] >= _W.step and nearer[-1] < _W.clearly
    are_nodes = not (are_named or is_said) and all(isinstance(end, IRI) for end in some)
    if kinds and are_nodes:  # a node that says who did it, and where
        return other_kind(wanted, quoted(kinds[0]), first)
    of_kinds = nearer[: len(kinds) or 1]  # a scientist is a person, and so no place
    is_like = is_said or (of_kinds < _W.clearly).all() or (of_kinds < 0).any()
    found = said if not is_like else _acts_among(kinds, session) if sort == "agent" and not is_said else []
    return other_kind(wanted, quoted(found[0]), first) if found else None


def _acts_among(kinds: Sequence[str], session: Session) -> list[str]:
    """Those names of classes that say what a verb of the question does, and nobody: who married is no *marriage*."""
    verbs = [session.asked.texts[p] for own in session.asked.relations for p in own.verb]
    doers, stems = tuple(lexicon().agent_suffixes), set(map(stem, verbs))
    named = (one for one in kinds if roots_of([one]) & roots_of(verbs))
    return [one for one in named if stem(one) in stems or not one.endswith(doers)]


def class_gaps(ends: Sequence[Term], session: Session) -> Iterator[Gap]:
    """Doubt what was found where some of it is of other classes than the one that is asked for: `which department`."""
    asked, phrase = session.asked, session.asked.phrase
    is_of_class = asked.sort == "any" and asked.asks == "set" and phrase.of is None and not phrase.kinds
    wanted = {*phrase.head.classes} - {*CLASS_KINDS} if is_of_class and phrase.head is not None else set[IRI]()
    own, items = common_profiler(session), iris_in(ends[:_SAMPLE]) if wanted else ()
    view, said = KnownGraph(own, session.compared_labels, session.linker), asked.words(asked.noun)
    wanted = wanted.union(*(view.classes_ending_with(said, kind) for kind in wanted))
    classes = [sorted(some, key=str) for some in own.classes_of(items).values()]
    told = [some for some in classes if not {*own.with_broader(sorted(wanted, key=str))}.issuperset(some)]
    odd = [some for some in told if wanted.isdisjoint(own.with_broader(some)) and not {*CLASS_KINDS} & {*some}]
    odd += [[one] for one in items[:1] if not classes and view.has_instances(one)]  # it is a class itself
    is_naming = asked.asks_what_it_is or asked.other_names is not None or bool(asked.columns)
    if wanted and ends and not is_naming and all(isinstance(one, Literal) for one in ends):
        yield other_kind(said, "a text or a number")
    elif odd and any(map(view.has_instances, sorted(wanted, key=str))):
        (name,) = session.compared_labels(odd[0][:1]).values()
        yield other_kind(said, quoted(name))


def unused_words(made: Answer, session: Session) -> Iterator[Gap]:
    """Doubt words of time and order that change what is asked, and that neither a name nor a computation is by.

    Of one thing that was found it is so now, and it is the first.
    """
    asked, own, read = session.asked, session.asked.language, session.asked.read
    places = [read.positions_between(*one.mention.place) for one in session.links]
    named = read.named.union(*places)
    shown = [made.evidence[marker] for one in made.best[:1] for marker in one.markers[:1]]
    steps = {predicate for item in shown for way in item.paths[:1] for predicate in way.property_path.predicates}
    plan = None if made.computed is None else made.computed.plan
    used = steps if plan is None else {*steps, *terms_in(plan)}
    said = set(words_of(" ".join(session.compared_labels(used).values())))
    is_ordered = any(parts_of(plan, *_ORDERING))
    is_one = len(made.best) == 1 and not isinstance(plan, a.Count | a.Condition)
    is_one |= any(parts_of(plan, a.Lacks)) and not own.alive_words.isdisjoint(read.texts)  # still alive
    later = own.time_adverbs - own.present_words - {"right"}
    best = {p + 1 for p, text in enumerate(read.texts) if text in own.quantifiers}  # most recently
    for word in (text for p, text in enumerate(read.texts) if p not in named | best and text not in said):
        is_of_several = word in own.present_words or (word in own.ordering_words and not is_ordered)
        is_other = word in own.past_words or word in later or (word in own.joining_times and not is_ordered)
        if is_other or (is_of_several and not is_one):
            yield uncomputed(word)
    for when in times_said(asked) if not is_one else ():
        if len(when.words) > 1 and when.kind in {"now", "former"}:  # at present
            yield uncomputed(asked.words(when.words))
    if isinstance(plan, a.Exists) and isinstance(plan.items, a.Items):  # is Ann over: there is Ann
        yield left_out(read.texts[-1])
    if asked.phrase.kinds and isinstance(plan, a.ItemSet) and asked.asks == "set":
        ways = [part.path.last for part in parts_of(plan, a.Ends)]
        names = session.compared_labels(ways).values()
        if {*TAXONOMY}.isdisjoint(ways) and roots_of(names).isdisjoint(roots_of(own.hints["kind"])):
            yield other_kind(f"{asked.words(asked.phrase.kinds)} of it", "not said to be one")


def restriction_gaps(session: Session) -> Iterator[Gap]:
    """Doubt that there is nothing where OWL says what is asked of all of a class, in a way that is not read."""
    terms = iris_in(link.term for link in session.links)
    if not terms or session.graph.profile.external_ids or not session.graph.uses_any((ON_PROPERTY,)):
        return
    x, kind, rule, by, far = g.variables("x kind rule by far")
    read = EXISTENTIAL if session.graph.is_embedded and session.vocabulary.restricted else ()
    left = tuple(predicate for predicate in RESTRICTED_TO if predicate not in read)
    above = g.OneOfPredicates(x, (), kind, then=(SUBCLASS_OF,))
    own = (above, g.Fact(kind, SUBCLASS_OF, rule), g.OneOfPredicates(rule, left, far))
    alike = (g.Fact(x, EQUIVALENT_CLASS, rule), g.OneOfPredicates(rule, RESTRICTED_TO, far))
    group = (g.Values(x, terms), g.Union((own, alike)), g.Fact(rule, ON_PROPERTY, by))
    found = g.found(session.graph, "restrictions", (x, by, far), group, limit=_RESTRICTIONS)
    names = session.compared_labels([term for one in found for term in one.values()])
    asked = roots_of([session.masked_question]) - roots_of(session.asked.language.function_words)
    called = [roots_of([link.label]) for link in session.links]
    for one in found:
        said = roots_of(split_camel_case(names[one[place]]) for place in ("by", "far"))
        if one["far"] in terms or asked & said or any(own and own <= said for own in called):
            (name,) = session.labels([one["x"]]).values()
            yield not_all(f"OWL restrictions of {name!r} are not read")
            return


def _likeness_of(said: Sequence[str], names: Sequence[str], session: Session) -> NDArray[np.floating]:
    """How like the most like of some names each of others is; by the last word where only words are compared."""
    if session.ranker.by_meaning:
        return np.asarray(session.ranker.similarities(said, names).max(axis=1))
    heads = (words_of(name.partition(" of ")[0]) for name in said)  # `country of origin` is a country
    last = [stem(own[-1]) if own else "" for own in heads]  # a winner is no prize
    return np.array([word in set(map(stem, names)) for word in last], float)
