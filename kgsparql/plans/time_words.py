"""Facts with dates in words: in which time they held, before or after whom, since when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kgsparql.dataclasses import replace
from kgsparql.plans import algebra as a
from kgsparql.plans.english import Clause, Phrase
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import Literal
from kgsparql.reading.times import EVER
from kgsparql.schema.dating import ITSELF, TIME_QUALIFIERS, role_of

_ASKED = {"start": "since when", "end": "until when", "span": "from when to when"}
Noun: TypeAlias = Callable[[PropertyPath], str]
"""What is at the end of a path, as a noun."""
_OF_ORDER = {
    ("start", False): "first", ("start", True): "last", ("end", True): "last", ("end", False): "first",
    ("years", True): "longest", ("years", False): "shortest",
}  # fmt: skip


def phrase_of_facts(items: Any, phrase: Callable[[Any], Phrase], noun: Noun) -> Phrase:
    """Make the phrase of what facts with dates lead to, or of their dates."""
    match items:
        case a.Held(start, path, _, first, last, over_by, _, to):
            found = phrase(a.Ends(start, path) if to is None else a.Both((a.Ends(start, path), to)))
            said = _in_span(first, last, over_by, is_now=items.with_undated)
            return _at_time(found, said) if said else found
        case a.Minus(a.Held() as past, a.Held()):
            return _at_time(phrase(a.Ends(past.start, past.path)), "before, and not today")
        case a.Where(a.Where(a.Held() as facts, _, _, Literal() as low), _, _, Literal() as high):
            said = _in_span(int(low.value), int(high.value), 0, is_now=False)
            return _at_time(phrase(a.Ends(facts.start, facts.path)), f"begun {said}")
        case a.Minus(a.Beside() as found_beside, _):
            return phrase(found_beside)
        case a.Beside(facts, order, others):
            whom = f"{phrase(others.to or others):in_number}"
            said = f"{'at the same time as' if order == 'while' else order} {whom}"
            if others.dates == ITSELF:
                date = f"the {noun(others.path)} of {phrase(others.start):in_number}"
                said = f"{'at' if order == 'while' else order} {date}"
            elif (others.start, others.path) != (facts.start, facts.path):
                said = f"{order} {whom} was one of {phrase(a.Ends(others.start, others.path)):definite}"
            return _at_time(phrase(facts), said)
        case a.Times(a.Held() as facts, of):
            whose, ends = phrase(facts.to), phrase(a.Ends(facts.start, facts.path))
            text = f"{_ASKED[of]} {whose:in_number} was one of {ends:definite}"
            return Phrase(text, text, "best", is_one=True)
        case a.Top(inner, a.When(_, of), number, largest):
            text = f"the {_OF_ORDER[of, largest]}{f' {number}' if number > 1 else ''} of {phrase(inner):definite}"
            return Phrase(text, text, "best", is_one=number == 1)
    raise AssertionError(f"not of facts with dates: {items}")


def _at_time(found: Phrase, said: str) -> Phrase:
    """Make the same phrase with a time, behind all that is said of the items."""
    *clauses, last = found.clauses or (Clause(""),)
    return replace(found, clauses=(*clauses, replace(last, text=f"{last.text} {said}".strip())))


def time_in_words(whose: Phrase, when: a.When, phrase: Callable[[Any], Phrase], noun: Noun) -> str:
    """Say for how long something was so, or on which day it began, was over, or was."""
    facts, dates = when.facts, when.facts.dates
    if dates == ITSELF:
        return f"the {noun(facts.path)} of {phrase(facts.start):in_number}"
    ends = phrase(a.Ends(facts.start, facts.path))
    if when.of == "years":
        return f"for how many years, of those with dates, {whose:in_number} was one of {ends:definite}"
    date, *_ = (*(dates.began if when.of == "start" else dates.over), *dates.at)
    is_over = any(step.predicate == TIME_QUALIFIERS[1] or role_of(step.predicate) == "until" for step in date.steps)
    return f"the day {_ASKED['end' if is_over else 'start']} {whose:in_number} was one of {ends:definite}"


def years_in_words(later: str | int, earlier: str | int) -> str:
    """Say which years are counted from one day, or what is said of it, to another.

    >>> years_in_words(20_100_301, "the birth date of Cy Dunn")
    'the whole years from the birth date of Cy Dunn to 2010-03-01'
    """
    first, last = (_written_day(one) if isinstance(one, int) else one for one in (earlier, later))
    return f"the whole years from {first} to {last}"


def _in_span(first: int, last: int, over_by: int, *, is_now: bool) -> str:
    """Say in which time something held.

    >>> _in_span(20_090_000, 20_091_231, 0, is_now=False), _in_span(0, 20_089_999, 0, is_now=False)
    ('in 2009', 'before 2009')
    >>> _in_span(20_091_232, 99_991_231, 0, is_now=False), _in_span(20_120_501, 20_120_501, 0, is_now=False)
    ('after 2009', 'on 2012-05-01')
    """
    if is_now and first != -EVER:
        return f"today, {_written_day(last)}" if first else "until today"
    if over_by:
        return f"until {_written_day(over_by - 1)}" if first else "that was over before today"
    if not last or first == -EVER:
        return ""
    begin, end = _written_day(first), _written_day(last)
    if first > last:
        return f"since {end} or before, and today" if first % 10_000 != 1231 else f"throughout {end}"
    if last == EVER:
        return f"after {_written_day(first - 1)}" if first % 10_000 == 1232 or first % 100 == 32 else f"since {begin}"
    if not first:
        return f"before {_written_day(last + 1)}" if last % 100 in {0, 99} else f"until {end}"
    if begin == end:
        return f"{'on' if len(begin) == 10 else 'in'} {begin}"
    return f"from {begin} to {end}"


def _written_day(day: int) -> str:
    """Write a day; the first or the last day of a year or a month as that alone."""
    year, month, number = day // 10_000, day // 100 % 100, day % 100
    if month in {0, 99} or (month, number) == (12, 31):
        return str(year)
    return f"{year}-{month:02}" if number in {0, 99} else f"{year}-{month:02}-{number:02}"
