"""The likely readings of a question that is in doubt, for a person to choose from.

They are those that a model would choose from. Here the ones that leave out the least of the question come first, and
those that lead to the same are one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, pairwise

from kgsparql.answering.answer import Answer, Reading, ReadingChoice, Retrieval, cell_text
from kgsparql.answering.computed import computed_words
from kgsparql.answering.coverage import gaps
from kgsparql.answering.planned import plan_readings, read_and_planned
from kgsparql.answering.readings import put_together, readings_in, shown_terms
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, LimitError, OptionError, UnreachableError
from kgsparql.evidence.verbalising import arrow
from kgsparql.graphs.notes import Note
from kgsparql.linking.words import is_foreign, root, roots_of
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
    seen = set[object]()
    for walks in (False, True):
        for one in chain((found,), _others(found, session, walks=walks)):
            if (likely := _followed(one, seen, session)) is not None:
                yield likely
        if seen:
            return


def _others(found: Retrieval, session: Session, *, walks: bool) -> Iterator[Retrieval | None]:
    """Follow the readings that are not what was found; fewer of a public service, which counts requests."""
    asked = session.asked
    listed = readings_in(found, session) if found.readings is None else found.readings(walks)
    if found.readings is None and any(asked.operations()) and not is_foreign(session.question):
        listed = [*plan_readings(read_and_planned(session), None, session), *listed]  # no path computes
    said = roots_of(asked.texts[p] for piece in asked.pieces for p in piece if asked.tells(p))

    def unsaid(one: Reading) -> int:
        steps = _STEP.findall(one.text)
        return 0 if one.plan else len(steps) - 2 * len(said & roots_of(steps))

    most = MOST_CHOICES if session.graph.profile.has_many_labels else _FOLLOWED
    telling = sorted(listed, key=unsaid)[:most]  # plans, and paths whose steps have words of it
    known = None if found.computed is None else found.computed.plan
    for one in filter(telling.__contains__, listed):
        if one.passage is None and (known is None or one.plan != known):
            yield one.follow()


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
    likely = LikelyReading(choice, made, left)
    return None if any(gap.code == "kind" for gap in left) or _says_nothing(likely, plan, session) else likely


def _says_nothing(one: LikelyReading, plan: a.Plan, session: Session) -> bool:
    """Tell whether a reading has nothing of what is asked but names: of a price, where the graph knows none.

    Nor is it of the class that is asked for. A verb that may be any relation, as *serves*, is no such word.
    """
    asked, noun = session.asked, {*session.asked.noun}
    words = {gap.words.lower() for gap in one.gaps if gap.code in {"word", "name"}}
    shown = " ".join((one.choice.reading, *one.choice.first)).lower()
    if any(word in shown for word in words):  # active: inactive; in the same hub: The Hub
        return False
    names = (link.mention.place for link in session.links if link.kind == "entity")
    named = {p for place in names for p in asked.read.positions_between(*place)}
    telling = {p for piece in asked.pieces for p in piece if asked.tells(p)} - named
    left = {p for p in telling if asked.texts[p] in words}
    if left.intersection(asked.noun[-1:]) and any(own.classes and noun & {*own.span} for own in asked.read.chunks):
        return True
    verbs = {p for own in asked.relations for p in own.verb if asked.texts[p] not in asked.language.auxiliaries}
    sorts = roots_of(asked.language.sorts.get(asked.sort, ()))
    kinds = session.labels.shared_types([[*shown_terms(one.found)][:_FIRST]])[0]
    is_verb = (telling <= noun and verbs) or (telling <= verbs and not sorts.isdisjoint(roots_of(kinds)))
    is_kind = terms_in(plan).intersection(TAXONOMY) and not asked.language.kinds.isdisjoint(asked.texts)
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
    if isinstance(plan, a.Count) and isinstance(plan.items, a.Items):
        return True  # so many things as were named
    is_shared = not session.asked.language.others.isdisjoint(session.asked.read.texts)
    ways = [part.path.steps for part in parts(plan) if hasattr(part, "path")]
    steps = [pair for way in ways for pair in pairwise(way)]
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
