"""The likely readings of a question that is in doubt, for a person to choose from.

They are those that a model would choose from. Here the ones that leave out the least of the question come first, and
those that lead to the same are one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, combinations, islice, pairwise

from kgsparql.answering.answer import Answer, Reading, ReadingChoice, Retrieval, cell_text
from kgsparql.answering.computed import MOST_FIRST, computed_retrieval, computed_words, run_plan
from kgsparql.answering.coverage import gaps
from kgsparql.answering.planned import plan_readings, read_and_planned
from kgsparql.answering.readings import put_together, readings_in, shown_terms
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, LimitError, OptionError, UnreachableError
from kgsparql.evidence.verbalising import arrow
from kgsparql.graphs.notes import Note
from kgsparql.linking.words import is_foreign, root, roots_of, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.type_check import parts, terms_in
from kgsparql.plans.writing import in_words
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import Term, iris_in, printable
from kgsparql.rdf.vocabulary import TAXONOMY
from kgsparql.reading.gaps import Gap

MOST_CHOICES = 3
_FOLLOWED = 8  # readings that are followed, to see what they come to
_STEP = re.compile("[—←]([^—←→]+)[—→]")  # of a path in words
_FIRST = 3  # of what a reading comes to
_TWICE = 2  # times that a word names a step which is gone twice
_MORE_LEFT_OUT = 1  # than by the reading that leaves out the least: what leaves out more is not likely


@frozen
class LikelyReading:
    """A reading that was followed: how it is shown, what it comes to, and what of the question it leaves out."""

    choice: ReadingChoice
    found: Retrieval
    gaps: tuple[Gap, ...]
    plan: a.Plan
    terms: frozenset[Term]


def _paths_in(plan: a.Plan) -> list[PropertyPath]:
    return [part.path for part in parts(plan) if hasattr(part, "path")]


def with_choices(made: Answer, found: Retrieval, session: Session) -> Answer:
    """List under an answer in doubt the likely readings of its question; a note says where not all were followed.

    :param found: what the question leads to where nobody chooses.
    """
    followed: list[LikelyReading] = []
    notes = made.notes
    try:
        followed += _followed_readings(found, session)
    except (*GRAPH_FAILED, UnreachableError, LimitError, BudgetExceededError) as error:
        notes = (*notes, Note("readings_cut", f"not every reading was followed: {error.message}"))
    choices = tuple(one.choice for one in _likeliest(followed))
    return replace(made, choices=choices, notes=notes, usage={**made.usage, **session.graph.usage.to_json()})


def _likeliest(followed: Sequence[LikelyReading]) -> list[LikelyReading]:
    """Keep at most three readings, the one that leaves out least first."""
    fewest = min((len(one.gaps) for one in followed), default=0)
    likely = [one for one in followed if len(one.gaps) <= fewest + _MORE_LEFT_OUT]
    return sorted(likely, key=lambda one: len(one.gaps))[:MOST_CHOICES]


def chosen_by_number(number: int, found: Retrieval, session: Session) -> Retrieval:
    """Return what the likely reading of this number comes to: nothing is left out of what a person has chosen.

    :raises OptionError: where there is no such reading.
    """
    likely = _likeliest([*_followed_readings(found, session)])
    if not 1 <= number <= len(likely):
        told = f"there are {len(likely)}" if len(likely) > 1 else "there is no choice"
        raise OptionError(
            f"no reading {number} of this question: {told}", hint="ask without it, to see which there are"
        )
    chosen = likely[number - 1]
    made = put_together([chosen.found], found) or chosen.found
    session.notes.append(f"read as was chosen: {chosen.choice.reading}", code="chosen")
    return replace(made, gaps=tuple(gap for gap in chosen.gaps if gap.code == "value"), is_judged=True)


def _followed_readings(found: Retrieval, session: Session) -> Iterator[LikelyReading]:
    """Follow what was found, then the other readings; paths are looked for where nothing comes of those that are known.

    Without those that lead nowhere, or where one before leads.
    """
    seen, ways = set[object](), list[LikelyReading]()
    for walks in (False, True):
        for one in chain((found,), _others(found, session, walks=walks)):
            if (way := _followed(one, seen, session)) is not None:
                ways.append(way)
                if not _says_nothing(way, session):
                    yield _counted_way(way, session)
        if seen:
            break
    for plan, left in islice(_met_from_two(ways, session), MOST_CHOICES):
        if (met := _of_plan(plan, left, seen, session)) is not None:
            yield _counted_way(met, session)


def _counted_way(way: LikelyReading, session: Session) -> LikelyReading:
    """Count what paths lead to, where it is asked how many there are."""
    left, plan = [gap for gap in way.gaps if gap.code != "operation"], way.plan
    if session.asked.asks != "count" or len(left) == len(way.gaps) or not isinstance(plan, a.Ends | a.Both):
        return way
    return _of_plan(a.Count(plan), left, set(), session) or way


def _met_from_two(ways: Sequence[LikelyReading], session: Session) -> Iterator[tuple[a.Plan, list[Gap]]]:
    """Plan what has two of the names, or whether anything has, with what it leaves out: thrillers that Ann wrote."""
    sets, is_yes = [(way, way.plan) for way in ways if isinstance(way.plan, a.Ends)], session.asked.asks == "ask"
    for (one, plan), (other, further) in combinations(sets, 2):
        if terms_in(plan).isdisjoint(terms_in(further)) and not one.terms.isdisjoint(other.terms):
            both, told = a.Both((plan, further)), {"operation"} if is_yes else set[str]()
            left = [gap for gap in one.gaps if gap in other.gaps and gap.code not in told]
            yield a.Exists(both) if is_yes else both, left


def _of_plan(plan: a.Plan, left: Sequence[Gap], seen: set[object], session: Session) -> LikelyReading | None:
    return _followed(computed_retrieval(run_plan(plan, session), session, gaps=(*left,)), seen, session)


def _others(found: Retrieval, session: Session, *, walks: bool) -> Iterator[Retrieval | None]:
    """Follow the readings that are not what was found; fewer of a public service, which counts requests."""
    known = None if found.computed is None else found.computed.plan
    listed = readings_in(found, session) if found.readings is None else found.readings(walks)
    if found.readings is None and any(session.asked.operations()) and not is_foreign(session.question):
        listed = [*plan_readings(read_and_planned(session), None, session), *listed]  # no path computes
    most = MOST_CHOICES if session.graph.profile.has_many_labels else _FOLLOWED
    said = roots_of(session.asked.texts[p] for p in _telling_words(session))

    def unsaid(one: Reading) -> int:
        steps = _STEP.findall(one.text)
        return 0 if one.plan else len(steps) - 2 * len(said & roots_of(steps))

    telling = sorted(listed, key=unsaid)[:most]  # plans, and paths whose steps have words of it
    for one in filter(telling.__contains__, listed):
        if one.passage is None and (known is None or one.plan != known):
            yield one.follow()


def _telling_words(session: Session) -> set[int]:
    """Find the positions of the words that say what is asked of what is named."""
    asked, names = session.asked, [one for one in session.links if one.kind == "entity" and one.matched != "vector"]
    named = {p for one in names for p in asked.read.positions_between(*one.mention.place)}
    return {p for piece in asked.pieces for p in piece if asked.tells(p)} - named


def _followed(found: Retrieval | None, seen: set[object], session: Session) -> LikelyReading | None:
    """Say what a reading comes to; ``None`` for nothing, and for what was seen before."""
    made = None if found is None else _of_best_path(found, session)
    if made is None or not (terms := shown_terms(made)) or terms in seen:
        return None
    plan = _plan_of(made)
    if plan is None or _is_odd(plan, terms, session):
        return None
    if (choice := _choice_of(made, plan, terms, session)).reading in seen:
        return None
    seen.update((terms, choice.reading))
    is_judged = made.computed is not None or made.is_judged
    left = made.gaps if is_judged else gaps(session, made)
    return None if any(gap.code == "kind" for gap in left) else LikelyReading(choice, made, left, plan, terms)


def _says_nothing(one: LikelyReading, session: Session) -> bool:
    """Tell whether a reading has nothing of what is asked but names: of a price, where the graph knows none.

    Nor is it of the class that is asked for. A verb that may be any relation, as *serves*, is no such word.
    """
    asked, noun = session.asked, {*session.asked.noun}
    words = {gap.words.lower() for gap in one.gaps if gap.code in {"word", "name"}}
    shown = " ".join((one.choice.reading, *one.choice.first)).lower()
    if any(word in shown for word in words):  # active: inactive; in the same hub: The Hub
        return False
    if words and all(isinstance(own, a.Instances | a.Either | a.Count) for own in parts(one.plan)):
        return True  # all of a kind
    telling = _telling_words(session)
    left = {p for p in telling if asked.texts[p] in words}
    steps = session.compared_labels(p for path in _paths_in(one.plan) for p in path.predicates)
    if any({*words_of(label)} <= {*asked.texts} for label in steps.values()):  # what is it about
        return False
    kinds = {kind for own in asked.read.chunks if noun & {*own.span} for kind in own.classes}
    types = session.labels.shared_types([sorted(one.terms, key=str)[:_FIRST]])[0]
    if kinds and left >= {*asked.noun[-1:]}:
        some = a.Items(tuple(iris_in(sorted(one.terms, key=str)))[:_FIRST])
        found = [run_plan(a.Both((some, a.Instances(kind))), session).items for kind in kinds if some.terms]
        if all(len(own) < len(some.terms) for own in found):
            return True
        telling, left = telling - noun, left - noun  # no name of a class says it
    verbs = {p for own in asked.relations for p in own.verb if asked.texts[p] not in asked.language.auxiliaries}
    sorts = roots_of(asked.language.sorts.get(asked.sort, ()))
    is_verb = (telling <= noun and verbs) or (telling <= verbs and (kinds or not sorts.isdisjoint(roots_of(types))))
    is_kind = terms_in(one.plan).intersection(TAXONOMY) and not asked.language.kinds.isdisjoint(asked.texts)
    return 0 < len(telling) == len(left) and not (is_kind or is_verb or asked.asks_what_one_does)


def _of_best_path(found: Retrieval, session: Session) -> Retrieval:
    """Keep of what paths lead to the ends of the best: from all things of the name that it starts from."""
    best = found.best_item
    if found.computed is not None or found.draft is not None or best is None:
        return found
    items = [item for item in found.evidence if item.paths]
    names = session.labels(item.paths[0].start for item in items)
    ways = {item.marker: (item.paths[0].property_path, names[item.paths[0].start]) for item in items}
    markers = tuple(marker for marker, way in ways.items() if way == ways[best.marker])
    near = (own for own in found.candidates if not set(markers).isdisjoint(own.markers))
    kept = [own if own.markers == markers else replace(own, markers=markers) for own in near]
    return replace(found, candidates=tuple(kept))


def _plan_of(found: Retrieval) -> a.Plan | None:
    """Return what a reading is as a plan; ``None`` where it is neither a plan nor a path."""
    if found.computed is not None:
        return found.computed.plan
    if (item := found.best_item) is None:
        return None
    return a.Ends(a.Items(tuple(iris_in([item.paths[0].start]))), item.paths[0].property_path)


def _is_odd(plan: a.Plan, terms: Collection[Term], session: Session) -> bool:
    """Tell whether nobody means a reading: what is named itself, or a step twice, or there and back, said once."""
    if not isinstance(plan, a.Condition) and session.linked.keys() >= {*terms} and not session.asked.is_definition:
        return True
    roots = Counter(map(root, session.asked.read.texts))
    is_shared_first = isinstance(plan, a.Top) and plan.number == 1 and len(terms) > MOST_FIRST
    if is_shared_first or (isinstance(plan, a.Count) and isinstance(plan.items, a.Items)):
        return True  # the first, which are many; so many things as were named
    is_shared = not session.asked.language.others.isdisjoint(session.asked.read.texts)
    steps = [pair for path in _paths_in(plan) for pair in pairwise(path.steps)]
    again = [one.predicate for one, other in steps if one == other or (other.inverts(one) and not is_shared)]
    again = [one for one in again if one not in TAXONOMY]
    return any(max((roots[own] for own in session.label_fit.label_roots(one)), default=0) < _TWICE for one in again)


def _choice_of(found: Retrieval, plan: a.Plan, terms: Collection[Term], session: Session) -> ReadingChoice:
    """Say what a reading takes the question for, and what it comes to."""
    made, told = found.computed, _told_reading(*_from_one_on_the_way(found, plan), session)
    if made is None:
        first = [printable(one.shown, 120) for one in found.candidates if one.term in terms][:_FIRST]
        return ReadingChoice(told, len(terms), tuple(first))
    label = session.labels(made.terms, in_grace=True).__getitem__
    if made.value is not None:
        return ReadingChoice(told, 1, (computed_words(made, label, session.say),))
    rows = [[cell_text(cell, at, made, label) for at, cell in enumerate(row)] for row in made.rows[:_FIRST]]
    return ReadingChoice(told, len(made.rows), tuple(map(" | ".join, rows)))


def _from_one_on_the_way(found: Retrieval, plan: a.Plan) -> tuple[a.Plan, a.Plan | None]:
    """Begin a path at the one thing that its first step leads to, and say how that is found; ``None`` for no such."""
    match plan:
        case a.Ends(a.Items() as start, path) if path.is_long and found.best_item is not None:
            through = {way.terms[1] for way in found.best_item.paths if way.property_path == path}
            if len(through) == 1 and (named := tuple(iris_in(through))):
                return a.Ends(a.Items(named), PropertyPath(path.steps[1:])), a.Ends(start, path.first_step.path)
    return plan, None


def _told_reading(plan: a.Plan, by: a.Plan | None, session: Session) -> str:
    """Say what a reading is: in another language than English a path as arrows, which any language has.

    :param by: how what it begins at was found.
    """
    terms = sorted(terms_in(plan).union(terms_in(by) if by is not None else ()), key=str)
    if session.translation is None:
        label = session.labels(terms, in_grace=True).__getitem__
        return in_words(plan, label) + (f" ({in_words(by, label).removeprefix('those ')})" if by is not None else "")
    if isinstance(plan, a.Ends) and isinstance(plan.start, a.Items):
        labels = session.labels(terms, in_grace=True)
        steps = (arrow(step, labels) for step in plan.path.steps)
        return " ".join(["; ".join(labels[one] for one in plan.start.terms), *steps, "?"])
    told = in_words(plan, session.compared_labels(terms, in_grace=True).__getitem__)
    return f"{session.say('read in English')}: {told}"
