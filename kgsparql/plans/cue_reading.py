"""Which words of an English question ask for something to be computed, read from left to right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from kgsparql.linking.words import STOP_WORDS, tokens
from kgsparql.plans.cue_words import (
    ABSENT,
    ADJECTIVES,
    ASKS_YES_NO,
    BEFORE_EACH,
    BEFORE_NUMBER,
    COMPARISONS,
    DATES,
    FIRST_YEAR,
    LONG_ADJECTIVES,
    NEVER_YEARS,
    NOT_NUMBERED,
    NUMBERS,
    OF_NOUN,
    SOUGHT,
    SUMMARIES,
    TIMES,
    YEARS,
)
from kgsparql.plans.cues import Absent, Against, Called, Compared, Cue, Cues, Dated, Extreme, Wanted
from kgsparql.plans.date_words import date_at

if TYPE_CHECKING:
    from kgsparql.plans import algebra as a

_OF_BEST = re.compile(
    r"(?:what|who) (?:is|are|was|were) the (?!names?\b|titles?\b|labels?\b)(?:[^\W\d]\w+ ){1,3}of the", re.IGNORECASE
)
"""Before a superlative: `what is the nationality of the oldest laureate`."""
_SMALL_NAME = re.compile(r"(?:called|named)\s+(?:[\"'“‘«]|[^\W\d_a-z])\w*\W*\Z")
"""A name that is a small word: `films called It`, but not `called in Russia`, nor the first word of *The Ring*."""


def read_cues(question: str) -> Cues:
    """What a question asks to be computed; English only.

    >>> read_cues("How many suppliers do we have in France?").wanted
    'count'
    >>> cues = read_cues("Which laureates born before 1900 have more than two children?")
    >>> [(cue.comparison, str(cue.value), cue.is_year) for cue in cues.operations]
    [('<', '1900', True), ('>', '2', False)]
    >>> read_cues("Who is the youngest laureate?").operations[0].largest, read_cues("Who wrote it?").is_any
    (True, False)
    """
    return _Reader([token.text for token in tokens(question)], question).cues()


def _merged(extremes: list[Extreme]) -> list[Extreme]:
    """Extremes, of which `top 5` only says how many of the next."""
    if len(extremes) > 1 and extremes[0].number > 1 and not extremes[0].hints:
        first, second, *others = extremes
        return [replace(second, words=first.words | second.words, number=first.number), *others]
    return extremes


class _Reader:
    def __init__(self, words: list[str], question: str) -> None:
        self.words = words
        self.question = question
        self.taken: set[int] = set()

    def cues(self) -> Cues:
        group = self._group()
        operations: list[Cue] = [*self._called(), *self._dates(), *self._comparisons(), *self._against()]
        operations += _merged([self._summarised(e) for e in self._extremes()])
        wanted, asked, summary = self._wanted(group)
        operations += self._absences()
        operations.sort(key=lambda cue: min(cue.words))
        sought = SOUGHT.get(self.words[0], ()) if self.words else ()
        of_best = bool(sought) or _OF_BEST.match(self.question.strip()) is not None
        return Cues(wanted, frozenset(asked), tuple(operations), summary, frozenset(group), of_best, sought)

    def has(self, at: int, *words: str) -> bool:
        return tuple(self.words[at : at + len(words)]) == words and self.taken.isdisjoint(range(at, at + len(words)))

    def take(self, *places: int) -> frozenset[int]:
        self.taken.update(places)
        return frozenset(places)

    def _wanted(self, group: set[int]) -> tuple[Wanted, set[int], a.Summary | None]:
        for i, word in enumerate(self.words):
            is_mean = word == "mean" and self.words[i - 1] != "the"
            is_verb = is_mean or (word == "add" and not self.has(i, "add", "up"))
            if word in SUMMARIES and i not in self.taken and not is_verb:
                is_number = self.words[i + 1 : i + 3] == ["number", "of"]
                asked = self.take(i, *((i + 1, i + 2) if is_number else ()))
                return ("groups" if group else "summary"), set(asked), SUMMARIES[word]
        for i, word in enumerate(self.words):
            is_number = self.has(i, "number", "of") and (not i or self.words[i - 1] in BEFORE_NUMBER)
            if self.has(i, "how", "many") or is_number or (word == "count" and i not in self.taken):
                places = {i, i + 1} if word != "count" else {i}
                self.take(*places)
                return ("groups" if group else "count"), places, None
            of_all = word in {"percentage", "percent", "proportion"} or self.has(i, "share", "of")
            if of_all and i not in self.taken:
                return "percentage", set(self.take(i)), None
        if group:
            return "groups", set(), None
        if ASKS_YES_NO.match(self.question.strip()):
            there = {1} if self.words[1:2] == ["there"] else set()
            return "yes or no", set(self.take(0, *there)), None
        return "items", set(), None

    def _group(self) -> set[int]:
        """The two words after `for each`, `per`; `by` only at the end of a count."""
        for i in range(len(self.words)):
            for cue in (("for", "each"), ("for", "every"), ("per",), ("each",), ("grouped", "by"), ("by", "each")):
                is_bare = cue == ("each",) and self.words[max(0, i - 1)] not in BEFORE_EACH
                if self.has(i, *cue) and self.words[i + len(cue) : i + len(cue) + 1] and not is_bare:
                    self.take(*range(i, i + len(cue)))
                    return {i + len(cue), i + len(cue) + 1} & set(range(len(self.words)))
        return set()

    def _dates(self) -> Iterator[Dated]:
        for i in range(len(self.words)):
            for cue, comparison in (*YEARS, (("on",), "=")):
                at = i + len(cue)
                at += self.words[at : at + 1] == ["the"]
                found = date_at(self.words, at) if self.has(i, *cue) else None
                if found is not None:
                    yield Dated(self.take(*range(i, at + found[1])), comparison, found[0])

    def _comparisons(self) -> Iterator[Compared]:
        for i in range(len(self.words)):
            yield from self._range_at(i)
            if self.has(i + 1, "or") and (number := self._number(i)) is not None and i not in self.taken:
                more = self.words[i + 2] if i + 2 < len(self.words) else ""
                if more in {"more", "less", "fewer"}:
                    yield Compared(self.take(i, i + 1, i + 2), ">=" if more == "more" else "<=", number)
            for cue, comparison in COMPARISONS:
                at = i + len(cue)
                if self.has(i, *cue) and (number := self._number(at)) is not None:
                    yield Compared(self.take(*range(i, at + 1)), comparison, number)
            if i + 1 < len(self.words) and self.words[i + 1] == "than" and self.words[i] in ADJECTIVES:
                number = self._number(i + 2)
                if number is not None and i not in self.taken:
                    _, larger, hints = ADJECTIVES[self.words[i]]
                    sign: a.Comparison = ">" if larger else "<"
                    is_year = hints in (DATES, TIMES) and self._is_year(i + 2)
                    yield Compared(self.take(i, i + 1, i + 2), sign, number, None, is_year, hints)
            for cue, comparison in YEARS:
                at = i + len(cue)
                number = self._number(at)
                if self.has(i, *cue) and number is not None and at not in self.taken and self._is_year(at):
                    yield Compared(self.take(*range(i, at + 1)), comparison, number, is_year=True)

    def _against(self) -> Iterator[Against]:
        for i, word in enumerate(self.words):
            form, larger, hints = ADJECTIVES.get(word, ("", True, ()))
            then = self.words.index("than", i) if "than" in self.words[i + 1 : i + 4] else 0
            if not then or i in self.taken or then in self.taken:
                continue
            if form == "er" or word in {"more", "less", "fewer"}:
                smaller = word in {"less", "fewer"} or not larger
                yield Against(self.take(i, then), "<" if smaller else ">", hints)
        if ASKS_YES_NO.match(self.question.strip()):
            for i, word in enumerate(self.words):
                if word in {"before", "after"} and i not in self.taken and f" {word} " in self.question:
                    yield Against(self.take(i), "<" if word == "before" else ">")

    def _called(self) -> Iterator[Called]:
        for i, word in enumerate(self.words):
            named = self.words[i + 2 :] if self.has(i, "the", "word") else []
            if word in {"called", "named"} and not named and self.words[i + 1 : i + 2]:
                is_name = self.words[i + 1] not in STOP_WORDS["en"] or _SMALL_NAME.search(self.question)
                named = self.words[i + 1 :] if is_name else []
            at = len(self.words) - len(named)
            if named:
                tail = next((n for n, w in enumerate(named) if w == "in"), 1)
                is_in_name = {"name", "names", "title", "titles", "label", "labels"} & set(named[tail : tail + 4])
                last = at + (tail + 3 if is_in_name else 1)
                places = range(i, min(last, len(self.words)))
                yield Called(self.take(*places), self.words[at])

    def _range_at(self, i: int) -> Iterator[Compared]:
        if (self.has(i, "between") or self.has(i, "from")) and self.words[i + 2 : i + 3] in (["and"], ["to"]):
            low, high = self._number(i + 1), self._number(i + 3)
            if low is not None and high is not None:
                is_year = self._is_year(i + 1) and self._is_year(i + 3)
                yield Compared(self.take(*range(i, i + 4)), ">=", low, high, is_year)
        decade = re.fullmatch(r"(1\d|20)(\d)0s", self.words[i])
        if decade and i not in self.taken:
            low = Decimal(self.words[i][:4])
            yield Compared(self.take(i), ">=", low, low + 9, is_year=True)
        century = re.fullmatch(r"(\d\d?)(?:st|nd|rd|th)", self.words[i])
        if century and self.has(i + 1, "century") and i not in self.taken:
            last = Decimal(century[1]) * 100
            yield Compared(self.take(i, i + 1), ">=", last - 99, last, is_year=True)

    def _number(self, at: int) -> Decimal | None:
        word = self.words[at] if at < len(self.words) else ""
        if word in NUMBERS:
            return Decimal(NUMBERS[word])
        return Decimal(word) if re.fullmatch(r"\d+(?:\.\d+)?", word) else None

    def _is_year(self, at: int) -> bool:
        number = self._number(at)
        return number is not None and FIRST_YEAR <= number < NEVER_YEARS and len(self.words[at]) == 4

    def _extremes(self) -> Iterator[Extreme]:
        for i, word in enumerate(self.words):
            if i in self.taken:
                continue
            form, larger, hints = ADJECTIVES.get(word, ("", True, ()))
            following = self.words[i + 1] if i + 1 < len(self.words) else ""
            if word in {"most", "least"} and following in LONG_ADJECTIVES:
                places, many = self._many_around(i)
                yield Extreme(places | self.take(i + 1), word == "most", LONG_ADJECTIVES[following], number=many)
            elif word in {"most", "least", "fewest", "maximum", "minimum"}:
                largest = word in {"most", "maximum"}
                places, many = self._many_around(i)
                yield Extreme(places, largest, (), of_noun=True, number=many)
            elif word == "top" and (top := self._number(i + 1)) is not None:
                yield Extreme(self.take(i, i + 1), largest=True, hints=(), of_noun=True, number=max(1, int(top)))
            elif form == "est" and following == "first":
                self.take(i, i + 1)
            elif form == "est" and self.words[i - 1 : i] in (["died"], ["die"]):
                pass  # of the age then, which is no value of the graph
            elif form == "est" and not (word in {"first", "last"} and following in {"name", "names"}):
                places, many = self._many_around(i)
                yield Extreme(places, larger, hints, of_noun=word in OF_NOUN, number=many)
            elif form == "er" and "or" in self.words and "than" not in self.words:
                yield Extreme(self.take(i), larger, hints)

    def _summarised(self, extreme: Extreme) -> Extreme:
        """An extreme, with the summary that the word after it names: `highest average`."""
        after = max(extreme.words) + 1
        word = self.words[after] if after < len(self.words) else ""
        if word not in SUMMARIES or after in self.taken:
            return extreme
        return replace(extreme, words=extreme.words | self.take(after), summary=SUMMARIES[word], of_noun=True)

    def _many_around(self, i: int) -> tuple[frozenset[int], int]:
        """The places of a superlative with `number of` after it, and how many are asked for: `the five largest`."""
        places = {i, i + 1} if self.words[i + 1 : i + 2] == ["number"] else {i}
        for at in (i - 1, i + 1):
            number = self._number(at) if at >= 0 else None
            if number is not None and at not in self.taken and self.words[at] not in NOT_NUMBERED:
                return self.take(*places, at), max(1, int(number))
        return self.take(*places), 1

    def _absences(self) -> Iterator[Absent]:
        for i, word in enumerate(self.words):
            is_not = word in ABSENT or (word == "t" and i and self.words[i - 1].endswith("n"))
            if is_not and i not in self.taken:
                yield Absent(self.take(*((i - 1, i) if word == "t" else (i,))))
