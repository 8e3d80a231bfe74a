"""The likely readings of a question that is in doubt, for a person to choose from.

They are those that a model would choose from. Here the ones that leave out the least of the question come first, and
those that lead to the same are one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from kgsparql.answering.answer import Reading, ReadingChoice, Retrieval, cell_text
from kgsparql.answering.computed import computed_words
from kgsparql.answering.coverage import gaps
from kgsparql.answering.readings import put_together, readings_in, shown_terms
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import OptionError, QueryError
from kgsparql.plans import algebra as a
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.writing import in_words
from kgsparql.rdf.terms import Term, iris_in, printable
from kgsparql.reading.gaps import Gap

MOST_CHOICES = 3
_FOLLOWED = 8  # readings that are followed, to see what they come to
_FIRST = 3  # of what a reading comes to
_MORE_LEFT_OUT = 1  # than by the reading that leaves out the least: what leaves out more is not likely


@frozen
class LikelyReading:
    """A reading that was followed: how it is shown, what it comes to, and what of the question it leaves out."""

    choice: ReadingChoice
    found: Retrieval
    gaps: tuple[Gap, ...]


def likely_readings(found: Retrieval, session: Session) -> list[LikelyReading]:
    """List the likely readings of a question, at most three, the one that leaves out least first."""
    followed: list[LikelyReading] = []
    with session.within_budget(), suppress(QueryError):
        followed += _followed_readings(found, session, walks=False)
        followed += () if followed else _followed_readings(found, session, walks=True)
    fewest = min((len(one.gaps) for one in followed), default=0)
    likely = [one for one in followed if len(one.gaps) <= fewest + _MORE_LEFT_OUT]
    return sorted(likely, key=lambda one: len(one.gaps))[:MOST_CHOICES]


def chosen_by_number(number: int, found: Retrieval, session: Session) -> Retrieval:
    """Return what the likely reading of this number comes to: nothing is left out of what a person has chosen.

    :raises OptionError: where there is no such reading.
    """
    likely = likely_readings(found, session)
    if not 1 <= number <= len(likely):
        told = f"there are {len(likely)}" if len(likely) > 1 else "there is no choice"
        raise OptionError(
            f"no reading {number} of this question: {told}", hint="ask without it, to see which there are"
        )
    chosen = likely[number - 1]
    made = put_together([chosen.found], found) or chosen.found
    session.notes.append(f"read as was chosen: {chosen.choice.reading}", code="chosen")
    return replace(made, gaps=tuple(gap for gap in chosen.gaps if gap.code == "value"), is_judged=True)


def _followed_readings(found: Retrieval, session: Session, *, walks: bool) -> Iterator[LikelyReading]:
    """Follow what was found, then the other readings; without those that lead nowhere, or where one before leads."""
    listed: Sequence[Reading] = readings_in(found, session) if found.readings is None else found.readings(walks)
    most = MOST_CHOICES if session.graph.profile.has_many_labels else _FOLLOWED  # a public service counts requests
    seen = set[object]()
    known = None if found.computed is None else found.computed.plan
    others = (one for one in listed[:most] if one.passage is None and (known is None or one.plan != known))
    for one in (found, *(reading.follow() for reading in others)):
        made = None if one is None else _of_best_path(one, session)
        if made is None or not (terms := shown_terms(made)) or terms in seen:
            continue
        seen.add(terms)
        if (choice := _choice_of(made, terms, session)) is not None and choice.reading not in seen:
            seen.add(choice.reading)
            is_judged = made.computed is not None or made.is_judged
            yield LikelyReading(choice, made, made.gaps if is_judged else gaps(session, made))


def _of_best_path(found: Retrieval, session: Session) -> Retrieval:
    """Keep of what paths lead to the ends of the best: from all things of the name that it starts from."""
    best = found.best_item
    if found.computed is not None or found.draft is not None or best is None:
        return found
    items = [item for item in found.evidence if item.paths]
    names = session.labels(item.paths[0].start for item in items)
    ways = {item.marker: (item.paths[0].property_path, names[item.paths[0].start]) for item in items}
    markers = tuple(marker for marker, way in ways.items() if way == ways[best.marker])
    kept = [replace(own, markers=markers) for own in found.candidates if not set(markers).isdisjoint(own.markers)]
    return replace(found, candidates=tuple(kept))


def _choice_of(found: Retrieval, terms: Collection[Term], session: Session) -> ReadingChoice | None:
    """Say what a reading takes the question for, and what it comes to; ``None`` where it is no path and no plan."""
    made, item = found.computed, found.best_item
    if made is not None:
        labels = session.labels([*sorted(terms_in(made.plan), key=str), *made.terms], in_grace=True)
        label = labels.__getitem__
        if made.value is not None:
            return ReadingChoice(in_words(made.plan, label), 1, (computed_words(made, label),))
        rows = [[cell_text(cell, at, made, label) for at, cell in enumerate(row)] for row in made.rows[:_FIRST]]
        return ReadingChoice(in_words(made.plan, label), len(made.rows), tuple(map(" | ".join, rows)))
    if item is None:
        return None
    plan = a.Ends(a.Items(tuple(iris_in([item.paths[0].start]))), item.paths[0].property_path)
    labels = session.labels(sorted(terms_in(plan), key=str), in_grace=True)
    first = [printable(one.shown, 120) for one in found.candidates if one.term in terms][:_FIRST]
    return ReadingChoice(in_words(plan, labels.__getitem__), len(terms), tuple(first))
